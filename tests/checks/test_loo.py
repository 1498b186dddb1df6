"""Leave-one-out and K-fold without refitting, beside refitting."""

import copy
import pickle
from dataclasses import replace

import arviz_stats
import numpy as np
import pytest
import scipy.sparse
import xarray as xr
from arviz_stats.utils import ELPDData
from cases import CASES, CATEGORIES
from correlated import coins, correlated_draws
from refitting import assert_same
from trees import FEATURES, trees

import bayesnb as nb
from bayesnb.checks.kfold import kfold
from bayesnb.posterior.loo import loo


@pytest.fixture(scope="module")
def mixed():
    """Trees with the number of their rings, and sizes whose prior follows the data."""
    rng = np.random.default_rng(3)
    X, y = trees(rng, 50)
    features = FEATURES | {"size": (nb.Gaussian(), ["height", "width"]), "rings": nb.Poisson()}
    return features, X.assign(rings=rng.poisson(7.0, 50) * 1.0), y


@pytest.mark.parametrize(
    "class_prior",
    [
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"class_concentration": [0.3, 1.0, 2.0]}, marks=pytest.mark.slow),
        pytest.param({"class_probs": [0.2, 0.5, 0.3]}, marks=pytest.mark.slow),
        {"class_probs": "empirical"},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True], ids=["plain", "weighted"])
def test_mixed_tables_equal_refitting(mixed, class_prior, weighted):
    features, X, y = mixed
    weights = np.random.default_rng(4).uniform(0.1, 2.0, 50) if weighted else None
    assert_same(nb.fit(nb.NaiveBayes(features, **class_prior), X, y, sample_weight=weights), X, y, weights)


def test_numbers_that_were_given_are_kept(mixed):
    """The numbers of a fit, given to another model, are numbers: they stay where a row is left out."""
    _, X, y = mixed
    posterior = nb.fit(nb.NaiveBayes({"height": nb.Gaussian()}, class_probs="empirical"), X, y)
    in_numbers = nb.fit(posterior.model, X, y)
    assert_same(in_numbers, X, y)
    assert loo(in_numbers, X, y).elpd - loo(posterior, X, y).elpd > 0.01


@pytest.mark.parametrize("kind", ["exact", "averaged", "sampled"])
def test_without_its_weight_a_row_is_one_of_equal_rows(kind, rng):
    X, y, times = rng.integers(0, 2, (20, 3)), rng.integers(0, 2, 20), rng.integers(1, 5, 20)
    copies = np.repeat(np.arange(20), times)
    model = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.5 if kind == "averaged" else None)
    weighted, repeated = nb.fit(model, X, y, sample_weight=times), nb.fit(model, X[copies], y[copies])
    if kind == "sampled":
        draws = weighted.draws(num_draws=200)
        weighted = nb.from_samples(weighted.model, draws, X=X, y=y)
        repeated = nb.from_samples(repeated.model, draws, X=X[copies], y=y[copies])
    found = loo(weighted, X, y)
    assert (times * found.elpd_i).sum() == pytest.approx(loo(repeated, X[copies], y[copies]).elpd)
    if kind != "exact":
        with pytest.raises(ValueError, match=r"weights w are frequencies, nb\.loo\(posterior, X, y\) gives"):
            loo(weighted, X, y, sample_weight=times)


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Multinomial(), nb.Poisson()], ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_sparse_equals_dense(family, weighted, rng):
    X = rng.poisson(0.4, (30, 40)) * rng.integers(1, 30, (30, 40))
    X = (X > 0).astype(int) if isinstance(family, nb.Bernoulli) else X
    y = rng.integers(0, 3, 30)
    X[3] = 0
    weights = rng.uniform(0.5, 2.0, 30) if weighted else None
    posterior = nb.fit(nb.NaiveBayes(family), X, y, sample_weight=weights)
    dense = assert_same(posterior, X, y, weights)
    sparse = loo(posterior, scipy.sparse.csr_array(X), y, sample_weight=weights)
    np.testing.assert_allclose(sparse.elpd_i, dense.elpd_i, rtol=0, atol=1e-11)


