"""Scores of plain naive Bayes on categories and words, side by side with scikit-learn on the same folds.

Run with ``make real-data``; writes a table of docs/real-data.md. The tables lie beside the checkout, or where
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


def scores(log_proba: np.ndarray, classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Hit and log score of each row, shape (rows, 2)."""
    truth = y[:, None] == classes[None, :]
    log_score = np.where(truth, log_proba, -np.inf).max(1)
    return np.column_stack([classes[log_proba.argmax(1)] == y, log_score])


def log_proba(model, X) -> np.ndarray:
    """Log of the class probabilities, of estimators that give only the probabilities as well."""
    if hasattr(model, "predict_log_proba"):
        return model.predict_log_proba(X)
    with np.errstate(divide="ignore"):
        return np.log(model.predict_proba(X))


def cross_validate(make: Callable, X, y) -> np.ndarray:
    rows = np.empty((len(y), 2))
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        part = (lambda index: X.iloc[index]) if isinstance(X, pd.DataFrame) else (lambda index: X[index])
        model = make().fit(part(train), y[train])
        rows[test] = scores(log_proba(model, part(test)), model.classes_, y[test])
    return rows


def categorical():
    return ours.NaiveBayesClassifier(nb.NaiveBayes(nb.Categorical()), feature_weights=None)


def cases():
    for name in ("vote", "mushroom", "car", "nursery", "zoo"):
        X, y = read(name, drop=("animal",) if name == "zoo" else ())
        yield name, X, y, "Categorical, missing skipped", categorical, _baselines(X)
    for name in ("sms_spam", "sentence_polarity"):
        X, y = text(name)
        plain = {
            "MultinomialNB": lambda: make_pipeline(CountVectorizer(), theirs.MultinomialNB()),
            "LogisticRegression": lambda: make_pipeline(CountVectorizer(), _regression()),
        }
        exact = lambda: make_pipeline(CountVectorizer(), ours.MultinomialNB())  # noqa: E731
        yield name, X, y, "Multinomial, exact", exact, plain


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


def write(start: str, end: str, lines: list[str], page: Path = ROOT / "docs" / "real-data.md") -> None:
    """Put lines between two marks of the page, in place of the lines that are there."""
    start, end = f"<!-- {start} -->\n", f"<!-- {end} -->\n"
    before, rest = page.read_text().split(start)
    page.write_text(before + start + "\n".join(lines) + "\n" + end + rest.split(end)[1])


def main() -> None:
    lines = ["| table | estimator | accuracy | log score |", "|---|---|---|---|"]
    for name, X, y, label, make, baselines in cases():
        mine = cross_validate(make, X, y)
        lines.append(f"| {name} | bayesnb: {label} | " + " | ".join(f"{value:.4f}" for value in mine.mean(0)) + " |")
        for other, make_other in baselines.items():
            rows = cross_validate(make_other, X, y)
            gap = mine - rows
            error = gap.std(0) / np.sqrt(len(gap))
            cells = " | ".join(
                f"{value:.4f} ({d:+.4f} ± {e:.4f})"
                for value, d, e in zip(rows.mean(0), gap.mean(0), error, strict=True)
            )
            lines.append(f"| | scikit-learn: {other} | {cells} |")
        print("\n".join(lines[-1 - len(baselines) :]), flush=True)
    write("table", "end", lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
