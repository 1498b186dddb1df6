"""Pictures of posteriors: what they draw is what the posterior says."""

import itertools
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
from cases import Exponential
from drawn import collisions, intervals
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

import bayesnb as nb
from bayesnb.checks.calibration import _ticks
from bayesnb.core.forest import number_of_panels
from bayesnb.core.panels import LINES

ROWS = 60


@pytest.fixture(scope="module")
def table():
    """Three classes, one column of each family but the multinomial, with missing cells."""
    rng = np.random.default_rng(5)
    y = np.array(["ash", "birch", "oak"])[rng.integers(0, 3, ROWS)]
    shift = np.searchsorted(["ash", "birch", "oak"], y)
    X = pd.DataFrame(
        {
            "height": rng.normal(10 + 2 * shift, 1.5),
            "nests": rng.poisson(1 + 2 * shift).astype(float),
            "leaf": np.array(["round", "lobed"])[rng.integers(0, 2, ROWS)],
            "old": rng.integers(0, 2, ROWS).astype(float),
        }
    )
    X.loc[3, "height"] = np.nan
    X.loc[5, "leaf"] = None
    return X, y


@pytest.fixture(scope="module")
def model():
    return nb.NaiveBayes(
        {"height": nb.Gaussian(), "nests": nb.Poisson(), "leaf": nb.Categorical(), "old": nb.Bernoulli()}
    )


@pytest.fixture(scope="module")
def exact(model, table):
    return nb.fit(model, *table)


@pytest.fixture(scope="module")
def sampled(model, table, exact):
    X, y = table
    return nb.from_samples(model, exact.draws(num_draws=200, num_chains=2, key=4), X=X, y=y)


@pytest.fixture(scope="module")
def point(model, table):
    return nb.fit(model, *table, nb.MLE())


@pytest.fixture(scope="module")
def words():
    """Word counts in two classes, each row of a different length."""
    rng = np.random.default_rng(9)
    y = np.array(["ham", "spam"])[np.arange(20) % 2]
    probs = np.where((y == "spam")[:, None], [0.4, 0.3, 0.2, 0.1], [0.4, 0.1, 0.2, 0.3])
    X = pd.DataFrame([rng.multinomial(30, p) for p in probs], columns=["the", "buy", "of", "meeting"])
    return X, y, nb.fit(nb.NaiveBayes({"text": (nb.Multinomial(), list(X.columns))}), X, y)


def every_posterior(*names: str) -> Any:
    return pytest.mark.parametrize("name", names or ("exact", "sampled", "point"))


def offsets(collection: Any) -> np.ndarray:
    return np.asarray(collection.get_offsets())


def markers(axis: Any) -> list[Any]:
    """Collections of points; the others hold lines."""
    found = [each for each in axis.collections if len(each.get_paths()) == 1 and hasattr(each, "get_sizes")]
    return [each for each in found if len(each.get_offsets())]


def bars(axis: Any) -> list[np.ndarray]:
    return [np.array(found.get_segments()) for found in axis.collections if hasattr(found, "get_segments")]


@every_posterior()
def test_proba_draws_probabilities_and_intervals(request, name, table):
    posterior, (X, y) = request.getfixturevalue(name), table
    figure = nb.plot_proba(posterior, X, y, prob=0.8, max_rows=7, key=3)
    (axis,) = figure.axes
    expected = posterior.predict_proba(X)[:7]
    drawn = markers(axis)
    np.testing.assert_allclose(np.column_stack([offsets(found)[:, 0] for found in drawn]), expected)
    rows = np.column_stack([offsets(found)[:, 1] for found in drawn])
    assert (np.rint(rows) == np.arange(7)[:, None]).all()
    np.testing.assert_allclose(rows.mean(axis=1), np.arange(7), atol=1e-12, err_msg="marks lie around their row's name")
    for code, found in enumerate(drawn):
        filled = found.get_facecolors()[:, :3].min(axis=1) < 1
        np.testing.assert_array_equal(filled, y[:7] == posterior.classes[code])
    if name == "point":
        assert not bars(axis)
        assert "no interval" in figure.get_suptitle()
    else:
        ends = posterior.proba_interval(X.head(7), prob=0.8, key=3)
        np.testing.assert_allclose([found[:, :, 0] for found in bars(axis)], ends.swapaxes(0, 1))
        assert "80 % interval" in figure.get_suptitle()
    assert f"first 7 of {ROWS} rows" in figure.get_suptitle()
    assert collisions(figure) == []


def test_proba_warns_once(exact, table):
    X = table[0].head(5).assign(leaf="serrated")
    with pytest.warns(UserWarning, match="leaf") as caught:
        nb.plot_proba(exact, X)
    assert len(caught) == 1


