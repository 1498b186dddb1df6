"""Whether two posteriors agree, with a picture."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.checks.same_draws import Z_COLUMNS, run_battery
from bayesnb.core.arrays import close, middles_of_steps
from bayesnb.core.checking import first_few, proportion, warns_once
from bayesnb.core.deferred import jax
from bayesnb.core.forest import how_many, number_of_panels
from bayesnb.core.panels import grid_of_panels, muted, number_x_axis
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted, plus_minus_of
from bayesnb.families.formulas import log_prob
from bayesnb.model.prior import CLASS_SITE
from bayesnb.model.problem import Problem
from bayesnb.posterior.belief import require
from bayesnb.posterior.kinds import ExactPosterior, Fitted, SampledPosterior, posterior_of

# --------------------------------------------------------------------------------------------------
# The figure of a comparison: exact marginal densities over the sampled histograms
# --------------------------------------------------------------------------------------------------

FIRST_CLAUSE = re.compile(", and |: ")
"""Ends the first clause of a reason."""

LARGE = 3.0
"""|z| that rarely occurs by chance."""


def _short_verdict(comparison: "Comparison") -> str:
    """The verdict, with its first reason if it is not yes; what follows the first clause of a reason is advice."""
    answer = comparison.verdict.split(":")[0]
    if not comparison.reasons:
        return answer
    more = len(comparison.reasons) - 1
    others = f" (and {counted(more, 'other reason')})" if more else ""
    return f"{answer}: {FIRST_CLAUSE.split(comparison.reasons[0])[0]}{others}"


def _curves(comparison: "Comparison", shown: Collection[str]) -> dict[str, tuple[np.ndarray, Any, np.ndarray, Any]]:
    """For each parameter shown, by label: its draws, the range of its panel, a grid, and its exact density there."""
    labels, draws = comparison.exact.model.sites.scalar_labels(), comparison.sampled.draws()
    found = {}
    for site, marginal in comparison.exact.marginals().items():
        for label, index in zip(labels[site], np.ndindex(*marginal.batch_shape), strict=True):
            if label in shown:
                values = draws[site][(..., *index)].ravel()
                low, high = np.quantile(values, [0.001, 0.999])
                if np.isclose(low, high, rtol=1e-9, atol=0):
                    low, high = low - 0.5, high + 0.5
                grid = middles_of_steps((low, high), 200)
                densities: Any = np.exp(log_prob(marginal, grid.reshape(-1, *[1] * len(index))))
                found[label] = values, (low, high), grid, densities[(..., *index)]
    return found


# --------------------------------------------------------------------------------------------------
# Do samples agree with the closed form?
#
# Both posteriors condition one model on one table, so every difference must be Monte Carlo error. `same_draws` measures
# the draws against the exact posterior; this module derives the verdict.
# --------------------------------------------------------------------------------------------------

MIN_ESS = 400
"""Effective draws that every tested quantity needs for a verdict other than UNDECIDED (Vehtari et al. 2021)."""

POWER_Z = 1.645
"""Normal quantile of 0.95: the tests find a shift this far beyond the critical value 19 times in 20."""

WORDS = {
    "parameters": "the {test} of {k} of {n} parameters {verb} off, most of all {worst} (z = {z})",
    "densities": "the {test} of {k} of {n} log densities is off, most of all of the {worst} (z = {z})",
    "correlation": (
        "parameters are correlated that are independent in the exact posterior, most of all {worst} (z = {z})"
    ),
    "spread given": (
        "the spread of {k} of {n} parameters depends on another as it should not, most of all {worst} (z = {z})"
    ),
    "probabilities": "the {test} of {k} of {n} class probabilities is off, most of all of {worst} (z = {z})",
}
"""Reason for a NO, by part, or by test if a part has tests of several kinds."""

DIVERGENCES_UNKNOWN = " Whether a chain diverged is unknown: the draws came without the sampler's statistics."
LARGEST_FIRST = "Mean±sd, and by how many standard errors (z) the mean, sd, skewness or tails differ, largest first:"


@dataclass(frozen=True, repr=False)
class Comparison(Printed):
    """The result of `compare`.

    Attributes
    ----------
    agree : bool
        Whether the tests find no difference between the draws and the exact posterior. False if they find one, and also
        if the draws do not suffice for the tests; `verdict` says which.
    verdict : str
        YES, NO or UNDECIDED, with the reasons, in a sentence.
    reasons : tuple of str
        The differences that the tests found, or why the draws do not suffice for the tests; empty if they agree.
    table : pandas.DataFrame
        A row for each scalar parameter: ``exact_mean``, ``sampled_mean``, ``mcse_mean``, ``exact_sd``, ``sampled_sd``;
        ``z_mean``, ``z_sd``, ``z_skew`` and ``z_tails``, the differences in location, spread, skewness and tails of the
        draws in standard errors; ``p_value``, the smallest of the four times four; ``ess_bulk``, ``ess_tail``,
        ``r_hat``.
    tests : pandas.DataFrame
        A row for each test: ``part``, ``quantity``, ``test``, ``z``, ``p_value``, ``ess`` and ``against``, whether it
        found a difference. Of the pairs of parameters, only the ten with the largest correlations.
    parts : pandas.DataFrame
        A row for each part of the tests (parameters, densities, dependence, probabilities): ``num_tests``,
        ``critical_z``, ``num_against``, ``largest_z`` (absolute) and ``least_ess``.
    probabilities : pandas.DataFrame or None
        For each given row and class: ``exact``, ``sampled``, ``mcse`` and ``z`` of p(y=c | x, data), where z is not a
        test: it is near normal only if the density is spread over many draws; ``z_rank`` and ``z_rank_spread``, the
        tests of p(y=c | x, theta) over the draws, and their ``ess_of_...``.
    smallest_shift : float
        Smallest shift of one parameter, in posterior standard deviations, that the tests find 19 times in 20.
    error_rate : float
        Share of right draws that get a NO, if the tests are exact.
    critical_z : float
        Absolute z above which a parameter counts as different.
    exact, sampled : Posterior
        What was compared.

    See Also
    --------
    compare : Whether samples agree with the closed form.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> exact = nb.fit(nb.Bernoulli(), X, y)
    >>> sampled = nb.from_samples(nb.Bernoulli(), exact.draws(num_draws=1000, key=1), X=X, y=y)
    >>> found = nb.compare(exact, sampled)
    >>> found.agree
    True
    >>> found.parts["num_against"].tolist()
    [0, 0, 0]
    """

    agree: bool
    verdict: str
    reasons: tuple[str, ...]
    table: pd.DataFrame
    tests: pd.DataFrame
    parts: pd.DataFrame
    probabilities: pd.DataFrame | None
    smallest_shift: float
    error_rate: float
    critical_z: float
    exact: ExactPosterior
    sampled: SampledPosterior

    def plot(
        self,
        *,
        max_panels: int | None = None,
        panels_across: int | None = None,
        axes: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Exact marginal density (line) over the histogram of the draws (bars), one panel a parameter.

        Parameters
        ----------
        max_panels : int, optional
            The parameters with the largest absolute z, of location, spread, skewness or tails, get a panel, the largest
            first. By default those with an absolute z of three or more, but at least 4 and at most 12.
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            The head of a panel names the largest of its four z. The title gives the verdict with its first reason,
            and says how many parameters of how many are shown.

        See Also
        --------
        compare : Whether samples agree with the closed form.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> model = nb.NaiveBayes({"bill_length_mm": nb.Gaussian()})
        >>> exact = nb.fit(model, X, y)
        >>> sampled = nb.from_samples(model, exact.draws(key=1), X=X, y=y)
        >>> figure = nb.compare(exact, sampled).plot(max_panels=6)
        """
        largest = _largest_z(self.table)
        shown = largest.index[: number_of_panels(max_panels, int((largest["z"].abs() >= LARGE).sum()))]
        densities, heads = _curves(self, set(shown)), []
        panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, panels_across=panels_across)
        for axis, label in zip(panels.axes, shown, strict=True):
            draws, ends, grid, density = densities[label]
            bars = {"color": muted(0.25), "edgecolor": muted(0.5), "linewidth": 0.3}
            axis.hist(draws, bins=40, range=ends, density=True, **bars)
            axis.plot(grid, density, color="C0", linewidth=1.8)
            number_x_axis(axis, 3)
            heads.append(f"{label}\nz {largest['of'][label]} {largest['z'][label]:+.1f}")
        panels.heads(heads)
        number = how_many(len(shown), len(self.table), "parameter", "most different")
        panels.title(f"{_short_verdict(self)}\nDraws (bars) and exact density (line): {number}")
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        return [Heading(self.verdict), Paragraph(LARGEST_FIRST), DataTable(largest_differences(self.table))]


