"""The fast ways beside the general ones, and several threads beside one."""

import threading
import time
import warnings

import jax
import numpy as np
import pytest
import scipy.sparse
from cases import CASES, CLASSES, with_holes
from scipy.special import gammaln
from threadpoolctl import threadpool_info

import bayesnb as nb
from bayesnb.checks import loo as leave_one_out
from bayesnb.families import gaussian
from bayesnb.families.multinomial import log_coefficient, sum_log_rising
from bayesnb.parallel import in_order
from bayesnb.schema import distinct

BY_NAME = {case.name: case for case in CASES}


def forms(case, x):
    """Cells in every form that the family takes."""
    yield x
    if case.name == "bernoulli":
        yield x.astype(bool)
    if case.name == "categorical":
        yield from (x.astype(np.int64), x.astype(np.uint8))
    if case.family.sparse:
        yield scipy.sparse.csr_array(x)
    if case.missing:
        yield with_holes(np.random.default_rng(3), x)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counting_by_class_equals_counting_by_weights(case, rng):
    codes = rng.integers(0, CLASSES, 700)
    for x in forms(case, case.cells(rng, 700)):
        fast = jax.tree.leaves(case.family.statistics_by_class(x, codes, CLASSES))
        general = jax.tree.leaves(case.family.statistics(x, np.eye(CLASSES)[codes]))
        for mine, other in zip(fast, general, strict=True):
            assert mine.dtype == np.float64
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mean", [0.0, 1e8])
@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_moments_by_class_keep_their_digits(rng, mean, holes):
    codes = rng.integers(0, 3, 5000)
    x = rng.normal(size=(5000, 100)) + mean * (1 + codes[:, None])
    x[rng.uniform(size=x.shape) < holes] = np.nan
    found = gaussian.moments_by_class(x, codes, 3)
    for c in range(3):
        of_class = x[codes == c].astype(np.longdouble)
        np.testing.assert_allclose(found.mean[c], np.nanmean(of_class, axis=0).astype(float), rtol=1e-15, atol=1e-15)
        np.testing.assert_allclose(found.variance[c], np.nanvar(of_class, axis=0).astype(float), rtol=1e-13)


