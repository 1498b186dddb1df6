"""The features to keep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.arrays import row_pieces
from bayesnb.core.checking import first_few, warn_of, warns_once, whole_number
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import ForestPanel, Points, forest, how_many
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed
from bayesnb.data.labels import require_two_classes
from bayesnb.data.read import read_rows
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, listed_categories
from bayesnb.families.hyperparameters import format_number
from bayesnb.inference.exact import Exact
from bayesnb.inference.fit import problem_of, warn_of_quantities
from bayesnb.model.blocks import declared_categories, feature_names, in_column_order
from bayesnb.model.bound import BoundModel
from bayesnb.model.feature_weights import mixed_features
from bayesnb.model.naive_bayes import Model
from bayesnb.model.problem import Problem
from bayesnb.posterior.kinds import model_of
from bayesnb.posterior.left_out import features_left_out
from bayesnb.selection.families import ROUNDING
from bayesnb.selection.weighing import weight_features

# --------------------------------------------------------------------------------------------------
# Models with dropped or merged columns; the other columns keep their families
# --------------------------------------------------------------------------------------------------

NAMED = 4
"""The name of a wider block has the first columns' names and the number of the others."""


def _family_of_column(bound: BoundModel, family: Family, columns: Sequence[int], position: int) -> Family:
    """The family that gives one column, as a feature of its own, the prior and the constants that it has now.

    `family` is that of the feature whose `columns` are given by position, as the user wrote it. It is the result if it
    is the same for every column.
    """
    names = bound.schema.columns
    block = next(block for block in bound.blocks if position in block.columns)
    j = block.columns.index(position)
    own = block.family.take((slice(None), [j]))
    if family.cell == "category" and listed_categories(family) is not None:
        listed: dict[str, Any] = {"categories": declared_categories(family, names[position])}
        family, own = replace(family, **listed), replace(own, **listed)
    numbers = all(np.ndim(value) == 0 for value in family.hyperparameters().values())
    follows_cells = all(family.must_see(names[column]) for column in columns)
    return family if numbers and (follows_cells or family.settings() == own.settings()) else own


def rewritten_features(
    model: Model,
    bound: BoundModel,
    placed_in: Mapping[int, tuple[int, ...]],
    merged: Mapping[tuple[int, ...], Family],
) -> dict[Any, tuple[Family, Any]]:
    """The features of a model, of which some columns are dropped or merged.

    A feature that loses no column stays as it is. The other columns of the rest become features of their own.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    bound : BoundModel
        The model of the table.
    placed_in : mapping
        By position of a column that does not stay where it is, the positions of its new block; none if the column is
        dropped.
    merged : mapping
        By the positions of the columns of each new block, its family. A block is where its first column was.
    """
    schema = bound.schema
    positions_of = schema.positions_of(model.features)
    whole = {name for name, positions in positions_of.items() if placed_in.keys().isdisjoint(positions)}
    features: dict[Any, tuple[Family, Any]] = {}
    placed: set[int] = set()
    for name, positions in positions_of.items():
        family, columns = model.features[name]
        if name in whole:
            features[name] = family, columns
            continue
        for position in positions:
            block = placed_in.get(position, (position,))
            if not block or position in placed:
                continue
            placed.update(block)
            own = merged[block] if block in merged else _family_of_column(bound, family, positions, position)
            names = [schema.columns[column] for column in block]
            label = names[0] if len(names) == 1 else block_label(names)
            while label in features or label in whole:
                label = f"{label} (columns)"
            features[label] = own, None if label == names[0] else names
    return features


def changed_model(model: Model, *, categories: Mapping[int, tuple] = MappingProxyType({}), **fields: Any) -> Model:
    """A model with other fields, and further categories of the columns of a bound one."""
    if not isinstance(model, BoundModel):
        return replace(model, **fields)
    schema = replace(model.schema, categories={**categories, **model.schema.categories})
    return BoundModel.of(replace(model.description, **fields), schema)


def block_label(names: Sequence[Any]) -> str:
    """Name of a block of these columns; blocks without a common column have different ones."""
    if len(names) <= NAMED:
        return " & ".join(map(str, names))
    return " & ".join([*map(str, names[: NAMED - 1]), f"{len(names) - NAMED + 1} more"])


