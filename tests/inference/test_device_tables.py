"""Laws of tables on a device: what is fitted and predicted where they lie equals what the host computes."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FAMILIES
from slow import cases_fast, names_fast

import bayesnb as nb
from bayesnb.core import device_arrays
from bayesnb.data import elsewhere as rows_elsewhere
from bayesnb.estimators import BernoulliNB, NaiveBayesClassifier
from bayesnb.model import device_rows

DEVICE = jax.devices("cpu")[-1]
ROWS = 700
Y = np.arange(ROWS) % 3
_GENERATOR = np.random.default_rng(5)
NORMAL = _GENERATOR.normal(size=(ROWS, 3)) + Y[:, None]
COUNTS = _GENERATOR.poisson(3.0, (ROWS, 3)) + 1.0
GRADES = np.minimum(COUNTS, 4.0) + 3.0
FITTED = nb.fit(nb.Gaussian(), NORMAL, Y)


@pytest.fixture
def elsewhere(monkeypatch):
    """No CPU is that of NumPy's arrays, so that every array of JAX lies on a device, which has small pieces."""
    monkeypatch.setattr(device_arrays, "host_device", lambda: None)
    monkeypatch.setattr(device_rows, "PIECE_SIZES", (2**11, 2**11))


@pytest.fixture
def stays(elsewhere, monkeypatch):
    """As `elsewhere`; a copy of an array to the host is an error."""

    def copied(self):
        raise AssertionError(f"an array of shape {self.shape} was copied")

    monkeypatch.setattr(device_arrays.DeviceArray, "copied", property(copied))


@pytest.fixture
def copies(elsewhere, monkeypatch):
    """The shapes of the arrays that were copied to the host."""
    shapes, copied = [], device_arrays.DeviceArray.copied.func
    noted = property(lambda self: shapes.append(self.shape) or copied(self))
    monkeypatch.setattr(device_arrays.DeviceArray, "copied", noted)
    return shapes


def there(values):
    """An array on the device, in its own type."""
    with jax.enable_x64(True):
        return jax.device_put(np.asarray(values), DEVICE)


def leaves(posterior):
    return jax.tree.leaves(posterior.problem.statistics)


def assert_equal_fits(found, expected, X, x, tolerance):
    assert found.classes.dtype == expected.classes.dtype
    np.testing.assert_array_equal(found.classes, expected.classes)
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        assert type(one) is np.ndarray
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    for method in ("predict_proba", "predict_log_proba", "log_joint"):
        one, other = getattr(found, method)(x), getattr(expected, method)(X)
        assert (type(one), one.dtype) == (np.ndarray, np.float64)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=method)


# --------------------------------------------------------------------------------------------------
# Every family
# --------------------------------------------------------------------------------------------------


def mixed(rng):
    """A table of blocks of several families, and the model."""
    normal = rng.normal(size=(ROWS, 4)) + Y[:, None]
    counts = rng.poisson(1.0 + Y[:, None], (ROWS, 4)).astype(float)
    X = np.column_stack(
        [
            normal,
            np.exp(normal[:, :1]),
            counts,
            3.0 + np.minimum(counts[:, :1], 2),
            counts[:, :1] > 1,
            counts[:, 2:3] > 0,
        ]
    )
    model = nb.NaiveBayes(
        {
            "normal": (nb.Gaussian(), [0, 1]),
            "vectors": (nb.MultivariateGaussian(), [2, 3]),
            "positive": (nb.LogNormal(), [4]),
            "counts": (nb.Poisson(), [5]),
            "pairs": (nb.JointCategorical(), [6, 11]),
            "words": (nb.Multinomial(), [7, 8]),
            "grades": (nb.Categorical(), [9]),
            "bits": (nb.Bernoulli(), [10]),
        }
    )
    return X, model


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.usefixtures("stays")
@pytest.mark.filterwarnings("ignore:.*rows lack a cell")
@pytest.mark.slow
def test_a_table_of_several_families(dtype, rng):
    X, model = mixed(rng)
    weights = None
    if dtype == np.float64:
        weights = rng.integers(0, 5, ROWS) / 4
        X[:, [0, 2, 4, 5, 9, 10]] = np.where(rng.random((ROWS, 6)) < 0.1, np.nan, X[:, [0, 2, 4, 5, 9, 10]])
    X = X.astype(dtype)
    expected = nb.fit(model, X, Y, sample_weight=weights)
    found = nb.fit(model, there(X), there(Y), sample_weight=None if weights is None else there(weights))
    assert_equal_fits(found, expected, X, there(X), 1e-10)


