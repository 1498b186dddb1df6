import csv
import errno
import gzip
import inspect
import io
import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

import bayesnb as nb
from bayesnb.cli import app, check_command
from bayesnb.cli.csv_tables import read_csv, read_used_columns
from bayesnb.data import lazy_table


@pytest.fixture(scope="module")
def command():
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


TABLE = pd.DataFrame(
    {
        "size": [1.5, 2.5, 3.5, np.nan, 1.9, 2.2],
        "colour": ["red", "blue", "red", "blue", "red", "blue"],
        "code": ["01", "02", "x", "02", "01", "01"],
        "kind": ["a", "b", "a", "b", "a", "b"],
    }
)
SIZES = TABLE[["size", "kind"]]


@pytest.fixture(scope="module")
def fitted(command, tmp_path_factory):
    """A file with a table, and one with the model that was fitted to it."""
    table = tmp_path_factory.mktemp("fitted") / "table.csv"
    TABLE.to_csv(table, index=False)
    result = command("fit", table, "--target", "kind", "--out", table.with_name("model.nc"))
    assert result.exit_code == 0, result.output
    return table, table.with_name("model.nc")


@pytest.fixture
def fit_to(command, tmp_path):
    """A function that writes a table, fits the command's model of its column kind, and gives what is told."""

    def fit(table, *options):
        table.to_csv(tmp_path / "table.csv", index=False)
        result = command("fit", tmp_path / "table.csv", "--target", "kind", "--out", tmp_path / "model.nc", *options)
        assert result.exit_code == 0, result.output
        return result

    return fit


@pytest.mark.slow
def test_compare_shows_the_model_the_table_and_the_verdict(command, tmp_path):
    # With this warm-up the sampler is compiled as for the session's penguins.
    options = ["--target", "species", "--drop", "year", "--warmup", 150, "--out", tmp_path / "out"]
    result = command("compare", "penguins", *options)
    assert result.exit_code == 0, result.output
    assert "missing at random: 19" in result.output
    assert "YES, the samples agree" in result.output
    assert len(pd.read_csv(tmp_path / "out" / "comparison.csv")) == 42
    nuts, exact = (nb.load(tmp_path / "out" / name) for name in ("nuts.nc", "exact.nc"))
    assert "on the data's scale" in repr(nuts.problem.model)  # defaults follow the data in update
    for name, posterior in (("nuts", nuts), ("exact", exact)):
        with xr.open_datatree(tmp_path / "out" / f"{name}-datatree.nc", engine="h5netcdf") as tree:
            assert tree["posterior"]["island_prob"].dims == ("chain", "draw", "class", "island_category")
            assert ("sample_stats" in tree.children) == isinstance(posterior, nb.results.SampledPosterior)


def refused(result, words):
    """The command ended with status 2 and one line that holds the words."""
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


@pytest.mark.parametrize(
    ("content", "end"),
    [
        (b"", ""),
        (b"\xff\xfe\x00", ""),
        (b'a,b\n"1,2\n', ""),
        (gzip.compress(b"a,b" * 100, mtime=0)[:-9], ".gz"),
        (b"x", ".zip"),
        (b"x", ".bz2"),
        (b"x", ".xz"),
        (b"x", ".zst"),
        (b"x", ".tar"),
    ],
)
def test_a_file_that_is_no_table(command, tmp_path, content, end):
    (tmp_path / f"empty.csv{end}").write_bytes(content)
    refused(command("fit", tmp_path / f"empty.csv{end}", "--target", "y"), f"empty.csv{end}' cannot be read as CSV")


@pytest.mark.parametrize(
    ("verb", "arguments", "lost"),
    [
        ("fit", ["{table}", "--target", "kind", "--out", "{table}"], "table.csv"),
        ("predict", ["{model}", "{table}", "--out", "{table}"], "table.csv"),
        ("predict", ["{model}", "{table}", "--out", "{model}"], "model.nc"),
        ("check", ["{model}", "{table}", "--target", "kind", "--out", "{link}"], "table.csv"),
        ("compare", ["{folder}/comparison.csv", "--target", "kind", "--out", "{folder}"], "comparison.csv"),
    ],
)
def test_no_command_writes_over_what_it_reads(command, fitted, tmp_path, verb, arguments, lost):
    paths = {"table": tmp_path / "table.csv", "model": tmp_path / "model.nc", "link": tmp_path / "link.csv"}
    for mine, path in zip(fitted, paths.values(), strict=False):
        shutil.copy(mine, path)
    shutil.copy(fitted[0], tmp_path / "comparison.csv")
    paths["link"].symlink_to(paths["table"])
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = command(verb, *(argument.format(folder=tmp_path, **paths) for argument in arguments))
    refused(result, f"{lost}', which would be lost: give another file")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_saved_classifier_predicts(command, fitted, tmp_path):
    features = TABLE.drop(columns="kind")
    nb.NaiveBayesClassifier().fit(features, TABLE["kind"]).save(tmp_path / "classifier.nc")
    found = predicted(command("predict", tmp_path / "classifier.nc", fitted[0]))
    expected = nb.load(tmp_path / "classifier.nc").predict_proba(features)
    np.testing.assert_allclose(found[["proba_a", "proba_b"]], expected, rtol=1e-12)


