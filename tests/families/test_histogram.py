"""The histogram family beside a column of categories, SciPy's histogram, integrals and edges worked out by hand."""

import itertools

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import scipy.integrate
from cases import steps, with_zero

import bayesnb as nb
from bayesnb.families import bins
from bayesnb.families.bins import NUMBERS_OF_BINS, Bins, chosen_edges, log_evidence_of_bins, resolution
from bayesnb.families.distributions import Binned

EDGES = (-1.0, 0.0, 0.5, 2.0, 4.0)


def table(rng, rows=80):
    y = rng.integers(0, 2, rows)
    X = rng.normal(1.0 + y[:, None], 1.5, (rows, 3))
    return np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X), y


def columns(rows=300):
    """Columns of numbers that do and do not start at zero, on a lattice and not."""
    rng = np.random.default_rng(8)
    return {
        "far from zero": 50 + 9 * rng.gamma(2.0, 1.0, rows),
        "near zero": rng.exponential(20.0, rows),
        "from zero": np.where(rng.random(rows) < 0.03, 0.0, rng.exponential(20.0, rows)),
        "many zeros": np.where(rng.random(rows) < 0.4, 0.0, rng.exponential(20.0, rows)),
        "counts from zero": rng.poisson(2.0, rows) * 1.0,
        "counts from one": 1.0 + rng.poisson(2.0, rows),
        "quarters": 0.75 + 0.25 * rng.poisson(5.0, rows),
        "negative": rng.normal(0.0, 20.0, rows),
    }


@pytest.mark.parametrize("name", columns())
@pytest.mark.parametrize(
    "family", [nb.PolyaTree(), nb.Histogram(), nb.Hurdle(nb.Histogram())], ids=["tree", "bins", "beside zeros"]
)
class TestTails:
    """The density of a column beyond and within its bins, of a fit without one more column."""

    def fitted(self, family, name):
        x = columns()[name]
        return x, nb.fit(nb.NaiveBayes({name: family}), pd.DataFrame({name: x}), np.arange(len(x)) % 2)

    def density(self, posterior, name, x):
        return np.exp(posterior.log_joint(pd.DataFrame({name: x}))) / posterior.class_probs()

    def nodes(self, posterior, name):
        """Points and weights of an integral over all numbers; zero is a point of its own if it has a probability."""
        (family,) = posterior.families
        inner = getattr(family, "family", family)
        points, weight = steps(*np.unique([*inner.edges, 0.0]))
        return with_zero((points, weight)) if inner is not family else (points, weight)

    def test_are_part_of_a_density(self, family, name):
        _, posterior = self.fitted(family, name)
        points, weight = self.nodes(posterior, name)
        np.testing.assert_allclose(weight @ self.density(posterior, name, points), 1.0, rtol=1e-4)

    def test_have_next_to_no_mass_below_zero_in_a_column_without_negative_numbers(self, family, name):
        _, posterior = self.fitted(family, name)
        points, weight = self.nodes(posterior, name)
        (of_block,) = posterior.families
        below = points < min(getattr(of_block, "family", of_block).edges[0], 0.0)
        mass = weight[below] @ self.density(posterior, name, points[below])
        assert (mass > 1e-4).all() if name == "negative" else (mass < 2e-6).all()
        assert (self.density(posterior, name, [-1e9, -5.0, -1e-9]) > 0).all()

    def test_have_a_variance_of_the_size_of_the_columns(self, family, name):
        x, posterior = self.fitted(family, name)
        points, weight = self.nodes(posterior, name)
        mass = (weight[:, None] * self.density(posterior, name, points)).mean(axis=1)
        variance = mass @ (points - mass @ points) ** 2
        assert x.var() / 2 < variance < 2 * x.var()
        drawn = posterior.simulate(8000, key=2)[0][name]
        assert (drawn.min() < 0) == (name == "negative")
        assert x.var() / 2 < drawn.var() < 2 * x.var()
        if x[x != 0].size == np.unique(x[x != 0]).size:  # draws of a lattice lie on it
            middle = np.quantile(x[x != 0], [0.1, 0.5, 0.9])
            expected = np.array([mass[points < q].sum() for q in middle])
            error = 5 * np.sqrt(expected * (1 - expected) / 8000) + 2e-3
            assert (abs((drawn.to_numpy() < middle[:, None]).mean(axis=1) - expected) < error).all()


