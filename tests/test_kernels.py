"""The fast ways beside the general ones, and several threads beside one."""

import math
import os
import threading
import time
import warnings

import jax
import numpy as np
import pytest
import scipy.sparse
from cases import CASES, CLASSES, Exponential, with_holes
from scipy.special import gammaln, logsumexp
from threadpoolctl import threadpool_info, threadpool_limits

import bayesnb as nb
from bayesnb.checks import replicates, same_draws
from bayesnb.core.arrays import csr_pieces, csr_rows
from bayesnb.core.cells import LARGEST_NUMBER
from bayesnb.core.running import num_threads, results_in_order
from bayesnb.data.labels import read_labels
from bayesnb.data.tables import distinct
from bayesnb.estimators import MultinomialNB
from bayesnb.families import gaussian
from bayesnb.families import words as documents
from bayesnb.families.kernels import products_with
from bayesnb.families.statistics import Membership
from bayesnb.families.words import Documents, log_coefficient
from bayesnb.model.problem import Unlabelled
from bayesnb.model.reading import log_normalised, not_negative_up_to
from bayesnb.posterior.diagnostics import ess_of_mean, rhat_and_ess


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counting_by_class_equals_counting_by_weights(case, rng):
    codes = rng.integers(0, CLASSES, 700)
    for x in case.forms(case.cells(rng, 700)):
        fast = jax.tree.leaves(case.family.statistics(x, Membership.of(codes, None, CLASSES)))
        general = jax.tree.leaves(case.family.statistics(x, np.eye(CLASSES)[codes]))
        for mine, other in zip(fast, general, strict=True):
            assert mine.dtype == (np.int64 if other.dtype.kind == "i" else np.float64)
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def exact_moments(x):
    """Mean and variance of each column without its missing cells, from sums that are rounded once."""
    columns = [column[~np.isnan(column)] for column in x.T]
    means = [math.fsum(column) / len(column) for column in columns]
    away = [column - mean for column, mean in zip(columns, means, strict=True)]
    variances = [math.fsum(d * d) / len(d) - (math.fsum(d) / len(d)) ** 2 for d in away]
    return np.array(means), np.array(variances)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("mean", [0.0, 1e6, 1e8])
def test_moments_by_class_keep_their_digits(rng, mean, order):
    """Of classes far apart, one in two of them empty, with missing cells, a constant column and one without cells."""
    codes = 2 * rng.integers(0, 4, 3000)
    x = rng.normal(size=(3000, 40)) + mean * (1 + codes[:, None])
    x[rng.uniform(size=x.shape) < 0.1] = np.nan
    x[:, 0], x[codes == 4, 1] = 0.1, np.nan
    x = np.asarray(x, order=order)
    before = x.copy()
    found = nb.Gaussian().statistics(x, Membership.of(codes, None, 8))
    np.testing.assert_array_equal(x, before)
    for c in (0, 2, 4, 6):
        mean_of_class, variance = exact_moments(x[codes == c][:, 2:])
        np.testing.assert_allclose(found.mean[c, 2:], mean_of_class, rtol=1e-15, atol=1e-15)
        np.testing.assert_allclose(found.variance[c, 2:], variance, rtol=1e-13)
    assert (found.ssd[:, 0] == 0).all()
    np.testing.assert_array_equal(found.n, [(~np.isnan(x[codes == c])).sum(axis=0) for c in range(8)])
    assert found.n[4, 1] == 0


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_codes_of_every_type_of_integer_count_alike(rng, kind):
    X, y = rng.integers(0, 9, (300, 4)), rng.integers(0, 3, 300)
    posterior, plain = nb.fit(nb.Categorical(), X.astype(kind), y), nb.fit(nb.Categorical(), X.astype(float), y)
    totals = [fitted.problem.statistics.blocks[0].total for fitted in (posterior, plain)]
    np.testing.assert_array_equal(*totals)
    np.testing.assert_array_equal(posterior.predict_proba(X.astype(kind)), plain.predict_proba(X.astype(float)))


