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
FIT = nb.results.AnnotationFit
PLOTS = (FIT.plot_annotators, FIT.plot_confusion, FIT.plot_items)


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


class TestAnnotators:
    def test_the_line_is_the_accuracy_of_a_constant_label(self):
        figure = point().plot_annotators()
        assert figure.axes[0].lines[0].get_xdata() == pytest.approx([point().class_probs.max()] * 2)
        legend = [text.get_text() for text in figure.legends[0].get_texts()]
        assert legend == [f"label {point().class_probs.idxmax()} for every item", "estimate"]

    @pytest.mark.parametrize(
        ("sort", "order"), [("accuracy", "Cem Ann Bob"), ("annotations", "Bob Ann Cem"), (None, "Ann Bob Cem")]
    )
    def test_orders(self, sort, order):
        names = ticks(point().plot_annotators(sort=sort).axes[0].yaxis)
        assert [name.split()[0] for name in names] == order.split()
        panels = point().plot_confusion(sort=sort).axes
        assert [panel.get_title().split()[0] for panel in panels] == order.split()

    def test_titles_say_who_is_not_shown(self):
        assert sampled().plot_annotators().get_suptitle() == (
            "Accuracy of 3 annotators\n(in brackets: number of annotations)"
        )
        assert point().plot_annotators(max_annotators=2).get_suptitle() == (
            "Accuracy of the least accurate 2 of 3 annotators\n"
            "(in brackets: number of annotations; a point estimate has no intervals)"
        )
        title = point().plot_confusion(max_panels=1, figsize=(9, None)).get_suptitle()
        assert title.startswith("Confusion matrices in percent: the most active 1 of 3 annotators")
        title = point().plot_confusion(max_panels=2, sort=None).get_suptitle()
        assert "the first 2 of 3 annotators\n" in title

    def test_annotators_who_are_chosen(self):
        axis = point().plot_annotators(annotators=["Bob", "Ann"], sort=None).axes[0]
        assert ticks(axis.yaxis) == ["Bob (36)", "Ann (24)"]

    def test_the_interval_has_the_probability_that_is_given(self):
        figure = sampled().plot_annotators(prob=0.5, annotators=["Cem", "Ann"], sort=None)
        expected = sampled().accuracy_interval(prob=0.5).loc[["Cem", "Ann"]]
        np.testing.assert_allclose(intervals(figure.axes[0]), expected)
        assert figure.legends[0].get_texts()[1].get_text() == "50 % interval"


class TestConfusion:
    def test_numbers_are_percent_of_the_classes_in_their_order_and_then_other_labels(self):
        panels = point().plot_confusion(annotators=["Cem", "Ann"], sort=None).axes
        confusion = point().confusion.sel(label=[*KINDS, "a tree"])
        for panel, person in zip(panels, ("Cem", "Ann"), strict=True):
            np.testing.assert_allclose(numbers(panel), 100 * confusion.sel(annotator=person), atol=0.5)
        assert ticks(panels[0].yaxis) == list(KINDS)
        assert ticks(panels[0].xaxis) == [*KINDS, "a tree"]
        assert panels[0].get_title() == "Cem (24)"

    def test_a_frame_is_around_the_right_label(self):
        panel = point().plot_confusion(classes=["oak", "ash", "birch"]).axes[0]
        middle = [(p.get_x() + p.get_width() / 2, p.get_y() + p.get_height() / 2) for p in panel.patches]
        np.testing.assert_allclose(middle, [(0, 0), (1, 1), (2, 2)])
        assert ticks(panel.xaxis)[:3] == ["oak", "ash", "birch"]

    def test_labels_of_classes_that_are_left_out_share_a_column(self):
        panel = point().plot_confusion(annotators="Ann", classes=["oak", "ash"]).axes[0]
        confusion = point().confusion.sel({"annotator": "Ann", "class": ["oak", "ash"]})
        others = confusion.sel(label=["birch", "a tree"]).sum("label")
        expected = np.column_stack([confusion.sel(label=["oak", "ash"]), others])
        np.testing.assert_allclose(numbers(panel), 100 * expected, atol=0.5)
        assert ticks(panel.xaxis) == ["oak", "ash", "2 others"]

    def test_of_many_classes_the_most_frequent_are_shown(self):
        panel = many_classes().plot_confusion(max_panels=1).axes[0]
        shown = many_classes().class_probs.nlargest(8).index
        assert ticks(panel.yaxis) == [str(c) for c in sorted(shown)]
        assert len(numbers(panel)) == 8
        assert ticks(panel.xaxis)[-1] == "2 others"
        fewer = many_classes().plot_confusion(max_panels=1, classes=sorted(shown)[:4])
        rise = panel.figure.get_figheight() - fewer.get_figheight()
        assert rise == pytest.approx(4 * 0.34, abs=0.05), "cells of eight classes are as high as those of four"

    def test_intervals_are_below_the_means_of_draws(self):
        figure = sampled().plot_confusion(prob=0.5, annotators="Cem", figsize=(5, 4))
        ends = sampled().confusion_interval(prob=0.5).sel(annotator="Cem")
        expected = [f"{100 * ends['lower'][at]:.0f}\N{EN DASH}{100 * ends['upper'][at]:.0f}" for at in np.ndindex(3, 4)]
        below = np.array([text.get_text().split("\n")[1] for text in figure.axes[0].texts]).reshape(3, 4)
        # "a tree" is the first label of the fit and the last of the figure.
        np.testing.assert_array_equal(np.roll(below, 1, axis=1).ravel(), expected)
        assert figure.get_suptitle().endswith("(in brackets: number of annotations; below a mean: 50 % interval)")
        figure = sampled().plot_confusion(annotators="Cem", classes=["oak"], figsize=(5, 4))
        assert "\n" in figure.axes[0].texts[0].get_text()
        assert "\n" not in figure.axes[0].texts[1].get_text(), "the others have no interval"
        narrow = sampled().plot_confusion(annotators="Cem", figsize=(1.6, None))
        assert all(text.get_text().isdigit() for text in narrow.axes[0].texts)
        assert "interval" not in narrow.get_suptitle()

    def test_a_cell_is_the_darker_the_more_probable(self):
        panel = point().plot_confusion(annotators="Ann").axes[0]
        light = panel.collections[0].get_array()[..., 0]
        assert (light.argmin(axis=1) == numbers(panel).argmax(axis=1)).all()
        assert (light.argmax(axis=1) == numbers(panel).argmin(axis=1)).all()