@pytest.mark.parametrize("holes", [0.0, 0.01])
@pytest.mark.parametrize("equal_degrees", [True, False])
@pytest.mark.parametrize("columns", [103, 5])
def test_the_compiled_student_t_equals_the_plain_one(rng, monkeypatch, float64, holes, equal_degrees, columns):
    shape = 5, columns
    a = 1e3 + (0 if equal_degrees else rng.integers(0, 9, shape)) * np.ones(shape)
    family = nb.Gaussian(1e6 + rng.normal(size=shape), a, a, a * rng.gamma(1.0, 1.0, shape))
    x = 1e6 + 2 * rng.normal(size=(3000, columns))
    x[rng.uniform(size=x.shape) < holes] = np.nan
    monkeypatch.setattr(gaussian, "COMPILED_FROM", 2**40)
    plain = family.row_log_predictive(x)
    monkeypatch.setattr(gaussian, "COMPILED_FROM", 0)
    np.testing.assert_allclose(family.row_log_predictive(x), plain, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:overflow")
def test_the_compiled_student_t_leaves_what_overflows_to_the_plain_one(monkeypatch, float64):
    family = nb.Gaussian(*(np.full((2, 16), value) for value in (0.0, 1.0, 2.0, 1.0)))
    x = np.full((4, 16), 1e30)
    plain = family.row_log_predictive(x)
    monkeypatch.setattr(gaussian, "COMPILED_FROM", 0)
    assert np.isfinite(plain).all()
    np.testing.assert_allclose(family.row_log_predictive(x), plain, rtol=1e-13)


@pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", ["bernoulli", "categorical", "gaussian"])
def test_leaving_out_by_tables_equals_the_general_way(name, compiled, rng, monkeypatch):
    case = BY_NAME[name]
    X, y = case.cells(rng, 300), rng.integers(0, 2, 300)
    if compiled:
        monkeypatch.setattr(gaussian, "COMPILED_FROM", 0)
    for x in (X, with_holes(rng, X)):
        posterior = nb.fit(case.family, x, y)
        calls = []
        general = leave_one_out._given_the_rest
        monkeypatch.setattr(leave_one_out, "_given_the_rest", lambda *a, c=calls, g=general: (c.append(1), g(*a))[1])
        fast = nb.loo(posterior, x, y)
        assert not calls
        monkeypatch.setattr(type(case.family), "row_log_left_out", lambda *_: None)
        slow = nb.loo(posterior, x, y)
        assert calls
        monkeypatch.undo()
        np.testing.assert_allclose(fast.elpd_i.values, slow.elpd_i.values, rtol=0, atol=1e-11)


def test_an_outlier_that_makes_the_spread_is_left_out_the_general_way():
    X = np.r_[np.linspace(-1e-5, 1e-5, 50), 1e6][:, None]
    y = np.zeros(51, dtype=int)
    family = nb.Gaussian(0.0, 0.1, 1.0, 1.0)
    posterior = nb.fit(family, X, y)
    refit = nb.fit(posterior.model, X[:-1], y[:-1]).log_joint(X[-1:])[0, 0]
    joint = nb.loo_scores(posterior, X[-1:], y[-1:])["elpd_joint"]
    assert joint == pytest.approx(refit, rel=1e-9)


@pytest.mark.parametrize("unit", [1, 0.25], ids=["whole", "fractions"])
@pytest.mark.parametrize("largest", [1, 12, 40, 600])
def test_rising_factorials_of_documents(rng, unit, largest):
    x = rng.integers(1, largest + 1, (200, 30)) * (rng.random((200, 30)) < 0.3) * unit
    concentration = rng.uniform(0.1, 3.0, (4, 30))
    expected = (gammaln(concentration + x[:, None]) - gammaln(concentration)).sum(axis=-1)
    np.testing.assert_allclose(sum_log_rising(scipy.sparse.csr_array(x), concentration), expected, rtol=1e-11)
    coefficient = gammaln(x.sum(axis=1) + 1) - gammaln(x + 1).sum(axis=1)
    for form in (x, scipy.sparse.csr_array(x)):
        np.testing.assert_allclose(log_coefficient(form), coefficient, rtol=1e-11, atol=1e-11)


TABLES = {
    "bool": (nb.Bernoulli(), lambda rng: rng.random((3000, 40)) < 0.3),
    "float": (nb.Gaussian(), lambda rng: with_holes(rng, rng.normal(size=(3000, 40)), 0.01)),
    "codes": (nb.Categorical(), lambda rng: rng.integers(0, 7, (3000, 40))),
    "sparse": (nb.Multinomial(), lambda rng: scipy.sparse.csr_array(rng.poisson(0.2, (3000, 40)) * 9)),
}


@pytest.mark.parametrize("name", TABLES)
def test_threads_make_no_difference(rng, monkeypatch, name):
    family, make = TABLES[name]
    monkeypatch.setattr("bayesnb.schema.CHUNK_CELLS", 2**12)
    X, y = make(rng), rng.integers(0, 3, 3000)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("bayesnb.parallel.num_threads", lambda n=threads: n)
        posterior = nb.fit(family, X, y)
        found.append((posterior.problem.statistics, posterior.predict_proba(X), nb.loo(posterior, X, y).elpd_i.values))
    for other in found[1:]:
        for mine, theirs in zip(jax.tree.leaves(found[0]), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_the_first_wrong_row_is_named_whatever_the_threads(rng, monkeypatch):
    monkeypatch.setattr("bayesnb.schema.CHUNK_CELLS", 256)
    monkeypatch.setattr("bayesnb.parallel.num_threads", lambda: 3)
    X = rng.normal(size=(4000, 2))
    X[[700, 3000], 1] = np.inf
    with pytest.raises(ValueError, match="column 1, row 700: inf"):
        nb.fit(nb.Gaussian(), X, rng.integers(0, 2, 4000))


def test_unseen_categories_of_all_chunks_are_counted_once(rng, monkeypatch):
    monkeypatch.setattr("bayesnb.schema.CHUNK_CELLS", 256)
    posterior = nb.fit(nb.Categorical(), rng.integers(0, 3, (50, 2)), rng.integers(0, 2, 50))
    X = rng.integers(0, 3, (4000, 2))
    X[::1000, 0] = 9
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior.predict_proba(X)
    assert [str(warning.message)[:41] for warning in caught] == ["column 0: 4 cell(s) hold categories not se"[:41]]


def test_results_come_in_order_and_few_wait():
    started = []
    results = in_order(lambda item: (started.append(item), item)[1], range(200))
    assert next(results) == 0
    time.sleep(0.2)
    assert len(started) < 100
    assert list(results) == list(range(1, 200))


def test_threads_keep_precision_and_error_handling(monkeypatch):
    monkeypatch.setattr("bayesnb.parallel.num_threads", lambda: 2)
    with jax.enable_x64(True), np.errstate(divide="ignore"):
        found = list(in_order(lambda _: (jax.numpy.ones(1).dtype, np.log(np.zeros(1))[0]), range(4)))
    assert found == [(np.dtype(np.float64), -np.inf)] * 4


def test_blas_has_its_threads_back(monkeypatch):
    def blas():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    monkeypatch.setattr("bayesnb.parallel.num_threads", lambda: 2)
    before = blas()
    others = [threading.Thread(target=lambda: list(in_order(lambda _: blas(), range(8)))) for _ in range(3)]
    results = in_order(lambda _: blas(), range(20))
    assert set(next(results)) == {1}
    for other in others:
        other.start()
    assert all(set(counts) == {1} for counts in results)
    for other in others:
        other.join()
    assert blas() == before


@pytest.mark.parametrize("values", [[3, -2, 3, 0], [2**62 + 1, 2**62 + 1], [0, 2**40], [True, False], ["b", "a", "b"]])
def test_distinct_values_are_those_of_numpy(values):
    for array in (np.array(values), np.array(values)[:1]):
        found = distinct(array)
        np.testing.assert_array_equal(found, np.unique(array))
        assert found.dtype == array.dtype
    assert distinct(np.array([-128, 127, -128], dtype=np.int8)).tolist() == [-128, 127]