def test_negative_codes_are_unseen_categories(rng):
    X = rng.integers(0, 9, (300, 4))
    posterior = nb.fit(nb.Categorical(), X, rng.integers(0, 3, 300))
    X[7, 2] = -1
    with pytest.warns(UserWarning, match=r"column 2: 1 cell\(s\) hold categories not seen in training \(-1\)"):
        posterior.predict_proba(X)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_labels_of_a_short_range_are_found_like_any_other(rng, kind):
    least, largest = max(np.iinfo(kind).min, -(2**60)), min(np.iinfo(kind).max, 2**60)
    for start, far in ((least, largest), (largest - 9, least)):
        classes = (np.array([9, 2, 5, 0, 7]) + start).astype(kind)
        labels = classes[rng.integers(0, 5, 400)]
        np.testing.assert_array_equal(classes[read_labels(labels, 400).codes(classes)], labels)
        wide = np.array([least, least + 200]).astype(kind)
        assert read_labels(wide.repeat(200), 400).codes(wide).tolist() == [0] * 200 + [1] * 200
        for stranger in (start + 1, far):
            labels[77] = stranger
            with pytest.raises(ValueError, match=rf"label {stranger} \(row 77\)"):
                read_labels(labels, 400).codes(classes)


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


def test_documents_that_were_not_there_are_not_left_out(rng):
    X, y = rng.poisson(0.5, (40, 6)), np.arange(40) % 2
    X[y == 1, 5] = 0
    posterior = nb.fit(nb.Multinomial(3.0), X, y)
    for column in (4, 5):
        stranger = X.copy()
        stranger[3, column] = X[y == 1, column].sum() + 1
        with pytest.raises(ValueError, match="row 3"):
            nb.loo(posterior, stranger, y)
    alone = nb.fit(nb.Multinomial(), X[:3] + 1, [0, 1, 1])
    with pytest.raises(ValueError, match="row 0"):
        nb.loo(alone, np.add(X[:3], [[0], [1], [1]]), [0, 1, 1])


def test_an_outlier_that_makes_the_spread_is_left_out_the_general_way():
    X = np.r_[np.linspace(-1e-5, 1e-5, 50), 1e6][:, None]
    y = np.zeros(51, dtype=int)
    family = nb.Gaussian(0.0, 0.1, 1.0, 1.0)
    posterior = nb.fit(family, X, y)
    refit = nb.fit(posterior.model, X[:-1], y[:-1]).log_joint(X[-1:])[0, 0]
    joint = nb.loo_scores(posterior, X[-1:], y[-1:])["elpd_joint"]
    assert joint == pytest.approx(refit, rel=1e-9)


def drawn_documents(largest, unit=1.0):
    rng = np.random.default_rng(2)
    return rng.integers(1, largest + 1, (200, 30)) * (rng.random((200, 30)) < 0.3) * unit


DOCUMENTS = {
    **{f"up to {largest}": drawn_documents(largest) for largest in (1, 12, 40, 600)},
    **{f"quarters up to {largest}": drawn_documents(largest, 0.25) for largest in (1, 40)},
    "one row of long counts": np.full((1, 40), 50),
    "rows of short and long counts": np.random.default_rng(0).choice([0, 1, 1, 2, 3, 7, 30, 300], (200, 6)),
    "ones": np.eye(6, dtype=int),
    "no words": np.zeros((3, 6), dtype=int),
    "halves": np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.5], (30, 6)),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_rising_factorials_of_documents(rng, name, monkeypatch):
    """Also in pieces."""
    counts = DOCUMENTS[name]
    concentration = rng.gamma(1.0, 3.0, (4, counts.shape[1]))
    sparse = scipy.sparse.csr_array(counts)
    found = Documents.of(sparse).sum_log_rising(concentration)
    expected = (gammaln(concentration + counts[:, None]) - gammaln(concentration)).sum(axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-11 if "up to" in name else 1e-12, atol=1e-12)
    coefficient = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    for form in (counts, sparse):
        np.testing.assert_allclose(log_coefficient(form), coefficient, rtol=1e-11, atol=1e-11)
    monkeypatch.setattr(documents, "PIECE_ENTRIES", 100)
    np.testing.assert_array_equal(Documents.of(sparse).sum_log_rising(concentration), found)


def test_an_impossible_word_counts_only_where_it_occurs():
    log_p = np.array([[-np.inf, -1.0], [np.nan, np.nan]])
    for form in (np.array, scipy.sparse.csr_array):
        np.testing.assert_array_equal(products_with(log_p)(form([[0.0, 3.0], [2.0, 0.0]]))[0], [-3.0, -np.inf])


def stored_in_parts(rng):
    """Counts, and the same with each entry as a sum of two in any order."""
    x = rng.integers(0, 5, (400, 30)).astype(float)
    x[[0, 200]] = 0.0
    whole = scipy.sparse.csr_array(x)
    columns = np.concatenate([rng.permutation(np.tile(row.nonzero()[0], 2)) for row in x]).astype(np.int32)
    rows = np.repeat(np.arange(400), 2 * np.diff(whole.indptr))
    return whole, scipy.sparse.csr_array((x[rows, columns] / 2, columns, 2 * whole.indptr), whole.shape)


