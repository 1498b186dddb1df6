"""What a user gives as X, y and sample_weight, read once into a table, labels and weights."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw
import numpy as np
import scipy.sparse

from bayesnb.core.cells import Column, shortened
from bayesnb.core.checking import a_type, is_jax, listed, near_matches, require_readable
from bayesnb.core.deferred import jax, jnp
from bayesnb.core.device_arrays import DeviceArray, lies_on_device
from bayesnb.core.number_form import NumberForm
from bayesnb.core.printing import counted
from bayesnb.data.labels import Labels, read_labels
from bayesnb.data.tables import ArrayTable, DeviceTable, FrameTable, SparseTable, Table, as_csr
from bayesnb.data.written_numbers import with_numbers

# --------------------------------------------------------------------------------------------------
# Weights of rows
# --------------------------------------------------------------------------------------------------

LARGEST_TOTAL = 1e150
"""The largest sum of weights, so that its product with a count or with another weight is below float64's 1.8e308."""


def check_weights(sample_weight: Any, num_rows: int) -> np.ndarray:
    """Weights of the rows as float64, shape (rows,); ones if `sample_weight` is None.

    Raises
    ------
    TypeError
        If the weights are not numbers.
    ValueError
        If there is not one finite, non-negative weight for each row, or their sum is above `LARGEST_TOTAL`.
    """
    if sample_weight is None:
        return np.ones(num_rows)
    require_readable("sample_weight", sample_weight)
    if getattr(getattr(sample_weight, "dtype", None), "kind", "") == "c":
        raise TypeError("sample_weight holds complex numbers: give one real number for each row")
    try:
        there = isinstance(sample_weight, DeviceArray)
        weights = sample_weight if there else np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"sample_weight is {sample_weight!r}: give one number for each row") from None
    if weights.shape != (num_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, X has {num_rows} rows: give one weight for each row"
        )
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"sample_weight of row {row} is {weights[row]}: weights are finite and not negative")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight has the sum {total:g}, and float64 holds sums of weighted cells up to a sum of "
            f"{LARGEST_TOTAL:g}: divide all weights by a common factor"
        )
    return weights


# --------------------------------------------------------------------------------------------------
# Any kind of table as a `Table`
# --------------------------------------------------------------------------------------------------

TRACED = (
    "X has no numbers yet, because jax.jit, jax.vmap, jax.grad or another transformation of JAX traces this call: take "
    "log_joint = posterior.log_joint_function() outside the transformation, and call it inside, or call this function "
    "outside"
)
"""Advice for a table that JAX traces."""


