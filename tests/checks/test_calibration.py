"""Calibration of class probabilities, against scikit-learn's scores and simulated truth."""

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
from bayesnb.checks.calibration import calibration, jeffreys_interval
from bayesnb.estimators import NaiveBayesClassifier


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
    return posterior, logistic, new, labels, calibration(posterior, new, labels, other=logistic)


@pytest.fixture
def truth(rng):
    """Given parameters, whose probabilities are right for the rows they simulate."""
    return nb.from_parameters(
        nb.Bernoulli(),
        classes=["x", "y", "z"],
        class_probs=[0.5, 0.3, 0.2],
        parameters={"prob": rng.uniform(0.2, 0.8, (3, 10))},
    )


def one_vs_rest(y, classes):
    return (np.asarray(y)[:, None] == classes).astype(float)


def test_scores_by_scikit_learn(two_models):
    posterior, logistic, X, y, found = two_models
    for model, probs in (("posterior", posterior.predict_proba(X)), ("other", logistic.predict_proba(X))):
        score = found.table[model]
        assert score["accuracy"] == pytest.approx(accuracy_score(y, posterior.classes[probs.argmax(1)]))
        assert score["log_score"] == pytest.approx(-log_loss(y, probs), rel=1e-9)
        brier = brier_score_loss(y, probs, labels=posterior.classes, scale_by_half=False)
        assert score["brier"] == pytest.approx(brier)
        assert score["confidence"] == pytest.approx(probs.max(axis=1).mean())
        np.testing.assert_allclose(found.predictions[model], np.minimum(probs, 1.0), rtol=1e-13)


def test_two_classes_score_as_scikit_learn_scores_one_of_them(rng):
    X, y = correlated(rng, 300)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    half = brier_score_loss(y, posterior.predict_proba(X)[:, 1], pos_label="b")
    assert calibration(posterior, X, y).table.loc["brier", "posterior"] == pytest.approx(2 * half)


def test_parts_of_the_brier_score(two_models):
    posterior, logistic, X, y, found = two_models
    for model, probs in (("posterior", posterior.predict_proba(X)), ("other", logistic.predict_proba(X))):
        score = found.table[model]
        assert score["reliability"] - score["resolution"] + score["uncertainty"] == pytest.approx(score["brier"])
        fitted, outcome = np.empty_like(probs), one_vs_rest(y, posterior.classes)
        for c in range(probs.shape[1]):
            fitted[:, c] = IsotonicRegression(out_of_bounds="clip").fit_transform(probs[:, c], outcome[:, c])
        frequency = outcome.mean(axis=0)
        after = ((outcome - fitted) ** 2).sum(axis=1).mean()
        assert score["uncertainty"] == pytest.approx((frequency * (1 - frequency)).sum())
        assert score["resolution"] == pytest.approx(score["uncertainty"] - after, rel=1e-4)
        assert score["reliability"] == pytest.approx(score["brier"] - after, rel=1e-4)
        assert score["reliability"] >= 0
        assert score["resolution"] >= 0
        # The classical form: both parts from the fitted values, as in Murphy's bins.
        assert score["resolution"] == pytest.approx(((fitted - frequency) ** 2).sum(axis=1).mean(), rel=1e-4)


def test_bins_by_scikit_learn(two_models):
    posterior, logistic, X, y, found = two_models
    outcome = one_vs_rest(y, posterior.classes)
    for model, probs in (("posterior", found.predictions["posterior"]), ("other", logistic.predict_proba(X))):
        hit = posterior.classes[probs.argmax(1)] == y
        for kind, predicted, seen in (
            ("classes", probs.ravel(), outcome.ravel()),
            ("confidence", probs.max(axis=1), hit.astype(float)),
        ):
            rows = found.bins[(found.bins["model"] == model) & (found.bins["kind"] == kind)]
            rounded = np.minimum(predicted, 1.0).round(12)
            observed, mean = calibration_curve(seen, rounded, n_bins=10, strategy="quantile")
            np.testing.assert_allclose(rows["observed"], observed)
            np.testing.assert_allclose(rows["mean_predicted"], mean, atol=1e-11)
            assert rows["count"].sum() == predicted.size
            assert (rows["lower"] <= rows["mean_predicted"] + 1e-12).all()
            assert (rows["mean_predicted"] <= rows["upper"] + 1e-12).all()
            assert (rows["upper"].to_numpy()[:-1] < rows["lower"].to_numpy()[1:]).all()
            assert rows["observed"].between(rows["observed_lower"], rows["observed_upper"]).all()
            if kind == "confidence":
                error = (rows["count"] * (rows["observed"] - rows["mean_predicted"]).abs()).sum() / len(y)
                assert found.table.loc["calibration_error", model] == pytest.approx(error)


