"""What moved between the rows of a fit and new ones: a line for each column, and the result of `drift`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from itertools import chain, islice
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit, logsumexp

from bayesnb.core.checking import first_few, proportion, whole_number
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import how_many
from bayesnb.core.panels import PROB, grid_of_panels
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted
from bayesnb.data.elsewhere import TableElsewhere
from bayesnb.data.read import Rows
from bayesnb.data.schema import Schema
from bayesnb.families.categories import dirichlet_log_evidence
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.statistics import ClassCounts
from bayesnb.inference.exact import Exact
from bayesnb.model.blocks import Block, ModelStatistics, features_of, in_column_order
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.problem import Problem
from bayesnb.model.statistics_elsewhere import count_each_class
from bayesnb.population.old_and_new import OldAndNew, Weights, columns_beside, total_variation
from bayesnb.posterior.column_densities import column_densities, draw_columns, legend_entries, simulated_cells
from bayesnb.posterior.posterior import Posterior

CLASSES = "class probabilities"
"""Name of the line of the classes."""

CLASS_PROB_DRAWS = 20
"""Draws of the class probabilities of rows without labels under which columns are compared."""

SIZE_DRAWS, NUM_DRAWS = 5, 1000
"""Draws of the class probabilities for the intervals of sizes, and of the parameters under all of them."""

FEWEST_DRAWS, DRAWN_NUMBERS = 100, 2 * 10**6
"""Of many columns there are fewer draws of the parameters, at least so many: draws times columns is limited."""

CERTAIN = 0.9
"""Probability above which a line has drifted."""

TINY = 1e-12
"""Total variance of class probabilities that is none, as with a single class."""

SHARE = 0.2
"""Smallest share of the cells that counts, for each standard deviation that does."""

MOST = 100
"""Largest number of columns that can be drawn."""

TABLE = ["log_bayes_factor", "probability", "size", "lower", "upper", "marginal", "drifted", "moved"]
"""Columns of the result."""

SHOWN = ["moved", "size", "lower", "upper", "probability", "drifted"]
"""Columns that are printed."""

# --------------------------------------------------------------------------------------------------
# The result: a line for each column and one for the classes, and the picture of the strongest
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Drift(Printed):
    """The result of `drift`.

    Attributes
    ----------
    table : pandas.DataFrame
        A line for each column, in the order of the table, and ``"class probabilities"``. ``log_bayes_factor`` of the
        hypothesis that it has moved, and its posterior ``probability``; ``size`` of the change, with the ends ``lower``
        and ``upper`` of its 89 % interval; ``marginal``, the log Bayes factor of a comparison without the classes;
        ``drifted``, whether the probability is above .9 and the interval beyond the smallest size; ``moved``, what the
        size is about:

        ``"mean"``
            The shift of the mean in old standard deviations, of the logarithms for a `LogNormal` column, and of the
            cells other than zero for a `Hurdle`.
        ``"spread"``
            The ratio of the new standard deviation to the old one, of the same numbers.
        ``"category"``, ``"values"``, ``"classes"``
            The share of the cells that moved to other categories, bins or classes (total variation).
        ``"zeros"``, ``"gaps"``, ``"unseen values"``
            The new share of zeros of a `Hurdle`, of missing cells or of values that no row of the fit has, minus the
            old share.

        It is the first of these that is beyond the smallest size, or else the first. A family whose parameters tell
        none has no size, and the probability alone decides.
    with_labels : bool
        Whether the new rows had labels. The size is then that in the class with the highest Bayes factor.
    not_looked_at : mapping from name to str
        Features that cannot be compared, and why.

    See Also
    --------
    drift : Whether columns of new rows have moved.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> found = nb.drift(posterior, X.assign(sex=None))
    >>> found.drifted, found.table.loc["sex", "moved"]
    (True, 'gaps')
    """

    table: pd.DataFrame
    with_labels: bool
    not_looked_at: Mapping[Any, str]
    _strongest: Sequence[OldAndNew] = field(compare=False)
    _weights: Weights = field(compare=False)

    @property
    def drifted(self) -> bool:
        """Whether a column has drifted; the line of the classes does not count."""
        return bool(self.table["drifted"].iloc[:-1].any())

    def plot(
        self, *, max_panels: int = 10, panels_across: int | None = None, axes: Any = None, figsize: Any = None
    ) -> Any:
        """The distributions of the most moved columns in the new rows, beside those in the old ones.

        Parameters
        ----------
        max_panels : int, default 10
            The columns with the highest Bayes factors have a panel.
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            Of a column in which gaps or unseen values moved, the panel shows these. The old rows are weighted to the
            class probabilities of the new ones.

        Raises
        ------
        ValueError
            If no column has a density of its own.

        See Also
        --------
        drift : Whether columns of new rows have moved.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = nb.drift(posterior, X.assign(sex=None)).plot(max_panels=2)
        """
        shown = self._strongest[: whole_number("max_panels", max_panels)]
        if not shown:
            raise ValueError("no column of this model has a density of its own: there is nothing to draw")
        posterior = _as_posterior(shown, self._weights)
        drawn = cache(partial(simulated_cells, posterior, 0))
        columns = [column_densities(posterior, (i, 0), None, drawn, bins=25) for i in range(len(shown))]
        panels = grid_of_panels(len(columns), axes=axes, figsize=figsize, panels_across=panels_across, most_across=4)
        labels = posterior.classes.tolist()
        draw_columns(panels, columns, [0, 1], labels)
        number = how_many(len(columns), len(self.table) - 1, "column", "most moved")
        panels.title(f"Distributions in old and in new rows of {number}")
        panels.legend(legend_entries(columns, labels))
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        return self.parts("more in .table")

    def parts(self, rest: str) -> list[Piece]:
        """The parts of the printed form, given what is said of the lines that are not shown."""
        number = f"{self.table['drifted'].iloc[:-1].sum()} of {counted(len(self.table) - 1, 'column')}"
        how = "given the class" if self.with_labels else "beyond what the class probabilities explain"
        shown = self.table.sort_values("log_bayes_factor", ascending=False, kind="stable")[SHOWN]
        shown = shown.round(dict.fromkeys(("size", "lower", "upper"), 3))
        told = [f"{name!r}, because {reason}" for name, reason in self.not_looked_at.items()]
        note = [Paragraph(f"Not looked at: {first_few(told, between='; ')}.")] if told else []
        return [Heading(f"Drift {how}: {number}"), DataTable(shown, ".3g", rest), *note]


def _as_posterior(columns: Sequence[OldAndNew], weights: Weights) -> Posterior:
    """A posterior whose classes are the old and the new rows, of columns with shared priors."""
    names = tuple(column.names[0] for column in columns)
    categories = {i: column.categories[0] for i, column in enumerate(columns) if column.categories}
    schema = Schema(names, True, np.array(["old", "new"]), categories)
    blocks = tuple(Block(str(names[i]), each.prior(), (i,), (names[i],), True) for i, each in enumerate(columns))
    statistics = ModelStatistics(ClassCounts(np.ones(2)), tuple(each.joined(weights) for each in columns))
    return Exact().fit(Problem(BoundModel(NaiveBayes(Gaussian()), schema, blocks), statistics))


# --------------------------------------------------------------------------------------------------
# Lines of the table
# --------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    """A column of a group: log factors under each draw of the class probabilities, and draws of what moved."""

    group: OldAndNew
    place: int
    log_factors: np.ndarray
    changes: Mapping[str, np.ndarray]


def _columns_of(group: OldAndNew, c: int, weights: Sequence[Weights], rng: Any) -> Iterator[_Column]:
    some = weights[:: -(-len(weights) // SIZE_DRAWS)]
    number = min(NUM_DRAWS, max(FEWEST_DRAWS, DRAWN_NUMBERS // len(group.names)))
    log_factors, changes = group.log_factors(weights, c), group.changes(some, c, number // len(some), rng)
    for j in range(len(group.names)):
        yield _Column(group, j, log_factors[:, j], {moved: draws[:, j] for moved, draws in changes.items()})


def _lines_of_class(
    groups: Sequence[OldAndNew], states: OldAndNew, c: int, weights: Sequence[Weights], smallest: float, rng: Any
) -> Iterator[dict[str, Any]]:
    """The line of each column under the prior of a class, given the weights under each draw of the probabilities."""
    of_values = chain.from_iterable(_columns_of(group, c, weights, rng) for group in groups)
    for own, state in zip(of_values, _columns_of(states, c, weights, rng), strict=True):
        chosen = state if state.log_factors.mean() > max(own.log_factors.mean(), 0.0) else own
        log_factor = _mean_factor(own.log_factors, state.log_factors)
        yield {"log_bayes_factor": log_factor, "of": chosen} | _size(chosen.changes, smallest)


def _lines_of_columns(
    groups: Sequence[OldAndNew], states: OldAndNew, beside: Mapping[int, Sequence[Weights]], smallest: float, rng: Any
) -> list[dict[str, Any]]:
    """The line of each column.

    The size of several classes is that of the one with the highest Bayes factor.
    """
    of_classes = [_lines_of_class(groups, states, c, weights, smallest, rng) for c, weights in beside.items()]
    every = np.ones(len(next(iter(beside.values()))[0][0]))
    pooled = np.concatenate([group.log_factors([(every, every)])[0] for group in groups])
    marginal = _mean_factor(pooled[None], states.log_factors([(every, every)]))
    lines = []
    for found, of_pooled in zip(zip(*of_classes, strict=True), marginal, strict=True):
        factors = [line["log_bayes_factor"] for line in found]
        highest = found[int(np.argmax(factors))]
        lines.append(highest | {"log_bayes_factor": sum(factors), "marginal": of_pooled})
    return lines


def _mean_factor(own: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Log Bayes factor that values, states or both moved, shape (...), given those of each, shape (draws, ...).

    Over the posterior of the class probabilities, the mean is that of the inverse factors.
    """
    moved = logsumexp([own, state, own + state], axis=0) - np.log(3)
    return np.asarray(np.log(len(moved)) - logsumexp(-moved, axis=0))


