"""The coordinates of NUTS: densities by automatic differentiation and quadrature; draws at corners of the simplex."""

import itertools
import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import digamma, expit, gammaln, logsumexp
from small_crowd import z_scores

import bayesnb as nb
from bayesnb.core.logarithms import LogProbability
from bayesnb.inference.coordinates import (
    Anchored,
    BentGamma,
    BentSimplex,
    Drawn,
    Plain,
    Sticks,
    bend,
    log_sigmoid,
    unbend,
)
from bayesnb.inference.move import Walks, begin, draw_sites, potential
from bayesnb.inference.nuts import Target

pytestmark = pytest.mark.usefixtures("float64")

CONCENTRATION = np.array([0.4, 1.5, 0.05, 2.0])
EXCESS = np.array([1.5, 0.0, 9.0, 0.3])


def begin_with(prior, posterior=None):
    """What a sampler of one site begins with."""
    prior_walk, posterior_walk = (lambda sample, d=d: sample("site", d) for d in (prior, posterior or prior))
    walks = Walks(prior_walk, posterior_walk, posterior_walk, [posterior_walk])
    return begin(walks, {"site"} if posterior is not None else (), np.random.default_rng(0), 50)


@partial(jax.jit, static_argnums=0)
def _along(function, z, *given):
    return jax.jvp(lambda z: function(z, *given), (z,), (jnp.full_like(z, 2.0),))


def along(function, z, *given):
    """Values and derivatives as samplers take them, both from the function's rule for derivatives."""
    value, change = _along(function, z, *given)
    return value, jax.tree.map(lambda changed: np.asarray(changed) / 2, change)


@jax.jit
def plainly_bent(z, excess):
    """The formula of the bend, its derivative, and the derivative of the logarithm of that."""

    def plain(z):
        return jnp.log(jnp.log1p(jnp.exp(z))) - excess * jnp.log1p(jnp.exp(-z))

    slope = jax.grad(plain)
    return jax.vmap(lambda z: (plain(z), slope(z), jax.grad(lambda z: jnp.log(slope(z)))(z)))(z)


