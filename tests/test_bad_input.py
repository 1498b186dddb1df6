"""Bad input is refused in the package's own words, which name the column, the value and the way out."""

import datetime
import pickle
import re
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from cases import Durations

import bayesnb as nb
from bayesnb.__main__ import main
from bayesnb.core import deferred

PACKAGE = Path(nb.__file__).parent
LABELS = ["a", "a", "b", "b", "a", "b"]
THREE = ["a", "a", "b", "b", "c", "c"]
FLAGS = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]])
NAMED = pd.DataFrame(FLAGS, columns=["u", "v", "w"])
TWICE = pd.DataFrame(FLAGS, columns=["u", "mass", "mass"])
FRAME = pd.DataFrame(
    {
        "mass": [1.5, 2.5, 0.5, 4.0, 3.5, 1.0],
        "island": ["x", "y", "x", "z", "z", "x"],
        "flag": [1, 0, 1, 1, 0, 1],
        "eggs": [3, 0, 2, 5, 1, 0],
        "the": [2, 0, 1, 4, 0, 3],
        "of": [0, 1, 1, 0, 2, 2],
    }
)
MODEL = nb.NaiveBayes(
    {
        "mass": nb.Gaussian(),
        "island": nb.Categorical(),
        "flag": nb.Bernoulli(),
        "eggs": nb.Poisson(),
        "words": (nb.Multinomial(), ["the", "of"]),
    }
)
NUTS = nb.NUTS(num_warmup=20, num_samples=20, num_chains=2, progress=False)
SMOOTH = nb.Bernoulli(2.0, 2.0)
PROBS = [[0.9, 0.2, 0.5], [0.1, 0.7, 0.4]]
GIVEN = {"classes": ["a", "b"], "class_probs": [0.3, 0.7], "parameters": {"prob": PROBS}}
DAY = datetime.date(2020, 1, 1)
VOTES = pd.DataFrame({"item": [1, 1, 2], "annotator": [1, 2, 1], "label": [0, 1, 1]})


@contextmanager
def refused(*words, error=(ValueError, TypeError)):
    """Expect a refusal in the package's own words, which hold each of `words` (patterns, in any order)."""
    match = r"(?is)\A" + "".join(f"(?=.*(?:{word}))" for word in words)
    with pytest.raises(error, match=match) as excinfo:
        yield excinfo
    assert PACKAGE in Path(excinfo.traceback[-1].path).parents, f"raised in {excinfo.traceback[-1].path}"


def value(number):
    """Pattern of a number that is not part of a longer one, trailing zeros allowed."""
    return rf"(?<![\w.]){re.escape(str(number))}(?:\.0*)?(?![\w]|\.\d)"


def changed(column, row, cell, frame=FRAME):
    frame = frame.copy()
    frame[column] = [cell if i == row else v for i, v in enumerate(frame[column])]
    return frame


def fit(family=None, X=FLAGS, y=LABELS, *args, **kwargs):
    return nb.fit(MODEL if family is None else nb.NaiveBayes(family), X, y, *args, **kwargs)


def fit_features(features, X=FRAME):
    return nb.fit(nb.NaiveBayes(features), X, LABELS)


@cache
def fitted():
    return nb.fit(MODEL, FRAME, LABELS)


@cache
def flags():
    return fit(nb.Bernoulli(), NAMED)


@cache
def point(inference="map"):
    return fit(SMOOTH, FLAGS, LABELS, inference)


def sampled_from(exact, num_chains=2, num_draws=20, X=FLAGS, y=LABELS):
    return nb.from_samples(exact.model, exact.draws(num_chains=num_chains, num_draws=num_draws, key=1), X=X, y=y)


def compare(exact=None, sampled=None, *X, **options):
    """A comparison of a closed form with draws from it, or with others."""
    exact = exact or fit(nb.Bernoulli())
    return nb.compare(exact, sampled or sampled_from(fit(nb.Bernoulli())), *X, **options)


def ask(posterior, verb, X, y=LABELS):
    """Call a method of a posterior; those that add or remove rows take labels too."""
    return getattr(posterior, verb)(X, *([y] if verb in ("update", "forget") else []))


CASES = []
"""Calls, their arguments, the words of the refusal and its type."""


def refuses(name, call, *cases, words=(), error=(ValueError, TypeError)):
    """List the refusals of a call: for each its arguments and, last, the words; `words` are those of all cases."""
    for number, (*arguments, own) in enumerate(cases):
        CASES.append(pytest.param(call, arguments, [*words, *own], error, id=f"{name} {number}"))


# --------------------------------------------------------------------------------------------------
# Tables, labels and weights
# --------------------------------------------------------------------------------------------------

for make in (np.asarray, np.ndarray.tolist, sp.csr_array, pd.DataFrame, pl.DataFrame):
    lengths = [(make(FLAGS), y, [r"\by\b", value(len(y)), value(6)]) for y in (LABELS[:5], [*LABELS, "a"])]
    refuses(f"length of y beside {make.__name__}", partial(fit, nb.Bernoulli()), *lengths)
