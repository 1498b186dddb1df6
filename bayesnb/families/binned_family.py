"""Families of real numbers in bins: the probabilities of the bins, and a density within each that all classes share."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import namespace
from bayesnb.families.base import Parameters
from bayesnb.families.bins import Binned, Bins
from bayesnb.families.categorical import Categorical
from bayesnb.families.choose_bins import lattice
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.statistics.counts import Counts, class_sums

__all__ = ["BinnedFamily"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BinnedFamily(ConjugateFamily):
    """Which part of the real line holds a cell is a category; within the part, all classes have one density.

    A subclass states `chosen_edges` and `_of_codes`, and has a parameter ``prob``, the probabilities of the parts.
    """

    edges: Any = field(default=None, metadata={"static": True})
    # By column the step of the lattice on which its values lie, which draws keep to; zero for none.
    step: Any = field(default=0.0, repr=False, kw_only=True, metadata={"static": True})

    mean_predicts: ClassVar[bool] = True
    by_column: ClassVar[bool] = True
    hint: ClassVar[str] = "mark the cell as missing (NaN) or clip it"

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", _read_edges(self.family_name, self.edges))
        super().__post_init__()

    @classmethod
    def _seen_in(cls, x: Any, **prior: Any) -> Self:
        """The family with the edges of a column, or of a sample of it, shape (rows,)."""
        try:
            cells = np.asarray(x, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError("x holds something else than numbers: give numbers, missing cells as NaN") from None
        if cells.ndim != 1:
            raise ValueError(f"x has shape {cells.shape}: give one column, (rows,)")
        family = cls(**prior)
        return family._with_edges(family.chosen_edges(cells, None), lattice(cells))

    def _with_edges(self, edges: Any, step: Any) -> Self:
        """The family with edges, and without what they followed from."""
        return replace(self, edges=edges, step=step)

    @abstractmethod
    def chosen_edges(self, x: np.ndarray, weights: np.ndarray | None) -> tuple[float, ...]:
        """Edges for the cells of a column, shape (rows,), missing ones NaN; `weights` as for `having_seen`."""

    @property
    @abstractmethod
    def _of_codes(self) -> Categorical:
        """The family of which part holds a cell, of the arrays' shapes."""

    @property
    def _of_new_codes(self) -> Categorical:
        """The family that predicts which part holds a new cell."""
        return self._of_codes

    def must_see(self, column: Any) -> tuple[str, ...]:
        return ("edges",) if self._edges_of(column) is None else ()

    def having_seen(self, cells: Mapping[Any, np.ndarray], weights: np.ndarray | None = None) -> Self:
        known, steps = dict(self.edges or ()), dict(self.step or ())
        for column, x in cells.items():
            try:
                known[column] = self.chosen_edges(x, weights)
            except ValueError as error:
                raise ValueError(f"column {column!r}: {error}") from None
            steps[column] = lattice(x)
        return self._with_edges(tuple(known.items()), tuple(steps.items()))

    @property
    def steps(self) -> tuple[float, ...]:  # type: ignore[override]
        """The edges of the cells."""
        return self.edges

    def _edges_of(self, column: Any) -> tuple[float, ...] | None:
        if self.edges is None or not isinstance(self.edges[0], tuple):
            return self.edges
        return dict(self.edges).get(column)

    def _known_edges_of(self, column: Any) -> tuple[float, ...]:
        edges = self._edges_of(column)
        if edges is None:
            raise ValueError(
                f"column {column!r}: {self.family_name}() has no edges yet, and there is no table to take them from: "
                f"give nb.{self.family_name}(edges) or nb.{self.family_name}.from_column(x), or bind the model to a "
                "table, model.bind(X, y)"
            )
        return edges

    def _bins_by_name(self, names: tuple) -> list[Bins]:
        """Bins of each column of a block.

        Raises
        ------
        ValueError
            If a column has none, or edges are given for another column.
        """
        if self.edges is not None and isinstance(self.edges[0], tuple):
            for column in dict(self.edges):
                if column not in names:
                    raise ValueError(
                        f"{self.family_name}(edges=...) names the column {column!r}, and its columns are "
                        f"{list(names)}: name one of these, or leave it out"
                    )
        steps = dict(self.step) if isinstance(self.step, tuple) else dict.fromkeys(names, self.step)
        return [Bins(self._known_edges_of(name), steps.get(name, 0.0)) for name in names]

    @property
    def parameter_axes(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        return {"prob": ("bin", self._bins.labels)}

    @property
    def _bins(self) -> Bins:
        return Bins(self.edges, self.step)

    def _in_rows(self, x: Any) -> Any:
        """Log density of the rows' cells within their parts, shape (rows, 1)."""
        return self._bins.log_density(x).sum(axis=-1)[:, None]

    def likelihood(self, prob: Any) -> dist.Distribution:
        return Binned(prob, self._bins)

    def statistics(self, x: Any, membership: Any) -> Counts:
        counted = self._of_codes.statistics(self._bins.codes(x), membership)
        return replace(counted, log_base=class_sums(self._bins.log_density(x), membership))

    def statistics_by_class(self, x: Any, codes: np.ndarray, num_classes: int) -> Counts:
        counted = self._of_codes.statistics_by_class(self._bins.codes(x), codes, num_classes)
        return replace(counted, log_base=class_sums(self._bins.log_density(x), np.eye(num_classes)[codes]))

    def device_statistics(self, x: Any, codes: Any, membership: Any) -> Counts:
        counted = self._of_codes.device_statistics(self._bins.codes(x), codes, membership)
        return replace(counted, log_base=class_sums(self._bins.log_density(x), membership))

    def possible(self, statistics: Counts) -> Any:
        return self._of_codes.possible(statistics)

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return self._of_codes.log_likelihood(parameters, statistics)

    def cell_log_predictive(self, x: Any) -> Any:
        xp, _ = namespace(x)
        x = xp.asarray(x)
        return self._of_new_codes.cell_log_predictive(self._bins.codes(x)) + self._bins.log_density(x)

    def row_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        return self.row_log_ratio(parameters, x) + self._in_rows(x)

    def row_log_ratio(self, parameters: Parameters, x: Any) -> Any:
        return self._of_codes.row_log_likelihood(parameters, self._bins.codes(x))

    def densities_of_rows(self, parameters: Parameters, x: Any) -> Callable[[slice], np.ndarray]:
        of_codes, within = self._of_codes.densities_of_rows(parameters, self._bins.codes(x)), self._in_rows(x)
        return lambda rows: of_codes(rows) + within[rows]

    def device_log_likelihood(self, parameters: Parameters, x: Any) -> Any:
        return self._of_codes.device_log_likelihood(parameters, self._bins.codes(x)) + self._in_rows(x)

    def row_log_predictive(self, x: Any) -> Any:
        return self.row_log_predictive_ratio(x) + self._in_rows(x)

    def row_log_predictive_ratio(self, x: Any) -> Any:
        return self._of_new_codes.row_log_predictive(self._bins.codes(x))

    def device_log_predictive(self, x: Any) -> Any:
        return self._of_new_codes.device_log_predictive(self._bins.codes(x)) + self._in_rows(x)

    def row_log_average(self, shared: Self, log_in: np.ndarray, log_out: np.ndarray, x: Any) -> np.ndarray:
        of_codes = self._of_new_codes.row_log_average(shared._of_new_codes, log_in, log_out, self._bins.codes(x))
        return of_codes + self._in_rows(x)

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        return self._of_codes.maximum_likelihood(statistics)

    def mean(self) -> dict[str, Any]:
        return self._of_new_codes.mean()

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        # Within a part all classes have the same density, so that only the part informs.
        return self._of_codes.mutual_information(class_prob, parameters)

    def information_by_chance(self, weight: np.ndarray, statistics: Counts) -> tuple[np.ndarray, np.ndarray]:
        return self._of_codes.information_by_chance(weight, statistics)

    @property
    def _bins_told(self) -> str:
        """The bins, as `story` tells them."""
        if self.edges is None:
            return "bins of the data"
        if isinstance(self.edges[0], tuple):
            return "bins of each column"
        return f"{len(self.edges) - 1} bins from {self.edges[0]:.4g} to {self.edges[-1]:.4g}"


def _read_edges(family: str, edges: Any) -> Any:
    """Edges as a tuple; those of each column as a tuple of (column, edges)."""
    if edges is None:
        return None
    if isinstance(edges, Mapping):
        edges = tuple(edges.items())
    entries = tuple(edges) if not isinstance(edges, tuple) else edges
    if entries and all(isinstance(entry, tuple) and len(entry) == 2 for entry in entries):
        return tuple((column, _numbers(family, own, f" of column {column!r}")) for column, own in entries)
    return _numbers(family, entries, "")


def _numbers(family: str, edges: Any, where: str) -> tuple[float, ...]:
    try:
        numbers = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{family}(edges={edges!r}){where}: give numbers") from None
    if numbers.ndim != 1 or len(numbers) < 2:
        raise ValueError(f"{family}(edges={edges!r}){where}: give at least two edges, one bin between them")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ValueError(
            f"the edge {numbers[wrong[0]]} of {family}(edges=...){where} is not finite: leave it out, the tails hold "
            "all numbers beyond the edges"
        )
    wrong = np.flatnonzero(np.diff(numbers) <= 0)
    if len(wrong):
        before, after = numbers[wrong[0]], numbers[wrong[0] + 1]
        raise ValueError(
            f"the edges {before:g} and {after:g} of {family}(edges=...){where} do not increase: sort the edges and "
            "give each once, np.unique(edges)"
        )
    return tuple(numbers.tolist())
