"""Columns of a fit beside the same columns of other rows: statistics of both, and how far they are apart.

The old statistics are those of the fit, weighted by class to the class probabilities of the new rows. Statistics add
up, so that no old row is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from bayesnb.core.cells import OutsideSupport
from bayesnb.core.checking import first_few
from bayesnb.core.deferred import map_tree
from bayesnb.families.bins import BinnedFamily
from bayesnb.families.categories import Categorical
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import JointFamily
from bayesnb.families.feature_inclusion import FeatureInclusion
from bayesnb.families.formulas import mean_and_sd
from bayesnb.families.hurdle import Hurdle
from bayesnb.families.hyperparameters import kind_of_cell
from bayesnb.families.statistics import Counts, times_each
from bayesnb.model.blocks import Block, family_alone, features_of, labels_alone, side_by_side
from bayesnb.model.prior import ClassPrior, Prior
from bayesnb.model.problem import Problem
from bayesnb.model.reading import Counted

STATES = ("a value", "missing", "unseen")
"""What a cell holds: a value that the fit knows, none, or another one."""

Weights = tuple[np.ndarray, np.ndarray]
"""Weight of an old and of a new row of each class, shape (classes,) each."""


@dataclass(frozen=True)
class OldAndNew:
    """Columns of one family, each on its own, with the statistics of the rows of a fit and of other rows.

    Attributes
    ----------
    names : tuple
        Of the columns.
    family : ConjugateFamily
        The prior of each class.
    old, new : Statistics
        By class. New rows without labels are all counted in the first class.
    categories : sequence of tuple
        Labels of the categories of each column; empty for numbers.
    """

    names: tuple[Any, ...]
    family: Any
    old: Any
    new: Any
    categories: Sequence[tuple[Any, ...]] = ()

    def prior(self, of_class: int = 0) -> Any:
        """The prior of one class, for old and for new rows: the class axis has length two."""
        return map_tree(lambda leaf: np.repeat(leaf[of_class : of_class + 1], 2, axis=0), self.family)

    def joined(self, weights: Weights) -> Any:
        """Statistics of the old and of the new rows as two classes."""
        parts = [times_each(*pair).pooled() for pair in zip((self.old, self.new), weights, strict=True)]
        return type(parts[0]).joined(parts)

    def log_factors(self, weights: Sequence[Weights], of_class: int = 0) -> np.ndarray:
        """Log Bayes factor of a distribution each for old and new rows against one for both, (weights, columns)."""
        prior = FeatureInclusion.of(self.prior(of_class), np.full(len(self.names), 0.5))
        return np.array([prior.log_bayes_factor(self.joined(each))[0] for each in weights])

    def changes(
        self, weights: Sequence[Weights], of_class: int, number: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Draws of how far old and new rows are apart, by what moved, shape (draws, columns); `number` for each weight.

        ``"mean"`` is in standard deviations of the old rows, ``"spread"`` the logarithm of the ratio of the new
        standard deviation to theirs, of a `Hurdle` those of the cells other than zero; the others are shares of the
        cells. A family without any gives nothing.
        """
        found, prior = [], self.prior(of_class).given_dependence()
        for each in weights:
            families = Prior(ClassPrior(np.ones(2), None), (prior.update(self.joined(each)),))
            found.append(self._apart(families.draw(rng, (number,)).blocks[0]))
        return {moved: np.concatenate([draws[moved] for draws in found]) for moved in found[0]}

    def _apart(self, values: dict[str, Any]) -> dict[str, np.ndarray]:
        """As `changes`, given draws of the parameters, shape (draws, 2, columns, ...)."""
        family, found = self.family, {}
        if isinstance(family, Hurdle):
            family, nonzero = family.family, values["nonzero_prob"]
            found["zeros"] = nonzero[:, 0] - nonzero[:, 1]
            values = {name: value for name, value in values.items() if name != "nonzero_prob"}
        shares: Any = values.get("prob")
        kind = kind_of_cell(family)
        if kind == "zero or one":
            shares = np.stack([1.0 - shares, shares], axis=-1)
        if kind in ("category", "zero or one"):
            return {} if isinstance(family, JointFamily) else {"category": total_variation(*np.moveaxis(shares, 1, 0))}
        try:
            mean, sd = (np.moveaxis(moment, 1, 0) for moment in _moments_of_cells(family, values))
        except NotImplementedError:
            return found
        if isinstance(family, BinnedFamily):
            found = {"values": total_variation(*np.moveaxis(shares, 1, 0))} | found
        return {"mean": (mean[1] - mean[0]) / sd[0], "spread": np.log(sd[1] / sd[0])} | found

    def column(self, j: int) -> "OldAndNew":
        """One of the columns."""
        family, old, new = map_tree(lambda leaf: leaf[:, [j]], (self.family, self.old, self.new))
        return OldAndNew(self.names[j : j + 1], family, old, new, self.categories[j : j + 1])


class _StatesOldAndNew(OldAndNew):
    """Which of `STATES` the cells of columns hold."""

    def _apart(self, values: dict[str, Any]) -> dict[str, np.ndarray]:
        _, gaps, unseen = np.moveaxis(values["prob"][:, 1] - values["prob"][:, 0], -1, 0)
        return {"gaps": gaps, "unseen values": unseen}


