"""Readings: columns derived of gaps, names and dates, which weights choose among."""

import pickle
import warnings
from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from typer.testing import CliRunner

import bayesnb as nb
from bayesnb.cli import app
from bayesnb.core.recipes import date_part
from bayesnb.data.read import as_table
from bayesnb.model.blocks import feature_names
from bayesnb.model.feature_weights import ConditionalLikelihood
from bayesnb.model.laplace import approximate_with_readings

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
    with warnings.catch_warnings(action="ignore"):
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
    seen = np.arange(ROWS) % 9 > 0
    with warnings.catch_warnings(record=True, action="always") as caught:
        found = nb.NaiveBayesClassifier().fit(X.assign(when=when), y)
        expected = found.predict_proba(X.assign(when=when.where(seen, None)))
        np.testing.assert_array_equal(found.predict_proba(X.assign(when=when.where(seen, "2020-01-31"))), expected)
        nb.NaiveBayesClassifier().fit(X.assign(when=when.where(seen, "soon")), y)
    of_fit = "text that is read as dates, here and in later rows: 'when' (%d/%m/%Y)"
    of_cells = "column 'when': cells in another form than the dates of the fit (%d/%m/%Y) count as missing: "
    told = [of_fit, of_cells + "'2020-01-31'", of_fit, of_cells + "'soon'"]
    assert [str(warning.message) for warning in caught] == told


def test_a_stream_says_once_how_text_is_read(table):
    """Python's filter, which libraries reset, and each later batch that is learned from anew."""
    X, y = table[0].assign(when=table[0]["when"].dt.strftime("%d/%m/%Y")), table[1]
    found = nb.NaiveBayesClassifier()
    with warnings.catch_warnings(record=True) as caught:
        for rows in np.split(np.arange(ROWS), 4):
            warnings.resetwarnings()
            found.partial_fit(X.iloc[rows], y[rows], classes=["a", "b", "c"])
    assert len(readings_in(found.posterior_.model)) > 3
    assert len([one for one in caught if "read as dates" in str(one.message)]) == 1


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
@pytest.mark.slow
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


