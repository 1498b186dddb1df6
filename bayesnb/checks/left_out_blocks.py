"""Log densities of the blocks of rows, and of class probabilities, given the other rows."""

from dataclasses import dataclass, replace
from typing import Any, Self

import jax
import numpy as np

from bayesnb.arrays import log
from bayesnb.blocks.block import Block
from bayesnb.checks.left_out_data_prior import every_class_without
from bayesnb.checks.left_out_fixed_prior import LabelledRows, cleared, own_class_without
from bayesnb.families.columns import of_column
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior

__all__ = ["FittedBlock", "fitted_blocks", "log_class_probs_without"]


@dataclass(frozen=True)
class FittedBlock:
    """A block of an exact posterior, with what its density needs when a row is left out.

    Attributes
    ----------
    prior : Block
        With numbers. If its prior follows the data: as the user gave it, without numbers.
    posterior : ConjugateFamily
    statistics : Statistics
        Of all rows.
    follows : bool
        Whether a row bears on the predictions of other classes than its own: the prior follows the data, or couples the
        classes.
    """

    prior: Block
    posterior: Any
    statistics: Any
    follows: bool

    def log_densities(self, x: Any, rows: LabelledRows) -> tuple[np.ndarray, np.ndarray]:
        """Log density of each row under each class given all rows, and given the other rows, shape (rows, classes)."""
        held = np.asarray(self.posterior.row_log_predictive(x))
        if self.prior.family.whole_rows and (lacking := np.isnan(x).any(axis=1)).any():
            # The fit did not count these rows: without them it is the same.
            without = held.copy()
            if not lacking.all():
                without[~lacking] = self.log_densities(x[~lacking], rows.take(~lacking))[1]
            return held, without
        if self.follows:
            return held, every_class_without(self.prior, self.statistics, x, rows, held)
        # Only the row's own class changes without the row.
        without = held.copy()
        without[np.arange(len(rows)), rows.codes] = own_class_without(self.prior, self.statistics, x, rows)
        return held, without

    def features(self) -> list[tuple[Any, Self]]:
        """The columns of the block and the block of each alone; a joint block is one feature."""
        if self.prior.is_joint:
            return [(slice(None), self)]
        return [(slice(j, j + 1), self._of_column(j)) for j in range(len(self.prior.columns))]

    def _of_column(self, j: int) -> Self:
        column, block = slice(j, j + 1), self.prior
        alone = replace(
            block, family=of_column(block.family, j), columns=block.columns[column], labels=block.labels[column]
        )
        statistics = jax.tree.map(lambda leaf: leaf[:, column], self.statistics)
        return type(self)(alone, of_column(self.posterior, j), statistics, self.follows)


def fitted_blocks(posterior: ExactPosterior) -> list[FittedBlock]:
    """The blocks of an exact posterior, for leave-one-out."""
    problem = posterior.problem
    return [
        FittedBlock(as_given if follows else resolved, family, counted, follows or family.couples_classes)
        for as_given, resolved, family, counted, follows in zip(
            problem.model.blocks,
            posterior.model.blocks,
            posterior.families,
            problem.statistics.blocks,
            problem.follows,
            strict=True,
        )
    ]


def log_class_probs_without(posterior: Posterior, rows: LabelledRows) -> np.ndarray:
    """Log p(y=c | D without i), shape (rows, classes)."""
    problem = posterior.require_data("leave-one-out")
    prior, n = posterior.model.class_prior, problem.statistics.classes.n
    if prior.probs is not None and not problem.model.follows_labels:
        return np.broadcast_to(log(prior.probs), (len(rows), len(n)))
    # All rows of weight one share a table with one line for each class.
    unit = bool((rows.weights == 1.0).all())
    codes = np.arange(len(n)) if unit else rows.codes
    taken = np.eye(len(n))[codes] * (1.0 if unit else rows.weights[:, None])
    # A class without rows has no row to leave out.
    rest = np.maximum(cleared(n - taken, n), 0.0)
    if prior.probs is None:
        rest = rest + prior.concentration
    total = rest.sum(axis=1, keepdims=True)
    log_probs = log(np.where(total > 0, rest, 1.0)) - log(np.where(total > 0, total, len(n)))
    return log_probs[rows.codes] if unit else log_probs
