"""Gamma, beta, von Mises and learned negative binomial columns: digits, estimates, and draws against quadrature."""

import copy
import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from cases import FAMILIES, STRAIGHT
from numpyro.infer.util import log_density
from scipy.integrate import quad
from scipy.special import i0e
from slow import names_fast

import bayesnb as nb
import bayesnb.families.maximum as maximum_module
from bayesnb.core.logarithms import log_negative_binomial, nearest_turn
from bayesnb.families.distributions import Direction, Winding
from bayesnb.families.family import parameter_names
from bayesnb.families.formulas import cdf
from bayesnb.families.maximum import LONGEST_STEP, _step, maximum
from bayesnb.families.statistics import Counts
from bayesnb.families.two_parameters import LARGE, Concentrated, LearnedNegativeBinomial, _log_bessel
from bayesnb.inference.fit import read_table
from bayesnb.inference.nuts import Target

BY_NAME = {case.name: case for case in FAMILIES if not case.can.closed and case.fixed}
CASES = {
    name: case
    for name, case in BY_NAME.items()
    if isinstance(case.default, Concentrated) and not isinstance(case.default, LearnedNegativeBinomial)
}
Y = np.array(["a", "b", "c"] * 20)
"""More classes than columns and parameters, so that no axis can be taken for another."""


def wrapped(angle: Any) -> Any:
    return np.angle(np.exp(1j * np.asarray(angle)))


