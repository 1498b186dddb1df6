"""The table with which a posterior prints its parameters: a row for each, and a column for each class."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bayesnb.blocks.class_prior import CLASS_SITE
from bayesnb.model.bound import BoundModel
from bayesnb.model.story import parameter_notes
from bayesnb.printing import Code, DataTable, Paragraph, Piece, four_digits, plus_minus

__all__ = ["parameters_by_class"]

MOST_ROWS = 20
"""Number of rows after which the features that follow are counted and not shown."""

MOST_OF_SITE = 8
"""Number of rows of one parameter, such as the probabilities of a column with many categories."""

Axes = Sequence[tuple[str, Sequence[Any]]]


def parameters_by_class(model: BoundModel, moments: Callable[[str], Mapping[str, Any]]) -> list[Piece]:
    """The first features' parameters, and the number of the other features.

    Parameters
    ----------
    model : BoundModel
        Names the parameters.
    moments : callable
        Gives for the name of a site ``mean`` and ``sd``, or ``value``, arrays of the site's shape. Raises
        NotImplementedError where a family does not state them.
    """
    import pandas as pd

    axes = model.sites.axes()
    features = _sites_by_feature(model)
    labels, rows = _rows(CLASS_SITE, axes[CLASS_SITE], moments)
    shown = 0
    for sites in features:
        found = [_rows(site, axes[site], moments) for site in sites]
        if shown and len(labels) + sum(len(names) for names, _ in found) > MOST_ROWS:
            break
        for names, cells in found:
            labels, rows = labels + names, rows + cells
        shown += 1
    classes = pd.Index([str(label) for _, names in axes[CLASS_SITE] for label in names], dtype=object)
    frame = pd.DataFrame(rows, index=pd.Index(labels, name="class", dtype=object), columns=classes)
    parts: list[Piece] = [DataTable(frame, more_columns="classes", rows=len(frame))]
    if shown < len(features):
        parts.append(Paragraph(f"… and {len(features) - shown} more of {len(features)} features in .summary()"))
    parts += map(Paragraph, parameter_notes(model.blocks))
    of_rows = {CLASS_SITE, *(site.name for site in model.sites)}
    learned = [name for name in axes if name not in of_rows]
    if learned:
        parts += [Paragraph("Hyperparameters, mean ± sd:"), Code(_learned(learned, axes, moments))]
    return parts


def _sites_by_feature(model: BoundModel) -> list[list[str]]:
    """The sites of each feature, in the order of the table's columns."""
    found: dict[int, list[str]] = {}
    for site in model.sites:
        columns = model.blocks[site.block].columns
        found.setdefault(columns[site.column or 0], []).append(site.name)
    return [found[column] for column in sorted(found)]


def _rows(site: str, axes: Axes, moments: Callable[[str], Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Labels and cells of a parameter, whose first axis is the class."""
    (_, classes), *others = axes
    number = int(np.prod([len(names) for _, names in others]))
    labels = _labels(site, others)
    try:
        values = _as_text(moments(site), (len(classes), number))
    except NotImplementedError:
        # A family of a user may be without the means of its parameters, and has predictions nevertheless.
        return [site], [["?"] * len(classes)]
    if number > MOST_OF_SITE:
        labels.append(f"… and {number - MOST_OF_SITE} more of {site}")
        values.append([""] * len(classes))
    return labels, values


def _labels(site: str, axes: Axes) -> list[str]:
    """Names of the first values of a parameter, without the class."""
    places = itertools.islice(itertools.product(*(names for _, names in axes)), MOST_OF_SITE)
    return [f"{site}[{', '.join(map(str, place))}]" if place else site for place in places]


def _as_text(moments: Mapping[str, Any], shape: tuple[int, int]) -> list[list[str]]:
    """Cells of the first values: a row for each, and a column for each class."""
    arrays = np.broadcast_arrays(*moments.values())
    first = [array.reshape(shape)[:, :MOST_OF_SITE].T for array in arrays]
    cell = plus_minus if len(first) == 2 else four_digits
    return [[cell(*cells) for cells in zip(*row, strict=True)] for row in zip(*first, strict=True)]


def _learned(names: Sequence[str], axes: Mapping[str, Axes], moments: Callable[[str], Mapping[str, Any]]) -> list[str]:
    """A line for each of the first values of learned hyperparameters."""
    lines = []
    for name in names:
        number = int(np.prod([len(labels) for _, labels in axes[name]]))
        cells = _as_text(moments(name), (1, number))
        lines += [f"  {label} = {cell}" for label, [cell] in zip(_labels(name, axes[name]), cells, strict=True)]
        if number > MOST_OF_SITE:
            lines.append(f"  … and {number - MOST_OF_SITE} more of {name}")
    return lines
