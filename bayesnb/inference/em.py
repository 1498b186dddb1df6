"""Expectation maximisation and point estimates."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from bayesnb.core.arrays import log, probabilities
from bayesnb.core.checking import warn, whole_number
from bayesnb.core.deferred import in_float64, to_numpy
from bayesnb.core.running import random_generator, results_in_order
from bayesnb.families.categories import dirichlet_mode
from bayesnb.families.conjugate import ConjugateFamily, abilities
from bayesnb.families.family import LIKELIEST, MODE
from bayesnb.families.statistics import ClassCounts, Statistics
from bayesnb.inference.exact import ConvergenceWarning, Inference
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem, Unlabelled, another_family, ways_to_fit, ways_to_posterior
from bayesnb.posterior.kinds import PointPosterior

# --------------------------------------------------------------------------------------------------
# Accelerated expectation-maximisation, over the probabilities of the missing labels
# --------------------------------------------------------------------------------------------------

TOLERANCE = 1e-7
"""Without its own tolerance, an iteration ends when no label probability changes by more than this."""

ROUNDING = 1e-13
"""Relative rounding error of the log posterior, a sum over all rows."""


@dataclass(frozen=True)
class Step:
    """One step of EM from given probabilities of the labels.

    Attributes
    ----------
    parameters : ModelParameters
        The estimate given the probabilities.
    log_posterior : float
        Log posterior density of the estimate, the labels summed out, up to a constant.
    responsibilities : array, shape (rows, classes)
        Probabilities of the labels given the estimate.
    """

    parameters: Any
    log_posterior: float
    responsibilities: np.ndarray


def climb(
    step: Callable[[np.ndarray], Step],
    start: np.ndarray,
    weights: np.ndarray,
    max_iterations: int,
    tolerance: float | None,
    *,
    accelerate: bool,
) -> tuple[Step, float]:
    """Steps until the log posterior no longer rises.

    Two steps of EM, from :math:`r_0` to :math:`r_1` to :math:`r_2`, give a point to jump to (SQUAREM with the step
    length S3: Varadhan and Roland 2008, *Scandinavian Journal of Statistics* 35(2), 335-353). The next step starts
    there. If its estimate has a lower log posterior than that of the second step, it is dropped, and the next step
    starts from :math:`r_2`. The log posterior therefore never falls.

    Parameters
    ----------
    step : callable
        Maps probabilities of the labels to a `Step`.
    start : array, shape (rows, classes)
    weights : array, shape (rows,)
        A row of weight w counts as w rows in the step length.
    max_iterations : int
        Largest number of steps, those that are dropped among them.
    tolerance : float or None
        The iteration ends when a step raises the log posterior by no more. None: it ends when a step changes no
        probability by more than 1e-7.
    accelerate : bool
        Whether to jump. Without it, these are the steps of plain EM.

    Returns
    -------
    tuple of Step and float
        The last step, and by how much it raises the log posterior: zero if the iteration has converged, infinity if it
        has had one step only.
    """
    before, current, rise, number = start, step(start), np.inf, 1
    while number < max_iterations:
        further = step(current.responsibilities)
        number += 1
        rise = further.log_posterior - current.log_posterior
        if tolerance is None:
            converged = np.abs(further.responsibilities - current.responsibilities).max() <= TOLERANCE
        else:
            converged = rise <= max(tolerance, ROUNDING * abs(further.log_posterior))
        if converged:
            return further, 0.0
        if accelerate and number < max_iterations:
            ahead = extrapolated(before, current.responsibilities, further.responsibilities, weights)
            jump = step(ahead)
            number += 1
            if jump.log_posterior >= further.log_posterior:
                before, current = ahead, jump
                continue
        before, current = current.responsibilities, further
    return current, rise


def extrapolated(first: np.ndarray, second: np.ndarray, third: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Probabilities of labels ahead of three in a row, each of shape (rows, classes), given weights of the rows."""

    def squared(difference: np.ndarray) -> float:
        return float(weights @ np.einsum("rc,rc->r", difference, difference))

    change = second - first
    bend = third - second - change
    curvature = squared(bend)
    length = max(1.0, np.sqrt(squared(change) / curvature)) if curvature > 0 else 1.0
    # A jump to zero might be final: without a prior, a value that no row of a class shows has probability zero.
    ahead = np.maximum(first + 2 * length * change + length**2 * bend, third**2)
    return ahead / ahead.sum(axis=-1, keepdims=True)


