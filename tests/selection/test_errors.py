"""What choices of features, families and models refuse, and the words that say what to do instead."""

from dataclasses import dataclass

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import scipy.sparse

import bayesnb as nb
from bayesnb.selection import weighing as weights

rng = np.random.default_rng(3)
Y = np.repeat(["no", "yes"], [50, 70])
SHADE = rng.random(120)
X = pd.DataFrame(
    {
        "length": rng.normal(size=120) + (Y == "yes"),
        "width": rng.normal(size=120),
        "hue": np.where(SHADE < 0.3, "red", np.where(SHADE < 0.6, "blue", "green")),
        "dark": (SHADE + 0.2 * rng.random(120) > 0.6).astype(float),
        "old": rng.integers(0, 2, 120).astype(bool),
        "visits": rng.poisson(2, 120),
    }
)
NUMBERS, FLAGS = X[["length", "width"]], X[["dark", "old"]].astype(float)
SPARSE = scipy.sparse.csr_array(X[["visits", "old"]].to_numpy(float))
MISSING = np.where(np.arange(120) == 0, None, Y)
ONE = ["a"] * 120
EMPIRICAL = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
AVERAGED = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.5)
FITTED = nb.fit(nb.Bernoulli(), FLAGS, Y)
KNOWN = nb.from_parameters(
    nb.Bernoulli(), classes=["no", "yes"], class_probs=[0.5, 0.5], parameters={"prob": [[0.1], [0.2]]}
)
BURSTY = nb.fit(nb.DirichletMultinomial(), [[3, 1], [1, 2]], ["a", "b"], nb.MAP())


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NeverSeen(nb.Bernoulli):
    """A one has probability zero."""

    def row_log_predictive(self, x, *, ratio=False):
        log_density = np.array(super().row_log_predictive(x))
        log_density[np.asarray(x)[:, 0] == 1] = -np.inf
        return log_density


def group(model, X=X, y=Y, **options):
    return lambda: nb.group_columns(model, X, y, **options)


def merged(one, other, names=("length", "width")):
    return group(nb.NaiveBayes(dict(zip(names, (one, other), strict=True))))


GROUPING = [
    (group(nb.Gaussian(), NUMBERS, Y[:-1]), "y has 119 labels, X has 120 rows"),
    (group(nb.Gaussian(), NUMBERS, ONE), "one class only, 'a'.*give rows of another class"),
    (group(nb.Gaussian(), NUMBERS, MISSING), "1 row has none: leave these rows out"),
    (group(nb.Bernoulli(), SPARSE), r"X is sparse.*X\.toarray\(\)"),
    (group(nb.Gaussian(), NUMBERS, columns=["lenght", "width"]), "column 'lenght'.*did you mean 'length'"),
    (
        group(nb.NaiveBayes({"length": nb.Gaussian(), "width": nb.Gaussian()}), columns=["hue", "length"]),
        "'hue', which is not in the model: leave it out",
    ),
    (
        group(nb.NaiveBayes({"length": nb.Gaussian(), "visits": nb.Poisson()}), columns="visits"),
        "'visits', which is Poisson, a family without joint blocks",
    ),
    (
        group(nb.NaiveBayes({"size": (nb.MultivariateGaussian(), ["length", "width"])}), columns=["length"]),
        "some of the columns 'length', 'width', and these are one joint block: name all",
    ),
    (group(nb.Gaussian(), NUMBERS, max_width=0), "max_width is 0: give a whole number"),
    (group(nb.NaiveBayes(nb.Gaussian(), feature_inclusion=0.5), NUMBERS), r"with_feature_inclusion\(None\)"),
    (
        merged(nb.Gaussian(kappa=dist.Gamma(1, 1)), nb.Gaussian()),
        r"'length' has Gaussian\(kappa=...\), which is learned.*give kappa a number",
    ),
    (
        group(nb.Gaussian(kappa=dist.Gamma(1, 1)), NUMBERS),
        r"every column has Gaussian\(kappa=...\), which is learned",
    ),
    (
        merged(nb.Gaussian(kappa=0.2), nb.Gaussian()),
        r"'length' and 'width' differ in kappa \(0.2 and 0.1\).*columns=",
    ),
    (merged(nb.Gaussian(concentration=2.0), nb.Gaussian()), r"differ in concentration \(2 and 1\)"),
    (merged(nb.Gaussian(loc=0.0), nb.Gaussian()), r"differ in loc \(a number and from the data\)"),
    (merged(nb.Gaussian(), nb.Gaussian(rate=1.0)), r"differ in rate \(from the data and a number\)"),
    (
        merged(nb.Categorical(0.5), nb.Bernoulli(), ("hue", "dark")),
        "'hue' and 'dark' differ in the prior weight.*1.5 and 2.*columns=",
    ),
    (
        merged(nb.Categorical([1.0, 2.0, 1.0]), nb.Bernoulli(), ("hue", "dark")),
        "'hue' gives its categories different weights.*columns=",
    ),
    (merged(nb.Categorical(), nb.Bernoulli(2.0, 1.0), ("hue", "dark")), "'dark' gives its categories different"),
    (
        merged(nb.Categorical(other=True), nb.Bernoulli(), ("hue", "dark")),
        "'hue' and 'dark' differ.*other=True and other=False",
    ),
    (
        group(nb.Gaussian(loc=0.0, rate=1e-40), pd.DataFrame({"one": X["length"], "copy": X["length"]})),
        "columns 'one', 'copy'.*singular.*drop a column",
    ),
    (lambda: nb.group_columns(nb.Poisson(), SPARSE.toarray(), Y).plot(), "no columns were merged, so that there is"),
]


