"""Weights of features beside calibrated naive Bayes, logistic regression and boosted trees, on the same folds.

Run with ``make real-data``; writes the last tables of docs/real-data.md. The tables lie where real_data.py looks. With
``--cache FOLDER`` the scores of each table and estimator are kept there, and a later run computes only those it lacks.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from real_data import cross_validate, encoded, indicators, logistic, numeric_columns, read, write
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier

CATEGORIES = ("vote", "breast_w", "car", "nursery", "mushroom", "tic_tac_toe", "zoo")
TITANIC = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked", "deck"]
"""The columns from which the other columns of the table follow."""

PLAIN, SHARED, EACH = "bayesnb, plain", "bayesnb, one exponent", "bayesnb, a weight each"
LOGISTIC, BOOSTING = "LogisticRegression", "HistGradientBoostingClassifier"
CALIBRATIONS = ("temperature", "sigmoid", "isotonic")
SCORES = {"log score": 1, "accuracy": 0, "Brier score": 2}
"""The columns of an array of scores."""

Makers = Mapping[str, Callable[[], Any]]
Tables = Mapping[str, Mapping[str, np.ndarray]]
"""Scores of each row, shape (rows, 3), by table and estimator."""


@dataclass(frozen=True)
class Case:
    """A table, its labels and the rows of each fold."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    split: list[tuple[np.ndarray, np.ndarray]]

    @property
    def rows_of_smallest_class(self) -> int:
        """The fewest rows that a class has in a training part."""
        return min(np.unique(self.y[train], return_counts=True)[1].min() for train, _ in self.split)


def cases() -> Iterator[Case]:
    """The tables. In those of categories alone a missing cell is a category."""
    for name in CATEGORIES:
        X, y = read(name, drop=("animal",) if name == "zoo" else ())
        yield _folded(name, X.fillna("?"), y)
    X, y = read("titanic_891", target="survived", as_text=False)
    yield _folded("titanic", X[TITANIC], y)
    X, y = nb.datasets.penguins()
    yield _folded("penguins", X, np.asarray(y))
    (X, y), (X_test, y_test) = (read(f"adult_{part}", as_text=False) for part in ("train", "test"))
    rows = np.arange(len(y) + len(y_test))
    both = pd.concat([X, X_test], ignore_index=True)
    yield Case("adult", both, np.concatenate([y, y_test]), [(rows[: len(y)], rows[len(y) :])])


def _folded(name: str, X: pd.DataFrame, y: np.ndarray) -> Case:
    return Case(name, X, y, list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y)))


def ours(case: Case) -> Makers:
    """All columns categorical, or in tables with numbers the families that the estimator chooses."""
    model = None if numeric_columns(case.X) else nb.NaiveBayes(nb.Categorical())
    return {
        PLAIN: lambda: NaiveBayesClassifier(model, feature_weights=None),
        SHARED: lambda: NaiveBayesClassifier(model, feature_weights="shared"),
        EACH: lambda: NaiveBayesClassifier(model, feature_weights="each"),
    }


def naive_bayes(case: Case) -> Makers:
    """scikit-learn's naive Bayes, as it is and calibrated.

    Calibration takes five parts, or as many as the smallest class has rows. A class of one row cannot be calibrated.
    """
    numbers, parts = numeric_columns(case.X), min(5, case.rows_of_smallest_class)
    complete = not case.X.isna().to_numpy().any()
    ways: dict[str, Callable[[], Any]] = {"CategoricalNB": lambda: encoded(case.X, complete, numbers)}
    if numbers:
        ways["GaussianNB"] = lambda: make_pipeline(indicators(case.X, numbers, sparse_threshold=0), GaussianNB())
    makers = dict(ways)
    for way, make in ways.items() if parts > 1 else ():
        for method in CALIBRATIONS:
            makers[f"{way}, {method}"] = lambda make=make, method=method: CalibratedClassifierCV(
                make(), method=method, cv=parts
            )
    return makers


def others(case: Case) -> Makers:
    """Classifiers that are not naive Bayes."""
    return {LOGISTIC: lambda: logistic(case.X, numeric_columns(case.X)), BOOSTING: lambda: boosting(case)}


def boosting(case: Case) -> Any:
    """Boosted trees on numbers and categories, both with missing cells.

    From 10,000 rows on they stop early by default, for which each class needs two rows.
    """
    named = [name for name in case.X if name not in numeric_columns(case.X)]
    types = {name: pd.CategoricalDtype(sorted(case.X[name].dropna().unique())) for name in named}
    stop = "auto" if case.rows_of_smallest_class > 1 else False
    return make_pipeline(
        FunctionTransformer(pd.DataFrame.astype, kw_args={"dtype": types}),
        HistGradientBoostingClassifier(early_stopping=stop, random_state=0),
    )


