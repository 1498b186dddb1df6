"""Predictions of lazy tables are those in memory, for every family, kind of posterior and engine."""

import re
from datetime import datetime, timedelta
from decimal import Decimal

import dask.array as da
import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import FAMILIES
from lazy_engines import ENGINES, SLOW_ENGINES, lazily
from posterior.test_flat import OF_VALUES, WITHOUT, mixed_table, weighted

import bayesnb as nb
from bayesnb.core.number_form import NumberForm
from bayesnb.core.recipes import ISO
from bayesnb.data.derived import DerivedColumn
from bayesnb.estimators import BernoulliNB, GaussianNB, NaiveBayesClassifier
from bayesnb.inference.fit import read_table

pytestmark = pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
EVERY_ENGINE = [*ENGINES, *(pytest.param(engine, marks=pytest.mark.slow) for engine in SLOW_ENGINES)]
FLAT = {case.name: case for case in FAMILIES if case.can.closed and case.name not in WITHOUT}
CLASSES = ("a", "b", "c")


def in_polars(X):
    """The frame with null for half of the missing numbers, and NaN for the others."""
    frame = pl.from_pandas(X.reset_index(drop=True), nan_to_null=False)
    null = pl.int_range(pl.len()) % 2 == 0
    return frame.with_columns(
        pl.when(pl.col(name).is_nan() & null).then(None).otherwise(pl.col(name)).alias(name)
        for name, kind in frame.schema.items()
        if kind.is_float()
    )


def collected(table):
    """A lazy table of any engine in memory."""
    for method in ("collect", "pl"):
        if hasattr(table, method) and not type(table).__module__.startswith("pyspark"):
            return getattr(table, method)()
    return pl.from_arrow(table.toArrow() if hasattr(table, "toArrow") else table.to_pyarrow())


def proba_of(predictor, frame, engine):
    """The new columns as an array; the others are those of the frame, in the same order of rows."""
    given = lazily(frame, engine)
    found = predictor.predict_proba(given)
    assert type(found) is type(given)
    table = collected(found)
    number = len(table.columns) - frame.width
    assert table.columns[: frame.width] == frame.columns
    if engine in ENGINES:
        for name in frame.columns:
            np.testing.assert_array_equal(table[name].to_numpy(), frame[name].to_numpy())
    return table.select(table.columns[-number:]).to_numpy()


def assert_as_in_memory(predictor, frame, engine, **tolerance):
    expected = predictor.predict_proba(frame)
    found = proba_of(predictor, frame, engine)
    np.testing.assert_allclose(found, expected, **{"rtol": 1e-9, "atol": 1e-12} | tolerance)
    labels = collected(predictor.predict(lazily(frame, engine)))["prediction"].to_list()
    clear = np.sort(expected, axis=1)
    clear = clear[:, -1] - clear[:, -2] > 1e-9
    assert np.array(labels)[clear].tolist() == predictor.predict(frame)[clear].tolist()


def posterior_of(case, kind):
    X, y = case.table(40, holes=True)
    options = {"feature_inclusion": 0.4} if kind == "averaged" else {}
    posterior = nb.fit(case.model(case.default, **options), X, y)
    if kind == "point":
        return posterior.plugin()
    if kind == "exact":
        return posterior
    return weighted(posterior) if kind == "weighted" else weighted(posterior).with_class_probs([0.9, 0.1])


def described(features, X, y):
    """The posterior of features that may describe columns again."""
    return nb.Exact().fit(read_table(nb.NaiveBayes(features), X, y), key=0)


def new_rows(case):
    return in_polars(pd.concat([case.table(40, holes=True)[0], case.table(30, holes=True, seed=9)[0]]))


@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.parametrize("name", FLAT)
def test_every_family_with_weights_and_other_class_probabilities(name, engine):
    assert_as_in_memory(posterior_of(FLAT[name], "other class probabilities"), new_rows(FLAT[name]), engine)


