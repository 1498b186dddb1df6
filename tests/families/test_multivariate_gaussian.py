"""Blocks of measurements that vary together, beside SciPy, scikit-learn, `Gaussian` and blocks of fewer columns."""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from refitting import rows_of
from scipy import integrate, stats
from slow import names_fast

import bayesnb as nb
from bayesnb.families.distributions import CovarianceElement
from bayesnb.families.draw import draw
from bayesnb.families.formulas import compiled, log_prob
from bayesnb.families.moments import scatter
from bayesnb.families.multivariate_gaussian import distances, distances_in_jax
from bayesnb.inference.coordinates import Anchored, Drawn, ScaledCovariance
from bayesnb.inference.fit import read_table
from bayesnb.inference.nuts import Target
from bayesnb.posterior.left_out import leave_one_out

COLUMNS = ["u", "v", "w"]
SCALE = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.1], [-0.3, 0.1, 0.7]])
GIVEN = nb.MultivariateGaussian(loc=[0.5, 1.0, -1.0], kappa=0.3, df=4.5, scale=SCALE)


def table(rng, rows=60):
    """Three columns of two classes, whose covariances differ."""
    y = np.array(["a", "b"])[rng.integers(0, 2, rows)]
    X = rng.normal(size=(rows, 3)) @ rng.normal(size=(3, 3)) + [1.0, 2.0, 3.0]
    X[y == "b", 1] *= -1
    return pd.DataFrame(X, columns=COLUMNS), y


def block(family=GIVEN, columns=COLUMNS, **options):
    return nb.NaiveBayes({"size": (family, list(columns))}, **options)


def wishart(df, scale):
    return compiled(partial(dist.InverseWishart, validate_args=False), df, scale)


def gaps(X):
    """The table with gaps of every kind: one cell, two cells, a whole row."""
    holes = X.copy()
    for row, columns in enumerate(([0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2])):
        holes.iloc[row, columns] = np.nan
    return holes


