"""Labels and class probabilities, checked with scikit-learn's error messages."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from bayesnb.tables.distinct import distinct
from bayesnb.tables.objects import is_missing

__all__ = ["check_known", "check_labels", "class_probs"]


def check_labels(y: Any, num_rows: int) -> np.ndarray:
    """Labels of the rows of a table.

    Parameters
    ----------
    y : array-like of shape (num_rows,)
    num_rows : int

    Returns
    -------
    array of shape (num_rows,)

    Raises
    ------
    ValueError
        If `y` has another length or shape, a missing or infinite label, or numbers that are no labels.
    """
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O" and any(is_missing(label) for label in labels.tolist()):
        raise ValueError("Input y contains NaN.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity.")
    # scikit-learn's check sorts all labels to see whether most of them differ. Whole numbers and text that repeat
    # always pass it, so it is left out for them.
    if labels.dtype.kind not in "biuU" or 2 * len(distinct(labels)) >= len(labels):
        check_classification_targets(labels)
    check_consistent_length(np.empty(num_rows), labels)
    return labels


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
