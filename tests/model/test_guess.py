"""The families that from_frame guesses, those that it is given, and its one warning."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import bayesnb as nb

ROWS = 40


HALVES = np.arange(ROWS) % 2
FRAME = pd.DataFrame(
    {
        "size": np.linspace(1, 2, ROWS) ** 2,
        "grade": np.arange(ROWS) % 3 + 1,
        "gain": np.where(np.arange(ROWS) % 4 == 0, np.linspace(10, 99, ROWS), 0.0),
        "name": [f"person {row}" for row in range(ROWS)],
        "colour": ["red", "blue"] * (ROWS // 2),
        "flag": [0, 1, 1, 1, 1] * (ROWS // 5),
        "mark": ["?", "a", "b", "c"] * (ROWS // 4),
    }
)
KINDS = [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas]


def told(frame, choose=nb.NaiveBayes.from_frame, **options) -> str:
    """The text of the only warning; empty if there is none."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        choose(frame, **options)
    assert len(caught) <= 1
    return str(caught[0].message) if caught else ""


class TestWarning:
    @pytest.mark.parametrize("kind", KINDS, ids=["pandas", "polars", "pyarrow"])
    def test_lists_the_columns_of_each_kind_once(self, kind):
        expected = [
            "the model leaves out 'name', and another family may suit 'grade', 'gain', 'mark'; .*families={...}",
            "- 'grade' (3 values): whole numbers with few values.*families={'grade': nb.Categorical()}",
            "- 'gain' (75% are 0): most cells are equal.*For many zeros write families={'gain': nb.Hurdle()}",
            "- 'name' (40 values in 40 cells): most values are distinct, and the column is left out.*exclude=['name']",
            "- 'mark' holds '?' in 10 cells: counted as a category",
        ]
        for line, words in zip(told(kind(FRAME)).splitlines(), expected, strict=True):
            start, _, advice = words.partition(".*")
            assert line.startswith(start)
            assert advice in line

    @pytest.mark.parametrize("choose", [nb.NaiveBayes.from_frame, nb.choose_families])
    def test_is_of_text_and_not_of_what_labels_compare(self, choose):
        first, *lines = told(FRAME, choose, y=HALVES).splitlines()
        assert first.startswith("the model leaves out 'name'")
        assert lines[-2].startswith("- 'name' (40 values in 40 cells)")
        assert lines[-1].startswith("- 'mark' holds '?' in 10 cells")
        assert not any(name in " ".join([first, *lines]) for name in ("grade", "gain"))

    def test_says_nothing_of_columns_that_are_given_or_left_out(self):
        families = {"grade": nb.Categorical(), "gain": nb.Gaussian(), "mark": nb.Categorical()}
        assert told(FRAME, exclude=["name"], families=families) == ""

    def test_names_five_columns_and_counts_the_others(self):
        wide = pd.DataFrame({f"x{j}": FRAME["grade"] for j in range(8)})
        assert "'x4' (3 values) and 3 more: whole" in told(wide)
        assert "more" not in told(wide[["x0", "x1", "x2", "x3", "x4"]])

    def test_follows_the_taking_of_its_advice(self):
        fixed = FRAME.assign(
            gain=pd.cut(FRAME["gain"], [-1, 0, 50, 100]).astype(str), mark=FRAME["mark"].replace("?", None)
        )
        assert told(fixed, exclude=["name"], families={"grade": nb.Categorical()}) == ""

    def test_is_left_out_of_short_columns(self):
        short = FRAME[:19]
        assert told(short.drop(columns="mark")) == ""
        assert "'?' in 5 cells" in told(short)
        holed = FRAME.assign(grade=FRAME["grade"].where(FRAME.index < 19), gain=1.5, name="a", mark="a")
        assert "'grade'" not in told(holed)

    @pytest.mark.parametrize(
        ("cells", "doubted"),
        [
            (np.arange(60) % 20, True),
            (np.arange(60) % 21, False),
            (np.arange(60) % 5 + 0.5, False),
            (np.full(60, 7), True),
            (np.where(np.arange(60) < 31, 0.5, np.arange(60)), True),
            (np.where(np.arange(60) < 30, 0.5, np.arange(60)), False),
            ([f"t{row}" if row < 31 else "t0" for row in range(60)], True),
            ([f"t{row}" if row < 30 else "t0" for row in range(60)], False),
        ],
        ids=["20 values", "21 values", "fractions", "constant", "31 equal", "30 equal", "31 texts", "30 texts"],
    )
    def test_at_its_limits(self, cells, doubted):
        assert bool(told(pd.DataFrame({"x": cells, "y": np.linspace(0, 1, 60)}))) == doubted

    def test_counts_all_cells_of_a_long_column(self):
        """A sample of the cells raises the doubt, and all cells settle it."""
        long = np.arange(50_000) % 7
        assert "(7 values)" in told(pd.DataFrame({"x": long}))
        # Every fifth cell, which the sample holds, has one of two values; all cells have many more.
        hidden = np.where(np.arange(50_000) % 5 == 0, np.arange(50_000) % 2, np.arange(50_000))
        assert told(pd.DataFrame({"x": hidden})) == ""


