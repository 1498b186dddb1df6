"""Columns by name: those that a model does not use are ignored; arrays get names; the label's column is named."""

import warnings

import dask.array as dask_array
import numpy as np
import numpyro
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import bayesnb as nb
from bayesnb import estimators
from bayesnb.estimators import GaussianNB, NaiveBayesClassifier

FRAME = pd.DataFrame(
    {
        "mass": [1.0, 2.0, 4.0, 5.5, 3.0, 2.5, 4.5, 1.5],
        "kind": ["a", "b", "b", "a", "a", "b", "a", "b"],
        "island": ["x", "y", "y", None, "x", "y", "x", "y"],
        "eggs": [0, 3, 2, 1, 1, 0, 2, 2],
    }
)
X, Y = FRAME.drop(columns="kind"), FRAME["kind"]
MODEL = nb.NaiveBayes({"mass": nb.Gaussian(), "island": nb.Categorical(), "eggs": nb.Poisson()})
NUMBERS = nb.NaiveBayes({"mass": nb.Gaussian(), "eggs": nb.Poisson()})
WIDER = X.assign(note="?", when=pd.Timestamp("2020-01-01"))[["when", "eggs", "note", "island", "mass"]]
"""The columns of X in another order, with others that no model uses."""

KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
WORDS = np.array([[0, 1, 0, 2], [1, 0, 0, 1], [0, 0, 3, 1], [2, 1, 1, 0], [0, 1, 0, 1], [1, 0, 2, 0]])
NAMES = np.array(["awful", "bad", "good", "great"])
MOOD = ["up", "up", "down", "down", "up", "down"]
NAMED = pd.DataFrame(WORDS, columns=NAMES)
SHOWN = [f"x_prob[{c}, {name}]" for c in ("down", "up") for name in NAMES]


@pytest.fixture(scope="module")
def fitted():
    return nb.fit(MODEL, X, Y)


def assert_same(found, expected, rtol=1e-12):
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=rtol)


