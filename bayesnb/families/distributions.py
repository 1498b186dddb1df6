"""Distributions that NumPyro lacks or builds slowly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.special
from scipy import stats

from bayesnb.core.deferred import constraints, dist, jax, jnp, namespace
from bayesnb.core.logarithms import log_beta, log_negative_binomial, nearest_turn
from bayesnb.families.kernels import look_up_cells
from bayesnb.families.spanning_trees import draw_trees

# --------------------------------------------------------------------------------------------------
# Independent gamma variables as one vector, with the sum and the proportions as a sampler's coordinates
# --------------------------------------------------------------------------------------------------


class _PositiveVector(constraints.ParameterFreeConstraint):
    """Vectors of positive numbers."""

    event_dim = 1

    def __call__(self, x: Any) -> Any:
        return (x > 0).all(axis=-1)

    def feasible_like(self, prototype: Any) -> Any:
        return jnp.ones_like(prototype)


positive_vector = _PositiveVector()


class _SumAndProportions(dist.transforms.ParameterFreeTransform):
    """The logarithm of a sum and its proportions by stick-breaking, as a vector of positive numbers."""

    domain = constraints.real_vector
    codomain = positive_vector

    def __call__(self, x: Any) -> Any:
        return jnp.exp(x[..., :1]) * dist.transforms.StickBreakingTransform()(x[..., 1:])

    def _inverse(self, y: Any) -> Any:
        total = y.sum(axis=-1, keepdims=True)
        return jnp.concatenate([jnp.log(total), dist.transforms.StickBreakingTransform().inv(y / total)], axis=-1)

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """That of the proportions, times the sum for each of them."""
        sticks = dist.transforms.StickBreakingTransform()
        return y.shape[-1] * x[..., 0] + sticks.log_abs_det_jacobian(x[..., 1:], sticks(x[..., 1:]))


@dist.transforms.biject_to.register(_PositiveVector)
def _(constraint: Any) -> Any:
    return _SumAndProportions()


class GammaVector(dist.Distribution):
    """Independent gamma variables as one vector.

    The density is that of ``Gamma(concentration, rate).to_event(1)``. Where data fix the proportions of the vector far
    better than its sum, all its logarithms move together, which takes a sampler many steps; on this scale the sum is
    one coordinate.

    Parameters
    ----------
    concentration, rate : array, shape (..., size)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        "concentration": constraints.independent(constraints.positive, 1),
        "rate": constraints.independent(constraints.positive, 1),
    }
    support = positive_vector

    def __init__(self, concentration: Any, rate: Any, *, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = dist.util.promote_shapes(concentration, rate)
        shape = jnp.broadcast_shapes(jnp.shape(concentration), jnp.shape(rate))
        super().__init__(batch_shape=shape[:-1], event_shape=shape[-1:], validate_args=validate_args)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        shape = (*self.batch_shape, *self.event_shape)
        return dist.Gamma(self.concentration, self.rate).expand(shape).sample(key, sample_shape)

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> Any:
        return dist.Gamma(self.concentration, self.rate).log_prob(value).sum(axis=-1)


# --------------------------------------------------------------------------------------------------
# A direction on the circle, every one as probable as another, with a sampler's coordinate that goes on through pi
# --------------------------------------------------------------------------------------------------

EDGE = 5 * np.pi
"""The coordinate covers five turns, this far on both sides of zero. Of 40 fits of columns of little or much direction,
one has a bulk ESS below 400 with three turns, two with two turns, and none with five."""

SOFTNESS = 0.5
"""Width of the ends of the coordinate's density, which is smooth everywhere, and even to 4e-6 over three turns."""


class _Circle(type(constraints.real)):  # type: ignore[misc]
    """Angles, which are equal if they differ by whole turns; `Winding` is the map from a sampler's coordinate."""


class Winding(dist.transforms.ParameterFreeTransform):
    r"""The real line wound round the circle: an angle that is moved by whole turns to between -pi and pi.

    The coordinate z of an angle that is uniform on the circle has the density f / (10 pi), with logistic functions

    .. math:: f(z) = \sigma((z + 5 \pi) / s) - \sigma((z - 5 \pi) / s).

    Its sum over all turns, :math:`\sum_k f(z + 2 \pi k)`, is five for every z, so that draws of the angle follow the
    right distribution. Chains start within half a turn of zero, where f is even: a chain that never visits another turn
    is right too. A density on the circle has no boundary at pi. The five turns have ends, because on the whole line a
    trajectory would never turn back if the data did not determine the angle.
    """

    domain = constraints.real
    codomain = _Circle()

    def __call__(self, x: Any) -> Any:
        return nearest_turn(x, 0.0)

    def _inverse(self, y: Any) -> Any:
        return nearest_turn(y, 0.0)

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """Log density of the number of turns given the angle, in the place of a derivative, which is one."""
        ends = jax.nn.log_sigmoid((x + EDGE) / SOFTNESS) + jax.nn.log_sigmoid((EDGE - x) / SOFTNESS)
        return ends - np.log(5)


@dist.transforms.biject_to.register(_Circle)
def _(constraint: Any) -> Any:
    return Winding()


class Direction(dist.Distribution):
    """An angle with a uniform distribution on the circle.

    Parameters
    ----------
    batch_shape : tuple of int
    """

    arg_constraints: ClassVar[dict[str, Any]] = {}
    support = _Circle()

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        return jax.random.uniform(key, (*sample_shape, *self.batch_shape), minval=-np.pi, maxval=np.pi)

    def log_prob(self, value: Any) -> Any:
        return jnp.full(jnp.shape(value), -np.log(2 * np.pi))


# --------------------------------------------------------------------------------------------------
# Numbers that are zero, or follow another distribution: the distribution and its support
# --------------------------------------------------------------------------------------------------


@dataclass(unsafe_hash=True)
class OrZero(constraints.Constraint):
    """Zero, and the numbers of another constraint."""

    other: Any

    @property
    def is_discrete(self) -> bool:
        """Whether all numbers are whole."""
        return self.other.is_discrete

    @property
    def atoms(self) -> tuple[float, ...]:
        """Zero, the only atom, if the other numbers have a density."""
        return () if self.is_discrete else (0.0,)

    def __call__(self, x: Any) -> Any:
        return (x == 0) | self.other(x)

    def feasible_like(self, prototype: Any) -> Any:
        return jnp.zeros_like(prototype)

    def tree_flatten(self) -> tuple[tuple[()], tuple[tuple[str, ...], dict[str, Any]]]:
        return (), ((), {"other": self.other})


class ZeroOr(dist.Distribution):
    """A number that is zero with probability 1 - `nonzero_prob`, and else a draw of `other`.

    Parameters
    ----------
    nonzero_prob : array
    other : numpyro.distributions.Distribution
        A distribution of numbers that are zero with probability zero.
    """

    pytree_data_fields = ("nonzero_prob", "other")

    def __init__(self, nonzero_prob: Any, other: dist.Distribution, *, validate_args: bool | None = None) -> None:
        self.nonzero_prob, self.other = nonzero_prob, other
        shape = np.broadcast_shapes(np.shape(nonzero_prob), other.batch_shape)
        super().__init__(batch_shape=shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        """Zero, and the numbers that the other distribution holds."""
        return OrZero(self.other.support)

    def log_prob(self, value: Any) -> Any:
        """Log density; at zero the log probability of a zero."""
        is_zero = value == 0
        value = jnp.where(is_zero, self.other.support.feasible_like(jnp.ones(())), value)
        density = jnp.log(self.nonzero_prob) + self.other.log_prob(value)
        return jnp.where(is_zero, jnp.log1p(-self.nonzero_prob), density)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent numbers, shape sample_shape + batch_shape."""
        own, key = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        is_nonzero = jax.random.uniform(own, shape) < self.nonzero_prob
        values = self.other.expand(self.batch_shape).sample(key, sample_shape)
        return jnp.where(is_nonzero, values, 0)


# --------------------------------------------------------------------------------------------------
# A beta distribution whose density costs a sampler a third of NumPyro's
# --------------------------------------------------------------------------------------------------


class _Probability(type(constraints.unit_interval)):  # type: ignore[misc]
    """Numbers between zero and one, with `Logistic` as the map from a sampler's coordinate."""


class Logistic(dist.transforms.SigmoidTransform):
    """The logistic function p; its derivative p (1 - p) has the two logarithms that a beta density has."""

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        # If |x| is large, 1 - p has lost half of its digits, and log p(1 - p) equals -|x| to that precision.
        far = -0.5 * np.log(jnp.finfo(y.dtype).eps)
        return jnp.where(jnp.abs(x) > far, -jnp.abs(x), jnp.log(y) + jnp.log1p(-y))


@dist.transforms.biject_to.register(_Probability)
def _(constraint: Any) -> Any:
    return Logistic()


class BetaOfLogs(dist.Beta):
    """NumPyro's beta distribution, written in log(p) and log(1 - p).

    A Bernoulli likelihood has the same two logarithms, so that a compiled density computes them once. NumPyro's own
    density is that of a Dirichlet distribution of two categories.
    """

    support = _Probability()

    def __init__(self, concentration1: Any, concentration0: Any, *, validate_args: bool | None = None) -> None:
        # NumPyro's constructor makes JAX arrays of NumPy's, and so compiles several operations for every shape.
        xp, _ = namespace(concentration1, concentration0)
        self.concentration1, self.concentration0 = xp.broadcast_arrays(concentration1, concentration0)
        dist.Distribution.__init__(self, batch_shape=self.concentration1.shape, validate_args=validate_args)
        both = xp.stack([self.concentration1, self.concentration0], axis=-1)
        self._dirichlet = dist.Dirichlet(both, validate_args=False)

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> Any:
        a, b = (jnp.asarray(leaf, jnp.result_type(float)) for leaf in (self.concentration1, self.concentration0))
        return jax.scipy.special.xlogy(a - 1, value) + jax.scipy.special.xlog1py(b - 1, -value) - log_beta(a, b)


# --------------------------------------------------------------------------------------------------
# NumPyro's Student-t distribution, made of NumPy arrays
# --------------------------------------------------------------------------------------------------


class TDistribution(dist.StudentT):
    """NumPyro's Student-t distribution. Its own constructor makes JAX arrays, and so compiles for every shape."""

    def __init__(self, df: Any, loc: Any, scale: Any, *, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = namespace(df, loc, scale)[0].broadcast_arrays(df, loc, scale)
        dist.Distribution.__init__(self, batch_shape=self.df.shape, validate_args=validate_args)
        self._chi2 = dist.Chi2(self.df, validate_args=False)


# --------------------------------------------------------------------------------------------------
# Poisson counts whose rate has a gamma distribution
# --------------------------------------------------------------------------------------------------


class GammaPoisson(dist.GammaPoisson):
    """NumPyro's distribution, whose own density loses half of its digits to a difference of log-gamma functions."""

    @dist.util.validate_sample
    def log_prob(self, value: Any) -> Any:
        return log_negative_binomial(jnp.asarray(value, jnp.result_type(float)), self.concentration, self.rate)


# --------------------------------------------------------------------------------------------------
# Elements of a covariance matrix with an inverse Wishart distribution
# --------------------------------------------------------------------------------------------------

LEVELS = (np.arange(4096) + 0.5) / 4096
"""Probabilities at which the quantiles of a variable are taken."""

PAIRED = (np.arange(1, 4097) * (np.sqrt(5) - 1) / 2) % 1
"""Probabilities of a second variable, which with `LEVELS` fill the unit square evenly: Kronecker's sequence."""


class CovarianceElement(dist.Distribution):
    r"""The distribution of every element of a covariance matrix with an inverse Wishart distribution.

    With :math:`\nu' = \nu - p + 1` for p columns, a variance is :math:`\mathrm{InverseGamma}(\nu' / 2, \Psi_{jj} / 2)`.
    A covariance is the product of such a variance :math:`\Sigma_{jj}` and the independent coefficient of a regression
    on column j, Student-t with :math:`\nu' + 1` degrees of freedom, location :math:`\Psi_{jk} / \Psi_{jj}` and squared
    scale :math:`(\Psi_{kk} - \Psi_{jk}^2 / \Psi_{jj}) / (\Psi_{jj} (\nu' + 1))`: Press (1982), *Applied Multivariate
    Analysis*, section 5.2; Gelman et al. (2013), *Bayesian Data Analysis*, appendix A. The distribution of a covariance
    is that of 4,096 such products, whose probabilities are within 0.004 of the exact ones.

    Parameters
    ----------
    df : array, shape (..., 1)
    scale : array, shape (..., columns, columns)
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"df": constraints.positive, "scale": constraints.real}
    support = constraints.real

    def __init__(self, df: Any, scale: Any) -> None:
        self.df, self.scale = np.asarray(df), np.asarray(scale)
        self.reduced = self.df[..., None] - self.scale.shape[-1] + 1
        self.squares = np.diagonal(self.scale, axis1=-2, axis2=-1)[..., None]
        super().__init__(batch_shape=self.scale.shape)

    @property
    def mean(self) -> Any:
        rest = self.reduced - 2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rest > 0, self.scale / rest, np.inf)

    @property
    def variance(self) -> Any:
        rest = self.reduced - 1
        product = self.squares * np.swapaxes(self.squares, -1, -2)
        with np.errstate(divide="ignore", invalid="ignore"):
            known = ((rest + 1) * self.scale**2 + (rest - 1) * product) / (rest * (rest - 1) ** 2 * (rest - 3))
        return np.where(rest > 3, known, np.inf)

    def cdf(self, value: Any) -> Any:
        of_variance = stats.invgamma.cdf(value, self.reduced / 2, scale=self.squares / 2)
        return self._choose(of_variance, self._by_element(value, lambda at, points: np.interp(at, points, LEVELS)))

    def icdf(self, q: Any) -> Any:
        of_variance = stats.invgamma.ppf(q, self.reduced / 2, scale=self.squares / 2)
        return self._choose(of_variance, self._by_element(q, lambda at, points: np.interp(at, LEVELS, points)))

    def log_prob(self, value: Any, intermediates: Any = None) -> Any:
        of_variance = stats.invgamma.logpdf(value, self.reduced / 2, scale=self.squares / 2)
        variances, *coefficient = self._parts
        density = [stats.t.pdf(value / each, self.reduced + 1, *coefficient) / each for each in variances[16::32]]
        return self._choose(of_variance, np.log(np.mean(density, axis=0)))

    def _choose(self, of_variances: Any, of_covariances: Any) -> Any:
        return np.where(np.eye(self.scale.shape[-1], dtype=bool), of_variances, of_covariances)

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Variances at `LEVELS`, and location and scale of the coefficients."""
        variances = self.squares / 2 / scipy.special.gammainccinv(self.reduced / 2, self._of_numbers(LEVELS))
        slope, others = self.scale / self.squares, np.swapaxes(self.squares, -1, -2)
        left = np.maximum(others - self.scale * slope, np.finfo(np.float64).eps * others)
        return variances, slope, np.sqrt(left / (self.squares * (self.reduced + 1)))

    def _by_element(self, at: Any, function: Callable[[Any, Any], Any]) -> np.ndarray:
        """A function of numbers and of the quantiles of their element at `LEVELS`."""
        shape, (variances, slope, spread) = self.batch_shape, self._parts
        standard = scipy.special.stdtrit(self.reduced + 1, self._of_numbers(PAIRED))
        variances, standard = (np.broadcast_to(part, (len(LEVELS), *shape)) for part in (variances, standard))
        at = np.broadcast_to(at, np.broadcast_shapes(np.shape(at), shape))
        found = np.empty(at.shape)
        for element in np.ndindex(*shape):
            of_element = (..., *element)
            coefficients = slope[element] + spread[element] * standard[of_element]
            # An axis of length one serves all numbers on that axis.
            served = (..., *(slice(None) if size == 1 else place for place, size in zip(element, shape, strict=True)))
            found[served] = function(at[served], np.sort(variances[of_element] * coefficients))
        return found

    def _of_numbers(self, numbers: np.ndarray) -> np.ndarray:
        return numbers.reshape(-1, *[1] * self.scale.ndim)


# --------------------------------------------------------------------------------------------------
# NumPyro's distributions, changed where a density or a draw is on the edge of their support, and some without draws
# --------------------------------------------------------------------------------------------------


class ExponentialFromZero(dist.Exponential):
    """NumPyro's distribution, whose support leaves out zero, at which it has a density."""

    support = constraints.nonnegative


class WordCounts(dist.DirichletMultinomial):
    """NumPyro's distribution of words, of which some may have the concentration zero, as an estimate may give.

    NumPyro's own constructor makes JAX arrays of NumPy's, and so compiles a few programs for every shape.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {
        **dist.DirichletMultinomial.arg_constraints,
        "concentration": constraints.independent(constraints.nonnegative, 1),
    }

    def __init__(self, concentration: Any, total_count: Any = 1, *, validate_args: bool | None = None) -> None:
        xp, _ = namespace(concentration)
        size = np.shape(concentration)[-1]
        shape = np.broadcast_shapes(np.shape(concentration)[:-1], np.shape(total_count))
        self.concentration, self.total_count, self.total_count_max = concentration, total_count, None
        self._dirichlet = dist.Dirichlet(xp.broadcast_to(concentration, (*shape, size)), validate_args=False)
        dist.Distribution.__init__(self, shape, (size,), validate_args=validate_args)


class RowsOfDensity(dist.Distribution):
    """Rows of which only a density is known.

    Parameters
    ----------
    batch_shape : tuple of int
    num_columns : int
    log_density : callable
        Of rows, shape (..., columns).
    why_no_draw : str
        For the error of `sample`.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, batch_shape: tuple[int, ...], num_columns: int, log_density: Any, why_no_draw: str) -> None:
        self.log_density, self.why_no_draw = log_density, why_no_draw
        super().__init__(batch_shape, (num_columns,), validate_args=False)

    def log_prob(self, value: Any) -> Any:
        """Log density of rows."""
        return self.log_density(value)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Raise NotImplementedError: rows cannot be drawn."""
        raise NotImplementedError(self.why_no_draw)


class CoupledTree(dist.Distribution):
    """The probabilities of the cells in every class, as the tree has them; `draw_cells` draws them.

    Parameters
    ----------
    family : PolyaTree
        Its ``counts`` and ``pooled``, shape (..., classes, columns, cells), are those of each class and of all
        together, and ``split`` has the probabilities of its nodes. If the classes are ``together``, they share the
        common nodes of a draw. Else each entry of their axis is drawn on its own.
    nodes : tuple of (int, int, int)
    mean_of : callable
        Gives the mean of the probabilities.
    """

    support = constraints.simplex

    def __init__(self, family: Any, nodes: tuple[tuple[int, int, int], ...], mean_of: Callable[[], Any]) -> None:
        self.family, self.nodes, self.mean_of = family, nodes, mean_of
        super().__init__(np.shape(family.counts)[:-1], np.shape(family.counts)[-1:], validate_args=False)

    @property
    def mean(self) -> Any:
        """Mean of the probabilities."""
        return self.mean_of()


# --------------------------------------------------------------------------------------------------
# Numbers in bins, rows of categories and trees, given tables of probabilities
# --------------------------------------------------------------------------------------------------


class Binned(dist.Distribution):
    """Numbers whose part of the real line is drawn by `prob`, and which have the density of `Bins` within it.

    Parameters
    ----------
    prob : array, shape (..., parts)
    bins : Bins
    """

    support = constraints.real
    pytree_data_fields = ("prob",)
    pytree_aux_fields = ("bins",)

    def __init__(self, prob: Any, bins: Any, *, validate_args: bool | None = None) -> None:
        self.prob, self.bins = prob, bins
        super().__init__(batch_shape=np.shape(prob)[:-1], validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """Log density."""
        value = jnp.asarray(value, jnp.result_type(float))
        return look_up_cells(jnp.log(self.prob), self.bins.codes(value)) + self.bins.log_density(value)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent numbers, shape sample_shape + batch_shape."""
        own, key = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        codes = jax.random.categorical(own, jnp.log(self.prob), shape=shape)
        return self.bins.draws(codes, jax.random.uniform(key, shape))

    @property
    def mean(self) -> Any:
        """Mean of each number."""
        return (self.prob * self.bins.moments[0]).sum(axis=-1)

    @property
    def variance(self) -> Any:
        """Variance of each number."""
        means, within = self.bins.moments
        return (self.prob * (within + (means - self.mean[..., None]) ** 2)).sum(axis=-1)


class CombinationOfCategories(dist.Distribution):
    """Rows of categories whose combination is drawn by `prob`.

    Parameters
    ----------
    prob : array, shape (..., entries)
    combinations : Combinations
    observed : array of bool, shape (..., columns), optional
        Which cells of the rows the density is about; it sums over the others.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)
    pytree_data_fields = ("prob", "observed")
    pytree_aux_fields = ("combinations",)

    def __init__(
        self, prob: Any, combinations: Any, observed: Any = None, *, validate_args: bool | None = None
    ) -> None:
        self.prob, self.combinations, self.observed = prob, combinations, observed
        event_shape = (len(combinations.sizes),)
        super().__init__(batch_shape=np.shape(prob)[:-1], event_shape=event_shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """Log probability of rows of codes."""
        value, log_prob = jnp.asarray(value), jnp.log(self.prob)
        if self.observed is None:
            entries = self.combinations.entries(self.combinations.codes(value.astype(int)))
            return look_up_cells(self.combinations.log_each(log_prob), entries)
        cells = jnp.where(self.observed, value, jnp.nan)
        batch = jnp.broadcast_shapes(cells.shape[:-1], log_prob.shape[:-1])
        rows = jnp.broadcast_to(cells, (*batch, *self.event_shape)).reshape(-1, *self.event_shape)
        of_rows = jnp.broadcast_to(log_prob, (*batch, log_prob.shape[-1])).reshape(len(rows), -1)
        found = jax.vmap(lambda row, own: self.combinations.log_prob_in_jax(own, row[None])[0])(rows, of_rows)
        return found.reshape(batch)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent rows, shape sample_shape + batch_shape + (columns,); combinations not held are drawn evenly."""
        own, key = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        entry = jax.random.categorical(own, jnp.log(self.prob), shape=shape)
        return self.combinations.rows(entry, jax.random.randint(key, shape, 0, max(self.combinations.num_unseen, 1)))


class AnyTree(dist.Distribution):
    """A spanning tree, as the parent of each node; the first node is the root and its own parent.

    Parameters
    ----------
    log_weights : array, shape (..., classes, nodes, nodes)
    together : bool
        Whether the classes share the tree of a draw. Else each entry of their axis is drawn on its own.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, log_weights: Any, *, together: bool) -> None:
        self.log_weights, self.together = log_weights, together
        super().__init__(np.shape(log_weights)[:-2], np.shape(log_weights)[-1:], validate_args=False)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draws of a batch shape, shape (*shape, nodes)."""
        nodes, apart = self.event_shape[0], shape[:-1] if self.together else shape
        weights = self.log_weights[..., 0, :, :] if self.together else self.log_weights
        weights = np.broadcast_to(weights, (*apart, nodes, nodes))
        first, number = weights[(0,) * len(apart)], int(np.prod(apart))
        if number and (weights == first).all():
            edges = draw_trees(first, number, rng)
        else:
            drawn = [draw_trees(one, 1, rng) for one in weights.reshape(-1, nodes, nodes)]
            edges = np.concatenate([np.zeros((0, nodes - 1, 2), dtype=np.intp), *drawn])
        parents = _parents(edges, nodes).reshape(*apart, nodes)
        return np.broadcast_to(parents[..., None, :] if self.together else parents, (*shape, nodes)) * 1.0


def _parents(edges: np.ndarray, nodes: int) -> np.ndarray:
    """Parent of each node, shape (trees, nodes), given the edges (trees, nodes - 1, 2)."""
    found = np.full((len(edges), nodes), -1)
    found[:, 0] = 0
    tree, both = np.arange(len(edges))[:, None], np.concatenate([edges, edges[..., ::-1]], axis=1)
    while (found < 0).any():
        known = (found[tree, both[..., 0]] >= 0) & (found[tree, both[..., 1]] < 0)
        at, edge = np.nonzero(known)
        found[at, both[at, edge, 1]] = both[at, edge, 0]
    return found


def _is_root(parent: Any) -> Any:
    return parent == np.arange(np.shape(parent)[-1])


class RowsOfTree(dist.Distribution):
    """Rows of codes drawn along a tree; NaN is a missing cell.

    Parameters
    ----------
    parent : array, shape (..., columns)
    prob : array, shape (..., columns, values, values)
        Probabilities of a column's values (last axis) given each value of its parent; those of the root are the first.
    sizes : tuple of int
        Number of categories of each column; its next value is a missing cell.
    observed : array of bool, shape (..., columns), optional
        Which cells are not missing, where missing ones hold a number.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)

    def __init__(self, parent: Any, prob: Any, sizes: tuple[int, ...], observed: Any = True) -> None:
        self.parent, self.prob, self.sizes, self.observed = parent, prob, sizes, observed
        super().__init__(np.shape(parent)[:-1], np.shape(parent)[-1:], validate_args=False)

    def log_prob(self, value: Any) -> Any:
        """Log probability of rows of codes."""
        missing = jnp.isnan(value) | ~jnp.asarray(self.observed)
        codes = jnp.where(missing, jnp.asarray(self.sizes), value)
        codes, parent = (each.astype(int) for each in jnp.broadcast_arrays(codes, self.parent))
        above = jnp.where(_is_root(parent), 0, jnp.take_along_axis(codes, parent, axis=-1))
        table = jnp.take_along_axis(self.prob, above[..., None, None], axis=-2)[..., 0, :]
        return jnp.log(jnp.take_along_axis(table, codes[..., None], axis=-1)[..., 0]).sum(axis=-1)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Draws of a batch shape, shape (*shape, columns)."""
        shape = (*shape, *self.event_shape)
        uniform, parent = rng.uniform(size=shape)[..., None], np.broadcast_to(self.parent, shape).astype(np.intp)
        edges = np.cumsum(self.prob, axis=-1)
        edges = np.broadcast_to(edges / edges[..., -1:], (*shape, *edges.shape[-2:]))
        codes = np.zeros(shape, dtype=np.intp)
        # A value follows from the parent's value and a uniform number, so that all are right after as many steps as the
        # tree has levels.
        for _ in self.sizes:
            before, above = codes, np.where(_is_root(parent), 0, np.take_along_axis(codes, parent, axis=-1))
            own = np.take_along_axis(edges, above[..., None, None], axis=-2)[..., 0, :]
            codes = (uniform >= own).sum(axis=-1)
            if (codes == before).all():
                break
        return np.where(codes == np.array(self.sizes), np.nan, codes)
