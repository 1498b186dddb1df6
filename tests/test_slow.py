"""Long statistical suites: what the quick tests see once, seen many times."""

import numpy as np
import pytest
from cases import CASES
from scipy import stats

import bayesnb as nb
from bayesnb.families.fast import cdf

pytestmark = pytest.mark.slow


def test_nuts_is_called_right_as_often_as_stated():
    """Sixty fits of NUTS, all right: verdicts at error rate 0.05, of which at most nine may be NO."""
    rng = np.random.default_rng(0)
    model = nb.NaiveBayes({"size": (nb.Gaussian(), [0, 1]), "kind": (nb.Categorical(), [2])})
    wrong, scores = 0, []
    for k in range(60):
        X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(0, 3, 50)])
        y = rng.integers(0, 2, 50)
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
        exact = nb.fit(model, X, y, classes=[0, 1])
        comparison = nb.compare(exact, nb.fit(model, X, y, nb.NUTS(), classes=[0, 1], key=k), error_rate=0.05)
        wrong += comparison.verdict.startswith("NO")
        scores.append(comparison.table[["z_mean", "z_sd"]].to_numpy())
    z = np.concatenate(scores).ravel()
    assert wrong <= 9
    assert 0.9 < z.std() < 1.15
    assert np.abs(z).max() < 5.5


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parameters_drawn_from_the_prior_are_uniform_under_their_posteriors(case):
    """Simulation-based calibration through exact PITs: four hundred tables from the prior."""
    x = case.cells(np.random.default_rng(0), 20)
    bound = nb.NaiveBayes(case.family, class_concentration=[1.5, 2.5]).bind(x, np.arange(20) % 2)
    pits: dict[str, list[np.ndarray]] = {}
    for k in range(400):
        X, y, truth = bound.simulate(20, key=k, total_count=15, return_parameters=True)
        posterior = nb.fit(bound, X, y)
        for site in bound.sites:
            family = posterior.families[site.block]
            if site.column is not None:
                family = family.take((slice(None), site.column))
            marginal = family.marginals()[site.parameter]
            pits.setdefault(site.name, []).append(np.ravel(cdf(marginal, truth[site.name])))
    tests = [stats.kstest(column, "uniform").pvalue for values in pits.values() for column in np.stack(values).T]
    assert min(tests) > 1e-3 / len(tests)


def test_evidence_by_simulation_from_the_prior():
    """The mean likelihood of draws from the prior, for a mixed table small enough for that."""
    X = np.array([[1, 0.2, 3], [0, -0.4, 1], [1, np.nan, 2], [1, 0.5, 4]])
    y = [0, 1, 0, 0]
    model = nb.NaiveBayes({0: nb.Bernoulli(2, 1), 1: nb.Gaussian(0.0, 2.0, 4.0, 2.0), 2: nb.Poisson(6.0, 2.0)})
    posterior = nb.fit(model, X, y)
    prior = posterior.model.draw_prior(np.random.default_rng(1), (400_000,))
    log_density = np.asarray(posterior.model.log_density(prior, posterior.problem.statistics))
    log_density = log_density + posterior.problem.statistics.blocks[2].log_base.sum()
    weight = np.exp(log_density)
    error = weight.std() / np.sqrt(weight.size)
    assert abs(weight.mean() - np.exp(posterior.log_evidence)) < 4.8 * error
    assert error < 0.05 * weight.mean()
