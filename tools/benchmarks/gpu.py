"""Tables on an accelerator: first whether the answers are right, then how fast they come; ``make bench-gpu`` runs it.

Everything runs on JAX's default device, whatever that is. NumPy in float64 on the host says what is right, and nothing
is timed where it is not. With ``--write`` the table goes between two marks of docs/performance.md; the text around it
is written by hand.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from jax.experimental import sparse
from report import machine, seconds, write

import bayesnb as nb
from bayesnb.data import read as device_array
from bayesnb.data.read import DeviceTable, as_table

CLASSES, COLUMNS, CATEGORIES = 5, 100, 10
WORDS, LENGTH, DOCUMENT_CLASSES = 50_000, 64, 20


@dataclass(frozen=True)
class Table:
    """Rows to fit to, in the type in which they are put on the device."""

    name: str
    family: nb.ConjugateFamily
    X: np.ndarray
    y: np.ndarray


def tables(rows: int, columns: int) -> Iterator[Table]:
    rng = np.random.default_rng(0)
    y, shape = rng.integers(0, CLASSES, rows), (rows, columns)
    bits = rng.integers(0, 10, shape, dtype=np.uint8) < 3 + (y[:, None] % 2)
    yield Table("Bernoulli, bool", nb.Bernoulli(), bits, y)
    yield Table("Bernoulli, float32", nb.Bernoulli(), bits.astype(np.float32), y)
    codes = rng.integers(0, CATEGORIES - y[:, None] % 2, shape)
    yield Table("Categorical, uint8", nb.Categorical(), codes.astype(np.uint8), y)
    yield Table("Multinomial, float32", nb.Multinomial(), rng.poisson(3.0, shape).astype(np.float32), y)
    reals = rng.standard_normal(shape) + 0.1 * y[:, None]
    yield Table("Gaussian, float32", nb.Gaussian(), reals.astype(np.float32), y)
    yield Table("Gaussian, float64", nb.Gaussian(), reals, y)


def place(x: np.ndarray) -> jax.Array:
    """The array on the device, in its own type."""
    with jax.enable_x64(True):
        return jax.block_until_ready(jnp.asarray(x))


def require(what: str, found: Any, expected: Any, rtol: float) -> None:
    """Say how far off it is; end the run if that is too far."""
    pairs = list(zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True))
    off = max(float(np.max(np.abs(mine - right) / np.maximum(np.abs(right), 1e-12))) for mine, right in pairs)
    print(f"  {what}: relative difference {off:.1e}, allowed {rtol:.0e}", flush=True)
    if not off <= rtol:
        sys.exit(f"WRONG: {what} differs from NumPy on the host by {off:.1e}, more than {rtol:.0e}. Nothing was timed.")


def check() -> None:
    """End the run unless fits, predictions and NUTS are right on the device."""
    print("Against NumPy in float64 on the host, 20,000 x 20:")
    for table in tables(20_000, 20):
        right, X = nb.fit(table.family, table.X, table.y), place(table.X)
        found = nb.fit(table.family, X, table.y)
        require(f"fit {table.name}", found.problem.statistics, right.problem.statistics, 1e-10)
        single = table.X.dtype == np.float32
        log_proba = right.predict_log_proba(table.X)
        require(f"predict {table.name}", right.predict_proba(X), np.exp(log_proba), 1e-4 if single else 1e-9)
        plugin, X_plugin = right.plugin(), np.exp(right.plugin().predict_log_proba(table.X))
        require(f"predict {table.name}, plug-in", plugin.predict_proba(X), X_plugin, 1e-4 if single else 1e-9)
    X, y = nuts_table()
    comparison = nb.compare(nb.fit(nb.Bernoulli(), X, y), nb.fit(nb.Bernoulli(), X, y, nb.NUTS(), key=0))
    print(f"  NUTS: {comparison.verdict}\n", flush=True)
    if not comparison.agree:
        sys.exit("WRONG: NUTS is not shown to agree with the closed form. Nothing was timed.")


def nuts_table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, CLASSES, 1000)
    return rng.random((1000, 50)) < rng.beta(2, 2, (CLASSES, 50))[y], y


def typical(work: Callable[[], Any], repeats: int) -> float:
    """Median of the seconds that a call takes, after one that compiles."""
    work()
    return median(seconds(work) for _ in range(repeats))


def bandwidth(repeats: int) -> float:
    """Bytes a second that the device reads and writes when it copies half a gibibyte."""
    cells = place(np.zeros(2**27 if on_accelerator() else 2**24, np.float32))
    negate = jax.jit(jnp.negative)
    return 2 * cells.nbytes / typical(lambda: negate(cells).block_until_ready(), max(repeats, 10))


def on_accelerator() -> bool:
    return jax.devices()[0].platform != "cpu"


def lines(scale: float, repeats: int) -> Iterator[str]:
    speed = bandwidth(repeats)
    yield f"| copy, {speed / 1e9:.3g} GB/s read and written | | | | |"
    for table in tables(round(1_000_000 * scale), COLUMNS):
        yield from of_table(table, speed, repeats)
    yield from of_sparse(round(200_000 * scale), speed, repeats)
    X, y = nuts_table()
    time = typical(lambda: nb.fit(nb.Bernoulli(), X, y, nb.NUTS(), key=0), repeats)
    yield f"| NUTS, {CLASSES} classes x 50 columns, 4 chains x 1,000 draws | from 1,000 rows | {time:.3g} s | | |"


def of_table(table: Table, speed: float, repeats: int) -> Iterator[str]:
    X = place(table.X)
    size = f"{X.shape[0]:,} x {X.shape[1]}"
    posterior = nb.fit(table.family, X, table.y)
    rows, codes = posterior.model.read(as_table(X)), np.searchsorted(posterior.classes, table.y)
    calls = {
        "fit": (lambda: nb.fit(table.family, X, table.y), lambda: rows.count(codes)),
        "predict_proba": (lambda: posterior.predict_proba(X), lambda: rows.densities(posterior, "log_proba")),
    }
    for verb, (call, on_device) in calls.items():
        whole = typical(call, repeats)
        with patch.object(DeviceTable, "stored", refuse):
            kernels = typical(on_device, repeats)
        share = X.nbytes / kernels / speed
        yield f"| {verb} {table.name} | {size} | {whole:.3g} s | {kernels:.3g} s | {share:.2g} |"


def refuse(table: DeviceTable, columns: Sequence[int], rows: slice) -> Any:
    raise AssertionError(f"rows {rows} went to the host")


def of_sparse(rows: int, speed: float, repeats: int) -> Iterator[str]:
    """What the device could do with sparse tables, which bayesnb counts on the host."""
    rng = np.random.default_rng(0)
    edges = np.cumsum(1 / np.arange(3, WORDS + 3))
    word = np.searchsorted(edges, rng.uniform(high=edges[-1], size=rows * LENGTH))
    document = np.repeat(np.arange(rows), LENGTH)
    X = scipy.sparse.coo_array((np.ones(len(word), np.float32), (document, word)), shape=(rows, WORDS)).tocsr()
    membership = np.eye(DOCUMENT_CLASSES, dtype=np.float32)[rng.integers(0, DOCUMENT_CLASSES, rows)]

    def line_of(what: str, x: Any, time: float) -> str:
        share = sum(leaf.nbytes for leaf in jax.tree.leaves(x)) / time / speed
        size = f"{rows:,} x {WORDS:,}, {DOCUMENT_CLASSES} classes"
        return f"| sparse {what}, float32 | {size} | | {time:.3g} s | {share:.2g} |"

    kinds = {"BCOO": sparse.BCOO.from_scipy_sparse(X), "BCSR": sparse.BCSR.from_scipy_sparse(X)}
    log_prob = jnp.asarray(rng.standard_normal((WORDS, DOCUMENT_CLASSES)), jnp.float32)
    multiply = jax.jit(lambda x, other: x @ other)
    for kind, x in kinds.items():
        require_product(kind, multiply(x, log_prob), X @ np.asarray(log_prob, np.float64))
        time = typical(lambda x=x: multiply(x, log_prob).block_until_ready(), repeats)
        yield line_of(f"product, {kind}", x, time)
    transposed = jax.jit(lambda x, other: x.T @ other)
    x, weights = kinds["BCOO"], jnp.asarray(membership)
    require_product("BCOO, transposed", transposed(x, weights), X.T @ membership)
    time = typical(lambda: transposed(x, weights).block_until_ready(), repeats)
    yield line_of("sums of classes, BCOO", x, time)


def require_product(kind: str, found: Any, expected: np.ndarray) -> None:
    off = float(np.max(np.abs(np.asarray(found) - expected))) / float(np.abs(expected).max())
    if not off <= 1e-3:
        sys.exit(
            f"WRONG: the sparse product of {kind} is off by {off:.1e} of the largest entry. The rest was not timed."
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--repeats", type=int, default=5, help="runs after the one that compiles")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md")
    arguments = parser.parse_args()
    warnings.simplefilter("error")
    device = jax.devices()[0]
    print(f"JAX's default device is {device.device_kind} ({device.platform}).")
    if not on_accelerator():
        print("That is no accelerator: this checks the way, and its times say nothing about a GPU.")
        device_array.on_accelerator = lambda array: True
    check()
    found = [
        "| work | size | the call | on the device | share of the bandwidth |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(found), flush=True)
    for line in lines(arguments.scale, arguments.repeats):
        found.append(line)
        print(line, flush=True)
    about = f"On {device.device_kind} ({device.platform}), medians of {arguments.repeats} runs; the host: "
    about += machine("jax", "jaxlib", "NumPy")
    print(f"\n{about}")
    if arguments.write:
        write("gpu", "\n".join(found) + f"\n\n{about}\n")


if __name__ == "__main__":
    main()
