"""Large counts, and numbers far from zero, against references in 60 digits.

The references were computed once with mpmath (mp.dps = 60) from the textbook formulas in log-gamma functions, at the
same float64 inputs, and are stored with 17 digits.
"""

import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from scipy import integrate, stats

import bayesnb as nb
from bayesnb.core.logarithms import log_negative_binomial, stirling_rest
from bayesnb.families.statistics import Membership
from bayesnb.families.words import log_dirichlet_multinomial

STEPS = np.array([-1.2, -0.3, 0.4, 1.1])

# At each magnitude: log odds of three new cells by the predictive, and at the class means; log evidence of both classes
# and of their union; log odds of the first class's cells, each left out of its class.
REFERENCES = {
    1e3: (
        [4.5029233679284294, -0.011456879917478375, -1.4681591635090555],
        [5.5703547615403696, -0.0087919604228304355, -1.8372518104779968],
        [-22.803986066453364, -22.855983584992435, -44.401373049651305],
        [1.9133537669186129, 1.2093539930371396, 0.32323607695664815, -0.78505284624658918],
    ),
    1e6: (
        [4.4979600001156094, -0.00035253356493464742, -1.4990409191052572],
        [5.6205046353158216, -0.00028082869377289065, -1.8738759833636377],
        [-40.052504949064827, -40.054082465135715, -75.405428806761358],
        [1.9221805008378064, 1.2025861684415876, 0.34438400183846284, -0.77504788992612096],
    ),
    9e8: (
        [4.4999320000000043, -1.1750037493148447e-5, -1.4999680010221891],
        [5.6248500051560531, -9.3745312710928125e-6, -1.8749625010937125],
        [-57.058433722425664, -57.058486225225518, -106.01655784090392],
        [1.9236790492995026, 1.2036925771078784, 0.3450413987629673, -0.77493965756808906],
    ),
}


def counts(magnitude):
    """Four cells of two classes, one and a half standard deviations apart, and three new ones."""
    unit = np.rint(np.sqrt(magnitude))
    cells = magnitude + np.rint(unit * np.concatenate([STEPS, STEPS + 1.5]))
    new = magnitude + np.rint(np.sqrt(magnitude) * np.array([-3.0, 0.75, 2.0]))
    return cells[:, None], np.repeat(["a", "b"], 4), new[:, None]


@pytest.fixture(params=REFERENCES, ids="{:g}".format)
def case(request):
    magnitude = request.param
    X, y, new = counts(magnitude)
    model = nb.NaiveBayes(nb.Poisson(2.0, 2.0 / magnitude), class_probs=[0.5, 0.5])
    # What the rounding of a count's log-gamma function leaves.
    return X, y, new, model, REFERENCES[magnitude], 5e-16 * magnitude * np.log(magnitude)


def odds(log_joint):
    return log_joint[:, 0] - log_joint[:, 1]


class TestPoissonCounts:
    def test_predictive_and_its_evidence(self, case):
        X, y, new, model, (predictive, _, evidence, _), atol = case
        exact = nb.fit(model, X, y)
        np.testing.assert_allclose(odds(exact.log_joint(new)), predictive, rtol=0, atol=atol)
        expected = np.exp(predictive) / (1 + np.exp(predictive))
        np.testing.assert_allclose(exact.predict_proba(new)[:, 0], expected, rtol=0, atol=atol)
        assert exact.log_evidence == pytest.approx(evidence[0] + evidence[1] - 8 * np.log(2), abs=10 * atol)
        bayes_factor = nb.feature_evidence(exact)["log_bayes_factor"].item()
        assert bayes_factor == pytest.approx(evidence[0] + evidence[1] - evidence[2], abs=10 * atol)

    def test_plug_in(self, case):
        X, y, new, model, (_, plug_in, _, _), atol = case
        point = nb.fit(model, X, y, nb.MLE())
        # A rate is rounded to the spacing of the numbers, too.
        np.testing.assert_allclose(odds(point.log_joint(new)), plug_in, rtol=0, atol=10 * atol)

    def test_left_out(self, case):
        X, y, _, model, (*_, left_out), atol = case
        exact = nb.fit(model, X, y)
        found = nb.loo(exact, X, y).elpd_i.values[:4]
        np.testing.assert_allclose(found, -np.log1p(np.exp(-np.array(left_out))), rtol=0, atol=10 * atol)


in_jax = {density: jax.jit(density) for density in (log_negative_binomial, log_dirichlet_multinomial)}


