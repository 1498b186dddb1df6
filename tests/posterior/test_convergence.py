"""R-hat and effective sample sizes, against ArviZ's for one parameter at a time."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from bayesnb.posterior.diagnostics import rhat_and_ess


@pytest.mark.parametrize("shape", [(4, 1000, 40), (4, 997, 20), (2, 13, 60), (3, 8, 60), (2, 7, 60), (2, 4, 60)])
@pytest.mark.parametrize("dependence", [0.0, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.9, -0.6)), -0.95])
def test_equal_arviz(shape, dependence):
    rng = np.random.default_rng(3)
    draws = rng.standard_normal(shape)
    for step in range(1, shape[1]):
        draws[:, step] += dependence * draws[:, step - 1]
    draws[:, :, ::3] = draws[:, :, ::3].round(1)
    draws[:, :, 1::3] += 0.3 * np.arange(shape[0])[:, None, None]
    draws[:, 1:, 2::6] = np.where(rng.random(draws[:, 1:, 2::6].shape) < 0.3, draws[:, :-1, 2::6], draws[:, 1:, 2::6])
    draws = draws[:, :, np.ptp(draws, axis=(0, 1)) > 0]
    axes = {"chain_axis": 0, "draw_axis": 1}
    expected = (
        array_stats.rhat(draws, **axes),
        array_stats.ess(draws, **axes, method="bulk"),
        array_stats.ess(draws, **axes, method="tail", prob=(0.05, 0.95)),
    )
    for ours, theirs in zip(rhat_and_ess(draws), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_one_chain_has_effective_sample_sizes():
    draws = np.random.default_rng(0).standard_normal((1, 200, 3))
    _, bulk, tail = rhat_and_ess(draws)
    axes = {"chain_axis": 0, "draw_axis": 1}
    np.testing.assert_allclose(bulk, array_stats.ess(draws, **axes, method="bulk"), rtol=1e-10)
    np.testing.assert_allclose(tail, array_stats.ess(draws, **axes, method="tail", prob=(0.05, 0.95)), rtol=1e-10)
