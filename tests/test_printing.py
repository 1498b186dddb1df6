"""What objects print: text of the terminal's width, what matters first, and HTML of the same parts."""

import pickle
import re
from functools import cache

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.core.frames import PrintedFrame
from bayesnb.core.printing import (
    Code,
    DataTable,
    Heading,
    Paragraph,
    Printed,
    as_text,
    four_digits,
    plus_minus,
    width,
)
from bayesnb.posterior.posterior import parameters_by_class

LONG = "a_column_with_a_rather_long_name"


@pytest.fixture(scope="module")
def data():
    """Three classes; columns with long names, one of which has a tag in it."""
    rng = np.random.default_rng(5)
    y = np.array(["ash", "fir", "oak"])[rng.integers(0, 3, 60)]
    X = pd.DataFrame(
        {
            LONG: rng.gamma(50.0, 0.02, 60) + 0.4 * (y == "fir"),
            f"{LONG}_too": rng.gamma(50.0, 20.0, 60) + 300 * (y == "oak"),
            "<b>bark": rng.choice(["smooth", "rough"], 60),
            "rings": rng.poisson(7.0, 60),
        }
    )
    return X, y


@pytest.fixture(scope="module")
def model():
    return nb.NaiveBayes(
        {
            LONG: nb.LogNormal(),
            f"{LONG}_too": nb.Gaussian(),
            "<b>bark": nb.Categorical(),
            "rings": nb.Poisson(),
        }
    )


@pytest.fixture(scope="module")
def posterior(model, data):
    return nb.fit(model, *data)


@pytest.fixture(scope="module")
def comparison(posterior, model, data):
    X, y = data
    draws = posterior.draws(num_draws=500, key=3)
    wrong = draws | {"rings_rate": draws["rings_rate"] * 1.2}
    return nb.compare(posterior, nb.from_samples(model, wrong, X=X, y=y))


RESULTS = {
    "description": lambda posterior, model, X, y: model,
    "bound": lambda posterior, model, X, y: posterior.model,
    "exact": lambda posterior, model, X, y: posterior,
    "averaged": lambda posterior, model, X, y: posterior.averaged(),
    "point": lambda posterior, model, X, y: nb.fit(model, X, y, nb.MAP()),
    "sampled": lambda posterior, model, X, y: nb.from_samples(model, posterior.draws(num_draws=100), X=X, y=y),
    "weighted": lambda posterior, model, X, y: nb.weight_features(posterior, X, y),
    "check": lambda posterior, model, X, y: nb.check(posterior, X, y, num_replicates=20),
    "calibration": lambda posterior, model, X, y: nb.calibration(posterior, X, y, other=posterior.averaged()),
    "sensitivity": lambda posterior, model, X, y: nb.sensitivity(posterior),
    "sbc": lambda posterior, model, X, y: nb.sbc(model, X=X, y=y, num_simulations=20),
    "families": lambda posterior, model, X, y: nb.choose_families(X, y),
    "grouping": lambda posterior, model, X, y: nb.group_columns(model, X, y),
    "selection": lambda posterior, model, X, y: nb.select_features(model, X, y),
    "summary": lambda posterior, model, X, y: posterior.summary(),
    "information": lambda posterior, model, X, y: nb.mutual_information(posterior),
    "telling": lambda posterior, model, X, y: nb.telling_features(posterior),
    "row": lambda posterior, model, X, y: posterior.explain(X.iloc[[0]]),
    "models": lambda posterior, model, X, y: nb.compare_models(
        {"a model with a rather long name": posterior, "another": posterior.averaged()}, X, y
    ),
    "annotations": lambda posterior, model, X, y: nb.fit_annotations(
        X.assign(tree=range(60), kind=y), item="tree", annotator="<b>bark", label="kind"
    ),
}


@pytest.fixture(scope="module")
def result(posterior, model, data):
    """A function that gives a result by name, computed once."""
    return cache(lambda kind: RESULTS[kind](posterior, model, *data))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", RESULTS)
def test_results_fit_eighty_columns_and_html_is_escaped(kind, result):
    shown = result(kind)
    assert isinstance(shown, Printed)
    assert max(map(len, repr(shown).splitlines())) <= 80
    html = shown._repr_html_()
    assert html.startswith("<p><b>")
    assert "<b>bark" not in html.replace("<p><b>", "")
    assert ("&lt;b&gt;bark" in html) is ("<b>bark" in repr(shown))


