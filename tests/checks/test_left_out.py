"""Leave-one-out where the prior follows the data, beside refits, which find its numbers anew."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from cases import Exponential, with_holes
from refitting import assert_same, refit
from scipy.special import logsumexp
from slow import names_fast

import bayesnb as nb
from bayesnb.families import gaussian
from bayesnb.posterior import left_out_blocks as left_out_data_prior


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Waits(Exponential):
    """A family from outside whose rate follows the column's mean; it knows no fast way."""

    rate: Any = None

    def on_scale_of(self, pooled):
        if self.rate is not None:
            return self
        return replace(self, rate=self.concentration * pooled.total / np.maximum(pooled.n, 1e-300))

    def update(self, statistics):
        return Waits(self.concentration + statistics.n, self.rate + statistics.total)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class WaitsFromZero(Waits):
    """The same, with a zero where the rate is open: no family need say it by None."""

    rate: Any = 0.0

    positive = ("concentration",)

    def on_scale_of(self, pooled):
        return self if np.all(np.asarray(self.rate) > 0) else Waits(self.concentration).on_scale_of(pooled)


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


FAMILIES = {
    "gaussian": (nb.Gaussian(), lambda rng, n: rng.normal(3.0, 2.0, (n, 3))),
    "gaussian, rate given": (nb.Gaussian(kappa=[0.1, 1.0, 3.0], rate=2.0), lambda rng, n: rng.normal(3.0, 2.0, (n, 3))),
    "gaussian, loc given": (
        nb.Gaussian(loc=1.0, concentration=[[0.5], [2.0]]),
        lambda rng, n: rng.normal(3.0, 2.0, (n, 3)),
    ),
    "poisson": (nb.Poisson([0.4, 1.0, 2.0]), lambda rng, n: rng.poisson(2.0, (n, 3)).astype(float)),
    "outside": (Waits(1.5), lambda rng, n: rng.exponential(2.0, (n, 3))),
    "outside, no None": (WaitsFromZero(1.5), lambda rng, n: rng.exponential(2.0, (n, 3))),
    "outside, documents": (Background(), lambda rng, n: rng.poisson(2.0, (n, 3)).astype(float)),
}

PRIORS = {"dirichlet": {"class_concentration": [0.4, 1.7]}, "frequencies": {"class_probs": "empirical"}}

WEIGHTS = {
    "plain": lambda rng, n: None,
    "doubled": lambda rng, n: np.full(n, 2.0),
    "weighted": lambda rng, n: np.where(rng.uniform(size=n) < 0.2, 0.0, rng.uniform(0.2, 3.0, n)),
}


def table(name, rng, rows=24, holes=True):
    family, cells = FAMILIES[name]
    X = cells(rng, rows)
    return family, with_holes(rng, X) if holes and family.cell == "number" else X


@pytest.mark.parametrize("weights", names_fast(WEIGHTS, {"plain", "weighted"}))
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_prior_that_follows_the_data_follows_the_rest(name, prior, weights, rng):
    family, X = table(name, rng)
    y, weights = rng.integers(0, 2, 24), WEIGHTS[weights](rng, 24)
    posterior = nb.fit(nb.NaiveBayes(family, **PRIORS[prior]), X, y, sample_weight=weights)
    found = assert_same(posterior, X, y, weights)
    held = nb.loo(nb.fit(posterior.model, X, y, sample_weight=weights), X, y, sample_weight=weights)
    assert np.abs(found.elpd_i - held.elpd_i).max() > 1e-4
    if prior == "frequencies":
        assert found.elpd < held.elpd


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("columns", [3, 21])
@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Gaussian(rate=2.0), nb.Poisson()], ids=repr)
@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
def test_the_fast_way_is_the_general_one(family, compiled, columns, holes, rng, monkeypatch):
    X = rng.poisson(3.0, (200, columns)).astype(float)
    y = rng.integers(0, 3, 200)
    X[:, 0] = 2.0
    if holes:
        X = with_holes(rng, X)
        X[y == 0, 1] = np.nan
    if compiled:
        monkeypatch.setattr(gaussian, "COMPILED_FROM", 0)
    posterior = nb.fit(family, X, y)
    calls = []
    monkeypatch.setattr(
        left_out_data_prior,
        "without_rows",
        lambda *a, general=left_out_data_prior.without_rows, **o: calls.append(len(a[3])) or general(*a, **o),
    )
    fast = nb.loo_scores(posterior, X, y)
    assert calls == [0]
    monkeypatch.setattr(type(family), "row_log_left_out", lambda *_, **__: None)
    slow = nb.loo_scores(posterior, X, y)
    assert calls == [0, 200]
    np.testing.assert_allclose(fast, slow, rtol=1e-12)


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
    _, proba = refit(posterior, X, y)
    for change in ((), (gaussian, "COMPILED_FROM", 0), (type(family), "row_log_left_out", lambda *_, **__: None)):
        with monkeypatch.context() as patch:
            if change:
                patch.setattr(*change)
            left_out = nb.loo(posterior, X, y)
        np.testing.assert_allclose(left_out.elpd_i, proba[np.arange(11), y], rtol=0, atol=1e-9, err_msg=f"{change}")


