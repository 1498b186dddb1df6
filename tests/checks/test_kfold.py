"""Cross-validation of models by any inference."""

from dataclasses import dataclass, field

import arviz as az
import jax
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.sparse

import bayesnb as nb
from bayesnb.checks.kfold import kfold
from bayesnb.core.checking import warn
from bayesnb.model.reading import Chunks

Y = np.array(["p", "q"])[np.random.default_rng(1).integers(0, 2, 40)]
X = np.random.default_rng(2).poisson(np.where(Y == "q", 3.0, 1.5)[:, None], (40, 4))
FOLDS = np.array(["one", "two", "three"])[np.random.default_rng(3).integers(0, 3, 40)]


@dataclass(frozen=True)
class Stub(nb.Exact):
    """The closed form, which records its keys and settings and warns as it is told."""

    progress: bool | None = False
    seen: list = field(default_factory=list)
    warns: dict = field(default_factory=dict)
    fails: int | None = None

    def fit(self, problem, *, key=0):
        number = len(self.seen)
        self.seen.append((np.asarray(jax.random.key_data(key)).tolist(), self.progress))
        for message, category in self.warns.get(number, []):
            warn(message, category)
        if number == self.fails:
            raise ValueError("there is no estimate")
        posterior = nb.Exact().fit(problem)
        posterior.inference = self
        return posterior


def by_refitting(model, inference, weights=None, **options):
    """The log score of each row under a fit to the rows of the other folds."""
    bound = nb.NaiveBayes(model).bind(X, Y) if isinstance(model, nb.families.Family) else model.bind(X, Y)
    found = np.empty(40)
    for name in np.unique(FOLDS):
        out = np.isin(FOLDS, name)
        rest = ~out
        weight = None if weights is None else weights[rest]
        fitted = nb.fit(bound, X[rest], Y[rest], inference, sample_weight=weight, **options)
        codes = np.searchsorted(fitted.classes, Y[out])
        found[out] = fitted.predict_log_proba(X[out])[np.arange(out.sum()), codes]
    return found


@pytest.mark.parametrize(
    ("model", "inference"),
    [
        (nb.Poisson(), None),
        (nb.NaiveBayes(nb.Gaussian(), class_probs="empirical"), nb.Exact()),
        (nb.Poisson(2.0, 1.0), nb.MAP()),
        (nb.Multinomial(), nb.MLE()),
        (nb.DirichletMultinomial(), nb.MAP()),
        (nb.NaiveBayes(nb.Poisson(), feature_inclusion=0.5), nb.Exact()),
        pytest.param(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0), nb.EmpiricalBayes(), marks=pytest.mark.slow),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_is_fitted_without_each_fold(model, inference, weighted):
    weights = np.random.default_rng(4).integers(1, 4, 40).astype(float) if weighted else None
    found = kfold(model, X, Y, inference=inference, folds=FOLDS, sample_weight=weights)
    expected = by_refitting(model, inference, weights)
    tolerance = 1e-4 if isinstance(inference, nb.EmpiricalBayes) else 1e-8
    np.testing.assert_allclose(found.elpd_i, expected, rtol=0, atol=tolerance)
    assert found.elpd == pytest.approx(expected.sum(), abs=40 * tolerance)
    assert found.n_folds == 3
    fitted = nb.fit(model, X, Y, inference, sample_weight=weights)
    inside = fitted.predict_log_proba(X)[np.arange(40), np.searchsorted(fitted.classes, Y)]
    assert found.p == pytest.approx(inside.sum() - expected.sum(), abs=40 * tolerance)


@pytest.mark.parametrize(
    "inference",
    [nb.Gibbs(num_samples=1000), pytest.param(nb.NUTS(num_samples=1000), marks=pytest.mark.slow)],
    ids=lambda value: type(value).__name__,
)
def test_draws_score_as_the_closed_form_does(inference):
    exact = kfold(nb.Poisson(), X, Y, folds=FOLDS)
    drawn = kfold(nb.Poisson(), X, Y, inference=inference, folds=FOLDS)
    np.testing.assert_allclose(drawn.elpd_i, exact.elpd_i, rtol=0, atol=0.06)
    assert (np.asarray(drawn.elpd_i) != np.asarray(exact.elpd_i)).all()
    assert drawn.elpd == pytest.approx(exact.elpd, abs=0.2)


def test_a_model_and_its_posterior_have_one_score():
    expected = kfold(nb.fit(nb.Poisson(), X, Y), X, Y, k=4, key=5)
    found = kfold(nb.Poisson(), X, Y, k=4, key=5)
    np.testing.assert_allclose(found.elpd_i, expected.elpd_i, rtol=0, atol=1e-12)
    assert found.elpd != kfold(nb.Poisson(), X, Y, k=4, key=6).elpd


def test_models_of_one_key_have_the_same_folds():
    found = {name: kfold(model, X, Y, k=5, key=2) for name, model in {"a": nb.Poisson(), "b": nb.Multinomial()}.items()}
    table = az.compare(found, round_to="none")
    difference = np.asarray(found["a"].elpd_i) - np.asarray(found["b"].elpd_i)
    assert table["elpd_diff"].abs().max() == pytest.approx(abs(difference.sum()))


def test_each_fit_has_a_key_of_its_own():
    one, again, other = Stub(), Stub(), Stub()
    for stub, key in ((one, 3), (again, 3), (other, 4)):
        kfold(nb.Poisson(), X, Y, inference=stub, folds=FOLDS, key=key)
    keys = [[tuple(key) for key, _ in stub.seen] for stub in (one, again, other)]
    assert keys[0] == keys[1]
    assert len(keys[0]) == len(set(keys[0])) == 4
    assert not set(keys[0]) & set(keys[2])


def test_one_convergence_warning_names_the_folds():
    def not_converged(number):
        return [(f"R-hat is 1.{number}", nb.ConvergenceWarning)]

    stub = Stub(warns={0: not_converged(0), 1: not_converged(1)})
    with pytest.warns(UserWarning, match="kfold") as caught:
        kfold(nb.Poisson(), X, Y, inference=stub, folds=FOLDS)
    (one,) = caught
    assert str(one.message) == "kfold, fits without fold one and to all rows: the first says: R-hat is 1.0"
    assert one.category.__name__ == "ConvergenceWarning"
    assert one.filename == __file__


def test_other_warnings_are_issued_once_each():
    stub = Stub(warns={1: [("few rows", UserWarning)], 2: [("few rows", UserWarning), ("no spread", UserWarning)]})
    with pytest.warns(UserWarning, match="kfold") as caught:
        kfold(nb.Poisson(), X, Y, inference=stub, folds=FOLDS)
    assert sorted(str(one.message) for one in caught) == [
        "kfold, fit without fold three: no spread",
        "kfold, fits without folds one, three: few rows",
    ]


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (False, False), (None, False)])
def test_the_progress_bar_is_that_of_the_folds(progress, shown, capsys):
    stub = Stub(progress=progress)
    kfold(nb.Poisson(), X, Y, inference=stub, folds=FOLDS)
    assert ("kfold: 100%" in capsys.readouterr().err) is shown
    assert [asked for _, asked in stub.seen] == [progress, False, False, False]


