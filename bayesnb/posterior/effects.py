"""What single columns add to the log odds of two classes, over their values."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from bayesnb.core.arrays import dense, log
from bayesnb.core.checking import proportion
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import highest_places
from bayesnb.core.panels import chosen
from bayesnb.core.plain_formulas import two_classes
from bayesnb.core.recipes import gap_indicator, moments_of
from bayesnb.data.read import as_table
from bayesnb.data.tables import ArrayTable, Table, items_at
from bayesnb.model.blocks import Block, summed
from bayesnb.model.bound import BoundModel
from bayesnb.model.reading import Cells
from bayesnb.posterior.belief import offers
from bayesnb.posterior.effects_frame import ColumnEffect, Effects
from bayesnb.posterior.explain import ROUNDING, UNITS, ends_of_draws, odds_of_rows
from bayesnb.posterior.importance import described_columns, mean_absolute_log_odds
from bayesnb.posterior.kinds import Fitted, posterior_of, table_for
from bayesnb.posterior.posterior import Posterior
from bayesnb.posterior.predictions import nats_of

GRID = 200
"""Values of a column of numbers, and most values of one of whole numbers or dates."""

MOST_ROWS, SIMULATED = 10_000, 2000
"""Rows of a table that give the values, evenly spaced if it has more; rows that are simulated without a table."""

MOST_GIVEN = 8
"""Values of a column that another one is given, the most frequent ones."""

TAIL = 0.005
"""Share of simulated numbers at each end that is left out."""


@in_float64
def effects(
    posterior: Posterior | Fitted,
    X: Any = None,
    columns: Sequence[Any] | None = None,
    *,
    class_: Any = None,
    against: Any = None,
    unit: str = "nats",
    prob: float = 0.89,
    num_draws: int | None = None,
    key: Any = 0,
) -> Effects:
    r"""What each column adds to the log odds of two classes, over its values.

    It is what the cell adds in a row without any other cell, and therefore all that the model says of the column: the
    sum over the features that describe it, alone or given another column, and over readings of its gaps, names and
    dates, each with its weight,

    .. math:: \sum_{j} w_j \log \frac{p(x_j \mid y=c, D)}{p(x_j \mid y=k, D)}.

    A column that is given another one, its parent, has these numbers for each value of the parent.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    X : table, shape (rows, columns), optional
        Data, from whose range the values are taken; of more than 10,000 rows so many, evenly spaced. By default 2,000
        rows of the posterior predictive distribution, without the half per cent of the smallest and the largest
        numbers. Dates need a table.
    columns : sequence, optional
        Names of columns, by default all that the model describes, without those of count vectors.
    class_, against : label, optional
        Positive numbers support the first class, negative ones the second. By default the two classes that are most
        probable before any cell is seen, the later one of `Posterior.classes` first; if one is given, the other is the
        most probable one that is left.
    unit : {"nats", "bits", "decibans"}, default "nats"
    prob : float, default 0.89
        Posterior probability of the intervals.
    num_draws : int, optional
        Draws in each chain for the intervals; as for `Posterior.proba_draws`.
    key : int or JAX key, default 0
        For the draws from a closed form, and for rows of the predictive distribution.

    Returns
    -------
    Effects
        A pandas frame, column by column in the order of the table. Classes, unit and `prob` are in ``attrs``.
        Its ``plot()`` draws it.

        ``column``, ``given``, ``value``
            The column; the value of its parent, such as "sex = male", None without a parent; and the value: a number
            (200 of a range, or whole ones), a category or a date. It is None for a missing cell, which has a row if it
            adds something.
        ``log_odds``
            The sum above, which equals that of the rows of the column in `Posterior.explain`.
        ``lower``, ``upper``
            Equal-tailed interval of the same log odds under single draws of the parameters, which reaches at least to
            ``log_odds``; NaN for a point estimate.

    Raises
    ------
    TypeError, ValueError
        If a column or a class is unknown, a column belongs to a count vector, dates come without X, there is one class
        only, or the unit or `prob` is wrong.

    See Also
    --------
    plot_effect : The curve of a column.
    Posterior.explain : What the cells of a row add.
    telling_features : The values that favour a class most.

    Notes
    -----
    A block of several columns that is one observation says less of a column alone than with the others: here it has
    its marginal density. In a row with all cells, `Posterior.explain` shows the block as a row of its own. With weights
    the log odds of a row are bounded because it may say nothing about its label; this bound is not in the sum.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> nb.effects(posterior, columns=["island"]).round(2)
       column given      value  log_odds  lower  upper
    0  island  None     Biscoe      1.22   1.04   1.44
    1  island  None      Dream     -3.84  -6.67  -2.78
    2  island  None  Torgersen     -3.77  -6.79  -2.65
    """
    given = posterior_of(posterior)
    proportion("prob", prob)
    scale = nats_of(unit, UNITS)
    labels = given.classes.tolist()
    pair = two_classes(labels, log(given.class_probs()), class_, against)
    if class_ is None and against is None:
        pair = max(pair), min(pair)
    table = _drawn_rows(given, key) if X is None else as_table(table_for(posterior, X))
    if table.num_rows > MOST_ROWS:
        table = table.take(np.linspace(0, table.num_rows - 1, MOST_ROWS).astype(int))
    spread = offers(given, "a distribution of the parameters")
    parameters = given.few_draws(None, num_draws, key) if spread else None
    importances, names = getattr(posterior, "feature_importances_", None), given.model.schema.columns
    chunks, found = given.model.read(table), []
    table, cells = chunks.table, chunks.whole(warn=False)
    for column in _wanted(given.model, columns, simulated=X is None):
        observed = column.observed(table)
        values, lines = column.values(observed, simulated=X is None), column.parents(table, cells)
        texts, given_cells = zip(*lines, strict=True)
        rows = given.model.read(_rows_with_values(given.model, column.source, values, given_cells)).whole(warn=False)
        added = _log_odds(given, parameters, column.features, rows, pair, prob)
        added = added.reshape(3, len(lines), len(values)) / scale
        if not np.nan_to_num(np.abs(added[..., -1]), posinf=1.0).max() > ROUNDING:
            values, added = values[:-1], added[..., :-1]
        importance = _importance(given, column.features, cells) if importances is None else importances[column.source]
        parents = [names[parent] for parent in dict.fromkeys(chain(*given_cells))]
        what = names[column.source], column.kind, float(importance) / scale, values, list(texts), parents
        found.append(ColumnEffect(*what, added, column.atoms, observed[: 0 if X is None else None]))
    told = {"class": labels[pair[0]], "against": labels[pair[1]], "unit": unit, "prob": prob}
    return Effects(found, told, has_intervals=spread)


def _drawn_rows(posterior: Posterior, key: Any) -> Table:
    """Rows from the posterior predictive distribution."""
    rows, _ = posterior.generative.simulate(SIMULATED, key=key, total_count=1)
    if hasattr(rows, "reindex"):  # dates, which only readings describe, are not drawn
        rows = rows.reindex(columns=list(posterior.model.schema.source_columns))
    return as_table(rows)


def _log_odds(
    posterior: Any,
    parameters: Any,
    features: Sequence[tuple[int, int]],
    cells: Cells,
    pair: tuple[int, int],
    prob: float,
) -> np.ndarray:
    """Log odds that features add together, and the ends of their interval, shape (3, rows); NaN without draws."""
    belief = posterior.belief
    odds = partial(odds_of_rows, pair=np.array([pair]))
    total = summed(odds(belief.density.feature(i, j, cells[i])) for i, j in features)
    drawn = None
    if parameters is not None:
        likelihood = belief.model.feature_log_likelihood
        drawn = summed(odds(likelihood(parameters, i, j, cells[i])) for i, j in features).reshape(-1, len(total))
    found = np.stack([total, *ends_of_draws(total, drawn, prob)])
    return np.where(np.abs(found) <= ROUNDING, 0.0, found)


def _importance(posterior: Any, features: Sequence[tuple[int, int]], cells: Cells) -> float:
    """Mean absolute log odds of a column over the rows; infinite if those of a row are."""
    added: Any = 0.0
    for i, j in features:
        block = posterior.model.blocks[i]
        parts = len(block.described) if block.is_joint else 1
        added = added + posterior.belief.density.feature(i, j, cells[i]) / parts
    if not np.isfinite(added).all():
        return np.inf
    (found,) = mean_absolute_log_odds(added.T[..., None], posterior.class_probs(), np.ones(len(added)))
    return float(found)


def _wanted(model: BoundModel, columns: Any, *, simulated: bool) -> list["_ValuesOfColumn"]:
    """The columns whose effects are wanted."""
    names = model.schema.source_columns
    features: dict[int, list[tuple[int, int]]] = {source: [] for source, _ in enumerate(names)}
    for feature, sources in described_columns(model).items():
        for source in sources:
            features[source].append(feature)
    wanted = range(len(names)) if columns is None else chosen("columns", columns, names)
    found = [_ValuesOfColumn(model, source, features[source]) for source in wanted]
    refused = [column.refusal(simulated=simulated) for column in found]
    for column, why in zip(found, refused, strict=True):
        if columns is not None and why is not None:
            raise ValueError(f"column {names[column.source]!r} {why}")
    return [column for column, why in zip(found, refused, strict=True) if why is None]


def _rows_with_values(model: BoundModel, source: int, values: list[Any], parents: Sequence[Mapping[int, Any]]) -> Table:
    """Rows that have a value of a column and perhaps of its parent, for each parent's value one after the other."""
    names = model.schema.source_columns
    cells = np.full((len(parents) * len(values), len(names)), None, dtype=object)
    for block in model.blocks:
        if block.has_totals:  # a vector of counts has no missing cells
            cells[:, items_at(model.schema.sources, block.columns)] = 0
    for k, parent in enumerate(parents):
        rows = slice(k * len(values), (k + 1) * len(values))
        cells[rows, source] = np.fromiter(values, dtype=object, count=len(values))
        for place, cell in parent.items():
            cells[rows, place] = cell
    return ArrayTable(cells, names, model.schema.named)


