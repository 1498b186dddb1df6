"""The flat form of a density predicts what the density itself does, for every family and kind of posterior."""

from dataclasses import dataclass, replace

import jax
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from cases import FAMILIES, Exponential
from scipy.special import softmax
from trees import feature_weights

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier
from bayesnb.inference.fit import read_table
from bayesnb.model.blocks import feature_names
from bayesnb.model.reading import log_normalised
from bayesnb.posterior import compile as compile_module
from bayesnb.posterior.belief import offers, require
from bayesnb.serve.scorer import Scorer, StudentT

WITHOUT = {"multinomial", "outside multinomial", "user's exponential", "numpyro exponential"}
"""Families with a closed form whose densities have no flat form."""

OF_VALUES = {"bernoulli", "categorical", "binomial", "histogram", "polya tree", "joint categorical", "given"}
OF_VALUES |= {"all trees", "outside bernoulli", "outside categorical"}
"""Families of finitely many values, up to factors that all classes share."""

CLOSED = {case.name: case for case in FAMILIES if case.can.closed}


def weighted(posterior):
    """With a weight for each feature, of the last one zero, offsets and a share without information."""
    number = len(feature_names(posterior.model.blocks))
    offset = np.linspace(0.4, -0.3, len(posterior.classes))
    weights = feature_weights([*np.linspace(1.4, 0.6, number - 1), 0.0 if number > 1 else 0.7], offset, share=0.05)
    return nb.results.WeightedPosterior(posterior, weights)


def log_odds(density, chunks):
    """Log odds of every class against the first, shape (rows, classes)."""
    joint = np.add(*density.log_ratio(density.chunks(chunks).whole(warn=False)))
    with np.errstate(invalid="ignore"):  # a point may give zero to both
        return joint - joint[:, :1]


def assert_flat(posterior, X):
    """The flat form gives the log odds of the density, as it is and after a way through bytes."""
    flat, chunks = posterior.belief.flat, posterior.model.read(nb.results.as_table(X))
    expected = log_odds(posterior.belief.density, chunks)
    assert np.isfinite(expected).mean() > 0.5
    read = replace(flat, scorer=Scorer.from_bytes(flat.scorer.to_bytes()))
    for density in (flat, read):
        np.testing.assert_allclose(log_odds(density, chunks), expected, rtol=1e-12, atol=2e-13)


@pytest.mark.parametrize("kind", ["exact", "weighted", "other class probabilities", "averaged", "point"])
@pytest.mark.parametrize("name", CLOSED)
def test_every_family_in_every_kind_of_posterior(name, kind):
    case = CLOSED[name]
    X, y = case.table(40, holes=True)
    new, _ = case.table(30, holes=True, seed=9)
    options = {"feature_inclusion": 0.4} if kind == "averaged" else {}
    posterior = nb.fit(case.model(case.default, **options), X, y)
    if kind == "point":
        if name == "all trees":
            pytest.skip("no mean")
        posterior = posterior.plugin()
    if kind in ("weighted", "other class probabilities"):
        posterior = weighted(posterior)
    if kind == "other class probabilities":
        posterior = posterior.with_class_probs([0.9, 0.1])
    expected = case.name in OF_VALUES if kind in ("averaged", "point") else case.name not in WITHOUT
    assert offers(posterior, "a flat form") == expected
    if expected:
        assert_flat(posterior, pd.concat([X, new]))


@dataclass(frozen=True)
class Waits(Exponential):
    """A family from outside that states its constants."""

    def scorer(self):
        constant = np.log(self.concentration / self.rate)
        found = StudentT.of(0.0 * self.rate, self.rate, -(self.concentration + 1), constant)
        return replace(found, is_linear=np.ones_like(found.is_linear))


@dataclass(frozen=True)
class DoubledWaits(Waits):
    """Another density, whose constants are not those of the base class."""

    def cell_log_predictive(self, x):
        return 2 * super().cell_log_predictive(x)


for kind in (Waits, DoubledWaits):
    jax.tree_util.register_dataclass(kind)


def test_a_family_from_outside_states_its_constants():
    X, y = CLOSED["user's exponential"].table(40, holes=True)
    assert_flat(weighted(nb.fit(nb.NaiveBayes(Waits()), X, y)), X)
    assert nb.fit(nb.NaiveBayes(DoubledWaits()), X, y).belief.flat is None
    assert nb.fit(nb.NaiveBayes(nb.Hurdle(DoubledWaits())), X, y).belief.flat is None
    assert_flat(weighted(nb.fit(nb.NaiveBayes(nb.Hurdle(Waits())), X.mask(X > 2, 0.0), y)), X.mask(X > 2, 0.0))


