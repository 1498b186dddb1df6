import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.special import betaln, gammaln

import bayesnb as nb
from bayesnb.data.read import LARGEST_TOTAL, as_table, check_weights

ROWS = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]])
HOLED = np.array([[1, 0, np.nan], [1, np.nan, 0], [0, 1, 0], [np.nan, 0, 1], [1, 0, 0], [0, 1, 1]])
COUNTS = np.array([[3, 0, 1], [0, 2, 0], [1, 5, 0], [4, 0, 2]])
LABELS = ["a", "a", "b", "b", "a", "b"]
NAMES = ["u", "v", "w"]
ISLANDS = ["x", "y", "x", "z", "z", "x"]
MASSES = [1.5, 2.5, 0.5, 4.0, 3.5, 1.0]


def assert_same(one, other, X, other_X=None):
    other_X = X if other_X is None else other_X
    np.testing.assert_array_equal(one.classes, other.classes)
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(other_X), rtol=1e-12)


def normalised(joint):
    return joint / joint.sum(axis=1, keepdims=True)


def bernoulli_by_hand(X, y, new, a=1.0, b=1.0):
    y, classes = np.asarray(y), sorted(set(y))
    joint, evidence = np.ones((len(new), len(classes))), 0.0
    for c, label in enumerate(classes):
        mine = X[y == label]
        joint[:, c] = (1 + len(mine)) / (len(classes) + len(X))
        evidence += gammaln(1 + len(mine))
        for j in range(X.shape[1]):
            seen = mine[:, j][~np.isnan(mine[:, j])]
            ones, zeros = seen.sum(), len(seen) - seen.sum()
            evidence += betaln(a + ones, b + zeros) - betaln(a, b)
            p = (a + ones) / (a + b + len(seen))
            joint[:, c] *= np.where(np.isnan(new[:, j]), 1.0, np.where(new[:, j] == 1, p, 1 - p))
    evidence += gammaln(len(classes)) - gammaln(len(classes) + len(X))
    return normalised(joint), evidence


def categorical_by_hand(column, y, new, size, concentration=1.0):
    """Class probabilities of one column of categories; None is a missing cell."""
    classes = sorted(set(y))
    joint = np.ones((len(new), len(classes)))
    for c, label in enumerate(classes):
        joint[:, c] = (1 + list(y).count(label)) / (len(classes) + len(y))
        seen = [value for value, of in zip(column, y, strict=True) if of == label and value is not None]
        for i, value in enumerate(new):
            if value is not None:
                joint[i, c] *= (concentration + seen.count(value)) / (size * concentration + len(seen))
    return normalised(joint)


BINARY_TABLES = {
    "list": lambda x: x.tolist(),
    "int": lambda x: x,
    "int8": lambda x: x.astype(np.int8),
    "uint64": lambda x: x.astype(np.uint64),
    "float": lambda x: x.astype(float),
    "float32": lambda x: x.astype(np.float32),
    "fortran": lambda x: np.asfortranarray(x.astype(float)),
    "bool": lambda x: x.astype(bool),
    "object": lambda x: x.astype(object),
    "object of bools": lambda x: x.astype(bool).astype(object),
    "masked without mask": lambda x: np.ma.masked_array(x),
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "bool csr": lambda x: sp.csr_array(x.astype(bool)),
    "csr with stored zeros": lambda x: sp.csr_array((x.ravel(), np.tile(range(3), 6), range(0, 19, 3)), x.shape),
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "pandas bool": lambda x: pd.DataFrame(x.astype(bool), columns=NAMES),
    "pandas object": lambda x: pd.DataFrame(x.astype(object), columns=NAMES),
    "pandas Int64": lambda x: pd.DataFrame(x, columns=NAMES).astype("Int64"),
    "pandas Float64": lambda x: pd.DataFrame(x, columns=NAMES).astype("Float64"),
    "pandas boolean": lambda x: pd.DataFrame(x.astype(bool), columns=NAMES).astype("boolean"),
    "pandas arrow bool": lambda x: pd.DataFrame(x.astype(bool), columns=NAMES).astype("bool[pyarrow]"),
    "pandas without names": lambda x: pd.DataFrame(x),
    "pandas odd index": lambda x: pd.DataFrame(x, columns=NAMES, index=[9, 9, 3, 2, 2, 0][: len(x)]),
    "polars": lambda x: pl.DataFrame(dict(zip(NAMES, x.T, strict=True))),
    "polars bool": lambda x: pl.DataFrame(dict(zip(NAMES, x.astype(bool).T, strict=True))),
    "polars lazy collected": lambda x: pl.LazyFrame(dict(zip(NAMES, x.T, strict=True))).collect(),
    "pyarrow": lambda x: pa.table(dict(zip(NAMES, x.T, strict=True))),
    "pyarrow bool": lambda x: pa.table(dict(zip(NAMES, x.astype(bool).T, strict=True))),
    "pyarrow chunked": lambda x: pa.concat_tables(
        [pa.table(dict(zip(NAMES, h.T, strict=True))) for h in (x[:2], x[2:])]
    ),
}


@pytest.mark.parametrize("make", BINARY_TABLES.values(), ids=BINARY_TABLES)
def test_every_binary_table_gives_the_posterior_by_hand(make):
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), make(ROWS), LABELS)
    proba, evidence = bernoulli_by_hand(ROWS.astype(float), LABELS, ROWS.astype(float))
    np.testing.assert_allclose(posterior.predict_proba(make(ROWS)), proba, rtol=1e-12)
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-12)


@pytest.mark.parametrize("make", BINARY_TABLES.values(), ids=BINARY_TABLES)
@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Poisson(), nb.Bernoulli(2.0, 0.5)], ids=repr)
def test_numbers_mean_the_same_in_every_table(make, family):
    expected = nb.fit(nb.NaiveBayes(family), ROWS.astype(float), LABELS)
    assert_same(expected, nb.fit(nb.NaiveBayes(family), make(ROWS), LABELS), ROWS.astype(float), make(ROWS))


COUNT_TABLES = [name for name in BINARY_TABLES if "bool" not in name and "stored zeros" not in name]


