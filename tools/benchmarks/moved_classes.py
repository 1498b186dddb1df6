"""Log scores and sets of labels where only the class probabilities have moved, with and without their estimate.

Run with ``python tools/benchmarks/moved_classes.py`` (some minutes), which prints the table of the guide's page on
another population. The tables lie where real_data.py looks; ``--tables pima,magic`` takes some.
"""

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from first_call import table

import bayesnb as nb

TABLES = ("Chile", "OJ", "attrition", "cmc", "credit_a", "credit_g", "kr_vs_kp", "magic", "pima", "vehicle")
SAMPLES, ROWS = 8, 200


def measured(name: str) -> Iterator[dict]:
    """For each sample of new rows log scores, coverage of sets, and the share of class probabilities in intervals."""
    X, y = table(name)
    rng = np.random.default_rng(0)
    old, others = np.array_split(rng.permutation(len(y)), 2)
    fitted = X.iloc[old], y[old]
    classifier = nb.NaiveBayesClassifier().fit(*fitted)
    places = [others[y[others] == label] for label in classifier.classes_]
    for _ in range(SAMPLES):
        probs = rng.dirichlet(np.ones(len(places)))
        sizes = rng.multinomial(ROWS, probs)
        rows = np.concatenate([rng.choice(*each) for each in zip(places, sizes, strict=True)])
        new, of_label = X.iloc[rows], (np.arange(ROWS), np.repeat(np.arange(len(places)), sizes))
        estimate, known = nb.estimate_class_probs(classifier, new), classifier.with_class_probs(probs)
        held = estimate.table["lower"].le(probs) & estimate.table["upper"].ge(probs)
        found = {"table": name, "in intervals": held.mean(), "agrees": estimate.agrees}
        for way, each in {"as it is": classifier, "estimate": estimate, "known": known}.items():
            found[f"{way}, log score"] = np.log(each.predict_proba(new)[of_label]).mean()
        sets = {
            "as it is": classifier.predict_set(new, empty=True),
            "by class": classifier.predict_set(new, by_class=True, empty=True),
            "estimate": estimate.posterior.predict_set(new, fitted=fitted, empty=True),
            "known": known.posterior_.predict_set(new, fitted=fitted, empty=True),
        }
        for way, each in sets.items():
            found |= {f"{way}, hold": each[of_label].mean(), f"{way}, labels": each.sum(axis=1).mean()}
        yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=",".join(TABLES))
    found = []
    for name in parser.parse_args().tables.split(","):
        found += measured(name)
        print(name, flush=True)
    by_table = pd.DataFrame(found).groupby("table").mean(numeric_only=True)
    by_table["gained"] = by_table["estimate, log score"] - by_table["as it is, log score"]
    by_table["lost"] = by_table["known, log score"] - by_table["estimate, log score"]
    for frame in (by_table, by_table.agg(["mean", "sem", "min", "max"])):
        print(frame.T.round(3).to_string(), end="\n\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
