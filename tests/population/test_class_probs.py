"""Class probabilities of rows without labels: sums over all labels, draws of the fit one by one, and what users see."""

import numpy as np
import pandas as pd
import pytest
from every_labelling import moments_of_class_probs
from trees import KINDS, every_kind, trees

import bayesnb as nb
from bayesnb.population.class_probs import draw_class_probs, likelihood_ratios
from bayesnb.population.mixture import ClassProbsDensity

RATES = np.array([[0.9, 0.2], [0.3, 0.8], [0.2, 0.1]])
KNOWN = nb.from_parameters(
    nb.Bernoulli(), classes=["a", "b", "c"], class_probs=[0.2, 0.5, 0.3], parameters={"prob": RATES}
)
CELLS = np.array([[1, 0], [1, 1], [0, np.nan], [1, 0], [1, 0], [0, 1]])
"""Three of the rows are equal, and one lacks a cell."""


def ratios_of_cells():
    of_cells = np.where(CELLS[:, None] == 1, RATES, 1 - RATES)
    return np.where(np.isnan(CELLS)[:, None], 1.0, of_cells).prod(axis=2)


@pytest.mark.parametrize("concentration", [1.0, [3.0, 0.7, 1.5]], ids=["uniform", "by class"])
@pytest.mark.parametrize("labels", [None, ["a", None, None, "c", None, None]], ids=["no label", "two labels"])
def test_a_known_fit_leaves_the_sum_over_all_labels(concentration, labels):
    """A label counts like a sample of the class prior."""
    found = nb.estimate_class_probs(KNOWN, CELLS, labels, class_concentration=concentration, prob=0.8, key=1)
    known = [0, 3] if labels else []
    prior = np.broadcast_to(concentration, 3) + np.bincount([0, 2][: len(known)], minlength=3)
    mean, sd = moments_of_class_probs(np.delete(ratios_of_cells(), known, axis=0), prior)
    assert found.draws.shape == (4, 1000, 3)
    assert (np.abs(found.table["mean"] - mean) < 4.5 * sd / np.sqrt(4000)).all()
    np.testing.assert_allclose(found.table["sd"], sd, rtol=0.06)
    lower, upper = np.quantile(found.draws.reshape(-1, 3), [0.1, 0.9], axis=0)
    np.testing.assert_allclose(found.table[["lower", "upper"]], np.stack([lower, upper], axis=1))
    assert found.table["fit"].tolist() == [0.2, 0.5, 0.3]
    assert found.table.index.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(found.posterior.class_probs(), found.table["mean"])
    assert (found.agrees, found.drift) == (None, None)  # there are no statistics to compare
    with pytest.raises(TypeError, match="ClassProbsEstimate: take its posterior attribute"):
        found.posterior.with_class_probs(found)


@pytest.mark.parametrize("kind", KINDS)
def test_ratios_are_densities_without_the_class_probabilities(kind, rng):
    X, y = trees(rng, 40)
    posterior = every_kind(X, y)[kind]
    found = likelihood_ratios(posterior, X[:9])
    given = posterior.with_class_probs([0.7, 0.1, 0.2])
    np.testing.assert_allclose(found, likelihood_ratios(given, X[:9]), rtol=1e-12)
    odds = found * [0.7, 0.1, 0.2]
    np.testing.assert_allclose(given.predict_proba(X[:9]), odds / odds.sum(axis=1, keepdims=True), rtol=1e-9)


def few_and_many(rng, num_fitted, num_new, probs):
    """A fit of few rows, and rows of other class probabilities."""
    means = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 2.0]])

    def rows(codes):
        return means[codes] + rng.normal(size=(len(codes), 2))

    codes = np.repeat(np.arange(3), num_fitted)
    posterior = nb.fit(nb.Gaussian(0.0, 0.3, 2.0, 2.0), rows(codes), codes)
    return posterior, rows(rng.choice(3, num_new, p=probs))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["closed form", "draws"])
