import re
from functools import partial

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from scipy.special import betaln, gammaln

import bayesnb as nb
from bayesnb.data import schema, tables
from bayesnb.data.read import LARGEST_TOTAL, as_table, check_weights
from bayesnb.data.tables import SparseTable

ROWS = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]])
HOLED = np.array([[1, 0, np.nan], [1, np.nan, 0], [0, 1, 0], [np.nan, 0, 1], [1, 0, 0], [0, 1, 1]])
COUNTS = np.array([[3, 0, 1], [0, 2, 0], [1, 5, 0], [4, 0, 2]])
LABELS = ["a", "a", "b", "b", "a", "b"]
NAMES = ["u", "v", "w"]
ISLANDS = ["x", "y", "x", "z", "z", "x"]
MASSES = [1.5, 2.5, 0.5, 4.0, 3.5, 1.0]
SIZES = {"island": 3, "flag": 2}


@pytest.fixture(params=[2000, 1], ids=["short", "long"])
def length(request, monkeypatch):
    """Tables of a few rows are read as short ones, cell by cell, and as long ones, encoded by their library."""
    for module in (tables, schema):
        monkeypatch.setattr(module, "FEW", request.param)


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
    "float": lambda x: x.astype(float),
    "float32": lambda x: x.astype(np.float32),
    "fortran": lambda x: np.asfortranarray(x.astype(float)),
    "bool": lambda x: x.astype(bool),
    "object": lambda x: x.astype(object),
    "masked without mask": lambda x: np.ma.masked_array(x),
    "jax": jnp.asarray,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "bool csr": lambda x: sp.csr_array(x.astype(bool)),
    "csr with stored zeros": lambda x: sp.csr_array((x.ravel(), np.tile(range(3), 6), range(0, 19, 3)), x.shape),
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "pandas bool": lambda x: pd.DataFrame(x.astype(bool), columns=NAMES),
    "pandas object": lambda x: pd.DataFrame(x.astype(object), columns=NAMES),
    "pandas Int64": lambda x: pd.DataFrame(x, columns=NAMES).astype("Int64"),
    "pandas boolean": lambda x: pd.DataFrame(x.astype(bool), columns=NAMES).astype("boolean"),
    "pandas arrow bool": lambda x: pd.DataFrame(x.astype(bool), columns=NAMES).astype("bool[pyarrow]"),
    "pandas without names": lambda x: pd.DataFrame(x),
    "pandas odd index": lambda x: pd.DataFrame(x, columns=NAMES, index=[9, 9, 3, 2, 2, 0][: len(x)]),
    "polars": lambda x: pl.DataFrame(dict(zip(NAMES, x.T, strict=True))),
    "polars bool": lambda x: pl.DataFrame(dict(zip(NAMES, x.astype(bool).T, strict=True))),
    "pyarrow": lambda x: pa.table(dict(zip(NAMES, x.T, strict=True))),
    "pyarrow bool": lambda x: pa.table(dict(zip(NAMES, x.astype(bool).T, strict=True))),
    "pyarrow chunked": lambda x: pa.concat_tables(
        [pa.table(dict(zip(NAMES, h.T, strict=True))) for h in (x[:2], x[2:])]
    ),
}


@pytest.mark.parametrize("family", [nb.Multinomial(), nb.DirichletMultinomial(), nb.Poisson()], ids=repr)
def test_zeros_that_a_sparse_table_stores_stay_there(family):
    X = np.array([[3, 0, 2], [0, 1, 4], [2, 2, 0], [0, 5, 1], [1, 0, 0], [2, 0, 3]])
    table, other = (BINARY_TABLES["csr with stored zeros"](X.astype(float)) for _ in range(2))
    posterior = nb.fit(family, table, list("aabbab"), nb.MAP())
    np.testing.assert_allclose(posterior.log_joint(table), posterior.log_joint(X), rtol=1e-12)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(table, name), getattr(other, name))


COUNT_TABLES = {name: make for name, make in BINARY_TABLES.items() if "bool" not in name and "zeros" not in name}