def select(model, X=FLAGS, y=Y, **options):
    return lambda: nb.select_features(model, X, y, **options)


SELECTION = [
    (
        select(nb.NaiveBayes({"length": nb.Gaussian(), "width": nb.Gamma()}), NUMBERS.abs()),
        r"column 'width' is Gamma, which has no closed form.*nb.Histogram\(\).*leave it out",
    ),
    (
        select(nb.NaiveBayes({"visits": nb.Poisson(dist.HalfNormal(1.0), 1.0)}), X),
        r"'visits_concentration' is learned, HalfNormal\(1\).*give a number, or the model of nb.fit\(.*EmpiricalBayes",
    ),
    (select(nb.Bernoulli(), y=ONE), "one class only, 'a'.*give rows of another class"),
    (select(nb.Bernoulli(), y=MISSING), "nb.select_features needs every label, and 1 row has none: leave these rows"),
    (select(nb.Bernoulli(), y=Y[:-1]), "y has 119 labels, X has 120 rows"),
    (select(nb.NaiveBayes({"hue": nb.Categorical()}), X, "hue"), "column 'hue' holds the labels.*leave it out"),
    (select(nb.Bernoulli(), np.empty((120, 0))), "X has no columns: give at least one"),
    (select("nb"), "model is 'nb', a str: give"),
    (
        select(AVERAGED, sample_weight=np.full(120, 2.0)),
        r"averages over subsets.*leave sample_weight out, or.*model.with_feature_inclusion\(None\)",
    ),
    (select(nb.Bernoulli(), sample_weight=np.zeros(120)), "sample_weight is zero for every row: give at least one"),
    (select(nb.Bernoulli(), np.empty((0, 2)), []), "X has no rows: give at least one"),
    (select(nb.Bernoulli(), sample_weight=[1.0]), "give one weight for each row"),
    (
        select(nb.NaiveBayes({"dark": nb.Bernoulli(), "old": NeverSeen()})),
        r"density of row \d+ in feature 'old' and class '\w+' is -inf.*leave the row or the column out",
    ),
    (select(EMPIRICAL, [[0, 1], [1, 0]], ["a", "b"]), "probability zero, for every row: leave class_probs out"),
    (lambda: nb.select_features(nb.Gaussian(), X[["length"]], Y).plot(), "no feature was dropped, because that would"),
]


def choose(X=X, y=Y, **options):
    return lambda: nb.choose_families(X, y, **options)


def infinite(other):
    return X.assign(width=np.where(np.arange(120) == 3, np.inf, other))