def largest_differences(table: pd.DataFrame) -> pd.DataFrame:
    """The table of a `Comparison` as it is printed: means with their sd, and the largest z of the four tests first."""
    largest = _largest_z(table)
    table = table.loc[largest.index]
    exact, sampled = (plus_minus_of(table[f"{of}_mean"], table[f"{of}_sd"]) for of in ("exact", "sampled"))
    return largest.assign(exact=exact, sampled=sampled, z=largest["z"].map("{:+.1f}".format))[
        ["exact", "sampled", "z", "of"]
    ]


def _largest_z(table: pd.DataFrame) -> pd.DataFrame:
    """For each parameter the ``z`` that is farthest from zero, and what it is ``of``, the farthest first."""
    z = table[[*Z_COLUMNS]].fillna(0.0)
    place = z.abs().to_numpy().argmax(axis=1)
    of = [Z_COLUMNS[k].removeprefix("z_") for k in place]
    found = pd.DataFrame({"z": z.to_numpy()[np.arange(len(z)), place], "of": of}, z.index)
    return found.sort_values("z", key=abs, ascending=False, kind="stable")


@warns_once
def compare(
    exact: ExactPosterior | Fitted,
    sampled: SampledPosterior | Fitted,
    X: Any = None,
    *,
    error_rate: float = 1e-3,
    key: Any = 0,
    progress: bool | None = None,
) -> Comparison:
    r"""Compare draws with the closed form.

    Parameters
    ----------
    exact : ExactPosterior or fitted estimator
    sampled : SampledPosterior or fitted estimator
        At least two chains.
    X : table, shape (rows, columns), optional
        Rows whose class probabilities are compared too. The log density of six of them is also tested;
        without X, six rows are simulated from the exact posterior predictive distribution.
    error_rate : float, default 0.001
        Probability of a NO to right draws. The user guide has the measured one.
    key : int or JAX key, default 0
        For simulated rows, and for the independent draws from the closed form that log densities are compared with.
    progress : bool, optional
        Whether to show a progress bar; by default as `NUTS` does.

    Returns
    -------
    Comparison
        Its verdict is

        - NO if the posteriors record different priors or data, without a test;
        - UNDECIDED if a chain is known to have diverged, an R-hat is above 1.01, or a tested quantity has fewer than
          400 effective draws, whatever the tests say;
        - NO if a test finds a difference;
        - YES otherwise, with the smallest shift of a parameter that the tests would have found 19 times in 20. It says
          so if the draws came without the sampler's divergences.

    Raises
    ------
    TypeError
        If the first is not an exact posterior or the second not a sampled one.
    ValueError
        If they have other classes or parameters, there is one chain only, or every parameter is certain.

    See Also
    --------
    Comparison : The result.
    sbc : Simulation-based calibration of an inference.

    Notes
    -----
    Four groups of tests share the error rate evenly (three if no X is given):

    1. Parameters. Each draw goes through the exact marginal distribution function, u = F(theta), which is uniform if
       the draws are right. With v = 2 u - 1, the Legendre polynomials :math:`\sqrt 3 v`, :math:`\sqrt 5 (3 v^2 - 1)/2`,
       :math:`\sqrt 7 (5 v^3 - 3 v) / 2` and :math:`3 (35 v^4 - 30 v^2 + 3) / 8` have mean zero and variance one; the
       mean of each over the draws, times the square root of its ESS, is a z.
    2. Densities. The log likelihood and log p(x, y | theta) of six rows, as ranks among 40,000 independent draws from
       the closed form: the first two polynomials.
    3. Dependence. Parameters are mapped to numbers that are independent under the exact posterior (a variance, then the
       mean given it; the components of a probability vector one after the other). The correlation of every pair is
       tested, and whether the spread of a parameter depends on another one after this map.
    4. p(y=c | x, theta) of each row of X and class, as ranks among independent draws: the first two polynomials.

    In a group, each of m tests gets 1/m of the share (Bonferroni). If each z is standard normal, this bounds the
    probability of a wrong NO for any dependence between the tests. The ESS follows Vehtari et al. (2021), *Bayesian
    Analysis* 16(2).

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> exact = nb.fit(nb.Bernoulli(), X, y)
    >>> draws = exact.draws(num_draws=1000, key=1)
    >>> nb.compare(exact, nb.from_samples(nb.Bernoulli(), draws, X=X, y=y)).agree
    True
    >>> shuffled = draws | {"x_prob": draws["x_prob"][:, :, ::-1]}
    >>> print(nb.compare(exact, nb.from_samples(nb.Bernoulli(), shuffled, X=X, y=y)).verdict[:52])
    NO, the samples do not agree with the closed form: t
    """
    known, drawn = posterior_of(exact, "exact").generative, posterior_of(sampled, "sampled").generative
    _require_comparable(known, drawn, error_rate)
    # Wrong draws may lead to a division by zero.
    with np.errstate(all="ignore"):
        table, probabilities, parts, tests = run_battery(
            known, drawn, X, error_rate=error_rate, key=key, progress=progress
        )
    recorded = [] if drawn.problem is None else _problem_differences(known.problem, drawn.problem)
    unclear = _unclear(drawn, tests)
    against = recorded + ([] if unclear else _against(tests))
    critical_z = float(parts.loc["parameters", "critical_z"])
    locations = tests.query("part == 'parameters' and test == 'mean'")
    smallest_shift = float((critical_z + POWER_Z) / np.sqrt(locations["ess"].min()))
    verdict = _reasoned_verdict(against, unclear, int(parts["num_tests"].sum()), error_rate, smallest_shift)
    if not (against or unclear) and drawn.diagnostics.divergences is None:
        verdict += DIVERGENCES_UNKNOWN
    return Comparison(
        agree=not (against or unclear),
        verdict=verdict,
        reasons=tuple(against or unclear),
        table=table,
        tests=tests,
        parts=parts,
        probabilities=probabilities,
        smallest_shift=smallest_shift,
        error_rate=error_rate,
        critical_z=critical_z,
        exact=known,
        sampled=drawn,
    )


