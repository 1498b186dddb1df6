"""Documents as counts of words."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.sparse
from numpyro.distributions import constraints
from scipy.special import gammaln

from bayesnb.core.arrays import (
    all_whole,
    csr_pieces,
    csr_rows,
    log_rising,
    row_pieces,
    shared_csr,
    without_duplicates,
)
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.categories import Bernoulli, dirichlet_log_evidence, dirichlet_mode, log_of_rest
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.counts import log_dirichlet_multinomial, log_factorial, log_multinomial_coefficient
from bayesnb.families.distributions import log_of
from bayesnb.families.exponential import Weights, times
from bayesnb.families.joint import JointFamily
from bayesnb.families.statistics import Counts, class_sums, clear_rounding

__all__ = ["Documents", "Multinomial", "log_coefficient"]

# --------------------------------------------------------------------------------------------------
# Rows of word counts: coefficients, rising factorials and sums that touch only the words that occur
# --------------------------------------------------------------------------------------------------

LEVELS = 1, 4, 16, 64
"""Counts up to one of these are looked up among sums of logarithms; larger ones take the log-gamma function."""

LOGARITHMS = 10
"""So many logarithms take as long as a rising factorial by the log-gamma function."""

PIECE_ENTRIES = 2**18
"""Entries of a sparse array that are changed for a product at a time; so many fit the processor's cache."""


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
        return gammaln(self.length + 1.0) - _with_data(self.others, log_factorial(self.others.data)).sum(axis=1)

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

    def sum_log_rising(self, concentration: np.ndarray) -> np.ndarray:
        r"""Sum over columns of :math:`\log\Gamma(\alpha + x) - \log\Gamma(\alpha) = \sum_{k<x} \log(\alpha + k)`.

        Parameters
        ----------
        concentration : array, shape (classes, columns)

        Returns
        -------
        array, shape (rows, classes)
        """
        concentration = np.asarray(concentration)
        if not all_whole(self.others.data):
            return self._sum_of_any(concentration)
        words, counts = self.others.indices, np.minimum(self.others.data, LEVELS[-1]).astype(np.int32)
        highest = np.zeros(self.counts.shape[1], dtype=np.int32)
        np.maximum.at(highest, words, counts)
        level = _best_level(highest, self.others.data)
        table, above_one = _cumulative_logs(concentration, np.minimum(highest, level))
        place = self.counts.indices.copy()
        if level > 1:
            place[np.flatnonzero(self.counts.data != 1)] = above_one[words] + np.minimum(counts, level)
        entries = shared_csr(np.ones(len(place)), place, self.counts.indptr, (self.counts.shape[0], len(table)))
        sums = np.empty((self.counts.shape[0], len(concentration)))
        for rows in csr_pieces(entries, PIECE_ENTRIES):
            sums[rows] = csr_rows(entries, rows) @ table
        self._add_beyond(sums, concentration, level)
        return sums

    def _sum_of_any(self, concentration: np.ndarray) -> np.ndarray:
        """As `sum_log_rising`, for counts that are not all whole."""
        ones = _where(self.counts, self.counts.data == 1)
        sums = ones @ np.log(concentration.T, order="C")
        self._add_beyond(sums, concentration, 0)
        return sums

    def _add_beyond(self, sums: np.ndarray, concentration: np.ndarray, level: int) -> None:
        """Add what counts above a level have beyond it, by log-gamma functions."""
        beyond = _where(self.others, self.others.data > level)
        if not beyond.nnz:
            return
        rest = np.empty(beyond.nnz)
        for c, weights in enumerate(concentration):
            for entries in row_pieces(beyond.nnz, 1):
                alpha = weights[beyond.indices[entries]]
                rest[entries] = log_rising(alpha + level, beyond.data[entries] - level)
            sums[:, c] += _with_data(beyond, rest).sum(axis=1)


