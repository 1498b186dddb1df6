"""Cross-validation of models by any inference."""

from dataclasses import dataclass, field

import arviz as az
import jax
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.sparse
from cases import Exponential
from refitting import at
from slow import names_fast
from trees import FEATURES, trees

import bayesnb as nb
from bayesnb.core.checking import warn
from bayesnb.model.reading import Chunks

Y = np.array(["p", "q"])[np.random.default_rng(1).integers(0, 2, 40)]
X = np.random.default_rng(2).poisson(np.where(Y == "q", 3.0, 1.5)[:, None], (40, 4))
FOLDS = np.array(["one", "two", "three"])[np.random.default_rng(3).integers(0, 3, 40)]


@dataclass(frozen=True)
class Stub(nb.Exact):
    """The closed form, which records its keys, settings and rows of each class, and warns as it is told."""

    progress: bool | None = False
    seen: list = field(default_factory=list)
    warns: dict = field(default_factory=dict)
    fails: int | None = None

    def fit(self, problem, *, key=0):
        number = len(self.seen)
        self.seen.append((tuple(jax.random.key_data(key).tolist()), self.progress, problem.statistics.classes.n))
        for message, category in self.warns.get(number, []):
            warn(message, category)
        if number == self.fails:
            raise ValueError("there is no estimate")
        posterior = nb.Exact().fit(problem)
        posterior.inference = self
        return posterior


def of_counts():
    return X, Y


def of_trees():
    return trees(np.random.default_rng(5), 40)


def of_ones():
    return (X > 2).astype(int), Y


def of_waits():
    return X + 0.5, Y


FOLLOWING = {"class_probs": "empirical"}
MODELS = {
    "counts": (of_counts, nb.Poisson(), None),
    "measurements": (of_counts, nb.NaiveBayes(nb.Gaussian(), **FOLLOWING), nb.Exact()),
    "trees": (of_trees, nb.NaiveBayes(FEATURES | {"size": (nb.Gaussian(), ["height", "width"])}, **FOLLOWING), None),
    "outside": (of_waits, nb.NaiveBayes(Exponential(), **FOLLOWING), None),
    "averaged": (of_counts, nb.NaiveBayes(nb.Gaussian(), feature_inclusion=0.4, **FOLLOWING), nb.Exact()),
    "mode": (of_counts, nb.Poisson(2.0, 1.0), nb.MAP()),
    "likelihood": (of_counts, nb.Multinomial(), nb.MLE()),
    "bursts": (of_counts, nb.DirichletMultinomial(), nb.MAP()),
    "maxima": (of_ones, nb.Bernoulli(dist.Gamma(2.0, 1.0), 1.5), nb.EmpiricalBayes()),
}


@pytest.mark.parametrize("name", names_fast(MODELS, MODELS.keys() - {"maxima"}))
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_model_is_fitted_without_each_fold(name, weighted):
    table, model, inference = MODELS[name]
    table, y = table()
    weights = np.random.default_rng(4).integers(1, 4, 40).astype(float) if weighted else None
    found = nb.kfold(model, table, y, inference=inference, folds=FOLDS, sample_weight=weights)
    bound = (nb.NaiveBayes(model) if isinstance(model, nb.families.Family) else model).bind(table, y)
    whole = nb.fit(bound, table, y, inference, sample_weight=weights)
    codes, expected = np.searchsorted(whole.classes, y), np.empty(40)
    for fold in np.unique(FOLDS):
        out, rest = np.flatnonzero(fold == FOLDS), np.flatnonzero(fold != FOLDS)
        weight = None if weights is None else weights[rest]
        fitted = nb.fit(bound, at(table, rest), y[rest], inference, sample_weight=weight)
        expected[out] = fitted.predict_log_proba(at(table, out))[np.arange(len(out)), codes[out]]
    tolerance = 1e-4 if name == "maxima" else 1e-8
    inside = whole.predict_log_proba(table)[np.arange(40), codes]
    np.testing.assert_allclose(found.elpd_i, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.p_kfold_i, inside - expected, rtol=0, atol=tolerance)
    assert found.elpd == pytest.approx(expected.sum(), abs=40 * tolerance)
    assert found.p == pytest.approx(inside.sum() - expected.sum(), abs=40 * tolerance)
    assert found.n_folds == 3
    if isinstance(inference, nb.Exact | nb.EmpiricalBayes | None):  # whose own inference a posterior runs again
        of_posterior = nb.kfold(whole, table, y, folds=FOLDS, sample_weight=weights)
        np.testing.assert_allclose(of_posterior.elpd_i, found.elpd_i, rtol=0, atol=1e-2 * tolerance)


