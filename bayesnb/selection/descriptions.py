"""Further descriptions of columns that depend on each other: each column given its parent, or in a block."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from bayesnb.core.cells import LARGEST_NUMBER
from bayesnb.core.checking import whole_number
from bayesnb.core.forest import how_many
from bayesnb.core.logarithms import log_rising
from bayesnb.core.panels import SMALL, TINY, line_height, panel_of_rows, percent, text_color, text_width, wrap_to
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, short_name
from bayesnb.core.running import random_generator, results_in_order
from bayesnb.data.labels import require_two_classes
from bayesnb.data.read import Rows, read_rows
from bayesnb.data.tables import SparseTable
from bayesnb.families.all_trees import AllTrees
from bayesnb.families.family import Family, JointFamily
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.given import Given
from bayesnb.families.spanning_trees import edge_probabilities
from bayesnb.model.blocks import EVERY_COLUMN
from bayesnb.model.naive_bayes import Model, NaiveBayes
from bayesnb.model.open_schema import bound_to
from bayesnb.posterior.kinds import Fitted, description_of
from bayesnb.posterior.posterior import Posterior
from bayesnb.selection.grouping import group_columns
from bayesnb.selection.joint_blocks import Cells, cells_of
from bayesnb.selection.readings import readings_of

# --------------------------------------------------------------------------------------------------
# Evidence that two columns depend on each other within the classes, and the forest of the highest evidence
# --------------------------------------------------------------------------------------------------

MOST = 4000
"""Largest number of combinations of categories in a pair that is compared."""

AT_A_TIME = 2**18
"""Largest numbers of cells, and of combinations of classes and categories, that are counted together."""


def _log_bayes_factors(cells: Cells, columns: Sequence[int], sizes: list[int]) -> np.ndarray:
    """Log Bayes factor of each pair of columns for dependence within the classes; NaN for a pair not compared.

    `sizes` has the numbers of categories of the columns. The result has shape (columns, columns).
    """
    # A missing cell has a code of its own, whose counts are dropped.
    of_cells = [np.nan_to_num(cells.by_column[column], nan=size) for column, size in zip(columns, sizes, strict=True)]
    x, size = np.array(of_cells, dtype=np.intp), np.array(sizes)
    weights = None if (cells.weights == 1.0).all() else cells.weights

    def with_later(i: int) -> np.ndarray:
        found, observed = np.full(len(columns), np.nan), x[i] < size[i]
        group = cells.codes[observed] * size[i] + x[i, observed]
        later = i + 1 + np.flatnonzero(size[i] * size[i + 1 :] <= MOST)
        largest = cells.num_classes * size[i] * int(size[later].max(initial=0))
        together = max(1, AT_A_TIME // max(x.shape[1], largest, 1))
        for some in (later[start : start + together] for start in range(0, len(later), together)):
            last = np.cumsum(size[some] + 1) - 1
            place = (group * (last[-1] + 1) + (last - size[some])[:, None] + x[some][:, observed]).ravel()
            weight = None if weights is None else np.tile(weights[observed], len(some))
            count = np.bincount(place, weight, minlength=cells.num_classes * size[i] * (last[-1] + 1))
            shown = np.delete(count.reshape(cells.num_classes, size[i], -1), last, axis=-1)
            found[some] = _log_factors(shown, size[some])
        return found

    found = np.array(list(results_in_order(with_later, range(len(columns)))))
    return np.where(np.isnan(found), found.T, found)


def _log_factors(count: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Log Bayes factors of a column and others, shape (others,).

    `count` has shape (classes, categories of the column, categories of all others), and `size` the number of categories
    of each of the others.
    """
    own, starts = count.shape[1], np.cumsum(size) - size
    total = np.maximum(own, size)
    of_own = np.add.reduceat(count, starts, axis=-1)
    joint = log_rising(np.repeat(total / (own * size), size), count).sum(axis=1)
    alone = log_rising(np.repeat(total / size, size), count.sum(axis=1))
    # A Dirichlet prior has the same sum in all three.
    found = np.add.reduceat(joint - alone, starts, axis=-1) + log_rising(1.0 * total, of_own.sum(axis=1))
    return (found - log_rising(total / own, of_own).sum(axis=1)).sum(axis=0)


