"""The features that speak most for each class, by hand from means and draws of the parameters."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.signal
import scipy.sparse
import scipy.stats
from trees import feature_weights

import bayesnb as nb
from bayesnb.model.feature_weights import FeatureWeights
from bayesnb.selection.telling import _SimulatedRows

WORDS = ["tea", "the", "rum", "of"]
X_WORDS = np.array([[9, 1, 0, 2], [8, 3, 1, 0], [0, 2, 7, 1], [1, 4, 6, 1], [0, 9, 1, 1]])
Y_WORDS = ["a", "a", "b", "b", "c"]
TABLE = pd.DataFrame(
    {
        "bark": ["smooth", "rough", "rough", "flaky", "flaky", "smooth", "rough", "flaky"],
        "moss": [1, 1, 1, 0, 0, 0, 1, 0],
        "height": [1.0, 1.5, 2.0, 5.0, 6.0, 5.5, 9.0, 9.5],
    }
)
LABELS = ["ash", "ash", "ash", "fir", "fir", "fir", "oak", "oak"]


@pytest.fixture(scope="module")
def words():
    model = nb.NaiveBayes({"text": (nb.Multinomial(0.5), slice(0, 4))})
    return nb.fit(model, scipy.sparse.csr_array(X_WORDS), Y_WORDS, feature_names=WORDS)


@pytest.fixture(scope="module")
def mixed():
    model = nb.NaiveBayes({"bark": nb.Categorical(), "moss": nb.Bernoulli(), "height": nb.Gaussian()})
    return nb.fit(model, TABLE, LABELS)


def against_others(prob, class_prob, c):
    """Log ratio of a class's probabilities (..., classes, values) to those of the others."""
    others = [k for k in range(prob.shape[-2]) if k != c]
    weight = class_prob[..., others] / class_prob[..., others].sum(axis=-1, keepdims=True)
    return np.log(prob[..., c, :] / (weight[..., None] * prob[..., others, :]).sum(axis=-2))


def test_words_by_hand(words):
    found = nb.telling_features(words, prob=0.8, num_draws=30, key=4)
    draws = words.draws(num_chains=4, num_draws=30, key=4)
    for c, label in enumerate("abc"):
        rows = found[found["class"] == label].set_index("feature")
        under_draws = against_others(draws["text_prob"], draws["class_prob"], c)
        expected = pd.DataFrame(
            np.quantile(under_draws, [0.5, 0.1, 0.9], axis=(0, 1)).T, WORDS, ["log_odds", "lower", "upper"]
        ).assign(mcse=np.sqrt(np.pi / 2 * under_draws.reshape(120, -1).var(axis=0) / 120))
        assert set(rows.index) == set(expected.index[expected["log_odds"] > 0])
        np.testing.assert_allclose(rows[expected.columns].astype(float), expected.loc[rows.index], rtol=1e-9)
        assert rows["lower"].is_monotonic_decreasing
        assert rows["value"].isna().all()
    assert found.attrs == {"unit": "nats", "prob": 0.8}


