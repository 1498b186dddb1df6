"""Widths of texts before they are drawn."""

from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bayesnb.core.panels import text_width, wrap_to

DPI = 1000
"""So high that letters are not moved to whole pixels."""


def drawn_width(text: str, size: str, weight: str) -> float:
    figure = Figure((0.1, 0.1), dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    drawn = figure.text(0, 0, text, fontsize=size, fontweight=weight)
    return drawn.get_window_extent(canvas.get_renderer()).width / DPI


@pytest.mark.parametrize("text", ["flipper_length_mm", "two lines,\nof which the second is longer", "p(x = 1 | y)"])
@pytest.mark.parametrize(("size", "weight"), [("small", "normal"), ("medium", "bold")])
def test_the_width_of_a_text_is_that_of_the_drawn_text(text: str, size: str, weight: str) -> None:
    assert text_width(text, size, weight) == pytest.approx(drawn_width(text, size, weight), rel=0.02)


def test_the_backslash_of_a_dollar_sign_has_no_width() -> None:
    price = wrap_to("5 $ and 7 $ or 9 $", 10.0, "small")
    assert r"\$" in price
    assert text_width(price, "small") == pytest.approx(drawn_width(price, "small", "normal"), rel=0.02)


def test_few_letters_of_a_long_text_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = {1000: 0, 10_000: 0}
    for number in letters:

        def counting(text: str, *font: Any, number: int = number) -> float:
            letters[number] += len(text)
            return text_width(text, *font)

        with monkeypatch.context() as patched:
            patched.setattr("bayesnb.core.panels.text_width", counting)
            shown = wrap_to("letters " + "abcdefghij" * number + " end", 1.0, "small")
        assert all(text_width(line, "small") <= 1.0 for line in shown.split("\n"))
        assert shown.startswith("letters")
        assert shown.endswith("end")
    assert letters[1000] == letters[10_000] < 20_000


def test_an_empty_text_has_no_width() -> None:
    assert text_width("", "small") == 0
