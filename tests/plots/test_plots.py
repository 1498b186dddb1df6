"""Pictures of posteriors: what they draw is what the posterior says."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import scipy.stats
from cases import Durations, Exponential
from drawn import collisions, intervals
from figures import LABELS, table
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

import bayesnb as nb
from bayesnb.core.forest import number_of_panels

X, Y = table().copy(), LABELS
X.loc[5, "leaf"] = None
FAMILIES = {"height": nb.Gaussian(), "nests": nb.Poisson(), "leaf": nb.Categorical(), "old": nb.Bernoulli()}


@pytest.fixture(scope="module")
def posteriors():
    """One of each kind, of three classes and a column of each family but the multinomial, with missing cells."""
    model = nb.NaiveBayes(FAMILIES)
    exact = nb.fit(model, X, Y)
    draws = exact.draws(num_draws=200, num_chains=2, key=4)
    sampled = nb.from_samples(model, draws, X=X, y=Y)
    return {"exact": exact, "sampled": sampled, "point": nb.fit(model, X, Y, nb.MLE())}


@pytest.fixture(scope="module")
def words():
    """Word counts in two classes, each row of a different length."""
    rng = np.random.default_rng(9)
    y = np.array(["ham", "spam"])[np.arange(20) % 2]
    probs = np.where((y == "spam")[:, None], [0.4, 0.3, 0.2, 0.1], [0.4, 0.1, 0.2, 0.3])
    X = pd.DataFrame([rng.multinomial(30, p) for p in probs], columns=["the", "buy", "of", "meeting"])
    return X, y, nb.fit(nb.NaiveBayes({"text": (nb.Multinomial(), list(X.columns))}), X, y)


every_posterior = pytest.mark.parametrize("kind", ["exact", "sampled", "point"])


def names(axis: Any) -> list[str]:
    return [text.get_text() for text in axis.get_yticklabels()]


def offsets(collection: Any) -> np.ndarray:
    return np.asarray(collection.get_offsets())


def markers(axis: Any) -> list[Any]:
    """Collections of points; the others hold lines."""
    found = [each for each in axis.collections if len(each.get_paths()) == 1 and hasattr(each, "get_sizes")]
    return [each for each in found if len(each.get_offsets())]


def bars(axis: Any) -> list[np.ndarray]:
    return [np.array(found.get_segments()) for found in axis.collections if hasattr(found, "get_segments")]


@every_posterior
def test_proba_draws_probabilities_and_intervals(posteriors, kind):
    posterior = posteriors[kind]
    figure = nb.plot_proba(posterior, X, Y, prob=0.8, max_rows=7, key=3)
    (axis,) = figure.axes
    drawn = markers(axis)
    np.testing.assert_allclose(
        np.column_stack([offsets(found)[:, 0] for found in drawn]), posterior.predict_proba(X)[:7]
    )
    rows = np.column_stack([offsets(found)[:, 1] for found in drawn])
    assert (np.rint(rows) == np.arange(7)[:, None]).all()
    np.testing.assert_allclose(rows.mean(axis=1), np.arange(7), atol=1e-12, err_msg="marks lie around their row's name")
    for code, found in enumerate(drawn):
        filled = found.get_facecolors()[:, :3].min(axis=1) < 1
        np.testing.assert_array_equal(filled, Y[:7] == posterior.classes[code])
    if kind == "point":
        assert not bars(axis)
        assert "no interval" in figure.get_suptitle()
    else:
        ends = posterior.proba_interval(X.head(7), prob=0.8, key=3)
        np.testing.assert_allclose([found[:, :, 0] for found in bars(axis)], ends.swapaxes(0, 1))
        assert "80 % interval" in figure.get_suptitle()
    assert "first 7 of 24 rows" in figure.get_suptitle()
    assert collisions(figure) == []


@every_posterior
def test_proba_of_many_classes_shows_the_three_most_probable_and_the_sum_of_the_others(kind):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 6, 80)
    X = pd.DataFrame({"a": rng.normal(y), "b": rng.normal(-y)})
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y, nb.MLE() if kind == "point" else nb.Exact())
    size = {"num_draws": None if kind == "sampled" else 30, "key": 1}
    if kind == "sampled":
        posterior = nb.from_samples(nb.NaiveBayes(nb.Gaussian()), posterior.draws(num_draws=30), X=X, y=y)
    (axis,) = nb.plot_proba(posterior, X, y, max_rows=9, sort=True, **size).axes
    probs = posterior.predict_proba(X)[:9]
    order = np.argsort(-probs.max(axis=1), kind="stable")
    (points,) = markers(axis)
    drawn = offsets(points)[:, 0].reshape(9, 4)
    ranked = -np.sort(-probs[order], axis=1)
    np.testing.assert_allclose(drawn, np.column_stack([ranked[:, :3], ranked[:, 3:].sum(axis=1)]))
    three = np.argsort(-probs[order], axis=1)[:, :3]
    assert names(axis) == [
        f"{row}, {c}" for row, of_row in zip(order, three, strict=True) for c in [*of_row, "3 others"]
    ]
    filled = (points.get_facecolors()[:, :3].min(axis=1) < 1).reshape(9, 4)
    truth = y[:9][order][:, None]
    np.testing.assert_array_equal(filled, np.column_stack([three == truth, (three != truth).all(axis=1)]))
    if kind != "point":
        draws = posterior.proba_draws(X.head(9), **size)[..., order, :]
        rest = 1 - sum(draws[:, :, np.arange(9), three[:, i]] for i in range(3))
        ends = np.quantile(rest, [0.055, 0.945], axis=(0, 1)).T
        np.testing.assert_allclose(bars(axis)[0][3::4, :, 0], ends, atol=1e-12)


def test_names_of_many_classes_are_in_one_line():
    classes = ["5 $ and 6 $", "a class with a name that goes on and on, in a long line", "c", "d"]
    posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], classes)
    first, second, *_ = names(nb.plot_proba(posterior, [[1]], num_draws=5).axes[0])
    assert first == r"0, 5 \$ and 6 \$"
    assert second.startswith("0, a class")
    assert second.endswith("a long line")
    assert "\n" not in second


def test_the_first_rows_of_any_table_are_shown():
    frame = pd.DataFrame({"a": range(5)}, index=[0.5, 1.0, 1.5, 2.0, 2.5])
    for X in (
        frame,
        pl.from_pandas(frame),
        pl.from_pandas(frame).to_arrow(),
        frame.to_numpy(),
        frame.to_numpy().tolist(),
        scipy.sparse.coo_array(frame.to_numpy()),
    ):
        posterior = nb.fit(nb.Poisson(), X, [0, 0, 1, 1, 1])
        figure = nb.plot_proba(posterior, X, max_rows=2, num_draws=2)
        (points,) = markers(figure.axes[0])
        np.testing.assert_allclose(offsets(points)[:, 0], posterior.predict_proba(X)[:2, 1])
        assert "the first 2 of 5 rows" in figure.get_suptitle()


@dataclass
class Spikes:
    heights: np.ndarray
    names: list[str]


def spikes(axis: Any) -> Spikes:
    (segments,) = bars(axis)
    notes = [text.get_text() for text in axis.texts if isinstance(text, Annotation)]
    return Spikes(segments[:, 1, 1], notes)


def test_spikes_of_words_and_of_columns_named_one_by_one(words, posteriors):
    *_, posterior = words
    for axis, prob in zip(nb.plot_spikes(posterior).axes, posterior.mean()["text_prob"], strict=True):
        np.testing.assert_allclose(spikes(axis).heights, prob)
    for one in posteriors.values():
        heights = [spikes(axis).heights for axis in nb.plot_spikes(one, "old").axes]
        np.testing.assert_allclose(np.ravel(heights), one.mean()["old_prob"])


@pytest.mark.parametrize("binary", [True, False])
def test_the_most_telling_spikes_are_named(binary):
    rng = np.random.default_rng(13)
    y = np.arange(90) % 3
    probs = rng.dirichlet(np.full(12, 0.5), 3)
    counts = np.array([rng.multinomial(8, probs[c]) for c in y])
    X = pd.DataFrame(np.minimum(counts, 1) if binary else counts, columns=list("ABCDEFGHIJKL"))
    posterior = nb.fit(nb.Bernoulli() if binary else nb.Multinomial(), X, y)
    figure = nb.plot_spikes(posterior, num_labels=3, classes=[2, 0])
    for axis, c in zip(figure.axes, (2, 0), strict=True):
        found = spikes(axis)
        families = posterior.families[0]
        alpha = families.concentration1 if binary else families.concentration
        means = alpha / (alpha + families.concentration0) if binary else alpha / alpha.sum(axis=-1, keepdims=True)
        p = np.asarray(means).reshape(3, 12)
        np.testing.assert_allclose(found.heights, p[c])
        average = posterior.class_probs() @ p
        score = p[c] * np.log(p[c] / average) + ((1 - p[c]) * np.log((1 - p[c]) / (1 - average)) if binary else 0.0)
        score[p[c] <= average] = -1
        best = np.sort(np.argsort(-score)[:3])
        assert found.names == [X.columns[j] for j in best]
    tallest = spikes(nb.plot_spikes(posterior, label="tallest", num_labels=2).axes[0])
    assert found.names != tallest.names
    assert tallest.names == [X.columns[j] for j in np.sort(np.argsort(-tallest.heights)[:2])]


def test_narrow_panels_name_fewer_spikes():
    X = np.eye(6)
    frame = pd.DataFrame(X, columns=[f"the column numbered {j}" for j in range(6)])
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), frame, [0, 0, 0, 1, 1, 1])
    wide, narrow = nb.plot_spikes(posterior), nb.plot_spikes(posterior, figsize=(3.35, None))
    assert [len(spikes(axis).names) for axis in wide.axes] == [3, 3]
    assert [len(spikes(axis).names) for axis in narrow.axes] == [1, 1]
    assert collisions(narrow) == []


def test_a_spike_of_height_zero_has_no_name_and_a_single_one_has_one_in_any_width():
    names = [f"the column numbered {j}" for j in range(3)]
    X = pd.DataFrame([[1, 1, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0]], columns=names)
    estimate = nb.fit(nb.Bernoulli(), X, [0, 0, 1, 1], nb.MLE())
    first, second = (spikes(axis) for axis in nb.plot_spikes(estimate, label="tallest", tolerance=0).axes)
    assert [name.split()[-1] for name in first.names] == ["0", "1"]
    assert [name.split()[-1] for name in second.names] == ["0"]
    narrow = nb.plot_spikes(estimate, label="tallest", axes=Figure(figsize=(0.5, 3.0)).subplots(2))
    assert [len(spikes(axis).names) for axis in narrow.axes] == [1, 1]


@pytest.mark.parametrize("at", [0, 55])
def test_names_of_neighbouring_spikes_stand_side_by_side(at):
    X = np.zeros((20, 60))
    X[:, at : at + 5] = 1
    frame = pd.DataFrame(X, columns=[f"the column numbered {j}" for j in range(60)])
    figure = nb.plot_spikes(nb.fit(nb.NaiveBayes(nb.Bernoulli()), frame, np.arange(20) % 2), label="tallest")
    assert collisions(figure) == []
    for axis in figure.axes:
        places = [text.get_position()[0] for text in axis.texts]
        assert len(places) == 5
        assert places == sorted(np.clip(places, 0, 1))


def lines_by_title(figure: Any) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    return {axis.get_title(): [line.get_data() for line in axis.lines] for axis in figure.axes if axis.get_title()}


def test_densities_of_an_exact_posterior_are_its_predictives(posteriors):
    exact = posteriors["exact"]
    figure = nb.plot_densities(exact, X, Y)
    lines = lines_by_title(figure)
    assert list(lines) == ["height", "nests", "leaf", "old"]
    gaussian, poisson = exact.families[:2]
    for c in range(3):
        grid, density = lines["height"][c]
        m, k, a, b = (np.asarray(value)[c, 0] for value in gaussian.hyperparameters().values())
        expected = scipy.stats.t.pdf(grid, 2 * a, m, np.sqrt(b * (k + 1) / (a * k)))
        np.testing.assert_allclose(density, expected, rtol=1e-9)
        counts, probs = lines["nests"][c]
        a, b = poisson.concentration[c, 0], poisson.rate[c, 0]
        np.testing.assert_array_equal(counts, np.arange(len(counts)))
        np.testing.assert_allclose(probs, scipy.stats.nbinom.pmf(counts, a, b / (b + 1)), rtol=1e-9)
    assert collisions(figure) == []


def test_densities_of_draws_and_of_a_point(posteriors):
    for kind in ("point", "sampled"):
        grid, density = lines_by_title(nb.plot_densities(posteriors[kind], X, Y))["height"][1]
        values = posteriors[kind].draws() if kind == "sampled" else posteriors[kind].mean()
        mean, variance = (values[f"height_{name}"][..., 1].ravel() for name in ("mean", "variance"))
        weights = values["class_prob"][..., 1].ravel()
        expected = scipy.stats.norm.pdf(grid[:, None], mean, np.sqrt(variance)) @ weights / weights.sum()
        np.testing.assert_allclose(density, expected, rtol=1e-9)


@pytest.mark.parametrize("bins", [1, 10])
def test_histograms_hold_the_observed_cells_of_each_class(posteriors, bins):
    exact = posteriors["exact"]
    axis = nb.plot_densities(exact, X, Y, features="height", bins=bins).axes[0]
    cells = X["height"].to_numpy()
    for label, outline in zip(exact.classes, axis.patches, strict=True):
        corners = outline.get_xy()
        edges, heights = np.unique(corners[:, 0]), corners[1 : 2 * bins + 1 : 2, 1]
        expected, _ = np.histogram(cells[(label == Y) & ~np.isnan(cells)], edges, density=True)
        np.testing.assert_allclose(heights, expected)
        assert edges[0] < np.nanmin(cells)
        assert edges[-1] > np.nanmax(cells)
    assert not nb.plot_densities(exact).axes[0].patches


@pytest.mark.parametrize(
    ("cells", "bins", "expected"),
    [
        ([3, 9], 25, np.arange(2.5, 10)),
        ([3, 9], 4, [2.5, 4.5, 6.5, 8.5, 10.5]),
        ([0, 1], 9, [-0.5, 0.5, 1.5]),
        ([4, 5], 1, [3.5, 5.5]),
        ([3.0, 5.1234567, 9.5], 4, np.linspace(2.35, 10.15, 5)),
        ([3.0, 4.5, 6.0], 3, [2.25, 3.75, 5.25, 6.75]),
    ],
)
def test_bars_are_whole_numbers_or_steps_wide_where_cells_lie_on_a_lattice(cells, bins, expected):
    X = pd.DataFrame({"x": np.repeat(cells, 2)})
    family = nb.Poisson() if X["x"].dtype.kind == "i" else nb.Gaussian(0.0, 1.0, 1.0, 1.0)
    y = np.arange(len(X)) % 2
    axis = nb.plot_densities(nb.fit(nb.NaiveBayes({"x": family}), X, y), X, y, bins=bins).axes[0]
    np.testing.assert_allclose(np.unique(axis.patches[0].get_xy()[:, 0]), expected)


def test_densities_beside_count_vectors_and_positive_numbers(words):
    counts, y, _ = words
    X = counts.assign(wait=np.random.default_rng(1).exponential(2.0, len(counts)))
    model = nb.NaiveBayes({"wait": Exponential(), "text": (nb.Multinomial(), list(counts.columns))})
    posterior = nb.fit(model, X, y)
    for figure in (nb.plot_densities(posterior, X, y), nb.plot_densities(posterior)):
        grid, density = lines_by_title(figure)["wait"][0]
        assert (grid > 0).all()
        a, b = posterior.families[0].concentration[0, 0], posterior.families[0].rate[0, 0]
        np.testing.assert_allclose(density, scipy.stats.lomax.pdf(grid, a, scale=b), rtol=1e-9)


def drawn_categories(axis: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points and bars of a panel of categories, each of shape (classes, categories)."""
    points = np.array([line.get_ydata() for line in axis.lines])
    heights = np.array([bar.get_height() for bar in axis.patches])
    return points, heights.reshape(len(points), -1) if len(heights) else heights


