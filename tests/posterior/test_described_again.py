"""Features that describe columns once more: as in a table that has these columns twice."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import bayesnb as nb
from bayesnb.inference.exact import Exact
from bayesnb.inference.fit import read_for_inference
from bayesnb.model.feature_weights import NormalWeights

AGAIN = {
    "sizes": (nb.MultivariateGaussian(), ["bill_length_mm", "body_mass_g"]),
    "bill in bins": (nb.Histogram(), "bill_length_mm"),
    "place": (nb.JointCategorical(), ["island", "sex"]),
    "more": (nb.Gaussian(), ["body_mass_g", "bill_depth_mm"]),
    "sex again": (nb.Categorical(categories={"sex": ["male", "female"]}), ["sex"]),
    "place given sex": (nb.Given(), ["island", "sex"]),
    "mass given bill": (nb.Given(num_bins=3), ["body_mass_g", "bill_length_mm"]),
}
COPIES = {feature: [columns] if isinstance(columns, str) else columns for feature, (_, columns) in AGAIN.items()}


APART = ("(sizes)", "(place)")
"""Ends of the names of copies that blocks of several columns describe."""


def with_copies(X):
    """The table with a column of its own for each column that a feature describes again."""
    copies = {f"{name} ({feature})": X[name] for feature, names in COPIES.items() for name in names}
    return X.assign(**copies)


def copied(family, names, feature):
    """A feature of the copies; categories that are listed by column are those of the copy."""
    columns = [f"{name} ({feature})" for name in names]
    if isinstance(family, nb.Categorical):
        family = replace(family, categories=dict(zip(columns, dict(family.categories).values(), strict=True)))
    return family, columns


@pytest.fixture(scope="module")
def fitted(penguins):
    """A model with its posterior, and the posterior of the table with copies that has the same weights."""
    X, y = penguins
    features = dict(nb.NaiveBayes.from_frame(X).features)
    model = nb.NaiveBayes(features | AGAIN)
    apart = features | {feature: copied(AGAIN[feature][0], names, feature) for feature, names in COPIES.items()}
    with pytest.warns(UserWarning, match="lack a cell of block"):
        copies = nb.fit(nb.NaiveBayes(apart), with_copies(X), y)
    # Of these weights none is zero, as one of a feature that describes columns again may be.
    weighted = nb.weight_features(copies, with_copies(X), y)
    again = Exact().fit(read_for_inference(model, Exact(), X, y, None))
    return model, nb.results.WeightedPosterior(again, weighted.feature_weights), weighted


GIVES = {
    "predictions": lambda posterior, X, y: posterior.predict_log_proba(X),
    "log joint": lambda posterior, X, y: posterior.plain.log_joint(X),
    "left out": lambda posterior, X, y: nb.loo_scores(posterior, X, y).drop("elpd_joint").to_numpy(),
    "updated": lambda posterior, X, y: posterior.update(X[:50], y[:50]).predict_log_proba(X),
    "forgotten": lambda posterior, X, y: posterior.forget(X[:50], y[:50]).predict_log_proba(X),
    "intervals": lambda posterior, X, y: posterior.proba_interval(X[:20], key=3),
    "folds": lambda posterior, X, y: nb.kfold(posterior, X, y, k=3).elpd,
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("gives", GIVES.values(), ids=GIVES)
def test_a_column_described_again_is_as_a_copy_of_it(fitted, penguins, gives):
    X, y = penguins
    _, weighted, copies = fitted
    np.testing.assert_allclose(gives(weighted, X, y), gives(copies, with_copies(X), y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("row", [0, 3, 200])
def test_the_reasons_of_a_column_are_those_of_its_copies_together(fitted, penguins, row):
    """Row 3 lacks most cells. Under a draw, a copy adds what it adds to the log joint density if it is there alone."""
    X = penguins[0].iloc[[row]]
    _, weighted, copies = fitted
    options = {"prob": 0.7, "num_draws": 20, "key": 1}
    found, apart = (
        weighted.explain(X, "Gentoo", "Adelie", **options),
        copies.explain(with_copies(X), "Gentoo", "Adelie", **options),
    )
    column_of = [name.split(" (")[0] for name in apart.index]
    expected = apart["log_odds"].groupby(column_of, sort=False).sum()
    assert [*found.index] == ["before any cell", *X.columns, "sizes", "place", "features together"]
    np.testing.assert_allclose(found["log_odds"], expected[found.index], rtol=1e-9, atol=1e-12)
    axis, mass = found.plot().axes[0], X["body_mass_g"].item()
    texts = [label.get_text() for label in axis.get_yticklabels()]
    assert f"island = {X['island'].item()}" in texts
    assert ("body_mass_g = missing" if np.isnan(mass) else f"body_mass_g = {mass:g}") in texts
    assert np.isnan(axis.lines[texts.index("features together")].get_xdata()).all()  # no draw has this part
    log_proba = weighted.predict_log_proba(X)[0]
    assert found["log_odds"].sum() == pytest.approx(log_proba[2] - log_proba[0], rel=1e-10)

    def under_draws(columns):
        there = with_copies(X).where(lambda frame: [[name in columns for name in frame.columns]], other=None)
        joint = copies.log_joint_draws(there.infer_objects(), num_draws=20, key=1)[:, :, 0]
        return (joint[..., 2] - joint[..., 0]).ravel()

    for name in X.columns:
        own = [copy for copy in with_copies(X).columns if copy.split(" (")[0] == name and not copy.endswith(APART)]
        parents = ["sex (place given sex)", "bill_length_mm (mass given bill)"]
        draws = under_draws({*own, *parents}) - under_draws({*parents})
        lower, upper = np.quantile(draws, [0.15, 0.85])
        total = found.loc[name, "log_odds"]
        expected = [min(lower, total), max(upper, total)]
        np.testing.assert_allclose(found.loc[name, ["lower", "upper"]].astype(float), expected, rtol=1e-8, atol=1e-9)


def test_names_of_the_features(fitted):
    _, weighted, copies = fitted
    names = [*weighted.weights.index]
    assert names == [
        *("island", "bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "sex"),
        *("sizes", "bill in bins", "place", "body_mass_g (more)", "bill_depth_mm (more)", "sex again"),
        *("place given sex", "mass given bill"),
    ]
    assert len(copies.weights) == len(names)
    assert "bill in bins_prob" in weighted.to_datatree().posterior


def test_a_file_an_array_and_other_columns(fitted, penguins, tmp_path):
    X, _ = penguins
    _, weighted, _ = fitted
    expected = weighted.predict_proba(X)
    weighted.save(tmp_path / "posterior.nc")
    assert np.array_equal(nb.load(tmp_path / "posterior.nc").predict_proba(X), expected)
    np.testing.assert_allclose(weighted.predict_proba(X[X.columns[::-1]].assign(other=1)), expected, rtol=1e-12)
    np.testing.assert_allclose(weighted.predict_proba(X.to_numpy(dtype=object, na_value=None)), expected, rtol=1e-12)


def test_the_same_features_again_by_the_description_of_the_fit(fitted, penguins):
    X, y = penguins
    model, _, _ = fitted
    weighted = nb.weight_features(model, X, y)
    again = nb.weight_features(weighted.model.description, X, y)
    assert [*again.weights.index] == [*weighted.weights.index]
    # Defaults that follow the scale of the data are now numbers, which stay when a row is left out.
    np.testing.assert_allclose(again.predict_proba(X), weighted.predict_proba(X), atol=1e-3)


def test_the_distribution_of_a_row_has_each_column_once(fitted, penguins):
    X, y = penguins
    _, weighted, _ = fitted
    once = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    assert weighted.log_evidence == pytest.approx(once.log_evidence, rel=1e-12)
    for ours, alone in zip(weighted.simulate(20, key=4), once.simulate(20, key=4), strict=True):
        assert pd.DataFrame(ours).equals(pd.DataFrame(alone))
    information = nb.mutual_information(weighted), nb.mutual_information(once)
    np.testing.assert_allclose(*(frame["estimate"] for frame in information), rtol=1e-12)
    with pytest.warns(UserWarning, match="weights of features were learned from all rows"):
        scores = nb.loo_scores(weighted, X, y)
    assert scores["elpd_joint"] == pytest.approx(nb.loo_scores(once, X, y)["elpd_joint"], rel=1e-12)
    compared = nb.compare_models({"again": weighted, "once": once}, X, y).table
    assert np.isnan(compared["log_evidence"]["again"])  # that of the model without weights is not its own
    assert compared["elpd"]["again"] == pytest.approx(scores["elpd_label"], rel=1e-9)
    assert weighted.generative.model.used_columns == once.model.used_columns


def test_more_categories_reach_every_description(penguins):
    X, y = penguins
    features = {"island": nb.Categorical(), "place": (nb.JointCategorical(), ["island", "sex"])}
    X = X.dropna()
    y = y[X.index]
    later, labels = X[::20].assign(island="Anvers"), y[::20]
    updated = nb.weight_features(nb.NaiveBayes(features), X, y).update(later, labels)
    whole = nb.weight_features(nb.NaiveBayes(features), pd.concat([X, later]), pd.concat([y, labels]))
    np.testing.assert_allclose(updated.plain.log_joint(X), whole.plain.log_joint(X), rtol=1e-10)


ERRORS = {
    "fit": (lambda model, X, y: nb.fit(model, X, y), "fit needs a distribution .* 'sizes' has columns that another"),
    "batches": (lambda model, X, y: nb.fit_batches(model.bind(X, y), [(X, y)]), "fit needs a distribution"),
    "kfold": (lambda model, X, y: nb.kfold(model, X, y), "kfold of a model needs a distribution"),
    "simulate": (lambda model, X, y: model.bind(X, y).simulate(3), "simulate needs a distribution"),
    "program": (lambda model, X, y: model.program(X, y), "the program needs a distribution"),
    "samples": (lambda model, X, y: nb.from_samples(model, {}, X=X, y=y), "from_samples needs a distribution"),
    "inclusion": (
        lambda model, X, y: nb.weight_features(model.with_feature_inclusion(0.5), X, y),
        "feature_inclusion needs a distribution",
    ),
    "groups": (lambda model, X, y: nb.group_columns(model, X, y), "group_columns needs a distribution"),
    "features": (lambda model, X, y: nb.select_features(model, X, y), "select_features needs a distribution"),
    "twice": (
        lambda model, X, y: nb.weight_features(
            nb.NaiveBayes({"sex": nb.Categorical(), "both": (nb.JointCategorical(), ["sex", "sex"])}), X, y
        ),
        "column 'sex' is twice in 'both': name it once",
    ),
    "name of a column": (
        lambda model, X, y: nb.weight_features(
            nb.NaiveBayes({"in bins": (nb.Histogram(), "body_mass_g"), "body_mass_g": nb.Gaussian()}), X, y
        ),
        "'body_mass_g' describes 'body_mass_g' once more, and 'body_mass_g' is a column: give the feature another name",
    ),
    "name of a column and a feature": (
        lambda model, X, y: nb.weight_features(
            nb.NaiveBayes(dict.fromkeys([*X], nb.Gaussian()) | {"again": (nb.Histogram(), ["sex", "island"])}),
            X.assign(**{"sex (again)": 1}),
            y,
        ),
        "'again' describes 'sex', 'island' once more, and 'sex \\(again\\)' is a column",
    ),
    "missing column": (
        lambda model, X, y: nb.weight_features(model, X, y).predict(X.drop(columns="sex")),
        "^column 'sex' is missing in X",
    ),
    "unknown": (
        lambda model, X, y: nb.weight_features(
            nb.NaiveBayes({"sex": nb.Categorical(), "b": (nb.Gaussian(), "s")}), X, y
        ),
        "column 's' is not in X",
    ),
}


@pytest.mark.parametrize(("call", "words"), ERRORS.values(), ids=ERRORS)
def test_bad_input(fitted, penguins, call, words):
    model, _, _ = fitted
    with pytest.raises(ValueError, match=words):
        call(model, *penguins)


@pytest.mark.parametrize("spread", [0.2, 0.8])
@pytest.mark.parametrize(("first", "again"), [(3, 2), (1, 3), (2, 1)])
def test_the_prior_of_weights_has_a_level_of_zero_for_features_that_describe_columns_once_more(first, again, spread):
    """The level N(1, 1) of the others is integrated out: a normal distribution, and that no weight is negative."""
    prior = NormalWeights.given_spread(first + again, 2, spread, again)
    covariance = np.zeros((first + again, first + again))
    covariance[:first, :first] = 1.0
    covariance += spread**2 * np.eye(first + again)
    mean = np.repeat([1.0, 0.0], [first, again])
    np.testing.assert_allclose(np.linalg.inv(prior.precision)[: first + again, : first + again], covariance, rtol=1e-9)
    np.testing.assert_allclose(prior.mean, [*mean, 0, 0])
    rng = np.random.default_rng(0)
    positive = multivariate_normal(-mean, covariance).cdf(np.zeros(first + again), rng=rng)
    expected = np.linalg.slogdet(covariance)[1] / 2 + np.log(positive)
    assert prior.log_normaliser == pytest.approx(expected, abs=2e-3)
