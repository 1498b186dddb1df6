"""A saved model with NumPy alone predicts as the estimator or posterior does, with the same errors and warnings."""

import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
import xarray as xr
from cases import FAMILIES, Case

import bayesnb as nb
from bayesnb.core.sealed_files import seal, sealed_image
from bayesnb.estimators import BernoulliNB
from bayesnb.serve.scorer import MARKER, Reading, Scorer, Tables

ROWS = 300
NEVER = "never seen"


def simulated() -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of each kind, with gaps: numbers, text, booleans, counts, prices in text, and dates as text."""
    rng = np.random.default_rng(3)
    k = rng.integers(0, 3, ROWS)
    day = np.datetime64("2020-01-01") + rng.integers(0, 300, ROWS) + 60 * k
    bark = (k + (rng.random(ROWS) < 0.4)) % 3
    X = pd.DataFrame(
        {
            "size": rng.normal(k, 1.0).round(2),
            "weight": np.exp(rng.normal(0.5 * k, 0.5)).round(3),
            "bark": np.array(["smooth", "rough", "flaky"])[bark],
            "moss": rng.random(ROWS) < 0.2 + 0.3 * k,
            "cones": rng.poisson(1.0 + k + 6.0 * (bark == 1)),
            "price": [f"{price:.2f} €".replace(".", ",") for price in rng.gamma(5.0, 1.0 + k)],
            "seen": [f"{one.astype(object):%d.%m.%Y}" for one in day],
        }
    )
    for column in ("size", "bark", "seen"):
        X[column] = X[column].astype(object).mask(rng.random(ROWS) < 0.1 + 0.1 * k, None)
    return X, np.array(["ash", "fir", "oak"])[k]


FITS: dict[str, Callable[[Any, Any], Any]] = {
    "estimator": lambda X, y: nb.NaiveBayesClassifier().fit(X, y),
    "shared weight": lambda X, y: nb.NaiveBayesClassifier(feature_weights="shared").fit(X, y),
    "posterior": lambda X, y: nb.fit(nb.NaiveBayes.from_frame(X, y), X, y),
    "other categories": lambda X, y: nb.fit(
        nb.NaiveBayes({"bark": nb.Categorical(other=True), "cones": nb.Poisson(), "moss": nb.Bernoulli()}), X, y
    ),
}


@pytest.fixture(scope="module", params=FITS)
def pair(request: Any, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A fit, and what serves it."""
    return serving(request.param, tmp_path_factory.mktemp("served") / "model.nc")


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    return serving("estimator", tmp_path_factory.mktemp("served") / "model.nc")


def serving(name: str, path: Path) -> SimpleNamespace:
    X, y = simulated()
    with warnings.catch_warnings(action="ignore"):  # what the model makes of dates and of numbers in text
        fitted = FITS[name](X, y)
    fitted.save(path)
    return SimpleNamespace(fitted=fitted, served=nb.serve.load(path), X=X, path=path)


def records(X: pd.DataFrame) -> list[dict[str, Any]]:
    return [{name: None if cell != cell else cell for name, cell in row.items()} for row in X.to_dict("records")]


def strange(X: pd.DataFrame) -> pd.DataFrame:
    """The rows with more gaps, categories that were not seen, and cells that tolerant columns make missing."""
    rng = np.random.default_rng(8)
    changed = X.astype(object)
    for column in changed:
        changed[column] = changed[column].mask(rng.random(ROWS) < 0.15, None)
    for column, cell in {"bark": NEVER, "price": "dear", "seen": "2020-13-45", "size": -1e9}.items():
        changed.loc[rng.random(ROWS) < 0.1, column] = cell
    return changed


