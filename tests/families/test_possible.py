"""Which sums can be those of rows: what is left after rows were taken away may be none."""

from dataclasses import replace

import numpy as np
import pytest
from cases import Tokens

import bayesnb as nb
from bayesnb.families.moments import Moments, Scatter
from bayesnb.families.statistics import Counts

ALWAYS, NEVER = [(2, 3), (0.5, 1), (0, 0)], [(-1, 0), (2, -1), (0, 3)]
"""Number of cells and their sum, which counts and waiting times can have, or cannot."""

SUMS = {
    nb.Poisson(2.0, 1.0): ([*ALWAYS, (2, 0)], NEVER),
    nb.Exponential(2.0, 1.0): (ALWAYS, NEVER),
    nb.Geometric(): ([*ALWAYS, (2, 0)], NEVER),
    nb.NegativeBinomial(1.5): (ALWAYS, NEVER),
    nb.Bernoulli(): ([(2, 1), (0.5, 0.25), (2, 2), (2, 0), (0, 0)], [(2, 3), (2, -1)]),
    nb.Binomial(5): ([(2, [3, 7]), (0.5, [0.5, 2]), (2, [10, 0]), (0, [0, 0])], [(2, [-1, 11]), (2, [11, -1])]),
    nb.Gaussian(): ([(2, 1), (2, 0), (0, 0)], [(2, -1), (-1, 1)]),
    # A family that does not say which sums it can have.
    Tokens(): ([*ALWAYS, (2, -1)], [(-1, 0)]),
}
"""Number of cells, and their sum, their successes and failures or their squared deviations: what can be, and cannot."""


@pytest.mark.parametrize("family", SUMS, ids=lambda family: type(family).__name__)
def test_numbers_and_sums(family: nb.families.Family) -> None:
    for pairs, expected in zip(SUMS[family], (True, False), strict=True):
        for number, total in pairs:
            n, sums = np.full((1, 1), float(number)), np.array([[total]], dtype=float)
            statistics = Moments(n, 0 * n, sums) if isinstance(family, nb.Gaussian) else Counts(n, sums, 0 * n)
            assert np.asarray(family.possible(statistics)).all() == expected, (number, total)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("n", "scatter", "expected"),
    [
        (3, [[1.0, 0.5], [0.5, 1.0]], True),
        (3, [[1.0, 1.0 + 1e-8], [1.0 + 1e-8, 1.0]], True),
        (3, [[1.0, 1.1], [1.1, 1.0]], False),
        (3, [[1.0, 0.0], [0.0, -1e-8]], False),
        (3, [[0.0, 0.0], [0.0, 1.0]], True),
        (0, [[0.0, 0.0], [0.0, 0.0]], True),
        (-1, [[1.0, 0.5], [0.5, 1.0]], False),
    ],
)
def test_products_of_deviations(n: int, scatter: list, expected: bool, unit: float) -> None:
    """Of the first of two classes; the unit of the first column is a thousand times that of the second."""
    units = unit * np.array([1.0, 1e-3])
    both = np.array([scatter, [[1.0, 0.5], [0.5, 1.0]]]) * np.outer(units, units)
    statistics = Scatter(np.array([[float(n)], [3.0]]), np.zeros((2, 2)), both)
    assert nb.MultivariateGaussian().possible(statistics).tolist() == [[expected], [True]]


@pytest.mark.parametrize(
    ("n", "total", "expected"),
    [
        (2, [3, 0], [True, True]),
        (2, [0, 0], [True, True]),
        (0.5, [1, 0], [True, True]),
        (0, [0, 0], [True, True]),
        (0, [3, 0], [False, False]),
        (-1, [0, 0], [False, False]),
        (2, [3, -1], [True, False]),
    ],
)
def test_counts_of_rows(n: float, total: list[float], expected: list[bool]) -> None:
    counts = np.array([total, [1, 1]], dtype=float)
    statistics = Counts(np.array([[n], [2.0]]), counts, np.zeros((2, 1)))
    found = np.broadcast_to(nb.Multinomial().possible(statistics), (2, 2))
    np.testing.assert_array_equal(found, [expected, [True, True]])


@pytest.mark.parametrize("longest", [3, 40])
def test_documents(longest: int) -> None:
    """Counts above sixteen are in a tally of their own."""
    family = nb.DirichletMultinomial()
    x, membership = np.array([[longest, 1.0, 0.0], [2.0, 0.0, 1.0], [1.0, 1.0, 1.0]]), np.eye(2)[[0, 0, 1]]
    counted = family.statistics(x, membership)
    for right in (counted, counted * 0.1, counted - counted):
        assert family.possible(right).all()
    for c, others in enumerate(np.eye(2) == 0):
        own = ~others[:, None]
        assert family.possible(counted - family.statistics(x, membership * own[:, 0])).all()
        for wrong in (
            replace(counted, n=np.where(own, -counted.n, counted.n)),
            replace(counted, n=np.where(own, 0.0, counted.n)),
            counted - family.statistics(np.array([[longest + 1.0, 0.0, 0.0]]), np.eye(2)[[c]]),
        ):
            np.testing.assert_array_equal(family.possible(wrong).all(axis=1), others)
    less = replace(counted, total=counted.total * [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(family.possible(less), [[True, False, True], [True, True, True]])


@pytest.mark.parametrize(
    ("family", "here", "never"),
    [
        (nb.Categorical(), ["red"], ["blue"]),
        (nb.Histogram((0.0, 1.0, 2.0, 3.0)), [0.5], [2.5]),
        (nb.NegativeBinomial(), [3], [5]),
        (nb.JointCategorical(), ["red", "small"], ["red", "large"]),
        (nb.Given(), ["red", "small"], ["red", "large"]),
        (nb.MultivariateGaussian(), [1.0, 2.0], [1.0, 5.0]),
        (nb.Hurdle(), [0.0], [2.0]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, nb.families.Family) else None,
)
def test_rows_that_were_never_there(family: nb.families.Family, here: list, never: list) -> None:
    """Of the first class only; the second has every row."""
    X, y = [here, here, here, never, here, never], ["a", "a", "a", "b", "b", "b"]
    model = nb.NaiveBayes({"x": (family, slice(None))}).bind(X, y)
    resolved = model.resolve(model.statistics(X, y))

    def possible(rows: list, labels: list) -> list[bool]:
        rest = (model.statistics(X, y) - model.statistics(rows, labels)).blocks[0]
        found = np.asarray(resolved.families[0].possible(rest))
        return found.reshape(len(found), -1).all(axis=1).tolist()

    assert possible([here], ["a"]) == [True, True]
    assert possible(X, y) == [True, True]
    assert possible([never], ["b"]) == [True, True]
    assert possible([never], ["a"]) == [False, True]
    assert possible([here] * 4, ["a"] * 4) == [False, True]
    assert possible([here] * 4, ["b"] * 4) == [True, False]
