"""Labels that are probably errors, of which a user is warned."""

from collections import defaultdict
from typing import Any

from bayesnb.tables.columns import listed
from bayesnb.warn import warn

__all__ = ["warn_of_labels"]

MANY = 20
"""Number of labels that is never too many."""

FEW_EACH = 2
"""There is a warning if more labels have fewer annotations each, on average."""


def warn_of_labels(labels: list[Any], column: Any, num_annotations: int) -> None:
    """Warn of labels that are probably errors: each of them becomes a class.

    Parameters
    ----------
    labels : list
        The distinct labels.
    column : object
        Name of their column.
    num_annotations : int

    Warns
    -----
    UserWarning
    """
    doubts = _doubts(labels, num_annotations)
    if doubts:
        warn(
            f"column {column!r} {' and '.join(doubts)}, and each label is a class: correct the labels, or name all "
            "classes with classes=[...]",
            UserWarning,
        )


def _doubts(labels: list[Any], num_annotations: int) -> list[str]:
    alike = defaultdict(list)
    for label in labels:
        alike[str(label).strip().casefold()].append(label)
    texts = [label for label in labels if isinstance(label, str)]
    found = []
    if "" in alike:
        found.append(f"has the blank label {alike.pop('')[0]!r}")
    found += [f"has the labels {listed(same)}, which look alike" for same in alike.values() if len(same) > 1][:1]
    if 0 < len(texts) < len(labels):
        other = next(label for label in labels if not isinstance(label, str))
        found.append(f"has text and other values, {texts[-1]!r} and {other!r}")
    if len(labels) > MANY and num_annotations < FEW_EACH * len(labels):
        found.append(f"has {len(labels):,} labels in {num_annotations:,} annotations")
    return found