class TestBesideOtherFamilies:
    @pytest.mark.parametrize("family", [nb.MultivariateGaussian(), nb.MultivariateGaussian(1.5, 0.4, 3.0, [[2.5]])])
    def test_one_column_is_a_gaussian(self, rng, family):
        X, y = table(rng)
        X = X[["u"]]
        alone = nb.Gaussian() if family.loc is None else nb.Gaussian(1.5, 0.4, 1.5, 1.25)
        one, other = nb.fit(block(family, ["u"]), X, y), nb.fit(nb.NaiveBayes({"u": alone}), X, y)
        assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)
        np.testing.assert_allclose(one.log_joint(X), other.log_joint(X), rtol=1e-11)
        np.testing.assert_allclose(one.mean()["size_mean"][:, 0], other.mean()["u_mean"], rtol=1e-12)
        np.testing.assert_allclose(one.mean()["size_covariance"][:, 0, 0], other.mean()["u_variance"], rtol=1e-12)
        np.testing.assert_allclose(one.summary().to_numpy()[2:], other.summary().to_numpy()[2:], rtol=1e-9)
        scaled = [nb.sensitivity(posterior).table.drop(columns="diagnosis") for posterior in (one, other)]
        np.testing.assert_allclose(*(found.to_numpy() for found in scaled), rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("lost", [0, 1, 2])
    def test_a_row_with_a_gap_has_the_density_of_the_other_columns(self, rng, lost):
        """An inverse Wishart block without a column has one degree of freedom less."""
        X, y = table(rng)
        rest = [j for j in range(3) if j != lost]
        names = [COLUMNS[j] for j in rest]
        less = nb.MultivariateGaussian(np.array(GIVEN.loc)[rest], 0.3, 3.5, SCALE[np.ix_(rest, rest)])
        both, fewer = nb.fit(block(), X, y), nb.fit(block(less, names), X[names], y)
        holes = X.assign(**{COLUMNS[lost]: np.nan})
        np.testing.assert_allclose(both.log_joint(holes), fewer.log_joint(X[names]), rtol=1e-11)

    def test_a_row_without_a_cell_has_the_class_probabilities(self, rng):
        X, y = table(rng)
        posterior = nb.fit(block(), X, y)
        np.testing.assert_allclose(posterior.predict_proba(X[:2] * np.nan), [posterior.class_probs()] * 2, rtol=1e-14)


class TestTheDefaultPrior:
    def test_it_is_that_of_gaussian_columns_with_uniform_correlations(self, rng):
        X, y = table(rng, 200)
        model, alone = nb.fit(block(nb.MultivariateGaussian()), X, y).model, nb.fit(nb.Gaussian(), X, y).model
        (mine,), (theirs,) = model.families, alone.families
        each = mine.of_each_column()
        for name in ("loc", "kappa", "concentration", "rate"):
            np.testing.assert_allclose(getattr(each, name), getattr(theirs, name), rtol=1e-12)
        covariance = model.draw_prior(np.random.default_rng(0), (4000,)).blocks[0]["covariance"][:, 0]
        root = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        correlation = covariance / root[:, :, None] / root[:, None, :]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            assert stats.kstest(correlation[:, i, j], "uniform", args=(-1, 2)).pvalue > 1e-3

    def test_means_far_from_zero(self, rng):
        X, y = table(rng)
        X = (X * 1024).round() / 1024
        one, other = (nb.fit(block(nb.MultivariateGaussian()), cells, y) for cells in (X, X + 2.0**30))
        np.testing.assert_allclose(other.predict_proba(X + 2.0**30), one.predict_proba(X), rtol=1e-5, atol=1e-12)
        with pytest.raises(ValueError, match=r"column 'u' in class 'a' has the mean 1e\+13.*: subtract a number near"):
            nb.fit(block(nb.MultivariateGaussian()), X + 1e13, y)


class TestStatistics:
    def test_they_keep_their_digits_at_a_mean_that_is_rounded(self, rng):
        near = rng.integers(-4, 5, (1001, 2)) / 4
        found = scatter(near + 2.0**47, np.ones((1001, 1))).scatter[0]
        np.testing.assert_allclose(found, np.cov(near.T, ddof=0) * 1001, rtol=1e-12)

    def test_a_constant_column_has_no_spread(self):
        X = np.c_[np.full(1000, 0.1), np.linspace(0, 1, 1000)]
        found = scatter(X, np.ones((1000, 1))).scatter[0]
        assert found[0].tolist() == [0.0, 0.0]
        assert found[1, 1] == pytest.approx(((X[:, 1] - 0.5) ** 2).sum())


class TestLeaveOneOut:
    @pytest.mark.parametrize(("scale", "fast"), [(1e-2, True), (1e-9, False)])
    def test_a_row_without_which_columns_are_proportional_goes_the_general_way(self, rng, scale, fast):
        """The spread that remains without the row is that of the prior."""
        X, y = table(rng, 24)
        X["v"] = 2 * X["u"] + np.where(X.index == 5, 10.0, 0.0)
        family = nb.MultivariateGaussian(loc=0.0, kappa=0.3, df=4.5, scale=scale * np.eye(3))
        posterior = nb.fit(block(family), X, y)
        (prior,), (counted,) = posterior.problem.resolved.families, posterior.problem.statistics.blocks
        found = prior.row_log_left_out(X.to_numpy(), (y == "b").astype(int), np.ones(24), counted, refitted=False)
        assert (found is not None) == fast
        refit = nb.fit(block(family), X.drop(index=5), np.delete(y, 5))
        expected = refit.log_joint(X.iloc[[5]])[0, int(y[5] == "b")]
        assert leave_one_out(posterior, rows_of(posterior, X, y)).joint[5] == pytest.approx(expected, rel=1e-5)

    def test_a_class_of_one_row(self, rng):
        X, y = table(rng, 24)
        y = np.where(np.arange(24) == 0, "c", y)
        posterior = nb.fit(block(nb.MultivariateGaussian()), X, y)
        refit = nb.fit(block(nb.MultivariateGaussian()), X[1:], y[1:], classes=["a", "b", "c"])
        found = leave_one_out(posterior, rows_of(posterior, X, y))
        np.testing.assert_allclose(found.log_proba[0], refit.predict_log_proba(X[:1])[0], rtol=1e-8)


class TestInverseWishart:
    DF = np.array([[7.5], [3.4]])
    VALUES = (-1.0, -0.02, 0.0, 0.1, 0.7, 4.0)
    SCALES = np.array([SCALE, [[1.0, 0.999, 0.0], [0.999, 1.0, 0.02], [0.0, 0.02, 1.0]]])

    def test_moments_of_draws_are_scipys(self):
        drawn = draw(wishart(12.0, SCALE), np.random.default_rng(0), (40_000,))
        theirs = stats.invwishart(12, SCALE)
        np.testing.assert_array_equal(drawn, drawn.swapaxes(1, 2))
        z = (drawn.mean(0) - theirs.mean()) / (drawn.std(0) / 200)
        assert np.abs(z).max() < 4.5
        np.testing.assert_allclose(drawn.var(0), theirs.var(), rtol=0.1)
        element = CovarianceElement(np.array([12.0]), SCALE)
        np.testing.assert_allclose(element.mean, theirs.mean(), rtol=1e-12)
        np.testing.assert_allclose(element.variance, theirs.var(), rtol=1e-12)
        quantiles = element.icdf(np.linspace(0, 1, 4001)[1::2, None, None])
        np.testing.assert_allclose(quantiles.var(axis=0), theirs.var(), rtol=0.05)

    @pytest.mark.slow
    @pytest.mark.parametrize("value", names_fast(VALUES, {0.7}))
    def test_distribution_functions_are_integrals(self, value):
        """Over the variance, by SciPy's adaptive quadrature, split where the other factor changes."""
        with np.errstate(invalid="ignore"):
            found = CovarianceElement(self.DF, self.SCALES).cdf(np.full((2, 3, 3), value))
        for c, i, j in np.ndindex(2, 3, 3):
            df, given, slope = self.DF[c, 0] - 2, self.SCALES[c, i, i], self.SCALES[c, i, j] / self.SCALES[c, i, i]
            if i == j:
                assert found[c, i, i] == pytest.approx(stats.invgamma(df / 2, scale=given / 2).cdf(value), rel=1e-10)
                continue
            rest = self.SCALES[c, j, j] - self.SCALES[c, i, j] * slope
            of_slope = stats.t(df + 1, slope, np.sqrt(rest / given / (df + 1)))
            variances = stats.invgamma(df / 2, scale=given / 2)

            def integrand(u, variances=variances, of_slope=of_slope):
                return variances.pdf(np.exp(u)) * np.exp(u) * of_slope.cdf(value * np.exp(-u))

            middle = np.log(value / slope) if value * slope > 0 else 0.0
            points = np.unique([*range(-8, 60), *(middle + np.array([-0.1, -0.03, 0.0, 0.03, 0.1]))])
            parts = [integrate.quad(integrand, *ends, epsabs=1e-14)[0] for ends in pairwise(points)]
            assert found[c, i, j] == pytest.approx(sum(parts), abs=4e-3)

    @pytest.mark.parametrize("units", [(1.0, 1e4, 1.0), (1.0, 1e-4, 1e-4), (1e-3, 1.0, 1e3)], ids=str)
    def test_a_change_of_units_changes_no_probability(self, units):
        """Coefficients of one column on another may be of any size."""
        per_element = np.outer(units, units)
        element, changed = (CovarianceElement(self.DF, scale) for scale in (self.SCALES, self.SCALES * per_element))
        for value in (-0.02, 0.1, 0.7, 4.0):
            at = np.full((2, 3, 3), value)
            np.testing.assert_allclose(changed.cdf(at * per_element), element.cdf(at), rtol=1e-9, atol=1e-11)
            with np.errstate(divide="ignore"):
                density = changed.log_prob(at * per_element) + np.log(per_element)
                np.testing.assert_allclose(density, element.log_prob(at), rtol=1e-8, atol=1e-8)

    def test_moments_that_are_not_finite(self):
        """A variance with d degrees of freedom has a mean from d > 2 on, and a variance from d > 4 on."""
        element = CovarianceElement(np.array([[4.0], [4.5], [6.0], [6.5]]), np.array([SCALE] * 4))
        np.testing.assert_array_equal((element.mean == np.inf).all(axis=(1, 2)), [True, False, False, False])
        np.testing.assert_array_equal((element.variance == np.inf).all(axis=(1, 2)), [True, True, True, False])

    def test_quantiles_and_densities_belong_to_them(self):
        element = CovarianceElement(self.DF, self.SCALES)
        level = np.array([0.01, 0.3, 0.5, 0.97])[:, None, None, None]
        at = element.icdf(level)
        np.testing.assert_allclose(element.cdf(at), np.broadcast_to(level, at.shape), rtol=1e-9)
        grid = np.linspace(at[1], at[3], 400)
        inside = np.trapezoid(np.exp(element.log_prob(grid)), grid, axis=0)
        np.testing.assert_allclose(inside, 0.97 - 0.3, atol=4e-3)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("seed", names_fast(range(3), {0}))
def test_the_coordinate_of_a_vector(seed):
    """The density of a coordinate beside that of the value and an automatic Jacobian."""
    rng = np.random.default_rng(seed)
    z, prior = rng.normal(size=3), GIVEN.likelihood(rng.normal(size=3), SCALE)
    coordinate = Anchored(rng.normal(size=3), rng.uniform(0.1, 1, 3))
    at, jacobian = jax.jit(coordinate.at)(z, prior), jax.jit(jax.jacfwd(lambda z: coordinate.at(z, prior).value))(z)
    by_hand = log_prob(prior, at.value) + np.linalg.slogdet(jacobian)[1]
    assert float(at.log_density) == pytest.approx(float(by_hand), rel=1e-10)
    drawn = Drawn(np.asarray(at.value)[None])
    np.testing.assert_allclose(coordinate.point(drawn, prior, rng)[0], z, rtol=1e-8, atol=1e-10)


@pytest.mark.usefixtures("float64")
def test_the_coordinate_of_two_covariances(rng):
    """The density of its value times the determinant of its derivative, by differences."""
    z, prior = rng.normal(size=(2, 3)), wishart(4.0, SCALE[:2, :2])
    coordinate = ScaledCovariance(np.linalg.cholesky(SCALE[:2, :2] * np.array([0.5, 3.0])[:, None, None]))
    position = jax.jit(coordinate.at)
    at = position(z, prior)
    lower, step = np.tril_indices(2), 1e-5
    expected = sum(stats.invwishart.logpdf(value, 4.0, SCALE[:2, :2]) for value in np.asarray(at.value))
    beside = [np.asarray(position(z + step * unit, prior).value) for unit in (*np.eye(3), *-np.eye(3))]
    slopes = (np.stack(beside[:3]) - np.stack(beside[3:])) / (2 * step)
    for slope in np.moveaxis(slopes, 1, 0):
        expected += np.linalg.slogdet(slope[:, *lower])[1]
    assert float(at.log_density) == pytest.approx(expected, rel=1e-7)
    np.testing.assert_allclose(coordinate.point(Drawn(np.asarray(at.value)), prior, rng), z, rtol=1e-8)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("labelled", [True, False])
def test_chains_move_around_the_closed_form(rng, labelled):
    """That of all rows; a row without a label is in the class that it is far nearer to."""
    X, y = table(rng, 40)
    X = X + 1e4 * (y == "b")[:, None]
    weights = rng.uniform(0.5, 2.0, 40)
    known = np.where(labelled | (np.arange(40) % 3 > 0), y.astype(object), None)
    beginning = Target(read_table(block(GIVEN), X, known, weights)).begin(rng, 3)
    (posterior,) = nb.fit(block(GIVEN), X, y, sample_weight=weights).families
    coordinate = beginning.coordinates["0.mean"]
    np.testing.assert_allclose(coordinate.centre, posterior.loc, rtol=1e-9)
    np.testing.assert_allclose(coordinate.ratio, np.broadcast_to(np.sqrt(GIVEN.kappa / posterior.kappa), (2, 3)))
    covariance = beginning.coordinates["0.covariance"]
    np.testing.assert_allclose(covariance.root @ covariance.root.swapaxes(1, 2), posterior.scale, rtol=1e-9)


class TestGaps:
    def test_densities_given_parameters_are_scipys(self, rng):
        X, _ = table(rng)
        mean, covariance = rng.normal(size=(2, 3)), np.array([SCALE, np.eye(3) + 0.3])
        parameters = {"size_mean": mean, "size_covariance": covariance}
        posterior = nb.from_parameters(block(), classes=["a", "b"], class_probs=[0.3, 0.7], parameters=parameters)
        found = posterior.log_joint(gaps(X)) - np.log([0.3, 0.7])
        cells = gaps(X).to_numpy()
        for i, row in enumerate(cells[:9]):
            seen = np.flatnonzero(~np.isnan(row))
            for c in range(2):
                part = mean[c][seen], covariance[c][np.ix_(seen, seen)]
                by_scipy = stats.multivariate_normal(*part).logpdf(row[seen]) if len(seen) else 0.0
                assert found[i, c] == pytest.approx(by_scipy, rel=1e-11, abs=1e-12)

    @pytest.mark.usefixtures("float64")
    @pytest.mark.parametrize("holes", [False, True])
    def test_distances_on_the_device(self, rng, holes):
        X, _ = table(rng, 10)
        cells = (gaps(X) if holes else X).to_numpy()
        mean, covariance = rng.normal(size=(2, 3)), np.array([SCALE, np.eye(3)])
        for found, expected in zip(
            jax.jit(distances_in_jax)(cells, mean, covariance), distances(cells, mean, covariance), strict=True
        ):
            np.testing.assert_allclose(*np.broadcast_arrays(found, expected), rtol=1e-10)

    def test_a_missing_cell_adds_nothing_to_the_density(self):
        mean, x, some = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.0, 2.5]), [0, 2]
        observed = np.array([True, False, True])
        found = log_prob(GIVEN.likelihood_of_observed(observed, mean=mean, covariance=SCALE), x)
        expected = stats.multivariate_normal(mean[some], SCALE[np.ix_(some, some)]).logpdf(x[some])
        assert float(found) == pytest.approx(expected, rel=1e-5)

    def test_a_fit_to_rows_without_labels_refuses_them(self, rng):
        X, y = table(rng)
        unlabelled = np.where(np.arange(60) < 5, None, y)
        with pytest.raises(
            ValueError, match=r"5 rows without a label lack a cell of block 'size' .* fill in the cells"
        ):
            nb.fit(block(), gaps(X), unlabelled, nb.MAP())

    def test_rows_of_no_weight_may_have_them(self, rng):
        X, y = table(rng)
        holes, weights = X.copy(), np.ones(60)
        holes.loc[3, "v"], weights[3] = np.nan, 0.0
        rest = np.arange(60) != 3
        found = nb.fit(block(), holes, y, sample_weight=weights)
        assert found.log_evidence == pytest.approx(nb.fit(block(), X[rest], y[rest]).log_evidence, rel=1e-12)