def test_the_fit_is_as_uncertain_as_its_draws(rng, kind):
    """The other way draws class probabilities under each draw of the parameters."""
    posterior, new = few_and_many(rng, 15, 400, [0.6, 0.3, 0.1])
    if kind == "draws":
        posterior = nb.from_samples(posterior.problem, posterior.draws(num_draws=60))
    found = nb.estimate_class_probs(posterior, new, key=2).draws.reshape(-1, 3)
    proba = posterior.with_class_probs([1 / 3] * 3).proba_draws(new, num_draws=60, num_chains=4, key=8)
    likelihoods = proba.reshape(240, 400, 3)
    each = np.concatenate([ClassProbsDensity.of(own, np.ones(3)).draw(20, rng) for own in likelihoods])
    np.testing.assert_allclose(found.std(axis=0), each.std(axis=0), rtol=0.15)
    assert (found.std(axis=0) > 1.2 * draw_class_probs(posterior, new).reshape(-1, 3).std(axis=0)).all()
    np.testing.assert_allclose(found.mean(axis=0), each.mean(axis=0), atol=0.5 * each.std(axis=0).min())


def test_some_of_the_rows_tell_of_the_fit(rng, monkeypatch):
    posterior, new = few_and_many(rng, 15, 1500, [0.6, 0.4, 0.0])
    every = nb.estimate_class_probs(posterior, new).table
    monkeypatch.setattr("bayesnb.population.class_probs.ROWS_OF_FIT", 500)
    some = nb.estimate_class_probs(posterior, new).table
    np.testing.assert_allclose(some["sd"], every["sd"], rtol=0.25)
    np.testing.assert_allclose(some["mean"], every["mean"], atol=0.2 * every["sd"].max())


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["auto", None])
def test_a_classifier_predicts_rows_of_the_new_population(rng, penguins, weights, monkeypatch):
    monkeypatch.setattr("bayesnb.population.class_probs.DRAWS_AVERAGED", 20)
    X, y = penguins
    rows = rng.permutation(len(X))
    fitted, new = rows[:150], rows[150:]
    new = np.concatenate([new[y.iloc[new] == "Adelie"][:9], new[y.iloc[new] != "Adelie"]])
    classifier = nb.NaiveBayesClassifier(feature_weights=weights).fit(X.iloc[fitted], y.iloc[fitted])
    before = classifier.predict_proba(X)
    found = nb.estimate_class_probs(classifier, X.iloc[new], key=4)
    again = nb.estimate_class_probs(classifier.posterior_, X.iloc[new], key=4)
    np.testing.assert_array_equal(found.draws, again.draws)
    np.testing.assert_array_equal(classifier.predict_proba(X), before)
    share = (y.iloc[new].to_numpy()[:, None] == classifier.classes_).mean(axis=0)
    assert (np.abs(found.table["mean"] - share) < 4 * found.table["sd"]).all()
    some = found.draws.reshape(-1, 3)[np.linspace(0, 3999, 20).astype(int)]
    each = [classifier.with_class_probs(probs / probs.sum()).predict_proba(X[:20]) for probs in some]
    np.testing.assert_allclose(found.predict_proba(X[:20]), np.mean(each, axis=0), rtol=1e-9)
    drift = nb.drift(classifier, X.iloc[new], key=4)
    pd.testing.assert_frame_equal(found.drift.table, drift.table)
    assert found.agrees is True
    assert "look like rows of the fit" in repr(found)


def test_columns_that_moved_are_a_warning(penguins):
    X, y = penguins
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    with pytest.warns(UserWarning, match="not look like rows of the fit in any proportions: 'body_mass_g'"):
        found = nb.estimate_class_probs(posterior, X.assign(body_mass_g=X["body_mass_g"] + 2000))
    assert found.agrees is False
    assert "'body_mass_g'" in repr(found)


def test_rows_without_cells_leave_the_prior(penguins):
    X, y = penguins
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    for rows in (X.assign(**dict.fromkeys(X, None)), X[:1].assign(**dict.fromkeys(X, None))):
        found = nb.estimate_class_probs(posterior, rows)
        np.testing.assert_allclose(found.table["mean"], 1 / 3, atol=0.02)
        np.testing.assert_allclose(found.table["sd"], np.sqrt(1 / 18), rtol=0.05)
        assert found.agrees is None


