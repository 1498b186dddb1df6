"""Tests of densities and class probabilities of rows, and all tests of a comparison."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from bayesnb.checks.same_draws import (
    COLUMNS,
    Z_COLUMNS,
    dependence,
    ess_and_z,
    legendre,
    marginal_frame,
    ranks_among,
    without_cdf,
)
from bayesnb.core.arrays import stacked
from bayesnb.core.running import as_key, random_generator, split, steps
from bayesnb.model.blocks import ModelParameters
from bayesnb.model.reading import log_normalised
from bayesnb.posterior.base import mean_total_count
from bayesnb.posterior.diagnostics import ess_of_mean
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.posterior.under_draws import flatten

__all__ = ["log_densities", "probability_frame", "rows_of", "run_battery"]

# --------------------------------------------------------------------------------------------------
# Log densities of data under draws and under independent draws from the closed form
# --------------------------------------------------------------------------------------------------

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


# --------------------------------------------------------------------------------------------------
# Predicted class probabilities: draws against the closed form
# --------------------------------------------------------------------------------------------------

DRAWS_OF_PROBABILITIES, CELLS_OF_PROBABILITIES = 16_000, 2**25
"""Independent draws from the closed form, and the most numbers that they may take together."""


def probability_frame(
    exact: ExactPosterior, sampled: SampledPosterior, X: Any, key: Any, rng: np.random.Generator
) -> pd.DataFrame:
    """Class probabilities of rows by both posteriors.

    Two questions are asked of each row and class. ``z`` compares the predicted probabilities: a probability by draws is
    a ratio of two means of densities. Where a few draws carry most of a density (small concentrations, rare cells),
    that ratio is far from normal, and no sample shows how far. ``z`` is therefore not a test. The tests use the ranks
    of p(y=c | x, theta) among those of independent exact draws, which are bounded and need no moments: their location,
    ``z_rank``, and their spread, ``z_rank_spread``.

    Parameters
    ----------
    exact : ExactPosterior
    sampled : SampledPosterior
    X : table, shape (rows, columns)
        At least one row.
    key : JAX key
        For draws from the closed form.
    rng : numpy.random.Generator
        For ties among ranks.

    Returns
    -------
    pandas.DataFrame
        By row and class: ``exact``, ``sampled``, ``mcse`` (delta method), ``z``, ``z_rank``, ``z_rank_spread`` and the
        ``ess`` behind each of these two; NaN where the probability is certain.

    Raises
    ------
    ValueError
        If X has no rows.
    """
    truth = exact.predict_proba(X)
    if not truth.size:
        raise ValueError("X has no rows: give at least one, or leave X out")
    log_joint = sampled.log_joint_draws(X)
    excess = _excess(log_joint, truth)
    mcse = excess.std(axis=(0, 1)) / np.sqrt(np.minimum(ess_of_mean(excess), excess.shape[0] * excess.shape[1]))
    difference = excess.mean(axis=(0, 1))
    moving = mcse > 1e-12
    ranks = _by_ranks(_log_proba(log_joint), _exact_log_proba(exact, X, truth.size, key), rng)
    columns = {
        "exact": truth.ravel(),
        "sampled": truth.ravel() + difference,
        "mcse": mcse,
        "z": np.where(moving, difference / np.where(moving, mcse, 1.0), 0.0),
        **ranks,
    }
    index = pd.MultiIndex.from_product([range(len(truth)), exact.classes.tolist()], names=["row", "class"])
    return pd.DataFrame(columns, index=index)


def _excess(log_joint: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Each draw's part in the difference of a class probability from the exact one, shape (chain, draw, cells).

    Its mean over the draws is the difference.
    """
    weight = np.exp(log_joint - log_joint.max(axis=(0, 1, 3), keepdims=True))
    total = weight.sum(axis=3, keepdims=True)
    excess = (weight - truth * total) / total.mean(axis=(0, 1))
    return excess.reshape(*weight.shape[:2], -1)


