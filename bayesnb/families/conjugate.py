"""Families whose posterior has the type of their prior."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import dense, row_pieces
from bayesnb.core.checking import is_jax
from bayesnb.core.deferred import compiled, dist, float64, jnp, leaves, namespace
from bayesnb.families.family import (
    Family,
    JointFamily,
    Parameters,
    formulas,
    log_density_of_rows,
)
from bayesnb.families.hyperparameters import filled_cells, kind_of_cell
from bayesnb.families.kernels import Distinct, ValueTable, look_up_in_jax


@dataclass(frozen=True)
class ConjugateFamily(Family):
    """A family whose posterior has the type of its prior; subclass it to add one of your own.

    A family is a frozen dataclass, registered as a JAX pytree, whose fields are the hyperparameters. It states three
    things of its closed form: `update`, the posterior; `log_normaliser`, from which evidences follow; and
    `cell_log_predictive`, the density of one new cell. Most conjugate families are exponential families too, and state
    their likelihood as `ExponentialFamily` says. Write the formulas with `namespace`: they run on arrays of any
    leading shape, of NumPy and, under ``jit`` for NUTS, of JAX.

    A family may state its closed form with NumPyro instead, `log_evidence` in place of `log_normaliser` and
    `predictive` in place of `cell_log_predictive`.

    See Also
    --------
    Family : The base class of all families.
    ExponentialFamily : Families that state natural parameters.

    Examples
    --------
    Waiting times, exponential with a gamma prior on the rate.

    >>> from dataclasses import dataclass, replace
    >>> import jax, numpyro.distributions as dist
    >>> import bayesnb as nb
    >>> from bayesnb.families import namespace
    >>> @jax.tree_util.register_dataclass
    ... @dataclass(frozen=True)
    ... class Exponential(nb.families.ExponentialFamily, nb.families.ConjugateFamily):
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
    ...     def terms(self, x):
    ...         return (x,)
    ...
    ...     def natural(self, parameters):
    ...         xp, _ = namespace(parameters["rate"])
    ...         return (-parameters["rate"],), -xp.log(parameters["rate"])
    ...
    ...     def update(self, statistics):
    ...         a, b = self.concentration + statistics.n, self.rate + statistics.total
    ...         return replace(self, concentration=a, rate=b)
    ...
    ...     def log_normaliser(self):
    ...         xp, special = namespace(self.concentration, self.rate)
    ...         return special.gammaln(self.concentration) - self.concentration * xp.log(self.rate)
    ...
    ...     def cell_log_predictive(self, x):
    ...         a, b = self.concentration, self.rate
    ...         xp, _ = namespace(x, a, b)
    ...         return xp.log(a / b) - (a + 1) * xp.log1p(x / b)
    >>> X, y = [[0.2], [0.3], [4.0], [7.0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.NaiveBayes(Exponential()), X, y)
    >>> posterior.predict_proba([[0.4]]).round(3)
    array([[0.78, 0.22]])
    """

    flat_prior: ClassVar[Mapping[str, float]] = {}
    """Values of all hyperparameters at which the prior density is constant, if its logarithm is linear in them.

    ``{"concentration": 1.0, "rate": 0.0}`` for a gamma prior. `power_scaled` follows from it.
    """

    @abstractmethod
    def update(self, statistics: Any) -> Self:
        """Posterior given statistics: the same class and static fields, other hyperparameters.

        ``dataclasses.replace(self, ...)`` keeps the class and the static fields.
        """

    def log_normaliser(self) -> Any:
        r"""Log of the number that normalises the prior density, shape (..., classes, columns).

        The prior of the natural parameters is :math:`\exp(\eta \cdot \tau - \nu A(\theta)) / Z` with hyperparameters
        :math:`\tau` and :math:`\nu`, and this is log Z: `scipy.special.gammaln` of the concentration minus
        concentration times log rate for a gamma prior.

        Raises
        ------
        NotImplementedError
            If the family states `log_evidence` instead.
        """
        raise NotImplementedError(f"{type(self).__name__} states neither log_normaliser nor log_evidence")

    def log_evidence(self, statistics: Any) -> Any:
        """Log density of the rows with these statistics, parameters integrated out, shape (..., classes, columns).

        The default is the difference of `log_normaliser` after the update and before, plus the base measure. Both may
        be large beside their difference: a family whose hyperparameters may be large states the difference itself,
        with `bayesnb.core.arrays.log_rising` in place of log-gamma functions.
        """
        log_ratio = self.update(statistics).log_normaliser() - self.log_normaliser()
        return log_ratio + getattr(statistics, "log_base", 0.0)

    def cell_log_predictive(self, x: Any) -> Any:
        """Log density of one new cell, the parameters integrated out.

        Predictions, leave-one-out and averages over features use it. It should therefore be accurate for large
        hyperparameters. The default uses `predictive`.

        Parameters
        ----------
        x : array
            Cells of the support; broadcasts against the hyperparameters.

        Returns
        -------
        array
        """
        return compiled(_log_predictive_of_cells, self, x)

    def predictive(self) -> "dist.Distribution":
        """Distribution of one new cell, the parameters integrated out, of NumPyro: instead of `cell_log_predictive`."""
        raise NotImplementedError(f"{type(self).__name__} states neither cell_log_predictive nor predictive")

    def marginals(self) -> "dict[str, dist.Distribution]":
        """Distribution of each scalar parameter on its own, for comparison with samples.

        The default derives them from a `prior` that draws one parameter, a number or a Dirichlet vector. A family with
        several parameters, or with vectors of another kind, defines them itself.
        """
        found: dict[str, dist.Distribution] = {}

        def note(name: str, distribution: "dist.Distribution") -> Any:
            marginal = formulas.component_marginal(distribution)
            if found or marginal is None:
                raise NotImplementedError(
                    f"{type(self).__name__} draws several parameters, or a vector of unknown marginals: define "
                    "marginals() in the class"
                )
            found[name] = marginal
            return formulas.mean_of(marginal)

        self.prior(note)
        return found

    def mean(self) -> dict[str, Any]:
        """Mean of every parameter; infinite where it does not exist."""
        with float64():
            return {name: formulas.mean_of(marginal) for name, marginal in self.marginals().items()}

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        """Log predictive density of each row under each class, summed over the observed cells.

        Parameters
        ----------
        x : array, CSR array or jax.Array, shape (rows, columns)
        ratio : bool, default False
            As for `densities_of_rows`.

        Returns
        -------
        array, shape (rows, classes)
            By `predictive_formula` for a JAX array, and by `predictive_kernel` for another.
        """
        if is_jax(x):
            return self.predictive_formula(x.astype(jnp.float64))
        return self.predictive_kernel(x, ratio=ratio)

    def predictive_formula(self, x: Any) -> Any:
        """Log predictive density of each row under each class: the definition, which JAX runs as it is.

        The default adds up `cell_log_predictive`; of a joint family it takes `predictive`.
        """
        if isinstance(self, JointFamily):
            return log_density_of_rows(self, self.take(None).predictive, x)
        if number_of_values(self):
            return look_up_in_jax(_log_table(self), x)
        return _cells_by_formula(self, x).sum(axis=-1)

    def predictive_kernel(self, x: Any, *, ratio: bool = False) -> Any:
        """As `row_log_predictive`, for arrays of NumPy and SciPy.

        A table of the values is looked up where they are few, and one of the counts that occur where cells are counts.
        Of a joint family it is `predictive_formula`, compiled.
        """
        if isinstance(self, JointFamily):
            return compiled(type(self).predictive_formula, self, dense(x).astype(np.float64))
        if number_of_values(self):
            return ValueTable(np.asarray(_log_table(self))).of_rows(x)
        if _counts_only(self):
            return Distinct.of(dense(x)).sums(partial(_log_predictive_of_counts, self), _num_classes(self))
        return np.concatenate([cells.sum(axis=-1) for cells in _log_predictive_in_pieces(self, x)])

    def given_dependence(self) -> Self:
        """The prior on the condition that the classes differ.

        A family whose prior couples the parameters of the classes, and leaves open whether they differ, defines it.
        `nb.feature_evidence` compares it with one distribution for all classes.
        """
        return self

    def row_log_left_out(
        self, x: Any, codes: np.ndarray, weights: np.ndarray, statistics: Any, *, refitted: bool
    ) -> np.ndarray | None:
        """Log density of each row given the other rows, summed over the observed cells; called on the prior.

        Leave-one-out has a general way, the closed form given the other rows; a family may define a faster one.

        Parameters
        ----------
        x : array or CSR array, shape (rows, columns)
        codes : array of int, shape (rows,)
            Position of each row's class.
        weights : array, shape (rows,)
        statistics : Statistics
            Of all rows, these among them.
        refitted : bool
            Whether a row bears on the predictions of all classes: the defaults follow the data, or the prior couples
            the classes. The prior is then as the user gave it, and `on_scale_of` follows the other rows alone.

        Returns
        -------
        array of shape (rows,), or (rows, classes) where refitted; or None
            Under the row's own class, or under every class. NaN where only the general way works, None if it does for
            all rows. Not finite for rows that cannot have been among the data; minus infinity for those of a joint
            family, which has no general way to tell.
        """
        return None

    def power_scaled(self, statistics: Any, power: float) -> dict[str, Any]:
        """Hyperparameters of the posterior under the prior density raised to a power and then normalised.

        `bayesnb.sensitivity` needs it. The posterior may be proper though the scaled prior is not. The result is
        therefore a dictionary and not a family.

        The default is for priors whose log density, up to its normaliser, is linear in the hyperparameters h and
        constant at the values h0 of `flat_prior`. Its power p has h0 + p (h - h0): Gamma(a, r) becomes
        Gamma(1 + p (a - 1), p r).

        Parameters
        ----------
        statistics : Statistics
        power : float

        Returns
        -------
        dict
            Fields of the family, of the prior's shapes.

        Raises
        ------
        TypeError
            If a family states neither `flat_prior` nor this.
        """
        if not self.flat_prior:
            raise TypeError(
                f"the prior of {type(self).__name__} raised to a power has no known closed form: state "
                "flat_prior, or define power_scaled(statistics, power) in the class, or weight draws with "
                "arviz.psense_summary on posterior.to_datatree(X, y)"
            )
        after = self.update(statistics)
        return {
            name: getattr(after, name) + (power - 1) * (getattr(self, name) - value)
            for name, value in self.flat_prior.items()
        }


def cells_log_predictive(family: ConjugateFamily, x: Any) -> Any:
    """Log predictive density of each cell, NumPy or JAX, shape (rows, classes, columns); zero for a missing one."""
    if is_jax(x):
        return _cells_by_formula(family, x.astype(jnp.float64))
    if _counts_only(family):
        return Distinct.of(dense(x)).cells(partial(_log_predictive_of_counts, family), _num_classes(family))
    return np.concatenate(list(_log_predictive_in_pieces(family, x)))


DENSITIES = ("cell_log_predictive", "predictive", "row_log_predictive", "predictive_formula", "predictive_kernel")
"""Methods that state the density of new cells."""


def stated_scorer(family: Any) -> Any:
    """What the family's `scorer` gives; None if a subclass of the class that defines it has another density."""
    kinds = type(family).__mro__
    first = {
        name: next((place for place, kind in enumerate(kinds) if name in vars(kind)), len(kinds))
        for name in ("scorer", *DENSITIES)
    }
    return family.scorer() if first["scorer"] <= min(first[name] for name in DENSITIES) else None


def couples_classes(family: Family) -> bool:
    """Whether the prior couples the parameters of the classes: the family defines `given_dependence`.

    Such a family has no density of its parameters, for `NUTS`, and the data of a class bear on the predictions of the
    others.
    """
    kind = type(family)
    return issubclass(kind, ConjugateFamily) and kind.given_dependence is not ConjugateFamily.given_dependence


@dataclass(frozen=True)
class Abilities:
    """What a family can do. It declares none of this: everything follows from its base classes and methods.

    Attributes
    ----------
    cells : str
        What a cell is, as `kind_of_cell` says it.
    joint : bool
        Whether the columns of a block are one observation.
    closed : bool
        Whether the posterior has a closed form, for `Exact` and `Gibbs`.
    sampled : bool
        Whether the parameters have a density, for `NUTS`.
    mode, likeliest : bool
        Whether the family defines the mode of the parameters, for `MAP`, and the maximum of the likelihood, for `MLE`.
    power_scaled : bool
        Whether the prior raised to a power is known, for `sensitivity`.
    scaled : bool
        Whether hyperparameters that are not given follow the columns.
    holes : bool
        Whether a fit takes rows in which some cells are missing.
    simulated : bool
        Whether the family describes rows as a whole, so that it draws some.
    sparse : bool
        Whether sparse arrays stay sparse.
    """

    cells: str
    joint: bool
    closed: bool
    sampled: bool
    mode: bool
    likeliest: bool
    power_scaled: bool
    scaled: bool
    holes: bool
    simulated: bool
    sparse: bool


def abilities(family: Family) -> Abilities:
    """What a family can do, by what it defines."""

    def defines(method: str) -> bool:
        return getattr(type(family), method, None) is not getattr(ConjugateFamily, method)

    cells = kind_of_cell(family)
    return Abilities(
        cells=cells,
        joint=isinstance(family, JointFamily),
        closed=isinstance(family, ConjugateFamily),
        sampled=not couples_classes(family),
        mode=defines("maximum_a_posteriori"),
        likeliest=defines("maximum_likelihood"),
        power_scaled=isinstance(family, ConjugateFamily) and (bool(family.flat_prior) or defines("power_scaled")),
        scaled=defines("on_scale_of"),
        holes=cells != "count vector" and not (isinstance(family, JointFamily) and family.whole_rows),
        simulated=not (isinstance(family, JointFamily) and family.num_given),
        sparse="sparse" in family.takes,
    )


def independent_pits(family: Family, parameters: Parameters, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draws of the parameters as numbers that are uniform and independent if the draws follow the family's `prior`.

    Each parameter is taken given those that `prior` draws before it, and one component of a Dirichlet vector after the
    other.

    Parameters
    ----------
    family : Family
    parameters : mapping
        Draws, shape (..., classes, columns) or (..., classes, columns, categories).
    rng : numpy.random.Generator
        For draws that were rounded to zero or one; see `bayesnb.families.formulas.pit`.

    Returns
    -------
    dict
        The parameters in the order of `prior`, each in its shape; NaN if others determine a parameter, or its
        distribution function is not known.
    """
    found: dict[str, np.ndarray] = {}

    def note(name: str, distribution: "dist.Distribution") -> Any:
        found[name] = formulas.independent_pit(distribution, np.asarray(parameters[name]), rng)
        return parameters[name]

    with float64():
        family.prior(note)
    return found


def _log_predictive_of_cells(family: ConjugateFamily, x: Any) -> Any:
    return family.predictive().log_prob(x.astype(int) if family.cell == "category" else x)


def _cells_by_formula(family: ConjugateFamily, x: Any) -> Any:
    """As `cells_log_predictive`, by the formula itself."""
    observed, cells = filled_cells(family, x)
    return namespace(x)[0].where(observed[:, None, :], family.cell_log_predictive(cells[:, None, :]), 0.0)


def _log_predictive_in_pieces(family: ConjugateFamily, x: Any) -> Iterator[np.ndarray]:
    """As `cells_log_predictive`, for some rows after the other."""
    cells = dense(x)
    for rows in row_pieces(len(cells), cells.shape[1] * _num_classes(family)):
        yield _cells_by_formula(family, cells[rows])


def _log_predictive_of_counts(family: ConjugateFamily, codes: Any, columns: Any, counts: Any) -> np.ndarray:
    """Log predictive density of counts; classes, columns and counts broadcast."""
    return np.asarray(family.take((codes, columns)).cell_log_predictive(counts))


def number_of_values(family: ConjugateFamily) -> int:
    """How many values a cell may have; zero where they are not finitely many."""
    kind = kind_of_cell(family)
    return leaves(family)[0].shape[-1] if kind == "category" else 2 * (kind == "zero or one")


def _log_table(family: ConjugateFamily) -> Any:
    """Log predictive probability of each value of a cell, shape (classes, columns, values)."""
    values = np.arange(float(number_of_values(family)))[:, None, None]
    found = family.cell_log_predictive(values)
    return namespace(found)[0].moveaxis(found, 0, -1)


def _num_classes(family: ConjugateFamily) -> int:
    return len(leaves(family)[0])


def _counts_only(family: ConjugateFamily) -> bool:
    """Whether cells are whole numbers from zero, each an observation of its own."""
    return kind_of_cell(family) == "count" and not isinstance(family, JointFamily)