refuses(
    "tables",
    partial(fit, nb.Bernoulli()),
    (np.zeros((0, 3)), [], ["row"]),
    (sp.csr_array((0, 3)), [], ["row"]),
    ([], [], ["X"]),
    (np.zeros((6, 0)), LABELS, ["column"]),
    (pd.DataFrame(index=range(6)), LABELS, ["column"]),
    (np.zeros(6), LABELS, ["X", r"\(6,\)|dimension|1-?d"]),
    (np.zeros((6, 1, 1)), LABELS, ["X", r"\(6, 1, 1\)|dimension|3-?d"]),
    (FRAME["flag"], LABELS, ["X"]),
    (None, LABELS, ["X"]),
    (FLAGS * 1j, LABELS, ["X holds complex numbers"]),
    (3, LABELS, ["X"]),
    ({"flag": [0, 1, 0, 1, 0, 1]}, LABELS, ["X", "dict"]),
    ([[0, 1], [1], [0, 1], [1, 1], [0, 0], [0, 0]], LABELS, ["X|row"]),
    (TWICE, LABELS, ["mass", "twice|more than once"]),
    (pa.table(list(FLAGS.T), names=["u", "mass", "mass"]), LABELS, ["mass", "twice|more than once"]),
)
refuses(
    "labels",
    partial(fit, nb.Bernoulli(), FLAGS),
    *((y, []) for y in ("island", None, FRAME, [[1, 0]] * 6, 5)),
    (set("abcdef"), ["set", "order"]),
    (dict.fromkeys("abcdef", 1), ["dict", "order"]),
    (["a", "b", [1, 2], "a", "b", "b"], ["list", r"\[1, 2\]", "row 2"]),
    ([{}] * 6, ["dict", "row 0"]),
    words=[r"\by\b"],
)
MISSING_LABELS = {
    "nan": [0.0, 1.0, 1.0, np.nan, 0.0, 1.0],
    "None": ["a", "b", "b", None, "a", "b"],
    "nan among text": np.array(["a", "b", "b", np.nan, "a", "b"], dtype=object),
    "masked": np.ma.masked_array([0, 1, 1, 0, 0, 1], mask=[0, 0, 0, 1, 0, 0]),
    "pandas": pd.Series(["a", "b", "b", None, "a", "b"]),
    "pandas Int64": pd.Series([0, 1, 1, None, 0, 1], dtype="Int64"),
    "pandas boolean": pd.Series([False, True, True, None, False, True], dtype="boolean"),
    "pandas Categorical": pd.Categorical(["a", "b", "b", None, "a", "b"]),
    "pandas dates": pd.Series(pd.to_datetime(["2020", "2021", "2021", None, "2020", "2021"])),
    "polars": pl.Series(["a", "b", "b", None, "a", "b"]),
    "pyarrow": pa.chunked_array([["a", "b", "b"], [None, "a", "b"]]),
}
refuses(
    "missing labels",
    partial(fit, nb.Bernoulli(), FLAGS),
    *((y, []) for y in MISSING_LABELS.values()),
    words=["label", "1 row has none", "MAP", "Gibbs", "NUTS", "leave"],
)
for verb in ("update", "forget"):
    refuses(
        f"labels of {verb}",
        lambda y, verb=verb: ask(flags(), verb, NAMED[:2], y),
        (["a", None], [r"\by\b|label", "missing|nan|none", value(1)]),
        ([0, 1], [value(0), "classes"]),
        (["a", "b", "a"], [r"\by\b", value(3), value(2)]),
    )
refuses(
    "classes",
    lambda classes: fit(nb.Bernoulli(), classes=classes),
    (["a", "c"], ["classes", r"\bb\b"]),
    (["a", "b", "a"], ["classes", r"\ba\b"]),
    (["a", "b", None], ["classes", "None|missing"]),
    ([], ["classes"]),
)
WEIGHTS = [
    ([1, 1, 1, -1.5, 1, 1], ["-1.5", value(3)]),
    ([1, 1, 1, np.nan, 1, 1], ["nan", value(3)]),
    ([1, 1, 1, np.inf, 1, 1], ["inf", value(3)]),
    ([1] * 7, [value(7), value(6)]),
    ([[1]] * 6, [r"\(6, 1\)|dimension"]),
    ([1e308] * 6, ["inf", "divide"]),
    ([1e150] * 6, [r"6e\+150", "divide"]),
    ("balanced", ["balanced"]),
    ({"a": 1, "b": 2}, ["dict|a"]),
]
for verb in ("fit", "update", "forget"):
    refuses(
        f"weights of {verb}",
        lambda weight, verb=verb: (
            getattr(flags(), verb)(NAMED, LABELS, sample_weight=weight)
            if verb != "fit"
            else fit(nb.Bernoulli(), sample_weight=weight)
        ),
        *WEIGHTS,
        words=["sample_weight"],
    )

# --------------------------------------------------------------------------------------------------
# Cells
# --------------------------------------------------------------------------------------------------

BAD_CELLS = [
    ("mass", -np.inf, "-inf"),
    ("mass", "1.5", "1.5"),
    ("flag", -1, "-1"),
    ("flag", 0.5, value(0.5)),
    ("flag", "yes", "yes"),
    ("eggs", np.inf, "inf"),
    ("the", -2, "-2"),
    ("the", 1.5, value(1.5)),
    ("of", np.nan, "missing|nan"),
    ("of", pd.NA, "missing|nan"),
]
BAD_FRAMES = [(changed(column, 4, cell), [rf"\b{column}\b", r"\brow 4\b", word]) for column, cell, word in BAD_CELLS]
refuses("cells of fit", lambda X: nb.fit(MODEL, X, LABELS), *BAD_FRAMES)
refuses("cells of compare", lambda X: nb.compare(fitted(), sampled_from(fitted(), X=FRAME), X), *BAD_FRAMES)
for verb in ("predict_proba", "log_joint", "proba_draws", "update", "forget"):
    refuses(f"cells of {verb}", lambda X, verb=verb: ask(fitted(), verb, X), *BAD_FRAMES)
OTHER_CELLS = [
    (nb.Bernoulli(), 3.0, ["3"]),
    (nb.Multinomial(), 1.5, [r"1\.5"]),
    (nb.Multinomial(), np.inf, ["inf"]),
    (nb.Multinomial(), np.nan, ["missing|nan"]),
]


def with_cell(cell):
    return changed(1, 4, cell, pd.DataFrame(FLAGS * 1.0)).to_numpy()


for make in (np.asarray, np.ndarray.tolist, sp.csr_array, sp.csc_array, pl.DataFrame):
    for name, call in {
        "fitted": lambda family, cell, make=make: fit(family, make(with_cell(cell))),
        "predicted": lambda family, cell, make=make: fit(family, make(FLAGS)).predict(make(with_cell(cell))),
    }.items():
        where = ["column", r"\b(column_)?1\b", r"\b4\b"]
        refuses(f"cells of {make.__name__} {name}", call, *OTHER_CELLS, words=where)
