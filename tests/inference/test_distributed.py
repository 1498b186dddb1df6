"""Rows in pieces give what the whole table gives: batches, Parquet files, Dask arrays and frames."""

import os
import threading
import time
import warnings
from functools import partial
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
from sklearn.base import clone

import bayesnb as nb
from bayesnb.data import dask_table
from bayesnb.data import labels as data_labels
from bayesnb.data.elsewhere import sample_elsewhere
from bayesnb.estimators import GaussianNB, NaiveBayesClassifier
from bayesnb.families.moments import Moments
from bayesnb.inference import sources
from bayesnb.model.open_schema import OpenSchema

CLASSES = ["a", "b", "c", "d"]
CATEGORIES = {"island": ("x", "y", "z"), "size": (1, 2, 5, 9)}
MODEL = nb.NaiveBayes(
    {
        "mass": nb.Gaussian(),
        "island": nb.Categorical(),
        "size": nb.Categorical(concentration=0.5),
        "flag": nb.Bernoulli(),
        "eggs": nb.Poisson(),
        "words": (nb.Multinomial(), ["the", "of"]),
    }
)
DECLARED = nb.NaiveBayes(
    {**MODEL.features, **{name: nb.Categorical(categories=[*known, "more"]) for name, known in CATEGORIES.items()}}
)
SHORT = nb.NaiveBayes({"mass": nb.Gaussian(), "size": nb.Categorical()})
BINS = nb.NaiveBayes(
    {
        "trees": (nb.AllTrees(num_bins=4), ["mass", "island", "eggs"]),
        "given": (nb.Given(), ["size", "dot"]),
        "unused": nb.PolyaTree(),
        "dash": nb.Histogram(),
        "the": nb.Hurdle(nb.Histogram()),
    }
)
MARKS = nb.NaiveBayes({"marks": (nb.DirichletMultinomial(2.0, 1.0), ["dot", "dash"])})