def of_columns(summary: Callable[..., np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: summary(x, axis=0)


def cells_of(name: str, seed: int = 3) -> np.ndarray:
    return CASES[name].draw(np.random.default_rng(seed), Y == "a", 2)


def resolved(family: nb.families.Family, X: np.ndarray, y: Any) -> Any:
    return read_table(nb.NaiveBayes(family), X, y, None).resolved.families[0]


DIGITS = [
    ("gamma", 7.0, 0.001, 14.0, -9.5544508230975344681),
    ("gamma", 7.0, 1.0, 14.0, -3.9459101490553133051),
    ("gamma", 7.0, 1e4, 7.125, 0.14695601587598289121),
    ("gamma", 7.0, 1e8, 7.00125, 4.7511151609438566025),
    ("beta", 0.25, 0.001, 0.125, -6.3693784789794027598),
    ("beta", 0.25, 1.0, 0.125, 0.10166052828663477312),
    ("beta", 0.25, 1e4, 0.2421875, 2.8937266498859829625),
    ("beta", 0.25, 1e8, 0.24993896484375, 8.1350342842289676912),
    ("von mises", 3.0, 0.001, 2.0, -1.8373370141034617188),
    ("von mises", 3.0, 1.0, 2.0, -1.5334891190483844148),
    ("von mises", 3.0, 1e4, 2.984375, 2.4655408622249008721),
    ("von mises", 3.0, 1e8, 2.9998779296875, 7.5463437787543130289),
]
"""Location, concentration, cell and log density, by mpmath with sixty digits."""


class TestDensity:
    @pytest.mark.parametrize(("name", "location", "concentration", "x", "expected"), DIGITS)
    def test_digits(self, name: str, location: float, concentration: float, x: float, expected: float) -> None:
        family = CASES[name].fixed
        values = (np.full((1, 1), location), np.full((1, 1), concentration))
        parameters = dict(zip(parameter_names(family), values, strict=True))
        found = family.row_log_likelihood(parameters, np.array([[x]]))[0, 0]
        assert found == pytest.approx(expected, abs=1e-13 + 1e-14 * concentration)

    @pytest.mark.parametrize("above", [1.0, 1.0 + 1e-12])
    def test_the_series_of_the_bessel_function_is_scipys_function(self, above: float) -> None:
        """On both sides of the concentration from which on the series is used."""
        concentration = LARGE * above
        assert float(_log_bessel(np.array(concentration))) == pytest.approx(np.log(i0e(concentration)), abs=4e-15)

    def test_angles_have_a_distribution_function(self) -> None:
        for loc, concentration, x in ((3.0, 2.0, -3.0), (-3.1, 4.0, 3.0), (0.5, 0.1, 1.0), (2.0, 30.0, 2.1)):
            likelihood = nb.VonMises().likelihood(np.array(loc), np.array(concentration))
            area, _ = quad(lambda t: scipy.stats.vonmises.pdf(t, concentration, loc), -np.pi, x, epsabs=1e-12)  # noqa: B023
            assert cdf(likelihood, x) == pytest.approx(area, abs=1e-9)


@pytest.mark.parametrize(
    ("family", "ends"), [(nb.Beta(), (0.0, 1.0)), (nb.Gamma(), (0.0, np.inf))], ids=["beta", "gamma"]
)
def test_simulated_rows_are_no_ends_that_the_family_refuses(
    family: nb.families.Family, ends: tuple[float, float]
) -> None:
    """Most numbers of these distributions are nearer to an end than float64 can tell."""
    parameters = {"mean": [[0.5]], "concentration": [[1e-3]]}
    posterior = nb.from_parameters(family, classes=["a"], class_probs=[1.0], parameters=parameters)
    cells = np.asarray(posterior.simulate(200, key=1)[0])
    assert (cells > ends[0]).all()
    assert (cells < ends[1]).all()
    assert np.isfinite(posterior.log_joint(cells)).all()
    assert len(np.unique(cells)) < 150


LOG_NORMAL, GAMMA = scipy.stats.lognorm(0.7, scale=2.0), scipy.stats.gamma(1.5, scale=1 / 0.4)
STATED = {
    "gamma": (nb.Gamma(2.0, 0.7, 1.5, 0.4), LOG_NORMAL),
    "beta": (nb.Beta(1.3, 0.6, 1.5, 0.4), scipy.stats.beta(1.3, 0.6)),
    "von mises": (nb.VonMises(1.5, 0.4), scipy.stats.uniform(-np.pi, 2 * np.pi)),
    "learned negative binomial": (nb.NegativeBinomial(loc=2.0, scale=0.7, concentration=1.5, rate=0.4), LOG_NORMAL),
}


@pytest.mark.parametrize("name", STATED)
def test_priors_are_those_that_are_stated(name: str) -> None:
    family, location = STATED[name]
    draws = {f"x_{parameter}": value[None, None] for parameter, value in STRAIGHT[name].items()}
    X, y = np.full((2, 2), 0.5 if name == "beta" else 2.0), ["a", "b"]
    tree = nb.from_samples(family, draws | {"class_prob": [[[0.4, 0.6]]]}, X=X, y=y).to_datatree(X, y)
    for (parameter, value), prior in zip(STRAIGHT[name].items(), (location, GAMMA), strict=True):
        found = tree.log_prior[f"x_{parameter}"].item()
        assert found == pytest.approx(prior.logpdf(value).sum(), rel=1e-12)


class TestEstimates:
    @pytest.mark.slow
    @pytest.mark.parametrize("start", [np.nan, 1e-4, 0.9, 1e5])
    @pytest.mark.parametrize("name", CASES)
    def test_newtons_method_gets_there_from_anywhere(self, name: str, start: float) -> None:
        X, family = cells_of(name), CASES[name].default
        problem = read_table(nb.NaiveBayes(family), X, Y, None)
        resolved, statistics = problem.resolved.families[0], problem.statistics.blocks[0]
        location = {"gamma": start, "beta": min(start, 1 - 1e-5), "von mises": start}[name]
        values = (np.full((3, 2), location), np.full((3, 2), start))
        far = dict(zip(parameter_names(family), values, strict=True))
        found = maximum(resolved, statistics, far, with_prior=True)
        expected = resolved.maximum_a_posteriori(statistics)
        for key in expected:
            np.testing.assert_allclose(wrapped(found[key]) if key == "loc" else found[key], expected[key], rtol=1e-5)

    @pytest.mark.slow
    def test_slopes_with_rounding_errors_settle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Slopes of large terms are sums that cancel: the gain expected of them does not vanish at the maximum."""
        rng, exact = np.random.default_rng(4), maximum_module._expansion

        def rounded(*arguments: Any) -> tuple[Any, ...]:
            height, gradient, hessian = exact(*arguments)
            return height, gradient + rng.choice([-1e-4, 1e-4], np.shape(gradient)), hessian

        X = cells_of("gamma")
        expected = nb.fit(nb.Gamma(), X, Y, nb.MLE()).mean()
        monkeypatch.setattr(maximum_module, "_expansion", rounded)
        found = nb.fit(nb.Gamma(), X, Y, nb.MLE()).mean()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4)

    def test_no_step_is_longer_than_the_longest(self) -> None:
        gradient, hessian = np.array([100.0, 0.5]).reshape(1, 1, 2), np.full((1, 1, 1, 2), -1.0)
        step, curvature, gain = _step(gradient, hessian)
        np.testing.assert_allclose(step, [[[LONGEST_STEP, 0.5]]])
        np.testing.assert_allclose(curvature, 1.0)
        np.testing.assert_allclose(gain, [[5000.0, 0.125]])
        # The longest of several numbers counts, and the direction stays.
        gradient, hessian = np.array([100.0, 1.0]).reshape(2, 1, 1), -np.eye(2)[..., None, None]
        step, _, _ = _step(gradient, hessian)
        np.testing.assert_allclose(step.ravel(), [LONGEST_STEP, LONGEST_STEP / 100])

    @pytest.mark.parametrize("name", CASES)
    @pytest.mark.slow
    def test_equal_cells_have_none(self, name: str) -> None:
        X = cells_of(name)
        X[Y == "b", 1] = 0.25
        with pytest.raises(
            ValueError, match=r"column 1 in class 'b': the maximum likelihood estimate.*all of them equal"
        ):
            nb.fit(CASES[name].fixed, X, Y, nb.MLE())
        assert np.isfinite(nb.fit(CASES[name].fixed, X, Y, nb.MAP()).mean()["x_concentration"]).all()

    @pytest.mark.parametrize("name", names_fast(CASES, {"gamma"}))
    def test_a_class_without_cells(self, name: str) -> None:
        """The mode is the prior's; of a direction it has none, because all are as probable."""
        X = cells_of(name)
        X[Y == "b", 1] = np.nan
        with pytest.raises(
            ValueError, match=r"column 1 in class 'b': the maximum likelihood estimate.*no observed cell"
        ):
            nb.fit(CASES[name].fixed, X, Y, nb.MLE())
        if name == "von mises":
            with pytest.raises(ValueError, match=r"column 1 in class 'b': the mode.*no direction"):
                nb.fit(CASES[name].fixed, X, Y, nb.MAP())
            return
        family = CASES[name].fixed
        found = nb.fit(family, X, Y, nb.MAP()).mean()
        assert found["x_concentration"][1, 1] == pytest.approx((family.concentration - 1) / family.rate)
        a, b = (getattr(family, key, None) for key in ("concentration1", "concentration0"))
        mode = np.log(family.loc) - family.scale**2 if name == "gamma" else (a - 1) / (a + b - 2)
        assert found["x_mean"][1, 1] == pytest.approx(np.exp(mode) if name == "gamma" else mode, rel=1e-6)

    @pytest.mark.parametrize("name", CASES)
    def test_narrow_columns(self, name: str) -> None:
        """Densities of which rounding leaves few digits: cells that differ in the fifth digit."""
        X = 0.5 * (1 + 1e-5 * np.random.default_rng(9).normal(size=(60, 2)))
        found = nb.fit(CASES[name].default, X, Y, nb.MLE()).mean()
        location, concentration = (found[f"x_{key}"] for key in parameter_names(CASES[name].fixed))
        means, deviations = (
            np.stack([f(X[label == Y]) for label in "abc"]) for f in (of_columns(np.mean), of_columns(np.std))
        )
        np.testing.assert_allclose(location, means, rtol=1e-9)
        per_precision = {"gamma": 0.25, "beta": 0.25, "von mises": 1.0}[name]
        np.testing.assert_allclose(concentration * deviations**2, per_precision, rtol=1e-2)


def test_rows_with_neither_label_nor_cell_leave_the_slope_finite() -> None:
    """What replaces a missing cell is in the support: the slope of a gamma density at zero is not a number."""
    X = np.array([[2.0, 1.0], [3.0, 0.5], [np.nan, np.nan]])
    problem = read_table(nb.NaiveBayes(nb.Gamma(4.0, 1.0, 1.5, 0.1)), X, ["a", "b", None], None)
    with jax.enable_x64(True):
        target = Target(problem)
        sites = {"class_prob": np.array([0.4, 0.6]), "0.mean": np.full((2, 2), 2.0), "0.concentration": np.ones((2, 2))}

        def density(sites: Any) -> Any:
            return log_density(target.program, target.arguments, {}, sites)[0]

        slopes = jax.jit(jax.grad(density))(sites)
    assert all(np.isfinite(slope).all() for slope in slopes.values())


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *(("von mises", lambda X, turn=turn: wrapped(X + turn)) for turn in (1.0, np.pi, -2.5)),
        ("beta", lambda X: 1 - X),
    ],
)
def test_another_zero_of_a_circle_and_another_end_of_shares_change_no_prediction(name: str, other: Any) -> None:
    """Defaults follow the column."""
    X, family = cells_of(name), CASES[name].default
    before, after = (nb.fit(family, table, Y, nb.MAP()).predict_proba(table) for table in (X, other(X)))
    np.testing.assert_allclose(after, before, rtol=1e-7)


