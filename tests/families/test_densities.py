"""Densities that follow from a family's statements: products, tables and averages over draws, beside other routes."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.sparse
from cases import CASES, CLASSES, NumPyroExponential, with_holes
from scipy import stats
from scipy.special import gammaln as log_gamma
from scipy.special import logsumexp, xlogy

import bayesnb as nb
from bayesnb.data.read import as_table
from bayesnb.families import kernels as product
from bayesnb.families.family import with_hyperparameters
from bayesnb.families.formulas import log_prob, quantile
from bayesnb.families.gaussian import rows_of_student_t, student_t
from bayesnb.families.kernels import _product as product_of_arrays
from bayesnb.posterior.under_draws import flatten


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("holes", [False, True])
def test_averages_over_draws(case, holes, rng):
    """Class by class, some rows at a time, beside the average of an array of all draws, rows and classes."""
    X, y = case.cells(rng, 600), rng.integers(0, CLASSES, 600)
    if holes and case.can.holes:
        X = with_holes(rng, X)
    X = scipy.sparse.csr_array(X) if holes and case.name == "multinomial" else X
    exact = nb.fit(nb.NaiveBayes(case.default), X, y)
    sampled = nb.from_samples(exact.model, exact.draws(num_chains=2, num_draws=20, key=1), X=X, y=y)
    joint = np.concatenate(
        [sampled.model.log_joint(flatten(sampled.parameters), c) for _, c in exact.model.read(as_table(X)).encoded()], 1
    )
    expected = logsumexp(joint, axis=0) - np.log(40)
    np.testing.assert_allclose(sampled.log_joint(X), expected, rtol=1e-12)


def test_averages_over_draws_of_several_blocks_and_of_a_family_without_closed_form(rng):
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 2, 300), rng.poisson(2.0, (300, 3))])
    y = rng.integers(0, 2, 300)
    model = nb.NaiveBayes({0: nb.Gaussian(), 1: nb.Bernoulli(), "words": (nb.DirichletMultinomial(), [2, 3, 4])})
    parameters = {
        "class_prob": rng.dirichlet([1.0, 1.0], (1, 30)),
        "0_mean": rng.normal(size=(1, 30, 2)),
        "0_variance": rng.gamma(2.0, 1.0, (1, 30, 2)),
        "1_prob": rng.uniform(size=(1, 30, 2)),
        "words_concentration": rng.gamma(2.0, 1.0, (1, 30, 2, 3)),
    }
    sampled = nb.from_samples(model.bind(X, y), parameters, X=X, y=y)
    joint = sampled.log_joint_draws(X)[0]
    np.testing.assert_allclose(sampled.log_joint(X), logsumexp(joint, axis=0) - np.log(30), rtol=1e-12)


@pytest.mark.slow
def test_averages_over_so_many_draws_that_rows_are_taken_in_pieces(rng):
    X, y, prob = rng.exponential(1.0, (130, 2)), np.arange(130) % 2, np.full((1, 20_000, 2), 0.5)
    rate = rng.gamma(9.0, 0.2, (1, 20_000, 2, 2))
    sampled = nb.from_samples(NumPyroExponential(), {"class_prob": prob, "x_rate": rate}, X=X, y=y)
    log_density = np.log(rate[0]).sum(axis=-1)[:, None] - np.einsum("rj,dcj->drc", X, rate[0])
    expected = logsumexp(log_density, axis=0) - np.log(2 * 20_000)
    np.testing.assert_allclose(sampled.log_joint(X), expected, rtol=1e-10)


def own_class_error(x, mean, variance, codes):
    """Largest error of a row's density under its own class, under each draw, beside extended precision."""
    found = nb.Gaussian().row_log_likelihood({"mean": mean, "variance": variance}, x)[..., np.arange(len(x)), codes]
    mean, variance = (value.astype(np.longdouble)[..., codes, :] for value in (mean, variance))
    cells = -0.5 * (np.log(2 * np.longdouble(np.pi) * variance) + (x.astype(np.longdouble) - mean) ** 2 / variance)
    return np.abs(found - cells.sum(axis=-1)).max(axis=-1)