@pytest.mark.slow
def test_the_density_in_jax_is_that_in_numpy(float64):
    """Beyond both ends of the bins, below zero, between zero and the bins, and for a missing cell."""
    for edges in [(0.5, 1.0, 3.0, 7.0), (-0.1, 1.0, 3.0, 7.0)]:
        bins = Bins(edges, from_zero=True)
        cells = np.array([-7.0, -1e-3, 0.0, 0.01, edges[0], 3.0, edges[-1], 1e3, 1e149, np.nan])
        np.testing.assert_allclose(bins.log_density(jnp.asarray(cells)), bins.log_density(cells), rtol=1e-12)
        np.testing.assert_array_equal(bins.codes(jnp.asarray(cells)), bins.codes(cells))


def test_edges_are_compared_by_the_evidence_of_a_fit(rng):
    x = rng.normal(size=30)
    found = nb.fit(nb.NaiveBayes(nb.Histogram(EDGES, 2.0), class_probs=[1.0]), x[:, None], ["c"] * 30).log_evidence
    assert log_evidence_of_bins(x, EDGES, 2.0) == pytest.approx(found, rel=1e-12)
    assert log_evidence_of_bins(x, EDGES, 2.0, np.full(30, 2.0)) == pytest.approx(
        log_evidence_of_bins(np.tile(x, 2), EDGES, 2.0), rel=1e-12
    )


def test_the_last_bin_holds_its_upper_edge_and_the_tails_all_numbers():
    fitted = nb.fit(nb.NaiveBayes(nb.Histogram(EDGES, 1.0), class_probs=[1.0]), [[0.2], [1.0], [5.0]], ["c"] * 3)
    assert np.exp(fitted.log_joint([[4.0]])[0, 0]) == pytest.approx(1 / 9 / 2)
    assert np.isfinite(fitted.log_joint([[1e149], [-1e149]])).all()


def test_a_part_without_cells_has_a_mode_for_a_concentration_of_one():
    X, y = [[0.5], [2.5], [0.7], [2.1]], ["a", "b", "a", "b"]
    with pytest.raises(ValueError, match=r"column 0 in class 'a'.*nb\.Histogram\(concentration=1\.0\) a mode exists"):
        nb.fit(nb.Histogram([0, 1, 2, 3], 0.5), X, y, nb.MAP())
    found = nb.fit(nb.Histogram([0, 1, 2, 3], 1.0), X, y, nb.MAP())
    np.testing.assert_allclose(found.mean()["0_prob"][0], [0, 1, 0, 0, 0], atol=1e-12)