# --------------------------------------------------------------------------------------------------
# Parameters and missing labels found together: expectation-maximisation
# --------------------------------------------------------------------------------------------------

STARTS = 10
"""Number of random starts if a class has no labelled row; the best is used."""

START_STEPS = 20
"""Steps from each start, parameters integrated out, before the best is chosen."""

START_ROWS = 20_000
"""Largest number of rows in the short runs, a random subset of more."""

SPREAD_POWER = 0.5
"""Power of the density that weights the starts of chains: wider than the posterior, but not where none of it is."""


def label_log_joint(model: BoundModel, unlabelled: Unlabelled, parameters: ModelParameters) -> np.ndarray:
    """Log density of each unlabelled row and each class given parameters, shape (..., rows, classes)."""
    pieces = results_in_order(lambda rows: model.log_joint(parameters, unlabelled.cells(rows)), unlabelled.slices)
    return np.concatenate(list(pieces), axis=-2)


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
            density: Callable[[Any], Any] = family.update(statistics).row_log_predictive
        else:
            estimate = family.maximum_a_posteriori(statistics)
            if estimate is None:
                continue
            density = partial(family.row_log_likelihood, estimate)
        for piece in rows.slices:
            total[piece] += np.asarray(density(rows.cells(piece)[i]))
    return total


def _expected_statistics(problem: Problem, responsibilities: np.ndarray) -> ModelStatistics:
    """Statistics of all rows, given the probabilities of the missing labels, shape (rows, classes)."""
    rows = problem.unlabelled
    assert rows is not None
    counted = problem.statistics + rows.count(problem.resolved, responsibilities * rows.weights[:, None])
    # Sums of probabilities are rounded: the total of cells that are all ones may exceed the weight by 1e-16.
    return replace(counted, blocks=tuple(statistics.without_rounding(statistics) for statistics in counted.blocks))


# --------------------------------------------------------------------------------------------------
# Point estimates: maximum likelihood and maximum a posteriori
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _PointEstimate(Inference):
    """An estimate from statistics: those of the labelled rows, or of all rows by EM."""

    max_iterations: int = 2000

    def __post_init__(self) -> None:
        whole_number(f"{type(self).__name__}(max_iterations=...)", self.max_iterations)

    @in_float64
    def fit(self, problem: Problem, *, key: Any = 0) -> PointPosterior:
        self.check(problem)
        if problem.unlabelled is None:
            parameters = self._estimate(problem, problem.statistics)
        else:
            parameters = self._maximise(problem, random_generator(key))
        return PointPosterior(problem.resolved, parameters, problem, self)

    def _search(self) -> tuple[int, bool, float | None]:
        """Number of starts, whether to extrapolate, and the tolerance of `climb`."""
        return 1, True, None

    def _maximise(self, problem: Problem, rng: np.random.Generator) -> ModelParameters:
        """Parameters at a local maximum of the density with the missing labels summed out.

        Warns
        -----
        ConvergenceWarning
            If the last step still raises the density.
        """
        rows, model = problem.unlabelled, problem.resolved
        assert rows is not None
        num_starts, accelerate, tolerance = self._search()

        def step(responsibilities: np.ndarray) -> Step:
            parameters = self._estimate(problem, _expected_statistics(problem, responsibilities))
            after, of_rows = probabilities(label_log_joint(model, rows, parameters))
            density = float(of_rows @ rows.weights) + float(model.prior.log_likelihood(parameters, problem.statistics))
            return Step(parameters, density + self._log_prior(model, parameters), after)

        found = []
        for start in range(num_starts):
            here = problem if start == 0 else replace(problem, unlabelled=replace(rows, guess=None))
            first = first_responsibilities(here, rng)
            found.append(climb(step, first, rows.weights, self.max_iterations, tolerance, accelerate=accelerate))
        best, rise = max(found, key=lambda result: result[0].log_posterior)
        if rise > 0:
            warn(
                f"EM: after {self.max_iterations} iterations a step still raises the log density by {rise:.2g}; raise "
                "max_iterations",
                ConvergenceWarning,
            )
        return best.parameters

    def _log_prior(self, model: BoundModel, parameters: ModelParameters) -> float:
        """The prior's part of the density that is maximised."""
        return 0.0

    def _estimate(self, problem: Problem, statistics: ModelStatistics) -> ModelParameters:
        """The estimate from statistics; an error if it does not exist."""
        class_prob = self._class_prob(problem, statistics.classes)
        classes = problem.model.schema.classes.tolist()
        blocks = []
        for block, counted in zip(problem.resolved.blocks, statistics.blocks, strict=True):
            found, what = self._of_family(block.family, counted)
            estimate = to_numpy(found)
            for parameter, value in estimate.items():
                for c, j, *_ in np.argwhere(~np.isfinite(value)):
                    raise ValueError(
                        f"{block.owner(j)} in class {classes[c]!r}: the {what} estimate of {parameter!r} does not "
                        f"exist ({block.family.why_no_estimate[what]}); use {_full_inferences(problem)}"
                        f"{' or another prior' * (what == MODE)}"
                    )
            blocks.append(estimate)
        return ModelParameters(class_prob, tuple(blocks))

    @abstractmethod
    def _class_prob(self, problem: Problem, counts: ClassCounts) -> np.ndarray:
        """The estimate of the class probabilities."""

    @abstractmethod
    def _of_family(self, family: Any, statistics: Statistics) -> tuple[Any, str]:
        """The estimate of a family's parameters, and what errors call it."""