def _best_level(highest: np.ndarray, counts: np.ndarray) -> int:
    """The one of `LEVELS` that makes a table of sums of logarithms, and what goes beyond it, the least work.

    Parameters
    ----------
    highest : array, shape (columns,)
        The largest count of each word.
    counts : array, shape (entries,)
    """

    def work(level: int) -> int:
        return int(np.minimum(highest, level).sum()) + LOGARITHMS * int(np.count_nonzero(counts > level))

    return min(LEVELS, key=work)


def _cumulative_logs(concentration: np.ndarray, highest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Sums :math:`\sum_{k<x} \log(\alpha + k)` for every word and each x up to its highest count.

    Parameters
    ----------
    concentration : array, shape (classes, columns)
    highest : array of int, shape (columns,)
        Zero or one where no count is larger than one.

    Returns
    -------
    table : array, shape (entries, classes)
        First one row for each word, with x = 1; then those of x = 2, 3, ... of each word.
    above_one : array of int, shape (columns,)
        The row of a word and x >= 2 is x plus this.
    """
    num_classes, num_columns = concentration.shape
    further = np.maximum(highest - 1, 0)
    above_one = num_columns - 2 + np.cumsum(further, dtype=np.int64) - further
    table = np.empty((num_columns + int(further.sum()), num_classes))
    np.log(concentration.T, out=table[:num_columns])
    words = np.flatnonzero(further)
    before = table[words]
    for x in range(2, int(highest.max(initial=0)) + 1):
        reached = highest[words] >= x
        words, before = words[reached], before[reached]
        before += np.log(concentration[:, words] + (x - 1)).T
        table[above_one[words] + x] = before
    return table, above_one


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
    return gammaln(x.sum(axis=1) + 1.0) - log_factorial(np.asarray(x)).sum(axis=1)


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
    return np.where(peopled, result, np.nan)


def left_out_with_weights(
    concentration: np.ndarray, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Counts
) -> tuple[np.ndarray, np.ndarray]:
    """As `JointFamily.log_density_without`, for a Dirichlet prior (classes, columns).

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


# --------------------------------------------------------------------------------------------------
# Vectors of counts, such as the words of a document, with a Dirichlet prior
# --------------------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Multinomial(JointFamily, ConjugateFamily):
    r"""Rows of counts (words of a document) given their total; :math:`\theta_c \sim \mathrm{Dirichlet}(\alpha)`.

    All columns of a block are one observation, of density :math:`\frac{n!}{\prod_v x_v!} \prod_v \theta_{cv}^{x_v}`
    given the class (Murphy 2012, Eq. 3.78). The posterior is :math:`\mathrm{Dirichlet}(\alpha_v + \sum_i x_{iv})`; the
    predictive of a whole document is the Dirichlet-multinomial (Eq. 3.79). It is not the product of the words'
    predictive probabilities, because all words of a document share one uncertain :math:`\theta_c`.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Prior weight of each column; broadcasts to (columns,) or (classes, columns).
    fractional : bool, default False
        Accept weights that are no counts, such as tf-idf. The formulas then have gamma functions in place of
        factorials, and the result is not a probability of the data. With small concentrations the posterior mean
        predicts labels better: ``posterior.plugin()``.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite.

    See Also
    --------
    DirichletMultinomial : Count vectors in which words come in bursts.
    Bernoulli : Zeros and ones.

    Notes
    -----
    Numerical domain: counts up to 1e9. The log density of a document has an error of about 5e-11 at 1e4 tokens, 2e-8 at
    4e6 and 1e-5 at 1e9, and an evidence the sum of these. Larger counts give a warning, and counts above 2**53, of
    which float64 does not hold every one, an error.

    Examples
    --------
    Forty words in the proportions of the first class. The plug-in of the mean word probabilities gives 0.999999.

    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Multinomial()), [[3, 1, 0], [1, 3, 0]], ["a", "b"])
    >>> posterior.predict_proba([[30, 10, 0]]).round(3)
    array([[0.871, 0.129]])
    """

    concentration: Hyperparameter = 1.0
    fractional: bool = field(default=False, metadata={"static": True})

    cell: ClassVar[Any] = "count vector"
    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements or weights such as tf-idf"
    positive: ClassVar[tuple[str, ...]] = ("concentration",)
    flat_prior: ClassVar[dict[str, float]] = {"concentration": 1.0}
    sparse: ClassVar[bool] = True
    _story: ClassVar[tuple[str, ...]] = ("Multinomial(total, prob)", "prob ~ Dirichlet({concentration})")

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", dist.Dirichlet(self.concentration))}

    def likelihood(self, prob: Any, total_count: Any = 1) -> dist.Distribution:
        return dist.Multinomial(total_count=total_count, probs=prob)

    def statistics(self, x: Any, membership: Any) -> Counts:
        x = without_duplicates(x) if scipy.sparse.issparse(x) else x
        n = membership.sum(axis=0)[:, None]
        return Counts(n, class_sums(x, membership), class_sums(log_coefficient(x)[:, None], membership))

    def possible(self, statistics: Counts) -> Any:
        enough = (statistics.n > 0) | (statistics.total.sum(axis=-1, keepdims=True) == 0)
        return (statistics.n >= 0) & enough & (statistics.total >= 0)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return times(statistics.total, log_of(parameters, "prob")).sum(axis=-1, keepdims=True)

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"prob": statistics.total / statistics.total.sum(axis=-1, keepdims=True)}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total)

    def predictive(self, total_count: Any = 1) -> dist.Distribution:
        return dist.DirichletMultinomial(self.concentration, total_count=total_count)

    def log_evidence(self, statistics: Counts) -> Any:
        return dirichlet_log_evidence(self.concentration, statistics.total)[..., None] + statistics.log_base

    def mean(self) -> dict[str, Any]:
        # NumPyro takes a third of a second for the marginals of 100,000 words in five classes.
        return {"prob": self.concentration / self.concentration.sum(axis=-1, keepdims=True)}

    def mode(self) -> dict[str, Any]:
        return {"prob": dirichlet_mode(self.concentration)}

    def of_each_column(self) -> Bernoulli:
        concentration = np.asarray(self.concentration)
        rest = concentration.sum(axis=-1, keepdims=True) - concentration
        # With a single word there are no other words, and its probability is one.
        return Bernoulli(concentration, np.maximum(rest, np.finfo(np.float64).tiny))

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        if isinstance(x, jax.Array):
            return lambda rows: _log_density_in_jax(parameters, x[rows].astype(jnp.float64))
        log_prob = log_of(parameters, "prob")
        weights = Weights.of(np.reshape(log_prob, (-1, np.shape(log_prob)[-1])))
        coefficient = None if ratio else log_coefficient(x)

        def of_rows(rows: slice) -> np.ndarray:
            documents = csr_rows(x, rows) if scipy.sparse.issparse(x) else x[rows]
            sums = weights.of_rows(documents).reshape(*np.shape(log_prob)[:-1], documents.shape[0])
            if coefficient is not None:
                sums += coefficient[rows]
            return np.swapaxes(sums, -1, -2)

        return of_rows

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        if isinstance(x, jax.Array):
            return log_dirichlet_multinomial(x.astype(jnp.float64)[:, None, :], self.concentration)
        documents = Documents.of(x)
        found = documents.log_rising_ratio(self.concentration)
        return found if ratio else found + documents.log_coefficient()[:, None]

    def row_log_left_out(self, x: Any, codes: np.ndarray, statistics: Counts) -> np.ndarray:
        return left_out(np.asarray(self.concentration), x, codes, statistics)

    def log_density_without(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Counts
    ) -> tuple[np.ndarray, np.ndarray]:
        return left_out_with_weights(np.asarray(self.concentration), x, codes, weights, statistics)


def _log_density_in_jax(parameters: Parameters, counts: Any) -> Any:
    in_sequence = times(counts[:, None, :], log_of(parameters, "prob")).sum(axis=-1)
    return in_sequence + log_multinomial_coefficient(counts)[:, None]
