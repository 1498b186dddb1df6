import os
import threading
import time
import warnings
from pathlib import Path

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars as pl
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesnb as nb
from bayesnb.estimators import GaussianNB, NaiveBayesClassifier
from bayesnb.families.moments import Moments
from bayesnb.inference import sources as counting
from bayesnb.inference.sources import read_dask, sample_dask
from bayesnb.model.bound import OpenSchema

MODEL = nb.NaiveBayes(
    {
        "mass": nb.Gaussian(),
        "island": nb.Categorical(),
        "size": nb.Categorical(concentration=0.5),
        "flag": nb.Bernoulli(),
        "eggs": nb.Poisson(),
        "words": (nb.Multinomial(), ["the", "of"]),
        "marks": (nb.DirichletMultinomial(), ["dot", "dash"]),
    }
)
CONJUGATE = nb.NaiveBayes({name: value for name, value in MODEL.features.items() if name != "marks"})
CLASSES = ["a", "b", "c", "d"]
CATEGORIES = {"island": ("x", "y", "z"), "size": (1, 2, 5, 9)}


def table(num_rows=401, seed=7):
    """Rows with holes, sorted by label and island, so that most partitions lack classes and categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "mass": rng.normal(20.0, 2.0, num_rows),
            "unused": rng.normal(size=num_rows),
            "island": rng.choice(["z", "x", "y"], num_rows),
            "size": rng.choice([9, 1, 5, 2], num_rows),
            "flag": rng.integers(0, 2, num_rows),
            "eggs": rng.poisson(3.0, num_rows),
            "the": rng.poisson(1.0, num_rows),
            "of": rng.poisson(2.0, num_rows),
            "dot": rng.poisson(4.0, num_rows),
            "dash": rng.poisson(9.0, num_rows),
            "label": rng.choice(CLASSES, num_rows),
            "weight": rng.integers(0, 4, num_rows) / 2,
        }
    )
    X = X.sort_values(["label", "island"], ignore_index=True)
    X["flag"] = X["flag"].astype(float)
    X.loc[rng.random(num_rows) < 0.1, "mass"] = np.nan
    X.loc[rng.random(num_rows) < 0.1, "flag"] = np.nan
    X.loc[rng.random(num_rows) < 0.1, "island"] = None
    return X.drop(columns=["label", "weight"]), X["label"], X["weight"]


X, Y, WEIGHT = table()


def partitioned(data, npartitions=9):
    return dd.from_pandas(data, npartitions=npartitions, sort=False)


def in_batches(size=45, weights=False):
    for start in range(0, len(X), size):
        rows = slice(start, start + size)
        yield (X[rows], Y[rows], WEIGHT[rows]) if weights else (X[rows], Y[rows])


def assert_same_statistics(one, other):
    """Counts exactly, sums of rounded terms to 1e-12."""
    assert len(one.blocks) == len(other.blocks)
    for mine, theirs in zip((one.classes, *one.blocks), (other.classes, *other.blocks), strict=True):
        assert type(mine) is type(theirs)
        for name, value in vars(mine).items():
            expected = getattr(theirs, name)
            if name == "log_base" or isinstance(mine, Moments):
                np.testing.assert_allclose(value, expected, rtol=1e-12)
            else:
                for leaf, wanted in zip(jax.tree.leaves(value), jax.tree.leaves(expected), strict=True):
                    np.testing.assert_array_equal(leaf, wanted)


def assert_same(posterior, expected, rows=None):
    assert type(posterior) is type(expected)
    mine, theirs = posterior.model.schema, expected.model.schema
    assert (mine.columns, mine.named, mine.categories) == (theirs.columns, theirs.named, theirs.categories)
    np.testing.assert_array_equal(mine.classes, theirs.classes)
    assert_same_statistics(posterior.problem.statistics, expected.problem.statistics)
    if rows is not None:
        np.testing.assert_allclose(posterior.predict_log_proba(rows), expected.predict_log_proba(rows), rtol=1e-12)


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes of one thread each."""
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.admin.system-monitor.gil.enabled": False}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local) as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def no_stray_client():
    """A test without the cluster runs in threads, even while the cluster waits for others."""
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture
def on_cluster(cluster):
    with dask.config.set(scheduler=cluster):
        yield cluster


@pytest.fixture(scope="module")
def expected():
    return nb.fit(CONJUGATE, X, Y)


