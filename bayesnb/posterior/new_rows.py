"""New rows from the posterior predictive distribution."""

from typing import Any

import numpy as np

from bayesnb.core.arrays import dense
from bayesnb.data.read import as_table
from bayesnb.families.bins import Resolution, as_written
from bayesnb.model.problem import Problem
from bayesnb.model.program import draw_cells, draw_codes, to_table


def new_rows(
    posterior: Any, num_rows: int, like: Any, rng: np.random.Generator, total_count: Any
) -> tuple[Any, np.ndarray]:
    """A table and its labels; `Posterior.simulate` describes the arguments."""
    known = posterior.generative
    model = known.model
    if total_count is None:
        total_count = mean_total_count(known.problem)
    codes = draw_codes(known.class_probs(), num_rows, rng)
    cells = draw_cells(model.blocks, known.belief.draw_for_rows(codes, rng), num_rows, rng, total_count)
    if like is None:
        cells = [_within_bins(block.family, drawn) for block, drawn in zip(model.blocks, cells, strict=True)]
    else:
        observed = model.read(as_table(like)).whole()
        cells = [
            _as_rounded(drawn, dense(x)) if block.is_measured else drawn
            for block, drawn, x in zip(model.blocks, cells, observed, strict=True)
        ]
    return to_table(model.schema, model.blocks, cells), model.schema.classes[codes]


def _within_bins(family: Any, drawn: Any) -> Any:
    """For bins on a lattice, cells beyond them move to the nearest end: no data tell of other values."""
    inner = getattr(family, "family", family)
    step = getattr(inner, "step", 0.0)
    if not step:
        return drawn
    within = as_written(np.clip(drawn, inner.edges[0] + step / 2, inner.edges[-1] - step / 2), step)
    return within if inner is family else np.where(drawn == 0, 0.0, within)


def _as_rounded(drawn: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Cells with the resolution and range of the observed ones, in columns where a value occurs twice."""
    seen = Resolution.of(observed)
    rounded = as_written(seen.round(drawn), np.where(seen.step > 0, seen.step, 1.0))
    return np.where(seen.tied, np.clip(rounded, seen.first, seen.last), drawn)


def mean_total_count(problem: Problem | None) -> int | None:
    """Mean total of the count vectors in the data, rounded; None without data or count vectors."""
    if problem is None:
        return None
    for block, counted in zip(problem.model.blocks, problem.statistics_to_pool, strict=True):
        if block.has_totals and counted.n.sum() > 0:  # type: ignore[attr-defined]
            return round(float(counted.total.sum() / counted.n.sum()))  # type: ignore[attr-defined]
    return None
