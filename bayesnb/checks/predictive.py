"""Posterior predictive checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.checks.builtin import statistics_of
from bayesnb.checks.replicates import draws, encode, replicate
from bayesnb.core.checking import first_few, whole_number
from bayesnb.core.forest import how_many, number_of_panels
from bayesnb.core.panels import grid_of_panels, muted, number_x_axis, text_color
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted, four_digits, plus_minus_of
from bayesnb.core.running import progress_bar, random_generator, results_in_order
from bayesnb.data.read import split_labels
from bayesnb.model.prior import ModelParameters
from bayesnb.posterior.kinds import posterior_of_features
from bayesnb.posterior.posterior import Posterior, warn_of_lost_weights

# --------------------------------------------------------------------------------------------------
# The figure of a posterior predictive check: replicated statistics and the observed ones
# --------------------------------------------------------------------------------------------------


def _p_value(value: float, number: int) -> str:
    if value == 0:
        return f"p < {1 / number:.2g}"
    return f"p > {1 - 1 / number:.4g}" if value == 1 else f"p = {value:.3f}"


# --------------------------------------------------------------------------------------------------
# The result of a check, as a table and in print
# --------------------------------------------------------------------------------------------------

EXTREME = 0.02
"""Adjusted p-value below which a line is called extreme."""

FITTED = "class_frequency, mean and variance are last: on the rows of the fit, most families agree with them."
"""Printed below fitted statistics."""

HEAVY = (
    "{}: the replicates have heavy tails, as where few rows tell a variance. A few of them determine mean ± sd, which "
    "may change with each further replicate; p-values do not depend on them."
)
"""Printed below lines whose replicates have heavy tails."""

ENOUGH = 49
"""With fewer replicates R, a statistic is extreme by chance with probability 1 / (R + 1) > `EXTREME`."""


@dataclass(frozen=True, repr=False)
class Check(Printed):
    """The result of `check`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per statistic: ``observed``; ``replicated_mean`` and ``replicated_sd``; ``p_value``, the share of
        replicates whose value is at least the observed one, ties counted half; ``p_value_mcse``, its Monte Carlo
        standard error: the standard deviation of Beta(k + 1/2, R - k + 1/2), Jeffreys' posterior of a share of k in R
        replicates, which is positive also for k = 0; ``p_adjusted``, the share of replicates in which some line of the
        same statistic (such as ``mean``, of any column in any class) is at least as extreme, on either side;
        ``detail``, in a ``shape`` line the statistic and the class that the value comes from, else empty.
    replicated : pandas.DataFrame, shape (replicates, statistics)
        Values of the statistics on the replicates, NaN where a replicate does not define one.
    dropped : tuple of str
        Statistics that the observed data or every replicate leave undefined.
    fitted : tuple of str
        Statistics that most families fit: ``class_frequency``, ``mean`` and ``variance``. On the rows of the fit they
        say little. In print they come last, unless they are extreme.
    advice : mapping from str to str
        For each statistic what to do if it is extreme; `next_steps` holds only the extreme ones.
    other_rows : str
        What is printed if the data are not the rows of the fit.

    See Also
    --------
    check : Posterior predictive checks.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> found = nb.check(posterior, X, y, num_replicates=200)
    >>> found.extreme
    ('dependence', 'dependence[Adelie]', 'dependence[Chinstrap]', 'dependence[Gentoo]')
    """

    table: pd.DataFrame
    replicated: pd.DataFrame
    dropped: tuple[str, ...]
    fitted: tuple[str, ...] = ()
    advice: Mapping[str, str] = field(default_factory=dict)
    other_rows: str = ""

    @property
    def extreme(self) -> tuple[str, ...]:
        """Statistics whose adjusted p-value is below 0.02."""
        return tuple(self.table.index[self.table["p_adjusted"] < EXTREME])

    @property
    def next_steps(self) -> dict[str, str]:
        """For each extreme statistic what to do."""
        return {label: self.advice[label] for label in self.extreme}

    @property
    def by_extremity(self) -> pd.DataFrame:
        """The table, the smallest adjusted p-values first."""
        return self.table.sort_values("p_adjusted", kind="stable")

    def plot(
        self,
        *,
        max_panels: int | None = None,
        panels_across: int | None = None,
        axes: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Histogram of each statistic over the replicates (bars) and its observed value (line), one panel a statistic.

        The bars of a ``shape`` line show the largest over all columns, which determines its p-value; the head of the
        panel names the most extreme statistic and its class.

        Parameters
        ----------
        max_panels : int, optional
            The most extreme statistics get a panel, the smallest adjusted p-value first. By default those of
            `Check.extreme`, but at least 4 and at most 12.
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            The title says how many statistics of how many are shown.

        Raises
        ------
        ValueError
            If no statistic is defined.

        See Also
        --------
        check : Posterior predictive checks.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = nb.check(posterior, X, y, num_replicates=100).plot()
        """
        table = self.table
        if table.empty:
            raise ValueError(
                f"no statistic is defined on these data, so there is nothing to plot: {list(self.dropped)}"
            )
        shown = self.by_extremity.index[: number_of_panels(max_panels, len(self.extreme))]
        panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, panels_across=panels_across)
        heads = []
        for axis, label in zip(panels.axes, shown, strict=True):
            values = self.replicated[label].dropna()
            bars = {"color": muted(0.25), "edgecolor": muted(0.5), "linewidth": 0.4}
            axis.hist(values, bins=min(30, max(1, values.nunique())), **bars)
            axis.axvline(table.loc[label, "observed"], color=text_color(), linewidth=2.2)
            axis.margins(x=0.08)
            parts = [label, table.loc[label, "detail"], _p_value(table.loc[label, "p_value"], len(values))]
            heads.append("\n".join(filter(None, parts)))
            number_x_axis(axis, 3)
        panels.heads(heads)
        panels.title(
            f"Replicated (bars) and observed (line): {how_many(len(shown), len(table), 'statistic', 'most extreme')}"
        )
        return panels.drawn()

    def _story(self) -> str:
        extreme = self.extreme
        found = "none is" if not extreme else f"{len(extreme)} {'is' if len(extreme) == 1 else 'are'}"
        on = f"{counted(len(self.table), 'statistic')} on {counted(len(self.replicated), 'replicated data set')}"
        text = f"{on}: {found} extreme (p_adjusted below {EXTREME})"
        if len(self.replicated) < ENOUGH:
            chance = 1 / (len(self.replicated) + 1)
            text += f"; with so few replicates chance alone makes a statistic extreme with probability {chance:.2g}"
        if self.dropped:
            text += f"; undefined and dropped: {first_few(self.dropped, 6)}"
        return f"{text}."

    def _advice(self) -> list[str]:
        """A sentence for each next step, with the statistics that it is for."""
        by_step: dict[str, list[str]] = {}
        for label, step in self.next_steps.items():
            detail = self.table.loc[label, "detail"]
            by_step.setdefault(step, []).append(f"{label} ({detail})" if detail else label)
        return [f"{first_few(labels, 6)}: {step}." for step, labels in by_step.items()]

    def _parts(self) -> list[Piece]:
        return self.parts("more in .table")

    def parts(self, rest: str) -> list[Piece]:
        """The parts of the printed form.

        Parameters
        ----------
        rest : str
            Where the statistics are that the table leaves out.
        """
        table = self.by_extremity
        last = table.index.isin(self.fitted) & ~table.index.isin(self.extreme)
        table = pd.concat([table[~last], table[last]])
        shown = pd.DataFrame(
            {
                "observed": table["observed"].map(four_digits),
                "replicated": plus_minus_of(table["replicated_mean"], table["replicated_sd"]),
                "p_value": table["p_value"].map("{:.4g}".format),
                "p_adjusted": table["p_adjusted"].map("{:.4g}".format),
            }
        )
        # The sd of replicates is 0.74 of their interquartile range if they are normal.
        middle = self.replicated.quantile(0.75) - self.replicated.quantile(0.25)
        heavy = self.table.index[(self.table["replicated_sd"] > 3 * middle) & (middle > 0)]
        told = [FITTED] * bool(last.any()) + [HEAVY.format(first_few([*heavy], 6))] * (len(heavy) > 0)
        told += [self.other_rows] * bool(self.other_rows) + self._advice()
        return [Heading(self._story()), DataTable(shown, rest=rest), *map(Paragraph, told)]


