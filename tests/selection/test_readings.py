"""Readings: columns derived of gaps, names and dates, which weights choose among."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.data.derived import date_part
from bayesnb.data.read import as_table

ROWS = 400
START = np.datetime64("2019-11-25T00:00")


def simulated(rows=ROWS, seed=5):
    """A number with gaps, a whole number that is a name, text with one common value, and a date; all tell the class."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], rows)
    k = np.searchsorted(["a", "b", "c"], y)
    wage = np.where(rng.random(rows) < 0.1 + 0.3 * k, np.nan, rng.normal(size=rows))
    who = 3 * rng.integers(0, 30, rows) + np.where(rng.random(rows) < 0.6, k, rng.integers(0, 3, rows))
    code = np.where(rng.random(rows) < 0.5, "usual", np.array([f"t{i}" for i in who]))
    when = START + (rng.integers(0, 400 * 24, rows) + 60 * 24 * k).astype("timedelta64[h]")
    X = pd.DataFrame({"wage": wage, "who": who, "code": code.astype(object), "when": when.astype("datetime64[ns]")})
    return X, y


OF_ALL = [
    "wage is missing",
    "who as categories",
    "code as categories",
    "when day",
    "when month",
    "when weekday",
    "when hour",
]


@pytest.fixture(scope="module")
def table():
    return simulated()


@pytest.fixture(scope="module")
def fitted(table):
    return nb.NaiveBayesClassifier().fit(*table)


