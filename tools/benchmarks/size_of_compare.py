"""How often `nb.compare` says NO to right draws, and to wrong ones; `python tools/benchmarks/size_of_compare.py`.

Draws are four chains of a thousand. Every parameter is an autoregressive series in its exact distribution, with the
effective number of draws that is asked for, so that the draws are right; the defects spoil them. Every run has new
data, new draws and a new key. It counts how often a test rejects, and how often the verdict is
UNDECIDED, because the effective numbers or R-hat found in the draws ask for more.

Two models, both with two classes of six rows: G has four columns of measurements (17 free parameters), B eight columns
of zeros and ones (17). The table is part of docs/guide/checking.md.
"""

import argparse
import re
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

import bayesnb as nb

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
import correlated

RATES = 0.05, 0.001


def unspoiled(draws: dict) -> dict:
    return draws


@dataclass(frozen=True)
class Case:
    """Draws of one kind; `given` is the number of rows whose class probabilities are compared too."""

    name: str
    data: Callable[[np.random.Generator], tuple]
    spoil: Callable = lambda name, u: u
    change: Callable[[dict], dict] = unspoiled
    given: int = 0

    @property
    def right(self) -> bool:
        return self.name.startswith("right")


G, B = correlated.gaussians, correlated.coins
SHIFTED = correlated.scored(lambda score: score + 0.2)
WIDE = correlated.scored(lambda score: 1.15 * score)
NARROW = correlated.scored(lambda score: score / 1.15)
CASES = [
    Case("right, G", G),
    Case("right, B", B),
    Case("right, G, class probabilities of 20 rows", G, given=20),
    Case("right, B, class probabilities of 20 rows", B, given=20),
    Case("one common uniform, B", B, correlated.one_common_uniform),
    Case("two of 17 parameters alike, B", B, correlated.two_alike),
    Case("means shuffled against variances, G", G, change=correlated.means_of_other_draws),
    Case("one parameter shifted .2 sd, G", G, SHIFTED),
    Case("one parameter shifted .2 sd, B", B, SHIFTED),
    Case("sd of one parameter 15 % wide, G", G, WIDE),
    Case("sd of one parameter 15 % wide, B", B, WIDE),
    Case("sd of one parameter 15 % narrow, G", G, NARROW),
    Case("classes swapped in one column, G", G, change=correlated.classes_swapped),
    Case("classes swapped in one column, B", correlated.coins_apart, change=correlated.classes_swapped),
]


def one_run(case: Case, ess: float, run: int) -> tuple[nb.results.Comparison, list[bool]]:
    """The comparison, and for each error rate whether a test rejects."""
    rng = np.random.default_rng([zlib.crc32(case.name.encode()), int(ess), run])
    model, X, y = case.data(rng)
    exact = nb.fit(model, X, y)
    draws = case.change(correlated.correlated_draws(exact, rng, ess, spoil=case.spoil))
    rows = case.data(rng)[1] if case.given else None
    rows = None if rows is None else np.concatenate([rows, case.data(rng)[1]])[: case.given]
    found = nb.compare(exact, nb.from_samples(model, draws, X=X, y=y), rows, key=run)
    return found, [against(found.parts, rate) for rate in RATES]


def against(parts: Any, error_rate: float) -> bool:
    """Whether a test rejects at this error rate, by the numbers of tests and the largest z of each part."""
    level = error_rate / len(parts) / parts["num_tests"]
    return bool((parts["largest_z"] > -ndtri(level / 2)).any())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name matches this regular expression")
    parser.add_argument("--ess", type=float, nargs="+", default=[4000, 1000, 400], help="effective draws of 4000")
    parser.add_argument("--right", type=int, default=500, help="runs of right draws")
    parser.add_argument("--wrong", type=int, default=20, help="runs of each defect")
    arguments = parser.parse_args()
    header = ["draws", "runs", *(f"ESS {ess:.0f}" for ess in arguments.ess)]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for case in CASES:
        if re.search(arguments.only, case.name):
            runs = arguments.right if case.right else arguments.wrong
            cells = [cell(case, ess, runs) for ess in arguments.ess]
            print(f"| {case.name} | {runs} | {' | '.join(cells)} |", flush=True)


def cell(case: Case, ess: float, runs: int) -> str:
    """Shares of runs: a test rejects at the first rate, at the second, and the verdict is UNDECIDED."""
    results = [one_run(case, ess, run) for run in range(runs)]
    shares = np.mean([result for _, result in results], axis=0)
    undecided = np.mean([found.verdict.startswith("UNDECIDED") for found, _ in results])
    return f"{shares[0]:.3g} / {shares[1]:.3g} ({undecided:.2g})"


if __name__ == "__main__":
    main()
