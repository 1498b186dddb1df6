"""One table of all families: cells, an independent density and points to integrate over; and families from outside."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import scipy.sparse
import scipy.special
import scipy.stats
from numpyro.distributions import constraints
from scipy.special import expit

import bayesnb as nb
from bayesnb.families import class_sums, log_beta, namespace, observed_weight
from bayesnb.families.conjugate import Abilities, abilities

CLASSES, COLUMNS, CATEGORIES = 2, 3, 4


@dataclass(frozen=True)
class _Waits(nb.families.ConjugateFamily):
    """Waiting times with a gamma prior on their rate."""

    concentration: Any = 1.0
    rate: Any = 1.0

    support = constraints.positive
    holds = "a positive number"
    positive = ("concentration", "rate")

    def prior(self, sample):
        return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}

    def likelihood(self, rate):
        return dist.Exponential(rate)

    def update(self, statistics):
        return replace(self, concentration=self.concentration + statistics.n, rate=self.rate + statistics.total)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exponential(nb.families.ExponentialFamily, _Waits):
    """A user's family, written outside the package."""

    def terms(self, x):
        return (x,)

    def natural(self, parameters):
        xp, _ = namespace(parameters["rate"])
        return (-parameters["rate"],), -xp.log(parameters["rate"])

    def log_normaliser(self):
        xp, special = namespace(self.concentration, self.rate)
        return special.gammaln(self.concentration) - self.concentration * xp.log(self.rate)

    def cell_log_predictive(self, x):
        xp, _ = namespace(x, self.concentration, self.rate)
        return xp.log(self.concentration / self.rate) - (self.concentration + 1) * xp.log1p(x / self.rate)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NumPyroExponential(_Waits):
    """The same in `jax.numpy`, with no density of its own: NumPyro's distributions, and formulas for sums."""

    def statistics(self, x, membership):
        n = observed_weight(x, membership)
        return nb.families.Counts(n, class_sums(np.nan_to_num(x), membership), np.zeros_like(n))

    def log_likelihood(self, parameters, statistics):
        rate = parameters["rate"]
        return statistics.n * jnp.log(rate) - statistics.total * rate

    def predictive(self):
        """A gamma mixture of exponentials: a Pareto shifted to zero."""
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
        n = observed_weight(x, membership)
        return nb.families.Counts(n, class_sums(np.nan_to_num(x), membership), np.zeros_like(n))

    def log_likelihood(self, parameters, statistics):
        prob = parameters["prob"]
        return _xlogy(statistics.total, prob) + _xlog1py(statistics.n - statistics.total, -prob)

    def update(self, statistics):
        return replace(self, ones=self.ones + statistics.total, zeros=self.zeros + statistics.n - statistics.total)

    def predictive(self):
        return dist.Bernoulli(probs=self.ones / (self.ones + self.zeros))

    def log_evidence(self, statistics):
        after = self.update(statistics)
        return log_beta(after.ones, after.zeros) - log_beta(self.ones, self.zeros)

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
        return nb.families.Counts(n, class_sums(x, membership), log_base)

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
        sums = [class_sums(np.nan_to_num(term), membership) for term in (x, np.log(x))]
        return Logarithms(observed_weight(x, membership), *sums)

    def log_likelihood(self, parameters, statistics):
        shape, speed = parameters["shape"], parameters["speed"]
        xp, special = namespace(shape, speed)
        constant = shape * xp.log(speed) - special.gammaln(shape)
        return statistics.n * constant + (shape - 1) * statistics.logs - speed * statistics.total