def _size(draws: Mapping[str, np.ndarray], smallest: float) -> dict[str, Any]:
    """The first change whose interval is beyond the smallest size, or else the first one.

    Where the family does not tell any, the probability alone decides.
    """
    chosen: dict[str, Any] = {"moved": "", "size": np.nan, "lower": np.nan, "upper": np.nan, "large": True}
    for i, (moved, values) in enumerate(draws.items()):
        numbers = np.array([values.mean(), *np.quantile(values, ((1 - PROB) / 2, (1 + PROB) / 2))])
        large = max(numbers[1], -numbers[2]) > (smallest if moved in ("mean", "spread") else SHARE * smallest)
        if large or i == 0:
            size, lower, upper = np.exp(numbers) if moved == "spread" else numbers
            chosen = {"moved": moved, "size": size, "lower": lower, "upper": upper, "large": large}
        if large:
            break
    return chosen


def _line_of_classes(n: np.ndarray, class_probs: np.ndarray, smallest: float, rng: Any) -> dict[str, Any]:
    """The line of the classes, given the weight of each in the fit, and draws of the probabilities in new rows.

    The draws have the mean and the total variance of a Dirichlet distribution. Rows with labels that have its
    parameters less one as counts would say as much, and their Bayes factor has a closed form.
    """
    mean, one = class_probs.mean(axis=0), np.ones(len(n))
    concentration = float(mean @ (1.0 - mean) / max(class_probs.var(axis=0).sum(), TINY)) - 1.0
    number = np.maximum(concentration * mean - 1.0, 0.0)
    own, of_new, joint = (dirichlet_log_evidence(one, counts) for counts in (n, number, n + number))
    changes = {"classes": total_variation(rng.dirichlet(one + n, len(class_probs)), class_probs)}
    return {"log_bayes_factor": own + of_new - joint} | _size(changes, smallest)


