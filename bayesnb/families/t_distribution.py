"""NumPyro's Student-t distribution, made of NumPy arrays."""

from typing import Any

import numpyro.distributions as dist

from bayesnb.arrays import namespace

__all__ = ["TDistribution"]


class TDistribution(dist.StudentT):
    """NumPyro's Student-t distribution. Its own constructor makes JAX arrays, and so compiles for every shape."""

    def __init__(self, df: Any, loc: Any, scale: Any, *, validate_args: bool | None = None) -> None:
        xp, _ = namespace(df, loc, scale)
        self.df, self.loc, self.scale = xp.broadcast_arrays(df, loc, scale)
        dist.Distribution.__init__(self, batch_shape=self.df.shape, validate_args=validate_args)
        self._chi2 = dist.Chi2(self.df, validate_args=False)
