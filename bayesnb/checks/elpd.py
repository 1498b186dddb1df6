"""ArviZ's record of a leave-one-out score, and the warnings about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from arviz_stats import ELPDDataLOO

from bayesnb.model.ways import or_closed_form
from bayesnb.problem import Problem
from bayesnb.tables.columns import first_few

__all__ = [
    "ExactELPD",
    "by_row",
    "elpd_fields",
    "remark_on_draws",
    "remark_on_impossible_rows",
    "remark_on_labels",
    "remark_on_maxima",
]


@dataclass(kw_only=True, repr=False)
class ExactELPD(ELPDDataLOO):
    """An exact leave-one-out score, as ArviZ's record of one by importance sampling.

    It has no posterior samples and no Pareto k to print. ``arviz.compare`` takes it as any other.
    """

    def __str__(self) -> str:
        lines = [
            f"Exact leave-one-out score of {self.n_data_points} labels, each given the other rows:",
            "",
            f"elpd_loo {self.elpd:8.2f} ± {self.se:.2f}",
            f"p_loo    {self.p:8.2f}",
        ]
        if self.warning:
            lines += ["", "There was a warning, which says what to do."]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def by_row(values: np.ndarray) -> xr.DataArray:
    """Values with the dimension ``row``."""
    return xr.DataArray(values, dims=["row"], coords={"row": np.arange(len(values))})


def elpd_fields(pointwise: np.ndarray, in_sample: np.ndarray, remarks: Sequence[str]) -> dict[str, Any]:
    """Fields that every kind of ArviZ's ELPDData has; the standard error is that of a sum over rows."""
    with np.errstate(invalid="ignore"):  # a class probability of zero makes a label impossible
        return {
            "elpd": float(pointwise.sum()),
            "se": float(np.sqrt(len(pointwise) * np.var(pointwise))),
            "p": float((in_sample - pointwise).sum()),
            "n_samples": 0,
            "n_data_points": len(pointwise),
            "scale": "log",
            "warning": bool(remarks),
            "elpd_i": by_row(pointwise),
        }


def remark_on_labels(problem: Problem, pointwise: np.ndarray) -> list[str]:
    """Warning that names the rows whose label has probability zero because no other row has it."""
    alone = np.flatnonzero(np.isneginf(pointwise))
    if not len(alone) or not problem.model.follows_labels:
        return []
    label = "their labels have" if len(alone) > 1 else "its label has"
    return [
        f"{_named(alone)}: the rows not left out hold no such label, so that {label} probability zero under "
        'class_probs="empirical" and the score is minus infinity; leave class_probs out for a Dirichlet prior'
    ]


def remark_on_impossible_rows(impossible: np.ndarray) -> list[str]:
    """Warning that names the rows that point estimates make impossible, shape (rows,) of bool."""
    lost = np.flatnonzero(impossible)
    if not len(lost):
        return []
    return [
        f"{_named(lost)}: the estimate from the other rows is exactly 0 or 1 somewhere and leaves probability zero "
        "under every class, so that the score is that of the class probabilities. A posterior (nb.Exact(), nb.NUTS()) "
        "gives every row a probability"
    ]


def _named(rows: np.ndarray) -> str:
    """Rows by number, the first few of many."""
    return f"row{'s' * (len(rows) > 1)} {first_few(list(map(str, rows)))}"


def remark_on_maxima(problem: Problem) -> list[str]:
    """Warning that hyperparameters were also learned from the rows that are left out."""
    if problem.learned_from is None:
        return []
    names = ", ".join(problem.learned_from.hyperpriors)
    return [
        f"{names}: nb.EmpiricalBayes chose them by all rows, and they do not change when a row is left out, so that "
        "the score tends to be too high; nb.kfold(posterior, X, y) learns them anew without each fold"
    ]


def remark_on_draws(problem: Problem | None) -> list[str]:
    """Warning that the prior of the draws was also taken from the rows that are left out."""
    found = {
        "labels": 'the class probabilities (class_probs="empirical")',
        "scale": "hyperparameters on the data's scale",
    }
    seen = [] if problem is None else [found[what] for what in problem.prior_saw if what in found]
    if problem is None or not seen:
        return []
    return [
        f"the prior of the draws follows all rows, including those left out: {' and '.join(seen)}. The score tends to "
        f"be too high, most of all with few rows: give numbers{or_closed_form(problem.model)}"
    ]


def remark_on_weights(posterior: Any) -> list[str]:
    """Warning that weights of features were also learned from the rows that are left out."""
    if posterior.generative is posterior:
        return []
    return [
        "weights of features were learned from all rows and are kept when rows are left out, so that the score tends "
        "to be slightly too high; scikit-learn's cross_val_score learns them anew for each fold"
    ]