@pytest.mark.parametrize("name", COUNT_TABLES)
@pytest.mark.parametrize("family", [nb.Multinomial(0.5), nb.Poisson()], ids=repr)
def test_counts_mean_the_same_in_every_table(name, family):
    make, y = BINARY_TABLES[name], ["a", "b", "b", "a"]
    expected = nb.fit(nb.NaiveBayes(family), COUNTS, y)
    assert_same(expected, nb.fit(nb.NaiveBayes(family), make(COUNTS), y), COUNTS, make(COUNTS))


@pytest.mark.parametrize("sparse", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("family", [nb.Bernoulli(0.5, 2.0), nb.Multinomial(0.3)], ids=repr)
def test_sparse_and_dense_are_equal_in_every_verb(sparse, family):
    X = (np.random.default_rng(0).random((20, 6)) < 0.3).astype(float)
    y = np.arange(20) % 3
    dense, other = (nb.fit(nb.NaiveBayes(family), make(X), y) for make in (np.asarray, sparse))
    assert_same(dense, other, X, sparse(X))
    assert_same(dense, other, sparse(X), X)
    np.testing.assert_allclose(dense.log_joint(X), other.log_joint(sparse(X)), rtol=1e-12)
    changed = dense.update(X[:5], y[:5]).forget(X[5:9], y[5:9])
    assert_same(changed, other.update(sparse(X[:5]), y[:5]).forget(sparse(X[5:9]), y[5:9]), X)
    kwargs = {"num_draws": 7, "num_chains": 2, "key": 3}
    np.testing.assert_allclose(dense.proba_draws(X, **kwargs), other.proba_draws(sparse(X), **kwargs), rtol=1e-10)


@pytest.mark.parametrize("sparse", [sp.csr_array, sp.csc_array])
def test_a_sparse_table_is_not_changed(sparse):
    X = sparse((np.array([1.0, 1.0, 1.0]), (np.array([0, 1, 1]), np.array([2, 2, 0]))), shape=(2, 3))
    before = X.copy()
    nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, [0, 1]).predict(X)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, part), getattr(before, part))


def test_blocks_over_a_sparse_table():
    X = sp.csr_array(np.hstack([ROWS, [[2, 0], [0, 1], [3, 0], [1, 1], [0, 0], [0, 4]]]))
    model = nb.NaiveBayes({"flags": (nb.Bernoulli(), [0, 2]), "words": (nb.Multinomial(), slice(3, None))})
    assert_same(nb.fit(model, X.toarray(), LABELS), nb.fit(model, X, LABELS), X.toarray(), X)


def holed_object(hole):
    return lambda: np.array([[hole if np.isnan(v) else int(v) for v in row] for row in HOLED], dtype=object)


def holed_columns(hole, convert=int):
    return {name: [hole if np.isnan(v) else convert(v) for v in HOLED[:, j]] for j, name in enumerate(NAMES)}


HOLED_TABLES = {
    "nan": lambda: HOLED,
    "float32 nan": lambda: HOLED.astype(np.float32),
    "lists of nan": HOLED.tolist,
    "lists of None": lambda: holed_object(None)().tolist(),
    "object nan": holed_object(np.nan),
    "object None": holed_object(None),
    "object NA": holed_object(pd.NA),
    "object bool None": lambda: np.array(
        [[None if np.isnan(v) else bool(v) for v in row] for row in HOLED], dtype=object
    ),
    "masked": lambda: np.ma.masked_array(np.nan_to_num(HOLED, nan=1), mask=np.isnan(HOLED)),
    "masked int, 7 below": lambda: np.ma.masked_array(np.nan_to_num(HOLED, nan=7).astype(int), mask=np.isnan(HOLED)),
    "masked bool": lambda: np.ma.masked_array(np.nan_to_num(HOLED).astype(bool), mask=np.isnan(HOLED)),
    "masked nan": lambda: np.ma.masked_invalid(HOLED),
    "pandas nan": lambda: pd.DataFrame(HOLED, columns=NAMES),
    "pandas object None": lambda: pd.DataFrame(holed_columns(None), dtype=object),
    "pandas object NA": lambda: pd.DataFrame(holed_columns(pd.NA), dtype=object),
    "pandas object bool None": lambda: pd.DataFrame(holed_columns(None, bool), dtype=object),
    "pandas Int64": lambda: pd.DataFrame(holed_columns(pd.NA), dtype="Int64"),
    "pandas Float64": lambda: pd.DataFrame(holed_columns(pd.NA), dtype="Float64"),
    "pandas boolean": lambda: pd.DataFrame(holed_columns(pd.NA, bool), dtype="boolean"),
    "pandas arrow": lambda: pd.DataFrame(holed_columns(None), dtype="int64[pyarrow]"),
    "polars null": lambda: pl.DataFrame(holed_columns(None)),
    "polars bool null": lambda: pl.DataFrame(holed_columns(None, bool)),
    "polars nan": lambda: pl.DataFrame(dict(zip(NAMES, HOLED.T, strict=True))),
    "pyarrow null": lambda: pa.table(holed_columns(None)),
    "pyarrow bool null": lambda: pa.table(holed_columns(None, bool)),
    "pyarrow nan": lambda: pa.table(dict(zip(NAMES, HOLED.T, strict=True))),
    "csr nan": lambda: sp.csr_array(HOLED),
    "csc nan": lambda: sp.csc_array(HOLED),
}


@pytest.mark.parametrize("make", HOLED_TABLES.values(), ids=HOLED_TABLES)
def test_missing_cells_are_skipped_exactly(make):
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(2.0, 0.5)), make(), LABELS)
    proba, evidence = bernoulli_by_hand(HOLED, LABELS, HOLED, 2.0, 0.5)
    np.testing.assert_allclose(posterior.predict_proba(make()), proba, rtol=1e-12)
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-12)


@pytest.mark.parametrize("name", [name for name in HOLED_TABLES if not name.startswith("cs")])
@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Poisson()], ids=repr)
def test_missing_numbers_are_all_the_same(name, family):
    make = HOLED_TABLES[name]
    expected = nb.fit(nb.NaiveBayes(family), HOLED, LABELS)
    assert_same(expected, nb.fit(nb.NaiveBayes(family), make(), LABELS), HOLED, make())