class TestDaskFrames:
    @pytest.mark.parametrize("npartitions", [1, 2, 9, pytest.param(64, marks=pytest.mark.slow)])
    def test_fit_equals_the_fit_in_memory(self, npartitions, expected):
        posterior = nb.fit(CONJUGATE, partitioned(X, npartitions), partitioned(Y, npartitions))
        assert_same(posterior, expected, X)
        assert posterior.log_evidence == pytest.approx(expected.log_evidence, rel=1e-12)

    def test_statistics_of_count_vectors_that_learn_their_spread(self):
        problem = read_dask(MODEL, partitioned(X), partitioned(Y), partitioned(WEIGHT), None, lambda problem: None)
        assert_same_statistics(problem.statistics, MODEL.bind(X, Y).statistics(X, Y, sample_weight=WEIGHT))

    def test_weights(self):
        posterior = nb.fit(CONJUGATE, partitioned(X), partitioned(Y), sample_weight=partitioned(WEIGHT))
        assert_same(posterior, nb.fit(CONJUGATE, X, Y, sample_weight=WEIGHT), X)

    def test_empty_partitions(self, expected):
        frame, labels = partitioned(X.assign(keep=np.arange(len(X)) < 150), 12), partitioned(Y, 12)
        kept = frame["keep"]
        frame = frame[kept].drop(columns="keep")
        assert (frame.map_partitions(len).compute() == 0).any()
        assert_same(nb.fit(CONJUGATE, frame, labels[kept]), nb.fit(CONJUGATE, X[:150], Y[:150]), X)

    def test_a_frame_with_a_labels_column(self, expected):
        whole = partitioned(X.assign(label=Y))
        assert_same(nb.fit(CONJUGATE, whole[list(X.columns)], whole["label"]), expected)

    def test_pandas_categories_keep_their_order_and_those_without_a_row(self):
        kind = pd.CategoricalDtype(["z", "nowhere", "y", "x"])
        frame = X.assign(island=X["island"].astype(kind))
        posterior = nb.fit(CONJUGATE, partitioned(frame), partitioned(Y))
        assert posterior.model.schema.categories[2] == ("z", "nowhere", "y", "x")
        assert_same(posterior, nb.fit(CONJUGATE, frame, Y), frame)

    def test_classes_and_categories_that_are_declared_are_not_looked_for(self, monkeypatch):
        features = {**CONJUGATE.features}
        for name, categories in CATEGORIES.items():
            features[name] = nb.Categorical(categories=[*categories, "more"])
        model = nb.NaiveBayes(features)
        in_memory = nb.fit(model, X, Y, classes=[*CLASSES, "e"])
        monkeypatch.setattr(OpenSchema, "find", None)
        posterior = nb.fit(model, partitioned(X), partitioned(Y), classes=[*CLASSES, "e"])
        assert_same(posterior, in_memory, X)
        assert_same(nb.fit(in_memory.model, partitioned(X), partitioned(Y)), in_memory)

    def test_a_bound_model_with_other_classes(self):
        bound = nb.NaiveBayes({"mass": nb.Gaussian()}).bind(X, Y)
        classes = [*CLASSES, "e"][::-1]
        posterior = nb.fit(bound, partitioned(X), partitioned(Y), classes=classes)
        assert_same(posterior, nb.fit(bound, X, Y, classes=classes), X)

    def test_only_the_columns_of_the_model_are_read(self, monkeypatch):
        read = []
        count, find = counting.count, OpenSchema.find
        monkeypatch.setattr(
            counting,
            "count",
            lambda model, batch: read.append([*batch.rows.table.names]) or count(model, batch),
        )
        monkeypatch.setattr(
            OpenSchema, "find", lambda schema, rows, **_: read.append([*rows.table.names]) or find(schema, rows)
        )
        model = nb.NaiveBayes({"size": nb.Categorical(), "mass": nb.Gaussian()})
        posterior = nb.fit(model, partitioned(X, 2), partitioned(Y, 2))
        assert read == [["size"], ["size"], ["mass", "size"], ["mass", "size"]]
        assert_same(posterior, nb.fit(model, X, Y), X)

    def test_labels_named_like_a_feature_are_warned_of(self):
        with pytest.warns(UserWarning, match="labels are named 'size'"):
            nb.fit(CONJUGATE, partitioned(X), partitioned(X["size"]))

    def test_unseen_categories_are_warned_of_once_with_their_total(self):
        model = nb.NaiveBayes({"size": nb.Categorical(categories=[1, 5])})
        number = int(X["size"].isin([2, 9]).sum())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            posterior = nb.fit(model, partitioned(X), partitioned(Y))
        assert [str(w.message).split(" hold")[0] for w in caught] == [f"column 'size': {number} cell(s)"]
        with pytest.warns(UserWarning, match=f"{number} cell"):
            assert_same(posterior, nb.fit(model, X, Y))


class TestDaskArrays:
    FLAGS = np.random.default_rng(3).integers(0, 2, (50, 6)).astype(float)
    LABELS = np.sort(np.random.default_rng(4).integers(0, 5, 50))

    @pytest.mark.parametrize("chunks", [(50, 6), (7, 6), (7, 2), (1, 4)])
    def test_fit_and_predict_equal_those_in_memory(self, chunks):
        rows, labels = da.from_array(self.FLAGS, chunks=chunks), da.from_array(self.LABELS, chunks=chunks[0])
        expected = nb.fit(nb.Bernoulli(), self.FLAGS, self.LABELS)
        posterior = nb.fit(nb.Bernoulli(), rows, labels)
        assert_same(posterior, expected, self.FLAGS)
        for method in ("predict", "predict_proba", "predict_log_proba", "log_joint"):
            lazy, wanted = getattr(posterior, method)(rows), getattr(expected, method)(self.FLAGS)
            assert isinstance(lazy, da.Array)
            assert (lazy.shape, lazy.dtype, lazy.chunks[0]) == (wanted.shape, wanted.dtype, labels.chunks[0])
            np.testing.assert_allclose(lazy.compute(), wanted, rtol=1e-12)

    def test_unknown_chunk_sizes(self):
        keep = self.FLAGS[:, 0] == 1
        rows, labels = da.from_array(self.FLAGS, chunks=(7, 6)), da.from_array(self.LABELS, chunks=7)
        lazy_keep = da.from_array(keep, chunks=7)
        posterior = nb.fit(nb.Bernoulli(), rows[lazy_keep], labels[lazy_keep])
        expected = nb.fit(nb.Bernoulli(), self.FLAGS[keep], self.LABELS[keep])
        assert_same(posterior, expected, self.FLAGS)
        lazy = posterior.predict_proba(rows[lazy_keep])
        assert np.isnan(lazy.shape[0])
        np.testing.assert_allclose(lazy.compute(), expected.predict_proba(self.FLAGS[keep]), rtol=1e-12)

    def test_unknown_chunk_sizes_that_do_not_match(self):
        rows, labels = da.from_array(self.FLAGS, chunks=(7, 6)), da.from_array(self.LABELS, chunks=7)
        with pytest.raises(ValueError, match=r"partition \d: y has \d labels, X has 7 rows"):
            nb.fit(nb.Bernoulli(), rows, labels[da.from_array(self.LABELS > 0, chunks=7)])

    def test_labels_of_different_types_by_partition(self):
        labels = np.array([1, 2, "a", "b"] * 3, dtype=object)
        rows = np.eye(12)
        posterior = nb.fit(nb.Bernoulli(), da.from_array(rows, chunks=(5, 12)), da.from_array(labels, chunks=5))
        assert_same(posterior, nb.fit(nb.Bernoulli(), rows, labels.tolist()), rows)


