"""Naive Bayes for measurements."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesnb.data.tables import Table
from bayesnb.estimators.base import Estimator, named, read_numbers
from bayesnb.families.gaussian import Gaussian
from bayesnb.inference.exact import Exact
from bayesnb.model.blocks import ModelParameters
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.problem import Problem
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import PointPosterior


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(Estimator):
    """Naive Bayes for measurements, with scikit-learn's arguments and a posterior.

    The exact predictive is Student-t under a Normal-inverse-gamma prior on the scale of the data;
    ``predictive="plugin"`` gives scikit-learn's numbers.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), optional
        Class probabilities; by default the class frequencies.
    var_smoothing : float, default 1e-9
        `epsilon_`, which is added to the plug-in variances, as a share of the largest variance of a feature. The exact
        predictive does not need it and ignores the default; a larger value adds as much variance there too.
    prior : Gaussian, optional
        The prior on mean and variance.
    inference, predictive, feature_inclusion, unlabelled, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, n_features_in_
        As for `BernoulliNB`.
    class_prior_ : array of shape (n_classes,)
    theta_, var_ : array of shape (n_classes, n_features)
        Mean and variance of each feature per class; the variance with `epsilon_`.
    epsilon_ : float
        `var_smoothing` times the largest variance of a feature.

    See Also
    --------
    bayesnb.NaiveBayesClassifier : Columns of different kinds, any model.
    bayesnb.Gaussian : Numbers.

    Examples
    --------
    >>> from bayesnb.estimators import GaussianNB
    >>> X, y = [[1.0], [1.4], [3.1], [2.9]], ["a", "a", "b", "b"]
    >>> classifier = GaussianNB().fit(X, y)
    >>> classifier.predict_proba([[2.0]]).round(2)
    array([[0.72, 0.28]])
    >>> classifier.theta_.round(2)
    array([[1.2],
           [3. ]])
    """

    priors: Any = None
    var_smoothing: float = 1e-9
    prior: Gaussian | None = None
    feature_inclusion: Any = None

    def _read(self, X: Any, *, reset: bool) -> Table:
        return named(self, read_numbers(self, X, reset=reset))

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = Gaussian() if self.prior is None else self.prior
        if type(family) is not Gaussian:
            raise TypeError(f"prior is {family!r}: give nb.Gaussian(...)")
        return NaiveBayes(family, class_probs=self._class_probs(), feature_inclusion=self.feature_inclusion)

    def _class_probs(self) -> Any:
        if self.priors is None:
            return "empirical"
        priors = np.asarray(self.priors, dtype=np.float64)
        if len(priors) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if (priors < 0).any():
            raise ValueError("Priors must be non-negative.")
        return priors / priors.sum()

    def _smoothed(self, problem: Problem) -> Problem:
        if self.predictive == "plugin" or self.var_smoothing <= 1e-9:
            return problem
        problem.require_labels("var_smoothing above 1e-9", "leave var_smoothing at its default")
        counted: Any = problem.statistics.blocks[0]
        pooled: Any = counted.pooled()
        blur = self.var_smoothing * pooled.variance.max()
        blurred = replace(counted, ssd=counted.ssd + counted.n * blur)
        return replace(problem, statistics=replace(problem.statistics, blocks=(blurred,)))

    def _note(self, problem: Problem) -> None:
        counted: Any = problem.statistics.blocks[0]
        pooled: Any = counted.pooled()
        self.epsilon_ = float(self.var_smoothing * pooled.variance.max())
        self.theta_ = counted.mean
        self.var_ = counted.variance + self.epsilon_
        self.class_prior_ = np.asarray(problem.posterior.classes.mean())

    def _predictor(self) -> Posterior:
        posterior = self._posterior()
        if self.predictive != "plugin" or not isinstance(self._inference(), Exact):
            return super()._predictor()
        # A class without a cell of a feature takes the mean of all classes together, and a class without spread takes
        # their variance.
        counted: Any = self._problem.statistics.blocks[0]
        pooled: Any = counted.pooled()
        everywhere = np.where(pooled.ssd > 0, pooled.variance, 1.0)
        variance = counted.variance + self.epsilon_
        parameters = {
            "mean": np.where(counted.n > 0, counted.mean, pooled.mean),
            "variance": np.where(variance > 0, variance, everywhere),
        }
        return PointPosterior(posterior.model, ModelParameters(posterior.model.class_prior.mean(), (parameters,)))