class TestEdges:
    """Edges that a column gives."""

    def test_bins_of_a_lattice_lie_half_way_between_its_values(self):
        x = np.repeat([1.0, 2.0, 3.0, 5.0, 9.0], [50, 20, 10, 40, 30])
        for num_bins in NUMBERS_OF_BINS:
            edges = np.array(nb.Histogram.from_column(x, num_bins).edges)
            np.testing.assert_array_equal(edges % 1, 0.5)
            assert len(edges) <= num_bins + 1
        assert nb.Histogram.from_column(x, 100).edges[0] in {0.5, 1.5}
        # Numbers of two decimals are not whole numbers of hundredths in float64.
        assert np.diff(nb.Histogram.from_column([0.1, 0.2, 0.3, 0.1 + 0.2, 0.4] * 10).edges).min() > 0.09
        edges = np.array(nb.Histogram.from_column(np.arange(7) * 0.1).edges)
        np.testing.assert_allclose(np.diff(edges) / 0.1, np.rint(np.diff(edges) / 0.1), rtol=1e-9)

    def test_finer_bins_do_not_raise_the_evidence_of_a_lattice(self, rng):
        x = rng.integers(1, 17, 3000).astype(float)
        found = {k: log_evidence_of_bins(x, nb.Histogram.from_column(x, k).edges) for k in (16, 100, 10_000)}
        assert found[10_000] == found[100] == found[16]
        assert found[16] == pytest.approx(-3000 * np.log(16), rel=0.01)

    def test_the_number_of_bins_has_the_highest_evidence(self, rng):
        for x in (rng.normal(size=400), rng.exponential(size=4000), rng.uniform(size=30)):
            chosen = log_evidence_of_bins(x, nb.Histogram.from_column(x).edges)
            each = [log_evidence_of_bins(x, nb.Histogram.from_column(x, k).edges) for k in NUMBERS_OF_BINS]
            assert chosen == max(each)
        many = len(nb.Histogram.from_column(rng.standard_exponential(40_000)).edges)
        assert many > len(nb.Histogram.from_column(rng.standard_exponential(20)).edges)

    @pytest.mark.parametrize(("number", "each_side"), [(30, 1), (300, 3), (399, 3)])
    def test_a_hundredth_of_the_values_on_each_side_and_at_least_one_may_be_outliers(self, number, each_side):
        def edges_with(outliers):
            middle = np.arange(1.0, number - 2 * outliers + 1)
            far = 1e6 * np.arange(1, outliers + 1)
            edges = nb.Histogram.from_column(np.concatenate([-far, middle, far])).edges
            return edges[0], edges[-1], number - 2 * outliers + 0.5

        low, high, end = edges_with(each_side)
        assert (low, high) == (0.5, end)
        low, high, end = edges_with(each_side + 1)
        assert low < -1e6
        assert high > 1e6

    def test_of_three_values_none_is_an_outlier(self):
        edges = nb.Histogram.from_column([0.0, *[1.0] * 20, 1e6]).edges
        assert (edges[0], edges[-1]) == (-0.5, 1e6 + 0.5)
        edges = nb.Histogram.from_column([-1e6, *[1.0, 2.0] * 20, 1e6]).edges
        assert (edges[0], edges[-1]) == (0.5, 2.5)

    def test_two_cells_are_outliers_and_three_are_not(self):
        far = np.r_[-1e6, 1.0:30.0, 1e6]
        assert nb.Histogram.from_column(far).edges[0] == 0.5
        assert nb.Histogram.from_column(np.append(far, 1e6)).edges[0] == -1e6 - 0.5

    def test_each_value_of_a_lattice_has_a_bin(self):
        found = nb.Histogram.from_column([1.0, 2.0, 3.0, 4.0, 5.0] * 20, 100).edges
        np.testing.assert_array_equal(found, np.arange(0.5, 6.0))

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([], 1.0),
            ([0.0], 1.0),
            ([0.5], 0.5),
            ([-3.0], 3.0),
            ([-1e15, 0.25, 0.5], 0.25),
            ([0.3, 0.1 + 0.2], 0.1 + 0.2),
        ],
    )
    def test_the_resolution_of_values(self, values, expected):
        assert resolution(np.array(values)) == expected

    def test_no_cell_gives_bins_around_zero(self):
        edges = nb.Histogram.from_column([np.nan]).edges
        assert (edges[0], edges[-1]) == (-0.5, 0.5)

    def test_the_widest_range(self):
        widest = 0.49 * np.finfo(np.float64).max
        edges = nb.Histogram.from_column([0.0, widest]).edges
        assert np.isfinite(edges).all()
        with pytest.raises(ValueError, match="span more than float64 holds: divide the column by a number"):
            nb.Histogram.from_column([-0.25 * widest, 0.9 * widest])

    def test_a_value_of_many_cells_is_no_outlier(self, rng):
        x = np.append(np.zeros(900), rng.integers(100, 20_000, 100))
        for num_bins in (5, 100):
            assert nb.Histogram.from_column(x, num_bins).edges[0] < 0
        far = np.concatenate([np.zeros(900), rng.integers(100, 40_000, 99), [1_000_000]])
        assert nb.Histogram.from_column(far).edges[0] < 0

    def test_a_change_of_unit_changes_no_prediction(self, rng):
        X, y = table(rng, 200)
        model = nb.NaiveBayes(nb.Histogram())
        one = nb.fit(model, X, y)
        for a, b in ((1e-6, 0.0), (1000.0, 5.0)):
            other = nb.fit(model, a * X + b, y)
            np.testing.assert_allclose(other.predict_proba(a * X + b), one.predict_proba(X), rtol=1e-6)
            moved = np.log(a) * (~np.isnan(X)).sum()
            assert other.log_evidence + moved == pytest.approx(one.log_evidence, rel=1e-6)

    @pytest.mark.parametrize(
        "column",
        [
            [3.0],
            [0.0],
            [-2.0, -2.0, -2.0],
            [1.0, 2.0],
            [np.nan, np.nan],
            [1e149, -1e149, 0.0],
            [5e-324, 0.0],
            [1e15, 1e15 + 1],
        ],
        ids=str,
    )
    def test_columns_of_few_values(self, column):
        X, y = np.array(column)[:, None], np.arange(len(column)) % 2
        fitted = nb.fit(nb.NaiveBayes(nb.Histogram()), X, y, classes=[0, 1])
        for cells in (X, [[np.nan]], [[0.0]], [[1e149]]):
            assert np.isfinite(fitted.log_joint(cells)).all()
            np.testing.assert_allclose(fitted.predict_proba(cells).sum(axis=1), 1.0)
        assert np.isfinite(fitted.log_evidence)

    def test_a_column_that_float64_cannot_span_is_named(self):
        frame = pd.DataFrame({"far": [-1.7e308, 1.7e308]})
        with pytest.raises(
            ValueError, match=r"column 'far': cells from -1.7e\+308 to 1.7e\+308 span more than float64"
        ):
            nb.fit(nb.NaiveBayes(nb.Histogram()), frame, [0, 1])

    def test_labels_and_rows_of_weight_zero_change_no_edge(self, rng):
        X, y = table(rng)
        model = nb.NaiveBayes(nb.Histogram())
        edges = [nb.fit(model, X, labels).model.features for labels in (y, 1 - y, rng.permutation(y))]
        assert len(edges[0]) == 3
        assert all(self.edges(one) == self.edges(edges[0]) for one in edges)
        weights = np.append(np.ones(80), [0.0])
        more = nb.fit(model, np.vstack([X, np.full((1, 3), 1e6)]), np.append(y, 0), sample_weight=weights)
        assert self.edges(more.model.features) == self.edges(edges[0])
        assert more.log_evidence == pytest.approx(nb.fit(model, X, y).log_evidence, rel=1e-12)

    def edges(self, features):
        return [family.edges for family, _ in features.values()]

    def test_updates_keep_the_edges(self, rng):
        X, y = table(rng)
        fitted = nb.fit(nb.NaiveBayes(nb.Histogram()), X, y)
        more = fitted.update(10 + X, y)
        assert self.edges(more.model.features) == self.edges(fitted.model.features)
        given = nb.NaiveBayes({j: family for j, (family, _) in fitted.model.features.items()})
        again = nb.fit(given, np.vstack([X, 10 + X]), np.append(y, y))
        assert more.log_evidence == pytest.approx(again.log_evidence, rel=1e-12)
        assert more.forget(10 + X, y).log_evidence == pytest.approx(fitted.log_evidence, rel=1e-12)
        bound = nb.NaiveBayes(nb.Histogram()).bind(X, y)
        assert nb.fit(bound, X[:20], y[:20]).update(X[20:], y[20:]).log_evidence == pytest.approx(fitted.log_evidence)

    def test_columns_may_differ_in_their_edges(self, rng):
        frame = pd.DataFrame({"u": rng.normal(size=50), "v": rng.normal(size=50), "w": rng.normal(size=50)})
        y = rng.integers(0, 2, 50)
        family = nb.Histogram({"u": [-1, 0, 1], "w": [-2, 0, 1]}, num_bins=7)
        fitted = nb.fit(nb.NaiveBayes({"all": (family, ["u", "v", "w"])}), frame, y)
        found = {name: family.edges for name, (family, _) in fitted.model.features.items()}
        assert (found["u"], found["w"]) == ((-1.0, 0.0, 1.0), (-2.0, 0.0, 1.0))
        assert found["v"] == chosen_edges(frame["v"].to_numpy(), 7)
        total = fitted.problem.resolved.class_prior.log_evidence(fitted.problem.statistics.classes)
        for name, edges in found.items():
            one = nb.fit(nb.NaiveBayes({name: nb.Histogram(edges)}, class_probs=[0.5, 0.5]), frame, y)
            total += one.log_evidence - 50 * np.log(0.5)
        assert fitted.log_evidence == pytest.approx(total, rel=1e-12)
        assert fitted.mean()["v_prob"].shape == (2, len(found["v"]) + 1)

    @pytest.mark.slow
    def test_by_default_all_parts_weigh_ten_rows(self, rng):
        x = rng.normal(size=(40, 1))
        for num_bins in (5, 20):
            fitted = nb.fit(nb.NaiveBayes(nb.Histogram(num_bins=num_bins)), x, ["a"] * 40, classes=["a", "b"])
            (prior,) = fitted.problem.resolved.families
            np.testing.assert_allclose(prior.concentration, 10 / (num_bins + 2), rtol=1e-12)
            np.testing.assert_allclose(fitted.mean()["0_prob"][1], 1 / (num_bins + 2), rtol=1e-12)
        mixed = nb.NaiveBayes({0: nb.Histogram(), 1: nb.Gaussian(kappa=dist.Gamma(2.0, 2.0))})
        y = np.arange(40) % 2
        learned = nb.fit(mixed, np.hstack([x, x + 3 * y[:, None]]), y, nb.EmpiricalBayes())
        assert np.isfinite(learned.log_evidence)

    def test_a_concentration_for_each_part(self):
        weights = [1.0, 2.0, 3.0, 4.0]
        fitted = nb.fit(nb.NaiveBayes(nb.Histogram([0, 1, 2], weights)), [[0.5], [1.5]], ["a", "b"])
        np.testing.assert_allclose(fitted.mean()["0_prob"], np.array([[1, 3, 3, 4], [1, 2, 4, 4]]) / 11)