@pytest.mark.slow
def test_prior_draws_have_no_readings_as_often_as_the_prior_says(fitted):
    """One ratio of five is zero; the other weights do not depend on it."""
    drawn = fitted.posterior_.belief.model.draw_prior(np.random.default_rng(3), (20_000,)).weight
    zero = drawn[:, -len(OF_ALL) :] == 0
    assert (zero == zero[:, :1]).all()
    assert zero[:, 0].mean() == pytest.approx(0.2, abs=0.012)
    assert drawn[zero[:, 0], 0].mean() == pytest.approx(drawn[~zero[:, 0], 0].mean(), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("others", [1, 3])
def test_the_evidence_of_each_ratio_is_that_of_draws(others):
    """Importance sampling from the approximation gives the probability of every spread and ratio, and the means."""
    rng = np.random.default_rng(12)
    codes = rng.integers(0, 2, 300)
    log_density = rng.normal(size=(300, 2, others + 2)) * 0.5
    log_density[np.arange(300), codes] += [*[0.4] * others, 0.12, 0.0]
    likelihood = ConditionalLikelihood.of(log_density, np.full((300, 2), np.log(0.5)), codes, np.ones(300))
    found = approximate_with_readings(likelihood, 2, 2, rng)
    size = others + 2
    assert found.num_weights == size
    log_evidence, means = [], []
    for part in found.parts:
        own = part.prior.num_weights
        draws, given = part.distribution.draw(4000, rng), likelihood.of_features(slice(own))
        log_ratio = np.array([given.value_and_gradient(draw)[0] for draw in draws]) + part.prior.log_density(draws)
        away = draws - part.gaussian.mean
        log_ratio += np.einsum("np,pq,nq->n", away, part.gaussian.precision, away) / 2
        log_ratio += part.distribution.log_probability(4000, rng) - np.linalg.slogdet(part.gaussian.precision)[1] / 2
        log_evidence.append(logsumexp(log_ratio) - np.log(4000))
        means.append(found.padded(softmax(log_ratio) @ draws))
    expected = softmax(log_evidence)
    np.testing.assert_allclose(found.probabilities, expected, atol=0.03)
    # Six spreads and five ratios are equally probable before; those that are not tried explain nothing.
    assert found.log_evidence == pytest.approx(logsumexp(log_evidence) - np.log(30), abs=0.1)
    drawn = found.draw(4000, rng)[0]
    np.testing.assert_allclose(drawn.mean(axis=0), expected @ np.array(means), atol=0.05)
    ratios = [part.prior.ratio for part in found.parts]
    assert 0 < found.probabilities @ (np.array(ratios) == 0) < 0.5
    assert sum(ratio == 0 for ratio in ratios) == 6


@pytest.mark.slow
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


# --------------------------------------------------------------------------------------------------
# Every way to the same numbers
# --------------------------------------------------------------------------------------------------

TABLES = {
    "polars": pl.from_pandas,
    "arrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "objects": lambda X: X.astype(object).where(X.notna(), None),
    "nullable": lambda X: X.convert_dtypes(),
    "columns in another order": lambda X: X[X.columns[::-1]].assign(more=1.0),
    "dates as text": lambda X: X.assign(when=X["when"].astype(str)),
    "seconds": lambda X: X.assign(when=X["when"].astype("datetime64[s]")),
}


def test_all_readings_are_in_the_fit(fitted, table):
    X, _ = table
    assert readings_in(fitted.posterior_.model) == OF_ALL
    assert fitted.weights_.index.tolist()[-len(OF_ALL) :] == OF_ALL
    assert fitted.feature_names_in_.tolist() == [*X]
    assert fitted.n_features_in_ == 4
    assert feature_names(fitted.posterior_.model.blocks)[-len(OF_ALL) :] == OF_ALL
    assert "when month ~ Categorical" in repr(fitted.posterior_.model)


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_any_library(fitted, table, kind):
    X, y = table
    expected = fitted.predict_proba(X)
    given = TABLES[kind](X)
    np.testing.assert_allclose(fitted.predict_proba(given), expected, rtol=1e-12)
    if kind not in ("columns in another order", "dates as text"):
        again = nb.NaiveBayesClassifier().fit(given, y)
        np.testing.assert_allclose(again.predict_proba(X), expected, rtol=1e-10)


ROUTES = {
    "pickle": lambda found, path: pickle.loads(pickle.dumps(found)),
    "posterior": lambda found, path: found.posterior_,
    "file": lambda found, path: (found.save(path), nb.load(path))[1],
    "file of the posterior": lambda found, path: (found.posterior_.save(path), nb.load(path))[1],
}


@pytest.mark.parametrize("route", ROUTES)
def test_files_and_pickles(fitted, table, route, tmp_path):
    X, _ = table
    again = ROUTES[route](fitted, tmp_path / "readings.nc")
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    row = X.iloc[7]
    np.testing.assert_allclose(again.predict_proba(row.to_dict()), fitted.predict_proba(X)[[7]], rtol=1e-12)
    np.testing.assert_allclose(again.predict_proba(X.iloc[[7]]), fitted.predict_proba(X)[[7]], rtol=1e-12)


def test_a_row_without_a_column_says_so(table):
    """Its absence is no gap, whether the column had gaps or not."""
    X, y = table
    found = nb.NaiveBayesClassifier().fit(X, y)
    for name in X:
        with pytest.raises(ValueError, match=f"'{name}'"):
            found.predict_proba({key: value for key, value in X.iloc[3].items() if key != name})


@pytest.mark.slow
def test_the_first_gap_of_a_column_may_come_later(table):
    X, y = table
    whole = X.assign(wage=X["wage"].fillna(0.5))
    for keep_rows in (0, 50, 2000):
        found = nb.NaiveBayesClassifier(keep_rows=keep_rows).partial_fit(whole, y, classes=[*"abc"])
        assert "wage is missing" not in found.posterior_.model.features
        assert np.isfinite(found.predict_proba(X)).all()
        found.partial_fit(X, y)
        assert ("wage is missing" in found.posterior_.model.features) == (keep_rows > 0)
        assert np.isfinite(found.predict_log_proba(X)).all()


@pytest.mark.filterwarnings("ignore:column 'code'")
@pytest.mark.slow
def test_batches_are_one_table(fitted, table):
    X, y = table
    found = nb.NaiveBayesClassifier()
    for rows in np.array_split(np.arange(ROWS), 4):
        found.partial_fit(X.iloc[rows], y[rows], classes=["a", "b", "c"])
    np.testing.assert_allclose(found.predict_proba(X), fitted.predict_proba(X), rtol=1e-10)
    taken = nb.NaiveBayesClassifier().partial_fit(X, y, classes=[*"abc"]).forget(X.iloc[:100], y[:100])
    rest = nb.NaiveBayesClassifier().fit(X.iloc[100:], y[100:])
    np.testing.assert_allclose(taken.predict_proba(X), rest.predict_proba(X), rtol=1e-10)


@pytest.mark.filterwarnings("ignore:column 'code'", "ignore:the model leaves out 'when'")
@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_learning_on_keeps_readings(table, decay):
    """Without kept rows, weights learn on from batch to batch; the score of new rows gains by the readings."""
    X, y = simulated(1200, 6)
    scores = {}
    for descriptions in ("auto", "columns"):
        found = nb.NaiveBayesClassifier(keep_rows=0, decay=decay, descriptions=descriptions)
        given = X if descriptions == "auto" else X.drop(columns="when")
        for rows in np.array_split(np.arange(800), 4):
            found.partial_fit(given.iloc[rows], y[rows], classes=["a", "b", "c"])
        log_proba = found.predict_log_proba(given.iloc[800:])
        scores[descriptions] = log_proba[np.arange(400), np.searchsorted(found.classes_, y[800:])].mean()
    assert scores["auto"] > scores["columns"] + 0.05


def test_dask_and_parquet(fitted, table, tmp_path):
    dask = pytest.importorskip("dask.dataframe")
    X, y = table
    given, labels = (dask.from_pandas(each, npartitions=3) for each in (X, pd.Series(y)))
    found = nb.NaiveBayesClassifier().fit(given, labels)
    predicted = found.predict_proba(given).compute().filter(like="proba_")
    np.testing.assert_allclose(predicted, fitted.predict_proba(X), rtol=1e-10)


def test_the_command_line(table, tmp_path):
    X, y = table
    given = X.assign(when=X["when"].dt.strftime("%d/%m/%Y %H:%M"), y=y)
    path, model = tmp_path / "table.csv", tmp_path / "model.nc"
    given.to_csv(path, index=False)
    told = CliRunner().invoke(app, ["fit", str(path), "--target", "y", "--out", str(model)])
    assert told.stderr.count("'when' (%d/%m/%Y %H:%M)") == 1
    assert all(name in told.stdout for name in OF_ALL)
    found = pd.read_csv(StringIO(CliRunner().invoke(app, ["predict", str(model), str(path)]).stdout))
    expected = nb.NaiveBayesClassifier().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found.filter(like="proba"), expected, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:column 'code'")
def test_parameters_choose_readings(table):
    X, y = table
    exclude = ("x is missing", "x day", "x hour")
    left = [name for name in OF_ALL if f"x {name.split(' ', 1)[1]}" not in exclude]
    search = GridSearchCV(nb.NaiveBayesClassifier(), {"exclude": [exclude], "descriptions": ["auto"]}, cv=2)
    found = search.fit(X, y).best_estimator_
    assert readings_in(found.posterior_.model) == left
    assert readings_in(proposed(X.drop(columns="when"), y, exclude=exclude)) == left[:2]
    assert clone(found).get_params()["exclude"] == exclude
    with pytest.warns(UserWarning, match="'when'"):
        plain = nb.NaiveBayesClassifier(descriptions="columns").fit(X, y)
    every = ("x is missing", "x as categories", "x day", "x month", "x weekday", "x hour")
    with pytest.warns(UserWarning, match="'when'"):
        none = nb.NaiveBayesClassifier(exclude=every).fit(X, y)
    np.testing.assert_array_equal(none.predict_proba(X), plain.predict_proba(X))
    assert not readings_in(plain.posterior_.model)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"exclude": ("x is gone",)},
            ValueError,
            "'x is gone'.*x is missing, x as categories, x day.*x hour; x is any column",
        ),
        ({"exclude": "wage is missing"}, ValueError, "'wage is missing'"),
        ({"exclude": [3]}, ValueError, "exclude names 3"),
        ({"descriptions": "all"}, ValueError, '"auto", "columns" or None'),
    ],
)
def test_wrong_parameters(table, options, error, message):
    with pytest.raises(error, match=message):
        nb.NaiveBayesClassifier(**options).fit(*table)


