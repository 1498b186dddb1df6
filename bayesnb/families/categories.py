"""Columns of 0 and 1, and of categories."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import csr_rows
from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.core.logarithms import SampledParameters, log_and_log_rest, log_of, log_rising
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Hyperparameter, Parameters, Sample, distributions
from bayesnb.families.hyperparameters import BOOLEAN, NONNEGATIVE_INTEGER
from bayesnb.families.kernels import ValueTable, look_up_cells, look_up_in_jax, times
from bayesnb.families.mutual_information import divergence
from bayesnb.families.needs import Afterwards, CellWeight, Frequencies, Sums
from bayesnb.families.statistics import Counts, clear_rounding

# --------------------------------------------------------------------------------------------------
# The Dirichlet distribution along the last axis: evidence, mode, and the families that have it as their prior
# --------------------------------------------------------------------------------------------------


def dirichlet_log_evidence(concentration: Any, total: Any) -> Any:
    """Log density of a sequence of draws with the given counts, one Dirichlet along the last axis.

    Murphy (2012), Eq. 5.24 without the multinomial coefficient.
    """
    of_all = log_rising(concentration.sum(axis=-1), total.sum(axis=-1))
    return log_rising(concentration, total).sum(axis=-1) - of_all


def dirichlet_mode(concentration: Any, total: Any = 0.0, share: Any = 1.0) -> Any:
    """Mode of a Dirichlet along the last axis after some counts; the mean where it is flat, NaN where it is unbounded.

    Counts are not added to the concentration, beside which small weights would lose their digits. A component may be
    the sum of as many equal ones as `share` says, whose density it is then.
    """
    excess = np.asarray(concentration) - share + total
    share = np.broadcast_to(share, excess.shape[-1:])
    with np.errstate(invalid="ignore", divide="ignore"):
        mode = excess / excess.sum(axis=-1, keepdims=True)
    flat = (excess == 0).all(axis=-1, keepdims=True)
    unbounded = (excess < 0).any(axis=-1, keepdims=True)
    return np.where(flat | (share.sum() == 1), share / share.sum(), np.where(unbounded, np.nan, mode))


def dirichlet_log_left_out(prior: Any, prior_of_all: Any, count: Any, n: Any, weight: Any) -> np.ndarray:
    """Log predictive probability of what a row shows, given the other rows; -inf if there is no such row.

    Parameters
    ----------
    prior, prior_of_all : array
        The prior's weight of what it shows, and of everything.
    count, n : array
        The same of all rows.
    weight : array
        Of the row.
    """
    rest, others = (clear_rounding(all_rows - weight, all_rows) for all_rows in (count, n))
    log_density = np.log(prior + np.maximum(rest, 0.0)) - np.log(prior_of_all + np.maximum(others, 0.0))
    return np.where(rest < 0, -np.inf, log_density)


@dataclass(frozen=True)
class DirichletFamily(ConjugateFamily):
    """A family of probabilities ``prob``, which have a Dirichlet prior along the last axis.

    The statistics of a subclass have a ``total`` of the shape of `concentration`.
    """

    concentration: Hyperparameter = 1.0

    positive: ClassVar[tuple[str, ...]] = ("concentration",)
    flat_prior: ClassVar[dict[str, float]] = {"concentration": 1.0}

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", dist.Dirichlet(self.concentration))}

    def update(self, statistics: Any) -> Self:
        concentration: dict[str, Any] = {"concentration": self.concentration + statistics.total}
        return replace(self, **concentration)

    def mean(self) -> dict[str, Any]:
        # NumPyro needs a third of a second for the marginals of 100,000 words in five classes.
        return {"prob": self.concentration / self.concentration.sum(axis=-1, keepdims=True)}

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any]:
        return {"prob": dirichlet_mode(self.concentration, statistics.total)}

    def maximum_likelihood(self, statistics: Any) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"prob": statistics.total / statistics.total.sum(axis=-1, keepdims=True)}


BETA_PRIOR = "prob ~ Beta({concentration1}, {concentration0})"


class BetaFamily(ConjugateFamily):
    r"""A family of a probability of success ``prob``, whose prior is :math:`\mathrm{Beta}(a, b)`.

    With S successes and F failures the posterior is :math:`\mathrm{Beta}(a + S,\, b + F)`. A subclass has the fields
    `concentration1` and `concentration0`, and states `trials`.
    """

    concentration1: Hyperparameter
    concentration0: Hyperparameter

    positive: ClassVar[tuple[str, ...]] = ("concentration1", "concentration0")
    flat_prior: ClassVar[dict[str, float]] = {"concentration1": 1.0, "concentration0": 1.0}

    @abstractmethod
    def trials(self, statistics: Counts) -> tuple[Any, Any]:
        """Weight of the successes and of the failures behind statistics, arrays of shape (..., classes, columns)."""

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", distributions.BetaOfLogs(self.concentration1, self.concentration0))}

    def update(self, statistics: Counts) -> Self:
        successes, failures = self.trials(statistics)
        concentrations: dict[str, Any] = {
            "concentration1": self.concentration1 + successes,
            "concentration0": self.concentration0 + failures,
        }
        return replace(self, **concentrations)

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        successes, failures = self.trials(statistics)
        with np.errstate(invalid="ignore"):
            return {"prob": successes / (successes + failures)}

    def maximum_a_posteriori(self, statistics: Counts) -> dict[str, Any]:
        after = self.update(statistics)
        return {"prob": dirichlet_mode(np.stack([after.concentration1, after.concentration0], axis=-1))[..., 0]}


# --------------------------------------------------------------------------------------------------
# Families of cells with finitely many values, whose densities are looked up in tables
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableFamily(ConjugateFamily):
    """A family whose cells are one of the values 0, 1, ..., with a Dirichlet prior on their probabilities.

    A table of the log probability of each value takes the place of terms and natural parameters, so that probabilities
    may be zero and one. A subclass states `log_table`, `by_value` and `concentrations`.

    See Also
    --------
    ConjugateFamily : A family with a closed form.
    Bernoulli : Zeros and ones.
    Categorical : Categories.

    Examples
    --------
    >>> import bayesnb as nb
    >>> isinstance(nb.Bernoulli(), nb.families.TableFamily)
    True
    >>> posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0]], ["a", "a", "b"])
    >>> posterior.problem.posterior.families[0].concentrations()  # of 0 and 1, by class and column
    array([[[1., 3.]],
    <BLANKLINE>
           [[2., 1.]]])
    """

    @abstractmethod
    def log_table(self, parameters: Parameters) -> Any:
        """Log probability of each value, shape (..., classes, columns, values)."""

    @abstractmethod
    def concentrations(self) -> Any:
        """The Dirichlet prior's weight of each value, shape (..., classes, columns, values)."""

    @abstractmethod
    def by_value(self, statistics: Any) -> Any:
        """Weight of the cells of each value, shape (..., classes, columns, values)."""

    def log_predictive_table(self) -> Any:
        """Log predictive probability of each value, shape (..., classes, columns, values)."""
        weights = self.concentrations()
        xp, _ = namespace(weights)
        return xp.log(weights) - xp.log(weights.sum(axis=-1, keepdims=True))

    def possible(self, statistics: Any) -> Any:
        return (self.by_value(statistics) >= 0).all(axis=-1)

    def log_likelihood(self, parameters: Parameters, statistics: Any) -> Any:
        return times(self.by_value(statistics), self.log_table(parameters)).sum(axis=-1)

    def log_evidence(self, statistics: Any) -> Any:
        return dirichlet_log_evidence(self.concentrations(), self.by_value(statistics))

    def cell_log_predictive(self, x: Any) -> Any:
        return look_up_cells(self.log_predictive_table(), x)

    def density_formula(self, parameters: Parameters, x: Any) -> Any:
        return look_up_in_jax(self.log_table(parameters), x)

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        table = ValueTable(np.asarray(self.log_table({name: np.asarray(value) for name, value in parameters.items()})))
        return lambda rows: table.of_rows(csr_rows(x, rows) if scipy.sparse.issparse(x) else x[rows])

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Any, *, refitted: bool
    ) -> np.ndarray | None:
        if refitted or (weights != 1.0).any():
            return None
        prior = np.asarray(self.concentrations())
        by_value, of_all = self.by_value(statistics), prior.sum(axis=-1, keepdims=True)
        # A class without rows leaves nothing out.
        table = dirichlet_log_left_out(prior, of_all, by_value, statistics.n[..., None], 1.0)
        return ValueTable(table).of_own_class(x, codes)