class TestInAModel:
    def test_mutual_information_is_that_of_gaussian_columns(self, rng):
        X, y = table(rng)
        both = [
            nb.mutual_information(nb.fit(model, X, y)) for model in (block(nb.MultivariateGaussian()), nb.Gaussian())
        ]
        exact = ["estimate", "lower", "upper", "p_value"]
        np.testing.assert_allclose(both[0][exact], both[1][exact], rtol=1e-9)
        np.testing.assert_allclose(both[0]["mean"], both[1]["mean"], rtol=0.2)

    def test_power_scaling_is_the_density_to_a_power(self, rng):
        X, y = table(rng)
        prior = nb.fit(block(), X, y).model.families[0]
        nothing = scatter(np.zeros((1, 3)), np.zeros((1, 2)))
        powered = replace(prior, **prior.power_scaled(nothing, 1.4))
        points = [(rng.normal(size=3), stats.invwishart(6, SCALE).rvs(random_state=seed)) for seed in range(4)]

        def log_prob(family, mean, covariance):
            of_mean = stats.multivariate_normal(family.loc[0], covariance / family.kappa[0, 0]).logpdf(mean)
            return of_mean + stats.invwishart(family.df[0, 0], family.scale[0]).logpdf(covariance)

        gap = [1.4 * log_prob(prior, *point) - log_prob(powered, *point) for point in points]
        np.testing.assert_allclose(gap, gap[0], rtol=1e-9)
        with pytest.raises(ValueError, match=r"raised to the power 0\.7 leaves no posterior: its df would be"):
            prior.power_scaled(nothing, 0.7)
        one_of_two = jax.tree.map(lambda leaf: np.repeat(leaf[:1], 2, axis=0), prior)
        one_of_two = replace(one_of_two, df=one_of_two.df + np.array([[0.0], [30.0]]))
        with pytest.raises(ValueError, match="leaves no posterior"):
            one_of_two.power_scaled(scatter(np.zeros((1, 3)), np.zeros((1, 2))), 0.7)

    @pytest.mark.parametrize(("df", "told"), [(None, "columns + 1"), (7.0, "7")])
    def test_the_story_says_how_many_degrees_of_freedom_the_prior_has(self, df, told):
        assert f"InverseWishart({told}," in nb.MultivariateGaussian(df=df).story()[1][1]

    @pytest.mark.slow
    def test_nuts_of_columns_that_nearly_determine_each_other(self, rng):
        X, y = table(rng)
        X["w"] = X["u"] + X["v"] + 1e-4 * X["w"]
        model = block(nb.MultivariateGaussian())
        posterior, drawn = nb.fit(model, X, y), nb.fit(model, X, y, nb.NUTS())
        assert drawn.diagnostics.divergences == 0
        assert nb.compare(posterior, drawn).agree

    @pytest.mark.slow
    def test_intervals_of_what_all_classes_share(self, rng):
        X, y = rng.normal(size=(30, 2)) @ [[1.0, 0.7], [0.0, 1.0]], rng.integers(0, 3, 30)
        features = {"x": (nb.MultivariateGaussian(), [0, 1])}
        found = nb.fit(nb.NaiveBayes(features, feature_inclusion=0.0), X, y).summary()
        expected = nb.fit(nb.NaiveBayes(features), X, ["a"] * 30).summary()
        for c in range(3):
            of_class = found[found.index.str.startswith((f"x_mean[{c}", f"x_covariance[{c}"))]
            np.testing.assert_allclose(of_class, expected[expected.index.str.startswith("x_")], rtol=1e-9)

    @pytest.mark.filterwarnings("ignore:.*lack a cell:UserWarning")
    @pytest.mark.parametrize("family", [nb.MultivariateGaussian(), nb.MultivariateGaussian(0.0, 0.5, 4.0, np.eye(2))])
    def test_leaving_out_rows_of_an_average_of_which_some_lack_a_cell(self, rng, family):
        X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, 30)
        X[[3, 8], [0, 1]] = np.nan
        model = nb.NaiveBayes({"x": (family, [0, 1])}, feature_inclusion=0.4)
        with pytest.warns(UserWarning, match="lack a cell"):
            found = nb.loo(nb.fit(model, X, y), X, y).elpd_i
        for i in (0, 3, 11):
            rest = nb.fit(model, np.delete(X, i, axis=0), np.delete(y, i))
            assert float(found[i]) == pytest.approx(rest.predict_log_proba(X[[i]])[0, y[i]], abs=1e-10)


