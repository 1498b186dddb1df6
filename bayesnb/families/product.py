"""Log densities of rows as one matrix product of sufficient statistics and natural parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesnb.arrays import namespace
from bayesnb.families.base import filled_cells
from bayesnb.rows import any_missing, row_pieces

__all__ = ["Product", "Weights", "natural_parameters", "times"]

FARTHEST = 5e5
"""Largest change of a log partition by the origin. What cancels in a product is as large, and leaves 1e-10 of error."""


def times(weight: Any, value: Any) -> Any:
    """Product that is zero where the weight is zero, also if the value is infinite."""
    xp, _ = namespace(weight, value)
    nothing = weight == 0
    return xp.where(nothing, 0.0, weight * xp.where(nothing, 0.0, value))


@dataclass(frozen=True)
class Weights:
    """A matrix for products with rows, in which minus infinity counts only where the row is positive.

    Attributes
    ----------
    values : array, shape (results, entries)
        In Fortran's order, as a product with a sparse array reads them.
    impossible : array of the same shape, or None
        Ones in place of minus infinity; None if there are none.
    """

    values: np.ndarray
    impossible: np.ndarray | None

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        """Weights as given, infinite ones among them."""
        if np.fmin.reduce(values, axis=None, initial=0.0) != -np.inf:
            return cls(np.asfortranarray(values), None)
        impossible = np.isneginf(values)
        finite = np.where(impossible, 0.0, values)
        return cls(np.asfortranarray(finite), np.asfortranarray(impossible, dtype=np.float64))

    def of_rows(self, rows: Any) -> np.ndarray:
        """Products with rows (rows, entries), an array or CSR array; shape (results, rows)."""
        sums = _product(self.values, rows)
        if self.impossible is not None:
            sums[_product(self.impossible, rows) > 0] = -np.inf
        return sums


def _product(values: np.ndarray, rows: Any) -> np.ndarray:
    # SciPy multiplies a sparse array from the left only.
    return values @ rows.T if isinstance(rows, np.ndarray) else (rows @ values.T).T


@dataclass(frozen=True)
class _Frame:
    """Some classes, whose terms are measured from one origin.

    Attributes
    ----------
    origin : tuple of array
        The origin, shape (columns,); empty if terms are measured from zero.
    terms : list of int
        Terms that the densities need; the natural parameters of the others are zero.
    weights : Weights
        Shape (draws times classes, entries): the natural parameters of each term, and the log partition with its sign
        changed.
    with_base : bool
        Whether the base measure counts.
    """

    origin: tuple[Any, ...]
    terms: list[int]
    weights: Weights
    with_base: bool


@dataclass(frozen=True)
class Product:
    r"""Log densities of rows under values of the parameters, :math:`T(x)\,\eta(\theta) - A(\theta) + \log h(x)`.

    Terms and natural parameters are measured from an origin for each class and column, the average over the draws of
    `ExponentialFamily.origin`. One origin for all classes would lose the digits of classes that are far apart in units
    of their own spread. If draws are far from their average, the formula itself replaces the product.

    Attributes
    ----------
    family : ExponentialFamily
    parameters : dict
        Arrays of shape (..., classes, columns).
    x : array, shape (rows, columns)
    complete : bool
        Whether no cell is missing.
    frames : list of _Frame, or None
        One for all classes, or one for each; None if draws are too far from their average.
    """

    family: Any
    parameters: dict[str, np.ndarray]
    x: np.ndarray
    complete: bool
    frames: list[_Frame] | None

    @classmethod
    def of(cls, family: Any, parameters: Mapping[str, Any], x: Any, *, with_base: bool = True) -> Self:
        """Prepare the product of a family's terms in these rows and its natural parameters.

        Parameters
        ----------
        family : ExponentialFamily
        parameters : mapping
            Arrays of shape (..., classes, columns).
        x : array, shape (rows, columns)
            Missing cells are NaN.
        with_base : bool
            Whether a base measure that all classes share counts.
        """
        values = {name: np.asarray(value) for name, value in parameters.items()}
        x = np.asarray(x, dtype=np.float64)
        complete = not any_missing(x)
        with np.errstate(divide="ignore", over="ignore"):
            frames = _frames(family, values, x, complete=complete, with_base=with_base)
        return cls(family, values, x, complete, frames)

    def of_all_rows(self) -> np.ndarray:
        """Log densities, shape (..., rows, classes)."""
        num_rows, num_columns = self.x.shape
        pieces = list(row_pieces(num_rows, num_columns))
        if len(pieces) == 1:
            return self.of_rows(pieces[0])
        *leading, num_classes, _ = self._shape
        result = np.empty((*leading, num_classes, num_rows))
        for rows in pieces:
            result[..., rows] = np.swapaxes(self.of_rows(rows), -1, -2)
        return np.swapaxes(result, -1, -2)

    def of_rows(self, rows: slice) -> np.ndarray:
        """Log densities of some of the rows, shape (..., rows, classes)."""
        observed, cells = filled_cells(self.family, self.x[rows])
        *leading, num_classes, num_columns = self._shape
        if self.frames is None:
            flat = {name: value.reshape(-1, num_classes, num_columns) for name, value in self.parameters.items()}
            found = [
                self._by_formula({name: value[i] for name, value in flat.items()}, observed, cells)
                for i in range(int(np.prod(leading)))
            ]
            return np.reshape(found, (*leading, len(cells), num_classes))
        sums = [self._of_frame(frame, observed, cells) for frame in self.frames]
        shape = (*leading, num_classes // len(sums), len(cells))
        by_class = np.concatenate([part.reshape(shape) for part in sums], axis=-2) if len(sums) > 1 else sums[0]
        return np.swapaxes(by_class.reshape(*leading, num_classes, len(cells)), -1, -2)

    @property
    def _shape(self) -> tuple[int, ...]:
        return next(iter(self.parameters.values())).shape

    def _of_frame(self, frame: _Frame, observed: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Log densities under a frame's classes, shape (draws times classes, rows)."""
        sums = frame.weights.of_rows(self._design(frame, observed, cells))
        if frame.with_base:
            # The base measure may be infinite, and is therefore no factor of the product.
            base = np.asarray(self.family.log_base(cells, *frame.origin))
            if base.any():
                sums += np.where(observed, base, 0.0).sum(axis=-1)
        return sums

    def _design(self, frame: _Frame, observed: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """The factors of a frame's weights, shape (rows, entries)."""
        with np.errstate(over="ignore"):
            terms = self.family.terms(cells, *frame.origin) if frame.terms else ()
            parts = [np.asarray(terms[k]) for k in frame.terms]
        if not self.complete:
            parts = [np.where(observed, part, 0.0) for part in parts]
        parts.append(np.ones((len(cells), 1)) if self.complete else observed.astype(np.float64))
        return np.concatenate(parts, axis=1)

    def _by_formula(self, parameters: dict[str, np.ndarray], observed: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """Log densities under one draw, shape (rows, classes)."""
        densities = self.family.cell_log_likelihood(parameters, cells[:, None])
        return np.where(observed[:, None], densities, 0.0).sum(axis=-1)


def natural_parameters(family: Any, parameters: Any, *origin: Any) -> tuple[tuple[Any, ...], Any]:
    """What the family's `natural` gives: a tuple of natural parameters, and the log partition.

    Raises
    ------
    TypeError
        If the natural parameters are not in a tuple.
    """
    given = family.natural(parameters, *origin)
    if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple | list)):
        raise TypeError(
            f"natural of {type(family).__name__} does not give a tuple of natural parameters and the log partition: "
            "write the inner tuple, too, as in return (parameter,), log_partition"
        )
    return given


