"""Documents as counts of words, and annotations as counts of labels."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse
from scipy.special import gammaln

from bayesnb.core.arrays import (
    all_whole,
    csr_pieces,
    csr_row_sums,
    csr_rows,
    filled,
    row_pieces,
    shared_csr,
    without_duplicates,
)
from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.core.logarithms import log_factorial, log_of, log_rising
from bayesnb.families.categories import Bernoulli, DirichletFamily, dirichlet_log_evidence
from bayesnb.families.family import Axes, JointFamily, Parameters
from bayesnb.families.hyperparameters import NONNEGATIVE_INTEGER
from bayesnb.families.kernels import products_with, times
from bayesnb.families.needs import Afterwards, RowWeight, Sums
from bayesnb.families.statistics import Counts, clear_rounding

# --------------------------------------------------------------------------------------------------
# Rows of word counts: coefficients, rising factorials and sums over the words that occur
# --------------------------------------------------------------------------------------------------

LEVELS = 1, 4, 16, 64
"""Counts up to one of these levels are sums of logarithms; larger ones use the log-gamma function for the rest."""

LOGARITHMS = 10
"""A rising factorial by the log-gamma function takes as long as this many logarithms."""

PIECE_ENTRIES = 2**17
"""Number of sparse entries that are multiplied at a time; they fit the processor's cache."""


@dataclass(frozen=True)
class Documents:
    """Rows of counts. Most counts are one: a one has no factorial, and its log rising factorial is log alpha.

    Attributes
    ----------
    counts : CSR array, shape (rows, columns)
        The entries that are not zero.
    others : CSR array, shape (rows, columns)
        Those of them that are not one.
    places : array of int
        Positions of these among the entries.
    """

    counts: Any
    others: Any
    places: np.ndarray

    @classmethod
    def of(cls, x: Any) -> Self:
        """Rows of an array or a SciPy sparse array, shape (rows, columns)."""
        counts = without_duplicates(x if isinstance(x, scipy.sparse.csr_array) else scipy.sparse.csr_array(x))
        places = np.flatnonzero(counts.data != 1)
        others = _taken(counts, places)
        if not others.data.all():
            return cls.of(_taken(counts, np.flatnonzero(counts.data)))
        return cls(counts, others, places)

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
        for rows in row_pieces(*result.shape):
            result[rows] -= of_length[document[rows]]
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
        counts, others = self.counts, self.others
        sums = np.zeros((counts.shape[0], len(concentration)))
        level = 0
        if all_whole(others.data):
            reached = np.minimum(others.data, LEVELS[-1]).astype(np.int32)
            highest = np.ones(counts.shape[1], dtype=np.int32)
            np.maximum.at(highest, others.indices, reached)
            # The cost of logarithms up to a level, and of larger counts.
            work = [np.minimum(highest, k).sum() + LOGARITHMS * np.count_nonzero(others.data > k) for k in LEVELS]
            level = LEVELS[int(np.argmin(work))]
            table, start, rank = _sums_of_logs(concentration, np.minimum(highest, level))
            found = start[np.minimum(reached, level)] + rank[others.indices]
            pieces = list(csr_pieces(counts, PIECE_ENTRIES))
            ones = np.ones(max((counts.indptr[rows.stop] - counts.indptr[rows.start] for rows in pieces), default=0))
            for rows in pieces:
                entries = csr_rows(counts, rows)
                place, among = entries.indices.copy(), slice(*others.indptr[[rows.start, rows.stop]])
                place[self.places[among] - counts.indptr[rows.start]] = found[among]
                shape = entries.shape[0], len(table)
                sums[rows] = shared_csr(ones[: len(place)], place, entries.indptr, shape) @ table
            others = _taken(others, np.flatnonzero(others.data > level))
        else:
            others = counts
        for c, weights in enumerate(concentration if others.nnz else ()):
            log_terms = log_rising(weights[others.indices] + level, others.data - level)
            sums[:, c] += _with_data(others, log_terms).sum(axis=1)
        return sums


