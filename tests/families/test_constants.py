"""Constants of a family: static fields, which the support may follow."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy.stats import betabinom

import bayesnb as nb
from bayesnb.core.arrays import log_beta

TRIALS = 10


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Binomial(nb.families.ExponentialFamily, nb.families.ConjugateFamily):
    """Successes in a known number of trials."""

    concentration1: float = 1.0
    concentration0: float = 1.0
    trials: int = field(default=1, metadata={"static": True})

    positive = ("concentration1", "concentration0")

    @property
    def support(self):
        return dist.constraints.integer_interval(0, self.trials)

    @property
    def holds(self):
        return f"a number of successes in {self.trials} trials"

    def prior(self, sample):
        return {"prob": sample("prob", dist.Beta(self.concentration1, self.concentration0))}

    def likelihood(self, prob):
        return dist.BinomialProbs(prob, self.trials)

    def terms(self, x):
        return (x,)

    def log_base(self, x):
        return -log_beta(x + 1, self.trials - x + 1) - np.log(self.trials + 1)

    def natural(self, parameters):
        prob = parameters["prob"]
        return (jnp.log(prob) - jnp.log1p(-prob),), -self.trials * jnp.log1p(-prob)

    def update(self, statistics):
        failures = self.trials * statistics.n - statistics.total
        return Binomial(self.concentration1 + statistics.total, self.concentration0 + failures, self.trials)

    def log_normaliser(self):
        return log_beta(self.concentration1, self.concentration0)

    def cell_log_predictive(self, x):
        a, b = self.concentration1, self.concentration0
        return self.log_base(x) + log_beta(a + x, b + self.trials - x) - self.log_normaliser()


@pytest.fixture
def fitted():
    X, y = np.array([[2.0, 30.0], [np.nan, 11.0], [9.0, 36.0], [8.0, 5.0]]), ["a", "a", "b", "b"]
    model = nb.NaiveBayes({0: Binomial(trials=TRIALS), 1: Binomial(trials=40)})
    return X, y, nb.fit(model, X, y)


def test_predictions_are_beta_binomial(fitted):
    X, _, posterior = fitted
    expected = np.log(0.5) + np.column_stack(
        [
            betabinom(10, 3, 9).logpmf(X[:, 0]) + betabinom(40, 42, 40).logpmf(X[:, 1]),
            betabinom(10, 18, 4).logpmf(X[:, 0]) + betabinom(40, 42, 40).logpmf(X[:, 1]),
        ]
    )
    observed = ~np.isnan(X[:, 0])
    np.testing.assert_allclose(posterior.log_joint(X)[observed], expected[observed], rtol=1e-10)
    with jax.enable_x64(True):
        np.testing.assert_allclose(posterior.log_joint_function()(X), posterior.log_joint(X), rtol=1e-10)


def test_update_and_files_keep_the_constant(fitted, tmp_path):
    X, y, posterior = fitted
    both = nb.fit(posterior.problem.model, X[:2], y[:2], classes=["a", "b"]).update(X[2:], y[2:])
    np.testing.assert_allclose(both.predict_proba(X), posterior.predict_proba(X), rtol=1e-12)
    posterior.save(tmp_path / "model.nc")
    loaded = nb.load(tmp_path / "model.nc", families=[Binomial])
    assert [family.trials for family in loaded.model.families] == [10, 40]
    assert loaded.predict_proba(X).tolist() == posterior.predict_proba(X).tolist()


@pytest.mark.parametrize(("column", "trials"), [(0, 10), (1, 40)])
def test_a_support_that_follows_a_constant_refuses_what_is_outside(fitted, column, trials):
    X, _, posterior = fitted
    X[2, column] = trials + 1
    words = f"column {column}, row 2: {trials + 1} is not a number of successes in {trials} trials"
    with pytest.raises(ValueError, match=words):
        posterior.predict(X)
    found = np.asarray(posterior.log_joint_function()(X))
    assert np.isnan(found[2]).all()
    assert np.isfinite(found[[0, 1, 3]]).all()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Late(nb.families.ExponentialFamily):
    """Waiting times after a known start, where a filled cell has to be later than the start."""

    scale: float = 1.0
    start: float = field(default=5.0, metadata={"static": True})

    @property
    def support(self):
        return dist.constraints.greater_than(self.start)

    def prior(self, sample):
        return {"rate": sample("rate", dist.HalfNormal(self.scale))}

    def likelihood(self, rate):
        return dist.TransformedDistribution(dist.Exponential(rate), dist.transforms.AffineTransform(self.start, 1.0))

    def terms(self, x):
        assert (np.asarray(x) > self.start).all()
        return (x - self.start,)

    def natural(self, parameters):
        return (-parameters["rate"],), -jnp.log(parameters["rate"])


@pytest.mark.parametrize("start", [5.0, 50.0])
def test_missing_cells_are_filled_inside_the_support_of_each_constant(start):
    values = {"rate": [[0.5], [2.0]]}
    point = nb.from_parameters(Late(start=start), classes=["a", "b"], class_probs=[0.5, 0.5], parameters=values)
    found = point.log_joint([[np.nan], [start + 1]])
    np.testing.assert_allclose(found, np.log([[0.5, 0.5], [0.5 * 0.5 * np.exp(-0.5), 0.5 * 2 * np.exp(-2.0)]]))