def test_values_of_columns_by_hand(mixed):
    found = nb.telling_features(mixed, num=20, num_draws=10, key=3)
    found = found[found["feature"] != "height"].set_index(["class", "feature", "value"])["log_odds"].to_dict()
    draws = mixed.draws(num_chains=4, num_draws=10, key=3)
    moss = np.stack([1 - draws["moss_prob"], draws["moss_prob"]], axis=-1)
    expected = {}
    for c, label in enumerate(["ash", "fir", "oak"]):
        for feature, values, prob in (
            ("bark", ["flaky", "rough", "smooth"], draws["bark_prob"]),
            ("moss", [0, 1], moss),
        ):
            odds = np.median(against_others(prob, draws["class_prob"], c), axis=(0, 1))
            expected |= {(label, feature, value): x for value, x in zip(values, odds, strict=True) if x > 0}
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_number_has_the_mean_log_odds_of_the_rows_of_its_class():
    """Of two normal distributions, the Kullback-Leibler divergence."""
    loc, variance = np.array([0.0, 2.0]), np.array([1.0, 4.0])
    known = nb.from_parameters(
        nb.Gaussian(),
        classes=["a", "b"],
        class_probs=[0.3, 0.7],
        parameters={"mean": loc[:, None], "variance": variance[:, None]},
    )
    each = [nb.telling_features(known, key=key).set_index("class") for key in range(10)]
    for c, label in enumerate("ab"):
        k = 1 - c
        ratio = variance[c] / variance[k]
        expected = (ratio + (loc[c] - loc[k]) ** 2 / variance[k] - 1 - np.log(ratio)) / 2
        # 4,000 simulated rows; the log odds of one row have this variance.
        slope, curve = (loc[c] - loc[k]) / variance[k], (1 / variance[k] - 1 / variance[c]) / 2
        sd = np.sqrt(variance[c] * slope**2 + 2 * (variance[c] * curve) ** 2)
        assert each[0].loc[label, "mcse"] == pytest.approx(sd / np.sqrt(4000), rel=0.15)
        errors = np.array([found.loc[label, "log_odds"] for found in each]) - expected
        assert 0.3 < np.sqrt((errors**2).mean()) / (sd / np.sqrt(4000)) < 1.2


def test_the_error_of_draws_that_depend_on_those_before_is_that_of_other_draws_like_them():
    """Log odds that move slowly from draw to draw, beside the spread of their medians over 30 samples."""
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.5, 0.5]).bind([[0], [1]], ["a", "b"])

    def of_sample(key, memory=0.9):
        rng = np.random.default_rng(key)
        walk = scipy.signal.lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=(4, 700)))[:, 300:]
        prob = np.stack([scipy.special.expit(1 + 0.3 * walk), np.full(walk.shape, 0.5)], axis=-1)[..., None]
        posterior = nb.from_samples(model, {"x_prob": prob}, X=[[0], [1]], y=["a", "b"])
        return nb.telling_features(posterior).set_index(["class", "value"]).loc[("a", 1), ["log_odds", "mcse"]]

    found = pd.DataFrame([of_sample(key) for key in range(30)]).astype(float)
    assert 0.7 < np.sqrt((found["mcse"] ** 2).mean()) / found["log_odds"].std() < 1.5


def test_the_estimate_is_inside_its_interval_and_the_order_is_not_chance(rng):
    """Of a column with heavy zeros and one of ages, whose densities under draws differ much."""
    y = np.repeat([0, 1], 200)
    X = pd.DataFrame(
        {
            "gain": np.where(rng.random(400) < 0.9 - 0.2 * y, 0, np.rint(np.exp(rng.normal(7 + y, 1, 400)))),
            "age": np.rint(rng.normal(40 + 5 * y, 12)),
        }
    )
    model = {"gain": nb.Hurdle(nb.Histogram(num_bins=100)), "age": nb.Histogram(num_bins=50)}
    posterior = nb.fit(nb.NaiveBayes(model), X, y)
    found = [nb.telling_features(posterior, key=key).set_index(["class", "feature"]) for key in range(4)]
    for other in found:
        assert ((other["lower"] <= other["log_odds"]) & (other["log_odds"] <= other["upper"])).all()
        apart = other["log_odds"] - found[0]["log_odds"]
        assert (apart.abs() < 4.5 * np.hypot(other["mcse"], found[0]["mcse"])).all()


def test_the_interval_of_a_number_is_over_draws_of_the_parameters(mixed):
    """The same rows under every draw, with SciPy's density."""
    found = (
        nb.telling_features(mixed, 20, prob=0.8, num_draws=40, key=2).query("feature == 'height'").set_index("class")
    )
    (i,) = (i for i, block in enumerate(mixed.model.blocks) if "height" in block.labels)
    rows = np.stack([cells[i][:, 0] for cells in _SimulatedRows(mixed.model, mixed, 2).of_classes([(i, 0)])])
    draws = mixed.draws(num_chains=4, num_draws=40, key=2)
    mean, sd = draws["height_mean"][..., None], np.sqrt(draws["height_variance"])[..., None]
    for c, label in enumerate(["ash", "fir", "oak"]):
        assert abs(np.median(rows[c]) - mixed.mean()["height_mean"][c]) < 0.5
        density = np.exp(scipy.stats.norm.logpdf(rows[c], mean, sd) + 700)  # so that none is zero
        odds = against_others(density, draws["class_prob"], c).mean(axis=-1)
        row = found.loc[label]
        expected = np.quantile(odds, [0.1, 0.9])
        assert [row["lower"], row["upper"]] == pytest.approx(expected.tolist(), rel=1e-9)