def test_proba_of_two_classes_shows_the_second(words):
    X, y, posterior = words
    figure = nb.plot_proba(posterior, X, y)
    (found,) = markers(figure.axes[0])
    np.testing.assert_allclose(offsets(found)[:, 0], posterior.predict_proba(X)[:, 1])
    assert figure.axes[0].get_xlabel() == "p(y = spam | x)"
    both = nb.plot_proba(posterior, X, classes=["spam", "ham"], labels=[f"letter {i}" for i in range(20)])
    first, second = markers(both.axes[0])
    np.testing.assert_allclose(offsets(first)[:, 0] + offsets(second)[:, 0], 1.0)
    np.testing.assert_allclose(offsets(first)[:, 0], posterior.predict_proba(X)[:, 1])
    assert [text.get_text() for text in both.axes[0].get_yticklabels()][2] == "letter 2"
    alone = nb.plot_proba(posterior, X)
    assert alone.legends == [], "the axis says what the only kind of mark is"
    assert len(both.legends) == 1
    (unknown,) = markers(alone.axes[0])
    assert (unknown.get_facecolors()[:, :3].min(axis=1) < 1).all(), "marks are filled where no label is known"


@every_posterior()
def test_proba_of_many_classes_shows_the_three_most_probable_and_the_sum_of_the_others(name):
    rng = np.random.default_rng(3)
    y = rng.integers(0, 6, 80)
    X = pd.DataFrame({"a": rng.normal(y), "b": rng.normal(-y)})
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y, nb.MLE() if name == "point" else nb.Exact())
    if name == "sampled":
        posterior = nb.from_samples(nb.NaiveBayes(nb.Gaussian()), posterior.draws(num_draws=30), X=X, y=y)
    figure = nb.plot_proba(posterior, X, y, max_rows=9, sort=True, num_draws=None if name == "sampled" else 30, key=1)
    (axis,) = figure.axes
    probs = posterior.predict_proba(X)[:9]
    order = np.argsort(-probs.max(axis=1), kind="stable")
    (points,) = markers(axis)
    drawn = offsets(points)[:, 0].reshape(9, 4)
    ranked = -np.sort(-probs[order], axis=1)
    np.testing.assert_allclose(drawn[:, :3], ranked[:, :3])
    np.testing.assert_allclose(drawn[:, 3], ranked[:, 3:].sum(axis=1))
    three = np.argsort(-probs[order], axis=1)[:, :3]
    names = [f"{row}, {c}" for row, of_row in zip(order, three, strict=True) for c in [*of_row, "3 others"]]
    assert [text.get_text() for text in axis.get_yticklabels()] == names
    filled = (points.get_facecolors()[:, :3].min(axis=1) < 1).reshape(9, 4)
    truth = y[:9][order][:, None]
    np.testing.assert_array_equal(filled, np.column_stack([three == truth, (three != truth).all(axis=1)]))
    if name != "point":
        draws = posterior.proba_draws(X.head(9), num_draws=None if name == "sampled" else 30, key=1)[..., order, :]
        rest = 1 - sum(draws[:, :, np.arange(9), three[:, i]] for i in range(3))
        ends = np.quantile(rest, [0.055, 0.945], axis=(0, 1)).T
        np.testing.assert_allclose(bars(axis)[0][3::4, :, 0], ends, atol=1e-12)


def test_names_of_many_classes_are_in_one_line():
    names = ["5 $ and 6 $", "a class with a name that goes on and on, in a long line", "c", "d"]
    posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], names)
    figure = nb.plot_proba(posterior, [[1]], num_draws=5)
    first, second, *_ = (text.get_text() for text in figure.axes[0].get_yticklabels())
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
    open: list[bool]


def spikes(axis: Any) -> Spikes:
    (segments,) = bars(axis)
    notes = [text.get_text() for text in axis.texts if isinstance(text, Annotation)]
    hollow = [to_rgba(line.get_markerfacecolor()) == to_rgba("white") for line in axis.lines]
    return Spikes(segments[:, 1, 1], notes, hollow)


def test_spikes_of_words_and_of_columns_named_one_by_one(words, table, exact, point, sampled):
    _, _, posterior = words
    figure = nb.plot_spikes(posterior, num_labels=2)
    for c, axis in enumerate(figure.axes):
        found = spikes(axis)
        np.testing.assert_allclose(found.heights, posterior.mean()["text_prob"][c])
        assert len(found.names) == 2
    for one in (exact, sampled, point):
        figure = nb.plot_spikes(one, "old")
        heights = [spikes(axis).heights for axis in figure.axes]
        np.testing.assert_allclose(np.ravel(heights), one.mean()["old_prob"])
    alone = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1, 0]], ["only"])
    assert spikes(nb.plot_spikes(alone).axes[0]).open == [False, False]
    assert len(nb.plot_spikes(exact, max_panels=2).axes) == 2