CHOICES = {
    "guessed": nb.NaiveBayes.from_frame,
    "chosen": lambda X: nb.NaiveBayes.from_frame(X, HALVES),
    "compared": lambda X: nb.choose_families(X, HALVES).model,
}


DAY = pd.date_range("2024-01-01", periods=ROWS)
OF_TEXT = r"every column is text .*'name'.*families=\{column: nb.Categorical"
TELLING_NOTHING = {
    "missing": (
        {"name": pd.Series([None] * ROWS, dtype="string")},
        r"'name' \(no observed cell\): .*left out of the model.*exclude=\['name'\]",
        OF_TEXT,
    ),
    "distinct": (
        {"name": FRAME["name"].astype("string")},
        r"'name' \(40 values in 40 cells\): .*left out of the model.*exclude=\['name'\]",
        OF_TEXT,
    ),
    "dates": (
        {"day": DAY, "age": DAY - DAY[0]},
        r"^the model leaves out 'day', 'age'; .*\n- 'day' .*the month, the weekday.*exclude=\['day'\]",
        r"every column is .* a date \('day', 'age'\), and tells nothing",
    ),
}


@pytest.mark.parametrize("kind", KINDS, ids=["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("choose", CHOICES.values(), ids=CHOICES)
@pytest.mark.parametrize("case", TELLING_NOTHING)
def test_columns_that_tell_nothing_are_left_out_of_the_model(kind, choose, case):
    columns, warning, error = TELLING_NOTHING[case]
    X = kind(pd.DataFrame({"size": FRAME["size"], **columns}))
    with pytest.warns(UserWarning, match=warning):
        model = choose(X)
    assert list(model.features) == ["size"]
    assert nb.fit(model, X, HALVES).predict(X).shape == (ROWS,)
    with pytest.raises(ValueError, match=error):
        choose(kind(pd.DataFrame(columns)))


def test_is_told_once_at_a_line_whatever_the_rows():
    """scikit-learn changes the filters for each fold, and Python then forgets what it has shown."""
    shown = []
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.showwarning = lambda message, *place: shown.append(str(message))
        for rows in (40, 39, 38):
            nb.NaiveBayes.from_frame(FRAME[["size", "name"]][:rows], HALVES[:rows])
            warnings.filterwarnings("ignore", category=DeprecationWarning)
        nb.NaiveBayes.from_frame(FRAME[["size", "name"]], HALVES)
    assert [("40 values" in text, "39 values" in text) for text in shown] == [(True, False)] * 2


class TestFamilies:
    @pytest.mark.parametrize("kind", KINDS, ids=["pandas", "polars", "pyarrow"])
    def test_take_the_place_of_guesses(self, kind):
        frame = kind(FRAME[["size", "grade", "colour", "flag"]])
        model = nb.NaiveBayes.from_frame(frame, families={"grade": nb.Poisson(), "flag": nb.Categorical(0.5)})
        assert model == nb.NaiveBayes(
            {"size": nb.Gaussian(), "grade": nb.Poisson(), "colour": nb.Categorical(), "flag": nb.Categorical(0.5)}
        )

    def test_go_with_positions_and_types_of_no_family(self):
        assert nb.NaiveBayes.from_frame(
            FRAME[["size", "grade"]].to_numpy(), families={1: nb.Poisson()}
        ) == nb.NaiveBayes({0: nb.Gaussian(), 1: nb.Poisson()})
        dates = FRAME[["size"]].assign(when=pd.Timestamp("2020-01-01"))
        assert list(nb.NaiveBayes.from_frame(dates, families={"when": nb.Categorical()}).features) == ["size", "when"]

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"families": {"grade": nb.Poisson}}, "families gives 'grade' .*Poisson.*nb.Categorical"),
            ({"families": {"grade": "Poisson"}}, "families gives 'grade' 'Poisson', which is no family"),
            ({"families": {"s": (nb.Poisson(), ["grade"])}}, "gives 's' .*blocks of columns are for"),
            ({"families": nb.Poisson()}, r"families is Poisson\(.*give a mapping from columns to families"),
            (
                {"families": {"grade": nb.Poisson()}, "exclude": ["grade"]},
                "column 'grade' is in families and in exclude",
            ),
        ],
    )
    def test_are_refused(self, options, message):
        error = TypeError if re.match("families (gives|is)|gives", message) else ValueError
        with pytest.raises(error, match=message):
            nb.NaiveBayes.from_frame(FRAME, **options)


@pytest.mark.parametrize("cells", [HALVES[:, None] == 1, np.c_[HALVES, HALVES - 0.5]], ids=["flags", "numbers"])
def test_sparse_tables_are_guessed_as_dense_ones(cells):
    assert nb.NaiveBayes.from_frame(scipy.sparse.csr_array(cells)) == nb.NaiveBayes.from_frame(cells)


def test_values_of_several_types_are_numbers_only_if_all_of_them_are():
    cells = {"a": [True, None, False], "b": [True, 2.5, None], "c": [1, "x", 2], "d": [True, "x", None]}
    found = nb.NaiveBayes.from_frame(pd.DataFrame(cells, dtype=object)).features
    kinds = [type(family) for family, _ in found.values()]
    assert kinds == [nb.Bernoulli, nb.Gaussian, nb.Categorical, nb.Categorical]
