"""Functions of a posterior take the fitted estimator that holds it."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn.naive_bayes
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from slow import names_fast

import bayesnb as nb
from bayesnb.estimators import BernoulliNB, GaussianNB, NaiveBayesClassifier

Y = np.repeat(["a", "b"], 15)
X = np.random.default_rng(0).normal(size=(30, 3)) + 0.5 * (Y == "b")[:, None]


@pytest.fixture(scope="module")
def estimator():
    return NaiveBayesClassifier(nb.Gaussian()).fit(X, Y)


@pytest.fixture(scope="module")
def sampled(estimator):
    posterior = estimator.posterior_
    draws = posterior.plain.draws(num_draws=500, key=1)
    found = NaiveBayesClassifier(nb.Gaussian()).fit(X, Y)
    found.posterior_ = nb.from_samples(posterior.problem.model, draws, X=X, y=Y)
    return found


def picture(figure):
    """All lines, points, bars and titles of a figure."""
    parts = [figure.get_suptitle()]
    for axis in figure.axes:
        parts += [axis.get_title(), axis.get_xlabel()]
        parts += [line.get_xydata().tolist() for line in axis.lines]
        parts += [collection.get_offsets().tolist() for collection in axis.collections]
    plt.close(figure)
    return parts


def _model(given):
    """Of a posterior its model: these verbs take a model too."""
    return given.problem.model if isinstance(given, nb.results.WeightedPosterior) else given


VERBS = {
    "check": lambda p: nb.check(p, X, Y, num_replicates=20).table,
    "loo": lambda p: nb.loo(p, X, Y).elpd_i.to_numpy(),
    "loo_scores": lambda p: nb.loo_scores(p, X, Y),
    "kfold": lambda p: nb.kfold(p, X, Y, k=3).elpd_i.to_numpy(),
    "calibration": lambda p: nb.calibration(p, X, Y).table,
    "sensitivity": lambda p: nb.sensitivity(p, X[:2]).table,
    "mutual_information": lambda p: nb.mutual_information(p, num_draws=20),
    "feature_evidence": nb.feature_evidence,
    "compare_models": lambda p: nb.compare_models({"one": p, "other": nb.Gaussian(kappa=1.0)}, X, Y).table,
    "plot_densities": lambda p: picture(nb.plot_densities(p, X, Y)),
    "plot_log_odds": lambda p: picture(nb.plot_log_odds(p, X[:3])),
    "plot_prior_posterior": lambda p: picture(nb.plot_prior_posterior(p, max_panels=2)),
    "plot_evidence": lambda p: picture(nb.plot_evidence(p, X[0])),
    "select_features": lambda p: nb.select_features(p, X, Y).table,
    "group_columns": lambda p: nb.group_columns(_model(p), X, Y, columns=[0, 1]).notes,
    "plot_proba": lambda p: picture(nb.plot_proba(p, X[:3])),
}


@pytest.mark.filterwarnings("ignore:weights of features were learned")
@pytest.mark.parametrize("verb", names_fast(VERBS, {*VERBS} - {"plot_prior_posterior", "sensitivity"}))
def test_an_estimator_is_taken_for_its_posterior(verb, estimator):
    given, expected = VERBS[verb](estimator), VERBS[verb](estimator.posterior_)
    if isinstance(expected, pd.DataFrame | pd.Series):
        assert given.equals(expected)
        assert len(expected)
    else:
        np.testing.assert_equal(given, expected)


def test_spikes_of_an_estimator():
    fitted = BernoulliNB().fit(X, Y)
    np.testing.assert_equal(picture(nb.plot_spikes(fitted)), picture(nb.plot_spikes(fitted.posterior_)))


@pytest.mark.filterwarnings("ignore:Estimated shape parameter of Pareto", "ignore:the prior of the draws")
def test_both_sides_of_a_comparison_may_be_estimators(estimator, sampled):
    found = nb.compare(estimator, sampled)
    assert found.exact is estimator.posterior_.unweighted
    assert found.sampled is sampled.posterior_
    assert nb.loo(sampled, X, Y).elpd == nb.loo(sampled.posterior_, X, Y).elpd


def refusals():
    pipeline = make_pipeline(StandardScaler(), GaussianNB()).fit(X, Y)
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2).fit(X, Y)
    plugin = GaussianNB(predictive="plugin").fit(X, Y)
    remedy = "give what nb.fit(model, X, y) returns, or a fitted estimator of bayesnb.estimators"
    return [
        (GaussianNB(), ValueError, "This GaussianNB instance is not fitted yet. Call 'fit' with appropriate arguments"),
        (pipeline, TypeError, "is a Pipeline: give its last step, pipeline[-1], and the table that this step gets, "),
        (pipeline, TypeError, "pipeline[:-1].transform(X)"),
        (search, TypeError, "is a GridSearchCV: give the estimator that it found, search.best_estimator_"),
        (plugin, ValueError, 'is a GaussianNB with predictive="plugin", which predicts with one value'),
        (plugin, ValueError, "give estimator.posterior_"),
        (sklearn.naive_bayes.GaussianNB().fit(X, Y), TypeError, f"is a GaussianNB: {remedy}"),
        ("exact", TypeError, f"is a str: {remedy}"),
        (nb.Gaussian(), TypeError, f"is a Gaussian: {remedy}"),
    ]


@pytest.mark.parametrize(("given", "error", "message"), refusals(), ids=lambda value: type(value).__name__)
def test_what_holds_no_posterior_is_refused(given, error, message):
    for verb in ("check", "calibration", "feature_evidence", "plot_evidence"):
        with pytest.raises(error, match=re.escape(message)):
            VERBS[verb](given)


def test_the_last_step_of_a_pipeline_with_the_table_it_gets():
    pipeline = make_pipeline(StandardScaler(), GaussianNB()).fit(X, Y)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    expected = nb.loo(nb.fit(nb.NaiveBayes(nb.Gaussian(), class_probs="empirical"), scaled, Y), scaled, Y)
    assert nb.loo(pipeline[-1], pipeline[:-1].transform(X), Y).elpd == pytest.approx(expected.elpd, rel=1e-9)


def test_a_point_predicts_as_it_is(estimator):
    point = GaussianNB(predictive="plugin", inference="map").fit(X, Y)
    table = nb.calibration(point, X, Y).table["posterior"]
    expected = -np.log(point.predict_proba(X)[np.arange(30), np.searchsorted(point.classes_, Y)]).mean()
    assert table["log_score"] == pytest.approx(-expected)
