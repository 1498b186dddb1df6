"""A model with the statistics of its data, rows without a label, categories that later rows bring."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.core.arrays import csr_rows, distinct_rows, stacked
from bayesnb.core.cells import warn_unseen
from bayesnb.core.checking import listed, proportion, sort_categories, warn
from bayesnb.core.deferred import in_float64, leaves, map_tree, structure, to_numpy
from bayesnb.core.running import results_in_order
from bayesnb.data.read import Rows, read_rows
from bayesnb.data.schema import warn_of_twins
from bayesnb.data.tables import Table, items_at
from bayesnb.families.conjugate import ConjugateFamily, abilities, couples_classes
from bayesnb.families.family import Family, JointFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.statistics import Statistics
from bayesnb.model.blocks import (
    Block,
    ModelStatistics,
    feature_names,
    features_of,
    side_by_side,
    statistics_of_features,
)
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ClassPrior, Prior, refuse_beyond_float64
from bayesnb.model.reading import Counted, Unseen

# --------------------------------------------------------------------------------------------------
# Rows without a label. They are kept, because no statistic describes a row under all labels at once
# --------------------------------------------------------------------------------------------------

PIECE_CELLS = 2**18
"""Cells in a piece: two mebibytes of float64, which stay in the processor's cache."""

MOST_DISTINCT = 0.5
"""Largest share of distinct rows with which equal rows become one. To draw how many of several equal rows have each
label takes longer than to draw the label of one row."""


