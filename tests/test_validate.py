"""Checks of numbers that a user gives, and the articles in errors."""

import numpy as np
import pytest

import bayesnb as nb
from bayesnb.core.checking import a_type


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([], "a list"),
        ({}, "a dict"),
        (3, "an int"),
        (np.ones(2), "an ndarray"),
        (None, "a NoneType"),
        (nb.EM(), "an EM"),
        (nb.MAP(), "a MAP"),
        (nb.fit(nb.Bernoulli(), [[0], [1]], ["a", "b"]), "an ExactPosterior"),
    ],
    ids=str,
)
def test_an_article_goes_with_the_sound_of_the_type(value, expected):
    assert a_type(value) == expected


def test_errors_have_the_article():
    posterior = nb.fit(nb.Bernoulli(), [[0], [1]], ["a", "b"])
    with pytest.raises(TypeError, match="sampled is an ExactPosterior: give draws"):
        nb.compare(posterior, posterior)
    with pytest.raises(TypeError, match="X is a str: give a NumPy array"):
        posterior.predict("table.csv")


def test_the_model_of_a_posterior_is_bound_and_keeps_what_the_user_wrote():
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[0], [1]], ["a", "b"])
    assert not isinstance(posterior.model, nb.NaiveBayes)
    assert isinstance(posterior.model.description, nb.NaiveBayes)
    assert isinstance(posterior.model, nb.results.BoundModel)
