"""Naive Bayes in PyMC, on the sufficient statistics of each class, compiled by nutpie."""

from typing import Any

import numpy as np
import nutpie
import pymc as pm


def compiled(columns: dict[str, slice], X: np.ndarray, y: np.ndarray) -> Any:
    """The same model in PyMC with the same priors, compiled by nutpie."""
    n = np.bincount(y)
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(len(n)))
        pm.Multinomial("n", n.sum(), class_prob, observed=n)
        for kind, of_kind in columns.items():
            DECLARE[kind](X[:, of_kind], y, n[:, None])
    return nutpie.compile_pymc_model(model)


def sample(program: Any, seed: int) -> list[np.ndarray]:
    """Draws of every parameter, arrays of shape (4, 1000, ...)."""
    found = nutpie.sample(program, draws=1000, chains=4, seed=seed, progress_bar=False).posterior
    return [found[name].to_numpy() for name in ("class_prob", *PARAMETERS) if name in found]


def by_class(of_rows: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A statistic of the rows of each class, shape (classes, columns, ...)."""
    return np.stack([of_rows(X[y == c]) for c in range(y.max() + 1)])


def bits(X: np.ndarray, y: np.ndarray, n: np.ndarray) -> None:
    ones = by_class(lambda rows: rows.sum(axis=0), X, y)
    prob = pm.Beta("bits_prob", 1, 1, shape=ones.shape)
    pm.Binomial("ones", np.broadcast_to(n, ones.shape), prob, observed=ones)


def reals(X: np.ndarray, y: np.ndarray, n: np.ndarray) -> None:
    import bayesnb as nb  # here, because how long nutpie takes in a fresh process is measured, too

    prior = nb.fit(nb.Gaussian(), X, y).model.families[0]
    cell_mean = by_class(lambda rows: rows.mean(axis=0), X, y)
    squares = n * by_class(lambda rows: rows.var(axis=0), X, y)
    variance = pm.InverseGamma("reals_variance", prior.concentration, prior.rate, shape=cell_mean.shape)
    mean = pm.Normal("reals_mean", prior.loc, pm.math.sqrt(variance / prior.kappa), shape=cell_mean.shape)
    around = squares + n * (cell_mean - mean) ** 2
    pm.Potential("cells", -0.5 * (n * pm.math.log(2 * np.pi * variance) + around / variance).sum())


def codes(X: np.ndarray, y: np.ndarray, n: np.ndarray) -> None:
    categories = np.arange(X.max() + 1)
    counts = by_class(lambda rows: (rows[..., None] == categories).sum(axis=0), X, y)
    prob = pm.Dirichlet("codes_prob", np.ones(counts.shape))
    pm.Multinomial("counts", np.broadcast_to(n, counts.shape[:2]), prob, observed=counts)


DECLARE = {"bits": bits, "reals": reals, "codes": codes}
PARAMETERS = ("bits_prob", "reals_mean", "reals_variance", "codes_prob")
