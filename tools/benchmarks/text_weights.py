"""Documents as counts, normalised counts and tf-idf: the exact predictive beside the plug-in, on the same folds.

Run with ``make real-data``; writes the second table of docs/real-data.md. The tables lie where real_data.py looks.
"""

import sys
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse
from real_data import folder, scores, text, write
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import FunctionTransformer, Normalizer

from bayesnb.estimators import MultinomialNB

WEIGHTS = {"counts": FunctionTransformer(), "counts, rows of length 1": Normalizer(), "tf-idf": TfidfTransformer()}
ALPHAS = (1.0, 0.01)
RESAMPLES = 200

Fold = tuple[Any, np.ndarray, Any, np.ndarray]
"""Counts of words and labels, to fit to and to test on."""


def documents() -> Iterator[tuple[str, Iterator[Fold]]]:
    """Tables, each with its folds."""
    for name in ("sms_spam", "sentence_polarity"):
        X, y = text(name)
        yield name, (_counted(X, y, *rows) for rows in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    stored = np.load(folder() / "newsgroups20_w1000" / "20news_w1000.npz")
    X = scipy.sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=stored["shape"])
    train, test = stored["split"] == 0, stored["split"] == 1
    yield (
        "20 newsgroups, 1000 words (train to test)",
        iter([(X[train], stored["y"][train], X[test], stored["y"][test])]),
    )


def _counted(X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> Fold:
    words = CountVectorizer()
    return words.fit_transform(X[train]), y[train], words.transform(X[test]), y[test]


def predictions(fold: Fold) -> dict[tuple, np.ndarray]:
    """True and predicted label and log score of each test row, shape (3, rows), by weights, alpha and predictive."""
    found = {}
    X, y, X_test, y_test = fold
    for (weights, step), alpha, predictive in product(WEIGHTS.items(), ALPHAS, ("exact", "plugin")):
        model = MultinomialNB(alpha=alpha, predictive=predictive).fit(step.fit_transform(X), y)
        log_proba = model.predict_log_proba(step.transform(X_test))
        labels = np.searchsorted(model.classes_, y_test)
        found[weights, alpha, predictive] = np.array(
            [labels, log_proba.argmax(axis=1), scores(log_proba, model.classes_, y_test)[:, 1]]
        )
    return found


def with_error(exact: np.ndarray, plugin: np.ndarray) -> list[str]:
    """Macro-F1 and log score of both, exact minus plug-in, and the standard error of the difference over rows."""
    truth, rng = exact[0], np.random.default_rng(0)
    f1 = [100 * f1_score(truth, found[1], average="macro") for found in (exact, plugin)]
    gaps = []
    for _ in range(RESAMPLES):
        rows = rng.integers(len(truth), size=len(truth))
        own, other = (f1_score(truth[rows], found[1][rows], average="macro") for found in (exact, plugin))
        gaps.append(100 * (own - other))
    log_gap = exact[2] - plugin[2]
    return [
        f"{f1[0]:.1f}",
        f"{f1[1]:.1f}",
        f"{f1[0] - f1[1]:+.1f} ± {np.std(gaps):.1f}",
        f"{exact[2].mean():.3f}",
        f"{plugin[2].mean():.3f}",
        f"{log_gap.mean():+.3f} ± {log_gap.std() / np.sqrt(len(truth)):.3f}",
    ]


def main() -> None:
    """Write the table."""
    head = (
        "| table | weights | alpha | macro-F1, exact | plug-in | difference | log score, exact | plug-in | difference"
    )
    lines = [f"{head} |", "|---|---|---|---|---|---|---|---|---|"]
    for name, folds in documents():
        found = [predictions(fold) for fold in folds]
        for weights, alpha in product(WEIGHTS, ALPHAS):
            pair = [np.hstack([fold[weights, alpha, way] for fold in found]) for way in ("exact", "plugin")]
            lines.append(f"| {name} | {weights} | {alpha:g} | " + " | ".join(with_error(*pair)) + " |")
            print(lines[-1], flush=True)
    write("weights", "end of weights", lines)


if __name__ == "__main__":
    sys.exit(main())
