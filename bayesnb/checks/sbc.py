"""Simulation-based calibration, and its picture."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.base import array_stats
from arviz_stats.ecdf_utils import compute_ecdf, ecdf_pit

from bayesnb.checks.same_draws import ranks_among
from bayesnb.core.checking import proportion, whole_number
from bayesnb.core.deferred import in_float64, jax
from bayesnb.core.forest import how_many
from bayesnb.core.panels import grid_of_panels, muted
from bayesnb.core.printing import DataTable, Heading, Piece, Printed
from bayesnb.core.running import as_key, progress_bar, random_generator, split
from bayesnb.data.read import read_rows
from bayesnb.families.family import Family
from bayesnb.inference.exact import ConvergenceWarning, Inference
from bayesnb.inference.fit import as_inference
from bayesnb.inference.nuts import NUTS
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model, NaiveBayes, as_model
from bayesnb.model.open_schema import bound_to
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.datatree import as_tree, dataset_of_sites
from bayesnb.posterior.diagnostics import KINDS
from bayesnb.posterior.new_rows import mean_total_count
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The figure of simulation-based calibration: differences of PIT values from uniform
# --------------------------------------------------------------------------------------------------

NUMBERS = 0.45
"""Width of the numbers beside a panel, in inches."""


BAND_SIMULATIONS = 1000
"""Simulations of uniform values that determine the band."""


def _shown_p(p_value: float) -> str:
    """A p-value as text, with its relation sign: the test's own precision ends near 1e-15."""
    return f"= {p_value:.1g}" if p_value > 1e-12 else "< 1e-12"


# --------------------------------------------------------------------------------------------------
# The probability integral transform (PIT) of a true value under a posterior
# --------------------------------------------------------------------------------------------------

JOINT = "log_likelihood"
"""The test quantity that depends on all parameters and the data."""

RANK_DRAWS = 100
"""Number of draws among which a true value is ranked; so thinned, a chain is nearly independent."""


