"""JAX arrays are tables, read as the NumPy arrays of the same cells."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import digamma
from slow import names_fast

import bayesnb as nb
from bayesnb.core.logarithms import log_rising
from bayesnb.data.read import as_table


def place(x):
    with jax.enable_x64(True):
        return jnp.asarray(x)


def assert_same_statistics(found, expected):
    found, expected = (jax.tree.leaves(posterior.problem.statistics) for posterior in (found, expected))
    for mine, other in zip(found, expected, strict=True):
        assert type(mine) is np.ndarray
        assert mine.dtype == (np.int64 if other.dtype.kind == "i" else np.float64)
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


@pytest.fixture(autouse=True)
def setting_stays():
    before = jax.config.jax_enable_x64
    yield
    assert jax.config.jax_enable_x64 == before
    assert jnp.ones(1).dtype == jnp.float32


@pytest.mark.parametrize("a", [1e-3, 0.7, 15.9, 16.1, 1e3, 1e8])
def test_log_rising_compiled(float64, a):
    steps = np.log(np.longdouble(a) + np.arange(1000, dtype=np.longdouble)).cumsum().astype(float)
    x = np.array([0, 1, 2, 5, 100, 1000])
    expected = np.where(x == 0, 0.0, steps[x - 1])
    np.testing.assert_allclose(log_rising(jnp.asarray(a), jnp.asarray(x * 1.0)), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("a", [0.7, 16.1, *(pytest.param(a, marks=pytest.mark.slow) for a in (1e-3, 15.9, 1e3, 1e8))])
def test_the_slopes_of_log_rising(float64, a):
    x = np.array([0, 1, 2, 5, 100, 1000])
    slopes = jax.jit(jax.vmap(jax.grad(log_rising, argnums=(0, 1)), (None, 0)))
    along_a, along_x = slopes(jnp.asarray(a), jnp.asarray(x * 1.0))
    sums = (1 / (a + np.arange(1000, dtype=np.longdouble))).cumsum().astype(float)
    np.testing.assert_allclose(along_a, np.where(x == 0, 0.0, sums[x - 1]), rtol=2e-14)
    np.testing.assert_allclose(along_x, digamma(a + x), rtol=1e-13)


@pytest.mark.parametrize("dtype", names_fast(["bool", "uint8", "int64", "float16", "bfloat16"], {"bool", "bfloat16"}))
def test_types_of_tables(rng, dtype):
    X, y = rng.integers(0, 2, (300, 3)), rng.integers(0, 2, 300)
    with jax.enable_x64(True):
        table = jnp.asarray(X).astype(dtype)
    as_numpy = X.astype(np.float32 if dtype == "bfloat16" else dtype)
    expected = nb.fit(nb.Categorical(), as_numpy, y)
    found = nb.fit(nb.Categorical(), table, y)
    assert repr(found.model.schema.categories) == repr(expected.model.schema.categories)
    assert_same_statistics(found, expected)
    np.testing.assert_allclose(expected.predict_proba(table), expected.predict_proba(as_numpy), rtol=1e-6)


@pytest.mark.parametrize("first", [-(2**53) - 1, 0, 2**53 - 3, 2**53 - 1, 2**53 + 1])
def test_distinct_whole_numbers(first):
    """float64 does not hold every whole number above 2**53."""
    numbers = first + np.array([[1], [0], [2], [1]])
    assert set(as_table(place(numbers)).values(0, slice(None)).tolist()) == {first, first + 1, first + 2}


def test_draws_averages_and_rows_without_a_label(rng):
    X, y = rng.integers(0, 2, (60, 3)) * 1.0, rng.integers(0, 2, 60)
    table = place(X)
    posterior = nb.fit(nb.Bernoulli(), X, y)
    np.testing.assert_array_equal(posterior.proba_draws(table, num_draws=5), posterior.proba_draws(X, num_draws=5))
    np.testing.assert_allclose(posterior.averaged().predict_proba(table), posterior.averaged().predict_proba(X))
    labels = np.where(rng.uniform(size=60) < 0.3, None, y)
    found, expected = (nb.fit(nb.Bernoulli(), cells, labels, nb.MAP()) for cells in (table, X))
    np.testing.assert_allclose(found.predict_proba(table), expected.predict_proba(X), rtol=1e-10)
    bursty = nb.fit(nb.DirichletMultinomial(), X, y, nb.MAP())
    np.testing.assert_allclose(bursty.predict_proba(table), bursty.predict_proba(X), rtol=1e-10)


def test_an_array_in_the_processors_memory_is_not_copied(rng):
    X = place(rng.normal(size=(5, 2)))
    assert np.shares_memory(as_table(X).cells, np.asarray(X))