NO_NUMBERS = [
    ["x", "y", "x", "z", "z", "x"],
    pd.Categorical(["x", "y", "x", "z", "z", "x"]),
    pd.to_datetime(["2020-01-01"] * 6),
    pd.to_timedelta([1, 2, 3, 4, 5, 6], unit="D"),
    [[1], [2], [3], [4], [5], [6]],
    [{"k": 1}] * 6,
]
FINE = pd.DataFrame({"fine": [0, 1, 1, 0, 1, 0], "odd": [0, 1, 1, 0, 1, 0]})
ODD = [(FINE.assign(odd=cells), [r"\bodd\b"]) for cells in NO_NUMBERS]
for family in (nb.Gaussian(), nb.Multinomial()):
    refuses(f"no numbers for {type(family).__name__}", partial(fit, family), *ODD)
    refuses(f"no numbers as at the fit of {type(family).__name__}", lambda X, f=family: fit(f, FINE).predict(X), *ODD)
refuses("no categories", partial(fit, nb.Categorical()), *ODD[-2:], (FINE.assign(odd=[{1}] * 6), [r"\bodd\b"]))
WHEN = pd.DataFrame({"x": [1.0, 2.0], "day": pd.to_datetime([DAY, DAY])})
DATES = [
    (np.array([[1.0, DAY], [2.0, DAY]], dtype=object), ["column 1", r"date.*datetime\.date\(2020, 1, 1\)"]),
    (np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[ns]"), ["column 0", "datetime64.*2020-01-01"]),
    (WHEN, ["column 'day'", "Timestamp.*2020-01-01"]),
    (pd.DataFrame({"x": [1.0, 2.0], "day": [DAY, DAY]}), ["column 'day'", r"date\(2020, 1, 1\)"]),
]
BY_NUMBERS = [getattr(nb.estimators, name) for name in ("GaussianNB", "PoissonNB", "MultinomialNB", "BernoulliNB")]
for number, call in enumerate([partial(nb.fit, nb.Gaussian()), *(kind().fit for kind in BY_NUMBERS)]):
    words = ["row 0", "days since", "leave the column out"]
    refuses(f"dates of call {number}", lambda X, call=call: call(X, ["a", "b"]), *DATES, words=words, error=TypeError)
LISTS = pd.DataFrame({"x": [1.0, 2.0], "odd": [[1], [2]]})
OTHER_FRAMES = [
    (convert(frame), ["a", "b"], words)
    for frame, words in ((WHEN, ["'day'", "date"]), (LISTS, [r"\bodd\b", r"holds a list \(\[1\] in row 0\)"]))
    for convert in (pl.from_pandas, pa.Table.from_pandas)
]
refuses("other frames", partial(nb.fit, nb.Gaussian()), *OTHER_FRAMES, error=TypeError)
COUNTS = np.array([[1.5, 0.0, 1e200], [0.5, 2.0, 0.0]])
for kind in (nb.Multinomial, nb.DirichletMultinomial, nb.Poisson):
    estimator = getattr(nb.estimators, f"{kind.__name__}NB")()
    for name, call in {
        "a family": lambda X, kind=kind: nb.fit(kind(fractional=True), X, ["a", "b"], nb.MAP()),
        "an estimator": lambda X, estimator=estimator: estimator.fit(X, [0, 1]),
    }.items():
        words = ["column 2", "row 0", r"1e\+200", "divide"]
        refuses(f"large counts of {name} {kind.__name__}", call, (COUNTS, words), (sp.csr_array(COUNTS), words))
TEXTS = pd.DataFrame({"mass": [1.0, 2.0], "island": pd.Series(["x", "y"], dtype=object)})
for kind in BY_NUMBERS:
    refuses(
        f"texts in {kind.__name__}",
        lambda X, kind=kind: kind().fit(X, [0, 1]),
        (TEXTS, ["column 'island'", "'x' in row 0", "nb.Categorical", "could not convert"]),
        (TEXTS.astype({"island": "str"}), ["column 'island'", "'x' in row 0", "nb.Categorical"]),
        ([[1.0, {"a": 1}], [2.0, 3.0]], ["column 1", "row 0", "dict", "leave the column out"]),
    )
    refuses(
        f"a name as the labels of {kind.__name__}",
        kind().fit,
        (FRAME.assign(sort=LABELS), "sort", [r"\by\b", "'sort'", r"X\['sort'\]", "nb.fit"]),
        error=TypeError,
    )
CODES = [[0, 1], [1, 0]], [0, 1]
for code in (1e30, 2.0**63, 10**9, 2**24):
    X = np.array([[0, 1], [1, code]])
    words = ["column ('g'|1)", value(int(code)), "OrdinalEncoder", "NaiveBayesClassifier"]
    refuses(
        f"the code {code:g}",
        lambda X, call: call(X, [0, 1]),
        (X, lambda *rows: nb.estimators.CategoricalNB().fit(*rows), words),
        (X, lambda *rows: nb.estimators.CategoricalNB().fit(*CODES).partial_fit(*rows), words),
        (pd.DataFrame(X, columns=["f", "g"]), lambda *rows: nb.estimators.CategoricalNB().fit(*rows), words),
        error=ValueError,
    )
refuses(
    "codes",
    lambda X, least=None: nb.estimators.CategoricalNB(min_categories=least).fit(X, [0, 1]),
    (np.full((2, 40), 10**6), ["column 0", value(10**6), "in all columns"]),
    ([[0, 0], [1, 1]], [1, 10**12], ["column 1", value(10**12 - 1), "min_categories"]),
    (pd.DataFrame({"c": [0.0, np.inf]}), ["column 'c'", "infinite", "missing"]),
    error=ValueError,
)

# --------------------------------------------------------------------------------------------------
# Models, families and their hyperparameters
# --------------------------------------------------------------------------------------------------

refuses(
    "features",
    fit_features,
    ({"size": (nb.Gaussian(), ["mass", "eggs"]), "more": (nb.Poisson(), ["eggs"])}, ["more"]),
    ({"size": (nb.Gaussian(), ["mass"]), "mass": nb.Gaussian()}, ["mass"]),
    ({"size": (nb.Poisson(), slice(2, 5)), "more": (nb.Poisson(), slice(4, None))}, ["the"]),
    ({"wieght": nb.Gaussian()}, ["wieght", "mass"]),
    ({"size": (nb.Gaussian(), [0, 9])}, [value(9)]),
    ({"size": (nb.Gaussian(), slice(9, None))}, ["size"]),
    ({"size": (nb.Gaussian(), [])}, ["size"]),
    ({"size": (["mass"], nb.Gaussian())}, ["size"]),
    ({"size": (nb.Gaussian(), None)}, ["size"]),
    ({"mass": nb.Gaussian}, ["mass", r"Gaussian\(\)"]),
    ({"size": (nb.Gaussian, ["mass"])}, ["size", r"Gaussian\(\)"]),
    ({"mass": "gaussian"}, ["mass", "gaussian"]),
    ({}, ["column|famil|feature"]),
    (nb.Gaussian, [r"Gaussian\(\)"]),
    (None, ["None"]),
    ([nb.Gaussian(), nb.Categorical()], ["list"]),
    (nb.NaiveBayes(nb.Gaussian()), ["NaiveBayes"]),
    ({"mass": nb.Bernoulli()}, TWICE, ["mass", "twice|more than once"]),
    ({6: nb.Gaussian()}, ["column 6 is not in X", "'mass'"]),
    ({"island": nb.Categorical()}, FRAME.assign(island=None), ["island", "categories"]),
)
refuses(
    "models",
    lambda model, *inference: nb.fit(model, FLAGS, LABELS, *inference),
    (nb.NaiveBayes, [r"the class NaiveBayes: write nb\.NaiveBayes\(\)"]),
    ("bernoulli", ["model", "bernoulli"]),
    (FLAGS, ["model", r"nb\.NaiveBayes"]),
    *((nb.Bernoulli(), kind, [rf"{kind.__name__}\(\)"]) for kind in (nb.NUTS, nb.Exact, nb.MAP, nb.MLE)),
    (nb.Bernoulli(), "NUTS", ["inference", "NUTS", "'nuts'"]),
    (nb.Bernoulli(), 3, ["inference", "3"]),
)
FAMILIES = (
    nb.Bernoulli(),
    nb.Categorical(),
    nb.Multinomial(),
    nb.Poisson(),
    nb.Exponential(),
    nb.Geometric(),
    nb.Binomial(1),
    nb.NegativeBinomial(1.0),
    nb.LogNormal(),
    nb.MultivariateGaussian(),
    nb.Gaussian(),
)
NOT_POSITIVE = [
    (0, [value(0)]),
    (-1.5, ["-1.5"]),
    (np.nan, ["nan"]),
    (np.inf, ["inf"]),
    ([1.0, -2.5, 1.0], ["-2.5"]),
    ([[1.0, 2.0, np.nan]] * 2, ["nan"]),
    ("much", ["much"]),
]
SHAPES = [(np.ones(shape), [re.escape(str(shape))]) for shape in [(2,), (4,), (5, 3), (2, 4), (3, 1), (0,)]]
for family in FAMILIES:
    for name in family.positive:
        called, wrong = f"{type(family).__name__}.{name}", [*NOT_POSITIVE, *SHAPES]
        refuses(called, lambda given, f=family, n=name: fit(replace(f, **{n: given})), *wrong, words=[name])
refuses(
    "Gaussian.loc",
    lambda given: fit(nb.Gaussian(loc=given)),
    (np.nan, ["nan"]),
    (np.inf, ["inf"]),
    ("low", ["low"]),
    *SHAPES,
    words=["loc"],
)
refuses(
    "categories",
    lambda categories: fit_features({"island": nb.Categorical(categories=categories)}),
    (["x", "x", "y", "z"], [r"\bx\b"]),
    (["x", "y", "z", None], ["None|missing"]),
    ([], []),
    ({"iland": ["x", "y", "z"]}, ["iland"]),
    words=["categories"],
)
refuses(
    "class_probs",
    lambda given: nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs=given), FLAGS, LABELS),
    ([0.5, 0.6], [r"1\.1"]),
    ([1.0], ["1", "2"]),
    ([1.5, -0.5], [r"-0\.5|1\.5"]),
    ([np.nan, 0.5], ["nan"]),
    (0.5, []),
    ([[0.5, 0.5]], []),
    ("empiric", ["empiric", "empirical"]),
    (["a", "b"], []),
    ({"a": 1.0}, ["b"]),
    ({"a": 0.5, "b": 0.25, "zebra": 0.25}, ["zebra"]),
    words=["class_probs"],
)
refuses(
    "class_concentration",
    lambda given: nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_concentration=given), FLAGS, LABELS),
    *NOT_POSITIVE[:5],
    ([1.0, -2.5], ["-2.5"]),
    ([1.0, 1.0, 1.0], ["3", "2"]),
    words=["class_concentration"],
)
refuses(
    "frames to guess from",
    nb.NaiveBayes.from_frame,
    (FRAME.assign(odd=[[1], [2], [3], [4], [5], [6]]), [r"\bodd\b", "list|object", "exclude|leave"]),
    (FRAME.assign(odd=[1j] * 6), [r"\bodd\b", "complex|unknown", "exclude|leave"]),
    (pd.DataFrame(), ["no column for the model.*it has none"]),
    (TWICE, ["mass"]),
    ("data.csv", ["frame|table"]),
)
refuses(
    "columns to leave out",
    lambda exclude: nb.NaiveBayes.from_frame(FRAME, exclude=exclude),
    (["wieght"], ["exclude", "wieght"]),
    (list(FRAME), ["column"]),
)
refuses(
    "parameters",
    lambda family, given: nb.from_parameters(family, **GIVEN | given),
    (nb.Bernoulli(), {"parameters": {"prob": [[0.9, 0.2, 1.5], [0.1, 0.7, 0.4]]}}, ["prob", "1.5"]),
    (nb.Bernoulli(), {"parameters": {"prob": [[0.9, 0.2, 0.5]] * 3}}, ["prob", r"\(3, 3\)"]),
    (nb.Bernoulli(), {"parameters": {}}, ["prob"]),
    (nb.Bernoulli(), {"parameters": {"prob": PROBS, "theta": PROBS}}, ["theta"]),
    (nb.Bernoulli(), {"parameters": PROBS}, ["parameters"]),
    (nb.Bernoulli(), {"class_probs": None}, ["class_probs"]),
    (nb.Bernoulli(), {"class_probs": [0.2, 0.3, 0.5]}, ["class_probs"]),
    (nb.Bernoulli(), {"classes": ["a", "a"]}, ["classes", r"\ba\b"]),
    (nb.Bernoulli(), {"columns": ["u", "v"]}, ["prob", r"\(2, 3\)"]),
    (nb.Bernoulli(), {"columns": ["u", "v", "v"]}, [r"\bv\b"]),
    (nb.Multinomial(), {"parameters": {"prob": [[0.5, 0.2, 0.2], [0.1, 0.5, 0.4]]}}, ["prob", r"0\.[29]"]),
    (nb.Gaussian(), {"parameters": {"mean": PROBS, "variance": [[1, 2, -3.5]] * 2}}, ["variance", "-3.5"]),
    (nb.DirichletMultinomial(), {"parameters": {"concentration": [[1, -1], [1, 1]]}}, ["are not all positive", "-1"]),
    (nb.Bernoulli(), {"parameters": {"prob": np.full((2, 10), 1.5)}}, ["not all between 0 and 1", r"\[\[1\.5"]),
    (nb.Bernoulli(), {"parameters": {"prob": np.full((2, 11), 1.5)}}, ["not all between 0 and 1", r": \.\.\."]),
)

