"""Accuracy, log score and Brier score on real tables, side by side with scikit-learn on the same folds.

Run with ``make real-data``; writes docs/real-data.md. The tables lie beside the checkout, or where
BAYESNB_TEST_DATA says.
"""

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.naive_bayes as theirs
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler

import bayesnb as nb
from bayesnb import estimators as ours

ROOT = Path(__file__).parents[2]


def folder() -> Path:
    named = os.environ.get("BAYESNB_TEST_DATA")
    return Path(named) if named else ROOT.parent / "shared" / "data"


def read(name: str, target: str | None = None, drop: tuple[str, ...] = (), as_text: bool = True):
    """A table of strings (or of what the columns look like), its missing cells as None, and its labels."""
    path = next(
        path for path in (folder() / "uci" / f"{name}.csv", folder() / "uci" / f"{name}.csv.gz") if path.exists()
    )
    table = pd.read_csv(path, na_values=["?"], dtype=str if as_text else None)
    target = target or table.columns[-1]
    return table.drop(columns=[target, *drop]), table[target].astype(str).to_numpy()


def text(name: str):
    table = pd.read_csv(folder() / name / f"{name}.csv.gz")
    return table["text"].to_numpy(), table["label"].to_numpy()


def encoded(X: pd.DataFrame, imputed: bool, numeric: tuple[str, ...] = ()):
    """scikit-learn's way to categories, every category of the table known in advance.

    Missing cells are imputed by the most frequent value or made a category; numbers are cut into ten bins.
    """
    named = [name for name in X.columns if name not in numeric]
    texts = X[named].astype(object).where(X[named].notna(), None)
    known = [
        sorted({str(value) for value in texts[name] if value is not None} | {"?"} - ({"?"} if imputed else set()))
        for name in named
    ]
    fill = (
        SimpleImputer(missing_values=None, strategy="most_frequent")
        if imputed
        else SimpleImputer(missing_values=None, strategy="constant", fill_value="?")
    )
    text = make_pipeline(FunctionTransformer(_as_text), fill, OrdinalEncoder(categories=known))
    bins = make_pipeline(
        SimpleImputer(strategy="median"),
        KBinsDiscretizer(10, encode="ordinal", quantile_method="averaged_inverted_cdf"),
    )
    parts = ([(bins, list(numeric))] if numeric else []) + [(text, named)]
    sizes = [10] * len(numeric) + [len(categories) for categories in known]
    return make_pipeline(make_column_transformer(*parts), theirs.CategoricalNB(min_categories=sizes))


def logistic(X: pd.DataFrame, numeric: tuple[str, ...] = ()):
    """Logistic regression on categories as indicators, a missing one among them, and standardised numbers."""
    return make_pipeline(indicators(X, numeric), _regression())


def indicators(X: pd.DataFrame, numeric: tuple[str, ...] = (), sparse_threshold: float = 0.3):
    """Categories as indicators, a missing one among them, and numbers standardised, missing ones at the median."""
    named = [name for name in X.columns if name not in numeric]
    fill = SimpleImputer(missing_values=None, strategy="constant", fill_value="?")
    text = make_pipeline(FunctionTransformer(_as_text), fill, OneHotEncoder(handle_unknown="ignore"))
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    return make_column_transformer((numbers, list(numeric)), (text, named), sparse_threshold=sparse_threshold)


def _regression():
    return LogisticRegression(max_iter=5000)


