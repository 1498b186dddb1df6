"""Rows, and their features, given the other rows, beside fits to the other rows, whose priors follow these."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from cases import CASES, CATEGORIES, Exponential, with_holes
from refitting import assert_same, cells_alone, rows_of

import bayesnb as nb
from bayesnb.families import gaussian
from bayesnb.posterior import left_out
from bayesnb.posterior.left_out import all_features_left_out, features_left_out


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Waits(Exponential):
    """A family from outside whose rate follows the column's mean where it is zero; it knows no fast way."""

    rate: Any = 0.0

    positive = ("concentration",)

    def on_scale_of(self, pooled):
        if np.all(np.asarray(self.rate) > 0):
            return self
        return replace(self, rate=self.concentration * pooled.total / np.maximum(pooled.n, 1e-300))

    def update(self, statistics):
        return Waits(self.concentration + statistics.n, self.rate + statistics.total)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Background(nb.Multinomial):
    """Documents whose prior mean is the share of each word in all documents."""

    strength: Any = 2.0
    concentration: Any = None

    def on_scale_of(self, pooled):
        if self.concentration is not None:
            return self
        share = (pooled.total + 0.5) / (pooled.total + 0.5).sum()
        return replace(self, concentration=np.broadcast_to(self.strength * share, np.shape(self.strength)))

    def update(self, statistics):
        return replace(self, concentration=self.concentration + statistics.total)


def normals(rng, n):
    return rng.normal(3.0, 2.0, (n, 3))


def poissons(rng, n, columns=3):
    return rng.poisson(2.0, (n, columns)) * 1.0


FAMILIES = {
    "gaussian": (nb.Gaussian(), normals),
    "gaussian, rate given": (nb.Gaussian(kappa=[0.1, 1.0, 3.0], rate=2.0), normals),
    "gaussian, loc given": (nb.Gaussian(loc=1.0, concentration=[[0.5], [2.0]]), normals),
    "poisson": (nb.Poisson([0.4, 1.0, 2.0]), poissons),
    "outside": (Waits(1.5), lambda rng, n: rng.exponential(2.0, (n, 3))),
    "outside, documents": (Background(), poissons),
}
"""Families whose prior follows the data, and cells."""