class TestBend:
    Z = np.concatenate([np.linspace(-40, 40, 161), [-900.0, -300.0, 300.0, 900.0]])

    @pytest.mark.parametrize("excess", [0.0, pytest.param(0.25, marks=pytest.mark.slow), 9.0, 999.0])
    def test_value_and_derivatives(self, excess):
        z = self.Z
        u, log_slope = map(np.asarray, jax.jit(bend)(z, excess))
        near = np.abs(z) <= 30
        plain, slopes, curvature = plainly_bent(z[near], excess)
        np.testing.assert_allclose(u[near], plain, rtol=1e-12)
        np.testing.assert_allclose(log_slope[near], np.log(slopes), rtol=1e-9, atol=1e-9)
        values, (slope, by_hand) = along(bend, z, excess)
        np.testing.assert_allclose(values, [u, log_slope], rtol=1e-12)
        np.testing.assert_allclose(by_hand[near], curvature, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(slope, np.exp(log_slope), rtol=1e-12)
        assert np.isfinite([u, log_slope, slope, by_hand]).all()
        np.testing.assert_allclose(u[z == -900], (1 + excess) * -900)
        np.testing.assert_allclose(u[z == 900], np.log(900))

    @pytest.mark.parametrize("excess", [0.0, 0.25, 9.0, 999.0])
    def test_the_inverse(self, excess):
        z = self.Z[self.Z <= 600]
        np.testing.assert_allclose(unbend(np.asarray(jax.jit(bend)(z, excess)[0]), excess), z, rtol=1e-9, atol=1e-9)

    def test_the_logistic_function_in_logs(self):
        z = self.Z
        np.testing.assert_allclose(log_sigmoid(z), stats.logistic.logcdf(z), rtol=1e-12)
        value, slope = along(log_sigmoid, z)
        np.testing.assert_allclose(value, stats.logistic.logcdf(z), rtol=1e-12)
        np.testing.assert_allclose(slope, stats.logistic.sf(z), rtol=1e-12)


@jax.jit
def positions(coordinate, z, prior):
    return jax.vmap(lambda z: coordinate.at(z, prior))(z)


def by_autodiff(coordinate, z, prior):
    """Log densities of points z by the prior's density of the value and the determinant of an automatic Jacobian.

    The total of `BentSimplex`, which the value does not hold, is independent of it, and the last free number.
    """

    def free(z):
        value = coordinate.at(z, prior).value
        if not isinstance(coordinate, BentSimplex):
            value = jnp.exp(value.log) if isinstance(value, LogProbability) else value
            return value[:-1] if isinstance(prior, dist.Dirichlet) else value, prior.log_prob(value).sum()
        s = jax.scipy.special.logsumexp(bend(z, coordinate.excess)[0])
        prob = jnp.exp(value.log)
        log_density = prior.log_prob(prob) + coordinate.total * s - jnp.exp(s)
        return jnp.append(prob[:-1] if prob.ndim else prob, s), log_density

    @jax.jit
    @jax.vmap
    def all_of(z):
        return free(z)[1], jax.jacfwd(lambda z: free(z)[0])(z)

    log_density, jacobian = all_of(z)
    return log_density + np.linalg.slogdet(jacobian)[1]


GAMMA = np.array([0.2, 1.0, 5.0]), 0.7
BENT = BentGamma(np.array([True, True, False]), np.array([4.0, 0.0, 0.0]), np.log(1.9))
DENSITIES = [
    lambda: (BentSimplex(EXCESS, 3.7), dist.Dirichlet(CONCENTRATION), 4),
    lambda: (BentSimplex(EXCESS[:2], 1.3), dist.Beta(0.3, 0.02), 2),
    lambda: (Sticks(), dist.Dirichlet(CONCENTRATION), 3),
    lambda: (Sticks(), dist.Beta(2.0, np.array([3.0, 0.4, 1.0])), 3),
    lambda: (BENT, dist.Gamma(*GAMMA), 3),
    lambda: (BENT, dist.InverseGamma(*GAMMA), 3),
    lambda: (BentGamma(None, None, np.log(1.9)), dist.Gamma(*GAMMA), 3),
    lambda: (
        Anchored(np.array([7.0, 1.0]), np.array([0.5, 0.01])),
        dist.Normal(np.array([2.0, 1.0]), np.array([3.0, 0.1])),
        2,
    ),
]
"""Made in float64."""


class TestDensities:
    """Each coordinate's density against the prior's and an automatic Jacobian, at points far and near."""

    @pytest.mark.slow
    @pytest.mark.parametrize("make", DENSITIES)
    def test_of_each_coordinate(self, make):
        coordinate, prior, size = make()
        z = np.random.default_rng(size).normal(scale=3.0, size=(3, size))
        position = positions(coordinate, z, prior)
        np.testing.assert_allclose(position.log_density, by_autodiff(coordinate, z, prior), rtol=1e-9)
        if isinstance(position.value, LogProbability):
            np.testing.assert_allclose(position.stored, np.exp(position.value.log))
            if isinstance(prior, dist.Beta):
                np.testing.assert_allclose(np.exp(position.value.log) + np.exp(position.value.log_rest), 1.0)
            else:
                np.testing.assert_allclose(position.stored.sum(axis=-1), 1.0)

    @pytest.mark.parametrize("tuning", [(0.5, 1.0), pytest.param((20.0, 7.0), marks=pytest.mark.slow), (0.0, 0.2)])
    def test_quadrature_gives_the_moments_of_the_posterior_whatever_the_tuning_is(self, tuning):
        """Prior Dirichlet(0.3, 0.3) and counts (2, 0): prior and likelihood make the density, not a closed form."""
        excess, total = tuning
        coordinate, prior = BentSimplex(np.full(2, excess), total), dist.Dirichlet(np.full(2, 0.3))
        line = np.linspace(-90, 60, 501)

        position = positions(coordinate, np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2), prior)
        log_prob = np.asarray(position.value.log)
        log_density = position.log_density + 2 * log_prob[:, 0]
        weight = np.exp(log_density - logsumexp(log_density))
        np.testing.assert_allclose(weight @ np.exp(log_prob), np.array([2.3, 0.3]) / 2.6, rtol=2e-4)
        np.testing.assert_allclose(weight @ log_prob, digamma([2.3, 0.3]) - digamma(2.6), rtol=1e-3)


