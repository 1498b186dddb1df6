import datetime
import re
import sys
import warnings
from contextlib import contextmanager
from functools import partial
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

PACKAGE = Path(nb.__file__).parent
LABELS = ["a", "a", "b", "b", "a", "b"]
FLAGS = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 1]])
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


def brief(parameter):
    """Name of a parameter in a test's id: short, and the same in every process."""
    if not isinstance(parameter, type) and type(parameter).__module__.split(".")[0] not in ("builtins", "bayesnb"):
        return type(parameter).__name__
    text = parameter.__name__ if isinstance(parameter, type) else str(parameter)
    return type(parameter).__name__ if "0x" in text or "\n" in text else text[:40]


def fit(family=None, X=FLAGS, y=LABELS, *args, **kwargs):
    return nb.fit(MODEL if family is None else nb.NaiveBayes(family), X, y, *args, **kwargs)


def fit_frame(X=FRAME, y=LABELS, *args, **kwargs):
    return nb.fit(MODEL, X, y, *args, **kwargs)


@pytest.fixture(scope="module")
def fitted():
    return fit_frame()


def test_a_table_in_the_place_of_the_model():
    with refused("model", "DataFrame", r"nb\.NaiveBayes") as caught:
        nb.fit(FRAME, MODEL, LABELS)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("y", [LABELS[:5], [*LABELS, "a"]], ids=["shorter", "longer"])
@pytest.mark.parametrize(
    "X",
    [FLAGS, FLAGS.tolist(), sp.csr_array(FLAGS), pd.DataFrame(FLAGS), pl.DataFrame(FLAGS)],
    ids=["numpy", "list", "csr", "pandas", "polars"],
)
def test_y_of_another_length(X, y):
    with refused(r"\by\b", value(len(y)), value(6)):
        fit(nb.Bernoulli(), X, y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.zeros((0, 3)), [], ["row"]),
        (FRAME[:0], [], ["row"]),
        (pl.DataFrame({"flag": []}, schema={"flag": pl.Int64}), [], ["row"]),
        (sp.csr_array((0, 3)), [], ["row"]),
        ([], [], ["X"]),
        (np.zeros((6, 0)), LABELS, ["column"]),
        (pd.DataFrame(index=range(6)), LABELS, ["column"]),
        (pl.DataFrame(), [], ["row|column"]),
        (np.zeros(6), LABELS, ["X", r"\(6,\)|dimension|1-?d"]),
        ([0, 1, 0, 1, 0, 1], LABELS, ["X", r"\(6,\)|dimension|1-?d"]),
        (np.zeros((6, 1, 1)), LABELS, ["X", r"\(6, 1, 1\)|dimension|3-?d"]),
        (FRAME["flag"], LABELS, ["X"]),
        (pl.Series([0, 1, 0, 1, 0, 1]), LABELS, ["X"]),
        (None, LABELS, ["X"]),
        ("data.csv", LABELS, ["X"]),
        (3, LABELS, ["X"]),
        ({"flag": [0, 1, 0, 1, 0, 1]}, LABELS, ["X", "dict"]),
        ([[0, 1], [1], [0, 1], [1, 1], [0, 0], [0, 0]], LABELS, ["X|row"]),
        (pl.LazyFrame({"flag": [0, 1, 0, 1, 0, 1]}), LABELS, ["LazyFrame|collect"]),
    ],
    ids=brief,
)
def test_tables_that_are_none(X, y, words):
    with refused(*words):
        fit(nb.Bernoulli(), X, y)


@pytest.mark.parametrize(
    "y",
    ["island", None, np.array([["a", "b"]] * 6), FRAME, [[1, 0]] * 6, np.array([["a"]] * 6), {"a": 1}, 5, 1.5, True],
    ids=["text", "None", "two columns", "frame", "one-hot", "column", "dict", "int", "float", "bool"],
)
def test_labels_that_are_none(y):
    with refused(r"\by\b"):
        fit(nb.Bernoulli(), FLAGS, y)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (set("abcdef"), ["set", "order"]),
        (dict.fromkeys("abcdef", 1), ["dict", "order"]),
        (["a", "b", [1, 2], "a", "b", "b"], ["list", r"\[1, 2\]", "row 2"]),
        ([[1], [2, 3], [1], [1], [1], [1]], ["list", r"\[1\]", "row 0"]),
        ([{}] * 6, ["dict", "row 0"]),
    ],
    ids=["set", "dict", "list among text", "ragged", "dicts"],
)
def test_values_without_an_order_and_values_that_cannot_be_labels(y, words):
    with refused(r"\by\b", *words, error=TypeError):
        fit(nb.Bernoulli(), FLAGS, y)


MISSING_LABELS = {
    "nan": [0.0, 1.0, 1.0, np.nan, 0.0, 1.0],
    "numpy nan": np.array([0.0, 1.0, 1.0, np.nan, 0.0, 1.0]),
    "None": ["a", "b", "b", None, "a", "b"],
    "None among ints": [0, 1, 1, None, 0, 1],
    "nan among text": np.array(["a", "b", "b", np.nan, "a", "b"], dtype=object),
    "NA": ["a", "b", "b", pd.NA, "a", "b"],
    "masked": np.ma.masked_array([0, 1, 1, 0, 0, 1], mask=[0, 0, 0, 1, 0, 0]),
    "pandas": pd.Series(["a", "b", "b", None, "a", "b"]),
    "pandas string": pd.Series(["a", "b", "b", None, "a", "b"], dtype="string"),
    "pandas Int64": pd.Series([0, 1, 1, None, 0, 1], dtype="Int64"),
    "pandas boolean": pd.Series([False, True, True, None, False, True], dtype="boolean"),
    "pandas Categorical": pd.Categorical(["a", "b", "b", None, "a", "b"]),
    "pandas category": pd.Series(["a", "b", "b", None, "a", "b"], dtype="category"),
    "pandas dates": pd.Series(pd.to_datetime(["2020", "2021", "2021", None, "2020", "2021"])),
    "polars": pl.Series(["a", "b", "b", None, "a", "b"]),
    "polars nan": pl.Series([0.0, 1.0, 1.0, np.nan, 0.0, 1.0]),
    "pyarrow": pa.chunked_array([["a", "b", "b"], [None, "a", "b"]]),
}


@pytest.mark.parametrize("y", MISSING_LABELS.values(), ids=MISSING_LABELS)
def test_missing_labels(y):
    with refused("label", "1 row has none", "MAP", "Gibbs", "NUTS", "leave"):
        fit(nb.Bernoulli(), FLAGS, y)
    model = nb.NaiveBayes(nb.Bernoulli(2.0, 2.0))
    posterior = nb.fit(model, FLAGS, y, nb.MAP())
    assert len(posterior.classes) == 2
    expected = nb.fit(model, FLAGS, ["a", "b", "b", None, "a", "b"], nb.MAP()).mean()["x_prob"]
    np.testing.assert_array_equal(posterior.mean()["x_prob"], expected)


def test_missing_labels_in_update_and_forget():
    posterior = fit(nb.Bernoulli())
    for verb in (posterior.update, posterior.forget):
        with refused(r"\by\b|label", "missing|nan|none", value(1)):
            verb(FLAGS[:2], ["a", None])


BAD_CELLS = [
    ("mass", np.inf, "inf"),
    ("mass", -np.inf, "-inf"),
    ("mass", "heavy", "heavy"),
    ("mass", "1.5", "1.5"),
    ("flag", 3, value(3)),
    ("flag", -1, "-1"),
    ("flag", 0.5, value(0.5)),
    ("flag", np.inf, "inf"),
    ("flag", "yes", "yes"),
    ("eggs", -2, "-2"),
    ("eggs", 1.5, value(1.5)),
    ("eggs", np.inf, "inf"),
    ("eggs", "many", "many"),
    ("the", -2, "-2"),
    ("the", 1.5, value(1.5)),
    ("the", np.inf, "inf"),
    ("the", "many", "many"),
    ("of", np.nan, "missing|nan"),
    ("of", None, "missing|nan"),
    ("of", pd.NA, "missing|nan"),
]


