"""Columns merged into joint blocks."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import ForestPanel, Points, forest, how_many
from bayesnb.core.panels import MARKERS
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed
from bayesnb.data.labels import require_two_classes
from bayesnb.data.read import read_rows
from bayesnb.data.tables import SparseTable
from bayesnb.families.family import Family
from bayesnb.inference.fit import problem_of
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.posterior.kinds import Fitted, model_of
from bayesnb.posterior.posterior import Posterior
from bayesnb.selection.features import changed_model, rewritten_features
from bayesnb.selection.joint_blocks import (
    ZERO_AND_ONE,
    Blocks,
    Cells,
    Part,
    blocks_of,
    cells_of,
    joins_densities,
    mergeable_parts,
)

# --------------------------------------------------------------------------------------------------
# A model with joint blocks in place of some columns
# --------------------------------------------------------------------------------------------------


def _grouped_model(model: Model, bound: BoundModel, merged: Mapping[tuple[int, ...], Family]) -> Model:
    """The model with joint blocks, each where its first column was; other columns keep their families.

    `merged` has the family of each block by the positions of its columns. The result is bound if `model` is.
    """
    if not merged:
        return model
    placed_in = {column: columns for columns in merged for column in columns}
    categories = {column: ZERO_AND_ONE for column, of in placed_in.items() if merged[of].cell == "category"}
    return changed_model(model, categories=categories, features=rewritten_features(model, bound, placed_in, merged))


# --------------------------------------------------------------------------------------------------
# Merging parts of a model, the best pair first, while its log Bayes factor exceeds the log of the number of pairs
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Merge:
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
        """The threshold of the log Bayes factor.

        "Some pair depends" and "no pair does" have the same prior probability, and every pair the same share of it.
        """
        return math.log(self.pairs)

    @property
    def block(self) -> Part:
        """The block, its columns in the order of the table."""
        first, second = self.first, self.second
        names = dict(zip(first.columns + second.columns, first.names + second.names, strict=True))
        columns = tuple(sorted(names))
        total = first.log_evidence + second.log_evidence + self.log_bayes_factor
        return Part(columns, tuple(names[column] for column in columns), first.joint, total)


@dataclass(frozen=True)
class _MergeSearch:
    """The result of a search.

    Attributes
    ----------
    merges : list of Merge
        In their order.
    blocks : list of Part
        The merged blocks at the end.
    best_left : Merge or None
        The best of the pairs that were left, which does not exceed its threshold; None if no pair was left.
    too_wide : bool
        Whether pairs were left out because their block would be wider than the limit.
    too_many : bool
        Whether pairs were left out because their block cannot be.
    """

    merges: list[_Merge]
    blocks: list[Part]
    best_left: _Merge | None
    too_wide: bool
    too_many: bool


def merge_while_rising(parts: Sequence[Part], blocks: Mapping[type[Family], Blocks], max_width: int) -> _MergeSearch:
    """Merge the pair of parts with the highest log Bayes factor, again and again while it exceeds its threshold.

    All pairs are measured at the beginning, and after a merge those of the new block, which has at most `max_width`
    columns. `blocks` are by the family of the joint blocks.
    """
    left = dict(enumerate(parts))
    gain = np.full((len(parts), len(parts)), -np.inf)
    merges: list[_Merge] = []
    too_wide = too_many = False
    new = list(combinations(left, 2))
    while True:
        for joint, of_joint in blocks.items():
            places = [(i, j) for i, j in new if left[i].joint is left[j].joint is joint]
            allowed = [(i, j) for i, j in places if left[i].width + left[j].width <= max_width]
            too_wide |= len(allowed) < len(places)
            if allowed:
                pairs = [(left[i], left[j]) for i, j in allowed]
                joined = of_joint.log_evidence(pairs)
                too_many |= bool(np.isneginf(joined).any())
                gain[tuple(np.transpose(allowed))] = joined - [
                    first.log_evidence + second.log_evidence for first, second in pairs
                ]
        best = None
        if (competing := int((gain > -np.inf).sum())) > 0:
            i, j = map(int, np.unravel_index(gain.argmax(), gain.shape))
            first, second = sorted((left[i], left[j]), key=lambda part: part.columns)
            best = _Merge(first, second, float(gain[i, j]), competing)
        if best is None or best.log_bayes_factor <= best.threshold:
            merged = [part for part in left.values() if part.given is None]
            return _MergeSearch(merges, merged, best, too_wide, too_many)
        merges.append(best)
        gain[[i, j]] = gain[:, [i, j]] = -np.inf
        del left[j]
        left[i] = best.block
        new = [(i, k) for k in left if k != i]


# --------------------------------------------------------------------------------------------------
# Which columns depend on each other within the classes? They are merged while the evidence is for it
# --------------------------------------------------------------------------------------------------

FEW_VALUES = 20
"""A column with at most this many distinct values joins a block of numbers only if its family is Gaussian."""


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
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            A line for each merge, from the log evidence before it to that after it, which has a point, both minus the
            log evidence of the model without merges. The name of its row has its length, the log Bayes factor.

        Raises
        ------
        TypeError, ValueError
            If no columns were merged.

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
        if not len(self.table):
            raise ValueError("no columns were merged, so that there is nothing to draw: .notes says why")
        shown = self.table.head(whole_number("max_merges", max_merges))
        texts = zip(shown["first"], shown["second"], shown["log_bayes_factor"], strict=True)
        families = list(dict.fromkeys(shown["family"]))
        rows = ForestPanel(
            [f"{first}\n+ {second}: +{factor:.1f}" for first, second, factor in texts],
            [
                Points(shown["total"].where(shown["family"] == family), family, MARKERS[i], f"C{i}")
                for i, family in enumerate(families)
            ],
            shown["total"] - shown["log_bayes_factor"],
            shown["total"],
            x_label="log evidence, difference to the model without merges (nats)",
            limits=(0.0, None),
        )
        number = how_many(len(shown), len(self.table), "merge", "first")
        return forest([rows], title=f"Log evidence that merges of columns add: {number}", ax=ax, figsize=figsize)

    def _parts(self) -> list[Piece]:
        if not len(self.table):
            return [Heading("No columns are merged."), *map(Paragraph, self.notes)]
        merged = self.table["first"].astype(str) + " + " + self.table["second"].astype(str)
        shown = self.table[["family", "log_bayes_factor", "threshold"]]
        shown.columns = pd.Index(["family", "factor", "threshold"])
        shown.index = pd.Index(merged, name="merged")
        title = f"Columns merged by log Bayes factors, together {self.table['total'].iloc[-1]:.1f}:"
        return [Heading(title), DataTable(shown, number=".1f", rows=len(shown)), *map(Paragraph, self.notes)]


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
    if isinstance(given.table, SparseTable):
        raise TypeError(
            "X is sparse, and joint blocks are fitted to columns of a dense table: give a table of few columns as an "
            "array, X.toarray()"
        )
    problem = problem_of(model, given)
    if problem.model.description.feature_inclusion is not None:
        raise ValueError(
            "the model averages over subsets of its features, and a merge changes which features there are: group the "
            "columns of model.with_feature_inclusion(None)"
        )
    problem.require_labels("nb.group_columns", "leave these rows out")
    problem.model.require_one_description("group_columns")
    require_two_classes(problem.model.schema.classes)
    parts = mergeable_parts(problem, [columns] if isinstance(columns, str | int) else columns)
    cells = cells_of(problem.model, given.of_classes(problem.model.schema.classes))
    joins = joins_densities(parts)
    # Where few values repeat, a density may be higher than any probability.
    parts = [
        part for part in parts if not part.density or (joins and len(np.unique(cells.of(part.columns))) > FEW_VALUES)
    ]
    blocks = blocks_of(problem, parts, cells)
    for i, part in enumerate(parts):
        # The statistics of a joint block of the model leave out rows with gaps.
        if part.width > 1 and not cells.lacking.isdisjoint(part.columns):
            parts[i] = replace(part, log_evidence=blocks[part.joint].log_evidence_with_gaps(part.columns))
    search = merge_while_rising(parts, blocks, width)
    families = {part.columns: blocks[part.joint].family(part.columns) for part in search.blocks}
    return ColumnGrouping(
        model=_grouped_model(model, problem.model, families),
        table=_merge_frame(search.merges),
        blocks={part.label: part.names for part in search.blocks},
        notes=tuple(_notes(parts, search, cells, width)),
    )


def _merge_frame(merges: Sequence[_Merge]) -> pd.DataFrame:
    """The attribute `table` of `ColumnGrouping`."""
    lines = [
        (each.first.label, each.second.label, each.first.joint.__name__, each.log_bayes_factor, each.threshold)
        for each in merges
    ]
    columns = ["first", "second", "family", "log_bayes_factor", "threshold"]
    table = pd.DataFrame(lines, pd.RangeIndex(1, len(merges) + 1, name="merge"), columns)
    table = table.astype(dict.fromkeys(columns[3:], float))
    return table.assign(total=table["log_bayes_factor"].cumsum())


def _notes(parts: Sequence[Part], search: _MergeSearch, cells: Cells, max_width: int) -> Iterator[str]:
    joints = [part.joint for part in parts]
    if len(joints) == len(set(joints)):
        yield (
            "There are no two columns to merge: joint blocks are of measurements, or of columns that have "
            "nb.Categorical() or nb.Bernoulli(), and that columns= names if it is given."
        )
    for part in search.blocks:
        lacking = np.isnan(cells.of(part.columns)).any(axis=1).sum()
        if lacking:
            yield (
                f"{lacking} of {len(cells.codes)} rows lack a cell of the block {part.label!r}, which is fitted to the "
                "others."
            )
    if search.best_left is not None:
        left = search.best_left
        more = "other " if search.merges else ""
        yield (
            f"No {more}merge exceeds its threshold: the best of {left.pairs}, that of {left.first.label!r} and "
            f"{left.second.label!r}, has log Bayes factor {left.log_bayes_factor:.1f}, and has to exceed "
            f"log {left.pairs} = {left.threshold:.1f}."
        )
    if search.too_wide:
        yield f"Blocks of more than {max_width} columns were not tried, as max_width={max_width} says."
    if search.too_many:
        yield "Blocks of more than a million combinations of categories were not tried."