# --------------------------------------------------------------------------------------------------
# Bernoulli columns with a Beta prior
# --------------------------------------------------------------------------------------------------


@pytree
class Bernoulli(BetaFamily, TableFamily):
    r"""Columns of zeros and ones (or booleans); :math:`\theta_{cj} \sim \mathrm{Beta}(a, b)`.

    With :math:`N_{cj}` observed cells of class c, :math:`N_{1cj}` of them one, the posterior is
    :math:`\mathrm{Beta}(a + N_{1cj},\, b + N_{cj} - N_{1cj})`, the predictive probability of a one
    :math:`(a + N_{1cj}) / (a + b + N_{cj})` and the evidence a ratio of Beta functions: Murphy (2012), *Machine
    Learning: a Probabilistic Perspective*, Eqs. 3.62, 3.67 and 3.80.

    Parameters
    ----------
    concentration1, concentration0 : float or array, default 1.0
        Prior weight of a one and of a zero; each broadcasts to (columns,) or (classes, columns). Both 1 is the uniform
        prior, whose predictive is Laplace's add-one rule.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite.

    See Also
    --------
    Categorical : Categories.
    Multinomial : Count vectors.

    Notes
    -----
    Numerical domain: all weights and concentrations. Predictive probabilities are ratios of sums; evidences, measured
    against 60 digits, have a relative error of 4e-15 up to concentrations of 1e14 and 1e12 cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> tosses = [[1], [0], [0], [1], [1]]
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), tosses, ["a"] * 5, classes=["a"])
    >>> round(float(posterior.predict_proba([[1]])[0, 0]), 3)
    1.0
    """

    concentration1: Hyperparameter = 1.0
    concentration0: Hyperparameter = 1.0

    support = BOOLEAN
    holds: ClassVar[str] = "0, 1, True or False"
    hint: ClassVar[str] = (
        "write X > 0 for whether a count is there, use nb.Categorical() for more than two values, nb.Poisson() for "
        "counts"
    )
    takes: ClassVar[tuple[str, ...]] = ("sparse", "small types")
    _story: ClassVar[tuple[str, ...]] = ("Bernoulli(prob)", BETA_PRIOR)

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return dist.Bernoulli(probs=prob)

    def log_table(self, parameters: Parameters) -> Any:
        log_one, log_zero = log_and_log_rest(parameters, "prob")
        return namespace(log_one)[0].stack([log_zero, log_one], axis=-1)

    def concentrations(self) -> Any:
        return namespace(self.concentration1)[0].stack([self.concentration0, self.concentration1], axis=-1)

    def by_value(self, statistics: Counts) -> Any:
        return namespace(statistics.n)[0].stack([statistics.n - statistics.total, statistics.total], axis=-1)

    def trials(self, statistics: Counts) -> tuple[Any, Any]:
        return statistics.total, statistics.n - statistics.total

    def needs(self) -> Any:
        # The weights of ones and of all cells may be summed, and so rounded, in different orders.
        return Afterwards(lambda counted: counted.with_all_ones(counted.n), Counts(CellWeight(), Sums(), 0.0))

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        prob = np.asarray(parameters["prob"])
        # A separate axis for the values would double the memory.
        return divergence(class_prob, prob[..., None]) + divergence(class_prob, 1 - prob[..., None])