@pytest.mark.parametrize(("family", "cell"), [(nb.Gaussian(), 4.2), (nb.Gaussian(), 50.0), (nb.Poisson(), 12.0)])
def test_a_row_that_was_never_there_is_refused(family, cell):
    X, y = np.array([[3.0], [3.0], [4.0], [1.0], [9.0], [2.0]]), np.array([0, 0, 0, 1, 1, 1])
    stranger = X.copy()
    stranger[1] = cell
    with pytest.raises(ValueError, match=r"row 1 was never among the data: without it, column 0 in class 0"):
        nb.loo(nb.fit(family, X, y), stranger, y)


def test_the_only_row_of_a_class_left_out_of_log_normal_columns():
    X, y = np.array([[1.0, 4.0], [2.0, 3.0], [0.5, 9.0], [7.0, 0.1]]), [0, 0, 0, 1]
    found, of_logs = (
        nb.loo(nb.fit(family(0.0, 1.0, 2.0, 1.5), cells, y), cells, y)
        for family, cells in ((nb.LogNormal, X), (nb.Gaussian, np.log(X)))
    )
    np.testing.assert_allclose(found.elpd_i, of_logs.elpd_i, rtol=1e-10)


def test_two_rows():
    X, y = np.array([[1.0], [4.0]]), np.array(["a", "b"])
    assert_same(nb.fit(nb.Gaussian(), X, y), X, y)


class TestFrequencies:
    def test_noise_in_twenty_classes(self):
        """The frequencies of all labels know the label that is left out; those of the others say less than a prior."""
        rng = np.random.default_rng(0)
        y, X = rng.integers(0, 20, 400), rng.integers(0, 2, (400, 5))
        models = {"dirichlet": nb.NaiveBayes(nb.Bernoulli())}
        models["frequencies"] = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
        expected = {name: [] for name in models}
        for i in range(400):
            x, label = np.delete(X, i, axis=0), np.delete(y, i)
            n = np.bincount(label, minlength=20)
            one = (np.eye(20)[label].T @ x + 1) / (n[:, None] + 2)
            features = np.log(np.where(X[i], one, 1 - one)).sum(axis=1)
            for name, concentration in (("dirichlet", 1.0), ("frequencies", 0.0)):
                joint = features + np.log(n + concentration)
                expected[name].append(joint[y[i]] - logsumexp(joint))
        found = nb.compare_models(models, X, y)
        for name, pointwise in expected.items():
            np.testing.assert_allclose(found.loo[name].elpd_i, pointwise, rtol=1e-12)
        assert found.table.loc["frequencies", "elpd_difference"] == pytest.approx(-0.98, abs=0.005)
        assert found.table["model_probability"].isna().all()
        assert found.table.index.tolist() == ["dirichlet", "frequencies"]
        assert found.table["prior_saw"].tolist() == ["", "labels"]

    def test_a_class_of_one_row_is_impossible_without_it(self):
        X, y = np.array([[1.0], [2.0], [9.0], [8.0], [3.0]]), np.array(["a", "a", "b", "c", "a"])
        posterior = nb.fit(nb.NaiveBayes(nb.Gaussian(), class_probs="empirical"), X, y)
        with pytest.warns(UserWarning, match="rows 2, 3: the rows not left out hold no such label"):
            found = nb.loo(posterior, X, y)
        assert np.isneginf(found.elpd_i.values).tolist() == [False, False, True, True, False]
        assert found.elpd == -np.inf
        assert found.warning
        rest = posterior.forget(X[[2]], y[[2]])
        assert np.isneginf(rest.predict_log_proba(X[[2]])[0, 1])
        with pytest.warns(UserWarning, match="rows 2, 3"):
            assert nb.loo_scores(posterior, X, y)["elpd_label"] == -np.inf
        with pytest.warns(UserWarning, match="row 2: .* its label has probability zero"):
            nb.loo(posterior, X[:3], y[:3])
        with pytest.warns(UserWarning, match="row 2: "):
            folds = nb.kfold(posterior, X[:3], y[:3], folds=[0, 0, 1])
        assert np.isneginf(folds.elpd_i.values).tolist() == [False, False, True]
        assert folds.warning

    def test_many_such_rows(self):
        X, y = np.arange(9.0)[:, None], np.arange(9)
        posterior = nb.fit(nb.NaiveBayes(nb.Gaussian(), class_probs="empirical"), X, y)
        with pytest.warns(UserWarning, match="rows 0, 1, 2, 3, 4 and 4 more:"):
            nb.loo(posterior, X, y)

    def test_a_known_probability_of_zero_is_as_it_was_given(self):
        X, y = np.array([[1], [0], [1]]), np.array([0, 0, 1])
        posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs=[1.0, 0.0]), X, y)
        assert nb.loo(posterior, X, y).elpd == -np.inf

    @pytest.mark.parametrize("concentration", [0.3, 0.5])
    def test_an_empty_class_warns_of_nothing(self, concentration):
        X, y = np.array([[1], [0], [1]]), np.array(["a", "a", "b"])
        model = nb.NaiveBayes(nb.Bernoulli(), class_concentration=concentration)
        assert_same(nb.fit(model, X, y, classes=["a", "b", "c"]), X, y)