KINDS = [(name, kind) for name in FLAT for kind in ("exact", "weighted")]
KINDS += [(name, kind) for name in sorted(OF_VALUES) for kind in ("averaged", "point")]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "kind"), [pair for pair in KINDS if pair != ("all trees", "point")])  # no mean
def test_every_family_in_every_kind_of_posterior(name, kind, engine):
    assert_as_in_memory(posterior_of(FLAT[name], kind), new_rows(FLAT[name]), engine)


@pytest.fixture(scope="module")
def classifier():
    X, y = mixed_table(400)
    return NaiveBayesClassifier().fit(X, y)


@pytest.fixture(scope="module")
def changed():
    """Rows with unseen categories, gaps that the fit lacks, numbers that a chosen family does not hold, and times."""
    X = mixed_table(80, seed=4)[0]
    X["day"] += pd.to_timedelta(np.arange(80) * 7919, unit="s")
    X.loc[:9, "colour"] = "mauve"
    X.loc[10:19, "number"] = -2.0
    X.loc[20:24, "grade"] = 1e6
    return in_polars(X).with_columns(pl.col("day").cast(pl.Datetime("us")))


@pytest.mark.filterwarnings("ignore:.*(not seen in training|count as missing)")
@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_a_classifier_of_mixed_columns(classifier, changed, engine):
    recipes = {one.recipe for one in classifier.posterior_.belief.flat.scorer.number_readings}
    recipes |= {one.recipe for one in classifier.posterior_.belief.flat.scorer.code_readings}
    assert recipes >= {"copy", "date", "missing"}
    assert_as_in_memory(classifier, changed, engine)


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_every_part_of_a_date(engine):
    days = pd.Series(pd.date_range("1896-02-27", "2104-03-02", periods=300)).dt.round("us").astype("datetime64[us]")
    days[7] = pd.NaT
    y = np.where(np.arange(300) % 3 == 0, "a", "b")
    for frame in (pd.DataFrame({"day": days}), pd.DataFrame({"day": days.dt.normalize()})):
        table = pl.from_pandas(frame)
        if (frame["day"].dropna().dt.hour == 0).all():
            table = table.cast(pl.Date)
        for part in ("day", "month", "weekday", "hour"):
            column = DerivedColumn(f"day {part}", "day", "date", (("form", None), ("part", part)))
            assert_as_in_memory(described({f"day {part}": (nb.Gaussian(), [column])}, table, y), table, engine)


# --------------------------------------------------------------------------------------------------
# Text that the fit read as numbers and dates
# --------------------------------------------------------------------------------------------------

FORMS_OF_NUMBERS = [NumberForm(decimal, unit) for decimal in ".," for unit in ("", "%", "$", "€")]


def numbers_in_text(rng, number):
    """Numbers in every form, and texts that are nearly numbers or none."""
    texts = []
    for _ in range(number):
        groups = [str(rng.integers(0, 999)), *(f"{k:0{rng.choice([1, 3, 3, 3])}}" for k in rng.integers(0, 999, 2))]
        digits = rng.choice([*",.' \u2019\u00a0\u202f"]).join(groups[: rng.integers(1, 4)])
        before = rng.choice(["", "", "", "$", "-", "- ", "\u2212", "+\t$", "€ -", "x"])
        after = rng.choice(["", ".5", ",25", ".", "e3", ",1E-2", ".5e+1"])
        texts.append(before + digits + after + rng.choice(["", "", "", "%", " %", "$", " €", "%%"]))
    spaced = [f"{rng.choice(['', ' ', chr(0x3000)])}{text}{rng.choice(['', '\n', ' \t'])}" for text in texts[::3]]
    return [*texts, *spaced, "", " ", "-", ".", "e5", "1e5", ".5", "+.5", "007", "1,2,3", "nan", "inf", None]


