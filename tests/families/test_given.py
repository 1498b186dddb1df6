"""A column given another one: beside one Categorical for each class and parent, and by hand."""

import numpy as np
import pandas as pd
import pytest
from numpyro.infer.util import log_density
from refitting import assert_same

import bayesnb as nb

MODEL = nb.NaiveBayes({"a given b": (nb.Given(), ["a", "b"])})


@pytest.fixture
def table(rng):
    """Two columns that depend on each other, with missing cells in both."""
    y = rng.integers(0, 2, 60)
    parent = rng.integers(0, 4, 60)
    child = (parent + y + rng.integers(0, 2, 60)) % 3
    X = pd.DataFrame({"a": np.array([*"xyz"], object)[child], "b": np.array([*"pqrs"], object)[parent]})
    return X.mask(rng.uniform(size=X.shape) < 0.15, None), y


def of_one_parent(X, y, value, concentration=1.0):
    """The child's column as a Categorical of the rows with one value of the parent."""
    rows = X["b"].isna() if value is None else X["b"] == value
    model = nb.NaiveBayes({"a": nb.Categorical(concentration, categories=[*"xyz"])}, class_probs=[0.5, 0.5])
    return nb.fit(model, X.loc[rows, ["a"]], y[rows], classes=[0, 1])


@pytest.mark.parametrize("concentration", [1.0, 0.4, [[0.3], [2.5]]])
def test_each_value_of_the_parent_has_a_categorical_of_its_own(table, concentration):
    X, y = table
    model = nb.NaiveBayes({"ab": (nb.Given(concentration), ["a", "b"])}, class_probs=[0.5, 0.5])
    posterior = nb.fit(model, X, y)
    spread = np.broadcast_to(np.array(concentration).reshape(-1, 1, 1), (2, 1, 3))
    alone = {value: of_one_parent(X, y, value, spread) for value in (*"pqrs", None)}
    assert posterior.log_evidence == pytest.approx(sum(one.log_evidence for one in alone.values()), rel=1e-12)
    for value, one in alone.items():
        new = pd.DataFrame({"a": [*"xyz", None], "b": [value] * 4}, dtype=object)
        np.testing.assert_allclose(posterior.log_joint(new), one.log_joint(new[["a"]]), rtol=1e-12)


@pytest.mark.parametrize(
    ("child", "parent"),
    [(["b", "x", "w"], ["a", "c", None]), (["b", "x", "w"], ["p", "q", None]), (["x"] * 3, [*"acp"])],
)
def test_later_rows_bring_categories(table, child, parent):
    """To both columns, or to one; there are never as many of the child as of the parent."""
    X, y = table
    more = pd.DataFrame({"a": child, "b": parent}, dtype=object)
    updated, whole = nb.fit(MODEL, X, y).update(more, [0, 1, 1]), nb.fit(MODEL, pd.concat([X, more]), [*y, 0, 1, 1])
    assert updated.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
    np.testing.assert_allclose(updated.log_joint(X), whole.log_joint(X), rtol=1e-12)
    sizes = [len(own) for own in updated.model.schema.categories.values()]
    assert sizes[0] != sizes[1]
    # The categories stay when their rows are forgotten.
    listed = dict(zip("ab", updated.model.schema.categories.values(), strict=True))
    left = nb.fit(nb.NaiveBayes({"a given b": (nb.Given(categories=listed), ["a", "b"])}), X, y)
    np.testing.assert_allclose(updated.forget(more, [0, 1, 1]).log_joint(X), left.log_joint(X), rtol=1e-12)


@pytest.mark.slow
def test_rows_without_a_cell_are_left_out_and_observed(table, float64):
    """Weighted rows given the others; and the program's density, which grows by those of the further rows."""
    X, y = table
    lacking = np.flatnonzero(X.isna().any(axis=1))[:8]
    assert set(X.isna().iloc[lacking].itertuples(index=False, name=None)) >= {(True, False), (False, True)}
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 60)
    assert_same(nb.fit(MODEL, X, y, sample_weight=weights), X, y, weights, places=lacking)
    known = nb.fit(MODEL, X, y).plugin()
    few, all_rows = (log_density(known.model.program, rows, {}, known.mean())[0] for rows in ((X[:9], y[:9]), (X, y)))
    assert all_rows - few == pytest.approx(known.log_joint(X)[np.arange(60), y][9:].sum(), rel=1e-10)