def as_table(X: Any, name: str = "X") -> Table:
    """Any kind of table as rows and named columns, without a copy; an array in a GPU's memory stays there.

    Parameters
    ----------
    X : array, table or sparse matrix, shape (rows, columns)
        NumPy array (masked or not), JAX array, nested lists, pandas, polars or pyarrow table, SciPy sparse matrix.
    name : str, default "X"
        Name in errors.

    Returns
    -------
    Table

    Raises
    ------
    TypeError
        If X is none of these.
    ValueError
        If X is not two-dimensional or two columns have the same name.

    See Also
    --------
    as_labels : Labels of any kind of sequence.
    fit : Fit a table in memory.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> table = nb.results.as_table(pd.DataFrame({"colour": ["red", "blue"], "size": [3, 1]}))
    >>> table.names, table.named, table.num_rows
    (('colour', 'size'), True, 2)
    >>> table.values(1, slice(None))
    array([3, 1])
    """
    if isinstance(X, Table):
        return X
    require_readable(name, X)
    if is_jax(X) and isinstance(X, jax.core.Tracer):
        raise TypeError(TRACED)
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection, which fits, updates, comparisons of populations and predictions take: for "
            "all else give rows in memory, X.compute()"
        )
    if scipy.sparse.issparse(X):
        if X.ndim != 2:
            raise ValueError(f"{name} has {X.ndim} dimension: a table has two, rows and columns")
        return SparseTable(as_csr(X), tuple(range(X.shape[1])))
    if isinstance(X, str | bytes | Mapping) or X is None:
        raise TypeError(
            f"{name} is {a_type(X)}: give a NumPy array, a pandas, polars or pyarrow table, or a SciPy sparse matrix"
        )
    frame = as_frame(X, name)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"{name} is a lazy table, whose rows are needed in memory: {name}.{collecting(frame)}")
    if isinstance(frame, nw.DataFrame):
        names = tuple(X.columns) if nw.dependencies.is_pandas_dataframe(X) else tuple(frame.columns)
        _refuse_duplicates(names, name)
        if nw.dependencies.is_pandas_dataframe(X) and (sparse := _sparse_types(X)):
            if len(sparse) == len(names) and all(kind.fill_value == 0 for kind in sparse.values()):
                return SparseTable(as_csr(X.sparse.to_coo()), names, named=True)
            frame = as_frame(X.astype({name: kind.subtype for name, kind in sparse.items()}))
        return FrameTable(frame, names, named=True)
    if lies_on_device(X) and X.ndim == 2 and X.size and not jnp.issubdtype(X.dtype, jnp.complexfloating):
        # NumPy has no bfloat16.
        cells = X if X.dtype.kind in "biuf" else X.astype(jnp.float32)
        return DeviceTable(DeviceArray(cells), tuple(range(X.shape[1])))
    array = X if isinstance(X, np.ma.MaskedArray) else _as_array(X)
    first = array[:1].tolist()[0] if array.ndim == 1 and len(array) else None
    if isinstance(first, str | bytes):
        raise ValueError(
            f"{name} is a sequence of texts, such as {shortened(first)}: count their words first with scikit-learn's "
            f"CountVectorizer, or make one column of categories of them, numpy.reshape({name}, (-1, 1))"
        )
    if isinstance(first, Mapping):
        raise ValueError(f"{name} is a sequence of dicts: make a table of these rows, pandas.DataFrame({name})")
    if array.ndim != 2:
        raise ValueError(
            f"{name} has {counted(array.ndim, 'dimension')}: a table has two, rows and columns. "
            f"Reshape your data: one column with {name}.reshape(-1, 1), one row with {name}.reshape(1, -1)"
        )
    if array.dtype.kind == "c":
        raise TypeError(f"{name} holds complex numbers: give their real and imaginary parts as columns")
    return ArrayTable(array, tuple(range(array.shape[1])))


def as_frame(X: Any, name: str = "X") -> Any:
    """A Narwhals frame of a pandas, polars or pyarrow table; anything else as it is.

    Raises
    ------
    ValueError
        If two columns have the same name.
    """
    try:
        return nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        _refuse_duplicates(getattr(X, "column_names", None) or list(X.columns), name)
        raise


def collecting(lazy: Any) -> str:
    """The call that gives the rows of a lazy table in memory, such as ``collect()``, for errors."""
    calls = {"DUCKDB": "df()", "IBIS": "to_pyarrow()", "PYSPARK": "toArrow()"}
    return calls.get(nw.from_native(lazy).implementation.name, "collect()")


def is_dask(data: Any) -> bool:
    """Whether data are a Dask collection, which `bayesnb.data.dask_table` reads one partition at a time."""
    return type(data).__module__.partition(".")[0] == "dask"


def _sparse_types(X: Any) -> dict[Any, Any]:
    """The type of each sparse column of a pandas table."""
    return {name: kind for name, kind in X.dtypes.items() if type(kind).__name__ == "SparseDtype"}


def _refuse_duplicates(names: Sequence[Any], table: str) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ValueError(f"column {name!r} occurs twice in {table}: rename or drop one")
        seen.add(name)


def _as_array(X: Any) -> np.ndarray:
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError("X has rows of different lengths: every row needs a cell for every column") from None
    except jax.errors.TracerArrayConversionError:
        raise TypeError(TRACED) from None
    if is_jax(X) and array.dtype.kind == "V":
        return array.astype(np.float32)  # of a type that NumPy lacks, such as bfloat16
    if array.dtype.kind == "U" and not isinstance(X, np.ndarray):
        # In nested lists of numbers and strings NumPy turns the numbers into text.
        array = np.asarray(X, dtype=object)
    return array