class TestColumnsThatTheModelDoesNotUse:
    @pytest.mark.parametrize("kind", KINDS)
    def test_are_ignored_in_predictions(self, fitted, kind):
        wider = KINDS[kind](WIDER)
        np.testing.assert_array_equal(fitted.predict_proba(wider), fitted.predict_proba(X))
        numbers = nb.fit(nb.Gaussian(), X[["mass", "eggs"]], Y)
        np.testing.assert_array_equal(numbers.predict_proba(wider), numbers.predict_proba(X[["mass", "eggs"]]))

    def test_are_ignored_by_update_and_forget(self, fitted):
        updated = fitted.update(WIDER, Y)
        assert_same(updated, nb.fit(MODEL, pd.concat([X, X]), [*Y, *Y]))
        assert_same(updated.forget(WIDER, Y), fitted, rtol=1e-9)

    def test_are_ignored_by_fits_of_a_bound_model_and_by_batches(self, fitted):
        assert_same(nb.fit(fitted.model, WIDER, Y), nb.fit(fitted.model, X, Y))
        for model in (fitted.model, MODEL):
            assert_same(nb.fit_batches(model, [(X[:3], Y[:3]), (WIDER[3:], Y[3:])]), nb.fit(model, X, Y), rtol=1e-7)

    def test_are_ignored_in_parquet(self, fitted, tmp_path):
        """Also where a bound model counts columns: the positions are those of the first table, and not of the file."""
        counted = nb.fit(nb.NaiveBayes({"sizes": (nb.Gaussian(), slice(1, 3))}), X[["island", "mass", "eggs"]], Y)
        WIDER.assign(label=Y).to_parquet(tmp_path / "wider.parquet")
        X.assign(label=Y).to_parquet(tmp_path / "same.parquet")
        for model in (fitted.model, counted.model):
            found = nb.fit_parquet(model, [tmp_path / "wider.parquet", tmp_path / "same.parquet"], "label")
            assert_same(found, nb.fit(model, pd.concat([X, X]), [*Y, *Y]))
        X.drop(columns="eggs").assign(label=Y).to_parquet(tmp_path / "fewer.parquet")
        with pytest.raises(ValueError, match="fewer\\.parquet has no column 'eggs', which the model names"):
            nb.fit_parquet(fitted.model, tmp_path / "fewer.parquet", "label")

    def test_are_ignored_in_dask_frames(self, fitted):
        dd = pytest.importorskip("dask.dataframe")
        parts, labels = (dd.from_pandas(data, npartitions=2) for data in (WIDER, Y))
        found = fitted.predict_proba(parts).compute().iloc[:, len(WIDER.columns) :]
        np.testing.assert_array_equal(found, fitted.predict_proba(X))
        assert_same(nb.fit(fitted.model, parts, labels), nb.fit(fitted.model, X, Y))
        with pytest.raises(ValueError, match="column 'eggs' is missing in X, which has 'when', 'note'"):
            nb.fit(fitted.model, parts.drop(columns="eggs"), labels)

    def test_are_ignored_by_the_general_classifier(self):
        for model in (None, MODEL):
            classifier = NaiveBayesClassifier(model).fit(X, Y)
            for kind in KINDS.values():
                found = classifier.predict_proba(kind(WIDER[["when", "mass", "island", "note", "eggs"]]))
                np.testing.assert_array_equal(found, classifier.predict_proba(X))
            for kind in KINDS.values():  # WIDER has the columns in another order
                np.testing.assert_array_equal(classifier.predict_proba(kind(WIDER)), classifier.predict_proba(X))
            plain = NaiveBayesClassifier(model, feature_weights=None).fit(X, Y)
            before = plain.predict_joint_log_proba(X)
            plain.partial_fit(WIDER, Y).forget(WIDER, Y)
            np.testing.assert_allclose(plain.predict_joint_log_proba(X), before, rtol=1e-9)
            assert plain.explain(WIDER[:1]).equals(plain.explain(X[:1]))
            with pytest.raises(ValueError, match="yet now missing:\n- eggs"):
                classifier.predict(WIDER.drop(columns="eggs"))
        with pytest.raises(ValueError, match="unseen at fit time:\n- eggs"):  # scikit-learn's rule
            GaussianNB().fit(X[["mass"]], Y).predict(X[["mass", "eggs"]])


