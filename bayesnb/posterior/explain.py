"""Why rows have their labels: the log odds of two classes, feature by feature."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from bayesnb.core.arrays import dense, log
from bayesnb.core.checking import proportion, whole_number
from bayesnb.core.deferred import in_float64
from bayesnb.core.frames import PrintedFrame
from bayesnb.core.panels import panel_of_rows, percent, text_color, yes_or_no
from bayesnb.core.plain_formulas import BEFORE, TOGETHER, two_classes
from bayesnb.core.printing import counted, four_digits
from bayesnb.data.read import as_table, one_row
from bayesnb.data.tables import Table
from bayesnb.model.blocks import Block, columns_alone, features_of, subjects_of
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.belief import offers
from bayesnb.posterior.predictions import FEW, NATS, nats_of

OFFSETS = "; it holds the offsets of the classes, because the class probabilities are given"
"""What the features contribute together under given class probabilities, if they have weights."""

UNITS = NATS | {"decibans": float(np.log(10) / 10)}
"""Units of log odds, in nats. A deciban is ten times the logarithm of the odds to base ten (Good 1950)."""

ROUNDING = 1e-12
"""Log odds up to this are rounding errors."""

NUMBERS = 2**24
"""Log densities in memory at a time, over draws, rows, features and classes."""

LogOdds = Callable[[int, int, Any], np.ndarray]
"""Log odds of two classes that a feature of a block contributes, shape (..., rows), from its cells."""


class Explanation(PrintedFrame):
    """The result of `Posterior.explain`: log odds of one class against another in a row, as parts that add up.

    The rows are the parts, the columns ``log_odds``, ``lower`` and ``upper``. What pandas derives from it, such as a
    sorted frame, is an ordinary frame.

    See Also
    --------
    Posterior.explain : The log odds of two classes in a row.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> posterior.explain([1, 0]).columns.tolist()
    ['log_odds', 'lower', 'upper']
    """

    def __init__(
        self,
        names: list[Any],
        cells: list[str],
        log_odds: np.ndarray,
        draws: np.ndarray | None,
        told: dict[str, Any],
        rest: str,
    ) -> None:
        ends = ends_of_draws(log_odds, draws, told["prob"])
        ends[:, [name == TOGETHER for name in names]] = np.nan  # no draw of the parameters has this part
        frame = pd.DataFrame(
            {"log_odds": log_odds, "lower": ends[0], "upper": ends[1]},
            index=pd.Index(names, name="feature", tupleize_cols=False),
        )
        frame = frame.mask(frame.abs() <= ROUNDING, 0.0)
        frame.attrs = told
        heading = f"Log odds of {told['class']} against {told['against']} in {told['unit']}"
        if draws is not None:
            heading += f", lower and upper: {percent(told['prob'])} interval"
        total = float(np.sum(log_odds))
        winner = told["class"] if total > 0 else told["against"]
        note = f"Sum {total:.4g}" + (f": {winner} is the more probable of the two." if abs(total) > ROUNDING else ".")
        notes = [note, f"{TOGETHER}: {rest}."] if rest else [note]
        super().__init__(frame, heading, notes)
        self._beside = cells, draws

    def plot(self, *, max_features: int = 15, sort: bool = True, ax: Any = None, figsize: Any = None) -> Any:
        """Log odds of the two classes, a bar for each feature and their sum at the bottom.

        Parameters
        ----------
        max_features : int, default 15
            The features with the largest log odds, in absolute value, have a bar each; the others share one.
        sort : bool, default True
            The largest first; otherwise in the order of the table.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            Filled bars to the right support the first class, and hatched bars to the left the second. Thin lines are
            intervals. Each feature has its cell beside it, a word the number of times it occurs. An infinite bar, which
            only point estimates have, ends in an arrow head.

        Raises
        ------
        TypeError, ValueError
            If `max_features` or `sort` is no such value.

        See Also
        --------
        Posterior.explain : The numbers of the picture.
        plot_evidence : The same picture of a posterior and a row.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = posterior.explain(X.iloc[[0]], "Adelie", "Chinstrap", unit="decibans").plot()
        """
        names, parts = self._bars(whole_number("max_features", max_features), sort=yes_or_no("sort", sort))
        class_, against, unit, prob = (self.attrs[name] for name in ("class", "against", "unit", "prob"))
        log_odds, (_, draws) = self["log_odds"].to_numpy(), self._beside
        values = np.array([log_odds[part].sum() for part in parts])
        of_parts = None if draws is None else np.stack([draws[:, part].sum(axis=1) for part in parts], axis=1)
        ends = ends_of_draws(values, of_parts, prob).T
        ends[[name == TOGETHER for name in names]] = np.nan
        panels = panel_of_rows(names, ax=ax, figsize=figsize, row_height=0.26)
        axis, ink = panels.axes[0], text_color()
        finite = np.concatenate([values, ends.ravel()])
        edge = 1.1 * np.abs(finite[np.isfinite(finite)]).max(initial=0.1)
        at = np.arange(len(values))
        drawn = axis.barh(at, np.clip(values, -edge, edge), height=0.6, edgecolor=ink, linewidth=0.8, zorder=2)
        for bar, value in zip(drawn, values, strict=True):
            bar.set(facecolor=("C0" if value >= 0 else "C1", 0.6), hatch="" if value >= 0 else "////")
        axis.plot(np.clip(ends, -edge, edge).T, [at, at], color=ink, linewidth=1.6, marker="|", markersize=7, zorder=3)
        for end, marker in ((np.inf, ">"), (-np.inf, "<")):
            beyond = at[values == end]
            axis.scatter(np.full(beyond.size, np.sign(end) * edge), beyond, s=40, marker=marker, color=ink, zorder=4)
        axis.axvline(0.0, color=ink, linewidth=1.0, zorder=4)
        axis.axhline(len(values) - 1.5, color=ink, linewidth=1.0, zorder=1)
        axis.get_yticklabels()[-1].set_fontweight("bold")
        # Zero and a margin are always there.
        within = np.clip(np.concatenate([finite, [0.0]]), -edge, edge)
        low, high = np.nanmin(within), np.nanmax(within)
        margin = 0.06 * (high - low or 1.0)
        axis.set_xlim(low - margin, high + margin)
        axis.xaxis.get_major_locator().set_params(nbins=5)
        panels.x_label(f"log odds in {unit}" + f"; lines: {percent(prob)} intervals" * (draws is not None))
        panels.title(f"Log odds of one row: {class_} against {against}")
        panels.sides(f"\N{LEFTWARDS ARROW} for {against}", f"for {class_} \N{RIGHTWARDS ARROW}")
        return panels.drawn()

    def _bars(self, max_features: int, *, sort: bool) -> tuple[list[str], list[list[int]]]:
        """Names and parts of the bars: before any cell, the largest features, the others together, and the sum."""
        ranked = 1 + np.argsort(-np.abs(self["log_odds"].to_numpy()[1:]), kind="stable")
        shown, others = ranked[:max_features], ranked[max_features:]
        if len(others) == 1:
            shown, others = ranked, others[:0]
        parts = [[0], *([part] for part in (shown if sort else np.sort(shown)))]
        cells, _ = self._beside
        names = [f"{self.index[k]} = {cells[k]}" if cells[k] else str(self.index[k]) for (k,) in parts]
        if len(others):
            parts.append(others.tolist())
            names.append(f"{len(others)} others")
        return [*names, "sum"], [*parts, list(range(len(self)))]


def ends_of_draws(found: np.ndarray, draws: np.ndarray | None, prob: float) -> np.ndarray:
    """Equal-tailed intervals of draws (draws, ...), which reach to what is found (...), shape (2, ...).

    NaN without draws.
    """
    if draws is None:
        return np.full((2, *found.shape), np.nan)
    lower, upper = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    return np.stack([np.minimum(lower, found), np.maximum(upper, found)])


@in_float64
def evidence_of_rows(
    posterior: Any,
    X: Any,
    class_: Any,
    against: Any,
    *,
    unit: str,
    prob: float,
    words: bool,
    num_draws: int | None,
    key: Any,
) -> PrintedFrame:
    """The log odds of two classes in rows of a `Posterior`; `Posterior.explain` describes arguments and errors."""
    proportion("prob", prob)
    scale = nats_of(unit, UNITS)
    table = as_table(one_row(X))
    if not table.num_rows:
        raise ValueError("X_row has no rows: give at least one")
    parameters = None
    if offers(posterior, "a distribution of the parameters"):
        parameters = posterior.few_draws(None, num_draws, key)
    if table.num_rows == 1:
        found = _parts_of_rows(posterior, table, class_, against, parameters, words=words)
        told = dict(zip(("class", "against"), posterior.classes[found.pair[0]].tolist(), strict=True))
        draws = None if found.draws is None else found.draws[:, 0] / scale
        told |= {"unit": unit, "prob": prob}
        return Explanation(found.names, found.texts, found.log_odds[0] / scale, draws, told, found.rest)
    parts, step = [], max(1, NUMBERS // (4 * FEW * len(posterior.classes) * len(posterior.model.schema.columns)))
    for start in range(0, table.num_rows, step):
        rows = np.arange(start, min(start + step, table.num_rows))
        found = _parts_of_rows(posterior, table.take(rows), class_, against, parameters, words=False)
        numbers = np.stack([found.log_odds, *ends_of_draws(found.log_odds, found.draws, prob)], axis=-1) / scale
        numbers[np.abs(numbers) <= ROUNDING] = 0.0
        numbers[:, [name == TOGETHER for name in found.names], 1:] = np.nan
        parts.append((posterior.classes[found.pair], numbers))
    pair, numbers = map(np.concatenate, zip(*parts, strict=True))
    names = [(row, name) for row in table.row_names for name in found.names]
    frame = pd.DataFrame(
        np.repeat(pair, len(found.names), axis=0), columns=["class", "against"], index=_index_of_rows(names)
    ).assign(**dict(zip(["log_odds", "lower", "upper"], numbers.reshape(-1, 3).T, strict=True)))
    frame.attrs = {"unit": unit, "prob": prob}
    heading = f"Log odds of two classes in {counted(table.num_rows, 'row')} in {unit}"
    heading += f", lower and upper: {percent(prob)} interval" * (parameters is not None)
    return PrintedFrame(frame, heading, [f"{TOGETHER}: {found.rest}."] * bool(found.rest))


def _index_of_rows(names: list[tuple[Any, Any]]) -> pd.MultiIndex:
    """Row and feature, of which either may be a tuple."""
    levels = [pd.Index(list(level), tupleize_cols=False) for level in zip(*names, strict=True)]
    return pd.MultiIndex.from_arrays(levels, names=["row", "feature"])


@dataclass(frozen=True)
class _PartsOfRows:
    """Parts of the log odds of two classes in rows.

    Attributes
    ----------
    pair : array of int, shape (rows, 2)
        The two classes of each row.
    names, texts : list
        Names of the parts, and the cells of the first row.
    log_odds : array, shape (rows, parts)
    draws : array of shape (draws, rows, parts), or None
    rest : str
        Why features contribute more together than alone.
    """

    pair: np.ndarray
    names: list[Any]
    texts: list[str]
    log_odds: np.ndarray
    draws: np.ndarray | None
    rest: str


def _parts_of_rows(
    posterior: Any, table: Table, class_: Any, against: Any, parameters: Any, *, words: bool
) -> _PartsOfRows:
    """The parts of rows, under draws of the parameters too; with `words` those of a single row."""
    model, density = posterior.model, posterior.belief.predicting
    chunks = model.read(table)
    cells, read = chunks.whole(), density.chunks(chunks).whole(warn=False)
    log_joint = np.add(*density.log_ratio(read))
    labels = posterior.classes.tolist()
    pair = np.array([two_classes(labels, joint, class_, against) for joint in log_joint])
    total = odds_of_rows(log_joint, pair)
    if np.isnan(total).any():
        row = int(np.isnan(total).argmax())
        class_, against = (labels[c] for c in pair[row])
        raise ValueError(
            f"{'the row' if len(total) == 1 else f'row {row}'} has probability zero under {class_!r} and under "
            f"{against!r}, so that their odds are not "
            "defined: name other classes with class_= and against=, or fit with nb.Exact(), whose prior leaves "
            "everything possible"
        )
    features = [
        feature
        for i, block in enumerate(model.blocks)
        for feature in _features_of_row(model, block, cells[i][:1], words=words)
    ]
    order = sorted(range(len(features)), key=lambda k: features[k][:2])
    features = [features[k] for k in order]
    # The first description of a column begins a row of the result.
    starts = np.flatnonzero([not k or key != features[k - 1][0] for k, (key, *_) in enumerate(features)])
    names = [BEFORE, *(features[k][2] for k in starts)]
    texts = ["", *(features[k][3] for k in starts)]

    def parts(log_class_prob: np.ndarray, log_odds: LogOdds) -> np.ndarray:
        """Shape (..., rows, parts)."""
        by_block = [
            _block_odds(block, x, log_odds, i, words=words)
            for i, (block, x) in enumerate(zip(model.blocks, cells, strict=True))
        ]
        of_columns = np.add.reduceat(np.concatenate(by_block, axis=-1)[..., order], starts, axis=-1)
        return np.concatenate([odds_of_rows(log_class_prob[..., None, :], pair)[..., None], of_columns], axis=-1)

    of_feature = density.features(read)
    found = parts(log(posterior.class_probs()), lambda i, j, x: odds_of_rows(of_feature(i, j, x), pair))
    belief, draws = posterior.belief, None
    if parameters is not None:
        drawn = belief.model
        draws = parts(
            drawn.log_class_prob(parameters),
            lambda i, j, x: odds_of_rows(drawn.feature_log_likelihood(parameters, i, j, x), pair),
        ).reshape(-1, *found.shape)
    rest = belief.density.rest
    if rest:
        names, texts = [*names, TOGETHER], [*texts, ""]
        found = np.concatenate([found, _rest_of_odds(total, found)[:, None]], axis=1)
        # Given the parameters, the features are independent: under each draw this part is zero.
        draws = None if draws is None else np.pad(draws, ((0, 0), (0, 0), (0, 1)))
        if getattr(belief.density, "log_given", None) is not None:
            rest += OFFSETS
            if draws is not None:
                draws[..., -1], draws[..., 0] = draws[..., 0] - found[:, 0], found[:, 0]
    return _PartsOfRows(pair, names, texts, found, draws, rest)


def odds_of_rows(log_density: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """Difference of each row's two classes, or of two for all, shape (..., rows); NaN where both are impossible."""
    rows = np.arange(log_density.shape[-2])
    with np.errstate(invalid="ignore"):
        return np.asarray(log_density[..., rows, pair[:, 0]] - log_density[..., rows, pair[:, 1]])


