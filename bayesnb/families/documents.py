"""Rows of word counts: coefficients, rising factorials and sums that touch only the words that occur."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import jax
import numpy as np
import scipy.sparse
from scipy.special import gammaln

from bayesnb.arrays import log_rising
from bayesnb.families.dirichlet import log_of_rest
from bayesnb.families.large_counts import log_dirichlet_multinomial
from bayesnb.rows import PIECE_CELLS, all_whole, row_pieces
from bayesnb.sparse import csr_pieces, csr_rows, dense, shared_csr, without_duplicates
from bayesnb.statistics.base import clear_rounding
from bayesnb.statistics.counts import Counts

__all__ = [
    "Documents",
    "count_documents_by_class",
    "left_out",
    "left_out_with_weights",
    "log_coefficient",
    "log_coefficient_on_device",
    "with_long_documents",
]

LEVELS = 16
"""Counts up to here are sums of logarithms, level by level; larger ones take the log-gamma function."""

PIECE_ENTRIES = 2**18
"""Entries of a sparse array that are changed for a product at a time; so many fit the processor's cache."""

LONG = 2.0**22
"""Documents of at least this length take a density summed by counts, in a form that does not cancel: sums of n log n
would leave an error of 1e-8."""

LOG_FACTORIALS = gammaln(np.arange(256) + 1.0)


@dataclass(frozen=True)
class Documents:
    """Rows of counts. Most counts are one: a one has no factorial, and its log rising factorial is log alpha.

    Attributes
    ----------
    counts : CSR array, shape (rows, columns)
        The entries that are not zero.
    others : CSR array, shape (rows, columns)
        Those of them that are not one.
    """

    counts: Any
    others: Any

    @classmethod
    def of(cls, x: Any) -> Self:
        """Rows of an array or a SciPy sparse array, shape (rows, columns)."""
        counts = without_duplicates(x if isinstance(x, scipy.sparse.csr_array) else scipy.sparse.csr_array(x))
        others = _where(counts, counts.data != 1)
        if not others.data.all():
            counts, others = (_where(entries, entries.data != 0) for entries in (counts, others))
        return cls(counts, others)

    @cached_property
    def length(self) -> np.ndarray:
        """Sum of each row, shape (rows,)."""
        return np.diff(self.counts.indptr) - np.diff(self.others.indptr) + self.others.sum(axis=1)

    def log_coefficient(self) -> np.ndarray:
        """Log multinomial coefficient of each row, shape (rows,)."""
        return gammaln(self.length + 1.0) - _with_data(self.others, _log_factorial(self.others.data)).sum(axis=1)

    def log_rising_ratio(self, concentration: Any) -> np.ndarray:
        """Log density of each row given its length, without the multinomial coefficient, shape (rows, classes).

        Parameters
        ----------
        concentration : array, shape (classes, columns)
        """
        concentration = np.asarray(concentration)
        lengths, document = np.unique(self.length, return_inverse=True)
        of_length = log_rising(concentration.sum(axis=-1), lengths[:, None])
        result = self.sum_log_rising(concentration)
        result -= of_length[document]
        return result

    def with_long(self, result: np.ndarray, concentration: Any) -> np.ndarray:
        """Log densities given Dirichlet-multinomial concentrations, accurate for long documents too."""
        return with_long_documents(result, self.counts, self.length, log_dirichlet_multinomial, concentration)

    def sum_log_rising(self, concentration: np.ndarray) -> np.ndarray:
        r"""Sum over columns of :math:`\log\Gamma(\alpha + x) - \log\Gamma(\alpha) = \sum_{k<x} \log(\alpha + k)`.

        Parameters
        ----------
        concentration : array, shape (classes, columns)

        Returns
        -------
        array, shape (rows, classes)
        """
        others = self.others
        whole = all_whole(others.data)
        highest = min(int(others.data.max(initial=1)), LEVELS) if whole else 0
        first = self.counts if whole else _where(self.counts, self.counts.data == 1)
        sums = np.empty((first.shape[0], len(concentration)))
        log_concentration = np.log(concentration.T, order="C")
        for rows in csr_pieces(first, PIECE_ENTRIES):
            piece = csr_rows(first, rows)
            sums[rows] = _with_data(piece, np.minimum(piece.data, 1.0)) @ log_concentration
        if highest > 1:
            sums += _later_levels(others, concentration, highest)
        beyond = _where(others, others.data > highest)
        if beyond.nnz:
            for c, weights in enumerate(concentration):
                rest = np.empty(beyond.nnz)
                for entries in row_pieces(beyond.nnz, 1):
                    alpha = weights[beyond.indices[entries]]
                    rest[entries] = log_rising(alpha + highest, beyond.data[entries] - highest)
                sums[:, c] += _with_data(beyond, rest).sum(axis=1)
        return sums


