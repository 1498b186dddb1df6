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
from bayesnb.core.recipes import COPY, gap_indicator, moments_of
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
    known = getattr(posterior, "feature_importances_", None)
    data = _ColumnValues(given.model, table, simulated=X is None)
    found = []
    for source in _wanted(given.model, columns, data):
        values, lines = data.values(source), data.parents(source)
        cells = given.model.read(_rows_with_values(given.model, source, values, [cell for _, cell in lines]))
        added = _log_odds(given, parameters, data.features[source], cells.whole(warn=False), pair, prob)
        added = added.reshape(3, len(lines), len(values)) / scale
        if not np.nan_to_num(np.abs(added[..., -1]), posinf=1.0).max() > ROUNDING:
            values, added = values[:-1], added[..., :-1]
        name = given.model.schema.columns[source]
        texts = [text for text, _ in lines]
        parents = [given.model.schema.columns[parent] for parent in dict.fromkeys(chain(*(cell for _, cell in lines)))]
        rug = data.observed(source)[: 0 if X is None else None]
        importance = _importance(given, data, source) if known is None else float(known[source])
        found.append(
            ColumnEffect(
                name, data.kind(source), importance / scale, values, texts, parents, added, data.atoms(source), rug
            )
        )
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


def _importance(posterior: Any, data: "_ColumnValues", source: int) -> float:
    """Mean absolute log odds of a column over the rows; infinite if those of a row are."""
    added: Any = 0.0
    for i, j in data.features[source]:
        block = posterior.model.blocks[i]
        parts = len(block.described) if block.is_joint else 1
        added = added + posterior.belief.density.feature(i, j, data.cells[i]) / parts
    if not np.isfinite(added).all():
        return np.inf
    (found,) = mean_absolute_log_odds(added.T[..., None], posterior.class_probs(), np.ones(len(added)))
    return float(found)


def _wanted(model: BoundModel, columns: Any, data: "_ColumnValues") -> list[int]:
    """Positions of the columns whose effects are wanted."""
    names = model.schema.source_columns
    if columns is None:
        return [source for source in sorted(data.features) if data.refusal(source) is None]
    wanted = [names.index(names[k]) for k in chosen("columns", columns, names)]
    for source in wanted:
        if (why := data.refusal(source)) is not None:
            raise ValueError(f"column {names[source]!r} {why}")
    return wanted


def _rows_with_values(model: BoundModel, source: int, values: list[Any], parents: list[Mapping[int, Any]]) -> Table:
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


