"""The rows that `partial_fit` of `NaiveBayesClassifier` keeps, and what is learned from them again."""

import pickle
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.metrics import log_loss

import bayesnb as nb
from bayesnb import estimators
from bayesnb.data.read import as_table
from bayesnb.estimators import NaiveBayesClassifier
from bayesnb.estimators.kept_rows import KeptRows

NUM_ROWS = 96
Y = np.array(["no", "yes"])[np.random.default_rng(0).integers(0, 2, NUM_ROWS)]


def frame() -> pd.DataFrame:
    """Columns of many types, missing cells in most of them."""
    rng = np.random.default_rng(1)
    shift = (Y == "yes").astype(int)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=NUM_ROWS) + shift,
            "count": rng.poisson(1 + 3 * shift),
            "kind": rng.choice(["p", "q", "r"], NUM_ROWS),
            "flag": rng.random(NUM_ROWS) < 0.3 + 0.4 * shift,
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(NUM_ROWS), unit="D"),
            "place": pd.Categorical(rng.choice(["north", "south"], NUM_ROWS), categories=["east", "north", "south"]),
            "rooms": pd.array(rng.integers(0, 5, NUM_ROWS), dtype="Int64"),
        }
    )
    for j, name in enumerate(["size", "kind", "rooms"]):
        X.loc[X.index % 11 == j, name] = None
    return X


FRAME = frame()
NUMBERS = FRAME[["size", "count"]].to_numpy(dtype=float)
WORDS = scipy.sparse.csr_array(np.random.default_rng(2).poisson(0.3 + 0.6 * (Y == "yes")[:, None], (NUM_ROWS, 6)))
DATES = nb.NaiveBayes({"day": nb.Categorical(categories=FRAME["day"].tolist()), "size": nb.Gaussian()})
CATEGORIES = nb.NaiveBayes({"rooms": nb.Categorical(), "place": nb.Categorical()})
JOINT = nb.NaiveBayes({"both": (nb.JointCategorical(), ["kind", "place"]), "size": nb.Histogram()})

ONCE = {"descriptions": None}
CASES = {
    "pandas": ({}, FRAME),
    "numbers": (ONCE, NUMBERS),
    "sparse": (ONCE, WORDS),
    "trees": ({"model": nb.AllTrees()}, NUMBERS),
    "bound": ({"model": JOINT.bind(FRAME, Y)}, FRAME),
    "polars": ({}, pl.from_pandas(FRAME)),
    "texts": (ONCE, FRAME[["kind", "place"]].astype(str).to_numpy().astype(str)),
    "objects": (ONCE, FRAME[["size", "kind", "count"]].to_numpy(dtype=object)),
    "no weights": ({"feature_weights": None}, FRAME),
    "one weight": ({"feature_weights": "shared"}, FRAME),
    "averaged": ({"feature_inclusion": 0.5}, NUMBERS),
    "plug-in": ({"predictive": "plugin"}, NUMBERS),
    "a family": ({"model": nb.PolyaTree()}, NUMBERS),
    "dates": ({"model": DATES}, FRAME),
    "blocks": ({"model": JOINT}, FRAME),
    "categories": ({"model": CATEGORIES, "feature_weights": None}, FRAME),
}
QUICK = ("pandas", "numbers", "sparse", "trees", "categories")
PARTS = [slice(0, 20), slice(20, 24), slice(24, NUM_ROWS)]
"""Batches; each but the second makes learning due."""

