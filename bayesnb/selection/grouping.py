"""Columns merged into joint blocks."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.arrays import in_float64
from bayesnb.core.checking import whole_number
from bayesnb.core.forest import how_many
from bayesnb.core.panels import TINY, panel_of_rows, text_color, text_width
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed
from bayesnb.data.labels import require_two_classes
from bayesnb.data.read import LabelledRows, read_rows
from bayesnb.data.tables import SparseTable, Table
from bayesnb.families.base import Family
from bayesnb.inference.sources import problem_of
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.model.problem import Problem
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.weighted import Fitted, model_of
from bayesnb.selection.features import block_label, rewritten_features
from bayesnb.selection.joint_blocks import (
    CATEGORIES,
    NUMBERS,
    ZERO_AND_ONE,
    Blocks,
    Part,
    Rows,
    category_blocks,
    joins_densities,
    mergeable_parts,
    number_blocks,
    require_numbers,
)

__all__ = ["ColumnGrouping", "group_columns", "merge_while_rising"]

# --------------------------------------------------------------------------------------------------
# The figure of columns that were merged: the rise of the log evidence, merge by merge
# --------------------------------------------------------------------------------------------------

COLOURS = {"MultivariateGaussian": "C0", "JointCategorical": "C1"}

PATTERNS = {"MultivariateGaussian": "", "JointCategorical": "///"}
"""Hatches, so that the families differ without colour."""


# --------------------------------------------------------------------------------------------------
# A model with joint blocks in the place of some of its columns
# --------------------------------------------------------------------------------------------------


def grouped_model(model: Model, bound: BoundModel, merged: Mapping[tuple[int, ...], Family]) -> Model:
    """The model with joint blocks, each where its first column was; other columns keep their families.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
        The model that was given; the result is bound if it is.
    bound : BoundModel
        The model of the table.
    merged : mapping
        By the positions of the columns of each block, its family.
    """
    if not merged:
        return model
    placed_in = {column: columns for columns in merged for column in columns}
    features = rewritten_features(model, bound, placed_in, merged)
    if not isinstance(model, BoundModel):
        return replace(model, features=features)
    categories = {
        column: ZERO_AND_ONE for columns, family in merged.items() if family.cell == "category" for column in columns
    }
    description = replace(model.description, features=features)
    return BoundModel.of(description, replace(bound.schema, categories=categories | dict(bound.schema.categories)))


# --------------------------------------------------------------------------------------------------
# Merging parts of a model, the best pair first, while its log Bayes factor exceeds the log of the number of pairs
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Merge:
    """Two parts as one block.

    Attributes
    ----------
    first, second : Part
    log_bayes_factor : float
        Log evidence of the block less those of the two parts.
    pairs : int
        Number of pairs that could be merged in this step.
    """

    first: Part
    second: Part
    log_bayes_factor: float
    pairs: int

    @property
    def threshold(self) -> float:
        """What the log Bayes factor has to exceed.

        "Some pair depends" and "no pair does" have the same prior probability, and every pair the same share of it.
        """
        return math.log(self.pairs)

    @property
    def block(self) -> Part:
        """The block, its columns in the order of the table."""
        columns = tuple(sorted((*self.first.columns, *self.second.columns)))
        total = self.first.log_evidence + self.second.log_evidence + self.log_bayes_factor
        return Part(None, columns, self.first.kind, total)


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes
    ----------
    merges : tuple of Merge
        In their order.
    blocks : tuple of Part
        The blocks at the end that are merged of others.
    best_left : Merge or None
        The best of the pairs that were left, which does not exceed its threshold; None if no pair was left.
    too_wide : bool
        Whether pairs were left out because their block would be wider than the limit.
    too_many : bool
        Whether pairs were left out because their block cannot be.
    """

    merges: tuple[Merge, ...]
    blocks: tuple[Part, ...]
    best_left: Merge | None
    too_wide: bool
    too_many: bool