def test_lines_follow_the_terminal(posterior, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    wide = nb.sensitivity(posterior)
    assert f"{LONG}_too_variance[ash]" in repr(wide)
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, repr(wide).splitlines())) <= 60
    assert f"{LONG}_too_variance[ash]" not in repr(wide)
    monkeypatch.setenv("COLUMNS", "1")
    assert width() == 40


def rows_of(text, name):
    """The names of the rows below a header that begins with a name."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{name} "))
    return [re.split(r"  +", line)[0] for line in lines[start + 1 :]]


def test_a_comparison_shows_the_largest_differences_first_and_the_sds(comparison):
    shown = rows_of(repr(comparison), "parameter")
    assert set(shown[:3]) == {"rings_rate[ash]", "rings_rate[fir]", "rings_rate[oak]"}
    row = comparison.table.loc["rings_rate[oak]"]
    line = next(line for line in repr(comparison).splitlines() if line.startswith("rings_rate[oak]"))
    exact, sampled, z, test = line.split()[1:]
    assert exact == plus_minus(row["exact_mean"], row["exact_sd"])
    assert sampled == plus_minus(row["sampled_mean"], row["sampled_sd"])
    of_tests = row[["z_mean", "z_sd", "z_skew", "z_tails"]]
    assert float(z) == pytest.approx(row[f"z_{test}"], abs=0.051)
    assert abs(float(z)) == pytest.approx(of_tests.abs().max(), abs=0.051)
    assert comparison._repr_html_().index("rings_rate[oak]") < comparison._repr_html_().index("class_prob")
    assert max(map(len, repr(comparison).splitlines())) <= 80


def test_a_sensitivity_shows_conflicts_first():
    rng = np.random.default_rng(0)
    X = (rng.uniform(size=(200, 30)) < 0.9).astype(int)
    prior = np.ones((1, 30))
    prior[0, 25:] = 60.0
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(1.0, prior)), X, ["a"] * 200, classes=["a"])
    found = nb.sensitivity(posterior)
    conflicts = found.table.index[found.table["diagnosis"] == "prior-data conflict"]
    assert len(conflicts) == 5
    shown = rows_of(repr(found), "parameter")
    assert set(shown[:5]) == set(conflicts)
    assert repr(found).count("  conflict\n") == 5
    assert shown[-1] == "… and 10 more in .table"


def test_an_sbc_shows_the_least_uniform_first(model, data):
    X, y = data
    found = nb.sbc(model, X=X, y=y, num_simulations=20)
    p_values = [float(line.split()[-1]) for line in repr(found).splitlines() if re.match(r"\S+(\[.*\])? .*\d$", line)]
    assert len(p_values) >= 10
    assert p_values == sorted(p_values)


@pytest.mark.parametrize("kind", ["summary", "information", "telling", "row"])
def test_a_result_that_is_a_frame_prints_all_columns_and_stays_a_frame(kind, result):
    found = result(kind)
    frame = pd.DataFrame(found)
    shown = set(frame.columns) - ({"mcse", "median", "median_of_others"} if kind == "telling" else set())
    assert shown <= set(repr(found).split())
    assert "..." not in repr(found)
    assert type(found.round(3)) is type(found.head()) is pd.DataFrame
    assert found.round(3).attrs == found.attrs
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(found)), found)
    assert repr(pickle.loads(pickle.dumps(found))) == repr(found)


def test_a_frame_that_prints_itself_counts_rows_as_pandas_does():
    found = PrintedFrame(pd.DataFrame({"x": range(70)}), "Numbers")
    assert repr(found).splitlines()[-1] == "… and 10 more rows"
    with pd.option_context("display.max_rows", None):
        assert len(repr(found).splitlines()) == 72
    assert repr(PrintedFrame(pd.DataFrame({"x": []}), "Numbers", ["None."])) == "Numbers\nNone."


def test_results_say_that_parameters_are_those_of_the_logarithm(posterior):
    note = f"{LONG}: mean and variance are those of the logarithm."
    assert note in " ".join(repr(posterior).split())
    assert note in " ".join(repr(posterior.summary()).split())
    assert f"{LONG} ~ LogNormal(mean and variance of the logarithm)" in " ".join(repr(posterior.model).split())
    assert "logarithm" not in repr(nb.fit(nb.Gaussian(), [[1.0], [2.0], [3.0], [4.0]], list("aabb")).summary())


def test_telling_features_print_whether_small_or_large_numbers_are_evidence():
    """The median of the others weighs their classes by their probability; words have none."""
    X = np.concatenate([np.linspace(0, 1, 10), np.linspace(5, 6, 10), np.linspace(20, 21, 80)])[:, None]
    found = nb.telling_features(nb.fit(nb.Gaussian(), X, ["a"] * 10 + ["b"] * 10 + ["c"] * 80))
    rows = found.set_index("class")
    np.testing.assert_allclose(rows["median"], [0.5, 5.5, 20.5], atol=0.4)
    np.testing.assert_allclose(rows["median_of_others"], [20.4, 20.4, 3.0], atol=0.6)
    assert found["value"].tolist() == [None] * 3
    median, of_others = found.loc[0, ["median", "median_of_others"]]
    assert f"{median:.4g}, others {of_others:.4g}" in repr(found)
    assert "None" not in repr(found)
    model = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.0)
    nothing = nb.telling_features(nb.fit(model, [[0], [1]], ["a", "b"]))
    assert repr(nothing) == "Log odds of each class against the others, in nats"
    words = nb.telling_features(nb.fit(nb.Multinomial(), [[3, 0], [0, 3]], ["a", "b"]))
    assert words["median"].isna().all()
    assert "median" not in repr(words)
    assert "None" not in repr(words)


def test_names_of_rows_lose_their_middle_where_the_table_does_not_fit():
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index(["a" * 50 + "b" * 50, "short"], name="row"))
    lines = DataTable(frame).lines(60)
    assert max(map(len, lines)) <= 60
    assert re.match(r"a{20,}…b{20,} ", lines[1])
    assert [line.split()[0] for line in (lines[0], lines[2])] == ["row", "short"]
    assert DataTable(frame).lines(200)[1].startswith("a" * 50 + "b" * 50)
    wide = pd.DataFrame(np.ones((1, 12)), columns=[f"column{j}" for j in range(12)], index=["a" * 40])
    assert ["a" * 40 in "\n".join(DataTable(wide).lines(width)) for width in (80, 70)] == [True, False]


def test_columns_that_do_not_fit_continue_below_or_are_counted():
    frame = pd.DataFrame(np.arange(60.0).reshape(2, 30) / 7, columns=range(30))
    below = DataTable(frame).lines(60)
    assert max(map(len, below)) <= 60
    assert {word for line in below for word in line.split()} >= {str(column) for column in range(30)}
    counted = DataTable(frame, more_columns="things").lines(60)
    assert max(map(len, counted)) <= 60
    number = len(counted[0].split())
    assert counted[-1] == f"… and {30 - number} more of 30 things"
    assert DataTable(frame, more_columns="things").html().endswith("<p>… and 10 more of 30 things</p>")


def test_rows_beyond_the_first_twenty_are_counted():
    frame = pd.DataFrame({"x": range(23)})
    assert DataTable(frame).lines(80)[-1] == "… and 3 more in .table"
    assert DataTable(frame).html().count("<tr") == 21
    assert "… and 3 more in .table" in DataTable(frame).html()
    assert "word " * 29 + "word" in DataTable(pd.DataFrame({"x": ["word " * 30]})).html()
    assert len(DataTable(frame, rows=23).lines(80)) == 24
    assert not any("more" in line for line in DataTable(frame.head(20)).lines(80))
    assert DataTable(frame.head(0)).lines(80) == []


@pytest.mark.parametrize(("number", "rest"), [(19, []), (20, ["… and 1 more of 20 features in .summary()"])])
def test_features_are_printed_in_twenty_rows_and_the_others_counted(number, rest):
    model = nb.NaiveBayes({column: nb.Poisson() for column in range(number)})
    names = rows_of(repr(nb.fit(model, np.ones((2, number)), ["a", "b"])), "class")
    assert names[1 : names.index("Prior:")] == [*(f"{column}_rate" for column in range(19)), *rest]


@pytest.mark.parametrize(("number", "rest"), [(8, []), (9, ["… and 1 more of 0_prob"])])
def test_eight_values_of_a_parameter_are_printed_and_the_others_counted(number, rest):
    posterior = nb.fit(nb.Categorical(), np.arange(number)[:, None], np.arange(number) % 2)
    names = rows_of(repr(posterior), "class")
    assert names[1 : names.index("Prior:")] == [*(f"0_prob[{k}]" for k in range(8)), *rest]


def test_learned_hyperparameters_are_listed_below_the_parameters():
    X = pd.DataFrame({f"x{j}": [0, 1, 1, 0, 1, 0] for j in range(12)})
    model = nb.NaiveBayes({"bits": (nb.Bernoulli(dist.Gamma(np.ones(12), 1.0), 1.0), list(X))})
    bound = model.bind(X, list("aabbab"))
    shapes = {site: [len(names) for _, names in axes] for site, axes in bound.sites.axes().items()}
    parts = parameters_by_class(bound, lambda site: {"mean": np.full(shapes[site], 0.5), "sd": 0.11})
    lines = as_text(parts, 80).splitlines()
    start = lines.index("Hyperparameters, mean ± sd:")
    assert lines[start + 1] == "  bits_concentration1[x0] = 0.50±0.11"
    assert lines[start + 9] == "  … and 4 more of bits_concentration1"
    assert len(lines) == start + 10


def test_words_stay_whole_and_prose_is_no_wider_than_is_easy_to_read():
    text = "nb.weight_features-and-more " * 20
    for wide in (30, 80, 200):
        lines = Paragraph(text).lines(wide)
        assert max(map(len, lines)) <= min(wide, 100)
        assert set(" ".join(lines).split()) == {"nb.weight_features-and-more"}


def test_parts_as_text_and_as_html():
    parts = [
        Heading("a < b"),
        Paragraph("one & two"),
        Code(["  x ~ " + "y " * 40, "      z"]),
    ]
    lines = as_text(parts, 40).splitlines()
    assert lines[:2] == ["a < b", "one & two"]
    assert [line[:7] for line in (lines[2], lines[3], lines[-1])] == ["  x ~ y", "      y", "      z"]
    html = "".join(part.html() for part in parts)
    before = "<p><b>a &lt; b</b></p><p>one &amp; two</p>"
    assert html.startswith(f'{before}<pre style="white-space: pre-wrap">  x ~ y')


@pytest.mark.parametrize(
    ("mean", "sd", "text"),
    [
        (3701.234, 36.91, "3701±37"),
        (209906.1, 24319.4, "210000±24000"),
        (0.25, 0.0, "0.25±0"),
        (0.1154, np.inf, "0.1154±inf"),
        (np.nan, np.nan, "NaN"),
        (1.0, np.nan, "1±nan"),
        (1e-9, 2.345e-11, "1e-09±2.3e-11"),
        (1e7, 10.0, "1e+07±10"),
        (9.5e6, 10.0, "9500000±10"),
        (0.0, 1e7, "0±1e+07"),
    ],
)
def test_a_mean_is_as_precise_as_its_sd(mean, sd, text):
    assert plus_minus(mean, sd) == text


@pytest.mark.parametrize(
    ("value", "text"), [(147738.2, "147700"), (0.519494, "0.5195"), (190.0, "190"), (1e9, "1e+09")]
)
def test_a_number_of_four_digits_has_an_exponent_only_where_it_must(value, text):
    assert four_digits(value) == text


def test_a_family_prints_its_settings_and_the_shapes_of_its_arrays(posterior):
    gaussian = next(family for family in posterior.families if type(family) is nb.Gaussian)
    assert repr(gaussian).startswith("Gaussian(loc=<array of shape (3, 1)>, kappa=")
    assert all("\n" not in repr(family) for family in posterior.families)
    hurdle = nb.fit(nb.Hurdle(nb.LogNormal()), [[0.0], [1.0], [2.0], [0.0], [1.0]], list("aaabb")).families[0]
    assert "family=LogNormal(loc=" in repr(hurdle)
    assert "array([" not in repr(hurdle)


def test_a_reading_prints_by_its_name_alone():
    X = pd.DataFrame({"hours": [40.0, np.nan] * 20})
    model = nb.propose_descriptions(nb.NaiveBayes({"hours": nb.Gaussian()}), X, ["a", "b"] * 20)
    assert "  hours is missing ~ Bernoulli(prob)\n" in str(model)
    assert "Derived" not in repr(model)