@pytest.mark.parametrize(("column", "cell", "word"), BAD_CELLS, ids=brief)
@pytest.mark.parametrize("verb", ["fit", "predict_proba", "log_joint", "proba_draws", "update", "forget", "compare"])
def test_values_outside_a_familys_support(column, cell, word, verb, fitted):
    X = changed(column, 4, cell)
    words = (rf"\b{column}\b", r"row.*\b4\b|\b4\b.*row", word)
    if verb == "fit":
        with refused(*words):
            fit_frame(X)
        return
    before = fitted.predict_proba(FRAME)
    with refused(*words):
        if verb == "compare":
            nb.compare(fitted, sampled_from(fitted), X)
        else:
            getattr(fitted, verb)(X, *([LABELS] if verb in ("update", "forget") else []))
    np.testing.assert_array_equal(fitted.predict_proba(FRAME), before)


OTHER_TABLES = {
    "numpy": np.asarray,
    "list": lambda x: x.tolist(),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "polars": pl.DataFrame,
    "pyarrow": lambda x: pa.table({f"column_{j}": x[:, j] for j in range(3)}),
}


@pytest.mark.parametrize(
    ("family", "cell"),
    [
        (nb.Bernoulli(), 3.0),
        (nb.Bernoulli(), -1.0),
        (nb.Bernoulli(), np.inf),
        (nb.Multinomial(), -2.0),
        (nb.Multinomial(), 1.5),
        (nb.Multinomial(), np.inf),
        (nb.Multinomial(), np.nan),
    ],
    ids=brief,
)
@pytest.mark.parametrize("make", OTHER_TABLES.values(), ids=OTHER_TABLES)
def test_bad_cells_in_other_tables(family, cell, make):
    X = FLAGS.astype(float)
    X[4, 1] = cell
    word = "missing|nan" if np.isnan(cell) else re.escape(f"{cell:g}")
    with refused("column", r"\b(column_)?1\b", r"\b4\b", word):
        fit(family, make(X))
    posterior = fit(family, make(FLAGS))
    with refused("column", r"\b(column_)?1\b", r"\b4\b", word):
        posterior.predict(make(X))


@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Bernoulli(), nb.Poisson(), nb.Multinomial()], ids=brief)
@pytest.mark.parametrize(
    "cells",
    [
        ["x", "y", "x", "z", "z", "x"],
        pd.Categorical(["x", "y", "x", "z", "z", "x"]),
        pd.to_datetime(["2020-01-01"] * 6),
        pd.to_timedelta([1, 2, 3, 4, 5, 6], unit="D"),
        [[1], [2], [3], [4], [5], [6]],
        [{"k": 1}] * 6,
    ],
    ids=["text", "category", "dates", "durations", "lists", "dicts"],
)
def test_columns_that_hold_no_numbers(family, cells):
    X = pd.DataFrame({"fine": [0, 1, 1, 0, 1, 0], "odd": cells})
    with refused(r"\bodd\b"):
        fit(family, X)
    with refused(r"\bodd\b"):
        fit(family, pd.DataFrame({"fine": [0, 1, 1, 0, 1, 0], "odd": [0, 1, 1, 0, 1, 0]})).predict(X)


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table], ids=["polars", "pyarrow"])
def test_lists_of_one_number_are_no_numbers(make):
    with refused(r"\bodd\b", r"holds a list \(\[1\] in row 0\)"):
        fit(nb.Gaussian(), make({"fine": [0, 1, 1, 0, 1, 0], "odd": [[1], [2], [3], [4], [5], [6]]}))


@pytest.mark.parametrize(
    "cells", [[[1], [2], [1], [2], [1], [2]], [{"k": 1}] * 6, [{1}] * 6], ids=["lists", "dicts", "sets"]
)
def test_categories_that_cannot_be_compared(cells):
    with refused(r"\bodd\b"):
        fit(nb.Categorical(), pd.DataFrame({"odd": cells}))


@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Categorical(), nb.Poisson()], ids=brief)
def test_sparse_tables_for_families_of_dense_columns(family):
    # A family may read them or refuse them, in its own words.
    try:
        posterior = fit(family, sp.csr_array(FLAGS))
    except (ValueError, TypeError):
        with refused("sparse", "dense|toarray"):
            fit(family, sp.csr_array(FLAGS))
    else:
        np.testing.assert_allclose(posterior.predict_proba(FLAGS), fit(family).predict_proba(FLAGS), rtol=1e-12)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ({"size": (nb.Gaussian(), ["mass", "eggs"]), "more": (nb.Poisson(), ["eggs"])}, ["eggs"]),
        ({"size": (nb.Gaussian(), ["mass", "mass"])}, ["mass"]),
        ({"size": (nb.Gaussian(), ["mass"]), "mass": nb.Gaussian()}, ["mass"]),
        ({"mass": nb.Gaussian(), 0: nb.Gaussian()}, ["mass"]),
        ({"size": (nb.Gaussian(), slice(0, 4, 3)), "eggs": nb.Poisson()}, ["eggs"]),
        ({"size": (nb.Poisson(), slice(2, 5)), "more": (nb.Poisson(), slice(4, None))}, ["the"]),
        ({"wieght": nb.Gaussian()}, ["wieght", "mass"]),
        ({"size": (nb.Gaussian(), ["mass", "wieght"])}, ["wieght", "mass"]),
        ({9: nb.Gaussian()}, [value(9)]),
        ({"size": (nb.Gaussian(), [0, 9])}, [value(9)]),
        ({"size": (nb.Gaussian(), slice(9, None))}, ["size"]),
        ({"size": (nb.Gaussian(), [])}, ["size"]),
        ({"size": (nb.Gaussian(),)}, ["size"]),
        ({"size": (["mass"], nb.Gaussian())}, ["size"]),
        ({"size": (nb.Gaussian(), None)}, ["size"]),
        ({"mass": nb.Gaussian}, ["mass", r"Gaussian\(\)"]),
        ({"size": (nb.Gaussian, ["mass"])}, ["size", r"Gaussian\(\)"]),
        ({"mass": "gaussian"}, ["mass", "gaussian"]),
        ({"mass": None}, ["mass", "None"]),
        ({}, ["column|famil|feature"]),
        (nb.Gaussian, [r"Gaussian\(\)"]),
        ("gaussian", ["gaussian|str"]),
        (None, ["None"]),
        ([nb.Gaussian(), nb.Categorical()], ["list"]),
        (nb.NaiveBayes(nb.Gaussian()), ["NaiveBayes"]),
    ],
    ids=brief,
)
def test_models_that_are_none(features, words):
    with refused(*words):
        nb.fit(nb.NaiveBayes(features), FRAME, LABELS)


@pytest.mark.parametrize("size", [(nb.Gaussian(), "mass")], ids=brief)
def test_a_bare_name_is_not_read_letter_by_letter(size):
    try:
        posterior = nb.fit(nb.NaiveBayes({"size": size}), FRAME, LABELS)
    except (ValueError, TypeError):
        with refused("size", "mass"):
            nb.fit(nb.NaiveBayes({"size": size}), FRAME, LABELS)
    else:
        expected = nb.fit(nb.NaiveBayes({"mass": nb.Gaussian()}), FRAME, LABELS)
        np.testing.assert_allclose(posterior.predict_proba(FRAME), expected.predict_proba(FRAME))


@pytest.mark.parametrize(
    ("features", "X"),
    [
        (nb.Bernoulli(), pd.DataFrame(FLAGS, columns=["u", "mass", "mass"])),
        ({"mass": nb.Bernoulli()}, pd.DataFrame(FLAGS, columns=["u", "mass", "mass"])),
        (nb.Bernoulli(), pa.table(list(FLAGS.T), names=["u", "mass", "mass"])),
    ],
    ids=["one family", "by name", "pyarrow"],
)
def test_a_table_with_a_name_twice(features, X):
    with refused("mass", "twice|duplicate|more than once|two|2 times"):
        fit(features, X)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (nb.NaiveBayes, [r"NaiveBayes\("]),
        (nb.Bernoulli, [r"Bernoulli\(\)"]),
        ("bernoulli", ["model", "bernoulli"]),
        (None, ["model", "None"]),
        (FLAGS, ["model"]),
    ],
    ids=["NaiveBayes", "Bernoulli", "text", "None", "table"],
)
def test_what_is_no_model(model, words):
    with refused(*words):
        nb.fit(model, FLAGS, LABELS)