# --------------------------------------------------------------------------------------------------
# Names for the columns of arrays and sparse matrices
# --------------------------------------------------------------------------------------------------


def with_names(table: Table, feature_names: Any) -> Table:
    """A table whose columns have the given names; itself if `feature_names` is None.

    Parameters
    ----------
    table : Table
    feature_names : sequence of shape (columns,), function that returns one, or None
        Such as ``vectorizer.get_feature_names_out()``.

    Raises
    ------
    TypeError
        If `feature_names` is no sequence of names.
    ValueError
        If there is not one name for each column, a name occurs twice, or X has other names.
    """
    if feature_names is None:
        return table
    names = _read_names(feature_names() if callable(feature_names) else feature_names, len(table.names))
    if not table.named:
        return replace(table, names=names, named=True)
    for theirs, mine in zip(table.names, names, strict=True):
        if theirs != mine:
            raise ValueError(
                f"feature_names has {mine!r} where X has the column {theirs!r}: leave feature_names out, because "
                "X has names"
            )
    return table


def _read_names(feature_names: Any, num_columns: int) -> tuple[Column, ...]:
    """Names of columns as a tuple; errors as for `with_names`."""
    names = feature_names.tolist() if hasattr(feature_names, "tolist") else feature_names
    try:
        if isinstance(names, str | bytes):
            raise TypeError
        names = tuple(str(name) if isinstance(name, str) else name for name in names)
        hash(names)
    except TypeError:
        raise TypeError(
            f"feature_names is {feature_names!r}: give a name for each column, such as "
            "vectorizer.get_feature_names_out()"
        ) from None
    if len(names) != num_columns:
        raise ValueError(
            f"feature_names has {len(names)} names and X has {num_columns} columns: give one name for each column"
        )
    _refuse_duplicates(names, "feature_names")
    return names


# --------------------------------------------------------------------------------------------------
# The label's column of a table, taken by its name
# --------------------------------------------------------------------------------------------------


def split_labels(X: Any, y: Any, features: Mapping[Any, tuple[Any, Any]] | None = None) -> tuple[Any, Any]:
    """Features and labels; if `y` is the name of a column, that column and the table without it.

    A text is always the name of a column, also where the table has one row.

    Parameters
    ----------
    X : table, shape (rows, columns)
        With a text `y`: a pandas, polars, pyarrow or Dask table.
    y : str, labels of shape (rows,), or None
    features : mapping, optional
        Family and columns of each feature of the model, none of which may be the label's column.

    Returns
    -------
    tuple
        X and y unchanged, unless `y` is a text; a table of the same library and its column, if it is.

    Raises
    ------
    TypeError
        If `y` is a text and the columns of X have no names.
    ValueError
        If X has no column of that name, or the model has it as a feature.
    """
    if not isinstance(y, str):
        return X, y
    require_label_column(y, _names_of_columns(X), features)
    if is_dask(X):
        return X.drop(columns=[y]), X[y]
    frame = nw.from_native(X)
    return frame.drop(y).to_native(), frame[y].to_native()


def require_label_column(y: str, columns: Iterable[Any], features: Mapping[Any, tuple[Any, Any]] | None = None) -> None:
    """Raise for a name of the label's column that no column has, or that the model has as a feature."""
    _require_column(y, columns)
    named = {name: columns for name, (_, columns) in (features or {}).items() if not isinstance(columns, slice)}
    if any(y in ([name] if columns is None else columns) for name, columns in named.items()):
        raise ValueError(
            f"column {y!r} holds the labels, and the model has it as a feature: leave it out of the model, with "
            f"from_frame(..., exclude=[{y!r}]) for a guessed model"
        )