class TestFewRowsAndBadColumns:
    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_a_block_wider_than_its_rows(self, rng, rows):
        X = rng.normal(size=(rows, 12))
        posterior = nb.fit(block(nb.MultivariateGaussian(), range(12)), X, ["a"] * rows, classes=["a", "b"])
        assert np.isfinite(posterior.log_evidence)
        assert np.isfinite(posterior.log_joint(rng.normal(size=(5, 12)))).all()
        with pytest.raises(
            ValueError,
            match=r"block 'size' of the columns 0, 1, .* in class 'a': the .* estimate of 'covariance' does not exist",
        ):
            nb.fit(block(nb.MultivariateGaussian(), range(12)), X, ["a"] * rows, nb.MLE())

    def test_collinear_and_constant_columns(self, rng):
        X, y = table(rng)
        why = "no more rows than columns, a constant column, or columns that determine each other"
        for column in (2 * X["u"] - X["v"], 7.0):
            X["w"] = column
            posterior = nb.fit(block(nb.MultivariateGaussian()), X, y)
            assert np.isfinite(posterior.log_joint(X)).all()
            assert np.isfinite(nb.loo(posterior, X, y).elpd)
            with pytest.raises(ValueError, match=f"block 'size' of the columns 'u', 'v', 'w' in class 'a'.*{why}"):
                nb.fit(block(), X, y, nb.MLE())

    def test_a_scale_too_small_for_collinear_columns(self, rng):
        X, y = table(rng)
        X["w"] = 2 * X["u"] - X["v"]
        tiny = nb.MultivariateGaussian(loc=0.0, scale=1e-30)
        with pytest.raises(ValueError, match="singular in float64: columns of the block determine each other"):
            nb.fit(block(tiny), X, y).predict_proba(X)


