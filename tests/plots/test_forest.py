"""Rows with points and intervals, on every backend."""

import sys

import numpy as np
import pytest

from bayesnb.pictures.backends import BACKENDS
from bayesnb.pictures.forest import Points, Rows, forest
from bayesnb.pictures.layout import wrap

VALUES = np.array([1.0, -2.0, np.nan, np.inf, -np.inf])
LOWER, UPPER = np.array([0.5, -3.0, -1.0, np.nan, -np.inf]), np.array([2.0, -1.0, 1.0, np.nan, 0.0])
NAMES = [wrap(name, 12) for name in ("a", "b", "in $ and $", "a name of two lines", "e")]

ONE = Rows(NAMES, [Points(VALUES, "estimate")], LOWER, UPPER, "interval", xlabel="in $", reference=0.0, title="first")
TWO = Rows(["x", "y"], [Points([3.0, 4.0], "estimate"), Points([7.0, 8.0], "prior", "|", "B1")])


def drawn(plot, function):
    """What the backend that draws nothing was given."""
    return [call for call in plot if call["function"] == function]


def plots_of(collection):
    return list(collection.viz["plot"].values)


def test_a_backend_gets_the_rows_their_points_and_their_intervals():
    first, second = plots_of(forest([ONE, TWO], title="all", across=2, backend="none"))
    finite, below, above = drawn(first, "scatter")
    np.testing.assert_array_equal(finite["x"], [1.0, -2.0])
    np.testing.assert_array_equal(finite["y"], [0, 1])
    assert (below["marker"], below["y"].tolist()) == ("<", [4])
    assert (above["marker"], above["y"].tolist()) == (">", [3])
    ((low, high),) = [call["lims"] for call in drawn(first, "xlim")]
    assert low < below["x"] < -3.0
    assert 2.0 < above["x"] < high
    (line,) = drawn(first, "line")
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
    assert [call["x"] for call in drawn(first, "vline")] == [0.0]
    assert drawn(second, "vline") == []
    assert drawn(second, "line") == []


def test_each_mark_is_in_the_legend_once():
    first, second = plots_of(forest([ONE, TWO], backend="none"))
    assert [call.get("label") for call in drawn(first, "line") + drawn(first, "scatter")] == [
        "interval",
        "estimate",
        None,
        None,
    ]
    assert [call.get("label") for call in drawn(second, "scatter")] == [None, "prior"]
    figure = forest([ONE, TWO])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["interval", "estimate", "prior"]


def test_panels_have_the_same_axis_where_they_are_to_be_compared():
    apart = [drawn(plot, "xlim")[0]["lims"] for plot in plots_of(forest([ONE, TWO], backend="none"))]
    same = [drawn(plot, "xlim")[0]["lims"] for plot in plots_of(forest([ONE, TWO], backend="none", sharex=True))]
    assert apart[0] != apart[1]
    assert same[0] == same[1]
    assert same[0] == pytest.approx((-3.66, 8.66)), "a margin of 0.06 of the range from -3 to 8"
    begun = Rows(["x"], [Points([3.0])], left=0.0)
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
    forest([*rows, ONE], title="all", across=3, backend=backend)


def test_figures_of_matplotlib_and_axes_that_the_user_has(tmp_path):
    figure = forest([ONE])
    own = figure.axes[0]
    own.clear()
    assert forest([TWO], axes=[own]) is figure
    assert len(own.collections) == 2
    assert forest([ONE], figsize=(3.0, 2.0)).get_size_inches().tolist()[0] == 3.0


def test_what_cannot_be_drawn_is_refused(monkeypatch):
    with pytest.raises(ValueError, match=r"backend is 'ggplot': give one of \['matplotlib', 'bokeh', 'plotly'"):
        forest([ONE], backend="ggplot")
    with pytest.raises(ValueError, match="backend is 'none', and the axes are matplotlib's"):
        forest([ONE], backend="none", axes=[forest([ONE]).axes[0]])
    monkeypatch.delitem(sys.modules, "arviz_plots.backend.bokeh", raising=False)
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs the package bokeh.*: pip install 'arviz-plots\[bokeh\]'"):
        forest([ONE], backend="bokeh")