def _sums_of_logs(concentration: np.ndarray, highest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Sums :math:`\sum_{k<x} \log(\alpha + k)`: of all words at x = 1, then for each x of the words that reach it.

    Returns
    -------
    table : array, shape (rows, classes)
    start : array, shape (highest + 1,)
        The first row of each x, from x = 1 on.
    rank : array, shape (columns,)
        The place of a word among those of x, from x = 2 on: words of higher counts are first.
    """
    often = np.flatnonzero(highest > 1)
    often = often[np.argsort(-highest[often], kind="stable")]
    rank = np.arange(len(highest), dtype=highest.dtype)
    rank[often] = rank[: len(often)].copy()
    reach = np.count_nonzero(highest[often] > np.arange(1, highest.max())[:, None], axis=1)
    start = np.cumsum([0, 0, len(highest), *reach], dtype=highest.dtype)[:-1]
    table = np.empty((start[-1] + reach[-1] if len(reach) else len(highest), len(concentration)))
    np.log(concentration.T, out=table[: len(highest)])
    of_often, before = concentration.T[often], table[often]
    for k, number in enumerate(reach, 1):
        sums = table[start[k + 1] :][:number]
        np.add(of_often[:number], k, out=sums)
        np.log(sums, out=sums)
        sums += before[:number]
        before = sums
    return table, start, rank


def _taken(counts: Any, entries: np.ndarray) -> Any:
    """Some of the entries of a CSR array, given their positions in ascending order."""
    if len(entries) == counts.nnz:
        return counts
    edges = np.searchsorted(entries, counts.indptr)
    return shared_csr(counts.data[entries], counts.indices[entries], edges, counts.shape)


def _with_data(counts: Any, data: np.ndarray) -> Any:
    """A CSR array with the same positions and other numbers."""
    return shared_csr(data, counts.indices, counts.indptr, counts.shape)


def log_coefficient(x: Any) -> Any:
    """Log multinomial coefficient of vectors of counts, the last axis of an array, or of the rows of a sparse one."""
    if scipy.sparse.issparse(x):
        return Documents.of(x).log_coefficient()
    _, special = namespace(x)
    return special.gammaln(x.sum(axis=-1) + 1.0) - log_factorial(x).sum(axis=-1)


def row_totals(x: Any) -> Any:
    """Sum of each row, shape (rows, 1)."""
    return csr_row_sums(x.data, x.indptr) if scipy.sparse.issparse(x) else x.sum(axis=-1, keepdims=True)


LOG_COEFFICIENT = Afterwards(
    lambda sums: sums[0] - sums[1], (Sums(row_totals, log_factorial), Sums(terms=log_factorial, over_columns=True))
)
"""Sum of the log multinomial coefficients, shape (classes, 1)."""


def log_dirichlet_multinomial(x: Any, concentration: Any) -> Any:
    """Log density of vectors of counts whose probabilities have a Dirichlet distribution.

    Parameters
    ----------
    x : array, shape (..., columns)
        Numbers from zero.
    concentration : array, shape (..., columns)
        Positive; broadcasts against `x`.

    Returns
    -------
    array, shape (...,)
    """
    of_sequence = log_rising(concentration, x).sum(axis=-1) - log_rising(concentration.sum(axis=-1), x.sum(axis=-1))
    return of_sequence + log_coefficient(x)


def _sums_of_counts(log_prob: np.ndarray, x: Any) -> Callable[[slice], np.ndarray]:
    """Sums over columns of counts times log probabilities (..., classes, columns), a function of some of the rows."""
    products = products_with(log_prob.reshape(-1, log_prob.shape[-1]))

    def of_rows(rows: slice | np.ndarray) -> np.ndarray:
        sums = products(csr_rows(x, rows) if scipy.sparse.issparse(x) else x[rows])
        return np.swapaxes(sums.reshape(*log_prob.shape[:-1], sums.shape[-1]), -1, -2)

    return of_rows


def _sum_without(whole: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Sums less some of their terms: zero for a rounding error, NaN if negative.

    The density is then NaN, whatever the rest.
    """
    rest = clear_rounding(whole - part, whole)
    return np.where(rest < 0, np.nan, rest)


# --------------------------------------------------------------------------------------------------
# Vectors of counts, such as the words of a document, with a Dirichlet prior
# --------------------------------------------------------------------------------------------------


class WordFamily(JointFamily):
    """A family of vectors of counts."""

    cell: ClassVar[Any] = "count vector"
    support = NONNEGATIVE_INTEGER
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    hint: ClassVar[str] = "use nb.Gaussian() for measurements or weights such as tf-idf"
    takes: ClassVar[tuple[str, ...]] = ("sparse",)

    def possible(self, statistics: Any) -> Any:
        enough = (statistics.n > 0) | (statistics.total.sum(axis=-1, keepdims=True) == 0)
        return (statistics.n >= 0) & enough & (statistics.total >= 0)


@pytree
class Multinomial(WordFamily, DirichletFamily):
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

    fractional: bool = field(default=False, metadata={"static": True})

    _story: ClassVar[tuple[str, ...]] = ("Multinomial(total, prob)", "prob ~ Dirichlet({concentration})")

    def likelihood(self, prob: Any, total_count: Any = 1) -> "dist.Distribution":
        return dist.Multinomial(total_count=total_count, probs=prob)

    def needs(self) -> Any:
        return Counts(RowWeight(), Sums(), LOG_COEFFICIENT)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return times(statistics.total, log_of(parameters, "prob")).sum(axis=-1, keepdims=True)

    def log_evidence(self, statistics: Counts) -> Any:
        return dirichlet_log_evidence(self.concentration, statistics.total)[..., None] + statistics.log_base

    def of_each_column(self) -> Bernoulli:
        concentration = np.asarray(self.concentration)
        rest = concentration.sum(axis=-1, keepdims=True) - concentration
        # A single word has probability one.
        return Bernoulli(concentration, np.maximum(rest, np.finfo(np.float64).tiny))

    def density_formula(self, parameters: Parameters, x: Any) -> Any:
        in_sequence = times(x[:, None, :], log_of(parameters, "prob")).sum(axis=-1)
        return in_sequence + log_coefficient(x)[:, None]

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        of_words = _sums_of_counts(np.asarray(log_of(parameters, "prob")), x)
        if ratio:
            return of_words
        coefficient = log_coefficient(x)[:, None]
        return lambda rows: of_words(rows) + coefficient[rows]

    def predictive_formula(self, x: Any) -> Any:
        return log_dirichlet_multinomial(x[:, None, :], self.concentration)

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        documents = Documents.of(x)
        found = documents.log_rising_ratio(self.concentration)
        return found if ratio else found + documents.log_coefficient()[:, None]

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Counts, *, refitted: bool
    ) -> np.ndarray | None:
        # The entries of the rows suffice; no row needs its own copy of the hyperparameters.
        if refitted:
            return None
        weight_of_word = np.asarray(self.concentration)
        documents, total = Documents.of(x), np.asarray(statistics.total)
        words, length = documents.counts, documents.length
        number = np.diff(words.indptr)
        at = np.repeat(codes.astype(np.int64) * total.shape[1], number) + words.indices
        alpha = weight_of_word.take(at) + _sum_without(total.take(at), np.repeat(weights, number) * words.data)
        # Most words occur once or twice, and logarithms are fast.
        log_terms, twice = np.log(alpha), np.flatnonzero(words.data == 2)
        log_terms[twice] += np.log(alpha[twice] + 1)
        others = np.flatnonzero((words.data != 1) & (words.data != 2))
        log_terms[others] = log_rising(alpha[others], words.data[others])
        rest_of_class = _sum_without(total.sum(axis=1)[codes], weights * length)
        # A class has tokens only while it has a document.
        unpeopled = _sum_without(np.asarray(statistics.n)[codes, 0], weights) == 0
        log_density = documents.log_coefficient() + _with_data(words, log_terms).sum(axis=1)
        log_density -= log_rising(weight_of_word.sum(axis=1)[codes] + rest_of_class, length)
        return np.where(np.isnan(log_density) | (unpeopled & (rest_of_class > 0)), -np.inf, log_density)