@pytest.mark.parametrize("make", COUNT_TABLES.values(), ids=COUNT_TABLES)
@pytest.mark.parametrize("family", [nb.Multinomial(0.5), nb.Poisson()], ids=repr)
def test_counts_mean_the_same_in_every_table(make, family):
    y = ["a", "b", "b", "a"]
    assert_same(nb.fit(family, COUNTS, y), nb.fit(family, make(COUNTS), y), COUNTS, make(COUNTS))


@pytest.mark.parametrize("sparse", [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("family", [nb.Bernoulli(0.5, 2.0), nb.Multinomial(0.3), nb.Categorical()], ids=repr)
def test_sparse_and_dense_are_equal_in_every_verb(sparse, family):
    """Also with rows of weight zero."""
    X = (np.random.default_rng(0).random((20, 6)) < 0.3).astype(float)
    y, weight = np.arange(20) % 3, np.arange(20) % 4
    dense, other = (nb.fit(nb.NaiveBayes(family), make(X), y, sample_weight=weight) for make in (np.asarray, sparse))
    assert_same(dense, other, X, sparse(X))
    assert_same(dense, other, sparse(X), X)
    np.testing.assert_allclose(dense.log_joint(X), other.log_joint(sparse(X)), rtol=1e-12)
    changed = dense.update(X[:5], y[:5]).forget(X[:4], y[:4])
    assert_same(changed, other.update(sparse(X[:5]), y[:5]).forget(sparse(X[:4]), y[:4]), X)
    kwargs = {"num_draws": 7, "num_chains": 2, "key": 3}
    np.testing.assert_allclose(dense.proba_draws(X, **kwargs), other.proba_draws(sparse(X), **kwargs), rtol=1e-10)


@pytest.mark.parametrize("columns", [[0], [2], [1, 2, 0]])
def test_columns_of_a_sparse_table_are_those_of_the_array(columns):
    cells = np.array([[0.0, 2.5, 0.0], [-1.0, 0.0, np.nan], [0.0, 0.0, 0.0], [7.0, 2.5, 0.0], [0.0, 1.0, 3.0]])
    stored = sp.coo_array(cells)
    # A zero that is stored, a cell in two parts, and columns in no order.
    twice = sp.coo_array(([0.0, 1.5, -1.5], ([2, 0, 0], [0, 1, 1])), shape=cells.shape)
    parts = [np.concatenate(both) for both in zip(stored.coords, twice.coords, strict=True)]
    sparse = sp.coo_array((np.concatenate([stored.data, twice.data]), tuple(parts)), shape=cells.shape)
    table, place = as_table(sp.csr_array(sparse)), slice(1, 4)
    for rows in (slice(None), place, slice(2, 2)):
        np.testing.assert_array_equal(table.numbers(columns, rows), cells[rows, columns])
        for column in columns:
            np.testing.assert_array_equal(table.values(column, rows), cells[rows, column])


@pytest.mark.parametrize("count", [1, 0.25])
def test_a_vocabulary_is_given_a_family_without_a_look_at_each_column(count, monkeypatch):
    expected = nb.NaiveBayes(nb.Multinomial(fractional=count < 1))
    monkeypatch.setattr(SparseTable, "stored_values", None)
    monkeypatch.setattr(SparseTable, "kind", None)
    cells = sp.csr_array(np.arange(12).reshape(4, 3) / 12 if count < 1 else COUNTS)
    for labels in (None, [0, 0, 1, 1]):
        assert nb.NaiveBayes.from_frame(cells, labels) == expected


def test_blocks_in_another_order_over_a_dense_and_a_sparse_table():
    X = np.hstack([ROWS, COUNTS[[0, 1, 2, 3, 0, 1]]])
    model = nb.NaiveBayes({"words": (nb.Multinomial(), slice(3, None)), "flags": (nb.Bernoulli(), [2, 0])})
    flags = nb.fit(nb.Bernoulli(), ROWS[:, [0, 2]], LABELS)
    words = nb.fit(nb.Multinomial(), X[:, 3:], LABELS)
    product = normalised(flags.predict_proba(ROWS[:, [0, 2]]) * words.predict_proba(X[:, 3:]))
    for table in (X, sp.csr_array(X)):
        np.testing.assert_allclose(nb.fit(model, table, LABELS).predict_proba(table), product, rtol=1e-10)


def holed_object(hole):
    return lambda: np.array([[hole if np.isnan(v) else int(v) for v in row] for row in HOLED], dtype=object)


def holed_columns(hole, convert=int):
    return {name: [hole if np.isnan(v) else convert(v) for v in HOLED[:, j]] for j, name in enumerate(NAMES)}


HOLED_TABLES = {
    "nan": lambda: HOLED,
    "lists of None": lambda: holed_object(None)().tolist(),
    "object nan": holed_object(np.nan),
    "object None": holed_object(None),
    "object bool None": lambda: np.array(
        [[None if np.isnan(v) else bool(v) for v in row] for row in HOLED], dtype=object
    ),
    "masked": lambda: np.ma.masked_array(np.nan_to_num(HOLED, nan=1), mask=np.isnan(HOLED)),
    "masked int, 7 below": lambda: np.ma.masked_array(np.nan_to_num(HOLED, nan=7).astype(int), mask=np.isnan(HOLED)),
    "masked bool": lambda: np.ma.masked_array(np.nan_to_num(HOLED).astype(bool), mask=np.isnan(HOLED)),
    "pandas nan": lambda: pd.DataFrame(HOLED, columns=NAMES),
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
    "jax nan": lambda: jnp.asarray(HOLED),
    "csr nan": lambda: sp.csr_array(HOLED),
    "csc nan": lambda: sp.csc_array(HOLED),
}


TABLES_OF_NUMBERS = {name: (partial(make, ROWS), ROWS) for name, make in BINARY_TABLES.items()}
TABLES_OF_NUMBERS |= {f"{name}, holes": (make, HOLED) for name, make in HOLED_TABLES.items()}


@pytest.mark.parametrize(("make", "cells"), TABLES_OF_NUMBERS.values(), ids=TABLES_OF_NUMBERS)
def test_numbers_mean_the_same_in_every_table(make, cells):
    """By hand for one family, and as the array of floats for others; a missing cell is skipped exactly."""
    cells = cells.astype(float)
    posterior = nb.fit(nb.Bernoulli(2.0, 0.5), make(), LABELS)
    proba, evidence = bernoulli_by_hand(cells, LABELS, cells, 2.0, 0.5)
    np.testing.assert_allclose(posterior.predict_proba(make()), proba, rtol=1e-12)
    assert posterior.log_evidence == pytest.approx(evidence, rel=1e-12)
    if not (sp.issparse(make()) and np.isnan(cells).any()):
        for family in (nb.Gaussian(), nb.Poisson(), nb.Categorical()):
            assert_same(nb.fit(family, cells, LABELS), nb.fit(family, make(), LABELS), cells, make())


@pytest.mark.parametrize("large", [2**62 + 1, 2**64 - 1], ids=["signed", "unsigned"])
def test_whole_numbers_beyond_float64_are_rounded_in_every_table(large):
    cells = [large, 3, None, 5]
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.UInt64), "z": pl.Series([1, 2, 3, 4], dtype=pl.UInt64)})
    rounded = pl.DataFrame({"x": [float(large), 3.0, None, 5.0], "z": [1.0, 2.0, 3.0, 4.0]})
    for table in (frame, frame.to_arrow(), frame.to_arrow().select(["x"])):
        family, names = nb.PolyaTree(), table.columns if table is frame else table.column_names
        found, expected = (nb.fit(family, of, list("abab")) for of in (table, rounded.select(names)))
        assert found.log_evidence == expected.log_evidence


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


