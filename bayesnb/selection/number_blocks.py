"""Columns of real numbers as joint blocks: the evidence of every block from one scatter matrix for each class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.families.gaussian import Gaussian
from bayesnb.families.hyperparameters import format_number
from bayesnb.families.multivariate_gaussian import MultivariateGaussian
from bayesnb.problem import Problem
from bayesnb.selection.parts import NUMBERS, Blocks, Part, Rows, name_columns, shortest
from bayesnb.statistics.scatter import Scatter, scatter

__all__ = ["NumberBlocks", "number_blocks"]

MATRIX_CELLS = 2**21
"""Cells of the scatter matrices in memory at a time."""


@dataclass(frozen=True)
class NumberBlocks(Blocks):
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
        Of all columns; those with missing cells have no meaning.
    of_all : MultivariateGaussian
        Of all columns, with numbers for every hyperparameter.
    follows : frozenset of str
        Hyperparameters that follow the data.
    """

    columns: tuple[int, ...]
    names: tuple[Any, ...]
    statistics: Scatter
    of_all: MultivariateGaussian
    follows: frozenset[str]

    def log_evidence_of_complete(self, pairs: Sequence[tuple[Part, Part]]) -> np.ndarray:
        """Log evidence of the block of each pair of parts, shape (pairs,)."""
        place = {column: j for j, column in enumerate(self.columns)}
        found = np.empty(len(pairs))
        of_width: dict[int, list[int]] = {}
        for k, (first, second) in enumerate(pairs):
            of_width.setdefault(first.width + second.width, []).append(k)
        for width, members in of_width.items():
            blocks = np.array([[place[j] for part in pairs[k] for j in part.columns] for k in members])
            step = max(1, MATRIX_CELLS // (width * width * len(self.of_all.loc)))
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
        prior, width = self.of_all, blocks.shape[-1]
        df = prior.df - len(self.columns) + width
        return MultivariateGaussian(_columns(prior.loc, blocks), prior.kappa, df, _matrices(prior.scale, blocks))

    def _counted(self, blocks: np.ndarray) -> Scatter:
        whole = self.statistics
        return Scatter(whole.n, _columns(whole.mean, blocks), _matrices(whole.scatter, blocks))

    def family(self, columns: Sequence[int]) -> MultivariateGaussian:
        """The family of a block of these columns, with the hyperparameters that they have in the model."""
        prior = self.prior(columns)
        return MultivariateGaussian(
            loc=None if "loc" in self.follows else shortest(prior.loc),
            kappa=shortest(prior.kappa),
            df=None if (prior.df == len(columns) + 1).all() else shortest(prior.df),
            scale=None if "scale" in self.follows else _one_matrix(prior.scale),
        )

    def prior(self, columns: Sequence[int]) -> MultivariateGaussian:
        places = [self.columns.index(column) for column in columns]
        prior = self._marginal(np.array([places]))
        return replace(prior, loc=prior.loc[0], scale=prior.scale[0])


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


def number_blocks(problem: Problem, parts: Sequence[Part], rows: Rows) -> NumberBlocks:
    """The cells and the prior of the parts that are real numbers.

    Raises
    ------
    ValueError
        If the columns have hyperparameters that no joint block has.
    """
    columns = tuple(column for part in parts for column in part.columns)
    names = tuple(problem.model.schema.columns[column] for column in columns)
    own = {part: _prior_of(problem, part) for part in parts if not part.density}
    for part, prior in own.items():
        _require_alike(problem, next(iter(own.items())), (part, prior))
    like = next(iter(own.values()), None)
    priors = [own[part] if part in own else _default_prior(rows, part, like) for part in parts]
    width = len(columns)
    scale = np.zeros((rows.num_classes, width, width))
    start = 0
    for prior in priors:
        stop = start + prior.loc.shape[1]
        scale[:, start:stop, start:stop] = prior.scale
        start = stop
    whole = MultivariateGaussian(
        np.concatenate([prior.loc for prior in priors], axis=1), priors[0].kappa, priors[0].excess + width, scale
    )
    # Blocks with missing cells do not use this scatter matrix.
    statistics = scatter(np.nan_to_num(rows.of(columns)), rows.membership)
    return NumberBlocks(rows, columns, names, statistics, whole, priors[0].follows)


def joins_densities(problem: Problem, parts: Sequence[Part]) -> bool:
    """Whether the priors of the parts that are Gaussian follow the data, as those of other columns would."""
    own = [part for part in parts if part.kind == NUMBERS and not part.density]
    return all(len(_prior_of(problem, part).follows) == 2 for part in own)


def _default_prior(rows: Rows, part: Part, like: _Prior | None) -> _Prior:
    """The prior of a column that is not Gaussian in the model, with kappa and concentration of those that are."""
    gaussian = Gaussian() if like is None else Gaussian(kappa=like.kappa, concentration=(like.excess + 1) / 2)
    ((_, family),) = gaussian.spread(rows.num_classes, part.columns, ())
    family = family.on_scale_of(family.statistics(rows.of(part.columns), rows.membership).pooled())
    return _as_prior(family, frozenset({"loc", "scale"}))


def _as_prior(family: Gaussian, follows: frozenset[str]) -> _Prior:
    return _Prior(family.loc, family.kappa, 2 * family.concentration - 1, 2 * family.rate[..., None], follows)


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
    return _as_prior(own, follows)


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
