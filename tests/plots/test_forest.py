"""Rows with points and intervals."""

import numpy as np
import pandas as pd
import pytest
from drawn import collisions, intervals
from figures import LABELS, crowd, exact, merges, models, selection, table
from matplotlib.figure import Figure

import bayesnb as nb
from bayesnb.core.forest import ForestPanel, Points, forest

VALUES = np.array([1.0, -2.0, np.nan, np.inf, -np.inf])
LOWER, UPPER = np.array([0.5, -3.0, -1.0, np.nan, -np.inf]), np.array([2.0, -1.0, 1.0, np.nan, 0.0])
NAMES = ["a", "b", "in $ and $", "a name of\ntwo lines", "e"]

ONE = ForestPanel(
    NAMES,
    [Points(VALUES, "estimate")],
    LOWER,
    UPPER,
    "interval",
    x_label="in $",
    at=0.0,
    at_label="zero",
    title="first",
)
TWO = ForestPanel(["x", "y"], [Points([3.0, 4.0], "estimate"), Points([7.0, 8.0], "prior", "|", "B1")])


def offsets(axis):
    """Places of the marks of each kind."""
    return [np.asarray(marks.get_offsets()) for marks in axis.collections]


def test_rows_their_points_and_their_intervals_are_drawn():
    figure = forest([ONE, TWO], title="all", panels_across=2)
    first, second = figure.axes
    finite, below, above = offsets(first)
    np.testing.assert_array_equal(finite, [[1.0, 0], [-2.0, 1]])
    low, high = first.get_xlim()
    ((x_below, y_below),), ((x_above, y_above),) = below, above
    assert (y_below, y_above) == (4, 3)
    assert low < x_below < -3.0
    assert 2.0 < x_above < high
    zero, line = first.lines
    np.testing.assert_array_equal(zero.get_xydata(), [[0.0, -0.5], [0.0, 4.5]])
    x, y = line.get_xdata().reshape(5, 3), line.get_ydata().reshape(5, 3)
    np.testing.assert_array_equal(x[:3, :2], np.column_stack([LOWER, UPPER])[:3])
    np.testing.assert_array_equal(x[4, :2], [low, 0.0], err_msg="an end without bound is the end of the axis")
    assert np.isnan(x[:, 2]).all()
    assert np.isnan(x[3]).all()
    np.testing.assert_array_equal(y, np.arange(5)[:, None] * np.ones(3))
    bottom, top = first.get_ylim()
    assert bottom > top, "the first row is at the top"
    names = [text.get_text().replace(r"\$", "$") for text in first.get_yticklabels()]
    assert names == ["a", "b", "in $ and $", "a name of\ntwo lines", "e"]
    assert first.get_xlabel() == r"in \$"
    assert list(second.lines) == []
    assert figure.get_suptitle() == "all"


def test_each_mark_is_in_the_legend_once():
    figure = forest([ONE, TWO])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["zero", "interval", "estimate", "prior"]
    assert not forest([ForestPanel(["x"], [Points([3.0])], [2.0], [4.0], at=0.0)]).legends


def test_open_marks_have_the_colour_behind_them():
    marks = [Points([0.0], filled=filled) for filled in (True, False)]
    closed, opened = forest([ForestPanel(["x"], marks)]).axes[0].collections
    np.testing.assert_array_equal(closed.get_facecolor(), closed.get_edgecolor())
    np.testing.assert_array_equal(opened.get_facecolor(), [[1, 1, 1, 1]])
    np.testing.assert_array_equal(opened.get_edgecolor(), closed.get_edgecolor())


def test_panels_have_the_same_axis_where_they_are_to_be_compared():
    apart = [axis.get_xlim() for axis in forest([ONE, TWO]).axes]
    same = [axis.get_xlim() for axis in forest([ONE, TWO], same_axis=True).axes]
    assert apart[0] != apart[1]
    assert same[0] == same[1]
    assert same[0] == pytest.approx((-3.66, 8.66)), "a margin of 0.06 of the range from -3 to 8"
    begun = ForestPanel(["x"], [Points([3.0])], limits=(0.0, None))
    assert forest([begun]).axes[0].get_xlim()[0] == 0.0