def merge_while_rising(parts: Sequence[Part], blocks: Mapping[str, Blocks], max_width: int) -> Search:
    """Merge the pair of parts with the highest log Bayes factor, again and again while it exceeds its threshold.

    All pairs are measured at the beginning, and after a merge those of the new block.

    Parameters
    ----------
    parts : sequence of Part
    blocks : mapping
        By kind.
    max_width : int
        Largest number of columns of a block.
    """
    left = dict(enumerate(parts))
    gain = np.full((len(parts), len(parts)), -np.inf)
    merges: list[Merge] = []
    too_wide = too_many = False
    new = list(combinations(left, 2))
    while True:
        for kind, of_kind in blocks.items():
            places = [(i, j) for i, j in new if left[i].kind == left[j].kind == kind]
            allowed = [(i, j) for i, j in places if left[i].width + left[j].width <= max_width]
            too_wide |= len(allowed) < len(places)
            if allowed:
                pairs = [(left[i], left[j]) for i, j in allowed]
                joined = of_kind.log_evidence(pairs)
                too_many |= bool(np.isneginf(joined).any())
                gain[tuple(np.transpose(allowed))] = joined - [
                    first.log_evidence + second.log_evidence for first, second in pairs
                ]
        best = None
        if (competing := int((gain > -np.inf).sum())) > 0:
            i, j = map(int, np.unravel_index(gain.argmax(), gain.shape))
            first, second = sorted((left[i], left[j]), key=lambda part: part.columns)
            best = Merge(first, second, float(gain[i, j]), competing)
        if best is None or best.log_bayes_factor <= best.threshold:
            merged = tuple(part for part in left.values() if part.feature is None)
            return Search(tuple(merges), merged, best, too_wide, too_many)
        merges.append(best)
        gain[[i, j]] = gain[:, [i, j]] = -np.inf
        del left[j]
        left[i] = best.block
        new = [(i, k) for k in left if k != i]


# --------------------------------------------------------------------------------------------------
# Which columns depend on each other within the classes? They are merged while the evidence is for it
# --------------------------------------------------------------------------------------------------

FEW_VALUES = 20
"""A column of so many different values or fewer joins a block of numbers only if its family is Gaussian."""


@dataclass(frozen=True, repr=False)
class ColumnGrouping(Printed):
    """The result of `group_columns`.

    Attributes
    ----------
    model : NaiveBayes or BoundModel
        The model with joint blocks in place of the columns that were merged; the given model if none were.
    table : pandas.DataFrame
        A row for each merge, in their order: ``first`` and ``second``, the columns or blocks that were merged;
        ``family``, that of their block; ``log_bayes_factor``, the log evidence of the block minus those of the two;
        ``threshold``, the log of the number of pairs that could be merged in this step, which the factor exceeds; and
        ``total``, the sum of the log Bayes factors so far. If no cell is missing, the log evidence of the model has
        risen by it.
    blocks : dict
        By the name of each block that was merged, its columns.
    notes : tuple of str
        Which blocks were not tried, which rows a block leaves out, and why the search ended.

    See Also
    --------
    group_columns : Merge columns that depend on each other.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> X = X[["bill_length_mm", "body_mass_g"]].dropna()
    >>> grouping = nb.group_columns(nb.Gaussian(), X, y[X.index])
    >>> grouping.blocks
    {'bill_length_mm & body_mass_g': ('bill_length_mm', 'body_mass_g')}
    """

    model: Model
    table: pd.DataFrame
    blocks: Mapping[str, tuple[Any, ...]]
    notes: tuple[str, ...]

    def plot(self, *, max_merges: int = 30, ax: Any = None, figsize: Any = None) -> Any:
        """The rise of the log evidence, merge by merge.

        Parameters
        ----------
        max_merges : int, default 30
            The first merges are drawn.
        ax : matplotlib axes, optional
            Where to draw; by default in a new figure.
        figsize : (width, height), optional
            Inches of a new figure; a height of None follows from the rows.

        Returns
        -------
        matplotlib.figure.Figure
            A bar for each merge, from the log evidence before it to that after it, both minus the log evidence of the
            model without merges; with its length, the log Bayes factor, as a number.

        Raises
        ------
        TypeError, ValueError
            If no columns were merged, or `ax` and `figsize` do not fit.

        See Also
        --------
        group_columns : Merge columns that depend on each other.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> X = X[["bill_length_mm", "flipper_length_mm", "body_mass_g"]].dropna()
        >>> grouping = nb.group_columns(nb.Gaussian(), X, y[X.index])
        >>> figure = grouping.plot()
        """
        from bayesnb.core.picture import Patch

        if not len(self.table):
            raise ValueError("no columns were merged, so that there is nothing to draw: .notes says why")
        shown = self.table.head(whole_number("max_merges", max_merges))
        names = [f"{first}\n+ {second}" for first, second in zip(shown["first"], shown["second"], strict=True)]
        panels = panel_of_rows(names, ax=ax, figsize=figsize, row_height=0.45, shorten=True)
        (axis,) = panels.axes
        numbers = [f" +{factor:.1f}" for factor in shown["log_bayes_factor"]]
        for row, (_, merge) in enumerate(shown.iterrows()):
            factor, total, family = merge["log_bayes_factor"], merge["total"], merge["family"]
            look = {
                "facecolor": COLOURS[family],
                "edgecolor": text_color(),
                "hatch": PATTERNS[family],
                "linewidth": 0.6,
            }
            axis.barh(row, factor, left=total - factor, height=0.5, zorder=2, **look)
            axis.text(total, row, numbers[row], va="center", ha="left", fontsize=TINY, zorder=3)
        widest = max(text_width(number, TINY) for number in numbers)
        axis.set_xlim(0.0, shown["total"].iloc[-1] / max(0.4, 1 - (widest + 0.05) / panels.panel_width))
        axis.locator_params(axis="x", nbins=5)
        panels.x_label("log evidence, difference to the model without merges (nats)")
        panels.title(
            f"Log evidence that merges of columns add: {how_many(len(shown), len(self.table), 'merge', 'first')}"
        )
        families = [family for family in COLOURS if (shown["family"] == family).any()]
        looks = [{"facecolor": COLOURS[each], "edgecolor": text_color(), "hatch": PATTERNS[each]} for each in families]
        panels.legend([(Patch(**look), family) for look, family in zip(looks, families, strict=True)])
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        parts: list[Piece] = [Heading(self._title())]
        if len(self.table):
            merged = self.table["first"].astype(str) + " + " + self.table["second"].astype(str)
            shown = self.table[["family", "log_bayes_factor", "threshold"]]
            shown.columns = pd.Index(["family", "factor", "threshold"])
            shown.index = pd.Index(merged, name="merged")
            parts.append(DataTable(shown, number=".1f", rows=len(shown)))
        return [*parts, *map(Paragraph, self.notes)]

    def _title(self) -> str:
        if not len(self.table):
            return "No columns are merged."
        return f"Columns merged by log Bayes factors, together {self.table['total'].iloc[-1]:.1f}:"