@pytest.mark.parametrize(
    ("inference", "words"),
    [
        (nb.NUTS, [r"NUTS\(\)"]),
        (nb.Exact, [r"Exact\(\)"]),
        (nb.MAP, [r"MAP\(\)"]),
        (nb.MLE, [r"MLE\(\)"]),
        ("NUTS", ["inference", "NUTS", "'nuts'"]),
        (3, ["inference", "3"]),
    ],
    ids=brief,
)
def test_what_is_no_inference(inference, words):
    with refused(*words):
        fit(nb.Bernoulli(), FLAGS, LABELS, inference)


BINOMIAL, NEGATIVE_BINOMIAL = partial(nb.Binomial, 1), partial(nb.NegativeBinomial, 1.0)

HYPERPARAMETERS = [
    (nb.Bernoulli, "concentration1"),
    (nb.Bernoulli, "concentration0"),
    (nb.Categorical, "concentration"),
    (nb.Multinomial, "concentration"),
    (nb.Poisson, "concentration"),
    (nb.Poisson, "rate"),
    (nb.Exponential, "concentration"),
    (nb.Exponential, "rate"),
    (nb.Geometric, "concentration1"),
    (nb.Geometric, "concentration0"),
    (BINOMIAL, "concentration1"),
    (NEGATIVE_BINOMIAL, "concentration0"),
    (nb.LogNormal, "kappa"),
    (nb.MultivariateGaussian, "kappa"),
    (nb.MultivariateGaussian, "df"),
    (nb.Gaussian, "kappa"),
    (nb.Gaussian, "concentration"),
    (nb.Gaussian, "rate"),
]


@pytest.mark.parametrize(("family", "name"), HYPERPARAMETERS, ids=brief)
@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (0, value(0)),
        (0.0, value(0)),
        (-1.5, "-1.5"),
        (np.nan, "nan"),
        (np.inf, "inf"),
        ([1.0, -2.5, 1.0], "-2.5"),
        ([[1.0, 2.0, np.nan]] * 2, "nan"),
        ("much", "much"),
    ],
    ids=brief,
)
def test_hyperparameters_that_are_not_positive_numbers(family, name, bad, word):
    with refused(name, word):
        fit(family(**{name: bad}))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, [0.0, np.nan, 0.0], "low"], ids=brief)
def test_a_loc_that_is_not_finite(bad):
    with refused("loc", re.escape(str(bad if np.ndim(bad) == 0 else "nan"))):
        fit(nb.Gaussian(loc=bad))


@pytest.mark.parametrize(("family", "name"), [*HYPERPARAMETERS, (nb.Gaussian, "loc")], ids=brief)
@pytest.mark.parametrize("shape", [(2,), (4,), (5, 3), (2, 4), (3, 1), (0,)], ids=brief)
def test_hyperparameters_of_the_wrong_shape(family, name, shape):
    model = nb.NaiveBayes(family(**{name: np.ones(shape)}))
    with refused(name, re.escape(str(shape))):
        nb.fit(model, FLAGS, LABELS)


@pytest.mark.parametrize("shape", [(2,), (4,), (2, 2), (3, 3), (1, 2, 3)], ids=brief)
def test_one_concentration_for_each_category_of_the_wrong_shape(shape):
    with refused("concentration", re.escape(str(shape))):
        nb.fit(nb.NaiveBayes({"island": nb.Categorical(np.ones(shape))}), FRAME, LABELS)


@pytest.mark.parametrize(
    ("prior", "words"),
    [
        ({"class_probs": [0.5, 0.6]}, ["class_probs", r"1\.1"]),
        ({"class_probs": [0.2, 0.3, 0.5]}, ["class_probs", "3", "2"]),
        ({"class_probs": [1.0]}, ["class_probs", "1", "2"]),
        ({"class_probs": [1.5, -0.5]}, ["class_probs", r"-0\.5|1\.5"]),
        ({"class_probs": [np.nan, 0.5]}, ["class_probs", "nan"]),
        ({"class_probs": [np.inf, 0.5]}, ["class_probs", "inf"]),
        ({"class_probs": 0.5}, ["class_probs"]),
        ({"class_probs": []}, ["class_probs"]),
        ({"class_probs": [[0.5, 0.5]]}, ["class_probs"]),
        ({"class_probs": "empiric"}, ["class_probs", "empiric", "empirical"]),
        ({"class_probs": ["a", "b"]}, ["class_probs"]),
        ({"class_probs": {"a": 1.0}}, ["class_probs", "b"]),
        ({"class_probs": {"a": 0.5, "b": 0.6}}, ["class_probs", r"1\.1"]),
        ({"class_probs": {"a": 0.5, "b": 0.25, "zebra": 0.25}}, ["class_probs", "zebra"]),
        ({"class_concentration": 0}, ["class_concentration", "0"]),
        ({"class_concentration": -1.5}, ["class_concentration", "-1.5"]),
        ({"class_concentration": np.nan}, ["class_concentration", "nan"]),
        ({"class_concentration": np.inf}, ["class_concentration", "inf"]),
        ({"class_concentration": [1.0, -2.5]}, ["class_concentration", "-2.5"]),
        ({"class_concentration": [1.0, 1.0, 1.0]}, ["class_concentration", "3", "2"]),
        ({"class_concentration": "much"}, ["class_concentration", "much"]),
    ],
    ids=brief,
)
def test_class_priors_that_are_none(prior, words):
    with refused(*words):
        nb.fit(nb.NaiveBayes(nb.Bernoulli(), **prior), FLAGS, LABELS)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (["a"], ["classes", r"\bb\b"]),
        (["a", "c"], ["classes", r"\bb\b"]),
        (["a", "b", "a"], ["classes", r"\ba\b"]),
        (["a", "b", None], ["classes", "None|missing"]),
        (["a", "b", np.nan], ["classes", "nan|missing"]),
        ([], ["classes"]),
    ],
    ids=brief,
)
def test_classes_that_do_not_fit_the_labels(classes, words):
    with refused(*words):
        fit(nb.Bernoulli(), FLAGS, LABELS, classes=classes)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1, 1, 1, -1.5, 1, 1], ["-1.5", value(3)]),
        ([1, 1, 1, np.nan, 1, 1], ["nan", value(3)]),
        ([1, 1, 1, np.inf, 1, 1], ["inf", value(3)]),
        ([1, 1, 1, None, 1, 1], ["nan|none|missing"]),
        ([1, 1, 1], [value(3), value(6)]),
        ([1] * 7, [value(7), value(6)]),
        ([[1]] * 6, [r"\(6, 1\)|dimension"]),
        ([1e308] * 6, ["inf", "divide"]),
        ([1e150] * 6, [r"6e\+150", "divide"]),
        (["much"] * 6, ["much"]),
        ("balanced", ["balanced"]),
        ({"a": 1, "b": 2}, ["dict|a"]),
    ],
    ids=brief,
)
@pytest.mark.parametrize("verb", ["fit", "update", "forget"])
def test_weights_that_are_none(weight, words, verb):
    call = fit(nb.Bernoulli()).forget if verb == "forget" else fit(nb.Bernoulli()).update
    with refused("sample_weight", *words):
        if verb == "fit":
            fit(nb.Bernoulli(), sample_weight=weight)
        else:
            call(FLAGS, LABELS, sample_weight=weight)


NAMED = pd.DataFrame(FLAGS, columns=["u", "v", "w"])