def test_rows_are_scored_in_pieces(monkeypatch):
    expected = kfold(nb.Poisson(), X, Y, folds=FOLDS)
    pieces = [slice(start, min(start + 3, 40)) for start in range(0, 40, 3)]
    monkeypatch.setattr(Chunks, "slices", property(lambda self: pieces))
    found = kfold(nb.Poisson(), X, Y, folds=FOLDS)
    np.testing.assert_allclose(found.elpd_i, expected.elpd_i, rtol=0, atol=1e-12)
    sparse = kfold(nb.Multinomial(), scipy.sparse.csr_array(X), Y, folds=FOLDS)
    np.testing.assert_allclose(sparse.elpd_i, kfold(nb.Multinomial(), X, Y, folds=FOLDS).elpd_i, rtol=0, atol=1e-10)


def test_a_row_that_an_estimate_makes_impossible_gets_the_class_probabilities():
    flags = np.zeros((6, 1))
    flags[0] = 1
    y = ["a", "a", "a", "b", "b", "b"]
    folds = [0, 1, 2, 1, 2, 1]
    with pytest.warns(UserWarning, match=r"^row 0: the estimate from the other rows is exactly 0 or 1") as caught:
        found = kfold(nb.Bernoulli(), flags, y, inference=nb.MLE(), folds=folds)
    assert len(caught) == 1
    assert float(found.elpd_i[0]) == pytest.approx(np.log(2 / 5))
    assert found.warning


def test_a_row_that_is_impossible_in_another_class_has_its_own_score():
    flags, y, folds = np.array([[0], [0], [0], [1], [0], [1]]), ["a", "a", "a", "b", "b", "b"], [0, 1, 0, 0, 1, 1]
    found = kfold(nb.Bernoulli(), flags, y, inference=nb.MLE(), folds=folds)
    assert float(found.elpd_i[3]) == 0.0


def test_what_a_fold_lacks_is_named():
    with pytest.raises(ValueError, match=r"^without fold two: there is no estimate"):
        kfold(nb.Poisson(), X, Y, inference=Stub(fails=3), folds=FOLDS)
    with pytest.raises(ValueError, match=r"^without fold p: .*class 'p': the maximum likelihood estimate"):
        kfold(nb.Poisson(), X, Y, inference=nb.MLE(), folds=Y)


def test_a_comparison_names_the_call():
    bursty = nb.fit(nb.DirichletMultinomial(), X, Y, nb.MAP())
    notes = nb.compare_models({"plain": nb.Multinomial(), "bursty": bursty}, X, Y).notes
    call = "bursty: nb.kfold(model, X, y, inference=nb.MAP()) scores its predictions of rows that it was not fitted to."
    assert notes.count(call) == 1
    assert not [note for note in notes if note.startswith("plain")]
