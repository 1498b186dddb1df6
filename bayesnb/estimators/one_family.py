"""Estimators of one family: 0/1 columns, categories, counts and measurements."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted, check_non_negative

from bayesnb.core.arrays import any_missing, log
from bayesnb.core.cells import is_missing
from bayesnb.core.checking import warn
from bayesnb.data.tables import ArrayTable, SparseTable, Table
from bayesnb.estimators.checked_input import named, read_counts, read_mixed, read_numbers, whole_numbers
from bayesnb.estimators.estimator import Estimator
from bayesnb.families.categories import Bernoulli, Categorical
from bayesnb.families.counts_and_waits import Poisson
from bayesnb.families.dirichlet_multinomial import DirichletMultinomial
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.statistics import Counts
from bayesnb.families.words import Multinomial
from bayesnb.inference.exact import Exact
from bayesnb.model.blocks import in_column_order
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem, with_categories
from bayesnb.posterior.kinds import PointPosterior
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The base classes of estimators of counts and categories: scikit-learn's smoothing and fitted attributes
# --------------------------------------------------------------------------------------------------

ALPHA_MIN = 1e-10
"""scikit-learn's smallest alpha if `force_alpha` is False."""


@dataclass(eq=False, repr=False, kw_only=True)
class _WithClassPrior(Estimator):
    """An estimator with scikit-learn's class prior."""

    fit_prior: bool = True
    class_prior: Any = None

    def _class_probs(self) -> Any:
        """The class probabilities of the model; an error if their number is not that of the classes."""
        if self.class_prior is None:
            return "empirical" if self.fit_prior else np.full(len(self.classes_), 1 / len(self.classes_))
        if len(self.class_prior) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        return np.asarray(self.class_prior, dtype=np.float64)

    def _note(self, problem: Problem) -> None:
        self.class_log_prior_ = log(problem.posterior.classes.mean())


@dataclass(eq=False, repr=False, kw_only=True)
class _Discrete(_WithClassPrior):
    """An estimator with scikit-learn's smoothing parameters."""

    alpha: Any = 1.0
    force_alpha: bool = True

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

    def _start(self, table: Table, labels: np.ndarray, sample_weight: Any) -> None:
        self._alpha = self._check_alpha()
        super()._start(table, labels, sample_weight)


class _Counting(_WithClassPrior):
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


