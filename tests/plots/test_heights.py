"""Figures whose given height is too small, and titles of figures that show a part."""

import re
import warnings

import numpy as np
import pytest
from drawn import collisions

from bayesnb.core.forest import Points, Rows, forest, how_many
from bayesnb.core.panels import grid_of_panels, line_height

NARROW = 3.35


def needed(draw, width):
    """The height that the warning for a figure of a tenth of an inch names."""
    with pytest.warns(UserWarning, match=r"0.1 inches high is too small for its texts: give figsize=\(") as caught:
        draw(figsize=(width, 0.1))
    (message,) = {str(warning.message) for warning in caught}
    return float(re.search(r"figsize=\([\d.]+, ([\d.]+)\)", message)[1])


def test_rows_do_not_overprint_at_the_height_that_the_warning_names():
    names = [f"a feature of a long name {i}" for i in range(25)]

    def draw(**options):
        return forest([Rows(names, [Points(np.arange(25.0))], x_label="value")], title="title", **options)

    height = needed(draw, NARROW)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert collisions(draw(figsize=(NARROW, height))) == []
    assert collisions(draw(figsize=(NARROW, height + 1.0))) == []
    with pytest.warns(UserWarning, match="too small for its texts"):
        assert collisions(draw(figsize=(NARROW, 0.5 * height)))


def test_panels_of_rows_do_not_overprint_in_a_narrow_figure():
    """Names that need a second line where a panel is narrow."""
    rows = [Rows([f"worst fractal dimension{i}" for i in range(9)], [Points(np.arange(9.0))])] * 2
    assert collisions(forest(rows, figsize=(NARROW, None))) == []
    height = needed(lambda **options: forest(rows, **options), NARROW)
    assert collisions(forest(rows, figsize=(NARROW, height))) == []


def test_the_height_follows_from_the_letters():
    def height(title, given=None):
        panels = grid_of_panels(2, figsize=(6.0, given))
        panels.title(title)
        return panels.drawn().get_figheight()

    assert height("title\nof two lines") == pytest.approx(height("title") + line_height("medium"), abs=0.05)
    assert height("title\nof two lines", 3.0) == 3.0


def test_titles_say_how_many_are_shown():
    assert how_many(1, 1, "feature", "top") == "1 feature"
    assert how_many(4, 4, "class", "first") == "4 classes"
    assert how_many(1, 3, "quantity", "least uniform") == "the least uniform 1 of 3 quantities"
