"""The base class of all estimators."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bayesnb.core.cells import lacks_columns
from bayesnb.core.checking import Params, listed, proportion, warns_once, with_params
from bayesnb.core.deferred import pd
from bayesnb.core.label_scores import NO_SCORES, LabelScores
from bayesnb.core.panels import yes_or_no
from bayesnb.data.labels import warn_of_classes
from bayesnb.data.lazy_table import is_lazy
from bayesnb.data.read import Rows, check_weights, one_row, with_names, with_one_row
from bayesnb.data.tables import ArrayTable, Table, distinct
from bayesnb.estimators.checked_input import check_classes, check_labels, in_memory
from bayesnb.families.conjugate import number_of_values
from bayesnb.inference.exact import Inference
from bayesnb.inference.fit import as_inference, problem_of
from bayesnb.model.naive_bayes import Model, read_for
from bayesnb.model.problem import Problem, count_more
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.files import save, scorer_bytes
from bayesnb.posterior.lazy_predictions import proba_in_memory
from bayesnb.posterior.left_out import DensityError
from bayesnb.posterior.posterior import Posterior
from bayesnb.posterior.prediction_sets import INSTEAD, scores_of_some


@dataclass(eq=False, repr=False, kw_only=True)
class Estimator(ClassifierMixin, BaseEstimator, Params, metaclass=ABCMeta):
    """A `NaiveBayes` model with scikit-learn's methods.

    A subclass defines how a table is read and which model is fitted to it. The fitted posterior is `posterior_`.
    """

    inference: Any = "exact"
    predictive: str = "exact"
    unlabelled: Any = None
    decay: float = 1.0
    random_state: Any = None

    _label_scores = cast("LabelScores | None", None)
    """Leave-one-out probabilities of labels; not a field, so that it is no parameter."""

    _input_tags: ClassVar[dict[str, bool]] = {}
    """Tags of scikit-learn that differ from those of other estimators."""

    @abstractmethod
    def _model(self, table: Table, labels: Any, weight: Any) -> Model:
        """The model to fit to a table, its labels and weights. `classes_` is already set."""

    @abstractmethod
    def _read(self, X: Any, *, reset: bool) -> Table:
        """Check a table, with scikit-learn's error messages.

        With `reset`, the number and the names of the columns are noted; without, they are compared with the noted ones.
        """

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator.

        Parameters
        ----------
        **params
            Values by the names of `get_params`. Models, families and inferences are never changed: the estimator gets
            a copy with the new values.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no parameter of that name. The error lists the valid ones.
        """
        return with_params(self, params, "")

    def _with_own_params(self, changes: Mapping[str, Any], name: str) -> Self:
        """The estimator itself, whose parameters change, as scikit-learn expects of estimators."""
        return super().set_params(**changes)

    def _note(self, problem: Problem) -> None:
        """Set the fitted attributes that the subclass adds."""

    def _extend(self, problem: Problem, table: Table) -> Problem:
        """The problem with the categories that another table adds."""
        return problem

    @warns_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, feature_names: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels; the parameter `unlabelled` is the value of rows that have none.
        sample_weight : array-like of shape (n_samples,), optional
        feature_names : array-like of shape (n_features,), or function that returns one, optional
            Names for the columns of an array or a sparse matrix, such as ``vectorizer.get_feature_names_out()``; in a
            pipeline the method itself, which is called after the vectorizer is fitted. `posterior_`, its summaries and
            its plots have them. `feature_names_in_` is set for tables with names only, as in scikit-learn.

        Returns
        -------
        self
        """
        with self._all_or_nothing():
            X = in_memory(X)
            self._require_y(y)
            table = with_names(self._read(X, reset=True), feature_names)
            labels = check_labels(y, table.num_rows, self.unlabelled)
            self.classes_ = distinct(labels.compressed() if labels.mask.any() else labels.data)
            warn_of_classes(self.classes_)
            self._start(table, labels if labels.mask.any() else labels.data, sample_weight)
        return self

    @warns_once
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, feature_names: Any = None
    ) -> Self:
        """Add a batch of rows. The result is that of one fit to all batches.

        `NaiveBayesClassifier` keeps a random sample of at most `keep_rows` rows, and learns again from it each time
        that the weight of all rows has grown by a quarter, or the class frequencies have moved by .05 (total
        variation). As long as the sample holds all rows, this is `fit`. Later families, bins, priors and weights of
        features come from the sample; columns that are described as before keep the statistics of all rows, and the
        statistics of the others are estimated from the sample. After `fit`, and with ``keep_rows=0``, families and bins
        stay, and weights of features learn on from each batch alone, which is predicted before it is added.

        With a `decay` below 1, each call first multiplies the weight of all earlier rows by `decay`. The result equals
        that of one fit with the weights ``decay**age``, where the age of a row is the number of later calls. The sample
        prefers later rows accordingly.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,)
            All labels that any batch may have; required at the first call.
        sample_weight : array-like of shape (n_samples,), optional
        feature_names : array-like of shape (n_features,), optional
            As for `fit`, at the first call; later ones, if given, must be the same.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the batch has a label that `classes` lacks, or a wrong value. The estimator is unchanged then.

        Warns
        -----
        UserWarning
            If weights of features learn from a batch alone that has no row of some class.
        """
        with self._all_or_nothing():
            first = self._announce(classes)
            X = in_memory(X)
            self._require_y(y)
            table = with_names(self._read(X, reset=first), feature_names)
            labels = self._every_label(y, table, "partial_fit")
            if first:
                self._begin(table, labels, sample_weight)
            else:
                fitted = self._problem.model.schema.source_columns
                if feature_names is not None and table.names != fitted:
                    raise ValueError(
                        f"feature_names has {listed(table.names)}, and the first batch had {listed(fitted)}: give the "
                        "same names, or none"
                    )
                self._add(table, labels, sample_weight)
        return self

    def _begin(self, table: Table, labels: np.ndarray, weight: Any) -> None:
        """Fit the first batch of `partial_fit`."""
        self._start(table, labels, weight)

    def _add(self, table: Table, labels: np.ndarray, weight: Any) -> None:
        """Fit a later batch, too."""
        problem, counted = count_more(self._extend(self._problem, table), table, labels, weight)
        self._settle(problem.add(counted, decay=self.decay))
        self._label_scores = None

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove rows that were fitted. The result equals that of one fit to the remaining rows.

        The classes and the categories of the removed rows stay known. `NaiveBayesClassifier` removes them from the rows
        that `partial_fit` keeps, too, and learns anew from what is left: while it keeps all rows, this is `fit` of the
        remaining rows, and categories are theirs. Beyond that, statistics that the sample estimated are estimated
        anew. Without kept rows, weights of features do not change. After an error or an interruption the estimator is
        as it was.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            The weight that the rows have now: their first weight, times `decay` for each later call of `partial_fit`.

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If the fitted data cannot have held these rows. The estimator is unchanged then.
        """
        check_is_fitted(self)
        with self._all_or_nothing():
            table = self.checked_table(X)
            self._require_y(y)
            labels = self._every_label(y, table, "forget")
            self._take_away(table, labels, sample_weight)
        return self

    def _take_away(self, table: Table, labels: np.ndarray, weight: Any) -> None:
        # A new category gets a count of zero, so that a row that has it is an error of `take_away`.
        problem, counted = count_more(self._extend(self._problem, table), table, labels, weight)
        self._settle(problem.take_away(counted))
        self._label_scores = None

    def predict(self, X: Any, *, loss: Any = None, confidence: float | None = None, abstain: Any = None) -> np.ndarray:
        """The most probable label of each row, or that of least expected loss.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        loss, confidence, abstain
            As for `Posterior.predict`: losses of decisions, or the probability below which to abstain.

        Returns
        -------
        array of shape (n_samples,)
            Of a lazy table, the table with the column ``prediction``, as for `Posterior.predict_proba`.
        """
        asked = {"loss": loss, "confidence": confidence, "abstain": abstain}
        given = {name: value for name, value in asked.items() if value is not None}
        if self._gives_table(X, "predict"):
            return self._with_columns(X, "predict", given)
        if given:
            return self._predictor().predict(self.checked_table(X), **given)
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predictive class probabilities, shape (n_samples, n_classes), columns in the order of `classes_`.

        Of a lazy table, the table with a column ``proba_<class>`` for each class, as for `Posterior.predict_proba`.
        """
        if self._gives_table(X, "predict_proba"):
            return self._with_columns(X, "predict_proba", {})
        return self._predictor().predict_proba(self.checked_table(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows in memory whose label is predicted, as of every classifier of scikit-learn."""
        return super().score(in_memory(X), y, sample_weight)

    def _gives_table(self, X: Any, method: str) -> bool:
        """Whether predictions are columns of a table that is computed later."""
        return is_lazy(X)

    def _with_columns(self, X: Any, method: str, options: Mapping[str, Any]) -> Any:
        """A lazy table with the columns of its predictions."""
        return getattr(self._predictor(), method)(X, **options)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of the predictive class probabilities, shape (n_samples, n_classes)."""
        return self._predictor().predict_log_proba(self.checked_table(X))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """Log density log p(x, y) of each row with each class, shape (n_samples, n_classes).

        It includes factors that all classes share, such as the multinomial coefficient, which scikit-learn leaves out.
        """
        return self._predictor().log_joint(self.checked_table(X))

    def predict_set(self, X: Any, coverage: float = 0.9, *, by_class: bool = False, empty: bool = False) -> np.ndarray:
        """A set of labels for each row that holds the true one with a given probability, on average over rows.

        The thresholds are those of the rows that weights of features were learned from, or of at most 2,000 rows of a
        fit without such weights, each predicted from the others. `partial_fit` and `forget` compute them from the rows
        that are kept, each time that the estimator learns anew.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        coverage, by_class, empty
            As for `Posterior.predict_set`.

        Returns
        -------
        array of bool, shape (n_samples, n_classes)
            Columns in the order of `classes_`.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError, ValueError
            If there is no exact leave-one-out (draws, point estimates, ``predictive="plugin"``, `var_smoothing`); after
            `partial_fit` or `forget` without kept rows; and after `with_class_probs`.

        Warns
        -----
        UserWarning
            If classes are in every set because there are too few rows.
        """
        predictor = require(self._predictor(), "a closed form", "predict_set", INSTEAD)
        if self._label_scores is None:
            raise ValueError(NO_SCORES)
        table = X if self._gives_table(X, "predict_proba") else self.checked_table(X)
        proba = proba_in_memory(predictor, table)
        return self._label_scores.sets(proba, self.classes_, coverage, by_class=by_class, empty=empty)

    def predict_interval(self, X: Any, *, prob: float = 0.89, num_draws: int | None = None) -> np.ndarray:
        """Credible interval of each class probability. With weights of features it reaches at least to the prediction.

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
        return self._posterior().proba_interval(self.checked_table(X), prob=prob, num_draws=num_draws, key=self._key())

    def explain(self, X_row: Any, class_: Any = None, against: Any = None, **options: Any) -> Any:
        """The log odds of two classes in a row, and what each feature contributes to them.

        Parameters
        ----------
        X_row : table of shape (n_samples, n_features), array or list of shape (n_features,), pandas.Series or mapping
            One row or many.
        class_, against : label, optional
        **options
            As for `Posterior.explain`.

        Returns
        -------
        pandas.DataFrame
            As that of `Posterior.explain`. The column ``log_odds`` of a row adds up to the difference of the two
            classes in `predict_log_proba`.
        """
        return self._predictor().explain(
            self.checked_table(one_row(self._by_name(in_memory(X_row)))), class_, against, **options
        )

    def to_datatree(self, X: Any = None, y: Any = None, **options: Any) -> Any:
        """The posterior as an ``xarray.DataTree`` for ArviZ; see `Posterior.to_datatree`."""
        return self._posterior().to_datatree(None if X is None else self.checked_table(X), y, **options)

    def save(self, path: Any, *, rows: bool = True, scorer: bool | None = None) -> None:
        """Write the fitted estimator to a file, which `bayesnb.load` reads.

        The file holds the posterior as `Posterior.save` writes it, the parameters and the fitted attributes, and no
        code.

        Parameters
        ----------
        path : path-like
        rows : bool, default True
            Whether to write the rows with their labels that `NaiveBayesClassifier.partial_fit` keeps. Without them the
            file holds sums and the sorted probabilities of labels that `predict_set` needs, and weights of features
            learn on from later batches alone.
        scorer : bool, optional
            As for `Posterior.save`. That of `BernoulliNB` takes cells of zero and one, and to that of `CategoricalNB`
            each cell that is no category of the fit is missing.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError
            If a parameter is no number, text, list, array, model, family or inference of bayesnb, or the estimator is
            a class of your own.
        ImportError, OSError
            As for `Posterior.save`.
        """
        check_is_fitted(self)
        name = type(self).__name__
        if type(self).__module__.partition(".")[0] != "bayesnb":
            raise TypeError(f"{name} is a class of your own, which load would not find: save posterior_, or pickle it")
        state = {key: value for key, value in vars(self).items() if key != "_kept" or yes_or_no("rows", rows)}
        try:
            save(path, {"estimator": name} | state, name, self._scorer_bytes(scorer))
        except TypeError as error:
            if state.get("_kept") is None or "KeptRows" not in str(error):
                raise
            raise TypeError(f"{error}; or leave out the rows that partial_fit keeps, save(path, rows=False)") from error

    def _scorer_bytes(self, asked: bool | None) -> bytes:
        """The flat form of what predicts, for a file."""
        return scorer_bytes(self._predictor(), asked, self._label_scores)

    def _start(self, table: Table, labels: np.ndarray, sample_weight: Any) -> None:
        proportion("decay", self.decay, or_one=True)
        if sample_weight is not None and not check_weights(sample_weight, len(labels)).any():
            raise ValueError("every sample_weight is zero, so that no row counts: give a row a weight above zero")
        model = self._model(table, labels, sample_weight)
        rows = read_for(model, table, labels, sample_weight).of_classes(self.classes_, may_miss=True)
        self._settle(problem_of(model, rows, self.classes_))
        self._learn_from_rows(rows)

    def _learn_from_rows(self, rows: Rows) -> None:
        """Learn what statistics do not hold: leave-one-out probabilities of labels, for `predict_set`."""
        scores, posterior = None, self._posterior()
        # Without a row, smoothed statistics are not those of the other rows.
        is_smoothed = self.posterior_.problem.statistics is not self._problem.statistics
        if offers(posterior, "a closed form") and not self._plugs_in and not is_smoothed:
            with suppress(DensityError):
                scores = scores_of_some(posterior, rows, self._key())
        self._label_scores = scores

    def _settle(self, problem: Problem) -> None:
        """Fit the problem and set the fitted attributes."""
        inference = self._inference()
        inference.check(problem)
        if problem.model.description.feature_inclusion is not None and self.predictive == "plugin":
            raise ValueError(
                'predictive="plugin" uses one model, and feature_inclusion averages over many: use '
                'predictive="exact", or leave feature_inclusion out'
            )
        self.posterior_: Any = inference.fit(self._smoothed(problem), key=self._key())
        self._problem = problem
        self.class_count_ = problem.statistics.classes.n.copy()
        self._note(problem)

    def _smoothed(self, problem: Problem) -> Problem:
        """The problem whose posterior is the fit."""
        return problem

    def _inference(self) -> Inference:
        return as_inference(self.inference)

    def _key(self) -> int:
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _posterior(self) -> Any:
        check_is_fitted(self)
        return self.posterior_

    @property
    def _plugs_in(self) -> bool:
        """Whether the mean of the posterior predicts, as a point, in its place."""
        posterior = self._posterior()
        if self.predictive == "exact" or not hasattr(posterior, "plugin"):
            return False
        if self.predictive != "plugin":
            raise ValueError(f'predictive is {self.predictive!r}: give "exact" or "plugin"')
        # A posterior of few values predicts as its mean does, but its mean might round to 0 or 1.
        return not (
            offers(posterior, "the closed form of one model") and all(map(number_of_values, posterior.families))
        )

    def _predictor(self) -> Posterior:
        """The posterior that predicts: the fitted one, or its mean as a point."""
        posterior: Any = self._posterior()
        return posterior.plugin() if self._plugs_in else posterior

    def checked_table(self, X: Any) -> Table:
        """A table as the fitted estimator reads it, for its posterior.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        Table

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        TypeError, ValueError
            If it is not a table of the columns of the fit.
        """
        check_is_fitted(self)
        return self._read(self._by_name(in_memory(X)), reset=False)

    def _by_name(self, X: Any) -> Any:
        """A mapping or a series as a table of one row with the columns of the fit; other tables as they are.

        Raises
        ------
        ValueError
            If it lacks a column. A name that is written wrongly would else be a missing cell.
        """
        row, fitted = with_one_row(X), getattr(self, "feature_names_in_", None)
        if row is X or not isinstance(row, ArrayTable):
            return row
        if fitted is None:  # scikit-learn warns of names
            return pd.DataFrame(row.cells, columns=row.names).infer_objects()
        names = tuple(fitted.tolist())
        if missing := [name for name in names if name not in row.names]:
            raise lacks_columns(missing, {*row.names}.difference(names))
        return ArrayTable(row.cells[:, [row.names.index(name) for name in names]], names, named=True)

    def _require_y(self, y: Any) -> None:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if isinstance(y, str):
            raise TypeError(
                f"y is the text {y!r}: give an estimator the table and its labels apart, X.drop(columns=[{y!r}]) and "
                f"X[{y!r}]; nb.fit takes the name of the label's column"
            )

    def _every_label(self, y: Any, table: Table, verb: str) -> np.ndarray:
        """Labels without a missing one, as in all rows so far."""
        labels = check_labels(y, table.num_rows, self.unlabelled)
        if labels.mask.any():
            row = int(labels.mask.argmax())
            raise ValueError(
                f"{verb} takes rows with a label, and row {row} has none ({self.unlabelled!r}): leave such rows out, "
                "or give all rows to fit"
            )
        unknown = np.setdiff1d(distinct(labels.data), self.classes_)
        if unknown.size:
            raise ValueError(f"The target label(s) {unknown} in y do not exist in the initial classes {self.classes_}")
        if hasattr(self, "_problem"):
            self._problem.require_labels(verb, "give all rows to fit")
        return labels.data

    def _announce(self, classes: Any) -> bool:
        """Whether this is the first batch. If so, set `classes_`."""
        fitted = getattr(self, "classes_", None)
        if fitted is None and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if fitted is None:
            self.classes_ = check_classes(classes, self.unlabelled)
            return True
        if classes is not None and not np.array_equal(np.sort(np.asarray(classes)), fitted):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {fitted!r}")
        return False

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """After any error, restore the attributes that the estimator had before."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        for name, value in self._input_tags.items():
            setattr(tags.input_tags, name, value)
        tags.classifier_tags.poor_score = True
        return tags