class TestSample:
    """Weights of features, and families of a classifier, from rows drawn while a Dask table is read."""

    @pytest.mark.parametrize("weighted", [False, True])
    def test_weights_are_those_of_the_same_rows_in_memory(self, weighted, monkeypatch):
        monkeypatch.setattr(counting, "SAMPLE", 150)
        posterior = nb.fit(CONJUGATE, X, Y, sample_weight=WEIGHT if weighted else None)
        weight = partitioned(pd.Series(WEIGHT)) if weighted else None
        rows, labels, weights = sample_dask(partitioned(X), partitioned(Y), weight, 3)
        assert len(rows) == len(labels) == 150
        np.testing.assert_array_equal(Y[rows.index], labels)
        if weighted:
            np.testing.assert_array_equal(WEIGHT[rows.index], weights)
        found = nb.weight_features(posterior, partitioned(X), partitioned(Y), sample_weight=weight, key=3)
        expected = nb.weight_features(posterior, rows, labels, sample_weight=weights, key=3)
        pd.testing.assert_frame_equal(found.weights, expected.weights)
        assert found.feature_weights.num_rows == 150
        other = nb.weight_features(posterior, partitioned(X), partitioned(Y), sample_weight=weight, key=4)
        assert (other.weights["mean"] != found.weights["mean"]).any()

    def test_each_row_is_drawn_as_often_and_once(self, monkeypatch):
        monkeypatch.setattr(counting, "SAMPLE", 30)
        frame = partitioned(pd.DataFrame({"place": np.arange(100), "label": 0}), 3)
        with dask.config.set(scheduler="synchronous"):
            drawn = [sample_dask(frame[["place"]], frame["label"], None, key)[0]["place"] for key in range(200)]
        assert all(rows.is_unique and len(rows) == 30 for rows in drawn)
        times = np.bincount(np.concatenate(drawn), minlength=100)
        # Each count is binomial of 200 and 0.3: mean 60, standard deviation 6.5.
        assert times.min() > 30
        assert times.max() < 90
        assert times.var() == pytest.approx(42, rel=0.6)

    def test_a_classifier_of_a_small_table_is_that_of_the_table_in_memory(self):
        frame = X.assign(label=Y)
        found = NaiveBayesClassifier().fit(partitioned(frame), "label")
        expected = NaiveBayesClassifier().fit(X, Y)
        pd.testing.assert_frame_equal(found.weights_, expected.weights_)
        np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
        np.testing.assert_array_equal(found.feature_names_in_, X.columns)
        assert found.classes_.tolist() == expected.classes_.tolist()

    @pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), GaussianNB()])
    def test_an_estimator_reads_the_columns_of_a_dask_table_by_name(self, estimator, rng):
        rows = pd.DataFrame(rng.normal(size=(60, 2)), columns=["u", "v"])
        rows["v"] += 5
        labels = np.where(rows["u"] > 0, "a", "b")
        frame = partitioned(rows, 3)
        found = estimator.fit(frame, partitioned(pd.Series(labels), 3))
        assert found.feature_names_in_.tolist() == ["u", "v"]
        np.testing.assert_array_equal(found.predict_proba(frame), found.predict_proba(rows))
        np.testing.assert_array_equal(found.predict_interval(frame), found.predict_interval(rows))
        with pytest.raises(ValueError, match="must be in the same order"):
            found.predict_proba(frame[["v", "u"]])

    def test_a_classifier_ignores_new_columns_of_a_dask_table(self):
        frame = partitioned(X.assign(label=Y))
        found = NaiveBayesClassifier().fit(frame, "label")
        np.testing.assert_array_equal(found.predict_proba(frame), found.predict_proba(X))

    def test_a_classifier_counts_all_rows_and_chooses_by_some(self, rng, monkeypatch):
        monkeypatch.setattr(counting, "SAMPLE", 200)
        cells, labels = np.exp(rng.normal(size=(2000, 2))), rng.integers(0, 2, 2000)
        blocks = da.from_array(cells, chunks=(300, 2)), da.from_array(labels, chunks=300)
        found = NaiveBayesClassifier(random_state=1).fit(*blocks, feature_names=["u", "v"])
        assert found.class_count_.tolist() == np.bincount(labels).tolist()
        assert found.posterior_.feature_weights.num_rows == 200
        assert list(found.weights_.index) == ["u", "v"]
        in_memory = nb.fit(found.posterior_.model.description, cells, labels, feature_names=["u", "v"])
        np.testing.assert_allclose(found.posterior_.unweighted.log_joint(cells), in_memory.log_joint(cells), rtol=1e-9)
        again = NaiveBayesClassifier(random_state=1).fit(*blocks, feature_names=["u", "v"])
        pd.testing.assert_frame_equal(again.weights_, found.weights_)

    def test_cells_that_a_chosen_family_cannot_hold_count_as_missing(self, rng, monkeypatch):
        monkeypatch.setattr(counting, "SAMPLE", 400)
        cells, labels = np.exp(rng.normal(size=(4000, 1))), rng.integers(0, 2, 4000)
        cells[7] = -1.0  # not in the sample
        blocks = da.from_array(cells, chunks=(1000, 1)), da.from_array(labels, chunks=1000)
        with pytest.warns(UserWarning, match="cells outside the support of families that were chosen"):
            found = NaiveBayesClassifier().fit(*blocks)
        assert found.class_count_.sum() == 4000

    def test_bins_are_those_of_the_sample(self, rng, monkeypatch):
        monkeypatch.setattr(counting, "SAMPLE", 500)
        cells, labels = rng.normal(size=(900, 1)), rng.integers(0, 2, 900)
        blocks = da.from_array(cells, chunks=(400, 1)), da.from_array(labels, chunks=400)
        found = NaiveBayesClassifier(nb.Histogram(), feature_weights=None).fit(*blocks)
        rows, known, _ = sample_dask(*blocks, None, 0)
        edges = NaiveBayesClassifier(nb.Histogram(), feature_weights=None).fit(rows, known).model_.families[0].edges
        np.testing.assert_array_equal(found.model_.families[0].edges, edges)

    @pytest.mark.parametrize(
        ("options", "labels", "told"),
        [
            ({"unlabelled": "a"}, Y, "classes holds 'a', which marks rows without a label"),
            ({}, Y[:300], "Y has 9 partitions|divisions of X and y differ"),
            ({"feature_weights": "all"}, Y, 'give "auto", "each", "shared" or None'),
        ],
    )
    def test_what_is_refused(self, options, labels, told):
        with pytest.raises(ValueError, match=told):
            NaiveBayesClassifier(**options).fit(partitioned(X), partitioned(pd.Series(labels)))


