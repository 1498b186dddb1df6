"""Posteriors for another population, whose classes have known probabilities: laws over every kind."""

from dataclasses import replace

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy.special import logsumexp, softmax
from trees import CLASSES, FEATURES, KINDS, OF_DRAWS, POINTS, closed_forms

import bayesnb as nb

GIVEN = {"oak": 0.2, "ash": 0.75, "fir": 0.05}
NEW = np.array([GIVEN[label] for label in CLASSES])
FEW = {"num_chains": 2, "num_draws": 3, "key": 3}
of_every_kind = pytest.mark.parametrize("kind", KINDS)


def by_hand(kind, posterior, table):
    """Class probabilities of the new rows: the odds times new / old, for draws one by one."""
    X, y, new = table
    if kind == "sampled":
        draws = posterior.log_joint_draws(new) - np.log(posterior.draws()["class_prob"])[:, :, None]
        return softmax(logsumexp(draws, axis=(0, 1)) + np.log(NEW), axis=1)
    if kind == "collapsed":
        forms = [form.log_joint(new) - np.log(form.class_probs()) for form in closed_forms(X, y)]
        return softmax(logsumexp(forms, axis=0) + np.log(NEW), axis=1)
    odds = posterior.predict_proba(new) * NEW / posterior.plain.class_probs()
    return odds / odds.sum(axis=1, keepdims=True)


@of_every_kind
def test_odds_are_multiplied_by_new_over_old(posteriors, table, kind):
    posterior, new = posteriors[kind], table[2]
    before = posterior.predict_proba(new)
    found = posterior.with_class_probs(GIVEN)
    # Of draws, the class probabilities of the rows are the mean.
    atol = 2e-3 if kind == "weighted sampled" else 1e-13
    np.testing.assert_allclose(found.predict_proba(new), by_hand(kind, posterior, table), rtol=0, atol=atol)
    np.testing.assert_allclose(softmax(found.log_joint(new), axis=1), found.predict_proba(new), rtol=1e-9)
    np.testing.assert_allclose(found.class_probs(), NEW, rtol=1e-14)
    assert type(found) is type(posterior)
    np.testing.assert_array_equal(posterior.predict_proba(new), before)
    again = posterior.with_class_probs([0.1, 0.6, 0.3]).with_class_probs(NEW)
    np.testing.assert_array_equal(again.predict_proba(new), found.predict_proba(new))


def test_a_series_names_its_classes(posteriors, table, tmp_path):
    """As ``value_counts(normalize=True)`` gives it, the most frequent class first."""
    X, y, new = table
    given = pd.Series(GIVEN).sort_values(ascending=False)
    expected = posteriors["exact"].with_class_probs(GIVEN).predict_proba(new)
    np.testing.assert_array_equal(posteriors["exact"].with_class_probs(given).predict_proba(new), expected)
    fitted = nb.fit(nb.NaiveBayes(FEATURES, class_probs=given), X, y)
    np.testing.assert_array_equal(fitted.class_probs(), NEW)
    small = X[["height", "width"]]
    classifier = nb.NaiveBayesClassifier(class_probs=given).fit(small, y)
    moved = nb.NaiveBayesClassifier().fit(small, y).with_class_probs(given)
    np.testing.assert_allclose(moved.predict_proba(small), classifier.predict_proba(small), rtol=1e-9)
    moved.save(tmp_path / "moved.nc")
    assert nb.load(tmp_path / "moved.nc").class_probs == GIVEN
    with pytest.raises(ValueError, match=r"class_probs names \[0, 1, 2\], the classes are"):
        posteriors["exact"].with_class_probs(pd.Series(NEW))