@pytest.mark.parametrize(
    "verb", ["predict", "predict_proba", "predict_log_proba", "log_joint", "proba_draws", "update"]
)
@pytest.mark.parametrize(
    ("X", "words"),
    [
        (NAMED[["u", "v"]], [r"\bw\b"]),
        (NAMED.drop(columns="w").assign(extra=1), [r"\bw\b", "extra"]),
        (NAMED.rename(columns={"v": "vv"}), [r"\bv\b", r"\bvv\b"]),
        (NAMED.rename(columns={"v": "V"}), [r"(?-i:\bv\b)", r"(?-i:\bV\b)"]),
        (pl.from_pandas(NAMED[["u", "v"]]), [r"\bw\b"]),
        (pa.Table.from_pandas(NAMED.drop(columns="w").assign(extra=1)), [r"\bw\b", "extra"]),
        (FLAGS[:, :2], ["column", value(2), value(3)]),
        (np.hstack([FLAGS, FLAGS]), ["column", value(6), value(3)]),
        (sp.csr_array(FLAGS[:, :2]), ["column", value(2), value(3)]),
        (FLAGS[0], ["X", r"\(3,\)|dimension|1-?d"]),
        ({"u": [1, 0], "v": [0, 0], "w": [1, 1]}, ["dict|list"]),
        (pd.Series([1, 0, 1]), [r"\bu\b|X"]),
        (pd.DataFrame(FLAGS, columns=["u", "v", "v"]), [r"\bv\b"]),
        ("u", ["X"]),
    ],
    ids=brief,
)
def test_predicting_from_another_table(verb, X, words):
    posterior = fit(nb.Bernoulli(), NAMED)
    with refused(*words):
        getattr(posterior, verb)(X, *([LABELS] if verb == "update" else []))


@pytest.mark.parametrize("column", ["mass", "island", "flag", "eggs", "the"])
def test_predicting_without_a_column_of_the_model(column):
    posterior = fit_frame()
    with refused(rf"\b{column}\b"):
        posterior.predict(FRAME.drop(columns=column))
    with refused(rf"\b{column}\b"):
        posterior.predict(FRAME.rename(columns={column: "renamed"}))


@pytest.mark.parametrize("X", [FLAGS[:, :2], np.hstack([FLAGS, FLAGS])], ids=["fewer", "more"])
@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Multinomial(), nb.Poisson(), nb.Categorical()], ids=brief)
def test_wrong_number_of_columns(X, family):
    with refused("column", value(X.shape[1]), value(3)):
        fit(family).predict(X)


@pytest.mark.parametrize("verb", ["update", "forget"])
def test_labels_that_the_fit_did_not_know(verb):
    posterior = fit(nb.Bernoulli())
    before = posterior.predict_proba(FLAGS)
    with refused("zebra", "classes"):
        getattr(posterior, verb)(FLAGS[:2], ["a", "zebra"])
    with refused(value(0), "classes"):
        getattr(posterior, verb)(FLAGS[:2], [0, 1])
    with refused(r"\by\b", value(3), value(2)):
        getattr(posterior, verb)(FLAGS[:2], ["a", "b", "a"])
    np.testing.assert_array_equal(posterior.predict_proba(FLAGS), before)


NEVER_THERE = {
    "more rows than a class has": (nb.Bernoulli(), FLAGS, np.ones((4, 3)), ["a"] * 4, None),
    "a one where all were zero": (nb.Bernoulli(), FLAGS * [0, 1, 1], [[1, 0, 0]], ["b"], None),
    "another class": (nb.Bernoulli(), FLAGS * [0, 1, 1], FLAGS, ["b"] * 6, None),
    "too heavy": (nb.Bernoulli(), FLAGS, FLAGS[:1], ["a"], [3.5]),
    "observed where all was missing": (
        nb.Bernoulli(),
        np.where(FLAGS == 2, 1, [1, 1, np.nan]),
        [[1, 1, 1]],
        ["a"],
        None,
    ),
    "a category too often": (nb.Categorical(), FLAGS, [[1, 0, 1]] * 2, ["b"] * 2, None),
    "words never written": (nb.Multinomial(), FLAGS, [[99, 0, 0]], ["a"], None),
    "more eggs than there were": (nb.Poisson(), FLAGS, [[99, 0, 0]], ["a"], None),
    "far away": (nb.Gaussian(), FLAGS, [[1e6, 0, 0]], ["a"], None),
    "slightly outside": (nb.Gaussian(), FLAGS, [[1, 2.5, 1]], ["a"], None),
    "the last rows with another mean": (nb.Gaussian(), FLAGS, FLAGS[[0, 1, 4]] + 1, ["a"] * 3, None),
    "the last rows with less spread": (
        nb.Gaussian(),
        FLAGS,
        np.full((3, 3), FLAGS[[0, 1, 4]].mean(0)),
        ["a"] * 3,
        None,
    ),
}


@pytest.mark.parametrize(("family", "X", "gone", "y", "weight"), NEVER_THERE.values(), ids=NEVER_THERE)
def test_forgetting_what_was_never_there(family, X, gone, y, weight):
    posterior = fit(family, X)
    before, evidence = posterior.predict_proba(X), posterior.log_evidence
    with refused("never|not among|were not|cannot have|more than", error=ValueError):
        posterior.forget(gone, y, sample_weight=weight)
    np.testing.assert_array_equal(posterior.predict_proba(X), before)
    assert posterior.log_evidence == evidence
    more = posterior.update(X[:1], LABELS[:1])
    np.testing.assert_allclose(more.forget(X[:1], LABELS[:1]).predict_proba(X), before, rtol=1e-10)


def test_forgetting_what_was_never_there_by_point_estimates():
    posterior = fit(nb.Bernoulli(2.0, 2.0), FLAGS, LABELS, nb.MAP())
    before = posterior.predict_proba(FLAGS)
    with refused("never|not among|were not|cannot have|more than", error=ValueError):
        posterior.forget(np.ones((4, 3)), ["a"] * 4)
    np.testing.assert_array_equal(posterior.predict_proba(FLAGS), before)


def point():
    return fit(nb.Bernoulli(2.0, 2.0), FLAGS, LABELS, nb.MAP())


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: p.draws(),
        lambda p: p.draws(num_chains=1, num_draws=10),
        lambda p: p.proba_draws(FLAGS),
        lambda p: p.proba_interval(FLAGS),
        lambda p: p.log_joint_draws(FLAGS),
    ],
    ids=["draws", "draws of one chain", "proba_draws", "proba_interval", "log_joint_draws"],
)
@pytest.mark.parametrize("inference", [nb.MAP(), nb.MLE()], ids=brief)
def test_asking_a_point_for_its_spread(ask, inference):
    posterior = fit(nb.Bernoulli(2.0, 2.0), FLAGS, LABELS, inference)
    with refused("point|MAP|MLE", "Exact|NUTS"):
        ask(posterior)


def sampled_from(exact, num_chains=2, num_draws=20, X=FRAME, y=LABELS):
    return nb.from_samples(exact.model, exact.draws(num_chains=num_chains, num_draws=num_draws, key=1), X=X, y=y)


def test_evidence_where_no_closed_form_gives_it():
    with refused("evidence", "data"):
        _ = nb.from_parameters(nb.Bernoulli(), **GIVEN).log_evidence


def comparisons():
    exact = fit(nb.Bernoulli())
    sampled = sampled_from(exact, X=FLAGS)
    other = fit(nb.Gaussian())
    three = fit(nb.Bernoulli(), y=["a", "a", "b", "b", "c", "c"])
    narrow = fit(nb.Bernoulli(), FLAGS[:, :2])
    return {
        "one chain": ((exact, sampled_from(exact, 1, X=FLAGS)), {}, ["chain", r"\bone\b|\b1\b"]),
        "swapped": ((sampled, exact), {}, ["exact", "sampled"]),
        "both exact": ((exact, exact), {}, ["sampled"]),
        "both sampled": ((sampled, sampled), {}, ["exact"]),
        "a point": ((exact, point()), {}, ["sampled"]),
        "a model": ((exact.model, sampled), {}, ["exact"]),
        "nothing": ((exact, None), {}, ["sampled", "None"]),
        "other families": ((other, sampled), {}, ["param|site|famil|model"]),
        "other classes": ((three, sampled), {}, ["class", r"\bc\b"]),
        "other columns": ((narrow, sampled), {}, ["param|column|site|shape"]),
        "error rate of 0": ((exact, sampled), {"error_rate": 0.0}, ["error_rate", value(0)]),
        "error rate above 1": ((exact, sampled), {"error_rate": 1.5}, ["error_rate", "1.5"]),
        "rows of another table": ((exact, sampled, FLAGS[:, :2]), {}, ["column", value(2), value(3)]),
    }


