"""Fits of lazy tables give what a fit in memory gives."""

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import FAMILIES
from lazy_engines import ENGINES, SLOW_ENGINES, lazily
from polars.io.plugins import register_io_source

import bayesnb as nb
from bayesnb.core.deferred import leaves
from bayesnb.data import dask_table, lazy_table
from bayesnb.data.elsewhere import sample_elsewhere
from bayesnb.estimators import NaiveBayesClassifier
from bayesnb.inference import batches

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
EVERY_ENGINE = [*ENGINES, *(pytest.param(engine, marks=pytest.mark.slow) for engine in SLOW_ENGINES)]
WITH_DASK = [*ENGINES, "dask"]
ONE_ENGINE = ["duckdb", pytest.param("polars", marks=pytest.mark.slow)]
"""For what follows from the laws above, and takes long."""
ROWS = 160


@dataclass(frozen=True)
class Counted(nb.results.Inference):
    """Gives the problem itself."""

    def check(self, problem):
        pass

    def fit(self, problem, *, key=0):
        return problem


def with_labels(case, holes):
    """A case's columns, half of their missing cells NaN where they are numbers and the others null; labels, weights."""
    X, y = case.table(ROWS, holes=holes)
    frame = pl.DataFrame({name: pl.Series(X[name].to_numpy(), nan_to_null=False) for name in X})
    if holes:
        frame = frame.with_columns(
            pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.all().fill_nan(None)).otherwise(pl.all())
        )
    weight = np.random.default_rng(1).integers(0, 4, ROWS) / 2
    return frame.with_columns(pl.Series("label", y), pl.Series("weight", weight))


def fitted(model, frame, weighted, engine=None, inference=None, **options):
    frame = frame if weighted else frame.drop("weight")
    if engine is not None:
        return nb.fit(
            model, lazily(frame, engine), "label", inference, sample_weight="weight" if weighted else None, **options
        )
    weight = frame["weight"].to_numpy() if weighted else None
    return nb.fit(model, frame.drop("weight", strict=False), "label", inference, sample_weight=weight, **options)


def require_equal(problem, expected, exact=False):
    """Counts exactly, other sums up to rounding."""
    mine, theirs = problem.model.schema, expected.model.schema
    assert (mine.columns, mine.categories, mine.edges) == (theirs.columns, theirs.categories, theirs.edges)
    assert (problem.growing, problem.weighted) == (expected.growing, expected.weighted)
    np.testing.assert_array_equal(problem.model.schema.classes, expected.model.schema.classes)
    assert problem.model.schema.classes.dtype == expected.model.schema.classes.dtype
    for found, wanted in zip(leaves(problem.statistics), leaves(expected.statistics), strict=True):
        wanted = np.asarray(wanted)
        if (wanted == np.rint(2 * wanted) / 2).all() and exact:
            np.testing.assert_array_equal(found, wanted)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max(initial=0.0))


