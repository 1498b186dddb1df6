"""Input of an estimator, checked with scikit-learn's error messages and read as a table."""

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_non_negative, validate_data

from bayesnb.parallel import in_order, num_threads
from bayesnb.rows import PIECE_CELLS
from bayesnb.tables.array import ArrayTable
from bayesnb.tables.cells import LARGEST_NUMBER, not_negative_up_to
from bayesnb.tables.objects import is_missing
from bayesnb.tables.read import as_frame, as_table
from bayesnb.tables.sparse import SparseTable, as_csr
from bayesnb.tables.table import Table

__all__ = ["named", "read_counts", "read_mixed", "read_numbers", "refuse_infinity", "without_new_columns"]


def read_numbers(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Check a table of numbers, which may be missing; returns an array or a sparse array.

    Raises
    ------
    TypeError, ValueError
        If a cell is no number; scikit-learn's error follows the column, the row and the value.
    """
    try:
        checked = validate_data(estimator, X, accept_sparse=["csr", "csc"], ensure_all_finite=False, reset=reset)
    except (TypeError, ValueError) as error:
        if wrong := _not_a_number(X):
            raise type(error)(f"{wrong}; {error}") from error
        raise
    # scikit-learn leaves dates, and lists that hold any object, as they are; before 1.9 also the texts of pandas 3.
    if checked.dtype.kind in "mMO" and (wrong := _not_a_number(X)):
        raise TypeError(wrong)
    return checked


def _not_a_number(X: Any) -> str:
    """What is wrong with the first cell that is no number; empty if there is none."""
    try:
        table = as_table(X)
        for column in range(len(table.names)):
            table.numbers([column], slice(None))
    except TypeError as error:
        return str(error)
    except ValueError:  # not the shape of a table
        return ""
    return ""


def named(estimator: BaseEstimator, X: Any) -> ArrayTable | SparseTable:
    """A checked array as a table whose columns have the names that scikit-learn noted in the estimator."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = tuple(range(X.shape[1])) if names is None else tuple(names.tolist())
    if scipy.sparse.issparse(X):
        return SparseTable(as_csr(X), columns, X.shape[0], names is not None)
    return ArrayTable(X, columns, X.shape[0], names is not None)


def read_counts(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """Check a table of counts: finite numbers from zero.

    A fast pass in several threads looks for wrong cells. scikit-learn's slower checks, which raise its errors, run only
    if that pass finds one or the table is not float64.
    """
    checked = read_numbers(estimator, X, reset=reset)
    cells = checked.data if scipy.sparse.issparse(checked) else checked
    pieces = np.array_split(cells, num_threads() if cells.size > PIECE_CELLS else 1)
    if not (fine := all(in_order(partial(not_negative_up_to, LARGEST_NUMBER), pieces))):
        checked = validate_data(estimator, X, accept_sparse=["csr", "csc"], reset=reset)
        check_non_negative(checked, f"{type(estimator).__name__} (input X)")
        fine = float(checked.max()) <= LARGEST_NUMBER
    return replace(named(estimator, checked), non_negative=fine)


def read_mixed(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """Check a table whose columns may have any type. A frame keeps its columns; an array is checked by scikit-learn."""
    frame = as_frame(X)
    if isinstance(frame, nw.DataFrame):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        table = as_table(X)
        for number, what in ((table.num_rows, "sample"), (len(table.names), "feature")):
            if number < 1:
                raise ValueError(f"Found array with 0 {what}(s) while a minimum of 1 is required.")
        return table
    X = validate_data(estimator, X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False, reset=reset)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if X.dtype.kind == "O":
        numbers = _as_numbers(X)
        X = X if numbers is None else numbers
    if X.dtype.kind in "fiu":
        X = check_array(X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan")
        refuse_infinity(X, type(estimator).__name__)
    return named(estimator, X)


def without_new_columns(estimator: BaseEstimator, X: Any) -> Any:
    """A frame without the columns that the fit did not have; X itself if it is no frame, or lacks a column of the fit.

    In the last case, scikit-learn's check raises its error for the columns of X as they are.
    """
    fitted = set(getattr(estimator, "feature_names_in_", ()))
    frame = as_frame(X)
    if not isinstance(frame, nw.DataFrame) or not fitted or not fitted < set(frame.columns):
        return X
    return frame.select([name for name in frame.columns if name in fitted]).to_native()


def _as_numbers(X: np.ndarray) -> np.ndarray | None:
    """An array of Python numbers as float64, missing ones as NaN; None if it holds anything else."""
    flat = X.ravel().tolist()
    if any(not is_missing(value) and (isinstance(value, bool) or not isinstance(value, Real)) for value in flat):
        return None
    return np.array([np.nan if is_missing(value) else float(value) for value in flat]).reshape(X.shape)


def refuse_infinity(X: Any, name: str) -> None:
    """Raise a ValueError that names the estimator if a cell is infinite."""
    cells = X.data if scipy.sparse.issparse(X) else X
    if cells.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(cells.sum())
    if not finite and np.isinf(cells).any():
        raise ValueError(f"Input X contains infinity or a value too large for {cells.dtype} ({name}).")
