"""Fits of lazy tables give what a fit in memory gives."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import bayesnb as nb
from bayesnb.core.deferred import leaves
from bayesnb.data import lazy_table
from cases import FAMILIES
from lazy_engines import ENGINES, SLOW_ENGINES, lazily

EVERY_ENGINE = [*ENGINES, *(pytest.param(engine, marks=pytest.mark.slow) for engine in SLOW_ENGINES)]
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
    for holes, weighted in [(False, False), (True, True), (True, False)]:
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


MEASURED = ["gaussian", "log normal", "gamma", "hurdle", "histogram", "multivariate gaussian", "user's exponential"]


@pytest.mark.parametrize("of", [of for of in FAMILIES if of.name in MEASURED], ids=lambda case: case.name)
def test_cells_of_measurements_are_not_collected(of, monkeypatch):
    monkeypatch.setattr(lazy_table, "MOST_VALUES", 20)
    assert fitted(of.model(of.default), with_labels(of, True), True, "polars", Counted()).statistics


def test_what_an_engine_cannot_count_names_the_family(monkeypatch):
    monkeypatch.setattr(lazy_table, "MOST_VALUES", 20)
    (of,) = (case for case in FAMILIES if case.name == "durations")
    with pytest.raises(ValueError, match="Durations of column 'u' needs every value.*more than 20.*X.collect"):
        fitted(of.model(of.default), with_labels(of, False), False, "polars", Counted())


# ---- bad input


def small(**changed):
    cells = {"x": [1.0, 2.0, 4.0, 8.0], "t": ["a", "b", "a", "b"], "label": ["u", "v", "u", "v"], "w": [1.0, 2, 1, 0]}
    return pl.DataFrame(cells | changed)


NUMBERS = nb.NaiveBayes({"x": nb.Gaussian(), "t": nb.Categorical()})
BAD = {
    "no such label": ((NUMBERS, small(), "lable"), {}, ValueError, "y is 'lable', which is not a column of X.*'label'"),
    "labels apart": ((NUMBERS, small(), ["u"] * 4), {}, TypeError, "y a list: give the name of its column"),
    "label is a feature": ((NUMBERS, small(), "t"), {}, ValueError, "'t' holds the labels, and the model has it"),
    "no such column": ((nb.NaiveBayes({"z": nb.Gaussian()}), small(), "label"), {}, ValueError, "column 'z' is not in"),
    "no such weight": ((NUMBERS, small(), "label"), {"sample_weight": "v"}, ValueError, "'v', which is not a column"),
    "weights apart": ((NUMBERS, small(), "label"), {"sample_weight": np.ones(4)}, TypeError, "sample_weight an? .*arra"),
    "weights of text": ((NUMBERS, small(), "label"), {"sample_weight": "t"}, TypeError, "column 't' holds String"),
    "a negative weight": (
        (NUMBERS, small(w=[1.0, -2.0, 1.0, 1.0]), "label"),
        {"sample_weight": "w"},
        ValueError,
        "sample_weight 'w' holds -2.0",
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
        "column 'x': a cell is missing, but Multinomial reads a row as one vector",
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
    assert "row " not in str(raised.value)


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
