"""Leave-one-out scores: exact in closed form, otherwise by importance sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import arviz_stats
import numpy as np
import pandas as pd
import xarray as xr
from arviz_base import dict_to_dataset
from arviz_stats import ELPDDataLOO
from scipy.special import logsumexp

from bayesnb.core.checking import warn_of
from bayesnb.core.running import steps
from bayesnb.data.read import Rows, labelled_rows
from bayesnb.model.problem import Problem, has_closed_form, or_closed_form
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.datatree import as_tree
from bayesnb.posterior.kinds import AveragedPosterior, ExactPosterior, Fitted, posterior_of
from bayesnb.posterior.left_out import LeftOut, leave_one_out, named_rows, refuse_weights
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# ArviZ's record of a leave-one-out score, and the warnings about it
# --------------------------------------------------------------------------------------------------


@dataclass(kw_only=True, repr=False)
class _ExactELPD(ELPDDataLOO):
    """An exact leave-one-out score, as ArviZ's record of one by importance sampling.

    It has no posterior samples and no Pareto k to print. ``arviz.compare`` takes it as any other. Of draws with weights
    of features it is not exact: importance sampling gives the density of each feature.
    """

    exact: bool = True

    def __str__(self) -> str:
        name = "Exact leave-one-out" if self.exact else "Leave-one-out"
        lines = [
            f"{name} score of {self.n_data_points} labels, each given the other rows:",
            "",
            f"elpd_loo {self.elpd:8.2f} ± {self.se:.2f}",
            f"p_loo    {self.p:8.2f}",
        ]
        if self.warning:
            lines += ["", "There was a warning, which says what to do."]
        return "\n".join(lines)

    __repr__ = __str__


def row_array(values: np.ndarray) -> xr.DataArray:
    """Values with the dimension ``row``."""
    return xr.DataArray(values, dims=["row"], coords={"row": np.arange(len(values))})


def sum_with_error(values: np.ndarray, weights: Any = 1.0) -> tuple[float, float]:
    """Sum over rows, each with its weight, and the standard error of the sum."""
    weights = np.broadcast_to(weights, values.shape)
    total = weights @ values
    return float(total), float(np.sqrt(weights @ (values - total / weights.sum()) ** 2))


def elpd_fields(pointwise: np.ndarray, in_sample: np.ndarray, remarks: Sequence[str]) -> dict[str, Any]:
    """Fields that every kind of ArviZ's ELPDData has; the standard error is that of a sum over rows."""
    with np.errstate(invalid="ignore"):  # a class probability of zero makes a label impossible
        elpd, se = sum_with_error(pointwise)
        return {
            "elpd": elpd,
            "se": se,
            "p": float((in_sample - pointwise).sum()),
            "n_samples": 0,
            "n_data_points": len(pointwise),
            "scale": "log",
            "warning": bool(remarks),
            "elpd_i": row_array(pointwise),
        }


def remark_on_labels(problem: Problem, pointwise: np.ndarray) -> list[str]:
    """Warning that names the rows whose label has probability zero because no other row has it."""
    alone = np.flatnonzero(np.isneginf(pointwise))
    if not len(alone) or not problem.model.description.follows_labels:
        return []
    label = "their labels have" if len(alone) > 1 else "its label has"
    return [
        f"{named_rows(alone)}: the rows not left out hold no such label, so that {label} probability zero under "
        'class_probs="empirical" and the score is minus infinity; leave class_probs out for a Dirichlet prior'
    ]


def remark_on_impossible_rows(impossible: np.ndarray) -> list[str]:
    """Warning that names the rows that point estimates make impossible, shape (rows,) of bool."""
    lost = np.flatnonzero(impossible)
    if not len(lost):
        return []
    return [
        f"{named_rows(lost)}: the estimate from the other rows is exactly 0 or 1 somewhere and leaves probability zero "
        "under every class, so that the score is that of the class probabilities. A posterior (nb.Exact(), nb.NUTS()) "
        "gives every row a probability"
    ]


def _remark_on_maxima(problem: Problem) -> list[str]:
    """Warning that hyperparameters were also learned from the rows that are left out."""
    if problem.learned_from is None:
        return []
    names = ", ".join(problem.learned_from.description.hyperpriors)
    return [
        f"{names}: nb.EmpiricalBayes chose them by all rows, and they do not change when a row is left out, so that "
        "the score tends to be too high; nb.kfold(posterior, X, y) learns them anew without each fold"
    ]


def _remark_on_draws(problem: Problem | None) -> list[str]:
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
    if posterior.plain is posterior:
        return []
    return [
        "weights of features were learned from all rows and are kept when rows are left out, so that the score tends "
        "to be too high (on real tables by .07 nats a row at 40 rows, .03 at 100 and nothing at 400); scikit-learn's "
        "cross_val_score learns them anew for each fold"
    ]


# --------------------------------------------------------------------------------------------------
# Leave-one-out by importance sampling over draws
# --------------------------------------------------------------------------------------------------

MIN_DRAWS = 25
"""Smallest number of draws: with fewer, the smoothed tail lacks the five draws that its fit needs."""