def outcome(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """What a call gives, or its error, and the warnings."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            found = call()
        except (TypeError, ValueError) as error:
            found = type(error).__mro__[-3], str(error)
    return found, [str(each.message) for each in caught]


def test_rows_with_gaps_and_what_was_not_seen_are_predicted_as_by_the_fit(pair):
    for X in (pair.X, strange(pair.X)):
        expected, told = outcome(lambda X=X: pair.fitted.predict_proba(X))
        for rows in (X, records(X)):
            found, warned = outcome(lambda rows=rows: pair.served.predict_proba(rows))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
            assert warned == told
        one_by_one, _ = outcome(lambda X=X: np.concatenate([pair.served.predict_proba(row) for row in records(X)[:50]]))
        np.testing.assert_allclose(one_by_one, expected[:50], rtol=0, atol=1e-12)


def test_the_other_predictions_are_those_of_the_fit(pair):
    X, served = pair.X, pair.served
    classes = getattr(pair.fitted, "classes_", getattr(pair.fitted, "classes", None))
    assert served.classes.tolist() == classes.tolist()
    assert served.columns == tuple(X.columns)
    loss = pd.DataFrame(
        [[0, 1, 4], [2, 0, 1], [3, 3, 0], [0.5, 0.5, 0.5]], ["ash", "fir", "oak", "ask"], ["ash", "fir", "oak"]
    )
    for decision in ({}, {"loss": loss}, {"confidence": 0.8}, {"confidence": 0.8, "abstain": "ask"}):
        np.testing.assert_array_equal(served.predict(X, **decision), pair.fitted.predict(X, **decision))
    with pytest.raises(ValueError, match="loss and confidence are both given"):
        served.predict(X, loss=loss, confidence=0.5)
    np.testing.assert_allclose(served.predict_log_proba(X), pair.fitted.predict_log_proba(X), rtol=1e-12, atol=1e-12)
    for row in records(X)[:5]:
        expected, found = pair.fitted.explain(row), served.explain(row)
        assert (found["class"], found["against"]) == (expected.attrs["class"], expected.attrs["against"])
        assert [*found["log_odds"]] == expected.index.tolist()
        np.testing.assert_allclose([*found["log_odds"].values()], expected["log_odds"], rtol=0, atol=1e-11)
        assert served.explain(row, "oak", "ash")["log_odds"].keys() == found["log_odds"].keys()


def test_another_population_has_the_class_probabilities_that_are_given(pair):
    probs = {"fir": 0.5, "ash": 0.2, "oak": 0.3}
    expected = getattr(pair.fitted, "posterior_", pair.fitted).with_class_probs(probs)
    for given in (probs, pd.Series(probs), [0.2, 0.5, 0.3]):
        found = pair.served.with_class_probs(given)
        np.testing.assert_allclose(found.predict_proba(pair.X), expected.predict_proba(pair.X), rtol=0, atol=1e-12)
    for wrong in ({"ash": 1.0}, [0.5, 0.5], [0.5, 0.6, 0.1], "empirical", {"ash": -1.0, "fir": 1.0, "oak": 1.0}):
        with pytest.raises((ValueError, TypeError), match="class_probs"):
            pair.served.with_class_probs(wrong)


def test_a_class_of_probability_zero_may_have_some_elsewhere_unless_weights_were_learned(tmp_path):
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"size": rng.normal(size=40), "moss": rng.integers(0, 2, 40)}), np.array(["ash", "fir"] * 20)
    model = nb.NaiveBayes({"size": nb.Gaussian(), "moss": nb.Bernoulli()}, class_probs="empirical")
    exact = nb.fit(model, X, y, classes=["ash", "fir", "oak"])
    for fitted in (exact, exact.with_class_probs([0.4, 0.6, 0.0])):
        fitted.save(tmp_path / "model.nc")
        found = nb.serve.load(tmp_path / "model.nc").with_class_probs([0.1, 0.3, 0.6]).predict_proba(X)
        expected = fitted.with_class_probs([0.1, 0.3, 0.6]).predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    nb.weight_features(exact, X, y).save(tmp_path / "model.nc")
    with pytest.raises(ValueError, match="class 'oak' has probability zero"):
        nb.serve.load(tmp_path / "model.nc").with_class_probs([0.1, 0.3, 0.6])


def test_sets_of_labels_are_those_of_the_estimator(classifier):
    for options in ({}, {"coverage": 0.7, "empty": True}, {"by_class": True}):
        expected = classifier.fitted.predict_set(classifier.X, **options)
        np.testing.assert_array_equal(classifier.served.predict_set(classifier.X, **options), expected)
    with pytest.raises(ValueError, match="no leave-one-out probabilities of labels"):
        classifier.served.with_class_probs([0.2, 0.5, 0.3]).predict_set(classifier.X)


ROW = dict(zip(simulated()[0], simulated()[0].iloc[0], strict=True))
CELLS = {
    "text in a number": {"weight": "39"},
    "a date in a number": {"weight": np.datetime64("2020-01-01")},
    "a list in a number": {"cones": [1]},
    "infinite": {"size": np.inf},
    "beyond sums of squares": {"size": 1e200},
    "beyond float64": {"size": 10**400},
    "negative": {"weight": -2.0},
    "half a cone": {"cones": 0.5},
    "many cones": {"cones": 2e9},
    "beyond whole numbers": {"cones": 2.0**60},
    "a list as category": {"bark": ["smooth"]},
    "a number as category": {"bark": 3},
    "unseen": {"bark": NEVER},
    "NaN": {"bark": float("nan"), "size": float("nan"), "moss": None, "cones": pd.NA},
    "another date": {"seen": "1/2/2021"},
    "no number": {"price": "dear", "bark": NEVER},
    "a number for text": {"price": 3.5},
    "a list for text": {"price": [3.5]},
}


@pytest.mark.parametrize("case", CELLS)
def test_cells_are_checked_as_the_fit_checks_them(pair, case):
    row = ROW | CELLS[case]
    expected, told = outcome(lambda: pair.fitted.predict_proba(row))
    found, warned = outcome(lambda: pair.served.predict_proba(row))
    assert warned == told
    if isinstance(expected, tuple):
        assert found == expected
    else:
        error = 1e-6 if "an error of about 1e-6" in "".join(told) else 1e-12
        np.testing.assert_allclose(found, expected, rtol=0, atol=error)


def test_a_row_that_lacks_a_column_is_refused_as_by_the_estimator(classifier):
    row = {name: cell for name, cell in ROW.items() if name != "weight"} | {"wieght": 1.0}
    expected, _ = outcome(lambda: classifier.fitted.predict_proba(row))
    assert outcome(lambda: classifier.served.predict_proba([ROW, row]))[0] == expected
    assert outcome(lambda: classifier.served.predict_proba(pd.DataFrame([row])))[0] == expected
    np.testing.assert_array_equal(classifier.served.predict(ROW | {"more": 1}), classifier.served.predict(ROW))


@pytest.mark.parametrize(
    "rows", ["text", None, 3.0, np.zeros(7), np.zeros((2, 6)), np.zeros((1, 7, 1)), [[1, 2]], [1, 2, 3]]
)
def test_what_are_no_rows_is_refused(classifier, rows):
    with pytest.raises(ValueError, match=r"give a dict from column to cell, .* or an array with 7 columns"):
        classifier.served.predict_proba(rows)


def test_arrays_and_lists_have_the_cells_in_the_order_of_the_columns(tmp_path):
    X, y = np.array([[1, 0], [1, 1], [0, 1], [0, 0]]), [3, 1, 3, 1]
    posterior = nb.fit(nb.Bernoulli(), X, y)
    posterior.save(tmp_path / "model.nc")
    served = nb.serve.load(tmp_path / "model.nc")
    expected = posterior.predict_proba(X)
    masked = np.ma.masked_array(X, np.zeros(X.shape))
    for rows in (X, X.astype(float), X.tolist(), X > 0, X.astype(object), masked, [{0: u, 1: v} for u, v in X]):
        np.testing.assert_array_equal(served.predict_proba(rows), expected)
    np.testing.assert_array_equal(served.predict_proba([1, 0]), expected[:1])
    with pytest.raises(TypeError, match="X holds an int among dicts"):
        served.predict_proba([{0: 1, 1: 0}, 1])
    with pytest.raises(ValueError, match="X is a csr_array: give a dict"):
        served.predict_proba(scipy.sparse.csr_array(X))
    assert served.predict_proba([]).shape == (0, 2)
    assert served.predict(X).dtype.kind == "i"


def test_a_number_on_an_edge_belongs_to_the_bin_above_it():
    probs = np.array([[0.1, 0.2, 0.7, 1.0], [0.3, 0.3, 0.4, 1.0]])  # the last of a missing cell
    none = np.zeros(1, int)
    scorer = Scorer(
        classes=("a", "b"),
        columns=("x",),
        code_readings=(Reading(0, edges=(1.0, 2.0)),),
        number_readings=(),
        bins=(),
        tables=Tables(np.log(probs), none, none[:, None], none[:, None] + 1),
        densities=(),
        weight=np.empty(0),
        subjects=("x",),
        subject=none,
        log_class_prob=np.log([0.5, 0.5]),
    )
    found = nb.serve.ServedModel(scorer).predict_proba([{"x": x} for x in (0.5, 1, 1.5, 2.0, None)])
    np.testing.assert_allclose(found, (probs / probs.sum(axis=0)).T[[0, 1, 1, 2, 3]], rtol=1e-12)


WITHOUT = {"multinomial", "outside multinomial", "user's exponential", "numpyro exponential"}
"""Families in closed form without a flat one."""


@pytest.mark.parametrize("case", [case for case in FAMILIES if case.can.closed], ids=lambda case: case.name)
def test_each_family_predicts_as_its_posterior_or_has_no_flat_form(case: Case, tmp_path: Path) -> None:
    X, y = case.table(holes=True)
    posterior = nb.fit(case.model(case.default), X, y)
    posterior.save(tmp_path / "model.nc")
    if case.name in WITHOUT:
        with pytest.raises(ValueError, match=r"no model in flat form.*nb\.load\(path\)\.save\(new, scorer=True\)"):
            nb.serve.load(tmp_path / "model.nc")
        with pytest.raises(ValueError, match="scorer=True, but the posterior has no flat form"):
            posterior.save(tmp_path / "model.nc", scorer=True)
        return
    found = nb.serve.load(tmp_path / "model.nc").predict_proba(records(X))
    np.testing.assert_allclose(found, posterior.predict_proba(X), rtol=0, atol=1e-12)


def test_frames_of_other_libraries_are_those_of_pandas(classifier):
    columns = {name: [row[name] for row in records(classifier.X)] for name in classifier.X}
    expected = classifier.served.predict_proba(records(classifier.X))
    for frame in (pl.DataFrame(columns), pa.table(columns)):
        np.testing.assert_allclose(classifier.served.predict_proba(frame), expected, rtol=0, atol=1e-12)


def test_threads_predict_at_the_same_time(classifier):
    rows = records(strange(classifier.X))
    with warnings.catch_warnings(action="ignore"):
        expected = classifier.served.predict_proba(rows)
        fresh = nb.serve.load(classifier.path)
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(fresh.predict_proba, rows))
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=0, atol=1e-12)


# --------------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------------


def test_the_file_is_that_of_before_with_one_more_dataset(classifier, tmp_path):
    classifier.fitted.save(tmp_path / "without.nc", scorer=False)
    classifier.fitted.save(tmp_path / "sums.nc", rows=False)
    with h5py.File(classifier.path) as file, h5py.File(tmp_path / "without.nc") as without:
        assert file.attrs["bayesnb"] == without.attrs["bayesnb"]
        assert {*file} - {*without} == {"scorer", "scorer_0"}
    with xr.open_datatree(classifier.path, engine="h5netcdf") as tree:
        assert tree["scorer"].to_numpy().tobytes().startswith(MARKER)
    assert (tmp_path / "sums.nc").stat().st_size < classifier.path.stat().st_size
    again = nb.load(classifier.path)
    np.testing.assert_array_equal(again.predict_proba(classifier.X), classifier.fitted.predict_proba(classifier.X))
    with pytest.raises(ValueError, match="holds no model in flat form"):
        nb.serve.load(tmp_path / "without.nc")
    nb.load(tmp_path / "without.nc").save(tmp_path / "with.nc")
    served = nb.serve.load(tmp_path / "with.nc")
    np.testing.assert_array_equal(served.predict(classifier.X), classifier.served.predict(classifier.X))


def test_a_large_flat_form_is_written_where_it_is_asked_for(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr("bayesnb.posterior.files.MOST_BYTES", 10)
    for scorer, there in ((None, False), (True, True)):
        classifier.fitted.save(tmp_path / "model.nc", scorer=scorer)
        assert (MARKER in (tmp_path / "model.nc").read_bytes()) is there
    with pytest.raises(ValueError, match="scorer is 'yes'"):
        classifier.fitted.save(tmp_path / "model.nc", scorer="yes")


def test_a_label_that_only_the_posterior_holds_leaves_the_flat_form_out(tmp_path):
    posterior = nb.fit(nb.Bernoulli(), [[0], [1]], list(pd.to_datetime(["2020-01-01", "2021-01-01"])))
    posterior.save(tmp_path / "model.nc")
    assert nb.load(tmp_path / "model.nc").classes.tolist() == posterior.classes.tolist()
    with pytest.raises(ValueError, match="holds no model in flat form"):
        nb.serve.load(tmp_path / "model.nc")
    with pytest.raises(TypeError, match="a scorer in a file holds text, numbers"):
        posterior.save(tmp_path / "model.nc", scorer=True)


def test_thresholds_between_zero_and_one_have_a_flat_form(tmp_path):
    X, y = np.array([[0, 1], [1, 1], [1, 0], [0, 0]]), list("abab")
    for binarize, there in ((0.0, True), (0.5, True), (None, True), (-1.0, False), (1.0, False)):
        fitted = BernoulliNB(binarize=binarize).fit(X, y)
        fitted.save(tmp_path / "model.nc")
        assert (MARKER in (tmp_path / "model.nc").read_bytes()) is there
        if there:
            found = nb.serve.load(tmp_path / "model.nc").predict_proba(X)
            np.testing.assert_allclose(found, fitted.predict_proba(X), rtol=0, atol=1e-12)
        else:
            with pytest.raises(ValueError, match=r"binarize=.* has no flat form"):
                fitted.save(tmp_path / "model.nc", scorer=True)


def damages(path: Path) -> dict[str, bytes]:
    image = sealed_image(path)
    place = image.rfind(MARKER)
    other = bytearray(image)
    other[place + 200] ^= 1
    recipe = replace(scorer := nb.serve.load(path)._scorer, code_readings=tuple(map(forged, scorer.code_readings)))
    asked = image[:place] + recipe.to_bytes()
    later = image.replace(MARKER, MARKER.replace(b"2\x00", b"9\x00"))
    whole = path.read_bytes()
    return {
        "flipped": bytes(other) + whole[len(image) :],
        "cut": whole[: place + 100],
        "sealed again": bytes(other) + seal(bytes(other)),
        "of a later version": later + seal(later),
        "forged": asked + seal(asked),
        "nothing": b"",
    }


def forged(reading: Any) -> Any:
    return replace(reading, recipe="date", settings=(("part", "century"),))


@pytest.mark.parametrize("what", ["flipped", "cut", "sealed again", "of a later version", "forged", "nothing"])
def test_a_damaged_cut_or_forged_file_is_one_error(classifier, tmp_path, what):
    (tmp_path / "model.nc").write_bytes(damages(classifier.path)[what])
    with pytest.raises(ValueError, match=r"model\.nc'"):
        nb.serve.load(tmp_path / "model.nc")


def test_a_file_that_there_is_not():
    with pytest.raises(FileNotFoundError, match=r"there is no file 'nothing\.nc'"):
        nb.serve.load("nothing.nc")


# --------------------------------------------------------------------------------------------------
# NumPy alone
# --------------------------------------------------------------------------------------------------

PROGRAM = """
    import warnings
    import bayesnb.serve as serve

    model = serve.load(sys.argv[1])
    row = dict(size=1.0, weight=None, bark="never seen", moss=True, cones=2, price="3,10 €", seen="03.04.2020")
    with warnings.catch_warnings(action="ignore"):
        print(*model.predict_proba(row)[0].tolist())
        model.explain(row), model.predict_set([row, row]), model.with_class_probs([0.2, 0.3, 0.5]).predict(row)
"""


def run(executable: Any, before: str, path: Path) -> list[float]:
    command = [str(executable), "-c", textwrap.dedent(before) + textwrap.dedent(PROGRAM), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


def expected_of_program(classifier: SimpleNamespace) -> Any:
    cells = (1.0, None, NEVER, True, 2, "3,10 €", "03.04.2020")
    return outcome(lambda: classifier.served.predict_proba(dict(zip(classifier.X, cells, strict=True))))[0][0]


FORBIDDEN = {"h5py", "h5netcdf", "jax", "numpyro", "scipy", "pandas", "sklearn", "narwhals", "lazy_loader", "tqdm"}


BLOCK = """
    import sys

    class Block:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in FORBIDDEN:
                raise ImportError(f"{name} is not to be imported")

    sys.meta_path.insert(0, Block())
"""


def test_numpy_is_all_that_is_imported(classifier):
    found = run(sys.executable, f"FORBIDDEN = {FORBIDDEN}\n" + textwrap.dedent(BLOCK), classifier.path)
    np.testing.assert_allclose(found, expected_of_program(classifier), rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_small_install_has_all_that_serving_needs(classifier, tmp_path):
    """As `pip install --no-deps bayesnb numpy` in an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    here = Path(nb.__file__).parents[1]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*install, f"numpy=={np.__version__}", str(here)], check=True, cwd=tmp_path)
    found = run(python, "import sys\n", classifier.path)
    np.testing.assert_allclose(found, expected_of_program(classifier), rtol=0, atol=1e-12)
