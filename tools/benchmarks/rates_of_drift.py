"""How often `nb.drift` is wrong where only the classes have moved, or nothing has, and how small a change it finds.

``python tools/benchmarks/rates_of_drift.py`` prints the numbers in docs/guide/drift.md. The tables lie
where real_data.py looks. ``--parts rates,power`` and names of tables or shapes after it ask for those only.
"""

import argparse
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from readings import folder, table

import bayesnb as nb

SAMPLES, ROWS, FEWEST = 3, 300, 20
OLD, NEW, REPEATS = 10_000, (20, 100, 1000, 1_000_000), 10
SIZES = {
    "normal": (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0),
    "skewed": (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0),
    "counts": (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0),
    "categories": (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8),
}
"""Shifts of the mean in standard deviations, and the share of cells that move to another category."""


# Real tables: half of the rows are fitted, and samples of the others have other class probabilities, or the same ones.


def without_repeats(y: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """Rows whose classes have the probabilities of a draw of Dirichlet(1), none twice; None if there are too few."""
    places = [np.flatnonzero(y == label) for label in np.unique(y)]
    probs = rng.dirichlet(np.ones(len(places)))
    number = int(min(ROWS, *(len(rows) / prob for rows, prob in zip(places, probs, strict=True))))
    sizes = rng.multinomial(number, probs)
    if number < FEWEST or any(size > len(rows) for rows, size in zip(places, sizes, strict=True)):
        return None
    return np.concatenate([rng.permutation(rows)[:size] for rows, size in zip(places, sizes, strict=True)])


def moved(X: pd.DataFrame, whole: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, str] | None:
    """A column of numbers half a standard deviation higher; whole numbers stay whole."""
    numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name]) and X[name].nunique() > 8]
    if not numbers:
        return None
    name = numbers[rng.integers(len(numbers))]
    step = whole[name].std() / 2
    step = max(1.0, np.rint(step)) if (whole[name].dropna() % 1 == 0).all() else step
    return X.assign(**{name: X[name] + step}), name


def rates(names: list[str]) -> Iterator[dict]:
    for name in names:
        X, y = table(name)
        rng = np.random.default_rng(0)
        order = rng.permutation(len(y))
        old, others = np.array_split(order, 2)
        fitted = nb.NaiveBayesClassifier().fit(X.iloc[old], y[old])
        others = others[np.isin(y[others], fitted.classes_)]
        for _ in range(SAMPLES):
            same = rng.permutation(others)[:ROWS]
            found = nb.drift(fitted, X.iloc[same])
            line = {
                "table": name,
                "same": found.drifted,
                "same, labels": nb.drift(fitted, X.iloc[same], y[same]).drifted,
            }
            places = without_repeats(y[others], rng)
            if places is not None:
                rows = others[places]
                found = nb.drift(fitted, X.iloc[rows])
                line |= {"classes moved": found.drifted, "marginal": over(found, "marginal")}
                line |= {"classes moved, labels": nb.drift(fitted, X.iloc[rows], y[rows]).drifted}
                if (shifted := moved(X.iloc[rows], X, rng)) is not None:
                    found = nb.drift(fitted, shifted[0])
                    line |= {"half a deviation": bool(found.table["drifted"][shifted[1]])}
                    line |= {"others": bool(found.table["drifted"].drop([shifted[1], "class probabilities"]).any())}
            yield line


def over(found: nb.results.Drift, column: str) -> bool:
    """Whether a column's factor alone, here that of the pooled rows, gives a probability above .9."""
    lines = len(found.table)
    return bool((found.table[column].iloc[:-1] > np.log(9 * (2 * lines - 1))).any())


# Simulated tables: one of ten columns moves, and the classes have other probabilities.


def simulated(number: int, probs: list[float], shape: str, size: float, rng: np.random.Generator):
    """Rows of two classes, ten columns of one shape each of which tells half a standard deviation of the classes."""
    y = rng.choice(2, number, p=probs)
    at = 0.5 * y[:, None]
    if shape == "normal":
        X = rng.normal(at, 1.0, (number, 10))
        X[:, 0] += size
    elif shape == "skewed":
        X = rng.gamma(2.0, 1.0, (number, 10)) * np.exp(0.5 * at)
        X[:, 0] += size * np.sqrt(2.0)
    elif shape == "counts":
        rate = np.repeat(4.0 + 2 * at, 10, axis=1)
        rate[:, 0] += 2 * size
        X = rng.poisson(rate)
    else:
        shares = np.array([[0.4, 0.3, 0.2, 0.1], [0.2, 0.2, 0.3, 0.3]])
        X = (rng.random((number, 10))[..., None] > shares.cumsum(axis=1)[y][:, None, :]).sum(axis=-1)
        X[rng.random(number) < size, 0] = 3
        return pd.DataFrame(X).map("abcd".__getitem__).rename(columns=str), y
    return pd.DataFrame(X).rename(columns=str), y


def power(shapes: list[str]) -> Iterator[dict]:
    """The smallest size that is found in nine of ten samples; a million rows have one sample."""
    for shape, sizes in ((shape, SIZES[shape]) for shape in shapes):
        fitted = nb.NaiveBayesClassifier().fit(*simulated(OLD, [0.5, 0.5], shape, 0.0, np.random.default_rng(0)))

        def found(size: float, number: int, shape=shape, fitted=fitted) -> bool:
            samples = REPEATS if number < 1e5 else 1
            rngs = map(np.random.default_rng, range(1, samples + 1))
            tables = (simulated(number, [0.3, 0.7], shape, size, rng)[0] for rng in rngs)
            return sum(bool(nb.drift(fitted, X).table["drifted"]["0"]) for X in tables) >= 0.9 * samples

        line = {"shape": shape}
        for number in NEW:
            place = bisect_left(sizes, True, key=partial(found, number=number))
            line[f"{number:,} rows"] = sizes[place] if place < len(sizes) else np.inf
        yield line


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--parts", default="rates,power")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    every = sorted(path.name.removesuffix(".csv.gz") for path in folder().glob("tables*/*.csv.gz"))
    if "rates" in asked.parts:
        lines = pd.DataFrame(rates(asked.names or every))
        numbers = lines.drop(columns="table").astype(float)
        print(numbers.groupby(lines["table"]).mean().round(2).to_string())
        print(pd.DataFrame({"share": numbers.mean().round(3), "samples": numbers.count()}).to_string())
    if "power" in asked.parts:
        print(pd.DataFrame(power(asked.names or [*SIZES])).set_index("shape").to_string())
