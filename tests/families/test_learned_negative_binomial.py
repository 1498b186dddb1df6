"""Negative binomial columns with a learned `total_count`: densities, estimates, draws against quadrature, bad input."""

import copy
import pickle
import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats
from cases import membership, with_holes

import bayesnb as nb
from bayesnb.families.counts import log_negative_binomial
from bayesnb.families.two_parameters import LearnedNegativeBinomial
from bayesnb.inference.sources import read_table

Y = np.array(["a", "b"] * 30)
GIVEN: dict[str, float] = {"loc": 4.0, "scale": 1.0, "concentration": 1.7, "rate": 2.0}


def log_density(x: Any, mean: Any, dispersion: Any) -> Any:
    """By SciPy."""
    return scipy.stats.nbinom.logpmf(x, 1 / dispersion, 1 / (1 + dispersion * mean))


def log_prior(hyper: dict[str, Any], mean: Any, dispersion: Any) -> Any:
    """By SciPy."""
    of_mean = scipy.stats.lognorm.logpdf(mean, hyper["scale"], scale=hyper["loc"])
    return of_mean + scipy.stats.gamma.logpdf(dispersion, hyper["concentration"], scale=1 / hyper["rate"])


def cells() -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.negative_binomial([1.5, 4.0], np.where(Y == "a", 0.2, 0.4)[:, None], (len(Y), 2)) * 1.0


def resolved(family: nb.families.Family, X: np.ndarray, y: Any = Y) -> Any:
    return read_table(nb.NaiveBayes(family), X, y, None).resolved.families[0]


class TestWhichFamily:
    def test_without_a_number_it_is_learned(self) -> None:
        assert nb.NegativeBinomial() == nb.NegativeBinomial(None) == nb.NegativeBinomial(total_count=None)
        assert isinstance(nb.NegativeBinomial(), LearnedNegativeBinomial)
        assert type(nb.NegativeBinomial(2.5)) is nb.NegativeBinomial
        assert nb.NegativeBinomial(None, **GIVEN).hyperparameters() == GIVEN

    @pytest.mark.parametrize("family", [nb.NegativeBinomial(2.5, 2.0), nb.NegativeBinomial(rate=3.0)])
    def test_copies(self, family: nb.families.Family) -> None:
        copies = [copy.copy(family), copy.deepcopy(family), pickle.loads(pickle.dumps(family))]
        assert all(type(one) is type(family) and one == family for one in copies)

    @pytest.mark.parametrize(
        ("make", "told"),
        [
            (lambda: nb.NegativeBinomial(concentration1=2.0), "concentration1 is none of them; give a number"),
            (lambda: nb.NegativeBinomial(None, 2.0), "given by name: 2.0 is none of them; give a number"),
            (lambda: nb.NegativeBinomial(2.5, loc=2.0), "unexpected keyword argument 'loc'"),
        ],
    )
    def test_hyperparameters_of_the_other_case(self, make: Any, told: str) -> None:
        with pytest.raises(TypeError, match=re.escape(told)):
            make()


@jax.jit
def slopes_of_dispersion(log_dispersion: Any, x: Any, mean: Any) -> Any:
    """First and second derivative of the log density by the logarithm of the dispersion."""

    def height(z: Any) -> Any:
        return log_negative_binomial(x, jnp.exp(-z), jnp.exp(-z) / mean)

    return jax.grad(height)(log_dispersion), jax.grad(jax.grad(height))(log_dispersion)