def test_a_missing_number_is_as_if_the_row_had_no_such_column():
    X, y = np.array([[1.0, 3.0], [2.0, np.nan], [4.0, 1.0], [np.nan, 2.0]]), ["a", "a", "b", "b"]
    model = nb.NaiveBayes(nb.Gaussian(loc=0.0, kappa=1.0, concentration=2.0, rate=3.0))
    whole = nb.fit(model, X, y)
    seen = [nb.fit(model, X[~np.isnan(X[:, [j]]).ravel()][:, [j]], np.array(y)[~np.isnan(X[:, j])]) for j in (0, 1)]
    new = np.array([[1.5, np.nan], [np.nan, 2.5], [1.5, 2.5], [np.nan, np.nan]])
    prior = np.log([0.5, 0.5])
    parts = [
        np.where(
            np.isnan(new[:, [j]]), 0.0, s.log_joint(np.nan_to_num(new[:, [j]])) - s.log_joint(np.full((1, 1), np.nan))
        )
        for j, s in enumerate(seen)
    ]
    np.testing.assert_allclose(whole.log_joint(new), prior + sum(parts), rtol=1e-10)


@pytest.mark.parametrize("hole", [np.nan, None, pd.NA], ids=["nan", "None", "NA"])
@pytest.mark.parametrize("dtype", [object, "string", "str", "category", "string[pyarrow]"])
def test_missing_text_in_pandas(hole, dtype):
    column = ["x", hole, "x", "z", hole, "x"]
    frame = pd.DataFrame({"island": pd.Series(column, dtype=dtype)})
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), frame, LABELS)
    plain = [None if v is hole else v for v in column]
    np.testing.assert_allclose(posterior.predict_proba(frame), categorical_by_hand(plain, LABELS, plain, 2), rtol=1e-12)


TEXT_TABLES = {
    "object array": lambda v: np.array([[x] for x in v], dtype=object),
    "list": lambda v: [[x] for x in v],
    "masked": lambda v: np.ma.masked_array([[x or "q"] for x in v], mask=[[x is None] for x in v]),
    "pandas": lambda v: pd.DataFrame({"island": v}),
    "pandas category": lambda v: pd.DataFrame({"island": pd.Categorical(v)}),
    "polars": lambda v: pl.DataFrame({"island": v}, schema={"island": pl.String}),
    "polars categorical": lambda v: pl.DataFrame({"island": pl.Series(v, dtype=pl.Categorical)}),
    "polars enum": lambda v: pl.DataFrame({"island": pl.Series(v, dtype=pl.Enum(["x", "y", "z"]))}),
    "pyarrow": lambda v: pa.table({"island": pa.array(v, pa.string())}),
    "pyarrow large": lambda v: pa.table({"island": pa.array(v, pa.large_string())}),
    "pyarrow dictionary": lambda v: pa.table({"island": pa.array(v, pa.string()).dictionary_encode()}),
}


@pytest.mark.parametrize("make", TEXT_TABLES.values(), ids=TEXT_TABLES)
@pytest.mark.parametrize("column", [ISLANDS, ["x", None, "y", "z", None, "x"]], ids=["whole", "holed"])
def test_text_means_the_same_in_every_table(make, column):
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical(0.5)), make(column), LABELS)
    expected = categorical_by_hand(column, LABELS, column, 3, 0.5)
    np.testing.assert_allclose(posterior.predict_proba(make(column)), expected, rtol=1e-12)
    np.testing.assert_allclose(posterior.predict_proba(make(["z"])), expected[3:4], rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["x", "y"], object),
        (["x", "y"], str),
        ([True, False], bool),
        ([True, False], object),
        ([3, 17], int),
        ([3, 17], np.int8),
        ([0.5, -2.5], float),
        (["x", 3], object),
        ([True, "x"], object),
        ([("a", 1), ("b", 2)], "tuples"),
        (["", " "], object),
        (["é", "日本"], str),
        ([b"x", b"y"], bytes),
    ],
    ids=str,
)
def test_categories_of_any_type(values, kind):
    indices = [0, 1, 1, 1, 0, 0]
    X = np.empty((6, 1), dtype=object if kind == "tuples" else kind)
    for i, index in enumerate(indices):
        X[i, 0] = values[index]
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), X, LABELS)
    expected = categorical_by_hand(indices, LABELS, indices, 2)
    np.testing.assert_allclose(posterior.predict_proba(X), expected, rtol=1e-12)
    frame = pd.DataFrame({"island": list(X[:, 0])})
    np.testing.assert_allclose(
        nb.fit(nb.NaiveBayes(nb.Categorical()), frame, LABELS).predict_proba(frame), expected, rtol=1e-12
    )


@pytest.mark.parametrize("other", [np.float64, np.int8, "Int64", "category", object], ids=str)
def test_whole_numbers_as_categories_keep_their_identity_across_types(other):
    fitted = pd.DataFrame({"level": [1, 2, 3, 1, 2, 3]})
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), fitted, LABELS)
    np.testing.assert_allclose(
        posterior.predict_proba(fitted.astype(other)), posterior.predict_proba(fitted), rtol=1e-12
    )


@pytest.mark.parametrize("dtype", ["Int64", "float", "boolean", object], ids=str)
def test_numbers_and_booleans_as_categories_with_holes(dtype):
    values = [1, 0, None, 1, None, 0]
    frame = pd.DataFrame({"level": pd.Series(values, dtype=dtype)})
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), frame, LABELS)
    np.testing.assert_allclose(
        posterior.predict_proba(frame), categorical_by_hand(values, LABELS, values, 2), rtol=1e-12
    )


