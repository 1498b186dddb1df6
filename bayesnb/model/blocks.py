"""Blocks of columns that one family describes: features laid out over a schema, their names, statistics, inclusion."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.core.cells import is_missing
from bayesnb.core.checking import a_type, first_few, listed
from bayesnb.core.deferred import leaves, map_tree, pytree, structure
from bayesnb.data.schema import Schema
from bayesnb.data.tables import as_range, items_at
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, JointFamily, column_family, listed_categories
from bayesnb.families.feature_inclusion import FeatureInclusion
from bayesnb.families.hyperparameters import kind_of_cell
from bayesnb.families.statistics import ClassCounts, Statistics

# --------------------------------------------------------------------------------------------------
# Blocks: columns of a table that one family describes with arrays of one shape
# --------------------------------------------------------------------------------------------------


EVERY_COLUMN = ...
"""Name of the only feature of a model that has one family for every column; copies of it are the same object."""


@dataclass(frozen=True)
class Block:
    """Columns that one family describes, with hyperparameters of one shape.

    Attributes
    ----------
    name : str
        Name of the block, or of its column.
    family : Family
        Hyperparameters spread to (classes, columns) or (classes, columns, categories).
    columns : sequence of int
        Positions in the schema; a range where they follow each other.
    labels : tuple
        Names of the columns.
    by_column : bool
        Whether results name each column; otherwise they name the block.
    """

    name: str
    family: Family
    columns: Sequence[int]
    labels: tuple[Any, ...]
    by_column: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", as_range(self.columns))

    @property
    def is_joint(self) -> bool:
        """Whether the block's columns are one observation."""
        return isinstance(self.family, JointFamily)

    def owner(self, j: int = 0) -> str:
        """The column at a position of the block, or a joint block with its columns, for error messages."""
        if not self.is_joint:
            return f"column {self.labels[j]!r}"
        return f"block {self.name!r} of the columns {listed(self.labels)}"

    @property
    def described(self) -> Sequence[int]:
        """Positions of the columns that the block describes: all that it does not take as given."""
        given = self.family.num_given if isinstance(self.family, JointFamily) else 0
        return self.columns[: len(self.columns) - given]

    @property
    def is_vector(self) -> bool:
        """Whether the block describes several columns as one observation."""
        return self.is_joint and len(self.described) > 1

    @property
    def whole_rows(self) -> bool:
        """Whether the fit skips rows with missing cells in this block."""
        return isinstance(self.family, JointFamily) and self.family.whole_rows

    @property
    def has_totals(self) -> bool:
        """Whether a row of the block is a vector of counts, whose total the likelihood is given."""
        return self.family.cell == "count vector"

    def totals(self, x: Any) -> np.ndarray:
        """The totals of count vectors (rows, columns), CSR or an array, as whole numbers.

        Raises
        ------
        ValueError
            If the vectors hold fractions.
        """
        entries = np.asarray(x.data if scipy.sparse.issparse(x) else x)
        if (entries != np.rint(entries)).any():
            raise ValueError(
                f"the count vectors of {self.name!r} hold fractions (weights such as tf-idf), which no "
                "distribution of counts draws: check the model of the counts themselves"
            )
        return np.asarray(x.sum(axis=1)).astype(np.int64)

    @property
    def has_categories(self) -> bool:
        """Whether the block's columns hold categories."""
        return self.family.cell == "category"

    @property
    def is_binary(self) -> bool:
        """Whether the cells are zeros and ones."""
        return kind_of_cell(self.family) == "zero or one"

    @property
    def is_measured(self) -> bool:
        """Whether the cells are measurements: numbers that are not whole by the family's support."""
        return kind_of_cell(self.family) == "measurement"

    @property
    def members(self) -> Sequence[int | None]:
        """Columns that results name one by one; a single None if they name the block as a whole."""
        return range(len(self.columns)) if self.by_column else [None]

    def column(self, j: int) -> "Block":
        """One column of a block whose columns are observed one by one."""
        label = self.labels[j]
        return Block(str(label), column_family(self.family, j), (self.columns[j],), (label,), by_column=True)


