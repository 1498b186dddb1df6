"""The distribution of one new cell, the parameters integrated out, as a NumPyro distribution."""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist

__all__ = ["CellPredictive"]


class CellPredictive(dist.Distribution):
    """A conjugate family's predictive distribution: its density, and draws of a parameter first and of the cell then.

    Parameters
    ----------
    family : ConjugateFamily
        States `cell_log_predictive`.
    """

    def __init__(self, family: Any) -> None:
        self.family = family
        self._support = family.support
        parameters: dict[str, Any] = {}

        def note(name: str, distribution: dist.Distribution) -> Any:
            parameters[name] = distribution.mean
            return distribution.mean

        family.prior(note)
        super().__init__(batch_shape=family.likelihood(**parameters).batch_shape, event_shape=(), validate_args=False)

    @property
    def support(self) -> Any:
        """Which numbers a cell may hold."""
        return self._support

    def log_prob(self, value: Any) -> Any:
        """Log density of cells, which broadcast against the hyperparameters."""
        return self.family.cell_log_predictive(jnp.asarray(value, jnp.result_type(float)))

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent cells, shape sample_shape + batch_shape."""
        own, key = jax.random.split(key)

        def draw(name: str, distribution: dist.Distribution) -> Any:
            nonlocal key
            mine, key = jax.random.split(key)
            return distribution.expand((*sample_shape, *self.batch_shape)).sample(mine)

        return self.family.likelihood(**self.family.prior(draw)).sample(own)
