"""The annotators that a figure shows, and their names."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.crowd.named import positions_of
from bayesnb.crowd.result import AnnotationFit
from bayesnb.pictures.choices import require_result
from bayesnb.printing import counted

__all__ = ["annotators_in_order", "first_annotators", "fit_of_annotations", "names_of", "others", "positions"]

ORDERS = {
    "accuracy": ("accuracy", True, "with the lowest accuracy"),
    "annotations": ("num_annotations", False, "with the most annotations"),
}
"""By order, the column of the frame, whether it ascends, and what the first annotators are."""


def fit_of_annotations(given: Any) -> AnnotationFit:
    """What `fit_annotations` returns.

    Raises
    ------
    TypeError
        If it is something else.
    """
    require_result(given, AnnotationFit, "crowd", "nb.fit_annotations(...)")
    fit: AnnotationFit = given
    return fit


def annotators_in_order(crowd: AnnotationFit, annotators: Any, sort: str | None) -> pd.DataFrame:
    """The annotators to show, a part of `AnnotationFit.annotators` in the order of the figure.

    Parameters
    ----------
    crowd : AnnotationFit
    annotators : sequence or name, optional
        By default all.
    sort : {"accuracy", "annotations"} or None
        The lowest accuracy or the most annotations first; None for the order of `annotators`.

    Raises
    ------
    ValueError
        If an annotator is unknown, or there is no such order.
    """
    frame = crowd.annotators
    frame = frame.iloc[positions_of("annotators", annotators, frame.index)]
    if sort is None:
        return frame
    if sort not in ORDERS:
        raise ValueError(f"sort is {sort!r}: give one of {list(ORDERS)}, or None for the order of the annotators")
    column, ascending, _ = ORDERS[sort]
    return frame.sort_values(column, ascending=ascending, kind="stable")


def positions(crowd: AnnotationFit, shown: pd.DataFrame) -> np.ndarray:
    """Positions of the annotators of a part of `AnnotationFit.annotators`."""
    found: np.ndarray = crowd.annotators.index.get_indexer(shown.index)
    return found


def first_annotators(shown: int, number: int, sort: str | None) -> str:
    """What a title says of the annotators that are shown."""
    if shown == number:
        return counted(number, "annotator")
    which = "the first" if sort is None else "the"
    return f"{which} {shown} of {number} annotators" + (f" {ORDERS[sort][2]}" if sort else "")


def names_of(shown: pd.DataFrame) -> list[str]:
    """The items or annotators of a frame, each with its number of annotations in brackets.

    Dates without times have no time of day, as pandas prints them.
    """
    names = shown.index.astype(str)
    return [f"{name} ({number:,})" for name, number in zip(names, shown["num_annotations"], strict=True)]


def others(labels: Sequence[Any]) -> str:
    """What several labels are called together; a single one has its own name."""
    return str(labels[0]) if len(labels) == 1 else f"{len(labels)} others"