class TestBadHyperparameters:
    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"kappa": 0.0}, r"MultivariateGaussian\(kappa=0.0\): 0.0 is not a positive finite number"),
            ({"df": -1.0}, r"MultivariateGaussian\(df=-1.0\): -1.0 is not a positive finite number"),
            ({"df": dist.Gamma(1.0, 1.0)}, "df is not learned; give a number above the number of columns"),
            (
                {"df": 2.0},
                r"\(df=2\) of 3 columns \('u', 'v', 'w'\): the prior is proper for df above 2; give.* 4",
            ),
            ({"df": [4.0, 5.0, 6.0]}, r"\(df=...\) has shape \(3,\): give one number for the block, or.*\(2, 1\)"),
            ({"kappa": [0.1, 0.2]}, r"\(kappa=...\) has shape \(2,\): give one number for the block"),
            ({"loc": [0.0, 1.0]}, r"\(loc=...\) has shape \(2,\), which broadcasts neither to \(3,\)"),
            ({"scale": [[1.0, 2.0], [2.0, 1.0]]}, "not positive definite.* smallest eigenvalue is -1"),
            ({"scale": [[1.0, 1.0], [1.0, 1.0]]}, "not positive definite.* smallest eigenvalue is"),
            ({"scale": [[1.0, 0.2], [0.3, 1.0]]}, r"not symmetric: element \(0, 1\) is 0.2 and element \(1, 0\)"),
            ({"scale": [[1.0, 0.0], [0.0, -2.0]]}, "not positive definite: -2 is on its diagonal"),
            ({"scale": [[1.0, 0.0]]}, r"has shape \(1, 2\): give a square matrix"),
            ({"scale": dist.Gamma(1.0, 1.0).expand([3])}, "give one of a single number, which is learned"),
            (
                {"scale": np.eye(2)},
                r"\(scale=...\) has shape \(2, 2\): the block has the 3 columns 'u', 'v', 'w'",
            ),
            ({"scale": np.zeros((2, 3, 3))}, "not positive definite: 0 is on its diagonal"),
            ({"scale": -1.0}, "not positive definite: -1 is on its diagonal"),
        ],
    )
    def test_they_are_refused(self, rng, arguments, text):
        with pytest.raises((TypeError, ValueError), match=text):
            nb.fit(block(nb.MultivariateGaussian(**arguments)), *table(rng))

    @pytest.mark.parametrize("shape", [(), (1,), (1, 1), (2, 1)])
    def test_a_number_in_any_array(self, rng, shape):
        """Also one of each class."""
        X, y = table(rng)
        one = nb.fit(block(nb.MultivariateGaussian(0.0, 0.5, 9.0, SCALE)), X, y).log_joint(X)
        same = nb.MultivariateGaussian(0.0, np.full(shape, 0.5), np.full(shape, 9.0), SCALE)
        np.testing.assert_allclose(nb.fit(block(same), X, y).log_joint(X), one, rtol=1e-12)
        other = nb.MultivariateGaussian(np.zeros((2, 3)), [[0.1], [0.5]], [[5.0], [9.0]], np.array([np.eye(3), SCALE]))
        np.testing.assert_allclose(nb.fit(block(other), X, y).log_joint(X)[:, 1], one[:, 1], rtol=1e-12)

    @pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
    def test_a_scale_may_be_rounded_and_no_more(self, unit):
        rounded, other = (unit**2 * np.array([[1.0, 0.5], [0.5 + gap, 1.0]]) for gap in (1e-9, 1e-6))
        nb.MultivariateGaussian(scale=rounded)
        with pytest.raises(ValueError, match="not symmetric"):
            nb.MultivariateGaussian(scale=other)

    def test_parameters_that_are_no_covariance(self):
        parameters = {"size_mean": np.zeros((2, 3)), "size_covariance": np.array([np.eye(3), -np.eye(3)])}
        with pytest.raises(ValueError, match="'size_covariance' are not all symmetric positive definite matrices"):
            nb.from_parameters(block(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters=parameters)
