"""By how much `nb.loo_scores` of a classifier with weights is above the log score of new rows, on real tables.

Run it with ``python tools/benchmarks/loo_with_weights.py [samples of each table]`` (some minutes); it prints
the figures of the warning and of docs/guide/weights.md.
"""

import sys
import warnings

import numpy as np
from first_call import FEW_ROWS, table

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier

NEW_ROWS = 600


def above(name: str, num_rows: int, sample: int) -> float:
    """Mean leave-one-out log score of the labels of some rows, minus that of other rows."""
    X, y = table(name)
    rng = np.random.default_rng(sample)
    first = [rng.choice(np.flatnonzero(y == c)) for c in np.unique(y)]
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
    train, new = np.r_[first, rest[: num_rows - len(first)]], rest[num_rows - len(first) :][:NEW_ROWS]
    classifier = NaiveBayesClassifier().fit(X.iloc[train], y[train])
    of_labels = classifier.predict_proba(X.iloc[new])[np.arange(len(new)), np.searchsorted(classifier.classes_, y[new])]
    scores = nb.loo_scores(classifier, X.iloc[train], y[train])
    return scores["elpd_label"] / num_rows - np.log(np.clip(of_labels, 1e-12, 1)).mean()


def main(samples: int) -> None:
    for num_rows in (40, 100, 400):
        names = [name for name in FEW_ROWS if name != "spambase" and len(table(name)[1]) > num_rows + 100]
        found = np.array([np.mean([above(name, num_rows, sample) for sample in range(samples)]) for name in names])
        error = found.std(ddof=1) / np.sqrt(len(found))
        print(f"{num_rows} rows, {len(found)} tables: {found.mean():+.3f} ± {error:.3f} nats a row", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
