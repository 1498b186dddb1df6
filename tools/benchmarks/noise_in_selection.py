"""What columns that tell nothing get from functions that look for columns that do.

Run it with ``python tools/benchmarks/noise_in_selection.py [number of tables]``. It prints the figures of
`nb.telling_features`, of the page on families (inclusion probabilities of `PolyaTree`) and of the page on dependence
(edges of `nb.tree_columns` between independent columns).
"""

import sys
import warnings

import numpy as np

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier

COLUMNS = 8


def labels(rng: np.random.Generator, rows: int, shares: list[float]) -> np.ndarray:
    """Labels of these shares, at least two of each class."""
    found = rng.choice(len(shares), rows, p=shares)
    found[: 2 * len(shares)] = np.tile(range(len(shares)), 2)
    return found


def telling(rows: int, shares: list[float], tables: int) -> None:
    """How often the interval of a column of noise is above zero."""
    above: dict[str, list[float]] = {"without weights": [], "with weights": []}
    for table in range(tables):
        rng = np.random.default_rng([table, rows, 6])
        y, X = labels(rng, rows, shares), rng.normal(size=(rows, COLUMNS))
        fitted = nb.fit(nb.Gaussian(), X, y), NaiveBayesClassifier(nb.Gaussian()).fit(X, y)
        for name, one in zip(above, fitted, strict=True):
            found = nb.telling_features(one, COLUMNS, key=table)
            above[name].append((found["lower"] > 0).sum() / (COLUMNS * len(shares)))
    told = ", ".join(f"{name} {np.mean(values):.2f}" for name, values in above.items())
    print(f"telling_features, {rows} rows of shares {shares}: lower > 0 for {told}", flush=True)


def inclusion(rows: int, shares: list[float], columns: int) -> None:
    """How often `PolyaTree` includes normal columns, of noise and of means that differ by 2/5 of an sd."""
    rng = np.random.default_rng([rows, round(100 * shares[0])])
    y, X = labels(rng, rows, shares), rng.normal(size=(rows, columns))
    noise, signal = (
        (nb.feature_evidence(nb.fit(nb.PolyaTree(), cells, y))["inclusion_probability"] > 0.5).mean()
        for cells in (X, X + 0.4 * y[:, None])
    )
    print(f"PolyaTree, {rows} rows of shares {shares}: noise included {noise:.2f}, signal {signal:.2f}", flush=True)


def edges(rows: int, classes: int, spread: float, tables: int) -> None:
    """How many tables of ten independent columns have an edge; class means are normal with this standard deviation."""
    found = []
    for table in range(tables):
        rng, y = np.random.default_rng([table, rows, classes, round(spread)]), np.arange(rows) % classes
        X = rng.normal(size=(rows, 10)) + spread * rng.normal(size=(classes, 10))[y]
        found.append(len(nb.tree_columns(nb.Gaussian(), X, y).table))
    case = f"tree_columns, {rows} rows, {classes} classes, means N(0, {spread}²)"
    print(f"{case}: edges in {np.mean(np.array(found) > 0):.2f} of tables, {np.mean(found):.2f} a table", flush=True)


def main(tables: int) -> None:
    for rows, shares in ((50, [0.1, 0.9]), (200, [0.05, 0.95]), (100, [0.2] * 5), (500, [0.5, 0.5])):
        telling(rows, shares, tables)
    for rows in (100, 300, 1000):
        for shares in ([0.5, 0.5], [0.05, 0.95]):
            inclusion(rows, shares, 10 * tables)
    for rows in (60, 300, 1000):
        for classes in (2, 6):
            for spread in (0.0, 4.0):
                edges(rows, classes, spread, tables)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