PRIORS = {
    "dirichlet": {"class_concentration": [0.4, 1.7]},
    "frequencies": {"class_probs": "empirical"},
    "averaged": {"class_probs": "empirical", "feature_inclusion": 0.4},
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.slow
def test_a_prior_that_follows_the_data_follows_the_rest(name, prior, rng):
    """And one in the same numbers does not."""
    family, cells = FAMILIES[name]
    X, y = cells(rng, 16), np.arange(16) % 2
    alone = weights = None
    if family.cell == "number":
        X, alone = with_holes(rng, X), cells_alone
    if prior == "averaged" and name == "gaussian, loc given":
        family = replace(family, concentration=1.0)
    if prior != "averaged":  # averages are of rows of weight one
        weights = np.where(rng.uniform(size=16) < 0.2, 0.0, rng.uniform(0.2, 3.0, 16))
    posterior = nb.fit(nb.NaiveBayes(family, **PRIORS[prior]), X, y, sample_weight=weights)
    found = assert_same(posterior, X, y, weights, alone=alone)
    held = assert_same(nb.fit(posterior.model, X, y, sample_weight=weights), X, y, weights)
    assert np.abs(found.elpd_i - held.elpd_i).max() > 1e-4
    assert prior != "frequencies" or found.elpd < held.elpd


def of_all_categories(case):
    return replace(case.family, categories=range(CATEGORIES)) if case.name == "categorical" else case.family


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counts_of_millions_keep_their_digits(case, rng):
    X, y = case.cells(rng, 40), rng.integers(0, 2, 40)
    posterior = nb.fit(nb.NaiveBayes(of_all_categories(case)), X, y).update(X, y, sample_weight=np.full(40, 1e5))
    found = nb.loo(posterior, X, y).elpd_i
    for i in range(0, 40, 8):
        rest = posterior.forget(X[[i]], y[[i]])
        assert rest.predict_log_proba(X[[i]])[0, y[i]] == pytest.approx(float(found[i]), abs=1e-7)


def test_without_another_row_all_classes_are_equally_probable():
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical"), [[0]], ["a"], classes=["a", "b", "c"])
    scores = nb.loo_scores(posterior, [[0]], ["a"])
    assert (scores["elpd_label"], scores["elpd_joint"]) == pytest.approx((-np.log(3), -np.log(6)), rel=1e-12)


NOTHING = {"leaves": 0, "cones": 0, "twigs": 0} | dict.fromkeys(["height", "bark", "moss", "width", "rings"], None)
"""Cells of the trees that say nothing."""


def tree_alone(row):
    """A row for each feature of a tree, in the order of the table: the words are first."""
    features = [["leaves", "cones", "twigs"], ["height"], ["bark"], ["moss"], ["width"], ["rings"]]
    rows = [row.assign(**{name: cell for name, cell in NOTHING.items() if name not in own}) for own in features]
    return pd.concat(rows, ignore_index=True)


@pytest.mark.parametrize("options", [{"class_probs": "empirical"}, {"feature_inclusion": 0.4}], ids=str)
def test_mixed_tables_equal_refitting(mixed, options):
    features, X, y = mixed
    averaged = "feature_inclusion" in options
    weights = None if averaged else np.random.default_rng(4).uniform(0.1, 2.0, 50)
    posterior = nb.fit(nb.NaiveBayes(features, **options), X, y, sample_weight=weights)
    assert_same(
        posterior,
        X,
        y,
        weights,
        alone=tree_alone,
        places=(0, 1, 2, 3, 39) if averaged else (*range(4), *range(6, 50, 3)),
    )


@pytest.mark.parametrize("options", [{}, {"class_probs": "empirical"}, {"feature_inclusion": 0.4}], ids=str)
def test_all_features_together_are_the_sum(mixed, options):
    """Up to a number for each row, which cancels in class probabilities; some rows are those of the whole."""
    features, X, y = mixed
    posterior = nb.fit(nb.NaiveBayes(features, **options), X, y)
    rows, places = rows_of(posterior, X, y), np.array([0, 3, 17, 38])
    each, together = features_left_out(posterior, rows), all_features_left_out(posterior, rows)
    joint, of_all = (found.log_class_prob + found.log_density.sum(axis=-1) for found in (each, together))
    assert together.log_density.shape == (50, 3, 1)
    np.testing.assert_allclose(np.diff(of_all), np.diff(joint), rtol=0, atol=1e-10)
    np.testing.assert_array_equal(together.log_class_prob, each.log_class_prob)
    np.testing.assert_array_equal(together.rows.codes, each.rows.codes)
    some = features_left_out(posterior, rows, places)
    for name in ("log_density", "log_class_prob"):
        np.testing.assert_array_equal(getattr(some, name), getattr(each, name)[places])
    np.testing.assert_array_equal(some.rows.place, places)
    np.testing.assert_array_equal(some.rows.codes, each.rows.codes[places])


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Multinomial(), nb.Poisson()], ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_sparse_equals_dense(family, weighted, rng):
    X = rng.poisson(0.4, (30, 40)) * rng.integers(1, 30, (30, 40))
    X = (X > 0).astype(int) if isinstance(family, nb.Bernoulli) else X
    y = rng.integers(0, 3, 30)
    X[3] = 0
    weights = rng.uniform(0.5, 2.0, 30) if weighted else None
    posterior = nb.fit(nb.NaiveBayes(family), X, y, sample_weight=weights)
    sparse = scipy.sparse.csr_array(X)
    found = [nb.loo(posterior, x, y, sample_weight=weights).elpd_i for x in (X, sparse)]
    np.testing.assert_allclose(*found, rtol=0, atol=1e-11)
    for places in (None, np.array([2, 9, 29])):
        one, other = (features_left_out(posterior, rows_of(posterior, x, y, weights), places) for x in (X, sparse))
        np.testing.assert_allclose(one.log_density, other.log_density, rtol=0, atol=1e-11)


