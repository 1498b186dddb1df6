"""One table of families for the contract tests: hyperparameters, cells to draw and parameters to try."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import scipy.special
from numpyro.distributions import constraints

import bayesnb as nb
from bayesnb.statistics.counts import class_sums, observed_weight

CLASSES, COLUMNS, CATEGORIES = 2, 3, 4


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exponential(nb.ConjugateFamily):
    """Waiting times with a gamma prior on their rate: a user's family, written outside the package."""

    concentration: Any = 1.0
    rate: Any = 1.0

    support = constraints.positive
    holds = "a positive number"
    positive = ("concentration", "rate")

    def prior(self, sample):
        return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, rate):
        return dist.Exponential(rate)

    def statistics(self, x, membership):
        n = observed_weight(x, membership)
        return nb.Counts(n, class_sums(np.nan_to_num(x), membership), np.zeros_like(n))

    def log_likelihood(self, parameters, statistics):
        rate = parameters["rate"]
        return statistics.n * jax.numpy.log(rate) - statistics.total * rate

    def update(self, statistics):
        return Exponential(self.concentration + statistics.n, self.rate + statistics.total)

    def predictive(self):
        # A gamma mixture of exponentials is a Pareto shifted to zero (Lomax).
        shifted = dist.Pareto(self.rate, self.concentration)
        return dist.TransformedDistribution(shifted, dist.transforms.AffineTransform(-self.rate, 1.0))

    def log_evidence(self, statistics):
        posterior = self.update(statistics)
        return (
            scipy.special.gammaln(posterior.concentration)
            - scipy.special.gammaln(self.concentration)
            + self.concentration * np.log(self.rate)
            - posterior.concentration * np.log(posterior.rate)
        )


@dataclass(frozen=True)
class Case:
    """A family with hyperparameters of full shape, and how to draw cells in its support."""

    name: str
    family: nb.ConjugateFamily
    cells: Callable[[np.random.Generator, int], np.ndarray]
    missing: bool = True


def _hyper(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(0.3, 3.0, (CLASSES, *shape))


def _cases() -> list[Case]:
    rng = np.random.default_rng(7)
    D, K = COLUMNS, CATEGORIES
    return [
        Case(
            "bernoulli",
            nb.Bernoulli(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.integers(0, 2, (n, D)).astype(float),
        ),
        Case(
            "categorical",
            nb.Categorical(_hyper(rng, D, K)),
            lambda rng, n: rng.integers(0, K, (n, D)).astype(float),
        ),
        Case(
            "multinomial",
            nb.Multinomial(_hyper(rng, D)),
            lambda rng, n: rng.poisson(4.0, (n, D)).astype(float),
            missing=False,
        ),
        Case(
            "gaussian",
            nb.Gaussian(rng.normal(size=(CLASSES, D)), _hyper(rng, D), _hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.normal(3.0, 2.0, (n, D)),
        ),
        Case(
            "poisson",
            nb.Poisson(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.poisson(4.0, (n, D)).astype(float),
        ),
        Case(
            "exponential",
            Exponential(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.exponential(2.0, (n, D)),
        ),
    ]


CASES = _cases()


def membership(rng: np.random.Generator, rows: int, weighted: bool = False) -> np.ndarray:
    """Weights of rows in classes: each row in one class, weight one or random."""
    labels = rng.integers(0, CLASSES, rows)
    weight = rng.uniform(0.0, 2.0, rows) if weighted else np.ones(rows)
    return np.eye(CLASSES)[labels] * weight[:, None]


def with_holes(rng: np.random.Generator, x: np.ndarray, share: float = 0.2) -> np.ndarray:
    return np.where(rng.uniform(size=x.shape) < share, np.nan, x)