# --------------------------------------------------------------------------------------------------
# Naive Bayes for 0/1 features
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class BernoulliNB(_Counting, _Discrete):
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
        subsets of the features (`AveragedPosterior`). Fitted attributes of features still describe the counts
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
    bayesnb.NaiveBayesClassifier : Columns of different kinds, any model.
    bayesnb.Bernoulli : Zeros and ones.

    Examples
    --------
    >>> from bayesnb.estimators import BernoulliNB
    >>> X, y = [[1, 0], [0, 1], [1, 1], [0, 0]], ["a", "b", "a", "b"]
    >>> BernoulliNB().fit(X, y).predict([[1, 0]]).tolist()
    ['a']
    """

    binarize: float | None = 0.0
    feature_inclusion: Any = None

    def _read(self, X: Any, *, reset: bool) -> Table:
        return named(self, self._binarized(read_numbers(self, X, reset=reset)))

    def _scorer_bytes(self, asked: bool | None) -> bytes:
        # The flat form takes zeros and ones, which only thresholds between them leave as they are.
        if self.binarize is None or 0 <= self.binarize < 1:
            return super()._scorer_bytes(asked)
        if asked:
            raise ValueError(
                f"binarize={self.binarize:g} has no flat form: give X > {self.binarize:g} and binarize=None"
            )
        return b""

    def _with_columns(self, X: Any, method: str, options: Mapping[str, Any]) -> Any:
        if self.binarize is not None:
            raise ValueError(
                f"binarize={self.binarize:g} compares cells in memory: collect the lazy table, or write the comparison "
                "in its query and set binarize=None"
            )
        return super()._with_columns(X, method, options)

    def _binarized(self, X: Any) -> Any:
        """Cells as 0 and 1, missing ones as NaN."""
        assert_all_finite(X, allow_nan=True, estimator_name=type(self).__name__, input_name="X")
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
        return np.where(np.isnan(X), np.nan, above) if any_missing(X) else above

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        return NaiveBayes(
            Bernoulli(self._concentration(), self._concentration()),
            class_probs=self._class_probs(),
            feature_inclusion=self.feature_inclusion,
        )

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Log of the smoothed share of ones of each feature in each class, shape (n_classes, n_features)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(self._counted.total + self._alpha) - np.log(self._counted.n + 2 * self._alpha)


# --------------------------------------------------------------------------------------------------
# Naive Bayes for categories
# --------------------------------------------------------------------------------------------------

MOST_CATEGORIES = 2**24
"""Largest number of categories in all numeric columns together; more of them are probably a mistake."""


@dataclass(eq=False, repr=False, kw_only=True)
class CategoricalNB(_Discrete):
    """Naive Bayes for categories, with scikit-learn's arguments and a posterior.

    Categories may be whole numbers from zero, as in scikit-learn, or text, booleans or pandas categoricals; cells may
    be missing. Every number up to a column's largest is a category, and all such columns together may have 2**24. In
    predictions, a category that was never seen counts as a missing cell, with a warning; `partial_fit` adds it to the
    column. The exact predictive equals scikit-learn's. As in scikit-learn, every row of X adds its categories, even a
    row of weight zero.

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default 1.0
        Concentration of the Dirichlet prior.
    force_alpha, fit_prior, class_prior, inference, predictive, feature_inclusion, unlabelled, decay, random_state
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

    See Also
    --------
    bayesnb.NaiveBayesClassifier : Columns of different kinds, any model.
    bayesnb.Categorical : Categories.

    Examples
    --------
    >>> from bayesnb.estimators import CategoricalNB
    >>> X, y = [["red"], ["red"], ["blue"], ["green"]], ["a", "a", "b", "b"]
    >>> classifier = CategoricalNB().fit(X, y)
    >>> classifier.predict_proba([["red"]]).round(3)
    array([[0.75, 0.25]])
    """

    _input_tags: ClassVar = {"categorical": True, "string": True, "positive_only": True}

    min_categories: Any = None
    feature_inclusion: Any = None

    def _read(self, X: Any, *, reset: bool) -> Table:
        table = read_mixed(self, X, reset=reset)
        if isinstance(table, ArrayTable | SparseTable) and table.cells.dtype.kind in "iuf":
            return replace(table, cells=whole_numbers(table.cells, table.names))
        numbers = [j for j in range(len(table.names)) if table.kind(j) == "number"]
        columns = {j: table.number_column(j, slice(None))[:, None] for j in numbers}
        cut = {j: whole_numbers(cells, table.names[j : j + 1]) for j, cells in columns.items()}
        return table.with_columns({j: cells[:, 0] for j, cells in cut.items() if cells is not columns[j]})

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        alpha = np.broadcast_to(self._concentration(), self.n_features_in_)
        features = {
            table.names[j]: Categorical(float(alpha[j]), categories=categories)
            for j, categories in _categories(table, {}, self._check_min_categories()).items()
        }
        return NaiveBayes(features, class_probs=self._class_probs(), feature_inclusion=self.feature_inclusion)

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
        known = problem.model.schema.categories
        found = _categories(table, known, np.zeros(len(known)))
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
        of_blocks: Any = problem.statistics.blocks
        counts = in_column_order(problem.model.blocks, [np.moveaxis(counted.total, 1, 0) for counted in of_blocks])
        alpha = np.broadcast_to(self._alpha, self.n_features_in_)
        self.category_count_ = [count.copy() for count in counts]
        self.categories_ = [np.asarray(schema.categories[j]) for j in range(self.n_features_in_)]
        self.n_categories_ = np.array([count.shape[1] for count in self.category_count_], dtype=np.int64)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.feature_log_prob_ = [
                np.log(count + alpha[j]) - np.log((count + alpha[j]).sum(axis=1, keepdims=True))
                for j, count in enumerate(self.category_count_)
            ]


def _categories(table: Table, known: Mapping[int, tuple], least: Any) -> dict[int, tuple]:
    """Categories of each column: 0, 1, ... for numbers; otherwise those declared or shown, after the known ones.

    Raises
    ------
    ValueError
        If a number is infinite, or the columns of numbers have too many categories.
    """
    whole = isinstance(table, ArrayTable) and table.cells.dtype.kind in "iu"
    highest = table.cells.max(axis=0) if whole else None
    found: dict[int, range | tuple] = {}
    for j in range(len(table.names)):
        before = known.get(j, ())
        if highest is None and table.kind(j) != "number":
            found[j] = _with_shown(table, j, before)
        else:
            number = _highest_number(table, j) if highest is None else int(highest[j])
            found[j] = range(max(number + 1, int(least[j]), len(before), 1))
    sizes = {j: categories.stop for j, categories in found.items() if isinstance(categories, range)}
    if sum(sizes.values()) > MOST_CATEGORIES:
        most = max(sizes, key=lambda j: sizes[j])
        raise ValueError(
            f"column {table.names[most]!r} holds the number {sizes[most] - 1} (or min_categories asks for it), and "
            f"CategoricalNB has a category for each number from 0 to the largest, at most {MOST_CATEGORIES} in all "
            "columns: number the values from 0 with scikit-learn's OrdinalEncoder, or use NaiveBayesClassifier with "
            "nb.Categorical(), whose categories are the values that occur"
        )
    return {j: tuple(categories) for j, categories in found.items()}


def _with_shown(table: Table, column: int, known: tuple) -> tuple:
    """The known categories of a column, and after them those that its type declares or its cells show."""
    shown = {value for value in table.values(column, slice(None)).tolist() if not is_missing(value)}
    more = table.declared_categories(column) or sorted(shown, key=lambda value: (type(value).__name__, value))
    return tuple(dict.fromkeys([*known, *more])) or (0,)


def _highest_number(table: Table, column: int) -> int:
    """The largest number of a column, -1 if all cells are missing."""
    numbers = table.numbers([column], slice(None))
    if np.isinf(numbers).any():
        raise ValueError(
            f"column {table.names[column]!r} holds an infinite number, and the categories of CategoricalNB are whole "
            "numbers from 0: mark the cell as missing (NaN), or give it a number"
        )
    return int(np.nanmax(numbers, initial=-1.0))


# --------------------------------------------------------------------------------------------------
# Naive Bayes for counts of independent events
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class PoissonNB(_WithClassPrior):
    """Naive Bayes for counts of independent events: each feature is Poisson, with a gamma prior on its rate.

    Parameters
    ----------
    prior : Poisson, optional
        The prior on the rates.
    fit_prior, class_prior, inference, predictive, feature_inclusion, unlabelled, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, class_log_prior_, n_features_in_
        As for `BernoulliNB`.
    rate_ : array of shape (n_classes, n_features)
        Posterior mean of the rates.

    See Also
    --------
    bayesnb.estimators.MultinomialNB : Count vectors.
    bayesnb.Poisson : Counts.

    Examples
    --------
    >>> from bayesnb.estimators import PoissonNB
    >>> X, y = [[1], [2], [7], [5]], ["a", "a", "b", "b"]
    >>> classifier = PoissonNB().fit(X, y)
    >>> classifier.rate_.round(2)
    array([[1.76],
           [5.74]])
    """

    _input_tags: ClassVar = {"positive_only": True}

    prior: Poisson | None = None
    feature_inclusion: Any = None

    def _read(self, X: Any, *, reset: bool) -> Table:
        X = read_numbers(self, X, reset=reset)
        check_non_negative(X, f"{type(self).__name__} (input X)")
        return named(self, X)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = Poisson() if self.prior is None else self.prior
        if not isinstance(family, Poisson):
            raise TypeError(f"prior is {family!r}: give nb.Poisson(...)")
        fractional = replace(family, fractional=True)
        return NaiveBayes(fractional, class_probs=self._class_probs(), feature_inclusion=self.feature_inclusion)

    def _note(self, problem: Problem) -> None:
        super()._note(problem)
        family: Any = problem.resolved.families[0]
        self.rate_ = family.update(problem.statistics.blocks[0]).mean()["rate"]


# --------------------------------------------------------------------------------------------------
# Naive Bayes for count vectors
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class MultinomialNB(_Counting, _Discrete):
    """Naive Bayes for count vectors, with scikit-learn's arguments and a posterior.

    The exact predictive of a document is Dirichlet-multinomial; ``predictive="plugin"`` gives scikit-learn's numbers,
    which are overconfident for long documents. Weights that are not counts (tf-idf) are accepted, as in scikit-learn.
    The result is then not a probability, and ``predictive="plugin"`` is the better choice: with ``alpha=0.01`` the
    exact formula loses 0.4 to 1.6 points of macro-F1 on tf-idf of three tables (docs/real-data.md).

    Parameters
    ----------
    alpha : float or array-like of shape (n_features,), default 1.0
        Concentration of the Dirichlet prior on each class's word probabilities.
    force_alpha, fit_prior, class_prior, inference, predictive, unlabelled, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, class_log_prior_, feature_count_, feature_log_prob_, n_features_in_
        As for `BernoulliNB`.

    See Also
    --------
    bayesnb.estimators.DirichletMultinomialNB : Count vectors in which words come in bursts.
    bayesnb.Multinomial : Count vectors.

    Examples
    --------
    >>> from bayesnb.estimators import MultinomialNB
    >>> X, y = [[9, 0, 1], [8, 1, 0], [0, 7, 2], [1, 0, 8]], ["a", "a", "b", "b"]
    >>> classifier = MultinomialNB().fit(X, y)
    >>> classifier.predict_proba([[1, 1, 0]]).round(3)
    array([[0.673, 0.327]])
    >>> MultinomialNB(predictive="plugin").fit(X, y).predict_proba([[1, 1, 0]]).round(3)
    array([[0.672, 0.328]])
    """

    _input_tags: ClassVar = {"allow_nan": False, "positive_only": True}

    def _read(self, X: Any, *, reset: bool) -> Table:
        return read_counts(self, X, reset=reset)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = Multinomial(self._concentration(), fractional=True)
        return NaiveBayes(family, class_probs=self._class_probs())

    @property
    def feature_log_prob_(self) -> np.ndarray:
        """Log of the smoothed share of each word in each class, shape (n_classes, n_features)."""
        smoothed = self._counted.total + self._alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))


# --------------------------------------------------------------------------------------------------
# Naive Bayes for count vectors in which words come in bursts
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
class DirichletMultinomialNB(_Counting):
    """Naive Bayes for count vectors in which words come in bursts: the Dirichlet compound multinomial.

    scikit-learn has no such estimator. In a pipeline of counts this one can replace `MultinomialNB`. Weights that are
    not counts (tf-idf) are accepted, as in scikit-learn; the result is then not a probability.

    Parameters
    ----------
    concentration, rate : float or array-like of shape (n_features,), default 1.5 and 0.1
        Gamma prior on each concentration.
    fit_prior, class_prior
        As for `BernoulliNB`.
    inference : {"map", "mle", "nuts"} or Inference, default "map"
        How to fit; there is no closed form. Maximum likelihood has an estimate only if the counts of every class vary
        more than a multinomial's. It gives a document probability zero in a class that never shows one of its words.
    unlabelled, decay
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
        Estimated concentrations; with ``inference="nuts"`` their posterior mean.
    n_features_in_ : int

    See Also
    --------
    bayesnb.estimators.MultinomialNB : Count vectors.
    bayesnb.DirichletMultinomial : Count vectors in which words come in bursts.

    Examples
    --------
    >>> from bayesnb.estimators import DirichletMultinomialNB
    >>> X, y = [[9, 0, 1], [8, 1, 0], [0, 7, 2], [1, 0, 8]], ["a", "a", "b", "b"]
    >>> classifier = DirichletMultinomialNB().fit(X, y)
    >>> classifier.predict([[3, 0, 0], [0, 1, 2]])
    array(['a', 'b'], dtype='<U1')
    """

    _input_tags: ClassVar = {"allow_nan": False, "positive_only": True}
    predictive: ClassVar[str] = "exact"  # type: ignore[misc]  # no parameter

    concentration: Any = 1.5
    rate: Any = 0.1
    inference: Any = "map"

    def _read(self, X: Any, *, reset: bool) -> Table:
        return read_counts(self, X, reset=reset)

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        family = DirichletMultinomial(self.concentration, self.rate, fractional=True)
        return NaiveBayes(family, class_probs=self._class_probs())

    def _note(self, problem: Problem) -> None:
        super()._note(problem)
        self.concentration_ = self.posterior_.mean()["x_concentration"]


# --------------------------------------------------------------------------------------------------
# Measurements
# --------------------------------------------------------------------------------------------------


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
