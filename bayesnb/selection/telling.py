"""Which features are the strongest evidence for each class?"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from bayesnb.core.arrays import dense, log
from bayesnb.core.checking import proportion, whole_number
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import ForestPanel, Points, forest, how_many
from bayesnb.core.frames import PrintedFrame
from bayesnb.core.panels import chosen, percent
from bayesnb.core.printing import short_name
from bayesnb.core.running import random_generator
from bayesnb.data.labels import as_labels
from bayesnb.data.read import as_rows
from bayesnb.model.blocks import Block, subjects_of, summed
from bayesnb.model.bound import BoundModel
from bayesnb.model.program import draw_cells, to_table
from bayesnb.model.reading import Chunks
from bayesnb.posterior.belief import offers
from bayesnb.posterior.explain import ROUNDING, UNITS
from bayesnb.posterior.kinds import Fitted, posterior_of
from bayesnb.posterior.posterior import Posterior
from bayesnb.posterior.predictions import nats_of
from bayesnb.posterior.under_draws import log_sum

FEWEST_DRAWS, MOST_DRAWS = 50, 250
"""Draws in each of four chains, from a closed form."""

DRAWS_OF_COLUMNS = 25_000
"""Limit for draws in each chain times columns times pairs of classes, between the two numbers of draws."""

RUNS = 20
"""Number of runs of draws of a sampler, whose medians give the Monte Carlo standard error."""

NUMBERS = ["log_odds", "lower", "upper", "mcse", "median", "median_of_others"]
"""Columns of the result that hold numbers."""

ROWS = 500
"""The log odds of a number are averaged over this many quantiles of simulated cells of each class."""

MOST_PASSES, SIMULATED_CELLS = 8, 2**22
"""Largest number of times that `ROWS` rows of each class are simulated, and of cells in their table."""

LETTERS = 20
"""Largest number of letters in a printed feature name."""

WORDS = 512
"""Number of words whose densities under all draws are in memory at a time."""

Features = Sequence[tuple[int, int]]
"""Positions of features: of the block, and of the column in it."""


class TellingFeatures(PrintedFrame):
    """The result of `telling_features`, which prints the medians of a number in the place of its value.

    What pandas makes of it, such as a sorted or a rounded frame, is an ordinary frame again.

    See Also
    --------
    telling_features : The values that favour a class most.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> nb.telling_features(posterior)["class"].tolist()
    ['a', 'a', 'b', 'b']
    """

    def plot(
        self,
        *,
        classes: Sequence[Any] | None = None,
        max_panels: int = 10,
        panels_across: int | None = None,
        axes: Any = None,
        figsize: Any = None,
    ) -> Any:
        """The strongest evidence for each class: log odds of features (points), intervals (bars), a panel for a class.

        Parameters
        ----------
        classes : sequence, optional
            Classes that get a panel, in this order; by default all for which a feature is evidence.
        max_panels : int, default 10
            The first classes get a panel.
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            All panels have the same scale. Infinite log odds, which only point estimates have, are an arrow head at the
            edge.

        Raises
        ------
        TypeError, ValueError
            If a class is unknown, or no feature is evidence for any class.

        See Also
        --------
        telling_features : The values that favour a class most.
        plot_evidence : The log odds of one row, feature by feature.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = nb.telling_features(posterior, num=3).plot()
        """
        if self.empty:
            raise ValueError("no feature is evidence for any class (all log odds are zero): there is nothing to draw")
        there = list(dict.fromkeys(self["class"]))
        wanted = there if classes is None else [there[i] for i in chosen("classes", classes, there)]
        shown = wanted[: whole_number("max_panels", max_panels)]
        rows = []
        for label in shown:
            of_class = self[self["class"] == label]
            names = zip(of_class["feature"], of_class["value"], strict=True)
            texts = [str(feature) if pd.isna(value) else f"{feature} = {value}" for feature, value in names]
            log_odds, lower, upper = of_class[["log_odds", "lower", "upper"]].to_numpy().T
            interval = f"{percent(self.attrs['prob'])} interval"
            panel = [Points(log_odds, "log odds")], lower, upper, interval
            rows.append(ForestPanel(texts, *panel, title=f"for {label}", at=0.0))
        number = f" ({how_many(len(shown), len(wanted), 'class', 'first')})" if len(shown) < len(wanted) else ""
        title = f"Log odds against the other classes in {self.attrs['unit']}{number}"
        return forest(rows, title=title, same_axis=True, panels_across=panels_across, axes=axes, figsize=figsize)

    def _shown(self) -> pd.DataFrame:
        shown = super()._shown().drop(columns=["mcse", "median", "median_of_others"])
        medians = zip(self["median"], self["median_of_others"], strict=True)
        texts = ["" if np.isnan(own) else f"{own:.4g}, others {others:.4g}" for own, others in medians]
        shown["value"] = np.where(self["median"].isna(), shown["value"], texts)
        return shown.assign(feature=[short_name(str(name), LETTERS) for name in self["feature"]])


@in_float64
def telling_features(
    posterior: Posterior | Fitted,
    num: int = 10,
    *,
    unit: str = "nats",
    prob: float = 0.89,
    num_draws: int | None = None,
    key: Any = 0,
) -> TellingFeatures:
    r"""The features that are the strongest evidence for each class, with intervals.

    A value x of a feature is evidence for the class c, against all others together, with the log odds

    .. math:: \log p(x \mid c, \theta) - \log \sum_{k \neq c} \frac{\pi_k}{1 - \pi_c} \, p(x \mid k, \theta),

    the weight of evidence of Good (1950, *Probability and the Weighing of Evidence*, chapter 6). The estimate is their
    median under draws of the parameters, and the interval is of the same draws.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    num : int, default 10
        Largest number of rows for each class.
    unit : {"nats", "bits", "decibans"}, default "nats"
    prob : float, default 0.89
        Posterior probability of the intervals.
    num_draws : int, optional
        Draws in each chain: by default 250 in each of 4 from a closed form, 50 if there are many columns or classes,
        and all draws of a sampled posterior. The more draws, the less the order of features with alike intervals
        depends on `key`.
    key : int or JAX key, default 0
        For the draws from a closed form, and for rows of each class (see below).

    Returns
    -------
    TellingFeatures
        A pandas frame, class by class, in the order of `Posterior.classes`, the most telling feature first. Unit and
        `prob` are in ``attrs``. In print, a number has its two medians in the place of a value. Its ``plot()`` draws
        it.

        ``class``, ``feature``
            The class, and the column, the word or the joint block that is evidence for it.
        ``value``
            The category, or 0 or 1; None for a word, a number and a joint block.
        ``log_odds``
            The log odds of that value, or of one token that is that word: the median over draws of the parameters, of a
            point estimate the log odds themselves. For a number or a joint block, their mean over rows of the class
            (Good's expected weight of evidence, the Kullback-Leibler divergence from the other classes), by rows
            simulated from the posterior predictive distribution.
        ``lower``, ``upper``
            Equal-tailed interval of the same draws; NaN for a point estimate. It is no test of whether the feature
            tells anything (see Notes).
        ``mcse``
            Monte Carlo standard error of ``log_odds``, by the draws and by the simulated rows. Draws of a sampler
            depend on those before: their error is that of the medians of 20 runs, or that of independent draws if it is
            larger.
        ``median``, ``median_of_others``
            Of a number: its median in 500 rows of the class, and in as many of each other class, which have the
            weights of the class probabilities. They say whether small or large numbers are evidence. NaN for all else.

        Only features with log odds above zero are listed, in the order of
        ``lower``, or of ``log_odds`` for a point estimate. Words that are rare in the data have large log odds with
        wide intervals, and therefore come after words with narrower intervals.

    Raises
    ------
    TypeError
        If the first argument is neither a posterior nor a fitted estimator.
    ValueError
        If there is one class only, the unit is unknown, `num` is not positive, or `prob` is not between 0 and 1.

    See Also
    --------
    Posterior.explain : The numbers of the picture.
    mutual_information : Mutual information of each feature and the class.

    Notes
    -----
    With weights (`nb.weight_features`), densities have the weight of their feature as exponent. What several features
    say of one column is multiplied. If one of them describes the column given another column, its parent, the log odds
    of a category are their mean over the parent's cells in simulated rows of the class: what the category is expected
    to say in a row of the class. Readings of gaps, names and dates have rows of their own, except days.

    Intervals say how strong the evidence is, not whether there is any. The mean log odds of a number are hardly ever
    negative, and large in a class of few rows. Without weights, ``lower`` is above zero for .35 of the columns of noise
    where a class has 5 of 50 rows, for .50 where it has 10 of 200, and for .10 in two classes of 250 rows; with
    weights for .02 and less. `mutual_information` and `feature_evidence` say whether a feature tells anything.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> nb.telling_features(posterior, num=2)
    Log odds of each class against the others, in nats, lower and upper: 89 %
    interval, sorted by lower. A column of numbers has the median of the class and
    of the others
           class            feature                value  log_odds  lower  upper
    0     Adelie     bill_length_mm  38.79, others 47.88     4.156  3.455  4.905
    1     Adelie             island            Torgersen     3.656  2.638  5.181
    2  Chinstrap             island                Dream     1.557  1.378   1.76
    3  Chinstrap     bill_length_mm  48.86, others 41.87    0.7879 0.6684  0.926
    4     Gentoo  flipper_length_mm    217, others 191.5     5.572  4.481  7.072
    5     Gentoo        body_mass_g    5076, others 3704     4.805  4.034  5.754
    """
    posterior = posterior_of(posterior)
    proportion("prob", prob)
    num = whole_number("num", num)
    scale = nats_of(unit, UNITS)
    classes = posterior.classes.tolist()
    if len(classes) < 2:
        raise ValueError(f"there is one class, {classes[0]!r}: features are evidence for one of several classes")
    candidates, odds, medians = zip(
        *_candidate_values(posterior, [(1 - prob) / 2, (1 + prob) / 2], num_draws, key), strict=True
    )
    names = list(chain(*candidates))
    # The numbers of each feature and class, in the order of `NUMBERS`.
    numbers = np.concatenate([np.concatenate(odds, axis=1) / scale, np.concatenate(medians, axis=1)])
    log_odds, lower = numbers[:2]
    rank, parts = log_odds if np.isnan(lower).all() else lower, []
    for c, label in enumerate(classes):
        order = np.argsort(-rank[:, c], kind="stable")
        best = order[log_odds[order, c] > ROUNDING][:num]
        parts += [(label, *names[e], *numbers[:, e, c]) for e in best]
    frame = pd.DataFrame(parts, columns=["class", "feature", "value", *NUMBERS], dtype=object)
    frame = frame.astype(dict.fromkeys(NUMBERS, float))
    frame.attrs = {"unit": unit, "prob": prob}
    heading = f"Log odds of each class against the others, in {unit}"
    if frame["lower"].notna().any():
        heading += f", lower and upper: {percent(prob)} interval, sorted by lower"
    if frame["median"].notna().any():
        heading += ". A column of numbers has the median of the class and of the others"
    return TellingFeatures(frame, heading)


def _candidate_values(
    posterior: Posterior, levels: list[float], num_draws: int | None, key: Any
) -> Iterator[tuple[list[tuple[Any, Any]], np.ndarray, np.ndarray]]:
    """Values of one feature, or words, that may be evidence for a class.

    Yields
    ------
    list of (feature, value)
        The value of a word, number or joint block is None.
    array, shape (4, candidates, classes)
        Log odds: estimate, lower and upper end, Monte Carlo error.
    array, shape (2, candidates, classes)
        Median of a number in the class, and in the other classes; NaN for other features.
    """
    once, drawn = posterior.generative, offers(posterior, "draws of a sampler")
    if num_draws is None and not drawn:
        columns = sum(len(block.columns) for block in once.model.blocks)
        pairs = math.comb(len(posterior.classes), 2)
        num_draws = min(max(DRAWS_OF_COLUMNS // (columns * pairs), FEWEST_DRAWS), MOST_DRAWS)
    belief, spread = posterior.belief, offers(posterior, "a distribution of the parameters")
    model, parameters = belief.model, belief.draw(None, num_draws, key) if spread else None
    class_prob = posterior.class_probs()
    log_prob = log(class_prob)
    rows = _SimulatedRows(model, once, key)

    def odds(features: Features, cells: Mapping[int, Any], of: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        """Log odds of features together under the draws (draws, ...), given the cells of their blocks.

        The function `of` gives them from log densities and log class probabilities.
        """
        if parameters is None:
            return of(summed(belief.density.feature(i, j, cells[i]) for i, j in features), log_prob)[None]
        log_probs = np.asarray(model.log_class_prob(parameters))[..., None, :]
        found = of(summed(model.feature_log_likelihood(parameters, i, j, cells[i]) for i, j in features), log_probs)
        return found.reshape(-1, *found.shape[2:])

    def summary(draws: np.ndarray, of_rows: Any = 0.0) -> np.ndarray:
        """Estimate, ends and Monte Carlo error of draws, given the variance of their mean over simulated rows."""
        if parameters is None:
            return np.stack([draws[0], *np.full((2, *draws[0].shape), np.nan), np.sqrt(of_rows) + 0 * draws[0]])
        lower, estimate, upper = np.quantile(draws, [levels[0], 0.5, levels[1]], axis=0)
        # The variance of a median of normal draws is pi / 2 times that of their mean.
        of_draws = np.pi / 2 * draws.var(axis=0) / len(draws)
        if drawn and len(draws) >= 2 * RUNS:
            # Each draw depends on the one before.
            runs = np.stack([np.median(run, axis=0) for run in np.array_split(draws, RUNS)])
            of_draws = np.maximum(runs.var(axis=0, ddof=1) / RUNS, of_draws)
        return np.stack([estimate, lower, upper, np.sqrt(of_draws + of_rows)])

    def odds_of_values(features: Features, values: list[Any]) -> np.ndarray:
        """Summary of the means over the rows of each class, shape (4, values, classes)."""
        cells, share = rows.rows_of_values(features, values)
        found = odds(features, cells, _against_others)
        found = found.reshape(len(found), len(values), *share.shape)
        means = (share * found).sum(axis=2)
        if len(share) == 1:
            return summary(means)
        return summary(means, (share * (found - means[:, :, None]).mean(axis=0) ** 2).sum(axis=1) / ROWS)

    def odds_of_own_rows(features: Features, of_classes: list[Any]) -> np.ndarray:
        """Summary of the means over the rows of each class, shape (4, 1, classes)."""
        number = ROWS * (1 if any(model.blocks[i].is_joint for i, _ in features) else rows.passes)
        by_class = []
        for c, cells in enumerate(of_classes):
            found = odds(features, cells, partial(_own_against_others, c))
            by_class.append(summary(found.mean(axis=-1), found.mean(axis=0).var() / number))
        return np.stack(by_class, axis=-1)[:, None, :]

    for name, features in _by_subject(model):
        i, j = features[0]
        block = model.blocks[i]
        if block.has_totals:
            for x, labels in _single_words(block):
                found = summary(odds(features, dict.fromkeys([i for i, _ in features], x), _against_others))
                yield [(label, None) for label in labels], found, np.full_like(found[:2], np.nan)
        elif not block.is_vector and (block.has_categories or block.is_binary):
            values = [*model.schema.categories[block.columns[j]]] if block.has_categories else [0, 1]
            found = odds_of_values(features, values)
            yield [(name, value) for value in values], found, np.full_like(found[:2], np.nan)
        else:
            of_classes = rows.of_classes(features)
            found = odds_of_own_rows(features, of_classes)
            own = [cells[i][:, j] for cells in of_classes]
            medians = np.full_like(found[:2], np.nan) if block.is_vector else _medians(own, class_prob)[:, None]
            yield [(name, None)], found, medians


def _by_subject(model: BoundModel) -> Iterator[tuple[Any, Features]]:
    """Columns and joint blocks in the order of the table, and the features that describe each, the first one first.

    Readings follow, each alone. Simulated rows have no dates, so that days are left out.
    """
    found: dict[Any, list[tuple[int, Any, int, int]]] = {}
    schema = model.schema
    for i, block in enumerate(model.blocks):
        subjects = subjects_of(block, schema)
        if block.columns[0] >= schema.first_reading:
            listed = block.has_categories or block.is_binary
            subjects = [((at, ()), schema.columns[at]) for at in block.columns if listed]
        for j, (key, name) in enumerate(subjects):
            found.setdefault(key, []).append((block.columns[j], name, i, j))
    for key in sorted(found):
        features = sorted(found[key], key=itemgetter(0))
        yield features[0][1], [(i, j) for _, _, i, j in features]


def _against_others(log_density: np.ndarray, log_prob: np.ndarray) -> np.ndarray:
    """Log ratio of each class's density to that of the others, averaged by class probabilities, on the last axis.

    Both arguments broadcast; a constant in `log_prob` cancels. NaN where a value is impossible under all classes.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(log_density - _of_others(log_prob + log_density) + _of_others(log_prob))


def _of_others(log_joint: np.ndarray) -> np.ndarray:
    """Logarithm of the sum over all classes except one, for each class, on the last axis.

    It is the sum of those before and those after the class: the sum over all minus the class itself would lose digits.
    """
    found = np.full(log_joint.shape, -np.inf)
    found[..., 1:] = np.logaddexp.accumulate(log_joint[..., :-1], axis=-1)
    after = np.logaddexp.accumulate(log_joint[..., :0:-1], axis=-1)[..., ::-1]
    found[..., :-1] = np.logaddexp(found[..., :-1], after)
    return found


def _own_against_others(c: int, log_density: np.ndarray, log_prob: np.ndarray) -> np.ndarray:
    """The log ratio of `_against_others` for class `c` alone, shape (..., rows)."""
    others = [k for k in range(log_density.shape[-1]) if k != c]
    joint = log_sum(np.stack([log_prob[..., k] + log_density[..., k] for k in others]))
    with np.errstate(invalid="ignore"):
        return np.asarray(log_density[..., c] - joint + np.logaddexp.reduce(log_prob[..., others], axis=-1))


def _medians(cells: list[np.ndarray], class_prob: np.ndarray) -> np.ndarray:
    """Median of each class and of the other classes, shape (2, classes), of cells by class."""
    found = np.empty((2, len(cells)))
    for c, of_class in enumerate(cells):
        weights = np.repeat(np.delete(class_prob, c), ROWS)
        found[0, c] = np.median(of_class)
        found[1, c] = np.quantile(np.delete(cells, c, axis=0).ravel(), 0.5, weights=weights, method="inverted_cdf")
    return found


def _single_words(block: Block) -> Iterator[tuple[Any, list[Any]]]:
    """Documents of one token each, some at a time, and the names of their words."""
    number = len(block.labels)
    for start in range(0, number, WORDS):
        at = np.arange(start, min(start + WORDS, number))
        x = scipy.sparse.csr_array((np.ones(len(at)), (at - start, at)), shape=(len(at), number))
        yield x if "sparse" in block.family.takes else dense(x), [block.labels[k] for k in at]


class _SimulatedRows:
    """Rows of each class from the posterior predictive distribution, simulated when they are needed.

    Cells of a single column are at quantiles of many simulated ones. With the same number of random cells, the order of
    features would depend on the key if few cells tell the classes apart. `once` is the posterior in which each column
    is described once.
    """

    def __init__(self, model: BoundModel, once: Posterior, key: Any) -> None:
        self._model, self._once, self._key = model, once, key
        columns = sum(len(block.columns) for block in once.model.blocks)
        self.passes = min(max(SIMULATED_CELLS // (len(once.classes) * ROWS * columns), 1), MOST_PASSES)

    def of_classes(self, features: Features) -> list[dict[int, np.ndarray]]:
        """For each class its rows: by block of the features the cells, shape (rows, columns)."""
        i, j = features[0]
        cells = {i: self._simulated[i] for i, _ in features}
        at = np.tile(np.arange(ROWS), (len(cells[i]), 1))
        if not self._model.blocks[i].is_vector:
            at = np.argsort(cells[i][..., j], axis=1)[:, (self.passes - 1) // 2 :: self.passes]
        return [{i: x[c, of_class] for i, x in cells.items()} for c, of_class in enumerate(at)]

    def rows_of_values(self, features: Features, values: list[Any]) -> tuple[dict[int, np.ndarray], np.ndarray]:
        """Rows that have each value of a column beside all simulated cells of its parents.

        Returns
        -------
        dict
            By block of the features, its cells, shape (values * parents, columns).
        array, shape (parents, classes)
            How often the rows of a class have these cells of the parents.
        """
        blocks, (i, j) = self._model.blocks, features[0]
        cells = {i: np.zeros((len(values), len(blocks[i].columns))) for i, _ in features}
        if len(features) > 1:
            (name,) = self._model.schema.names(blocks[i].columns[j : j + 1])
            cells = self._read(pd.DataFrame({name: as_labels(values)}), list(cells))
        cells[i][:, j] = np.arange(len(values))
        num_classes = len(self._once.classes)
        given = {i: slice(len(blocks[i].described), None) for i in cells if blocks[i].described != blocks[i].columns}
        if not given:
            return cells, np.ones((1, num_classes))
        rows = {i: self._simulated[i][:, :ROWS, at].reshape(num_classes * ROWS, -1) for i, at in given.items()}
        _, first, which = np.unique(np.hstack([*rows.values()]), axis=0, return_index=True, return_inverse=True)
        cells = {i: np.repeat(x, len(first), axis=0) for i, x in cells.items()}
        for i, at in given.items():
            cells[i][:, at] = np.tile(rows[i][first], (len(values), 1))
        number = [np.bincount(of_class, minlength=len(first)) for of_class in which.reshape(num_classes, ROWS)]
        return cells, np.stack(number, axis=1) / ROWS

    def _read(self, frame: pd.DataFrame, wanted: Sequence[int]) -> dict[int, np.ndarray]:
        """Cells of blocks, given columns of the table; those of other columns, or outside a support, are missing."""
        schema, blocks = self._model.schema, [self._model.blocks[i] for i in wanted]
        layout = [block.columns for block in blocks]
        names = tuple(dict.fromkeys(chain(*map(schema.names, layout))))
        table = as_rows(frame.reindex(columns=[*names]).set_axis([*map(str, range(len(names)))], axis=1))
        table = replace(schema, named=True).arrange(replace(table, names=names), layout, {})
        chunks = Chunks(schema, tuple(blocks), table, frozenset(schema.columns))
        return dict(zip(wanted, chunks.whole(warn=False), strict=True))

    @cached_property
    def _simulated(self) -> dict[int, np.ndarray]:
        """Cells of each block, shape (classes, rows of all passes, columns)."""
        once, rng = self._once.model, random_generator(self._key)
        num_classes = len(once.schema.classes)
        codes = np.repeat(np.arange(num_classes), ROWS)
        found: list[dict[int, np.ndarray]] = []
        for _ in range(self.passes):
            parameters = self._once.belief.draw_for_rows(codes, rng)
            places = [i for i, block in enumerate(once.blocks) if not block.has_totals]
            blocks = [once.blocks[i] for i in places]
            drawn = draw_cells(blocks, [parameters[i] for i in places], len(codes), rng)
            cells = dict(zip(places, drawn, strict=True))
            if self._model.schema.derived:
                frame = to_table(replace(once.schema, named=True), blocks, drawn)
                cells = self._read(frame, [i for i, block in enumerate(self._model.blocks) if not block.has_totals])
            found.append({i: x.reshape(num_classes, ROWS, -1) for i, x in cells.items()})
        return {i: np.concatenate([cells[i] for cells in found], axis=1) for i in found[0]}