def test_naive_bayes_is_overconfident_beside_logistic_regression(two_models):
    *_, found = two_models
    table = found.table
    assert table.loc["confidence", "posterior"] > table.loc["accuracy", "posterior"] + 0.05
    assert abs(table.loc["confidence", "other"] - table.loc["accuracy", "other"]) < 0.04
    for score, sign in (("calibration_error", 1), ("reliability", 1), ("brier", 1), ("log_score", -1)):
        assert sign * table.loc[score, "difference"] > 3 * table.loc[score, "difference_se"]
        assert table.loc[score, "difference"] == pytest.approx(
            table.loc[score, "posterior"] - table.loc[score, "other"]
        )
    chance = "calibration_error_by_chance"
    assert (
        table.loc["calibration_error", "posterior"]
        > table.loc[chance, "posterior"] + 5 * table.loc[chance, "posterior_se"]
    )
    assert table.loc["calibration_error", "other"] < table.loc[chance, "other"] + 4 * table.loc[chance, "other_se"]


def test_what_the_model_simulates_is_calibrated(truth):
    """Intervals cover the mean prediction as often as they say, and errors are those of chance."""
    covered, z = {"classes": [], "confidence": []}, []
    for key in range(30):
        X, y = truth.simulate(1500, key=key)
        found = calibration(truth, X, y, key=key)
        for kind, rows in found.bins.groupby("kind"):
            covered[kind] += rows["mean_predicted"].between(rows["observed_lower"], rows["observed_upper"]).tolist()
        score = found.table["posterior"]
        by_chance = score["calibration_error_by_chance"]
        z.append(
            (score["calibration_error"] - by_chance) / found.table.loc["calibration_error_by_chance", "posterior_se"]
        )
    bins = len(covered["confidence"])
    assert bins == 300
    assert abs(np.mean(covered["confidence"]) - 0.89) < 4 * np.sqrt(0.89 * 0.11 / bins)
    # Bins of all classes share rows.
    assert abs(np.mean(covered["classes"]) - 0.89) < 6 * np.sqrt(0.89 * 0.11 / bins)
    assert abs(np.mean(z)) < 4 / np.sqrt(30)
    assert 0.6 < np.std(z) < 1.5


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
        table = calibration(posterior, X, y, other=softened / softened.sum(axis=1, keepdims=True)).table
        for name in columns:
            columns[name].append(table[name])
    frames = {name: pd.DataFrame(rows) for name, rows in columns.items()}
    scores = [name for name in table.index if name not in ("calibration_error_by_chance", "uncertainty")]
    ratio = frames["posterior_se"][scores].mean() / frames["posterior"][scores].std()
    assert ratio.between(0.8, 1.25).all(), ratio
    paired = ["confidence", "log_score", "brier", "reliability", "calibration_error"]
    ratio = frames["difference_se"][paired].mean() / frames["difference"][paired].std()
    assert ratio.between(0.75, 1.35).all(), ratio


def test_equal_predictions_stay_together():
    """Known answer: two values of the prediction, whose frequencies are plain."""
    posterior = nb.from_parameters(
        nb.Bernoulli(), classes=[0, 1], class_probs=[0.5, 0.5], parameters={"prob": [[0.2], [0.8]]}
    )
    X = [[0]] * 10 + [[1]] * 10
    y = [0] * 9 + [1] + [1] * 6 + [0] * 4
    found = calibration(posterior, X, y)
    rows = found.bins[found.bins["kind"] == "classes"]
    np.testing.assert_allclose(rows["mean_predicted"], [0.2, 0.8])
    np.testing.assert_allclose(rows["observed"], [0.25, 0.75])
    assert rows["count"].tolist() == [20, 20]
    confidence = found.bins[found.bins["kind"] == "confidence"]
    assert confidence["count"].tolist() == [20]
    score = found.table["posterior"]
    assert score["calibration_error"] == pytest.approx(0.05)
    # Class 1 is predicted 0.2 and 0.8 where it has the frequencies 0.1 and 0.6.
    assert score["reliability"] == pytest.approx(2 * (0.1**2 + 0.2**2) / 2)
    assert score["resolution"] == pytest.approx(2 * 0.25**2)
    assert score["uncertainty"] == pytest.approx(2 * 0.35 * 0.65)