COPIED = ("all trees", "numpyro exponential", "outside bernoulli", "outside categorical", "outside multinomial")
"""Families that count on the host alone."""


def drawn(case, rng, *, gaps):
    """Cells of a family, with missing ones if it may have them."""
    X = case.draw(rng, Y == 0, 3)
    return np.where(rng.random(X.shape) < 0.1, np.nan, X) if gaps and case.can.holes else X


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", [case for case in FAMILIES if case.name != "durations"], ids=lambda case: case.name)
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.filterwarnings("ignore:.*rows lack a cell")
def test_every_family(case, weighted, rng, copies):
    X = drawn(case, rng, gaps=weighted)
    X = X.astype(np.float64 if weighted else np.float32)
    model = nb.NaiveBayes({"x": (case.default, slice(None))})
    weights = rng.integers(0, 5, ROWS) / 4 if weighted else None
    inference = "exact" if case.can.closed else "map"
    expected = nb.fit(model, X, Y, inference, sample_weight=weights)
    found = nb.fit(model, there(X), there(Y), inference, sample_weight=None if weights is None else there(weights))
    assert_equal_fits(found, expected, X, there(X), 1e-10)
    assert bool(copies) == (case.name in COPIED)


TYPES = {
    "bool": (nb.Bernoulli(), COUNTS > 3),
    "uint8": (nb.Categorical(), GRADES.astype(np.uint8)),
    "int32": (nb.Poisson(), COUNTS.astype(np.int32)),
    "int64": (nb.Multinomial(), COUNTS.astype(np.int64)),
    "float16": (nb.Gaussian(), NORMAL.astype(np.float16)),
    "bfloat16": (nb.Gaussian(), jnp.asarray(NORMAL, jnp.bfloat16)),
}


@pytest.mark.parametrize("dtype", names_fast(TYPES, {"bool", "bfloat16"}))
@pytest.mark.usefixtures("stays")
@pytest.mark.slow
def test_cells_of_every_type(dtype):
    family, X = TYPES[dtype]
    plain = np.asarray(X, np.float32) if dtype == "bfloat16" else X
    expected, found = nb.fit(family, plain, Y), nb.fit(family, there(X), Y)
    assert found.model.schema.categories == expected.model.schema.categories
    assert_equal_fits(found, expected, plain, there(X), 1e-12)