def with_hole(hole, dtype, values):
    return pd.DataFrame({"island": pd.Series([hole if x is None else x for x in values], dtype=dtype)})


HOLED_TEXT = {
    f"pandas {dtype} {name}": partial(with_hole, hole, dtype)
    for name, hole in {"nan": np.nan, "None": None, "NA": pd.NA}.items()
    for dtype in (object, "string", "str", "category", "string[pyarrow]")
}


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("make", (TEXT_TABLES | HOLED_TEXT).values(), ids=TEXT_TABLES | HOLED_TEXT)
@pytest.mark.parametrize("column", [ISLANDS, ["x", None, "y", "z", None, "x"]], ids=["whole", "holed"])
def test_text_means_the_same_in_every_table(make, column):
    posterior = nb.fit(nb.Categorical(0.5), make(column), LABELS)
    expected = categorical_by_hand(column, LABELS, column, 3, 0.5)
    np.testing.assert_allclose(posterior.predict_proba(make(column)), expected, rtol=1e-12)
    np.testing.assert_allclose(posterior.predict_proba(make(["z"])), expected[3:4], rtol=1e-12)


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["x", "y"], object),
        ([True, False], bool),
        ([3, 17], int),
        ([0.5, -2.5], float),
        (["x", 3], object),
        ([True, "x"], object),
        ([("a", 1), ("b", 2)], "tuples"),
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
    posterior = nb.fit(nb.Categorical(), X, LABELS)
    expected = categorical_by_hand(indices, LABELS, indices, 2)
    np.testing.assert_allclose(posterior.predict_proba(X), expected, rtol=1e-12)
    frame = pd.DataFrame({"island": list(X[:, 0])})
    np.testing.assert_allclose(nb.fit(nb.Categorical(), frame, LABELS).predict_proba(frame), expected, rtol=1e-12)


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("other", [np.float64, np.int8, "Int64", "category", object], ids=str)
def test_whole_numbers_as_categories_keep_their_identity_across_types(other):
    fitted = pd.DataFrame({"level": [1, 2, 3, 1, 2, 3]})
    posterior = nb.fit(nb.Categorical(), fitted, LABELS)
    np.testing.assert_array_equal(posterior.predict_proba(fitted.astype(other)), posterior.predict_proba(fitted))


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


