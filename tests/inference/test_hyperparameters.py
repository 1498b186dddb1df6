"""Gibbs and NUTS learn hyperparameters, with and without labels: against quadrature and sums over all labels."""

import itertools

import numpy as np
import numpyro.distributions as dist
import pytest
from cases import Exponential
from scipy import stats
from scipy.special import gammaln, logsumexp, softmax
from small_crowd import CRITICAL_Z, z_scores

import bayesnb as nb
from bayesnb.inference.fit import read_table
from bayesnb.inference.gibbs import ChainHyperparameters
from bayesnb.inference.nuts import Target
from bayesnb.model.blocks import ModelStatistics
from bayesnb.posterior.kinds import CollapsedPosterior, SampledPosterior

EGGS = np.array([[2.0], [0], [3], [9], [6], [1], [7]])
KIND = ["a", "a", "a", "b", "b", None, None]
GRID = np.exp(np.linspace(-6, 5, 1500))
GIBBS = nb.Gibbs(num_warmup=50, num_samples=100, num_chains=8)

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")


LOG_PRIOR = stats.gamma.logpdf(GRID, 2.0) + np.log(GRID)
"""Of the hyperprior Gamma(2, 1), on the scale of the grid."""


def log_evidence_of_eggs(cells):
    """Log evidence at each number of the grid, of counts with the prior Gamma(a, 1) on their rate."""
    total, n = np.sum(cells), len(cells)
    return gammaln(GRID + total) - gammaln(GRID) - (GRID + total) * np.log(1 + n)


def means_by_quadrature(labels, *, shared):
    """Mean of the hyperparameter and of each class's rate, over the grid and over all labels of the other rows."""
    missing = [i for i, label in enumerate(labels) if label is None]
    weights, hyperparameters, rates = [], [], []
    for guess in itertools.product("ab", repeat=len(missing)):
        full = dict(enumerate(labels)) | dict(zip(missing, guess, strict=True))
        cells = [EGGS[[i for i in full if full[i] == label], 0] for label in "ab"]
        n, total = np.array([len(c) for c in cells]), np.array([c.sum() for c in cells])
        evidence = np.stack([log_evidence_of_eggs(c) for c in cells])
        density = np.tile(LOG_PRIOR + evidence.sum(axis=0), (2, 1)) if shared else LOG_PRIOR + evidence
        size, grid_weights = logsumexp(density, axis=1), softmax(density, axis=1)
        weights.append(gammaln(1 + n).sum() + (size[0] if shared else size.sum()))
        hyperparameters.append(grid_weights @ GRID)
        rates.append(((GRID + total[:, None]) / (1 + n[:, None]) * grid_weights).sum(axis=1))
    weights = softmax(weights)
    return weights @ np.array(hyperparameters), weights @ np.array(rates)


@pytest.mark.parametrize(
    ("inference", "labels", "shared"),
    [
        (GIBBS, KIND, False),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in itertools.product([GIBBS, nb.NUTS()], [KIND, list("aabbbab")], [True, False])
            if given != (GIBBS, KIND, False)
        ),
    ],
)
def test_learned_hyperparameters_agree_with_quadrature(inference, labels, shared):
    hyperprior = dist.Gamma(2.0, 1.0) if shared else dist.Gamma(2.0, 1.0).expand([2, 1])
    posterior = nb.fit(nb.Poisson(hyperprior, 1.0), EGGS, labels, inference, key=2)
    assert type(posterior) is (SampledPosterior if None in labels else CollapsedPosterior)
    hyperparameter, rate = means_by_quadrature(labels, shared=shared)
    draws = posterior.draws()
    expected = {"x_concentration": hyperparameter[:1] if shared else hyperparameter, "x_rate": rate}
    for site, mean in expected.items():
        assert np.abs(z_scores(draws[site], mean)).max() < CRITICAL_Z
    # Standard errors are large if chains disagree.
    np.testing.assert_allclose(draws["x_rate"].mean(axis=(0, 1))[:, 0], rate, rtol=0.2)
    np.testing.assert_allclose(posterior.hyperparameters()["x_concentration"].mean(), hyperparameter.mean(), rtol=0.2)