@pytest.mark.parametrize(
    "of_kind",
    [lambda cells: pd.Series(cells, dtype="Int64"), pl.Series, pa.array, lambda cells: pd.Series(cells, dtype=object)],
    ids=["pandas", "polars", "pyarrow", "objects"],
)
def test_whole_numbers_that_floats_do_not_hold_stay_apart_beside_a_missing_one(of_kind):
    numbers = [2**53, 2**53 + 1, 2**53 + 2]
    cells = of_kind([*numbers, None])
    frame = pa.table({"code": cells}) if isinstance(cells, pa.Array) else type(cells.to_frame())({"code": cells})
    assert nb.fit(nb.Categorical(), frame, [0, 1, 1, 0]).model.schema.categories == {0: tuple(numbers)}
    assert nb.fit(nb.Bernoulli(), [[1], [0], [1], [0]], cells, nb.MAP()).classes.tolist() == numbers


DECLARED = {
    "pandas": lambda v: pd.DataFrame({"island": pd.Categorical(v, categories=["z", "x", "y", "never"])}),
    "pandas ordered": lambda v: pd.DataFrame(
        {"island": pd.Categorical(v, categories=["z", "x", "y", "never"], ordered=True)}
    ),
    "polars": lambda v: pl.DataFrame({"island": pl.Series(v, dtype=pl.Enum(["z", "x", "y", "never"]))}),
    "pyarrow": lambda v: pa.table(
        {
            "island": pa.DictionaryArray.from_arrays(
                [["z", "x", "y", "never"].index(x) for x in v], ["z", "x", "y", "never"]
            )
        }
    ),
}


@pytest.mark.parametrize("make", DECLARED.values(), ids=DECLARED)
def test_a_declared_category_that_no_row_has_keeps_its_prior_mass(make):
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), make(ISLANDS), LABELS)
    np.testing.assert_allclose(
        posterior.predict_proba(make([*ISLANDS, "never"])),
        categorical_by_hand(ISLANDS, LABELS, [*ISLANDS, "never"], 4),
        rtol=1e-12,
    )
    assert posterior.mean()["island_prob"].shape == (2, 4)


def test_categories_given_by_hand_and_their_order():
    model = nb.NaiveBayes({"island": nb.Categorical(categories=["z", "never", "x", "y"])})
    frame = pd.DataFrame({"island": ISLANDS})
    posterior = nb.fit(model, frame, LABELS)
    np.testing.assert_allclose(
        posterior.predict_proba(pd.DataFrame({"island": ["never"]})),
        categorical_by_hand(ISLANDS, LABELS, ["never"], 4),
    )
    tree = posterior.to_datatree()
    assert [list(c.values) for n, c in tree["posterior"].coords.items() if "island" in n] == [["z", "never", "x", "y"]]
    np.testing.assert_allclose(posterior.mean()["island_prob"][0], np.array([2, 1, 2, 2]) / 7)


def test_a_value_that_is_not_among_the_given_categories():
    frame, holed = pd.DataFrame({"island": ISLANDS}), ["x", "y", "x", None, None, "x"]
    with pytest.warns(UserWarning, match="z"):
        posterior = nb.fit(nb.NaiveBayes(nb.Categorical(categories=["x", "y"])), frame, LABELS)
    expected = categorical_by_hand(holed, LABELS, ["x", "y"], 2)
    np.testing.assert_allclose(posterior.predict_proba(frame[:2]), expected, rtol=1e-12)
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical(categories=["x", "y"], other=True)), frame, LABELS)
    expected = categorical_by_hand(ISLANDS, LABELS, [*ISLANDS, "z"], 3)
    new = pd.DataFrame({"island": [*ISLANDS, "Narnia"]})
    np.testing.assert_allclose(posterior.predict_proba(new), expected, rtol=1e-12)


def test_each_column_has_its_own_number_of_categories():
    frame = pd.DataFrame({"island": ISLANDS, "flag": [True, False, True, True, False, False]})
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), frame, LABELS)
    joint = categorical_by_hand(ISLANDS, LABELS, ISLANDS, 3) * categorical_by_hand(
        list(frame["flag"]), LABELS, list(frame["flag"]), 2
    )
    np.testing.assert_allclose(posterior.predict_proba(frame), normalised(joint), rtol=1e-12)
    assert posterior.mean()["island_prob"].shape == (2, 3)
    assert posterior.mean()["flag_prob"].shape == (2, 2)


LABEL_KINDS = {
    "str list": ["no", "yes", "yes", "no", "yes", "no"],
    "str tuple": ("no", "yes", "yes", "no", "yes", "no"),
    "int": [7, 9, 9, 7, 9, 7],
    "negative int": np.array([-1, 1, 1, -1, 1, -1]),
    "float": [0.0, 1.0, 1.0, 0.0, 1.0, 0.0],
    "bool": [False, True, True, False, True, False],
    "numpy str": np.array(["no", "yes", "yes", "no", "yes", "no"]),
    "numpy object": np.array(["no", "yes", "yes", "no", "yes", "no"], dtype=object),
    "pandas": pd.Series(["no", "yes", "yes", "no", "yes", "no"], index=[5, 4, 4, 2, 1, 0]),
    "pandas Index": pd.Index(["no", "yes", "yes", "no", "yes", "no"]),
    "pandas string": pd.Series(["no", "yes", "yes", "no", "yes", "no"], dtype="string"),
    "pandas Categorical": pd.Categorical(["no", "yes", "yes", "no", "yes", "no"]),
    "pandas category": pd.Series(["no", "yes", "yes", "no", "yes", "no"], dtype="category"),
    "pandas category of ints": pd.Series([7, 9, 9, 7, 9, 7], dtype="category"),
    "pandas Int64": pd.Series([7, 9, 9, 7, 9, 7], dtype="Int64"),
    "pandas boolean": pd.Series([False, True, True, False, True, False], dtype="boolean"),
    "polars": pl.Series(["no", "yes", "yes", "no", "yes", "no"]),
    "polars int": pl.Series([7, 9, 9, 7, 9, 7]),
    "polars categorical": pl.Series(["no", "yes", "yes", "no", "yes", "no"], dtype=pl.Categorical),
    "polars enum": pl.Series(["no", "yes", "yes", "no", "yes", "no"], dtype=pl.Enum(["no", "yes"])),
    "pyarrow": pa.chunked_array([["no", "yes"], ["yes", "no", "yes", "no"]]),
    "pyarrow array": pa.array(["no", "yes", "yes", "no", "yes", "no"]),
}


