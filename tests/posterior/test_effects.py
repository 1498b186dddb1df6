"""What columns add to log odds over their values: that of a row with this cell alone, and of counts by hand."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from trees import KINDS

import bayesnb as nb

COUNTS = ["leaves", "cones", "twigs"]
NUMBERS = ["log_odds", "lower", "upper"]


def by_explain(posterior, name, value, parent=(None, None), **options):
    """The part of a column in a row that has this cell, and perhaps its parent's, alone."""
    columns = posterior.model.schema.source_columns
    row = pd.DataFrame({column: [0 if column in COUNTS else None] for column in columns}, dtype=object)
    row[name] = [value]
    if parent[0] is not None:
        row[parent[0]] = [parent[1]]
    return posterior.explain(row, **options).loc[name]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "point"])
def test_they_are_those_of_a_row_with_one_cell(posteriors, table, kind):
    posterior, options = posteriors[kind], {"class_": "oak", "against": "ash", "num_draws": 3, "key": 2}
    found = nb.effects(posterior, table[0], ["moss", "bark", "height"], unit="bits", **options)
    assert found["column"].unique().tolist() == ["moss", "bark", "height"]
    assert found["value"].tolist()[:5] == [0, 1, "flaky", "rough", "smooth"]
    assert found["value"].tolist()[5:] == pytest.approx(
        np.linspace(table[0]["height"].min(), table[0]["height"].max(), 200)
    )
    for _, row in found.iloc[[0, 1, 2, 3, 4, 5, 99, -1]].iterrows():
        expected = by_explain(posterior, row["column"], row["value"], unit="bits", **options)
        np.testing.assert_allclose(row[NUMBERS].astype(float), expected.astype(float), rtol=1e-9, atol=1e-12)


def test_those_of_counts_and_of_a_column_given_another_are_by_hand():
    rng = np.random.default_rng(3)
    y = np.repeat(["p", "q"], 40)
    X = pd.DataFrame({name: rng.choice([*values], 80) for name, values in {"u": "abc", "v": "st", "w": "gh"}.items()})
    posterior = nb.fit(nb.NaiveBayes({"w": nb.Categorical(2.0), "u given v": (nb.Given(0.5), ["u", "v"])}), X, y)
    found = nb.effects(posterior, X)
    assert (found.attrs["class"], found.attrs["against"]) == ("q", "p")
    seen = {}
    for column, given, value, log_odds, lower, upper in found.itertuples(index=False):
        parent = slice(None) if given is None else given.removeprefix("v = ")
        log_prob = {}
        for label in "pq":
            own = X[(y == label) & (True if given is None else (X["v"] == parent))][column]
            prior, size = (2.0, 2) if column == "w" else (0.5, 3)
            log_prob[label] = np.log(((own == value).sum() + prior) / (len(own) + prior * size))
        seen[column, given, value] = log_odds
        assert log_odds == pytest.approx(log_prob["q"] - log_prob["p"], abs=1e-12)
        assert lower <= log_odds <= upper
    assert len(seen) == 2 + 2 * 3


@pytest.fixture(scope="module")
def mixed():
    """A classifier with readings of gaps, names and dates, and a column given another one."""
    rng = np.random.default_rng(0)
    other = np.arange(400) % 2 == 1
    kind = np.where(rng.random(400) < 0.3 + 0.4 * other, "s", "t")
    X = pd.DataFrame(
        {
            "number": rng.normal(other * 1.0, 1.0),
            "when": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, 400) + 90 * other, "D"),
            "name": rng.integers(0, 30, 400).astype(str),
            "kind": kind,
            "twin": np.where(rng.random(400) < 0.8, kind, np.where(other, "s", "t")),
            "zero": np.where(rng.random(400) < 0.3 + 0.3 * other, 0.0, rng.gamma(2.0, 1.0 + other)),
        }
    )
    X.loc[rng.random(400) < 0.1 + 0.3 * other, "number"] = np.nan
    y = np.where(other, "q", "p")
    return nb.NaiveBayesClassifier(exclude=["x weekday"]).fit(X, y), X, y