@pytest.mark.parametrize("binary", [True, False])
def test_the_most_telling_spikes_are_named(binary):
    rng = np.random.default_rng(11)
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


def test_spikes_of_xwindows(data):
    """Murphy (2012), Figure 3.8 and Table 3.1."""
    stored = np.load(data / "xwindows" / "xwindows.npz")
    counts = scipy.sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=stored["shape"])
    train = stored["split"] == 0
    words = pd.read_csv(data / "xwindows" / "xwindows.vocab.txt.gz", header=None, keep_default_na=False)[0].tolist()
    posterior = nb.fit(nb.Bernoulli(), pd.DataFrame(counts.toarray()[train], columns=words), stored["y"][train])
    first, second = (spikes(axis) for axis in nb.plot_spikes(posterior, label="tallest").axes)
    for panel, tallest in (
        (first, {"subject": 0.997788, "this": 0.628319, "with": 0.535398, "but": 0.471239, "you": 0.431416}),
        (second, {"subject": 0.997788, "windows": 0.639381, "this": 0.539823, "with": 0.537611, "but": 0.517699}),
    ):
        heights = [panel.heights[words.index(word)] for word in tallest]
        np.testing.assert_allclose(heights, [*tallest.values()], atol=1e-6)
        assert sorted(name.split("\n")[0] for name in panel.names) == sorted(tallest)
        everywhere = [name.split("\n")[0] for name in panel.names if "in every class" in name.replace("\n", " ")]
        assert sorted(everywhere) == ["subject", "with"]


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


@pytest.mark.parametrize("at", [*(pytest.param(at, marks=pytest.mark.slow) for at in (0, 27)), 55])
def test_names_of_neighbouring_spikes_stand_side_by_side(at):
    X = np.zeros((20, 60))
    X[:, at : at + 5] = 1
    frame = pd.DataFrame(X, columns=[f"the column numbered {j}" for j in range(60)])
    figure = nb.plot_spikes(nb.fit(nb.NaiveBayes(nb.Bernoulli()), frame, np.arange(20) % 2), label="tallest")
    assert collisions(figure) == []
    for axis in figure.axes:
        places = [text.get_position()[0] for text in axis.texts]
        assert len(places) == 5
        assert places == sorted(places)
        assert 0 < places[0] < places[-1] < 1


def lines_by_title(figure: Any) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    return {axis.get_title(): [line.get_data() for line in axis.lines] for axis in figure.axes if axis.get_title()}


def test_densities_of_an_exact_posterior_are_its_predictives(exact, table):
    X, y = table
    figure = nb.plot_densities(exact, X, y)
    lines = lines_by_title(figure)
    assert list(lines) == ["height", "nests", "leaf", "old"]
    gaussian, poisson = exact.families[0], exact.families[1]
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


def test_densities_of_draws_and_of_a_point(exact, sampled, point, table):
    grid, density = lines_by_title(nb.plot_densities(point, *table))["height"][1]
    mean, variance = point.mean()["height_mean"][1], point.mean()["height_variance"][1]
    np.testing.assert_allclose(density, scipy.stats.norm.pdf(grid, mean, np.sqrt(variance)), rtol=1e-9)
    _, averaged = lines_by_title(nb.plot_densities(sampled, *table))["height"][1]
    draws = sampled.draws()
    each = scipy.stats.norm.pdf(
        grid[:, None], draws["height_mean"][..., 1].ravel(), np.sqrt(draws["height_variance"][..., 1].ravel())
    )
    weights = draws["class_prob"][..., 1].ravel()
    np.testing.assert_allclose(averaged, each @ weights / weights.sum(), rtol=1e-9)


@pytest.mark.parametrize("bins", [1, 10])
def test_histograms_hold_the_observed_cells_of_each_class(exact, table, bins):
    X, y = table
    axis = nb.plot_densities(exact, X, y, features="height", bins=bins).axes[0]
    cells = X["height"].to_numpy()
    for c, outline in enumerate(axis.patches):
        corners = outline.get_xy()
        edges, heights = np.unique(corners[:, 0]), corners[1 : 2 * bins + 1 : 2, 1]
        mine = cells[(y == exact.classes[c]) & ~np.isnan(cells)]
        expected, _ = np.histogram(mine, edges, density=True)
        np.testing.assert_allclose(heights, expected)
        assert edges[0] < np.nanmin(cells)
        assert edges[-1] > np.nanmax(cells)
    assert len(axis.patches) == 3
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