def _require_comparable(exact: Any, sampled: Any, error_rate: float) -> None:
    """Raise for posteriors that cannot be compared."""
    of_models = "nb.compare_models({...}, X, y) to compare two models"
    require(exact, "the closed form of one model", "compare(exact, sampled), as exact,", of_models)
    require(sampled, "draws of a sampler", "compare(exact, sampled), as sampled,", of_models)
    proportion("error_rate", error_rate)
    if exact.classes.tolist() != sampled.classes.tolist():
        raise ValueError(f"the classes differ: {exact.classes.tolist()} and {sampled.classes.tolist()}")
    mine, theirs = (posterior.model.sites.axes() for posterior in (exact, sampled))
    for site in [*mine, *theirs]:
        if site not in mine or site not in theirs:
            raise ValueError(f"the parameters differ: {site!r} is in only one of the posteriors")
        if mine[site] != theirs[site]:
            raise ValueError(f"the labels of {site!r} differ: {mine[site]} and {theirs[site]}")
    if sampled.num_chains < 2:
        raise ValueError(
            "there is one chain, which cannot show that it converged: sample at least two, four by default, with "
            "nb.NUTS(num_chains=4)"
        )
    if sampled.num_draws < 4:
        raise ValueError(f"there are {sampled.num_draws} draws in each chain: R-hat needs at least four")


