"""Cells as databases and files give them: numbers written as text, decimals, dates, pandas.NA, texts."""

import datetime
import warnings
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

import bayesnb as nb
from bayesnb import estimators
from bayesnb.estimators import NaiveBayesClassifier

ROWS = 60
RNG = np.random.default_rng(3)
Y = RNG.choice(["a", "b"], ROWS)
H = np.round(RNG.normal(1700, 700, ROWS) + 800 * (Y == "a"), 1)
Z = RNG.normal(size=ROWS)
NUMBERS = pd.DataFrame({"h": H, "z": Z})

German = str.maketrans(",.", ".,")
FORMS = {
    "plain": str,
    "signed": lambda x: f"{x:+.1f}",
    "a minus of typography": lambda x: f"{x:.1f}".replace("-", "\u2212"),
    "per cent": "{:.1f}%".format,
    "dollars": lambda x: f"{'-' if x < 0 else ''}${abs(x):,.2f}",
    "thousands": "{:,.1f}".format,
    "decimal comma": lambda x: f"{x:.1f}".replace(".", ","),
    "German": lambda x: f"{x:,.1f} €".translate(German),
    "French": lambda x: f"{x:,.1f}".replace(",", "\u202f").replace(".", ","),
    "Swiss": lambda x: f"{x:,.1f}".replace(",", "'"),
    "exponents": "{:.6e}".format,
}
KINDS = {
    "pandas": lambda frame: frame.set_axis(RNG.permutation(len(frame))),
    "categorical": lambda frame: frame.astype({"h": "category"}),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "array": lambda frame: frame.to_numpy(object),
}


def written(form, cells=H):
    return NUMBERS.assign(h=[*map(FORMS[form], cells)])


