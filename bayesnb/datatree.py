"""Posteriors as xarray trees, in ArviZ's groups and under labelled dimensions."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import numpyro.distributions as dist
import xarray as xr
from arviz_base import dict_to_dataset
from scipy.special import logsumexp

from bayesnb.arrays import in_float64, log
from bayesnb.families.fast import draw, random_generator
from bayesnb.model.bound import BoundModel
from bayesnb.model.class_prior import CLASS_SITE
from bayesnb.model.parameters import ModelParameters, off_boundary
from bayesnb.model.sites import coordinate
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.sparse import dense
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table

__all__ = ["to_datatree"]


def to_datatree(
    posterior: Posterior,
    X: Any = None,
    y: Any = None,
    *,
    predictions: Any = None,
    num_chains: int | None = None,
    num_draws: int | None = None,
    key: Any = 0,
) -> xr.DataTree:
    """A posterior as an ``xarray.DataTree`` in ArviZ's groups.

    Parameters
    ----------
    posterior : Posterior
        Exact or sampled.
    X : table, shape (rows, columns), optional
    y : labels, shape (rows,), optional
        With both, the groups that look at data are there too.
    predictions : table, shape (new rows, columns), optional
        Rows without labels, for the group of that name.
    num_chains, num_draws : int, optional
        As for `Posterior.draws`. Exact draws come in chains, like NUTS's, so that ArviZ treats both alike.
    key : int or JAX key, default 0

    Returns
    -------
    xarray.DataTree
        Always: ``posterior`` and ``prior``, with the dimensions chain, draw, class, ``<block>_column`` and
        ``<column>_category``, all labelled; ``log_prior``, the log prior density of each site at the posterior's draws.
        Of a sampled posterior: ``sample_stats``. With data: ``observed_data`` (``y`` as positions among the classes,
        whose labels are in its attributes), ``constant_data`` (the features that are numbers), ``log_likelihood`` with
        two variables, of which ``arviz.loo`` takes one (``var_name="y"``, log p(y | x, theta), to judge the classifier;
        ``var_name="joint"``, log p(x, y | theta), to judge the model of features and labels together),
        ``posterior_predictive`` and ``prior_predictive`` with labels ``y`` drawn given each row's features. With
        `predictions`: drawn labels ``y`` and class probabilities ``proba`` of the new rows.

    Raises
    ------
    ValueError
        If the posterior is a point, which has no draws; or if one of X and y comes without the other.
    """
    if (X is None) != (y is None):
        raise ValueError("X and y come together: log p(y | x, theta) needs both")
    rng = random_generator(key)
    model = posterior.model
    parameters = posterior._parameters(num_chains, num_draws, key)
    shape = parameters.class_prob.shape[:2]
    prior = model.draw_prior(rng, shape)
    axes = model.sites.axes()
    dims: dict[Any, Any] = {site: [name for name, _ in axis] for site, axis in axes.items()}
    coords: dict[Any, Any] = {name: coordinate(labels) for axis in axes.values() for name, labels in axis}
    groups = {
        "posterior": dict_to_dataset(model.sites.by_name(parameters), coords=coords, dims=dims),
        "prior": dict_to_dataset(model.sites.by_name(prior), coords=coords, dims=dims),
    }
    if model.feature_inclusion is None:
        # Parameters that classes may share have no density: part of the prior lies where they are equal.
        groups["log_prior"] = dict_to_dataset(_log_prior(model, parameters))
    if isinstance(posterior, SampledPosterior) and posterior.sample_stats:
        groups["sample_stats"] = dict_to_dataset(posterior.thinned_stats(num_chains, num_draws))
    if X is not None:
        table = as_table(X)
        codes = encode_labels(y, table.num_rows, posterior.classes)
        groups |= _groups_of_data(posterior, table, codes, parameters, prior, rng)
    if predictions is not None:
        joint = posterior._log_joint_under(predictions, parameters)
        groups["predictions"] = _rows_to_dataset(
            {"y": _draw_labels(joint, rng), "proba": np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))}, coords
        )
    tree = xr.DataTree.from_dict(groups)
    for node in (tree, *tree.children.values()):
        node.attrs.update(_attributes(posterior))
    return tree


def _groups_of_data(
    posterior: Posterior,
    table: Table,
    codes: np.ndarray,
    parameters: ModelParameters,
    prior: ModelParameters,
    rng: np.random.Generator,
) -> dict[str, xr.Dataset]:
    joint = posterior._log_joint_under(table, parameters)
    of_label = np.take_along_axis(joint, codes[None, None, :, None], axis=-1)[..., 0]
    rows = {"row": np.arange(table.num_rows)}
    labels = {"classes": [str(label) for label in posterior.classes]}
    before = posterior._log_joint_under(table, prior)
    return {
        "log_likelihood": _rows_to_dataset({"y": of_label - logsumexp(joint, axis=-1), "joint": of_label}),
        "observed_data": xr.Dataset({"y": ("row", codes)}, coords=rows, attrs=labels),
        "constant_data": xr.Dataset(_numbers(posterior.model, table), coords=rows),
        "posterior_predictive": _rows_to_dataset({"y": _draw_labels(joint, rng)}),
        "prior_predictive": _rows_to_dataset({"y": _draw_labels(_possible(before, prior), rng)}),
    }


def _numbers(model: BoundModel, table: Table) -> dict[str, Any]:
    """Features that are numbers, by column or block, with their dimensions."""
    chunks = [chunk for _, chunk in model.encode(table)]
    found: dict[str, Any] = {}
    for i, block in enumerate(model.blocks):
        if block.has_categories:
            continue
        cells = np.concatenate([dense(chunk[i]) for chunk in chunks])
        if block.by_column:
            found |= {str(label): ("row", cells[:, j]) for j, label in enumerate(block.labels)}
        else:
            found[block.name] = (("row", f"{block.name}_column"), cells)
    return found


def _draw_labels(joint: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels given features, one for each draw and row, from log joint densities (chain, draw, rows, classes)."""
    probs = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))
    return draw(dist.CategoricalProbs(probs), rng).astype(np.int64)


