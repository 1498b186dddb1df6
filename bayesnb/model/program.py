"""The model as a NumPyro program: names of its parameters, the program, and rows drawn from it."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.core.checking import require_readable
from bayesnb.core.deferred import dist, in_float64, jnp, numpyro, pd
from bayesnb.data.labels import as_labels
from bayesnb.data.schema import Schema
from bayesnb.families.family import Family, JointFamily, Parameters, parameter_names
from bayesnb.families.hyperparameters import filled_cells
from bayesnb.model.blocks import Block
from bayesnb.model.prior import CLASS_SITE, ModelParameters, Prior, draw_from_prior

# --------------------------------------------------------------------------------------------------
# Names of parameters in results: sites, dimensions and labels
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Site:
    """A named parameter of results: of a whole block, or of one of its columns."""

    name: str
    parameter: str
    block: int
    column: int | None


class Sites:
    """Every parameter of a bound model by the name that results use.

    Parameters
    ----------
    blocks : sequence of Block
    schema : Schema
    hyperparameters : mapping
        Of each learned hyperparameter by name, its (dimension, labels) axis by axis.
    weights : mapping
        The same of weights of features.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        schema: Schema,
        hyperparameters: Mapping[str, tuple[tuple[str, tuple], ...]],
        weights: Mapping[str, tuple[tuple[str, tuple], ...]],
    ) -> None:
        self.blocks, self._schema = blocks, schema
        self._hyperparameters, self._weights = dict(hyperparameters), dict(weights)
        self._sites: dict[str, Site] = {}
        for i, block in enumerate(blocks):
            for parameter in parameter_names(block.family):
                for j in block.members:
                    owner = block.name if j is None else block.labels[j]
                    name = f"{owner}_{parameter}"
                    while name in {CLASS_SITE, *self._hyperparameters} or name in self._sites:
                        name = name.replace(f"_{parameter}", f"__{parameter}")
                    self._sites[name] = Site(name, parameter, i, j)

    def __getitem__(self, name: str) -> Site:
        """The site of a name."""
        return self._sites[name]

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites.values())

    def axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        """Name and labels of every axis of every site, in the order of `by_name`.

        Returns
        -------
        dict
            For each site a tuple of (dimension, labels): ``class``, then ``<block>_column`` and further axes of the
            block for a site of a whole block, ``<column>_category`` for a column of categories, or the axis of a
            parameter that is a vector.
        """
        return dict(self._axes)

    @cached_property
    def _axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        classes = ("class", tuple(self._schema.classes.tolist()))
        axes: dict[str, tuple[tuple[str, tuple], ...]] = {CLASS_SITE: (classes,), **self._hyperparameters}
        for site in self:
            block = self.blocks[site.block]
            # Columns of numbers have no categories.
            columns = block.columns if site.column is None else [block.columns[site.column]]
            categories = tuple(self._schema.categories[position] for position in columns if block.has_categories)
            of_block: Sequence[Any] = block.family.axes(site.parameter, block.labels, categories)
            name = block.name
            if site.column is not None:
                # A site of one column: its name contains the column's.
                name, (_, *of_block) = block.labels[site.column], of_block
            axes[site.name] = (classes, *((f"{name}_{axis}", labels) for axis, labels in of_block))
        return axes | self._weights

    def scalar_labels(self) -> dict[str, list[str]]:
        """``site[class, column]`` of every scalar parameter of every site, in the order of its flattened array."""
        found = {}
        for site, axes in self.axes().items():
            labels = [[str(label) for label in labels] for _, labels in axes]
            found[site] = [f"{site}[{', '.join(at)}]" if at else site for at in itertools.product(*labels)]
        return found

    def by_name(self, parameters: ModelParameters) -> dict[str, Any]:
        """Parameters by the name that results use.

        Returns
        -------
        dict
            ``class_prob`` of shape (..., classes) and for each block or column its parameters, of shape
            (..., classes, columns), (..., classes) or (..., classes, categories).
        """
        result = {CLASS_SITE: parameters.class_prob}
        result |= {name: parameters.hyperparameters[name] for name in self._hyperparameters}
        for site in self:
            value = parameters.blocks[site.block][site.parameter]
            last = [slice(None)] * (len(self._axes[site.name]) - 1)
            result[site.name] = value if site.column is None else value[(..., site.column, *last)]
        return result | parameters.weights()

    def parameters(self, sites: Mapping[str, Any], known: Any = None) -> ModelParameters:
        """Parameters from arrays by site name; the inverse of `by_name`.

        Parameters
        ----------
        sites : mapping
        known : array, shape (classes,), optional
            The class probabilities, where they are known and need not be among the sites.

        Raises
        ------
        ValueError
            If a site is missing or has the wrong trailing shape, or sites differ in their number of draws.
        """
        events = {name: tuple(len(labels) for _, labels in axes) for name, axes in self._axes.items()}
        given = {
            name: _site_array(sites, name, event, known if name == CLASS_SITE else None)
            for name, event in events.items()
        }
        draws = {name: value.shape[: value.ndim - len(events[name])] for name, value in given.items()}
        leading = draws.pop(CLASS_SITE)
        if known is not None and not leading:
            leading = next(iter(draws.values()))
        for name, shape in draws.items():
            if shape != leading:
                raise ValueError(f"{name!r} has {shape} draws, {CLASS_SITE!r} has {leading}")
        blocks: list[dict[str, list[np.ndarray]]] = [{} for _ in self.blocks]
        columns = len(leading) + 1
        for site in self:
            value = given[site.name] if site.column is None else np.expand_dims(given[site.name], columns)
            blocks[site.block].setdefault(site.parameter, []).append(value)
        joined = tuple({name: np.concatenate(values, axis=columns) for name, values in of.items()} for of in blocks)
        class_prob = np.broadcast_to(given[CLASS_SITE], (*leading, *events[CLASS_SITE]))
        return ModelParameters(class_prob, joined, {name: given[name] for name in self._hyperparameters})