class TestPrediction:
    def test_frames(self, expected):
        frame = partitioned(X)
        with warnings.catch_warnings():
            lazy = expected.predict_proba(frame)
        assert isinstance(lazy, da.Array)
        assert lazy.numblocks[0] == frame.npartitions
        np.testing.assert_allclose(lazy.compute(), expected.predict_proba(X), rtol=1e-12)
        labels = expected.predict(frame, confidence=0.4, abstain="?")
        np.testing.assert_array_equal(labels.compute(), expected.predict(X, confidence=0.4, abstain="?"))
        loss = pd.DataFrame(1 - np.eye(4), index=CLASSES, columns=CLASSES)
        np.testing.assert_array_equal(expected.predict(frame, loss=loss).compute(), expected.predict(X))

    def test_nothing_is_computed_before_it_is_asked_for(self, expected):
        calls = []

        def note(piece):
            calls.append(len(piece))
            return piece

        lazy = expected.predict_proba(partitioned(X, 4).map_partitions(note, meta=X.iloc[:0]))
        assert calls == []
        lazy.blocks[0].compute()
        assert len(calls) == 1

    def test_a_frame_without_a_column_is_refused_at_once(self, expected):
        with pytest.raises(ValueError, match="column 'mass' is missing"):
            expected.predict(partitioned(X.drop(columns="mass")))

    def test_other_methods_refuse(self, expected):
        for call in (
            lambda: expected.update(partitioned(X), partitioned(Y)),
            lambda: expected.proba_draws(da.from_array(np.eye(3))),
            lambda: nb.loo(expected, partitioned(X), partitioned(Y)),
        ):
            with pytest.raises(TypeError, match=r"Dask collection.*compute"):
                call()

    def test_every_kind_of_posterior(self):
        rows, labels = TestDaskArrays.FLAGS, TestDaskArrays.LABELS
        lazy = da.from_array(rows, chunks=(13, 6))
        for model, inference in (
            (nb.NaiveBayes(nb.Bernoulli()), nb.MAP()),
            (nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.5), nb.Exact()),
        ):
            posterior = nb.fit(model, rows, labels, inference)
            np.testing.assert_allclose(
                posterior.predict_proba(lazy).compute(), posterior.predict_proba(rows), rtol=1e-12
            )


