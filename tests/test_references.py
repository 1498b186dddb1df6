"""Posteriors against references that PyMC sampled from raw rows: `tools/references/make_references.py`.

A comparison is in Monte Carlo standard errors, those of the reference for a closed form, of both for draws. All the
comparisons of a test share an error rate of 1e-4 (Bonferroni): so often a right posterior would miss a new reference.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from scipy.stats import norm

import bayesnb as nb

ERROR_RATE = 1e-4
QUANTILES = (0.05, 0.25, 0.75, 0.95)
SKEWED = nb.Gaussian(loc=1.0, kappa=0.5, concentration=2.5, rate=3.0)
CAREFUL = nb.NUTS(target_accept_prob=0.9)
WIDE = nb.Gaussian(loc=0.0, kappa=0.1, concentration=2.0, rate=1.0)

SUCCESSES: dict[int, nb.families.Family] = {
    0: nb.Exponential(1.5, 2.0),
    1: nb.LogNormal(loc=1.0, kappa=0.5, concentration=2.5, rate=3.0),
    2: nb.Geometric(2.0, 1.5),
    3: nb.Binomial(7, 1.0, 2.0),
    4: nb.NegativeBinomial(2.5, 1.5, 2.0),
}


@dataclass(frozen=True)
class Case:
    """A model of this package for a reference, and the site of each of the reference's parameters."""

    model: nb.NaiveBayes
    sites: dict[str, str | list[str]]


CLOSED = {
    "bernoulli": Case(nb.NaiveBayes(nb.Bernoulli(2.0, 0.5), class_concentration=[2.0, 1.0, 0.5]), {"prob": "x_prob"}),
    "categorical": Case(
        nb.NaiveBayes(nb.Categorical(0.5, categories={0: range(3), 1: range(5)})),
        {"prob_0": "0_prob", "prob_1": "1_prob"},
    ),
    "gaussian": Case(nb.NaiveBayes(SKEWED), {"mean": "x_mean", "variance": "x_variance"}),
    "poisson": Case(nb.NaiveBayes(nb.Poisson(2.0, 0.7)), {"rate": "x_rate"}),
    "multinomial": Case(nb.NaiveBayes(nb.Multinomial(0.5)), {"prob": "x_prob"}),
    "mixed_weighted": Case(
        nb.NaiveBayes({0: WIDE, 1: nb.Categorical(), 2: nb.Bernoulli(), 3: nb.Poisson(1.0, 0.5)}),
        {"mean": "0_mean", "variance": "0_variance", "colour_prob": "1_prob", "flag_prob": "2_prob", "rate": "3_rate"},
    ),
    "waits_and_successes": Case(
        nb.NaiveBayes(SUCCESSES),
        {
            "rate": "0_rate",
            "mean": "1_mean",
            "variance": "1_variance",
            "prob_of_try": "2_prob",
            "prob_of_pass": "3_prob",
            "prob_of_end": "4_prob",
        },
    ),
}
SAMPLED = {
    "means_and_concentrations": Case(
        nb.NaiveBayes(
            {
                0: nb.Gamma(4.0, 1.0, 1.5, 0.1),
                1: nb.Beta(1.5, 2.0, 1.5, 0.05),
                2: nb.VonMises(1.5, 0.1),
                3: nb.NegativeBinomial(loc=4.0, scale=1.0, concentration=1.5, rate=2.0),
            }
        ),
        {
            "amount_mean": "0_mean",
            "amount_shape": "0_concentration",
            "share_mean": "1_mean",
            "share_size": "1_concentration",
            "angle_loc": "2_loc",
            "angle_size": "2_concentration",
            "visits_mean": "3_mean",
            "dispersion": "3_dispersion",
        },
    ),
    "dirichlet_multinomial": Case(
        nb.NaiveBayes(nb.DirichletMultinomial(1.5, 0.5)), {"concentration": "x_concentration"}
    ),
    "learned_concentration": Case(
        nb.NaiveBayes(nb.Categorical(dist.Gamma(2.0, 1.5), categories=range(4))),
        {"concentration": "x_concentration", "prob": ["0_prob", "1_prob", "2_prob"]},
    ),
    "unlabelled": Case(nb.NaiveBayes(nb.Bernoulli()), {"prob": "x_prob"}),
}


