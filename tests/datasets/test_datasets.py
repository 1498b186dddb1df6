"""The tables that come with the package are what their sources say."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from make_federalist import STEMS
from sklearn.naive_bayes import MultinomialNB

import bayesnb as nb

ROOT = Path(nb.__file__).parents[1]
COUNTS = ROOT / "bayesnb" / "datasets" / "federalist.csv"
DISPUTED = [49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 62, 63]

# Log odds Madison : Hamilton of the disputed essays, as published with the reference table, by scikit-learn's
# MultinomialNB with alpha 1 on the seventy words of the essays of known authors.
PUBLISHED_LOG_ODDS = [6.6, 10.2, 26.3, 25.6, 23.9, 17.0, -2.5, 16.8, 29.8, 17.7, 22.8, 31.1]


@pytest.fixture(scope="module")
def reference(data):
    return pd.read_csv(data / "federalist" / "function_word_counts.csv", index_col="number")


def test_federalist_has_the_essays_and_authors_of_mosteller_and_wallace():
    counts, authors = nb.datasets.federalist()
    assert counts.index.tolist() == authors.index.tolist() == list(range(1, 86))
    assert authors.value_counts().to_dict() == {"Hamilton": 51, "Madison": 14, "disputed": 12, "Jay": 5, "joint": 3}
    assert authors.index[authors == "disputed"].tolist() == DISPUTED
    assert authors.index[authors == "Jay"].tolist() == [2, 3, 4, 5, 64]
    assert authors.index[authors == "joint"].tolist() == [18, 19, 20]


@pytest.mark.parametrize(("words", "number"), [("function", 70), ("final", 30)])
def test_federalist_rows_add_up_to_the_length_of_the_essay(words, number):
    counts, _ = nb.datasets.federalist(words)
    assert counts.shape == (85, number + 1)
    assert counts.columns.is_unique
    assert counts.columns[-1] == "(other)"
    assert counts.to_numpy().dtype.kind == "i"
    assert (counts >= 0).all(axis=None)
    np.testing.assert_array_equal(counts.sum(axis=1), pd.read_csv(COUNTS)["length"])


def test_federalist_script_writes_the_file_that_is_shipped(data, tmp_path):
    script, made = ROOT / "tools" / "make_federalist.py", tmp_path / "federalist.csv"
    papers = data / "federalist" / "federalist_papers.csv.gz"
    subprocess.run([sys.executable, str(script), str(papers), str(made)], check=True)
    assert made.read_bytes() == COUNTS.read_bytes()
    assert COUNTS.stat().st_size < 40_000


def test_federalist_counts_are_those_of_the_reference_table(reference):
    function, authors = nb.datasets.federalist()
    final, _ = nb.datasets.federalist("final")
    assert function.columns[:-1].tolist() == reference.columns[3:73].tolist()
    np.testing.assert_array_equal(authors, reference["author_mw"])
    np.testing.assert_array_equal(function.sum(axis=1), reference["n_tokens"])
    for word in function.columns[:-1]:
        np.testing.assert_array_equal(function[word], reference[word], err_msg=word)
    for word in final.columns[:-1]:
        forms = list(STEMS.get(word, [word]))
        np.testing.assert_array_equal(final[word], reference[forms].sum(axis=1), err_msg=word)


def test_federalist_gives_the_published_log_odds_of_the_disputed_essays():
    counts, authors = nb.datasets.federalist()
    counts = counts.drop(columns="(other)").to_numpy()
    known, disputed = authors.isin(["Hamilton", "Madison"]), authors == "disputed"
    joint = MultinomialNB().fit(counts[known], authors[known]).predict_joint_log_proba(counts[disputed])
    np.testing.assert_allclose(joint[:, 1] - joint[:, 0], PUBLISHED_LOG_ODDS, atol=0.05)


def test_tables_and_their_sources_are_in_the_wheel(tmp_path):
    root = Path(nb.__file__).parents[1]
    if not (root / "pyproject.toml").is_file():
        pytest.skip("the package is installed without its sources")
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling builds the wheel")
    built = next(builder.WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"]))
    with zipfile.ZipFile(built) as wheel:
        assert wheel.read("bayesnb/datasets/federalist.csv") == COUNTS.read_bytes()
        assert wheel.read("bayesnb/datasets/penguins.csv") == nb.datasets.penguins_path().read_bytes()
        sources = wheel.read("bayesnb/datasets/README.md").decode("utf-8")
    assert all(path.name in sources for path in COUNTS.parent.glob("*.csv"))


def test_penguins_are_those_of_the_published_table():
    X, y = nb.datasets.penguins()
    assert y.value_counts().to_dict() == {"Adelie": 152, "Gentoo": 124, "Chinstrap": 68}
    missing = X.isna().sum()
    assert missing[["island", "sex"]].tolist() == [0, 11]
    sizes = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    assert missing[sizes].tolist() == [2] * 4
    # Means of the table as its authors print them in the summary of the R package.
    assert X[sizes].mean().round(2).tolist() == [43.92, 17.15, 200.92, 4201.75]


def test_anesthesia_is_the_published_table(data):
    found = nb.datasets.anesthesia()
    expected = pd.read_csv(data / "annotations" / "anesthesia.csv")
    np.testing.assert_array_equal(found[["patient", "anesthetist", "rating"]], expected[["item", "annotator", "label"]])
    assert found.groupby("anesthetist").size().to_dict() == {1: 135, 2: 45, 3: 45, 4: 45, 5: 45}