def _best_forest(log_factor: np.ndarray, threshold: float) -> list[tuple[int, int]]:
    """Child and parent of each edge of the forest of the largest sum of log factors above a threshold.

    The root of each tree is the node whose edges above the threshold have the largest sum. A parent comes before its
    children, and a tree in front of those with smaller sums. `log_factor` is symmetric, and NaN where there is no edge.
    """
    kept = np.where(log_factor > threshold, log_factor, 0.0)
    forest = minimum_spanning_tree(scipy.sparse.csr_array(-kept))
    tree_of, seen, edges = connected_components(forest, directed=False)[1], set(), []
    for root in np.argsort(-kept.sum(axis=1), kind="stable").tolist():
        if tree_of[root] not in seen:
            seen.add(tree_of[root])
            order, parents = breadth_first_order(forest, root, directed=False)
            edges += [(child, int(parents[child])) for child in order[1:].tolist()]
    return edges


# --------------------------------------------------------------------------------------------------
# Which columns depend on each other? Each gets a further description, given its parent in a forest
# --------------------------------------------------------------------------------------------------


INDENT = 0.3
"""Distance of a column to the right of its parent, in inches."""


LETTERS = 60
"""Largest number of letters in a drawn name, on two lines."""


@dataclass(frozen=True, repr=False)
class ColumnForest(Printed):
    """The result of `tree_columns`.

    Attributes
    ----------
    model : NaiveBayes
        The model with a further feature `Given` for each edge.
    table : pandas.DataFrame
        A row for each edge, a parent before its children: ``child`` and ``parent``, columns; ``log_bayes_factor``; and
        ``probability``, that a tree has the edge, if the probability of each tree of all columns is proportional to the
        product of the Bayes factors of its edges.
    notes : tuple of str
        How many pairs were compared, and the threshold of the factors.

    See Also
    --------
    tree_columns : Describe columns given others.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> forest = nb.tree_columns(nb.Gaussian(), X[["bill_length_mm", "body_mass_g"]], y)
    >>> forest.table["parent"].tolist()
    ['bill_length_mm']
    """

    model: NaiveBayes
    table: pd.DataFrame
    notes: tuple[str, ...]

    def plot(self, *, max_columns: int = 40, ax: Any = None, figsize: Any = None) -> Any:
        """The forest, each column to the right of its parent.

        Parameters
        ----------
        max_columns : int, default 40
            The first columns are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            A row for each column that has a parent or is one. The line from a parent is as thick as the edge is
            probable; the probability is on the right.

        Raises
        ------
        TypeError, ValueError
            If there is no edge.

        See Also
        --------
        tree_columns : Describe columns given others.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> figure = nb.tree_columns(nb.NaiveBayes.from_frame(X, y), X, y).plot()
        """
        if not len(self.table):
            raise ValueError("no column has a parent, so that there is nothing to draw: .notes says why")
        parents = dict(zip(self.table["child"], self.table["parent"], strict=True))
        probability = dict(zip(self.table["child"], self.table["probability"], strict=True))
        depth = _in_rows(parents)
        shown = list(depth)[: whole_number("max_columns", max_columns)]
        panels = panel_of_rows([""] * len(shown), ax=ax, figsize=figsize, row_height=2 * line_height(SMALL))
        axis, width = panels.axes[0], panels.panel_width
        indent = min(INDENT, width / 3 / (1 + max(depth[column] for column in shown)))
        room = text_width("100 %", TINY) + 0.1
        for row, column in enumerate(shown):
            x = 0.08 + indent * depth[column]
            if column in parents:
                start, thickness = shown.index(parents[column]), 0.5 + 2.5 * probability[column]
                axis.plot([x - indent, x - indent, x], [start, row, row], color="C0", linewidth=thickness)
                axis.text(width, row, percent(round(probability[column], 2)), ha="right", va="center", fontsize=TINY)
            axis.plot([x], [row], marker="o" if column in parents else "s", color=text_color(), markersize=4, zorder=3)
            text = wrap_to(short_name(str(column), LETTERS), width - x - room - 0.1, SMALL)
            axis.text(x + 0.1, row, text, ha="left", va="center", fontsize=SMALL)
        axis.set_xlim(0, width)
        axis.set_xticks([])
        axis.spines["bottom"].set_visible(False)
        number = how_many(len(shown), len(depth), "column", "first")
        panels.title(f"Columns given others: {number}")
        panels.sides("column, to the right of its parent", "probability of the edge")
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        if not len(self.table):
            return [Heading("No column has a parent."), *map(Paragraph, self.notes)]
        shown = self.table[["log_bayes_factor", "probability"]]
        shown.columns = pd.Index(["factor", "probability"])
        names = [_name(child, parent) for child, parent in zip(self.table["child"], self.table["parent"], strict=True)]
        shown.index = pd.Index(names, name="column")
        title = f"Columns given others by log Bayes factors, together {self.table['log_bayes_factor'].sum():.1f}:"
        return [Heading(title), DataTable(shown, number=".4g", rows=len(shown)), *map(Paragraph, self.notes)]


