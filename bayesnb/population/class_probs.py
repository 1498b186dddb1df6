"""The class probabilities of rows without labels, from another population than those of the fit."""

from typing import Any

import numpy as np

from bayesnb.core.running import random_generator
from bayesnb.population.mixture import ClassProbsDensity
from bayesnb.posterior.posterior import Posterior

NUM_CHAINS, NUM_DRAWS = 4, 1000


def likelihood_ratios(posterior: Posterior, X: Any) -> np.ndarray:
    """Densities of rows given each class, up to a factor of each row, shape (rows, classes).

    They are the class probabilities of a population in which all classes are equally probable.
    """
    num_classes = len(posterior.classes)
    return posterior.with_class_probs(np.full(num_classes, 1.0 / num_classes)).predict_proba(X)


def draw_class_probs(posterior: Posterior, X: Any, *, concentration: Any = 1.0, key: Any = 0) -> np.ndarray:
    """Draws of the class probabilities of the population that rows without labels are from, the fit taken as known.

    Parameters
    ----------
    posterior : Posterior
    X : table, shape (rows, columns)
    concentration : float or array of shape (classes,), default 1.0
        Of the Dirichlet prior.
    key : int or JAX key, default 0

    Returns
    -------
    array, shape (chain, draw, classes)
        Independent draws.
    """
    ratios = likelihood_ratios(posterior, X)
    prior = np.broadcast_to(np.asarray(concentration, dtype=np.float64), ratios.shape[1:])
    drawn = ClassProbsDensity.of(ratios, prior).draw(NUM_CHAINS * NUM_DRAWS, random_generator(key))
    return drawn.reshape(NUM_CHAINS, NUM_DRAWS, -1)
