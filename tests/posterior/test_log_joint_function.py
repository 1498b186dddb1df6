"""`Posterior.log_joint_function`: the joint density as a function that JAX transforms."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from cases import CASES, Exponential, with_holes
from slow import names_fast
from trees import KINDS

import bayesnb as nb

ROWS = 30
STEP = 1e-5
LABELS = np.array(["a", "b"] * (ROWS // 2))


def values_and_slopes(posterior, X):
    """The density of each row under each class, and its slopes, shape (rows, classes, columns)."""
    log_joint, along = posterior.log_joint_function(), np.eye(X.shape[1])
    values, slopes = zip(*(jax.jvp(log_joint, (X,), (np.tile(unit, (len(X), 1)),)) for unit in along), strict=True)
    return np.asarray(values[0]), np.stack(slopes, axis=-1)


def difference(posterior, moved):
    """The slope along a path of rows, a function of the step, by densities of the host; forward from zeros."""
    at = [posterior.log_joint(moved(k * STEP)) for k in (0, 1, 2)]
    return (-3 * at[0] + 4 * at[1] - at[2]) / (2 * STEP)


def differences(posterior, X):
    """Slopes along each column, shape (rows, classes, columns)."""
    found = [difference(posterior, lambda step, j=j: X + step * np.eye(X.shape[1])[j]) for j in range(X.shape[1])]
    return np.where(np.isnan(X)[:, None], 0.0, np.stack(found, axis=-1))


@pytest.mark.slow
@pytest.mark.parametrize("kind", names_fast(KINDS, {"averaged", "sampled", "weighted"}))
@pytest.mark.usefixtures("float64")
def test_it_is_the_density_of_every_posterior_and_has_its_slopes(posteriors, table, kind):
    """Cells are numbers, some of them codes of categories; categories and flags are looked up."""
    posterior, new = posteriors[kind], table[2]
    codes = new.assign(bark=new["bark"].map({"flaky": 0, "rough": 1, "smooth": 2})).to_numpy(float)
    values, slopes = values_and_slopes(posterior, codes)
    np.testing.assert_allclose(values, posterior.log_joint(new), rtol=1e-10)
    possible = np.isfinite(values)
    for j, name in enumerate(new):
        if name in ("height", "width"):
            with np.errstate(invalid="ignore"):
                expected = difference(posterior, lambda step, name=name: new.assign(**{name: new[name] + step}))
            np.testing.assert_allclose(slopes[..., j][possible], np.nan_to_num(expected[possible]), atol=2e-6)
        elif name in ("bark", "moss"):
            assert (slopes[..., j] == 0).all()
    if kind == "exact":
        in_batches = posterior.log_joint_function()(codes.reshape(3, 3, -1))
        np.testing.assert_allclose(in_batches.reshape(9, 3), values, rtol=1e-12)


NUMBERS = {
    "poisson": (nb.Poisson(fractional=True), lambda rng: rng.poisson(1.5, (ROWS, 3))),
    "multinomial": (nb.Multinomial(fractional=True), lambda rng: rng.poisson([0.5, 2.0, 40.0], (ROWS, 3))),
    "exponential": (
        next(case.family for case in CASES if case.name == "exponential"),
        lambda rng: rng.exponential(2, (ROWS, 3)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.usefixtures("float64")
def test_slopes_of_other_numbers(name, rng):
    family, cells = NUMBERS[name]
    X = cells(rng).astype(float)
    X[0] = 0
    if family.cell == "number":
        X[1:] = with_holes(rng, X[1:])
    exact = nb.fit(family, X, LABELS)
    for posterior in (exact, nb.from_samples(exact.model, exact.draws(num_draws=20), X=X, y=LABELS)):
        _, slopes = values_and_slopes(posterior, X)
        np.testing.assert_allclose(slopes, differences(posterior, X), atol=2e-6)


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_slopes_of_bursty_documents(rng):
    X = np.column_stack([rng.negative_binomial(0.4, 0.1, (ROWS, 3)), np.zeros(ROWS)])
    point = nb.fit(nb.DirichletMultinomial(fractional=True), X, LABELS, nb.MLE())
    assert (point.mean()["x_concentration"][:, 3] == 0).all()  # a word that no document holds
    _, slopes = values_and_slopes(point, X)
    assert np.isfinite(slopes).all()
    with np.errstate(invalid="ignore"):  # one more of the last word is impossible
        np.testing.assert_allclose(slopes[..., :3], differences(point, X)[..., :3], atol=2e-6)
    strange = np.array([[1.0, 2.0, 3.0, 1.0]])
    assert np.isneginf([point.log_joint_function()(strange), point.log_joint(strange)]).all()


@pytest.mark.slow
def test_in_the_precision_of_jax(rng):
    X = with_holes(rng, rng.normal(size=(ROWS, 9)))
    posterior = nb.fit(nb.Gaussian(), X, LABELS)
    log_joint = posterior.log_joint_function()
    found = log_joint(X)
    assert found.dtype == log_joint(X.astype(np.float16)).dtype == jnp.float32
    np.testing.assert_allclose(found, posterior.log_joint(X), rtol=1e-5)
    slopes = jax.jit(jax.vmap(jax.grad(lambda x: log_joint(x)[0])))(X)
    assert slopes.dtype == jnp.float32
    np.testing.assert_allclose(slopes, differences(posterior, X)[:, 0], rtol=1e-4, atol=1e-5)
    forward = jax.vmap(jax.jacfwd(log_joint))(X)
    np.testing.assert_allclose(forward[:, 0], slopes, rtol=1e-5, atol=1e-6)


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
    ("family", "strange"),
    [
        pytest.param(nb.Bernoulli(), [0.5, 1.0], marks=pytest.mark.slow),
        (nb.Categorical(), [2.0, 1.0]),
        (nb.Categorical(), [-1.0, 1.0]),
        (nb.Categorical(other=True), [3.0, 1.0]),
        (nb.Poisson(), [1.5, 1.0]),
        (nb.Poisson(), [-1.0, 1.0]),
        (nb.Poisson(), [1.0, 2.0**54]),
        (nb.Gaussian(), [np.inf, 1.0]),
        pytest.param(nb.Multinomial(), [np.nan, 1.0], marks=pytest.mark.slow),
    ],
)
def test_a_cell_that_the_model_does_not_allow_gives_nan(family, strange):
    log_joint = nb.fit(family, [[0, 1], [1, 0]], ["a", "b"]).log_joint_function()
    # The code of other categories is one more; float64 holds each count up to 2**53.
    largest = 2.0 if getattr(family, "other", False) else 2.0**53 if isinstance(family, nb.Poisson) else 1.0
    found = np.asarray(log_joint(np.array([strange, [largest, 1.0]])))
    assert found.dtype == np.float32
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()


@pytest.mark.slow
def test_a_probability_of_zero_gives_no_nan_in_the_slopes_of_other_classes():
    point = nb.fit(nb.Multinomial(), [[1, 0], [2, 0], [3, 1]], ["a", "a", "b"], nb.MLE())
    # In JAX's own precision, and not compiled as a whole.
    _, backwards = jax.vjp(point.log_joint_function(), np.array([[2.0, 0.0]], np.float32))
    for of_class in np.eye(2, dtype=np.float32):
        (slopes,) = backwards(of_class[None])
        assert np.isfinite(slopes).all()


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HostOnly(Exponential):
    """A density that needs NumPy's numbers."""

    def cell_log_predictive(self, x):
        return np.log(np.asarray(x))