@dataclass(frozen=True)
class Unlabelled:
    """Rows whose label is missing, in encoded form.

    Attributes
    ----------
    blocks : tuple of array
        For each block of the model its cells, shape (rows, columns): float64 with missing cells NaN, or CSR.
    weights : array, shape (rows,)
        Positive. A row of weight w counts as w rows, each with a label of its own.
    guess : array, shape (rows, classes), or None
        Probabilities of the labels at which an iteration starts; None if it finds its own start.

    See Also
    --------
    Problem : A model with its data.
    EM : Find parameters and labels together.

    Examples
    --------
    Two rows with the same cells are one row of weight two:

    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [0, 1], [1, 0], [1, 0]], ["a", "b", None, None]
    >>> nb.fit(nb.Bernoulli(2.0, 2.0), X, y, nb.EM()).problem.unlabelled.weights
    array([2.])
    """

    blocks: tuple[Any, ...]
    weights: np.ndarray
    guess: np.ndarray | None = None

    @classmethod
    def of(cls, blocks: tuple[Any, ...], weights: np.ndarray) -> tuple["Unlabelled", np.ndarray]:
        """Encoded rows, equal ones merged into a row with the sum of their weights.

        The posterior does not change, because the density of a row depends on its cells alone. Rows stay apart if more
        than half of them are distinct, or if a weight is no whole number.

        Returns
        -------
        tuple of Unlabelled and array of int, shape (rows,)
            The rows, and the position among them of each row given.
        """
        found = None if (weights % 1).any() else distinct_rows(blocks, MOST_DISTINCT)
        if found is None:
            return cls(blocks, weights), np.arange(len(weights))
        first, position = found
        return cls(tuple(x[first] for x in blocks), np.bincount(position, weights)), position

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def slices(self) -> list[slice]:
        """The rows in pieces that fit the cache."""
        stored = sum(x.nnz if scipy.sparse.issparse(x) else x.size for x in self.blocks)
        step = max(256, PIECE_CELLS * len(self) // max(stored, 1))
        return [slice(start, min(start + step, len(self))) for start in range(0, len(self), step)]

    def cells(self, rows: slice) -> tuple[Any, ...]:
        """Cells of some rows, block by block."""
        return tuple(csr_rows(x, rows) if scipy.sparse.issparse(x) else x[rows] for x in self.blocks)

    def take(self, rows: np.ndarray) -> "Unlabelled":
        """Some of the rows."""
        guess = None if self.guess is None else self.guess[rows]
        return Unlabelled(tuple(x[rows] for x in self.blocks), self.weights[rows], guess)

    def count(self, model: BoundModel, membership: np.ndarray) -> ModelStatistics:
        """Statistics of the rows, given labels or probabilities of labels.

        Parameters
        ----------
        model : BoundModel
            The bound model that encoded the rows.
        membership : array, shape (rows, classes)
            Weight of each row in each class.
        """
        return reduce(add, results_in_order(lambda rows: model.count(self.cells(rows), membership[rows]), self.slices))


def count_given_rows(model: BoundModel, rows: Rows) -> tuple[ModelStatistics, Unlabelled | None]:
    """Statistics of the labelled rows, and the rows without a label.

    Parameters
    ----------
    model : BoundModel
    rows : Rows
        Those of weight zero without a label are left out.

    Raises
    ------
    ValueError
        If there are more classes than rows, or the class probabilities are to be those of labels and there is none.
    """
    missing = rows.codes < 0
    if len(rows) and not missing.any():
        return model.count_labelled(rows), None
    _require_enough(model, missing)
    total: ModelStatistics | None = None
    kept: list[tuple[Any, ...]] = []
    # The code of a missing label finds the last row, of zeros: the row is in no class.
    identity = np.eye(len(model.schema.classes) + 1)[:, :-1]
    for where, chunk in model.read(rows.table).encoded():
        counted = model.count(chunk, identity[rows.codes[where]] * rows.weights[where, None])
        total = counted if total is None else total + counted
        without = np.flatnonzero(missing[where] & (rows.weights[where] > 0))
        kept.append(tuple(x[without] for x in chunk))
    assert total is not None
    cells = tuple(map(stacked, zip(*kept, strict=True)))
    for block, x in zip(model.blocks, cells, strict=True):
        if block.whole_rows and (lacking := np.isnan(x).any(axis=1).sum()):
            raise ValueError(
                f"{lacking} rows without a label lack a cell of {block.owner()}, and {block.family.family_name} counts "
                "rows with all cells only: leave these rows out, fill in the cells, or give each column its own family"
            )
    unlabelled, _ = Unlabelled.of(cells, rows.weights[missing & (rows.weights > 0)])
    return total, unlabelled if len(unlabelled) else None


def _require_enough(model: BoundModel, missing: np.ndarray) -> None:
    classes = model.schema.classes.tolist()
    if len(classes) > len(missing):
        raise ValueError(f"there are {len(classes)} classes and {len(missing)} rows: give at least one row per class")
    if model.description.follows_labels and missing.all():
        raise ValueError(
            'class_probs="empirical" takes the frequencies of the labels, and no row has one: leave it out, or give '
            "the probabilities in numbers"
        )


# --------------------------------------------------------------------------------------------------
# A model with the statistics of its data: all that any inference reads
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """The input of an inference: a bound model and the statistics of its data.

    Attributes
    ----------
    model : BoundModel
        Bound, with hyperparameters as the user left them.
    statistics : ModelStatistics
        Those of the rows that have a label.
    learned_from : BoundModel or None
        The model with its hyperpriors, where the numbers of `model` were learned from data.
    unlabelled : Unlabelled or None
        The rows that have no label, where there are any.
    growing : bool, default False
        Whether more rows may add categories. True if the fit itself found the categories that the model does not list,
        as a fit to all rows would. A model that was bound before the fit keeps its own categories.
    weighted : bool, default False
        Whether rows have weights other than one, which no function that takes these rows again knows.
    rows_concentration : array of shape (classes,), or None
        Concentration of the class prior of the rows, where `with_class_probs` has replaced it.

    Raises
    ------
    TypeError
        If the class of a family's statistics is not a pytree.
    ValueError
        If there are other blocks than the model has.

    See Also
    --------
    Inference : What takes a problem.
    Unlabelled : Rows whose label is missing.
    ModelStatistics : Sums that are known already.
    fit : Condition the model of a problem on its data.

    Examples
    --------
    Two rows of class a and one of class b, counted without a table:

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> model = nb.NaiveBayes(nb.Bernoulli()).bind(columns=["red", "round"], classes=["a", "b"])
    >>> cells, membership = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> problem = nb.results.Problem(model, model.count((cells,), membership))
    >>> nb.fit(problem).predict_proba([[1, 1]]).round(3)
    array([[0.717, 0.283]])
    """

    model: BoundModel
    statistics: ModelStatistics
    learned_from: BoundModel | None = None
    unlabelled: Unlabelled | None = None
    growing: bool = False
    weighted: bool = False
    rows_concentration: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.model.require_blocks("statistics", self.statistics.blocks)
        if self.unlabelled is not None:
            self.model.require_blocks("unlabelled", self.unlabelled.blocks)
        for block, counted in zip(self.model.blocks, self.statistics.blocks, strict=True):
            if structure(counted) is None:
                name = type(counted).__name__
                raise TypeError(
                    f"{block.family.family_name}.statistics gives a {name}, whose arrays JAX does not know: put "
                    f"@jax.tree_util.register_dataclass above the class {name}"
                )

    @cached_property
    def resolved(self) -> BoundModel:
        """The model with every default set to the numbers used.

        Raises
        ------
        ValueError
            If a column lies too far from zero for its family.
        """
        model = self.model.resolve(ModelStatistics(self.statistics.classes, self.statistics_to_pool))
        for block, counted in zip(model.blocks, self.statistics.blocks, strict=True):
            if not model.description.hyperpriors:
                refuse_beyond_float64(block, counted, model.schema.classes.tolist())
        rows = self.statistics.classes.n.sum()
        for block, lacking in zip(model.blocks, self.left_out_rows, strict=True):
            # The first feature of a column counts its cells, not a further description of it.
            if lacking and model.schema.derivation(block.columns[0]) is None:
                warn(
                    f"{lacking:.6g} of {rows:.6g} rows lack a cell of {block.owner()}, and count for the other columns "
                    "alone: fill in the cells, or give each column its own family",
                    UserWarning,
                )
        return model

    @property
    def rows_class_prior(self) -> ClassPrior | None:
        """The class prior of the rows, where numbers give the class probabilities of another population; None if not.

        These say nothing of the rows, whose prior is Dirichlet(1), or the one that `with_class_probs` has replaced.
        """
        given = self.model.description.class_probs
        if given is None or self.model.description.follows_labels:
            return None
        return ClassPrior(np.ones(len(given)) if self.rows_concentration is None else self.rows_concentration, None)

    def with_class_probs(self, class_probs: Any) -> "Problem":
        """The problem with the class probabilities of another population, shape (classes,)."""
        of_rows, model, source = self.rows_concentration, self.model.with_class_probs(class_probs), self.learned_from
        if self.model.description.follows_labels:
            of_rows = np.zeros(len(class_probs))  # the mean is then the frequencies
        elif self.model.description.class_probs is None:
            of_rows = np.array(self.model.class_prior.concentration)
        source = None if source is None else source.with_class_probs(class_probs)
        return replace(self, model=model, learned_from=source, rows_concentration=of_rows)

    @property
    def left_out_rows(self) -> tuple[float, ...]:
        """For each block, the weight of the rows that it skips because they lack a cell."""
        rows = self.statistics.classes.n.sum()
        lacking = (
            rows - counted.n.sum() if block.whole_rows else 0.0  # type: ignore[attr-defined]
            for block, counted in zip(self.model.blocks, self.statistics.blocks, strict=True)
        )
        return tuple(float(weight) if weight > 1e-9 * rows else 0.0 for weight in lacking)

    @property
    def missing_as_values(self) -> dict[int, float]:
        """By position, the weight of a column's missing cells, where its family counts any as values."""
        found: dict[int, float] = {}
        for block, counted in zip(self.model.blocks, self.statistics.blocks, strict=True):
            if isinstance(block.family, JointFamily):
                found |= zip(block.described, block.family.missing_as_values(counted), strict=False)
        return {column: float(weight) for column, weight in found.items() if weight > 1e-9}

    @property
    def described_once(self) -> "Problem":
        """The problem without the features of derived columns; itself if there are none."""
        return self._without_last(self.model.num_again)

    @property
    def without_readings(self) -> "Problem":
        """The problem without the readings of columns; itself if there are none."""
        return self._without_last(self.model.schema.num_readings)

    def _without_last(self, number: int) -> "Problem":
        return self.of_features(feature_names(self.model.blocks)[:-number]) if number else self

    def of_features(self, names: Iterable[Any]) -> "Problem":
        """The problem with some of its features, and no other derived columns.

        Parameters
        ----------
        names : iterable
            Those of `feature_names`. Features that one entry of the description has stay together.
        """
        model, schema, wanted = self.model, self.model.schema, {*names}
        label = {p: name for block in model.blocks for p, name in zip(block.columns, features_of(block), strict=False)}
        positions = schema.positions_of(model.features)
        features = {name: own for name, own in model.features.items() if {*map(label.get, positions[name])} & wanted}
        described = {position for name in features for position in positions[name]}
        columns = [p for p in range(len(schema.columns)) if p in described or p < len(schema.source_columns)]
        place = {position: new for new, position in enumerate(columns)}
        layout, counted = [], []
        for block, statistics in zip(model.blocks, self.statistics.blocks, strict=True):
            own = [j for j, position in enumerate(block.columns) if position in described]
            if own:
                layout.append([place[block.columns[j]] for j in own])
                parts = [] if len(own) == len(block.columns) else statistics_of_features(block, statistics)
                counted.append(side_by_side(items_at(parts, own)) if parts else statistics)
        own_columns = replace(
            schema,
            columns=items_at(schema.columns, columns),
            derived=tuple(filter(None, map(schema.derivation, columns))),
            categories={place[p]: found for p, found in schema.categories.items() if p in place},
            edges={place[p]: found for p, found in schema.edges.items() if p in place},
        )
        bound = BoundModel.of(replace(model.description, features=features), own_columns, layout)
        return replace(self, model=bound, statistics=ModelStatistics(self.statistics.classes, tuple(counted)))

    @cached_property
    @in_float64
    def statistics_to_pool(self) -> tuple[Statistics, ...]:
        """Each block's statistics of all rows, also without a label; only their sum over the classes has a meaning."""
        if self.unlabelled is None:
            return self.statistics.blocks
        anywhere = np.outer(self.unlabelled.weights, np.eye(len(self.statistics.classes.n))[0])
        return (self.statistics + self.unlabelled.count(self.model, anywhere)).blocks

    @cached_property
    def follows(self) -> tuple[bool, ...]:
        """For each block, whether its prior has numbers that `on_scale_of` took from the data."""
        return tuple(map(_differ, self.model.families, self.resolved.families))

    @property
    def prior_saw(self) -> tuple[str, ...]:
        """Sources of the prior's numbers in the data; empty if all numbers were given.

        ``"labels"``: the class probabilities are the labels' frequencies; ``"scale"``: hyperparameters follow the scale
        of the columns; ``"maximised"``: hyperparameters maximise the evidence.
        """
        seen = {
            "labels": self.model.description.follows_labels,
            "scale": any(self.follows),
            "maximised": self.learned_from is not None,
        }
        return tuple(what for what, is_so in seen.items() if is_so)

    def require_numbers(self) -> None:
        """Raise ValueError for a model that learns hyperparameters."""
        ways = "nb.Gibbs() or nb.NUTS() for draws" if self.model.conjugate else "nb.NUTS() for draws"
        if self.model.conjugate and self.unlabelled is None:
            ways += ", nb.EmpiricalBayes() to maximise the evidence"
        for name, distribution in self.model.description.hyperpriors.items():
            raise ValueError(
                f"the hyperparameter {name!r} is learned, {format_number(distribution)}, which leaves no closed form: "
                f"use {ways}, or give a number"
            )

    def require_labels(self, what: str, remedy: str) -> None:
        """Raise ValueError for data with rows without a label.

        Parameters
        ----------
        what : str
            What needs the labels.
        remedy : str
        """
        if self.unlabelled is not None:
            number = self.unlabelled.weights.sum()
            rows = "1 row has" if number == 1 else f"{number:.12g} rows have"
            raise ValueError(f"{what} needs every label, and {rows} none: {remedy}")

    @cached_property
    @in_float64
    def posterior(self) -> Prior:
        """The prior given the data; families without a closed form keep their prior."""
        return to_numpy(self.resolved.prior.update(self.statistics))

    @cached_property
    @in_float64
    def log_evidence(self) -> float:
        """Log density of the data, every parameter integrated out; needs conjugate families.

        Raises
        ------
        ValueError
            If rows have no label: the sum over all their labels has no closed form.
        """
        self.require_labels("log_evidence in closed form", "leave them out")
        return float(self.resolved.prior.log_evidence(self.statistics))

    def add(self, statistics: ModelStatistics, *, decay: float = 1.0) -> "Problem":
        """The problem with more data, after the weights of the data so far were multiplied by `decay`.

        Raises
        ------
        ValueError
            If `decay` is not above 0 and at most 1.
        """
        before = self.statistics * proportion("decay", decay, or_one=True)
        return replace(self, statistics=before + statistics, weighted=self.weighted or decay < 1.0)

    def take_away(self, statistics: ModelStatistics) -> "Problem":
        """The problem with data taken away.

        Raises
        ------
        ValueError
            If these data cannot have been among the problem's.
        """
        left = (self.statistics - statistics).without_rounding(self.statistics)
        classes = self.model.schema.classes.tolist()
        _refuse_statistics(left.classes.n < 0, lambda c: f"class {classes[c]!r}")

        def cell(block: Block, c: int, j: int = 0) -> str:
            return f"{block.owner(j)} in class {classes[c]!r}"

        for block, counted in zip(self.model.blocks, left.blocks, strict=True):
            _refuse_statistics(~np.asarray(block.family.possible(counted)), partial(cell, block))
        problem = replace(self, statistics=left)
        if not self.model.description.hyperpriors:
            for block, counted in zip(problem.resolved.blocks, left.blocks, strict=True):
                _refuse_statistics(_without_posterior(block, counted, len(classes)), partial(cell, block))
        return problem


def _differ(one: Family, other: Family) -> bool:
    """Whether two families have different hyperparameters; a hyperparameter may be unset in one of them."""
    if one is other:
        return False
    mine, theirs = leaves(one), leaves(other)
    return len(mine) != len(theirs) or not all(map(np.array_equal, mine, theirs))


@in_float64
def _without_posterior(block: Block, counted: Statistics, num_classes: int) -> np.ndarray:
    """Where the statistics leave no posterior, by class and column, shape (classes, columns).

    A family that does not define `possible` may give hyperparameters that no prior has, such as a negative rate.
    """
    family = block.family
    refused = np.zeros((num_classes, 1 if block.is_joint else len(block.labels)), dtype=bool)

    def has_posterior(*at: slice) -> bool:
        one, its_own = map_tree(lambda leaf: leaf[at[: np.ndim(leaf)]], (family, counted))
        try:
            to_numpy(one.update(its_own))
        except ValueError:
            return False
        return True

    if isinstance(family, ConjugateFamily) and not has_posterior():
        for c, j in np.ndindex(refused.shape):
            refused[c, j] = not has_posterior(slice(c, c + 1), *[slice(j, j + 1)] * (not block.is_joint))
    return refused


def _refuse_statistics(impossible: np.ndarray, where: Callable[..., str]) -> None:
    if impossible.any():
        index = tuple(int(axis[0]) for axis in np.nonzero(impossible))
        raise ValueError(
            f"these rows were never among the data: without them, {where(*index)} would have statistics that no "
            "table has; forget only rows that were given to fit or update"
        )


# --------------------------------------------------------------------------------------------------
# New categories in later rows: the problem becomes that of a single fit to all rows
# --------------------------------------------------------------------------------------------------


def count_more(problem: Problem, X: Any, y: Any, sample_weight: Any = None) -> tuple[Problem, ModelStatistics]:
    """Statistics of more rows, and the problem with the categories that only these rows show.

    Parameters
    ----------
    problem : Problem
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
    sample_weight : array, shape (rows,), optional

    Returns
    -------
    tuple of Problem and ModelStatistics
        The problem without the new rows, and their statistics under its model.

    Raises
    ------
    TypeError, ValueError
        If the rows do not fit the model, or contain new categories for which its prior has no number.
    """
    rows = read_rows(X, y, sample_weight).counting().of_classes(problem.model.schema.classes)
    problem, counted = count_and_grow(problem, rows)
    warn_unseen(counted.unseen)
    return problem, counted.statistics


def count_and_grow(problem: Problem, rows: Rows) -> tuple[Problem, Counted]:
    """As `count_more`, without the warning about values that count as missing."""
    counted = problem.model.read(rows.table).count(rows.codes, rows.weights, adds=True)
    grown = with_new_categories(problem, rows.table, counted.unseen)
    if grown is not problem:
        counted = grown.model.read(rows.table).count(rows.codes, rows.weights, adds=True)
    return replace(grown, weighted=grown.weighted or counted.weighted), counted


def with_new_categories(problem: Problem, table: Table, unseen: Unseen) -> Problem:
    """The problem with the new categories of a table added, if it may have more; the same object if nothing is new.

    `unseen` has for each column the values that are not among the model's categories; `Chunks.count` finds them.
    """
    model = problem.model
    schema = model.schema
    if not problem.growing or not model.open_columns:
        return problem
    table = schema.arrange(table, [model.open_columns], {})
    categories = dict(schema.categories)
    for position in model.open_columns:
        known, (name,) = schema.categories[position], schema.names([position])
        listed = table.declared_categories(position) or ()
        met = sort_categories({*unseen.get(name, ())})
        categories[position] = tuple(dict.fromkeys((*known, *listed, *met)))
        if categories[position] != known:
            warn_of_twins(categories[position], f"column {name!r}", "categories")
    return problem if categories == schema.categories else with_categories(problem, categories)


def with_categories(problem: Problem, categories: Mapping[int, tuple], features: Any = None) -> Problem:
    """The problem with more categories, which no row so far contains.

    A Dirichlet over more categories, of the same concentration for each, is the prior that a fit to all rows would have
    had; the counts of the new categories are zero so far.

    Parameters
    ----------
    problem : Problem
        Every row has a label.
    categories : mapping
        For each categorical column, by position, all its categories, including the known ones.
    features : mapping, optional
        The model's features, if they list categories; by default unchanged.

    Raises
    ------
    ValueError
        If the prior has one number for each category, and therefore none for a new one.
    """
    before = problem.model
    schema = replace(before.schema, categories=dict(categories))
    description = before.description if features is None else replace(before.description, features=features)
    try:
        model = BoundModel.of(description, schema)
    except ValueError as error:
        old, new = before.schema.categories, schema.categories
        brought = {schema.names([p])[0]: [one for one in new[p] if one not in old[p]] for p in new if new[p] != old[p]}
        told = "; ".join(f"column {name!r}: {listed(values)}" for name, values in brought.items())
        raise ValueError(
            f"the rows bring new categories ({told}), for which the model has no place: {error}. If the prior has one "
            "number for each category and none for these, name all that may come at the first fit, "
            "nb.Categorical(concentration, categories=[...]), or give one concentration for all"
        ) from None
    source, counted = problem.learned_from, problem.statistics
    return replace(
        problem,
        model=model,
        statistics=ModelStatistics(counted.classes, _regroup(counted.blocks, before, model)),
        learned_from=None if source is None else BoundModel.of(source.description, schema),
    )


def _regroup(blocks: Sequence[Any], before: BoundModel, after: BoundModel) -> tuple[Any, ...]:
    """Statistics of the new blocks, which join columns with equally many categories."""
    found: dict[int, Any] = {}
    for block, whole in zip(before.blocks, blocks, strict=True):
        found |= zip(block.columns, statistics_of_features(block, whole), strict=False)

    def of_block(block: Block) -> Any:
        counted = [found[position] for position in (block.columns if block.by_column else block.columns[:1])]
        if block.has_categories:
            old, new = ([model.schema.categories[position] for position in block.columns] for model in (before, after))
            places, sizes = list(map(_places_among, old, new)), list(map(len, new))
            pieces = map(_with_zeros, counted, places, sizes)
            counted = list(pieces) if block.by_column else [counted[0].recoded(places, sizes)]
        return side_by_side(counted)

    return tuple(map(of_block, after.blocks))


def _places_among(old: tuple, new: tuple) -> np.ndarray:
    """Position of each category among the new ones."""
    place = {category: code for code, category in enumerate(new)}
    return np.array([place[category] for category in old], dtype=np.intp)


def _with_zeros(counted: Any, place: np.ndarray, size: int) -> Any:
    """Statistics of a categorical column, with zeros for the new categories."""

    def grow(leaf: np.ndarray) -> np.ndarray:
        if leaf.ndim < 3:
            return leaf
        grown = np.zeros((*leaf.shape[:-1], size))
        grown[..., place] = leaf
        return grown

    return map_tree(grow, counted)


# --------------------------------------------------------------------------------------------------
# Which inferences accept a model, for errors and warnings that suggest another one
# --------------------------------------------------------------------------------------------------


def has_closed_form(model: BoundModel) -> bool:
    """Whether `nb.Exact()` takes the model, given labels: every family is conjugate, and every hyperparameter given."""
    return model.conjugate and not model.description.hyperpriors


def or_closed_form(model: BoundModel) -> str:
    """The end of a suggestion: the closed form, if the model has one."""
    return ", or use the closed form, nb.fit(model, X, y)" if has_closed_form(model) else ""


def ways_to_posterior(model: BoundModel) -> str:
    """The inferences that give a distribution of the parameters, not a point, as an error message lists them."""
    return " or ".join(["nb.Exact()"] * has_closed_form(model) + ["nb.NUTS()"] * _every_family(model, "sampled"))


def ways_to_fit(model: BoundModel) -> str:
    """The inferences that accept a model, as an error message lists them."""
    ways = {
        "nb.Exact() for the closed form": has_closed_form(model),
        "nb.NUTS() for draws": _every_family(model, "sampled"),
        "nb.MAP() for a point estimate": _every_family(model, "mode") and not model.description.hyperpriors,
    }
    return ", ".join(way for way, possible in ways.items() if possible)


def refuse_coupled(model: BoundModel, remedy: str) -> None:
    """Raise ValueError for a family that couples the classes: its parameters have no density."""
    for block in model.blocks:
        if couples_classes(block.family):
            raise ValueError(
                f"column {block.labels[0]!r} is {block.family.family_name}, whose prior couples the classes and has no "
                f"density to sample from: use {remedy}, or {another_family(block, 'nb.Histogram()')}"
            )


def another_family(block: Block, example: str) -> str:
    """How to give a column another family, as an error message says it."""
    return (
        f"give the column another family, nb.NaiveBayes.from_frame(X, y, families={{{block.labels[0]!r}: {example}}})"
    )


def _every_family(model: BoundModel, ability: str) -> bool:
    """Whether every family of a model has one of the `Abilities`."""
    return all(getattr(abilities(family), ability) for family in model.families)