@dataclass(frozen=True)
class Case:
    """A family as a user writes it, cells of it, and SciPy's density.

    Attributes
    ----------
    default : Family
        With the default hyperparameters, which may follow the data.
    fixed : Family, optional
        With numbers for all hyperparameters; `default` if it always has numbers.
    draw : callable
        Cells, from a generator, which rows are of the first class, and the number of columns.
    log_density : callable
        From cells of one column, or rows of both columns of a joint family, and the parameters of one class by name.
    nodes : tuple of arrays
        Rows (of two columns, or cells of one) that cover the support, and the weight of each in an integral.
    bad : tuple of (cell, words)
        A cell outside the support, and the words of the error.
    """

    name: str
    default: Any
    draw: Callable[[np.random.Generator, np.ndarray, int], np.ndarray]
    log_density: Callable[..., np.ndarray]
    nodes: tuple[np.ndarray, np.ndarray]
    fixed: Any = None
    bad: tuple[Any, str] | None = None

    @cached_property
    def can(self) -> Abilities:
        """What the family can do."""
        return abilities(self.default)

    @property
    def priors(self) -> list[Any]:
        return [self.default] if self.fixed is None else [self.default, self.fixed]

    @cached_property
    def family(self) -> Any:
        """With numbers for each class and column: what some rows of little weight make of the default prior."""
        rng = np.random.default_rng(7)
        if self.name == "joint categorical":
            every = tuple(range(3**COLUMNS))
            return nb.JointCategorical(rng.uniform(1.3, 4.0, (2, 1)), range(3), sizes=(3,) * COLUMNS, held=every)
        X, weight = self.cells(rng, 60), rng.uniform(0.01, 0.15, 60)
        features = {"x": (self.default, slice(None))}
        (found,) = nb.fit(nb.NaiveBayes(features), X, np.arange(60) % 2, sample_weight=weight).families
        return replace(found, categories=range(CATEGORIES)) if hasattr(found, "categories") else found

    def cells(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        return self.draw(rng, rng.integers(0, 2, rows) == 0, COLUMNS)

    def forms(self, x: np.ndarray) -> Iterator[Any]:
        """Cells in every form that the family takes, and with holes."""
        yield x
        if "small types" in self.default.takes:
            yield x.astype(np.uint8 if self.default.cell == "category" else bool)
        if "sparse" in self.default.takes:
            yield scipy.sparse.csr_array(x)
        if self.can.holes:
            yield with_holes(np.random.default_rng(3), x)

    def table(self, rows: int = 24, holes: bool = False, seed: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
        """Two columns, and labels."""
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 2, rows) == 0
        first[:4] = [True, False, False, True]
        X = pd.DataFrame(self.draw(rng, first, 2), columns=["u", "v"])
        if holes and self.can.holes:
            X = X.mask(rng.uniform(size=X.shape) < 0.2)
        return X, np.where(first, "a", "b")

    def model(self, family: Any, **options: Any) -> nb.NaiveBayes:
        return nb.NaiveBayes({"x": (family, ["u", "v"])} if self.can.joint else family, **options)


def known(case: Case) -> Any:
    """A posterior of given parameters: the mean of a fit."""
    X, y = case.table()
    if case.can.closed:
        return nb.fit(case.model(case.default), X, y).plugin()
    parameters = {"x_" + name: value for name, value in STRAIGHT[case.name].items()}
    return nb.from_parameters(
        case.model(case.default), classes=["a", "b"], class_probs=[0.3, 0.7], parameters=parameters, columns=["u", "v"]
    )


def _pair(one: Any, other: Any) -> Callable[[np.random.Generator, np.ndarray, int], np.ndarray]:
    """Cells by class, from what a generator draws."""

    def draw(rng: np.random.Generator, first: np.ndarray, columns: int) -> np.ndarray:
        shape = len(first), columns
        return np.where(first[:, None], one(rng, shape), other(rng, shape)) * 1.0

    return draw


_LINE = np.linspace(-25.0, 25.0, 10_000)
REAL = np.sinh(_LINE), np.cosh(_LINE) * (_LINE[1] - _LINE[0])
_POWERS = np.linspace(-40.0, 40.0, 10_001)
POSITIVE = np.exp(_POWERS), np.exp(_POWERS) * (_POWERS[1] - _POWERS[0])
_LOGITS = np.linspace(-35.0, 35.0, 10_001)
UNIT = expit(_LOGITS), expit(_LOGITS) * expit(-_LOGITS) * (_LOGITS[1] - _LOGITS[0])
_ANGLES = np.linspace(-np.pi, np.pi, 2001)[:-1]
CIRCLE = _ANGLES, np.full(2000, 2 * np.pi / 2000)


def counts(end: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(end) * 1.0, np.ones(end)


def pairs(end: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.array([*itertools.product(range(end), repeat=2)]) * 1.0
    return rows, np.ones(len(rows))


def documents(tokens: int) -> tuple[np.ndarray, np.ndarray]:
    rows = np.array([[k, tokens - k] for k in range(tokens + 1)]) * 1.0
    return rows, np.ones(len(rows))


def steps(*edges: float) -> tuple[np.ndarray, np.ndarray]:
    """For densities that jump at the edges: an even grid in each bin, and beyond them."""
    found = [np.linspace(a, b, 201) for a, b in itertools.pairwise(edges)]
    points = [(part[1:] + part[:-1]) / 2 for part in found]
    widths = [np.diff(part) for part in found]
    beyond = np.exp(np.linspace(-20, 30, 4001))
    width = beyond * 50 / 4000
    return (
        np.concatenate([edges[0] - beyond, *points, edges[-1] + beyond]),
        np.concatenate([width, *widths, width]),
    )


def with_zero(nodes: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    x, weight = nodes
    return np.append(x[x != 0], 0.0), np.append(weight[x != 0], 1.0)


def plane(end: float, size: int) -> tuple[np.ndarray, np.ndarray]:
    line = np.linspace(-end, end, size)
    x, width = np.sinh(line), np.cosh(line) * (line[1] - line[0])
    rows = np.array([*itertools.product(x, x)])
    return rows, np.prod([*itertools.product(width, width)], axis=1)


def bins(x: np.ndarray, edges: tuple[float, ...], prob: np.ndarray) -> np.ndarray:
    """Uniform within a bin; beyond them a Lomax density of shape three, as wide as the bin beside it."""
    edge = np.array(edges)
    k = np.searchsorted(edge, x, side="right")
    k = np.where(x == edge[-1], len(edge) - 1, k)
    inside = np.log(prob[k]) - np.log(np.diff(edge, prepend=np.nan, append=np.nan)[k])
    low = np.log(prob[0]) + scipy.stats.lomax.logpdf(edge[0] - x, 3, scale=edge[1] - edge[0])
    high = np.log(prob[-1]) + scipy.stats.lomax.logpdf(x - edge[-1], 3, scale=edge[-1] - edge[-2])
    return np.where(x < edge[0], low, np.where(x > edge[-1], high, inside))


def hurdle(x: np.ndarray, nonzero_prob: Any, density: Any) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.where(x == 0, np.log1p(-nonzero_prob), np.log(nonzero_prob) + density(np.where(x == 0, 1.0, x)))


def words(x: np.ndarray, prob: np.ndarray) -> np.ndarray:
    return scipy.stats.multinomial.logpmf(x, x.sum(axis=1).astype(int), prob)


def _every_row_first(rng: np.random.Generator, first: np.ndarray, columns: int) -> np.ndarray:
    every = np.array([*itertools.product(range(3), repeat=columns)])[: len(first)]
    more = rng.binomial(2, np.where(first, 0.3, 0.6)[:, None], (len(first), columns))
    return np.concatenate([every, more])[: len(first)] * 1.0


def _first_given_second(x: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """The last parent is that of rows that lack the second cell; those that lack the first say nothing."""
    where = [(3 if np.isnan(b) else int(b), 0 if np.isnan(a) else int(a)) for a, b in x]
    return np.where(np.isnan(x[:, 0]), 0.0, np.log([prob[place] for place in where]))


def _some_zeros(draw: Any) -> Any:
    return lambda rng, shape: np.where(rng.uniform(size=shape) < 0.3, 0.0, draw(rng, shape))


EDGES = (-1.0, 0.5, 2.0, 3.5, 6.0)

_normal = _pair(lambda rng, s: rng.normal(2.0, 1.0, s), lambda rng, s: rng.normal(3.0, 2.0, s))
_binary = _pair(lambda rng, s: rng.uniform(size=s) < 0.4, lambda rng, s: rng.uniform(size=s) < 0.7)
_waits = _pair(lambda rng, s: rng.exponential(2.0, s), lambda rng, s: rng.exponential(0.7, s))
_several = _pair(lambda rng, s: rng.integers(0, 3, s), lambda rng, s: rng.integers(1, 4, s))
_events = _pair(lambda rng, s: rng.poisson(4.0, s), lambda rng, s: rng.poisson(2.5, s))
_bursts = _pair(lambda rng, s: rng.negative_binomial(0.8, 0.1, s), lambda rng, s: rng.negative_binomial(1.5, 0.3, s))
_angles = _pair(lambda rng, s: rng.vonmises(3.1, 2.0, s), lambda rng, s: rng.vonmises(1.5, 9.0, s))

STRAIGHT = {
    "gamma": {"mean": np.array([[2.0, 1.0], [1.0, 3.0]]), "concentration": np.array([[2.0, 5.0], [4.0, 0.7]])},
    "durations": {"shape": np.array([[2.0, 1.0], [1.0, 3.0]]), "speed": np.array([[2.0, 5.0], [4.0, 0.7]])},
    "beta": {"mean": np.array([[0.2, 0.5], [0.6, 0.9]]), "concentration": np.array([[2.0, 5.0], [4.0, 9.0]])},
    "von mises": {"loc": np.array([[0.2, 3.1], [0.6, -2.0]]), "concentration": np.array([[2.0, 5.0], [4.0, 0.7]])},
    "learned negative binomial": {
        "mean": np.array([[2.0, 5.0], [4.0, 0.7]]),
        "dispersion": np.array([[0.2, 0.5], [0.6, 2.0]]),
    },
    "dirichlet multinomial": {"concentration": np.array([[2.0, 5.0], [4.0, 0.7]])},
}
"""Parameters of families without a closed form."""

FAMILIES = [
    Case(
        "bernoulli",
        nb.Bernoulli(),
        _binary,
        lambda x, prob: scipy.stats.bernoulli.logpmf(x, prob),
        counts(2),
        bad=(2.0, "2 is not 0, 1, True or False, as Bernoulli needs"),
    ),
    Case(
        "categorical",
        nb.Categorical(),
        _several,
        lambda x, prob: np.log(prob[x.astype(int)]),
        counts(4),
        fixed=nb.Categorical(1.5),
    ),
    Case(
        "multinomial",
        nb.Multinomial(),
        _events,
        words,
        documents(6),
        bad=(-1.0, "-1 is not a count"),
    ),
    Case(
        "gaussian",
        nb.Gaussian(),
        _normal,
        lambda x, mean, variance: scipy.stats.norm.logpdf(x, mean, np.sqrt(variance)),
        REAL,
        fixed=nb.Gaussian(1.0, 0.5, 2.0, 1.5),
        bad=(np.inf, "inf is not a finite number"),
    ),
    Case(
        "log normal",
        nb.LogNormal(),
        _pair(lambda rng, s: rng.lognormal(1.0, 0.7, s), lambda rng, s: rng.lognormal(2.0, 0.5, s)),
        lambda x, mean, variance: scipy.stats.lognorm.logpdf(x, np.sqrt(variance), scale=np.exp(mean)),
        POSITIVE,
        fixed=nb.LogNormal(1.0, 0.5, 2.0, 1.5),
        bad=(0.0, "0 is not a positive number, as LogNormal needs; use nb.Gaussian"),
    ),
    Case(
        "exponential",
        nb.Exponential(),
        _waits,
        lambda x, rate: scipy.stats.expon.logpdf(x, scale=1 / rate),
        POSITIVE,
        fixed=nb.Exponential(1.5, 2.0),
        bad=(-0.5, "-0.5 is not a number from zero on, as Exponential needs; mark the cell as missing"),
    ),
    Case(
        "poisson",
        nb.Poisson(),
        _events,
        lambda x, rate: scipy.stats.poisson.logpmf(x, rate),
        counts(400),
        fixed=nb.Poisson(1.5, 0.5),
        bad=(1.5, "1.5 is not a count 0, 1, 2, ..., as Poisson needs"),
    ),
    Case(
        "geometric",
        nb.Geometric(),
        _pair(lambda rng, s: rng.geometric(0.3, s) - 1, lambda rng, s: rng.geometric(0.6, s) - 1),
        lambda x, prob: scipy.stats.geom.logpmf(x + 1, prob),
        counts(4000),
        bad=(1.5, "1.5 is not a number of failures 0, 1, 2, ..., as Geometric needs; use nb.Exponential"),
    ),
    Case(
        "binomial",
        nb.Binomial(7),
        _pair(lambda rng, s: rng.binomial(7, 0.3, s), lambda rng, s: rng.binomial(7, 0.6, s)),
        lambda x, prob: scipy.stats.binom.logpmf(x, 7, prob),
        counts(8),
        bad=(8.0, "8 is not a whole number from 0 to total_count=7, as Binomial needs; give the number of"),
    ),
    Case(
        "negative binomial",
        nb.NegativeBinomial(2.5),
        _pair(lambda rng, s: rng.negative_binomial(2.5, 0.3, s), lambda rng, s: rng.negative_binomial(2.5, 0.6, s)),
        lambda x, prob: scipy.stats.nbinom.logpmf(x, 2.5, prob),
        counts(4000),
        bad=(0.5, "0.5 is not a count 0, 1, 2, ..., as NegativeBinomial needs; use nb.Gaussian"),
    ),
    Case(
        "hurdle",
        nb.Hurdle(),
        _pair(_some_zeros(lambda rng, s: rng.normal(2.0, 1.0, s)), _some_zeros(lambda rng, s: rng.normal(4.0, 2.0, s))),
        lambda x, nonzero_prob, mean, variance: hurdle(
            x, nonzero_prob, lambda x: scipy.stats.norm.logpdf(x, mean, np.sqrt(variance))
        ),
        with_zero(REAL),
        fixed=nb.Hurdle(nb.Gaussian(1.0, 0.5, 2.0, 1.5), 2.0, 1.5),
        bad=(np.inf, "inf is not 0 or a finite number"),
    ),
    Case(
        "hurdle of exponential",
        nb.Hurdle(nb.Exponential()),
        _pair(_some_zeros(lambda rng, s: rng.exponential(2.0, s)), _some_zeros(lambda rng, s: rng.exponential(0.7, s))),
        lambda x, nonzero_prob, rate: hurdle(x, nonzero_prob, lambda x: scipy.stats.expon.logpdf(x, scale=1 / rate)),
        with_zero(POSITIVE),
        fixed=nb.Hurdle(nb.Exponential(1.5, 2.0), 2.0, 1.5),
        bad=(-1.0, "-1 is not 0 or a "),
    ),
    Case(
        "histogram",
        nb.Histogram(EDGES),
        _normal,
        lambda x, prob: bins(x, EDGES, prob),
        steps(*EDGES),
        bad=(np.inf, "inf is not a finite number"),
    ),
    Case(
        "polya tree",
        nb.PolyaTree(EDGES),
        _normal,
        lambda x, prob: bins(x, EDGES, prob),
        steps(*EDGES),
        bad=(np.inf, "inf is not a finite number"),
    ),
    Case(
        "multivariate gaussian",
        nb.MultivariateGaussian(),
        lambda rng, first, columns: _normal(rng, first, columns) @ (np.eye(columns) + np.eye(columns, k=1) / 2),
        lambda x, mean, covariance: scipy.stats.multivariate_normal.logpdf(x, mean, covariance),
        plane(12.0, 501),
        fixed=nb.MultivariateGaussian(0.0, 0.5, 4.0, np.array([[2.0, 0.3], [0.3, 1.0]])),
        bad=(np.inf, "inf is not a finite number"),
    ),
    Case(
        "joint categorical",
        nb.JointCategorical(),
        _every_row_first,
        lambda x, prob: np.log(prob[(3 * x[:, 0] + x[:, 1]).astype(int)]),
        pairs(3),
    ),
    Case(
        "given",
        nb.Given(categories=range(3)),
        lambda rng, first, columns: _several(rng, first, 2) % 3,
        _first_given_second,
        (pairs(3)[0], np.full(9, 1 / 3)),
        fixed=nb.Given(1.5, categories=range(3)),
    ),
    Case(
        "all trees",
        nb.AllTrees(),
        _every_row_first,
        lambda x, parent, prob: np.zeros(len(x)),
        (np.array([*itertools.product([0.0, 1.0, 2.0, np.nan], repeat=2)]), np.ones(16)),
        fixed=nb.AllTrees(2.5),
    ),
    Case(
        "dirichlet multinomial",
        nb.DirichletMultinomial(),
        _bursts,
        lambda x, concentration: np.array(
            [scipy.stats.dirichlet_multinomial.logpmf(row.astype(int), concentration, int(row.sum())) for row in x]
        ),
        documents(6),
    ),
    Case(
        "durations",
        Durations(),
        _waits,
        lambda x, shape, speed: scipy.stats.gamma.logpdf(x, shape, scale=1 / speed),
        POSITIVE,
    ),
    Case(
        "gamma",
        nb.Gamma(),
        _waits,
        lambda x, mean, concentration: scipy.stats.gamma.logpdf(x, concentration, scale=mean / concentration),
        POSITIVE,
        fixed=nb.Gamma(4.0, 1.0, 1.5, 0.1),
        bad=(0.0, "0 is not a positive number, as Gamma needs; use nb.Gaussian()"),
    ),
    Case(
        "beta",
        nb.Beta(),
        _pair(lambda rng, s: rng.beta(3.0, 4.0, s), lambda rng, s: rng.beta(6.0, 9.0, s)),
        lambda x, mean, concentration: scipy.stats.beta.logpdf(x, mean * concentration, (1 - mean) * concentration),
        UNIT,
        fixed=nb.Beta(1.5, 2.0, 1.5, 0.05),
        bad=(1.0, "1 is not a number between 0 and 1, as Beta needs; divide percentages by 100"),
    ),
    Case(
        "von mises",
        nb.VonMises(),
        _angles,
        lambda x, loc, concentration: scipy.stats.vonmises.logpdf(x, concentration, loc),
        CIRCLE,
        fixed=nb.VonMises(1.5, 0.1),
        bad=(4.0, "4 is not an angle in radians from -pi to pi, as VonMises needs; "),
    ),
    Case(
        "learned negative binomial",
        nb.NegativeBinomial(),
        _bursts,
        lambda x, mean, dispersion: scipy.stats.nbinom.logpmf(x, 1 / dispersion, 1 / (1 + dispersion * mean)),
        counts(4000),
        fixed=nb.NegativeBinomial(loc=4.0, scale=1.0, rate=2.0),
        bad=(2.0**54, "1.80144e+16 is above 2**53"),
    ),
]


def twin(of: str, name: str, family: Any) -> Case:
    """A family from outside with the cells and the density of one of the package."""
    (case,) = (case for case in FAMILIES if case.name == of)
    return replace(case, name=name, default=family, fixed=None, bad=None)


FAMILIES += [
    twin("bernoulli", "outside bernoulli", Coins(1.5, 0.5)),
    twin("categorical", "outside categorical", Symbols(0.7)),
    twin("multinomial", "outside multinomial", Tokens(0.7)),
    twin("exponential", "user's exponential", Exponential(1.5, 2.0)),
    twin("exponential", "numpyro exponential", NumPyroExponential(1.5, 2.0)),
]

CASES = [
    case
    for case in FAMILIES
    if case.can.closed
    and case.can.simulated
    and case.can.sampled
    and not case.name.startswith("outside")
    and case.name != "hurdle of exponential"
]
"""Families with a closed form whose classes are independent, for what laws of each family need not say of all."""

POINTS = [case for case in FAMILIES if case.name != "all trees"]
"""Families whose parameters have a mean; a mean of trees is no tree."""

OWN = [case for case in CASES if type(case.default).__module__.startswith("bayesnb.")]
"""Families of the package."""

(GIVEN,) = (case for case in FAMILIES if case.name == "given")
"""The family that describes one column given another, and so draws no rows."""

OUTSIDE = [case for case in FAMILIES if case.name.startswith("outside")]
"""Families as they are written outside the package, each beside its twin within."""


def membership(rng: np.random.Generator, rows: int, weighted: bool = False) -> np.ndarray:
    """Weights of rows in classes: each row in one class, weight one or random."""
    labels = rng.integers(0, CLASSES, rows)
    weight = rng.uniform(0.0, 2.0, rows) if weighted else np.ones(rows)
    return np.eye(CLASSES)[labels] * weight[:, None]


def with_holes(rng: np.random.Generator, x: np.ndarray, share: float = 0.2) -> np.ndarray:
    return np.where(rng.uniform(size=x.shape) < share, np.nan, x)
