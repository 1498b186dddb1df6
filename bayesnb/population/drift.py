"""Whether the columns of new rows have moved beyond what their class probabilities explain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln, logit, logsumexp, xlogy

from bayesnb.core.checking import first_few, proportion
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import how_many
from bayesnb.core.panels import grid_of_panels
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted
from bayesnb.core.running import random_generator
from bayesnb.data.read import Rows, read_rows
from bayesnb.data.schema import Schema
from bayesnb.families.categories import Categorical
from bayesnb.families.family import JointFamily
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.statistics import ClassCounts, Counts
from bayesnb.inference.exact import Exact
from bayesnb.model.blocks import Block, ModelStatistics, in_column_order
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.problem import Problem
from bayesnb.model.reading import Counted
from bayesnb.population.old_and_new import OldAndNew, Weights, columns_beside, total_variation
from bayesnb.posterior.belief import PROB, require
from bayesnb.posterior.column_densities import column_densities, draw_columns, legend_entries, simulated_cells
from bayesnb.posterior.kinds import posterior_of
from bayesnb.posterior.posterior import Posterior

CLASSES = "class probabilities"
"""Name of the line of the classes."""

CLASS_PROB_DRAWS = 20
"""Draws of the class probabilities of rows without labels under which columns are compared."""

PARAMETER_DRAWS = 1000
"""Draws of the parameters of old and of new rows, for the intervals of sizes."""

CERTAIN = 0.9
"""Probability above which a line has drifted."""

SHARE = 0.2
"""Smallest share of the cells that counts, for each standard deviation that does."""

MOST_DRAWN = 10
"""Columns in the picture."""

TABLE = ["log_bayes_factor", "probability", "size", "lower", "upper", "marginal", "drifted", "moved"]
"""Columns of the result."""

# --------------------------------------------------------------------------------------------------
# The result: a line for each column and one for the classes, and the picture of the strongest
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Drift(Printed):
    table: pd.DataFrame
    with_labels: bool
    not_looked_at: Mapping[Any, str]
    strongest: Sequence[OldAndNew] = field(default=(), compare=False)
    weights: Weights = field(default=(np.ones(0),) * 2, compare=False)

    @property
    def drifted(self) -> bool:
        """Whether a column has drifted; the line of the classes does not count."""
        return bool(self.table["drifted"].drop(CLASSES).any())

    def plot(self, *, panels_across: int | None = None, axes: Any = None, figsize: Any = None) -> Any:
        posterior = _as_posterior(self.strongest, self.weights)
        drawn = cache(partial(simulated_cells, posterior, 0))
        columns = [column_densities(posterior, (i, 0), None, drawn, bins=25) for i in range(len(self.strongest))]
        panels = grid_of_panels(len(columns), axes=axes, figsize=figsize, panels_across=panels_across, most_across=3)
        labels = posterior.classes.tolist()
        draw_columns(panels, columns, [0, 1], labels)
        number = how_many(len(columns), len(self.table) - 1, "column", "most moved")
        panels.title(f"Densities in old and in new rows of {number}")
        panels.legend(legend_entries(columns, labels))
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        columns = self.table.drop(index=CLASSES)
        number = f"{columns['drifted'].sum()} of {counted(len(columns), 'column')}"
        how = "given the class" if self.with_labels else "beyond what the class probabilities explain"
        told = [f"{name!r} ({reason})" for name, reason in self.not_looked_at.items()]
        parts = [
            Heading(f"Drift {how}: {number}"),
            DataTable(self.table.sort_values("log_bayes_factor", ascending=False, kind="stable")),
        ]
        return [*parts, Paragraph(f"Not looked at: {first_few(told)}.")] if told else parts


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


def _lines_of_block(
    values: OldAndNew, states: OldAndNew, beside: Mapping[int, Sequence[Weights]], smallest: float, rng: Any
) -> list[dict[str, Any]]:
    """The line of each column of a block.

    `beside` has, for each class whose prior is taken, the weights of the classes under each draw of the class
    probabilities. The size of several classes is that of the one with the highest Bayes factor.
    """
    of_class = [_lines_of_class(values, states, c, weights, smallest, rng) for c, weights in beside.items()]
    every = np.ones(len(beside[min(beside)][0][0]))
    marginal = _mean_factor(*(group.log_factors((every, every))[None] for group in (values, states)))
    lines = []
    for j, found in enumerate(zip(*of_class, strict=True)):
        highest = max(found, key=itemgetter("log_bayes_factor"))
        total = sum(line["log_bayes_factor"] for line in found)
        lines.append(highest | {"log_bayes_factor": total, "marginal": marginal[j]})
    return lines


def _lines_of_class(
    values: OldAndNew, states: OldAndNew, c: int, weights: Sequence[Weights], smallest: float, rng: Any
) -> list[dict[str, Any]]:
    number = max(PARAMETER_DRAWS // len(weights), 1)
    own, state = (np.array([group.log_factors(each, c) for each in weights]) for group in (values, states))
    drawn = [[group.changes(each, c, number, rng) for each in weights] for group in (values, states)]
    of_values, of_states = ({moved: np.concatenate([d[moved] for d in each]) for moved in each[0]} for each in drawn)
    counts = states.joined(weights[0]).total
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
    _, missing, unseen = np.moveaxis(abs(shares[1] - shares[0]), -1, 0)
    log_factor, lines = _mean_factor(own, state), []
    for j in range(len(values.names)):
        is_state = state[:, j].mean() > own[:, j].mean()
        moved = {"unseen values" if unseen[j] > missing[j] else "gaps": of_states["category"]} if is_state else of_values
        found = _size({name: draws[:, j] for name, draws in moved.items()}, smallest)
        lines.append({"log_bayes_factor": log_factor[j], "beside": (states if is_state else values, j)} | found)
    return lines


def _mean_factor(own: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Log Bayes factor that values, states or both moved, shape (columns,), given those of each under each draw.

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

    Its Bayes factor is that of Dirichlet(1) against the posterior of the fit's rows: the inverse of the mean ratio of
    their densities under the draws (Dickey 1971, *Annals of Mathematical Statistics* 42, 204-223).
    """
    one, fitted = np.ones(len(n)), 1.0 + n
    ratios = xlogy(n, class_probs).sum(axis=1) + _log_beta(one) - _log_beta(fitted)
    found = _size({"classes": total_variation(rng.dirichlet(fitted, len(class_probs)), class_probs)}, smallest)
    return {"log_bayes_factor": np.log(len(ratios)) - logsumexp(ratios)} | found


