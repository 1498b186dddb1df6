"""Weights of features: their likelihood by hand, the posterior by another optimiser and on a grid, and their draws."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import multivariate_normal, norm

from bayesnb.model.feature_weights import ConditionalLikelihood, FeatureWeights, NormalWeights, priors
from bayesnb.model.laplace import (
    Approximation,
    Mixture,
    ModeSearch,
    approximate,
    find_mode,
    log_factors_of_again,
)
from bayesnb.model.truncated_normal import TruncatedNormal

ROWS, CLASSES, FEATURES = 12, 3, 4
STEP = 1e-5


def numbers(rng, rows=ROWS, classes=CLASSES, features=FEATURES):
    log_density = 2.0 * rng.normal(size=(rows, classes, features))
    log_density[0, :, 1] = 0.0  # a missing cell
    log_prior = log_softmax(rng.normal(size=(rows, classes)), axis=1)
    return log_density, log_prior, rng.integers(0, classes, rows), rng.uniform(0.2, 3.0, rows)


def log_proba_by_hand(log_density, log_prior, point):
    """Log class probabilities, a loop over rows and classes."""
    features = log_density.shape[-1]
    found = np.empty(log_prior.shape)
    for i, row in enumerate(log_density):
        scores = [
            log_prior[i, c] + point[features + c] + sum(point[j] * row[c, j] for j in range(features))
            for c in range(len(row))
        ]
        found[i] = scores - logsumexp(scores)
    return found


def value_by_hand(log_density, log_prior, codes, row_weights, point):
    log_proba = log_proba_by_hand(log_density, log_prior, point)
    return sum(weight * row[code] for weight, row, code in zip(row_weights, log_proba, codes, strict=True))


def differences(function, point):
    """Derivatives of a function by central differences; the last axis is that of the point."""
    units = STEP * np.eye(len(point))
    return np.stack([(function(point + unit) - function(point - unit)) / (2 * STEP) for unit in units], axis=-1)


@pytest.mark.parametrize(
    ("rows", "classes", "features"), [(12, 3, 4), (1, 2, 1), (5, 2, 7), (30, 6, 2)], ids=lambda size: str(size)
)
def test_value_and_derivatives(rng, rows, classes, features):
    given = numbers(rng, rows, classes, max(features, 2))
    given = (given[0][..., :features], *given[1:])
    likelihood = ConditionalLikelihood.of(*given)
    point = rng.normal(size=features + classes)
    assert (likelihood.num_features, likelihood.num_classes) == (features, classes)
    expected = value_by_hand(*given, point)
    value, gradient = likelihood.value_and_gradient(point)
    assert value == pytest.approx(expected, rel=1e-12)
    slope = differences(lambda at: value_by_hand(*given, at), point)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)
    information = likelihood.information(point)
    curvature = differences(lambda at: likelihood.value_and_gradient(at)[1], point)
    np.testing.assert_allclose(information, -curvature, rtol=1e-6, atol=1e-7)
    assert np.linalg.eigvalsh(information).min() > -1e-10  # concave


def test_a_class_that_is_impossible_in_a_row_has_no_part_in_it(rng):
    log_density, log_prior, codes, row_weights = numbers(rng)
    codes[3] = 0
    log_prior[3, 2] = -np.inf
    likelihood = ConditionalLikelihood.of(log_density, log_prior, codes, row_weights)
    point = rng.normal(size=FEATURES + CLASSES)
    value, gradient = likelihood.value_and_gradient(point)
    two = slice(0, 2)
    rest = np.arange(ROWS) != 3
    without = value_by_hand(log_density[rest], log_prior[rest], codes[rest], row_weights[rest], point)
    alone = value_by_hand(
        log_density[[3], two], log_prior[[3], two], codes[[3]], row_weights[[3]], point[: FEATURES + 2]
    )
    assert value == pytest.approx(without + alone, rel=1e-12)
    np.testing.assert_allclose(
        gradient, differences(lambda at: likelihood.value_and_gradient(at)[0], point), rtol=1e-6, atol=1e-7
    )
    curvature = differences(lambda at: likelihood.value_and_gradient(at)[1], point)
    np.testing.assert_allclose(likelihood.information(point), -curvature, rtol=1e-6, atol=1e-7)


def test_some_of_the_rows(rng):
    given = numbers(rng)
    which = np.array([1, 5, 11])
    some, expected = ConditionalLikelihood.of(*given).take(which), ConditionalLikelihood.of(*(x[which] for x in given))
    point = rng.normal(size=FEATURES + CLASSES)
    for found, other in zip(some.value_and_gradient(point), expected.value_and_gradient(point), strict=True):
        np.testing.assert_array_equal(found, other)


def simulated(rng, rows, classes, features, copies=1, scale=1.0):
    """A likelihood of labels drawn under weights of one, with some columns repeated."""
    log_density = scale * rng.normal(size=(rows, classes, features))
    log_prior = log_softmax(rng.normal(size=(1, classes)), axis=1) * np.ones((rows, 1))
    proba = softmax(log_prior + log_density.sum(axis=-1), axis=1)
    codes = (proba.cumsum(axis=1) < rng.uniform(size=(rows, 1))).sum(axis=1).clip(0, classes - 1)
    return ConditionalLikelihood.of(np.repeat(log_density, copies, axis=-1), log_prior, codes, np.ones(rows))


def harmful(rng, rows, classes, features):
    """As `simulated`, with two features more whose evidence is against the labels: their weights are zero."""
    likelihood = simulated(rng, rows, classes, features)
    own = np.eye(classes)[likelihood.codes]
    wrong = np.stack([-own + rng.normal(size=own.shape), -0.5 * own + rng.normal(size=own.shape)], axis=-1)
    by_class = np.moveaxis(wrong, 1, 0)
    log_ratio = np.concatenate([likelihood.log_ratio, by_class[1:] - by_class[:1]], axis=-1)
    return ConditionalLikelihood(log_ratio, likelihood.log_prior, likelihood.codes, likelihood.row_weights)


def negative_log_density(likelihood, prior, point):
    away = point - prior.mean
    return -likelihood.value_and_gradient(point)[0] + away @ prior.precision @ away / 2


def gradient_of(likelihood, prior, point):
    return -likelihood.value_and_gradient(point)[1] + prior.precision @ (point - prior.mean)


PROBLEMS = {
    "two classes": lambda rng: simulated(rng, 60, 2, 4),
    "five classes": lambda rng: simulated(rng, 200, 5, 6),
    "copies": lambda rng: simulated(rng, 100, 2, 3, copies=4),
    "harmful features": lambda rng: harmful(rng, 80, 3, 4),
    "fewer rows than features": lambda rng: simulated(rng, 5, 3, 40),
    "one row": lambda rng: simulated(rng, 1, 2, 3),
    "separable": lambda rng: simulated(rng, 50, 2, 3, scale=60.0),
    "a hundred classes": lambda rng: simulated(rng, 300, 100, 3),
}


class TestMode:
    @pytest.mark.parametrize("spread", [0.05, 0.4, 1.6])
    @pytest.mark.parametrize("problem", PROBLEMS)
    def test_is_that_of_another_optimiser(self, rng, problem, spread):
        likelihood = PROBLEMS[problem](rng)
        size, classes = likelihood.num_features, likelihood.num_classes
        prior = NormalWeights.given_spread(size, classes, spread)
        found = find_mode(ModeSearch.at(likelihood, prior.mean), prior)
        mode = found.point
        # Conditions of Karush, Kuhn and Tucker: no slope where a weight is positive, an upward one where it is zero.
        slope = gradient_of(likelihood, prior, mode)
        zero = np.r_[mode[:size] == 0.0, np.zeros(classes, bool)]
        assert (mode[:size] >= 0).all()
        assert (slope[zero] > 0).all()
        information = likelihood.information(mode)
        scale = np.sqrt(np.diag(information + prior.precision))
        assert (np.abs(slope[~zero]) < 1e-3 * scale[~zero]).all()
        value, gradient = likelihood.value_and_gradient(mode)
        assert found.log_likelihood == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(found.slope, gradient, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.refreshed().information, information, rtol=1e-12)
        if spread == 1.6:
            found = minimize(
                lambda point: negative_log_density(likelihood, prior, point),
                prior.mean,
                jac=lambda point: gradient_of(likelihood, prior, point),
                method="L-BFGS-B",
                bounds=[(0, None)] * size + [(None, None)] * classes,
                options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000},
            )
            assert negative_log_density(likelihood, prior, mode) <= found.fun + 1e-9
            np.testing.assert_allclose(mode, found.x, atol=1e-3)
            if problem == "harmful features":  # a bound holds some of the weights, and not all
                assert (mode[4:6] == 0).all()
                assert (mode[:4] > 0).any()

    def test_does_not_depend_on_the_start(self, rng):
        likelihood = PROBLEMS["harmful features"](rng)
        prior = NormalWeights.given_spread(6, 3, 0.8)
        starts = [np.zeros(9), prior.mean, np.r_[np.full(6, 50.0), 9.0, -9.0, 0.0], -prior.mean]
        modes = [find_mode(ModeSearch.at(likelihood, start), prior).point for start in starts]
        for mode in modes[1:]:
            np.testing.assert_allclose(mode, modes[0], atol=1e-5)


def test_of_many_rows_does_not_depend_on_the_rows_that_the_search_begins_with(rng):
    """The search begins with 2,000 of the rows. Their second derivatives differ from those of all rows."""
    likelihood = simulated(rng, 8000, 5, 30, scale=0.3)
    weights = np.where(np.arange(8000) < 4000, 2.0, 1.0)
    likelihood = ConditionalLikelihood(likelihood.log_ratio, likelihood.log_prior, likelihood.codes, weights)
    for part in approximate(likelihood, priors(30, 5, shared=False), rng).parts:
        slope = gradient_of(likelihood, part.prior, part.mode)
        factor = part.distribution.factor
        free = part.mode != 0.0
        assert np.abs(factor.T @ np.where(free, slope, 0.0)).max() < 1e-4
        exact = likelihood.information(part.mode) + part.prior.precision
        assert np.abs(np.linalg.eigvalsh(factor.T @ exact @ factor) - 1).max() < 1e-9


def test_rows_that_the_search_begins_with_may_all_have_weight_zero(rng):
    likelihood = simulated(rng, 8000, 5, 30)
    weights = np.zeros(8000)
    weights[17] = 1.0
    likelihood = ConditionalLikelihood(likelihood.log_ratio, likelihood.log_prior, likelihood.codes, weights)
    of_all = approximate(likelihood, priors(30, 5, shared=False), rng)
    of_one = approximate(likelihood.take(slice(17, 18)), priors(30, 5, shared=False), rng)
    for one, other in zip(of_all.parts, of_one.parts, strict=True):
        np.testing.assert_allclose(one.mode, other.mode, atol=1e-4)


@dataclass
class Quadratic:
    """A log likelihood that is quadratic, so that its posterior is a normal distribution restricted to w >= 0."""

    centre: np.ndarray
    precision: np.ndarray
    codes = np.zeros(1, int)
    log_ratio = np.zeros((1, 1, 2))

    def value_and_gradient(self, point):
        slope = -self.precision @ (point - self.centre)
        return float(slope @ (point - self.centre) / 2), slope

    def information(self, point):
        return self.precision


@pytest.mark.parametrize("centre", [[1.2, 0.7, 0.3, -0.2], [-0.5, 1.0, 0.1, 0.0], [-0.4, -2.0, 0.5, 0.5]])
def test_a_quadratic_likelihood_has_the_exact_posterior(rng, centre):
    """Also where the mode is at a bound: the centre is then beyond it."""
    root = rng.normal(size=(4, 4))
    precision = 5.0 * (root @ root.T + np.eye(4))
    centre = np.array(centre)
    likelihood = Quadratic(centre, precision)
    given = priors(2, 2, shared=False)
    for prior, part in zip(given, approximate(likelihood, given, rng).parts, strict=True):
        assert part.prior is prior
        together = precision + prior.precision
        mean = np.linalg.solve(together, precision @ centre + prior.precision @ prior.mean)
        covariance = np.linalg.inv(together)
        np.testing.assert_allclose(part.distribution.mean, mean, atol=1e-6)
        np.testing.assert_allclose(part.gaussian.mean, mean, atol=1e-6)
        np.testing.assert_allclose(part.gaussian.precision, together, rtol=1e-9)
        np.testing.assert_allclose(
            part.distribution.factor @ part.distribution.factor.T, covariance, rtol=1e-6, atol=1e-10
        )
        assert (np.triu(part.distribution.factor, 1) == 0).all()
        # Product of two normal densities: their constants, and the probability of w >= 0 after and before.
        apart = np.linalg.inv(precision) + np.linalg.inv(prior.precision)
        expected = multivariate_normal.logpdf(centre, prior.mean, apart)
        expected += 2.0 * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1] / 2
        for vector, matrix, sign in ((mean, covariance, 1), (prior.mean, np.linalg.inv(prior.precision), -1)):
            probability = multivariate_normal.cdf(vector[:2], np.zeros(2), matrix[:2, :2])
            expected += sign * np.log(probability)
        assert part.log_evidence == pytest.approx(expected, abs=0.03)


def on_grid(likelihood, weights):
    """Exact posterior of two classes on a grid of weights and of the difference of the offsets.

    The offsets act by their difference alone, which is N(0, 2).

    Returns
    -------
    function
        Of the log prior density of weights: log evidence, mean and standard deviation of the weights, and mean of the
        difference of the offsets.
    """
    difference = np.linspace(-4.0, 4.0, 41)
    at = np.stack(np.meshgrid(*weights, indexing="ij"), axis=-1).reshape(-1, len(weights))
    odds = at @ likelihood.log_ratio[0].T + (likelihood.log_prior[1] - likelihood.log_prior[0])
    sign = np.where(likelihood.codes == 1, 1.0, -1.0)
    of_label = [-np.logaddexp(0.0, -sign * (odds + d)) @ likelihood.row_weights for d in difference]
    log_density = np.stack(of_label, axis=-1) - difference**2 / 4 - np.log(4 * np.pi) / 2
    # The trapezoidal rule: half a cell at the bound.
    cell = np.prod([w[1] - w[0] for w in weights]) * (difference[1] - difference[0])
    log_density += np.log(cell * np.prod(np.where(at == 0.0, 0.5, 1.0), axis=1))[:, None]

    def under(log_prior):
        joint = log_density + log_prior(at)[:, None]
        log_evidence = logsumexp(joint)
        probability = np.exp(joint - log_evidence)
        of_weights = probability.sum(axis=1)
        mean = of_weights @ at
        return log_evidence, mean, np.sqrt(of_weights @ at**2 - mean**2), probability.sum(axis=0) @ difference

    return under


def log_prior_of(prior):
    """Log density of the weights under the prior, by SciPy."""
    size = prior.num_weights
    covariance = prior.spread**2 * np.eye(size) + 1.0
    log_probability = np.log(multivariate_normal.cdf(np.ones(size), np.zeros(size), covariance))
    return lambda flat: multivariate_normal.logpdf(flat, np.ones(size), covariance).reshape(-1) - log_probability


@pytest.mark.parametrize(
    ("seed", "features", "copies"),
    [
        *((seed, 1, 1) for seed in (1, 2, 3)),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((1, 2, 1), (2, 1, 2))),
    ],
)
def test_weights_and_their_spread_beside_a_grid(seed, features, copies):
    """The exact mean of one weight is a quarter of a standard deviation above the mode, for the density is skewed."""
    rng, size = np.random.default_rng(seed), features * copies
    likelihood = simulated(rng, 60 if size == 1 else 80, 2, features, copies)
    found = approximate(likelihood, priors(size, 2, shared=size == 1), rng)
    exact = on_grid(likelihood, [np.linspace(0.0, 6.0, 601 if size == 1 else 151)] * size)
    log_evidence, mean, sd, difference = zip(*(exact(log_prior_of(part.prior)) for part in found.parts), strict=True)
    probability = softmax(log_evidence)
    np.testing.assert_allclose([part.log_evidence for part in found.parts], log_evidence, atol=0.05 * size)
    np.testing.assert_allclose(found.probabilities, probability, atol=0.02)
    assert found.log_evidence == pytest.approx(logsumexp(log_evidence) - np.log(len(found.parts)), abs=0.07)
    total = probability @ mean
    of_all = np.sqrt(probability @ (np.square(sd) + np.square(mean)) - total**2)
    draws, which = found.draw(4000 * size, rng)
    assert (np.abs(draws[:, :size].mean(axis=0) - total) < 0.3 * of_all).all()
    np.testing.assert_allclose(draws[:, :size].std(axis=0), of_all, rtol=0.1)
    assert (draws[:, -1] - draws[:, -2]).mean() == pytest.approx(probability @ difference, abs=0.2)
    shares = np.bincount(which, minlength=len(probability)) / len(which)
    np.testing.assert_allclose(shares, probability, atol=0.03)


class TestMixture:
    def part(self, spread, level, log_evidence):
        """Far from the others and narrow, so that a draw shows its part."""
        prior = NormalWeights.given_spread(2, 2, spread)
        mode = np.array([level, level, 0.0, 0.0])
        return Approximation(prior, mode, prior, TruncatedNormal.of(mode, 1e-3 * np.eye(4), 2), log_evidence)

    @pytest.fixture
    def mixture(self):
        return Mixture([self.part(s, v, e) for s, v, e in ((0.1, 1.0, -7.0), (0.2, 5.0, -6.0), (0.4, 9.0, -900.0))])

    def test_weighs_by_evidence(self, mixture):
        odds = np.exp([-7.0, -6.0])
        np.testing.assert_allclose(mixture.probabilities, [*odds / odds.sum(), 0.0], atol=1e-15)
        assert mixture.log_evidence == pytest.approx(np.log(odds.sum() / 3))
        level = odds @ [1.0, 5.0] / odds.sum()
        np.testing.assert_allclose(mixture.mode, [level, level, 0.0, 0.0])

    def test_draws_name_their_part(self, mixture, rng):
        draws, which = mixture.draw(3000, rng)
        np.testing.assert_allclose(draws[:, 0], np.array([1.0, 5.0, 9.0])[which], atol=0.01)
        share = 1 / (1 + np.e)
        assert abs((which == 0).mean() - share) < 4.5 * np.sqrt(share * (1 - share) / 3000)
        assert set(which) == {0, 1}
        # In random order: neighbours are of one part as often as chance has it.
        alike = (which[1:] == which[:-1]).mean()
        assert alike == pytest.approx(share**2 + (1 - share) ** 2, abs=0.05)


@pytest.fixture
def weights():
    """Draws that show their chain and step."""
    number = np.arange(12.0).reshape(2, 6)
    return FeatureWeights(
        weight=np.array([0.5, 1.5]),
        offset=np.zeros(3),
        weight_draws=np.stack([number, 100 + number], axis=-1),
        offset_draws=np.stack([number, number + 0.25, number + 0.5], axis=-1),
        spread_draws=number / 10,
        num_rows=9,
    )


@pytest.mark.parametrize(("chains", "steps"), [(2, 6), (3, 2), (1, 1), (4, 5)])
def test_draws_are_taken_together(weights, rng, chains, steps):
    found = weights.take(chains, steps, rng)
    number = found["weight"][..., 0]
    assert number.shape == (chains, steps)
    assert found["offset"].shape == (chains, steps, 3)
    np.testing.assert_array_equal(found["weight"][..., 1], 100 + number)
    np.testing.assert_array_equal(found["offset"][..., 2], number + 0.5)
    np.testing.assert_array_equal(found["spread"], number / 10)
    if chains * steps <= 12:
        assert len(np.unique(number)) == chains * steps
    else:
        assert len(np.unique(number)) > 6
        assert (weights.take(chains, steps, rng)["spread"] != found["spread"]).any()


def test_summary(weights):
    found = weights.summary(0.8)
    assert list(found) == ["feature_weight", "class_offset", "weight_spread"]
    pooled = np.arange(12.0)
    np.testing.assert_allclose(found["feature_weight"]["mean"], [5.5, 105.5])
    np.testing.assert_allclose(found["feature_weight"]["sd"], np.sqrt(13.0))  # (n^2 - 1) / 12 times n / (n - 1)
    np.testing.assert_allclose(found["class_offset"]["lower"], np.quantile(pooled, 0.1) + np.arange(3) / 4)
    np.testing.assert_allclose(found["weight_spread"]["upper"], np.quantile(pooled, 0.9) / 10)


def test_a_shared_weight_has_no_spread(weights, rng):
    shared = FeatureWeights(
        weights.weight, weights.offset, weights.weight_draws, weights.offset_draws, None, weights.num_rows
    )
    assert shared.shared
    assert not weights.shared
    assert list(shared.summary(0.89)) == ["feature_weight", "class_offset"]
    assert shared.take(1, 3, rng)["spread"] is None


@pytest.mark.parametrize("first", [1, 2, 4])
@pytest.mark.parametrize("classes", [2, 3])
def test_factors_of_further_descriptions_are_integrals_over_their_weights(rng, first, classes):
    """With the other weights at their modes, by another optimiser: gradient and curvature by differences."""
    log_density, log_prior, codes, row_weights = numbers(rng, 60, classes, first + 2)
    log_density[np.arange(60), codes, 0] += 0.5
    log_density[np.arange(60), codes, -1] += 1.5
    log_density[..., 1:first] *= 0.3
    likelihood = ConditionalLikelihood.of(log_density, log_prior, codes, row_weights)
    without = approximate(likelihood.of_features(slice(first)), priors(first, classes, shared=False), rng)
    prior = max(without.parts, key=lambda part: part.log_evidence).prior
    tau = prior.spread or 0.5
    found = log_factors_of_again(likelihood, 2, rng)
    bounds = [(0.0, None)] * first + [(None, None)] * classes
    for j, factor in enumerate(found):
        own = likelihood.of_features([*range(first), first + j])

        def profile(weight, own=own):
            def minus_log_density(point):
                value, gradient = own.value_and_gradient(np.insert(point, first, weight))
                away = point - prior.mean
                slope = np.delete(gradient, first) - prior.precision @ away
                return -value + away @ prior.precision @ away / 2, -slope

            options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
            best = minimize(minus_log_density, prior.mean, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
            return -best.fun

        step = 1e-3
        below, at, above = map(profile, (-step, 0.0, step))
        slope, curvature = (above - below) / (2 * step), -(above - 2 * at + below) / step**2

        def integrand(w, slope=slope, curvature=curvature):
            return np.exp(slope * w - curvature * w**2 / 2) * 2 * norm.pdf(w, scale=tau)

        assert factor == pytest.approx(np.log(quad(integrand, 0, np.inf)[0]), abs=2e-3)