class TestBatches:
    def test_a_list_a_callable_and_an_iterator(self, expected):
        assert_same(nb.fit_batches(CONJUGATE, list(in_batches())), expected, X)
        assert_same(nb.fit_batches(CONJUGATE, in_batches), expected, X)
        posterior = nb.fit_batches(CONJUGATE, in_batches(), classes=CLASSES)
        np.testing.assert_allclose(posterior.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
        assert posterior.log_evidence == pytest.approx(expected.log_evidence, rel=1e-12)

    def test_an_iterator_meets_categories_one_by_one(self):
        cells = [["b"], ["a"], ["b"], ["c"], [None], ["a"]]
        batches = ((cells[i : i + 1], [i % 2]) for i in range(6))
        model = nb.NaiveBayes({0: nb.Categorical(concentration=dist.Gamma(2.0, 1.0))})
        posterior = nb.fit_batches(model, batches, nb.EmpiricalBayes(), classes=[0, 1])
        assert posterior.model.schema.categories == {0: ("b", "a", "c")}
        expected = nb.fit(model, np.array(cells, dtype=object), [i % 2 for i in range(6)], nb.EmpiricalBayes())
        assert posterior.log_evidence == pytest.approx(expected.log_evidence, rel=1e-9)
        np.testing.assert_allclose(posterior.predict_proba(cells), expected.predict_proba(cells), rtol=1e-6)

    def test_number_of_readings(self):
        calls = []

        def read():
            calls.append(1)
            return in_batches()

        nb.fit_batches(CONJUGATE, read)
        assert len(calls) == 2
        nb.fit_batches(nb.NaiveBayes({"mass": nb.Gaussian(), "flag": nb.Bernoulli()}), read, classes=CLASSES)
        assert len(calls) == 3

    def test_weights_and_empty_batches(self):
        batches = [(X[:0], Y[:0], WEIGHT[:0]), *in_batches(weights=True), (X[:0], Y[:0])]
        assert_same(nb.fit_batches(CONJUGATE, batches), nb.fit(CONJUGATE, X, Y, sample_weight=WEIGHT), X)

    def test_an_iterator_that_begins_without_rows(self, expected):
        batches = iter([(X[:0], Y[:0]), (X, Y)])
        assert_same(nb.fit_batches(CONJUGATE, batches, classes=CLASSES), expected)

    def test_other_kinds_of_tables(self, expected):
        frames = [(pl.from_pandas(rows), pl.from_pandas(labels)) for rows, labels in in_batches()]
        assert_same(nb.fit_batches(CONJUGATE, frames), expected)
        arrow = [(pa.Table.from_pandas(rows), pa.array(labels)) for rows, labels in in_batches()]
        assert_same(nb.fit_batches(CONJUGATE, arrow), expected)

    def test_a_memory_mapped_array(self, tmp_path):
        rows, labels = TestDaskArrays.FLAGS, TestDaskArrays.LABELS
        np.save(tmp_path / "rows.npy", rows)
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        batches = ((mapped[i : i + 7], labels[i : i + 7]) for i in range(0, 50, 7))
        assert_same(nb.fit_batches(nb.Bernoulli(), batches, classes=5), nb.fit(nb.Bernoulli(), rows, labels), rows)

    def test_pandas_categories_that_differ_by_batch(self):
        first, second = (pd.DataFrame({"c": pd.Categorical(list(values))}) for values in ("ba", "cb"))
        posterior = nb.fit_batches(nb.Categorical(), [(first, [0, 1]), (second, [0, 1])])
        assert posterior.model.schema.categories == {0: ("a", "b", "c")}
        mixed = nb.fit_batches(nb.Categorical(), [(first, [0, 1]), (pd.DataFrame({"c": ["0", "b"]}), [0, 1])])
        assert mixed.model.schema.categories == {0: ("0", "a", "b")}

    @pytest.mark.parametrize("inference", [nb.Exact(), nb.MAP(), nb.MLE()], ids=["Exact", "MAP", "MLE"])
    def test_inferences(self, inference):
        model = nb.NaiveBayes({"mass": nb.Gaussian(), "size": nb.Categorical()})
        assert_same(nb.fit_batches(model, in_batches, inference), nb.fit(model, X, Y, inference), X)

    @pytest.mark.slow
    def test_nuts_draws_what_it_draws_in_memory(self):
        rows, labels = TestDaskArrays.FLAGS[:, :3], TestDaskArrays.LABELS > 2
        nuts = nb.NUTS(num_samples=500, progress=False)
        expected = nb.fit(nb.Bernoulli(), rows, labels, nuts, key=3)
        batches = [(rows[:20], labels[:20]), (rows[20:], labels[20:])]
        posterior = nb.fit_batches(nb.Bernoulli(), batches, nuts, key=3)
        # Counts are exact, and so are draws given counts.
        np.testing.assert_array_equal(posterior.draws()["x_prob"], expected.draws()["x_prob"])
        lazy = posterior.predict_proba(da.from_array(rows, chunks=13))
        np.testing.assert_allclose(lazy.compute(), expected.predict_proba(rows), rtol=1e-12)

    def test_progress(self, capsys):
        nb.fit_batches(CONJUGATE, in_batches, progress=True)
        shown = capsys.readouterr().err
        assert "categories: 401row" in shown
        assert "statistics: 401row" in shown
        nb.fit_batches(CONJUGATE, in_batches, progress=False)
        assert capsys.readouterr().err == ""


def write(path, frame=None, **options):
    frame = X.assign(label=Y, weight=WEIGHT) if frame is None else frame
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=70, **options)
    return path