class TestNamesOfArrays:
    @pytest.mark.parametrize(
        "table", [sp.csr_array(WORDS), WORDS, WORDS.tolist(), NAMED], ids=lambda t: type(t).__name__
    )
    @pytest.mark.parametrize("names", [NAMES, list(NAMES), pd.Index(NAMES)], ids=lambda n: type(n).__name__)
    def test_are_those_of_results(self, table, names):
        posterior = nb.fit(nb.Multinomial(), table, MOOD, feature_names=names)
        assert list(posterior.summary().index[2:]) == SHOWN
        assert list(nb.mutual_information(posterior).index) == list(NAMES)
        assert {type(name) for name in posterior.model.schema.columns} == {str}
        expected = nb.fit(nb.Multinomial(), WORDS, MOOD).predict_proba(WORDS)
        for rows in (sp.csr_array(WORDS), WORDS, NAMED, NAMED[NAMES[::-1]]):
            np.testing.assert_allclose(posterior.predict_proba(rows), expected, rtol=1e-12)

    def test_stay_in_updates_files_and_bound_models(self, tmp_path):
        pytest.importorskip("h5netcdf")
        posterior = nb.fit(nb.Multinomial(), WORDS, MOOD, feature_names=NAMES).update(WORDS, MOOD)
        posterior.save(tmp_path / "words.nc")
        loaded = nb.load(tmp_path / "words.nc")
        assert list(posterior.summary().index[2:]) == list(loaded.summary().index[2:]) == SHOWN
        backwards = pd.DataFrame(WORDS, columns=NAMES[::-1])
        again = nb.fit(loaded.model, WORDS, MOOD, feature_names=NAMES[::-1])
        np.testing.assert_array_equal(
            again.predict_proba(NAMED), nb.fit(loaded.model, backwards, MOOD).predict_proba(NAMED)
        )
        bound = nb.fit(nb.Multinomial(), WORDS, MOOD).model
        assert nb.fit(bound.description, WORDS, MOOD, feature_names=NAMES).model.schema.named

    def test_are_taken_with_batches_dask_and_samples(self):
        expected = nb.fit(nb.Multinomial(), WORDS, MOOD)
        batches = [(WORDS[:2], MOOD[:2]), (WORDS[2:], MOOD[2:])]
        draws = expected.draws(num_chains=1, num_draws=2)
        given = nb.from_samples(nb.Multinomial(), draws, X=WORDS, y=MOOD, feature_names=NAMES)
        assert given.model.schema.columns == tuple(NAMES)
        da = pytest.importorskip("dask.array")
        parts, labels = da.from_array(WORDS, chunks=(2, 4)), da.from_array(np.array(MOOD), chunks=2)
        for posterior in (
            nb.fit_batches(nb.Multinomial(), batches, feature_names=NAMES),
            nb.fit(nb.Multinomial(), parts, labels, feature_names=NAMES),
        ):
            assert list(posterior.summary().index[2:]) == SHOWN
            for rows in (WORDS, parts):
                proba = np.asarray(posterior.predict_proba(rows))
                np.testing.assert_allclose(proba, expected.predict_proba(WORDS), rtol=1e-12)

    @pytest.mark.parametrize("name", [name for name in estimators.__all__ if name[0].isupper()])
    def test_are_taken_by_estimators(self, name):
        make = getattr(estimators, name)
        general = name == "NaiveBayesClassifier"
        estimator, plain = (make(nb.Poisson()) if general else make() for _ in range(2))
        table = WORDS + np.linspace(0, 1, WORDS.size).reshape(WORDS.shape) if name == "GaussianNB" else WORDS
        estimator.fit(table, MOOD, feature_names=NAMES)
        assert not hasattr(estimator, "feature_names_in_")
        np.testing.assert_array_equal(estimator.predict_proba(table), plain.fit(table, MOOD).predict_proba(table))
        estimator.partial_fit(table, MOOD).partial_fit(table, MOOD, feature_names=NAMES)
        assert estimator.posterior_.model.schema.columns == tuple(NAMES)
        with pytest.raises(ValueError, match=r"feature_names has 'great', .* and the first batch had 'awful'"):
            estimator.partial_fit(table, MOOD, feature_names=NAMES[::-1])