@pytest.mark.parametrize("y", LABEL_KINDS.values(), ids=LABEL_KINDS)
def test_labels_of_any_type(y):
    codes = [0, 1, 1, 0, 1, 0]
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, y)
    expected = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, codes)
    np.testing.assert_allclose(posterior.predict_proba(ROWS), expected.predict_proba(ROWS), rtol=1e-12)
    plain = [v[0] if isinstance(v, list) else v for v in (y.tolist() if hasattr(y, "tolist") else list(y))]
    plain = [v.as_py() if isinstance(v, pa.Scalar) else v for v in plain]
    assert list(posterior.classes) == sorted(set(plain))
    assert isinstance(posterior.classes, np.ndarray)
    predicted = posterior.predict(ROWS)
    assert isinstance(predicted, np.ndarray)
    assert [list(posterior.classes).index(p) for p in predicted] == list(expected.predict(ROWS))
    assert type(predicted.tolist()[0]) is type(plain[0])
    again = posterior.update(ROWS, y).forget(ROWS, y)
    np.testing.assert_allclose(again.predict_proba(ROWS), expected.predict_proba(ROWS), rtol=1e-12)


def test_labels_beyond_the_range_of_int64():
    y = np.array([2**63, 2**63 + 1, 2**63], dtype=np.uint64)
    posterior = nb.fit(nb.Bernoulli(), [[1], [0], [1]], y)
    assert posterior.classes.tolist() == [2**63, 2**63 + 1]
    assert posterior.predict([[1], [0]]).tolist() == [2**63, 2**63 + 1]
    np.testing.assert_array_equal(posterior.problem.statistics.classes.n, [2, 1])


@pytest.mark.parametrize("y", [["a", 1, 1, "a", "a", 1], [(0, 1), "b", "b", "b", (0, 1), "b"]], ids=str)
def test_labels_of_mixed_types(y):
    labels = np.empty(6, dtype=object)
    labels[:] = y
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, labels)
    assert len(posterior.classes) == 2
    assert set(posterior.predict(ROWS)) <= set(y)
    np.testing.assert_allclose(posterior.predict_proba(ROWS).sum(axis=1), 1)


def test_one_class_only():
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, ["only"] * 6)
    np.testing.assert_array_equal(posterior.predict_proba(ROWS), np.ones((6, 1)))
    assert set(posterior.predict(ROWS)) == {"only"}


def test_labels_are_matched_by_position_and_not_by_index():
    frame = pd.DataFrame(ROWS, columns=NAMES, index=range(6))
    shuffled = pd.Series(LABELS, index=range(5, -1, -1))
    assert_same(
        nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS),
        nb.fit(nb.NaiveBayes(nb.Bernoulli()), frame, shuffled),
        ROWS,
        frame,
    )


@pytest.mark.parametrize(
    "labels", [list, np.array, pd.Index, pl.Series, pa.array], ids=["list", "np", "pd", "pl", "pa"]
)
def test_classes_that_no_row_has(labels):
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS, classes=labels(["z", "b", "a"]))
    assert list(posterior.classes) == ["z", "b", "a"]
    proba = posterior.predict_proba(ROWS)
    prior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS).predict_proba(ROWS)
    np.testing.assert_allclose(normalised(proba[:, [2, 1]]), prior, rtol=1e-12)
    three = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS, classes=["z", "b", "a"])
    joint = np.exp(three.log_joint(ROWS))
    np.testing.assert_allclose(joint[:, 0], 1 / 9 * 0.5**3, rtol=1e-12)
    np.testing.assert_allclose(normalised(joint), proba, rtol=1e-12)


@pytest.mark.parametrize(
    ("classes", "new"),
    [([0, 2, 3], [3, 1, 0]), (["a", "c"], ["c", "b", "a"]), ([0, "b"], ["b", 1, 0])],
    ids=["numbers", "texts", "both"],
)
def test_a_label_that_is_no_class(classes, new):
    X = np.eye(3)
    posterior = nb.fit(nb.Bernoulli(), X, (classes * 2)[:3])
    with pytest.raises(ValueError, match=rf"holds the label {new[1]!r} \(row 1\), which is not among the classes"):
        posterior.update(X, new)


def test_a_class_that_no_row_has_can_be_updated():
    wide = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS, classes=["a", "b", "c"])
    more = wide.update(ROWS[:2], ["c", "c"])
    assert_same(nb.fit(nb.NaiveBayes(nb.Bernoulli()), np.vstack([ROWS, ROWS[:2]]), [*LABELS, "c", "c"]), more, ROWS)


def test_a_declared_class_that_no_row_has():
    y = pd.Categorical(LABELS, categories=["b", "a", "c"])
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, y)
    assert set(posterior.classes) >= {"a", "b"}
    np.testing.assert_allclose(posterior.predict_proba(ROWS).sum(axis=1), 1)


MIXED = pd.DataFrame({"mass": MASSES, "island": ISLANDS, "sex": [1, 0, None, 1, 0, 1]})
BY_NAME = {"mass": nb.Gaussian(), "island": nb.Categorical(), "sex": nb.Bernoulli()}


def mixed_tables():
    arrays = {"pandas": MIXED, "polars": pl.from_pandas(MIXED), "pyarrow": pa.Table.from_pandas(MIXED)}
    arrays["object"] = MIXED.astype(object).to_numpy()
    return arrays


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_mixed_tables_by_name(kind):
    table = mixed_tables()[kind]
    expected = nb.fit(nb.NaiveBayes(BY_NAME), MIXED, LABELS)
    assert_same(expected, nb.fit(nb.NaiveBayes(BY_NAME), table, LABELS), MIXED, table)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "object"])
def test_columns_by_position(kind):
    table = mixed_tables()[kind]
    by_position = nb.NaiveBayes({0: nb.Gaussian(), 1: nb.Categorical(), 2: nb.Bernoulli()})
    expected = nb.fit(nb.NaiveBayes(BY_NAME), MIXED, LABELS)
    assert_same(expected, nb.fit(by_position, table, LABELS), MIXED, table)


