"""What a family needs of its cells: statistics with a need in the place of each array."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from bayesnb.core.deferred import leaves, map_tree, pytree
from bayesnb.families.statistics import Statistics

# --------------------------------------------------------------------------------------------------
# The needs.
#
# ``Counts(CellWeight(), Sums(), 0.0)`` says which numbers the arrays of a `Counts` are. An engine counts the needs: on
# the host (`count_on_host`), on a device, or in a database. Counts of several pieces of the rows add up with ``+``.
# --------------------------------------------------------------------------------------------------

type CellFormula = Callable[[Any], Any]
"""Cells made of the cells (rows, columns) of a block: one formula for NumPy, JAX, and the columns of a lazy table."""


@dataclass(frozen=True)
class Need:
    """A number of each class and column, or several, that rows add up to; missing cells do not count.

    Attributes
    ----------
    of : callable, optional
        From the cells of a block, shape (rows, columns), to the cells that are counted, such as their logarithms. The
        formula takes its array library from `namespace`, keeps missing cells (NaN) missing, and runs on NumPy, on JAX
        and on the columns of a lazy table.

    See Also
    --------
    Family.needs : States the needs of a family.
    """

    of: CellFormula | None = None


@dataclass(frozen=True)
class RowWeight(Need):
    """Weight of the rows, shape (classes, 1).

    See Also
    --------
    CellWeight : Weight of the observed cells of each column.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.Multinomial().needs().n
    RowWeight(of=None)
    """


@dataclass(frozen=True)
class CellWeight(Need):
    """Weight of the observed cells, shape (classes, columns).

    See Also
    --------
    RowWeight : Weight of the rows of a count vector or of several columns together.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.Poisson().needs().n
    CellWeight(of=None)
    """


@dataclass(frozen=True)
class Sums(Need):
    """Sums of the cells, shape (classes, columns), or of terms of single cells.

    Attributes
    ----------
    of : callable, optional
        As for every need.
    terms : callable, optional
        From observed cells to an array or a number, or a tuple of these: several sums, shape (classes, columns, terms).
        Of a CSR array, whose zeros are not stored, the term of zero must be zero.
    filler : float, default 0.0
        A number of the support. Terms are computed of it in the place of missing cells, and then left out.
    over_columns : bool, default False
        Whether the columns are added up, too: shape (classes, 1).

    See Also
    --------
    ExponentialFamily : Needs the sums of its `terms`.
    Frequencies : For cells that are codes.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> from bayesnb.families.host_sums import count_on_host
    >>> x, membership = np.array([[1.0], [3.0], [5.0]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> count_on_host(nb.families.Sums(terms=np.square), x, membership)
    array([[10.],
           [25.]])
    """

    terms: Callable[[Any], Any] | None = None
    filler: float = 0.0
    over_columns: bool = False


@dataclass(frozen=True)
class CentredSquares(Need):
    """Weight, mean and sum of squared deviations of each column: a `Moments`.

    See Also
    --------
    CentredProducts : For several columns together.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.Gaussian().needs()
    CentredSquares(of=None)
    """


@dataclass(frozen=True)
class CentredProducts(Need):
    """Weight, mean and scatter matrix of rows without a missing cell: a `Scatter`.

    See Also
    --------
    CentredSquares : For each column on its own.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.MultivariateGaussian().needs()
    CentredProducts(of=None)
    """


@dataclass(frozen=True)
class Frequencies(Need):
    """Weight of each of the codes 0, 1, ..., shape (classes, columns, codes).

    Attributes
    ----------
    of : callable, optional
        As for every need.
    size : int
        Number of codes.

    See Also
    --------
    ValueCounts : For numbers whose list is open.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> from bayesnb.families.host_sums import count_on_host
    >>> x, membership = np.array([[1.0], [0.0], [1.0]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> count_on_host(nb.families.Frequencies(size=2), x, membership)
    array([[[1., 1.]],
    <BLANKLINE>
           [[0., 1.]]])
    """

    size: int = field(kw_only=True)


@dataclass(frozen=True)
class ValueCounts(Need):
    """Weight of each number that occurs: a tally, whose places are class times columns plus column.

    Attributes
    ----------
    of : callable, optional
        As for every need.
    zeros : bool, default True
        Whether zeros are counted.

    See Also
    --------
    Frequencies : For codes of a closed list.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.NegativeBinomial(total_count=None).needs().values
    ValueCounts(of=None, zeros=True)
    """

    zeros: bool = True


@dataclass(frozen=True)
class PairFrequencies(Need):
    """Weight of the rows that hold each pair of codes, shape (classes, codes, codes).

    Attributes
    ----------
    of : callable, optional
        As for every need; its codes have no missing ones, and those of different columns differ.
    size : int
        Number of codes of all columns together.

    See Also
    --------
    Frequencies : Of single codes.
    AllTrees : Needs them.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.AllTrees(sizes=(2, 2)).needs().total.size
    6
    """

    size: int = field(kw_only=True)


@pytree
class Afterwards:
    """What a function makes of counted needs, on the host, once the rows are counted.

    Attributes
    ----------
    function : callable
        Takes statistics, or a tuple, with arrays in the places of the needs.
    needs : need, statistics or tuple of these

    See Also
    --------
    Family.needs : States the needs of a family.

    Examples
    --------
    The log multinomial coefficients of rows are a difference of two sums.

    >>> import bayesnb as nb
    >>> type(nb.Multinomial().needs().log_base).__name__
    'Afterwards'
    """

    function: Callable[[Any], Any] = field(metadata={"static": True})
    needs: Any


# --------------------------------------------------------------------------------------------------
# Trees of needs
# --------------------------------------------------------------------------------------------------


def list_needs(tree: Any) -> list[Need]:
    """The needs of a tree, in order."""
    return [leaf for leaf in leaves(tree) if isinstance(leaf, Need)]


def fill_needs(tree: Any, results: Iterator[Any]) -> Any:
    """The tree with results in the places of its needs; a number of a `Statistics` is an array like the first."""
    if isinstance(tree, Need):
        return next(results)
    if isinstance(tree, Afterwards):
        return tree.function(fill_needs(tree.needs, results))
    if isinstance(tree, tuple):
        return tuple(fill_needs(branch, results) for branch in tree)
    if isinstance(tree, Statistics):
        found = [fill_needs(getattr(tree, each.name), results) for each in fields(tree)]  # type: ignore[arg-type]
        return type(tree)(*(np.full(np.shape(found[0]), each) if isinstance(each, float) else each for each in found))
    return tree


def needs_of_formula(of: CellFormula, tree: Any) -> Any:
    """The same needs of cells that a formula makes first, such as the indicators of a hurdle."""

    def after_formula(leaf: Any) -> Any:
        return replace(leaf, of=Composed(of, leaf.of) if leaf.of else of) if isinstance(leaf, Need) else leaf

    return map_tree(after_formula, tree)


@dataclass(frozen=True)
class Composed:
    """One formula after another; equal ones are equal, so that an engine computes their cells once."""

    first: CellFormula
    second: CellFormula

    def __call__(self, x: Any) -> Any:
        return self.second(self.first(x))