def _psis_loo(posterior: Posterior, rows: Rows, progress: bool | None) -> tuple[ELPDDataLOO, list[str]]:
    """ArviZ's leave-one-out score of the labels, and the warnings about it; parameters as for `loo`.

    Raises
    ------
    ValueError
        If rows have weights, there is one class, or the draws are too few or all the same.
    """
    refuse_weights(rows, "draws")
    exact = has_closed_form(posterior.model)
    if len(posterior.classes) == 1:
        raise ValueError(
            f"there is one class, {posterior.classes.tolist()[0]!r}, so that every label is certain and nothing is "
            "left to estimate by leaving rows out"
            + ("; nb.loo_scores of the closed form, nb.fit(model, X, y), has the elpd of the features" * exact)
        )
    draws = posterior.draws()
    number = draws["class_prob"][..., 0].size
    if number < MIN_DRAWS:
        raise ValueError(
            f"there {'is 1 draw' if number == 1 else f'are {number} draws'}: importance sampling needs at least "
            f"{MIN_DRAWS}; sample more{or_closed_form(posterior.model)}"
        )
    if all((values == values[:1, :1]).all() for values in draws.values()):
        raise ValueError(
            "all draws are the same, so that no weighting of them can leave a row out: sample again"
            f"{or_closed_form(posterior.model)}"
        )
    with steps("loo", 2, progress) as begin:
        begin("densities of the rows")
        joint = posterior.log_joint_draws(rows.table)
        of_label = joint[:, :, np.arange(len(rows)), rows.codes] - logsumexp(joint, axis=-1)
        # ArviZ takes the effective number of draws from the mean over all parameters, whatever their names.
        parameters = np.concatenate([values.reshape(*values.shape[:2], -1) for values in draws.values()], axis=-1)
        groups = {
            "posterior": dict_to_dataset({"parameters": parameters}),
            "log_likelihood": dict_to_dataset({"y": of_label}, dims={"y": ["row"]}),
        }
        begin("importance sampling")
        found = arviz_stats.loo(as_tree(groups, {}), var_name="y", pointwise=True)
    remarks = _remark_on_draws(posterior.problem)
    found.warning = found.warning or bool(remarks)
    return found, remarks


# --------------------------------------------------------------------------------------------------
# How well does a posterior predict labels that it has not seen? Leave-one-out, without refitting
# --------------------------------------------------------------------------------------------------

GOOD_K = 0.7
"""ArviZ's threshold for Pareto k, a field of its record that exact results do not need."""


def loo(
    posterior: Posterior | Fitted, X: Any, y: Any, *, sample_weight: Any = None, progress: bool | None = None
) -> ELPDDataLOO:
    r"""Leave-one-out estimate of how well labels are predicted.

    The expected log predictive density is :math:`\sum_i \log p(y_i \mid x_i, D_{-i})` (Vehtari, Gelman and Gabry 2017,
    *Statistics and Computing* 27, Eq. 4), with the parameters integrated out as in `predict_proba`. For an exact
    posterior it is exact, the same as a fit to the other rows. The statistics of row i are subtracted. Hyperparameters
    that follow the data's scale, and class probabilities that are frequencies (``class_probs="empirical"``), are those
    of the other rows. For a sampled posterior it is estimated by Pareto-smoothed importance sampling over the draws,
    whose weights 1 / p(y_i | x_i, theta) give the same quantity. With weights of features, which these draws do not
    follow, it is the density of each feature that importance sampling estimates without the row.

    Parameters
    ----------
    posterior : ExactPosterior, AveragedPosterior, SampledPosterior, WeightedPosterior or fitted estimator
    X : table, shape (rows, columns)
        The rows that the posterior was fitted to, or some of them.
    y : labels of shape (rows,) or str
    sample_weight : array, shape (rows,), optional
        The weights of the fit; `ExactPosterior` only. A row is left out with its whole weight, and counts once in the
        sum. If weights are frequencies (a row of weight w stands for w equal rows), leave them out here; see Notes.
    progress : bool, optional
        Whether to show a progress bar for a sampled posterior; by default as `NUTS` does.

    Returns
    -------
    arviz_stats.ELPDDataLOO
        ``elpd_i`` and ``pareto_k`` have the dimension ``row``; ``p`` is the sum of
        log p(y_i | x_i, D) - log p(y_i | x_i, D without i), the first of which ArviZ, for draws, replaces by the log of
        the draws' average probability. Of an exact posterior ``n_samples`` and ``pareto_k`` are zero. ``warning`` is
        True if there was a warning. ``arviz.compare`` and ``arviz.plot_compare`` take it.

    Warns
    -----
    UserWarning
        If a row is the only one of its class and class probabilities are frequencies (without the row its label is
        impossible, and the score is minus infinity); if `EmpiricalBayes` learned hyperparameters, or `weight_features`
        weights, from all rows; or if the draws of a sampled posterior have a prior that follows all rows.

    Raises
    ------
    TypeError, ValueError
        If the posterior is a point, a label is unknown, a length is wrong, there are no rows, or a row cannot have been
        among the data.

    See Also
    --------
    loo_scores : Exact leave-one-out scores of the labels.
    kfold : Cross-validation for any posterior.
    compare_models : Probabilities and scores of several models.

    Notes
    -----
    Three scores differ from those of refits, and a warning says so. Hyperparameters that `EmpiricalBayes` learned keep
    the numbers learned from all rows; `kfold` learns them anew. Weights of features are kept, while the densities of
    the features are those given the other rows. Draws have one prior, and importance sampling leaves a
    row out of the likelihood only: if the prior follows the data, use the closed form or give numbers.

    Without `sample_weight`, a row is left out with weight one. After a fit with frequencies w, ``elpd_i`` is then the
    score of one of the w equal rows given all others, for every posterior, and ``(w * elpd_i).sum()`` is the ``elpd``
    of the repeated rows.

    Numbers that were given do not change, also those of ``posterior.model``, which states the fitted model in numbers.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> elpd = loo(posterior, [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> round(float(np.exp(elpd.elpd_i[0])), 3)
    0.64
    """
    posterior = posterior_of(posterior)
    rows = labelled_rows(X, y, sample_weight, classes=posterior.classes)
    found, remarks = elpd_and_remarks(posterior, rows, progress)
    warn_of(remarks)
    return found


