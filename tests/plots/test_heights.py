"""Heights of figures that follow from what they show, and titles of figures that show a part."""

import numpy as np
import pytest
from drawn import collisions

from bayesnb.core.forest import ForestPanel, Points, forest
from bayesnb.core.panels import grid_of_panels, line_height

NARROW = 3.35


@pytest.mark.parametrize("number", [1, 2])
def test_rows_do_not_overprint_in_a_narrow_figure(number):
    """Names that need a second line where a panel is narrow."""
    rows = [ForestPanel([f"worst fractal dimension{i}" for i in range(9)], [Points(np.arange(9.0))], x_label="value")]
    assert collisions(forest(rows * number, title="title", figsize=(NARROW, None))) == []


def test_the_height_follows_from_the_letters():
    def height(title, given=None):
        panels = grid_of_panels(2, figsize=(6.0, given))
        panels.title(title)
        return panels.drawn().get_figheight()

    assert height("title\nof two lines") == pytest.approx(height("title") + line_height("medium"), abs=0.05)
    assert height("title\nof two lines", 3.0) == 3.0