@every_posterior()
def test_categories_and_zeros_and_ones_have_probabilities_over_shares_of_the_data(request, name, table):
    posterior, (X, y) = request.getfixturevalue(name), table
    figure = nb.plot_densities(posterior, X, y, features=["old", "leaf"])
    for axis, column, values in zip(figure.axes, ("old", "leaf"), ([0, 1], ["lobed", "round"]), strict=False):
        assert axis.get_title() == column
        assert [text.get_text() for text in axis.get_xticklabels()] == [str(value) for value in values]
        points, heights = drawn_categories(axis)
        rows = X.head(2).assign(**{other: np.nan for other in X.columns if other != "leaf"}, leaf=None)
        empty = posterior.log_joint(rows)[0]
        rows[column] = values
        # The second route: rows in which every other cell is missing.
        np.testing.assert_allclose(points.T, np.exp(posterior.log_joint(rows) - empty), rtol=1e-9)
        shares = pd.crosstab(y, X[column], normalize="index")
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
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), X, y)
    figure = nb.plot_densities(posterior, X, y)
    points, heights = drawn_categories(figure.axes[0])
    assert points.shape == heights.shape == (8, 5)
    number = len(posterior.model.schema.categories[0])
    names = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert names[-1] == f"{number - 4} others"
    np.testing.assert_allclose(points.sum(axis=1), 1.0)
    np.testing.assert_allclose(heights.sum(axis=1), 1.0)
    shares = pd.crosstab(y, X["town"], normalize="index")
    np.testing.assert_allclose(heights[:, :4], shares[names[:4]])
    counts = pd.crosstab(y, X["town"])
    probs = ((counts + 1).div(counts.sum(axis=1) + number, axis=0)).sum()
    assert names[:4] == sorted(probs.nlargest(4).index), "the most probable ones, in the order of the categories"
    few = X.where(X["town"] < "town 13", "town 0")
    axis = nb.plot_densities(nb.fit(nb.NaiveBayes(nb.Categorical()), few, y), few, y).axes[0]
    assert [text.get_text() for text in axis.get_xticklabels()] == sorted(few["town"].unique()), "five have room"


def test_the_most_telling_columns_are_shown():
    rng = np.random.default_rng(6)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    probs = rng.uniform(0.1, 0.9, (3, 20))
    X = pd.DataFrame(
        rng.uniform(size=(300, 20)) < probs[np.searchsorted(["a", "b", "c"], y)], columns=list("ABCDEFGHIJKLMNOPQRST")
    )
    posterior = nb.fit(nb.Bernoulli(), X.astype(float), y)
    information = nb.mutual_information(posterior, num_draws=5)["at_posterior_mean"]
    ranked = information.sort_values(ascending=False).index
    figure = nb.plot_densities(posterior, max_panels=5)
    titles = [axis.get_title() for axis in figure.axes if axis.axison]
    assert titles == [label for label in X.columns if label in set(ranked[:5])]
    assert "the most telling 5 of 20 columns" in figure.get_suptitle().replace("\n", " ")
    figure = nb.plot_densities(posterior, max_panels=5, sort=True)
    assert [axis.get_title() for axis in figure.axes if axis.axison] == list(ranked[:5])
    named = nb.plot_densities(posterior, features=["T", "A"])
    assert [axis.get_title() for axis in named.axes if axis.axison] == ["T", "A"]


def test_numbers_are_ranked_by_their_information():
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame(
        {"none": rng.normal(size=400), "some": rng.normal(y), "most": rng.normal(3 * y), "count": rng.poisson(1 + y)}
    )
    families = {"none": nb.Gaussian(), "some": nb.Gaussian(), "most": nb.Gaussian(), "count": nb.Poisson()}
    posterior = nb.fit(nb.NaiveBayes(families), X, y)
    information = nb.mutual_information(posterior, num_draws=5)["at_posterior_mean"].sort_values(ascending=False)
    figure = nb.plot_densities(posterior, X, y, sort=True)
    assert [axis.get_title() for axis in figure.axes if axis.axison] == list(information.index)


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


