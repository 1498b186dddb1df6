"""Leave-one-out by refitting: one fit for each row, to all the others."""

import numpy as np
import pytest
from scipy.special import log_softmax

import bayesnb as nb
from bayesnb.data.read import labelled_rows
from bayesnb.posterior.loo import loo, loo_scores


def rows_of(posterior, X, y, weights=None):
    """Rows as the functions of leave-one-out take them."""
    return labelled_rows(X, y, weights, classes=posterior.classes)


def refit(posterior, X, y, weights=None):
    """Log joint and log class probabilities of each row under a fit to the others, shape (rows, classes)."""
    joint = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        row, rest = (X.iloc[[i]], X.iloc[others]) if hasattr(X, "iloc") else (X[[i]], X[others])
        weight = None if weights is None else weights[others]
        fitted = nb.fit(posterior.problem.model, rest, y[others], sample_weight=weight)
        joint.append(fitted.log_joint(row)[0])
    return np.array(joint), log_softmax(joint, axis=1)


def scores(joint, proba, codes):
    rows = np.arange(len(codes))
    return {
        "elpd_label": proba[rows, codes].sum(),
        "elpd_joint": joint[rows, codes].sum(),
        "accuracy": (proba.argmax(1) == codes).mean(),
        "brier": ((np.exp(proba) - np.eye(proba.shape[1])[codes]) ** 2).sum(1).mean(),
    }


def assert_same(posterior, X, y, weights=None):
    joint, proba = refit(posterior, X, y, weights)
    codes = np.searchsorted(posterior.classes, y)
    found = loo(posterior, X, y, sample_weight=weights)
    np.testing.assert_allclose(found.elpd_i.values, proba[np.arange(len(y)), codes], rtol=0, atol=1e-10)
    assert loo_scores(posterior, X, y, sample_weight=weights).to_dict() == pytest.approx(scores(joint, proba, codes))
    return found
