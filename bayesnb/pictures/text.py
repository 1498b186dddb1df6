"""Text of a given width in inches."""

import re
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

__all__ = ["LINE", "line_height", "line_number", "percent", "shorten_to", "text_width", "wrap_to"]


LINE = 1.25
"""Height of a line, in sizes of its letters."""

MOST_LETTERS = 500
"""Letters of a line of text above which its middle is left out, before it is measured."""

THIN = 1.0
"""Points that a letter is wide at least: a text of more letters than fit by this is not measured."""

PARTS = re.compile(r"\[?[^\s_/\[-]*(?:[_/-]+|\s+|(?=\[)|$)")
"""Words, and parts of words, with the space behind them.

A part ends behind an underscore, a slash or a hyphen, or before a bracket, as in "height_mean[oak]".
"""


def line_height(size: str) -> float:
    """Height in inches of a line of text; the size is one of matplotlib's names, such as "small"."""
    from bayesnb.pictures.picture import FontProperties

    return LINE * FontProperties(size=size).get_size_in_points() / 72


def line_number(text: str) -> int:
    """Lines of a text; none if it is empty."""
    return text.count("\n") + 1 if text else 0


def text_width(text: str, size: str, weight: Any = "normal") -> float:
    """Width of a text in inches, that of its longest line; a dollar sign has a backslash, as `wrap_to` gives it."""
    from bayesnb.pictures.picture import FontProperties, TextToPath

    # The font states how wide its letters are. TextPath also traces their outlines, and takes 20 times as long.
    font = FontProperties(size=size, weight=weight)
    lines = (line.replace(r"\$", "$") for line in text.split("\n"))
    points = [TextToPath().get_text_width_height_descent(line, font, ismath=False)[0] for line in lines]
    return max(points) / 72


def wrap_to(text: Any, width: float, size: str, weight: Any = "normal") -> str:
    """Text in lines of at most `width` inches; a dollar sign does not start a formula.

    Lines end at spaces, underscores, slashes and hyphens, and before brackets. A word that is longer than a line is
    divided. A line of more than `MOST_LETTERS` loses its middle.
    """
    return "\n".join(_wrap_line(line, width, size, weight) for line in _escaped(text).split("\n"))


def _escaped(text: Any) -> str:
    """A text whose dollar signs start no formula; its long lines without their middle."""
    lines = [
        _without_middle(line, MOST_LETTERS) if len(line) > MOST_LETTERS else line for line in str(text).split("\n")
    ]
    return "\n".join(lines).replace("$", r"\$")


def _without_middle(line: str, kept: int) -> str:
    return f"{line[: kept - kept // 2]}\N{HORIZONTAL ELLIPSIS}{line[len(line) - kept // 2 :]}"


def _wrap_line(line: str, width: float, size: str, weight: Any) -> str:
    def fits(text: str) -> bool:
        return len(text) <= 72 * width / THIN and text_width(text.rstrip(), size, weight) <= width

    if fits(line):
        return line
    lines = [""]
    for part in PARTS.findall(line):
        if lines[-1] and not fits(lines[-1] + part):
            lines.append("")
        rest = part
        while not fits(lines[-1] + rest):
            kept = _longest(rest, fits)
            lines[-1:] = [rest[:kept], ""]
            rest = rest[kept:]
        lines[-1] += rest
    return "\n".join(text.rstrip() for text in lines if text.strip())


def shorten_to(text: Any, width: float, size: str) -> str:
    """Text in one line of at most `width` inches; what is too long has three dots in place of its middle."""
    whole = _escaped(text)
    if text_width(whole, size) <= width:
        return whole

    def is_too_wide(kept: int) -> bool:
        return text_width(_without_middle(whole, kept), size) > width

    return _without_middle(whole, max(1, bisect_left(range(1, len(whole)), True, key=is_too_wide)))


def _longest(text: str, fits: Callable[[str], bool]) -> int:
    """Number of letters of the longest beginning of a text that fits; at least one."""

    def is_too_long(number: int) -> bool:
        return not fits(text[:number])

    return 1 + bisect_left(range(2, len(text)), True, key=is_too_long)


def percent(prob: float) -> str:
    """A probability as "89 %"."""
    return f"{100 * prob:.4g} %"