def _rest_of_odds(total: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The total minus the parts on the last axis; zero where both are infinite."""
    with np.errstate(invalid="ignore"):
        rest = total - parts.sum(axis=-1)
    return np.where(np.isnan(rest), 0.0, rest)


def _block_odds(block: Block, x: Any, log_odds: LogOdds, i: int, *, words: bool) -> np.ndarray:
    """Log odds that the features of a block contribute, or its words in a single row, shape (..., rows, features)."""
    if not (words and block.has_totals):
        return np.stack([log_odds(i, j, x) for j, _ in enumerate(features_of(block))], axis=-1)
    at, counts = _words(x)
    whole = log_odds(i, 0, x)
    if not len(at):
        return whole[..., None, :0]
    rows = np.arange(len(at))
    alone = scipy.sparse.csr_array((counts, (rows, at)), shape=(len(at), x.shape[1]))
    own = log_odds(i, 0, alone if "sparse" in block.family.takes else dense(alone))
    return (own + _rest_of_odds(whole[..., 0], own)[..., None] * counts / counts.sum())[..., None, :]


def _words(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the words of a document and their counts."""
    counts = np.asarray(dense(x))[0]
    at = np.flatnonzero(counts)
    return at, counts[at]


def _features_of_row(model: BoundModel, block: Block, x: Any, *, words: bool) -> list[tuple[Any, int, Any, str]]:
    """For each feature, or word present: key of its subject, position in the schema, name and cell."""
    subjects, positions = subjects_of(block, model.schema), block.columns
    if block.has_totals:
        at, counts = _words(x)
        texts = [f"{four_digits(counts.sum())} in all"]
        if words:
            positions, texts = [positions[j] for j in at], [four_digits(n) for n in counts]
            subjects = columns_alone(model.schema, positions)
    else:
        texts = [_text(model, block, j, x[0, j]) for j in range(len(block.described))]
        texts = [", ".join(texts)] if block.is_joint else texts
    # A joint block has the position of its first column.
    found = zip(subjects, positions[: len(subjects)], texts, strict=True)
    return [(key, position, name, text) for (key, name), position, text in found]


def _text(model: BoundModel, block: Block, j: int, cell: float) -> str:
    if np.isnan(cell):
        return "missing"
    if block.has_categories:
        categories: Sequence[Any] = model.schema.categories[block.columns[j]]
        return str(categories[int(cell)])
    return four_digits(cell)
