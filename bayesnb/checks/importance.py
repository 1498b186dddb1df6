"""Leave-one-out by importance sampling over draws."""

from typing import Any

import arviz_stats
import numpy as np
import xarray as xr
from arviz_base import dict_to_dataset
from arviz_stats import ELPDDataLOO
from scipy.special import logsumexp

from bayesnb.checks.elpd import remark_on_draws
from bayesnb.checks.left_out_fixed_prior import OF_FREQUENCIES
from bayesnb.datatree import as_tree
from bayesnb.model.ways import has_closed_form, or_closed_form
from bayesnb.posterior.base import Posterior
from bayesnb.progress import steps
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights

__all__ = ["psis_loo"]

MIN_DRAWS = 25
"""Smallest number of draws; with fewer, the smoothed tail has fewer than the five draws that its fit needs."""


def psis_loo(
    posterior: Posterior, X: Any, y: Any, sample_weight: Any, progress: bool | None
) -> tuple[ELPDDataLOO, list[str]]:
    """ArviZ's leave-one-out score of the labels, and the warnings about it; parameters as for `loo`.

    Raises
    ------
    ValueError
        If rows have weights, there is one class, or the draws are too few or all the same.
    """
    X, y = split_labels(X, y)
    table = as_table(X)
    codes = encode_labels(y, table.num_rows, posterior.classes)
    if (check_weights(sample_weight, table.num_rows) != 1.0).any():
        raise ValueError(
            "sample_weight is for exact posteriors: importance sampling over draws leaves out rows of weight one only; "
            f"{OF_FREQUENCIES}"
        )
    exact = has_closed_form(posterior.model)
    if len(posterior.classes) == 1:
        raise ValueError(
            f"there is one class, {posterior.classes.tolist()[0]!r}, so that every label is certain and nothing is "
            "left to estimate by leaving rows out"
            + ("; nb.loo_scores of the closed form, nb.fit(model, X, y), has the elpd of the features" * exact)
        )
    number = posterior.draws()["class_prob"][..., 0].size
    if number < MIN_DRAWS:
        raise ValueError(
            f"there {'is 1 draw' if number == 1 else f'are {number} draws'}: importance sampling needs at least "
            f"{MIN_DRAWS}; sample more{or_closed_form(posterior.model)}"
        )
    if all((draws == draws[:1, :1]).all() for draws in posterior.draws().values()):
        raise ValueError(
            "all draws are the same, so that no weighting of them can leave a row out: sample again"
            f"{or_closed_form(posterior.model)}"
        )
    with steps("loo", 2, progress) as begin:
        begin("densities of the rows")
        tree = _draws_and_densities(posterior, table, codes)
        begin("importance sampling")
        found = arviz_stats.loo(tree, var_name="y", pointwise=True)
    remarks = remark_on_draws(posterior.problem)
    found.warning = found.warning or bool(remarks)
    return found, remarks


def _draws_and_densities(posterior: Posterior, table: Table, codes: np.ndarray) -> xr.DataTree:
    """The two groups of `Posterior.to_datatree` that ArviZ's score uses: log p(y_i | x_i, theta), and all parameters.

    ArviZ takes the effective number of draws from the mean over all parameters, whatever their names.
    """
    joint = posterior.log_joint_draws(table)
    of_label = np.take_along_axis(joint, codes[None, None, :, None], axis=-1)[..., 0]
    parameters = [draws.reshape(*draws.shape[:2], -1) for draws in posterior.draws().values()]
    groups = {
        "posterior": dict_to_dataset({"parameters": np.concatenate(parameters, axis=-1)}),
        "log_likelihood": dict_to_dataset({"y": of_label - logsumexp(joint, axis=-1)}, dims={"y": ["row"]}),
    }
    return as_tree(groups, {})