def test_explanations_sum_to_the_odds_by_column(fitted, table):
    X, _ = table
    posterior = fitted.posterior_
    for i in (0, 3):
        row = X.iloc[[i]]
        found = posterior.explain(row)
        assert found.index.tolist()[1:-1] == [*X] or found.index.tolist()[1:] == [*X]
        log_proba = np.sort(posterior.predict_log_proba(row)[0])
        assert found["log_odds"].sum() == pytest.approx(log_proba[-1] - log_proba[-2], abs=1e-8)


def test_telling_features_name_readings(fitted):
    """Each by its own values; what a column of whole numbers says is not that of a category that it never has."""
    found = nb.telling_features(fitted, num=1000)
    assert {*OF_ALL} - {*found["feature"]} == {"when day"}
    of_gaps = found[found["feature"] == "wage is missing"].set_index("class")
    assert (of_gaps["value"]["a"], of_gaps["value"]["c"]) == (0, 1)


@pytest.mark.slow
def test_the_function_of_arrays_is_the_same_density(table, float64):
    X, y = table
    X = X.drop(columns="when").assign(code=X["code"].where(np.arange(ROWS) % 5 > 0, None))
    posterior = nb.NaiveBayesClassifier().fit(X, y).posterior_
    gaps = ["wage is missing", "code is missing"]
    assert readings_in(posterior.model) == [*gaps, "who as categories", "code as categories"]
    rows = pd.concat([X, X.iloc[:3].assign(who=[1e6, -5, np.nan])])
    codes = {value: float(code) for code, value in enumerate(posterior.model.schema.categories[2])}
    cells = np.column_stack([rows["wage"], rows["who"], [codes.get(value, np.nan) for value in rows["code"]]])
    found = np.asarray(posterior.log_joint_function()(cells.astype(float)))
    np.testing.assert_allclose(found, posterior.log_joint(rows), rtol=1e-10)


