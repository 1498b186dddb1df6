"""Statistics, and their lines of the table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.blocks.block import Block
from bayesnb.checks.predictive.largest import departures, share_at_least
from bayesnb.checks.predictive.replicates import Rows
from bayesnb.model.bound import BoundModel

__all__ = ["Build", "Line", "Statistic", "blocks_where", "dense", "ratio"]

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Line:
    """A line of the table.

    Attributes
    ----------
    label : str
    observed : float
    replicated : array, shape (replicates,)
    p_value : float
    p_adjusted : float
        Share of the replicates in which some line of the statistic is at least as extreme.
    next_step : str
        What to do if the line is extreme.
    detail : str
        Where the value comes from, if the label does not say it.
    fitted : bool
        Whether most families fit the statistic, so that it says little on the rows of the fit.
    """

    label: str
    observed: float
    replicated: np.ndarray
    p_value: float
    p_adjusted: float
    next_step: str
    detail: str = ""
    fitted: bool = False

    @property
    def is_defined(self) -> bool:
        """Whether the data and at least one replicate define the statistic."""
        return bool(np.isfinite(self.observed) and np.isfinite(self.replicated).any())

    @property
    def p_value_mcse(self) -> float:
        """Standard deviation of the p-value's Beta posterior under Jeffreys' prior; positive for a p-value of 0 too."""
        number = np.isfinite(self.replicated).sum()
        a, b = number * self.p_value + 0.5, number * (1 - self.p_value) + 0.5
        return float(np.sqrt(a * b / (a + b + 1)) / (a + b))


@dataclass(frozen=True)
class Statistic:
    """A statistic prepared for one data set and its replicates.

    Attributes
    ----------
    labels : list of str
        A label for each line.
    values : callable
        Function from a data set to its numbers: one for each label, unless `lines` is overridden.
    next_step : str or sequence of str
        What to do if a line is extreme; a sequence has a text for each label.
    next_step_below : str
        What to do if the observed value is below the replicates; empty if `next_step` says it.
    fitted : bool or sequence of bool
        As for `Line`; a sequence has a value for each label.
    """

    labels: list[str]
    values: Callable[[Rows], np.ndarray]
    next_step: str | Sequence[str]
    next_step_below: str = field(default="", kw_only=True)
    fitted: bool | Sequence[bool] = field(default=False, kw_only=True)

    @property
    def next_steps(self) -> Sequence[str]:
        """What to do, for each label."""
        return [self.next_step] * len(self.labels) if isinstance(self.next_step, str) else self.next_step

    def lines(self, observed: np.ndarray, replicated: np.ndarray) -> list[Line]:
        """A line for each label.

        Parameters
        ----------
        observed : array, shape (values,)
        replicated : array, shape (replicates, values)
        """
        found = []
        fitted = [self.fitted] * len(self.labels) if isinstance(self.fitted, bool) else self.fitted
        adjusted = _adjusted(observed, replicated)
        each = zip(self.labels, observed, replicated.T, adjusted, self.next_steps, fitted, strict=True)
        for label, value, others, p_adjusted, above, is_fitted in each:
            p_value = _p_value(value, others)
            step = self.next_step_below if p_value > 0.5 and self.next_step_below else above
            found.append(Line(label, float(value), others, p_value, float(p_adjusted), step, fitted=is_fitted))
        return found


Build = Callable[[BoundModel, Rows, np.random.Generator], Statistic | None]
"""Prepares a statistic for a model and its data; returns None if the model does not have the columns."""


def _adjusted(observed: np.ndarray, replicated: np.ndarray) -> np.ndarray:
    """Share of the replicates in which some line is at least as far from its median as each line is, shape (lines,)."""
    values = np.vstack([observed, replicated])
    # Equal sums that were added in another order differ by rounding.
    size = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=0)
    departure, _ = departures(np.where(np.isfinite(values), values, np.nan), 1e-12 * size + TINY)
    departure[:, np.isnan(departure[0])] = np.nan
    departure = np.where(np.isnan(departure), -np.inf, departure)
    largest = departure[1:].max(axis=1, initial=-np.inf)
    return share_at_least(departure[0], largest[np.isfinite(largest)])


def _p_value(observed: float, replicated: np.ndarray) -> float:
    """Share of the defined values that are at least the observed one, ties counted half."""
    defined = replicated[np.isfinite(replicated)]
    if not len(defined):
        return np.nan
    # Equal sums that were added in another order differ by rounding, and are ties.
    tied = np.isclose(defined, observed, rtol=1e-12, atol=0.0)
    return float(((defined > observed) & ~tied).mean() + 0.5 * tied.mean())


def blocks_where(model: BoundModel, chosen: Callable[[Block], bool]) -> list[tuple[int, Block]]:
    """Positions and blocks that a statistic is about."""
    return [(i, block) for i, block in enumerate(model.blocks) if chosen(block)]


def ratio(total: Any, n: Any) -> np.ndarray:
    """Quotient, NaN if the denominator is zero."""
    return np.divide(total, n, out=np.full(np.shape(total), np.nan), where=n > 0)


def dense(x: Any) -> np.ndarray:
    """Cells as an array."""
    return x.toarray() if scipy.sparse.issparse(x) else x
