"""Rows with points and intervals, on every backend."""

import sys

import matplotlib.style
import numpy as np
import pytest
from drawn import collisions, faint
from matplotlib.figure import Figure

from bayesnb.figures.forest import BACKENDS, Points, Rows, forest

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


def drawn(plot, function):
    """What the backend that draws nothing was given."""
    return [call for call in plot if call["function"] == function]


def plots_of(collection):
    return list(collection.viz["plot"].values)


def test_a_backend_gets_the_rows_their_points_and_their_intervals():
    first, second = plots_of(forest([ONE, TWO], title="all", panels_across=2, backend="none"))
    finite, below, above = drawn(first, "scatter")
    np.testing.assert_array_equal(finite["x"], [1.0, -2.0])
    np.testing.assert_array_equal(finite["y"], [0, 1])
    assert (below["marker"], below["y"].tolist()) == ("<", [4])
    assert (above["marker"], above["y"].tolist()) == (">", [3])
    ((low, high),) = [call["lims"] for call in drawn(first, "xlim")]
    assert low < below["x"] < -3.0
    assert 2.0 < above["x"] < high
    zero, line = drawn(first, "line")
    np.testing.assert_array_equal([zero["x"], zero["y"]], [[0.0, 0.0], [-0.5, 4.5]])
    x, y = line["x"].reshape(5, 3), line["y"].reshape(5, 3)
    np.testing.assert_array_equal(x[:3, :2], np.column_stack([LOWER, UPPER])[:3])
    np.testing.assert_array_equal(x[4, :2], [low, 0.0], err_msg="an end without bound is the end of the axis")
    assert np.isnan(x[:, 2]).all()
    assert np.isnan(x[3]).all()
    np.testing.assert_array_equal(y, np.arange(5)[:, None] * np.ones(3))
    ((bottom, top),) = [call["lims"] for call in drawn(first, "ylim")]
    assert bottom > top, "the first row is at the top"
    (ticks,) = drawn(first, "yticks")
    assert ticks["labels"] == ["a", "b", "in $ and $", "a name of\ntwo lines", "e"]
    (label,) = drawn(first, "xlabel")
    assert label["string"] == "in $"
    assert drawn(second, "line") == []


def test_each_mark_is_in_the_legend_once():
    first, second = plots_of(forest([ONE, TWO], backend="none"))
    assert [call.get("label") for call in drawn(first, "line") + drawn(first, "scatter")] == [
        "zero",
        "interval",
        "estimate",
        None,
        None,
    ]
    assert [call.get("label") for call in drawn(second, "scatter")] == [None, "prior"]
    figure = forest([ONE, TWO])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["zero", "interval", "estimate", "prior"]


def test_panels_have_the_same_axis_where_they_are_to_be_compared():
    apart = [drawn(plot, "xlim")[0]["lims"] for plot in plots_of(forest([ONE, TWO], backend="none"))]
    same = [drawn(plot, "xlim")[0]["lims"] for plot in plots_of(forest([ONE, TWO], backend="none", same_axis=True))]
    assert apart[0] != apart[1]
    assert same[0] == same[1]
    assert same[0] == pytest.approx((-3.66, 8.66)), "a margin of 0.06 of the range from -3 to 8"
    begun = Rows(["x"], [Points([3.0])], limits=(0.0, None))
    ((low, _),) = [drawn(plot, "xlim")[0]["lims"] for plot in plots_of(forest([begun], backend="none"))]
    assert low == 0.0


def test_the_axis_of_rows_without_a_finite_value():
    for values in ([np.nan], [np.inf], [0.0], [5.0]):
        (plot,) = plots_of(forest([Rows(["x"], [Points(values)])], backend="none"))
        ((low, high),) = [call["lims"] for call in drawn(plot, "xlim")]
        assert np.isfinite([low, high]).all()
        assert low < high


@pytest.mark.parametrize("backend", ["matplotlib", "bokeh", "plotly"])
def test_every_backend_has_every_marker(backend):
    if backend != "matplotlib":
        pytest.importorskip(backend)
    (found,) = (each for each in BACKENDS if each.name == backend)
    rows = [Rows(["x"], [Points([0.0], name, name, filled=i % 2 == 0)]) for i, name in enumerate(found.markers)]
    forest([*rows, ONE], title="all", panels_across=3, backend=backend)


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


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"backend is 'ggplot': give one of \['matplotlib', 'bokeh', 'plotly'"):
        forest([ONE], backend="ggplot")
    for name in ("ax", "axes"):
        with pytest.raises(ValueError, match=f"backend is 'none', and {name} is matplotlib's: leave one of the two"):
            forest([ONE], backend="none", **{name: Figure().subplots()})
    monkeypatch.delitem(sys.modules, "arviz_plots.backend.bokeh", raising=False)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs the package bokeh.*: pip install 'arviz-plots\[bokeh\]'"):
        forest([ONE], backend="bokeh")
