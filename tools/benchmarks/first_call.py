"""`NaiveBayesClassifier()` as a new user calls it, beside what else they would try, on the same folds of real tables.

Run with ``make real-data``; writes the first tables of docs/real-data.md. The tables lie beside the checkout, or where
BAYESNB_TEST_DATA says. With ``--cache FOLDER`` the scores of each table and estimator are kept there, and a later run
computes only those it lacks. ``--tables pima,glass`` takes some of the tables and writes nothing.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from real_data import encoded, folder, indicators, log_proba, numeric_columns, write
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from bayesnb.estimators import NaiveBayesClassifier

DEFAULT, ONCE, PLAIN = "bayesnb", "each column once", "no weights"
FREQUENCIES = "class frequencies"
LOGISTIC, BOOSTING, FOREST, BAYES = (
    "LogisticRegression",
    "HistGradientBoosting",
    "RandomForest",
    "scikit-learn's best NB",
)
OTHERS = (ONCE, PLAIN, FREQUENCIES, BAYES, LOGISTIC, BOOSTING, FOREST)
SIZES, REPEATS, TEST_ROWS = (10, 20, 50, 100, 500), 6, 800
FEW_ROWS = (
    *("pima", "colic", "OJ", "credit_g", "Chile", "ionosphere"),
    *("spambase", "cmc", "page_blocks", "credit_a", "magic", "attrition"),
)
"""Tables for the curves: large enough, of few classes."""

UCI = {
    "adult_train": ("income",),
    "breast_w": ("Class",),
    "car": ("class",),
    "mushroom": ("class",),
    "nursery": ("class",),
    "penguins": ("species",),
    "tic_tac_toe": ("Class",),
    "titanic_891": ("survived", "alive", "class", "who", "adult_male", "embark_town", "alone"),
    "vote": ("Class",),
    "zoo": ("type", "animal"),
}
"""More tables: the column of the labels, and columns that follow from others or name the rows."""

Scores = Mapping[str, np.ndarray]
"""By estimator, for each row log score, Brier score, confidence of the most probable class and whether it is right."""


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A table as `pandas.read_csv` gives it, and its labels; at most 3,000 rows, of classes of ten rows or more."""
    if name in UCI:
        path = next((folder() / "uci").glob(f"{name}.csv*"))
        X = pd.read_csv(path, keep_default_na=False, na_values=["", "?"]).drop(columns=list(UCI[name][1:]))
        X = X.sample(min(len(X), 3000), random_state=0).rename(columns={UCI[name][0]: "target"})
        X = X[X.groupby("target")["target"].transform("size") >= 10].reset_index(drop=True)
    else:
        X = pd.read_csv(folder() / "tables" / f"{name}.csv.gz", keep_default_na=False, na_values=[""])
    return X, X.pop("target").astype(str).to_numpy()


def logistic(X: pd.DataFrame):
    """Categories as indicators, a missing one among them, numbers standardised; the penalty by cross-validation."""
    search = LogisticRegressionCV(
        Cs=8, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="neg_log_loss", max_iter=3000
    )
    return make_pipeline(indicators(X, numeric_columns(X), sparse_threshold=0), search)


def trees(X: pd.DataFrame, forest: bool):
    """Categories as indicators. Boosting takes missing numbers as they are."""
    numbers = numeric_columns(X)
    if forest:
        return make_pipeline(indicators(X, numbers, 0), RandomForestClassifier(300, random_state=0))
    names = [name for name in X if name not in numbers]
    known = {name: pd.CategoricalDtype(sorted(X[name].dropna().unique())) for name in names}
    coded = FunctionTransformer(lambda T: T.astype(known))
    return make_pipeline(coded, HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0))


def bayes(X: pd.DataFrame) -> dict[str, Callable]:
    """scikit-learn's ways to naive Bayes: ten bins of each number, or normal densities; plain and calibrated."""
    numbers = numeric_columns(X)
    found: dict[str, Callable] = {"CategoricalNB": lambda: encoded(X, False, numbers)}
    if len(numbers) == X.shape[1]:
        found["GaussianNB"] = lambda: make_pipeline(SimpleImputer(), GaussianNB())
    for name, make in list(found.items()):
        for method in ("sigmoid", "isotonic"):
            found[f"{name}, {method}"] = lambda make=make, method=method: CalibratedClassifierCV(make(), method=method)
    return found


