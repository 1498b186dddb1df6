"""Naive Bayes as a user writes it: a description that can be bound to a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel, bind
from bayesnb.model.describe import Description
from bayesnb.model.guess import guess_features
from bayesnb.model.program import refuse_subsets
from bayesnb.tables.named import with_names
from bayesnb.tables.objects import shortened

__all__ = ["Model", "NaiveBayes", "as_model", "named_for", "of_table"]


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
        mapping does not name are left out of the model.
    class_concentration : float or array of shape (classes,), default 1.0
        Concentration of the Dirichlet prior on the class probabilities, classes in sorted order.
    class_probs : array of shape (classes,), mapping from label to probability, or "empirical", optional
        Class probabilities where they are known; ``"empirical"`` takes the frequencies of the data as known.
    feature_inclusion : float, array of shape (features,), or mapping from feature to float, optional
        Prior probability that a feature depends on the class at all; with one minus it, all classes share the feature's
        parameters. A fit then averages over all subsets of the features (`AveragedPosterior`). Features are columns, in
        the order of the table, and a block that is one observation is one. By default all depend on the class.

    Raises
    ------
    TypeError, ValueError
        If a feature is not a family, a column is in two blocks, the class prior is not valid, or an inclusion is not a
        probability.

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
        *,
        exclude: Sequence[Any] = (),
        families: Mapping[Any, Family] | None = None,
        **class_prior: Any,
    ) -> Self:
        """Guess a family for each column from its type.

        Booleans and columns of only 0 and 1 become `Bernoulli`, other numbers `Gaussian`, text and categoricals
        `Categorical`. The model's repr shows the guess. `Poisson` is better for counts, which the type of a column does
        not distinguish from other integers.

        Parameters
        ----------
        frame : table, shape (rows, columns)
        exclude : sequence, optional
            Columns to leave out, such as the target or a row identifier.
        families : mapping from column to Family, optional
            Families of columns that are not guessed.
        **class_prior
            `class_concentration` or `class_probs`, as for `NaiveBayes`.

        Raises
        ------
        TypeError
            If a column holds neither numbers nor categories (dates, lists), or `families` gives something else than a
            family.
        ValueError
            If `exclude` or `families` names a column that is not there, or both name the same one.

        Warns
        -----
        UserWarning
            If the types of some columns probably mislead. One warning lists the columns of each kind with what to write
            instead: whole numbers of at most 20 values; other numbers of which more than half are equal; text of which
            more than half of the values are distinct; text that holds "?". Columns with fewer than 20 observed cells
            are only searched for "?".

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesnb as nb
        >>> tickets = pd.DataFrame({"fare": [7.2, 71.3, 8.0, 53.1], "pclass": [3, 1, 3, 1], "sex": list("mffm")})
        >>> nb.NaiveBayes.from_frame(tickets, families={"pclass": nb.Categorical()})
        NaiveBayes, features independent given the class:
          class_prob ~ Dirichlet(1)
          y ~ Categorical(class_prob)
          fare ~ Normal(mean, variance)
              mean ~ Normal(on the data's scale, variance / 0.1)
              variance ~ InverseGamma(1, on the data's scale)
          pclass, sex ~ Categorical(prob)
              prob ~ Dirichlet(1)
        """
        return cls(guess_features(frame, exclude, families), **class_prior)

    def bind(self, X: Any, y: Any = None, *, classes: Any = None) -> BoundModel:
        """The model of a table: the description with the table's columns, classes and categories.

        Hyperparameters that follow the data have no numbers until `fit`.

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
            categories.
        """
        return bind(self, X, y, classes)

    def program(self, X: Any = None, y: Any = None, *, num_rows: int | None = None, total_count: Any = None) -> None:
        """The row-level NumPyro program of the model bound to X and y; see `BoundModel.program`.

        Raises
        ------
        ValueError
            If X and y are not both given.
        """
        refuse_subsets(self.feature_inclusion)
        if X is None or y is None:
            raise ValueError(
                "the model does not know its columns and classes yet: run the program with X and y, or take it from a "
                "bound model, model.bind(X, y).program, or from a fit, posterior.model.program"
            )
        self.bind(X, y).program(X, y, num_rows=num_rows, total_count=total_count)

    @property
    def bound(self) -> bool:
        """Whether the model knows the columns, classes and categories of a table; a description does not."""
        return False


Model = NaiveBayes | BoundModel
"""What is fitted: a description, or the model of a table."""


def of_table(model: Model, X: Any, y: Any = None, classes: Any = None) -> BoundModel:
    """The model that a fit to a table conditions: a description is bound to the table, and a bound model stays bound.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str, optional
    classes : sequence or int, optional
        Labels that may occur, also for a bound model.
    """
    if isinstance(model, NaiveBayes):
        return model.bind(X, y, classes=classes)
    return model if classes is None else model.with_classes(classes)


def named_for(model: Model, X: Any, feature_names: Any) -> Any:
    """X with names for its columns, for a fit of the model; see `with_names`.

    Raises
    ------
    ValueError
        If the model is bound to a table without names, so that names would be lost.
    """
    if feature_names is not None and isinstance(model, BoundModel) and not model.schema.named:
        raise ValueError(
            "feature_names is given, and the model is bound to a table without names: fit model.description, which "
            "takes the columns of X with their names"
        )
    return with_names(X, feature_names)


def as_model(model: Any) -> Model:
    """The model asked for; a family alone means the model that has it in every column.

    Raises
    ------
    TypeError
        If it is neither a model nor a family.
    """
    if isinstance(model, Family):
        return NaiveBayes(model)
    if not isinstance(model, Model):
        raise TypeError(
            f"model is {shortened(model)}, a {type(model).__name__}: give nb.NaiveBayes(...) or a family such as "
            "nb.Bernoulli()"
        )
    return model
