"""Naive Bayes for 0/1 features."""

from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.estimators.read import named, read_numbers, refuse_infinity
from bayesnb.estimators.smoothing import Smoothed
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.statistics.counts import Counts
from bayesnb.tables.table import Table

__all__ = ["BernoulliNB"]


class BernoulliNB(Smoothed):
    """Naive Bayes for 0/1 features, with scikit-learn's arguments and a posterior.

    Each feature's probability has the prior Beta(alpha, alpha). The exact predictive equals scikit-learn's.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default 1.0
        Concentration of the Beta prior. Zero is the limit of small values, and gives no NaN.
    force_alpha : bool, default True
        If False, an alpha below 1e-10 becomes 1e-10, with a warning.
    binarize : float or None, default 0.0
        Values above it become 1, others 0; None leaves the cells as they are. Missing cells stay missing.
    fit_prior : bool, default True
        Take the class frequencies as class probabilities; if False, equal ones.
    class_prior : array-like of shape (n_classes,), optional
        Class probabilities.
    inference : "exact", "nuts", "gibbs", "map", "mle", "em" or Inference, default "exact"
    predictive : "exact" or "plugin", default "exact"
        Average over the posterior, or use its mean as the parameters.
    feature_inclusion : float, array-like of shape (n_features,) or mapping, optional
        Prior probability that a feature depends on the class; the predictions are then averaged exactly over all
        subsets of the features (`bayesnb.AveragedPosterior`). Fitted attributes of features still describe the counts
        of each class, without averaging. None, the default, means no averaging.
    unlabelled : scalar, optional
        The value in `y` of rows without a label, such as -1 or NaN. `fit` uses these rows too, with an inference that
        takes them: "map" or "mle" (both by EM), "gibbs" or "nuts". `classes_` does not hold the value, and attributes
        other than `posterior_` describe the rows with a label. None, the default: every row has a label.
    decay : float, default 1.0
        Factor for the weight of all earlier rows at each call of `partial_fit` after the first; above 0, at most 1.
    random_state : int, RandomState instance or None, default None
        Seed of draws; None means the seed 0.

    Attributes
    ----------
    posterior_ : Posterior
    classes_, class_count_, class_log_prior_ : array of shape (n_classes,)
    feature_count_, feature_log_prob_ : array of shape (n_classes, n_features)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if the columns of the table have names.

    See Also
    --------
    bayesnb.estimators.NaiveBayesClassifier : Columns of different kinds, any model.
    bayesnb.Bernoulli : Zeros and ones.

    Examples
    --------
    >>> from bayesnb.estimators import BernoulliNB
    >>> X, y = [[1, 0], [0, 1], [1, 1], [0, 0]], ["a", "b", "a", "b"]
    >>> BernoulliNB().fit(X, y).predict([[1, 0]]).tolist()
    ['a']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        inference: Any = "exact",
        predictive: str = "exact",
        feature_inclusion: Any = None,
        unlabelled: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.inference = inference
        self.predictive = predictive
        self.feature_inclusion = feature_inclusion
        self.unlabelled = unlabelled
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        return named(self, self._binarized(read_numbers(self, X, reset=reset)))

    def _binarized(self, X: Any) -> Any:
        """Cells as 0 and 1, missing ones as NaN."""
        refuse_infinity(X, type(self).__name__)
        if self.binarize is None:
            return X
        if X.dtype.kind == "b" and 0 <= self.binarize < 1 and not scipy.sparse.issparse(X):
            return X  # True is above the threshold, False is not
        if scipy.sparse.issparse(X):
            if self.binarize < 0:
                raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
            result = X.astype(np.float64)
            result.data = np.where(np.isnan(result.data), np.nan, result.data > self.binarize)
            return result
        above = self.binarize < X
        missing = np.isnan(X) if X.dtype.kind == "f" else None
        return above if missing is None or not missing.any() else np.where(missing, np.nan, above)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        return NaiveBayes(
            Bernoulli(self._concentration(), self._concentration()),
            class_probs=self._class_probs(),
            feature_inclusion=self.feature_inclusion,
        )

    def _log_prob(self, counted: Counts) -> np.ndarray:
        return np.log(counted.total + self._alpha) - np.log(counted.n + 2 * self._alpha)