def _possible(joint: np.ndarray, parameters: ModelParameters) -> np.ndarray:
    """Joint densities; a row that draws from a wide prior make impossible under every class keeps the class's own."""
    lost = np.isneginf(joint).all(axis=-1, keepdims=True)
    return np.where(lost, log(parameters.class_prob)[:, :, None, :], joint)


def _rows_to_dataset(values: Mapping[str, np.ndarray], coords: Mapping[Any, Any] | None = None) -> xr.Dataset:
    """Arrays of shape (chain, draw, rows) or (chain, draw, rows, classes)."""
    rows: dict[Any, Any] = {"row": np.arange(next(iter(values.values())).shape[2])}
    if coords is not None:
        rows["class"] = coords["class"]
    dims: dict[Any, Any] = {name: ["row", "class"][: value.ndim - 2] for name, value in values.items()}
    return dict_to_dataset(dict(values), coords=rows, dims=dims)


@in_float64
def _log_prior(model: BoundModel, parameters: ModelParameters) -> dict[str, np.ndarray]:
    """Log prior density of each site at each draw, shape (chain, draw)."""
    found: dict[str, np.ndarray] = {}

    def score(value: Any, distribution: dist.Distribution, column: int | None) -> np.ndarray:
        cells = np.asarray(distribution.log_prob(off_boundary(value)))
        cells = cells if column is None else cells[..., column]
        return cells.reshape(*cells.shape[:2], -1).sum(axis=-1)

    class_prior, families = model.class_prior, model.families
    if model.hyperpriors:
        for name, distribution in model.hyperpriors.items():
            found[name] = score(parameters.hyperparameters[name], distribution, None)
        class_prior, families = model.learned.given(parameters.hyperparameters)
    if class_prior.probs is None:
        found[CLASS_SITE] = score(parameters.class_prob, dist.Dirichlet(class_prior.concentration), None)
    for i, (family, values) in enumerate(zip(families, parameters.blocks, strict=True)):
        seen: dict[str, dist.Distribution] = {}

        def note(
            name: str,
            distribution: dist.Distribution,
            values: Mapping[str, Any] = values,
            seen: dict[str, dist.Distribution] = seen,
        ) -> Any:
            seen[name] = distribution
            return values[name]

        family.prior(note)
        for site in model.sites:
            if site.block == i:
                found[site.name] = score(values[site.parameter], seen[site.parameter], site.column)
    return found


def _attributes(posterior: Posterior) -> dict[str, Any]:
    return {
        "inference_library": "numpyro" if isinstance(posterior, SampledPosterior) else "bayesnb",
        "inference_library_version": version("numpyro" if isinstance(posterior, SampledPosterior) else "bayesnb"),
        "modeling_interface": "bayesnb",
        "modeling_interface_version": version("bayesnb"),
        "inference": "given" if posterior.inference is None else repr(posterior.inference),
        "model": repr(posterior.model),
    }