def test_all_descriptions_and_readings_of_a_column_are_together(mixed):
    classifier, X, _ = mixed
    found = nb.effects(classifier, X)
    assert found["column"].unique().tolist() == X.columns.tolist()
    assert found.loc[found["value"].isna(), "column"].tolist() == ["number"]
    assert found["given"].notna().any()
    assert 0.0 in found.loc[found["column"] == "zero", "value"].tolist()
    for name, part in found.groupby("column"):
        for _, row in part.iloc[[0, len(part) // 2, -1]].iterrows():
            parent = (None, None) if row["given"] is None else tuple(row["given"].split(" = "))
            expected = by_explain(classifier.posterior_, name, row["value"], parent, class_="q", against="p")
            np.testing.assert_allclose(row[NUMBERS].astype(float), expected.astype(float), rtol=1e-9, atol=1e-12)


def test_without_a_table_values_are_those_of_the_predictive_distribution(mixed):
    classifier, X, _ = mixed
    found = nb.effects(classifier)
    assert "when" not in set(found["column"])
    numbers = found.loc[found["column"] == "number", "value"].dropna().astype(float)
    assert abs(numbers.median() - X["number"].median()) < 0.7
    assert set(found.loc[found["column"] == "kind", "value"]) == {"s", "t"}


def test_a_point_has_no_intervals_and_a_sampler_has():
    X, y = np.array([[1.0], [2.0], [2.5], [4.0]]), ["a", "a", "b", "b"]
    point = nb.effects(nb.fit(nb.Gaussian(), X, y, nb.MAP()), X)
    assert point["lower"].isna().all()
    assert point["log_odds"].notna().all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["barc"], "columns is ['barc']: name one or more of"),
        (["bark", "bark"], "columns names 'bark' twice"),
        (["leaves"], "column 'leaves' belongs to a count vector: nb.telling_features says"),
    ],
)
def test_errors_name_the_column_and_the_way_out(posteriors, columns, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        nb.effects(posteriors["exact"], columns=columns)


def test_dates_need_a_table(mixed):
    with pytest.raises(ValueError, match="'when' holds dates, which the model does not draw: give a table X"):
        nb.effects(mixed[0], columns=["when"])


def test_the_picture_has_the_numbers_of_the_frame(mixed):
    classifier, X, _ = mixed
    found = nb.effects(classifier, X, ["number"])
    (axis,) = nb.plot_effect(classifier, "number", X).axes
    curve = next(line for line in axis.lines if len(line.get_xdata()) == 200)
    known = found[found["value"].notna()]
    np.testing.assert_array_equal(curve.get_ydata(), known["log_odds"])
    np.testing.assert_array_equal(curve.get_xdata(), known["value"].astype(float))
    assert found["log_odds"].iloc[-1] in [line.get_ydata()[0] for line in axis.lines]  # of a missing cell
    _, given = plt.subplots()
    nb.plot_effect(classifier, "number", X, ax=given)
    assert given.get_xlabel() == axis.get_xlabel() == "number"
    heads = [axis.get_title() for axis in nb.plot_effects(classifier, X, max_panels=4).axes]
    assert sum(map(bool, heads)) == 4


def test_words_have_no_curves_and_columns_without_cells_no_values():
    words = nb.effects(nb.fit(nb.Multinomial(), [[3, 1], [1, 1]], ["a", "b"]))
    assert words.empty
    with pytest.raises(ValueError, match=r"no column has an effect of its own: nb\.telling_features"):
        words.plot()
    X = pd.DataFrame({"u": [1.0, 2.0, 4.0], "v": ["s", "t", "s"]})
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, ["a", "b", "b"])
    found = nb.effects(posterior, X.assign(u=np.nan))
    assert found["column"].tolist() == ["v", "v"]
    assert len(found.plot(max_panels=2).axes) == 2
