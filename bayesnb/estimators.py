"""The scikit-learn face: estimators with scikit-learn's names, arguments and words.

Every estimator is a thin way of writing a `NaiveBayes` model. Fitted, it holds the model's posterior in `posterior_`.
"""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import narwhals as nw
import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_non_negative, validate_data

from bayesnb.arrays import log, warn
from bayesnb.blocks import ModelParameters
from bayesnb.families.base import Family
from bayesnb.families.bernoulli import Bernoulli
from bayesnb.families.categorical import Categorical
from bayesnb.families.dirichlet_multinomial import DirichletMultinomial
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.multinomial import Multinomial
from bayesnb.families.poisson import Poisson
from bayesnb.growth import count_more, with_categories
from bayesnb.inference.base import Inference
from bayesnb.inference.exact import Exact
from bayesnb.inference.nuts import NUTS
from bayesnb.inference.point import MAP, MLE
from bayesnb.model import NaiveBayes
from bayesnb.parallel import in_order, num_threads
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.problem import Problem, check_decay
from bayesnb.rows import PIECE_CELLS
from bayesnb.schema import (
    ArrayTable,
    SparseTable,
    Table,
    as_csr,
    as_table,
    distinct,
    finite_and_not_negative,
    is_missing,
)
from bayesnb.statistics.counts import Counts
from bayesnb.statistics.moments import Moments, moments
from bayesnb.weights import weighted_table

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "DirichletMultinomialNB",
    "GaussianNB",
    "MultinomialNB",
    "NaiveBayesClassifier",
    "PoissonNB",
]

INFERENCES: dict[str, Inference] = {"exact": Exact(), "map": MAP(), "mle": MLE(), "nuts": NUTS()}

ALPHA_MIN = 1e-10
"""scikit-learn's smallest alpha where `force_alpha` is False."""


