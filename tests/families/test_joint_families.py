"""A joint family from outside the package: what follows from `joint = True` and few statements."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import stats

import bayesnb as nb

COVARIANCE = np.array([[1.0, 0.7, 0.0], [0.7, 2.0, -0.4], [0.0, -0.4, 0.5]])
ROOT = np.linalg.cholesky(COVARIANCE)
PRECISION = np.linalg.inv(COVARIANCE)
NORMAL = stats.multivariate_normal(np.zeros(3), COVARIANCE)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cloud(nb.ConjugateFamily):
    """Vectors with a normal distribution whose covariance matrix is known."""

    loc: Any = 0.0
    kappa: Any = 1.0

    joint = True
    whole_rows = True
    positive = ("kappa",)

    def prior(self, sample):
        root = ROOT / self.kappa[..., :1, None] ** 0.5
        return {"mean": sample("mean", dist.MultivariateNormal(self.loc, scale_tril=root))}

    def likelihood(self, mean):
        return dist.MultivariateNormal(mean, scale_tril=ROOT)

    def statistics(self, x, membership):
        log_base = membership.T @ NORMAL.logpdf(np.nan_to_num(x)).reshape(-1, 1)
        return nb.Counts(membership.sum(axis=0)[:, None], membership.T @ np.nan_to_num(x), log_base)

    def log_likelihood(self, parameters, statistics):
        solved = parameters["mean"] @ PRECISION
        products = statistics.total * solved - 0.5 * statistics.n * parameters["mean"] * solved
        return products.sum(axis=-1, keepdims=True)

    def update(self, statistics):
        kappa = self.kappa + statistics.n
        return replace(self, loc=(self.kappa * self.loc + statistics.total) / kappa, kappa=kappa)

    def predictive(self):
        root = ROOT * (1 + 1 / self.kappa[..., :1, None]) ** 0.5
        return dist.MultivariateNormal(self.loc, scale_tril=root)

    def log_normaliser(self):
        terms = 0.5 * self.kappa * self.loc * (self.loc @ PRECISION) - 0.5 * np.log(self.kappa)
        return terms.sum(axis=-1, keepdims=True)

    def marginals(self):
        return {"mean": dist.Normal(self.loc, np.sqrt(np.diag(COVARIANCE) / self.kappa))}


@pytest.fixture
def table(rng):
    y = np.array(["a", "b"])[rng.integers(0, 2, 20)]
    return rng.multivariate_normal(np.zeros(3), COVARIANCE, 20) + (y == "b")[:, None], y


MODEL = nb.NaiveBayes({"cloud": (Cloud(0.2, 0.5), [0, 1, 2])})


@pytest.mark.slow
def test_a_block_is_one_observation(table):
    X, y = table
    posterior = nb.fit(MODEL, X, y)
    assert list(nb.feature_evidence(posterior).index) == ["cloud"]
    assert posterior.to_datatree(num_chains=1, num_draws=3)["posterior"]["cloud_mean"].dims[2:] == (
        "class",
        "cloud_column",
    )
    for c, label in enumerate("ab"):
        n, total = (y == label).sum(), X[y == label].sum(axis=0)
        of_rows = stats.multivariate_normal((0.1 + total) / (0.5 + n), COVARIANCE * (1 + 1 / (0.5 + n))).logpdf(X)
        joint = posterior.log_joint(X)[:, c] - np.log(posterior.class_probs()[c])
        np.testing.assert_allclose(joint, of_rows, rtol=1e-9)


def test_evidence_is_the_product_of_predictions(table):
    X, _ = table
    one = nb.NaiveBayes({"cloud": (Cloud(0.2, 0.5), [0, 1, 2])}, class_probs=[1.0])
    chain, seen = 0.0, nb.fit(one, X[:1], ["c"], classes=["c"])
    first = seen.log_evidence
    for row in X[1:]:
        chain += seen.log_joint([row])[0, 0]
        seen = seen.update([row], ["c"])
    assert seen.log_evidence == pytest.approx(first + chain, rel=1e-12)


def test_each_row_given_the_others(table):
    X, y = table
    left_out = nb.loo(nb.fit(MODEL, X, y), X, y).elpd
    refits = 0.0
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        refit = nb.fit(MODEL, X[rest], y[rest], classes=["a", "b"])
        refits += refit.predict_log_proba(X[[i]])[0, ["a", "b"].index(y[i])]
    assert left_out == pytest.approx(refits, rel=1e-9)


def test_given_parameters_the_density_is_that_of_rows(table):
    X, _ = table
    parameters = {"cloud_mean": np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 0.0]])}
    posterior = nb.from_parameters(MODEL, classes=["a", "b"], class_probs=[0.5, 0.5], parameters=parameters)
    theirs = [stats.multivariate_normal(mean, COVARIANCE).logpdf(X) for mean in parameters["cloud_mean"]]
    np.testing.assert_allclose(posterior.log_joint(X) - np.log(0.5), np.transpose(theirs), rtol=1e-9)


def test_draws_are_independent(table):
    X, y = table
    posterior = nb.fit(MODEL, X, y)
    drawn = posterior.draws(num_chains=2, num_draws=2000)["cloud_mean"]
    assert drawn.shape == (2, 2000, 2, 3)
    family = posterior.families[0]
    z = (drawn.mean(axis=(0, 1)) - family.loc) / np.sqrt(np.diag(COVARIANCE) / family.kappa / 4000)
    assert np.abs(z).max() < 4.5
    assert np.corrcoef(drawn[..., 0, 0].ravel(), drawn[..., 0, 1].ravel())[0, 1] == pytest.approx(
        0.7 / 2**0.5, abs=0.06
    )


def test_missing_cells_need_a_method(table):
    X, y = table
    holes = X.copy()
    holes[4, 1] = np.nan
    with pytest.raises(ValueError, match="column 1: the cell is missing in 1 of 20 rows, and Cloud is fitted to rows"):
        nb.fit(MODEL, holes, y)
    posterior = nb.fit(MODEL, X, y)
    assert np.isnan(posterior.families[0].row_log_predictive(holes)[4]).all()
    assert np.isfinite(posterior.families[0].row_log_predictive(holes)[:4]).all()
    given = posterior.families[0].row_log_likelihood({"mean": np.zeros((2, 3))}, holes)
    np.testing.assert_allclose(given[:4], np.tile(NORMAL.logpdf(holes[:4])[:, None], 2), rtol=1e-9)
    assert np.isnan(given[4]).all()
    with pytest.raises(NotImplementedError, match="Cloud does not say how cells of a row are integrated out: define"):
        jax.eval_shape(lambda key: numpyro.handlers.seed(posterior.model.program, key)(holes, y), jax.random.key(0))


def test_errors_name_the_block_and_its_columns():
    X = np.column_stack([np.arange(6.0), np.arange(6.0), 1 - np.arange(6.0) ** 2])
    model = nb.NaiveBayes({"size": (nb.MultivariateGaussian(), [0, 1]), 2: nb.Gaussian()})
    with pytest.raises(
        ValueError, match=r"block 'size' of the columns 0, 1 in class 'a': .*; use nb\.Exact\(\) or nb\.NUTS\(\)$"
    ):
        nb.fit(model, X, list("aaabbb"), nb.MLE())
    with pytest.raises(ValueError, match="column 0 is twice in 'size': each column belongs to one family"):
        nb.fit(nb.NaiveBayes({"size": (nb.MultivariateGaussian(), [0, 0])}), X, list("aaabbb"))
    answers = np.array([["p", "q"], ["r", "q"], ["p", "q"]])
    with pytest.raises(
        ValueError, match="list all values in categories=, reserve a category for the others, other=True"
    ):
        nb.fit(nb.NaiveBayes({"both": (nb.JointCategorical(categories=["p", "q"]), [0, 1])}), answers, [0, 1, 1])
    grouping = nb.group_columns(nb.NaiveBayes(nb.Gaussian()), X, list("aaabbb"), columns=0)
    assert "that columns= names if it is given" in " ".join(repr(grouping).split())