def _join_blocks(blocks: list[Block]) -> Block:
    """Several blocks as one, their columns side by side."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        blocks[0].name,
        side_by_side([block.family for block in blocks]),
        tuple(column for block in blocks for column in block.columns),
        tuple(label for block in blocks for label in block.labels),
        by_column=True,
    )


def side_by_side(parts: Sequence[Any]) -> Any:
    """Families or statistics of several columns as one; a single one as it is."""
    return parts[0] if len(parts) == 1 else map_tree(lambda *leaves: np.concatenate(leaves, axis=1), *parts)


# --------------------------------------------------------------------------------------------------
# Columns of categories, and those that the model lists
# --------------------------------------------------------------------------------------------------


def categorical_columns(
    features: Mapping[Any, tuple[Family, Any]], schema: Schema
) -> Iterator[tuple[int, Family, tuple | None]]:
    """Position and family of every column of categories, and the categories that the model lists for it."""
    for name, (family, columns) in features.items():
        if family.cell == "category":
            positions = schema.positions(name, columns)
            names = schema.names(positions)
            declared = listed_categories(family)
            for column, _ in declared if _lists_columns(declared) else ():
                if column not in names:
                    raise ValueError(
                        f"{family.family_name}(categories=...) names the column {column!r}, its columns are {[*names]}"
                    )
            for position, column in zip(positions, names, strict=True):
                yield position, family, declared_categories(family, column)


def declared_categories(family: Family, column: Any) -> tuple | None:
    """Categories that the model lists for a column."""
    declared = listed_categories(family)
    if _lists_columns(declared):
        declared = dict(declared).get(column)
    if declared is None:
        return None
    for category in declared:
        if is_missing(category):
            raise ValueError(f"{family.family_name}(categories=...) lists {category!r}, which marks a missing cell")
        if not isinstance(category, Hashable):
            raise TypeError(
                f"{family.family_name}(categories=...) lists {category!r}, {a_type(category)}, which "
                "cannot be a category: give text, numbers, booleans or tuples"
            )
    for category, times in Counter(declared).items():
        if times > 1:
            raise ValueError(f"{family.family_name}(categories=...) lists {category!r} twice")
    return tuple(declared)


def _lists_columns(declared: Any) -> bool:
    """Whether categories are listed as pairs of a column and its categories."""
    return bool(declared) and all(isinstance(entry, tuple) and len(entry) == 2 for entry in declared)


# --------------------------------------------------------------------------------------------------
# A description laid out over the columns of a table, as blocks
# --------------------------------------------------------------------------------------------------


def lay_out(description: Any, schema: Schema, layout: Sequence[Sequence[int]] | None = None) -> tuple[Block, ...]:
    """The columns in groups of one family and one array shape.

    A hyperparameter that is learned is laid out as a one.

    Parameters
    ----------
    description : NaiveBayes
    schema : Schema
    layout : sequence of sequence of int, optional
        Positions of the columns of each block wanted, in their order. By default, columns named one by one share a
        block if their families have the same fields, and columns of categories if they have equally many.

    Raises
    ------
    ValueError
        If a column does not exist or is twice in a feature, or a hyperparameter has the wrong shape.
    """
    groups: dict[Any, list[Block]] = {}
    for name, block in _blocks_of_features(description.with_placeholders(), schema):
        derived = schema.derivation(block.columns[0])
        # Blocks of the same family can be joined, if their fields have the same shape; readings stay apart.
        kind = None if derived is None else derived.is_copy
        alike = kind, structure(block.family), tuple(leaf.shape[2:] for leaf in leaves(block.family))
        groups.setdefault(alike if block.by_column else name, []).append(block)
    blocks = tuple(_join_blocks(members) for members in groups.values())
    return blocks if layout is None else _arranged(blocks, layout)


def _blocks_of_features(description: Any, schema: Schema) -> Iterator[tuple[Any, Block]]:
    """The blocks of each feature, each with the feature's name."""
    features, counted = description.features, schema.categories
    for name, positions in schema.positions_of(features).items():
        family, columns = features[name]
        labels, names = items_at(schema.columns, positions), schema.names(positions)
        sizes = tuple(len(counted.get(position, ())) for position in positions) if counted else (0,) * len(positions)
        by_column = family.by_column or (columns is None and not isinstance(family, JointFamily))
        for members, spread in family.spread(len(schema.classes), names, sizes):
            if description.feature_inclusion is not None and isinstance(spread, ConjugateFamily):
                spread = spread.given_dependence()
            chosen = items_at(positions, members), items_at(labels, members)
            yield name, Block(block_name(name), spread, *chosen, by_column)


def _arranged(blocks: tuple[Block, ...], layout: Sequence[Sequence[int]]) -> tuple[Block, ...]:
    """The blocks regrouped, so that each has the columns wanted."""
    whole = {tuple(block.columns): block for block in blocks}
    single = places_of_columns(blocks)
    return tuple(
        whole[tuple(columns)]
        if tuple(columns) in whole
        else _join_blocks([block.column(j) for block, j in map(single.__getitem__, columns)])
        for columns in layout
    )


