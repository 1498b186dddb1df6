"""Blocks of categorical columns, one observation together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import log, rows_by_pattern, sums_at
from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import dist, jax, jnp, namespace, pytree
from bayesnb.core.logarithms import log_of
from bayesnb.families.categories import (
    Categorical,
    dirichlet_log_evidence,
    dirichlet_log_left_out,
    dirichlet_mode,
)
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Axes, Hyperparameter, JointFamily, Parameters, Sample, distributions
from bayesnb.families.hyperparameters import NONNEGATIVE_INTEGER, format_number
from bayesnb.families.kernels import times
from bayesnb.families.needs import RowWeight, ValueCounts
from bayesnb.families.statistics import Counts, Occurrences, Tally

# --------------------------------------------------------------------------------------------------
# Counts of each combination of categories, per class; only observed combinations are stored
# --------------------------------------------------------------------------------------------------


@pytree
class _CombinationCounts(Occurrences):
    """Weight of the rows of each combination of categories.

    The size of the arrays is the number of combinations that occur, and not the product of the numbers of categories.

    Attributes
    ----------
    n : array, shape (classes, 1)
        Weight of the rows.
    values : Tally
        Weights by place and number: the place is the class, the number the code of the combination.
    """

    @property
    def combinations(self) -> np.ndarray:
        """Codes of the combinations that occur in any class, sorted."""
        return np.unique(np.asarray(self.values.number)[np.asarray(self.values.weight) != 0])

    def recoded(self, places: Sequence[np.ndarray], sizes: Sequence[int]) -> Self:
        before, after = Combinations((), tuple(map(len, places))), Combinations((), tuple(sizes))
        # Padding entries of a tally may have codes of no combination.
        codes = np.minimum(self.values.number.astype(np.int64), before.number - 1)
        old = before.split(codes)
        new = after.codes(np.stack([place[old[:, j]] for j, place in enumerate(places)], axis=-1))
        return type(self)(self.n, Tally.of(self.values.place, new, self.values.weight))


# --------------------------------------------------------------------------------------------------
# Combinations of the categories of several columns: their codes, those that are held, and sums over missing cells
# --------------------------------------------------------------------------------------------------

UNSEEN = "<unseen>"
"""Label of all combinations that are not held."""

ROWS = 256
"""Rows whose matches with the combinations are in memory at a time under JAX."""


@dataclass(frozen=True)
class Combinations:
    """Combinations of several columns' categories; some have a probability of their own.

    The code of a combination has a digit for each column, the code of the column's category; the last column's changes
    first. The combinations that are held are entries 0, 1, ... of every vector of probabilities. All others together
    are its last entry, which they share evenly; there is no such entry if all combinations are held.

    Attributes
    ----------
    held : tuple of int
        Codes of the combinations that are held, sorted.
    sizes : tuple of int
        Number of categories of each column.
    """

    held: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many combinations there are."""
        return math.prod(self.sizes)

    @property
    def num_unseen(self) -> int:
        """How many combinations are not held."""
        return self.number - len(self.held)

    @cached_property
    def multiplicity(self) -> np.ndarray:
        """Number of combinations that share each entry, shape (entries,)."""
        ones = np.ones(len(self.held))
        return np.append(ones, float(self.num_unseen)) if self.num_unseen else ones

    @cached_property
    def _codes(self) -> np.ndarray:
        return np.array(self.held, dtype=np.int64)

    @cached_property
    def categories(self) -> np.ndarray:
        """The category of each column in the held combinations, shape (held, columns)."""
        return self.split(self._codes)

    def codes(self, x: Any) -> Any:
        """Code of each row's combination, shape (rows,); all cells are observed."""
        return _joined(x, self.sizes)

    def split(self, codes: Any) -> Any:
        """The category of each column, a last axis, in combinations of these codes."""
        xp, _ = namespace(codes)
        return xp.stack(xp.unravel_index(codes, self.sizes), axis=-1)

    def entries(self, codes: Any) -> Any:
        """The entry of each combination."""
        xp, _ = namespace(codes)
        if not self.held:
            return xp.zeros(np.shape(codes), dtype=int)
        held = xp.asarray(self._codes)
        at = xp.minimum(xp.searchsorted(held, codes), len(self.held) - 1)
        return xp.where(held[at] == codes, at, len(self.multiplicity) - 1)

    def rows(self, entries: Any, numbers: Any) -> Any:
        """Rows of codes, shape (..., columns), given their entries and which of the combinations not held they are."""
        xp, _ = namespace(entries)
        codes = xp.asarray(np.append(self._codes, 0))[entries]
        if self.num_unseen:
            before = xp.asarray(self._codes - np.arange(len(self.held)))
            unseen = numbers + xp.searchsorted(before, numbers, side="right")
            codes = xp.where(entries == len(self.held), unseen, codes)
        return self.split(codes).astype(float)

    def labels(self, categories: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        """The entries in words, given the categories of each column."""
        named = [tuple(of_column[k] for of_column, k in zip(categories, row, strict=True)) for row in self.categories]
        labels = [" & ".join(map(str, parts)) for parts in named]
        if len({*labels, UNSEEN}) <= len(labels):
            labels = [repr(parts) for parts in named]
        return (*labels, UNSEEN) if self.num_unseen else tuple(labels)

    def log_each(self, log_prob: Any) -> Any:
        """Log probability of one combination of each entry, given those of the entries (..., entries)."""
        return log_prob - np.log(self.multiplicity)

    def tabulated(self, log_prob: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log probabilities of what the rows show: sums over the combinations that agree with their observed cells.

        Parameters
        ----------
        log_prob : array, shape (..., entries)
        x : array, shape (rows, columns)
            Codes; missing ones NaN.

        Returns
        -------
        tuple of array of shape (..., results) and array of int of shape (rows,)
            A table, and the place of each row in it.
        """
        places = np.empty(len(x), dtype=np.intp)
        tables: list[np.ndarray] = []
        width = 0
        for rows, columns in rows_by_pattern(~np.isnan(x)):
            shown, table = self._sums(log_prob, columns)
            sizes = tuple(size for size, kept in zip(self.sizes, columns, strict=True) if kept)
            codes = _joined(x[rows][:, columns], sizes).astype(np.int64)
            at = np.minimum(np.searchsorted(shown, codes), max(len(shown) - 1, 0))
            known = shown[at] == codes if len(shown) else np.zeros(len(codes), dtype=bool)
            places[rows] = width + np.where(known, at, len(shown))
            tables.append(table)
            width += table.shape[-1]
        return np.concatenate(tables, axis=-1), places

    def _sums(self, log_prob: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the held combinations' categories in some columns, and their log probabilities, (..., codes + 1).

        The last is that of all other combinations.

        Parameters
        ----------
        log_prob : array, shape (..., entries)
        columns : array of bool, shape (columns,)
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        agreeing = math.prod(sizes[~columns].tolist())
        codes = _joined(self.categories[:, columns], tuple(sizes[columns].tolist()))
        order = np.argsort(codes, kind="stable")
        shown, starts, number = np.unique(codes[order], return_index=True, return_counts=True)
        log_unseen = (
            self.log_each(log_prob)[..., -1:] if self.num_unseen else np.full((*log_prob.shape[:-1], 1), -np.inf)
        )
        table = log(np.append(agreeing - number, agreeing)) + log_unseen
        if len(shown):
            held = np.logaddexp.reduceat(log_prob[..., order], starts, axis=-1)
            table[..., :-1] = np.logaddexp(table[..., :-1], held)
        if not columns.any():
            table[:] = 0.0
        return shown, table

    def log_prob_in_jax(self, log_prob: Any, x: Any) -> Any:
        """As `tabulated`, looked up, for JAX to compile, shape (rows, ...).

        Parameters
        ----------
        log_prob : jax.Array, shape (..., entries)
        x : jax.Array, shape (rows, columns)
        """
        sizes = jnp.asarray(self.sizes, dtype=log_prob.dtype)

        def of_row(row: Any) -> Any:
            missing = jnp.isnan(row)
            agrees = (missing | (row == self.categories)).all(axis=-1)
            unseen = jnp.where(missing, sizes, 1.0).prod() - agrees.sum()
            number = jnp.append(agrees, unseen) if self.num_unseen else agrees
            number = number.astype(log_prob.dtype)
            terms = jnp.where(number > 0, self.log_each(log_prob) + jnp.log(jnp.maximum(number, 1.0)), -jnp.inf)
            return jnp.where(missing.all(), 0.0, jax.scipy.special.logsumexp(terms, axis=-1))

        return jax.lax.map(of_row, x, batch_size=ROWS)


def _joined(x: Any, sizes: tuple[int, ...]) -> Any:
    """Codes of rows of digits, the last of which changes first."""
    place = np.cumprod([1, *sizes[:0:-1]])[::-1][: len(sizes)]
    return x @ place.astype(x.dtype) if len(sizes) else namespace(x)[0].zeros(len(x), dtype=int)


# --------------------------------------------------------------------------------------------------
# Categorical columns that depend on each other within a class: a Dirichlet prior on their combinations
# --------------------------------------------------------------------------------------------------

MOST = 1_000_000
"""Largest number of combinations."""


@dataclass(frozen=True)
class JointCategories(JointFamily, ConjugateFamily):
    """A family of several columns of categories, whose prior has a weight: one number, or one for each class."""

    concentration: Hyperparameter = None
    categories: Any = field(default=None, metadata={"static": True})

    cell: ClassVar[Any] = "category"
    support = NONNEGATIVE_INTEGER
    holds: ClassVar[str] = "a category"
    positive: ClassVar[tuple[str, ...]] = ("concentration",)
    takes: ClassVar[tuple[str, ...]] = ("small types",)

    def __post_init__(self) -> None:
        if "numbers in bins" in self.takes:
            object.__setattr__(self, "num_bins", whole_number("num_bins", self.settings()["num_bins"]))
        super().__post_init__()

    def hyperparameters(self) -> dict[str, Any]:
        # A default follows the numbers of categories, and so needs no data.
        return {name: value for name, value in super().hyperparameters().items() if value is not None}

    def concentration_by_class(self, default: float, num_classes: int, names: tuple, meaning: str) -> np.ndarray:
        """The concentration of each class, shape (classes, 1), given its default and what it is in words.

        Raises
        ------
        ValueError
            If it has another shape.
        """
        numbers = np.asarray(default if self.concentration is None else self.concentration, dtype=np.float64)
        if numbers.shape not in {(), (num_classes, 1)}:
            raise ValueError(
                f"{self.family_name}(concentration=...) of the columns {list(names)} has shape {numbers.shape}: give "
                f"one number, {meaning}, or one for each class, shape {(num_classes, 1)}"
            )
        return np.broadcast_to(numbers, (num_classes, 1))


@pytree
class JointCategorical(JointCategories):
    r"""Columns of categories that depend on each other within a class; a Dirichlet prior on their combinations.

    .. math:: p(x_1 = k_1, \dots, x_D = k_D \mid y = c) = \theta_{c k_1 \dots k_D}, \qquad
              \theta_c \sim \mathrm{Dirichlet}(\alpha, \dots, \alpha)

    The columns of the block are one observation, whose values are the :math:`K = K_1 \cdots K_D` combinations of the
    columns' categories. With :math:`N_{ck}` rows of combination k, the predictive probability is
    :math:`(\alpha + N_{ck}) / (\alpha K + N_c)`: Murphy (2012), *Machine Learning: a Probabilistic Perspective*,
    Eqs. 3.41 and 3.51. Separate columns, `Categorical`, have :math:`\sum_d (K_d - 1)` probabilities per class, and
    this family K - 1.

    Only the combinations that occur in the data are held. All others have the probability
    :math:`\alpha / (\alpha K + N_c)` each. Results name their sum ``<unseen>``: by the aggregation property of the
    Dirichlet distribution it and the held probabilities are Dirichlet too, with the concentration :math:`\alpha` times
    the number of unseen combinations. Later rows, in `Posterior.update`, may bring combinations and categories.

    A prediction sums missing cells out: a row has the probability of all combinations that agree with its observed
    cells, :math:`(\alpha M + \sum N_{ck}) / (\alpha K + N_c)` if M agree. A fit leaves such rows out of the block,
    with a warning, because the posterior given partly observed rows has no closed form.

    Parameters
    ----------
    concentration : float or array of shape (classes, 1), optional
        Prior weight of each combination, whether it occurs or not: the prior as a whole weighs as much as
        concentration * K rows. By default it weighs as much as a `Categorical` column does, the geometric mean of
        the numbers of categories: :math:`\alpha = K^{1/D} / K`, columns of one category not counted. Each of D columns
        with equally many categories then has, alone, the default prior of `Categorical`, one for each category. Below
        one, `MAP` finds no mode while a combination is unseen.
    categories : mapping from column name to sequence, or sequence, optional
        Values that may occur, as for `Categorical`: of each column, or of every column.
    other : bool, default False
        Reserve one more category in each column for every value that is not among its categories.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite, or there are more than a million combinations.

    See Also
    --------
    Categorical : Categories.
    group_columns : Merge columns that depend on each other.

    Notes
    -----
    The evidence depends on the concentration. With the default it compares with that of separate `Categorical` columns:
    the priors differ in dependence, and hardly in the prior of a single column. With 1 for each of many combinations,
    the prior outweighs the rows, and separate columns have the higher evidence even if they depend on each other.

    The default predicts well if few combinations have most of the rows. If the rows are spread over nearly all
    combinations, 1 predicts better. `EmpiricalBayes` learns the number, if a distribution is given in its place.
    `bayesnb.sensitivity` shows how much the posterior depends on it.

    The number of combinations is the product of the numbers of categories, a million at most.

    `Posterior.simulate` and the replicates of `bayesnb.check` draw each unseen combination with the same probability.
    `BoundModel.simulate` and `bayesnb.sbc` draw a probability for every combination instead. Draws of mutual
    information treat the unseen combinations as one.

    Numerical domain: all weights and concentrations, as for `Categorical`.

    Examples
    --------
    In one class the two answers agree, in the other they differ. Neither answer alone separates the classes.

    >>> import bayesnb as nb
    >>> honest = [["yes", "yes"], ["no", "no"], ["yes", "yes"]]
    >>> answers = honest + [["yes", "no"], ["no", "yes"], ["no", "yes"]]
    >>> model = nb.NaiveBayes({"both": (nb.JointCategorical(), [0, 1])})
    >>> posterior = nb.fit(model, answers, ["a", "a", "a", "b", "b", "b"])
    >>> posterior.predict_proba([["yes", "yes"], ["no", "yes"], ["no", None]]).round(3)
    array([[0.833, 0.167],
           [0.167, 0.833],
           [0.4  , 0.6  ]])
    """

    other: bool = field(default=False, metadata={"static": True})
    sizes: tuple[int, ...] = field(default=(), repr=False, metadata={"static": True})
    held: tuple[int, ...] = field(default=(), repr=False, metadata={"static": True})

    whole_rows: ClassVar[bool] = True

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        number = math.prod(sizes)
        if number > MOST:
            product = " x ".join(f"{size:,}" for size in sizes)
            raise ValueError(
                f"JointCategorical of the columns {list(names)} has {product} = {number:,} combinations of categories, "
                f"more than {MOST:,}: give separate columns nb.Categorical(), make smaller blocks, or join rare "
                "categories, nb.JointCategorical(categories={column: [...]}, other=True)"
            )
        default, meaning = default_concentration(sizes), "the prior weight of each combination"
        numbers = self.concentration_by_class(default, num_classes, names, meaning)
        return [(range(len(names)), replace(self, concentration=numbers, sizes=tuple(sizes)))]

    @property
    def _combinations(self) -> Combinations:
        return Combinations(self.held, self.sizes)

    @property
    def _weights(self) -> Any:
        """The Dirichlet distribution's weight of each entry, shape (..., classes, entries).

        A prior has one number for each combination, a posterior one for each entry.
        """
        multiplicity = self._combinations.multiplicity
        if np.shape(self.concentration)[-1] == len(multiplicity):
            return self.concentration
        return self.concentration * multiplicity

    @property
    def _of_entries(self) -> Categorical:
        """The family of a row's entry, a block of one column."""
        return Categorical(self._weights[..., None, :])

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        return (("combination", self._combinations.labels(categories)),)

    def on_scale_of(self, pooled: _CombinationCounts) -> Self:
        held = np.union1d(np.array(self.held, dtype=np.int64), pooled.combinations.astype(np.int64))
        return replace(self, held=tuple(held.tolist()))

    def with_every_value(self) -> Self:
        return replace(self, held=tuple(range(math.prod(self.sizes))))

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", dist.Dirichlet(self._weights))}

    def likelihood(self, prob: Any) -> "dist.Distribution":
        return distributions.CombinationOfCategories(prob, self._combinations)

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> "dist.Distribution":
        return distributions.CombinationOfCategories(parameters["prob"], self._combinations, observed)

    def needs(self) -> Any:
        values: Any = ValueCounts(self._code_of_row)
        return _CombinationCounts(RowWeight(), values)

    def _code_of_row(self, x: Any) -> Any:
        # Rows of weight zero may have missing cells.
        return self._combinations.codes(namespace(x)[0].nan_to_num(x))[..., None]

    def possible(self, statistics: _CombinationCounts) -> Any:
        return statistics.possible()

    def _by_entry(self, statistics: _CombinationCounts) -> Any:
        """Weight of the rows of each entry, shape (classes, entries)."""
        place, number, weight = statistics.values.place, statistics.values.number, statistics.values.weight
        num_classes, num_entries = len(statistics.n), len(self._combinations.multiplicity)
        at = place * num_entries + self._combinations.entries(number)
        return sums_at(at, weight, num_classes * num_entries).reshape(num_classes, num_entries)

    def update(self, statistics: _CombinationCounts) -> Self:
        return replace(self, concentration=self._weights + self._by_entry(statistics))

    def log_likelihood(self, parameters: Parameters, statistics: _CombinationCounts) -> Any:
        log_prob = self._combinations.log_each(log_of(parameters, "prob"))
        return times(self._by_entry(statistics), log_prob).sum(axis=-1, keepdims=True)

    def log_evidence(self, statistics: _CombinationCounts) -> Any:
        total = self._by_entry(statistics)
        of_entries = dirichlet_log_evidence(self._weights, total)
        return (of_entries - (total * np.log(self._combinations.multiplicity)).sum(axis=-1))[..., None]

    def _log_mean(self) -> Any:
        """Log of the predictive probability of each entry, shape (classes, entries)."""
        return self._of_entries.log_predictive_table()[..., 0, :]

    def predictive_formula(self, x: Any) -> Any:
        return self._combinations.log_prob_in_jax(self._log_mean(), x)

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        return self._looked_up(self._log_mean(), x)(slice(None))

    def density_formula(self, parameters: Parameters, x: Any) -> Any:
        return self._combinations.log_prob_in_jax(log_of(parameters, "prob"), x)

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        return self._looked_up(log_of(parameters, "prob"), x)

    def _looked_up(self, log_prob: Any, x: Any) -> Callable[[slice], Any]:
        """Log densities of rows given the log probability of each entry, shape (..., classes, entries)."""
        table, places = self._combinations.tabulated(np.asarray(log_prob), x)
        return lambda rows: np.swapaxes(table[..., places[rows]], -1, -2)

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: _CombinationCounts, *, refitted: bool
    ) -> np.ndarray | None:
        if refitted:
            return None
        partly = np.isnan(x).any(axis=1)
        entry = self._combinations.entries(self._combinations.codes(np.where(partly[:, None], 0, x)).astype(np.int64))
        prior, multiplicity = np.asarray(self._weights), self._combinations.multiplicity
        count, n = self._by_entry(statistics)[codes, entry], statistics.n[codes, 0]
        found = dirichlet_log_left_out(prior[codes, entry], prior.sum(axis=-1)[codes], count, n, weights)
        return np.where(partly, -np.inf, found - np.log(multiplicity[entry]))

    def maximum_likelihood(self, statistics: _CombinationCounts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"prob": self._by_entry(statistics) / statistics.n}

    def maximum_a_posteriori(self, statistics: _CombinationCounts) -> dict[str, Any]:
        # That of all combinations: the density of the entries has another mode, which follows what other rows show.
        return {"prob": dirichlet_mode(self._weights, self._by_entry(statistics), self._combinations.multiplicity)}

    def of_each_column(self) -> Categorical:
        return self._of_entries

    def statistics_of_each_column(self, statistics: _CombinationCounts) -> Counts:
        return Counts(statistics.n, self._by_entry(statistics)[:, None], 0.0 * statistics.n)

    def parameters_of_each_column(self, parameters: Parameters) -> Parameters:
        return {"prob": np.asarray(parameters["prob"])[..., None, :]}

    def power_scaled(self, statistics: _CombinationCounts, power: float) -> dict[str, Any]:
        change = (power - 1) * (self._weights - self._combinations.multiplicity)
        return {"concentration": self.update(statistics).concentration + change}

    def story(self) -> tuple[str, list[str]]:
        weight = "mean categories / combinations" if self.concentration is None else format_number(self.concentration)
        return "JointCategorical(prob)", [f"prob ~ Dirichlet({weight})"]


def default_concentration(sizes: tuple[int, ...]) -> float:
    """The geometric mean of the numbers of categories, shared by all combinations."""
    logs = np.log([size for size in sizes if size > 1])
    return float(np.exp(logs.mean() - logs.sum())) if len(logs) else 1.0
