"""Log densities of features given the other rows, averaged over whether the feature depends on the class."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bayesnb.blocks.block import Block
from bayesnb.checks.left_out_data_prior import refits
from bayesnb.checks.left_out_fixed_prior import LabelledRows, given_the_rest
from bayesnb.model.inclusion import log_evidences, log_inclusion
from bayesnb.posterior.averaged import AveragedPosterior
from bayesnb.reading.cells import Cells
from bayesnb.sparse import dense

__all__ = ["averaged_features"]


def averaged_features(
    posterior: AveragedPosterior,
) -> Callable[[Cells, LabelledRows], Iterator[tuple[slice, int, np.ndarray]]]:
    """Log density of each feature given the other rows, its two hypotheses averaged.

    Returns
    -------
    callable
        Maps cells and rows to tuples: some of the rows, the position of a block, and the log densities of its features
        in these rows, shape (rows, classes, features).
    """
    inclusion, counted = posterior.model.inclusion, posterior.problem.statistics
    assert inclusion is not None
    evidences = log_evidences(posterior.model.blocks, counted)

    def of_features(chunk: Cells, some: LabelledRows) -> Iterator[tuple[slice, int, np.ndarray]]:
        for i, (x, prior) in enumerate(zip(chunk, inclusion, strict=True)):
            statistics = counted.blocks[i]
            block = posterior.problem.model.blocks[i]
            if posterior.problem.follows[i] or block.family.couples_classes:
                hypotheses = _refitted_hypotheses(block, statistics, x, some)
            else:
                hypotheses = _hypotheses(posterior, i, np.subtract(*evidences[i]), x, some)
            for piece, log_bayes_factor, of_classes, of_all in hypotheses:
                log_in, log_out = log_inclusion(prior, log_bayes_factor)
                yield piece, i, np.logaddexp(log_in[:, None] + of_classes, (log_out + of_all)[:, None])

    return of_features


type Hypotheses = Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]
"""Some rows; the log Bayes factor of the rest (rows, columns); and the log densities of the cells given the rest, under
each class's parameter (rows, classes, columns), and under one that all classes share (rows, columns)."""


def _refitted_hypotheses(block: Block, statistics: Any, x: Any, rows: LabelledRows) -> Hypotheses:
    for piece, refit in refits(block, statistics, x, rows):
        yield piece, refit.log_bayes_factor(), refit.of_classes(), refit.of_all_together()


def _hypotheses(
    posterior: AveragedPosterior, i: int, log_bayes_factor: np.ndarray, x: Any, rows: LabelledRows
) -> Hypotheses:
    """As `_refitted_hypotheses`, for block i, whose prior has the same numbers for all rows.

    Under either hypothesis, the evidence of the rest is the evidence of all data divided by the row's density given the
    rest. The Bayes factor without a row therefore takes one division.
    """
    block, family, statistics = posterior.model.blocks[i], posterior.families[i], posterior.problem.statistics.blocks[i]
    together = replace(block, family=block.family.take(slice(0, 1)))
    nobody = replace(rows, codes=np.zeros_like(rows.codes))
    for (piece, own), (_, of_all) in zip(
        given_the_rest(block, statistics, x, rows),
        given_the_rest(together, statistics.pooled(), x, nobody),
        strict=True,
    ):
        of_classes = (
            np.array(family.row_log_predictive(x[piece]))[..., None]
            if block.is_joint
            else family.cells_log_predictive(dense(x[piece]))
        )
        of_classes[np.arange(len(own)), rows.codes[piece]] = own
        yield piece, log_bayes_factor - (own - of_all), of_classes, of_all
