"""The model: features that are independent given the class.

`NaiveBayes` is a description. Bound to a table it knows its `Schema` and splits into blocks, groups of columns that one
family describes with the same array shapes, so that everything below runs on whole arrays. A `Problem` is a model with
the statistics of its data, which is all that any inference reads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import scipy.sparse

from bayesnb.arrays import namespace, to_numpy
from bayesnb.families.base import ConjugateFamily, Family, Parameters, format_number
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical, dirichlet_log_evidence
from bayesnb.families.fast import draw, random_generator
from bayesnb.families.gaussian import Gaussian
from bayesnb.schema import (
    Schema,
    Table,
    as_table,
    check_cells,
    check_weights,
    encode_labels,
    learn_categories,
    learn_classes,
    warn_unseen,
)
from bayesnb.stats import ClassCounts, Statistics

__all__ = [
    "Block",
    "ClassPrior",
    "ModelParameters",
    "ModelStatistics",
    "NaiveBayes",
    "Problem",
    "draw_parameters",
    "statistics_program",
]

CLASS_SITE = "class_prob"
"""Name of the class probabilities in results."""

EVERY_COLUMN = object()
"""Stands for the name of the only feature of a model that is one family for every column."""


@dataclass(frozen=True)
class Block:
    """Columns that one family describes, with hyperparameters of one shape.

    Attributes
    ----------
    name : str
        Name of the block, or of its column.
    family : Family
        Hyperparameters spread to (classes, columns) or (classes, columns, categories).
    columns : tuple of int
        Positions in the schema.
    labels : tuple
        Names of the columns.
    by_column : bool
        Whether each column is a site of its own in results.
    """

    name: str
    family: Family
    columns: tuple[int, ...]
    labels: tuple[Any, ...]
    by_column: bool


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ModelStatistics:
    """Sufficient statistics of a table under a model: the classes' and each block's.

    Attributes
    ----------
    classes : ClassCounts
    blocks : tuple of Statistics
    """

    classes: ClassCounts
    blocks: tuple[Statistics, ...]

    def __add__(self, other: Self) -> Self:
        blocks = tuple(mine + theirs for mine, theirs in zip(self.blocks, other.blocks, strict=True))
        return type(self)(self.classes + other.classes, blocks)

    def __sub__(self, other: Self) -> Self:
        blocks = tuple(mine - theirs for mine, theirs in zip(self.blocks, other.blocks, strict=True))
        return type(self)(self.classes - other.classes, blocks)

    def __mul__(self, factor: float) -> Self:
        return type(self)(self.classes * factor, tuple(block * factor for block in self.blocks))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ClassPrior:
    """Dirichlet prior on the class probabilities, or known probabilities.

    Attributes
    ----------
    concentration : array, shape (classes,), or None where the probabilities are known
    probs : array, shape (classes,), or None where they are learned
    """

    concentration: Any
    probs: Any

    def prior(self, sample: Callable) -> Any:
        """Draw the class probabilities, or return the known ones."""
        if self.probs is not None:
            return self.probs
        return sample(CLASS_SITE, dist.Dirichlet(self.concentration))

    def update(self, counts: ClassCounts) -> "ClassPrior":
        """Posterior given the classes' weights."""
        return self if self.probs is not None else ClassPrior(self.concentration + counts.n, None)

    def mean(self) -> Any:
        """Mean of the class probabilities, shape (classes,)."""
        return self.probs if self.probs is not None else self.concentration / self.concentration.sum()

    def log_likelihood(self, prob: Any, counts: ClassCounts) -> Any:
        """Log probability of the labels, shape (...,)."""
        _, special = namespace(prob, counts.n)
        return special.xlogy(counts.n, prob).sum(axis=-1)

    def log_evidence(self, counts: ClassCounts) -> float:
        """Log probability of the labels, class probabilities integrated out."""
        if self.probs is not None:
            return float(self.log_likelihood(self.probs, counts))
        return float(dirichlet_log_evidence(self.concentration, counts.n))


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

    Raises
    ------
    TypeError, ValueError
        If a feature is not a family, a column stands in two blocks, or the class prior is not one.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.NaiveBayes({"mass": nb.Gaussian(), "island": nb.Categorical(concentration=0.5)})
    NaiveBayes, features independent given the class:
      class_prob ~ Dirichlet(1)
      class      ~ Categorical(class_prob)
      mass       ~ Normal(mean, variance)  mean ~ Normal(on the data's scale, variance / 0.1), \
variance ~ InverseGamma(1, on the data's scale)
      island     ~ Categorical(prob)       prob ~ Dirichlet(0.5)
    """

    features: dict[Any, tuple[Family, Any]]
    class_concentration: Any
    class_probs: Any
    schema: Schema | None = field(compare=False)

    def __init__(
        self,
        features: Family | Mapping[Any, Any],
        *,
        class_concentration: Any = 1.0,
        class_probs: Any = None,
        schema: Schema | None = None,
    ) -> None:
        object.__setattr__(self, "features", _read_features(features))
        object.__setattr__(self, "class_concentration", _read_class_concentration(class_concentration))
        object.__setattr__(self, "class_probs", _read_class_probs(class_probs))
        object.__setattr__(self, "schema", schema)

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
        for name in exclude:
            if name not in table.names:
                raise ValueError(f"exclude names the column {name!r}, which is not among {list(table.names)}")
        features: dict[Any, Family] = {}
        for position, name in enumerate(table.names):
            if name not in exclude:
                features[name] = _guess_family(table, position)
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
        classes : sequence, optional
            Labels that may occur, in the order wanted.
        """
        table = as_table(X)
        if not table.names:
            raise ValueError("X has no columns: give at least one")
        labels = learn_classes(y, table.num_rows) if classes is None else read_classes(classes)
        schema = Schema(table.names, table.named, labels)
        categories: dict[int, tuple] = {}
        for name, (family, columns) in self.features.items():
            positions = schema.positions(name, columns)
            if isinstance(family, Categorical):
                for position in positions:
                    declared = declared_categories(family, schema.columns[position])
                    categories[position] = learn_categories(table, position, declared, family.other)
        bound = NaiveBayes(
            self.features,
            class_concentration=self.class_concentration,
            class_probs=self.class_probs,
            schema=replace(schema, categories=categories),
        )
        _ = bound.blocks
        if self.class_probs is not None or np.ndim(self.class_concentration):
            _ = bound._spread_class_prior(ClassCounts(np.ones(len(labels))))
        return bound

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The columns in groups of one family and one array shape; needs a bound model."""
        schema = self._require_schema()
        used: dict[int, Any] = {}
        groups: dict[Any, list[Block]] = {}
        for name, (family, columns) in self.features.items():
            positions = schema.positions(name, columns)
            for position in positions:
                if position in used:
                    raise ValueError(
                        f"column {schema.columns[position]!r} stands in {used[position]!r} and in {name!r}: each column "
                        "belongs to one family"
                    )
                used[position] = name
            labels = tuple(schema.columns[position] for position in positions)
            sizes = tuple(len(schema.categories.get(position, ())) for position in positions)
            by_column = columns is None or family.cell == "category"
            for members, spread in family.spread(len(schema.classes), labels, sizes):
                block = Block(
                    _block_name(name),
                    spread,
                    tuple(positions[member] for member in members),
                    tuple(labels[member] for member in members),
                    by_column,
                )
                key = _group_key(block) if by_column else name
                groups.setdefault(key, []).append(block)
        return tuple(_join(blocks) for blocks in groups.values())

    @property
    def families(self) -> tuple[Family, ...]:
        """Family of each block."""
        return tuple(block.family for block in self.blocks)

    @property
    def class_prior(self) -> ClassPrior:
        """The prior on the class probabilities; needs a bound model whose probabilities are not "empirical"."""
        return self._spread_class_prior(None)

    def _spread_class_prior(self, counts: ClassCounts | None) -> ClassPrior:
        classes = self._require_schema().classes
        if self.class_probs is None:
            concentration = np.asarray(self.class_concentration, dtype=np.float64)
            if concentration.ndim and concentration.shape != classes.shape:
                raise ValueError(
                    f"class_concentration has shape {concentration.shape}, there are {len(classes)} classes "
                    f"{classes.tolist()}: give one number, or one per class"
                )
            return ClassPrior(np.broadcast_to(concentration, classes.shape), None)
        if isinstance(self.class_probs, str):
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
                "the model does not know its columns and classes yet: fit it, or bind it to a table with model.bind(X, y)"
            )
        return self.schema

    def resolve(self, statistics: ModelStatistics) -> Self:
        """The bound model with every default that follows the data set to the numbers used."""
        families = [
            block.family.on_scale_of(counted.pooled())
            for block, counted in zip(self.blocks, statistics.blocks, strict=True)
        ]
        blocks = tuple(replace(block, family=family) for block, family in zip(self.blocks, families, strict=True))
        class_prior = self._spread_class_prior(statistics.classes)
        features: dict[Any, tuple[Family, Any]] = {}
        for name, (_, columns) in self.features.items():
            for block in blocks:
                if not block.by_column and block.name == _block_name(name):
                    features[name] = (block.family, columns)
            for position in self._require_schema().positions(name, columns):
                for block in blocks:
                    if block.by_column and position in block.columns:
                        j = block.columns.index(position)
                        index = (slice(None), j) if block.family.cell == "category" else (slice(None), [j])
                        features[self._require_schema().columns[position]] = (block.family.take(index), None)
        resolved = type(self)(
            features,
            class_concentration=self.class_concentration if class_prior.probs is not None else class_prior.concentration,
            class_probs=class_prior.probs,
            schema=self.schema,
        )
        # The blocks keep the order of the statistics, which regrouping the resolved families might change.
        resolved.__dict__["blocks"] = blocks
        return resolved

    def statistics(self, X: Any, y: Any, *, sample_weight: Any = None) -> ModelStatistics:
        """Sufficient statistics of a table under the bound model.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels, shape (rows,)
        sample_weight : array, shape (rows,), optional

        Returns
        -------
        ModelStatistics
        """
        schema = self._require_schema()
        table = as_table(X)
        labels = encode_labels(y, table.num_rows, schema.classes)
        weights = check_weights(sample_weight, table.num_rows)
        identity = np.eye(len(schema.classes))
        total: ModelStatistics | None = None
        for rows, chunk in self.encode(table):
            membership = identity[labels[rows]] * weights[rows, None]
            blocks = tuple(
                block.family.statistics(x, membership) for block, x in zip(self.blocks, chunk, strict=True)
            )
            counted = ModelStatistics(ClassCounts(membership.sum(axis=0)), blocks)
            total = counted if total is None else total + counted
        if total is None:
            raise ValueError("X has no rows: give at least one")
        return total

    def encode(self, X: Any) -> Iterator[tuple[slice, tuple[Any, ...]]]:
        """Read a table chunk by chunk.

        Yields
        ------
        tuple of slice and tuple of array
            The rows, and for each block their cells: float64 (rows, columns) with missing cells NaN and categories as
            codes, or CSR for families that take it.
        """
        schema = self._require_schema()
        table = as_table(X)
        used = [column for block in self.blocks for column in block.columns]
        where = schema.locate(table, used)
        unseen: dict[Any, dict[Any, int]] = {}
        for rows in table.chunks(len(used)):
            chunk = []
            for block in self.blocks:
                if block.family.cell == "category":
                    x = np.column_stack(
                        [
                            schema.codes(table.values(where[column], rows), column, unseen.setdefault(label, {}))
                            for column, label in zip(block.columns, block.labels, strict=True)
                        ]
                    )
                else:
                    x = table.numbers([where[column] for column in block.columns], rows, sparse=block.family.sparse)
                    check_cells(x, block.family, block.labels, rows)
                chunk.append(x)
            yield rows, tuple(chunk)
        warn_unseen({column: values for column, values in unseen.items() if values})

    @cached_property
    def sites(self) -> tuple["Site", ...]:
        """Every parameter that results name, in the order of the blocks; needs a bound model."""
        taken = {CLASS_SITE}
        found = []
        for i, block in enumerate(self.blocks):
            for parameter in block.family.parameter_names():
                for j in range(len(block.columns)) if block.by_column else [None]:
                    owner = block.name if j is None else block.labels[j]
                    name = f"{owner}_{parameter}"
                    while name in taken:
                        name = name.replace(f"_{parameter}", f"__{parameter}")
                    taken.add(name)
                    found.append(Site(name, parameter, i, j))
        return tuple(found)

    def site_axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        """Name and labels of every axis of every site, in the order of `to_sites`.

        Returns
        -------
        dict
            For each site a tuple of (dimension, labels): ``class``, then ``<block>_column`` for a site of a whole block or
            ``<column>_category`` for a column of categories.
        """
        schema = self._require_schema()
        classes = ("class", tuple(schema.classes.tolist()))
        axes: dict[str, tuple[tuple[str, tuple], ...]] = {CLASS_SITE: (classes,)}
        for site in self.sites:
            block = self.blocks[site.block]
            if site.column is None:
                axes[site.name] = (classes, (f"{block.name}_column", block.labels))
            elif block.family.cell == "category":
                categories = schema.categories[block.columns[site.column]]
                axes[site.name] = (classes, (f"{block.labels[site.column]}_category", categories))
            else:
                axes[site.name] = (classes,)
        return axes

    def to_sites(self, parameters: "ModelParameters") -> dict[str, Any]:
        """Parameters by the name that results use.

        Returns
        -------
        dict
            ``class_prob`` of shape (..., classes) and for each block or column its parameters, of shape
            (..., classes, columns), (..., classes) or (..., classes, categories).
        """
        result = {CLASS_SITE: parameters.class_prob}
        for site in self.sites:
            value = parameters.blocks[site.block][site.parameter]
            category = self.blocks[site.block].family.cell == "category"
            result[site.name] = value if site.column is None else value[(..., site.column, *[slice(None)] * category)]
        return result

    def from_sites(self, sites: Mapping[str, Any]) -> "ModelParameters":
        """Parameters from arrays by site name; the inverse of `to_sites`.

        Raises
        ------
        ValueError
            If a site is missing or has the wrong trailing shape.
        """
        num_classes = len(self._require_schema().classes)
        known = self.class_prior.probs if self.class_probs is not None else None
        class_prob = _site_array(sites, CLASS_SITE, (num_classes,), known)
        leading = class_prob.shape[:-1]
        blocks: list[dict[str, Any]] = [{} for _ in self.blocks]
        for site in self.sites:
            block = self.blocks[site.block]
            shape = jax.tree.leaves(block.family)[0].shape
            event = shape if site.column is None else (shape[0], *shape[2:])
            value = _site_array(sites, site.name, event, None)
            if known is not None and not leading:
                leading = value.shape[: value.ndim - len(event)]
            if site.column is None:
                blocks[site.block][site.parameter] = value
            else:
                axis = value.ndim - len(event) + 1
                blocks[site.block].setdefault(site.parameter, []).append(np.expand_dims(value, axis))
        joined = tuple(
            {
                name: np.concatenate(value, axis=value[0].ndim - (2 if block.family.cell == "category" else 1))
                if isinstance(value, list)
                else value
                for name, value in parameters.items()
            }
            for block, parameters in zip(self.blocks, blocks, strict=True)
        )
        return ModelParameters(np.broadcast_to(class_prob, (*leading, num_classes)), joined)

    def log_joint(self, parameters: "ModelParameters", chunk: tuple[Any, ...]) -> np.ndarray:
        """Log density of each row and each class given parameters, shape (..., rows, classes)."""
        with np.errstate(divide="ignore"):
            total = np.log(parameters.class_prob)[..., None, :]
        for block, values, x in zip(self.blocks, parameters.blocks, chunk, strict=True):
            total = total + np.asarray(block.family.row_log_likelihood(values, x))
        return total

    def log_density(self, parameters: "ModelParameters", statistics: ModelStatistics) -> Any:
        """Log likelihood of the data behind the statistics, without terms that hold no parameter, shape (...,)."""
        total = self.class_prior.log_likelihood(parameters.class_prob, statistics.classes)
        for block, values, counted in zip(self.blocks, parameters.blocks, statistics.blocks, strict=True):
            total = total + block.family.log_likelihood(values, counted).sum(axis=(-1, -2))
        return total

    def draw_prior(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> "ModelParameters":
        """Independent draws of all parameters from the prior, shape sample_shape + (classes, ...)."""
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
        rng = random_generator(key)
        self._require_numbers()
        parameters = self.draw_prior(rng)
        labels = draw(dist.CategoricalProbs(np.broadcast_to(parameters.class_prob, (num_rows, len(parameters.class_prob)))), rng)
        codes = labels.astype(np.intp)
        rows = tuple({name: value[codes] for name, value in block.items()} for block in parameters.blocks)
        X, y = self.draw_rows(codes, rows, rng, total_count)
        return (X, y, self.to_sites(parameters)) if return_parameters else (X, y)

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
        with jax.enable_x64(True):
            for block, values in zip(self.blocks, parameters, strict=True):
                size = {"total_count": self._total_count(total_count, len(codes))} if _is_vector(block) else {}
                cells.append(draw(block.family.likelihood(**values, **size), rng))
        return self._to_table(cells), self._require_schema().classes[codes]

    def _total_count(self, total_count: Any, num_rows: int) -> np.ndarray:
        if total_count is None:
            raise ValueError(
                "the model has count vectors, whose total it does not describe: give total_count, the length of each "
                "document (a number or one per row)"
            )
        return np.broadcast_to(np.asarray(total_count, dtype=np.int64), (num_rows,))

    def _to_table(self, cells: Sequence[np.ndarray]) -> Any:
        """Cells of each block as a table like the one the model is bound to, with its categories."""
        schema = self._require_schema()
        columns: dict[int, np.ndarray] = {}
        for block, x in zip(self.blocks, cells, strict=True):
            for j, position in enumerate(block.columns):
                if block.family.cell == "category":
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

    def _require_numbers(self) -> None:
        for block in self.blocks:
            for name, value in block.family.hyperparameters().items():
                if value is None:
                    raise ValueError(
                        f"{type(block.family).__name__}({name}=...) of {block.name!r} follows the scale of the data: give "
                        "a number, or take the model of a fit (posterior.model)"
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
            Drawn if not given. A label drawn beside given features comes from the class prior alone, as the class stands
            before the features: for class probabilities use `predict_proba`, which sums over all classes.
        num_rows : int, default 1
            Rows to draw where neither X nor y is given.
        total_count : int or array, optional
            Totals of the count vectors to draw.

        Raises
        ------
        ValueError
            If the model is not bound and X and y do not both come with it.
        """
        model = self if self.bound else self._bind_for_program(X, y)
        if X is not None and any(None in block.family.hyperparameters().values() for block in model.blocks):
            model = model.resolve(model.statistics(X, y))
        model._require_numbers()
        schema = model._require_schema()
        table = None if X is None else as_table(X)
        size = table.num_rows if table is not None else len(y) if y is not None else num_rows or 1
        codes = None if y is None else encode_labels(y, size, schema.classes)
        chunks = None if table is None else [chunk for _, chunk in model.encode(table)]

        class_prob = model.class_prior.prior(numpyro.sample)
        parameters = model._parameter_sites()
        with numpyro.plate("row", size):
            label = numpyro.sample("y", dist.Categorical(probs=jnp.asarray(class_prob)), obs=codes)
            for i, block in enumerate(model.blocks):
                cells = None if chunks is None else np.concatenate([_dense(chunk[i]) for chunk in chunks])
                for j in range(len(block.columns)) if block.by_column else [None]:
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

    def _parameter_sites(self) -> dict[tuple[int, int | None], dict[str, Any]]:
        """Sample every parameter at its site, by block and column."""
        names = {(site.block, site.column, site.parameter): site.name for site in self.sites}
        plate = numpyro.plate("class", len(self._require_schema().classes))
        found = {}
        for i, block in enumerate(self.blocks):
            for j in range(len(block.columns)) if block.by_column else [None]:
                family = block.family if j is None else block.family.take((slice(None), j))

                def sample(parameter: str, distribution: dist.Distribution, i: int = i, j: int | None = j) -> Any:
                    with plate:
                        return numpyro.sample(names[i, j, parameter], distribution.to_event(len(distribution.batch_shape) - 1))

                found[i, j] = family.prior(sample)
        return found

    def __repr__(self) -> str:
        lines = [
            (CLASS_SITE, *_class_story(self.class_concentration, self.class_probs)),
            ("class", f"Categorical({CLASS_SITE})", ""),
            *((_label(name, columns), *family.story()) for name, (family, columns) in self.features.items()),
        ]
        width = max(len(label) for label, _, _ in lines)
        likelihood = max(len(text) for _, text, prior in lines if prior or len(lines) == 2)
        body = [f"  {label:<{width}} ~ {text:<{likelihood if prior else 0}}  {prior}".rstrip() for label, text, prior in lines]
        return "\n".join(["NaiveBayes, features independent given the class:", *body])


