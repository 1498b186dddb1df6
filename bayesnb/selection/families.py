"""The choice of families, and its picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.checking import is_one_of, whole_number
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import how_many
from bayesnb.core.panels import LINES, chosen, grid_of_panels
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed
from bayesnb.data.labels import require_two_classes
from bayesnb.data.read import Rows, read_rows
from bayesnb.data.tables import SparseTable
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family
from bayesnb.inference.fit import fit
from bayesnb.model.choose import (
    Candidate,
    OpenColumns,
    candidates,
    compare_candidates,
    open_columns,
    warn_of_doubts,
)
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.model.reading import log_normalised
from bayesnb.posterior.column_densities import (
    ColumnDensities,
    column_densities,
    draw_numbers,
    legend_entries,
    simulated_cells,
)
from bayesnb.posterior.left_out import leave_one_out

# --------------------------------------------------------------------------------------------------
# The figure of families that were compared: the densities of each column's classes under the first two
# --------------------------------------------------------------------------------------------------

BINS = 30
"""Number of bars in a panel."""

SHARE_SHOWN = 0.99
"""Share of the cells inside the panel; the rest is beyond its ends."""

MOST_HEIGHT = 1.6
"""Largest height of a panel, as a multiple of its highest bar."""

# --------------------------------------------------------------------------------------------------
# The families with which the labels of a table are predicted best, one column after the other
# --------------------------------------------------------------------------------------------------

ROUNDING = 1e-9
"""Scores closer than this, in nats, are equal."""


def _best_for_labels(
    columns: OpenColumns, rows: Rows, compared: Mapping[int, Sequence[Candidate]]
) -> tuple[dict[int, int], dict[int, np.ndarray]]:
    """The families of the highest leave-one-out log score of the labels, found column by column.

    Columns are independent given the class, also without a row. The log density of a row under each class is therefore
    a sum over columns, whose terms are computed once, for each family of each column on its own. The search begins with
    the first family of each column.

    Returns
    -------
    place : dict
        By position of the column, the place of its family among those that were compared.
    differences : dict
        By position, the score with each family minus the score with the chosen one, the other columns as chosen.
    """
    for name, family in columns.given.items():
        if not isinstance(family, ConjugateFamily):
            raise ValueError(
                f"column {name!r} is {family.family_name}, which has no closed-form posterior, as "
                'criterion="labels" needs: give a family that has one, or criterion="evidence"'
            )
    labels = rows.classes[rows.codes]

    def left_out(features: Mapping[Any, Family], class_probs: np.ndarray | None = None) -> np.ndarray:
        """Log density of each row and class without the row, up to a term of the row, shape (rows, classes)."""
        model = NaiveBayes(features, class_probs=class_probs)
        posterior: Any = fit(model, rows.table, labels, sample_weight=rows.weights)
        return leave_one_out(posterior, rows).log_proba

    # With equal, known class probabilities only the cell densities remain.
    equal = np.full(len(rows.classes), 1 / len(rows.classes))
    densities = {
        position: [left_out({rows.table.names[position]: each.family}, equal) for each in families]
        for position, families in compared.items()
    }
    place = dict.fromkeys(compared, 0)
    first = columns.features({position: families[0].family for position, families in compared.items()})
    total = left_out(first)

    def label_score(log_joint: np.ndarray) -> float:
        """Sum of the log probabilities of the labels."""
        return float(log_normalised(log_joint)[np.arange(len(rows.codes)), rows.codes].sum())

    def scores(position: int) -> np.ndarray:
        """Scores of the families of a column, beside those that the other columns have."""
        rest = total - densities[position][place[position]]
        return np.array([label_score(rest + own) for own in densities[position]])

    changed = True
    while changed:
        changed = False
        for position, of_column in densities.items():
            own = scores(position)
            if own.max() > own[place[position]] + ROUNDING:
                total = total - of_column[place[position]] + of_column[own.argmax()]
                place[position], changed = int(own.argmax()), True
    return place, {position: scores(position) - label_score(total) for position in densities}


# --------------------------------------------------------------------------------------------------
# Which family does each column have? Compared by evidence, or by how well the labels are predicted
# --------------------------------------------------------------------------------------------------

CRITERIA = ("evidence", "labels")

DIRECTIONS = {
    "log_bayes_factor": "log_bayes_factor: evidence of the second minus that of the chosen family, in nats. The lower, "
    "the better is the choice; above -5 it may be wrong.",
    "elpd_difference": "elpd_difference: score with the second minus score with the chosen family, in nats. The lower, "
    "the better is the choice.",
}
"""Explanations of the numbers in the printed table, by name."""


@dataclass(frozen=True, repr=False)
class FamilyChoice(Printed):
    """The result of `choose_families`.

    Attributes
    ----------
    model : NaiveBayes
        The model with the families chosen and those that were given.
    table : pandas.DataFrame
        A row for each column and family that can hold it: ``column``; ``family``; ``log_evidence``, the log density of
        the column's cells given the labels, the parameters integrated out, in nats, all families of a column on one
        scale; ``log_bayes_factor``, that minus the highest one of the column; ``elpd_difference``, the leave-one-out
        log score of the labels with this family minus the one with the family chosen, the other columns as chosen
        (``criterion="labels"`` only); and ``chosen``. The family of the highest evidence is the first of its column.
    criterion : str
        ``"evidence"`` or ``"labels"``.
    first_two : dict
        By column, the family chosen and the best of the others, if there is one, each with its number in `table`.
    data : Rows
        The table, its labels and weights.

    See Also
    --------
    choose_families : A family for each column, by the evidence.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> choice = nb.choose_families(X, y)
    >>> choice
    Families by the evidence, each beside the next best:
    column                  family    second log_bayes_factor
    island             Categorical
    bill_length_mm       LogNormal  Gaussian             -2.1
    bill_depth_mm        LogNormal  Gaussian             -2.3
    flipper_length_mm    LogNormal  Gaussian             -0.6
    body_mass_g          LogNormal  Gaussian             -1.5
    sex                Categorical
    log_bayes_factor: evidence of the second minus that of the chosen family, in
    nats. The lower, the better is the choice; above -5 it may be wrong.
    """

    model: NaiveBayes
    table: pd.DataFrame
    criterion: str
    first_two: Mapping[Any, tuple[tuple[Candidate, float], ...]]
    data: Rows

    def _densities(self, column: Any, family: Family) -> ColumnDensities:
        """Predictive densities of a column's classes under a family, with the cells."""
        rows = self.data
        posterior: Any = fit(
            NaiveBayes({column: family}), rows.table, rows.classes[rows.codes], sample_weight=rows.weights
        )
        data = posterior.model.read(rows.table).whole(), rows.codes, rows.weights
        drawn = partial(simulated_cells, posterior, 0)
        return column_densities(posterior, (0, 0), data, drawn, bins=BINS, share=SHARE_SHOWN)

    def _compared(self, given: Sequence[Any] | None) -> list[Any]:
        """The columns of `given`, by default all, that more than one family can hold."""
        several = [column for column, families in self.first_two.items() if len(families) > 1]
        if not several:
            raise ValueError("no column has more than one family that can hold it: there is nothing to compare")
        for name in [given] if isinstance(given, str) else list(given or ()):
            if name in self.first_two and name not in several:
                raise ValueError(f"column {name!r} has one family only: the columns with two to compare are {several}")
        return several if given is None else [several[i] for i in chosen("features", given, several)]

    @in_float64
    def plot(
        self,
        *,
        features: Sequence[Any] | None = None,
        classes: Sequence[Any] | None = None,
        max_features: int = 12,
        axes: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Predictive densities of each column's classes under the family chosen and the next one, over the data.

        Parameters
        ----------
        features : sequence, optional
            Columns to show, by default all that more than one family can hold.
        classes : sequence, optional
            Classes to show, up to eight; by default all.
        max_features : int, default 12
            The first columns get panels; the title says how many there are.
        axes, figsize
            As for `plot_densities`, with two axes for each column.

        Returns
        -------
        matplotlib.figure.Figure
            A line of panels for each column: on the left the family chosen, on the right the next one. Lines are
            densities with the parameters integrated out, bars are the cells, as in `plot_densities`. Zeros have no bar
            where one of the families is a `Hurdle`, and the probability that it gives them is not drawn. Families of
            counts have probabilities, drawn as points.

        Raises
        ------
        TypeError, ValueError
            If a column or class is unknown, a column has one family only, there is none to show, or there are more than
            eight classes.

        See Also
        --------
        choose_families : A family for each column, by the evidence.
        plot_densities : Predictive densities of numbers.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> choice = nb.choose_families(X[["bill_length_mm", "body_mass_g"]], y)
        >>> figure = choice.plot()
        """
        labels = self.data.classes.tolist()
        codes = chosen("classes", labels if classes is None else classes, labels, most=len(LINES))
        several = self._compared(features)
        shown = several[: whole_number("max_features", max_features)]
        panels = grid_of_panels(2 * len(shown), axes=axes, figsize=figsize, across=2)
        heads, drawn = [], []
        for i, column in enumerate(shown):
            candidates, pair = [each for each, _ in self.first_two[column]], panels.axes[2 * i : 2 * i + 2]
            found = [self._densities(column, each.family) for each in candidates]
            # A value with a probability of its own under one family has no bar in either panel.
            atoms = found[0].atoms | found[1].atoms
            found = [replace(each, atoms=atoms) for each in found]
            highest = max(draw_numbers(axis, each, codes) for axis, each in zip(pair, found, strict=True))
            # A density may be high where no cell is: the bars limit the scale, which is the same for both families.
            top = min(MOST_HEIGHT * highest or np.inf, max(axis.get_ylim()[1] for axis in pair))
            for axis in pair:
                axis.set_ylim(0.0, top)
            heads += [f"{column}: {each.name}" for each in candidates]
            drawn += found
        panels.heads(heads)
        number = how_many(len(shown), len(several), "column", "first")
        panels.title(
            f"Densities (lines) and data (bars) under the family chosen (left) and the next one (right): {number}"
        )
        panels.legend(legend_entries(drawn, [f"y = {labels[code]}" for code in codes]))
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        by = {"evidence": "evidence", "labels": "leave-one-out score of the labels"}[self.criterion]
        shown = self._shown()
        title = f"Families by the {by}, each beside the next best:"
        found: list[Piece] = [Heading(title), DataTable(shown, rows=len(shown))]
        return [*found, Paragraph(DIRECTIONS[self._measure])] if (shown["second"] != "").any() else found

    @property
    def _measure(self) -> str:
        return "log_bayes_factor" if self.criterion == "evidence" else "elpd_difference"

    def _shown(self) -> pd.DataFrame:
        """A row for each column: the family chosen, and the best one of the others."""
        lines = [
            {
                "family": best.name,
                "second": "".join(other.name for other, _ in others),
                self._measure: "".join(f"{value:.1f}" for _, value in others),
            }
            for (best, _), *others in self.first_two.values()
        ]
        names = pd.Index(list(self.first_two), name="column", dtype=object, tupleize_cols=False)
        return pd.DataFrame(lines, index=names)


def choose_families(
    X: Any,
    y: Any,
    *,
    exclude: Sequence[Any] = (),
    families: Mapping[Any, Family] | None = None,
    criterion: str = "evidence",
    sample_weight: Any = None,
) -> FamilyChoice:
    r"""Compare the families that can hold each column, and choose one for each.

    Each column is chosen separately. The evidence of a family is the density of the column's cells given the
    labels, the parameters integrated out:

    .. math:: \log p(x_{\cdot j} \mid y, \text{family}) = \sum_c \log \int \prod_{i: y_i = c}
              p(x_{ij} \mid \theta)\, p(\theta)\, d\theta

    (Murphy 2012, *Machine Learning: a Probabilistic Perspective*, section 5.3). Columns are independent given the
    labels, so that the best family of every column gives the model of the highest evidence.

    Parameters
    ----------
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
        A text is the name of the label's column in X.
    exclude : sequence, optional
        Columns to leave out, such as a row identifier.
    families : mapping from column to Family, optional
        Families that are given and not compared.
    criterion : {"evidence", "labels"}, default "evidence"
        ``"labels"`` takes, column by column until nothing changes, the family with the highest leave-one-out log score
        of the labels (`loo_scores`, ``elpd_label``), beginning with the families of the highest evidence. It needs the
        densities of all rows under all candidates in memory, 8 bytes each.
    sample_weight : array, shape (rows,), optional

    Returns
    -------
    FamilyChoice

    Raises
    ------
    TypeError
        If a column holds neither numbers nor categories (dates, lists), X is sparse, or `families` gives something else
        than a family.
    ValueError
        If a column has no observed cell, y has one class only, there is not one label and one weight for each row,
        `criterion` is unknown, or `exclude` or `families` names a column that is not there.

    Warns
    -----
    UserWarning
        If the families chosen probably mislead; as for `NaiveBayes.from_frame`.

    See Also
    --------
    FamilyChoice : The result.
    NaiveBayes.from_frame : A model with a family for each column.

    Notes
    -----
    The candidates have a closed form:

    - zeros, ones and booleans: `Bernoulli`; text and categoricals: `Categorical`. Nothing is compared.
    - numbers: `Gaussian` and `PolyaTree`; of more than 20 different values also `LogNormal` if all are positive and
      `Exponential` if none is negative; and `Hurdle` of each of these densities if some are zero.
    - whole numbers none of which is negative: `Poisson`, `Geometric` and `NegativeBinomial` with ``total_count`` 0.3, 3
      and 10, too.

    No column is compared as a category and as a number: the categories would be known from the cells, which is worth
    thousands of nats. `Binomial` is not a candidate, because other rows may have a larger count than the largest of a
    table.

    All evidences are densities per unit of the column. A density is averaged over the resolution of the column, the
    smallest distance d of values that differ, at the posterior mean of its parameters. Of whole numbers that is a
    probability, and compares with those of counts. A hurdle gives zero a probability p, which compares as p / d.
    `log_evidence` therefore differs from that of `nb.fit` by these two terms. A change of unit changes all candidates
    by the same number.

    The priors are the families' defaults, except those of `Geometric` and `NegativeBinomial`: a class's mean then has
    the mean of the column, and as large a standard deviation, as `Poisson` has by default. With r the ``total_count``
    and m the mean of the column, it is Beta(3 + r / m, 1 + 2 m / r). Beta(1, 1) costs up to five nats at large means.

    Simulated columns of two classes (log-normal, normal, exponential, Poisson, negative binomial, two bumps, two-sided
    Weibull; 540 for each number of rows) got the right family in 73 % at 30 rows, 93 % at 100 and all at 1000. By how
    much it won says how often it is wrong:

    ==============  =======  ========  ========
    won by (nats)   30 rows  100 rows  300 rows
    ==============  =======  ========  ========
    up to 2         40 %     35 %      11 %
    2 to 5          30 %     15 %      4 %
    5 to 10         19 %     4 %       0 %
    more            0 %      0 %       0 %
    ==============  =======  ========  ========

    The families were chosen with the labels. The evidence of the model is too high by at most the log of the
    number of candidates for each column: a model that gives K candidates the same prior probability has an evidence of
    at least 1 / K of the highest. K is at most eleven, so that this is at most 2.4 nats a column, however many rows
    there are. Leave-one-out scores of the chosen model are nearly unaffected, because one row rarely changes the
    choice. Those that ``criterion="labels"`` maximised are a little too high.

    Cells to predict that a chosen family cannot hold, such as a zero in a column of positive numbers, count as missing
    ones, with a warning. If such cells may come, give another family with `families`.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = pd.DataFrame({
    ...     "pages": rng.poisson(3 + 2 * y),
    ...     "price": np.exp(rng.normal(y, 1.0)),
    ...     "discount": np.where(rng.random(300) < 0.7, 0.0, rng.normal(10, 1, 300)),
    ... })
    >>> choice = nb.choose_families(X, y)
    >>> choice
    Families by the evidence, each beside the next best:
    column              family                second log_bayes_factor
    pages              Poisson  NegativeBinomial(10)             -5.6
    price            LogNormal           Exponential             -9.1
    discount  Hurdle(Gaussian)     Hurdle(LogNormal)             -0.6
    log_bayes_factor: evidence of the second minus that of the chosen family, in
    nats. The lower, the better is the choice; above -5 it may be wrong.
    >>> posterior = nb.fit(choice.model, X, y)
    """
    if not is_one_of(criterion, CRITERIA):
        raise ValueError(f'criterion is {criterion!r}: give "evidence", or "labels" for the leave-one-out score')
    given = read_rows(X, y, sample_weight)
    columns = open_columns(given.table, exclude, families)
    if isinstance(columns.table, SparseTable):
        raise TypeError(
            "X is sparse, and families are chosen for columns of a dense table: give count vectors a family, such as "
            "nb.NaiveBayes(nb.Multinomial()), or a table of few columns as an array, X.toarray()"
        )
    rows = replace(given, table=columns.table).counting().of_classes()
    if not rows.weights.any():
        raise ValueError("sample_weight is zero for every row: give at least one row a positive weight")
    require_two_classes(rows.classes)
    each_column = {position: _candidates_of_column(rows, position) for position in columns.open}
    compared = compare_candidates(rows, each_column, NaiveBayes)
    place, differences = dict.fromkeys(compared, 0), None
    if criterion == "labels":
        place, differences = _best_for_labels(columns, rows, compared)
    warn_of_doubts(columns.doubts)
    names = columns.table.names
    return FamilyChoice(
        model=NaiveBayes(
            columns.features({position: each[place[position]].family for position, each in compared.items()}),
            outside_is_missing=columns.open_names,
            number_forms=columns.forms,
        ),
        table=_choice_frame(names, compared, place, differences),
        criterion=criterion,
        first_two={
            names[j]: _first_two(each, place[j], None if differences is None else differences[j])
            for j, each in compared.items()
        },
        data=rows,
    )


def _candidates_of_column(rows: Rows, position: int) -> tuple[Candidate, ...]:
    found = candidates(rows.table, position, rows.weights)
    name = rows.table.names[position]
    if not found:
        raise ValueError(
            f"column {name!r} has no observed cell, so that no family is better than another: leave it out, "
            f"exclude=[{name!r}], or give its family, families={{{name!r}: ...}}"
        )
    return found


def _first_two(
    families: Sequence[Candidate], best: int, differences: np.ndarray | None
) -> tuple[tuple[Candidate, float], ...]:
    """The family of a place and the best one of the others, if there is another, each with what compares it."""
    measure = [each.log_evidence - families[0].log_evidence for each in families]
    if differences is not None:
        measure = differences.tolist()
    others = sorted((k for k in range(len(families)) if k != best), key=lambda k: -measure[k])
    return tuple((families[k], measure[k]) for k in [best, *others[:1]])


def _choice_frame(
    names: Sequence[Any],
    compared: Mapping[int, Sequence[Candidate]],
    chosen: Mapping[int, int],
    differences: Mapping[int, np.ndarray] | None,
) -> pd.DataFrame:
    """The attribute `table` of `FamilyChoice`."""
    lines = [
        {
            "column": names[position],
            "family": each.name,
            "log_evidence": each.log_evidence,
            "log_bayes_factor": each.log_evidence - families[0].log_evidence,
            "elpd_difference": np.nan if differences is None else differences[position][k],
            "chosen": k == chosen[position],
        }
        for position, families in compared.items()
        for k, each in enumerate(families)
    ]
    columns = ["column", "family", "log_evidence", "log_bayes_factor", "elpd_difference", "chosen"]
    table = pd.DataFrame(lines, columns=columns)
    return table.drop(columns="elpd_difference") if differences is None else table