LONG_TEXT = {name: make for name, make in (TEXT_TABLES | HOLED_TEXT).items() if name.startswith(("pa", "po", "py"))}
SOME = np.random.default_rng(0).choice(["x", "y", "z", None], 3000).tolist()
MANY = [None, *(f"{number}, {'x' * (number % 40)}" for number in range(300))] * 9


@pytest.mark.parametrize("make", LONG_TEXT.values(), ids=LONG_TEXT)
@pytest.mark.parametrize("cells", [SOME, MANY], ids=["three values", "300 values"])
def test_long_text_has_the_same_cells_in_all_rows_in_some_and_in_those_that_count(make, cells):
    if cells is MANY and make is TEXT_TABLES["polars enum"]:
        pytest.skip("its categories are x, y and z")
    counts = np.arange(len(cells)) % 3 > 0
    for table, expected in [
        (as_table(make(cells)), cells),
        (as_table(make(cells)).counting(counts), [c if yes else None for c, yes in zip(cells, counts, strict=True)]),
    ]:
        for rows in (slice(100, 2500), slice(None), slice(2, 5)):  # before all cells are read, and afterwards
            found = table.categories(0, rows)
            shown = [None if pd.isna(cell) else cell for cell in found.tolist()]
            np.testing.assert_array_equal(np.array(shown, object), np.array(expected[rows], object))
            assert isinstance(found, pd.Categorical) or rows == slice(2, 5)


@pytest.mark.parametrize("make", [*map(TEXT_TABLES.get, ("pandas", "polars", "pyarrow"))])
def test_long_text_is_counted_and_predicted_as_an_array_of_objects(make):
    y, weight = np.arange(len(SOME)) // 7 % 3, np.arange(len(SOME)) % 4
    new = ["w", *SOME[1:]]
    found, expected = (
        nb.fit(nb.Categorical(), of(SOME), y, sample_weight=weight) for of in (make, TEXT_TABLES["list"])
    )
    with pytest.warns(UserWarning, match="'w'"):
        assert_same(found, expected, make(new), TEXT_TABLES["list"](new))