class TestLabelsColumn:
    """By its name it is the same as the column beside the table without it, in every verb that takes labels."""

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("model", [NUMBERS, nb.Gaussian(), nb.NaiveBayes({"both": (nb.Gaussian(), slice(0, 2))})])
    def test_is_no_feature(self, kind, model):
        frame, rows = FRAME[["mass", "kind", "eggs"]], X[["mass", "eggs"]]
        found, expected = nb.fit(model, KINDS[kind](frame), "kind"), nb.fit(model, rows, Y)
        assert found.model.schema.columns == ("mass", "eggs")
        assert found.classes.tolist() == ["a", "b"]
        for table in (rows, KINDS[kind](frame)):
            np.testing.assert_array_equal(found.predict_proba(table), expected.predict_proba(rows))

    def test_of_batches_partitions_and_sparse_frames(self, fitted):
        dd = pytest.importorskip("dask.dataframe")
        assert_same(nb.fit_batches(MODEL, [(FRAME[:3], "kind"), (FRAME[3:], "kind")]), fitted)
        parts = dd.from_pandas(FRAME, npartitions=3)
        assert_same(nb.fit(MODEL, parts, "kind"), fitted)
        with pytest.raises(ValueError, match=r"'kinds', which is not a column of X \(did you mean 'kind'\?\)"):
            nb.fit(MODEL, parts, "kinds")
        sparse = pd.DataFrame(np.eye(4, 4) + np.eye(4, k=1), columns=list("abcd")).astype(pd.SparseDtype(float, 0.0))
        expected = nb.fit(nb.Bernoulli(), sparse[["a", "b", "c"]], sparse["d"].to_numpy())
        np.testing.assert_array_equal(
            nb.fit(nb.Bernoulli(), sparse, "d").predict_proba(sparse), expected.predict_proba(sparse)
        )

    def test_of_update_forget_bind_statistics_and_samples(self, fitted):
        updated = fitted.update(FRAME, "kind")
        assert_same(updated, nb.fit(MODEL, pd.concat([X, X]), [*Y, *Y]))
        assert_same(updated.forget(FRAME, "kind"), fitted, rtol=1e-9)
        bound = MODEL.bind(FRAME, "kind")
        assert bound.schema.columns == ("mass", "island", "eggs")
        assert bound.statistics(FRAME, "kind").classes.n.tolist() == [4, 4]
        draws = fitted.draws(num_chains=1, num_draws=3)
        assert_same(nb.from_samples(MODEL, draws, X=FRAME, y="kind"), nb.from_samples(MODEL, draws, X=X, y=Y))

    def test_of_leave_one_out(self, fitted):
        folds = np.arange(len(X)) % 2
        draws = nb.from_samples(MODEL, fitted.draws(num_chains=2, num_draws=50, key=0), X=X, y=Y)
        with warnings.catch_warnings(action="ignore"):  # eight rows give a large Pareto k
            for score in (
                lambda table, y: nb.loo(fitted, table, y).elpd,
                lambda table, y: nb.loo_scores(fitted, table, y).to_numpy().tolist(),
                lambda table, y: nb.kfold(fitted, table, y, folds=folds).elpd,
                lambda table, y: nb.loo(draws, table, y).elpd,
            ):
                assert score(FRAME, "kind") == score(X, Y)

    def test_of_checks_and_comparisons(self, fitted):
        def largest(table, labels):
            assert list(table.columns) == ["mass", "island", "eggs"]
            return float(np.max(table["mass"][np.asarray(labels) == "a"]))

        models = {"counts": MODEL, "numbers": nb.NaiveBayes({"mass": nb.Gaussian()})}
        score = nb.estimators.mutual_information_score
        for frame in (
            lambda *rows: nb.check(fitted, *rows, statistics=[largest], num_replicates=5, key=0).table,
            lambda *rows: nb.calibration(fitted, *rows).table,
            lambda *rows: nb.compare_models(models, *rows).table,
            lambda *rows: pd.DataFrame(score(*rows, model=MODEL)),
        ):
            pd.testing.assert_frame_equal(frame(FRAME, "kind"), frame(X, Y))

    def test_of_simulation_based_calibration_and_programs(self):
        model, cells = nb.NaiveBayes({"eggs": nb.Poisson(1.0, 1.0)}), {"num_simulations": 20, "num_rows": 5}
        found = nb.sbc(model, X=FRAME, y="kind", progress=False, **cells)
        pd.testing.assert_frame_equal(found.pit, nb.sbc(model, X=X, y=Y, progress=False, **cells).pit)
        given = {"class_prob": np.array([0.5, 0.5]), "eggs_rate": np.array([1.0, 2.0])}
        for described in (model, model.bind(FRAME, "kind")):
            with numpyro.handlers.substitute(data=given), numpyro.handlers.trace() as trace:
                described.program(FRAME, "kind")
            assert trace["y"]["value"].tolist() == [0, 1, 1, 0, 0, 1, 0, 1]

    def test_of_plots(self, fitted):
        pytest.importorskip("matplotlib")
        for draw in (nb.plot_densities, nb.plot_log_odds, nb.plot_proba):
            assert len(draw(fitted, FRAME, "kind").axes) == len(draw(fitted, X, Y).axes)
            with pytest.raises(ValueError, match="'sort', which is not a column"):
                draw(fitted, FRAME, "sort")


