"""Draws of parameters and of tables as xarray trees."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from arviz_base import make_attrs

from bayesnb.core.arrays import coordinate, dense
from bayesnb.data.read import Rows
from bayesnb.model.blocks import Block
from bayesnb.model.program import Sites, draw_cells, draw_codes
from bayesnb.model.reading import Cells

# --------------------------------------------------------------------------------------------------
# Draws of parameters by site, and trees of datasets
# --------------------------------------------------------------------------------------------------


def dataset_of_sites(sites: Sites, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Arrays by site, leading axes (chain, draw), with the names and labels of the other axes."""
    axes = sites.axes()
    dims = {site: [name for name, _ in axis] for site, axis in axes.items()}
    return dataset_of_draws(values, dims, {name: coordinate(labels) for axis in axes.values() for name, labels in axis})


def as_tree(groups: Mapping[str, xr.Dataset], attributes: Mapping[str, Any]) -> xr.DataTree:
    """Datasets as the groups of a tree; the tree and each group get the attributes.

    In a tree "/" separates groups, and no variable may have it in its name: it becomes "|", ``km/h_mean`` for example
    ``km|h_mean``.

    Raises
    ------
    ValueError
        If two variables get the same name.
    """

    def without_slashes(group: xr.Dataset) -> xr.Dataset:
        names = [name for name in map(str, {*group.variables, *group.dims}) if "/" in name]
        return group.rename({name: name.replace("/", "|") for name in names}) if names else group

    tree = xr.DataTree.from_dict({name: without_slashes(group) for name, group in groups.items()})
    for node in (tree, *tree.children.values()):
        node.attrs.update(attributes)
    return tree