class TestDensity:
    def test_sums_of_rows(self, rng: np.random.Generator) -> None:
        """The density of statistics is that of weighted rows, and statistics of two tables add up to those of both."""
        x, weights = with_holes(rng, cells()), membership(rng, len(Y), weighted=True)
        family = nb.NegativeBinomial()
        statistics = family.statistics(x[:20], weights[:20]) + family.statistics(x[20:], weights[20:])
        parameters = {"mean": np.array([[3.0, 4.0], [5.0, 2.0]]), "dispersion": np.array([[2.0, 0.3], [0.01, 0.5]])}
        of_cells = np.where(np.isnan(x)[:, None], 0.0, log_density(x[:, None, :], **parameters))
        expected = (weights[:, :, None] * of_cells).sum(axis=0)
        np.testing.assert_allclose(family.log_likelihood(parameters, statistics), expected, rtol=1e-10)
        draws = {name: np.stack([value, 2 * value]) for name, value in parameters.items()}
        np.testing.assert_allclose(family.log_likelihood(draws, statistics)[0], expected, rtol=1e-10)
        with jax.enable_x64(True):
            in_jax = jax.jit(family.log_likelihood)(draws, statistics)
        np.testing.assert_allclose(in_jax, family.log_likelihood(draws, statistics), rtol=1e-12)
        np.testing.assert_allclose(statistics.pooled().n[0], (weights.T @ ~np.isnan(x)).sum(axis=0))
        pooled = family.log_likelihood(
            {"mean": np.full((1, 2), 3.0), "dispersion": np.ones((1, 2))}, statistics.pooled()
        )
        whole = weights.sum(axis=1) @ np.where(np.isnan(x), 0.0, log_density(x, 3.0, 1.0))
        np.testing.assert_allclose(pooled[0], whole, rtol=1e-10)

    @pytest.mark.parametrize("x", [0.0, 3.0, 9.0])
    def test_no_dispersion_is_poissons(self, x: float) -> None:
        parameters = {"mean": np.full((1, 1), 3.0), "dispersion": np.full((1, 1), 1e-12)}
        found = nb.NegativeBinomial().row_log_likelihood(parameters, np.array([[x]]))[0, 0]
        assert found == pytest.approx(scipy.stats.poisson.logpmf(x, 3.0), rel=1e-10)

    @pytest.mark.parametrize(
        ("log_dispersion", "x", "mean", "slope", "curvature"),
        [
            (1.0, 7.0, 3.0, -0.492547595688666, -0.255557298809768),
            (-14.0, 7.0, 3.0, 3.741847429905379e-06, 3.7418156240245168e-06),
            (-28.0, 0.0, 3.0, 3.111480048114486e-12, 3.11148004810588e-12),
            (-28.0, 1.1e6, 1e6, 0.003456814821502781, 0.003456809881546639),
        ],
    )
    def test_slopes(self, log_dispersion: float, x: float, mean: float, slope: float, curvature: float) -> None:
        """Of the logarithm of the dispersion, by mpmath with sixty digits: NUTS and Newton's method need them."""
        with jax.enable_x64(True):
            found = slopes_of_dispersion(log_dispersion, x, mean)
        np.testing.assert_allclose(found, [slope, curvature], rtol=1e-7, atol=1e-14)


class TestEstimates:
    @pytest.mark.parametrize("value", [0.0, 4.0, np.nan], ids=["zeros", "equal counts", "no cell"])
    def test_without_spread_the_likelihood_has_no_maximum(self, value: float) -> None:
        X = cells()
        X[Y == "b", 1] = value
        with pytest.raises(
            ValueError, match=r"column 1 in class 'b': the maximum likelihood.*there is nb\.Poisson\(\)"
        ):
            nb.fit(nb.NegativeBinomial(), X, Y, nb.MLE())
        assert np.isfinite(nb.fit(nb.NegativeBinomial(), X, Y, nb.MAP()).mean()["x_dispersion"]).all()

    def test_old_rows_count_by_the_decay(self) -> None:
        problem = read_table(nb.NaiveBayes(nb.NegativeBinomial(**GIVEN)), cells(), Y, None)
        (faded,) = (problem.statistics * 0.25).blocks
        np.testing.assert_array_equal(faded.n, np.full((2, 2), 7.5))
        sums = [cells()[label == Y].sum(axis=0) / 4 for label in "ab"]
        np.testing.assert_allclose(faded.sums(faded.values.number), sums)


class TestDefaults:
    def test_they_follow_the_column(self) -> None:
        X = cells()
        family = resolved(nb.NegativeBinomial(), X)
        spread = X.var(axis=0) / X.mean(axis=0) ** 2
        np.testing.assert_allclose(family.loc[0], X.mean(axis=0))
        np.testing.assert_allclose(family.scale[0], 2 * np.sqrt(np.log1p(spread)))
        np.testing.assert_allclose(family.concentration[0] / family.rate[0], spread * 1.0)

    def test_less_spread_than_poissons_counts_as_poissons(self) -> None:
        family = resolved(nb.NegativeBinomial(), np.full((6, 1), 4.0), ["a", "b"] * 3)
        np.testing.assert_allclose(family.rate, 1.5 * 4.0)
        np.testing.assert_allclose(family.scale, 2 * np.sqrt(np.log(1.25)))

    def test_a_column_of_zeros(self) -> None:
        family = resolved(nb.NegativeBinomial(), np.zeros((6, 1)), ["a", "b"] * 3)
        np.testing.assert_allclose([family.loc[0, 0], family.rate[0, 0]], [1.0, 1.5])

    def test_numbers_stay(self) -> None:
        family = resolved(nb.NegativeBinomial(loc=2.0, rate=0.3), cells())
        assert (family.loc == 2.0).all()
        assert (family.rate == 0.3).all()
        assert len(np.unique(family.scale)) == 2


_RNG = np.random.default_rng(11)
FEW = {
    "overdispersed": _RNG.negative_binomial(0.7, 0.1, 15) * 1.0,
    "poisson": _RNG.poisson(6.0, 15) * 1.0,
    "one cell": np.array([3.0]),
    "no cell": np.array([]),
    "zeros": np.zeros(8),
    "large": _RNG.negative_binomial(8.0, 1e-4, 15) * 1.0,
}


