"""The contract that every family keeps, checked on one table of families."""

import pickle
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from cases import CASES, CATEGORIES, CLASSES, COLUMNS, OUTSIDE, membership, with_holes
from numpyro.distributions import gof
from scipy import integrate, stats
from scipy.special import betaln, gammaln, logsumexp
from slow import cases_fast

import bayesnb as nb
from bayesnb.families.formulas import log_density
from bayesnb.model.blocks import ClassPrior, draw_parameters

FAST = {"outside categorical", *(case.name for case in CASES)}

IN_PACKAGE = FAST - {"user's exponential", "numpyro exponential", "outside categorical"}

FEWER = {
    # SciPy's formulas check the same numbers of every family.
    "test_predictive_is_numpyros": {"categorical", "multinomial", "gaussian"},
    # One family of each distribution of parameters: beta, Dirichlet, normal with inverse gamma, gamma.
    "test_draws_follow_the_marginals": {"bernoulli", "categorical", "gaussian", "poisson"},
    # The others have the formulas of one of these.
    "test_formulas_run_compiled_and_do_not_retrace": IN_PACKAGE - {"geometric", "log normal"},
    "test_evidence_is_the_likelihood_averaged_over_the_prior": IN_PACKAGE,
}
"""Tests that compile much, and the cases that the fast suite runs of them."""

pytestmark = pytest.mark.usefixtures("float64")


def pytest_generate_tests(metafunc):
    fast = FEWER.get(metafunc.function.__name__, FAST)
    metafunc.parametrize("case", cases_fast([*CASES, *OUTSIDE], fast))


def draw(family, rng, shape=()):
    """Parameters from a family as prior, or as posterior."""
    return draw_parameters(ClassPrior(None, np.full(CLASSES, 1 / CLASSES)), [family], rng, shape).blocks[0]


def leaves_close(one, other, rtol=1e-10, atol=1e-10):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def table(case, rng, rows, weighted=False):
    x = case.cells(rng, rows)
    x = with_holes(rng, x) if case.missing else x
    return x, membership(rng, rows, weighted)


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_merge_unmerge_and_ignore_order(case, rng, weighted):
    x, m = table(case, rng, 30, weighted)
    statistics = case.family.statistics
    whole, first, second = statistics(x, m), statistics(x[:11], m[:11]), statistics(x[11:], m[11:])
    leaves_close(first + second, whole)
    leaves_close(second + first, whole)
    leaves_close((first + second) - first, second)
    leaves_close(whole - whole, first - first)
    order = rng.permutation(30)
    leaves_close(statistics(x[order], m[order]), whole)


def test_statistics_of_weights_are_those_of_repeated_rows(case, rng):
    x, m = table(case, rng, 12)
    repeats = rng.integers(0, 4, 12)
    repeated = case.family.statistics(np.repeat(x, repeats, axis=0), np.repeat(m, repeats, axis=0))
    leaves_close(case.family.statistics(x, m * repeats[:, None]), repeated)
    leaves_close(case.family.statistics(x, m) * 2.0, case.family.statistics(x, m * 2.0))


def test_log_likelihood_of_statistics_is_the_sum_over_rows(case, rng):
    x, m = table(case, rng, 25, weighted=True)
    parameters = draw(case.family, rng, (5,))
    counted = case.family.statistics(x, m)
    by_statistics = np.asarray(case.family.log_likelihood(parameters, counted)).sum(axis=(-1, -2))
    by_rows = (np.asarray(case.family.row_log_likelihood(parameters, x)) * m).sum(axis=(-1, -2))
    base = np.asarray(getattr(counted, "log_base", 0.0)).sum()
    np.testing.assert_allclose(by_statistics + base, by_rows, rtol=1e-10)


def test_row_log_likelihood_is_numpyros(case, rng):
    x = case.cells(rng, 6)
    cells = x.astype(int) if case.family.cell == "category" else x
    parameters = draw(case.family, rng)
    with jax.enable_x64(True):
        if case.family.cell == "count vector":
            size = {"total_count": x.sum(-1).astype(int)}
            theirs = [
                log_density(case.family.likelihood(**{k: v[c] for k, v in parameters.items()}, **size), x)
                for c in range(CLASSES)
            ]
        else:
            theirs = [
                _of_rows(case, log_density(case.family.likelihood(**{k: v[c] for k, v in parameters.items()}), cells))
                for c in range(CLASSES)
            ]
    np.testing.assert_allclose(case.family.row_log_likelihood(parameters, x), np.stack(theirs, 1), rtol=1e-9)


