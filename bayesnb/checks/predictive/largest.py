"""Many numbers of a data set and of its replicates on one scale, and the largest of them."""

import numpy as np

__all__ = ["departures", "share_at_least"]

LEVELS = (0.025, 0.5, 0.975)

ROUNDING = 1e-9


def departures(values: np.ndarray, smallest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances from the median, relative to the spread on the same side of it.

    The spread is the distance between the median and the 2.5 % or the 97.5 % quantile. Median and quantiles are those
    of all data sets, the observed one included, so that it is treated as a replicate is.

    Parameters
    ----------
    values : array, shape (data sets, numbers)
        NaN where a data set does not define a number.
    smallest : array, shape (numbers,)
        Smallest spread.

    Returns
    -------
    departure : array, shape (data sets, numbers)
        NaN where the value is.
    above : array of bool, shape (data sets, numbers)
        Whether the value is above the median.
    """
    low, centre, high = _quantiles(values)
    above = values > centre
    scale = np.maximum(np.where(above, high - centre, centre - low), smallest)
    return np.abs(values - centre) / scale, above


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Quantiles over the data sets that define a number, shape (levels, numbers)."""
    found = np.quantile(values, LEVELS, axis=0)
    # Slow, and therefore only for numbers that some data sets leave undefined.
    some = np.isnan(found[1]) & ~np.isnan(values).all(axis=0)
    if some.any():
        found[:, some] = np.nanquantile(values[:, some], LEVELS, axis=0)
    return found


def share_at_least(observed: np.ndarray, replicated: np.ndarray) -> np.ndarray:
    """Share of the replicates whose largest number is at least each observed one, shape (observed,).

    Single-step p-values (Westfall and Young 1993, *Resampling-Based Multiple Testing*, section 2.3): under the model,
    the probability that any of them is below a threshold is about the threshold, for any number of them and any
    dependence between them.

    Parameters
    ----------
    observed : array, shape (numbers,)
    replicated : array, shape (replicates,)
        Largest number of each replicate.
    """
    if not len(replicated):
        return np.full(len(observed), np.nan)
    # Equal departures may differ by rounding.
    return (replicated >= observed[:, None] * (1 - ROUNDING)).mean(axis=1)