class _ColumnValues:
    """The values of columns that effects are shown for, from a table.

    Attributes
    ----------
    features : dict
        By position of a column, the features that describe it, as block and place in it.
    """

    def __init__(self, model: BoundModel, table: Table, *, simulated: bool) -> None:
        self.model, self.simulated = model, simulated
        chunks = model.read(table)
        self.table, self.cells = chunks.table, chunks.whole(warn=False)
        self.features: dict[int, list[tuple[int, int]]] = {}
        for feature, sources in described_columns(model).items():
            for source in sources:
                self.features.setdefault(source, []).append(feature)

    def _descriptions(self, source: int) -> Iterator[tuple[Block, int]]:
        """The block of each feature, and the position of the column there."""
        for i, j in self.features[source]:
            block = self.model.blocks[i]
            for position in block.described if block.is_joint else block.columns[j : j + 1]:
                if self.model.schema.sources[position] == source:
                    yield block, position

    def _recipes(self, source: int) -> set[str]:
        made = [self.model.schema.derivation(position) for _, position in self._descriptions(source)]
        return {COPY if column is None else column.recipe for column in made}

    def refusal(self, source: int) -> str | None:
        """Why a column has no effect of its own; None if it has."""
        if source not in self.features:
            return "is not described by the model: name another one"
        if any(block.has_totals for block, _ in self._descriptions(source)):
            return "belongs to a count vector: nb.telling_features says what its words are evidence for"
        if self.simulated and self.kind(source) == "date":
            return "holds dates, which the model does not draw: give a table X"
        return None

    def kind(self, source: int) -> str:
        """The kind of a column: "number", "category" or "date"."""
        recipes, edges = self._recipes(source), self.model.schema.edges
        if COPY in recipes:
            own = [(block, at) for block, at in self._descriptions(source) if self._is_copy(at)]
            listed = all((block.has_categories and at not in edges) or block.is_binary for block, at in own)
            return "category" if listed else "number"
        return "date" if "date" in recipes else "category"

    def _is_copy(self, position: int) -> bool:
        column = self.model.schema.derivation(position)
        return column is None or column.is_copy

    def _categories(self, source: int) -> list[Any] | None:
        """The categories of a column; None if no feature reads it as such."""
        schema = self.model.schema
        listed = (at for block, at in self._descriptions(source) if block.has_categories and at not in schema.edges)
        return next((list(schema.categories[at]) for at in listed), None)

    def observed(self, source: int) -> np.ndarray:
        """The cells of the rows that are not missing."""
        if self.kind(source) == "number":
            cells = self.table.number_column(source, slice(None))
            return cells[~np.isnan(cells)]
        cells = self.table.stored_values(source, slice(None))
        if self.kind(source) == "date":
            made = (self.model.schema.derivation(at) for _, at in self._descriptions(source))
            moments = moments_of(cells, next(column.date[1] for column in made if column and column.date))
            return moments[~np.isnat(moments)]
        return cells[gap_indicator(cells) == 0]

    def atoms(self, source: int) -> tuple[float, ...]:
        """Numbers with a probability of their own."""
        return tuple({atom for block, _ in self._descriptions(source) for atom in _atoms_of(block)})

    def values(self, source: int) -> list[Any]:
        """The values of a column, and None at the end."""
        kind, categories, cells = self.kind(source), self._categories(source), self.observed(source)
        if kind == "category":
            binary = any(block.is_binary and self._is_copy(at) for block, at in self._descriptions(source))
            return [*(categories or ([0, 1] if binary else ["observed"])), None]
        if kind == "number":
            if self.simulated:
                low, high = np.quantile(cells, (TAIL, 1 - TAIL))
                cells = cells[(cells >= low) & (cells <= high)]
                cells = cells if categories is None else np.rint(cells)
            atoms = self.atoms(source)
            if not (cells == np.rint(cells)).all():
                smooth = cells[~np.isin(cells, atoms)]
                cells = np.append(np.linspace(smooth.min(), smooth.max(), GRID), atoms)
        cells = np.unique(cells)
        if len(cells) > GRID:
            cells = cells[np.linspace(0, len(cells) - 1, GRID).astype(int)]
        return [*cells.tolist(), None]

    def parents(self, source: int) -> list[tuple[str | None, dict[int, Any]]]:
        """Each value of another column that a column is given, as text, and a cell of it by its position."""
        schema = self.model.schema
        found: dict[str | None, dict[int, Any]] = {}
        for i, _ in self.features[source]:
            block = self.model.blocks[i]
            for place in range(len(block.described), len(block.columns) if block.is_joint else 0):
                parent, codes = schema.sources[block.columns[place]], dense(self.cells[i][:, [place]])[:, 0]
                categories, cells = (
                    schema.categories[block.columns[place]],
                    self.table.stored_values(parent, slice(None)),
                )
                times = np.bincount(codes[~np.isnan(codes)].astype(int), minlength=len(categories))
                for k in highest_places(times, MOST_GIVEN):
                    if times[k]:
                        text = f"{schema.columns[parent]} = {categories[k]}"
                        found[text] = {parent: cells[np.argmax(codes == k)]}
        return [*found.items()] or [(None, {})]


def _atoms_of(block: Block) -> tuple[float, ...]:
    return tuple(getattr(block.family.support, "atoms", ()))