def places_of_columns(blocks: Sequence[Block]) -> dict[int, tuple[Block, int]]:
    """The block of each column and the place in it, by position of the column; of a joint block the first column."""
    return {
        position: (block, j)
        for block in blocks
        for j, position in enumerate(block.columns[:1] if block.is_joint else block.columns)
    }


# --------------------------------------------------------------------------------------------------
# Names of features
# --------------------------------------------------------------------------------------------------


def block_name(name: Any) -> str:
    """Name of a feature in results."""
    return "x" if name is EVERY_COLUMN else str(name)


def features_of(block: Block) -> tuple[Any, ...]:
    """Names of a block's features: its columns, or the block itself where a row of it is one vector."""
    return (block.name,) if block.is_joint else block.labels


def labels_alone(block: Block) -> tuple[Any, ...]:
    """Names of a block's columns on their own; a joint block of categories is one column."""
    return (block.name,) if block.is_joint and block.has_categories else block.labels


def family_alone(block: Block, statistics: Any = None) -> tuple[Family | None, Any]:
    """The family of a block's columns on their own, of a word in a count vector whether a token is it; statistics."""
    family = block.family
    if not isinstance(family, JointFamily):
        return family, statistics
    return family.of_each_column(), None if statistics is None else family.statistics_of_each_column(statistics)


def subjects_of(block: Block, schema: Schema) -> list[tuple[Any, Any]]:
    """What each feature of a block describes: a column, or the columns of a joint block together.

    Returns
    -------
    list of (key, name)
        Features of one column have the same key, also those of a column given others, and so have count vectors of the
        same columns. Keys sort in the order of the table's columns.
    """
    own = block.described
    if not block.is_vector:
        return columns_alone(schema, own)
    own = items_at(schema.sources, own) if block.has_totals else own
    return [((own[0], tuple(own)), block.name)]


def columns_alone(schema: Schema, positions: Sequence[int]) -> list[tuple[Any, Any]]:
    """Key and name of columns that are described alone, as `subjects_of` gives them."""
    return [((source, ()), schema.columns[source]) for source in items_at(schema.sources, positions)]


def feature_names(blocks: Sequence[Block]) -> list[Any]:
    """Names of all features, in the order of the table's columns."""
    return in_column_order(blocks, [features_of(block) for block in blocks])


def in_column_order(blocks: Sequence[Block], values: Sequence[Any]) -> list[Any]:
    """Values of the features of all blocks, in the order of the table's columns."""
    placed = [
        (position, value)
        for block, of_block in zip(blocks, values, strict=True)
        for position, value in zip(block.columns[: len(of_block)], of_block, strict=True)
    ]
    return [value for _, value in sorted(placed, key=lambda pair: pair[0])]


def positions_of_features(blocks: Sequence[Block]) -> list[list[int]]:
    """For each block the positions of its features among all, in the order of the table's columns."""
    places = [[(i, j) for j, _ in enumerate(features_of(block))] for i, block in enumerate(blocks)]
    order = {place: position for position, place in enumerate(in_column_order(blocks, places))}
    return [[order[place] for place in of_block] for of_block in places]


def parameter_notes(blocks: Iterable[Block]) -> list[str]:
    """Sentences about columns whose parameters describe a transformed cell, such as its logarithm."""
    told: dict[str, list[str]] = {}
    for block in blocks:
        if note := block.family.parameter_note:
            told.setdefault(note, []).extend(map(str, block.labels))
    return [f"{first_few(columns)}: {note}." for note, columns in told.items()]


# --------------------------------------------------------------------------------------------------
# The sufficient statistics of a table under a model
# --------------------------------------------------------------------------------------------------


@pytree
class ModelStatistics(Statistics):
    """Sufficient statistics of a table under a model: the classes' and each block's.

    Attributes
    ----------
    classes : ClassCounts
    blocks : tuple of Statistics

    See Also
    --------
    Problem : A model with its data.
    Statistics : The statistics of a block.

    Examples
    --------
    >>> import bayesnb as nb
    >>> statistics = nb.fit(nb.Bernoulli(), [[1], [1], [0]], ["a", "a", "b"]).problem.statistics
    >>> (statistics + statistics).classes.n.tolist()
    [4.0, 2.0]
    """

    classes: ClassCounts
    blocks: tuple[Statistics, ...]


