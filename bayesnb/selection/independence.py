"""Estimate and test of each column's mutual information with the class, given the data and not the prior."""

from typing import Any

import numpy as np
from scipy.special import chdtr, chdtrc, chndtrinc, ndtr

from bayesnb.blocks.block import Block
from bayesnb.selection.information_draws import family_of_each_column, information, labels_of_information

__all__ = ["information_in_data"]

LARGEST_STATISTIC = 1e4
"""Chi-squared statistic above which Sankaran's approximation of the noncentral distribution is used, to 1e-7."""

HALVINGS = 80


def information_in_data(block: Block, statistics: Any, prob: float) -> dict[str, np.ndarray]:
    """Estimate, interval and p-value of a block's columns, in nats.

    Parameters
    ----------
    block : Block
    statistics : Statistics
        Of the labelled rows.
    prob : float
        Probability of the interval.

    Returns
    -------
    dict of array, shape (columns,)
        ``estimate``, ``lower``, ``upper`` and ``p_value``, as `mutual_information` says.
    """
    try:
        total, plug_in, df, expected = _beside_chance(block, statistics)
    except NotImplementedError:
        return dict.fromkeys(
            ("estimate", "lower", "upper", "p_value"), np.full(len(labels_of_information(block)), np.nan)
        )
    # With one class or one value there is nothing to compare: no information, and no interval.
    known = (total > 0) & ~np.isnan(plug_in)
    compared = known & (df > 0)
    nothing = np.where(known, 0.0, np.nan)
    total, df, expected = (np.where(compared, values, 1.0) for values in (total, df, expected))
    statistic = df * np.maximum(plug_in, 0.0) / expected

    def end(level: float) -> np.ndarray:
        largest = np.log(max(np.shape(statistics.n)[0], 1))
        found = np.minimum(noncentrality(statistic, df, level) / (2 * total), largest)
        return np.where(compared, found, np.nan)

    return {
        "estimate": np.where(compared, np.maximum(plug_in - expected, 0.0), nothing),
        "lower": end((1 + prob) / 2),
        "upper": end((1 - prob) / 2),
        "p_value": np.where(compared, chdtrc(df, statistic), 1 + nothing),
    }


def _beside_chance(block: Block, statistics: Any) -> tuple[np.ndarray, ...]:
    """Observed cells, information at the maximum of the likelihood, and its df and expectation without dependence.

    Raises
    ------
    NotImplementedError
        If the family defines no maximum.
    """
    family = family_of_each_column(block)
    counted = block.family.statistics_of_each_column(statistics)
    parameters = family.maximum_likelihood(counted)
    if parameters is None:
        raise NotImplementedError
    weight, parameters = _where_known(np.asarray(counted.n), parameters)
    total = weight.sum(axis=0)
    share = weight / np.where(total > 0, total, 1.0)
    plug_in = information(block, slice(None), share[None], {name: value[None] for name, value in parameters.items()})[0]
    return total, plug_in, *family.information_by_chance(weight, counted)


def _where_known(n: np.ndarray, parameters: dict[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Weights of the classes whose likelihood has a maximum, and parameters, finite in the other classes too."""
    values = {name: np.asarray(value) for name, value in parameters.items()}
    known = n > 0
    for value in values.values():
        known = known & np.isfinite(value).reshape(*n.shape, -1).all(axis=-1)
    weight = np.where(known, n, 0.0)
    # A class without weight adds nothing for any parameters.
    heaviest = weight.argmax(axis=0)
    filled = {}
    for name, value in values.items():
        own = value[heaviest, np.arange(n.shape[1])][None]
        filled[name] = np.where(known.reshape(*n.shape, *[1] * (value.ndim - 2)), value, own)
    return weight, filled


def noncentrality(statistic: np.ndarray, df: np.ndarray, level: float) -> np.ndarray:
    """Noncentrality for which a chi-squared distribution has a given probability below a value; zero if none has.

    Parameters
    ----------
    statistic, df : array
    level : float

    Returns
    -------
    array
    """
    found = np.zeros(np.shape(statistic))
    some = chdtr(df, statistic) > level
    near = some & (statistic <= LARGEST_STATISTIC)
    found[near] = chndtrinc(statistic[near], df[near], level)
    far = some & ~near
    found[far] = _far_noncentrality(statistic[far], df[far], level)
    return found


def _far_noncentrality(x: np.ndarray, df: np.ndarray, level: float) -> np.ndarray:
    """As `noncentrality`, for large values, by the approximation of Sankaran (1963), *Biometrika* 50, 199-204."""
    low, high = np.zeros(x.shape), x + 20 * np.sqrt(x) + 100
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        both = df + middle
        h = 1 - 2 * both * (df + 3 * middle) / (3 * (df + 2 * middle) ** 2)
        p, m = (df + 2 * middle) / both**2, (h - 1) * (1 - 3 * h)
        mean = 1 + h * p * (h - 1 - 0.5 * (2 - h) * m * p)
        below = ndtr(((x / both) ** h - mean) / (h * np.sqrt(2 * p) * (1 + 0.5 * m * p))) > level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
