"""The built-in statistics by name, and the choice of statistics."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bayesnb.checks.predictive import agreement, columns, dependence, functions, shape, words
from bayesnb.checks.predictive.replicates import Rows
from bayesnb.checks.predictive.statistic import Build, Statistic
from bayesnb.model.bound import BoundModel

__all__ = ["read_statistics", "statistics_of"]

BUILT_IN: dict[str, tuple[Sequence[Build], str]] = {
    "class_frequency": ([columns.class_frequency], "classes"),
    "mean": ([columns.mean], "columns of numbers"),
    "variance": ([columns.variance], "columns of numbers other than 0/1"),
    "shape": ([shape.shape], "columns of measurements"),
    "zero_share": ([columns.zero_share, words.zero_share], "columns of counts or count vectors"),
    "burstiness": ([words.burstiness], "count vectors"),
    "dependence": ([dependence.dependence], "two columns"),
    "agreement": ([agreement.agreement], "two 0/1 or categorical columns"),
}
"""How each statistic is prepared, and the columns that it needs."""


def read_statistics(statistics: Any) -> list[Any] | None:
    """The argument `statistics` of a check as a list of names and functions; None means every built-in statistic.

    Raises
    ------
    TypeError
        If an entry is neither.
    ValueError
        If there is no entry, or a name is not that of a statistic.
    """
    if statistics is None:
        return None
    if isinstance(statistics, str) or callable(statistics):
        statistics = [statistics]
    try:
        found = list(statistics)
    except TypeError:
        raise TypeError(f"statistics is {statistics!r}: give a list of names and functions f(X, y)") from None
    if not found:
        raise ValueError(f"statistics is empty: give functions f(X, y), or names among {list(BUILT_IN)}")
    for statistic in found:
        if isinstance(statistic, str):
            if statistic not in BUILT_IN:
                raise ValueError(f"there is no statistic {statistic!r}: name one of {list(BUILT_IN)}, or give f(X, y)")
        elif not callable(statistic):
            raise TypeError(f"statistics holds {statistic!r}: give names among {list(BUILT_IN)}, or functions f(X, y)")
    return found


def statistics_of(
    asked: Iterable[Any] | None, model: BoundModel, data: Rows, X: Any, y: Any, weighted: bool, rng: np.random.Generator
) -> list[tuple[Statistic, np.ndarray]]:
    """The statistics that `read_statistics` read, each with its observed values.

    Raises
    ------
    ValueError
        If the model has no columns for a statistic that is named.
    """
    found: list[tuple[Statistic, np.ndarray]] = []
    for one in BUILT_IN if asked is None else asked:
        if callable(one):
            taken = {label for statistic, _ in found for label in statistic.labels}
            found.append(functions.of_function(one, model, X, y, taken, data if weighted else None))
            continue
        builders, needs = BUILT_IN[one]
        built = [statistic for build in builders if (statistic := build(model, data, rng)) is not None]
        if asked is not None and not built:
            raise ValueError(f"the statistic {one!r} needs {needs}, which the model does not have")
        found.extend((statistic, statistic.values(data)) for statistic in built)
    return found