@pytest.mark.parametrize("library", ["numpy", "jax"])
@pytest.mark.parametrize(
    ("density", "arguments", "expected", "error"),
    [
        (log_negative_binomial, (0, 3, 0.5), -3.2958368660043291, 1e-14),
        (log_negative_binomial, (7, 2.5, 0.25), -2.7061104510257842, 1e-14),
        (log_negative_binomial, (1e6, 1e8 + 1, 100), -7.831669060954978, 1e-8),
        (log_negative_binomial, (1e9, 1e11, 100), -11.285546617187804, 1e-5),
        (log_negative_binomial, (1e9 + 3e4, 0.5, 1e-3), -999544.70648377665, 1e-5),
        (log_negative_binomial, (50, 1e14, 1e12), -18.219257652356214, 1e-11),
        (log_negative_binomial, (1e3, 1e13, 2), -4054651058158.7781, 1e-2),
        (log_negative_binomial, (10, 1e3, 1e-9), -20669.247839568474, 1e-11),
        (log_negative_binomial, (1e3, 2, 1e9), -20716.357083169096, 1e-11),
        (log_dirichlet_multinomial, ([40, 25, 0, 35], [4e13, 3e13, 1e13, 2e13]), -19.802321304159883, 1e-11),
        (log_dirichlet_multinomial, ([4e8, 2.5e8, 0, 3.5e8], [2, 0.5, 0.25, 3]), -45.848932023388171, 1e-5),
    ],
)
def test_densities(library, density, arguments, expected, error):
    with jax.enable_x64(True):
        formula = density if library == "numpy" else in_jax[density]
        found = float(formula(*(np.asarray(value, dtype=np.float64) for value in arguments)))
    assert found == pytest.approx(expected, rel=0, abs=error)


def test_impossible_counts():
    with jax.enable_x64(True):
        x, rate = jnp.array([[3.0, 0.0]]), {"rate": jnp.zeros((1, 2))}
        assert nb.Poisson().row_log_likelihood(rate, x).tolist() == [[-np.inf]]
        assert nb.Poisson().row_log_likelihood(rate, 0 * x).tolist() == [[0.0]]
        x, prob = jnp.array([[2.0, 0.0]]), {"prob": jnp.array([[0.0, 1.0]])}
        assert nb.Multinomial().row_log_likelihood(prob, x).tolist() == [[-np.inf]]


def test_documents_with_concentrations_of_1e14():
    """With so large concentrations it is a multinomial: they differ by 1e4 tokens squared over 1e14."""
    x = np.array([[4000.0, 2500.0, 0.0, 3500.0], [17.0, 20.0, 40.0, 100.0]])
    share = np.array([[0.4, 0.3, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4]])
    with jax.enable_x64(True):
        bursty = nb.DirichletMultinomial().row_log_likelihood({"concentration": 1e14 * share}, x)
        counted = nb.DirichletMultinomial().statistics(x, np.eye(2))
        of_statistics = nb.DirichletMultinomial().log_likelihood({"concentration": 1e14 * share}, counted)
        by_predictive = nb.Multinomial(1e14 * share).row_log_predictive(x)
        evidence = nb.Multinomial(1e14 * share).log_evidence(nb.Multinomial().statistics(x, np.eye(2)))
        plain = nb.Multinomial().row_log_likelihood({"prob": share}, x)
    np.testing.assert_allclose(bursty, plain, rtol=0, atol=1e-6)
    np.testing.assert_allclose(by_predictive, plain, rtol=0, atol=1e-6)
    np.testing.assert_allclose(evidence[:, 0], np.diag(plain), rtol=0, atol=1e-6)
    np.testing.assert_allclose((of_statistics + counted.log_base)[:, 0], np.diag(plain), rtol=0, atol=1e-6)


@pytest.mark.parametrize("make", [np.array, scipy.sparse.csr_array, scipy.sparse.csc_array])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("large", [4, 7e4, 1e9])
def test_the_sum_of_log_coefficients_is_that_of_a_loop(make, weighted, large):
    x = [[1, 0, large, 3], [255, 256, 257, 1], [0, 0, 0, 0], [1, 1, 1, 1], [2, large, 1, 0], [0, 0, 0, large], [0] * 4]
    codes, weights = [0, 1, 0, 1, 1, 0, 1], [1.0, 0.5, 2.0, 1.0, 3.0, 1.5, 1.0] if weighted else [1.0] * 7
    terms = {0: [], 1: []}
    for row, code, weight in zip(x, codes, weights, strict=True):
        terms[code] += [weight * math.lgamma(sum(row) + 1), *(-weight * math.lgamma(cell + 1) for cell in row)]
    counted = nb.Multinomial().statistics(make(x), Membership.of(np.array(codes), np.array(weights), 2))
    for code, own in terms.items():
        assert counted.log_base[code, 0] == pytest.approx(math.fsum(own), abs=1e-13 * math.fsum(map(abs, own)))


