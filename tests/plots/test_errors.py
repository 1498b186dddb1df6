"""What figures refuse, and the words that say what to do instead."""

import re

import numpy as np
import pandas as pd
import pytest
from figures import LABELS, crowd, exact, table

import bayesnb as nb

X, Y = table(), LABELS
EXACT = exact()
NINE = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1]] * 9, range(9))
WORDS = nb.fit(nb.Multinomial(), X[["nests", "old"]], Y)
TWO_BLOCKS = nb.fit(nb.NaiveBayes({"a": (nb.Bernoulli(), [0]), "b": (nb.Bernoulli(), [1])}), [[0, 1]], ["c"])
EMPIRICAL = nb.fit(nb.NaiveBayes({"old": nb.Bernoulli()}, class_probs="empirical"), X, Y)
CONSTANT = nb.fit(nb.NaiveBayes({"leaf": nb.Categorical()}), pd.DataFrame({"leaf": ["round"] * 3}), ["a"] * 3)
ONE_CLASS = nb.fit(nb.Bernoulli(), [[0], [1]], ["a", "a"], classes=["a"])
WEIGHTED, SHARED = (nb.weight_features(EXACT, X, Y, shared=shared) for shared in (False, True))
SENSITIVITY = nb.sensitivity(EMPIRICAL)
TEN = pd.DataFrame({"photo": np.arange(20) % 10, "person": np.arange(20) // 10, "seen": np.arange(20) % 10})
TEN_CLASSES = nb.fit_annotations(TEN, item="photo", annotator="person", label="seen")


def proba(posterior=EXACT, X=X, y=None, **options):
    return lambda: nb.plot_proba(posterior, X, y, **options)


def odds(posterior=EXACT, X=X, y=None, classes=("oak", "ash"), **options):
    return lambda: nb.plot_log_odds(posterior, X, y, classes=classes, **options)


def densities(posterior=EXACT, X=None, y=None, **options):
    return lambda: nb.plot_densities(posterior, X, y, **options)


def spikes(posterior=EXACT, *block, **options):
    return lambda: nb.plot_spikes(posterior, *block, **options)


def prior(posterior=EXACT, **options):
    return lambda: nb.plot_prior_posterior(posterior, **options)


CALLS = [
    *(
        case
        for figure in (proba, odds)
        for case in [
            (figure(X=X.head(0)), "X has no rows"),
            (figure(y=Y[:2]), "y has 2 labels, X has 24 rows"),
            (figure(labels=["a", "b", "c"]), "labels has 3 entries, X has 24 rows"),
            (figure(prob=1.2), "prob is 1.2"),
            (figure(max_rows=0), "max_rows is 0"),
            (figure(sort="up"), "sort is 'up': give True or False"),
        ]
    ),
    (proba(NINE, [[1]], classes=range(9)), "classes has 9 entries, more than the eye tells apart: name up to 8"),
    *((odds(classes=pair), "give two different ones of") for pair in (("oak", "elm"), ("oak", "oak"), ("oak",), "oak")),
    (odds(y=range(24)), "y holds 24 different labels"),
    (odds(ONE_CLASS, [[0]], classes=None), "there is one class, 'a': log odds need two, so fit with labels of another"),
    (densities(features=["nest"]), "did you mean 'nests'"),
    (densities(features=["height", "nests", "height"]), "features names 'height' twice: name each once"),
    (densities(features=[]), "features is []: name one or more of"),
    (densities(sort="up"), "sort is 'up': give True or False"),
    (densities(X=X), "X and y go together"),
    (densities(y=Y), "X and y go together"),
    (densities(X=X, y=Y[:4]), "y has 4 labels, X has 24 rows"),
    (densities(X=X.head(0), y=Y[:0]), "X has no rows"),
    (densities(WORDS), "the model has only count vectors, which have no density: plot_spikes shows them"),
    (densities(NINE, classes=range(9)), "classes has 9 entries, more than the eye tells apart: name up to 8"),
    (spikes(EXACT, "leaf"), "block is 'leaf': give one of ['old']"),
    (spikes(label="all"), "label is 'all': give one of ['telling', 'tallest']"),
    *((spikes(tolerance=t), f"tolerance is {t}: give a number from 0, below 1") for t in (1.5, 1.0, -0.1)),
    (spikes(nb.fit(nb.Gaussian(), X[["height"]], Y)), "no columns of 0 and 1 and no count vectors, only Gaussian"),
    (spikes(TWO_BLOCKS), "several blocks of 0/1 columns or count vectors: give one of ['a', 'b']"),
    (
        prior(EXACT.plugin()),
        "needs a distribution of the parameters, and this is a point",
    ),
    (prior(sites=["leaf"]), "site 'leaf' is no parameter: name some of ['class_prob', 'height_mean'"),
    (prior(sites=[]), "there is no parameter to show"),
    (prior(EMPIRICAL, sites="class_prob"), "site 'class_prob' is known, so that it has no density"),
    (prior(CONSTANT), "there is no parameter to show"),
    (lambda: WEIGHTED.plot(max_features=0), "max_features is 0"),
    (lambda: WEIGHTED.plot(sort="up"), "sort is 'up': give True or False"),
    (lambda: SHARED.plot(features=["old"]), "features is ['old'], and all features share one weight: leave it out"),
    (lambda: SENSITIVITY.plot(kind="probabilities"), "there are none: give the rows to nb.sensitivity(posterior, X)"),
    *(
        case
        for figure in (crowd().plot_annotators, crowd().plot_confusion)
        for case in [
            (
                lambda figure=figure: figure(annotators=["Zoe"]),
                "annotators names 'Zoe', which is not in column 'person'",
            ),
            (lambda figure=figure: figure(prob=2), "prob is 2"),
            (lambda figure=figure: figure(sort="bias"), "'bias': give one of ['accuracy', 'annotations'], or None"),
        ]
    ),
    (lambda: crowd().plot_items(items=99), "items names 99, which is not in column 'tree': name some of "),
    (lambda: TEN_CLASSES.plot_items(classes=range(8)), "classes has 8 entries, "),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_the_error_says_what_is_wrong_and_what_to_do(call, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        call()


def test_as_many_classes_as_the_eye_tells_apart_are_drawn():
    assert len(nb.plot_densities(NINE, classes=range(8)).axes[0].lines) == 8
    nb.plot_proba(NINE, [[1]], classes=[0, 8])
    assert len(nb.plot_spikes(TWO_BLOCKS, "b").axes) == 1