@pytest.mark.parametrize("options", [{}, {"feature_inclusion": 0.4}], ids=str)
@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Gaussian(0.0, 1.0, 1.0, 1.0), nb.Gaussian()], ids=repr)
def test_few_rows_of_many_columns_are_those_of_all_rows(family, options, rng):
    """Fewer rows than columns are computed for all columns at once."""
    X = rng.integers(0, 2, (30, 12)).astype(float)
    X[4, 3] = np.nan
    y, weights = rng.integers(0, 3, 30), rng.uniform(0.5, 2.0, 30) if not options else None
    posterior = nb.fit(nb.NaiveBayes(family, **options), X, y, sample_weight=weights)
    places = np.array([0, 4, 29])
    all_rows, few = (features_left_out(posterior, rows_of(posterior, X, y, weights), each) for each in (None, places))
    np.testing.assert_allclose(few.log_density, all_rows.log_density[places], rtol=0, atol=1e-11)


def test_rows_of_many_chunks_keep_their_place(rng, monkeypatch):
    monkeypatch.setattr("bayesnb.data.tables.Table.chunk_cells", 2**16)
    X, y = rng.normal(size=(20_000, 20)), rng.integers(0, 3, 20_000)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    places = np.array([0, 3276, 3277, 13106, 13107, 19_999])
    assert_same(posterior, X, y, places=places)
    rows = rows_of(posterior, X, y)
    whole, some = features_left_out(posterior, rows), features_left_out(posterior, rows, places)
    np.testing.assert_array_equal(some.log_density, whole.log_density[places])
    X[17_000, 3] = 1e9
    with pytest.raises(ValueError, match="row 17000 was never among the data: without it, column 3 in"):
        nb.loo(posterior, X, y)


@pytest.mark.parametrize("kind", ["exact", "averaged", "sampled"])
def test_without_its_weight_a_row_is_one_of_equal_rows(kind, rng):
    X, y, times = rng.integers(0, 2, (20, 3)), rng.integers(0, 2, 20), rng.integers(1, 5, 20)
    copies = np.repeat(np.arange(20), times)
    model = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.5 if kind == "averaged" else None)
    weighted, repeated = nb.fit(model, X, y, sample_weight=times), nb.fit(model, X[copies], y[copies])
    if kind == "sampled":
        draws = weighted.draws(num_draws=200)
        weighted = nb.from_samples(weighted.model, draws, X=X, y=y)
        repeated = nb.from_samples(repeated.model, draws, X=X[copies], y=y[copies])
    found = nb.loo(weighted, X, y)
    assert (times * found.elpd_i).sum() == pytest.approx(nb.loo(repeated, X[copies], y[copies]).elpd)
    if kind != "exact":
        with pytest.raises(ValueError, match=r"weights w are frequencies, nb\.loo\(posterior, X, y\) gives"):
            nb.loo(weighted, X, y, sample_weight=times)


def test_features_given_the_rest_are_estimated_from_draws(rng):
    """Under the classes that a row does not have they are averages over all draws; a missing cell tells nothing."""
    X, y = rng.integers(0, 2, (30, 2)).astype(float), np.arange(30) % 2
    X[4, 0] = np.nan
    exact = nb.fit(nb.Bernoulli(), X, y)
    draws = exact.draws(num_draws=2000)
    sampled = nb.from_samples(exact.model, draws, X=X, y=y)
    truth, found = (features_left_out(one, rows_of(exact, X, y)).log_density for one in (exact, sampled))
    prob = draws["x_prob"].mean(axis=(0, 1))
    expected = np.log(np.where(X[:, None] == 1, prob, 1 - prob))
    own, seen = np.arange(2) == y[:, None], ~np.isnan(X)
    np.testing.assert_allclose(found[~own][seen], expected[~own][seen], rtol=1e-10)
    np.testing.assert_allclose(found[own], truth[own], rtol=0, atol=0.02)
    assert np.abs(truth[own] - expected[own])[seen].min() > 0.03
    np.testing.assert_allclose(found[4, :, 0], 0.0, atol=1e-12)


