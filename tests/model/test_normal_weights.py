"""Normal vectors whose first entries are not negative: probability and draws beside SciPy and acceptance; priors."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.special import log_ndtr, logsumexp
from scipy.stats import halfnorm, kstest, multivariate_normal, norm, truncnorm

from bayesnb.model import truncated_normal
from bayesnb.model.feature_weights import RATIOS, SPREADS, NormalWeights, priors
from bayesnb.model.truncated_normal import TruncatedNormal, reflected_draws

CORRELATED = np.array([[1.0, 0.9, -0.3, 0.2], [0.9, 1.0, -0.2, 0.1], [-0.3, -0.2, 2.0, 0.7], [0.2, 0.1, 0.7, 1.0]])


def copies(number, tight=400.0, spread=0.5):
    """Mean and covariance of weights of copies of a column: the data know their sum, and the prior the rest."""
    precision = tight * np.ones((number, number)) + np.eye(number) / spread**2
    centre = np.ones(number)
    mean = np.linalg.solve(precision, tight * np.ones(number) + centre / spread**2)
    return mean, np.linalg.inv(precision)


def factor_of(covariance):
    return np.linalg.cholesky(covariance)


def drawn(mean, covariance, num_bounded, number, rng):
    return TruncatedNormal.of(np.asarray(mean, float), factor_of(covariance), num_bounded).draw(number, rng)


def reflected(mean, covariance, num_bounded, number, rng, chains=None):
    """Each draw from a chain of its own, unless chains are given."""
    start = np.full((chains or number, len(mean)), 0.5)
    return reflected_draws(start, np.asarray(mean, float), factor_of(covariance), number, rng)


def probability_by_scipy(mean, covariance):
    """P(x >= 0) of a normal vector x, which is P(mean - x <= mean)."""
    return multivariate_normal.cdf(
        mean, np.zeros(len(mean)), covariance, maxpts=500_000, abseps=1e-10, releps=1e-5, rng=np.random.default_rng(1)
    )


def accepted(mean, covariance, num_positive, number, rng):
    """Independent draws by acceptance."""
    proposed = rng.multivariate_normal(mean, covariance, number, method="cholesky")
    return proposed[(proposed[:, :num_positive] >= 0).all(axis=1)]


def assert_same_distribution(found, expected, limit=4.5):
    """Means, second moments and tails of two samples differ by Monte Carlo error alone."""
    tail = np.quantile(expected, 0.1, axis=0)
    functions = [
        lambda x: x,
        lambda x: (x[:, :, None] * x[:, None, :]).reshape(len(x), -1),
        lambda x: (x < tail) * 1.0,
    ]
    for function in functions:
        one, other = function(found), function(expected)
        error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other))
        assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= limit * error).all()


class TestProbability:
    @pytest.mark.parametrize("mean", [-1000.0, -40.0, -3.0, 0.0, 2.0, 50.0])
    def test_of_one_entry_is_exact(self, rng, mean):
        found = TruncatedNormal.of(np.array([mean, 5.0]), np.array([[2.0, 0.0], [1.0, 1.0]]), 1)
        assert found.log_probability(3, rng) == pytest.approx(log_ndtr(mean / 2.0), rel=1e-9, abs=1e-9)

    @pytest.mark.parametrize(
        ("mean", "covariance"),
        [
            ([1.0, 1.0, 1.0, 1.0], CORRELATED),
            ([-2.0, 0.5, -1.0, -3.0], CORRELATED),
            ([0.0, 0.0, 0.0, 0.0], CORRELATED),
            copies(2),
            copies(4),
            copies(8),
            copies(4, tight=1e6),
        ],
        ids=["above", "below", "zero", "two copies", "four copies", "eight copies", "tight copies"],
    )
    def test_is_scipys(self, rng, mean, covariance):
        mean = np.asarray(mean)
        expected = np.log(probability_by_scipy(mean, covariance))
        given = TruncatedNormal.of(mean, factor_of(covariance), len(mean))
        estimates = [given.log_probability(2000, rng) for _ in range(10)]
        error = np.std(estimates, ddof=1) / np.sqrt(10)
        assert error < 0.02
        assert abs(np.mean(estimates) - expected) < 4.8 * error + 2e-4  # Student's t of 9 degrees: one in 1000

    def test_of_many_groups_of_copies_is_the_sum(self, rng):
        """Groups that are independent of each other: forty weights have the probability of five times eight."""
        mean, covariance = copies(8)
        order = np.random.default_rng(2).permutation(40)
        five = block_diag(*[covariance] * 5)[np.ix_(order, order)]
        given = TruncatedNormal.of(np.tile(mean, 5)[order], factor_of(five), 40)
        expected = 5 * np.log(probability_by_scipy(mean, covariance))
        assert given.log_probability(4000, rng) == pytest.approx(expected, abs=0.15)

    def test_far_below_zero(self, rng):
        """Two entries of correlation one half, 30 standard deviations below zero: the tail's expansion.

        P(x > a, y > a) is (1 + r)^2 / (2 pi a^2 (1 - r^2)^(1/2)) exp(-a^2 / (1 + r)) for large a, with an error of
        order 1 / a^2 (Savage 1962, *Journal of Research of the National Bureau of Standards* 66B, 93-96).
        """
        a, r = 30.0, 0.5
        given = TruncatedNormal.of(np.full(2, -a), factor_of(np.array([[1.0, r], [r, 1.0]])), 2)
        expected = 2 * np.log1p(r) - np.log(2 * np.pi * a**2 * np.sqrt(1 - r**2)) - a**2 / (1 + r)
        assert given.log_probability(4000, rng) == pytest.approx(expected, abs=0.02)

    @pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
    def test_of_many_entries_far_below_zero_is_finite(self, rng, scale):
        root = rng.normal(size=(40, 40))
        covariance = root @ root.T + 1e-3 * np.eye(40)
        mean = -scale * np.abs(rng.normal(size=40)) * np.sqrt(np.diag(covariance))
        given = TruncatedNormal.of(mean, factor_of(covariance), 40)
        found, draws = given.log_probability(500, rng), given.draw(100, rng)
        assert np.isfinite(found)
        assert np.isfinite(draws).all()
        assert draws.min() >= 0
        assert found < log_ndtr(mean / np.sqrt(np.diag(covariance))).min()  # less probable than each entry alone


class TestDraws:
    @pytest.mark.parametrize("number", [2, 4, 8])
    def test_of_copies_of_a_column(self, rng, number):
        found, expected = (draw(*copies(number), number, 4000, rng) for draw in (drawn, reflected))
        assert_same_distribution(found, expected)
        assert_same_distribution(found.sum(axis=1, keepdims=True), expected.sum(axis=1, keepdims=True))

    def test_of_entries_far_below_zero(self, rng):
        """Means of -8: no draw would be accepted. Independent entries have known distributions."""
        mean, sd = np.array([-8.0, -20.0, 1.0, 3.0]), np.array([1.0, 2.0, 1.0, 1.0])
        found = drawn(mean, np.diag(sd**2), 3, 2000, rng)
        for j in range(4):
            low = -mean[j] / sd[j] if j < 3 else -np.inf
            assert kstest(found[:, j], truncnorm(low, np.inf, mean[j], sd[j]).cdf).pvalue > 1e-3

    def test_of_more_groups_than_candidates_are_accepted_for(self, rng):
        """A hundred weights in 25 groups: one candidate in a thousand million is accepted, and trajectories draw."""
        mean, covariance = copies(4)
        found = drawn(np.tile(mean, 25), block_diag(*[covariance] * 25), 100, 400, rng)
        assert len(np.unique(found[:, 0])) == 400
        groups, expected = found.reshape(-1, 4), drawn(mean, covariance, 4, 4000, rng)
        assert_same_distribution(groups, expected)
        assert_same_distribution(groups.sum(axis=1, keepdims=True), expected.sum(axis=1, keepdims=True))

    def test_need_no_shift(self, rng, monkeypatch):
        """If the best shift is not found, candidates are drawn without one; they are accepted less often."""
        mean = np.array([0.2, 0.5, 0.0, 0.7])
        monkeypatch.setattr(truncated_normal, "MOST_STEPS", 0)
        given = TruncatedNormal.of(mean, factor_of(CORRELATED), 4)
        assert (given.shift == 0).all()
        assert_same_distribution(given.draw(4000, rng), accepted(mean, CORRELATED, 4, 100_000, rng))

    def test_candidates_are_accepted(self, rng):
        """The best shift and the order of the entries: without either, fewer than half as many are accepted."""
        mean = np.array([-9.0, 0.5, -1.0, 4.0])
        for centre, covariance, least in ((mean, CORRELATED, 0.99), (*copies(8), 0.25)):
            given = TruncatedNormal.of(centre, factor_of(covariance), len(centre))
            assert np.exp(given.log_probability(2000, rng) - given.log_bound) > least


both_samplers = pytest.mark.parametrize("draw", [drawn, reflected])


class TestBothSamplers:
    @both_samplers
    @pytest.mark.parametrize("mean", [-40.0, -2.0, 0.0, 3.0])
    def test_one_entry(self, rng, draw, mean):
        found = draw([mean], np.array([[2.25]]), 1, 2000, rng)
        assert found.shape == (2000, 1)
        assert kstest(found[:, 0], truncnorm(-mean / 1.5, np.inf, mean, 1.5).cdf).pvalue > 1e-3

    @pytest.mark.parametrize(
        ("draw", "mean", "num_positive"),
        [
            (drawn, [0.5, 1.0, 0.3, 0.0], 3),
            (drawn, [-1.0, -0.5, -1.5, 2.0], 3),
            (drawn, [1.0, -2.0, 0.0, 0.0], 1),
            (drawn, [0.2, 0.5, 0.0, 0.7], 4),
            (reflected, [0.5, 1.0, 0.3, 0.4], 4),
            (reflected, [-1.0, -0.5, -1.5, 0.2], 4),
        ],
    )
    def test_several_entries_as_acceptance_gives_them(self, rng, draw, mean, num_positive):
        found = draw(mean, CORRELATED, num_positive, 4000, rng)
        assert found.shape == (4000, 4)
        assert found[:, :num_positive].min() >= 0
        assert_same_distribution(found, accepted(mean, CORRELATED, num_positive, 150_000, rng))

    @both_samplers
    @pytest.mark.parametrize("number", [1, 7, 201, 450])
    def test_as_many_as_wanted_that_differ(self, rng, draw, number):
        mean, covariance = copies(8, tight=1e5) if draw is drawn else (np.full(4, 0.5), CORRELATED)
        found = draw(mean, covariance, len(mean), number, rng)
        assert found.shape == (number, len(mean))
        assert len(np.unique(found[:, 0])) == number

    @pytest.mark.parametrize(("number", "chains"), [(7, 3), (450, 200)])
    def test_as_many_as_wanted_of_few_chains(self, rng, number, chains):
        found = reflected([0.5, 1.0, 0.3, 0.4], CORRELATED, 4, number, rng, chains)
        assert found.shape == (number, 4)
        assert len(np.unique(found[:, 0])) == number

    def test_neighbours_in_a_chain_hardly_depend_on_each_other(self, rng):
        found = reflected([0.5, 1.0, 0.3, 0.4], CORRELATED, 4, 4000, rng, chains=200)[:, 0].reshape(20, 200)
        assert abs(np.corrcoef(found[:-1].ravel(), found[1:].ravel())[0, 1]) < 0.25


def covariance_of(num_weights, spread):
    return spread**2 * np.eye(num_weights) + 1.0


class TestPrior:
    @pytest.mark.parametrize("spread", SPREADS)
    @pytest.mark.parametrize("num_weights", [1, 2, 7])
    def test_mean_and_precision(self, num_weights, spread):
        prior = NormalWeights.given_spread(num_weights, 3, spread)
        np.testing.assert_array_equal(prior.mean, [1.0] * num_weights + [0.0] * 3)
        expected = np.eye(num_weights + 3)
        expected[:num_weights, :num_weights] = np.linalg.inv(covariance_of(num_weights, spread))
        np.testing.assert_allclose(prior.precision, expected, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("num_weights", [1, 2, 100, pytest.param(2000, marks=pytest.mark.slow)])
    def test_constant_needs_no_finer_grid(self, num_weights):
        """The integral over the level on a grid of a million nodes; SciPy's distribution function of two is exact."""
        level, step = np.linspace(-12.0, 12.0, 1_000_001, retstep=True)
        log_density = norm.logpdf(level)
        for spread in SPREADS:
            covariance = covariance_of(num_weights, spread)
            log_probability = logsumexp(log_density + num_weights * log_ndtr((1 + level) / spread)) + np.log(step)
            if num_weights < 3:
                of_scipy = multivariate_normal.cdf(np.ones(num_weights), np.zeros(num_weights), covariance)
                assert log_probability == pytest.approx(np.log(of_scipy), abs=1e-7)
            found = NormalWeights.given_spread(num_weights, 2, spread).log_normaliser
            assert found == pytest.approx(log_probability + np.linalg.slogdet(covariance)[1] / 2, abs=1e-9)

    @pytest.mark.parametrize(("num_weights", "spread"), [(1, 0.0), (3, 0.1), (3, 1.6)])
    def test_draws_and_density(self, rng, num_weights, spread):
        """Beside accepted draws, and SciPy's density divided by the probability of w >= 0."""
        prior = NormalWeights.given_spread(num_weights, 2, spread)
        found = prior.draw(20_000, rng)
        covariance = block_diag(covariance_of(num_weights, spread), np.eye(2))
        assert found.shape == (20_000, num_weights + 2)
        assert found[:, :num_weights].min() >= 0
        assert_same_distribution(found, accepted(prior.mean, covariance, num_weights, 60_000, rng))
        some = found[:6].reshape(2, 3, -1)
        expected = multivariate_normal.logpdf(some, prior.mean, covariance) + len(prior.mean) * np.log(2 * np.pi) / 2
        probability = probability_by_scipy(np.ones(num_weights), covariance_of(num_weights, spread))
        np.testing.assert_allclose(prior.log_density(some), expected - np.log(probability), rtol=0, atol=1e-5)

    @pytest.mark.parametrize(("first", "again", "readings"), [(1, 2, 2), (3, 3, 1), (2, 2, 2)])
    @pytest.mark.parametrize("spread", [0.1, 0.8])
    @pytest.mark.parametrize("ratio", RATIOS)
    def test_readings_have_a_spread_of_their_own(self, rng, first, again, readings, spread, ratio):
        """Mean zero, no level, and r tau; mean, precision, density and draws are those of SciPy's normal."""
        prior = NormalWeights.given_spread(first + again, 2, spread, again, readings, ratio)
        deviation = np.repeat([spread, ratio * spread], [again - readings, readings])
        covariance = block_diag(covariance_of(first, spread), np.diag(deviation**2), np.eye(2))
        np.testing.assert_allclose(prior.precision, np.linalg.inv(covariance), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(prior.mean, np.repeat([1.0, 0.0], [first, again + 2]))
        found = prior.draw(2000, rng)
        expected = multivariate_normal.logpdf(found, prior.mean, covariance) + len(prior.mean) * np.log(2 * np.pi) / 2
        log_probability = np.log(probability_by_scipy(np.ones(first), covariance_of(first, spread)) * 0.5**again)
        np.testing.assert_allclose(prior.log_density(found), expected - log_probability, rtol=0, atol=1e-4)
        for j in range(first + again - readings, first + again):
            assert kstest(found[:, j], halfnorm(scale=ratio * spread).cdf).pvalue > 1e-4

    def test_readings_have_a_prior_for_each_spread_and_ratio(self):
        found = priors(5, 2, shared=False, num_again=3, num_readings=2)
        assert [(prior.ratio, prior.spread) for prior in found] == [(r, tau) for r in RATIOS for tau in SPREADS]
        assert {prior.ratio for prior in priors(5, 2, shared=False, num_again=3)} == {0.0}

    def test_one_weight_has_one_and_several_have_one_for_each_spread(self):
        cases = {(5, True): (1, [0.0]), (1, False): (1, [0.0]), (5, False): (5, [0.05, 0.1, 0.2, 0.4, 0.8, 1.6])}
        for (features, shared), (num_weights, spreads) in cases.items():
            found = priors(features, 2, shared=shared)
            assert [prior.spread for prior in found] == spreads
            assert {prior.num_weights for prior in found} == {num_weights}
            assert {prior.mean.shape for prior in found} == {(num_weights + 2,)}
        assert NormalWeights.given_spread(1, 2, 0.0).log_normaliser == pytest.approx(norm.logcdf(1.0))