@every_posterior
def test_categories_and_zeros_and_ones_have_probabilities_over_shares_of_the_data(posteriors, kind):
    posterior = posteriors[kind]
    figure = nb.plot_densities(posterior, X, Y, features=["old", "leaf"])
    for axis, column, values in zip(figure.axes, ("old", "leaf"), ([0, 1], ["lobed", "round"]), strict=False):
        assert axis.get_title() == column
        assert [text.get_text() for text in axis.get_xticklabels()] == [str(value) for value in values]
        points, heights = drawn_categories(axis)
        rows = X.head(2).assign(**{other: np.nan for other in X.columns if other != "leaf"}, leaf=None)
        empty = posterior.log_joint(rows)[0]
        rows[column] = values
        # The second route: rows in which every other cell is missing.
        np.testing.assert_allclose(points.T, np.exp(posterior.log_joint(rows) - empty), rtol=1e-9)
        shares = pd.crosstab(Y, X[column], normalize="index")
        np.testing.assert_allclose(heights, shares[values])
    assert collisions(figure) == []
    points, heights = drawn_categories(nb.plot_densities(posterior, features="old", classes=["oak", "ash"]).axes[0])
    whole, _ = drawn_categories(figure.axes[0])
    np.testing.assert_allclose(points, whole[[2, 0]])
    assert not len(heights), "there are no data"


