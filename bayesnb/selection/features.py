"""Which features does a model keep? Those with which the labels of rows are predicted best from the other rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.arrays import in_float64
from bayesnb.checks.left_out_features import FeaturesLeftOut, features_left_out
from bayesnb.checks.left_out_fixed_prior import LabelledRows
from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.inference.exact import Exact
from bayesnb.model.naive_bayes import Model
from bayesnb.pictures.features import plot_feature_selection
from bayesnb.posterior.fitted import model_of
from bayesnb.printing import DataTable, Heading, Paragraph, Piece, Printed
from bayesnb.problem import Problem
from bayesnb.selection.classes import require_two_classes
from bayesnb.selection.kept_features import with_features
from bayesnb.selection.subset_search import LabelRatios, Step, while_rising
from bayesnb.sources.memory import read_table
from bayesnb.tables.columns import first_few
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights
from bayesnb.warn import warn, warns_once

__all__ = ["FeatureSelection", "select_features"]

STANDARD_ERRORS = 2.0
"""A subset of the features is kept if its gain is higher than this many standard errors."""


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
    plot_feature_selection : The score, step by step.

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

    def plot(self, **options: Any) -> Any:
        """The rise of the score, step by step; see `bayesnb.plot_feature_selection`."""
        return plot_feature_selection(self, **options)

    def _parts(self) -> list[Piece]:
        table = DataTable(self.table, number=".1f", rows=len(self.table))
        lists = [("Kept", self.kept), ("Dropped", self.dropped)]
        features = [f"{name}: {first_few(list(map(str, which)), 20)}." for name, which in lists if which]
        return [Heading(self._title()), *map(Paragraph, features), table, *map(Paragraph, self.notes)]

    def _title(self) -> str:
        number = len(self.kept) + len(self.dropped)
        return f"Features kept by the leave-one-out log score of the labels, {len(self.kept)} of {number}:"


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
    plot_feature_selection : The score, step by step.
    feature_evidence : The evidence that a feature depends on the class.
    weight_features : Weights for features that are not independent.

    Notes
    -----
    The score of the subset that is kept is too high, because the subset was chosen by it. To measure how well the
    model predicts new rows, select the features anew in each training part of a cross-validation.

    Naive Bayes counts features that repeat each other several times, and is then overconfident. The search drops such
    repeats. A feature that is dropped may still depend on the class (`feature_evidence`).

    If the features are independent given the class, usually all of them are kept. In 200 tables of 60 rows and ten
    `Bernoulli` columns, the probability of each class and column uniform from 0 to 1, features were dropped from ten
    tables, and the log score of new labels changed by -0.0002 nats a row on average (standard error 0.0002). If the
    best subset were kept in any case, it would change by -0.014.

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
    model = model_of(model)
    X, y = split_labels(X, y, model.features)
    table = as_table(X)
    weights = check_weights(sample_weight, table.num_rows)
    if table.num_rows and not weights.any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
    problem = read_table(model, table, y, sample_weight)
    _refuse(problem, weights)
    found = features_left_out(Exact().fit(problem), table, y, sample_weight, kept=_of_positive_weight)
    found.require_finite("no subsets can be compared")
    found, remarks = found.of_possible_labels("the score")
    for remark in remarks:
        warn(remark, UserWarning)
    steps = while_rising(_ratios(found))
    better = steps[-1].difference > STANDARD_ERRORS * steps[-1].se
    kept = (steps[-1] if better else steps[0]).kept > 0
    notes = [_not_kept(steps[-1])] if len(steps) > 1 and not better else []
    notes += [f"{remark}." for remark in remarks]
    return FeatureSelection(
        model=with_features(model, problem.model, np.flatnonzero(kept).tolist()),
        kept=tuple(_where(kept, found.names)),
        dropped=tuple(_where(~kept, found.names)),
        table=_as_frame(steps, found.names),
        notes=tuple(notes),
    )


def _refuse(problem: Problem, weights: np.ndarray) -> None:
    model = problem.model
    for block in model.blocks:
        if not isinstance(block.family, ConjugateFamily):
            raise ValueError(
                f"{block.owner()} is {block.family.family_name}, which has no closed form, as the leave-one-out "
                "score of every subset of the features needs: give it a family that has one, such as nb.Histogram() "
                "for numbers, or leave it out of the model"
            )
    for name, distribution in model.hyperpriors.items():
        raise ValueError(
            f"the hyperparameter {name!r} is learned, {format_number(distribution)}, which leaves no closed form: give "
            "a number, or the model of nb.fit(model, X, y, nb.EmpiricalBayes())"
        )
    problem.require_labels("nb.select_features", "leave these rows out")
    require_two_classes(model.schema.classes)
    if model.feature_inclusion is not None and (weights != 1.0).any():
        raise ValueError(
            "the model averages over subsets of its features, whose leave-one-out score has no weights of rows: leave "
            "sample_weight out, or select the features of model.with_feature_inclusion(None)"
        )


def _of_positive_weight(table: Table, rows: LabelledRows) -> np.ndarray:
    return np.flatnonzero(rows.weights)


def _ratios(found: FeaturesLeftOut) -> LabelRatios:
    """Log densities relative to those of the row's class."""
    own = np.arange(len(found.rows)), found.rows.codes
    of_classes, of_features = found.log_class_prob, found.log_density
    of_features -= of_features[own][:, None]
    return LabelRatios(of_classes - of_classes[own][:, None], of_features, found.rows.weights)


def _not_kept(best: Step) -> str:
    return (
        f"The best subset that was found is not kept: its score is {best.difference:.1f} higher than that of all "
        f"features, which is not more than two standard errors of {best.se:.1f}."
    )


def _where(kept: np.ndarray, names: Sequence[Any]) -> Iterator[Any]:
    return (name for name, is_so in zip(names, kept, strict=True) if is_so)


def _as_frame(steps: Sequence[Step], names: Sequence[Any]) -> pd.DataFrame:
    """The attribute `table` of `FeatureSelection`."""
    lines = [
        {
            "feature": "all features" if step.feature is None else names[step.feature],
            "action": "" if step.feature is None else "add" if step.kept[step.feature] else "drop",
            "elpd_label": step.score,
            "difference": step.difference,
            "se": step.se,
        }
        for step in steps
    ]
    return pd.DataFrame(lines, index=pd.RangeIndex(len(lines), name="step"))
