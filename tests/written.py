"""Every family as a user writes it, with a table, an independent density and points to integrate over: for the laws."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from cases import Coins, Durations, Exponential, NumPyroExponential, Symbols, Tokens
from scipy.special import expit

import bayesnb as nb

__all__ = ["WRITTEN", "Written", "known"]

COLUMNS = ["u", "v"]


@dataclass(frozen=True)
class Written:
    """A family, cells of it, and SciPy's density.

    Attributes
    ----------
    default : Family
        With the default hyperparameters, which may follow the data.
    fixed : Family, optional
        With numbers for all hyperparameters, where the family has a closed form; `default` if it always has numbers.
    cells : callable
        Two columns of cells, from a generator and which rows are of the first class.
    log_density : callable
        From cells of one column, or rows of both columns of a joint family, and the parameters of one class by name.
    nodes : tuple of arrays
        Rows (of two columns, or cells of one) that cover the support, and the weight of each in an integral.
    bad : tuple of (cell, words)
        A cell outside the support, and the words of the error.
    joint : bool
        Whether the family describes both columns together.
    missing : bool
        Whether single cells may be missing.
    scales : bool
        Whether the default prior follows the unit of a column.
    closed : bool
        Whether the family has a closed form.
    likeliest : bool
        Whether the family states the maximum of the likelihood, and takes parameters near it.
    sampled : bool
        Whether NUTS fits the family.
    learns : bool
        Whether hyperparameters can be learned, and have a most likely value here.
    """

    name: str
    default: Any
    cells: Callable[[np.random.Generator, np.ndarray], np.ndarray]
    log_density: Callable[..., np.ndarray]
    nodes: tuple[np.ndarray, np.ndarray]
    fixed: Any = None
    bad: tuple[Any, str] | None = None
    joint: bool = False
    missing: bool = True
    scales: bool = False
    closed: bool = True
    likeliest: bool = True
    sampled: bool = True
    learns: bool = True

    @property
    def priors(self) -> list[Any]:
        return [self.default] if self.fixed is None else [self.default, self.fixed]

    def table(self, rows: int = 24, holes: bool = False, seed: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
        rng = np.random.default_rng(seed)
        first = rng.integers(0, 2, rows) == 0
        first[:4] = [True, False, False, True]
        X = pd.DataFrame(self.cells(rng, first), columns=COLUMNS)
        if holes and self.missing:
            X = X.mask(rng.uniform(size=X.shape) < 0.2)
        return X, np.where(first, "a", "b")

    def model(self, family: Any, **options: Any) -> nb.NaiveBayes:
        return nb.NaiveBayes({"x": (family, COLUMNS)} if self.joint else family, **options)


def known(case: Written) -> Any:
    """A posterior of given parameters: the mean of a fit."""
    X, y = case.table()
    if case.closed:
        return nb.fit(case.model(case.default), X, y).plugin()
    parameters = {"x_" + name: value for name, value in STRAIGHT[case.name].items()}
    return nb.from_parameters(
        case.model(case.default), classes=["a", "b"], class_probs=[0.3, 0.7], parameters=parameters, columns=COLUMNS
    )


def _pair(one: Any, other: Any) -> Callable[[np.random.Generator, np.ndarray], np.ndarray]:
    """Cells by class, from what a generator draws."""
    return lambda rng, first: np.where(first[:, None], one(rng, (len(first), 2)), other(rng, (len(first), 2))) * 1.0


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
    """Uniform within a bin; beyond them the density of a ratio, as wide as the bin beside it."""
    edge = np.array(edges)
    k = np.searchsorted(edge, x, side="right")
    k = np.where(x == edge[-1], len(edge) - 1, k)
    inside = np.log(prob[k]) - np.log(np.diff(edge, prepend=np.nan, append=np.nan)[k])
    low = np.log(prob[0]) + scipy.stats.lomax.logpdf(edge[0] - x, 1, scale=edge[1] - edge[0])
    high = np.log(prob[-1]) + scipy.stats.lomax.logpdf(x - edge[-1], 1, scale=edge[-1] - edge[-2])
    return np.where(x < edge[0], low, np.where(x > edge[-1], high, inside))


def hurdle(x: np.ndarray, nonzero_prob: Any, density: Any) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.where(x == 0, np.log1p(-nonzero_prob), np.log(nonzero_prob) + density(np.where(x == 0, 1.0, x)))


def words(x: np.ndarray, prob: np.ndarray) -> np.ndarray:
    return scipy.stats.multinomial.logpmf(x, x.sum(axis=1).astype(int), prob)


def _every_pair_first(rng: np.random.Generator, first: np.ndarray) -> np.ndarray:
    every = np.array([*itertools.product(range(3), repeat=2)])[: len(first)]
    more = rng.binomial(2, np.where(first, 0.3, 0.6)[:, None], (len(first), 2))
    return np.concatenate([every, more])[: len(first)] * 1.0


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

WRITTEN = [
    Written(
        "bernoulli",
        nb.Bernoulli(),
        _binary,
        lambda x, prob: scipy.stats.bernoulli.logpmf(x, prob),
        counts(2),
        bad=(2.0, "2 is not 0, 1, True or False, as Bernoulli needs"),
    ),
    Written(
        "outside bernoulli", Coins(1.5, 0.5), _binary, lambda x, prob: scipy.stats.bernoulli.logpmf(x, prob), counts(2)
    ),
    Written(
        "categorical",
        nb.Categorical(),
        _several,
        lambda x, prob: np.log(prob[x.astype(int)]),
        counts(4),
        fixed=nb.Categorical(1.5),
    ),
    Written("outside categorical", Symbols(0.7), _several, lambda x, prob: np.log(prob[x.astype(int)]), counts(4)),
    Written(
        "multinomial",
        nb.Multinomial(),
        _events,
        words,
        documents(6),
        joint=True,
        missing=False,
        bad=(-1.0, "-1 is not a count"),
    ),
    Written("outside multinomial", Tokens(0.7), _events, words, documents(6), joint=True, missing=False),
    Written(
        "gaussian",
        nb.Gaussian(),
        _normal,
        lambda x, mean, variance: scipy.stats.norm.logpdf(x, mean, np.sqrt(variance)),
        REAL,
        fixed=nb.Gaussian(1.0, 0.5, 2.0, 1.5),
        bad=(np.inf, "inf is not a finite number"),
        scales=True,
    ),
    Written(
        "log normal",
        nb.LogNormal(),
        _pair(lambda rng, s: rng.lognormal(1.0, 0.7, s), lambda rng, s: rng.lognormal(2.0, 0.5, s)),
        lambda x, mean, variance: scipy.stats.lognorm.logpdf(x, np.sqrt(variance), scale=np.exp(mean)),
        POSITIVE,
        fixed=nb.LogNormal(1.0, 0.5, 2.0, 1.5),
        bad=(0.0, "0 is not a positive number, as LogNormal needs; use nb.Gaussian"),
        scales=True,
    ),
    Written(
        "exponential",
        nb.Exponential(),
        _waits,
        lambda x, rate: scipy.stats.expon.logpdf(x, scale=1 / rate),
        POSITIVE,
        fixed=nb.Exponential(1.5, 2.0),
        bad=(-0.5, "-0.5 is not a number from zero on, as Exponential needs; mark the cell as missing"),
        scales=True,
    ),
    Written(
        "user's exponential",
        Exponential(1.5, 2.0),
        _waits,
        lambda x, rate: scipy.stats.expon.logpdf(x, scale=1 / rate),
        POSITIVE,
        bad=(-0.5, "-0.5 is not a positive number"),
        likeliest=False,
    ),
    Written(
        "numpyro exponential",
        NumPyroExponential(1.5, 2.0),
        _waits,
        lambda x, rate: scipy.stats.expon.logpdf(x, scale=1 / rate),
        POSITIVE,
        likeliest=False,
        learns=False,
    ),
    Written(
        "poisson",
        nb.Poisson(),
        _events,
        lambda x, rate: scipy.stats.poisson.logpmf(x, rate),
        counts(400),
        fixed=nb.Poisson(1.5, 0.5),
        bad=(1.5, "1.5 is not a count 0, 1, 2, ..., as Poisson needs"),
    ),
    Written(
        "geometric",
        nb.Geometric(),
        _pair(lambda rng, s: rng.geometric(0.3, s) - 1, lambda rng, s: rng.geometric(0.6, s) - 1),
        lambda x, prob: scipy.stats.geom.logpmf(x + 1, prob),
        counts(4000),
        bad=(1.5, "1.5 is not a number of failures 0, 1, 2, ..., as Geometric needs; use nb.Exponential"),
    ),
    Written(
        "binomial",
        nb.Binomial(7),
        _pair(lambda rng, s: rng.binomial(7, 0.3, s), lambda rng, s: rng.binomial(7, 0.6, s)),
        lambda x, prob: scipy.stats.binom.logpmf(x, 7, prob),
        counts(8),
        bad=(8.0, "8 is not a whole number from 0 to total_count=7, as Binomial needs; give the number of"),
    ),
    Written(
        "negative binomial",
        nb.NegativeBinomial(2.5),
        _pair(lambda rng, s: rng.negative_binomial(2.5, 0.3, s), lambda rng, s: rng.negative_binomial(2.5, 0.6, s)),
        lambda x, prob: scipy.stats.nbinom.logpmf(x, 2.5, prob),
        counts(4000),
        bad=(0.5, "0.5 is not a count 0, 1, 2, ..., as NegativeBinomial needs; use nb.Gaussian"),
    ),
    Written(
        "hurdle",
        nb.Hurdle(),
        _pair(_some_zeros(lambda rng, s: rng.normal(2.0, 1.0, s)), _some_zeros(lambda rng, s: rng.normal(4.0, 2.0, s))),
        lambda x, nonzero_prob, mean, variance: hurdle(
            x, nonzero_prob, lambda x: scipy.stats.norm.logpdf(x, mean, np.sqrt(variance))
        ),
        with_zero(REAL),
        fixed=nb.Hurdle(nb.Gaussian(1.0, 0.5, 2.0, 1.5), 2.0, 1.5),
        bad=(np.inf, "inf is not 0 or a finite number"),
        scales=True,
    ),
    Written(
        "hurdle of exponential",
        nb.Hurdle(nb.Exponential()),
        _pair(_some_zeros(lambda rng, s: rng.exponential(2.0, s)), _some_zeros(lambda rng, s: rng.exponential(0.7, s))),
        lambda x, nonzero_prob, rate: hurdle(x, nonzero_prob, lambda x: scipy.stats.expon.logpdf(x, scale=1 / rate)),
        with_zero(POSITIVE),
        fixed=nb.Hurdle(nb.Exponential(1.5, 2.0), 2.0, 1.5),
        bad=(-1.0, "-1 is not 0 or a "),
        scales=True,
    ),
    Written(
        "histogram",
        nb.Histogram(EDGES),
        _normal,
        lambda x, prob: bins(x, EDGES, prob),
        steps(*EDGES),
        bad=(np.inf, "inf is not a finite number"),
    ),
    Written(
        "polya tree",
        nb.PolyaTree(EDGES),
        _normal,
        lambda x, prob: bins(x, EDGES, prob),
        steps(*EDGES),
        bad=(np.inf, "inf is not a finite number"),
        likeliest=False,
        sampled=False,
        learns=False,
    ),
    Written(
        "multivariate gaussian",
        nb.MultivariateGaussian(),
        lambda rng, first: _normal(rng, first) @ [[1.0, 0.5], [0.0, 1.0]],
        lambda x, mean, covariance: scipy.stats.multivariate_normal.logpdf(x, mean, covariance),
        plane(12.0, 501),
        fixed=nb.MultivariateGaussian(0.0, 0.5, 4.0, np.array([[2.0, 0.3], [0.3, 1.0]])),
        bad=(np.inf, "inf is not a finite number"),
        joint=True,
        missing=False,
        scales=True,
    ),
    Written(
        "joint categorical",
        nb.JointCategorical(),
        _every_pair_first,
        lambda x, prob: np.log(prob[(3 * x[:, 0] + x[:, 1]).astype(int)]),
        pairs(3),
        joint=True,
        missing=False,
        likeliest=False,
        learns=False,
    ),
    Written(
        "dirichlet multinomial",
        nb.DirichletMultinomial(),
        _bursts,
        lambda x, concentration: np.array(
            [scipy.stats.dirichlet_multinomial.logpmf(row.astype(int), concentration, int(row.sum())) for row in x]
        ),
        documents(6),
        joint=True,
        missing=False,
        closed=False,
    ),
    Written(
        "durations",
        Durations(),
        _waits,
        lambda x, shape, speed: scipy.stats.gamma.logpdf(x, shape, scale=1 / speed),
        POSITIVE,
        closed=False,
        likeliest=False,
    ),
    Written(
        "gamma",
        nb.Gamma(),
        _waits,
        lambda x, mean, concentration: scipy.stats.gamma.logpdf(x, concentration, scale=mean / concentration),
        POSITIVE,
        bad=(0.0, "0 is not a positive number, as Gamma needs; use nb.Gaussian()"),
        closed=False,
    ),
    Written(
        "beta",
        nb.Beta(),
        _pair(lambda rng, s: rng.beta(3.0, 4.0, s), lambda rng, s: rng.beta(6.0, 9.0, s)),
        lambda x, mean, concentration: scipy.stats.beta.logpdf(x, mean * concentration, (1 - mean) * concentration),
        UNIT,
        bad=(1.0, "1 is not a number between 0 and 1, as Beta needs; divide percentages by 100"),
        closed=False,
    ),
    Written(
        "von mises",
        nb.VonMises(),
        _angles,
        lambda x, loc, concentration: scipy.stats.vonmises.logpdf(x, concentration, loc),
        CIRCLE,
        bad=(4.0, "4 is not an angle in radians from -pi to pi, as VonMises needs; "),
        closed=False,
    ),
    Written(
        "learned negative binomial",
        nb.NegativeBinomial(),
        _bursts,
        lambda x, mean, dispersion: scipy.stats.nbinom.logpmf(x, 1 / dispersion, 1 / (1 + dispersion * mean)),
        counts(4000),
        bad=(2.0**54, "1.80144e+16 is above 2**53"),
        closed=False,
    ),
]