FAST = {
    "gaussian": (nb.Gaussian(0.0, 1.0, 2.0, 1.5), partial(poissons, columns=21)),
    "gaussian, following": (nb.Gaussian(), poissons),
    "gaussian of many columns": (nb.Gaussian(), partial(poissons, columns=21)),
    "gaussian, rate given": (nb.Gaussian(rate=2.0), poissons),
    "bernoulli": (nb.Bernoulli(2.0, 3.0), lambda rng, n: rng.integers(0, 2, (n, 21)) * 1.0),
    "categorical": (nb.Categorical(0.7), lambda rng, n: rng.integers(0, 4, (n, 21)) * 1.0),
    "words": (nb.Multinomial(), lambda rng, n: scipy.sparse.csr_array(poissons(rng, n))),
}


@pytest.mark.parametrize("awkward", [False, True], ids=["", "holes or weights"])
@pytest.mark.parametrize("name", FAST)
def test_the_fast_way_is_the_general_one(name, awkward, rng, monkeypatch):
    family, cells = FAST[name]
    X, y, weights = cells(rng, 200), rng.integers(0, 3, 200), None
    if family.cell == "number" and name != "gaussian":
        X[:, 0] = 1.0
    if awkward and name == "words":
        weights = rng.uniform(0.5, 2.0, 200)
    elif awkward:
        X = with_holes(rng, X)
        X[y == 0, 1] = np.nan
    posterior = nb.fit(family, X, y, sample_weight=weights)
    calls, general = [], left_out._cells_without_rows
    monkeypatch.setattr(left_out, "_cells_without_rows", lambda *a, **o: calls.append(len(a[3])) or general(*a, **o))
    fast = [nb.loo(posterior, X, y, sample_weight=weights)]
    monkeypatch.setattr(gaussian, "COMPILED_FROM", 0)
    fast.append(nb.loo(posterior, X, y, sample_weight=weights))
    assert not any(calls)
    monkeypatch.setattr(type(family), "row_log_left_out", lambda *_, **__: None)
    slow = nb.loo(posterior, X, y, sample_weight=weights)
    assert calls[-1] == 200
    for found in fast:
        np.testing.assert_allclose(found.elpd_i, slow.elpd_i, rtol=1e-10, atol=1e-11)


AWKWARD = {
    "a constant column": lambda X: np.column_stack([X, np.full(len(X), 0.1)]),
    "one cell unlike zeros": lambda X: np.column_stack([X, np.eye(len(X))[:, 4]]),
    "one cell unlike the rest": lambda X: np.column_stack([X, 0.1 + 0.7 * np.eye(len(X))[:, 4]]),
    "one cell unlike the others": lambda X: np.column_stack([X, 1.95 + np.eye(len(X))[:, 4]]),
    "a cell that is seen once": lambda X: np.column_stack([X, np.where(np.arange(len(X)) == 5, 2.0, np.nan)]),
    "a column without cells": lambda X: np.column_stack([X, np.full(len(X), np.nan)]),
    "two cells": lambda X: np.column_stack([X, np.where(np.arange(len(X)) < 2, X[:, 0], np.nan)]),
    "a class without cells": lambda X: np.column_stack([X, np.where(np.arange(len(X)) < 8, X[:, 0], np.nan)]),
    "a far mean": lambda X: X + 1e4,
    "an outlier": lambda X: X + 1e3 * np.eye(len(X), 2),
}


