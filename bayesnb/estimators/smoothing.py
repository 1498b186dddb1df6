"""The base classes of estimators of counts and categories: scikit-learn's smoothing and fitted attributes."""

from abc import abstractmethod
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesnb.arrays import log
from bayesnb.estimators.base import Estimator
from bayesnb.estimators.classes import class_probs
from bayesnb.problem import Problem
from bayesnb.statistics.counts import Counts
from bayesnb.tables.table import Table
from bayesnb.warn import warn

__all__ = ["Counting", "Discrete", "Smoothed"]

ALPHA_MIN = 1e-10
"""scikit-learn's smallest alpha if `force_alpha` is False."""


class Discrete(Estimator):
    """An estimator with scikit-learn's smoothing parameters and class prior."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def _check_alpha(self) -> Any:
        """The smoothing that is used, checked with scikit-learn's error messages."""
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha, dtype=np.float64)
        if isinstance(alpha, np.ndarray) and alpha.shape[0] != self.n_features_in_:
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {alpha.shape[0]} elements instead of {self.n_features_in_}."
            )
        smallest = np.min(alpha)
        if not np.isfinite(alpha).all() or smallest < 0:
            raise ValueError("All values in alpha must be greater than 0.")
        if smallest < ALPHA_MIN and not self.force_alpha:
            warn(
                f"alpha too small will result in numeric errors, setting alpha = {ALPHA_MIN:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged.",
                UserWarning,
            )
            return np.maximum(alpha, ALPHA_MIN)
        return alpha

    def _concentration(self) -> Any:
        """Concentration of the prior: alpha, or the smallest normal float64 in place of zero."""
        return np.maximum(self._alpha, np.finfo(np.float64).tiny)

    def _class_probs(self) -> Any:
        return class_probs(self.classes_, self.class_prior, self.fit_prior)

    def _start(self, table: Table, labels: np.ndarray, sample_weight: Any) -> None:
        self._alpha = self._check_alpha()
        super()._start(table, labels, sample_weight)

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior_classes.mean())


class Counting(Estimator):
    """An estimator whose features are counted. Attributes as large as the counts are computed when they are read."""

    @property
    def feature_count_(self) -> np.ndarray:
        """Total of each feature in each class, shape (n_classes, n_features)."""
        return self._counted.total.copy()

    @property
    def _counted(self) -> Counts:
        check_is_fitted(self)
        counted: Any = self._problem.statistics.blocks[0]
        return counted


class Smoothed(Counting, Discrete):
    """An estimator that smooths its counts."""

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Log of the smoothed share of each feature in each class, shape (n_classes, n_features)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._log_prob(self._counted)

    @abstractmethod
    def _log_prob(self, counted: Counts) -> np.ndarray: ...
