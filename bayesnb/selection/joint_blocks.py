"""Evidences of joint blocks of columns."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from bayesnb.core.checking import listed
from bayesnb.core.deferred import in_float64, is_distribution
from bayesnb.data.read import Rows
from bayesnb.families.categories import Bernoulli, Categorical, dirichlet_log_evidence
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, JointFamily
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.hyperparameters import format_number, kind_of_density, support_of
from bayesnb.families.joint_categorical import MOST, JointCategorical, default_concentration
from bayesnb.families.moments import Scatter, scatter
from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.model.blocks import EVERY_COLUMN, declared_categories
from bayesnb.model.bound import BoundModel
from bayesnb.model.problem import Problem
from bayesnb.selection.features import block_label

# --------------------------------------------------------------------------------------------------
# The parts of a model that may be merged: single columns, and joint blocks; and their cells
# --------------------------------------------------------------------------------------------------

JOINT: dict[type[Family], type[Family]] = {
    Gaussian: MultivariateGaussian,
    MultivariateGaussian: MultivariateGaussian,
    Bernoulli: JointCategorical,
    Categorical: JointCategorical,
    JointCategorical: JointCategorical,
}
"""The family of a joint block of the columns of a family, where these have its prior."""


@dataclass(frozen=True)
class Part:
    """A column, or the columns of a joint block.

    Attributes
    ----------
    columns : tuple of int
        Positions in the schema.
    names : tuple
        Names of the columns.
    joint : type
        The family of a joint block of the columns; parts that have the same may be merged.
    log_evidence : float
        Log density of the cells given the labels, the parameters integrated out.
    given, own : Family or None
        The family as the user gave it, and that of these columns with numbers; None for parts that were merged.
    """

    columns: tuple[int, ...]
    names: tuple[Any, ...]
    joint: type[Family]
    log_evidence: float
    given: Any = None
    own: Any = None

    @property
    def density(self) -> bool:
        """Whether it is a column of measurements whose family is not `Gaussian`."""
        return self.given is not None and type(self.given) not in JOINT

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def label(self) -> str:
        """Name of a block of the columns."""
        return block_label(self.names)


@dataclass(frozen=True)
class Cells:
    """Cells of the rows of positive weight, their classes and weights.

    Attributes
    ----------
    by_column : dict
        By position, the cells of a column; categories are codes, and missing cells NaN.
    codes : array of int, shape (rows,)
        Position of each row's class.
    weights : array, shape (rows,)
    num_classes : int
    """

    by_column: Mapping[int, np.ndarray]
    codes: np.ndarray
    weights: np.ndarray
    num_classes: int

    @cached_property
    def membership(self) -> np.ndarray:
        """Weight of each row in each class, shape (rows, classes)."""
        return np.eye(self.num_classes)[self.codes] * self.weights[:, None]

    @cached_property
    def lacking(self) -> frozenset[int]:
        """The columns with missing cells."""
        return frozenset(column for column, x in self.by_column.items() if np.isnan(x).any())

    def of(self, columns: Sequence[int]) -> np.ndarray:
        """Cells of some columns, shape (rows, columns)."""
        return np.column_stack([self.by_column[column] for column in columns])


def cells_of(model: BoundModel, rows: Rows) -> Cells:
    """The cells, labels and weights of the rows of positive weight."""
    kept = rows.weights > 0
    # The problem has warned of values that are not among the categories.
    found = zip(model.blocks, model.read(rows.table).whole(warn=False), strict=True)
    by_column = {column: x[kept, j] for block, x in found for j, column in enumerate(block.columns)}
    return Cells(by_column, rows.codes[kept], rows.weights[kept], len(rows.classes))


@dataclass(frozen=True)
class Blocks(ABC):
    """Columns of one kind, and the joint blocks that they may have.

    Attributes
    ----------
    cells : Cells
    """

    cells: Cells

    @abstractmethod
    def family(self, columns: Sequence[int]) -> Family:
        """The family of a block of these columns, with the hyperparameters that they have in the model."""

    @abstractmethod
    def prior(self, columns: Sequence[int]) -> ConjugateFamily | None:
        """The family with numbers for every hyperparameter, for all rows; None for a block that cannot be."""

    @abstractmethod
    def log_evidence_of_complete(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """As `log_evidence`, for columns without missing cells."""

    def log_evidence(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """Log evidence of the block of each pair of parts, shape (pairs,); -inf for a block that cannot be."""
        found = np.empty(len(pairs))
        columns = [tuple(sorted(first.columns + second.columns)) for first, second in pairs]
        complete = [k for k, of_block in enumerate(columns) if self.cells.lacking.isdisjoint(of_block)]
        found[complete] = self.log_evidence_of_complete([pairs[k] for k in complete])
        for k in set(range(len(pairs))).difference(complete):
            found[k] = self.log_evidence_with_gaps(columns[k])
        return found

    def log_evidence_with_gaps(self, columns: Sequence[int]) -> float:
        """Log density of the cells of a block as a fit describes them; -inf for a block that cannot be.

        A fit counts the rows that lack no cell. The others have the predictive density of their cells given these.
        """
        prior = self.prior(columns)
        if prior is None:
            return -np.inf
        x, membership = self.cells.of(columns), self.cells.membership
        gaps = np.isnan(x).any(axis=1)
        counted: Any = prior.statistics(x[~gaps], membership[~gaps])
        predicted = prior.update(counted).row_log_predictive(x[gaps])
        return float(np.sum(prior.log_evidence(counted)) + np.sum(membership[gaps] * predicted))


@in_float64
def mergeable_parts(problem: Problem, only: Sequence[Any] | None) -> list[Part]:
    """The parts of a model that may be merged, with their evidences.

    Parameters
    ----------
    problem : Problem
    only : sequence or None
        Names of the columns that may be merged; None means all.

    Raises
    ------
    ValueError
        If a hyperparameter of a family that has joint blocks is learned, or a column that is named does not exist, has
        a family without joint blocks, or is named without the others of its joint block.
    """
    schema, features = problem.model.schema, problem.model.features
    for name, (family, _) in features.items():
        for key in _learned_names(family) if type(family) in JOINT else []:
            where = "every column" if name is EVERY_COLUMN else repr(name)
            raise ValueError(
                f"{where} has {family.family_name}({key}=...), which is learned, and evidences of blocks have "
                f"a closed form for numbers only: give {key} a number"
            )
    found: dict[int, tuple[float, Any]] = {}
    for block, counted in zip(problem.resolved.blocks, problem.statistics.blocks, strict=True):
        own: Any = block.family
        if _has_joint_blocks(own):
            for j, log_evidence in enumerate(np.asarray(own.log_evidence(counted)).sum(axis=0).tolist()):
                found[block.columns[j]] = log_evidence, own if block.is_joint else own.take((slice(None), [j]))
    parts = []
    for name, positions in schema.positions_of(features).items():
        given = features[name][0]
        if _has_joint_blocks(given):
            for columns in (
                [tuple(positions)] if isinstance(given, JointFamily) else [(position,) for position in positions]
            ):
                names = tuple(schema.columns[column] for column in columns)
                joint = JOINT.get(type(given), MultivariateGaussian)
                log_evidence, own = found[columns[0]]
                parts.append(Part(columns, names, joint, log_evidence, given, own))
    if only is None:
        return parts
    named = set(schema.positions("columns", only))
    family_of = {column: block.family for block in problem.model.blocks for column in block.columns}
    for position in sorted(named - {column for part in parts for column in part.columns}):
        name = schema.columns[position]
        if position not in family_of:
            raise ValueError(f"columns names {name!r}, which is not in the model: leave it out")
        raise ValueError(
            f"columns names {name!r}, which is {family_of[position].family_name}, a family without joint blocks: "
            "leave it out, or give it nb.Gaussian(), nb.Categorical() or nb.Bernoulli() if it is one of these"
        )
    for part in parts:
        if 0 < len(named.intersection(part.columns)) < part.width:
            raise ValueError(
                f"columns names some of the columns {listed(part.names)}, and these are one joint block: name all of "
                "them or none"
            )
    return [part for part in parts if named.issuperset(part.columns)]


def _learned_names(family: Family) -> list[str]:
    """Names of the hyperparameters that are learned."""
    return [name for name, value in family.hyperparameters().items() if is_distribution(value)]


def _has_joint_blocks(family: Family) -> bool:
    """Whether columns of a family may be merged: it has joint blocks, or its evidence compares with a Gaussian's.

    The latter are densities of the same number.
    """
    if type(family) in JOINT:
        return True
    alone = isinstance(family, ConjugateFamily) and family.cell == "number" and not isinstance(family, JointFamily)
    return alone and kind_of_density(support_of(family)) == "as a measurement" and not _learned_names(family)


def _require_same_prior(parts: Sequence[Part], what: str, values: Sequence[Any]) -> None:
    """Raise ValueError for parts that differ in what a joint block has one of: numbers of the classes, or a text."""
    for part, value in zip(parts, values, strict=True):
        text = isinstance(value, str)
        if value == values[0] if text else np.allclose(value, values[0], rtol=1e-12, atol=0.0):
            continue
        mine, theirs = (one if text else format_number(np.ravel(one)) for one in (values[0], value))
        raise ValueError(
            f"columns {listed(parts[0].names)} and {listed(part.names)} differ in {what} ({mine} and {theirs}), and a "
            "joint block has the same for all its columns: give both the same, or name the columns that may be merged, "
            "columns=[...]"
        )


def _shortest(values: np.ndarray) -> Any:
    """A hyperparameter (classes, columns) as one number or (columns,) where that says the same."""
    values = np.asarray(values)
    if (values == values.flat[0]).all():
        return float(values.flat[0])
    return values[0] if (values == values[:1]).all() else values


# --------------------------------------------------------------------------------------------------
# Joint blocks of real numbers: the evidence of every block from one scatter matrix for each class
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _NumberBlocks(Blocks):
    """The columns of real numbers that may share a block.

    A block of any of them has the marginal of one prior of them all. The marginal of an inverse Wishart distribution of
    D columns and df degrees of freedom is that of p columns and df - D + p degrees of freedom, with their rows and
    columns of the scale matrix.

    Attributes
    ----------
    columns : tuple of int
        All columns.
    statistics : Scatter
        Of all columns; those with missing cells have no meaning.
    of_all : MultivariateGaussian
        Of all columns, with numbers for every hyperparameter.
    follows : set of str
        Hyperparameters that follow the data.
    """

    columns: tuple[int, ...]
    statistics: Scatter
    of_all: MultivariateGaussian
    follows: set[str]

    def log_evidence_of_complete(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """Log evidence of the block of each pair of parts, shape (pairs,)."""
        found, width = np.empty(len(pairs)), np.array([first.width + second.width for first, second in pairs])
        for members in (np.flatnonzero(width == one).tolist() for one in np.unique(width)):
            found[members] = self._log_evidence_of([pairs[k] for k in members])
        return found

    def _log_evidence_of(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """Log evidence of blocks of one width, shape (pairs,)."""
        places, whole = self._places([(*first.columns, *second.columns) for first, second in pairs]), self.statistics
        counted = Scatter(whole.n, _by_block(whole.mean, places), _cut_matrices(whole.scatter, places))
        try:
            return np.asarray(self._marginal(places).log_evidence(counted)).sum(axis=(-1, -2))
        except ValueError as error:
            if len(pairs) > 1:
                return np.concatenate([self._log_evidence_of([pair]) for pair in pairs])
            ((first, second),) = pairs
            raise ValueError(f"columns {listed(first.names + second.names)}: {error}") from None

    def _places(self, blocks: Sequence[Sequence[int]]) -> np.ndarray:
        place = {column: j for j, column in enumerate(self.columns)}
        return np.array([[place[column] for column in columns] for columns in blocks])

    def _marginal(self, blocks: np.ndarray) -> MultivariateGaussian:
        """The prior of blocks of one width; a block's hyperparameters have an axis of blocks before the classes."""
        prior = self.of_all
        df = prior.df - len(self.columns) + blocks.shape[-1]
        return MultivariateGaussian(_by_block(prior.loc, blocks), prior.kappa, df, _cut_matrices(prior.scale, blocks))

    def family(self, columns: Sequence[int]) -> MultivariateGaussian:
        prior = self.prior(columns)
        scale = prior.scale
        return MultivariateGaussian(
            loc=None if "loc" in self.follows else _shortest(prior.loc),
            kappa=_shortest(prior.kappa),
            df=None if (prior.df == len(columns) + 1).all() else _shortest(prior.df),
            scale=None if "scale" in self.follows else scale[0] if (scale == scale[:1]).all() else scale,
        )

    def prior(self, columns: Sequence[int]) -> MultivariateGaussian:
        prior = self._marginal(self._places([columns]))
        return replace(prior, loc=prior.loc[0], scale=prior.scale[0])