def test_arrays_hold_no_dates(fitted):
    with pytest.raises(ValueError, match="dates of the column 'when'"):
        fitted.posterior_.log_joint_function()


def test_what_describes_rows_has_no_readings(fitted, table):
    X, y = table
    generative = fitted.posterior_.generative
    assert not readings_in(generative.model)
    simulated_rows, _ = fitted.posterior_.simulate(num_rows=20)
    assert [*simulated_rows] == ["wage", "who", "code"]
    assert np.isfinite(nb.loo(generative, X, y).elpd)


def test_more_features_than_have_weights(table, monkeypatch):
    X, y = table
    monkeypatch.setattr("bayesnb.selection.weighing.MOST_FEATURES", 5)
    found = nb.NaiveBayesClassifier().fit(X, y)
    monkeypatch.undo()
    expected = nb.NaiveBayesClassifier(descriptions="columns").fit(X.drop(columns="when"), y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-8)


def test_forest_and_blocks_see_no_readings(table):
    X, y = table
    rng = np.random.default_rng(0)
    X = X.drop(columns="when").assign(twin=X["wage"] + 0.1 * rng.normal(size=ROWS))
    with_readings, without = proposed(X, y), proposed(X, y, exclude=("x is missing", "x as categories"))
    own = readings_in(with_readings)
    assert own == ["wage is missing", "who as categories", "code as categories"]
    assert [name for name in with_readings.features if name not in own] == [*without.features]
    assert [*with_readings.features][-3:] == own
    again = nb.propose_descriptions(with_readings, X, y)
    assert readings_in(again) == own
    assert nb.weight_features(again, X, y).weights.index.tolist()[-3:] == own


@pytest.mark.parametrize("names", [(0, 1), (("a", 1), ("a", 2)), ("x", "x is missing")])
def test_names_of_columns(names):
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 300)
    first = np.where(rng.random(300) < 0.1 + 0.4 * y, np.nan, rng.normal(size=300))
    X = pd.DataFrame({names[0]: first, names[1]: rng.normal(size=300)})
    found = nb.NaiveBayesClassifier().fit(X, y)
    assert f"{names[0]} is missing" in found.weights_.index
    assert len(found.weights_) == 3 - (names[0] == "x")
    assert np.isfinite(found.predict_log_proba(X)).all()


def test_weights_of_rows_repeat_them(table):
    X, y = table
    weight = np.random.default_rng(1).integers(0, 3, ROWS)
    rows = np.repeat(np.arange(ROWS), weight)
    one = nb.propose_descriptions(nb.NaiveBayes.from_frame(X, y, exclude=["when"]), X, y, sample_weight=weight)
    again = nb.propose_descriptions(
        nb.NaiveBayes.from_frame(X, y, exclude=["when"]), X.iloc[rows].reset_index(drop=True), y[rows]
    )
    assert readings_in(one) == readings_in(again) == OF_ALL
    for name in OF_ALL[1:3]:
        categories = [{*each.features[name][0].categories} for each in (one, again)]
        assert categories[0] == categories[1]
