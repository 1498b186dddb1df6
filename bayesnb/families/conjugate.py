"""Families whose posterior has the type of their prior."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import jax
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import to_numpy
from bayesnb.families.base import Family, Parameters, sum_over_cells
from bayesnb.families.pit import independent_pit

__all__ = ["ConjugateFamily"]


@dataclass(frozen=True)
class ConjugateFamily(Family):
    """A family whose posterior has the type of its prior; subclass it to add one of your own.

    A family is a frozen dataclass, registered as a JAX pytree, whose fields are the hyperparameters. Write the formulas
    with ``jax.numpy``: they run on arrays of any leading shape, under ``jit`` for NUTS and in float64.

    Examples
    --------
    Waiting times, exponential with a gamma prior on the rate.

    >>> from dataclasses import dataclass
    >>> import jax, jax.numpy as jnp, numpy as np, numpyro.distributions as dist
    >>> from jax.scipy.special import gammaln
    >>> import bayesnb as nb
    >>> @jax.tree_util.register_dataclass
    ... @dataclass(frozen=True)
    ... class Exponential(nb.ConjugateFamily):
    ...     concentration: float = 1.0
    ...     rate: float = 1.0
    ...
    ...     support = dist.constraints.positive
    ...     holds = "a positive number"
    ...     positive = ("concentration", "rate")
    ...
    ...     def prior(self, sample):
    ...         return {"rate": sample("rate", dist.Gamma(self.concentration, self.rate))}
    ...
    ...     def likelihood(self, rate):
    ...         return dist.Exponential(rate)
    ...
    ...     def statistics(self, x, membership):  # x (rows, columns), NaN if missing; membership (rows, classes)
    ...         n = membership.T @ ~np.isnan(x)
    ...         return nb.Counts(n, membership.T @ np.nan_to_num(x), np.zeros_like(n))
    ...
    ...     def log_likelihood(self, parameters, statistics):
    ...         return statistics.n * jnp.log(parameters["rate"]) - statistics.total * parameters["rate"]
    ...
    ...     def update(self, statistics):
    ...         return Exponential(self.concentration + statistics.n, self.rate + statistics.total)
    ...
    ...     def predictive(self):
    ...         shift = dist.transforms.AffineTransform(-self.rate, 1.0)
    ...         return dist.TransformedDistribution(dist.Pareto(self.rate, self.concentration), shift)
    ...
    ...     def log_evidence(self, statistics):
    ...         a, b, posterior = self.concentration, self.rate, self.update(statistics)
    ...         a_n, b_n = posterior.concentration, posterior.rate
    ...         return gammaln(a_n) - gammaln(a) + a * jnp.log(b) - a_n * jnp.log(b_n)
    >>> posterior = nb.fit(nb.NaiveBayes(Exponential()), [[0.2], [0.3], [4.0], [7.0]], ["a", "a", "b", "b"])
    >>> posterior.predict_proba([[0.4]]).round(3)
    array([[0.78, 0.22]])
    """

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """Posterior given statistics; the same type, other hyperparameters."""

    @abstractmethod
    def predictive(self) -> dist.Distribution:
        """Distribution of one new cell, the parameters integrated out."""

    @abstractmethod
    def log_evidence(self, statistics: Any) -> Any:
        """Log density of the rows with these statistics, parameters integrated out, shape (classes, columns)."""

    def marginals(self) -> dict[str, dist.Distribution]:
        """Distribution of each scalar parameter on its own, for comparison with samples.

        The default derives them from `prior`; a family whose prior draws a vector, or one parameter given another,
        defines them itself.
        """
        found: dict[str, dist.Distribution] = {}

        def note(name: str, distribution: dist.Distribution) -> Any:
            if found or distribution.event_shape:
                raise NotImplementedError(
                    f"{type(self).__name__} draws several parameters or a vector: define marginals() to compare it"
                )
            found[name] = distribution
            return distribution.mean

        self.prior(note)
        return found

    def independent_pit(self, parameters: Parameters, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draws of the parameters as uniform numbers, independent of each other if the draws follow this distribution.

        `bayesnb.compare` uses them to test the dependence between parameters. The default takes each parameter given
        those that `prior` draws before it, and one component of a Dirichlet vector after the other. The default is
        right for every family; override it if a parameter's distribution has no ``cdf``.

        Parameters
        ----------
        parameters : mapping
            Draws, shape (..., classes, columns) or (..., classes, columns, categories).
        rng : numpy.random.Generator
            For draws that were rounded to zero or one; see `bayesnb.families.pit.pit`.

        Returns
        -------
        dict
            The parameters in the order of `prior`, each in its shape; NaN if others determine a parameter, or its
            distribution function is not known.
        """
        found: dict[str, np.ndarray] = {}

        def note(name: str, distribution: dist.Distribution) -> Any:
            found[name] = independent_pit(distribution, np.asarray(parameters[name]), rng)
            return parameters[name]

        with jax.enable_x64(True):
            self.prior(note)
        return found

    def mean(self) -> dict[str, Any]:
        """Mean of every parameter; infinite where it does not exist."""
        with jax.enable_x64(True), np.errstate(divide="ignore"):
            return to_numpy({name: marginal.mean for name, marginal in self.marginals().items()})

    def maximum_a_posteriori(self, statistics: Any) -> dict[str, Any] | None:
        return self.update(statistics).mode()

    def mode(self) -> dict[str, Any] | None:
        """Mode of the parameters' joint density, NaN where it is unbounded; None where no closed form is known."""
        return None

    def row_log_predictive(self, x: Any) -> Any:
        """Log predictive density of each row under each class, summed over the observed cells.

        Returns
        -------
        array, shape (rows, classes)
        """
        with jax.enable_x64(True):
            return np.asarray(_row_log_predictive(self, np.asarray(x)))

    def cell_log_predictive(self, x: np.ndarray) -> np.ndarray | None:
        """Log predictive density of each cell, shape (rows, classes, columns); zero for a missing one.

        None if only the general way works, by the evidence of each cell's own statistics.
        """
        return None

    def row_log_predictive_ratio(self, x: Any) -> Any:
        """As `row_log_predictive`, up to a term of each row that all classes share; enough for class probabilities."""
        return self.row_log_predictive(x)

    def device_log_predictive(self, x: Any) -> Any:
        """As `row_log_predictive`, for JAX to compile and to run; see `device_log_likelihood`."""
        return _row_log_predictive(self, x)

    def row_log_left_out(self, x: Any, codes: np.ndarray, statistics: Any) -> np.ndarray | None:
        """Log density of each row given the others of its class, summed over the observed cells; called on the prior.

        Leave-one-out has a general way, by the evidence of the row's own statistics; a family may define a faster one.

        Parameters
        ----------
        x : array, shape (rows, columns)
            Rows of weight one.
        codes : array of int, shape (rows,)
        statistics : Statistics
            Of all rows, these among them.

        Returns
        -------
        array of shape (rows,), or None
            None if only the general way works; not finite if a row cannot have been among the data.
        """
        return None

    def row_log_refitted(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Any, held: np.ndarray
    ) -> np.ndarray | None:
        """Log density of each row under each class given the other rows, `on_scale_of` following them alone.

        It is called on the prior as the user gave it, of a family whose defaults follow the data. Leave-one-out has a
        general way, which calls `on_scale_of` for every row; a family may define a faster one.

        Parameters
        ----------
        x : array, shape (rows, columns)
        codes : array of int, shape (rows,)
            Position of each row's class.
        weights : array, shape (rows,)
        statistics : Statistics
            Of all rows, these among them.
        held : array, shape (rows, classes)
            Log predictive density of each row under each class given all rows; the family may start from it.

        Returns
        -------
        array of shape (rows, classes), or None
            None if only the general way works. Rows that need the general way, and rows that cannot have been among the
            data, are not finite.
        """
        return None


@jax.jit
def _row_log_predictive(family: ConjugateFamily, x: Any) -> Any:
    return sum_over_cells(family, family.take(None).predictive(), x)