def _moments_of_cells(family: Any, values: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of cells; of their logarithms if these moments are the parameters."""
    if {"mean", "variance"} <= {*values}:
        return values["mean"], np.sqrt(values["variance"])
    return mean_and_sd(family.likelihood(**values))


def total_variation(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """How much of the probability moved, given draws of shares, shape (draws, ..., values).

    Half the sum of the changes of all values, in the direction of their means. Noise adds to it: the expected square of
    a change that is not there is its variance. The draws are moved to where the mean squares lose their variances.
    """
    change = new - old
    mean, variance = change.mean(axis=0), change.var(axis=0)
    noise = abs(mean) - np.sqrt(np.maximum(mean**2 - variance, 0.0))
    return (change * np.sign(mean) - noise).sum(axis=-1) / 2.0


# --------------------------------------------------------------------------------------------------
# The columns of a fit: the values of their cells, and whether they hold one
# --------------------------------------------------------------------------------------------------


def columns_beside(
    problem: Problem, counted: Sequence[Counted]
) -> tuple[list[tuple[Block, OldAndNew]], _StatesOldAndNew, dict[Any, str]]:
    """The columns of a fit beside those of new rows.

    Parameters
    ----------
    problem : Problem
        That of the fit.
    counted : sequence of Counted
        Of the new rows of each class that has some; of all, if they have no labels.

    Returns
    -------
    list of (block, values)
        The cells of each block that hold a value of the fit.
    _StatesOldAndNew
        Which of `STATES` each cell holds, the columns of all these blocks.
    dict from name to reason
        Features that cannot be looked at.

    Raises
    ------
    ValueError
        If that is all of them.
    """
    new = reduce(add, (each.statistics for each in counted))
    rows = problem.statistics.classes.n, new.classes.n
    found: list[tuple[Block, OldAndNew]] = []
    states: list[list[Counts]] = []
    refused: dict[Any, str] = {}
    for block, *pair in zip(problem.resolved.blocks, problem.statistics.blocks, new.blocks, strict=True):
        if not isinstance(block.family, ConjugateFamily):
            refused |= dict.fromkeys(features_of(block), f"{block.family.family_name} has no closed form")
            continue
        family, _ = family_alone(block)
        names = features_of(block) if family is None else labels_alone(block)
        old, own = (_statistics_alone(block, statistics) for statistics in pair)
        found.append((block, OldAndNew(names, family or block.family, old, own, _categories_alone(block, problem))))
        unseen = np.zeros((2, len(rows[0]), len(names)))
        for each in counted:
            unseen[1] += (each.statistics.classes.n > 0)[:, None] * _unseen(each, block, len(names))
        states.append([*map(_states, pair, rows, unseen)])
    if not found:
        told = first_few([f"{name!r}, because {reason}" for name, reason in refused.items()], between="; ")
        raise ValueError(f"no feature of the model can be compared: {told}")
    names = tuple(name for _, values in found for name in values.names)
    before, after = (side_by_side(of_rows) for of_rows in zip(*states, strict=True))
    family = Categorical(np.ones(np.shape(before.total)))
    return found, _StatesOldAndNew(names, family, before, after, [STATES] * len(names)), refused


def _statistics_alone(block: Block, statistics: Any) -> Any:
    """Statistics of a block's columns alone; a count vector counts as one token, because words come in bursts."""
    family, alone = family_alone(block, statistics)
    if family is None or isinstance(family, JointFamily):
        return statistics
    return alone * (statistics.n / np.maximum(alone.n, 1.0)) if block.has_totals else alone


def _categories_alone(block: Block, problem: Problem) -> Sequence[tuple[Any, ...]]:
    """The categories of each column of a block on its own; none for numbers."""
    if not block.has_categories:
        return ()
    categories = tuple(tuple(problem.model.schema.categories[position]) for position in block.columns)
    return [block.family.axes("prob", block.labels, categories)[-1][1]] if block.is_joint else categories


def _unseen(counted: Counted, block: Block, number: int) -> np.ndarray:
    """How many cells of each column hold a value that the fit does not know, shape (columns,)."""
    found = dict.fromkeys(block.labels, 0)
    for key, cells in counted.unseen.items():
        name = key.column if isinstance(key, OutsideSupport) else key
        if name in found:
            found[name] += sum(cells.values())
    numbers = np.array([*found.values()], dtype=np.float64)
    return numbers if number == len(numbers) else numbers.sum(keepdims=True)


def _states(statistics: Any, rows: np.ndarray, unseen: np.ndarray) -> Counts:
    """How many cells hold each of `STATES`, given the rows (classes,) and unseen values (classes, columns)."""
    rows = np.broadcast_to(rows[:, None], unseen.shape)
    observed = np.broadcast_to(getattr(statistics, "n", rows), unseen.shape)
    unseen = np.minimum(unseen, np.maximum(rows - observed, 0.0))
    return Counts(rows, np.stack([observed, np.maximum(rows - observed - unseen, 0.0), unseen], axis=-1), 0.0 * rows)
