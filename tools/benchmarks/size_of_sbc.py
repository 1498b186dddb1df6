"""How often `nb.sbc` says NO to right inferences, and to wrong ones: the table of docs/guide/checking.md.

Two classes, two columns of zeros and ones, twenty rows in each simulated table; seven test quantities. Right inferences
are the closed form, and draws of it that follow each other as an autoregression does, with the effective sample size
that is given. Run ``python tools/benchmarks/size_of_sbc.py``; it takes some fifteen minutes on one core.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from scipy.special import betaincinv, ndtr

import bayesnb as nb
from bayesnb.core.running import random_generator
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem
from bayesnb.posterior.kinds import ExactPosterior

FAMILY = nb.Bernoulli(2.0, 1.0)
MODEL = nb.NaiveBayes(FAMILY, class_concentration=2.0).bind([[0, 1], [1, 0]], ["a", "b"])
NUM_ROWS, NUM_DRAWS = 20, 1000
RATES = 0.05, 0.01


@dataclass(frozen=True)
class Changed(nb.results.Inference):
    """The closed form of another problem than the one given."""

    change: Callable[[Problem], Problem] = lambda problem: problem

    def check(self, problem: Problem) -> None:
        pass

    def fit(self, problem: Problem, *, key: Any = 0) -> ExactPosterior:
        return ExactPosterior(self.change(problem), self)


@dataclass(frozen=True)
class Correlated(nb.results.Inference):
    """Draws with the exact posterior as their distribution, each depending on the one before.

    Every parameter is the quantile of its Beta distribution at a uniform number, and the normal scores of these are an
    autoregression; the parameters are independent, as they are in the posterior.
    """

    ess: float

    def check(self, problem: Problem) -> None:
        pass

    def fit(self, problem: Problem, *, key: Any = 0) -> nb.results.SampledPosterior:
        rng = random_generator(key)
        classes, (family,) = problem.posterior_classes.concentration, problem.posterior_families
        first = self._draws(rng, classes[:1], classes[1:])[..., 0]
        prob = self._draws(rng, family.concentration1, family.concentration0)
        parameters = ModelParameters(np.stack([first, 1 - first], axis=-1), ({"prob": prob},))
        return nb.results.SampledPosterior(problem, problem.resolved, parameters, {}, self)

    def _draws(self, rng: np.random.Generator, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Draws of Beta(a, b), shape (1, draws, *shape of a)."""
        persistence = (NUM_DRAWS - self.ess) / (NUM_DRAWS + self.ess)
        score = rng.normal(size=(NUM_DRAWS, *np.shape(a)))
        for t in range(1, NUM_DRAWS):
            score[t] = persistence * score[t - 1] + np.sqrt(1 - persistence**2) * score[t]
        return betaincinv(a, b, ndtr(score))[None]


def with_counts(factor: float) -> Changed:
    """The data counted `factor` times."""
    return Changed(lambda problem: replace_statistics(problem, problem.statistics * factor))


def replace_statistics(problem: Problem, statistics: Any) -> Problem:
    return Problem(problem.model, statistics)


def with_prior(factor: float) -> Changed:
    """The prior weight of a one multiplied."""
    wrong = replace(FAMILY, concentration1=FAMILY.concentration1 * factor)
    model = nb.NaiveBayes(wrong, class_concentration=2.0)
    return Changed(lambda problem: Problem(BoundModel.of(model, problem.model.schema), problem.statistics))


def swapped() -> Changed:
    """The classes mistaken for each other."""
    return Changed(
        lambda problem: replace_statistics(problem, jax.tree.map(lambda leaf: leaf[::-1], problem.statistics))
    )


RIGHT = {"closed form": nb.Exact(), "draws, ESS 1000": Correlated(1000), "draws, ESS 100": Correlated(100)}
WRONG = {
    "data counted twice": with_counts(2.0),
    "one row in five left out": with_counts(0.8),
    "data ignored": with_counts(0.0),
    "classes swapped": swapped(),
    "a hyperparameter 20 % off": with_prior(1.2),
    "a hyperparameter off by a factor of 2": with_prior(2.0),
}


def runs(inference: nb.results.Inference, num_simulations: int, number: int) -> Iterator[tuple[float, bool]]:
    """The smallest p-value of each run times the number of tests, and whether many fits have problems."""
    for key in range(number):
        found = nb.sbc(
            MODEL, inference, num_simulations=num_simulations, num_rows=NUM_ROWS, key=10_000 + key, progress=False
        )
        yield found.table["p_value"].min() * len(found.table), "UNDECIDED" in found.verdict


def shares(inference: nb.results.Inference, num_simulations: int, number: int) -> str:
    """Share of NO at each error rate."""
    smallest, undecided = np.array(list(runs(inference, num_simulations, number))).T
    cell = " / ".join(f"{np.mean(smallest < rate):.2f}".removeprefix("0") for rate in RATES)
    return cell + (f" ({np.mean(undecided):.2f} UNDECIDED)" if undecided.any() else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--right", type=int, default=200, help="runs of each right inference")
    parser.add_argument("--wrong", type=int, default=20, help="runs of each wrong inference")
    parser.add_argument("--simulations", type=int, nargs="+", default=[50, 200])
    arguments = parser.parse_args()
    print("| inference | " + " | ".join(f"{n} simulations" for n in arguments.simulations) + " |")
    print("|---" * (1 + len(arguments.simulations)) + "|", flush=True)
    for inferences, number in ((RIGHT, arguments.right), (WRONG, arguments.wrong)):
        for name, inference in inferences.items() if number else ():
            cells = [shares(inference, n, number) for n in arguments.simulations]
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