def test_the_best_are_first_and_no_more_than_asked_for(words, mixed):
    for posterior in (words, mixed):
        whole = nb.telling_features(posterior, 20, num_draws=10)
        best = nb.telling_features(posterior, 1, num_draws=10)
        pd.testing.assert_frame_equal(best, whole.groupby("class", sort=False).head(1).reset_index(drop=True))
        assert (whole["log_odds"] > 0).all()
    in_bits = nb.telling_features(words, 20, num_draws=10, unit="bits")
    columns = ["log_odds", "lower", "upper"]
    whole = nb.telling_features(words, 20, num_draws=10)
    np.testing.assert_allclose(in_bits[columns] * np.log(2), whole[columns], rtol=1e-12)


def test_a_word_about_which_the_data_say_little_comes_after_one_about_which_they_say_much():
    model = nb.NaiveBayes({"text": (nb.Multinomial(0.5), slice(0, 3))})
    posterior = nb.fit(model, [[1, 300, 300], [0, 300, 900]], ["a", "b"])
    found = nb.telling_features(posterior).set_index("class").loc["a"]
    assert found["feature"].tolist() == [1, 0]
    assert found["log_odds"].iloc[0] < found["log_odds"].iloc[1]


def test_a_point_has_no_interval_and_ranks_by_log_odds(words):
    found = nb.telling_features(words.plugin())
    assert found[["lower", "upper"]].isna().all(axis=None)
    mean, class_prob = words.mean()["text_prob"], words.class_probs()
    for c, label in enumerate("abc"):
        odds = zip(WORDS, against_others(mean, class_prob, c), strict=True)
        rows = found[found["class"] == label].set_index("feature")["log_odds"]
        assert rows.is_monotonic_decreasing
        assert rows.to_dict() == pytest.approx({word: x for word, x in odds if x > 0})


def test_of_two_classes_a_weight_of_one_or_more_multiplies_the_log_odds():
    X, y = TABLE.iloc[:6], LABELS[:6]
    model = nb.NaiveBayes({"bark": nb.Categorical(), "moss": nb.Bernoulli(), "height": nb.Gaussian()})
    plain = nb.fit(model, X, y)
    weight = np.array([1.0, 2.0, 1.5])
    weights = FeatureWeights(
        weight=weight,
        offset=np.zeros(2),
        weight_draws=np.broadcast_to(weight, (2, 5, 3)).copy(),
        offset_draws=np.zeros((2, 5, 2)),
        spread_draws=np.ones((2, 5)),
        num_rows=6,
    )
    posterior = nb.results.WeightedPosterior(plain, weights)
    columns, keys = ["log_odds", "lower", "upper"], ["class", "feature", "value"]
    found, alone = (
        nb.telling_features(p, 20, num_draws=5).astype({"value": str}).set_index(keys)[columns]
        for p in (posterior, plain)
    )
    factor = alone.index.get_level_values("feature").map(dict(zip(["bark", "moss", "height"], weight, strict=True)))
    np.testing.assert_allclose(found.loc[alone.index], alone.mul(factor.to_numpy(), axis=0), rtol=1e-9)


def test_sampled_and_joint_blocks():
    model = nb.NaiveBayes(
        {"size": (nb.MultivariateGaussian(), ["height", "moss"]), "bark": nb.Categorical(categories=None)}
    )
    exact = nb.fit(model, TABLE, LABELS)
    sampled = nb.from_samples(model, exact.draws(num_draws=50), X=TABLE, y=LABELS)
    for posterior in (exact, sampled):
        found = nb.telling_features(posterior, 20, num_draws=10)
        assert found.loc[found["feature"] == "size", "value"].isna().all()
        assert (found["feature"] == "size").sum() == 3


