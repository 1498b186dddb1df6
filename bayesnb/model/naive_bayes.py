"""Naive Bayes as a user writes it: a description that can be bound to a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayesnb.core.checking import a_type
from bayesnb.data.read import GivenRows, read_rows
from bayesnb.data.tables import shortened
from bayesnb.families.family import Family
from bayesnb.model.bound import BoundModel, bound_to
from bayesnb.model.choose import choose_features, family_of_words, guess_features, open_columns
from bayesnb.model.describe import Description


class _NeedsTable:
    """An attribute of `BoundModel` that a description does not have; reading it raises an error."""

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        raise ValueError(
            "the model does not know its columns and classes yet: fit it, or bind it to a table with model.bind(X, y)"
        )


@dataclass(frozen=True, init=False, repr=False)
class NaiveBayes(Description):
    r"""Naive Bayes: a class, and features that are independent given the class.

    .. math::
        \pi \sim \mathrm{Dirichlet}(a), \quad
        \theta_{cj} \sim \mathrm{prior}_j, \quad
        y_i \mid \pi \sim \mathrm{Categorical}(\pi), \quad
        x_{ij} \mid y_i = c \sim \mathrm{Family}_j(\theta_{cj})

    A description of a model. It has no table and never changes. `dataclasses.replace` gives one with other parameters,
    and `bind` gives the model of a table.

    Parameters
    ----------
    features : Family or mapping
        One family for every column; or a mapping from column name (or position) to family; or from block name to
        ``(family, columns)``, where columns is a list of names or positions, or a slice of positions. Columns that a
        mapping does not name are left out of the model. A feature may describe columns that earlier ones describe:
        `weight_features` takes such a model, and learns how much each of its features counts. A fit without weights
        would count these columns twice, and is refused.
    class_concentration : float or array of shape (classes,), default 1.0
        Concentration of the Dirichlet prior on the class probabilities, classes in sorted order.
    class_probs : array of shape (classes,), mapping from label to probability, or "empirical", optional
        Class probabilities where they are known; ``"empirical"`` takes the frequencies of the data as known.
    feature_inclusion : float, array of shape (features,), or mapping from feature to float, optional
        Prior probability that a feature depends on the class at all; with one minus it, all classes share the feature's
        parameters. A fit then averages over all subsets of the features (`AveragedPosterior`). Features are columns, in
        the order of the table, and a block that is one observation is one. By default all depend on the class.
    outside_is_missing : collection of columns, default ()
        Columns of numbers in which a cell to predict, or of a later batch, counts as missing, with a warning, if the
        family cannot hold it, such as a zero in a column of positive numbers. In other columns, and in the rows of the
        first fit, such a cell is an error.
        `from_frame` names the columns whose families it takes, since the user may not expect these.
    number_forms : mapping from column to NumberForm, optional
        Columns of text that are read as numbers, and how these are written; `from_frame` finds them.

    Raises
    ------
    TypeError, ValueError
        If a feature is not a family, the class prior is not valid, or an inclusion is not a
        probability.

    See Also
    --------
    fit : Fit a table in memory.
    BoundModel : A model with the columns and classes of a table.
    choose_families : A family for each column, by the evidence.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.NaiveBayes({"votes": nb.Bernoulli(), "island": nb.Categorical(concentration=0.5)})
    NaiveBayes, features independent given the class:
      class_prob ~ Dirichlet(1)
      y ~ Categorical(class_prob)
      votes ~ Bernoulli(prob)
          prob ~ Beta(1, 1)
      island ~ Categorical(prob)
          prob ~ Dirichlet(0.5)
    """

    if not TYPE_CHECKING:
        # A type checker sees none of these attributes.
        blocks = class_prior = draw_prior = families = schema = simulate = sites = statistics = _NeedsTable()

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        y: Any = None,
        *,
        exclude: Sequence[Any] = (),
        families: Mapping[Any, Family] | None = None,
        sample_weight: Any = None,
        decimal: str | None = None,
        **class_prior: Any,
    ) -> Self:
        """Choose a family for each column by its evidence given labels, or guess it from the column's type.

        Without labels, booleans and columns of only 0 and 1 become `Bernoulli`, other numbers `Gaussian`, text
        and categoricals `Categorical`. A sparse matrix of counts is one block of count vectors, `Multinomial`:
        whole numbers from zero, of an integer type or some above 1; so is one of weights from 0 to 1, such as
        tf-idf. With labels, the family of numbers is the one with the highest evidence, as `choose_families`
        computes it. The model's repr shows the families.

        Parameters
        ----------
        frame : table, shape (rows, columns)
        y : labels of shape (rows,) or str, optional
            A text is the name of the label's column in the frame, which is then no feature. Rows whose label is missing
            do not count.
        exclude : sequence, optional
            Columns to leave out, such as a row identifier.
        families : mapping from column to Family, optional
            Families of columns that are not guessed or chosen.
        sample_weight : array, shape (rows,), optional
            Weights of the rows; they need labels.
        decimal : ``"."`` or ``","``, optional
            The decimal sign of numbers that are written as text; by default that with which more cells of a column are
            numbers.
        **class_prior
            `class_concentration` or `class_probs`, as for `NaiveBayes`.

        Raises
        ------
        TypeError
            If a column holds neither numbers nor categories (lists), or `families` gives something else than a family.
        ValueError
            If `exclude` or `families` names a column that is not there, or both name the same one; if there is not one
            label and one weight for each row, or weights come without labels.

        Warns
        -----
        UserWarning
            If some families probably mislead. One warning lists the columns of each kind with what to write instead:
            numbers of which more than half are equal, if the family is a density; text that holds "?"; without labels,
            whole numbers of at most 20 values. Dates and times, text without an observed cell, and text of which more
            than half of the values are distinct are left out of the model, and the warning says so. Columns with fewer
            than 20 observed cells are only searched for "?".

        Notes
        -----
        Text of which more than half of the values are distinct, and at least 90 % of these are numbers ("171.3",
        "12.5%", "$4.20", "1,163.4", "171,3"), is read as numbers; the warning shows cells that are no numbers and count
        as missing. The model keeps the form of the numbers for later rows. Text with a leading zero, such as "02134",
        stays text. Where a comma may be the decimal sign or separate thousands ("1,163"), the column is left out unless
        `decimal` says which.

        Families that the labels choose depend on the data to which the model is then fitted. Its evidence is too high,
        by at most the log of the number of candidates for each column; see `choose_families`.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> cells = {"fare": [7.2, 71.3, 8.0, 53.1], "pclass": [3, 1, 3, 1], "sex": list("mffm")}
        >>> tickets = pd.DataFrame(cells)
        >>> nb.NaiveBayes.from_frame(tickets, families={"pclass": nb.Categorical()})
        NaiveBayes, features independent given the class:
          class_prob ~ Dirichlet(1)
          y ~ Categorical(class_prob)
          fare ~ Normal(mean, variance)
              mean ~ Normal(on the data's scale, variance / 0.1)
              variance ~ InverseGamma(1, on the data's scale)
          pclass, sex ~ Categorical(prob)
              prob ~ Dirichlet(1)

        With labels, skewed waiting times are log-normal:

        >>> import numpy as np
        >>> minutes, late = np.exp(np.linspace(-3, 3, 40)), ["no", "no", "no", "yes"] * 10
        >>> waits = pd.DataFrame({"minutes": minutes, "late": late})
        >>> nb.NaiveBayes.from_frame(waits, "late")
        NaiveBayes, features independent given the class:
          class_prob ~ Dirichlet(1)
          y ~ Categorical(class_prob)
          minutes ~ LogNormal(mean and variance of the logarithm)
              mean ~ Normal(on the data's scale, variance / 0.1)
              variance ~ InverseGamma(1, on the data's scale)
        """
        if y is None and sample_weight is not None:
            raise ValueError(
                "sample_weight is given without y: families are chosen by labels and weights, and guessed by the types "
                "of the columns; give y, or leave the weights out"
            )
        given = read_rows(frame, y, sample_weight)
        columns = open_columns(given.table, exclude, families, decimal)
        of_words = family_of_words(columns)
        if of_words is not None:
            return cls(of_words, **class_prior)
        guessed = given.labels is None
        features = guess_features(columns) if guessed else choose_features(columns, given.of_classes(may_miss=True))
        return cls(features, outside_is_missing=columns.open_names, number_forms=columns.forms, **class_prior)

    def bind(self, X: Any, y: Any = None, *, classes: Any = None) -> BoundModel:
        """The model of a table: the description with the table's columns, classes and categories.

        Hyperparameters that follow the data get the numbers that a fit to this table would use. A fit of the result
        takes them anew from its own rows. ``class_probs="empirical"`` stays without numbers until a fit.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels of shape (rows,) or str, optional if `classes` is given
            Missing labels name no class.
        classes : sequence, optional
            All labels that may occur, in the order of the results.

        Returns
        -------
        BoundModel
            The model with the categories of this table. A fit of a bound model, and updates of that fit, count another
            value as a missing cell.

        Raises
        ------
        TypeError, ValueError
            If the table lacks a column of the model, or a hyperparameter has another number of classes, columns or
            categories; or as for a fit, where hyperparameters follow the data.
        """
        rows = read_rows(X, y, features=self.features)
        bound = bound_to(self, rows, classes)
        if not len(rows) or bound.open_hyperparameter() is None:
            return bound
        # Rows without a label count for the scale of the columns, in any class.
        codes = np.maximum(rows.of_classes(bound.schema.classes, may_miss=True).codes, 0)
        resolved = bound.resolve(bound.read(rows.table).count(codes).statistics)
        return replace(bound, blocks=resolved.blocks, numbers=replace(self, features=resolved.features))

    def program(self, X: Any = None, y: Any = None, *, num_rows: int | None = None, total_count: Any = None) -> None:
        """The row-level NumPyro program of the model bound to X and y; see `BoundModel.program`.

        Raises
        ------
        ValueError
            If X and y are not both given.
        """
        if X is None or y is None:
            raise ValueError(
                "the model does not know its columns and classes yet: run the program with X and y, or take it from a "
                "bound model, model.bind(X, y).program, or from a fit, posterior.model.program"
            )
        self.bind(X, y).program(X, y, num_rows=num_rows, total_count=total_count)


Model = NaiveBayes | BoundModel
"""What is fitted: a description, or the model of a table."""


def read_for(model: Model, X: Any, y: Any, sample_weight: Any = None, feature_names: Any = None) -> GivenRows:
    """The rows to which a model is fitted; parameters and errors as for `bayesnb.data.read.read_rows`.

    Raises
    ------
    ValueError
        If names are given, and the model is bound to a table without names, so that names would be lost.
    """
    if feature_names is not None and isinstance(model, BoundModel) and not model.schema.named:
        raise ValueError(
            "feature_names is given, and the model is bound to a table without names: fit model.description, which "
            "takes the columns of X with their names"
        )
    return read_rows(X, y, sample_weight, model.features, feature_names).counting()


def as_model(model: Any) -> Model:
    """The model asked for; a family alone means the model that has it in every column.

    Raises
    ------
    TypeError
        If it is neither a model nor a family.
    """
    if isinstance(model, Family):
        return NaiveBayes(model)
    if isinstance(model, type) and issubclass(model, Family | Model):
        raise TypeError(f"model is the class {model.__name__}: write nb.{model.__name__}(), with its arguments")
    if not isinstance(model, Model):
        raise TypeError(
            f"model is {shortened(model)}, {a_type(model)}: give nb.NaiveBayes(...) or a family such as nb.Bernoulli()"
        )
    if isinstance(model, BoundModel) and model.numbers is not None:
        return model.of(model.description, model.schema, model.layout)
    return model
