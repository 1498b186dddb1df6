"""Sums over all ways to label a few rows."""

import itertools

import numpy as np
from scipy.special import gammaln


def moments_of_class_probs(ratios, concentration):
    """Mean and standard deviation of the class probabilities: a mixture of one Dirichlet for each labelling."""
    number, classes = ratios.shape
    total, mean, square = 0.0, 0.0, 0.0
    for codes in itertools.product(range(classes), repeat=number):
        count = np.bincount(codes, minlength=classes) + concentration
        weight = np.prod(ratios[range(number), codes]) * np.exp(gammaln(count).sum() - gammaln(count.sum()))
        total, mean = total + weight, mean + weight * count / count.sum()
        square = square + weight * count * (count + 1) / (count.sum() * (count.sum() + 1))
    mean = mean / total
    return mean, np.sqrt(square / total - mean**2)
