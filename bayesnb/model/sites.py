"""Names of the parameters in results: sites, dimensions and labels."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.data.schema import Schema
from bayesnb.model.blocks import CLASS_SITE, Block, ModelParameters

__all__ = ["Site", "Sites", "coordinate"]


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
    hyperparameters : mapping, optional
        Of each learned hyperparameter by name, its (dimension, labels) axis by axis.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        schema: Schema,
        hyperparameters: Mapping[str, tuple[tuple[str, tuple], ...]] | None = None,
    ) -> None:
        self._blocks = blocks
        self._schema = schema
        self._hyperparameters = dict(hyperparameters or {})
        taken = {CLASS_SITE, *self._hyperparameters}
        found = []
        for i, block in enumerate(blocks):
            for parameter in block.family.parameter_names():
                for j in block.members:
                    owner = block.name if j is None else block.labels[j]
                    name = f"{owner}_{parameter}"
                    while name in taken:
                        name = name.replace(f"_{parameter}", f"__{parameter}")
                    taken.add(name)
                    found.append(Site(name, parameter, i, j))
        self._sites = tuple(found)

    def __getitem__(self, name: str) -> Site:
        """The site of a name."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Site]:
        return {site.name: site for site in self._sites}

    def __iter__(self) -> Iterator[Site]:
        return iter(self._sites)

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
            block = self._blocks[site.block]
            of_block: Sequence[Any] = block.family.axes(site.parameter, block.labels, self._categories(site, block))
            name = block.name
            if site.column is not None:
                # The column names the site.
                name, (_, *of_block) = block.labels[site.column], of_block
            axes[site.name] = (classes, *((f"{name}_{axis}", labels) for axis, labels in of_block))
        return axes

    def _categories(self, site: Site, block: Block) -> tuple[tuple[Any, ...], ...]:
        """Categories of the columns of a site; empty for columns of numbers."""
        if not block.has_categories:
            return ()
        columns = block.columns if site.column is None else [block.columns[site.column]]
        return tuple(self._schema.categories[position] for position in columns)

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
        return result

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
        num_classes = len(self._schema.classes)
        class_prob = _site_array(sites, CLASS_SITE, (num_classes,), known)
        leading = class_prob.shape[:-1]
        hyperparameters, draws = {}, {}
        for name, axes in self._hyperparameters.items():
            value = hyperparameters[name] = _site_array(sites, name, tuple(len(labels) for _, labels in axes), None)
            draws[name] = value.shape[: value.ndim - len(axes)]
        blocks: list[dict[str, Any]] = [{} for _ in self._blocks]
        for site in self:
            event = tuple(len(labels) for _, labels in self._axes[site.name])
            value = _site_array(sites, site.name, event, None)
            draws[site.name] = value.shape[: value.ndim - len(event)]
            if known is not None and not leading:
                leading = draws[site.name]
            if site.column is None:
                blocks[site.block][site.parameter] = value
            else:
                axis = value.ndim - len(event) + 1
                of_columns, _ = blocks[site.block].setdefault(site.parameter, ([], axis))
                of_columns.append(np.expand_dims(value, axis))
        for name, shape in draws.items():
            if shape != leading:
                raise ValueError(f"{name!r} has {shape} draws, {CLASS_SITE!r} has {leading}")
        joined = tuple(
            {
                name: np.concatenate(value[0], axis=value[1]) if isinstance(value, tuple) else value
                for name, value in parameters.items()
            }
            for parameters in blocks
        )
        return ModelParameters(np.broadcast_to(class_prob, (*leading, num_classes)), joined, hyperparameters)


def _site_array(sites: Mapping[str, Any], name: str, event: tuple[int, ...], known: Any) -> np.ndarray:
    if name not in sites:
        if known is not None:
            return np.asarray(known)
        raise ValueError(f"no values for {name!r}: there are {sorted(map(str, sites))}")
    value = np.asarray(sites[name], dtype=np.float64)
    if value.shape[value.ndim - len(event) :] != event or value.ndim < len(event):
        raise ValueError(f"{name!r} has shape {value.shape}, which does not end in {event}")
    return value


def coordinate(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array that xarray can index and write: mixed types become text."""
    kinds = {type(label) for label in labels}
    if kinds <= {bool} or kinds <= {int, float}:
        return np.asarray(labels)
    return np.asarray([str(label) for label in labels])
