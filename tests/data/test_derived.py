"""Columns that are derived of others."""

import json
import pickle
from itertools import product

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import bayesnb as nb
from bayesnb.core.cells import is_missing
from bayesnb.core.sealed_files import seal
from bayesnb.data import derived
from bayesnb.data.derived import DerivedColumn
from bayesnb.data.read import as_table
from bayesnb.data.schema import Schema

LIMIT = (("limit", 1.5),)


@pytest.fixture
def recipes(monkeypatch):
    def above(cells, limit):
        numbers = cells.astype(float)
        return np.where(np.isnan(numbers), np.nan, numbers > limit)

    monkeypatch.setitem(derived.RECIPES, "above", above)
    monkeypatch.setitem(derived.RECIPES, "is missing", lambda cells: np.array([*map(is_missing, cells)]))
    monkeypatch.setitem(derived.RECIPES, "size", lambda cells: np.where(cells.astype(float) > 1, "large", "small"))


def data(rng):
    """Whole numbers, so that a table may be sparse, and labels."""
    X = pd.DataFrame(rng.poisson(2.0, (60, 3)), columns=["a", "b", "c"]).astype(float)
    return X, np.where(X["a"] + rng.normal(scale=0.3, size=60) > 1.5, "many", "few")


KINDS = {
    "pandas": lambda X: X,
    "objects": lambda X: X.astype(object).where(X.notna(), None),
    "polars": pl.from_pandas,
    "array": lambda X: X.to_numpy(),
    "sparse": lambda X: scipy.sparse.csr_array(X.to_numpy()),
}
RECIPES = {
    "above": (nb.Bernoulli(), LIMIT, lambda a: a.gt(1.5).where(a.notna()).astype(float)),
    "is missing": (nb.Bernoulli(), (), lambda a: a.isna()),
    "size": (nb.Categorical(), (), lambda a: np.where(a > 1, "large", "small")),
}
NO_GAPS = "sparse", "is missing"


@pytest.mark.parametrize(("kind", "recipe"), [case for case in product(KINDS, RECIPES) if case != NO_GAPS])
def test_a_derived_column_is_one_of_the_table(kind, recipe, recipes, rng, tmp_path):
    X, y = data(rng)
    if kind != "sparse":
        X.loc[(y == "many") & (np.arange(60) % 3 > 0), "a"] = np.nan
    family, settings, made = RECIPES[recipe]
    a, b, c = range(3) if kind in ("array", "sparse") else "abc"
    own = {b: nb.Gaussian(), c: nb.Poisson()}
    column = DerivedColumn("made", a, recipe, settings)
    weighted = nb.weight_features(nb.NaiveBayes(own | {"made": (family, [column])}), KINDS[kind](X), y)
    wide = X.assign(made=made(X["a"]))
    table = wide if kind != "array" and kind != "sparse" else wide.set_axis(range(4), axis=1)
    expected = nb.fit(nb.NaiveBayes(own | {table.columns[3]: family}), table, y)
    np.testing.assert_allclose(weighted.plain.log_joint(KINDS[kind](X)), expected.log_joint(table), rtol=1e-12)
    assert weighted.plain.model.used_columns == [b, c, a]
    path = tmp_path / "weighted.nc"
    weighted.save(path)
    for again in (nb.load(path), pickle.loads(pickle.dumps(weighted))):
        np.testing.assert_array_equal(again.predict_proba(KINDS[kind](X)), weighted.predict_proba(KINDS[kind](X)))
        assert again.model.schema.derived == (column,)
    more = weighted.update(KINDS[kind](X), y).plain
    both, labels = pd.concat([table, table], ignore_index=True), np.concatenate([y, y])
    twice = nb.fit(expected.model.description, both, labels)
    np.testing.assert_allclose(more.log_joint(KINDS[kind](X)), twice.log_joint(table), rtol=1e-12)


def test_columns_are_found_by_name(recipes, rng):
    X, y = data(rng)
    column = DerivedColumn("made", "a", "above", LIMIT)
    model = nb.NaiveBayes({"b": nb.Gaussian(), "made": (nb.Bernoulli(), [column]), "b again": (nb.Histogram(), ["b"])})
    weighted = nb.weight_features(model, X, y)
    expected = weighted.predict_proba(X)
    for other in (X[["c", "b", "a"]], X[["a", "b"]], X.assign(made="text")[["made", "b", "a"]]):
        np.testing.assert_array_equal(weighted.predict_proba(other), expected)
    np.testing.assert_array_equal(weighted.predict_proba(dict(X.iloc[3, ::-1])), expected[[3]])
    with pytest.raises(ValueError, match="column 'a' is missing in X"):
        weighted.predict_proba(X[["b", "c"]])


def test_a_copy_copies_nothing():
    X = np.arange(12.0).reshape(3, 4)
    features = {"all": (nb.Gaussian(), slice(None)), "again": (nb.Gaussian(), slice(1, 3))}
    schema = Schema.of(tuple(range(4)), False, features)
    positions = schema.positions("again", slice(1, 3))
    table = schema.arrange(as_table(X), [positions], {})
    assert [*schema.names(positions)] == [1, 2]
    assert np.shares_memory(table.numbers(positions, slice(None)), X)
    np.testing.assert_array_equal(table.numbers(positions, slice(None)), X[:, 1:3])


def test_files_of_before_name_the_features_that_have_copies(rng, tmp_path):
    X, y = data(rng)
    further = {"b again": (nb.Histogram(), ["b"]), "both": (nb.MultivariateGaussian(), ["c", "a"])}
    weighted = nb.weight_features(nb.NaiveBayes({name: nb.Gaussian() for name in "abc"} | further), X, y)
    path = tmp_path / "weighted.nc"
    weighted.save(path)

    def older(text):
        """The text with positions by feature in a schema, and no records of derived columns."""
        if isinstance(text, dict) and text.get("record", [None])[0] == "Schema":
            fields = [field for field in text["record"] if field[0] != "derived"]
            views = [["b again", {"tuple": [1]}], ["both", {"tuple": [2, 0]}]]
            return {"record": [*fields, ["views", {"dict": views}]]}
        if isinstance(text, dict):
            return {key: older(value) for key, value in text.items()}
        return [*map(older, text)] if isinstance(text, list) else text

    with h5py.File(path, "r+") as file:
        text = json.loads(file.attrs["bayesnb"])
        assert json.dumps(text).count('"DerivedColumn"') == 3
        file.attrs.update(bayesnb=json.dumps(older(text)))
    path.write_bytes(path.read_bytes() + seal(path.read_bytes()))
    again = nb.load(path)
    assert again.model.schema.derived == weighted.model.schema.derived
    np.testing.assert_array_equal(again.predict_proba(X), weighted.predict_proba(X))


def test_a_prediction_of_many_columns_names_none(rng, monkeypatch):
    X, y = rng.normal(size=(20, 300)), np.arange(20) % 2
    posterior = nb.fit(nb.Gaussian(), X, y)
    named, names = [], Schema.names
    monkeypatch.setattr(Schema, "names", lambda schema, positions: named.append(positions) or names(schema, positions))
    posterior.predict_proba(X[:1])
    assert len(named) < 3
