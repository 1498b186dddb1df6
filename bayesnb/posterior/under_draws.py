"""Densities of rows under draws of the parameters."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import entr, logsumexp

from bayesnb.core.arrays import log
from bayesnb.core.deferred import in_float64, leaves, map_tree
from bayesnb.core.plain_formulas import warn_lost
from bayesnb.core.running import progress_if_long, results_in_order
from bayesnb.data.tables import Table
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters, Prior

# --------------------------------------------------------------------------------------------------
# Densities of rows under draws of the parameters
# --------------------------------------------------------------------------------------------------

DRAW_BYTES = 2**23
"""Memory of each thread for the densities of many draws."""


def log_joint_under(model: BoundModel, table: Table, parameters: ModelParameters) -> np.ndarray:
    """Log density of each row with each class under each draw, shape (chain, draw, rows, classes).

    The parameters have the leading axes (chain, draw).
    """
    return _under_each_draw(_each_joint, model, table, parameters)


def proba_under(model: BoundModel, table: Table, parameters: ModelParameters) -> np.ndarray:
    """As `log_joint_under`, class probabilities."""
    return _under_each_draw(_each_proba, model, table, parameters)


def _under_each_draw(each: Callable, model: BoundModel, table: Table, parameters: ModelParameters) -> np.ndarray:
    *leading, num_classes = parameters.class_prob.shape
    found = np.empty((math.prod(leading), table.num_rows, num_classes))

    def put(rows: slice, values: np.ndarray) -> None:
        found[:, rows] = values.T

    each(model, table, parameters, put)
    return found.reshape(*leading, *found.shape[1:])


@in_float64
def _each_joint(
    model: BoundModel, table: Table, parameters: ModelParameters, function: Callable[[slice, np.ndarray], None]
) -> None:
    """Call a function with some rows at a time and their log joint densities (classes, rows, draws), in threads."""
    flat = flatten(parameters)
    step = max(1, DRAW_BYTES // (8 * flat.class_prob.size))

    def pieces() -> Iterator[tuple[slice, int, Callable[[slice], np.ndarray]]]:
        for rows, cells in model.read(table).encoded():
            of_rows = model.joint_of_rows(flat, cells)
            for start in range(rows.start, rows.stop, step):
                yield slice(start, min(start + step, rows.stop)), rows.start, of_rows

    def of_piece(piece: tuple[slice, int, Callable[[slice], np.ndarray]]) -> int:
        rows, first, of_rows = piece
        function(rows, np.ascontiguousarray(of_rows(slice(rows.start - first, rows.stop - first)).T))
        return rows.stop - rows.start

    size = table.num_rows * flat.class_prob.size
    with progress_if_long("densities under draws", "row", table.num_rows, size) as count:
        for number in results_in_order(of_piece, pieces()):
            count(number)


def _each_proba(
    model: BoundModel, table: Table, parameters: ModelParameters, function: Callable[[slice, np.ndarray], None]
) -> None:
    """As `_each_joint`, with class probabilities; where no class is possible, those of the draw, with a warning."""
    by_class = log(flatten(parameters).class_prob).T[:, None]
    lost: list[tuple[int, int]] = []

    def of_piece(rows: slice, proba: np.ndarray) -> None:
        highest = proba.max(axis=0)
        impossible = np.isneginf(highest)
        if impossible.any():
            some_lost = np.flatnonzero(impossible.any(axis=1))
            lost.append((rows.start + int(some_lost[0]), len(some_lost)))
            proba = np.where(impossible, by_class, proba)
            highest[impossible] = 0.0
        proba -= highest
        np.exp(proba, out=proba)
        proba /= proba.sum(axis=0)
        function(rows, proba)

    _each_joint(model, table, parameters, of_piece)
    if lost:
        warn_lost(sum(number for _, number in lost), min(first for first, _ in lost))


def uncertainty_under(model: BoundModel, table: Table, parameters: ModelParameters) -> np.ndarray:
    """Entropy in nats of each row's label, and the mean entropy under the draws, shape (rows, 2).

    The first is never the smaller one, because entropy is concave.
    """
    result = np.empty((table.num_rows, 2))

    def put(rows: slice, proba: np.ndarray) -> None:
        result[rows, 1] = entr(proba).sum(axis=0).mean(axis=-1)
        result[rows, 0] = np.maximum(entr(proba.mean(axis=-1)).sum(axis=0), result[rows, 1])

    _each_proba(model, table, parameters, put)
    return result


def proba_quantiles_under(
    model: BoundModel, table: Table, parameters: ModelParameters, levels: Sequence[float]
) -> np.ndarray:
    """Quantiles over draws of the class probabilities of each row, shape (rows, classes, levels).

    Parameters
    ----------
    model, table, parameters
        As for `log_joint_under`.
    levels : sequence of float
    """
    *leading, num_classes = parameters.class_prob.shape
    number = math.prod(leading)
    result = np.empty((table.num_rows, num_classes, len(levels)))
    place = np.asarray(levels) * (number - 1)
    below = place.astype(int)
    above = np.minimum(below + 1, number - 1)

    def put(rows: slice, proba: np.ndarray) -> None:
        # NumPy sorts a contiguous axis several times faster than it finds quantiles.
        proba.sort(axis=-1)
        lower, upper = (np.moveaxis(proba[..., where], 0, 1) for where in (below, above))
        result[rows] = lower + (place - below) * (upper - lower)

    _each_proba(model, table, parameters, put)
    return result


def flatten(parameters: ModelParameters) -> ModelParameters:
    """Chain and draw axes as one."""
    shape = parameters.class_prob.shape[:-1]

    def flat(value: Any) -> np.ndarray:
        return np.asarray(value).reshape(math.prod(shape), *np.shape(value)[len(shape) :])

    return map_tree(flat, parameters)


def draws_for_chunk(parameters: ModelParameters, chunk: tuple[Any, ...]) -> Iterator[ModelParameters]:
    """Draws, chain and draw axes merged, as many at a time as fit in memory."""
    cells = sum(x.shape[0] * x.shape[1] for x in chunk) * parameters.class_prob.shape[-1]
    yield from _some_draws(parameters, max(1, DRAW_BYTES // max(8 * cells, 1)))


def _some_draws(parameters: ModelParameters, step: int) -> Iterator[ModelParameters]:
    flat = flatten(parameters)
    for start in range(0, len(flat.class_prob), step):
        piece = slice(start, start + step)
        yield map_tree(lambda value, piece=piece: value[piece], flat)


PARAMETER_CELLS = 2**20
"""Number of parameter values in memory at a time."""


def draws_in_pieces(parameters: ModelParameters) -> Iterator[ModelParameters]:
    """Draws, chain and draw axes merged, in pieces of about `PARAMETER_CELLS` values."""
    size = sum(np.size(leaf) for leaf in leaves(parameters)) // math.prod(parameters.class_prob.shape[:-1])
    yield from _some_draws(parameters, max(1, PARAMETER_CELLS // size))


def independent_draws(prior: Prior, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
    """Draws from a closed form, one leading axis, as many at a time as have so many values."""
    # Hyperparameters are about as many as parameters, whose mean may not exist.
    size = sum(np.size(leaf) for leaf in leaves(prior))
    step = max(1, PARAMETER_CELLS // size)
    for start in range(0, number, step):
        yield prior.draw(rng, (min(step, number - start),))


# --------------------------------------------------------------------------------------------------
# Averages over draws, of some rows at a time
# --------------------------------------------------------------------------------------------------

ROWS = 128
"""Number of rows whose densities under all draws and one class are in memory at a time."""


def pieces_of_rows(num_rows: int) -> Iterator[slice]:
    """Slices of rows whose densities under all draws and one class are in memory at a time."""
    for start in range(0, num_rows, ROWS):
        yield slice(start, min(start + ROWS, num_rows))


def log_sum(joint: np.ndarray) -> np.ndarray:
    """Log of the sum of exponentials over the first axis; the argument is overwritten."""
    highest = joint.max(axis=0)
    highest[np.isneginf(highest)] = 0.0
    joint -= highest
    return log(np.exp(joint, out=joint).sum(axis=0)) + highest


def log_mean_without(densities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Log densities given the other rows, shape (rows, classes), from those under draws (draws, rows, classes)."""
    found = logsumexp(densities, axis=0) - np.log(len(densities))
    own = np.ascontiguousarray(densities[:, np.arange(len(codes)), codes].T)
    varies = own.max(axis=-1) > own.min(axis=-1)  # a missing cell has density one under all draws
    # A closed form does not import ArviZ, which takes a second.
    from arviz_stats.base import array_stats

    # ArviZ takes log likelihoods and changes their sign.
    log_weights, _ = array_stats.psislw(own[varies])
    found[np.flatnonzero(varies), codes[varies]] = logsumexp(log_weights + own[varies], axis=-1)
    return found