def test_columns_of_a_joint_block_have_their_own_densities():
    rng = np.random.default_rng(4)
    y = np.arange(60) % 2
    X = pd.DataFrame({"a": rng.normal(y), "b": rng.normal(size=60)}).eval("b = b + a")
    posterior = nb.fit(nb.NaiveBayes({"both": (nb.MultivariateGaussian(), ["a", "b"])}), X, y)
    for column, lines in lines_by_title(nb.plot_densities(posterior, X, y)).items():
        for c, (grid, density) in enumerate(lines):
            rows = pd.DataFrame({"a": np.nan, "b": np.nan, column: grid}, columns=["a", "b"])
            empty = posterior.log_joint(rows.head(1) * np.nan)
            np.testing.assert_allclose(density, np.exp(posterior.log_joint(rows) - empty)[:, c], rtol=1e-9)


def test_rare_categories_share_a_bar_where_there_are_many():
    rng = np.random.default_rng(5)
    y = np.array(list("abcdefgh"))[rng.integers(0, 8, 400)]
    X = pd.DataFrame({"town": [f"town {k:.0f}" for k in np.minimum(rng.exponential(4.0, 400), 19)]})
    (axis,) = nb.plot_densities(nb.fit(nb.NaiveBayes(nb.Categorical()), X, y), X, y).axes
    points, heights = drawn_categories(axis)
    assert points.shape == heights.shape == (8, 5)
    counts, number = pd.crosstab(y, X["town"]), X["town"].nunique()
    probs = ((counts + 1).div(counts.sum(axis=1) + number, axis=0)).sum()
    *shown, others = (text.get_text() for text in axis.get_xticklabels())
    assert shown == sorted(probs.nlargest(4).index), "the most probable ones, in the order of the categories"
    assert others == f"{number - 4} others"
    np.testing.assert_allclose([points.sum(axis=1), heights.sum(axis=1)], 1.0)
    np.testing.assert_allclose(heights[:, :4], pd.crosstab(y, X["town"], normalize="index")[shown])
    few = X.where(X["town"] < "town 13", "town 0")
    axis = nb.plot_densities(nb.fit(nb.NaiveBayes(nb.Categorical()), few, y), few, y).axes[0]
    assert [text.get_text() for text in axis.get_xticklabels()] == sorted(few["town"].unique()), "five have room"