@every_posterior()
def test_log_odds_of_a_pair(request, name, table):
    posterior, (X, y) = request.getfixturevalue(name), table
    figure = nb.plot_log_odds(posterior, X, y, classes=("oak", "ash"), prob=0.7, key=2, sort=True)
    (axis,) = figure.axes
    log_proba = posterior.predict_log_proba(X)
    odds = log_proba[:, 2] - log_proba[:, 0]
    order = np.argsort(-odds, kind="stable")
    assert [text.get_text() for text in axis.get_yticklabels()] == [str(row) for row in order]
    of_labels = markers(axis)
    if name == "point":
        assert len(axis.lines) == 1, "zero, and no bars"
        assert "no bars" in figure.get_suptitle()
    else:
        joint = posterior.log_joint_draws(X, key=2)
        low, middle, high = np.quantile(joint[..., 2] - joint[..., 0], [0.15, 0.5, 0.85], axis=(0, 1))[:, order]
        np.testing.assert_allclose(intervals(axis), np.column_stack([low, high]))
        np.testing.assert_allclose(offsets(of_labels.pop(0)), np.column_stack([middle, np.arange(ROWS)]))
        assert "points: parameters integrated out" in figure.get_suptitle()
        told = figure.legends[0].get_texts()[0].get_text()
        assert told == "70 % interval of the log odds under single draws, with their median"
    for found, label in zip(of_labels, ["oak", "ash", "birch"], strict=True):
        mine = np.flatnonzero(y[order] == label)
        np.testing.assert_allclose(offsets(found), np.column_stack([odds[order][mine], mine]))
    assert axis.get_xlabel() == "log odds, y = oak (right) against y = ash (left)"
    assert collisions(figure) == []


def test_infinite_log_odds_lie_at_the_edge():
    estimate = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1], [1, 1]], ["a", "a", "b", "b"], nb.MLE())
    figure = nb.plot_log_odds(estimate, [[0, 1], [1, 1], [1, 0]])
    point, left, right = markers(figure.axes[0])
    assert offsets(point)[:, 1].tolist() == [1]
    low, high = figure.axes[0].get_xlim()
    assert low < offsets(left)[0, 0] < -abs(offsets(point)[0, 0])
    assert abs(offsets(point)[0, 0]) < offsets(right)[0, 0] < high
    assert offsets(right)[:, 1].tolist() == [0]
    assert offsets(left)[:, 1].tolist() == [2]
    assert "infinite" in figure.get_suptitle()
    assert collisions(figure) == []


def test_log_odds_of_the_two_classes_that_are_most_probable_in_the_rows(exact, table):
    X, y = table
    pairs = set()
    for label in exact.classes:
        rows = X[np.asarray(y) != label]
        left, right = np.sort(np.argsort(-exact.predict_proba(rows.head(9)).mean(axis=0))[:2])
        figure = nb.plot_log_odds(exact, rows, max_rows=9, num_draws=5)
        shown = figure.axes[0].get_xlabel().replace("\n", " ")
        assert shown == f"log odds, y = {exact.classes[right]} (right) against y = {exact.classes[left]} (left)"
        pairs.add((left, right))
    assert len(pairs) > 1


@jax.jit
def log_density_of(marginal: dist.Distribution, points: np.ndarray) -> Any:
    return marginal.log_prob(points)


def density_of(marginal: dist.Distribution, grid: np.ndarray, index: tuple[int, ...]) -> np.ndarray:
    with jax.enable_x64(True):
        values = np.exp(np.asarray(log_density_of(marginal, grid.reshape(-1, *[1] * len(marginal.batch_shape)))))
    return values[(..., *index)]


@pytest.mark.slow
def test_prior_and_posterior_of_an_exact_posterior(exact):
    figure = nb.plot_prior_posterior(exact, max_panels=100)
    sites = exact.model.sites.axes()
    panels = {axis.get_title(): axis for axis in figure.axes if axis.axison}
    expected = []
    for site, (_, *others) in sites.items():
        names = [", ".join(map(str, at)) for at in itertools.product(*(labels for _, labels in others))]
        expected += [f"{site} [{name}]" if name else site for name in names]
    assert list(panels) == expected
    (prior,) = panels["nests_rate"].lines[3:]
    a, b = exact.model.families[1].concentration[1, 0], exact.model.families[1].rate[1, 0]
    grid, density = prior.get_data()
    np.testing.assert_allclose(density, scipy.stats.gamma.pdf(grid, a, scale=1 / b), rtol=1e-9)
    grid, density = panels["nests_rate"].lines[1].get_data()
    a, b = exact.families[1].concentration[1, 0], exact.families[1].rate[1, 0]
    np.testing.assert_allclose(density, scipy.stats.gamma.pdf(grid, a, scale=1 / b), rtol=1e-9)
    np.testing.assert_allclose(panels["leaf_prob [round]"].lines[3].get_ydata(), 1.0)
    for site, marginal in exact.marginals().items():
        for index in np.ndindex(marginal.batch_shape[1:]):
            name = ", ".join(str(labels[k]) for (_, labels), k in zip(sites[site][1:], index, strict=True))
            axis = panels[f"{site} [{name}]" if name else site]
            *after, before = axis.lines
            assert len(after) == 3
            for c, line in enumerate(after):
                grid, density = line.get_data()
                np.testing.assert_allclose(density, density_of(marginal, grid, (c, *index)), rtol=1e-9)
                # The panel holds nearly all of the posterior.
                assert np.trapezoid(density, grid) > 0.97
                assert line.get_linestyle() == LINES[c]
            assert before.get_linestyle() == "--"
            assert before.get_linewidth() < after[0].get_linewidth()
            if site.endswith("_prob"):
                assert axis.get_xlim() == (0.0, 1.0)
            else:
                # The posteriors have at least a third of the panel.
                low, high = axis.get_xlim()
                grid = after[0].get_xdata()
                seen = np.max([line.get_ydata() / line.get_ydata().max() for line in after], axis=0) > 0.01
                assert np.ptp(grid[seen]) > 0.33 * (high - low)
    assert collisions(figure) == []