def test_ratios_lack_a_term_that_all_classes_share(case, rng):
    x, m = table(case, rng, 12)
    parameters = draw(case.family, rng, (3,))
    posterior = case.family.update(case.family.statistics(x, m))
    for whole, ratio in (
        (case.family.row_log_likelihood(parameters, x), case.family.row_log_ratio(parameters, x)),
        (posterior.row_log_predictive(x), posterior.row_log_predictive_ratio(x)),
    ):
        term = np.asarray(whole) - np.asarray(ratio)
        np.testing.assert_allclose(term, np.broadcast_to(term[..., :1], term.shape), atol=1e-10)


def test_predictive_is_the_ratio_of_evidences(case, rng):
    x, m = table(case, rng, 20)
    posterior = case.family.update(case.family.statistics(x, m))
    new = with_holes(rng, case.cells(rng, 5)) if case.missing else case.cells(rng, 5)
    rows = []
    for row in new:
        every_class = np.ones((1, CLASSES))
        one = case.family.statistics(row[None], every_class)
        rows.append(np.asarray(posterior.log_evidence(one)).sum(axis=-1))
    np.testing.assert_allclose(posterior.row_log_predictive(new), np.stack(rows), rtol=1e-9, atol=1e-12)


def test_the_posterior_mean_predicts_only_where_a_family_says_so(case, rng):
    x, m = table(case, rng, 20)
    posterior = case.family.update(case.family.statistics(x, m))
    new = case.cells(rng, 4)
    exact = np.asarray(posterior.row_log_predictive(new))
    at_mean = np.asarray(posterior.row_log_likelihood(posterior.mean(), new))
    assert np.allclose(exact, at_mean, rtol=1e-9, atol=0) == case.family.mean_predicts


def test_predictive_is_numpyros(case, rng):
    x, m = table(case, rng, 20)
    posterior = case.family.update(case.family.statistics(x, m))
    new = case.cells(rng, 4)
    if case.family.cell == "count vector":
        theirs = np.stack([posterior.predictive(int(row.sum())).log_prob(row) for row in new])
    else:
        cells = new.astype(int) if case.family.cell == "category" else new
        theirs = _of_rows(case, log_density(case.predictive(posterior.take(None)), cells[:, None, :]))
    # NumPyro's negative binomial goes through JAX's betaln, which is off by 1e-7.
    np.testing.assert_allclose(posterior.row_log_predictive(new), theirs, rtol=1e-6, atol=1e-6)


