"""Draws of word counts, in time that grows with the words of the documents and not with the vocabulary."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpyro.distributions as dist
import scipy.sparse

from bayesnb.families.draw import draw

__all__ = ["draw_words"]

LONG_DOCUMENT = 2**20
"""Documents of at most so many words are drawn word by word."""


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
    shape = (len(totals), weights.shape[1])
    # A document longer than the vocabulary takes less memory as a row of counts than word by word.
    long = totals > max(LONG_DOCUMENT, shape[1])
    rows, words, counts = [], [], []
    for of_class, edges, at in zip(weights, np.cumsum(weights, axis=1), members, strict=True):
        drawn = _drawn_at_once(of_class, totals[at[long[at]]], rng, urn)
        document, word = np.nonzero(drawn)
        rows.append(at[long[at]][document])
        words.append(word)
        counts.append(drawn[document, word])
        at = at[~long[at]]
        rows.append(np.repeat(at, totals[at]))
        counts.append(np.ones(len(rows[-1])))
        found = np.searchsorted(edges, rng.uniform(size=len(rows[-1])) * edges[-1], side="right")
        found = np.minimum(found, len(edges) - 1)
        words.append(found[_copied(totals[at], edges[-1], rng)] if urn else found)
    place = (np.concatenate(rows), np.concatenate(words))
    return scipy.sparse.coo_array((np.concatenate(counts), place), shape=shape).tocsr()


def _drawn_at_once(weights: np.ndarray, totals: np.ndarray, rng: np.random.Generator, urn: bool) -> np.ndarray:
    """Documents of one class as dense rows of counts, shape (documents, columns)."""
    prob = draw(dist.Dirichlet(weights), rng, totals.shape) if urn else weights / weights.sum()
    return rng.multinomial(totals, prob).astype(np.float64)


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