def _name(child: Any, parent: Any) -> str:
    """Name of the feature."""
    return f"{child} given {parent}"


def _in_rows(parents: Mapping[Any, Any]) -> dict[Any, int]:
    """How far each column is from its root; the columns below a column follow it."""
    children: dict[Any, list[Any]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    found: dict[Any, int] = {}
    left = [(column, 0) for column in reversed(children) if column not in parents]
    while left:
        column, depth = left.pop()
        found[column] = depth
        left += [(child, depth + 1) for child in reversed(children.get(column, []))]
    return found


def tree_columns(
    model: Model | Family | Posterior | Fitted, X: Any, y: Any, *, sample_weight: Any = None
) -> ColumnForest:
    r"""Describe columns once more, each given the column on which it depends most.

    The log Bayes factor of two columns i and j compares their combinations with both columns independent given the
    class, the probabilities integrated out:

    .. math:: \log B_{ij} = \sum_c \big[\log p(x_i, x_j \mid y = c) - \log p(x_i \mid y = c)
              - \log p(x_j \mid y = c)\big]

    The prior is Dirichlet with the same weight for each combination, as many rows together as the larger number of
    categories, and in the separate columns that of their sums (BDeu: Heckerman, Geiger and Chickering 1995, *Machine
    Learning* 20, 197-243). The pairs whose factor exceeds the number of pairs compared may be edges, and the forest of
    the largest product of factors has the highest evidence: Chow and Liu (1968), *IEEE Transactions on Information
    Theory* 14, 462-467, with evidences in place of mutual information. The root of each tree is the column with the
    largest sum of log factors; every other column has one parent, and gets a feature `Given`.

    The columns of the new model have several descriptions, among which weights choose: `weight_features` takes it.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family, Posterior or fitted estimator
        Its columns that belong to no joint block are compared: categories as they are, numbers in five bins of about as
        many rows each, as `Given` reads them.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
        A text is the name of the label's column in X.
    sample_weight : array, shape (rows,), optional

    Returns
    -------
    ColumnForest

    Raises
    ------
    TypeError
        If X is sparse.
    ValueError
        If y has one class only or lacks a label, fewer than two columns can be compared, or the model averages over
        subsets of its features.

    See Also
    --------
    ColumnForest : The result.
    Given : A column given another one.
    weight_features : Learn how much each description counts.
    group_columns : Merge columns that depend on each other.

    Notes
    -----
    A pair is compared in the rows that lack neither cell; pairs of more than 4,000 combinations are not. The forest is
    chosen with the data, so that scores of the new model are a little too high; cross-validation with a new forest in
    each fold measures the gain.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> model = nb.NaiveBayes.from_frame(X, y)
    >>> forest = nb.tree_columns(model, X, y)
    >>> forest
    Columns given others by log Bayes factors, together 268.7:
    column                       factor  probability
    bill_length_mm given sex      57.58            1
    bill_depth_mm given sex       85.15            1
    flipper_length_mm given sex   33.27       0.9995
    body_mass_g given sex         92.75            1
    An edge has to exceed log 15 = 2.7: 15 of 15 pairs were compared.
    >>> posterior = nb.weight_features(forest.model, X, y)
    """
    description = description_of(model)
    given = read_rows(X, y, sample_weight, description.features)
    if isinstance(given.table, SparseTable):
        raise TypeError("X is sparse, and pairs of columns are compared in a dense table: give X.toarray()")
    if description.feature_inclusion is not None:
        raise ValueError(
            "the model averages over subsets of its features, which may not describe a column once more: give "
            "model.with_feature_inclusion(None)"
        )
    rows = given.of_classes()
    require_two_classes(rows.classes)
    own = bound_to(description, given)
    alone = chain(*(block.columns for block in own.blocks if not block.is_joint))
    places = sorted({own.schema.sources[position] for position in alone})
    if len(places) < 2:
        raise ValueError(
            "the model describes fewer than two columns one by one, so that there is no pair to compare: give columns "
            "families of their own, such as nb.Categorical() or nb.Gaussian()"
        )
    names = own.schema.names(places)
    # A family that reads cells as `Given` does, beside the model's features.
    together = _adding_features(own.description, [("columns", (AllTrees(), [*names]))], given.table.names, "_")
    bound = bound_to(together, given)
    bound = replace(bound, blocks=bound.blocks[-1:])
    columns = bound.blocks[0].columns
    sizes = [len(bound.schema.categories[column]) for column in columns]
    log_factor = _log_bayes_factors(cells_of(bound, rows), columns, sizes)
    competing, pairs = int(np.isfinite(log_factor).sum()) // 2, math.comb(len(places), 2)
    threshold = math.log(max(competing, 1))
    edges = _best_forest(log_factor, threshold)
    probability = edge_probabilities(np.nan_to_num(log_factor))
    found = [(names[i], names[j], log_factor[i, j], probability[i, j]) for i, j in edges]
    table = pd.DataFrame(found, columns=["child", "parent", "log_bayes_factor", "probability"])
    table = table.astype({"log_bayes_factor": float, "probability": float})
    further = [(_name(*edge), (Given(), [*edge])) for edge in zip(table["child"], table["parent"], strict=True)]
    which = f", those of at most {MOST:,} combinations of categories" if competing < pairs else ""
    compared = f"{competing} of {pairs} pairs were compared{which}"
    note = f"An edge has to exceed log {competing} = {threshold:.1f}: {compared}."
    return ColumnForest(_adding_features(description, further, given.table.names, " (tree)"), table, (note,))


def _adding_features(model: Any, further: Iterable[tuple[str, Any]], columns: Sequence[Any], suffix: str) -> NaiveBayes:
    """The model with further features; a name that a feature or a column has gets a suffix."""
    features: dict[Any, Any] = {"x" if name is EVERY_COLUMN else name: own for name, own in model.features.items()}
    for name, feature in further:
        while name in features or name in columns:
            name += suffix
        features[name] = feature
    return replace(model, features=features)


# --------------------------------------------------------------------------------------------------
# Trees and blocks together, among which weights choose
# --------------------------------------------------------------------------------------------------


MOST_ROWS = 10_000
"""With more rows, a random sample decides which columns depend on each other."""

FEW_VALUES = 10
"""Columns with at most this many distinct numbers are no measurements."""

MOST_COLUMNS = 200
"""Largest number of columns, of which all pairs are compared."""


def propose_descriptions(
    model: Model | Family | Posterior | Fitted,
    X: Any,
    y: Any,
    *,
    exclude: Sequence[str] = (),
    sample_weight: Any = None,
    key: Any = 0,
) -> NaiveBayes:
    """The model with further descriptions of columns, for `weight_features`.

    Naive Bayes takes columns as independent given the class. Two kinds of features say what depends: blocks of
    numbers with a covariance matrix for each class, as `group_columns` finds them if all columns of more than ten
    different numbers are `Gaussian`, and categories or bins of a column given its parent in a forest, as
    `tree_columns` finds them. A third kind, the readings, says what a column tells beside its value in one family:
    which cells are missing, whole numbers and text as categories, and the day, month, weekday and hour of dates. All
    of these describe columns once more, and weights learn which description counts how much. Features that do not help
    get weights near zero; readings then leave the model, and in `NaiveBayesClassifier` all do.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family, Posterior or fitted estimator
    X : table, shape (rows, columns)
        Of more than 10,000 rows a random sample decides, unless it lacks a class or all cells of a column.
    y : labels of shape (rows,) or str
    exclude : sequence of str, default ()
        Readings that are left out for all columns: "x is missing", "x as categories", "x day", "x month", "x weekday"
        or "x hour".
    sample_weight : array, shape (rows,), optional
    key : int or JAX key, default 0
        For the sample.

    Returns
    -------
    NaiveBayes
        The model itself where there is nothing to add. Of a model of more than 200 columns no pairs are compared.

    Raises
    ------
    TypeError, ValueError
        As for `group_columns` and `tree_columns`; if `exclude` names no reading.

    Warns
    -----
    UserWarning
        If text is read as dates: which columns, and in which form.

    See Also
    --------
    NaiveBayesClassifier : The estimator, which adds these descriptions by default.
    weight_features : Learn a weight for each feature.
    tree_columns : Each column given its parent.
    group_columns : Merge columns that depend on each other.

    Notes
    -----
    On 28 real tables (five folds) the log score of a weight for each feature rises by .034 ± .014 nats a row. Blocks
    alone give .021 ± .014, forests alone .024 ± .008. Readings are measured in the user guide (real tables).

    Readings:

    - "x is missing", of columns with .5 % to 99.5 % missing cells, is `Bernoulli`. Columns that are missing in the same
      rows share one. No other feature uses absence, save `Given` and `AllTrees`, which take it as a value.
    - "x as categories", of whole numbers and text with more than 20 different values and on average three cells or
      more for each, is `Categorical`. Values that occur once, and those that never occurred, are one category.
    - "x day", days since 2000, has the family of highest evidence. "x month", "x weekday" and "x hour" are
      `Categorical`. Dates are cells of a type of dates, or text of which 90 % of the different values have one form,
      such as "2024-01-31", "31.01.2024" or "Jan 31, 2024". Text that has several forms, such as "03/04/2021" alone, has
      no readings. A cell that is no date is missing.

    Readings describe columns of the model, and dates that it leaves out. `weight_features` gives their weights a spread
    of their own.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> X = X[["bill_length_mm", "bill_depth_mm", "sex"]]
    >>> model = nb.propose_descriptions(nb.NaiveBayes.from_frame(X, y), X, y, exclude=["x is missing"])
    >>> [name for name in model.features if name not in X]
    ['bill_length_mm given sex', 'bill_depth_mm given sex', 'bill_length_mm & bill_depth_mm']

    Absence may tell of the class, and so may a date, which ``from_frame`` leaves out:

    >>> import pandas as pd
    >>> X = pd.DataFrame({"hours": [40.0, None] * 50, "day": pd.date_range("2024-01-01", periods=100)})
    >>> y = ["at work", "without"] * 50
    >>> model = nb.NaiveBayes.from_frame(X, y, exclude=["day"])
    >>> [*nb.propose_descriptions(model, X, y).features]
    ['hours', 'hours is missing', 'day day', 'day month', 'day weekday']
    >>> kinds = ["x is missing", "x month", "x weekday"]
    >>> [*nb.propose_descriptions(model, X, y, exclude=kinds).features]
    ['hours', 'day day']
    """
    description = description_of(model)
    given = read_rows(X, y, sample_weight, description.features).with_numbers(description.number_forms)
    if len(given) > MOST_ROWS:
        some = np.sort(random_generator(key).choice(len(given), MOST_ROWS, replace=False))
        try:
            found = _proposed(description, given.take(some).alone())
        except ValueError:  # as where these rows have one class only, or no cell of a column: all rows decide
            found = _proposed(description, given)
    else:
        found = _proposed(description, given)
    return _adding_features(found, readings_of(description, given, exclude).items(), given.table.names, " (reading)")


def _proposed(description: Any, rows: Rows) -> NaiveBayes:
    """As `propose_descriptions`; all rows decide."""
    bound = bound_to(description, rows)
    columns = {
        bound.schema.sources[position]: block.family.cell
        for block in bound.blocks
        if not block.is_joint
        for position in block.columns
    }
    if not 2 <= len(columns) <= MOST_COLUMNS:
        return description
    labelled = rows.table, rows.labels.values  # type: ignore[union-attr]
    found = tree_columns(description, *labelled, sample_weight=rows.weights).model
    numbers = [
        bound.schema.columns[place]
        for place, cell in columns.items()
        if cell == "number" and _measured(rows.table.number_column(place, slice(None)))
    ]
    if len(numbers) > 1:
        gaussian = NaiveBayes({column: Gaussian() for column in numbers})
        blocks = group_columns(gaussian, *labelled, sample_weight=rows.weights).model.features
        further = ((name, feature) for name, feature in blocks.items() if isinstance(feature[0], JointFamily))
        found = _adding_features(found, further, rows.table.names, " (block)")
    return found


def _measured(cells: np.ndarray) -> bool:
    """Whether the column has many distinct values, none too large to square."""
    values = np.unique(cells)
    return len(values) > FEW_VALUES and np.nanmax(np.abs(values)) <= LARGEST_NUMBER