MORE = ["z", "x", "y", "never"]
DECLARED = {
    "pandas": lambda v: pd.DataFrame({"island": pd.Categorical(v, categories=MORE)}),
    "pandas ordered": lambda v: pd.DataFrame({"island": pd.Categorical(v, categories=MORE, ordered=True)}),
    "polars": lambda v: pl.DataFrame({"island": pl.Series(v, dtype=pl.Enum(MORE))}),
    "pyarrow": lambda v: pa.table({"island": pa.DictionaryArray.from_arrays([MORE.index(x) for x in v], MORE)}),
}


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("make", DECLARED.values(), ids=DECLARED)
def test_a_declared_category_that_no_row_has_keeps_its_prior_mass_and_its_place(make):
    expected = categorical_by_hand(ISLANDS, LABELS, [*ISLANDS, "never"], 4)
    listed = nb.NaiveBayes({"island": nb.Categorical(categories=MORE)})
    for posterior in (nb.fit(nb.Categorical(), make(ISLANDS), LABELS), nb.fit(listed, make(ISLANDS), LABELS)):
        np.testing.assert_allclose(posterior.predict_proba(make([*ISLANDS, "never"])), expected, rtol=1e-12)
        assert posterior.model.schema.categories == {0: tuple(MORE)}
        np.testing.assert_allclose(posterior.mean()["island_prob"][0], np.array([2, 2, 2, 1]) / 7)


def test_a_value_that_is_not_among_the_given_categories():
    frame, holed = pd.DataFrame({"island": ISLANDS}), ["x", "y", "x", None, None, "x"]
    with pytest.warns(UserWarning, match="z"):
        posterior = nb.fit(nb.Categorical(categories=["x", "y"]), frame, LABELS)
    expected = categorical_by_hand(holed, LABELS, ["x", "y"], 2)
    np.testing.assert_allclose(posterior.predict_proba(frame[:2]), expected, rtol=1e-12)


@pytest.mark.parametrize(("listed", "size"), [(["x", "y"], 3), (None, 4)], ids=["listed", "found"])
def test_a_category_for_all_others_has_probability_and_learns(listed, size):
    def of_other(values):
        return [value if value in (listed or ISLANDS) or value is None else "other" for value in values]

    posterior = nb.fit(nb.Categorical(categories=listed, other=True), pd.DataFrame({"island": ISLANDS}), LABELS)
    new = [*ISLANDS, "Narnia", "Oz", None]
    expected = categorical_by_hand(of_other(ISLANDS), LABELS, of_other(new), size)
    np.testing.assert_allclose(posterior.predict_proba(pd.DataFrame({"island": new})), expected, rtol=1e-12)
    learned = posterior.update(pd.DataFrame({"island": ["Narnia", "Oz"]}), ["b", "b"])
    seen = [*of_other(ISLANDS), "other", "other"]
    expected = categorical_by_hand(seen, [*LABELS, "b", "b"], ["other", "x"], size)
    np.testing.assert_allclose(learned.predict_proba(pd.DataFrame({"island": ["Avalon", "x"]})), expected, rtol=1e-12)


def test_each_column_has_its_own_number_of_categories():
    frame = pd.DataFrame({"island": ISLANDS, "flag": [True, False, True, True, False, False]})
    posterior = nb.fit(nb.Categorical(), frame, LABELS)
    alone = [categorical_by_hand(list(frame[name]), LABELS, list(frame[name]), size) for name, size in SIZES.items()]
    np.testing.assert_allclose(posterior.predict_proba(frame), normalised(alone[0] * alone[1]), rtol=1e-12)
    assert [posterior.mean()[f"{name}_prob"].shape for name in SIZES] == [(2, 3), (2, 2)]


