"""Tests of draws against a closed form."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import eval_legendre, ndtr, ndtri

from bayesnb.core.deferred import dist, jax
from bayesnb.core.running import as_key, key_of_stream, random_generator, split, steps
from bayesnb.data.read import as_rows, labelled_rows
from bayesnb.families.conjugate import independent_pits
from bayesnb.families.formulas import cdf, independent_pit, mean_and_sd, pit
from bayesnb.model.prior import ModelParameters
from bayesnb.model.reading import log_normalised
from bayesnb.posterior.diagnostics import ess_of_mean
from bayesnb.posterior.kinds import ExactPosterior, SampledPosterior
from bayesnb.posterior.new_rows import mean_total_count
from bayesnb.posterior.predictions import summary_frame
from bayesnb.posterior.under_draws import draws_in_pieces

# --------------------------------------------------------------------------------------------------
# Tests of numbers that are uniform if draws are right.
#
# A Legendre polynomial of a uniform number has mean zero and variance one, and it is bounded. Its mean over
# correlated draws times the root of their effective number is therefore close to standard normal from a few hundred
# effective draws on. A standard deviation over its estimated standard error is not. Tests of this kind are Neyman's
# smooth tests (1937, *Skandinavisk Aktuarietidskrift* 20, 149-199) for draws that depend on each other.
# --------------------------------------------------------------------------------------------------

TESTS = ("mean", "spread", "skewness", "tails")
"""What the polynomials of degree one to four test."""

PARTS = ("parameters", "densities", "dependence", "probabilities")

IN_PIECES = 2**20
"""Number of draws whose polynomials are in memory at a time."""


def legendre(u: np.ndarray, degree: int) -> np.ndarray:
    """Legendre polynomial of 2 u - 1; mean zero and variance one if `u` is uniform."""
    return np.sqrt(2 * degree + 1) * eval_legendre(degree, 2 * u - 1)


def ess_and_z(series: np.ndarray, *, variance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Effective number of draws of each series (chains, draws, series), and its mean in standard errors.

    A series has mean zero and variance one if the draws are right; `variance` is that of the number that the mean is
    compared with. The effective number is at most the number of draws, also for chains that are worth more.
    """
    ess = np.minimum(ess_of_mean(series), series.shape[0] * series.shape[1])
    return ess, series.mean(axis=(0, 1)) / np.sqrt(1 / ess + variance)


