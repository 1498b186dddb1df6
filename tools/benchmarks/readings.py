"""Readings of gaps, dates and codes in `NaiveBayesClassifier()`: random and later rows, new patients, few rows, noise.

Run with ``make real-data``; writes the tables of readings in docs/real-data.md, in four minutes of a processor. The
tables lie where real_data.py looks. ``--cache FOLDER`` as for first_call.py. ``--parts folds,noise`` computes some
tables and writes these.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from first_call import kept, scored
from real_data import folder, numeric_columns, write
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GroupKFold, StratifiedKFold

from bayesnb.estimators import NaiveBayesClassifier

TABLES = ("acs12", "births14", "respiratory", "seattle_weather", "breaches")
DATES = {"seattle_weather": "date", "breaches": "Breach.Submission.Date"}
SUBJECTS = {"respiratory": ["centre", "subject"]}
GAPS = ("acs12", "births14")
NOISE, PERMUTED = ("acs12", "respiratory", "seattle_weather"), (1.0, 0.95)
SIZES, DRAWS, TEST_ROWS = (10, 20, 50, 100), 10, 500
LEAVES, MOST_TREES = (3, 7, 15, 31), 200

READ, COLUMNS, BOOSTING, TUNED = "bayesnb", "without readings", "boosting", "boosting, tuned"
NO_GAPS = "without gaps"
BAYES = {READ: NaiveBayesClassifier, COLUMNS: lambda: NaiveBayesClassifier(descriptions="columns")}

Split = tuple[np.ndarray, np.ndarray]


def table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """A table as `pandas.read_csv` gives it, and its labels; at most 3,000 rows, of classes of ten rows or more."""
    path = next(folder().glob(f"tables*/{name}.csv.gz"))
    X = pd.read_csv(path, keep_default_na=False, na_values=["", "?"])
    X = X[X.groupby("target")["target"].transform("size") >= 10].reset_index(drop=True)
    if len(X) > 3000:
        X = X.iloc[np.random.default_rng(0).permutation(len(X))[:3000]].reset_index(drop=True)
    return X, X.pop("target").astype(str).to_numpy()


def folds(X: pd.DataFrame, y: np.ndarray, rows: np.ndarray, number: int) -> Iterator[Split]:
    """Random folds of some rows."""
    for train, test in StratifiedKFold(number, shuffle=True, random_state=0).split(rows, y[rows]):
        yield rows[train], rows[test]


def new_subjects(subjects: Iterable[str]) -> Callable:
    def splits(X: pd.DataFrame, y: np.ndarray, rows: np.ndarray, number: int) -> Iterator[Split]:
        groups = X[[*subjects]].astype(str).agg(" ".join, axis=1).to_numpy()[rows]
        for train, test in GroupKFold(number).split(rows, groups=groups):
            yield rows[train], rows[test]

    return splits


def later_rows(date: str) -> Callable:
    """The first four fifths in time, and the last fifth."""

    def splits(X: pd.DataFrame, y: np.ndarray, rows: np.ndarray, number: int) -> Iterator[Split]:
        order = rows[np.argsort(pd.to_datetime(X[date]).to_numpy()[rows], kind="stable")]
        yield order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]

    return splits


class Boosting:
    """Boosting of trees, which sees missing numbers, and dates as days, months and weekdays.

    Text of more than 255 values is left out. With `splits` the leaves and the number of trees are chosen by
    cross-validation, of the kind that the scores have.
    """

    def __init__(self, X: pd.DataFrame, y: np.ndarray, date: str | None, splits: Callable | None) -> None:
        given = X
        if date:
            when = pd.to_datetime(X[date])
            parts = {"day": (when - when.min()).dt.days, "month": when.dt.month, "weekday": when.dt.dayofweek}
            X = X.drop(columns=date).assign(**parts)
        numbers = numeric_columns(X)
        self.table = X[[name for name in X if name in numbers or X[name].nunique() <= 255]]
        self.table = self.table.astype({name: "category" for name in self.table if name not in numbers})
        self.given, self.y, self.splits = given, y, splits

    def scores(self, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Log scores of the rows to test."""
        leaves, trees = self.chosen(train) if self.splits else (31, 100)
        return list(self.path(train, test, leaves, trees))[-1]

    def chosen(self, rows: np.ndarray) -> tuple[int, int]:
        found = {leaves: np.zeros(MOST_TREES) for leaves in LEAVES}
        for train, test in self.splits(self.given, self.y, rows, 3):
            for leaves in LEAVES:
                found[leaves] += [scores.sum() for scores in self.path(train, test, leaves, MOST_TREES)]
        leaves = max(LEAVES, key=lambda one: found[one].max())
        return leaves, int(found[leaves].argmax()) + 1

    def path(self, train: np.ndarray, test: np.ndarray, leaves: int, trees: int) -> Iterator[np.ndarray]:
        """Log scores of the rows to test after each tree."""
        model = HistGradientBoostingClassifier(
            max_leaf_nodes=leaves, max_iter=trees, categorical_features="from_dtype", random_state=0
        ).fit(self.table.iloc[train], self.y[train])
        truth = self.y[test][:, None] == model.classes_
        for proba in model.staged_predict_proba(self.table.iloc[test]):
            yield np.log(np.maximum(np.where(truth, proba, 0.0).max(axis=1), 1e-12))