@pytest.mark.parametrize(
    "inference",
    [nb.Gibbs(num_samples=1000), pytest.param(nb.NUTS(num_samples=1000), marks=pytest.mark.slow)],
    ids=lambda value: type(value).__name__,
)
def test_draws_score_as_the_closed_form_does(inference):
    exact = nb.kfold(nb.Poisson(), X, Y, folds=FOLDS)
    drawn = nb.kfold(nb.Poisson(), X, Y, inference=inference, folds=FOLDS)
    np.testing.assert_allclose(drawn.elpd_i, exact.elpd_i, rtol=0, atol=0.06)
    assert (np.asarray(drawn.elpd_i) != np.asarray(exact.elpd_i)).all()
    assert drawn.elpd == pytest.approx(exact.elpd, abs=0.2)


def test_folds_are_balanced_within_each_class_and_those_of_the_key():
    """The folds show in the statistics of what is left."""
    y = np.repeat(["a", "b", "c"], [23, 40, 7])
    seen, rows = [], np.arange(70.0)[:, None]
    found = [nb.kfold(nb.Gaussian(), rows, y, inference=Stub(seen=seen), k=4, key=key) for key in (0, 0, 1)]
    for whole, *rest in np.array([number for *_, number in seen]).reshape(3, 5, 3):
        left_out = whole - rest
        assert (np.ptp(left_out, axis=0) <= 1).all()
        assert np.ptp(left_out.sum(axis=1)) <= 1
        assert (left_out.sum(axis=0) == [23, 40, 7]).all()
    assert found[0].elpd == found[1].elpd != found[2].elpd


def test_models_of_one_key_have_the_same_folds():
    models = {"a": nb.Poisson(), "b": nb.Multinomial(), "posterior": nb.fit(nb.Poisson(), X, Y)}
    found = {name: nb.kfold(model, X, Y, k=5, key=2) for name, model in models.items()}
    np.testing.assert_allclose(found["a"].elpd_i, found.pop("posterior").elpd_i, rtol=0, atol=1e-12)
    difference = np.asarray(found["a"].elpd_i) - np.asarray(found["b"].elpd_i)
    table = az.compare(found, round_to="none")
    assert table["elpd_diff"].abs().max() == pytest.approx(abs(difference.sum()))


def test_each_fit_has_a_key_of_its_own():
    one, again, other = Stub(), Stub(), Stub()
    for stub, key in ((one, 3), (again, 3), (other, 4)):
        nb.kfold(nb.Poisson(), X, Y, inference=stub, folds=FOLDS, key=key)
    keys = [[key for key, *_ in stub.seen] for stub in (one, again, other)]
    assert keys[0] == keys[1]
    assert len(keys[0]) == len(set(keys[0])) == 4
    assert not set(keys[0]) & set(keys[2])


LATE = ("R-hat is 1.0", nb.ConvergenceWarning), ("R-hat is 1.1", nb.ConvergenceWarning)


FEW, FLAT = ("few rows", UserWarning), ("no spread", UserWarning)