def test_intervals_are_jeffreys():
    lower, upper = jeffreys_interval(np.array([0, 3, 8]), np.array([8, 8, 8]), 0.9)
    np.testing.assert_allclose(lower, [0, *stats.beta.ppf(0.05, [3.5, 8.5], [5.5, 0.5])])
    np.testing.assert_allclose(upper, [*stats.beta.ppf(0.95, [0.5, 3.5], [8.5, 5.5]), 1])


def test_what_the_other_may_be(two_models):
    posterior, logistic, X, y, found = two_models

    class Backwards:
        classes_ = posterior.classes[::-1]

        def predict_proba(self, X):
            return logistic.predict_proba(X)[:, ::-1]

    by_array = calibration(posterior, X, y, other=logistic.predict_proba(X))
    pd.testing.assert_frame_equal(by_array.table, found.table)
    pd.testing.assert_frame_equal(calibration(posterior, X, y, other=Backwards()).table, found.table)
    same = calibration(posterior, X, y, other=posterior).table
    assert (same.loc[same["difference"].notna(), "difference"] == 0).all()
    turned = nb.fit(posterior.problem.model, X, y, classes=posterior.classes[::-1].tolist())
    straight = nb.fit(posterior.problem.model, X, y, classes=posterior.classes.tolist())
    one, two = (calibration(posterior, X, y, other=other).table for other in (turned, straight))
    pd.testing.assert_frame_equal(one, two)
    alone = calibration(posterior, X, y)
    assert list(alone.table.columns) == ["posterior", "posterior_se"]
    pd.testing.assert_frame_equal(alone.table, found.table[["posterior", "posterior_se"]])
    assert (
        calibration(posterior, X, y, key=1)
        .table.drop("calibration_error_by_chance")
        .equals(alone.table.drop("calibration_error_by_chance"))
    )


def test_every_posterior_is_judged(truth):
    X, y = truth.simulate(60, key=1)
    exact = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y)
    sampled = nb.from_samples(nb.NaiveBayes(nb.Bernoulli()), exact.draws(num_draws=200), X=X, y=y)
    found = calibration(exact, X, y, other=sampled).table
    assert abs(found.loc["brier", "difference"]) < 0.01
    assert calibration(truth, X, y).table.loc["accuracy", "posterior"] > 0.4


def test_small_and_extreme_tables():
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [0]], ["a", "b"])
    one = calibration(posterior, [[1]], ["a"], bins=50)
    assert one.bins["count"].tolist() == [1, 1, 1]
    assert np.isnan(one.table.loc["brier", "posterior_se"])
    assert one.table.loc["uncertainty", "posterior"] == 0
    certain = nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters={"prob": [[0.0], [1.0]]}
    )
    found = calibration(certain, [[0], [1], [1]], ["a", "b", "a"], other=posterior)
    assert found.table.loc["log_score", "posterior"] == -np.inf
    assert np.isnan(found.table.loc["log_score", "posterior_se"])
    assert found.table.loc["calibration_error", "posterior"] == pytest.approx(1 / 3)
    single = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [0]], ["a", "a"])
    assert calibration(single, [[1], [0]], ["a", "a"]).table.loc["brier", "posterior"] == 0


def test_what_it_shows_of_itself(two_models):
    posterior, *_, found = two_models
    text = repr(found)
    assert text.startswith(f"Calibration on 900 rows, {len(posterior.classes)} classes: confidence 0.")
    assert "by chance" in text
    assert "nan" not in text.lower()
    assert found._repr_html_().startswith("<p><b>Calibration on 900 rows")


def test_the_rows_of_the_fit_are_recognised():
    X, y = nb.datasets.penguins()
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    of_all = {
        "exact": posterior,
        "averaged": posterior.averaged(),
        "point": nb.fit(posterior.model, X, y, nb.MAP()),
        "weighted": nb.weight_features(posterior, X, y),
        "estimator": NaiveBayesClassifier().fit(X, y),
    }
    for fitted in of_all.values():
        found = calibration(fitted, X, y)
        assert found.on_fit
        assert "These are the rows of the fit, on which the scores are too good" in " ".join(repr(found).split())
    order = np.random.default_rng(0).permutation(len(X))
    assert calibration(posterior, X.iloc[order], y[order]).on_fit
    others = {
        "half": (X[::2], y[::2]),
        "labels exchanged": (X, y[order]),
        "a cell": (X.assign(body_mass_g=X["body_mass_g"].where(X.index != 7, 3000.0)), y),
    }
    for name, rows in others.items():
        found = calibration(posterior, *rows)
        assert not found.on_fit, name
        assert "rows of the fit" not in " ".join(repr(found).split())
    sparse = scipy.sparse.csr_array(np.random.default_rng(1).poisson(1.0, (20, 6)))
    words = nb.fit(nb.Multinomial(), sparse, ["a", "b"] * 10)
    assert calibration(words, sparse, ["a", "b"] * 10).on_fit
    assert not calibration(words, sparse[::-1], ["a", "b"] * 10).on_fit