def test_many_classes_have_the_fewest_draws_by_default():
    labels = np.repeat(np.arange(40), 2)
    posterior = nb.fit(nb.Bernoulli(), np.tile([[0], [1]], (40, 1)) * (labels[:, None] % 2), labels)
    pd.testing.assert_frame_equal(nb.telling_features(posterior), nb.telling_features(posterior, num_draws=50))


def test_words_and_numbers_of_one_table(rng):
    """The words have no length of which rows could be simulated, and need none."""
    X = np.column_stack([rng.poisson([[1.0, 2.0, 3.0]], (60, 3)), rng.normal(size=60)])
    y = np.arange(60) % 2
    X[:, [0, 3]] += 3 * y[:, None]
    text, number = {"text": (nb.Multinomial(), [0, 1, 2])}, {3: nb.Gaussian()}
    both = nb.telling_features(nb.fit(nb.NaiveBayes(text | number), X, y), num_draws=100)
    alone = nb.telling_features(nb.fit(nb.NaiveBayes(number), X, y), num_draws=100)
    assert {*both["feature"]} == {0, 1, 2, 3}
    expected = alone.set_index("class")["log_odds"].to_dict()
    assert both[both["feature"] == 3].set_index("class")["log_odds"].to_dict() == pytest.approx(expected, rel=0.15)


# --------------------------------------------------------------------------------------------------
# Columns that several features describe
# --------------------------------------------------------------------------------------------------

ONCE = {"size": nb.Gaussian(), "kind": nb.Categorical(), "place": nb.Categorical()}
AGAIN = {
    "size in bins": (nb.Histogram(), "size"),
    "kind from the end": (nb.Categorical(0.3, categories=["z", "y", "x"]), "kind"),
    "size given place": (nb.Given(num_bins=3), ["size", "place"]),
    "kind given place": (nb.Given(), ["kind", "place"]),
    "both": (nb.JointCategorical(), ["place", "kind"]),
}


@pytest.fixture(scope="module")
def shops():
    rng = np.random.default_rng(4)
    y, place = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    X = pd.DataFrame(
        {
            "size": rng.normal(y + place * (2 * y - 1), 1.0),
            "kind": np.array(list("xyz"))[(rng.integers(0, 2, 300) + y * place) % 3],
            "place": np.array(["town", "village"])[np.where(rng.random(300) < 0.3, y, place)],
        }
    )
    return X, y


def with_weights(posterior, weight):
    """The posterior with given weights of its features, which draws have with a spread."""
    weights = feature_weights(np.ones(8), [0.0, 0.0])
    draws = weights.weight_draws[..., : len(weight)] * weight
    return nb.results.WeightedPosterior(posterior, replace(weights, weight=np.array(weight), weight_draws=draws))


@pytest.fixture(scope="module")
def described_again(shops):
    weighted = nb.weight_features(nb.NaiveBayes(ONCE | AGAIN), *shops)
    return with_weights(weighted.unweighted, [0.8, 0.5, 0.6, 0.7, 0.4, 0.9, 0.6, 0.0])


@pytest.mark.parametrize(("name", "value"), [("size", None), ("kind", "x"), ("kind", "z")])
def test_the_descriptions_of_a_column_speak_together(described_again, name, value):
    """The mean over simulated rows that hold the value, by log joint densities with the column less those without it.

    The other rows are more, so that their own Monte Carlo error is small. The weight of the block is zero.
    """
    options = {"num_draws": 20, "key": 3}
    found = nb.telling_features(described_again, 99, prob=0.6, **options)
    X, y = described_again.generative.simulate(6000, key=8)
    for c in (0, 1):
        rows = X[y == c]
        rows = rows if value is None else rows.assign(**{name: value})
        with_column, without = (
            described_again.log_joint_draws(frame, **options)
            for frame in (rows, rows.assign(**{name: np.nan if value is None else None}))
        )
        each = (with_column - without)[..., c] - (with_column - without)[..., 1 - c]
        draws = each.mean(axis=-1).ravel()
        if (median := np.median(draws)) <= 0:
            continue
        (row,) = found[(found["class"] == c) & (found["feature"] == name) & (found["value"].isin([value]))].itertuples()
        error = 5 * np.hypot(each.mean(axis=(0, 1)).std() / np.sqrt(500), 1e-9)
        assert row.log_odds == pytest.approx(median, abs=error)
        assert [row.lower, row.upper] == pytest.approx(np.quantile(draws, [0.2, 0.8]), abs=error)


