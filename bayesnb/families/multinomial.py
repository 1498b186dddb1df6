"""Vectors of counts, such as the words of a document, with a Dirichlet prior."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist
import scipy.sparse
from numpyro.distributions import constraints
from scipy.special import gammaln

from bayesnb.arrays import log_rising, namespace
from bayesnb.families.base import ConjugateFamily, Hyperparameter, Parameters, Sample, format_number, log_weights
from bayesnb.families.categorical import dirichlet_log_evidence, dirichlet_marginal, dirichlet_mode
from bayesnb.stats import Counts, class_sums

__all__ = ["Multinomial"]

LEVELS = 16
"""Counts up to here are sums of logarithms, level by level; larger ones take the log-gamma function."""

LOG_FACTORIALS = gammaln(np.arange(256) + 1.0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Multinomial(ConjugateFamily):
    r"""Rows of counts (words of a document) given their total; :math:`\theta_c \sim \mathrm{Dirichlet}(\alpha)`.

    All columns of a block are one observation, of density
    :math:`\frac{n!}{\prod_v x_v!} \prod_v \theta_{cv}^{x_v}` given the class (Murphy 2012, Eq. 3.78). The posterior is
    :math:`\mathrm{Dirichlet}(\alpha_v + \sum_i x_{iv})`; the predictive of a whole document is the
    Dirichlet-multinomial (Eq. 3.79), which knows that the words of a long document share one uncertain
    :math:`\theta_c`, and not the product of the words' predictive probabilities.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Prior weight of each column; broadcasts to (columns,) or (classes, columns).
    fractional : bool, default False
        Accept weights that are no counts, such as tf-idf. The formulas go through with gamma functions for factorials,
        but what comes out is no probability of anything that was observed.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite.

    Examples
    --------
    Forty words in the proportions of the first class. Plugging in the mean word probabilities would claim 0.999999.

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
    sparse: ClassVar[bool] = True

    @property
    def accepts_fractions(self) -> bool:
        return self.fractional

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", dist.Dirichlet(self.concentration))}

    def likelihood(self, prob: Any, total_count: Any = 1) -> dist.Distribution:
        return dist.Multinomial(total_count=total_count, probs=prob)

    def statistics(self, x: Any, membership: np.ndarray) -> Counts:
        n = membership.sum(axis=0)[:, None]
        return Counts(n, class_sums(x, membership), class_sums(log_coefficient(x)[:, None], membership))

    def statistics_by_class(self, x: Any, codes: np.ndarray, num_classes: int) -> Counts:
        if not scipy.sparse.issparse(x):
            return self.statistics(x, np.eye(num_classes)[codes])
        n = np.bincount(codes, minlength=num_classes).astype(np.float64)
        log_base = np.bincount(codes, log_coefficient(x), minlength=num_classes)
        entries = np.repeat(codes.astype(np.int32), np.diff(x.indptr)), x.indices
        total = scipy.sparse.coo_array((x.data, entries), shape=(num_classes, x.shape[1])).toarray()
        return Counts(n[:, None], total, log_base[:, None])

    def possible(self, statistics: Counts) -> Any:
        enough = (statistics.n > 0) | (statistics.total.sum(axis=-1, keepdims=True) == 0)
        return (statistics.n >= 0) & enough & (statistics.total >= 0)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        prob = parameters["prob"]
        _, special = namespace(prob, statistics.n)
        return special.xlogy(statistics.total, prob).sum(axis=-1, keepdims=True)

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"prob": statistics.total / statistics.total.sum(axis=-1, keepdims=True)}

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total)

    def predictive(self, total_count: Any = 1) -> dist.Distribution:
        return dist.DirichletMultinomial(self.concentration, total_count=total_count)

    def log_evidence(self, statistics: Counts) -> Any:
        return dirichlet_log_evidence(self.concentration, statistics.total)[..., None] + statistics.log_base

    def marginals(self) -> dict[str, dist.Distribution]:
        return {"prob": dirichlet_marginal(self.concentration)}

    def mean(self) -> dict[str, Any]:
        return {"prob": self.concentration / self.concentration.sum(axis=-1, keepdims=True)}

    def mode(self) -> dict[str, Any]:
        return {"prob": dirichlet_mode(self.concentration)}

    def row_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        with np.errstate(divide="ignore"):
            sums = log_weights(x, np.log(parameters["prob"]))
        return np.swapaxes(sums + log_coefficient(x), -1, -2)

    def row_log_predictive(self, x: Any) -> Any:
        concentration = np.asarray(self.concentration)
        lengths, document = np.unique(np.asarray(x.sum(axis=1)).ravel(), return_inverse=True)
        of_length = log_rising(concentration.sum(axis=-1), lengths[:, None])
        return log_coefficient(x)[:, None] + sum_log_rising(x, concentration) - of_length[document]

    def story(self) -> tuple[str, list[str]]:
        return "Multinomial(total, prob)", [f"prob ~ Dirichlet({format_number(self.concentration)})"]


