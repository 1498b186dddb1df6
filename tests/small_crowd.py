"""Four items, three annotators and two labels, all labellings of the items, and draws beside exact means."""

import itertools

import numpy as np
import pandas as pd
from arviz_stats.base import array_stats
from scipy.special import gammaln

CRITICAL_Z = 4.5
NAMES = {"item": "item", "annotator": "annotator", "label": "label"}
ITEMS, ANNOTATORS, LABELS = ["p", "q", "r", "s"], ["Ann", "Bob", "Cem"], ["x", "y"]
ALL_KNOWN = {"p": "x", "q": "y", "r": "y", "s": "y"}


def table(rows):
    return pd.DataFrame(rows, columns=list(NAMES))


SMALL = table(
    [
        ("p", "Ann", "x"),
        ("p", "Bob", "x"),
        ("p", "Cem", "y"),
        ("q", "Ann", "y"),
        ("q", "Bob", "y"),
        ("q", "Bob", "y"),
        ("r", "Cem", "x"),
        ("r", "Ann", "y"),
        ("s", "Cem", "y"),
    ]
)


def simulated(num_items, num_annotators, each, concentration, seed=0):
    """Annotations, the classes and the probabilities, all drawn from the prior."""
    rng = np.random.default_rng(seed)
    num_classes = len(concentration)
    class_prob = rng.dirichlet(np.ones(num_classes) * 5)
    prob = np.array([[rng.dirichlet(weights) for _ in range(num_annotators)] for weights in concentration])
    codes = rng.choice(num_classes, p=class_prob, size=num_items)
    rows = [
        (i, j, rng.choice(num_classes, p=prob[codes[i], j]))
        for i in range(num_items)
        for j in rng.choice(num_annotators, size=each, replace=False)
    ]
    return table(rows), codes, class_prob, prob


def log_dirichlet(after, prior):
    """Log of the ratio of the normalisers of Dirichlet distributions, the last axis in each, all together."""
    return (gammaln(after) - gammaln(prior)).sum() - (gammaln(after.sum(-1)) - gammaln(prior.sum(-1))).sum()


def labellings(known=None):
    """Classes of the items (items,) and counts (classes, annotators, labels), for all classes that `known` allows."""
    counts = np.zeros((len(ITEMS), len(ANNOTATORS), len(LABELS)))
    for item, annotator, label in SMALL.itertuples(index=False):
        counts[ITEMS.index(item), ANNOTATORS.index(annotator), LABELS.index(label)] += 1
    for codes in map(np.array, itertools.product(range(len(LABELS)), repeat=len(ITEMS))):
        if all(LABELS[codes[ITEMS.index(item)]] == label for item, label in (known or {}).items()):
            yield codes, np.stack([counts[codes == c].sum(axis=0) for c in range(len(LABELS))])


def z_scores(draws, expected):
    """Distances of the means of draws, shape (chains, draws, ...), from what is expected, in Monte Carlo errors."""
    series = draws.reshape(*draws.shape[:2], -1)
    error = array_stats.mcse(series, chain_axis=0, draw_axis=1, method="mean")
    return (series.mean(axis=(0, 1)) - np.ravel(expected)) / error
