"""The density of rows together with each class, the parameters integrated out, for NumPy and for JAX.

A density is a sum over blocks of columns. Posteriors differ in what a block is (a closed form or given parameters), in
whether the mean over draws is taken, and in whether features have weights.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, logsumexp

from bayesnb.core.arrays import log
from bayesnb.core.deferred import in_float64, jax, jnp, map_tree, pytree
from bayesnb.core.plain_formulas import log_correction, mixed
from bayesnb.core.running import results_in_order
from bayesnb.families.conjugate import cells_log_predictive, stated_scorer
from bayesnb.families.family import Family, JointFamily, column_family, parameters_of_column
from bayesnb.families.kernels import times
from bayesnb.model.blocks import summed
from bayesnb.model.bound import BoundModel
from bayesnb.model.feature_weights import FeatureWeights
from bayesnb.model.prior import ModelParameters
from bayesnb.model.reading import Cells, Chunks
from bayesnb.posterior.under_draws import flatten, log_sum, pieces_of_rows

# --------------------------------------------------------------------------------------------------
# The density of the cells of a block of columns
# --------------------------------------------------------------------------------------------------


@pytree
class Integrated:
    """A block whose parameters are integrated out in closed form; the other kinds of blocks have its methods."""

    family: Any

    varies: ClassVar[str] = "family"
    """The field that gets an axis of draws in a mean over draws."""

    def scorer(self) -> Any:
        """What the family states for a `Scorer`; None if it states nothing."""
        return stated_scorer(self.family)

    def of_rows(self, x: Any, *, ratio: bool = False) -> Any:
        """Log density of each row under each class, NumPy or JAX, shape (rows, classes).

        With `ratio`, a term of each row that all classes share may be left out.
        """
        return self.family.row_log_predictive(x, ratio=ratio)

    def column(self, j: int) -> "Integrated":
        """The block of one column."""
        return Integrated(column_family(self.family, j))

    def features_in_jax(self, x: Any) -> Any:
        """Log density of each feature, for JAX, shape (rows, classes, features)."""
        joint = isinstance(self.family, JointFamily)
        return self.of_rows(x)[..., None] if joint else cells_log_predictive(self.family, x)


@pytree
class WithParameters:
    """A block whose parameters are given, or drawn.

    Attributes
    ----------
    family : Family
    parameters : mapping
    num_leading : int
        Number of axes before that of the classes: one for draws.
    """

    family: Family
    parameters: dict[str, Any]
    num_leading: int = field(default=0, metadata={"static": True})

    varies: ClassVar[str] = "parameters"

    def scorer(self) -> None:
        """Nothing: families state constants of densities with the parameters integrated out."""

    def of_rows(self, x: Any, *, ratio: bool = False) -> Any:
        return self.family.row_log_likelihood(self.parameters, x, ratio=ratio)

    def column(self, j: int) -> "WithParameters":
        values = parameters_of_column(self.parameters, j, self.num_leading)
        return WithParameters(column_family(self.family, j), values, self.num_leading)

    def block_of_class(self, c: int) -> "WithParameters":
        """The block with the draws of one class."""
        return replace(self, parameters={name: value[:, c : c + 1] for name, value in self.parameters.items()})

    def density_under_draws(self, x: Any) -> Callable[[slice], np.ndarray]:
        """Log density under each draw, a function of rows (draws, rows, classes)."""
        return self.family.densities_of_rows(self.parameters, x)

    def features_in_jax(self, x: Any) -> Any:
        """Log of the mean over draws of the density of each feature."""
        if isinstance(self.family, JointFamily):
            return self.mean_in_jax(x)[..., None]
        return jnp.stack([self.column(j).mean_in_jax(x[:, j : j + 1]) for j in range(x.shape[1])], axis=-1)

    def mean_in_jax(self, x: Any) -> Any:
        """Log of the mean over draws of the density of each row, for JAX."""
        return _log_mean(lambda values: replace(self, parameters=values).of_rows(x), self.parameters)


# --------------------------------------------------------------------------------------------------
# The joint density of rows and classes
# --------------------------------------------------------------------------------------------------


class LabelDensity(ABC):
    """A density of encoded rows and classes that gives class probabilities."""

    def chunks(self, chunks: Chunks) -> Chunks:
        """Chunks of a table as the density reads them, given those of the model's blocks."""
        return chunks

    @abstractmethod
    def log_ratio(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Two terms that sum to log joint densities plus a number for each row, which cancels in class probabilities.

        Returns
        -------
        tuple of array, shapes (classes,) and (rows, classes)
        """

    @abstractmethod
    def features(self, cells: Cells) -> Callable[[int, int, Any], np.ndarray]:
        """Log densities of single features under each class, as `RowDensity.feature`, in rows whose cells are given.

        Returns
        -------
        callable
            Of block, feature and cells of the block; these may be others where they are counts of words.
        """


@dataclass(frozen=True)
class RowDensity(LabelDensity):
    """Densities of encoded rows together with each class: the sum over blocks.

    Attributes
    ----------
    log_class_prob : array, shape (classes,)
    blocks : sequence of Integrated or WithParameters
    """

    log_class_prob: np.ndarray
    blocks: Sequence[Any]

    rest: ClassVar[str] = ""
    """Why features contribute more together than alone; empty if their log densities add up."""

    is_sum: ClassVar[bool] = True
    """Whether the density of a row is a function of the sum of what `feature` gives."""

    feature_by_feature: ClassVar[Any] = False
    """Whether the density of a row is computed so. Blocks of columns together are faster than a flat form."""

    def weight(self, i: int, j: int) -> float:
        """The weight of feature `j` of block `i`."""
        return 1.0

    @in_float64
    def log_joint(self, cells: Cells) -> np.ndarray:
        """Log p(x, y=c | data) of encoded rows, shape (rows, classes)."""
        blocks = zip(self.blocks, cells, strict=True)
        return self.log_class_prob + summed(block.of_rows(x) for block, x in blocks)

    @in_float64
    def log_ratio(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        blocks = zip(self.blocks, cells, strict=True)
        return self.log_class_prob, summed(block.of_rows(x, ratio=True) for block, x in blocks)

    def features(self, cells: Cells) -> Callable[[int, int, Any], np.ndarray]:
        return self.feature

    @in_float64
    def feature(self, i: int, j: int, x: Any) -> np.ndarray:
        """Log density of a feature of block `i` under each class, the parameters integrated out, shape (rows, classes).

        Parameters
        ----------
        i : int
            Position of the block.
        j : int
            Position of the column in the block; zero for a joint block, which is one feature.
        x : array or CSR array, shape (rows, columns)
            Cells of the block.
        """
        block, cells = self._feature(i, j, x)
        return np.asarray(block.of_rows(cells))

    def feature_density(self, i: int, j: int, x: Any) -> np.ndarray:
        """Density of a feature's cells in a row without any other cell, shape (rows, classes); parameters as above."""
        return np.exp(self.feature(i, j, x))

    def _feature(self, i: int, j: int, x: Any) -> tuple[Any, Any]:
        """The block of a feature alone, and its cells."""
        block = self.blocks[i]
        if isinstance(block.family, JointFamily) or x.shape[1] == 1:
            return block, x
        return block.column(j), x[:, j : j + 1]

    @property
    def num_at_a_time(self) -> int:
        """Number of draws under which JAX has the density of a cell at a time; one without draws."""
        return 1 if self.log_class_prob.ndim == 1 else min(DRAWS, len(self.log_class_prob))

    def jax_density(self) -> tuple[Callable[[Any, Sequence[Any]], Any], Any]:
        """`log_joint` for JAX.

        Returns
        -------
        tuple of callable and pytree
            A pure function, and the arrays that are its first argument. Its second argument is the cells of each block,
            shape (rows, columns), all of them inside the support.
        """
        return _sum_of_blocks, (self.log_class_prob, list(self.blocks))


def _sum_of_blocks(arrays: tuple[Any, Sequence[Any]], cells: Sequence[Any]) -> Any:
    log_class_prob, blocks = arrays
    return sum((block.of_rows(x) for block, x in zip(blocks, cells, strict=True)), start=log_class_prob)


# --------------------------------------------------------------------------------------------------
# The mean over draws
# --------------------------------------------------------------------------------------------------

DRAWS = 64
"""Number of draws whose cell densities JAX holds in memory at a time."""


@dataclass(frozen=True)
class MeanOverDraws(RowDensity):
    """The mean of densities over draws of the parameters; log class probabilities have shape (draws, classes).

    Attributes
    ----------
    forms : RowDensity or None
        Closed forms given draws of the hyperparameters, axis of the draws first, over which the density of a whole row
        is averaged in place of the draws. A feature alone has the mean over the draws.
    """

    forms: RowDensity | None = None

    # The density of the whole row is averaged over the draws.
    rest: ClassVar[str] = "the features depend on each other through the uncertain parameters"
    is_sum: ClassVar[bool] = False

    @classmethod
    def of(cls, model: BoundModel, parameters: ModelParameters) -> "MeanOverDraws":
        """The mean over draws of a model's parameters, leading axes (chain, draw)."""
        draws = flatten(parameters)
        pairs = zip(model.families, draws.blocks, strict=True)
        return cls(
            log(draws.class_prob), [WithParameters(family, dict(values), num_leading=1) for family, values in pairs]
        )

    @in_float64
    def log_joint(self, cells: Cells) -> np.ndarray:
        return self._mean_of_draws(cells) if self.forms is None else _mean_of_forms(self.forms, cells)

    def _mean_of_draws(self, cells: Cells) -> np.ndarray:
        # One class and some rows at a time, so that no array of all draws, rows and classes is needed.
        num_draws, num_classes = self.log_class_prob.shape
        result = np.empty((cells[0].shape[0], num_classes))

        def pieces() -> Iterator[tuple[int, slice, list[Callable]]]:
            for c in range(num_classes):
                blocks = zip(self.blocks, cells, strict=True)
                densities = [block.block_of_class(c).density_under_draws(x) for block, x in blocks]
                yield from ((c, rows, densities) for rows in pieces_of_rows(len(result)))

        def put(piece: tuple[int, slice, list[Callable]]) -> None:
            c, rows, densities = piece
            joint = summed(of_rows(rows)[..., 0] for of_rows in densities) + self.log_class_prob[:, c, None]
            result[rows, c] = log_sum(joint)

        list(results_in_order(put, pieces()))
        return result - np.log(num_draws)

    def log_ratio(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(self.log_class_prob.shape[-1]), self.log_joint(cells)

    def feature_density(self, i: int, j: int, x: Any) -> np.ndarray:
        # Draws weigh their densities by the class probabilities, as in the density of a row over that without cells.
        under_draws, prob = self.feature_under_draws(i, j, x), np.exp(self.log_class_prob)
        pieces = [(np.exp(under_draws(rows)) * prob[:, None]).sum(axis=0) for rows in pieces_of_rows(x.shape[0])]
        with np.errstate(invalid="ignore"):
            return np.concatenate(pieces) / prob.sum(axis=0)

    def feature_under_draws(self, i: int, j: int, x: Any) -> Callable[[slice], np.ndarray]:
        """As `feature`, under each draw; a function of rows (draws, rows, classes)."""
        block, cells = self._feature(i, j, x)
        return block.density_under_draws(cells)

    @in_float64
    def feature(self, i: int, j: int, x: Any) -> np.ndarray:
        under_draws, num_draws = self.feature_under_draws(i, j, x), len(self.log_class_prob)
        pieces = [logsumexp(under_draws(rows), axis=0) - np.log(num_draws) for rows in pieces_of_rows(x.shape[0])]
        return np.concatenate(pieces) if pieces else np.empty((0, self.log_class_prob.shape[-1]))

    def jax_density(self) -> tuple[Callable[[Any, Sequence[Any]], Any], Any]:
        each: RowDensity = self.forms or self
        return _mean_of_sums, (each.log_class_prob, list(each.blocks))


def _mean_of_forms(forms: RowDensity, cells: Cells) -> np.ndarray:
    """Log of the mean over closed forms, axis of the draws first."""
    number = len(forms.log_class_prob)
    each = (map_tree(lambda leaf, s=s: leaf[s], tuple(forms.blocks)) for s in range(number))
    pairs = zip(forms.log_class_prob, each, strict=True)
    return logsumexp([RowDensity(*form).log_joint(cells) for form in pairs], axis=0) - np.log(number)


def _mean_of_sums(arrays: tuple[Any, Sequence[Any]], cells: Sequence[Any]) -> Any:
    log_class_prob, blocks = arrays

    def of_draw(draw: tuple[Any, Sequence[Any]]) -> Any:
        of_classes, values = draw
        drawn = [replace(block, **{block.varies: value}) for block, value in zip(blocks, values, strict=True)]
        return _sum_of_blocks((of_classes, drawn), cells)

    return _log_mean(of_draw, (log_class_prob, [getattr(block, block.varies) for block in blocks]))


def _log_mean(of_one: Callable[[Any], Any], many: Any) -> Any:
    """Log of the mean of exponentials of a function of each entry of a pytree's first axis."""
    # The backward pass recomputes the densities, so that only their sums are kept.
    found = jax.lax.map(jax.checkpoint(of_one), many, batch_size=DRAWS)
    return jax.scipy.special.logsumexp(found, axis=0) - np.log(len(found))


# --------------------------------------------------------------------------------------------------
# Weights of features
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightedDensity(RowDensity):
    """Product of the feature densities, each raised to its weight (see `mixed`).

    Attributes
    ----------
    log_class_prob : array, shape (classes,)
        Those of the rows from which the weights were learned, without offsets.
    unweighted : RowDensity
    weights : FeatureWeights
    positions : sequence of sequence of int
        For each block the positions of its features among the weights.
    log_given : array of shape (classes,), or None
        Log class probabilities of another population, if they are given. The odds are then multiplied by given / rows
        (prior correction; King and Zeng 2001, *Political Analysis* 9, 137-163).
    """

    unweighted: RowDensity
    weights: FeatureWeights
    positions: Sequence[Sequence[int]]
    log_given: np.ndarray | None = None

    rest: ClassVar[str] = (
        "with a small probability the cells of a row say nothing about its label, which bounds the log odds"
    )

    @property
    def feature_by_feature(self) -> bool:
        """Whether features have weights of their own, or the mean over draws of each is taken."""
        return not self.weights.shared or bool(self.unweighted.rest)

    @in_float64
    def log_joint(self, cells: Cells) -> np.ndarray:
        features = ((i, j, x) for i, x in enumerate(cells) for j, _ in enumerate(self.positions[i]))
        return self.joined(self.log_class_prob, summed(self.feature(*feature) for feature in features))

    def log_ratio(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        if self.feature_by_feature:
            density = self.log_joint(cells)
        else:
            _, of_features = self.unweighted.log_ratio(cells)
            density = self.joined(self.log_class_prob, times(self.weights.weight[0], of_features))
        return np.zeros(len(self.log_class_prob)), density

    def weight(self, i: int, j: int) -> float:
        return float(self.weights.weight[self.positions[i][j]])

    def feature(self, i: int, j: int, x: Any) -> np.ndarray:
        if self.weight(i, j) == 0:
            return np.zeros((x.shape[0], len(self.log_class_prob)))
        return self.weighed(i, j, self.unweighted.feature(i, j, x), self.log_class_prob)

    def weighed(self, i: int, j: int, log_density: np.ndarray, log_class_prob: np.ndarray) -> np.ndarray:
        """What log densities (rows, classes) of feature `j` of block `i` add to the log joint density of their rows."""
        density = mixed(log_density, log_class_prob, self.weights.no_information_in_feature)
        return times(self.weight(i, j), density)

    def joined(self, log_class_prob: np.ndarray, of_features: np.ndarray) -> np.ndarray:
        """Log joint densities of rows from log class probabilities and the sum of what `weighed` gives."""
        log_prior = log_softmax(log_class_prob + self.weights.offset, axis=-1)
        joint = log_prior + mixed(of_features, log_prior, self.weights.no_information)
        return joint + log_correction(self.log_given, log_class_prob)

    @property
    def num_at_a_time(self) -> int:
        return self.unweighted.num_at_a_time

    def jax_density(self) -> tuple[Callable[[Any, Sequence[Any]], Any], Any]:
        weights = self.weights
        log_prior = log_softmax(self.log_class_prob + weights.offset)
        shares = (share or None for share in (weights.no_information_in_feature, weights.no_information))
        of_blocks = [weights.weight[positions] for positions in self.positions]
        correction = log_correction(self.log_given, self.log_class_prob)
        blocks = list(self.unweighted.blocks)
        return _weighted_sum, (self.log_class_prob, log_prior, correction, *shares, of_blocks, blocks)


def _weighted_sum(arrays: tuple[Any, ...], cells: Sequence[Any]) -> Any:
    log_class_prob, log_prior, correction, in_feature, in_row, weights, blocks = arrays
    total = jnp.zeros_like(log_prior)
    for weight, block, x in zip(weights, blocks, cells, strict=True):
        by_feature = jnp.moveaxis(block.features_in_jax(x), 1, -1)
        total += (weight[:, None] * mixed(by_feature, log_class_prob, in_feature, jnp)).sum(axis=1)
    return log_prior + correction + mixed(total, log_prior, in_row, jnp)