def test_blocks_of_several_columns_are_features_of_their_own(shops):
    posterior = nb.weight_features(nb.NaiveBayes(ONCE | AGAIN), *shops)
    found = nb.telling_features(posterior, 99, num_draws=20)
    assert set(found["feature"]) <= {*ONCE, "both"}
    assert "both" in set(found["feature"])
    assert found.loc[found["feature"] == "both", "value"].isna().all()


def test_with_weights_of_zero_further_descriptions_change_nothing(shops, described_again):
    weight = [0.8, 0.5, 0.6]
    once = with_weights(described_again.generative, weight)
    again = with_weights(described_again.unweighted, [*weight, *np.zeros(len(AGAIN))])
    # The error of the rows is that of the features together, whatever their weights.
    found, expected = (nb.telling_features(p, 99, num_draws=20).drop(columns="mcse") for p in (again, once))
    pd.testing.assert_frame_equal(found, expected)
    found, expected = (posterior.explain(shops[0].iloc[[0]], num_draws=20) for posterior in (again, once))
    assert [*found.loc["both"]] == [0, 0, 0]
    pd.testing.assert_frame_equal(pd.DataFrame(found.drop("both")), pd.DataFrame(expected))


def test_count_vectors_of_the_same_words_speak_together():
    X, y = X_WORDS[:4], Y_WORDS[:4]
    model = nb.NaiveBayes({"text": (nb.Multinomial(0.5), [0, 1, 2, 3]), "bursts": (nb.Multinomial(2.0), [0, 1, 2, 3])})
    posterior = nb.weight_features(model, X, y)
    options = {"num_draws": 30, "key": 2}
    found = nb.telling_features(posterior, 99, **options).set_index(["class", "feature"])
    assert found.index.is_unique
    joint = posterior.log_joint_draws([*np.eye(4, dtype=int), [0] * 4], **options)
    odds = (joint[..., 0] - joint[..., 1]).reshape(-1, 5)
    for word, expected in enumerate(np.median(odds[:, :4] - odds[:, 4:], axis=0)):
        assert found.loc[("a" if expected > 0 else "b", word), "log_odds"] == pytest.approx(abs(expected), rel=1e-8)
    one = posterior.explain([[1, 0, 0, 0]], "a", "b", prob=0.5, **options)
    assert [*one.index] == ["before any cell", 0, "features together"]
    estimate, *ends = one.loc[0]
    lower, upper = np.quantile(odds[:, 0] - odds[:, 4], [0.25, 0.75])
    assert ends == pytest.approx([min(estimate, lower), max(estimate, upper)], rel=1e-8)


def test_an_array_some_of_whose_columns_have_features_that_hold_fewer_numbers(rng):
    """Simulated numbers below zero, which the second feature does not hold, say there what the first one says."""
    y = np.arange(80) % 2
    X = np.column_stack([rng.normal(size=80), np.abs(rng.normal(1, 1, 80)) * (1 + y), y ^ (rng.random(80) < 0.2)])
    features = {2: nb.Categorical(), 1: nb.Gaussian(), "logarithm": (nb.LogNormal(), 1)}
    found = nb.telling_features(nb.weight_features(nb.NaiveBayes(features), X, y), num_draws=20)
    assert {*found["feature"]} == {1, 2}
    assert np.isfinite(found[["log_odds", "lower", "upper"]]).all(axis=None)