# --------------------------------------------------------------------------------------------------
# A model with some of its features
# --------------------------------------------------------------------------------------------------


def with_some_features(model: Model, bound: BoundModel, kept: Sequence[int]) -> Model:
    """The model with some of its features; the model itself if these are all.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
        The model that was given; the result is bound if it is.
    bound : BoundModel
        The model of the table.
    kept : sequence of int
        Positions among the features, in the order of the table's columns.
    """
    blocks = bound.blocks
    by_block = [
        [tuple(block.columns)] if block.is_joint else [(column,) for column in block.columns] for block in blocks
    ]
    columns_of = in_column_order(blocks, by_block)
    if len(kept) == len(columns_of):
        return model
    dropped = {column: () for feature in {*range(len(columns_of))} - {*kept} for column in columns_of[feature]}
    inclusion, names = bound.description.feature_inclusion, feature_names(blocks)
    if isinstance(inclusion, Mapping):
        inclusion = {names[feature]: inclusion[names[feature]] for feature in kept}
    elif np.ndim(inclusion):
        inclusion = np.asarray(inclusion)[list(kept)]
    return changed_model(model, features=rewritten_features(model, bound, dropped, {}), feature_inclusion=inclusion)


# --------------------------------------------------------------------------------------------------
# The features with which labels are predicted best: a greedy search that drops features and adds them back
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _LabelRatios:
    """What each feature says about the label of each row, given the other rows.

    Attributes
    ----------
    of_classes : array, shape (rows, classes)
        Log probability of each class minus that of the row's own class.
    of_features : array, shape (rows, classes, features)
        Log density of each feature under each class minus that under the row's own class.
    weights : array, shape (rows,)
        A row of weight w counts as w rows.
    """

    of_classes: np.ndarray
    of_features: np.ndarray
    weights: np.ndarray

    def log_proba(self, kept: np.ndarray) -> np.ndarray:
        """Log probability of each row's label, shape (rows,), given which features (features,) the model has."""
        return _of_own_class((self.of_classes + self.of_features @ kept)[..., None])[:, 0]

    def scores_of_changes(self, kept: np.ndarray) -> np.ndarray:
        """Sum of the log probabilities after each feature is dropped, or added if it is not kept, shape (features,)."""
        sign = np.where(kept, -1.0, 1.0)
        total = self.of_classes + self.of_features @ kept
        scores = np.zeros(len(kept))
        for rows in row_pieces(len(total), self.of_features[:1].size):
            changed_model = total[rows, :, None] + sign * self.of_features[rows]
            scores += self.weights[rows] @ _of_own_class(changed_model)
        return scores


def _while_rising(ratios: _LabelRatios) -> np.ndarray:
    """Drop or add the feature that raises the score most, again and again, while the score rises.

    One feature always remains. Of changes that are equally good, the one of the last feature is made, so that the first
    of columns that are copies of each other remains. The subsets, one for each step, are rows of ones and zeros of
    shape (steps, features). The first has all features, the last is the best one.
    """
    kept = np.ones(ratios.of_features.shape[-1])
    steps, highest = [kept], ratios.weights @ ratios.log_proba(kept)
    while len(kept) > 1:
        scores = ratios.scores_of_changes(kept)
        if kept.sum() == 1:
            scores[kept == 1] = -np.inf
        feature = int(np.flatnonzero(scores >= scores.max() - ROUNDING)[-1])
        kept = kept.copy()
        kept[feature] = 1.0 - kept[feature]
        # The score of a subset does not depend on the path to it, so that no subset recurs.
        score = ratios.weights @ ratios.log_proba(kept)
        if score <= highest + ROUNDING:
            break
        steps.append(kept)
        highest = score
    return np.array(steps)


def _of_own_class(log_ratio: np.ndarray) -> np.ndarray:
    """Log probability of a row's own class, whose ratio is zero, from log ratios (rows, classes, subsets)."""
    highest = log_ratio.max(axis=1)
    return -highest - np.log(np.exp(log_ratio - highest[:, None]).sum(axis=1))


# --------------------------------------------------------------------------------------------------
# Which features does a model keep? Those with which the labels of rows are predicted best from the other rows
# --------------------------------------------------------------------------------------------------

