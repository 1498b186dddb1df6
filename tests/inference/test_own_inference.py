"""An inference from outside the package: it reads a problem, and makes a posterior of its draws."""

from dataclasses import dataclass

import numpy as np
import pytest

import bayesnb as nb

X = np.array([[1, 0.3], [0, 2.0], [1, 0.9], [0, 1.1], [0, 3.2], [1, 0.1]])
Y = ["a", "a", "a", "b", "b", "b"]
MODEL = nb.NaiveBayes({0: nb.Bernoulli(2.0, 3.0), 1: nb.Gaussian()})


@dataclass(frozen=True)
class Own(nb.results.Inference):
    """Draws of the closed form, as a sampler that is not the package's would give them."""

    num_draws: int = 500

    def check(self, problem):
        problem.require_labels("Own", "leave these rows out")

    def fit(self, problem, *, key=0):
        draws = nb.Exact().fit(problem).draws(num_draws=self.num_draws, key=key)
        return nb.from_samples(problem, draws, inference=self)


def test_a_posterior_of_a_problem_is_that_of_its_data():
    mine, exact = nb.fit(MODEL, X, Y, Own()), nb.fit(MODEL, X, Y)
    same = nb.from_samples(MODEL, exact.draws(num_draws=500), X=X, y=Y)
    np.testing.assert_array_equal(mine.predict_proba(X), same.predict_proba(X))
    assert mine.problem.statistics.classes.n.tolist() == [3.0, 3.0]
    assert nb.compare(exact, mine).agree


def test_update_and_forget_fit_again():
    mine = nb.fit(MODEL, X[:4], Y[:4], Own(), key=3)
    later = mine.update(X[4:], Y[4:], key=3)
    assert later.inference == mine.inference == Own()
    np.testing.assert_allclose(later.predict_proba(X), nb.fit(MODEL, X, Y, Own(), key=3).predict_proba(X), rtol=1e-9)
    back = later.forget(X[4:], Y[4:], key=3)
    np.testing.assert_allclose(back.predict_proba(X), mine.predict_proba(X), rtol=1e-9)


def test_its_own_check_refuses():
    with pytest.raises(ValueError, match="Own needs every label"):
        nb.fit(MODEL, X, [*Y[:5], None], Own())
    problem = nb.fit(MODEL, X, [*Y[:5], None], nb.EM()).problem
    with pytest.raises(ValueError, match="Own needs every label"):
        nb.fit(problem, inference=Own())


@pytest.mark.parametrize("data", [{}, {"X": X, "y": Y}], ids=["model alone", "problem with data"])
def test_a_model_needs_data_and_a_problem_has_them(data):
    exact = nb.fit(MODEL, X, Y)
    with pytest.raises(TypeError, match="a model with its data, X=X and y=y, or a problem alone"):
        nb.from_samples(exact.problem if data else MODEL, exact.draws(num_draws=10), **data)
