"""The family of labels from annotators, against enumeration and against SciPy's Dirichlet-multinomial."""

from dataclasses import replace

import jax
import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from scipy.special import gammaln

from bayesnb.families.words import Annotations

CLASSES, ANNOTATORS, LABELS = 2, 3, 3
X = np.array(
    [
        [1, 0, 0, 0, 1, 0, 0, 0, 0],
        [0, 2, 0, 1, 0, 1, 0, 0, 3],
        [0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 4, 1, 0],
    ],
    dtype=float,
)
COLUMNS = tuple((f"annotator {j}", f"label {k}") for j in range(ANNOTATORS) for k in range(LABELS))
CONCENTRATION = np.random.default_rng(1).uniform(0.5, 4, size=(CLASSES, ANNOTATORS, LABELS))
MEMBERSHIP = np.array([[1.0, 0], [0.25, 0.75], [0, 2], [1, 1]])


def bound(concentration=CONCENTRATION):
    return Annotations(concentration, num_labels=LABELS).spread(CLASSES, COLUMNS, ())[0][1]


def prob():
    rng = np.random.default_rng(2)
    return rng.dirichlet([1.0, 2.0, 3.0], size=(2, CLASSES, ANNOTATORS))


def groups(row):
    return row.reshape(ANNOTATORS, LABELS)


def log_predictive_of(row, alpha):
    """SciPy's Dirichlet-multinomials of an item's annotators, less their coefficients."""
    total = 0.0
    for counts, weights in zip(groups(row), alpha, strict=True):
        if counts.sum():
            coefficient = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
            total += scipy.stats.dirichlet_multinomial(weights, int(counts.sum())).logpmf(counts) - coefficient
    return total


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_densities_of_items_are_products_over_annotators(make):
    """Given probabilities of labels, and SciPy's Dirichlet-multinomial of each annotator."""
    given, predictive = bound().row_log_likelihood({"prob": prob()}, make(X)), bound().row_log_predictive(make(X))
    expected = np.einsum("ik,sck->sic", X, np.log(prob()).reshape(2, CLASSES, -1))
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-12)
    for i, c in np.ndindex(len(X), CLASSES):
        assert predictive[i, c] == pytest.approx(log_predictive_of(X[i], CONCENTRATION[c]), abs=1e-12)


def test_densities_on_the_device_are_those_of_the_host():
    with jax.enable_x64(True):
        found = jax.jit(bound().row_log_likelihood)({"prob": prob()[0]}, X)
        np.testing.assert_allclose(found, bound().row_log_likelihood({"prob": prob()[0]}, X), rtol=1e-13)
        found = jax.jit(bound().row_log_predictive)(X)
        np.testing.assert_allclose(found, bound().row_log_predictive(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_statistics_are_weighted_counts_of_each_annotators_labels(make):
    counted = bound().statistics(make(X), MEMBERSHIP)
    np.testing.assert_allclose(counted.total.reshape(CLASSES, -1), MEMBERSHIP.T @ X)
    np.testing.assert_allclose(counted.n[:, 0], MEMBERSHIP.sum(axis=0))
    np.testing.assert_allclose(bound().update(counted).concentration, CONCENTRATION + counted.total)


def test_mode_keeps_the_digits_of_small_weights_and_is_the_mean_where_the_density_is_flat():
    family = bound(1.0)
    counted = family.statistics(X, np.array([[1e-20, 0], [0, 1], [0, 1], [0, 1]]))
    mode = family.maximum_a_posteriori(counted)["prob"]
    np.testing.assert_array_equal(mode[0, 0], [1, 0, 0])
    np.testing.assert_array_equal(mode[0, 2], [1 / 3, 1 / 3, 1 / 3])
    np.testing.assert_allclose(mode[1, 1], [1 / 2, 0, 1 / 2])
    assert np.isnan(bound(0.5).maximum_a_posteriori(family.statistics(X[:1], np.ones((1, 2))))["prob"]).any()


@pytest.mark.parametrize("concentration", [np.ones(3), np.ones((3, 3)), np.ones((2, 2, 3))])
def test_a_concentration_of_another_shape_is_refused(concentration):
    with pytest.raises(ValueError, match=r"concentration has shape .* \(2, 3, 3\) \(classes, annotators, labels\)"):
        bound(concentration)


def test_annotations_are_not_drawn():
    with pytest.raises(NotImplementedError, match="how many labels"):
        bound().likelihood(prob()[0])


def test_which_sums_can_be_those_of_items():
    counted = bound().statistics(X, MEMBERSHIP)
    nothing = replace(counted, n=0 * counted.n, total=0 * counted.total)
    for right in (counted, nothing, replace(counted, total=nothing.total), replace(counted, n=0.1 * counted.n)):
        assert bound().possible(right).tolist() == [[True], [True]]
    for c, others in enumerate(np.eye(CLASSES) == 0):
        first_label = np.zeros(counted.total.shape)
        first_label[c, 0, 0] = 1 + counted.total[c, 0, 0]
        for wrong in (
            replace(counted, n=np.where(others[:, None], counted.n, -1.0)),
            replace(nothing, n=np.where(others[:, None], 0.0, -1.0)),
            replace(counted, n=np.where(others[:, None], counted.n, 0.0)),
            replace(counted, total=counted.total - first_label),
        ):
            assert bound().possible(wrong).tolist() == others[:, None].tolist()
