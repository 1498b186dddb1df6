"""What checks refuse, with the words that say what to do instead, and the progress that they show."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cases import Exponential
from sklearn.linear_model import LogisticRegression
from trees import FEATURES, trees

import bayesnb as nb
from bayesnb.checks import same_draws

rng = np.random.default_rng(1)
Y = np.array(["p", "q"])[rng.integers(0, 2, 40)]
X = rng.poisson(np.where(Y == "q", 3.0, 1.5)[:, None], (40, 2))
POSTERIOR = nb.fit(nb.Poisson(), X, Y)
SAMPLED = nb.from_samples(nb.Poisson(), POSTERIOR.draws(num_draws=500), X=X, y=Y)
BOUND = nb.NaiveBayes(nb.Poisson(2.0, 1.0)).bind(X, Y)
LOGISTIC = LogisticRegression().fit(X, Y)
POINT = nb.fit(nb.Poisson(2.0, 1.0), X, Y, nb.MAP())
HALF = np.full((40, 2), 0.5)

TREES, LABELS = trees(rng, 50)
OF_TREES = nb.fit(nb.NaiveBayes(FEATURES | {"rings": nb.Poisson()}), TREES.assign(rings=7.0), LABELS)


def stranger(**changes):
    """The trees with other cells in some rows, given as column=(row, value)."""
    table = TREES.assign(rings=7.0)
    for column, (row, value) in changes.items():
        table[column] = table[column].where(table.index != row, value)
    return table


def rows_of(name):
    """The same call with other rows or labels, of every function that takes the rows of the fit."""
    verb = getattr(nb, name)
    few = [
        (lambda: verb(POSTERIOR, X, np.where(np.arange(40) == 3, "r", Y)), ValueError, "y holds the label 'r' (row 3)"),
        (lambda: verb(POSTERIOR, X, Y[1:]), ValueError, "39 labels, X has 40 rows"),
        (lambda: verb(POSTERIOR, X, None), ValueError, "y is None"),
        (lambda: verb(POSTERIOR, X[:0], Y[:0]), ValueError, "no rows"),
        (lambda: verb(POSTERIOR, X[:, :1], Y), ValueError, "X has 1 column"),
        (lambda: verb("exact", X, Y), TypeError, "posterior is a str: give what nb.fit"),
    ]
    if name in ("check", "calibration"):
        return few
    twice = np.concatenate([X, X]), np.concatenate([Y, Y])
    return [
        *few,
        (lambda: verb(POSTERIOR, X, Y, sample_weight=[1.0]), ValueError, "sample_weight has shape"),
        (lambda: verb(POSTERIOR, X, Y, sample_weight=np.full(40, 2.0)), ValueError, "never all among the data"),
        (lambda: verb(POSTERIOR, *twice), ValueError, "never all among the data: class 'p' weighs"),
        (lambda: verb(POINT, X, Y), ValueError, "this is a point estimate: use "),
        (lambda: verb(OF_TREES, stranger(rings=(7, 4000.0)), LABELS), ValueError, "never among the data"),
    ]


CHECK = [
    (lambda: nb.check(BOUND, X, Y), TypeError, "posterior is a BoundModel: give what nb.fit"),
    (lambda: nb.check(POSTERIOR, None, Y), TypeError, "X is a NoneType: give a NumPy array"),
    (lambda: nb.check(POSTERIOR, X, Y, statistics=["skew"]), ValueError, "no statistic 'skew': name one of ['class_fr"),
    (lambda: nb.check(POSTERIOR, X, Y, statistics=[]), ValueError, "statistics is empty"),
    (lambda: nb.check(POSTERIOR, X, Y, statistics=3), TypeError, "statistics is 3"),
    (lambda: nb.check(POSTERIOR, X, Y, statistics=[3]), TypeError, "statistics holds 3"),
    *(
        (lambda number=number: nb.check(POSTERIOR, X, Y, num_replicates=number), ValueError, "num_replicates is")
        for number in (0, -1, 2.5)
    ),
    (lambda: nb.check(POSTERIOR, X, Y, statistics=lambda X, y: "many"), TypeError, "'<lambda>' returned a str"),
    (lambda: nb.check(POSTERIOR, X, Y, statistics=lambda X, y: {"mean": X}), TypeError, "an ndarray under 'mean'"),
    *(
        (lambda name=name: nb.check(ALONE, X[:, :1], Y, statistics=name), ValueError, f"'{name}' needs {needs}")
        for name, needs in {
            "burstiness": "count vectors",
            "dependence": "two columns",
            "shape": "columns of measurements",
        }.items()
    ),
    (lambda: nb.check(FRACTIONS, X / 2, Y), ValueError, "hold fractions (weights such as tf-idf)"),
    (lambda: nb.check(POSTERIOR, X, Y, sample_weight=HALF[:, 0]), ValueError, "of row 0 is 0.5: a check draws w rows"),
]
ALONE = nb.fit(nb.Poisson(), X[:, :1], Y)
FRACTIONS = nb.fit(nb.NaiveBayes(nb.Multinomial(fractional=True)), X / 2, Y)


def other(labels):
    """A classifier with these classes."""
    return SimpleNamespace(classes_=labels, predict_proba=lambda X: np.full((len(X), len(labels)), 1 / len(labels)))


def calibrated(beside):
    return nb.calibration(POSTERIOR, X, Y, other=beside)


def with_row_2(row):
    return np.r_[HALF[:2], [row], HALF[3:]]


DIGITS, TEXTS = (nb.fit(nb.Bernoulli(), [[1], [0]], classes) for classes in ([0, 1], ["0", "1"]))

CALIBRATION = [
    (lambda: calibrated(HALF[:3]), ValueError, "have shape (3, 2): give a row for each of X, 40, and a column for"),
    *(
        (lambda row=row: calibrated(with_row_2(row)), ValueError, "of row 2 are [")
        for row in ([-0.5, 1.5], [np.nan, 1.0], [0.5, 0.5 + 1.5e-6], [0.9, 0.9])
    ),
    (lambda: calibrated(LogisticRegression()), TypeError, "LogisticRegression, has no classes_"),
    (lambda: calibrated(LogisticRegression().fit(X, Y == "p")), ValueError, "the classes differ"),
    *(
        (lambda names=names: calibrated(other(names)), ValueError, "the classes differ")
        for names in (["p", "q", "q"], ["p", "p"], ["p", "q", "r"])
    ),
    (lambda: nb.calibration(DIGITS, [[1], [0]], [0, 1], other=TEXTS), ValueError, "the classes differ"),
    (lambda: calibrated("logistic"), TypeError, "other is a str"),
    (lambda: calibrated(3.0), TypeError, "other is a float"),
    (lambda: nb.calibration(LOGISTIC, X, Y), TypeError, "posterior is a LogisticRegression"),
    (lambda: nb.calibration(POSTERIOR, X, Y, prob=1), ValueError, "prob is 1"),
    (lambda: nb.calibration(POSTERIOR, X, Y, bins=0), ValueError, "bins is 0"),
    (lambda: calibrated(None).plot(kind="bars"), ValueError, "kind is 'bars': give one of ['classes', 'confidence']"),
]

CERTAIN = nb.fit(nb.Categorical(), [["u"], ["u"]], ["a", "a"])
OF_CERTAIN = nb.from_samples(nb.Categorical(), CERTAIN.draws(), X=[["u"], ["u"]], y=["a", "a"])
THREE = nb.from_samples(nb.Poisson(), POSTERIOR.draws(num_chains=2, num_draws=3), X=X, y=Y)

COMPARE = [
    (lambda: nb.compare(POSTERIOR, SAMPLED, X[:0]), ValueError, "X has no rows: give at least one"),
    (lambda: nb.compare(CERTAIN, OF_CERTAIN), ValueError, "every parameter is certain"),
    (lambda: nb.compare(POSTERIOR, THREE), ValueError, "there are 3 draws in each chain"),
]


@dataclass(frozen=True)
class Mode(nb.results.Inference):
    """A point from an inference that the package does not know."""

    def check(self, problem):
        pass

    def fit(self, problem, *, key=0):
        return nb.Exact().fit(problem).plugin()


def judged(inference=None, model=BOUND, **options):
    return nb.sbc(model, inference, **options)


def on_one_row(model):
    return model.bind([[1, 2]], ["a"])


SBC = [
    (lambda: judged(model=nb.NaiveBayes(nb.Bernoulli())), ValueError, "not bound to columns and classes: give X and y"),
    (lambda: judged(model=nb.NaiveBayes(nb.Bernoulli()), X=[[1]]), ValueError, "y is None"),
    (lambda: judged(model=nb.NaiveBayes(nb.Bernoulli()), y=["a"]), TypeError, "X is a NoneType"),
    (lambda: judged(model="bernoulli"), TypeError, "model is 'bernoulli'"),
    (
        lambda: judged(model=nb.NaiveBayes(nb.Gaussian()).bind(np.empty((0, 1)), classes=["a"])),
        ValueError,
        "Gaussian(loc=...)",
    ),
    (lambda: judged(model=on_one_row(nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical"))), ValueError, "empirical"),
    (lambda: judged(model=on_one_row(nb.NaiveBayes(nb.Multinomial()))), ValueError, "give total_count"),
    (lambda: judged(num_simulations=19), ValueError, "fewer than 20 PIT values"),
    (lambda: judged(num_simulations=50.0), ValueError, "num_simulations is 50.0"),
    (lambda: judged(num_rows=0), ValueError, "num_rows is 0"),
    (lambda: judged(error_rate=1.0), ValueError, "error_rate is 1.0"),
    (lambda: judged(key="seed"), TypeError, "key is 'seed'"),
    (lambda: judged(nb.MAP()), ValueError, "sbc needs a distribution of the parameters, and this is a point"),
    (lambda: judged(Mode()), ValueError, "this is a point estimate: use nb.Exact()"),
    (lambda: judged(nb.Exact), TypeError, "inference is the class Exact: give an instance"),
    (lambda: judged("exactly"), ValueError, "inference is 'exactly': give one of ['exact'"),
    (
        lambda: judged(model=nb.NaiveBayes(nb.Gaussian(0.0, 1.0, 1e-4, 1.0)).bind([[1.0], [2.0]], ["a", "b"])),
        ValueError,
        "the prior of 'x_",
    ),
]

RARE = nb.fit(nb.NaiveBayes({"spam": nb.Bernoulli(0.1, 0.1)}), pd.DataFrame({"spam": [0, 0]}), [0, 1])
WAITING = nb.fit(nb.NaiveBayes(Exponential()), [[1.0], [2.0]], [0, 1])
FEW = nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_concentration=0.1), [[0]], [0], classes=[0, 1])

SENSITIVITY = [
    (lambda: nb.sensitivity(SAMPLED), TypeError, "these are draws: use nb.fit(model, X, y), or draws with arviz"),
    (lambda: nb.sensitivity(POSTERIOR.plugin()), TypeError, "this is a point estimate: use nb.fit(model, X, y)"),
    (lambda: nb.sensitivity(POSTERIOR.averaged()), TypeError, "needs the closed form of one model"),
    (lambda: nb.sensitivity(X), TypeError, "ndarray"),
    *(
        (lambda powers=powers: nb.sensitivity(POSTERIOR, prior=powers), ValueError, "prior is")
        for powers in ((1.25, 0.8), (0.8, 1.0), (0.0, 1.2), (0.8, np.inf), (0.8,), 1.2, "ab", None)
    ),
    (lambda: nb.sensitivity(POSTERIOR, likelihood=(2, 3)), ValueError, "likelihood is"),
    (lambda: nb.sensitivity(WAITING), TypeError, "state flat_prior, or define power_scaled"),
    (
        lambda: nb.sensitivity(RARE),
        ValueError,
        "to the power 1.25 leaves no posterior: its concentration1 would",
    ),
    (lambda: nb.sensitivity(FEW), ValueError, "'class_prob' raised"),
    (lambda: nb.sensitivity(POSTERIOR).plot(kind="rows"), ValueError, "kind is 'rows': give one of ['parameters', 'pr"),
    (lambda: nb.sensitivity(POSTERIOR).plot(parameters=["it"]), ValueError, "parameters is ['it']: name one or more"),
    (lambda: nb.sensitivity(POSTERIOR).plot(max_parameters=0), ValueError, "max_parameters is 0"),
]

KFOLD = [
    (lambda: nb.kfold(nb.DirichletMultinomial(), X, Y), ValueError, "nb.MAP()"),
    (lambda: nb.kfold(nb.Poisson(), X, Y, inference=nb.MAP), TypeError, "inference is the class MAP"),
    (lambda: nb.kfold(nb.Poisson(), X, np.where(Y == "p", "p", None)), ValueError, "kfold needs every label"),
    (lambda: nb.kfold(nb.Poisson(), X - 1, Y), ValueError, "Poisson"),
    (lambda: nb.kfold(nb.Poisson(), X, Y, key="seed"), TypeError, "key is 'seed'"),
    (lambda: nb.kfold(POSTERIOR, X, Y, inference=nb.MAP()), ValueError, "a posterior has its own: leave it out, or"),
    (lambda: nb.kfold(SAMPLED, X, Y), ValueError, "which fits anew"),
    (lambda: nb.kfold(POINT, X, Y), ValueError, "which fits anew"),
    *(
        (lambda k=k: nb.kfold(POSTERIOR, X, Y, k=k), ValueError, "at least 2 folds and no more than there are rows, 40")
        for k in (1, 41)
    ),
    (lambda: nb.kfold(POSTERIOR, X, Y, k=2.5), ValueError, "k is 2.5"),
    (lambda: nb.kfold(POSTERIOR, X, Y, folds=[0, 1, 2]), ValueError, "folds has 3 labels"),
    (lambda: nb.kfold(POSTERIOR, X, Y, folds=np.zeros(40)), ValueError, "names 1 fold"),
    (lambda: nb.kfold(OF_TREES, stranger(cones=(8, 4000)), LABELS), ValueError, "'fallen'"),
]

DOCUMENTS = nb.fit(nb.NaiveBayes(nb.Multinomial()), [[3, 1], [2, 2]], ["a", "b"])

LEFT_OUT = [
    (lambda: nb.loo(OF_TREES, stranger(rings=(7, 4000.0)), LABELS), ValueError, f"'rings' in class '{LABELS[7]}'"),
    (lambda: nb.loo(OF_TREES, stranger(cones=(8, 4000)), LABELS), ValueError, "row 8 was never among the data"),
    (lambda: nb.loo(OF_TREES, stranger(height=(6, 1e6)), LABELS), ValueError, "row 6 was never among the data"),
    (lambda: nb.loo(DOCUMENTS, [[3, 1], [2, 1]], ["a", "b"]), ValueError, "row 1 was never among the data"),
    (
        lambda: nb.loo(SAMPLED, X, Y, sample_weight=HALF[:, 0]),
        ValueError,
        "which leave out rows of weight one",
    ),
    (lambda: nb.loo(SAMPLED, X, np.where(Y == "p", "r", Y)), ValueError, "label 'r'"),
]

ERRORS = {
    **{f"{name} of rows": rows_of(name) for name in ("check", "calibration", "loo", "loo_scores", "kfold")},
    "check": CHECK,
    "calibration": CALIBRATION,
    "compare": COMPARE,
    "sbc": SBC,
    "sensitivity": SENSITIVITY,
    "kfold": KFOLD,
    "left out": LEFT_OUT,
}


@pytest.mark.parametrize(
    ("call", "error", "words"), [pytest.param(*case, id=name) for name, cases in ERRORS.items() for case in cases]
)
@pytest.mark.filterwarnings("ignore:.*overflow|.*divide|.*invalid:RuntimeWarning")
def test_what_is_refused(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


PROGRESS = {
    ("check: 100%", "9/9"): lambda progress: nb.check(POSTERIOR, X, Y, num_replicates=9, progress=progress),
    ("loo: importance sampling", "loo: 100%"): lambda progress: nb.loo(SAMPLED, X, Y, progress=progress),
    ("compare: dependence", "4/4"): lambda progress: nb.compare(POSTERIOR, SAMPLED, progress=progress),
    ("compare: class probabilities", "5/5"): lambda progress: nb.compare(POSTERIOR, SAMPLED, X, progress=progress),
    ("SBC", "20/20"): lambda progress: nb.sbc(BOUND, num_simulations=20, progress=progress),
}


@pytest.mark.filterwarnings("ignore:the prior of the draws follows all rows")
@pytest.mark.parametrize("words", PROGRESS, ids=lambda words: words[0])
@pytest.mark.parametrize(("progress", "shown"), [(True, True), (None, False)])
def test_progress_is_shown_where_asked_for(words, progress, shown, capsys, monkeypatch):
    monkeypatch.setattr(same_draws, "EXACT_DRAWS", 400)
    monkeypatch.setattr(same_draws, "DRAWS_OF_PROBABILITIES", 400)
    PROGRESS[words](progress)
    bar = capsys.readouterr().err
    assert all((each in bar) is shown for each in words)