def test_the_hurdle_takes_the_edges_of_the_cells_other_than_zero(rng):
    x = np.append(rng.uniform(5, 6, 200), np.zeros(800))
    y = rng.integers(0, 2, 1000)
    fitted = nb.fit(nb.NaiveBayes(nb.Hurdle(nb.Histogram())), x[:, None], y)
    ((family, _),) = fitted.model.features.values()
    assert family.family.edges == nb.Histogram.from_column(x[:200]).edges
    assert family.family.edges[0] > 4.9


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"edges": [0, 1, 1, 2]}, ValueError, "the edges 1 and 1 of .* do not increase: sort the edges"),
        ({"edges": [3, 2]}, ValueError, "the edges 3 and 2"),
        ({"edges": [0, np.inf]}, ValueError, "the edge inf .* is not finite: leave it out, the tails"),
        ({"edges": [0, np.nan, 1]}, ValueError, "the edge nan"),
        ({"edges": [1.0]}, ValueError, "at least two edges"),
        ({"edges": []}, ValueError, "at least two edges"),
        ({"edges": ["a", "b"]}, TypeError, r"Histogram\(edges=.*: give numbers"),
        ({"edges": {"age": [0, 0]}}, ValueError, "the edges 0 and 0 .* of column 'age'"),
        ({"num_bins": 0}, ValueError, r"Histogram\(num_bins=0\): give a whole number"),
        ({"num_bins": 2.5}, ValueError, "num_bins=2.5"),
        ({"edges": [0, 1], "num_bins": 3}, ValueError, "has edges, too: leave one of them out"),
        ({"concentration": -1.0}, ValueError, "concentration=-1.0"),
    ],
)
def test_bad_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        nb.Histogram(**arguments)


