"""How often `group_columns` merges independent columns, and how often it finds a pair of columns that depends.

``python tools/benchmarks/size_of_grouping.py 400`` prints the tables of docs/guide/selection.md, from so many simulated
tables for each line. There are three classes, with probabilities .5, .3 and .2, on whose means the columns depend. Of
the first two columns the second one is the first with some correlation within the classes.
"""

import sys

import numpy as np

import bayesnb as nb

CLASSES = np.array([0.5, 0.3, 0.2])
NEW_ROWS = 2000


def draw(kind, rng, rows, columns, correlation):
    """A table and its labels."""
    y = rng.choice(3, rows, p=CLASSES)
    if kind == "Gaussian":
        x = rng.normal(size=(rows, columns))
        x[:, 1] = correlation * x[:, 0] + np.sqrt(1 - correlation**2) * x[:, 1]
        return x + 0.5 * y[:, None], y
    x = rng.random((rows, columns)) < np.array([0.3, 0.5, 0.7])[y, None]
    x[:, 1] = np.where(rng.random(rows) < correlation, x[:, 0], x[:, 1])
    return x.astype(float), y


FAMILIES = {"Gaussian": nb.Gaussian(), "0/1": nb.Bernoulli()}


def merged(kind, rng, rows, columns, correlation):
    """Whether the first two columns were merged with each other, and whether any others were."""
    X, y = draw(kind, rng, rows, columns, correlation)
    blocks = nb.group_columns(FAMILIES[kind], X, y).blocks.values()
    return any({0, 1} <= {*block} for block in blocks), any({*block} != {0, 1} for block in blocks)


def size_and_power(number):
    for kind, columns in (("Gaussian", 12), ("0/1", 12), ("0/1", 25)):
        for rows in (30, 100, 300, 1000):
            rng = np.random.default_rng(rows)
            no_pair = [merged(kind, rng, rows, columns, 0.0) for _ in range(number)]
            cells = [np.mean([pair or other for pair, other in no_pair])]
            for correlation in (0.3, 0.4, 0.5):
                cells.append(np.mean([merged(kind, rng, rows, columns, correlation)[0] for _ in range(number // 2)]))
            print(f"| {kind} | {columns} | {rows} |", " | ".join(f"{cell:.2f}" for cell in cells), "|", flush=True)


def optimism(number):
    """Score of the grouped model minus that of the model before, by leave-one-out and of new rows, nats a row."""
    for kind, rows, columns in (("Gaussian", 30, 12), ("0/1", 60, 20)):
        rng = np.random.default_rng(rows)
        gains = []
        while len(gains) < number:
            X, y = draw(kind, rng, rows, columns, 0.0)
            grouping = nb.group_columns(FAMILIES[kind], X, y)
            gains.append((0.0, 0.0))
            if grouping.blocks:
                new, labels = draw(kind, rng, NEW_ROWS, columns, 0.0)
                before, after = (nb.fit(model, X, y) for model in (nb.NaiveBayes(FAMILIES[kind]), grouping.model))
                left_out = [nb.loo_scores(fitted, X, y)["elpd_label"] / rows for fitted in (before, after)]
                fresh = [
                    fitted.predict_log_proba(new)[np.arange(NEW_ROWS), labels].mean() for fitted in (before, after)
                ]
                gains[-1] = left_out[1] - left_out[0], fresh[1] - fresh[0]
        gains = np.array(gains)
        some = gains[gains.any(axis=1)]
        error = some.std(axis=0) / np.sqrt(max(len(some), 1))
        print(
            f"| {kind} | {columns} | {rows} | {len(some) / number:.3f} |",
            *np.round(some.mean(axis=0), 3),
            "±",
            *np.round(error, 3),
        )


if __name__ == "__main__":
    number = int(sys.argv[1])
    size_and_power(number)
    optimism(5 * number)