def _check_of(lines: pd.DataFrame, replicated: pd.DataFrame, other_rows: str = "") -> Check:
    """The result from lines and their replicated values (see `Statistic.lines`), without undefined ones."""
    number = replicated.notna().sum().to_numpy()
    defined = lines["observed"].notna().to_numpy() & (number > 0)
    dropped = tuple(lines.index[~defined])
    lines, replicated, number = lines[defined], replicated.loc[:, defined], number[defined]
    # The standard deviation of the Beta posterior under Jeffreys' prior.
    a, b = number * lines["p_value"] + 0.5, number * (1 - lines["p_value"]) + 0.5
    table = pd.DataFrame(
        {
            "observed": lines["observed"],
            "replicated_mean": replicated.mean().to_numpy(),
            "replicated_sd": replicated.std().fillna(0.0).to_numpy(),
            "p_value": lines["p_value"],
            "p_value_mcse": np.sqrt(a * b / (a + b + 1)) / (a + b),
            "p_adjusted": lines["p_adjusted"],
            "detail": lines["detail"],
        }
    )
    return Check(
        table=table.rename_axis("statistic"),
        replicated=replicated.rename_axis("replicate"),
        dropped=dropped,
        fitted=tuple(lines.index[lines["fitted"]]),
        advice=lines["next_step"].to_dict(),
        other_rows=other_rows,
    )


