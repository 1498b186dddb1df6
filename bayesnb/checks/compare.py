"""Do samples agree with the closed form, parameter by parameter?

Both posteriors condition one model on one table, so every difference must be Monte Carlo error. Each scalar parameter
is mapped through its exact marginal distribution to a normal score, which is standard normal if the draws are right,
whatever the parameter's own distribution (a variance given few rows has no variance of its own, a normal score always
has). Mean and spread of the scores are judged in units of their Monte Carlo standard errors, and the thinned PIT values
by a test of uniformity; one more quantity, the log likelihood, looks across parameters. The verdict divides the stated
error rate evenly among all tests (Bonferroni), which is valid however they depend on each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import jax
import numpy as np
import pandas as pd
from arviz_stats.base import array_stats
from scipy.special import ndtri

from bayesnb.blocks import CLASS_SITE
from bayesnb.families.fast import cdf
from bayesnb.model import NaiveBayes
from bayesnb.posterior.diagnostics import Diagnostics
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.sampled import SampledPosterior

__all__ = ["Comparison", "compare"]

MIN_ESS = 400
"""Effective draws below which nothing is said: Vehtari et al. (2021) ask for 400 to trust the standard errors."""

MIN_THINNING = 4
"""The uniformity test presumes independent draws; NUTS's, thinned by four, kept its size where all of them did not."""

SCORE_LIMIT = 8.0
"""Normal scores end here: a probability closer to 0 or 1 is not told apart from it in float64."""


SHOWN = ["exact_mean", "sampled_mean", "exact_sd", "sampled_sd", "z_mean", "z_sd"]
"""Columns of the table that a comparison shows of itself."""


