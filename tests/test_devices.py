"""Programs run on the CPU, whatever JAX's default device is, except NUTS and functions of arrays."""

import warnings
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from jax.experimental.sparse import BCOO
from slow import names_fast

import bayesnb as nb

KEY = jax.random.key(0)
rng = np.random.default_rng(8)
Y = np.arange(60) % 3
NORMAL = rng.normal(size=(60, 3)) + Y[:, None]
COUNTS = rng.poisson(2.0 + Y[:, None], (60, 3))
ANGLES = np.clip(NORMAL, -3, 3)
SHARES = rng.beta(2.0, 3.0, (60, 3))
FRAME = pd.DataFrame({"a": NORMAL[:, 0], "b": COUNTS[:, 0], "c": np.array(["x", "y", "z"])[Y]})
HALF = np.ma.masked_array(Y, np.arange(60) % 2 == 0)


def fitted(family=None, X=NORMAL):
    return nb.fit(family or nb.Gaussian(), X, Y)


CALLS = {
    "predict_proba of many rows": lambda: fitted().predict_proba(np.resize(NORMAL, (2**20 // 3 + 1, 3))),
    "from_frame": lambda: nb.fit(nb.NaiveBayes.from_frame(FRAME, Y), FRAME, Y).predict_proba(FRAME),
    "loo": lambda: nb.loo(fitted(), NORMAL, Y),
    "kfold": lambda: nb.kfold(nb.Gaussian(), NORMAL, Y),
    "check": lambda: nb.check(fitted(), NORMAL, Y, num_replicates=50),
    "simulate": lambda: fitted(nb.MultivariateGaussian()).simulate(num_rows=9, key=0),
    "simulate with a key": lambda: fitted().simulate(num_rows=9, key=KEY),
    "proba_interval": lambda: fitted(nb.MultivariateGaussian()).proba_interval(NORMAL[:9]),
    "summary": lambda: fitted(nb.Poisson(), COUNTS).summary(),
    "explain": lambda: fitted().explain(NORMAL[0]),
    "telling_features": lambda: nb.telling_features(fitted()),
    "plot_prior_posterior": lambda: nb.plot_prior_posterior(fitted()),
    "MAP of Gamma": lambda: nb.fit(nb.Gamma(), np.exp(NORMAL), Y, nb.MAP()).predict_proba(np.exp(NORMAL)),
    "MAP of Beta": lambda: nb.fit(nb.Beta(), SHARES, Y, nb.MAP()).predict_proba(SHARES),
    "MAP of VonMises": lambda: nb.fit(nb.VonMises(), ANGLES, Y, nb.MAP()).predict_proba(ANGLES),
    "EM": lambda: nb.fit(nb.Gamma(), np.exp(NORMAL), HALF, nb.EM()),
    "Gibbs": lambda: nb.fit(nb.Gaussian(), NORMAL, HALF, nb.Gibbs(num_samples=20, progress=False)),
    "EmpiricalBayes": lambda: nb.fit(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0), COUNTS, Y, nb.EmpiricalBayes()),
    "NaiveBayesClassifier": lambda: nb.NaiveBayesClassifier().fit(NORMAL, Y).predict_proba(NORMAL),
}


@pytest.fixture
def no_default_device():
    """JAX's default device is of a kind that is not there: what is compiled for it, or copied to it, is an error."""
    if jax.default_backend() == "tpu":
        pytest.skip("the default device is there")
    with jax.default_device("tpu"):
        with pytest.raises(RuntimeError, match=r"[Bb]ackend '?tpu"):
            jnp.zeros(1)
        yield


@pytest.mark.parametrize("name", names_fast(CALLS, {"predict_proba of many rows", "kfold", "simulate", "MAP of Gamma"}))
@pytest.mark.usefixtures("no_default_device")
@pytest.mark.filterwarnings("ignore")
def test_tables_in_the_processors_memory_stay_there(name):
    CALLS[name]()


@pytest.mark.usefixtures("no_default_device")
def test_nuts_runs_on_the_default_device(coins):
    with pytest.raises(RuntimeError, match=r"[Bb]ackend '?tpu") as error:
        nb.fit(*coins, nb.NUTS(num_warmup=5, num_samples=5, progress=False))
    assert "sample" in [entry.name for entry in error.traceback]


def test_arrays_of_jax_are_computed_where_they_lie():
    log_joint = fitted().log_joint_function()
    there = jax.device_put(NORMAL, jax.devices("cpu")[0])
    expected = log_joint(NORMAL)
    with jax.default_device("tpu"):
        np.testing.assert_array_equal(log_joint(there), expected)


def test_one_warning_where_jax_has_no_cpu():
    before = jax.config.jax_platforms
    jax.config.update("jax_platforms", "cuda")
    try:
        with pytest.warns(RuntimeWarning, match="JAX_PLATFORMS is 'cuda', .*JAX_PLATFORMS=cuda,cpu") as caught:
            first = fitted().predict_proba(NORMAL)
        assert [each.filename for each in caught] == [__file__]
        with warnings.catch_warnings(action="error"):
            np.testing.assert_array_equal(fitted().predict_proba(NORMAL), first)
    finally:
        jax.config.update("jax_platforms", before)


class Tensor:
    """As a tensor of torch in a GPU's memory."""

    __cuda_array_interface__ = None
    shape, ndim, copied = (60, 3), 2, r"copy it to the CPU, with \.cpu\(\), or .*jax\.numpy\.from_dlpack"

    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def __len__(self):
        return 60


class OnMetal(Tensor):
    """As a tensor of torch on a device that is not NVIDIA's."""

    device = SimpleNamespace(type="mps")
    __cuda_array_interface__ = property(lambda self: self.none)


class CupyArray(Tensor):
    """As an array of CuPy."""

    device, copied = 0, r"copy it to the CPU, with \.get\(\), or"

    def get(self):
        return NORMAL


SPARSE = r"BCOO, a sparse array of JAX: .*\.todense\(\)"
UNREADABLE = {
    "torch": Tensor(),
    "torch on Metal": OnMetal(),
    "CuPy": CupyArray(),
    "BCOO": BCOO.fromdense(jnp.asarray(NORMAL)),
}
ARGUMENTS = {
    "X": lambda of: nb.fit(nb.Gaussian(), of, Y),
    "X of predict_proba": lambda of: fitted().predict_proba(of),
    "X of an estimator": lambda of: nb.NaiveBayesClassifier().fit(of, Y),
    "y": lambda of: nb.fit(nb.Gaussian(), NORMAL, of),
    "y of an estimator": lambda of: nb.NaiveBayesClassifier().fit(NORMAL, of),
    "sample_weight": lambda of: nb.fit(nb.Gaussian(), NORMAL, Y, sample_weight=of),
    "sample_weight of an estimator": lambda of: nb.NaiveBayesClassifier().fit(NORMAL, Y, sample_weight=of),
    "x": lambda of: fitted().log_joint_function()(of),
    "class_probs": lambda of: nb.NaiveBayes(nb.Gaussian(), class_probs=of),
    "class_concentration": lambda of: nb.NaiveBayes(nb.Gaussian(), class_concentration=of),
    "loc": lambda of: nb.Gaussian(loc=of),
    "parameters": lambda of: nb.from_parameters(
        nb.Bernoulli(), classes=[0, 1], class_probs=[0.5, 0.5], parameters={"prob": of}, columns=["a", "b", "c"]
    ),
    "samples": lambda of: nb.from_samples(
        nb.Bernoulli(), {"class_prob": np.full((9, 3), 1 / 3), "x_prob": of}, X=COUNTS > 2, y=Y
    ),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("kind", UNREADABLE)
def test_arrays_that_numpy_cannot_read_are_named_with_the_way_out(argument, kind):
    with pytest.raises(TypeError, match=getattr(UNREADABLE[kind], "copied", SPARSE)) as error:
        ARGUMENTS[argument](UNREADABLE[kind])
    named = "x_prob" if argument in ("parameters", "samples") else argument.partition(" ")[0]
    assert named in str(error.value).partition(" is ")[0]