@pytest.mark.parametrize("name", names_fast(FAMILIES, {*FAMILIES} - {"outside", "outside, no None"}))
def test_averaged_over_features(name, rng):
    family, X = table(name, rng)
    family = replace(family, concentration=1.0) if name == "gaussian, loc given" else family
    y = rng.integers(0, 2, 24)
    model = nb.NaiveBayes(family, feature_inclusion=0.4, class_probs="empirical")
    found = assert_same(nb.fit(model, X, y), X, y)
    held = nb.loo(nb.fit(nb.fit(model, X, y).model, X, y), X, y)
    assert np.abs(found.elpd_i - held.elpd_i).max() > 1e-4


@pytest.mark.parametrize("name", ["gaussian", "outside"])
@pytest.mark.parametrize("options", [{}, {"feature_inclusion": 0.4}], ids=["plain", "averaged"])
def test_folds(name, options, rng):
    family, X = table(name, rng)
    y, folds = np.arange(24) % 2, rng.integers(0, 3, 24)
    model = nb.NaiveBayes(family, class_probs="empirical", **options)
    found = nb.kfold(nb.fit(model, X, y), X, y, folds=folds)
    for fold in range(3):
        out = folds == fold
        rest = nb.fit(model, X[~out], y[~out])
        expected = rest.predict_log_proba(X[out])[np.arange(out.sum()), y[out]]
        np.testing.assert_allclose(found.elpd_i[out], expected, rtol=0, atol=1e-10)