@pytest.mark.parametrize(
    "family", [nb.Multinomial(), nb.DirichletMultinomial()], ids=lambda family: type(family).__name__
)
def test_entries_stored_in_parts_are_one_count(rng, family):
    whole, parts = stored_in_parts(rng)
    y = rng.integers(0, 3, 400)
    before = parts.copy()
    inference = nb.MAP() if isinstance(family, nb.DirichletMultinomial) else nb.Exact()
    expected, found = (nb.fit(family, x, y, inference) for x in (whole, parts))
    np.testing.assert_allclose(found.log_joint(parts), expected.log_joint(whole), rtol=1e-12)
    expected, found = (MultinomialNB().fit(x, y) for x in (whole, parts))
    np.testing.assert_allclose(found.predict_log_proba(parts), expected.predict_log_proba(whole))
    assert found.posterior_.log_evidence == pytest.approx(expected.posterior_.log_evidence)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(before, name))


def test_rows_of_a_sparse_array_are_not_copied(rng):
    x = scipy.sparse.csr_array(rng.poisson(0.5, (300, 20)).astype(float))
    pieces = list(csr_pieces(x, 700))
    assert len(pieces) > 3
    assert [row for piece in pieces for row in range(piece.start, piece.stop)] == list(range(300))
    for piece in pieces:
        rows = csr_rows(x, piece)
        assert np.shares_memory(rows.data, x.data)
        assert np.shares_memory(rows.indices, x.indices)
        np.testing.assert_array_equal(rows.toarray(), x[piece.start : piece.stop].toarray())


@pytest.mark.parametrize("wrong", [-1.0, -1e-320, np.nan, -np.nan, 1.001e150, np.inf, -np.inf])
def test_bits_of_numbers_that_are_no_counts(rng, wrong):
    x = rng.integers(0, 3, (30, 4)).astype(float)
    assert all(not_negative_up_to(LARGEST_NUMBER, cells) for cells in (x, x[:, ::2], x[:0]))
    x[7, 2] = wrong
    assert not not_negative_up_to(LARGEST_NUMBER, x)
    with np.errstate(over="ignore"):
        assert not not_negative_up_to(LARGEST_NUMBER, x.astype(np.float32))
    for form in (x, scipy.sparse.csr_array(x)):
        with pytest.raises(ValueError, match="column 2, row 7"):
            nb.fit(nb.Multinomial(fractional=True), form, np.arange(30) % 2)


def test_a_fraction_is_found_in_any_piece(rng):
    x = rng.integers(0, 3, (3000, 40)).astype(float)
    x[2999, 39] = 1.5
    for form in (x, scipy.sparse.csr_array(x)):
        with pytest.raises(ValueError, match=r"column 39, row 2999: 1\.5 is not a count"):
            nb.fit(nb.Multinomial(), form, np.arange(3000) % 2)


def test_a_negative_zero_is_a_zero():
    X, y = np.array([[1.0, -0.0], [0.0, 2.0]]), [0, 1]
    for form in (X, scipy.sparse.csr_array(([1.0, -0.0, 2.0], [0, 1, 1], [0, 2, 3]))):
        np.testing.assert_allclose(MultinomialNB().fit(form, y).predict_proba(form).sum(axis=1), 1.0)
        assert nb.fit(nb.Multinomial(), form, y).log_evidence == nb.fit(nb.Multinomial(), abs(form), y).log_evidence


def test_probabilities_are_normalised_row_by_row_in_pieces(rng):
    joint = rng.normal(size=(2, 3, 20_000, 4)) * 50
    np.testing.assert_allclose(log_normalised(joint), joint - logsumexp(joint, axis=-1, keepdims=True), atol=1e-12)
    assert log_normalised(joint[..., :0, :]).shape == (2, 3, 0, 4)


def _leaving_out(rng):
    X, y = rng.exponential(size=(30, 2)), np.arange(30) % 3
    return nb.loo(nb.fit(Exponential(), X, y), X, y).elpd_i.values


def _averaged_and_under_draws(rng):
    X, y = rng.exponential(size=(30, 2)), np.arange(30) % 3
    averaged = nb.fit(nb.NaiveBayes(Exponential(), feature_inclusion=0.4), X, y).log_joint(X)
    under_draws = [nb.fit(family, X.round(), y).log_joint_draws(X.round()) for family in (nb.Gaussian(), nb.Poisson())]
    return averaged, *under_draws