@pytest.mark.parametrize(
    "columns",
    [
        ["mass", "weight"],
        ("mass", "weight"),
        [0, 2],
        slice(0, 3, 2),
        slice(None, -1, 2),
        np.array([0, 2]),
        pd.Index(["mass", "weight"]),
    ],
    ids=str,
)
def test_named_blocks(columns):
    frame = MIXED.assign(weight=[3.0, 1, 4, 1, 5, 9])[["mass", "island", "weight", "sex"]]
    model = nb.NaiveBayes({"size": (nb.Gaussian(), columns), "where": (nb.Categorical(), ["island"])})
    flat = nb.NaiveBayes({"mass": nb.Gaussian(), "weight": nb.Gaussian(), "island": nb.Categorical()})
    posterior = nb.fit(model, frame, LABELS)
    assert_same(nb.fit(flat, frame, LABELS), posterior, frame)
    draws = posterior.draws(num_chains=2, num_draws=3)
    assert draws["size_mean"].shape == (2, 3, 2, 2)
    assert draws["size_variance"].shape == (2, 3, 2, 2)


def test_slices_of_counts_and_blocks_in_another_order():
    X = np.hstack([ROWS, COUNTS[[0, 1, 2, 3, 0, 1]]])
    model = nb.NaiveBayes({"words": (nb.Multinomial(), slice(3, None)), "flags": (nb.Bernoulli(), slice(3))})
    flags = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS)
    words = nb.fit(nb.NaiveBayes(nb.Multinomial()), X[:, 3:], LABELS)
    product = normalised(flags.predict_proba(ROWS) * words.predict_proba(X[:, 3:]))
    np.testing.assert_allclose(nb.fit(model, X, LABELS).predict_proba(X), product, rtol=1e-10)


def test_columns_the_model_does_not_name_are_ignored():
    frame = MIXED.assign(junk=[object()] * 6, when=pd.Timestamp("2020-01-01"), far=np.inf)
    assert_same(
        nb.fit(nb.NaiveBayes(BY_NAME), MIXED, LABELS), nb.fit(nb.NaiveBayes(BY_NAME), frame, LABELS), MIXED, frame
    )


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pa"])
@pytest.mark.parametrize(
    "model",
    [
        nb.NaiveBayes(BY_NAME),
        nb.NaiveBayes({0: nb.Gaussian(), 1: nb.Categorical(), 2: nb.Bernoulli()}),
        nb.NaiveBayes({"all": (nb.Categorical(), slice(None))}),
        nb.NaiveBayes(nb.Categorical()),
    ],
    ids=["names", "positions", "slice", "one family"],
)
def test_reordered_columns_predict_the_same(model, convert):
    posterior = nb.fit(model, convert(MIXED), LABELS)
    reordered = convert(MIXED[["sex", "mass", "island"]])
    np.testing.assert_array_equal(posterior.predict_proba(reordered), posterior.predict_proba(convert(MIXED)))
    assert_same(posterior.update(convert(MIXED), LABELS), posterior.update(reordered, LABELS), convert(MIXED))
    assert_same(posterior, posterior.update(reordered, LABELS).forget(reordered, LABELS), convert(MIXED))


def test_a_posterior_of_one_kind_of_table_reads_another():
    posterior = nb.fit(nb.NaiveBayes(BY_NAME), MIXED, LABELS)
    for table in mixed_tables().values():
        np.testing.assert_allclose(posterior.predict_proba(table), posterior.predict_proba(MIXED), rtol=1e-12)


def test_a_table_without_names_is_read_by_position():
    frame = pd.DataFrame(ROWS, columns=NAMES)
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), frame, LABELS)
    for other in (ROWS, ROWS.tolist(), sp.csr_array(ROWS)):
        np.testing.assert_allclose(posterior.predict_proba(other), posterior.predict_proba(frame), rtol=1e-12)


def test_a_frame_is_read_by_position_where_the_fit_had_no_names():
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS)
    for frame in (pd.DataFrame(ROWS), pd.DataFrame(ROWS, columns=NAMES)):
        np.testing.assert_array_equal(posterior.predict_proba(frame), posterior.predict_proba(ROWS))


@pytest.mark.parametrize("names", [[2020, 2021, 2022], [2, 1, 0], [0, "v", 2]], ids=str)
def test_columns_whose_names_are_numbers(names):
    frame = pd.DataFrame(ROWS, columns=names)
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), frame, LABELS)
    expected = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS)
    np.testing.assert_allclose(posterior.predict_proba(frame), expected.predict_proba(ROWS), rtol=1e-12)
    np.testing.assert_allclose(posterior.predict_proba(frame[names[::-1]]), expected.predict_proba(ROWS), rtol=1e-12)
    single = nb.fit(nb.NaiveBayes({names[0]: nb.Bernoulli()}), frame, LABELS)
    first = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS[:, :1], LABELS)
    np.testing.assert_allclose(single.predict_proba(frame), first.predict_proba(ROWS[:, :1]), rtol=1e-12)


def test_one_row_and_one_column():
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), [[3.0]], ["a"])
    assert np.isfinite(posterior.log_evidence)
    np.testing.assert_array_equal(posterior.predict_proba([[1e9]]), [[1.0]])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_no_rows_to_predict(make):
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), make({"u": [1.0, 2.0], "v": [3.0, 1.0]}), ["a", "b"])
    empty = pd.DataFrame({"u": np.zeros(0), "v": np.zeros(0)})
    empty = {pl.DataFrame: pl.from_pandas, pa.table: pa.Table.from_pandas}.get(make, lambda f: f)(empty)
    assert posterior.predict_proba(empty).shape == (0, 2)
    assert posterior.predict(np.zeros((0, 2))).shape == (0,)


