"""Leave-one-out and K-fold without refitting, beside refitting."""

import copy
import pickle
import re

import arviz as az
import arviz_stats
import matplotlib.pyplot as plt
import numpy as np
import numpyro.distributions as dist
import pytest
import xarray as xr
from arviz_stats.utils import ELPDData
from correlated import coins, correlated_draws

import bayesnb as nb


def test_draws_estimate_the_same(mixed):
    features, X, y = mixed
    exact = nb.fit(nb.NaiveBayes({name: features[name] for name in ("rings", "moss", "bark")}), X, y)
    sampled = nb.from_samples(exact.model, exact.draws(num_draws=2500, key=1), X=X, y=y)
    truth, estimate = nb.loo(exact, X, y), nb.loo(sampled, X, y)
    assert estimate.n_samples == 10_000
    assert "Pareto k" in repr(estimate)
    assert 0 < estimate.pareto_k.max() < 0.7
    assert estimate.elpd == pytest.approx(truth.elpd, abs=0.2)
    assert estimate.se == pytest.approx(truth.se, rel=0.02)
    # Row by row they differ by Monte Carlo error alone, which is small beside what leaving the row out does.
    in_sample = exact.predict_log_proba(X)[np.arange(50), np.searchsorted(exact.classes, y)]
    error, effect = np.abs(estimate.elpd_i - truth.elpd_i), np.abs(in_sample - truth.elpd_i)
    assert error.mean() < 0.1 * effect.mean()
    assert truth.p == pytest.approx(in_sample.sum() - truth.elpd)


def test_the_score_of_draws_is_that_of_arviz_for_the_whole_tree():
    """Draws that depend on each other: ArviZ takes their effective number from all parameters."""
    rng = np.random.default_rng(12)
    model, X, y = coins(rng, columns=2)
    sampled = nb.from_samples(model, correlated_draws(nb.fit(model, X, y), rng, 400), X=X, y=y)
    found = nb.loo(sampled, X, y)
    expected = arviz_stats.loo(sampled.to_datatree(X, y), var_name="y", pointwise=True)
    assert found.elpd == pytest.approx(expected.elpd, rel=1e-12)
    np.testing.assert_allclose(found.pareto_k, expected.pareto_k, rtol=1e-10)


def test_scores_are_records_of_arviz_that_print_themselves_in_plain_words(mixed):
    """Also after they were pickled or copied."""
    features, X, y = mixed
    fits = {"all": nb.NaiveBayes(features), "cones": nb.NaiveBayes({"cones": features["rings"]})}
    posteriors = {name: nb.fit(model, X, y) for name, model in fits.items()}
    results = {name: nb.loo(posterior, X, y) for name, posterior in posteriors.items()}
    table = az.compare(results, round_to="none")
    for name, found in results.items():
        assert table.loc[name, "elpd"] == found.elpd
        assert table.loc[name, "p"] == pytest.approx(found.p)
        assert found.elpd_i.dims == found.pareto_k.dims == ("row",)
        for result in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            text = repr(result)
            assert str(result) == text
            assert text.startswith(f"Exact leave-one-out score of {len(y)} labels")
            assert "elpd_loo" in text
            assert f"{found.elpd:.2f} ± {found.se:.2f}" in text
            assert not re.search("Pareto|posterior samples|warning", text)
            assert isinstance(result, ELPDData)
            xr.testing.assert_identical(result.elpd_i, found.elpd_i)
    az.plot_compare(table, backend="matplotlib")
    plt.close("all")
    folds = {name: nb.kfold(posterior, X, y) for name, posterior in posteriors.items()}
    assert "10-fold" in repr(folds["all"])
    assert list(az.compare(folds).index) == list(table.index)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
@pytest.mark.parametrize(
    ("model", "told"),
    [
        (nb.NaiveBayes(nb.Gaussian()), "hyperparameters on the data's scale. The score"),
        (nb.NaiveBayes(nb.Gaussian(0.0, 1.0, 1.0, 1.0), class_probs="empirical"), r"\(class_probs=\"empirical\"\)\."),
    ],
)
def test_draws_of_a_prior_that_follows_the_data_are_warned_of(rng, model, told):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    exact = nb.fit(model, X, y)
    draws = exact.draws(num_draws=100, key=1)
    with pytest.warns(UserWarning, match=told):
        assert nb.loo(nb.from_samples(model.bind(X, y), draws, X=X, y=y), X, y).warning
    assert np.isfinite(nb.loo(nb.from_samples(exact.model, draws, X=X, y=y), X, y).elpd)


