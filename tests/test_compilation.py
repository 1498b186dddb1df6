"""Compiled functions kept on disk."""

import json
import os
import subprocess
import sys
import textwrap

import jax
import pytest
from jax.experimental.compilation_cache import compilation_cache

import bayesnb as nb

CODE = """
    import json, os, sys
    from collections import Counter
    import jax
    import bayesnb as nb
    events = Counter()
    jax.monitoring.register_event_listener(lambda event, **_: events.update([event.split("/")[-1]]))
    work = jax.jit(lambda x: (x * x).sum())
    before = jax.config.jax_compilation_cache_dir
    work(jax.numpy.ones(2))
    folder = nb.enable_compilation_cache(sys.argv[1])
    work(jax.numpy.ones(3))
    print(json.dumps([before, str(folder), events["cache_hits"], events["cache_misses"]]))
"""


@pytest.mark.slow
def test_the_second_process_reads_what_the_first_compiled(tmp_path):
    """In processes of their own, whose settings no other test has; nothing is kept before it is asked for."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    folder = tmp_path / "deep" / "down"

    def run():
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(CODE), str(folder)]
        done = subprocess.run(
            command, check=True, env=environment | {"JAX_PLATFORMS": "cpu"}, stdout=subprocess.PIPE, text=True
        )
        return json.loads(done.stdout)

    _, _, hits, misses = first = run()
    assert first[:3] == [None, str(folder), 0]
    assert hits == 0
    assert misses > 0
    assert run() == [None, str(folder), misses, 0]


@pytest.fixture
def settings():
    """Settings of JAX that are afterwards what they were."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    yield before
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


@pytest.mark.usefixtures("settings")
def test_another_folder_takes_over(tmp_path):
    for number, folder in enumerate((tmp_path / "first", tmp_path / "second")):
        assert nb.enable_compilation_cache(folder) == folder
        jax.jit(lambda x, number=number: x * number)(jax.numpy.ones(7))
        assert any(name.endswith("-cache") for name in os.listdir(folder))


@pytest.mark.usefixtures("settings")
def test_the_folder_is_the_users_or_the_one_that_jax_was_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))  # Windows' name
    for caches, told, expected in (
        (str(tmp_path / "caches"), None, tmp_path / "caches" / "bayesnb"),
        ("", None, tmp_path / ".cache" / "bayesnb"),
        ("", str(tmp_path / "mine"), tmp_path / "mine"),
    ):
        monkeypatch.setenv("XDG_CACHE_HOME", caches)
        jax.config.update("jax_compilation_cache_dir", told)
        assert nb.enable_compilation_cache() == expected
        assert expected.is_dir()


def test_a_folder_that_cannot_be_made_or_written_changes_no_setting(tmp_path, monkeypatch, settings):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot be made .*name another one"):
        nb.enable_compilation_cache(tmp_path / "file" / "folder")
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    with pytest.raises(PermissionError, match="cannot be written: name another one"):
        nb.enable_compilation_cache(tmp_path / "closed")
    assert {name: getattr(jax.config, name) for name in settings} == settings
