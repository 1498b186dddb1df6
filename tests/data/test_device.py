"""Tables that live on an accelerator; here on JAX's CPU device, made to take the same way."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, with_holes
from scipy.special import digamma
from slow import cases_fast, names_fast

import bayesnb as nb
from bayesnb.core.arrays import log_rising
from bayesnb.data import read as device_array
from bayesnb.data.read import DeviceTable, as_table
from bayesnb.data.schema import shown_categories
from bayesnb.data.tables import Table
from bayesnb.model import device

ROWS = 700
BY_NAME = {case.name: case for case in CASES}
ON_DEVICE = [case for case in CASES if case.name not in {"numpyro exponential", "joint categorical"}]
"""Families that are counted where the table is."""


def ids(case):
    return case.name


def place(x):
    with jax.enable_x64(True):
        return jnp.asarray(x)


def table_of(case, rng, rows=ROWS):
    x = case.cells(rng, rows)
    return with_holes(rng, x) if case.missing else x


def assert_same_statistics(found, expected):
    found, expected = (jax.tree.leaves(posterior.problem.statistics) for posterior in (found, expected))
    for mine, other in zip(found, expected, strict=True):
        assert type(mine) is np.ndarray
        assert mine.dtype == (np.int64 if other.dtype.kind == "i" else np.float64)
        np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


@pytest.fixture
def pieces(monkeypatch):
    """Chunks of 256 rows on the host, and of 512 on the device, so that the last one laps over the one before."""
    monkeypatch.setattr(Table, "chunk_cells", 1)
    monkeypatch.setattr(device, "DEVICE_CELLS", 512 * 3)


@pytest.fixture
def stays_there(monkeypatch):
    """Nothing as large as a table goes to the host."""

    def guarded(convert):
        def wrapped(x, *args, **kwargs):
            assert not isinstance(x, jax.Array) or x.size < 3 * ROWS // 2, "the table went to the host"
            return convert(x, *args, **kwargs)

        return wrapped

    monkeypatch.setattr(np, "asarray", guarded(np.asarray))
    monkeypatch.setattr(np, "array", guarded(np.array))
    for name in ("stored", "values"):
        monkeypatch.setattr(DeviceTable, name, lambda *args: pytest.fail("cells went to the host"))


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch):
    monkeypatch.setattr(device_array, "on_accelerator", lambda array: True)


@pytest.fixture(autouse=True)
def setting_stays():
    before = jax.config.jax_enable_x64
    yield
    assert jax.config.jax_enable_x64 == before
    assert jnp.ones(1).dtype == jnp.float32


@pytest.mark.parametrize("case", cases_fast(CASES, {"categorical"}))
@pytest.mark.usefixtures("pieces")
def test_equals_numpy(case, rng):
    X, y = table_of(case, rng), rng.integers(0, 2, ROWS)
    expected = nb.fit(case.family, X, y)
    found = nb.fit(case.family, place(X), y)
    assert_same_statistics(found, expected)
    np.testing.assert_allclose(expected.log_joint(place(X)), expected.log_joint(X), rtol=1e-10)
    np.testing.assert_allclose(expected.predict_proba(place(X)), expected.predict_proba(X), rtol=1e-10)
    assert expected.predict(place(X)).tolist() == expected.predict(X).tolist()


@pytest.mark.parametrize("case", cases_fast(CASES, {"gaussian"}))
@pytest.mark.usefixtures("pieces")
def test_float32_counts_exactly_and_predicts_in_its_own_precision(case, rng):
    X, y = table_of(case, rng).astype(np.float32), rng.integers(0, 2, ROWS)
    expected = nb.fit(case.family, X, y)
    assert_same_statistics(nb.fit(case.family, place(X), y), expected)
    proba = expected.predict_proba(place(X))
    assert type(proba) is np.ndarray
    assert proba.dtype == np.float64
    np.testing.assert_allclose(proba, expected.predict_proba(X), rtol=1e-4)


@pytest.mark.parametrize("case", ON_DEVICE, ids=ids)
@pytest.mark.usefixtures("pieces")
def test_weights(case, rng):
    X, y = table_of(case, rng), rng.integers(0, 2, ROWS)
    weights = rng.gamma(1.0, 1.0, ROWS) * (rng.uniform(size=ROWS) < 0.8)
    expected = nb.fit(case.family, X, y, sample_weight=weights)
    assert_same_statistics(nb.fit(case.family, place(X), y, sample_weight=weights), expected)


@pytest.mark.parametrize("precision", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", cases_fast(ON_DEVICE, {"gaussian"}))
def test_the_table_stays_on_the_device(case, precision, rng, pieces, stays_there):
    X = place(table_of(case, rng).astype(precision))
    y = rng.integers(0, 2, ROWS)
    posterior = nb.fit(case.family, X, place(y))
    posterior.predict(X)
    posterior.plugin().predict_proba(X)


def test_a_table_that_is_taken_to_the_host_is_noticed(rng, pieces, stays_there):
    X = place(BY_NAME["numpyro exponential"].cells(rng, ROWS))
    with pytest.raises(pytest.fail.Exception, match="went to the host"):
        nb.fit(BY_NAME["numpyro exponential"].family, X, rng.integers(0, 2, ROWS))


def test_a_family_of_the_users_own_predicts_on_the_device(rng, pieces, monkeypatch):
    case = BY_NAME["numpyro exponential"]
    X = case.cells(rng, ROWS)
    posterior = nb.fit(case.family, X, rng.integers(0, 2, ROWS))
    expected = posterior.predict_proba(X)
    monkeypatch.setattr(DeviceTable, "stored", lambda *args: pytest.fail("cells went to the host"))
    np.testing.assert_allclose(posterior.predict_proba(place(X)), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "case", cases_fast(ON_DEVICE, {"categorical", "multinomial", "gaussian", "poisson", "log normal", "hurdle"})
)
def test_plug_in_densities(case, rng, pieces, stays_there):
    X, y = table_of(case, rng), rng.integers(0, 2, ROWS)
    point = nb.fit(case.family, X, y).plugin()
    np.testing.assert_allclose(point.log_joint(place(X)), point.log_joint(X), rtol=1e-10)


def test_zeros_of_a_maximum_likelihood_estimate():
    X, y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]), [0, 0, 1, 1]
    X_new = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, np.nan]])
    point = nb.fit(nb.Bernoulli(), X, y, nb.MLE())
    np.testing.assert_allclose(point.log_joint(place(X_new)), point.log_joint(X_new))
    answers = []
    for table in (X_new, place(X_new)):
        with pytest.warns(UserWarning, match="probability zero under every class") as caught:
            answers.append((point.predict_proba(table), str(caught[0].message)))
    np.testing.assert_allclose(answers[1][0], answers[0][0])
    assert answers[0][1] == answers[1][1]
    words = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    point = nb.fit(nb.Multinomial(), words, [0, 0, 1], nb.MLE())
    np.testing.assert_allclose(point.log_joint(place(words)), point.log_joint(words))
    assert np.isneginf(point.log_joint(place(words))).sum() == 1


def mixed(rng):
    X = np.column_stack(
        [
            rng.normal(3.0, 1.0, ROWS),
            rng.integers(0, 2, ROWS),
            rng.choice([1.0, 2.0, 7.0], ROWS),
            rng.poisson(3.0, ROWS),
            rng.poisson([2.0, 1.0, 3.0], (ROWS, 3)),
            rng.integers(0, 3, ROWS),
            rng.normal(size=ROWS),
        ]
    )
    X[:, :4] = with_holes(rng, X[:, :4])
    model = nb.NaiveBayes(
        {
            3: nb.Poisson(),
            "words": (nb.Multinomial(), [4, 5, 6]),
            8: nb.Gaussian(),
            0: nb.Gaussian(),
            1: nb.Bernoulli(),
            2: nb.Categorical(),
            7: nb.Categorical(),
        }
    )
    return model, X, rng.choice(["no", "yes"], ROWS)


@pytest.fixture
def wide_pieces(pieces, monkeypatch):
    """Chunks of 512 rows of the mixed table."""
    monkeypatch.setattr(device, "DEVICE_CELLS", 512 * 9)


def test_families_by_position(rng, wide_pieces, stays_there):
    model, X, y = mixed(rng)
    expected = nb.fit(model, X, y)
    found = nb.fit(model, place(X), y)
    assert found.model.schema.categories == expected.model.schema.categories
    assert_same_statistics(found, expected)
    np.testing.assert_allclose(expected.predict_proba(place(X)), expected.predict_proba(X), rtol=1e-10)


def test_update_and_forget(rng, stays_there):
    case = BY_NAME["gaussian"]
    X, y = table_of(case, rng, 300 + ROWS), rng.integers(0, 2, 300 + ROWS)
    first = nb.fit(nb.Gaussian(), X[:300], y[:300])
    both = first.update(place(X[300:]), y[300:])
    assert_same_statistics(both, nb.fit(nb.Gaussian(), X, y))
    assert_same_statistics(both.forget(place(X[300:]), y[300:]), first)


@pytest.mark.parametrize("mean", [0.0, 1e8, 1e14])
def test_moments_keep_their_digits(rng, mean):
    y = rng.integers(0, 2, ROWS)
    X = rng.normal(size=(ROWS, 3)) + mean * (1 + y[:, None])
    found = nb.fit(nb.Gaussian(), place(X), y).problem.statistics.blocks[0]
    for c in range(2):
        shift = mean * (1 + c)
        of_class = X[y == c] - shift  # exact, or there is nothing to take away
        np.testing.assert_allclose(found.mean[c] - shift, of_class.mean(axis=0), rtol=1e-14, atol=3e-16 * shift)
        np.testing.assert_allclose(found.variance[c], of_class.var(axis=0), rtol=1e-13)


def test_a_constant_column_has_no_spread(rng, pieces):
    X = np.full((ROWS, 3), [0.1, 1e8 / 3, 1e-9 / 7])
    found = nb.fit(nb.Gaussian(), place(X), rng.integers(0, 2, ROWS)).problem.statistics.blocks[0]
    assert (found.ssd == 0).all()


def test_student_t_in_float32_keeps_the_digits_of_its_table(rng, pieces):
    y = rng.integers(0, 2, ROWS)
    X = (1e6 + 2.0 * y[:, None] + rng.normal(size=(ROWS, 3))).astype(np.float32)
    X[0] = [1e30, 1e6, 1e6]  # a square that is no float32
    posterior = nb.fit(nb.Gaussian(), X[1:], y[1:])
    np.testing.assert_allclose(posterior.log_joint(place(X)), posterior.log_joint(X), rtol=3e-6)
    np.testing.assert_allclose(posterior.predict_proba(place(X))[1:], posterior.predict_proba(X[1:]), rtol=1e-4)


@pytest.mark.parametrize("holes", [0.0, 0.1])
def test_student_t_of_many_columns(rng, holes):
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 21)).astype(np.float32) + y[:, None]
    X[rng.uniform(size=X.shape) < holes] = np.nan
    posterior = nb.fit(nb.Gaussian(), X, y)
    np.testing.assert_allclose(posterior.log_joint(place(X)), posterior.log_joint(X), rtol=1e-6)
    X = X.astype(np.float64)
    np.testing.assert_allclose(posterior.log_joint(place(X)), posterior.log_joint(X), rtol=1e-12)


@pytest.mark.parametrize("a", [1e-3, 0.7, 15.9, 16.1, 1e3, 1e8])
def test_log_rising_compiled(float64, a):
    steps = np.log(np.longdouble(a) + np.arange(1000, dtype=np.longdouble)).cumsum().astype(float)
    x = np.array([0, 1, 2, 5, 100, 1000])
    expected = np.where(x == 0, 0.0, steps[x - 1])
    np.testing.assert_allclose(log_rising(jnp.asarray(a), jnp.asarray(x * 1.0)), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("a", [0.7, 16.1, *(pytest.param(a, marks=pytest.mark.slow) for a in (1e-3, 15.9, 1e3, 1e8))])
def test_the_slopes_of_log_rising(float64, a):
    x = np.array([0, 1, 2, 5, 100, 1000])
    slopes = jax.jit(jax.vmap(jax.grad(log_rising, argnums=(0, 1)), (None, 0)))
    along_a, along_x = slopes(jnp.asarray(a), jnp.asarray(x * 1.0))
    sums = (1 / (a + np.arange(1000, dtype=np.longdouble))).cumsum().astype(float)
    np.testing.assert_allclose(along_a, np.where(x == 0, 0.0, sums[x - 1]), rtol=1e-12)
    np.testing.assert_allclose(along_x, digamma(a + x), rtol=1e-13)


@pytest.mark.parametrize("dtype", names_fast(["bool", "uint8", "int64", "float16", "bfloat16"], {"bool", "bfloat16"}))
def test_types_of_tables(rng, dtype):
    X, y = rng.integers(0, 2, (300, 3)), rng.integers(0, 2, 300)
    with jax.enable_x64(True):
        table = jnp.asarray(X).astype(dtype)
    as_numpy = X.astype(np.float32 if dtype == "bfloat16" else dtype)
    expected = nb.fit(nb.Categorical(), as_numpy, y)
    found = nb.fit(nb.Categorical(), table, y)
    assert repr(found.model.schema.categories) == repr(expected.model.schema.categories)
    assert_same_statistics(found, expected)
    np.testing.assert_allclose(expected.predict_proba(table), expected.predict_proba(as_numpy), rtol=1e-6)


def test_categories_are_found_on_the_device(rng, stays_there):
    X = np.column_stack([rng.integers(-3, 4, ROWS), rng.integers(0, 2, ROWS) * 900, np.full(ROWS, 7)]) * 1.0
    X[5] = np.nan
    assert [shown_categories(as_table(place(X)), j) for j in (0, 1, 2)] == [
        (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0),
        (0.0, 900.0),
        (7.0,),
    ]


@pytest.mark.parametrize(
    "column",
    [
        [0.5, 1.0, np.nan],
        [np.nan, np.nan, np.nan],
        [-5e4, 0.0, 5e4],
        [2.0**60, 0.0, 1.0],
        [np.inf, 0.0, 1.0],
        [1.0, 2.0, 2.0],
    ],
)
def test_categories_of_any_numbers(column):
    X = np.array(column)[:, None]
    assert shown_categories(as_table(place(X)), 0) == shown_categories(as_table(X), 0)


def bad_tables(rng):
    one, zeros = np.ones((ROWS, 3)), np.zeros((ROWS, 3))

    def at(x, row, column, value):
        x = x.copy()
        x[row, column] = value
        return x

    return {
        "no 0/1": (nb.Bernoulli(), one, at(one, 600, 1, 2.0)),
        "infinite": (nb.Gaussian(), rng.normal(size=(ROWS, 3)), at(zeros, 300, 2, -np.inf)),
        "too large for squares": (nb.Gaussian(), rng.normal(size=(ROWS, 3)), at(zeros, 300, 2, -1e200)),
        "negative count": (nb.Poisson(), one, at(one, 3, 0, -1.0)),
        "no count": (nb.Poisson(), one, at(one, 690, 0, 1.5)),
        "infinite count": (nb.Poisson(), one, at(one, 690, 0, np.inf)),
        "missing count": (nb.Multinomial(), one, at(one, 270, 1, np.nan)),
        "negative weight": (nb.Multinomial(fractional=True), one, at(one, 270, 1, -0.5)),
        "columns": (nb.Bernoulli(), one, one[:, :2]),
        "dimensions": (nb.Bernoulli(), one, one[:, 0]),
        "not positive": (BY_NAME["user's exponential"].family, one, at(one, 12, 1, 0.0)),
    }


@pytest.mark.parametrize("name", names_fast(bad_tables(np.random.default_rng(0)), {"no count", "columns"}))
@pytest.mark.usefixtures("pieces")
def test_errors_are_those_of_numpy(rng, name):
    family, X, bad = bad_tables(rng)[name]
    y = rng.integers(0, 2, ROWS)
    posterior = nb.fit(family, X, y)
    for ask in (posterior.log_joint, posterior.predict, lambda table: posterior.update(table, y)):
        said = []
        for table in (bad, place(bad)):
            with pytest.raises((ValueError, TypeError)) as caught:
                ask(table)
            said.append((caught.type, str(caught.value)))
        assert said[0] == said[1]


def test_an_error_of_the_first_rows_comes_first(rng, wide_pieces):
    model, X, y = mixed(rng)
    X[400, 3], X[20, 1] = -1.0, 5.0
    said = []
    for table in (X, place(X)):
        with pytest.raises(ValueError, match="column") as caught:
            nb.fit(model, table, y)
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "column 1, row 20" in said[0]


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize(
    "categories",
    [pytest.param([0, 1, 2], marks=pytest.mark.slow), [1.5, 0.0], [True, False], ["a", "b"], [0, 2**60]],
)
def test_categories_not_seen(rng, categories, other):
    X, y = rng.integers(0, 4, (ROWS, 3)) * 1.0, rng.integers(0, 2, ROWS)
    X[:260] = np.minimum(X[:260], 1)  # the first chunk knows them all, or most of them
    family = nb.Categorical(categories=categories, other=other)
    answers = []
    for table in (X, place(X)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            posterior = nb.fit(family, table, y)
            proba = posterior.predict_proba(table)
        answers.append((posterior, proba, [str(warning.message) for warning in caught]))
    assert_same_statistics(answers[1][0], answers[0][0])
    np.testing.assert_allclose(answers[1][1], answers[0][1], rtol=1e-10)
    assert answers[0][2] == answers[1][2]


def test_probabilities_far_from_every_class():
    parameters = {"mean": [[0.0], [10.0]], "variance": [[1.0], [1.0]]}
    known = nb.from_parameters(nb.Gaussian(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters=parameters)
    X = np.array([[-100.0], [5.0], [5.5], [110.0]])
    np.testing.assert_allclose(known.predict_proba(place(X)), known.predict_proba(X), rtol=1e-10)
    assert known.predict_proba(place(X))[[0, 3]].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("first", [-(2**53) - 1, 0, 2**53 - 3, 2**53 - 1, 2**53 + 1])
def test_distinct_whole_numbers(first):
    """float64 does not hold every whole number above 2**53."""
    numbers = first + np.array([[1], [0], [2], [1]])
    assert set(as_table(place(numbers)).distinct_values(0).tolist()) == {first, first + 1, first + 2}


@pytest.mark.parametrize("longest", [device_array.FEW_NUMBERS - 1, device_array.FEW_NUMBERS])
def test_distinct_numbers_of_a_range_that_is_as_long_as_the_device_notes(longest):
    numbers = np.array([[5.0], [5.0 + longest], [9.0]])
    assert set(as_table(place(numbers)).distinct_values(0).tolist()) == {5.0, 9.0, 5.0 + longest}


def test_categories_beyond_the_whole_numbers_of_float64_are_read_on_the_host(stays_there):
    X, y = place(np.zeros((ROWS, 1))), np.arange(ROWS) % 2
    nb.fit(nb.Categorical(categories=[0, 2**53 - 1]), X, y)
    with pytest.raises(pytest.fail.Exception, match="went to the host"):
        nb.fit(nb.Categorical(categories=[0, 2**53]), X, y)


def test_what_stays_on_the_host(rng):
    X, y = rng.integers(0, 2, (60, 3)) * 1.0, rng.integers(0, 2, 60)
    table = place(X)
    posterior = nb.fit(nb.Bernoulli(), X, y)
    np.testing.assert_array_equal(posterior.proba_draws(table, num_draws=5), posterior.proba_draws(X, num_draws=5))
    np.testing.assert_allclose(posterior.averaged().predict_proba(table), posterior.averaged().predict_proba(X))
    labels = np.where(rng.uniform(size=60) < 0.3, None, y)
    found, expected = (nb.fit(nb.Bernoulli(), cells, labels, nb.MAP()) for cells in (table, X))
    np.testing.assert_allclose(found.predict_proba(table), expected.predict_proba(X), rtol=1e-10)
    bursty = nb.fit(nb.DirichletMultinomial(), X, y, nb.MAP())
    np.testing.assert_allclose(bursty.predict_proba(table), bursty.predict_proba(X), rtol=1e-10)


def test_an_empty_table():
    posterior = nb.fit(nb.Bernoulli(), [[0.0], [1.0]], [0, 1])
    assert posterior.predict_proba(jnp.zeros((0, 1))).shape == (0, 2)
    with pytest.raises(ValueError, match="no rows"):
        nb.fit(nb.Bernoulli(), jnp.zeros((0, 1)), [])


def test_an_array_in_the_processors_memory_is_numpys(rng, monkeypatch):
    monkeypatch.undo()
    X = place(rng.normal(size=(5, 2)))
    table = as_table(X)
    assert not isinstance(table, DeviceTable)
    assert np.shares_memory(table.array, np.asarray(X))