@pytest.mark.parametrize("name", comparisons())
def test_comparisons_that_are_none(name):
    args, kwargs, words = comparisons()[name]
    with refused(*words):
        nb.compare(*args, **kwargs)


@pytest.mark.slow
def test_one_short_chain_of_nuts_warns():
    with pytest.warns(nb.ConvergenceWarning, match="ESS|chain"):
        fit(nb.Bernoulli(), FLAGS, LABELS, nb.NUTS(50, 20, num_chains=1, progress=False), key=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_comparing_with_one_chain_of_nuts():
    exact = fit(nb.Bernoulli())
    sampled = fit(nb.Bernoulli(), FLAGS, LABELS, nb.NUTS(50, 20, num_chains=1, progress=False), key=0)
    with refused("chain", r"\bone\b|\b1\b"):
        nb.compare(exact, sampled)


@pytest.mark.parametrize(
    "key", ["seed", 1.5, 2**70, -(2**63) - 1, [1, 2, 3], np.array([1.5, 2.5]), {}, np.random.default_rng(0)], ids=brief
)
@pytest.mark.parametrize("verb", ["draws", "proba_draws", "proba_interval", "simulate", "NUTS", "prior"])
def test_keys_that_are_none(key, verb):
    posterior = fit(nb.Bernoulli())
    with refused("key", "int"):
        if verb == "NUTS":
            fit(nb.Bernoulli(), FLAGS, LABELS, NUTS, key=key)
        elif verb == "prior":
            posterior.model.simulate(3, key=key)
        else:
            getattr(posterior, verb)(*([FLAGS] if verb.startswith("proba") else []), key=key)


@pytest.mark.parametrize("prob", [0.0, 1.0, 1.5, -0.25, 89, np.nan], ids=brief)
def test_intervals_of_no_probability(prob):
    with refused(r"\bprob\b", re.escape(str(prob))):
        fit(nb.Bernoulli()).proba_interval(FLAGS, prob=prob)


@pytest.mark.parametrize("name", ["num_draws", "num_chains"])
@pytest.mark.parametrize("number", [0, -3, 2.5], ids=brief)
def test_numbers_of_draws(name, number):
    posterior = fit(nb.Bernoulli())
    with refused(name, re.escape(str(number))):
        posterior.draws(**{name: number})
    with refused(name, re.escape(str(number))):
        posterior.proba_draws(FLAGS, **{name: number})


@pytest.mark.parametrize(("name", "number"), [("num_draws", 21), ("num_chains", 3), ("num_draws", 0)])
def test_more_draws_than_were_made(name, number):
    sampled = sampled_from(fit(nb.Bernoulli()), X=FLAGS)
    with refused(name.removeprefix("num_"), value(number)):
        sampled.draws(**{name: number})
    with refused(name.removeprefix("num_"), value(number)):
        sampled.proba_draws(FLAGS, **{name: number})


@pytest.mark.parametrize("num_rows", [-3, 2.5], ids=brief)
def test_numbers_of_simulated_rows(num_rows):
    posterior = fit(nb.Bernoulli())
    for simulate in (posterior.simulate, posterior.model.simulate):
        with refused("num_rows", re.escape(str(num_rows))):
            simulate(num_rows)


@pytest.mark.parametrize("total", [-3, 2.5, [1, 2]], ids=brief)
def test_totals_of_simulated_count_vectors(total):
    posterior = fit(nb.Multinomial())
    for simulate in (posterior.simulate, posterior.model.simulate):
        with refused("total_count"):
            simulate(3, total_count=total)


def test_simulating_from_a_model_that_does_not_know_enough():
    with refused("bind|bound|fit"):
        nb.NaiveBayes(nb.Bernoulli()).simulate(3)
    with refused("total_count"):
        nb.NaiveBayes(nb.Multinomial()).bind(FLAGS, LABELS).simulate(3)
    with refused("loc|rate|scale"):
        nb.NaiveBayes(nb.Gaussian()).bind(FLAGS, LABELS).simulate(3)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("num_warmup", -1),
        ("num_warmup", 2.5),
        ("num_samples", 0),
        ("num_samples", -5),
        ("num_samples", 10.5),
        ("num_samples", "many"),
        ("num_samples", None),
        ("num_chains", 0),
        ("num_chains", 1.5),
        ("num_chains", -2),
        ("target_accept_prob", 0.0),
        ("target_accept_prob", 1.0),
        ("target_accept_prob", 1.5),
        ("target_accept_prob", -0.5),
        ("target_accept_prob", np.nan),
        ("max_tree_depth", 0),
        ("max_tree_depth", 2.5),
    ],
)
def test_nuts_settings_out_of_range(name, setting):
    with refused(name, re.escape(str(setting))):
        nb.NUTS(**{name: setting})


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        (pd.period_range("2020-01-01", periods=6), "period"),
        ([[1], [2], [3], [4], [5], [6]], "list|object"),
        ([1j] * 6, "complex|unknown"),
    ],
    ids=["periods", "lists", "complex"],
)
def test_frames_with_columns_of_no_family(cells, word):
    frame = FRAME.assign(odd=cells)
    with refused(r"\bodd\b", word, "exclude|leave"):
        nb.NaiveBayes.from_frame(frame)
    assert "odd" not in repr(nb.NaiveBayes.from_frame(frame, exclude=["odd"]))


def test_a_type_of_pandas_has_the_name_that_pandas_gives_it():
    with refused(r"column 'when' holds period\[D\]"):
        nb.NaiveBayes.from_frame(pd.DataFrame({"when": pd.period_range("2020-01-01", periods=2)}))


def test_dates_in_a_model_that_names_them():
    frame = pl.DataFrame({"mass": [1.5, 2.5], "when": [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")]})
    for table in (frame, frame.to_pandas(), frame.to_arrow()):
        with refused(r"\bwhen\b", "date|timestamp"):
            nb.fit(nb.Gaussian(), table, ["a", "b"])


@pytest.mark.parametrize(
    ("frame", "kwargs", "words"),
    [
        (FRAME, {"exclude": ["wieght"]}, ["exclude", "wieght"]),
        (FRAME, {"exclude": list(FRAME.columns)}, ["column"]),
        (pd.DataFrame(), {}, ["column"]),
        (pd.DataFrame(FLAGS, columns=["u", "mass", "mass"]), {}, ["mass"]),
        (None, {}, ["frame|table"]),
        ("data.csv", {}, ["frame|table"]),
        (FRAME["mass"], {}, ["frame|table"]),
        (FRAME, {"class_prob": [0.5, 0.5]}, ["class_prob"]),
    ],
    ids=brief,
)
def test_frames_to_guess_nothing_from(frame, kwargs, words):
    with refused(*words):
        nb.NaiveBayes.from_frame(frame, **kwargs)


def test_exclude_as_one_name():
    try:
        model = nb.NaiveBayes.from_frame(FRAME, exclude="mass")
    except (ValueError, TypeError):
        with refused("exclude", "mass"):
            nb.NaiveBayes.from_frame(FRAME, exclude="mass")
    else:
        assert "mass" not in repr(model)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"categories": ["x", "x", "y", "z"]}, ["categories", r"\bx\b"]),
        ({"categories": []}, ["categories"]),
        ({"categories": ["x", "y", "z", None]}, ["categories", "None|missing"]),
        ({"categories": {"iland": ["x", "y", "z"]}}, ["categories", "iland"]),
    ],
    ids=brief,
)
def test_categories_that_are_none(kwargs, words):
    with refused(*words):
        nb.fit(nb.NaiveBayes({"island": nb.Categorical(**kwargs)}), FRAME, LABELS)


def test_a_column_of_categories_that_is_missing_throughout():
    with refused("island", "categories"):
        nb.fit(nb.NaiveBayes({"island": nb.Categorical()}), FRAME.assign(island=None), LABELS)


PROBS = [[0.9, 0.2, 0.5], [0.1, 0.7, 0.4]]
GIVEN = {"classes": ["a", "b"], "class_probs": [0.3, 0.7], "parameters": {"prob": PROBS}}


