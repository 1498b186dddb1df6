"""Log densities of features given the other rows, by importance sampling over draws."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import logsumexp

from bayesnb.checks.left_out_fixed_prior import LabelledRows
from bayesnb.model.inclusion import features_of
from bayesnb.posterior.log_mean import pieces_of_rows
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.reading.cells import Cells

__all__ = ["sampled_features"]


def sampled_features(
    posterior: SampledPosterior,
) -> Callable[[Cells, LabelledRows], Iterator[tuple[slice, int, int, np.ndarray]]]:
    """Log density of each feature given the other rows, estimated from draws given all rows.

    A row changes the parameters of its own class alone. The density of its cell there is a mean over draws with weights
    in proportion to 1 / p(x_ij | theta), smoothed (Vehtari, Simpson, Gelman, Yao and Gabry 2024, *Journal of Machine
    Learning Research* 25). Under the other classes it is the mean over all draws.

    Returns
    -------
    callable
        Maps cells and rows to tuples: some of the rows, the positions of a block and of a feature in it, and the log
        densities, shape (rows, classes).
    """
    blocks = posterior.model.blocks

    def of_features(chunk: Cells, some: LabelledRows) -> Iterator[tuple[slice, int, int, np.ndarray]]:
        for i, (block, x) in enumerate(zip(blocks, chunk, strict=True)):
            for j, _ in enumerate(features_of(block)):
                under_draws = posterior.feature_under_draws(i, j, x)
                for rows in pieces_of_rows(len(some)):
                    yield rows, i, j, _without(under_draws(rows), some.codes[rows])

    return of_features


def _without(densities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Log densities given the other rows, shape (rows, classes), from those under draws (draws, rows, classes)."""
    found = logsumexp(densities, axis=0) - np.log(len(densities))
    own = np.ascontiguousarray(densities[:, np.arange(len(codes)), codes].T)
    varies = own.max(axis=-1) > own.min(axis=-1)  # a missing cell has density one under all draws
    # A closed form does without ArviZ, whose import takes a second.
    from arviz_stats.base import array_stats

    # ArviZ takes log likelihoods and changes their sign.
    log_weights, _ = array_stats.psislw(own[varies])
    found[np.flatnonzero(varies), codes[varies]] = logsumexp(log_weights + own[varies], axis=-1)
    return found