def _by_block(values: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Values (classes, columns) as (blocks, classes, width)."""
    return np.moveaxis(values[:, blocks], 1, 0)


def _cut_matrices(values: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Matrices (classes, columns, columns) as (blocks, classes, width, width)."""
    return np.moveaxis(values[:, blocks[:, :, None], blocks[:, None, :]], 1, 0)


def _number_blocks(problem: Problem, parts: Sequence[Part], cells: Cells) -> _NumberBlocks:
    """The cells and the prior of the parts that are real numbers.

    Raises
    ------
    ValueError
        If two parts have priors that no joint block has.
    """
    columns = tuple(column for part in parts for column in part.columns)
    given = [part for part in parts if not part.density]
    own = [_as_multivariate(part.own) for part in given]
    # In a block of one column df is twice the concentration of a Gaussian.
    concentrations = [(family.df - part.width + 1) / 2 for part, family in zip(given, own, strict=True)]
    _require_same_prior(given, "kappa", [family.kappa for family in own])
    _require_same_prior(given, "concentration", concentrations)
    for what, told in (("loc", "loc"), ("scale", "rate")):
        follow = ["from the data" if what in _follows(part) else "a number" for part in given]
        _require_same_prior(given, told, follow)
    like = Gaussian(kappa=own[0].kappa, concentration=concentrations[0]) if own else Gaussian()
    normal = [_prior_of_column(cells, part, like) if part.density else _as_multivariate(part.own) for part in parts]
    scale = np.stack([block_diag(*of_class) for of_class in zip(*(family.scale for family in normal), strict=True)])
    loc = np.concatenate([family.loc for family in normal], axis=1)
    of_all = MultivariateGaussian(loc, normal[0].kappa, normal[0].df - parts[0].width + len(columns), scale)
    # Blocks with missing cells do not use this scatter matrix.
    statistics = scatter(np.nan_to_num(cells.of(columns)), cells.membership)
    return _NumberBlocks(cells, columns, statistics, of_all, _follows(parts[0]))


def joins_densities(parts: Sequence[Part]) -> bool:
    """Whether the priors of the parts that are Gaussian follow the data, as those of other columns would."""
    return all(len(_follows(part)) == 2 for part in parts if part.joint is MultivariateGaussian)


def _follows(part: Part) -> set[str]:
    """Which of loc and scale follow the data."""
    scale = {Gaussian: "rate", MultivariateGaussian: "scale"}.get(type(part.given))
    names = {"loc": "loc", "scale": scale} if scale else {}
    return {"loc", "scale"} - {what for what, name in names.items() if getattr(part.given, name) is not None}


def _prior_of_column(cells: Cells, part: Part, like: Gaussian) -> MultivariateGaussian:
    """The prior of a column that is not Gaussian in the model, with kappa and concentration of those that are."""
    ((_, family),) = like.spread(cells.num_classes, part.columns, ())
    return _as_multivariate(family.on_scale_of(family.statistics(cells.of(part.columns), cells.membership).pooled()))


def _as_multivariate(family: Any) -> MultivariateGaussian:
    """The family, a `Gaussian` as a `MultivariateGaussian` of one column."""
    if isinstance(family, MultivariateGaussian):
        return family
    return MultivariateGaussian(family.loc, family.kappa, 2 * family.concentration, 2 * family.rate[..., None])


# --------------------------------------------------------------------------------------------------
# Joint blocks of categories: the evidence of every block from counts of combinations
# --------------------------------------------------------------------------------------------------

ZERO_AND_ONE = (0, 1)
"""Categories of a `Bernoulli` column."""

TABLE_CELLS = 2**22
"""Largest table of counts that is filled; with more entries, combinations are sorted."""


@dataclass(frozen=True)
class _CategoryBlocks(Blocks):
    """The columns of categories that may share a block.

    Attributes
    ----------
    names : dict
        Of the columns, by position.
    categories : dict
        By position, the categories of a column.
    given : dict
        By position, the categories that the model lists for a column, or None.
    other : bool
        Whether all other values share one more category.
    total : array of shape (classes, 1), or None
        Prior weight of all categories of a column together; None for the default.
    """

    names: Mapping[int, Any]
    categories: Mapping[int, tuple]
    given: Mapping[int, tuple | None]
    other: bool
    total: np.ndarray | None
    _codes: dict[tuple[int, ...], tuple[np.ndarray, int]] = field(repr=False)
    """For given columns, the code of each row's combination and the number of codes, those of observed ones."""

    def log_evidence_of_complete(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """Log evidence of the block of each pair of parts, shape (pairs,); -inf beyond a million combinations."""
        return np.array([self._log_evidence_of(first.columns, second.columns) for first, second in pairs])

    def _log_evidence_of(self, first: tuple[int, ...], second: tuple[int, ...]) -> float:
        sizes = tuple(sorted(self._sizes((*first, *second))))
        number = math.prod(sizes)
        if number > MOST:
            return -np.inf
        count = self._count(first, second)
        shown = count.shape[-1]
        prior = np.repeat(self._concentration(sizes), shown, axis=-1)
        if shown < number:
            # The combinations that no row shows are one entry, by the aggregation property of the Dirichlet.
            prior = np.append(prior, prior[:, :1] * (number - shown), axis=-1)
            count = np.append(count, np.zeros((len(count), 1)), axis=-1)
        return float(np.sum(dirichlet_log_evidence(prior, count)))

    def _sizes(self, columns: Sequence[int]) -> tuple[int, ...]:
        return tuple(len(self.categories[column]) for column in columns)

    def prior(self, columns: Sequence[int]) -> JointCategorical | None:
        sizes = self._sizes(columns)
        if math.prod(sizes) > MOST:
            return None
        ((_, family),) = self.family(columns).spread(self.cells.num_classes, tuple(columns), sizes)
        x = self.cells.of(columns)
        whole = ~np.isnan(x).any(axis=1)
        return family.on_scale_of(family.statistics(x[whole], self.cells.membership[whole]).pooled())

    def _concentration(self, sizes: tuple[int, ...]) -> np.ndarray:
        """Prior weight of each combination of columns with these numbers of categories, shape (classes, 1)."""
        if self.total is not None:
            return self.total / math.prod(sizes)
        return np.full((self.cells.num_classes, 1), default_concentration(sizes))

    def _count(self, first: tuple[int, ...], second: tuple[int, ...]) -> np.ndarray:
        """Weight of the rows of each combination of two parts, shape (classes, combinations)."""
        (left, num_left), (right, num_right) = self._codes_of(first), self._codes_of(second)
        code, number = left * num_right + right, num_left * num_right
        if self.cells.num_classes * number > TABLE_CELLS:
            shown, code = np.unique(code, return_inverse=True)
            number = len(shown)
        count = np.bincount(
            self.cells.codes * number + code, self.cells.weights, minlength=self.cells.num_classes * number
        )
        return count.reshape(self.cells.num_classes, number).astype(np.float64)

    def _codes_of(self, columns: tuple[int, ...]) -> tuple[np.ndarray, int]:
        if columns not in self._codes:
            code = np.zeros(len(self.cells.codes), dtype=np.intp)
            for column in columns:
                own, number = self._codes[(column,)]
                code = code * number + own
            shown, code = np.unique(code, return_inverse=True)
            self._codes[columns] = code, len(shown)
        return self._codes[columns]

    def family(self, columns: Sequence[int]) -> JointCategorical:
        categories = {self.names[column]: self.given[column] for column in columns if self.given[column] is not None}
        concentration = None if self.total is None else _shortest(self._concentration(self._sizes(columns)))
        return JointCategorical(concentration, categories or None, self.other)


def _category_blocks(problem: Problem, parts: Sequence[Part], cells: Cells) -> _CategoryBlocks:
    """The cells and the prior of the parts that are categories.

    Raises
    ------
    ValueError
        If the columns have hyperparameters that no joint block has.
    """
    names = {column: name for part in parts for column, name in zip(part.columns, part.names, strict=True)}
    families = {column: part.given for part in parts for column in part.columns}
    categories = {column: problem.model.schema.categories.get(column, ZERO_AND_ONE) for column in names}
    other = [part.given.cell == "category" and part.given.other for part in parts]
    _require_same_prior(parts, "the category for all other values", [f"other={value}" for value in other])
    default, totals = all(_has_default(part) for part in parts), []
    if not default:
        totals = [_total(part) for part in parts]
        _require_same_prior(parts, "the prior weight of all categories together", totals)
    given = {
        column: declared_categories(family, names[column]) if family.cell == "category" else ZERO_AND_ONE
        for column, family in families.items()
    }
    # These codes do not count blocks with missing cells.
    codes: dict[tuple[int, ...], tuple[np.ndarray, int]] = {}
    codes |= {(j,): (np.nan_to_num(cells.by_column[j]).astype(np.intp), len(categories[j])) for j in names}
    return _CategoryBlocks(cells, names, categories, given, other[0], None if default else totals[0], codes)


def _has_default(part: Part) -> bool:
    if isinstance(part.given, JointCategorical):
        return part.given.concentration is None
    return all(np.all(np.asarray(value) == 1.0) for value in part.given.hyperparameters().values())


def _total(part: Part) -> np.ndarray:
    """Prior weight of all categories of a part together, shape (classes, 1)."""
    if isinstance(part.own, JointCategorical):
        return np.asarray(part.own.concentration) * math.prod(part.own.sizes)
    weights = part.own.concentrations()[:, 0]
    if (weights != weights[:, :1]).any():
        raise ValueError(
            f"the prior of column {part.names[0]!r} gives its categories different weights, which no joint "
            "block has: give all the same, or name the columns that may be merged, columns=[...]"
        )
    return weights.sum(axis=-1, keepdims=True)


# --------------------------------------------------------------------------------------------------
# All joint blocks that a model may have
# --------------------------------------------------------------------------------------------------


def blocks_of(problem: Problem, parts: Sequence[Part], cells: Cells) -> dict[type[Family], Blocks]:
    """For each family of joint blocks, the function that gives their evidences.

    Raises
    ------
    ValueError
        If the parts have priors that no joint block has.
    """
    of_parts: dict[type[Family], Any] = {MultivariateGaussian: _number_blocks, JointCategorical: _category_blocks}
    by_joint = {joint: [part for part in parts if part.joint is joint] for joint in of_parts}
    return {joint: of_parts[joint](problem, some, cells) for joint, some in by_joint.items() if some}