def with_long_documents(
    result: np.ndarray, x: Any, length: np.ndarray, density: Callable[[Any, Any], np.ndarray], parameters: Any
) -> np.ndarray:
    """Log densities of rows, with those of long documents in a form that does not cancel.

    Parameters
    ----------
    result : array, shape (..., rows, classes)
        Log densities, accurate for the other documents; overwritten.
    x : array or CSR array, shape (rows, columns)
    length : array, shape (rows,)
    density : callable
        Maps counts and parameters, whose last axis is the columns, to log densities.
    parameters : array, shape (..., classes, columns)
    """
    parameters = np.asarray(parameters)
    flat = parameters.reshape(-1, parameters.shape[-1])
    for rows, counts in _long_documents(x, length, flat.size):
        found = density(counts[:, None], flat).reshape(-1, *parameters.shape[:-1])
        result[..., rows, :] = np.moveaxis(found, 0, -2)
    return result


def _long_documents(x: Any, length: np.ndarray, cells: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions and dense counts of the long documents, some at a time, with so many cells for each."""
    long = np.flatnonzero(length > LONG)
    step = max(1, PIECE_CELLS // cells)
    for start in range(0, len(long), step):
        rows = long[start : start + step]
        yield rows, dense(x[rows])


def _later_levels(counts: Any, concentration: np.ndarray, highest: int) -> np.ndarray:
    """Sum of log(alpha + k) over columns and levels k from 1 to below x, or below `highest`, shape (rows, classes)."""
    # The sum of logarithms is taken once for each word and count that occur together.
    place = counts.indices * np.int64(highest) + np.minimum(counts.data, highest).astype(np.int64) - 1
    occurs = np.zeros(counts.shape[1] * highest, dtype=bool)
    occurs[place] = True
    word, last_level = np.divmod(np.flatnonzero(occurs), highest)
    by_pair = np.zeros((len(word), len(concentration)))
    for level in range(1, highest):
        reached = np.flatnonzero(last_level >= level)
        by_pair[reached] += np.log(concentration[:, word[reached]] + level).T
    pair = (np.cumsum(occurs, dtype=np.int32) - 1)[place]
    return shared_csr(np.ones(counts.nnz), pair, counts.indptr, (counts.shape[0], len(word))) @ by_pair


def places_of_entries(entries: Any, codes: np.ndarray) -> np.ndarray:
    """Position of each entry's class and column in a flat array of shape (classes * columns,), for a CSR array."""
    places = np.repeat(codes.astype(np.int64) * entries.shape[1], np.diff(entries.indptr))
    places += entries.indices
    return places


def _rest(count: np.ndarray, taken: Any) -> np.ndarray:
    """Remaining counts; NaN where they are negative."""
    rest = clear_rounding(count - taken, count)
    return np.where(rest < 0, np.nan, rest)


def _where(counts: Any, keep: np.ndarray) -> Any:
    """The entries of a CSR array that `keep` names."""
    kept = np.flatnonzero(keep)
    if len(kept) == counts.nnz:
        return counts
    edges = np.searchsorted(kept, counts.indptr)
    return shared_csr(counts.data[kept], counts.indices[kept], edges, counts.shape)


def _with_data(counts: Any, data: np.ndarray) -> Any:
    """A CSR array with the same positions and other numbers."""
    return shared_csr(data, counts.indices, counts.indptr, counts.shape)


def log_coefficient(x: Any) -> np.ndarray:
    """Log multinomial coefficient of each row, shape (rows,)."""
    if scipy.sparse.issparse(x):
        return Documents.of(x).log_coefficient()
    return gammaln(x.sum(axis=1) + 1.0) - _log_factorial(np.asarray(x)).sum(axis=1)


def log_coefficient_on_device(x: Any) -> Any:
    """As `log_coefficient`, for JAX to compile."""
    return jax.scipy.special.gammaln(x.sum(axis=1) + 1) - jax.scipy.special.gammaln(x + 1).sum(axis=1)


def _log_factorial(counts: np.ndarray) -> np.ndarray:
    """Log of x!, looked up in a table if all are small whole numbers, as counts of words are."""
    if counts.size and counts.min() >= 0 and counts.max() < len(LOG_FACTORIALS):
        whole = counts.astype(np.uint8)
        if (whole == counts).all():
            return LOG_FACTORIALS[whole]
    return gammaln(counts + 1.0)


def count_documents_by_class(x: Any, codes: np.ndarray, num_classes: int) -> Counts:
    """Statistics of CSR rows of one class (rows,) and of weight one each."""
    x = without_duplicates(x)
    n = np.bincount(codes, minlength=num_classes).astype(np.float64)
    of_entry = np.repeat(codes.astype(x.indices.dtype), np.diff(x.indptr))
    others = np.flatnonzero(x.data != 1)
    log_factorials = np.bincount(of_entry[others], _log_factorial(x.data[others]), minlength=num_classes)
    log_base = np.bincount(codes, _log_factorial(x.sum(axis=1)), minlength=num_classes) - log_factorials
    # Set one by one, because SciPy's constructor would look for the largest index of each kind.
    entries = scipy.sparse.coo_array((num_classes, x.shape[1]))
    entries.coords = of_entry, x.indices
    entries.data = x.data
    return Counts(n[:, None], entries.toarray(), log_base[:, None])


def left_out(concentration: np.ndarray, x: Any, codes: np.ndarray, statistics: Counts) -> np.ndarray:
    """As `ConjugateFamily.row_log_left_out`, for a Dirichlet prior (classes, columns)."""
    total = np.asarray(statistics.total)
    documents = Documents.of(x)
    length, others = documents.length, documents.others
    # A table gives the terms as if every count were one. For larger counts, the difference from that is added.
    of_one = log_of_rest(concentration, total)
    one, at = (places_of_entries(entries, codes) for entries in (documents.counts, others))
    with np.errstate(invalid="ignore"):
        rest = _rest(total.take(at), others.data)
        more = log_rising(concentration.take(at) + rest, others.data) - of_one.take(at)
        result = _with_data(documents.counts, of_one.take(one)).sum(axis=1) + _with_data(others, more).sum(axis=1)
        rest_of_class = _rest(total.sum(axis=1)[codes], length)
        result -= log_rising(concentration.sum(axis=1)[codes] + rest_of_class, length)
    # The general way checks whether a class without other documents still has words.
    peopled = _rest(np.asarray(statistics.n)[codes, 0], 1.0) > 0
    result = result + documents.log_coefficient()
    for rows, counts in _long_documents(documents.counts, length, total.shape[1]):
        others = _rest(total[codes[rows]], counts)
        result[rows] = log_dirichlet_multinomial(counts, concentration[codes[rows]] + others)
    return np.where(peopled, result, np.nan)


def left_out_with_weights(
    concentration: np.ndarray, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Counts
) -> tuple[np.ndarray, np.ndarray]:
    """As `ConjugateFamily.log_density_without`, for a Dirichlet prior (classes, columns).

    It is the Dirichlet-multinomial of Murphy (2012), Eq. 3.79.
    """
    words = scipy.sparse.csr_array(x, copy=True)
    words.sum_duplicates()
    row = np.repeat(np.arange(len(codes)), np.diff(words.indptr))
    length = np.asarray(words.sum(axis=1)).ravel()

    def by_row(values: np.ndarray) -> np.ndarray:
        return np.bincount(row, values, minlength=len(codes))

    at = codes[row], words.indices
    total = np.asarray(statistics.total)
    rest = clear_rounding(total[at] - weights[row] * words.data, total[at])
    total_of_class = total.sum(axis=1)[codes]
    rest_of_class = clear_rounding(total_of_class - weights * length, total_of_class)
    n = np.asarray(statistics.n)[codes, 0]
    impossible = (by_row(rest < 0) > 0) | ((clear_rounding(n - weights, n) == 0) & (rest_of_class > 0))
    rest = np.maximum(rest, 0.0)
    log_density = by_row(log_rising(concentration[at] + rest, words.data) - gammaln(words.data + 1.0))
    log_density += gammaln(length + 1.0)
    return log_density - log_rising(concentration.sum(axis=1)[codes] + rest_of_class, length), impossible
