"""A copy of the checkout in which a file changes and tests run."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Copy", "Ended"]

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """How a run of tests ended: the exit code of its process, the tests that failed, the last that began."""

    code: int
    hangs: bool
    failed: list[str]
    now: str


class Copy:
    """A copy of the checkout, with a process in it that runs tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
        for name in (name for name in listed if (ROOT / name).is_file() or (ROOT / name).is_symlink()):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        compiled = {(ROOT / name).parent / "__pycache__" for name in listed if name.endswith(".py")}
        for cache in filter(Path.is_dir, compiled):
            shutil.copytree(cache, folder / cache.relative_to(ROOT))
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        # The worker imports JAX, which reads them then, before the tests' conftest.py.
        environment.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
        environment.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.0")
        environment.setdefault("BAYESNB_TEST_DATA", str(ROOT.parent / "shared" / "data"))
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "worker.py")],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @contextmanager
    def changed(self, path: str, source: str) -> Iterator[None]:
        """Another source in place of a file. Afterwards the file is back with its time, which its bytecode goes by."""
        file = self._folder / path
        kept = file.with_suffix(".kept")
        file.rename(kept)
        file.write_text(source)
        try:
            yield
        finally:
            kept.replace(file)

    def run_tests(self, seconds: dict[str, float], go_on: bool = False) -> Ended:
        """Run tests, each with the seconds that it usually takes, until one fails; or all of them."""
        self._process.stdin.write(json.dumps([seconds, go_on]) + "\n")
        self._process.stdin.flush()
        return Ended(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