def test_rows_of_many_chunks_keep_their_place(rng):
    X, y = rng.normal(size=(20_000, 20)), rng.integers(0, 3, 20_000)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    found = loo(posterior, X, y)
    for i in (0, 3276, 3277, 13106, 13107, 19_999):
        rest = nb.fit(posterior.problem.model, np.delete(X, i, 0), np.delete(y, i))
        assert rest.predict_log_proba(X[[i]])[0, y[i]] == pytest.approx(float(found.elpd_i[i]), abs=1e-8)
    X[17_000, 3] = 1e9
    with pytest.raises(ValueError, match="row 17000 was never among the data: without it, column 3 in"):
        loo(posterior, X, y)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counts_of_millions_keep_their_digits(case, rng):
    family = replace(case.family, categories=range(CATEGORIES)) if case.name == "categorical" else case.family
    X, y = case.cells(rng, 40), rng.integers(0, 2, 40)
    model = nb.NaiveBayes(family)
    posterior = nb.fit(model, X, y).update(X, y, sample_weight=np.full(40, 1e5))
    found = loo(posterior, X, y).elpd_i
    for i in range(0, 40, 8):
        rest = posterior.forget(X[[i]], y[[i]])
        assert rest.predict_log_proba(X[[i]])[0, y[i]] == pytest.approx(float(found[i]), abs=1e-7)


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


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (None, False)])
def test_a_score_by_importance_sampling_shows_progress_and_what_arviz_prints(progress, shown, capsys):
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (60, 2)), rng.integers(0, 2, 60)
    posterior = nb.fit(nb.Bernoulli(), X, y)
    sampled = nb.from_samples(nb.Bernoulli(), posterior.draws(num_draws=500), X=X, y=y)
    assert "Pareto k" in repr(loo(sampled, X, y, progress=progress))
    bar = capsys.readouterr().err
    assert ("loo: importance sampling" in bar) is shown
    assert ("loo: 100%" in bar) is shown


def test_an_exact_score_with_a_warning_prints_that_there_was_one():
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
    X, y = [[1], [0], [1]], ["a", "a", "b"]
    with pytest.warns(UserWarning, match="row 2"):
        found = loo(nb.fit(model, X, y), X, y)
    assert "There was a warning" in repr(found)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_kfold_equals_refitting(mixed, weighted, rng):
    features, X, y = mixed
    weights = rng.uniform(0.5, 2.0, 50) if weighted else None
    posterior = nb.fit(nb.NaiveBayes(features, class_probs="empirical"), X, y, sample_weight=weights)
    folds = np.array(["p", "q", "r"])[rng.integers(0, 3, 50)]
    found = kfold(posterior, X, y, folds=folds, sample_weight=weights)
    assert found.n_folds == 3
    codes = np.searchsorted(posterior.classes, y)
    for fold in "pqr":
        out = np.flatnonzero(folds == fold)
        others = np.flatnonzero(folds != fold)
        weight = None if weights is None else weights[others]
        rest = nb.fit(posterior.problem.model, X.iloc[others], y[others], sample_weight=weight)
        expected = rest.predict_log_proba(X.iloc[out])[np.arange(len(out)), codes[out]]
        np.testing.assert_allclose(found.elpd_i[out], expected, rtol=0, atol=1e-10)
    assert found.p == pytest.approx(float(found.p_kfold_i.sum()))


def test_folds_are_balanced_within_each_class(rng, monkeypatch):
    from bayesnb.checks import kfold as module

    y = np.repeat(["a", "b", "c"], [23, 40, 7])
    drawn = []
    monkeypatch.setattr(module, "_read_folds", lambda *_: pytest.fail("folds were not given"))
    monkeypatch.setattr(
        module, "_draw_folds", lambda *a, original=module._draw_folds: drawn.append(original(*a)) or drawn[-1]
    )
    X = rng.integers(0, 2, (70, 2))
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y)
    results = [kfold(posterior, X, y, k=4, key=key) for key in (0, 0, 1)]
    for fold in drawn:
        for label in "abc":
            assert np.ptp(np.bincount(fold[y == label], minlength=4)) <= 1
        assert np.ptp(np.bincount(fold, minlength=4)) <= 1
    assert results[0].elpd == results[1].elpd != results[2].elpd
    assert (drawn[0] != drawn[2]).any()


def test_what_is_left_of_two_rows_is_no_rounding_error(rng):
    X, y = 10 + rng.normal(size=(40, 2)), np.repeat(np.arange(20), 2)
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    assert_same(posterior, X, y)


def test_some_of_the_rows(mixed):
    features, X, y = mixed
    posterior = nb.fit(nb.NaiveBayes(features), X, y)
    some = np.array([30, 2, 17])
    np.testing.assert_allclose(
        loo(posterior, X.iloc[some], y[some]).elpd_i.values, loo(posterior, X, y).elpd_i.values[some], atol=1e-12
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_of_the_rows(case, rng):
    X, y = case.cells(rng, 24), rng.integers(0, 2, 24)
    posterior = nb.fit(nb.NaiveBayes(case.default), X, y)
    found, all_rows = loo(posterior, X[[5]], y[[5]]), loo(posterior, X, y)
    np.testing.assert_allclose(found.elpd_i.values, all_rows.elpd_i.values[[5]], rtol=1e-10)