def measured(case: Case, makers: Makers, cache: Path | None) -> dict[str, np.ndarray]:
    """Scores of each row by estimator, read from the cache where it has them."""
    found = {}
    for label, make in makers.items():
        kept = cache and cache / f"{case.name}, {label}.npy"
        if kept and kept.exists():
            found[label] = np.load(kept)
        else:
            found[label] = cross_validate(make, case.X, case.y, case.split)
            if kept:
                np.save(kept, found[label])
        means = ", ".join(f"{name} {found[label][:, column].mean():.4f}" for name, column in SCORES.items())
        print(f"{case.name} | {label} | {means}", flush=True)
    return found


def best_naive_bayes(found: Mapping[str, np.ndarray]) -> str:
    """scikit-learn's naive Bayes of the highest mean log score, known only after the test."""
    labels = [label for label in found if label.split(",")[0].endswith("NB")]
    return max(labels, key=lambda label: found[label][:, SCORES["log score"]].mean())


def gap(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """The mean difference over rows and its standard error; the error is not known where a score is infinite."""
    with np.errstate(invalid="ignore"):
        difference = one - other
        return difference.mean(), difference.std() / np.sqrt(len(difference))


def side_by_side(tables: Tables, score: str) -> list[str]:
    """A line for each table: the mean score of each estimator, and how much higher that of a weight each is."""
    head = [f"{score}: table", PLAIN, SHARED, EACH, "scikit-learn's best naive Bayes", LOGISTIC, BOOSTING]
    lines = [_line(head), _line(["---"] * len(head))]
    for name, found in tables.items():
        column, chosen, cells = SCORES[score], best_naive_bayes(found), []
        for label in (PLAIN, SHARED, EACH, chosen, LOGISTIC, BOOSTING):
            named = f"{label}: " if label == chosen else ""
            beside = "" if label == EACH else f" ({_with_error(*gap(found[EACH][:, column], found[label][:, column]))})"
            cells.append(f"{named}{found[label][:, column].mean():.4f}{beside}")
        lines.append(_line([name, *cells]))
    return lines


def of_calibrations(tables: Tables) -> list[str]:
    """The log score of each way to calibrate scikit-learn's naive Bayes."""
    lines = [_line(["log score: table", "estimator", "as it is", *CALIBRATIONS]), _line(["---"] * 6)]
    for name, found in tables.items():
        for way in (way for way in ("CategoricalNB", "GaussianNB") if way in found):
            labels = [way, *(f"{way}, {method}" for method in CALIBRATIONS)]
            means = [f"{found[label][:, SCORES['log score']].mean():.4f}" if label in found else "" for label in labels]
            lines.append(_line([name, way, *means]))
    return lines


def verdicts(tables: Tables) -> list[str]:
    """On how many tables a weight each has a better log score than the others."""
    opponents = {
        "the same without weights": lambda found: PLAIN,
        "one exponent": lambda found: SHARED,
        "scikit-learn's best naive Bayes, chosen after the test": best_naive_bayes,
        "logistic regression": lambda found: LOGISTIC,
        "boosted trees": lambda found: BOOSTING,
    }
    lines = []
    for opponent, label in opponents.items():
        gaps = {name: gap(found[EACH][:, 1], found[label(found)][:, 1]) for name, found in tables.items()}
        wins = sum(difference > 0 for difference, _ in gaps.values())
        higher = [name for name, (difference, error) in gaps.items() if difference > 2 * error]
        lower = [name for name, (difference, error) in gaps.items() if difference < -2 * error]
        lines.append(
            f"- Against {opponent}: the higher log score on {wins} of {len(gaps)} tables. By more than two standard "
            f"errors it is higher on {_listed(higher)} and lower on {_listed(lower)}."
        )
    return lines


def _with_error(difference: float, error: float) -> str:
    return f"{difference:+.4f} ± {error:.4f}" if np.isfinite(difference) else f"{difference:+}"


def _listed(names: list[str]) -> str:
    return f"{len(names)} ({', '.join(names)})" if names else "none"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure what the cache lacks, and write the tables."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--cache", type=Path, help="folder for the scores of each table and estimator")
    cache = arguments.parse_args().cache
    if cache:
        cache.mkdir(parents=True, exist_ok=True)
    tables = {case.name: measured(case, {**ours(case), **naive_bayes(case), **others(case)}, cache) for case in cases()}
    parts = [*(side_by_side(tables, score) for score in SCORES), of_calibrations(tables), verdicts(tables)]
    lines = [line for part in parts for line in ["", *part]][1:]
    print("\n".join(lines))
    write("feature weights", "end of feature weights", lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
