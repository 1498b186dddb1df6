"""How time and memory grow with a large table, in each direction that a table can grow in; ``make bench`` runs it.

Each line is measured at a quarter of the table and at the whole, each in a process of its own, which does the work once
after the same on a tiny table; with `--against` a checkout of an earlier version, another process does the whole with
that version. The table goes between two marks of docs/performance.md.
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from report import add_against, in_own_process, machine, memory_beyond, of_earlier, seconds, tell

import bayesnb as nb

QUARTER = 0.25


@dataclass(frozen=True)
class Large:
    """A table and its model; `make` takes the share of what is large."""

    name: str
    make: Callable[[float], tuple[nb.NaiveBayes, Any, np.ndarray]]
    shared: bool = False


def rows(share: float) -> tuple[nb.NaiveBayes, Any, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, round(5_000_000 * share))
    X = rng.standard_normal((len(y), 10))
    X += 0.1 * y[:, None]
    return nb.NaiveBayes(nb.Gaussian()), X, y


def columns(share: float) -> tuple[nb.NaiveBayes, Any, np.ndarray]:
    """Half of the columns are numbers, half are text; the table has a thousand rows."""
    rng, half = np.random.default_rng(0), max(1, round(10_000 * share))
    numbers, kinds = rng.standard_normal((1000, half)), rng.integers(0, 3, (1000, half))
    texts = pd.DataFrame(np.array(["red", "green", "blue"])[kinds], columns=[f"kind {j}" for j in range(half)])
    X = pd.concat([pd.DataFrame(numbers, columns=[f"size {j}" for j in range(half)]), texts], axis=1)
    return nb.NaiveBayes.from_frame(X), X, rng.integers(0, 5, 1000)


def classes(share: float) -> tuple[nb.NaiveBayes, Any, np.ndarray]:
    rng, number = np.random.default_rng(0), max(2, round(2000 * share))
    y = rng.permutation(np.arange(50_000) % number)
    return nb.NaiveBayes(nb.Gaussian()), rng.standard_normal((50_000, 20)) + 0.01 * y[:, None], y


def categories(share: float) -> tuple[nb.NaiveBayes, Any, np.ndarray]:
    rng, number = np.random.default_rng(0), max(2, round(100_000 * share))
    X = pd.DataFrame({"word": rng.permutation(np.arange(10 * number) % number).astype(str)})
    return nb.NaiveBayes(nb.Categorical()), X, rng.integers(0, 5, len(X))


TABLES = [
    Large("5,000,000 x 10 float64, 5 classes", rows),
    Large("1,000 x 20,000 named columns, half of them text, 5 classes", columns, shared=True),
    Large("50,000 x 20 float64, 2,000 classes", classes),
    Large("1,000,000 x 1 text, 100,000 categories, 5 classes", categories),
]


def work_of(table: Large, verb: str, share: float, folder: str) -> tuple[Callable[[], Any], Any]:
    """What is timed, and the table."""
    model, X, y = table.make(share)
    if verb == "fit":
        return lambda: nb.fit(model, X, y), X
    posterior = nb.fit(model, X, y)
    verbs: dict[str, Callable[[], Any]] = {
        "predict": lambda: posterior.predict_proba(X),
        "summary": lambda: posterior.summary(),
        "save": lambda: posterior.save(Path(folder) / "posterior.nc"),
        "weights": lambda: nb.weight_features(posterior, X, y, shared=table.shared),
    }
    return verbs[verb], X


VERBS = ("fit", "predict", "summary", "save", "weights")


def size_of(value: Any) -> int:
    """Bytes of a table."""
    if isinstance(value, pd.DataFrame):
        return int(value.memory_usage(deep=True).sum())
    return getattr(value, "nbytes", 0)


def measure(table: Large, verb: str, share: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Many rows: the weights are learned from some of them.
        warnings.filterwarnings("ignore", message="the weights are learned from")
        work_of(table, verb, 1e-4, folder)[0]()
        work, X = work_of(table, verb, share, folder)
        results: list[Any] = []
        timed: list[float] = []
        beyond = memory_beyond(lambda: timed.append(seconds(lambda: results.append(work()))))
        written = sum(path.stat().st_size for path in Path(folder).iterdir())
        return {"seconds": timed[0], "table": size_of(X), "result": max(size_of(results[0]), written), "beyond": beyond}


def peak(measured: dict[str, float]) -> str:
    return f"{(measured['table'] + measured['beyond']) / 2**20:.0f}"


def line(table: Large, verb: str, scale: float, against: Path | None) -> list[str]:
    options = ["--table", table.name, "--verb", verb, "--scale"]
    quarter, whole = (in_own_process(__file__, *options, str(share * scale)) for share in (QUARTER, 1.0))
    before = of_earlier(against, __file__, *options, str(scale))
    larger = " (result)" if whole["result"] > whole["table"] else ""
    return [
        verb,
        table.name,
        f"{quarter['seconds']:.3g} s",
        f"{whole['seconds']:.3g} s",
        f"**{whole['seconds'] / quarter['seconds']:.2g}**",
        f"{max(whole['table'], whole['result']) / 2**20:.0f}{larger}",
        peak(whole),
        "-" if before is None else f"{before['seconds']:.3g} s, {peak(before)} MiB",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="lines whose work and size hold this")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the table")
    add_against(parser)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--table", help=argparse.SUPPRESS)
    parser.add_argument("--verb", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.verb:
        table = next(table for table in TABLES if table.name == arguments.table)
        print(json.dumps(measure(table, arguments.verb, arguments.scale)))
        return
    chosen = ((table, verb) for table in TABLES for verb in VERBS if arguments.only in f"{verb} {table.name}")
    lines = (line(table, verb, arguments.scale, arguments.against) for table, verb in chosen)
    about = f"{machine('NumPy', 'SciPy', 'pandas')} One run each"
    about += "." if arguments.scale == 1 else f", {arguments.scale:g} of the table."
    heads = ("work", "size", "quarter", "whole", "ratio", "table MiB", "peak MiB", "(whole before)")
    tell("large", heads, lines, about, writes=arguments.write)


if __name__ == "__main__":
    main()
