"""Labels and class probabilities, checked with scikit-learn's error messages."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from bayesnb.tables.distinct import distinct
from bayesnb.tables.labels import as_labels
from bayesnb.tables.objects import is_missing

__all__ = ["check_classes", "check_known", "check_labels", "class_probs"]


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
        If `y` has another length or shape, a missing or infinite label, numbers that are no labels, or no label at all.
    """
    labels = column_or_1d(y, warn=True)
    check_consistent_length(np.empty(num_rows), labels)
    missing = _without_label(labels, unlabelled)
    if not missing.any():
        _check_targets(labels)
        return np.ma.MaskedArray(labels, missing)
    if missing.all():
        raise ValueError(f"y has no label: every value is {unlabelled!r}, which marks rows without one")
    known = labels[~missing]
    if known.dtype.kind == "O":
        # A missing value makes an array of whole numbers one of objects.
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
    if labels.dtype.kind == "O" and any(is_missing(label) for label in labels.tolist()):
        raise ValueError("Input y contains NaN.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity.")
    # scikit-learn's check sorts all labels to see whether most of them differ. Whole numbers and text that repeat
    # always pass it, so it is left out for them.
    if labels.dtype.kind not in "biuU" or 2 * len(distinct(labels)) >= len(labels):
        check_classification_targets(labels)


def check_known(labels: np.ndarray, classes: np.ndarray) -> None:
    """Raise a ValueError if a label is not among the classes."""
    unknown = np.setdiff1d(distinct(labels), classes)
    if unknown.size:
        raise ValueError(f"The target label(s) {unknown} in y do not exist in the initial classes {classes}")


def class_probs(classes: np.ndarray, class_prior: Any, fit_prior: bool) -> Any:
    """The argument `class_probs` of `NaiveBayes` that scikit-learn's `class_prior` and `fit_prior` mean.

    Parameters
    ----------
    classes : array of shape (n_classes,)
    class_prior : array-like of shape (n_classes,), optional
        Class probabilities.
    fit_prior : bool
        Without `class_prior`: whether the class frequencies are the class probabilities, which are equal otherwise.

    Returns
    -------
    "empirical" or array of shape (n_classes,)

    Raises
    ------
    ValueError
        If the number of probabilities is not that of the classes.
    """
    if class_prior is not None:
        if len(class_prior) != len(classes):
            raise ValueError("Number of priors must match number of classes.")
        return np.asarray(class_prior, dtype=np.float64)
    return "empirical" if fit_prior else np.full(len(classes), 1 / len(classes))
