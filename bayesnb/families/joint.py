"""Families whose columns are one observation."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.families.base import Family, Parameters
from bayesnb.families.statistics import Counts

__all__ = ["JointFamily"]


@dataclass(frozen=True)
class JointFamily(Family):
    """A family of blocks whose columns are one observation, such as a vector or the counts of a document's words.

    Its statistics ``n`` and its evidences have the shape (classes, 1), and its densities are those of whole rows.

    Attributes
    ----------
    whole_rows : bool
        Whether the statistics take only rows in which no cell of the block is missing. A fit leaves the other rows out
        of the block, with a warning.

    See Also
    --------
    Family : The base class of all families.

    Examples
    --------
    >>> import bayesnb as nb
    >>> isinstance(nb.MultivariateGaussian(), nb.families.JointFamily)
    True
    """

    joint: ClassVar[bool] = True
    whole_rows: ClassVar[bool] = False

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> dist.Distribution:
        """The likelihood with the missing cells integrated out.

        Its density is taken at cells with a number of the support in the places of the missing ones (`filled_cells`).

        Parameters
        ----------
        observed : array of bool, shape (..., columns)
            Which cells are observed.
        **parameters
            As for `likelihood`.

        Raises
        ------
        NotImplementedError
            If the family does not define it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not say how cells of a row are integrated out: define "
            "likelihood_of_observed in the class, or leave out rows with missing cells"
        )

    def with_every_value(self) -> Self:
        """The family with a parameter for every value that an observation may have.

        A family of categories may hold the values of its data alone (`on_scale_of`). Tables that are drawn from
        the prior may have others.
        """
        return self

    def of_each_column(self) -> Family | None:
        """The family of each column on its own, with the prior of its parameters.

        Of a count vector it is the family of whether a token is that word, and of a joint block of categories that of
        its combinations, as one column. None, the default, if it is not known; draws of whole vectors then take
        its place.
        """
        return None

    def statistics_of_each_column(self, statistics: Any) -> Any:
        """Statistics of each column on its own; of a count vector, how many of a class's tokens are that word."""
        if self.cell != "count vector":
            return statistics
        total = np.asarray(statistics.total)
        n = np.broadcast_to(total.sum(axis=-1, keepdims=True), total.shape)
        return Counts(n, total, np.zeros(total.shape))

    def parameters_of_each_column(self, parameters: Parameters) -> Parameters:
        """Parameters of each column on its own; of a count vector ``prob``, the probability that a token is that word.

        The default for count vectors is the mean of a vector of one token.
        """
        if self.cell != "count vector":
            return parameters
        with jax.enable_x64(True):
            return {"prob": np.asarray(self.likelihood(**parameters, total_count=1).mean)}