def test_priors_that_differ_by_class_are_all_drawn(table):
    X, y = table
    posterior = nb.fit(nb.NaiveBayes({"old": nb.Bernoulli([[1.0], [2.0], [3.0]], 1.0)}), X, y)
    axis = nb.plot_prior_posterior(posterior, sites="old_prob", classes=["oak", "ash"]).axes[0]
    oak, ash, prior_of_oak, prior_of_ash = (line.get_data() for line in axis.lines)
    np.testing.assert_allclose(prior_of_oak[1], scipy.stats.beta.pdf(prior_of_oak[0], 3.0, 1.0), rtol=1e-9)
    np.testing.assert_allclose(prior_of_ash[1], 1.0)
    for (grid, density), c in ((oak, 2), (ash, 0)):
        np.testing.assert_allclose(density, density_of(posterior.marginals()["old_prob"], grid, (c,)), rtol=1e-9)
    known = nb.fit(nb.NaiveBayes({"old": nb.Bernoulli()}, class_probs="empirical"), X, y)
    assert len([axis for axis in nb.plot_prior_posterior(known).axes if axis.axison]) == 1


def test_probabilities_of_a_large_vocabulary_have_a_part_of_the_range():
    counts = np.ones((4, 3000))
    posterior = nb.fit(nb.Multinomial(), counts, ["a", "b", "a", "b"])
    whole, word = nb.plot_prior_posterior(posterior, max_panels=2).axes
    assert whole.get_xlim() == (0.0, 1.0)
    assert word.get_xlim()[1] < 0.01


def test_draws_over_the_prior(sampled, exact):
    axis = nb.plot_prior_posterior(sampled, sites=["height_mean"], classes=["birch"]).axes[0]
    outline = axis.patches[-1].get_xy()
    edges = np.unique(outline[:, 0])
    draws = sampled.draws()["height_mean"][..., 1].ravel()
    counts, _ = np.histogram(draws, edges)
    np.testing.assert_allclose(outline[1:-1:2, 1], counts / len(draws) / np.diff(edges))
    (prior,) = axis.lines
    family = exact.model.families[0]
    m, k, a, b = (np.asarray(value)[1, 0] for value in family.hyperparameters().values())
    expected = scipy.stats.t.pdf(prior.get_xdata(), 2 * a, m, np.sqrt(b / (a * k)))
    np.testing.assert_allclose(prior.get_ydata(), expected, rtol=1e-9)


def test_a_prior_that_is_narrower_than_the_draws_does_not_flatten_them():
    draws = {"class_prob": np.ones((1, 500, 1)), "x_prob": np.linspace(0.01, 0.99, 500).reshape(1, 500, 1)}
    posterior = nb.from_samples(
        nb.NaiveBayes({"x": nb.Bernoulli(1e6, 1e6)}), draws, X=pd.DataFrame({"x": [0, 1]}), y=["a", "a"]
    )
    axis = nb.plot_prior_posterior(posterior, sites=["x_prob"]).axes[0]
    highest = max(patch.get_xy()[:, 1].max() for patch in axis.patches)
    assert axis.get_ylim()[1] == pytest.approx(1.06 * 1.5 * highest)