def test_without_a_flat_form_the_error_says_so(posteriors):
    with pytest.raises(ValueError, match=r"to serve needs a flat form"):
        require(posteriors["sampled"], "a flat form", "to serve")
    assert posteriors["exact"].belief.flat is None  # count vectors


def test_wide_blocks_and_counts_predict_as_they_are(posteriors):
    X, y = CLOSED["gaussian"].table()
    wide = nb.fit(nb.Gaussian(), np.tile(X, 3), y)
    counts = nb.fit(nb.Poisson(), *CLOSED["poisson"].table())
    narrow = nb.fit(nb.Gaussian(), X, y)
    for posterior, is_flat in (
        (wide, False),
        (counts, False),
        (narrow, True),
        (weighted(wide), True),
        (weighted(counts), True),
    ):
        assert (posterior.belief.predicting is posterior.belief.flat) == is_flat
    assert posteriors["weighted sampled"].belief.predicting is posteriors["weighted sampled"].belief.density


def test_sparse_rows_are_as_dense_ones():
    rng = np.random.default_rng(3)
    X, y = (rng.random((70, 9)) < 0.2).astype(float), rng.choice(["a", "b"], 70)
    posterior = weighted(nb.fit(nb.Bernoulli(), scipy.sparse.csr_array(X), y))
    found = posterior.predict_proba(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(found, softmax(posterior.log_joint(X), axis=1), rtol=1e-12)


def mixed_table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], rows)
    shift = (y == "b") + 2.0 * (y == "c")
    X = pd.DataFrame(
        {
            "size": rng.normal(shift),
            "wait": rng.exponential(1 + shift) * (rng.random(rows) < 0.7),
            "number": rng.poisson(1 + 400 * shift),
            "colour": rng.choice(["red", "green", "blue"], rows),
            "grade": rng.integers(0, 4, rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, rows), unit="D"),
        }
    )
    return X.mask(rng.random(X.shape) < 0.1), y


@pytest.mark.filterwarnings("ignore:.*not seen in training")
def test_values_that_a_fit_did_not_see():
    """Bins, hurdles and other categories far from the data; numbers at the edges of bins; unseen values."""
    X, y = mixed_table()
    families = {
        "size": nb.Histogram(),
        "wait": nb.Hurdle(nb.Histogram()),
        "number": nb.NegativeBinomial(1.5),
        "colour": nb.Categorical(other=True),
        "grade": nb.Categorical(),
    }
    posterior = weighted(nb.fit(nb.NaiveBayes(families), X[[*families]], y))
    size, wait = (next(b.family for b in posterior.model.blocks if b.labels == (name,)) for name in ("size", "wait"))
    edges = np.array(size.edges)
    sizes = [*edges, *np.nextafter(edges, np.inf), *np.nextafter(edges, -np.inf), -1e6, 1e6, 0.0, -0.0]
    new = pd.DataFrame({"size": sizes})
    waits = [0.0, 5e-324, *wait.family.edges, 1e9]
    new["wait"] = np.resize(np.maximum(waits, 0.0), len(new))
    new["number"] = np.resize([0.0, 3.0, 5e6, np.nan], len(new))
    new["colour"] = np.resize(["red", "mauve", None], len(new))
    new["grade"] = np.resize([0.0, 9.0, np.nan, 3.0], len(new))
    assert_flat(posterior, new)


def test_columns_that_several_features_read_are_read_once():
    X, y = mixed_table()
    features = {
        "size": nb.Gaussian(),
        "colour": nb.Categorical(),
        "grade": nb.Categorical(),
        "of colour": (nb.Given(), ["grade", "colour"]),
        "of size": (nb.Given(), ["colour", "size"]),
        "size again": (nb.Histogram(), ["size"]),
        "grade again": (nb.Gaussian(), ["grade"]),
        "both": (nb.JointCategorical(), ["colour", "grade"]),
    }
    posterior = weighted(nb.Exact().fit(read_table(nb.NaiveBayes(features), X, y), key=0))
    flat = posterior.belief.flat
    assert [flat.scorer.columns[reading.column] for reading in flat.scorer.code_readings] == ["colour", "grade", "size"]
    assert [flat.scorer.columns[reading.column] for reading in flat.scorer.number_readings] == ["size", "grade"]
    assert posterior.explain(X.iloc[[0]], num_draws=2).index.tolist()[1:-1] == [*flat.scorer.subjects]
    new = mixed_table(seed=3)[0]
    assert_flat(posterior, new)
    rows = [posterior.predict_proba(row.where(row.notna(), None).to_dict()) for _, row in new.iterrows()]
    np.testing.assert_allclose(np.concatenate(rows), posterior.predict_proba(new), rtol=1e-12)


