"""A file is whole or not there at all, whatever happens to the process that saves."""

import errno
import os
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import h5py
import pytest
from savers import ROWS, needs_fork, posterior, run

import bayesnb as nb

on_posix = pytest.mark.skipif(
    os.name != "posix", reason="Windows keeps open files, and has other links and permissions"
)


def predictions(path: Path) -> bytes:
    return nb.load(path).log_joint(ROWS).tobytes()


def assert_untouched(path: Path) -> None:
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert predictions(path) == posterior().log_joint(ROWS).tobytes()


@needs_fork
@pytest.mark.slow
def test_a_process_killed_during_a_save_leaves_a_whole_file(tmp_path: Path) -> None:
    run("killed", tmp_path, 200)


@needs_fork
@pytest.mark.slow
def test_processes_that_save_to_one_path_all_succeed(tmp_path: Path) -> None:
    run("together", tmp_path, 12, 20)


@pytest.mark.parametrize("times", [12, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["posterior.nc", "{}.nc"], ids=["one path", "a path each"])
def test_threads_that_save_and_load_all_succeed(name: str, times: int, tmp_path: Path) -> None:
    def saved_and_loaded(number: int) -> bytes:
        made.save(path := tmp_path / name.format(number))
        return predictions(path)

    made, before = posterior(), list(warnings.filters)
    with ThreadPoolExecutor(20) as threads:
        assert {*threads.map(saved_and_loaded, range(times))} == {made.log_joint(ROWS).tobytes()}
    assert warnings.filters == before


def test_a_file_is_replaced_in_one_step(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = []

    def noted(source: Path, target: Path) -> None:
        assert source.parent == target.parent
        assert predictions(source) == posterior(2).log_joint(ROWS).tobytes()
        assert predictions(target) == posterior().log_joint(ROWS).tobytes()
        replaced.append(target)
        os.rename(source, target)

    monkeypatch.setattr(os, "replace", noted)
    posterior(2).save(saved)
    assert replaced == [saved]
    assert predictions(saved) == posterior(2).log_joint(ROWS).tobytes()
    assert [entry.name for entry in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize("at", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        PermissionError(errno.EACCES, "Permission denied"),
        KeyboardInterrupt(),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_names_the_path_and_leaves_nothing(saved: Path, monkeypatch: Any, at: str, error: Any) -> None:
    def fails(*arguments: Any) -> None:
        raise error

    with monkeypatch.context() as broken:
        broken.setattr(os, at, fails)
        with pytest.raises(type(error)) as raised:
            posterior(2).save(saved)
    if isinstance(error, OSError):
        message = rf"not saved \({error.strerror}\).*free space or permit.*posterior\.nc"
        assert re.search(message, str(raised.value))
    assert_untouched(saved)


def test_a_file_that_cannot_grow(saved: Path) -> None:
    """The system itself refuses to write more than 5,000 bytes, as a full disk does."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        with pytest.raises(OSError, match=r"not saved.*posterior\.nc") as raised:
            posterior(2).save(saved)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert raised.value.errno == errno.EFBIG
    assert_untouched(saved)


def test_a_folder_that_may_not_be_written_to(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused by a patch, because the superuser may write anywhere, and Windows has no such permission."""

    def denied(path: Path, mode: str) -> IO[bytes]:
        assert Path(path).parent == saved.parent
        if mode == "rb":
            return Path(path).open("rb")
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("bayesnb.core.sealed_files.open", denied, raising=False)
    with pytest.raises(PermissionError, match=r"Permission denied.*permit writing in the folder.*posterior\.nc"):
        posterior(2).save(saved)
    assert_untouched(saved)


def test_paths_that_name_no_file(saved: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*missing' to save into: make it first"):
        posterior().save(saved.parent / "missing" / "posterior.nc")
    with pytest.raises(OSError, match=r"is not a file that can be replaced: give the path of a file"):
        posterior().save(saved.parent)
    if os.name == "posix":
        with pytest.raises(OSError, match=r"'/dev/null' is not a file that can be replaced"):
            posterior().save("/dev/null")
    assert_untouched(saved)


@on_posix
def test_links_and_permissions_stay(saved: Path) -> None:
    link = saved.with_name("link.nc")
    link.symlink_to(saved)
    saved.chmod(0o600)
    posterior(2).save(link)
    assert link.is_symlink()
    assert saved.stat().st_mode & 0o777 == 0o600
    assert predictions(saved) == posterior(2).log_joint(ROWS).tobytes()
    before = os.umask(0o027)
    try:
        posterior().save(saved.with_name("new.nc"))
    finally:
        os.umask(before)
    assert saved.with_name("new.nc").stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_replaced_while_it_is_read(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read is the file whose seal was compared."""
    opened = h5py.h5f.open_file_image

    def replacing(image: bytes) -> Any:
        posterior(2).save(saved)
        return opened(image)

    with monkeypatch.context() as patched:
        patched.setattr(h5py.h5f, "open_file_image", replacing)
        assert predictions(saved) == posterior().log_joint(ROWS).tobytes()
    assert predictions(saved) == posterior(2).log_joint(ROWS).tobytes()