# --------------------------------------------------------------------------------------------------
# Categorical columns with a Dirichlet prior
# --------------------------------------------------------------------------------------------------


@pytree
class Categorical(DirichletFamily, TableFamily):
    r"""Columns of categories of any type; :math:`\theta_{cj\cdot} \sim \mathrm{Dirichlet}(\alpha)`.

    The posterior adds the counts of the categories to the concentration, and the predictive probability of category k
    is :math:`(\alpha_k + N_{cjk}) / \sum_l (\alpha_l + N_{cjl})`: Murphy (2012), Eqs. 3.41 and 3.51. Columns may differ
    in their categories.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Prior weight of each category: one number, or one per column (columns,) or per class and column
        (classes, columns); for a single column also one per category, (categories,) or (classes, categories), and for
        columns of as many categories (classes, columns, categories).
    categories : sequence, or mapping from column name to sequence, optional
        Values that may occur, in the order wanted. By default those that the table declares (a pandas categorical, a
        polars enum) or else shows in rows of positive weight, sorted; later rows, in `Posterior.update`, may then bring
        more.
    other : bool, default False
        Reserve one more category, with prior weight of its own, for every value that is not among the categories.
        Without it, such a value counts as a missing cell, with a warning.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite.

    See Also
    --------
    Bernoulli : Zeros and ones.
    JointCategorical : Categories that depend on each other.

    Notes
    -----
    Numerical domain: all weights and concentrations. Predictive probabilities are ratios of sums; evidences, measured
    against 60 digits, have a relative error of 4e-15 up to concentrations of 1e14 and 1e12 cells.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), [["red"], ["blue"], ["red"]], [0, 1, 0])
    >>> posterior.predict_proba([["red"]]).round(3)
    array([[0.771, 0.229]])
    """

    categories: Any = field(default=None, metadata={"static": True})
    other: bool = field(default=False, metadata={"static": True})

    cell: ClassVar[Any] = "category"
    support = NONNEGATIVE_INTEGER
    holds: ClassVar[str] = "a category"
    takes: ClassVar[tuple[str, ...]] = ("small types",)
    _story: ClassVar[tuple[str, ...]] = ("Categorical(prob)", "prob ~ Dirichlet({concentration})")

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return dist.Categorical(probs=prob)

    def log_table(self, parameters: Parameters) -> Any:
        return log_of(parameters, "prob")

    def concentrations(self) -> Any:
        return self.concentration

    def by_value(self, statistics: Counts) -> Any:
        return statistics.total

    def needs(self) -> Any:
        return Afterwards(_counts_of_codes, Frequencies(size=self._size))

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        prob = np.asarray(parameters["prob"])
        if x.shape[1] > 1 or len(x) >= prob.shape[-1] or isinstance(parameters, SampledParameters):
            return super().density_kernel(parameters, x, ratio=ratio)
        # Of fewer cells than categories, only their probabilities are needed.
        missing = np.isnan(x[:, 0])
        shown = log_of({"prob": prob[..., 0, np.where(missing, 0, x[:, 0]).astype(np.intp)]}, "prob")
        found = np.swapaxes(np.where(missing, 0.0, shown), -1, -2)
        return lambda rows: found[..., rows, :]

    @property
    def _size(self) -> int:
        return np.shape(self.concentration)[-1]

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        return divergence(class_prob, np.asarray(parameters["prob"]))


def _counts_of_codes(total: np.ndarray) -> Counts:
    n = total.sum(axis=-1)
    return Counts(n, total, 0.0 * n)