def test_bad_columns(rng):
    with pytest.raises(ValueError, match="num_bins=0"):
        nb.Histogram.from_column([1.0, 2.0], 0)
    with pytest.raises(TypeError, match="x holds something else than numbers"):
        nb.Histogram.from_column(["a"])
    with pytest.raises(ValueError, match=r"x has shape \(2, 2\): give one column"):
        nb.Histogram.from_column(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"names the column 'agee', and its columns are \['age'\]"):
        nb.fit(nb.NaiveBayes({"age": nb.Histogram({"agee": [0, 1]})}), pd.DataFrame({"age": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ValueError, match=r"column 'x': Histogram\(\) has no edges yet"):
        nb.from_parameters(nb.Histogram(), classes=["c"], class_probs=[1.0], parameters={"x": [[0.5, 0.5]]})
    with pytest.raises(ValueError, match=r"concentration=.*column 0 has 4 categories"):
        nb.fit(nb.NaiveBayes(nb.Histogram([0, 1, 2], [1.0, 2.0])), [[0.5], [1.5]], [0, 1])


def test_labels_of_parts_differ():
    assert Bins((0.0, 1.0, 2.5)).labels == ("below 0", "[0, 1)", "[1, 2.5)", "from 2.5")
    close = Bins((1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75)).labels
    assert len({*close}) == 4


@pytest.mark.parametrize("family", [nb.Histogram(), nb.Hurdle(nb.Histogram())], ids=["alone", "beside zeros"])
def test_a_row_of_weight_two_counts_as_two_rows_for_the_edges(family):
    rng = np.random.default_rng(4)
    x = np.where(rng.random(150) < 0.2, 0.0, rng.gamma(2.0, 1.0, 150))
    weight, y = (20 * (x > 3) + rng.integers(0, 3, 150)).astype(float), np.arange(150) % 2
    rows = np.repeat(np.arange(150), weight.astype(int))
    weighted = nb.fit(family, x[:, None], y, sample_weight=weight)
    repeated = nb.fit(family, x[rows, None], y[rows])
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-10)
    counted_once = nb.NaiveBayes(family).bind(x[weight > 0, None], y[weight > 0])
    assert weighted.log_evidence != pytest.approx(nb.fit(counted_once, x[rows, None], y[rows]).log_evidence)


@pytest.mark.parametrize("family", [nb.Histogram(), nb.PolyaTree()], ids=lambda family: family.family_name)
def test_draws_keep_to_the_lattice_of_the_rows_that_count(family):
    x, y = np.append(np.arange(40) % 7, 2.5)[:, None], np.arange(41) % 2
    drawn, _ = nb.fit(family, x, y, sample_weight=np.append(np.ones(40), 0.0)).simulate(50)
    assert (np.asarray(drawn) == np.rint(drawn)).all()


def test_the_story_says_how_the_bins_are_chosen():
    assert nb.Histogram().story() == ("Histogram(prob, bins of the data)", ["prob ~ Dirichlet(10 / parts)"])
    assert nb.Histogram(num_bins=7, concentration=0.5).story()[0] == "Histogram(prob, 7 bins of the data)"
    assert nb.Histogram(EDGES).story()[0] == "Histogram(prob, 4 bins from -1 to 4)"
    of_columns = nb.Histogram().having_seen({"u": np.array([0.0, 1.0, 2.0]), "v": np.array([5.0, 9.0, 6.0])})
    assert of_columns.story()[0] == "Histogram(prob, bins of each column)"


def test_the_median_size_of_sorted_numbers_takes_no_sort(rng):
    for size in (2, 3, 10, 11):
        for shift in (-5.0, -0.3, 0.0, 5.0):
            values = np.sort(rng.normal(size=size) + shift)
            assert bins._median_size(values) == pytest.approx(np.median(np.abs(values)), rel=1e-15)


@pytest.mark.parametrize("from_zero", [False, True])
def test_moments_are_those_of_the_density(from_zero):
    parts = Bins((1.0, 1.5, 3.0, 7.0), from_zero=from_zero)
    prob = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    ends = (*parts.edges, *((0.0,) if from_zero else (-np.inf,)), np.inf)

    def integral(of):
        def density(x):
            x = np.array([x])
            return of(x[0]) * (prob[parts.codes(x).astype(int)] * np.exp(parts.log_density(x)))[0]

        return sum(scipy.integrate.quad(density, *part)[0] for part in itertools.pairwise(sorted(ends)))

    mean = integral(lambda x: x)
    found = Binned(prob, parts)
    # A column that starts at zero has a millionth of its first part below.
    assert integral(lambda x: 1.0) == pytest.approx(1.0, abs=2e-6)
    assert found.mean == pytest.approx(mean, rel=1e-5)
    assert found.variance == pytest.approx(integral(lambda x: (x - mean) ** 2), rel=1e-5)
