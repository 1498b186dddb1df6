"""Parameters and missing labels found together: expectation-maximisation."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce

import numpy as np
from scipy.special import logsumexp, softmax

from bayesnb.arrays import in_float64, log
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.inference.base import ConvergenceWarning
from bayesnb.model.bound import BoundModel
from bayesnb.parallel import in_order
from bayesnb.problem import Problem
from bayesnb.unlabelled import Unlabelled
from bayesnb.warn import warn

__all__ = [
    "TOLERANCE",
    "Estimate",
    "chain_quantiles",
    "expected_statistics",
    "first_responsibilities",
    "iterate",
    "label_log_joint",
    "maximise",
    "probabilities",
]

STARTS = 10
"""Number of random starts if a class has no labelled row; the best one is used."""

START_STEPS = 20
"""Steps from each start, parameters integrated out, before the best is chosen."""

START_ROWS = 20_000
"""Rows of the short runs, drawn at random where there are more."""

SPREAD_POWER = 0.5
"""Power of the density that weights the starts of chains: wider than the posterior, but not where none of it is."""

TOLERANCE = 1e-7
"""The iteration ends when no probability of a label changes by more."""

Estimate = Callable[[ModelStatistics], ModelParameters]
"""The point estimate from statistics in which every row has a label, or shares of labels."""


def label_log_joint(model: BoundModel, unlabelled: Unlabelled, parameters: ModelParameters) -> np.ndarray:
    """Log density of each unlabelled row and each class given parameters, shape (..., rows, classes)."""
    pieces = in_order(lambda rows: model.log_joint(parameters, unlabelled.cells(rows)), unlabelled.slices)
    return np.concatenate(list(pieces), axis=-2)


def probabilities(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the labels, and the log densities of the rows, from log joint densities (..., rows, classes).

    They are computed class by class, because short rows cost NumPy more than their numbers do.
    """
    by_class = np.moveaxis(joint, -1, 0)
    highest = reduce(np.maximum, by_class)
    weights = [np.exp(of_class - highest) for of_class in by_class]
    total = reduce(np.add, weights)
    result = np.empty(joint.shape)
    for c, weight in enumerate(weights):
        np.divide(weight, total, out=result[..., c])
    return result, highest + np.log(total)


@in_float64
def first_responsibilities(problem: Problem, rng: np.random.Generator, quantile: float = 0.0) -> np.ndarray:
    """Probabilities of the missing labels, near an optimum, shape (rows, classes).

    They are the guess that comes with the rows, if there is one. Otherwise they start at the predictions from the
    labelled rows. A class without a labelled row starts at one unlabelled row drawn at random, because classes with
    equal priors would otherwise stay equal. Of ten such starts, with twenty steps each, the one with the highest
    predictive density of the unlabelled rows is used (short runs of EM: Biernacki, Celeux and Govaert 2003,
    *Computational Statistics and Data Analysis* 41, 561-575). These steps take 20,000 of the unlabelled rows, drawn at
    random, if there are more. The parameters are integrated out in them, so that no probability stays at zero.

    A chain starts at a quantile of these starts, the highest first, each weighted by the square root of that density.
    Chains that all start at the highest would agree, wherever the rest of the posterior is.
    """
    rows = problem.unlabelled
    assert rows is not None
    if rows.guess is not None:
        return rows.guess
    some = rows
    if len(rows) > START_ROWS:
        some = rows.take(np.sort(rng.choice(len(rows), size=START_ROWS, replace=False)))
    without = np.flatnonzero(problem.statistics.classes.n == 0)
    scored = []
    for _ in range(STARTS if without.size else 1):
        seeds = rng.choice(
            len(some), size=min(without.size, len(some)), replace=False, p=some.weights / some.weights.sum()
        )
        membership = np.zeros((len(some), len(problem.statistics.classes.n)))
        membership[seeds, without[: len(seeds)]] = 1.0
        joint = _predictive(problem, some, membership, some)
        for _ in range(START_STEPS):
            membership = softmax(joint, axis=-1) * some.weights[:, None]
            joint = _predictive(problem, some, membership, some)
        scored.append((float(some.weights @ logsumexp(joint, axis=-1)), membership))
    heights = np.array([height for height, _ in scored])
    order = np.argsort(-heights)
    chosen = order[np.searchsorted(np.cumsum(softmax(heights[order] * SPREAD_POWER)), quantile)]
    return softmax(_predictive(problem, some, scored[chosen][1], rows), axis=-1)


def chain_quantiles(number: int) -> np.ndarray:
    """Where each chain starts, for `first_responsibilities`."""
    return (np.arange(number) + 0.5) / number


def _predictive(problem: Problem, counted_rows: Unlabelled, membership: np.ndarray, rows: Unlabelled) -> np.ndarray:
    """Log predictive density of rows with each class, given the labelled rows and the weights of others in classes."""
    model = problem.resolved
    counted = problem.statistics + counted_rows.count(model, membership)
    total = np.tile(log(model.class_prior.update(counted.classes).mean()), (len(rows), 1))
    for i, (family, statistics) in enumerate(zip(model.families, counted.blocks, strict=True)):
        if isinstance(family, ConjugateFamily):
            density = family.update(statistics).row_log_predictive
        else:
            estimate = family.maximum_a_posteriori(statistics)
            if estimate is None:
                continue

            def density(x: object, family: object = family, estimate: object = estimate) -> np.ndarray:
                return family.row_log_likelihood(estimate, x)  # type: ignore[attr-defined]

        for piece, chunk in rows.pieces():
            total[piece] += np.asarray(density(chunk[i]))
    return total


def expected_statistics(problem: Problem, responsibilities: np.ndarray) -> ModelStatistics:
    """Statistics of all rows, given the probabilities of the missing labels, shape (rows, classes)."""
    rows = problem.unlabelled
    assert rows is not None
    counted = problem.statistics + rows.count(problem.resolved, responsibilities * rows.weights[:, None])
    # Sums of probabilities round: of cells that are all ones, the total may exceed the weight by 1e-16.
    return replace(counted, blocks=tuple(statistics.without_rounding(statistics) for statistics in counted.blocks))


def iterate(problem: Problem, estimate: Estimate, rng: np.random.Generator) -> Iterator[tuple[ModelParameters, float]]:
    """The steps of EM.

    Yields
    ------
    tuple of ModelParameters and float
        The estimate given the labels' probabilities, and the largest change of these probabilities that follows.
    """
    rows = problem.unlabelled
    assert rows is not None
    responsibilities = first_responsibilities(problem, rng)
    while True:
        parameters = estimate(expected_statistics(problem, responsibilities))
        before = responsibilities
        responsibilities = softmax(label_log_joint(problem.resolved, rows, parameters), axis=-1)
        yield parameters, float(np.abs(responsibilities - before).max())


def maximise(problem: Problem, estimate: Estimate, rng: np.random.Generator, max_iterations: int) -> ModelParameters:
    """Parameters at a local maximum of the density with the missing labels summed out.

    Warns
    -----
    ConvergenceWarning
        If the probabilities of the labels still change after the last iteration.
    """
    steps = iterate(problem, estimate, rng)
    for _ in range(max_iterations):
        parameters, change = next(steps)
        if change <= TOLERANCE:
            return parameters
    warn(
        f"EM: after {max_iterations} iterations the probability of a label still changes by {change:.2g}; raise "
        "max_iterations",
        ConvergenceWarning,
    )
    return parameters
