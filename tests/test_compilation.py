"""Compiled functions kept on disk, each time in a process of its own, whose settings no other test has."""

import json
import os
import subprocess
import sys
import textwrap

import jax
import pytest

import bayesnb as nb


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


def test_another_folder_takes_over(tmp_path):
    code = f"""
        nb.enable_compilation_cache({str(tmp_path / "first")!r})
        work(jax.numpy.ones(2))
        nb.enable_compilation_cache({str(tmp_path / "second")!r})
        work(jax.numpy.ones(3))
        print(json.dumps(None))
    """
    run(code)
    for folder in ("first", "second"):
        assert any(name.startswith("jit_work") for name in os.listdir(tmp_path / folder))


def test_the_folder_is_the_users_or_the_one_that_jax_was_told(tmp_path):
    code = "print(json.dumps(str(nb.enable_compilation_cache())))"
    assert run(code, XDG_CACHE_HOME=str(tmp_path)) == str(tmp_path / "bayesnb")
    assert run(code, JAX_COMPILATION_CACHE_DIR=str(tmp_path / "mine")) == str(tmp_path / "mine")
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path), "XDG_CACHE_HOME": ""}  # the second is Windows' name
    assert run(code, **home) == str(tmp_path / ".cache" / "bayesnb")


def test_nothing_is_kept_unless_asked_for(tmp_path):
    code = "work(jax.numpy.ones(3)); print(json.dumps(jax.config.jax_compilation_cache_dir))"
    assert run(code, XDG_CACHE_HOME=str(tmp_path)) is None
    assert not os.listdir(tmp_path)


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    before = dict(jax.config.values)
    with pytest.raises(OSError, match="name another one"):
        nb.enable_compilation_cache(tmp_path / "file" / "folder")
    assert dict(jax.config.values) == before
