"""The tests of a comparison, for quantities of draws whose distribution is known if the draws are right.

There are four parts: every parameter on its own; densities, which depend on many parameters at once; the independence
of parameters that the exact posterior makes independent; and the class probabilities of given rows. Each part takes an
equal share of the error rate, and inside a part the share is divided evenly among the tests (Bonferroni).
"""

from typing import Any, NamedTuple

import jax
import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.checks.comparison.class_probabilities import probability_frame
from bayesnb.checks.comparison.densities import Rows, exact_reference, log_densities, rows_of, simulated_rows
from bayesnb.checks.comparison.dependence import dependence
from bayesnb.checks.comparison.legendre import ess_and_z, legendre, ranks_among
from bayesnb.checks.comparison.marginals import COLUMNS, Z_COLUMNS, marginal_frame, without_cdf
from bayesnb.keys import as_key, random_generator, split
from bayesnb.posterior.exact import ExactPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.progress import steps

__all__ = ["Battery", "run_battery"]

OWN_STREAM = 2**31 - 1
"""Makes the random numbers differ from those of other functions with the same key, whose draws may be tested here."""

TEST_COLUMNS = ["part", "quantity", "test", "z", "p_value", "ess", "against"]
PART_COLUMNS = ["num_tests", "critical_z", "num_against", "largest_z", "least_ess"]


class Battery(NamedTuple):
    """Results of the tests.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each scalar parameter.
    probabilities : pandas.DataFrame or None
        A row for each given row and class.
    parts : pandas.DataFrame
        A row for each part.
    tests : pandas.DataFrame
        A row for each test.
    """

    table: pd.DataFrame
    probabilities: pd.DataFrame | None
    parts: pd.DataFrame
    tests: pd.DataFrame


def run_battery(
    exact: ExactPosterior, sampled: SampledPosterior, X: Any, *, error_rate: float, key: Any, progress: bool | None
) -> Battery:
    """Test the draws.

    Parameters
    ----------
    exact : ExactPosterior
    sampled : SampledPosterior
    X : table, shape (rows, columns), or None
    error_rate : float
    key : int or JAX key
        For the draws from the closed form and for simulated rows.
    progress : bool or None
        Whether to show a progress bar; None as `shows_progress`.

    Raises
    ------
    ValueError
        If every parameter is certain.
    """
    key_of_rows, key_of_draws, key_of_joints = split(jax.random.fold_in(as_key(key), OWN_STREAM), 3)
    rng = random_generator(key_of_draws)
    by_site = sampled.model.sites.by_name(sampled.parameters)
    parameters = exact.model.sites.parameters(by_site, exact.class_posterior.probs)
    with steps("compare", 4 if X is None else 5, progress) as begin:
        probabilities = None
        if X is not None:
            begin("class probabilities")
            probabilities = probability_frame(exact, sampled, X, key_of_joints, rng)
        begin("independent draws")
        if probabilities is None:
            rows = simulated_rows(exact, key_of_rows)
        else:
            rows = rows_of(exact, X, probabilities["exact"].to_numpy().reshape(-1, len(exact.classes)))
        marginals = exact.marginals()
        draws = sampled.num_chains * sampled.num_draws
        reference = exact_reference(exact, rows, rng, at_least=draws, sites=without_cdf(marginals))
        begin("parameters")
        frame = marginal_frame(sampled, marginals, reference.sites, rng)
        if frame.empty:
            raise ValueError(
                "every parameter is certain (one class, columns of one category): there is nothing to compare"
            )
        found = [_parameters(frame)]
        begin("densities")
        found.append(_densities(log_densities(exact, parameters, rows), reference.densities, rows, rng))
        begin("dependence")
        found.append(_dependence(exact, parameters, rng))
        if probabilities is not None:
            found.append(_probabilities(probabilities))
    parts, tests = _judged([part for part in found if part.number], error_rate)
    return Battery(frame[list(COLUMNS)], probabilities, parts, tests)


class _Part(NamedTuple):
    """Tests that share one part of the error rate; `number` also counts tests left out because their z is smaller."""

    name: str
    tests: pd.DataFrame
    number: int


def _parameters(frame: pd.DataFrame) -> _Part:
    pieces = [
        _tests(frame.index, test, frame[z], frame[f"ess_of_{z}"])
        for z, test in zip(Z_COLUMNS, ("mean", "spread", "skewness", "tails"), strict=True)
    ]
    return _Part("parameters", pd.concat(pieces), len(pieces) * len(frame))


def _densities(densities: np.ndarray, reference: np.ndarray, rows: Rows, rng: np.random.Generator) -> _Part:
    """Ranks of the log densities among those of independent draws, without densities that do not vary."""
    with np.errstate(invalid="ignore"):
        varied = ~(np.ptp(reference, axis=0) <= 1e-12 * np.abs(reference).max(axis=0))
    names = np.array(["log likelihood", *(f"log density of {name}" for name in rows.names)], dtype=object)[varied]
    u = ranks_among(reference[:, varied], densities[:, :, varied], rng)
    pieces = []
    for test, degree in (("mean", 1), ("spread", 2)):
        ess, z = ess_and_z(legendre(u, degree), variance=1 / len(reference))
        pieces.append(_tests(names, test, z, ess))
    return _Part("densities", pd.concat(pieces), 2 * len(names))


def _dependence(exact: ExactPosterior, parameters: ModelParameters, rng: np.random.Generator) -> _Part:
    found = dependence(exact, parameters, rng)
    if not found:
        return _Part("dependence", pd.DataFrame(), 0)
    pieces = []
    for products in found:
        ess, z = ess_and_z(products.series)
        pieces.append(_tests(products.names, products.test, z, ess))
    return _Part("dependence", pd.concat(pieces), sum(products.number for products in found))


def _probabilities(frame: pd.DataFrame) -> _Part:
    varied = frame[frame["z_rank"].notna()]
    names = [f"class {label} of row {row}" for row, label in varied.index]
    pieces = [
        _tests(names, test, varied[z], varied[f"ess_of_{z}"])
        for z, test in (("z_rank", "mean"), ("z_rank_spread", "spread"))
    ]
    return _Part("probabilities", pd.concat(pieces), 2 * len(varied))


def _tests(quantities: Any, test: str, z: Any, ess: Any) -> pd.DataFrame:
    columns = {"quantity": list(quantities), "test": test, "z": np.asarray(z), "ess": np.asarray(ess)}
    return pd.DataFrame(columns)


def _judged(parts: list[_Part], error_rate: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row for each part and a row for each test, with their shares of the error rate."""
    summary, tests = [], []
    for name, found, number in parts:
        critical_z = float(-ndtri(error_rate / len(parts) / number / 2))
        z = found["z"].abs()
        against = z > critical_z
        summary.append((name, number, critical_z, int(against.sum()), z.max(), found["ess"].min()))
        tests.append(found.assign(part=name, p_value=2 * ndtr(-z), against=against))
    frame = pd.DataFrame(summary, columns=["part", *PART_COLUMNS]).set_index("part")
    return frame, pd.concat(tests, ignore_index=True)[TEST_COLUMNS]