class _Estimator(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """What all estimators share; a subclass says how it reads a table and which model it stands for."""

    inference: Any
    predictive: str
    decay: float
    random_state: Any

    @abstractmethod
    def _model(self, table: Table) -> NaiveBayes:
        """The model to fit to a table; the classes are known by then."""

    @abstractmethod
    def _read(self, X: Any, *, reset: bool) -> Table:
        """Check a table in scikit-learn's words."""

    def _note(self, problem: Problem) -> None:
        """Set scikit-learn's fitted attributes."""

    def _extend(self, problem: Problem, table: Table) -> Problem:
        """The problem ready for another table, which may show new categories."""
        return problem

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            self._require_y(y)
            table = self._read(X, reset=True)
            labels = self._labels(y, table)
            self.classes_ = distinct(labels)
            self._start(table, labels, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add a batch to what was fitted; any number of batches, of any sizes, give what one fit to all would.

        With a `decay` below 1, what was fitted loses weight first: one fit with the weights ``decay**age`` would give
        the same, the age of a row being the number of calls since its own.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,)
            All labels that may come; needed at the first call.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the batch is refused (a label that was not announced, a wrong value): the estimator predicts as before.
        """
        with self._all_or_nothing():
            first = self._announce(classes)
            self._require_y(y)
            table = self._read(X, reset=first)
            labels = self._labels(y, table)
            self._require_known(labels)
            if first:
                self._start(table, labels, sample_weight)
            else:
                problem = self._extend(self._problem, table)
                weight = self._weight(sample_weight, table)
                problem, counted = count_more(problem, table, labels, weight)
                self._settle(problem.add(counted, decay=self.decay))
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Take rows away that were fitted; what is left is what one fit to the others would give.

        Classes and categories that were known stay known.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            The weight that the rows have by now: the one they came with, times `decay` for each `partial_fit` since.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If nothing was fitted.
        ValueError
            If these rows cannot have been among the data: the estimator predicts as before.
        """
        check_is_fitted(self)
        with self._all_or_nothing():
            self._require_y(y)
            table = self._check_table(X)
            labels = self._labels(y, table)
            self._require_known(labels)
            # A category that was never seen then has a count of zero, which no row can be taken away from.
            problem = self._extend(self._problem, table)
            weight = self._weight(sample_weight, table)
            problem, counted = count_more(problem, table, labels, weight)
            self._settle(problem.take_away(counted))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Most probable label of each row, shape (n_samples,)."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predictive class probabilities, shape (n_samples, n_classes), columns in the order of `classes_`."""
        return self._predictor().predict_proba(self._check_table(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of the predictive class probabilities, shape (n_samples, n_classes)."""
        return self._predictor().predict_log_proba(self._check_table(X))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log density log p(x, y) of each row with each class, shape (n_samples, n_classes).

        It is the density of the model, multinomial coefficient and all; scikit-learn leaves out what no class changes.
        """
        return self._predictor().log_joint(self._check_table(X))

    def predict_interval(self, X: Any, *, prob: float = 0.89, num_draws: int | None = None) -> np.ndarray:
        """Credible interval of each class probability.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        prob : float, default 0.89
        num_draws : int, optional
            Draws of the parameters in each of four chains.

        Returns
        -------
        array of shape (n_samples, n_classes, 2)
            Lower and upper end.
        """
        return self._posterior().proba_interval(self._check_table(X), prob=prob, num_draws=num_draws, key=self._key())

    def to_datatree(self, X: Any = None, y: Any = None, **options: Any) -> Any:
        """The posterior as an ``xarray.DataTree`` for ArviZ; see `bayesnb.datatree.to_datatree`."""
        return self._posterior().to_datatree(None if X is None else self._check_table(X), y, **options)

    def _start(self, table: Table, labels: np.ndarray, sample_weight: Any) -> None:
        check_decay(self.decay)
        weight = self._weight(sample_weight, table)
        model, rows = self._model(table), weighted_table(table, weight)
        growing = not model.bound
        model = model.bind(rows, classes=self.classes_) if growing else model.with_classes(self.classes_)
        counted = model.statistics(rows, labels, sample_weight=weight)
        self._settle(Problem(model, counted, growing=growing))

    def _settle(self, problem: Problem) -> None:
        """Condition on the statistics and take the result as the fit."""
        inference = self._inference()
        inference.check(problem)
        if problem.model.feature_inclusion is not None and self.predictive == "plugin":
            raise ValueError(
                'predictive="plugin" stands for one model, and feature_inclusion averages over many: use '
                'predictive="exact", or leave feature_inclusion out'
            )
        self.posterior_ = inference.fit(self._smoothed(problem), key=self._key())
        self._problem = problem
        self.class_count_ = problem.statistics.classes.n.copy()
        self._note(problem)

    def _smoothed(self, problem: Problem) -> Problem:
        """The problem as its posterior is to see it."""
        return problem

    def _inference(self) -> Inference:
        if isinstance(self.inference, Inference):
            return self.inference
        if self.inference not in INFERENCES:
            raise ValueError(
                f"inference is {self.inference!r}: give one of {sorted(INFERENCES)}, or such as nb.NUTS(...)"
            )
        return INFERENCES[self.inference]

    def _key(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1)) if self.random_state is not None else 0

    def _posterior(self) -> Posterior:
        check_is_fitted(self)
        return self.posterior_

    def _predictor(self) -> Posterior:
        """The posterior, or the point that stands for it."""
        posterior = self._posterior()
        if self.predictive == "exact" or isinstance(posterior, PointPosterior):
            return posterior
        if self.predictive != "plugin":
            raise ValueError(f'predictive is {self.predictive!r}: give "exact" or "plugin"')
        families = posterior.families if isinstance(posterior, ExactPosterior) else ()
        if families and all(isinstance(family, Bernoulli | Categorical) for family in families):
            return posterior  # predicts the same as its mean, which might round to 0 or 1
        return posterior.plugin()  # type: ignore[attr-defined]

    def _check_table(self, X: Any) -> Table:
        check_is_fitted(self)
        return self._read(X, reset=False)

    def _named(self, X: Any) -> ArrayTable | SparseTable:
        """A checked array as a table under the names that scikit-learn noted."""
        names = getattr(self, "feature_names_in_", None)
        columns = tuple(range(X.shape[1])) if names is None else tuple(names.tolist())
        if scipy.sparse.issparse(X):
            return SparseTable(as_csr(X), columns, X.shape[0], names is not None)
        return ArrayTable(X, columns, X.shape[0], names is not None)

    def _require_y(self, y: Any) -> None:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")

    def _labels(self, y: Any, table: Table) -> np.ndarray:
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "O" and any(is_missing(label) for label in labels.tolist()):
            raise ValueError("Input y contains NaN.")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("Input y contains NaN or infinity.")
        # Anything but numbers with fractions is a label; scikit-learn would sort them all to see whether most differ.
        if labels.dtype.kind not in "biuU" or 2 * len(distinct(labels)) >= len(labels):
            check_classification_targets(labels)
        check_consistent_length(np.empty(table.num_rows), labels)
        return labels

    def _require_known(self, labels: np.ndarray) -> None:
        strangers = np.setdiff1d(distinct(labels), self.classes_)
        if strangers.size:
            raise ValueError(
                f"The target label(s) {strangers} in y do not exist in the initial classes {self.classes_}"
            )

    def _weight(self, sample_weight: Any, table: Table) -> Any:
        if sample_weight is None:
            return None
        rows = np.empty((table.num_rows, 1))
        return _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)

    def _announce(self, classes: Any) -> bool:
        """Whether this is the first batch; its classes, if so."""
        fitted = getattr(self, "classes_", None)
        if fitted is None and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if fitted is None:
            self.classes_ = np.unique(classes)
            return True
        if classes is not None and not np.array_equal(np.sort(np.asarray(classes)), fitted):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {fitted!r}")
        return False

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever fails, the estimator is as it was before."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags


class _Numeric(_Estimator):
    """Estimators that read a table of numbers."""

    def _read(self, X: Any, *, reset: bool) -> Table:
        X = validate_data(self, X, accept_sparse=["csr", "csc"], ensure_all_finite=False, reset=reset)
        return self._named(self._prepare(X))

    def _prepare(self, X: Any) -> Any:
        """The cells that the model sees."""
        return X


class _Discrete(_Numeric):
    """scikit-learn's smoothing parameters and class prior."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def _check_alpha(self) -> Any:
        """The smoothing in force, in scikit-learn's words."""
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
                "`force_alpha=True` "
                "to keep alpha unchanged.",
                UserWarning,
            )
            return np.maximum(alpha, ALPHA_MIN)
        return alpha

    def _concentration(self) -> Any:
        """The prior that the smoothing is; an alpha of zero is the limit of small ones, which has a predictive."""
        return np.maximum(self._alpha, np.finfo(np.float64).tiny)

    def _class_probs(self) -> Any:
        return _class_probs(self.classes_, self.class_prior, self.fit_prior)

    def _start(self, table: Table, labels: np.ndarray, sample_weight: Any) -> None:
        self._alpha = self._check_alpha()
        super()._start(table, labels, sample_weight)

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior_classes.mean())