@dataclass(frozen=True)
class MLE(_PointEstimate):
    """Maximum likelihood: the frequencies, means and variances of the data, priors ignored.

    An estimate of exactly 0 or 1 is possible, and a row that contradicts it has probability zero. If the data do not
    determine a parameter, or the likelihood grows without bound, no estimate exists and `fit` raises an error.

    If labels are missing, EM maximises the likelihood summed over them, as for `MAP`. With Gaussian columns this
    likelihood grows without bound as a class shrinks to a single cell, and EM finds a local maximum.

    Parameters
    ----------
    max_iterations : int, default 2000
        Iterations of EM; not used if every row has a label.

    Warns
    -----
    ConvergenceWarning
        If EM has not converged.

    See Also
    --------
    MAP : The mode of the posterior.
    PointPosterior : A point estimate.

    Examples
    --------
    >>> import bayesnb as nb
    >>> estimate = nb.fit(nb.Bernoulli(), [[1], [1], [0], [1]], ["a", "a", "b", "b"], nb.MLE())
    >>> estimate.mean()["x_prob"].tolist()
    [[1.0], [0.5]]
    >>> estimate.predict_proba([[0]])
    array([[0., 1.]])
    """

    def check(self, problem: Problem) -> None:
        problem.model.require_every_feature("MLE")
        for block in problem.model.blocks:
            if not abilities(block.family).likeliest:
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}, which gives no "
                    f"maximum_likelihood: use {ways_to_fit(problem.model)}; or define "
                    "maximum_likelihood(statistics) in the class"
                )

    def _class_prob(self, problem: Problem, counts: ClassCounts) -> np.ndarray:
        known = problem.resolved.class_prior.probs
        if known is None and counts.n.sum() == 0:
            raise ValueError(
                "all weights are zero, so that the class probabilities have no maximum likelihood estimate: give "
                "positive weights, or class_probs"
            )
        return counts.n / counts.n.sum() if known is None else known

    def _of_family(self, family: Any, statistics: Statistics) -> tuple[Any, str]:
        return family.maximum_likelihood(statistics), LIKELIEST


