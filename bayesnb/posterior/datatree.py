"""Draws as xarray trees, in ArviZ's groups and under labelled dimensions."""

from collections.abc import Collection, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from bayesnb.core.arrays import dense, log
from bayesnb.core.deferred import dist, in_float64
from bayesnb.core.running import random_generator
from bayesnb.data.read import Rows, as_rows, labelled_rows
from bayesnb.data.tables import Table, items_at
from bayesnb.families.conjugate import couples_classes
from bayesnb.families.draw import draw
from bayesnb.families.formulas import log_prob
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters, off_boundary
from bayesnb.model.reading import log_normalised
from bayesnb.model.trees import as_tree, columns_of_tables, dataset_of_draws, dataset_of_sites, draw_tables
from bayesnb.posterior.under_draws import log_joint_under

OF_WEIGHTS = (
    "Weights of features act on the labels only: on posterior_predictive, prior_predictive and predictions. "
    "log_likelihood and log_prior are those of the posterior without weights. log_likelihood has no y, of which "
    "arviz.loo would make a wrong score (nb.loo is right), and no joint where columns are described more than once."
)
"""Attribute of trees with feature weights."""


def tree_of_draws(
    posterior: Any,
    X: Any,
    y: Any,
    predictions: Any,
    predictive: Collection[str],
    num_chains: int | None,
    num_draws: int | None,
    key: Any,
) -> xr.DataTree:
    """Draws of the parameters as an ``xarray.DataTree``; `Posterior.to_datatree` describes arguments and groups."""
    known = posterior.belief
    model, parameters = known.model, known.draw(num_chains, num_draws, key)
    weighs = posterior.plain is not posterior
    sample_stats, rng = known.sample_stats(num_chains, num_draws), random_generator(key)
    prior = model.draw_prior(rng, parameters.class_prob.shape[:2])
    groups = {
        "posterior": dataset_of_sites(model.sites, model.sites.by_name(parameters)),
        "prior": dataset_of_sites(model.sites, model.sites.by_name(prior)),
    }
    if model.description.feature_inclusion is None and not any(couples_classes(family) for family in model.families):
        # Parameters that classes may share have no density: part of the prior's mass is where they are equal.
        groups["log_prior"] = dataset_of_draws(_log_prior(model, parameters))
    if sample_stats:
        groups["sample_stats"] = dataset_of_draws(sample_stats)
    if X is not None:
        rows = labelled_rows(X, y, classes=model.schema.classes)
        groups |= _groups_of_data(model, rows, parameters, prior, rng, posterior.model if weighs else None)
        if "columns" in predictive:
            # Features that describe a column once more have no distribution of its cells.
            kept = [i for i, block in enumerate(model.blocks) if not model.schema.derivation(block.columns[0])]
            blocks, cells = (items_at(of, kept) for of in (model.blocks, model.read(rows.table).whole()))
            drawn = [
                draw_tables(blocks, items_at(values.blocks, kept), rows.codes, cells, rng)
                for values in (parameters, prior)
            ]
            names = ("observed_data", "posterior_predictive", "prior_predictive")
            for name, variables in zip(
                names, columns_of_tables(blocks, cells, drawn, np.arange(len(rows))), strict=True
            ):
                groups[name] = groups[name].assign(variables)
    if predictions is not None:
        of_class = log_normalised(log_joint_under(model, as_rows(predictions), parameters))
        values = {"y": _labels_of_draws(of_class, rng), "proba": np.exp(of_class)}
        groups["predictions"] = _rows_to_dataset(values, {"class": groups["posterior"]["class"]})
    attributes = {
        "inference_library": known.library,
        "inference_library_version": version(known.library),
        "modeling_interface": "bayesnb",
        "modeling_interface_version": version("bayesnb"),
        "inference": "given" if posterior.inference is None else repr(posterior.inference),
        "model": format(model, "80"),
    }
    if weighs:
        attributes |= {"inference": f"{attributes['inference']}, and weights of features", "weights": OF_WEIGHTS}
    return as_tree(groups, attributes)


