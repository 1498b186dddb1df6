"""Counts and numbers so large that the usual formulas cancel, against references in 60 digits.

The references were computed once with mpmath (mp.dps = 60) from the textbook formulas in log-gamma functions, at the
same float64 inputs, and are stored with 17 digits.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import membership
from scipy import integrate, stats
from scipy.special import gammaln

import bayesnb as nb
from bayesnb.core.arrays import stirling_rest
from bayesnb.data import read as device_array
from bayesnb.families.large_counts import (
    log_dirichlet_multinomial,
    log_gamma,
    log_multinomial,
    log_negative_binomial,
    log_poisson,
)
from bayesnb.families.rates import RateCounts, rate_counts
from bayesnb.families.statistics import Counts
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.problem import Problem
from bayesnb.posterior.exact import ExactPosterior

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
    1e11: (
        [4.4999964134839555, -1.1147049851230126e-6, -1.4999991839752056],
        [5.6249893504565977, -8.8938834741227139e-7, -1.8749992171395791],
        [-68.834762393040411, -68.834767373638933, -127.21396786668496],
        [1.923729438534335, 1.2037276325740746, 0.34506337396374667, -0.77493851013463033],
    ),
    1e12: (
        [4.49999796, -3.52500033749815e-7, -1.49999904000092],
        [5.6249955000046406, -2.8124957812556953e-7, -1.8749988750009844],
        [-74.591221268875579, -74.591222843878099, -137.57559079633386],
        [1.9237291887116959, 1.2037295945515234, 0.34506339253951669, -0.77493603914365534],
    ),
    1e13: (
        [4.4999999425995995, 7.8266318361827326e-8, -1.4999996393406886],
        [5.6249993116057207, 1.4823174807197408e-7, -1.8749995728929095],
        [-80.34768443009436, -80.347684928153174, -147.93722538919976],
        [1.9237307402853487, 1.2037305114890491, 0.34506402814510691, -0.77493623524279351],
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
    # What the spacing of the counts, or of log gamma functions of the smallest, leaves.
    return X, y, new, model, REFERENCES[magnitude], 1e-12 + 1e-15 * np.sqrt(magnitude)


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

    def test_by_evidences_of_single_cells(self, case):
        X, y, new, model, (predictive, _, _, left_out), atol = case
        averaged = nb.fit(model, X, y).averaged(1.0)
        np.testing.assert_allclose(odds(averaged.log_joint(new)), predictive, rtol=0, atol=10 * atol)
        found = nb.loo(averaged, X, y).elpd_i.values[:4]
        np.testing.assert_allclose(found, -np.log1p(np.exp(-np.array(left_out))), rtol=0, atol=10 * atol)

    def test_on_the_device(self, case, monkeypatch):
        monkeypatch.setattr(device_array, "on_accelerator", lambda array: True)
        X, y, new, model, (predictive, plug_in, evidence, _), atol = case
        with jax.enable_x64(True):
            given = jnp.asarray(X)
            exact, point = nb.fit(model, given, y), nb.fit(model, given, y, nb.MLE())
            found = [fitted.log_joint(jnp.asarray(new)) for fitted in (exact, point)]
        np.testing.assert_allclose(odds(found[0]), predictive, rtol=0, atol=atol)
        np.testing.assert_allclose(odds(found[1]), plug_in, rtol=0, atol=10 * atol)
        assert exact.log_evidence == pytest.approx(evidence[0] + evidence[1] - 8 * np.log(2), abs=10 * atol)

    def test_update_and_forget(self, case):
        X, y, _, model, (_, _, evidence, _), atol = case
        bound = model.bind(X, y)
        part, rest = nb.fit(bound, X[::2], y[::2]), (X[1::2], y[1::2])
        expected = pytest.approx(evidence[0] + evidence[1] - 8 * np.log(2), abs=10 * atol)
        whole = part.update(*rest)
        assert whole.log_evidence == expected
        assert whole.forget(*rest).log_evidence == pytest.approx(part.log_evidence, abs=10 * atol)


in_jax = {
    density: jax.jit(density)
    for density in (log_negative_binomial, log_poisson, log_dirichlet_multinomial, log_multinomial)
}


@pytest.mark.parametrize("library", ["numpy", "jax"])
@pytest.mark.parametrize(
    ("density", "arguments", "expected"),
    [
        (log_negative_binomial, (0, 3, 0.5), -3.2958368660043291),
        (log_negative_binomial, (7, 2.5, 0.25), -2.7061104510257842),
        (log_negative_binomial, (1e6, 1e8 + 1, 100), -7.831669060954978),
        (log_negative_binomial, (1e11 + 1e6, 1e13, 100), -18.538615144134733),
        (log_negative_binomial, (9e15, 9e17, 100), -19.291914184754709),
        (log_negative_binomial, (9e15, 0.5, 1e-3), -8995502997774.1934),
        (log_negative_binomial, (50, 1e14, 1e12), -18.219257652356214),
        (log_negative_binomial, (1e3, 1e13, 2), -4054651058158.7781),
        (log_negative_binomial, (10, 1e3, 1e-9), -20669.247839568474),
        (log_negative_binomial, (1e3, 2, 1e9), -20716.357083169096),
        (log_poisson, (1e3, 1e-9), -26635.394015435574),
        (log_poisson, (0, 3), -3.0),
        (log_poisson, (7, 2.5), -4.6111262379463288),
        (log_poisson, (1e6, 1e6 + 1e3), -8.3263608119869763),
        (log_poisson, (1e11, 1e11 + 1e6), -18.583123211589422),
        (log_poisson, (9e15, 9e15), -19.286939019328125),
        (log_poisson, (5, 1e4), -9958.7357898829011),
        (log_dirichlet_multinomial, ([40, 25, 0, 35], [4e13, 3e13, 1e13, 2e13]), -19.802321304159883),
        (log_dirichlet_multinomial, ([40e9, 25e9, 1e9, 34e9], [4e13, 3e13, 1e13, 2e13]), -11171379155.099475),
        (log_dirichlet_multinomial, ([4e12, 2.5e12, 0, 3.5e12], [2, 0.5, 0.25, 3]), -66.572197857250069),
        (
            log_dirichlet_multinomial,
            ([4e12 + 1e6, 3e12, 1e12 - 1e6, 2e12], [4e12, 3e12, 1e12, 2e12]),
            -45.993301967711198,
        ),
        (log_multinomial, ([4e12 + 1e6, 3e12, 1e12 - 1e6, 2e12], [0.4, 0.3, 0.1, 0.2]), None),
    ],
)
def test_densities(library, density, arguments, expected):
    with jax.enable_x64(True):
        formula = density if library == "numpy" else in_jax[density]
        found = float(formula(*(np.asarray(value, dtype=np.float64) for value in arguments)))
    if expected is None:
        # A million counts more and less than expected: half a chi-squared statistic below the density at the mean.
        x, p = (np.array(value) for value in arguments)
        n = x.sum()
        at_mean = -0.5 * (3 * np.log(2 * np.pi * n) + np.log(p).sum())
        statistic = ((x - n * p) ** 2 / (n * p)).sum()
        assert found == pytest.approx(at_mean - 0.5 * statistic, abs=2e-3)
    else:
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-7 if max(np.max(arguments[0]), 1) > 1e12 else 1e-9)


@pytest.mark.parametrize(("x", "a", "b"), [(0.3, 1.0, 2.0), (7.5, 3.2, 0.4), (0.01, 12.0, 300.0), (1e-6, 0.5, 1.0)])
def test_densities_of_a_gamma_variable(x, a, b):
    assert log_gamma(x, a, b) == pytest.approx(stats.gamma.logpdf(x, a, scale=1 / b), rel=1e-12)


def test_impossible_counts():
    assert log_poisson(np.array([3.0, 0.0]), np.array([0.0, 0.0])).tolist() == [-np.inf, 0.0]
    assert log_multinomial(np.array([2.0, 0.0]), np.array([0.0, 1.0])) == -np.inf


class TestDocuments:
    def test_concentrations_of_1e14(self):
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

    @pytest.mark.parametrize("family", ["predictive", "plug-in", "bursty", "left out"])
    def test_long_documents_have_a_form_of_their_own(self, family, rng):
        """Just below the length from which they do, both forms agree; above, the other is a sum of n log n."""
        share = rng.dirichlet(np.ones(5), 2)
        alpha = 1e7 * share
        short = rng.multinomial(4_000_000, share[0], 3).astype(float)
        long = np.concatenate([short, rng.multinomial(1_000_000_000_000, share[0], 2)]).astype(float)
        codes = np.array([0, 1, 0, 0, 1])

        def density(x):
            if family == "predictive":
                return nb.Multinomial(alpha).row_log_predictive(x)
            if family == "plug-in":
                return nb.Multinomial().row_log_likelihood({"prob": share}, x)
            if family == "bursty":
                return nb.DirichletMultinomial().row_log_likelihood({"concentration": alpha}, x)
            counted = nb.Multinomial(alpha).statistics(long, np.eye(2)[codes])
            return nb.Multinomial(alpha).row_log_left_out(x, codes[: len(x)], counted)

        def own_form(x):
            if family == "plug-in":
                return log_multinomial(x[:, None], share)
            if family != "left out":
                return log_dirichlet_multinomial(x[:, None], alpha)
            rest = [long[codes == c].sum(axis=0) for c in codes[: len(x)]] - x
            return log_dirichlet_multinomial(x, alpha[codes[: len(x)]] + rest)

        np.testing.assert_allclose(density(short), own_form(short), rtol=0, atol=1e-6)
        np.testing.assert_allclose(density(long)[3:], own_form(long)[3:], rtol=1e-14)


class TestStatistics:
    def test_log_base_is_the_largest_log_likelihood(self, rng):
        x = np.where(rng.uniform(size=(40, 3)) < 0.1, np.nan, rng.poisson([0.2, 4.0, 900.0], (40, 3)))
        weights = membership(rng, 40, weighted=True)
        counted = nb.Poisson().statistics(x, weights)
        at_mean = (
            np.nan_to_num(x)[:, None] * np.log(counted.mean) - counted.mean - gammaln(np.nan_to_num(x)[:, None] + 1)
        )
        expected = (weights[:, :, None] * np.where(np.isnan(x)[:, None], 0.0, at_mean)).sum(axis=0)
        np.testing.assert_allclose(counted.log_base, expected, rtol=1e-12)
        older = Counts(counted.n, counted.total, -weights.T @ gammaln(np.nan_to_num(x) + 1))
        np.testing.assert_allclose(rate_counts(older).log_base, expected, rtol=1e-12)
        nothing = Counts(*np.zeros((3, 1, 1)))
        np.testing.assert_array_equal(rate_counts(nothing).log_base, [[0.0]])

    def test_files_of_format_1_have_other_sums(self, rng, tmp_path):
        X, y = rng.poisson(4.0, (20, 2)), np.arange(20) % 2
        posterior = nb.fit(nb.Poisson(), X, y)
        problem = posterior.problem
        (new,) = problem.statistics.blocks
        older = Counts(new.n, new.total, -np.eye(2)[y].T @ gammaln(X + 1.0))
        statistics = ModelStatistics(problem.statistics.classes, (older,))
        ExactPosterior(Problem(problem.model, statistics), posterior.inference).save(tmp_path / "older.nc")
        again = nb.load(tmp_path / "older.nc")
        assert again.log_evidence == pytest.approx(posterior.log_evidence, rel=1e-12)

    def test_merges(self, rng):
        x, weights = rng.poisson([0.0, 0.05, 4.0, 1e12], (30, 4)).astype(float), membership(rng, 30, weighted=True)
        family = nb.Poisson()
        whole, first, second = (
            family.statistics(x[part], weights[part]) for part in (slice(None), slice(11), slice(11, None))
        )
        assert isinstance(whole, RateCounts)
        for found, expected in (
            (first + second, whole),
            (whole - first, second),
            (whole.pooled(), family.statistics(x, weights.sum(axis=1, keepdims=True))),
            (whole * 2.5, family.statistics(x, 2.5 * weights)),
        ):
            np.testing.assert_allclose(found.log_base, expected.log_base, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(found.total, expected.total, rtol=1e-12)


class TestRefusals:
    @pytest.mark.parametrize(
        "family",
        [
            pytest.param(nb.Poisson(), id="poisson"),
            pytest.param(nb.Multinomial(), id="multinomial", marks=pytest.mark.slow),
        ],
    )
    def test_counts_beyond_the_whole_numbers(self, family, monkeypatch):
        monkeypatch.setattr(device_array, "on_accelerator", lambda array: True)
        X, y = np.array([[3.0, 1.0], [2.0**53, 2.0]]), ["a", "b"]
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