FAMILIES = [
    (choose(y=["a", "b"]), "y has 2 labels, X has 120 rows"),
    (choose(y=ONE), "y has one class only, 'a'.*give rows of another class"),
    (choose(y=MISSING), "y is missing in row 0.*drop the rows"),
    (choose(y="widt"), "'widt'.*did you mean 'width'"),
    (choose(exclude=["widt"]), r"exclude names the column 'widt'.*mean 'width'\?"),
    (choose(exclude=list("sp")), "exclude names the column 's'"),
    (choose(exclude=list(X)), "no column for the model.*exclude names all"),
    (choose(families={"widths": nb.Gaussian()}), r"families names the column 'widths'.*mean 'width'\?"),
    (
        choose(families={"width": nb.Gamma()}, criterion="labels"),
        "column 'width' is Gamma, which has no closed-form posterior.*or criterion=\"evidence\"",
    ),
    (choose(criterion="loo"), 'criterion is \'loo\': give "evidence", or "labels"'),
    (choose(sample_weight=np.ones(3)), r"sample_weight has shape \(3,\), X has 120 rows"),
    (choose(sample_weight=-np.ones(120)), "sample_weight of row 0 is -1.0"),
    (choose(sample_weight=np.zeros(120)), "sample_weight is zero for every row"),
    (choose(X.assign(width=np.nan)), r"column 'width' has no observed cell.*exclude=\['width'\]"),
    (choose(X.assign(width=[[1, 2]] * 120)), "column 'width' holds a list"),
    (choose(infinite(1.5)), "column 'width', row 3: inf is not.*mark the cell as missing"),
    (choose(infinite(-1.5)), "column 'width', row 3: inf is not.*mark the cell as missing"),
    (choose(SPARSE), r"X is sparse.*nb.Multinomial\(\).*X.toarray\(\)"),
    (choose(X[:0], []), "X has no rows"),
    (
        lambda: nb.NaiveBayes.from_frame(X, sample_weight=np.ones(120)),
        "sample_weight is given without y.*give y",
    ),
    (
        lambda: nb.choose_families(X[["dark", "width"]], Y).plot(features=["dark"]),
        r"column 'dark' has one family only.*\['width'\]",
    ),
    (
        lambda: nb.choose_families(X[["dark", "width"]], Y).plot(features=[]),
        r"features is \[\]: name one or more of \['width'\]",
    ),
    (lambda: nb.choose_families(X[["dark", "hue"]], Y).plot(), "no column has more than one family"),
]

LEARNED = nb.fit(
    nb.NaiveBayes({0: nb.Categorical(dist.Gamma(2.0, 1.0))}),
    [["b"], ["a"], ["b"], ["c"], [None], ["a"]],
    [0, 1, 0, 1, 0, 1],
    nb.EmpiricalBayes(),
)


def evidence(prior):
    return lambda: nb.feature_evidence(FITTED, prior)


def fit(model, *inference):
    return lambda: nb.fit(model, [[0], [1]], ["a", "b"], *inference)


OF_CLASSES = nb.fit(nb.NaiveBayes({"dark": nb.Bernoulli([[1.0], [2.0]])}), FLAGS, Y)
ONE_FEATURE = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.5)