def test_predictive_is_scipys(case, rng):
    x, m = table(case, rng, 20)
    posterior = case.family.update(case.family.statistics(x, m))
    new = case.cells(rng, 4)
    cells = new[:, None, :]
    a, b = jax.tree.leaves(posterior)[:2] if len(jax.tree.leaves(posterior)) > 1 else (None, None)
    match case.like or case.name:
        case "bernoulli":
            theirs = stats.betabinom.logpmf(cells, 1, a, b)
        case "categorical":
            mean = posterior.concentration / posterior.concentration.sum(-1, keepdims=True)
            theirs = np.log(np.take_along_axis(mean[None], cells[..., None].astype(int), axis=-1)[..., 0])
        case "multinomial":
            theirs = np.array(
                [
                    [
                        stats.dirichlet_multinomial.logpmf(row.astype(int), alpha, int(row.sum()))
                        for alpha in posterior.concentration
                    ]
                    for row in new
                ]
            )[..., None]
        case "gaussian":
            a, b, kappa = posterior.concentration, posterior.rate, posterior.kappa
            theirs = stats.t.logpdf(cells, 2 * a, posterior.loc, np.sqrt(b * (kappa + 1) / (a * kappa)))
        case "log normal":
            a, b, kappa = posterior.concentration, posterior.rate, posterior.kappa
            log_t = stats.t.logpdf(np.log(cells), 2 * a, posterior.loc, np.sqrt(b * (kappa + 1) / (a * kappa)))
            theirs = log_t - np.log(cells)
        case "hurdle":
            a, b, kappa = (getattr(posterior.family, name) for name in ("concentration", "rate", "kappa"))
            share = posterior.concentration1 / (posterior.concentration1 + posterior.concentration0)
            density = stats.t.logpdf(cells, 2 * a, posterior.family.loc, np.sqrt(b * (kappa + 1) / (a * kappa)))
            theirs = np.where(cells == 0, np.log(1 - share), np.log(share) + density)
        case "histogram":
            theirs = np.log(_histogram_density(cells, np.array(posterior.edges), posterior.concentration))
        case "poisson":
            theirs = stats.nbinom.logpmf(cells, posterior.concentration, posterior.rate / (posterior.rate + 1))
        case "geometric":
            theirs = stats.betanbinom.logpmf(cells, 1, a, b)
        case "binomial":
            theirs = stats.betabinom.logpmf(cells, 7, a, b)
        case "negative binomial":
            # SciPy's betanbinom takes whole numbers of successes only.
            theirs = (
                gammaln(2.5 + cells) - gammaln(2.5) - gammaln(cells + 1) + betaln(a + 2.5, b + cells) - betaln(a, b)
            )
        case "joint categorical":
            ones = np.eye(CATEGORIES**COLUMNS, dtype=int)[
                np.ravel_multi_index(new.T.astype(int), (CATEGORIES,) * COLUMNS)
            ]
            theirs = np.stack([stats.dirichlet_multinomial.logpmf(ones, a, 1) for a in posterior.concentration], 1)
            theirs = theirs[..., None]
        case "exponential":
            theirs = stats.lomax.logpdf(cells, posterior.concentration, scale=posterior.rate)
        case "multivariate gaussian":
            df = posterior.df[:, 0] - COLUMNS + 1
            shapes = posterior.scale * ((posterior.kappa + 1) / posterior.kappa)[..., None] / df[:, None, None]
            theirs = np.stack(
                [stats.multivariate_t(posterior.loc[c], shapes[c], df=df[c]).logpdf(new) for c in range(CLASSES)], 1
            )[..., None]
    np.testing.assert_allclose(posterior.row_log_predictive(new), theirs.sum(-1), rtol=1e-10)


def _of_rows(case, densities):
    """Densities of rows, where a family gives those of independent cells."""
    return densities if case.family.joint else densities.sum(-1)


@partial(np.vectorize, signature="(),(e),(k)->()")
def _histogram_density(x, edges, weights):
    """Of SciPy's histogram and, beyond it, Lomax distributions."""
    share = weights / weights.sum()
    if x < edges[0]:
        return share[0] * stats.lomax.pdf(edges[0] - x, 1, scale=edges[1] - edges[0])
    if x > edges[-1]:
        return share[-1] * stats.lomax.pdf(x - edges[-1], 1, scale=edges[-1] - edges[-2])
    return share[1:-1].sum() * stats.rv_histogram((share[1:-1], edges), density=False).pdf(x)


def test_evidence_is_the_prequential_product(case, rng):
    x, m = table(case, rng, 15)
    total = np.zeros(CLASSES)
    family = case.family
    for i in range(len(x)):
        total += family.row_log_predictive(x[[i]])[0] * m[i]
        family = family.update(family.statistics(x[[i]], m[[i]]))
    evidence = np.asarray(case.family.log_evidence(case.family.statistics(x, m))).sum(axis=-1)
    np.testing.assert_allclose(evidence, total, rtol=1e-9)
    leaves_close(family, case.family.update(case.family.statistics(x, m)))


def test_evidence_is_the_likelihood_averaged_over_the_prior(case, rng):
    """By importance sampling from the posterior, exact for every draw: prior x likelihood / posterior is constant."""
    x, m = table(case, rng, 10)
    counted = case.family.statistics(x, m)
    posterior = case.family.update(counted)
    parameters = draw(posterior, rng, (7,))
    log_prior, log_posterior = (_log_density(family, parameters) for family in (case.family, posterior))
    log_lik = np.asarray(case.family.log_likelihood(parameters, counted)) + getattr(counted, "log_base", 0.0)
    evidence = log_prior + log_lik.sum(axis=(-1, -2)) - log_posterior
    np.testing.assert_allclose(evidence, np.asarray(case.family.log_evidence(counted)).sum(), rtol=1e-8)