def of_bayes(make: Callable, X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Log scores of the rows to test."""
    return scored(make().fit(X.iloc[train], y[train]), X.iloc[test], y[test])[:, 0]


def frequencies(y: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    classes, number = np.unique(y[train], return_counts=True)
    shares = dict(zip(classes, number / len(train), strict=True))
    return np.log([shares.get(label, 1e-12) for label in y[test]])


def compared(name: str, splits: Callable, date: str | None) -> dict[str, np.ndarray]:
    """Log scores of all rows that are tested, by estimator."""
    X, y = table(name)
    outer = list(splits(X, y, np.arange(len(y)), 5))
    default, tuned = Boosting(X, y, date, None), Boosting(X, y, date, splits)
    ways: dict[str, Callable] = {
        **{key: lambda train, test, make=make: of_bayes(make, X, y, train, test) for key, make in BAYES.items()},
        BOOSTING: default.scores,
        TUNED: tuned.scores,
    }
    return {key: np.concatenate([way(*split) for split in outer]) for key, way in ways.items()}


def settings() -> Iterator[tuple[str, str, Callable]]:
    """Names of tables, what is tested, and how it is split."""
    for name in TABLES:
        yield name, "random fifths", folds
    for name, subjects in SUBJECTS.items():
        yield name, "new patients", new_subjects(subjects)
    for name, date in DATES.items():
        yield name, "last fifth in time", later_rows(date)


def gain(difference: np.ndarray) -> str:
    return f"{difference.mean():+.3f} ± {difference.std(ddof=1) / np.sqrt(len(difference)):.3f}"


def report_folds(cache: Path | None) -> list[str]:
    lines = [
        f"| table | test rows | {READ} | {COLUMNS} | {BOOSTING} | {TUNED} | gain by readings | over tuned boosting |",
        "|---" * 8 + "|",
    ]
    for name, kind, splits in settings():
        key = f"readings-{name}-{kind.replace(' ', '-')}"
        found = kept(cache, key, lambda name=name, splits=splits: compared(name, splits, DATES.get(name)))
        means = {way: scores.mean() for way, scores in found.items()}
        cells = [f"**{mean:.3f}**" if mean == max(means.values()) else f"{mean:.3f}" for mean in means.values()]
        gains = [gain(found[READ] - found[other]) for other in (COLUMNS, TUNED)]
        lines.append(f"| {name} | {kind} | {' | '.join([*cells, *gains])} |")
        print(lines[-1], flush=True)
    return lines


def permuted(name: str, share: float) -> dict[str, np.ndarray]:
    X, y = table(name)
    rng = np.random.default_rng(1)
    chosen = rng.permutation(len(y))[: round(share * len(y))]
    y[chosen] = y[rng.permutation(chosen)]
    outer = list(folds(X, y, np.arange(len(y)), 5))
    ways = {key: lambda *split, make=make: of_bayes(make, X, y, *split) for key, make in BAYES.items()}
    ways["class frequencies"] = lambda *split: frequencies(y, *split)
    return {key: np.concatenate([way(*split) for split in outer]) for key, way in ways.items()}


def report_noise(cache: Path | None) -> list[str]:
    lines = ["| table | labels permuted | gain by readings | over class frequencies |", "|---" * 4 + "|"]
    for share in PERMUTED:
        for name in NOISE:
            found = kept(cache, f"noise-{name}-{share}", lambda name=name, share=share: permuted(name, share))
            gains = [f"{d.mean():+.4f} ± {d.std(ddof=1) / np.sqrt(len(d)):.4f}" for d in _gaps(found)]
            lines.append(f"| {name} | {share:.0%} | {' | '.join(gains)} |")
            print(lines[-1], flush=True)
    return lines


def _gaps(found: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [found[READ] - found[other] for other in (COLUMNS, "class frequencies")]


def of_few_rows(name: str) -> dict[str, np.ndarray]:
    """Mean log scores after a few random rows, one of each class at least where these are so many, by draw."""
    X, y = table(name)
    found: dict[str, list[float]] = {f"{size}-{key}": [] for size in SIZES for key in BAYES}
    for size in SIZES:
        for draw in range(DRAWS):
            rng = np.random.default_rng([draw, size])
            first = np.concatenate([rng.choice(np.flatnonzero(y == label), 1) for label in np.unique(y)])
            rows = np.concatenate([first, rng.permutation(np.setdiff1d(np.arange(len(y)), first))])
            for key, make in BAYES.items():
                scores = of_bayes(make, X, y, rows[:size], rows[size : size + TEST_ROWS])
                found[f"{size}-{key}"].append(scores.mean())
    return {key: np.array(values) for key, values in found.items()}


def report_few(cache: Path | None) -> list[str]:
    lines = [f"| table | {' | '.join(f'{size} rows' for size in SIZES)} |", "|---" * (len(SIZES) + 1) + "|"]
    for name in TABLES:
        found = kept(cache, f"few-readings-{name}", lambda name=name: of_few_rows(name))
        cells = [
            f"{found[f'{size}-{READ}'].mean():.2f} ({gain(found[f'{size}-{READ}'] - found[f'{size}-{COLUMNS}'])})"
            for size in SIZES
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def moved(name: str) -> dict[str, np.ndarray]:
    """Log scores with and without readings of gaps, as the rows are, and with a quarter of the other cells missing."""
    X, y = table(name)
    changed, rng = X.copy(), np.random.default_rng(0)
    for column in X.columns[X.isna().mean() > 0.005]:
        changed.loc[rng.uniform(size=len(X)) < 0.25, column] = np.nan
    ways = {READ: (), NO_GAPS: ["x is missing"]}
    found: dict[str, list[np.ndarray]] = {f"{kind}-{key}": [] for kind in ("as it is", "moved") for key in ways}
    for train, test in folds(X, y, np.arange(len(y)), 5):
        for key, exclude in ways.items():
            model = NaiveBayesClassifier(exclude=exclude).fit(X.iloc[train], y[train])
            for kind, rows in (("as it is", X), ("moved", changed)):
                found[f"{kind}-{key}"].append(scored(model, rows.iloc[test], y[test])[:, 0])
    return {key: np.concatenate(scores) for key, scores in found.items()}


def report_moved(cache: Path | None) -> list[str]:
    lines = [f"| table | gaps of the rows to predict | {READ} | {NO_GAPS} | gain |", "|---" * 5 + "|"]
    for name in GAPS:
        found = kept(cache, f"moved-{name}", lambda name=name: moved(name))
        for kind in ("as it is", "moved"):
            read, without = found[f"{kind}-{READ}"], found[f"{kind}-{NO_GAPS}"]
            said = "as in the fit" if kind == "as it is" else "and a quarter of the other cells, at random"
            lines.append(f"| {name} | {said} | {read.mean():.3f} | {without.mean():.3f} | {gain(read - without)} |")
            print(lines[-1], flush=True)
    return lines


PARTS = {
    "folds": ("readings", report_folds),
    "noise": ("readings of noise", report_noise),
    "few": ("readings of few rows", report_few),
    "moved": ("readings of other gaps", report_moved),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--no-write", action="store_true")
    given, start = parser.parse_args(), time.process_time()
    for part in given.parts.split(","):
        mark, report = PARTS[part]
        lines = report(given.cache)
        if not given.no_write:
            write(mark, f"{mark} end", lines)
    print(f"{time.process_time() - start:.0f} s of a processor")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
