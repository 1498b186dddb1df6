"""Columns of real numbers as joint blocks: the evidence of every block from one scatter matrix for each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.families.gaussian import Gaussian
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.problem import Problem
from bayesnb.selection.parts import Part, name_columns, shortest
from bayesnb.statistics.scatter import Scatter, scatter

__all__ = ["NumberBlocks", "number_blocks"]

MATRIX_CELLS = 2**21
"""Cells of the scatter matrices in memory at a time."""


@dataclass(frozen=True)
class NumberBlocks:
    """The columns of real numbers that may share a block.

    A block of any of them has the marginal of one prior of them all. The marginal of an inverse Wishart distribution of
    D columns and df degrees of freedom is that of p columns and df - D + p degrees of freedom, with their rows and
    columns of the scale matrix.

    Attributes
    ----------
    columns : tuple of int
        Positions in the schema.
    names : tuple
    statistics : Scatter
        Of all columns.
    prior : MultivariateGaussian
        Of all columns, with numbers for every hyperparameter.
    follows : frozenset of str
        Hyperparameters that follow the data.
    """

    columns: tuple[int, ...]
    names: tuple[Any, ...]
    statistics: Scatter
    prior: MultivariateGaussian
    follows: frozenset[str]

    def log_evidence(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """Log evidence of the block of each pair of parts, shape (pairs,)."""
        place = {column: j for j, column in enumerate(self.columns)}
        found = np.empty(len(pairs))
        of_width: dict[int, list[int]] = {}
        for k, (first, second) in enumerate(pairs):
            of_width.setdefault(first.width + second.width, []).append(k)
        for width, members in of_width.items():
            blocks = np.array([[place[j] for part in pairs[k] for j in part.columns] for k in members])
            step = max(1, MATRIX_CELLS // (width * width * len(self.prior.loc)))
            for start in range(0, len(members), step):
                some = slice(start, start + step)
                found[members[some]] = self._log_evidence_of(blocks[some])
        return found

    def _log_evidence_of(self, blocks: np.ndarray) -> np.ndarray:
        """Log evidence of blocks of one width, shape (blocks,), given the places of their columns (blocks, width)."""
        try:
            return np.asarray(self._marginal(blocks).log_evidence(self._counted(blocks))).sum(axis=(-1, -2))
        except ValueError as error:
            if len(blocks) > 1:
                return np.concatenate([self._log_evidence_of(block[None]) for block in blocks])
            named = name_columns([self.names[j] for j in blocks[0]])
            raise ValueError(f"columns {named}: {error}") from None

    def _marginal(self, blocks: np.ndarray) -> MultivariateGaussian:
        """The prior of blocks of one width; a block's hyperparameters have an axis of blocks before the classes."""
        prior, width = self.prior, blocks.shape[-1]
        df = prior.df - len(self.columns) + width
        return MultivariateGaussian(_columns(prior.loc, blocks), prior.kappa, df, _matrices(prior.scale, blocks))

    def _counted(self, blocks: np.ndarray) -> Scatter:
        whole = self.statistics
        return Scatter(whole.n, _columns(whole.mean, blocks), _matrices(whole.scatter, blocks))

    def family(self, columns: Sequence[int]) -> MultivariateGaussian:
        """The family of a block of these columns, with the hyperparameters that they have in the model."""
        place = {column: j for j, column in enumerate(self.columns)}
        prior = self._marginal(np.array([[place[column] for column in columns]]))
        return MultivariateGaussian(
            loc=None if "loc" in self.follows else shortest(prior.loc[0]),
            kappa=shortest(prior.kappa),
            df=None if (prior.df == len(columns) + 1).all() else shortest(prior.df),
            scale=None if "scale" in self.follows else _one_matrix(prior.scale[0]),
        )