@pytest.mark.parametrize(
    ("family", "given", "words"),
    [
        (nb.Bernoulli(), {"parameters": {"prob": [[0.9, 0.2, 1.5], [0.1, 0.7, 0.4]]}}, ["prob", "1.5"]),
        (nb.Bernoulli(), {"parameters": {"prob": [[0.9, 0.2, np.nan], [0.1, 0.7, 0.4]]}}, ["prob", "nan"]),
        (nb.Bernoulli(), {"parameters": {"prob": [[0.9, 0.2, 0.5]] * 3}}, ["prob", r"\(3, 3\)"]),
        (nb.Bernoulli(), {"parameters": {}}, ["prob"]),
        (nb.Bernoulli(), {"parameters": {"prob": PROBS, "theta": PROBS}}, ["theta"]),
        (nb.Bernoulli(), {"parameters": PROBS}, ["parameters"]),
        (nb.Bernoulli(), {"class_probs": None}, ["class_probs"]),
        (nb.Bernoulli(), {"class_probs": [0.5, 0.6]}, ["class_probs", r"1\.1"]),
        (nb.Bernoulli(), {"class_probs": [0.2, 0.3, 0.5]}, ["class_probs"]),
        (nb.Bernoulli(), {"classes": ["a", "a"]}, ["classes", r"\ba\b"]),
        (nb.Bernoulli(), {"columns": ["u", "v"]}, ["prob", r"\(2, 3\)"]),
        (nb.Bernoulli(), {"columns": ["u", "v", "v"]}, [r"\bv\b"]),
        (nb.Multinomial(), {"parameters": {"prob": [[0.5, 0.2, 0.2], [0.1, 0.5, 0.4]]}}, ["prob", r"0\.[29]"]),
        (nb.Gaussian(), {"parameters": {"mean": PROBS, "variance": [[1, 2, -3.5]] * 2}}, ["variance", "-3.5"]),
        (nb.Gaussian(), {"parameters": {"mean": PROBS}}, ["variance"]),
        (nb.Poisson(), {"parameters": {"rate": [[1, 2, -3.5]] * 2}}, ["rate", "-3.5"]),
    ],
    ids=brief,
)
def test_parameters_that_are_none(family, given, words):
    with refused(*words):
        nb.from_parameters(family, **GIVEN | given)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.pop("prob"), ["prob"]),
        (lambda s: s.pop("class_prob"), ["class_prob"]),
        (lambda s: s.update(prob=s["prob"][..., :2]), ["prob", r"\b2\)"]),
        (lambda s: s.update(prob=s["prob"][:, :5]), ["prob|class_prob", "5|20"]),
        (lambda s: s.update(prob=s["prob"][0, 0]), ["prob"]),
        (lambda s: s.update(prob=s["prob"][:, :0], class_prob=s["class_prob"][:, :0]), ["draw"]),
        (lambda s: s.update(prob=np.where(s["prob"] > 0, np.nan, 0)), ["prob", "nan|finite"]),
        (lambda s: s.update(prob=s["prob"] + 1), ["prob"]),
        (lambda s: s.update(class_prob=s["class_prob"] * 2), ["class_prob"]),
    ],
    ids=["no site", "no class_prob", "columns", "draws", "no draws axis", "no draws", "nan", "above 1", "sum"],
)
def test_samples_that_are_none(change, words):
    exact = fit(nb.Bernoulli())
    draws = exact.draws(num_chains=2, num_draws=20)
    site = next(name for name in draws if name != "class_prob")
    samples = {"prob" if name == site else name: value for name, value in draws.items()}
    change(samples)
    samples = {site if name == "prob" else name: value for name, value in samples.items()}
    with refused(*words):
        nb.from_samples(exact.model, samples, X=FLAGS, y=LABELS)


@pytest.mark.parametrize("shape", [(1, 20, 1, 1), (1, 10, 1), (20, 1)])
def test_sites_with_other_draws_than_the_class_probabilities(shape):
    model = nb.NaiveBayes({"votes": nb.Bernoulli()})
    draws = {"class_prob": np.ones((1, 20, 1)), "votes_prob": np.full(shape, 0.5)}
    with refused("votes_prob", "class_prob", "20"):
        nb.from_samples(model, draws, X=pd.DataFrame({"votes": [0, 1]}), y=["a", "a"])


@pytest.mark.parametrize(
    ("family", "X", "inference", "kwargs", "words"),
    [
        (nb.Gaussian(), FLAGS * 1.0, nb.MLE(), {"classes": ["a", "b", "c"]}, [r"\bc\b"]),
        (nb.Gaussian(), FLAGS * [1.0, 1.0, 0.0], nb.MLE(), {}, ["column", "variance"]),
        (nb.Bernoulli(), np.where(FLAGS < 2, FLAGS, 0) * [1, 1, np.nan], nb.MLE(), {}, ["column", value(2)]),
        (nb.Bernoulli(0.5, 0.5), FLAGS * [1, 1, 0], nb.MAP(), {}, ["column", "prob"]),
    ],
    ids=["class without rows", "constant column", "missing throughout", "unbounded density"],
)
def test_estimates_that_do_not_exist(family, X, inference, kwargs, words):
    with refused(*words):
        fit(family, X, LABELS, inference, **kwargs)


def test_decision_boundaries_that_do_not_exist():
    with refused("class", value(3)):
        fit(nb.Bernoulli(), y=["a", "a", "b", "b", "c", "c"]).decision_boundary()
    with refused("Gaussian"):
        fit(nb.Gaussian()).decision_boundary()


def test_loading_what_was_never_saved(tmp_path):
    with refused("nothing.nc", error=FileNotFoundError):
        nb.load(tmp_path / "nothing.nc")
    (tmp_path / "text.nc").write_text("not a posterior")
    with refused(r"text\.nc", error=ValueError):
        nb.load(tmp_path / "text.nc")


def test_options_after_the_data_go_by_keyword():
    with pytest.raises(TypeError, match="positional"):
        nb.fit(nb.Bernoulli(), FLAGS, LABELS, nb.Exact(), np.ones(6))
    with pytest.raises(TypeError, match="positional"):
        fit(nb.Bernoulli()).proba_interval(FLAGS, 0.5)


def test_a_refused_update_leaves_the_posterior_as_it_was():
    posterior = fit_frame()
    before, evidence = posterior.predict_proba(FRAME), posterior.log_evidence
    for X, y in [
        (changed("of", 5, -1), LABELS),
        (FRAME, [*LABELS[:5], "zebra"]),
        (FRAME, LABELS[:5]),
        (FRAME.drop(columns="of"), LABELS),
    ]:
        with refused(r"\bof\b|zebra|\by\b"):
            posterior.update(X, y)
    np.testing.assert_array_equal(posterior.predict_proba(FRAME), before)
    assert posterior.log_evidence == evidence


@pytest.mark.parametrize("inference", [nb.Exact(), nb.MAP()], ids=brief)
def test_asking_for_the_statistics_of_a_sampler_that_never_ran(inference):
    posterior = fit(nb.Bernoulli(2.0, 2.0), FLAGS, LABELS, inference)
    with refused("sample_stats", "NUTS", error=AttributeError):
        _ = posterior.sample_stats
    assert not hasattr(posterior, "sample_stats")


@pytest.mark.parametrize(
    "criticise",
    [lambda p: p.to_datatree(FLAGS, LABELS), lambda p: nb.loo(p, FLAGS, LABELS), lambda p: nb.sensitivity(p)],
    ids=["to_datatree", "loo", "sensitivity"],
)
def test_criticism_that_needs_a_spread_refuses_a_point(criticise):
    with refused("point|Point", r"nb\.fit|Exact"):
        criticise(point())


@pytest.mark.parametrize("number", [1, 2, 24])
def test_leaving_rows_out_with_too_few_draws(number):
    few = sampled_from(fit(nb.Bernoulli()), num_chains=1, num_draws=number, X=FLAGS)
    with refused(value(number), "draw", "at least 25", "closed form"):
        nb.loo(few, FLAGS, LABELS)


