"""The parts of a model that may be merged: single columns, and joint blocks; and their cells."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64
from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.joint_categorical import JointCategorical
from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.model.bound import BoundModel
from bayesnb.model.read import EVERY_COLUMN
from bayesnb.problem import Problem
from bayesnb.tables.columns import first_few

__all__ = [
    "CATEGORIES",
    "NUMBERS",
    "Blocks",
    "Part",
    "Rows",
    "mergeable_parts",
    "name_columns",
    "require_numbers",
    "shortest",
]

NUMBERS, CATEGORIES = "numbers", "categories"

KINDS: dict[type[Family], str] = {
    Gaussian: NUMBERS,
    MultivariateGaussian: NUMBERS,
    Bernoulli: CATEGORIES,
    Categorical: CATEGORIES,
    JointCategorical: CATEGORIES,
}
"""What joint blocks of the columns of a family hold, where these have its prior."""


@dataclass(frozen=True)
class Part:
    """A column, or the columns of a joint block.

    Attributes
    ----------
    feature : hashable
        Name of the model's feature that has the columns; None for parts that were merged.
    columns : tuple of int
        Positions in the schema.
    kind : str
        `NUMBERS` or `CATEGORIES`; parts of one kind may be merged.
    log_evidence : float
        Log density of the cells given the labels, the parameters integrated out.
    density : bool
        Whether it is a column of measurements whose family is not `Gaussian`.
    """

    feature: Any
    columns: tuple[int, ...]
    kind: str
    log_evidence: float
    density: bool = False

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.columns)


def require_numbers(model: BoundModel) -> None:
    """Refuse hyperparameters that are learned, in the families whose columns may be merged.

    Raises
    ------
    ValueError
    """
    for name, (family, _) in model.features.items():
        for field, value in family.hyperparameters().items():
            if type(family) in KINDS and isinstance(value, dist.Distribution):
                where = "every column" if name is EVERY_COLUMN else repr(name)
                raise ValueError(
                    f"{where} has {family.family_name}({field}=...), which is learned, and evidences of blocks have "
                    f"a closed form for numbers only: give {field} a number"
                )


@dataclass(frozen=True)
class Rows:
    """The rows of positive weight.

    Attributes
    ----------
    cells : dict
        By position, the cells of a column; categories are codes, and missing cells NaN.
    codes : array of int, shape (rows,)
        Position of each row's class.
    weights : array, shape (rows,)
    num_classes : int
    """

    cells: Mapping[int, np.ndarray]
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
        return frozenset(column for column, x in self.cells.items() if np.isnan(x).any())

    def of(self, columns: Sequence[int]) -> np.ndarray:
        """Cells of some columns, shape (rows, columns)."""
        return np.column_stack([self.cells[column] for column in columns])


@dataclass(frozen=True)
class Blocks(ABC):
    """Columns of one kind, and the joint blocks that they may have.

    Attributes
    ----------
    rows : Rows
    """

    rows: Rows

    @abstractmethod
    def family(self, columns: Sequence[int]) -> Family:
        """The family of a block of these columns."""

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
        complete = [k for k, of_block in enumerate(columns) if self.rows.lacking.isdisjoint(of_block)]
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
        x, membership = self.rows.of(columns), self.rows.membership
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
        If a column that is named does not exist, has a family without joint blocks, or is named without the others of
        its joint block.
    """
    parts = list(_parts(problem))
    if only is None:
        return parts
    model = problem.model
    named = set(model.schema.positions("columns", only))
    _require_mergeable(model, named - {column for part in parts for column in part.columns})
    for part in parts:
        if named.isdisjoint(part.columns) or named.issuperset(part.columns):
            continue
        missing = [model.schema.columns[column] for column in part.columns if column not in named]
        raise ValueError(
            f"columns names some columns of the joint block {part.feature!r}, and not {name_columns(missing)}: name "
            "all of its columns or none"
        )
    return [part for part in parts if named.issuperset(part.columns)]


def _parts(problem: Problem) -> Iterator[Part]:
    model = problem.model
    log_evidence: dict[int, float] = {}
    for block, counted in zip(problem.resolved.blocks, problem.statistics.blocks, strict=True):
        if isinstance(block.family, ConjugateFamily) and (type(block.family) in KINDS or _is_density(block.family)):
            of_columns = np.asarray(block.family.log_evidence(counted)).sum(axis=0)
            log_evidence |= dict(zip(block.columns, of_columns.tolist(), strict=False))
    for name, positions in model.schema.positions_of(model.features).items():
        family = model.features[name][0]
        density = type(family) not in KINDS
        if density and not _is_density(family):
            continue
        for columns in [tuple(positions)] if family.joint else [(position,) for position in positions]:
            yield Part(name, columns, KINDS.get(type(family), NUMBERS), log_evidence[columns[0]], density)


def _is_density(family: Family) -> bool:
    """Whether the evidence of a column compares with that of a Gaussian: both are densities of the same number."""
    learned = any(isinstance(value, dist.Distribution) for value in family.hyperparameters().values())
    number = family.cell == "number" and not family.joint and family.describes == "as a measurement"
    return number and isinstance(family, ConjugateFamily) and not learned


def _require_mergeable(model: BoundModel, others: set[int]) -> None:
    for position in sorted(others):
        name = model.schema.columns[position]
        for block in model.blocks:
            if position in block.columns:
                raise ValueError(
                    f"columns names {name!r}, which is {block.family.family_name}, a family without joint blocks: "
                    "leave it out, or give it nb.Gaussian(), nb.Categorical() or nb.Bernoulli() if it is one of these"
                )
        raise ValueError(f"columns names {name!r}, which is not in the model: leave it out")


def name_columns(names: Sequence[Any]) -> str:
    """Names of columns for a message."""
    return first_few(list(map(repr, names)))


def shortest(values: np.ndarray) -> Any:
    """A hyperparameter (classes, columns) as one number or (columns,) where that says the same."""
    values = np.asarray(values)
    if (values == values.flat[0]).all():
        return float(values.flat[0])
    return values[0] if (values == values[:1]).all() else values