def _unclear(sampled: SampledPosterior, tests: pd.DataFrame) -> list[str]:
    """Why the draws are too few for the tests, in words; empty if they suffice."""
    diagnostics = sampled.diagnostics
    found = diagnostics.problems(min_ess_per_chain=MIN_ESS / diagnostics.num_chains)
    few = tests[tests["ess"] < MIN_ESS]
    if not found and len(few):
        worst = few.loc[few["ess"].idxmin()]
        found.append(
            f"the {worst['test']} of {worst['quantity']} has {worst['ess']:.0f} effective draws, and the tests need "
            f"{MIN_ESS}"
        )
    return found


def _against(tests: pd.DataFrame) -> list[str]:
    """The differences that the tests found, in words; the most extreme of each kind by name."""
    found = []
    for (part, test), group in tests.groupby(["part", "test"], sort=False):
        against = group[group["against"]]
        if len(against):
            worst = against.loc[against["z"].abs().idxmax()]
            words = WORDS[test if test in WORDS else part]
            numbers = {"k": len(against), "n": len(group), "worst": worst["quantity"], "z": f"{worst['z']:.1f}"}
            found.append(words.format(test=test, verb="are" if test == "tails" else "is", **numbers))
    return found


def _reasoned_verdict(
    against: list[str], unclear: list[str], num_tests: int, error_rate: float, smallest_shift: float
) -> str:
    if against:
        return f"NO, the samples do not agree with the closed form: {'; '.join(against)}."
    if unclear:
        return f"UNDECIDED, the draws do not suffice: {'; '.join(unclear)}."
    return (
        f"YES, the samples agree with the closed form: none of {num_tests} tests rejects (error rate "
        f"{error_rate:g}). A shift of one parameter by less than {smallest_shift:.2g} posterior standard "
        "deviations could have been missed."
    )


