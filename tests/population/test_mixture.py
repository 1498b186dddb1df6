"""Class probabilities of rows given likelihood ratios: draws against sums over all labels."""

import numpy as np
import pytest
from every_labelling import moments_of_class_probs

import bayesnb.population.mixture as mixture
from bayesnb.population.mixture import ClassProbsDensity

NUM_DRAWS = 8000


CASES = {
    "two classes": (8, 2, 1.0, 2.0),
    "three classes": (6, 3, 1.0, 2.0),
    "four classes, a strong prior": (5, 4, [4.0, 1.0, 2.0, 3.0], 2.0),
    "classes that hardly differ": (6, 3, 1.0, 0.3),
    "certain labels": (6, 3, 1.0, 40.0),
    "one row": (1, 3, 1.0, 2.0),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_have_the_moments_of_the_sum_over_all_labels(case, rng):
    rows, classes, concentration, spread = CASES[case]
    ratios, prior = np.exp(spread * rng.normal(size=(rows, classes))), np.broadcast_to(concentration, classes)
    draws = ClassProbsDensity.of(ratios, prior).draw(NUM_DRAWS, rng)
    mean, sd = moments_of_class_probs(ratios, prior)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(NUM_DRAWS)).all()
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.05)


def test_long_steps_cost_acceptance_and_nothing_else(rng, monkeypatch):
    monkeypatch.setattr(mixture, "STEP", 1.3)
    monkeypatch.setattr(mixture, "NUM_MOVES", 40)
    ratios = np.exp(2.0 * rng.normal(size=(6, 3)))
    draws = ClassProbsDensity.of(ratios, np.ones(3)).draw(NUM_DRAWS, rng)
    mean, sd = moments_of_class_probs(ratios, np.ones(3))
    assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(NUM_DRAWS)).all()
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.05)


def test_one_class_has_probability_one(rng):
    assert (ClassProbsDensity.of(np.ones((3, 1)), np.ones(1)).draw(5, rng) == 1.0).all()


def gaussian_ratios(rng, rows, means, probs):
    """Likelihood ratios of rows from normal distributions in the plane."""
    x = means[rng.choice(len(probs), rows, p=probs)] + rng.normal(size=(rows, 2))
    log_density = -((x[:, None] - means) ** 2).sum(axis=2) / 2
    return np.exp(log_density - log_density.max(axis=1, keepdims=True))


@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_groups_of_nearly_equal_rows_change_nothing(rng, monkeypatch, spread):
    """One of the classes is absent."""
    ratios = gaussian_ratios(rng, 400, spread * rng.normal(size=(4, 2)), [0.6, 0.3, 0.1, 0.0])
    each = ClassProbsDensity.of(ratios, np.ones(4))
    monkeypatch.setattr(mixture, "MOST_GROUPS", 60)
    grouped = ClassProbsDensity.of(ratios, np.ones(4))
    assert len(grouped.proba) <= 60 < len(each.proba)
    probs, again = (density.draw(2000, np.random.default_rng(1)) for density in (each, grouped))
    np.testing.assert_allclose(again.mean(axis=0), probs.mean(axis=0), atol=0.02 * probs.std(axis=0).max())
    np.testing.assert_allclose(again.std(axis=0), probs.std(axis=0), rtol=0.02)


def test_equal_rows_count_once_and_weigh_together(rng):
    ratios = np.exp(rng.normal(size=(5, 3)))
    density = ClassProbsDensity.of(np.repeat(ratios, 7, axis=0), np.ones(3))
    assert density.weights.tolist() == [7.0] * 5


def test_the_mode_balances_prior_and_rows(rng):
    """(rows + sum of the prior) * mode = expected rows + prior."""
    ratios = gaussian_ratios(rng, 300, rng.normal(size=(3, 2)), [0.7, 0.3, 0.0])
    density = ClassProbsDensity.of(ratios, np.array([1.0, 2.0, 0.5]))
    expected = density.weights @ density.proba + density.concentration
    np.testing.assert_allclose(density.mode, expected / expected.sum(), rtol=1e-3)
