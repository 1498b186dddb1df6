"""Exact algebra that holds for every table: hypothesis looks for one where it does not."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayesnb as nb

settings.register_profile(
    "bayesnb", max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("bayesnb")

FAMILIES = {
    "bernoulli": lambda a: nb.Bernoulli(a, 1.5 * a),
    "categorical": lambda a: nb.Categorical(a, categories=range(4)),
    "multinomial": lambda a: nb.Multinomial(a),
    "gaussian": lambda a: nb.Gaussian(1.0, a, a, 2 * a),
    "gaussian by default": lambda a: nb.Gaussian(),
    "poisson": lambda a: nb.Poisson(a, a),
}


@st.composite
def tables(draw):
    """A family, a table with missing cells and labels 0, 1, 2."""
    name = draw(st.sampled_from(sorted(FAMILIES)))
    rows, columns = draw(st.integers(3, 12)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if name == "bernoulli":
        X = rng.integers(0, 2, (rows, columns)).astype(float)
    elif name.startswith("gaussian"):
        X = rng.normal(
            draw(st.sampled_from([0.0, 3.0, -200.0])), draw(st.sampled_from([1e-3, 1.0, 40.0])), (rows, columns)
        )
    else:
        X = rng.integers(0, 4, (rows, columns)).astype(float)
    if name != "multinomial":
        X[rng.uniform(size=X.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    y = rng.integers(0, 3, rows)
    model = nb.NaiveBayes(FAMILIES[name](draw(st.sampled_from([0.3, 1.0, 4.0]))))
    return model, X, y, rng


def fit(model, X, y, **options):
    return nb.fit(model, X, y, classes=[0, 1, 2], **options)


def assert_same(one, other, X, rtol=1e-7):
    np.testing.assert_allclose(one.log_joint(X), other.log_joint(X), rtol=rtol, atol=1e-8)
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-8, abs=1e-7)


@given(tables())
@pytest.mark.slow
def test_order_of_rows_columns_and_classes_does_not_matter(table):
    model, X, y, rng = table
    posterior = fit(model, X, y)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    assert_same(fit(model, X[rows], y[rows]), posterior, X)
    shuffled = fit(model, X[:, columns], y)
    np.testing.assert_allclose(shuffled.log_joint(X[:, columns]), posterior.log_joint(X), rtol=1e-9, atol=1e-9)
    renamed = nb.fit(model, X, 2 - y, classes=[0, 1, 2])
    np.testing.assert_allclose(renamed.predict_proba(X)[:, ::-1], posterior.predict_proba(X), rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@given(tables(), st.integers(0, 12))
def test_a_fit_to_all_is_an_update_and_forgetting_undoes_it(table, cut):
    model, X, y, _ = table
    cut = min(max(cut, 1), len(X) - 1)
    whole, first = fit(model, X, y), fit(model, X[:cut], y[:cut])
    assert_same(first.update(X[cut:], y[cut:]), whole, X)
    assert_same(whole.forget(X[cut:], y[cut:]), first, X, rtol=1e-6)


@given(tables())
def test_weights_are_repetitions(table):
    model, X, y, rng = table
    repeats = rng.integers(0, 3, len(X))
    repeats[0] = 1
    weighted = fit(model, X, y, sample_weight=repeats)
    assert_same(fit(model, np.repeat(X, repeats, axis=0), np.repeat(y, repeats)), weighted, X)
