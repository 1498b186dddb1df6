"""Exponential families: densities of rows as one matrix product, and point estimates."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayesnb.families.family import Family, Parameters
from bayesnb.families.hyperparameters import filled_cells, some_cell
from bayesnb.families.kernels import densities_by_formula, densities_by_product, natural_parameters, times
from bayesnb.families.needs import CellWeight, Sums
from bayesnb.families.statistics import Counts

# --------------------------------------------------------------------------------------------------
# Exponential families: densities as products of sufficient statistics and natural parameters
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExponentialFamily(Family):
    r"""A family whose log density is a product of sufficient statistics and natural parameters.

    .. math:: \log p(x \mid \theta) = \sum_k T_k(x)\, \eta_k(\theta) - A(\theta) + \log h(x)

    A subclass states `terms` T, `natural` (the natural parameters and the log partition A) and, where h is not one,
    `log_base`: Murphy (2012), *Machine Learning: a Probabilistic Perspective*, section 9.2. Statistics, the density of
    rows on the host and on an accelerator, under one value of the parameters or under thousands of draws, and the
    density of statistics follow. The formulas take NumPy arrays and JAX arrays
    (`bayesnb.core.arrays.namespace` says which).

    A family whose terms would lose digits far from zero states an `origin` as well. `terms`, `natural` and `log_base`
    then take it as a second argument.

    See Also
    --------
    Family : The base class of all families.
    ConjugateFamily : Families with a conjugate prior.

    Examples
    --------
    Gamma distributed cells have no conjugate prior; NUTS samples their posterior.

    >>> from dataclasses import dataclass
    >>> import jax, numpyro.distributions as dist
    >>> import bayesnb as nb
    >>> from bayesnb.families import namespace
    >>> @jax.tree_util.register_dataclass
    ... @dataclass(frozen=True)
    ... class Gamma(nb.families.ExponentialFamily):
    ...     scale: float = 1.0
    ...
    ...     support = dist.constraints.positive
    ...     holds = "a positive number"
    ...     positive = ("scale",)
    ...
    ...     def prior(self, sample):
    ...         prior = dist.HalfNormal(self.scale)
    ...         return {"concentration": sample("concentration", prior), "rate": sample("rate", prior)}
    ...
    ...     def likelihood(self, concentration, rate):
    ...         return dist.Gamma(concentration, rate)
    ...
    ...     def terms(self, x):
    ...         xp, _ = namespace(x)
    ...         return xp.log(x), x
    ...
    ...     def natural(self, parameters):
    ...         a, b = parameters["concentration"], parameters["rate"]
    ...         xp, special = namespace(a, b)
    ...         return (a - 1, -b), special.gammaln(a) - a * xp.log(b)
    >>> posterior = nb.from_parameters(
    ...     Gamma(),
    ...     classes=["a", "b"],
    ...     class_probs=[0.5, 0.5],
    ...     parameters={"concentration": [[1.0], [2.0]], "rate": [[1.0], [1.0]]},
    ... )
    >>> posterior.predict_proba([[1.0], [3.0]])
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """

    @abstractmethod
    def terms(self, x: Any, *origin: Any, **_: Any) -> tuple[Any, ...]:
        """The sufficient statistics of single cells.

        Parameters
        ----------
        x : array
            Cells of the support, any shape.
        origin : array
            Only for families that state `origin`; broadcasts against `x`.

        Returns
        -------
        tuple of array
            One for each natural parameter, in the shape of `x`.
        """

    @abstractmethod
    def natural(self, parameters: Parameters, *origin: Any, **_: Any) -> tuple[tuple[Any, ...], Any]:
        """The natural parameters and the log partition.

        Parameters
        ----------
        parameters : mapping
            Arrays of shape (..., classes, columns).
        origin : array
            Only for families that state `origin`; broadcasts against the parameters.

        Returns
        -------
        tuple of tuple of array and array, each of shape (..., classes, columns)
        """

    def log_base(self, x: Any, *origin: Any, **_: Any) -> Any:
        """Log h(x) of single cells, in the shape of `x` or a number; zero by default."""
        return 0.0

    def origin(self, parameters: Parameters) -> Any:
        """Where the terms are measured from, shape (..., classes, columns); None, the default, for zero.

        Products of terms and natural parameters use the average over draws.
        """
        return None

    def needs(self) -> Any:
        filler = some_cell(self)
        total, log_base = (Sums(terms=each, filler=filler) for each in (self._tuple_of_terms, self.log_base))
        return Counts(CellWeight(), total, log_base)

    def _tuple_of_terms(self, x: Any) -> tuple[Any, ...]:
        terms = self.terms(x)
        if not isinstance(terms, tuple):
            raise TypeError(
                f"terms of {type(self).__name__} gives one array: give a tuple of arrays, one for each natural "
                "parameter, as in return (x,)"
            )
        return terms

    def log_likelihood(self, parameters: Parameters, statistics: Any) -> Any:
        natural, log_partition = natural_parameters(self, parameters)
        total = statistics.total
        sums = (total,) if len(natural) == 1 else tuple(total[..., k] for k in range(len(natural)))
        return sum(map(times, sums, natural)) - times(statistics.n, log_partition)

    def density_formula(self, parameters: Parameters, x: Any) -> Any:
        return densities_by_formula(self, parameters, *filled_cells(self, x))

    def density_kernel(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        return densities_by_product(self, parameters, x, with_base=not ratio)
