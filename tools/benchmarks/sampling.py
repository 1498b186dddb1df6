"""How fast NUTS and the import are, beside nutpie, NumPyro and themselves; ``make bench`` runs it.

Each work runs in a process of its own and gives some lines of a table, which goes between two marks of
docs/performance.md; the text around it is written by hand. With `--against` a checkout of an earlier version, another
process does the same with that version. What a process imports is part of what is measured: hence the imports inside
functions.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from report import add_against, in_own_process, machine, of_earlier, seconds, tell

CLASSES = 5
BITS, REALS, CODES = {"bits": slice(0, 50)}, {"reals": slice(0, 50)}, {"codes": slice(0, 20)}
MIXED = {"bits": slice(0, 15), "reals": slice(15, 30), "codes": slice(30, 40)}
CHAINS = "5 classes, 4 chains x 1,000 draws"
SIZE = f"1,000 x 50 bool, {CHAINS}"
COLD_STARTS, IMPORTS = 3, 9
"""Processes of each kind for the cold works and for the import."""


def table(seed: int, columns: dict[str, slice] = BITS) -> tuple[np.ndarray, np.ndarray]:
    """A thousand rows of columns of each kind, and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, 1000)
    return np.hstack([CELLS[kind](rng, of_kind.stop - of_kind.start, y) for kind, of_kind in columns.items()]), y


def bits(rng: np.random.Generator, width: int, y: np.ndarray) -> np.ndarray:
    """0/1 cells with a probability of one by class and column."""
    return rng.random((len(y), width)) < rng.beta(2, 2, (CLASSES, width))[y]


def reals(rng: np.random.Generator, width: int, y: np.ndarray) -> np.ndarray:
    """Normal cells with a mean and a standard deviation by class and column."""
    mean, deviation = rng.normal(size=(CLASSES, width)), rng.lognormal(0, 0.5, (CLASSES, width))
    return rng.normal(mean[y], deviation[y])


def codes(rng: np.random.Generator, width: int, y: np.ndarray) -> np.ndarray:
    """Codes of five categories with probabilities by class and column, the last of them rare."""
    prob = rng.dirichlet([2, 2, 2, 2, 0.5], (CLASSES, width))
    return (rng.random((len(y), width, 1)) > prob.cumsum(axis=-1)[y, :, :-1]).sum(axis=-1)


CELLS = {"bits": bits, "reals": reals, "codes": codes}
KINDS = {"bits": "Bernoulli", "reals": "Gaussian", "codes": "Categorical"}