class TestOneClass:
    """A warning that names the class; every prediction is that class."""

    ROWS, ALONE = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]), ["alone"] * 3

    def test_is_warned_of_by_every_fit(self, tmp_path):
        frame = pd.DataFrame(self.ROWS, columns=["u", "v"]).assign(y=self.ALONE)
        frame.to_parquet(tmp_path / "one.parquet")
        for fit in (
            lambda: nb.fit(nb.Gaussian(), self.ROWS, self.ALONE),
            lambda: nb.fit(nb.Gaussian(), frame, "y"),
            lambda: nb.fit_batches(nb.Gaussian(), [(self.ROWS, self.ALONE), (self.ROWS, self.ALONE)]),
            lambda: nb.fit_parquet(nb.Gaussian(), tmp_path / "one.parquet", "y"),
            lambda: GaussianNB().fit(self.ROWS, self.ALONE),
        ):
            words = r"y has one class only, 'alone', so.*classes=\['alone', \.\.\.\]"
            with pytest.warns(UserWarning, match=words) as told:
                fitted = fit()
            assert len(told) == 1
            assert fitted.predict(self.ROWS).tolist() == self.ALONE
            np.testing.assert_array_equal(fitted.predict_proba(self.ROWS), np.ones((3, 1)))

    @pytest.mark.filterwarnings("error")
    def test_is_not_warned_of_where_classes_are_named(self):
        alone = nb.fit(nb.Gaussian(), self.ROWS, self.ALONE, classes=["alone"])
        alone.update(self.ROWS, self.ALONE).forget(self.ROWS, self.ALONE)
        both = nb.fit(nb.Gaussian(), self.ROWS, self.ALONE, classes=["alone", "absent"])
        assert both.predict_proba(self.ROWS).shape == (3, 2)


ROWS = np.random.default_rng(0).normal(size=(60, 2))
MEASUREMENTS = {
    "fractions": (ROWS[:, 0], "60 numbers with fractions in 60 rows"),
    "fractions that repeat": (np.arange(60) % 3 / 2, "3 numbers with fractions in 60 rows"),
    "numbers": (np.arange(60) * 7, "60 values in 60 rows"),
    "names": (np.array([f"row {i // 2 * 2 if i > 40 else i}" for i in range(60)]), "50 values in 60 rows"),
}


class TestMeasurementsAsLabels:
    """A warning, where the estimators raise scikit-learn's error or give its warning; rows that repeat get none."""

    @pytest.mark.parametrize("case", MEASUREMENTS)
    @pytest.mark.parametrize("way", ["fit", "batches", "parquet", "dask", "kfold", "weights", "features", "compare"])
    def test_are_warned_of_by_every_fit(self, case, way, tmp_path):
        X, (y, words), half = ROWS, MEASUREMENTS[case], nb.NaiveBayes(nb.Gaussian(), feature_inclusion=0.5)
        if way == "parquet":
            pd.DataFrame(X, columns=["u", "v"]).assign(y=y).to_parquet(tmp_path / "rows.parquet")
        collections = [dask_array.from_array(part, chunks=(30, 2)[: part.ndim]) for part in (X, y)]
        fits = {
            "fit": lambda: nb.fit(nb.Gaussian(), X, y),
            "batches": lambda: nb.fit_batches(nb.Gaussian(), [(X[:20], y[:20]), (X[20:], y[20:])]),
            "parquet": lambda: nb.fit_parquet(nb.Gaussian(), tmp_path, "y"),
            "dask": lambda: nb.fit(nb.Gaussian(), *collections),
            "kfold": lambda: nb.kfold(nb.Gaussian(), X, y, k=2),
            "weights": lambda: nb.weight_features(nb.Gaussian(), X, y, shared=True),
            "features": lambda: nb.select_features(nb.Gaussian(), X, y),
            "compare": lambda: nb.compare_models({"one": nb.Gaussian(), "half": half}, X, y),
        }
        with pytest.warns(UserWarning, match=rf"y holds {words}, .*intervals.*name them, classes=\[\.\.\.\]"):
            fits[way]()

    @pytest.mark.filterwarnings("error")
    def test_are_not_warned_of_where_they_repeat_are_few_or_named(self):
        for y, options in (
            (np.arange(60) % 30, {}),
            (np.arange(60) % 3 * 1.0, {}),
            (ROWS[:, 0], {"classes": sorted(ROWS[:, 0])}),
        ):
            nb.fit(nb.Gaussian(), ROWS, y, **options)
        nb.fit(nb.Gaussian(), ROWS[:20], np.arange(20))