# --------------------------------------------------------------------------------------------------
# New rows beside those of a fit
# --------------------------------------------------------------------------------------------------


def refuse_few_rows(posterior: Posterior, rows: Rows | TableElsewhere) -> None:
    """Raise ValueError where there are too few rows to compare."""
    if len(rows) < 2:
        has = "one row, which has" if len(rows) else "no rows, which have"
        raise ValueError(f"X_new has {has} no distribution to compare: give all rows of the new population")
    if not posterior.problem.statistics.classes.n.sum():  # type: ignore[union-attr]
        raise ValueError("no row of the fit has a label, and drift compares statistics of classes: fit labelled rows")


@in_float64
def drift_of_rows(
    posterior: Posterior,
    rows: Rows | TableElsewhere,
    class_probs: np.ndarray | None,
    *,
    smallest: float = 0.1,
    rng: Any,
) -> Drift:
    """As `drift`, given draws of the class probabilities of rows without labels.

    Parameters
    ----------
    posterior : Posterior
    rows : Rows, as `read_rows` gives them, or TableElsewhere
    class_probs : array, shape (draws, classes), or None
        None if the rows have labels.
    smallest : float
    rng : numpy.random.Generator
    """
    smallest, with_labels = proportion("smallest", smallest, or_one=True), class_probs is None
    problem = _described_first(posterior.problem)  # type: ignore[arg-type]
    problem.require_numbers()
    counts = count_each_class(problem.model, rows)
    n, of_rows = problem.statistics.classes.n, reduce(add, (each.statistics.classes.n for each in counts))
    pairs, states, refused = columns_beside(problem, counts)
    if not states.new.total[..., [0, 2]].any():
        raise ValueError("every cell of X_new is missing: give rows with values, in columns of the names of the fit")
    beside = _beside(n, of_rows, class_probs)
    class_probs = rng.dirichlet(1.0 + of_rows, NUM_DRAWS) if class_probs is None else class_probs
    blocks, groups = zip(*pairs, strict=True)
    found = iter(_lines_of_columns(groups, states, beside, smallest, rng))
    lines = in_column_order(blocks, [list(islice(found, len(group.names))) for group in groups])
    table = _table_of_lines(lines, _line_of_classes(n, class_probs, smallest, rng))
    order = np.argsort([-line["log_bayes_factor"] for line in lines], kind="stable")
    strongest = [group.column(place) for group, place, _, changes in (lines[k]["of"] for k in order) if changes]
    return Drift(
        table, with_labels, refused, strongest[:MOST], (_old_weights(class_probs.mean(axis=0), n), np.ones(len(n)))
    )