@pytest.mark.slow
def test_maxima_of_the_evidence_are_warned_of_and_give_no_probability_of_a_model():
    """Hyperparameters that maximise the evidence saw every row."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = (rng.uniform(size=(60, 6)) < np.where(y, 0.8, 0.3)[:, None]).astype(int)
    posterior = nb.fit(nb.Bernoulli(dist.Gamma(2.0, 1.0), 1.5), X, y, nb.EmpiricalBayes())
    for criticise in (nb.loo, nb.loo_scores):
        with pytest.warns(UserWarning, match=r"concentration1: nb\.EmpiricalBayes chose them by all rows"):
            found = criticise(posterior, X, y)
        assert criticise is nb.loo_scores or found.warning
    for rival in (nb.Bernoulli(), posterior):
        found = nb.compare_models({"learned": posterior, "rival": rival}, X, y)
        assert found.table["model_probability"].isna().all()
        assert found.table.loc["learned", "prior_saw"] == "maximised"
        assert any("learned: x_concentration1: nb.EmpiricalBayes chose them" in note for note in found.notes)
        assert found.notes[-1].startswith("No model probabilities: nb.EmpiricalBayes chose hyperparameters of learned")


SEEN = {"class_probs": "empirical"}


def gaussians(kappa=1.0, **options):
    return nb.NaiveBayes(nb.Gaussian(kappa=kappa), **options)


RIVALS = {
    "scale": (gaussians(), nb.Gaussian(0.0, 0.1, 1.0, 0.1), "the scale of the columns for one; nothing for other"),
    "frequencies": (
        gaussians(**SEEN),
        gaussians(),
        "the frequencies of the labels and the scale of the columns for one; the scale",
    ),
    "concentration": (gaussians(), gaussians(class_concentration=2.0), "the class priors of one and other differ"),
    "given": (gaussians(class_probs=[0.5, 0.5]), gaussians(), "the class priors of one and other differ"),
    "alike": (gaussians(), gaussians(2.0), ""),
    "alike, of frequencies": (gaussians(**SEEN), gaussians(2.0, **SEEN), ""),
    "alike, given": (gaussians(class_probs=[0.3, 0.7]), gaussians(2.0, class_probs=[0.3, 0.7]), ""),
}


@pytest.mark.parametrize("name", RIVALS)
def test_models_have_probabilities_if_their_priors_saw_the_same(name, rng):
    one, other, reason = RIVALS[name]
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    found = nb.compare_models({"one": one, "other": other}, X, y)
    if reason:
        assert found.table["model_probability"].isna().all()
        assert reason in found.notes[-1]
        assert reason in " ".join(repr(found).split())
        assert (np.diff(found.table["elpd"]) <= 0).all()
    else:
        assert found.table["model_probability"].sum() == pytest.approx(1.0)
        assert found.notes == ()


def test_classes_in_another_order_are_the_same_prior():
    X, y = np.array([[0], [1], [1], [0], [1]]), list("abbab")
    there, back = (
        nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs={"a": 0.4, "b": 0.6}), X, y, classes=order)
        for order in (["a", "b"], ["b", "a"])
    )
    assert nb.compare_models({"there": there, "back": back}, X, y).table["model_probability"].tolist() == [0.5, 0.5]


def test_an_impossible_row_is_noted():
    X, y = np.array([[0], [1], [1], [0]]), list("aabc")
    models = {"dirichlet": nb.Bernoulli(), "frequencies": nb.NaiveBayes(nb.Bernoulli(), **SEEN)}
    found = nb.compare_models(models, X, y)
    assert found.table.loc["frequencies", "elpd"] == -np.inf
    assert found.table["prior_saw"].tolist() == ["", "labels"]
    assert found.notes[0].startswith("frequencies: rows 2, 3: the rows not left out hold no such label")


@pytest.mark.parametrize("inclusion", [None, 0.5])
def test_codes_in_a_small_type_have_the_scores_of_numbers(inclusion, rng):
    X, y = rng.integers(0, 3, (40, 2)).astype(np.int8), np.arange(40) % 2
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical(), feature_inclusion=inclusion), X, y)
    np.testing.assert_allclose(nb.loo_scores(posterior, X, y), nb.loo_scores(posterior, X.astype(float), y), rtol=1e-12)