# --------------------------------------------------------------------------------------------------
# Labels that annotators give to items, with a Dirichlet prior for each class and annotator
# --------------------------------------------------------------------------------------------------


@pytree
class Annotations(JointFamily, DirichletFamily):
    r"""Counts of the labels that annotators give to an item; :math:`\theta_{cj} \sim \mathrm{Dirichlet}(\alpha_{cj})`.

    Dawid and Skene (1979, *Applied Statistics* 28(1), 20-28). Given the class c of the item, annotator j gives label l
    with the probability :math:`\theta_{cjl}`, independently of the other annotations:

    .. math:: p(x \mid y = c) = \prod_j \prod_l \theta_{cjl}^{x_{jl}}

    An annotator who gives the item no label has no factor. The posterior is
    :math:`\mathrm{Dirichlet}(\alpha_{cjl} + \sum_i x_{ijl})`.

    The columns of a block are pairs of annotator and label, all labels of the first annotator first. Their names are
    these pairs.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Prior weight of each label: one number, (classes, labels) or (classes, annotators, labels).
    num_labels : int, default 2
        Number of labels.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite, or has another shape.

    See Also
    --------
    fit_annotations : Labels of items from a long table of annotations.
    Multinomial : Counts of words.

    Examples
    --------
    Ann and Bob label three items, each cat or dog:

    >>> import bayesnb as nb
    >>> names = [("Ann", "cat"), ("Ann", "dog"), ("Bob", "cat"), ("Bob", "dog")]
    >>> X, y = [[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]], ["cat", "dog", "dog"]
    >>> model = nb.NaiveBayes({"annotation": (nb.families.Annotations(num_labels=2), slice(None))})
    >>> posterior = nb.fit(model, X, y, feature_names=names)
    >>> posterior.mean()["annotation_prob"][:, 0]
    array([[0.66666667, 0.33333333],
           [0.25      , 0.75      ]])
    """

    num_labels: int = field(default=2, metadata={"static": True})

    support = NONNEGATIVE_INTEGER
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    takes: ClassVar[tuple[str, ...]] = ("sparse",)
    _story: ClassVar[tuple[str, ...]] = ("Annotations(prob)", "prob ~ Dirichlet({concentration})")

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        num_annotators, left = divmod(len(names), self.num_labels)
        numbers = np.asarray(self.concentration, dtype=np.float64)
        shape = num_classes, num_annotators, self.num_labels
        if left or numbers.shape not in {(), (num_classes, self.num_labels), shape}:
            raise ValueError(
                f"concentration has shape {numbers.shape}: give one number, an array of shape "
                f"{(num_classes, self.num_labels)} (classes, labels), or one of shape {shape} (classes, annotators, "
                "labels)"
            )
        if numbers.ndim == 2:
            numbers = numbers[:, None]
        return [(range(len(names)), replace(self, concentration=np.broadcast_to(numbers, shape)))]

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        annotators = tuple(annotator for annotator, _ in columns[:: self.num_labels])
        return ("annotator", annotators), ("label", tuple(label for _, label in columns[: self.num_labels]))

    def likelihood(self, prob: Any) -> "dist.Distribution":
        raise NotImplementedError(
            "the model does not say how many labels an annotator gives to an item, so that it draws no annotations: "
            "draw the labels of given items and annotators from the probabilities"
        )

    def needs(self) -> Any:
        of_labels = Afterwards(lambda total: total.reshape(len(total), -1, self.num_labels), Sums())
        return Counts(RowWeight(), of_labels, 0.0)

    def possible(self, statistics: Counts) -> Any:
        empty = statistics.total.sum(axis=(-1, -2))[..., None] == 0
        return (statistics.n >= 0) & (empty | (statistics.n > 0)) & (statistics.total >= 0).all(axis=(-1, -2))[:, None]

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return times(statistics.total, log_of(parameters, "prob")).sum(axis=(-1, -2))[..., None]

    def log_evidence(self, statistics: Counts) -> Any:
        return dirichlet_log_evidence(self.concentration, statistics.total).sum(axis=-1)[..., None]

    def density_formula(self, parameters: Parameters, x: Any) -> Any:
        log_prob = log_of(parameters, "prob")
        counts = namespace(x)[0].nan_to_num(x)
        return times(counts[:, None], log_prob.reshape(len(log_prob), -1)).sum(axis=-1)

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        log_prob = np.asarray(log_of(parameters, "prob"))
        return _sums_of_counts(log_prob.reshape(*log_prob.shape[:-2], -1), filled(x))

    def predictive_formula(self, x: Any) -> Any:
        counts = namespace(x)[0].nan_to_num(x).reshape(len(x), 1, -1, self.num_labels)
        in_all = log_rising(self.concentration.sum(axis=-1), counts.sum(axis=-1)).sum(axis=-1)
        return log_rising(self.concentration, counts).sum(axis=(-1, -2)) - in_all

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        labels = scipy.sparse.csr_array(filled(x))
        annotator = np.arange(x.shape[1]) // self.num_labels
        of_annotators = scipy.sparse.csr_array((np.ones(x.shape[1]), (np.arange(x.shape[1]), annotator)))
        concentration = np.asarray(self.concentration)
        given = Documents.of(labels).sum_log_rising(concentration.reshape(len(concentration), -1))
        return given - Documents.of(labels @ of_annotators).sum_log_rising(concentration.sum(axis=-1))