def test_the_standard_input_is_a_table(fitted, tmp_path):
    table, model = fitted
    arguments = ["fit", "-", "--target", "kind", "--out", str(tmp_path / "model.nc")]
    assert CliRunner().invoke(app, arguments, input=table.read_text()).exit_code == 0
    assert repr(nb.load(tmp_path / "model.nc")) == repr(nb.load(model))
    found, expected = (
        CliRunner().invoke(app, ["predict", str(model), path], input=table.read_text()) for path in ("-", str(table))
    )
    assert found.stdout == expected.stdout


def test_a_column_without_a_name_is_no_feature(fit_to, tmp_path):
    nameless = SIZES.reset_index(names="")
    assert "Warning: column 'Unnamed: 0' has no name in the header" in fit_to(nameless).stderr
    assert "Unnamed: 0" not in nb.load(tmp_path / "model.nc").model.schema.columns
    assert fit_to(nameless, "--drop", "Unnamed: 0").stderr == ""
    fit_to(nameless, "--categorical", "Unnamed: 0")
    assert "Unnamed: 0" in nb.load(tmp_path / "model.nc").model.schema.columns


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["01", "02", "01", "02", None, "02"], ["01", "02"]),
        (["1", "2", "1", "2", None, "2"], [1, 2]),
        (["1.5", "2.5", "1.5", "2.5", None, "2.5"], [1.5, 2.5]),
        (["1.50", "2", "1.50", "2", None, "2"], ["1.50", "2"]),
        (["True", "False", "True", "True", None, "False"], [False, True]),
    ],
)
def test_labels_are_predicted_as_they_are_written(command, fit_to, tmp_path, labels, classes):
    fit_to(SIZES.assign(kind=labels))
    table, model = tmp_path / "table.csv", tmp_path / "model.nc"
    assert nb.load(model).classes.tolist() == classes
    assert nb.load(model).problem.statistics.classes.n.tolist() == [labels.count(str(label)) for label in classes]
    found = pd.read_csv(io.StringIO(command("predict", model, table).stdout), dtype=str)
    assert set(found["class"]) <= set(labels)
    result = command("check", model, table, "--target", "kind", "--replicates", 5)
    assert result.exit_code in {0, 1}, result.output


def test_a_stray_cell_does_not_change_the_other_cells_of_its_column(command, fit_to, tmp_path):
    """Columns of codes, of numbers and of text that are read in pieces."""
    code, flag = np.arange(40) % 4, np.arange(40) % 3 == 0
    table = pd.DataFrame({"code": code, "flag": flag, "size": np.linspace(0, 1, 40) + code, "kind": code < 2})
    fit_to(table, "--categorical", "code", "--categorical", "flag")
    table = table.astype(object)
    table.loc[39, ["code", "flag"]] = "X9", "maybe"
    table.to_csv(tmp_path / "new.csv", index=False)
    result = command("predict", tmp_path / "model.nc", tmp_path / "new.csv")
    assert "'code' in 1 cell(s) ('X9'), 'flag' in 1 cell(s) ('maybe')" in result.stderr
    table.loc[39, ["code", "flag"]] = None
    found = pd.read_csv(io.StringIO(result.stdout)).iloc[:, 1:]
    np.testing.assert_allclose(found, nb.load(tmp_path / "model.nc").predict_proba(table), rtol=1e-12)
    table.assign(size=[*table["size"][:39], "wide"]).to_csv(tmp_path / "new.csv", index=False)
    refused(command("predict", tmp_path / "model.nc", tmp_path / "new.csv"), "'size' holds text ('wide' in row 39)")
    empty = pd.DataFrame(index=range(1101), columns=range(1023))  # pandas reads a million cells at a time
    empty.assign(code=[*[0] * 1100, "X9"]).to_csv(tmp_path / "long.csv", index=False)
    assert set(map(type, read_csv(str(tmp_path / "long.csv"), None)["code"])) == {str}


