"""Leave-one-out by refitting: one fit for each row, to all the others."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax

import bayesnb as nb
from bayesnb.data.read import labelled_rows
from bayesnb.posterior.left_out import features_left_out
from bayesnb.posterior.loo import loo, loo_scores


def rows_of(posterior, X, y, weights=None):
    """Rows as the functions of leave-one-out take them."""
    return labelled_rows(X, y, weights, classes=posterior.classes)


def at(X, rows):
    """Some rows of an array or a frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def cells_alone(row):
    """A row for each of its cells, the others missing."""
    if hasattr(row, "iloc"):
        return pd.DataFrame(cells_alone(row.to_numpy()), columns=row.columns)
    return np.where(np.eye(row.shape[1], dtype=bool), row, np.nan)


def assert_same(posterior, X, y, weights=None, *, places=None, alone=None, atol=1e-10, rtol=0.0):
    """Compare rows, and their features, given the others with fits to the others; returns what `loo` gives.

    Parameters
    ----------
    places : sequence of int, optional
        The rows that are compared, by default all.
    alone : callable, optional
        From a table of one row a table with a row for each feature, in which the other features are missing.
    atol, rtol : float
        For the log probability of a row's label.
    """
    codes = np.searchsorted(posterior.classes, y)
    rows = np.arange(len(y)) if places is None else np.asarray(places)
    found = loo(posterior, X, y, sample_weight=weights)
    of_features = features_left_out(posterior, rows_of(posterior, X, y, weights))
    joint = []
    for i in rows:
        others = np.arange(len(y)) != i
        weight = None if weights is None else weights[others]
        fitted = nb.fit(posterior.problem.model, at(X, others), y[others], sample_weight=weight)
        joint.append(fitted.log_joint(at(X, [i]))[0])
        with np.errstate(divide="ignore"):
            log_prob = np.log(fitted.class_probs())
        np.testing.assert_allclose(of_features.log_class_prob[i], log_prob, rtol=0, atol=1e-10)
        together = log_prob + of_features.log_density[i].sum(axis=-1)
        np.testing.assert_allclose(together, joint[-1], rtol=0, atol=1e-9)
        if alone is not None:
            each = fitted.log_joint(alone(at(X, [i]))) - log_prob
            np.testing.assert_allclose(of_features.log_density[i].T, each, rtol=0, atol=1e-9)
    joint, own = np.array(joint), (np.arange(len(rows)), codes[rows])
    proba = log_softmax(joint, axis=1)
    np.testing.assert_allclose(found.elpd_i.values[rows], proba[own], rtol=rtol, atol=atol)
    some = rows[[-1, 0]]
    few = loo(posterior, at(X, some), y[some], sample_weight=None if weights is None else weights[some])
    np.testing.assert_allclose(few.elpd_i.values, proba[own][[-1, 0]], rtol=rtol, atol=atol)
    if places is None:
        expected = {
            "elpd_label": proba[own].sum(),
            # Of missing cells that count as values no other model has a density.
            "elpd_joint": np.nan if any(posterior.problem.missing_as_values.values()) else joint[own].sum(),
            "accuracy": (proba.argmax(1) == codes).mean(),
            "brier": ((np.exp(proba) - np.eye(proba.shape[1])[codes]) ** 2).sum(1).mean(),
        }
        scores = loo_scores(posterior, X, y, sample_weight=weights).to_dict()
        assert scores == pytest.approx(expected, rel=1e-9, nan_ok=True)
    return found