@pytest.mark.filterwarnings("ignore:.*count as missing")
@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.parametrize("form", FORMS_OF_NUMBERS, ids=lambda form: form.decimal + form.unit)
def test_numbers_in_text(form, engine):
    features = {"x": nb.Gaussian(), "x is missing": (nb.Bernoulli(), [DerivedColumn("x is missing", "x", "missing")])}
    model = nb.NaiveBayes(features, number_forms={"x": form})
    numbers, y = pl.DataFrame({"x": [300.0, 2e5, 500.0, None, 1e5, 800.0]}), ["a", "b"] * 3
    posterior = nb.Exact().fit(read_table(model, numbers, y), key=0)
    rows = pl.DataFrame({"x": numbers_in_text(np.random.default_rng(0), 300)})
    assert len({*posterior.predict_proba(rows)[:, 0].tolist()}) > 20
    assert_as_in_memory(posterior, rows, engine)
    assert_as_in_memory(posterior, numbers, engine)


def dates_in_text(rng, form, number):
    """Dates in a form, and texts that are nearly such dates or none."""
    texts = []
    for seconds in rng.integers(-(2**31), 2**32, number).tolist():
        moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)
        text = moment.isoformat(rng.choice(["T", " ", "_"])) if form == ISO else moment.strftime(form)
        if form == ISO:
            ends = ["", ".5", ",123456789", "Z", "+05:30", ".25-1100"]
            text = [
                text[:10],
                text[:13] + rng.choice(["", "-11:00"]),
                text[:16],
                text + rng.choice(ends),
                text.replace("-", ""),
            ][rng.integers(5)]
        text = re.sub(r"\b0(?=\d\b)", rng.choice(["0", "", " "]), text) if form != ISO else text
        if rng.random() < 0.2:
            text = rng.choice([text.upper(), text.lower(), text.replace(" ", "\t "), f" {text}\n", f"{text} x"])
        if rng.random() < 0.4:
            at = rng.integers(min(len(text), 8))
            text = text[:at] + rng.choice([*"0123456789-/ ."]) + text[at + 1 :]
        texts.append(text)
    days = [f"{year}-{day}" for year in ("1900", "2000", "2023", "2024", "0000") for day in ("02-29", "04-31", "12-31")]
    if form != ISO:
        named = {"02": "Feb", "04": "Apr", "12": "Dec"}
        parts = [day.split("-") for day in days]
        days = [
            form.replace("%Y", y).replace("%y", y[2:]).replace("%m", m).replace("%d", d).replace("%b", named[m])
            for y, m, d in parts
        ]
        days = [day.replace("%H", "23").replace("%I", "12").replace("%M", "5").replace("%S", "59") for day in days]
        days = [day.replace("%p", "pm") for day in days]
    return [*texts, *days, "", "20240506", "2024", "today", None]


SHOWN_FORMS = [ISO, "%m-%d-%Y %I:%M %p"]
SLOW_FORMS = ["%d-%b-%y", "%Y/%m/%d", "%d/%m/%Y %H:%M", "%d.%m.%y %H:%M:%S", "%B %d, %Y %H:%M"]
SHOWN_FORMS += [pytest.param(form, marks=pytest.mark.slow) for form in SLOW_FORMS]


@pytest.mark.filterwarnings("ignore:.*count as missing")
@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.parametrize("form", SHOWN_FORMS)
def test_dates_in_text(form, engine):
    rows = pl.DataFrame({"day": dates_in_text(np.random.default_rng(0), form, 300)})
    features = {}
    for part in ("day", "month", "weekday", "hour"):
        column = DerivedColumn(f"day {part}", "day", "date", (("form", form), ("part", part)))
        features[column.name] = (nb.Gaussian(), [column])
    y = np.random.default_rng(1).choice(["a", "b"], len(rows))
    posterior = described(features, rows, y)
    assert len({*posterior.predict_proba(rows)[:, 0].tolist()}) > 100
    assert_as_in_memory(posterior, rows, engine)
    if form == ISO and engine in ENGINES:
        assert_as_in_memory(posterior, rows.cast(pl.Categorical), engine)