def _log_proba(log_joint: np.ndarray) -> np.ndarray:
    """Log p(y=c | x, theta), shape (chain, draw, cells)."""
    flat = log_normalised(log_joint.reshape(-1, log_joint.shape[-1]))
    return flat.reshape(*log_joint.shape[:2], -1)


def _exact_log_proba(exact: ExactPosterior, X: Any, cells: int, key: Any) -> np.ndarray:
    """Log p(y=c | x, theta) under independent draws from the closed form, shape (draws, cells)."""
    number = max(1000, min(DRAWS_OF_PROBABILITIES, CELLS_OF_PROBABILITIES // cells))
    return _log_proba(exact.log_joint_draws(X, num_chains=1, num_draws=number, key=key))[0]


def _by_ranks(values: np.ndarray, reference: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Tests of the ranks of each cell, NaN where the reference does not vary."""
    with np.errstate(invalid="ignore"):
        varied = ~(np.ptp(reference, axis=0) <= 1e-12 * np.abs(reference).max(axis=0))
    u = ranks_among(reference[:, varied], values[:, :, varied], rng)
    found: dict[str, np.ndarray] = {}
    for name, degree in (("z_rank", 1), ("z_rank_spread", 2)):
        ess, z = np.full((2, values.shape[2]), np.nan)
        ess[varied], z[varied] = ess_and_z(legendre(u, degree), variance=1 / len(reference))
        found |= {name: z, f"ess_of_{name}": ess}
    return found


# --------------------------------------------------------------------------------------------------
# The tests of a comparison, for quantities of draws whose distribution is known if the draws are right.
#
# There are four parts: every parameter on its own; densities, which depend on many parameters at once; the
# independence of parameters that the exact posterior makes independent; and the class probabilities of given rows.
# Each part takes an equal share of the error rate, and inside a part the share is divided evenly among the tests
# (Bonferroni).
# --------------------------------------------------------------------------------------------------

OWN_STREAM = 2**31 - 1
"""Makes the random numbers differ from those of other functions with the same key, whose draws may be tested here."""

TEST_COLUMNS = ["part", "quantity", "test", "z", "p_value", "ess", "against"]
PART_COLUMNS = ["num_tests", "critical_z", "num_against", "largest_z", "least_ess"]


class Battery(NamedTuple):
    """Results of the tests.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each scalar parameter.
    probabilities : pandas.DataFrame or None
        A row for each given row and class.
    parts : pandas.DataFrame
        A row for each part.
    tests : pandas.DataFrame
        A row for each test.
    """

    table: pd.DataFrame
    probabilities: pd.DataFrame | None
    parts: pd.DataFrame
    tests: pd.DataFrame


def run_battery(
    exact: ExactPosterior, sampled: SampledPosterior, X: Any, *, error_rate: float, key: Any, progress: bool | None
) -> Battery:
    """Test the draws.

    Parameters
    ----------
    exact : ExactPosterior
    sampled : SampledPosterior
    X : table, shape (rows, columns), or None
    error_rate : float
    key : int or JAX key
        For the draws from the closed form and for simulated rows.
    progress : bool or None
        Whether to show a progress bar; as for `progress_bar`.

    Raises
    ------
    ValueError
        If every parameter is certain.
    """
    key_of_rows, key_of_draws, key_of_joints = split(jax.random.fold_in(as_key(key), OWN_STREAM), 3)
    rng = random_generator(key_of_draws)
    by_site = sampled.model.sites.by_name(sampled.parameters)
    parameters = exact.model.sites.parameters(by_site, exact.class_posterior.probs)
    with steps("compare", 4 if X is None else 5, progress) as begin:
        probabilities = None
        if X is not None:
            begin("class probabilities")
            probabilities = probability_frame(exact, sampled, X, key_of_joints, rng)
        begin("independent draws")
        if probabilities is None:
            rows = simulated_rows(exact, key_of_rows)
        else:
            rows = rows_of(exact, X, probabilities["exact"].to_numpy().reshape(-1, len(exact.classes)))
        marginals = exact.marginals()
        draws = sampled.num_chains * sampled.num_draws
        reference = exact_reference(exact, rows, rng, at_least=draws, sites=without_cdf(marginals))
        begin("parameters")
        frame = marginal_frame(sampled, marginals, reference.sites, rng)
        if frame.empty:
            raise ValueError(
                "every parameter is certain (one class, columns of one category): there is nothing to compare"
            )
        found = [_parameters(frame)]
        begin("densities")
        found.append(_densities(log_densities(exact, parameters, rows), reference.densities, rows, rng))
        begin("dependence")
        found.append(_dependence(exact, parameters, rng))
        if probabilities is not None:
            found.append(_probabilities(probabilities))
    parts, tests = _judged([part for part in found if part.number], error_rate)
    return Battery(frame[list(COLUMNS)], probabilities, parts, tests)


class _Part(NamedTuple):
    """Tests that share one part of the error rate; `number` also counts tests left out because their z is smaller."""

    name: str
    tests: pd.DataFrame
    number: int


def _parameters(frame: pd.DataFrame) -> _Part:
    pieces = [
        _tests(frame.index, test, frame[z], frame[f"ess_of_{z}"])
        for z, test in zip(Z_COLUMNS, ("mean", "spread", "skewness", "tails"), strict=True)
    ]
    return _Part("parameters", pd.concat(pieces), len(pieces) * len(frame))


def _densities(densities: np.ndarray, reference: np.ndarray, rows: Rows, rng: np.random.Generator) -> _Part:
    """Ranks of the log densities among those of independent draws, without densities that do not vary."""
    with np.errstate(invalid="ignore"):
        varied = ~(np.ptp(reference, axis=0) <= 1e-12 * np.abs(reference).max(axis=0))
    names = np.array(["log likelihood", *(f"log density of {name}" for name in rows.names)], dtype=object)[varied]
    u = ranks_among(reference[:, varied], densities[:, :, varied], rng)
    pieces = []
    for test, degree in (("mean", 1), ("spread", 2)):
        ess, z = ess_and_z(legendre(u, degree), variance=1 / len(reference))
        pieces.append(_tests(names, test, z, ess))
    return _Part("densities", pd.concat(pieces), 2 * len(names))


def _dependence(exact: ExactPosterior, parameters: ModelParameters, rng: np.random.Generator) -> _Part:
    found = dependence(exact, parameters, rng)
    if not found:
        return _Part("dependence", pd.DataFrame(), 0)
    pieces = []
    for products in found:
        ess, z = ess_and_z(products.series)
        pieces.append(_tests(products.names, products.test, z, ess))
    return _Part("dependence", pd.concat(pieces), sum(products.number for products in found))


def _probabilities(frame: pd.DataFrame) -> _Part:
    varied = frame[frame["z_rank"].notna()]
    names = [f"class {label} of row {row}" for row, label in varied.index]
    pieces = [
        _tests(names, test, varied[z], varied[f"ess_of_{z}"])
        for z, test in (("z_rank", "mean"), ("z_rank_spread", "spread"))
    ]
    return _Part("probabilities", pd.concat(pieces), 2 * len(varied))


def _tests(quantities: Any, test: str, z: Any, ess: Any) -> pd.DataFrame:
    columns = {"quantity": list(quantities), "test": test, "z": np.asarray(z), "ess": np.asarray(ess)}
    return pd.DataFrame(columns)


def _judged(parts: list[_Part], error_rate: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row for each part and a row for each test, with their shares of the error rate."""
    summary, tests = [], []
    for name, found, number in parts:
        critical_z = float(-ndtri(error_rate / len(parts) / number / 2))
        z = found["z"].abs()
        against = z > critical_z
        summary.append((name, number, critical_z, int(against.sum()), z.max(), found["ess"].min()))
        tests.append(found.assign(part=name, p_value=2 * ndtr(-z), against=against))
    frame = pd.DataFrame(summary, columns=["part", *PART_COLUMNS]).set_index("part")
    return frame, pd.concat(tests, ignore_index=True)[TEST_COLUMNS]
