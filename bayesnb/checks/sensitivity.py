"""Sensitivity to prior and likelihood, and its picture."""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.special

from bayesnb.core.checking import one_of
from bayesnb.core.deferred import dist, in_float64, to_numpy
from bayesnb.core.forest import ForestPanel, Points, forest, top_rows
from bayesnb.core.panels import chosen
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted, plus_minus_of
from bayesnb.families.family import with_hyperparameters
from bayesnb.families.formulas import cdf, mean_and_sd, quantile
from bayesnb.model.prior import CLASS_SITE, ClassPrior, Prior
from bayesnb.posterior.belief import require
from bayesnb.posterior.kinds import ExactPosterior, posterior_of_features
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The figures of sensitivity: how much parameters and class probabilities depend on the prior and on the data
# --------------------------------------------------------------------------------------------------

DOUBLING = "for each doubling of the power"


# --------------------------------------------------------------------------------------------------
# How much do the posterior and its predictions depend on the prior, and how much on the data?
#
# Power-scaling raises the prior's density, or the likelihood, to a power near one and measures how much the posterior
# changes. A power above one makes the prior stronger. Under a conjugate prior the scaled posterior belongs to the
# same family, with other hyperparameters, and its moments are exact. No draws are weighted.
# --------------------------------------------------------------------------------------------------

THRESHOLD = 0.05
"""Sensitivity that counts as noticeable, as in priorsense; a normal distribution reaches it by moving a quarter of its
standard deviation when the power is doubled."""

DRAWS = 4000
"""Distances are taken over the range that this number of draws would span: four chains of 1000."""

NODES = 129
"""Points of the quadrature, at quantiles of the posterior."""