@dataclass(frozen=True)
class MAP(_PointEstimate):
    """Maximum a posteriori: the mode of the parameters' joint posterior density.

    The density is that of the parameters as named (probabilities, rates, mean and variance), not of a transformation.
    With uniform priors it is the maximum likelihood estimate; a concentration below one can leave the density
    unbounded, for which `fit` raises an error.

    If labels are missing, EM maximises the density with the labels summed out (Dempster, Laird and Rubin 1977, *Journal
    of the Royal Statistical Society B* 39(1), 1-38; for naive Bayes, Nigam, McCallum, Thrun and Mitchell 2000, *Machine
    Learning* 39, 103-134). Each iteration weights a row in every class by the probability of that label, and estimates
    the parameters as from labelled rows; steps are extrapolated as those of `EM`. It ends when no probability of a
    label changes by more than 1e-7. The density never decreases, and the result is a local maximum. The start is the
    prediction of the labelled rows or, if a class has no labelled row, the best of ten random starts.

    Parameters
    ----------
    max_iterations : int, default 2000
        Iterations of EM; not used if every row has a label.

    Warns
    -----
    ConvergenceWarning
        If EM has not converged.

    See Also
    --------
    MLE : Maximum likelihood.
    PointPosterior : A point estimate.

    Examples
    --------
    >>> import bayesnb as nb
    >>> estimate = nb.fit(nb.Bernoulli(2.0, 2.0), [[1], [1], [0], [1]], ["a", "a", "b", "b"], nb.MAP())
    >>> estimate.mean()["x_prob"].tolist()
    [[0.75], [0.5]]
    """

    def check(self, problem: Problem) -> None:
        problem.model.require_every_feature(type(self).__name__)
        for block in problem.model.blocks:
            if not abilities(block.family).mode:
                ways = ways_to_fit(problem.model) if problem.unlabelled is None else _full_inferences(problem)
                own = not type(block.family).__module__.startswith("bayesnb.")
                define = "define maximum_a_posteriori(statistics) in the class"
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}, which gives no mode: use {ways}; or "
                    f"{define if own else another_family(block, 'nb.Gaussian()')}"
                )
        problem.require_numbers()

    def _log_prior(self, model: BoundModel, parameters: ModelParameters) -> float:
        return float(model.prior.log_density(parameters))

    def _class_prob(self, problem: Problem, counts: ClassCounts) -> np.ndarray:
        posterior = problem.resolved.class_prior.update(counts)
        class_prob = posterior.probs if posterior.probs is not None else dirichlet_mode(posterior.concentration)
        if np.isnan(class_prob).any():
            raise ValueError(
                "the density of the class probabilities is unbounded (class_concentration below one and a class "
                "without rows), so it has no mode: use a class_concentration of at least one, or "
                f"{_full_inferences(problem)}"
            )
        return np.asarray(class_prob)

    def _of_family(self, family: Any, statistics: Statistics) -> tuple[Any, str]:
        return family.maximum_a_posteriori(statistics), MODE


def _full_inferences(problem: Problem) -> str:
    """The inferences that give a distribution of the parameters for these data."""
    if problem.unlabelled is None:
        return ways_to_posterior(problem.model)
    return ways_to_posterior(problem.model).replace("nb.Exact()", "nb.Gibbs()")


# --------------------------------------------------------------------------------------------------
# EM as an inference of its own
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EM(MAP):
    r"""Maximum a posteriori with the missing labels summed out, by accelerated expectation-maximisation.

    It maximises the same density as `MAP`,

    .. math:: \log p(\pi, \theta) + \sum_i \log \sum_c \pi_c \prod_j p(x_{ij} \mid \theta_{cj}),

    where the sum over c has one term if row i has a label. Steps are extrapolated (SQUAREM: Varadhan and Roland 2008,
    *Scandinavian Journal of Statistics* 35(2), 335-353). It differs from `MAP` in two ways. The iteration ends when the
    log posterior density no longer rises. It may run from several starts, and the result of the highest density is
    kept. If every row has a label, it is `MAP`.

    Parameters
    ----------
    max_iterations : int, default 2000
        Largest number of steps from each start.
    num_starts : int, default 1
        Number of starts. Each is found as for `MAP`. The first one of `fit_annotations` is its own.
    accelerate : bool, default True
        Whether to extrapolate. Without it, each step is one of plain EM.
    tolerance : float, default 1e-6
        The iteration ends when a step raises the log posterior density by no more, in nats.

    Warns
    -----
    ConvergenceWarning
        If the log posterior density still rises after the last step.

    Raises
    ------
    ValueError
        If a setting is out of range.

    See Also
    --------
    MAP : The same maximum, to 1e-7 in the probabilities of the labels.
    fit_annotations : Labels from annotators, for which it is the default.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 1], [1, 0, 0]]
    >>> estimate = nb.fit(nb.Bernoulli(2.0, 2.0), X, None, nb.EM(), classes=2)
    >>> estimate.predict([[1, 1, 1]]) == estimate.predict([[0, 0, 0]])
    array([False])
    """

    num_starts: int = 1
    accelerate: bool = True
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("EM(num_starts=...)", self.num_starts)
        if not (isinstance(self.tolerance, int | float) and 0 <= self.tolerance < np.inf):
            raise ValueError(f"EM(tolerance={self.tolerance!r}): give a number of nats, zero or more")

    def _search(self) -> tuple[int, bool, float | None]:
        return self.num_starts, self.accelerate, self.tolerance
