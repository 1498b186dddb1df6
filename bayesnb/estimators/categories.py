"""Estimators of 0/1 columns and of categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_non_negative

from bayesnb.core.checking import warn
from bayesnb.data.tables import ArrayTable, Table, is_missing
from bayesnb.estimators.base import named, read_mixed, read_numbers, refuse_infinity
from bayesnb.estimators.counts import Discrete, Smoothed
from bayesnb.families.categories import Bernoulli, Categorical
from bayesnb.families.statistics import Counts
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.problem import Problem, with_categories

__all__ = ["BernoulliNB", "CategoricalNB", "highest_numbers"]

# --------------------------------------------------------------------------------------------------
# Naive Bayes for 0/1 features
# --------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False, kw_only=True)
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


# --------------------------------------------------------------------------------------------------
# Naive Bayes for categories
# --------------------------------------------------------------------------------------------------

MOST_CATEGORIES = 2**24
"""Categories of all columns of numbers together; with more, a mistake is likelier than enough memory."""


@dataclass(eq=False, repr=False, kw_only=True)
class CategoricalNB(Discrete):
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
        if isinstance(table, ArrayTable) and table.cells.dtype.kind in "iuf":
            check_non_negative(table.cells, f"{type(self).__name__} (input X)")
            if table.cells.dtype.kind == "f":
                return replace(table, cells=_whole_numbers(table.cells))
        return table

    def _model(self, table: Table, labels: Any, weight: Any) -> NaiveBayes:
        minimum = self._check_min_categories()
        alpha = np.broadcast_to(self._concentration(), self.n_features_in_)
        highest = highest_numbers(table)
        found = {j: self._categories(table, j, int(minimum[j]), (), highest) for j in range(len(table.names))}
        features = {
            table.names[j]: Categorical(float(alpha[j]), categories=categories)
            for j, categories in _listed(found, table).items()
        }
        return NaiveBayes(features, class_probs=self._class_probs(), feature_inclusion=self.feature_inclusion)

    def _categories(
        self, table: Table, column: int, minimum: int, known: Sequence[Any], highest: np.ndarray | None
    ) -> range | tuple:
        """Categories of a column: 0, 1, ... for numbers; otherwise those declared or shown, after the known ones."""
        if highest is not None:
            return range(max(int(highest[column]) + 1, minimum, len(known), 1))
        values = table.values(column, slice(None))
        if table.kind(column) == "number":
            numbers = table.numbers([column], slice(None))
            if np.isinf(numbers).any():
                raise ValueError(
                    f"column {table.names[column]!r} holds an infinite number, and the categories of CategoricalNB are "
                    "whole numbers from 0: mark the cell as missing (NaN), or give it a number"
                )
            largest = int(np.nanmax(numbers, initial=-1.0)) if not np.isnan(numbers).all() else -1
            return range(max(largest + 1, minimum, len(known), 1))
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
        known = problem.model.schema.categories
        highest = highest_numbers(table)
        found = _listed({j: self._categories(table, j, 0, known[j], highest) for j in known}, table)
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


def _listed(found: Mapping[int, range | tuple], table: Table) -> dict[int, tuple]:
    """The categories of each column, one by one.

    Raises
    ------
    ValueError
        If the columns of numbers have too many.
    """
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


def highest_numbers(table: Table) -> np.ndarray | None:
    """Largest number of each column of an array of whole numbers, in one pass; None for any other table."""
    if not (isinstance(table, ArrayTable) and table.cells.dtype.kind in "iu"):
        return None
    array = table.cells
    # NumPy reduces few long rows faster than many short ones.
    width = 64 if array.flags.c_contiguous and len(array) >= 64 else 1
    long = array[: len(array) // width * width].reshape(-1, width * array.shape[1]).max(axis=0)
    return np.vstack([long.reshape(width, -1), array[len(array) // width * width :]]).max(axis=0)


def _whole_numbers(X: np.ndarray) -> np.ndarray:
    """Numbers cut to whole ones, as in scikit-learn, with a warning if one changes."""
    with np.errstate(invalid="ignore"):
        cut = np.trunc(X)
    lost = (cut != X) & ~np.isnan(X)
    if lost.any():
        row, column = (int(index[0]) for index in np.nonzero(lost))
        warn(
            f"column {column}, row {row}: {X[row, column]:g} is not a category and is cut to a whole number, as "
            "scikit-learn does; NaiveBayesClassifier reads measurements as such",
            UserWarning,
        )
    return cut


def _order(value: Any) -> tuple[str, Any]:
    """Sort key of categories of several types."""
    return type(value).__name__, value
