"""Items and annotators that a user names."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.tables.columns import listed, near_matches

__all__ = ["positions_of"]

LISTED = 1000
"""Names among which an error looks for near matches."""


def positions_of(argument: str, names: Any, index: pd.Index) -> np.ndarray:
    """Positions of names in an index, each once, in the order given; all positions if no names are given.

    Parameters
    ----------
    argument : str
        What errors call the names: "items" or "annotators".
    names : sequence or name or None
    index : pandas.Index
        The index of `AnnotationFit.items` or `AnnotationFit.annotators`.

    Raises
    ------
    ValueError
        If there is no name, or a name is not in the index.
    """
    if names is None:
        return np.arange(len(index))
    named = pd.Index(list(names) if pd.api.types.is_list_like(names) else [names], tupleize_cols=False)
    if named.empty:
        raise ValueError(f"{argument} is empty: name one or more, or leave it out for all")
    found = index.get_indexer(named)
    if (found < 0).any():
        name = named.tolist()[int(np.argmax(found < 0))]
        raise ValueError(
            f"{argument} names {name!r}, which is not in column {index.name!r}{near_matches(name, index[:LISTED])}: "
            f"name some of {listed(index[:LISTED])}"
        )
    return pd.unique(found)