class TestParquet:
    @pytest.mark.parametrize("batch_rows", [None, pytest.param(1, marks=pytest.mark.slow), 33, 10_000])
    def test_equals_the_fit_in_memory(self, tmp_path, batch_rows, expected):
        path = write(tmp_path / "t.parquet")
        columns = list(X.columns)
        posterior = nb.fit_parquet(CONJUGATE, path, "label", columns=columns, batch_rows=batch_rows)
        assert_same(posterior, expected, X)
        posterior = nb.fit_parquet(CONJUGATE, str(path), "label", sample_weight="weight", batch_rows=batch_rows)
        assert_same(posterior, nb.fit(CONJUGATE, X, Y, sample_weight=WEIGHT), X)

    def test_several_files_and_a_folder(self, tmp_path, expected):
        frame = X.assign(label=Y)
        paths = [write(tmp_path / "a.parquet", frame[:100]), write(tmp_path / "b.parquet", frame[100:].iloc[:, ::-1])]
        assert_same(nb.fit_parquet(CONJUGATE, paths, "label"), expected, X)
        assert_same(nb.fit_parquet(CONJUGATE, tmp_path, "label"), expected, X)

    def test_dictionary_columns(self, tmp_path):
        frame = X.assign(island=X["island"].astype("category"), label=Y.astype("category"))
        path = write(tmp_path / "t.parquet", frame)
        assert pa.types.is_dictionary(pq.read_schema(path).field("island").type)
        in_memory = nb.fit(CONJUGATE, frame.drop(columns="label"), Y)
        posterior = nb.fit_parquet(CONJUGATE, path, "label", batch_rows=11)
        assert set(posterior.model.schema.categories[2]) == {"x", "y", "z"}
        np.testing.assert_allclose(posterior.predict_proba(X), in_memory.predict_proba(X), rtol=1e-12)
        assert posterior.log_evidence == pytest.approx(in_memory.log_evidence, rel=1e-12)

    def test_a_dictionary_target(self, tmp_path, expected):
        path = write(tmp_path / "t.parquet", X.assign(label=Y.astype("category")))
        assert_same(nb.fit_parquet(CONJUGATE, path, "label"), expected)

    def test_what_is_declared_is_read_once_and_only_the_columns_of_the_model(self, tmp_path, monkeypatch):
        path = write(tmp_path / "t.parquet")
        read = []
        iterate = pq.ParquetFile.iter_batches

        def note(self, *args, columns, **options):
            read.append(columns)
            return iterate(self, *args, columns=columns, **options)

        monkeypatch.setattr(pq.ParquetFile, "iter_batches", note)
        model = nb.NaiveBayes({"eggs": nb.Poisson(), "size": nb.Categorical()})
        nb.fit_parquet(model, path, "label")
        assert read == [["size", "label"], ["size", "eggs", "label"]]
        read.clear()
        model = nb.NaiveBayes({"eggs": nb.Poisson(), "size": nb.Categorical(categories=CATEGORIES["size"])})
        posterior = nb.fit_parquet(model, path, "label", classes=CLASSES, sample_weight="weight")
        assert read == [["size", "eggs", "label", "weight"]]
        assert posterior.model.schema.columns == tuple(X.columns)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "group_rows", [pytest.param(2**15, marks=pytest.mark.slow), 2**19], ids=["many row groups", "one row group"]
    )
    def test_memory_is_that_of_a_batch(self, tmp_path, group_rows, monkeypatch):
        cells = np.random.default_rng(0).normal(size=(2**19, 4))
        columns = {f"m{j}": cells[:, j] for j in range(4)}
        frame = pa.table({**columns, "label": cells[:, 0] > 0})
        path = tmp_path / "t.parquet"
        pq.write_table(frame, path, row_group_size=group_rows, compression="none", use_dictionary=False)
        allocated = []
        count = counting.count_and_grow

        def note(*arguments):
            allocated.append(pa.default_memory_pool().bytes_allocated())
            return count(*arguments)

        monkeypatch.setattr(counting, "count_and_grow", note)
        before = pa.default_memory_pool().bytes_allocated()
        posterior = nb.fit_parquet(nb.Gaussian(), path, "label", batch_rows=2**13)
        assert 2**18 < max(allocated) - before < 2**22 < path.stat().st_size / 4
        assert_same_statistics(
            posterior.problem.statistics, nb.fit(nb.Gaussian(), cells, cells[:, 0] > 0).problem.statistics
        )

    def test_progress(self, tmp_path, capsys):
        nb.fit_parquet(CONJUGATE, write(tmp_path / "t.parquet"), "label", progress=True)
        shown = capsys.readouterr().err
        assert "categories: 100%" in shown
        assert "statistics: 100%" in shown


