"""A table in memory or on a device, read at once."""

from typing import Any

import numpy as np

from bayesnb.model.naive_bayes import Model, NaiveBayes, named_for, of_table
from bayesnb.problem import Problem
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import read_labels
from bayesnb.tables.weighted import weighted_table
from bayesnb.tables.weights import check_weights
from bayesnb.unlabelled import read_rows

__all__ = ["read_table"]


def read_table(
    model: Model, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, feature_names: Any = None
) -> Problem:
    """The problem of a table; rows without a label are kept as they are.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    X : table, shape (rows, columns)
    y : labels of shape (rows,), str or None
    sample_weight : array, shape (rows,), optional
    classes : sequence or int, optional
    feature_names : sequence, shape (columns,), optional
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
    X, y = split_labels(X, y, model.features)
    table = weighted_table(named_for(model, X, feature_names), sample_weight)
    labels = None if y is None else read_labels(y, table.num_rows)
    if labels is not None and classes is None and isinstance(model, NaiveBayes):
        classes = labels.classes(may_miss=True)
    weights = None if sample_weight is None else check_weights(sample_weight, table.num_rows)
    bound = of_table(model, table, classes=classes, weights=weights)
    codes = np.full(table.num_rows, -1) if labels is None else labels.codes(bound.schema.classes, may_miss=True)
    statistics, unlabelled = read_rows(bound, table, codes, weights)
    return Problem(bound, statistics, unlabelled=unlabelled, growing=not model.bound)