def require_weight_column(name: str, columns: Iterable[Any]) -> None:
    """Raise ValueError for a name of the weights' column that no column has."""
    if name not in (columns := list(columns)):
        raise ValueError(
            f"sample_weight is {name!r}, which is not a column of X{near_matches(name, columns)}: name the column "
            f"of the weights, one of {listed(columns)}"
        )


def _names_of_columns(X: Any) -> Iterable[Any]:
    """Names of the columns; none if they have none."""
    if is_dask(X):
        return getattr(X, "columns", ())
    table = as_table(X)
    return table.names if table.named else ()


def _require_column(name: str, columns: Iterable[Any]) -> None:
    columns = list(columns)
    if not columns:
        raise TypeError(
            f"y is the text {name!r}, which names a column, and the columns of X have no names: give a label for each "
            "row"
        )
    if name not in columns:
        raise ValueError(
            f"y is {name!r}, which is not a column of X{near_matches(name, columns)}: name the column of the labels, "
            f"one of {listed(columns)}, or give a label for each row"
        )


# --------------------------------------------------------------------------------------------------
# The rows of a table with their labels and weights
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows:
    """Rows of a table, with what a user gives as y and sample_weight.

    Attributes
    ----------
    table : Table
        The table that has the rows; the cells are read from it.
    weights : array, shape (rows,)
        All ones if `sample_weight` is not given.
    place : array of int, shape (rows,)
        Positions of the rows in the table.
    labels : Labels or None
        None if there is no `y`.
    codes : array of int, shape (rows,), or None
        Position of each row's class; -1 for a row without a label. None before `of_classes`.
    classes : array, shape (classes,), or None
        The labels that the codes count.
    """

    table: Table
    weights: np.ndarray
    place: np.ndarray
    labels: Labels | None = None
    codes: Any = None
    classes: Any = None

    def __len__(self) -> int:
        return len(self.weights)

    def take(self, which: Any) -> Self:
        """Some of the rows, in the same table."""
        labels = self.labels and replace(
            self.labels, values=self.labels.values[which], missing=self.labels.missing[which]
        )
        codes = None if self.codes is None else self.codes[which]
        return replace(self, labels=labels, codes=codes, weights=self.weights[which], place=self.place[which])

    def alone(self) -> Self:
        """The rows in a table of their own."""
        return replace(self, table=self.table.take(self.place), place=np.arange(len(self)))

    def with_numbers(self, forms: Mapping[Column, NumberForm]) -> Self:
        """The rows with numbers in the columns of text that have a form; see `bayesnb.data.written_numbers`."""
        return replace(self, table=with_numbers(self.table, forms)) if forms else self

    def counting(self) -> Self:
        """The rows for a fit, in which those of weight zero show no category; see `Table.counting`."""
        return replace(self, table=self.table.counting(self.weights))

    def distinct_labels(self, *, may_miss: bool = False) -> np.ndarray:
        """The distinct labels, sorted; errors as for `Labels.classes`, or if there are no labels."""
        if self.labels is None:
            raise ValueError("y is None: give a label for each row")
        return self.labels.classes(may_miss=may_miss)

    def of_classes(self, classes: np.ndarray | None = None, *, may_miss: bool = False) -> Self:
        """The rows with the positions of their classes; themselves if they have those of these classes.

        Parameters
        ----------
        classes : array, shape (classes,), optional
            By default the distinct labels, sorted.
        may_miss : bool, default False
            Whether rows may have no label; without `y` none has one.

        Raises
        ------
        ValueError
            If a row has no label and may not, its label is not among the classes, or no class is known.
        """
        if classes is None or (self.labels is None and not may_miss):
            classes = self.distinct_labels(may_miss=may_miss)
        if self.codes is not None and np.array_equal(self.classes, classes) and (may_miss or (self.codes >= 0).all()):
            return self
        codes = np.full(len(self), -1) if self.labels is None else self.labels.codes(classes, may_miss=may_miss)
        return replace(self, codes=codes, classes=classes)