def test_the_most_telling_columns_are_shown():
    """Counts and numbers, of which the first tell little."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame({"none": rng.normal(size=400), "some": rng.normal(y), "count": rng.poisson(1 + y)})
    X = X.assign(most=rng.normal(3 * y), flag=rng.uniform(size=400) < 0.4 + 0.1 * y)
    families = {name: nb.Gaussian() for name in ("none", "some", "most")} | {"count": nb.Poisson()}
    posterior = nb.fit(nb.NaiveBayes(families | {"flag": nb.Bernoulli()}), X, y)
    information = nb.mutual_information(posterior, num_draws=5)["at_posterior_mean"]
    ranked = information.sort_values(ascending=False).index.tolist()
    assert ranked[0] == "most"

    def shown(**options):
        return [axis.get_title() for axis in nb.plot_densities(posterior, **options).axes if axis.axison]

    assert shown(sort=True) == ranked
    assert shown(max_panels=3, sort=True) == ranked[:3]
    assert shown(max_panels=3) == [label for label in X.columns if label in ranked[:3]]
    assert shown(features=["most", "count"]) == ["most", "count"]
    title = nb.plot_densities(posterior, max_panels=3).get_suptitle().replace("\n", " ")
    assert "the most telling 3 of 5 columns" in title


def test_of_many_classes_those_that_differ_most_are_shown():
    rng = np.random.default_rng(8)
    at = np.arange(600) % 12
    X = pd.DataFrame({"a": rng.normal(np.where(at < 8, 4.0 * at, 14.0))})
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, at)
    figure = nb.plot_densities(posterior, X, at)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(texts) == len(figure.axes[0].lines) == 8
    # The classes 3, 4 and 8 to 11 are near the middle, the others far from it.
    assert {f"y = {c}" for c in (0, 1, 2, 5, 6, 7)} < set(texts)
    assert "the most telling 8 of 12 classes" in figure.get_suptitle().replace("\n", " ")
    two = nb.plot_densities(posterior, X, at, classes=[11, 3])
    assert [text.get_text() for text in two.legends[0].get_texts()] == ["y = 11", "y = 3"]
    assert two.get_suptitle().replace("\n", " ").endswith(", 2 of 12 classes")


@every_posterior
def test_log_odds_of_a_pair(posteriors, kind):
    posterior = posteriors[kind]
    figure = nb.plot_log_odds(posterior, X, Y, classes=("oak", "ash"), prob=0.7, key=2, sort=True)
    (axis,) = figure.axes
    log_proba = posterior.predict_log_proba(X)
    odds = log_proba[:, 2] - log_proba[:, 0]
    order = np.argsort(-odds, kind="stable")
    assert names(axis) == [str(row) for row in order]
    of_labels = markers(axis)
    if kind == "point":
        assert len(axis.lines) == 1, "zero, and no bars"
        assert "no bars" in figure.get_suptitle()
    else:
        joint = posterior.log_joint_draws(X, key=2)
        low, middle, high = np.quantile(joint[..., 2] - joint[..., 0], [0.15, 0.5, 0.85], axis=(0, 1))[:, order]
        np.testing.assert_allclose(intervals(axis), np.column_stack([low, high]))
        np.testing.assert_allclose(offsets(of_labels.pop(0)), np.column_stack([middle, np.arange(24)]))
        assert "points: parameters integrated out" in figure.get_suptitle()
        told = figure.legends[0].get_texts()[0].get_text()
        assert told == "70 % interval of the log odds under single draws, with their median"
    for found, label in zip(of_labels, ["oak", "ash", "birch"], strict=True):
        mine = np.flatnonzero(Y[order] == label)
        np.testing.assert_allclose(offsets(found), np.column_stack([odds[order][mine], mine]))
    assert axis.get_xlabel() == "log odds, y = oak (right) against y = ash (left)"
    assert collisions(figure) == []


def test_log_odds_of_the_two_classes_that_are_most_probable_in_the_rows(posteriors):
    exact, pairs = posteriors["exact"], set()
    for label in exact.classes:
        rows = X[label != Y]
        left, right = exact.classes[np.sort(np.argsort(-exact.predict_proba(rows.head(9)).mean(axis=0))[:2])]
        shown = nb.plot_log_odds(exact, rows, max_rows=9, num_draws=5).axes[0].get_xlabel().replace("\n", " ")
        assert shown == f"log odds, y = {right} (right) against y = {left} (left)"
        pairs.add((left, right))
    assert len(pairs) > 1


@jax.jit
def log_density_of(marginal: dist.Distribution, points: np.ndarray) -> Any:
    return marginal.log_prob(points)


def density_of(marginal: dist.Distribution, grid: np.ndarray, index: tuple[int, ...]) -> np.ndarray:
    with jax.enable_x64(True):
        values = np.exp(np.asarray(log_density_of(marginal, grid.reshape(-1, *[1] * len(marginal.batch_shape)))))
    return values[(..., *index)]


def test_priors_that_differ_by_class_are_all_drawn():
    posterior = nb.fit(nb.NaiveBayes({"old": nb.Bernoulli([[1.0], [2.0], [3.0]], 1.0)}), X, Y)
    axis = nb.plot_prior_posterior(posterior, sites="old_prob", classes=["oak", "ash"]).axes[0]
    oak, ash, prior_of_oak, prior_of_ash = (line.get_data() for line in axis.lines)
    np.testing.assert_allclose(prior_of_oak[1], scipy.stats.beta.pdf(prior_of_oak[0], 3.0, 1.0), rtol=1e-9)
    np.testing.assert_allclose(prior_of_ash[1], 1.0)
    for (grid, density), c in ((oak, 2), (ash, 0)):
        np.testing.assert_allclose(density, density_of(posterior.marginals()["old_prob"], grid, (c,)), rtol=1e-9)
    known = nb.fit(nb.NaiveBayes({"old": nb.Bernoulli()}, class_probs="empirical"), X, Y)
    assert len([axis for axis in nb.plot_prior_posterior(known).axes if axis.axison]) == 1


def test_probabilities_of_a_large_vocabulary_have_a_part_of_the_range():
    counts = np.ones((4, 3000))
    posterior = nb.fit(nb.Multinomial(), counts, ["a", "b", "a", "b"])
    whole, word = nb.plot_prior_posterior(posterior, max_panels=2).axes
    assert whole.get_xlim() == (0.0, 1.0)
    assert word.get_xlim()[1] < 0.01


def of_one_probability(values, family):
    """The panel of draws of a probability over its prior."""
    draws = {"class_prob": np.ones((1, len(values), 1)), "x_prob": np.reshape(values, (1, -1, 1))}
    X = pd.DataFrame({"x": [0, 1]})
    return nb.plot_prior_posterior(nb.from_samples(nb.NaiveBayes({"x": family}), draws, X=X, y=["a", "a"])).axes[0]


def test_a_prior_that_is_narrower_than_the_draws_does_not_flatten_them():
    axis = of_one_probability(np.linspace(0.01, 0.99, 500), nb.Bernoulli(1e6, 1e6))
    highest = max(patch.get_xy()[:, 1].max() for patch in axis.patches)
    assert axis.get_ylim()[1] == pytest.approx(1.06 * 1.5 * highest)


def test_a_heavy_tailed_prior_does_not_hide_the_posterior():
    rng = np.random.default_rng(2)
    X = rng.normal(5.0, 0.01, (200, 1))
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian(0.0, 0.001, 0.1, 1e-6)), X, ["a"] * 200, classes=["a", "b"])
    both, a, b = (
        nb.plot_prior_posterior(posterior, sites=["x_mean", "x_variance"], classes=classes).axes
        for classes in (None, ["a"], ["b"])
    )
    for axis, beside in zip(a, both, strict=True):
        heights = axis.lines[0].get_ydata()
        assert (heights > heights.max() / 100).mean() > 0.15
        np.testing.assert_allclose(beside.get_xlim(), axis.get_xlim(), err_msg="class b does not widen the panel")
    # A class without a row keeps its prior, whose mean and variance are infinite.
    low, lower, median, upper = scipy.stats.invgamma.ppf([0.002, 0.25, 0.5, 0.75], 0.1, scale=1e-6)
    high = median + 4 * (upper - lower)
    assert b[1].get_xlim()[1] == pytest.approx(high + 0.5 * (high - low))
    for axis in b:
        np.testing.assert_allclose(*(line.get_ydata() for line in axis.lines), rtol=1e-9)


def test_a_prior_without_closed_form_is_drawn():
    """Its draws, beside the density of a conjugate prior of another feature."""
    draws = {name: np.full((1, 5, 3), 0.5) for name in ("class_prob", "old_prob", "nests_shape", "nests_speed")}
    draws["class_prob"] = np.full((1, 5, 3), 1 / 3)
    model = nb.NaiveBayes({"old": nb.Bernoulli(), "nests": Durations()})
    posterior = nb.from_samples(model, draws, X=X.assign(nests=X["nests"] + 1), y=Y)
    _, old, *of_nests = (axis for axis in nb.plot_prior_posterior(posterior).axes if axis.axison)
    np.testing.assert_allclose(old.lines[0].get_ydata(), 1.0)
    for axis in of_nests:
        assert not axis.lines
        outline = axis.patches[-1].get_xy()
        centres = (outline[1:-1:2, 0] + outline[2::2, 0]) / 2
        np.testing.assert_allclose(outline[1:-1:2, 1], scipy.stats.gamma.pdf(centres, 2, scale=2), atol=0.05)
        # Priors of several classes have the colours of these, and the prior of a single one that of the legend.
        assert [patch.get_edgecolor() for patch in axis.patches[-3:]] == [to_rgba(f"C{c}") for c in range(3)]
    alone = nb.plot_prior_posterior(posterior, sites="nests_shape", classes=["birch"])
    assert alone.axes[0].patches[-1].get_edgecolor() == to_rgba(alone.legends[0].legend_handles[0].get_color())


@pytest.mark.parametrize(("given", "extreme", "number"), [(None, 0, 4), (None, 6, 6), (None, 40, 12), (3, 40, 3)])
def test_each_extreme_result_has_a_panel_within_bounds(given, extreme, number):
    assert number_of_panels(given, extreme) == number


def test_parameters_of_a_z_of_three_have_a_panel(posteriors):
    found = nb.compare(posteriors["exact"], posteriors["sampled"])
    table = found.table.copy()
    table[[name for name in table if name.startswith("z_")]] = 0.5
    large = table.index[[1, 4, 5, 7, 8, 10]]
    table.loc[large, "z_skew"] = [3.0, -4.0, 3.2, -3.1, 5.0, 3.3]
    table.loc[table.index[2], "z_mean"] = 2.99
    titles = [axis.get_title() for axis in replace(found, table=table).plot().axes if axis.axison]
    assert [title.split("\nz ")[1] for title in titles] == [
        *("skew +5.0", "skew -4.0", "skew +3.3", "skew +3.2", "skew -3.1", "skew +3.0")
    ]


@pytest.mark.parametrize(
    "small", [1e-16, 0.1, *(pytest.param(small, marks=pytest.mark.slow) for small in (1e-4, 0.01, 0.5, 1.0))]
)
def test_the_bars_of_a_comparison_are_visible_where_a_density_is_infinite(small):
    """As it is at zero or one where a concentration is below one."""
    model, ones, y = nb.NaiveBayes(nb.Bernoulli(small, small)), np.repeat([[1], [0]], 3, axis=0), list("aaabbb")
    exact = nb.fit(model, ones, y)
    found = nb.compare(exact, nb.from_samples(model, exact.draws(key=1), X=ones, y=y))
    of_x = {"x_prob[a, 0]": (3 + small, small), "x_prob[b, 0]": (small, 3 + small)}
    for axis in found.plot().axes:
        beta = scipy.stats.beta(*of_x.get(axis.get_title().split("\n")[0], (4, 4)))
        grid, density = axis.lines[0].get_data()
        np.testing.assert_allclose(density, beta.pdf(grid))
        assert sum(bar.get_height() * bar.get_width() for bar in axis.patches) == pytest.approx(1.0)
        assert axis.get_ylim()[1] < 2 * max(bar.get_height() for bar in axis.patches)


@pytest.mark.slow
def test_bars_are_visible_where_a_predictive_density_is_infinite():
    """Of shares of which most are nearly zero, or one, in one class."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 100)
    shares = pd.DataFrame({"share": rng.beta(np.where(y == "a", 0.2, 2.0), 0.3).clip(1e-9, 1 - 1e-9)})
    (axis,) = nb.plot_densities(nb.fit(nb.NaiveBayes(nb.Beta()), shares, y, nb.MAP()), shares, y).axes
    line = max(axis.lines, key=lambda line: line.get_ydata().max())
    tallest = max(patch.get_xy()[:, 1].max() for patch in axis.patches)
    assert line.get_ydata().max() > 8 * tallest
    assert axis.get_ylim()[1] < 4 * tallest


