"""Rows with points and intervals."""

import matplotlib.style
import numpy as np
import pytest
from drawn import collisions, faint
from matplotlib.figure import Figure

from bayesnb.core.forest import Points, Rows, forest

VALUES = np.array([1.0, -2.0, np.nan, np.inf, -np.inf])
LOWER, UPPER = np.array([0.5, -3.0, -1.0, np.nan, -np.inf]), np.array([2.0, -1.0, 1.0, np.nan, 0.0])
NAMES = ["a", "b", "in $ and $", "a name of\ntwo lines", "e"]

ONE = Rows(
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
TWO = Rows(["x", "y"], [Points([3.0, 4.0], "estimate"), Points([7.0, 8.0], "prior", "|", "B1")])


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
    assert not forest([Rows(["x"], [Points([3.0])], [2.0], [4.0], at=0.0)]).legends


def test_open_marks_have_the_colour_behind_them():
    marks = [Points([0.0], filled=filled) for filled in (True, False)]
    closed, opened = forest([Rows(["x"], marks)]).axes[0].collections
    np.testing.assert_array_equal(closed.get_facecolor(), closed.get_edgecolor())
    np.testing.assert_array_equal(opened.get_facecolor(), [[1, 1, 1, 1]])
    np.testing.assert_array_equal(opened.get_edgecolor(), closed.get_edgecolor())


def test_panels_have_the_same_axis_where_they_are_to_be_compared():
    apart = [axis.get_xlim() for axis in forest([ONE, TWO]).axes]
    same = [axis.get_xlim() for axis in forest([ONE, TWO], same_axis=True).axes]
    assert apart[0] != apart[1]
    assert same[0] == same[1]
    assert same[0] == pytest.approx((-3.66, 8.66)), "a margin of 0.06 of the range from -3 to 8"
    begun = Rows(["x"], [Points([3.0])], limits=(0.0, None))
    assert forest([begun]).axes[0].get_xlim()[0] == 0.0


def test_the_axis_of_rows_without_a_finite_value():
    for values in ([np.nan], [np.inf], [0.0], [5.0]):
        low, high = forest([Rows(["x"], [Points(values)])]).axes[0].get_xlim()
        assert np.isfinite([low, high]).all()
        assert low < high


def test_axes_of_the_caller():
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert forest([ONE], ax=left) is figure
    assert forest([TWO], axes=[right]) is figure
    assert [len(axis.collections) for axis in (left, right)] == [3, 2]
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["zero", "interval", "estimate"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [3.35, 10.0])
def test_panels_of_any_width(width):
    wide = [name * 4 for name in NAMES]
    rows = Rows(wide, ONE.points, LOWER, UPPER, "interval " * 9, title="title " * 9, x_label="label " * 9, at=0.0)
    for panels in ([rows], [rows, TWO, ONE]):
        figure = forest(panels, title="all " * 20, figsize=(width, None))
        assert figure.get_figwidth() == width
        assert collisions(figure) == []
        with matplotlib.style.context("dark_background"):
            assert faint(forest(panels, figsize=(width, None))) == []
