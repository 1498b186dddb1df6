"""Naive Bayes as a user writes it: a description that can be bound to a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from dataclasses import field as field_of
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayesnb.core.cells import shortened
from bayesnb.core.checking import Params, a_type, array_of_numbers, known_probabilities, with_params
from bayesnb.core.deferred import dist, is_distribution, structure
from bayesnb.core.number_form import NumberForm
from bayesnb.core.printing import Code, Heading, Piece, Printed
from bayesnb.data.derived import DerivedColumn
from bayesnb.data.elsewhere import is_elsewhere, sample_elsewhere
from bayesnb.data.read import Rows, read_rows
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, parameter_names, with_hyperparameters
from bayesnb.families.hyperparameters import format_number, require_hyperprior
from bayesnb.model.blocks import EVERY_COLUMN, block_name, read_inclusion
from bayesnb.model.bound import BoundModel
from bayesnb.model.choose import choose_features, family_of_words, guess_features, open_columns
from bayesnb.model.open_schema import bound_to
from bayesnb.model.prior import CLASS_SITE

# --------------------------------------------------------------------------------------------------
# The arguments of a model, read and checked, and the text of its repr
# --------------------------------------------------------------------------------------------------


def _read_features(features: Any) -> dict[Any, tuple[Family, Any]]:
    """Features as a mapping from name to (family, columns); columns None means the column of that name."""
    if isinstance(features, Family):
        _require_described(features)
        return {EVERY_COLUMN: (features, slice(None))}
    if isinstance(features, type) and issubclass(features, Family):
        raise TypeError(f"features is the class {features.__name__}: give an instance, {features.__name__}()")
    if not isinstance(features, Mapping):
        raise TypeError(
            f"features is the {type(features).__name__} {features!r}: give a family such as nb.Bernoulli(), or a "
            "mapping from columns to families"
        )
    if not features:
        raise ValueError("features names no column: give at least one")
    result: dict[Any, tuple[Family, Any]] = {}
    for name, value in features.items():
        family, columns = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
        if isinstance(family, type) and issubclass(family, Family):
            raise TypeError(f"{name!r} has the class {family.__name__}: give an instance, {family.__name__}()")
        if not isinstance(family, Family):
            raise TypeError(
                f"{name!r} has {value!r}, which is neither a family nor (family, columns): write "
                f"{{{name!r}: nb.Gaussian()}} or {{{name!r}: (nb.Gaussian(), [columns])}}"
            )
        _require_described(family)
        if columns is not None and not isinstance(columns, slice):
            columns = [columns] if isinstance(columns, str | int) else list(columns)
            if not columns:
                raise ValueError(f"block {name!r} names no column: give at least one")
        result[name] = (family, columns)
    return result


def _require_described(family: Family) -> None:
    """Raise for a family that JAX cannot take apart, and settings that it cannot compare."""
    name = family.family_name
    if structure(family) is None or "__dataclass_fields__" not in vars(type(family)):
        raise TypeError(
            f"{name} is a family that JAX cannot take apart: decorate the class with "
            "@jax.tree_util.register_dataclass and, below it, @dataclass(frozen=True)"
        )
    for setting, value in family.settings().items():
        if is_distribution(value):
            raise TypeError(
                f"{name}({setting}={type(value).__name__}(...)): {setting} is a constant (a static field), which is "
                "not learned: give a number, or make it a hyperparameter (a field that is not static)"
            )
        # `declared_categories` reads the categories, and names the one that cannot be.
        if setting != "categories" and not _is_hashable(value):
            raise TypeError(
                f"{name}({setting}={value!r}): {setting} is a constant (a static field), which JAX has to compare and "
                "to hash: give a number, text or a tuple of them; a formula makes an array of it, "
                f"np.asarray(self.{setting})"
            )


def _is_hashable(value: Any) -> bool:
    """Whether a value has a hash; a tuple of lists is Hashable, and has none."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _read_class_concentration(value: Any) -> Any:
    """The class prior's concentration, a number, an array or a distribution."""
    if is_distribution(value):
        require_hyperprior("class_concentration", value, positive=True)
        return value
    concentration = array_of_numbers("class_concentration", value)
    if concentration.ndim > 1 or not (np.isfinite(concentration) & (concentration > 0)).all():
        raise ValueError(f"class_concentration is {value!r}: give a positive number, or one per class")
    return float(concentration) if concentration.ndim == 0 else concentration