class _ValuesOfColumn:
    """The values of a column that its effect is shown for, from a table.

    Attributes
    ----------
    source : int
        Its position.
    features : list
        The features that describe it, as block and place in it.
    kind : {"number", "category", "date"}
    categories : list or None
        None if no feature reads it as such.
    date : tuple or None
        How a reading takes it as a date.
    atoms : tuple of float
        Numbers with a probability of their own.
    """

    def __init__(self, model: BoundModel, source: int, features: list[tuple[int, int]]) -> None:
        self.model, self.source, self.features = model, source, features
        schema, edges = model.schema, model.schema.edges
        self.blocks = [model.blocks[i] for i, _ in features]
        places = [block.columns if block.is_joint else block.columns[j : j + 1] for block, (_, j) in self._pairs()]
        found = [
            (block, at, schema.derivation(at))
            for block, own in zip(self.blocks, places, strict=True)
            for at in own
            if schema.sources[at] == source
        ]
        copies = [(block, at) for block, at, made in found if made is None or made.is_copy]
        listed = [at for block, at, _ in found if block.has_categories and at not in edges]
        self.categories = list(schema.categories[listed[0]]) if listed else None
        if not listed and any(block.is_binary for block, _ in copies):
            self.categories = [0, 1]
        self.date = next((made.date for _, _, made in found if made is not None and made.date), None)
        if any(at in edges or not (block.has_categories or block.is_binary) for block, at in copies):
            self.kind = "number"
        else:
            self.kind = "category" if copies or self.date is None else "date"
        self.atoms = tuple({atom for block in self.blocks for atom in getattr(block.family.support, "atoms", ())})

    def _pairs(self) -> Iterator[tuple[Block, tuple[int, int]]]:
        return zip(self.blocks, self.features, strict=True)

    def refusal(self, *, simulated: bool) -> str | None:
        """Why the column has no effect of its own; None if it has."""
        if not self.features:
            return "is not described by the model: name another one"
        if any(block.has_totals for block in self.blocks):
            return "belongs to a count vector: nb.telling_features says what its words are evidence for"
        return (
            "holds dates, which the model does not draw: give a table X" if simulated and self.kind == "date" else None
        )

    def observed(self, table: Table) -> np.ndarray:
        """The cells of the rows that are not missing."""
        if self.kind == "number":
            cells = table.number_column(self.source, slice(None))
            return cells[~np.isnan(cells)]
        cells = table.stored_values(self.source, slice(None))
        cells = moments_of(cells, self.date[1]) if self.kind == "date" and self.date else cells
        return cells[gap_indicator(cells) == 0]

    def values(self, cells: np.ndarray, *, simulated: bool) -> list[Any]:
        """The values, given the observed cells, and None at the end."""
        if self.kind == "category":
            return [*(self.categories or ["observed"]), None]
        if self.kind == "number":
            if simulated:
                low, high = np.quantile(cells, (TAIL, 1 - TAIL))
                cells = cells[(cells >= low) & (cells <= high)]
                cells = cells if self.categories is None else np.rint(cells)
            if not (cells == np.rint(cells)).all():
                smooth = cells[~np.isin(cells, self.atoms)]
                cells = np.append(np.linspace(smooth.min(), smooth.max(), GRID), self.atoms)
        cells = np.unique(cells)
        if len(cells) > GRID:
            cells = cells[np.linspace(0, len(cells) - 1, GRID).astype(int)]
        return [*cells.tolist(), None]

    def parents(self, table: Table, cells: Cells) -> list[tuple[str | None, dict[int, Any]]]:
        """Each value of another column that the column is given, as text, and a cell of it by its position."""
        schema = self.model.schema
        found: dict[str | None, dict[int, Any]] = {}
        for block, (i, _) in self._pairs():
            for at in block.columns[len(block.described) :] if block.is_joint else ():
                codes = dense(cells[i][:, [list(block.columns).index(at)]])[:, 0]
                parent, categories = schema.sources[at], schema.categories[at]
                times = np.bincount(codes[~np.isnan(codes)].astype(int), minlength=len(categories))
                own = table.stored_values(parent, slice(None))
                for k in highest_places(times, MOST_GIVEN):
                    if times[k]:
                        found[f"{schema.columns[parent]} = {categories[k]}"] = {parent: own[np.argmax(codes == k)]}
        return [*found.items()] or [(None, {})]
