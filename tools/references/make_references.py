"""Write the reference posteriors: ``python tools/references/make_references.py [name ...]``.

PyMC samples each model of `models.py` from its raw rows, and shares no code with bayesnb. It needs an environment of
its own, which the tests do not: ``pip install pymc nutpie``. The tests read the JSON files that this script writes
to ``tests/references``.

A reference is written only if its draws can be trusted: no divergence, R-hat below 1.01 and an ESS of at least 4,000 in
bulk and tail of every parameter.
"""

import inspect
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pymc as pm
from models import REFERENCES, Reference

REFERENCES_FOLDER = Path(__file__).parents[2] / "tests" / "references"

CHAINS, WARMUP, DRAWS, SEED = 4, 2000, 10_000, 20261122
LEAST_ESS, LARGEST_R_HAT = 4000, 1.01
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


def main(names: list[str]) -> None:
    """Sample the named references, or all."""
    for name in names or REFERENCES:
        made = make(REFERENCES[name])
        (REFERENCES_FOLDER / f"{name}.json").write_text(as_text(made))
        print(name, made["sampler"])


def make(reference: Reference) -> dict[str, Any]:
    """A reference as it is stored."""
    table = reference.table(np.random.default_rng(SEED))
    draws, divergences = sample(reference, table)
    parameters = {name: summarise(draws[name]) for name in reference.parameters}
    worst = {
        "divergences": divergences,
        "largest_r_hat": max(np.max(found.pop("r_hat")) for found in parameters.values()),
        "least_ess": min(np.min(found[kind]) for found in parameters.values() for kind in ("ess_bulk", "ess_tail")),
    }
    if divergences or worst["largest_r_hat"] > LARGEST_R_HAT or worst["least_ess"] < LEAST_ESS:
        raise RuntimeError(f"the draws cannot be trusted: {worst}; sample longer, or choose another parametrisation")
    return {
        "words": reference.words,
        "pymc": inspect.getsource(reference.model),
        "versions": {package: version(package) for package in ("pymc", "pytensor", "nutpie", "numpy", "arviz")},
        "sampler": {"chains": CHAINS, "warmup": WARMUP, "draws": DRAWS, "seed": SEED} | worst,
        "table": table,
        "parameters": parameters,
        "new_rows_density": new_rows(reference, table, draws),
    }


def sample(reference: Reference, table: dict[str, Any]) -> tuple[dict[str, np.ndarray], int]:
    """Draws of the parameters, shape (chain, draw, ...), and the number of divergences."""
    with reference.model(table):
        tree = pm.sample(
            DRAWS,
            tune=WARMUP,
            chains=CHAINS,
            random_seed=SEED,
            nuts_sampler="nutpie",
            nuts={"target_accept": 0.95},
            progressbar=False,
        )
    posterior = tree["posterior"].to_dataset()
    draws = {name: posterior[name].to_numpy() for name in reference.parameters}
    return draws, int(tree["sample_stats"]["diverging"].sum())


def summarise(draws: np.ndarray) -> dict[str, Any]:
    """Mean, sd and quantiles of a parameter, each with its Monte Carlo standard error; nested lists of its shape."""
    found = {
        "mean": draws.mean(axis=(0, 1)),
        "sd": draws.std(axis=(0, 1), ddof=1),
        "mcse_mean": az.mcse(draws, method="mean"),
        "mcse_sd": az.mcse(draws, method="sd"),
        "ess_bulk": az.ess(draws, method="bulk"),
        "ess_tail": az.ess(draws, method="tail", prob=(0.05, 0.95)),
        "r_hat": az.rhat(draws),
        "quantile": {str(p): np.quantile(draws, p, axis=(0, 1)) for p in PROBABILITIES},
        "mcse_quantile": {str(p): az.mcse(draws, method="quantile", prob=p) for p in PROBABILITIES},
    }
    return rounded(found)


def new_rows(reference: Reference, table: dict[str, Any], draws: dict[str, np.ndarray]) -> dict[str, Any]:
    """Posterior mean of p(x, y=c | parameters) for each new row and class, with its Monte Carlo standard error."""
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in draws.items()}
    classes = range(draws["class_prob"].shape[-1])
    density = np.array([[reference.density(flat, row, c) for c in classes] for row in table["new_rows"]])
    by_chain = np.moveaxis(density.reshape(*density.shape[:2], CHAINS, DRAWS), (2, 3), (0, 1))
    return rounded({"mean": by_chain.mean(axis=(0, 1)), "mcse": az.mcse(by_chain, method="mean")})


def as_text(made: dict[str, Any]) -> str:
    """JSON with a line for each entry."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in made.items()) + "\n}\n"


def rounded(value: Any) -> Any:
    """Arrays as nested lists of numbers of eight digits."""
    if isinstance(value, dict):
        return {name: rounded(entry) for name, entry in value.items()}
    array = np.asarray(value, dtype=float)
    return [rounded(entry) for entry in array] if array.ndim else float(f"{array:.8g}")


if __name__ == "__main__":
    main(sys.argv[1:])