by_case = pytest.mark.parametrize(
    "case", [case if case in QUICK else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
pytestmark = pytest.mark.filterwarnings(
    "ignore:the model leaves out 'day'", "ignore:.* rows lack a cell of block 'both'"
)


def taken(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def fed(estimator, X, y, parts=PARTS, weight=None):
    for part in parts:
        given = None if weight is None else weight[part]
        estimator.partial_fit(X[part], y[part], classes=np.unique(Y), sample_weight=given)
    return estimator


def assert_same(found, expected, X):
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(found.class_count_, expected.class_count_, rtol=1e-12)
    assert repr(found.model_) == repr(expected.model_)
    assert repr(found.model_.schema.categories) == repr(expected.model_.schema.categories)


@by_case
def test_while_all_rows_are_kept_learning_is_fit(case):
    options, X = CASES[case]
    rows = np.argsort(Y, kind="stable")
    X, y, rest = taken(X, rows), Y[rows], np.r_[0:30, 60:NUM_ROWS]
    found = fed(NaiveBayesClassifier(**options), X, y)
    assert_same(found, NaiveBayesClassifier(**options).fit(X, y), X)
    found.forget(X[30:60], y[30:60])
    left = taken(X, rest)
    assert_same(found, NaiveBayesClassifier(**options).fit(left, y[rest]), left)


def test_weights_of_rows_and_decay():
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], NUM_ROWS)
    X, parts = FRAME[["size", "kind"]], [slice(0, 20), slice(20, NUM_ROWS)]
    found = fed(NaiveBayesClassifier(decay=0.5, **ONCE), X, Y, parts, weight)
    now = weight * np.repeat([0.5, 1.0], [20, NUM_ROWS - 20])
    assert_same(found, NaiveBayesClassifier(**ONCE).fit(X, Y, now), X)
    # Half of the weight of some rows goes, and others whole.
    found.forget(X[:30], Y[:30], np.where(np.arange(30) < 10, now[:30] / 2, now[:30]))
    now[:10] /= 2
    now[10:30] = 0.0
    assert_same(found, NaiveBayesClassifier(**ONCE).fit(X, Y, now), X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_batches_from_several_libraries():
    X = FRAME[["size", "kind"]]
    found = NaiveBayesClassifier(**ONCE)
    for part, change in zip(PARTS, (pl.from_pandas, pd.DataFrame, pd.DataFrame.to_numpy), strict=True):
        found.partial_fit(change(X[part]), Y[part], classes=["no", "yes"])
    assert_same(found, NaiveBayesClassifier(**ONCE).fit(X, Y), X)
    found.forget(pl.from_pandas(X[26:50]), Y[26:50])
    for first, second in ((WORDS, WORDS.toarray()), (WORDS.toarray(), WORDS)):
        mixed = fed(NaiveBayesClassifier(nb.Poisson()), first, Y, PARTS[:1])
        mixed.partial_fit(second[20:], Y[20:]).forget(first[:20], Y[:20])
        assert_same(mixed, NaiveBayesClassifier(nb.Poisson()).fit(WORDS[20:], Y[20:]), WORDS)


def test_names_of_the_first_batch_stay():
    found = NaiveBayesClassifier().partial_fit(NUMBERS[:20], Y[:20], classes=["no", "yes"], feature_names=["a", "b"])
    found.partial_fit(NUMBERS[20:], Y[20:])
    assert [*found.weights_.index] == ["a", "b", "a is missing"]


@pytest.mark.parametrize("size", [32, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", ["by class", "by count"])
def test_streams_end_near_one_fit(size, order):
    """Classes that come one after the other, and counts that begin with 0 and 1."""
    X = FRAME[["size", "count"]]
    rows = np.argsort(Y if order == "by class" else X["count"].to_numpy(), kind="stable")
    parts = [slice(start, start + size) for start in range(0, NUM_ROWS, size)]
    found = fed(NaiveBayesClassifier(**ONCE), X.iloc[rows], Y[rows], parts)
    one = NaiveBayesClassifier(**ONCE).fit(X, Y)
    losses = [log_loss(Y, fitted.predict_proba(X)) for fitted in (found, one)]
    assert losses[0] < losses[1] + 0.03
    assert [type(family) for family in found.model_.families] == [type(family) for family in one.model_.families]


@pytest.mark.parametrize("case", ["numbers", "pandas", "sparse", "bound"])
def test_statistics_stay_exact_beyond_the_sample(case):
    X = CASES[case][1]
    model = {
        "numbers": nb.Gaussian(),
        "pandas": nb.NaiveBayes({"kind": nb.Categorical(), "count": nb.Poisson(), "size": nb.Gaussian()}),
        "sparse": nb.Multinomial(),
        "bound": JOINT.bind(FRAME, Y),
    }[case]
    found = fed(NaiveBayesClassifier(model, keep_rows=30), X, Y)
    plain = nb.fit(model, X, Y)
    assert len(found._kept) == 30
    np.testing.assert_allclose(found.posterior_.unweighted.log_joint(X), plain.log_joint(X), rtol=1e-9)
    found.forget(X[20:50], Y[20:50])
    rest = np.r_[0:20, 50:NUM_ROWS]
    plain = nb.fit(model, X.iloc[rest] if hasattr(X, "iloc") else X[rest], Y[rest])
    if case != "pandas":  # whose categories may be fewer
        np.testing.assert_allclose(found.posterior_.unweighted.log_joint(X), plain.log_joint(X), rtol=1e-9)
    found.partial_fit(X[20:50], Y[20:50])
    np.testing.assert_allclose(found.class_count_, [(Y == "no").sum(), (Y == "yes").sum()])


@pytest.mark.parametrize("model", [None, nb.AllTrees(), nb.PolyaTree()], ids=repr)
def test_what_the_sample_estimates_can_be_forgotten(model):
    found = fed(NaiveBayesClassifier(model, keep_rows=70, **ONCE), NUMBERS, Y)
    found.forget(NUMBERS[:20], Y[:20])
    np.testing.assert_allclose(found.class_count_, [(Y[20:] == "no").sum(), (Y[20:] == "yes").sum()])
    one = NaiveBayesClassifier(model, **ONCE).fit(NUMBERS[20:], Y[20:])
    losses = [log_loss(Y, fitted.predict_proba(NUMBERS)) for fitted in (found, one)]
    assert losses[0] < losses[1] + 0.1


def streamed(X, y, keep_rows, **options):
    found = NaiveBayesClassifier(keep_rows=keep_rows, **options)
    for start in range(0, len(y), 32):
        found.partial_fit(X[start : start + 32], y[start : start + 32], classes=np.unique(Y))
    return found


def test_an_estimate_weighs_no_more_than_the_rows_that_are_kept():
    """Few rows of a class that count as all of them are believed too much; weights of rows differ within the class."""
    found = streamed(NUMBERS, Y, 20, model=nb.PolyaTree(), feature_weights=None)
    assert found._kept.estimated
    kept = pd.Series(found._kept.weight).groupby(found._kept.labels).sum()
    for of_block in found._problem.statistics.blocks:
        assert (of_block.n.max(axis=1) <= kept.to_numpy() + 32).all()
    assert found.class_count_.sum() == NUM_ROWS


@pytest.mark.filterwarnings("ignore:cells outside the support of families that were chosen")
@pytest.mark.parametrize("keep_rows", [1, 2, 20])
@pytest.mark.parametrize("taken", [NUM_ROWS, NUM_ROWS - 1], ids=["all", "all but one"])
def test_rows_go_also_where_few_are_kept(keep_rows, taken):
    """Another family of a column may count so few rows equally, and not the others."""
    X = np.column_stack([NUMBERS, np.arange(NUM_ROWS) % 5])
    found = streamed(X, Y, keep_rows, descriptions=None)
    assert np.isfinite(found.predict_proba(X)).all()
    found.forget(X[:taken], Y[:taken])
    assert found.class_count_.sum() == NUM_ROWS - taken
    proba = found.predict_proba(X)
    assert np.isfinite(proba).all()
    if taken == NUM_ROWS:
        np.testing.assert_allclose(proba, 0.5, atol=1e-9)


def test_the_sample_stands_for_all_rows():
    """Estimated totals of a column over 400 samples, within four standard errors of the truth."""
    rng = np.random.default_rng(4)
    x, weight = rng.normal(3.0, 1.0, 60), rng.uniform(0.2, 3.0, 60)
    found = []
    for key in range(400):
        kept = KeptRows((0,), False)
        for part in (slice(0, 25), slice(25, 40), slice(40, 60)):
            table = as_table(x[part, None])
            kept = kept.add(table, np.zeros(len(x[part])), weight[part], 0.8, 20, key)
            assert len(kept) <= 20
        found.append(kept.standing_for @ kept.cells[:, 0])
    now = weight * np.repeat([0.64, 0.8, 1.0], [25, 15, 20])
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - now @ x) < 4 * error


def test_wide_tables_keep_fewer_rows(monkeypatch):
    monkeypatch.setattr("bayesnb.estimators.kept_rows.MOST_CELLS", 60)
    found = fed(NaiveBayesClassifier(nb.Gaussian()), NUMBERS, Y)
    assert len(found._kept) == 30
    plain = nb.fit(nb.Gaussian(), NUMBERS, Y)
    np.testing.assert_allclose(found.posterior_.unweighted.log_joint(NUMBERS), plain.log_joint(NUMBERS), rtol=1e-9)


@pytest.mark.parametrize("keep_rows", [30, pytest.param(2000, marks=pytest.mark.slow)])
def test_copies_and_files_hold_the_rows(keep_rows, tmp_path):
    X = FRAME[["size", "kind", "place", "flag"]]
    fitted = fed(NaiveBayesClassifier(keep_rows=keep_rows, random_state=5, **ONCE), X, Y)
    fitted.save(tmp_path / "with.nc")
    fitted.save(tmp_path / "without.nc", rows=False)
    assert clone(fitted).keep_rows == keep_rows
    assert not hasattr(clone(fitted), "posterior_")
    alone = nb.load(tmp_path / "without.nc")
    copies = [pickle.loads(pickle.dumps(fitted)), nb.load(tmp_path / "with.nc")]
    for copy in (alone, *copies):
        np.testing.assert_array_equal(copy.predict_proba(X), fitted.predict_proba(X))
    assert (tmp_path / "without.nc").stat().st_size < (tmp_path / "with.nc").stat().st_size
    for each in (fitted, *copies):
        each.partial_fit(X[:40], Y[:40]).forget(X[:30], Y[:30])
        np.testing.assert_array_equal(each.predict_proba(X), fitted.predict_proba(X))
    before = alone.weights_
    alone.forget(X[:3], Y[:3])
    pd.testing.assert_frame_equal(alone.weights_, before)
    with pytest.raises(ValueError, match="rows is 'no': give True or False"):
        fitted.save(tmp_path / "with.nc", rows="no")


def test_cells_that_no_file_holds(tmp_path):
    X = pd.DataFrame(
        {"size": NUMBERS[:, 0], "part": np.array([Fraction(j % 3, 7) for j in range(NUM_ROWS)], dtype=object)}
    )
    model = nb.NaiveBayes({"size": nb.Gaussian()})
    fitted = NaiveBayesClassifier(model).partial_fit(X, Y, classes=["no", "yes"])
    fitted.save(tmp_path / "size.nc")  # the model does not read the other column
    both = NaiveBayesClassifier(nb.Gaussian()).partial_fit(X, Y, classes=["no", "yes"])
    with pytest.raises(TypeError, match=r"a file cannot hold.*leave out the rows .* save\(path, rows=False\)"):
        both.save(tmp_path / "both.nc")
    both.save(tmp_path / "both.nc", rows=False)


def test_all_rows_may_go_and_others_come():
    fitted = fed(NaiveBayesClassifier(**ONCE), NUMBERS, Y, PARTS[:1])
    fitted.forget(NUMBERS[:20], Y[:20])
    assert fitted.class_count_.tolist() == [0.0, 0.0]
    np.testing.assert_allclose(fitted.predict_proba(NUMBERS), 0.5)
    fitted.partial_fit(NUMBERS[:50], Y[:50])
    assert_same(fitted, NaiveBayesClassifier(**ONCE).fit(NUMBERS[:50], Y[:50]), NUMBERS)


def test_fit_keeps_no_rows():
    fitted = fed(NaiveBayesClassifier(**ONCE), NUMBERS, Y).fit(NUMBERS, Y)
    expected = NaiveBayesClassifier(**ONCE).fit(NUMBERS, Y).posterior_.update(NUMBERS[:40], Y[:40])
    np.testing.assert_array_equal(
        fitted.partial_fit(NUMBERS[:40], Y[:40]).predict_proba(NUMBERS), expected.predict_proba(NUMBERS)
    )
    # Zero also ends what was kept.
    fitted = fed(NaiveBayesClassifier(**ONCE), NUMBERS, Y).set_params(keep_rows=0).partial_fit(NUMBERS[:40], Y[:40])
    np.testing.assert_array_equal(fitted.predict_proba(NUMBERS), expected.predict_proba(NUMBERS))


def test_weights_that_learn_on_want_every_class():
    alone = np.flatnonzero(Y == "no")[:9]
    words = "the rows have no label 'yes', and weights of features learn from these rows alone"
    fitted = NaiveBayesClassifier(**ONCE).fit(NUMBERS, Y)
    plain = NaiveBayesClassifier(feature_weights=None).fit(NUMBERS, Y)
    for call in (
        lambda: fitted.posterior_.update(NUMBERS[alone], Y[alone]),
        lambda: fitted.posterior_.update(NUMBERS, Y, sample_weight=(Y == "no").astype(float)),
        lambda: fitted.partial_fit(NUMBERS[alone], Y[alone]),
        lambda: NaiveBayesClassifier(keep_rows=0).partial_fit(NUMBERS[alone], Y[alone], classes=["no", "yes"]),
    ):
        with pytest.warns(UserWarning, match=words):
            call()
    plain.partial_fit(NUMBERS[alone], Y[alone])
    fed(NaiveBayesClassifier(**ONCE), NUMBERS, Y, [alone])


@pytest.mark.parametrize("keep_rows", [-1, 1.5, True, "5", None, np.nan], ids=repr)
def test_numbers_of_rows_that_cannot_be_kept(keep_rows):
    fitted = fed(NaiveBayesClassifier(nb.Gaussian(), feature_weights=None), NUMBERS, Y).set_params(keep_rows=keep_rows)
    for call in (fitted.fit, fitted.partial_fit, partial(clone(fitted).partial_fit, classes=["no", "yes"])):
        with pytest.raises(ValueError, match=r"keep_rows is .*: give a whole number, zero or more"):
            call(NUMBERS, Y)


def state(fitted):
    return {name: id(value) for name, value in vars(fitted).items()}


def test_what_is_refused_changes_nothing():
    X = FRAME[["size", "kind"]]
    fitted = fed(NaiveBayesClassifier(**ONCE), X, Y, PARTS[:2])
    before = state(fitted)
    for verb, bad, y, weight, words in (
        ("partial_fit", X.assign(size="tall"), Y, None, "column 'size' holds text"),
        ("partial_fit", X, np.where(Y == "no", "maybe", Y), None, "'maybe'"),
        ("partial_fit", X, Y, np.full(NUM_ROWS, -1.0), "not negative"),
        (
            "forget",
            X[50:],
            pd.Series(Y[50:], dtype=object),
            None,
            "never among the data: partial_fit got no row .* row 0",
        ),
        ("forget", X[:3], np.where(Y[:3] == "no", "yes", "no"), None, "never among the data"),
        ("forget", X[:3], Y[:3], np.full(3, 1.5), "never among the data"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            getattr(fitted, verb)(bad, y, sample_weight=weight)
        assert state(fitted) == before


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name[0].isupper()])
@pytest.mark.parametrize("step", ["note", "weights"])
def test_an_interrupted_call_changes_nothing(name, step, monkeypatch):
    make = getattr(estimators, name)
    counts = np.random.default_rng(6).poisson(2.0, (NUM_ROWS, 3))
    fitted, kept = make().fit(counts, Y), fed(make(), counts, Y)
    at = f"bayesnb.estimators.{name}._note" if step == "note" else "bayesnb.estimators.generic.with_weights_of"

    def interrupted(*args):
        raise KeyboardInterrupt

    if step == "weights" and make is not NaiveBayesClassifier:
        return
    for estimator in (fitted, kept) if step == "note" else (fitted,):
        before = state(estimator)
        for call in (estimator.partial_fit, estimator.forget):
            with monkeypatch.context() as broken:
                broken.setattr(at, interrupted)
                with pytest.raises(KeyboardInterrupt):
                    call(counts[:40], Y[:40])
            assert state(estimator) == before