# --------------------------------------------------------------------------------------------------
# What a posterior is asked for
# --------------------------------------------------------------------------------------------------

OTHER_ROWS = [
    (NAMED[["u", "v"]], [r"\bw\b"]),
    (NAMED.rename(columns={"v": "V"}), [r"(?-i:\bv\b)", r"(?-i:\bV\b)"]),
    (pa.Table.from_pandas(NAMED.drop(columns="w").assign(extra=1)), [r"\bw\b", "extra"]),
    (FLAGS[:, :2], ["column", value(2), value(3)]),
    (sp.csr_array(FLAGS[:, :2]), ["column", value(2), value(3)]),
    (FLAGS[0], ["X", r"\(3,\)|dimension|1-?d"]),
    ({"u": [1, 0], "v": [0, 0], "w": [1, 1]}, ["dict|list"]),
    (pd.Series([1, 0, 1]), [r"\bu\b|X"]),
    (pd.DataFrame(FLAGS, columns=["u", "v", "v"]), [r"\bv\b"]),
    ("u", ["X"]),
]
for verb in ("predict", "predict_proba", "predict_log_proba", "log_joint", "proba_draws", "update"):
    refuses(f"rows of another table to {verb}", lambda X, verb=verb: ask(flags(), verb, X), *OTHER_ROWS)