class _Counting(_Estimator):
    """Estimators whose features are counted; what is as large as the counts is computed when it is asked for."""

    @property
    def feature_count_(self) -> np.ndarray:
        """Total of each feature in each class, shape (n_classes, n_features)."""
        return self._counted.total.copy()

    @property
    def _counted(self) -> Counts:
        check_is_fitted(self)
        counted: Any = self._problem.statistics.blocks[0]
        return counted


class _Smoothed(_Counting, _Discrete):
    """Those of them that smooth the counts."""

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Log of the smoothed share of each feature in each class, shape (n_classes, n_features)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._log_prob(self._counted)

    @abstractmethod
    def _log_prob(self, counted: Counts) -> np.ndarray: ...


class BernoulliNB(_Smoothed):
    """Naive Bayes for 0/1 features, with scikit-learn's arguments and a posterior.

    Each feature's probability has the prior Beta(alpha, alpha). The exact predictive equals scikit-learn's.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default 1.0
        Concentration of the Beta prior. Zero is taken as the limit of small ones, and gives no NaN.
    force_alpha : bool, default True
        If False, an alpha below 1e-10 becomes 1e-10, with a warning.
    binarize : float or None, default 0.0
        Values above become 1, others 0; None takes the cells as they are. Missing cells stay missing.
    fit_prior : bool, default True
        Take the class frequencies as class probabilities; if False, equal ones.
    class_prior : array-like of shape (n_classes,), optional
        Class probabilities.
    inference : "exact", "nuts", "map", "mle" or Inference, default "exact"
    predictive : "exact" or "plugin", default "exact"
        Average over the posterior, or plug in its mean.
    feature_inclusion : float, array-like of shape (n_features,) or mapping, optional
        Prior probability that a feature depends on the class; the predictions are then averaged exactly over all
        subsets of the features (`bayesnb.AveragedPosterior`). Fitted attributes that describe features are those of the
        classes' own counts all the same. None, the default, is no averaging.
    decay : float, default 1.0
        What the rows so far keep of their weight at each call of `partial_fit` but the first, above 0 and at most 1.
    random_state : int, RandomState instance or None, default None
        Seed of draws; None is zero.

    Attributes
    ----------
    posterior_ : Posterior
    classes_, class_count_, class_log_prior_ : array of shape (n_classes,)
    feature_count_, feature_log_prob_ : array of shape (n_classes, n_features)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Where the table has names.

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
        self.decay = decay
        self.random_state = random_state

    def _prepare(self, X: Any) -> Any:
        _refuse_infinity(X, type(self).__name__)
        if self.binarize is None or (X.dtype.kind == "b" and not scipy.sparse.issparse(X)):
            return X
        if scipy.sparse.issparse(X):
            if self.binarize < 0:
                raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
            result = X.astype(np.float64)
            result.data = np.where(np.isnan(result.data), np.nan, result.data > self.binarize)
            return result
        above = self.binarize < X
        missing = np.isnan(X) if X.dtype.kind == "f" else None
        return above if missing is None or not missing.any() else np.where(missing, np.nan, above)

    def _model(self, table: Table) -> NaiveBayes:
        return NaiveBayes(
            Bernoulli(self._concentration(), self._concentration()),
            class_probs=self._class_probs(),
            feature_inclusion=self.feature_inclusion,
        )

    def _log_prob(self, counted: Counts) -> np.ndarray:
        return np.log(counted.total + self._alpha) - np.log(counted.n + 2 * self._alpha)


class MultinomialNB(_Smoothed):
    """Naive Bayes for count vectors, with scikit-learn's arguments and a posterior.

    The exact predictive of a document is Dirichlet-multinomial; ``predictive="plugin"`` gives scikit-learn's numbers,
    which are overconfident for long documents. Weights that are not counts (tf-idf) are accepted, as in scikit-learn.
    The result is then not a probability, and ``predictive="plugin"`` is the better choice: with ``alpha=0.01`` the
    exact formula loses 0.4 to 1.6 points of macro-F1 on tf-idf of three tables (docs/real-data.md).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default 1.0
        Concentration of the Dirichlet prior on each class's word probabilities.
    force_alpha, fit_prior, class_prior, inference, predictive, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, class_log_prior_, feature_count_, feature_log_prob_, n_features_in_
        As for `BernoulliNB`.
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        inference: Any = "exact",
        predictive: str = "exact",
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.inference = inference
        self.predictive = predictive
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        return _read_counts(self, X, reset=reset)

    def _model(self, table: Table) -> NaiveBayes:
        family = Multinomial(self._concentration(), fractional=True)
        return NaiveBayes(family, class_probs=self._class_probs())

    def _log_prob(self, counted: Counts) -> np.ndarray:
        smoothed = counted.total + self._alpha
        return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.positive_only = True
        return tags


