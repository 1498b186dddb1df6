"""Tables and labels that an estimator is given, checked with scikit-learn's error messages."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_non_negative, validate_data

from bayesnb.core.arrays import PIECE_CELLS
from bayesnb.core.cells import LARGEST_NUMBER, is_missing, unmask
from bayesnb.core.checking import require_readable, warn
from bayesnb.core.device_arrays import lies_on_device
from bayesnb.core.number_form import is_number
from bayesnb.core.running import num_threads, results_in_order
from bayesnb.data.labels import as_labels
from bayesnb.data.lazy_table import is_lazy
from bayesnb.data.read import as_frame, as_table, collecting, is_dask
from bayesnb.data.tables import ArrayTable, SparseTable, Table, as_csr, distinct
from bayesnb.model.reading import not_negative_up_to

# --------------------------------------------------------------------------------------------------
# Labels, checked with scikit-learn's error messages
# --------------------------------------------------------------------------------------------------


def check_labels(y: Any, num_rows: int, unlabelled: Any = None) -> np.ma.MaskedArray:
    """Labels of the rows of a table.

    Parameters
    ----------
    y : array-like of shape (num_rows,)
    num_rows : int
    unlabelled : scalar, optional
        The value of rows without a label; None if every row has one.

    Returns
    -------
    masked array of shape (num_rows,)
        Rows without a label are masked.

    Raises
    ------
    ValueError
        If `y` has another length or shape, a missing or infinite label, quantities instead of labels, or no label.
    """
    require_readable("y", y)
    labels = column_or_1d(unmask(y), warn=True)
    if labels.dtype.kind == "O" and isinstance(next(iter(labels), None), str) and hasattr(y, "dtype"):
        labels = column_or_1d(as_labels(y))  # an array of text, which takes a tenth of the time of objects
    check_consistent_length(np.empty(num_rows), labels)
    missing = _without_label(labels, unlabelled)
    if missing.all():
        raise ValueError(f"y has no label: every value is {unlabelled!r}, which marks rows without one")
    if not missing.any():
        _check_targets(labels)
        return np.ma.MaskedArray(labels, missing)
    known = labels[~missing]
    if known.dtype.kind == "O":
        # A missing value turns an array of whole numbers into objects.
        known = as_labels(known.tolist())
    _check_targets(known)
    values = np.empty(len(labels), dtype=known.dtype)
    values[~missing] = known
    return np.ma.MaskedArray(values, missing)


def check_classes(classes: Any, unlabelled: Any) -> np.ndarray:
    """The classes that a user announces, sorted.

    Raises
    ------
    ValueError
        If they hold the value of rows without a label.
    """
    found: np.ndarray = np.unique(classes)
    if _without_label(found, unlabelled).any():
        raise ValueError(f"classes holds {unlabelled!r}, which marks rows without a label: leave it out")
    return found


def _without_label(labels: np.ndarray, unlabelled: Any) -> np.ndarray:
    """Which rows have no label, shape (rows,)."""
    if unlabelled is None:
        return np.zeros(len(labels), dtype=bool)
    if is_missing(unlabelled):
        return np.array([is_missing(label) for label in labels.tolist()], dtype=bool)
    if labels.dtype.kind == "U" and not isinstance(unlabelled, str) and str(unlabelled) in labels:
        raise ValueError(
            f"y holds the text {str(unlabelled)!r}, which NumPy makes of {unlabelled!r} in a list of texts: give an "
            "array of dtype object"
        )
    return np.array([label == unlabelled for label in labels.tolist()], dtype=bool)


def _check_targets(labels: np.ndarray) -> None:
    """Raise a ValueError if a label is missing or infinite, or if labels are quantities."""
    if labels.dtype.kind in "fO" and any(is_missing(label) for label in labels.tolist()):
        raise ValueError(
            "Input y contains NaN: leave out the rows without a label, or set the parameter unlabelled=np.nan and an "
            'inference that takes them, such as inference="map"'
        )
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    # scikit-learn's check sorts all labels to see whether most of them differ. Whole numbers and text that repeat
    # always pass it, so it is left out for them.
    if labels.dtype.kind not in "biuU" or 2 * len(distinct(labels)) >= len(labels):
        check_classification_targets(labels)


# --------------------------------------------------------------------------------------------------
# Input of an estimator, checked with scikit-learn's error messages and read as a table
# --------------------------------------------------------------------------------------------------


def read_numbers(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Check a table of numbers, which may be missing; returns an array or a sparse array.

    Raises
    ------
    TypeError, ValueError
        If a cell is no number; scikit-learn's error follows the column, the row and the value.
    """
    if isinstance(X, Table):
        return _all_numbers(X)
    checked = _validated(estimator, X, reset=reset, numbers=True)
    # scikit-learn leaves dates, and lists that hold any object, as they are; before 1.9 also the texts of pandas 3.
    return _all_numbers(X) if checked.dtype.kind in "mMO" else checked


def _validated(estimator: BaseEstimator, X: Any, *, reset: bool, numbers: bool) -> Any:
    """An array or sparse array checked by scikit-learn; our own message comes before its error."""
    require_readable("X", X)
    options: Any = {
        "accept_sparse": ["csr", "csc"],
        "ensure_all_finite": False,
        "dtype": "numeric" if numbers else None,
    }
    try:
        return validate_data(estimator, X, reset=reset, **options)
    except (TypeError, ValueError) as error:
        kind, told = TypeError if isinstance(error, TypeError) else ValueError, str(error).partition("\n")[0]
        try:
            found = X if scipy.sparse.issparse(X) else _all_numbers(X) if numbers else as_table(X)
        except (TypeError, ValueError) as wrong:
            raise kind(str(wrong) if "inhomogeneous" in told else f"{wrong}; {told[:100]}") from error
        if not isinstance(found, np.ndarray):
            raise
    # scikit-learn cannot convert pandas.NA to a number.
    validate_data(estimator, X, skip_check_array=True, reset=reset)
    return check_array(found, estimator=estimator, input_name="X", **options)


