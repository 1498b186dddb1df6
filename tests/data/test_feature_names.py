"""Names given to the columns of arrays and sparse matrices."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

import bayesnb as nb
from bayesnb import estimators

MESSAGES = ["good film", "great good fun", "bad film", "awful bad plot", "great plot", "awful film"]
MOOD = ["up", "up", "down", "down", "up", "down"]
VECTORIZER = CountVectorizer().fit(MESSAGES)
X, NAMES = VECTORIZER.transform(MESSAGES), VECTORIZER.get_feature_names_out()
DENSE = X.toarray()
FRAME = pd.DataFrame(DENSE, columns=NAMES)
SHOWN = [f"x_prob[{c}, {name}]" for c in ("down", "up") for name in NAMES]


@pytest.mark.parametrize(
    "table", [X, DENSE, DENSE.tolist(), np.ma.masked_array(DENSE), FRAME], ids=lambda t: type(t).__name__
)
@pytest.mark.parametrize("names", [NAMES, list(NAMES), tuple(NAMES), pd.Index(NAMES)], ids=lambda n: type(n).__name__)
def test_results_have_the_names(table, names):
    posterior = nb.fit(nb.Multinomial(), table, MOOD, feature_names=names)
    assert list(posterior.summary().index[2:]) == SHOWN
    assert list(nb.mutual_information(posterior).index) == list(NAMES)
    assert {type(name) for name in posterior.model.schema.columns} == {str}
    expected = nb.fit(nb.Multinomial(), X, MOOD).predict_proba(X)
    for rows in (X, DENSE, FRAME, FRAME[NAMES[::-1]]):
        np.testing.assert_allclose(posterior.predict_proba(rows), expected, rtol=1e-12)


def test_models_and_errors_use_the_names():
    model = nb.NaiveBayes({"words": (nb.Multinomial(), ["good", "bad"])})
    posterior = nb.fit(model, X, MOOD, feature_names=NAMES)
    expected = nb.fit(model, FRAME, MOOD)
    np.testing.assert_array_equal(posterior.predict_proba(X), expected.predict_proba(FRAME))
    wrong = X.astype(float)
    wrong[2, list(NAMES).index("film")] = -1
    with pytest.raises(ValueError, match="column 'film', row 2: -1 is not a count"):
        nb.fit(nb.Multinomial(), wrong, MOOD, feature_names=NAMES)
    with pytest.raises(ValueError, match=r"column 'god' is not in X.*did you mean 'good'\?"):
        nb.fit(nb.NaiveBayes({"god": nb.Poisson()}), X, MOOD, feature_names=NAMES)


def test_update_and_files_keep_the_names(tmp_path):
    posterior = nb.fit(nb.Multinomial(), X, MOOD, feature_names=NAMES).update(X, MOOD)
    assert list(posterior.summary().index[2:]) == SHOWN
    pytest.importorskip("h5netcdf")
    posterior.save(tmp_path / "words.nc")
    loaded = nb.load(tmp_path / "words.nc")
    assert list(loaded.summary().index[2:]) == SHOWN
    np.testing.assert_array_equal(loaded.predict_proba(X), posterior.predict_proba(X))
    again = nb.fit(loaded.model, X, MOOD, feature_names=NAMES[::-1])  # a model of named columns finds them by name
    by_name = nb.fit(loaded.model, pd.DataFrame(DENSE, columns=NAMES[::-1]), MOOD)
    np.testing.assert_array_equal(again.predict_proba(FRAME), by_name.predict_proba(FRAME))


def test_plots_show_the_names():
    pytest.importorskip("matplotlib")
    figure = nb.mutual_information(nb.fit(nb.Multinomial(), X, MOOD, feature_names=NAMES)).plot()
    assert {text.get_text() for text in figure.axes[0].get_yticklabels()} == set(NAMES)


def test_batches_dask_and_samples_take_names():
    expected = nb.fit(nb.Multinomial(), X, MOOD)
    batches = [(X[:2], MOOD[:2]), (X[2:], MOOD[2:])]
    found = [nb.fit_batches(nb.Multinomial(), batches, feature_names=NAMES)]
    draws = expected.draws(num_chains=1, num_draws=2)
    given = nb.from_samples(nb.Multinomial(), draws, X=X, y=MOOD, feature_names=NAMES)
    assert given.model.schema.columns == tuple(NAMES)
    da = pytest.importorskip("dask.array")
    parts, labels = da.from_array(DENSE, chunks=(2, 7)), da.from_array(np.array(MOOD), chunks=2)
    found.append(nb.fit(nb.Multinomial(), parts, labels, feature_names=NAMES))
    for posterior in found:
        assert list(posterior.summary().index[2:]) == SHOWN
        np.testing.assert_allclose(posterior.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(found[1].predict_proba(parts).compute(), expected.predict_proba(X), rtol=1e-12)


def test_functions_of_a_check_get_the_kind_of_table_that_was_given():
    posterior = nb.fit(nb.Multinomial(), DENSE, MOOD, feature_names=NAMES)

    def first(table, labels):
        assert isinstance(table, np.ndarray)
        return float(table[:, 0].sum())

    assert len(nb.check(posterior, DENSE, MOOD, statistics=[first], num_replicates=3, key=0).table) == 1

    def named(table, labels):
        return float(table["awful"].sum())

    assert len(nb.check(posterior, FRAME, MOOD, statistics=[named], num_replicates=3, key=0).table) == 1


@pytest.mark.parametrize("name", [name for name in estimators.__all__ if name[0].isupper()])
def test_estimators_take_names(name):
    make = getattr(estimators, name)
    estimator = make(nb.Poisson()) if name == "NaiveBayesClassifier" else make()
    table = DENSE if name in {"CategoricalNB", "GaussianNB"} else X
    plain = make(nb.Poisson()) if name == "NaiveBayesClassifier" else make()
    if name == "GaussianNB":
        table = table + np.linspace(0, 1, table.size).reshape(table.shape)
    estimator.fit(table, MOOD, feature_names=NAMES)
    assert not hasattr(estimator, "feature_names_in_")
    assert estimator.posterior_.model.schema.columns == tuple(NAMES)
    np.testing.assert_array_equal(estimator.predict_proba(table), plain.fit(table, MOOD).predict_proba(table))
    estimator.partial_fit(table, MOOD).partial_fit(table, MOOD, feature_names=NAMES)
    assert estimator.posterior_.model.schema.columns == tuple(NAMES)
    with pytest.raises(ValueError, match=r"feature_names has 'plot', .* and the first batch had 'awful'"):
        estimator.partial_fit(table, MOOD, feature_names=NAMES[::-1])
    with pytest.raises(ValueError, match="feature_names has 3 names and X has 7 columns"):
        plain.fit(table, MOOD, feature_names=NAMES[:3])


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (NAMES[:3], ValueError, "feature_names has 3 names and X has 7 columns: give one name for each column"),
        ([*NAMES[:6], "good"], ValueError, "feature_names holds 'good' more than once"),
        ("awful", TypeError, "feature_names is 'awful': give a name for each column"),
        (7, TypeError, "feature_names is 7: give a name for each column"),
        (NAMES[:, None], TypeError, r"(?s)feature_names is .* give a name for each column"),
    ],
    ids=["length", "twice", "text", "number", "two dimensions"],
)
def test_wrong_names(names, error, message):
    for fit in (
        lambda: nb.fit(nb.Multinomial(), X, MOOD, feature_names=names),
        lambda: nb.fit_batches(nb.Multinomial(), [(X, MOOD)], feature_names=names),
        lambda: estimators.MultinomialNB().fit(X, MOOD, feature_names=names),
    ):
        with pytest.raises(error, match=message):
            fit()


def test_names_beside_other_names():
    with pytest.raises(ValueError, match="feature_names has 'plot' where X has the column 'awful': leave"):
        nb.fit(nb.Multinomial(), FRAME, MOOD, feature_names=NAMES[::-1])
    bound = nb.fit(nb.Multinomial(), X, MOOD).model
    with pytest.raises(ValueError, match=r"bound to a table without names: fit model\.description"):
        nb.fit(bound, X, MOOD, feature_names=NAMES)
    assert nb.fit(bound.description, X, MOOD, feature_names=NAMES).model.schema.named


def test_many_words_stay_fast():
    """Reading the names of 50,000 columns takes less than a second, and not some seconds."""
    counts = sp.random_array((500, 50_000), density=0.001, format="csr", rng=np.random.default_rng(0))
    counts.data[:] = 1.0
    names = np.array([f"word{j}" for j in range(50_000)], dtype=object)
    start = time.process_time()
    posterior = nb.fit(nb.Multinomial(), counts, np.arange(500) % 2, feature_names=names)
    posterior.predict_proba(counts)
    posterior.update(counts, np.arange(500) % 2)
    assert time.process_time() - start < 2.0


def test_the_question_for_the_name_that_was_meant_shows_its_type():
    X, y = pd.DataFrame(np.ones((4, 2))), [0, 1, 0, 1]
    with pytest.raises(ValueError, match=r"column '1', which the table lacks \(did you mean 1\?\)"):
        nb.NaiveBayes.from_frame(X, y, exclude=["1"])