@pytest.mark.usefixtures("float64")
class TestOrigins:
    @pytest.mark.parametrize("separation", [0.0, 1e3, 1e7])
    def test_classes_far_apart(self, separation, rng):
        codes = rng.integers(0, 2, 400)
        centre = separation * np.arange(2.0)[:, None] + np.zeros((2, 20))
        x = centre[codes] + rng.normal(size=(400, 20))
        mean, variance = centre + 0.1 * rng.normal(size=(30, 2, 20)), rng.gamma(9.0, 1 / 9, (30, 2, 20))
        assert own_class_error(x, mean, variance, codes).max() < 3e-13

    def test_products_of_columns_that_overflow(self, rng):
        """Eight columns share a logarithm where many rows are read: of squares of 1e100 in units of the spread."""
        x = rng.normal(size=(40, 8))
        (family,) = nb.fit(nb.Gaussian(0.0, 1.0, 2.0, 1.0), x, np.arange(40) % 2).families
        x[3] = 1e100
        found = rows_of_student_t(x, *student_t(family), compiled=True)
        a, b, kappa = (getattr(family, name) for name in ("concentration", "rate", "kappa"))
        cells = stats.t.logpdf(x[:, None], 2 * a, family.loc, np.sqrt(b * (kappa + 1) / (a * kappa)))
        np.testing.assert_allclose(found, cells.sum(axis=-1), rtol=1e-9)

    def test_draws_far_from_their_average(self, rng, monkeypatch):
        codes, mean, variance = np.zeros(50, dtype=int), 1e6 * rng.normal(size=(20, 1, 4)), np.ones((20, 1, 4))
        x = mean[3, 0] + rng.normal(size=(50, 4))
        assert own_class_error(x, mean, variance, codes)[3] < 1e-13
        monkeypatch.setattr(product, "FARTHEST", np.inf)
        assert own_class_error(x, mean, variance, codes)[3] > 1e-6

    def test_counts_of_1e11(self, rng):
        rate = 1e11 + 1e5 * rng.normal(size=(10, 2, 3))
        x = np.rint(1e11 + 3e5 * rng.normal(size=(40, 3)))
        found = nb.Poisson().row_log_likelihood({"rate": rate}, x)
        one_by_one = [nb.Poisson().row_log_likelihood({"rate": one}, x) for one in rate]
        np.testing.assert_allclose(found, one_by_one, rtol=0, atol=1e-9)
        term = found - nb.Poisson().row_log_likelihood({"rate": rate}, x, ratio=True)
        np.testing.assert_allclose(term, np.broadcast_to(term[..., :1], term.shape), rtol=0, atol=1e-9)

    def test_rates_far_from_their_average(self, rng):
        rate = np.exp(rng.uniform(0.0, 30.0, (10, 2, 3)))
        x = np.rint(np.exp(rng.uniform(0.0, 30.0, (40, 3))))
        found = nb.Poisson().row_log_likelihood({"rate": rate}, x)
        expected = stats.poisson.logpmf(x[:, None], rate[:, None]).sum(axis=-1)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        x[::3, 1] = np.nan
        expected = np.nansum(stats.poisson.logpmf(x[:, None], rate[:, None]), axis=-1)
        np.testing.assert_allclose(nb.Poisson().row_log_likelihood({"rate": rate}, x), expected, rtol=1e-9)

    def test_a_rate_of_zero(self):
        for largest in (3.0, 2.0**30):
            x = np.array([[0.0, 2.0], [1.0, largest], [np.nan, 0.0]])
            for leading in ((), (4,)):
                rate = np.broadcast_to([[0.0, 2.0], [1.0, 0.0]], (*leading, 2, 2))
                found = nb.Poisson().row_log_likelihood({"rate": rate}, x)
                cells = stats.poisson.logpmf(np.nan_to_num(x)[:, None], rate[..., None, :, :])
                expected = np.where(np.isnan(x)[:, None], 0.0, cells).sum(axis=-1)
                np.testing.assert_allclose(found, expected, rtol=1e-10)
                assert np.isneginf(found).any()

    def test_no_factor_of_the_product_is_infinite(self, monkeypatch):
        # Zero times infinity is not a number, and BLAS may compute it in entries that it does not return.
        def product(values, rows, multiply=product_of_arrays):
            assert np.isfinite(values).all()
            assert np.isfinite(rows).all()
            return multiply(values, rows)

        monkeypatch.setattr("bayesnb.families.kernels._product", product)
        found = nb.Poisson().row_log_likelihood({"rate": np.zeros((2, 2))}, np.array([[0.0, 2.0], [0.0, 0.0]]))
        np.testing.assert_array_equal(found, [[-np.inf, -np.inf], [0.0, 0.0]])
        found = nb.Poisson().row_log_likelihood({"rate": np.zeros((2, 2))}, np.array([[0.0, 2.0**30], [0.0, 0.0]]))
        np.testing.assert_array_equal(found, [[-np.inf, -np.inf], [0.0, 0.0]])


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("values", [2, 5])
@pytest.mark.parametrize("holes", [False, True])
def test_tables_with_zeros_and_ones(values, holes, rng):
    x = rng.integers(0, values, (40, 4)).astype(float)
    x = with_holes(rng, x) if holes else x
    prob = rng.dirichlet(np.ones(values), (6, 2, 4))
    prob[2:4, 0, 1] = np.eye(values)[0]
    prob[4:, 1, 2] = np.eye(values)[1]
    if values == 2:
        found = nb.Bernoulli().row_log_likelihood({"prob": prob[..., 1]}, x)
    else:
        found = nb.Categorical().row_log_likelihood({"prob": prob}, x)
    codes = np.broadcast_to(np.nan_to_num(x).astype(int)[:, None, :, None], (6, 40, 2, 4, 1))
    with np.errstate(divide="ignore"):
        cells = np.log(np.take_along_axis(np.broadcast_to(prob[:, None], (6, 40, 2, 4, values)), codes, -1)[..., 0])
    expected = np.where(np.isnan(x)[:, None], 0.0, cells).sum(axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isneginf(found).any()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Categorical(np.ones((2, 1, 3))), nb.Multinomial()], ids=repr)
