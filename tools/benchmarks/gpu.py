"""Densities and NUTS on an accelerator: first whether the answers are right, then how fast they come.

``make bench-gpu`` runs it on JAX's default device, whatever that is. NumPy on the host says what is right, and nothing
is timed where it is not. With ``--write`` the table goes between two marks of docs/performance.md.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from report import machine, seconds, tell

import bayesnb as nb

CLASSES = 5


def tables(rows: int, columns: int) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Families, tables and labels."""
    rng = np.random.default_rng(0)
    y, shape = rng.integers(0, CLASSES, rows), (rows, columns)
    yield nb.Bernoulli(), (rng.integers(0, 10, shape) < 3 + (y[:, None] % 2)).astype(float), y
    yield nb.Categorical(), rng.integers(0, 10 - y[:, None] % 2, shape).astype(float), y
    yield nb.Gaussian(), rng.standard_normal(shape) + 0.1 * y[:, None], y


def nuts_table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, CLASSES, 1000)
    return (rng.random((1000, 50)) < rng.beta(2, 2, (CLASSES, 50))[y]).astype(int), y


def check() -> None:
    """End the run unless densities and NUTS are right on the device."""
    for family, X, y in tables(20_000, 20):
        posterior = nb.fit(family, X, y)
        found, expected = posterior.log_joint_function()(jnp.asarray(X)), posterior.log_joint(X)
        off = float(np.max(np.abs(np.asarray(found) / expected - 1)))
        print(f"  {type(family).__name__}: relative difference {off:.1e}, allowed 1e-10", flush=True)
        if not off <= 1e-10:
            sys.exit("WRONG: densities on the device differ from NumPy's. Nothing was timed.")
    X, y = nuts_table()
    comparison = nb.compare(nb.fit(nb.Bernoulli(), X, y), nb.fit(nb.Bernoulli(), X, y, "nuts", key=0))
    print(f"  NUTS: {comparison.verdict}\n", flush=True)
    if not comparison.agree:
        sys.exit("WRONG: NUTS is not shown to agree with the closed form. Nothing was timed.")


def typical(work: Callable[[], Any], repeats: int) -> float:
    """Median of the seconds that a call takes, after one that compiles."""
    work()
    return median(seconds(work) for _ in range(repeats))


def lines(scale: float, repeats: int) -> Iterator[list[str]]:
    for family, X, y in tables(round(200_000 * scale), 100):
        posterior = nb.fit(family, X, y)
        function, placed = jax.jit(posterior.log_joint_function()), jax.block_until_ready(jnp.asarray(X))
        on_device = typical(lambda f=function, x=placed: f(x).block_until_ready(), repeats)
        on_host = typical(lambda p=posterior, x=X: p.log_joint(x), repeats)
        size = f"{X.shape[0]:,} x {X.shape[1]}"
        yield [f"densities, {type(family).__name__}", size, f"{on_device:.3g} s", f"{on_host:.3g} s"]
    X, y = nuts_table()
    time = typical(lambda: nb.fit(nb.Bernoulli(), X, y, "nuts", key=0), repeats)
    yield [f"NUTS, {CLASSES} classes x 50 columns, 4 chains x 1,000 draws", "1,000 x 50", f"{time:.3g} s", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--repeats", type=int, default=5, help="runs after the one that compiles")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    jax.config.update("jax_enable_x64", True)
    device = jax.devices()[0]
    print(f"JAX's default device is {device.device_kind} ({device.platform}).")
    if device.platform == "cpu":
        print("That is no accelerator: this checks the way, and its times say nothing about a GPU.")
    check()
    about = f"On {device.device_kind} ({device.platform}), medians of {arguments.repeats} runs; the host: "
    about += machine("jax", "jaxlib", "NumPy")
    heads = ("work", "table", "on the device", "NumPy on the host")
    tell("gpu", heads, lines(arguments.scale, arguments.repeats), about, writes=arguments.write)


if __name__ == "__main__":
    main()