def require_same_predictions(mine, expected, rows):
    found, wanted = (nb.fit(problem).predict_proba(rows) for problem in (mine, expected))
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("of", FAMILIES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore:.* rows lack a cell")
def test_equals_a_fit_in_memory(of, engine):
    model = of.model(of.default)
    for holes, weighted in [(True, True), (True, False)]:
        frame = with_labels(of, holes)
        mine, expected = (fitted(model, frame, weighted, e, Counted()) for e in (engine, None))
        require_equal(mine, expected, exact=True)
        if of.can.closed:
            require_same_predictions(mine, expected, frame.drop("label", "weight"))


# One table with columns of every kind, whose families choose bins, name categories and describe columns twice.
MIXED = nb.NaiveBayes(
    {
        "length": nb.Gaussian(),
        "far": nb.Gaussian(),
        "wait": nb.LogNormal(),
        "eggs": nb.Poisson(),
        "flag": nb.Bernoulli(),
        "island": nb.Categorical(),
        "size": nb.Categorical(concentration=0.5, other=True),
        "day": nb.Categorical(),
        "bins": nb.Hurdle(nb.Histogram()),
        "words": (nb.Multinomial(), ["the", "of"]),
        "pair": (nb.MultivariateGaussian(), ["width", "depth"]),
        "trees": (nb.AllTrees(num_bins=3), ["kind", "score", "grade"]),
    }
)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(2)
    holes = rng.random((ROWS, 30)) < 0.15
    first = rng.random(ROWS) < 0.4
    cells = {
        "length": rng.normal(20.0 + first, 2.0),
        "far": 1e7 + rng.normal(first * 1.0),
        "wait": rng.lognormal(first * 1.0),
        "eggs": rng.poisson(2.0 + first),
        "flag": rng.random(ROWS) < 0.3 + 0.3 * first,
        "island": rng.choice(["Dream", "Biscoe", "Torgersen"], ROWS),
        "size": rng.choice([9, 1, 5, 2], ROWS),
        "day": np.datetime64("2024-02-27") + rng.integers(0, 4, ROWS),
        "bins": rng.normal(size=ROWS) * (rng.random(ROWS) < 0.6),
        "the": rng.poisson(1.0 + first),
        "of": rng.poisson(2.0 - first),
        "width": rng.normal(size=ROWS),
        "depth": rng.normal(size=ROWS).astype(np.float32),
        "kind": rng.choice(["a", "b"], ROWS),
        "score": rng.normal(size=ROWS),
        "grade": rng.choice(["x", "y", "z"], ROWS),
    }
    frame = pl.DataFrame(cells)
    whole = ("the", "of")
    gaps = [
        pl.when(pl.Series(holes[:, j])).then(None).otherwise(pl.col(name)).alias(name)
        for j, name in enumerate(cells)
        if name not in whole
    ]
    labels = pl.Series("label", np.where(first, 3, rng.integers(1, 3, ROWS)))
    return frame.with_columns(*gaps, labels, pl.Series("weight", rng.integers(0, 4, ROWS) / 2))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.filterwarnings("ignore:.* rows lack a cell")
def test_a_table_of_every_kind_of_column(mixed, engine, weighted):
    mine, expected = (fitted(MIXED, mixed, weighted, e, Counted()) for e in (engine, None))
    require_equal(mine, expected)
    require_same_predictions(mine, expected, mixed.drop("label", "weight"))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("words", [nb.Multinomial(), nb.DirichletMultinomial()], ids=["multinomial", "bursty"])
def test_a_column_is_read_twice_at_most(mixed, weighted, words):
    read = Counter()

    def source(columns, predicate, num_rows, batch_size):
        """Polars says which columns of the table a query reads."""
        read.update(mixed.columns if columns is None else columns)
        found = mixed.select(columns or pl.all())
        found = found if num_rows is None else found.head(num_rows)
        yield found if predicate is None else found.filter(predicate)

    lazy = register_io_source(source, schema=mixed.schema)
    features = {name: family for name, family in MIXED.features.items() if name not in ("trees", "bins")}
    features["words"] = words, ["the", "of"]
    nb.fit(nb.NaiveBayes(features), lazy, "label", Counted(), sample_weight="weight" if weighted else None)
    assert read["the"] == read["of"] == 2  # also for the totals of the rows
    assert read["far"] == read["eggs"] == read["width"] == 2
    assert read["length"] == read["wait"] == 1 + weighted  # without weights, an engine has stable variances
    assert read["flag"] == read["island"] == read["day"] == 1


@pytest.mark.parametrize("apart", [1.0, 1e6], ids=["near", "far apart"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore:y holds 120 values")
def test_many_classes(engine, apart):
    rng = np.random.default_rng(0)
    labels = np.arange(360) % 120
    x = apart * labels + rng.normal(size=360)
    frame = pl.DataFrame({"x": x, "label": labels, "weight": rng.uniform(0.5, 1.0, 360)})
    for weighted in (False, True):
        mine, expected = (fitted(nb.Gaussian(), frame, weighted, each, Counted()) for each in (engine, None))
        require_equal(mine, expected)


MEASURED = {
    *("gaussian", "log normal", "gamma", "beta", "von mises", "exponential", "user's exponential"),
    *("hurdle", "hurdle of exponential", "histogram", "polya tree", "multivariate gaussian"),
}


@pytest.mark.parametrize("of", [of for of in FAMILIES if of.name in MEASURED], ids=lambda case: case.name)
def test_cells_of_measurements_are_not_collected(of, monkeypatch):
    monkeypatch.setattr(lazy_table, "MOST_VALUES", 20)
    assert fitted(of.model(of.default), with_labels(of, True), True, "polars", Counted()).statistics


def test_what_an_engine_cannot_count_names_the_family(monkeypatch):
    monkeypatch.setattr(lazy_table, "MOST_VALUES", 20)
    (of,) = (case for case in FAMILIES if case.name == "durations")
    with pytest.raises(ValueError, match=r"Durations of column 'u' needs every value.*more than 20.*X.collect"):
        fitted(of.model(of.default), with_labels(of, False), False, "polars", Counted())


# ---- what else takes lazy tables


def halves(frame):
    """The rows of a fit and those that come later, which bring a category."""
    kind = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("new")).otherwise("kind")
    return frame[:100], frame[100:].with_columns(kind=kind)


@pytest.mark.parametrize("engine", ONE_ENGINE)
@pytest.mark.filterwarnings("ignore:.* rows lack a cell", "ignore:column 'size'")
def test_later_rows_update_a_posterior(mixed, engine):
    first, later = halves(mixed)
    lazy, rows = lazily(later, engine), later.drop("weight")
    mine, expected = (fitted(MIXED, first, True, each) for each in (engine, None))
    mine = mine.update(lazy, "label", sample_weight="weight")
    expected = expected.update(rows, "label", sample_weight=later["weight"].to_numpy())
    assert "new" in str(mine.problem.model.schema.categories)
    require_equal(mine.problem, expected.problem)
    mine = mine.forget(lazy, "label", sample_weight="weight")
    expected = expected.forget(rows, "label", sample_weight=later["weight"].to_numpy())
    require_equal(mine.problem, expected.problem)


@pytest.mark.parametrize("engine", WITH_DASK)
def test_values_that_a_bound_model_does_not_know_are_counted_as_missing(engine):
    first, later = small(), small(t=["a", "c", "c", None], x=[1.0, -2.0, 4.0, 8.0])
    model = nb.NaiveBayes({"x": nb.LogNormal(), "t": nb.Categorical()}, outside_is_missing=["x"])
    posterior = nb.fit(model.bind(first, "label"), first, "label")
    told = []
    for rows in (later, lazily(later, engine)):
        with pytest.warns(UserWarning, match="count as missing") as warned:
            found = posterior.update(rows, "label")
        told.append(sorted(str(each.message) for each in warned))
        assert found.problem.statistics.blocks[0].n.tolist() == [[4.0], [3.0]]
    assert told[0] == told[1]
    assert "2 cell(s) hold categories not seen in training ('c')" in told[0][1]
    assert "1 in column 'x', such as -2, which is not a positive number (LogNormal)" in told[0][0]


@pytest.mark.parametrize("engine", WITH_DASK)
def test_rows_of_weight_zero_show_no_category_but_a_class(engine):
    frame = small(t=["a", "b", "b", "c"], label=["u", "v", "u", "w"])
    posterior = nb.fit(NUMBERS, lazily(frame, engine), "label", sample_weight="w")
    assert posterior.model.schema.categories == {1: ("a", "b")}
    assert posterior.classes.tolist() == ["u", "v", "w"]
    bound = nb.fit(posterior.model, lazily(frame, engine), "label", sample_weight="w")  # no warning of "c"
    np.testing.assert_array_equal(bound.predict_proba(frame[:3]), posterior.predict_proba(frame[:3]))


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_equal_cells_have_no_spread_after_an_update(engine):
    x, y = np.linspace(0.1, 3.0, 30), ["a", "b"] * 20
    frame = pl.DataFrame({str(k): np.full(40, cell) for k, cell in enumerate(x)})
    posterior = nb.fit(nb.LogNormal(), frame, y)
    found = posterior.update(lazily(frame.with_columns(label=pl.Series(y)), engine), "label")
    np.testing.assert_allclose(found.predict_proba(frame), posterior.update(frame, y).predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("labels", [None, pytest.param("species", marks=pytest.mark.slow)], ids=["no labels", "labels"])
@pytest.mark.parametrize("engine", [*ONE_ENGINE, "dask"])
@pytest.mark.filterwarnings("ignore:column 'island'", "ignore:The rows do not look like rows of the fit")
def test_rows_of_another_population(engine, labels):
    X, y = nb.datasets.penguins()
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    moved = X.assign(body_mass_g=X["body_mass_g"] + 1000, island="Mars")[y != "Adelie"]
    frame = pl.from_pandas(moved if labels is None else moved.assign(species=y))
    found, expected = (nb.drift(posterior, rows, labels) for rows in (lazily(frame, engine), frame))
    pd.testing.assert_frame_equal(found.table, expected.table, rtol=1e-9)
    found, expected = (nb.estimate_class_probs(posterior, rows, labels) for rows in (lazily(frame, engine), frame))
    pd.testing.assert_frame_equal(found.table, expected.table, rtol=1e-9)


@pytest.mark.parametrize("engine", [*ONE_ENGINE, pytest.param("dask", marks=pytest.mark.slow)])
def test_rows_are_sampled_where_they_are_needed(engine):
    X, y = nb.datasets.penguins()
    frame = pl.from_pandas(X.assign(species=y, weight=np.arange(len(X)) % 3 + 1.0))
    lazy, rows, weight = lazily(frame, engine), frame.drop("species", "weight"), frame["weight"].to_numpy()
    assert nb.NaiveBayes.from_frame(lazy, "species", sample_weight="weight") == nb.NaiveBayes.from_frame(
        rows, y, sample_weight=weight
    )
    mine = NaiveBayesClassifier().fit(lazy, "species", "weight")
    expected = NaiveBayesClassifier().fit(rows, y, weight)
    assert mine.classes_.tolist() == expected.classes_.tolist()
    assert mine.n_features_in_ == expected.n_features_in_
    np.testing.assert_allclose(mine.predict_proba(rows), expected.predict_proba(rows), rtol=1e-9)
    np.testing.assert_array_equal(mine.predict_set(rows), expected.predict_set(rows))
    plain = nb.fit(nb.NaiveBayes.from_frame(rows, y), rows, y)
    weighted = [nb.weight_features(plain, *of) for of in ((lazy, "species"), (rows.with_columns(weight=weight), y))]
    np.testing.assert_allclose(*(each.predict_proba(rows) for each in weighted), rtol=1e-9)
    later = weighted[0].update(lazy, "species"), weighted[1].update(rows, y)
    np.testing.assert_allclose(*(each.predict_proba(rows) for each in later), rtol=1e-9)


def patch_sample(monkeypatch, size):
    for module in (lazy_table, dask_table):
        monkeypatch.setattr(module, "SAMPLE", size)


@pytest.mark.parametrize("engine", [*EVERY_ENGINE, "dask"])
def test_a_sample_has_rows_of_every_class(engine, monkeypatch):
    patch_sample(monkeypatch, 300)
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(5000) == 4321, "rare", rng.choice(["a", "b"], 5000))
    frame = pl.DataFrame({"x": rng.normal(size=5000), "row": np.arange(5000), "label": labels})
    table, y, _ = sample_elsewhere(lazily(frame, engine), "label", None, 0)
    x, row = (np.asarray(table[name]) for name in ("x", "row"))
    assert {*y.tolist()} == {"a", "b", "rare"}
    assert len({*row.tolist()}) == len(row) == len(y) == pytest.approx(301, abs=1 if engine in ENGINES else 60)
    np.testing.assert_array_equal(frame["x"].to_numpy()[row], x)
    np.testing.assert_array_equal(frame["label"].to_numpy()[row], y)
    # Rows of a uniform sample have a mean position of 2500 with a standard deviation of 83, and cover the table.
    assert 2000 < row.mean() < 3000
    assert row.min() < 200
    assert row.max() > 4800


@pytest.mark.parametrize("engine", WITH_DASK)
def test_a_seed_repeats_a_sample(engine, monkeypatch):
    patch_sample(monkeypatch, 50)
    lazy = lazily(pl.DataFrame({"x": np.arange(5000.0), "label": np.arange(5000) % 2}), engine)
    samples = [sample_elsewhere(lazy, "label", None, seed)[0] for seed in (1, 1, 2)]
    one, same, other = (sorted(frame["x"].to_numpy()) for frame in samples)
    assert one == same != other


TYPES = {
    "booleans": np.arange(60) % 3 == 1,
    "small whole numbers": pl.Series(np.arange(60) % 3, dtype=pl.Int8),
    "decimals": pl.Series([Decimal("0.5"), Decimal("1.5"), None] * 20),
    "numbers of 32 bits": pl.Series((np.arange(60) % 3) / 3, dtype=pl.Float32),
    "whole numbers with gaps": pl.Series([2**60 + 1, None, 2**60] * 20),
    "dates": pl.Series([date(2024, 2, 28), date(2024, 3, 1), None] * 20),
    "times": pl.Series([datetime(2024, 2, 28, 5), datetime(2024, 3, 1), None] * 20),
    "categories": pl.Series(["b", "a", None] * 20, dtype=pl.Categorical),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.filterwarnings("ignore:y holds 3 numbers with fractions")
def test_categories_and_labels_of_every_type(kind, engine):
    frame = pl.DataFrame({"t": TYPES[kind], "label": np.arange(60) % 2, "weight": 1.0})
    labelled = frame.select(pl.col("t").alias("label"), x=pl.lit(1.0) + pl.int_range(pl.len()), weight=1.0)
    cases = (nb.Categorical(), frame), (nb.Gaussian(), labelled.drop_nulls())
    for family, rows in cases:
        mine, expected = (fitted(family, rows, False, each, Counted()) for each in (engine, None))
        require_equal(mine, expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_columns_may_be_any_text(engine):
    names = ["a b", "a.b", 'x"y', "select", "\u00e9%", "v0", "c0", "cell", "value"]
    numbers = {f"{name} {name}": np.arange(60.0) ** 0.5 for name in names}
    texts = {name: np.where(np.arange(60) % 7 < 3, "u", "v") for name in names}
    frame = pl.DataFrame({**texts, **numbers, "label": np.arange(60) % 2, "weight": 1.0})
    model = nb.NaiveBayes(dict.fromkeys(texts, nb.Categorical()) | dict.fromkeys(numbers, nb.Gaussian()))
    mine, expected = (fitted(model, frame, True, each, Counted()) for each in (engine, None))
    require_equal(mine, expected)


@pytest.mark.slow
def test_spark_takes_dots_for_those_of_structures():
    lazy = lazily(small().rename({"x": "x.1"}), "pyspark")
    told = r"X has a column 'x\.1', and Spark takes a dot .*: rename it, X\.withColumnRenamed\('x\.1', 'x_1'\)"
    for verb in (nb.NaiveBayes.from_frame, partial(nb.fit, NUMBERS), NaiveBayesClassifier().fit):
        with pytest.raises(ValueError, match=told):
            verb(lazy, "label")
    posterior = nb.fit(NUMBERS, small(), "label")
    with pytest.raises(ValueError, match=told):
        posterior.predict_proba(lazy)
    renamed = lazy.withColumnRenamed("x.1", "x")
    assert nb.fit(NUMBERS, renamed, "label").log_evidence == pytest.approx(posterior.log_evidence)


def test_labels_that_are_sums_are_whole_numbers():
    duckdb = pytest.importorskip("duckdb")
    cells = small(label=[0, 2, 0, 2]).with_row_index("row").to_arrow()  # noqa: F841
    lazy = duckdb.sql("SELECT x, t, sum(label) AS label FROM cells GROUP BY x, t, row ORDER BY row")
    rows = small(label=[0, 2, 0, 2]).drop("w")
    require_equal(nb.fit(NUMBERS, lazy, "label", Counted()), nb.fit(NUMBERS, rows, "label", Counted()))
    assert NaiveBayesClassifier().fit(lazy, "label").classes_.tolist() == [0, 2]


def test_categories_that_a_type_lists_keep_their_order():
    duckdb = pytest.importorskip("duckdb")
    values = ["b", "a", "b", "a"]
    listed = ["c", "b", "a"]
    frame = pl.DataFrame({"t": pl.Series(values, dtype=pl.Enum(listed)), "label": [0, 1, 1, 0]})
    text = frame.with_columns(pl.col("t").cast(pl.String)).to_arrow()  # noqa: F841
    relation = duckdb.sql("SELECT t::ENUM('c', 'b', 'a') AS t, label FROM text")
    for rows in (frame.lazy(), relation):
        assert nb.fit(nb.Categorical(), rows, "label").model.schema.categories == {0: tuple(listed)}


@pytest.mark.parametrize("engine", ONE_ENGINE)
@pytest.mark.filterwarnings("ignore")
def test_readings_and_numbers_in_text_are_those_of_memory(engine):
    rng = np.random.default_rng(0)
    first = np.arange(200) % 2 == 0
    days = np.datetime64("2023-01-30", "D") + rng.integers(0, 300, 200) + 100 * first
    frame = pl.DataFrame(
        {
            "day": days,
            "written": [f"{d.day:02d}.{d.month:02d}.{d.year}" for d in days[::-1].tolist()],
            "share": [f"{x:.2f}%" if x > 36 else "?" for x in rng.normal(40.0 + 10 * first, 10.0)],
            "gaps": np.where(rng.random(200) < 0.2 + 0.4 * first, np.nan, rng.normal(size=200)),
            "label": np.where(first, "a", "b"),
        }
    )
    mine = NaiveBayesClassifier().fit(lazily(frame, engine), "label")
    rows = frame.drop("label")
    expected = NaiveBayesClassifier().fit(rows, frame["label"].to_numpy())
    assert {"day month", "written day", "share", "share is missing", "gaps is missing"} <= {*mine.model_.features}
    np.testing.assert_allclose(mine.predict_proba(rows), expected.predict_proba(rows), rtol=1e-9)


def test_classes_that_a_sample_lacks_are_named(monkeypatch):
    monkeypatch.setattr(lazy_table, "SAMPLE", 10)
    monkeypatch.setattr(lazy_table, "MOST_ADDED", 3)
    frame = pl.DataFrame({"x": np.arange(100.0), "label": np.arange(100) // 2})
    with pytest.warns(UserWarning, match="a sample of 10 rows of X has no row of 4. classes, such as"):
        _, y, _ = sample_elsewhere(frame.lazy(), "label", None, 0)
    assert len(y) == 16


@pytest.mark.parametrize("engine", ENGINES)
def test_bins_of_a_sample_are_those_of_a_fit_that_is_given_them(engine, monkeypatch):
    monkeypatch.setattr(lazy_table, "SAMPLE", 100)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=900), "z": rng.normal(size=900), "label": rng.choice(["a", "b"], 900)})
    frame = frame.with_columns(weight=1.0)
    mine, in_memory = (fitted(nb.PolyaTree(), frame, False, each).problem for each in (engine, None))
    assert mine.model.families[0].edges != in_memory.model.families[0].edges
    require_equal(mine, replace(nb.fit(mine.model, frame.drop("weight"), "label", Counted()), growing=True))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("engine", [*ENGINES, None])
@pytest.mark.filterwarnings("ignore:.* rows lack a cell")
def test_parquet_files_are_counted_by_an_engine_if_there_is_one(mixed, engine, weighted, tmp_path, monkeypatch, capsys):
    features = {name: family for name, family in MIXED.features.items() if name not in ("trees", "bins")}
    mixed[:50].write_parquet(tmp_path / "a.parquet")
    mixed[50:].write_parquet(tmp_path / "b.parquet")
    weight = "weight" if weighted else None
    columns = [name for name in mixed.columns if name not in ("label", "weight", "score")]

    def fit(inference=None, **options):
        return nb.fit_parquet(
            nb.NaiveBayes(features),
            tmp_path,
            "label",
            inference or Counted(),
            columns=columns,
            sample_weight=weight,
            **options,
        )

    expected = fit(batch_rows=60)
    monkeypatch.setattr(lazy_table, "find_spec", lambda name: name == engine)
    if engine is not None:
        pytest.importorskip(engine)
        monkeypatch.setattr(batches, "_file_batches", None)  # no rows are read
    require_equal(fit(progress=True), expected)
    assert ("reading" if engine else "row") in capsys.readouterr().err
    if engine is not None:
        monkeypatch.undo()
    with pytest.raises(ValueError, match="no hyperparameter is learned"):
        fit(nb.EmpiricalBayes())


@pytest.mark.parametrize("engine", [*ENGINES, None])
def test_parquet_files_keep_the_categories_that_they_list(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(lazy_table, "find_spec", lambda name: name == engine)
    text = pd.Categorical(["a", "b", "a", "b"], categories=["c", "b", "a"])
    pd.DataFrame({"t": text, "label": [0, 1, 1, 0]}).to_parquet(tmp_path / "rows.parquet")
    posterior = nb.fit_parquet(nb.Categorical(), tmp_path, "label")
    assert posterior.model.schema.categories == {0: ("c", "b", "a")}


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_parquet_files_are_no_patterns(engine, tmp_path, monkeypatch):
    pytest.importorskip(engine)
    monkeypatch.setattr(lazy_table, "find_spec", lambda name: name == engine)
    (folder := tmp_path / "label=z").mkdir()
    small().drop("w").write_parquet(folder / "rows [1]*.parquet")
    small(x=[0.0, 0.0, 0.0, 9.0]).write_parquet(folder / "rows 1.parquet")
    found = nb.fit_parquet(NUMBERS, folder / "rows [1]*.parquet", "label", Counted())
    require_equal(found, nb.fit(NUMBERS, small().drop("w"), "label", Counted()))


@pytest.mark.parametrize("engine", ENGINES)
def test_folders_of_partitions_are_a_lazy_table(engine, tmp_path):
    rows = small().drop("w")
    for (kind,), part in rows.partition_by("t", as_dict=True, include_key=False).items():
        (folder := tmp_path / f"t={kind}").mkdir()
        part.write_parquet(folder / "rows.parquet")
    with pytest.raises(
        FileNotFoundError, match=r"holds no file .*: nb.fit takes those of its own folders as polars.sc"
    ):
        nb.fit_parquet(NUMBERS, tmp_path, "label")
    if engine == "polars":
        lazy = pl.scan_parquet(tmp_path)
    else:
        lazy = pytest.importorskip("duckdb").read_parquet(f"{tmp_path}/*/*.parquet", hive_partitioning=True)
    require_equal(nb.fit(NUMBERS, lazy, "label", Counted()), nb.fit(NUMBERS, rows, "label", Counted()))


# ---- bad input


def small(**changed):
    cells = {"x": [1.0, 2.0, 4.0, 8.0], "t": ["a", "b", "a", "b"], "label": ["u", "v", "u", "v"], "w": [1.0, 2, 1, 0]}
    return pl.DataFrame(cells | changed)


NUMBERS = nb.NaiveBayes({"x": nb.Gaussian(), "t": nb.Categorical()})
BAD = {
    "no such label": ((NUMBERS, small(), "lable"), {}, ValueError, "y is 'lable', which is not a column of X.*'label'"),
    "labels apart": ((NUMBERS, small(), ["u"] * 4), {}, TypeError, "y a list: give the name of its column"),
    "no labels": (
        (NUMBERS, small(), None),
        {},
        ValueError,
        "y is None, and X is a .*, whose rows are not in memory: name the column",
    ),
    "label is a feature": ((NUMBERS, small(), "t"), {}, ValueError, "'t' holds the labels, and the model has it"),
    "no such column": ((nb.NaiveBayes({"z": nb.Gaussian()}), small(), "label"), {}, ValueError, "column 'z' is not in"),
    "no such weight": ((NUMBERS, small(), "label"), {"sample_weight": "v"}, ValueError, "'v', which is not a column"),
    "weights apart": ((NUMBERS, small(), "label"), {"sample_weight": np.ones(4)}, TypeError, "sample_weight an .*ay"),
    "weights of text": ((NUMBERS, small(), "label"), {"sample_weight": "t"}, TypeError, "column 't' holds String"),
    "a negative weight": (
        (NUMBERS, small(w=[1.0, -2.0, 1.0, 1.0]), "label"),
        {"sample_weight": "w"},
        ValueError,
        "sample_weight 'w' holds -2.0",
    ),
    "a weight beyond sums": (
        (NUMBERS, small(w=[1.0, 1e300, 1.0, 1.0]), "label"),
        {"sample_weight": "w"},
        ValueError,
        r"sample_weight 'w' holds 1e\+300: divide all by a common factor",
    ),
    "lists as labels": (
        (NUMBERS, small(label=[[1], [2], [1], [2]]), "label"),
        {},
        TypeError,
        "column 'label' holds List.*, which cannot be a label: convert it to text",
    ),
    "rows as labels": (
        (NUMBERS, small(label=[{"a": 1}, {"a": 2}] * 2), "label"),
        {},
        TypeError,
        "column 'label' holds Struct.*, which cannot be a label",
    ),
    "a name that is a pattern": (
        (NUMBERS, small().with_columns(pl.lit(1).alias("^.*$")), "label"),
        {},
        ValueError,
        r"X has a column '\^\.\*\$', a name that engines take for several columns: rename it",
    ),
    "a name for all columns": (
        (NUMBERS, small().with_columns(pl.lit(1).alias("*")), "label"),
        {},
        ValueError,
        r"X has a column '\*', a name that engines take for several columns: rename it",
    ),
    "a name that queries use": (
        (NUMBERS, small().with_columns(__bayesnb_class=1), "label"),
        {},
        ValueError,
        "X has a column '__bayesnb_class', a name that queries of the fit use: rename it",
    ),
    "a missing weight": (
        (NUMBERS, small(w=[1.0, None, 1.0, 1.0]), "label"),
        {"sample_weight": "w"},
        ValueError,
        "sample_weight 'w' holds None",
    ),
    "rows without a label": (
        (NUMBERS, small(label=["u", None, None, "v"]), "label"),
        {},
        ValueError,
        "column 'label' has no label in 2 rows of X: leave these rows out",
    ),
    "a label that is no class": (
        (NUMBERS, small(), "label"),
        {"classes": ["u"]},
        ValueError,
        "y holds the label 'v', which is not among the classes",
    ),
    "no column": ((NUMBERS, small().select("label"), "label"), {}, ValueError, "X has no column beside 'label': give"),
    "no rows": ((NUMBERS, small().head(0), "label"), {}, ValueError, "X has no rows"),
    "text in a number": (
        (nb.NaiveBayes({"t": nb.Gaussian()}), small(), "label"),
        {},
        TypeError,
        r"column 't' holds text \('[ab]'\) where its family needs numbers",
    ),
    "dates in a number": (
        (nb.NaiveBayes({"t": nb.Gaussian()}), small(t=np.full(4, np.datetime64("2024-01-01"))), "label"),
        {},
        TypeError,
        "column 't' holds .*date.* where its family needs numbers",
    ),
    "infinity": (
        (NUMBERS, small(x=[1.0, np.inf, 2.0, 3.0]), "label"),
        {},
        ValueError,
        "column 'x': inf is not a finite number, as Gaussian needs",
    ),
    "a fraction": (
        (nb.NaiveBayes({"x": nb.Poisson()}), small(x=[1.0, 2.5, 3.0, 4.0]), "label"),
        {},
        ValueError,
        "column 'x': 2.5 is not a count",
    ),
    "a gap in a count vector": (
        (nb.NaiveBayes({"words": (nb.Multinomial(), ["x", "w"])}), small(x=[1.0, None, 2.0, 3.0]), "label"),
        {},
        ValueError,
        "column 'x': the cell is missing, but Multinomial reads a row as one vector",
    ),
    "no observed category": (
        (NUMBERS, small(t=pl.Series([None] * 4, dtype=pl.String)), "label"),
        {},
        ValueError,
        "column 't' has no observed cell",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_named(bad, engine):
    (model, frame, y), options, error, words = BAD[bad]
    with pytest.raises(error, match=words) as raised:
        nb.fit(model, lazily(frame, engine), y, **options)
    assert not re.search(r"row \d", str(raised.value))


@pytest.mark.parametrize("engine", ONE_ENGINE)
@pytest.mark.parametrize("compare", [nb.drift, nb.estimate_class_probs])
def test_errors_of_a_comparison_name_no_rows(compare, engine):
    posterior = nb.fit(NUMBERS, small(), "label")
    with pytest.raises(TypeError, match="column 'x' holds text") as raised:
        compare(posterior, lazily(small(x=["a", "b", "a", "b"]), engine))
    assert not re.search(r"row \d", str(raised.value))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("family", [nb.Geometric(), nb.Poisson()], ids=repr)
def test_large_counts_are_told(family, engine):
    frame = small(x=[1.0, 2e9, 3.0, 4.0])
    with pytest.warns(UserWarning, match="column 'x' has counts above 1e\\+09"):
        nb.fit(nb.NaiveBayes({"x": family}), lazily(frame, engine), "label")


@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Categorical(), nb.Poisson()], ids=repr)
def test_a_table_that_changes_between_queries_is_refused(family):
    frame, number = pl.DataFrame({"x": np.arange(100) % 4, "label": ["u", "v"] * 50}), iter(range(90, 100))

    def source(columns, predicate, num_rows, batch_size):
        """One row more at each reading."""
        yield frame.head(next(number)).select(columns or pl.all())

    with pytest.raises(ValueError, match="the rows of X change between two queries: give a table that stays"):
        nb.fit(nb.NaiveBayes({"x": family}), register_io_source(source, schema=frame.schema), "label")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_query_that_fails_is_named(engine, tmp_path):
    path = tmp_path / "rows.parquet"
    small().write_parquet(path)
    if engine == "duckdb":
        lazy = pytest.importorskip("duckdb").sql(f"SELECT * REPLACE (error('broken ' || t) AS x) FROM '{path}'")
    else:
        lazy = pl.scan_parquet(path)
        path.unlink()
    with pytest.raises(ValueError, match=f"{engine} cannot compute .* of X: "):
        nb.fit(NUMBERS, lazy, "label")


CALLS = {"polars": "collect", "duckdb": "df", "ibis": "to_pyarrow", "pyspark": "toArrow"}


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_what_needs_rows_names_the_call_that_gives_them(engine):
    lazy = lazily(small(), engine)
    classifier = NaiveBayesClassifier(NUMBERS, feature_weights=None).fit(lazy, "label")
    in_memory = getattr(lazy, CALLS[engine])()
    assert len(in_memory) == len(small())
    calls = [
        lambda: nb.loo(classifier.posterior_, lazy, "label"),
        lambda: classifier.partial_fit(lazy, "label"),
        lambda: classifier.forget(lazy, "label"),
        lambda: classifier.score(lazy, "label"),
        lambda: classifier.explain(lazy),
        lambda: classifier.predict_set(lazy),
        lambda: classifier.predict_log_proba(lazy),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=rf"in memory.*X\.{CALLS[engine]}\(\)"):
            call()