def _as_text(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype(object).where(X.isna(), X.astype(str)).where(X.notna(), None)


class Binned(theirs.BaseEstimator):
    """bayesnb on ten bins of each number, missing cells kept missing."""

    def __init__(self, numeric=()):
        self.numeric = numeric

    def fit(self, X, y):
        self.edges_ = {name: np.unique(np.nanquantile(X[name], np.linspace(0, 1, 11)[1:-1])) for name in self.numeric}
        self.model_ = ours.NaiveBayesClassifier(nb.NaiveBayes(nb.Categorical()), feature_weights=None).fit(
            self._cut(X), y
        )
        self.classes_ = self.model_.classes_
        return self

    def predict_log_proba(self, X):
        return self.model_.predict_log_proba(self._cut(X))

    def _cut(self, X):
        bins = {
            name: np.where(X[name].isna(), np.nan, np.searchsorted(edges, X[name]))
            for name, edges in self.edges_.items()
        }
        return X.assign(**bins)


class Families(theirs.BaseEstimator):
    """bayesnb with families of the columns' types ("types"), or chosen in the training rows ("evidence", "labels")."""

    def __init__(self, by="types"):
        self.by = by

    def fit(self, X, y):
        guessed = self.by == "types"
        model = nb.NaiveBayes.from_frame(X) if guessed else nb.choose_families(X, y, criterion=self.by).model
        self.model_ = ours.NaiveBayesClassifier(model, feature_weights=None).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_log_proba(self, X):
        return self.model_.predict_log_proba(X)


class Grouped(theirs.BaseEstimator):
    """bayesnb with columns merged in the training rows, where a missing text is a category.

    All columns have one family, or families chosen in the training rows.
    """

    def __init__(self, family=None):
        self.family = family

    def fit(self, X, y):
        X = self._filled(X)
        model = nb.choose_families(X, y).model if self.family is None else self.family
        model = nb.group_columns(model, X, y).model
        self.model_ = ours.NaiveBayesClassifier(model, feature_weights=None).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_log_proba(self, X):
        return self.model_.predict_log_proba(self._filled(X))

    def _filled(self, X):
        numbers = numeric_columns(X)
        return X.assign(
            **{name: X[name].astype(object).where(X[name].notna(), "?") for name in X if name not in numbers}
        )


def scores(log_proba: np.ndarray, classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Hit, log score and Brier score of each row, shape (rows, 3)."""
    truth, proba = y[:, None] == classes[None, :], np.exp(log_proba)
    log_score = np.where(truth, log_proba, -np.inf).max(1)
    return np.column_stack([classes[log_proba.argmax(1)] == y, log_score, ((proba - truth) ** 2).sum(1)])


def log_proba(model, X) -> np.ndarray:
    """Log of the class probabilities, of estimators that give only the probabilities as well."""
    if hasattr(model, "predict_log_proba"):
        return model.predict_log_proba(X)
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X))


def cross_validate(make: Callable, X, y, split=None) -> np.ndarray:
    rows = np.empty((len(y), 3))
    folds = split or list(StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
    for train, test in folds:
        part = (lambda index: X.iloc[index]) if isinstance(X, pd.DataFrame) else (lambda index: X[index])
        model = make().fit(part(train), y[train])
        rows[test] = scores(log_proba(model, part(test)), model.classes_, y[test])
    tested = np.unique(np.concatenate([test for _, test in folds]))
    return rows[tested]


def categorical():
    return ours.NaiveBayesClassifier(nb.NaiveBayes(nb.Categorical()), feature_weights=None)


def cases():
    for name in ("vote", "mushroom", "car", "nursery"):
        X, y = read(name)
        yield name, X, y, None, "Categorical, missing skipped", categorical, _baselines(X)
        yield name, X, y, None, *_grouped(X, nb.Categorical(), categorical)
    X, y = read("zoo", drop=("animal",))
    yield "zoo", X, y, None, "Categorical", categorical, _baselines(X)
    yield "zoo", X, y, None, *_grouped(X, nb.Categorical(), categorical)
    X, y = read("breast_w", as_text=False)
    impute = lambda: make_pipeline(SimpleImputer(), theirs.GaussianNB())  # noqa: E731
    regression = lambda: make_pipeline(SimpleImputer(), StandardScaler(), _regression())  # noqa: E731
    others = {"GaussianNB, mean imputed": impute, "LogisticRegression, mean imputed, standardised": regression}
    yield "breast_w", X, y, None, "Gaussian, missing skipped", ours.GaussianNB, others
    yield "breast_w", X, y, None, *_grouped(X, nb.Gaussian(), ours.GaussianNB)
    for label, by in (("chosen by evidence", "evidence"), ("chosen by labels", "labels")):
        others = {
            "bayesnb: Gaussian": ours.GaussianNB,
            "LogisticRegression, indicators": lambda: logistic(X, numeric_columns(X)),
        }
        yield "breast_w", X, y, None, f"{label}, missing skipped", lambda by=by: Families(by), others
    X, y = nb.datasets.penguins()
    for label, make, others in _ways(X):
        yield "penguins", X, np.asarray(y), None, label, make, others
    X, y = read("titanic_891", target="survived", as_text=False, drop=("alive",))
    for label, make, others in _ways(X):
        yield "titanic_891", X, y, None, label, make, others
    train, test = (read(f"adult_{part}", as_text=False) for part in ("train", "test"))
    X, y = pd.concat([train[0], test[0]], ignore_index=True), np.concatenate([train[1], test[1]])
    split = [(np.arange(len(train[1])), np.arange(len(train[1]), len(y)))]
    for label, make, others in _ways(X):
        yield "adult (train to test)", X, y, split, label, make, others
    for name in ("sms_spam", "sentence_polarity"):
        X, y = text(name)
        plain = {
            "MultinomialNB": lambda: make_pipeline(CountVectorizer(), theirs.MultinomialNB()),
            "LogisticRegression": lambda: make_pipeline(CountVectorizer(), _regression()),
        }
        exact = lambda: make_pipeline(CountVectorizer(), ours.MultinomialNB())  # noqa: E731
        yield name, X, y, None, "Multinomial, exact", exact, plain


def _baselines(X):
    if not X.isna().to_numpy().any():
        return {"CategoricalNB": lambda: encoded(X, True), "LogisticRegression, indicators": lambda: logistic(X)}
    return {
        "CategoricalNB, most frequent imputed": lambda: encoded(X, True),
        "CategoricalNB, missing a category": lambda: encoded(X, False),
        "LogisticRegression, indicators, missing a category": lambda: logistic(X),
    }


def numeric_columns(X):
    return tuple(name for name in X.columns if pd.api.types.is_numeric_dtype(X[name]) and X[name].dtype != bool)


def _ways(X):
    """Families of a table of numbers and text: by their types, in bins, and chosen by the training rows."""
    others = _mixed(X)
    yield "guessed, missing skipped", lambda: Families("types"), others
    yield "ten bins, missing skipped", lambda: Binned(numeric_columns(X)), others
    by_hand = {"bayesnb: guessed": lambda: Families("types"), "bayesnb: ten bins": lambda: Binned(numeric_columns(X))}
    yield "chosen by evidence, missing skipped", lambda: Families("evidence"), by_hand | others
    yield "chosen by labels, missing skipped", lambda: Families("labels"), by_hand | others
    yield _grouped(X, None, lambda: Families("evidence"))


def _grouped(X, family, separate):
    """Columns merged into joint blocks, beside the same columns without merges."""
    label = "columns merged" if family else "chosen by evidence, columns merged"
    others = {
        "bayesnb: not merged": separate,
        "LogisticRegression, indicators": lambda: logistic(X, numeric_columns(X)),
    }
    return label, lambda: Grouped(family), others


def _mixed(X):
    return {
        "CategoricalNB, ten bins, imputed": lambda: encoded(X, True, numeric_columns(X)),
        "CategoricalNB, ten bins, missing a category": lambda: encoded(X, False, numeric_columns(X)),
        "LogisticRegression, indicators, standardised": lambda: logistic(X, numeric_columns(X)),
    }


def write(start: str, end: str, lines: list[str], page: Path = ROOT / "docs" / "real-data.md") -> None:
    """Put lines between two marks of the page, in place of the lines that are there."""
    start, end = f"<!-- {start} -->\n", f"<!-- {end} -->\n"
    before, rest = page.read_text().split(start)
    page.write_text(before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1])


def main() -> None:
    lines = ["| table | estimator | accuracy | log score | Brier score |", "|---|---|---|---|---|"]
    for name, X, y, split, label, make, baselines in cases():
        mine = cross_validate(make, X, y, split)
        lines.append(f"| {name} | bayesnb: {label} | " + " | ".join(f"{value:.4f}" for value in mine.mean(0)) + " |")
        for other, make_other in baselines.items():
            rows = cross_validate(make_other, X, y, split)
            gap = mine - rows
            error = gap.std(0) / np.sqrt(len(gap))
            cells = " | ".join(
                f"{value:.4f} ({d:+.4f} ± {e:.4f})"
                for value, d, e in zip(rows.mean(0), gap.mean(0), error, strict=True)
            )
            source = "" if other.startswith("bayesnb") else "scikit-learn: "
            lines.append(f"| | {source}{other} | {cells} |")
        print("\n".join(lines[-1 - len(baselines) :]), flush=True)
    write("table", "end", lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