@cache
def reference(name: str) -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("references").joinpath(f"{name}.json").read_text())


def fit(name: str, case: Case, inference=None, **changed):
    table = {**reference(name)["table"], **changed}
    rows, labels = np.array(table["rows"], dtype=object), np.array(table["labels"], dtype=object)
    return nb.fit(case.model, rows, labels, inference, sample_weight=table.get("weights"), key=1)


def new_rows(name: str) -> np.ndarray:
    return np.array(reference(name)["table"]["new_rows"], dtype=object)


def closed_form(name: str, case: Case, **changed) -> dict[tuple[str, str], np.ndarray]:
    """z-scores of a closed form by parameter and statistic, in standard errors of the reference."""
    posterior = fit(name, case, **changed)
    wide, narrow = posterior.summary(prob=0.9), posterior.summary(prob=0.5)
    columns = {"mean": wide["mean"], "sd": wide["sd"], "0.05": wide["lower"], "0.95": wide["upper"]}
    columns |= {"0.25": narrow["lower"], "0.75": narrow["upper"]}
    z = {}
    for parameter, site, told in parameters_of(name, case):
        for statistic, column in columns.items():
            values = column[column.index.str.partition("[").get_level_values(0) == site]
            expected, mcse = statistic_of(told, statistic)
            z[parameter, statistic] = (np.reshape(values, expected.shape) - expected) / mcse
    told = reference(name)["new_rows_density"]
    density = np.exp(posterior.log_joint(new_rows(name)))
    return z | {("new rows", "mean"): (density - told["mean"]) / told["mcse"]}


def drawn(name: str, case: Case, inference) -> dict[tuple[str, str], np.ndarray]:
    """z-scores of draws by parameter and statistic, in standard errors of both."""
    posterior = fit(name, case, inference)
    draws = {**posterior.draws(), "new rows": np.exp(posterior.log_joint_draws(new_rows(name)))}
    axes = {"chain_axis": 0, "draw_axis": 1}
    z = {}
    for parameter, site, told in parameters_of(name, case):
        values = np.stack([draws[one] for one in site], axis=-2) if isinstance(site, list) else draws[site]
        for statistic in ("mean", "sd", *map(str, QUANTILES)):
            expected, theirs = statistic_of(told, statistic)
            if statistic in ("mean", "sd"):
                found = getattr(values, statistic.replace("sd", "std"))(axis=(0, 1))
                mine = array_stats.mcse(values, **axes, method=statistic)
            else:
                found = np.quantile(values, float(statistic), axis=(0, 1))
                mine = array_stats.mcse(values, **axes, method="quantile", prob=float(statistic))
            z[parameter, statistic] = (found - expected) / np.hypot(mine, theirs)
    told = reference(name)["new_rows_density"]
    mine = array_stats.mcse(draws["new rows"], **axes, method="mean")
    difference = draws["new rows"].mean(axis=(0, 1)) - told["mean"]
    return z | {("new rows", "mean"): difference / np.hypot(mine, told["mcse"])}


def parameters_of(name: str, case: Case) -> list[tuple[str, Any, dict[str, Any]]]:
    sites = {"class_prob": "class_prob", **case.sites}
    return [(parameter, sites[parameter], told) for parameter, told in reference(name)["parameters"].items()]


def statistic_of(told: dict[str, Any], statistic: str) -> tuple[np.ndarray, np.ndarray]:
    """A statistic of a reference's parameter, and its Monte Carlo standard error."""
    if statistic in ("mean", "sd"):
        return np.array(told[statistic]), np.array(told[f"mcse_{statistic}"])
    return np.array(told["quantile"][statistic]), np.array(told["mcse_quantile"][statistic])


