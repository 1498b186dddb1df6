"""Features kept by the leave-one-out score of the labels: scores by fits, models that fit the table, and bad input."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from refitting import rows_of
from sklearn.model_selection import RepeatedStratifiedKFold

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier
from bayesnb.model.naive_bayes import as_model
from bayesnb.selection.features import with_some_features

SCORES = {"rel": 0, "abs": 1e-8}


@pytest.fixture(scope="module")
def table():
    """Columns of all kinds, some of which repeat each other within the classes, and three classes."""
    rng = np.random.default_rng(4)
    y = np.repeat(["ash", "elm", "oak"], [30, 40, 50])
    size = rng.normal(size=120) + (y == "elm")
    frame = pd.DataFrame(
        {
            "height": size + 0.1 * rng.normal(size=120),
            "width": size + 0.1 * rng.normal(size=120),
            "girth": np.exp(size),
            "nests": rng.poisson(1 + (y == "oak") + (size > 0)),
            "colour": np.where(size + rng.normal(size=120) > 0, "red", np.where(y == "oak", "blue", "green")),
            "old": (size > 0.3).astype(float),
            "sick": (rng.random(120) < 0.5).astype(float),
        }
    )
    frame.loc[5, "width"] = np.nan
    return frame, y


FAMILIES = {
    "height": nb.Gaussian(),
    "width": nb.Gaussian(kappa=0.5),
    "girth": nb.LogNormal(),
    "nests": nb.Poisson(),
    "colour": nb.Categorical(),
    "old": nb.Bernoulli(),
    "sick": nb.Bernoulli(),
}


def score(features, X, y, weights=None, **options):
    """The leave-one-out score of the labels, and its rows, with a model that is written and fitted for the features."""
    posterior = nb.fit(nb.NaiveBayes(features, **options), X, y, sample_weight=weights)
    return np.asarray(nb.loo(posterior, X, y, sample_weight=weights).elpd_i)


def follow(found, features, X, y, weights=None, **options):
    """Assert that every step is the best change of one feature, with the score of a fit, until no change is better."""
    weight = np.ones(len(y)) if weights is None else weights
    left, added = dict(features), {}

    def rows():
        return score(left, X, y, weights, **options)

    first = before = rows()
    assert found.table["elpd_label"].iloc[0] == pytest.approx(weight @ first, **SCORES)
    assert found.table["feature"].iloc[0] == "all features"
    assert found.table[["difference", "se"]].iloc[0].tolist() == [0.0, 0.0]
    for step in [*found.table.iloc[1:].itertuples(), None]:
        tried = {}
        for name in features:
            gone = left.pop(name, None)
            if gone is None:
                left[name] = added.pop(name)
            if left:
                tried[name] = weight @ rows()
            if gone is None:
                added[name] = left.pop(name)
            else:
                left[name] = gone
        best = max(tried.values())
        if step is None:
            assert best <= weight @ before + 1e-8
            break
        assert tried[step.feature] == pytest.approx(best, **SCORES)
        assert step.action == ("drop" if step.feature in left else "add")
        source, target = (left, added) if step.action == "drop" else (added, left)
        target[step.feature] = source.pop(step.feature)
        after = rows()
        assert step.elpd_label == pytest.approx(weight @ after, **SCORES)
        gained = np.repeat(after - first, weight.astype(int))
        assert step.difference == pytest.approx(gained.sum(), **SCORES)
        assert step.se == pytest.approx(np.sqrt(len(gained)) * gained.std(), **SCORES)
        before = after
    return set(left)


def test_every_step_is_the_best_one_by_fits(table):
    X, y = table
    found = nb.select_features(nb.NaiveBayes(FAMILIES, class_probs="empirical"), X, y)
    left = follow(found, FAMILIES, X, y, class_probs="empirical")
    assert len(found.table) >= 3
    assert set(found.kept) == left
    assert set(found.dropped) == set(X) - left
    posterior = nb.fit(found.model, X, y)
    assert nb.loo_scores(posterior, X, y)["elpd_label"] == pytest.approx(found.table["elpd_label"].iloc[-1], **SCORES)


def test_a_row_of_weight_two_counts_twice_and_is_left_out_as_a_whole(table):
    X, y = table
    weights = np.array([1.0, 2.0, 0.0, 3.0] * 30)
    found = nb.select_features(nb.NaiveBayes(FAMILIES), X, y, sample_weight=weights)
    follow(found, FAMILIES, X, y, weights)
    copies = np.repeat(np.arange(120), weights.astype(int))
    repeated = nb.select_features(nb.NaiveBayes(FAMILIES), X.iloc[copies], y[copies])
    assert repeated.table["elpd_label"].iloc[0] > found.table["elpd_label"].iloc[0] + 0.1
    without = nb.select_features(nb.NaiveBayes(FAMILIES), X[weights > 0], y[weights > 0])
    zero_or_one = nb.select_features(nb.NaiveBayes(FAMILIES), X, y, sample_weight=(weights > 0).astype(float))
    pd.testing.assert_frame_equal(zero_or_one.table, without.table)


def test_an_average_over_subsets_is_scored_as_it_is_fitted(table):
    X, y = table
    X = X[["height", "width", "old", "sick"]]
    inclusion = {"height": 0.5, "width": 0.9, "old": 0.3, "sick": 0.1}
    families = {name: FAMILIES[name] for name in X}
    for given in (inclusion, list(inclusion.values()), 0.4):
        found = nb.select_features(nb.NaiveBayes(families, feature_inclusion=given), X, y)
        assert found.dropped
        by_name = {name: given if given == 0.4 else inclusion[name] for name in found.kept}
        model = nb.NaiveBayes({name: families[name] for name in found.kept}, feature_inclusion=by_name)
        expected = nb.loo_scores(nb.fit(model, X, y), X, y)["elpd_label"]
        assert found.table["elpd_label"].iloc[-1] == pytest.approx(expected, **SCORES)
        assert nb.loo_scores(nb.fit(found.model, X, y), X, y)["elpd_label"] == pytest.approx(expected, **SCORES)


@pytest.mark.parametrize("kind", ["array", "sparse", "bound", "frame and label"])
def test_copies_of_a_column_are_dropped_and_the_first_one_stays(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = (rng.random((200, 2)) < 0.2 + 0.5 * y[:, None]).astype(float)
    model, repeated, names = nb.NaiveBayes(nb.Bernoulli()), X[:, [0, 0, 1, 0, 0, 0]], range(6)
    rows = repeated, y
    if kind == "sparse":
        rows = scipy.sparse.csr_array(repeated), y
    if kind == "bound":
        model = model.bind(repeated, y)
    if kind == "frame and label":
        names = "abcdef"
        rows = pd.DataFrame(repeated, columns=list(names)).assign(label=y), "label"
    found = nb.select_features(model, *rows)
    assert found.kept == (names[0], names[2])
    assert found.dropped == tuple(names[j] for j in (1, 3, 4, 5))
    assert found.table["feature"].tolist()[1:] == [names[j] for j in (5, 4, 3, 1)]
    assert type(found.model) is type(model)
    expected = nb.loo_scores(nb.fit(nb.Bernoulli(), X, y), X, y)
    assert found.table["elpd_label"].iloc[-1] == pytest.approx(expected["elpd_label"], **SCORES)
    assert nb.loo_scores(nb.fit(found.model, *rows), *rows).to_dict() == pytest.approx(expected.to_dict())


def test_a_column_without_a_cell_changes_no_score_and_is_no_step(table):
    frame, y = table
    X = frame[["height", "width", "old"]]
    expected = nb.select_features(nb.NaiveBayes.from_frame(X), X, y).table
    features = {**nb.NaiveBayes.from_frame(X).features, "empty": (nb.Bernoulli(), None)}
    found = nb.select_features(nb.NaiveBayes(features), X.assign(empty=np.nan), y).table
    pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected))


def test_features_in_another_order_have_the_same_steps_and_stay_in_the_order_of_the_table(table):
    X, y = table
    expected = nb.select_features(nb.NaiveBayes(FAMILIES), X, y)
    found = nb.select_features(nb.NaiveBayes(FAMILIES), X[X.columns[::-1]], y)
    pd.testing.assert_frame_equal(found.table, expected.table)
    assert found.kept == expected.kept[::-1]


def test_a_feature_that_was_dropped_may_come_back():
    rng = np.random.default_rng(63)
    y = np.arange(40) % 2
    apart = rng.normal(size=(40, 2)) + 0.8 * y[:, None]
    X = apart @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(40, 6))
    found = nb.select_features(nb.Gaussian(), X, y)
    assert found.table["action"].tolist() == ["", "drop", "drop", "drop", "drop", "add", "drop"]
    assert follow(found, {j: nb.Gaussian() for j in range(6)}, X, y) == {2, 3}
    assert found.kept == (2, 3)
    assert found.dropped == (0, 1, 4, 5)


def test_one_feature_is_always_kept():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], [60, 60])
    X = np.repeat(rng.normal(size=(120, 1)), 4, axis=1) * np.where(y, 0.9, 1.1)[:, None]
    X[:, 1:] += rng.normal(size=(120, 3)) * 1e-3
    nothing = score({0: nb.Bernoulli()}, np.zeros((120, 1)), y).sum()
    worse = nb.select_features(nb.Gaussian(), X, y)
    assert len(worse.kept) == 1
    assert worse.table["elpd_label"].iloc[-1] < nothing
    assert nb.select_features(nb.Gaussian(), X[:, :2], y).table["feature"].tolist() == ["all features", 0]
    alone = nb.select_features(nb.Gaussian(), X[:, :1], y)
    assert alone.kept == (0,)
    assert len(alone.table) == 1
    assert alone.notes == ()


def test_a_subset_that_is_not_clearly_better_is_not_kept(table):
    X, y = table
    X = X.assign(noise=np.random.default_rng(3).normal(size=120))[["height", "noise", "sick"]]
    model = nb.NaiveBayes({"height": nb.Gaussian(), "noise": nb.Gaussian(), "sick": nb.Bernoulli()})
    found = nb.select_features(model, X, y)
    last = found.table.iloc[-1]
    assert 1.8 * last["se"] < last["difference"] <= 2 * last["se"]
    assert found.model is model
    assert found.kept == tuple(X)
    assert found.dropped == ()
    assert found.notes == (
        f"The best subset that was found is not kept: its score is {last['difference']:.1f} higher than that of all "
        f"features, which is not more than two standard errors of {last['se']:.1f}.",
    )
    assert found.notes[0] in " ".join(repr(found).split())


def counts(frame):
    rng = np.random.default_rng(1)
    return frame.assign(**{f"word {j}": rng.poisson(1 + j * (frame["old"] + 0.1)) for j in range(3)})


WRITTEN = {
    "every column, arrays": (nb.Gaussian(kappa=[0.1, 0.2, 0.3], loc=1.0), ["height", "width", "girth"]),
    "every column, by class": (nb.Gaussian(rate=[[1.0], [2.0], [3.0]]), ["height", "width", "girth"]),
    "every column of categories": (nb.Categorical(0.5), ["colour", "old", "sick"]),
    "categories, arrays": ({"signs": (nb.Categorical([0.5, 2.0]), ["old", "sick"]), "nests": nb.Poisson()}, None),
    "bins": (nb.Histogram(), ["height", "width", "girth"]),
    "bins, some given": (
        {"x": (nb.Histogram({"height": [-4.0, 0.0, 1.0, 5.0]}), ["height", "width", "girth"])},
        ["height", "width", "girth"],
    ),
    "hurdles": (nb.Hurdle(nb.Gaussian(kappa=[0.1, 0.2]), 2.0), ["old", "nests"]),
    "number of trials": (nb.Binomial([1, 20, 1]), ["old", "nests", "sick"]),
    "block by positions": ({"sizes": (nb.Gaussian(), slice(0, 3)), "old": nb.Bernoulli()}, None),
    "categories listed": (
        {"signs": (nb.Categorical(categories={"colour": ["red", "blue", "green", "black"]}), ["colour", "old"])},
        None,
    ),
    "names taken": ({"height": (nb.Gaussian(), ["width", "girth"]), "x": (nb.Gaussian(), ["height", "nests"])}, None),
    "joint blocks": (
        {"sizes": (nb.MultivariateGaussian(), ["height", "girth"]), "words": (nb.Multinomial(), ["word 0", "word 2"])}
        | {"nests": nb.Poisson(2.0, 3.0)},
        None,
    ),
    "inclusion in the order of the columns": (
        nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=[0.2, 0.7]),
        ["old", "sick"],
    ),
    "inclusion": (
        nb.NaiveBayes(nb.Bernoulli(), feature_inclusion={"old": 0.2, "sick": 0.7}),
        ["old", "sick"],
    ),
}


@pytest.mark.parametrize("kind", ["description", "bound", "fitted"])
@pytest.mark.parametrize("form", WRITTEN)
def test_models_with_some_features_fit_the_table_and_keep_their_priors(table, form, kind):
    """The score of single features, and of all but one, by the densities of all and by a fit of the model written."""
    from bayesnb.posterior.left_out import features_left_out

    given, columns = WRITTEN[form]
    X, y = counts(table[0]), table[1]
    X = X if columns is None else X[columns]
    model = given if isinstance(given, nb.NaiveBayes) else nb.NaiveBayes(given)
    if kind == "bound":
        model = as_model(model.bind(X, y))
    if kind == "fitted":
        model = nb.fit(model, X, y).model
    posterior = nb.fit(model, X, y)
    found = features_left_out(posterior, rows_of(posterior, X, y))
    codes = np.searchsorted(posterior.classes, y)
    every = list(range(len(found.names)))
    for kept in [[j] for j in every] + [every[1:], every[:-1]]:
        smaller = with_some_features(model, posterior.problem.model, kept)
        assert type(smaller) is type(model)
        log_joint = found.log_class_prob + found.log_density[..., kept].sum(axis=-1)
        of_label = log_joint - np.logaddexp.reduce(log_joint, axis=1, keepdims=True)
        own = nb.fit(smaller, X, y)
        assert len(own.model.used_columns) < len(posterior.model.used_columns)
        elpd = np.asarray(nb.loo(own, X, y).elpd_i)
        np.testing.assert_allclose(elpd, of_label[np.arange(len(y)), codes], rtol=0, atol=1e-9)
        own.predict(X.iloc[:3])
    assert with_some_features(model, posterior.problem.model, every) is model


def test_the_families_of_the_columns_kept_are_as_the_user_wrote_them(table):
    X, y = table
    model = nb.NaiveBayes(
        {"sizes": (nb.Histogram(num_bins=4), ["height", "width", "girth"]), "colour": nb.Categorical(0.5)},
        class_concentration=2.0,
    )
    smaller = with_some_features(model, model.bind(X, y), [0, 3])
    assert smaller == nb.NaiveBayes(
        {"height": nb.Histogram(num_bins=4), "colour": nb.Categorical(0.5)}, class_concentration=2.0
    )
    given = nb.NaiveBayes({"sizes": (nb.Histogram({"width": [-4, 0, 5]}), ["height", "width"])})
    smaller = with_some_features(given, given.bind(X, y), [1])
    assert smaller.features["width"][0].edges == (-4.0, 0.0, 5.0)


def test_rows_whose_label_is_impossible_without_them_do_not_count(table):
    X, y = table
    rare = y.copy()
    rare[7] = "yew"
    model = nb.NaiveBayes(FAMILIES, class_probs="empirical")
    with pytest.warns(UserWarning, match="row 7 does not count in the score: without the row its label has probabil"):
        found = nb.select_features(model, X, rare)
    assert np.isfinite(found.table[["elpd_label", "difference", "se"]]).all(axis=None)
    with pytest.warns(UserWarning, match="minus infinity"):
        of_rows = score(FAMILIES, X, rare, class_probs="empirical")
    assert np.isneginf(of_rows[7])
    assert found.table["elpd_label"].iloc[0] == pytest.approx(np.delete(of_rows, 7).sum(), **SCORES)
    assert found.notes[-1].startswith("row 7 does not count")
    rare[9] = "fir"
    with pytest.warns(UserWarning, match=r"rows 7, 9 do not count in the score.*leave class_probs out"):
        nb.select_features(model, X, rare)
    # Rows of weight zero do not count in any case.
    weights = np.ones(120)
    weights[[7, 9]] = 0.0
    assert not nb.select_features(model, X, rare, sample_weight=weights).notes


def test_a_class_that_cannot_occur_does_not_count(table):
    X, y = table
    known = {"ash": 0.25, "elm": 0.25, "oak": 0.5, "yew": 0.0}
    bound = nb.NaiveBayes(FAMILIES, class_probs=known).bind(X, classes=list(known))
    found = nb.select_features(bound, X, y)
    del known["yew"]
    three = nb.select_features(nb.NaiveBayes(FAMILIES, class_probs=known), X, y)
    pd.testing.assert_frame_equal(found.table, three.table)


def test_densities_far_apart_give_finite_scores():
    y = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).normal(size=(40, 6)) * 1e-3 + 1e3 * y[:, None]
    X[0] = 1e3
    found = nb.select_features(nb.Gaussian(loc=0.0, kappa=1e-3, concentration=50.0, rate=1e-4), X, y)
    assert np.isfinite(found.table[["elpd_label", "difference", "se"]]).all(axis=None)
    assert found.table["elpd_label"].iloc[0] < -500


def test_the_result_shows_its_steps_in_print(table):
    X, y = table
    found = nb.select_features(nb.NaiveBayes(FAMILIES), X, y)
    shown = " ".join(repr(found).split())
    for words in (
        f"{len(found.kept)} of 7",
        f"{found.table['difference'].iloc[-1]:.1f}",
        f"Kept: {', '.join(found.kept)}.",
        f"Dropped: {', '.join(found.dropped)}.",
    ):
        assert words in shown


def held_out(model, rows, labels, X, y):
    """Mean log probability of the labels of new rows."""
    posterior = nb.fit(model, rows, labels)
    return posterior.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(posterior.classes, y)].mean()


@pytest.mark.slow
def test_votes_are_predicted_better_by_few_of_them(data):
    """Rows held out, the features selected anew in each of ten folds, five times."""
    frame = pd.read_csv(data / "uci" / "vote.csv")
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()
    scores = {"all": [], "selected": []}
    for train, test in RepeatedStratifiedKFold(n_splits=10, n_repeats=5, random_state=0).split(X, y):
        found = nb.select_features(nb.Categorical(), X.iloc[train], y[train])
        assert 4 <= len(found.kept) <= 5
        for name, model in (("all", nb.Categorical()), ("selected", found.model)):
            scores[name].append(held_out(model, X.iloc[train], y[train], X.iloc[test], y[test]))
    assert np.mean(scores["all"]) == pytest.approx(-0.63, abs=0.02)
    assert np.mean(scores["selected"]) == pytest.approx(-0.126, abs=0.01)


@pytest.mark.slow
def test_a_model_that_is_right_mostly_keeps_its_features():
    """The figures of the docstring."""
    rng = np.random.default_rng(0)
    dropped, change, in_any_case = 0, [], []
    for _ in range(200):
        prob = rng.random((2, 10))
        y = rng.integers(0, 2, 2060)
        X = (rng.random((2060, 10)) < prob[y]).astype(float)
        found = nb.select_features(nb.Bernoulli(), X[:60], y[:60])
        dropped += bool(found.dropped)
        before, after = (held_out(model, X[:60], y[:60], X[60:], y[60:]) for model in (nb.Bernoulli(), found.model))
        change.append(after - before)
        best = set(range(10))
        for feature in found.table["feature"].iloc[1:]:
            best ^= {feature}
        best_model = nb.NaiveBayes({feature: nb.Bernoulli() for feature in best})
        in_any_case.append(held_out(best_model, X[:60], y[:60], X[60:], y[60:]) - before)
    assert 5 <= dropped <= 20
    assert np.mean(change) == pytest.approx(-0.0002, abs=0.0004)
    assert np.mean(in_any_case) == pytest.approx(-0.014, abs=0.003)


@pytest.mark.filterwarnings("ignore:weights of features were learned")
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "each"])
def test_subsets_of_a_posterior_with_weights_are_scored_with_weights(table, shared):
    """By leave-one-out of the posterior in which features that are dropped have the weight zero."""
    X, y = table
    plain = nb.fit(nb.NaiveBayes(FAMILIES), X, y)
    weighted = nb.weight_features(plain, X, y, shared=shared)
    found, without = nb.select_features(weighted, X, y), nb.select_features(plain, X, y)
    kept = dict.fromkeys(FAMILIES, 1.0)
    for step in found.table.itertuples():
        if step.action:
            kept[step.feature] = 1.0 - kept[step.feature]
        weight = weighted.feature_weights.weight * [kept[name] for name in X]
        changed = replace(weighted.feature_weights, weight=weight)
        if shared:
            # The search leaves out the probability that a row says nothing of its label.
            changed = replace(changed, no_information=0.0)
        score = nb.loo(nb.results.WeightedPosterior(plain, changed), X, y)
        assert step.elpd_label == pytest.approx(float(score.elpd), **(SCORES if shared else {"abs": 0.5}))
    assert "nb.weight_features(found.model, X, y)" in found.notes[-1]
    assert without.table["elpd_label"].iloc[0] < found.table["elpd_label"].iloc[0] - 1.0
    estimator = NaiveBayesClassifier(nb.NaiveBayes(FAMILIES), feature_weights="shared" if shared else "each").fit(X, y)
    assert nb.select_features(estimator, X, y).kept == found.kept
    assert not isinstance(nb.fit(found.model, X, y), nb.results.WeightedPosterior)


def test_advice_of_a_check_names_no_search_without_weights(table):
    advice = nb.check(nb.fit(nb.NaiveBayes(FAMILIES), *table), *table, num_replicates=2).advice
    assert all("select_features" not in step for step in advice.values())