def _read_class_probs(value: Any) -> Any:
    """Known class probabilities: an array, a mapping from label, "empirical" or None."""
    if value is None:
        return None
    if isinstance(value, str):
        if value != "empirical":
            raise ValueError(
                f'class_probs is {value!r}: give the probabilities, or "empirical" for the data\'s frequencies'
            )
        return value
    return known_probabilities(value)


STORIES = 24
"""Largest number of features that a repr shows."""


def _feature(name: Any, columns: Any) -> str:
    """Name and columns of a feature."""
    if name is EVERY_COLUMN:
        return "every column"
    if columns is None:
        return str(name)
    if isinstance(columns, slice):
        return f"{name}[{columns.start or 0}:{'' if columns.stop is None else columns.stop}]"
    if isinstance(columns[0], DerivedColumn):  # a reading, whose column has its name
        return str(name)
    shown = ", ".join(str(column) for column in columns[:4]) + (", ..." if len(columns) > 4 else "")
    return f"{name}[{shown}]"


def _class_prior_text(concentration: Any, probs: Any) -> str:
    if probs is None:
        return f"Dirichlet({format_number(concentration)})"
    if isinstance(probs, str):
        return "the frequencies of the data, known"
    if isinstance(probs, Mapping):
        return f"{dict(probs)}, known"
    return f"{format_number(probs)}, known"


# --------------------------------------------------------------------------------------------------
# What a user writes
# --------------------------------------------------------------------------------------------------


NEED_TABLE = {"blocks", "class_prior", "draw_prior", "families", "schema", "simulate", "sites", "statistics"}
"""Attributes of `BoundModel` that users may look for in a description."""


