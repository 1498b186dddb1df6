"""Why a row has its label: the log odds of two classes, feature by feature."""

from collections.abc import Callable, Sequence
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
from bayesnb.data.read import as_row
from bayesnb.model.blocks import Block, columns_alone, features_of, subjects_of
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.belief import offers
from bayesnb.posterior.predictions import NATS, nats_of

OFFSETS = "; it holds the offsets of the classes, because the class probabilities are given"
"""What the features contribute together under given class probabilities, if they have weights."""

UNITS = NATS | {"decibans": float(np.log(10) / 10)}
"""Units of log odds, in nats. A deciban is ten times the logarithm of the odds to base ten (Good 1950)."""

ROUNDING = 1e-12
"""Log odds up to this are rounding errors."""

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
        ends = np.array([_interval(log_odds, draws, [part], told["prob"]) for part in range(len(names))])
        ends[[name == TOGETHER for name in names]] = np.nan  # no draw of the parameters has this part
        frame = pd.DataFrame(
            {"log_odds": log_odds, "lower": ends[:, 0], "upper": ends[:, 1]},
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
        ends = np.array([_interval(log_odds, draws, part, prob) for part in parts])
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


def _interval(log_odds: np.ndarray, draws: np.ndarray | None, parts: list[int], prob: float) -> np.ndarray:
    """Equal-tailed interval of the sum of some parts, which reaches to the sum, shape (2,); NaN without draws."""
    if draws is None:
        return np.full(2, np.nan)
    lower, upper = np.quantile(draws[:, parts].sum(axis=1), [(1 - prob) / 2, (1 + prob) / 2])
    total = log_odds[parts].sum()
    return np.array([min(lower, total), max(upper, total)])


@in_float64
def evidence_of_row(
    posterior: Any,
    X_row: Any,
    class_: Any,
    against: Any,
    *,
    unit: str,
    prob: float,
    words: bool,
    num_draws: int | None,
    key: Any,
) -> Explanation:
    """The log odds of two classes in a row of a `Posterior`; `Posterior.explain` describes arguments and errors."""
    proportion("prob", prob)
    scale = nats_of(unit, UNITS)
    model, density = posterior.model, posterior.belief.predicting
    chunks = model.read(as_row(X_row))
    cells, read = chunks.whole(), density.chunks(chunks).whole(warn=False)
    log_joint = np.add(*density.log_ratio(read))[0]
    pair = two_classes(posterior.classes.tolist(), log_joint, class_, against)
    class_, against = (posterior.classes.tolist()[c] for c in pair)
    total = _odds(log_joint, pair)
    if np.isnan(total):
        raise ValueError(
            f"the row has probability zero under {class_!r} and under {against!r}, so that their odds are not "
            "defined: name other classes with class_= and against=, or fit with nb.Exact(), whose prior leaves "
            "everything possible"
        )
    features = [
        feature
        for i, block in enumerate(model.blocks)
        for feature in _features_of_row(model, block, cells[i], words=words)
    ]
    order = sorted(range(len(features)), key=lambda k: features[k][:2])
    features = [features[k] for k in order]
    # The first description of a column begins a row of the result.
    starts = np.flatnonzero([not k or key != features[k - 1][0] for k, (key, *_) in enumerate(features)])
    names = [BEFORE, *(features[k][2] for k in starts)]
    texts = ["", *(features[k][3] for k in starts)]

    def parts(log_class_prob: np.ndarray, log_odds: LogOdds) -> np.ndarray:
        """Shape (..., parts)."""
        by_block = [
            _block_odds(block, x, log_odds, i, words=words)
            for i, (block, x) in enumerate(zip(model.blocks, cells, strict=True))
        ]
        of_columns = np.add.reduceat(np.concatenate(by_block, axis=-1)[..., order], starts, axis=-1)
        return np.concatenate([_odds(log_class_prob, pair)[..., None], of_columns], axis=-1)

    of_feature = density.features(read)
    found = parts(log(posterior.class_probs()), lambda i, j, x: _odds(of_feature(i, j, x), pair))
    belief, draws = posterior.belief, None
    if offers(posterior, "a distribution of the parameters"):
        drawn, parameters = belief.model, posterior.few_draws(None, num_draws, key)
        draws = parts(
            drawn.log_class_prob(parameters),
            lambda i, j, x: _odds(drawn.feature_log_likelihood(parameters, i, j, x), pair),
        ).reshape(-1, len(names))
    rest = posterior.belief.density.rest
    if rest:
        names, texts = [*names, TOGETHER], [*texts, ""]
        found = np.append(found, _rest_of_odds(total, found))
        # Given the parameters, the features are independent: under each draw this part is zero.
        draws = None if draws is None else np.pad(draws, ((0, 0), (0, 1)))
        if getattr(posterior.belief.density, "log_given", None) is not None:
            rest += OFFSETS
            if draws is not None:
                draws[:, -1], draws[:, 0] = draws[:, 0] - found[0], found[0]
    told = {"class": class_, "against": against, "unit": unit, "prob": prob}
    return Explanation(names, texts, found / scale, None if draws is None else draws / scale, told, rest)


def _odds(log_density: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
    """Difference of two classes on the last axis; NaN where both are impossible."""
    with np.errstate(invalid="ignore"):
        return np.asarray(log_density[..., pair[0]] - log_density[..., pair[1]])


def _rest_of_odds(total: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The total minus the parts on the last axis; zero where both are infinite."""
    with np.errstate(invalid="ignore"):
        rest = total - parts.sum(axis=-1)
    return np.where(np.isnan(rest), 0.0, rest)


def _block_odds(block: Block, x: Any, log_odds: LogOdds, i: int, *, words: bool) -> np.ndarray:
    """Log odds that the features of a block contribute, or its words, shape (..., features)."""
    if not (words and block.has_totals):
        return np.concatenate([log_odds(i, j, x) for j, _ in enumerate(features_of(block))], axis=-1)
    at, counts = _words(x)
    whole = log_odds(i, 0, x)
    if not len(at):
        return whole[..., :0]
    rows = np.arange(len(at))
    alone = scipy.sparse.csr_array((counts, (rows, at)), shape=(len(at), x.shape[1]))
    own = log_odds(i, 0, alone if "sparse" in block.family.takes else dense(alone))
    return own + _rest_of_odds(whole[..., 0], own)[..., None] * counts / counts.sum()


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
        texts = [f"{counts.sum():.4g} in all"]
        if words:
            positions, texts = [positions[j] for j in at], [f"{n:.4g}" for n in counts]
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
    return f"{cell:.4g}"