WITH_WEIGHTS = (
    "The scores are with the weights of all features. The model found has none: learn them anew, "
    "nb.weight_features(found.model, X, y), or NaiveBayesClassifier(found.model)."
)
"""A note on a posterior with weights."""

STANDARD_ERRORS = 2.0
"""A subset of the features is kept if its gain exceeds this many standard errors."""


@dataclass(frozen=True, repr=False)
class FeatureSelection(Printed):
    """The result of `select_features`.

    Attributes
    ----------
    model : NaiveBayes or BoundModel
        The model with the features that are kept; the model given if these are all.
    kept, dropped : tuple
        Names of the features, in the order of the table's columns.
    table : pandas.DataFrame
        A row for each step of the search, from step 0 with all features: ``feature``, which was dropped or added back;
        ``action``, ``"drop"`` or ``"add"``; ``elpd_label``, the leave-one-out log score of the labels with the features
        that are then left; ``difference``, that minus the score of all features; and ``se``, the standard error of the
        difference, paired by rows. The last step is the best subset that was found.
    notes : tuple of str
        Why the best subset was not kept, and which rows do not count in the score.

    See Also
    --------
    select_features : Drop the features that do not help.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> found = nb.select_features(nb.NaiveBayes.from_frame(X), X, y)
    >>> found.kept
    ('island', 'bill_length_mm', 'bill_depth_mm', 'body_mass_g')
    """

    model: Model
    kept: tuple[Any, ...]
    dropped: tuple[Any, ...]
    table: pd.DataFrame
    notes: tuple[str, ...]

    def plot(self, *, max_steps: int = 60, ax: Any = None, figsize: Any = None) -> Any:
        """The rise of the leave-one-out score of the labels, step by step, with its standard error.

        Parameters
        ----------
        max_steps : int, default 60
            The first steps are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            A point for each step, beside the feature that it drops or adds: the score minus that of all features. The
            interval is two standard errors of the difference to either side. A subset is kept if the last one is right
            of zero.

        Raises
        ------
        ValueError
            If no change of the features raised the score.

        See Also
        --------
        select_features : Drop the features that do not help.

        Examples
        --------
        >>> import bayesnb as nb
        >>> import numpy as np
        >>> import pandas as pd
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 200)
        >>> temperature = y + rng.normal(size=200)
        >>> names = [f"thermometer {number}" for number in range(4)]
        >>> X = pd.DataFrame({name: temperature + 0.1 * rng.normal(size=200) for name in names})
        >>> X["humidity"] = y + rng.normal(size=200)
        >>> figure = nb.select_features(nb.Gaussian(), X, y).plot()
        """
        if len(self.table) == 1:
            raise ValueError("no feature was dropped, because that would lower the score: there is nothing to draw")
        shown = self.table.head(1 + whole_number("max_steps", max_steps))
        difference, error = shown["difference"], STANDARD_ERRORS * shown["se"]
        rows = ForestPanel(
            [f"{action} {feature}".strip() for action, feature in zip(shown["action"], shown["feature"], strict=True)],
            [Points(difference)],
            difference - error,
            difference + error,
            "two standard errors to either side",
            x_label="leave-one-out log score of the labels, difference to all features (nats)",
            at=0.0,
        )
        number = len(self.kept) + len(self.dropped)
        steps = how_many(len(shown) - 1, len(self.table) - 1, "step", "first")
        title = f"Score of the labels (right is better), {steps}: {len(self.kept)} of {number} features are kept"
        return forest([rows], title=title, ax=ax, figsize=figsize)

    def _parts(self) -> list[Piece]:
        table = DataTable(self.table, number=".1f", rows=len(self.table))
        lists = [("Kept", self.kept), ("Dropped", self.dropped)]
        features = [f"{name}: {first_few(list(map(str, which)), 20)}." for name, which in lists if which]
        number = len(self.kept) + len(self.dropped)
        title = f"Features kept by the leave-one-out log score of the labels, {len(self.kept)} of {number}:"
        return [Heading(title), *map(Paragraph, features), table, *map(Paragraph, self.notes)]


