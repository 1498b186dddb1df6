r"""Mutual information that is due to chance, if the cell does not depend on the class.

The estimate at the maximum of the likelihood is never negative, and noise makes it positive, so that its expectation
without dependence is positive. To first order it is df / (2 N), with df the parameters that dependence adds
and N the cells (Wilks 1938, *Annals of Mathematical Statistics* 9, 60-62); for tables it is known exactly.
"""

import numpy as np

__all__ = ["by_chance", "tables_by_chance"]

LARGEST_MEAN = 128.0
"""Up to this expected count the sum is over all values; above, four moments are used, to 1e-4 of the term."""


def by_chance(weight: np.ndarray, num_parameters: int) -> tuple[np.ndarray, np.ndarray]:
    """Degrees of freedom, and the expected mutual information to first order.

    Parameters
    ----------
    weight : array, shape (classes, columns)
        Observed cells of each class; classes without any do not count.
    num_parameters : int
        Parameters of one cell.

    Returns
    -------
    tuple of array, shape (columns,)
    """
    df = np.maximum((weight > 0).sum(axis=0) - 1, 0) * num_parameters
    return df, _first_order(df, weight.sum(axis=0))


def tables_by_chance(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Degrees of freedom and expected mutual information of tables with the given margins, without dependence.

    With margins a and b, each cell of the table is hypergeometric, and the expectation is

    .. math:: \sum_{ij} \sum_n P(n \mid a_i, b_j, N) \, \frac{n}{N} \log\frac{N n}{a_i b_j}.

    Weights that are not whole numbers have no hypergeometric distribution; such columns use df / (2 N).

    Parameters
    ----------
    counts : array, shape (classes, columns, categories)

    Returns
    -------
    tuple of array, shape (columns,)
        Classes and categories without any count do not count as degrees of freedom.
    """
    of_class, of_category = counts.sum(axis=-1), counts.sum(axis=0)
    total = of_class.sum(axis=0)
    df = np.maximum((of_class > 0).sum(axis=0) - 1, 0) * np.maximum((of_category > 0).sum(axis=-1) - 1, 0)
    expected = _first_order(df, total)
    whole = (counts == np.rint(counts)).all(axis=(0, 2)) & (df > 0)
    a, b, n = np.broadcast_arrays(of_class[:, whole, None], of_category[whole], total[whole, None])
    terms = np.zeros(a.shape)
    seen = (a > 0) & (b > 0)
    terms[seen] = _expected_terms(a[seen], b[seen], n[seen])
    expected[whole] = terms.sum(axis=(0, 2))
    return df, expected


def _first_order(df: np.ndarray, total: np.ndarray) -> np.ndarray:
    return df / (2 * np.where(total > 0, total, 1.0))


def _expected_terms(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Expectation of (n / N) log(N n / (a b)), n hypergeometric, shape (cells,)."""
    large = a * b / total > LARGEST_MEAN
    result = np.empty(a.shape)
    result[large] = _by_moments(a[large], b[large], total[large])
    result[~large] = _by_sum(a[~large], b[~large], total[~large])
    return result


def _by_moments(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    """With n = mean (1 + u), the term is mean / N times (1 + u) log(1 + u) = u + u²/2 - u³/6 + u⁴/12 - ..."""
    mean = a * b / total
    variance = mean * (total - a) * (total - b) / (total * (total - 1))
    third = variance * (total - 2 * a) * (total - 2 * b) / (total * (total - 2))
    return (variance / (2 * mean) - third / (6 * mean**2) + variance**2 / (4 * mean**3)) / total


def _by_sum(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Over all values of n one after the other, up to twelve standard deviations above the mean.

    Each probability is computed from the one before; in the end they are divided by their sum.
    """
    mean = a * b / total
    first = np.maximum(0.0, a + b - total)
    last = np.minimum(np.minimum(a, b), np.floor(mean + 12 * np.sqrt(mean) + 40))
    order = np.argsort(first - last, kind="stable")
    a, b, total, mean, n = (values[order] for values in (a, b, total, mean, first))
    steps = (last - first)[order]
    prob, whole, sums = np.ones(len(a)), np.zeros(len(a)), np.zeros(len(a))
    for step in range(int(steps.max(initial=-1)) + 1):
        # Cells with more values come first.
        on = slice(0, int(np.searchsorted(-steps, -step, side="right")))
        ratio = n[on] / mean[on]
        whole[on] += prob[on]
        sums[on] += prob[on] * ratio * np.log(np.where(ratio > 0, ratio, 1.0))
        prob[on] *= (a[on] - n[on]) * (b[on] - n[on]) / ((n[on] + 1) * (total[on] - a[on] - b[on] + n[on] + 1))
        n[on] += 1
    result = np.empty(len(a))
    result[order] = sums / whole * mean / total
    return result