class TestRefusals:
    @pytest.mark.filterwarnings("ignore:column . has counts above")
    @pytest.mark.parametrize(
        "family",
        [
            pytest.param(nb.Poisson(), id="poisson"),
            pytest.param(nb.Multinomial(), id="multinomial", marks=pytest.mark.slow),
        ],
    )
    def test_counts_beyond_the_whole_numbers(self, family):
        X, y = np.array([[3.0, 1.0], [1e9, 2.0]]), ["a", "b"]
        posterior = nb.fit(family, X, y)
        for action in (
            lambda: nb.fit(family, [[3.0, 1.0], [2.0, 2.0**54]], y),
            lambda: posterior.predict_proba([[3.0, 2.0**54]]),
            lambda: posterior.predict_proba(jnp.asarray([[3.0, 2.0**54]])),
        ):
            with pytest.raises(ValueError, match=r"column 1, row .: 1\.80144e\+16 is above 2\*\*53.*divide the column"):
                action()
        fractional = nb.fit(nb.Multinomial(fractional=True), [[0.5, 2.0**54], [1.0, 2.0]], y)
        assert np.isfinite(fractional.log_evidence)

    @pytest.mark.parametrize("family", [nb.Poisson(), nb.Multinomial()], ids=["poisson", "multinomial"])
    @pytest.mark.parametrize("container", [np.array, scipy.sparse.csr_array])
    def test_counts_whose_densities_lose_digits(self, family, container):
        X, y = np.array([[3.0, 1.0, 1.0], [2.0, 2e9, 0.0]]), ["a", "b"]
        with pytest.warns(UserWarning, match=r"column 1 has counts above 1e\+09.*an error of about 1e-6"):
            posterior = nb.fit(family, container(X), y)
        with pytest.warns(UserWarning, match="column 2 has counts above"):
            posterior.predict_proba(container(np.array([[1.0, 2.0, 3e9]])))
        with warnings.catch_warnings(action="error"):
            posterior.predict_proba(container(X[:1]))

    def test_gaussian_column_far_from_zero(self, rng):
        X, y = np.column_stack([rng.normal(size=20), 3e12 + rng.normal(size=20)]), np.repeat(["a", "b"], 10)
        message = (
            r"column 1 in class 'a' has the mean 3e\+12, more than 1e12 standard deviations .*: subtract a number near"
        )
        for inference in (nb.Exact(), nb.MLE()):
            with pytest.raises(ValueError, match=message):
                nb.fit(nb.Gaussian(), X, y, inference)
        assert np.isfinite(nb.fit(nb.Gaussian(), X * 1e3 - [0, 3e15], y).log_evidence)

    def test_gaussian_within_its_domain(self, rng):
        """A shift that float64 holds exactly changes a density by rounding alone: about 1e-16 of it, per deviation."""
        x, y = rng.integers(-3000, 3000, (40, 1)) / 1024, np.arange(40) % 2
        new = np.array([[-4.0], [0.5], [4.0]])

        def found(shift):
            return nb.fit(nb.Gaussian(shift, 0.1, 1.0, 0.1), x + shift, y).log_joint(new + shift)

        for shift in (2.0**20, 2.0**33, 2.0**40):
            np.testing.assert_allclose(found(shift), found(0.0), rtol=0, atol=20 * 2.0**-53 * shift)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.6])
def test_a_few_large_counts_among_small_ones(share, rng):
    """Small counts are looked up in a table, large ones are not; a hole is neither."""
    X = rng.poisson([3.0, 30.0, 0.2], (3000, 3)).astype(float)
    large = rng.uniform(size=X.shape) < share
    X[large] = np.round(X[large] * 100 + 600)
    X[5, 1] = np.nan
    y = rng.integers(0, 2, 3000)
    posterior = nb.fit(nb.NaiveBayes(nb.Poisson(2.0, 0.5), class_probs=[0.5, 0.5]), X, y)
    family = posterior.families[0]
    expected = np.log(0.5) + np.nansum(
        stats.nbinom.logpmf(X[:, None], family.concentration, family.rate / (1 + family.rate)), axis=-1
    )
    np.testing.assert_allclose(posterior.log_joint(X), expected, rtol=1e-9)
    point = posterior.plugin()
    expected = np.log(0.5) + np.nansum(stats.poisson.logpmf(X[:, None], point.mean()["x_rate"]), axis=-1)
    np.testing.assert_allclose(point.log_joint(X), expected, rtol=1e-9)


def test_the_rest_of_stirlings_formula_is_binets_integral(float64):
    z = np.array([0.5, 15.0, 16.0, 17.0, 1e4])
    expected = [
        integrate.quad(lambda t, z=z: 2 * np.arctan(t / z) / np.expm1(2 * np.pi * t), 0, 10, epsabs=1e-17)[0] for z in z
    ]
    assert isinstance(stirling_rest(z), np.ndarray)
    np.testing.assert_allclose(stirling_rest(z), expected, rtol=1e-11)
    np.testing.assert_allclose([stirling_rest(one) for one in z], expected, rtol=1e-11)
    np.testing.assert_allclose(stirling_rest(jnp.asarray(z)), expected, rtol=1e-11)