def test_a_heavy_tailed_prior_does_not_hide_the_posterior():
    rng = np.random.default_rng(2)
    X = rng.normal(5.0, 0.01, (200, 1))
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian(0.0, 0.001, 0.1, 1e-6)), X, ["a"] * 200, classes=["a", "b"])
    both = nb.plot_prior_posterior(posterior, sites=["x_mean", "x_variance"])
    figure = nb.plot_prior_posterior(posterior, sites=["x_mean", "x_variance"], classes=["a"])
    for axis, beside in zip(figure.axes[:2], both.axes, strict=False):
        heights = axis.lines[0].get_ydata()
        assert (heights > heights.max() / 100).mean() > 0.15
        np.testing.assert_allclose(beside.get_xlim(), axis.get_xlim(), err_msg="class b does not widen the panel")
    # A class without a row keeps its prior, whose mean and variance are infinite.
    low, lower, median, upper = scipy.stats.invgamma.ppf([0.002, 0.25, 0.5, 0.75], 0.1, scale=1e-6)
    high = median + 4 * (upper - lower)
    figure = nb.plot_prior_posterior(posterior, sites=["x_mean", "x_variance"], classes=["b"])
    assert figure.axes[1].get_xlim()[1] == pytest.approx(high + 0.5 * (high - low))
    for axis in figure.axes[:2]:
        after, before = (line.get_ydata() for line in axis.lines)
        np.testing.assert_allclose(after, before, rtol=1e-9)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Robust(nb.families.Family):
    """Normal cells of variance one, whose mean has a Laplace prior: no closed form."""

    loc: Any
    scale: Any

    def prior(self, sample):
        return {"mean": sample("mean", dist.Laplace(self.loc, self.scale))}

    def likelihood(self, mean):
        return dist.Normal(mean, 1.0)

    def statistics(self, x, membership):
        return nb.Gaussian().statistics(x, membership)

    def log_likelihood(self, parameters, statistics):
        return -0.5 * statistics.n * (statistics.mean - parameters["mean"]) ** 2


def test_a_prior_without_closed_form_is_drawn(table):
    X, y = table
    posterior = nb.fit(nb.NaiveBayes({"height": nb.Gaussian()}), X, y)
    draws = posterior.draws(num_draws=100, num_chains=1)
    samples = {"class_prob": draws["class_prob"], "height_mean": draws["height_mean"]}
    sampled = nb.from_samples(nb.NaiveBayes({"height": Robust(10.0, 4.0)}), samples, X=X, y=y)
    axis = nb.plot_prior_posterior(sampled, sites="height_mean").axes[0]
    assert not axis.lines
    outline = axis.patches[-1].get_xy()
    centres = (outline[1:-1:2, 0] + outline[2::2, 0]) / 2
    expected = scipy.stats.laplace.pdf(centres, 10.0, 4.0)
    np.testing.assert_allclose(outline[1:-1:2, 1], expected, atol=0.05)
    # Priors of several classes have the colours of these, and the prior of a single one that of the legend.
    colours = [to_rgba(f"C{c}") for c in range(3)]
    assert [patch.get_edgecolor() for patch in axis.patches[-3:]] == colours
    alone = nb.plot_prior_posterior(sampled, sites="height_mean", classes=["birch"])
    assert alone.axes[0].patches[-1].get_edgecolor() == to_rgba(alone.legends[0].legend_handles[0].get_color())


@pytest.mark.parametrize(("given", "extreme", "number"), [(None, 0, 4), (None, 6, 6), (None, 40, 12), (3, 40, 3)])
def test_each_extreme_result_has_a_panel_within_bounds(given, extreme, number):
    assert number_of_panels(given, extreme) == number


def test_parameters_of_a_z_of_three_have_a_panel(exact, sampled):
    found = nb.compare(exact, sampled)
    table = found.table.copy()
    table[[name for name in table if name.startswith("z_")]] = 0.5
    large = table.index[[1, 4, 5, 7, 8, 10]]
    table.loc[large, "z_skew"] = [3.0, -4.0, 3.2, -3.1, 5.0, 3.3]
    table.loc[table.index[2], "z_mean"] = 2.99
    titles = [axis.get_title() for axis in replace(found, table=table).plot().axes if axis.axison]
    assert [title.split("\nz ")[1] for title in titles] == [
        *("skew +5.0", "skew -4.0", "skew +3.3", "skew +3.2", "skew -3.1", "skew +3.0")
    ]


