"""Draws of word counts, in time that grows with the words of the documents and not with the vocabulary."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["draw_words"]


def draw_words(
    weights: np.ndarray,
    members: Sequence[np.ndarray],
    totals: np.ndarray,
    rng: np.random.Generator,
    *,
    urn: bool = False,
) -> Any:
    """Rows of counts with given totals, as a CSR array of shape (rows, columns).

    Parameters
    ----------
    weights : array, shape (classes, columns)
        Probabilities of a multinomial; with `urn`, concentrations of a Dirichlet-multinomial, which Pólya's urn draws.
    members : sequence of array of int
        Positions of the rows of each class.
    totals : array of int, shape (rows,)
    rng : numpy.random.Generator
    urn : bool, default False
    """
    rows, words = [], []
    for edges, at in zip(np.cumsum(weights, axis=1), members, strict=True):
        rows.append(np.repeat(at, totals[at]))
        found = np.searchsorted(edges, rng.uniform(size=len(rows[-1])) * edges[-1], side="right")
        found = np.minimum(found, len(edges) - 1)
        words.append(found[_copied(totals[at], edges[-1], rng)] if urn else found)
    place = (np.concatenate(rows), np.concatenate(words))
    return scipy.sparse.coo_array((np.ones(len(place[0])), place), shape=(len(totals), weights.shape[1])).tocsr()


def _copied(lengths: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Position, among all words, of the word that each word copies in Pólya's urn; its own position if it is new.

    After k words the next is new with probability strength / (strength + k), else one of them, all equally probable.
    """
    itself = np.arange(lengths.sum())
    before = itself - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pick = rng.uniform(size=len(itself)) * (strength + before)
    source = np.where(pick < before, itself - before + pick.astype(np.intp), itself)
    while (source != source[source]).any():
        source = source[source]
    return source
