"""Worked examples of textbooks and lectures, each with the number it must give."""

import numpy as np
import pytest

import bayesnb as nb
from bayesnb.families.categories import dirichlet_mode

ENGLISH = [
    [0, 1, 1, 1, 0, 0],
    [0, 0, 1, 1, 1, 0],
    [1, 1, 0, 0, 0, 0],
    [1, 1, 0, 0, 0, 1],
    [1, 0, 1, 0, 1, 0],
]
SCOTTISH = [
    [1, 1, 1, 1, 1, 1, 1],
    [0, 1, 1, 1, 1, 0, 0],
    [0, 0, 1, 0, 0, 1, 1],
    [1, 0, 1, 1, 1, 1, 0],
    [1, 1, 0, 0, 1, 0, 0],
]
PEOPLE = np.hstack([ENGLISH, SCOTTISH]).T
NATIONS = ["english"] * 6 + ["scottish"] * 7
SOMEBODY = [[1, 0, 1, 1, 0]]


def scottish(posterior) -> float:
    return posterior.predict_proba(SOMEBODY)[0, list(posterior.classes).index("scottish")]


def test_evidence_of_five_tosses_is_one_sixtieth():
    """Murphy (2012), Exercise 3.2: Eq. 3.80 and the chain of predictions 3.83."""
    tosses = np.array([[1], [0], [0], [1], [1]])
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[1.0])
    posterior = nb.fit(model, tosses, ["coin"] * 5)
    assert posterior.log_evidence == pytest.approx(-np.log(60), abs=1e-12)
    known = nb.from_parameters(model, classes=["coin"], parameters={"prob": [[0.5]]})
    chain = np.exp(known.log_joint(tosses[:1]))[0, 0]
    for seen in range(1, 5):
        chain *= np.exp(nb.fit(model, tosses[:seen], ["coin"] * seen).log_joint(tosses[seen : seen + 1]))[0, 0]
    assert chain == pytest.approx(1 / 60, rel=1e-12)


def test_mary_had_a_little_lamb():
    """Murphy (2012), Eqs. 3.52-3.53: words never seen get mass."""
    words = ["mary", "lamb", "little", "big", "fleece", "white", "black", "snow", "rain", "unk"]
    counts = [2, 4, 4, 0, 1, 1, 0, 1, 0, 4]
    expected = np.array([3, 5, 5, 1, 2, 2, 1, 2, 1, 5]) / 27
    tokens = np.repeat(words, counts).reshape(-1, 1)
    one_class = ["song"] * len(tokens)
    as_cells = nb.fit(nb.NaiveBayes(nb.Categorical(categories=words)), tokens, one_class)
    np.testing.assert_allclose(np.exp(as_cells.log_joint(np.reshape(words, (-1, 1))))[:, 0], expected, rtol=1e-12)
    as_counts = nb.fit(nb.NaiveBayes(nb.Multinomial()), [counts], ["song"])
    np.testing.assert_allclose(np.exp(as_counts.log_joint(np.eye(10)))[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(as_counts.mean()["x_prob"][0], expected, rtol=1e-12)


def test_are_they_scottish():
    """Barber (2012), section 10.2.1; Murphy (2012), Algorithms 3.1 and 3.2 and Eqs. 3.66-3.68."""
    model = nb.NaiveBayes(nb.Bernoulli())
    assert scottish(nb.fit(model, PEOPLE, NATIONS, nb.MLE())) == pytest.approx(0.8076276, abs=5e-8)
    posterior = nb.fit(model, PEOPLE, NATIONS)
    assert scottish(posterior) == pytest.approx(0.7602506, abs=5e-8)
    assert posterior.log_evidence == pytest.approx(-58.6151130, abs=5e-8)
    empirical = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
    assert scottish(nb.fit(empirical, PEOPLE, NATIONS)) == pytest.approx(0.7639887, abs=5e-8)
    known = nb.NaiveBayes(nb.Bernoulli(), class_probs={"english": 6 / 13, "scottish": 7 / 13})
    assert scottish(nb.fit(known, PEOPLE, NATIONS)) == pytest.approx(0.7639887, abs=5e-8)


def test_black_swan():
    """Murphy (2012), section 3.5.1.2: a word in every training document, absent from a new one."""
    X = [[1, 0], [1, 1], [1, 0], [1, 1]]
    y = ["a", "a", "a", "b"]
    estimate = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y, nb.MLE())
    assert np.isneginf(estimate.log_joint([[0, 1]])).all()
    with pytest.warns(UserWarning, match="row 0, have probability zero under every class"):
        proba = estimate.predict_proba([[0, 1]])
    np.testing.assert_allclose(proba, [[0.75, 0.25]])
    exact = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y).predict_proba([[0, 1]])
    by_hand = np.array([(4 / 6) * (1 / 5) * (2 / 5), (2 / 6) * (1 / 3) * (2 / 3)])
    np.testing.assert_allclose(exact[0], by_hand / by_hand.sum(), rtol=1e-12)


def test_a_long_document_is_not_as_certain_as_its_plug_in():
    posterior = nb.fit(nb.NaiveBayes(nb.Multinomial()), [[3, 1, 0], [1, 3, 0]], ["a", "b"])
    assert posterior.predict_proba([[30, 10, 0]])[0, 0] == pytest.approx(0.871, abs=5e-4)
    assert posterior.plugin().predict_proba([[30, 10, 0]])[0, 0] == pytest.approx(0.999999, abs=5e-7)


@pytest.mark.parametrize(
    ("concentration", "mode"),
    [
        ([1.0, 1.0, 1.0], [1 / 3, 1 / 3, 1 / 3]),  # flat: its mean
        ([3.0, 2.0, 1.0], [2 / 3, 1 / 3, 0.0]),
        ([1.5, 1.5, 2.0], [0.25, 0.25, 0.5]),
        ([0.5, 2.0, 2.0], [np.nan] * 3),  # unbounded
        ([0.5], [1.0]),
        ([1.0], [1.0]),
        ([7.0], [1.0]),
    ],
)
def test_the_mode_of_a_dirichlet_by_hand(concentration, mode):
    np.testing.assert_allclose(dirichlet_mode(np.array([concentration, concentration])), [mode, mode])