def makers(X: pd.DataFrame) -> dict[str, Callable]:
    """All estimators for a table."""
    return {
        DEFAULT: NaiveBayesClassifier,
        ONCE: lambda: NaiveBayesClassifier(descriptions=None),
        PLAIN: lambda: NaiveBayesClassifier(feature_weights=None),
        FREQUENCIES: lambda: make_pipeline(FunctionTransformer(len_of), DummyClassifier(strategy="prior")),
        LOGISTIC: lambda: logistic(X),
        BOOSTING: lambda: trees(X, forest=False),
        FOREST: lambda: trees(X, forest=True),
        **bayes(X),
    }


def len_of(X: pd.DataFrame) -> np.ndarray:
    return np.zeros((len(X), 1))


def scored(model, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Log score, Brier score, confidence and hit of each row, shape (rows, 4)."""
    proba = np.clip(np.exp(log_proba(model, X)), 1e-12, 1)
    proba /= proba.sum(axis=1, keepdims=True)
    truth = y[:, None] == model.classes_
    score = np.where(truth, np.log(proba), -np.inf).max(axis=1)
    # A class that the training rows lack.
    score = np.maximum(score, np.log(1e-12))
    right = model.classes_[proba.argmax(axis=1)] == y
    return np.column_stack([score, ((proba - truth) ** 2).sum(axis=1), proba.max(axis=1), right])


def cross_validated(make: Callable, X: pd.DataFrame, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Scores of each row in five folds, and seconds of processor for all of them."""
    rows, start = np.empty((len(y), 4)), time.process_time()
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        rows[test] = scored(make().fit(X.iloc[train], y[train]), X.iloc[test], y[test])
    return rows, time.process_time() - start


def calibration_error(rows: np.ndarray) -> float:
    """Expected calibration error of the most probable class, in 15 bins of equal width."""
    which = np.minimum((rows[:, 2] * 15).astype(int), 14)
    return float(sum(abs((rows[which == k, 2] - rows[which == k, 3]).sum()) for k in range(15)) / len(rows))


def kept(cache: Path | None, key: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    path = cache and cache / f"{key}.npz"
    if path and path.exists():
        with np.load(path) as held:
            return dict(held)
    found = compute()
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **found)
    return found


def of_table(name: str, cache: Path | None) -> tuple[Scores, dict[str, float]]:
    """Scores and seconds of all estimators; of scikit-learn's naive Bayes those of the best, chosen after the test."""
    X, y = table(name)
    scores, seconds = {}, {}
    for label, make in makers(X).items():

        def compute(make: Callable = make) -> dict[str, np.ndarray]:
            rows, taken = cross_validated(make, X, y)
            return {"rows": rows, "seconds": np.array(taken)}

        found = kept(cache, f"{name}-{label}", compute)
        scores[label], seconds[label] = found["rows"], float(found["seconds"])
    best = max(bayes(X), key=lambda label: scores[label][:, 0].mean())
    scores[BAYES], seconds[BAYES] = scores[best], seconds[best]
    return {label: scores[label] for label in (DEFAULT, *OTHERS)}, seconds


def of_few_rows(name: str, cache: Path | None) -> dict[int, dict[str, float]]:
    """Log score less that of the class frequencies, after few rows, the mean over random choices of the rows."""
    X, y = table(name)
    wanted = {key: make for key, make in makers(X).items() if key in (DEFAULT, ONCE, PLAIN, FREQUENCIES, LOGISTIC)}

    def compute() -> dict[str, np.ndarray]:
        found: dict[str, list[float]] = {f"{size}-{label}": [] for size in SIZES for label in wanted}
        for size in SIZES:
            for repeat in range(REPEATS if size < 500 else 3):
                rng = np.random.default_rng([repeat, size])
                first = np.concatenate([rng.choice(np.flatnonzero(y == c), 1) for c in np.unique(y)])
                others = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
                train = np.concatenate([first, others])[:size]
                test = others[len(train) :][:TEST_ROWS]
                if len(test) < 150 or len(np.unique(y[train])) < len(first):
                    continue
                for label, make in wanted.items():
                    model = make() if label != LOGISTIC else few_rows_logistic(X)
                    rows = scored(model.fit(X.iloc[train], y[train]), X.iloc[test], y[test])
                    found[f"{size}-{label}"].append(rows[:, 0].mean())
        return {key: np.array(values) for key, values in found.items()}

    means = {
        key: values.mean() if len(values) else np.nan for key, values in kept(cache, f"few-{name}", compute).items()
    }
    return {
        size: {label: means[f"{size}-{label}"] - means[f"{size}-{FREQUENCIES}"] for label in wanted} for size in SIZES
    }


def few_rows_logistic(X: pd.DataFrame):
    """As `logistic`, with the penalty of scikit-learn's default: few rows have no folds to choose it in."""
    return make_pipeline(indicators(X, numeric_columns(X), sparse_threshold=0), LogisticRegression(max_iter=3000))


def plus_minus(values: np.ndarray) -> str:
    values = values[np.isfinite(values)]
    return f"{values.mean():+.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def report(scores: Mapping[str, Scores], seconds: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Lines of the page: the log score of each table, and means over tables with standard errors."""
    labels = (DEFAULT, *OTHERS)
    lines = [f"| table | {' | '.join(labels)} |", "|---" * (len(labels) + 1) + "|"]
    means = {label: np.array([scores[name][label][:, 0].mean() for name in scores]) for label in labels}
    for i, name in enumerate(scores):
        best = max(means[label][i] for label in labels if label != BAYES)
        cells = [f"**{means[x][i]:.3f}**" if means[x][i] == best else f"{means[x][i]:.3f}" for x in labels]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append(f"| **mean** | {' | '.join(f'{means[label].mean():.3f}' for label in labels)} |")
    rows = {
        "bayesnb minus this": [plus_minus(means[DEFAULT] - means[x]) if x != DEFAULT else "" for x in labels],
        "bayesnb higher on": [
            f"{(means[DEFAULT] > means[x]).sum()} of {len(scores)}" if x != DEFAULT else "" for x in labels
        ],
        "Brier score": [f"{np.mean([scores[n][x][:, 1].mean() for n in scores]):.3f}" for x in labels],
        "calibration error": [f"{np.mean([calibration_error(scores[n][x]) for n in scores]):.3f}" for x in labels],
        "seconds of processor, median table": [
            f"{np.median([seconds[n][x] for n in scores]):.1f}" if x != FREQUENCIES else "" for x in labels
        ],
    }
    return [*lines, *(f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())]


def report_few(curves: Mapping[str, Mapping[int, Mapping[str, float]]]) -> list[str]:
    lines = [f"| log score above class frequencies | {' | '.join(f'{n} rows' for n in SIZES)} |"]
    lines.append("|---" * (len(SIZES) + 1) + "|")
    for label in (DEFAULT, ONCE, PLAIN, LOGISTIC):
        each = [np.array([curves[name][size][label] for name in curves]) for size in SIZES]
        cells = [f"{plus_minus(values)} [{np.nanmin(values):+.2f}]" for values in each]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    gaps = [np.array([curves[n][size][DEFAULT] - curves[n][size][LOGISTIC] for n in curves]) for size in SIZES]
    return [*lines, f"| {DEFAULT} minus {LOGISTIC} | {' | '.join(plus_minus(gap) for gap in gaps)} |"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--tables")
    parser.add_argument("--no-few-rows", action="store_true")
    given = parser.parse_args()
    every = sorted([*UCI, *(path.name.removesuffix(".csv.gz") for path in (folder() / "tables").glob("*.csv.gz"))])
    names = given.tables.split(",") if given.tables else every
    scores, seconds, curves = {}, {}, {}
    for name in names:
        scores[name], seconds[name] = of_table(name, given.cache)
        print(name, *(f"{label} {rows[:, 0].mean():.3f}" for label, rows in scores[name].items()), flush=True)
        if name in FEW_ROWS and not given.no_few_rows:
            curves[name] = of_few_rows(name, given.cache)
    lines, few = report(scores, seconds), report_few(curves) if len(curves) > 1 else []
    print("\n".join([*lines, "", *few]))
    if not given.tables:
        write("first call", "first call end", lines)
        write("few rows", "few rows end", few)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
