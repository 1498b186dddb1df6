"""A verb wraps its table once and reads its labels once."""

import numpy as np
import pytest
import scipy.sparse

import bayesnb as nb
from bayesnb.data.labels import Labels
from bayesnb.data.read import as_table
from bayesnb.estimators import BernoulliNB

ROWS = 60


@pytest.fixture
def flags(rng):
    return scipy.sparse.csc_array((rng.uniform(size=(ROWS, 8)) < 0.3).astype(float))


@pytest.fixture
def answers(rng):
    return ["a", "b", "c"] * (ROWS // 3)


@pytest.fixture
def conversions(monkeypatch):
    """Every CSC array that is converted, and the length of all labels that are encoded."""
    seen = {"csr": 0, "codes": []}
    convert, encode = scipy.sparse.csc_array.tocsr, Labels.codes

    def tocsr(self, *args, **options):
        seen["csr"] += 1
        return convert(self, *args, **options)

    def codes(self, *args, **options):
        seen["codes"].append(len(self.values))
        return encode(self, *args, **options)

    monkeypatch.setattr(scipy.sparse.csc_array, "tocsr", tocsr)
    monkeypatch.setattr(Labels, "codes", codes)
    return seen


FITS = {
    "fit": (lambda X, y: nb.fit(nb.Bernoulli(), X, y), 1),
    "weights": (lambda X, y: nb.fit(nb.Bernoulli(), X, y, sample_weight=np.full(ROWS, 2.0)), 1),
    "a row without a label": (lambda X, y: nb.fit(nb.Bernoulli(), X, [None, *y[1:]], nb.MAP()), 1),
    "a batch": (lambda X, y: nb.fit_batches(nb.Bernoulli(), iter([(X, y)]), classes=["a", "b", "c"]), 1),
    # The classes are found in a reading of its own.
    "a batch, its classes unknown": (lambda X, y: nb.fit_batches(nb.Bernoulli(), [(X, y)]), 2),
    "an estimator": (lambda X, y: BernoulliNB().fit(X, y), 1),
}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_converts_its_table_and_encodes_its_labels_once(flags, answers, conversions, name):
    fit, readings = FITS[name]
    fit(flags, answers)
    assert conversions == {"csr": readings, "codes": [ROWS]}


def test_later_verbs_convert_once(flags, answers, conversions):
    posterior = nb.fit(nb.Bernoulli(), flags, answers)
    verbs = {
        "predict_proba": lambda: posterior.predict_proba(flags),
        "proba_draws": lambda: posterior.proba_draws(flags, num_draws=5),
        "update": lambda: posterior.update(flags, answers),
        "to_datatree": lambda: posterior.to_datatree(flags, answers, num_draws=5),
        "loo": lambda: nb.loo(posterior, flags, answers),
        "kfold": lambda: nb.kfold(posterior, flags, answers, k=3),
        "calibration": lambda: nb.calibration(posterior, flags, answers, other=posterior),
        "compare_models": lambda: nb.compare_models({"one": posterior, "two": nb.Bernoulli(2.0, 2.0)}, flags, answers),
    }
    for name, verb in verbs.items():
        conversions["csr"] = 0
        verb()
        assert conversions["csr"] == 1, name


def test_batches_that_bring_categories_are_encoded_once(conversions):
    """The cells are encoded again with the new category, the labels are not."""
    first, second = ([["red"], ["blue"]], ["a", "b"]), ([["green"]], ["a"])
    posterior = nb.fit_batches(nb.Categorical(), iter([first, second]), classes=["a", "b"])
    assert posterior.model.schema.categories[0] == ("blue", "red", "green")
    assert conversions["codes"] == [2, 1]
    posterior.update([["black"]], ["b"])
    assert conversions["codes"] == [2, 1, 1]


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_cells_that_a_chosen_family_cannot_hold_are_missing_in_the_columns_that_are_named(kind):
    """In rows to predict and in later rows; in other columns, and if no family holds them, they are errors."""
    X = np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
    fitted = nb.fit(nb.NaiveBayes(nb.Poisson(1.0, 1.0), outside_is_missing=[0]), kind(X), [0, 1, 0, 1])
    strange, holed = (np.array([[1.0, 1.0], [cell, 3.0]]) for cell in (-2.0, np.nan))
    words = r"count as missing: 1 in column 0, such as -2, which is not a count.* \(Poisson\)\."
    with pytest.warns(UserWarning, match=words):
        np.testing.assert_array_equal(fitted.predict_proba(kind(strange)), fitted.predict_proba(kind(holed)))
    with pytest.warns(UserWarning, match=words):
        assert fitted.update(kind(strange), [0, 1]).log_evidence == fitted.update(kind(holed), [0, 1]).log_evidence
    for row, column in (([1.0, -1.0], 1), ([-1.0, -1.0], 1), ([np.inf, 1.0], 0), ([-1e200, 1.0], 0)):
        with pytest.raises(ValueError, match=f"column {column}, row 1"):
            fitted.predict(kind(np.array([[1.0, 1.0], row])))
    with pytest.raises(ValueError, match="column 0, row 1"):
        nb.fit(fitted.model, kind(strange), [0, 1])
    words = nb.fit(nb.NaiveBayes(nb.Multinomial(), outside_is_missing=[0]), kind(X), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="column 0, row 1: -2 is not a count"):  # a vector lacks no count
        words.predict(kind(strange))


def test_rows_of_many_classes_are_computed_a_few_at_a_time(monkeypatch):
    """A prediction has a number for each class, which are many more than the cells of the row."""
    monkeypatch.setattr("bayesnb.data.tables.Table.chunk_cells", 300 * 64)
    X = np.random.default_rng(0).normal(size=(700, 1))
    posterior = nb.fit(nb.Gaussian(), X, np.arange(700) % 64)
    rows = []
    posterior.model.read(as_table(X)).each(lambda where, _: rows.append((where.start, where.stop)))
    assert sorted(rows) == [(0, 300), (300, 600), (600, 700)]
    few = nb.fit(nb.Gaussian(), X, np.arange(700) % 2).model.read(as_table(X))
    assert few.slices == [slice(0, 700)]


def test_a_row_alone_has_the_codes_that_it_has_among_others():
    """The categories of the first column are their codes, those of the second are not."""
    X = np.array([[0, 1], [1, 2], [1, 1], [0, 2]])
    posterior = nb.fit(nb.Categorical(), X, [0, 1, 0, 0])
    for row in range(4):
        np.testing.assert_allclose(posterior.log_joint(X[[row]]), posterior.log_joint(X)[[row]], rtol=1e-12)
