"""How often `check` rejects right data (size) and wrong ones (power).

``python tools/benchmarks/size_of_check.py`` prints the numbers in docs/guide/checking.md; names of cases after it ask
for those only. Every data set has a seed of its own, so that the numbers come out the same again.
"""

import argparse
from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import scipy.stats

import bayesnb as nb

REPLICATES = 300
DATA_SETS = {"size": 300, "power": 40}

Table = tuple[nb.NaiveBayes, object, np.ndarray]

TWO_CLASSES = np.repeat([0, 1], 100)


def gaussians(rng: np.random.Generator) -> Table:
    return nb.NaiveBayes(nb.Gaussian()), rng.normal(TWO_CLASSES[:, None], 1.0, (200, 10)), TWO_CLASSES


def gaussians_with_gaps(rng: np.random.Generator) -> Table:
    model, X, y = gaussians(rng)
    X[(rng.uniform(size=X.shape) < 0.75) & (y == 1)[:, None]] = np.nan
    return model, X, y


def few_gaussians(rng: np.random.Generator) -> Table:
    y = np.repeat([0, 1, 2], [6, 12, 20])
    return nb.NaiveBayes(nb.Gaussian()), rng.normal(y[:, None], 1.0, (38, 4)), y


def documents(rng: np.random.Generator) -> Table:
    y = np.repeat([0, 1], 40)
    words = [rng.multinomial(length, rng.dirichlet(np.ones(30)), 40) for length in (20, 400)]
    return nb.NaiveBayes(nb.Multinomial()), np.vstack(words), y


def rounded_ages(rng: np.random.Generator) -> Table:
    model, X, y = gaussians(rng)
    return model, np.rint(35 + 12 * X), y


def coarse_grades(rng: np.random.Generator) -> Table:
    """Steps of one half, a third of a standard deviation."""
    model, X, y = gaussians(rng)
    return model, 0.5 * np.rint(2 * 1.5 * X), y


def mixed(rng: np.random.Generator) -> Table:
    y = rng.integers(0, 2, 120)
    frame = pd.DataFrame(rng.normal(y[:, None], [1.0, 2.0, 0.5], (120, 3)), columns=["height", "weight", "width"])
    frame["visits"] = rng.poisson(2 + y)
    frame["calls"] = rng.poisson(0.4 + 0.2 * y)
    for name in ("v1", "v2", "v3"):
        frame[name] = (rng.uniform(size=120) < 0.3 + 0.3 * y).astype(float)
        frame.loc[rng.uniform(size=120) < 0.1, name] = np.nan
    frame["colour"] = np.where(
        rng.uniform(size=120) < 0.4, "red", np.where(rng.uniform(size=120) < 0.5, "blue", "green")
    )
    frame[["w1", "w2", "w3", "w4"]] = rng.multinomial(12, rng.dirichlet(np.ones(4), 2)[y])
    families = {name: nb.Gaussian() for name in ("height", "weight", "width")}
    families |= {name: nb.Poisson() for name in ("visits", "calls")}
    families |= {"votes": (nb.Bernoulli(), ["v1", "v2", "v3"]), "colour": nb.Categorical()}
    families |= {"words": (nb.Multinomial(), ["w1", "w2", "w3", "w4"])}
    return nb.NaiveBayes(families), frame, y


def bernoullis(rng: np.random.Generator) -> Table:
    prob = np.array([0.2, 0.6])[TWO_CLASSES[:, None]]
    return nb.NaiveBayes(nb.Bernoulli()), (rng.uniform(size=(200, 10)) < prob).astype(int), TWO_CLASSES


def eight_classes(rng: np.random.Generator) -> Table:
    y = rng.integers(0, 8, 400)
    frame = pd.DataFrame(rng.normal(0.3 * y[:, None], 1.0, (400, 3)), columns=["height", "weight", "width"])
    frame[["visits", "calls", "letters"]] = rng.poisson(1 + 0.5 * y[:, None], (400, 3))
    frame[["v1", "v2", "v3"]] = (rng.uniform(size=(400, 3)) < (0.2 + 0.07 * y)[:, None]).astype(int)
    families = {name: nb.Gaussian() for name in ("height", "weight", "width")}
    families |= {name: nb.Poisson() for name in ("visits", "calls", "letters")}
    return nb.NaiveBayes(families | {"votes": (nb.Bernoulli(), ["v1", "v2", "v3"])}), frame, y


RIGHT: dict[str, Callable[[np.random.Generator], Table]] = {
    "10 Gaussian columns, 2 x 100 rows": gaussians,
    "the same, 75 % missing in one class": gaussians_with_gaps,
    "4 Gaussian columns, 6, 12 and 20 rows": few_gaussians,
    "10 columns of ages in whole years": rounded_ages,
    "10 columns in steps of a third of an sd": coarse_grades,
    "documents of 20 and of 400 words, 2 x 40": documents,
    "all families, 120 rows": mixed,
    "10 Bernoulli columns, 2 x 100 rows": bernoullis,
    "9 columns of three families, 8 classes, 400 rows": eight_classes,
}


def with_column(draw: Callable[[np.random.Generator, int], np.ndarray]) -> Callable[[np.random.Generator], Table]:
    """Ten Gaussian columns, the first of which is drawn otherwise in both classes."""

    def table(rng: np.random.Generator) -> Table:
        model, X, y = gaussians(rng)
        X[:, 0] = y + draw(rng, len(y))
        return model, X, y

    return table