def _convergence(rng):
    draws = np.cumsum(rng.normal(size=(2, 40, 5)), axis=1)
    return *rhat_and_ess(draws), ess_of_mean(draws)


def _densities_of_draws(rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    exact = nb.fit(nb.Gaussian(), X, y)
    return same_draws.log_densities(exact, exact.closed_form.draw(rng, (2, 7)), same_draws.simulated_rows(exact, 0))


def _tests_of_marginals(rng):
    tests = same_draws.Evidence()
    tests.add_uniform("parameters", np.arange(5), rng.random((2, 40, 5)), 4, 0.1)
    return tests.z_by_test("parameters", same_draws.Z_COLUMNS)


def _information_of_counts(rng):
    rate = {"rate": rng.gamma(2.0, size=(9, 3, 2))}
    return nb.Poisson().mutual_information(rng.dirichlet(np.ones(3), 9)[..., None], rate)


def _rows_without_a_label(rng):
    x, membership = rng.normal(size=(600, 2)), rng.dirichlet(np.ones(3), 600)
    model = nb.fit(nb.Gaussian(), x, np.arange(600) % 3).model
    return model.count((x,), membership), Unlabelled((x,), np.ones(600)).count(model, membership)


def _trees_of_rows(rng):
    X, y = rng.integers(0, 3, (50, 3)), np.arange(50) % 2
    return nb.fit(nb.NaiveBayes(nb.AllTrees()), X, y).log_joint(X)


def _number_of_replicates(rng):
    exact = nb.fit(nb.Gaussian(), rng.normal(size=(30, 2)), np.arange(30) % 3)
    return [np.shape(one.class_prob) for one in replicates.draws(exact, 7, rng)]


def _tables_of_every_kind(rng):
    y = rng.integers(0, 3, 300)
    fits = [(nb.fit(family, make(rng)[:300], y), make(rng)[:300]) for family, make in TABLES.values()]
    return [(fitted.problem.statistics, fitted.log_joint(X), fitted.plugin().log_joint(X)) for fitted, X in fits]


IN_PIECES = {
    "bayesnb.data.tables.Table.chunk_cells": _tables_of_every_kind,
    "bayesnb.posterior.left_out.PIECE_CELLS": _leaving_out,
    "bayesnb.core.arrays.PIECE_CELLS": _averaged_and_under_draws,
    "bayesnb.posterior.diagnostics.PIECE_CELLS": _convergence,
    "bayesnb.checks.same_draws.IN_PIECES": _tests_of_marginals,
    "bayesnb.families.mutual_information.PIECE_CELLS": _information_of_counts,
    "bayesnb.families.all_trees.GRAPH_CELLS": _trees_of_rows,
    "bayesnb.model.problem.PIECE_CELLS": _rows_without_a_label,
    "bayesnb.posterior.under_draws.PARAMETER_CELLS": lambda rng: (_densities_of_draws(rng), _number_of_replicates(rng)),
}


@pytest.mark.parametrize("limit", IN_PIECES)
def test_what_is_computed_in_pieces_does_not_depend_on_their_size(limit, monkeypatch):
    found = []
    for cells in (2**26, 500, 60, 1):
        monkeypatch.setattr(limit, cells)
        found.append(jax.tree.leaves(IN_PIECES[limit](np.random.default_rng(5))))
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            np.testing.assert_allclose(theirs, mine, rtol=1e-12, atol=1e-12)


TABLES = {
    "bool": (nb.Bernoulli(), lambda rng: rng.random((3000, 40)) < 0.3),
    "float": (nb.Gaussian(), lambda rng: with_holes(rng, rng.normal(size=(3000, 40)), 0.01)),
    "codes": (nb.Categorical(), lambda rng: rng.integers(0, 7, (3000, 40))),
    "sparse": (nb.Multinomial(), lambda rng: scipy.sparse.csr_array(rng.poisson(0.2, (3000, 40)) * 9)),
}


@pytest.mark.parametrize("name", TABLES)
def test_threads_make_no_difference(rng, monkeypatch, name):
    family, make = TABLES[name]
    monkeypatch.setattr("bayesnb.data.tables.Table.chunk_cells", 2**12)
    X, y = make(rng), rng.integers(0, 3, 3000)
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("bayesnb.core.running.num_threads", lambda n=threads: n)
        posterior = nb.fit(family, X, y)
        found.append((posterior.problem.statistics, posterior.predict_proba(X), nb.loo(posterior, X, y).elpd_i.values))
    for other in found[1:]:
        for mine, theirs in zip(jax.tree.leaves(found[0]), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_the_first_wrong_row_is_named_whatever_the_threads(rng, monkeypatch):
    monkeypatch.setattr("bayesnb.data.tables.Table.chunk_cells", 256)
    monkeypatch.setattr("bayesnb.core.running.num_threads", lambda: 3)
    X = rng.normal(size=(4000, 2))
    X[[700, 3000], 1] = np.inf
    with pytest.raises(ValueError, match="column 1, row 700: inf"):
        nb.fit(nb.Gaussian(), X, rng.integers(0, 2, 4000))


def test_unseen_categories_of_all_chunks_are_counted_once(rng, monkeypatch):
    monkeypatch.setattr("bayesnb.data.tables.Table.chunk_cells", 256)
    posterior = nb.fit(nb.Categorical(), rng.integers(0, 3, (50, 2)), rng.integers(0, 2, 50))
    X = rng.integers(0, 3, (4000, 2))
    X[::1000, 0] = 9
    with warnings.catch_warnings(record=True, action="always") as caught:
        posterior.predict_proba(X)
    assert [str(warning.message)[:41] for warning in caught] == ["column 0: 4 cell(s) hold categories not se"[:41]]


def test_after_an_error_the_others_are_told_to_stop(monkeypatch):
    monkeypatch.setattr("bayesnb.core.running.num_threads", lambda: 2)
    stopped, began = threading.Event(), threading.Event()

    def run(item):
        if item == 0:
            began.wait(60)
            raise KeyboardInterrupt
        began.set()
        assert stopped.wait(60)

    with pytest.raises(KeyboardInterrupt):
        list(results_in_order(run, range(2), stop=stopped.set))
    assert stopped.is_set()


def test_results_come_in_order_and_few_wait():
    started = []
    results = results_in_order(lambda item: (started.append(item), item)[1], range(200))
    assert next(results) == 0
    time.sleep(0.2)
    assert len(started) < 100
    assert list(results) == list(range(1, 200))


def test_threads_keep_precision_error_handling_and_the_default_device(monkeypatch):
    monkeypatch.setattr("bayesnb.core.running.num_threads", lambda: 2)
    device = jax.devices("cpu")[0]

    def settings(_):
        return jax.numpy.ones(1).dtype, np.log(np.zeros(1))[0], jax.config.jax_default_device

    with jax.enable_x64(True), np.errstate(divide="ignore"), jax.default_device(device):
        assert list(results_in_order(settings, range(4))) == [(np.dtype(np.float64), -np.inf, device)] * 4


def test_blas_has_its_threads_back(monkeypatch):
    def blas():
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    monkeypatch.setattr("bayesnb.core.running.num_threads", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        others = [threading.Thread(target=lambda: list(results_in_order(lambda _: blas(), range(8)))) for _ in range(3)]
        results = results_in_order(lambda _: blas(), range(20))
        assert set(next(results)) == {1}
        for other in others:
            other.start()
        assert all(set(counts) == {1} for counts in results)
        for other in others:
            other.join()
        assert set(blas()) == {2}


@pytest.mark.parametrize("values", [[3, -2, 3, 0], [2**62 + 1, 2**62 + 1], [0, 2**40], [True, False], ["b", "a", "b"]])
def test_distinct_values_are_those_of_numpy(values):
    for array in (np.array(values), np.array(values)[:1]):
        found = distinct(array)
        np.testing.assert_array_equal(found, np.unique(array))
        assert found.dtype == array.dtype
    assert distinct(np.array([-128, 127, -128], dtype=np.int8)).tolist() == [-128, 127]


def test_a_sparse_column_of_ones_under_maximum_likelihood():
    X, y = np.array([[1, 0], [1, 1], [0, 1], [1, 0]]), ["a", "a", "b", "b"]
    point = nb.fit(nb.Bernoulli(), X, y, nb.MLE())
    found = point.log_joint(scipy.sparse.csr_array(X))
    # In class a every row has a one in the first column: the log probability of a zero there is -inf.
    assert found[:, 0].tolist() == [np.log(0.25), np.log(0.25), -np.inf, np.log(0.25)]
    np.testing.assert_array_equal(found, point.log_joint(X))


@pytest.mark.parametrize(("wanted", "number"), [("1", 1), ("0", None), ("", None), ("2,1", None), ("100000", None)])
def test_number_of_threads(wanted, number, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", wanted)
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert num_threads() == (available if number is None else number)
