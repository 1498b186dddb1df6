"""The hurdle family beside its two parts: a Bernoulli column, and a column of the inner family without the zeros."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from cases import Exponential, Symbols, Tokens, with_holes
from scipy import stats

import bayesnb as nb
from bayesnb.core.logarithms import LogProbability, SampledParameters


def table(rng, rows=60):
    y = rng.integers(0, 2, rows)
    X = np.where(rng.uniform(size=(rows, 3)) < 0.3 + 0.3 * y[:, None], 0.0, rng.lognormal(y[:, None], 1.0, (rows, 3)))
    return with_holes(rng, X, 0.1), y


def test_the_figure_of_densities_gives_the_probability_of_zero():
    X = np.array([[0.0], [1.0], [1.5], [2.0], [0.0], [0.0], [0.0], [3.0]])
    y = np.repeat(["a", "b"], 4)
    posterior = nb.fit(nb.Hurdle(nb.Gaussian()), X, y)
    (axis,) = nb.plot_densities(posterior, X, y).axes
    assert axis.get_title() == "0\nP(0) = 0.33 (a), 0.67 (b)"
    line = axis.lines[0]
    assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(4 / 6, abs=0.15)
    of_class = [patch for patch in axis.patches if patch.get_facecolor()[:3] == axis.patches[0].get_facecolor()[:3]]
    vertices = of_class[0].get_xy()
    width = np.diff(np.unique(vertices[:, 0]))[0]
    assert vertices[:, 1].max() == pytest.approx(0.25 / width)


def test_the_defaults_of_the_inner_family_follow_the_cells_other_than_zero(rng):
    X, y = table(rng)
    fitted = nb.fit(nb.NaiveBayes(nb.Hurdle()), X, y)
    prior = fitted.problem.resolved.families[0].family
    values = np.where(X == 0, np.nan, X)
    np.testing.assert_allclose(prior.loc[0], np.nanmean(values, axis=0), rtol=1e-12)
    np.testing.assert_allclose(prior.rate[0], 0.1 * np.nanvar(values, axis=0), rtol=1e-12)
    scaled = nb.fit(nb.NaiveBayes(nb.Hurdle()), 1e6 * X, y)
    np.testing.assert_allclose(scaled.predict_proba(1e6 * X), fitted.predict_proba(X), rtol=1e-9)


def test_minus_zero_is_a_zero_and_a_column_may_be_all_zeros_or_have_none():
    model = nb.NaiveBayes(nb.Hurdle(nb.Gaussian(0.0, 1.0, 1.0, 1.0)))
    fitted = nb.fit(model, [[-0.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 0.0, -3.0]], ["a", "b", "b"])
    np.testing.assert_array_equal(fitted.log_joint([[-0.0, 1.0, 0.0]]), fitted.log_joint([[0.0, 1.0, 0.0]]))
    assert np.isfinite(fitted.log_joint([[5.0, 5.0, 0.0]])).all()
    np.testing.assert_allclose(fitted.mean()["x_nonzero_prob"], [[1 / 3, 1 / 3, 2 / 3], [2 / 4, 1 / 4, 3 / 4]])
    assert np.isfinite(nb.fit(nb.NaiveBayes(nb.Hurdle()), np.zeros((3, 1)), ["a", "b", "b"]).log_evidence)


def test_the_share_of_zeros_has_no_axis_of_the_inner_family(rng):
    found = nb.fit(nb.Hurdle(nb.Histogram()), *table(rng)).summary().index
    assert {"0_nonzero_prob[0]", "0_nonzero_prob[1]"} <= {*found}


def test_a_class_of_zeros_has_no_maximum_of_the_likelihood():
    with pytest.raises(ValueError, match=r"column 0 in class 'a'.*among the cells other than zero"):
        nb.fit(nb.NaiveBayes(nb.Hurdle()), [[0.0], [1.0], [2.0]], ["a", "b", "b"], nb.MLE())


@pytest.mark.usefixtures("float64")
def test_a_sampler_may_give_a_probability_by_its_logarithms():
    """Where the probability itself is below the smallest number, and one minus it is rounded."""
    family, known = nb.Hurdle(nb.Gaussian(0.0, 1.0, 1.0, 1.0)), {"mean": np.zeros((1, 1)), "variance": np.ones((1, 1))}
    counted = family.statistics(np.array([[0.0], [1.0], [2.0]]), np.ones((3, 1)))

    @jax.jit
    def log_likelihood(*logarithms):
        prob = LogProbability(*logarithms)
        parameters = SampledParameters({"nonzero_prob": prob.prob, **known}, {"nonzero_prob": prob})
        return family.log_likelihood(parameters, counted)

    expected = -1600.0 + stats.norm.logpdf([1.0, 2.0]).sum()
    np.testing.assert_allclose(log_likelihood(np.array([[-800.0]]), np.array([[-1e-20]])), [[expected]], rtol=1e-12)


def test_information_by_chance_is_that_of_both_parts(rng):
    X, y = table(rng)
    light = np.full(60, 1 / 60)
    counted = nb.fit(nb.NaiveBayes(nb.Hurdle()), X, y, sample_weight=light).problem.statistics.blocks[0]
    df, expected = nb.Hurdle().information_by_chance(counted.n, counted)
    of_zeros = nb.Bernoulli().information_by_chance(counted.n, counted.nonzero)
    of_values = nb.Gaussian().information_by_chance(counted.nonzero.total, counted.values)
    share = counted.nonzero.total.sum(axis=0) / counted.n.sum(axis=0)
    np.testing.assert_array_equal(df, of_zeros[0] + of_values[0])
    np.testing.assert_allclose(expected, of_zeros[1] + share * of_values[1])
    assert (df == 3).all()
    known = np.array([[1.0], [0.0]])  # the parameters of the other class are not
    found, _ = nb.Hurdle().information_by_chance(counted.n * known, counted)
    of_zeros, _ = nb.Bernoulli().information_by_chance(counted.n * known, counted.nonzero)
    of_values, _ = nb.Gaussian().information_by_chance(counted.nonzero.total * known, counted.values)
    np.testing.assert_array_equal(found, of_zeros + of_values)


def test_information_of_columns_is_that_of_each_and_of_zeros_alone_none():
    family, class_prob = nb.Hurdle(nb.Exponential()), np.full((1, 2, 1), 0.5)
    given = {"nonzero_prob": np.array([[[0.0, 0.5], [0.0, 0.25]]]), "rate": np.array([[[1.0, 1.0], [2.0, 2.0]]])}
    (one,) = family.mutual_information(class_prob, {name: value[..., 1:] for name, value in given.items()})
    np.testing.assert_allclose(family.mutual_information(class_prob, given), [[0.0, *one]])


@pytest.mark.slow
def test_hyperparameters_of_the_inner_family_are_learned_by_their_names(rng):
    X, y = table(rng)
    model = nb.NaiveBayes(nb.Hurdle(Exponential(dist.Gamma(2.0, 1.0), 1.5), dist.LogNormal(0.0, 1.0)))
    assert {*model.hyperpriors} == {"x_concentration", "x_concentration1"}
    fitted = nb.fit(model, X, y, nb.EmpiricalBayes())
    found = fitted.hyperparameters()
    numbers = nb.Hurdle(Exponential(float(found["x_concentration"]), 1.5), float(found["x_concentration1"]))
    np.testing.assert_allclose(fitted.log_joint(X), nb.fit(nb.NaiveBayes(numbers), X, y).log_joint(X), rtol=1e-9)
    with pytest.raises(ValueError, match="x_concentration"):
        nb.fit(model, X, y)


def test_evidences_of_hurdles_and_of_densities_are_not_compared(rng):
    X, y = table(rng)
    cells = np.nan_to_num(X)
    fixed = nb.Gaussian(0.0, 1.0, 1.0, 1.0)
    models = {"hurdle": nb.NaiveBayes(nb.Hurdle(fixed)), "plain": nb.NaiveBayes(fixed)}
    found = nb.compare_models(models, cells, y)
    assert "as zero or as a measurement, and as a measurement" in " ".join(repr(found).split())


@pytest.mark.parametrize(
    ("inner", "error", "message"),
    [
        (lambda: nb.Hurdle(), ValueError, "probability of a zero twice: give the inner family alone"),
        (lambda: nb.Poisson(), ValueError, r"Poisson has zeros of its own.*use nb.Poisson\(\) alone"),
        (lambda: nb.Bernoulli(), ValueError, "Bernoulli has zeros of its own"),
        (lambda: nb.Categorical(), ValueError, "no single number, but a category"),
        (lambda: Symbols(), ValueError, "no single number, but a category"),
        (lambda: nb.Multinomial(), ValueError, "no single number, but a count vector"),
        (lambda: Tokens(), ValueError, "no single number, but a count vector"),
        (lambda: nb.Gaussian, TypeError, r"is a class: give an instance, Gaussian\(\)"),
        (lambda: 3.0, TypeError, "is no family: give a family with a closed form"),
    ],
)
def test_inner_families_that_it_refuses(inner, error, message):
    with pytest.raises(error, match=message):
        nb.Hurdle(inner())


def test_it_refuses_an_inner_family_that_has_its_names():
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Same(Exponential):
        concentration1: Any = 1.0

    with pytest.raises(
        ValueError, match="both have 'concentration1', one name in results for two things: rename it in"
    ):
        nb.Hurdle(Same())


def test_bad_numbers_and_cells_are_named():
    with pytest.raises(ValueError, match=r"Hurdle\(concentration0=0.0\)"):
        nb.Hurdle(nb.Gaussian(), 1.0, 0.0)
    with pytest.raises(ValueError, match=r"concentration1=.*has shape \(4,\)"):
        nb.fit(nb.NaiveBayes(nb.Hurdle(nb.Gaussian(), np.ones(4))), np.ones((2, 2)), [0, 1])


def test_numbers_too_far_from_zero_get_the_inner_familys_advice():
    inner = nb.LogNormal(rate=1e-30, loc=np.log(1000))
    with pytest.raises(ValueError, match=r"divide the column by a number near exp\(6.91\)"):
        nb.fit(nb.Hurdle(inner), [[0.0], *[[1000.0], [1000.0 * (1 + 4e-13)]] * 40], ["a"] * 81)
    with pytest.raises(ValueError, match="subtract a number near 1e\\+15"):
        nb.fit(nb.Hurdle(), [[0.0], [1e15], [1e15 + 2], [1e15 + 4]], ["a"] * 3 + ["b"], classes=["a", "b"])


def test_statistics_of_the_same_rows_have_the_same_zeros_and_the_same_values():
    family, everyone = nb.Hurdle(nb.Exponential()), np.ones((3, 1))
    counted = family.statistics(np.array([[0.0], [1.0], [3.0]]), everyone)
    assert counted.same_rows(family.statistics(np.array([[3.0], [0.0], [1.0]]), everyone))
    assert not counted.same_rows(family.statistics(np.array([[0.0], [1.0], [2.0]]), everyone))
    assert not counted.same_rows(family.statistics(np.array([[0.0], [0.0], [4.0]]), everyone))
    assert not counted.same_rows(counted.values)


def test_statistics_are_possible_if_both_parts_are():
    """Twenty zeros and measurements; without more of either than there are, no table could have left the rest."""
    family = nb.Hurdle()
    x = np.r_[np.zeros(10), np.arange(1.0, 11.0)][:, None]
    counted = family.statistics(x, np.ones((len(x), 1)))
    assert np.all(family.possible(counted))
    wrong_zeros = replace(counted, nonzero=replace(counted.nonzero, total=-counted.nonzero.total))
    wrong_values = replace(counted, values=replace(counted.values, ssd=-counted.values.ssd))
    for wrong in (wrong_zeros, wrong_values):
        assert not np.any(family.possible(wrong))
