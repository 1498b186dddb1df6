"""The likelihood of labels under weights and offsets: written out row by row, and its derivatives by differences."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from bayesnb.model.weights import ConditionalLikelihood

ROWS, CLASSES, FEATURES = 12, 3, 4
STEP = 1e-5


def numbers(rng, rows=ROWS, classes=CLASSES, features=FEATURES):
    log_density = 2.0 * rng.normal(size=(rows, classes, features))
    log_density[0, :, 1] = 0.0  # a missing cell
    log_prior = log_softmax(rng.normal(size=(rows, classes)), axis=1)
    return log_density, log_prior, rng.integers(0, classes, rows), rng.uniform(0.2, 3.0, rows)


def log_proba_by_hand(log_density, log_prior, point):
    """Log class probabilities, a loop over rows and classes."""
    features = log_density.shape[-1]
    found = np.empty(log_prior.shape)
    for i, row in enumerate(log_density):
        scores = [
            log_prior[i, c] + point[features + c] + sum(point[j] * row[c, j] for j in range(features))
            for c in range(len(row))
        ]
        found[i] = scores - logsumexp(scores)
    return found


def value_by_hand(log_density, log_prior, codes, row_weights, point):
    log_proba = log_proba_by_hand(log_density, log_prior, point)
    return sum(weight * row[code] for weight, row, code in zip(row_weights, log_proba, codes, strict=True))


def differences(function, point):
    """Derivatives of a function by central differences; the last axis is that of the point."""
    units = STEP * np.eye(len(point))
    return np.stack([(function(point + unit) - function(point - unit)) / (2 * STEP) for unit in units], axis=-1)


@pytest.mark.parametrize(
    ("rows", "classes", "features"), [(12, 3, 4), (1, 2, 1), (5, 2, 7), (30, 6, 2)], ids=lambda size: str(size)
)
def test_value_and_derivatives(rng, rows, classes, features):
    given = numbers(rng, rows, classes, max(features, 2))
    given = (given[0][..., :features], *given[1:])
    likelihood = ConditionalLikelihood.of(*given)
    point = rng.normal(size=features + classes)
    assert (likelihood.num_features, likelihood.num_classes) == (features, classes)
    expected = value_by_hand(*given, point)
    value, gradient = likelihood.value_and_gradient(point)
    assert value == pytest.approx(expected, rel=1e-12)
    slope = differences(lambda at: value_by_hand(*given, at), point)
    np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-7)
    information = likelihood.information(point)
    curvature = differences(lambda at: likelihood.value_and_gradient(at)[1], point)
    np.testing.assert_allclose(information, -curvature, rtol=1e-6, atol=1e-7)
    assert np.linalg.eigvalsh(information).min() > -1e-10  # concave


def test_it_leaves_what_it_reads_as_it_is(rng):
    given = numbers(rng)
    copies = [np.array(values) for values in given]
    likelihood = ConditionalLikelihood.of(*given)
    point = np.ones(FEATURES + CLASSES)
    likelihood.value_and_gradient(point)
    likelihood.information(point)
    for values, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(values, copy)


def test_a_class_that_is_impossible_in_a_row_has_no_part_in_it(rng):
    log_density, log_prior, codes, row_weights = numbers(rng)
    codes[3] = 0
    log_prior[3, 2] = -np.inf
    likelihood = ConditionalLikelihood.of(log_density, log_prior, codes, row_weights)
    point = rng.normal(size=FEATURES + CLASSES)
    value, gradient = likelihood.value_and_gradient(point)
    two = slice(0, 2)
    rest = np.arange(ROWS) != 3
    without = value_by_hand(log_density[rest], log_prior[rest], codes[rest], row_weights[rest], point)
    alone = value_by_hand(
        log_density[[3], two], log_prior[[3], two], codes[[3]], row_weights[[3]], point[: FEATURES + 2]
    )
    assert value == pytest.approx(without + alone, rel=1e-12)
    np.testing.assert_allclose(
        gradient, differences(lambda at: likelihood.value_and_gradient(at)[0], point), rtol=1e-6, atol=1e-7
    )
    curvature = differences(lambda at: likelihood.value_and_gradient(at)[1], point)
    np.testing.assert_allclose(likelihood.information(point), -curvature, rtol=1e-6, atol=1e-7)


def test_a_row_of_weight_two_counts_as_two_rows(rng):
    log_density, log_prior, codes, _ = numbers(rng)
    twice = np.r_[np.arange(ROWS), 0, 1, 2]
    repeated = ConditionalLikelihood.of(log_density[twice], log_prior[twice], codes[twice], np.ones(len(twice)))
    weights = np.where(np.arange(ROWS) < 3, 2.0, 1.0)
    weighted = ConditionalLikelihood.of(log_density, log_prior, codes, weights)
    point = rng.normal(size=FEATURES + CLASSES)
    for found, expected in zip(weighted.value_and_gradient(point), repeated.value_and_gradient(point), strict=True):
        np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(weighted.information(point), repeated.information(point), atol=1e-12)


def test_some_of_the_rows(rng):
    given = numbers(rng)
    which = np.array([1, 5, 11])
    some, expected = ConditionalLikelihood.of(*given).take(which), ConditionalLikelihood.of(*(x[which] for x in given))
    point = rng.normal(size=FEATURES + CLASSES)
    for found, other in zip(some.value_and_gradient(point), expected.value_and_gradient(point), strict=True):
        np.testing.assert_array_equal(found, other)