class TestChoice:
    """Which prior gets which coordinate, and points that are draws of it."""

    @pytest.mark.parametrize(
        ("prior", "kind"),
        [
            (dist.Dirichlet(np.ones((2, 3))), Sticks),
            (dist.Dirichlet(np.array([[1.0, 1.0, 1.0], [1.0, 0.5, 1.0]])), BentSimplex),
            (dist.Dirichlet(np.full((2, 1), 0.1)), Sticks),
            (dist.Dirichlet(np.full(3, 0.1)).expand((2,)), BentSimplex),
            (dist.Beta(np.ones(3), 1.0), Sticks),
            (dist.Beta(np.ones(3), 0.99), BentSimplex),
            (dist.Gamma(np.ones(3), 2.0), Plain),
            (dist.Gamma(np.array([1.0, 0.1, 3.0]), 2.0), BentGamma),
            (dist.InverseGamma(np.array([1.0, 0.1, 3.0]), 2.0), BentGamma),
            (dist.InverseGamma(np.full(3, 50.0), 2.0), BentGamma),
            (dist.Normal(np.ones(3), 2.0), Plain),
            (dist.LogNormal(np.ones(3), 2.0), Plain),
        ],
    )
    def test_by_the_type_of_the_prior(self, prior, kind):
        found = begin_with(prior)
        coordinate = found.coordinates["site"]
        assert type(coordinate) is kind
        assert found.points["site"].shape[0] == 50
        assert found.points["site"].shape[1:] == found.variance["site"].shape
        walk = lambda sample: sample("site", prior)  # noqa: E731
        drawn = draw_sites(walk, np.random.default_rng(1), 4)["site"]
        base = prior.base_dist if isinstance(prior, dist.ExpandedDistribution) else prior
        points = coordinate.point(drawn, base, np.random.default_rng(2))
        stored = jax.jit(lambda point: coordinate.at(point, base).stored)
        again = np.stack([stored(point) for point in points])
        np.testing.assert_allclose(again, drawn.value, rtol=1e-7, atol=1e-300)

    def test_a_normal_with_a_closed_form_is_anchored(self):
        found = begin_with(dist.Normal(np.zeros(2), 2.0), dist.Normal(np.array([3.0, 4.0]), 0.5))
        coordinate = found.coordinates["site"]
        np.testing.assert_array_equal(coordinate.centre, [3.0, 4.0])
        np.testing.assert_array_equal(coordinate.ratio, 0.25)
        np.testing.assert_allclose(found.variance["site"], 1.0, rtol=0.2)

    def test_a_subclass_has_a_density_of_its_own(self):
        class Other(dist.Beta):
            def log_prob(self, value):
                return super().log_prob(value) + value

        coordinate = begin_with(Other(np.full(2, 0.5), 0.5)).coordinates["site"]
        assert isinstance(coordinate, Plain)
        z = np.array([0.3, -1.0])
        prob = expit(z)
        expected = stats.beta.logpdf(prob, 0.5, 0.5) + prob + np.log(prob * (1 - prob))
        found = jax.jit(lambda z: coordinate.at(z, Other(0.5, 0.5)).log_density)(z)
        np.testing.assert_allclose(found, expected.sum())


def corner(alpha, key=0, **settings):
    """A class of eight rows with a category never seen at each place, and a class without rows; exact and by NUTS."""
    counts = [5, 3, 0], [0, 5, 3], [5, 0, 3]
    X = np.stack([np.repeat([0, 1, 2], n) for n in counts] + [np.ones(8), np.linspace(-2, 2, 8)], axis=1)
    model = nb.NaiveBayes(
        {
            "kind": (nb.Categorical(alpha, categories=(0, 1, 2)), [0, 1, 2]),
            "flag": (nb.Bernoulli(alpha, alpha), [3]),
            "size": (nb.Gaussian(), [4]),
        },
        class_concentration=min(alpha, 1.0),
    )
    names = {"classes": ["full", "empty"], "key": key}
    return nb.fit(model, X, ["full"] * 8, **names), nb.fit(model, X, ["full"] * 8, nb.NUTS(**settings), **names), X


@pytest.mark.slow
def test_default_runs_at_the_corners_do_not_warn_and_are_right():
    """Stick-breaking gets the category in the last place wrong by a factor of 2.4 at 0.01, many standard errors."""
    found = []
    for alpha, key in itertools.product((0.1, 0.05, 0.02, 0.01), range(20)):
        exact, sampled, _ = corner(alpha, key)
        draws, mean = sampled.draws(), exact.mean()
        found.append(np.concatenate([z_scores(draws[site], mean[site]) for site in mean if site.endswith("prob")]))
        assert sampled.diagnostics.divergences == 0
        assert sampled.diagnostics.ess_bulk.min() > 1000
        assert np.abs(found[-1]).max() < 5.5
    z = np.concatenate(found)
    assert abs(z.mean()) < 0.2
    assert np.sqrt((z**2).mean()) < 1.3


@pytest.mark.slow
def test_draws_that_underflow_are_no_error_anywhere():
    exact, sampled, X = corner(0.001, key=1)
    draws = sampled.draws()
    assert (draws["1_prob"] == 0).any()
    assert (draws["flag_prob"] == 1).any()
    assert not sampled.diagnostics.problems()
    assert not np.isnan(sampled.model.prior.log_likelihood(sampled.parameters, sampled.problem.statistics)).any()
    np.testing.assert_allclose(sampled.predict_proba(X), exact.predict_proba(X), atol=0.01)
    assert np.isfinite(sampled.proba_draws(X)).all()
    for posterior in (exact, sampled):
        tree = posterior.to_datatree(X, ["full"] * 8, num_draws=200, key=0)
        for name, fine in (
            ("posterior", np.isfinite),
            ("log_prior", np.isfinite),
            ("log_likelihood", lambda x: ~np.isnan(x)),
        ):
            for variable in tree[name].data_vars.values():
                assert fine(variable.to_numpy()).all(), (name, variable.name)


