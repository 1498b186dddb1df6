"""How many of many things a figure shows, and what its title says of it."""

from typing import Any

from bayesnb.validate import whole_number

__all__ = ["how_many", "number_of_panels"]

FEWEST = 4
"""Panels, if fewer results are extreme."""

MOST = 12
"""Panels, if more results are extreme."""

PLURALS = {"class": "classes", "probability": "probabilities", "quantity": "quantities"}


def number_of_panels(given: Any, extreme: int) -> int:
    """Panels at most: what the caller gives, or one for each extreme result within bounds."""
    return min(max(extreme, FEWEST), MOST) if given is None else whole_number("max_panels", given)


def how_many(shown: int, number: int, noun: str, which: str) -> str:
    """How many things a figure shows, such as "1 feature", "6 features" or "the top 4 of 6 features".

    Parameters
    ----------
    shown : int
        Things that the figure shows.
    number : int
        Things that there are.
    noun : str
        What one of them is called.
    which : str
        Which ones are shown, if not all are; empty if the caller has named them.
    """
    named = f"{number} {noun if number == 1 else PLURALS.get(noun, f'{noun}s')}"
    if shown == number:
        return named
    return f"the {which} {shown} of {named}" if which else f"{shown} of {named}"
