"""One table of families for the contract tests: hyperparameters, cells to draw and parameters to try."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.special
from jax.scipy.special import gammaln
from numpyro.distributions import constraints

import bayesnb as nb
from bayesnb.statistics.counts import class_sums, observed_weight

CLASSES, COLUMNS, CATEGORIES = 2, 3, 4


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exponential(nb.ExponentialFamily, nb.ConjugateFamily):
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

    def terms(self, x):
        return (x,)

    def natural(self, parameters):
        return (-parameters["rate"],), -jnp.log(parameters["rate"])

    def update(self, statistics):
        return Exponential(self.concentration + statistics.n, self.rate + statistics.total)

    def log_normaliser(self):
        return gammaln(self.concentration) - self.concentration * jnp.log(self.rate)

    def cell_log_predictive(self, x):
        return jnp.log(self.concentration / self.rate) - (self.concentration + 1) * jnp.log1p(x / self.rate)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NumPyroExponential(nb.ConjugateFamily):
    """The same, with no density of its own: NumPyro's distributions, and formulas for sums."""

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
        return statistics.n * jnp.log(rate) - statistics.total * rate

    def update(self, statistics):
        return NumPyroExponential(self.concentration + statistics.n, self.rate + statistics.total)

    def predictive(self):
        return lomax(self)

    def log_evidence(self, statistics):
        posterior = self.update(statistics)
        return (
            scipy.special.gammaln(posterior.concentration)
            - scipy.special.gammaln(self.concentration)
            + self.concentration * np.log(self.rate)
            - posterior.concentration * np.log(posterior.rate)
        )


def lomax(family):
    """A gamma mixture of exponentials: a Pareto shifted to zero."""
    shifted = dist.Pareto(family.rate, family.concentration)
    return dist.TransformedDistribution(shifted, dist.transforms.AffineTransform(-family.rate, 1.0))


def student_t(family):
    a, kappa = family.concentration, family.kappa
    return dist.StudentT(2 * a, family.loc, jnp.sqrt(family.rate * (kappa + 1) / (a * kappa)))


@dataclass(frozen=True)
class Case:
    """A family with hyperparameters of full shape, how to draw cells in its support, and NumPyro's predictive."""

    name: str
    family: nb.ConjugateFamily
    cells: Callable[[np.random.Generator, int], np.ndarray]
    predictive: Callable[[Any], dist.Distribution]
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
            lambda family: dist.BetaBinomial(family.concentration1, family.concentration0, total_count=1),
        ),
        Case(
            "categorical",
            nb.Categorical(_hyper(rng, D, K)),
            lambda rng, n: rng.integers(0, K, (n, D)).astype(float),
            lambda family: dist.Categorical(family.concentration / family.concentration.sum(-1, keepdims=True)),
        ),
        Case(
            "multinomial",
            nb.Multinomial(_hyper(rng, D)),
            lambda rng, n: rng.poisson(4.0, (n, D)).astype(float),
            lambda family: family.predictive(),
            missing=False,
        ),
        Case(
            "gaussian",
            nb.Gaussian(rng.normal(size=(CLASSES, D)), _hyper(rng, D), _hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.normal(3.0, 2.0, (n, D)),
            student_t,
        ),
        Case(
            "poisson",
            nb.Poisson(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.poisson(4.0, (n, D)).astype(float),
            lambda family: dist.GammaPoisson(family.concentration, family.rate),
        ),
        Case(
            "exponential",
            Exponential(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.exponential(2.0, (n, D)),
            lomax,
        ),
        Case(
            "numpyro exponential",
            NumPyroExponential(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.exponential(2.0, (n, D)),
            lomax,
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
