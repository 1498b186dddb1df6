"""Rows of trees in columns of every kind, the model of them and of each feature alone, and every kind of posterior."""

import numpy as np
import numpyro.distributions as dist
import pandas as pd

import bayesnb as nb
from bayesnb.model.feature_weights import SPREADS, FeatureWeights, NormalWeights
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem

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


def feature_weights(weight, offset, shared=False, seed=0, share=0.0):
    """Draws around given modes."""
    rng = np.random.default_rng(seed)
    weight, offset = np.asarray(weight, float), np.asarray(offset, float)
    factor = rng.gamma(20.0, 0.05, (2, 40, 1 if shared else len(weight)))
    return FeatureWeights(
        weight=weight,
        offset=offset,
        weight_draws=weight * factor,
        offset_draws=offset + 0.2 * rng.normal(size=(2, 40, len(offset))),
        spread_draws=None if shared else rng.choice(SPREADS, (2, 40)),
        num_rows=30,
        gaussian=NormalWeights.before_any_row(1 if shared else len(weight), len(offset)),
        no_information=share,
    )


SHAPES = np.array([[0.4, 0.7, 2.0], [0.9, 1.5, 5.0]])
OF_CLASSES = np.array([[[1.0, 2.0, 3.0]] * 3, [[4.0, 5.0, 0.5], [0.7, 0.7, 3.0], [2.0, 1.0, 1.0]]])
"""Two chains of three draws: the concentrations of the bark and of each class."""


def with_concentrations(bark, class_concentration):
    return nb.NaiveBayes(FEATURES | {"bark": nb.Categorical(bark)}, class_concentration=class_concentration)


def closed_forms(X, y):
    """The posterior given each draw of the concentrations."""
    draws = zip(SHAPES.ravel().tolist(), OF_CLASSES.reshape(6, 3), strict=True)
    return [nb.fit(with_concentrations(*draw), X, y) for draw in draws]


def collapsed(X, y):
    """Draws of two hyperparameters, those of the parameters from the closed form given each."""
    model = with_concentrations(dist.Gamma(2.0, 1.0), dist.Gamma(3.0, 1.0).expand([3])).bind(X, y)
    draws = [posterior.belief.draw(1, 1, k) for k, posterior in enumerate(closed_forms(X, y))]

    def stacked(arrays):
        return np.reshape(arrays, (2, 3, *arrays[0].shape[2:]))

    blocks = tuple(
        {name: stacked([draw.blocks[i][name] for draw in draws]) for name in block}
        for i, block in enumerate(draws[0].blocks)
    )
    learned = {"bark_concentration": SHAPES, "class_concentration": OF_CLASSES}
    parameters = ModelParameters(stacked([draw.class_prob for draw in draws]), blocks, learned)
    return nb.results.CollapsedPosterior(Problem(model, model.statistics(X, y)), model, parameters, {}, nb.NUTS())


OF_CLOSED_FORMS = ("exact", "averaged", "weighted", "shared", "weighted averaged")
OF_DRAWS = ("sampled", "collapsed", "weighted sampled")
POINTS = ("point", "known")
KINDS = (*OF_CLOSED_FORMS, *OF_DRAWS, *POINTS)
"""Names of the posteriors of `every_kind`."""


def every_kind(X, y):
    """A posterior of every kind given rows of trees, by name."""
    model = nb.NaiveBayes(FEATURES, class_concentration=[1.0, 2.0, 0.5])
    exact, each = nb.fit(model, X, y), feature_weights(WEIGHT, OFFSET, share=SHARE)
    averaged = nb.fit(nb.NaiveBayes(FEATURES, feature_inclusion=0.4), X, y)
    sampled = nb.from_samples(model, exact.draws(num_chains=2, num_draws=100, key=1), X=X, y=y)
    weighted = nb.results.WeightedPosterior
    return {
        "exact": exact,
        "averaged": averaged,
        "weighted": weighted(exact, each),
        "shared": weighted(exact, feature_weights(np.full(5, 0.6), OFFSET, shared=True, share=SHARE)),
        "weighted averaged": weighted(averaged, each),
        "sampled": sampled,
        "collapsed": collapsed(X, y),
        "weighted sampled": weighted(sampled, each),
        "point": nb.fit(model, X, y, nb.MLE()),
        "known": exact.plugin(),
    }