refuses(
    "rows without a column of the model",
    lambda X: fitted().predict(X),
    (FRAME.drop(columns="the"), [r"\bthe\b"]),
    (FRAME.iloc[:0].drop(columns="mass"), ["mass", "missing"]),
)
BAD_KEYS = ["seed", 1.5, 2**70, -(2**63) - 1, [1, 2, 3], np.array([1.5, 2.5]), {}, np.random.default_rng(0)]
for verb, *X in [("draws",), ("proba_draws", NAMED), ("proba_interval", NAMED), ("simulate",)]:
    keys = [(key, ["key", "int"]) for key in BAD_KEYS]
    refuses(f"keys of {verb}", lambda key, verb=verb, X=X: getattr(flags(), verb)(*X, key=key), *keys)
refuses("keys of a model", lambda key: flags().model.simulate(3, key=key), *keys)
refuses("keys of NUTS", lambda key: fit(nb.Bernoulli(), FLAGS, LABELS, NUTS, key=key), *keys)
for name, numbers, *calls in [
    ("prob", (0.0, 1.0, 1.5, -0.25, 89, np.nan), lambda **prob: flags().proba_interval(NAMED, **prob)),
    ("num_draws", (0, -3, 2.5), lambda **n: flags().draws(**n), lambda **n: flags().proba_draws(NAMED, **n)),
    ("num_chains", (0, -3, 2.5), lambda **n: flags().draws(**n), lambda **n: flags().proba_draws(NAMED, **n)),
    ("total_count", (-3, 2.5, [1, 2]), lambda **total: fit(nb.Multinomial()).simulate(3, **total)),
    ("num_rows", (-3, 2.5), lambda **n: flags().simulate(**n), lambda **n: flags().model.simulate(**n)),
    ("num_warmup", (-1, 2.5), nb.NUTS),
    ("num_samples", (0, -5, 10.5, "many", None), nb.NUTS),
    ("num_chains", (0, 1.5, -2), nb.NUTS),
    ("target_accept_prob", (0.0, 1.0, 1.5, -0.5, np.nan), nb.NUTS),
    ("max_tree_depth", (0, 2.5), nb.NUTS),
    ("error_rate", (0.0, 1.5), compare),
]:
    cases = [(call, number, [rf"\b{name}\b", re.escape(str(number))]) for number in numbers for call in calls]
    refuses(name, lambda call, number, name=name: call(**{name: number}), *cases)
