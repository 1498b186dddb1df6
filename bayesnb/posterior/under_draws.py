"""Densities of rows under draws of the parameters."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from scipy.special import entr, logsumexp

from bayesnb.core.arrays import log
from bayesnb.model.blocks import ModelParameters
from bayesnb.model.bound import BoundModel
from bayesnb.model.reading import Cells, normalise, warn_lost

# --------------------------------------------------------------------------------------------------
# Densities of rows under draws of the parameters
# --------------------------------------------------------------------------------------------------

DRAW_BYTES = 2**26
"""Memory for the densities of many draws at a time."""


def log_joint_under(model: BoundModel, X: Any, parameters: ModelParameters) -> np.ndarray:
    """Log density of each row together with each class, under each draw of the parameters.

    Parameters
    ----------
    model : BoundModel
    X : table, shape (rows, columns)
    parameters : ModelParameters
        Leading axes (chain, draw).

    Returns
    -------
    array, shape (chain, draw, rows, classes)
    """
    *leading, num_classes = parameters.class_prob.shape
    found = model.read(X).fill(partial(_put_joint, model, parameters), num_classes, leading=(int(np.prod(leading)),))
    return found.reshape(*leading, *found.shape[1:])


def _put_joint(model: BoundModel, parameters: ModelParameters, cells: Cells, out: np.ndarray) -> None:
    """Write log joint densities into an array, shape (draws, rows, classes)."""
    start = 0
    for piece in in_pieces(parameters, cells):
        stop = start + len(piece.class_prob)
        out[start:stop] = model.log_joint(piece, cells)
        start = stop


def uncertainty_under(model: BoundModel, X: Any, parameters: ModelParameters) -> np.ndarray:
    """Entropy in nats of each row's label, and the mean entropy under the draws, shape (rows, 2).

    The first is never the smaller one, because entropy is concave.
    """
    number = parameters.class_prob[..., 0].size

    def put(cells: Cells, out: np.ndarray) -> None:
        mean, out[:, 1] = np.zeros(()), 0.0
        for piece in in_pieces(parameters, cells):
            proba = np.exp(normalise(model.log_joint(piece, cells), piece.class_prob[:, None, :]))
            mean = mean + proba.sum(axis=0) / number
            out[:, 1] += entr(proba).sum(axis=(0, 2)) / number
        out[:, 0] = np.maximum(entr(mean).sum(axis=-1), out[:, 1])

    return model.read(X).fill(put, 2)


def proba_quantiles_under(
    model: BoundModel, X: Any, parameters: ModelParameters, levels: Sequence[float]
) -> np.ndarray:
    """Quantiles over draws of the class probabilities of each row, shape (rows, classes, levels).

    The draws of a few rows are in memory at a time.

    Parameters
    ----------
    model, X, parameters
        As for `log_joint_under`.
    levels : sequence of float
    """
    flat = flatten(parameters)
    num_draws, num_classes = flat.class_prob.shape
    step = max(1, DRAW_BYTES // (8 * num_draws * num_classes))
    chunks = model.read(X)
    result = np.empty((chunks.table.num_rows, num_classes, len(levels)))
    lost: list[tuple[int, int]] = []

    def of_chunk(rows: slice, cells: Cells) -> None:
        for start in range(rows.start, rows.stop, step):
            stop = min(start + step, rows.stop)
            # NumPy sorts a contiguous axis several times as fast as it finds two quantiles on another.
            proba = np.empty((num_classes, stop - start, num_draws))
            _put_joint(model, flat, tuple(x[start - rows.start : stop - rows.start] for x in cells), proba.T)
            highest = proba.max(axis=0)
            impossible = np.isneginf(highest)
            if impossible.any():
                some_lost = np.flatnonzero(impossible.any(axis=1))
                lost.append((start + int(some_lost[0]), len(some_lost)))
                proba = np.where(impossible, log(flat.class_prob).T[:, None], proba)
                highest[impossible] = 0.0
            proba -= highest
            np.exp(proba, out=proba)
            proba /= proba.sum(axis=0)
            proba.sort(axis=-1)
            result[start:stop] = np.quantile(proba, levels, axis=-1, overwrite_input=True).T

    chunks.each(of_chunk)
    if lost:
        warn_lost(sum(number for _, number in lost), min(first for first, _ in lost))
    return result


def flatten(parameters: ModelParameters) -> ModelParameters:
    """Chain and draw axes as one."""
    shape = parameters.class_prob.shape[:-1]

    def flat(value: Any) -> np.ndarray:
        array = np.asarray(value)
        return array.reshape(int(np.prod(shape)), *array.shape[len(shape) :])

    return jax.tree.map(flat, parameters)


def in_pieces(parameters: ModelParameters, chunk: tuple[Any, ...]) -> Iterator[ModelParameters]:
    """Draws, chain and draw axes as one, a memory-sized number at a time."""
    flat = flatten(parameters)
    num_classes = flat.class_prob.shape[1]
    cells = sum(x.shape[0] * x.shape[1] for x in chunk) * num_classes
    yield from _some_draws(flat, max(1, DRAW_BYTES // max(8 * cells, 1)))


def _some_draws(flat: ModelParameters, step: int) -> Iterator[ModelParameters]:
    for start in range(0, len(flat.class_prob), step):
        piece = slice(start, start + step)
        yield jax.tree.map(lambda value, piece=piece: value[piece], flat)


PARAMETER_CELLS = 2**20
"""Values of parameters in memory at a time."""


def draws_in_pieces(parameters: ModelParameters) -> Iterator[ModelParameters]:
    """Draws, chain and draw axes as one, as many at a time as have so many values."""
    flat = flatten(parameters)
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(flat)) // len(flat.class_prob)
    yield from _some_draws(flat, max(1, PARAMETER_CELLS // size))


def independent_draws(posterior: Any, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
    """Draws from a posterior in closed form, one leading axis, as many at a time as have so many values."""
    # The hyperparameters are about as many as the parameters, whose mean may not exist.
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(posterior.closed_form))
    step = max(1, PARAMETER_CELLS // size)
    for start in range(0, number, step):
        yield posterior.closed_form.draw(rng, (min(step, number - start),))


# --------------------------------------------------------------------------------------------------
# Averages over draws, of some rows at a time
# --------------------------------------------------------------------------------------------------

ROWS = 256
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
    with np.errstate(divide="ignore"):
        return np.log(np.exp(joint, out=joint).sum(axis=0)) + highest


def log_mean_without(densities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Log densities given the other rows, shape (rows, classes), from those under draws (draws, rows, classes)."""
    found = logsumexp(densities, axis=0) - np.log(len(densities))
    own = np.ascontiguousarray(densities[:, np.arange(len(codes)), codes].T)
    varies = own.max(axis=-1) > own.min(axis=-1)  # a missing cell has density one under all draws
    # A closed form does without ArviZ, whose import takes a second.
    from arviz_stats.base import array_stats

    # ArviZ takes log likelihoods and changes their sign.
    log_weights, _ = array_stats.psislw(own[varies])
    found[np.flatnonzero(varies), codes[varies]] = logsumexp(log_weights + own[varies], axis=-1)
    return found
