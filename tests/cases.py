"""One table of families for the contract tests: hyperparameters, cells to draw and parameters to try."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.special
import scipy.stats
from jax.scipy.special import gammaln
from numpyro.distributions import constraints

import bayesnb as nb
from bayesnb.core.arrays import namespace
from bayesnb.families.statistics import class_sums, observed_weight

CLASSES, COLUMNS, CATEGORIES = 2, 3, 4


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exponential(nb.families.ExponentialFamily, nb.families.ConjugateFamily):
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
        return replace(self, concentration=self.concentration + statistics.n, rate=self.rate + statistics.total)

    def log_normaliser(self):
        return _log_gamma_normaliser(self.concentration, self.rate)

    def cell_log_predictive(self, x):
        return _log_lomax(x, self.concentration, self.rate)


# Compiled as a whole. One by one, the operations of these formulas would be compiled anew for each of many shapes.
@jax.jit
def _log_lomax(x, concentration, rate):
    return jnp.log(concentration / rate) - (concentration + 1) * jnp.log1p(x / rate)


@jax.jit
def _log_gamma_normaliser(concentration, rate):
    return gammaln(concentration) - concentration * jnp.log(rate)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NumPyroExponential(nb.families.ConjugateFamily):
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
        return nb.families.Counts(n, class_sums(np.nan_to_num(x), membership), np.zeros_like(n))

    def log_likelihood(self, parameters, statistics):
        rate = parameters["rate"]
        return statistics.n * jnp.log(rate) - statistics.total * rate

    def update(self, statistics):
        return replace(self, concentration=self.concentration + statistics.n, rate=self.rate + statistics.total)

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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Coins(nb.families.ConjugateFamily):
    """Zeros and ones, as `bayesnb.Bernoulli`, written outside the package."""

    ones: Any = 1.0
    zeros: Any = 1.0

    support = constraints.boolean
    holds = "0 or 1"
    positive = ("ones", "zeros")

    def prior(self, sample):
        return {"prob": sample("prob", dist.Beta(self.ones, self.zeros))}

    def likelihood(self, prob):
        return dist.Bernoulli(probs=prob)

    def statistics(self, x, membership):
        n = membership.T @ ~np.isnan(x)
        return nb.families.Counts(n, membership.T @ np.nan_to_num(x), np.zeros_like(n))

    def log_likelihood(self, parameters, statistics):
        prob = parameters["prob"]
        return _xlogy(statistics.total, prob) + _xlog1py(statistics.n - statistics.total, -prob)

    def update(self, statistics):
        return replace(self, ones=self.ones + statistics.total, zeros=self.zeros + statistics.n - statistics.total)

    def predictive(self):
        return dist.Bernoulli(probs=self.ones / (self.ones + self.zeros))

    def log_evidence(self, statistics):
        after = self.update(statistics)
        return _log_beta(after.ones, after.zeros) - _log_beta(self.ones, self.zeros)

    def maximum_likelihood(self, statistics):
        with np.errstate(invalid="ignore"):
            return {"prob": statistics.total / statistics.n}

    def maximum_a_posteriori(self, statistics):
        after = self.update(statistics)
        return {"prob": (after.ones - 1) / (after.ones + after.zeros - 2)}

    def power_scaled(self, statistics, power):
        after = self.update(statistics)
        return {
            "ones": after.ones + (power - 1) * (self.ones - 1),
            "zeros": after.zeros + (power - 1) * (self.zeros - 1),
        }


# By SciPy where the arrays are NumPy's, so that the families that are not the page's example compile little.
def _log_beta(a, b):
    _, special = namespace(a, b)
    return special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b)


def _xlogy(x, y):
    return namespace(x, y)[1].xlogy(x, y)


def _xlog1py(x, y):
    return namespace(x, y)[1].xlog1py(x, y)


class _Dirichlet(nb.families.ConjugateFamily):
    """What a family with a Dirichlet prior has, whatever its cells."""

    def prior(self, sample):
        return {"prob": sample("prob", dist.Dirichlet(self.concentration))}

    def update(self, statistics):
        return replace(self, concentration=self.concentration + statistics.total)

    def maximum_a_posteriori(self, statistics):
        excess = self.concentration + statistics.total - 1
        return {"prob": excess / excess.sum(axis=-1, keepdims=True)}

    def power_scaled(self, statistics, power):
        return {"concentration": self.concentration + statistics.total + (power - 1) * (self.concentration - 1)}

    def maximum_likelihood(self, statistics):
        with np.errstate(invalid="ignore"):
            return {"prob": statistics.total / statistics.total.sum(axis=-1, keepdims=True)}

    def _log_ratio(self, statistics):
        return _log_norm(self.concentration + statistics.total) - _log_norm(self.concentration)


def _log_norm(a):
    _, special = namespace(a)
    return special.gammaln(a).sum(axis=-1) - special.gammaln(a.sum(axis=-1))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Symbols(_Dirichlet):
    """Categories, as `bayesnb.Categorical`, written outside the package."""

    concentration: Any = 1.0
    categories: Any = field(default=None, metadata={"static": True})
    other: bool = field(default=False, metadata={"static": True})

    cell = "category"
    support = constraints.nonnegative_integer
    holds = "a symbol"
    positive = ("concentration",)

    def likelihood(self, prob):
        return dist.Categorical(probs=prob)

    def statistics(self, x, membership):
        indicators = x[..., None] == np.arange(np.shape(self.concentration)[-1])
        total = np.einsum("ic,ijk->cjk", membership, indicators)
        n = total.sum(axis=-1)
        return nb.families.Counts(n, total, np.zeros_like(n))

    def log_likelihood(self, parameters, statistics):
        return _xlogy(statistics.total, parameters["prob"]).sum(axis=-1)

    def predictive(self):
        return dist.Categorical(probs=jnp.asarray(self.concentration / self.concentration.sum(axis=-1, keepdims=True)))

    def log_evidence(self, statistics):
        return self._log_ratio(statistics)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tokens(nb.families.JointFamily, _Dirichlet):
    """Count vectors, as `bayesnb.Multinomial`, written outside the package."""

    concentration: Any = 1.0

    cell = "count vector"
    support = constraints.nonnegative_integer
    holds = "a count"
    positive = ("concentration",)

    def likelihood(self, prob, total_count=1):
        return dist.Multinomial(probs=prob, total_count=total_count)

    def statistics(self, x, membership):
        log_coefficient = scipy.special.gammaln(x.sum(axis=1) + 1) - scipy.special.gammaln(x + 1).sum(axis=1)
        weights = np.stack([np.ones(len(x)), log_coefficient])
        n, log_base = (weights @ membership)[..., None]
        return nb.families.Counts(n, membership.T @ x, log_base)

    def log_likelihood(self, parameters, statistics):
        return _xlogy(statistics.total, parameters["prob"]).sum(axis=-1, keepdims=True)

    def predictive(self, total_count=1):
        return dist.DirichletMultinomial(self.concentration, total_count=total_count)

    def log_evidence(self, statistics):
        return self._log_ratio(statistics)[..., None] + statistics.log_base

    def of_each_column(self):
        return Coins(self.concentration, self.concentration.sum(axis=-1, keepdims=True) - self.concentration)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Logarithms(nb.families.Statistics):
    """Weights, sums and sums of logarithms: a kind of statistics written outside the package."""

    n: Any
    total: Any
    logs: Any

    def __add__(self, other):
        return jax.tree.map(lambda a, b: a + b, self, other)

    def __sub__(self, other):
        return jax.tree.map(lambda a, b: a - b, self, other)

    def __mul__(self, factor):
        return jax.tree.map(lambda a: a * factor, self)

    def pooled(self):
        return jax.tree.map(lambda a: a.sum(axis=0, keepdims=True), self)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Durations(nb.families.Family):
    """Gamma-distributed times of unknown shape and rate: a family from outside, without a closed form."""

    scale: Any = 2.0

    support = constraints.positive
    holds = "a positive number"
    positive = ("scale",)

    def prior(self, sample):
        return {
            "shape": sample("shape", dist.Gamma(2.0, 1 / self.scale)),
            "speed": sample("speed", dist.Gamma(2.0, 1 / self.scale)),
        }

    def likelihood(self, shape, speed):
        return dist.Gamma(shape, speed)

    def statistics(self, x, membership):
        observed = ~np.isnan(x)
        x = np.where(observed, x, 1.0)
        return Logarithms(membership.T @ observed, membership.T @ (x * observed), membership.T @ np.log(x))

    def log_likelihood(self, parameters, statistics):
        shape, speed = parameters["shape"], parameters["speed"]
        constant = shape * jnp.log(speed) - gammaln(shape)
        return statistics.n * constant + (shape - 1) * statistics.logs - speed * statistics.total


TWINS = {
    "binomial": "geometric",
    "negative binomial": "geometric",
    "exponential": "user's exponential",
    "histogram": "categorical and hurdle",
    "multivariate gaussian": "gaussian",
    "joint categorical": "categorical",
}
"""Cases of the slow suite, and those of the fast one that have most of their formulas."""


@dataclass(frozen=True)
class Case:
    """A family with hyperparameters of full shape, and how to draw cells in its support."""

    name: str
    family: nb.families.ConjugateFamily
    cells: Callable[[np.random.Generator, int], np.ndarray]
    missing: bool = True

    @property
    def slow(self) -> bool:
        """Whether only the slow suite runs the case, because a faster one has the same formulas."""
        return self.name in TWINS

    @property
    def default(self) -> nb.families.ConjugateFamily:
        """The family with the default hyperparameters, and with its constants."""
        return type(self.family)(**self.family.settings())


def _hyper(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(0.3, 3.0, (CLASSES, *shape))


def a_quarter(rows: int, columns: int) -> np.ndarray:
    """A quarter of the cells, spread evenly over rows and columns."""
    return (np.arange(rows)[:, None] // 2 + np.arange(columns)) % 4 == 0


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
            "user's exponential",
            Exponential(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.exponential(2.0, (n, D)),
        ),
        Case(
            "numpyro exponential",
            NumPyroExponential(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.exponential(2.0, (n, D)),
        ),
        Case(
            "hurdle",
            nb.Hurdle(
                nb.Gaussian(rng.normal(size=(CLASSES, D)), _hyper(rng, D), _hyper(rng, D), _hyper(rng, D)),
                _hyper(rng, D),
                _hyper(rng, D),
            ),
            lambda rng, n: np.where(a_quarter(n, D), 0.0, rng.uniform(0.5, 9.0, (n, D))),
        ),
        Case(
            "histogram",
            nb.Histogram((-1.0, 0.5, 2.0, 3.5, 6.0), _hyper(rng, D, 6)),
            lambda rng, n: rng.normal(3.0, 2.0, (n, D)),
        ),
    ]


def _more_cases() -> list[Case]:
    rng = np.random.default_rng(8)
    D = COLUMNS
    return [
        Case(
            "exponential",
            nb.Exponential(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.exponential(2.0, (n, D)),
        ),
        Case(
            "log normal",
            nb.LogNormal(rng.normal(size=(CLASSES, D)), _hyper(rng, D), 3 + _hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.lognormal(3.0, 0.7, (n, D)),
        ),
        Case(
            "geometric",
            nb.Geometric(_hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.geometric(0.3, (n, D)) - 1.0,
        ),
        Case(
            "binomial",
            nb.Binomial(7, _hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.binomial(7, 0.4, (n, D)).astype(float),
        ),
        Case(
            "negative binomial",
            nb.NegativeBinomial(2.5, _hyper(rng, D), _hyper(rng, D)),
            lambda rng, n: rng.negative_binomial(2.5, 0.4, (n, D)).astype(float),
        ),
    ]


def _joint_cases() -> list[Case]:
    rng = np.random.default_rng(9)
    D, K = COLUMNS, CATEGORIES
    root = rng.normal(size=(CLASSES, D, D))
    mixed = rng.normal(size=(D, D))
    return [
        Case(
            "multivariate gaussian",
            nb.MultivariateGaussian(
                rng.normal(size=(CLASSES, D)),
                _hyper(rng, 1),
                D + _hyper(rng, 1),
                root @ root.swapaxes(1, 2) + np.eye(D),
            ),
            lambda rng, n: 3.0 + 2.0 * rng.normal(size=(n, D)) @ mixed,
            missing=False,
        ),
        Case(
            "joint categorical",
            nb.JointCategorical(1 + _hyper(rng, 1), sizes=(K,) * D, held=tuple(range(K**D))),
            lambda rng, n: rng.integers(0, K, (n, D)).astype(float),
            missing=False,
        ),
    ]


CASES = [*_cases(), *_more_cases(), *_joint_cases()]

OWN = [case for case in CASES if type(case.family).__module__.startswith("bayesnb.")]
"""Families of the package."""


def _outside() -> list[Case]:
    by_name = {case.name: case for case in CASES}
    bernoulli, categorical, multinomial = (by_name[name] for name in ("bernoulli", "categorical", "multinomial"))
    return [
        replace(
            bernoulli,
            name="outside bernoulli",
            family=Coins(bernoulli.family.concentration1, bernoulli.family.concentration0),
        ),
        replace(
            categorical,
            name="outside categorical",
            family=Symbols(categorical.family.concentration),
        ),
        replace(
            multinomial,
            name="outside multinomial",
            family=Tokens(multinomial.family.concentration),
        ),
    ]


OUTSIDE = _outside()
"""Families as they are written outside the package, each beside its twin within."""


@dataclass(frozen=True)
class Sampled:
    """A family without a closed form, which NUTS fits: its cells, and SciPy's density.

    Attributes
    ----------
    cells : callable
        Two columns of cells, given which rows are of the first class.
    log_density : callable
        From cells and the parameters by name.
    estimates : bool
        Whether the family gives a mode and a maximum of the likelihood.
    """

    name: str
    family: nb.families.Family
    cells: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    log_density: Callable[..., np.ndarray]
    estimates: bool = True


def _waits(rng: np.random.Generator, first: np.ndarray) -> np.ndarray:
    return np.where(first[:, None], 2, 1) * rng.gamma([2.0, 5.0], [1.0, 0.5], (len(first), 2))


SAMPLED = [
    Sampled(
        "durations",
        Durations(),
        _waits,
        lambda x, shape, speed: scipy.stats.gamma.logpdf(x, shape, scale=1 / speed),
        estimates=False,
    ),
    Sampled(
        "gamma",
        nb.Gamma(4.0, 1.0, 1.5, 0.1),
        _waits,
        lambda x, mean, concentration: scipy.stats.gamma.logpdf(x, concentration, scale=mean / concentration),
    ),
    Sampled(
        "beta",
        nb.Beta(1.5, 2.0, 1.5, 0.05),
        lambda rng, first: rng.beta(np.where(first[:, None], 3.0, 6.0), [4.0, 9.0], (len(first), 2)),
        lambda x, mean, concentration: scipy.stats.beta.logpdf(x, mean * concentration, (1 - mean) * concentration),
    ),
    Sampled(
        "von mises",
        nb.VonMises(1.5, 0.1),
        lambda rng, first: rng.vonmises(np.where(first[:, None], 3.1, 1.5), [2.0, 9.0], (len(first), 2)),
        lambda x, loc, concentration: scipy.stats.vonmises.logpdf(x, concentration, loc),
    ),
    Sampled(
        "learned negative binomial",
        nb.NegativeBinomial(loc=4.0, scale=1.0, rate=2.0),
        lambda rng, first: rng.negative_binomial([1.5, 4.0], np.where(first[:, None], 0.2, 0.4), (len(first), 2)) * 1.0,
        lambda x, mean, dispersion: scipy.stats.nbinom.logpmf(x, 1 / dispersion, 1 / (1 + dispersion * mean)),
    ),
]
"""Families without a closed form, the first from outside the package."""


def membership(rng: np.random.Generator, rows: int, weighted: bool = False) -> np.ndarray:
    """Weights of rows in classes: each row in one class, weight one or random."""
    labels = rng.integers(0, CLASSES, rows)
    weight = rng.uniform(0.0, 2.0, rows) if weighted else np.ones(rows)
    return np.eye(CLASSES)[labels] * weight[:, None]


def with_holes(rng: np.random.Generator, x: np.ndarray, share: float = 0.2) -> np.ndarray:
    return np.where(rng.uniform(size=x.shape) < share, np.nan, x)
