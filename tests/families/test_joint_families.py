"""A joint family from outside the package: what follows from `JointFamily` and few statements."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from refitting import assert_same
from scipy import stats

import bayesnb as nb

COVARIANCE = np.array([[1.0, 0.7, 0.0], [0.7, 2.0, -0.4], [0.0, -0.4, 0.5]])
ROOT = np.linalg.cholesky(COVARIANCE)
PRECISION = np.linalg.inv(COVARIANCE)
NORMAL = stats.multivariate_normal(np.zeros(3), COVARIANCE)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cloud(nb.families.JointFamily, nb.families.ConjugateFamily):
    """Vectors with a normal distribution whose covariance matrix is known."""

    loc: Any = 0.0
    kappa: Any = 1.0

    whole_rows = True
    positive = ("kappa",)

    def prior(self, sample):
        root = ROOT / self.kappa[..., :1, None] ** 0.5
        return {"mean": sample("mean", dist.MultivariateNormal(self.loc, scale_tril=root))}

    def likelihood(self, mean):
        return dist.MultivariateNormal(mean, scale_tril=ROOT)

    def statistics(self, x, membership):
        log_base = membership.T @ NORMAL.logpdf(np.nan_to_num(x)).reshape(-1, 1)
        return nb.families.Counts(membership.sum(axis=0)[:, None], membership.T @ np.nan_to_num(x), log_base)

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


def test_missing_cells_need_a_method(table):
    X, y = table
    holes = X.copy()
    holes[4, 1] = np.nan
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
    with pytest.raises(ValueError, match="column 0 is twice in 'size': name it once"):
        nb.fit(nb.NaiveBayes({"size": (nb.MultivariateGaussian(), [0, 0])}), X, list("aaabbb"))
    grouping = nb.group_columns(nb.NaiveBayes(nb.Gaussian()), X, list("aaabbb"), columns=0)
    assert "that columns= names if it is given" in " ".join(repr(grouping).split())


GAPS = {
    "numbers": (lambda: nb.MultivariateGaussian(), lambda rng: rng.normal(size=(40, 2))),
    "numbers, prior given": (
        lambda: nb.MultivariateGaussian(0.3, 0.4, 3.0, [[1.0, 0.2], [0.2, 2.0]]),
        lambda rng: rng.normal(size=(40, 2)),
    ),
    "categories": (lambda: nb.JointCategorical(), lambda rng: rng.choice(["p", "q", "r"], size=(40, 2))),
    "of a user": (lambda: Cloud(0.2, 0.5), lambda rng: rng.normal(size=(40, 3))),
}
"""Joint families, and cells of a block."""


def with_gaps(kind, rng):
    """A model of a block and a column, a table of which four rows lack cells of the block, and labels."""
    family, cells = GAPS[kind]
    X = pd.DataFrame(cells(rng), columns=list("abc")[: cells(rng).shape[1]]).assign(other=rng.normal(size=40))
    model = nb.NaiveBayes({"block": (family(), list(X.columns[:-1])), "other": nb.Gaussian()})
    X.loc[[1, 8], "a"], X.loc[[8, 9, 30], "b"] = np.nan, np.nan
    return model, X, np.array(["u", "v"])[np.arange(40) % 2]


FITS = {
    "fit": lambda model, X, y: nb.fit(model, X, y),
    "weights": lambda model, X, y: nb.fit(model, X, y, sample_weight=np.ones(40)),
    "batches": lambda model, X, y: nb.fit_batches(model, [(X[:15], y[:15]), (X[15:], y[15:])], classes=["u", "v"]),
    "update": lambda model, X, y: nb.fit(model.bind(X, y), X[:8], y[:8]).update(X[8:], y[8:]),
    "forget": lambda model, X, y: nb.fit(model.bind(X, y), pd.concat([X, X[5:20]]), [*y, *y[5:20]]).forget(
        X[5:20], y[5:20]
    ),
}


@pytest.mark.parametrize("kind", GAPS)
@pytest.mark.parametrize("way", FITS)
@pytest.mark.filterwarnings("ignore:.*rows lack a cell of block 'block':UserWarning")
def test_rows_that_lack_a_cell_count_for_the_other_columns_alone(kind, way, rng):
    model, X, y = with_gaps(kind, rng)
    found = FITS[way](model, X, y)
    whole = X.notna().all(axis=1).to_numpy()
    assert whole.sum() == 36
    expected = [nb.fit(model, X[whole], y[whole]).families[0], *nb.fit(nb.Gaussian(), X[["other"]], y).families]
    for mine, theirs in zip(found.families, expected, strict=True):
        for name, value in theirs.hyperparameters().items():
            np.testing.assert_allclose(getattr(mine, name), value, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.problem.statistics.classes.n, [20, 20])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["numbers", "numbers, prior given", "categories"])
@pytest.mark.filterwarnings("ignore:.*rows lack a cell of block 'block':UserWarning")
def test_rows_that_lack_a_cell_are_left_out_as_a_refit_does(kind, weighted, rng):
    model, X, y = with_gaps(kind, rng)
    weights = rng.integers(1, 3, 40) / 2 if weighted else None
    assert_same(nb.fit(model.bind(X, y), X, y, sample_weight=weights), X, y, weights)


def test_a_warning_names_the_rows_that_lack_a_cell(rng):
    model, X, y = with_gaps("categories", rng)
    with pytest.warns(
        UserWarning, match="4 of 40 rows lack a cell of block 'block' of the columns 'a', 'b', and count"
    ):
        joint = nb.fit(model, X, y)
    separate = nb.fit(nb.NaiveBayes({"a": nb.Categorical(), "b": nb.Categorical(), "other": nb.Gaussian()}), X, y)
    found = nb.compare_models({"joint": joint, "separate": separate}, X, y)
    assert found.table["model_probability"].isna().all()
    assert "column 'a' (as a value without 4 rows that lack a cell of block 'block', and as a value)" in " ".join(
        repr(found).split()
    )