def dataset_of_draws(
    values: Mapping[str, np.ndarray],
    dims: Mapping[str, list[str]] | None = None,
    coords: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Arrays with leading axes (chain, draw), as `arviz_base.dict_to_dataset` makes them of each array on its own.

    For 500 columns, xarray needs more time to align a thousand arrays than everything else takes.
    """
    dims, sample = dims or {}, ("chain", "draw")
    num_chains, num_draws = next(iter(values.values())).shape[:2]
    used = {name for site in values for name in dims.get(site, [])}
    labels = {name: labels for name, labels in (coords or {}).items() if name in used}
    return xr.Dataset(
        {site: ((*sample, *dims.get(site, [])), value) for site, value in values.items()},
        coords={"chain": np.arange(num_chains), "draw": np.arange(num_draws), **labels},
        attrs=make_attrs(sample_dims=list(sample)),
    )


# --------------------------------------------------------------------------------------------------
# Tables drawn under each draw of the parameters, beside the observed one
# --------------------------------------------------------------------------------------------------

PARAMETERS_OF_ROWS = 2**22
"""Number of parameters of single rows in memory at a time."""


def draw_tables(
    blocks: Sequence[Block],
    parameters: Sequence[Mapping[str, np.ndarray]],
    codes: np.ndarray,
    cells: Cells,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Cells of rows of given classes under each draw of the parameters.

    Parameters
    ----------
    blocks : sequence of Block
    parameters : sequence of mapping
        For each block, arrays of shape (chain, draw, classes, ...).
    codes : array of int, shape (rows,) or (chain, draw, rows)
        Positions of the classes.
    cells : sequence of array or CSR array, shape (rows, columns)
        The observed cells of each block. Count vectors have their totals.
    rng : numpy.random.Generator

    Returns
    -------
    list of array, shape (chain, draw, rows, columns)
    """
    return [_draw_table(*of_block, codes, rng) for of_block in zip(blocks, parameters, cells, strict=True)]


def _draw_table(
    block: Block, parameters: Mapping[str, np.ndarray], x: Any, codes: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    draws = next(iter(parameters.values())).shape[:2]
    number, num_rows = math.prod(draws), x.shape[0]
    codes = np.broadcast_to(codes, (*draws, num_rows)).reshape(number, num_rows)
    flat = {name: np.reshape(value, (number, *value.shape[2:])) for name, value in parameters.items()}
    totals = block.totals(x) if block.has_totals else None
    size = num_rows * sum(value[0, 0].size for value in flat.values())
    step = max(1, PARAMETERS_OF_ROWS // max(size, 1))
    found = np.empty((number, *x.shape))
    for start in range(0, number, step):
        at = np.arange(start, min(start + step, number))
        of_rows = {name: np.concatenate(value[at[:, None], codes[at]]) for name, value in flat.items()}
        total_count = None if totals is None else np.tile(totals, len(at))
        [drawn] = draw_cells([block], [of_rows], len(at) * num_rows, rng, total_count)
        found[at] = drawn.reshape(len(at), *x.shape)
    return found.reshape(*draws, *x.shape)


def columns_of_tables(
    blocks: Sequence[Block], cells: Cells, drawn: Sequence[Sequence[np.ndarray]], places: np.ndarray
) -> list[dict[str, Any]]:
    """Variables of each column by name, count vectors by that of their block, observed and in each of the drawn tables.

    Parameters
    ----------
    blocks : sequence of Block
    cells : sequence of array or CSR array, shape (rows, columns)
        The observed cells of each block.
    drawn : sequence of sequence of array, shape (chain, draw, rows, columns)
        Drawn tables of each kind, as `draw_tables` returns them.
    places : array, shape (rows,)
        Labels of the rows.
    """
    found: list[dict[str, Any]] = [{} for _ in range(1 + len(drawn))]
    for block, x, *tables in zip(blocks, map(dense, cells), *drawn, strict=True):
        if block.has_totals:
            columns = {block.name: (x, *tables)}
        else:
            columns = {str(label): tuple(of[..., j] for of in (x, *tables)) for j, label in enumerate(block.labels)}
        for name, (observed, *draws) in columns.items():
            name = f"{name}_" if name in KEPT_NAMES else name
            variables = _rows_of_column(name, observed, draws, places, whole=not block.is_measured)
            words = {f"{name}_column": (f"{name}_column", list(block.labels))} if block.has_totals else {}
            for group, of_column in zip(found, variables, strict=True):
                group |= of_column | words
    return found


KEPT_NAMES = {"y", "row", "class", "chain", "draw"}
"""Names of dimensions and of the label; a column of such a name gets an underscore."""


def _rows_of_column(
    name: str, observed: np.ndarray, drawn: Sequence[np.ndarray], places: np.ndarray, *, whole: bool
) -> list[dict[str, Any]]:
    """A column, observed and drawn, without the rows in which it is missing; these have a dimension of their own."""
    present = ~np.isnan(observed).any(axis=tuple(range(1, observed.ndim)))
    observed = observed[present]
    row = "row" if present.all() else f"{name}_row"
    dims = (row, f"{name}_column")[: observed.ndim]
    # ArviZ draws whole numbers as bars.
    kind = np.int64 if whole and (observed == np.rint(observed)).all() else np.float64
    others = [(("chain", "draw", *dims), of[:, :, present].astype(kind)) for of in drawn]
    return [{name: values, row: (row, places[present])} for values in ((dims, observed.astype(kind)), *others)]


def prior_predictive_tree(model: Any, rows: Rows, num_draws: int, rng: np.random.Generator) -> xr.DataTree:
    """Draws of the parameters from the prior, and a table under each; `BoundModel.prior_predictive` describes them."""
    parameters = model.draw_prior(rng, (1, num_draws))
    codes = np.stack([draw_codes(prob, len(rows), rng) for prob in parameters.class_prob[0]])[None]
    cells, places = model.read(rows.alone().table).whole(), rows.place
    drawn = draw_tables(model.blocks, parameters.blocks, codes, cells, rng)
    columns = columns_of_tables(model.blocks, cells, [drawn], places)
    labels = _rows_of_column("y", np.where(rows.codes < 0, np.nan, rows.codes), [codes], places, whole=True)
    observed, tables = ({**y, **of} for y, of in zip(labels, columns, strict=True))
    classes = {"classes": list(map(str, model.schema.classes.tolist()))}
    groups = {
        "prior": dataset_of_sites(model.sites, model.sites.by_name(parameters)),
        "prior_predictive": xr.Dataset(tables, {"chain": [0], "draw": np.arange(num_draws)}),
        "observed_data": xr.Dataset(observed, attrs=classes),
    }
    return as_tree(groups, {"modeling_interface": "bayesnb", "model": format(model, "80")})
