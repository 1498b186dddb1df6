"""`Posterior.log_joint_function`: the joint density as a function that JAX transforms."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from cases import CASES, CATEGORIES, OUTSIDE, Exponential, with_holes
from slow import cases_fast, names_fast

import bayesnb as nb

ROWS = 30
STEP = 1e-5
EXPONENTIAL = next(case.family for case in CASES if case.name == "exponential")
LABELS = np.array(["a", "b"] * (ROWS // 2))

BY_NAME = {case.name: case for case in CASES}


def table_of(case, rng):
    x = case.cells(rng, ROWS)
    if case.family.cell == "category":
        x[:CATEGORIES] = np.arange(CATEGORIES)[:, None]  # every category occurs, so that a value is its own code
    return np.where(np.arange(ROWS)[:, None] < CATEGORIES, x, with_holes(rng, x)) if case.missing else x


def sampled(posterior, X, draws=70):
    """The same posterior as independent draws, more than JAX takes at a time."""
    return nb.from_samples(posterior.model, posterior.draws(num_chains=2, num_draws=draws // 2), X=X, y=LABELS)


def slopes_and_values_of(posterior, X):
    """Derivative of each row's density under each class, shape (rows, classes, columns), and the density itself."""
    log_joint = posterior.log_joint_function()

    def value_twice(x):
        value = log_joint(x)
        return value, value

    # Slopes and values together are compiled once.
    return map(np.asarray, jax.jit(jax.vmap(jax.jacrev(value_twice, has_aux=True)))(X))


def slopes_of(posterior, X):
    return next(slopes_and_values_of(posterior, X))


def differences(posterior, X, lowest=-np.inf):
    """The same from differences of the host's densities; one-sided where a cell is at the edge of its support."""
    found = np.zeros((len(X), len(posterior.classes), X.shape[1]))
    for j in range(X.shape[1]):
        unit = STEP * np.eye(X.shape[1])[j]
        at = [posterior.log_joint(X + k * unit) for k in (0, 1, 2)]
        forward = (-3 * at[0] + 4 * at[1] - at[2]) / (2 * STEP)
        inside = np.where(X[:, [j]] - STEP < lowest, X[:, [j]], X[:, [j]] - STEP)
        before = posterior.log_joint(np.column_stack([X[:, :j], inside, X[:, j + 1 :]]))
        found[:, :, j] = np.where(X[:, [j]] - STEP < lowest, forward, (at[1] - before) / (2 * STEP))
    return found