SMALL = np.array([[0.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize(
    ("family", "x", "error", "words"),
    [
        (nb.Gaussian(), np.zeros((3, 4)), ValueError, r"shape \(3, 4\): its last axis must be the 2 .*, \[0, 1\]"),
        (nb.Gaussian(), 3.0, ValueError, r"x has shape \(\)"),
        (nb.Gaussian(), [["red", "blue"]], TypeError, "codes of categories"),
        (nb.Gaussian(), pd.DataFrame({"a": ["red"], "b": [1]}), TypeError, "x is a DataFrame that JAX cannot hold"),
        (nb.Gaussian(), np.zeros((1, 2), complex), TypeError, "complex numbers: give an array of real numbers"),
        (HostOnly(), np.ones((1, 2)), TypeError, r"a density of \['HostOnly'\] needs numbers.*jax.numpy"),
    ],
)
def test_bad_arguments_and_densities(family, x, error, words):
    log_joint = nb.fit(family, SMALL + 1, [0, 1]).log_joint_function()
    with pytest.raises(error, match=words):
        log_joint(x)


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())])
def test_a_verb_of_the_host_under_a_transformation_names_the_function(transform):
    posterior = nb.fit(nb.Gaussian(), SMALL, [0, 1])
    verbs = [
        *(getattr(posterior, name) for name in ("predict_proba", "predict", "predict_log_proba", "log_joint")),
        *(posterior.proba_draws, posterior.proba_interval),
        lambda x: posterior.predict_proba([[x.sum(), 1.0]]),
        lambda x: posterior.update(x, [0, 1]),
        lambda x: nb.fit(nb.Gaussian(), x, [0, 1]),
    ]
    for verb in verbs:
        with pytest.raises(TypeError, match=r"posterior\.log_joint_function\(\)"):
            transform(verb)(SMALL)
