"""What every kind of posterior answers: each law over all of them."""

import pickle

import numpy as np
import pytest
import xarray as xr
from scipy.special import entr, log_softmax, logsumexp, softmax
from trees import CLASSES, KINDS, OF_CLOSED_FORMS, OF_DRAWS, POINTS, closed_forms, collapsed

import bayesnb as nb

FEW = {"num_chains": 2, "num_draws": 3, "key": 3}
"""As many draws as every posterior has."""

WITH_DRAWS = (*OF_CLOSED_FORMS, *OF_DRAWS)
of_every_kind = pytest.mark.parametrize("kind", KINDS)
of_draws = pytest.mark.parametrize("kind", WITH_DRAWS)


@of_every_kind
def test_predictions_follow_from_the_joint_density(posteriors, table, kind):
    posterior, new = posteriors[kind], table[2]
    joint, proba = posterior.log_joint(new), posterior.predict_proba(new)
    np.testing.assert_allclose(posterior.predict_log_proba(new), log_softmax(joint, axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(proba, softmax(joint, axis=1), rtol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert (type(proba), proba.dtype) == (np.ndarray, np.float64)
    assert posterior.predict(new).tolist() == [CLASSES[c] for c in joint.argmax(axis=1)]
    np.testing.assert_allclose(posterior.predict_proba(new[::-1]), proba[::-1], rtol=1e-12)
    assert posterior.predict_proba(new.iloc[:0]).shape == (0, 3)
    if "weighted" not in kind and kind not in ("shared", "collapsed"):
        np.testing.assert_allclose(posterior.class_probs(), posterior.mean()["class_prob"], rtol=1e-12)
    if kind == "sampled":
        draws = posterior.log_joint_draws(new)
        np.testing.assert_allclose(joint, logsumexp(draws, axis=(0, 1)) - np.log(200), rtol=1e-10)


@pytest.mark.parametrize(("most", "kept"), [(400, range(6)), (2, [0, 5])], ids=["all", "evenly spaced"])
def test_learned_hyperparameters_average_the_closed_forms(table, monkeypatch, most, kept):
    X, y, new = table
    monkeypatch.setattr("bayesnb.posterior.belief.MIXTURE", most)
    posterior, forms = collapsed(X, y), [closed_forms(X, y)[k] for k in kept]
    expected = logsumexp([form.log_joint(new) for form in forms], axis=0) - np.log(len(forms))
    np.testing.assert_allclose(posterior.log_joint(new), expected, rtol=1e-10)
    np.testing.assert_allclose(posterior.class_probs(), np.mean([form.class_probs() for form in forms], axis=0))


@of_draws
def test_intervals_and_uncertainty_are_those_of_the_draws(posteriors, table, kind):
    posterior, new = posteriors[kind], table[2]
    proba = posterior.proba_draws(new, **FEW)
    assert proba.shape == (2, 3, 9, 3)
    np.testing.assert_allclose(proba, softmax(posterior.log_joint_draws(new, **FEW), axis=-1), rtol=1e-9)
    found = posterior.proba_interval(new, prob=0.4, **FEW)
    lower, upper = np.quantile(proba, [0.3, 0.7], axis=(0, 1))
    if hasattr(posterior, "unweighted"):  # the interval reaches to the prediction
        mean = posterior.predict_proba(new)
        assert ((mean < lower) | (mean > upper)).any()
        lower, upper = np.minimum(lower, mean), np.maximum(upper, mean)
    np.testing.assert_allclose(found, np.stack([lower, upper], axis=-1), rtol=1e-9)
    parts, mean = posterior.uncertainty(new, **FEW), proba.mean(axis=(0, 1))
    assert parts.index.tolist() == list(range(9))
    divergence = (proba * (np.log(proba) - np.log(mean))).sum(axis=-1).mean(axis=(0, 1))
    by_hand = {
        "total": entr(mean).sum(axis=-1),
        "aleatoric": entr(proba).sum(axis=-1).mean(axis=(0, 1)),
        "epistemic": divergence,
    }
    assert list(parts) == list(by_hand)
    for name, values in by_hand.items():
        np.testing.assert_allclose(parts[name], values, rtol=1e-6, atol=1e-12)
    assert (parts["epistemic"] >= 0).all()
    np.testing.assert_allclose(posterior.uncertainty(new, unit="bits", **FEW), parts / np.log(2), rtol=1e-12)
    assert posterior.uncertainty(new.iloc[:0], **FEW).shape == (0, 3)
    assert np.isfinite(posterior.proba_interval(new.assign(height=1e3), **FEW)).all()  # densities round to zero


@of_every_kind
def test_means_and_moments_are_in_the_summary(posteriors, kind):
    posterior = posteriors[kind]
    summary, mean, sites = posterior.summary(prob=0.5), posterior.mean(), posterior.belief.summaries(0.5)
    column = "value" if kind in POINTS else "mean"
    assert list(sites) == list(mean)
    np.testing.assert_allclose(
        summary[column], np.concatenate([np.ravel(value) for value in mean.values()]), rtol=1e-12
    )
    for site, columns in sites.items():
        for name, values in posterior.belief.moments(site).items():
            np.testing.assert_allclose(values, np.broadcast_to(columns[name], np.shape(values)), rtol=1e-12)
    if kind in OF_DRAWS:
        draws = posterior.draws() if kind != "weighted sampled" else posterior.unweighted.draws()
        own = np.concatenate([values.reshape(-1, values[0, 0].size) for values in draws.values()], axis=1)
        found = summary.iloc[: own.shape[1]]
        assert getattr(posterior, "unweighted", posterior).diagnostics.labels == tuple(found.index)
        np.testing.assert_allclose(found["mean"], own.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found["sd"], own.std(axis=0, ddof=1), rtol=1e-9)
        np.testing.assert_allclose(found[["lower", "upper"]].T, np.quantile(own, [0.25, 0.75], axis=0), rtol=1e-12)


@pytest.mark.parametrize("kind", ["exact", "averaged"])
def test_a_summary_of_a_closed_form_is_that_of_many_draws(posteriors, kind):
    summary, draws = posteriors[kind].summary(), posteriors[kind].draws(num_draws=20_000)
    by_draws = np.concatenate([values.reshape(80_000, -1) for values in draws.values()], axis=1)
    np.testing.assert_allclose(summary["mean"], by_draws.mean(axis=0), rtol=0.02, atol=0.005)
    np.testing.assert_allclose(summary["sd"], by_draws.std(axis=0), rtol=0.05)
    np.testing.assert_allclose(summary["lower"], np.quantile(by_draws, 0.055, axis=0), rtol=0.05, atol=0.01)
    np.testing.assert_allclose(summary["upper"], np.quantile(by_draws, 0.945, axis=0), rtol=0.05, atol=0.01)


@of_every_kind
def test_files_and_pickles_are_the_same_bit_for_bit(posteriors, table, kind, tmp_path):
    posterior, new = posteriors[kind], table[2]
    posterior.save(tmp_path / "posterior.nc")
    for again in (nb.load(tmp_path / "posterior.nc"), pickle.loads(pickle.dumps(posterior))):
        assert type(again) is type(posterior)
        assert repr(again) == repr(posterior)
        assert again.log_joint(new).tobytes() == posterior.log_joint(new).tobytes()
        if hasattr(posterior, "unweighted"):
            assert type(again.unweighted) is type(posterior.unweighted)
            assert again.feature_weights.num_rows == posterior.feature_weights.num_rows
        for site, values in (posterior.mean() if kind in POINTS else posterior.draws(**FEW)).items():
            np.testing.assert_array_equal((again.mean() if kind in POINTS else again.draws(**FEW))[site], values)
    with xr.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf") as tree:
        assert tree.attrs["bayesnb_format"] == 4


@of_draws
def test_a_tree_has_the_draws_and_what_they_say_of_rows(posteriors, table, kind):
    X, y, new = table
    posterior, codes = posteriors[kind], np.searchsorted(CLASSES, table[1])
    tree, draws = posterior.to_datatree(X, y, predictions=new, **FEW), posterior.draws(**FEW)
    of_data = {"log_likelihood", "observed_data", "constant_data", "posterior_predictive", "prior_predictive"}
    with_prior = set() if "averaged" in kind else {"log_prior"}
    assert set(tree.children) == {"posterior", "prior", "predictions"} | of_data | with_prior
    assert set(tree.posterior.data_vars) == set(draws) == set(tree.prior.data_vars)
    for site, values in draws.items():
        np.testing.assert_array_equal(tree.posterior[site], values)
        assert tree.posterior[site].dims[:2] == ("chain", "draw")
    assert tree.posterior["bark_prob"].dims[2:] == ("class", "bark_category")
    assert tree.posterior["bark_category"].values.tolist() == ["flaky", "rough", "smooth"]
    joint = posterior.plain.log_joint_draws(X, **FEW)
    np.testing.assert_allclose(tree.log_likelihood["joint"], joint[:, :, range(30), codes], rtol=1e-12)
    assert ("y" in tree.log_likelihood) == (posterior.plain is posterior)
    if posterior.plain is posterior:
        of_label = log_softmax(joint, axis=-1)[:, :, range(30), codes]
        np.testing.assert_allclose(tree.log_likelihood["y"], of_label, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tree.predictions["proba"], posterior.proba_draws(new, **FEW), rtol=1e-9)
    assert tree.predictions["class"].values.tolist() == tree.observed_data.attrs["classes"] == CLASSES
    np.testing.assert_array_equal(tree.observed_data["y"], codes)
    np.testing.assert_array_equal(tree.constant_data["size"], X[["height", "width"]])
    assert tree.constant_data["fallen"].dims == ("row", "fallen_column")
    assert tree.attrs["modeling_interface"] == "bayesnb"
    assert tree.attrs["inference_library"] == ("numpyro" if kind in ("sampled", "collapsed") else "bayesnb")


@of_draws
def test_labels_in_a_tree_are_drawn_given_the_cells(posteriors, table, kind):
    X, y, _ = table
    many = {"num_chains": 2, "num_draws": 3 if kind == "collapsed" else 100, "key": 1}
    drawn = posteriors[kind].to_datatree(X, y, **many).posterior_predictive["y"]
    frequencies = np.stack([(drawn == c).mean(("chain", "draw")) for c in range(3)], axis=-1)
    expected = posteriors[kind].proba_draws(X, **many).mean(axis=(0, 1))
    number = drawn.sizes["chain"] * drawn.sizes["draw"]
    assert (np.abs(frequencies - expected) < 4.8 * np.sqrt(expected * (1 - expected) / number) + 5 / number).all()


@pytest.mark.parametrize("kind", ["exact", "averaged", "sampled", "point", "weighted"])
def test_simulated_rows_have_the_predictive_distribution(kind):
    """The joint frequency of class and two cells, against the density."""
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 2, (40, 2)), rng.integers(0, 2, 40)
    exact = nb.fit(nb.Bernoulli(), X, y)
    posterior = {
        "exact": lambda: exact,
        "averaged": exact.averaged,
        "sampled": lambda: nb.from_samples(nb.Bernoulli(), exact.draws(num_draws=500), X=X, y=y),
        "point": exact.plugin,
        "weighted": lambda: nb.weight_features(exact, X, y),
    }[kind]()
    n, cells = 4000, np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rows, labels = posterior.simulate(n, key=1)
    expected = np.exp(getattr(posterior, "unweighted", posterior).log_joint(cells))
    for cell, density in zip(cells, expected, strict=True):
        for c in (0, 1):
            observed = ((rows == cell).all(axis=1) & (labels == c)).mean()
            assert abs(observed - density[c]) < 4.8 * np.sqrt(density[c] * (1 - density[c]) / n)
    np.testing.assert_array_equal(posterior.simulate(n, key=1)[0], rows)


@pytest.mark.filterwarnings("ignore:the rows have no label 'ash', and weights of features")
@pytest.mark.parametrize("kind", ["exact", "averaged", "weighted", "shared", "point"])
def test_rows_go_away_and_come_back(posteriors, table, kind):
    """The classes and categories stay as they are."""
    X, y, new = table
    posterior = posteriors[kind]
    without = posterior.forget(X[:5], y[:5])
    rest = posterior.inference.fit(posterior.problem.take_away(posterior.problem.model.statistics(X[:5], y[:5])), key=0)
    unweighted = getattr(without, "unweighted", without)
    np.testing.assert_allclose(unweighted.log_joint(new), rest.log_joint(new), rtol=1e-10)
    back = without.update(X[:5], y[:5])
    assert type(back) is type(posterior)
    plain, again = (getattr(one, "unweighted", one) for one in (posterior, back))
    np.testing.assert_allclose(again.log_joint(new), plain.log_joint(new), rtol=1e-10)
    if kind in ("weighted", "shared"):
        assert without.feature_weights is posterior.feature_weights


def known():
    return nb.from_parameters(
        nb.Bernoulli(), classes=[0, 1], class_probs=[0.5, 0.5], parameters={"prob": [[0.2], [0.6]]}
    )


REFUSED = {
    "draws of a point": (lambda of, X, y: of["point"].draws(), r"a draw needs .* this is a point.* nb\.Exact\(\) or"),
    "densities under draws of a point": (lambda of, X, y: of["known"].log_joint_draws(X), "this is a point estimate"),
    "an interval of a point": (lambda of, X, y: of["point"].proba_interval(X), r"mean\(\) for the values"),
    "a tree of a point": (lambda of, X, y: of["known"].to_datatree(), "this is a point estimate"),
    "uncertainty of a point": (lambda of, X, y: of["point"].uncertainty(X), r"this is a point estimate: use nb\.Exact"),
    "loo of a point": (lambda of, X, y: nb.loo(of["point"], X, y), r"loo needs a closed form, and this is a point"),
    "scores without a closed form": (
        lambda of, X, y: nb.loo_scores(nb.fit(nb.Gamma(), [[1.0], [2.0], [4.0], [5.0]], list("aabb"), nb.MAP()), X, y),
        r"this is a point estimate: use nb\.loo for draws",
    ),
    "scores of draws": (lambda of, X, y: nb.loo_scores(of["sampled"], X, y), r"these are draws: use .* nb\.loo"),
    "marginals of an average": (lambda of, X, y: of["weighted averaged"].marginals(), "an average over subsets"),
    "sensitivity of an average": (lambda of, X, y: nb.sensitivity(of["averaged"]), "without feature_inclusion, or"),
    "draws as the closed form": (lambda of, X, y: nb.compare(of["sampled"], of["exact"]), "as exact, needs the closed"),
    "a closed form as the draws": (lambda of, X, y: nb.compare(of["exact"], of["exact"]), r"draws .*nb\.from_samples"),
    "more rows without data": (lambda of, X, y: known().update([[1]], [0]), r"update needs data.*nb\.fit"),
    "fewer rows without data": (lambda of, X, y: known().forget([[1]], [0]), r"forget needs data.*nb\.fit"),
    "evidence without data": (lambda of, X, y: known().log_evidence, r"log_evidence needs data, .* without data"),
    "update of draws": (lambda of, X, y: of["sampled"].update(X, y), r"a sampler to run again.*nb\.from_samples"),
    "too many draws": (lambda of, X, y: of["sampled"].draws(num_draws=900), "not 2 of 900"),
    "too many chains": (lambda of, X, y: of["sampled"].draws(num_chains=3), "there are 2 chains of 100 draws, not 3"),
    "X without y": (lambda of, X, y: of["exact"].to_datatree(X), "X and y come together"),
    "a summary beyond one": (lambda of, X, y: of["exact"].summary(prob=2), "prob is 2"),
    "statistics of a closed form": (lambda of, X, y: of["weighted"].sample_stats, "no sample_stats"),
    "statistics of a point": (lambda of, X, y: of["point"].sample_stats, "no sample_stats"),
    "a unit": (lambda of, X, y: of["exact"].uncertainty(X, unit="ban"), r"'ban': give one of \['nats', 'bits'\]"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_says_why_and_what_to_do(posteriors, table, what):
    call, message = REFUSED[what]
    with pytest.raises((ValueError, AttributeError), match=message):
        call(posteriors, *table[:2])


def test_rows_that_draws_of_the_prior_make_impossible_have_its_class_probabilities():
    """Rates that round to zero give no positive count."""
    X, y = [[3], [5]], ["a", "b"]
    tree = nb.fit(nb.Poisson(1e-4, 1.0), X, y).to_datatree(X, y, num_draws=250)
    assert (tree.prior["x_rate"] == 0).mean() > 0.5
    np.testing.assert_allclose((tree.prior_predictive["y"] == 0).mean(("chain", "draw")), 0.5, atol=0.08)