class TestMaxima:
    @pytest.fixture(scope="class")
    @staticmethod
    def learned():
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 60)
        X = (rng.uniform(size=(60, 6)) < np.where(y, 0.8, 0.3)[:, None]).astype(int)
        model = nb.NaiveBayes(nb.Bernoulli(dist.Gamma(2.0, 1.0), 1.5))
        return model, X, y, nb.fit(model, X, y, nb.EmpiricalBayes())

    def test_leave_one_out_warns(self, learned):
        _, X, y, posterior = learned
        for criticise in (nb.loo, nb.loo_scores):
            with pytest.warns(UserWarning, match=r"concentration1: nb\.EmpiricalBayes chose them by all rows"):
                found = criticise(posterior, X, y)
            if criticise is nb.loo:
                assert found.warning

    def test_folds_learn_anew(self, learned):
        model, X, y, posterior = learned
        folds = np.arange(60) % 3
        found = nb.kfold(posterior, X, y, folds=folds)
        for fold in range(3):
            out = folds == fold
            rest = nb.fit(model, X[~out], y[~out], nb.EmpiricalBayes())
            expected = rest.predict_log_proba(X[out])[np.arange(20), y[out]]
            np.testing.assert_allclose(found.elpd_i[out], expected, rtol=0, atol=1e-10)

    def test_make_no_probability_of_a_model(self, learned):
        _, X, y, posterior = learned
        for rival in (nb.Bernoulli(), posterior):
            found = nb.compare_models({"learned": posterior, "rival": rival}, X, y)
            assert found.table["model_probability"].isna().all()
            assert found.table.loc["learned", "prior_saw"] == "maximised"
            assert any("learned: x_concentration1: nb.EmpiricalBayes chose them" in note for note in found.notes)
            assert found.notes[-1].startswith(
                "No model probabilities: nb.EmpiricalBayes chose hyperparameters of learned"
            )


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_draws_of_a_prior_that_follows_the_data_are_warned_of(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    for model, told in (
        (nb.NaiveBayes(nb.Gaussian()), "hyperparameters on the data's scale. The score"),
        (nb.NaiveBayes(nb.Gaussian(0.0, 1.0, 1.0, 1.0), class_probs="empirical"), r"\(class_probs=\"empirical\"\)\."),
    ):
        exact = nb.fit(model, X, y)
        sampled = nb.from_samples(model.bind(X, y), exact.draws(num_draws=100, key=1), X=X, y=y)
        with pytest.warns(UserWarning, match=told):
            assert nb.loo(sampled, X, y).warning
        in_numbers = nb.from_samples(exact.model, exact.draws(num_draws=100, key=1), X=X, y=y)
        assert np.isfinite(nb.loo(in_numbers, X, y).elpd)


class TestComparison:
    @pytest.mark.parametrize(
        ("first", "second", "reason"),
        [
            (nb.Gaussian(), nb.Gaussian(0.0, 0.1, 1.0, 0.1), "the scale of the columns for first; nothing for second"),
            (
                nb.NaiveBayes(nb.Gaussian(), class_probs="empirical"),
                nb.Gaussian(),
                "the frequencies of the labels and the scale of the columns for first; the scale",
            ),
            (
                nb.Gaussian(),
                nb.NaiveBayes(nb.Gaussian(), class_concentration=2.0),
                "the class priors of first and second differ",
            ),
            (
                nb.NaiveBayes(nb.Gaussian(), class_probs=[0.5, 0.5]),
                nb.Gaussian(),
                "the class priors of first and second differ",
            ),
        ],
    )
    def test_what_is_not_compared(self, first, second, reason, rng):
        X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
        found = nb.compare_models({"first": first, "second": second}, X, y)
        assert found.table["model_probability"].isna().all()
        assert reason in found.notes[-1]
        assert reason in " ".join(repr(found).split())
        assert (np.diff(found.table["elpd"]) <= 0).all()

    @pytest.mark.parametrize("prior", [{}, {"class_probs": "empirical"}, {"class_probs": [0.3, 0.7]}], ids=str)
    def test_what_is_compared(self, prior, rng):
        X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
        make = partial(nb.NaiveBayes, **prior)
        found = nb.compare_models({"one": make(nb.Gaussian()), "other": make(nb.Gaussian(kappa=2.0))}, X, y)
        assert found.table["model_probability"].sum() == pytest.approx(1.0)
        assert found.notes == ()

    def test_classes_in_another_order_are_the_same_prior(self):
        X, y = np.array([[0], [1], [1], [0], [1]]), list("abbab")
        there, back = (
            nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs={"a": 0.4, "b": 0.6}), X, y, classes=order)
            for order in (["a", "b"], ["b", "a"])
        )
        assert nb.compare_models({"there": there, "back": back}, X, y).table["model_probability"].tolist() == [0.5, 0.5]

    def test_an_impossible_row_is_noted(self):
        X, y = np.array([[0], [1], [1], [0]]), list("aabc")
        models = {"dirichlet": nb.Bernoulli(), "frequencies": nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")}
        found = nb.compare_models(models, X, y)
        assert found.table.loc["frequencies", "elpd"] == -np.inf
        assert found.notes[0].startswith("frequencies: rows 2, 3: the rows not left out hold no such label")