def test_columns_whose_names_are_tuples_are_rows_of_results():
    names = [("bill", 1), ("bill", 2), ("wing", 1)]
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=pd.MultiIndex.from_tuples(names))
    y = np.arange(30) % 2
    posterior = nb.fit(nb.Gaussian(), table, y)
    averaged = nb.fit(nb.NaiveBayes(nb.Gaussian(), feature_inclusion=0.5), table, y)
    for found in (
        nb.mutual_information(posterior, num_draws=50),
        nb.feature_evidence(posterior),
        nb.weight_features(posterior, table, y).weights,
        posterior.explain(table.iloc[[0]]).iloc[1:],
        averaged.inclusion_probability,
    ):
        assert found.index.tolist() == names
        assert found.index.name == "feature"


WRONG_NAMES = [
    (NAMES[:3], ValueError, "feature_names has 3 names and X has 4 columns: give one name for each column"),
    ([*NAMES, "more"], ValueError, "feature_names has 5 names and X has 4 columns"),
    ([*NAMES[:3], "good"], ValueError, "column 'good' occurs twice in feature_names"),
    ("awful", TypeError, "feature_names is 'awful': give a name for each column"),
    (7, TypeError, "feature_names is 7: give a name for each column"),
    (NAMES[:, None], TypeError, r"(?s)feature_names is .* give a name for each column"),
]
WIDE = pd.DataFrame(np.eye(8, 40), columns=[f"word{j:02}" for j in range(40)])
NEGATIVE = np.where(np.arange(WORDS.size).reshape(WORDS.shape) == 10, -1, WORDS)
LACKING, RENAMED = WIDER.drop(columns="eggs"), X.rename(columns={"island": "iland"})
HOLED, ONE = FRAME.assign(kind=Y.where(FRAME.index != 3, None)), X[:1]
BY_KIND, LISTED = (
    nb.NaiveBayes({"kind": nb.Categorical()}),
    nb.NaiveBayes({"all": (nb.Categorical(), ["mass", "kind"])}),
)
NAMING = [
    lambda names: nb.fit(nb.Multinomial(), WORDS, MOOD, feature_names=names),
    lambda names: nb.fit_batches(nb.Multinomial(), [(WORDS, MOOD)], feature_names=names),
    lambda names: estimators.MultinomialNB().fit(WORDS, MOOD, feature_names=names),
]


def naming(table, model=None, names=NAMES):
    return nb.fit(model or nb.Multinomial(), table, MOOD, feature_names=names)


