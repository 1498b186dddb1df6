"""Columns found by name: those that a model does not use are ignored, and one that it uses must be there."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesnb as nb
from bayesnb.estimators import GaussianNB, NaiveBayesClassifier

FRAME = pd.DataFrame(
    {
        "mass": [1.0, 2.0, 4.0, 5.5, 3.0, 2.5],
        "island": ["x", "y", "y", None, "x", "y"],
        "eggs": [0, 3, 2, 1, 1, 0],
    }
)
LABELS = ["a", "b", "b", "a", "a", "b"]
NAMED = nb.NaiveBayes({"mass": nb.Gaussian(), "island": nb.Categorical(), "eggs": nb.Poisson()})
WIDER = FRAME.assign(note="?", when=pd.Timestamp("2020-01-01"))[["when", "eggs", "note", "island", "mass"]]
"""The columns of FRAME in another order, with others that no model of FRAME uses."""

KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


@pytest.fixture
def fitted():
    return nb.fit(NAMED, FRAME, LABELS)


class TestColumnsThatTheModelDoesNotUse:
    @pytest.mark.parametrize("kind", KINDS)
    def test_are_ignored_in_predictions(self, fitted, kind):
        wider = KINDS[kind](WIDER)
        np.testing.assert_array_equal(fitted.predict_proba(wider), fitted.predict_proba(FRAME))
        np.testing.assert_array_equal(fitted.predict(wider), fitted.predict(FRAME))

    def test_are_ignored_by_one_family_for_every_column(self):
        numbers = FRAME[["mass", "eggs"]]
        fitted = nb.fit(nb.Gaussian(), numbers, LABELS)
        np.testing.assert_array_equal(fitted.predict_proba(WIDER), fitted.predict_proba(numbers))

    def test_are_ignored_by_update_and_forget(self, fitted):
        twice = nb.fit(NAMED, pd.concat([FRAME, FRAME]), LABELS + LABELS)
        updated = fitted.update(WIDER, LABELS)
        np.testing.assert_allclose(updated.predict_proba(FRAME), twice.predict_proba(FRAME), rtol=1e-12)
        forgotten = updated.forget(WIDER, LABELS)
        np.testing.assert_allclose(forgotten.predict_proba(FRAME), fitted.predict_proba(FRAME), rtol=1e-9)

    def test_are_ignored_by_fits_of_a_bound_model_and_by_batches(self, fitted):
        whole = nb.fit(fitted.model, FRAME, LABELS).predict_proba(FRAME)
        np.testing.assert_array_equal(nb.fit(fitted.model, WIDER, LABELS).predict_proba(FRAME), whole)
        for model in (fitted.model, NAMED):
            halves = [(FRAME[:3], LABELS[:3]), (WIDER[3:], LABELS[3:])]
            found = nb.fit_batches(model, halves)
            np.testing.assert_allclose(found.predict_proba(FRAME), nb.fit(model, FRAME, LABELS).predict_proba(FRAME))

    def test_are_ignored_in_parquet_by_a_bound_model(self, fitted, tmp_path):
        WIDER.assign(label=LABELS).to_parquet(tmp_path / "wider.parquet")
        FRAME.assign(label=LABELS).to_parquet(tmp_path / "same.parquet")
        found = nb.fit_parquet(fitted.model, [tmp_path / "wider.parquet", tmp_path / "same.parquet"], "label")
        expected = nb.fit(fitted.model, pd.concat([FRAME, FRAME]), LABELS + LABELS)
        np.testing.assert_allclose(found.predict_proba(FRAME), expected.predict_proba(FRAME), rtol=1e-12)
        FRAME.drop(columns="eggs").assign(label=LABELS).to_parquet(tmp_path / "fewer.parquet")
        with pytest.raises(ValueError, match="fewer\\.parquet has no column 'eggs', which the model names"):
            nb.fit_parquet(fitted.model, tmp_path / "fewer.parquet", "label")

    def test_are_ignored_in_parquet_where_a_bound_model_counts_columns(self, tmp_path):
        """The positions are those of the first table, and not those of the file."""
        model = nb.NaiveBayes({"sizes": (nb.Gaussian(), slice(1, 3))})
        fitted = nb.fit(model, FRAME[["island", "mass", "eggs"]], LABELS)
        WIDER.assign(label=LABELS).to_parquet(tmp_path / "wider.parquet")
        found = nb.fit_parquet(fitted.model, tmp_path / "wider.parquet", "label")
        expected = nb.fit(fitted.model, FRAME, LABELS)
        np.testing.assert_allclose(found.predict_proba(FRAME), expected.predict_proba(FRAME), rtol=1e-12)

    def test_are_ignored_in_dask_frames(self, fitted):
        dd = pytest.importorskip("dask.dataframe")
        parts, labels = (dd.from_pandas(data, npartitions=2) for data in (WIDER, pd.Series(LABELS)))
        np.testing.assert_array_equal(fitted.predict_proba(parts).compute(), fitted.predict_proba(FRAME))
        expected = nb.fit(fitted.model, FRAME, LABELS).predict_proba(FRAME)
        np.testing.assert_allclose(nb.fit(fitted.model, parts, labels).predict_proba(FRAME), expected, rtol=1e-12)
        with pytest.raises(ValueError, match="column 'eggs' is missing in X, which has 'when', 'note'"):
            nb.fit(fitted.model, parts.drop(columns="eggs"), labels)

    def test_make_an_array_too_wide(self, fitted):
        numbers = nb.fit(nb.Gaussian(), FRAME[["mass", "eggs"]].to_numpy(), LABELS)
        for wrong in (np.ones((1, 3)), np.ones((1, 1))):
            with pytest.raises(ValueError, match=rf"X has {wrong.shape[1]} columns, the model was fitted to 2"):
                numbers.predict(wrong)
        with pytest.raises(ValueError, match="X has 5 columns, the model was fitted to 3"):
            fitted.predict(WIDER.to_numpy())


class TestColumnsThatTheModelUses:
    def test_one_that_is_missing_is_named(self, fitted):
        for call in (
            lambda frame: fitted.predict(frame),
            lambda frame: fitted.update(frame, LABELS),
            lambda frame: fitted.forget(frame, LABELS),
            lambda frame: nb.fit(fitted.model, frame, LABELS),
        ):
            with pytest.raises(ValueError, match=r"column .eggs. is missing in X.*which has 'when', 'note': rename or"):
                call(WIDER.drop(columns="eggs"))

    def test_a_misspelt_one_is_suggested(self, fitted):
        with pytest.raises(ValueError, match=r"'island' is missing in X \(did you mean 'iland'\?\), which has 'iland'"):
            fitted.predict(FRAME.rename(columns={"island": "iland"}))
        with pytest.raises(ValueError, match=r"'iland' is not in X.*did you mean 'island'\?"):
            nb.fit(nb.NaiveBayes({"iland": nb.Categorical()}), FRAME, LABELS)

    def test_of_many_missing_ones_five_are_shown(self):
        wide = pd.DataFrame(np.eye(6, 40), columns=[f"word{j:02}" for j in range(40)])
        fitted = nb.fit(nb.Bernoulli(), wide, LABELS)
        with pytest.raises(ValueError, match=r"columns 'word03', .*'word07' and 32 more are missing") as caught:
            fitted.predict(wide.iloc[:, :3])
        assert len(str(caught.value)) < 250


class TestEstimators:
    def test_the_general_classifier_ignores_columns_that_the_fit_did_not_have(self):
        for model in (None, NAMED):
            classifier = NaiveBayesClassifier(model).fit(FRAME, LABELS)
            expected = classifier.predict_proba(FRAME)
            for kind in KINDS.values():
                found = classifier.predict_proba(kind(WIDER[["when", "mass", "island", "note", "eggs"]]))
                np.testing.assert_array_equal(found, expected)
            with pytest.raises(ValueError, match="must be in the same order"):
                classifier.predict(WIDER)
            with pytest.raises(ValueError, match="yet now missing:\n- eggs"):
                classifier.predict(WIDER.drop(columns="eggs"))

    def test_estimators_named_as_scikit_learns_keep_its_rule(self):
        fitted = GaussianNB().fit(FRAME[["mass"]], LABELS)
        with pytest.raises(ValueError, match="unseen at fit time:\n- eggs"):
            fitted.predict(FRAME[["mass", "eggs"]])


VERBS = {
    "mutual_information": lambda posterior, X, y: nb.mutual_information(posterior, num_draws=50),
    "feature_evidence": lambda posterior, X, y: nb.feature_evidence(posterior),
    "weights": lambda posterior, X, y: nb.weight_features(posterior, X, y).weights,
    "explain": lambda posterior, X, y: posterior.explain(X.iloc[[0]]).iloc[1:],
    "inclusion_probability": lambda posterior, X, y: (
        nb.fit(nb.NaiveBayes(nb.Gaussian(), feature_inclusion=0.5), X, y).inclusion_probability
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_columns_whose_names_are_tuples_are_rows_of_results(verb):
    names = [("bill", 1), ("bill", 2), ("wing", 1)]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=pd.MultiIndex.from_tuples(names))
    y = np.arange(30) % 2
    found = VERBS[verb](nb.fit(nb.Gaussian(), X, y), X, y)
    assert found.index.tolist() == names
    assert found.index.name == "feature"
    assert "('wing', 1)" in repr(nb.weight_features(nb.fit(nb.Gaussian(), X, y), X, y))