def test_statistics_at_probabilities_of_zero(family):
    x = np.array([[1.0], [1.0], [0.0]])
    x = np.eye(2)[x[:, 0].astype(int)] if isinstance(family, nb.Multinomial) else x
    counted = family.statistics(x, np.eye(2)[[0, 0, 1]])
    best = family.maximum_likelihood(counted)
    np.testing.assert_array_equal(family.log_likelihood(best, counted), 0.0)
    assert np.isneginf(family.log_likelihood({"prob": best["prob"][::-1]}, counted)).all()


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("fractional", [False, True])
def test_counts_and_numbers_that_are_no_counts(fractional, rng):
    x = rng.poisson(3.0, (200, 3)) + 0.5 * fractional
    family = nb.Poisson(rng.uniform(1, 3, (2, 3)), rng.uniform(1, 3, (2, 3)), fractional=fractional)
    cells = [family.take(c).cell_log_predictive(x).sum(axis=-1) for c in range(2)]
    np.testing.assert_allclose(family.row_log_predictive(x), np.transpose(cells), rtol=1e-12)
    rate = rng.uniform(1, 3, (2, 3))
    cells = (xlogy(x[:, None], rate) - rate - log_gamma(x[:, None] + 1)).sum(axis=-1)
    np.testing.assert_allclose(family.row_log_likelihood({"rate": rate}, x), cells, rtol=1e-12)


WITH_DIGITS = [case for case in CASES if case.can.holes and case.name != "numpyro exponential"]
"""NumPyro's Pareto distribution loses digits at large weights."""


@pytest.mark.parametrize("weight", [1e8, 1e12])
@pytest.mark.parametrize("case", WITH_DIGITS, ids=lambda case: case.name)
class TestHeavyRows:
    """With so much weight, the predictive is the likelihood at the posterior mean, up to one over the weight."""

    def fitted(self, case, weight, **options):
        rng = np.random.default_rng(1)
        X, y = case.cells(rng, 20)[[*range(20), *range(4)]], np.arange(24) % 2
        weights = np.where(np.arange(24) < 20, weight, 1.0)
        family = with_hyperparameters(case.default, dict.fromkeys(case.family.hyperparameters(), 1.3))
        posterior = nb.fit(nb.NaiveBayes(family, class_probs=[0.5, 0.5], **options), X, y, sample_weight=weights)
        return posterior, X, y, weights

    def test_light_rows_left_out(self, case, weight):
        posterior, X, y, _ = self.fitted(case, weight)
        found = nb.loo_scores(posterior, X[20:], y[20:])["elpd_joint"]
        expected = posterior.plugin().log_joint(X[20:])[np.arange(4), y[20:]].sum()
        assert found == pytest.approx(expected, abs=200 / weight + 1e-11)

    def test_heavy_rows_left_out(self, case, weight):
        posterior, X, y, weights = self.fitted(case, weight)
        for i in range(17, 21):
            one = X[[i]], y[[i]]
            found = nb.loo_scores(posterior, *one, sample_weight=weights[[i]])["elpd_joint"]
            rest = posterior.forget(*one, sample_weight=weights[[i]])
            assert found == pytest.approx(rest.log_joint(one[0])[0, y[i]], abs=1e-11)

    def test_averaged(self, case, weight):
        posterior, X, *_ = self.fitted(case, weight)
        found = posterior.averaged(1.0).log_joint(X)
        np.testing.assert_allclose(found, posterior.plugin().log_joint(X), rtol=0, atol=200 / weight + 1e-11)


