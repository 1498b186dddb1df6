"""Log densities of data under draws and under independent draws from the closed form."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.densities_under_draws import flatten
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.simulate import mean_total_count
from bayesnb.sparse import stacked

__all__ = ["Reference", "Rows", "exact_reference", "log_densities", "rows_of", "simulated_rows"]

NUM_ROWS = 6
"""Rows whose log density is tested."""

EXACT_DRAWS = 40_000
"""Number of independent draws from the closed form; their error is small relative to that of the tested draws."""

EXACT_CELLS = 2**26
"""Largest number of values drawn. Models of thousands of parameters get fewer exact draws; the tests allow for that."""

PIECE_CELLS = 2**20
"""Values of parameters in memory at a time."""


@dataclass(frozen=True)
class Rows:
    """Encoded rows with a label each."""

    chunk: tuple[Any, ...]
    codes: np.ndarray
    names: tuple[str, ...]


def rows_of(exact: ExactPosterior, X: Any, probabilities: np.ndarray) -> Rows:
    """Six rows of X, or all if there are fewer, each with its most probable class."""
    chosen = np.unique(np.linspace(0, len(probabilities) - 1, NUM_ROWS).round().astype(int))
    pieces = []
    for rows, chunk in exact.model.read(X).encoded():
        inside = chosen[(chosen >= rows.start) & (chosen < rows.stop)] - rows.start
        pieces.append(tuple(x[inside] for x in chunk))
    chunk = tuple(map(stacked, zip(*pieces, strict=True)))
    return Rows(chunk, probabilities[chosen].argmax(axis=1), tuple(f"row {row}" for row in chosen))


def simulated_rows(exact: ExactPosterior, key: Any) -> Rows:
    """Six rows and labels from the exact posterior predictive distribution."""
    X, y = exact.simulate(NUM_ROWS, key=key, total_count=mean_total_count(exact.problem) or 1)
    chunk = exact.model.read(X).whole()
    position = {label: code for code, label in enumerate(exact.classes.tolist())}
    codes = np.array([position[label] for label in y.tolist()])
    return Rows(chunk, codes, tuple(f"simulated row {row}" for row in range(NUM_ROWS)))


def log_densities(exact: ExactPosterior, parameters: ModelParameters, rows: Rows) -> np.ndarray:
    """Log likelihood of the data and log p(x_i, y_i | theta) of each row, shape (..., 1 + rows).

    Parameters
    ----------
    exact : ExactPosterior
        Gives the model and the data.
    parameters : ModelParameters
        Draws, any leading axes.
    rows : Rows
    """
    flat = flatten(parameters)
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(flat)) // len(flat.class_prob)
    step = max(1, PIECE_CELLS // size)
    found = np.empty((len(flat.class_prob), 1 + len(rows.codes)))
    for start in range(0, len(found), step):
        piece = jax.tree.map(lambda value, start=start: value[start : start + step], flat)
        found[start : start + step, 0] = exact.model.log_density(piece, exact.problem.statistics)
        joint = exact.model.log_joint(piece, rows.chunk)
        found[start : start + step, 1:] = joint[:, np.arange(len(rows.codes)), rows.codes]
    return found.reshape(*parameters.class_prob.shape[:-1], -1)


@dataclass(frozen=True)
class Reference:
    """Log densities and values of sites under independent draws from the closed form.

    Attributes
    ----------
    densities : array, shape (draws, 1 + rows)
        See `log_densities`.
    sites : mapping
        Draws of the sites that were asked for, shape (draws, ...).
    """

    densities: np.ndarray
    sites: Mapping[str, np.ndarray]


def exact_reference(
    exact: ExactPosterior, rows: Rows, rng: np.random.Generator, *, at_least: int, sites: list[str]
) -> Reference:
    """Independent draws from the closed form, 40,000 unless there are very many parameters.

    Parameters
    ----------
    exact : ExactPosterior
    rows : Rows
    rng : numpy.random.Generator
    at_least : int
        Smallest number of draws, for any number of parameters.
    sites : list of str
        Sites whose draws are kept.
    """
    densities, kept = [], []
    for parameters in _exact_draws(exact, rng, at_least):
        densities.append(log_densities(exact, parameters, rows))
        values = exact.model.sites.by_name(parameters)
        kept.append([values[site] for site in sites])
    by_site = [np.concatenate(pieces) for pieces in zip(*kept, strict=True)]
    return Reference(np.concatenate(densities), dict(zip(sites, by_site, strict=True)))


def _exact_draws(exact: ExactPosterior, rng: np.random.Generator, at_least: int) -> Iterator[ModelParameters]:
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(exact.mean_parameters()))
    number = max(at_least, min(EXACT_DRAWS, EXACT_CELLS // size))
    step = max(1, PIECE_CELLS // size)
    for start in range(0, number, step):
        yield exact.draw_parameters(rng, (min(step, number - start),))
