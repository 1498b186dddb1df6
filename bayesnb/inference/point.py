"""Point estimates: maximum likelihood and maximum a posteriori."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.blocks import ModelParameters
from bayesnb.families.base import ConjugateFamily, Family
from bayesnb.families.categorical import dirichlet_mode
from bayesnb.inference.base import Inference
from bayesnb.posterior.point import PointPosterior
from bayesnb.problem import Problem

__all__ = ["MAP", "MLE"]


@dataclass(frozen=True)
class MLE(Inference):
    """Maximum likelihood: the frequencies, means and variances of the data, priors ignored.

    An estimate of exactly 0 or 1 is possible, and a row that contradicts it has probability zero. Where the data say
    nothing about a parameter, or the likelihood grows without bound, there is no estimate and `fit` says so.
    """

    def check(self, problem: Problem) -> None:
        problem.require_every_feature("MLE")
        for block in problem.model.blocks:
            if type(block.family).maximum_likelihood is Family.maximum_likelihood:
                raise ValueError(
                    f"column {block.labels[0]!r} is {type(block.family).__name__}, which gives no "
                    "maximum_likelihood: "
                    "use nb.Exact(), nb.MAP() or nb.NUTS()"
                )

    @in_float64
    def fit(self, problem: Problem, *, key: Any = 0) -> PointPosterior:
        self.check(problem)
        n = problem.statistics.classes.n
        known = problem.resolved.class_prior.probs
        if known is None and n.sum() == 0:
            raise ValueError("all weights are zero: no maximum likelihood estimate of the class probabilities exists")
        blocks = []
        for block, counted in zip(problem.model.blocks, problem.statistics.blocks, strict=True):
            estimate = block.family.maximum_likelihood(counted)
            assert estimate is not None
            _require_estimate(problem, block, estimate, "maximum likelihood", "no observed cell, or no spread")
            blocks.append(estimate)
        class_prob = n / n.sum() if known is None else known
        return PointPosterior(problem.resolved, ModelParameters(class_prob, tuple(blocks)), problem, self)


@dataclass(frozen=True)
class MAP(Inference):
    """Maximum a posteriori: the mode of the parameters' joint posterior density.

    The density is that of the parameters as named (probabilities, rates, mean and variance), not of a transformation.
    With uniform priors it is the maximum likelihood estimate; a concentration below one can leave the density
    unbounded, which `fit` reports.
    """

    def check(self, problem: Problem) -> None:
        problem.require_every_feature("MAP")
        for block in problem.model.blocks:
            if not isinstance(block.family, ConjugateFamily) or type(block.family).mode is ConjugateFamily.mode:
                raise ValueError(
                    f"column {block.labels[0]!r} is {type(block.family).__name__}, which gives no mode: use "
                    "nb.Exact() or nb.NUTS()"
                )
        problem.require_numbers()

    @in_float64
    def fit(self, problem: Problem, *, key: Any = 0) -> PointPosterior:
        self.check(problem)
        posterior = problem.posterior_classes
        class_prob = posterior.probs if posterior.probs is not None else dirichlet_mode(posterior.concentration)
        if np.isnan(class_prob).any():
            raise ValueError(
                "the density of the class probabilities is unbounded (class_concentration below one and a class "
                "without "
                "rows), so it has no mode: use a class_concentration of at least one, or nb.Exact()"
            )
        blocks = []
        for block, family in zip(problem.model.blocks, problem.posterior_families, strict=True):
            estimate = family.mode()
            assert estimate is not None
            _require_estimate(problem, block, estimate, "mode", "density unbounded, for a concentration below one")
            blocks.append(estimate)
        return PointPosterior(problem.resolved, ModelParameters(class_prob, tuple(blocks)), problem, self)


def _require_estimate(problem: Problem, block: Any, estimate: dict[str, Any], what: str, why: str) -> None:
    classes = problem.model.schema.classes.tolist()  # type: ignore[union-attr]
    for parameter, value in estimate.items():
        lost = np.argwhere(np.isnan(value))
        if len(lost):
            c, j = lost[0][:2]
            owner = block.name if block.family.cell == "count vector" else block.labels[j]
            raise ValueError(
                f"column {owner!r} in class {classes[c]!r}: the {what} estimate of {parameter!r} does not exist "
                f"({why}); "
                "use nb.Exact() or another prior"
            )