def _log_density(family, parameters):
    total = 0.0

    def score(name, distribution):
        nonlocal total
        log_prob = log_density(distribution, parameters[name])
        total = total + log_prob.reshape(len(log_prob), -1).sum(-1)
        return parameters[name]

    with jax.enable_x64(True):
        family.prior(score)
    return total


def test_forgetting_everything_gives_the_prior_and_no_cells_change_nothing(case, rng):
    x, m = table(case, rng, 8)
    counted = case.family.statistics(x, m)
    prior = case.family
    if case.name == "joint categorical":
        prior = replace(prior, concentration=np.repeat(prior.concentration, CATEGORIES**COLUMNS, axis=1))
    leaves_close(case.family.update(counted - counted), prior)
    if case.missing:
        empty = np.full_like(x, np.nan)
        leaves_close(case.family.update(case.family.statistics(empty, m)), case.family)
        np.testing.assert_array_equal(case.family.row_log_predictive(empty), np.zeros((8, CLASSES)))
    zero = case.family.statistics(x, m * 0.0)
    leaves_close(case.family.update(zero), prior)


def test_marginals_have_the_moments_of_draws(case, rng):
    x, m = table(case, rng, 60)
    posterior = case.family.update(case.family.statistics(x, m))
    draws = draw(posterior, rng, (20_000,))
    with jax.enable_x64(True):
        for name, marginal in posterior.marginals().items():
            z = (draws[name].mean(0) - marginal.mean) / (draws[name].std(0) / np.sqrt(len(draws[name])))
            assert np.abs(z).max() < 4.8, name
            np.testing.assert_allclose(posterior.mean()[name], marginal.mean)


def test_draws_follow_the_marginals(case, rng):
    from bayesnb.families.formulas import cdf

    x, m = table(case, rng, 40)
    posterior = case.family.update(case.family.statistics(x, m))
    draws = draw(posterior, rng, (4000,))
    for name, marginal in posterior.marginals().items():
        pit = cdf(marginal, draws[name]).reshape(4000, -1)
        p_values = [stats.kstest(column, "uniform").pvalue for column in pit.T]
        assert min(p_values) > 1e-5 / len(p_values), name
        with jax.enable_x64(True):
            np.testing.assert_allclose(
                cdf(marginal, draws[name][:3]), jax.jit(marginal.cdf)(draws[name][:3]), rtol=1e-6, atol=1e-9
            )


def test_likelihood_draws_follow_its_density(case, rng):
    """Goodness of fit of the cells that simulation draws, against NumPyro's density."""
    from bayesnb.families.draw import draw as draw_fast

    parameters = {name: value[0] for name, value in draw(case.family, rng).items()}
    n = 5000
    repeated = {name: np.broadcast_to(value, (n, *value.shape)) for name, value in parameters.items()}
    with jax.enable_x64(True):
        if case.family.cell == "count vector":
            likelihood = case.family.likelihood(**repeated, total_count=np.full(n, 1))
            cells = draw_fast(likelihood, rng)
            counts = cells.sum(0)
            p_value = gof.multinomial_goodness_of_fit(parameters["prob"], counts, total_count=n)
            assert p_value > 1e-4
            return
        likelihood = case.family.likelihood(**repeated)
        cells = draw_fast(likelihood, rng)
        found = cells.astype(int) if case.family.cell == "category" else cells
        probs = np.exp(log_density(case.family.likelihood(**parameters), found))
    if case.family.joint and case.family.support.is_discrete:
        _, first, counts = np.unique(cells, axis=0, return_index=True, return_counts=True)
        keep = probs[first] * n > 5
        assert gof.multinomial_goodness_of_fit(probs[first][keep], counts[keep], total_count=n) > 1e-4
        return
    if case.family.joint:
        assert gof.vector_density_goodness_of_fit(cells, probs) > 1e-4
        return
    for j in range(cells.shape[1]):
        if case.family.support.is_discrete:
            _, first, counts = np.unique(cells[:, j], return_index=True, return_counts=True)
            keep = probs[first, j] * n > 5
            p_value = gof.multinomial_goodness_of_fit(probs[first, j][keep], counts[keep], total_count=n)
        else:
            # Of measurements, only a value that has a probability occurs twice.
            values, first, counts = np.unique(cells[:, j], return_index=True, return_counts=True)
            mass, many = probs[first, j][counts > 1], counts[counts > 1]
            rest = ~np.isin(cells[:, j], values[counts > 1])
            p_value = gof.density_goodness_of_fit(cells[rest, j], probs[rest, j] / (1 - mass.sum()))
            if len(many):
                shares = np.append(mass, 1 - mass.sum())
                p_value = min(p_value, stats.chisquare(np.append(many, rest.sum()), n * shares).pvalue)
        assert p_value > 1e-4