# --------------------------------------------------------------------------------------------------
# Columns on which sums lose digits
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [nb.Gaussian(), nb.MultivariateGaussian()], ids=["columns", "vectors"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("stays")
@pytest.mark.slow
def test_columns_far_from_zero_and_constant_ones(dtype, family, rng):
    noise, weights = rng.normal(size=(ROWS, 2)), rng.random(ROWS).astype(np.float32)
    columns = {
        "constant": np.full(ROWS, 0.1),
        "constant classes": Y + 0.1,
        "1e5 standard deviations": 1e5 + noise[:, 0],
        "1e6 standard deviations": noise[:, 0] - 1e6,
    }
    for name, column in columns.items():
        X = np.column_stack([column, noise[:, 1]]).astype(dtype)
        expected = nb.fit(family, X, Y, sample_weight=weights)
        found = nb.fit(family, there(X), there(Y), sample_weight=there(weights))
        tolerance = 1e-9 if "1e6" in name else 1e-10
        np.testing.assert_allclose(found.predict_proba(there(X)), expected.predict_proba(X), atol=tolerance)
        np.testing.assert_allclose(found.log_joint(there(X)), expected.log_joint(X), rtol=tolerance, atol=tolerance)


# --------------------------------------------------------------------------------------------------
# Labels
# --------------------------------------------------------------------------------------------------

LABELS = {
    "int32": lambda: there((Y * 5 - 3).astype(np.int32)),
    "int64": lambda: there(Y * 2**40),
    "uint8": lambda: there(Y.astype(np.uint8)),
    "bool": lambda: there(Y > 0),
    "float": lambda: there(Y * 2.0),
    "NumPy": lambda: Y - 1,
    "text": lambda: np.array(["low", "middle", "high"])[Y],
    "list": lambda: Y.tolist(),
}


@pytest.mark.parametrize("precise", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("kind", names_fast(LABELS, {"int64", "text"}))
@pytest.mark.usefixtures("elsewhere")
def test_labels_have_the_types_of_the_host(kind, precise):
    X, y = NORMAL, LABELS[kind]()
    on_host = np.asarray(y) if isinstance(y, jax.Array) else y
    with jax.enable_x64(precise):
        expected, found = nb.fit(nb.Gaussian(), X, on_host), nb.fit(nb.Gaussian(), there(X), y)
        assert found.classes.dtype == expected.classes.dtype
        assert [*map(type, found.classes.tolist())] == [*map(type, expected.classes.tolist())]
        np.testing.assert_array_equal(found.classes, expected.classes)
        np.testing.assert_allclose(found.predict_proba(there(X)), expected.predict_proba(X), atol=1e-12)
        np.testing.assert_array_equal(found.predict(there(X)), expected.predict(X))
        assert found.predict(there(X)).dtype == expected.predict(X).dtype


@pytest.mark.usefixtures("elsewhere")
def test_rows_without_a_label():
    y = np.where(np.arange(ROWS) % 5 == 0, np.nan, Y)
    with pytest.raises(ValueError, match="needs every label, and 140 rows have none"):
        nb.fit(nb.Gaussian(), there(NORMAL), there(y))
    expected = nb.fit(nb.Gaussian(), NORMAL, y, nb.EM())
    found = nb.fit(nb.Gaussian(), there(NORMAL), there(y), nb.EM())
    np.testing.assert_allclose(found.predict_proba(there(NORMAL)), expected.predict_proba(NORMAL), atol=1e-12)


# --------------------------------------------------------------------------------------------------
# Later rows, other columns
# --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("stays")
@pytest.mark.slow
def test_rows_are_added_and_taken_away():
    half = ROWS // 2
    found = nb.fit(nb.Gaussian(), there(NORMAL[:half]), there(Y[:half]), classes=3)
    found = found.update(there(NORMAL[half:]), there(Y[half:]))
    whole = nb.fit(nb.Gaussian(), NORMAL, Y)
    np.testing.assert_allclose(found.predict_proba(there(NORMAL)), whole.predict_proba(NORMAL), atol=1e-10)
    found = found.forget(there(NORMAL[:half]), there(Y[:half]))
    expected = nb.fit(nb.Gaussian(), NORMAL[half:], Y[half:])
    np.testing.assert_allclose(found.predict_proba(there(NORMAL)), expected.predict_proba(NORMAL), atol=1e-10)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.slow
def test_new_categories():
    X, later = GRADES[:350], GRADES[350:] + 1
    pairs = [(X, later, Y[:350], Y[350:]), tuple(map(there, (X, later, Y[:350], Y[350:])))]
    expected, found = (nb.fit(nb.Categorical(), a, ya).update(b, yb) for a, b, ya, yb in pairs)
    assert found.model.schema.categories == expected.model.schema.categories
    np.testing.assert_allclose(found.predict_proba(there(later)), expected.predict_proba(later), atol=1e-12)
    with pytest.warns(UserWarning, match="categor") as told:
        proba = expected.predict_proba(later + 2)
    with pytest.warns(UserWarning, match="categor") as also:
        np.testing.assert_allclose(found.predict_proba(there(later + 2)), proba, atol=1e-12)
    assert [str(each.message) for each in also] == [str(each.message) for each in told]


@pytest.mark.usefixtures("stays")
@pytest.mark.slow
def test_categories_of_rows_of_weight_zero_do_not_count():
    X, weights = GRADES.copy(), np.ones(ROWS)
    X[:9], weights[:9] = 99.0, 0.0
    expected = nb.fit(nb.Categorical(), X, Y, sample_weight=weights)
    found = nb.fit(nb.Categorical(), there(X), there(Y), sample_weight=there(weights))
    assert found.model.schema.categories == expected.model.schema.categories


MODELS = {
    "weighted features": lambda X: nb.weight_features(nb.fit(nb.Gaussian(), X, Y), X, Y),
    "inclusion": lambda X: nb.fit(nb.NaiveBayes(nb.Gaussian(), feature_inclusion=0.5), X, Y),
    "point": lambda X: nb.fit(nb.Gaussian(), X, Y, nb.MLE()),
    "draws": lambda X: nb.from_samples(nb.Gaussian(), nb.fit(nb.Gaussian(), X, Y).draws(num_draws=30), X=X, y=Y),
    "plugin": lambda X: nb.fit(nb.Gaussian(), X, Y).plugin(),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.usefixtures("stays")
def test_predictions_of_every_kind_of_posterior(kind):
    posterior = MODELS[kind](NORMAL)
    for method in ("predict_proba", "predict_log_proba", "log_joint", "predict"):
        found, expected = getattr(posterior, method)(there(NORMAL)), getattr(posterior, method)(NORMAL)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


# --------------------------------------------------------------------------------------------------
# Leave-one-out
# --------------------------------------------------------------------------------------------------

LOO_COPIED = (*COPIED, "joint categorical", "dirichlet multinomial")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", cases_fast([case for case in FAMILIES if case.can.closed], {"gaussian"}))
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.filterwarnings("ignore:.*rows lack a cell")
def test_leave_one_out(case, weighted, rng, copies):
    X = drawn(case, rng, gaps=weighted)
    weights = rng.integers(1, 5, ROWS) / 4 if weighted else None
    posterior = nb.fit(nb.NaiveBayes({"x": (case.default, slice(None))}), X, Y, sample_weight=weights)
    expected = nb.loo(posterior, X, Y, sample_weight=weights)
    found = nb.loo(posterior, there(X), there(Y), sample_weight=None if weights is None else there(weights))
    np.testing.assert_allclose(found.elpd_i, expected.elpd_i, atol=1e-9)
    np.testing.assert_allclose(found.p, expected.p, atol=1e-8)
    assert ((ROWS, 3) in copies) == (case.name in LOO_COPIED)


@pytest.mark.parametrize("family", [nb.Gaussian(), nb.Bernoulli(2.0, 2.0)], ids=["numbers", "bits"])
@pytest.mark.slow
def test_leave_one_out_where_little_remains(family, rng, copies):
    """A class of two rows, columns that vary in one row, and weights whose differences round."""
    y, weights = np.where(np.arange(60) < 2, 0, 1), rng.random(60)
    X = np.zeros((60, 3))
    X[7, 0] = X[0, 1] = 1.0
    X[:, 2] = rng.integers(0, 2, 60)
    posterior = nb.fit(family, X, y, sample_weight=weights)
    expected = nb.loo(posterior, X, y, sample_weight=weights)
    found = nb.loo(posterior, there(X), there(y), sample_weight=there(weights))
    np.testing.assert_allclose(found.elpd_i, expected.elpd_i, rtol=1e-9, atol=1e-12)
    assert X.shape not in copies


# --------------------------------------------------------------------------------------------------
# What copies a table
# --------------------------------------------------------------------------------------------------

OTHERS = {
    "proba_interval": lambda X, y: FITTED.proba_interval(X, num_draws=50),
    "explain": lambda X, y: FITTED.explain(X[:1])["log_odds"],
    "predict_set": lambda X, y: FITTED.predict_set(X, fitted=(NORMAL, Y)),
    "check": lambda X, y: nb.check(FITTED, X, y, num_replicates=20).table.select_dtypes("number"),
    "kfold": lambda X, y: nb.kfold(nb.Gaussian(), X, y).elpd_i,
    "weight_features": lambda X, y: nb.weight_features(FITTED, X, y).weights,
    "loo of weights": lambda X, y: nb.loo(nb.weight_features(FITTED, NORMAL, Y), X, y).elpd_i,
    "calibration": lambda X, y: nb.calibration(FITTED, X, y).table.select_dtypes("number"),
    "BernoulliNB": lambda X, y: BernoulliNB().fit(X, y).predict_proba(X),
    "partial_fit": lambda X, y: NaiveBayesClassifier().partial_fit(X, y, classes=[0, 1, 2]).predict_proba(X),
    "from_frame": lambda X, y: nb.fit(nb.NaiveBayes.from_frame(X, y), X, y).predict_proba(X),
    "fit with names": lambda X, y: nb.fit(nb.Gaussian(), X, y, feature_names=["a", "b", "c"]).predict_proba(X),
    "bind": lambda X, y: nb.NaiveBayes(nb.Gaussian()).bind(X, y).statistics(X, y).blocks[0].ssd,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.filterwarnings("ignore")
def test_all_else_gives_what_the_host_gives(name):
    expected, found = OTHERS[name](NORMAL, Y), OTHERS[name](there(NORMAL), there(Y))
    if hasattr(expected, "to_numpy"):
        expected, found = expected.to_numpy(), found.to_numpy()
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(expected, float), rtol=1e-9, atol=1e-12)


# --------------------------------------------------------------------------------------------------
# Estimators
# --------------------------------------------------------------------------------------------------


OPTIONS = {"default": {}, "without weights": {"feature_weights": None}, "given model": {"model": nb.Gaussian()}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPTIONS)
@pytest.mark.usefixtures("elsewhere")
def test_a_classifier_equals_that_of_the_host(kind):
    options = OPTIONS[kind]
    X = np.column_stack([NORMAL, GRADES[:, :1]]).astype(np.float32)
    expected = NaiveBayesClassifier(**options).fit(X, Y)
    found = NaiveBayesClassifier(**options).fit(there(X), there(Y))
    assert found.n_features_in_ == 4
    assert found.classes_.dtype == expected.classes_.dtype
    assert found.posterior_.model.features.keys() == expected.posterior_.model.features.keys()
    np.testing.assert_allclose(found.predict_proba(there(X)), expected.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(found.predict(there(X)), expected.predict(X))
    with pytest.raises(ValueError, match="2 features, but NaiveBayesClassifier is expecting 4"):
        found.predict(there(X[:, :2]))


@pytest.mark.usefixtures("stays")
def test_a_classifier_of_a_long_array_copies_a_sample(monkeypatch):
    monkeypatch.setattr(rows_elsewhere, "SAMPLE", 300)
    found = NaiveBayesClassifier(feature_weights=None).fit(there(NORMAL), there(Y), there(1.0 + Y))
    np.testing.assert_array_equal(found.class_count_, [234, 466, 699])
    expected = nb.fit(found.posterior_.model.description, NORMAL, Y, sample_weight=1.0 + Y)
    np.testing.assert_allclose(found.predict_proba(there(NORMAL)), expected.predict_proba(NORMAL), atol=1e-10)
    weighted = NaiveBayesClassifier(feature_weights="each").fit(there(NORMAL), there(Y))
    np.testing.assert_allclose(weighted.predict_proba(there(NORMAL)), weighted.predict_proba(NORMAL), atol=1e-10)


# --------------------------------------------------------------------------------------------------
# A second device
# --------------------------------------------------------------------------------------------------

SECOND = """
import jax
import jax.numpy as jnp
import numpy as np
import bayesnb as nb
from bayesnb.core import device_arrays

rng = np.random.default_rng(0)
X, y, weights = rng.normal(size=(500, 3)), np.arange(500) % 2, rng.random(500)
expected = nb.fit(nb.Gaussian(), X, y, sample_weight=weights)
known, scores = expected.predict_proba(X), nb.loo(expected, X, y, sample_weight=weights).elpd_i
first, second = jax.devices()
with jax.enable_x64(True):
    there = [jax.device_put(each, second) for each in (X, y, weights)]
for precise in (False, True):
    placed = set()
    run = device_arrays.DeviceArray.__init__
    def noted(self, array):
        run(self, array)
        placed.update(self.array.devices())
    device_arrays.DeviceArray.__init__ = noted
    with jax.enable_x64(precise), jax.default_device(first), jax.transfer_guard_device_to_host("disallow"):
        found = nb.fit(nb.Gaussian(), *there[:2], sample_weight=there[2])
        np.testing.assert_allclose(found.predict_proba(there[0]), known, atol=1e-10)
        elpd = nb.loo(found, *there[:2], sample_weight=there[2]).elpd_i
        np.testing.assert_allclose(elpd, scores, atol=1e-9)
    assert placed == {second}, placed
    device_arrays.DeviceArray.__init__ = run
    # An array on the first CPU, and one on both, are read as NumPy's.
    over_both = jax.sharding.NamedSharding(jax.make_mesh((2,), ("rows",)), jax.sharding.PartitionSpec("rows"))
    for place in (first, over_both):
        with jax.enable_x64(True):
            here = jax.device_put(X, place)
        np.testing.assert_array_equal(nb.fit(nb.Gaussian(), here, y, sample_weight=weights).predict_proba(here), known)
"""


@pytest.mark.slow
def test_a_second_device_computes():
    settings = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    subprocess.run([sys.executable, "-W", "error", "-c", SECOND], check=True, env=os.environ | settings)


# --------------------------------------------------------------------------------------------------
# Bad input
# --------------------------------------------------------------------------------------------------


def given_away():
    x = there(NORMAL)
    x.delete()
    return x


BAD = {
    "a cell outside the support": (
        lambda: nb.fit(nb.Poisson(), there(-COUNTS), there(Y)),
        "column 0, row 0: -.* Poisson",
    ),
    "infinite": (lambda: nb.fit(nb.Gaussian(), there(np.where(NORMAL > 2, np.inf, NORMAL)), Y), "inf"),
    "complex": (lambda: nb.fit(nb.Gaussian(), there(NORMAL * 1j), Y), "real and imaginary parts as columns"),
    "no rows": (lambda: nb.fit(nb.Gaussian(), there(NORMAL[:0]), Y[:0]), "X has no rows"),
    "no columns": (lambda: nb.fit(nb.Gaussian(), there(NORMAL[:, :0]), Y), "X has no columns"),
    "one axis": (lambda: nb.fit(nb.Gaussian(), there(NORMAL[:, 0]), Y), r"reshape\(-1, 1\)"),
    "other columns": (lambda: FITTED.predict_proba(there(NORMAL[:, :2])), "X has 2 columns, the model was fitted to 3"),
    "other columns of update": (lambda: FITTED.update(there(NORMAL[:, :2]), there(Y)), "X has 2 columns"),
    "fewer labels": (lambda: nb.fit(nb.Gaussian(), there(NORMAL), there(Y[:9])), "y has 9 labels, X has 700 rows"),
    "labels in columns": (lambda: nb.fit(nb.Gaussian(), there(NORMAL), there(NORMAL > 0)), r"y has shape \(700, 3\)"),
    "unknown label": (lambda: FITTED.update(there(NORMAL), there(Y + 1)), r"label 3 \(row 2\).*not among the classes"),
    "negative weight": (
        lambda: nb.fit(nb.Gaussian(), there(NORMAL), Y, sample_weight=there(np.where(Y == 1, -1.0, 1.0))),
        "sample_weight of row 1 is -1.0",
    ),
    "fewer weights": (
        lambda: nb.fit(nb.Gaussian(), there(NORMAL), Y, sample_weight=there(np.ones(9))),
        r"shape \(9,\)",
    ),
    "complex weights": (
        lambda: nb.fit(nb.Gaussian(), there(NORMAL), Y, sample_weight=there(np.ones(ROWS) * 1j)),
        "complex",
    ),
    "deleted": (lambda: nb.fit(nb.Gaussian(), given_away(), Y), "X is an array of JAX whose memory was given away"),
    "deleted in predict": (lambda: FITTED.predict(given_away()), "donate_argnums of jax.jit: give an array"),
    "deleted labels": (lambda: nb.fit(nb.Gaussian(), there(NORMAL), given_away()), "y is an array .* given away"),
    "rows never added": (lambda: FITTED.forget(there(NORMAL + 9), there(Y)), "never among the data"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.usefixtures("elsewhere")
def test_bad_input_is_named(name):
    call, words = BAD[name]
    with pytest.raises((TypeError, ValueError), match=words):
        call()