class TestItems:
    def test_bars_are_the_probabilities_of_the_classes(self):
        axis = point().plot_items().axes[0]
        order = point().items["entropy"].sort_values(ascending=False, kind="stable").index[:20]
        np.testing.assert_allclose(bars(axis).T, point().proba.loc[order], atol=1e-12)
        assert ticks(axis.yaxis)[0] == f"{order[0]} ({point().items.loc[order[0], 'num_annotations']})"

    def test_items_and_classes_that_are_chosen(self):
        figure = point().plot_items(items=[7, 3], classes=["oak"], sort=False)
        proba = point().proba.loc[[7, 3]]
        expected = [proba["oak"], proba[["ash", "birch"]].sum(axis=1)]
        np.testing.assert_allclose(bars(figure.axes[0]), expected, atol=1e-12)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["oak", "2 others"]

    def test_a_class_that_is_left_out_alone_has_its_name(self):
        figure = point().plot_items(classes=["oak", "ash"])
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["oak", "ash", "birch"]

    def test_of_many_classes_the_most_probable_are_shown(self):
        crowd = many_classes()
        figure = crowd.plot_items(items=[0, 1, 9], max_items=2, sort=False)
        found = bars(figure.axes[0])
        assert found.shape == (8, 2)
        np.testing.assert_allclose(found.sum(axis=0), 1)
        assert "0" in (legend := [text.get_text() for text in figure.legends[0].get_texts()])
        assert legend[-1] == "3 others"

    def test_the_title_counts_uncertain_items(self):
        below = (point().items["probability"] < 0.9).sum()
        title = point().plot_items(max_items=5, figsize=(12, None)).get_suptitle()
        assert title == (
            f"Labels of the most uncertain 5 of 24 items\n({below} of all 24 labels have a probability below "
            "90 %; in brackets: number of annotations)"
        )
        title = point().plot_items(items=[3], figsize=(12, None)).get_suptitle()
        assert title.startswith(f"Labels of 1 item\n({int(point().items.loc[3, 'probability'] < 0.9)} of 1 labels have")
        title = point().plot_items(max_items=5, sort=False, figsize=(12, None)).get_suptitle()
        assert title.startswith("Labels of the first 5 of 24 items\n")

    def test_dates_are_named_as_pandas_prints_them(self):
        rows = photos()
        day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rows[NAMES["item"]], "D")
        crowd = nb.fit_annotations(rows.assign(**{NAMES["item"]: day}), **NAMES)
        figure = crowd.plot_items(items=["2024-01-04", "2024-01-02"], sort=False)
        assert [name.split()[0] for name in ticks(figure.axes[0].yaxis)] == ["2024-01-04", "2024-01-02"]
        assert ticks(crowd.plot_items(items="2024-01-04").axes[0].yaxis)[0].startswith("2024-01-04 (")