def test_given_parameters_have_no_rows_of_a_fit(truth):
    assert not calibration(truth, *truth.simulate(30, key=1)).on_fit


@pytest.mark.parametrize("kind", ["classes", "confidence"])
def test_the_picture(two_models, kind):
    *_, found = two_models
    figure = found.plot(kind=kind, scale="linear")
    diagram, histogram = figure.axes
    shown = [container.lines[0] for container in diagram.containers]
    for model, line in zip(("posterior", "other"), shown, strict=True):
        rows = found.bins[(found.bins["model"] == model) & (found.bins["kind"] == kind)]
        np.testing.assert_allclose(line.get_xydata(), rows[["mean_predicted", "observed"]])
    assert shown[0].get_marker() != shown[1].get_marker()
    assert shown[0].get_linestyle() != shown[1].get_linestyle()
    assert histogram.get_xlabel()
    assert [text.get_text().split(":")[0] for text in figure.legends[0].get_texts()] == list(found.names.values())
    figure.draw_without_rendering()


@pytest.mark.parametrize("kind", ["classes", "confidence"])
@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_the_shaded_side_is_that_of_predictions_nearer_to_zero_or_one(two_models, kind, scale):
    *_, found = two_models
    diagram = found.plot(kind=kind, scale=scale).axes[0]
    low, high = diagram.get_xlim()
    assert diagram.get_ylim() == (low, high)
    shaded = [path for polygon in diagram.collections[: 1 + (kind == "classes")] for path in polygon.get_paths()]
    for x, y in np.random.default_rng(1).uniform(low, high, (200, 2)):
        over = y > x if kind == "classes" and x < 0.5 else y < x
        assert any(path.contains_point((x, y)) for path in shaded) == over
    words = {(text.get_text(), *text.get_position()) for text in diagram.texts}
    for word, x, y in words:
        at = diagram.transData.inverted().transform(diagram.transAxes.transform((x, y)))
        assert any(path.contains_point(at) for path in shaded) == (word == "overconfident")
    assert {word for word, *_ in words} == {"overconfident", "underconfident"}


def test_probabilities_near_one_are_spread_on_a_logit_axis(two_models, truth):
    *_, found = two_models
    assert found.plot().axes[0].get_xscale() == "logit", "naive Bayes is sure"
    unsure = calibration(truth, *truth.simulate(60, key=1))
    assert unsure.plot().axes[0].get_xscale() == "linear"
    diagram, histogram = found.plot(scale="logit").axes
    low, high = diagram.get_xlim()
    assert low == pytest.approx(1 - high)
    assert 1e-4 <= 1.6 * low <= 1e-2
    line = diagram.containers[0].lines[0]
    bins = found.bins[(found.bins["model"] == "posterior") & (found.bins["kind"] == "classes")]
    np.testing.assert_allclose(line.get_xydata(), bins[["mean_predicted", "observed"]].clip(low, high))
    for axis in (diagram.xaxis, diagram.yaxis, histogram.xaxis):
        texts = [text.get_text() for text in axis.get_ticklabels()]
        assert "0.5" in texts
        np.testing.assert_allclose(axis.get_ticklocs(), [float(text) for text in texts], rtol=1e-9)
    counts = histogram.patches[0].get_xy()[1:-1:2, 1]
    assert counts.sum() == found.predictions["posterior"].size, "those beyond the ends are in the last bars"


def test_the_legend_in_the_caller_s_axes_is_in_the_diagram(two_models):
    diagram, histogram = Figure(figsize=(5, 8)).subplots(2)
    two_models[-1].plot(axes=[diagram, histogram])
    assert len(diagram.get_legend().get_texts()) == 2
    assert histogram.get_legend() is None


def test_the_picture_names_the_models(two_models):
    posterior, _, X, y, found = two_models
    assert found.names == {"posterior": "ExactPosterior", "other": "LogisticRegression"}
    legend = found.plot(names=["mine", "theirs"]).legends[0]
    assert [text.get_text().split(":")[0] for text in legend.get_texts()] == ["mine", "theirs"]
    for other in (posterior, found.predictions["other"]):
        assert calibration(posterior, X, y, other=other).names == {"posterior": "posterior", "other": "other"}
    (alone,) = calibration(posterior, X, y).plot().legends[0].get_texts()
    assert alone.get_text().startswith("posterior: calibration error ")