@pytest.mark.slow
def test_nuts_agrees_with_quadrature_where_all_rows_have_labels():
    """Known class probabilities and a short formula of the evidence, which compile fast."""
    waits, labels = EGGS + 0.5, np.array(list("aabbbab"))
    model = nb.NaiveBayes(Exponential(dist.Gamma(2.0, 1.0), 1.0), class_probs=[0.5, 0.5])
    draws = nb.fit(model, waits, labels, nb.NUTS(), key=2).draws()
    n, total = (np.array([function(waits[labels == label]) for label in "ab"]) for function in (len, np.sum))
    of_classes = [
        gammaln(GRID + of_class) - gammaln(GRID) - (GRID + of_class) * np.log(1 + of_sum)
        for of_class, of_sum in zip(n, total, strict=True)
    ]
    weight = softmax(LOG_PRIOR + sum(of_classes))
    assert np.abs(z_scores(draws["x_concentration"], weight @ GRID)).max() < CRITICAL_Z
    rate = [weight @ (GRID + of_class) / (1 + of_sum) for of_class, of_sum in zip(n, total, strict=True)]
    assert np.abs(z_scores(draws["x_rate"], rate)).max() < CRITICAL_Z


def test_the_concentration_of_the_classes_is_learned_too():
    labels = list("aaaabbbbbbbbbbbb")
    X = np.tile([[1.0], [0.0]], (8, 1))
    model = nb.NaiveBayes(nb.Bernoulli(), class_concentration=dist.Gamma(2.0, 0.5))
    draws = nb.fit(model, X, labels, GIBBS, key=1).draws()
    density = stats.gamma.logpdf(GRID, 2.0, scale=2.0) + np.log(GRID)
    density += gammaln(2 * GRID) - gammaln(2 * GRID + 16)
    density += gammaln(GRID + 4) + gammaln(GRID + 12) - 2 * gammaln(GRID)
    weight = softmax(density)
    assert np.abs(z_scores(draws["class_concentration"], weight @ GRID)).max() < CRITICAL_Z
    assert np.abs(z_scores(draws["class_prob"][..., 0], weight @ ((GRID + 4) / (2 * GRID + 16)))).max() < CRITICAL_Z


def test_the_density_that_gibbs_reports_has_hyperparameters():
    """Up to a constant, which the labelled rows add."""
    posterior = nb.fit(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0), EGGS, KIND, nb.Gibbs(5, 5, 8), key=3)
    draws = posterior.draws()
    difference = []
    for at in np.ndindex(8, 5):
        a, rate, prob = (draws[name][at] for name in ("x_concentration", "x_rate", "class_prob"))
        expected = stats.gamma.logpdf(a, 2.0) + stats.gamma.logpdf(rate, a).sum()
        for x, label in zip(EGGS[:, 0], KIND, strict=True):
            joint = np.log(prob) + stats.poisson.logpmf(x, rate.ravel())
            expected += logsumexp(joint) if label is None else joint["ab".index(label)]
        difference.append(posterior.sample_stats["lp"][at] - expected)
    assert np.ptp(difference) < 1e-9
    assert np.ptp(posterior.sample_stats["lp"]) > 1


@pytest.mark.parametrize("shared", [True, False], ids=["one for both classes", "one for each class"])
def test_many_chains_have_the_distribution_of_the_quadrature(shared, float64):
    hyperprior = dist.Gamma(2.0, 1.0) if shared else dist.Gamma(2.0, 1.0).expand([2, 1])
    problem = read_table(nb.NaiveBayes(nb.Poisson(hyperprior, 1.0)), EGGS, list("aabbbab"))
    rng = np.random.default_rng(0)
    chains = ChainHyperparameters(problem.resolved, 3000, rng)
    statistics = ModelStatistics.joined([problem.statistics] * 3000)
    for _ in range(12):
        chains.move(statistics, rng)
    evidence = np.stack([log_evidence_of_eggs(EGGS[[0, 1, 5], 0]), log_evidence_of_eggs(EGGS[[2, 3, 4, 6], 0])])
    of_classes = [LOG_PRIOR + evidence.sum(axis=0)] if shared else LOG_PRIOR + evidence
    found = chains.values["x_concentration"].reshape(3000, -1)
    for c, density in enumerate(of_classes):
        distribution = np.cumsum(softmax(density))
        assert stats.kstest(found[:, c], lambda a, of=distribution: np.interp(a, GRID, of)).pvalue > 1e-4


