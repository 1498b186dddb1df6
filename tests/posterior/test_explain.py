"""The log odds of two classes in a row, feature by feature: they add up, and each is that of the feature alone."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from scipy.special import gammaln
from trees import ALONE, KINDS, OFFSET, SHARE, WEIGHT, mixed_by_hand

import bayesnb as nb

NAMES = ["before any cell", *ALONE]


EXPLAINED = [kind for kind in KINDS if kind != "point"]  # its probabilities may be zero


def log_odds(posterior, rows, class_, against):
    log_proba = posterior.predict_log_proba(rows)
    labels = posterior.classes.tolist()
    return log_proba[:, labels.index(class_)] - log_proba[:, labels.index(against)]


@pytest.mark.parametrize("words", [False, True], ids=["blocks", "words"])
@pytest.mark.parametrize("kind", EXPLAINED)
def test_the_parts_add_up_to_the_log_odds(posteriors, table, kind, words):
    posterior, new = posteriors[kind], table[2][:4]  # the other rows have no missing cells, as the first
    for pair in (("oak", "ash"), ("fir", "oak")):
        for i, expected in enumerate(log_odds(posterior, new, *pair)):
            found = posterior.explain(new.iloc[[i]], *pair, words=words, num_draws=2)
            assert found["log_odds"].sum() == pytest.approx(expected, rel=1e-10, abs=1e-10)
            there = new.columns[new.iloc[i].fillna(0) != 0] if words else NAMES
            assert set(there) <= set(found.index)


@pytest.mark.parametrize("kind", EXPLAINED)
def test_missing_cells_contribute_exactly_nothing(posteriors, table, kind):
    missing = {1: ["height", "moss"], 2: ["bark"], 3: ["fallen"]}
    for i, features in missing.items():
        found = posteriors[kind].explain(table[2].iloc[[i]], "oak", "fir", words=False, num_draws=3).loc[features]
        expected = [[0.0, np.nan, np.nan]] if kind == "known" else [[0.0, 0.0, 0.0]]
        np.testing.assert_array_equal(found.to_numpy(), expected * len(features))


@pytest.mark.parametrize("kind", EXPLAINED)
def test_many_rows_are_those_of_each_row(posteriors, table, kind):
    posterior, new = posteriors[kind], table[2].iloc[:4].set_axis(list("abcd"))
    for pair in ((None, None), ("oak", "fir")):
        found = posterior.explain(new, *pair, num_draws=3, key=1)
        assert found.index.names == ["row", "feature"]
        for row in new.index:
            alone = posterior.explain(new.loc[[row]], *pair, words=False, num_draws=3, key=1)
            own = found.loc[row]
            assert own.index.tolist() == alone.index.tolist()
            np.testing.assert_allclose(own[alone.columns].astype(float), alone, rtol=1e-9, atol=1e-12)
            assert (own[["class", "against"]] == [alone.attrs["class"], alone.attrs["against"]]).all(axis=None)


def test_many_rows_of_a_classifier_have_the_names_of_the_index():
    X = pd.DataFrame({"u": [1, 0, 1, 0], "v": list("abab")}, index=[7, 3, 5, 9])
    found = nb.NaiveBayesClassifier().fit(X, ["p", "q", "p", "q"]).explain(X)
    assert found.index.unique("row").tolist() == [7, 3, 5, 9]
    assert repr(found).startswith("Log odds of two classes in 4 rows in nats, lower and upper: 89 % interval\n")
    assert "\n7, before any cell " in repr(found)


@pytest.mark.parametrize("kind", ["exact", "averaged", "weighted", "weighted averaged"])
def test_each_part_is_the_log_odds_of_a_model_of_that_feature(posteriors, table, kind):
    X, y, new = table[0], table[1], table[2][:4]
    uniform = np.full(3, 1 / 3)
    options = {"feature_inclusion": 0.4} if "averaged" in kind else {}
    weight, offset = (WEIGHT, OFFSET) if "weighted" in kind else (np.ones(5), np.zeros(3))
    probs = getattr(posteriors[kind], "unweighted", posteriors[kind]).class_probs()
    expected = [np.full(len(new), np.log(probs[2] / probs[1]) + offset[2] - offset[1])]
    for (model, columns), w in zip(ALONE.values(), weight, strict=True):
        alone = nb.fit(nb.NaiveBayes(model, class_probs=uniform, **options), X[columns], y)
        density = mixed_by_hand(alone.log_joint(new[columns]), probs, SHARE if "weighted" in kind else 0.0)
        expected.append(w * (density[:, 2] - density[:, 1]))
    for i in range(len(new)):
        found = posteriors[kind].explain(new.iloc[[i]], "oak", "fir", words=False, num_draws=2)
        found = found.drop("features together", errors="ignore")
        assert found.index.tolist() == NAMES
        np.testing.assert_allclose(found["log_odds"], np.stack(expected)[:, i], rtol=1e-9, atol=1e-12)


def test_units_are_multiples(posteriors, table):
    row = table[2].iloc[[0]]
    nats, bits, decibans = (
        posteriors["exact"].explain(row, "oak", "fir", unit=unit, num_draws=20) for unit in ("nats", "bits", "decibans")
    )
    np.testing.assert_allclose(bits, nats / np.log(2), rtol=1e-12)
    np.testing.assert_allclose(decibans, 10 * nats / np.log(10), rtol=1e-12)
    assert decibans.attrs == {"class": "oak", "against": "fir", "unit": "decibans", "prob": 0.89}


def test_the_classes_are_by_default_the_two_most_probable(posteriors, table):
    posterior, new = posteriors["exact"], table[2]
    chosen = set()
    for i in range(len(new)):
        row = new.iloc[[i]]
        order = posterior.classes[np.argsort(-posterior.predict_proba(row)[0])].tolist()
        chosen.add(tuple(order))
        for given, expected in (
            ({}, order[:2]),
            ({"class_": order[0]}, order[:2]),
            ({"class_": order[1]}, order[1::-1]),
            ({"class_": order[2]}, [order[2], order[0]]),
            ({"against": order[0]}, order[1::-1]),
            ({"against": order[2]}, [order[0], order[2]]),
        ):
            attrs = posterior.explain(row, **given, num_draws=1).attrs
            assert [attrs["class"], attrs["against"]] == expected
    assert len(chosen) > 1


class TestWords:
    X, Y = np.array([[3, 1, 0, 2], [1, 3, 0, 0], [0, 2, 4, 1]]), ["a", "b", "b"]
    ALPHA = np.array([[3.5, 1.5, 0.5, 2.5], [1.5, 5.5, 4.5, 1.5]])

    @pytest.fixture
    def exact(self):
        return nb.fit(nb.NaiveBayes({"text": (nb.Multinomial(0.5), slice(0, 4))}), self.X, self.Y)

    def test_of_words_that_occur_once_it_is_the_formula_of_the_docstring(self, exact):
        found = exact.explain([[1, 1, 0, 1]], "a", "b", words=True)
        n, total = 3, self.ALPHA.sum(axis=1)
        by_class = np.log(self.ALPHA) - ((gammaln(total + n) - gammaln(total)) / n)[:, None]
        assert found.index.tolist() == ["before any cell", 0, 1, 3]  # no part of words that do not occur
        np.testing.assert_allclose(found["log_odds"].iloc[1:], (by_class[0] - by_class[1])[[0, 1, 3]], rtol=1e-10)

    def test_each_token_has_the_same_part_of_what_the_words_share(self, exact):
        found = exact.explain([[5, 0, 2, 1]], "a", "b", words=True)["log_odds"].iloc[1:]
        rows = ([5, 0, 2, 1], [5, 0, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1])
        together, *alone = (exact.explain([row], "a", "b", words=False).loc["text", "log_odds"] for row in rows)
        rest = together - sum(alone)
        assert abs(rest) > 0.05
        np.testing.assert_allclose(found, alone + rest * np.array([5, 2, 1]) / 8, rtol=1e-10)

    def test_under_a_draw_the_words_are_independent(self, exact):
        found = exact.explain([[5, 0, 2, 1]], "a", "b", words=True, prob=0.8, num_draws=30, key=4)
        prob = exact.draws(num_chains=4, num_draws=30, key=4)["text_prob"]
        per_word = np.log(prob[:, :, 0] / prob[:, :, 1]) * [5, 0, 2, 1]
        expected = np.quantile(per_word, [0.1, 0.9], axis=(0, 1)).T[[0, 2, 3]]
        np.testing.assert_allclose(found[["lower", "upper"]].iloc[1:], expected, rtol=1e-9)

    def test_sparse_rows_and_all_kinds_of_posterior(self, exact):
        row = np.array([[5, 0, 2, 1]])
        sparse = scipy.sparse.csr_array(row)
        sampled = nb.from_samples(exact.model, exact.draws(num_draws=50), X=self.X, y=self.Y)
        bursty = nb.fit(nb.DirichletMultinomial(), self.X, self.Y, nb.MAP())
        for posterior in (exact, sampled, bursty, exact.averaged(), exact.plugin()):
            found = posterior.explain(row, "a", "b", words=True)
            pd.testing.assert_frame_equal(posterior.explain(sparse, "a", "b", words=True), found)
            assert found["log_odds"].sum() == pytest.approx(log_odds(posterior, row, "a", "b")[0], rel=1e-10)
        alpha = bursty.parameters.blocks[0]["concentration"]
        single = bursty.explain([[0, 2, 0, 0]], "a", "b", words=True)["log_odds"].loc[1]
        by_class = alpha[:, 1] / alpha.sum(1) * (alpha[:, 1] + 1) / (alpha.sum(1) + 1)
        assert single == pytest.approx(np.log(by_class[0] / by_class[1]), rel=1e-9)


class TestIntervals:
    def test_they_are_quantiles_over_draws_of_the_parameters(self, posteriors, table):
        posterior, row, draws = *(posteriors["exact"], table[2].iloc[[0]]), {"num_draws": 60, "key": 5}
        found = posterior.explain(row, "oak", "fir", prob=0.8, **draws).astype(float)
        sites = posteriors["weighted"].draws(num_chains=4, **draws)
        moss = sites["moss_prob"] if row["moss"].iloc[0] else 1 - sites["moss_prob"]
        at = ["flaky", "rough", "smooth"].index(row["bark"].iloc[0])
        logs = {"before any cell": sites["class_prob"], "moss": moss, "bark": sites["bark_prob"][..., at]}
        for name, prob in logs.items():
            expected = np.quantile(np.log(prob[..., 2] / prob[..., 1]), [0.1, 0.9])
            np.testing.assert_allclose(found.loc[name, ["lower", "upper"]], expected, rtol=1e-9)
        # With weights the first part has the offsets.
        found = posteriors["weighted"].explain(row, "oak", "fir", prob=0.8, **draws)
        score = np.log(sites["class_prob"]) + sites["class_offset"]
        expected = np.quantile(score[..., 2] - score[..., 1], [0.1, 0.9])
        np.testing.assert_allclose(found[["lower", "upper"]].iloc[0], expected, rtol=1e-10)

    @pytest.mark.parametrize("kind", ["exact", "averaged", "sampled", "weighted", "weighted sampled"])
    def test_under_every_draw_the_parts_add_up_to_those_of_proba_draws(self, posteriors, table, kind):
        posterior, row = posteriors[kind], table[2].iloc[[4]]
        frame = posterior.explain(row, "oak", "fir", prob=0.7, words=False, num_draws=20, key=3)
        _, draws = frame._beside
        proba = posterior.proba_draws(row, num_draws=20, key=3)[:, :, 0]
        expected = np.log(proba[..., 2] / proba[..., 1]).ravel()
        np.testing.assert_allclose(draws.sum(axis=1), expected, rtol=1e-7, atol=1e-8)
        lower, upper = np.quantile(draws, [0.15, 0.85], axis=0)
        ends = np.column_stack([np.minimum(lower, frame["log_odds"]), np.maximum(upper, frame["log_odds"])])
        ends[frame.index == "features together"] = np.nan  # no draw has this part
        np.testing.assert_allclose(frame[["lower", "upper"]], ends, rtol=1e-12)
        assert (np.ptp(ends[frame["log_odds"] != 0], axis=1)[:-1] > 0).all()

    @pytest.mark.parametrize(("kind", "cell"), [("exact", 3.0), ("weighted", 0.2)])
    def test_they_reach_to_the_log_odds(self, kind, cell):
        """Densities are averaged, not their logarithms; weights bound the log odds of a cell where few rows are."""
        X = np.concatenate([[[0.0], [0.4], [0.2]], np.linspace(5, 6, 3 if kind == "weighted" else 200)[:, None]])
        y = ["a"] * 3 + ["b"] * (len(X) - 3)
        posterior = nb.fit(nb.Gaussian() if kind == "weighted" else nb.Gaussian(0.0, 1.0, 1.0, 0.01), X, y)
        if kind == "weighted":
            posterior = nb.weight_features(posterior, X, y)
        evidence = posterior.explain([[cell]], "a", "b", num_draws=200, key=0)
        estimate, lower, upper = evidence.iloc[1]
        below, above = np.quantile(evidence._beside[1][:, 1], [0.055, 0.945])
        assert estimate > above or estimate < below
        assert (lower, upper) == pytest.approx((min(below, estimate), max(above, estimate)), rel=1e-9)

    def test_features_together_are_explained_in_the_printed_form(self, posteriors, table):
        printed = {kind: str(posterior.explain(table[2].iloc[[0]])) for kind, posterior in posteriors.items()}
        for kind, text in printed.items():
            assert ("features together: " in text) is (kind not in {"exact", "averaged", "known", "point"})
        assert "a row say nothing" in " ".join(printed["weighted"].split())
        assert "depend on each other" in " ".join(printed["sampled"].split())


def test_a_feature_of_draws_has_the_average_of_its_own_density(posteriors, table):
    posterior, row = posteriors["sampled"], table[2].iloc[[0]]
    found = posterior.explain(row, "oak", "fir")
    draws = posterior.draws()
    moss = draws["moss_prob"] if row["moss"].iloc[0] else 1 - draws["moss_prob"]
    mean = moss.mean(axis=(0, 1))
    assert found.loc["moss", "log_odds"] == pytest.approx(np.log(mean[2] / mean[1]), rel=1e-10)
    prob = draws["class_prob"].mean(axis=(0, 1))
    assert found.loc["before any cell", "log_odds"] == pytest.approx(np.log(prob[2] / prob[1]), rel=1e-10)
    assert found.index[-1] == "features together"
    assert abs(found["log_odds"].iloc[-1]) > 1e-4
    assert found.iloc[-1, 1:].isna().all()  # no draw has this part


class TestRows:
    def test_every_form_of_a_row_gives_the_same(self, posteriors, table):
        row = table[2].iloc[[0]]
        of_table = [row.iloc[0], pl.from_pandas(row), row.to_numpy(), row.to_numpy()[0], row.iloc[0].tolist()]
        X = np.array([[1.0, 0], [1, 1], [0, 1], [0, 0], [0, 1]])
        unnamed = nb.fit(nb.Bernoulli(), X, ["a", "a", "a", "b", "b"])
        sparse = scipy.sparse.csr_array(X)
        of_array = [X[[0]], X[0], [1, 0], (1, 0), sparse[[0]], sparse[0], pd.Series([1.0, 0.0])]
        for posterior, forms in (
            (posteriors["exact"], [row, *of_table, row.iloc[0].to_dict()]),
            (unnamed, [[[1, 0]], *of_array]),
        ):
            expected, *others = (posterior.explain(form) for form in forms)
            for other in others:
                pd.testing.assert_frame_equal(other, expected)

    def test_a_value_that_is_no_category_counts_as_missing(self, posteriors, table):
        row = table[2].iloc[[0]].assign(bark="peeling")
        with pytest.warns(UserWarning, match="bark"):
            found = posteriors["exact"].explain(row)
        assert found.loc["bark"].tolist() == [0.0, 0.0, 0.0]


class TestImpossible:
    @pytest.fixture
    def point(self):
        X, y = [[0], [1], [0], [1], [2], [2]], ["a", "a", "b", "b", "c", "c"]
        return nb.fit(nb.NaiveBayes(nb.Categorical()), X, y, nb.MLE())

    def test_a_class_without_probability_has_infinite_odds(self, point):
        assert point.explain([[0]], "a", "c").loc[0, "log_odds"] == np.inf
        assert point.explain([[0]], "c", "b")["log_odds"].sum() == -np.inf

    def test_a_word_that_a_class_never_has_makes_the_sum_infinite(self):
        point = nb.fit(nb.Multinomial(), [[3, 1, 0], [1, 1, 2]], ["a", "b"], nb.MLE())
        found = point.explain([[1, 1, 1]], "a", "b", words=True)["log_odds"]
        np.testing.assert_allclose(found, [0.0, np.log(3.0), 0.0, -np.inf], atol=1e-12)

    def test_two_such_classes_have_no_odds(self, point):
        with pytest.raises(ValueError, match=r"probability zero under 'a' and under 'b'.*class_=.*nb\.Exact\(\)"):
            point.explain([[2]], "a", "b")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X_row": np.empty((0, 2))}, "X_row has no rows: give at least one"),
        ({"X_row": [[1, 0, 1]]}, "3 columns"),
        *(({"X_row": row}, f"X_row is {row!r}: give one row") for row in ("x", 3, None)),
        ({"X_row": {"u": 1}}, "'v'"),
        ({"unit": "bit"}, "unit is 'bit' (did you mean 'bits'?): give one of"),
        ({"unit": "bytes"}, "unit is 'bytes': give one of ['nats', 'bits', 'decibans']"),
        ({"class_": "c"}, "class_ is 'c', which is no class: give one of ['Adelie', 'Gentoo']"),
        ({"class_": "adelie"}, "class_ is 'adelie', which is no class (did you mean 'Adelie'?)"),
        ({"against": "gentoo"}, "against is 'gentoo', which is no class (did you mean 'Gentoo'?)"),
        ({"class_": "Adelie", "against": "Adelie"}, "class_ and against are both 'Adelie': give two different"),
        ({"prob": 1.5}, "prob is 1.5"),
    ],
)
def test_errors_name_the_value_and_the_way_out(given, message):
    posterior = nb.fit(nb.Bernoulli(), pd.DataFrame({"u": [1, 0], "v": [0, 1]}), ["Adelie", "Gentoo"])
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        posterior.explain(**{"X_row": [[1, 0]]} | given)


def test_it_prints_what_it_compares_and_no_rounding_error():
    X, y = [[1, 1], [0, 1], [0, 0], [0, 0], [0, 1], [1, 0]], ["a", "a", "a", "b", "b", "b"]
    posterior = nb.fit(nb.Bernoulli(), X, y)
    found = posterior.explain([[1, 1]], "b", "a", unit="decibans", num_draws=20)
    assert found.loc[0, "log_odds"] == 0
    lines = format(found, "80").split("\n")
    assert lines[0] == "Log odds of b against a in decibans, lower and upper: 89 % interval"
    assert [line.split()[:2] for line in lines if line.startswith("0 ")] == [["0", "0"]]
    assert lines[-1] == f"Sum {found['log_odds'].sum():.4g}: a is the more probable of the two."
    point = nb.fit(nb.Bernoulli(), X, y, nb.MAP()).explain([[1, 1]], "a", "b")
    assert repr(point).split("\n")[0] == "Log odds of a against b in nats"


@pytest.mark.filterwarnings("ignore:y has one class only")
def test_one_class_has_no_odds():
    posterior = nb.fit(nb.Bernoulli(), [[1, 0], [0, 1]], ["a", "a"])
    with pytest.raises(ValueError, match="there is one class, 'a': log odds need two"):
        posterior.explain([[1, 0]])