@pytest.mark.parametrize("case", cases_fast([*CASES, *OUTSIDE], {"categorical"}))
@pytest.mark.usefixtures("float64")
def test_equals_log_joint(case, rng):
    X = table_of(case, rng)
    exact = nb.fit(case.family, X, LABELS)
    for posterior in (exact, exact.plugin(), sampled(exact, X)):
        slopes, values = slopes_and_values_of(posterior, X)
        np.testing.assert_allclose(values, posterior.log_joint(X), rtol=1e-10)
        assert np.isfinite(slopes).all()
        assert (np.where(np.isnan(X)[:, None], slopes, 0.0) == 0).all()
        batches = jax.vmap(posterior.log_joint_function())(X.reshape(2, ROWS // 2, -1))
        np.testing.assert_allclose(batches.reshape(ROWS, -1), values, rtol=1e-12)
        # These are looked up; NumPyro's density of an outside family's zeros and ones has slopes.
        if case.family.cell == "category" or isinstance(case.family, nb.Bernoulli):
            assert (slopes == 0).all()


KINDS = {
    "exact": lambda exact, X: exact,
    "plugin": lambda exact, X: exact.plugin(),
    "sampled": sampled,
}


@pytest.mark.parametrize("kind", names_fast(KINDS, {"exact", "sampled"}))
@pytest.mark.parametrize(
    ("family", "cells", "lowest"),
    [
        (nb.Gaussian(), lambda rng: rng.normal(3.0, 2.0, (ROWS, 9)), -np.inf),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in (
                (nb.Poisson(fractional=True), lambda rng: rng.poisson(1.5, (ROWS, 3)), 0.0),
                (nb.Multinomial(fractional=True), lambda rng: rng.poisson([0.5, 2.0, 40.0], (ROWS, 3)), 0.0),
                (BY_NAME["exponential"].family, lambda rng: rng.exponential(2, (ROWS, 3)), 0),
            )
        ),
    ],
    ids=["gaussian", "poisson", "multinomial", "exponential"],
)
@pytest.mark.usefixtures("float64")
def test_derivatives_are_those_of_differences(family, cells, lowest, kind, rng):
    X = cells(rng).astype(float)
    if family.cell == "number":
        X = with_holes(rng, X)
    elif lowest == 0:
        X[0] = 0
    posterior = KINDS[kind](nb.fit(family, X, LABELS), X)
    expected = differences(posterior, X, lowest)
    np.testing.assert_allclose(slopes_of(posterior, X), np.where(np.isnan(X)[:, None], 0, expected), atol=2e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_derivatives_of_bursty_documents(rng):
    X = np.column_stack([rng.negative_binomial(0.4, 0.1, (ROWS, 3)), np.zeros(ROWS)])
    point = nb.fit(nb.DirichletMultinomial(fractional=True), X, LABELS, nb.MLE())
    assert (point.mean()["x_concentration"][:, 3] == 0).all()  # a word that no document holds
    np.testing.assert_allclose(point.log_joint_function()(X), point.log_joint(X), rtol=1e-10)
    slopes = slopes_of(point, X)
    assert np.isfinite(slopes).all()
    with np.errstate(invalid="ignore"):  # one more of the last word is impossible
        expected = differences(point, X, 0.0)
    np.testing.assert_allclose(slopes[..., :3], expected[..., :3], atol=2e-6)
    strange = np.array([[1.0, 2.0, 3.0, 1.0]])
    assert np.isneginf(point.log_joint_function()(strange)).all()
    assert np.isneginf(point.log_joint(strange)).all()


def mixed(rng):
    X = pd.DataFrame(
        {
            "size": rng.normal(size=ROWS),
            "colour": rng.choice(["red", "green", "blue"], ROWS),
            "stem": rng.choice(["short", "long"], ROWS),
            "shape": rng.choice(["round", "flat"], ROWS),
            "width": rng.normal(size=ROWS),
            "left": rng.integers(0, 2, ROWS),
            "root": rng.choice(["deep", "flat"], ROWS),
        }
    )
    X.loc[::7, "size"], X.loc[1::7, "colour"] = np.nan, None
    model = nb.NaiveBayes(
        {
            "plant": (nb.JointCategorical(), ["root", "stem"]),
            "shape": nb.Categorical(),
            "both": (nb.Gaussian(), ["width", "size"]),
            "colour": nb.Categorical(other=True),
            "left": nb.Bernoulli(),
        }
    )
    return model, X


def as_codes(posterior, X):
    """The table as the docstring describes the array."""
    schema = posterior.model.schema
    columns = []
    for position, name in enumerate(schema.columns):
        codes = {value: code for code, value in enumerate(schema.categories.get(position, ()))}
        columns.append(X[name].map(codes) if codes else X[name])
    return np.column_stack(columns).astype(float)


@pytest.mark.usefixtures("float64")
def test_columns_of_several_families_are_in_the_order_of_the_table(rng):
    model, X = mixed(rng)
    exact = nb.fit(model, X, LABELS)
    other = as_codes(exact, X)[:1]
    other[0, 1] = 3
    codes = np.concatenate([as_codes(exact, X), other])
    X = pd.concat([X, X[:1].assign(colour="purple")])
    np.testing.assert_allclose(exact.log_joint_function()(codes), exact.log_joint(X), rtol=1e-10)
    averaged = exact.averaged()
    slopes, found = slopes_and_values_of(averaged, codes)
    np.testing.assert_allclose(found, averaged.log_joint(X), rtol=1e-10)
    assert np.isfinite(slopes).all()


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_averages_and_learned_hyperparameters_have_derivatives(rng):
    X = with_holes(rng, rng.normal(size=(ROWS, 3)))
    averaged = nb.fit(nb.NaiveBayes(nb.Gaussian(), feature_inclusion=0.5), X, LABELS)
    expected = np.where(np.isnan(X)[:, None], 0, differences(averaged, X))
    np.testing.assert_allclose(slopes_of(averaged, X), expected, atol=2e-6)
    words = rng.poisson(2.0, (ROWS, 3)).astype(float)
    vectors = nb.fit(nb.NaiveBayes(nb.Multinomial(), feature_inclusion=0.5), words, LABELS)
    np.testing.assert_allclose(vectors.log_joint_function()(words), vectors.log_joint(words), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
@pytest.mark.usefixtures("float64")
def test_learned_hyperparameters(rng):
    X = rng.normal(size=(ROWS, 3))
    model = nb.NaiveBayes(nb.Gaussian(0.0, 1.0, 1.0, dist.Gamma(1.0, 1.0)))
    learned = nb.fit(model, X, LABELS, nb.NUTS(num_warmup=100, num_samples=100, num_chains=1))
    np.testing.assert_allclose(learned.log_joint_function()(X), learned.log_joint(X), rtol=1e-10)
    np.testing.assert_allclose(slopes_of(learned, X), differences(learned, X), atol=2e-6)


@pytest.mark.slow
def test_in_the_precision_of_jax(rng):
    X = with_holes(rng, rng.normal(size=(ROWS, 9)))
    posterior = nb.fit(nb.Gaussian(), X, LABELS)
    log_joint = posterior.log_joint_function()
    found = log_joint(X)
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, posterior.log_joint(X), rtol=1e-5)
    assert log_joint(X.astype(np.float16)).dtype == jnp.float32
    slopes = jax.jit(jax.vmap(jax.grad(lambda x: log_joint(x)[0])))(X)
    assert slopes.dtype == jnp.float32
    expected = np.where(np.isnan(X), 0, differences(posterior, X)[:, 0])
    np.testing.assert_allclose(slopes, expected, rtol=1e-4, atol=1e-5)
    forward = jax.vmap(jax.jacfwd(log_joint))(X)
    np.testing.assert_allclose(forward[:, 0], slopes, rtol=1e-5, atol=1e-6)
    words = nb.fit(nb.Multinomial(), [[1, 2], [3, 4]], [0, 1]).log_joint_function()
    assert words(np.array([1, 2])).dtype == jnp.float32


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_second_derivatives():
    posterior = nb.fit(nb.Gaussian(), [[1.0], [2.0], [4.0], [7.0]], [0, 0, 1, 1])
    log_joint = posterior.log_joint_function()
    x = np.array([2.5])
    found = jax.hessian(lambda x: log_joint(x)[1])(x)
    up, at, down = (posterior.log_joint([x + step])[0, 1] for step in (1e-4, 0.0, -1e-4))
    np.testing.assert_allclose(found[0, 0], (up - 2 * at + down) / 1e-8, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "X", "strange"),
    [
        pytest.param(nb.Bernoulli(), [[0, 1], [1, 0]], [0.5, 1.0], marks=pytest.mark.slow),
        (nb.Categorical(), [[0, 1], [1, 0]], [2.0, 1.0]),
        (nb.Categorical(), [[0, 1], [1, 0]], [-1.0, 1.0]),
        (nb.Poisson(), [[0, 1], [1, 0]], [1.5, 1.0]),
        (nb.Poisson(), [[0, 1], [1, 0]], [1.0, -1.0]),
        (nb.Gaussian(), [[0, 1], [1, 0]], [np.inf, 1.0]),
        pytest.param(nb.Multinomial(), [[0, 1], [1, 0]], [np.nan, 1.0], marks=pytest.mark.slow),
    ],
)
def test_a_cell_that_the_model_does_not_allow_gives_nan(family, X, strange):
    log_joint = nb.fit(family, X, ["a", "b"]).log_joint_function()
    found = np.asarray(log_joint(np.array([strange, [1.0, 1.0]])))
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


def test_a_probability_of_zero_gives_no_nan_in_the_slopes_of_other_classes():
    point = nb.fit(nb.Multinomial(), [[1, 0], [2, 0], [3, 1]], ["a", "a", "b"], nb.MLE())
    # In JAX's own precision, and not compiled as a whole.
    _, backwards = jax.vjp(point.log_joint_function(), np.array([[2.0, 0.0]], np.float32))
    for of_class in np.eye(2, dtype=np.float32):
        (slopes,) = backwards(of_class[None])
        assert np.isfinite(slopes).all()


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (
            np.zeros((3, 4)),
            ValueError,
            r"shape \(3, 4\): its last axis must be the 2 columns of the fit, \[0, 1\]",
        ),
        (3.0, ValueError, r"x has shape \(\)"),
        ([["red", "blue"]], TypeError, "codes of categories"),
        (pd.DataFrame({"a": ["red"], "b": [1]}), TypeError, "x is a DataFrame that JAX cannot hold"),
        (np.zeros((1, 2), complex), TypeError, "complex numbers: give an array of real numbers"),
    ],
)
def test_bad_arguments(x, error, words):
    log_joint = nb.fit(nb.Gaussian(), [[0.0, 1.0], [1.0, 3.0]], [0, 1]).log_joint_function()
    with pytest.raises(error, match=words):
        log_joint(x)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HostOnly(Exponential):
    """A density that needs NumPy's numbers."""

    def cell_log_predictive(self, x):
        return np.log(np.asarray(x))


def test_a_density_that_jax_cannot_trace_is_named():
    posterior = nb.fit(HostOnly(), [[1.0], [2.0]], [0, 1])
    assert posterior.log_joint([[1.0]]).shape == (1, 2)
    with pytest.raises(TypeError, match=r"a density of \['HostOnly'\] needs numbers.*jax.numpy"):
        posterior.log_joint_function()(np.array([[1.0]]))


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_a_verb_of_the_host_under_a_transformation_names_the_function(transform):
    X = np.array([[0.0, 1.0], [1.0, 3.0]])
    posterior = nb.fit(nb.Gaussian(), X, [0, 1])
    verbs = [
        posterior.predict_proba,
        posterior.predict,
        posterior.predict_log_proba,
        posterior.log_joint,
        posterior.proba_draws,
        posterior.proba_interval,
        lambda x: posterior.predict_proba([[x.sum(), 1.0]]),
        lambda x: posterior.update(x, [0, 1]),
        lambda x: nb.fit(nb.Gaussian(), x, [0, 1]),
    ]
    for verb in verbs:
        with pytest.raises(TypeError, match=r"posterior\.log_joint_function\(\)"):
            transform(verb)(X)