def described(X, y=None, **options):
    """The readings that are proposed of a table."""
    y = np.arange(len(X)) % 2 if y is None else y
    extra = X.assign(beside=np.linspace(0, 1, len(X)))
    dates = [name for name in X if X[name].dtype.kind == "M" or name.startswith("d")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nb.NaiveBayes.from_frame(extra, y, exclude=dates)
        return nb.propose_descriptions(model, extra, y, **options)


def proposed(X, y, **options):
    return nb.propose_descriptions(nb.NaiveBayes.from_frame(X, y), X, y, **options)


def readings_in(model):
    features = model.features.items()
    return [name for name, (_, columns) in features if isinstance(columns, list) and hasattr(columns[0], "recipe")]


# --------------------------------------------------------------------------------------------------
# What is proposed, and what it reads
# --------------------------------------------------------------------------------------------------

MOMENTS = START + np.random.default_rng(1).integers(0, 3 * 365 * 24 * 60, 200).astype("timedelta64[m]")
DATES = pd.Series(MOMENTS.astype("datetime64[ns]"))
TEXTS = {
    form: DATES.dt.strftime(form)
    for form in (
        *("%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y"),
        *("%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y"),
        *("%d-%b-%y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p"),
        *("%m/%d/%Y %I:%M:%S %p", "%B %d, %Y %H:%M:%S"),
    )
}
COLUMNS = {
    "datetime64[ns]": DATES,
    "datetime64[s]": DATES.astype("datetime64[s]"),
    "with a time zone": DATES.dt.tz_localize("Europe/Berlin", ambiguous=True, nonexistent="shift_forward"),
    "datetime": pd.Series(DATES.dt.to_pydatetime(), dtype=object),
    "date": DATES.dt.date,
    "Period": DATES.dt.to_period("D"),
    **TEXTS,
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_parts_of_dates_are_those_of_pandas(kind):
    """Whatever holds the dates; a missing cell has no parts."""
    dates = COLUMNS[kind].copy()
    dates[::7] = None
    moments = dates.dt.tz_localize(None) if kind == "with a time zone" else DATES.where(dates.notna())
    hours = "time" in kind or "%H" in kind or "%I" in kind
    if not hours:
        moments = moments.dt.floor("D")
    elif "%" in kind and "%S" not in kind:
        moments = moments.dt.floor("min")
    expected = {
        "d day": (moments - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1),
        "d month": moments.dt.month,
        "d weekday": moments.dt.day_of_week + 1,
        "d hour": moments.dt.hour,
    }
    given = pd.DataFrame({"d": dates})
    model = described(given)
    assert readings_in(model) == [*expected][: 3 + hours]
    for name in [*expected][: 3 + hours]:
        (column,) = model.features[name][1]
        found = date_part(as_table(given).stored_values(0, slice(None)), **dict(column.settings))
        np.testing.assert_allclose(found, expected[name].astype(float), rtol=1e-12)


AMBIGUOUS = ["03/04/2021", "05/06/2021", "01/02/2022", "07/08/2022"]
NO_DATES = {
    "day or month first": AMBIGUOUS,
    "a year alone": ["2019", "2020", "2021", "1999"],
    "times of a day": ["12:30", "13:45", "07:15", "23:59"],
    "digits": ["20200101", "20210315", "20191231", "20220704"],
    "text": ["May", "June", "March 5", "Friday"],
    "half of them": ["2020-01-01", "2021-03-05", "no", "none"],
    "one day": ["2020-01-01"],
}


@pytest.mark.parametrize("kind", NO_DATES)
def test_other_texts_are_no_dates(kind):
    given = pd.DataFrame({"d": np.resize(np.array(NO_DATES[kind], dtype=object), 40)})
    assert not readings_in(described(given))


def test_one_unambiguous_date_tells_the_form():
    given = pd.DataFrame({"d": np.resize(np.array([*AMBIGUOUS, "25/12/2021"], dtype=object), 40)})
    model = described(given)
    assert dict(model.features["d month"][1][0].settings)["form"] == "%d/%m/%Y"


def test_one_warning_says_how_text_is_read(table):
    X, y = table
    when = X["when"].dt.strftime("%d/%m/%Y")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = nb.NaiveBayesClassifier().fit(X.assign(when=when), y)
        odd = X.assign(when=when.where(np.arange(ROWS) % 9 > 0, "soon"))
        expected = found.predict_proba(X.assign(when=when.where(np.arange(ROWS) % 9 > 0, None)))
        np.testing.assert_array_equal(found.predict_proba(odd), expected)
    assert len(caught) == 1
    assert "'when' (%d/%m/%Y)" in str(caught[0].message)


WITH_GAPS = {
    "few": (0.02, True),
    "none": (0.0, False),
    "all": (1.0, False),
    "nearly none": (0.0025, False),
    "nearly all": (0.9975, False),
    "most": (0.99, True),
}


@pytest.mark.parametrize("kind", ["float", "object", "Float64", "text", "boolean"])
@pytest.mark.parametrize("number", WITH_GAPS)
def test_gaps_of_columns(number, kind):
    """A column has a reading of its gaps unless nearly all cells are missing or observed."""
    share, has = WITH_GAPS[number]
    missing = np.arange(ROWS) < share * ROWS
    numbers = pd.Series(np.random.default_rng(0).permutation(ROWS) % 5 + 0.5)
    column = {
        "float": lambda: numbers,
        "object": lambda: numbers.astype(object),
        "Float64": lambda: numbers.astype("Float64"),
        "text": lambda: "t" + numbers.astype(str),
        "boolean": lambda: (numbers > 2).astype("boolean"),
    }[kind]().mask(missing)
    if kind == "boolean" and number == "all":
        pytest.skip("categories without any cell are an error")
    model = described(pd.DataFrame({"x": column}))
    assert readings_in(model) == ["x is missing"] * has


def test_columns_missing_in_the_same_rows_share_a_reading():
    rng = np.random.default_rng(2)
    one, other = rng.random((2, ROWS)) < 0.2
    X = pd.DataFrame({name: rng.normal(size=ROWS) for name in "abce"})
    X = X.assign(a=X["a"].mask(one), b=X["b"].mask(other), c=X["c"].mask(one), e=X["e"].mask(~one))
    assert readings_in(described(X)) == ["a is missing", "b is missing", "e is missing"]


NAMES = {
    "whole numbers": (lambda i: i.astype(float), True),
    "integers": (lambda i: i, True),
    "text": (lambda i: np.array([f"t{k}" for k in i], dtype=object), True),
    "numbers and text": (lambda i: np.array([k if k % 2 else f"t{k}" for k in i.tolist()], dtype=object), True),
    "objects": (lambda i: i.astype(object), True),
    "tenths": (lambda i: i / 10, False),
    "tenths in objects": (lambda i: (i / 10).astype(object), False),
    "few": (lambda i: i % 20, False),
    "too many": (lambda i: np.arange(len(i)) // 2, False),
}


@pytest.mark.parametrize("kind", NAMES)
def test_whole_numbers_and_text_are_categories_too(kind):
    make, has = NAMES[kind]
    cells = make(np.random.default_rng(3).integers(0, 40, ROWS))
    given = pd.DataFrame({"x": cells})
    assert readings_in(described(given)) == ["x as categories"] * has


def test_values_met_once_and_never_are_one_category():
    """A value seen once, one never seen, and a missing cell, in a column of names."""
    rng = np.random.default_rng(4)
    who = rng.integers(0, 30, ROWS).astype(float)
    y = np.where(who % 2 + rng.normal(scale=0.3, size=ROWS) > 0.5, "odd", "even")
    who[0], who[1] = 1000.0, np.nan
    X = pd.DataFrame({"who": who, "z": rng.normal(size=ROWS)})
    reading = proposed(X, y).features["who as categories"]
    model = nb.NaiveBayes({"z": nb.Gaussian(), "who as categories": reading})
    posterior = nb.weight_features(model, X, y).plain
    rows = pd.DataFrame({"who": [1000.0, 1001.0, np.nan, 3.0], "z": 0.0})
    once, never, missing, often = posterior.log_joint(rows)
    np.testing.assert_array_equal(once, never)
    of_z = nb.fit(nb.NaiveBayes({"z": nb.Gaussian()}), X, y).log_joint(rows)
    np.testing.assert_allclose(missing, of_z[2])
    assert (often - of_z[3])[1] > (often - of_z[3])[0] + 1


# --------------------------------------------------------------------------------------------------
# Weights of readings
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_readings_of_noise_drop_out(table, seed):
    """With permuted labels, all is as without readings."""
    X, y = table
    labels = np.random.default_rng(seed).permutation(y)
    options = {"random_state": 7}
    found = nb.NaiveBayesClassifier(**options).fit(X, labels)
    expected = nb.NaiveBayesClassifier(descriptions="columns", **options).fit(X.drop(columns="when"), labels)
    assert readings_in(proposed(X.drop(columns="when"), labels)) == OF_ALL[:3]
    assert not readings_in(found.posterior_.model)
    one, other = (each.posterior_.feature_weights for each in (found, expected))
    np.testing.assert_allclose(one.weight, other.weight, rtol=1e-10)
    np.testing.assert_allclose(one.weight_draws.mean(axis=(0, 1)), other.weight_draws.mean(axis=(0, 1)), rtol=0.2)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-10)
    later = simulated(60, seed)
    found.partial_fit(*later), expected.partial_fit(later[0].drop(columns="when"), later[1])
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::bayesnb.inference.exact.ConvergenceWarning")
@pytest.mark.parametrize("others", [1, 2])
def test_nuts_and_the_approximation_agree(others):
    """The ratio may be zero: then the weights of readings are zero in both."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame(rng.normal(size=(300, others)) + y[:, None], columns=["x", "z"][:others])
    X = X.assign(x=X["x"].mask(rng.random(300) < 0.15 + 0.09 * y))
    model = proposed(X, y)
    found = nb.weight_features(model, X, y)
    sampled = nb.weight_features(model, X, y, inference=nb.NUTS(num_samples=500, progress=False), key=2)
    one, other = found.feature_weights.weight_draws, sampled.feature_weights.weight_draws
    assert one.shape[2] == other.shape[2] == others + 1
    zero, of_nuts = (each[..., -1] == 0 for each in (one, other))
    assert 0 < zero.mean() < 0.2
    assert of_nuts.mean() == pytest.approx(zero.mean(), abs=0.03)
    spread = np.sqrt(one.var(axis=(0, 1)))
    np.testing.assert_array_less(np.abs(one.mean(axis=(0, 1)) - other.mean(axis=(0, 1))), 0.2 * spread)
    np.testing.assert_array_less(np.abs(found.predict_proba(X) - sampled.predict_proba(X)), 0.03)