def test_the_axis_of_rows_without_a_finite_value():
    for values in ([np.nan], [np.inf], [0.0], [5.0]):
        low, high = forest([ForestPanel(["x"], [Points(values)])]).axes[0].get_xlim()
        assert np.isfinite([low, high]).all()
        assert low < high


def test_axes_of_the_caller():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert forest([ONE], ax=left) is figure
    assert forest([TWO], axes=[right]) is figure
    assert [len(axis.collections) for axis in (left, right)] == [3, 2]
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["zero", "interval", "estimate"]


def first(frame, by, number):
    return frame.sort_values(by, ascending=False, kind="stable").head(number)


def with_error(frame, middle, error, times=1):
    return frame.assign(lower=frame[middle] - times * frame[error], upper=frame[middle] + times * frame[error])


INFORMATION = nb.mutual_information(exact(), "bits", num_draws=20)
EVIDENCE = nb.feature_evidence(exact())
BOTH = ["log_bayes_factor", "inclusion_probability"]
WEIGHTED, SHARED = (nb.weight_features(exact(), table(), LABELS, shared=shared) for shared in (False, True))
OF_ALL = SHARED.weights.iloc[[2]].set_axis(["all features"])
MODELS = models([0.9, 0.1])
NUMBERED = MODELS.table.set_axis([f"{name}: {p:.3f}" for name, p in MODELS.table["model_probability"].items()])
NUMBERED = NUMBERED.assign(prior=MODELS.prior[MODELS.table.index].to_numpy())
SCORES = with_error(MODELS.table, "elpd_difference", "elpd_difference_se")
STEPS = with_error(selection().table, "difference", "se", 2).set_axis(["", "drop height", "drop nests"])
MERGED = merges().table.set_axis(["a + b: +9.0", "a + b + c: +4.5", "x + y: +1.5"]).iloc[:2]
MERGED = MERGED.assign(lower=MERGED["total"] - MERGED["log_bayes_factor"], upper=MERGED["total"])
SENSITIVITY = nb.sensitivity(nb.fit(nb.Gaussian(), table()[["height"]], LABELS), table()[["height"]].iloc[[0, 4]])
OF_PARAMETERS = SENSITIVITY.table.set_axis(
    [f"{name}: {why}".removesuffix(": -") for name, why in SENSITIVITY.table["diagnosis"].items()]
)
OF_ROWS = SENSITIVITY.probabilities.sort_values("prior", key=abs, ascending=False, kind="stable")
OF_ROWS = OF_ROWS.set_axis([f"row {r}, {c}: {p:.3f}" for (r, c), p in OF_ROWS["probability"].items()])
TELLING = nb.telling_features(exact(), 3, num_draws=5)
TOLD = [
    f"{feature}" if pd.isna(value) else f"{feature} = {value}"
    for feature, value in zip(TELLING["feature"], TELLING["value"], strict=True)
]
ACCURACY = crowd().annotators
ACCURACY = ACCURACY.set_axis([f"{name} ({number})" for name, number in ACCURACY["num_annotations"].items()])

