"""Mutual information as a score function for scikit-learn's feature selection."""

from typing import Any

import numpy as np

from bayesnb.api import fit
from bayesnb.families.base import Family
from bayesnb.model.naive_bayes import Model, NaiveBayes
from bayesnb.selection.mutual_information import information_estimate
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.read import as_table

__all__ = ["mutual_information_score"]


def mutual_information_score(X: Any, y: Any, *, model: Model | Family | None = None, unit: str = "nats") -> np.ndarray:
    """Mutual information of each feature and the class under a naive Bayes model: a score for ``SelectKBest``.

    Parameters
    ----------
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
    model : NaiveBayes, BoundModel, Family or None, default None
        The model, such as ``nb.Bernoulli()`` for words that occur or do not; None guesses a family for each column from
        its type, as `NaiveBayes.from_frame` does.
    unit : {"nats", "bits"}, default "nats"

    Returns
    -------
    array, shape (columns,)
        The column ``estimate`` of `mutual_information`: the information beyond chance, zero if there is none. Where the
        likelihood has no maximum (a class whose cells are all the same number), the column ``at_posterior_mean``.
        Columns that are not in the model are NaN, which ``SelectKBest`` ranks last.

    Raises
    ------
    ValueError
        If the unit is unknown, or the data do not fit the model.

    See Also
    --------
    mutual_information : Mutual information of each feature and the class.

    Notes
    -----
    ``SelectKBest`` raises an error for text and missing cells before it calls a score function. For such columns use
    scikit-learn's ``SelectFromModel``, which reads nothing itself, with an ``importance_getter`` that returns
    ``nb.mutual_information(fitted)["estimate"].to_numpy()`` of the fitted estimator; the user guide has an example.

    Examples
    --------
    >>> from functools import partial
    >>> import bayesnb as nb
    >>> from bayesnb.estimators import BernoulliNB
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 0]], ["a", "a", "b", "b"]
    >>> score = partial(nb.mutual_information_score, model=nb.Bernoulli(), unit="bits")
    >>> score(X, y).round(2)
    array([0.67, 0.  , 0.  ])
    >>> make_pipeline(SelectKBest(score, k=1), BernoulliNB()).fit(X, y).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """
    X, y = split_labels(X, y)
    table = as_table(X)
    posterior = fit(NaiveBayes.from_frame(table) if model is None else model, table, y)
    scores = np.full(len(table.names), np.nan)
    scores[sorted(column for block in posterior.model.blocks for column in block.columns)] = information_estimate(
        posterior, unit
    )
    return scores