def statistics_of_features(block: Block, counted: Any) -> list[Any]:
    """Statistics of each column of a block, or of the block if its columns are one feature."""
    if not block.by_column:
        return [counted]
    return [map_tree(lambda leaf, j=j: leaf[:, [j]], counted) for j in range(len(block.columns))]


# --------------------------------------------------------------------------------------------------
# The density of rows given the class
# --------------------------------------------------------------------------------------------------


def summed(densities: Iterable[Any]) -> np.ndarray:
    """Sum of log densities, computed one at a time. A single term is returned without a copy."""
    return reduce(np.add, map(np.asarray, densities))


# --------------------------------------------------------------------------------------------------
# Whether a feature depends on the class, or has one distribution for all classes.
#
# The features of a model are its columns; a joint block is one feature. Each has two hypotheses, a parameter for
# every class or one that all classes share, and both have a closed-form evidence. Features are independent given the
# labels, so that sums over all subsets of them are products over features.
# --------------------------------------------------------------------------------------------------


def read_inclusion(where: str, value: Any) -> Any:
    """Prior probabilities that features depend on the class: a number, an array, or a dictionary by feature.

    Raises
    ------
    TypeError, ValueError
        If they are not numbers from 0 to 1.
    """
    given = dict(value.items()) if isinstance(value, Mapping) or hasattr(value, "items") else value
    try:
        numbers = np.asarray(list(given.values()) if isinstance(given, dict) else given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{where} is {value!r}: give a number from 0 to 1, or one for each feature") from None
    wrong = ~((numbers >= 0) & (numbers <= 1))
    if numbers.ndim > 1 or wrong.any():
        shown = numbers[wrong].flat[0] if wrong.any() else f"an array of shape {numbers.shape}"
        raise ValueError(f"{where} holds {shown}: give a probability from 0 to 1, or one for each feature")
    if isinstance(given, dict):
        return dict(zip(given, numbers.tolist(), strict=True))
    return numbers if numbers.ndim else float(numbers)


def spread_inclusion(where: str, value: Any, blocks: Sequence[Block]) -> tuple[np.ndarray, ...]:
    """The prior probabilities of each block's features, as `read_inclusion` gives them.

    Raises
    ------
    ValueError
        If there is not one number, or one for each feature.
    """
    names = feature_names(blocks)
    if isinstance(value, dict):
        if set(value) != set(names) or len(names) != len(set(names)):
            strange = [name for name in value if name not in names]
            lost = [name for name in names if name not in value]
            what = f"names {strange[0]!r}, which is no feature" if strange else f"does not name {lost[0]!r}"
            raise ValueError(f"{where} {what}: give a probability for each of {names}")
        by_name = value
    else:
        numbers = np.asarray(value, dtype=np.float64)
        if numbers.ndim and len(numbers) != len(names):
            raise ValueError(
                f"{where} has {len(numbers)} numbers, the model has {len(names)} features: give one number, or one "
                "for each feature in the order of the table's columns (a block that is one observation, "
                "such as count vectors, is one feature)"
            )
        by_name = dict(zip(names, np.broadcast_to(numbers, len(names)).tolist(), strict=True))
    return tuple(np.array([by_name[name] for name in features_of(block)]) for block in blocks)


def inclusions(blocks: Sequence[Block], probs: Sequence[np.ndarray]) -> tuple[FeatureInclusion, ...]:
    """The families of blocks, each feature of which depends on the class with a probability (features,).

    Without dependence, all classes share the prior that every class has. If the priors differ by class, there is none.

    Raises
    ------
    ValueError
        If the family has no closed form, or its prior differs by class, naming the column.
    """
    for block in blocks:
        if not isinstance(block.family, ConjugateFamily):
            raise ValueError(
                f"column {block.labels[0]!r} is {block.family.family_name}, which has no closed-form evidence: "
                "whether a feature depends on the class is known for conjugate families"
            )
        for name, value in block.family.hyperparameters().items():
            differs = False if value is None else (np.asarray(value) != np.asarray(value)[:1]).any(axis=0)
            if np.any(differs):
                feature = block.name if block.is_joint else block.labels[int(np.argwhere(differs)[0][0])]
                raise ValueError(
                    f"column {feature!r}: the prior's {name} differs by class, so that one distribution for all "
                    "classes has no prior; give the classes the same"
                )
    return tuple(FeatureInclusion.of(block.family, prob) for block, prob in zip(blocks, probs, strict=True))
