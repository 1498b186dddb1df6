"""How fast fitting and predicting is, side by side with scikit-learn in one process; ``make bench`` runs it.

Each case runs in a process of its own, both sides in alternation: first to warm up, then so many times and so long that
the medians settle. A further process for each side measures its memory. With `--against` a checkout of an earlier
version, another process has that version in place of this one, next to the reference, too. The table goes between two
marks of docs/performance.md; the text around it is written by hand.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import sklearn.naive_bayes as theirs
from report import add_against, in_own_process, machine, memory_beyond, of_earlier, seconds, tell
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_selection import mutual_info_classif
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesnb as nb
from bayesnb import estimators as ours

WARM_UP, LEAST, MOST = 2.0, 5.0, 60.0
"""Seconds of alternation before the clock counts, the fewest in which it does, and after how many no pair begins."""


@dataclass(frozen=True)
class Work:
    """Two ways to do the same work, and the data that both read."""

    reference: Callable[[], Any]
    ours: Callable[[], Any]
    data: Any


@dataclass(frozen=True)
class Case:
    """A line of the table; the goal is how many times as fast as the reference the work is to be, or words."""

    name: str
    size: str
    goal: float | str
    prepare: Callable[[float], Work]
    reference: str = "scikit-learn"


def bernoulli(scale: float) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = round(1_000_000 * scale)
    return rng.integers(0, 10, (rows, 100), dtype=np.uint8) < 3, rng.integers(0, 5, rows)


def gaussian(scale: float) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, round(500_000 * scale))
    return rng.standard_normal((len(y), 100)) + 0.1 * y[:, None], y


def million(scale: float) -> tuple[Any, np.ndarray]:
    return gaussian(2 * scale)


def mixed(scale: float, shared: float = 1.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Four columns of each kind that real tables have, some cells missing; five columns share what is hidden."""
    rng = np.random.default_rng(0)
    rows, columns = round(100_000 * scale), {}
    y = rng.integers(0, 5, rows)
    for j in range(4):
        hidden = shared * rng.normal(size=rows) + 0.3 * (y == j)
        size, age, gain, count, kind = hidden + rng.normal(size=(5, rows))
        age = np.round(40 + 8 * age)
        columns |= {
            f"size {j}": size,
            f"age {j}": np.where(rng.random(rows) < 0.5, age, 5 * np.round(age / 5)),
            f"gain {j}": np.where(gain > 0, np.exp(5 + gain).round(2), 0),
            f"count {j}": rng.poisson(np.exp(count / 2)),
            f"kind {j}": np.array(list("abcdefgh"))[np.clip(2 * kind + 4, 0, 7).astype(int)],
        }
    X = pd.DataFrame(columns)
    return X.mask(rng.random(X.shape) < 0.05 * (np.arange(20) % 3 == 0)), y


def categorical(scale: float) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = round(1_000_000 * scale)
    return rng.integers(0, 10, (rows, 20)), rng.integers(0, 5, rows)


def short_documents(scale: float) -> tuple[Any, np.ndarray]:
    """Documents of 51 words, about 46 of them distinct: one count in thirteen exceeds one."""
    return documents(scale, 1 / np.arange(2.0, 50_002.0), 51)


def repeated_words(scale: float) -> tuple[Any, np.ndarray]:
    """Documents of 51 words with Zipf's exponent 1.28, about 28 of them distinct: 22 counts in a hundred exceed one."""
    return documents(scale, np.arange(1.0, 50_001.0) ** -1.28, 51)


def long_documents(scale: float) -> tuple[Any, np.ndarray]:
    """Documents of 120 words, about 108 of them distinct: one count in twelve exceeds one."""
    return documents(scale, 1 / np.arange(5.0, 50_005.0), 120)


def documents(scale: float, frequency: np.ndarray, length: int) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    rows, words = round(100_000 * scale), len(frequency)
    edges = np.cumsum(frequency)
    word = np.searchsorted(edges, rng.uniform(high=edges[-1], size=rows * length)).astype(np.int32)
    document = np.repeat(np.arange(rows, dtype=np.int32), length)
    X = scipy.sparse.coo_array((np.ones(len(word)), (document, word)), shape=(rows, words)).tocsr()
    return X, rng.integers(0, 20, rows)


def small_counts(scale: float) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, round(200_000 * scale))
    return rng.poisson(rng.gamma(2.0, 2.0, (5, 50))[y]).astype(float), y


