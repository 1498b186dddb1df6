"""Checks of the inference and the prior that a user chooses for annotations."""

from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.crowd.read import AnnotationTable
from bayesnb.inference.base import Inference
from bayesnb.inference.empirical import EmpiricalBayes
from bayesnb.inference.exact import Exact
from bayesnb.inference.point import MAP, MLE
from bayesnb.problem import Problem

__all__ = ["require_inference", "require_maximum"]


def require_inference(
    inference: Inference, annotations: AnnotationTable, concentration: Any, class_concentration: Any, *, learned: bool
) -> None:
    """Refuse an inference that cannot fit these annotations, or ignores the prior that the user gives.

    Parameters
    ----------
    inference : Inference
    annotations : AnnotationTable
    concentration, class_concentration : object
        As the user gives them.
    learned : bool
        Whether the concentrations are learned.

    Raises
    ------
    ValueError
    """
    name = f"nb.{type(inference).__name__}()"
    if learned and isinstance(inference, MLE | MAP | Exact):
        raise ValueError(
            f"inference is {name}, and the concentration is learned (hierarchical=True, or a distribution): use "
            "nb.Gibbs() or nb.NUTS(), or give numbers as concentration and leave out hierarchical=True"
        )
    if isinstance(inference, MLE):
        flat = isinstance(class_concentration, int | float) and class_concentration == 1
        given = [] if concentration is None else ["concentration"]
        given += [] if flat else ["class_concentration"]
        if given:
            raise ValueError(
                f"inference is nb.MLE(), which ignores the prior, and {' and '.join(given)} is given: use nb.EM(), or "
                f"leave out {' and '.join(given)}"
            )
    unknown = int((annotations.known < 0).sum())
    if unknown and isinstance(inference, Exact | EmpiricalBayes):
        raise ValueError(
            f"inference is {name}, which needs the label of every item in known, and known lacks {unknown:,} of "
            f"{len(annotations.items):,} items: use "
            + ("nb.Gibbs() or nb.NUTS()" if learned else "nb.EM(), nb.Gibbs() or nb.NUTS()")
        )


def require_maximum(inference: Inference, problem: Problem, concentration: Any) -> None:
    """Refuse a mode where the density of the annotators' probabilities is unbounded.

    The exponent of a probability is its concentration, plus the annotations of known items, minus one. If it is
    negative, some labels of the other items give the probability no annotation, and the density grows without bound as
    the probability goes to zero.

    Raises
    ------
    ValueError
    """
    if not isinstance(inference, MAP) or isinstance(concentration, dist.Distribution):
        return
    (family,) = problem.posterior_families
    if (np.asarray(family.hyperparameters()["concentration"]) < 1).any():
        raise ValueError(
            f"concentration holds {np.min(concentration):g}, and nb.{type(inference).__name__}() needs 1 or more: "
            "below 1 the density has no maximum; use nb.Gibbs() or nb.NUTS(), or a concentration of 1 or more"
        )
