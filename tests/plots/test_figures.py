"""Every figure is what it was: a change of what one shows is a decision.

``PYTHONPATH=tests python tests/plots/test_figures.py`` writes ``figures.json`` anew. Look at the figures first.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from figures import LABELS, crowd, described, exact, forest, merges, models, sampled, selection, table, uniformity

import bayesnb as nb

KEPT = Path(__file__).parent / "figures.json"


@cache
def pair() -> Any:
    """Two classes."""
    return nb.fit(nb.NaiveBayes({"height": nb.Gaussian(), "old": nb.Bernoulli()}), *rows_of_pair())


@cache
def words() -> Any:
    at = np.arange(12)
    counts = {"the": 4 + at % 3, "buy": 3 * (at % 2), "of": 2 + at % 2, "cat": 3 * ((at + 1) % 2)}
    y = np.array(["ham", "spam"])[at % 2]
    return nb.fit(nb.NaiveBayes({"text": (nb.Multinomial(), list(counts))}), pd.DataFrame(counts), y)


def rows_of_pair() -> tuple[pd.DataFrame, np.ndarray]:
    rows = np.flatnonzero(LABELS != "oak")
    return table().iloc[rows], LABELS[rows]


def eight_labels() -> list[str]:
    return ["ash", "birch", *"abcdef"] * 2


def weighted(*, shared: bool = False) -> Any:
    columns = {"mean": [0.4, 0.9, 0.7], "sd": [0.1, 0.1, 0.1], "lower": [0.2, 0.6, 0.6], "upper": [0.5, 1.1, 0.9]}
    return nb.results.WeightsFrame(columns, ["height", "nests", "old"], shared=shared)


def amounts() -> pd.DataFrame:
    """A column of many zeros, and one of counts up to 250."""
    at = np.arange(24)
    return pd.DataFrame({"rain": np.where(at % 3 > 0, 0.0, 1.5 + np.cos(at)), "leaves": 3.0 + at % 7 + 230 * (at == 5)})


FIGURES: dict[str, Callable[[], Any]] = {
    "proba": lambda: nb.plot_proba(exact(), table(), LABELS, max_rows=5),
    "proba of draws": lambda: nb.plot_proba(sampled(), table()[["old"]], LABELS, max_rows=7),
    "proba of two": lambda: nb.plot_proba(pair(), *rows_of_pair(), max_rows=5, labels=[f"tree {i}" for i in range(16)]),
    "proba without labels": lambda: nb.plot_proba(exact(), table(), max_rows=3, classes=["oak", "ash"]),
    "proba of many classes": lambda: nb.plot_proba(
        nb.fit(nb.Poisson(), table()[["nests"]], list("abcdef") * 4), table()[["nests"]], list("abcdef") * 4, max_rows=3
    ),
    "proba of one row": lambda: nb.plot_proba(exact(), table().iloc[:1]),
    "log odds without end": lambda: nb.plot_log_odds(
        certain(), table()[["old", "nests"]], LABELS, classes=("ash", "oak")
    ),
    "log odds": lambda: nb.plot_log_odds(pair(), *rows_of_pair(), max_rows=9, sort=True),
    "log odds of eight labels": lambda: nb.plot_log_odds(pair(), rows_of_pair()[0], eight_labels(), max_rows=9),
    "log odds of three": lambda: nb.plot_log_odds(exact(), table(), LABELS, classes=("oak", "ash"), max_rows=6),
    "log odds of draws": lambda: nb.plot_log_odds(sampled(), table()[["old"]], classes=("oak", "ash"), max_rows=6),
    "densities": lambda: nb.plot_densities(exact(), table(), LABELS, bins=7, features=["height", "nests"]),
    "densities alone": lambda: nb.plot_densities(exact(), features=["height"]),
    "densities of categories": lambda: nb.plot_densities(exact(), table(), LABELS, features=["leaf", "old"]),
    "densities of the most telling": lambda: nb.plot_densities(
        exact(), max_panels=2, sort=True, classes=["oak", "ash"]
    ),
    "densities of a hurdle": lambda: nb.plot_densities(
        nb.fit(nb.NaiveBayes({"nests": nb.Hurdle(nb.Exponential())}), table(), LABELS), table(), LABELS, bins=6
    ),
    "prior": lambda: nb.plot_prior_posterior(exact(), max_panels=8, panels_across=3),
    "prior of one class": lambda: nb.plot_prior_posterior(one_class()),
    "prior of one category": lambda: nb.plot_prior_posterior(constant()),
    "prior of draws": lambda: nb.plot_prior_posterior(sampled(), max_panels=3),
    "spikes": lambda: nb.plot_spikes(words(), num_labels=3),
    "spikes of one class": lambda: nb.plot_spikes(one_class(), num_labels=4),
    "spikes of many columns": lambda: nb.plot_spikes(many(), num_labels=6, tolerance=0.2),
    "spikes of columns": lambda: nb.plot_spikes(exact(), block="old", max_panels=2),
    "mutual information": lambda: nb.mutual_information(exact(), num_draws=40).plot(max_features=3),
    "mutual information of some": lambda: information().plot(),
    "mutual information at the mean": lambda: nb.mutual_information(sampled(), "bits").plot(),
    "check": lambda: nb.check(exact(), table(), LABELS, num_replicates=60).plot(max_panels=4, panels_across=3),
    "check all": lambda: nb.check(pair(), *rows_of_pair(), statistics="mean", num_replicates=30).plot(),
    "comparison": lambda: compared().plot(max_panels=2),
    "comparison of all": lambda: compared().plot(),
    "models": lambda: models([0.9, 0.1]).plot(),
    "models of some probabilities": lambda: models([0.9, np.nan]).plot(),
    "models without probabilities": lambda: models([np.nan, np.nan]).plot(),
    "sbc": lambda: uniformity(5).plot(max_panels=4, panels_across=3),
    "sbc of few": lambda: uniformity(2).plot(),
    "merges": lambda: merges().plot(),
    "forest": lambda: forest().plot(),
    "start of a forest": lambda: forest().plot(max_columns=3),
    "selection": lambda: selection().plot(),
    "weights": lambda: weighted().plot(max_features=2),
    "weights in order": lambda: weighted().plot(sort=False),
    "weight of all": lambda: weighted(shared=True).plot(),
    "families of amounts": lambda: nb.choose_families(amounts(), LABELS[::-1]).plot(),
    "families": lambda: nb.choose_families(table(), LABELS).plot(),
    "annotators": lambda: crowd().plot_annotators(max_annotators=2),
    "confusion": lambda: crowd().plot_confusion(sort="accuracy", classes=["oak", "ash"]),
    "items": lambda: crowd().plot_items(max_items=4),
    "sensitivity": lambda: nb.sensitivity(one_class()).plot(),
    "feature evidence": lambda: nb.feature_evidence(exact()).plot(),
    "reliability": lambda: nb.calibration(exact(), table(), LABELS, other=pair_like(), bins=4).plot(),
    "reliability of predictions": lambda: nb.calibration(exact(), table(), LABELS, bins=4).plot(kind="confidence"),
}


def one_class() -> Any:
    return nb.fit(nb.Bernoulli(), table()[["old"]], ["ash"] * 24, classes=["ash"])


def certain() -> Any:
    """Estimates of zero: some rows are impossible in one class."""
    X = table()[["old", "nests"]]
    return nb.fit(
        nb.NaiveBayes({"old": nb.Bernoulli(), "nests": nb.Poisson()}), X.assign(old=LABELS == "oak"), LABELS, nb.MLE()
    )


def constant() -> Any:
    """A column whose only category has probability one, beside another column."""
    X = table()[["leaf", "old"]].assign(leaf="round")
    return nb.fit(nb.NaiveBayes({"leaf": nb.Categorical(), "old": nb.Bernoulli()}), X, LABELS)


def many() -> Any:
    """Columns with long names beside each other."""
    at = np.arange(24)
    columns = {f"a long name {i}": (at * (i + 1) % 7 < 3 + (at % 3) * (i % 2)).astype(float) for i in range(9)}
    return nb.fit(nb.Bernoulli(), pd.DataFrame(columns), LABELS)


def information() -> Any:
    """Of three features, one without an interval and one at the posterior mean alone."""
    whole = nb.mutual_information(exact(), num_draws=40)
    found = nb.results.MutualInformation(whole.iloc[:3].copy(), "Three features")
    found.iloc[0, found.columns.get_indexer(["lower", "upper"])] = np.nan
    found.iloc[1, found.columns.get_indexer(["estimate"])] = np.nan
    return found


def compared() -> Any:
    model = nb.NaiveBayes({"old": nb.Bernoulli()})
    return nb.compare(nb.fit(model, table()[["old"]], LABELS), sampled())


def pair_like() -> np.ndarray:
    """Class probabilities of another classifier."""
    given = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    return given[np.arange(24) % 3]


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str) -> None:
    kept = json.loads(KEPT.read_text())[name]
    assert_same(json.loads(json.dumps(described(FIGURES[name]()))), kept, name)


def assert_same(found: Any, kept: Any, where: str) -> None:
    """Texts are equal, and numbers to a thousandth."""
    if isinstance(kept, float | int):
        assert found == pytest.approx(kept, rel=1e-3, abs=1e-9, nan_ok=True), where
    elif isinstance(kept, dict):
        assert found.keys() == kept.keys(), where
        for name, value in kept.items():
            assert_same(found[name], value, f"{where}, {name}")
    elif isinstance(kept, list):
        assert len(found) == len(kept), where
        for i, (one, other) in enumerate(zip(found, kept, strict=True)):
            assert_same(one, other, f"{where}, {i}")
    else:
        assert found == kept, where


if __name__ == "__main__":
    only = sys.argv[1:] or FIGURES
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    made = {name: described(FIGURES[name]()) for name in only}
    known = {name: (known | made)[name] for name in FIGURES if name in known | made}
    KEPT.write_text(json.dumps(known, separators=(",", ":")).replace('},"', '},\n"') + "\n")