class TestBadInput:
    def refused(self, call, *words, error=(TypeError, ValueError)):
        with pytest.raises(error) as excinfo:
            call()
        for word in words:
            assert word in str(excinfo.value)

    def test_one_of_the_data_is_not_dask(self):
        frame, labels = partitioned(X), partitioned(Y)
        self.refused(lambda: nb.fit(CONJUGATE, frame, Y), "X is a Dask DataFrame", "y a Series")
        self.refused(lambda: nb.fit(CONJUGATE, frame, None), "y a NoneType")
        self.refused(lambda: nb.fit(CONJUGATE, X, labels), "y is a Dask Series", "X a DataFrame", "y.compute()")
        self.refused(lambda: nb.fit(CONJUGATE, frame, labels, sample_weight=WEIGHT), "sample_weight a Series")
        self.refused(lambda: nb.fit(CONJUGATE, frame, dask.delayed(Y)), "y a Delayed")
        self.refused(lambda: nb.fit(CONJUGATE, dask.delayed(X), labels), "X is a Dask Delayed")

    def test_partitions_differ(self):
        frame = partitioned(X, 4)
        self.refused(lambda: nb.fit(CONJUGATE, frame, partitioned(Y, 5)), "X has 4 partitions", "y has 5")
        self.refused(
            lambda: nb.fit(CONJUGATE, frame, partitioned(Y, 4), sample_weight=partitioned(WEIGHT, 3)),
            "sample_weight has 3",
        )
        shifted = dd.concat([partitioned(Y[:10], 1), partitioned(Y[10:], 3)])
        self.refused(lambda: nb.fit(CONJUGATE, frame, shifted), "divisions", "repartition")
        rows = da.ones((10, 2), chunks=(5, 2))
        labels = da.from_array(np.arange(10) % 2, chunks=((4, 6),))
        self.refused(lambda: nb.fit(nb.Bernoulli(), rows, labels), ": y has", "X has 5 rows")

    def test_shapes(self):
        rows, labels = da.ones((10, 2), chunks=5), da.from_array(np.arange(10) % 2, chunks=5)
        self.refused(lambda: nb.fit(nb.Bernoulli(), rows, labels[:, None]), "y has 2 dimensions")
        self.refused(lambda: nb.fit(nb.Bernoulli(), labels, labels), "X has 1 dimension")
        self.refused(lambda: nb.fit(nb.Gaussian(), partitioned(X)["mass"], partitioned(Y)), "X has 1 dimension")

    def test_no_rows(self):
        frame = partitioned(X)
        nobody = frame["mass"] < 0
        self.refused(lambda: nb.fit(CONJUGATE, frame[nobody], partitioned(Y)[nobody]), "no rows")
        model = nb.NaiveBayes({"mass": nb.Gaussian()})
        self.refused(lambda: nb.fit(model, frame[nobody], partitioned(Y)[nobody], classes=CLASSES), "no rows")

    def test_errors_name_the_partition(self):
        labels = Y.copy()
        labels[200] = None
        self.refused(lambda: nb.fit(CONJUGATE, partitioned(X, 4), partitioned(labels, 4)), "partition 1", "missing")
        wrong = X.assign(eggs=X["eggs"].where(X.index != 300, -1))
        self.refused(
            lambda: nb.fit(CONJUGATE, partitioned(wrong, 4), partitioned(Y, 4)), "partition 2", "'eggs'", "-1 is not"
        )
        self.refused(lambda: nb.fit(CONJUGATE, partitioned(X, 4), partitioned(Y, 4), classes=["a", "b"]), "'c'")

    def test_an_inference_that_cannot_is_refused_before_the_rows_are_read(self):
        def never(piece):
            raise AssertionError

        lazy = partitioned(X).map_partitions(never, meta=X.iloc[:0])
        model = nb.NaiveBayes({"words": (nb.DirichletMultinomial(), ["dot", "dash"])})
        self.refused(lambda: nb.fit(model, lazy, partitioned(Y), classes=CLASSES), "no closed-form", error=ValueError)
        self.refused(lambda: nb.fit(model, lazy, partitioned(Y), nb.NUTS), "give an instance", error=TypeError)

        def one_and_no_more():
            yield X[:5], Y[:5]
            raise AssertionError

        self.refused(lambda: nb.fit_batches(model, one_and_no_more(), classes=CLASSES), "no closed-form")

    def test_batches(self):
        first, second = (X[:50], Y[:50]), (X[50:], Y[50:])
        self.refused(lambda: nb.fit_batches(CONJUGATE, 3), "batches is 3")
        self.refused(lambda: nb.fit_batches(CONJUGATE, []), "no rows")
        self.refused(lambda: nb.fit_batches(CONJUGATE, [(X[:0], Y[:0])]), "no rows")
        self.refused(lambda: nb.fit_batches(CONJUGATE, X), "batch 0 is a str")
        self.refused(lambda: nb.fit_batches(CONJUGATE, [first, X]), "batch 1 is a DataFrame", "(X, y)")
        self.refused(lambda: nb.fit_batches(CONJUGATE, [first, (X[50:], Y[51:])]), "batch 1: y has 350", "351 rows")
        self.refused(lambda: nb.fit_batches(CONJUGATE, [first, (X[:0], Y[:2])]), "batch 1: y has 2", "0 rows")
        self.refused(lambda: nb.fit_batches(CONJUGATE, [first, (X[50:], Y[50:], [1.0])]), "batch 1: sample_weight")
        renamed = [first, (X[50:].rename(columns={"mass": "grams"}), Y[50:])]
        for given in (renamed, iter(renamed)):
            self.refused(lambda given=given: nb.fit_batches(CONJUGATE, given, classes=CLASSES), "batch 1", "'grams'")
        fewer = [first, (X[50:].drop(columns="mass"), Y[50:])]
        self.refused(lambda: nb.fit_batches(CONJUGATE, fewer), "batch 1", "'mass' is missing")
        narrow = [(np.eye(3), [0, 1, 0]), (np.eye(2), [0, 1])]
        self.refused(lambda: nb.fit_batches(nb.Bernoulli(), narrow), "batch 1: X has 2 columns", "to 3")
        once = iter([first, second])
        self.refused(lambda: nb.fit_batches(CONJUGATE, lambda: once), "no rows", "second reading")

    def test_an_iterator_without_what_one_reading_cannot_find(self):
        self.refused(lambda: nb.fit_batches(CONJUGATE, in_batches()), "read only once", "classes=", "callable")
        model = nb.NaiveBayes({"island": nb.Categorical(other=True)})
        self.refused(lambda: nb.fit_batches(model, in_batches(), classes=CLASSES), "other=True", "categories=")
        model = nb.NaiveBayes(
            {"island": nb.Categorical(categories=CATEGORIES["island"], other=True), "size": nb.Categorical()}
        )
        posterior = nb.fit_batches(model, in_batches(), classes=CLASSES)
        assert posterior.model.schema.categories[2] == (*CATEGORIES["island"], "<other>")
        # A weight for each of two categories says nothing of a third.
        model = nb.NaiveBayes({"island": nb.Categorical(concentration=[1.0, 2.0])})
        rows = pd.DataFrame({"island": ["x", "y", "z"]})
        batches = iter([(rows[:2], ["a", "b"]), (rows[2:], ["a"])])
        self.refused(lambda: nb.fit_batches(model, batches, classes=["a", "b"]), "batch 1", "concentration")

    def test_parquet(self, tmp_path):
        path = write(tmp_path / "t.parquet")
        text = tmp_path / "text.parquet"
        text.write_text("island,label\nx,a\n" * 10)
        empty = write(tmp_path / "empty.parquet", X[:0].assign(label=Y[:0]))
        other = write(tmp_path / "other.parquet", X.assign(label=Y, weight=1.0, more=1.0))
        fit = nb.fit_parquet
        self.refused(lambda: fit(CONJUGATE, tmp_path / "no.parquet", "label"), "no.parquet", error=FileNotFoundError)
        self.refused(lambda: fit(CONJUGATE, Path(__file__).parent, "label"), "*.parquet", error=FileNotFoundError)
        self.refused(lambda: fit(CONJUGATE, [], "label"), "paths is empty")
        self.refused(lambda: fit(CONJUGATE, text, "label"), "text.parquet is not a Parquet file")
        self.refused(lambda: fit(CONJUGATE, empty, "label"), "empty.parquet holds no rows")
        self.refused(lambda: fit(CONJUGATE, path, "species"), "no column 'species'", "target", "island")
        self.refused(lambda: fit(CONJUGATE, path, "label", sample_weight="w"), "no column 'w'", "sample_weight")
        self.refused(lambda: fit(CONJUGATE, path, "label", columns=["mass", "w"]), "no column 'w'", "columns")
        self.refused(lambda: fit(CONJUGATE, path, "label", columns=["mass", "label"]), "target 'label'")
        self.refused(lambda: fit(CONJUGATE, [path, other], "label"), "other.parquet has the column 'more'")
        self.refused(lambda: fit(CONJUGATE, [other, path], "label"), "t.parquet has no column 'more'")
        self.refused(lambda: fit(nb.NaiveBayes({"tail": nb.Gaussian()}), path, "label"), "'tail' is not in X")
        self.refused(lambda: fit(CONJUGATE, path, "label", batch_rows=0), "batch_rows")
        wrong = write(tmp_path / "w.parquet", X.assign(label=Y, eggs=X["eggs"].where(X.index != 300, -1)))
        self.refused(lambda: fit(CONJUGATE, wrong, "label", batch_rows=70), "w.parquet, from row 280", "row 20", "-1")
        wrong = write(tmp_path / "w.parquet", X.assign(label=Y.where(Y.index != 300, None)))
        self.refused(
            lambda: fit(CONJUGATE, wrong, "label", batch_rows=70), "w.parquet, from row 280", "y is missing in row 20"
        )


