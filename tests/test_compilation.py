"""Compiled functions kept on disk, each time in a process of its own, whose settings no other test has."""

import json
import os
import subprocess
import sys
import textwrap

import jax
import pytest

import bayesnb as nb
from bayesnb.core import running as compilation


def run(code, **environment):
    code = """
        import json
        from collections import Counter
        import jax
        import bayesnb as nb
        events = Counter()
        jax.monitoring.register_event_listener(lambda event, **_: events.update([event.split("/")[-1]]))

        @jax.jit
        def work(x):
            return (x * x).sum()

        """ + textwrap.dedent(code).replace("\n", "\n        ")
    own_settings = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    environment = {**own_settings, "JAX_PLATFORMS": "cpu", **environment}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_second_process_reads_what_the_first_compiled(tmp_path):
    code = f"""
        work(jax.numpy.ones(2))
        folder = nb.enable_compilation_cache({str(tmp_path / "deep" / "down")!r})
        work(jax.numpy.ones(3))
        print(json.dumps([str(folder), events["cache_hits"], events["cache_misses"]]))
    """
    folder, hits, misses = run(code)
    assert folder == str(tmp_path / "deep" / "down")
    assert hits == 0
    assert misses > 0
    assert any(name.startswith("jit_work") for name in os.listdir(folder))
    assert run(code) == [folder, misses, 0]


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """One process that compiles with no folder named, then with five folders in turn: where, and what it says."""
    root = tmp_path_factory.mktemp("life")
    code = f"""
        import os
        root = {str(root)!r}
        said = {{"before": jax.config.jax_compilation_cache_dir}}
        work(jax.numpy.ones(3))
        said["unasked"] = os.listdir(root)

        def enable(*directory):
            jax.config.update("jax_compilation_cache_dir", None)
            return str(nb.enable_compilation_cache(*directory))

        nb.enable_compilation_cache(root + "/first")
        work(jax.numpy.ones(4))
        nb.enable_compilation_cache(root + "/second")
        work(jax.numpy.ones(5))
        said["caches"] = enable()
        os.environ.update(HOME=root, USERPROFILE=root, XDG_CACHE_HOME="")  # the second is Windows' name
        said["home"] = enable()
        jax.config.update("jax_compilation_cache_dir", root + "/mine")
        said["told"] = str(nb.enable_compilation_cache())
        print(json.dumps(said))
    """
    return root, run(code, XDG_CACHE_HOME=str(root))


def test_another_folder_takes_over(life):
    root, _ = life
    for folder in ("first", "second"):
        assert any(name.startswith("jit_work") for name in os.listdir(root / folder))


def test_the_folder_is_the_users_or_the_one_that_jax_was_told(life):
    root, said = life
    assert said["caches"] == str(root / "bayesnb")
    assert said["home"] == str(root / ".cache" / "bayesnb")
    assert said["told"] == str(root / "mine")


def test_nothing_is_kept_unless_asked_for(life):
    _, said = life
    assert said["before"] is None
    assert said["unasked"] == []


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    before = dict(jax.config.values)
    with pytest.raises(OSError, match="name another one"):
        nb.enable_compilation_cache(tmp_path / "file" / "folder")
    assert dict(jax.config.values) == before


def test_the_folder_by_default_is_the_users_folder_for_caches(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert compilation._users_folder() == tmp_path / "caches" / "bayesnb"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(compilation.Path, "home", lambda: tmp_path)
    assert compilation._users_folder() == tmp_path / ".cache" / "bayesnb"


def test_a_folder_that_cannot_be_written_changes_no_setting(monkeypatch, tmp_path):
    monkeypatch.setattr(compilation.os, "access", lambda folder, mode: False)
    before = jax.config.jax_compilation_cache_dir
    with pytest.raises(PermissionError, match="cannot be written: name another one"):
        nb.enable_compilation_cache(tmp_path / "closed")
    assert jax.config.jax_compilation_cache_dir == before