def test_too_few_draws_to_compare_and_to_summarise():
    exact = fit(nb.Bernoulli())
    with refused("3 draws", "four"):
        nb.compare(exact, sampled_from(exact, num_draws=3, X=FLAGS))
    summary = sampled_from(exact, num_chains=1, num_draws=1, X=FLAGS).summary()
    assert summary["mean"].between(0, 1).all()
    assert summary["sd"].isna().all()
    assert (summary.loc["x_prob[a, 0]", ["ess_bulk", "ess_tail"]] == 0).all()


def test_chains_that_do_not_move():
    exact = fit(nb.Bernoulli())
    first = {site: values[:1, :1] for site, values in exact.draws(num_chains=1, num_draws=1).items()}
    still = {site: np.broadcast_to(value, (4, 500, *value.shape[2:])) for site, value in first.items()}
    stuck = nb.from_samples(exact.model, still, X=FLAGS, y=LABELS)
    assert np.isinf(stuck.summary()["r_hat"]).all()
    assert not nb.compare(exact, stuck).agree
    with refused("draws are the same", "closed form"):
        nb.loo(stuck, FLAGS, LABELS)


def test_a_single_class_has_defined_answers():
    y = ["a"] * len(LABELS)
    exact = fit(nb.Bernoulli(), FLAGS, y)
    draws = sampled_from(exact, num_chains=4, num_draws=500, X=FLAGS, y=y)
    assert (exact.predict_proba(FLAGS) == 1).all()
    assert nb.loo(exact, FLAGS, y).elpd == 0.0
    assert nb.compare(exact, draws).table.index.tolist() == [f"x_prob[a, {j}]" for j in range(3)]
    assert nb.check(exact, FLAGS, y, num_replicates=20).table.loc["class_frequency[a]", "observed"] == 1.0
    assert nb.calibration(exact, FLAGS, y).table.loc["accuracy", "posterior"] == 1.0
    assert (exact.to_datatree(FLAGS, y)["log_likelihood"]["y"] == 0.0).all()
    with refused("one class, 'a'", "loo_scores"):
        nb.loo(draws, FLAGS, y)


@pytest.mark.parametrize("verb", ["check", "loo", "kfold", "loo_scores", "calibration"])
def test_criticism_without_rows_or_with_labels_never_seen(verb):
    exact = fit(nb.Bernoulli())
    with refused("no rows"):
        getattr(nb, verb)(exact, FLAGS[:0], [])
    with refused("label 'z'", "row 2", "classes"):
        getattr(nb, verb)(exact, FLAGS, ["a", "b", "z", "a", "b", "a"])
    with refused("X", "y", error=(ValueError, TypeError)) if verb == "check" else pytest.raises(TypeError, match="'X'"):
        getattr(nb, verb)(exact)


def test_an_empty_table_needs_the_columns_too():
    posterior = fit_frame()
    assert posterior.predict_proba(FRAME.iloc[:0]).shape == (0, 2)
    with refused("mass", "missing"):
        posterior.predict_proba(FRAME.iloc[:0].drop(columns="mass"))


@pytest.mark.parametrize("code", [1e30, 2.0**63, 10**9, 2**24], ids=lambda code: f"{code:g}")
@pytest.mark.parametrize("form", [np.asarray, lambda X: pd.DataFrame(X, columns=["f", "g"])], ids=["array", "frame"])
def test_codes_too_large_for_categories(code, form):
    estimator = nb.estimators.CategoricalNB()
    X = form(np.array([[0, 1], [1, code], [2, 1]]))
    with refused("column ('g'|1)", value(int(code)), "OrdinalEncoder", "NaiveBayesClassifier", error=ValueError):
        estimator.fit(X, [0, 1, 1])
    estimator.fit(form(np.array([[0, 1], [1, 0]])), [0, 1])
    with refused("column ('g'|1)", value(int(code)), "OrdinalEncoder", error=ValueError):
        estimator.partial_fit(X, [0, 1, 1])
    # In a prediction a number that was never seen is a missing cell.
    with pytest.warns(UserWarning, match="not seen in training"):
        estimator.predict(X)


