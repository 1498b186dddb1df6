"""Labels that annotators give to items, with a Dirichlet prior for each class and annotator."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import scipy.sparse
from numpyro.distributions import constraints

from bayesnb.core.arrays import filled, log_rising
from bayesnb.families.base import Hyperparameter, Parameters, Sample
from bayesnb.families.categories import dirichlet_log_evidence, dirichlet_mode
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.distributions import log_of
from bayesnb.families.exponential import Weights, times
from bayesnb.families.joint import JointFamily
from bayesnb.families.statistics import Counts, class_sums
from bayesnb.families.words import Documents

__all__ = ["AnnotationCounts", "Annotations"]


class AnnotationCounts(dist.Distribution):
    """How often each annotator gives each label to an item, given how many labels each annotator gives.

    The order of the labels is known, so that the density has no multinomial coefficient.

    Parameters
    ----------
    prob : array, shape (..., annotators, labels)
        Probability of each label of an annotator.
    """

    arg_constraints: ClassVar[dict[str, Any]] = {"prob": constraints.independent(constraints.simplex, 1)}
    support = constraints.independent(constraints.nonnegative_integer, 1)
    pytree_data_fields = ("prob",)

    def __init__(self, prob: Any, *, validate_args: bool | None = None) -> None:
        self.prob = prob
        *batch, annotators, labels = jnp.shape(prob)
        super().__init__(tuple(batch), (annotators * labels,), validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        log_prob = jnp.log(self.prob).reshape(*self.batch_shape, *self.event_shape)
        return times(jnp.asarray(value), log_prob).sum(axis=-1)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        raise NotImplementedError(
            "the model does not say how many labels an annotator gives to an item, so that it draws no annotations: "
            "draw the labels of given items and annotators from the probabilities"
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Annotations(JointFamily, ConjugateFamily):
    r"""Counts of the labels that annotators give to an item; :math:`\theta_{cj} \sim \mathrm{Dirichlet}(\alpha_{cj})`.

    Dawid and Skene (1979, *Applied Statistics* 28(1), 20-28). Given the class c of the item, annotator j gives label l
    with the probability :math:`\theta_{cjl}`, independently of the other annotations:

    .. math:: p(x \mid y = c) = \prod_j \prod_l \theta_{cjl}^{x_{jl}}

    An annotator who gives the item no label has no factor. The posterior is
    :math:`\mathrm{Dirichlet}(\alpha_{cjl} + \sum_i x_{ijl})`.

    The columns of a block are pairs of annotator and label, all labels of the first annotator first. Their names are
    these pairs.

    Parameters
    ----------
    concentration : float or array, default 1.0
        Prior weight of each label: one number, (classes, labels) or (classes, annotators, labels).
    num_labels : int, default 2
        Number of labels.

    Raises
    ------
    ValueError
        If a concentration is not positive and finite, or has another shape.
    """

    concentration: Hyperparameter = 1.0
    num_labels: int = field(default=2, metadata={"static": True})

    support: ClassVar[Any] = constraints.nonnegative_integer
    holds: ClassVar[str] = "a count 0, 1, 2, ..."
    positive: ClassVar[tuple[str, ...]] = ("concentration",)
    flat_prior: ClassVar[dict[str, float]] = {"concentration": 1.0}
    sparse: ClassVar[bool] = True
    _story: ClassVar[tuple[str, ...]] = ("Annotations(prob)", "prob ~ Dirichlet({concentration})")

    def spread(self, num_classes: int, names: tuple, sizes: tuple[int, ...]) -> list[tuple[Any, Self]]:
        num_annotators, left = divmod(len(names), self.num_labels)
        numbers = np.asarray(self.concentration, dtype=np.float64)
        shape = num_classes, num_annotators, self.num_labels
        if left or numbers.shape not in {(), (num_classes, self.num_labels), shape}:
            raise ValueError(
                f"concentration has shape {numbers.shape}: give one number, an array of shape "
                f"{(num_classes, self.num_labels)} (classes, labels), or one of shape {shape} (classes, annotators, "
                "labels)"
            )
        if numbers.ndim == 2:
            numbers = numbers[:, None]
        return [(range(len(names)), replace(self, concentration=np.broadcast_to(numbers, shape)))]

    def axes(
        self, parameter: str, columns: tuple[Any, ...], categories: tuple[tuple[Any, ...], ...]
    ) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        annotators = tuple(annotator for annotator, _ in columns[:: self.num_labels])
        return ("annotator", annotators), ("label", tuple(label for _, label in columns[: self.num_labels]))

    def prior(self, sample: Sample) -> dict[str, Any]:
        return {"prob": sample("prob", dist.Dirichlet(self.concentration))}

    def likelihood(self, prob: Any) -> dist.Distribution:
        return AnnotationCounts(prob)

    def likelihood_of_observed(self, observed: Any, **parameters: Any) -> dist.Distribution:
        # A missing cell comes as a zero: the annotator does not give the label.
        return self.likelihood(**parameters)

    def statistics(self, x: Any, membership: np.ndarray) -> Counts:
        n = membership.sum(axis=0)[:, None]
        total = class_sums(filled(x), membership).reshape(len(n), -1, self.num_labels)
        return Counts(n, total, 0.0 * n)

    def possible(self, statistics: Counts) -> Any:
        empty = statistics.total.sum(axis=(-1, -2))[..., None] == 0
        return (statistics.n >= 0) & (empty | (statistics.n > 0)) & (statistics.total >= 0).all(axis=(-1, -2))[:, None]

    def log_likelihood(self, parameters: Parameters, statistics: Counts) -> Any:
        return times(statistics.total, log_of(parameters, "prob")).sum(axis=(-1, -2))[..., None]

    def update(self, statistics: Counts) -> Self:
        return replace(self, concentration=self.concentration + statistics.total)

    def log_evidence(self, statistics: Counts) -> Any:
        return dirichlet_log_evidence(self.concentration, statistics.total).sum(axis=-1)[..., None]

    def mode(self) -> dict[str, Any]:
        return {"prob": dirichlet_mode(self.concentration)}

    def maximum_a_posteriori(self, statistics: Counts) -> dict[str, Any]:
        return {"prob": dirichlet_mode(self.concentration, statistics.total)}

    def maximum_likelihood(self, statistics: Counts) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            return {"prob": statistics.total / statistics.total.sum(axis=-1, keepdims=True)}

    def densities_of_rows(self, parameters: Parameters, x: Any, *, ratio: bool = False) -> Callable[[slice], Any]:
        log_prob = log_of(parameters, "prob")
        *leading, num_classes, _, _ = log_prob.shape
        if isinstance(x, jax.Array):
            cells, log_prob = jnp.nan_to_num(x.astype(jnp.float64)), log_prob.reshape(num_classes, -1)
            return lambda rows: times(cells[rows][:, None], log_prob).sum(axis=-1)
        weights, cells = Weights.of(np.asarray(log_prob).reshape(-1, x.shape[1])), filled(x)

        def of_rows(rows: slice) -> np.ndarray:
            sums = weights.of_rows(cells[rows])
            return np.swapaxes(sums.reshape(*leading, num_classes, sums.shape[-1]), -1, -2)

        return of_rows

    def row_log_predictive(self, x: Any, *, ratio: bool = False) -> Any:
        if isinstance(x, jax.Array):
            weights = jnp.asarray(self.concentration)
            cells = jnp.nan_to_num(x.astype(jnp.float64)).reshape(len(x), 1, -1, self.num_labels)
            in_all = log_rising(weights.sum(axis=-1), cells.sum(axis=-1)).sum(axis=-1)
            return log_rising(weights, cells).sum(axis=(-1, -2)) - in_all
        labels = scipy.sparse.csr_array(filled(x))
        annotator = np.arange(x.shape[1]) // self.num_labels
        of_annotators = scipy.sparse.csr_array((np.ones(x.shape[1]), (np.arange(x.shape[1]), annotator)))
        concentration = np.asarray(self.concentration)
        given = Documents.of(labels).sum_log_rising(concentration.reshape(len(concentration), -1))
        return given - Documents.of(labels @ of_annotators).sum_log_rising(concentration.sum(axis=-1))
