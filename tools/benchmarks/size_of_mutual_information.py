"""Coverage of the interval, size of the test and bias of the estimate of `nb.mutual_information`.

Tables are drawn with a known mutual information, many of them at once as the columns of one data set, and counted. Run
it with ``python tools/benchmarks/size_of_mutual_information.py [number of tables]``; it prints the table of
docs/guide/selection.md.
"""

import sys

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats

import bayesnb as nb
from bayesnb.families.mutual_information import divergence
from bayesnb.selection.information import information_in_data

PROB, LEVEL = 0.89, 0.05
EQUAL = np.full(5, 0.2)


def table_with(information, rng, num_categories=10):
    """Probabilities of categories by class, shape (5, categories), of a given mutual information with even classes."""
    base, direction = rng.dirichlet(np.full(num_categories, 3.0)), rng.normal(size=(5, num_categories))

    def prob(scale):
        return scipy.special.softmax(np.log(base) + scale * direction, axis=1)

    def excess(scale):
        return divergence(EQUAL[None, :, None], prob(scale)[None, :, None])[0, 0] - information

    return prob(scipy.optimize.brentq(excess, 0.0, 20.0) if information else 0.0)


def categories(information):
    def draw(rng, y, number):
        prob = table_with(information, rng)
        edges = prob.cumsum(axis=1)[y]
        return np.minimum((rng.uniform(size=(len(y), number))[..., None] > edges[:, None]).sum(axis=-1), 9)

    return nb.Categorical(), draw, information


def bernoulli(shift):
    prob = scipy.special.expit(-1 + shift * np.arange(-2, 3))
    both = np.stack([1 - prob, prob], axis=-1)
    truth = divergence(EQUAL[None, :, None], both[None, :, None])[0, 0]
    return nb.Bernoulli(), lambda rng, y, number: rng.uniform(size=(len(y), number)) < prob[y][:, None], truth


def gaussian(shift):
    mean = shift * np.arange(-2.0, 3)[None, :, None]
    truth = nb.Gaussian().mutual_information(EQUAL[None, :, None], {"mean": mean, "variance": np.ones(mean.shape)})
    return nb.Gaussian(), lambda rng, y, number: rng.normal(mean[0, y], 1, (len(y), number)), truth[0, 0]


def poisson(middle, shift):
    rate = middle * np.exp(shift * np.arange(-2.0, 3))[None, :, None]
    truth = nb.Poisson().mutual_information(EQUAL[None, :, None], {"rate": rate})[0, 0]
    return nb.Poisson(), lambda rng, y, number: rng.poisson(rate[0, y], (len(y), number)).astype(float), truth


def words(family, tokens, burst):
    """One word among ten, a hundred tokens to a document; bursty where the concentration is finite."""

    def draw(rng, y, number):
        prob = np.full(10, 0.1) if burst is None else rng.dirichlet(np.full(10, burst / 10), len(y))
        return rng.multinomial(tokens, prob, len(y) if burst is None else None).astype(float)

    return family, draw, 0.0


CASES = {
    "categories, nothing, 100 rows": (*categories(0.0), 100),
    "categories, .074, 100 rows": (*categories(0.074), 100),
    "categories, .25, 100 rows": (*categories(0.25), 100),
    "categories, nothing, 1000 rows": (*categories(0.0), 1000),
    "categories, .074, 1000 rows": (*categories(0.074), 1000),
    "0/1, nothing, 100 rows": (*bernoulli(0.0), 100),
    "0/1, 100 rows": (*bernoulli(0.5), 100),
    "Gaussian, nothing, 100 rows": (*gaussian(0.0), 100),
    "Gaussian, 100 rows": (*gaussian(0.3), 100),
    "Gaussian, nothing, 30 rows": (*gaussian(0.0), 30),
    "Gaussian, nothing, 25 rows": (*gaussian(0.0), 25),
    "Gaussian, nothing, 15 rows": (*gaussian(0.0), 15),
    "Gaussian, nothing, 10 rows": (*gaussian(0.0), 10),
    "PolyaTree, nothing, 100 rows": (nb.PolyaTree(), *gaussian(0.0)[1:], 100),
    "PolyaTree of Gaussian numbers, 100 rows": (nb.PolyaTree(), *gaussian(0.3)[1:], 100),
    "PolyaTree of Gaussian numbers, 1000 rows": (nb.PolyaTree(), *gaussian(0.3)[1:], 1000),
    "Poisson of mean 3, nothing, 100 rows": (*poisson(3.0, 0.0), 100),
    "Poisson of mean 3, 100 rows": (*poisson(3.0, 0.2), 100),
    "Poisson of mean 0.1, nothing, 100 rows": (*poisson(0.1, 0.0), 100),
    "Multinomial words, 100 documents": (*words(nb.Multinomial(), 100, None), 100),
    "Multinomial words, bursts (A = 20)": (*words(nb.Multinomial(), 100, 20.0), 100),
    "DirichletMultinomial words, bursts (A = 20)": (*words(nb.DirichletMultinomial(), 100, 20.0), 100),
}


def measured(family, draw, num_rows, number, seed):
    """What `mutual_information` says of so many tables, a dict of arrays."""
    rng = np.random.default_rng(seed)
    found = []
    while sum(len(one["estimate"]) for one in found) < number:
        y = np.arange(num_rows) % 5
        x = draw(rng, y, min(number, 60))
        model = nb.NaiveBayes(family).bind(x, y)
        counted = model.statistics(x, y).blocks
        found += [information_in_data(block, one, PROB) for block, one in zip(model.blocks, counted, strict=True)]
    return {name: np.concatenate([one[name] for one in found])[:number] for name in found[0]}


def main(number=600):
    print(f"{number} tables each\n")
    print("| column | truth | mean estimate | coverage | lower > 0 | p < .05 |\n|---|---|---|---|---|---|")
    for i, (name, (family, draw, truth, num_rows)) in enumerate(CASES.items()):
        found = measured(family, draw, num_rows, number, i)
        inside = (found["lower"] <= truth + 1e-12) & (truth <= found["upper"] + 1e-12)
        shown = found["estimate"].mean(), inside.mean(), (found["lower"] > 0).mean(), (found["p_value"] < LEVEL).mean()
        print(f"| {name} | {truth:.3f} | " + " | ".join(f"{value:.3f}" for value in shown) + " |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