TEXTS, NUMBERS, FLAGS = (
    ["no", "yes", "yes", "no", "yes", "no"],
    [7, 9, 9, 7, 9, 7],
    [False, True, True, False, True, False],
)
LABEL_KINDS = {
    "list": TEXTS,
    "int": NUMBERS,
    "float": [0.0, 1.0, 1.0, 0.0, 1.0, 0.0],
    "bool": FLAGS,
    "numpy": np.array(TEXTS),
    "numpy object": np.array(TEXTS, dtype=object),
    "pandas": pd.Series(TEXTS, index=[5, 4, 4, 2, 1, 0]),  # matched by position, and not by index
    "pandas string": pd.Series(TEXTS, dtype="string"),
    "pandas Categorical": pd.Categorical(TEXTS),
    "pandas category": pd.Series(TEXTS, dtype="category"),
    "pandas category of ints": pd.Series(NUMBERS, dtype="category"),
    "pandas Int64": pd.Series(NUMBERS, dtype="Int64"),
    "pandas boolean": pd.Series(FLAGS, dtype="boolean"),
    "polars": pl.Series(TEXTS),
    "polars categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXTS, dtype=pl.Enum(["no", "yes"])),
    "pyarrow": pa.chunked_array([TEXTS[:2], TEXTS[2:]]),
}


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("y", LABEL_KINDS.values(), ids=LABEL_KINDS)
def test_labels_of_any_type(y):
    frame = pd.DataFrame(ROWS, columns=NAMES)
    posterior, expected = nb.fit(nb.Bernoulli(), frame, y), nb.fit(nb.Bernoulli(), ROWS, [0, 1, 1, 0, 1, 0])
    np.testing.assert_allclose(posterior.predict_proba(ROWS), expected.predict_proba(ROWS), rtol=1e-12)
    plain = [
        label.as_py() if isinstance(label, pa.Scalar) else label
        for label in (y.tolist() if hasattr(y, "tolist") else y)
    ]
    classes, predicted = posterior.classes, posterior.predict(ROWS)
    assert {type(classes), type(predicted)} == {np.ndarray}
    assert classes.tolist() == sorted(set(plain))
    assert [classes.tolist().index(label) for label in predicted] == expected.predict(ROWS).tolist()
    assert type(predicted.tolist()[0]) is type(plain[0])
    again = posterior.update(ROWS, y).forget(ROWS, y)
    np.testing.assert_allclose(again.predict_proba(ROWS), expected.predict_proba(ROWS), rtol=1e-12)


def test_labels_beyond_the_range_of_int64():
    y = np.array([2**63, 2**63 + 1, 2**63], dtype=np.uint64)
    posterior = nb.fit(nb.Bernoulli(), [[1], [0], [1]], y)
    assert posterior.classes.tolist() == [2**63, 2**63 + 1]
    assert posterior.predict([[1], [0]]).tolist() == [2**63, 2**63 + 1]
    np.testing.assert_array_equal(posterior.problem.statistics.classes.n, [2, 1])


@pytest.mark.parametrize("labels", [list, np.array, pd.Index, pl.Series, pa.array])
def test_classes_that_no_row_has(labels):
    posterior = nb.fit(nb.Bernoulli(), ROWS, LABELS, classes=labels(["z", "b", "a"]))
    assert list(posterior.classes) == ["z", "b", "a"]
    proba, two = posterior.predict_proba(ROWS), nb.fit(nb.Bernoulli(), ROWS, LABELS)
    np.testing.assert_allclose(normalised(proba[:, [2, 1]]), two.predict_proba(ROWS), rtol=1e-12)
    np.testing.assert_allclose(np.exp(posterior.log_joint(ROWS))[:, 0], 1 / 9 * 0.5**3, rtol=1e-12)
    more = posterior.update(ROWS[:2], ["z", "z"])
    rows, y = np.vstack([ROWS, ROWS[:2]]), [*LABELS, "z", "z"]
    assert_same(nb.fit(nb.Bernoulli(), rows, y, classes=["z", "b", "a"]), more, ROWS)


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


MIXED = pd.DataFrame({"mass": MASSES, "island": ISLANDS, "sex": [1, 0, None, 1, 0, 1]})
BY_NAME = {"mass": nb.Gaussian(), "island": nb.Categorical(), "sex": nb.Bernoulli()}


def mixed_tables():
    arrays = {"pandas": MIXED, "polars": pl.from_pandas(MIXED), "pyarrow": pa.Table.from_pandas(MIXED)}
    arrays["object"] = MIXED.astype(object).to_numpy()
    return arrays


BY_POSITION = {0: nb.Gaussian(), 1: nb.Categorical(), 2: nb.Bernoulli()}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "object"])
def test_columns_by_name_and_by_position_in_every_kind_of_table(kind):
    table, untouched = mixed_tables()[kind], mixed_tables()[kind]
    expected = nb.fit(nb.NaiveBayes(BY_NAME), MIXED, LABELS)
    np.testing.assert_allclose(expected.predict_proba(table), expected.predict_proba(MIXED), rtol=1e-12)
    for features in [BY_POSITION] + [BY_NAME] * (kind != "object"):
        assert_same(expected, nb.fit(nb.NaiveBayes(features), table, LABELS), MIXED, table)
    assert str(table) == str(untouched)


