"""Zeros with a probability of their own, and another family for the other cells."""

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.deferred import dist, namespace, pytree
from bayesnb.core.logarithms import SampledParameters
from bayesnb.families.categories import Bernoulli
from bayesnb.families.conjugate import ConjugateFamily, couples_classes, stated_scorer
from bayesnb.families.family import (
    LIKELIEST,
    Axes,
    Family,
    Hyperparameter,
    JointFamily,
    Parameters,
    Sample,
    distributions,
    parameter_names,
)
from bayesnb.families.gaussian import Gaussian
from bayesnb.families.host_sums import stated_needs
from bayesnb.families.hyperparameters import Support, broadcast_hyperparameter, filled_cells, given, support_of
from bayesnb.families.needs import needs_of_formula
from bayesnb.families.statistics import Counts, Statistics
from bayesnb.serve.scorer import StudentT

# --------------------------------------------------------------------------------------------------
# Statistics of cells that may be zero: the number of other cells, and the statistics of their values
# --------------------------------------------------------------------------------------------------


@pytree
class _HurdleStatistics(Statistics):
    """Weight of the cells and of those that are not zero, and statistics of the values that are not zero.

    Attributes
    ----------
    nonzero : Counts
        Its ``n`` is the weight of the observed cells, its ``total`` that of the cells other than zero.
    values : Statistics
        Those of the inner family.
    """

    nonzero: Counts
    values: Any

    @property
    def n(self) -> Any:
        """Weight of the observed cells, shape (classes, columns)."""
        return self.nonzero.n

    @property
    def log_base(self) -> Any:
        """Weighted sum of the parameter-free part of the log density."""
        return getattr(self.values, "log_base", 0.0)


# --------------------------------------------------------------------------------------------------
# Columns with many zeros: a Beta prior on the share of other numbers, and a family for these
# --------------------------------------------------------------------------------------------------

OWN = ("concentration1", "concentration0")
"""Hyperparameters of the probability that a cell is not zero."""