@warns_once
@in_float64
def select_features(model: Model | Family, X: Any, y: Any, *, sample_weight: Any = None) -> FeatureSelection:
    r"""Keep the features that predict the labels best, by exact leave-one-out.

    The score of a subset S of the features is the exact leave-one-out log score of the labels, `loo_scores`'s
    ``elpd_label``:

    .. math:: \mathrm{elpd}(S) = \sum_i \log \frac{p(y_i \mid y_{-i}) \prod_{j \in S} p(x_{ij} \mid y_i, D_{-i})}
              {\sum_c p(c \mid y_{-i}) \prod_{j \in S} p(x_{ij} \mid c, D_{-i})}

    The factors are computed once, for all subsets. The search begins with all features. It drops the feature, or adds
    back the one, that raises the score most, as long as the score rises (Kohavi and John 1997, *Artificial
    Intelligence* 97, 273-324). The best subset is kept if its score is higher than that of all features by more than
    two standard errors. The difference is a sum of one term for each of n rows, so that its standard error is
    :math:`\sqrt n` times their standard deviation (Vehtari, Gelman and Gabry 2017, *Statistics and Computing* 27,
    section 5.1). Otherwise all features are kept.

    Features are columns; a joint block, such as count vectors, is one feature. At least one is kept.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family, Posterior or fitted estimator
        Of a posterior with weights of features the subsets are scored with weights, those of all features in X and y.
        The model that is found has none: learn them anew, ``nb.weight_features(found.model, X, y)``.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
        A text is the name of the label's column in X.
    sample_weight : array, shape (rows,), optional
        A row of weight w counts as w rows in the score. It is left out with its whole weight, so that the result is not
        that of a table with w copies of the row, which are left out one by one.

    Returns
    -------
    FeatureSelection
        The model that it holds fits the same table. It is bound if the model given is.

    Raises
    ------
    TypeError
        If `model` is not a model, or X not a table.
    ValueError
        If a family has no closed form; a hyperparameter is learned; y has one class only, lacks a label, or has not one
        for each row; the model averages over subsets of its features (`feature_inclusion`) and rows have weights; no
        row can count in the score; or a density is zero or infinite.

    Warns
    -----
    UserWarning
        If rows do not count in the score, because their label has probability zero without them, whatever the features:
        under ``class_probs="empirical"``, the only row of a class.

    See Also
    --------
    FeatureSelection : The result.
    feature_evidence : The evidence that a feature depends on the class.
    weight_features : Weights for features that are not independent.

    Notes
    -----
    The score of the subset that is kept is too high, because the subset was chosen by it. To measure how well the
    model predicts new rows, select the features anew in each training part of a cross-validation.

    Naive Bayes counts features that repeat each other several times, and is then overconfident. The search drops such
    repeats. A feature that is dropped may still depend on the class (`feature_evidence`).

    If the features are independent given the class and tell much, usually all of them are kept. In 200 tables of 60
    rows and ten `Bernoulli` columns, the probability of each class and column uniform from 0 to 1, features were
    dropped from ten tables, and the log score of new labels changed by -0.0005 ± 0.0003 nats a row. With probabilities
    of .4 and .6 features were dropped from 37 tables, and it changed by -0.0064 ± 0.0012.

    The densities of all rows are in memory, 8 bytes for each row, class and feature: 16 MB for 20,000 rows, two classes
    and 50 columns. Each step of the search computes as many exponentials.

    Examples
    --------
    Four thermometers measure one temperature, and one of them is enough:

    >>> import numpy as np
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> temperature = y + rng.normal(size=200)
    >>> names = [f"thermometer {number}" for number in range(4)]
    >>> X = pd.DataFrame({name: temperature + 0.1 * rng.normal(size=200) for name in names})
    >>> X["humidity"] = y + rng.normal(size=200)
    >>> found = nb.select_features(nb.Gaussian(), X, y)
    >>> found
    Features kept by the leave-one-out log score of the labels, 2 of 5:
    Kept: thermometer 1, humidity.
    Dropped: thermometer 0, thermometer 2, thermometer 3.
    step        feature action  elpd_label  difference   se
    0      all features             -171.3         0.0  0.0
    1     thermometer 0   drop      -138.9        32.3  6.4
    2     thermometer 3   drop      -113.8        57.4 12.8
    3     thermometer 2   drop      -103.3        67.9 18.9
    >>> posterior = nb.fit(found.model, X, y)
    """
    posterior = getattr(model, "posterior_", model)
    model = model_of(model)
    given = read_rows(X, y, sample_weight, model.features)
    if len(given.weights) and not given.weights.any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
    problem = problem_of(model, given)
    warn_of_quantities(problem)
    problem.model.require_one_description("select_features")
    _refuse_features(problem, given.weights)
    rows = given.of_classes(problem.model.schema.classes)
    exact = Exact().fit(problem)
    found = features_left_out(exact, rows, np.flatnonzero(rows.weights))
    found.require_finite("no subsets can be compared")
    found, remarks = found.rows_of_possible_labels("the score")
    notes = [f"{remark}." for remark in remarks]
    if (before := getattr(posterior, "feature_weights", None)) is not None:
        shared = before.shared
        learned = weight_features(exact, X, y, shared=shared, sample_weight=sample_weight).feature_weights
        # The densities as weights of features count them.
        log_density = mixed_features(found.log_density, found.log_class_prob, learned.no_information_in_feature)
        offset = found.log_class_prob + learned.offset
        found = replace(found, log_density=log_density * learned.weight, log_class_prob=offset)
        notes.append(WITH_WEIGHTS)
    warn_of(remarks)
    own = np.arange(len(found.rows)), found.rows.codes
    of_classes, of_features = found.log_class_prob, found.log_density
    of_features -= of_features[own][:, None]
    ratios = _LabelRatios(of_classes - of_classes[own][:, None], of_features, found.rows.weights)
    steps = _while_rising(ratios)
    table = _selection_frame(steps, ratios, found.names)
    gain, error = table[["difference", "se"]].iloc[-1]
    better = gain > STANDARD_ERRORS * error
    kept = steps[-1 if better else 0] > 0
    if len(steps) > 1 and not better:
        notes.insert(
            0,
            f"The best subset that was found is not kept: its score is {gain:.1f} higher than that of all features, "
            f"which is not more than two standard errors of {error:.1f}.",
        )
    return FeatureSelection(
        model=with_some_features(model, problem.model, np.flatnonzero(kept).tolist()),
        kept=tuple(compress(found.names, kept)),
        dropped=tuple(compress(found.names, ~kept)),
        table=table,
        notes=tuple(notes),
    )