class TestDefaults:
    def test_a_narrow_column_has_the_default_of_gaussian(self) -> None:
        """The prior mean of the precision is ten times that of the column, for all three."""
        rng = np.random.default_rng(8)
        deviations = rng.normal(size=4000)
        for family, x in (
            (nb.Gamma(), 5.0 * (1 + 0.001 * deviations)),
            (nb.Beta(), 0.5 + 0.001 * deviations),
            (nb.VonMises(), 0.001 * deviations),
        ):
            hyper = resolved(family, x[:, None], ["c"] * 4000)
            per_precision = {nb.Gamma: x.mean() ** 2, nb.Beta: 0.25, nb.VonMises: 1.0}[type(family)]
            precision = np.asarray(hyper.concentration / hyper.rate).item() / per_precision
            assert precision * x.var() == pytest.approx(10.0, rel=0.01)

    @pytest.mark.parametrize("name", CASES)
    def test_a_column_of_one_value(self, name: str) -> None:
        family = resolved(CASES[name].default, np.full((6, 1), 0.3), ["a", "b"] * 3)
        np.testing.assert_allclose(family.rate, 0.075)
        if name == "gamma":
            np.testing.assert_allclose(family.loc, 0.3)
            np.testing.assert_allclose(family.scale, 2 * np.sqrt(np.log(2)))

    @pytest.mark.parametrize("family", [nb.Gamma(loc=2.0, rate=0.3), nb.NegativeBinomial(loc=2.0, rate=0.3)])
    def test_numbers_stay(self, family: nb.families.Family) -> None:
        family = resolved(family, np.ceil(cells_of("gamma")), Y)
        assert np.unique(family.loc) == 2.0
        assert np.unique(family.rate) == 0.3
        assert len(np.unique(family.scale)) == 2