def elpd_and_remarks(posterior: Posterior, rows: Rows, progress: bool | None = False) -> tuple[ELPDDataLOO, list[str]]:
    """As `loo`; returns the warnings instead of issuing them."""
    drawn = offers(posterior, "draws of a sampler")
    if drawn and posterior.plain is posterior:
        return _psis_loo(posterior, rows, progress)
    instead = "draws by nb.NUTS(), or nb.kfold(model, X, y, inference=nb.MAP())"
    # Draws are not given the labels under weights: of these, each feature's density is estimated without the row.
    known: Any = posterior if drawn else require(posterior, "a closed form", "loo", instead)
    left_out = leave_one_out(known, rows)
    pointwise, remarks = left_out.of_label, _remarks(posterior, left_out)
    remarks += _remark_on_draws(posterior.problem) if drawn else []
    fields = elpd_fields(pointwise, left_out.in_sample, remarks)
    return _ExactELPD(**fields, good_k=GOOD_K, pareto_k=row_array(np.zeros(len(pointwise))), exact=not drawn), remarks


def _remarks(posterior: Posterior, left_out: LeftOut) -> list[str]:
    problem = require(posterior, "data", "loo").problem
    return remark_on_labels(problem, left_out.of_label) + _remark_on_maxima(problem) + remark_on_weights(posterior)


def loo_scores(
    posterior: ExactPosterior | AveragedPosterior | Fitted, X: Any, y: Any, *, sample_weight: Any = None
) -> pd.Series:
    r"""Exact leave-one-out scores of the predicted labels.

    Parameters
    ----------
    posterior, X, y, sample_weight
        As for `loo`; exact posteriors only.

    Returns
    -------
    pandas.Series
        ``elpd_label``, the sum of log p(y_i | x_i, D without i); ``elpd_joint``, the sum of
        log p(x_i, y_i | D without i), without weights of features, NaN where missing cells count as values
        (`AllTrees`, `Given`); ``accuracy`` of the most probable label; ``brier``, the mean of
        :math:`\sum_c (p(c \mid x_i, D_{-i}) - [y_i = c])^2`, from 0 to 2 (Brier 1950, *Monthly Weather Review* 78(1)).

    Raises
    ------
    TypeError, ValueError
        As `loo`, and if the posterior is not exact.

    Warns
    -----
    UserWarning
        As `loo`.

    See Also
    --------
    loo : Leave-one-out cross-validation, for ArviZ.
    kfold : Cross-validation for any posterior.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> nb.loo_scores(posterior, X, y).round(3)
    elpd_label     -21.838
    elpd_joint   -5874.717
    accuracy         0.983
    brier            0.037
    Name: leave-one-out, dtype: float64
    """
    instead = "nb.loo for draws, or nb.kfold(model, X, y, inference=...)"
    exact = require(posterior_of(posterior), "a closed form", "loo_scores", instead)
    rows = labelled_rows(X, y, sample_weight, classes=exact.classes)
    left_out = leave_one_out(exact, rows)
    as_values = exact.generative.problem.missing_as_values
    remark = "elpd_joint is NaN, because missing cells count as values, and no density of other models has them"
    warn_of(_remarks(exact, left_out) + [remark] * bool(as_values))
    of_rows = left_out if exact.generative is exact.plain else leave_one_out(exact.generative, rows)
    proba = np.exp(left_out.log_proba)
    truth = np.eye(proba.shape[1])[rows.codes]
    return pd.Series(
        {
            "elpd_label": left_out.of_label.sum(),
            "elpd_joint": np.nan if as_values else of_rows.joint.sum(),
            "accuracy": (proba.argmax(axis=1) == rows.codes).mean(),
            "brier": ((proba - truth) ** 2).sum(axis=1).mean(),
        },
        name="leave-one-out",
    )