def _site_array(sites: Mapping[str, Any], name: str, event: tuple[int, ...], known: Any) -> np.ndarray:
    if name not in sites:
        if known is not None:
            return np.asarray(known)
        raise ValueError(f"no values for {name!r}: there are {sorted(map(str, sites))}")
    require_readable(f"the value of {name!r}", sites[name])
    value = np.asarray(sites[name], dtype=np.float64)
    if value.shape[value.ndim - len(event) :] != event or value.ndim < len(event):
        raise ValueError(f"{name!r} has shape {value.shape}, which does not end in {event}")
    return value


# --------------------------------------------------------------------------------------------------
# The row-level NumPyro program: the definition of the model
# --------------------------------------------------------------------------------------------------


def run_program(
    sites: Sites,
    prior: Prior,
    num_rows: int,
    *,
    codes: np.ndarray | None,
    cells: Sequence[np.ndarray] | None,
    total_count: Any,
) -> None:
    """Sample class probabilities, parameters, labels and cells; labels and cells that are given are observed.

    Parameters
    ----------
    sites : Sites
        Names of the parameters of the blocks.
    prior : Prior
        Apart from the blocks, because learned hyperparameters are sampled before.
    num_rows : int
    codes : array of int, shape (rows,), or None
        Positions of the labels among the classes.
    cells : sequence of array, shape (rows, columns), or None
        For each block its cells, missing ones NaN and categories as codes.
    total_count : int or array, or None
        Totals of the count vectors to draw.
    """
    class_prob = prior.classes.prior(numpyro.sample)
    parameters = _sample_parameters(sites, prior.families, np.shape(class_prob)[-1])
    with numpyro.plate("row", num_rows):
        label = numpyro.sample("y", dist.Categorical(probs=jnp.asarray(class_prob)), obs=codes)
        for i, block in enumerate(sites.blocks):
            for j in block.members:
                rows = {name: jnp.asarray(value)[label] for name, value in parameters[i, j].items()}
                seen = None if cells is None else cells[i] if j is None else cells[i][:, j]
                name = block.name if j is None else str(block.labels[j])
                name = name if name not in {"y", "row", "class", CLASS_SITE} else f"{name}_"
                _observe(name, block, rows, seen, total_count)


def _sample_parameters(
    sites: Sites, families: Sequence[Family], num_classes: int
) -> dict[tuple[int, int | None], dict[str, Any]]:
    """Sample every parameter at its site, by block and column."""
    names = {(site.block, site.column, site.parameter): site.name for site in sites}
    plate = numpyro.plate("class", num_classes)
    found = {}
    for i, (block, whole) in enumerate(zip(sites.blocks, families, strict=True)):
        for j in block.members:
            family = whole if j is None else whole.take((slice(None), j))

            def sample(name: str, distribution: "dist.Distribution", i: int = i, j: int | None = j) -> Any:
                of_classes = distribution.to_event(len(distribution.batch_shape) - 1)
                with plate:
                    return numpyro.sample(names[i, j, name], of_classes)

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
# Rows drawn given parameters, as a table like the one that the model is bound to
# --------------------------------------------------------------------------------------------------

TINY = float(np.finfo(np.float64).tiny)


def draw_codes(class_prob: np.ndarray, num_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the classes of rows as codes, shape (rows,), given their probabilities, shape (classes,)."""
    from bayesnb.families.draw import draw

    return draw(dist.CategoricalProbs(np.tile(class_prob, (num_rows, 1))), rng).astype(np.intp)


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
    from bayesnb.families.draw import draw

    cells = []
    for block, values in zip(blocks, parameters, strict=True):
        size = {"total_count": _total_counts(total_count, num_rows)} if block.has_totals else {}
        drawn = draw(block.family.likelihood(**values, **size), rng)
        cells.append(_inside(block.family.support, drawn) if block.family.cell == "number" else drawn)
    return cells


def _inside(support: Any, cells: np.ndarray) -> np.ndarray:
    """Cells moved inside the support from an end that it excludes.

    A small gamma variable is rounded to zero, and a share near one to one; the family would reject both.
    """
    for bound, beyond in (("lower_bound", np.inf), ("upper_bound", -np.inf)):
        end = np.asarray(getattr(support, bound, np.inf), dtype=np.float64)
        if end.ndim == 0 and np.isfinite(end) and not support(end):
            # The nearest number to zero is subnormal, which JAX takes for zero.
            nearest = np.copysign(TINY, beyond) if end == 0 else np.nextafter(end, beyond)
            cells = np.where(cells == end, nearest, cells)
    return cells


def _total_counts(total_count: Any, num_rows: int) -> np.ndarray:
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
            columns[position] = x[:, j]
            if block.has_categories:
                values = [*schema.categories[position], np.nan]
                codes = np.where(np.isnan(x[:, j]), -1, x[:, j]).astype(np.intp)
                columns[position] = as_labels([values[code] for code in codes])
    ordered = {schema.columns[position]: columns[position] for position in sorted(columns)}
    if schema.named:
        return pd.DataFrame(ordered)
    kinds = {column.dtype.kind for column in ordered.values()}
    if len(kinds) > 1:
        ordered = {name: column.astype(object) for name, column in ordered.items()}
    return np.column_stack(list(ordered.values()))
