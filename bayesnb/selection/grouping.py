"""Which columns depend on each other within the classes? They are merged while the log evidence rises."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.arrays import in_float64
from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model
from bayesnb.pictures.grouping import plot_column_grouping
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import Fitted, model_of
from bayesnb.printing import DataTable, Heading, Paragraph, Piece, Printed
from bayesnb.problem import Problem
from bayesnb.selection.category_blocks import category_blocks
from bayesnb.selection.classes import require_two_classes
from bayesnb.selection.grouped_model import grouped_model
from bayesnb.selection.merges import Blocks, Merge, Search, merge_while_rising
from bayesnb.selection.number_blocks import number_blocks
from bayesnb.selection.parts import CATEGORIES, NUMBERS, Part, mergeable_parts, name_columns, require_numbers
from bayesnb.selection.rewritten_features import block_label
from bayesnb.sources.memory import read_table
from bayesnb.tables.label_column import split_labels
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.sparse import SparseTable
from bayesnb.tables.table import Table
from bayesnb.tables.weights import check_weights
from bayesnb.validate import whole_number
from bayesnb.warn import warn

__all__ = ["ColumnGrouping", "group_columns"]


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
        and ``total``, the sum of the log Bayes factors so far, by which the log evidence of the model has risen.
    blocks : dict
        By the name of each block that was merged, its columns.
    notes : tuple of str
        Which columns and blocks were not tried, and why the search ended.

    See Also
    --------
    group_columns : Merge columns that depend on each other.
    plot_column_grouping : The log evidence, merge by merge.

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

    def plot(self, **options: Any) -> Any:
        """The rise of the log evidence, merge by merge; see `bayesnb.plot_column_grouping`."""
        return plot_column_grouping(self, **options)

    def _parts(self) -> list[Piece]:
        parts: list[Piece] = [Heading(self._title())]
        if len(self.table):
            merged = self.table["first"].astype(str) + " + " + self.table["second"].astype(str)
            shown = pd.DataFrame({"family": self.table["family"], "gain": self.table["log_bayes_factor"]})
            shown.index = pd.Index(merged, name="merged")
            parts.append(DataTable(shown, number=".1f", rows=len(shown)))
        return [*parts, *map(Paragraph, self.notes)]

    def _title(self) -> str:
        if not len(self.table):
            return "No columns are merged."
        return f"Columns merged by the log evidence, {self.table['total'].iloc[-1]:.1f} higher in the end:"


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
    r"""Merge columns that depend on each other within the classes into joint blocks, while the log evidence rises.

    The log Bayes factor of a merge compares a joint block of some columns with the same columns independent given the
    class:

    .. math:: \log B = \sum_c \big[\log p(x_{\cdot ST} \mid y = c) - \log p(x_{\cdot S} \mid y = c)
              - \log p(x_{\cdot T} \mid y = c)\big],

    where S and T are columns or blocks, the parameters are integrated out, and the rows are those of class c
    (Murphy 2012, *Machine Learning: a Probabilistic Perspective*, section 5.3). The search is greedy: it merges the
    pair of the highest log Bayes factor, measures the pairs of the new block, and ends when no pair has a positive
    one. The log evidence of the model (`ExactPosterior.log_evidence`) rises by the log Bayes factor of each merge.

    Columns of real numbers, `Gaussian`, become blocks of `MultivariateGaussian`; columns of categories and of zeros and
    ones, `Categorical` and `Bernoulli`, become blocks of `JointCategorical`. Joint blocks of these two families that
    the model already has may grow. All other columns stay as they are, and a number is never merged with a category.

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

    Warns
    -----
    UserWarning
        If columns have missing cells: they are not merged, because a joint block is fitted to whole rows.

    See Also
    --------
    ColumnGrouping : The result.
    plot_column_grouping : The log evidence, merge by merge.
    MultivariateGaussian : Numbers that depend on each other.
    JointCategorical : Categories that depend on each other.

    Notes
    -----
    Hyperparameters are chosen so that each column keeps its prior:

    - ``Gaussian(loc, kappa, concentration, rate)`` becomes ``MultivariateGaussian(loc, kappa, df, scale)`` with df
      twice the concentration plus the number of columns minus one, and a diagonal scale of twice the rates. Defaults
      that follow the data stay defaults. `kappa` and `concentration` must be the same for all columns.
    - Columns of categories with the default concentration, one, become ``JointCategorical()``. Each column keeps its
      prior if all have as many categories; otherwise all combinations weigh as much as the geometric mean of the
      numbers of categories. Other concentrations are carried over if each column gives all its categories the same
      weight, and the sum of these weights is that of every other column.

    Columns that differ can be left out with `columns`.

    The search reads the cells once. For real numbers all evidences follow from one scatter matrix for each class, and
    for categories from counts of the rows. Blocks of more than a million combinations of categories are not tried.
    Where a block has more columns than a class has rows, the prior is still proper, and the evidence falls. A greedy
    search may miss the best of all partitions.

    The groups are chosen with the data, so that the evidence of the model is too high. If the first model has D columns
    of one kind, every merge is one of at most D (D - 1) / 2, and the end of the search is one more possibility. The
    evidence averaged over all these choices is lower by at most the log of their number for each merge and for the end:
    3.8 nats each with ten columns. Log Bayes factors below that decide little. Leave-one-out scores of the model are
    nearly unaffected, because one row rarely changes a merge. Cross-validation with new groups in each fold measures
    it.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> X = X[["bill_length_mm", "flipper_length_mm", "body_mass_g"]].dropna()
    >>> y = y[X.index]
    >>> grouping = nb.group_columns(nb.Gaussian(), X, y)
    >>> grouping
    Columns merged by the log evidence, 140.0 higher in the end:
    merged                                                          family  gain
    flipper_length_mm + body_mass_g                   MultivariateGaussian  70.9
    bill_length_mm + flipper_length_mm & body_mass_g  MultivariateGaussian  69.1
    >>> separate, joint = nb.fit(nb.Gaussian(), X, y), nb.fit(grouping.model, X, y)
    >>> round(joint.log_evidence - separate.log_evidence, 1)
    140.0
    """
    model = model_of(model)
    width = whole_number("max_width", max_width)
    X, y = split_labels(X, y, model.features)
    table = as_table(X)
    _refuse(model, table)
    problem = read_table(model, table, y, sample_weight)
    _refuse_labels(problem)
    require_numbers(problem.model)
    parts = mergeable_parts(problem, [columns] if isinstance(columns, str | int) else columns)
    rows = _read_rows(problem, table, y, sample_weight)
    lacking = {part: rows.lacking(part) for part in parts}
    whole = [part for part in parts if not lacking[part]]
    blocks = _blocks(problem, whole, rows)
    search = merge_while_rising(whole, blocks, width)
    names = problem.model.schema.columns
    missing = [names[column] for part in parts for column in lacking[part]]
    if missing:
        warn(_missing_cells(missing), UserWarning)
    families = {part.columns: blocks[part.kind].family(part.columns) for part in search.blocks}
    return ColumnGrouping(
        model=grouped_model(model, problem.model, families),
        table=_as_frame(problem.model, search.merges, blocks),
        blocks={block_label(named): named for named in (_names(problem.model, part) for part in search.blocks)},
        notes=tuple(_notes(problem.model, whole, search, missing, width)),
    )


@dataclass(frozen=True)
class _Rows:
    """The rows of positive weight.

    Attributes
    ----------
    cells : dict
        By position, the cells of a column; categories are codes, and missing cells NaN.
    codes : array of int, shape (rows,)
        Position of each row's class.
    weights : array, shape (rows,)
    """

    cells: Mapping[int, np.ndarray]
    codes: np.ndarray
    weights: np.ndarray

    def lacking(self, part: Part) -> list[int]:
        """Columns of a part with missing cells."""
        return [column for column in part.columns if np.isnan(self.cells[column]).any()]

    def of(self, parts: Sequence[Part]) -> np.ndarray:
        """Cells of the columns of some parts, one part after another, shape (rows, columns)."""
        return np.column_stack([self.cells[column] for part in parts for column in part.columns])


def _read_rows(problem: Problem, table: Table, y: Any, sample_weight: Any) -> _Rows:
    model = problem.model
    codes, weights = (
        encode_labels(y, table.num_rows, model.schema.classes),
        check_weights(sample_weight, table.num_rows),
    )
    kept = weights > 0
    # The problem has warned of values that are not among the categories.
    found = zip(model.blocks, model.read(table).whole(warn=False), strict=True)
    cells = {column: x[kept, j] for block, x in found for j, column in enumerate(block.columns)}
    return _Rows(cells, codes[kept], weights[kept])


def _blocks(problem: Problem, parts: Sequence[Part], rows: _Rows) -> dict[str, Blocks]:
    """By kind, what gives the evidences of joint blocks."""
    found: dict[str, Blocks] = {}
    numbers, categories = ([part for part in parts if part.kind == kind] for kind in (NUMBERS, CATEGORIES))
    if numbers:
        membership = np.eye(len(problem.model.schema.classes))[rows.codes] * rows.weights[:, None]
        found[NUMBERS] = number_blocks(problem, numbers, rows.of(numbers), membership)
    if categories:
        found[CATEGORIES] = category_blocks(problem, categories, rows.of(categories), rows.codes, rows.weights)
    return found


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
        }
        for merge in merges
    ]
    table = pd.DataFrame(lines, columns=["first", "second", "family", "log_bayes_factor"])
    table.index = pd.RangeIndex(1, len(table) + 1, name="merge")
    table["log_bayes_factor"] = table["log_bayes_factor"].astype(np.float64)
    return table.assign(total=table["log_bayes_factor"].cumsum())


def _missing_cells(names: Sequence[Any]) -> str:
    return (
        f"columns {name_columns(names)} have missing cells and are not merged, because a joint block is fitted to "
        "whole rows: leave these rows out, or fill in the cells"
    )


def _notes(
    model: BoundModel, parts: Sequence[Part], search: Search, missing: Sequence[Any], max_width: int
) -> Iterator[str]:
    if missing:
        message = _missing_cells(missing)
        yield f"{message[0].upper()}{message[1:]}."
    if max((sum(part.kind == kind for part in parts) for kind in (NUMBERS, CATEGORIES)), default=0) < 2:
        yield (
            "There are no two columns to merge: joint blocks are of columns without missing cells that have "
            "nb.Gaussian(), or nb.Categorical() or nb.Bernoulli(), and that columns= names if it is given."
        )
    if search.best_left is not None:
        first, second = (_label(model, part) for part in (search.best_left.first, search.best_left.second))
        factor = search.best_left.log_bayes_factor
        more = "other " if search.merges else ""
        yield (
            f"No {more}merge raises the log evidence: the best, of {first!r} and {second!r}, has log Bayes factor "
            f"{factor:.1f}."
        )
    if search.too_wide:
        yield f"Blocks of more than {max_width} columns were not tried, as max_width={max_width} says."
    if search.too_many:
        yield "Blocks of more than a million combinations of categories were not tried."