ERRORS = {
    "column 'good', row 2: -1 is not a count": [lambda fitted: naming(NEGATIVE)],
    "feature_names has 'great' where X has the column 'awful': leave": [
        lambda fitted: naming(NAMED, names=NAMES[::-1])
    ],
    r"a table without names: fit model\.description": [
        lambda fitted: naming(WORDS, nb.fit(nb.Poisson(), WORDS, MOOD).model)
    ],
    r"column 'god' is not in X.*mean 'good'\?": [lambda fitted: naming(WORDS, nb.NaiveBayes({"god": nb.Poisson()}))],
    r"'1', which the table lacks .*mean 1\?": [lambda fitted: nb.NaiveBayes.from_frame(WORDS, MOOD, exclude=["1"])],
    "X has 3 columns, the model was fitted to 4": [lambda fitted: naming(WORDS).predict(np.ones((1, 3)))],
    "X has 5 columns, the model was fitted to 3": [lambda fitted: fitted.predict(WIDER.to_numpy())],
    "column .eggs. is missing in X.*which has 'when', 'note': rename or": [
        lambda fitted: fitted.predict(LACKING),
        lambda fitted: fitted.update(LACKING, Y),
        lambda fitted: fitted.forget(LACKING, Y),
        lambda fitted: nb.fit(fitted.model, LACKING, Y),
    ],
    r"'island' is missing .*mean 'iland'\?\), which has 'iland'": [lambda fitted: fitted.predict(RENAMED)],
    "'word03', .*'word07' and 32 more are missing": [
        lambda fitted: nb.fit(nb.Bernoulli(), WIDE, Y).predict(WIDE.iloc[:, :3])
    ],
    "y is 'a', which is not a column of X.*'mass', 'island', 'eggs', or give a label": [
        lambda fitted: nb.fit(MODEL, ONE, "a"),
        lambda fitted: fitted.update(ONE, "a"),
        lambda fitted: nb.loo(fitted, ONE, "a"),
        lambda fitted: nb.check(fitted, ONE, "a"),
        lambda fitted: nb.calibration(fitted, ONE, "a"),
    ],
    r"column 'kind' holds the labels.*exclude=\['kind'\]": [
        lambda fitted: nb.fit(BY_KIND, FRAME, "kind"),
        lambda fitted: BY_KIND.bind(FRAME, "kind"),
        lambda fitted: LISTED.bind(FRAME, "kind"),
        lambda fitted: nb.fit_batches(BY_KIND, [(FRAME, "kind")]),
    ],
    "row 3": [lambda fitted: fitted.update(HOLED, "kind")],
    "batch 1: y is 'sort', which is": [
        lambda fitted: nb.fit_batches(MODEL, [(FRAME[:3], "kind"), (FRAME[3:], "sort")])
    ],
    "column 'mass' occurs twice": [lambda fitted: nb.fit(MODEL, pd.concat([FRAME, X], axis=1), "kind")],
    "X has no columns": [lambda fitted: nb.fit(MODEL, FRAME[["kind"]], "kind")],
}
TYPE_ERRORS = {
    "y is the text 'a'.*the columns of X have no names: give a label for": [
        lambda fitted: nb.fit(MODEL, ONE.to_numpy(), "a"),
        lambda fitted: fitted.update(ONE.to_numpy(), "a"),
    ],
    "y is the text b'a': give a value for each row": [lambda fitted: nb.fit(MODEL, ONE, b"a")],
    "lazy table, whose rows are needed in memory: X.collect": [
        lambda fitted: nb.choose_families(pl.from_pandas(FRAME).lazy(), "kind")
    ],
}
CALLS = [(call, ValueError, words) for words, calls in ERRORS.items() for call in calls]
CALLS += [(call, TypeError, words) for words, calls in TYPE_ERRORS.items() for call in calls]
CALLS += [(lambda fitted, fit=fit, names=names: fit(names), *rest) for fit in NAMING for names, *rest in WRONG_NAMES]


@pytest.mark.parametrize(("call", "error", "words"), CALLS)
def test_errors_name_the_column_and_the_way_out(fitted, call, error, words):
    with pytest.raises(error, match=words):
        call(fitted)
