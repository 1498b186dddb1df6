"""The row-level NumPyro program: the definition of the model."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.blocks.block import Block
from bayesnb.blocks.class_prior import CLASS_SITE, ClassPrior
from bayesnb.blocks.parameters import draw_from_prior, require_prior_shape
from bayesnb.families.base import Family, Parameters, filled_cells
from bayesnb.model.sites import Sites

__all__ = ["refuse_subsets", "run_program"]


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
    class_prior: ClassPrior,
    families: Sequence[Family],
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
    class_prior : ClassPrior
    families : sequence of Family
        Prior of each block; given apart from the blocks, because learned hyperparameters are sampled before.
    num_classes, num_rows : int
    codes : array of int, shape (rows,), or None
        Positions of the labels among the classes.
    cells : sequence of array, shape (rows, columns), or None
        For each block its cells, missing ones NaN and categories as codes.
    total_count : int or array, or None
        Totals of the count vectors to draw.
    """
    class_prob = class_prior.prior(numpyro.sample)
    parameters = _sample_parameters(blocks, sites, families, num_classes)
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
            likelihood = block.family.likelihood_of_observed(~missing, **parameters)
        if block.has_categories:
            cells = cells.astype(np.int64)
    numpyro.sample(name, likelihood.to_event(len(likelihood.batch_shape) - 1), obs=cells)
