"""Any naive Bayes model as an estimator."""

from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesnb.core.cells import OutsideSupport, warn_unseen
from bayesnb.core.checking import known_probabilities, whole_number
from bayesnb.data.elsewhere import is_elsewhere, is_long_on_device, sample_elsewhere
from bayesnb.data.labels import warn_of_absent_classes, warn_of_classes
from bayesnb.data.read import Rows, as_table, check_weights, read_rows, split_labels, with_names
from bayesnb.data.tables import SparseTable, Table, distinct
from bayesnb.estimators.checked_input import check_classes, check_labels, read_mixed, with_fitted_columns
from bayesnb.estimators.estimator import Estimator
from bayesnb.estimators.kept_rows import KeptRows, with_all_rows
from bayesnb.families.family import Family
from bayesnb.inference.exact import Exact
from bayesnb.inference.fit import fit
from bayesnb.inference.sources import read_elsewhere
from bayesnb.model.naive_bayes import Model, NaiveBayes, as_model, read_for
from bayesnb.model.problem import Problem, count_and_grow
from bayesnb.posterior.belief import offers
from bayesnb.posterior.importance import importances_of_some
from bayesnb.posterior.lazy_predictions import gives_table
from bayesnb.posterior.left_out import DensityError
from bayesnb.posterior.weighted_posterior import with_weights_of
from bayesnb.selection.descriptions import propose_descriptions
from bayesnb.selection.information import information_estimate
from bayesnb.selection.readings import READINGS, dates_to_read, require_readings
from bayesnb.selection.weighing import MOST_FEATURES, weigh_rows, weighted_or_plain