@of_every_kind
def test_draws_reasons_and_files_have_the_probabilities(posteriors, table, kind, tmp_path):
    found, new = posteriors[kind].with_class_probs(GIVEN), table[2]
    reasons = found.explain(new.iloc[[4]], "ash", "fir", num_draws=3)
    assert reasons.loc["before any cell", "log_odds"] == pytest.approx(np.log(NEW[0] / NEW[1]), abs=1e-9) or hasattr(
        found, "unweighted"
    )
    log_proba = found.predict_log_proba(new.iloc[[4]])[0]
    assert reasons["log_odds"].sum() == pytest.approx(log_proba[0] - log_proba[1])
    np.testing.assert_allclose(found.mean()["class_prob"], NEW, rtol=1e-12)
    if kind not in POINTS:
        draws = found.draws(**FEW)
        np.testing.assert_array_equal(draws["class_prob"], np.broadcast_to(NEW, (2, 3, 3)))
        for site, values in posteriors[kind].draws(**FEW).items():
            same = site not in ("class_prob", "class_concentration") and kind in OF_DRAWS
            assert not same or np.array_equal(draws[site], values)
        offsets = draws.get("class_offset", np.zeros((2, 3, 3)))
        no_cells = new.iloc[:1].assign(height=np.nan, width=np.nan, moss=np.nan, bark=None, leaves=0, cones=0, twigs=0)
        expected = softmax(np.log(NEW) + offsets, axis=-1)
        np.testing.assert_allclose(found.proba_draws(no_cells, **FEW)[:, :, 0], expected, rtol=1e-9)
    labels = found.simulate(4000, key=0, total_count=5)[1]
    assert abs((labels == "ash").mean() - 0.75) < 0.03
    found.save(tmp_path / "given.nc")
    np.testing.assert_array_equal(nb.load(tmp_path / "given.nc").log_joint(new), found.log_joint(new))


def test_a_closed_form_is_that_of_a_fit_with_the_probabilities(posteriors, table, tmp_path):
    X, y, new = table
    fitted = nb.fit(nb.NaiveBayes(FEATURES, class_probs=GIVEN), X, y)
    found = posteriors["exact"].with_class_probs(GIVEN)
    for one, other in ((found, fitted), (found.update(new, y[:9]), fitted.update(new, y[:9]))):
        np.testing.assert_allclose(one.log_joint(new), other.log_joint(new), rtol=1e-12)
        assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)
        for mine, theirs in zip(one.simulate(9, key=1), other.simulate(9, key=1), strict=True):
            assert (mine == theirs).all(axis=None)
    assert repr(found) == repr(fitted)


@pytest.mark.filterwarnings("ignore:the rows have no label .*, and weights of features")
@pytest.mark.parametrize("kind", ["exact", "averaged", "weighted", "shared", "point"])
def test_more_and_fewer_rows_keep_the_probabilities(posteriors, table, kind):
    X, y, new = table
    posterior = posteriors[kind]
    given_first = posterior.with_class_probs(GIVEN).update(X[:4], y[:4]).forget(X[4:6], y[4:6])
    given_last = posterior.update(X[:4], y[:4]).forget(X[4:6], y[4:6]).with_class_probs(GIVEN)
    np.testing.assert_allclose(given_first.predict_proba(new), given_last.predict_proba(new), rtol=1e-12)


def test_hyperparameters_that_were_maximised_stay(posteriors, table):
    exact, new = posteriors["exact"], table[2]
    bark = FEATURES | {"bark": nb.Categorical(dist.Gamma(2.0, 2.0))}
    learned = nb.NaiveBayes(bark, class_concentration=dist.Gamma(2.0, 1.0)).bind(*table[:2])
    posterior = nb.results.ExactPosterior(replace(exact.problem, learned_from=learned), nb.EmpiricalBayes())
    found = posterior.with_class_probs(GIVEN)
    assert found.hyperparameters() == {"bark_concentration": 0.7}
    assert found.problem.learned_from.description.class_probs.tolist() == NEW.tolist()
    np.testing.assert_allclose(found.predict_proba(new), by_hand("exact", posterior, table), rtol=1e-12)