class TestCircle:
    def test_the_coordinate_covers_the_circle_evenly(self) -> None:
        z = np.linspace(-np.pi, np.pi, 101)
        turns = z[:, None] + 2 * np.pi * np.arange(-20, 21)
        with jax.enable_x64(True):
            density = np.exp(jax.jit(Winding().log_abs_det_jacobian)(turns, turns))
        np.testing.assert_allclose(density.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(density[:, 20], 1 / 5, rtol=1e-5)

    def test_whole_turns_are_one_angle(self) -> None:
        angle = np.array([3.0, -3.0, 9.0, -100.0])
        with jax.enable_x64(True):
            found = np.asarray(jax.jit(Winding().__call__)(angle))
            np.testing.assert_allclose(jax.jit(Winding().inv.__call__)(found), found, rtol=1e-12)
            assert np.abs(Direction((4000,)).sample(jax.random.key(0))).max() <= np.pi
        np.testing.assert_allclose(found, wrapped(angle), rtol=1e-12)
        np.testing.assert_allclose(nearest_turn(np.array([-3.1, 3.1]), 3.0), [2 * np.pi - 3.1, 3.1])

    def test_draws_on_both_sides_of_pi(self) -> None:
        """Their mean is near pi, not zero; so are the interval, the plug-in and R-hat."""
        rng = np.random.default_rng(2)
        loc = wrapped(rng.normal(np.pi, 0.1, (2, 500, 2, 1)))
        samples = {"x_loc": loc, "x_concentration": np.full(loc.shape, 8.0), "class_prob": np.full((2, 500, 2), 0.5)}
        posterior = nb.from_samples(nb.VonMises(1.5, 0.1), samples, X=[[3.0], [-3.0]], y=["a", "b"])
        summary = posterior.summary().filter(like="x_loc", axis=0)
        assert (np.abs(np.abs(summary["mean"]) - np.pi) < 0.03).all()
        assert ((summary["upper"] - summary["lower"]) < 0.5).all()
        assert (summary["sd"].between(0.08, 0.12)).all()
        assert (summary["r_hat"] < 1.02).all()
        np.testing.assert_allclose(posterior.plugin().log_joint([[3.1]]), posterior.log_joint([[3.1]]), atol=0.1)
        np.testing.assert_allclose(wrapped(posterior.draws()["x_loc"] - loc), 0.0, atol=1e-12)


Y2 = np.repeat(["a", "b"], 50)
_HARD = np.random.default_rng(12)
HARD = {
    "gamma, shape 1e4": (nb.Gamma(), _HARD.gamma(1e4, 1e-4, 100), Y2),
    "gamma, one row": (nb.Gamma(), _HARD.gamma(2.0, 3.0, 51), Y2[:51]),
    "gamma, no row": (nb.Gamma(), _HARD.gamma(2.0, 3.0, 50), Y2[:50]),
    "gamma, equal cells": (nb.Gamma(), np.append(_HARD.gamma(2.0, 3.0, 50), np.full(50, 40.0)), Y2),
    "gamma, shape 0.02": (nb.Gamma(), np.maximum(_HARD.gamma(0.02, 1.0, 100), 1e-300), Y2),
    "beta, concentration 1e4": (nb.Beta(), _HARD.beta(3e3, 7e3, 100), Y2),
    "beta, one row": (nb.Beta(), _HARD.beta(2.0, 3.0, 51), Y2[:51]),
    "beta, no row": (nb.Beta(), _HARD.beta(2.0, 3.0, 50), Y2[:50]),
    "beta, equal cells": (nb.Beta(), np.append(_HARD.beta(2.0, 3.0, 50), np.full(50, 0.25)), Y2),
    "beta, near zero": (nb.Beta(), 1e-6 * _HARD.gamma(3.0, 1.0, 100), Y2),
    "beta, both ends": (nb.Beta(), np.clip(_HARD.beta(0.02, 0.03, 100), 1e-300, 1 - 1e-16), Y2),
    "von mises, concentration 1e4": (nb.VonMises(), wrapped(_HARD.normal(np.pi, 0.01, 100)), Y2),
    "von mises, one row": (nb.VonMises(), wrapped(_HARD.normal(np.pi, 0.01, 51)), Y2[:51]),
    "von mises, no row": (nb.VonMises(), wrapped(_HARD.normal(np.pi, 0.01, 50)), Y2[:50]),
    "von mises, uniform": (nb.VonMises(), _HARD.uniform(-np.pi, np.pi, 100), Y2),
    "von mises, equal cells": (nb.VonMises(), np.append(_HARD.vonmises(0.0, 2.0, 50), np.full(50, 0.25)), Y2),
    "counts, both spreads": (
        nb.NegativeBinomial(),
        np.append(_HARD.poisson(5.0, 50), _HARD.negative_binomial(0.3, 0.05, 50)) * 1.0,
        Y2,
    ),
    "counts, far apart": (nb.NegativeBinomial(), np.append(_HARD.poisson(1.0, 50), _HARD.poisson(1e4, 50)) * 1.0, Y2),
    "counts, zeros": (nb.NegativeBinomial(), np.append(np.zeros(50), _HARD.negative_binomial(2.0, 0.3, 50)), Y2),
    "counts, equal": (nb.NegativeBinomial(), np.full(100, 7.0), Y2),
    "counts, large": (
        nb.NegativeBinomial(),
        np.append(_HARD.poisson(1e6, 50), _HARD.negative_binomial(3.0, 1e-6, 50)) * 1.0,
        Y2,
    ),
    "counts, no row": (nb.NegativeBinomial(), _HARD.negative_binomial(2.0, 0.3, 50) * 1.0, Y2[:50]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("family", "x", "y"), HARD.values(), ids=HARD)
def test_hard_columns_are_sampled_without_a_warning(family: nb.families.Family, x: np.ndarray, y: np.ndarray) -> None:
    with warnings.catch_warnings(action="error", category=nb.ConvergenceWarning):
        posterior = nb.fit(family, x[:, None], y, nb.NUTS(progress=False), key=3, classes=["a", "b"])
    assert posterior.sample_stats["diverging"].sum() == 0
    assert posterior.diagnostics.ess_bulk.min() > 500
    assert np.isfinite(posterior.log_joint(x[:, None])).all()


def test_the_default_scale_of_a_gamma_column_is_near_that_of_its_most_likely_shape() -> None:
    shape = np.geomspace(0.05, 1e4, 200)
    gap = np.log(shape) - scipy.special.digamma(shape)  # log E[x] - E[log x]
    total = np.stack([np.ones_like(shape), -gap], axis=-1)[None]
    found = nb.Gamma().estimate(Counts(np.ones((1, 200)), total, np.zeros((1, 200))))
    np.testing.assert_allclose(found["concentration"][0], shape, rtol=0.016)
    np.testing.assert_array_equal(found["mean"], 1.0)


@pytest.mark.parametrize("unit", [1e-100, 1e20, 1e100])
@pytest.mark.parametrize("inference", [nb.MAP(), nb.MLE()], ids=repr)
def test_an_estimate_of_gamma_columns_does_not_depend_on_the_unit(unit: float, inference: Any) -> None:
    x, y = np.random.default_rng(0).gamma(2.0, 1.0, (60, 1)), Y
    of_one, found = (nb.fit(nb.Gamma(), x * scale, y, inference).mean() for scale in (1.0, unit))
    np.testing.assert_allclose(found["x_mean"] / unit, of_one["x_mean"], rtol=1e-9)
    np.testing.assert_allclose(found["x_concentration"], of_one["x_concentration"], rtol=1e-9)


@pytest.mark.slow
def test_pi_may_come_from_a_table_of_float32() -> None:
    angles = np.array([[np.pi], [1.0], [-np.pi], [0.3]])
    found, expected = (nb.fit(nb.VonMises(), x, [0, 0, 1, 1], nb.MAP()) for x in (angles.astype(np.float32), angles))
    np.testing.assert_allclose(found.mean()["x_loc"], expected.mean()["x_loc"], atol=1e-6)
    with pytest.raises(ValueError, match=r"3\.1416 is not an angle in radians"):
        found.predict([[3.1416]])


PAIR = np.array(["a", "b"] * 30)
COUNTS = BY_NAME["learned negative binomial"].draw(np.random.default_rng(3), PAIR == "a", 2)
HYPER: dict[str, float] = {"loc": 4.0, "scale": 1.0, "concentration": 1.7, "rate": 2.0}


@jax.jit
def slopes_of_dispersion(log_dispersion: Any, x: Any, mean: Any) -> Any:
    """First and second derivative of the log density by the logarithm of the dispersion."""

    def height(z: Any) -> Any:
        return log_negative_binomial(x, jnp.exp(-z), jnp.exp(-z) / mean)

    return jax.grad(height)(log_dispersion), jax.grad(jax.grad(height))(log_dispersion)


class TestLearnedCounts:
    """`NegativeBinomial` without a number of successes."""

    def test_without_a_number_it_is_learned(self) -> None:
        assert nb.NegativeBinomial() == nb.NegativeBinomial(None) == nb.NegativeBinomial(total_count=None)
        assert isinstance(nb.NegativeBinomial(), LearnedNegativeBinomial)
        assert type(nb.NegativeBinomial(2.5)) is nb.NegativeBinomial
        assert nb.NegativeBinomial(None, **HYPER).hyperparameters() == HYPER

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

    @pytest.mark.parametrize("value", [0.0, 4.0, np.nan], ids=["zeros", "equal counts", "no cell"])
    @pytest.mark.slow
    def test_without_spread_the_likelihood_has_no_maximum(self, value: float) -> None:
        X = COUNTS.copy()
        X[PAIR == "b", 1] = value
        with pytest.raises(
            ValueError, match=r"column 1 in class 'b': the maximum likelihood.*there is nb\.Poisson\(\)"
        ):
            nb.fit(nb.NegativeBinomial(), X, PAIR, nb.MLE())
        assert np.isfinite(nb.fit(nb.NegativeBinomial(), X, PAIR, nb.MAP()).mean()["x_dispersion"]).all()

    def test_they_follow_the_column(self) -> None:
        X = COUNTS
        family = resolved(nb.NegativeBinomial(), X, PAIR)
        spread = X.var(axis=0) / X.mean(axis=0) ** 2
        np.testing.assert_allclose(family.loc[0], X.mean(axis=0))
        np.testing.assert_allclose(family.scale[0], 2 * np.sqrt(np.log1p(spread)))
        np.testing.assert_allclose(family.concentration[0] / family.rate[0], spread * 1.0)

    def test_less_spread_than_poissons_counts_as_poissons_and_zeros_as_a_mean_of_one(self) -> None:
        family = resolved(nb.NegativeBinomial(), np.repeat([[4.0, 0.0]], 6, axis=0), ["a", "b"] * 3)
        np.testing.assert_allclose(family.loc[0], [4.0, 1.0])
        np.testing.assert_allclose(family.rate[0], [1.5 * 4.0, 1.5])
        np.testing.assert_allclose(family.scale[0], 2 * np.sqrt(np.log([1.25, 2.0])))

    def test_users_see_the_name_under_which_they_make_it(self):
        assert repr(nb.NegativeBinomial()).startswith("NegativeBinomial(loc=None, ")
        for inference in (nb.Exact(), nb.Gibbs()):
            with pytest.raises(ValueError, match="column 0 is NegativeBinomial, which has no closed-form posterior"):
                nb.fit(nb.NegativeBinomial(), [[1], [2]], ["a", "b"], inference)
        with pytest.raises(ValueError, match=r"^NegativeBinomial\(concentration=-1"):
            nb.NegativeBinomial(concentration=-1.0)