def _pits(
    model: BoundModel,
    posterior: Posterior,
    truth: ModelParameters,
    statistics: ModelStatistics,
    key: "jax.Array",
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """PIT of every parameter, by site, and of the log likelihood; arrays of shape (parameters,)."""
    belief = require(posterior, "a distribution of the parameters", "sbc").belief
    true_values = model.sites.by_name(truth)
    if offers(posterior, "the closed form of one model"):
        draws = belief.model.sites.by_name(belief.prior.draw(rng, (RANK_DRAWS,)))
    else:
        draws = {site: _thinned(values) for site, values in posterior.draws(key=key).items()}
    ours = model.sites.parameters(draws)
    for values, parameters in ((true_values, truth), (draws, ours)):
        values[JOINT] = np.asarray(model.prior.log_likelihood(parameters, statistics))
    return {
        site: ranks_among(draws[site].reshape(len(draws[site]), -1), np.ravel(value), rng)
        for site, value in true_values.items()
    }


def _thinned(values: np.ndarray) -> np.ndarray:
    """Evenly spaced draws of all chains, from shape (chain, draw, ...)."""
    flat = values.reshape(-1, *values.shape[2:])
    return flat[np.linspace(0, len(flat) - 1, min(RANK_DRAWS, len(flat))).round().astype(int)]


# --------------------------------------------------------------------------------------------------
# Is the posterior of an inference calibrated? Simulation-based calibration.
#
# Parameters drawn from the prior, and rows drawn from them, are a draw of the joint distribution; so the parameters
# are also a draw from the posterior given these rows. If the posterior is right, the probability integral transform
# (PIT) of each parameter under it is uniform over simulations, for every model.
# --------------------------------------------------------------------------------------------------

MIN_SIMULATIONS = 20
"""Smallest number of simulations; fewer PIT values do not show a deviation from uniform."""

LEAST_ESS, LARGEST_R_HAT = 50, 1.05
"""Limits for the draws of a fit, wider than for a single fit, because errors average out over fits."""

JUDGED = tuple(kind for kind in KINDS if kind != "tail ESS")
"""Kinds of problems that are counted. Tail ESS is left out: ranks among 100 thinned draws need no tail quantiles, and
in a short chain it is often too low by chance."""

MOST_PROBLEMS = 0.1
"""Share of fits with problems above which the verdict is not YES."""


@dataclass(frozen=True, repr=False)
class SBC(Printed):
    """The result of `sbc`.

    Attributes
    ----------
    uniform : bool
        Whether the verdict is YES: no test rejects uniform PIT values, and at most a tenth of the fits have problems.
    verdict : str
        YES, NO, or UNDECIDED if the PIT values are uniform but more fits have problems, in a sentence.
    table : pandas.DataFrame
        A row per scalar parameter and one for ``log_likelihood``: ``mean_pit`` (0.5 if right; above, the posterior is
        too low), ``sd_pit`` (0.289 if right; above, the posterior is too narrow), ``p_value`` of the test of
        uniformity.
    pit : pandas.DataFrame
        The PIT values, a row per simulation and a column per row of `table`.
    problems : pandas.DataFrame
        Problems of the fits: a row per simulation and a column of booleans per kind (divergences, E-BFMI, tree depth,
        R-hat, bulk ESS). All are False for an inference that does not sample.
    error_rate : float
        Probability of a wrong NO, divided evenly among the tests.
    num_rows : int
        Rows of each simulated table.
    model : BoundModel
        The model simulated from, hyperparameters in numbers.
    inference : object
        The inference under test.

    See Also
    --------
    sbc : Simulation-based calibration of an inference.

    Examples
    --------
    >>> import bayesnb as nb
    >>> model = nb.NaiveBayes(nb.Bernoulli()).bind([[0, 1], [1, 1]], ["a", "b"])
    >>> found = nb.sbc(model, num_simulations=100)
    >>> found.uniform
    True
    >>> found.table.columns.tolist()
    ['mean_pit', 'sd_pit', 'p_value']
    """

    uniform: bool
    verdict: str
    table: pd.DataFrame
    pit: pd.DataFrame
    problems: pd.DataFrame
    error_rate: float
    num_rows: int
    model: BoundModel
    inference: Any

    def to_datatree(self) -> xr.DataTree:
        """The PIT values as ArviZ's plots take them: ``arviz.plot_ecdf_pit(tree, group="prior_sbc")``.

        Returns
        -------
        xarray.DataTree
            Group ``prior_sbc``: parameters by site, dimensions chain (of length one), draw (the simulations) and those
            of the site, labelled; and ``log_likelihood``.
        """
        labels = self.model.sites.scalar_labels()
        values = {
            site: self.pit[labels[site]].to_numpy().reshape(1, len(self.pit), *(len(names) for _, names in axes))
            for site, axes in self.model.sites.axes().items()
            if labels[site][0] in self.pit
        }
        values[JOINT] = self.pit[[JOINT]].to_numpy().T
        described = {"inference": repr(self.inference), "model": format(self.model, "80"), "num_rows": self.num_rows}
        return as_tree({"prior_sbc": dataset_of_sites(self.model.sites, values)}, described)

    def plot(
        self, *, max_panels: int = 12, panels_across: int | None = None, axes: Any = None, figsize: Any = None
    ) -> Any:
        """Empirical distribution of the PIT values minus the uniform one (line), one panel a parameter.

        Each panel has its own scale; the band is the same in all, ArviZ's, and holds the whole line with probability
        one minus the error rate if the posterior is right (Säilynoja, Bürkner and Vehtari 2022, *Statistics and
        Computing* 32, 32). A line above zero shows a posterior that is too high, a line below
        zero one that is too low. A line above zero at the left and below zero at the right shows one that is too
        narrow.

        Parameters
        ----------
        max_panels : int, default 12
            The quantities with the smallest p-values get a panel, the smallest first.
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            The title says how many quantities of how many are shown.

        See Also
        --------
        sbc : Simulation-based calibration of an inference.

        Examples
        --------
        >>> import bayesnb as nb
        >>> model = nb.NaiveBayes(nb.Bernoulli()).bind([[0, 1], [1, 1]], ["a", "b"])
        >>> figure = nb.sbc(model, num_simulations=100).plot()
        """
        table = self.table
        shown = table["p_value"].sort_values(kind="stable").index[: whole_number("max_panels", max_panels)]
        panels = grid_of_panels(len(shown), axes=axes, figsize=figsize, panels_across=panels_across)
        # The band depends on the number of values alone.
        points, _, lower, upper = ecdf_pit(self.pit[shown[0]], 1 - self.error_rate, BAND_SIMULATIONS)
        for axis, label in zip(panels.axes, shown, strict=True):
            axis.fill_between(points, lower - points, upper - points, color=muted(0.2), linewidth=0)
            axis.axhline(0.0, color=muted(0.5), linewidth=0.8)
            axis.plot(points, compute_ecdf(self.pit[label], points) - points, color="C0", linewidth=1.4)
            axis.set_xlim(0, 1)
            axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            axis.locator_params(axis="y", nbins=5)
            axis.spines["left"].set_visible(True)
        panels.panel_width -= NUMBERS
        panels.heads([f"{label}\np {_shown_p(table.loc[label, 'p_value'])}" for label in shown])
        number = how_many(len(shown), len(table), "quantity", "least uniform")
        panels.title(
            f"{self.verdict.split(',')[0]}: PIT values of {len(self.pit)} simulations, {number}\n"
            f"(band: where uniform values stay with probability {1 - self.error_rate:g})"
        )
        panels.x_label("PIT")
        panels.y_label("ECDF minus uniform")
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        return [Heading(self.verdict), DataTable(self.table.sort_values("p_value", kind="stable"), number=".3g")]


def sbc(
    model: Model | Family,
    inference: Inference | str | None = None,
    *,
    num_simulations: int = 200,
    num_rows: int = 50,
    X: Any = None,
    y: Any = None,
    total_count: Any = None,
    key: Any = 0,
    progress: bool | None = None,
    error_rate: float = 0.01,
) -> SBC:
    r"""Simulation-based calibration of an inference.

    Each simulation draws parameters from the prior and a table from the parameters. It conditions on the table, and
    computes the probability integral transform (PIT) of every parameter, and of the log likelihood of the table, in the
    posterior. If the inference is right, the PIT values are uniform.

    Parameters
    ----------
    model : NaiveBayes, BoundModel or Family
        Bound to a table, with numbers for all hyperparameters; or any model, with `X` and `y`.
    inference : Inference or str, optional
        The inference to test, or its name; by default `Exact` if every family is conjugate, else `NUTS`. Of `NUTS` one
        chain is run per simulation, with the other settings as they are.
    num_simulations : int, default 200
        At least 20.
    num_rows : int, default 50
        Rows of each simulated table.
    X : table, shape (rows, columns), optional
    y : labels of shape (rows,) or str, optional
        A table to bind the model to, and to set defaults that follow the data's scale: once, for all simulations.
    total_count : int or array of shape (num_rows,), optional
        Total of each count vector; by default the mean total of `X`.
    key : int or JAX key, default 0
    progress : bool, optional
        Whether to show a progress bar; by default as `NUTS` does.
    error_rate : float, default 0.01
        Probability of a NO to a right inference.

    Returns
    -------
    SBC
        Its `uniform` is True if no test rejects and few fits have problems.

    Raises
    ------
    TypeError
        If `model` is not a model, or `inference` not an inference.
    ValueError
        If the model is not bound and no table is given, a hyperparameter follows the scale of data that are not
        given, the inference gives a point or cannot solve the problem, or a number is out of range.

    See Also
    --------
    SBC : The result.
    compare : Whether samples agree with the closed form.

    Notes
    -----
    Talts, Betancourt, Simpson, Vehtari and Gelman (2018), *Validating Bayesian inference algorithms with
    simulation-based calibration*, arXiv:1804.06788. The log likelihood as a test quantity finds errors that single
    parameters do not show, such as a posterior that ignores the data: Modrák et al. (2023), *Bayesian Analysis* 20(2),
    461-488. A true value that has rank r among 100 draws, evenly spaced in the chains, has the PIT (r + u) / 101 with u
    uniform. ArviZ's ``pot_c`` tests uniformity (Tesso and Vehtari 2026), with the error rate shared evenly by all tests
    (Bonferroni).

    A fit has a problem if `Diagnostics.problems` finds one: divergences, an E-BFMI below 0.3, trajectories cut off,
    and, with limits wider than for a fit alone, an R-hat above 1.05 or a bulk ESS below 50. The verdict states
    their number. If more than a tenth of the fits have problems, a YES becomes UNDECIDED: a sampler that misses
    the same part of every posterior may still give uniform ranks.

    A posterior that is calibrated in each parameter need not be the right one: the prior itself is calibrated in this
    sense. A small mistake in a hyperparameter needs many simulations to be found.

    Examples
    --------
    >>> import bayesnb as nb
    >>> model = nb.NaiveBayes(nb.Bernoulli()).bind([[0, 1], [1, 1]], ["a", "b"])
    >>> nb.sbc(model, num_simulations=100).uniform
    True
    """
    if whole_number("num_simulations", num_simulations) < MIN_SIMULATIONS:
        raise ValueError(
            f"num_simulations is {num_simulations}: fewer than {MIN_SIMULATIONS} PIT values cannot be judged"
        )
    num_rows = whole_number("num_rows", num_rows)
    proportion("error_rate", error_rate)
    model, total_count = _ready_model(model, X, y, total_count)
    inference = as_inference(NUTS() if inference is None and not model.conjugate else inference)
    if isinstance(inference, NUTS):
        # The simulations are the replications, so that one chain is enough.
        inference = replace(inference, num_chains=1, progress=False)
    pits, problems = _simulations(model, inference, num_simulations, num_rows, total_count, as_key(key), progress)

    labels = model.sites.scalar_labels() | {JOINT: [JOINT]}
    pit = pd.DataFrame(
        np.concatenate([values.reshape(num_simulations, -1) for values in pits.values()], axis=1),
        columns=[label for site in pits for label in labels[site]],
        index=pd.RangeIndex(num_simulations, name="simulation"),
    )
    table = pd.DataFrame(
        {
            "mean_pit": pit.mean(),
            "sd_pit": pit.std(),
            "p_value": np.asarray(array_stats.uniformity_test(pit.to_numpy().T, axis=-1)[0]),
        }
    ).rename_axis("parameter")
    against = table[table["p_value"] < error_rate / len(table)].sort_values("p_value", kind="stable")
    verdict = _verdict_on_ranks(against, problems, len(table), error_rate)
    return SBC(
        uniform=verdict.startswith("YES"),
        verdict=verdict,
        table=table,
        pit=pit,
        problems=problems,
        error_rate=error_rate,
        num_rows=num_rows,
        model=model,
        inference=inference,
    )


def _ready_model(model: Any, X: Any, y: Any, total_count: Any) -> tuple[BoundModel, Any]:
    """The model bound and with numbers for all hyperparameters, and the count vectors' totals."""
    given, model = model, as_model(model)
    if X is None and y is None:
        if isinstance(given, BoundModel):
            model = replace(given, description=given.numeric_description)
        if isinstance(model, NaiveBayes):
            raise ValueError(
                "the model is not bound to columns and classes: give X and y, or bind it with model.bind(X, y)"
            )
        model.require_numbers()
        if model.description.follows_labels:
            raise ValueError(
                'class_probs="empirical" follows the data: give probabilities, or X and y to set them from'
            )
        return model.with_every_value(), total_count
    rows = read_rows(X, y, features=model.features)
    bound = bound_to(model, rows)
    statistics = bound.count_labelled(rows.of_classes(bound.schema.classes))
    total_count = mean_total_count(Problem(bound, statistics)) if total_count is None else total_count
    return bound.resolve(statistics).with_every_value(), total_count


@in_float64
def _simulations(
    model: BoundModel,
    inference: Any,
    num_simulations: int,
    num_rows: int,
    total_count: Any,
    key: "jax.Array",
    progress: bool | None,
) -> tuple[dict[str, np.ndarray], pd.DataFrame]:
    """PIT values by site, leading axis the simulation; and the problems of each fit."""
    prior_key, *keys = split(key, num_simulations + 1)
    prior = model.draw_prior(random_generator(prior_key), (num_simulations,))
    by_name = model.sites.by_name(prior)
    for site, values in by_name.items():
        if not np.isfinite(values).all():
            raise ValueError(f"the prior of {site!r} draws {values[~np.isfinite(values)][0]}: give a narrower one")
    found: list[dict[str, np.ndarray]] = []
    problems: list[list[bool]] = []
    for k in progress_bar("SBC", "fit", progress, items=range(num_simulations)):
        truth = jax.tree.map(lambda leaf, k=k: leaf[k], prior)
        data_key, fit_key, draw_key = split(keys[k], 3)
        rng = random_generator(data_key)
        codes, cells = model.draw_rows(truth, num_rows, rng, total_count)
        problem = Problem(model, model.count(cells, np.eye(len(truth.class_prob))[codes]))
        # The verdict counts the problems, so that fits need not warn.
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
            posterior = inference.fit(problem, key=fit_key)
        found.append(_pits(model, posterior, truth, problem.statistics, draw_key, rng))
        problems.append(_problems(posterior))
    # Constants under the prior (known class probabilities, a column's only category) cannot be calibrated.
    constant = {site for site, values in by_name.items() if (values == values[:1]).all()}
    by_site = {site: np.stack([one[site] for one in found]) for site in [*by_name, JOINT] if site not in constant}
    index = pd.RangeIndex(num_simulations, name="simulation")
    return by_site, pd.DataFrame(problems, index=index, columns=list(JUDGED))


def _problems(posterior: Any) -> list[bool]:
    """Which kinds of `JUDGED` problems the draws of a fit have; none for a posterior without draws."""
    if not offers(posterior, "draws of a sampler"):
        return [False] * len(JUDGED)
    diagnostics = posterior.diagnostics
    found = diagnostics.problems_by_kind(max_r_hat=LARGEST_R_HAT, min_ess_per_chain=LEAST_ESS / diagnostics.num_chains)
    return [kind in found for kind in JUDGED]


def _verdict_on_ranks(against: pd.DataFrame, problems: pd.DataFrame, num_tests: int, error_rate: float) -> str:
    num_simulations, number, trouble = len(problems), int(problems.any(axis=1).sum()), ""
    if number:
        kinds = ", ".join(f"{kind} in {count}" for kind, count in problems.sum().items() if count)
        trouble = f" {number} of {num_simulations} fits have problems: {kinds}."
    if not against.empty:
        worst = against.iloc[0]
        return (
            f"NO, the posterior is not calibrated: the PIT values of {len(against)} of {num_tests} quantities are not "
            f"uniform over {num_simulations} simulations, least of all {against.index[0]} (p "
            f"{_shown_p(worst.p_value)}, mean {worst.mean_pit:.2f}, sd {worst.sd_pit:.2f}, which should be 0.50 and "
            f"0.29).{trouble}"
        )
    no_test = f"none of {num_tests} tests rejects (error rate {error_rate:g})"
    if number / num_simulations > MOST_PROBLEMS:
        # Uniform PIT values are then no evidence of a right posterior.
        return (
            f"UNDECIDED: over {num_simulations} simulations {no_test}, but more than {MOST_PROBLEMS:.0%} of the fits "
            f"have problems, and what their draws miss need not show in the PIT values.{trouble}"
        )
    return f"YES, the posterior is calibrated as far as {num_simulations} simulations show: {no_test}.{trouble}"
