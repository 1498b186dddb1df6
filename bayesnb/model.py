"""The model: features that are independent given the class.

`NaiveBayes` is a description. Bound to a table it knows its `Schema` and splits into blocks, groups of columns that one
family describes with arrays of one shape, so that everything below runs on whole arrays.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from textwrap import fill
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.arrays import in_float64
from bayesnb.blocks import (
    CLASS_SITE,
    Block,
    ClassPrior,
    ModelParameters,
    ModelStatistics,
    draw_parameters,
    join_blocks,
    log_joint,
    summed,
)
from bayesnb.description import (
    block_name,
    categorical_columns,
    class_story,
    feature_label,
    guess_family,
    read_class_concentration,
    read_class_probs,
    read_classes,
    read_features,
)
from bayesnb.device import count_on_device
from bayesnb.families.base import Family, Parameters
from bayesnb.families.fast import draw, random_generator, whole_number
from bayesnb.families.hyperparameters import format_number
from bayesnb.inclusion import draw_averaged, read_inclusion, shared_families, spread_inclusion
from bayesnb.learned import LearnedPrior, placeholder, placeholder_codes, sample_hyperparameters
from bayesnb.parallel import in_order
from bayesnb.sites import Sites
from bayesnb.sparse import dense
from bayesnb.statistics.counts import ClassCounts
from bayesnb.tables.categories import learn_categories, warn_unseen
from bayesnb.tables.cells import check_cells
from bayesnb.tables.columns import items_at
from bayesnb.tables.device_array import DeviceTable
from bayesnb.tables.labels import encode_labels, learn_classes
from bayesnb.tables.read import as_table
from bayesnb.tables.schema import Schema
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights

__all__ = ["NaiveBayes"]

STORIES = 24
"""Features that a repr tells of."""


@dataclass(frozen=True, init=False, repr=False)
class NaiveBayes:
    r"""Naive Bayes: a class, and features that are independent given the class.

    .. math::
        \pi \sim \mathrm{Dirichlet}(a), \quad
        \theta_{cj} \sim \mathrm{prior}_j, \quad
        y_i \mid \pi \sim \mathrm{Categorical}(\pi), \quad
        x_{ij} \mid y_i = c \sim \mathrm{Family}_j(\theta_{cj})

    Parameters
    ----------
    features : Family or mapping
        One family for every column; or a mapping from column name (or position) to family; or from block name to
        ``(family, columns)``, where columns is a list of names or positions, or a slice of positions. Columns that a
        mapping does not name are left out of the model.
    class_concentration : float or array of shape (classes,), default 1.0
        Concentration of the Dirichlet prior on the class probabilities, classes in sorted order.
    class_probs : array of shape (classes,), mapping from label to probability, or "empirical", optional
        Class probabilities where they are known; ``"empirical"`` takes the frequencies of the data as known.
    feature_inclusion : float, array of shape (features,), or mapping from feature to float, optional
        Prior probability that a feature depends on the class at all; with one minus it, all classes share the feature's
        parameters. A fit then averages over all subsets of the features (`AveragedPosterior`). Features are columns, in
        the order of the table, and a block of count vectors is one. By default all depend on the class.

    Raises
    ------
    TypeError, ValueError
        If a feature is not a family, a column is in two blocks, the class prior is not one, or an inclusion is no
        probability.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.NaiveBayes({"votes": nb.Bernoulli(), "island": nb.Categorical(concentration=0.5)})
    NaiveBayes, features independent given the class:
      class_prob ~ Dirichlet(1)
      y ~ Categorical(class_prob)
      votes ~ Bernoulli(prob)
          prob ~ Beta(1, 1)
      island ~ Categorical(prob)
          prob ~ Dirichlet(0.5)
    """

    features: dict[Any, tuple[Family, Any]]
    class_concentration: Any
    class_probs: Any
    feature_inclusion: Any
    schema: Schema | None = field(compare=False)

    def __init__(
        self,
        features: Family | Mapping[Any, Any],
        *,
        class_concentration: Any = 1.0,
        class_probs: Any = None,
        feature_inclusion: Any = None,
        schema: Schema | None = None,
    ) -> None:
        object.__setattr__(self, "features", read_features(features))
        object.__setattr__(self, "class_concentration", read_class_concentration(class_concentration))
        object.__setattr__(self, "class_probs", read_class_probs(class_probs))
        object.__setattr__(self, "schema", schema)
        given = self._learns_classes or np.any(self.class_concentration != 1.0)
        if class_probs is not None and given:
            raise ValueError("class_concentration and class_probs are both given: known probabilities have no prior")
        inclusion = None if feature_inclusion is None else read_inclusion("feature_inclusion", feature_inclusion)
        object.__setattr__(self, "feature_inclusion", inclusion)
        if inclusion is not None and self.hyperpriors:
            raise ValueError(
                f"feature_inclusion is averaged over in closed form, which leaves no room for {[*self.hyperpriors]} to "
                "be learned: give them numbers, or leave feature_inclusion out"
            )

    @classmethod
    def from_frame(cls, frame: Any, *, exclude: Sequence[Any] = (), **class_prior: Any) -> Self:
        """Guess a family for each column from its type.

        Booleans and columns of only 0 and 1 become `Bernoulli`, other numbers `Gaussian`, text and categoricals
        `Categorical`. The guess is printed by the model's repr; counts are better served by `Poisson`, which no type
        tells from other integers.

        Parameters
        ----------
        frame : table, shape (rows, columns)
        exclude : sequence, optional
            Columns to leave out, such as the target or a row identifier.
        **class_prior
            `class_concentration` or `class_probs`, as for `NaiveBayes`.

        Raises
        ------
        TypeError
            If a column holds neither numbers nor categories (dates, lists).
        ValueError
            If an excluded column is not there.
        """
        table = as_table(frame)
        exclude = [exclude] if isinstance(exclude, str) else exclude
        for name in exclude:
            if name not in table.names:
                raise ValueError(f"exclude names the column {name!r}, which is not among {list(table.names)}")
        features: dict[Any, Family] = {}
        for position, name in enumerate(table.names):
            if name not in exclude:
                features[name] = guess_family(table, position)
        return cls(features, **class_prior)

    @property
    def bound(self) -> bool:
        """Whether the model knows the columns, classes and categories of a table."""
        return self.schema is not None

    def bind(self, X: Any, y: Any = None, *, classes: Any = None) -> Self:
        """The model with the columns, classes and categories of a table.

        Hyperparameters that follow the data stay open until `fit`.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels, shape (rows,), optional if `classes` is given
            Missing labels say nothing.
        classes : sequence, optional
            Labels that may occur, in the order wanted.

        Returns
        -------
        NaiveBayes
            The model with the categories of this table. A fit of a bound model, and updates of that fit, count another
            value as a missing cell.
        """
        table = as_table(X)
        if not table.names:
            raise ValueError("X has no columns: give at least one")
        labels = learn_classes(y, table.num_rows, may_miss=True) if classes is None else read_classes(classes)
        schema = Schema(table.names, table.named, labels)
        categories = {
            position: learn_categories(table, position, listed, family.other)
            for position, family, listed in categorical_columns(self.features, schema)
        }
        return self.with_schema(replace(schema, categories=categories))._checked()

    def with_classes(self, classes: Any) -> Self:
        """The bound model with other classes; its columns and categories stay.

        Parameters
        ----------
        classes : sequence or int
            Labels that may occur, in the order wanted; or their number.

        Raises
        ------
        ValueError
            If a hyperparameter has another number of classes.
        """
        return self.with_schema(replace(self._require_schema(), classes=read_classes(classes)))._checked()

    def _checked(self) -> Self:
        """The bound model itself, after a check that its hyperparameters fit its columns and classes."""
        _ = self.blocks, self.inclusion
        if self.class_probs is not None or np.ndim(self.class_concentration):
            _ = self._spread_class_prior(ClassCounts(np.ones(len(self._require_schema().classes))))
        return self

    @cached_property
    def open_columns(self) -> tuple[int, ...]:
        """Positions of the columns that more rows may bring categories to; needs a bound model.

        Those whose categories the model does not list, and that have no category for all other values.
        """
        columns = categorical_columns(self.features, self._require_schema())
        return tuple(position for position, family, listed in columns if listed is None and not family.other)

    def with_schema(self, schema: Schema) -> Self:
        """The same description bound to a given schema."""
        return type(self)(
            self.features,
            class_concentration=self.class_concentration,
            class_probs=self.class_probs,
            feature_inclusion=self.feature_inclusion,
            schema=schema,
        )

    def with_features(self, features: Mapping[Any, Any]) -> Self:
        """The same model with other features."""
        return type(self)(
            features,
            class_concentration=self.class_concentration,
            class_probs=self.class_probs,
            feature_inclusion=self.feature_inclusion,
            schema=self.schema,
        )

    def with_feature_inclusion(self, feature_inclusion: Any) -> Self:
        """The same model with other prior probabilities that features depend on the class; see `NaiveBayes`."""
        changed = type(self)(
            self.features,
            class_concentration=self.class_concentration,
            class_probs=self.class_probs,
            feature_inclusion=feature_inclusion,
            schema=self.schema,
        )
        if self.bound:
            # Those of a resolved model stand in the order of its statistics.
            changed.__dict__["blocks"] = self.blocks
            _ = changed.inclusion
        return changed

    @cached_property
    def inclusion(self) -> tuple[np.ndarray, ...] | None:
        """Prior probability that each feature of each block depends on the class; None where all do."""
        if self.feature_inclusion is None:
            return None
        return spread_inclusion("feature_inclusion", self.feature_inclusion, self.blocks)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns in groups of one family and one array shape; needs a bound model.

        A hyperparameter that is learned stands there as a one; `learned` says where.
        """
        if self.hyperpriors:
            return self._with_placeholders().blocks
        schema = self._require_schema()
        groups: dict[Any, list[Block]] = {}
        for name, positions in schema.positions_of(self.features).items():
            family, columns = self.features[name]
            labels = items_at(schema.columns, positions)
            counted = schema.categories
            sizes = (
                tuple(len(counted.get(position, ())) for position in positions) if counted else (0,) * len(positions)
            )
            by_column = family.cell == "category" or (columns is None and family.cell != "count vector")
            for members, spread in family.spread(len(schema.classes), labels, sizes):
                block = Block(
                    block_name(name),
                    spread,
                    items_at(positions, members),
                    items_at(labels, members),
                    by_column,
                )
                key = block.group_key if by_column else name
                groups.setdefault(key, []).append(block)
        return tuple(join_blocks(blocks) for blocks in groups.values())

    @cached_property
    def hyperpriors(self) -> dict[str, dist.Distribution]:
        """Distribution of every hyperparameter that is learned, by the name it has in results."""
        found: dict[str, dist.Distribution] = {}
        if self._learns_classes:
            found["class_concentration"] = self.class_concentration
        for name, feature, field_name in self._learned_fields():
            found[name] = getattr(self.features[feature][0], field_name)
        return found

    @property
    def _learns_classes(self) -> bool:
        return isinstance(self.class_concentration, dist.Distribution)

    def _learned_fields(self) -> Iterator[tuple[str, Any, str]]:
        """Of each learned hyperparameter of a family the name in results, the feature and the family's field."""
        for feature, (family, _) in self.features.items():
            for field_name, value in family.hyperparameters().items():
                if isinstance(value, dist.Distribution):
                    yield _hyperparameter_name(feature, family, field_name), feature, field_name

    def with_hyperparameters(self, values: Mapping[str, Any]) -> Self:
        """The same description with numbers for the hyperparameters that are learned.

        Parameters
        ----------
        values : mapping
            By the names of `hyperpriors`, arrays of the hyperpriors' shapes.
        """
        features = dict(self.features)
        for name, feature, field_name in self._learned_fields():
            family, columns = features[feature]
            features[feature] = (replace(family, **{field_name: values[name]}), columns)
        return type(self)(
            features,
            class_concentration=values["class_concentration"] if self._learns_classes else self.class_concentration,
            class_probs=self.class_probs,
            schema=self.schema,
        )

    def hyperparameters_like(self, other: "NaiveBayes") -> dict[str, np.ndarray]:
        """The numbers that stand here where `other`, the same description, has hyperpriors."""
        found = {"class_concentration": np.array(self.class_concentration)} if other._learns_classes else {}
        for name, feature, field_name in other._learned_fields():
            found[name] = np.array(getattr(self.features[feature][0], field_name))
        return found

    def _with_placeholders(self) -> Self:
        return self.with_hyperparameters({name: placeholder(prior) for name, prior in self.hyperpriors.items()})

    @cached_property
    def learned(self) -> LearnedPrior:
        """The prior as a function of the hyperparameters that are learned; needs a bound model that has some."""
        return self._learned(self.families, self.class_prior)

    def _learned(self, families: tuple[Family, ...], class_prior: ClassPrior) -> LearnedPrior:
        coded = self.with_hyperparameters(placeholder_codes(self.hyperpriors))
        codes = []
        for family, block in zip(families, coded.blocks, strict=True):
            known = {name: value for name, value in block.family.hyperparameters().items() if value is not None}
            codes.append(replace(family, **known))
        return LearnedPrior.of(self.hyperpriors, (class_prior, families), (coded.class_prior, tuple(codes)))

    @property
    def families(self) -> tuple[Family, ...]:
        """Family of each block."""
        return tuple(block.family for block in self.blocks)

    @property
    def class_prior(self) -> ClassPrior:
        """The prior on the class probabilities; needs a bound model whose probabilities are not "empirical"."""
        return self._spread_class_prior(None)

    @property
    def follows_labels(self) -> bool:
        """Whether the class probabilities are the frequencies of the labels."""
        return isinstance(self.class_probs, str)

    def _spread_class_prior(self, counts: ClassCounts | None) -> ClassPrior:
        classes = self._require_schema().classes
        if self.class_probs is None:
            given = placeholder(self.class_concentration) if self._learns_classes else self.class_concentration
            concentration = np.asarray(given, dtype=np.float64)
            if concentration.ndim and concentration.shape != classes.shape:
                raise ValueError(
                    f"class_concentration has shape {concentration.shape}, there are {len(classes)} classes "
                    f"{classes.tolist()}: give one number, or one per class"
                )
            return ClassPrior(np.broadcast_to(concentration, classes.shape), None)
        if self.follows_labels:
            if counts is None:
                raise ValueError('class_probs="empirical" needs data: fit the model')
            weight = counts.n.sum()
            return ClassPrior(None, counts.n / weight if weight > 0 else np.full(len(classes), 1 / len(classes)))
        if isinstance(self.class_probs, Mapping):
            labels = classes.tolist()
            if set(self.class_probs) != set(labels):
                raise ValueError(f"class_probs names {list(self.class_probs)}, the classes are {labels}")
            return ClassPrior(None, np.array([self.class_probs[label] for label in labels], dtype=np.float64))
        if self.class_probs.shape != classes.shape:
            raise ValueError(
                f"class_probs has {len(self.class_probs)} entries, there are {len(classes)} classes {classes.tolist()}"
            )
        return ClassPrior(None, self.class_probs)

    def _require_schema(self) -> Schema:
        if self.schema is None:
            raise ValueError(
                "the model does not know its columns and classes yet: fit it, or bind it to a table with "
                "model.bind(X, y)"
            )
        return self.schema

    @in_float64
    def resolve(self, statistics: ModelStatistics) -> Self:
        """The bound model with every default that follows the data set to the numbers used."""
        if self.hyperpriors:
            return self._resolve_around_hyperpriors(statistics)
        families = [
            block.family.on_scale_of(counted.pooled())
            for block, counted in zip(self.blocks, statistics.blocks, strict=True)
        ]
        blocks = tuple(replace(block, family=family) for block, family in zip(self.blocks, families, strict=True))
        class_prior = self._spread_class_prior(statistics.classes)
        features: dict[Any, tuple[Family, Any]] = {}
        for name, (_, columns) in self.features.items():
            together = [block for block in blocks if not block.by_column and block.name == block_name(name)]
            for block in together:
                features[name] = (block.family, columns)
            if together:
                continue
            for position in self._require_schema().positions(name, columns):
                for block in blocks:
                    if block.by_column and position in block.columns:
                        j = block.columns.index(position)
                        index = (slice(None), j) if block.has_categories else (slice(None), [j])
                        features[self._require_schema().columns[position]] = (block.family.take(index), None)
        resolved = type(self)(
            features,
            class_concentration=1.0 if class_prior.probs is not None else class_prior.concentration,
            class_probs=class_prior.probs,
            feature_inclusion=self.feature_inclusion,
            schema=self.schema,
        )
        # The blocks keep the order of the statistics, which regrouping the resolved families might change.
        resolved.__dict__["blocks"] = blocks
        return resolved

    def _resolve_around_hyperpriors(self, statistics: ModelStatistics) -> Self:
        numbers = self._with_placeholders().resolve(statistics)
        others = self.with_hyperparameters(placeholder_codes(self.hyperpriors)).resolve(statistics)
        features: dict[Any, tuple[Family, Any]] = {}
        for name, (family, columns) in self.features.items():
            positions = self._require_schema().positions(name, columns)
            defaults = {}
            for field_name, value in family.hyperparameters().items():
                if value is None:
                    defaults[field_name] = _of_columns(numbers.blocks, field_name, positions)
                    if (defaults[field_name] != _of_columns(others.blocks, field_name, positions)).any():
                        raise ValueError(
                            f"{block_name(name)!r}: the default of {type(family).__name__}({field_name}=...) follows "
                            f"from a hyperparameter that is learned: give {field_name} a number, or a distribution of "
                            "its own"
                        )
            features[name] = (replace(family, **defaults), columns)
        resolved = type(self)(
            features,
            class_concentration=self.class_concentration if self._learns_classes else numbers.class_concentration,
            class_probs=numbers.class_probs,
            schema=self.schema,
        )
        # As without hyperpriors, the blocks keep the order of the statistics.
        resolved.__dict__["blocks"] = numbers.blocks
        resolved.__dict__["learned"] = self._learned(numbers.families, numbers.class_prior)
        return resolved

    def statistics(self, X: Any, y: Any, *, sample_weight: Any = None, unseen: dict | None = None) -> ModelStatistics:
        """Sufficient statistics of a table under the bound model.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels, shape (rows,)
        sample_weight : array, shape (rows,), optional
        unseen : dict, optional
            As for `encode`.

        Returns
        -------
        ModelStatistics
        """
        schema = self._require_schema()
        table = as_table(X)
        labels = encode_labels(y, table.num_rows, schema.classes)
        weights = None if sample_weight is None else check_weights(sample_weight, table.num_rows)
        identity = np.eye(len(schema.classes))

        def count(rows: slice, chunk: tuple[Any, ...]) -> ModelStatistics:
            if weights is None:
                return self.count_by_class(chunk, labels[rows])
            return self.count(chunk, identity[labels[rows]] * weights[rows, None])

        mapping: Callable[..., Iterator[tuple[ModelStatistics, dict]]] = in_order
        if isinstance(table, DeviceTable):
            mapping = count_on_device(table, schema, self.blocks, self.columns_in(table), labels, weights)
        total: ModelStatistics | None = None
        for counted in self.map_chunks(count, table, unseen, mapping):
            total = counted if total is None else total + counted
        if total is None:
            raise ValueError("X has no rows: give at least one")
        return total

    def count(self, chunk: tuple[Any, ...], membership: np.ndarray) -> ModelStatistics:
        """Sufficient statistics of encoded rows, given the weight of each row in each class (rows, classes)."""
        blocks = tuple(block.family.statistics(x, membership) for block, x in zip(self.blocks, chunk, strict=True))
        return ModelStatistics(ClassCounts(membership.sum(axis=0)), blocks)

    def count_by_class(self, chunk: tuple[Any, ...], codes: np.ndarray) -> ModelStatistics:
        """Sufficient statistics of encoded rows of weight one each, given the position of each row's class (rows,)."""
        number = len(self._require_schema().classes)
        blocks = tuple(
            block.family.statistics_by_class(x, codes, number) for block, x in zip(self.blocks, chunk, strict=True)
        )
        return ModelStatistics(ClassCounts(np.bincount(codes, minlength=number).astype(np.float64)), blocks)

    def encode(self, X: Any, unseen: dict | None = None) -> Iterator[tuple[slice, tuple[Any, ...]]]:
        """Read a table chunk by chunk.

        Parameters
        ----------
        X : table, shape (rows, columns)
        unseen : dict, optional
            Receives, by column, the values that are not among the categories, with their number. Without it they are
            warned of.

        Yields
        ------
        tuple of slice and tuple of array
            The rows, and for each block their cells: float64 (rows, columns) with missing cells NaN and categories as
            codes, or CSR for families that take it.
        """
        return self._read(X, lambda rows, chunk: (rows, chunk), map, unseen, compact=False)

    def map_chunks[R](
        self,
        function: Callable[[slice, tuple[Any, ...]], R],
        X: Any,
        unseen: dict | None = None,
        mapping: Callable[..., Iterator[tuple[R, dict]]] = in_order,
    ) -> Iterator[R]:
        """Read a table chunk by chunk, in several threads if it is long.

        Parameters
        ----------
        function : callable
            Of the rows and their cells as `encode` yields them, except that a family that is `compact` gets booleans
            and integers as they are.
        X, unseen
            As for `encode`.
        mapping : callable, optional
            What applies the function to the chunks.

        Yields
        ------
        object
            What the function gives for each chunk, in the order of the rows.
        """
        return self._read(X, function, mapping, unseen, compact=True)

    def _read[R](
        self,
        X: Any,
        function: Callable[[slice, tuple[Any, ...]], R],
        mapping: Callable[..., Iterator[tuple[R, dict]]],
        unseen: dict | None,
        *,
        compact: bool,
    ) -> Iterator[R]:
        table = as_table(X)
        columns = self.columns_in(table)

        def one_chunk(rows: slice) -> tuple[R, dict]:
            strange: dict[Any, dict[Any, int]] = {}
            chunk = tuple(
                self._cells(*which, table, rows, strange, compact) for which in zip(self.blocks, columns, strict=True)
            )
            return function(rows, chunk), strange

        found: dict[Any, dict[Any, int]] = {} if unseen is None else unseen
        for result, strange in mapping(one_chunk, list(table.chunks(sum(map(len, columns))))):
            for column, values in strange.items():
                numbers = found.setdefault(column, {})
                for value, number in values.items():
                    numbers[value] = numbers.get(value, 0) + number
            yield result
        if unseen is None:
            warn_unseen(found)

    def columns_in(self, table: Table) -> list[Sequence[int]]:
        """Where the columns of each block stand in a table.

        Raises
        ------
        ValueError
            If columns are missing, renamed, or were not in the table at fit.
        """
        return self._require_schema().locate(table, [block.columns for block in self.blocks])

    def _cells(
        self, block: Block, columns: Sequence[int], table: Table, rows: slice, strange: dict, compact: bool
    ) -> Any:
        """Encoded cells of a block, which stand in the given columns of the table."""
        compact = compact and block.family.compact
        if block.has_categories:
            schema = self._require_schema()
            return schema.categories_as_codes(table, block.columns, columns, rows, strange, compact=compact)
        x = table.numbers(columns, rows, sparse=block.family.sparse, booleans=compact)
        if not (table.non_negative and block.family.accepts_fractions):
            check_cells(x, block.family, block.labels, rows)
        return x

    @cached_property
    def sites(self) -> Sites:
        """Names of all parameters in results; needs a bound model."""
        return Sites(self.blocks, self._require_schema(), self._hyperparameter_axes())

    def _hyperparameter_axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        """Dimensions of every learned hyperparameter: the classes' and the columns' where its shape has them."""
        schema = self._require_schema()
        classes = ("class", tuple(schema.classes.tolist()))
        found = {}
        if self._learns_classes:
            found["class_concentration"] = (classes,) * len(self.class_concentration.batch_shape)
        for name, feature, field_name in self._learned_fields():
            family, columns = self.features[feature]
            labels = tuple(schema.columns[position] for position in schema.positions(feature, columns))
            shape = getattr(family, field_name).batch_shape
            usual = (classes, (f"{block_name(feature)}_column", labels))[-len(shape) :] if shape else ()
            found[name] = tuple(
                axis if len(axis[1]) == size else (f"{name}_{axis[0]}", tuple(range(size)))
                for axis, size in zip(usual, shape, strict=True)
            )
        return found

    @in_float64
    def log_joint(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> np.ndarray:
        """Log density of each row and each class given parameters, shape (..., rows, classes)."""
        blocks = zip(self.families, parameters.blocks, chunk, strict=True)
        return log_joint(parameters.class_prob, (family.row_log_likelihood(values, x) for family, values, x in blocks))

    @in_float64
    def log_ratio(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> np.ndarray:
        """Log density of each row given its class and parameters, but for a term that all classes share.

        Returns
        -------
        array, shape (..., rows, classes)
        """
        blocks = zip(self.families, parameters.blocks, chunk, strict=True)
        return summed(family.row_log_ratio(values, x) for family, values, x in blocks)

    @in_float64
    def log_density(self, parameters: ModelParameters, statistics: ModelStatistics) -> Any:
        """Log likelihood of the data behind the statistics, without terms that hold no parameter, shape (...,)."""
        total = self.class_prior.log_likelihood(parameters.class_prob, statistics.classes)
        for block, values, counted in zip(self.blocks, parameters.blocks, statistics.blocks, strict=True):
            total = total + np.asarray(block.family.log_likelihood(values, counted)).sum(axis=(-1, -2))
        return total

    def draw_prior(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> ModelParameters:
        """Independent draws of all parameters from the prior, shape sample_shape + (classes, ...)."""
        if self.hyperpriors:
            return self.learned.draw(rng, sample_shape)
        if self.inclusion is not None:
            shared = shared_families(self.blocks)
            return draw_averaged(self.class_prior, self.families, shared, self.inclusion, rng, sample_shape)
        return draw_parameters(self.class_prior, self.families, rng, sample_shape)

    def simulate(
        self, num_rows: int, *, key: Any = 0, total_count: Any = None, return_parameters: bool = False
    ) -> tuple[Any, ...]:
        """Simulate a table from the prior: parameters first, then rows that share them.

        Parameters
        ----------
        num_rows : int
        key : int or JAX key, default 0
        total_count : int or array of shape (rows,), optional
            Total of each count vector (the length of a document); needed if the model has any.
        return_parameters : bool, default False
            Whether to return the parameters too, by site name.

        Returns
        -------
        tuple
            The table (a pandas frame where the columns have names, else an array), the labels, and the parameters where
            asked for.

        Raises
        ------
        ValueError
            If the model is not bound to a table, or a hyperparameter is left to the scale of data.
        """
        num_rows = whole_number("num_rows", num_rows)
        rng = random_generator(key)
        self._require_numbers()
        parameters = self.draw_prior(rng)
        labels = draw(
            dist.CategoricalProbs(np.broadcast_to(parameters.class_prob, (num_rows, len(parameters.class_prob)))), rng
        )
        codes = labels.astype(np.intp)
        rows = tuple({name: value[codes] for name, value in block.items()} for block in parameters.blocks)
        X, y = self.draw_rows(codes, rows, rng, total_count)
        return (X, y, self.sites.by_name(parameters)) if return_parameters else (X, y)

    @in_float64
    def draw_rows(
        self, codes: np.ndarray, parameters: Sequence[Parameters], rng: np.random.Generator, total_count: Any = None
    ) -> tuple[Any, np.ndarray]:
        """Draw the features of rows whose classes and parameters are given.

        Parameters
        ----------
        codes : array of int, shape (rows,)
        parameters : sequence of mapping
            For each block, parameters of each row, shape (rows, columns) or (rows, columns, categories).
        rng : numpy.random.Generator
        total_count : int or array of shape (rows,), optional

        Returns
        -------
        tuple
            The table and the labels.
        """
        cells = []
        for block, values in zip(self.blocks, parameters, strict=True):
            size = {"total_count": self._total_count(total_count, len(codes))} if block.is_vector else {}
            cells.append(draw(block.family.likelihood(**values, **size), rng))
        return self._to_table(cells), self._require_schema().classes[codes]

    def _total_count(self, total_count: Any, num_rows: int) -> np.ndarray:
        if total_count is None:
            raise ValueError(
                "the model has count vectors, whose total it does not describe: give total_count, the length of each "
                "document (a number or one per row)"
            )
        totals = np.asarray(total_count)
        if totals.dtype.kind not in "iu" or (totals < 0).any() or totals.shape not in {(), (num_rows,)}:
            raise ValueError(f"total_count is {total_count!r}: give a whole number, or one for each of {num_rows} rows")
        return np.broadcast_to(totals, (num_rows,))

    def _to_table(self, cells: Sequence[np.ndarray]) -> Any:
        """Cells of each block as a table like the one the model is bound to, with its categories."""
        schema = self._require_schema()
        columns: dict[int, np.ndarray] = {}
        for block, x in zip(self.blocks, cells, strict=True):
            for j, position in enumerate(block.columns):
                if block.has_categories:
                    categories = np.empty(len(schema.categories[position]), dtype=object)
                    categories[:] = schema.categories[position]
                    columns[position] = np.array(categories[x[:, j].astype(np.intp)].tolist(), ndmin=1)
                else:
                    columns[position] = x[:, j]
        ordered = {schema.columns[position]: columns[position] for position in sorted(columns)}
        if schema.named:
            import pandas as pd

            return pd.DataFrame(ordered)
        kinds = {column.dtype.kind for column in ordered.values()}
        if len(kinds) > 1:
            ordered = {name: column.astype(object) for name, column in ordered.items()}
        return np.column_stack(list(ordered.values()))

    def _open_hyperparameter(self) -> tuple[Block, str] | None:
        """A hyperparameter that follows the scale of the data and has no number yet."""
        for block in self.blocks:
            for name, value in block.family.hyperparameters().items():
                if value is None:
                    return block, name
        return None

    def _require_numbers(self) -> None:
        found = self._open_hyperparameter()
        if found is not None:
            block, name = found
            raise ValueError(
                f"{type(block.family).__name__}({name}=...) of {block.name!r} follows the scale of the data: give a "
                "number, or take the model of a fit (posterior.model)"
            )

    def program(self, X: Any = None, y: Any = None, *, num_rows: int | None = None, total_count: Any = None) -> None:
        """The row-level NumPyro program: the definition of the model.

        Runs under NumPyro's own ``MCMC``, ``SVI``, ``Predictive`` and ``numpyro.render_model``. Sites are named as in
        every result; the label's site is ``y`` and each observed block or column has its own name.

        Parameters
        ----------
        X : table, shape (rows, columns), optional
            Features; drawn if not given.
        y : labels, shape (rows,), optional
            Drawn if not given. A label drawn beside given features comes from the class prior alone, as the class
            stands before the features: for class probabilities use `predict_proba`, which sums over all classes.
        num_rows : int, default 1
            Rows to draw where neither X nor y is given.
        total_count : int or array, optional
            Totals of the count vectors to draw.

        Raises
        ------
        ValueError
            If the model is not bound and X and y do not both come with it.
        """
        if self.feature_inclusion is not None:
            raise ValueError(
                "the program has a parameter for every class and no subsets of features to average over: take it of "
                "the model without feature_inclusion, or average in closed form, nb.fit(model, X, y)"
            )
        model = self if self.bound else self._bind_for_program(X, y)
        if X is not None and y is not None and model._open_hyperparameter() is not None:
            model = model.resolve(model.statistics(X, y))
        model._require_numbers()
        schema = model._require_schema()
        table = None if X is None else as_table(X)
        size = table.num_rows if table is not None else len(y) if y is not None else num_rows or 1
        codes = None if y is None else encode_labels(y, size, schema.classes)
        chunks = None if table is None else [chunk for _, chunk in model.encode(table)]

        class_prior, families = model._sample_prior()
        class_prob = class_prior.prior(numpyro.sample)
        parameters = model._parameter_sites(families)
        with numpyro.plate("row", size):
            label = numpyro.sample("y", dist.Categorical(probs=jnp.asarray(class_prob)), obs=codes)
            for i, block in enumerate(model.blocks):
                cells = None if chunks is None else np.concatenate([dense(chunk[i]) for chunk in chunks])
                for j in block.members:
                    rows = {name: jnp.asarray(value)[label] for name, value in parameters[i, j].items()}
                    seen = None if cells is None else cells if j is None else cells[:, j]
                    name = block.name if j is None else str(block.labels[j])
                    name = name if name not in {"y", "row", "class", CLASS_SITE} else f"{name}_"
                    _observe(name, block, rows, seen, total_count)

    def _bind_for_program(self, X: Any, y: Any) -> Self:
        if X is None or y is None:
            raise ValueError(
                "the model does not know its columns and classes yet: run the program with X and y, or take it from a "
                "bound model, model.bind(X, y).program, or from a fit, posterior.model.program"
            )
        return self.bind(X, y)

    def _sample_prior(self) -> tuple[ClassPrior, tuple[Family, ...]]:
        """The prior, with a sample at the site of every hyperparameter that is learned."""
        if not self.hyperpriors:
            return self.class_prior, self.families
        return self.learned.given(sample_hyperparameters(self.hyperpriors))

    def _parameter_sites(self, families: Sequence[Family]) -> dict[tuple[int, int | None], dict[str, Any]]:
        """Sample every parameter at its site, by block and column."""
        names = {(site.block, site.column, site.parameter): site.name for site in self.sites}
        plate = numpyro.plate("class", len(self._require_schema().classes))
        found = {}
        for i, (block, whole) in enumerate(zip(self.blocks, families, strict=True)):
            for j in block.members:
                family = whole if j is None else whole.take((slice(None), j))

                def sample(parameter: str, distribution: dist.Distribution, i: int = i, j: int | None = j) -> Any:
                    with plate:
                        return numpyro.sample(
                            names[i, j, parameter], distribution.to_event(len(distribution.batch_shape) - 1)
                        )

                found[i, j] = family.prior(sample)
        return found

    def __repr__(self) -> str:
        told: dict[Any, list[str]] = {}
        for name, (family, columns) in self.features.items():
            likelihood, prior = family.story()
            told.setdefault((likelihood, *prior), []).append(feature_label(name, columns))
        lines = [
            f"{CLASS_SITE} ~ {class_story(self.class_concentration, self.class_probs)}",
            f"y ~ Categorical({CLASS_SITE})",
        ]
        for (likelihood, *prior), labels in list(told.items())[:STORIES]:
            lines.append(f"{', '.join(labels)} ~ {likelihood}")
            lines += [f"    {line}" for line in prior]
        if len(told) > STORIES:
            lines.append(f"and {len(told) - STORIES} more")
        if self.feature_inclusion is not None:
            told_inclusion = self.feature_inclusion
            if not isinstance(told_inclusion, dict):
                told_inclusion = format_number(told_inclusion)
            lines.append(f"each feature depends on the class with probability {told_inclusion}, else classes share it")
        wrapped = [fill(line, 96, initial_indent="  ", subsequent_indent="      ") for line in lines]
        return "\n".join(["NaiveBayes, features independent given the class:", *wrapped])


def _hyperparameter_name(feature: Any, family: Family, field_name: str) -> str:
    """Name in results; a parameter of the same name goes before."""
    between = "_prior_" if field_name in family.parameter_names() else "_"
    return f"{block_name(feature)}{between}{field_name}"


def _of_columns(blocks: Sequence[Block], field_name: str, positions: Sequence[int]) -> np.ndarray:
    """A hyperparameter of some columns, shape (classes, columns)."""
    found = {}
    for block in blocks:
        for j, position in enumerate(block.columns):
            if position in positions:
                found[position] = np.asarray(getattr(block.family, field_name))[:, j]
    return np.column_stack([found[position] for position in positions])


def _observe(name: str, block: Block, parameters: Parameters, cells: np.ndarray | None, total_count: Any) -> None:
    """Sample (or observe) the cells of a block or column; a missing cell adds nothing."""
    if block.is_vector:
        if cells is not None:
            total_count = cells.sum(axis=-1).astype(np.int64)
        elif total_count is None:
            raise ValueError(f"block {name!r} holds count vectors: give total_count, their totals, to draw them")
        numpyro.sample(name, block.family.likelihood(**parameters, total_count=total_count), obs=cells)
        return
    likelihood = block.family.likelihood(**parameters)
    if cells is not None:
        missing = np.isnan(cells)
        cells = np.where(missing, _some_value(cells), cells)
        if missing.any():
            likelihood = likelihood.mask(~missing)
        if block.has_categories:
            cells = cells.astype(np.int64)
    numpyro.sample(name, likelihood.to_event(len(likelihood.batch_shape) - 1), obs=cells)


def _some_value(cells: np.ndarray) -> float:
    """A value inside the support, to stand in for missing cells that are masked out."""
    observed = cells[~np.isnan(cells)]
    return float(observed[0]) if observed.size else 0.0
