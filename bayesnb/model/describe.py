"""What a user writes: which family each column has, and the class prior."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpyro.distributions as dist

from bayesnb.families.base import Family
from bayesnb.model.guess import guess_features
from bayesnb.model.inclusion import read_inclusion
from bayesnb.model.program import refuse_subsets
from bayesnb.model.read import block_name, read_class_concentration, read_class_probs, read_features
from bayesnb.model.story import story

if TYPE_CHECKING:
    from bayesnb.model.bound import BoundModel

__all__ = ["NaiveBayes"]


class _NeedsTable:
    """An attribute of `BoundModel` that a description does not have; reading it raises an error."""

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        raise ValueError(
            "the model does not know its columns and classes yet: fit it, or bind it to a table with model.bind(X, y)"
        )


@dataclass(frozen=True, init=False, repr=False)
class NaiveBayes:
    r"""Naive Bayes: a class, and features that are independent given the class.

    .. math::
        \pi \sim \mathrm{Dirichlet}(a), \quad
        \theta_{cj} \sim \mathrm{prior}_j, \quad
        y_i \mid \pi \sim \mathrm{Categorical}(\pi), \quad
        x_{ij} \mid y_i = c \sim \mathrm{Family}_j(\theta_{cj})

    A description is never changed. `dataclasses.replace` gives one that differs in some of its parameters, and `bind`
    gives the model of a table.

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
        the order of the table, and a block of count vectors is one. By default all depend on the class.

    Raises
    ------
    TypeError, ValueError
        If a feature is not a family, a column is in two blocks, the class prior is not one, or an inclusion is no
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

    features: dict[Any, tuple[Family, Any]]
    class_concentration: Any
    class_probs: Any
    feature_inclusion: Any

    if not TYPE_CHECKING:
        # For a type checker a description has none of these.
        blocks = class_prior = draw_prior = families = schema = simulate = sites = statistics = _NeedsTable()

    def __init__(
        self,
        features: Family | Mapping[Any, Any],
        *,
        class_concentration: Any = 1.0,
        class_probs: Any = None,
        feature_inclusion: Any = None,
    ) -> None:
        object.__setattr__(self, "features", read_features(features))
        object.__setattr__(self, "class_concentration", read_class_concentration(class_concentration))
        object.__setattr__(self, "class_probs", read_class_probs(class_probs))
        given = self.learns_classes or np.any(self.class_concentration != 1.0)
        if class_probs is not None and given:
            raise ValueError("class_concentration and class_probs are both given: known probabilities have no prior")
        inclusion = None if feature_inclusion is None else read_inclusion("feature_inclusion", feature_inclusion)
        object.__setattr__(self, "feature_inclusion", inclusion)
        if inclusion is not None and self.hyperpriors:
            raise ValueError(
                f"feature_inclusion is averaged over in closed form, which leaves no room for {[*self.hyperpriors]} to "
                "be learned: give them numbers, or leave feature_inclusion out"
            )

    @classmethod
    def from_frame(cls, frame: Any, *, exclude: Sequence[Any] = (), **class_prior: Any) -> Self:
        """Guess a family for each column from its type.

        Booleans and columns of only 0 and 1 become `Bernoulli`, other numbers `Gaussian`, text and categoricals
        `Categorical`. The guess is printed by the model's repr; counts are better served by `Poisson`, which no type
        tells from other integers.

        Parameters
        ----------
        frame : table, shape (rows, columns)
        exclude : sequence, optional
            Columns to leave out, such as the target or a row identifier.
        **class_prior
            `class_concentration` or `class_probs`, as for `NaiveBayes`.

        Raises
        ------
        TypeError
            If a column holds neither numbers nor categories (dates, lists).
        ValueError
            If an excluded column is not there.
        """
        return cls(guess_features(frame, exclude), **class_prior)

    def bind(self, X: Any, y: Any = None, *, classes: Any = None) -> "BoundModel":
        """The model of a table: the description with the table's columns, classes and categories.

        Hyperparameters that follow the data stay open until `fit`.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels, shape (rows,), optional if `classes` is given
            Missing labels say nothing.
        classes : sequence, optional
            Labels that may occur, in the order wanted.

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
        from bayesnb.model.bound import bind

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

    def with_feature_inclusion(self, feature_inclusion: Any) -> Self:
        """The same description with other prior probabilities that features depend on the class."""
        return replace(self, feature_inclusion=feature_inclusion)

    @property
    def bound(self) -> bool:
        """Whether the model knows the columns, classes and categories of a table; a description does not."""
        return False

    @property
    def learns_classes(self) -> bool:
        """Whether the concentration of the classes is learned."""
        return isinstance(self.class_concentration, dist.Distribution)

    @cached_property
    def hyperpriors(self) -> dict[str, dist.Distribution]:
        """Distribution of every hyperparameter that is learned, by the name it has in results."""
        found: dict[str, dist.Distribution] = {}
        if self.learns_classes:
            found["class_concentration"] = self.class_concentration
        for name, feature, field in self.learned_fields():
            found[name] = getattr(self.features[feature][0], field)
        return found

    def learned_fields(self) -> Iterator[tuple[str, Any, str]]:
        """Of each learned hyperparameter of a family the name in results, the feature and the family's field."""
        for feature, (family, _) in self.features.items():
            for field, value in family.hyperparameters().items():
                if isinstance(value, dist.Distribution):
                    yield _hyperparameter_name(feature, family, field), feature, field

    def with_hyperparameters(self, values: Mapping[str, Any]) -> Self:
        """The same description with numbers for the hyperparameters that are learned.

        Parameters
        ----------
        values : mapping
            By the names of `hyperpriors`, arrays of the hyperpriors' shapes.
        """
        features = dict(self.features)
        for name, feature, field in self.learned_fields():
            family, columns = features[feature]
            features[feature] = (replace(family, **{field: values[name]}), columns)
        classes = values["class_concentration"] if self.learns_classes else self.class_concentration
        return replace(self, features=features, class_concentration=classes)

    def with_placeholders(self) -> Self:
        """The same description with a one for every hyperparameter that is learned."""
        ones = {name: np.ones(prior.batch_shape) for name, prior in self.hyperpriors.items()}
        return self.with_hyperparameters(ones) if ones else self

    def hyperparameters_like(self, other: "NaiveBayes") -> dict[str, np.ndarray]:
        """The numbers of the hyperparameters that `other`, the same description, learns."""
        found = {"class_concentration": np.array(self.class_concentration)} if other.learns_classes else {}
        for name, feature, field in other.learned_fields():
            found[name] = np.array(getattr(self.features[feature][0], field))
        return found

    def __repr__(self) -> str:
        return story(self.features, self.class_concentration, self.class_probs, self.feature_inclusion)


def _hyperparameter_name(feature: Any, family: Family, field: str) -> str:
    """Name in results; a parameter of the same name goes before."""
    between = "_prior_" if field in family.parameter_names() else "_"
    return f"{block_name(feature)}{between}{field}"