def test_a_table_keeps_its_errors_and_warnings():
    X, y = mixed_table(200)
    X = X.drop(columns="day")
    classifier = NaiveBayesClassifier().fit(X, y)
    row = X.iloc[[0]].astype({"size": object})
    with pytest.raises(TypeError, match=r"column 'size' holds text \('large' in row 0\)"):
        classifier.predict_proba(row.assign(size="large"))
    with pytest.raises(ValueError, match=r"column 'size', row 0: inf is not"):
        classifier.predict_proba(row.assign(size=np.inf))
    with pytest.warns(
        UserWarning, match=r"column 'colour': 1 cell\(s\) hold categories not seen in training \('mauve'\)"
    ):
        classifier.predict_proba(row.assign(colour="mauve"))


def test_it_is_made_at_the_first_prediction_after_a_change(monkeypatch):
    made = []
    original = compile_module.flat_density
    monkeypatch.setattr("bayesnb.posterior.belief.flat_density", lambda *given: made.append(1) or original(*given))
    X, y = mixed_table(90)
    classifier = NaiveBayesClassifier().partial_fit(X[:60], y[:60], classes=["a", "b", "c"])
    classifier.partial_fit(X[60:], y[60:])
    assert not made
    for rows in (X, X[:1], X.iloc[0].to_dict()):
        classifier.predict_proba(rows)
        classifier.predict_log_proba(rows)
    assert len(made) == 1


def test_a_row_in_any_form_is_the_row_of_the_table():
    X, y = mixed_table(150)
    classifier = NaiveBayesClassifier().fit(X, y)
    expected = classifier.predict_proba(X[:5])
    for place in range(5):
        row = X.iloc[place]
        for form in (
            row.to_dict(),
            row,
            X.iloc[[place]],
            dict(reversed(row.to_dict().items())),
            row.to_dict() | {"more": 1},
        ):
            np.testing.assert_allclose(classifier.predict_proba(form), expected[[place]], rtol=1e-12)


@pytest.mark.parametrize("method", ["predict_interval", "explain"])
def test_draws_are_kept_and_are_those_of_their_key(method, monkeypatch):
    X, y = mixed_table(150)
    classifier = NaiveBayesClassifier().fit(X, y)
    posterior, row = classifier.posterior_, X.iloc[[0]]
    drawn = []
    original = type(posterior.belief).draw
    monkeypatch.setattr(
        type(posterior.belief), "draw", lambda self, *given: drawn.append(given) or original(self, *given)
    )

    def found():
        return np.asarray(getattr(classifier, method)(row), dtype=float)

    first = found()
    np.testing.assert_array_equal(found(), first)
    assert len(drawn) == 1
    posterior.proba_interval(row, key=1)
    np.testing.assert_array_equal(found(), first)
    assert len(drawn) == 3
    monkeypatch.setattr("bayesnb.posterior.predictions.KEPT_BYTES", 1000)
    fresh = NaiveBayesClassifier().fit(X, y)
    classifier.posterior_ = fresh.posterior_
    np.testing.assert_array_equal(found(), first)
    np.testing.assert_array_equal(found(), first)
    assert len(drawn) == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["adult", "attrition", "Chile", "credit_g", "page_blocks", "soybean", "spambase", "titanic"]
)
def test_real_tables_with_gaps_and_unseen_values(data, name):
    X, y = real_table(data, name)
    rng = np.random.default_rng(0)
    classifier = NaiveBayesClassifier().fit(X[:3000], y[:3000])
    new = X.iloc[rng.choice(len(X), min(len(X), 1000), replace=False)]
    changed = new.copy()
    for column in new:
        hit, numeric = rng.random(len(new)) < 0.1, pd.api.types.is_numeric_dtype(new[column])
        other = 3 * new[column] - new[column].min() if numeric else pd.Series("never seen", new.index)
        changed[column] = (
            new[column].astype(float if numeric else object).mask(hit, other).mask(rng.random(len(new)) < 0.15)
        )
    posterior = classifier.posterior_
    for table in (new, changed):
        density, read = posterior.belief.density, classifier.checked_table(table)
        joint = np.add(*density.log_ratio(posterior.model.read(read).whole(warn=False)))
        expected = np.exp(log_normalised(joint))
        np.testing.assert_allclose(classifier.predict_proba(table), expected, atol=1e-12)
        scorer = posterior.belief.flat.scorer
        assert len(Scorer.from_bytes(scorer.to_bytes()).columns) == X.shape[1]


def real_table(data, name):
    path = {"adult": "uci/adult_train.csv.gz", "titanic": "uci/titanic_891.csv"}.get(name, f"tables/{name}.csv.gz")
    frame = pd.read_csv(data / path, keep_default_na=False, na_values=["", "?"])
    label = {"adult": "income", "titanic": "survived"}.get(name, frame.columns[-1])
    return frame.drop(columns=label), frame[label]