def _all_numbers(X: Any) -> Any:
    """The cells of a table as float64; errors as for `Table.numbers`."""
    table = as_table(X)
    return table.numbers(range(len(table.names)), slice(None))


def named(estimator: BaseEstimator, X: Any) -> ArrayTable | SparseTable:
    """A checked array as a table whose columns have the names that scikit-learn noted in the estimator."""
    names = getattr(estimator, "feature_names_in_", None)
    columns = tuple(range(X.shape[1])) if names is None else tuple(names.tolist())
    if scipy.sparse.issparse(X):
        return SparseTable(as_csr(X), columns, names is not None)
    return ArrayTable(X, columns, names is not None)


def read_counts(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """Check a table of counts: finite numbers from zero.

    A fast pass in several threads looks for wrong cells. scikit-learn's slower checks, which raise its errors, run only
    if that pass finds one or the table is not float64.
    """
    checked = read_numbers(estimator, X, reset=reset)
    cells = checked.data if scipy.sparse.issparse(checked) else checked
    pieces = np.array_split(cells, num_threads() if cells.size > PIECE_CELLS else 1)
    if not (fine := all(results_in_order(partial(not_negative_up_to, LARGEST_NUMBER), pieces))):
        checked = check_array(checked, accept_sparse=["csr", "csc"], estimator=estimator, input_name="X")
        check_non_negative(checked, f"{type(estimator).__name__} (input X)")
        fine = float(checked.max()) <= LARGEST_NUMBER
    return replace(named(estimator, checked), non_negative=fine)


def read_mixed(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """Check a table whose columns may have any type. A frame keeps its columns; an array is checked by scikit-learn."""
    if isinstance(X, Table):
        return X
    if isinstance(as_frame(X), nw.DataFrame) or lies_on_device(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        table = as_table(X)
        for number, what in ((table.num_rows, "sample"), (len(table.names), "feature")):
            if number < 1:
                raise ValueError(f"Found array with 0 {what}(s) while a minimum of 1 is required.")
        return table
    X = _validated(estimator, X, reset=reset, numbers=False)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if X.dtype.kind == "O":
        X = _numbers_of_objects(X)
    if X.dtype.kind in "fiu":
        X = check_array(
            X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan", estimator=estimator, input_name="X"
        )
    return named(estimator, X)


def whole_numbers(X: Any, names: Sequence[Any]) -> Any:
    """A non-negative table, dense or CSR, truncated to whole numbers as in scikit-learn, with a warning if one changes.

    Raises
    ------
    ValueError
        If a number is negative.
    """
    if X.dtype.kind in "iu" and X.min() >= 0:
        return X
    cut = X.trunc() if scipy.sparse.issparse(X) else np.trunc(X)
    with np.errstate(invalid="ignore"):
        negative, lost = X < 0, abs(X - cut) > 0

    def first(wrong: Any) -> str:
        row, column = (int(index[0]) for index in wrong.nonzero())
        return f"column {names[column]!r}, row {row}: {X[row, column]:g}"

    if negative.sum():
        raise ValueError(
            f"Negative values in data passed to CategoricalNB (input X): {first(negative)}, and its categories are "
            "whole numbers from 0, or text: number the values from 0 with scikit-learn's OrdinalEncoder"
        )
    if not lost.sum():
        return X
    warn(
        f"{first(lost)} is not a category and is cut to a whole number, as scikit-learn does; NaiveBayesClassifier "
        "reads measurements as such",
        UserWarning,
    )
    return cut


def in_memory(X: Any) -> Any:
    """A Dask table in memory and an array without a mask, which scikit-learn does not see; other tables as they are.

    Raises
    ------
    TypeError
        If it is a lazy table.
    """
    if is_lazy(X):
        raise TypeError(
            f"X is a lazy table, and this method of an estimator needs its rows in memory, X.{collecting(X)}: "
            "NaiveBayesClassifier().fit, predict and predict_proba take it, and so does posterior_.update"
        )
    return X.compute() if is_dask(X) else unmask(X)


def with_fitted_columns(estimator: BaseEstimator, X: Any) -> Any:
    """A frame with the columns of the fit in their order; X itself if it is no frame, or lacks a column of the fit.

    In the last case, scikit-learn's check raises its error for the columns of X as they are.
    """
    fitted = list(getattr(estimator, "feature_names_in_", ()))
    frame = as_frame(X)
    if not isinstance(frame, nw.DataFrame) or not fitted or not set(fitted) <= set(frame.columns):
        return X
    return X if frame.columns == fitted else frame.select(fitted).to_native()


def _numbers_of_objects(X: np.ndarray) -> np.ndarray:
    """An array of Python numbers as float64, missing ones as NaN; itself if it holds anything else."""
    flat = [np.nan if is_missing(value) else value for value in X.ravel().tolist()]
    wrong = any(isinstance(value, bool) or not is_number(value) for value in flat)
    return X if wrong else np.array(flat, dtype=np.float64).reshape(X.shape)