def test_hyperparameters_shift_the_mode_and_maximum_likelihood(case, rng):
    """The mode has no neighbour of higher density, and the maximum likelihood none of higher likelihood."""
    if case.family.mode() is None:
        pytest.skip("a family of the user's may leave out point estimates")
    x, m = table(case, rng, 80)
    counted = case.family.statistics(x, m)
    posterior = case.family.update(counted)
    for best, height in (
        (posterior.mode(), lambda p: _log_density(posterior, p)),
        (
            case.family.maximum_likelihood(counted),
            lambda p: np.asarray(case.family.log_likelihood(p, counted)).sum(axis=(-1, -2)),
        ),
    ):
        near = {}
        for name, value in best.items():
            noise = 1 + 1e-3 * rng.normal(size=(200, *value.shape))
            noise[0] = 1.0
            near[name] = np.asarray(value) * noise
            if name == "covariance":
                near[name] = (near[name] + near[name].swapaxes(-1, -2)) / 2
            elif np.ndim(value) > 2 or case.family.cell == "count vector" or case.name == "joint categorical":
                near[name] = near[name] / near[name].sum(-1, keepdims=True)
            elif name == "prob":
                near[name] = np.clip(near[name], 0, 1)
        density = height(near)
        assert density[0] >= density.max()


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


def test_pickle_and_tree_round_trips(case):
    leaves_close(pickle.loads(pickle.dumps(case.family)), case.family)
    leaves, structure = jax.tree.flatten(case.family)
    assert type(jax.tree.unflatten(structure, leaves)) is type(case.family)


def test_the_family_fits_predicts_and_simulates_in_a_model(case, rng):
    x = case.cells(rng, 40)
    y = rng.integers(0, CLASSES, 40)
    spec = case.default
    posterior = nb.fit(nb.NaiveBayes(spec), x, y)
    proba = posterior.predict_proba(x)
    np.testing.assert_allclose(proba.sum(1), 1.0, rtol=1e-12)
    assert np.isfinite(posterior.log_evidence)
    X_new, y_new = posterior.simulate(30, key=3)
    again = nb.fit(posterior.model, X_new, y_new)
    assert again.predict_proba(X_new).shape == (30, CLASSES)
    np.testing.assert_allclose(logsumexp(posterior.predict_log_proba(x), axis=1), 0.0, atol=1e-12)


def test_evidence_of_one_column_is_an_integral(case, rng):
    """One class, one column, quadrature over its parameter."""
    several = {"categorical", "multinomial", "gaussian", "log normal", "hurdle", "histogram", "multivariate gaussian"}
    several |= {"joint categorical"}
    if (case.like or case.name) in several:
        pytest.skip("more than one dimension; the Beta and gamma families stand for the method")
    x = case.cells(rng, 6)
    family = case.family.take((slice(None), [0]))
    counted = family.statistics(x[:, :1], np.eye(CLASSES)[np.zeros(6, int)])
    (name,) = family.parameter_names()
    (marginal,) = family.marginals().values()

    def integrand(theta):
        parameters = {name: np.full((CLASSES, 1), theta)}
        density = np.exp(log_density(marginal, theta))[0, 0]
        log_base = np.asarray(counted.log_base)[0, 0]
        return density * np.exp(np.asarray(family.log_likelihood(parameters, counted))[0, 0] + log_base)

    upper = 1.0 if name == "prob" else 60.0
    value, _ = integrate.quad(integrand, 0.0, upper, limit=60, epsrel=1e-7)
    np.testing.assert_allclose(np.log(value), np.asarray(family.log_evidence(counted))[0, 0], rtol=1e-5)
