"""Adult with other class probabilities, a moved column and a new category: drift, class probabilities and sets.

Run with ``python tools/benchmarks/adult_elsewhere.py``, which prints the figures of the guide's page on another
population. The table lies where real_data.py looks.
"""

import warnings

import numpy as np
import pandas as pd
from real_data import folder

import bayesnb as nb

ROWS, RICH, POOR = 10_000, 1200, 800
HOURS, WORK = "hours-per-week", "workclass"


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(folder() / "uci" / f"adult_{name}.csv.gz", keep_default_na=False, na_values=["", "?"])


def main() -> None:
    old, others = table("train").sample(ROWS, random_state=0), table("test")
    rich, poor = others[others["income"] == ">50K"], others[others["income"] == "<=50K"]
    new = pd.concat([rich.sample(RICH, random_state=0), poor.sample(POOR, random_state=0)])
    new = new.sample(frac=1, random_state=0)
    X, y, labels = old.drop(columns="income"), old["income"], new.pop("income")
    classifier = nb.NaiveBayesClassifier().fit(X, y)
    of_label = np.arange(len(new)), classifier.classes_.searchsorted(labels)
    estimate = nb.estimate_class_probs(classifier, new)
    known = classifier.with_class_probs({">50K": RICH / len(new), "<=50K": POOR / len(new)})
    print(estimate)
    for name, each in (("as it is", classifier), ("estimate", estimate), ("known", known)):
        print(name, "log score", np.log(each.predict_proba(new)[of_label]).mean().round(3))
    sets = {
        "as it is": classifier.predict_set(new),
        "by class": classifier.predict_set(new, by_class=True),
        "estimate": estimate.posterior.predict_set(new, fitted=(X, y)),
    }
    for name, found in sets.items():
        print(name, "sets hold", found[of_label].mean().round(3), "labels", found.sum(axis=1).mean().round(2))
    columns = nb.drift(classifier, new).table.drop(index="class probabilities")
    print("marginal factors above ten:", (columns["marginal"] > np.log(10)).sum(), "drifted:", columns["drifted"].sum())
    print("hours, standard deviation", new[HOURS].std().round(1))
    of_work = new[WORK].where(np.arange(len(new)) % 20 > 0, "Platform")
    print(nb.drift(classifier, new.assign(**{HOURS: new[HOURS] + 5, WORK: of_work})))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