@pytest.mark.parametrize("name", [name for name in TEXT_TABLES if name != "polars enum"])
def test_an_unseen_category_warns_and_counts_as_missing(name):
    make = TEXT_TABLES[name]
    frame = make(["x", "y", "x", "y", "y", "x"])
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), frame, LABELS)
    with pytest.warns(UserWarning, match="Narnia"):
        proba = posterior.predict_proba(make(["x", "Narnia", None]))
    np.testing.assert_allclose(proba[[0]], posterior.predict_proba(make(["x"])), rtol=1e-12)
    np.testing.assert_allclose(proba[1], proba[2], rtol=1e-12)
    np.testing.assert_allclose(proba[1], [0.5, 0.5], rtol=1e-12)


@pytest.mark.parametrize("verb", ["predict", "predict_log_proba", "log_joint", "proba_draws", "proba_interval"])
def test_the_warning_names_column_and_category_in_every_verb(verb):
    frame = pd.DataFrame({"island": ISLANDS})
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), frame, LABELS)
    new, holed = pd.DataFrame({"island": ["Narnia"]}), pd.DataFrame({"island": [None]})
    with pytest.warns(UserWarning, match=r"(?s)island.*Narnia|Narnia.*island"):
        result = getattr(posterior, verb)(new)
    np.testing.assert_array_equal(result, getattr(posterior, verb)(holed))


def test_an_unseen_number_or_boolean_category_warns():
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical()), np.array([[1], [2], [1], [2], [2], [1]]), LABELS)
    with pytest.warns(UserWarning, match="5"):
        proba = posterior.predict_proba(np.array([[5]]))
    np.testing.assert_allclose(proba, [[0.5, 0.5]], rtol=1e-12)


def test_other_gives_unseen_categories_probability_without_a_warning():
    frame = pd.DataFrame({"island": ISLANDS})
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical(other=True)), frame, LABELS)
    proba = posterior.predict_proba(pd.DataFrame({"island": [*ISLANDS, "Narnia", "Oz", None]}))
    expected = categorical_by_hand(ISLANDS, LABELS, [*ISLANDS, "other", "other", None], 4)
    np.testing.assert_allclose(proba, expected, rtol=1e-12)
    assert posterior.mean()["island_prob"].shape == (2, 4)


def test_other_learns_from_updates():
    frame = pd.DataFrame({"island": ISLANDS})
    posterior = nb.fit(nb.NaiveBayes(nb.Categorical(other=True)), frame, LABELS)
    learned = posterior.update(pd.DataFrame({"island": ["Narnia", "Oz"]}), ["b", "b"])
    expected = categorical_by_hand([*ISLANDS, "other", "other"], [*LABELS, "b", "b"], ["other", "x"], 4)
    np.testing.assert_allclose(learned.predict_proba(pd.DataFrame({"island": ["Avalon", "x"]})), expected, rtol=1e-12)


def test_from_frame_guesses_families():
    frame = pd.DataFrame(
        {
            "flag": [True, False, True, False, True, False],
            "nullable": pd.Series([True, None, True, False, True, False], dtype="boolean"),
            "island": ISLANDS,
            "kind": pd.Categorical(ISLANDS),
            "string": pd.Series(ISLANDS, dtype="string"),
            "mass": MASSES,
            "holed": [1.5, None, 0.5, 4.0, 3.5, 1.0],
        }
    )
    flat = nb.NaiveBayes(
        {
            "flag": nb.Bernoulli(),
            "nullable": nb.Bernoulli(),
            "island": nb.Categorical(),
            "kind": nb.Categorical(),
            "string": nb.Categorical(),
            "mass": nb.Gaussian(),
            "holed": nb.Gaussian(),
        }
    )
    expected = nb.fit(flat, frame, LABELS)
    model = nb.NaiveBayes.from_frame(frame)
    assert_same(expected, nb.fit(model, frame, LABELS), frame)
    for name, word in [("flag", "Bernoulli"), ("island", "Categorical"), ("mass", "Normal")]:
        assert re.search(rf"{name}\b.*{word}", repr(model))
    for convert in (pl.from_pandas, pa.Table.from_pandas):
        table = convert(frame)
        assert_same(expected, nb.fit(nb.NaiveBayes.from_frame(table), table, LABELS), frame, table)


def test_from_frame_leaves_out_what_it_is_told_to():
    frame = MIXED.assign(species=LABELS, when=pd.Timestamp("2020-01-01"))
    model = nb.NaiveBayes.from_frame(frame, exclude=["species", "when"])
    assert "species" not in repr(model)
    assert_same(nb.fit(nb.NaiveBayes(BY_NAME), MIXED, LABELS), nb.fit(model, frame, LABELS), MIXED, frame)


def test_from_frame_passes_the_class_prior_on():
    model = nb.NaiveBayes.from_frame(MIXED, class_probs=[0.9, 0.1])
    holed = pd.DataFrame({"mass": [np.nan], "island": [None], "sex": [np.nan]})
    np.testing.assert_allclose(nb.fit(model, MIXED, LABELS).predict_proba(holed), [[0.9, 0.1]], rtol=1e-12)


def test_a_row_with_every_cell_missing_gets_the_class_probabilities():
    posterior = nb.fit(nb.NaiveBayes(BY_NAME), MIXED, ["a", "a", "a", "b", "b", "a"])
    holed = pd.DataFrame({"mass": [np.nan], "island": [None], "sex": [None]})
    np.testing.assert_allclose(posterior.predict_proba(holed), [[5 / 8, 3 / 8]], rtol=1e-12)


def test_a_column_that_is_missing_throughout():
    X = np.column_stack([ROWS, np.full(6, np.nan)])
    for family in (nb.Bernoulli(), nb.Poisson(1.0, 1.0), nb.Gaussian(0.0, 1.0, 1.0, 1.0)):
        posterior = nb.fit(nb.NaiveBayes(family), X, LABELS)
        assert_same(nb.fit(nb.NaiveBayes(family), ROWS, LABELS), posterior, ROWS, X)


@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Poisson()], ids=repr)
def test_a_column_that_is_missing_throughout_with_default_priors(family):
    X = np.column_stack([ROWS, np.full(6, np.nan)])
    posterior = nb.fit(nb.NaiveBayes(family), X, LABELS)
    assert_same(nb.fit(nb.NaiveBayes(family), ROWS, LABELS), posterior, ROWS, X)