NEVER_THERE = [
    (nb.Bernoulli(), FLAGS, np.ones((4, 3)), ["a"] * 4, None),  # more rows than the class has
    (nb.Bernoulli(), FLAGS * [0, 1, 1], [[1, 0, 0]], ["b"], None),  # a one where all were zero
    (nb.Bernoulli(), FLAGS, FLAGS[:1], ["a"], [3.5]),  # too heavy
    (nb.Bernoulli(), FLAGS * [1, 1, np.nan], [[1, 1, 1]], ["a"], None),  # observed where all was missing
    (nb.Categorical(), FLAGS, [[1, 0, 1]] * 2, ["b"] * 2, None),  # a category too often
    (nb.Multinomial(), FLAGS, [[99, 0, 0]], ["a"], None),
    (nb.Gaussian(), FLAGS, [[1, 2.5, 1]], ["a"], None),  # slightly outside
    (nb.Gaussian(), FLAGS, FLAGS[[0, 1, 4]] + 1, ["a"] * 3, None),  # the last rows, with another mean
    (nb.Gaussian(), FLAGS, np.full((3, 3), FLAGS[[0, 1, 4]].mean(0)), ["a"] * 3, None),  # with less spread
]
refuses(
    "rows that were never there",
    lambda family, X, gone, y, weight: fit(family, X).forget(gone, y, sample_weight=weight),
    *((*case, ["never|not among|were not|cannot have|more than"]) for case in NEVER_THERE),
    error=ValueError,
)
refuses(
    "estimates that do not exist",
    lambda family, X, inference: fit(family, X, LABELS, inference),
    (nb.Gaussian(), FLAGS * [1.0, 1.0, 0.0], nb.MLE(), ["column", "variance"]),
    (nb.Bernoulli(), FLAGS * [1, 1, np.nan], nb.MLE(), ["column", value(2)]),
    (nb.Bernoulli(0.5, 0.5), FLAGS * [1, 1, 0], nb.MAP(), ["column", "prob"]),
    (
        nb.Categorical(),
        pd.DataFrame({"island": ["x", "y", None, None, "x", None]}),
        nb.MLE(),
        ["'island'", "'b'", "maximum likelihood", "'prob' does not exist", "nb.Exact"],
    ),
)
refuses(
    "answers that do not exist",
    lambda call: call(),
    (lambda: fit(nb.Gaussian(), FLAGS * 1.0, LABELS, nb.MLE(), classes=["a", "b", "c"]), [r"\bc\b"]),
    (lambda: fit(nb.Bernoulli(), y=THREE).decision_boundary(), ["class", value(3)]),
    (lambda: fit(nb.Gaussian()).decision_boundary(), ["Gaussian"]),
    (lambda: point().forget(np.ones((4, 3)), ["a"] * 4), ["never|not among|were not|cannot have|more than"]),
    (lambda: nb.datasets.federalist("all"), [r"words is 'all': give one of \['function', 'final'\]"]),
    (
        lambda: nb.fit_annotations(VOTES, item="item", annotator="annotator", label="label", known={999: 1}),
        ["column 'item', which holds items such as 1, and known holds 999", "of the type int$"],
    ),
    (
        lambda: nb.fit(nb.NaiveBayes({"mass": Durations(), "eggs": nb.Poisson()}), FRAME[["mass", "eggs"]], LABELS),
        [r"use nb\.NUTS\(\) for draws\Z"],  # and no other inference, which one of the columns does not take
    ),
    error=(ValueError, TypeError, FileNotFoundError),
)


refuses(
    "comparisons",
    lambda call: call(),
    (lambda: compare(sampled=sampled_from(fit(nb.Bernoulli()), num_chains=1)), ["chain", r"\bone\b|\b1\b"]),
    (lambda: compare(sampled=point()), ["sampled", "a point"]),
    (lambda: compare(fit(nb.Bernoulli()).model), ["exact is a BoundModel: give"]),
    (lambda: nb.compare(fit(nb.Bernoulli()), None), ["sampled", "a NoneType"]),
    (lambda: compare(fit(nb.Gaussian())), ["parameters differ"]),
    (lambda: compare(fit(nb.Bernoulli(), y=THREE)), ["classes differ", r"\bc\b"]),
    (lambda: compare(fit(nb.Bernoulli(), FLAGS[:, :2])), ["labels of .x_prob. differ"]),
    (lambda: compare(None, None, FLAGS[:, :2]), ["column", value(2), value(3)]),
)


def changed_samples(change):
    exact = fit(nb.Bernoulli())
    samples = exact.draws(num_chains=2, num_draws=20)
    change(samples)
    nb.from_samples(exact.model, samples, X=FLAGS, y=LABELS)


refuses(
    "samples",
    changed_samples,
    (lambda s: s.pop("x_prob"), ["prob"]),
    (lambda s: s.pop("class_prob"), ["class_prob"]),
    (
        lambda s: s.update(slope=np.zeros((2, 20))),
        ["'slope'", "does not have", r"give \['class_prob', 'x_prob'\] alone"],
    ),
    (lambda s: s.update(feature_weight=np.zeros((2, 20, 3))), ["'feature_weight'", "predictions would ignore it"]),
    (lambda s: s.update(x_prob=s["x_prob"][..., :2]), ["prob", r"\b2\)"]),
    (lambda s: s.update(x_prob=s["x_prob"][:, :5]), ["prob|class_prob", "5|20"]),
    (lambda s: s.update(x_prob=s["x_prob"][:, :0], class_prob=s["class_prob"][:, :0]), ["draw"]),
    (lambda s: s.update(x_prob=np.where(s["x_prob"] > 0, np.nan, 0)), ["prob", "nan|finite"]),
    (lambda s: s.update(class_prob=s["class_prob"] * 2), ["class_prob"]),
)
refuses(
    "sites with other draws than the class probabilities",
    lambda shape: nb.from_samples(
        nb.NaiveBayes({"votes": nb.Bernoulli()}),
        {"class_prob": np.ones((1, 20, 1)), "votes_prob": np.full(shape, 0.5)},
        X=pd.DataFrame({"votes": [0, 1]}),
        y=["a", "a"],
    ),
    *((shape, ["votes_prob", "class_prob", "20"]) for shape in [(1, 20, 1, 1), (1, 10, 1), (20, 1)]),
)
refuses(
    "too few draws to leave rows out",
    lambda number: nb.loo(sampled_from(fit(nb.Bernoulli()), num_chains=1, num_draws=number), FLAGS, LABELS),
    *((number, [value(number), "draw", "at least 25", "closed form"]) for number in (1, 2, 24)),
)


@pytest.mark.parametrize(("call", "arguments", "words", "error"), CASES)
def test_refused(call, arguments, words, error):
    with refused(*words, error=error) as caught:
        call(*arguments)
    assert len(str(caught.value)) < 700


# --------------------------------------------------------------------------------------------------
# Input that is allowed, and data that an error leaves unchanged
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("y", MISSING_LABELS.values(), ids=MISSING_LABELS)
def test_rows_without_a_label_are_for_other_inferences(y):
    posterior = nb.fit(SMOOTH, FLAGS, y, nb.MAP())
    assert len(posterior.classes) == 2
    expected = nb.fit(SMOOTH, FLAGS, MISSING_LABELS["None"], nb.MAP()).mean()["x_prob"]
    np.testing.assert_array_equal(posterior.mean()["x_prob"], expected)