@dataclass(frozen=True)
class Site:
    """A named parameter of results: of a whole block, or of one of its columns."""

    name: str
    parameter: str
    block: int
    column: int | None


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ModelParameters:
    """Values of all parameters; any leading axes.

    Attributes
    ----------
    class_prob : array, shape (..., classes)
    blocks : tuple of dict
        For each block its parameters, shape (..., classes, columns) or (..., classes, columns, categories).
    """

    class_prob: Any
    blocks: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Problem:
    """What inference is given: a bound model and the statistics of its data.

    Attributes
    ----------
    model : NaiveBayes
        Bound, with hyperparameters as the user left them.
    statistics : ModelStatistics
    """

    model: NaiveBayes
    statistics: ModelStatistics

    @cached_property
    def resolved(self) -> NaiveBayes:
        """The model with every default set to the numbers used."""
        return self.model.resolve(self.statistics)

    @property
    def conjugate(self) -> bool:
        """Whether every family has a closed form."""
        return all(isinstance(family, ConjugateFamily) for family in self.model.families)

    @cached_property
    def posterior_families(self) -> tuple[ConjugateFamily, ...]:
        """Each block's family given the data; needs conjugate families."""
        return tuple(
            family.update(counted)  # type: ignore[attr-defined]
            for family, counted in zip(self.resolved.families, self.statistics.blocks, strict=True)
        )

    @property
    def posterior_classes(self) -> ClassPrior:
        """The class prior given the data."""
        return self.resolved.class_prior.update(self.statistics.classes)

    @cached_property
    def log_evidence(self) -> float:
        """Log density of the data, every parameter integrated out; needs conjugate families."""
        total = self.resolved.class_prior.log_evidence(self.statistics.classes)
        for family, counted in zip(self.resolved.families, self.statistics.blocks, strict=True):
            total += float(np.sum(family.log_evidence(counted)))  # type: ignore[attr-defined]
        return total

    def add(self, statistics: ModelStatistics) -> "Problem":
        """The problem with more data."""
        return Problem(self.model, self.statistics + statistics)

    def take_away(self, statistics: ModelStatistics) -> "Problem":
        """The problem with data taken away.

        Raises
        ------
        ValueError
            If these data cannot have been among the problem's.
        """
        left = self.statistics - statistics
        classes = self.model.schema.classes  # type: ignore[union-attr]
        _refuse(left.classes.n < -_tolerance(self.statistics.classes.n), lambda c: f"class {classes.tolist()[c]!r}")
        blocks = []
        for block, before, after in zip(self.model.blocks, self.statistics.blocks, left.blocks, strict=True):
            cleaned = jax.tree.map(_clear_rounding, after, before)

            def cell(c: int, j: int = 0, block: Block = block) -> str:
                column = block.name if _is_vector(block) else block.labels[j]
                return f"column {column!r} in class {classes.tolist()[c]!r}"

            _refuse(~np.asarray(block.family.possible(cleaned)), cell)
            blocks.append(cleaned)
        return Problem(self.model, ModelStatistics(ClassCounts(_clear_rounding(left.classes.n, self.statistics.classes.n)), tuple(blocks)))


