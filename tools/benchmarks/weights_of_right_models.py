"""What weights of features cost where naive Bayes is right: the change of the log score of new rows.

Run it with ``python tools/benchmarks/weights_of_right_models.py [number of tables]`` (some minutes); it prints the
figures of docs/guide/weights.md.
"""

import sys

import numpy as np

import bayesnb as nb

COLUMNS, NEW_ROWS = 10, 2000


def change(num_rows: int, rng: np.random.Generator) -> float:
    """Mean log score of new rows with weights, minus that without."""
    truth, y = rng.uniform(size=(2, COLUMNS)), rng.integers(0, 2, num_rows + NEW_ROWS)
    X = (rng.uniform(size=(len(y), COLUMNS)) < truth[y]).astype(int)
    posterior = nb.fit(nb.Bernoulli(), X[:num_rows], y[:num_rows], classes=[0, 1])
    weighted = nb.weight_features(posterior, X[:num_rows], y[:num_rows])
    table = nb.calibration(weighted, X[num_rows:], y[num_rows:], other=posterior).table
    return float(table.loc["log_score", "difference"])


def main(tables: int) -> None:
    """Print the mean change over tables, with its standard error."""
    for num_rows in (60, 200):
        found = np.array([change(num_rows, np.random.default_rng(table)) for table in range(tables)])
        error = found.std(ddof=1) / np.sqrt(tables)
        print(f"{num_rows} rows: {found.mean():+.4f} ± {error:.4f} nats a row", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 150)