def read_rows(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    features: Mapping[Any, tuple[Any, Any]] | None = None,
    feature_names: Any = None,
) -> Rows:
    """What a user gives, read once.

    Parameters
    ----------
    X : table, shape (rows, columns)
    y : labels of shape (rows,), str or None
        A text is the name of the label's column in X.
    sample_weight : array, shape (rows,), optional
    features : mapping, optional
        Family and columns of each feature of the model, none of which may be the label's column.
    feature_names : sequence, shape (columns,), optional
        As for `with_names`.

    Raises
    ------
    TypeError, ValueError
        If X is not a table, or there is not one label and one weight for each row.
    """
    X, y = split_labels(X, y, features)
    table = with_names(as_table(X), feature_names)
    num_rows = table.num_rows
    if isinstance(table, DeviceTable):
        y, sample_weight = table.beside(y, "biu"), table.beside(sample_weight, "biuf", np.float64)
    labels = None if y is None else read_labels(y, num_rows)
    return Rows(table, check_weights(sample_weight, num_rows), np.arange(num_rows), labels)


def labelled_rows(X: Any, y: Any, sample_weight: Any = None, *, classes: np.ndarray) -> Rows:
    """Rows that a user gives with labels among known classes; parameters and errors as for `read_rows`."""
    return read_rows(X, y, sample_weight).of_classes(classes)


# --------------------------------------------------------------------------------------------------
# One row of a table
# --------------------------------------------------------------------------------------------------


def as_rows(X: Any) -> Table:
    """Rows to predict as a table; a mapping, a series or a list of values is one row. Errors as for `as_table`."""
    return as_table(with_one_row(X))


def as_row(X_row: Any) -> Table:
    """A table of one row.

    Parameters
    ----------
    X_row : table of shape (1, columns), array or list of shape (columns,), pandas.Series or mapping
        The index of a series and the keys of a mapping are the names of the columns.

    Raises
    ------
    TypeError
        If it is not a table.
    ValueError
        If it does not have exactly one row.
    """
    table = as_table(one_row(X_row))
    if table.num_rows != 1:
        raise ValueError(
            f"X_row has {table.num_rows} rows: give exactly one, such as X.iloc[[0]] of a frame or X[[0]] of an array"
        )
    return table


def one_row(X_row: Any) -> Any:
    """A row without an axis of rows as a table of one row; anything else as it is.

    Raises
    ------
    TypeError
        If it is a single cell or None.
    """
    if np.isscalar(X_row) or X_row is None:
        raise TypeError(
            f"X_row is {X_row!r}: give one row, such as X.iloc[[0]] of a frame, X[[0]] of an array, or a dict from "
            "column to cell"
        )
    X_row = with_one_row(X_row)
    if getattr(X_row, "ndim", 2) == 1 and hasattr(X_row, "reshape"):
        return X_row.reshape(1, -1)
    return X_row


def with_one_row(X: Any) -> Any:
    """A mapping, a pandas series or a list of values as a table of one row; anything else as it is.

    A one-dimensional array stays one: it may be a row or a column. A mapping or a series becomes an `ArrayTable`: a
    data frame takes longer than a prediction.
    """
    if isinstance(X, Mapping) and not scipy.sparse.issparse(X):  # a DOK array is a dict
        return _row_of_objects(X.keys(), X.values())
    # Whoever gives a series has imported pandas, which takes a third of a second.
    if "pandas" in sys.modules and isinstance(X, sys.modules["pandas"].Series):
        _refuse_duplicates(X.index.tolist(), "X")
        return _row_of_objects(X.index.tolist(), X.tolist())
    if isinstance(X, list | tuple) and X and not any(np.iterable(cell) and not isinstance(cell, str) for cell in X):
        return np.array([X], dtype=object)  # of a list, scikit-learn makes numbers beside text text
    return X


def _row_of_objects(names: Iterable[Any], values: Iterable[Any]) -> ArrayTable:
    cells = np.empty((1, len(names := tuple(names))), dtype=object)
    for column, value in enumerate(values):  # a value may be a list
        cells[0, column] = value
    return ArrayTable(cells, names, named=True)
