"""Warnings of many fits, gathered and issued once."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bayesnb.inference.base import ConvergenceWarning
from bayesnb.warn import warn

__all__ = ["GatheredWarnings"]


class GatheredWarnings:
    """Warnings of fits to training parts. Messages of fits that have not converged differ in numbers and count as one.

    Parameters
    ----------
    verb : str
        The function that fits, for the messages.
    """

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.found: dict[tuple[type[Warning], str], tuple[str, list[Any]]] = {}

    @contextmanager
    def of_fold(self, fold: Any) -> Iterator[None]:
        """Gather the warnings of the fit without a fold; None means the fit to all rows."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
        for one in caught:
            message = str(one.message)
            same = "" if issubclass(one.category, ConvergenceWarning) else message
            self.found.setdefault((one.category, same), (message, []))[1].append(fold)

    def issue(self) -> None:
        """Issue each warning once, naming its folds."""
        for (category, same), (message, folds) in self.found.items():
            first = "" if same or len(folds) == 1 else "the first says: "
            warn(f"{self.verb}, {_fits(folds)}: {first}{message}", category)


def _fits(folds: Sequence[Any]) -> str:
    without = list(dict.fromkeys(str(fold) for fold in folds if fold is not None))
    parts = [f"without fold{'s' * (len(without) > 1)} {', '.join(without)}"] if without else []
    parts += ["to all rows"] if None in folds else []
    return f"fit{'s' * (len(without) + (None in folds) > 1)} {' and '.join(parts)}"