@pytest.mark.slow
@pytest.mark.parametrize("x", FEW.values(), ids=FEW)
def test_draws_have_the_moments_of_quadrature(x: np.ndarray) -> None:
    """Seven expectations for each table, each within 4.5 of its standard errors: one false alarm in 3,000 runs."""
    hyper = {**GIVEN, "loc": 4.0 if not len(x) else max(1.0, x.mean())}
    model = nb.NaiveBayes(nb.NegativeBinomial(**hyper), class_probs=[1.0])
    inference = nb.NUTS(num_warmup=500, num_samples=2000, progress=False)
    posterior = nb.fit(model, np.append(x, np.nan)[:, None], ["c"] * (len(x) + 1), inference, key=4, classes=["c"])
    assert posterior.sample_stats["diverging"].sum() == 0
    assert np.nanmin(posterior.diagnostics.ess_bulk) > 800
    log_mean, log_dispersion = np.log(hyper["loc"]) + np.linspace(-8, 8, 1201), np.linspace(-16, 5, 1001)
    m, phi = np.meshgrid(np.exp(log_mean), np.exp(log_dispersion), indexing="ij")
    height = log_prior(hyper, m, phi) + log_mean[:, None] + log_dispersion
    for value in x:
        height = height + log_density(value, m, phi)
    weight = np.exp(height - height.max())
    weight /= weight.sum()
    drawn = [posterior.draws()[f"x_{name}"][:, :, 0, 0] for name in ("mean", "dispersion")]
    arviz = pytest.importorskip("arviz")
    for asked in (
        lambda m, phi: np.log(m),
        lambda m, phi: np.log(m) ** 2,
        lambda m, phi: np.log(phi),
        lambda m, phi: np.log(phi) ** 2,
        lambda m, phi: phi,
        lambda m, phi: np.log(m) * np.log(phi),
        lambda m, phi: 1.0 * (phi < 0.1),
    ):
        values, expected = asked(*drawn), float((weight * asked(m, phi)).sum())
        if values.std() == 0:
            assert expected == pytest.approx(values[0, 0], abs=1e-3)
            continue
        error = values.std() / np.sqrt(float(arviz.ess(values)))
        assert abs(values.mean() - expected) < 4.5 * error + 1e-4


Y2 = np.repeat(["a", "b"], 50)
_HARD = np.random.default_rng(12)
HARD = {
    "poisson beside overdispersed": np.append(_HARD.poisson(5.0, 50), _HARD.negative_binomial(0.3, 0.05, 50)),
    "far apart": np.append(_HARD.poisson(1.0, 50), _HARD.poisson(1e4, 50)),
    "zeros in a class": np.append(np.zeros(50), _HARD.negative_binomial(2.0, 0.3, 50)),
    "equal counts": np.full(100, 7),
    "large counts": np.append(_HARD.poisson(1e6, 50), _HARD.negative_binomial(3.0, 1e-6, 50)),
    "no row": _HARD.negative_binomial(2.0, 0.3, 50),
}


@pytest.mark.slow
@pytest.mark.parametrize("x", HARD.values(), ids=HARD)
def test_hard_columns_are_sampled_without_a_warning(x: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", nb.ConvergenceWarning)
        X = x[:, None] * 1.0
        posterior = nb.fit(nb.NegativeBinomial(), X, Y2[: len(x)], nb.NUTS(progress=False), key=3, classes=["a", "b"])
    assert posterior.sample_stats["diverging"].sum() == 0
    assert posterior.diagnostics.ess_bulk.min() > 500
    assert np.isfinite(posterior.log_joint(X)).all()


@pytest.mark.slow
def test_a_learned_count_finds_the_one_that_made_the_cells() -> None:
    """The interval of the dispersion holds 1 / total_count, and predictions are those of the known count."""
    rng = np.random.default_rng(6)
    y = np.repeat(["a", "b"], 2000)
    X = rng.negative_binomial(2.5, np.where(y == "a", 0.2, 0.4))[:, None] * 1.0
    learned, given = (
        nb.fit(nb.NegativeBinomial(), X, y, nb.NUTS(progress=False), key=3),
        nb.fit(nb.NegativeBinomial(2.5), X, y),
    )
    summary = learned.summary(prob=0.99).filter(like="dispersion", axis=0)
    assert ((summary["lower"] < 0.4) & (summary["upper"] > 0.4)).all()
    counts = np.arange(40.0)[:, None]
    np.testing.assert_allclose(learned.predict_proba(counts), given.predict_proba(counts), atol=0.03)


def test_users_see_the_name_under_which_they_make_it():
    assert repr(nb.NegativeBinomial()).startswith("NegativeBinomial(loc=None, ")
    for inference in (nb.Exact(), nb.Gibbs()):
        with pytest.raises(ValueError, match="column 0 is NegativeBinomial, which has no closed-form posterior"):
            nb.fit(nb.NegativeBinomial(), [[1], [2]], ["a", "b"], inference)
    with pytest.raises(ValueError, match=r"^NegativeBinomial\(concentration=-1"):
        nb.NegativeBinomial(concentration=-1.0)