@pytest.mark.usefixtures("float64")
def test_a_family_that_states_no_closed_form_is_told():
    class Silent(nb.families.ConjugateFamily):
        prior = likelihood = statistics = log_likelihood = update = lambda self: self

    with pytest.raises(NotImplementedError, match="Silent states neither cell_log_predictive nor predictive"):
        Silent().cell_log_predictive(np.ones(2))
    with pytest.raises(NotImplementedError, match="Silent states neither log_normaliser nor log_evidence"):
        Silent().log_normaliser()


def test_a_formula_that_jax_cannot_trace_runs_as_it_is():
    """With NumPy's functions, or a condition on a number; an error of its own arrives as it is."""

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class ByNumPy(NumPyroExponential):
        def likelihood(self, rate):
            if (np.asarray(rate) > 100).any():
                raise ValueError("a rate above 100")
            return super().likelihood(np.asarray(rate))

    rate, x = np.array([[0.5], [2.0]]), np.array([[1.0], [np.nan], [3.0]])
    expected = np.where(np.isnan(x), 0.0, stats.expon.logpdf(x, scale=1 / rate.T))
    for family in (NumPyroExponential(), ByNumPy()):
        np.testing.assert_allclose(family.row_log_likelihood({"rate": rate}, x), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="a rate above 100"):
        ByNumPy().row_log_likelihood({"rate": 1000 * rate}, x)


def test_the_density_of_a_distribution_whose_parameters_jax_does_not_pass_on():
    """JAX passes on the parameters that a class of NumPyro names; this class adds one and does not name it."""

    class Shifted(dist.Logistic):
        def __init__(self, loc, scale, shift):
            self.shift = shift
            super().__init__(loc, scale)

        def log_prob(self, value):
            return super().log_prob(value - self.shift)

        def icdf(self, level):
            return super().icdf(level) + self.shift

    mine, x = Shifted(np.array([1.0, 2.0]), np.array([0.5, 3.0]), 10.0), np.array([[10.5, 14.0]])
    theirs = stats.logistic([11.0, 12.0], [0.5, 3.0])
    np.testing.assert_allclose(log_prob(mine, x), theirs.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(quantile(mine, np.array([[0.1, 0.8]])), theirs.ppf([[0.1, 0.8]]), rtol=1e-12)


def test_a_category_with_all_the_weight_has_a_marginal():
    """The concentration of the others is lost in the sum of all."""
    (marginal,) = nb.Categorical(np.array([[[1e20, 1.0]]])).marginals().values()
    np.testing.assert_allclose(marginal.mean, [[[1.0, 1e-20]]])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Late(nb.families.ExponentialFamily):
    """Waiting times after a known start, where a filled cell has to be later than the start."""

    scale: float = 1.0
    start: float = field(default=5.0, metadata={"static": True})

    @property
    def support(self):
        return dist.constraints.greater_than(self.start)

    def prior(self, sample):
        return {"rate": sample("rate", dist.HalfNormal(self.scale))}

    def likelihood(self, rate):
        return dist.TransformedDistribution(dist.Exponential(rate), dist.transforms.AffineTransform(self.start, 1.0))

    def terms(self, x):
        assert (np.asarray(x) > self.start).all()
        return (x - self.start,)

    def natural(self, parameters):
        return (-parameters["rate"],), -jnp.log(parameters["rate"])


@pytest.mark.parametrize("start", [5.0, 50.0])
def test_missing_cells_are_filled_inside_the_support_of_each_constant(start):
    values = {"rate": [[0.5], [2.0]]}
    point = nb.from_parameters(Late(start=start), classes=["a", "b"], class_probs=[0.5, 0.5], parameters=values)
    found = point.log_joint([[np.nan], [start + 1]])
    np.testing.assert_allclose(found, np.log([[0.5, 0.5], [0.5 * 0.5 * np.exp(-0.5), 0.5 * 2 * np.exp(-2.0)]]))