@pytest.mark.parametrize("case", AWKWARD)
@pytest.mark.parametrize(
    "family", [nb.Gaussian(), nb.Gaussian(1.0, 0.3, 2.0, 1.5), nb.Poisson(fractional=True)], ids=repr
)
def test_awkward_columns(family, case, rng, monkeypatch):
    y = np.array([0] * 4 + [1] * 4 + [2] * 2 + [3])
    X = AWKWARD[case](rng.poisson(4.0, (11, 2)).astype(float))
    posterior = nb.fit(family, X, y)
    found = assert_same(posterior, X, y, atol=1e-9).elpd_i
    for change in ((gaussian, "COMPILED_FROM", 0), (type(family), "row_log_left_out", lambda *_, **__: None)):
        with monkeypatch.context() as patch:
            patch.setattr(*change)
            np.testing.assert_allclose(nb.loo(posterior, X, y).elpd_i, found, rtol=0, atol=1e-9, err_msg=f"{change}")


@pytest.mark.parametrize(("family", "cell"), [(nb.Gaussian(), 4.2), (nb.Gaussian(), 50.0), (nb.Poisson(), 12.0)])
def test_a_row_that_was_never_there_is_refused(family, cell):
    X, y = np.array([[3.0], [3.0], [4.0], [1.0], [9.0], [2.0]]), np.array([0, 0, 0, 1, 1, 1])
    stranger = X.copy()
    stranger[1] = cell
    with pytest.raises(ValueError, match=r"row 1 was never among the data: without it, column 0 in class 0"):
        nb.loo(nb.fit(family, X, y), stranger, y)


@pytest.mark.filterwarnings("ignore:y holds 20 values in 39 rows")
def test_two_rows_in_all_or_in_each_class(rng):
    """What is left of two rows is no rounding error."""
    for X, y in (([[1.0], [4.0]], ["a", "b"]), (10 + rng.normal(size=(40, 2)), np.repeat(np.arange(20), 2))):
        assert_same(nb.fit(nb.Gaussian(), X, y), np.array(X), np.array(y))


def test_a_class_of_one_row_is_impossible_without_it():
    """Where class probabilities are the frequencies of the rows; a probability that was given stays."""
    X, y = np.array([[1.0], [2.0], [9.0], [8.0], [3.0]]), np.array(["a", "a", "b", "c", "a"])
    model = nb.NaiveBayes(nb.Gaussian(), class_probs="empirical")
    posterior = nb.fit(model, X, y)
    with pytest.warns(UserWarning, match="rows 2, 3: the rows not left out hold no such label"):
        found = nb.loo(posterior, X, y)
    assert np.isneginf(found.elpd_i.values).tolist() == [False, False, True, True, False]
    assert found.elpd == -np.inf
    assert found.warning
    assert "There was a warning" in repr(found)
    assert np.isneginf(posterior.forget(X[[2]], y[[2]]).predict_log_proba(X[[2]])[0, 1])
    with pytest.warns(UserWarning, match="rows 2, 3"):
        assert nb.loo_scores(posterior, X, y)["elpd_label"] == -np.inf
    with pytest.warns(UserWarning, match="row 2: .* its label has probability zero"):
        nb.loo(posterior, X[:3], y[:3])
    with pytest.warns(UserWarning, match="row 2: "):
        folds = nb.kfold(posterior, X[:3], y[:3], folds=[0, 0, 1])
    assert np.isneginf(folds.elpd_i.values).tolist() == [False, False, True]
    assert folds.warning
    nine = np.arange(9.0)[:, None], np.arange(9)
    with pytest.warns(UserWarning, match="rows 0, 1, 2, 3, 4 and 4 more:"):
        nb.loo(nb.fit(model, *nine), *nine)
    known = nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs=[1.0, 0.0]), [[1], [0], [1]], [0, 0, 1])
    assert nb.loo(known, [[1], [0], [1]], [0, 0, 1]).elpd == -np.inf


@pytest.mark.parametrize("concentration", [0.3, 0.5])
def test_an_empty_class_warns_of_nothing(concentration):
    X, y = np.array([[1], [0], [1]]), np.array(["a", "a", "b"])
    model = nb.NaiveBayes(nb.Bernoulli(), class_concentration=concentration)
    assert_same(nb.fit(model, X, y, classes=["a", "b", "c"]), X, y)