def test_what_nuts_integrates_out_is_drawn_and_what_it_samples_is_kept():
    model = nb.NaiveBayes({0: nb.Poisson(dist.Gamma(2.0, 1.0), 1.0), 1: nb.Gamma(4.0, 1.0, 1.5, 0.1)})
    target = Target(read_table(model, np.hstack([EGGS, EGGS + 1]), list("aabbbab")))
    own = {name: np.random.default_rng(0).gamma(3.0, size=(2, 400, 2, 1)) for name in ("mean", "concentration")}
    at = [block.labels for block in target.model.blocks].index((1,))
    sites = {"0_concentration": np.full((2, 400), 3.0)} | {f"{at}.{name}": value for name, value in own.items()}
    found = target.parameters(sites, np.random.default_rng(1))
    np.testing.assert_array_equal(found.hyperparameters["0_concentration"], 3.0)
    for name, value in own.items():
        np.testing.assert_array_equal(found.blocks[at][name], value)
    total, n = np.array([3, 25]), np.array([3, 4])
    error = np.sqrt(3.0 + total) / (1 + n) / np.sqrt(800)
    rate = found.blocks[1 - at]["rate"].mean(axis=(0, 1))[:, 0]
    assert np.abs((rate - (3.0 + total) / (1 + n)) / error).max() < CRITICAL_Z


def test_classes_that_share_no_hyperparameter_move_side_by_side():
    def moves(family, **options):
        model = read_table(nb.NaiveBayes(family, **options), np.tile(EGGS, 2), KIND).resolved
        chains = ChainHyperparameters(model, 8, np.random.default_rng(0))
        return chains._owner.tolist(), [moved.tolist() for moved in chains._moves]

    assert moves(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0)) == ([0], [[True]])
    assert moves(nb.Poisson(dist.Gamma(2.0, 1.0).expand([2, 1]), 1.0)) == ([0, 1], [[True, True]])
    owner, moved = moves(nb.Poisson(dist.Gamma(2.0, 1.0).expand([2, 2]), 1.0))
    assert owner == [0, 0, 1, 1]
    assert moved == [[True, False, True, False], [False, True, False, True], [True] * 4]
    mixed = nb.Poisson(dist.Gamma(2.0, 1.0).expand([2, 1]), dist.Gamma(2.0, 1.0))
    assert moves(mixed)[0] == [0, 0, 0]
    both = {"class_concentration": dist.Gamma(1.0, 1.0)}
    assert moves(nb.Poisson(dist.Gamma(2.0, 1.0).expand([2, 1]), 1.0), **both)[0] == [0, 0, 0]


@pytest.mark.slow
def test_gibbs_learns_where_no_row_has_a_label():
    X = np.concatenate([EGGS, EGGS + 40])
    posterior = nb.fit(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0), X, None, nb.Gibbs(50, 100, 4), classes=2, key=0)
    a = posterior.hyperparameters()["x_concentration"]
    np.testing.assert_allclose(np.sort(posterior.mean()["x_rate"].ravel()), (a + np.array([28, 308])) / 8, rtol=0.05)


@pytest.mark.slow
def test_a_learned_mean_moves_on_its_own_scale():
    """Thousands of a unit: the cells of a class have a multivariate t distribution, given the prior mean."""
    rng = np.random.default_rng(5)
    x, y = rng.normal([[3000.0], [5000.0]], 300.0, (2, 8)), np.repeat(["a", "b"], 8)
    model = nb.NaiveBayes(nb.Gaussian(dist.Normal(3000.0, 2000.0), 0.5, 3.0, 2e5))
    posterior = nb.fit(model, x.reshape(-1, 1), y, GIBBS, key=1)
    grid = np.linspace(-5000, 13000, 800)
    shape = 2e5 / 3.0 * (np.eye(8) + 1 / 0.5)
    density = stats.norm.logpdf(grid, 3000.0, 2000.0)
    for of_class in x:
        density += [stats.multivariate_t.logpdf(of_class, np.full(8, loc), shape, df=6) for loc in grid]
    expected = softmax(density) @ grid
    drawn = posterior.draws()["x_loc"]
    assert np.abs(z_scores(drawn, expected)).max() < CRITICAL_Z
    assert drawn.std() == pytest.approx(np.sqrt(softmax(density) @ (grid - expected) ** 2), rel=0.15)
    assert np.nanmax(posterior.diagnostics.r_hat) < 1.05