EVIDENCE = [
    (lambda: nb.feature_evidence([1]), "posterior is a list"),
    (lambda: nb.feature_evidence(KNOWN), "feature_evidence needs data"),
    (lambda: nb.feature_evidence(OF_CLASSES), "column 'dark': the prior's concentration1 differs by class"),
    (lambda: nb.feature_evidence(BURSTY), "DirichletMultinomial, which has no closed-form evidence"),
    (evidence(1.2), "prior_inclusion holds 1.2: give a probability from 0 to 1"),
    (evidence([0.5, -0.1]), "holds -0.1"),
    (evidence(np.nan), "holds nan"),
    (evidence([0.5, 0.5, 0.5]), "prior_inclusion has 3 numbers, the model has 2 features"),
    (evidence(np.full((1, 2), 0.5)), "an array of shape"),
    (evidence({"dark": 0.5}), "does not name 'old'"),
    (evidence({"dark": 0.5, "old": 0.5, "ape": 0.5}), "names 'ape', which is no feature"),
    (evidence("often"), "prior_inclusion is 'often'"),
    *(
        (fit(ONE_FEATURE, inference), r"no subsets of features to average over: fit a model .* nb.Exact\(\)")
        for inference in (nb.NUTS(), nb.MAP(), nb.MLE())
    ),
    (lambda: ONE_FEATURE.program([[0], [1]], ["a", "b"]), "the program has a parameter for every class"),
    (
        lambda: nb.NaiveBayes(nb.Bernoulli(dist.Gamma(1, 1), 1.0), feature_inclusion=0.5),
        r"'x_concentration1'.* cannot be learned",
    ),
    (
        fit(nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=[0.5, 0.5])),
        "feature_inclusion has 2 numbers, the model has",
    ),
    (lambda: nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=2), "feature_inclusion holds 2"),
    (lambda: nb.NaiveBayes(nb.Gamma(), feature_inclusion=0.5), r"which Gamma \(every column\) does not have"),
    (lambda: nb.NaiveBayes({"a": nb.Gamma()}, feature_inclusion=0.5), r"which Gamma \('a'\) does not have"),
    (fit(nb.NaiveBayes(nb.Poisson(1.0, [[1.0], [2.0]]), feature_inclusion=0.5)), "prior's rate differs by class"),
    (lambda: LEARNED.averaged(), "hyperparameters of this posterior were learned"),
    (
        lambda: nb.loo(nb.fit(AVERAGED, FLAGS, Y), FLAGS, Y, sample_weight=np.full(120, 0.5)),
        "sample_weight is not for posteriors averaged over features",
    ),
    (lambda: nb.mutual_information(FITTED, "shannons"), r"unit is 'shannons': give one of"),
    (lambda: nb.mutual_information(FITTED, prob=1.5), r"prob is 1\.5"),
    (lambda: nb.mutual_information(FITTED, num_draws=0), "num_draws is 0"),
    (lambda: nb.mutual_information(nb.NaiveBayes(nb.Bernoulli())), "posterior is a NaiveBayes"),
    (lambda: nb.estimators.mutual_information_score(FLAGS, Y, unit="shannons"), "unit is 'shannons'"),
    (lambda: nb.telling_features(FITTED, unit="bytes"), r"unit is 'bytes': give one of \['nats', 'bits', 'decibans'\]"),
    (lambda: nb.telling_features(FITTED, prob=2.0), "prob is 2.0"),
    (lambda: nb.telling_features(FITTED, num=0), "num is 0"),
    (
        lambda: nb.telling_features(nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "a"], classes=["a"])),
        "there is one class, 'a'",
    ),
    (
        lambda: nb.telling_features(nb.fit(nb.Bernoulli(), [[0], [1]] * 2, list("aabb"), nb.MLE())).plot(),
        "no feature is evidence for any class",
    ),
]


def compare(one, *, X=NUMBERS, y=Y, name="new", other=None, prior=None):
    return lambda: nb.compare_models({"both": one, name: other or nb.Gaussian()}, X, y, prior=prior)


BOTH = nb.fit(nb.Gaussian(), NUMBERS, Y)
ONE_CHANGED = NUMBERS.assign(width=NUMBERS["width"] + 0.1 * (np.arange(120) == 7))

MODELS = [
    (lambda: nb.compare_models([BOTH, BOTH], NUMBERS, Y), "models is a list"),
    (lambda: nb.compare_models({"both": BOTH}, NUMBERS, Y), "there are 1 models"),
    (compare(BOTH, name="known", other=KNOWN), "'known' was given its parameters or draws without data"),
    (compare(BOTH, name="number", other=3), "'number' is an int"),
    (compare(BOTH, prior={"both": 0.5}), "prior names"),
    (compare(BOTH, prior={"both": 0.5, "new": 0.4}), "add up to one"),
    (compare(BOTH, prior={"both": 1.5, "new": -0.5}), "add up to one"),
    (compare(BOTH, prior=0.5), "prior is 0.5"),
    (
        compare(nb.fit(nb.Gaussian(), NUMBERS[:100], Y[:100])),
        "'both' was fitted to other data than X and y .rows by class",
    ),
    (compare(BOTH, X=ONE_CHANGED), "'both' was fitted to other data .* .the statistics of its"),
    (compare(BOTH, X=NUMBERS.to_numpy()[:, :1]), "'both' was fitted to other data than X and y: X has"),
    (
        compare(BOTH, other=nb.fit(nb.Gaussian(), NUMBERS, Y, classes=["maybe", "no", "yes"])),
        "'both' has the classes .*, 'new' ",
    ),
]


