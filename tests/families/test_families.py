"""The contract that every family keeps, checked on one table of families."""

import jax
import numpy as np
import pytest
from cases import CASES, CLASSES, GIVEN, OUTSIDE, membership, with_holes
from scipy import stats
from slow import cases_fast

from bayesnb.families.distributions import CovarianceElement
from bayesnb.model.prior import ClassPrior, Prior

FAST = {"given", "outside categorical", *(case.name for case in CASES)}

IN_PACKAGE = FAST - {"user's exponential", "numpyro exponential", "outside categorical"}

FEWER = {
    # One family of each distribution of parameters: beta, Dirichlet, normal with inverse gamma, gamma.
    "test_draws_follow_the_marginals": {"bernoulli", "categorical", "gaussian", "poisson"},
    # The others have the formulas of one of these.
    "test_formulas_run_compiled_and_do_not_retrace": IN_PACKAGE - {"geometric", "log normal"},
}
"""Tests that compile much, and the cases that the fast suite runs of them."""

pytestmark = pytest.mark.usefixtures("float64")


def pytest_generate_tests(metafunc):
    fast = FEWER.get(metafunc.function.__name__, FAST)
    metafunc.parametrize("case", cases_fast([*CASES, GIVEN, *OUTSIDE], fast))


def draw(family, rng, shape=()):
    """Parameters from a family as prior, or as posterior."""
    return Prior(ClassPrior(None, np.full(CLASSES, 1 / CLASSES)), (family,)).draw(rng, shape).blocks[0]


def leaves_close(one, other, rtol=1e-10, atol=1e-10):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def table(case, rng, rows, weighted=False):
    x = case.cells(rng, rows)
    x = with_holes(rng, x) if case.can.holes else x
    return x, membership(rng, rows, weighted)


def test_marginals_have_the_moments_of_draws(case, rng):
    x, m = table(case, rng, 60)
    posterior = case.family.update(case.family.statistics(x, m))
    draws = draw(posterior, rng, (20_000,))
    with jax.enable_x64(True):
        for name, marginal in posterior.marginals().items():
            z = (draws[name].mean(0) - marginal.mean) / (draws[name].std(0) / np.sqrt(len(draws[name])))
            assert np.abs(z).max() < 4.8, name
            np.testing.assert_allclose(posterior.mean()[name], marginal.mean)


@pytest.mark.slow
def test_draws_follow_the_marginals(case, rng):
    from bayesnb.families.formulas import cdf

    x, m = table(case, rng, 40)
    posterior = case.family.update(case.family.statistics(x, m))
    draws = draw(posterior, rng, (4000,))
    for name, marginal in posterior.marginals().items():
        pit = cdf(marginal, draws[name]).reshape(4000, -1)
        p_values = [stats.kstest(column, "uniform").pvalue for column in pit.T]
        assert min(p_values) > 1e-5 / len(p_values), name
        if isinstance(marginal, CovarianceElement):
            continue  # an average over variances, which NumPy computes
        with jax.enable_x64(True):
            np.testing.assert_allclose(
                cdf(marginal, draws[name][:3]), jax.jit(marginal.cdf)(draws[name][:3]), rtol=1e-6, atol=1e-9
            )


@pytest.mark.slow
def test_formulas_run_compiled_and_do_not_retrace(case, rng):
    x, m = table(case, rng, 20)
    counted = case.family.statistics(x, m)
    traces = []

    @jax.jit
    def posterior_and_evidence(family, statistics, many):
        traces.append(None)
        return family.update(statistics), family.log_evidence(statistics), jax.vmap(family.update)(many)

    with jax.enable_x64(True):
        if case.name == "numpyro exponential":
            family = case.family
            compiled = jax.jit(lambda family, statistics: family.update(statistics))(family, counted)
            leaves_close(compiled, family.update(counted))
            return
        many = jax.tree.map(lambda *leaves: np.stack(leaves), counted, counted + counted)
        posterior, evidence, stacked = posterior_and_evidence(case.family, counted, many)
        posterior_and_evidence(jax.tree.map(lambda leaf: leaf * 1.5, case.family), counted + counted, many)
    assert len(traces) == 1
    leaves_close(posterior, case.family.update(counted))
    np.testing.assert_allclose(evidence, case.family.log_evidence(counted), rtol=1e-9)
    leaves_close(jax.tree.map(lambda leaf: np.asarray(leaf)[1], stacked), case.family.update(counted + counted))