@in_float64
def group_columns(
    model: Model | Family | Posterior | Fitted,
    X: Any,
    y: Any,
    *,
    columns: Sequence[Any] | None = None,
    max_width: int = 30,
    sample_weight: Any = None,
) -> ColumnGrouping:
    r"""Merge columns that depend on each other within the classes into joint blocks, while the evidence is for it.

    The log Bayes factor of a merge compares a joint block of some columns with the same columns independent given the
    class:

    .. math:: \log B = \sum_c \big[\log p(x_{\cdot ST} \mid y = c) - \log p(x_{\cdot S} \mid y = c)
              - \log p(x_{\cdot T} \mid y = c)\big],

    where S and T are columns or blocks, the parameters are integrated out, and the rows are those of class c
    (Murphy 2012, *Machine Learning: a Probabilistic Perspective*, section 5.3). The search is greedy: it merges the
    pair of the highest log Bayes factor, measures the pairs of the new block, and ends when the highest one does not
    exceed the log of the number of pairs that can be merged. This is the choice of the higher posterior probability
    under a prior that gives "no pair depends" and "one pair does" the same probability, shared equally by the pairs.
    The log evidence of the model (`ExactPosterior.log_evidence`) rises by the log Bayes factor of each merge.

    Columns of measurements become blocks of `MultivariateGaussian`, whatever density each has now: its evidence is
    compared with those of the families that the columns have in the model. Columns of categories and of zeros and
    ones, `Categorical` and `Bernoulli`, become blocks of `JointCategorical`. Joint blocks of these two families that
    the model already has may grow. All other columns stay as they are: counts, hurdles, columns of at most 20 different
    values that are not `Gaussian`. A number is never merged with a category.

    A fit of a block leaves out rows that lack one of its cells, with a warning. The evidence of a block is then that of
    the rows it counts, times the predictive density of the observed cells of the others given these.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family, Posterior or fitted estimator
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
        A text is the name of the label's column in X.
    columns : sequence, optional
        Columns that may be merged, by default all.
    max_width : int, default 30
        Largest number of columns of a block that is merged.
    sample_weight : array, shape (rows,), optional

    Returns
    -------
    ColumnGrouping
        The model that it holds is bound if the model given is.

    Raises
    ------
    TypeError
        If X is sparse.
    ValueError
        If y has one class only, lacks a label, or has not one for each row; the model averages over subsets of its
        features; a hyperparameter of a column that may be merged is learned; no joint block has the hyperparameters of
        the columns; or `columns` names a column that does not exist, is not in the model or has another family.

    See Also
    --------
    ColumnGrouping : The result.
    MultivariateGaussian : Numbers that depend on each other.
    JointCategorical : Categories that depend on each other.

    Notes
    -----
    Hyperparameters are chosen so that each column keeps its prior:

    - ``Gaussian(loc, kappa, concentration, rate)`` becomes ``MultivariateGaussian(loc, kappa, df, scale)`` with df
      twice the concentration plus the number of columns minus one, and a diagonal scale of twice the rates. Defaults
      that follow the data stay defaults. `kappa` and `concentration` must be the same for all columns.
    - A column with another density gets the prior of ``Gaussian(kappa=..., concentration=...)`` with the numbers of the
      Gaussian columns. It stays alone if these have a given `loc` or `rate`.
    - Columns of categories with the default concentration, one, become ``JointCategorical()``. Each column keeps its
      prior if all have as many categories; otherwise all combinations weigh as much as the geometric mean of the
      numbers of categories. Other concentrations are carried over if each column gives all its categories the same
      weight, and the sum of these weights is that of every other column.

    Columns that differ can be left out with `columns`.

    The search reads the cells once. For real numbers all evidences follow from one scatter matrix for each class, and
    for categories from counts of the rows. Blocks of more than a million combinations of categories are not tried.
    Where a block has more columns than a class has rows, the prior is still proper, and the evidence falls. A greedy
    search may miss the best of all partitions.

    The groups are chosen with the data, so that the evidence of the model is too high, by at most the threshold of each
    merge and of the end of the search. Leave-one-out scores of the model are too high as well, because the row that is
    left out has helped to choose the groups. Cross-validation with new groups in each fold measures the gain. The
    evidence says how well the model describes the columns: a block may describe them better and predict labels worse.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> X = X[["bill_length_mm", "flipper_length_mm", "body_mass_g"]].dropna()
    >>> y = y[X.index]
    >>> grouping = nb.group_columns(nb.Gaussian(), X, y)
    >>> grouping
    Columns merged by log Bayes factors, together 140.0:
    merged                                                 family  factor  threshold
    flipper_length_mm + body_mass_g          MultivariateGaussian    70.9        1.1
    bill_length_mm + fl…th_mm & body_mass_g  MultivariateGaussian    69.1        0.0
    >>> separate, joint = nb.fit(nb.Gaussian(), X, y), nb.fit(grouping.model, X, y)
    >>> round(joint.log_evidence - separate.log_evidence, 1)
    140.0
    """
    model = model_of(model)
    width = whole_number("max_width", max_width)
    given = read_rows(X, y, sample_weight, model.features)
    _refuse(model, given.table)
    problem = problem_of(model, given)
    _refuse_labels(problem)
    require_numbers(problem.model)
    rows = _encoded(problem.model, given.of_classes(problem.model.schema.classes))
    parts = mergeable_parts(problem, [columns] if isinstance(columns, str | int) else columns)
    joins = joins_densities(parts)
    parts = [part for part in parts if not part.density or (joins and _has_many_values(rows, part))]
    blocks = _blocks(problem, parts, rows)
    parts = [_with_every_row(part, blocks[part.kind]) for part in parts]
    search = merge_while_rising(parts, blocks, width)
    families = {part.columns: blocks[part.kind].family(part.columns) for part in search.blocks}
    return ColumnGrouping(
        model=grouped_model(model, problem.model, families),
        table=_as_frame(problem.model, search.merges, blocks),
        blocks={block_label(named): named for named in (_names(problem.model, part) for part in search.blocks)},
        notes=tuple(_notes(problem.model, parts, search, rows, width)),
    )