def draw_parameters(
    class_prior: ClassPrior,
    families: Sequence[Family],
    rng: np.random.Generator,
    sample_shape: tuple[int, ...] = (),
) -> ModelParameters:
    """Independent draws of all parameters from priors (or posteriors, which have their form)."""

    def sample(_: str, distribution: dist.Distribution) -> np.ndarray:
        # A distribution given a parameter already drawn has the sample shape in its batch shape.
        extra = sample_shape if len(distribution.batch_shape) <= depth else ()
        return draw(distribution, rng, extra)

    with jax.enable_x64(True):
        depth = 1
        class_prob = class_prior.prior(lambda name, distribution: draw(distribution, rng, sample_shape))
        blocks = []
        for family in families:
            leaf = np.asarray(jax.tree.leaves(family)[0])
            depth = leaf.ndim
            blocks.append(to_numpy(family.prior(sample)))
    return ModelParameters(np.broadcast_to(class_prob, (*sample_shape, np.shape(class_prob)[-1])), tuple(blocks))


def statistics_program(class_prior: ClassPrior, families: Sequence[Family], statistics: ModelStatistics) -> None:
    """The model's density given statistics, as a NumPyro program; `NaiveBayes.program` up to a constant.

    Sites are ``class_prob`` and ``<block>.<parameter>`` with the block's position, arrays of a whole block.
    """
    class_prob = jnp.asarray(class_prior.prior(numpyro.sample))
    numpyro.factor("classes", class_prior.log_likelihood(class_prob, statistics.classes))
    for i, (family, counted) in enumerate(zip(families, statistics.blocks, strict=True)):

        def sample(name: str, distribution: dist.Distribution, i: int = i) -> Any:
            return numpyro.sample(f"{i}.{name}", distribution.to_event(len(distribution.batch_shape)))

        values = family.prior(sample)
        numpyro.factor(f"{i}", family.log_likelihood(values, counted).sum())