@dataclass(eq=False, repr=False, kw_only=True)
class NaiveBayesClassifier(Estimator):
    """Any naive Bayes model as an estimator; by default one whose families the labels choose.

    After the fit, columns of a data frame are found by name, in any order, and those that the fit did not have are
    ignored, as `Posterior.predict` and scikit-learn's ``ColumnTransformer`` do. All columns of the fit must be there.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family or None, default None
        The model. None chooses a family for each column by its evidence given the labels, as `NaiveBayes.from_frame`
        does, with its warning; a sparse matrix of counts is `Multinomial`, and other columns of a sparse matrix get a
        family by their type. `partial_fit` chooses anew by the rows that it keeps. Cells to predict that a chosen
        family cannot hold, such as a zero in a column of positive numbers, count as missing ones, with a warning.
        ``NaiveBayes.from_frame(X, y, families={...})`` is a model in which some families are given, and
        ``NaiveBayes.from_frame(X)`` one guessed from the types of the columns. `get_params` and `set_params` name the
        parameters of a model, such as ``model__island__concentration``, and those of one family for all columns, such
        as ``model__concentration``.
    inference : "exact", "nuts", "gibbs", "map", "mle", "em" or Inference, default "exact"
        How the model is fitted; `bayesnb.NUTS` and others take settings.
    predictive : "exact" or "plugin", default "exact"
        Average the predictions over the posterior, or use its mean as the parameters.
    feature_inclusion : float, array-like of shape (n_features,) or mapping, optional
        Prior probability that a feature depends on the class; the predictions are then averaged exactly over all
        subsets of the features (`AveragedPosterior`). None, the default: every feature does.
    feature_weights : {"auto", "each", "shared"} or None, default "auto"
        Whether to learn a weight for each feature ("each"), or one that all share ("shared"), as
        `bayesnb.weight_features` does, so that dependent features do not make the probabilities overconfident. "auto"
        learns a weight for each feature where it can. With more than 2,000 features it learns a shared weight, of all
        features or of an average over subsets of them (`feature_inclusion` .5, .1 or .01), whichever explains the
        labels best given the other rows, and a warning says which. It says nothing where it learns no weights: with one
        class, rows without a label, another inference than a closed form, ``predictive="plugin"``, weights of rows
        beside `feature_inclusion`, or densities that are zero or infinite. "each" and "shared" are errors there, but
        take draws too; so is "each" with more than 2,000 features. None is naive Bayes. `weights_` has the weights.
    descriptions : {"auto", "columns"} or None, default "auto"
        Whether to describe columns once more, where the model is chosen and features get a weight each, as
        `bayesnb.propose_descriptions` does. "auto" describes columns that depend on each other as blocks of
        measurements, and as categories or bins of a column given another one, and adds readings: which cells are
        missing, whole numbers and text as categories, and the day, month, weekday and hour of dates. "columns" adds no
        readings, and None describes each column once.
    exclude : sequence of str, default ()
        Readings that "auto" leaves out for all columns: "x is missing", "x as categories", "x day", "x month",
        "x weekday" or "x hour". Leave out "x is missing" where the rows to predict have their gaps for other reasons
        than the rows of the fit: probabilities are then worse with it.
    class_probs : array-like of shape (n_classes,), mapping from label to probability, "empirical" or None, default None
        Class probabilities where they are known, such as those of the population that the rows do not represent; in
        place of the model's. Weights are then learned under the class frequencies of the rows, and the odds multiplied
        by given / rows. An array has the order of `classes_`. None leaves them to the model.
    keep_rows : int, default 2000
        Rows that `partial_fit` keeps at most, with their labels: a random sample of all rows so far. Families, bins,
        priors and weights of features are learned from it. The estimator, its pickle and its file hold these rows;
        `save` can leave them out. With zero, families and bins are those of the first batch, and weights of features
        learn on from batch to batch, as after `fit`, which keeps no rows. Of tables of more than 1,000 columns fewer
        are kept, two million cells.
    unlabelled : scalar, optional
        The value in `y` of rows without a label, such as -1 or NaN. `fit` uses these rows too, with "map", "mle" (both
        by EM), "gibbs" or "nuts". `classes_` does not hold the value. None, the default: every row has a label.
    decay : float, default 1.0
        Factor for the weight of all earlier rows at each call of `partial_fit` after the first; above 0, at most 1.
    random_state : int, RandomState instance or None, default None
        Seed of draws; None means the seed 0.

    Attributes
    ----------
    posterior_ : Posterior
        What `bayesnb.check`, `bayesnb.calibration` and the plots take; they take the estimator too.
    classes_, class_count_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if the columns of the table have names.
    model_ : BoundModel
        The model with all defaults replaced by the numbers used.
    weights_ : pandas.DataFrame
        The weight of each feature, as `WeightedPosterior.weights`; only if weights were learned.
    feature_importances_ : array of shape (columns,)
        The mean absolute log odds in nats that each column adds, all its descriptions and readings together, and zero
        for columns left out: over the rows of the fit, each left out (2,000 without a weight for each feature), and
        after `partial_fit` those that are kept. Pairs of classes count by their probabilities. What several columns
        say as one observation counts for each in equal parts. Not for words of count vectors.

    See Also
    --------
    bayesnb.NaiveBayes : The description of a model.
    bayesnb.propose_descriptions : The same further descriptions and readings, for `bayesnb.weight_features`.
    bayesnb.fit : Fit a table in memory.
    bayesnb.estimators.GaussianNB : Numbers.

    Notes
    -----
    Readings change the log score little on most tables, and much where gaps, dates or codes tell of the class: in five
    folds by .203 ± .013 nats a row where hours of work are missing for those without work (acs12), .299 ± .014 of
    weather by its date (.203 ± .033 for the last fifth in time), and .090 ± .017 by the numbers of patients, but
    .010 ± .015 for new patients. On permuted labels they change it by .0001 at most. Where they explain the labels no
    better, they leave the model.

    Examples
    --------
    >>> import pandas as pd
    >>> from bayesnb.estimators import NaiveBayesClassifier
    >>> X = pd.DataFrame({"size": [1.0, 2.0, None, 4.0], "colour": ["red", None, "blue", "blue"]})
    >>> NaiveBayesClassifier().fit(X, [0, 0, 1, 1]).predict(X).tolist()
    [0, 0, 1, 1]
    """

    _input_tags: ClassVar = {"categorical": True, "string": True}

    model: Model | Family | None = field(default=None, kw_only=False)
    feature_inclusion: Any = None
    feature_weights: str | None = "auto"
    descriptions: str | None = "auto"
    exclude: Any = ()
    class_probs: Any = None
    keep_rows: int = 2000

    _kept = None
    """The rows that `partial_fit` keeps; not a field, so that it is no parameter."""

    _importances = cast("np.ndarray | None", None)

    @property
    def weights_(self) -> Any:
        """The weight of each feature."""
        check_is_fitted(self)
        if self.posterior_.feature_weights is None:
            raise AttributeError(
                f'no weights of features were learned, with feature_weights={self.feature_weights!r}: give "each", '
                "which says why where none can be learned"
            )
        return self.posterior_.weights

    @property
    def feature_importances_(self) -> np.ndarray:
        """The mean absolute log odds of each column in nats, shape (columns,)."""
        check_is_fitted(self)
        if self._importances is None:
            raise AttributeError(
                "feature_importances_ needs a closed form with positive densities, and rows that it can leave out: "
                "there is none for draws and points without weights of features, for words of count vectors, after "
                "with_class_probs, and after partial_fit or forget without kept rows. Fit all rows, or give rows, "
                "nb.effects(classifier, X)"
            )
        return self._importances

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, feature_names: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Or a lazy table, as for `bayesnb.fit`, whose engine computes the statistics; a Dask array or data frame,
            whose statistics are counted partition by partition; or a JAX array on a GPU. Each row has a label. Families
            are chosen, and weights of features learned, by 10,000 rows, drawn at random while the table is read
            (`random_state`). Cells that a chosen family cannot hold count as missing.
        y : array-like of shape (n_samples,)
            Labels; the parameter `unlabelled` is the value of rows that have none. Of a lazy table the name of the
            label's column; of a Dask table that, or a Dask collection in the same partitions.
        sample_weight : array-like of shape (n_samples,), optional
            Of a lazy table the name of a column; of a Dask table a Dask collection in the same partitions.
        feature_names : array-like of shape (n_features,), optional
            As for `BernoulliNB`.

        Returns
        -------
        self
        """
        of_device = self.unlabelled is None and is_long_on_device(X)
        if not (of_device or is_elsewhere(X, y)):
            return super().fit(X, y, sample_weight, feature_names=feature_names)
        with self._all_or_nothing():
            self._kept = None
            rows, given, weight = sample_elsewhere(X, y, sample_weight, self._key())
            table = with_names(self._read(rows, reset=True), feature_names)
            labels = check_labels(given, table.num_rows).data
            self._check_weighing()
            model, check = self._model(table, labels, weight), self._inference().check
            problem = read_elsewhere(model, X, y, sample_weight, None, check, feature_names)
            self.classes_ = check_classes(problem.model.schema.classes, self.unlabelled)
            warn_of_classes(self.classes_)
            self._settle(problem)
            self._learn_from_rows(read_for(model, table, labels, weight).of_classes(self.classes_))
        return self

    def with_class_probs(self, class_probs: Any) -> Self:
        """The fitted classifier for another population, in which the classes have known probabilities.

        Parameters
        ----------
        class_probs : mapping or pandas.Series from label to probability, or array-like of shape (n_classes,)
            As for `Posterior.with_class_probs`.

        Returns
        -------
        NaiveBayesClassifier
            A fitted classifier of the same rows with this parameter `class_probs`, which `partial_fit` and `forget`
            keep. This one is unchanged.

        Raises
        ------
        NotFittedError
            If the classifier is not fitted.
        TypeError, ValueError
            As for `Posterior.with_class_probs`.

        Examples
        --------
        >>> from bayesnb.estimators import NaiveBayesClassifier
        >>> classifier = NaiveBayesClassifier().fit([[1], [1], [0], [0]], ["ill", "ill", "well", "well"])
        >>> classifier.with_class_probs({"ill": 0.05, "well": 0.95}).predict([[1]]).tolist()
        ['well']
        """
        check_is_fitted(self)
        posterior = self.posterior_.with_class_probs(class_probs)
        problem = self._problem.with_class_probs(posterior.class_probs())
        other = copy(self)
        fitted = {"posterior_": posterior, "_problem": problem, "model_": problem.resolved}
        fitted |= {"_label_scores": None, "_importances": None}
        other.__dict__.update(class_probs=known_probabilities(class_probs), **fitted)
        return other

    def _begin(self, table: Table, labels: np.ndarray, weight: Any) -> None:
        self._start(table, labels, weight)
        if self.keep_rows:
            schema = self.model_.schema
            reads = frozenset(schema.sources[position] for own in self.model_.layout for position in own)
            none = KeptRows(table.names, table.named, None if self.model is None else reads)
            weights = check_weights(weight, table.num_rows)
            kept = none.add(table, labels, weights, self.decay, self.keep_rows, self._key())
            self._kept = replace(kept, learned=self.class_count_)
        elif self.posterior_.feature_weights is not None:
            warn_of_absent_classes(self.classes_, labels)

    def _add(self, table: Table, labels: np.ndarray, weight: Any) -> None:
        # The model so far rejects cells of a wrong type; the sample alone might read them as another kind of column.
        rows = read_rows(table, labels, weight).counting().of_classes(self.classes_)
        problem, counted = count_and_grow(self._problem, rows)
        problem = problem.add(counted.statistics, decay=self.decay)
        before, kept = self.posterior_, self._kept if whole_number("keep_rows", self.keep_rows, or_zero=True) else None
        if kept is not None:
            kept = kept.add(table, labels, rows.weights, self.decay, self.keep_rows, self._key())
            # While all rows are kept, no cell counts as missing just because the family was chosen before it came.
            outside = kept.whole and any(isinstance(key, OutsideSupport) for key in counted.unseen)
            if outside or kept.is_due(problem.statistics.classes.n):
                if not kept.whole:
                    warn_unseen(counted.unseen)
                self._learn_anew(kept, problem)
                return
        warn_unseen(counted.unseen)
        self._settle(problem)
        if kept is None and before.feature_weights is not None:
            before = before.learned(table, labels, sample_weight=weight, key=self._key())
        self.posterior_ = with_weights_of(before, self.posterior_)
        if kept is None:
            self._label_scores = self._importances = None
        self._kept = kept

    def _take_away(self, table: Table, labels: np.ndarray, weight: Any) -> None:
        before = self.posterior_
        if self._kept is not None:
            rows = table, labels, check_weights(weight, table.num_rows)
            kept = self._kept.sample_without(*rows)
            if len(kept):
                self._learn_anew(kept, self._problem, rows)
                return
            problem = self._problem.described_once
            problem, kept = with_all_rows(problem, problem, kept, rows)
            self._settle(problem)
            self._label_scores = self._importances = None
            self._kept = replace(kept, learned=0.0 * self.class_count_)
            return
        super()._take_away(table, labels, weight)
        self._importances = None
        self.posterior_ = with_weights_of(before, self.posterior_)

    def _learn_anew(self, kept: KeptRows, problem: Problem, away: Any = None) -> None:
        """Choose the model, and learn weights, from the rows that are kept.

        `problem` has all rows under the model so far, `away` the table, labels and weights of rows that are taken away.
        """
        self._start(kept.table, kept.labels, kept.counting)
        if not kept.whole:
            learned = self.posterior_
            problem, kept = with_all_rows(problem, self._problem, kept, away)
            self._settle(problem)
            self.posterior_ = with_weights_of(learned, self.posterior_)
        self._kept = replace(kept, learned=self.class_count_)

    def _start(self, table: Table, labels: np.ndarray, sample_weight: Any) -> None:
        self._check_weighing()
        self._kept = None
        super()._start(table, labels, sample_weight)

    def _learn_from_rows(self, rows: Rows) -> None:
        if self.feature_weights in ("each", "shared"):
            self.posterior_ = weigh_rows(self.posterior_, rows, self._key(), shared=self.feature_weights == "shared")
        elif self._may_weigh(all_labelled=bool((rows.codes >= 0).all())):
            self.posterior_ = weighted_or_plain(self.posterior_, rows, self._key())
            # With many features it may be an average over subsets, to which later rows are added.
            self._problem = self.posterior_.problem
            self._note(self._problem)
        if self.posterior_.feature_weights is None:
            if self.model is not None:
                self._problem.model.require_one_description("an estimator without feature_weights")
            elif self._problem.model.schema.derived:
                self._settle(self._problem.described_once)
            super()._learn_from_rows(rows)
        else:
            self._label_scores = self.posterior_.label_scores
        self._importances = getattr(self.posterior_, "importances", None)
        if self._importances is None and offers(self.posterior_.plain, "a closed form"):
            with suppress(DensityError):
                self._importances = importances_of_some(self.posterior_, rows, self._key())

    def _gives_table(self, X: Any, method: str) -> bool:
        return gives_table(X, method)

    def _may_weigh(self, *, all_labelled: bool) -> bool:
        """Whether weights are learned, where they can be."""
        exact = self.predictive == "exact" and isinstance(self._inference(), Exact)
        return self.feature_weights in ("auto", "each") and exact and all_labelled

    def _check_weighing(self) -> None:
        """Raise ValueError for parameters with which no weights can be learned."""
        whole_number("keep_rows", self.keep_rows, or_zero=True)
        if self.descriptions not in (None, "auto", "columns"):
            raise ValueError(f'descriptions={self.descriptions!r}: give "auto", "columns" or None')
        require_readings(self.exclude)
        asked = f"feature_weights={self.feature_weights!r}"
        if self.feature_weights not in (None, "auto", "each", "shared"):
            raise ValueError(f'{asked}: give "auto", "each", "shared" or None')
        if self.feature_weights in ("each", "shared") and self.predictive != "exact":
            raise ValueError(f'{asked} weighs the exact densities of features: use predictive="exact"')

    def _read(self, X: Any, *, reset: bool) -> Table:
        return read_mixed(self, X if reset else with_fitted_columns(self, X), reset=reset)

    def _model(self, table: Table, labels: Any, weight: Any) -> Model:
        model = self._given_model(table, labels, weight)
        if self.class_probs is not None:
            model = model.with_class_probs(self.class_probs)
        return model if self.feature_inclusion is None else model.with_feature_inclusion(self.feature_inclusion)

    def _given_model(self, table: Table, labels: Any, weight: Any) -> Model:
        if self.model is not None:
            return as_model(self.model)
        if isinstance(table, SparseTable):
            return NaiveBayes.from_frame(table)
        may_weigh = self._may_weigh(all_labelled=not np.ma.is_masked(labels))
        proposes = self.descriptions is not None and self.feature_inclusion is None and may_weigh
        if not proposes or len(distinct(labels)) < 2 or len(table.names) > MOST_FEATURES:
            return NaiveBayes.from_frame(table, labels, sample_weight=weight)
        exclude = self.exclude if self.descriptions == "auto" else READINGS
        chosen = NaiveBayes.from_frame(table, labels, exclude=dates_to_read(table, exclude), sample_weight=weight)
        return propose_descriptions(chosen, table, labels, exclude=exclude, sample_weight=weight, key=self._key())

    def _note(self, problem: Problem) -> None:
        self.model_ = problem.resolved


# --------------------------------------------------------------------------------------------------
# Mutual information as a score function for scikit-learn's feature selection
# --------------------------------------------------------------------------------------------------


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
    >>> from bayesnb.estimators import BernoulliNB, mutual_information_score
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = [[1, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 0]], ["a", "a", "b", "b"]
    >>> score = partial(mutual_information_score, model=nb.Bernoulli(), unit="bits")
    >>> score(X, y).round(2)
    array([0.67, 0.  , 0.  ])
    >>> make_pipeline(SelectKBest(score, k=1), BernoulliNB()).fit(X, y).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """
    X, y = split_labels(X, y)
    table = as_table(X)
    posterior = fit(NaiveBayes.from_frame(table) if model is None else model, table, y)
    scores = np.full(len(table.names), np.nan)
    columns = sorted(column for block in posterior.model.blocks for column in block.columns)
    scores[columns] = information_estimate(posterior, unit)
    return scores