def test_bins_do_not_part_what_only_rounding_tells_apart():
    predicted = np.array([0.1 + 0.2, 0.3] * 5 + [0.9] * 5)
    assert module._membership(predicted, 4).tolist() == [0] * 10 + [1] * 5


def test_isotonic_fit_weighs_equal_predictions_by_their_number(rng):
    predicted = rng.integers(0, 6, 80) ** 2 / 25
    outcome = (rng.uniform(size=80) < 0.5).astype(float)
    expected = IsotonicRegression().fit_transform(predicted, outcome)
    assert len(np.unique(expected)) < 6
    np.testing.assert_allclose(module._isotonic(predicted, outcome), expected)


@pytest.fixture
def coin():
    """Given parameters of one column: class "b" has probability 0.8 where it is 1, and 0.2 where it is 0."""
    return nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters={"prob": [[0.2], [0.8]]}
    )


def test_standard_errors_are_those_of_means_and_paired_means(coin):
    X, y = [[1], [1], [0], [0], [1]], ["b", "a", "a", "a", "b"]
    other = np.array([[0.4, 0.6], [0.7, 0.3], [0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    table = calibration(coin, X, y, other=other).table
    mine, theirs = np.array([0.8, 0.8, 0.8, 0.8, 0.8]), other.max(axis=1)
    hit, their_hit = np.array([1, 0, 1, 1, 1.0]), np.array([1, 1, 1, 0, 0.0])
    for score, own, another in (("confidence", mine, theirs), ("accuracy", hit, their_hit)):
        row = table.loc[score]
        np.testing.assert_allclose(row[["posterior", "other"]].astype(float), [own.mean(), another.mean()])
        np.testing.assert_allclose(row["posterior_se"], stats.sem(own), atol=1e-15)
        np.testing.assert_allclose(row["other_se"], stats.sem(another))
        np.testing.assert_allclose(row["difference_se"], stats.sem(own - another))
    two = calibration(coin, X[:2], y[:2]).table
    assert two.loc["accuracy", "posterior_se"] == pytest.approx(0.5)


def test_the_error_by_chance_is_the_mean_over_sets_of_labels(monkeypatch):
    monkeypatch.setattr(module, "SIMULATIONS", 3)
    unequal = nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters={"prob": [[0.25], [0.75]]}
    )
    X, y = [[1]] * 5 + [[0]] * 3, ["b"] * 8
    found = calibration(unequal, X, y, other=[[0.4, 0.6]] * 5 + [[0.9, 0.1]] * 3, key=5)
    rng = module.random_generator(5)
    alike = [abs((rng.uniform(size=8) < 0.75).mean() - 0.75) for _ in range(3)]
    # The other model's predictions are in two bins, whose errors add up.
    probs, errors = np.array([0.6] * 5 + [0.9] * 3), []
    for _ in range(3):
        gap = (rng.uniform(size=8) < probs) - probs
        errors.append((abs(gap[:5].sum()) + abs(gap[5:].sum())) / 8)
    chance = found.table.loc["calibration_error_by_chance"]
    np.testing.assert_allclose(chance[["posterior", "other"]].astype(float), [np.mean(alike), np.mean(errors)])
    np.testing.assert_allclose(
        chance[["posterior_se", "other_se"]].astype(float), [np.std(alike, ddof=1), np.std(errors, ddof=1)]
    )


def test_intervals_of_the_bins_have_the_probability_asked_for(coin):
    X, y = [[1]] * 8, ["b"] * 6 + ["a"] * 2
    for options, prob in (({}, 0.89), ({"prob": 0.5}, 0.5)):
        found = calibration(coin, X, y, **options)
        row = found.bins[found.bins["kind"] == "confidence"].iloc[0]
        expected = stats.beta(6.5, 2.5).ppf([(1 - prob) / 2, (1 + prob) / 2])
        np.testing.assert_allclose(row[["observed_lower", "observed_upper"]].astype(float), expected)
        assert found.prob == prob
        assert found.bins.index.tolist() == [0, 1, 2]
        assert found.bins.columns[0] == "model"


def test_probabilities_above_one_by_rounding_count_as_one(coin):
    other = np.array([[1.0 + 5e-7, 0.0], [0.0, 1.0]])
    found = calibration(coin, [[1], [0]], ["a", "b"], other=other)
    assert found.predictions["other"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