def _encoded(model: BoundModel, given: LabelledRows) -> Rows:
    """The cells, labels and weights of the rows of positive weight."""
    kept = given.weights > 0
    # The problem has warned of values that are not among the categories.
    found = zip(model.blocks, model.read(given.table).whole(warn=False), strict=True)
    cells = {column: x[kept, j] for block, x in found for j, column in enumerate(block.columns)}
    return Rows(cells, given.codes[kept], given.weights[kept], len(given.classes))


def _has_many_values(rows: Rows, part: Part) -> bool:
    """Whether a density can describe the column: where few values repeat, it may be higher than any probability."""
    return len(np.unique(rows.of(part.columns))) > FEW_VALUES


def _with_every_row(part: Part, blocks: Blocks) -> Part:
    """A joint block of the model with the evidence of all its cells: its statistics leave out rows with gaps."""
    if part.width == 1 or blocks.rows.lacking.isdisjoint(part.columns):
        return part
    return replace(part, log_evidence=blocks.log_evidence_with_gaps(part.columns))


def _blocks(problem: Problem, parts: Sequence[Part], rows: Rows) -> dict[str, Blocks]:
    """By kind, what gives the evidences of joint blocks."""
    made = {NUMBERS: number_blocks, CATEGORIES: category_blocks}
    of_kind = {kind: [part for part in parts if part.kind == kind] for kind in made}
    return {kind: made[kind](problem, some, rows) for kind, some in of_kind.items() if some}


