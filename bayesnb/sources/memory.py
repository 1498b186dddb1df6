"""A table in memory or on a device, read at once."""

from typing import Any

from bayesnb.model.bound import Model, of_table
from bayesnb.problem import Problem
from bayesnb.tables.weighted import weighted_table
from bayesnb.unlabelled import read_rows

__all__ = ["read_table"]


def read_table(model: Model, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Problem:
    """The problem of a table; rows without a label are kept as they are.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
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
    bound = of_table(model, table, y, classes)
    statistics, unlabelled = read_rows(bound, table, y, sample_weight)
    return Problem(bound, statistics, unlabelled=unlabelled, growing=not model.bound)