def misses(z: dict[tuple[str, str], np.ndarray]) -> pd.Series:
    """Largest z-score of each parameter and statistic, where it is beyond what chance leaves."""
    number = sum(value.size for value in z.values())
    largest = pd.Series({key: np.abs(value).max() for key, value in z.items()})
    return largest[largest > norm.isf(ERROR_RATE / (2 * number))]


@pytest.mark.parametrize("name", CLOSED | SAMPLED)
def test_the_reference_is_of_the_model_that_makes_it(name):
    """A model that is changed in models.py needs its draws anew."""
    assert reference(name)["pymc"] in Path(__file__).parents[1].joinpath("tools", "references", "models.py").read_text()


@pytest.mark.parametrize("name", CLOSED)
def test_the_closed_form_is_the_reference(name):
    found = misses(closed_form(name, CLOSED[name]))
    assert found.empty, found


@pytest.mark.parametrize(
    ("name", "inference"),
    [
        pytest.param("unlabelled", nb.Gibbs(), marks=pytest.mark.slow),
        pytest.param("learned_concentration", nb.NUTS(), marks=pytest.mark.slow),
        pytest.param("unlabelled", nb.NUTS(), marks=pytest.mark.slow),
        pytest.param("dirichlet_multinomial", nb.NUTS(), marks=pytest.mark.slow),
        pytest.param("means_and_concentrations", CAREFUL, marks=pytest.mark.slow),
        *(pytest.param(name, CAREFUL, marks=pytest.mark.slow) for name in CLOSED),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_draws_are_the_reference(name, inference):
    found = misses(drawn(name, (CLOSED | SAMPLED)[name], inference))
    assert found.empty, found


@pytest.mark.parametrize(
    ("name", "features"),
    [
        pytest.param("bernoulli", nb.Bernoulli(0.5, 2.0), id="beta parameters swapped"),
        pytest.param("bernoulli", nb.Bernoulli(2.0, 0.6), id="failures a tenth off"),
        pytest.param("categorical", nb.Categorical(0.6, categories={0: range(3), 1: range(5)}), id="concentration"),
        pytest.param("gaussian", nb.Gaussian(1.0, 0.5, 2.5, 1 / 3.0), id="inverse gamma's rate for its scale"),
        pytest.param("gaussian", nb.Gaussian(1.0, 2.0, 2.5, 3.0), id="variance times kappa"),
        pytest.param("gaussian", nb.Gaussian(1.0, 0.5, 3.0, 3.0), id="one half on the inverse gamma's shape"),
        pytest.param("poisson", nb.Poisson(2.0, 1 / 0.7), id="gamma's scale for its rate"),
        pytest.param("multinomial", nb.Multinomial(0.6), id="concentration of words"),
        *(
            pytest.param("waits_and_successes", SUCCESSES | {at: wrong}, id=name)
            for name, at, wrong in (
                ("exponential's scale for its rate", 0, nb.Exponential(1.5, 0.5)),
                ("variance of the log times kappa", 1, nb.LogNormal(1.0, 2.0, 2.5, 3.0)),
                ("geometric's successes and failures swapped", 2, nb.Geometric(1.5, 2.0)),
                ("binomial's successes and failures swapped", 3, nb.Binomial(7, 2.0, 1.0)),
                ("another number of successes", 4, nb.NegativeBinomial(3.0, 1.5, 2.0)),
            )
        ),
    ],
)
def test_a_wrong_prior_is_seen(name, features):
    wrong = nb.NaiveBayes(features, class_concentration=CLOSED[name].model.class_concentration)
    assert len(misses(closed_form(name, Case(wrong, CLOSED[name].sites))))


def test_wrong_data_are_seen():
    case, table = CLOSED["mixed_weighted"], reference("mixed_weighted")["table"]
    assert len(misses(closed_form("mixed_weighted", case, weights=None)))
    assert len(misses(closed_form("mixed_weighted", case, labels=[1 - label for label in table["labels"]])))
    filled = [[0.0 if cell is None else cell for cell in row] for row in reference("gaussian")["table"]["rows"]]
    assert len(misses(closed_form("gaussian", CLOSED["gaussian"], rows=filled)))
