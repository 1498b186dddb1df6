"""Densities of rows as a product of their terms and natural parameters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesnb.core.arrays import any_missing, namespace, row_pieces
from bayesnb.families.family import Parameters, filled_cells

FARTHEST = 5e5
"""Largest change of a log partition by the origin. Terms of this size cancel in a product, with an error of 1e-10."""


def times(weight: Any, value: Any) -> Any:
    """A product that is zero if the weight is zero, even for an infinite value."""
    xp, _ = namespace(weight, value)
    # Where the value is finite, the product has a derivative with respect to the weight.
    nothing = (weight == 0) & ~xp.isfinite(value)
    return xp.where(nothing, 0.0, weight * xp.where(nothing, 0.0, value))


@dataclass(frozen=True)
class ProductMatrix:
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

    def of_rows(self, rows: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Products with rows (rows, entries), an array or CSR array; (results, rows); an array may go into `out`."""
        sums = _product(self.values, rows) if out is None else np.matmul(self.values, rows.T, out=out)
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
    weights : ProductMatrix
        Shape (draws times classes, entries): the natural parameters of each term, and the log partition with its sign
        changed.
    with_base : bool
        Whether the base measure counts.
    """

    origin: tuple[Any, ...]
    terms: list[int]
    weights: ProductMatrix
    with_base: bool


@dataclass(frozen=True)
class TermProduct:
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
            frames = _frames(family, values, complete=complete, with_base=with_base)
        return cls(family, values, x, complete, frames)

    def of_rows(self, rows: slice) -> np.ndarray:
        """Log densities of some of the rows, shape (..., rows, classes)."""
        x = self.x[rows]
        found = [np.swapaxes(self._of_piece(x[piece]), -1, -2) for piece in row_pieces(*x.shape)]
        return np.swapaxes(np.concatenate(found, axis=-1) if len(found) > 1 else found[0], -1, -2)

    def _of_piece(self, x: np.ndarray) -> np.ndarray:
        """Log densities of rows whose temporary arrays fit the cache."""
        observed, cells = filled_cells(self.family, x)
        *leading, num_classes, num_columns = self._shape
        if self.frames is None:
            flat = {name: value.reshape(-1, num_classes, num_columns) for name, value in self.parameters.items()}
            found = [
                densities_by_formula(self.family, {name: value[i] for name, value in flat.items()}, observed, cells)
                for i in range(int(np.prod(leading)))
            ]
            return np.reshape(found, (*leading, len(cells), num_classes))
        number = len(self.frames)
        sums = np.empty((int(np.prod(leading)) * num_classes // number, number, len(cells)))
        for k, frame in enumerate(self.frames):
            self._put(frame, observed, cells, sums[:, k])
        return np.swapaxes(sums.reshape(*leading, num_classes, len(cells)), -1, -2)

    @property
    def _shape(self) -> tuple[int, ...]:
        return next(iter(self.parameters.values())).shape

    def _put(self, frame: _Frame, observed: np.ndarray, cells: np.ndarray, out: np.ndarray) -> None:
        """Put log densities under a frame's classes into an array, shape (draws times classes, rows)."""
        frame.weights.of_rows(self._design(frame, observed, cells), out)
        if frame.with_base:
            # The base measure may be infinite, and therefore stays out of the matrix product.
            base = np.asarray(self.family.log_base(cells, *frame.origin))
            if base.any():
                out += np.where(observed, base, 0.0).sum(axis=-1)

    def _design(self, frame: _Frame, observed: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """The factors of a frame's weights, shape (rows, entries)."""
        with np.errstate(over="ignore"):
            terms = self.family.terms(cells, *frame.origin) if frame.terms else ()
            parts = [np.asarray(terms[k]) for k in frame.terms]
        if not self.complete:
            parts = [np.where(observed, part, 0.0) for part in parts]
        parts.append(np.ones((len(cells), 1)) if self.complete else observed.astype(np.float64))
        return np.concatenate(parts, axis=1)


def natural_parameters(family: Any, parameters: Any, *origin: Any) -> tuple[tuple[Any, ...], Any]:
    """The result of the family's `natural`: a tuple of natural parameters, and the log partition.

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


def densities_by_formula(family: Any, parameters: Parameters, observed: Any, cells: Any) -> Any:
    """Log density of rows, by the formula itself, shape (rows, classes); parameters of shape (classes, columns)."""
    xp, _ = namespace(cells)
    own, x = family.origin(parameters), cells[:, None]
    origin = () if own is None else (own,)
    natural, log_partition = natural_parameters(family, parameters, *origin)
    products = map(times, family.terms(x, *origin), natural)
    densities = sum(products, family.log_base(x, *origin)) - log_partition
    return xp.where(observed[:, None], densities, 0.0).sum(axis=-1)


def _frames(family: Any, parameters: dict[str, np.ndarray], *, complete: bool, with_base: bool) -> list[_Frame] | None:
    own = family.origin(parameters)
    if own is None:
        natural, partition = natural_parameters(family, parameters)
        return [_frame((), natural, partition, complete=complete, with_base=with_base)]
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
    weights = ProductMatrix.of(np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts], axis=1))
    return _Frame(origin, terms, weights, with_base)
