"""A model's hyperparameters laid out in blocks, learned ones among them, and defaults that follow the data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bayesnb.core.arrays import in_float64
from bayesnb.core.deferred import dist, is_jax, jax, jnp, leaves, numpyro, pytree
from bayesnb.core.running import in_order
from bayesnb.data.labels import Numbers
from bayesnb.data.read import GivenRows
from bayesnb.data.schema import Schema
from bayesnb.data.tables import COPY, items_at
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, JointFamily, Sample, with_hyperparameters
from bayesnb.families.statistics import Statistics
from bayesnb.model.blocks import Block, ModelStatistics, block_name, join_blocks
from bayesnb.model.prior import ClassPrior, ModelParameters, Prior, spread_class_prior

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
        derived = schema.derivation(block.columns[0]) is not None
        groups.setdefault((derived, block.group_key) if block.by_column else name, []).append(block)
    blocks = tuple(join_blocks(members) for members in groups.values())
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
    single = {position: (block, j) for block in blocks for j, position in enumerate(block.columns)}
    return tuple(
        whole[tuple(columns)]
        if tuple(columns) in whole
        else join_blocks([_column_of_block(*single[position]) for position in columns])
        for columns in layout
    )


def _column_of_block(block: Block, j: int) -> Block:
    """One column of a block."""
    family = block.family.take((slice(None), [j]))
    return Block(str(block.labels[j]), family, (block.columns[j],), (block.labels[j],), by_column=True)


# --------------------------------------------------------------------------------------------------
# Hyperparameters that are learned: a distribution in the place of a number.
#
# `Family.spread` lays out numbers only. The blocks are therefore laid out twice, with ones and with different numbers
# in the places of the learned hyperparameters. The second layout shows the place of each hyperparameter. The arrays
# for any values of the hyperparameters are then a look-up, with NumPy or under JAX, for values with any leading axes.
# --------------------------------------------------------------------------------------------------

FIRST_CODE = 2.0
"""Smallest of the numbers that mark learned hyperparameters; above one, because one is the placeholder."""


def _placeholder_codes(hyperpriors: "Mapping[str, dist.Distribution]") -> dict[str, np.ndarray]:
    """Different numbers for all learned hyperparameters, in the order in which `LearnedPrior.given` lines them up."""
    codes = {}
    start = FIRST_CODE
    for name, distribution in hyperpriors.items():
        size = int(np.prod(distribution.batch_shape))
        codes[name] = np.arange(start, start + size).reshape(distribution.batch_shape)
        start += size
    return codes


@pytree
@dataclass(frozen=True)
class LearnedPrior:
    """The prior of a model with learned hyperparameters.

    Attributes
    ----------
    hyperpriors : dict
        Distribution of each hyperparameter by name.
    numbers : Prior
        With a placeholder wherever a hyperparameter is learned.
    places : tuple of array of int
        For each array of `numbers`, places among the learned numbers; -1 where a number is given.
    names : tuple of str
        The hyperparameters in the order of their numbers.
    """

    hyperpriors: "dict[str, dist.Distribution]"
    numbers: Prior
    places: tuple[Any, ...]
    names: tuple[str, ...] = field(metadata={"static": True})

    def given(self, values: Mapping[str, Any]) -> Prior:
        """The prior for values of the hyperparameters.

        Parameters
        ----------
        values : mapping
            By name, arrays of shape (..., *batch shape of the hyperprior).

        Returns
        -------
        Prior
            Arrays with the leading axes of the values.
        """
        xp = jnp if any(is_jax(value) for value in values.values()) else np
        first = self.names[0]
        depth = len(self.hyperpriors[first].batch_shape)
        leading = np.shape(values[first])[: np.ndim(values[first]) - depth]
        line = xp.concatenate([xp.reshape(xp.asarray(values[name]), (*leading, -1)) for name in self.names], axis=-1)

        def fill(number: Any, place: Any) -> Any:
            return xp.where(place < 0, number, line[..., xp.maximum(place, 0)])

        leaves, structure = jax.tree.flatten(self.numbers)
        return jax.tree.unflatten(structure, map(fill, leaves, self.places))

    def draw(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> ModelParameters:
        """Independent draws from the prior of hyperparameters and parameters."""
        values = self.draw_hyperparameters(rng, sample_shape)
        return replace(self.given(values).draw(rng), hyperparameters=values)

    def draw_hyperparameters(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> dict[str, Any]:
        """Independent draws of the hyperparameters alone, by name."""
        from bayesnb.families.draw import draw

        with jax.enable_x64(True):
            return {name: np.asarray(draw(self.hyperpriors[name], rng, sample_shape)) for name in self.names}

    def sampled(self, sample: Sample) -> Prior:
        """The prior for hyperparameters that ``sample(name, distribution)`` gives one by one."""
        return self.given({name: sample(name, self.hyperpriors[name]) for name in self.names})


def sample_in_program(name: str, distribution: "dist.Distribution") -> Any:
    """A NumPyro sample of a hyperparameter, for `LearnedPrior.sampled`."""
    return numpyro.sample(name, distribution.to_event(len(distribution.batch_shape)))


def learned_prior(description: Any, schema: Schema, blocks: Sequence[Block], class_prior: ClassPrior) -> LearnedPrior:
    """The prior of a bound model as a function of the hyperparameters that it learns.

    Parameters
    ----------
    description : NaiveBayes
    schema : Schema
    blocks : sequence of Block
    class_prior : ClassPrior
        With ones in the places of the learned hyperparameters, as in the blocks.
    """
    coded = description.with_hyperparameters(_placeholder_codes(description.hyperpriors))
    coded_blocks = lay_out(coded, schema, [block.columns for block in blocks])
    coded_classes = spread_class_prior(coded.class_concentration, coded.class_probs, schema.classes)
    numbers = Prior(class_prior, tuple(block.family for block in blocks))
    codes = Prior(coded_classes, tuple(block.family for block in coded_blocks))
    places = tuple(map(_place, leaves(numbers), leaves(codes)))
    return LearnedPrior(dict(description.hyperpriors), numbers, places, tuple(description.hyperpriors))


def _place(number: Any, code: Any) -> np.ndarray:
    return np.where(np.equal(number, code), -1, np.asarray(code) - FIRST_CODE).astype(np.int64)


def hyperparameter_axes(description: Any, schema: Schema) -> dict[str, tuple[tuple[str, tuple], ...]]:
    """Name and labels of every axis of each learned hyperparameter: classes and columns where its shape has them.

    A third axis is that of the categories.
    """
    classes = ("class", tuple(schema.classes.tolist()))
    found = {}
    if description.learns_classes:
        found["class_concentration"] = (classes,) * len(description.class_concentration.batch_shape)
    for name, feature, field_name in description.learned_fields():
        family, columns = description.features[feature]
        labels = tuple(schema.columns[position] for position in schema.positions(feature, columns))
        shape = family.hyperparameters()[field_name].batch_shape
        every = (classes, (f"{block_name(feature)}_column", labels), ("category", ()))
        usual = every if len(shape) == len(every) else every[2 - len(shape) : 2]
        found[name] = tuple(
            axis if len(axis[1]) == size else (f"{name}_{axis[0]}", tuple(range(size)))
            for axis, size in zip(usual, shape, strict=True)
        )
    return found


# --------------------------------------------------------------------------------------------------
# Defaults that follow the data, set to the numbers used
# --------------------------------------------------------------------------------------------------


@in_float64
def resolve(
    description: Any, schema: Schema, blocks: Sequence[Block], statistics: ModelStatistics
) -> tuple[Any, tuple[Block, ...]]:
    """Description and blocks with the numbers that the defaults take from statistics.

    Parameters
    ----------
    description : NaiveBayes
    schema : Schema
    blocks : sequence of Block
        The description laid out over the schema.
    statistics : ModelStatistics
        Those of the blocks, in their order.

    Returns
    -------
    tuple of NaiveBayes and tuple of Block
        The blocks have the columns and the order that they had.

    Raises
    ------
    ValueError
        If a default depends on a hyperparameter that is learned, or the spread of a column is too small for a default.
    """
    resolved = _blocks_on_scale(blocks, statistics)
    numbers = description.with_placeholders()
    prior = spread_class_prior(numbers.class_concentration, numbers.class_probs, schema.classes, statistics.classes)
    concentration = 1.0 if prior.probs is not None else prior.concentration
    described = replace(
        description,
        features=_features_with_defaults(description, schema, resolved, statistics)
        if description.hyperpriors
        else _column_features(description, schema, resolved),
        class_concentration=description.class_concentration if description.learns_classes else concentration,
        class_probs=prior.probs,
    )
    return described, resolved


def _blocks_on_scale(blocks: Sequence[Block], statistics: ModelStatistics) -> tuple[Block, ...]:
    resolved = []
    for block, counted in zip(blocks, statistics.blocks, strict=True):
        pooled = counted.pooled()
        refuse_beyond_float64(block, pooled)
        resolved.append(replace(block, family=block.family.on_scale_of(pooled)))
    return tuple(resolved)


def refuse_beyond_float64(block: Block, counted: Statistics, classes: Sequence[Any] = ()) -> None:
    """Raise an error for columns that float64 does not hold, in one of the classes, or in all together.

    Raises
    ------
    ValueError
    """
    found = block.family.beyond_float64(counted)
    if found is None or np.isnan(found[0]).all():
        return
    means, why = found
    c, j = (int(axis[0]) for axis in np.nonzero(~np.isnan(means)))
    where = f" in class {classes[c]!r}" if len(classes) else ""
    raise ValueError(f"column {block.labels[j]!r}{where}{why.format(mean=means[c, j])}, here and where you predict")


def _column_features(description: Any, schema: Schema, blocks: Sequence[Block]) -> dict[Any, tuple[Family, Any]]:
    """The features with numbers: each column that is a site becomes a feature."""
    features: dict[Any, tuple[Family, Any]] = {}
    whole = {block.columns[0]: block for block in blocks if not block.by_column}
    single = {position: (block, j) for block in blocks if block.by_column for j, position in enumerate(block.columns)}
    for name, (_, columns) in description.features.items():
        positions = schema.positions(name, columns)
        if positions[0] in whole:
            features[name] = (whole[positions[0]].family, columns)
            continue
        for position in positions:
            block, j = single[position]
            index = (slice(None), j) if block.has_categories else (slice(None), [j])
            derived = schema.derivation(position)
            own = None if derived is None else [derived.of if derived.recipe == COPY else derived]
            features[schema.columns[position]] = (block.family.take(index), own)
    return features


def _features_with_defaults(
    description: Any, schema: Schema, blocks: Sequence[Block], statistics: ModelStatistics
) -> dict[Any, tuple[Family, Any]]:
    """The features with numbers in the places of their defaults, and the hyperpriors as they were."""
    coded = description.with_hyperparameters(_placeholder_codes(description.hyperpriors))
    others = _blocks_on_scale(lay_out(coded, schema, [block.columns for block in blocks]), statistics)
    features: dict[Any, tuple[Family, Any]] = {}
    for name, (family, columns) in description.features.items():
        positions = schema.positions(name, columns)
        defaults = {}
        for key, value in family.hyperparameters().items():
            if value is None:
                defaults[key] = _numbers_of_columns(blocks, key, positions)
                if (defaults[key] != _numbers_of_columns(others, key, positions)).any():
                    raise ValueError(
                        f"{block_name(name)!r}: the default of {family.family_name}({key}=...) follows from a "
                        f"hyperparameter that is learned: give {key} a number, or a distribution of its own"
                    )
        features[name] = (with_hyperparameters(family, defaults), columns)
    return features


def _numbers_of_columns(blocks: Sequence[Block], key: str, positions: Sequence[int]) -> np.ndarray:
    """A hyperparameter of some columns, shape (classes, columns); of a joint family, the array of its block."""
    found = {}
    for block in blocks:
        if block.is_joint and block.columns[0] == positions[0]:
            return np.asarray(block.family.hyperparameters()[key])
        for j, position in enumerate(block.columns):
            if position in positions:
                found[position] = np.asarray(block.family.hyperparameters()[key])[:, j]
    return np.column_stack([found[position] for position in positions])


def to_be_seen(description: Any, schema: Schema) -> dict[Any, list[int]]:
    """By feature, the positions of the columns whose cells its family must see."""
    wanted = {}
    for name, (family, columns) in description.features.items():
        # Most families see none. To ask one about each of 50,000 words takes 3 ms.
        if type(family).must_see is not Family.must_see:
            positions = schema.positions(name, columns)
            columns_seen = zip(positions, schema.names(positions), strict=True)
            wanted[name] = [position for position, column in columns_seen if family.must_see(column)]
    return {name: positions for name, positions in wanted.items() if positions}


def with_constants(description: Any, schema: Schema, rows: GivenRows | None, numbers: Mapping[int, Numbers]) -> Any:
    """The description with the constants that its families take from all rows, or, of rows in pieces, from numbers."""
    if not (wanted := to_be_seen(description, schema)):
        return description
    if rows is not None:
        rows = replace(rows, table=schema.arrange(rows.table, list(wanted.values()), description.number_forms))

    def numbers_of(position: int) -> Numbers:
        if rows is None:
            return numbers[position]
        return Numbers.of(rows.table.number_column(position, slice(None)), rows.weights)

    def having_seen(name: Any) -> tuple[Family, Any]:
        family, columns = description.features[name]
        for position, column in zip(wanted[name], schema.names(wanted[name]), strict=True):
            seen = numbers_of(position)
            family = family.having_seen({column: seen.values}, seen.weights)
        return family, columns

    found = zip(wanted, in_order(having_seen, list(wanted)), strict=True)
    return replace(description, features={**description.features, **dict(found)})
