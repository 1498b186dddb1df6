"""Rows of trees in columns of every kind, and the model of them and of each feature alone."""

import numpy as np
import pandas as pd

import bayesnb as nb

__all__ = ["ALONE", "CLASSES", "FEATURES", "OFFSET", "SHARE", "WEIGHT", "mixed_by_hand", "trees"]

CLASSES = ["ash", "fir", "oak"]
FEATURES = {
    "size": (nb.Gaussian(1.0, 0.3, 1.5, 0.8), ["height", "width"]),
    "bark": nb.Categorical(0.7),
    "moss": nb.Bernoulli(),
    "fallen": (nb.Multinomial(0.5), ["leaves", "cones", "twigs"]),
}
ALONE = {
    "fallen": ({"fallen": FEATURES["fallen"]}, ["leaves", "cones", "twigs"]),
    "height": ({"height": FEATURES["size"][0]}, ["height"]),
    "bark": ({"bark": FEATURES["bark"]}, ["bark"]),
    "moss": ({"moss": FEATURES["moss"]}, ["moss"]),
    "width": ({"width": FEATURES["size"][0]}, ["width"]),
}
"""A model of each feature, in the order of the table's columns."""

WEIGHT, OFFSET = np.array([0.7, 1.9, 0.0, 0.35, 1.2]), np.array([0.4, -0.3, 0.1])
"""Weights of the features and offsets of the classes."""

SHARE = 0.07
"""Probability that a feature of a row, or all of them, say nothing."""


def mixed_by_hand(log_density, class_probs, share):
    """Log densities (rows, classes) of a mixture with what is the same for all classes, row by row."""
    found = np.empty(log_density.shape)
    for row, density in enumerate(np.exp(log_density - log_density.max(axis=1, keepdims=True))):
        of_all = sum(p * d for p, d in zip(class_probs, density, strict=True))
        found[row] = [np.log((1 - share) * d + share * of_all) for d in density]
    return found + log_density.max(axis=1, keepdims=True)


def trees(rng, rows):
    """A frame with missing cells, and labels."""
    y = np.array(CLASSES)[rng.integers(0, 3, rows)]
    X = pd.DataFrame(
        {
            "leaves": rng.poisson(2.0, rows),
            "height": rng.normal(1.0, 1.0, rows) + (y == "fir"),
            "bark": rng.choice(["smooth", "rough", "flaky"], rows),
            "moss": rng.integers(0, 2, rows).astype(float),
            "width": rng.normal(1.0, 0.5, rows),
            "cones": rng.poisson(1.0 + 2.0 * (y == "fir")),
            "twigs": rng.poisson(0.5, rows),
        }
    )
    X.loc[1, ["height", "moss"]] = np.nan
    X.loc[2, "bark"] = None
    X.loc[3, ["leaves", "cones", "twigs"]] = 0
    return X, y