@dataclass(frozen=True)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    agree : bool
        Whether the draws are shown to come from the exact posterior, as far as their number tells. False both when they
        contradict it and when they cannot tell; `verdict` says which.
    verdict : str
        The answer in words.
    reasons : tuple of str
        What speaks against, empty if nothing does.
    table : pandas.DataFrame
        A row per scalar parameter: ``exact_mean``, ``sampled_mean``, ``mcse_mean``, ``exact_sd``, ``sampled_sd``;
        ``z_mean`` and ``z_sd`` of the normal scores in Monte Carlo standard errors; ``p_uniform`` of the thinned PIT
        values; ``ess_bulk``, ``ess_tail``, ``r_hat``.
    probabilities : pandas.DataFrame or None
        For each given row and class: ``exact``, ``sampled``, ``mcse`` and ``z`` of p(y=c | x, data).
    z_log_likelihood : float
        Difference of the mean log likelihood in standard errors.
    error_rate : float
        Probability of a wrong "no" when the draws are right.
    critical_z : float
        Absolute z beyond which a parameter speaks against.
    exact, sampled : Posterior
        What was compared.
    """

    agree: bool
    verdict: str
    reasons: tuple[str, ...]
    table: pd.DataFrame
    probabilities: pd.DataFrame | None
    z_log_likelihood: float
    error_rate: float
    critical_z: float
    exact: ExactPosterior
    sampled: SampledPosterior

    def plot(self, **options: Any) -> Any:
        """Exact marginal densities over the sampled histograms; see `bayesnb.plot_comparison`."""
        from bayesnb.plots.comparison import plot_comparison

        return plot_comparison(self, **options)

    def __repr__(self) -> str:
        shown = self.table[SHOWN].to_string(max_rows=20, float_format=lambda value: f"{value:.4g}")
        return f"{_wrapped(self.verdict)}\n{shown}"

    def _repr_html_(self) -> str:
        shown = self.table[SHOWN].to_html(max_rows=20, float_format=lambda value: f"{value:.4g}")
        more = f"<p>All {len(self.table.columns)} columns are in <code>table</code>.</p>"
        return f"<p><b>{escape(self.verdict)}</b></p>{shown}{more}"


def compare(exact: ExactPosterior, sampled: SampledPosterior, X: Any = None, *, error_rate: float = 1e-3) -> Comparison:
    """Compare draws with the closed form.

    Parameters
    ----------
    exact : ExactPosterior
    sampled : SampledPosterior
        At least two chains.
    X : table, shape (rows, columns), optional
        Rows whose class probabilities are compared too, for the eye: they follow from the parameters and do not enter
        the verdict.
    error_rate : float, default 0.001
        Probability of saying no to draws that are right.

    Returns
    -------
    Comparison
        Its `agree` is True only if no test speaks against, the chains have converged (no divergence, rank-normalised
        R-hat below 1.01), and at least 400 effective draws stand behind every parameter.

    Raises
    ------
    TypeError
        If the first is not an exact posterior or the second not a sampled one.
    ValueError
        If they have other classes or parameters, or there is one chain only.

    Notes
    -----
    The z-scores follow Vehtari et al. (2021) for the standard errors; the uniformity test is ArviZ's ``pot_c`` (Tesso
    and Vehtari 2026).
    """
    _require_comparable(exact, sampled, error_rate)
    with np.errstate(all="ignore"):  # draws in the wrong place may leave nothing to divide by
        return _compare(exact, sampled, X, error_rate)


def _compare(exact: ExactPosterior, sampled: SampledPosterior, X: Any, error_rate: float) -> Comparison:
    diagnostics = sampled.diagnostics
    table = pd.DataFrame(_rows(exact, sampled, diagnostics)).set_index("parameter")
    z_joint = _z_log_likelihood(exact, sampled)

    num_tests = 3 * len(table) + 1
    level = error_rate / num_tests
    critical_z = float(-ndtri(level / 2))
    different = _other_problem(exact, sampled)
    against = [*different, *_against(table, z_joint, critical_z, level)]
    unclear = [] if against else diagnostics.problems(min_ess_per_chain=MIN_ESS / diagnostics.num_chains)
    verdict = _verdict(against, unclear, num_tests, error_rate, critical_z)
    return Comparison(
        agree=not (against or unclear),
        verdict=verdict,
        reasons=tuple(against or unclear),
        table=table,
        probabilities=None if X is None else _probabilities(exact, sampled, X),
        z_log_likelihood=z_joint,
        error_rate=error_rate,
        critical_z=critical_z,
        exact=exact,
        sampled=sampled,
    )


def _require_comparable(exact: Any, sampled: Any, error_rate: float) -> None:
    if not isinstance(exact, ExactPosterior):
        raise TypeError(f"exact is a {type(exact).__name__}: give a closed-form posterior, nb.fit(model, X, y)")
    if not isinstance(sampled, SampledPosterior):
        raise TypeError(
            f"sampled is a {type(sampled).__name__}: give draws, nb.fit(model, X, y, nb.NUTS()) or nb.from_samples(...)"
        )
    if not 0 < error_rate < 1:
        raise ValueError(f"error_rate is {error_rate}: give a number between 0 and 1")
    if exact.classes.tolist() != sampled.classes.tolist():
        raise ValueError(f"the classes differ: {exact.classes.tolist()} and {sampled.classes.tolist()}")
    mine, theirs = (posterior.model.sites.axes() for posterior in (exact, sampled))
    for site in [*mine, *theirs]:
        if site not in mine or site not in theirs:
            raise ValueError(f"the parameters differ: {site!r} stands in only one of the posteriors")
        if mine[site] != theirs[site]:
            raise ValueError(f"the labels of {site!r} differ: {mine[site]} and {theirs[site]}")
    if sampled.num_chains < 2:
        raise ValueError(
            "there is one chain, which cannot show that it converged: sample at least two, four by default, with "
            "nb.NUTS(num_chains=4)"
        )
    if sampled.num_draws < 4:
        raise ValueError(f"there are {sampled.num_draws} draws in each chain: R-hat needs at least four")


def _rows(exact: ExactPosterior, sampled: SampledPosterior, diagnostics: Diagnostics) -> Iterator[dict[str, Any]]:
    draws = sampled.draws()
    labels = sampled.model.sites.scalar_labels()
    marginals = exact.marginals()
    position = 0
    for site, values in draws.items():
        chains, steps = values.shape[:2]
        flat = values.reshape(chains, steps, -1)
        size = flat.shape[2]
        of_site = slice(position, position + size)
        position += size
        if site not in marginals:  # class probabilities that are known
            continue
        marginal = marginals[site]
        with jax.enable_x64(True):
            mean, sd = (np.asarray(part).ravel() for part in (marginal.mean, np.sqrt(marginal.variance)))
        if not sd.any():  # a single class, or columns of a single category: certain, and nothing to compare
            continue
        pit = np.clip(cdf(marginal, values).reshape(flat.shape), 0.0, 1.0)
        columns = _judge(flat, pit, diagnostics, of_site)
        for k in range(size):
            if sd[k] == 0:
                continue
            yield {
                "parameter": labels[site][k],
                "exact_mean": mean[k],
                "sampled_mean": flat[:, :, k].mean(),
                "mcse_mean": columns["mcse_mean"][k],
                "exact_sd": sd[k],
                "sampled_sd": flat[:, :, k].std(ddof=1),
                "z_mean": columns["z_mean"][k],
                "z_sd": columns["z_sd"][k],
                "p_uniform": columns["p_uniform"][k],
                "ess_bulk": diagnostics.ess_bulk[of_site][k],
                "ess_tail": diagnostics.ess_tail[of_site][k],
                "r_hat": diagnostics.r_hat[of_site][k],
            }


def _judge(flat: np.ndarray, pit: np.ndarray, diagnostics: Diagnostics, of_site: slice) -> dict[str, np.ndarray]:
    """Test quantities of each scalar parameter of a site, from draws of shape (chain, draw, parameters)."""
    scores = np.clip(ndtri(pit), -SCORE_LIMIT, SCORE_LIMIT)
    axes = {"chain_axis": 0, "draw_axis": 1}
    draws = flat.shape[0] * flat.shape[1]
    ess = np.fmin(diagnostics.ess_bulk[of_site], diagnostics.ess_tail[of_site])
    slowest = np.nanmin(ess) if np.isfinite(ess).any() else 1.0
    thinning = max(MIN_THINNING, int(np.ceil(draws / max(slowest, 1.0))))
    thinned = pit[:, ::thinning].reshape(-1, pit.shape[2]).T
    return {
        "mcse_mean": array_stats.mcse(flat, **axes, method="mean"),
        "z_mean": _in_units(scores.mean(axis=(0, 1)), array_stats.mcse(scores, **axes, method="mean")),
        "z_sd": _in_units(scores.std(axis=(0, 1), ddof=1) - 1, array_stats.mcse(scores, **axes, method="sd")),
        "p_uniform": np.asarray(array_stats.uniformity_test(thinned, axis=-1)[0]),
    }


def _in_units(difference: np.ndarray, mcse: np.ndarray) -> np.ndarray:
    """Difference over its standard error; infinite where draws that do not move are in the wrong place."""
    moving = np.isfinite(mcse) & (mcse > 0)
    stuck = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    return np.where(moving, difference / np.where(moving, mcse, 1.0), stuck)


def _z_log_likelihood(exact: ExactPosterior, sampled: SampledPosterior) -> float:
    """Difference of the mean log likelihood between the draws and as many exact draws, in standard errors."""
    statistics = exact.problem.statistics
    exact_parameters = exact._parameters(sampled.num_chains, sampled.num_draws, 0)
    mine = np.asarray(exact.model.log_density(exact_parameters, statistics))
    known = exact.class_posterior.probs
    parameters = exact.model.sites.parameters(sampled.model.sites.by_name(sampled.parameters), known)
    theirs = np.asarray(exact.model.log_density(parameters, statistics))
    error = float(array_stats.mcse(theirs, chain_axis=0, draw_axis=1, method="mean"))
    return float(_in_units(np.asarray(theirs.mean() - mine.mean()), np.hypot(error, mine.std() / np.sqrt(mine.size))))


def _against(table: pd.DataFrame, z_joint: float, critical_z: float, level: float) -> list[str]:
    found = []
    for column, what in (("z_mean", "mean"), ("z_sd", "spread")):
        beyond = table[column].abs() > critical_z
        if beyond.any():
            worst = table[column].abs().idxmax()
            found.append(
                f"the {what} of {int(beyond.sum())} of {len(table)} parameters is off, most of all {worst} (z = "
                f"{_shown(table.loc[worst, column])})"
            )
    uneven = table["p_uniform"] < level
    if uneven.any():
        found.append(
            f"the draws of {int(uneven.sum())} of {len(table)} parameters do not follow the exact distribution, "
            "least of all "
            f"{table['p_uniform'].idxmin()}"
        )
    if abs(z_joint) > critical_z:
        found.append(f"the mean log likelihood is off (z = {_shown(z_joint)})")
    return found


def _wrapped(text: str) -> str:
    return "\n".join(wrap(text, 100))


def _shown(z: float) -> str:
    return f"{z:.1f}" if abs(z) <= 100 else f"{'beyond' if z > 0 else 'below'} {np.sign(z) * 100:.0f}"


def _other_problem(exact: ExactPosterior, sampled: SampledPosterior) -> list[str]:
    """Differences of prior and data that the posteriors themselves record."""
    if sampled.problem is None:
        return []
    mine, theirs = exact.problem, sampled.problem
    found = []
    # Defaults follow the data, so that other data give another prior in numbers, though not in words.
    as_written = _by_column(mine.model, mine.model.families), _by_column(theirs.model, theirs.model.families)
    as_used = _by_column(mine.resolved, mine.resolved.families), _by_column(theirs.resolved, theirs.resolved.families)
    other = [
        name
        for name in as_used[0]
        if not _same(as_used[0][name], as_used[1][name]) and not _same(as_written[0][name], as_written[1][name])
    ]
    if not _same(mine.resolved.class_prior, theirs.resolved.class_prior) and mine.model.class_probs != "empirical":
        other.insert(0, CLASS_SITE)
    if other:
        found.append(f"the priors of {', '.join(other[:4])}{', ...' if len(other) > 4 else ''} differ")
    counted = (_by_column(problem.model, problem.statistics.blocks) for problem in (mine, theirs))
    labelled = theirs.unlabelled is None
    if not labelled or not _same(mine.statistics.classes, theirs.statistics.classes) or not _same(*counted):
        found.append("the data differ")
    return found


def _by_column(model: NaiveBayes, trees: Sequence[Any]) -> dict[str, Any]:
    """What blocks hold (families, statistics), by column or block: models may order them differently."""
    found = {}
    for block, tree in zip(model.blocks, trees, strict=True):
        for j in block.members:
            name = block.name if j is None else str(block.labels[j])
            found[name] = tree if j is None else jax.tree.map(lambda leaf, j=j: np.asarray(leaf)[:, j], tree)
    return found


def _same(one: Any, other: Any) -> bool:
    structures: list[Any] = [jax.tree.structure(tree) for tree in (one, other)]
    mine, theirs = jax.tree.leaves(one), jax.tree.leaves(other)
    return bool(structures[0] == structures[1]) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-9, atol=1e-12)
        for a, b in zip(mine, theirs, strict=True)
    )


def _verdict(against: list[str], unclear: list[str], num_tests: int, error_rate: float, critical_z: float) -> str:
    if against:
        return f"NO, the samples do not agree with the closed form: {'; '.join(against)}."
    if unclear:
        return f"UNDECIDED, the draws cannot tell: {'; '.join(unclear)}."
    return (
        f"YES, the samples agree with the closed form: none of {num_tests} tests speaks against (error rate "
        f"{error_rate:g}, "
        f"|z| up to {critical_z:.2f})."
    )


def _probabilities(exact: ExactPosterior, sampled: SampledPosterior, X: Any) -> pd.DataFrame:
    """Class probabilities of rows by both posteriors; the standard error by the delta method for a ratio of means."""
    truth = exact.predict_proba(X)
    estimate = sampled.predict_proba(X)
    joint = sampled.log_joint_draws(X)
    weight = np.exp(joint - joint.max(axis=(0, 1, 3), keepdims=True))
    total = weight.sum(axis=3, keepdims=True)
    influence = (weight - estimate * total) / total.mean(axis=(0, 1), keepdims=True)
    mcse = array_stats.mcse(influence, chain_axis=0, draw_axis=1, method="mean")
    index = pd.MultiIndex.from_product([range(len(truth)), exact.classes.tolist()], names=["row", "class"])
    z = _in_units(estimate - truth, np.asarray(mcse))
    return pd.DataFrame(
        {"exact": truth.ravel(), "sampled": estimate.ravel(), "mcse": np.ravel(mcse), "z": z.ravel()}, index=index
    )
