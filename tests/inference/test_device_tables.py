"""Laws of tables on a device: what is fitted and predicted where they lie equals what the host computes."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES
from slow import cases_fast, names_fast

import bayesnb as nb
from bayesnb.core import device_arrays
from bayesnb.model import device_rows

DEVICE = jax.devices("cpu")[-1]
ROWS = 700
Y = np.arange(ROWS) % 3


@pytest.fixture
def elsewhere(monkeypatch):
    """No CPU is that of NumPy's arrays, so that every array of JAX lies on a device, which has small pieces."""
    monkeypatch.setattr(device_arrays, "host_device", lambda: None)
    monkeypatch.setattr(device_rows, "NUMBERS", (2**11, 2**11))


@pytest.fixture
def stays(elsewhere, monkeypatch):
    """As `elsewhere`; a copy of an array to the host is an error."""

    def copied(self):
        raise AssertionError(f"an array of shape {self.shape} was copied")

    monkeypatch.setattr(device_arrays.DeviceArray, "copied", property(copied))


def there(values):
    """An array on the device, in its own type."""
    with jax.enable_x64(True):
        return jax.device_put(np.asarray(values), DEVICE)


def leaves(posterior):
    return jax.tree.leaves(posterior.problem.statistics)


def assert_equal_fits(found, expected, X, x, tolerance):
    assert found.classes.dtype == expected.classes.dtype
    np.testing.assert_array_equal(found.classes, expected.classes)
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        assert type(one) is np.ndarray
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    for method in ("predict_proba", "predict_log_proba", "log_joint"):
        one, other = getattr(found, method)(x), getattr(expected, method)(X)
        assert (type(one), one.dtype) == (np.ndarray, np.float64)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=method)


# --------------------------------------------------------------------------------------------------
# Every family
# --------------------------------------------------------------------------------------------------


def mixed(rng):
    """A table of blocks of several families, and the model."""
    normal = rng.normal(size=(ROWS, 4)) + Y[:, None]
    counts = rng.poisson(1.0 + Y[:, None], (ROWS, 4)).astype(float)
    X = np.column_stack([normal, np.exp(normal[:, :1]), counts, 3.0 + np.minimum(counts[:, :1], 2), counts[:, :1] > 1, counts[:, 2:3] > 0])
    model = nb.NaiveBayes({
        "normal": (nb.Gaussian(), [0, 1]),
        "vectors": (nb.MultivariateGaussian(), [2, 3]),
        "positive": (nb.LogNormal(), [4]),
        "counts": (nb.Poisson(), [5]),
        "pairs": (nb.JointCategorical(), [6, 11]),
        "words": (nb.Multinomial(), [7, 8]),
        "grades": (nb.Categorical(), [9]),
        "bits": (nb.Bernoulli(), [10]),
    })
    return X, model


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("stays")
@pytest.mark.filterwarnings("ignore:.*rows lack a cell")
def test_a_table_of_several_families(dtype, rng):
    X, model = mixed(rng)
    weights = None
    if dtype == np.float64:
        weights = rng.integers(0, 5, ROWS) / 4
        X[:, [0, 2, 4, 5, 9, 10]] = np.where(rng.random((ROWS, 6)) < 0.1, np.nan, X[:, [0, 2, 4, 5, 9, 10]])
    X = X.astype(dtype)
    expected = nb.fit(model, X, Y, sample_weight=weights)
    found = nb.fit(model, there(X), there(Y), sample_weight=None if weights is None else there(weights))
    assert_equal_fits(found, expected, X, there(X), 1e-10)


NO_WAY = ("histogram", "polya tree", "given", "all trees", "annotations")


def table_of(case, rng, dtype, holes):
    first = Y == 0
    X = case.draw(rng, first, 3).astype(dtype)
    return np.where(rng.random(X.shape) < 0.1, np.nan, X).astype(dtype) if holes and case.can.holes else X


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", cases_fast(CASES, {}))
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.filterwarnings("ignore:.*rows lack a cell")
def test_every_family(case, dtype, weighted, rng, monkeypatch):
    X = table_of(case, rng, dtype, holes=weighted)
    model = nb.NaiveBayes({"x": (case.default, slice(None))})
    weights = rng.integers(0, 5, ROWS) / 4 if weighted else None
    inference = "exact" if case.can.closed else "map"
    expected = nb.fit(model, X, Y, inference, sample_weight=weights)
    copies = []
    whole = device_arrays.DeviceArray.copied.func
    monkeypatch.setattr(device_arrays.DeviceArray, "copied", property(lambda self: copies.append(self.shape) or whole(self)))
    found = nb.fit(model, there(X), there(Y), inference, sample_weight=None if weights is None else there(weights))
    assert_equal_fits(found, expected, X, there(X), 1e-10)
    print("COPIES", case.name, copies)
