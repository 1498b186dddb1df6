"""Waiting times, log-normal columns and numbers of successes and failures, each number by a second route."""

import itertools
from functools import partial

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import log_density
from refitting import assert_same
from scipy import integrate, stats
from scipy.special import betaln, loggamma, logsumexp
from slow import names_fast

import bayesnb as nb
from bayesnb.core.logarithms import log_beta_ratio, log_choose, log_negative_binomial
from bayesnb.families.draw import draw
from bayesnb.families.words import log_dirichlet_multinomial

# Log predictive densities under a posterior, computed once with mpmath (mp.dps = 60) from log-gamma functions.
PREDICTIVE = [
    (nb.Geometric(1.0, 1.0), 0.0, -0.6931471805599453, 1e-15),
    (nb.Geometric(1e-100, 1.0), 3.0, -231.64480366052445, 1e-13),
    (nb.Geometric(11.0, 1e7), 1e9, -69.101641145603522, 1e-5),
    (nb.Geometric(1e8, 1e14), 3e6, -16.815510042964803, 1e-8),
    (nb.Geometric(1e12, 1e4), 0.0, -9.999999950000001e-09, 1e-15),
    (nb.Geometric(1e15, 1e15), 5.0, -4.15888308335967, 2e-14),
    (nb.NegativeBinomial(2.5, 1.0, 1.0), 0.0, -1.252762968495368, 1e-15),
    (nb.NegativeBinomial(1e-6, 0.5, 2.0), 7.0, -16.561470065844922, 2e-14),
    (nb.NegativeBinomial(2.5, 251.0, 1e10), 3e8, -22.242444277913393, 3e-6),
    (nb.NegativeBinomial(1e6, 1e8, 1e8), 1010000.0, -32.81394839085087, 1e-8),
    (nb.NegativeBinomial(1e3, 1e5, 1e10), 3e8, -898.82626331300385, 3e-6),
    (nb.Binomial(1, 1e-6, 1e-6), 1.0, -0.6931471805599453, 5e-15),
    (nb.Binomial(10, 1e-100, 1.0), 10.0, -232.56109439239862, 1e-13),
    (nb.Binomial(1000, 300.0, 700.0), 333.0, -5.241334517429168, 3e-12),
    (nb.Binomial(10**6, 3e7, 7e7), 301000.0, -9.40817429490327, 1e-8),
    (nb.Binomial(10**9, 3e8, 7e8), 300030000.0, -11.918261983283019, 1e-5),
    (nb.Binomial(10**9, 1.0, 1.0), 5e8, -20.723265837946411, 1e-5),
]


@pytest.mark.parametrize(("family", "cell", "expected", "error"), PREDICTIVE)
def test_predictive_densities_keep_their_digits(family, cell, expected, error):
    family = jax.tree.map(lambda number: np.array([[number]]), family)
    assert family.cell_log_predictive(np.array([[cell]])).item() == pytest.approx(expected, rel=0, abs=error)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "cell", "expected", "error"), PREDICTIVE)
def test_predictive_densities_keep_their_digits_in_jax(family, cell, expected, error, float64):
    family = jax.tree.map(lambda number: np.array([[number]]), family)
    found = family.row_log_predictive(jax.numpy.array([[cell]]))
    assert found.item() == pytest.approx(expected, rel=1e-12, abs=30 * error)


@pytest.mark.parametrize(
    ("one", "other", "a", "b", "expected", "error"),
    [
        (1.0, 1e6, 1.0, 1.0, -27.631024115926048, 1e-8),
        (1e6, 1.0, 1.0, 1.0, -27.631024115926048, 1e-8),
        (1.0, 1e9, 1.0, 1.0, -41.446531676892822, 1e-5),
        (1e6, 1e6, 1e-6, 1e6, -1909562.1064657967, 1e-8),
        (0.0, 5.0, 2.0, 0.5, betaln(2.0, 5.5) - betaln(2.0, 0.5), 2e-15),
        (0.0, 0.0, 2.0, 0.5, 0.0, 0.0),
    ],
)
def test_the_density_of_a_sequence_keeps_its_digits(one, other, a, b, expected, error):
    assert log_beta_ratio(*map(np.array, (one, other, a, b))) == pytest.approx(expected, rel=0, abs=error)