def _refuse(model: Model, table: Table) -> None:
    if isinstance(table, SparseTable):
        raise TypeError(
            "X is sparse, and joint blocks are fitted to columns of a dense table: give a table of few columns as an "
            "array, X.toarray()"
        )
    if model.feature_inclusion is not None:
        raise ValueError(
            "the model averages over subsets of its features, and a merge changes which features there are: group the "
            "columns of model.with_feature_inclusion(None)"
        )


def _refuse_labels(problem: Problem) -> None:
    problem.require_labels("nb.group_columns", "leave these rows out")
    require_two_classes(problem.model.schema.classes)


def _names(model: BoundModel, part: Part) -> tuple[Any, ...]:
    return tuple(model.schema.columns[column] for column in part.columns)


def _label(model: BoundModel, part: Part) -> str:
    return block_label(_names(model, part))


def _as_frame(model: BoundModel, merges: Sequence[Merge], blocks: Mapping[str, Blocks]) -> pd.DataFrame:
    """The attribute `table` of `ColumnGrouping`."""
    lines = [
        {
            "first": _label(model, merge.first),
            "second": _label(model, merge.second),
            "family": type(blocks[merge.first.kind].family(merge.block.columns)).__name__,
            "log_bayes_factor": merge.log_bayes_factor,
            "threshold": merge.threshold,
        }
        for merge in merges
    ]
    table = pd.DataFrame(lines, columns=["first", "second", "family", "log_bayes_factor", "threshold"])
    table.index = pd.RangeIndex(1, len(table) + 1, name="merge")
    table = table.astype({"log_bayes_factor": np.float64, "threshold": np.float64})
    return table.assign(total=table["log_bayes_factor"].cumsum())


def _notes(model: BoundModel, parts: Sequence[Part], search: Search, rows: Rows, max_width: int) -> Iterator[str]:
    if max((sum(part.kind == kind for part in parts) for kind in (NUMBERS, CATEGORIES)), default=0) < 2:
        yield (
            "There are no two columns to merge: joint blocks are of measurements, or of columns that have "
            "nb.Categorical() or nb.Bernoulli(), and that columns= names if it is given."
        )
    for part in search.blocks:
        lacking = np.isnan(rows.of(part.columns)).any(axis=1).sum()
        if lacking:
            yield (
                f"{lacking} of {len(rows.codes)} rows lack a cell of the block {_label(model, part)!r}, which is "
                "fitted to the others."
            )
    if search.best_left is not None:
        left = search.best_left
        first, second = (_label(model, part) for part in (left.first, left.second))
        more = "other " if search.merges else ""
        yield (
            f"No {more}merge exceeds its threshold: the best of {left.pairs}, that of {first!r} and {second!r}, has "
            f"log Bayes factor {left.log_bayes_factor:.1f}, and has to exceed log {left.pairs} = {left.threshold:.1f}."
        )
    if search.too_wide:
        yield f"Blocks of more than {max_width} columns were not tried, as max_width={max_width} says."
    if search.too_many:
        yield "Blocks of more than a million combinations of categories were not tried."