def _frames(
    family: Any, parameters: dict[str, np.ndarray], x: np.ndarray, *, complete: bool, with_base: bool
) -> list[_Frame] | None:
    own = family.origin(parameters)
    common = None if own is None else family.common_origin(x)
    if own is None or common is not None:
        origin = () if own is None else (common,)
        natural, partition = natural_parameters(family, parameters, *origin)
        return [_frame(origin, natural, partition, complete=complete, with_base=with_base)]
    own = np.asarray(own)
    average = own.reshape(-1, *own.shape[-2:]).mean(axis=0)
    natural, partition = natural_parameters(family, parameters, average)
    _, nearest = natural_parameters(family, parameters, own)
    if not (np.abs(partition - nearest) <= FARTHEST).all():
        return None
    classes = [slice(c, c + 1) for c in range(len(average))]
    # The base measure depends on the origin: the classes do not share it.
    return [
        _frame(
            (average[c.start],),
            [eta[..., c, :] for eta in natural],
            partition[..., c, :],
            complete=complete,
            with_base=True,
        )
        for c in classes
    ]


def _frame(origin: tuple[Any, ...], natural: Any, partition: Any, *, complete: bool, with_base: bool) -> _Frame:
    natural, partition = [np.asarray(eta) for eta in natural], -np.asarray(partition)
    terms = [k for k, eta in enumerate(natural) if eta.any()]
    parts = [natural[k] for k in terms]
    parts.append(partition.sum(axis=-1, keepdims=True) if complete else partition)
    weights = Weights.of(np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts], axis=1))
    return _Frame(origin, terms, weights, with_base)
