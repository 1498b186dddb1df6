"""New rows from the posterior predictive distribution."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.families.draw import draw
from bayesnb.keys import random_generator
from bayesnb.model.bound import BoundModel
from bayesnb.problem import Problem
from bayesnb.validate import whole_number

__all__ = ["mean_total_count", "simulate_rows"]


def simulate_rows(
    model: BoundModel, class_probs: np.ndarray, row_parameters: Callable, num_rows: int, total_count: Any, key: Any
) -> tuple[Any, np.ndarray]:
    """Rows and labels, each row with its own draw of the parameters.

    Parameters
    ----------
    model : BoundModel
        Every hyperparameter a number.
    class_probs : array, shape (classes,)
    row_parameters : callable
        As `Posterior.row_parameters`.
    num_rows : int
    total_count : int, array of shape (rows,), or None
        Total of each count vector; None if the model has none.
    key : int or JAX key
    """
    num_rows = whole_number("num_rows", num_rows)
    rng = random_generator(key)
    probs = np.broadcast_to(class_probs, (num_rows, len(class_probs)))
    codes = draw(dist.CategoricalProbs(probs), rng).astype(np.intp)
    return model.draw_rows(codes, row_parameters(codes, rng), rng, total_count)


def mean_total_count(problem: Problem | None) -> int | None:
    """Mean total of the count vectors in the data, rounded; None without data or count vectors."""
    if problem is None:
        return None
    for block, counted in zip(problem.model.blocks, problem.statistics_to_pool, strict=True):
        if block.has_totals and counted.n.sum() > 0:  # type: ignore[attr-defined]
            return round(float(counted.total.sum() / counted.n.sum()))  # type: ignore[attr-defined]
    return None
