"""Calibration of class probabilities, against scikit-learn's scores and simulated truth."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from matplotlib.figure import Figure
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

import bayesnb as nb
from bayesnb.checks import calibration as module
from bayesnb.core.running import random_generator
from bayesnb.estimators import NaiveBayesClassifier

CHANCE = "calibration_error_by_chance"


def correlated(rng, rows, classes=2):
    """Eight columns that say nearly the same, which naive Bayes counts eight times."""
    y = rng.integers(0, classes, rows)
    signal = rng.normal(1.0 * y, 1.0)
    return signal[:, None] + rng.normal(0, 0.4, (rows, 8)), np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def two_models(request):
    rng = np.random.default_rng(11)
    X, y = correlated(rng, 600, request.param)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    logistic = LogisticRegression().fit(X, y)
    new, labels = correlated(rng, 900, request.param)
    return posterior, logistic, new, labels, nb.calibration(posterior, new, labels, other=logistic)


@pytest.fixture
def truth(rng):
    """Given parameters, whose probabilities are right for the rows they simulate."""
    return nb.from_parameters(
        nb.Bernoulli(),
        classes=["x", "y", "z"],
        class_probs=[0.5, 0.3, 0.2],
        parameters={"prob": rng.uniform(0.2, 0.8, (3, 10))},
    )


def coin(heads=0.8):
    """Given parameters of one column: class "b" has this probability where it is 1, and one minus it where it is 0."""
    return nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters={"prob": [[1 - heads], [heads]]}
    )


# --------------------------------------------------------------------------------------------------
# Scores, their parts and errors, and bins
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["posterior", "other"])
def test_scores_by_scikit_learn(two_models, model):
    posterior, logistic, X, y, found = two_models
    probs = (posterior if model == "posterior" else logistic).predict_proba(X)
    outcome = (y[:, None] == posterior.classes).astype(float)
    score = found.table[model]
    assert score["accuracy"] == pytest.approx(accuracy_score(y, posterior.classes[probs.argmax(1)]))
    assert score["log_score"] == pytest.approx(-log_loss(y, probs), rel=1e-9)
    brier = brier_score_loss(y, probs, labels=posterior.classes, scale_by_half=False)
    assert score["brier"] == pytest.approx(brier)
    assert score["confidence"] == pytest.approx(probs.max(axis=1).mean())
    np.testing.assert_allclose(found.predictions[model], np.minimum(probs, 1.0), rtol=1e-13)
    # The parts of the Brier score.
    isotonic = [
        IsotonicRegression(out_of_bounds="clip").fit_transform(*pair) for pair in zip(probs.T, outcome.T, strict=True)
    ]
    fitted, frequency = np.column_stack(isotonic), outcome.mean(axis=0)
    after = ((outcome - fitted) ** 2).sum(axis=1).mean()
    assert score["reliability"] - score["resolution"] + score["uncertainty"] == pytest.approx(score["brier"])
    assert score["uncertainty"] == pytest.approx((frequency * (1 - frequency)).sum())
    assert score["resolution"] == pytest.approx(score["uncertainty"] - after, rel=1e-4)
    assert score["reliability"] == pytest.approx(score["brier"] - after, rel=1e-4)
    assert min(score["reliability"], score["resolution"]) >= 0
    # The classical form: both parts from the fitted values, as in Murphy's bins.
    assert score["resolution"] == pytest.approx(((fitted - frequency) ** 2).sum(axis=1).mean(), rel=1e-4)
    # The bins.
    hit = (posterior.classes[probs.argmax(1)] == y).astype(float)
    pooled = {"classes": (probs.ravel(), outcome.ravel()), "confidence": (probs.max(axis=1), hit)}
    for kind, (predicted, seen) in pooled.items():
        rows = found.bins[(found.bins["model"] == model) & (found.bins["kind"] == kind)]
        rounded = np.minimum(predicted, 1.0).round(12)
        observed, mean = calibration_curve(seen, rounded, n_bins=10, strategy="quantile")
        np.testing.assert_allclose(rows["observed"], observed)
        np.testing.assert_allclose(rows["mean_predicted"], mean, atol=1e-11)
        assert rows["count"].sum() == predicted.size
        assert (rows["lower"] <= rows["mean_predicted"] + 1e-12).all()
        assert (rows["mean_predicted"] <= rows["upper"] + 1e-12).all()
        assert (rows["upper"].to_numpy()[:-1] < rows["lower"].to_numpy()[1:]).all()
        ones = np.rint(rows["observed"] * rows["count"])
        interval = stats.beta(ones + 0.5, rows["count"] - ones + 0.5).interval(0.89)
        np.testing.assert_allclose(rows["observed_lower"], np.where(ones == 0, 0.0, interval[0]))
        np.testing.assert_allclose(rows["observed_upper"], np.where(ones == rows["count"], 1.0, interval[1]))
    error = (rows["count"] * (rows["observed"] - rows["mean_predicted"]).abs()).sum() / len(y)
    assert score["calibration_error"] == pytest.approx(error)


@pytest.mark.slow
def test_standard_errors_are_the_spread_over_tables(monkeypatch):
    """An overconfident model on many tables."""
    monkeypatch.setattr(module, "SIMULATIONS", 2)
    rng = np.random.default_rng(2)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), *correlated(rng, 500))
    columns = {"posterior": [], "posterior_se": [], "difference": [], "difference_se": []}
    for _ in range(150):
        X, y = correlated(rng, 400)
        softened = posterior.predict_proba(X) ** 0.3
        table = nb.calibration(posterior, X, y, other=softened / softened.sum(axis=1, keepdims=True)).table
        for name in columns:
            columns[name].append(table[name])
    frames = {name: pd.DataFrame(rows) for name, rows in columns.items()}
    scores = [name for name in table.index if name not in (CHANCE, "uncertainty")]
    ratio = frames["posterior_se"][scores].mean() / frames["posterior"][scores].std()
    assert ratio.between(0.8, 1.25).all(), ratio
    paired = ["confidence", "log_score", "brier", "reliability", "calibration_error"]
    ratio = frames["difference_se"][paired].mean() / frames["difference"][paired].std()
    assert ratio.between(0.75, 1.35).all(), ratio


def test_equal_predictions_stay_together():
    """Known answer: two values of the prediction, whose frequencies are plain."""
    X, y = [[0]] * 10 + [[1]] * 10, list("aaaaaaaaabbbbbbbaaaa")
    found = nb.calibration(coin(), X, y)
    rows = found.bins[found.bins["kind"] == "classes"]
    np.testing.assert_allclose(rows["mean_predicted"], [0.2, 0.8])
    np.testing.assert_allclose(rows["observed"], [0.25, 0.75])
    assert rows["count"].tolist() == [20, 20]
    assert found.bins[found.bins["kind"] == "confidence"]["count"].tolist() == [20]
    score = found.table["posterior"]
    assert score["calibration_error"] == pytest.approx(0.05)
    # Class b is predicted 0.2 and 0.8 where it has the frequencies 0.1 and 0.6.
    assert score["reliability"] == pytest.approx(2 * (0.1**2 + 0.2**2) / 2)
    assert score["resolution"] == pytest.approx(2 * 0.25**2)
    assert score["uncertainty"] == pytest.approx(2 * 0.35 * 0.65)
    # What only rounding tells apart is one value.
    near = np.array([0.1 + 0.2, 0.3] * 10)
    one, other = (nb.calibration(coin(), X, y, other=np.column_stack([p, 1 - p])) for p in (near, np.full(20, 0.3)))
    np.testing.assert_allclose(one.table.drop(CHANCE), other.table.drop(CHANCE), rtol=1e-9)
    assert len(one.bins) == len(other.bins)


def test_standard_errors_are_those_of_means_and_paired_means():
    X, y = [[1], [1], [0], [0], [1]], ["b", "a", "a", "a", "b"]
    other = np.array([[0.4, 0.6], [0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    table = nb.calibration(coin(), X, y, other=other).table
    hit, their_hit = np.array([1, 0, 1, 1, 1.0]), np.array([1, 1, 1, 0, 0.0])
    for score, own, another in (("confidence", np.full(5, 0.8), other.max(axis=1)), ("accuracy", hit, their_hit)):
        row = table.loc[score].astype(float)
        np.testing.assert_allclose(row[["posterior", "other"]], [own.mean(), another.mean()])
        np.testing.assert_allclose(row["posterior_se"], stats.sem(own), atol=1e-15)
        np.testing.assert_allclose(row["other_se"], stats.sem(another))
        apart = own - another
        np.testing.assert_allclose(row[["difference", "difference_se"]], [apart.mean(), stats.sem(apart)])


def test_a_label_that_both_models_exclude_leaves_the_difference_unknown():
    found = nb.calibration(coin(1.0), [[1]] * 3, ["b", "b", "a"], other=[[0.0, 1.0]] * 3).table.loc["log_score"]
    assert found[["posterior", "other"]].tolist() == [-np.inf, -np.inf]
    assert found[["difference", "posterior_se", "difference_se"]].isna().all()


def test_the_error_by_chance_is_the_mean_over_sets_of_labels():
    X, y = [[1]] * 5 + [[0]] * 3, ["b"] * 8
    found = nb.calibration(coin(0.75), X, y, other=[[0.4, 0.6]] * 5 + [[0.9, 0.1]] * 3, key=5)
    rng = random_generator(5)
    alike = [abs((rng.uniform(size=8) < 0.75).mean() - 0.75) for _ in range(400)]
    # The other model's predictions are in two bins, whose errors add up.
    probs, errors = np.array([0.6] * 5 + [0.9] * 3), []
    for _ in range(400):
        gap = (rng.uniform(size=8) < probs) - probs
        errors.append((abs(gap[:5].sum()) + abs(gap[5:].sum())) / 8)
    chance = found.table.loc[CHANCE].astype(float)
    np.testing.assert_allclose(chance[["posterior", "other"]], [np.mean(alike), np.mean(errors)])
    spreads = [np.std(alike, ddof=1), np.std(errors, ddof=1)]
    np.testing.assert_allclose(chance[["posterior_se", "other_se"]], spreads)


def test_intervals_of_the_bins_have_the_probability_asked_for():
    found = nb.calibration(coin(), [[1]] * 8, ["b"] * 6 + ["a"] * 2, prob=0.5)
    row = found.bins[found.bins["kind"] == "confidence"].iloc[0]
    expected = stats.beta(6.5, 2.5).ppf([0.25, 0.75])
    np.testing.assert_allclose(row[["observed_lower", "observed_upper"]].astype(float), expected)
    assert found.prob == 0.5
    certain = nb.calibration(coin(), [[1]] * 8, ["b"] * 8).bins
    ends = certain[["observed_lower", "observed_upper"]].to_numpy()
    reached = [[0.0, stats.beta(0.5, 8.5).ppf(0.945)], [stats.beta(8.5, 0.5).ppf(0.055), 1.0]]
    np.testing.assert_allclose(ends, [*reached, reached[1]])
    assert found.bins.index.tolist() == [0, 1, 2]
    assert found.bins.columns[0] == "model"


# --------------------------------------------------------------------------------------------------
# What is judged, and beside what
# --------------------------------------------------------------------------------------------------


def test_what_the_other_may_be(two_models):
    posterior, logistic, X, y, found = two_models
    backwards = SimpleNamespace(
        classes_=logistic.classes_[::-1], predict_proba=lambda X: logistic.predict_proba(X)[:, ::-1]
    )
    for other in (logistic.predict_proba(X), backwards):
        pd.testing.assert_frame_equal(nb.calibration(posterior, X, y, other=other).table, found.table)
    same = nb.calibration(posterior, X, y, other=posterior).table
    assert (same.loc[same["difference"].notna(), "difference"] == 0).all()
    turned, straight = (
        nb.fit(posterior.problem.model, X, y, classes=classes.tolist())
        for classes in (posterior.classes[::-1], posterior.classes)
    )
    one, two = (nb.calibration(posterior, X, y, other=other).table for other in (turned, straight))
    pd.testing.assert_frame_equal(one, two)
    alone = nb.calibration(posterior, X, y)
    pd.testing.assert_frame_equal(alone.table, found.table[["posterior", "posterior_se"]])
    assert nb.calibration(posterior, X, y, key=1).table.drop(CHANCE).equals(alone.table.drop(CHANCE))
    # Probabilities above one by rounding count as one.
    other = np.array([[1.0 + 5e-7, 0.0], [0.0, 1.0]])
    predicted = nb.calibration(coin(), [[1], [0]], ["a", "b"], other=other).predictions["other"]
    assert predicted.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_small_and_extreme_tables():
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [0]], ["a", "b"])
    one = nb.calibration(posterior, [[1]], ["a"], bins=50)
    assert one.bins["count"].tolist() == [1, 1, 1]
    assert np.isnan(one.table.loc["brier", "posterior_se"])
    assert one.table.loc["uncertainty", "posterior"] == 0
    score = nb.calibration(coin(1.0), [[0], [1], [1]], ["a", "b", "a"], other=posterior).table["posterior"]
    assert score["log_score"] == -np.inf
    assert score["calibration_error"] == pytest.approx(1 / 3)
    single = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [0]], ["a", "a"])
    assert nb.calibration(single, [[1], [0]], ["a", "a"]).table.loc["brier", "posterior"] == 0


def test_the_rows_of_the_fit_are_recognised(penguins):
    X, y = penguins
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    order = np.random.default_rng(0).permutation(len(X))
    fits = [posterior, posterior.averaged(), nb.fit(posterior.model, X, y, nb.MAP())]
    fits += [nb.weight_features(posterior, X, y), NaiveBayesClassifier().fit(X, y)]
    words, kinds = scipy.sparse.csr_array(np.random.default_rng(1).poisson(1.0, (20, 6))), ["a", "b"] * 10
    of_words = nb.fit(nb.Multinomial(), words, kinds)
    cell = X["body_mass_g"].where(X.index != 7, 3000.0)
    for one, rows, labels, same in (
        *((fit, X, y, True) for fit in fits),
        (posterior, X.iloc[order], y[order], True),
        (posterior, X[::2], y[::2], False),
        (posterior, X, y[order], False),
        (posterior, X.assign(body_mass_g=cell), y, False),
        (of_words, words, kinds, True),
        (of_words, words[::-1], kinds, False),
        (coin(), [[1], [0]], ["a", "b"], False),  # given parameters have no rows of a fit
    ):
        found = nb.calibration(one, rows, labels)
        assert found.on_fit == same
        told = "These are the rows of the fit, on which the scores are too good" in " ".join(repr(found).split())
        assert told == same


# --------------------------------------------------------------------------------------------------
# What it shows
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classes", "confidence"])
@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_the_picture(two_models, truth, kind, scale):
    *_, found = two_models
    if scale == "linear":
        X, y = truth.simulate(60, key=1)
        found = nb.calibration(truth, X, y, other=np.full((60, len(truth.classes)), 1 / len(truth.classes)))
    diagram, histogram = found.plot(kind=kind).axes
    assert diagram.get_xscale() == diagram.get_yscale() == histogram.get_xscale() == scale
    low, high = diagram.get_xlim()
    assert diagram.get_ylim() == (low, high)
    shown = [container.lines[0] for container in diagram.containers]
    for model, line in zip(("posterior", "other"), shown, strict=True):
        rows = found.bins[(found.bins["model"] == model) & (found.bins["kind"] == kind)]
        np.testing.assert_allclose(line.get_xydata(), rows[["mean_predicted", "observed"]].clip(low, high))
    # Shaded is the side of predictions that are nearer to zero or one.
    shaded = [path for polygon in diagram.collections[: 1 + (kind == "classes")] for path in polygon.get_paths()]
    for x, y in np.random.default_rng(1).uniform(low, high, (200, 2)):
        over = y > x if kind == "classes" and x < 0.5 else y < x
        assert any(path.contains_point((x, y)) for path in shaded) == over
    for text in diagram.texts:
        at = diagram.transData.inverted().transform(diagram.transAxes.transform(text.get_position()))
        assert any(path.contains_point(at) for path in shaded) == (text.get_text() == "overconfident")
    assert {text.get_text() for text in diagram.texts} == {"overconfident", "underconfident"}


def test_probabilities_near_one_are_spread_on_a_logit_axis(two_models):
    *_, found = two_models
    diagram, histogram = found.plot().axes
    low, high = diagram.get_xlim()
    assert low == pytest.approx(1 - high)
    assert 1e-4 <= 1.6 * low <= 1e-2
    for axis in (diagram.xaxis, diagram.yaxis, histogram.xaxis):
        texts = [text.get_text() for text in axis.get_ticklabels()]
        assert "0.5" in texts
        np.testing.assert_allclose(axis.get_ticklocs(), [float(text) for text in texts], rtol=1e-9)
    counts = histogram.patches[0].get_xy()[1:-1:2, 1]
    assert counts.sum() == found.predictions["posterior"].size, "those beyond the ends are in the last bars"


@pytest.mark.parametrize(
    ("heads", "ticks"), [(0.99, "0.01 0.1 0.5 0.9 0.99"), (0.999, "0.001 0.01 0.1 0.5 0.9 0.99 0.999")]
)
def test_each_of_few_decades_has_a_tick(heads, ticks):
    diagram, _ = nb.calibration(coin(heads), [[1], [0]] * 9, ["b", "a"] * 9).plot().axes
    assert [text.get_text() for text in diagram.get_xticklabels()] == ticks.split()


def test_the_picture_names_the_models(two_models):
    posterior, _, X, y, found = two_models
    assert found.names == {"posterior": "ExactPosterior", "other": "LogisticRegression"}
    for other in (posterior, found.predictions["other"]):
        assert nb.calibration(posterior, X, y, other=other).names == {"posterior": "posterior", "other": "other"}
    diagram, histogram = Figure(figsize=(5, 8)).subplots(2)
    found.plot(axes=[diagram, histogram])
    assert len(diagram.get_legend().get_texts()) == 2, "in the caller's axes it is in the diagram"
    assert histogram.get_legend() is None
