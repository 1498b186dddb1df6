"""The table of a posterior's parameters, and its printed forms."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from bayesnb.model.sites import Sites
from bayesnb.problem import Problem

__all__ = ["headline", "html", "summary_frame"]

HTML_ROWS = 5000
"""Largest number of parameters for which a notebook shows a table of them."""


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


def headline(name: str, classes: list[Any], problem: Problem | None, details: str) -> str:
    """A line with the class of the posterior, the number of rows of its data, and the labels."""
    weight = 0.0 if problem is None else float(problem.statistics.classes.n.sum())
    rows = "" if problem is None else f"{weight:g} row{'s' * (weight != 1)}, "
    if problem is not None and problem.unlabelled is not None:
        rows += f"{problem.unlabelled.weights.sum():g} without a label, "
    return f"{name}: {rows}classes {_elided(classes)}{details}"


def html(text: str, sites: Sites, summary: Any) -> str:
    """The HTML that a notebook shows: the text of the repr, and a table unless there are very many parameters.

    Parameters
    ----------
    text : str
    sites : Sites
    summary : callable
        Gives the table of `summary_frame`.
    """
    first, _, story = text.partition("\n")
    table = ""
    if sum(len(labels) for labels in sites.scalar_labels().values()) <= HTML_ROWS:
        table = summary().to_html(max_rows=20, float_format=lambda value: f"{value:.4g}")
    return f"<p><b>{escape(first)}</b></p><pre>{escape(story)}</pre>{table}"


def _elided(labels: list[Any]) -> str:
    return str(labels) if len(labels) <= 10 else f"{str(labels[:8])[:-1]}, ... ({len(labels)} in all)]"