def counts(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of each class, and ones of each class and column."""
    return np.bincount(y, minlength=CLASSES), np.stack([X[y == c].sum(axis=0) for c in range(CLASSES)])


def bayesnb_sample(model: Any, X: np.ndarray, y: np.ndarray, seed: int) -> list[np.ndarray]:
    import bayesnb as nb

    parameters = nb.fit(model, X, y, nb.NUTS(), key=seed).parameters
    return [parameters.class_prob, *(site for block in parameters.blocks for site in block.values())]


def smallest_ess(sites: list[np.ndarray], method: str) -> float:
    """The smallest effective sample size of a scalar parameter, by ArviZ for every sampler."""
    from arviz_stats.base import array_stats

    draws = np.concatenate([site.reshape(4, 1000, -1) for site in sites], axis=-1)
    prob = (0.05, 0.95) if method == "tail" else None
    return float(array_stats.ess(draws, chain_axis=0, draw_axis=1, method=method, prob=prob).min())


def warm(repeats: int) -> list[list[str]]:
    return beside_nutpie(repeats, BITS, SIZE)


def warm_gaussian(repeats: int) -> list[list[str]]:
    return beside_nutpie(repeats, REALS, f"1,000 x 50 float64, {CHAINS}")


def warm_categorical(repeats: int) -> list[list[str]]:
    return beside_nutpie(repeats, CODES, f"1,000 x 20 int64, 5 categories, {CHAINS}")


def warm_mixed(repeats: int) -> list[list[str]]:
    return beside_nutpie(repeats, MIXED, f"1,000 x 15 bits, 15 reals, 10 columns of 5 categories, {CHAINS}")


def beside_nutpie(repeats: int, columns: dict[str, slice], size: str) -> list[list[str]]:
    """The smallest effective sample sizes a second of both samplers, which have compiled before."""
    import nutpie_models as theirs

    import bayesnb as nb

    X, y = table(0, columns)
    compiled = theirs.compiled(columns, X, y)
    model = nb.NaiveBayes({kind: (getattr(nb, KINDS[kind])(), of_kind) for kind, of_kind in columns.items()})
    samplers = [lambda seed: theirs.sample(compiled, seed), lambda seed: bayesnb_sample(model, X, y, seed)]
    rates = np.array([[_ess_a_second(sampler, seed) for sampler in samplers] for seed in range(repeats + 1)])
    kinds = ", ".join(KINDS[kind] for kind in columns)
    return [
        line(f"NUTS, {kinds}: smallest {method} ESS a second", size, "nutpie", *rates[1:, :, i].T, goal=2, rates=True)
        for i, method in enumerate(("bulk", "tail"))
    ]


def _ess_a_second(sampler: Callable[[int], list[np.ndarray]], seed: int) -> list[float]:
    start = time.perf_counter()
    sites = sampler(seed)
    took = time.perf_counter() - start
    return [smallest_ess(sites, method) / took for method in ("bulk", "tail")]


def cold(_: int) -> list[list[str]]:
    took = np.empty((2, 2, COLD_STARTS))
    for i in range(COLD_STARTS):
        with tempfile.TemporaryDirectory() as theirs, tempfile.TemporaryDirectory() as ours:
            for filled in (0, 1):
                took[filled, 0, i] = seconds(lambda theirs=theirs: _fresh_process("start-nutpie", theirs))
                took[filled, 1, i] = seconds(lambda ours=ours: _fresh_process("start-bayesnb", ours))
    return [
        line(f"NUTS in a fresh process, {caches} caches", SIZE, "nutpie", *took[filled], goal=goal)
        for filled, (caches, goal) in enumerate([("empty", 1), ("filled", 2)])
    ]


def _fresh_process(child: str, folder: str) -> None:
    flags = f"base_compiledir={folder}/pytensor"
    caches = {"PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": f"{folder}/numba"}
    in_own_process(__file__, "--child", child, "--folder", folder, environment=caches)


def start_nutpie(_: str) -> None:
    import nutpie_models as theirs

    theirs.sample(theirs.compiled(BITS, *table(0)), seed=0)


def start_bayesnb(folder: str) -> None:
    import bayesnb as nb

    nb.enable_compilation_cache(folder)
    bayesnb_sample(nb.Bernoulli(), *table(0), seed=0)


def other_data(repeats: int) -> list[list[str]]:
    import jax
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    import bayesnb as nb

    def program(n: np.ndarray, k: np.ndarray) -> None:
        class_prob = numpyro.sample("class_prob", dist.Dirichlet(np.ones(CLASSES)))
        prob = numpyro.sample("prob", dist.Beta(1, 1).expand(k.shape).to_event(2))
        numpyro.sample("n", dist.Multinomial(n.sum(), class_prob), obs=n)
        numpyro.sample("k", dist.Binomial(n[:, None], prob).to_event(2), obs=k)

    options = {"num_warmup": 500, "num_samples": 1000, "num_chains": 4}

    def numpyro_sample(seed: int) -> None:
        # An object of its own for each fit: one with vectorized chains runs on one set of data only.
        mcmc = MCMC(NUTS(program), chain_method="vectorized", progress_bar=False, **options)
        mcmc.run(jax.random.key(seed), *counts(*table(seed)))
        jax.block_until_ready(mcmc.get_samples())

    samplers = [numpyro_sample, lambda seed: bayesnb_sample(nb.Bernoulli(), *table(seed), seed)]
    took = [[seconds(lambda s=s, i=i: s(i)) for s in samplers] for i in range(repeats + 1)]
    return [line("NUTS on other data of the same shape", SIZE, "NumPyro", *np.array(took[1:]).T, goal=8)]


def rows(repeats: int) -> list[list[str]]:
    import bayesnb as nb

    problems = [nb.fit(nb.Bernoulli(), *_large_table(size)).problem for size in (10**3, 10**5, 10**7)]
    took = [[seconds(lambda p=p, i=i: nb.NUTS().fit(p, key=i)) for p in problems] for i in range(repeats + 1)]
    small, middle, large = np.array(took[1:]).T
    size = "10³, 10⁵ and 10⁷ rows x 50 bool, 5 classes"
    own = f"{_figure(small)}, {_figure(middle)}, {_figure(large)}"
    ratio = f"10⁷ takes {_ratio(large, small)} of 10³"
    return [["NUTS given the statistics of so many rows", size, "", own, ratio, "1"]]


def _large_table(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 0/1 columns made piece by piece, of a byte a cell, and their labels."""
    rng = np.random.default_rng(0)
    threshold = rng.integers(25, 231, (CLASSES, 50), dtype=np.uint8)
    X, y = np.empty((size, 50), dtype=bool), rng.integers(0, CLASSES, size, dtype=np.uint8)
    for start in range(0, size, 2**17):
        piece = slice(start, start + 2**17)
        np.less(rng.integers(0, 256, X[piece].shape, dtype=np.uint8), threshold[y[piece]], out=X[piece])
    return X, y


def imports(_: int) -> list[list[str]]:
    commands = "import numpyro", "from bayesnb import Gaussian, fit"
    took = np.array([[_import(command) for command in commands] for _ in range(IMPORTS + 1)])
    return [line("import of what a closed form needs", "", "NumPyro", *took[1:].T, goal=1)]


def _import(command: str) -> float:
    code = f"import time; start = time.perf_counter(); {command}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout)


def line(
    work: str, size: str, reference: str, theirs: np.ndarray, ours: np.ndarray, *, goal: float, rates: bool = False
) -> list[str]:
    """A line of the table from figures of each repeat: seconds, or rates, of which more is better."""
    ratio = _ratio(ours, theirs) if rates else _ratio(theirs, ours)
    return [work, size, f"{_figure(theirs, rates)} ({reference})", _figure(ours, rates), ratio, f"{goal:.2g}"]


def _figure(values: np.ndarray, rate: bool = False) -> str:
    return f"{np.median(values):,.0f} /s" if rate else f"{np.median(values):.3g} s"


def _ratio(of: np.ndarray, to: np.ndarray) -> str:
    low, high = np.min(of / to), np.max(of / to)
    return f"**{np.median(of) / np.median(to):.3g}** ({low:.3g} to {high:.3g})"


WORKS = {
    "warm": warm,
    "warm-gaussian": warm_gaussian,
    "warm-categorical": warm_categorical,
    "warm-mixed": warm_mixed,
    "cold": cold,
    "other-data": other_data,
    "rows": rows,
    "import": imports,
}
STARTS = {"start-nutpie": start_nutpie, "start-bayesnb": start_bayesnb}


def lines_of(name: str, arguments: argparse.Namespace) -> Iterator[list[str]]:
    options = ["--child", name, "--repeats", str(arguments.repeats)]
    now, before = in_own_process(__file__, *options), of_earlier(arguments.against, __file__, *options)
    for i, (*cells, goal) in enumerate(now):
        earlier = f"{before[i][3]}, {before[i][4].replace('*', '')}" if before else "-"
        yield [*cells, earlier, goal]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help=f"works whose name holds this: {', '.join(WORKS)}")
    parser.add_argument("--repeats", type=int, default=5, help="alternations after the warm-up, in one process")
    add_against(parser)
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    parser.add_argument("--child", choices=[*WORKS, *STARTS], help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="NUTS: ")  # of convergence; the table says what the draws are worth
    if arguments.child in STARTS:
        STARTS[arguments.child](arguments.folder)
        print("null")
        return
    if arguments.child:
        print(json.dumps(WORKS[arguments.child](arguments.repeats)))
        return
    if find_spec("nutpie") is None or find_spec("pymc") is None:
        sys.exit("nutpie and PyMC are not installed: pip install 'bayesnb[bench]', or 'make bench'")
    lines = (line for name in WORKS if arguments.only in name for line in lines_of(name, arguments))
    about = machine("NumPy", "JAX", "NumPyro", "nutpie", "PyMC") + (
        f" Medians of {arguments.repeats} runs each, of {COLD_STARTS} fresh processes and of {IMPORTS} imports."
    )
    heads = ("work", "size", "reference", "bayesnb", "ratio (range)", "(before)", "goal")
    tell("sampling", heads, lines, about, writes=arguments.write)


if __name__ == "__main__":
    main()