@pytest.mark.parametrize(("sep", "decimal"), [(";", ","), ("\\t", "."), (",", None)])
def test_numbers_are_read_as_they_are_written(command, tmp_path, sep, decimal):
    """The same model and predictions as of the numbers; a prediction reads columns of text in the form of the fit."""
    rng = np.random.default_rng(1)
    kind = rng.choice(["a", "b"], 40)
    size = np.round(rng.normal(1700, 80, 40) + 120 * (kind == "a"), 1)
    numbers = pd.DataFrame({"size": size, "rate": rng.normal(size=40).round(3), "grade": rng.choice([1.5, 2.5], 40)})
    marks = str.maketrans(",.", ".,") if decimal == "," else {}
    text = numbers.assign(
        size=[f"{x:,.1f}".translate(marks) for x in size],
        **{name: [str(x).translate(marks) for x in numbers[name]] for name in ("rate", "grade")},
    )
    options = ["--sep", sep, *(["--decimal", decimal] if decimal else [])]
    for name, table, more in (("numbers", numbers, []), ("text", text, options)):
        table.assign(kind=kind).to_csv(
            tmp_path / f"{name}.csv", index=False, sep=sep[-1:].replace("t", "\t") if more else ","
        )
        arguments = ["--target", "kind", "--categorical", "grade", "--out", tmp_path / f"{name}.nc", *more]
        result = command("fit", tmp_path / f"{name}.csv", *arguments)
        assert result.exit_code == 0, result.output
        assert ("the model reads as numbers 'size'" in result.stderr) == bool(more)
    expected = nb.load(tmp_path / "numbers.nc").predict_proba(numbers)
    for asked in (options, options[:2]) if decimal != "," else (options,):
        found = predicted(command("predict", tmp_path / "text.nc", tmp_path / "text.csv", *asked))
        np.testing.assert_allclose(found[["proba_a", "proba_b"]], expected, rtol=1e-9)
    checked = command(
        "check", tmp_path / "text.nc", tmp_path / "text.csv", "--target", "kind", "--replicates", 5, *options
    )
    assert checked.exit_code in {0, 1}, checked.output


def test_the_version_is_that_of_the_package(command):
    result = command("--version")
    assert result.exit_code == 0
    assert result.output == f"bayesnb {nb.__version__}\n"


def test_help_gives_examples_the_exit_statuses_and_no_type_of_a_flag(command):
    shown = command("--help").output
    whole = " ".join(shown.split())
    assert " ".join(command().output.split()) == whole
    assert "The exit status is 0 for success; 1 if check finds an extreme statistic" in whole
    assert "2 if an option, a file or a table cannot be used" in whole
    firsts = []
    for verb in ("fit", "predict", "check", "drift", "compare"):
        text = command(verb, "--help").output
        calls = [line.strip() for line in text.split("Examples:\n")[1].split("\n\n")[0].splitlines()]
        assert all(call.startswith(f"bayesnb {verb} ") for call in calls)
        assert "The exit status is 0" in " ".join(text.split())
        assert "<bool>" not in text + shown
        firsts.append(calls[0])
    assert [line.strip() for line in shown.split("Examples:")[1].splitlines()[1:6]] == firsts
    assert command("fit").exit_code == command("fit", "penguins", "--wings").exit_code == 2


def test_the_model_is_shown_in_whole_words(command, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    options = ["--target", "species", "--drop", "year", "--out", tmp_path / "model.nc"]
    result = command("fit", "penguins", *options)
    model = result.output.partition("\n\n")[0]
    assert max(map(len, model.splitlines())) <= 50
    words = model.replace(",", " ").split()
    assert {"bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"} <= set(words)


def predicted(result):
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.stdout))


def test_a_fit_predicts_as_the_package_does(command, fitted):
    table, model = fitted
    rows = TABLE.drop(columns="kind"), TABLE["kind"]
    posterior = nb.fit(nb.NaiveBayes.from_frame(*rows), *rows)
    expected = nb.weight_features(posterior, *rows)
    assert nb.load(model).log_evidence == posterior.log_evidence
    found = predicted(command("predict", model, table))
    assert found.columns.tolist() == ["class", "proba_a", "proba_b"]
    assert found["class"].tolist() == expected.predict(rows[0]).tolist()
    np.testing.assert_allclose(found[["proba_a", "proba_b"]], expected.predict_proba(rows[0]), rtol=1e-12)
    assert command("predict", model, table, "--out", table.with_name("out.csv")).stdout == ""
    pd.testing.assert_frame_equal(pd.read_csv(table.with_name("out.csv")), found)
    with_ends = predicted(command("predict", model, table, "--interval", "0.8"))
    ends = ["lower_a", "upper_a", "lower_b", "upper_b"]
    assert with_ends.columns.tolist() == [*found.columns, *ends]
    expected = nb.load(model).proba_interval(rows[0], prob=0.8)
    np.testing.assert_allclose(with_ends[ends], expected.reshape(len(TABLE), 4), rtol=1e-12)
    given = predicted(command("predict", model, table, "--class-probs", "b=0.9", "--class-probs", "a=.1"))
    expected = nb.load(model).with_class_probs([0.1, 0.9]).predict_proba(rows[0])
    np.testing.assert_allclose(given[["proba_a", "proba_b"]], expected, rtol=1e-12)


