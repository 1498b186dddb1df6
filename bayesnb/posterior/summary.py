"""The table of a posterior's parameters, and the first line of its printed form."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesnb.model.sites import Sites
from bayesnb.problem import Problem

__all__ = ["headline", "summary_frame"]


def summary_frame(sites: Sites, columns: Mapping[str, Mapping[str, Any]]) -> Any:
    """A pandas frame with a row for every scalar parameter.

    Parameters
    ----------
    sites : Sites
    columns : mapping
        For each site its columns, arrays of the site's shape.
    """
    import pandas as pd

    labels = sites.scalar_labels()
    pieces = []
    for site, values in columns.items():
        size = len(labels[site])
        cells = {name: np.broadcast_to(np.ravel(np.asarray(value)), size) for name, value in values.items()}
        pieces.append(pd.DataFrame(cells, index=pd.Index(labels[site], name="parameter")))
    return pd.concat(pieces)


def headline(name: str, classes: list[Any], problem: Problem | None) -> str:
    """The name of the posterior, the number of rows of its data, and the labels."""
    weight = 0.0 if problem is None else float(problem.statistics.classes.n.sum())
    rows = "" if problem is None else f"{weight:g} row{'s' * (weight != 1)}, "
    if problem is not None and problem.unlabelled is not None:
        rows += f"{problem.unlabelled.weights.sum():g} without a label, "
    return f"{name}: {rows}classes {_elided(classes)}"


def _elided(labels: list[Any]) -> str:
    return str(labels) if len(labels) <= 10 else f"{str(labels[:8])[:-1]}, ... ({len(labels)} in all)]"