def test_without_any_learned_hyperparameter_draws_are_left(posteriors, table):
    """The concentration of the classes was the only one."""
    X, y, new = table
    given = nb.fit(nb.NaiveBayes(FEATURES), X, y)
    model = nb.NaiveBayes(FEATURES, class_concentration=dist.Gamma(2.0, 1.0)).bind(X, y)
    parameters = given.belief.draw(2, 100, 0)
    learned = {"class_concentration": np.ones((2, 100))}
    parameters = type(parameters)(parameters.class_prob, parameters.blocks, learned)
    posterior = nb.results.CollapsedPosterior(given.problem, model, parameters, {}, nb.NUTS())
    found = posterior.with_class_probs(GIVEN)
    assert type(found) is nb.results.SampledPosterior
    assert "class_concentration" not in found.draws()
    np.testing.assert_allclose(found.predict_proba(new), by_hand("sampled", found, table), rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ash": 0.5, "fir": 0.5}, r"class_probs names \['ash', 'fir'\], the classes are \['ash', 'fir', 'oak'\]"),
        ({"ash": 0.5, "fir": 0.25, "elm": 0.25}, "names .*'elm'.* the classes are"),
        ([0.5, 0.5], "2 entries, there are 3 classes"),
        ([0.5, 0.5, 0.5], "sum to 1.5, not to one"),
        ([1.5, 0.0, -0.5], "give a probability, zero or more"),
        ([np.nan, 0.5, 0.5], "give a probability, zero or more"),
        ("empirical", "give a probability for each class, which are"),
        (None, "give a probability for each class, which are"),
        (["a", "b", "c"], "give numbers"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["exact", "weighted", "sampled", "known"])
def test_wrong_probabilities_are_errors(posteriors, kind, given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        posteriors[kind].with_class_probs(given)


def test_weights_know_no_odds_of_a_class_without_rows():
    X, y = [[0], [1], [1], [0], [1]], [*"aabba"]
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
    weighted = nb.weight_features(nb.fit(model, X, y, classes=["a", "b", "c"]), X, y)
    with pytest.raises(ValueError, match=r"class 'c' has probability zero .* 0\.2 in class_probs"):
        weighted.with_class_probs([0.4, 0.4, 0.2])
    found = weighted.with_class_probs([0.3, 0.7, 0.0]).predict_proba(X)
    expected = weighted.predict_proba(X) * [0.3 / 0.6, 0.7 / 0.4, 0.0]
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)


class TestClassifier:
    """A classifier with the parameter class_probs is one that gets the probabilities after its fit."""

    @pytest.mark.parametrize("weights", ["auto", None])
    @pytest.mark.parametrize("keep_rows", [2000, 0])
    def test_is_fitted_with_the_probabilities(self, table, weights, keep_rows, tmp_path):
        X, y, new = table
        options = {"feature_weights": weights, "keep_rows": keep_rows}
        plain = nb.NaiveBayesClassifier(nb.NaiveBayes(FEATURES), **options)
        asked = nb.NaiveBayesClassifier(nb.NaiveBayes(FEATURES), class_probs=GIVEN, **options)
        plain.partial_fit(X[:20], y[:20], classes=CLASSES)
        asked.partial_fit(X[:20], y[:20], classes=CLASSES)
        before = plain.predict_proba(new)
        found = plain.with_class_probs(GIVEN)
        for rest in (slice(0, 0), slice(20, 30)):
            if rest.stop:
                found.partial_fit(X[rest], y[rest])
                asked.partial_fit(X[rest], y[rest])
            np.testing.assert_allclose(found.predict_proba(new), asked.predict_proba(new), rtol=1e-9)
            assert repr(found.model_) == repr(asked.model_)
        np.testing.assert_array_equal(plain.predict_proba(new), before)
        assert (plain.class_probs, found.class_probs) == (None, GIVEN)
        found.save(tmp_path / "given.nc")
        np.testing.assert_array_equal(nb.load(tmp_path / "given.nc").predict_proba(new), found.predict_proba(new))
        found.forget(X[20:], y[20:])
        np.testing.assert_allclose(found.posterior_.class_probs(), NEW)

    def test_chooses_and_weighs_features_alike(self, table):
        X, y, new = table
        found = nb.NaiveBayesClassifier().fit(X, y).with_class_probs(GIVEN)
        asked = nb.NaiveBayesClassifier(class_probs=GIVEN).fit(X, y)
        np.testing.assert_allclose(found.predict_proba(new), asked.predict_proba(new), rtol=1e-9)

    def test_is_not_fitted(self):
        with pytest.raises(ValueError, match="not fitted"):
            nb.NaiveBayesClassifier().with_class_probs([0.5, 0.5])