def skewed_counts(scale: float) -> tuple[Any, np.ndarray]:
    """Rates from a lognormal distribution: one count in fifty is above 500."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, round(200_000 * scale))
    return rng.poisson(rng.lognormal(3.0, 1.5, (5, 50))[y]).astype(float), y


def frame(columns: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A thousand rows of named columns, half numbers and half categories."""
    rng = np.random.default_rng(0)
    y = rng.choice(list("abcde"), 1000)
    numbers = {f"size {j}": rng.normal(size=1000) for j in range(columns // 2)}
    kinds = {f"kind {j}": rng.choice(["red", "green", "blue"], 1000) for j in range(columns // 2)}
    return pd.DataFrame(numbers | kinds), y


def fitting(make: Callable[[float], tuple[Any, np.ndarray]], their: Any, our: Any) -> Callable[[float], Work]:
    def prepare(scale: float) -> Work:
        X, y = make(scale)
        return Work(lambda: their.fit(X, y), lambda: our.fit(X, y), X)

    return prepare


def predicting(make: Callable[[float], tuple[Any, np.ndarray]], their: Any, our: Any) -> Callable[[float], Work]:
    def prepare(scale: float) -> Work:
        X, y = make(scale)
        their.fit(X, y), our.fit(X, y)
        return Work(lambda: their.predict_proba(X), lambda: our.predict_proba(X), X)

    return prepare


def leaving_out(make: Callable[[float], tuple[Any, np.ndarray]], our: Any) -> Callable[[float], Work]:
    def prepare(scale: float) -> Work:
        X, y = make(scale)
        posterior = our.fit(X, y).posterior_
        return Work(lambda: posterior.predict_proba(X), lambda: nb.loo(posterior, X, y), X)

    return prepare


def beside_loo(
    make: Callable[[float], tuple[Any, np.ndarray]], our: Any, verb: Callable[[Any, Any, np.ndarray], Any]
) -> Callable[[float], Work]:
    """What learns weights of features, given a posterior and its rows, beside leave-one-out of the same rows."""

    def prepare(scale: float) -> Work:
        X, y = make(scale)
        posterior = our.fit(X, y).posterior_
        return Work(lambda: nb.loo(posterior, X, y), lambda: verb(posterior, X, y), X)

    return prepare


def first_call(_: Any, X: Any, y: np.ndarray) -> Any:
    """The default classifier, which chooses families, describes columns and learns weights."""
    return nb.NaiveBayesClassifier().fit(X, y)


def categories(X: pd.DataFrame) -> pd.DataFrame:
    """What boosted trees take in place of text."""
    return X.astype(dict.fromkeys(X.select_dtypes("str"), "category"))


def one_row(their: Any, our: Any) -> Callable[[float], Work]:
    """A hundred predictions of a single row by estimators that are fitted."""

    def prepare(_: float) -> Work:
        X, y = load_iris(return_X_y=True)
        their.fit(X, y), our.fit(X, y)
        rows = np.repeat(X[:1, None], 100, axis=0)
        return Work(
            lambda: [their.predict_proba(row) for row in rows], lambda: [our.predict_proba(row) for row in rows], X
        )

    return prepare


IRIS = "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True);"
FIT = "GaussianNB().fit(X, y).predict(X)"
VALIDATE = "from sklearn.model_selection import cross_val_score; cross_val_score(GaussianNB(), X, y, n_jobs=2)"
LOAD = "import bayesnb as nb; nb.load('{}').predict(X)"
"""What a fresh process runs."""


def in_fresh_process(script: str, our_script: str = "") -> Callable[[float], Work]:
    """A script with scikit-learn's `GaussianNB`, beside the same with bayesnb's, or another script."""

    def prepare(_: float) -> Work:
        X, y = load_iris(return_X_y=True)
        saved = Path(tempfile.gettempdir()) / "iris.nc"
        nb.fit(nb.Gaussian(), X, y).save(saved)

        def run(package: str, commands: str) -> None:
            commands = f"from {package} import GaussianNB; {IRIS} {commands.format(saved)}"
            # Elsewhere than in a checkout, whose package Python would import first.
            subprocess.run([sys.executable, "-c", commands], check=True, cwd=saved.parent)

        reference, own = ("sklearn.naive_bayes", script), ("bayesnb.estimators", our_script or script)
        return Work(partial(run, *reference), partial(run, *own), X)

    return prepare


def saved_classifier() -> tuple[pd.DataFrame, Any, Path, dict[str, Any]]:
    """A table of mixed columns, its classifier and its file, and a row."""
    X, y = mixed(0.02)
    path = Path(tempfile.gettempdir()) / "mixed.nc"
    classifier = nb.NaiveBayesClassifier().fit(X, y)
    classifier.save(path)
    return X, classifier, path, X.dropna().iloc[0].to_dict()


SERVE = "import bayesnb.serve as serve; serve.load({!r}).predict_proba({!r})"


def serve_in_fresh_process(_: float) -> Work:
    """NumPy's import in a fresh process, and the first row that a saved classifier predicts there."""
    X, _, path, row = saved_classifier()
    cells = {name: cell if isinstance(cell, str) else float(cell) for name, cell in row.items()}

    def run(commands: str) -> None:
        subprocess.run([sys.executable, "-c", commands], check=True, cwd=path.parent)

    return Work(partial(run, "import numpy"), partial(run, SERVE.format(str(path), cells)), X)


def serve_rows(number: int) -> Callable[[float], Work]:
    """A dict, a hundred times, or many dicts at once, by the estimator and as its file is served."""

    def prepare(_: float) -> Work:
        X, classifier, path, row = saved_classifier()
        served, rows = nb.serve.load(path), [row] * number
        if number > 1:
            return Work(lambda: classifier.predict_proba(pd.DataFrame(rows)), lambda: served.predict_proba(rows), X)
        return Work(
            lambda: [classifier.predict_proba(row) for _ in range(100)],
            lambda: [served.predict_proba(row) for _ in range(100)],
            X,
        )

    return prepare


def beside_gaussian(
    make: Callable[[float], tuple[Any, np.ndarray]], verb: Callable[..., Any]
) -> Callable[[float], Work]:
    """A verb for Poisson columns, beside the same for as many Gaussian ones."""

    def prepare(scale: float) -> Work:
        X, y = make(scale)
        numbers = np.random.default_rng(1).normal(size=X.shape) + 0.1 * y[:, None]
        gaussian, poisson = nb.fit(nb.Gaussian(), numbers, y), nb.fit(nb.Poisson(), X, y)
        return Work(lambda: verb(gaussian, numbers, y), lambda: verb(poisson, X, y), X)

    return prepare


def under_draws(verb: Callable[[Any, np.ndarray], Any]) -> Callable[[float], Work]:
    """A verb of a posterior of 4,000 draws, beside the product of squares and cells with as many natural parameters."""

    def prepare(scale: float) -> Work:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 5, round(2000 * scale))
        X = rng.normal(size=(len(y), 50)) + 0.1 * y[:, None]
        exact = nb.fit(nb.Gaussian(), X, y)
        sampled = nb.from_samples(exact.model, exact.draws(num_draws=1000, num_chains=4, key=1), X=X, y=y)
        terms, natural = np.hstack([X, X**2]), rng.normal(size=(100, 4000 * 5))
        return Work(lambda: terms @ natural, lambda: verb(sampled, X), X)

    return prepare


def wide(
    work: Callable[[pd.DataFrame, np.ndarray], tuple[Callable[[], Any], Callable[[], Any]]],
) -> Callable[[float], Work]:
    """Something to do with 500 named columns, and what it is compared with."""

    def prepare(_: float) -> Work:
        X, y = frame(500)
        return Work(*work(X, y), X)

    return prepare


def trees(X: pd.DataFrame, y: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    few, all_columns = X.iloc[:, 200:300], X
    posteriors = [nb.fit(nb.NaiveBayes.from_frame(table), table, y) for table in (few, all_columns)]
    return tuple(
        partial(posterior.to_datatree, table, y, num_draws=250)
        for posterior, table in zip(posteriors, (few, all_columns), strict=True)
    )


def informations(X: pd.DataFrame, y: np.ndarray) -> tuple[Callable[[], Any], Callable[[], Any]]:
    posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    codes = X.apply(lambda column: column if column.dtype.kind == "f" else pd.factorize(column)[0])
    categories = np.arange(500) >= 250
    return (
        lambda: mutual_info_classif(codes, y, discrete_features=categories, random_state=0),
        lambda: nb.mutual_information(posterior),
    )


BITS = "1,000,000 x 100 bool, 5 classes"
REALS = "500,000 x 100 float64, 5 classes"
MILLION = "1,000,000 x 100 float64, 5 classes"
TENTH = "100,000 x 100 float64, 5 classes"
MIXED = "100,000 x 20 numbers, integers and text, 5 classes"
FEW_MIXED = "2,000 x 20 numbers, integers and text, 5 classes"
CODES = "1,000,000 x 20 int64, 10 categories, 5 classes"
WORDS = "100,000 x 50,000 CSR, 8 % of the counts above one, 20 classes"
ZIPF = "100,000 x 50,000 CSR, 22 % of the counts above one, 20 classes"
LONG = "100,000 x 50,000 CSR, 120 words each, 20 classes"
COUNTS = "200,000 x 50 counts, 5 classes"
DRAWS = "2,000 x 50 float64, 5 classes, 4,000 draws"
FRAME = "1,000 x 500 named columns, half of them text, 5 classes"
FLOWERS = "150 x 4, 3 classes"
BOOSTED = "HistGradientBoosting"


def cases() -> list[Case]:
    bits = bernoulli, theirs.BernoulliNB(), ours.BernoulliNB()
    reals = gaussian, theirs.GaussianNB(), ours.GaussianNB()
    codes = categorical, theirs.CategoricalNB(), ours.CategoricalNB()
    iris = theirs.GaussianNB(), ours.GaussianNB()
    exact = theirs.MultinomialNB(), ours.MultinomialNB()
    plugin = theirs.MultinomialNB(), ours.MultinomialNB(predictive="plugin")
    boosting = make_pipeline(FunctionTransformer(categories), HistGradientBoostingClassifier(random_state=0))
    default = boosting, nb.NaiveBayesClassifier()
    texts = [
        (short_documents, WORDS, "", 1.5),
        (repeated_words, ZIPF, " repeated words", 1.5),
        (long_documents, LONG, " long", 1.2),
    ]
    return [
        Case("fit Bernoulli", BITS, 50, fitting(*bits)),
        Case("predict_proba Bernoulli", BITS, 10, predicting(*bits)),
        Case("fit Gaussian", REALS, 7, fitting(*reals)),
        Case("predict_proba Gaussian, exact", REALS, 9, predicting(*reals)),
        Case("fit Categorical", CODES, 8, fitting(*codes)),
        Case("predict_proba Categorical", CODES, 9, predicting(*codes)),
        *(Case(f"fit Multinomial{kind}", size, 2.5, fitting(make, *exact)) for make, size, kind, _ in texts),
        *(
            Case(f"predict_proba Multinomial{kind}, plug-in", size, 2, predicting(make, *plugin))
            for make, size, kind, _ in texts
        ),
        *(
            Case(f"predict_proba Multinomial{kind}, exact", size, goal, predicting(make, *exact))
            for make, size, kind, goal in texts
        ),
        Case("a hundred predictions of one row", FLOWERS, 0.95, one_row(*iris)),
        Case("fit and predict in a fresh process", FLOWERS, 0.8, in_fresh_process(FIT)),
        Case("load and predict in a fresh process", FLOWERS, 0.8, in_fresh_process(FIT, LOAD), "fit and predict"),
        Case("serve in a fresh process, first row", FEW_MIXED, 2 / 3, serve_in_fresh_process, "import numpy"),
        Case("a hundred dicts served", FEW_MIXED, "0.025 s", serve_rows(1), "the estimator"),
        Case("a thousand dicts served", FEW_MIXED, 1, serve_rows(1000), "the estimator"),
        Case("cross_val_score with two processes", FLOWERS, 0.5, in_fresh_process(VALIDATE)),
        Case("predict_proba Poisson, exact", COUNTS, 1 / 4, beside_gaussian(small_counts, predict), "Gaussian columns"),
        Case(
            "predict_proba Poisson, skewed", COUNTS, 1 / 4, beside_gaussian(skewed_counts, predict), "Gaussian columns"
        ),
        Case("loo Poisson", COUNTS, 1 / 4, beside_gaussian(small_counts, nb.loo), "Gaussian columns"),
        Case("predict_proba of draws", DRAWS, 1 / 2, under_draws(lambda p, X: p.predict_proba(X)), "one product"),
        Case("proba_interval of draws", DRAWS, 1 / 8, under_draws(lambda p, X: p.proba_interval(X)), "one product"),
        Case("to_datatree", FRAME, 1 / 6, wide(trees), "100 columns"),
        Case("mutual_information", FRAME, 1, wide(informations), "mutual_info_classif"),
        Case("loo Bernoulli", BITS, 1 / 3, leaving_out(bernoulli, ours.BernoulliNB()), "predict_proba"),
        Case("loo Gaussian", REALS, 1 / 3, leaving_out(gaussian, ours.GaussianNB()), "predict_proba"),
        Case("loo Categorical", CODES, 1 / 3, leaving_out(categorical, ours.CategoricalNB()), "predict_proba"),
        Case(
            "weight_features Bernoulli",
            BITS,
            1 / 5,
            beside_loo(bernoulli, ours.BernoulliNB(), nb.weight_features),
            "loo",
        ),
        Case(
            "weight_features Gaussian", REALS, 1 / 5, beside_loo(gaussian, ours.GaussianNB(), nb.weight_features), "loo"
        ),
        Case("NaiveBayesClassifier().fit", MILLION, 1 / 8, beside_loo(million, ours.GaussianNB(), first_call), "loo"),
        Case(
            "NaiveBayesClassifier().fit, 100,000 rows",
            TENTH,
            "2 s",
            beside_loo(lambda scale: million(scale / 10), ours.GaussianNB(), first_call),
            "loo",
        ),
        Case("NaiveBayesClassifier().fit, mixed", MIXED, "", fitting(mixed, *default), BOOSTED),
        Case(
            "NaiveBayesClassifier().fit, independent", MIXED, "", fitting(partial(mixed, shared=0.0), *default), BOOSTED
        ),
        Case(
            "weight_features Categorical",
            CODES,
            1 / 5,
            beside_loo(categorical, ours.CategoricalNB(), nb.weight_features),
            "loo",
        ),
    ]


def predict(posterior: Any, X: Any, y: Any) -> Any:
    return posterior.predict_proba(X)


def measure_time(case: Case, scale: float, repeats: int) -> dict[str, Any]:
    work = case.prepare(scale)
    _alternate(work, 1, WARM_UP)
    reference, own = np.array(_alternate(work, repeats, LEAST)).T
    numbers = work.data.select_dtypes("number").to_numpy() if isinstance(work.data, pd.DataFrame) else work.data
    stored = numbers.data if scipy.sparse.issparse(numbers) else numbers.ravel()
    floor = min(seconds(lambda: stored[: stored.size // 8 * 8].view(np.uint64).max()) for _ in range(5))
    return {
        "reference": np.median(reference),
        "ours": np.median(own),
        "ratio": np.median(reference) / np.median(own),
        "spread": [float(np.min(reference / own)), float(np.max(reference / own))],
        "floor": floor,
    }


def _alternate(work: Work, least: int, lasting: float) -> list[tuple[float, float]]:
    """Seconds that each side takes, in pairs, so many where these do not take too long, and for at least so long."""
    pairs, began = [], time.perf_counter()
    while (lasted := time.perf_counter() - began) < lasting or (len(pairs) < least and lasted < MOST):
        pairs.append((seconds(work.reference), seconds(work.ours)))
    return pairs


def measure_memory(case: Case, scale: float, side: str) -> float:
    return memory_beyond(getattr(case.prepare(scale), side))


def line(case: Case, arguments: argparse.Namespace) -> list[str]:
    options = ["--only", case.name, "--scale", str(arguments.scale), "--repeats", str(arguments.repeats), "--child"]
    timed = in_own_process(__file__, *options, "time")
    before = of_earlier(arguments.against, __file__, *options, "time")
    memory = {side: in_own_process(__file__, *options, side) for side in ("reference", "ours")}
    goal = case.goal if isinstance(case.goal, str) else str(Fraction(case.goal).limit_denominator(20))
    return [
        case.name,
        case.size,
        f"{timed['reference']:.3g} s" + ("" if case.reference == "scikit-learn" else f" ({case.reference})"),
        f"{timed['ours']:.3g} s",
        f"**{timed['ratio']:.3g}** {_range(timed)}",
        "-" if before is None else f"{before['ours']:.3g} s, {before['ratio']:.3g} {_range(before)}",
        goal,
        f"{timed['floor']:.2g} s",
        f"{memory['reference'] / 2**20:.0f}, {memory['ours'] / 2**20:.0f} MiB",
    ]


def _range(timed: dict[str, Any]) -> str:
    low, high = timed["spread"]
    return f"({low:.3g} to {high:.3g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--repeats", type=int, default=5, help="the fewest alternations after the warm-up")
    add_against(parser)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--child", choices=["time", "reference", "ours"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        warnings.simplefilter("error")
        # Many rows: the weights are learned from some of them.
        warnings.filterwarnings("ignore", message="the weights are learned from")
        case = next(case for case in cases() if case.name == arguments.only)
        timed = arguments.child == "time"
        found = (
            measure_time(case, arguments.scale, arguments.repeats)
            if timed
            else measure_memory(case, arguments.scale, arguments.child)
        )
        print(json.dumps(found))
        return
    lines = (line(case, arguments) for case in cases() if arguments.only in case.name)
    about = machine("NumPy", "SciPy", "scikit-learn")
    about += f" Medians of at least {arguments.repeats} runs each, fewer where these take longer than {MOST:g} s"
    about += "." if arguments.scale == 1 else f", {arguments.scale:g} of the rows."
    heads = ["work", "size", "scikit-learn", "bayesnb", "ratio (range)", "(before)", "goal", "(reading the input)"]
    tell("", [*heads, "memory, theirs and ours"], lines, about, writes=arguments.write)


if __name__ == "__main__":
    main()