def _groups_of_data(
    model: BoundModel,
    rows: Rows,
    parameters: ModelParameters,
    prior: ModelParameters,
    rng: np.random.Generator,
    unweighted: BoundModel | None,
) -> dict[str, xr.Dataset]:
    """The groups that need rows; `unweighted` is the model without weights, where `model` has some."""
    joint = log_joint_under(model, rows.table, parameters)
    of_class = log_normalised(joint)
    coords = {"row": np.arange(len(rows))}
    labels = {"classes": list(map(str, model.schema.classes.tolist()))}
    before = log_joint_under(model, rows.table, prior)
    # Draws from a wide prior may make a row impossible; it then gets the class probabilities.
    lost = np.isneginf(before).all(axis=-1, keepdims=True)
    before = np.where(lost, log(prior.class_prob)[:, :, None, :], before)
    likelihood = {"y": of_class, "joint": joint}
    if unweighted is not None:
        # The parameters are drawn without feature weights, so that no weighting of draws can leave a label out.
        likelihood = {} if model.schema.derived else {"joint": log_joint_under(unweighted, rows.table, parameters)}
    of_label = {name: values[:, :, coords["row"], rows.codes] for name, values in likelihood.items()}
    return ({"log_likelihood": _rows_to_dataset(of_label)} if of_label else {}) | {
        "observed_data": xr.Dataset({"y": ("row", rows.codes)}, coords=coords, attrs=labels),
        "constant_data": xr.Dataset(_number_features(model, rows.table), coords=coords),
        "posterior_predictive": _rows_to_dataset({"y": _labels_of_draws(of_class, rng)}),
        "prior_predictive": _rows_to_dataset({"y": _labels_of_draws(log_normalised(before), rng)}),
    }


def _number_features(model: BoundModel, table: Table) -> dict[str, Any]:
    """Features that are numbers, by column or block, with their dimensions; a feature "row" is called "row_"."""
    found: dict[str, Any] = {}
    for block, x in zip(model.blocks, model.read(table).whole(), strict=True):
        if block.has_categories:
            continue
        cells = dense(x)
        if block.by_column:
            found |= {str(label): ("row", cells[:, j]) for j, label in enumerate(block.labels)}
        else:
            found[block.name] = (("row", f"{block.name}_column"), cells)
    return {"row_" if name == "row" else name: cells for name, cells in found.items()}


def _labels_of_draws(log_proba: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels given features, one for each draw and row, from log class probabilities (chain, draw, rows, classes)."""
    return draw(dist.CategoricalProbs(np.exp(log_proba), validate_args=False), rng).astype(np.int64)


def _rows_to_dataset(values: Mapping[str, np.ndarray], coords: Mapping[str, Any] | None = None) -> xr.Dataset:
    """Arrays of shape (chain, draw, rows) or (chain, draw, rows, classes)."""
    rows = {"row": np.arange(next(iter(values.values())).shape[2]), **(coords or {})}
    return dataset_of_draws(values, {name: ["row", "class"][: value.ndim - 2] for name, value in values.items()}, rows)


@in_float64
def _log_prior(model: BoundModel, parameters: ModelParameters) -> dict[str, np.ndarray]:
    """Log prior density of each site at each draw, shape (chain, draw)."""
    found: dict[str, np.ndarray] = {}
    leading = parameters.class_prob.shape[:2]
    prior = model.prior
    if model.description.hyperpriors:
        for name, distribution in model.description.hyperpriors.items():
            density = log_prob(distribution, off_boundary(parameters.hyperparameters[name]))
            found[name] = density.reshape(*leading, -1).sum(axis=-1)
        prior = model.learned.given(parameters.hyperparameters)
    of_classes, *of_blocks = prior.log_densities(parameters)
    found |= of_classes
    for site in model.sites:
        cells = of_blocks[site.block][site.parameter]
        cells = cells if site.column is None else cells[..., site.column]
        found[site.name] = cells.reshape(*leading, -1).sum(axis=-1)
    return found