def test_codes_without_missing_cells_come_in_small_types(rng):
    """A parent of 200 categories in a table that holds a byte for each cell."""
    X, y = rng.integers(0, 200, (3000, 2)).astype(np.uint8), rng.integers(0, 2, 3000)
    model = nb.NaiveBayes({"ab": (nb.Given(categories=range(200)), [0, 1])})
    small, large = nb.fit(model, X, y), nb.fit(model, X.astype(float), y)
    assert small.log_evidence == large.log_evidence
    np.testing.assert_array_equal(small.log_joint(X), large.log_joint(X.astype(float)))


def test_numbers_are_read_in_bins_of_as_many_rows_each(rng):
    """The bins of the fit stay those of later rows; a missing number stays missing."""
    X = pd.DataFrame({"a": 1.0 * rng.permutation(201), "b": rng.permutation(201) / 7})
    X["b"] += X["a"] / 20
    y = rng.integers(0, 2, 201)
    cut = ((X.rank() - 1) // 50).clip(upper=3).map("value {:.0f}".format)
    model = nb.NaiveBayes({"a given b": (nb.Given(num_bins=4), ["a", "b"])})
    numbers, words = nb.fit(model, X, y), nb.fit(MODEL, cut, y)
    assert numbers.log_evidence == pytest.approx(words.log_evidence, rel=1e-12)
    np.testing.assert_allclose(numbers.log_joint(X), words.log_joint(cut), rtol=1e-12)
    more = pd.DataFrame({"a": [-1e9, 60.0, np.nan], "b": [np.nan, 1e9, 0.0]})
    same = pd.DataFrame({"a": ["value 0", "value 1", None], "b": [None, "value 3", "value 0"]}, dtype=object)
    updated = numbers.update(more, [0, 1, 1])
    np.testing.assert_allclose(updated.log_joint(more), words.update(same, [0, 1, 1]).log_joint(same), rtol=1e-12)


def test_results_name_parent_and_category(table):
    posterior = nb.fit(MODEL, *table)
    assert list(posterior.summary().index[2:6]) == [f"a given b_prob[0, p, {k}]" for k in "xyz"] + [
        "a given b_prob[0, q, x]"
    ]
    assert posterior.mean()["a given b_prob"].shape == (2, 5, 3)
    dims = posterior.to_datatree(num_draws=2)["posterior"]["a given b_prob"].dims
    assert dims[2:] == ("class", "a given b_parent", "a given b_category")
    assert "a given b[a, b] ~ Given(prob)" in repr(posterior)


def test_the_likeliest_probabilities_are_shares_and_equal_where_no_parent_is_missing(table):
    X, y = table
    complete = X.notna().all(axis=1)
    X, y = X[complete], y[complete]
    prob = nb.fit(MODEL, X, y, nb.MLE()).mean()["a given b_prob"]
    shares = pd.crosstab([y, X["b"]], X["a"], normalize="index").to_numpy().reshape(2, 4, 3)
    np.testing.assert_allclose(prob[:, :4], shares, rtol=1e-12)
    np.testing.assert_array_equal(prob[:, 4], 1 / 3)


def test_information_is_unknown_without_the_second_column(table):
    posterior = nb.fit(MODEL, *table)
    with pytest.warns(UserWarning, match="'a given b': .* is one of vectors"):
        assert nb.mutual_information(posterior, num_draws=3).isna().all(axis=None)


WRONG = {
    "three columns": ((nb.Given(), ["a", "b", "c"]), r"columns \['a', 'b', 'c'\]: give two, the column and its parent"),
    "one column": ((nb.Given(), ["a"]), r"columns \['a'\]: give two"),
    "shape": ((nb.Given([1.0, 2.0]), ["a", "b"]), r"has shape \(2,\): give one number, .* shape \(2, 1\)"),
    "size": ((nb.Given(categories=range(1000)), ["a", "b"]), r"has 1,001,000 combinations of categories, more than"),
}


@pytest.mark.parametrize(("feature", "words"), WRONG.values(), ids=WRONG)
def test_what_is_refused(feature, words):
    X = pd.DataFrame({"a": ["x", "y"], "b": ["x", "x"], "c": ["x", "x"]})
    with pytest.raises(ValueError, match=words):
        nb.NaiveBayes({"ab": feature}).bind(X, [0, 1])


@pytest.mark.parametrize("number", [0, 2.5, True])
def test_the_number_of_bins_is_whole(number):
    with pytest.raises(ValueError, match=f"num_bins is {number}: give a whole number"):
        nb.Given(num_bins=number)


def test_no_row_is_drawn(table):
    posterior = nb.fit(MODEL, *table)
    for call in (lambda: posterior.simulate(3), lambda: nb.check(posterior, *table), lambda: nb.sbc(posterior.model)):
        with pytest.raises(NotImplementedError, match="no row can be drawn: describe both columns"):
            call()