def sum_log_rising(x: Any, concentration: np.ndarray) -> np.ndarray:
    r"""Sum over columns of :math:`\log\Gamma(\alpha + x) - \log\Gamma(\alpha) = \sum_{k<x} \log(\alpha + k)`.

    Parameters
    ----------
    x : array or SciPy sparse array of counts, shape (rows, columns)
    concentration : array, shape (classes, columns)

    Returns
    -------
    array, shape (rows, classes)
    """
    counts = scipy.sparse.csr_array(x)
    counts.sum_duplicates()
    sums = np.zeros((counts.shape[0], concentration.shape[0]))
    whole = bool((counts.data == np.rint(counts.data)).all())
    highest = min(int(counts.data.max(initial=0)), LEVELS) if whole else 0
    if highest:
        # The sum of logarithms is taken once for each word and count that occur together.
        counts = _where(counts, counts.data > 0)
        place = counts.indices * highest
        place += np.minimum(counts.data, highest).astype(place.dtype) - 1
        occurs = np.zeros(counts.shape[1] * highest, dtype=bool)
        occurs[place] = True
        word, last_level = np.divmod(np.flatnonzero(occurs), highest)
        by_pair = np.zeros((len(word), len(sums.T)))
        for level in range(highest):
            reached = np.flatnonzero(last_level >= level)
            by_pair[reached] += np.log(concentration[:, word[reached]] + level).T
        pair = (np.cumsum(occurs, dtype=np.int32) - 1)[place]
        indicator = scipy.sparse.csr_array((np.ones(counts.nnz), pair, counts.indptr), (len(sums), len(word)))
        sums += indicator @ by_pair
    beyond = _where(counts, counts.data > highest)
    if beyond.nnz:
        for c, weights in enumerate(concentration):
            alpha = weights[beyond.indices]
            rest = gammaln(alpha + beyond.data) - gammaln(alpha + highest)
            sums[:, c] += scipy.sparse.csr_array((rest, beyond.indices, beyond.indptr), counts.shape).sum(axis=1)
    return sums


def _where(counts: Any, keep: np.ndarray) -> Any:
    """The entries of a CSR array that `keep` names."""
    kept = np.flatnonzero(keep)
    if len(kept) == counts.nnz:
        return counts
    edges = np.searchsorted(kept, counts.indptr)
    return scipy.sparse.csr_array((counts.data[kept], counts.indices[kept], edges), counts.shape)


def log_coefficient(x: Any) -> np.ndarray:
    """Log multinomial coefficient of each row, shape (rows,)."""
    length = np.asarray(x.sum(axis=1)).ravel()
    if not scipy.sparse.issparse(x):
        return gammaln(length + 1.0) - _log_factorial(np.asarray(x)).sum(axis=1)
    counts = scipy.sparse.csr_array(x)
    repeats = scipy.sparse.csr_array((_log_factorial(counts.data), counts.indices, counts.indptr), counts.shape)
    return gammaln(length + 1.0) - np.asarray(repeats.sum(axis=1)).ravel()


def _log_factorial(counts: np.ndarray) -> np.ndarray:
    """Log of x!, looked up where all are small whole numbers, as counts of words are."""
    if counts.size and counts.min() >= 0 and counts.max() < len(LOG_FACTORIALS):
        whole = counts.astype(np.uint8)
        if (whole == counts).all():
            return LOG_FACTORIALS[whole]
    return gammaln(counts + 1.0)