@pytest.mark.parametrize(
    "weights", [list, np.array, pd.Series, pl.Series, pa.array], ids=["list", "np", "pd", "pl", "pa"]
)
def test_weights_in_any_container_count_rows(weights):
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS, LABELS, sample_weight=weights([1, 2, 0, 1, 3, 1]))
    repeat = np.repeat(np.arange(6), [1, 2, 0, 1, 3, 1])
    assert_same(nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS[repeat], np.array(LABELS)[repeat]), posterior, ROWS)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "object"])
def test_the_table_is_not_changed(kind):
    table, untouched = mixed_tables()[kind], mixed_tables()[kind]
    model = nb.NaiveBayes({0: nb.Gaussian(), 1: nb.Categorical(), 2: nb.Bernoulli()})
    nb.fit(model, table, LABELS).predict_proba(table)
    if kind == "pandas":
        pd.testing.assert_frame_equal(table, untouched)
    elif kind == "object":
        pd.testing.assert_frame_equal(pd.DataFrame(table), pd.DataFrame(untouched))
    else:
        assert table.equals(untouched)


def test_what_comes_back_is_numpy_in_double_precision():
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), ROWS.astype(np.float32), LABELS)
    for verb in ("predict_proba", "predict_log_proba", "log_joint", "proba_draws", "proba_interval"):
        result = getattr(posterior, verb)(ROWS)
        assert type(result) is np.ndarray
        assert result.dtype == np.float64
    assert type(posterior.log_evidence) is float


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16])
def test_a_whole_number_after_the_last_category_is_unseen(dtype):
    posterior = nb.fit(nb.Categorical(), np.array([[0], [1], [2], [1]], dtype), ["a", "b", "a", "b"])
    with pytest.warns(UserWarning, match=r"categories.*3"):
        proba = posterior.predict_proba(np.array([[3], [1]], dtype))
    np.testing.assert_allclose(proba[0], [0.5, 0.5])


def test_a_table_with_rows_of_weight_zero_gives_dense_numbers_unless_asked():
    table = as_table(sp.csr_array([[0, 2.0], [1, 0], [0, 0]])).counting(np.array([0.0, 1.0, 1.0]))
    numbers = table.numbers([0, 1], slice(None))
    assert isinstance(numbers, np.ndarray)
    assert numbers.dtype == np.float64
    np.testing.assert_array_equal(numbers, [[0, 2], [1, 0], [0, 0]])
    assert sp.issparse(table.numbers([0, 1], slice(None), sparse=True))


def test_a_category_that_is_a_pair_is_not_a_column_with_its_categories():
    X = np.empty((4, 1), dtype=object)
    X[:, 0] = [("a", 1), "b", "b", ("a", 1)]
    posterior = nb.fit(nb.Categorical(categories=[("a", 1), "b"]), X, [0, 1, 1, 0])
    np.testing.assert_allclose(posterior.predict_proba(X)[:, 0], [0.75, 0.25, 0.25, 0.75])


@pytest.mark.parametrize("fill", [0.0, np.nan], ids=["zeros", "missing"])
def test_sparse_columns_beside_others_are_read_as_dense_ones(fill):
    cells = np.array([0.0, 1.5, np.nan, 2.0, 0.0, 3.0])
    dense = pd.DataFrame({"size": cells, "flag": [True, False] * 3, "kind": list("abcabc")})
    sparse = dense.astype({"size": pd.SparseDtype(float, fill), "flag": pd.SparseDtype(bool, False)})
    y = list("xyxyxy")
    expected, found = (nb.fit(nb.NaiveBayes.from_frame(X, y), X, y) for X in (dense, sparse))
    assert nb.choose_families(sparse, y).model == nb.choose_families(dense, y).model
    np.testing.assert_array_equal(found.predict_proba(sparse), expected.predict_proba(dense))


def test_sparse_columns_whose_empty_cells_are_missing_are_read_as_dense_ones():
    dense, y = pd.DataFrame({"size": [0.5, 1.5, np.nan, 2.0]}), list("xyxy")
    posterior = nb.fit(nb.Gaussian(), dense.astype(pd.SparseDtype(float, np.nan)), y)
    np.testing.assert_array_equal(posterior.predict_proba(dense), nb.fit(nb.Gaussian(), dense, y).predict_proba(dense))


def test_weights_up_to_the_largest_sum_are_taken():
    assert check_weights([LARGEST_TOTAL / 2] * 2, 2).sum() == LARGEST_TOTAL
    with pytest.raises(ValueError, match="sample_weight has the sum"):
        check_weights([LARGEST_TOTAL / 2, LARGEST_TOTAL], 2)


@pytest.mark.parametrize(
    ("first", "then"), [([0, 1], ["0", "1"]), ([0.0, 1.0], ["0", "1"]), ([True, False], ["True", "False"])], ids=str
)
def test_values_that_differ_only_in_their_type_are_named(first, then, tmp_path):
    """In a column of categories and in labels, whichever rows bring them."""
    model, told = nb.NaiveBayes({"code": nb.Categorical()}), f"{first[0]!r} and {then[0]!r}"
    batches = [(pd.DataFrame({"code": codes}), ["a", "b"]) for codes in (first, then)]
    of_column = re.escape("column 'code' holds categories that differ only in their type (") + f".*{told}"
    of_labels = re.escape("y holds labels that differ only in their type (") + f".*{told}"
    posterior = nb.fit(model, *batches[0])
    with pytest.warns(UserWarning, match=of_column):
        posterior.update(*batches[1])
    for source in (batches, iter(batches)):
        with pytest.warns(UserWarning, match=of_column):
            nb.fit_batches(model, source, classes=["a", "b"])
    with pytest.warns(UserWarning, match=of_labels):
        nb.fit_batches(model, [(batches[0][0], labels) for labels in (first, then)])
    for number, (X, y) in enumerate(batches):
        X.assign(y=y).to_parquet(tmp_path / f"{number}.parquet")
    with pytest.warns(UserWarning, match=of_column):
        nb.fit_parquet(model, tmp_path, "y")
