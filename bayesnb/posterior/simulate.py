"""New rows from the posterior predictive distribution."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.families.choose_bins import resolution
from bayesnb.families.draw import draw
from bayesnb.keys import random_generator
from bayesnb.model.bound import BoundModel
from bayesnb.model.simulate import draw_cells, to_table
from bayesnb.problem import Problem
from bayesnb.sparse import dense
from bayesnb.tables.read import as_table
from bayesnb.validate import whole_number

__all__ = ["mean_total_count", "simulate_rows"]


def simulate_rows(
    model: BoundModel,
    class_probs: np.ndarray,
    row_parameters: Callable,
    num_rows: int,
    total_count: Any,
    key: Any,
    like: Any = None,
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
    like : table, optional
        As for `Posterior.simulate`.
    """
    num_rows = whole_number("num_rows", num_rows)
    rng = random_generator(key)
    probs = np.broadcast_to(class_probs, (num_rows, len(class_probs)))
    codes = draw(dist.CategoricalProbs(probs), rng).astype(np.intp)
    cells = draw_cells(model.blocks, row_parameters(codes, rng), num_rows, rng, total_count)
    if like is not None:
        observed = model.read(as_table(like)).whole()
        cells = [
            _on_lattice(drawn, dense(x)) if block.is_measured else drawn
            for block, drawn, x in zip(model.blocks, cells, observed, strict=True)
        ]
    return to_table(model.schema, model.blocks, cells), model.schema.classes[codes]


def _on_lattice(drawn: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Cells moved to the lattice and the range of the observed ones, column by column, where a value occurs twice."""
    found = np.array(drawn)
    for j, column in enumerate(observed.T):
        seen = column[~np.isnan(column)]
        values = np.unique(seen)
        if len(values) < len(seen):
            step = resolution(values)
            on_lattice = values[0] + step * np.rint((drawn[:, j] - values[0]) / step)
            # Multiples of a step such as 0.1 have rounding errors.
            on_lattice = on_lattice.round(6 - int(np.floor(np.log10(step))))
            found[:, j] = np.clip(on_lattice, values[0], values[-1])
    return found


def mean_total_count(problem: Problem | None) -> int | None:
    """Mean total of the count vectors in the data, rounded; None without data or count vectors."""
    if problem is None:
        return None
    for block, counted in zip(problem.model.blocks, problem.statistics_to_pool, strict=True):
        if block.has_totals and counted.n.sum() > 0:  # type: ignore[attr-defined]
            return round(float(counted.total.sum() / counted.n.sum()))  # type: ignore[attr-defined]
    return None