@pytest.mark.parametrize(
    ("verb", "X", "y"),
    [
        ("update", changed("of", 5, -1), LABELS),
        ("update", FRAME, [*LABELS[:5], "zebra"]),
        ("forget", changed("eggs", 1, 99), LABELS),
    ],
)
def test_a_refusal_leaves_the_posterior_as_it_was(verb, X, y):
    posterior = nb.fit(MODEL, FRAME, LABELS)
    before, evidence = posterior.predict_proba(FRAME), posterior.log_evidence
    with refused(r"\bof\b|zebra|\by\b|eggs"):
        getattr(posterior, verb)(X, y)
    np.testing.assert_array_equal(posterior.predict_proba(FRAME), before)
    assert posterior.log_evidence == evidence
    more = posterior.update(FRAME[:1], LABELS[:1])
    np.testing.assert_allclose(more.forget(FRAME[:1], LABELS[:1]).predict_proba(FRAME), before, rtol=1e-10)


def test_options_after_the_data_go_by_keyword():
    with pytest.raises(TypeError, match="positional"):
        nb.fit(nb.Bernoulli(), FLAGS, LABELS, nb.Exact(), np.ones(6))
    with pytest.raises(TypeError, match="positional"):
        flags().proba_interval(NAMED, 0.5)
    with pytest.raises(TypeError, match="class_prob"):
        nb.NaiveBayes.from_frame(FRAME, class_prob=[0.5, 0.5])


def test_draws_too_few_to_summarise():
    summary = sampled_from(fit(nb.Bernoulli()), num_chains=1, num_draws=1).summary()
    assert summary["mean"].between(0, 1).all()
    assert summary["sd"].isna().all()
    assert (summary.loc["x_prob[a, 0]", ["ess_bulk", "ess_tail"]] == 0).all()


def test_draws_that_are_all_the_same_leave_no_row_out():
    exact = fit(nb.Bernoulli())
    first = {site: values[:1, :1] for site, values in exact.draws(num_chains=1, num_draws=1).items()}
    still = {site: np.broadcast_to(value, (4, 500, *value.shape[2:])) for site, value in first.items()}
    stuck = nb.from_samples(exact.model, still, X=FLAGS, y=LABELS)
    with refused("draws are the same", "closed form"):
        nb.loo(stuck, FLAGS, LABELS)


def test_a_single_class_has_defined_answers():
    y = ["a"] * len(LABELS)
    exact = fit(nb.Bernoulli(), FLAGS, y)
    draws = sampled_from(exact, num_chains=4, num_draws=500, y=y)
    assert (exact.predict_proba(FLAGS) == 1).all()
    assert nb.loo(exact, FLAGS, y).elpd == 0.0
    assert nb.compare(exact, draws).table.index.tolist() == [f"x_prob[a, {j}]" for j in range(3)]
    assert nb.check(exact, FLAGS, y, num_replicates=20).table.loc["class_frequency[a]", "observed"] == 1.0
    assert nb.calibration(exact, FLAGS, y).table.loc["accuracy", "posterior"] == 1.0
    assert (exact.to_datatree(FLAGS, y)["log_likelihood"]["y"] == 0.0).all()
    with refused("one class, 'a'", "loo_scores"):
        nb.loo(draws, FLAGS, y)


def test_a_code_that_was_never_seen_is_a_missing_cell():
    estimator = nb.estimators.CategoricalNB().fit(*CODES)
    with pytest.warns(UserWarning, match="not seen in training"):
        estimator.predict([[0, 1], [1, 10**9]])


@pytest.mark.parametrize("cell", [1e308, -1e200, 1.01e150, 10**400, -(10**400)], ids=range(5))
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, partial(pd.DataFrame, dtype=object)])
def test_measurements_too_large_for_squares(cell, form):
    X = form(np.array([[1.0, cell], [2.0, None], [3.0, 1.0]], dtype=object))
    infinite = [r"(?<!-)inf" if cell > 0 else "-inf"]
    words = infinite if abs(cell) == 10**400 else [value(f"{cell:g}").replace("1e", r"1\.?0*e"), "divide"]
    known = nb.fit(nb.Gaussian(), [[1.0, 2.0], [2.0, 3.0], [3.0, 1.0]], ["a", "b", "a"])
    with warnings.catch_warnings(action="error"):
        for call in (lambda: nb.fit(nb.Gaussian(), X, ["a", "b", "a"]), lambda: known.predict_proba(np.asarray(X))):
            with refused("column 1", "row 0", *words, error=ValueError):
                call()


@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Hurdle(nb.Gaussian()), nb.MultivariateGaussian()])
@pytest.mark.parametrize("scale", [1e-147, 1e-200], ids=str)
@pytest.mark.parametrize("cells", [[2.0, 2.5, 3.0, 2.25], [2.0] * 4], ids=["spread", "constant"])
def test_measurements_too_small_for_squares(family, scale, cells):
    X = pd.DataFrame({"mass": [1.0, 2.0, 3.0, 4.0], "charge": scale * np.array(cells)})
    near = re.escape(f"near {X['charge'].mean():.3g}")
    with refused("column 'charge'", "variance", near, "multiply", error=ValueError):
        nb.fit(nb.NaiveBayes(family), X, list("abab"))


def test_measurements_of_the_largest_and_the_smallest_size_are_read():
    X, y = np.array([[1e150], [-1e150], [0.9e150], [-0.8e150]]), list("abab")
    assert nb.fit(nb.Gaussian(), X, y).predict(X).tolist() == y
    X = np.array([[2.0], [2.5], [3.0], [2.25]])
    small = nb.fit(nb.Gaussian(), X * 2.0**-480, y).predict_proba(X * 2.0**-480)
    np.testing.assert_allclose(small, nb.fit(nb.Gaussian(), X, y).predict_proba(X), rtol=1e-12)