# --------------------------------------------------------------------------------------------------
# The function `check`: compare data with replicates drawn from the fitted model
# --------------------------------------------------------------------------------------------------

OTHER_ROWS = (
    "These are not the rows of the fit, which have a total weight of {fitted:.12g}: here it is {given}. If the rows of "
    "the fit had weights, give them here, too, as sample_weight; without them the replicates have another distribution."
)
"""Printed below a check of rows other than those of the fit."""


@posterior_of_features
def check(
    posterior: Posterior,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    statistics: Any = None,
    num_replicates: int = 500,
    key: Any = 0,
    progress: bool | None = None,
) -> Check:
    """Compare data with replicates drawn from the fitted model.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        A sampled posterior gives evenly spaced draws. A point estimate gives the same parameters to every replicate,
        without their uncertainty.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
    sample_weight : array, shape (rows,), optional
        Frequencies, whole numbers: a row of weight w stands for w rows, in the data and in each replicate. A posterior
        keeps no weights of rows, so give those of the fit again.
    statistics : sequence of str or callable, optional
        Names of built-in statistics, by default all that the model's columns allow, and functions ``f(X, y)`` that
        return a number or a dict of numbers. A function is given the labels in an array and the model's columns, of the
        observed data as of the replicates: a pandas frame if the columns have names, else an array (CSR if X is
        sparse).
    num_replicates : int, default 500
    key : int or JAX key, default 0
    progress : bool, optional
        Whether to show a progress bar; by default as `NUTS` does.

    Returns
    -------
    Check

    Warns
    -----
    UserWarning
        If the rows of the fit had weights, and none are given.

    Raises
    ------
    TypeError
        If the first argument is neither a posterior nor a fitted estimator, or a function returns no number.
    ValueError
        If X or y does not fit the model, a name is not that of a statistic, the model has no columns for
        a statistic, a weight is no whole number, or count vectors hold fractions, which cannot be drawn.

    See Also
    --------
    Check : The result.
    calibration : Calibration of the predicted probabilities.

    Notes
    -----
    In a replicate each row keeps its label, its missing cells and its totals of count vectors; all other cells are
    drawn. A class thus keeps its own pattern of missing cells and lengths of documents. Only ``class_frequency`` uses
    labels that are drawn anew. Your own functions are given the observed labels.

    The p-value is P(T(replicate) >= T(observed) | data) (Rubin 1984, *Annals of Statistics* 12(4); Gelman, Meng and
    Stern 1996, *Statistica Sinica* 6, Eq. 5). It uses the data twice. For statistics that the model fits freely, such
    as a mean or the variance of a Gaussian column, it is conservative. For statistics that do not depend on location
    and scale (``dependence``, ``shape``) it is uniform.

    A statistic has many lines where there are many columns and classes, and some p-value is then small by chance. A
    line is therefore extreme by its adjusted p-value. Each value is measured from the median of its replicates, in
    distances from there to the 2.5 % quantile on its side. The adjusted p-value of a line is the share of replicates
    whose largest distance over all lines of the statistic is at least that of the line (single-step Westfall and Young
    1993). Under the model, some line of a statistic has an adjusted p-value below 0.02 with probability about 0.02,
    however many lines there are, and 1/(R + 1) with R < 49 replicates. The table of sizes and powers is in the guide.

    The order of the rows is not checked.

    The built-in statistics, a row for each label:

    - ``class_frequency[class]``: share of the rows.
    - ``mean[column, class]``, ``variance[column, class]``: of columns of numbers; of 0/1 columns the mean.
    - ``shape[column]``: of columns of measurements (numbers that are not whole by the family's support). It uses
      L-skewness, L-kurtosis (ratios of sample L-moments; Hosking 1990, *Journal of the Royal Statistical Society B* 52)
      and the share of the commonest value, in each class of four rows or more, as distances (of 1/n at least, for n
      rows) from the median of their replicates. ``observed`` is the largest over classes and the three; ``detail`` says
      which. ``p_value`` is the adjusted one. If a value of a column occurs twice, replicates are rounded to the
      smallest distance between its values, such as whole years. If a column has an extreme shape, its
      `mutual_information` under this model misleads: it is the information between the class and the family's density,
      not the column.
    - ``zero_share[column, class]``: share of zeros in a column of counts, or in all columns of a count vector.
    - ``burstiness[block, class]``: variance over mean of a word's count, averaged over the words that occur in the
      class. The length of documents is given, and is therefore not a statistic.
    - ``dependence`` and ``dependence[class]``: mean absolute correlation of pairs of features within a class, at most
      300 pairs chosen at random; a categorical column enters as whether the cell holds its most frequent category.
      Without the class, the average over classes weighted by their rows.

    In print the smallest adjusted p-values are first, and ``class_frequency``, ``mean`` and ``variance`` are last
    unless they are extreme. The variance of a family with one parameter, such as `Poisson`, follows from its mean, and
    is sorted with the others. The printed result names a next step for each extreme line; `Check.next_steps` gives them
    as a dict.

    Undefined values (a variance of one row, a class without rows) are left out: a p-value counts the replicates that
    define its statistic, and a statistic that the data or all replicates leave undefined is dropped and named in
    `Check.dropped`.

    Examples
    --------
    Two features that copy each other are not independent given the class.

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 50)
    >>> X = np.repeat(rng.integers(0, 2, (100, 1)), 2, axis=1)
    >>> found = nb.check(nb.fit(nb.Bernoulli(), X, y), X, y)
    >>> float(found.table.loc["dependence", "p_value"])
    0.0
    """
    number = whole_number("num_replicates", num_replicates)
    X, y = split_labels(X, y)
    data = encode(posterior.model, X, y, sample_weight)
    warn_of_lost_weights(posterior, sample_weight, len(data.labels.codes))
    for_choices, for_draws = random_generator(key).spawn(2)
    asked = [statistics] if isinstance(statistics, str) or callable(statistics) else statistics
    found = statistics_of(asked, posterior.model, data, X, for_choices)
    in_turn = (
        map if any(map(callable, asked or ())) else results_in_order
    )  # a user's function may not run in several threads

    def values(drawn: tuple[ModelParameters, np.random.Generator]) -> list[np.ndarray]:
        rows = replicate(posterior.model, drawn[0], data, drawn[1])
        return [statistic.values(rows) for statistic, _ in found]

    each = in_turn(values, zip(draws(posterior, number, for_draws), for_draws.spawn(number), strict=True))
    replicated = list(progress_bar("check", "replicate", progress, items=each, total=number))
    tables = [
        statistic.lines(observed, np.array(of_statistic))
        for (statistic, observed), of_statistic in zip(found, zip(*replicated, strict=True), strict=True)
    ]
    lines, values_of = zip(*tables, strict=True)
    n, other_rows = None if posterior.problem is None else posterior.problem.statistics.classes.n, ""
    if n is not None and not np.allclose(n, data.labels.sizes):
        other_rows = OTHER_ROWS.format(fitted=float(n.sum()), given=len(data.labels.codes))
    return _check_of(pd.concat(lines), pd.concat(values_of, axis=1), other_rows)