FORESTS = {
    "the top 3 of 4 features": (
        lambda: INFORMATION.plot(max_features=3),
        [(first(INFORMATION, "estimate", 3), ["mean", "estimate"])],
    ),
    "Mutual information of feature and class: 2 features": (
        lambda: INFORMATION.plot(features=["old", "height"], sort=False),
        [(INFORMATION.loc[["old", "height"]], ["mean", "estimate"])],
    ),
    "Evidence that a feature depends on the class: 4 features": (
        EVIDENCE.plot,
        [(first(EVIDENCE, "log_bayes_factor", 4), [column]) for column in BOTH],
    ),
    "the first 1 of 2 features": (
        lambda: EVIDENCE.plot(sort=False, features=["old", "leaf"], max_features=1),
        [(EVIDENCE.loc[["old"]], [column]) for column in BOTH],
    ),
    "Probabilities and predictions of 2 models (right is better)": (
        MODELS.plot,
        [(NUMBERED, ["prior", "model_probability"]), (SCORES, ["elpd_difference"])],
    ),
    "Predictions of 2 models (right is better); their probabilities are not comparable": (
        models([np.nan, np.nan]).plot,
        [(SCORES, ["elpd_difference"])],
    ),
    "Weights of the top 3 of 4 features (0: no effect, 1: as in naive Bayes)": (
        lambda: WEIGHTED.plot(max_features=3),
        [(first(WEIGHTED.weights, "mean", 3), ["mean"])],
    ),
    "Weights of 2 features": (
        lambda: WEIGHTED.weights.plot(sort=False, features=["old", "height"]),
        [(WEIGHTED.weights.loc[["old", "height"]], ["mean"])],
    ),
    "One weight of all features (0: no effect, 1: as in naive Bayes)": (SHARED.plot, [(OF_ALL, ["mean"])]),
    "Score of the labels (right is better), 2 steps: 1 of 3 features are kept": (
        selection().plot,
        [(STEPS, ["difference"])],
    ),
    "Log evidence that merges of columns add: the first 2 of 3 merges": (
        lambda: merges().plot(max_merges=2),
        [(MERGED, ["total"])],
    ),
    "Sensitivity to prior and likelihood: 6 probabilities": (
        lambda: SENSITIVITY.plot(kind="probabilities"),
        [(OF_ROWS, ["likelihood", "prior"])],
    ),
    "Sensitivity to prior and likelihood: the top 3 of 9 parameters; 3 with a flat prior, not measured": (
        lambda: SENSITIVITY.plot(max_parameters=3),
        [(first(OF_PARAMETERS, "prior", 3), ["likelihood", "prior"])],
    ),
    "Sensitivity to prior and likelihood: 2 parameters": (
        lambda: SENSITIVITY.plot(parameters=SENSITIVITY.table.index[[1, 0]], sort=False),
        [(OF_PARAMETERS.iloc[[1, 0]], ["likelihood", "prior"])],
    ),
    "Log odds against the other classes in nats (the first 2 of 3 classes)": (
        lambda: TELLING.plot(classes=["oak", "ash", "birch"], max_panels=2),
        [(TELLING.set_axis(TOLD)[(TELLING["class"] == label).to_numpy()], ["log_odds"]) for label in ("oak", "ash")],
    ),
    "Accuracy of 3 annotators": (lambda: crowd().plot_annotators(sort=None), [(ACCURACY, ["accuracy"])]),
}


@pytest.mark.parametrize("title", FORESTS)
def test_what_is_drawn_is_the_columns_of_the_frame(title):
    draw, panels = FORESTS[title]
    figure = draw()
    assert title in figure.get_suptitle().replace("\n", " ")
    for axis, (frame, columns) in zip(figure.axes, panels, strict=True):
        names = [text.get_text().replace("\n", " ") for text in axis.get_yticklabels()]
        assert names == [str(name) for name in frame.index]
        for marks, column in zip(offsets(axis), columns, strict=True):
            np.testing.assert_allclose(marks, np.column_stack([frame[column], np.arange(len(frame))]))
        if "lower" in frame and frame["lower"].notna().any():
            np.testing.assert_allclose(intervals(axis), frame[["lower", "upper"]].astype(float))
    assert collisions(figure) == []


def test_the_legend_of_mutual_information_says_what_is_known():
    estimate = nb.mutual_information(nb.fit(nb.Bernoulli(), table()[["old"]], LABELS, nb.MLE()))
    prob = [[0.2], [0.4]]
    known = nb.from_parameters(nb.Bernoulli(), classes=[0, 1], class_probs=[0.5, 0.5], parameters={"prob": prob})
    for found, texts in (
        (estimate, ["89 % interval", "estimate"]),
        (nb.mutual_information(known), ["at the posterior mean"]),
    ):
        assert [text.get_text() for text in found.plot().legends[0].get_texts()] == texts