def test_numbers_beside_texts_in_lists_stay_numbers():
    frame, model = MIXED[["mass", "island"]], nb.NaiveBayes({0: nb.Gaussian(), 1: nb.Categorical()})
    rows = frame.to_numpy().tolist()
    assert_same(nb.fit(model, frame, LABELS), nb.fit(model, rows, LABELS), frame, rows)


@pytest.mark.parametrize(
    "columns",
    [
        ["mass", "weight"],
        [0, 2],
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


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pa"])
@pytest.mark.parametrize(
    "model",
    [
        nb.NaiveBayes(BY_NAME),
        nb.NaiveBayes(BY_POSITION),
        nb.NaiveBayes({"all": (nb.Categorical(), slice(None))}),
        nb.Categorical(),
    ],
    ids=["names", "positions", "slice", "one family"],
)
def test_reordered_columns_predict_the_same(model, convert):
    posterior = nb.fit(model, convert(MIXED), LABELS)
    reordered = convert(MIXED[["sex", "mass", "island"]])
    np.testing.assert_array_equal(posterior.predict_proba(reordered), posterior.predict_proba(convert(MIXED)))
    assert_same(posterior.update(convert(MIXED), LABELS), posterior.update(reordered, LABELS), convert(MIXED))
    assert_same(posterior, posterior.update(reordered, LABELS).forget(reordered, LABELS), convert(MIXED))


def test_a_table_is_read_by_position_where_it_or_the_fit_has_no_names():
    frame = pd.DataFrame(ROWS, columns=NAMES)
    for fitted, others in (
        (frame, (ROWS, ROWS.tolist(), sp.csr_array(ROWS))),
        (ROWS, (pd.DataFrame(ROWS), frame)),
    ):
        posterior = nb.fit(nb.Bernoulli(), fitted, LABELS)
        for other in others:
            np.testing.assert_array_equal(posterior.predict_proba(other), posterior.predict_proba(fitted))


@pytest.mark.parametrize("names", [[2020, 2021, 2022], [2, 1, 0], [0, "v", 2]], ids=str)
def test_columns_whose_names_are_numbers(names):
    frame = pd.DataFrame(ROWS, columns=names)
    posterior = nb.fit(nb.Bernoulli(), frame, LABELS)
    expected = nb.fit(nb.Bernoulli(), ROWS, LABELS)
    np.testing.assert_allclose(posterior.predict_proba(frame), expected.predict_proba(ROWS), rtol=1e-12)
    np.testing.assert_allclose(posterior.predict_proba(frame[names[::-1]]), expected.predict_proba(ROWS), rtol=1e-12)
    single = nb.fit(nb.NaiveBayes({names[0]: nb.Bernoulli()}), frame, LABELS)
    first = nb.fit(nb.Bernoulli(), ROWS[:, :1], LABELS)
    np.testing.assert_allclose(single.predict_proba(frame), first.predict_proba(ROWS[:, :1]), rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray, pl.from_pandas, pa.Table.from_pandas])
def test_no_rows_to_predict(make):
    frame = pd.DataFrame({"u": [1.0, 2.0], "v": [3.0, 1.0]})
    posterior = nb.fit(nb.Gaussian(), make(frame), ["a", "b"])
    assert posterior.predict_proba(make(frame[:0])).shape == (0, 2)
    assert posterior.predict(make(frame[:0])).shape == (0,)


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("name", [name for name in TEXT_TABLES if name != "polars enum"])
def test_an_unseen_category_warns_and_counts_as_missing(name):
    make = TEXT_TABLES[name]
    frame = make(["x", "y", "x", "y", "y", "x"])
    posterior = nb.fit(nb.Categorical(), frame, LABELS)
    with pytest.warns(UserWarning, match="Narnia"):
        proba = posterior.predict_proba(make(["x", "Narnia", None]))
    np.testing.assert_allclose(proba[[0]], posterior.predict_proba(make(["x"])), rtol=1e-12)
    np.testing.assert_allclose(proba[1], proba[2], rtol=1e-12)
    np.testing.assert_allclose(proba[1], [0.5, 0.5], rtol=1e-12)


GUESSED = {
    "flag": ([True, False, True, False, True, False], nb.Bernoulli()),
    "nullable": (pd.Series([True, None, True, False, True, False], dtype="boolean"), nb.Bernoulli()),
    "island": (ISLANDS, nb.Categorical()),
    "kind": (pd.Categorical(ISLANDS), nb.Categorical()),
    "string": (pd.Series(ISLANDS, dtype="string"), nb.Categorical()),
    "mass": (MASSES, nb.Gaussian()),
    "holed": ([1.5, None, 0.5, 4.0, 3.5, 1.0], nb.Gaussian()),
}


@pytest.mark.usefixtures("length")
@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "pa"])
def test_from_frame_guesses_families(convert):
    table = convert(pd.DataFrame({name: cells for name, (cells, _) in GUESSED.items()}))
    found = nb.NaiveBayes.from_frame(table, class_probs=[0.9, 0.1])
    assert found.features == {name: (family, None) for name, (_, family) in GUESSED.items()}
    assert found.class_probs.tolist() == [0.9, 0.1]