def _columns(values: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Values (classes, columns) as (blocks, classes, width)."""
    return np.moveaxis(values[:, blocks], 1, 0)


def _matrices(values: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Matrices (classes, columns, columns) as (blocks, classes, width, width)."""
    return np.moveaxis(values[:, blocks[:, :, None], blocks[:, None, :]], 1, 0)


def _one_matrix(scale: np.ndarray) -> np.ndarray:
    return scale[0] if (scale == scale[:1]).all() else scale


@dataclass(frozen=True)
class _Prior:
    """The prior of a part, as a marginal of a normal-inverse-Wishart distribution of more columns.

    Attributes
    ----------
    loc : array, shape (classes, width)
    kappa : array, shape (classes, 1)
    excess : array, shape (classes, 1)
        Degrees of freedom less the number of columns; every marginal has the same.
    scale : array, shape (classes, width, width)
    follows : frozenset of str
        Hyperparameters that follow the data.
    """

    loc: np.ndarray
    kappa: np.ndarray
    excess: np.ndarray
    scale: np.ndarray
    follows: frozenset[str]


def number_blocks(problem: Problem, parts: Sequence[Part], cells: np.ndarray, membership: np.ndarray) -> NumberBlocks:
    """The statistics and the prior of the parts that are real numbers.

    Parameters
    ----------
    problem : Problem
    parts : sequence of Part
    cells : array, shape (rows, columns)
        Of the parts' columns, one part after another; none is missing.
    membership : array, shape (rows, classes)
        Weight of each row in each class.

    Raises
    ------
    ValueError
        If the columns have hyperparameters that no joint block has.
    """
    columns = tuple(column for part in parts for column in part.columns)
    names = tuple(problem.model.schema.columns[column] for column in columns)
    priors = [_prior_of(problem, part) for part in parts]
    for part, prior in zip(parts, priors, strict=True):
        _require_alike(problem, (parts[0], priors[0]), (part, prior))
    width = len(columns)
    scale = np.zeros((len(membership.T), width, width))
    start = 0
    for prior in priors:
        stop = start + prior.loc.shape[1]
        scale[:, start:stop, start:stop] = prior.scale
        start = stop
    whole = MultivariateGaussian(
        np.concatenate([prior.loc for prior in priors], axis=1), priors[0].kappa, priors[0].excess + width, scale
    )
    return NumberBlocks(columns, names, scatter(cells, membership), whole, priors[0].follows)


def _prior_of(problem: Problem, part: Part) -> _Prior:
    given = problem.model.features[part.feature][0]
    block = next(block for block in problem.resolved.blocks if part.columns[0] in block.columns)
    family: Any = block.family
    if isinstance(given, MultivariateGaussian):
        follows = frozenset(name for name in ("loc", "scale") if getattr(given, name) is None)
        return _Prior(family.loc, family.kappa, family.df - part.width, family.scale, follows)
    assert isinstance(given, Gaussian)
    names = {"loc": given.loc, "scale": given.rate}
    own = family.take((slice(None), [block.columns.index(part.columns[0])]))
    follows = frozenset(name for name, value in names.items() if value is None)
    return _Prior(own.loc, own.kappa, 2 * own.concentration - 1, 2 * own.rate[..., None], follows)


def _require_alike(problem: Problem, one: tuple[Part, _Prior], other: tuple[Part, _Prior]) -> None:
    """Refuse two parts of which no joint block has the priors.

    Raises
    ------
    ValueError
    """
    (first, mine), (second, theirs) = one, other
    names = [name_columns([problem.model.schema.columns[j] for j in part.columns]) for part in (first, second)]
    way_out = "give both the same, or name the columns that may be merged, columns=[...]"
    # In a block of one column df is twice the concentration of a Gaussian, and the excess one less.
    for what, left, right in (
        ("kappa", mine.kappa, theirs.kappa),
        ("concentration", (mine.excess + 1) / 2, (theirs.excess + 1) / 2),
    ):
        if (left != right).any():
            raise ValueError(
                f"columns {names[0]} and {names[1]} have the {what} {format_number(left)} and {format_number(right)}, "
                f"and a joint block has one for all its columns: {way_out}"
            )
    for what, told in (("loc", "loc"), ("scale", "rate")):
        if (what in mine.follows) != (what in theirs.follows):
            with_number, without = names if what in theirs.follows else names[::-1]
            raise ValueError(
                f"{told} is a number for columns {with_number} and follows the data for {without}, and a joint block "
                f"has numbers for all its columns or for none: {way_out}"
            )