def _log_beta(concentration: np.ndarray) -> float:
    return float(gammaln(concentration).sum() - gammaln(concentration.sum()))


# --------------------------------------------------------------------------------------------------
# New rows beside those of a fit
# --------------------------------------------------------------------------------------------------


@in_float64
def drift(posterior: Any, X_new: Any, y_new: Any = None, *, smallest: float = 0.1, key: Any = 0) -> Drift:
    given = require(posterior_of(posterior), "data", "drift")
    rows = read_rows(X_new, y_new)
    rng = random_generator(key)
    class_probs = None if rows.labels is not None else class_prob_draws(given, rows.table, rng)
    return drift_of_rows(given, rows, class_probs, smallest=smallest, rng=rng)


def class_prob_draws(posterior, X, rng):
    # STUB
    old = posterior.plain.belief.class_probs()
    L = np.clip(posterior.predict_proba(X), 1e-12, 1) / np.maximum(old, 1e-300); q = old.copy(); out = []
    for t in range(200 + 100 * 5):
        R = L * q; R /= R.sum(1, keepdims=True)
        z = (R.cumsum(1) < rng.random((len(R), 1))).sum(1).clip(0, len(q) - 1)
        q = rng.dirichlet(1 + np.bincount(z, minlength=len(q)))
        if t >= 200 and t % 5 == 0: out.append(q)
    return np.array(out)


@in_float64
def drift_of_rows(
    posterior: Posterior, rows: Rows, class_probs: np.ndarray | None, *, smallest: float = 0.1, rng: Any
) -> Drift:
    """As `drift`, given draws of the class probabilities of rows without labels.

    Parameters
    ----------
    posterior : Posterior
    rows : Rows
    class_probs : array, shape (draws, classes), or None
        None if the rows have labels.
    smallest : float
    rng : numpy.random.Generator
    """
    smallest, with_labels = proportion("smallest", smallest, or_one=True), class_probs is None
    problem: Problem = posterior.problem.described_once  # type: ignore[union-attr]
    problem.require_numbers()
    codes = rows.of_classes(posterior.classes).codes if with_labels else np.zeros(len(rows), np.intp)
    n, of_rows = problem.statistics.classes.n, np.bincount(codes, minlength=len(posterior.classes))
    own, every = np.eye(len(n)), np.ones(len(n))
    if class_probs is None:
        beside = {int(c): [(own[c], own[c])] for c in np.flatnonzero((of_rows > 0) & (n > 0))}
        class_probs = rng.dirichlet(1.0 + of_rows, PARAMETER_DRAWS)
    else:
        some = np.linspace(0, len(class_probs) - 1, CLASS_PROB_DRAWS).astype(int)
        beside = {0: [(_old_weights(probs, n), every) for probs in class_probs[some]]}
    counts = {c: _counted(problem, rows.take(np.flatnonzero(codes == c)), c) for c in np.flatnonzero(of_rows)}
    blocks, refused = columns_beside(problem, list(counts.values()), with_labels=with_labels)
    of_blocks = [_lines_of_block(*pair, beside, smallest, rng) for _, *pair in blocks]
    lines = in_column_order([block for block, *_ in blocks], of_blocks)
    names = [line["beside"][0].names[line["beside"][1]] for line in lines]
    table = pd.DataFrame([*lines, _line_of_classes(n, class_probs, smallest, rng)])
    table.index = pd.Index([*names, CLASSES], name="column", tupleize_cols=False)
    table["probability"] = expit(table["log_bayes_factor"] + logit(0.5 / len(table)))
    table["drifted"] = (table["probability"] > CERTAIN) & table["large"].astype(bool)
    order = table[:-1].sort_values("log_bayes_factor", ascending=False, kind="stable")
    strongest = [group.column(j) for group, j in order["beside"] if not isinstance(group.family, JointFamily)]
    weights = _old_weights(class_probs.mean(axis=0), n), every
    return Drift(table[TABLE], with_labels, refused, strongest[:MOST_DRAWN], weights)


def _counted(problem: Problem, rows: Rows, of_class: int) -> Counted:
    """Statistics of some new rows, all in one class."""
    return problem.model.read(rows.alone().table).count(np.full(len(rows), of_class), adds=True)


def _old_weights(class_probs: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Weight of an old row of each class, given the class probabilities of the new rows.

    Together they are the effective number of rows, the squared sum of the weights over the sum of their squares.
    """
    weights = np.divide(class_probs, n, out=np.zeros(len(n)), where=n > 0)
    return weights * (n @ weights) / (n @ weights**2)