NUMBERS = {
    "small": [1.0, np.nan, None, -3.5, 40.0, 2.0, 2.0, 2.0, 2.0, 2.0],
    "wait": [0.0, 2.0, None, np.nan, 5.0, -1.0, np.inf, 3.0, 1.0, 0.0],
    "eggs": [0.0, 3.0, np.nan, None, 90.0, 1.0, 1.0, 2.5, -np.inf, 1e200],
}
"""Rows with what no family of the column holds from the sixth on."""


@pytest.fixture(scope="module")
def of_numbers():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b"], 90)
    X = pl.DataFrame(
        {"small": rng.normal(y == "b"), "wait": rng.exponential(1.0 + (y == "b")), "eggs": rng.poisson(3, 90)}
    )
    return nb.NaiveBayes({"small": nb.Gaussian(), "wait": nb.Exponential(), "eggs": nb.Poisson()}), X, y


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_a_number_that_memory_refuses_has_no_probability(of_numbers, engine):
    posterior, rows = nb.fit(*of_numbers), pl.DataFrame(NUMBERS, strict=False)
    found = proba_of(posterior, rows, engine)
    for k, row in enumerate(found):
        if k < 5:
            np.testing.assert_allclose(row, posterior.predict_proba(rows[k : k + 1])[0], rtol=1e-9)
        elif k < 9:
            with pytest.raises(ValueError, match=r"column '(wait|eggs)', row 0: "):
                posterior.predict_proba(rows[k : k + 1])
            assert np.isnan(row).all()
    assert np.isnan(found[9]).all()
    labels = collected(posterior.predict(lazily(rows, engine)))["prediction"].to_list()
    assert [label is None for label in labels] == [False] * 5 + [True] * 5


@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.parametrize("families", [{"small": nb.Gaussian()}, {"eggs": nb.Poisson()}, {"both": ["small", "wait"]}])
def test_a_fit_of_many_rows_keeps_its_digits(of_numbers, families, engine):
    families = {name: (nb.MultivariateGaussian(), own) if name == "both" else own for name, own in families.items()}
    _, X, y = of_numbers
    posterior = nb.fit(nb.NaiveBayes(families), X, y, sample_weight=np.full(90, 1e7))
    found, expected = proba_of(posterior, X, engine), posterior.predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_on_the_edges_of_bins(engine):
    edges = [0.0, 1.0, 2.5, 4.0]
    X = pl.DataFrame({"x": [0.5, 1.0, 2.0, 2.5, 3.0, 4.0], "of": ["p", "q"] * 3})
    y = ["a", "b", "a", "b", "b", "a"]
    rows = pl.DataFrame(
        {"x": [*edges, *np.nextafter(edges, 9), *np.nextafter(edges, -9), None], "of": ["p", "q", None] * 4 + ["p"]}
    )
    assert_as_in_memory(nb.fit(nb.NaiveBayes({"x": nb.Histogram(edges=edges)}), X.select("x"), y), rows, engine)
    given = {"x": nb.Histogram(edges=edges), "given": (nb.Given(), ["of", "x"])}
    assert_as_in_memory(weighted(described(given, X, y)), rows, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_categories_of_several_types(engine):
    X = pd.DataFrame({"u": pd.Series([1, "a", 2, "b", "c", 1, "a", 3], dtype=object)})
    posterior = nb.fit(nb.Categorical(), X, ["p", "q"] * 4)
    assert_as_in_memory(posterior, pl.DataFrame({"u": ["c", "b", "a", None]}), engine)
    assert_as_in_memory(posterior, pl.DataFrame({"u": [3, 1, 2, None]}), engine)


@pytest.mark.filterwarnings("ignore:.*not seen in training")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "values",
    [
        pl.Series([2**60, 2**60 + 1, 2**60 + 2, -1, None]),
        pl.Series([2**64 - 1, 2**64 - 2, 5, 6, None], dtype=pl.UInt64),
        pl.Series([Decimal("0.1"), Decimal("0.7"), Decimal("12345678.9"), Decimal("-3"), None]),
        pl.Series([np.inf, -np.inf, 1e300, -0.0, None]),
    ],
    ids=["beyond float64", "unsigned", "decimals", "infinite"],
)
def test_categories_of_exact_numbers(values, engine):
    X = pl.DataFrame({"u": values.gather([0, 0, 1, 2, 2, 2])})
    posterior = nb.fit(nb.Categorical(), X, ["p", "p", "q", "q", "q", "p"])
    assert_as_in_memory(posterior, pl.DataFrame({"u": values}), engine)