# The package reads the classes and columns off a family's first array, and those of the inner family may have a third
# axis.
@pytree(first=["concentration1", "concentration0"])
class Hurdle(ConjugateFamily):
    r"""Columns of numbers that are zero, or follow another family.

    .. math:: p(x \mid \theta, \phi) = (1 - \theta)^{[x = 0]}\, \big(\theta\, f(x \mid \phi)\big)^{[x \ne 0]}, \quad
              \theta_{cj} \sim \mathrm{Beta}(a, b), \quad \phi_{cj} \sim \text{prior of the inner family}

    Whether a cell is zero is a `Bernoulli` column. The cells other than zero are a column of the inner family, in which
    zeros are missing cells. Prior and likelihood are products of the two, and so are posterior, evidence and predictive
    density. The defaults of the inner family follow the cells other than zero. Cragg (1971), *Econometrica* 39(5),
    829-844; Mullahy (1986), *Journal of Econometrics* 33(3), 341-365.

    The inner family describes single numbers, has a closed form, and gives zero the probability zero, as `Gaussian`
    does. A family of counts has zeros of its own and is an error.

    The density is a probability at zero, and a density per unit of the column elsewhere. Its evidence therefore
    compares with that of another `Hurdle`, and not with that of the inner family alone.

    Parameters
    ----------
    family : ConjugateFamily, default Gaussian()
        Distribution of the cells other than zero.
    concentration1, concentration0 : float or array, default 1.0
        Prior weight of a cell that is not zero, and of one that is; each broadcasts to (columns,) or
        (classes, columns).

    Raises
    ------
    TypeError
        If the inner family is not an instance of a family with a closed form.
    ValueError
        If a concentration is not positive and finite, or the inner family is a `Hurdle`, one of categories or of count
        vectors, or one that gives zero a probability.

    See Also
    --------
    Poisson : Counts.
    LogNormal : Positive numbers whose logarithms are normal.

    Notes
    -----
    Numerical domain: that of `Bernoulli` and of the inner family. A cell of -0.0 is a zero.

    Examples
    --------
    Half of the patients have no lesion; the class "b" has larger ones.

    >>> import bayesnb as nb
    >>> sizes = [[0.0], [1.1], [0.9], [0.0], [3.9], [4.2]]
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Hurdle(nb.Gaussian())), sizes, ["a"] * 3 + ["b"] * 3)
    >>> posterior.predict_proba([[0.0], [1.0], [4.0]]).round(3)
    array([[0.5  , 0.5  ],
           [0.996, 0.004],
           [0.004, 0.996]])
    >>> posterior.mean()["x_nonzero_prob"].round(3)
    array([[0.6],
           [0.6]])
    """

    family: Any = field(default_factory=Gaussian)
    concentration1: Hyperparameter = 1.0
    concentration0: Hyperparameter = 1.0

    def __post_init__(self) -> None:
        _require_inner(self.family)
        super().__post_init__()

    @property
    def support(self) -> Any:
        """Zero, and the numbers that the inner family holds."""
        return distributions.OrZero(self.family.support)

    @property
    def own_support(self) -> Support:
        """The support, in NumPy."""
        other = support_of(self.family)
        return Support("", lambda x: (x == 0) | other(x), 0.0, other.is_discrete, other=other)

    @property
    def holds(self) -> str:  # type: ignore[override]
        """Which numbers a cell may hold, in words."""
        return f"0 or {self.family.holds}"

    # What else says how to take cells is that of the inner family.
    hint: ClassVar[Any] = property(attrgetter("family.hint"))
    by_column: ClassVar[Any] = property(attrgetter("family.by_column"))
    must_see: ClassVar[Any] = property(attrgetter("family.must_see"))
    parameter_note: ClassVar[Any] = property(attrgetter("family.parameter_note"))

    @property
    def positive(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the hyperparameters that must be positive."""
        return (*OWN, *self.family.positive)

    @property
    def why_no_estimate(self) -> dict[str, str]:  # type: ignore[override]
        """Why `maximum_likelihood` and `maximum_a_posteriori` may be NaN; of the former, among the other cells."""
        why = self.family.why_no_estimate
        return why | {LIKELIEST: f"{why[LIKELIEST]} among the cells other than zero"}

    def axes(self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]) -> Axes:
        return (self._of_zeros if parameter == "nonzero_prob" else self.family).axes(parameter, columns, categories)

    def having_seen(self, cells: Mapping[Any, np.ndarray], weights: np.ndarray | None = None) -> Self:
        nonzero = {column: _zeros_apart(x)[1] for column, x in cells.items()}
        return replace(self, family=self.family.having_seen(nonzero, weights))

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        shape = (num_classes, len(names))
        own = {name: broadcast_hyperparameter(self, name, getattr(self, name), shape) for name in OWN}
        return [
            (columns, replace(self, family=inner, **{name: array[:, list(columns)] for name, array in own.items()}))
            for columns, inner in self.family.spread(num_classes, names, sizes)
        ]

    def prior(self, sample: Sample) -> dict[str, Any]:
        (nonzero_prob,) = self._of_zeros.prior(lambda _, distribution: sample("nonzero_prob", distribution)).values()
        return {"nonzero_prob": nonzero_prob, **self.family.prior(sample)}

    def likelihood(self, nonzero_prob: Any, **parameters: Any) -> "dist.Distribution":
        return distributions.ZeroOr(nonzero_prob, self.family.likelihood(**parameters))

    @property
    def _of_zeros(self) -> Bernoulli:
        """The family of the indicator of non-zero cells."""
        return Bernoulli(self.concentration1, self.concentration0)

    def needs(self) -> Any:
        nonzero = needs_of_formula(_is_nonzero, self._of_zeros.needs())
        return _HurdleStatistics(nonzero, needs_of_formula(_without_zeros, stated_needs(self.family)))

    def possible(self, statistics: _HurdleStatistics) -> Any:
        return self._of_zeros.possible(statistics.nonzero) & self.family.possible(statistics.values)

    def beyond_float64(self, statistics: _HurdleStatistics) -> tuple[np.ndarray, str] | None:
        return self.family.beyond_float64(statistics.values)

    def on_scale_of(self, pooled: _HurdleStatistics) -> Self:
        return replace(self, family=self.family.on_scale_of(pooled.values))

    def update(self, statistics: _HurdleStatistics) -> Self:
        of_zeros = self._of_zeros.update(statistics.nonzero)
        return type(self)(given(self.family, statistics.values), of_zeros.concentration1, of_zeros.concentration0)

    def log_likelihood(self, parameters: Parameters, statistics: _HurdleStatistics) -> Any:
        nonzero, values = _parameters(parameters)
        return self._of_zeros.log_likelihood(nonzero, statistics.nonzero) + self.family.log_likelihood(
            values, statistics.values
        )

    def log_evidence(self, statistics: _HurdleStatistics) -> Any:
        return self._of_zeros.log_evidence(statistics.nonzero) + self.family.log_evidence(statistics.values)

    def cell_log_predictive(self, x: Any) -> Any:
        nonzero, values = _zeros_apart(x)
        is_nonzero, filled = filled_cells(self.family, values)
        density = namespace(x)[0].where(is_nonzero, self.family.cell_log_predictive(filled), 0.0)
        return self._of_zeros.cell_log_predictive(nonzero) + density

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        pairs = zip((self._of_zeros, self.family), _parameters(parameters), _zeros_apart(x), strict=True)
        each = [family.densities_of_rows(values, cells, ratio=ratio) for family, values, cells in pairs]
        return lambda rows: sum(of_rows(rows) for of_rows in each)

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        nonzero, values = _zeros_apart(x)
        of_zeros = self._of_zeros.row_log_predictive(nonzero, ratio=ratio)
        return of_zeros + self.family.row_log_predictive(values, ratio=ratio)

    def scorer(self) -> StudentT | None:
        found = stated_scorer(self.family)
        if not isinstance(found, StudentT):
            return None
        of_zero, of_others = np.moveaxis(self._of_zeros.log_predictive_table(), -1, 0)
        has_zero = np.ones_like(found.has_zero)
        return replace(found, constant=of_others + found.constant, at_zero=of_zero, has_zero=has_zero)

    def marginals(self) -> "dict[str, dist.Distribution]":
        return {"nonzero_prob": self._of_zeros.marginals()["prob"]} | self.family.marginals()

    def mean(self) -> dict[str, Any]:
        return {"nonzero_prob": self._of_zeros.mean()["prob"]} | self.family.mean()

    def maximum_a_posteriori(self, statistics: _HurdleStatistics) -> dict[str, Any] | None:
        found = self.family.maximum_a_posteriori(statistics.values)
        of_zeros = self._of_zeros.maximum_a_posteriori(statistics.nonzero)
        return None if found is None else {"nonzero_prob": of_zeros["prob"]} | found

    def maximum_likelihood(self, statistics: _HurdleStatistics) -> dict[str, Any] | None:
        found = self.family.maximum_likelihood(statistics.values)
        of_zeros = self._of_zeros.maximum_likelihood(statistics.nonzero)
        return None if found is None else {"nonzero_prob": of_zeros["prob"]} | found

    def power_scaled(self, statistics: _HurdleStatistics, power: float) -> dict[str, Any]:
        of_zeros = self._of_zeros.power_scaled(statistics.nonzero, power)
        return of_zeros | self.family.power_scaled(statistics.values, power)

    def mutual_information(self, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
        # Chain rule: the information of whether the cell is zero, and that of its value given that it is not.
        nonzero, values = _parameters(parameters)
        prob = np.asarray(nonzero["prob"])
        joint = class_prob * prob
        share = joint.sum(axis=1, keepdims=True)
        given_nonzero = np.where(share > 0, joint / np.where(share > 0, share, 1.0), class_prob)
        of_values = self.family.mutual_information(given_nonzero, values)
        return self._of_zeros.mutual_information(class_prob, nonzero) + share[:, 0] * of_values

    def information_by_chance(self, weight: np.ndarray, statistics: _HurdleStatistics) -> tuple[np.ndarray, np.ndarray]:
        nonzero = np.where(weight > 0, statistics.nonzero.total, 0.0)
        df, expected = self._of_zeros.information_by_chance(weight, statistics.nonzero)
        df_of_values, expected_of_values = self.family.information_by_chance(nonzero, statistics.values)
        share = nonzero.sum(axis=0) / np.maximum(weight.sum(axis=0), np.finfo(np.float64).tiny)
        return df + df_of_values, expected + share * expected_of_values

    def story(self) -> tuple[str, list[str]]:
        likelihood, prior = self.family.story()
        _, (of_zeros,) = self._of_zeros.story()
        return f"0 or, with nonzero_prob, {likelihood}", [f"nonzero_{of_zeros}", *prior]


def _require_inner(family: Any) -> None:
    """Raise for an inner family for which the formulas do not hold."""
    if isinstance(family, type):
        raise TypeError(f"Hurdle(family={family.__name__}) is a class: give an instance, {family.__name__}()")
    if not isinstance(family, ConjugateFamily):
        lacks = "has no closed form" if isinstance(family, Family) else "is no family"
        raise TypeError(f"Hurdle(family={family!r}) {lacks}: give a family with a closed form, such as nb.Gaussian()")
    name = type(family).__name__
    if isinstance(family, Hurdle):
        raise ValueError("Hurdle(Hurdle(...)) has the probability of a zero twice: give the inner family alone")
    if couples_classes(family):
        raise ValueError(f"Hurdle({name}()): {name} gives zeros a cell of their own, use nb.{name}() alone")
    if isinstance(family, JointFamily) or family.cell != "number":
        what = "vector of numbers" if family.cell == "number" else family.cell
        raise ValueError(
            f"Hurdle({name}()) describes no single number, but a {what}: give a family of numbers such as "
            "nb.Gaussian(), or use the family without a hurdle"
        )
    if support_of(family).is_discrete and np.all(support_of(family)(np.zeros(()))):
        raise ValueError(
            f"Hurdle({name}()): {name} has zeros of its own, so that two kinds of zeros would look alike: use "
            f"nb.{name}() alone, or a family of numbers other than zero"
        )
    both = {*OWN, "nonzero_prob"} & {*family.hyperparameters(), *parameter_names(family)}
    if both:
        raise ValueError(
            f"Hurdle({name}()): {name} and Hurdle both have {min(both)!r}, one name in results for two things: rename "
            f"it in {name}"
        )


def _zeros_apart(x: Any) -> tuple[Any, Any]:
    """The indicator of non-zero cells, 0.0 or 1.0, and the cells with zeros as missing; missing ones NaN."""
    return _is_nonzero(x), _without_zeros(x)


def _is_nonzero(x: Any) -> Any:
    xp, _ = namespace(x)
    return xp.where(xp.isnan(x), x, (x != 0).astype(x.dtype))


def _without_zeros(x: Any) -> Any:
    return namespace(x)[0].where(x == 0, np.nan, x)


def _parameters(parameters: Parameters) -> tuple[Parameters, Parameters]:
    """Parameters of the family of zeros and of the inner family, with their logarithms where a sampler gives them."""
    values = dict(parameters)
    nonzero = {"prob": values.pop("nonzero_prob")}
    if not isinstance(parameters, SampledParameters):
        return nonzero, values
    logs = dict(parameters.logs)
    of_zeros = {"prob": logs.pop("nonzero_prob")} if "nonzero_prob" in logs else {}
    return SampledParameters(nonzero, of_zeros), SampledParameters(values, logs)
