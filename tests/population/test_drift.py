"""Columns that moved between the rows of a fit and others, against evidences of the rows themselves."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from cases import CATEGORIES, FAMILIES
from scipy.special import gammaln, logsumexp
from slow import names_fast

import bayesnb as nb
from bayesnb.population.class_probs import draw_class_probs
from bayesnb.population.moved_columns import CLASS_PROB_DRAWS
from bayesnb.population.old_and_new import total_variation

ALONE = [case for case in FAMILIES if case.can.closed and not case.can.joint]

CLASSES = "class probabilities"


def log_dirichlet_evidence(counts):
    """Of an order of cells with these counts, under Dirichlet(1)."""
    k = len(counts)
    return gammaln(k) - gammaln(k + sum(counts)) + gammaln(1 + np.array(counts)).sum()


def either(values, states):
    """Log of the mean factor of three hypotheses: values, states or both moved."""
    return logsumexp([values, states, values + states], axis=0) - np.log(3)


def factors_of_rows(family, old, new, weights=None):
    """The factors of each column from the rows themselves, old ones weighted: `feature_evidence` of "old" and "new"."""
    weights = np.ones(len(old)) if weights is None else weights
    rows, label = pd.concat([old, new], ignore_index=True), np.repeat(["old", "new"], [len(old), len(new)])
    posterior = nb.fit(nb.NaiveBayes(family), rows, label, sample_weight=np.r_[weights, np.ones(len(new))])
    values = nb.feature_evidence(posterior)["log_bayes_factor"].to_numpy()
    states = []
    for name in old:
        there = [(weights * old[name].notna()).sum(), (weights * old[name].isna()).sum(), 0.0]
        then = [new[name].notna().sum(), new[name].isna().sum(), 0.0]
        one_each = log_dirichlet_evidence(there) + log_dirichlet_evidence(then)
        states.append(one_each - log_dirichlet_evidence(np.add(there, then)))
    return either(values, np.array(states))


@pytest.mark.parametrize("case", ALONE, ids=lambda case: case.name)
def test_factors_are_those_of_the_rows_themselves(case):
    family = case.priors[-1]
    if hasattr(family, "categories"):
        family = replace(family, categories=range(CATEGORIES))
    (old, y_old), (new, y_new) = case.table(60, holes=True), case.table(40, seed=8)
    posterior = nb.fit(case.model(family), old, y_old)
    by_class = [factors_of_rows(family, old[y_old == c], new[y_new == c]) for c in ("a", "b")]
    found = nb.drift(posterior, new, y_new).table
    assert found.index.tolist() == ["u", "v", CLASSES]
    np.testing.assert_allclose(found["log_bayes_factor"][:2], np.sum(by_class, axis=0), rtol=1e-9)
    np.testing.assert_allclose(found["marginal"][:2], factors_of_rows(family, old, new), rtol=1e-9)


def test_each_class_has_its_own_prior():
    (old, y_old), (new, y_new) = FAMILIES[0].table(60), FAMILIES[0].table(40, seed=8)
    numbers = {"a": 1.0, "b": 20.0}
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli([[1.0], [20.0]])), old, y_old)
    by_class = [factors_of_rows(nb.Bernoulli(numbers[c]), old[y_old == c], new[y_new == c]) for c in numbers]
    found = nb.drift(posterior, new, y_new).table["log_bayes_factor"][:2]
    np.testing.assert_allclose(found, np.sum(by_class, axis=0), rtol=1e-9)


def test_without_labels_old_rows_have_the_class_probabilities_of_the_new_ones():
    case = next(case for case in FAMILIES if case.name == "gaussian")
    (old, y_old), (new, _) = case.table(80, holes=True), case.table(50, seed=8)
    posterior = nb.fit(case.model(case.fixed), old, y_old)
    draws = draw_class_probs(posterior, new, key=3).reshape(-1, 2)
    number, codes = np.array([(y_old == c).sum() for c in ("a", "b")]), (y_old == "b").astype(int)
    factors = []
    for probs in draws[np.linspace(0, len(draws) - 1, CLASS_PROB_DRAWS).astype(int)]:
        weights = (probs / number)[codes]
        weights *= weights.sum() / (weights**2).sum()
        factors.append(factors_of_rows(case.fixed, old, new, weights))
    expected = np.log(len(factors)) - logsumexp(-np.array(factors), axis=0)
    found = nb.drift(posterior, new, key=3).table
    np.testing.assert_allclose(found["log_bayes_factor"][:2], expected, rtol=1e-9)
    odds = np.exp(found["log_bayes_factor"]) * (0.5 / 3) / (1 - 0.5 / 3)
    np.testing.assert_allclose(found["probability"], odds / (1 + odds))


def test_the_line_of_the_classes_has_a_closed_form():
    posterior = nb.fit(nb.Bernoulli(), np.zeros((30, 1)), ["a"] * 20 + ["b"] * 10)
    found = nb.drift(posterior, np.zeros((40, 1)), ["a"] * 5 + ["b"] * 35)
    old, new = [20, 10], [5, 35]
    expected = log_dirichlet_evidence(old) + log_dirichlet_evidence(new) - log_dirichlet_evidence(np.add(old, new))
    line = found.table.loc[CLASSES]
    assert line["log_bayes_factor"] == pytest.approx(expected, abs=0.3)  # from 1000 draws
    assert line["drifted"]
    assert line["moved"] == "classes"
    assert not found.drifted
    assert line["lower"] < 2 / 3 - 1 / 8 < line["upper"]


# Family, old and new cells given a generator and a number, what moved, and by how much.
CHANGES = {
    "normal": (nb.Gaussian(), lambda r, n: r.normal(5, 2, n), lambda r, n: r.normal(6, 3, n), "mean", 0.5),
    "spread": (nb.Gaussian(), lambda r, n: r.normal(5, 2, n), lambda r, n: r.normal(5, 3, n), "spread", 1.5),
    "log normal": (
        nb.LogNormal(),
        lambda r, n: r.lognormal(1, 0.5, n),
        lambda r, n: r.lognormal(0.8, 0.5, n),
        "mean",
        -0.4,
    ),
    "poisson": (nb.Poisson(), lambda r, n: r.poisson(4, n), lambda r, n: r.poisson(5, n), "mean", 0.5),
    "exponential": (nb.Exponential(), lambda r, n: r.exponential(1, n), lambda r, n: r.exponential(2, n), "mean", 1.0),
    "histogram": (
        nb.Histogram(tuple(np.linspace(-4, 4, 33))),
        lambda r, n: r.normal(0, 1, n),
        lambda r, n: r.normal(0.5, 1, n),
        "mean",
        0.5,
    ),
    "polya tree": (
        nb.PolyaTree(tuple(np.linspace(-4, 4, 33))),
        lambda r, n: r.normal(0, 1, n),
        lambda r, n: r.normal(0.5, 1, n),
        "mean",
        0.5,
    ),
    "two humps": (
        nb.Histogram(tuple(np.linspace(-4, 4, 33))),
        lambda r, n: r.normal(0, 1, n),
        lambda r, n: r.choice([-1.0, 1.0], n) + 0.05 * r.normal(size=n),
        "values",
        0.757,
    ),
    "hurdle": (
        nb.Hurdle(),
        lambda r, n: np.where(r.random(n) < 0.5, 0.0, r.normal(0, 1, n)),
        lambda r, n: np.where(r.random(n) < 0.56, 0.0, r.normal(0, 1.066, n)),
        "zeros",
        0.06,
    ),
    "bernoulli": (nb.Bernoulli(), lambda r, n: r.random(n) < 0.3, lambda r, n: r.random(n) < 0.4, "category", 0.1),
    "categories": (
        nb.Categorical(),
        lambda r, n: r.choice(list("abc"), n, p=[0.5, 0.3, 0.2]),
        lambda r, n: r.choice(list("abc"), n, p=[0.3, 0.5, 0.2]),
        "category",
        0.2,
    ),
    "gaps": (
        nb.Gaussian(),
        lambda r, n: r.normal(0, 1, n),
        lambda r, n: np.where(r.random(n) < 0.2, np.nan, r.normal(0, 1, n)),
        "gaps",
        0.2,
    ),
    "unseen values": (
        nb.Categorical(),
        lambda r, n: r.choice(list("ab"), n),
        lambda r, n: np.where(r.random(n) < 0.1, "z", r.choice(list("ab"), n)),
        "unseen values",
        0.1,
    ),
}


FAST = ("normal", "spread", "polya tree", "hurdle", "categories", "gaps", "unseen values")


@pytest.mark.filterwarnings("ignore:column 'moved'")
@pytest.mark.parametrize("name", names_fast(CHANGES, FAST))
def test_what_moved_and_by_how_much(name, rng):
    family, before, after, moved, size = CHANGES[name]
    number, y = 8000, np.arange(8000) % 2
    still = rng.normal(size=(2, number))
    old = pd.DataFrame({"moved": before(rng, number), "still": still[0] + y})
    new = pd.DataFrame({"moved": after(rng, number), "still": still[1] + y})
    posterior = nb.fit(nb.NaiveBayes({"moved": family, "still": nb.Gaussian()}), old, y)
    for found in (nb.drift(posterior, new), nb.drift(posterior, new, y)):
        line = found.table.loc["moved"]
        assert found.drifted
        assert found.table["drifted"].tolist()[:2] == [True, False]
        assert line["moved"] == moved
        # The ends are 1.6 standard deviations from the size.
        low, high = size - 1.5 * (line["upper"] - line["lower"]), size + 1.5 * (line["upper"] - line["lower"])
        assert low < line["size"] < high
        assert line["upper"] - line["lower"] < 0.2


@pytest.mark.parametrize("moved", [0.0, 0.15])
def test_noise_adds_little_to_the_share_that_moved_and_its_interval_holds_it(moved, rng):
    old = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
    new = old + moved * np.array([-1.0, 0.0, 0.0, 0.0, 2 / 3, 1 / 3, 0.0, 0.0])
    found, held = [], []
    for _ in range(200):
        shares = [rng.dirichlet(1.0 + rng.multinomial(n, p), 500) for n, p in ((2000, old), (100, new))]
        draws = total_variation(*shares)
        lower, upper = np.quantile(draws, (0.055, 0.945))
        found.append(draws.mean())
        held.append(lower <= moved <= upper)
    # Without a correction the means are .10 and .20.
    assert np.mean(found) == pytest.approx(moved, abs=0.05)
    assert np.mean(held) > 0.75


def test_classes_that_move_are_no_drift_of_the_columns(rng):
    def rows(number, prob):
        y = np.where(rng.random(number) < prob, "b", "a")
        X = {"x": rng.normal(2.0 * (y == "b")), "z": np.where(rng.random(number) < 0.2 + 0.5 * (y == "b"), "u", "v")}
        return pd.DataFrame(X), y

    posterior = nb.fit(nb.NaiveBayes({"x": nb.Gaussian(), "z": nb.Categorical()}), *rows(2000, 0.3))
    found = nb.drift(posterior, rows(2000, 0.8)[0])
    assert not found.drifted
    assert found.table.loc[CLASSES, "drifted"]
    assert (found.table["marginal"][:2] > 20).all()
    assert (found.table["log_bayes_factor"][:2] < 0).all()


def test_a_small_change_of_many_rows_is_certain_and_no_drift(rng):
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), rng.normal(size=(200_000, 1)), np.arange(200_000) % 2)
    new = rng.normal(0.04, 1.0, (200_000, 1))
    line = nb.drift(posterior, new).table.iloc[0]
    assert line["probability"] > 0.99
    assert not line["drifted"]
    assert nb.drift(posterior, new, smallest=0.02).drifted


def test_blocks_of_columns_are_looked_at_column_by_column_or_as_one(rng):
    number, y = 1500, np.arange(1500) % 2
    X = pd.DataFrame(rng.normal(y[:, None], 1.0, (number, 2)), columns=["m", "n"])
    for name in ("p", "q", "t", "u"):
        X[name] = rng.choice(list("ab"), number)
    X["one"], X["two"] = rng.poisson(3, number), rng.poisson(3, number)
    model = nb.NaiveBayes(
        {
            "numbers": (nb.MultivariateGaussian(), ["m", "n"]),
            "pairs": (nb.JointCategorical(), ["p", "q"]),
            "trees": (nb.AllTrees(), ["t", "u"]),
            "words": (nb.Multinomial(), ["one", "two"]),
        }
    )
    posterior = nb.fit(model, X[:1000], y[:1000])
    found = nb.drift(posterior, X[1000:])
    assert found.table.index.tolist() == ["m", "n", "pairs", "trees", "one", "two", CLASSES]
    assert not found.drifted
    new = X[1000:].assign(n=2 * X["n"][1000:] - y[1000:], p=X["q"][1000:], t=X["u"][1000:], one=X["one"][1000:] + 6)
    table = nb.drift(posterior, new, y[1000:]).table
    assert table.index[table["drifted"]].tolist() == ["n", "pairs", "trees", "one", "two"]
    assert table["moved"].tolist()[:6] == ["mean", "spread", "category", "", "category", "category"]


def test_what_cannot_be_compared_is_named():
    X, y = FAMILIES[0].table(40)
    X["waits"] = np.arange(1.0, 41.0)
    model = nb.NaiveBayes({"u": nb.Bernoulli(), "v": nb.Bernoulli([[1.0], [2.0]]), "waits": nb.Gamma()})
    found = nb.drift(nb.fit(model, X, y, nb.MAP()), X, y)
    assert found.table.index.tolist() == ["u", "v", CLASSES]
    assert found.not_looked_at == {"waits": "Gamma has no closed form"}
    assert "Not looked at: 'waits', because Gamma has no closed form." in repr(found)


ESTIMATORS = {
    "bernoulli": nb.estimators.BernoulliNB(binarize=2.5),
    "categorical": nb.estimators.CategoricalNB(min_categories=9),
    "gaussian": nb.estimators.GaussianNB(),
    "multinomial": nb.estimators.MultinomialNB(),
    "poisson": nb.estimators.PoissonNB(),
    "mixed": nb.NaiveBayesClassifier(),
}


@pytest.mark.filterwarnings("ignore:.* not seen in training")
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.slow
def test_an_estimator_reads_the_new_rows(name, rng):
    X, y = rng.poisson(3.0, (400, 3)).astype(float), np.arange(400) % 2
    X[:, 0] += y
    fitted = ESTIMATORS[name].fit(X[:200], y[:200])
    found = nb.drift(fitted, X[200:])
    pd.testing.assert_frame_equal(found.table, nb.drift(fitted.posterior_, fitted.checked_table(X[200:])).table)
    assert not found.drifted
    assert len(found.table) == 4
    assert nb.drift(fitted, X[200:] + np.array([0.0, 0.0, 5.0])).table["drifted"].tolist()[:3] == [False, False, True]


def test_features_that_describe_a_column_again_and_weights_change_no_line(rng):
    y = np.arange(600) % 2
    X = pd.DataFrame({"x": rng.normal(y), "day": rng.integers(1, 15, 600), "z": rng.choice(list("ab"), 600)})
    X.loc[rng.random(600) < 0.3 + 0.4 * y, "x"] = np.nan
    fitted = nb.NaiveBayesClassifier().fit(X[:400], y[:400])
    assert len(fitted.posterior_.model.schema.derived) > 0
    assert fitted.posterior_.feature_weights is not None
    assert nb.drift(fitted, X[400:]).table.index.tolist() == ["x", "day", "z", CLASSES]


def test_a_fit_of_another_inference_is_compared_by_its_statistics():
    case = next(case for case in FAMILIES if case.name == "poisson")
    (old, y), (new, y_new) = case.table(60), case.table(40, seed=8)
    exact = nb.fit(case.model(case.fixed), old, y)
    posteriors = [nb.fit(case.model(case.fixed), old, y, inference) for inference in (nb.MAP(), nb.MLE())]
    for other in [*posteriors, exact.averaged(), exact.with_class_probs([0.1, 0.9])]:
        pd.testing.assert_frame_equal(nb.drift(other, new, y_new).table, nb.drift(exact, new, y_new).table)
    pd.testing.assert_frame_equal(nb.drift(exact.with_class_probs([0.1, 0.9]), new).table, nb.drift(exact, new).table)


def test_a_date_is_compared_by_its_first_reading():
    """The days of the reading, with bins and weights, against those of a fit of nothing else."""
    rng = np.random.default_rng(5)
    k = rng.integers(0, 2, 500)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 300, 500) + 60 * k, unit="D")
    X, y = pd.DataFrame({"size": rng.normal(k), "day": day}), np.array(["a", "b"])[k]
    posterior = nb.NaiveBayesClassifier().fit(X[:300], y[:300]).posterior_
    assert {"day day", "day month"} <= {*posterior.weights.index}
    new = X[300:]
    found = nb.drift(posterior, new, y[300:])
    assert found.table.index.tolist() == ["size", "day day", CLASSES]
    assert not found.drifted
    later = nb.drift(posterior, new.assign(day=new["day"] + pd.Timedelta(365, "D"))).table
    assert later.loc["day day", ["moved", "drifted"]].tolist() == ["mean", True]
    since = X.assign(day=(X["day"] - pd.Timestamp("2000-01-01")) / pd.Timedelta(1, "D"))
    family = posterior.model.features["day day"][0]
    alone = nb.fit(nb.NaiveBayes({"day": family}), since[:300], y[:300])
    expected = nb.drift(alone, since[300:], y[300:]).table.loc["day", "log_bayes_factor"]
    assert found.table.loc["day day", "log_bayes_factor"] == pytest.approx(expected)


def without_statistics():
    return nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters={"x_prob": [[0.1], [0.2]]}
    )


ERRORS = {
    "one row": ([[1.0]], None, {}, "X_new has one row"),
    "no rows": (np.empty((0, 1)), None, {}, "X_new has no rows"),
    "no value": ([[np.nan], [np.nan]], None, {}, "every cell of X_new is missing"),
    "unknown label": ([[1.0], [0.0]], ["a", "c"], {}, "'c'"),
    "missing label": ([[1.0], [0.0]], ["a", None], {}, "label"),
    "labels of other rows": ([[1.0], [0.0]], ["a"], {}, "1 labels"),
    "size": ([[1.0], [0.0]], None, {"smallest": 0.0}, "smallest"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_rows_are_an_error(name):
    X, y, options, words = ERRORS[name]
    posterior = nb.fit(nb.Bernoulli(), [[1], [0], [1]], ["a", "a", "b"])
    with pytest.raises(ValueError, match=words):
        nb.drift(posterior, X, y, **options)


def test_a_posterior_without_statistics_or_closed_forms_is_an_error():
    with pytest.raises(ValueError, match=r"drift needs data, and .* without data: use nb\.fit"):
        nb.drift(without_statistics(), [[1.0], [0.0]])
    only_gamma = nb.fit(nb.Gamma(), [[1.0], [2.0], [3.0]], ["a", "a", "b"], nb.MAP())
    with pytest.raises(ValueError, match="no feature of the model can be compared: 0, because Gamma has no closed"):
        nb.drift(only_gamma, [[1.0], [2.0]])


def test_the_picture_has_the_most_moved_columns_old_beside_new(rng):
    y = np.arange(300) % 2
    X = pd.DataFrame({"x": rng.normal(y), "n": rng.poisson(3, 300), "z": rng.choice(list("ab"), 300)})
    posterior = nb.fit(nb.NaiveBayes.from_frame(X, families={"n": nb.Poisson()}), X, y)
    found = nb.drift(posterior, X.assign(z="b", n=np.where(y == 1, np.nan, X["n"])))
    figure = found.plot(max_panels=2)
    assert {axis.get_title() for axis in figure.axes} == {"z", "n"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["old", "new"]
    of_gaps = next(axis for axis in figure.axes if axis.get_title() == "n")
    assert [label.get_text() for label in of_gaps.get_xticklabels()] == ["a value", "missing", "unseen"]
    assert "2 of 3 columns" in repr(found)
