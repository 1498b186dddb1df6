"""Figures of annotations draw the numbers of `AnnotationFit`."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from drawn import intervals

import bayesnb as nb

NAMES = {"item": "photo", "annotator": "person", "label": "seen"}
KINDS = ("ash", "birch", "oak")


def photos() -> pd.DataFrame:
    """Cem is often wrong, Bob has the most annotations, and Ann sometimes gives a label that is no class."""
    rng = np.random.default_rng(8)
    rows = []
    for photo in range(24):
        for person, wrong in (("Ann", 0.1), ("Bob", 0.2), ("Cem", 0.7)):
            given = KINDS[(photo + (rng.random() < wrong) * rng.integers(1, 3)) % 3]
            rows.append((photo, person, "a tree" if person == "Ann" and photo % 8 == 7 else given))
    rows += [(photo, "Bob", KINDS[photo % 3]) for photo in range(12)]
    return pd.DataFrame(rows, columns=list(NAMES.values()))


@cache
def point() -> Any:
    return nb.fit_annotations(photos(), **NAMES, classes=KINDS)


@cache
def sampled() -> Any:
    with pytest.warns(nb.ConvergenceWarning):
        return nb.fit_annotations(photos(), **NAMES, classes=KINDS, inference=nb.Gibbs(5, 40, 1))


@cache
def many_classes() -> Any:
    """Ten classes, the last two of which are rare."""
    rows = [(i, who, min(i % 11, 9 - (i % 11 == 10))) for i in range(66) for who in "ab"]
    return nb.fit_annotations(pd.DataFrame(rows, columns=list(NAMES.values())), **NAMES)


def ticks(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def legend(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def numbers(axis: Any) -> np.ndarray:
    """The numbers in the cells of a confusion matrix."""
    width = len(axis.get_xticks())
    return np.array([int(text.get_text()) for text in axis.texts]).reshape(-1, width)


def bars(axis: Any) -> np.ndarray:
    """Widths of the parts of the bars, shape (classes, items); each part begins where the one before ends."""
    widths = np.array([[patch.get_width() for patch in part] for part in axis.containers])
    left = np.array([[patch.get_x() for patch in part] for part in axis.containers])
    np.testing.assert_allclose(left, np.cumsum(widths, axis=0) - widths, atol=1e-12)
    return widths


@pytest.mark.parametrize(
    ("sort", "order"), [("accuracy", "Cem Ann Bob"), ("annotations", "Bob Ann Cem"), (None, "Ann Bob Cem")]
)
def test_orders_of_annotators(sort, order):
    (axis,) = point().plot_annotators(sort=sort).axes
    assert [name.split()[0] for name in ticks(axis.yaxis)] == order.split()
    panels = point().plot_confusion(sort=sort).axes
    assert [panel.get_title().split()[0] for panel in panels] == order.split()


IN_BRACKETS = "(in brackets: number of annotations"
TITLES = {
    f"Accuracy of 3 annotators\n{IN_BRACKETS})": lambda: sampled().plot_annotators(),
    "the first 2 of 3 annotators\n": lambda: point().plot_confusion(max_panels=2, sort=None),
    f"{IN_BRACKETS}; below a mean: 50 % interval)": lambda: sampled().plot_confusion(
        prob=0.5, annotators="Cem", figsize=(5, 4)
    ),
    "Labels of the first 5 of 24 items\n": lambda: point().plot_items(max_items=5, sort=False, figsize=(12, None)),
}


@pytest.mark.parametrize("words", TITLES)
def test_titles_say_what_is_shown(words):
    assert words in TITLES[words]().get_suptitle()


def test_the_title_counts_uncertain_items():
    uncertain = point().items["probability"] < 0.9
    for items, told in (
        (None, f"({uncertain.sum()} of all 24 labels have a probability below 90 %"),
        ([3], f"({int(uncertain[3])} of 1 labels have"),
    ):
        assert told in point().plot_items(items=items, figsize=(12, None)).get_suptitle()


def test_accuracies_have_intervals_of_the_probability_that_is_given_and_a_line():
    """The line is the accuracy of who gives the most frequent class to every item."""
    figure = sampled().plot_annotators(prob=0.5, annotators=["Cem", "Ann"], sort=None)
    np.testing.assert_allclose(intervals(figure.axes[0]), sampled().accuracy_interval(prob=0.5).loc[["Cem", "Ann"]])
    assert ticks(figure.axes[0].yaxis) == ["Cem (24)", "Ann (24)"]
    share = sampled().class_probs
    assert figure.axes[0].lines[0].get_xdata() == pytest.approx([share.max()] * 2)
    assert legend(figure) == [f"label {share.idxmax()} for every item", "50 % interval", "posterior mean"]


def test_confusion_matrices_are_percent_of_the_classes_in_their_order_and_then_of_other_labels():
    panels = point().plot_confusion(annotators=["Cem", "Ann"], sort=None).axes
    confusion = point().confusion.sel(label=[*KINDS, "a tree"])
    for panel, person in zip(panels, ("Cem", "Ann"), strict=True):
        np.testing.assert_allclose(numbers(panel), 100 * confusion.sel(annotator=person), atol=0.5)
        light = panel.collections[0].get_array()[..., 0]
        assert (np.diff(light.ravel()[np.argsort(-confusion.sel(annotator=person).to_numpy().ravel())]) >= 0).all()
    assert ticks(panels[0].yaxis) == list(KINDS)
    assert ticks(panels[0].xaxis) == [*KINDS, "a tree"]


def test_labels_of_classes_that_are_left_out_share_a_column():
    """A frame is around the right label."""
    panel = point().plot_confusion(annotators="Ann", classes=["oak", "ash"]).axes[0]
    confusion = point().confusion.sel({"annotator": "Ann", "class": ["oak", "ash"]})
    others = confusion.sel(label=["birch", "a tree"]).sum("label")
    expected = np.column_stack([confusion.sel(label=["oak", "ash"]), others])
    np.testing.assert_allclose(numbers(panel), 100 * expected, atol=0.5)
    assert ticks(panel.xaxis) == ["oak", "ash", "2 others"]
    middle = [(p.get_x() + p.get_width() / 2, p.get_y() + p.get_height() / 2) for p in panel.patches]
    np.testing.assert_allclose(middle, [(0, 0), (1, 1)])


def test_of_many_classes_the_most_frequent_are_shown():
    crowd = many_classes()
    panel = crowd.plot_confusion(max_panels=1).axes[0]
    shown = sorted(crowd.class_probs.nlargest(8).index)
    assert ticks(panel.yaxis) == [str(c) for c in shown]
    assert len(numbers(panel)) == 8
    assert ticks(panel.xaxis)[-1] == "2 others"
    fewer = crowd.plot_confusion(max_panels=1, classes=shown[:4])
    rise = panel.figure.get_figheight() - fewer.get_figheight()
    assert rise == pytest.approx(4 * 0.34, abs=0.05), "cells of eight classes are as high as those of four"
    figure = crowd.plot_items(items=[0, 1, 9], max_items=2, sort=False)
    found = bars(figure.axes[0])
    assert found.shape == (8, 2)
    np.testing.assert_allclose(found.sum(axis=0), 1)
    assert "0" in legend(figure)
    assert legend(figure)[-1] == "3 others"


def test_intervals_are_below_the_means_of_draws():
    figure = sampled().plot_confusion(prob=0.5, annotators="Cem", figsize=(5, 4))
    ends = sampled().confusion_interval(prob=0.5).sel(annotator="Cem")
    expected = [f"{100 * ends['lower'][at]:.0f}\N{EN DASH}{100 * ends['upper'][at]:.0f}" for at in np.ndindex(3, 4)]
    below = np.array([text.get_text().split("\n")[1] for text in figure.axes[0].texts]).reshape(3, 4)
    # "a tree" is the first label of the fit and the last of the figure.
    np.testing.assert_array_equal(np.roll(below, 1, axis=1).ravel(), expected)
    figure = sampled().plot_confusion(annotators="Cem", classes=["oak"], figsize=(5, 4))
    assert ["\n" in text.get_text() for text in figure.axes[0].texts] == [True, False], "the others have no interval"
    narrow = sampled().plot_confusion(annotators="Cem", figsize=(1.6, None))
    assert all(text.get_text().isdigit() for text in narrow.axes[0].texts)
    assert "interval" not in narrow.get_suptitle()


def test_bars_of_items_are_the_probabilities_of_the_classes():
    items, proba = point().items, point().proba
    (axis,) = point().plot_items().axes
    order = items["entropy"].sort_values(ascending=False, kind="stable").index[:20]
    np.testing.assert_allclose(bars(axis).T, proba.loc[order], atol=1e-12)
    assert ticks(axis.yaxis)[0] == f"{order[0]} ({items.loc[order[0], 'num_annotations']})"
    figure = point().plot_items(items=[7, 3], classes=["oak"], sort=False)
    few = proba.loc[[7, 3]]
    np.testing.assert_allclose(bars(figure.axes[0]), [few["oak"], few[["ash", "birch"]].sum(axis=1)], atol=1e-12)
    assert legend(figure) == ["oak", "2 others"]
    assert legend(point().plot_items(classes=["oak", "ash"])) == ["oak", "ash", "birch"]


def test_dates_are_named_as_pandas_prints_them():
    rows = photos()
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rows[NAMES["item"]], "D")
    crowd = nb.fit_annotations(rows.assign(**{NAMES["item"]: day}), **NAMES)
    figure = crowd.plot_items(items=["2024-01-04", "2024-01-02"], sort=False)
    assert [name.split()[0] for name in ticks(figure.axes[0].yaxis)] == ["2024-01-04", "2024-01-02"]
    assert ticks(crowd.plot_items(items="2024-01-04").axes[0].yaxis)[0].startswith("2024-01-04 (")
