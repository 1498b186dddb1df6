"""EM as an inference of its own."""

from dataclasses import dataclass, replace

import numpy as np

from bayesnb.blocks.parameters import ModelParameters, log_prior_density
from bayesnb.inference.base import ConvergenceWarning
from bayesnb.inference.em import (
    Estimate,
    expected_statistics,
    first_responsibilities,
    label_log_joint,
    probabilities,
)
from bayesnb.inference.point import MAP
from bayesnb.inference.squarem import Step, climb
from bayesnb.problem import Problem
from bayesnb.validate import whole_number
from bayesnb.warn import warn

__all__ = ["EM"]


@dataclass(frozen=True)
class EM(MAP):
    r"""Maximum a posteriori with the missing labels summed out, by accelerated expectation-maximisation.

    It maximises the same density as `MAP`,

    .. math:: \log p(\pi, \theta) + \sum_i \log \sum_c \pi_c \prod_j p(x_{ij} \mid \theta_{cj}),

    where the sum over c has one term if row i has a label. It differs from `MAP` in three ways. Steps are extrapolated
    (SQUAREM: Varadhan and Roland 2008, *Scandinavian Journal of Statistics* 35(2), 335-353). The iteration ends when
    the log posterior density no longer rises. It may run from several starts, and the result of the highest density is
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
    MAP : The same maximum by plain steps.
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

    def _maximise(self, problem: Problem, estimate: Estimate, rng: np.random.Generator) -> ModelParameters:
        rows, model = problem.unlabelled, problem.resolved
        assert rows is not None

        def step(responsibilities: np.ndarray) -> Step:
            parameters = estimate(expected_statistics(problem, responsibilities))
            after, of_rows = probabilities(label_log_joint(model, rows, parameters))
            density = float(of_rows @ rows.weights) + float(model.log_density(parameters, problem.statistics))
            density += float(log_prior_density(model.class_prior, model.families, parameters))
            return Step(parameters, density, after)

        found = []
        for start in range(self.num_starts):
            here = problem if start == 0 else replace(problem, unlabelled=replace(rows, guess=None))
            first = first_responsibilities(here, rng)
            found.append(
                climb(step, first, rows.weights, self.max_iterations, self.tolerance, accelerate=self.accelerate)
            )
        best, rise = max(found, key=lambda result: result[0].log_posterior)
        if rise > 0:
            warn(
                f"EM: after {self.max_iterations} iterations a step still raises the log posterior density by "
                f"{rise:.2g}; raise max_iterations",
                ConvergenceWarning,
            )
        return best.parameters
