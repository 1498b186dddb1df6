"""The result of a check, as a table and in print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.checks.predictive.statistic import Line
from bayesnb.pictures.predictive import plot_check
from bayesnb.printing import DataTable, Heading, Paragraph, Piece, Points, Printed, four_digits, plus_minus_of

__all__ = ["Check", "check_of"]

EXTREME = 0.02
"""Adjusted p-value below which a line is called extreme."""

FITTED = "class_frequency, mean and variance are last: on the rows of the fit, most families agree with them."
"""What is printed below statistics that are fitted."""

HEAVY = (
    "{}: the replicates have heavy tails, as where few rows tell a variance. A few of them determine mean ± sd, which "
    "may change with each further replicate; p-values do not depend on them."
)
"""What is printed below lines whose replicates have heavy tails."""

ENOUGH = 49
"""With R replicates, fewer than this, chance makes a statistic extreme with probability 1 / (R + 1) > `EXTREME`."""


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
    plot_check : Histograms of the statistics.

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
        return tuple(self.table.index[self.table["p_adjusted"].astype(np.float64) < EXTREME])

    @property
    def next_steps(self) -> dict[str, str]:
        """For each extreme statistic what to do."""
        return {label: self.advice[label] for label in self.extreme}

    @property
    def by_extremity(self) -> pd.DataFrame:
        """The table, the smallest adjusted p-values first."""
        return self.table.sort_values("p_adjusted", kind="stable")

    def plot(self, **options: Any) -> Any:
        """Histograms of the replicated statistics and the observed values; see `bayesnb.plot_check`."""
        return plot_check(self, **options)

    def _story(self) -> str:
        extreme = self.extreme
        found = "none is" if not extreme else f"{len(extreme)} {'is' if len(extreme) == 1 else 'are'}"
        text = (
            f"{len(self.table)} statistic{'s' * (len(self.table) != 1)} on {len(self.replicated)} replicated data "
            f"sets: {found} extreme (p_adjusted below {EXTREME})"
        )
        if len(self.replicated) < ENOUGH:
            chance = 1 / (len(self.replicated) + 1)
            text += f"; with so few replicates chance alone makes a statistic extreme with probability {chance:.2g}"
        if self.dropped:
            text += f"; undefined and dropped: {_listed(self.dropped)}"
        return f"{text}."

    @property
    def _heavy(self) -> list[str]:
        """Lines whose replicates' standard deviation is above three times their interquartile range; 0.74 if normal."""
        middle = self.replicated.quantile(0.75) - self.replicated.quantile(0.25)
        return list(self.table.index[(self.table["replicated_sd"] > 3 * middle) & (middle > 0)])

    def _advice(self) -> list[str]:
        """A sentence for each next step, with the statistics that it is for."""
        by_step: dict[str, list[str]] = {}
        for label, step in self.next_steps.items():
            detail = self.table.loc[label, "detail"]
            by_step.setdefault(step, []).append(f"{label} ({detail})" if detail else label)
        return [f"{_listed(labels)}: {step}." for step, labels in by_step.items()]

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
        found: list[Piece] = [Heading(self._story()), DataTable(shown, rest=rest)]
        if last.any():
            found.append(Paragraph(FITTED))
        if self._heavy:
            found.append(Paragraph(HEAVY.format(_listed(self._heavy))))
        if self.other_rows:
            found.append(Paragraph(self.other_rows))
        return [*found, Points(self._advice())]


def check_of(lines: Sequence[Line], num_replicates: int, other_rows: str = "") -> Check:
    """The result from these lines, without the undefined ones."""
    kept = [line for line in lines if line.is_defined]
    labels = [line.label for line in kept]
    replicated = {line.label: np.where(np.isfinite(line.replicated), line.replicated, np.nan) for line in kept}
    return Check(
        table=pd.DataFrame(
            [_row(line) for line in kept], index=pd.Index(labels, name="statistic"), columns=list(_COLUMNS)
        ),
        replicated=pd.DataFrame(replicated, index=pd.RangeIndex(num_replicates, name="replicate")),
        dropped=tuple(line.label for line in lines if not line.is_defined),
        fitted=tuple(line.label for line in kept if line.fitted),
        advice={line.label: line.next_step for line in kept},
        other_rows=other_rows,
    )


_COLUMNS = ("observed", "replicated_mean", "replicated_sd", "p_value", "p_value_mcse", "p_adjusted", "detail")


def _row(line: Line) -> tuple[Any, ...]:
    defined = line.replicated[np.isfinite(line.replicated)]
    sd = float(defined.std(ddof=1)) if len(defined) > 1 else 0.0
    return line.observed, float(defined.mean()), sd, line.p_value, line.p_value_mcse, line.p_adjusted, line.detail


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels[:6]) + (f", ... ({len(labels)} in all)" if len(labels) > 6 else "")
