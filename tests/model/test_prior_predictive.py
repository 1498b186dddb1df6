"""Tables drawn from the prior: distributions of single cells, of two cells and of labels, by formula."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats as st

import bayesnb as nb

DRAWS = 4000

COLUMNS = {
    "zero or one": (nb.Bernoulli(2.0, 3.0), [0, 1, 1, 0], st.bernoulli(0.4), [0]),
    "count": (nb.Poisson(3.0, 2.0), [0, 4, 1, 2], st.nbinom(3, 2 / 3), [0, 1, 3]),
    "trials": (nb.Geometric(4.0, 2.0), [0, 3, 1, 2], st.betanbinom(1, 4, 2), [0, 1, 3]),
    "wait": (nb.Exponential(3.0, 6.0), [0.5, 2.0, 1.0, 3.0], st.lomax(3, scale=6), [0.5, 2.0, 8.0]),
    "number": (nb.Gaussian(5.0, 0.5, 2.0, 3.0), [1.0, 4.0, 2.0, 8.0], st.t(4, 5, np.sqrt(4.5)), [1.0, 5.0, 7.0]),
    "category": (
        nb.Categorical([1.0, 2.0, 3.0]),
        list("abca"),
        st.rv_discrete(values=([0, 1, 2], [1 / 6, 1 / 3, 1 / 2])),
        [0, 1],
    ),
}
"""Family, cells, prior predictive distribution of a cell, and points at which it is compared."""

LABELS = ["x", "y", "x", "z"]


@pytest.fixture(scope="module")
def tree():
    model = nb.NaiveBayes({name: family for name, (family, *_) in COLUMNS.items()}, class_concentration=[1.0, 2.0, 3.0])
    return model.prior_predictive(pd.DataFrame({name: of[1] for name, of in COLUMNS.items()}), LABELS, num_draws=DRAWS)


def assert_mean(values, expected):
    """The mean of independent draws, in Monte Carlo standard errors."""
    assert abs(np.mean(values) - expected) < 4.5 * np.std(values) / np.sqrt(len(values)) + 1e-12


@pytest.mark.parametrize("name", COLUMNS)
def test_a_cell_has_its_distribution(tree, name):
    *_, expected, points = COLUMNS[name]
    cells = tree.prior_predictive[name].values[0]
    for row in range(len(LABELS)):
        for point in points:
            assert_mean(cells[:, row] <= point, expected.cdf(point))
    assert (cells.dtype.kind == "i") == (name not in {"wait", "number"})


def test_rows_of_a_class_share_their_parameters(tree):
    """The product of two zeros or ones has the mean E[p^2] in one class, and E[p]^2 in two."""
    ones, codes = (tree.prior_predictive[name].values[0] for name in ("zero or one", "y"))
    same = codes[:, 0] == codes[:, 1]
    both = ones[:, 0] * ones[:, 1]
    assert_mean(both[same], 2 * 3 / (5 * 6))
    assert_mean(both[~same], 0.4**2)
    # Two draws of Dirichlet(1, 2, 3) are the same class c with probability a_c (a_c + 1) / (6 * 7).
    assert_mean(same, (1 * 2 + 2 * 3 + 3 * 4) / 42)
    for c, share in enumerate([1 / 6, 2 / 6, 3 / 6]):
        assert_mean(codes[:, 3] == c, share)


def test_the_prior_is_that_of_the_tables(tree):
    """Given the class, the mean of a count is its rate."""
    prior, tables = tree.prior, tree.prior_predictive
    rate = np.take_along_axis(prior["count_rate"].values[0], tables["y"].values[0], axis=1)
    for row in range(len(LABELS)):
        assert_mean(tables["count"].values[0, :, row] - rate[:, row], 0.0)


def test_missing_cells_are_left_out_and_totals_kept():
    words = np.array([[1, 2, 0], [0, 0, 0], [4, 0, 5], [2, 2, 2]])
    X = pd.DataFrame(words, columns=["a", "b", "c"]).assign(
        **{"row": [1.0, np.nan, 2.0, 4.0], "g/h": ["p", "q", None, "p"]}
    )
    features = {"text": (nb.Multinomial(), ["a", "b", "c"]), "row": nb.Gaussian(), "g/h": nb.Categorical()}
    tree = nb.NaiveBayes(features).prior_predictive(X, ["x", None, "y", "x"], num_draws=3)
    seen, drawn = tree.observed_data, tree.prior_predictive
    np.testing.assert_array_equal(seen["text"], words)
    np.testing.assert_array_equal(drawn["text"].sum("text_column"), np.tile([3, 0, 9, 6], (1, 3, 1)))
    np.testing.assert_array_equal(seen["text"].sel(text_column="c"), words[:, 2])
    assert drawn["text_column"].values.tolist() == ["a", "b", "c"]
    for name, rows in {"y": [0, 2, 3], "row_": [0, 2, 3], "g|h": [0, 1, 3]}.items():
        np.testing.assert_array_equal(seen[name].coords[f"{name}_row"], rows)
        assert drawn[name].shape == (1, 3, 3)
    np.testing.assert_array_equal(seen["row_"], [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(seen["g|h"], [0, 1, 0])
    some = nb.NaiveBayes(features).prior_predictive(X, ["x", None, "y", "x"], num_rows=2, num_draws=3)
    kept = some.observed_data["row"].values
    np.testing.assert_array_equal(some.observed_data["text"], words[kept])
    np.testing.assert_array_equal(some.prior_predictive["text"].sum("text_column")[0, 0], words[kept].sum(axis=1))


def test_bad_input():
    X, y = scipy.sparse.csr_array([[0.5, 1.0], [2.0, 0.0]]), ["a", "b"]
    with pytest.raises(ValueError, match="fractions"):
        nb.NaiveBayes(nb.Multinomial(fractional=True)).prior_predictive(X, y)
    with pytest.raises(ValueError, match="num_rows is 3, and X has 2 rows"):
        nb.NaiveBayes(nb.Poisson()).prior_predictive([[1], [2]], y, num_rows=3)
    again = nb.NaiveBayes({"p": (nb.Poisson(), [0]), "q": (nb.Geometric(), [0])})
    with pytest.raises(ValueError, match="prior_predictive needs a distribution of the rows"):
        again.prior_predictive([[1], [2]], y)
