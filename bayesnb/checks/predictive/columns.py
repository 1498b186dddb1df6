"""Frequencies of classes, and means, variances and shares of zeros of columns by class."""

from collections.abc import Callable, Sequence

import numpy as np
from numpyro.distributions import constraints

from bayesnb.blocks.block import Block
from bayesnb.checks.predictive.replicates import Rows
from bayesnb.checks.predictive.statistic import Statistic, blocks_where, dense, ratio
from bayesnb.model.bound import BoundModel

__all__ = ["class_frequency", "mean", "of_columns", "variance", "zero_share"]

TRY_ANOTHER_PRIOR = "try another prior, or another family for the column"
OTHER_FAMILIES = {
    "Histogram": "nb.Histogram() for measurements of any shape",
    "Hurdle": "nb.Hurdle() for many zeros",
    "NegativeBinomial": "nb.NegativeBinomial() for counts that spread widely",
}
"""What to try, by the name of the family."""


def try_another_family(block: Block) -> str:
    """What to do about a column whose spread or zeros the family does not have: the other families."""
    others = ", ".join(text for name, text in OTHER_FAMILIES.items() if name != block.family.family_name)
    return f"try another family for the column ({others}), or another prior"


def class_frequency(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic:
    """Share of the rows, by class."""
    return Statistic(
        [f"class_frequency[{label}]" for label in data.labels.classes],
        lambda rows: rows.class_counts / len(rows.labels.codes),
        "learn the class probabilities (leave class_probs out), or lower class_concentration",
        fitted=True,
    )


def mean(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """Mean of each column of numbers, by class."""
    blocks = blocks_where(model, lambda block: block.family.cell == "number")
    return of_columns("mean", blocks, data, _means, lambda block: TRY_ANOTHER_PRIOR, fitted=lambda block: True)


def variance(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """Variance of each column of numbers other than 0/1, by class."""
    blocks = blocks_where(model, lambda block: block.family.cell == "number" and not block.is_binary)
    return of_columns("variance", blocks, data, _variances, try_another_family, fitted=_has_free_variance)


def _has_free_variance(block: Block) -> bool:
    """Whether the family can fit the variance beside the mean, which a single parameter cannot."""
    return len(block.family.parameter_names()) > 1 or bool(block.family.parameter_axes)


def zero_share(model: BoundModel, data: Rows, rng: np.random.Generator) -> Statistic | None:
    """Share of zeros of each column of counts, by class."""
    blocks = blocks_where(model, _holds_counts)
    return of_columns("zero_share", blocks, data, _zero_shares, try_another_family)


def _holds_counts(block: Block) -> bool:
    return block.family.cell == "number" and block.family.support is constraints.nonnegative_integer


def of_columns(
    name: str,
    blocks: Sequence[tuple[int, Block]],
    data: Rows,
    of_block: Callable[[np.ndarray, np.ndarray], np.ndarray],
    next_step: Callable[[Block], str],
    *,
    fitted: Callable[[Block], bool] = lambda block: False,
) -> Statistic | None:
    """A statistic of every column in every class.

    Parameters
    ----------
    name : str
    blocks : sequence of (int, Block)
    data : Rows
    of_block : callable
        Gives an array (classes, columns) from the cells of a block and the membership (rows, classes).
    next_step : callable
        What to do if a column of a block is extreme.
    fitted : callable
        Whether the family of a block fits the statistic; as for `Line`.
    """
    if not blocks:
        return None

    def values(rows: Rows) -> np.ndarray:
        return np.concatenate([of_block(dense(rows.cells[i]), rows.labels.membership).T.ravel() for i, _ in blocks])

    places = [(block, column, label) for _, block in blocks for column in block.labels for label in data.labels.classes]
    labels = [f"{name}[{column}, {label}]" for _, column, label in places]
    return Statistic(
        labels,
        values,
        [next_step(block) for block, _, _ in places],
        fitted=[fitted(block) for block, _, _ in places],
    )


def _means(x: np.ndarray, membership: np.ndarray) -> np.ndarray:
    seen = ~np.isnan(x)
    return ratio(membership.T @ np.where(seen, x, 0.0), membership.T @ seen)


def _variances(x: np.ndarray, membership: np.ndarray) -> np.ndarray:
    seen = ~np.isnan(x)
    centre = np.nan_to_num(_means(x, membership))
    squares = np.where(seen, x - centre[membership.argmax(axis=1)], 0.0) ** 2
    return ratio(membership.T @ squares, membership.T @ seen - 1.0)


def _zero_shares(x: np.ndarray, membership: np.ndarray) -> np.ndarray:
    return ratio(membership.T @ (x == 0), membership.T @ ~np.isnan(x))