def _refuse_features(problem: Problem, weights: np.ndarray) -> None:
    model = problem.model
    for block in model.blocks:
        if not isinstance(block.family, ConjugateFamily):
            raise ValueError(
                f"{block.owner()} is {block.family.family_name}, which has no closed form, as the leave-one-out "
                "score of every subset of the features needs: give it a family that has one, such as nb.Histogram() "
                "for numbers, or leave it out of the model"
            )
    for name, distribution in model.description.hyperpriors.items():
        raise ValueError(
            f"the hyperparameter {name!r} is learned, {format_number(distribution)}, which leaves no closed form: give "
            "a number, or the model of nb.fit(model, X, y, nb.EmpiricalBayes())"
        )
    problem.require_labels("nb.select_features", "leave these rows out")
    require_two_classes(model.schema.classes)
    if model.description.feature_inclusion is not None and (weights != 1.0).any():
        raise ValueError(
            "the model averages over subsets of its features, whose leave-one-out score has no weights of rows: leave "
            "sample_weight out, or select the features of model.with_feature_inclusion(None)"
        )


def _selection_frame(steps: np.ndarray, ratios: _LabelRatios, names: Sequence[Any]) -> pd.DataFrame:
    """The attribute `table` of `FeatureSelection`."""
    from bayesnb.posterior.loo import sum_with_error

    log_proba = np.array([ratios.log_proba(kept) for kept in steps])
    differences = [sum_with_error(of_step - log_proba[0], ratios.weights) for of_step in log_proba]
    changes = np.diff(steps, axis=0)
    table = pd.DataFrame(differences, columns=["difference", "se"]).rename_axis("step")
    table.insert(0, "feature", ["all features", *(names[feature] for feature in np.abs(changes).argmax(axis=1))])
    table.insert(1, "action", ["", *np.where(changes.sum(axis=1) > 0, "add", "drop")])
    table.insert(2, "elpd_label", log_proba @ ratios.weights)
    return table