def zeros(rng: np.random.Generator) -> Table:
    model, X, y = gaussians(rng)
    X[:, 0] = np.where(rng.uniform(size=200) < 0.92, 0.0, rng.lognormal(size=200))
    return model, X, y


def copied(share: float) -> Callable[[np.random.Generator], Table]:
    """Ten Bernoulli columns, the second of which holds the first's cell in a share of the rows."""

    def table(rng: np.random.Generator) -> Table:
        model, X, y = bernoullis(rng)
        X[:, 1] = np.where(rng.uniform(size=200) < share, X[:, 0], X[:, 1])
        return model, X, y

    return table


def correlated(correlation: float) -> Callable[[np.random.Generator], Table]:
    """Ten Gaussian columns of one factor."""

    def table(rng: np.random.Generator) -> Table:
        model, X, y = gaussians(rng)
        noise = X - y[:, None]
        common = rng.normal(size=(200, 1))
        return model, y[:, None] + np.sqrt(correlation) * common + np.sqrt(1 - correlation) * noise, y

    return table


def overdispersed(rng: np.random.Generator) -> Table:
    """A negative binomial column of mean 3 and variance 4.5 among ten of Poisson counts."""
    X = rng.poisson(3.0, (200, 10))
    X[:, 0] = rng.negative_binomial(6, 2 / 3, 200)
    return nb.NaiveBayes(nb.Poisson()), X, TWO_CLASSES


def bursty(rng: np.random.Generator) -> Table:
    prob = rng.dirichlet(np.full(30, 1.0), 80)
    return nb.NaiveBayes(nb.Multinomial()), rng.multinomial(25, prob), np.repeat([0, 1], 40)


def two_humps(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.choice([-1.5, 1.5], n) + 0.5 * rng.normal(size=n)


WRONG: dict[str, tuple[Callable[[np.random.Generator], Table], str]] = {
    "one column of ten 92 % zeros": (zeros, "shape[0]"),
    "one column of ten log-normal": (with_column(lambda rng, n: rng.lognormal(size=n)), "shape[0]"),
    "one column of ten t with 2 df": (with_column(lambda rng, n: rng.standard_t(2, n)), "shape[0]"),
    "one column of ten bimodal": (with_column(two_humps), "shape[0]"),
    "one column of ten uniform": (with_column(lambda rng, n: rng.uniform(-1.7, 1.7, n)), "shape[0]"),
    "one column of ten exponential": (with_column(lambda rng, n: rng.exponential(size=n)), "shape[0]"),
    "one column of ten t with 5 df": (with_column(lambda rng, n: rng.standard_t(5, n)), "shape[0]"),
    "one of ten 0/1 columns a copy": (copied(1.0), "dependence"),
    "one of ten 0/1 columns a copy in half of the rows": (copied(0.5), "dependence"),
    "ten Gaussian columns, correlation .1": (correlated(0.1), "dependence"),
    "ten Gaussian columns, correlation .2": (correlated(0.2), "dependence"),
    "one column of ten counts, variance 1.5 times the mean": (overdispersed, "variance[0, "),
    "words in bursts": (bursty, "burstiness"),
}


def p_values(case: Callable[[np.random.Generator], Table], seeds: Iterable[int]) -> Iterable[nb.results.Check]:
    for seed in seeds:
        model, X, y = case(np.random.default_rng([seed, 20]))
        yield nb.check(nb.fit(model, X, y), X, y, num_replicates=REPLICATES, key=seed)


def size(name: str, data_sets: int) -> pd.DataFrame:
    """Share of right data sets in which a line is extreme: by kind of line the mean over lines, and any of them."""
    extreme = []
    for found in p_values(RIGHT[name], range(data_sets)):
        extreme.append(pd.Series(found.table.index.isin(found.extreme), index=found.table.index))
    table = pd.DataFrame(extreme)
    kind = table.columns.str.split("[").str[0]
    rows = {}
    for one in kind.unique():
        lines = table.loc[:, kind == one].astype(float)
        rows[name, one] = {
            "lines": lines.shape[1],
            "mean": lines.mean().mean(),
            "any": (lines.max(axis=1) > 0).mean(),
        }
    rows[name, "all"] = {
        "lines": table.shape[1],
        "mean": table.mean().mean(),
        "any": table.any(axis=1).mean(),
    }
    return pd.DataFrame.from_dict(rows, orient="index")


def power(name: str, data_sets: int) -> dict[str, float]:
    """Share of wrong data sets in which a line that should be extreme is, with an exact 95 % interval."""
    case, label = WRONG[name]
    seen = sum(
        any(one.startswith(label) for one in found.extreme) for found in p_values(case, range(1000, 1000 + data_sets))
    )
    interval = scipy.stats.binomtest(seen, data_sets).proportion_ci()
    return {"power": seen / data_sets, "lower": interval.low, "upper": interval.high}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="cases to measure, all by default")
    parser.add_argument("--data-sets", type=int, help="data sets of each case")
    options = parser.parse_args()
    for name in [name for name in RIGHT if not options.cases or name in options.cases]:
        print(size(name, options.data_sets or DATA_SETS["size"]).round(4).to_string(), flush=True)
    for name in [name for name in WRONG if not options.cases or name in options.cases]:
        print(
            name,
            {key: round(value, 3) for key, value in power(name, options.data_sets or DATA_SETS["power"]).items()},
            flush=True,
        )


if __name__ == "__main__":
    main()