class DirichletMultinomialNB(_Counting):
    """Naive Bayes for count vectors in which words come in bursts: the Dirichlet compound multinomial.

    scikit-learn has no such estimator; this one takes `MultinomialNB`'s place in a pipeline of counts. Weights that are
    not counts (tf-idf) are accepted, as in scikit-learn; the result is then not a probability.

    Parameters
    ----------
    concentration, rate : float or array-like of shape (n_features,), default 1.5 and 0.1
        Gamma prior on each concentration.
    fit_prior, class_prior
        As for `BernoulliNB`.
    inference : {"map", "mle", "nuts"} or Inference, default "map"
        How to fit; there is no closed form. Maximum likelihood has an estimate only where every class is burstier than
        a multinomial, and a document with a word that a class never shows is impossible there.
    decay
        As for `BernoulliNB`.
    random_state : int, RandomState instance or None, default None
        For inferences and intervals that draw.

    Attributes
    ----------
    posterior_ : Posterior
    classes_ : array of shape (n_classes,)
    class_count_, class_log_prior_ : array of shape (n_classes,)
    feature_count_ : array of shape (n_classes, n_features)
        Total count of each feature in each class.
    concentration_ : array of shape (n_classes, n_features)
        Estimated concentrations; the posterior mean where it was sampled.
    n_features_in_ : int
    """

    predictive = "exact"

    def __init__(
        self,
        *,
        concentration: Any = 1.5,
        rate: Any = 0.1,
        fit_prior: bool = True,
        class_prior: Any = None,
        inference: Any = "map",
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.concentration = concentration
        self.rate = rate
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.inference = inference
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        return _read_counts(self, X, reset=reset)

    def _model(self, table: Table) -> NaiveBayes:
        family = DirichletMultinomial(self.concentration, self.rate, fractional=True)
        return NaiveBayes(family, class_probs=_class_probs(self.classes_, self.class_prior, self.fit_prior))

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior_classes.mean())
        self.concentration_ = self.posterior_.mean()["x_concentration"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.positive_only = True
        return tags


class CategoricalNB(_Discrete):
    """Naive Bayes for categories, with scikit-learn's arguments and a posterior.

    Categories may be whole numbers from zero, as in scikit-learn, or text, booleans or pandas categoricals; cells may
    be missing. A category that was never seen counts as a missing cell at prediction, with a warning; `partial_fit`
    adds it to the column. The exact predictive equals scikit-learn's. As in scikit-learn, every row of X adds its
    categories, whatever its weight.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default 1.0
        Concentration of the Dirichlet prior.
    force_alpha, fit_prior, class_prior, inference, predictive, feature_inclusion, decay, random_state
        As for `BernoulliNB`.
    min_categories : int or array-like of shape (n_features,), optional
        Least number of categories of each column of numbers.

    Attributes
    ----------
    posterior_, classes_, class_count_, class_log_prior_, n_features_in_
        As for `BernoulliNB`.
    categories_ : list of array
        Categories of each feature.
    n_categories_ : array of shape (n_features,)
    category_count_, feature_log_prob_ : list of array of shape (n_classes, n_categories)
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        inference: Any = "exact",
        predictive: str = "exact",
        feature_inclusion: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.inference = inference
        self.predictive = predictive
        self.feature_inclusion = feature_inclusion
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        table = _read_mixed(self, X, reset=reset)
        if isinstance(table, ArrayTable) and table.array.dtype.kind in "iuf":
            check_non_negative(table.array, f"{type(self).__name__} (input X)")
            if table.array.dtype.kind == "f":
                return replace(table, array=_whole_numbers(table.array))
        return table

    def _model(self, table: Table) -> NaiveBayes:
        minimum = self._check_min_categories()
        alpha = np.broadcast_to(self._concentration(), self.n_features_in_)
        features = {}
        highest = _highest_numbers(table)
        for j, name in enumerate(table.names):
            categories = self._categories(table, j, int(minimum[j]), (), highest)
            features[name] = Categorical(float(alpha[j]), categories=categories)
        return NaiveBayes(features, class_probs=self._class_probs(), feature_inclusion=self.feature_inclusion)

    def _categories(
        self, table: Table, column: int, minimum: int, known: Sequence[Any], highest_numbers: np.ndarray | None
    ) -> tuple:
        """Categories of a column: 0, 1, ... for numbers, else those declared or shown, the known ones first."""
        if highest_numbers is not None:
            return tuple(range(max(int(highest_numbers[column]) + 1, minimum, len(known), 1)))
        values = table.values(column, slice(None))
        if table.kind(column) == "number":
            numbers = table.numbers([column], slice(None))
            highest = int(np.nanmax(numbers, initial=-1.0)) if not np.isnan(numbers).all() else -1
            return tuple(range(max(highest + 1, minimum, len(known), 1)))
        declared = table.declared_categories(column)
        shown = {value for value in values.tolist() if not is_missing(value)}
        already = set(known)
        new = [value for value in (declared or sorted(shown, key=_order)) if value not in already]
        return (*known, *new) if known or new else (0,)

    def _check_min_categories(self) -> np.ndarray:
        minimum = np.asarray(0 if self.min_categories is None else self.min_categories)
        if minimum.dtype.kind not in "iu":
            raise ValueError(f"'min_categories' should have integral type. Got {minimum.dtype} instead.")
        shape = (self.n_features_in_,)
        if minimum.ndim and minimum.shape != shape:
            raise ValueError(
                f"'min_categories' should have shape {shape} when an array-like is provided. Got {minimum.shape} "
                "instead."
            )
        return np.broadcast_to(minimum, shape)

    def _extend(self, problem: Problem, table: Table) -> Problem:
        known = problem.model.schema.categories  # type: ignore[union-attr]
        highest = _highest_numbers(table)
        found = {j: self._categories(table, j, 0, known[j], highest) for j in known}
        if found == known:
            return problem
        features: dict[Any, Any] = {
            name: Categorical(family.hyperparameters()["concentration"], categories=found[j])
            for j, (name, (family, _)) in enumerate(problem.model.features.items())
        }
        return with_categories(problem, found, features)

    def _note(self, problem: Problem) -> None:
        super()._note(problem)
        schema = problem.model.schema
        assert schema is not None
        counts: dict[int, np.ndarray] = {}
        for block, counted in zip(problem.model.blocks, problem.statistics.blocks, strict=True):
            for j, position in enumerate(block.columns):
                counts[position] = counted.total[:, j].copy()  # type: ignore[attr-defined]
        alpha = np.broadcast_to(self._alpha, self.n_features_in_)
        self.category_count_ = [counts[j] for j in range(self.n_features_in_)]
        self.categories_ = [np.asarray(schema.categories[j]) for j in range(self.n_features_in_)]
        self.n_categories_ = np.array([count.shape[1] for count in self.category_count_], dtype=np.int64)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.feature_log_prob_ = [
                np.log(count + alpha[j]) - np.log((count + alpha[j]).sum(axis=1, keepdims=True))
                for j, count in enumerate(self.category_count_)
            ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.positive_only = True
        return tags


class GaussianNB(_Numeric):
    """Naive Bayes for measurements, with scikit-learn's arguments and a posterior.

    The exact predictive is Student-t under a Normal-inverse-gamma prior on the scale of the data;
    ``predictive="plugin"`` gives scikit-learn's numbers.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), optional
        Class probabilities; by default the class frequencies.
    var_smoothing : float, default 1e-9
        Share of the largest variance of all features that the plug-in variances get on top. For the exact predictive,
        which needs no safeguard, the default has no part; a larger value blurs every measurement by that much.
    prior : Gaussian, optional
        The prior on mean and variance.
    inference, predictive, feature_inclusion, decay, random_state
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
    """

    def __init__(
        self,
        *,
        priors: Any = None,
        var_smoothing: float = 1e-9,
        prior: Gaussian | None = None,
        inference: Any = "exact",
        predictive: str = "exact",
        feature_inclusion: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.prior = prior
        self.inference = inference
        self.predictive = predictive
        self.feature_inclusion = feature_inclusion
        self.decay = decay
        self.random_state = random_state

    def _prepare(self, X: Any) -> Any:
        self._dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
        return X

    def _model(self, table: Table) -> NaiveBayes:
        family = Gaussian() if self.prior is None else self.prior
        if not isinstance(family, Gaussian):
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
        counted: Any = problem.statistics.blocks[0]
        pooled: Any = counted.pooled()
        blur = self.var_smoothing * pooled.variance.max()
        blurred = replace(counted, ssd=counted.ssd + counted.n * blur)
        return Problem(problem.model, replace(problem.statistics, blocks=(blurred,)))

    def _note(self, problem: Problem) -> None:
        counted: Any = problem.statistics.blocks[0]
        pooled: Any = counted.pooled()
        self.epsilon_ = float(self.var_smoothing * pooled.variance.max())
        self.theta_ = counted.mean.astype(self._dtype)
        self.var_ = (counted.variance + self.epsilon_).astype(self._dtype)
        self.class_prior_ = np.asarray(problem.posterior_classes.mean()).astype(self._dtype)

    def _predictor(self) -> Posterior:
        posterior = self._posterior()
        if self.predictive != "plugin" or not isinstance(self._inference(), Exact):
            return super()._predictor()
        # A class that has shown nothing of a feature, or no spread in it, takes the spread of all classes together.
        counted: Any = self._problem.statistics.blocks[0]
        pooled: Any = counted.pooled()
        everywhere = np.where(pooled.ssd > 0, pooled.variance, 1.0)
        variance = counted.variance + self.epsilon_
        parameters = {
            "mean": np.where(counted.n > 0, counted.mean, pooled.mean),
            "variance": np.where(variance > 0, variance, everywhere),
        }
        return PointPosterior(posterior.model, ModelParameters(posterior.model.class_prior.mean(), (parameters,)))

    @staticmethod
    def _update_mean_variance(
        n_past: float, mu: Any, var: Any, X: np.ndarray, sample_weight: Any = None
    ) -> tuple[Any, Any]:
        """Mean and variance after more rows, under scikit-learn's private name."""
        if X.shape[0] == 0:
            return mu, var
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        past = Moments(np.full((1, X.shape[1]), float(n_past)), np.broadcast_to(mu, (1, X.shape[1])), n_past * var)
        total = past + moments(np.asarray(X, dtype=np.float64), weight[:, None])
        return total.mean[0], (total.ssd / total.n)[0]


class PoissonNB(_Numeric):
    """Naive Bayes for counts of independent events, each feature Poisson with a gamma prior on its rate.

    Parameters
    ----------
    prior : Poisson, optional
        The prior on the rates.
    fit_prior, class_prior, inference, predictive, feature_inclusion, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, class_log_prior_, n_features_in_
        As for `BernoulliNB`.
    rate_ : array of shape (n_classes, n_features)
        Posterior mean of the rates.
    """

    def __init__(
        self,
        *,
        prior: Poisson | None = None,
        fit_prior: bool = True,
        class_prior: Any = None,
        inference: Any = "exact",
        predictive: str = "exact",
        feature_inclusion: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.prior = prior
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.inference = inference
        self.predictive = predictive
        self.feature_inclusion = feature_inclusion
        self.decay = decay
        self.random_state = random_state

    def _prepare(self, X: Any) -> Any:
        check_non_negative(X, f"{type(self).__name__} (input X)")
        return X

    def _model(self, table: Table) -> NaiveBayes:
        family = Poisson() if self.prior is None else self.prior
        if not isinstance(family, Poisson):
            raise TypeError(f"prior is {family!r}: give nb.Poisson(...)")
        probs = _class_probs(self.classes_, self.class_prior, self.fit_prior)
        fractional = replace(family, fractional=True)
        return NaiveBayes(fractional, class_probs=probs, feature_inclusion=self.feature_inclusion)

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior_classes.mean())
        self.rate_ = problem.posterior_families[0].mean()["rate"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class NaiveBayesClassifier(_Estimator):
    """Any naive Bayes model as an estimator; by default one that fits the columns of the table.

    Parameters
    ----------
    model : NaiveBayes, Family or None, default None
        The model; None guesses a family for each column from its type, as `NaiveBayes.from_frame` does, numbers of
        floating type being Gaussian.
    inference, predictive, feature_inclusion, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, n_features_in_, feature_names_in_
        As for `BernoulliNB`.
    model_ : NaiveBayes
        The model with the numbers used.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb.estimators import NaiveBayesClassifier
    >>> X = pd.DataFrame({"size": [1.0, 2.0, None, 4.0], "colour": ["red", None, "blue", "blue"]})
    >>> NaiveBayesClassifier().fit(X, [0, 0, 1, 1]).predict(X).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        model: NaiveBayes | Family | None = None,
        *,
        inference: Any = "exact",
        predictive: str = "exact",
        feature_inclusion: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.inference = inference
        self.predictive = predictive
        self.feature_inclusion = feature_inclusion
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        return _read_mixed(self, X, reset=reset)

    def _model(self, table: Table) -> NaiveBayes:
        model = self._given_model(table)
        return model if self.feature_inclusion is None else model.with_feature_inclusion(self.feature_inclusion)

    def _given_model(self, table: Table) -> NaiveBayes:
        if self.model is None:
            return NaiveBayes.from_frame(table)
        if isinstance(self.model, Family):
            return NaiveBayes(self.model)
        if not isinstance(self.model, NaiveBayes):
            raise TypeError(f"model is {self.model!r}: give nb.NaiveBayes(...), a family, or None for a guess")
        return self.model

    def _note(self, problem: Problem) -> None:
        self.model_ = problem.resolved

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _class_probs(classes: np.ndarray, class_prior: Any, fit_prior: bool) -> Any:
    """scikit-learn's three ways of saying the class probabilities."""
    if class_prior is not None:
        if len(class_prior) != len(classes):
            raise ValueError("Number of priors must match number of classes.")
        return np.asarray(class_prior, dtype=np.float64)
    return "empirical" if fit_prior else np.full(len(classes), 1 / len(classes))


def _read_counts(estimator: _Estimator, X: Any, *, reset: bool) -> Table:
    """Check a table of counts; only one that is refused, or no float64, is looked through in scikit-learn's way."""
    checked = validate_data(estimator, X, accept_sparse=["csr", "csc"], ensure_all_finite=False, reset=reset)
    cells = checked.data if scipy.sparse.issparse(checked) else checked
    pieces = np.array_split(cells, num_threads() if cells.size > PIECE_CELLS else 1)
    if not all(in_order(finite_and_not_negative, pieces)):
        checked = validate_data(estimator, X, accept_sparse=["csr", "csc"], reset=reset)
        check_non_negative(checked, f"{type(estimator).__name__} (input X)")
    return replace(estimator._named(checked), non_negative=True)


def _read_mixed(estimator: _Estimator, X: Any, *, reset: bool) -> Table:
    """Check a table whose columns may be of any type: a frame as it is, an array as scikit-learn would."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        table = as_table(X)
        for number, what in ((table.num_rows, "sample"), (len(table.names), "feature")):
            if number < 1:
                raise ValueError(f"Found array with 0 {what}(s) while a minimum of 1 is required.")
        return table
    X = validate_data(estimator, X, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False, reset=reset)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if X.dtype.kind == "O":
        numbers = _as_numbers(X)
        X = X if numbers is None else numbers
    if X.dtype.kind in "fiu":
        X = check_array(X, accept_sparse=["csr", "csc"], ensure_all_finite="allow-nan")
        _refuse_infinity(X, type(estimator).__name__)
    return estimator._named(X)


def _highest_numbers(table: Table) -> np.ndarray | None:
    """Largest number of each column of an array of whole numbers, in one pass; None for any other table."""
    if not (isinstance(table, ArrayTable) and table.array.dtype.kind in "iu"):
        return None
    array = table.array
    # NumPy goes through few long rows faster than through many short ones.
    width = 64 if array.flags.c_contiguous and len(array) >= 64 else 1
    long = array[: len(array) // width * width].reshape(-1, width * array.shape[1]).max(axis=0)
    return np.vstack([long.reshape(width, -1), array[len(array) // width * width :]]).max(axis=0)


def _as_numbers(X: np.ndarray) -> np.ndarray | None:
    """An array of Python numbers as float64, missing ones NaN; None if it holds anything else."""
    flat = X.ravel().tolist()
    if any(not is_missing(value) and (isinstance(value, bool) or not isinstance(value, Real)) for value in flat):
        return None
    return np.array([np.nan if is_missing(value) else float(value) for value in flat]).reshape(X.shape)


def _refuse_infinity(X: Any, name: str) -> None:
    cells = X.data if scipy.sparse.issparse(X) else X
    if cells.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(cells.sum())
    if not finite and np.isinf(cells).any():
        raise ValueError(f"Input X contains infinity or a value too large for {cells.dtype} ({name}).")


def _whole_numbers(X: np.ndarray) -> np.ndarray:
    """Numbers cut to whole ones, as scikit-learn does, but not in silence."""
    with np.errstate(invalid="ignore"):
        cut = np.trunc(X)
    lost = (cut != X) & ~np.isnan(X)
    if lost.any():
        row, column = (int(index[0]) for index in np.nonzero(lost))
        warn(
            f"column {column}, row {row}: {X[row, column]:g} is no category and is cut to a whole number, as "
            "scikit-learn "
            "does; NaiveBayesClassifier reads measurements as such",
            UserWarning,
        )
    return cut


def _order(value: Any) -> tuple[str, Any]:
    return type(value).__name__, value
