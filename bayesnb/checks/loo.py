"""How well does a posterior predict labels that it has not seen? Leave-one-out, without refitting."""

from typing import Any

import numpy as np
import pandas as pd
from arviz_stats import ELPDDataLOO

from bayesnb.checks.elpd import (
    ExactELPD,
    by_row,
    elpd_fields,
    remark_on_labels,
    remark_on_maxima,
    remark_on_weights,
)
from bayesnb.checks.importance import psis_loo
from bayesnb.checks.left_out import LeftOut, leave_one_out, require_exact
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.fitted import Fitted, posterior_of
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.warn import warn_of

__all__ = ["elpd_and_remarks", "loo", "loo_scores"]

GOOD_K = 0.7
"""ArviZ's threshold for Pareto k, a field of its record; an exact result does not need it."""


def loo(
    posterior: Posterior | Fitted, X: Any, y: Any, *, sample_weight: Any = None, progress: bool | None = None
) -> ELPDDataLOO:
    r"""Leave-one-out estimate of how well labels are predicted.

    The expected log predictive density is :math:`\sum_i \log p(y_i \mid x_i, D_{-i})` (Vehtari, Gelman and Gabry 2017,
    *Statistics and Computing* 27, Eq. 4), with the parameters integrated out as in `predict_proba`. For an exact
    posterior it is exact, the same as a fit to the other rows. The statistics of row i are subtracted. Hyperparameters
    that follow the data's scale, and class probabilities that are frequencies (``class_probs="empirical"``), are those
    of the other rows. For a sampled posterior it is estimated by Pareto-smoothed importance sampling over the draws,
    whose weights 1 / p(y_i | x_i, theta) give the same quantity.

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
    found, remarks = elpd_and_remarks(posterior_of(posterior), X, y, sample_weight=sample_weight, progress=progress)
    warn_of(remarks)
    return found


def elpd_and_remarks(
    posterior: Posterior, X: Any, y: Any, *, sample_weight: Any = None, progress: bool | None = False
) -> tuple[ELPDDataLOO, list[str]]:
    """As `loo`; returns the warnings instead of issuing them."""
    if isinstance(posterior.generative, SampledPosterior):
        return psis_loo(posterior, X, y, sample_weight, progress)
    left_out = leave_one_out(require_exact(posterior, "loo"), X, y, sample_weight)
    pointwise, remarks = left_out.of_label, _remarks(posterior, left_out)
    fields = elpd_fields(pointwise, left_out.in_sample, remarks)
    return ExactELPD(**fields, good_k=GOOD_K, pareto_k=by_row(np.zeros(len(pointwise)))), remarks


def _remarks(posterior: Posterior, left_out: LeftOut) -> list[str]:
    problem = posterior.require_data("loo")
    return remark_on_labels(problem, left_out.of_label) + remark_on_maxima(problem) + remark_on_weights(posterior)


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
        log p(x_i, y_i | D without i); ``accuracy`` of the most probable label; ``brier``, the mean of
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
    exact = require_exact(posterior_of(posterior), "loo_scores")
    left_out = leave_one_out(exact, X, y, sample_weight)
    warn_of(_remarks(exact, left_out))
    proba = np.exp(left_out.log_proba)
    truth = np.eye(proba.shape[1])[left_out.codes]
    return pd.Series(
        {
            "elpd_label": left_out.of_label.sum(),
            "elpd_joint": left_out.joint.sum(),
            "accuracy": (proba.argmax(axis=1) == left_out.codes).mean(),
            "brier": ((proba - truth) ** 2).sum(axis=1).mean(),
        },
        name="leave-one-out",
    )