def test_lists_of_numbers_with_gaps_are_read_by_estimators():
    X = [[1.0, None], [2.0, 3.0], [4.0, 5.0]]
    found = nb.estimators.GaussianNB().fit(X, ["a", "b", "b"]).predict_proba(X)
    expected = nb.estimators.GaussianNB().fit(np.array(X, dtype=float), ["a", "b", "b"]).predict_proba(X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore:column . has counts above 1e")
@pytest.mark.parametrize("family", [nb.Multinomial(), nb.DirichletMultinomial()], ids=["multinomial", "dirichlet"])
def test_counts_of_any_size_are_checked(family):
    """Replicates of a sparse table do not take memory for each word of a document."""
    X, y = sp.csr_array([[9e15, 1.0, 0.0], [2.0, 3.0, 1e15], [1.0, 2.0, 3.0]]), ["a", "b", "a"]
    assert len(nb.check(fit(family, X, y, nb.MAP()), X, y, num_replicates=20).table) > 0


def test_a_name_among_numbers_of_columns_makes_them_names():
    model = nb.NaiveBayes({"flag": nb.Bernoulli(), 3: nb.Poisson()})
    given = GIVEN | {"parameters": {"flag_prob": [0.2, 0.8], "3_rate": [1, 5]}}
    turned = pd.DataFrame({3: [4.0, 0.0], "flag": [1.0, 0.0]})
    for columns in (None, ["flag", 3]):
        assert nb.from_parameters(model, columns=columns, **given).predict(turned).tolist() == ["b", "a"]


def without(monkeypatch, foreign, own):
    """A module of the package is imported anew where a foreign one is not installed."""
    monkeypatch.setitem(sys.modules, foreign, None)
    monkeypatch.delitem(sys.modules, own, raising=False)


def test_plots_without_matplotlib(monkeypatch):
    posterior = flags()
    for plot in (nb.mutual_information(posterior).plot, lambda: nb.plot_spikes(posterior)):
        without(monkeypatch, "matplotlib.figure", "bayesnb.core.picture")
        monkeypatch.setattr(deferred, "_imported", import_module)  # which keeps what it has imported
        with refused(r"pip install 'bayesnb\[plots\]'", "matplotlib", error=ImportError):
            plot()


def test_the_command_line_without_its_extra(monkeypatch):
    without(monkeypatch, "typer", "bayesnb.cli")
    with pytest.raises(SystemExit, match=r"the command line needs typer: pip install 'bayesnb\[cli\]'"):
        main()


NAMES = [
    (nb.Gaussian, "mu", "loc"),
    (nb.Gaussian, "sigma", "rate"),
    (nb.Bernoulli, "alpha", "concentration1"),
    (nb.Bernoulli, "beta", "concentration0"),
    (nb.Categorical, "alpha", "concentration"),
    (partial(nb.NegativeBinomial, 2.0), "alpha", "concentration1"),
    (nb.MultivariateGaussian, "nu", "df"),
    (nb.NaiveBayes, "alpha", "class_concentration"),
    (nb.NaiveBayes, "class_prior", "class_probs"),
    (nb.NUTS, "draws", "num_samples"),
    (nb.NUTS, "tune", "num_warmup"),
    (nb.NUTS, "target_accept", "target_accept_prob"),
    (nb.Gibbs, "chains", "num_chains"),
    (nb.MAP, "max_iter", "max_iterations"),
    (nb.NaiveBayesClassifier, "seed", "random_state"),
    (nb.estimators.GaussianNB, "class_prior", "priors"),
    (nb.estimators.MultinomialNB, "concentration", "alpha"),
    (nb.fit, "seed", "key"),
    (nb.fit, "random_state", "key"),
    (nb.sbc, "draws", "num_simulations"),
    (nb.check, "sample_weights", "sample_weight"),
    (nb.loo_scores, "weights", "sample_weight"),
]


@pytest.mark.parametrize(("call", "wrong", "meant"), NAMES)
def test_a_wrong_name_of_an_argument_says_which_is_meant(call, wrong, meant):
    with refused(rf"unexpected keyword argument '{wrong}': write {meant}; it takes \[.*'{meant}'", error=TypeError):
        call(**{wrong: 1})


def test_a_name_of_no_argument_says_where_it_belongs():
    with refused("'seed': perhaps key of another call", error=TypeError):
        nb.NUTS(seed=1)
    with refused("'beta': leave it out; it takes", error=TypeError):
        nb.Multinomial(beta=1)
    with refused("'nothing': leave it out", error=TypeError):
        nb.Exact(nothing=1)


def test_names_of_ones_own_classes_are_theirs():
    class Mine(nb.NaiveBayesClassifier):
        def __init__(self, **settings):
            super().__init__(**settings)

    assert Mine(random_state=1).random_state == 1
    assert pickle.loads(pickle.dumps(nb.fit)) is nb.fit is nb.fit


class Strange:
    """A path of bytes."""

    def __fspath__(self):
        return b"bytes"


NO_PATHS = [
    None,
    3,
    2.5,
    True,
    b"bytes",
    "",
    "no\0path",
    [],
    FRAME,
    Strange(),
    "long" * 100,
    "file/inside",
    "missing/it",
]


@pytest.mark.parametrize("path", NO_PATHS, ids=lambda path: str(path)[:9].replace("\n", " "))
def test_paths_that_are_none(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    calls = {
        "load": nb.load,
        "save": fitted().save,
        "fit_parquet": lambda path: nb.fit_parquet(nb.Bernoulli(), path, "y"),
        "cache": nb.enable_compilation_cache,
    }
    if path is None or str(path) == "missing/it":
        del calls["cache"]  # the default; a folder that can be made
    for call in calls.values():
        with refused("", error=(ValueError, TypeError, OSError)) as raised:
            call(path)
        assert not isinstance(raised.value, UnicodeError)
    assert [*tmp_path.iterdir()] == [tmp_path / "file"]


@pytest.mark.parametrize("edges", [4, 2.5, True, np.nan])
def test_edges_that_are_none(edges):
    with refused(r"Histogram\(edges=.*give at least two edges, or num_bins="):
        nb.Histogram(edges)


@pytest.mark.parametrize("label", [FRAME, FRAME["mass"], np.array(["a", "b"]), ["a"], pd.NA, {}])
def test_what_is_no_class(label):
    for arguments in ({"class_": label}, {"against": label}):
        with refused("which is no class: give one of"):
            fitted().explain(FRAME[:1], **arguments)
    for words, call in {
        "unit is .*: give one of": lambda: nb.mutual_information(flags(), unit=label),
        "criterion is": lambda: nb.choose_families(FRAME, LABELS, criterion=label),
        "classes": lambda: nb.plot_proba(fitted(), FRAME[:1], classes=[label, label]),
        "give two different": lambda: nb.plot_log_odds(fitted(), FRAME[:1], classes=[label, label]),
        "sort is": lambda: nb.plot_evidence(fitted(), FRAME[:1], sort=label),
    }.items():
        with refused(words):
            call()