@pytest.mark.parametrize("family", [nb.Bernoulli(), nb.Poisson(), nb.Gaussian(), nb.Gaussian(0.0, 1.0)], ids=repr)
def test_a_column_that_is_missing_throughout(family):
    X = np.column_stack([ROWS, np.full(6, np.nan)])
    assert_same(nb.fit(family, ROWS, LABELS), nb.fit(family, X, LABELS), ROWS, X)


@pytest.mark.parametrize("weights", [list, np.array, pd.Series, pl.Series, pa.array])
def test_weights_in_any_container_count_rows(weights):
    posterior = nb.fit(nb.Bernoulli(), ROWS, LABELS, sample_weight=weights([1, 2, 0, 1, 3, 1]))
    repeat = np.repeat(np.arange(6), [1, 2, 0, 1, 3, 1])
    assert_same(nb.fit(nb.Bernoulli(), ROWS[repeat], np.array(LABELS)[repeat]), posterior, ROWS)


def test_what_comes_back_is_numpy_in_double_precision():
    posterior = nb.fit(nb.Bernoulli(), ROWS.astype(np.float32), LABELS)
    for verb in ("predict_proba", "predict_log_proba", "log_joint", "proba_draws", "proba_interval"):
        result = getattr(posterior, verb)(ROWS)
        assert type(result) is np.ndarray
        assert result.dtype == np.float64
    assert type(posterior.log_evidence) is float


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, float])
def test_a_whole_number_after_the_last_category_is_unseen(dtype):
    posterior = nb.fit(nb.Categorical(), np.array([[0], [1], [2], [1]], dtype), ["a", "b", "a", "b"])
    with pytest.warns(UserWarning, match=r"categories.*3"):
        proba = posterior.predict_proba(np.array([[3], [1]], dtype))
    np.testing.assert_allclose(proba[0], [0.5, 0.5])


def test_a_category_that_is_a_pair_is_not_a_column_with_its_categories():
    X = np.empty((4, 1), dtype=object)
    X[:, 0] = [("a", 1), "b", "b", ("a", 1)]
    posterior = nb.fit(nb.Categorical(categories=[("a", 1), "b"]), X, [0, 1, 1, 0])
    np.testing.assert_allclose(posterior.predict_proba(X)[:, 0], [0.75, 0.25, 0.25, 0.75])


CELLS = np.array([0.0, 1.5, np.nan, 2.0, 0.0, 3.0])


@pytest.mark.parametrize("fill", [0.0, 1.5, np.nan], ids=["zeros", "others", "missing"])
def test_sparse_columns_of_a_frame_are_read_as_dense_ones(fill):
    dense, y = pd.DataFrame({"size": CELLS, "flag": [True, False] * 3, "kind": list("abcabc")}), list("xyxyxy")
    sparse = dense.astype({"size": pd.SparseDtype(float, fill), "flag": pd.SparseDtype(bool, False)})
    assert nb.choose_families(sparse, y).model == nb.choose_families(dense, y).model
    for names, model in ((["size"], nb.Gaussian()), ([*dense], nb.NaiveBayes.from_frame(dense, y))):
        expected, found = (nb.fit(model, X[names], y) for X in (dense, sparse))
        assert found.model.schema.columns == tuple(names)
        np.testing.assert_array_equal(found.predict_proba(sparse[names]), expected.predict_proba(dense[names]))


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