@pytest.mark.parametrize(
    ("warns", "expected"),
    [
        ({0: LATE[:1], 1: LATE[1:]}, ["fit to all rows, without fold one: the first says: R-hat is 1.0"]),
        (
            {1: [FEW], 2: [FEW, FLAT]},
            ["fit without fold one, without fold three: few rows", "fit without fold three: no spread"],
        ),
    ],
)
def test_warnings_name_the_folds_and_are_issued_once(warns, expected):
    with pytest.warns(UserWarning, match="kfold") as caught:
        nb.kfold(nb.Poisson(), X, Y, inference=Stub(warns=warns), folds=FOLDS)
    assert sorted(str(one.message) for one in caught) == [f"kfold, {words}" for words in expected]
    assert {one.filename for one in caught} == {__file__}
    assert issubclass(caught[0].category, nb.ConvergenceWarning) == (0 in warns)


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (False, False), (None, False)])
def test_the_progress_bar_is_that_of_the_folds(progress, shown, capsys):
    stub = Stub(progress=progress)
    nb.kfold(nb.Poisson(), X, Y, inference=stub, folds=FOLDS)
    assert ("kfold: 100%" in capsys.readouterr().err) is shown
    assert [asked for _, asked, _ in stub.seen] == [progress, False, False, False]


def test_rows_are_scored_in_pieces(monkeypatch):
    expected = nb.kfold(nb.Poisson(), X, Y, folds=FOLDS)
    pieces = [slice(start, min(start + 3, 40)) for start in range(0, 40, 3)]
    monkeypatch.setattr(Chunks, "slices", property(lambda self: pieces))
    found = nb.kfold(nb.Poisson(), X, Y, folds=FOLDS)
    np.testing.assert_allclose(found.elpd_i, expected.elpd_i, rtol=0, atol=1e-12)
    sparse = nb.kfold(nb.Multinomial(), scipy.sparse.csr_array(X), Y, folds=FOLDS)
    np.testing.assert_allclose(sparse.elpd_i, nb.kfold(nb.Multinomial(), X, Y, folds=FOLDS).elpd_i, rtol=0, atol=1e-10)


def test_a_row_that_an_estimate_makes_impossible_gets_the_class_probabilities():
    flags, y = np.array([[1], [0], [0], [0], [0], [0]]), ["a", "a", "a", "b", "b", "b"]
    with pytest.warns(UserWarning, match=r"^row 0: the estimate from the other rows is exactly 0 or 1") as caught:
        found = nb.kfold(nb.Bernoulli(), flags, y, inference=nb.MLE(), folds=[0, 1, 2, 1, 2, 1])
    assert len(caught) == 1
    assert float(found.elpd_i[0]) == pytest.approx(np.log(2 / 5))
    assert found.warning
    # Impossible in another class alone, a row has its own score.
    flags = np.array([[0], [0], [0], [1], [0], [1]])
    found = nb.kfold(nb.Bernoulli(), flags, y, inference=nb.MLE(), folds=[0, 1, 0, 0, 1, 1])
    assert float(found.elpd_i[3]) == 0.0


def test_what_a_fold_lacks_is_named():
    with pytest.raises(ValueError, match=r"^without fold two: there is no estimate"):
        nb.kfold(nb.Poisson(), X, Y, inference=Stub(fails=3), folds=FOLDS)
    with pytest.raises(ValueError, match=r"^without fold p: .*class 'p': the maximum likelihood estimate"):
        nb.kfold(nb.Poisson(), X, Y, inference=nb.MLE(), folds=Y)


def test_a_comparison_names_the_call():
    bursty = nb.fit(nb.DirichletMultinomial(), X, Y, nb.MAP())
    notes = nb.compare_models({"plain": nb.Multinomial(), "bursty": bursty}, X, Y).notes
    call = "bursty: nb.kfold(model, X, y, inference=nb.MAP()) scores its predictions of rows that it was not fitted to."
    assert notes.count(call) == 1
    assert not [note for note in notes if note.startswith("plain")]