def test_a_fit_describes_columns_as_the_classifier_does(fit_to, penguins, tmp_path):
    X, y = penguins
    fit_to(X.assign(kind=y))
    posterior, expected = nb.load(tmp_path / "model.nc"), nb.NaiveBayesClassifier().fit(X, y)
    assert [*posterior.weights.index] == [*expected.weights_.index]
    np.testing.assert_allclose(posterior.predict_proba(X), expected.predict_proba(X), rtol=1e-9)


KIND = ["--target", "kind"]
FILES = {
    "large.csv": TABLE.assign(size="large"),
    "narrow.csv": TABLE.drop(columns="size"),
    "blank.csv": pd.DataFrame({"x": [1, 2], "y": [np.nan, np.nan]}),
    "semicolons.csv": pd.DataFrame({"size;y": ["1,5;a", "2,5;b"]}),
}
NO_NUMBER = "column 'size' holds text ('large' in row 0)"
REFUSED = [
    *(
        ([verb, *arguments], words)
        for verb in ("compare", "fit")
        for arguments, words in (
            (["nowhere.csv", *KIND], "there is no file 'nowhere.csv'"),
            (["penguins", *KIND], "column 'kind' is not there"),
            (["penguins", "--target", "species", "--drop", "wings"], "column 'wings' is not there"),
            (["penguins", "--target", "Species"], "column 'Species' is not there (did you mean 'species'?)"),
            (["penguins", "--target", "species", "--categorical", "wings"], "column 'wings' is not there"),
        )
    ),
    (["fit", "semicolons.csv", "--target", "y"], "separated by ';', give --sep ';'"),
    (["fit", "semicolons.csv", "--target", "y", "--sep", ";;"], "--sep is ';;', --decimal None: give one character"),
    (["fit", "semicolons.csv", "--target", "y", "--decimal", ";"], "--decimal ';': give one character, and '.' or ','"),
    (["fit", "blank.csv", "--target", "y"], "no row has a 'y'"),
    (["fit", "blank.csv", "--target", "x", "--drop", "y"], "at least one feature"),
    (["fit", "{table}", *KIND, "--out", "{table}/model.nc"], "there is no folder"),
    (["predict", "nowhere.nc", "{table}"], "there is no file 'nowhere.nc'"),
    (["predict", "{table}", "{table}"], "cannot be read as netCDF"),
    (["predict", "array.nc", "{table}"], "columns without names"),
    (["predict", "{model}", "narrow.csv"], "column 'size' is missing in"),
    (["predict", "{model}", "large.csv"], NO_NUMBER),
    (["predict", "{model}", "{table}", "--out", "{table}/out.csv"], "there is no folder"),
    (["predict", "{model}", "{table}", "--out", "."], "'.' is not a file that can be replaced"),
    (["predict", "{model}", "{table}", "--interval", "1.5"], "--interval is 1.5: give a number between 0 and 1"),
    (["predict", "{model}", "{table}", "--class-probs", "a=1.5"], "class_probs names ['a'], the classes are"),
    (["predict", "{model}", "{table}", "--class-probs", "a"], "--class-probs is 'a': write CLASS=PROB, such as a=0.05"),
    (["predict", "{model}", "{table}", "--class-probs", "a=.1,b=.9"], "0.05, in an option for each class of 'a', 'b'"),
    (["predict", "{model}", "{table}", *["--class-probs", "a=.5"] * 2], "names the class 'a' twice"),
    (["check", "{model}", "{table}", "--target", "wings"], "column 'wings' is not there"),
    (["check", "{model}", "{table}", "--target", "colour"], "'red'"),
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder of tables and of a model that no command can use."""
    folder = tmp_path_factory.mktemp("files")
    for name, table in FILES.items():
        table.to_csv(folder / name, index=False, quoting=csv.QUOTE_NONE, escapechar=" ")
    nb.fit(nb.Gaussian(), [[1.0], [2.0]], ["a", "b"]).save(folder / "array.nc")
    return folder


@pytest.mark.parametrize(("arguments", "words"), REFUSED)
def test_what_cannot_be_used_is_told_in_a_line(command, fitted, files, monkeypatch, arguments, words):
    monkeypatch.chdir(files)
    table, model = fitted
    refused(command(*(argument.format(table=table, model=model) for argument in arguments)), words)


def test_check_writes_all_statistics_where_the_text_says(command, fitted, tmp_path):
    table, model = fitted
    out = tmp_path / "statistics.csv"
    arguments = ["check", model, table, "--target", "kind", "--replicates", 20]
    result = command(*arguments, "--out", out)
    assert f"more in {out}" in result.output or "more" not in result.output
    rows = pd.read_csv(out, index_col="statistic")
    assert {"class_frequency[a]", "mean[size, b]", "dependence"} <= set(rows.index)
    assert ".table" not in command(*arguments).output


def test_check_says_whether_a_statistic_is_extreme(command, fitted, tmp_path):
    table, model = fitted
    result = command("check", model, table, "--target", "kind", "--replicates", 100)
    assert result.exit_code == 0, result.output
    assert "on 100 replicated data sets: none is extreme" in " ".join(result.output.split())
    TABLE.assign(size=TABLE["size"] + 1000).to_csv(tmp_path / "far.csv", index=False)
    result = command("check", model, tmp_path / "far.csv", "--target", "kind", "--replicates", 100)
    assert result.exit_code == 1
    assert "mean[size, a]" in result.output


def test_drift_says_whether_a_column_has_moved(command, fitted, tmp_path):
    table, model = fitted
    result = command("drift", model, table)
    assert result.exit_code == 0, result.output
    assert "0 of 3 columns" in result.output
    assert ".table" not in result.output
    far = pd.concat([TABLE.assign(size=TABLE["size"] + 1000)] * 5)
    far.to_csv(tmp_path / "far.csv", index=False)
    result = command("drift", model, tmp_path / "far.csv", "--out", tmp_path / "drift.csv")
    assert result.exit_code == 1, result.output
    written = pd.read_csv(tmp_path / "drift.csv", index_col="column")
    assert written.index.tolist() == ["size", "colour", "code", "class probabilities"]
    assert written["drifted"].tolist() == [True, False, False, False]
    assert "Drift given the class" in command("drift", model, tmp_path / "far.csv", "--target", "kind").output


def test_a_column_of_text_that_is_empty_where_there_are_labels(fit_to):
    table = TABLE.assign(kind=["a", "b", "a", "b", "a", None], note=[None] * 5 + ["torn"])
    assert "'note' (no observed cell)" in fit_to(table).stderr


def test_advice_on_a_choice_is_told_in_options(fit_to):
    names = [f"person {row}" for row in range(24)]
    table = pd.DataFrame({"name": names, "size": np.linspace(0.3, 9.1, 24), "kind": ["a", "b"] * 12})
    told = fit_to(table).stderr
    assert "'name' (24 values in 24 cells)" in told
    assert "--drop NAME" in told
    assert fit_to(table, "--drop", "name").stderr == ""


def test_compare_makes_its_folder_before_it_samples(command, tmp_path):
    (tmp_path / "file").touch()
    result = command("compare", "penguins", "--target", "species", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Invalid value for '--out'" in result.stderr
    assert "is a file" in result.stderr


def test_compare_samples_as_asked_and_writes_what_it_compared(command, tmp_path, monkeypatch):
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    fits = []

    def draws_of_the_closed_form(model, X, y, inference=None, key=0):
        exact = nb.fit(model, X, y)
        if inference is None:
            return exact
        fits.append((inference, key))
        return nb.from_samples(model, exact.draws(num_chains=2, num_draws=1000, key=key), X=X, y=y)

    monkeypatch.setattr("bayesnb.cli.fit", draws_of_the_closed_form)
    options = ["--target", "kind", "--drop", "code", "--out", tmp_path / "out"]
    result = command("compare", tmp_path / "table.csv", *options)
    assert result.exit_code == 0, result.output
    assert fits == [(nb.NUTS(num_warmup=500, num_samples=1000, num_chains=4), 0)]
    assert "missing at random: 1" in result.output
    assert "YES, the samples agree" in result.output
    table = pd.read_csv(tmp_path / "table.csv")[["size", "colour"]]
    sampled, exact = (nb.load(tmp_path / "out" / name).predict_proba(table) for name in ("nuts.nc", "exact.nc"))
    assert f"probability on these rows: {np.abs(sampled - exact).max():.2g}" in result.output
    lines = result.output.splitlines()
    assert max(map(len, lines[: lines.index(next(line for line in lines if line.startswith("wrote")))])) <= 80
    rows = [line for line in lines if re.match(r"(class_prob|size_\w+|colour_prob)\[", line)]
    assert len(rows) == 20
    assert "6 more in comparison.csv" in " ".join(lines)
    assert len(pd.read_csv(tmp_path / "out" / "comparison.csv")) == 2 + 4 + 2 * 10
    files = {"comparison.png", "comparison.csv", "exact.nc", "exact-datatree.nc", "nuts.nc", "nuts-datatree.nc"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files
    for name in ("exact", "nuts"):
        assert f"{name}.nc: the posterior, for nb.load" in " ".join(lines)
        assert f"{name}-datatree.nc: its draws, for ArviZ" in " ".join(lines)
    assert (tmp_path / "out" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert type(nb.load(tmp_path / "out" / "nuts.nc")).__name__ == "SampledPosterior"
    with xr.open_datatree(tmp_path / "out" / "exact-datatree.nc", engine="h5netcdf") as tree:
        assert "colour_prob" in tree["posterior"]


def test_rows_and_cells_that_are_missing_are_counted(fit_to, tmp_path):
    table = TABLE.assign(colour=["red", "?", "red", "-", "red", "blue"], kind=["a", "b", "a", "b", "a", None])
    options = ["--missing", "?", "--missing", "-", "--drop", "code"]
    text = " ".join(fit_to(table, *options).output.split())
    assert "Rows without a kind, left out: 1" in text
    assert "missing at random: 3" in text
    assert "chosen by 5 rows" in text
    assert nb.load(tmp_path / "model.nc").model.schema.categories == {1: ("red",)}


def test_categories_that_were_numbers_at_the_fit_are_read_as_numbers(tmp_path):
    TABLE[TABLE["code"] != "x"].to_csv(tmp_path / "new.csv", index=False)
    numbers = nb.fit(nb.Categorical(categories=(1, 2)), pd.DataFrame({"code": [1, 2, 1]}), [0, 1, 1])
    rows = read_used_columns(numbers.model, str(tmp_path / "new.csv"), None, also="code")
    assert rows.columns.tolist() == ["code"]
    assert rows["code"].tolist() == [1, 2, 2, 1, 1]


@pytest.mark.parametrize(("labels", "text"), [([0, 1, 0, 1, 0, 1], False), (["0", "1", "0", "1", "0", "1"], True)])
def test_labels_are_read_as_they_were_at_the_fit(tmp_path, labels, text):
    model = nb.fit(nb.NaiveBayes.from_frame(TABLE[["size", "code"]]), TABLE[["size", "code"]], labels).model
    TABLE.assign(kind=labels).to_csv(tmp_path / "table.csv", index=False)
    rows = read_used_columns(model, str(tmp_path / "table.csv"), None, also="kind")
    assert rows["kind"].tolist() == labels
    assert all(isinstance(label, str) == text for label in rows["kind"].tolist())
    assert rows["code"].tolist() == TABLE["code"].tolist()


ROWS_OF_CSV = {
    "plain": ("a,b,y", "1.5,2,u", "2.5,3,v", "2.5,4,u"),
    "commas at the ends": ("a,b,y", "1.5,2,u,", "2.5,3,v,", "2.5,4,u,"),
    "commas and spaces at the ends": ("a,b,y", "1.5,2,u, ", "2.5,3,v,", "2.5,4,u,"),
    "two commas": ("a,b,y", "1.5,2,u,,", "2.5,3,v,,", "2.5,4,u,,"),
    "commas in both": ("a,b,y,", "1.5,2,u,", "2.5,3,v,", "2.5,4,u,"),
    "row names of R": ("a,b,y", '"1",1.5,2,u', '"2",2.5,3,v', '"3",2.5,4,u'),
    "row names of a part": ("a,b,y", "8,1.5,2,u", "3,2.5,3,v", "11,2.5,4,u"),
    "texts as row names": ("a,b,y", "x,1.5,2,u", "z,2.5,3,v", "w,2.5,4,u"),
    "row names with a header": (",a,b,y", "0,1.5,2,u", "1,2.5,3,v", "2,2.5,4,u"),
}


@pytest.mark.parametrize("way", ["file", "standard input"])
@pytest.mark.parametrize("name", ROWS_OF_CSV)
def test_cells_are_those_of_their_column(name, way, tmp_path, monkeypatch):
    text = "\n".join(ROWS_OF_CSV[name])
    (tmp_path / "table.csv").write_text(text)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    found = read_csv(str(tmp_path / "table.csv") if way == "file" else "-", None, ["y"], "y")
    assert found[["a", "b", "y"]].values.tolist() == [[1.5, 2, "u"], [2.5, 3, "v"], [2.5, 4, "u"]]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["a,b", "1,.5,", "2,.7,"], "more cells than the header"),
        (["a,b", "x,.5,", "z,.7,"], "more cells than the header"),
        (["a,b", "1.5,.5,6", "2.5,.7,7"], "more cells than the header"),
        (["a,b", "1,.5,6", "1,.7,7"], "more cells than the header"),
        (["a,b", "1,2,.5,6", "3,4,.7,7"], "more cells than the header"),
        (["a,b,a", "1,.5,6"], "has the column 'a' twice: give each column a name of its own"),
    ],
)
def test_columns_that_are_not_clear_are_refused(command, fitted, tmp_path, rows, words, monkeypatch):
    (tmp_path / "table.csv").write_text("\n".join(rows))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for verb in (["fit"], ["compare"], ["predict", fitted[1]], ["check", fitted[1]]):
        target = [] if verb[0] == "predict" else ["--target", "a"]
        refused(command(*verb, tmp_path / "table.csv", *target), words)
    assert not [*(tmp_path / "work").iterdir()]


def test_a_class_may_have_a_name_that_marks_missing_cells(fit_to, command, tmp_path):
    for word, kinds in (("NA", ["a", "NA", "a", "NA", "a", None]), ("None", ["None", "b", "None", "b", "b", None])):
        result = fit_to(SIZES.assign(kind=kinds))
        assert f"{word!r} is a class of 'kind'; if it marks a missing label, add --missing {word}" in result.stderr
        assert "Rows without a kind, left out: 1" in result.output
        assert word in nb.load(tmp_path / "model.nc").classes
        checked = command("check", tmp_path / "model.nc", tmp_path / "table.csv", *KIND, "--replicates", 5)
        assert checked.exit_code in (0, 1), checked.output
        read = read_used_columns(nb.load(tmp_path / "model.nc").model, str(tmp_path / "table.csv"), None, also="kind")
        assert (read["kind"] == word).sum() == kinds.count(word)


@pytest.mark.parametrize(
    ("kinds", "options"),
    [([0, 1, 0, 1, 0, "NA"], []), ([0, 1, 0, 1, 1, "nan"], []), (["a", "b", "a", "b", "a", "NA"], ["--missing", "NA"])],
)
def test_words_of_missing_labels_are_missing_where_classes_are_numbers(fit_to, tmp_path, kinds, options):
    result = fit_to(SIZES.assign(kind=kinds), *options)
    assert "Rows without a kind, left out: 1" in result.output
    classes = nb.load(tmp_path / "model.nc").classes.tolist()
    assert classes == sorted(set(kinds[:5]))
    read = read_used_columns(
        nb.load(tmp_path / "model.nc").model, str(tmp_path / "table.csv"), options[1:], also="kind"
    )
    assert read["kind"].isna().tolist() == [False] * 5 + [True]


@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        (("True", "False"), False),
        (("True", "False"), True),
        (("TRUE", "FALSE"), True),
        (("true", "false"), True),
    ],
)
def test_categories_that_are_true_and_false_are_seen(fit_to, command, tmp_path, words, lacking):
    flags = [words[0], words[1], words[0], words[1], words[0], "" if lacking else words[1]]
    fit_to(TABLE.assign(code=flags)[["size", "code", "kind"]], "--categorical", "code")
    found = command("predict", tmp_path / "model.nc", tmp_path / "table.csv")
    assert found.stderr == ""
    cells = pd.DataFrame(
        {"size": TABLE["size"], "code": [{words[0]: True, words[1]: False}.get(cell) for cell in flags]}
    )
    np.testing.assert_allclose(
        pd.read_csv(io.StringIO(found.stdout))[["proba_a", "proba_b"]],
        nb.load(tmp_path / "model.nc").predict_proba(cells),
        rtol=1e-12,
    )


@pytest.mark.parametrize("verb", ["predict", "check"])
def test_a_result_is_written_whole_or_not_at_all(command, fitted, tmp_path, monkeypatch, verb):
    table, model = fitted
    out, options = tmp_path / "out.csv", [] if verb == "predict" else [*KIND, "--replicates", 5]
    assert command(verb, model, table, *options, "--out", out).exit_code < 2
    before = out.read_bytes()

    def full(file):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    refused(command(verb, model, table, *options, "--out", out), "not saved (No space left on device)")
    assert out.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.skipif(os.name != "posix", reason="Windows has other devices")
def test_a_result_goes_to_compressed_files_and_devices(command, fitted, tmp_path):
    table, model = fitted
    plain = predicted(command("predict", model, table))
    assert command("predict", model, table, "--out", tmp_path / "out.csv.gz").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "out.csv.gz"), plain)
    assert command("predict", model, table, "--out", "/dev/null").exit_code == 0
    refused(command("predict", model, table, "--out", tmp_path), "is not a file that can be replaced")


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="this system does not name its standard input")
def test_the_standard_input_is_not_written_over(command, fitted, tmp_path):
    shutil.copy(fitted[0], tmp_path / "table.csv")
    before = os.dup(0)
    try:
        with open(tmp_path / "table.csv", "rb") as file:
            os.dup2(file.fileno(), 0)
        result = command("predict", fitted[1], "-", "--out", tmp_path / "table.csv")
    finally:
        os.dup2(before, 0)
        os.close(before)
    refused(result, "table.csv' is the input '-', which would be lost")
    assert (tmp_path / "table.csv").read_bytes() == fitted[0].read_bytes()


def test_the_command_takes_the_numbers_of_the_function():
    of_command, of_function = (inspect.signature(thing).parameters for thing in (check_command, nb.check))
    assert of_command["replicates"].default == of_function["num_replicates"].default
    assert of_command["seed"].default == of_function["key"].default


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_parquet_files_are_fitted_and_predicted_as_csv(command, fitted, tmp_path, engine, monkeypatch):
    pytest.importorskip(engine)
    monkeypatch.setattr(lazy_table, "find_spec", lambda name: name == engine)
    table, model = fitted
    TABLE[:2].to_parquet(tmp_path / "a.parquet")
    TABLE[2:].to_parquet(tmp_path / "b.parquet")
    files, mine, out = tmp_path / "?.parquet", tmp_path / "mine.nc", tmp_path / "out.parquet"
    result = command("fit", files, "--target", "kind", "--out", mine)
    assert result.exit_code == 0, result.output
    assert result.output.replace(str(mine), "") == command(
        "fit", table, "--target", "kind", "--out", tmp_path / "other.nc"
    ).output.replace(str(tmp_path / "other.nc"), "")
    assert command("predict", mine, files, "--out", out).exit_code == 0
    expected = pd.read_csv(io.StringIO(command("predict", model, table).stdout))
    found = pd.read_parquet(out)
    assert [*found] == [*TABLE, "proba_a", "proba_b", "prediction"]
    assert found["prediction"].tolist() == expected["class"].tolist()
    np.testing.assert_allclose(found[["proba_a", "proba_b"]], expected[["proba_a", "proba_b"]], rtol=1e-9)
    TABLE.assign(size=[np.inf, *TABLE["size"][1:]]).to_parquet(tmp_path / "infinite.parquet")
    assert command("predict", mine, tmp_path / "infinite.parquet", "--out", out).exit_code == 0
    assert pd.read_parquet(out)["prediction"].fillna("none").tolist() == ["none", *expected["class"][1:]]
    TABLE.assign(Prediction=1).to_parquet(tmp_path / "taken.parquet")
    assert "column 'Prediction' already" in command("predict", mine, tmp_path / "taken.parquet", "--out", out).stderr
    assert [*tmp_path.glob(".*")] == []


PARQUET_ERRORS = {
    "there is no file 'none.parquet'": ["fit", "none.parquet", "--target", "kind"],
    "y is 'kin', which is not a column of X": ["fit", "FILE", "--target", "kin"],
    "is Parquet, whose cells have types: --missing": ["fit", "FILE", "--target", "kind", "--missing", "?"],
    "is Parquet: give --out FILE.parquet, and no --interval": ["predict", "MODEL", "FILE"],
    "column 'colours' is not there (did you mean 'colour'?)": ["fit", "FILE", "--target", "kind", "--drop", "colours"],
    "a [1].parquet' is the input": ["predict", "MODEL", "FILES", "--out", "FILE"],
    "which would be lost: give another file": ["fit", "FILES", "--target", "kind", "--out", "FILE"],
    "cannot be read": ["fit", "BROKEN", "--target", "kind"],
    "broken.pq' cannot be ": ["predict", "MODEL", "BROKEN", "--out", "NEW"],
    "new.parquet' cannot be written": ["predict", "MODEL", "FILE", "--out", "NOWHERE"],
    "is Parquet, which fit and predict take": ["check", "MODEL", "FILE", "--target", "kind"],
    "give this command a CSV file": ["compare", "FILE", "--target", "kind"],
}


@pytest.mark.parametrize("words", PARQUET_ERRORS)
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_errors_of_parquet_files(command, fitted, tmp_path, words, engine, monkeypatch):
    pytest.importorskip(engine)
    monkeypatch.setattr(lazy_table, "find_spec", lambda name: name == engine)
    TABLE.to_parquet(tmp_path / "a [1].parquet")
    (tmp_path / "broken.pq").write_text("no table")
    names = {"FILE": "a [1].parquet", "FILES": "a*.parquet", "BROKEN": "broken.pq", "NEW": "new.parquet"}
    names = {name: tmp_path / path for name, path in {**names, "NOWHERE": "none/new.parquet"}.items()}
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    given = {**names, "MODEL": fitted[1]}
    result = command(*(given.get(argument, argument) for argument in PARQUET_ERRORS[words]))
    assert result.exit_code == 2
    assert words in result.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