def weigh(posterior=FITTED, X=FLAGS, y=Y, **options):
    return lambda: nb.weight_features(posterior, X, y, **options)


MANY = rng.integers(0, 2, (6, weights.MOST_FEATURES + 1))

WEIGHTS = [
    (weigh(X=np.tile(FLAGS, (2, 1)), y=np.tile(Y, 2)), "never all among the data: class 'no' weighs"),
    (
        weigh(BOTH, NUMBERS.assign(width=NUMBERS["width"].where(NUMBERS.index != 3, 1e6))),
        "row 3 was never among the data: without it, column 'width' in class 'no'",
    ),
    (weigh(X=FLAGS[["dark"]]), "'old'"),
    (weigh(y=Y[:-1]), "119.*120"),
    (weigh(y=np.where(np.arange(120) == 3, "maybe", Y)), "'maybe'"),
    (weigh(sample_weight=np.ones(119)), "sample_weight has shape"),
    (
        weigh(nb.fit(nb.Bernoulli(), FLAGS, ONE, classes=["a"]), y=ONE),
        "one class only, 'a'.*rows of another class",
    ),
    (weigh(nb.fit(nb.Bernoulli(), FLAGS, Y, nb.MAP())), "^weight_features .*point estimate"),
    (weigh(FLAGS), "give what nb"),
    (weigh(inference=nb.MAP()), r"inference is a MAP: give nb\.NUTS\(\)"),
    (
        weigh(nb.fit(nb.Bernoulli(), MANY, [0, 1] * 3), MANY, [0, 1] * 3),
        r"2001 features.*2000 at most: use shared=True",
    ),
    (
        weigh(nb.fit(EMPIRICAL, [[1.0], [0.0]], ["a", "b"]), [[1.0], [0.0]], ["a", "b"]),
        "probability zero, for every row: leave class_probs out",
    ),
    (
        weigh(nb.fit(nb.NaiveBayes({"dark": nb.Bernoulli(), "old": NeverSeen()}), FLAGS, Y), shared=True),
        "class 'yes' is -inf on the log scale, with which no weights can be learned",
    ),
    (
        weigh(nb.fit(AVERAGED, FLAGS, Y), sample_weight=np.full(120, 0.5)),
        "sample_weight is not for posteriors averaged over features",
    ),
]


def tree(model, X=X, y=Y):
    return lambda: nb.tree_columns(model, X, y)


TREES = [
    (tree(nb.NaiveBayes({"hue": nb.Categorical()})), "describes fewer than two columns one by one"),
    (tree(nb.NaiveBayes(nb.Gaussian()), NUMBERS, ONE), "y has one class only"),
    (tree(nb.Gaussian(), NUMBERS, MISSING), "y is missing in row 0"),
    (tree("tree"), "tree"),
    (tree(nb.NaiveBayes({"shade": nb.Categorical()})), "column 'shade' is not in X"),
    (tree(AVERAGED, FLAGS), r"averages over subsets .* model.with_feature_inclusion\(None\)"),
    (tree(nb.Bernoulli(), SPARSE), r"X is sparse, .* X.toarray\(\)"),
]


@pytest.mark.parametrize(("call", "words"), [*GROUPING, *SELECTION, *FAMILIES, *EVIDENCE, *MODELS, *WEIGHTS, *TREES])
def test_the_error_says_what_is_wrong_and_what_to_do(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


def test_as_many_features_as_have_weights_of_their_own():
    """The bound itself is allowed, and one weight for all of any number."""
    y = [0, 1] * 3
    shared = nb.weight_features(nb.fit(nb.Bernoulli(), MANY, y), MANY, y, shared=True)
    assert len(shared.weights) == weights.MOST_FEATURES + 1