def test_a_weight_below_one_is_seen_in_the_tails():
    """A zero of weight 0.05 at concentration 0.01: 1 - p is often below 1e-16, and its logarithm counts."""
    problem = nb.fit(nb.Bernoulli(0.01, 0.01), [[1], [0]], ["a", "a"], sample_weight=[1.0, 0.05]).problem
    target = Target(problem)
    beginning = target.begin(np.random.default_rng(0), 4)
    coordinate = beginning.coordinates["0.prob"]
    log_density = jax.jit(partial(potential, target.program, target.arguments, beginning.coordinates))
    points = {"class_prob": np.zeros((1, 0))[0], "0.prob": None}
    # Along z, the density of log(1 - p) far to the left goes like exp(0.06 log(1 - p)).
    ends = []
    for z in (-3.0, -6.0):
        point = np.array([[[3.0, z]]])
        (position,) = positions(coordinate, point[None], dist.Beta(0.01, 0.01)).value.log_rest
        slope = along(bend, np.array([z]), coordinate.excess[0, 0, 1])[1][0]
        density = -float(log_density({**points, "0.prob": point}))
        ends.append((float(position[0, 0]), density - float(np.log(slope[0]))))
    (first, at_first), (second, at_second) = ends
    assert second < -60
    np.testing.assert_allclose((at_first - at_second) / (first - second), 0.06, rtol=1e-3)


@pytest.mark.slow
def test_a_learned_concentration_below_one():
    """The hyperprior Gamma(0.3, 1) has its mass near zero: against quadrature over the evidence."""
    X, y = np.array([[0], [0], [0], [1], [1], [1]]), [0, 0, 0, 1, 1, 1]
    learned = nb.NaiveBayes(nb.Categorical(dist.Gamma(0.3, 1.0), categories=(0, 1, 2)))
    sampled = nb.fit(learned, X, y, nb.NUTS(), key=0)
    draws = np.log(sampled.draws()["x_concentration"])
    line = np.linspace(-60, 4, 2000)
    a = np.exp(line)
    # Each class has three rows of one category.
    evidence = 2 * (gammaln(3 * a) - gammaln(3 * a + 3) + gammaln(a + 3) - gammaln(a))
    log_density = evidence + 0.3 * line - a
    weight = np.exp(log_density - logsumexp(log_density))
    assert np.abs(z_scores(draws, weight @ line)).max() < 4


@pytest.mark.slow
def test_a_gaussian_class_without_rows_does_not_warn():
    """Twenty default runs; with the mean itself as coordinate nineteen of them warn."""
    X, y = np.random.default_rng(0).normal(size=(12, 2)), [0, 1] * 6
    with warnings.catch_warnings(action="error", category=nb.ConvergenceWarning):
        for key in range(20):
            nb.fit(nb.Gaussian(), X, y, nb.NUTS(), classes=3, key=key)


def test_a_drawn_value_keeps_its_logarithms():
    def drawn(prior):
        return draw_sites(lambda sample: sample("site", prior), np.random.default_rng(0), 20)["site"]

    flag = drawn(dist.Beta(np.full(500, 0.001), 1.0))
    assert isinstance(flag, Drawn)
    assert (flag.value == 0).any()
    assert np.isfinite(flag.logs[0]).all()
    np.testing.assert_allclose(np.exp(flag.logs[0]) + np.exp(flag.logs[1]), 1.0)
    rate = drawn(dist.Gamma(jnp.full((2, 1), 400.0), jnp.full((2, 1), 8.0)))
    assert rate.value.mean() == pytest.approx(50.0, rel=0.05)
    np.testing.assert_allclose(np.exp(rate.logs[0]), rate.value, rtol=1e-12)


def test_a_probability_from_its_logarithms_lies_between_zero_and_one(float64):
    log, log_rest = np.array([[np.log(0.2), np.log(0.8)], [np.log(0.9), np.log(0.1)], [-1e-20, -46.0], [-1e4, -0.0]]).T
    prob = jax.jit(lambda *logs: LogProbability(*logs).prob)
    found = np.asarray(prob(log, log_rest))
    np.testing.assert_allclose(found[:3], [0.2, 0.9, 1.0], rtol=1e-15)
    assert found[2] < 1
    assert 0 < found[3] < 1e-300
    simplex = np.asarray(prob(np.array([0.0, -1e4])))
    assert simplex[0] == 1.0
    assert 0 < simplex[1] < 1e-300
