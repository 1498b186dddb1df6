"""Columns given others: evidences by fits, forests and trees by enumeration, and the models with more features."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.selection import descriptions as trees

ONE_BY_ONE = nb.NaiveBayes(dict.fromkeys("abcde", nb.Categorical()))


@pytest.fixture(scope="module")
def table():
    """Five columns of two to four categories with missing cells, a chain within the classes, and one column alone."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 300)
    a = rng.integers(0, 3, 300)
    b = np.where(rng.random(300) < 0.5, a, rng.integers(0, 3, 300))
    c = (b + (y == 1) * (rng.random(300) < 0.6)) % 2
    d = np.where(rng.random(300) < 0.25, b, rng.integers(0, 4, 300))
    X = pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": rng.integers(0, 2, 300)})
    X = X.map(lambda k: "pqrs"[k]).astype(object)
    return X.mask(rng.random(X.shape) < 0.05, None), y


def by_fits(X, y, i, j):
    """The log Bayes factor of two columns, of the evidences of three fits to the rows with both cells."""
    both = X[[i, j]].notna().all(axis=1)
    listed = {name: sorted(X[name].dropna().unique()) for name in (i, j)}
    size = {name: len(values) for name, values in listed.items()}
    total, labels = max(size.values()), both.sum() * np.log(3)

    def evidence(features):
        return nb.fit(nb.NaiveBayes(features, class_probs=[1 / 3] * 3), X[both], y[both]).log_evidence + labels

    block = nb.JointCategorical(total / (size[i] * size[j]), listed), [i, j]
    alone = [evidence({name: nb.Categorical(total / size[name], listed[name])}) for name in (i, j)]
    return evidence({"ij": block}) - sum(alone)


@pytest.fixture(scope="module")
def factors(table):
    return {pair: by_fits(*table, *pair) for pair in combinations("abcde", 2)}


def is_forest(edges):
    part = {name: name for name in "abcde"}
    for i, j in edges:
        if part[i] == part[j]:
            return False
        part = {name: part[i] if own == part[j] else own for name, own in part.items()}
    return True


def test_the_forest_is_the_best_of_all(table, factors):
    """Of the pairs above the threshold; each tree grows from the column with the largest sum of factors."""
    found = nb.tree_columns(ONE_BY_ONE, *table).table
    allowed = [pair for pair, factor in factors.items() if factor > np.log(10)]
    forests = [edges for k in range(5) for edges in combinations(allowed, k) if is_forest(edges)]
    best = max(forests, key=lambda edges: sum(factors[edge] for edge in edges))
    assert 2 <= len(best) < len(allowed)
    pairs = [tuple(sorted(edge)) for edge in zip(found["child"], found["parent"], strict=True)]
    assert sorted(pairs) == sorted(best)
    np.testing.assert_allclose(found["log_bayes_factor"], [factors[pair] for pair in pairs], rtol=1e-10)
    sums = {name: sum(factors[pair] for pair in allowed if name in pair) for name in "abcde"}
    assert found["parent"][0] == max(sums, key=sums.get)
    assert all(parent in {found["parent"][0], *found["child"][:k]} for k, parent in enumerate(found["parent"]))


def test_probabilities_of_edges_are_shares_of_all_trees(table, factors):
    found = nb.tree_columns(ONE_BY_ONE, *table).table
    trees = [edges for edges in combinations(factors, 4) if is_forest(edges)]
    assert len(trees) == 125
    weight = np.array([sum(factors[edge] for edge in edges) for edges in trees])
    share = np.exp(weight - weight.max()) / np.exp(weight - weight.max()).sum()
    for child, parent, probability in found[["child", "parent", "probability"]].itertuples(index=False):
        edge = tuple(sorted([child, parent]))
        assert probability == pytest.approx(sum(s for s, edges in zip(share, trees, strict=True) if edge in edges))


def test_weights_of_rows_are_copies(table, monkeypatch):
    """Whether columns are counted together or one by one."""
    X, y = table
    times = np.random.default_rng(1).integers(0, 3, 300)
    weighted = nb.tree_columns(ONE_BY_ONE, X, y, sample_weight=times).table
    monkeypatch.setattr(trees, "AT_A_TIME", 1)
    copied = nb.tree_columns(ONE_BY_ONE, X.loc[X.index.repeat(times)], np.repeat(y, times)).table
    pd.testing.assert_frame_equal(weighted, copied, rtol=1e-10)