def on_workers(graph, keys, **options):
    """A scheduler that sends the graph and brings the results back as a cluster does, within one process."""
    sent = cloudpickle.loads(cloudpickle.dumps(graph))
    return cloudpickle.loads(cloudpickle.dumps(dask.get(sent, keys, **options)))


def test_what_workers_get_and_give_can_be_sent(expected):
    with dask.config.set(scheduler=on_workers):
        frame = partitioned(X)
        posterior = nb.fit(CONJUGATE, frame, partitioned(Y))
        proba = posterior.predict_proba(frame).compute()
        wrong = X.assign(eggs=X["eggs"].where(X.index != 300, -1))
        with pytest.raises(ValueError, match=r"partition 2: column 'eggs', row \d+: -1 is not"):
            nb.fit(CONJUGATE, partitioned(wrong, 4), partitioned(Y, 4))
    assert_same(posterior, expected, X)
    np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=1e-12)


@pytest.mark.slow
class TestCluster:
    def test_fit_and_predict(self, on_cluster, expected):
        frame = partitioned(X)
        posterior = nb.fit(CONJUGATE, frame, partitioned(Y))
        assert_same(posterior, expected, X)
        np.testing.assert_allclose(posterior.predict_proba(frame).compute(), expected.predict_proba(X), rtol=1e-12)

    def test_errors_arrive(self, on_cluster):
        wrong = X.assign(eggs=X["eggs"].where(X.index != 300, -1))
        with pytest.raises(ValueError, match=r"partition 2: column 'eggs', row \d+: -1 is not"):
            nb.fit(CONJUGATE, partitioned(wrong, 4), partitioned(Y, 4))

    def test_a_worker_is_killed_in_the_middle(self, on_cluster, tmp_path):
        marks = tmp_path / "marks"
        marks.mkdir()
        before = set(on_cluster.run(os.getpid).values())
        rows = da.from_array(TestDaskArrays.FLAGS, chunks=(5, 6)).map_blocks(slowly, str(marks), dtype=float)
        killed = threading.Thread(target=kill_one_at_work, args=(marks, before))
        killed.start()
        labels = da.from_array(TestDaskArrays.LABELS, chunks=5)
        posterior = nb.fit(nb.Bernoulli(), rows, labels, classes=5)
        killed.join()
        assert_same(posterior, nb.fit(nb.Bernoulli(), TestDaskArrays.FLAGS, TestDaskArrays.LABELS, classes=5))
        assert len(list(marks.iterdir())) > 10, "no partition was read again: the worker did not die at work"

    @pytest.mark.parametrize("seed", range(5))
    def test_many_tables(self, on_cluster, seed):
        rng = np.random.default_rng(seed)
        rows, labels, weights = table(int(rng.integers(500, 5000)), seed)
        number = int(rng.integers(1, 200))
        expected = nb.fit(CONJUGATE, rows, labels, sample_weight=weights)
        pieces = (partitioned(data, number) for data in (rows, labels, weights))
        frame, lazy_labels, lazy_weights = pieces
        posterior = nb.fit(CONJUGATE, frame, lazy_labels, sample_weight=lazy_weights)
        assert_same(posterior, expected, rows)
        sizes = sorted(rng.integers(0, len(rows), 20).tolist())
        edges = list(zip([0, *sizes], [*sizes, len(rows)], strict=True))
        batches = [(rows[a:b], labels[a:b], weights[a:b]) for a, b in edges]
        assert_same(nb.fit_batches(CONJUGATE, batches), expected, rows)


def slowly(piece, marks):
    """A partition that leaves a mark when its reading begins, with the process that reads it, and takes its time."""
    if piece.size:
        Path(marks, f"{time.time_ns()}-{os.getpid()}").touch()
        time.sleep(0.15)
    return piece


def kill_one_at_work(marks, workers):
    """Kill the process that began the fifth reading."""
    while len(begun := sorted(marks.iterdir())) < 5:
        time.sleep(0.01)
    pid = int(begun[4].name.split("-")[1])
    assert pid in workers
    psutil.Process(pid).kill()
