"""Leave-one-out and K-fold without refitting, beside refitting."""

import copy
import pickle

import arviz_stats
import numpy as np
import numpyro.distributions as dist
import pytest
import xarray as xr
from arviz_stats.utils import ELPDData
from correlated import coins, correlated_draws
from refitting import assert_same
from trees import FEATURES, trees

import bayesnb as nb
from bayesnb.checks.kfold import kfold
from bayesnb.posterior.loo import loo, loo_scores


@pytest.fixture(scope="module")
def mixed():
    """Trees with the number of their rings, and sizes whose prior follows the data."""
    rng = np.random.default_rng(3)
    X, y = trees(rng, 50)
    features = FEATURES | {"size": (nb.Gaussian(), ["height", "width"]), "rings": nb.Poisson()}
    return features, X.assign(rings=rng.poisson(7.0, 50) * 1.0), y


@pytest.mark.parametrize(
    "class_probs", [None, pytest.param([0.3, 0.2, 0.5], marks=pytest.mark.slow)], ids=["learned", "known"]
)
def test_draws_estimate_the_same(mixed, class_probs):
    features, X, y = mixed
    few = {name: features[name] for name in ("rings", "moss", "bark")}
    exact = nb.fit(nb.NaiveBayes(few, class_probs=class_probs), X, y)
    sampled = nb.from_samples(exact.model, exact.draws(num_draws=2500, key=1), X=X, y=y)
    truth, estimate = loo(exact, X, y), loo(sampled, X, y)
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
    draws = correlated_draws(nb.fit(model, X, y), rng, 400)
    sampled = nb.from_samples(model, draws, X=X, y=y)
    found = loo(sampled, X, y)
    expected = arviz_stats.loo(sampled.to_datatree(X, y), var_name="y", pointwise=True)
    assert found.elpd == pytest.approx(expected.elpd, rel=1e-12)
    np.testing.assert_allclose(found.pareto_k, expected.pareto_k, rtol=1e-10)


def test_arviz_compares_and_plots(mixed):
    import arviz as az
    import matplotlib.pyplot as plt

    features, X, y = mixed
    fits = {"all": nb.NaiveBayes(features), "cones": nb.NaiveBayes({"cones": features["rings"]})}
    posteriors = {name: nb.fit(model, X, y) for name, model in fits.items()}
    results = {name: loo(posterior, X, y) for name, posterior in posteriors.items()}
    table = az.compare(results, round_to="none")
    for name, result in results.items():
        assert table.loc[name, "elpd"] == pytest.approx(result.elpd)
        assert table.loc[name, "p"] == pytest.approx(result.p)
        assert "elpd_loo" in repr(result)
        assert result.elpd_i.dims == result.pareto_k.dims == ("row",)
    az.plot_compare(table, backend="matplotlib")
    plt.close("all")
    folds = {name: kfold(posterior, X, y) for name, posterior in posteriors.items()}
    assert "10-fold" in repr(folds["all"])
    assert list(az.compare(folds).index) == list(table.index)


def test_an_exact_score_prints_itself_in_plain_words(mixed):
    """It is ArviZ's record all the same, also after it was pickled, and beside a record that ArviZ made."""
    import arviz as az

    features, X, y = mixed
    model = nb.NaiveBayes(features)
    posterior = nb.fit(model, X, y)
    found = loo(posterior, X, y)
    for result in (found, pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert str(result) == repr(result)
        text = repr(result)
        assert text.startswith(f"Exact leave-one-out score of {len(y)} labels")
        assert f"{found.elpd:.2f} ± {found.se:.2f}" in text
        assert "Pareto" not in text
        assert "posterior samples" not in text
        assert "warning" not in text
        assert isinstance(result, ELPDData)
        xr.testing.assert_identical(result.elpd_i, found.elpd_i)
    table = az.compare({"exact": found, "averaged": loo(posterior.averaged(), X, y)}, round_to="none")
    assert table.loc["exact", "elpd"] == found.elpd


def test_an_exact_score_with_a_warning_prints_that_there_was_one():
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
    X, y = [[1], [0], [1]], ["a", "a", "b"]
    with pytest.warns(UserWarning, match="row 2"):
        found = loo(nb.fit(model, X, y), X, y)
    assert "There was a warning" in repr(found)


def test_what_is_left_of_two_rows_is_no_rounding_error(rng):
    X, y = 10 + rng.normal(size=(40, 2)), np.repeat(np.arange(20), 2)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    assert_same(posterior, X, y)


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


@pytest.fixture(scope="module")
def learned():
    """Rows and a posterior whose hyperparameter maximises the evidence."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = (rng.uniform(size=(60, 6)) < np.where(y, 0.8, 0.3)[:, None]).astype(int)
    return X, y, nb.fit(nb.Bernoulli(dist.Gamma(2.0, 1.0), 1.5), X, y, nb.EmpiricalBayes())


def test_maxima_of_the_evidence_are_warned_of_and_give_no_probability_of_a_model(learned):
    X, y, posterior = learned
    for criticise in (loo, loo_scores):
        with pytest.warns(UserWarning, match=r"concentration1: nb\.EmpiricalBayes chose them by all rows"):
            found = criticise(posterior, X, y)
        if criticise is loo:
            assert found.warning
    for rival in (nb.Bernoulli(), posterior):
        found = nb.compare_models({"learned": posterior, "rival": rival}, X, y)
        assert found.table["model_probability"].isna().all()
        assert found.table.loc["learned", "prior_saw"] == "maximised"
        assert any("learned: x_concentration1: nb.EmpiricalBayes chose them" in note for note in found.notes)
        assert found.notes[-1].startswith("No model probabilities: nb.EmpiricalBayes chose hyperparameters of learned")


SEEN = {"class_probs": "empirical"}
RIVALS = {
    "scale": (nb.Gaussian(), nb.Gaussian(0.0, 0.1, 1.0, 0.1), "the scale of the columns for one; nothing for other"),
    "frequencies": (
        nb.NaiveBayes(nb.Gaussian(), **SEEN),
        nb.Gaussian(),
        "the frequencies of the labels and the scale of the columns for one; the scale",
    ),
    "concentration": (
        nb.Gaussian(),
        nb.NaiveBayes(nb.Gaussian(), class_concentration=2.0),
        "the class priors of one and other differ",
    ),
    "given": (
        nb.NaiveBayes(nb.Gaussian(), class_probs=[0.5, 0.5]),
        nb.Gaussian(),
        "the class priors of one and other differ",
    ),
    "alike": (nb.Gaussian(), nb.Gaussian(kappa=2.0), ""),
    "alike, of frequencies": (nb.NaiveBayes(nb.Gaussian(), **SEEN), nb.NaiveBayes(nb.Gaussian(kappa=2.0), **SEEN), ""),
    "alike, given": (
        *(nb.NaiveBayes(nb.Gaussian(kappa=kappa), class_probs=[0.3, 0.7]) for kappa in (1.0, 2.0)),
        "",
    ),
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
    np.testing.assert_allclose(loo_scores(posterior, X, y), loo_scores(posterior, X.astype(float), y), rtol=1e-12)
