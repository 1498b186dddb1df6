"""A model with the statistics of its data: all that any inference reads."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np

from bayesnb.arrays import in_float64, to_numpy
from bayesnb.blocks.block import Block
from bayesnb.blocks.class_prior import ClassPrior
from bayesnb.blocks.statistics import ModelStatistics, log_evidence, updated
from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.hyperparameters import format_number
from bayesnb.model.bound import BoundModel
from bayesnb.model.inclusion import log_evidences, log_inclusion
from bayesnb.statistics.base import Statistics
from bayesnb.unlabelled import Unlabelled
from bayesnb.warn import warn

__all__ = ["Problem", "check_decay"]


@dataclass(frozen=True)
class Problem:
    """The input of an inference: a bound model and the statistics of its data.

    Attributes
    ----------
    model : BoundModel
        Bound, with hyperparameters as the user left them.
    statistics : ModelStatistics
        Those of the rows that have a label.
    learned_from : BoundModel or None
        The model with its hyperpriors, where the numbers of `model` were learned from data.
    unlabelled : Unlabelled or None
        The rows that have no label, where there are any.
    growing : bool
        Whether more rows may add categories. True if the fit itself found the categories that the model does not list,
        as a fit to all rows would. A model that was bound before the fit keeps its own categories.

    Raises
    ------
    TypeError
        If the class of a family's statistics is not a pytree.
    """

    model: BoundModel
    statistics: ModelStatistics
    learned_from: BoundModel | None = None
    unlabelled: Unlabelled | None = None
    growing: bool = False

    def __post_init__(self) -> None:
        for block, counted in zip(self.model.blocks, self.statistics.blocks, strict=True):
            if jax.tree_util.all_leaves([counted]):
                name = type(counted).__name__
                raise TypeError(
                    f"{block.family.family_name}.statistics gives a {name}, whose arrays JAX does not know: put "
                    f"@jax.tree_util.register_dataclass above the class {name}"
                )

    @cached_property
    def resolved(self) -> BoundModel:
        """The model with every default set to the numbers used.

        Raises
        ------
        ValueError
            If a column lies too far from zero for its family.
        """
        model = self.model.resolve(ModelStatistics(self.statistics.classes, self.statistics_to_pool))
        for block, counted in zip(model.blocks, self.statistics.blocks, strict=True):
            if not model.hyperpriors:
                _refuse_far_from_zero(block, counted, model.schema.classes)
        rows = self.statistics.classes.n.sum()
        for block, lacking in zip(model.blocks, self.left_out_rows, strict=True):
            if lacking:
                warn(
                    f"{lacking:.6g} of {rows:.6g} rows lack a cell of {block.owner()}, and count for the other columns "
                    "alone: fill in the cells, or give each column its own family",
                    UserWarning,
                )
        return model

    @property
    def left_out_rows(self) -> tuple[float, ...]:
        """For each block, the weight of the rows that it does not count because they lack a cell."""
        rows = self.statistics.classes.n.sum()
        lacking = (
            rows - counted.n.sum() if block.family.whole_rows else 0.0  # type: ignore[attr-defined]
            for block, counted in zip(self.model.blocks, self.statistics.blocks, strict=True)
        )
        return tuple(float(weight) if weight > 1e-9 * rows else 0.0 for weight in lacking)

    @cached_property
    @in_float64
    def statistics_to_pool(self) -> tuple[Statistics, ...]:
        """Each block's statistics of all rows, also without a label; only their sum over the classes has a meaning."""
        if self.unlabelled is None:
            return self.statistics.blocks
        anywhere = np.outer(self.unlabelled.weights, np.eye(len(self.statistics.classes.n))[0])
        return (self.statistics + self.unlabelled.count(self.model, anywhere)).blocks

    @cached_property
    def follows(self) -> tuple[bool, ...]:
        """For each block, whether its prior has numbers that `on_scale_of` took from the data."""
        return tuple(map(_differ, self.model.families, self.resolved.families))

    @property
    def prior_saw(self) -> tuple[str, ...]:
        """Sources of the prior's numbers in the data; empty if all numbers were given.

        ``"labels"``: the class probabilities are the labels' frequencies; ``"scale"``: hyperparameters follow the scale
        of the columns; ``"maximised"``: hyperparameters maximise the evidence.
        """
        seen = {
            "labels": self.model.follows_labels,
            "scale": any(self.follows),
            "maximised": self.learned_from is not None,
        }
        return tuple(what for what, is_so in seen.items() if is_so)

    @property
    def conjugate(self) -> bool:
        """Whether every family has a closed form."""
        return self.model.conjugate

    def require_numbers(self) -> None:
        """Refuse a model some of whose hyperparameters are learned.

        Raises
        ------
        ValueError
        """
        ways = "nb.Gibbs() or nb.NUTS() for draws" if self.conjugate else "nb.NUTS() for draws"
        if self.conjugate and self.unlabelled is None:
            ways += ", nb.EmpiricalBayes() to maximise the evidence"
        for name, distribution in self.model.hyperpriors.items():
            raise ValueError(
                f"the hyperparameter {name!r} is learned, {format_number(distribution)}, which leaves no closed form: "
                f"use {ways}, or give a number"
            )

    def require_labels(self, what: str, remedy: str) -> None:
        """Refuse data some of whose rows have no label.

        Parameters
        ----------
        what : str
            What needs the labels.
        remedy : str

        Raises
        ------
        ValueError
        """
        if self.unlabelled is not None:
            number = self.unlabelled.weights.sum()
            rows = "1 row has" if number == 1 else f"{number:.12g} rows have"
            raise ValueError(f"{what} needs every label, and {rows} none: {remedy}")

    def require_every_feature(self, inference: str) -> None:
        """Refuse a model that averages over subsets of its features.

        Raises
        ------
        ValueError
        """
        if self.model.feature_inclusion is not None:
            raise ValueError(
                f"{inference} has a parameter for every class and no subsets of features to average over: fit a model "
                "with feature_inclusion by nb.Exact(), or leave it out"
            )

    @cached_property
    @in_float64
    def log_inclusion(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """For each block, log posterior probability that each feature depends on the class, and that it does not."""
        prior = self.resolved.inclusion
        assert prior is not None
        evidences = log_evidences(self.resolved.blocks, self.statistics)
        return tuple(log_inclusion(p, own - shared) for p, (own, shared) in zip(prior, evidences, strict=True))

    @cached_property
    @in_float64
    def posterior_families(self) -> tuple[ConjugateFamily, ...]:
        """Each block's family given the data; needs conjugate families."""
        return to_numpy(updated(self.resolved.class_prior, self.resolved.families, self.statistics)[1])

    @property
    def posterior_classes(self) -> ClassPrior:
        """The class prior given the data."""
        return self.resolved.class_prior.update(self.statistics.classes)

    @cached_property
    @in_float64
    def log_evidence(self) -> float:
        """Log density of the data, every parameter integrated out; needs conjugate families.

        Raises
        ------
        ValueError
            If rows have no label: the sum over all their labels has no closed form.
        """
        self.require_labels("log_evidence in closed form", "leave them out")
        prior = self.resolved
        if prior.inclusion is None:
            return float(log_evidence(prior.class_prior, prior.families, self.statistics))
        total = float(prior.class_prior.log_evidence(self.statistics.classes))
        with np.errstate(divide="ignore"):
            for p, (own, shared) in zip(prior.inclusion, log_evidences(prior.blocks, self.statistics), strict=True):
                total += float(np.logaddexp(np.log(p) + own, np.log1p(-p) + shared).sum())
        return total

    def add(self, statistics: ModelStatistics, *, decay: float = 1.0) -> "Problem":
        """The problem with more data, after the weights of the data so far were multiplied by `decay`.

        Raises
        ------
        ValueError
            If `decay` is not above 0 and at most 1.
        """
        return replace(self, statistics=self.statistics * check_decay(decay) + statistics)

    def take_away(self, statistics: ModelStatistics) -> "Problem":
        """The problem with data taken away.

        Raises
        ------
        ValueError
            If these data cannot have been among the problem's.
        """
        left = self.statistics - statistics
        remaining = left.classes.without_rounding(self.statistics.classes)
        classes = self.model.schema.classes.tolist()
        _refuse(remaining.n < 0, lambda c: f"class {classes[c]!r}")

        def cell(block: Block, c: int, j: int = 0) -> str:
            return f"{block.owner(j)} in class {classes[c]!r}"

        blocks = []
        for block, before, after in zip(self.model.blocks, self.statistics.blocks, left.blocks, strict=True):
            cleaned = after.without_rounding(before)
            _refuse(~np.asarray(block.family.possible(cleaned)), partial(cell, block))
            blocks.append(cleaned)
        problem = replace(self, statistics=ModelStatistics(remaining, tuple(blocks)))
        if not self.model.hyperpriors:
            for block, counted in zip(problem.resolved.blocks, blocks, strict=True):
                _refuse(_without_posterior(block, counted, len(classes)), partial(cell, block))
        return problem


def check_decay(decay: Any) -> float:
    """The factor for the weight of old data at an update.

    Raises
    ------
    ValueError
        If it is not a number above 0 and at most 1.
    """
    number = isinstance(decay, int | float | np.integer | np.floating) and not isinstance(decay, bool)
    if not (number and 0 < decay <= 1):
        raise ValueError(
            f"decay is {decay!r}: give a number above 0 and at most 1, the share of their weight that the data so far "
            "keep; 1 keeps all, and a new fit none"
        )
    return float(decay)


def _differ(one: Family, other: Family) -> bool:
    """Whether two families have different hyperparameters; a hyperparameter may be unset in one of them."""
    if one is other:
        return False
    mine, theirs = jax.tree.leaves(one), jax.tree.leaves(other)
    return len(mine) != len(theirs) or not all(map(np.array_equal, mine, theirs))


def _refuse_far_from_zero(block: Block, counted: Statistics, classes: np.ndarray) -> None:
    means = block.family.too_far_from_zero(counted)
    if means is None or np.isnan(means).all():
        return
    c, j = (int(axis[0]) for axis in np.nonzero(~np.isnan(means)))
    mean = means[c, j]
    way_out = block.family.nearer_zero.format(mean=mean)
    raise ValueError(
        f"column {block.labels[j]!r} in class {classes.tolist()[c]!r} has the mean {mean:.6g}, more than 1e12 standard "
        f"deviations from zero, which leaves its densities too few digits: {way_out}, here and where you "
        "predict"
    )


@in_float64
def _without_posterior(block: Block, counted: Statistics, num_classes: int) -> np.ndarray:
    """Which classes and columns have statistics that leave no posterior, shape (classes, columns).

    A family that does not define `possible` may give hyperparameters that no prior has, such as a negative rate.
    """
    family = block.family
    refused = np.zeros((num_classes, 1 if block.is_joint else len(block.labels)), dtype=bool)
    if isinstance(family, ConjugateFamily) and not _has_posterior(family, counted):
        for c, j in np.ndindex(refused.shape):
            at = (slice(c, c + 1),) if block.is_joint else (slice(c, c + 1), slice(j, j + 1))
            one, its_own = jax.tree.map(partial(_part, at), (family, counted))
            refused[c, j] = not _has_posterior(one, its_own)
    return refused


def _part(at: tuple[slice, ...], leaf: Any) -> Any:
    return leaf[at[: np.ndim(leaf)]]


def _has_posterior(family: ConjugateFamily, counted: Statistics) -> bool:
    try:
        to_numpy(family.update(counted))
    except ValueError:
        return False
    return True


def _refuse(impossible: np.ndarray, where: Callable[..., str]) -> None:
    if impossible.any():
        index = tuple(int(axis[0]) for axis in np.nonzero(impossible))
        raise ValueError(
            f"these rows were never among the data: without them, {where(*index)} would have statistics that no "
            "table has; "
            "forget only rows that were given to fit or update"
        )