@dataclass(frozen=True, init=False, repr=False)
class NaiveBayes(Printed, Params):
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

    features: dict[Any, tuple[Family, Any]]
    class_concentration: Any
    class_probs: Any
    feature_inclusion: Any
    # These say how rows are read, and are no part of the model.
    outside_is_missing: frozenset[Any] = field_of(compare=False)
    number_forms: Mapping[Any, NumberForm] = field_of(compare=False)

    def __init__(
        self,
        features: Family | Mapping[Any, Any],
        *,
        class_concentration: Any = 1.0,
        class_probs: Any = None,
        feature_inclusion: Any = None,
        outside_is_missing: Iterable[Any] = (),
        number_forms: Mapping[Any, NumberForm] | None = None,
    ) -> None:
        object.__setattr__(self, "features", _read_features(features))
        object.__setattr__(self, "class_concentration", _read_class_concentration(class_concentration))
        object.__setattr__(self, "class_probs", _read_class_probs(class_probs))
        given = self.learns_classes or np.any(self.class_concentration != 1.0)
        if class_probs is not None and given:
            raise ValueError("class_concentration and class_probs are both given: known probabilities have no prior")
        inclusion = None if feature_inclusion is None else read_inclusion("feature_inclusion", feature_inclusion)
        object.__setattr__(self, "feature_inclusion", inclusion)
        object.__setattr__(self, "outside_is_missing", frozenset(outside_is_missing))
        object.__setattr__(self, "number_forms", dict(number_forms or {}))
        if inclusion is not None and self.hyperpriors:
            raise ValueError(
                f"feature_inclusion is averaged over in closed form, in which {[*self.hyperpriors]} cannot be learned: "
                "give them numbers, or leave feature_inclusion out"
            )
        for name, (family, _) in self.features.items():
            if inclusion is not None and not isinstance(family, ConjugateFamily):
                where = "every column" if name is EVERY_COLUMN else repr(name)
                raise ValueError(
                    f"feature_inclusion is averaged over in closed form, which {family.family_name} ({where}) does "
                    "not have: leave feature_inclusion out"
                )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in NEED_TABLE:
                raise ValueError(
                    "the model does not know its columns and classes yet: fit it, or bind it to a table with "
                    "model.bind(X, y)"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

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
            Of a lazy or Dask table 10,000 rows choose, drawn at random, and some of each class that these lack.
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
            than half of the values are distinct are left out of the model, and the warning says so;
            `propose_descriptions` reads dates. Columns with fewer than 20 observed cells are only searched for "?".

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
        if is_elsewhere(frame, y):
            frame, y, sample_weight = sample_elsewhere(frame, y, sample_weight, 0)
        rows = read_rows(frame, y, sample_weight)
        columns = open_columns(rows.table, exclude, families, decimal)
        of_words = family_of_words(columns)
        if of_words is not None:
            return cls(of_words, **class_prior)
        if rows.labels is None:
            features = guess_features(columns)
        else:
            features = choose_features(columns, rows.of_classes(may_miss=True), cls)
        return cls(features, outside_is_missing=columns.open_names, number_forms=columns.forms, **class_prior)

    def bind(self, X: Any = None, y: Any = None, *, classes: Any = None, columns: Any = None) -> BoundModel:
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
        columns : sequence, optional
            Names of the columns in place of X, for rows that do not come as a table.

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
        if X is None and columns is not None:
            if classes is None:
                raise ValueError("columns is given in place of X, and classes is not: name the classes, classes=[...]")
            X = np.empty((0, len(columns)))
        rows = read_rows(X, y, features=self.features, feature_names=columns)
        bound = bound_to(self, rows, classes)
        if not len(rows) or bound.open_hyperparameter() is None:
            return bound
        # Rows without a label count for the scale of the columns, in any class.
        codes = np.maximum(rows.of_classes(bound.schema.classes, may_miss=True).codes, 0)
        resolved = bound.resolve(bound.read(rows.table).count(codes).statistics)
        return replace(bound, blocks=resolved.blocks, numbers=replace(self, features=resolved.features))

    def program(self, X: Any = None, y: Any = None, **options: Any) -> None:
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
        self.bind(X, y).program(X, y, **options)

    def prior_predictive(
        self, X: Any, y: Any, *, num_rows: int | None = None, num_draws: int = 500, key: Any = 0
    ) -> Any:
        """Tables from the prior predictive distribution, beside the observed one, in ArviZ's groups.

        Each draw has its own parameters and labels, and cells given these. Rows keep their totals of count vectors.
        Cells that are missing in X are left out. Defaults that follow the data get the numbers that a fit to X and y
        uses. ``az.plot_ppc_dist(tree, group="prior_predictive")`` draws the columns.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels of shape (rows,) or str
            Some may be missing.
        num_rows : int, optional
            Rows of X that a table has, a random subset; by default all.
        num_draws : int, default 500
            Tables.
        key : int or JAX key, default 0

        Returns
        -------
        xarray.DataTree
            ``prior``, the parameters by site; ``prior_predictive`` and ``observed_data``, with the label ``y`` as
            position among the classes and each column, categories as codes. Dimensions are chain, draw and ``row``,
            or ``<column>_row`` if cells of a column are missing.

        Raises
        ------
        TypeError, ValueError
            If a hyperparameter has no number, a feature has no distribution of its cells, count vectors hold fractions,
            or X has fewer rows than `num_rows`.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> tree = nb.NaiveBayes.from_frame(X).prior_predictive(X, y, num_draws=100)
        >>> tree.prior_predictive["body_mass_g"].shape
        (1, 100, 342)
        """
        return self.bind(X, y).prior_predictive(X, y, num_rows=num_rows, num_draws=num_draws, key=key)

    def _own_params(self) -> dict[str, Any]:
        """Families by the name of their feature, or the fields of one family for every column; and the class prior."""
        if EVERY_COLUMN in self.features:
            features = self.features[EVERY_COLUMN][0].get_params(deep=False)
        else:
            features = {str(name): family for name, (family, _) in self.features.items()}
        # A feature named like a field of the description has no parameter here.
        return features | {name: getattr(self, name) for name in self._fields_beside_features()}

    def _with_own_params(self, changes: Mapping[str, Any], name: str) -> Self:
        """A copy with other families, whose columns stay, or another class prior."""
        beside = {key: change for key, change in changes.items() if key in self._fields_beside_features()}
        of_features = {key: change for key, change in changes.items() if key not in beside}
        features: Any
        if EVERY_COLUMN in self.features:
            features = with_params(self.features[EVERY_COLUMN][0], of_features, name)
            return replace(self, features=features, **beside)
        for key, family in of_features.items():
            if not isinstance(family, Family):
                where = f"{name}__{key}".removeprefix("__")
                raise TypeError(f"{where} is {family!r}: give a family such as nb.Categorical(); its columns stay")
        features = {
            feature: (of_features.get(str(feature), family), columns)
            for feature, (family, columns) in self.features.items()
        }
        return replace(self, features=features, **beside)

    def _fields_beside_features(self) -> list[str]:
        return [field.name for field in fields(self) if field.name != "features" and field.compare]

    def with_feature_inclusion(self, feature_inclusion: Any) -> Self:
        """The same description with other prior probabilities that features depend on the class."""
        return replace(self, feature_inclusion=feature_inclusion)

    def with_class_probs(self, class_probs: Any) -> Self:
        """The same description with known class probabilities in place of its class prior."""
        return replace(self, class_concentration=1.0, class_probs=class_probs)

    @property
    def learns_classes(self) -> bool:
        """Whether the concentration of the classes is learned."""
        return is_distribution(self.class_concentration)

    @property
    def follows_labels(self) -> bool:
        """Whether the class probabilities are the frequencies of the labels."""
        return isinstance(self.class_probs, str)

    @cached_property
    def hyperpriors(self) -> "dict[str, dist.Distribution]":
        """Distribution of every hyperparameter that is learned, by the name it has in results."""
        found = {"class_concentration": self.class_concentration} if self.learns_classes else {}
        for name, feature, field in self.learned_fields():
            found[name] = self.features[feature][0].hyperparameters()[field]
        return found

    def learned_fields(self) -> Iterator[tuple[str, Any, str]]:
        """Of each learned hyperparameter of a family the name in results, the feature and the family's field."""
        for feature, (family, _) in self.features.items():
            for field, value in family.hyperparameters().items():
                if is_distribution(value):
                    between = "_prior_" if field in parameter_names(family) else "_"
                    yield f"{block_name(feature)}{between}{field}", feature, field

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
            features[feature] = (with_hyperparameters(family, {field: values[name]}), columns)
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
            found[name] = np.array(self.features[feature][0].hyperparameters()[field])
        return found

    def story(self, most: int = STORIES) -> list[Piece]:
        """The printed form: distributions of classes, of parameters and of at most so many features.

        Features share a line if they have the same lines, the same class of family and the same settings.
        """
        told: dict[Any, list[str]] = {}
        for name, (family, columns) in self.features.items():
            likelihood, priors = family.story()
            told.setdefault((structure(family), likelihood, *priors), []).append(_feature(name, columns))
        prior = _class_prior_text(self.class_concentration, self.class_probs)
        lines = [f"{CLASS_SITE} ~ {prior}", f"y ~ Categorical({CLASS_SITE})"]
        for (_, likelihood, *priors), labels in list(told.items())[:most]:
            lines.append(f"{', '.join(labels)} ~ {likelihood}")
            lines += [f"    {line}" for line in priors]
        if len(told) > most:
            lines.append(f"… and {len(told) - most} more")
        inclusion = self.feature_inclusion
        if inclusion is not None:
            shown = inclusion if isinstance(inclusion, dict) else format_number(inclusion)
            lines.append(f"each feature depends on the class with probability {shown}, else classes share it")
        return [Heading("NaiveBayes, features independent given the class:"), Code([f"  {line}" for line in lines])]

    def _parts(self) -> list[Piece]:
        return self.story()


Model = NaiveBayes | BoundModel
"""What is fitted: a description, or the model of a table."""


def read_for(model: Model, X: Any, y: Any, sample_weight: Any = None, feature_names: Any = None) -> Rows:
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
    """The model; a family alone means one that has it in every column.

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