def test_the_model_has_a_feature_for_each_edge(table):
    X, y = table
    forest = nb.tree_columns(nb.NaiveBayes(nb.Categorical()), X, y)
    names = [
        f"{child} given {parent}" for child, parent in zip(forest.table["child"], forest.table["parent"], strict=True)
    ]
    weighted = nb.weight_features(forest.model, X, y)
    assert list(weighted.weights.index) == [*"abcde", *names]
    by_hand = dict.fromkeys("abcde", nb.Categorical()) | {name: (nb.Given(), name.split(" given ")) for name in names}
    np.testing.assert_allclose(
        weighted.predict_proba(X), nb.weight_features(nb.NaiveBayes(by_hand), X, y).predict_proba(X), atol=1e-6
    )
    for model, told in ((weighted, names), (forest.model, [f"{name} (tree)" for name in names])):
        again = nb.tree_columns(model, X, y)
        assert [*again.model.features][-len(names) :] == told
        pd.testing.assert_frame_equal(again.table, forest.table)


def test_numbers_are_compared_in_five_bins_unless_they_are_categories(rng):
    """Two numbers of 401 values each; and codes, which stay what they are, also in the new model."""
    y = np.repeat([0, 1], [200, 201])
    x = rng.permutation(401)
    X = pd.DataFrame({"x": x * 0.1, "z": rng.permutation(401) / 8 + (x > 250) * 90 + 1, "code": x // 25})
    families = {"x": nb.Gaussian(), "z": nb.LogNormal(), "code": nb.Categorical()}
    forest = nb.tree_columns(nb.NaiveBayes(families), X, y)
    fifths = ((X[["x", "z"]].rank() - 1) // 80).clip(upper=4)
    cut = fifths.assign(code=X["code"]).map("value {}".format)
    expected = nb.tree_columns(nb.NaiveBayes(nb.Categorical()), cut, y)
    pd.testing.assert_frame_equal(forest.table, expected.table)
    schema = forest.model.bind(X, y).schema
    (place, _) = schema.positions("code given x", ["code", "x"])
    assert schema.categories[place] == tuple(range(17))


def test_pairs_of_many_categories_are_left_out(rng):
    y = np.arange(300) % 2
    a = rng.integers(0, 3, 300)
    X = pd.DataFrame({"a": a, "b": a, "many": rng.permutation(300), "some": np.arange(300) % 14}).map("value {}".format)
    forest = nb.tree_columns(nb.NaiveBayes(nb.Categorical()), X, y)
    assert set(forest.table.loc[0, ["child", "parent"]]) == {"a", "b"}
    assert forest.notes == (
        "An edge has to exceed log 5 = 1.6: 5 of 6 pairs were compared, those of at most 4,000 combinations of "
        "categories.",
    )


def test_an_edge_exceeds_the_log_of_the_number_of_pairs():
    """Columns of chance, of which two alone have a factor above log 1, and not above log 6."""
    X, y = np.random.default_rng(26).integers(0, 2, (40, 4)).astype(str), np.arange(40) % 2
    (factor,) = nb.tree_columns(nb.Categorical(), X[:, :2], y).table["log_bayes_factor"]
    assert 0 < factor < np.log(6)
    assert not len(nb.tree_columns(nb.Categorical(), X, y).table)


def test_independent_columns_have_no_parent(rng):
    X, y = rng.integers(0, 3, (60, 4)), np.arange(60) % 2
    forest = nb.tree_columns(nb.Categorical(), X, y)
    assert repr(forest).startswith("No column has a parent.")
    assert list(nb.weight_features(forest.model, X, y).weights.index) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"no column has a parent, .*: \.notes says why"):
        forest.plot()


def test_a_forest_is_printed(table):
    forest = nb.tree_columns(ONE_BY_ONE, *table)
    shown = repr(forest)
    assert shown.startswith(f"Columns given others by log Bayes factors, together {forest.table.iloc[:, 2].sum():.1f}:")
    assert f"{forest.table['child'][0]} given {forest.table['parent'][0]}" in shown
    assert "An edge has to exceed log 10 = 2.3: 10 of 10 pairs were compared." in shown
