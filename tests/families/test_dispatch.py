"""Formulas for classes of distributions, and classes that define the method themselves."""

from typing import Any

import numpy as np
import numpyro.distributions as dist
import pytest

from bayesnb.families.draw import draw
from bayesnb.families.formulas import cdf, log_prob, mean_of, quantile, variance_of


class Halved(dist.Gamma):
    """Numbers that are not those of the gamma distribution."""

    mean = property(lambda self: np.float64(0.5))
    variance = property(lambda self: np.float64(0.25))

    def log_prob(self, value: Any) -> Any:
        return -0.5 * value

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        return np.full(sample_shape, 0.75)

    def cdf(self, value: Any) -> Any:
        return 0.125 * value

    def icdf(self, level: Any) -> Any:
        return 8.0 * level


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (log_prob, [1.0], -0.5),
        (mean_of, [], 0.5),
        (variance_of, [], 0.25),
        (draw, [np.random.default_rng(0), (1,)], 0.75),
        (cdf, [1.0], 0.125),
        (quantile, [np.array([0.25])], 2.0),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_subclass_with_a_method_of_its_own_keeps_it(function, arguments, expected):
    assert function(Halved(2.0, 3.0), *arguments) == pytest.approx(expected)
    assert function(dist.Gamma(2.0, 3.0), *arguments) != pytest.approx(expected)
