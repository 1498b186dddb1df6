"""The reference models in PyMC: a table, the model of its raw rows, and the density of new rows under a draw.

No closed form, no sufficient statistic and nothing of bayesnb is used here. Labels and categories are whole numbers,
a missing cell or label is None.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy import stats

Draw = dict[str, np.ndarray]


@dataclass(frozen=True)
class Reference:
    """One reference: what it is, its table, its model and the parameters that are recorded.

    Attributes
    ----------
    words : str
        The model as one would say it.
    table : callable
        Of a random generator; gives ``rows``, ``labels``, maybe ``weights``, and the ``new_rows`` to predict.
    model : callable
        Of the table; builds the PyMC model.
    parameters : tuple of str
    density : callable, optional
        Of a draw (parameters with one leading axis), a new row and a class: p(x, y=c | draw), shape (draws,).
    """

    words: str
    table: Callable[[np.random.Generator], dict[str, Any]]
    model: Callable[[dict[str, Any]], pm.Model]
    parameters: tuple[str, ...]
    density: Callable[[Draw, list, int], np.ndarray] | None = None


def with_gaps(cells: np.ndarray, gaps: np.ndarray) -> list[list]:
    """Rows as lists, None where a cell is missing."""
    return [
        [None if gap else cell for cell, gap in zip(row, holes, strict=True)]
        for row, holes in zip(cells.tolist(), gaps, strict=True)
    ]


def column(table: dict[str, Any], j: int) -> tuple[np.ndarray, np.ndarray]:
    """The observed cells of a column, and the labels of their rows."""
    seen = [i for i, row in enumerate(table["rows"]) if row[j] is not None]
    return np.array([table["rows"][i][j] for i in seen]), np.array(table["labels"])[seen]


def bernoulli_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(3, 36, p=[0.6, 0.3, 0.1])
    prob = np.array([[0.9, 0.5, 0.1, 0.3], [0.4, 0.5, 0.7, 0.3], [0.2, 0.9, 0.5, 0.6]])
    rows = (rng.random((36, 4)) < prob[labels]).astype(int)
    return {"rows": rows.tolist(), "labels": labels.tolist(), "new_rows": [[1, 0, 0, 1], [0, 1, 1, 0]]}


def bernoulli(table: dict[str, Any]) -> pm.Model:
    rows, labels = np.array(table["rows"]), np.array(table["labels"])
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", [2.0, 1.0, 0.5])
        prob = pm.Beta("prob", alpha=2.0, beta=0.5, shape=(3, 4))
        pm.Categorical("y", p=class_prob, observed=labels)
        pm.Bernoulli("x", p=prob[labels], observed=rows)
    return model


def bernoulli_density(draw: Draw, row: list, c: int) -> np.ndarray:
    cells = [stats.bernoulli.pmf(cell, draw["prob"][:, c, j]) for j, cell in enumerate(row)]
    return draw["class_prob"][:, c] * np.prod(cells, axis=0)


def categorical_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 30, p=[0.7, 0.3])
    small = np.array([rng.choice(3, p=p) for p in np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])[labels]])
    large = rng.choice(5, 30, p=[0.4, 0.3, 0.2, 0.1, 0.0])
    rows = with_gaps(np.column_stack([small, large]), rng.random((30, 2)) < 0.15)
    return {"rows": rows, "labels": labels.tolist(), "new_rows": [[0, 4], [2, 1], [None, 3]]}


def categorical(table: dict[str, Any]) -> pm.Model:
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        pm.Categorical("y", p=class_prob, observed=table["labels"])
        for j, size in enumerate((3, 5)):
            prob = pm.Dirichlet(f"prob_{j}", np.full((2, size), 0.5))
            cells, labels = column(table, j)
            pm.Categorical(f"x_{j}", p=prob[labels], observed=cells)
    return model


def categorical_density(draw: Draw, row: list, c: int) -> np.ndarray:
    cells = [draw[f"prob_{j}"][:, c, cell] for j, cell in enumerate(row) if cell is not None]
    return draw["class_prob"][:, c] * np.prod(cells, axis=0)


def gaussian_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 14, p=[0.6, 0.4])
    cells = np.round(rng.normal(np.array([[0.0, 3.0], [2.0, 3.5]])[labels], [1.0, 0.5]), 2)
    rows = with_gaps(cells, rng.random((14, 2)) < 0.2)
    return {"rows": rows, "labels": labels.tolist(), "new_rows": [[1.0, 3.0], [None, 4.2], [6.0, 3.1]]}


def gaussian(table: dict[str, Any]) -> pm.Model:
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        pm.Categorical("y", p=class_prob, observed=table["labels"])
        variance = pm.InverseGamma("variance", alpha=2.5, beta=3.0, shape=(2, 2))
        mean = pm.Normal("mean", mu=1.0, sigma=pt.sqrt(variance / 0.5), shape=(2, 2))
        for j in range(2):
            cells, labels = column(table, j)
            pm.Normal(f"x_{j}", mu=mean[labels, j], sigma=pt.sqrt(variance[labels, j]), observed=cells)
    return model


def gaussian_density(draw: Draw, row: list, c: int) -> np.ndarray:
    cells = [
        stats.norm.pdf(cell, draw["mean"][:, c, j], np.sqrt(draw["variance"][:, c, j]))
        for j, cell in enumerate(row)
        if cell is not None
    ]
    return draw["class_prob"][:, c] * np.prod(cells, axis=0)


def poisson_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(3, 18, p=[0.5, 0.3, 0.2])
    counts = rng.poisson(np.array([[0.3, 4.0], [2.0, 4.0], [6.0, 1.0]])[labels])
    return {"rows": counts.tolist(), "labels": labels.tolist(), "new_rows": [[0, 3], [5, 2]]}


def poisson(table: dict[str, Any]) -> pm.Model:
    rows, labels = np.array(table["rows"]), np.array(table["labels"])
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(3))
        pm.Categorical("y", p=class_prob, observed=labels)
        rate = pm.Gamma("rate", alpha=2.0, beta=0.7, shape=(3, 2))
        pm.Poisson("x", mu=rate[labels], observed=rows)
    return model


def poisson_density(draw: Draw, row: list, c: int) -> np.ndarray:
    cells = [stats.poisson.pmf(cell, draw["rate"][:, c, j]) for j, cell in enumerate(row)]
    return draw["class_prob"][:, c] * np.prod(cells, axis=0)


def documents_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 12)
    lengths = rng.integers(4, 15, 12)
    prob = np.array([[0.5, 0.3, 0.15, 0.05], [0.1, 0.2, 0.3, 0.4]])
    rows = [
        rng.multinomial(n, rng.dirichlet(8 * prob[label])).tolist() for n, label in zip(lengths, labels, strict=True)
    ]
    return {"rows": rows, "labels": labels.tolist(), "new_rows": [[3, 1, 0, 0], [2, 2, 2, 2]]}


def multinomial(table: dict[str, Any]) -> pm.Model:
    rows, labels = np.array(table["rows"]), np.array(table["labels"])
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        pm.Categorical("y", p=class_prob, observed=labels)
        prob = pm.Dirichlet("prob", np.full((2, 4), 0.5))
        pm.Multinomial("x", n=rows.sum(axis=1), p=prob[labels], observed=rows)
    return model


def multinomial_density(draw: Draw, row: list, c: int) -> np.ndarray:
    return draw["class_prob"][:, c] * stats.multinomial.pmf(row, sum(row), draw["prob"][:, c])


def dirichlet_multinomial(table: dict[str, Any]) -> pm.Model:
    rows, labels = np.array(table["rows"]), np.array(table["labels"])
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        pm.Categorical("y", p=class_prob, observed=labels)
        concentration = pm.Gamma("concentration", alpha=1.5, beta=0.5, shape=(2, 4))
        pm.DirichletMultinomial("x", n=rows.sum(axis=1), a=concentration[labels], observed=rows)
    return model


def dirichlet_multinomial_density(draw: Draw, row: list, c: int) -> np.ndarray:
    density = [stats.dirichlet_multinomial.pmf(row, alpha, sum(row)) for alpha in draw["concentration"][:, c]]
    return draw["class_prob"][:, c] * np.array(density)


def mixed_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 16, p=[0.5, 0.5])
    size = np.round(rng.normal(np.array([0.0, 2.0])[labels], 1.0), 2)
    colour, flag, count = rng.choice(3, 16), rng.integers(0, 2, 16), rng.poisson(np.array([1.0, 3.0])[labels])
    rows = [list(row) for row in zip(size.tolist(), colour.tolist(), flag.tolist(), count.tolist(), strict=True)]
    weights = rng.choice([0.0, 0.5, 1.0, 2.5], 16)
    return {
        "rows": rows,
        "labels": labels.tolist(),
        "weights": weights.tolist(),
        "new_rows": [[1.0, 0, 1, 2], [None, 2, 0, 4]],
    }


def mixed(table: dict[str, Any]) -> pm.Model:
    labels, weights = np.array(table["labels"]), np.array(table["weights"])
    size, colour, flag, count = (np.array(cells) for cells in zip(*table["rows"], strict=True))
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        variance = pm.InverseGamma("variance", alpha=2.0, beta=1.0, shape=2)
        mean = pm.Normal("mean", mu=0.0, sigma=pt.sqrt(variance / 0.1), shape=2)
        colour_prob = pm.Dirichlet("colour_prob", np.ones((2, 3)))
        flag_prob = pm.Beta("flag_prob", alpha=1.0, beta=1.0, shape=2)
        rate = pm.Gamma("rate", alpha=1.0, beta=0.5, shape=2)
        row_density = (
            pm.logp(pm.Categorical.dist(p=class_prob), labels)
            + pm.logp(pm.Normal.dist(mean[labels], pt.sqrt(variance[labels])), size)
            + pm.logp(pm.Categorical.dist(p=colour_prob[labels]), colour)
            + pm.logp(pm.Bernoulli.dist(p=flag_prob[labels]), flag)
            + pm.logp(pm.Poisson.dist(rate[labels]), count)
        )
        pm.Potential("weighted_rows", (weights * row_density).sum())
    return model


def mixed_density(draw: Draw, row: list, c: int) -> np.ndarray:
    size, colour, flag, count = row
    density = draw["class_prob"][:, c] * draw["colour_prob"][:, c, colour]
    if size is not None:
        density = density * stats.norm.pdf(size, draw["mean"][:, c], np.sqrt(draw["variance"][:, c]))
    density = density * stats.bernoulli.pmf(flag, draw["flag_prob"][:, c])
    return density * stats.poisson.pmf(count, draw["rate"][:, c])


def hierarchical_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 24)
    prob = rng.dirichlet(np.full(4, 0.6), size=(2, 3))
    rows = [[int(rng.choice(4, p=prob[label, j])) for j in range(3)] for label in labels]
    return {"rows": rows, "labels": labels.tolist(), "new_rows": [[0, 1, 2], [3, 3, 0]]}


def hierarchical(table: dict[str, Any]) -> pm.Model:
    rows, labels = np.array(table["rows"]), np.array(table["labels"])
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        pm.Categorical("y", p=class_prob, observed=labels)
        concentration = pm.Gamma("concentration", alpha=2.0, beta=1.5)
        prob = pm.Dirichlet("prob", concentration * pt.ones((2, 3, 4)))
        pm.Categorical("x", p=prob[labels[:, None], np.arange(3)], observed=rows)
    return model


def hierarchical_density(draw: Draw, row: list, c: int) -> np.ndarray:
    cells = [draw["prob"][:, c, j, cell] for j, cell in enumerate(row)]
    return draw["class_prob"][:, c] * np.prod(cells, axis=0)


def successes_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 20, p=[0.5, 0.5])
    wait = np.round(rng.exponential(np.array([0.5, 2.0])[labels]), 2)
    price = np.round(rng.lognormal(np.array([0.0, 1.5])[labels], 0.7), 2)
    tries = rng.geometric(np.array([0.6, 0.2])[labels]) - 1
    passed = rng.binomial(7, np.array([0.3, 0.8])[labels])
    visits = rng.negative_binomial(2.5, np.array([0.5, 0.2])[labels])
    rows = [
        [None if gap else cell for cell, gap in zip(row, gaps, strict=True)]
        for row, gaps in zip(
            zip(*(cells.tolist() for cells in (wait, price, tries, passed, visits)), strict=True),
            rng.random((20, 5)) < 0.1,
            strict=True,
        )
    ]
    return {"rows": rows, "labels": labels.tolist(), "new_rows": [[0.4, 1.2, 0, 2, 3], [None, 6.0, 5, 6, 14]]}


def successes(table: dict[str, Any]) -> pm.Model:
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        pm.Categorical("y", p=class_prob, observed=table["labels"])
        rate = pm.Gamma("rate", alpha=1.5, beta=2.0, shape=2)
        cells, labels = column(table, 0)
        pm.Exponential("wait", lam=rate[labels], observed=cells)
        variance = pm.InverseGamma("variance", alpha=2.5, beta=3.0, shape=2)
        mean = pm.Normal("mean", mu=1.0, sigma=pt.sqrt(variance / 0.5), shape=2)
        cells, labels = column(table, 1)
        pm.LogNormal("price", mu=mean[labels], sigma=pt.sqrt(variance[labels]), observed=cells)
        prob_of_try = pm.Beta("prob_of_try", alpha=2.0, beta=1.5, shape=2)
        cells, labels = column(table, 2)
        pm.Geometric("tries", p=prob_of_try[labels], observed=cells + 1)
        prob_of_pass = pm.Beta("prob_of_pass", alpha=1.0, beta=2.0, shape=2)
        cells, labels = column(table, 3)
        pm.Binomial("passed", n=7, p=prob_of_pass[labels], observed=cells)
        prob_of_end = pm.Beta("prob_of_end", alpha=1.5, beta=2.0, shape=2)
        cells, labels = column(table, 4)
        pm.NegativeBinomial("visits", n=2.5, p=prob_of_end[labels], observed=cells)
    return model


def successes_density(draw: Draw, row: list, c: int) -> np.ndarray:
    wait, price, tries, passed, visits = row
    density = draw["class_prob"][:, c]
    if wait is not None:
        density = density * stats.expon.pdf(wait, scale=1 / draw["rate"][:, c])
    density = density * stats.lognorm.pdf(price, np.sqrt(draw["variance"][:, c]), scale=np.exp(draw["mean"][:, c]))
    density = density * stats.geom.pmf(tries + 1, draw["prob_of_try"][:, c])
    density = density * stats.binom.pmf(passed, 7, draw["prob_of_pass"][:, c])
    return density * stats.nbinom.pmf(visits, 2.5, draw["prob_of_end"][:, c])


def concentrations_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 30, p=[0.5, 0.5])
    amount = np.round(rng.gamma(np.array([2.0, 8.0])[labels], np.array([2.0, 1.0])[labels]), 2)
    share = np.round(rng.beta(np.array([2.0, 6.0])[labels], 5.0), 3)
    angle = np.round(rng.vonmises(np.array([-0.5, 1.0])[labels], np.array([3.0, 8.0])[labels]), 3)
    visits = rng.negative_binomial(np.array([1.5, 6.0])[labels], np.array([0.2, 0.5])[labels])
    rows = [list(row) for row in zip(*(cells.tolist() for cells in (amount, share, angle, visits)), strict=True)]
    rows[3][0], rows[4][1], rows[5][2], rows[6][3] = None, None, None, None
    return {"rows": rows, "labels": labels.tolist(), "new_rows": [[3.0, 0.3, 0.2, 4], [None, 0.6, 1.1, 12]]}


def concentrations(table: dict[str, Any]) -> pm.Model:
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        pm.Categorical("y", p=class_prob, observed=table["labels"])
        amount_mean = pm.LogNormal("amount_mean", mu=np.log(4.0), sigma=1.0, shape=2)
        amount_shape = pm.Gamma("amount_shape", alpha=1.5, beta=0.1, shape=2)
        cells, labels = column(table, 0)
        pm.Gamma("amount", alpha=amount_shape[labels], beta=(amount_shape / amount_mean)[labels], observed=cells)
        share_mean = pm.Beta("share_mean", alpha=1.5, beta=2.0, shape=2)
        share_size = pm.Gamma("share_size", alpha=1.5, beta=0.05, shape=2)
        cells, labels = column(table, 1)
        of_ones, of_zeros = share_mean * share_size, (1 - share_mean) * share_size
        pm.Beta("share", alpha=of_ones[labels], beta=of_zeros[labels], observed=cells)
        angle_loc = pm.Uniform("angle_loc", lower=-np.pi, upper=np.pi, shape=2)
        angle_size = pm.Gamma("angle_size", alpha=1.5, beta=0.1, shape=2)
        cells, labels = column(table, 2)
        pm.VonMises("angle", mu=angle_loc[labels], kappa=angle_size[labels], observed=cells)
        visits_mean = pm.LogNormal("visits_mean", mu=np.log(4.0), sigma=1.0, shape=2)
        dispersion = pm.Gamma("dispersion", alpha=1.5, beta=2.0, shape=2)
        cells, labels = column(table, 3)
        pm.NegativeBinomial("visits", mu=visits_mean[labels], alpha=1 / dispersion[labels], observed=cells)
    return model


def concentrations_density(draw: Draw, row: list, c: int) -> np.ndarray:
    amount, share, angle, visits = row
    of_class = {name: value[:, c] for name, value in draw.items()}
    density = of_class["class_prob"]
    if amount is not None:
        shape = of_class["amount_shape"]
        density = density * stats.gamma.pdf(amount, shape, scale=of_class["amount_mean"] / shape)
    mean, size = of_class["share_mean"], of_class["share_size"]
    density = density * stats.beta.pdf(share, mean * size, (1 - mean) * size)
    density = density * stats.vonmises.pdf(angle, of_class["angle_size"], of_class["angle_loc"])
    dispersion, mean = of_class["dispersion"], of_class["visits_mean"]
    return density * stats.nbinom.pmf(visits, 1 / dispersion, 1 / (1 + dispersion * mean))


def unlabelled_table(rng: np.random.Generator) -> dict[str, Any]:
    labels = rng.choice(2, 40, p=[0.65, 0.35])
    prob = np.array([[0.85, 0.2, 0.7, 0.3, 0.8], [0.25, 0.7, 0.2, 0.8, 0.3]])
    rows = (rng.random((40, 5)) < prob[labels]).astype(int)
    told = [label if i < 16 else None for i, label in enumerate(labels.tolist())]
    return {"rows": rows.tolist(), "labels": told, "new_rows": [[1, 0, 1, 0, 1], [0, 0, 1, 1, 1]]}


def unlabelled(table: dict[str, Any]) -> pm.Model:
    rows = np.array(table["rows"])
    known = np.array([i for i, label in enumerate(table["labels"]) if label is not None])
    labels = np.array([table["labels"][i] for i in known])
    unknown = np.setdiff1d(np.arange(len(rows)), known)
    with pm.Model() as model:
        class_prob = pm.Dirichlet("class_prob", np.ones(2))
        prob = pm.Beta("prob", alpha=1.0, beta=1.0, shape=(2, 5))
        pm.Categorical("y", p=class_prob, observed=labels)
        pm.Bernoulli("x", p=prob[labels], observed=rows[known])
        cells = pm.logp(pm.Bernoulli.dist(p=prob[None]), rows[unknown][:, None, :])
        pm.Potential("rows_without_label", pt.logsumexp(pt.log(class_prob) + cells.sum(axis=-1), axis=-1).sum())
    return model


REFERENCES = {
    "bernoulli": Reference(
        "class_prob ~ Dirichlet(2, 1, 0.5); prob[c, j] ~ Beta(2, 0.5); y ~ Categorical; x ~ Bernoulli",
        bernoulli_table,
        bernoulli,
        ("class_prob", "prob"),
        bernoulli_density,
    ),
    "categorical": Reference(
        "class_prob ~ Dirichlet(1); prob[c, j] ~ Dirichlet(0.5) over 3 and 5 categories; missing cells; the last "
        "category of the second column is never seen",
        categorical_table,
        categorical,
        ("class_prob", "prob_0", "prob_1"),
        categorical_density,
    ),
    "gaussian": Reference(
        "variance[c, j] ~ InverseGamma(shape 2.5, scale 3); mean[c, j] ~ Normal(1, variance / 0.5); missing cells",
        gaussian_table,
        gaussian,
        ("class_prob", "mean", "variance"),
        gaussian_density,
    ),
    "poisson": Reference(
        "rate[c, j] ~ Gamma(shape 2, rate 0.7); x ~ Poisson",
        poisson_table,
        poisson,
        ("class_prob", "rate"),
        poisson_density,
    ),
    "multinomial": Reference(
        "prob[c] ~ Dirichlet(0.5) over 4 words; each row ~ Multinomial of its own total",
        documents_table,
        multinomial,
        ("class_prob", "prob"),
        multinomial_density,
    ),
    "dirichlet_multinomial": Reference(
        "concentration[c, v] ~ Gamma(shape 1.5, rate 0.5); each row ~ DirichletMultinomial of its own total",
        documents_table,
        dirichlet_multinomial,
        ("class_prob", "concentration"),
        dirichlet_multinomial_density,
    ),
    "mixed_weighted": Reference(
        "size ~ Normal with variance ~ InverseGamma(2, scale 1), mean ~ Normal(0, variance / 0.1); colour ~ "
        "Categorical, Dirichlet(1); flag ~ Bernoulli, Beta(1, 1); count ~ Poisson, rate ~ Gamma(1, rate 0.5); the log "
        "density of a row is multiplied by its weight, which may be zero or a fraction",
        mixed_table,
        mixed,
        ("class_prob", "mean", "variance", "colour_prob", "flag_prob", "rate"),
        mixed_density,
    ),
    "waits_and_successes": Reference(
        "wait ~ Exponential, rate ~ Gamma(1.5, rate 2); price ~ LogNormal with variance ~ InverseGamma(2.5, scale 3), "
        "mean ~ Normal(1, variance / 0.5); tries ~ Geometric from zero, Beta(2, 1.5); passed ~ Binomial(7), Beta(1, "
        "2); visits ~ NegativeBinomial(2.5), Beta(1.5, 2); missing cells",
        successes_table,
        successes,
        ("class_prob", "rate", "mean", "variance", "prob_of_try", "prob_of_pass", "prob_of_end"),
        successes_density,
    ),
    "means_and_concentrations": Reference(
        "amount ~ Gamma of a mean ~ LogNormal(log 4, 1) and a shape ~ Gamma(1.5, rate 0.1); share ~ Beta of a mean ~ "
        "Beta(1.5, 2) and a concentration ~ Gamma(1.5, rate 0.05); angle ~ VonMises of a direction ~ Uniform and a "
        "concentration ~ Gamma(1.5, rate 0.1); visits ~ NegativeBinomial of a mean ~ LogNormal(log 4, 1) and a "
        "dispersion ~ Gamma(1.5, rate 2); missing cells",
        concentrations_table,
        concentrations,
        (
            "class_prob",
            *("amount_mean", "amount_shape", "share_mean", "share_size", "angle_loc", "angle_size"),
            *("visits_mean", "dispersion"),
        ),
        concentrations_density,
    ),
    "learned_concentration": Reference(
        "concentration ~ Gamma(shape 2, rate 1.5), one for all; prob[c, j] ~ Dirichlet(concentration) over 4 "
        "categories",
        hierarchical_table,
        hierarchical,
        ("class_prob", "concentration", "prob"),
        hierarchical_density,
    ),
    "unlabelled": Reference(
        "prob[c, j] ~ Beta(1, 1); 16 rows have a label; the other 24 have the density summed over both labels",
        unlabelled_table,
        unlabelled,
        ("class_prob", "prob"),
        bernoulli_density,
    ),
}