def test_draws_without_spread_have_a_histogram_of_area_one_in_the_middle_of_their_panel():
    axis = of_one_probability(np.full(50, 0.3), nb.Bernoulli())
    corners = axis.patches[0].get_xy()
    assert np.trapezoid(corners[: len(corners) // 2 + 1, 1], corners[: len(corners) // 2 + 1, 0]) == pytest.approx(1.0)
    assert axis.get_xlim() == pytest.approx((-0.2, 0.8))


def test_of_many_parameters_those_that_differ_most_between_classes_are_shown():
    """The most different is neither the first nor the one of the largest numbers."""
    counts = {"many": [150, 151, 149, 165, 164, 166], "few": [1, 0, 1, 9, 10, 8], "same": [5, 5, 5, 5, 5, 5]}
    posterior = nb.fit(nb.Poisson(), pd.DataFrame(counts), list("aaabbb"))

    def heads(**options):
        return [axis.get_title() for axis in nb.plot_prior_posterior(posterior, **options).axes]

    assert heads(max_panels=1) == ["x_rate [few]"]
    assert heads(max_panels=2) == ["x_rate [many]", "x_rate [few]"]
    assert heads(max_panels=1, classes=["a"]) == ["class_prob"], "one class has no differences"
    assert heads() == ["class_prob", *(f"x_rate [{name}]" for name in counts)]


@pytest.mark.slow
def test_strange_and_long_names_are_drawn_as_they_are():
    long = "a class with a name that goes on, and on, and on, until the page is full"
    y = np.array(["_hidden", "cost $5 or $6", long])[np.arange(24) % 3]
    named = X.rename(columns={"height": "height $h$ of the tree, measured from the ground up, in metres", "old": "$o"})
    posterior = nb.fit(nb.NaiveBayes.from_frame(named, families={"nests": nb.Gaussian()}), named, y)
    rows = {"max_rows": 4, "labels": [f"{long} {i}" for i in range(24)]}
    pictures = [
        nb.plot_proba(posterior, named, y, **rows),
        nb.plot_densities(posterior, named, y),
        nb.plot_spikes(posterior),
        nb.plot_log_odds(posterior, named, y, classes=(long, "_hidden"), **rows),
        nb.plot_prior_posterior(posterior, max_panels=9),
    ]
    for figure in pictures:
        assert collisions(figure) == []
        assert not [text for text in figure.findobj(Text) if is_math_text(text.get_text())]
    assert "y = _hidden" in [text.get_text() for text in pictures[0].legends[0].get_texts()]


def test_densities_that_are_highest_at_the_ends_of_their_support():
    """Also infinite there: the panel is as high as a density at its 5 % quantile."""
    (axis,) = nb.plot_prior_posterior(nb.fit(nb.Bernoulli(0.5, 0.5), [[0], [0]], ["a", "a"])).axes
    for line in axis.lines:
        assert np.isfinite(line.get_ydata()).all()
        assert 0 < line.get_xdata()[0] < line.get_xdata()[1]
    assert 0 < axis.get_ylim()[1] < 100
    (axis,) = nb.plot_prior_posterior(nb.fit(nb.Poisson(1.0, 1.0), [[0], [0]], ["a", "a"])).axes
    assert axis.get_ylim()[1] == pytest.approx(1.06 * 0.95 * 3, rel=0.05)


def test_rows_are_named_by_the_index_of_their_table(posteriors):
    rows = X.iloc[20:22]
    for figure in (nb.plot_proba(posteriors["exact"], rows), nb.plot_log_odds(posteriors["exact"], rows)):
        assert names(figure.axes[0]) == ["20", "21"]
    plain = nb.fit(nb.Bernoulli(), [[0], [1]], [0, 1])
    assert names(nb.plot_proba(plain, [[1]], num_draws=5).axes[0]) == ["0"]
