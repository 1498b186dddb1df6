"""Memory and speed of a fit to a Parquet file beyond memory: `python tools/benchmarks/out_of_core.py --gigabytes 10`.

The file is written to a temporary folder and deleted. Two processes read it one after the other, so that the peak
memory of each is its own: one takes the batches from pyarrow and does nothing with them, one fits.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CLASSES = ["ash", "birch", "cedar", "elm", "fir"]
ISLANDS = [f"island {i}" for i in range(12)]
MEASURES = [f"measure {j}" for j in range(20)]
COUNTS = [f"count {j}" for j in range(4)]
FLAGS = [f"flag {j}" for j in range(8)]
GROUP_ROWS = 2**17
BATCH_ROWS = 2**16


def row_group(rng):
    """Rows of 20 measurements (one cell in a hundred missing), 4 counts, 8 flags, an island and the label."""
    label = rng.integers(len(CLASSES), size=GROUP_ROWS)
    columns = {}
    for j, name in enumerate(MEASURES):
        cells = rng.normal(size=GROUP_ROWS)
        cells += (label * (j + 1)) % 7
        columns[name] = pa.array(cells, mask=rng.random(GROUP_ROWS, dtype=np.float32) < 0.01)
    for name in COUNTS:
        columns[name] = pa.array(rng.poisson(1 + label).astype(np.int32))
    for name in FLAGS:
        columns[name] = pa.array(rng.random(GROUP_ROWS, dtype=np.float32) < 0.2 + 0.1 * label)
    codes = pa.array(rng.integers(len(ISLANDS), size=GROUP_ROWS).astype(np.int32))
    columns["island"] = pa.DictionaryArray.from_arrays(codes, pa.array(ISLANDS))
    columns["label"] = pa.DictionaryArray.from_arrays(pa.array(label.astype(np.int32)), pa.array(CLASSES))
    return pa.table(columns)


def write(path, gigabytes):
    """Row group after row group, until the file is large enough; returns its rows."""
    rng = np.random.default_rng(1)
    first = row_group(rng)
    rows = 0
    with pq.ParquetWriter(path, first.schema, compression="none", use_dictionary=["island", "label"]) as writer:
        while path.stat().st_size < gigabytes * 1e9:
            writer.write_table(row_group(rng))
            rows += GROUP_ROWS
    return rows


def parse(path):
    """Take every batch and do nothing with it."""
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=2**16) as file:
        for _ in file.iter_batches(BATCH_ROWS):
            pass


def fit(path):
    """Fit a model of every column, in one reading."""
    import bayesnb as nb

    model = nb.NaiveBayes(
        {
            "measures": (nb.Gaussian(), MEASURES),
            "counts": (nb.Poisson(), COUNTS),
            "flags": (nb.Bernoulli(), FLAGS),
            "island": nb.Categorical(categories=ISLANDS),
        }
    )
    nb.fit_parquet(model, path, "label", classes=CLASSES, batch_rows=BATCH_ROWS)


def measure(what, path):
    """Run one of the two here, after what both need is imported, and print seconds and peak memory."""
    import bayesnb as nb

    nb.fit(nb.Gaussian(), [[1.0], [2.0]], [0, 1])
    before = resource.getrusage(resource.RUSAGE_SELF)
    start = time.perf_counter()
    {"parse": parse, "fit": fit}[what](path)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"seconds": time.perf_counter() - start, "cpu": cpu, "peak_mb": after.ru_maxrss / 1024}))


def in_a_process_of_its_own(what, path):
    command = [sys.executable, __file__, "--measure", what, "--path", str(path)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=10.0)
    parser.add_argument("--folder", help="where to write the file, instead of the temporary folder")
    parser.add_argument("--measure", choices=["parse", "fit"], help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.path)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "table.parquet"
        path.touch()
        rows = write(path, options.gigabytes)
        size = path.stat().st_size
        columns = len(MEASURES + COUNTS + FLAGS) + 2
        print(f"{size / 1e9:.2f} GB, {rows:,} rows, {columns} columns, groups of {GROUP_ROWS:,} rows", flush=True)
        found = {what: in_a_process_of_its_own(what, path) for what in ("parse", "fit")}
        for what, figures in found.items():
            print(
                f"{what}: {figures['seconds']:.1f} s ({figures['cpu']:.1f} s of processor time), "
                f"{size / figures['seconds'] / 1e6:.0f} MB/s, {rows / figures['seconds']:,.0f} rows/s, "
                f"peak memory {figures['peak_mb']:.0f} MB"
            )
        print(f"the fit runs at {found['parse']['seconds'] / found['fit']['seconds']:.3f} of the parser's speed")


if __name__ == "__main__":
    main()
