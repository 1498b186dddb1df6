"""The parts of a model that may be merged: single columns, and joint blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

__all__ = ["CATEGORIES", "NUMBERS", "Part", "mergeable_parts", "name_columns", "require_numbers", "shortest"]

NUMBERS, CATEGORIES = "numbers", "categories"

KINDS: dict[type[Family], str] = {
    Gaussian: NUMBERS,
    MultivariateGaussian: NUMBERS,
    Bernoulli: CATEGORIES,
    Categorical: CATEGORIES,
    JointCategorical: CATEGORIES,
}
"""What joint blocks of the columns of a family hold. A subclass, such as `LogNormal`, has none."""


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
    """

    feature: Any
    columns: tuple[int, ...]
    kind: str
    log_evidence: float

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
        if type(block.family) in KINDS:
            assert isinstance(block.family, ConjugateFamily)
            of_columns = np.asarray(block.family.log_evidence(counted)).sum(axis=0)
            log_evidence |= dict(zip(block.columns, of_columns.tolist(), strict=False))
    for name, positions in model.schema.positions_of(model.features).items():
        family = model.features[name][0]
        if type(family) not in KINDS:
            continue
        for columns in [tuple(positions)] if family.joint else [(position,) for position in positions]:
            yield Part(name, columns, KINDS[type(family)], log_evidence[columns[0]])


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
