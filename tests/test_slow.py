"""Long statistical suites: what the quick tests see once, seen many times."""

import numpy as np
import pytest

import bayesnb as nb

pytestmark = pytest.mark.slow


def test_nuts_is_called_right_as_often_as_stated():
    """Sixty fits of NUTS, all right: verdicts at error rate 0.05, of which at most nine may be NO."""
    rng = np.random.default_rng(0)
    model = nb.NaiveBayes({"size": (nb.Gaussian(), [0, 1]), "kind": (nb.Categorical(), [2])})
    wrong, scores = 0, []
    for k in range(60):
        X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(0, 3, 50)])
        y = rng.integers(0, 2, 50)
        X[rng.uniform(size=X.shape) < 0.1] = np.nan
        exact = nb.fit(model, X, y, classes=[0, 1])
        comparison = nb.compare(exact, nb.fit(model, X, y, nb.NUTS(), classes=[0, 1], key=k), error_rate=0.05)
        wrong += comparison.verdict.startswith("NO")
        scores.append(comparison.table[["z_mean", "z_sd"]].to_numpy())
    z = np.concatenate(scores)
    assert wrong <= 9
    of_means, of_deviations = z.std(axis=0)
    # Draws of the parameters are antithetic, with three times as many effective draws as draws. ArviZ's estimate is
    # still too low then, so that the standard errors of means are too large by a third.
    assert 0.6 < of_means < 1.15
    assert 0.9 < of_deviations < 1.15
    assert np.abs(z).max() < 5.5
