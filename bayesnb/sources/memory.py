"""A table in memory or on a device, read at once."""

from typing import Any

from bayesnb.model import NaiveBayes
from bayesnb.problem import Problem
from bayesnb.tables.weighted import weighted_table
from bayesnb.unlabelled import read_rows

__all__ = ["read_table"]


def read_table(model: NaiveBayes, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Problem:
    """The problem of a table; rows without a label are kept as they are.

    Parameters
    ----------
    model : NaiveBayes
    X : table, shape (rows, columns)
    y : labels, shape (rows,), or None
    sample_weight : array, shape (rows,), optional
    classes : sequence or int, optional
        As for `fit`.

    Raises
    ------
    ValueError, TypeError
        If the data do not fit the model, naming column, row and value; or if there are neither labels nor classes.
    """
    if y is None and classes is None and not model.bound:
        raise ValueError(
            "y is None: give a label for each row; or, for a mixture, the number of its classes or their names, as "
            "in classes=3"
        )
    table = weighted_table(X, sample_weight)
    growing = not model.bound
    if growing:
        model = model.bind(table, y, classes=classes)
    elif classes is not None:
        model = model.with_classes(classes)
    statistics, unlabelled = read_rows(model, table, y, sample_weight)
    return Problem(model, statistics, unlabelled=unlabelled, growing=growing)