def _block_name(name: Any) -> str:
    return "x" if name is EVERY_COLUMN else str(name)


def _label(name: Any, columns: Any) -> str:
    if name is EVERY_COLUMN:
        return "every column"
    if columns is None:
        return str(name)
    if isinstance(columns, slice):
        return f"{name}[{columns.start or 0}:{'' if columns.stop is None else columns.stop}]"
    shown = ", ".join(str(column) for column in columns[:4]) + (", ..." if len(columns) > 4 else "")
    return f"{name}[{shown}]"


def _class_story(concentration: Any, probs: Any) -> tuple[str, str]:
    if probs is None:
        return f"Dirichlet({format_number(concentration)})", ""
    if isinstance(probs, str):
        return "the frequencies of the data, known", ""
    if isinstance(probs, Mapping):
        return f"{dict(probs)}, known", ""
    return f"{format_number(probs)}, known", ""


def _read_features(features: Any) -> dict[Any, tuple[Family, Any]]:
    if isinstance(features, Family):
        return {EVERY_COLUMN: (features, slice(None))}
    if isinstance(features, type) and issubclass(features, Family):
        raise TypeError(f"features is the class {features.__name__}: give an instance, {features.__name__}()")
    if not isinstance(features, Mapping):
        raise TypeError(
            f"features is a {type(features).__name__}: give a family such as nb.Bernoulli(), or a mapping from columns to "
            "families"
        )
    if not features:
        raise ValueError("features names no column: give at least one")
    result: dict[Any, tuple[Family, Any]] = {}
    for name, value in features.items():
        family, columns = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        if isinstance(family, type) and issubclass(family, Family):
            raise TypeError(f"{name!r} has the class {family.__name__}: give an instance, {family.__name__}()")
        if not isinstance(family, Family):
            raise TypeError(
                f"{name!r} has {value!r}, which is neither a family nor (family, columns): write "
                f"{{{name!r}: nb.Gaussian()}} or {{{name!r}: (nb.Gaussian(), [columns])}}"
            )
        if columns is not None and not isinstance(columns, slice):
            columns = [columns] if isinstance(columns, str | int) else list(columns)
            if not columns:
                raise ValueError(f"block {name!r} names no column: give at least one")
        result[name] = (family, columns)
    return result