def told_of(call):
    """What a call returns, and the texts of its warnings."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        return call(), [str(each.message) for each in caught]


@pytest.fixture(scope="module")
def expected():
    return nb.fit(nb.NaiveBayes.from_frame(NUMBERS, Y), NUMBERS, Y).predict_proba(NUMBERS)


STAYS = {
    "a leading zero": [f"{int(h) + 3000:05}" for h in H],
    "words": [f"{h} kg or so" for h in H],
    "ISO dates": pd.date_range("2020-01-01", periods=ROWS).astype(str),
    "dates of eight digits": pd.date_range("2020-01-01", periods=ROWS).strftime("%Y%m%d"),
    "German dates": pd.date_range("2020-01-01", periods=ROWS).strftime("%d.%m.%Y"),
    "months": pd.period_range("1990-01", periods=ROWS, freq="M").strftime("%Y.%m"),
}


class TestNumbersThatAreWrittenAsText:
    @pytest.mark.parametrize("form", [*FORMS, "choose_families"])
    def test_are_numbers(self, form, expected):
        choose, X = nb.NaiveBayes.from_frame, written("German" if form == "choose_families" else form)
        if form == "choose_families":
            choose = lambda X, y: nb.choose_families(X, y).model  # noqa: E731
        model, (told,) = told_of(lambda: choose(X, Y))
        assert told.startswith("the model reads as numbers 'h'")
        np.testing.assert_allclose(nb.fit(model, X, Y).predict_proba(X), expected, rtol=1e-9)
        # Numbers in later rows are numbers.
        np.testing.assert_allclose(nb.fit(model, X, Y).predict_proba(NUMBERS), expected, rtol=1e-9)

    @pytest.mark.parametrize("kind", KINDS)
    def test_in_every_kind_of_table(self, kind, expected):
        X = KINDS[kind](written("German"))
        (fitted,), (told,) = told_of(lambda: (NaiveBayesClassifier(feature_weights=None).fit(X, Y),))
        assert "reads as numbers" in told
        np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-12)

    def test_of_batches_files_and_partitions(self, expected, tmp_path):
        X = written("German")
        model, _ = told_of(lambda: nb.NaiveBayes.from_frame(X, Y))
        X.assign(y=Y).to_parquet(tmp_path / "rows.parquet")
        posterior = nb.fit(model, X, Y)
        posterior.save(tmp_path / "model.nc")
        fitted = [
            posterior,
            nb.fit(model, X[:20], Y[:20]).update(X[20:], Y[20:]),
            nb.fit_batches(model, [(X[:20], Y[:20]), (X[20:], Y[20:])]),
            nb.fit_parquet(model, tmp_path, "y"),
            nb.load(tmp_path / "model.nc"),
        ]
        np.testing.assert_array_equal(fitted[-1].predict_proba(X), posterior.predict_proba(X))
        for one in fitted[2:4]:
            np.testing.assert_allclose(one.predict_proba(X), expected, rtol=1e-9)
        alike = nb.fit(model, NUMBERS[:20], Y[:20]).update(NUMBERS[20:], Y[20:])
        np.testing.assert_allclose(fitted[1].predict_proba(X), alike.predict_proba(NUMBERS), rtol=1e-9)

    def test_with_weights_descriptions_and_partial_fit(self):
        X = written("German")
        fitted, _ = told_of(lambda: NaiveBayesClassifier().fit(X, Y))
        alike = NaiveBayesClassifier().fit(NUMBERS, Y)
        pd.testing.assert_frame_equal(fitted.weights_, alike.weights_)
        for one in (fitted, alike):
            one.partial_fit(X if one is fitted else NUMBERS, Y)
        np.testing.assert_allclose(fitted.predict_proba(X), alike.predict_proba(NUMBERS), rtol=1e-12)

    def test_other_cells_are_missing_and_named(self):
        marks = ["n/a", "-", "?", "none", "unknown"]
        text, numbers = written("German"), NUMBERS.copy()
        text.loc[:4, "h"], numbers.loc[:4, "h"] = marks, np.nan
        model, (told,) = told_of(lambda: nb.NaiveBayes.from_frame(text, Y))
        assert "no number: '-', '?', 'n/a' and 2 more" in told
        assert "counted as a category" not in told
        (fitted, told) = told_of(lambda: nb.fit(model, text, Y))
        assert not told  # the choice of the model has told it
        with pytest.warns(UserWarning, match=r"count as missing: column 'h': '17 cm'$"):
            found = fitted.predict_proba(text.assign(h=text["h"].where(text.index != 7, "17 cm")))
        alike = nb.fit(nb.NaiveBayes.from_frame(numbers, Y), numbers, Y)
        np.testing.assert_allclose(
            found, alike.predict_proba(numbers.assign(h=numbers["h"].where(numbers.index != 7))), rtol=1e-9
        )

    def test_beside_numbers_of_python(self, expected):
        """As a spreadsheet gives them: numbers, and texts in a few cells."""
        X = NUMBERS.astype(object).assign(h=lambda frame: frame["h"].where(frame.index > 2, "none"))
        model, (told,) = told_of(lambda: nb.NaiveBayes.from_frame(X, Y))
        assert "no number: 'none'" in told
        holed = NUMBERS.assign(h=NUMBERS["h"].where(NUMBERS.index > 2))
        alike = nb.fit(nb.NaiveBayes.from_frame(holed, Y), holed, Y)
        np.testing.assert_allclose(nb.fit(model, X, Y).predict_proba(X), alike.predict_proba(holed), rtol=1e-12)

    @pytest.mark.parametrize("cells", STAYS)
    def test_are_not_codes_words_or_dates(self, cells):
        model, (told,) = told_of(lambda: nb.NaiveBayes.from_frame(NUMBERS.assign(h=[*STAYS[cells]]), Y))
        assert list(model.features) == ["z"]
        assert ("(text, such as" in told) == (cells in list(STAYS)[2:])

    def test_of_few_values_or_a_given_family_stay_text(self):
        X = NUMBERS.assign(h=RNG.choice(["1.5", "2.5", "9.5"], ROWS))
        assert nb.fit(nb.NaiveBayes.from_frame(X, Y), X, Y).model.schema.categories[0] == ("1.5", "2.5", "9.5")
        given = nb.NaiveBayes.from_frame(written("plain"), Y, families={"h": nb.Categorical()})
        assert isinstance(given.features["h"][0], nb.Categorical)

    def test_that_may_be_read_in_two_ways_are_left_out(self):
        thousands, comma = 1000 + np.abs(H), (1000 + np.abs(H).round()) / 1000
        X = NUMBERS.assign(h=[f"{x:,.0f}" for x in thousands])
        model, (told,) = told_of(lambda: nb.NaiveBayes.from_frame(X, Y))
        assert list(model.features) == ["z"]
        for words in ("--decimal", "pandas.read_csv", "'h' (such as '"):
            assert words in told
        for sign, numbers in ((".", thousands.round()), (",", comma)):
            model, (told,) = told_of(lambda sign=sign: nb.NaiveBayes.from_frame(X, Y, decimal=sign))
            alike = NUMBERS.assign(h=numbers)
            reference = nb.fit(nb.NaiveBayes.from_frame(alike, Y), alike, Y).predict_proba(alike)
            np.testing.assert_allclose(nb.fit(model, X, Y).predict_proba(X), reference, rtol=1e-6)
        with pytest.raises(ValueError, match="decimal is ';': give one of"):
            nb.NaiveBayes.from_frame(X, Y, decimal=";")
        with pytest.raises(ValueError, match="--decimal"):
            nb.NaiveBayes.from_frame(X[["h"]], Y)

    def test_one_cell_tells_a_comma_from_a_comma(self):
        X = NUMBERS.assign(h=[f"{1000 + abs(h):,.0f}" for h in H[:-1]] + ["1,234.5"])
        assert told_of(lambda: nb.NaiveBayes.from_frame(X, Y))[0].number_forms["h"].decimal == "."
        X = NUMBERS.assign(h=[f"{1000 + abs(h):,.0f}" for h in H[:-1]] + ["1,2"])
        assert told_of(lambda: nb.NaiveBayes.from_frame(X, Y))[0].number_forms["h"].decimal == ","


OBJECTS = {"Decimal": lambda x: Decimal(str(x)), "Fraction": lambda x: Fraction(str(x))}


@pytest.mark.parametrize("kind", OBJECTS)
@pytest.mark.parametrize("cells", [H, np.round(H / 1000)], ids=["measured", "few values"])
def test_objects_of_numbers_are_numbers(kind, cells):
    numbers = NUMBERS.assign(h=cells)
    objects = numbers.assign(h=[*map(OBJECTS[kind], cells)]).astype({"h": object})
    model = nb.NaiveBayes.from_frame(numbers, Y)
    assert nb.NaiveBayes.from_frame(objects, Y) == model
    for estimator in (estimators.GaussianNB(), NaiveBayesClassifier(nb.Gaussian(), feature_weights=None)):
        expected = estimator.fit(numbers, Y).predict_proba(numbers)
        for X in (objects, objects.to_numpy()):
            np.testing.assert_allclose(estimator.fit(X, Y).predict_proba(X), expected, rtol=1e-12)


DAYS = pd.date_range("2024-01-01", periods=ROWS)
TIMES = {
    "date": [day.date() for day in DAYS],
    "few dates": [datetime.date(2024, 1, 1 + row % 2) for row in range(ROWS)],
    "Period": pd.period_range("2024-01", periods=ROWS, freq="M"),
    "time": [datetime.time(row % 24) for row in range(ROWS)],
    "missing": [None, *(day.date() for day in DAYS[1:])],
    "datetime64": DAYS,
}


@pytest.mark.parametrize("kind", TIMES)
def test_dates_are_left_out(kind):
    frame = NUMBERS.assign(h=TIMES[kind])
    tables = [frame] if kind == "datetime64" else [frame, frame.astype(object), frame.to_numpy(object)]
    for X in tables:
        model, (told,) = told_of(lambda X=X: nb.NaiveBayes.from_frame(X))
        assert len(model.features) == 1
        assert "(dates or times): left out" in told
    _, (told,) = told_of(lambda: NaiveBayesClassifier(feature_weights=None).fit(frame.to_numpy(object), Y))
    assert "(dates or times): left out" in told


ESTIMATORS = [getattr(estimators, name) for name in estimators.__all__ if isinstance(getattr(estimators, name), type)]


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("dtype", [object, "Float64"])
def test_pandas_na_is_missing_in_every_estimator(estimator, dtype):
    whole = pd.DataFrame({"u": np.tile([1.0, 2.0, 0.0], 20), "v": np.arange(60.0) % 4})
    holed = whole.where(np.arange(60)[:, None] % 7 != [0, 3])
    marked = holed.astype(dtype).where(holed.notna(), pd.NA)
    if estimator is NaiveBayesClassifier:
        estimator = partial(NaiveBayesClassifier, feature_weights=None)
    try:
        expected = estimator().fit(holed, Y).predict_proba(holed)
    except ValueError as error:  # count vectors
        for X in (marked, marked.to_numpy(object)):
            with pytest.raises(ValueError, match=str(error).partition("\n")[0]):
                estimator().fit(X, Y)
        return
    for X in (marked, marked.to_numpy(object)):
        np.testing.assert_array_equal(estimator().fit(X, Y).predict_proba(X), expected)


def test_a_column_of_text_without_a_cell_is_one_without_numbers():
    X = pd.DataFrame({"f": pd.array([None] * ROWS, dtype="string"), "z": Z})
    expected = estimators.GaussianNB().fit(X.assign(f=np.nan), Y).predict_proba(X.assign(f=np.nan))
    np.testing.assert_array_equal(estimators.GaussianNB().fit(X, Y).predict_proba(X), expected)


@pytest.mark.parametrize(("one", "other"), [("ham", "ham "), ("Male", "male"), ("New York", "new  york")])
def test_texts_that_differ_in_spaces_or_capitals_are_named(one, other):
    texts, words = [one, other, "else"] * 20, f"differ only in spaces or capitals .*{one!r} and {other!r}"
    numbers = Z[:, None]
    for fit in (
        lambda: nb.fit(nb.Gaussian(), numbers, texts),
        lambda: nb.fit_batches(nb.Gaussian(), [(numbers[:31], texts[:31]), (numbers[31:], texts[31:])]),
        lambda: estimators.GaussianNB().fit(numbers, texts),
        lambda: NaiveBayesClassifier().fit(numbers, texts),
    ):
        with pytest.warns(UserWarning, match=f"y holds labels that {words}"):
            fit()
    with warnings.catch_warnings(action="error"):
        nb.fit(nb.Gaussian(), numbers, texts, classes=[one, other, "else"])  # who lists classes means them
    frame = pd.DataFrame({"c": texts})
    for fit in (lambda: nb.fit(nb.Categorical(), frame, Y), lambda: estimators.CategoricalNB().fit(frame, Y)):
        with pytest.warns(UserWarning, match=f"column 'c' holds categories that {words}"):
            fit()


TEXTS = [f"win a prize {row}" for row in range(20)]


@pytest.mark.parametrize("kind", [list, pd.Series, pl.Series, np.array, lambda x: np.array(x, dtype=object)])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_texts_are_to_be_counted_first(kind, estimator):
    for fit in (estimator().fit, lambda X, y: nb.fit(nb.Multinomial(), X, y)):
        with pytest.raises(ValueError, match=r"sequence of texts, such as 'win a prize 0'.*CountVectorizer"):
            fit(kind(TEXTS), ["a", "b"] * 10)
    make_pipeline(CountVectorizer(), estimator()).fit(TEXTS, ["a", "b"] * 10)


def test_a_column_of_texts_alone_is_to_be_counted_first():
    for fit in (lambda X: NaiveBayesClassifier().fit(X, ["a", "b"] * 10), nb.NaiveBayes.from_frame):
        with pytest.raises(ValueError, match="CountVectorizer"):
            fit(pd.DataFrame({"text": TEXTS}))


TWICE = pd.DataFrame(np.eye(10, 2), columns=["u", "u"])
NO_TABLES = [
    (TWICE, "column 'u' occurs twice in X: rename or drop one"),
    (pa.table([[1] * 10, [0] * 10], names=["u", "u"]), "column 'u' occurs twice in X"),
    ([[1, 2], [3]] * 5, "X has rows of different lengths: every row needs a cell for every column$"),
    ([[np.arange(3), 1]] * 10, "X has rows of different lengths"),
    ([{"u": 1, "v": 2}] * 10, r"X is a sequence of dicts: make a table of these rows, pandas.DataFrame\(X\)"),
    (np.ones(10), r"X has 1 dimension: .*X.reshape\(-1, 1\)"),
    (["a text " * 100] * 10, "X is a sequence of texts"),
]


@pytest.mark.parametrize(("X", "words"), NO_TABLES, ids=[words[:30] for _, words in NO_TABLES])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_is_no_table_is_told_in_the_words_of_the_package(X, words, estimator):
    labels = ["a", "b"] * 5
    for use in (
        lambda: estimator().fit(X, labels),
        lambda: estimator().partial_fit(X, labels, classes=["a", "b"]),
        lambda: nb.fit(nb.Categorical(), X, labels),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            use()
        assert type(caught.value) is ValueError
        assert len(str(caught.value)) < 400