# --------------------------------------------------------------------------------------------------
# Do two posteriors record the same prior and the same data?
# --------------------------------------------------------------------------------------------------


def _problem_differences(mine: Problem, theirs: Problem) -> list[str]:
    """Differences of prior and data, in words; empty if there are no differences."""
    one, other = _prior_by_column(mine), _prior_by_column(theirs)
    # Defaults follow the data: the same prior has other numbers for other data.
    priors = [
        name for name in one if not any(close(one[name][kind], other[name][kind]) for kind in ("used", "written"))
    ]
    if (
        not close(mine.resolved.class_prior, theirs.resolved.class_prior)
        and mine.model.description.class_probs != "empirical"
    ):
        priors.insert(0, CLASS_SITE)
    same = (
        theirs.unlabelled is None
        and mine.statistics.classes.same_rows(theirs.statistics.classes)
        and one.keys() == other.keys()
        and all(one[name]["counted"].same_rows(other[name]["counted"]) for name in one)
    )
    told = [f"the priors of {first_few(priors, 4)} differ"] if priors else []
    return told if same else [*told, "the data differ"]


def _prior_by_column(problem: Problem) -> dict[str, dict[str, Any]]:
    """Prior as written and as used, and statistics, of each column or joint block; block order may differ."""
    found = {}
    families = problem.model.families, problem.resolved.families
    for block, *trees in zip(problem.model.blocks, *families, problem.statistics.blocks, strict=True):
        for j in block.members:
            name = block.name if j is None else str(block.labels[j])
            of_column = trees if j is None else jax.tree.map(lambda leaf, j=j: np.asarray(leaf)[:, j], trees)
            found[name] = dict(zip(("written", "used", "counted"), of_column, strict=True))
    return found