def derivatives(formula, at):
    """By steps into the complex plane, without a difference that cancels (Squire and Trapp 1998)."""
    found = []
    for i, value in enumerate(at):
        steps = 1e-30j * np.eye(value.size).reshape(-1, *value.shape)
        slopes = [formula(*at[:i], value + step, *at[i + 1 :]).imag / 1e-30 for step in steps]
        found.append(np.reshape(slopes, value.shape))
    return tuple(found)


def test_slopes_of_binomial_coefficients(float64):
    slopes = jax.jit(jax.grad(log_choose, (0, 1)))
    for at in ((0.0, 4.0), (3.0, 2.5)):
        expected = derivatives(
            lambda s, f: loggamma(s + f + 1) - loggamma(s + 1) - loggamma(f + 1), tuple(map(np.array, at))
        )
        np.testing.assert_allclose(slopes(*at), expected, rtol=1e-12, atol=1e-12)


def test_slopes_of_densities_of_large_counts(float64):
    """Against derivatives of the formulas in log-gamma functions."""

    def documents(x, a):
        n, whole = x.sum(-1), a.sum(-1)
        of_words = loggamma(a + x) - loggamma(a) - loggamma(x + 1)
        return of_words.sum(-1) - loggamma(whole + n) + loggamma(whole) + loggamma(n + 1)

    def waits(x, a, b):
        return loggamma(a + x) - loggamma(a) - loggamma(x + 1) - a * np.log1p(1 / b) - x * np.log1p(b)

    formulas = [
        (log_dirichlet_multinomial, documents, ([3.0, 1.0, 6.5], [0.4, 2.0, 1.5])),
        (log_negative_binomial, waits, (4.0, 2.5, 0.7)),
    ]
    for own, formula, at in formulas:
        at = tuple(map(np.asarray, at))
        found = jax.jit(jax.grad(own, tuple(range(len(at)))))(*at)
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-10), found, derivatives(formula, at))


def test_waiting_times_of_zero():
    """NumPyro's distributions have no density there, so that the contract of all families has no zeros."""
    X, y = np.array([[0.0], [2.0], [0.0], [0.0], [5.0], [1.5]]), np.repeat(["a", "b"], 3)
    posterior = nb.fit(nb.NaiveBayes(nb.Exponential(1.5, 2.0), class_probs=[0.5, 0.5]), X, y)
    a, b = np.array([4.5, 4.5]), np.array([4.0, 8.5])
    expected = np.log(0.5) + stats.lomax.logpdf(X, a, scale=b)
    np.testing.assert_allclose(posterior.log_joint(X), expected, rtol=1e-12)
    with jax.enable_x64(True):
        np.testing.assert_allclose(posterior.log_joint_function()(X), expected, rtol=1e-12)
    rate = a / b
    plugged = np.log(0.5) + np.log(rate) - rate * X
    np.testing.assert_allclose(posterior.plugin().log_joint(X), plugged, rtol=1e-12)
    values = {"class_prob": np.array([0.5, 0.5]), "x_rate": rate[:, None]}
    density = jax.jit(lambda values: log_density(posterior.model.program, (X, y), {}, values)[0])(values)
    prior = stats.gamma.logpdf(rate, 1.5, scale=0.5).sum()
    assert float(density) == pytest.approx(prior + plugged[range(6), [0, 0, 0, 1, 1, 1]].sum(), rel=1e-5)