@dataclass(frozen=True, repr=False)
class Sensitivity(Printed):
    """The result of `sensitivity`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per scalar parameter: ``mean`` and ``sd`` of the posterior; ``prior`` and ``likelihood``, the cumulative
        Jensen-Shannon distance by which the marginal moves for each doubling of the power; ``diagnosis``; and
        ``mean_change_prior``, ``sd_change_prior``, ``mean_change_likelihood``, ``sd_change_likelihood``, the change of
        mean and standard deviation for each doubling of the power, in posterior standard deviations (NaN where there is
        none).
    probabilities : pandas.DataFrame or None
        For each given row and class: the predictive ``probability`` and its change for each doubling of the ``prior``'s
        and the ``likelihood``'s power.

    See Also
    --------
    sensitivity : Sensitivity to prior and likelihood.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> found = nb.sensitivity(nb.fit(nb.Bernoulli(), X, y))
    >>> found.table["diagnosis"].iloc[:3]
    parameter
    class_prob[a]    -
    class_prob[b]    -
    x_prob[a, 0]     -
    Name: diagnosis, dtype: str
    """

    table: pd.DataFrame
    probabilities: pd.DataFrame | None

    @property
    def flat(self) -> pd.Series:
        """For each parameter, whether its prior is flat. At every power it is the same, so that it is not measured."""
        return (self.table[["prior", "mean_change_prior", "sd_change_prior"]] == 0).all(axis=1)

    def plot(
        self,
        *,
        kind: str = "parameters",
        parameters: Sequence[Any] | None = None,
        sort: bool = True,
        max_parameters: int = 30,
        ax: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Sensitivity of each parameter, or class probability, to the prior (round) and to the likelihood (square).

        Parameters
        ----------
        kind : {"parameters", "probabilities"}, default "parameters"
            The parameters, or the class probabilities of the rows that `nb.sensitivity` was given as `X`.
        parameters : sequence, optional
            Labels of the parameters to show, as in `Sensitivity.table`, or pairs of row and class, as in
            `Sensitivity.probabilities`; by default all.
        sort : bool, default True
            The one that is most sensitive to the prior first; otherwise in the order of `parameters`, or of the table.
        max_parameters : int, default 30
            The first parameters, or class probabilities, in this order are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            Right of the dashed line a parameter's sensitivity is noticeable. Its diagnosis is beside its name. Both
            right of the line: prior and data disagree. The prior alone: the prior decides. A class probability is
            beside its row and class. Its change is right of the dashed line, at zero, if more power increases it.

        Raises
        ------
        TypeError, ValueError
            If there is no such kind, no rows were given for class probabilities, or a parameter is unknown.

        See Also
        --------
        sensitivity : Sensitivity to prior and likelihood.
        plot_prior_posterior : Prior and posterior density of each parameter.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> found = nb.sensitivity(posterior, X.iloc[::50])
        >>> of_rows = found.plot(kind="probabilities")
        >>> figure = found.plot(max_parameters=10)
        """
        one_of("kind", kind, ("parameters", "probabilities"))
        of_parameters = kind == "parameters"
        table = self.table if of_parameters else self.probabilities
        if table is None:
            raise ValueError(
                "kind is 'probabilities', and there are none: give the rows to nb.sensitivity(posterior, X)"
            )
        if parameters is not None:
            table = table.iloc[chosen("parameters", parameters, table.index)]
        noun = "parameter" if of_parameters else "probability"
        shown, number = top_rows(table, "prior", sort, noun=noun, key=abs, max_parameters=max_parameters)
        points = [
            Points(shown["likelihood"], "to the likelihood", "s", "C1", filled=False),
            Points(shown["prior"], "to the prior"),
        ]
        if of_parameters:
            rows = ForestPanel(
                [f"{name}: {diagnosis}".removesuffix(f": {NOTHING}") for name, diagnosis in shown["diagnosis"].items()],
                points,
                x_label=f"cumulative Jensen-Shannon distance {DOUBLING}",
                at=THRESHOLD,
                at_label=f"noticeable, from {THRESHOLD:g}",
                limits=(-0.015 * shown[["prior", "likelihood"]].max(axis=None), None),
            )
            number += self._not_measured(table.index)
        else:
            names = [f"row {row}, {label}: {prob:.3f}" for (row, label), prob in shown["probability"].items()]
            rows = ForestPanel(names, points, x_label=f"change of the class probability {DOUBLING}", at=0.0)
        return forest([rows], title=f"Sensitivity to prior and likelihood: {number}", ax=ax, figsize=figsize)

    def _not_measured(self, parameters: pd.Index) -> str:
        """How many of the parameters have a flat prior; empty if none has."""
        number = int(self.flat[parameters].sum())
        return f"; {number} with a flat prior, not measured" if number else ""

    def _parts(self) -> list[Piece]:
        # The worst diagnosis first, and within it the parameters that depend most on the prior.
        table = self.table.sort_values("prior", ascending=False, kind="stable")
        table = table.sort_values("diagnosis", key=lambda found: found.map([*SHORT].index), kind="stable")
        shown = pd.DataFrame(
            {
                "mean±sd": plus_minus_of(table["mean"], table["sd"]),
                "prior": table["prior"].map("{:.2g}".format).mask(self.flat[table.index], "flat"),
                "likelihood": table["likelihood"],
                "diagnosis": table["diagnosis"].map(SHORT),
            }
        )
        told = [Paragraph(FLAT)] if self.flat.any() else []
        if (table["diagnosis"] == CONFLICT).any():
            told.append(Paragraph(f"{SIZE} {self._effect()}"))
        return [Heading(self._headline()), *told, DataTable(shown, number=".2g")]

    def _effect(self) -> str:
        """What the prior changes of class probabilities."""
        if self.probabilities is None:
            return "nb.sensitivity(posterior, X) shows whether the class probabilities of rows change."
        largest = self.probabilities["prior"].abs().max()
        return f"No class probability of the rows changes by more than {largest:.2g} for each doubling of its power."

    def _headline(self) -> str:
        found = self.table["diagnosis"].value_counts()
        told = [f"{found[name]} with {name}" for name in found.index if name != NOTHING] or ["nothing"]
        text = f"Power-scaling of {counted(len(self.table), 'parameter')}, noticeable from {THRESHOLD:g}"
        return f"{text}: {', '.join(told)}{self._not_measured(self.table.index)}"


CONFLICT = "prior-data conflict"
STRONG_PRIOR = "strong prior / weak likelihood"
NOTHING = "-"
FLAT = (
    "A flat prior is the same at every power, so that power-scaling does not measure it: nb.plot_prior_posterior shows "
    "prior and posterior."
)
SIZE = (
    "A conflict is not always a problem. A distance of 0.05 is that of a normal marginal that moves by 0.23 of its "
    "standard deviation for each doubling of the prior's power."
)
SHORT = {CONFLICT: "conflict", STRONG_PRIOR: "strong prior", NOTHING: "-"}
"""The diagnoses as a printed table has them, the worst first."""


@posterior_of_features
def sensitivity(
    posterior: Posterior,
    X: Any = None,
    *,
    prior: tuple[float, float] = (0.8, 1.25),
    likelihood: tuple[float, float] = (0.8, 1.25),
) -> Sensitivity:
    r"""Sensitivity of a closed-form posterior to its prior and its likelihood, by exact power-scaling.

    Parameters
    ----------
    posterior : ExactPosterior or fitted estimator
        Of families that state `flat_prior` or define `power_scaled`, as those of this package do.
    X : table, shape (rows, columns), optional
        Rows whose predictive class probabilities are computed too.
    prior, likelihood : tuple of float, default (0.8, 1.25)
        A power below one and a power above one, between which the finite differences are taken.

    Returns
    -------
    Sensitivity
        The diagnosis is "prior-data conflict" if both sensitivities reach 0.05, "strong prior / weak likelihood" if
        only that to the prior does, else "-". A flat prior has a sensitivity of 0 and is not measured
        (`Sensitivity.flat`): it is the same at every power.

    Raises
    ------
    TypeError
        If the posterior is not in closed form, or a family states neither `flat_prior` nor `power_scaled`.
    ValueError
        If the powers do not enclose one, or a prior raised to the upper power leaves no posterior.

    See Also
    --------
    Sensitivity : The result.
    plot_prior_posterior : Prior and posterior density of each parameter.

    Notes
    -----
    Power-scaling and the thresholds: Kallioinen, Paananen, Bürkner and Vehtari (2024), *Statistics and Computing* 34,
    57, as in the R package priorsense and ArviZ's ``psense_summary``. With P and Q the distribution functions of a
    marginal before and after, and M their mean, the cumulative Jensen-Shannon distance is

    .. math:: \sqrt{\int P \log_2 \frac{P}{M} + Q \log_2 \frac{Q}{M} \,dx \bigg/ \int P + Q \,dx},

    the larger of that for the parameter and for its negative (Nguyen and Vreeken 2015, *Non-parametric Jensen-Shannon
    divergence*, ECML PKDD). The integrals do not converge on an unbounded range, and computations from draws take the
    range of the draws. Here the range is that between the quantiles 1/4001 and 4000/4001, which 4000 draws span. The
    sensitivity is the mean over both powers a of the distance over :math:`|\log_2 a|`.

    A default that depends on the data is scaled with its number, as if it had been given.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[0]] * 9 + [[1]], ["a"] * 10
    >>> posterior = nb.fit(nb.Bernoulli(20, 2), X, y, classes=["a"])
    >>> nb.sensitivity(posterior).table["diagnosis"].tolist()
    ['prior-data conflict']
    """
    psense = 'draws with arviz.psense_summary(posterior.to_datatree(X, y), likelihood_var_names="joint")'
    exact: ExactPosterior = require(posterior, "the closed form of one model", "sensitivity", psense)
    prior, likelihood = _powers("prior", prior), _powers("likelihood", likelihood)
    with np.errstate(all="ignore"):  # moments that do not exist
        scaled = {
            "prior": [(power, _prior_scaled(exact, power)) for power in prior],
            "likelihood": [(power, _likelihood_scaled(exact, power)) for power in likelihood],
        }
        table = pd.concat([pd.DataFrame(rows) for rows in _sensitivity_rows(exact, scaled)], ignore_index=True)
    found = np.where(table["likelihood"] >= THRESHOLD, CONFLICT, STRONG_PRIOR)
    table.insert(5, "diagnosis", np.where(table["prior"] >= THRESHOLD, found, NOTHING))
    return Sensitivity(
        table=table.set_index("parameter"),
        probabilities=None if X is None else _probability_frame(exact, scaled, X),
    )


def _powers(name: str, powers: Any) -> tuple[float, float]:
    try:
        lower, upper = (float(power) for power in powers)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} is {powers!r}: give two powers, one below and one above 1, such as (0.8, 1.25)"
        ) from None
    if not 0 < lower < 1 < upper < np.inf:
        raise ValueError(f"{name} is {powers!r}: give a power between 0 and 1 and a finite one above 1")
    return lower, upper


@in_float64
def _prior_scaled(posterior: ExactPosterior, power: float) -> ExactPosterior:
    problem = posterior.problem
    families = []
    for block, statistics in zip(problem.resolved.blocks, problem.statistics.blocks, strict=True):
        family: Any = block.family
        fields = to_numpy(_power_scaled(family, statistics, power))
        _require_proper({name: fields[name] for name in block.family.positive}, block.name, power)
        families.append(with_hyperparameters(block.family, fields))
    classes = problem.resolved.class_prior
    if classes.probs is None:
        concentration = classes.update(problem.statistics.classes).concentration
        concentration = concentration + (power - 1) * (classes.concentration - 1)
        _require_proper({"concentration": concentration}, CLASS_SITE, power)
        classes = ClassPrior(concentration, None)
    return _with(posterior, Prior(classes, tuple(families)))


def _power_scaled(family: Any, statistics: Any, power: float) -> Mapping[str, Any]:
    """The result of a family's `power_scaled`, if it names the family's own hyperparameters."""
    scaled = family.power_scaled(statistics, power)
    expected = list(family.hyperparameters())
    if isinstance(scaled, Mapping) and set(scaled) == set(expected):
        return scaled
    given = f"a mapping with {list(scaled)}" if isinstance(scaled, Mapping) else f"an object of {type(scaled).__name__}"
    raise TypeError(
        f"power_scaled of {type(family).__name__} gives {given}: give a dict with the posterior's {expected}"
    )


def _require_proper(fields: Mapping[str, Any], name: str, power: float) -> None:
    for field, value in fields.items():
        if (value <= 0).any():
            raise ValueError(
                f"the prior of {name!r} raised to the power {power:g} leaves no posterior: its {field} would be "
                f"{value.min():.3g}. A {field} below one has a density without bound; give powers nearer to one, such "
                "as prior=(0.95, 1.05)"
            )


@in_float64
def _likelihood_scaled(posterior: ExactPosterior, power: float) -> ExactPosterior:
    problem = posterior.problem
    return _with(posterior, to_numpy(problem.resolved.prior.update(problem.statistics * power)))


def _with(posterior: ExactPosterior, closed_form: Prior) -> ExactPosterior:
    other = copy(posterior)
    other.belief = replace(posterior.belief, prior=closed_form)
    return other


Scaled = dict[str, list[tuple[float, ExactPosterior]]]


def _sensitivity_rows(posterior: ExactPosterior, scaled: Scaled) -> Iterator[dict[str, Any]]:
    """Columns of the table, site by site."""
    base = posterior.marginals()
    others = {component: [(power, other.marginals()) for power, other in pair] for component, pair in scaled.items()}
    labels = posterior.model.sites.scalar_labels()
    for site, marginal in base.items():
        mean, sd = mean_and_sd(marginal)
        keep = sd != 0  # the only category of a column is certain
        if not keep.any():
            continue
        found: dict[str, Any] = {"parameter": np.array(labels[site])[keep.ravel()]}
        found |= {"mean": mean[keep], "sd": sd[keep]}
        changes = {}
        for component, pair in others.items():
            found[component] = _distance_per_doubling(marginal, [(power, other[site]) for power, other in pair])[keep]
            (low, lower), (high, upper) = ((power, mean_and_sd(other[site])) for power, other in pair)
            for name, below, above in zip(("mean", "sd"), lower, upper, strict=True):
                change = (above - below) / (np.log2(high) - np.log2(low)) / sd
                finite = np.isfinite(change) & np.isfinite(sd)
                changes[f"{name}_change_{component}"] = np.where(finite, change, np.nan)[keep]
        yield found | changes


def _distance_per_doubling(
    marginal: "dist.Distribution", scaled: "Sequence[tuple[float, dist.Distribution]]"
) -> np.ndarray:
    """Cumulative Jensen-Shannon distance over the absolute log2 of the power, averaged, of the marginals' shape."""
    end = scipy.special.ndtri(1 / (DRAWS + 1))
    levels = scipy.special.ndtr(np.linspace(end, -end, NODES))
    x = quantile(marginal, levels.reshape(-1, *[1] * len(marginal.batch_shape)))
    p = cdf(marginal, x)
    found = np.zeros(marginal.batch_shape)
    for power, other in scaled:
        q = cdf(other, x)
        distance = np.maximum(_distance(p, q, x), _distance(1 - p, 1 - q, x))
        found += distance / np.abs(np.log2(power)) / len(scaled)
    return found


def _distance(p: np.ndarray, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    m = (p + q) / 2
    divergence = scipy.special.rel_entr(p, m) + scipy.special.rel_entr(q, m)
    # The terms that make each divergence non-negative on its own cancel in the sum.
    total = np.trapezoid(divergence, x, axis=0) / np.log(2)
    return np.sqrt(np.maximum(total, 0.0) / np.trapezoid(p + q, x, axis=0))


def _probability_frame(posterior: ExactPosterior, scaled: Scaled, X: Any) -> pd.DataFrame:
    columns = {"probability": posterior.predict_proba(X)}
    for component, ((low, lower), (high, upper)) in scaled.items():
        columns[component] = (upper.predict_proba(X) - lower.predict_proba(X)) / (np.log2(high) - np.log2(low))
    rows = range(len(columns["probability"]))
    index = pd.MultiIndex.from_product([rows, posterior.classes.tolist()], names=["row", "class"])
    return pd.DataFrame({name: column.ravel() for name, column in columns.items()}, index=index)
