"""Any naive Bayes model as an estimator."""

from typing import Any

from bayesnb.estimators.base import Estimator
from bayesnb.estimators.read import read_mixed, without_new_columns
from bayesnb.families.base import Family
from bayesnb.model.naive_bayes import Model, NaiveBayes
from bayesnb.problem import Problem
from bayesnb.tables.sparse import SparseTable
from bayesnb.tables.supported import within_support
from bayesnb.tables.table import Table

__all__ = ["NaiveBayesClassifier"]


class NaiveBayesClassifier(Estimator):
    """Any naive Bayes model as an estimator; by default one whose families the labels choose.

    After the fit, columns of a data frame that the fit did not have are ignored, as `Posterior.predict` and
    scikit-learn's ``ColumnTransformer`` do. The columns of the fit must all be there, in their order.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family or None, default None
        The model. None chooses a family for each column by its evidence given the labels, as `NaiveBayes.from_frame`
        does, with its warning; the columns of a sparse matrix get a family by their type. `partial_fit` chooses by its
        first batch. Cells to predict that a chosen family cannot hold, such as a zero in a column of positive numbers,
        count as missing ones, with a warning. ``NaiveBayes.from_frame(X, y, families={...})`` is a model in which some
        families are given, and ``NaiveBayes.from_frame(X)`` one guessed from the types of the columns. `get_params` and
        `set_params` name the parameters of a model, such as ``model__island__concentration``, and those of one family
        for all columns, such as ``model__concentration``.
    inference, predictive, feature_inclusion, unlabelled, decay, random_state
        As for `BernoulliNB`.

    Attributes
    ----------
    posterior_, classes_, class_count_, n_features_in_, feature_names_in_
        As for `BernoulliNB`.
    model_ : BoundModel
        The model with all defaults replaced by the numbers used.

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
        model: Model | Family | None = None,
        *,
        inference: Any = "exact",
        predictive: str = "exact",
        feature_inclusion: Any = None,
        unlabelled: Any = None,
        decay: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.inference = inference
        self.predictive = predictive
        self.feature_inclusion = feature_inclusion
        self.unlabelled = unlabelled
        self.decay = decay
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool) -> Table:
        return read_mixed(self, X if reset else without_new_columns(self, X), reset=reset)

    def _model(self, table: Table, labels: Any, weight: Any) -> Model:
        model = self._given_model(table, labels, weight)
        return model if self.feature_inclusion is None else model.with_feature_inclusion(self.feature_inclusion)

    def _given_model(self, table: Table, labels: Any, weight: Any) -> Model:
        if self.model is None:
            if isinstance(table, SparseTable):
                return NaiveBayes.from_frame(table)
            return NaiveBayes.from_frame(table, labels, sample_weight=weight)
        if isinstance(self.model, Family):
            return NaiveBayes(self.model)
        if not isinstance(self.model, Model):
            raise TypeError(f"model is {self.model!r}: give nb.NaiveBayes(...), a family, or None for a choice")
        return self.model

    def _check_table(self, X: Any) -> Table:
        table = super()._check_table(X)
        if self.model is not None or isinstance(table, SparseTable):
            return table
        numbers = [block for block in self.model_.blocks if block.family.cell == "number"]
        return within_support(table, {position: block.family for block in numbers for position in block.columns})

    def _note(self, problem: Problem) -> None:
        self.model_ = problem.resolved

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
