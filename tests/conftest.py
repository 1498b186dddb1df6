import gc
import os
from pathlib import Path

import pytest

os.environ.setdefault("CI", "true")
# Each worker has one processor: a second thread of BLAS, OpenMP or bayesnb would take that of another worker.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["COLUMNS"] = "80"  # the width of what objects print, whatever the terminal's is

# What is compiled is kept on disk, for the other worker, the kernels of notebooks and the next run. JAX reads these
# variables when it is first imported. The fixtures therefore import it, and the process that hands tests to the workers
# starts them without a wait for JAX.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.0")

# Python's garbage collector goes through all imported modules and all tests again and again, which takes a twentieth of
# the time. It pauses until all tests are collected, and then looks at new objects only.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()


def find_data() -> Path | None:
    """The folder of real tables, beside the checkout or where the environment says."""
    candidates = [Path(__file__).parents[2] / "shared" / "data"]
    if named := os.environ.get("BAYESNB_TEST_DATA"):
        candidates.insert(0, Path(named))
    return next((folder for folder in candidates if folder.is_dir()), None)


SLOW = ("binomial", "negative binomial", "exponential", "histogram", "multivariate gaussian", "joint categorical")
"""Cases of `cases.py` for the slow suite, which the fast one has in the laws of every family alone."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave cases that are slow to the slow suite."""
    for item in items:
        case = getattr(getattr(item, "callspec", None), "params", {}).get("case")
        if getattr(case, "name", "") in SLOW and item.path.name != "test_laws.py":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def data() -> Path:
    folder = find_data()
    if folder is None:
        pytest.skip("no tables beside the checkout; name their folder with BAYESNB_TEST_DATA")
    return folder


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(20261121)


@pytest.fixture
def float64():
    """JAX in float64, as the package's own calls run."""
    import jax

    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def penguins():
    import bayesnb as nb

    return nb.datasets.penguins()


@pytest.fixture(scope="session")
def coins():
    """Three columns of zeros and ones and two classes, for tests that sample: they share a compiled sampler."""
    import numpy as np

    import bayesnb as nb

    rng = np.random.default_rng(11)
    return nb.NaiveBayes(nb.Bernoulli()), rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40)