def _read_class_concentration(value: Any) -> Any:
    concentration = np.asarray(value, dtype=np.float64)
    if concentration.ndim > 1 or not (np.isfinite(concentration) & (concentration > 0)).all():
        raise ValueError(f"class_concentration is {value!r}: give a positive number, or one per class")
    return float(concentration) if concentration.ndim == 0 else concentration


def _read_class_probs(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        if value != "empirical":
            raise ValueError(f'class_probs is {value!r}: give the probabilities, or "empirical" for the data\'s frequencies')
        return value
    probs = np.asarray(list(value.values()) if isinstance(value, Mapping) else value, dtype=np.float64)
    if probs.ndim != 1 or not (np.isfinite(probs) & (probs >= 0)).all():
        raise ValueError(f"class_probs is {value!r}: give a probability, zero or more, for each class")
    if not np.isclose(probs.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"class_probs sum to {probs.sum():.10g}, not to one: divide them by their sum")
    return dict(value) if isinstance(value, Mapping) else probs


def read_classes(classes: Any) -> np.ndarray:
    """Labels in the order given."""
    labels = learn_classes(classes, len(classes))
    given = list(classes)
    if len(labels) != len(given):
        raise ValueError(f"classes {given} names a class twice")
    order = {label: position for position, label in enumerate(given)}
    return labels[np.argsort([order[label] for label in labels.tolist()], kind="stable")]


def declared_categories(family: Categorical, column: Any) -> tuple | None:
    """Categories that the model lists for a column."""
    if family.categories is None:
        return None
    if family.categories and all(isinstance(entry, tuple) and len(entry) == 2 for entry in family.categories):
        return dict(family.categories).get(column)
    return tuple(family.categories)


def _guess_family(table: Table, position: int) -> Family:
    kind = table.kind(position)
    if kind == "boolean":
        return Bernoulli()
    if kind == "category":
        return Categorical()
    cells = table.numbers([position], slice(None))
    cells = cells[~np.isnan(cells)]
    return Bernoulli() if cells.size and np.isin(cells, (0.0, 1.0)).all() else Gaussian()


def _is_vector(block: Block) -> bool:
    return block.family.cell == "count vector"


def _group_key(block: Block) -> Any:
    """Columns may stand side by side in arrays if their families have the same fields of the same shape."""
    leaves, structure = jax.tree.flatten(block.family)
    return structure, tuple(leaf.shape[2:] for leaf in leaves)


def _join(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    return Block(
        blocks[0].name,
        jax.tree.map(lambda *leaves: np.concatenate(leaves, axis=1), *[block.family for block in blocks]),
        tuple(column for block in blocks for column in block.columns),
        tuple(label for block in blocks for label in block.labels),
        by_column=True,
    )


def _site_array(sites: Mapping[str, Any], name: str, event: tuple[int, ...], known: Any) -> np.ndarray:
    if name not in sites:
        if known is not None:
            return np.asarray(known)
        raise ValueError(f"no values for {name!r}: there are {sorted(map(str, sites))}")
    value = np.asarray(sites[name], dtype=np.float64)
    if value.shape[value.ndim - len(event) :] != event or value.ndim < len(event):
        raise ValueError(f"{name!r} has shape {value.shape}, which does not end in {event}")
    return value


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if scipy.sparse.issparse(x) else x


def _observe(name: str, block: Block, parameters: Parameters, cells: np.ndarray | None, total_count: Any) -> None:
    """Sample (or observe) the cells of a block or column; a missing cell adds nothing."""
    if _is_vector(block):
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
    numpyro.sample(name, likelihood.to_event(len(likelihood.batch_shape) - 1), obs=cells)


def _some_value(cells: np.ndarray) -> float:
    """A value inside the support, to stand in for missing cells that are masked out."""
    observed = cells[~np.isnan(cells)]
    return float(observed[0]) if observed.size else 0.0


def _tolerance(before: Any) -> Any:
    return 1e-11 * np.abs(before)


def _clear_rounding(after: Any, before: Any) -> Any:
    """Differences that are only rounding become zero."""
    return np.where(np.abs(after) <= _tolerance(before), 0.0, after)


def _refuse(impossible: np.ndarray, where: Callable[..., str]) -> None:
    if impossible.any():
        index = tuple(int(axis[0]) for axis in np.nonzero(impossible))
        raise ValueError(
            f"these rows were never among the data: without them, {where(*index)} would have statistics that no table has; "
            "forget only rows that were given to fit or update"
        )