LARGE = {
    "geometric, mean 2000": (nb.Geometric(), lambda n, p: stats.geom.pmf(n + 1, p), [1 / 2001, 1 / 6001], 300_000),
    "geometric, mean 200 and 5": (nb.Geometric(), lambda n, p: stats.geom.pmf(n + 1, p), [1 / 201, 1 / 6], 20_000),
    "geometric, alike": (nb.Geometric(), lambda n, p: stats.geom.pmf(n + 1, p), [1 / 2001, 1 / 2041], 100_000),
    "binomial": (nb.Binomial(9000), lambda n, p: stats.binom.pmf(n, 9000, p), [0.3, 0.31], 9001),
    "binomial, both ends": (nb.Binomial(9000), lambda n, p: stats.binom.pmf(n, 9000, p), [1e-4, 1 - 1e-4], 9001),
    "negative binomial": (nb.NegativeBinomial(0.1), lambda n, p: stats.nbinom.pmf(n, 0.1, p), [1e-4, 4e-5], 2_000_000),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", names_fast(LARGE, {"geometric, mean 2000"}))
def test_mutual_information_of_large_counts_is_that_sum(name):
    """Where the counts of one class or the other go beyond 4,096, an integral replaces most of the sum."""
    family, mass, prob, end = LARGE[name]
    weight, prob = np.array([0.3, 0.7]), np.array(prob)
    density = mass(np.arange(end), prob[:, None])
    average = weight @ density
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.nansum(weight[:, None] * density * np.log(density / average))
    found = family.mutual_information(weight[None, :, None], {"prob": prob[None, :, None]})
    np.testing.assert_allclose(found, [[expected]], rtol=1e-8)


@pytest.mark.parametrize("rates", [(0.5, 2), (0.1, 5), (0.01, 5), (0.001, 0.05, 5)])
def test_mutual_information_of_waiting_times_is_an_integral(rates):
    rate = np.array(rates)
    weight = np.array([0.3, 0.5, 0.2])[: len(rate)] / [0.8, 1][len(rate) - 2]

    def integrand(log_x):
        x = np.exp(log_x)
        log_of_cell = np.log(rate) - rate * x
        ratio = log_of_cell - logsumexp(log_of_cell, b=weight)
        return x * (weight * np.exp(log_of_cell) * ratio).sum()

    # The density of a class falls where x is about one over its rate.
    ends = np.linspace(np.log(1e-12), np.log(60 / rate.min()), 100)
    expected = sum(integrate.quad(integrand, *pair)[0] for pair in itertools.pairwise(ends))
    found = nb.Exponential().mutual_information(weight[None, :, None], {"rate": rate[None, :, None]})
    np.testing.assert_allclose(found, [[expected]], rtol=1e-7)


def test_draws_of_cells_follow_their_distribution(rng):
    """Also for numbers of successes that are so large that they are no 32-bit integers."""
    for distribution, theirs in (
        (dist.Exponential(2e-9), stats.expon(scale=5e8)),
        (dist.LogNormal(20.0, 0.5), stats.lognorm(0.5, scale=np.exp(20.0))),
        (dist.GeometricProbs(1e-11), stats.geom(1e-11, loc=-1)),
        (dist.BinomialProbs(0.3, 10**12), stats.binom(10**12, 0.3)),
        (dist.GammaPoisson(3.0, 1e-10), stats.gamma(3.0, scale=1e10)),
    ):
        with jax.enable_x64(True):
            cells = draw(distribution, rng, (2000,))
        assert stats.kstest(cells, theirs.cdf).pvalue > 1e-3
    assert np.isfinite(draw(dist.LogNormal(np.array([-1e5, 1e5]), 1.0), rng)).all()
    assert (draw(dist.LogNormal(np.array([-1e5, 1e5]), 1.0), rng) > 0).all()


class TestTotalCounts:
    @pytest.mark.parametrize("family", [nb.Binomial, nb.NegativeBinomial])
    @pytest.mark.parametrize("given", [[10, 40, 10], np.array([10, 40, 10])], ids=["list", "array"])
    def test_one_for_each_column(self, family, given, rng, tmp_path):
        X, y = rng.binomial([10, 40, 10], [0.3, 0.6, 0.5], (30, 3)), rng.integers(0, 2, 30)
        concentration = np.array([2.0, 3.0, 1.0])
        posterior = nb.fit(family(given, concentration), X, y)
        alone = {j: family(int(given[j]), concentration[j]) for j in range(3)}
        one_by_one = nb.fit(nb.NaiveBayes(alone), X, y)
        block = nb.fit(nb.NaiveBayes({"all": (family(given, concentration), slice(None))}), X, y)
        posterior.save(tmp_path / "model.nc")
        for other in (one_by_one, block, nb.load(tmp_path / "model.nc")):
            np.testing.assert_array_equal(other.log_joint(X), posterior.log_joint(X))
            assert other.log_evidence == posterior.log_evidence
            assert set(other.mean()) == {"class_prob", "0_prob", "1_prob", "2_prob"}
        assert nb.loo(posterior, X, y).elpd == nb.loo(one_by_one, X, y).elpd

    def test_parameters_given_by_column(self):
        point = nb.from_parameters(
            nb.Binomial([10, 40]), classes=[0, 1], class_probs=[0.5, 0.5], parameters={0: [0.2, 0.3], 1: [0.4, 0.7]}
        )
        expected = np.log(0.5) + stats.binom.logpmf(3, 10, [0.2, 0.3]) + stats.binom.logpmf(20, 40, [0.4, 0.7])
        np.testing.assert_allclose(point.log_joint([[3, 20]]), [expected], rtol=1e-12)

    @pytest.mark.parametrize("bad", ["ten", True, [[1, 2]], {"u": 3}, dist.Gamma(1, 1)])
    @pytest.mark.parametrize("family", [nb.Binomial, nb.NegativeBinomial])
    def test_that_are_no_numbers(self, family, bad):
        with pytest.raises(TypeError, match=r"total_count=.*give the number of .*one for each column"):
            family(bad)

    @pytest.mark.parametrize("bad", [0, -1.5, np.nan, np.inf, [5, 0]], ids=str)
    @pytest.mark.parametrize("family", [nb.Binomial, nb.NegativeBinomial])
    def test_that_are_not_allowed(self, family, bad):
        shown = bad[-1] if isinstance(bad, list) else bad
        with pytest.raises(ValueError, match=rf"total_count=.*: {shown} is not allowed; give the number"):
            family(bad)

    @pytest.mark.parametrize("bad", [2.5, 2**53 + 2])
    def test_of_a_binomial_are_whole_numbers(self, bad):
        """A negative binomial without one learns it."""
        with pytest.raises(ValueError, match=rf"Binomial\(total_count=.*: {bad} is not allowed; give the number"):
            nb.Binomial(bad)
        with pytest.raises(TypeError, match="total_count"):
            nb.Binomial()
        with pytest.raises(TypeError, match=r"Binomial\(total_count=None\): give the number of trials"):
            nb.Binomial(None)

    @pytest.mark.parametrize("given", [[3, 4], [1, 2, 3, 4], []], ids=str)
    def test_of_another_number_of_columns(self, given):
        with pytest.raises(ValueError, match=rf"has {len(given)} numbers for 3 columns: give one number for all"):
            nb.fit(nb.NegativeBinomial(given), np.ones((4, 3)), [0, 0, 1, 1])


def test_points_without_a_likeliest_value():
    assert nb.fit(nb.Geometric(), [[0.0], [0.0]], ["a", "b"], nb.MLE()).mean()["x_prob"].tolist() == [[1.0], [1.0]]
    assert nb.fit(nb.Binomial(4), [[4.0], [0.0]], ["a", "b"], nb.MLE()).predict([[4.0], [0.0]]).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="no observed cell above zero"):
        nb.fit(nb.Exponential(), [[0.0], [1.0]], ["a", "b"], nb.MLE())
    with pytest.raises(ValueError, match="no observed cell"):
        nb.fit(nb.Geometric(), [[np.nan], [1.0]], ["a", "b"], nb.MLE())


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("weights", [None, np.full(5, 0.15)], ids=["", "less than one row"])
def test_waits_equal_refitting_where_little_is_left(weights):
    """Also of a column that is zero in all rows but one."""
    X, y = np.column_stack([[1.0, 2.0, 0.4, 3.0, 5.0], np.eye(5)[3]]), np.array(list("aaabb"))
    assert_same(nb.fit(nb.Exponential(), X, y, sample_weight=weights), X, y, weights)