def ranks_among(reference: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rank of each value among independent draws, as a number that is uniform if both have the same distribution.

    `reference` has shape (independent draws, quantities), `values` and the result (..., quantities). `rng` breaks ties,
    and chooses a number between the ranks of neighbours.
    """
    result = np.empty(values.shape)
    for k in range(values.shape[-1]):
        ordered = np.sort(reference[:, k])
        below, upto = (np.searchsorted(ordered, values[..., k], side=side) for side in ("left", "right"))
        place = below + (upto - below + 1) * rng.uniform(size=below.shape)
        result[..., k] = place / (len(ordered) + 1)
    return result


class Evidence:
    """Collects the tests, part by part."""

    def __init__(self) -> None:
        self.frames: list[pd.DataFrame] = []
        self.number: Counter[str] = Counter()

    def add(
        self,
        part: str,
        names: Iterable[Any],
        test: str,
        series: np.ndarray,
        *,
        variance: float = 0.0,
        number: int | None = None,
    ) -> None:
        """Tests of the means of series of mean zero and variance one, shape (chains, draws, quantities).

        Parameters
        ----------
        part, test : str
        names : iterable
            Of the quantities.
        series : array
        variance : float, default 0.0
            As for `ess_and_z`.
        number : int, optional
            Number of the tests, where some are left out because their z is smaller.
        """
        ess, z = ess_and_z(series, variance=variance)
        self.frames.append(pd.DataFrame({"part": part, "quantity": list(names), "test": test, "z": z, "ess": ess}))
        self.number[part] += len(z) if number is None else number

    def add_uniform(self, part: str, names: np.ndarray, u: np.ndarray, num_tests: int, variance: float) -> None:
        """The first tests of `TESTS` of numbers (chains, draws, quantities) that are uniform if the draws are right."""
        step = max(1, IN_PIECES // (u.shape[0] * u.shape[1]))
        for start in range(0, max(len(names), 1), step):
            some = slice(start, start + step)
            for degree, test in enumerate(TESTS[:num_tests], 1):
                self.add(part, names[some], test, legendre(u[:, :, some], degree), variance=variance)

    def add_ranks(
        self, part: str, names: np.ndarray, values: np.ndarray, reference: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Tests of values by their ranks among independent draws, where these vary; returns where they do."""
        with np.errstate(invalid="ignore"):
            varied = ~(np.ptp(reference, axis=0) <= 1e-12 * np.abs(reference).max(axis=0))
        u = ranks_among(reference[:, varied], values[:, :, varied], rng)
        self.add_uniform(part, names[varied], u, 2, 1 / len(reference))
        return varied

    def z_by_test(self, part: str, columns: Sequence[str]) -> dict[str, np.ndarray]:
        """For each quantity of a part, the z of each test by column name, and the ess as ``ess_of_...``."""
        found = pd.concat([frame for frame in self.frames if (frame["part"] == part).all()])
        of_tests = {column: found[found["test"] == test] for column, test in zip(columns, TESTS, strict=False)}
        ess = {f"ess_of_{column}": frame["ess"].to_numpy() for column, frame in of_tests.items()}
        return {column: frame["z"].to_numpy() for column, frame in of_tests.items()} | ess

    def judged(self, error_rate: float) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A row for each part and a row for each test, with their shares of the error rate."""
        order = {name: place for place, name in enumerate((*PARTS, *TESTS, "correlation", "spread given"))}
        found = pd.concat([frame for frame in self.frames if len(frame)])
        found = found.sort_values(["part", "test"], key=lambda names: names.map(order), ignore_index=True)
        num_tests = pd.Series(+self.number)
        critical_z = -ndtri(error_rate / len(num_tests) / num_tests / 2)
        found["p_value"] = 2 * ndtr(-found["z"].abs())
        found["against"] = found["z"].abs() > found["part"].map(critical_z)
        by_part = found.assign(size=found["z"].abs()).groupby("part", sort=False)
        parts = by_part.agg(num_against=("against", "sum"), largest_z=("size", "max"), least_ess=("ess", "min"))
        parts = parts.assign(num_tests=num_tests, critical_z=critical_z)
        return (
            parts[["num_tests", "critical_z", "num_against", "largest_z", "least_ess"]],
            found[["part", "quantity", "test", "z", "p_value", "ess", "against"]],
        )


# --------------------------------------------------------------------------------------------------
# Every scalar parameter on its own: draws against the exact marginal distribution
# --------------------------------------------------------------------------------------------------

Z_COLUMNS = ("z_mean", "z_sd", "z_skew", "z_tails")
"""Columns for the polynomials of degree one to four."""

COLUMNS = [
    *("exact_mean", "sampled_mean", "mcse_mean", "exact_sd", "sampled_sd"),
    *(*Z_COLUMNS, "p_value", "ess_bulk", "ess_tail", "r_hat"),
]
"""Columns of a comparison's table."""


def _without_cdf(marginals: "Mapping[str, dist.Distribution]") -> list[str]:
    """Sites whose exact distribution has no known distribution function."""
    found = []
    for site, marginal in marginals.items():
        try:
            cdf(marginal, np.ones(marginal.batch_shape))
        except NotImplementedError:
            found.append(site)
    return found


def _test_parameters(
    tests: Evidence,
    sampled: SampledPosterior,
    marginals: "Mapping[str, dist.Distribution]",
    reference: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Tests of every scalar parameter's draws against its exact distribution: the `table` of `Comparison`.

    `marginals` has the exact distributions by site, `reference` independent draws of the sites whose exact distribution
    has no known distribution function. `rng` splits the steps of distribution functions, and ties of ranks.

    Raises
    ------
    ValueError
        If every parameter is certain.
    """
    sites, diagnostics = sampled.model.sites, sampled.diagnostics
    labels, summaries, position = sites.scalar_labels(), {}, 0
    for site, values in sites.by_name(sampled.parameters).items():
        draws = np.asarray(values, dtype=np.float64)
        flat = draws.reshape(*draws.shape[:2], -1)
        of_site = slice(position, position := position + flat.shape[2])
        if site not in marginals:  # class probabilities that are known
            continue
        mean, sd = mean_and_sd(marginals[site])
        # A single class, or a column of a single category, is certain: there is nothing to compare.
        moving = np.flatnonzero(sd != 0)
        if not moving.size:
            continue
        if site in reference:
            known = reference[site].reshape(len(reference[site]), -1)
            u, variance = ranks_among(known, flat, rng), 1 / len(known)
        else:
            u, variance = pit(marginals[site], draws, rng).reshape(flat.shape), 0.0
        tests.add_uniform("parameters", np.array(labels[site], dtype=object)[moving], u[:, :, moving], 4, variance)
        spread = flat.std(axis=(0, 1), ddof=1)
        summaries[site] = {
            "exact_mean": mean,
            "exact_sd": sd,
            "sampled_mean": flat.mean(axis=(0, 1)),
            "sampled_sd": spread,
            "mcse_mean": spread / np.sqrt(ess_of_mean(flat)),
        } | {name: getattr(diagnostics, name)[of_site] for name in ("ess_bulk", "ess_tail", "r_hat")}
    if not summaries:
        raise ValueError("every parameter is certain (one class, columns of one category): there is nothing to compare")
    table = summary_frame(sites, summaries)
    table = table[table["exact_sd"] != 0].assign(**tests.z_by_test("parameters", Z_COLUMNS))
    smallest = 2 * ndtr(-table[[*Z_COLUMNS]].abs().max(axis=1))
    return table.assign(p_value=np.minimum(len(TESTS) * smallest, 1.0))[COLUMNS]


# --------------------------------------------------------------------------------------------------
# Tests of the independence of parameters that are independent under the exact posterior.
#
# In a closed form the parameters of different cells (class and column) are independent. Inside a cell, the
# distribution function of each parameter given the earlier ones, at its draw, is independent of the earlier ones. All
# of these numbers are independent and uniform. The product of first Legendre polynomials (a correlation of ranks)
# tests each pair. Inside a cell, the first polynomial of one times the second of the other tests spreads. If draws of
# a mean are shuffled against those of its variance, the mean has the right marginal distribution and no correlation
# with the variance, but its spread does not depend on the variance.
# --------------------------------------------------------------------------------------------------

LARGEST = 10
"""The effective number of draws is computed for this many pairs, those of the largest correlations."""

GROUP = 2000
"""Up to this number of parameters, all pairs are tested; above it, pairs inside a class, this many parameters at a
time."""


def _test_dependence(
    tests: Evidence, exact: ExactPosterior, parameters: ModelParameters, rng: np.random.Generator
) -> None:
    """Products of parameters that are independent under the exact posterior: the largest pairs, and spreads.

    The product of the first polynomials of two independent numbers has mean zero and variance one. So has, in every
    cell, the first of a parameter times the second of one drawn given it.
    """
    pairs, classes = zip(exact.families, parameters.blocks, strict=True), exact.closed_form.classes
    blocks = [independent_pits(family, values, rng) for family, values in pairs]
    of_classes = np.full(parameters.class_prob.shape, np.nan)
    if classes.probs is None:
        of_classes = independent_pit(dist.Dirichlet(classes.concentration), parameters.class_prob, rng)
    u = exact.model.sites.by_name(ModelParameters(of_classes, tuple(blocks)))
    labels = exact.model.sites.scalar_labels()
    # The last probability of several is determined by the others, and NaN.
    names, of_class, series = [], [], []
    for site, values in u.items():
        flat = values.reshape(*values.shape[:2], -1)
        known = np.flatnonzero(~np.isnan(flat[0, 0]))
        names += [labels[site][k] for k in known]
        of_class.append(known // (flat.shape[2] // values.shape[2]))
        series.append(legendre(flat[:, :, known], 1))
    _test_largest_pairs(tests, np.array(names, dtype=object), np.concatenate(of_class), np.concatenate(series, axis=2))
    sites = {(site.block, site.column, site.parameter): site.name for site in exact.model.sites}
    for (block, column, parameter), later in sites.items():
        order = list(blocks[block])
        for before in order[: order.index(parameter)]:
            earlier = sites[block, column, before]
            if u[earlier].shape == u[later].shape:
                product = legendre(u[earlier], 1) * legendre(u[later], 2)
                flat = product.reshape(*product.shape[:2], -1)
                known = np.flatnonzero(~np.isnan(flat[0, 0]))
                both = [f"{labels[later][k]} given {labels[earlier][k]}" for k in known]
                tests.add("dependence", both, "spread given", flat[:, :, known])


def _test_largest_pairs(tests: Evidence, names: np.ndarray, classes: np.ndarray, series: np.ndarray) -> None:
    """Correlations of all pairs in each group of parameters, of which the largest are tested."""
    groups = [np.arange(len(classes))]
    if len(classes) > GROUP:
        of_classes = [np.flatnonzero(classes == c) for c in np.unique(classes)]
        groups = [some for members in of_classes for some in np.array_split(members, -(-len(members) // GROUP))]
    number = sum(len(group) * (len(group) - 1) // 2 for group in groups)
    if not number:
        return
    flat = series.reshape(series.shape[0] * series.shape[1], -1)
    sizes, first, second = np.concatenate([_largest_of(flat[:, group], group) for group in groups], axis=1)
    largest = np.argsort(-sizes)[:LARGEST]
    first, second = first[largest].astype(int), second[largest].astype(int)
    both = [f"{one} and {other}" for one, other in zip(names[first], names[second], strict=True)]
    tests.add("dependence", both, "correlation", series[:, :, first] * series[:, :, second], number=number)


def _largest_of(series: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Sum and both members of the largest correlations in a group, shape (3, pairs); series: (draws, members)."""
    first, second = np.triu_indices(len(group), k=1)
    sizes = np.abs(series.T @ series)[first, second]
    number = min(LARGEST, len(sizes))
    largest = np.argpartition(sizes, len(sizes) - number)[len(sizes) - number :] if number else np.empty(0, dtype=int)
    return np.stack([sizes[largest], group[first[largest]], group[second[largest]]])


# --------------------------------------------------------------------------------------------------
# Log densities of data under draws and under independent draws from the closed form
# --------------------------------------------------------------------------------------------------

NUM_ROWS = 6
"""Rows whose log density is tested."""

EXACT_DRAWS = 40_000
"""Number of independent draws from the closed form; their error is small relative to that of the tested draws."""

EXACT_CELLS = 2**26
"""Largest number of values drawn. Models of thousands of parameters get fewer exact draws; the tests allow for that."""


class _CodedRows(NamedTuple):
    """Encoded rows with a label each."""

    chunk: tuple[Any, ...]
    codes: np.ndarray
    names: tuple[str, ...]


def rows_of(exact: ExactPosterior, X: Any, probabilities: np.ndarray) -> _CodedRows:
    """Six rows of X, or all if there are fewer, each with its most probable class."""
    chosen = np.unique(np.linspace(0, len(probabilities) - 1, NUM_ROWS).round().astype(int))
    chunk = tuple(x[chosen] for x in exact.model.read(as_rows(X)).whole())
    return _CodedRows(chunk, probabilities[chosen].argmax(axis=1), tuple(f"row {row}" for row in chosen))


def simulated_rows(exact: ExactPosterior, key: Any) -> _CodedRows:
    """Six rows and labels from the exact posterior predictive distribution."""
    X, y = exact.simulate(NUM_ROWS, key=key, total_count=mean_total_count(exact.problem) or 1)
    given = labelled_rows(X, y, classes=exact.classes)
    chunk = exact.model.read(given.table).whole()
    return _CodedRows(chunk, given.codes, tuple(f"simulated row {row}" for row in range(NUM_ROWS)))


def log_densities(exact: ExactPosterior, parameters: ModelParameters, rows: _CodedRows) -> np.ndarray:
    """Log likelihood of the data and log p(x_i, y_i | theta) of each row, shape (..., 1 + rows).

    Parameters
    ----------
    exact : ExactPosterior
        Gives the model and the data.
    parameters : ModelParameters
        Draws, any leading axes.
    rows : Rows
    """
    pieces = []
    for piece in draws_in_pieces(parameters):
        joint = exact.model.log_joint(piece, rows.chunk)[:, np.arange(len(rows.codes)), rows.codes]
        pieces.append(np.column_stack([exact.model.prior.log_likelihood(piece, exact.problem.statistics), joint]))
    return np.concatenate(pieces).reshape(*parameters.class_prob.shape[:-1], -1)


def _exact_reference(
    exact: ExactPosterior, rows: _CodedRows, rng: np.random.Generator, *, at_least: int, sites: list[str]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Log densities and values of sites, under independent draws from the closed form, at least `at_least`.

    The densities have shape (draws, 1 + rows), as `log_densities`. Values are by site, leading axis the draws.
    """
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(exact.belief.mean()))
    number = max(at_least, min(EXACT_DRAWS, EXACT_CELLS // size))
    densities, kept = [], []
    for parameters in exact.belief.pieces(number, rng):
        densities.append(log_densities(exact, parameters, rows))
        values = exact.model.sites.by_name(parameters)
        kept.append({site: values[site] for site in sites})
    return np.concatenate(densities), {site: np.concatenate([piece[site] for piece in kept]) for site in sites}


# --------------------------------------------------------------------------------------------------
# Predicted class probabilities: draws against the closed form
# --------------------------------------------------------------------------------------------------

DRAWS_OF_PROBABILITIES, CELLS_OF_PROBABILITIES = 16_000, 2**25
"""Number of independent draws from the closed form, and the largest number of values in all of them."""


def _test_probabilities(
    tests: Evidence, exact: ExactPosterior, sampled: SampledPosterior, X: Any, key: Any, rng: np.random.Generator
) -> pd.DataFrame:
    """Class probabilities of rows by both posteriors, by row and class.

    Two questions are asked of each row and class. ``z`` compares the predicted probabilities: a probability by draws is
    a ratio of two means of densities. Where a few draws carry most of a density (small concentrations, rare cells),
    that ratio is far from normal, and no sample shows how far. ``z`` is therefore not a test. The tests use the ranks
    of p(y=c | x, theta) among those of independent exact draws, which are bounded and need no moments.

    Raises
    ------
    ValueError
        If X has no rows.
    """
    truth = exact.predict_proba(X)
    if not truth.size:
        raise ValueError("X has no rows: give at least one, or leave X out")
    index = pd.MultiIndex.from_product([range(len(truth)), exact.classes.tolist()], names=["row", "class"])
    names = np.array([f"class {label} of row {row}" for row, label in index], dtype=object)
    log_joint = sampled.log_joint_draws(X)
    excess = _difference_of_draws(log_joint, truth)
    mcse = excess.std(axis=(0, 1)) / np.sqrt(np.minimum(ess_of_mean(excess), excess.shape[0] * excess.shape[1]))
    difference = excess.mean(axis=(0, 1))
    moving = mcse > 1e-12
    number = max(1000, min(DRAWS_OF_PROBABILITIES, CELLS_OF_PROBABILITIES // truth.size))
    reference = exact.log_joint_draws(X, num_chains=1, num_draws=number, key=key)
    varied = tests.add_ranks("probabilities", names, _log_proba(log_joint), _log_proba(reference)[0], rng)
    z = np.where(moving, difference / np.where(moving, mcse, 1.0), 0.0)
    columns = {"exact": truth.ravel(), "sampled": truth.ravel() + difference, "mcse": mcse, "z": z}
    ranks = pd.DataFrame(tests.z_by_test("probabilities", ["z_rank", "z_rank_spread"]), index=index[varied])
    return pd.DataFrame(columns, index=index).join(ranks)


def _difference_of_draws(log_joint: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Each draw's contribution to the error of a class probability, shape (chain, draw, cells).

    The mean over the draws is the error.
    """
    weight = np.exp(log_joint - log_joint.max(axis=(0, 1, 3), keepdims=True))
    total = weight.sum(axis=3, keepdims=True)
    excess = (weight - truth * total) / total.mean(axis=(0, 1))
    return excess.reshape(*weight.shape[:2], -1)


def _log_proba(log_joint: np.ndarray) -> np.ndarray:
    """Log p(y=c | x, theta), shape (chain, draw, cells)."""
    return log_normalised(log_joint).reshape(*log_joint.shape[:2], -1)


# --------------------------------------------------------------------------------------------------
# The tests of a comparison, for quantities of draws whose distribution is known if the draws are right.
#
# There are four parts: every parameter on its own; densities, which depend on many parameters at once; the
# independence of parameters that the exact posterior makes independent; and the class probabilities of given rows.
# Each part takes an equal share of the error rate, and inside a part the share is divided evenly among the tests
# (Bonferroni).
# --------------------------------------------------------------------------------------------------

OWN_STREAM = 2**31 - 1
"""Keeps the random numbers apart from those of other functions with the same key, whose draws may be tested here."""


def run_battery(
    exact: ExactPosterior, sampled: SampledPosterior, X: Any, *, error_rate: float, key: Any, progress: bool | None
) -> tuple[pd.DataFrame, pd.DataFrame | None, pd.DataFrame, pd.DataFrame]:
    """Test the draws; returns the tables `table`, `probabilities`, `parts` and `tests` of a `Comparison`.

    The key is for the draws from the closed form and for simulated rows.

    Raises
    ------
    ValueError
        If every parameter is certain.
    """
    key_of_rows, key_of_draws, key_of_joints = split(key_of_stream(as_key(key), OWN_STREAM), 3)
    rng = random_generator(key_of_draws)
    parameters = exact.model.sites.parameters(
        sampled.model.sites.by_name(sampled.parameters), exact.closed_form.classes.probs
    )
    tests, probabilities = Evidence(), None
    with steps("compare", 4 if X is None else 5, progress) as begin:
        if X is not None:
            begin("class probabilities")
            probabilities = _test_probabilities(tests, exact, sampled, X, key_of_joints, rng)
        begin("independent draws")
        if probabilities is None:
            rows = simulated_rows(exact, key_of_rows)
        else:
            rows = rows_of(exact, X, probabilities["exact"].to_numpy().reshape(-1, len(exact.classes)))
        marginals = exact.marginals()
        at_least = sampled.num_chains * sampled.num_draws
        reference, sites = _exact_reference(exact, rows, rng, at_least=at_least, sites=_without_cdf(marginals))
        begin("parameters")
        table = _test_parameters(tests, sampled, marginals, sites, rng)
        begin("densities")
        names = np.array(["log likelihood", *(f"log density of {name}" for name in rows.names)], dtype=object)
        tests.add_ranks("densities", names, log_densities(exact, parameters, rows), reference, rng)
        begin("dependence")
        _test_dependence(tests, exact, parameters, rng)
    return table, probabilities, *tests.judged(error_rate)