def table(num_rows=401, seed=7):
    """Rows with holes, sorted by label and island, so that most pieces lack classes and categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "mass": rng.normal(20.0, 2.0, num_rows),
            "unused": rng.normal(size=num_rows),
            "island": rng.choice(["z", "x", "y"], num_rows),
            "size": rng.choice([9, 1, 5, 2], num_rows),
            "flag": rng.integers(0, 2, num_rows).astype(float),
            "eggs": rng.poisson(3.0, num_rows),
            "the": rng.poisson(1.0, num_rows),
            "of": rng.poisson(2.0, num_rows),
            "dot": rng.poisson(4.0, num_rows),
            "dash": rng.poisson(9.0, num_rows),
            "label": rng.choice(CLASSES, num_rows),
            "weight": rng.integers(0, 4, num_rows) / 2,
        }
    ).sort_values(["label", "island"], ignore_index=True)
    for name in ("mass", "flag", "island"):
        X.loc[rng.random(num_rows) < 0.1, name] = None
    return X.drop(columns=["label", "weight"]), X["label"], X["weight"]


X, Y, WEIGHT = table()
WRONG = X.assign(eggs=X["eggs"].where(X.index != 300, -1))
FLAGS = np.random.default_rng(3).integers(0, 2, (50, 6)).astype(float)
LABELS = np.sort(np.random.default_rng(4).integers(0, 5, 50))


def partitioned(data, number=9):
    return None if data is None else dd.from_pandas(pd.DataFrame(data) if data.ndim == 2 else pd.Series(data), number)


def in_batches(X=X, y=Y, weight=None, size=45):
    given = (X, y) if weight is None else (X, y, weight)
    for start in range(0, len(X), size):
        yield tuple(part[start : start + size] for part in given)


def write(path, frame=None):
    frame = X.assign(label=Y, weight=WEIGHT) if frame is None else frame
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=70)
    return path


def of_partitions(model, X, y, weight, folder, number=9, **options):
    pieces = (partitioned(part, number) for part in (X, y))
    return nb.fit(model, *pieces, sample_weight=partitioned(weight, number), **options)


def of_batches(model, X, y, weight, folder, **options):
    return nb.fit_batches(model, list(in_batches(X, y, weight)), **options)


def of_files(model, X, y, weight, folder, batch_rows=33, **options):
    """Two files, the columns of the second in another order."""
    frame = X.assign(label=y, weight=1.0 if weight is None else weight)
    write(folder / "a.parquet", frame[:100])
    write(folder / "b.parquet", frame[100:].iloc[:, ::-1])
    return nb.fit_parquet(model, folder, "label", sample_weight="weight", batch_rows=batch_rows, **options)


def of_an_array(model, X, y, weight, folder, chunks=(7, 2), **options):
    rows, labels = da.from_array(X, chunks=chunks), da.from_array(y, chunks=chunks[0])
    return nb.fit(model, rows, labels, **options)


def of_one_partition(*given, **options):
    return of_partitions(*given, number=1, **options)


def of_a_frame_with_labels(model, X, y, weight, folder):
    frame = X.assign(label=y) if weight is None else X.assign(label=y, weight=weight)
    return nb.fit(model, partitioned(frame), "label", sample_weight=None if weight is None else "weight")


def of_partitions_some_empty(model, X, y, weight, folder):
    """Rows of one label: most partitions lose all rows."""
    frame, labels = partitioned(X.assign(kept=Y == "b")), partitioned(y)
    kept = frame["kept"]
    assert (frame[kept].map_partitions(len).compute() == 0).any()
    return nb.fit(model, frame[kept].drop(columns="kept"), labels[kept])


def of_a_callable(model, *given):
    return nb.fit_batches(model, in_batches)


def of_rows_one_by_one(model, X, y, weight, folder):
    return nb.fit_batches(model, lambda: in_batches(X, y, size=1))


def of_an_iterator(model, *given):
    return nb.fit_batches(model, iter([(X[:0], Y[:0]), (X, Y)]), classes=CLASSES)


def of_batches_some_empty(model, *given):
    return nb.fit_batches(model, [(X[:0], Y[:0]), *in_batches(), (X[:0], Y[:0])])


def of_polars_and_pyarrow(model, *given):
    first, *others = in_batches()
    arrow = [(pa.Table.from_pandas(rows), pa.array(labels)) for rows, labels in others]
    return nb.fit_batches(model, [tuple(map(pl.from_pandas, first)), *arrow])


def of_whole_files(*given):
    return of_files(*given, batch_rows=None)


def of_a_mapped_array(model, X, y, weight, folder):
    np.save(folder / "rows.npy", X)
    mapped = np.load(folder / "rows.npy", mmap_mode="r")
    return nb.fit_batches(model, in_batches(mapped, y, size=7), classes=5)


def of_known_rows(model, X, y, weight, folder):
    """Chunks whose sizes Dask does not know."""
    rows, labels = da.from_array(X, chunks=(7, 6)), da.from_array(y, chunks=7)
    kept = da.from_array(X[:, 0] >= 0, chunks=7)
    return nb.fit(model, rows[kept], labels[kept])


BERNOULLI = nb.NaiveBayes(nb.Bernoulli())
MIXED = np.array([1, 2, "a", "b"] * 3, dtype=object)
KIND = pd.CategoricalDtype(["z", "nowhere", "y", "x"])
SOURCES = {"partitions": of_partitions, "batches": of_batches, "files": of_files}
CASES = {
    "plain": (MODEL, X, Y, None, {}),
    "weights": (MODEL, X, Y, WEIGHT, {}),
    "declared": (DECLARED, X, Y, None, {"classes": [*CLASSES, "e"]}),
    "bound, other classes": (SHORT.bind(X, Y), X, Y, None, {"classes": [*CLASSES, "e"][::-1]}),
    "bins": (BINS, X, Y, None, {}),
    "bins, weights": (BINS, X, Y, WEIGHT, {}),
    "bins, classes": (BINS, X, Y, None, {"classes": [*CLASSES, "e"]}),
    "MAP": (SHORT, X, Y, None, {"inference": nb.MAP()}),
    "MLE": (SHORT, X, Y, WEIGHT + 1, {"inference": nb.MLE()}),
    "counts that spread": (MARKS, X, Y, WEIGHT, {"inference": nb.MAP()}),
}
OTHERS = [
    (of_one_partition, MODEL, X, Y),
    (of_a_frame_with_labels, MODEL, X, Y),
    (of_partitions, MODEL, X.assign(island=X["island"].astype(KIND)), Y),
    (of_a_callable, MODEL, X, Y),
    (of_rows_one_by_one, BINS, X[::9], Y[::9]),
    (of_an_iterator, MODEL, X, Y),
    (of_batches_some_empty, MODEL, X, Y),
    (of_polars_and_pyarrow, MODEL, X, Y),
    (of_whole_files, MODEL, X, Y),
    (of_files, MODEL, X, Y.astype("category")),
    (of_an_array, BERNOULLI, FLAGS, LABELS),
    (of_a_mapped_array, BERNOULLI, FLAGS, LABELS),
    (of_known_rows, BERNOULLI, FLAGS, LABELS),
    (of_an_array, BERNOULLI, np.eye(12), MIXED),
]


def assert_same_statistics(one, other):
    """Counts exactly, sums of rounded terms to 1e-12."""
    assert len(one.blocks) == len(other.blocks)
    for mine, theirs in zip((one.classes, *one.blocks), (other.classes, *other.blocks), strict=True):
        assert type(mine) is type(theirs)
        for name, value in vars(mine).items():
            rounded = name == "log_base" or isinstance(mine, Moments)
            for leaf, wanted in zip(jax.tree.leaves(value), jax.tree.leaves(vars(theirs)[name]), strict=True):
                np.testing.assert_allclose(leaf, wanted, rtol=1e-12 * rounded)


def assert_same(posterior, expected, rows):
    assert type(posterior) is type(expected)
    mine, theirs = posterior.model.schema, expected.model.schema
    assert (mine.named, mine.categories, mine.edges) == (theirs.named, theirs.categories, theirs.edges)
    assert [str(name) for name in mine.columns] == [str(name) for name in theirs.columns]
    np.testing.assert_array_equal(mine.classes, theirs.classes)
    assert_same_statistics(posterior.problem.statistics, expected.problem.statistics)
    np.testing.assert_allclose(posterior.predict_log_proba(rows), expected.predict_log_proba(rows), rtol=1e-12)


def new_columns(predicted):
    """What predictions add to a frame of Dask; anything else as it is."""
    if not isinstance(predicted, dd.DataFrame):
        return predicted
    return predicted[[name for name in predicted.columns if name.startswith(("proba_", "prediction"))]].compute()


@pytest.fixture(autouse=True)
def no_stray_client():
    """A test without the cluster runs in threads, even while the cluster waits for others."""
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture(scope="module")
def expected():
    return nb.fit(MODEL, X, Y)


class TestThePiecesAreTheWhole:
    @pytest.mark.slow
    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize("source", SOURCES)
    def test_models_and_inferences(self, source, case, tmp_path):
        model, rows, labels, weight, options = CASES[case]
        posterior = SOURCES[source](model, rows, labels, weight, tmp_path, **options)
        whole = nb.fit(model, rows, labels, sample_weight=weight, **options)
        assert_same(posterior, whole, rows)
        if "inference" not in options:
            assert posterior.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)

    @pytest.mark.parametrize(("source", "model", "rows", "labels"), OTHERS)
    def test_forms(self, source, model, rows, labels, tmp_path):
        whole = nb.fit(model, rows, labels if labels is not MIXED else labels.tolist())
        if source is of_an_iterator:
            whole = nb.fit(model, rows, labels, classes=CLASSES)
        assert_same(source(model, rows, labels, None, tmp_path), whole, rows)

    def test_weights_are_named(self, tmp_path):
        whole = nb.fit(MODEL, X, Y, sample_weight=WEIGHT)
        assert_same(of_a_frame_with_labels(MODEL, X, Y, WEIGHT, tmp_path), whole, X)

    def test_empty_partitions(self, tmp_path):
        posterior = of_partitions_some_empty(MODEL, X, Y, None, tmp_path)
        assert_same(posterior, nb.fit(MODEL, X[Y == "b"], Y[Y == "b"]), X)

    @pytest.mark.filterwarnings("ignore:The inplace keyword")  # within Dask
    @pytest.mark.parametrize(
        ("source", "fit"),
        [
            ("files", "by name"),
            ("row groups", "columns"),
            ("files", "weights"),
            ("divided anew", "by name"),
            ("divided anew", "classifier"),
        ],
    )
    def test_a_folder_of_small_files_is_one_table(self, source, fit, tmp_path):
        """Dask joins small files, fewer of them the more columns it reads."""
        for i in range(9):
            write(tmp_path / f"{i}.parquet", X.assign(label=Y, weight=WEIGHT)[45 * i : 45 * i + 45])
        frame = dd.read_parquet(tmp_path, split_row_groups=source == "row groups")
        frame = frame.repartition(partition_size="20kB") if source == "divided anew" else frame
        names, weight = ["mass", "size"], None if fit in ("by name", "columns") else WEIGHT
        whole = nb.fit(SHORT, X[names], Y, sample_weight=weight)
        if fit == "by name":
            found = nb.fit(SHORT, frame, "label")
        elif fit == "columns":
            found = nb.fit(SHORT, frame[names], frame["label"])
        elif fit == "weights":
            found = nb.fit(SHORT, frame[[*names, "label"]], "label", sample_weight=frame["weight"])
        else:
            plain = NaiveBayesClassifier(SHORT, feature_weights=None)
            found = plain.fit(frame, "label", frame["weight"]).posterior_
        assert_same_statistics(found.problem.statistics, whole.problem.statistics)
        np.testing.assert_allclose(new_columns(found.predict_proba(frame[names])), whole.predict_proba(X), rtol=1e-12)

    def test_dictionaries_in_files(self, tmp_path):
        frame = X.assign(island=X["island"].astype("category"), label=Y)
        path = write(tmp_path / "t.parquet", frame)
        assert pa.types.is_dictionary(pq.read_schema(path).field("island").type)
        posterior, whole = nb.fit_parquet(MODEL, path, "label", batch_rows=11), nb.fit(MODEL, frame, "label")
        assert set(posterior.model.schema.categories[2]) == {"x", "y", "z"}
        np.testing.assert_allclose(posterior.predict_proba(X), whole.predict_proba(X), rtol=1e-12)

    def test_an_iterator_meets_categories_one_by_one(self):
        cells = [["b"], ["a"], ["b"], ["c"], [None], ["a"]]
        model = nb.NaiveBayes({0: nb.Categorical(concentration=dist.Gamma(2.0, 1.0))})
        one_by_one = ((cells[i : i + 1], [i % 2]) for i in range(6))
        posterior = nb.fit_batches(model, one_by_one, nb.EmpiricalBayes(), classes=[0, 1])
        assert posterior.model.schema.categories == {0: ("b", "a", "c")}
        whole = nb.fit(model, np.array(cells, dtype=object), [i % 2 for i in range(6)], nb.EmpiricalBayes())
        assert posterior.log_evidence == pytest.approx(whole.log_evidence, rel=1e-9)
        np.testing.assert_allclose(posterior.predict_proba(cells), whole.predict_proba(cells), rtol=1e-6)

    def test_pandas_categories_that_differ_by_batch(self):
        first, second = (pd.DataFrame({"c": pd.Categorical(list(values))}) for values in ("ba", "cb"))
        for then, found in ((second, ("a", "b", "c")), (pd.DataFrame({"c": ["0", "b"]}), ("0", "a", "b"))):
            posterior = nb.fit_batches(nb.Categorical(), [(first, [0, 1]), (then, [0, 1])])
            assert posterior.model.schema.categories == {0: found}


class TestReading:
    def test_what_is_declared_is_not_looked_for(self, tmp_path, monkeypatch):
        whole = nb.fit(DECLARED, X, Y, classes=CLASSES)
        monkeypatch.setattr(OpenSchema, "find", None)
        for source in SOURCES.values():
            assert_same(source(DECLARED, X, Y, None, tmp_path, classes=CLASSES), whole, X)
            assert_same(source(whole.model, X, Y, None, tmp_path), whole, X)

    def test_batches_are_read_as_often_as_needed(self):
        calls = []

        def read():
            calls.append(1)
            return in_batches()

        nb.fit_batches(MODEL, read)
        assert len(calls) == 2
        nb.fit_batches(nb.NaiveBayes({"mass": nb.Gaussian(), "flag": nb.Bernoulli()}), read, classes=CLASSES)
        assert len(calls) == 3

    def test_only_the_columns_of_the_model_are_read_from_partitions(self):
        read = []
        whole = X.assign(label=Y)

        def part(number, columns=tuple(whole.columns)):
            read.append(tuple(columns))
            return whole[list(columns)][number * 200 : number * 200 + 200]

        frame = dd.from_map(part, [0, 1, 2], meta=whole[:0])
        read.clear()
        nb.fit(SHORT, frame, "label")
        assert {*read} == {("size", "label"), ("mass", "size", "label")}

    def test_only_the_columns_of_the_model_are_read_from_files(self, tmp_path, monkeypatch):
        path, read, iterate = write(tmp_path / "t.parquet"), [], pq.ParquetFile.iter_batches

        def note(self, *args, columns, **options):
            read.append(columns)
            return iterate(self, *args, columns=columns, **options)

        monkeypatch.setattr(pq.ParquetFile, "iter_batches", note)
        nb.fit_parquet(nb.NaiveBayes({"eggs": nb.Poisson(), "size": nb.Categorical()}), path, "label", batch_rows=500)
        assert read == [["size", "label"], ["size", "eggs", "label"]]
        read.clear()
        model = nb.NaiveBayes({"eggs": nb.Poisson(), "size": nb.Categorical(categories=CATEGORIES["size"])})
        nb.fit_parquet(model, path, "label", classes=CLASSES, sample_weight="weight", batch_rows=500)
        assert read == [["size", "eggs", "label", "weight"]]

    def test_warnings(self):
        with pytest.warns(UserWarning, match="labels are named 'size'"):
            nb.fit(MODEL, partitioned(X), partitioned(X["size"]))
        number = int(X["size"].isin([2, 9]).sum())
        with warnings.catch_warnings(record=True, action="always") as caught:
            nb.fit(nb.NaiveBayes({"size": nb.Categorical(categories=[1, 5])}), partitioned(X), partitioned(Y))
        assert [str(w.message).split(" hold")[0] for w in caught] == [f"column 'size': {number} cell(s)"]

    def test_progress(self, tmp_path, capsys):
        path = write(tmp_path / "t.parquet")
        for fit, data, shown in (
            (nb.fit_batches, (in_batches,), "401row"),
            (partial(nb.fit_parquet, batch_rows=500), (path, "label"), "100%"),
        ):
            fit(MODEL, *data, progress=True)
            told = capsys.readouterr().err
            assert f"categories: {shown}" in told
            assert f"statistics: {shown}" in told
            fit(MODEL, *data, progress=False)
            assert capsys.readouterr().err == ""

    @pytest.mark.slow
    @pytest.mark.parametrize("group_rows", [2**15, 2**19], ids=["many row groups", "one row group"])
    def test_memory_is_that_of_a_batch(self, tmp_path, group_rows, monkeypatch):
        cells = np.random.default_rng(0).normal(size=(2**19, 4))
        frame = pa.table({**{f"m{j}": cells[:, j] for j in range(4)}, "label": cells[:, 0] > 0})
        path = tmp_path / "t.parquet"
        pq.write_table(frame, path, row_group_size=group_rows, compression="none", use_dictionary=False)
        allocated, count = [], sources.count_and_grow

        def note(*arguments):
            allocated.append(pa.default_memory_pool().bytes_allocated())
            return count(*arguments)

        monkeypatch.setattr(sources, "count_and_grow", note)
        before = pa.default_memory_pool().bytes_allocated()
        posterior = nb.fit_parquet(nb.Gaussian(), path, "label", batch_rows=2**13)
        assert 2**18 < max(allocated) - before < 2**22 < path.stat().st_size / 4
        whole = nb.fit(nb.Gaussian(), cells, cells[:, 0] > 0)
        assert_same_statistics(posterior.problem.statistics, whole.problem.statistics)


class TestSample:
    """Weights of features, and families of a classifier, from rows drawn while a Dask table is read."""

    @pytest.mark.parametrize("weighted", [False, True])
    def test_weights_are_those_of_the_same_rows_in_memory(self, weighted, monkeypatch):
        monkeypatch.setattr(dask_table, "SAMPLE", 150)
        posterior = nb.fit(MODEL, X, Y, sample_weight=WEIGHT if weighted else None)
        weight = partitioned(WEIGHT) if weighted else None
        rows, labels, weights = sample_elsewhere(partitioned(X), partitioned(Y), weight, 3)
        assert len(rows) == len(labels) == 150
        np.testing.assert_array_equal(Y[rows.index], labels)
        assert rows.index.is_monotonic_increasing
        if weighted:
            np.testing.assert_array_equal(WEIGHT[rows.index], weights)
        found, other = (
            nb.weight_features(posterior, partitioned(X), partitioned(Y), sample_weight=weight, key=key)
            for key in (3, 4)
        )
        expected = nb.weight_features(posterior, rows, labels, sample_weight=weights, key=3)
        pd.testing.assert_frame_equal(found.weights, expected.weights)
        of_model = nb.weight_features(MODEL, partitioned(X), partitioned(Y), sample_weight=weight, key=3)
        pd.testing.assert_frame_equal(of_model.weights, found.weights)
        assert found.feature_weights.num_rows == 150
        assert (other.weights["mean"] != found.weights["mean"]).any()

    def test_each_row_is_drawn_as_often_and_once(self, monkeypatch):
        monkeypatch.setattr(dask_table, "SAMPLE", 30)
        frame = partitioned(pd.DataFrame({"place": np.arange(100), "label": 0}), 3)
        with dask.config.set(scheduler="synchronous"):
            drawn = [sample_elsewhere(frame[["place"]], frame["label"], None, key)[0]["place"] for key in range(60)]
        assert all(rows.is_unique and len(rows) == 30 for rows in drawn)
        # Each count is binomial of 60 and 0.3: mean 18, standard deviation 3.5.
        times = np.bincount(np.concatenate(drawn), minlength=100)
        assert np.abs(times - 18).max() < 4.5 * 3.5
        assert times.var() == pytest.approx(12.6, rel=0.6)

    @pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), GaussianNB()])
    @pytest.mark.slow
    def test_an_estimator_of_a_small_table_is_that_of_the_table_in_memory(self, estimator):
        chooses = isinstance(estimator, NaiveBayesClassifier)
        rows = X if chooses else X[["unused", "eggs"]]
        frame, expected = partitioned(rows), clone(estimator).fit(rows, Y)
        found = estimator.fit(*((partitioned(rows.assign(label=Y)), "label") if chooses else (frame, partitioned(Y))))
        np.testing.assert_allclose(found.predict_proba(rows), expected.predict_proba(rows), rtol=1e-9)
        assert found.feature_names_in_.tolist() == rows.columns.tolist()
        assert found.classes_.tolist() == expected.classes_.tolist()
        for method in (found.predict_proba, found.predict_interval):
            np.testing.assert_array_equal(new_columns(method(frame)), method(rows))
        other_order = frame[rows.columns[::-1]]
        if chooses:
            np.testing.assert_array_equal(new_columns(found.predict_proba(other_order)), found.predict_proba(rows))
        else:
            with pytest.raises(ValueError, match="must be in the same order"):
                found.predict_proba(other_order)

    def test_a_classifier_reads_numbers_that_are_written_as_text(self, rng):
        numbers, labels = pd.DataFrame({"u": rng.normal(1e3, 400, 80).round(1)}), rng.choice(["a", "b"], 80)
        text = numbers.assign(u=[f"{u:,.1f} %" for u in numbers["u"]])
        with pytest.warns(UserWarning, match="the model reads as numbers 'u'"):
            found = NaiveBayesClassifier().fit(partitioned(text), partitioned(pd.Series(labels)))
        expected = NaiveBayesClassifier().fit(numbers, labels)
        for table in (text, partitioned(text), numbers):
            np.testing.assert_allclose(
                new_columns(found.predict_proba(table)), expected.predict_proba(numbers), rtol=1e-9
            )

    def test_a_classifier_counts_all_rows_and_chooses_by_some(self, rng, monkeypatch):
        monkeypatch.setattr(dask_table, "SAMPLE", 200)
        cells, labels = np.exp(rng.normal(size=(2000, 2))), rng.integers(0, 2, 2000)
        cells[7, 1] = -1.0  # not in the sample, so that its family cannot hold it
        blocks = da.from_array(cells, chunks=(300, 2)), da.from_array(labels, chunks=300)
        found = NaiveBayesClassifier(random_state=1)
        with pytest.warns(UserWarning, match="cells outside the support of families that were chosen"):
            found.fit(*blocks, feature_names=["u", "v"])
        assert found.class_count_.tolist() == np.bincount(labels).tolist()
        assert found.posterior_.feature_weights.num_rows == 200
        assert list(found.weights_.index) == ["u", "v"]
        cells[7, 1] = np.nan
        in_memory = nb.fit(found.posterior_.model.description, cells, labels, feature_names=["u", "v"])
        np.testing.assert_allclose(found.posterior_.unweighted.log_joint(cells), in_memory.log_joint(cells), rtol=1e-9)

    def test_bins_of_an_estimator_are_those_of_all_rows(self, monkeypatch):
        monkeypatch.setattr(dask_table, "SAMPLE", 60)
        frame = partitioned(X.assign(label=Y))
        found = NaiveBayesClassifier(BINS, feature_weights=None).fit(frame, "label")
        assert_same(found.posterior_, nb.fit(BINS, X, Y), X)


class TestBins:
    """Bins are made of the numbers of all rows, wherever these are."""

    @pytest.mark.parametrize("source", SOURCES)
    def test_of_more_different_numbers_than_are_kept(self, source, tmp_path, monkeypatch):
        """Up to 2 % of the rows move to another bin, and a value of many rows has a cell of its own."""
        cells = np.random.default_rng(5).normal(size=(len(X), 3))
        cells[::3, 2] = 0.25
        rows = pd.DataFrame(cells, columns=list("uvw"))
        model = nb.NaiveBayes({"t": (nb.AllTrees(), ["u", "v"]), "w": nb.PolyaTree()})
        whole = nb.fit(model, rows, Y).model
        monkeypatch.setattr(data_labels, "MOST_NUMBERS", 150)
        found = SOURCES[source](model, rows, Y, None, tmp_path).model
        for position, own in found.schema.edges.items():
            ranks = np.searchsorted(np.sort(cells[:, position]), [own, whole.schema.edges[position]])
            assert ranks.shape == (2, 4)
            assert np.abs(np.diff(ranks, axis=0)).max() <= 0.02 * len(X)
        edges = np.array(found.families[-1].edges)
        np.testing.assert_allclose(edges[[0, -1]], [cells[:, 2].min(), cells[:, 2].max()], atol=0.01)
        own = np.searchsorted(edges, 0.25)
        assert edges[own - 1] < 0.25 < edges[own] < edges[own - 1] + 0.01

    @pytest.mark.parametrize("family", [nb.AllTrees(num_bins=2), nb.Given(num_bins=2)])
    @pytest.mark.parametrize("later", [["x", "y", "x", 7], [7, 2.5, 2, 7]], ids=repr)
    @pytest.mark.parametrize("first", [[None, None], [7, 2], [7.5, None]], ids=repr)
    def test_all_rows_decide_whether_a_column_holds_numbers(self, family, first, later):
        rows = pd.DataFrame({"c": pd.Series([*first, *later], dtype=object), "d": list("pqpqpp")})
        model, y = nb.NaiveBayes({"both": (family, ["c", "d"])}), list("abbaab")
        found = nb.fit_batches(model, [(rows[:2], y[:2]), (rows[2:4], y[2:4]), (rows[4:], y[4:])])
        assert_same(found, nb.fit(model, rows, y), rows)


SIZES = X["size"].where(X.index != 200, 7)
"""With a new category."""
LATER = {
    "frames": (MODEL, X.assign(size=SIZES), Y, WEIGHT, partitioned),
    "categories": (MODEL, X.assign(island=X["island"].astype(KIND), size=SIZES), Y, None, partitioned),
    "arrays": (BERNOULLI, FLAGS, LABELS, None, lambda data: None if data is None else da.from_array(data, chunks=7)),
}


class TestLaterRows:
    @pytest.mark.parametrize("case", LATER)
    def test_update_a_posterior_and_are_forgotten(self, case):
        model, rows, labels, weight, parts = LATER[case]
        posterior = nb.fit(model, rows[:150], labels[:150], classes=sorted({*labels}))
        for method in ("update", "forget"):
            found = getattr(posterior, method)(parts(rows), parts(labels), sample_weight=parts(weight))
            posterior = getattr(posterior, method)(rows, labels, sample_weight=weight)
            assert_same(found, posterior, rows)
        if case == "frames":
            by_name = partitioned(rows.assign(label=labels, weight=weight))
            found = found.update(by_name, "label", sample_weight="weight")
            assert_same(found, posterior.update(rows, labels, sample_weight=weight), rows)

    def test_of_categories_that_dask_does_not_know(self):
        rows = partitioned(X.assign(island=X["island"].astype(KIND)))
        unknown = rows.assign(island=rows["island"].cat.as_unknown())
        found, expected = nb.fit(MODEL, X, Y).update(unknown, partitioned(Y)), nb.fit(MODEL, X, Y).update(X, Y)
        assert_same(found, expected, X)

    @pytest.mark.parametrize("labelled", [False, True], ids=["no labels", "labels"])
    def test_of_another_population_as_an_array(self, rng, labelled):
        """What frames give is among the laws of lazy tables."""
        moved = np.where(rng.random(FLAGS.shape) < 0.7, 1.0, FLAGS)
        posterior, labels = nb.fit(nb.Bernoulli(), FLAGS, LABELS), LABELS if labelled else None
        parts = da.from_array(moved, chunks=(13, 6)), da.from_array(LABELS, chunks=13) if labelled else None
        for compare in (nb.drift, nb.estimate_class_probs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, expected = compare(posterior, *parts), compare(posterior, moved, labels)
            pd.testing.assert_frame_equal(found.table, expected.table, rtol=1e-9)

    @pytest.mark.filterwarnings("ignore:another family may suit")
    def test_choose_a_model(self):
        assert nb.NaiveBayes.from_frame(partitioned(X), partitioned(Y)) == nb.NaiveBayes.from_frame(X, Y)
        assert nb.NaiveBayes.from_frame(partitioned(X)) == nb.NaiveBayes.from_frame(X)


class TestPrediction:
    def test_frames(self, expected):
        frame, read = partitioned(X, 4), []

        def note(piece):
            read.append(len(piece))
            return piece

        lazy = expected.predict_proba(frame.map_partitions(note, meta=X.iloc[:0]))
        assert (lazy.npartitions, read) == (4, [])
        lazy.partitions[0].compute()
        assert len(read) == 1
        np.testing.assert_allclose(new_columns(lazy), expected.predict_proba(X), rtol=1e-12)
        loss = pd.DataFrame(1 - np.eye(4), index=CLASSES, columns=CLASSES)
        for options in ({"confidence": 0.4, "abstain": "?"}, {"loss": loss}):
            found = new_columns(expected.predict(frame, **options))["prediction"]
            np.testing.assert_array_equal(found, expected.predict(X, **options))

    @pytest.mark.parametrize("inclusion", [None, 0.5])
    @pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "log_joint"])
    def test_arrays(self, method, inclusion):
        model = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=inclusion)
        posterior = nb.fit(model, FLAGS, LABELS, nb.Exact() if inclusion else nb.MAP())
        rows = da.from_array(FLAGS, chunks=(13, 6))
        lazy, wanted = getattr(posterior, method)(rows), getattr(posterior, method)(FLAGS)
        assert (lazy.shape, lazy.dtype, lazy.chunks[0]) == (wanted.shape, wanted.dtype, rows.chunks[0])
        same = np.testing.assert_array_equal if method == "predict" else np.testing.assert_allclose
        same(lazy.compute(), wanted)
        unknown = getattr(posterior, method)(rows[rows[:, 0] == 1])
        assert np.isnan(unknown.shape[0])
        same(unknown.compute(), wanted[FLAGS[:, 0] == 1])


def never(piece):
    raise AssertionError


def one_and_no_more():
    yield X[:5], Y[:5]
    raise AssertionError


FRAME, Y_PARTS, NOBODY = partitioned(X, 4), partitioned(Y, 4), partitioned(X, 4)["mass"] < 0
ONES, TEN = da.ones((10, 2), chunks=(5, 2)), da.from_array(np.arange(10) % 2, chunks=5)
FIRST, SECOND = (X[:50], Y[:50]), (X[50:], Y[50:])
RENAMED = [FIRST, (X[50:].rename(columns={"mass": "grams"}), Y[50:])]
ONCE = iter([FIRST, SECOND])
TWO_ROWS = np.eye(2)
SHIFTED = dd.concat([partitioned(Y[:10], 1), partitioned(Y[10:], 3)])
NARROWER = [(np.eye(3), [0, 1, 0]), (np.eye(2), [0, 1])]
OTHER = nb.NaiveBayes({"island": nb.Categorical(other=True)})
TWO_WEIGHTS = nb.NaiveBayes({"island": nb.Categorical(concentration=[1.0, 2.0])})
ISLANDS = pd.DataFrame({"island": ["x", "y", "z"]})
THIRD_ISLAND = [(ISLANDS[:2], ["a", "b"]), (ISLANDS[2:], ["a"])]
UNREAD = FRAME.map_partitions(never, meta=X.iloc[:0])
EXACT = nb.fit(MODEL, X, Y)
REFUSED = [
    (lambda: nb.fit(MODEL, FRAME, Y), "X is a Dask DataFrame and y a Series"),
    (lambda: nb.fit(MODEL, FRAME, None), "y is None, and X is a DataFrame, whose rows are not in memory: name"),
    (lambda: nb.fit(MODEL, X, Y_PARTS), r"y is a Dask Series and X a DataFrame.*y.compute\(\)"),
    (lambda: nb.fit(MODEL, FRAME, Y_PARTS, sample_weight=WEIGHT), "sample_weight a Series"),
    (lambda: nb.fit(MODEL, FRAME, dask.delayed(Y)), "y a Delayed"),
    (lambda: nb.fit(MODEL, dask.delayed(X), Y_PARTS), "X is a Dask Delayed"),
    (lambda: nb.fit(MODEL, FRAME, partitioned(Y, 5)), "X has 4 partitions and y has 5"),
    (lambda: nb.fit(MODEL, FRAME, Y_PARTS, sample_weight=partitioned(WEIGHT, 3)), "sample_weight has 3"),
    (lambda: nb.fit(MODEL, FRAME, SHIFTED), "divisions.*repartition"),
    (lambda: nb.fit(nb.Bernoulli(), ONES, TEN.rechunk(((4, 6),))), r"partition \d: y has \d labels, X has 5 rows"),
    (lambda: nb.fit(nb.Bernoulli(), ONES, TEN[TEN > 0]), r"partition \d: y has \d labels, X has 5 rows"),
    (lambda: nb.fit(nb.Bernoulli(), ONES, TEN[:, None]), "y has 2 dimensions"),
    (lambda: nb.fit(nb.Bernoulli(), TEN, TEN), "X has 1 dimension"),
    (lambda: nb.fit(nb.Gaussian(), FRAME["mass"], Y_PARTS), "X has 1 dimension"),
    (lambda: nb.fit(MODEL, FRAME[NOBODY], Y_PARTS[NOBODY]), "no rows"),
    (lambda: nb.fit(DECLARED, FRAME[NOBODY], Y_PARTS[NOBODY], classes=CLASSES), "no rows"),
    (lambda: nb.fit(MODEL, FRAME, partitioned(Y.where(Y.index != 200, None), 4)), "partition 1.*missing"),
    (lambda: nb.fit(MODEL, partitioned(WRONG, 4), Y_PARTS), "partition 2.*'eggs'.*-1 is not"),
    (lambda: nb.fit(MODEL, FRAME, Y_PARTS, classes=["a", "b"]), "'c'"),
    (lambda: nb.fit(MARKS, UNREAD, Y_PARTS, classes=CLASSES), "no closed-form"),
    (lambda: nb.fit(MARKS, UNREAD, Y_PARTS, nb.NUTS), "give an instance"),
    (lambda: EXACT.predict(FRAME.drop(columns="mass")), "column 'mass' is missing"),
    (lambda: EXACT.update(FRAME, SHIFTED), "divisions|partition"),
    (lambda: EXACT.proba_draws(ONES), "Dask collection.*compute"),
    (lambda: nb.loo(EXACT, FRAME, Y_PARTS), "Dask collection.*compute"),
    (lambda: NaiveBayesClassifier(unlabelled="a").fit(FRAME, Y_PARTS), "classes holds 'a', which marks rows without"),
    (lambda: NaiveBayesClassifier().fit(FRAME, partitioned(Y[:300], 4)), "divisions of X and y differ"),
    (lambda: NaiveBayesClassifier(feature_weights="all").fit(FRAME, Y_PARTS), 'give "auto", "each", "shared" or None'),
    (lambda: nb.fit_batches(MARKS, one_and_no_more(), classes=CLASSES), "no closed-form"),
    (lambda: nb.fit_batches(MODEL, 3), "batches is 3"),
    (lambda: nb.fit_batches(MODEL, []), "no rows"),
    (lambda: nb.fit_batches(MODEL, [(X[:0], Y[:0])]), "no rows"),
    (lambda: nb.fit_batches(MODEL, X), "batch 0 is a str"),
    (lambda: nb.fit_batches(MODEL, [FIRST, X]), r"batch 1 is a DataFrame.*\(X, y\)"),
    (lambda: nb.fit_batches(MODEL, [FIRST, (X[50:], Y[51:])]), "batch 1: y has 350.*351 rows"),
    (lambda: nb.fit_batches(MODEL, [FIRST, (X[:0], Y[:2])]), "batch 1: y has 2.*0 rows"),
    (lambda: nb.fit_batches(MODEL, [FIRST, (X[50:], Y[50:], [1.0])]), "batch 1: sample_weight"),
    (lambda: nb.fit_batches(MODEL, RENAMED, classes=CLASSES), "batch 1.*'grams'"),
    (lambda: nb.fit_batches(MODEL, iter(RENAMED), classes=CLASSES), "batch 1.*'grams'"),
    (lambda: nb.fit_batches(MODEL, [FIRST, (X[50:].drop(columns="mass"), Y[50:])]), "batch 1.*'mass' is missing"),
    (
        lambda: nb.fit(SHORT, partitioned(X.assign(label=Y)), "label", sample_weight="wait"),
        "sample_weight is 'wait', which is not a column of X",
    ),
    (lambda: nb.fit_batches(nb.Bernoulli(), NARROWER), "batch 1: X has 2 columns.*to 3"),
    (lambda: nb.fit_batches(MODEL, lambda: ONCE), "no rows.*second reading"),
    (lambda: nb.fit_batches(MODEL, in_batches()), "read only once.*classes=.*callable"),
    (lambda: nb.fit_batches(OTHER, in_batches(), classes=CLASSES), "other=True.*categories="),
    (
        lambda: nb.fit_batches(BINS, in_batches(), classes=CLASSES),
        r"'mass' are made of all rows: .*model.bind.*callable",
    ),
    (lambda: nb.fit_batches(nb.PolyaTree(), iter([(TWO_ROWS, [0, 1])]), classes=2), "bins of column 0 are made of all"),
    (lambda: nb.fit_batches(TWO_WEIGHTS, iter(THIRD_ISLAND), classes=["a", "b"]), "batch 1.*concentration"),
]


@pytest.mark.parametrize(("call", "told"), REFUSED)
def test_refusals(call, told):
    with pytest.raises((TypeError, ValueError), match=told):
        call()


@pytest.mark.parametrize(
    ("paths", "options", "told"),
    [
        ("no", {}, "no.parquet"),
        ("folder", {}, r"\*.parquet"),
        ([], {}, "paths is empty"),
        ("text", {}, "text.parquet is not a Parquet file"),
        ("empty", {}, "empty.parquet holds no rows"),
        ("good", {"target": "species"}, "no column 'species', which target names.*island"),
        ("good", {"sample_weight": "w"}, "no column 'w', which sample_weight names"),
        ("good", {"columns": ["mass", "w"]}, "no column 'w', which columns names"),
        ("good", {"columns": ["mass", "label"]}, "target 'label'"),
        (["good", "more"], {}, "more.parquet has the column 'more'"),
        (["more", "good"], {}, "good.parquet has no column 'more'"),
        ("good", {"model": nb.NaiveBayes({"tail": nb.Gaussian()})}, "'tail' is not in X"),
        ("good", {"batch_rows": 0}, "batch_rows"),
        ("wrong", {"batch_rows": 70}, "wrong.parquet, from row 280.*row 20.*-1"),
        ("missing", {"batch_rows": 70}, "missing.parquet, from row 280: y is missing in row 20"),
    ],
)
def test_refusals_of_files(paths, options, told, tmp_path):
    good = X.assign(label=Y, weight=WEIGHT)
    missing = good.assign(label=Y.where(Y.index != 300, None))
    frames = {"good": good, "empty": good[:0], "more": good.assign(more=1.0), "wrong": WRONG.assign(label=Y)}
    for name, frame in {**frames, "missing": missing}.items():
        write(tmp_path / f"{name}.parquet", frame)
    (tmp_path / "text.parquet").write_text("island,label\nx,a\n" * 10)
    (tmp_path / "folder.parquet").mkdir()
    named = [tmp_path / f"{name}.parquet" for name in ([paths] if isinstance(paths, str) else paths)]
    with pytest.raises((TypeError, ValueError, FileNotFoundError), match=told):
        nb.fit_parquet(**{"model": MODEL, "paths": named, "target": "label", **options})


def on_workers(graph, keys, **options):
    """A scheduler that sends the graph and brings the results back as a cluster does, within one process."""
    sent = cloudpickle.loads(cloudpickle.dumps(graph))
    return cloudpickle.loads(cloudpickle.dumps(dask.get(sent, keys, **options)))


def test_what_workers_get_and_give_can_be_sent(expected):
    with dask.config.set(scheduler=on_workers):
        posterior = nb.fit(MODEL, FRAME, Y_PARTS)
        proba = new_columns(posterior.predict_proba(FRAME))
        with pytest.raises(ValueError, match=r"partition 2: column 'eggs', row \d+: -1 is not"):
            nb.fit(MODEL, partitioned(WRONG, 4), Y_PARTS)
    assert_same(posterior, expected, X)
    np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=1e-12)


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


@pytest.mark.slow
class TestCluster:
    @pytest.fixture(autouse=True)
    def on_cluster(self, cluster, no_stray_client):
        with dask.config.set(scheduler=cluster):
            yield

    def test_a_worker_is_killed_in_the_middle(self, cluster, tmp_path):
        marks = tmp_path / "marks"
        marks.mkdir()
        before = set(cluster.run(os.getpid).values())
        rows = da.from_array(FLAGS, chunks=(5, 6)).map_blocks(slowly, str(marks), dtype=float)
        killed = threading.Thread(target=kill_one_at_work, args=(marks, before))
        killed.start()
        posterior = nb.fit(nb.Bernoulli(), rows, da.from_array(LABELS, chunks=5), classes=5)
        killed.join()
        assert_same(posterior, nb.fit(nb.Bernoulli(), FLAGS, LABELS, classes=5), FLAGS)
        assert len(list(marks.iterdir())) > 10, "no partition was read again: the worker did not die at work"

    @pytest.mark.parametrize("seed", range(5))
    def test_many_tables(self, seed):
        rng = np.random.default_rng(seed)
        data = table(int(rng.integers(500, 5000)), seed)
        posterior = of_partitions(MODEL, *data, None, number=int(rng.integers(1, 200)))
        assert_same(posterior, nb.fit(MODEL, *data[:2], sample_weight=data[2]), data[0])
        proba = new_columns(posterior.predict_proba(partitioned(data[0])))
        np.testing.assert_allclose(proba, posterior.predict_proba(data[0]), rtol=1e-12)


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
