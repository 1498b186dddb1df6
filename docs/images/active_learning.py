"""Draw active_learning.png: log scores after labels of rows chosen by their uncertainty, and of rows as they come.

Run it with the package and its plots installed: ``python docs/images/active_learning.py`` (some minutes). It prints the
differences in log score and in accuracy with their standard errors, which docs/guide/decisions.md states.
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np

import bayesnb as nb

REPLICATES, POOL, START, LABELS = 40, 300, 4, 44
KINDS, COLUMNS, NEW_ROWS = 20, 10, 2000
WAYS = {"random": "as they come", "total": "largest total", "epistemic": "largest epistemic"}
SHOWN = [14, 20, 30, 44]

Table = tuple[np.ndarray, np.ndarray]


def kinds_of_rows(rng: np.random.Generator) -> tuple[Table, Table]:
    """One column of kinds, most of them rare in the pool and all of them equally frequent among the new rows."""
    frequency, truth = rng.dirichlet(np.full(KINDS, 0.5)), rng.beta(0.5, 0.5, KINDS)
    tables = []
    for kind in (rng.choice(KINDS, POOL, p=frequency), rng.integers(0, KINDS, NEW_ROWS)):
        tables.append((kind[:, None].astype(float), (rng.uniform(size=len(kind)) < truth[kind]).astype(int)))
    return tables[0], tables[1]


def answers(rng: np.random.Generator) -> tuple[Table, Table]:
    """Ten yes-or-no columns, pool and new rows alike."""
    truth, y = rng.uniform(size=(2, COLUMNS)), rng.integers(0, 2, POOL + NEW_ROWS)
    X = (rng.uniform(size=(len(y), COLUMNS)) < truth[y]).astype(float)
    return (X[:POOL], y[:POOL]), (X[POOL:], y[POOL:])


def scores(model: nb.NaiveBayes, simulate: Callable, way: str) -> np.ndarray:
    """Mean log probability of the new rows' labels, and accuracy, shape (replicates, numbers of labels, 2)."""
    found = []
    for replicate in range(REPLICATES):
        rng = np.random.default_rng(replicate)
        (X, y), (X_new, y_new) = simulate(rng)
        posterior = nb.fit(model, X[:START], y[:START], classes=[0, 1])
        left, curve = np.arange(POOL) >= START, []
        for step in range(LABELS - START + 1):
            log_proba = posterior.predict_log_proba(X_new)
            curve.append((log_proba[np.arange(NEW_ROWS), y_new].mean(), (log_proba.argmax(axis=1) == y_new).mean()))
            value = rng.uniform(size=POOL)
            if way != "random":
                value = posterior.uncertainty(X, num_draws=100, num_chains=1, key=step)[way].to_numpy()
            row = int(np.where(left, value, -1.0).argmax())
            left[row] = False
            posterior = posterior.update(X[[row]], y[[row]])
        found.append(curve)
    return np.array(found)


def tell(title: str, way: str, gap: np.ndarray) -> None:
    """Print a difference from rows as they come, with its standard error over replicates."""
    for labels in SHOWN:
        at = gap[:, labels - START]
        mean, error = at.mean(axis=0), at.std(axis=0, ddof=1) / np.sqrt(len(at))
        print(f"{title}, {way}, {labels} labels: log score {mean[0]:+.3f} ± {error[0]:.3f}", end=", ")
        print(f"accuracy {mean[1]:+.3f} ± {error[1]:.3f}", flush=True)


def main() -> None:
    """Simulate and draw."""
    settings = [
        ("One column of twenty kinds", nb.Categorical(0.5, categories=range(KINDS)), kinds_of_rows),
        ("Ten yes-or-no columns", nb.Bernoulli(), answers),
    ]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axis, (title, family, simulate) in zip(axes, settings, strict=True):
        found = {way: scores(nb.NaiveBayes(family), simulate, way) for way in WAYS}
        for way, label in WAYS.items():
            tell(title, way, found[way] - (0 if way == "random" else found["random"]))
            curves = found[way][..., 0]
            mean, error = curves.mean(axis=0), curves.std(axis=0, ddof=1) / np.sqrt(REPLICATES)
            labels = np.arange(START, LABELS + 1)
            (line,) = axis.plot(labels, mean, label=label)
            axis.fill_between(labels, mean - 2 * error, mean + 2 * error, color=line.get_color(), alpha=0.15, lw=0)
        axis.set(title=title, xlabel="labels")
    axes[0].set_ylabel("mean log score of new rows")
    axes[0].legend(title="rows taken", frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
