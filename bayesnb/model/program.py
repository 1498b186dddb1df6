"""The model as a NumPyro program, and rows drawn from it."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.core.arrays import in_float64
from bayesnb.data.schema import Schema
from bayesnb.families.base import Family, Parameters, filled_cells
from bayesnb.families.draw import draw
from bayesnb.families.joint import JointFamily
from bayesnb.model.blocks import CLASS_SITE, Block, Prior, draw_from_prior, require_prior_shape
from bayesnb.model.sites import Sites

__all__ = ["draw_cells", "refuse_subsets", "run_program", "to_table", "total_counts"]

# --------------------------------------------------------------------------------------------------
# The row-level NumPyro program: the definition of the model
# --------------------------------------------------------------------------------------------------


def refuse_subsets(feature_inclusion: Any) -> None:
    """Raise an error for a model that averages over subsets of its features.

    Raises
    ------
    ValueError
    """
    if feature_inclusion is not None:
        raise ValueError(
            "the program has a parameter for every class and no subsets of features to average over: take that of "
            "the model without feature_inclusion, or average in closed form, nb.fit(model, X, y)"
        )


def run_program(
    blocks: Sequence[Block],
    sites: Sites,
    prior: Prior,
    num_classes: int,
    num_rows: int,
    *,
    codes: np.ndarray | None,
    cells: Sequence[np.ndarray] | None,
    total_count: Any,
) -> None:
    """Sample class probabilities, parameters, labels and cells; labels and cells that are given are observed.

    Parameters
    ----------
    blocks : sequence of Block
    sites : Sites
        Names of the parameters.
    prior : Prior
        Apart from the blocks, because learned hyperparameters are sampled before.
    num_classes, num_rows : int
    codes : array of int, shape (rows,), or None
        Positions of the labels among the classes.
    cells : sequence of array, shape (rows, columns), or None
        For each block its cells, missing ones NaN and categories as codes.
    total_count : int or array, or None
        Totals of the count vectors to draw.
    """
    class_prob = prior.classes.prior(numpyro.sample)
    parameters = _sample_parameters(blocks, sites, prior.families, num_classes)
    with numpyro.plate("row", num_rows):
        label = numpyro.sample("y", dist.Categorical(probs=jnp.asarray(class_prob)), obs=codes)
        for i, block in enumerate(blocks):
            for j in block.members:
                rows = {name: jnp.asarray(value)[label] for name, value in parameters[i, j].items()}
                seen = None if cells is None else cells[i] if j is None else cells[i][:, j]
                name = block.name if j is None else str(block.labels[j])
                name = name if name not in {"y", "row", "class", CLASS_SITE} else f"{name}_"
                _observe(name, block, rows, seen, total_count)


def _sample_parameters(
    blocks: Sequence[Block], sites: Sites, families: Sequence[Family], num_classes: int
) -> dict[tuple[int, int | None], dict[str, Any]]:
    """Sample every parameter at its site, by block and column."""
    names = {(site.block, site.column, site.parameter): site.name for site in sites}
    plate = numpyro.plate("class", num_classes)
    found = {}
    for i, (block, whole) in enumerate(zip(blocks, families, strict=True)):
        for j in block.members:
            family = whole if j is None else whole.take((slice(None), j))

            def sample(
                parameter: str,
                distribution: dist.Distribution,
                i: int = i,
                j: int | None = j,
                family: Family = family,
            ) -> Any:
                require_prior_shape(family, parameter, distribution)
                with plate:
                    return numpyro.sample(
                        names[i, j, parameter], distribution.to_event(len(distribution.batch_shape) - 1)
                    )

            found[i, j] = draw_from_prior(family, sample)
    return found


def _observe(name: str, block: Block, parameters: Parameters, cells: np.ndarray | None, total_count: Any) -> None:
    """Sample (or observe) the cells of a block or column; a missing cell adds nothing."""
    if block.has_totals:
        if cells is not None:
            total_count = cells.sum(axis=-1).astype(np.int64)
        elif total_count is None:
            raise ValueError(f"block {name!r} holds count vectors: give total_count, their totals, to draw them")
        numpyro.sample(name, block.family.likelihood(**parameters, total_count=total_count), obs=cells)
        return
    likelihood = block.family.likelihood(**parameters)
    if cells is not None:
        missing = np.isnan(cells)
        _, cells = filled_cells(block.family, cells)
        if missing.any():
            if isinstance(block.family, JointFamily):
                likelihood = block.family.likelihood_of_observed(~missing, **parameters)
            else:
                likelihood = likelihood.mask(~missing)
        if block.has_categories:
            cells = cells.astype(np.int64)
    numpyro.sample(name, likelihood.to_event(len(likelihood.batch_shape) - 1), obs=cells)


# --------------------------------------------------------------------------------------------------
# Rows drawn from a model whose parameters are given, as a table like the one that it is bound to
# --------------------------------------------------------------------------------------------------

TINY = float(np.finfo(np.float64).tiny)


@in_float64
def draw_cells(
    blocks: Sequence[Block],
    parameters: Sequence[Parameters],
    num_rows: int,
    rng: np.random.Generator,
    total_count: Any = None,
) -> list[np.ndarray]:
    """Draw the cells of rows whose parameters are given.

    Parameters
    ----------
    blocks : sequence of Block
    parameters : sequence of mapping
        For each block, parameters of each row, shape (rows, columns) or (rows, columns, categories).
    num_rows : int
    rng : numpy.random.Generator
    total_count : int or array of shape (rows,), optional
        Total of each count vector; needed if a block holds count vectors.

    Returns
    -------
    list of array, shape (rows, columns)
        For each block its cells, categories as codes.
    """
    cells = []
    for block, values in zip(blocks, parameters, strict=True):
        size = {"total_count": total_counts(total_count, num_rows)} if block.has_totals else {}
        drawn = draw(block.family.likelihood(**values, **size), rng)
        cells.append(_inside(block.family.support, drawn) if block.family.cell == "number" else drawn)
    return cells


def _inside(support: Any, cells: np.ndarray) -> np.ndarray:
    """Cells with the nearest number of the support in place of an end that it leaves out.

    A small gamma variable is rounded to zero, and a share near one to one. The family would refuse such a cell.
    """
    for bound, beyond in (("lower_bound", np.inf), ("upper_bound", -np.inf)):
        end = np.asarray(getattr(support, bound, np.inf), dtype=np.float64)
        if end.ndim == 0 and np.isfinite(end) and not support(end):
            # The nearest number to zero is subnormal, which JAX takes for zero.
            nearest = np.copysign(TINY, beyond) if end == 0 else np.nextafter(end, beyond)
            cells = np.where(cells == end, nearest, cells)
    return cells


def total_counts(total_count: Any, num_rows: int) -> np.ndarray:
    """The total of each row's count vector, shape (rows,).

    Raises
    ------
    ValueError
        If it is missing, or is not a whole number or one for each row.
    """
    if total_count is None:
        raise ValueError(
            "the model has count vectors, whose total it does not describe: give total_count, the length of each "
            "document (a number or one per row)"
        )
    totals = np.asarray(total_count)
    if totals.dtype.kind not in "iu" or (totals < 0).any() or totals.shape not in {(), (num_rows,)}:
        raise ValueError(f"total_count is {total_count!r}: give a whole number, or one for each of {num_rows} rows")
    return np.broadcast_to(totals, (num_rows,))


def to_table(schema: Schema, blocks: Sequence[Block], cells: Sequence[np.ndarray]) -> Any:
    """Cells of all blocks as one table, with the columns and categories of the schema; missing ones are NaN."""
    columns: dict[int, np.ndarray] = {}
    for block, x in zip(blocks, cells, strict=True):
        for j, position in enumerate(block.columns):
            if block.has_categories:
                categories = np.empty(len(schema.categories[position]), dtype=object)
                categories[:] = schema.categories[position]
                missing = np.isnan(x[:, j])
                column = np.array(categories[np.where(missing, 0, x[:, j]).astype(np.intp)].tolist(), ndmin=1)
                if missing.any():
                    column = column.astype(np.float64 if column.dtype.kind in "biuf" else object)
                    column[missing] = np.nan
                columns[position] = column
            else:
                columns[position] = x[:, j]
    ordered = {schema.columns[position]: columns[position] for position in sorted(columns)}
    if schema.named:
        import pandas as pd

        return pd.DataFrame(ordered)
    kinds = {column.dtype.kind for column in ordered.values()}
    if len(kinds) > 1:
        ordered = {name: column.astype(object) for name, column in ordered.items()}
    return np.column_stack(list(ordered.values()))