def test_all_labels_known_leave_a_dirichlet_distribution(penguins):
    X, y = penguins
    found = nb.estimate_class_probs(nb.fit(nb.NaiveBayes.from_frame(X), X, y), X, y)
    counts = 1.0 + y.value_counts()[found.table.index]
    np.testing.assert_allclose(found.table["mean"], counts / counts.sum(), atol=0.002)


def test_one_class_has_all_rows():
    with pytest.warns(UserWarning, match="one class"):
        posterior = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "a"])
    assert nb.estimate_class_probs(posterior, [[1], [1]]).table.loc["a", ["mean", "lower", "upper"]].tolist() == [1] * 3


def test_the_key_decides(penguins):
    X, y = penguins
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    one, again, other = (nb.estimate_class_probs(posterior, X[:50], key=key).draws for key in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).all()


WRONG = {
    "no rows": (lambda p, X: nb.estimate_class_probs(p, X[:0]), "X_new has no rows"),
    "a label that is no class": (lambda p, X: nb.estimate_class_probs(p, X[:2], ["Emperor", None]), "Emperor"),
    "labels of other rows": (lambda p, X: nb.estimate_class_probs(p, X[:2], ["Adelie"]), "1 label"),
    "no column": (lambda p, X: nb.estimate_class_probs(p, X.drop(columns="sex")), "sex"),
    "prob": (lambda p, X: nb.estimate_class_probs(p, X, prob=1.5), "prob is 1.5"),
    "a prior of other classes": (
        lambda p, X: nb.estimate_class_probs(p, X, class_concentration=[1.0, 2.0]),
        "class_concentration has shape",
    ),
    "a prior of zero": (lambda p, X: nb.estimate_class_probs(p, X, class_concentration=0.0), "give a positive number"),
    "a prior near zero": (lambda p, X: nb.estimate_class_probs(p, X, class_concentration=0.09), "give at least 0.1"),
    "no posterior": (lambda p, X: nb.estimate_class_probs(X, X), "posterior is a DataFrame"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_input_is_an_error(penguins, what):
    X, y = penguins
    call, words = WRONG[what]
    with pytest.raises((TypeError, ValueError), match=words):
        call(nb.fit(nb.NaiveBayes.from_frame(X), X, y), X)


def test_weights_know_no_odds_of_a_class_that_no_row_has():
    X, y = [[0], [1], [1], [0], [1]], [*"aabba"]
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical"), X, y, classes=["a", "b", "c"])
    assert nb.estimate_class_probs(posterior, X).table.loc["c", "fit"] == 0.0
    with pytest.raises(ValueError, match="class 'c' has probability zero in the rows"):
        nb.estimate_class_probs(nb.weight_features(posterior, X, y), X)


@pytest.mark.slow
def test_intervals_hold_what_the_prior_draws():
    """Parameters and class probabilities are drawn from their prior; 90 % intervals hold .88 to .95 of them."""
    held = []
    for classes, fitted, new in [(3, 20, 300), (2, 100, 500), (4, 50, 200)]:
        codes, found = np.repeat(np.arange(classes), fitted), []
        for key in range(150):
            rng = np.random.default_rng([0, key])
            variance = 1.0 / rng.gamma(3.0, 1.0 / 3.0, (classes, 3))
            mean = rng.normal(size=(classes, 3)) * np.sqrt(variance / 0.5)
            probs = rng.dirichlet(np.ones(classes))
            of_new = rng.choice(classes, new, p=probs)
            X, Z = (mean[c] + rng.normal(size=(len(c), 3)) * np.sqrt(variance[c]) for c in (codes, of_new))
            posterior = nb.fit(nb.Gaussian(0.0, 0.5, 3.0, 3.0), X, codes)
            table = nb.estimate_class_probs(posterior, Z, key=key).table
            found.append((table["lower"] <= probs) & (probs <= table["upper"]))
        held.append(np.mean(found))
    assert 0.88 < np.mean(held) < 0.95