def _described_first(problem: Problem) -> Problem:
    """The problem with the first feature of each column, a reading where it has no other, as a date has none."""
    if not problem.model.num_again:
        return problem
    blocks, sources = problem.model.blocks, problem.model.schema.sources
    columns = [[block.columns] if block.is_joint else [[position] for position in block.columns] for block in blocks]
    named = [[*zip(features_of(block), own, strict=True)] for block, own in zip(blocks, columns, strict=True)]
    first, described = [], set[int]()
    for name, own in in_column_order(blocks, named):
        if not described.issuperset(of := [sources[position] for position in own]):
            first.append(name)
            described.update(of)
    return problem.of_features(first)


def _beside(n: np.ndarray, of_rows: np.ndarray, class_probs: np.ndarray | None) -> dict[int, list[Weights]]:
    """For each class whose prior is taken, the weights of the classes in old and in new rows, several if not known."""
    own, every = np.eye(len(n)), np.ones(len(n))
    if class_probs is None:
        return {int(c): [(own[c], own[c])] for c in np.flatnonzero((of_rows > 0) & (n > 0))}
    some = np.linspace(0, len(class_probs) - 1, CLASS_PROB_DRAWS).astype(int)
    return {int(n.argmax()): [(_old_weights(probs, n), every) for probs in class_probs[some]]}


def _table_of_lines(lines: Sequence[Mapping[str, Any]], of_classes: Mapping[str, Any]) -> pd.DataFrame:
    """The table of a result; each of its lines has moved with the same prior probability, together one half."""
    names = [line["of"].group.names[line["of"].place] for line in lines]
    table = pd.DataFrame([*lines, of_classes], pd.Index([*names, CLASSES], name="column", tupleize_cols=False))
    table["probability"] = expit(table["log_bayes_factor"] + logit(0.5 / len(table)))
    table["drifted"] = (table["probability"] > CERTAIN) & table["large"].astype(bool)
    return table[TABLE]


def _old_weights(class_probs: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Weight of an old row of each class, given the class probabilities of the new rows.

    Together they are the effective number of rows, the squared sum of the weights over the sum of their squares.
    """
    weights = np.divide(class_probs, n, out=np.zeros(len(n)), where=n > 0)
    return weights * (n @ weights) / (n @ weights**2)