@pytest.mark.filterwarnings("ignore:.*not seen in training")
@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_days_as_categories(engine):
    days = pl.Series([datetime(2024, 2, day).date() for day in (1, 28, 29)] + [None])
    X = pl.DataFrame({"day": days.gather([0, 0, 1, 2, 2, 1])})
    posterior = nb.fit(nb.Categorical(), X, ["p", "p", "q", "q", "q", "p"])
    rows = pl.DataFrame({"day": [*days, datetime(1999, 12, 31).date()]})
    assert_as_in_memory(posterior, rows, engine)
    with pytest.raises(TypeError, match=r"column 'day' holds Datetime.*by text, numbers or days alone"):
        posterior.predict_proba(lazily(rows.cast(pl.Datetime), engine))
    of_times = nb.fit(nb.Categorical(), X.cast(pl.Datetime), ["p", "p", "q", "q", "q", "p"])
    with pytest.raises(TypeError, match="column 'day' holds Date, and its categories in the fit are of another type"):
        of_times.predict_proba(lazily(rows, engine))


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_columns_without_a_type_are_missing(engine):
    rng, y = np.random.default_rng(3), ["a", "b"] * 30
    days = [datetime(2024, 1, day % 28 + 1) for day in range(60)]
    X = pl.DataFrame({"number": rng.normal(size=60), "text": rng.choice(["u", "v"], 60), "day": days})
    X = X.with_columns(other=pl.col("text"), code=pl.col("text").eq("u"), written=pl.lit("5%"))
    features = {"number": nb.Gaussian(), "text": nb.Categorical(), "code": nb.Bernoulli(), "written": nb.Gaussian()}
    features["other"] = nb.Categorical(other=True)
    for name, recipe, settings in (("number", "missing", ()), ("day", "date", (("form", None), ("part", "month")))):
        features[recipe] = (
            nb.Bernoulli() if settings == () else nb.Gaussian(),
            [DerivedColumn(recipe, name, recipe, settings)],
        )
    model = nb.NaiveBayes(features, number_forms={"written": NumberForm(".", "%")})
    posterior = nb.Exact().fit(read_table(model, X, y), key=0)
    assert_as_in_memory(posterior, X.clear(n=3).select(pl.all().cast(pl.Null)), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_class_without_probability_that_fits_best(engine):
    names = [f"x{k}" for k in range(40)]
    probs = np.array([[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]])
    family = nb.Categorical(categories=["p", "q"])
    model, parameters = nb.NaiveBayes(dict.fromkeys(names, family)), dict.fromkeys(names, probs)
    point = nb.from_parameters(model, classes=["a", "b"], class_probs=[0.0, 1.0], parameters=parameters)
    rows = pl.DataFrame({name: ["p", "q"] for name in names})
    assert_as_in_memory(weighted(point), rows, engine)


@pytest.mark.filterwarnings("ignore:.*not seen in training")
@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_long_lists_of_categories_and_large_tables(engine):
    rng = np.random.default_rng(1)
    texts = np.array([f'it\'s "{k}"' for k in range(30)])
    y = rng.choice(["a", "b", "c"], 600)
    X = pl.DataFrame(
        {
            "text": texts[(rng.integers(0, 20, 600) + 3 * (y == "a"))],
            "number": rng.integers(0, 40, 600) + (y == "b"),
            "flag": rng.random(600) < 0.4,
            "few": rng.choice(["x", "y"], 600),
            "half": rng.integers(0, 50, 600) / 2,
        }
    )
    features = {
        "text": nb.Categorical(other=True),
        "number": nb.Categorical(),
        "flag": nb.Categorical(),
        "few": nb.Categorical(other=True),
        "half": nb.Categorical(other=True),
        "pairs": (nb.JointCategorical(), ["few", "text"]),
        "given": (nb.Given(), ["number", "flag"]),
    }
    posterior = weighted(described(features, X, y))
    new = pl.DataFrame(
        {
            "text": [*texts[:25], None, "", "new"] * 2,
            "number": [*range(50), None, -1, 10**6, 7, 8, 9],
            "flag": [True, None, False, True] * 14,
            "few": ["x", "y", None, "z", "x", "y", "x"] * 8,
            "half": [0.5, np.nan, None, 3.0, 0.25, 24.5, np.inf, -0.0] * 7,
        },
        strict=False,
    )
    assert_as_in_memory(posterior, new, engine)


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_patterns_of_gaps_in_a_block_of_numbers(engine):
    rng = np.random.default_rng(2)
    names = [f"x{k}" for k in range(5)]
    X, y = pd.DataFrame(rng.normal(size=(300, 5)), columns=names), rng.choice(["a", "b"], 300)
    X["x1"] += X["x0"] * (y == "a")
    posterior = nb.fit(nb.NaiveBayes({"all": (nb.MultivariateGaussian(), names)}), X, y)
    few, many = X[:40].copy(), X.mask(rng.random(X.shape) < 0.5)
    for k, gaps in enumerate([1, 6, 16, 27, 31]):
        few.loc[4 * k : 4 * k + 3, [names[j] for j in range(5) if gaps >> j & 1]] = np.nan
    assert_as_in_memory(posterior, in_polars(few), engine)
    with pytest.raises(ValueError, match=r"columns 'x0', 'x1', .* have more than 20 patterns of missing cells: fill"):
        posterior.predict_proba(lazily(in_polars(many), engine))


@pytest.mark.filterwarnings("ignore:.*have probability zero")
@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_a_row_that_no_class_can_have_gets_the_class_probabilities(engine):
    X, y = pl.DataFrame({"u": ["p", "p", "q", "q", "r"], "v": [1, 1, 1, 0, 0]}), ["a", "a", "b", "b", "c"]
    model = nb.NaiveBayes({"u": nb.Categorical(), "v": nb.Categorical()})
    posterior = nb.fit(model, X, y, nb.MLE())
    rows = pl.DataFrame({"u": ["p", "p", "q", "r", "r", None], "v": [1, 0, 0, 0, 1, 1]})
    assert_as_in_memory(posterior, rows, engine)
    assert_as_in_memory(posterior.with_class_probs([0.0, 0.2, 0.8]), rows, engine)


def test_many_classes_make_no_deep_expression():
    rng = np.random.default_rng(3)
    y = [f"class {k}" for k in range(300)] * 2
    X = pl.DataFrame({"size": rng.normal(size=600), "kind": rng.choice(["p", "q"], 600)})
    posterior = weighted(nb.fit(nb.NaiveBayes({"size": nb.Gaussian(), "kind": nb.Categorical()}), X, y))
    found = collected(posterior.predict_proba(X[:9].lazy())).select(pl.exclude(X.columns)).to_numpy()
    np.testing.assert_allclose(found, posterior.predict_proba(X[:9]), rtol=1e-9)


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_labels_of_every_type_and_names_of_every_kind(engine):
    X = pl.DataFrame({"_NB x": [0.0, 1.0, 5.0, 6.0], "_NBR0": ["p", "p", "q", "q"], "more": [1, 2, 3, 4]})
    for labels in (
        [3, 3, 10, 10],
        [2**64 - 1, 2**64 - 1, 5, 5],
        [True, True, False, False],
        [0.5, 0.5, 1.5, 1.5],
        ["y'\"", "y'\"", "z", "z"],
    ):
        model = nb.NaiveBayes({"_NB x": nb.Gaussian(), "_NBR0": nb.Categorical()})
        posterior = nb.fit(model, X, labels, feature_names=None)
        assert_as_in_memory(posterior, X.select("more", *X.columns[:2]), engine)
        assert collected(posterior.predict_proba(lazily(X, engine))).columns[3:] == [
            f"proba_{label}" for label in posterior.classes.tolist()
        ]


# --------------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------------

WRONG = {
    "a column is missing": (lambda X: X.drop("size"), r"column 'size' is missing in X"),
    "text in a number": (lambda X: X.with_columns(size=pl.lit("large")), r"column 'size' holds text where its family"),
    "a date in a number": (
        lambda X: X.with_columns(size=pl.col("day")),
        "column 'size' holds Date.* where its",
    ),
    "numbers in text": (lambda X: X.with_columns(colour=pl.lit(3)), r"column 'colour' holds Int.*such as 'blue': conv"),
    "dates in text": (
        lambda X: X.with_columns(colour=pl.col("day")),
        r"column 'colour' holds Datetime.*, and categories are .* by text, numbers or days alone: convert the column",
    ),
    "numbers in dates": (lambda X: X.with_columns(day=pl.lit(3)), "column 'day' holds Int.*, and the fit read dates"),
    "a name is a pattern": (
        lambda X: X.with_columns(pl.lit(1).alias("^a$")),
        r"X has a column '\^a\$', a name that engines take for several",
    ),
    "a name is taken": (lambda X: X.with_columns(proba_b=pl.lit(1)), r"X has a column 'proba_b' already"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", WRONG)
def test_bad_input_names_the_column(classifier, changed, engine, case):
    change, told = WRONG[case]
    with pytest.raises((TypeError, ValueError), match=told):
        classifier.predict_proba(lazily(change(changed), engine))
    if case == "a name is taken":
        with pytest.raises(ValueError, match="a column 'prediction' already"):
            classifier.predict(lazily(changed.rename({"size": "prediction"}).with_columns(size=pl.lit(1.0)), engine))


@pytest.mark.filterwarnings("ignore:y holds labels that differ only")
def test_capitals_are_small_letters_to_sql():
    X = pl.DataFrame({"x": [0.0, 1.0, 5.0, 6.0]})
    posterior = nb.fit(nb.Gaussian(), X, ["a", "a", "A", "A"])
    assert posterior.predict_proba(X.lazy()).collect().columns == ["x", "proba_A", "proba_a"]
    with pytest.raises(ValueError, match="'proba_A' already, or two classes"):
        posterior.predict_proba(lazily(X, "duckdb"))


def test_what_a_lazy_table_cannot_have(posteriors, changed):
    lazy = changed.lazy()
    X, y = FLAT["gaussian"].table(40)
    gaussian = nb.fit(nb.Gaussian(), X, y)
    table = pl.from_pandas(X).lazy()
    with pytest.raises(ValueError, match="predict_proba of a lazy table needs the flat form of a posterior: draws"):
        posteriors["sampled"].predict_proba(lazy)
    for method in ("log_joint", "predict_log_proba"):
        with pytest.raises(TypeError, match=rf"{method} takes rows in memory, X.(collect|df)\(\)"):
            getattr(gaussian, method)(table)
    with pytest.raises(TypeError, match="takes no 'confidence': take predict_proba"):
        gaussian.predict(table, confidence=0.9)
    with pytest.raises(ValueError, match="binarize=0 compares cells in memory"):
        BernoulliNB().fit(X > 0, y).predict(table)
    mixed = nb.fit(nb.Gaussian(), X, [1 if label == y[0] else "b" for label in y])
    assert mixed.predict_proba(table).collect().columns[-2:] == ["proba_1", "proba_b"]
    with pytest.raises(TypeError, match="the classes are 1, 'b', and a column of an engine holds"):
        mixed.predict(table)


# --------------------------------------------------------------------------------------------------
# Each engine's own
# --------------------------------------------------------------------------------------------------


def test_the_query_of_a_relation_is_its_predictions(classifier, changed):
    connection = duckdb.connect()
    connection.register("cells", changed.to_arrow())
    table = classifier.predict_proba(connection.sql("SELECT * FROM cells"))
    again = connection.sql(table.sql_query()).pl()
    assert again.columns == table.columns
    np.testing.assert_allclose(again.to_numpy()[:, -3:].astype(float), table.pl().to_numpy()[:, -3:].astype(float))


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("ibis", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:.*(not seen in training|count as missing)")
def test_first_and_highest_rows_of_a_stored_table(classifier, changed, engine):
    """A table of a database has these queries of its own: of ten steps written into each other, this does not end."""
    module = pytest.importorskip(engine)
    connection = duckdb.connect() if engine == "duckdb" else module.duckdb.connect()
    database = connection if engine == "duckdb" else connection.con
    cells = changed.with_row_index("row").to_arrow()
    database.register("cells", cells)
    database.execute("CREATE TABLE stored AS SELECT * FROM cells")
    scored = classifier.predict_proba(connection.table("stored"))
    expected = classifier.predict_proba(changed)[:, 0]
    first = collected(scored.limit(9000)).sort("row")
    np.testing.assert_allclose(first["proba_a"].to_numpy(), expected, rtol=1e-9)
    highest = scored.order("proba_a DESC") if engine == "duckdb" else scored.order_by(module.desc("proba_a"))
    found = collected(highest.limit(10))["proba_a"].to_numpy()
    np.testing.assert_allclose(found, -np.sort(-expected)[:10], rtol=1e-9)


@pytest.mark.filterwarnings("ignore:.*(not seen in training|count as missing)")
def test_frames_of_dask_stay_frames_and_arrays_arrays(classifier, changed):
    frame = changed.to_pandas()
    posterior = classifier.posterior_
    expected = posterior.predict_proba(frame)
    table = dd.from_pandas(frame, npartitions=3)
    for predictor in (classifier, posterior):
        found = predictor.predict_proba(table)
        assert isinstance(found, dd.DataFrame)
        pd.testing.assert_frame_equal(found.compute()[frame.columns], frame, check_dtype=False)
        np.testing.assert_allclose(found.compute()[[f"proba_{label}" for label in CLASSES]].to_numpy(), expected)
        assert predictor.predict(table)["prediction"].compute().tolist() == posterior.predict(frame).tolist()
    told = posterior.predict(table, confidence=0.9, abstain="?")["prediction"].compute()
    assert told.tolist() == posterior.predict(frame, confidence=0.9, abstain="?").tolist()
    with pytest.raises(ValueError, match="'prediction' already"):
        posterior.predict(table.assign(prediction=1))
    X, y = FLAT["gaussian"].table(40)
    rows = da.from_array(X.to_numpy(), chunks=(20, -1))
    for method in ("predict_proba", "predict"):
        assert isinstance(getattr(nb.fit(nb.Gaussian(), X.to_numpy(), y), method)(rows), da.Array)


def test_an_estimator_of_one_family():
    X, y = FLAT["gaussian"].table(40)
    estimator = GaussianNB().fit(X, y)
    found = collected(estimator.predict_proba(pl.from_pandas(X).lazy())).to_numpy()[:, -2:]
    np.testing.assert_allclose(found, estimator.predict_proba(X), rtol=1e-9)