@pytest.mark.parametrize(
    "cell", [1e308, -1e200, 1.01e150, 10**400, -(10**400)], ids=["1e308", "-1e200", "1.01e150", "10**400", "-10**400"]
)
@pytest.mark.parametrize(
    "form", [np.asarray, np.asfortranarray, partial(pd.DataFrame, dtype=object)], ids=["C", "F", "frame"]
)
def test_measurements_too_large_for_squares(cell, form):
    X = form(np.array([[1.0, cell], [2.0, None], [3.0, 1.0]], dtype=object))
    words = (
        [r"(?<!-)inf" if cell > 0 else "-inf"]
        if abs(cell) == 10**400
        else [value(f"{cell:g}").replace("1e", r"1\.?0*e"), "divide"]
    )
    fitted = nb.fit(nb.Gaussian(), [[1.0, 2.0], [2.0, 3.0], [3.0, 1.0]], ["a", "b", "a"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in (lambda: nb.fit(nb.Gaussian(), X, ["a", "b", "a"]), lambda: fitted.predict_proba(np.asarray(X))):
            with refused("column 1", "row 0", *words, error=ValueError):
                call()


FRACTIONS = [nb.Multinomial(fractional=True), nb.DirichletMultinomial(fractional=True), nb.Poisson(fractional=True)]


@pytest.mark.parametrize("family", FRACTIONS, ids=lambda family: type(family).__name__)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_fractional_counts_too_large_for_squares(family, form):
    with refused("column 2", "row 0", r"1e\+200", "divide", error=ValueError):
        nb.fit(family, form(np.array([[1.5, 0.0, 1e200], [0.5, 2.0, 0.0]])), ["a", "b"], nb.MAP())


@pytest.mark.parametrize("name", ["MultinomialNB", "PoissonNB", "DirichletMultinomialNB"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_estimators_of_counts_too_large_for_squares(name, form):
    with refused("column 2", "row 0", r"1e\+200", "divide", error=ValueError):
        getattr(nb.estimators, name)().fit(form(np.array([[1.0, 0.0, 1e200], [3.0, 2.0, 0.0]])), [0, 1])


@pytest.mark.parametrize("name", ["GaussianNB", "BernoulliNB", "MultinomialNB", "PoissonNB"])
def test_estimators_name_the_column_of_a_text(name):
    X = pd.DataFrame({"mass": [1.0, 2.0], "island": pd.Series(["x", "y"], dtype=object)})
    with refused("column 'island'", "'x' in row 0", "nb.Categorical", "could not convert", error=ValueError):
        getattr(nb.estimators, name)().fit(X, [0, 1])
    # scikit-learn before 1.9 has no error of its own for the texts of pandas 3.
    with refused("column 'island'", "'x' in row 0", "nb.Categorical", error=(TypeError, ValueError)):
        getattr(nb.estimators, name)().fit(X.astype({"island": "str"}), [0, 1])


@pytest.mark.parametrize("name", ["GaussianNB", "CategoricalNB", "NaiveBayesClassifier"])
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_estimators_take_no_name_for_labels(name, verb):
    options = {"classes": ["a", "b"]} if verb == "partial_fit" else {}
    with refused(r"\by\b", "'sort'", r"X\['sort'\]", "nb.fit", error=TypeError):
        getattr(getattr(nb.estimators, name)(), verb)(FRAME.assign(sort=LABELS), "sort", **options)


def test_measurements_of_the_largest_size_are_read():
    X = np.array([[1e150], [-1e150], [0.9e150], [-0.8e150]])
    assert nb.fit(nb.Gaussian(), X, list("abab")).predict(X).tolist() == list("abab")


@pytest.mark.parametrize(
    "family",
    [nb.Gaussian(), nb.Hurdle(nb.Gaussian()), nb.MultivariateGaussian()],
    ids=["Gaussian", "Hurdle", "vectors"],
)
@pytest.mark.parametrize("scale", [1e-147, 1e-200], ids=str)
@pytest.mark.parametrize("spread", [1.0, 0.0], ids=["spread", "constant"])
def test_measurements_too_small_for_squares(family, scale, spread):
    cells = np.array([2.0, 2.5, 3.0, 2.25])
    X = pd.DataFrame({"mass": [1.0, 2.0, 3.0, 4.0], "charge": scale * np.where(spread, cells, 2.0)})
    with refused(
        "column 'charge'", "variance", re.escape(f"near {X['charge'].mean():.3g}"), "multiply", error=ValueError
    ):
        nb.fit(nb.NaiveBayes(family), X, list("abab"))


def test_small_measurements_are_read_as_in_another_unit():
    X, y = np.array([[2.0], [2.5], [3.0], [2.25]]), list("abab")
    small = nb.fit(nb.Gaussian(), X * 2.0**-480, y).predict_proba(X * 2.0**-480)
    np.testing.assert_allclose(small, nb.fit(nb.Gaussian(), X, y).predict_proba(X), rtol=1e-12)


def test_many_columns_of_large_codes():
    with refused("column 0", value(10**6), "in all columns", error=ValueError):
        nb.estimators.CategoricalNB().fit(np.full((2, 40), 10**6), [0, 1])
    with refused("column 1", value(10**12 - 1), "min_categories", error=ValueError):
        nb.estimators.CategoricalNB(min_categories=[1, 10**12]).fit([[0, 0], [1, 1]], [0, 1])


def test_infinite_codes():
    with refused("column 'c'", "infinite", "missing", error=ValueError):
        nb.estimators.CategoricalNB().fit(pd.DataFrame({"c": [0.0, np.inf]}), [0, 1])


DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("X", "where", "shown"),
    [
        (np.array([[1.0, DAY], [2.0, DAY]], dtype=object), "column 1", r"date.*datetime\.date\(2020, 1, 1\)"),
        (np.array([["2020-01-01"], ["2021-01-01"]], dtype="datetime64[ns]"), "column 0", "datetime64.*2020-01-01"),
        (pd.DataFrame({"x": [1.0, 2.0], "day": pd.to_datetime([DAY, DAY])}), "column 'day'", "Timestamp.*2020-01-01"),
        (pd.DataFrame({"x": [1.0, 2.0], "day": [DAY, DAY]}), "column 'day'", r"date\(2020, 1, 1\)"),
    ],
    ids=["objects", "datetime64", "frame", "frame of objects"],
)
def test_dates_where_numbers_belong(X, where, shown):
    words = (where, "row 0", shown, "days since", "leave the column out")
    with refused(*words, error=TypeError):
        fit(nb.Gaussian(), X, ["a", "b"])
    for kind in ("GaussianNB", "PoissonNB", "MultinomialNB", "BernoulliNB"):
        with refused(*words, error=TypeError):
            getattr(nb.estimators, kind)().fit(X, ["a", "b"])


def test_lists_of_objects_in_estimators():
    X = [[1.0, None], [2.0, 3.0], [4.0, 5.0]]
    found = nb.estimators.GaussianNB().fit(X, ["a", "b", "b"]).predict_proba(X)
    expected = nb.estimators.GaussianNB().fit(np.array(X, dtype=float), ["a", "b", "b"]).predict_proba(X)
    np.testing.assert_array_equal(found, expected)
    with refused("column 1", "row 0", "dict", "leave the column out", error=TypeError):
        nb.estimators.GaussianNB().fit([[1.0, {"a": 1}], [2.0, 3.0]], ["a", "b"])


@pytest.mark.filterwarnings("ignore:column . has counts above 1e")
@pytest.mark.filterwarnings("ignore:column 0 has counts above 1e.09")
@pytest.mark.parametrize("family", [nb.Multinomial(), nb.DirichletMultinomial()], ids=["multinomial", "dirichlet"])
def test_counts_of_any_size_are_checked(family):
    """Replicates of a sparse table do not take memory for each word of a document."""
    X, y = sp.csr_array([[9e15, 1.0, 0.0], [2.0, 3.0, 1e15], [1.0, 2.0, 3.0]]), ["a", "b", "a"]
    posterior = fit(family, X, y, nb.MAP())
    assert len(nb.check(posterior, X, y, num_replicates=20).table) > 0
    with refused("column 0, row 0", value("1e+18"), r"2\*\*53", "divide"):
        fit(family, sp.csr_array([[1e18, 1.0], [1.0, 1.0]]), ["a", "b"])


def without(monkeypatch, foreign, own):
    """A module of the package is imported anew where a foreign one is not installed."""
    monkeypatch.setitem(sys.modules, foreign, None)
    monkeypatch.delitem(sys.modules, own, raising=False)


def test_plots_without_matplotlib(monkeypatch):
    posterior, measured = fit(nb.Bernoulli()), fit(nb.Gaussian())
    results = [nb.check(posterior, FLAGS, LABELS, num_replicates=20), nb.calibration(posterior, FLAGS, LABELS)]
    plots = [
        *[result.plot for result in results],
        lambda: nb.plot_densities(measured),
        lambda: nb.plot_spikes(posterior),
        lambda: nb.plot_log_odds(posterior, FLAGS),
        lambda: nb.plot_proba(posterior, FLAGS),
        lambda: nb.plot_prior_posterior(posterior),
        lambda: nb.mutual_information(posterior).plot(),
    ]
    for plot in plots:
        without(monkeypatch, "matplotlib.figure", "bayesnb.core.picture")
        with refused(r"pip install 'bayesnb\[plots\]'", "matplotlib", error=ImportError):
            plot()


def test_the_command_line_without_its_extra(monkeypatch):
    for name in ["bayesnb.cli", *(name for name in sys.modules if name.startswith("bayesnb.cli."))]:
        without(monkeypatch, "typer", name)
    with pytest.raises(SystemExit, match=r"the command line needs typer: pip install 'bayesnb\[cli\]'"):
        main()


def test_inferences_that_no_column_but_one_takes_are_not_advised():
    mixed = nb.NaiveBayes({"mass": Durations(), "eggs": nb.Poisson()})
    with pytest.raises(ValueError, match=r"use nb\.NUTS\(\) for draws\Z"):
        nb.fit(mixed, FRAME[["mass", "eggs"]], LABELS)


def test_an_estimate_of_categories_that_does_not_exist_names_the_column_and_the_class():
    X = pd.DataFrame({"island": ["x", "y", "x", None], "colour": ["r", "g", "b", "r"]})
    with refused("'island'", "'b'", "maximum likelihood", "'prob' does not exist", "nb.Exact"):
        fit(nb.Categorical(), X, ["a", "a", "a", "b"], nb.MLE())


def test_vectors_outside_the_support_are_told_in_words():
    parameters = {"concentration": [[1.0, -1.0], [1.0, 1.0]]}
    with refused("x_concentration", "are not all positive", "-1.0"):
        nb.from_parameters(nb.DirichletMultinomial(), classes=["a", "b"], class_probs=[0.3, 0.7], parameters=parameters)


@pytest.mark.parametrize(("columns", "shown"), [(10, True), (11, False)])
def test_few_parameters_outside_the_support_are_shown(columns, shown):
    values = np.full((2, columns), 1.5)
    with refused("x_prob", "are not all between 0 and 1", r"\[\[1\.5" if shown else r": \.\.\."):
        nb.from_parameters(nb.Bernoulli(), classes=["a", "b"], class_probs=[0.3, 0.7], parameters={"prob": values})


def test_a_name_among_numbers_of_columns_makes_them_names():
    features = {"flag": nb.Bernoulli(), 3: nb.Poisson()}
    parameters = {"flag_prob": [0.2, 0.8], "3_rate": [1.0, 5.0]}
    for columns in (None, ["flag", 3]):
        known = nb.from_parameters(
            nb.NaiveBayes(features), classes=["a", "b"], class_probs=[0.5, 0.5], parameters=parameters, columns=columns
        )
        turned = pd.DataFrame({3: [4.0, 0.0], "flag": [1.0, 0.0]})
        assert known.predict(turned).tolist() == ["b", "a"]


def test_a_position_behind_the_last_column():
    with refused("column 3 is not in X", "'mass'"):
        nb.NaiveBayes({3: nb.Gaussian()}).bind(FRAME[["mass", "eggs", "the"]], LABELS)
