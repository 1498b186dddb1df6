"""Posteriors with weights of features: everything they give, by hand from posteriors of single features."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import poisson
from trees import ALONE, CLASSES, FEATURES, OFFSET, SHARE, WEIGHT, feature_weights, mixed_by_hand

import bayesnb as nb
from bayesnb.core.printing import Printed
from bayesnb.model.feature_weights import SPREADS, NormalWeights, share_without_information
from bayesnb.posterior.belief import WeightedModel


@pytest.fixture
def weighted(posteriors):
    return posteriors["weighted"]


def densities(table, **options):
    """Log predictive density of each new row in each feature, from models of one feature: (features, rows, classes)."""
    X, y, new = table
    uniform = np.full(3, 1 / 3)
    fits = [
        (nb.fit(nb.NaiveBayes(model, class_probs=uniform, **options), X[columns], y), columns)
        for model, columns in ALONE.values()
    ]
    return np.array([fit.log_joint(new[columns]) for fit, columns in fits]) + np.log(3)


def log_joint_by_hand(probs, of_features, weight, offset, share, shared=False):
    """From densities of features (features, rows, classes): each is mixed, and then their product."""
    class_probs = softmax(np.log(probs) + offset)
    of_features = np.array([mixed_by_hand(density, probs, 0.0 if shared else share) for density in of_features])
    return np.log(class_probs) + mixed_by_hand(np.tensordot(weight, of_features, 1), class_probs, share)


@pytest.mark.parametrize("share", [0.0, SHARE])
@pytest.mark.parametrize("inclusion", [None, 0.4], ids=["exact", "averaged"])
@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
def test_predictions_by_hand(table, inclusion, shared, share):
    X, y, new = table
    weight = np.full(5, 0.6) if shared else WEIGHT
    plain = nb.fit(nb.NaiveBayes(FEATURES, feature_inclusion=inclusion), X, y)
    posterior = nb.results.WeightedPosterior(plain, feature_weights(weight, OFFSET, shared, share=share))
    of_features = densities(table, feature_inclusion=inclusion)
    expected = log_joint_by_hand(plain.class_probs(), of_features, weight, OFFSET, share, shared)
    np.testing.assert_allclose(posterior.log_joint(new), expected, rtol=1e-10)


def test_the_share_bounds_what_a_cell_and_a_row_can_say(exact, table):
    """A height of a thousand standard deviations is worth as much as the share allows, and no more."""
    far = table[2].iloc[[0]].assign(height=1e4)
    posterior = nb.results.WeightedPosterior(exact, feature_weights(np.ones(5), np.zeros(3), share=SHARE))
    probs = exact.class_probs()
    for c, of_class in enumerate(CLASSES):
        for against in {*CLASSES} - {of_class}:
            found = posterior.explain(far, of_class, against, num_draws=2)["log_odds"]
            assert found.sum() <= np.log1p((1 - SHARE) / (SHARE * probs[c])) + found["before any cell"] + 1e-9
            assert found["height"] <= np.log1p((1 - SHARE) / (SHARE * probs[c])) + 1e-9
    assert (posterior.predict_proba(far) >= SHARE * probs - 1e-12).all()


def test_densities_far_apart_are_mixed_by_hand():
    """Float64 does not hold their ratios."""
    probs, rates, X = np.array([0.2, 0.3, 0.5]), np.array([[1e-3], [1.0], [900.0]]), np.array([[0], [1], [3000]])
    known = nb.from_parameters(nb.Poisson(), classes=CLASSES, class_probs=probs, parameters={"x_rate": rates})
    weights = feature_weights(np.ones(1), np.zeros(3), share=SHARE)
    expected = log_joint_by_hand(probs, poisson.logpmf(X, rates[:, 0])[None], np.ones(1), np.zeros(3), SHARE)
    np.testing.assert_allclose(nb.results.WeightedPosterior(known, weights).log_joint(X), expected, rtol=1e-12)


def test_the_share_of_equal_classes_is_the_rule_of_succession():
    """With m rows whose features would have been wrong by chance: 1 / (m + 2)."""
    assert share_without_information(20, np.array([0.5, 0.5])) == pytest.approx(1 / 12)
    assert share_without_information(100, np.full(50, 0.02)) == pytest.approx(1 / 100)
    assert share_without_information(0, np.array([0.1, 0.9])) == 0.5


def test_a_row_without_cells_has_the_class_probabilities(exact, table):
    """Only a model without count vectors has such rows."""
    X, y, _ = table
    model = {name: value for name, value in FEATURES.items() if name != "fallen"}
    for weight in (WEIGHT[1:], np.full(4, 0.6)):
        posterior = nb.results.WeightedPosterior(
            nb.fit(nb.NaiveBayes(model), X, y), feature_weights(weight, OFFSET, share=SHARE)
        )
        empty = pd.DataFrame(np.nan, index=[0], columns=X.columns).astype({"bark": object})
        expected = softmax(np.log(posterior.unweighted.class_probs()) + OFFSET)
        np.testing.assert_allclose(posterior.class_probs(), expected)
        np.testing.assert_allclose(posterior.predict_proba(empty), expected[None])


def test_decision_boundary():
    X, y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 1.0]]), np.array([0, 0, 1, 1])
    plain = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y)
    posterior = nb.results.WeightedPosterior(plain, feature_weights([0.5, 1.5, 0.0], [0.3, -0.2]))
    slope, bias = posterior.decision_boundary()
    of_plain, bias_of_plain = plain.decision_boundary()
    np.testing.assert_allclose(slope, of_plain * [0.5, 1.5, 0.0], rtol=1e-10, atol=1e-12)
    odds = np.diff(posterior.predict_log_proba(X), axis=1)[:, 0]
    np.testing.assert_allclose(X @ slope + bias, odds, rtol=1e-9, atol=1e-12)
    assert bias != pytest.approx(bias_of_plain)
    with pytest.raises(ValueError, match=r"linear, and with probability 0\.07 .* posterior\.unweighted"):
        nb.results.WeightedPosterior(plain, feature_weights([1, 1, 1], [0, 0], share=SHARE)).decision_boundary()


class TestDraws:
    def by_hand(self, draws, new, chain, step):
        """Log joint density of rows under one draw, and the draw half a chain before it, from the draws by site."""
        weight = draws["feature_weight"][chain, step]
        part = np.where(weight < 1, (np.sqrt(weight * np.maximum(2 - weight, 0)) - weight) / 2, 0)
        before = step - draws["class_prob"].shape[1] // 2
        own = np.tensordot(weight + part, self.of_features(draws, new, (chain, step)), 1)
        other = np.tensordot(-part, self.of_features(draws, new, (chain, before)), 1)
        return np.log(draws["class_prob"][chain, step]) + draws["class_offset"][chain, step] + own + other

    def of_features(self, draws, new, at):
        """Log densities under a draw, (features, rows, classes): of rows without the cells of the other features."""
        sites = ["size_mean", "size_variance", "bark_prob", "moss_prob", "fallen_prob"]
        given = {"classes": CLASSES, "parameters": {site: draws[site][at] for site in sites}}
        model = nb.NaiveBayes(FEATURES | {"bark": nb.Categorical(categories=["flaky", "rough", "smooth"])})
        known = nb.from_parameters(model, class_probs=np.full(3, 1 / 3), columns=[*new], **given)
        nothing = {"height": np.nan, "bark": None, "moss": np.nan, "width": np.nan, "leaves": 0, "cones": 0, "twigs": 0}
        rows = [
            new.assign(**{name: nothing[name] for name in new if name not in columns}) for _, columns in ALONE.values()
        ]
        return np.array([known.log_joint(each) for each in rows]) + np.log(3)

    @pytest.mark.parametrize("kind", ["weighted", "shared"])
    def test_are_of_parameters_and_weights_together(self, posteriors, table, kind):
        posterior, few = posteriors[kind], {"num_chains": 2, "num_draws": 3, "key": 7}
        draws, plain = posterior.draws(**few), posteriors["exact"].draws(**few)
        of_weights = ["feature_weight", "class_offset", *(["weight_spread"] if kind == "weighted" else [])]
        assert list(draws) == list(posterior.mean()) == [*plain, *of_weights]
        for name, values in plain.items():
            np.testing.assert_array_equal(draws[name], values)
        assert (draws["feature_weight"] == draws["feature_weight"][..., :1]).all() == (kind == "shared")
        found = posterior.proba_draws(table[2], **few)
        for at in np.ndindex(2, 3):
            expected = softmax(self.by_hand(draws, table[2], *at), axis=1)
            np.testing.assert_allclose(found[at], expected, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
    def test_equal_cells_are_looked_up(self, form, rng):
        """Rows with the same cells, missing ones among them, have the densities that each has alone."""
        X, y = rng.integers(0, 2, (40, 3)).astype(float), np.repeat(["a", "b"], 20)
        X[::7, 1] = np.nan
        posterior = nb.weight_features(nb.fit(nb.Bernoulli(), X, y), X, y)
        together = posterior.log_joint_draws(form(X), num_chains=2, num_draws=5)
        alone = [posterior.log_joint_draws(X[[i]], num_chains=2, num_draws=5)[:, :, 0] for i in range(len(X))]
        np.testing.assert_allclose(together, np.stack(alone, axis=2), rtol=1e-12)

    def test_of_the_prior(self, exact):
        for shared in (False, True):
            model = WeightedModel(exact.model.description, exact.model.schema, exact.model.blocks, shared)
            found = model.draw_prior(np.random.default_rng(1), (2, 400))
            assert found.weight.shape == (2, 400, 5)
            assert found.offset.shape == (2, 400, 3)
            assert found.weight.min() >= 0
            assert abs(found.offset.mean()) < 4.5 / np.sqrt(2400)
            if shared:
                assert found.spread is None
                assert (found.weight == found.weight[..., :1]).all()
                # N(1, 1) restricted to positive numbers.
                assert found.weight[..., 0].mean() == pytest.approx(1.2876, abs=4.5 * 0.794 / np.sqrt(800))
            else:
                assert set(np.unique(found.spread)) == set(SPREADS)
                apart = found.weight.std(axis=-1, ddof=1)
                small, large = (apart[found.spread == spread].mean() for spread in (0.05, 1.6))
                assert small == pytest.approx(0.047, abs=0.006)  # mean of a standard deviation of five: .94 of .05
                assert large > 0.6


def test_the_summary_has_parameters_and_weights(weighted, exact):
    found, plain, draws = weighted.summary(prob=0.89), exact.summary(prob=0.89), weighted.feature_weights
    pd.testing.assert_frame_equal(found.loc[plain.index], pd.DataFrame(plain))
    labels = [f"feature_weight[{name}]" for name in ALONE]
    assert [*found.index] == [*plain.index, *labels, *(f"class_offset[{name}]" for name in CLASSES), "weight_spread"]
    assert (weighted.weights.index.tolist(), weighted.weights.index.name) == ([*ALONE], "feature")
    np.testing.assert_array_equal(weighted.weights, found.loc[labels, ["mean", "sd", "lower", "upper"]])
    np.testing.assert_allclose(weighted.weights["mean"], draws.weight_draws.mean(axis=(0, 1)))


def test_printed_form(weighted, posteriors):
    text = repr(weighted)
    assert text.startswith(
        "WeightedPosterior: 30 rows, classes ['ash', 'fir', 'oak']\na weight for each feature; a cell"
    )
    assert "says nothing about the label with probability 0.07" in text.replace("\n", " ")
    assert all(name in text for name in ALONE)
    assert "one weight for all features; " in repr(posteriors["shared"]).replace("\n", " ")


OF_FEATURES = {
    "log_evidence": lambda posterior, *_: posterior.log_evidence,
    "simulate": lambda posterior, *_: posterior.simulate(200)[0],
    "marginals": lambda posterior, *_: posterior.marginals()["moss_prob"].mean,
    "check": lambda *given: nb.check(*given, num_replicates=5),
    "sensitivity": lambda posterior, *_: nb.sensitivity(posterior),
    "mutual_information": lambda posterior, *_: nb.mutual_information(posterior, num_draws=5),
    "feature_evidence": lambda posterior, *_: nb.feature_evidence(posterior),
}


@pytest.mark.parametrize("verb", OF_FEATURES)
def test_what_concerns_the_features_is_without_weights_and_says_so(weighted, exact, table, verb):
    X, y, _ = table
    found, expected = (OF_FEATURES[verb](posterior, X, y) for posterior in (weighted, exact))
    if isinstance(found, Printed):
        assert "Weights of features act on the labels only" in format(found, "400")
        assert "act on the labels only" in found._repr_html_()
        assert "Weights" not in format(expected, "400")
    found, expected = (getattr(each, "table", each) for each in (found, expected))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def left_out_by_hand(plain, X, y, weight):
    """Log probabilities of labels from fits to the other rows; densities of features from models of one feature."""
    found = []
    for row in range(len(X)):
        rest, alone = np.arange(len(X)) != row, X.iloc[[row]]
        without = plain.inference.fit(plain.problem.take_away(plain.problem.model.statistics(alone, y[[row]])), key=0)
        uniform = [
            nb.fit(nb.NaiveBayes(model, class_probs=np.full(3, 1 / 3)), X.loc[rest, columns], y[rest], classes=CLASSES)
            for model, columns in ALONE.values()
        ]
        of_features = np.array(
            [fit.log_joint(alone[columns])[0] for fit, (_, columns) in zip(uniform, ALONE.values(), strict=True)]
        )
        scores = log_joint_by_hand(without.class_probs(), of_features[:, None], weight, OFFSET, SHARE)
        found.append(log_softmax(scores[0])[CLASSES.index(y[row])])
    return np.array(found)


@pytest.mark.filterwarnings("ignore:weights of features were learned")
def test_leave_one_out_keeps_the_weights_and_refits_the_features(weighted, exact, table):
    X, y, _ = table
    expected = left_out_by_hand(exact, X, y, WEIGHT)
    np.testing.assert_allclose(nb.loo(weighted, X, y).elpd_i, expected, rtol=1e-8)
    folds = nb.kfold(weighted, X, y, folds=np.arange(len(X)))
    np.testing.assert_allclose(folds.elpd_i, expected, rtol=1e-8)
    scores, plain = nb.loo_scores(weighted, X, y), nb.loo_scores(exact, X, y)
    assert scores["elpd_label"] == pytest.approx(expected.sum())
    assert scores["elpd_joint"] == pytest.approx(plain["elpd_joint"])
    compared = nb.compare_models({"weights": weighted, "none": exact}, X, y).table
    assert compared.loc["weights", "elpd"] == pytest.approx(expected.sum())
    assert np.isnan(compared.loc["weights", "log_evidence"])


@pytest.mark.parametrize("verb", [nb.loo, nb.loo_scores, nb.kfold])
def test_leave_one_out_says_that_the_weights_are_kept(weighted, table, verb):
    with pytest.warns(UserWarning, match="weights of features were learned from all rows and are kept"):
        verb(weighted, *table[:2])


@pytest.mark.filterwarnings("ignore:the prior of the draws")
def test_leave_one_out_of_draws_with_weights_is_that_of_the_closed_form(weighted, exact, table):
    X, y, _ = table
    sampled = nb.from_samples(nb.NaiveBayes(FEATURES), exact.draws(num_chains=4, num_draws=2000, key=0), X=X, y=y)
    drawn = nb.results.WeightedPosterior(sampled, weighted.feature_weights)
    with pytest.warns(UserWarning, match="weights of features were learned from all rows and are kept"):
        found, expected = nb.loo(drawn, X, y), nb.loo(weighted, X, y)
    # Draws keep the prior's numbers that follow all rows; each of the 30 estimates has an error of about .02.
    np.testing.assert_allclose(found.elpd_i, expected.elpd_i, atol=0.15)
    assert (str(found)[:5], str(expected)[:5]) == ("Leave", "Exact")


@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
@pytest.mark.parametrize("inclusion", [None, 0.4], ids=["exact", "averaged"])
def test_update_predicts_the_rows_and_then_adds_them(table, inclusion, shared):
    """The mode by SciPy, from densities of single features before the rows are added."""
    X, y, new = table
    labels = np.array(CLASSES)[np.arange(len(new)) % 3]
    plain = nb.fit(nb.NaiveBayes(FEATURES, feature_inclusion=inclusion), X, y)
    weighted = nb.weight_features(plain, X, y, shared=shared)
    found = weighted.update(new, labels)
    np.testing.assert_allclose(found.unweighted.log_joint(new), plain.update(new, labels).log_joint(new), rtol=1e-12)
    before, after = weighted.feature_weights, found.feature_weights
    assert after.num_rows == before.num_rows + len(new)
    assert before.no_information == share_without_information(30, plain.class_probs())
    assert after.no_information == share_without_information(39, plain.class_probs())
    size = 1 if shared else 5
    of_features = densities(table, feature_inclusion=inclusion)
    if shared:
        of_features = of_features.sum(axis=0, keepdims=True)
    else:
        of_features = [mixed_by_hand(each, plain.class_probs(), before.no_information) for each in of_features]
    codes = [CLASSES.index(label) for label in labels]

    def loss(point):
        scores = np.log(plain.class_probs()) + point[size:] + np.tensordot(point[:size], of_features, 1)
        away = point - before.gaussian.mean
        return away @ before.gaussian.precision @ away / 2 - log_softmax(scores, axis=1)[range(len(new)), codes].sum()

    bounds = [(0, None)] * size + [(None, None)] * 3
    best = minimize(loss, np.r_[np.ones(size), np.zeros(3)], bounds=bounds, tol=1e-13)
    np.testing.assert_allclose(after.weight, np.broadcast_to(best.x[:size], 5), atol=2e-4)
    np.testing.assert_allclose(after.offset, best.x[size:], atol=2e-4)
    # The new precision is the second derivative at the mode.
    step = 1e-3 * np.eye(size + 3)
    mode = np.r_[after.weight[:size], after.offset]
    curved = [[_cross(loss, mode, one, other) for other in step] for one in step]
    np.testing.assert_allclose(after.gaussian.precision, curved, rtol=1e-4, atol=1e-4)


def _cross(function, point, one, other):
    """A second derivative by differences."""
    ends = [
        sign * function(point + a * one + b * other)
        for a, b, sign in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
    ]
    return sum(ends) / (4 * np.abs(one).max() * np.abs(other).max())


@pytest.mark.filterwarnings("ignore:the rows have no label")
def test_rows_that_are_impossible_under_a_class_teach_no_weights():
    known = nb.from_parameters(
        nb.NaiveBayes({"moss": nb.Bernoulli(), "cones": nb.Poisson()}),
        classes=CLASSES,
        class_probs=np.full(3, 1 / 3),
        parameters={"moss": [1.0, 0.5, 0.5], "cones": [1.0, 2.0, 1.0]},
        columns=["moss", "cones"],
    )
    posterior = nb.results.WeightedPosterior(
        known, replace(feature_weights([1.0, 1.0], OFFSET), gaussian=NormalWeights.before_any_row(2, 3))
    )
    rows = pd.DataFrame({"moss": [0.0, 1.0], "cones": [1, 1]})
    assert posterior.learned(rows[:1], ["fir"]) is posterior
    both, one = (posterior.learned(some, ["fir"] * len(some)) for some in (rows, rows[1:]))
    np.testing.assert_array_equal(both.feature_weights.weight, one.feature_weights.weight)


def test_a_cell_that_is_impossible_under_some_draws():
    """Its log joint density is minus infinity under these draws, and a number under the others."""
    prob = np.random.default_rng(0).uniform(0.2, 0.8, (2, 40, 2, 1))
    prob[:, ::3, 0] = prob[:, 1::4, 0] = 0.0  # some draws have another one beside them that is impossible, too
    samples = {"class_prob": np.full((2, 40, 2), 0.5), "x_prob": prob}
    sampled = nb.from_samples(nb.Bernoulli(), samples, X=[[0], [1], [0], [1]], y=["a", "a", "b", "b"])
    weighted = nb.results.WeightedPosterior(sampled, feature_weights([0.7], [0.0, 0.0]))
    found = weighted.log_joint_draws([[1]])[:, :, 0]
    assert np.array_equal(np.isneginf(found), prob[..., 0] == 0)
    assert not np.isnan(found).any()


def test_weights_print_every_column():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 40)
    X = pd.DataFrame(rng.integers(0, 2, (40, 2)), columns=["a long name of a column " * 3, "other"])
    weights = nb.weight_features(nb.fit(nb.Bernoulli(), X, y), X, y).weights
    lines = str(weights).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["feature", "mean", "sd", "lower", "upper"]
    assert len(lines) == 4