def test_draws_without_spread_have_a_histogram_of_area_one_in_the_middle_of_their_panel():
    draws = {"class_prob": np.ones((1, 50, 1)), "x_prob": np.full((1, 50, 1), 0.3)}
    posterior = nb.from_samples(
        nb.NaiveBayes({"x": nb.Bernoulli()}), draws, X=pd.DataFrame({"x": [0, 1]}), y=list("aa")
    )
    (axis,) = nb.plot_prior_posterior(posterior, sites=["x_prob"]).axes
    corners = axis.patches[0].get_xy()
    assert np.trapezoid(corners[: len(corners) // 2 + 1, 1], corners[: len(corners) // 2 + 1, 0]) == pytest.approx(1.0)
    assert axis.get_xlim() == pytest.approx((-0.2, 0.8))


def test_a_prior_of_which_one_family_has_no_closed_form_has_every_parameter():
    X, y = pd.DataFrame({"flag": [0, 1, 1, 0], "wait": [0.5, 2.0, 1.0, 3.0]}), ["a", "a", "b", "b"]
    draws = {"class_prob": np.full((1, 5, 2), 0.5)}
    draws |= {site: np.full((1, 5, 2), 0.5) for site in ("flag_prob", "wait_mean", "wait_concentration")}
    posterior = nb.from_samples(nb.NaiveBayes({"flag": nb.Bernoulli(), "wait": nb.Gamma()}), draws, X=X, y=y)
    _, flag, *of_wait = (axis for axis in nb.plot_prior_posterior(posterior).axes if axis.axison)
    np.testing.assert_allclose(flag.lines[0].get_ydata(), 1.0, err_msg="the density of a conjugate prior is exact")
    assert all(len(axis.patches) == 2 * 2 + 2 and not axis.lines for axis in of_wait), "the others are histograms"


def test_of_many_parameters_those_that_differ_most_between_classes_are_shown():
    """The most different is neither the first nor the one of the largest numbers."""
    counts = {"many": [50, 51, 49, 53, 52, 51], "few": [1, 0, 1, 9, 10, 8], "same": [5, 5, 5, 5, 5, 5]}
    posterior = nb.fit(nb.Poisson(), pd.DataFrame(counts), list("aaabbb"))

    def heads(**options):
        return [axis.get_title() for axis in nb.plot_prior_posterior(posterior, **options).axes]

    assert heads(max_panels=1) == ["x_rate [few]"]
    assert heads(max_panels=2) == ["x_rate [many]", "x_rate [few]"]
    assert heads(max_panels=1, classes=["a"]) == ["class_prob"], "one class has no differences"
    assert heads() == ["class_prob", *(f"x_rate [{name}]" for name in counts)]


@pytest.mark.slow
def test_strange_and_long_names_are_drawn_as_they_are(table):
    X, _ = table
    long = "a class with a name that goes on, and on, and on, until the page is full"
    y = np.array(["_hidden", "cost $5 or $6", long])[np.arange(ROWS) % 3]
    named = X.rename(columns={"height": "height $h$ of the tree, measured from the ground up, in metres", "old": "$o"})
    model = nb.NaiveBayes.from_frame(named, families={"nests": nb.Gaussian()})
    posterior = nb.fit(model, named, y)
    pictures = [
        nb.plot_proba(posterior, named, y, max_rows=4, labels=[f"{long} {i}" for i in range(ROWS)]),
        nb.plot_densities(posterior, named, y),
        nb.plot_spikes(posterior),
        nb.plot_log_odds(
            posterior, named, y, classes=(long, "_hidden"), max_rows=4, labels=[f"{long} {i}" for i in range(ROWS)]
        ),
        nb.plot_prior_posterior(posterior, max_panels=9),
    ]
    for figure in pictures:
        assert collisions(figure) == []
        assert not [text for text in figure.findobj(Text) if is_math_text(text.get_text())]
    legend = [text.get_text() for text in pictures[0].legends[0].get_texts()]
    assert "y = _hidden" in legend


def test_densities_that_are_infinite_at_the_ends_of_their_support():
    posterior = nb.fit(nb.Bernoulli(0.5, 0.5), [[0], [0]], ["a", "a"])
    for axis in nb.plot_prior_posterior(posterior).axes:
        for line in axis.lines:
            assert np.isfinite(line.get_ydata()).all()
            assert 0 < line.get_xdata()[0] < line.get_xdata()[1]
        assert 0 < axis.get_ylim()[1] < 100


def test_rows_are_named_by_the_index_of_their_table(penguins):
    exact, X = nb.fit(nb.NaiveBayes.from_frame(penguins[0]), *penguins), penguins[0].iloc[100:102]
    for figure in (
        nb.plot_proba(exact, X, num_draws=5),
        nb.plot_log_odds(exact, X, classes=("Gentoo", "Adelie"), num_draws=5),
    ):
        assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["100", "101"]
    plain = nb.fit(nb.Bernoulli(), [[0], [1]], [0, 1])
    assert [text.get_text() for text in nb.plot_proba(plain, [[1]], num_draws=5).axes[0].get_yticklabels()] == ["0"]


def test_probabilities_along_a_logit_axis():
    places, texts = _ticks(0.0009, 0.9991)
    np.testing.assert_allclose(places, [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999])
    assert texts == ["0.001", "0.01", "0.1", "0.5", "0.9", "0.99", "0.999"]
    # With many decades every second one, so that the texts do not touch.
    assert _ticks(0.4, 0.999991)[1] == ["0.5", "0.9", "0.999", "0.99999"]
