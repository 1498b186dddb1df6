"""How often 90 % intervals of class probabilities hold the probability that many rows give.

Run it with ``python tools/benchmarks/coverage_of_intervals.py`` (some minutes). It prints the figures of the guide's
page on predictions. On real tables the aim is the probability that the same classifier gives when it is fitted to all
rows (4,000 at most); on tables from the model and of columns of other shapes it is the true probability. ``--rows 50``,
``--repeats 10``, ``--real``, ``--simulated`` and ``--shapes`` take a part.
"""

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from first_call import FEW_ROWS, table
from scipy import stats
from scipy.special import softmax

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier

TABLES = (*(name for name in FEW_ROWS if name != "spambase"), "vehicle")
NEW_ROWS, MOST_ROWS = 150, 4000
SHARES, COLUMNS = np.array([0.1, 0.3, 0.6]), 5


def held(posterior, X, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each interval holds the probability, and its width, shape (rows, classes)."""
    lower, upper = np.moveaxis(posterior.proba_interval(X, prob=0.9), -1, 0)
    return (lower <= truth) & (truth <= upper), upper - lower


def of_table(name: str, num_rows: int, repeats: int) -> Iterator[list[float]]:
    """For each sample of rows coverage and width with weights, coverage without, and points outside their interval."""
    X, y = table(name)
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    of_all = NaiveBayesClassifier().fit(X.iloc[rows], y[rows])
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        first = [rng.choice(np.flatnonzero(y == c)) for c in np.unique(y)]
        rest = rng.permutation(np.setdiff1d(np.arange(len(y)), first))
        train = np.r_[first, rest[: num_rows - len(first)]]
        new = X.iloc[rest[num_rows - len(first) :][:NEW_ROWS]]
        classifier = NaiveBayesClassifier().fit(X.iloc[train], y[train])
        truth, cells = of_all.predict_proba(new), classifier.checked_table(new)
        inside, width = held(classifier.posterior_, cells, truth)
        plain, _ = held(classifier.posterior_.generative, cells, truth)
        point, _ = held(classifier.posterior_, cells, classifier.predict_proba(new))
        yield [inside.mean(), width.mean(), plain.mean(), 1 - point.mean()]


def real(num_rows: int, repeats: int) -> None:
    """Print coverage by table, and over tables."""
    found = {}
    for name in TABLES:
        if len(table(name)[1]) >= 2 * num_rows + NEW_ROWS:
            found[name] = np.mean(list(of_table(name, num_rows, repeats)), axis=0)
    by_table = np.array(list(found.values()))
    coverage, error = by_table[:, 0], by_table.std(axis=0, ddof=1) / np.sqrt(len(found))
    print(f"{num_rows} rows:", {name: round(float(values[0]), 2) for name, values in found.items()})
    print(
        f"coverage {coverage.mean():.3f} ± {error[0]:.3f}, width {by_table[:, 1].mean():.2f}; without weights "
        f"{by_table[:, 2].mean():.3f} ± {error[2]:.3f}; point outside {by_table[:, 3].mean():.3f}; .85 to .95 on "
        f"{((coverage >= 0.85) & (coverage <= 0.95)).sum()} of {len(found)} tables, below on {(coverage < 0.85).sum()}",
        flush=True,
    )


def simulated(num_rows: int, repeats: int) -> None:
    """Print coverage by class where the model is right, with the default prior of a variance and with a wider one."""
    found: dict[str, list[np.ndarray]] = {}
    for repeat in range(repeats):
        rng = np.random.default_rng(100 + repeat)
        mean = rng.normal(size=(len(SHARES), COLUMNS))
        y = np.arange(0)
        while len(np.unique(y)) < len(SHARES):
            y = rng.choice(len(SHARES), num_rows, p=SHARES)
        X, new = (mean[c] + rng.normal(size=(len(c), COLUMNS)) for c in (y, rng.choice(len(SHARES), 300, p=SHARES)))
        truth = softmax(np.log(SHARES) - ((new[:, None] - mean) ** 2).sum(axis=2) / 2, axis=1)
        for name, family in {"rate 0.1 s²": nb.Gaussian(), "rate s²": nb.Gaussian(rate=X.var(axis=0))}.items():
            posterior = NaiveBayesClassifier(family).fit(X, y).posterior_
            for kind, of_kind in {"weights": posterior, "no weights": posterior.unweighted}.items():
                found.setdefault(f"{name}, {kind}", []).append(held(of_kind, new, truth)[0].mean(axis=0))
    for name, values in found.items():
        error = np.std(values, axis=0, ddof=1) / np.sqrt(repeats)
        print(f"{num_rows} rows, {name}: {np.mean(values, axis=0).round(2)} ± {error.round(2)}", flush=True)


def shapes(num_rows: int, repeats: int) -> None:
    """Print coverage of the true probability for columns of several shapes, whose families are chosen by their table.

    The columns of a class are normal or Student's t of three degrees of freedom around its means, zero or normal, or
    zero or Poisson counts.
    """
    cases = {
        "normal": (stats.norm, False),
        "t(3)": (lambda mean: stats.t(3, mean), False),
        "zero or normal": (stats.norm, True),
        "zero or Poisson": (lambda mean: stats.poisson(np.exp(1 + mean / 2)), True),
    }
    for name, (family, zeros) in cases.items():
        found = []
        for repeat in range(repeats):
            rng = np.random.default_rng(200 + repeat)
            mean, zero = rng.normal(size=(2, COLUMNS)), zeros * rng.uniform(0.2, 0.6, (2, COLUMNS))
            y, codes = np.arange(num_rows) % 2, np.arange(300) % 2
            X, new = (
                np.where(rng.random((len(c), COLUMNS)) < zero[c], 0.0, family(mean[c]).rvs(random_state=rng))
                for c in (y, codes)
            )
            known, cells = family(mean), new[:, None]
            density = known.pmf(cells) if "Poisson" in name else known.pdf(cells) * ((cells != 0) | (not zeros))
            log_density = np.log(zero * (cells == 0) + (1 - zero) * density)
            classifier = NaiveBayesClassifier().fit(X, y)
            truth = softmax(log_density.sum(axis=2), axis=1)
            found.append(held(classifier.posterior_, new, truth)[0].mean())
        error = np.std(found, ddof=1) / np.sqrt(repeats)
        print(f"{num_rows} rows, {name} columns: {np.mean(found):.2f} ± {error:.2f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="*", default=[50, 200])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--simulated", action="store_true")
    parser.add_argument("--shapes", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for num_rows in given.rows:
        if given.real or not (given.simulated or given.shapes):
            real(num_rows, given.repeats)
        if given.simulated or not (given.real or given.shapes):
            simulated(num_rows, 2 * given.repeats)
        if given.shapes or not (given.real or given.simulated):
            shapes(num_rows, 2 * given.repeats)
