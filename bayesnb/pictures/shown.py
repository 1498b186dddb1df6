"""How many panels show the most extreme of many results."""

from typing import Any

from bayesnb.validate import whole_number

__all__ = ["not_shown", "number_of_panels"]

FEWEST = 4
"""Panels, if fewer results are extreme."""

MOST = 12
"""Panels, if more results are extreme."""


def number_of_panels(given: Any, extreme: int) -> int:
    """Panels at most: what the caller gives, or one for each extreme result within bounds."""
    return min(max(extreme, FEWEST), MOST) if given is None else whole_number("max_panels", given)


def not_shown(number: int, which: str) -> str:
    """What a title says of the results without a panel; nothing if there are none."""
    return f"; {number} with {which} {'is' if number == 1 else 'are'} not shown" if number else ""
