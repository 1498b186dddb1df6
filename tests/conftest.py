import os
from pathlib import Path

import jax
import numpy as np
import pytest

import bayesnb as nb

os.environ.setdefault("CI", "true")

CACHE = {
    "jax_compilation_cache_dir": str(Path(__file__).parents[1] / ".jax_cache"),
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}
"""What is compiled is kept on disk, for the other worker, the kernels of notebooks and the next run."""

for setting, value in CACHE.items():
    if os.environ.setdefault(setting.upper(), str(value)) == str(value):
        jax.config.update(setting, value)


def find_data() -> Path | None:
    """The folder of real tables, beside the checkout or where the environment says."""
    candidates = [Path(__file__).parents[2] / "shared" / "data"]
    if named := os.environ.get("BAYESNB_TEST_DATA"):
        candidates.insert(0, Path(named))
    return next((folder for folder in candidates if folder.is_dir()), None)


@pytest.fixture(scope="session")
def data() -> Path:
    folder = find_data()
    if folder is None:
        pytest.skip("no tables beside the checkout; name their folder with BAYESNB_TEST_DATA")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261121)


@pytest.fixture
def float64():
    """JAX in float64, as the package's own calls run."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def penguins():
    return nb.datasets.penguins()


@pytest.fixture(scope="session")
def penguin_posteriors(penguins):
    """One model of the penguins, in closed form and sampled."""
    X, y = penguins
    model = nb.NaiveBayes.from_frame(X)
    return nb.fit(model, X, y), nb.fit(model, X, y, nb.NUTS(), key=1)
