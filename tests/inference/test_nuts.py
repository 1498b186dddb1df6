"""NUTS on statistics, and the comparison that judges it."""

import os
import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import bayesnb as nb
from bayesnb.families.distributions import BetaOfLogs, Logistic
from bayesnb.inference import nuts
from bayesnb.inference.nuts import with_good_paths

FEW = nb.NUTS(num_samples=50)
"""For tests that judge no draws; they share a compiled sampler."""


quiet = pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
"""For few draws, whose warnings say nothing."""


@pytest.fixture(scope="module")
def sampled_penguins(penguins):
    """One model of the penguins, in closed form and sampled."""
    X, y = penguins
    model = nb.NaiveBayes.from_frame(X)
    return nb.fit(model, X, y), nb.fit(model, X, y, nb.NUTS(), key=1)


@pytest.fixture(scope="module")
def comparison(penguins, sampled_penguins):
    return nb.compare(*sampled_penguins, penguins[0][::4])


def test_it_agrees_with_the_closed_form_and_other_draws_do_not(coins):
    """As sharp as it is calm: class probabilities of draws of another prior, to a power, are told apart."""
    model, X, y = coins
    exact, sampled = nb.fit(model, X, y), nb.fit(model, X, y, nb.NUTS(), key=1)
    comparison = nb.compare(exact, sampled, X[:5])
    assert comparison.agree, comparison.verdict
    assert comparison.probabilities["z"].abs().max() < 5
    other = nb.NaiveBayes(nb.Bernoulli(), class_concentration=1.5)
    shifted = nb.fit(other, X, y).draws(num_draws=1000, key=5)["class_prob"] ** 1.2
    draws = {**sampled.draws(), "class_prob": shifted / shifted.sum(-1, keepdims=True)}
    assert not nb.compare(exact, nb.from_samples(model, draws, X=X, y=y)).agree


@pytest.mark.slow
def test_the_mixed_model_of_the_penguins_agrees(sampled_penguins, comparison):
    _, sampled = sampled_penguins
    assert comparison.verdict.startswith("YES"), comparison.verdict
    assert len(comparison.table) == 42
    assert "island_prob[Adelie, Biscoe]" in comparison.table.index
    np.testing.assert_allclose(comparison.table["exact_mean"], comparison.table["sampled_mean"], rtol=0.05, atol=0.01)
    np.testing.assert_allclose(comparison.table["exact_sd"], comparison.table["sampled_sd"], rtol=0.1)
    assert comparison.probabilities.shape == (86 * 3, 8)
    assert sampled.sample_stats["diverging"].shape == (4, 1000)
    assert not sampled.sample_stats["diverging"].any()


PRIORS = {
    "the priors of x differ": nb.NaiveBayes(nb.Bernoulli(1.5, 1.0)),
    "the priors of class_prob differ": nb.NaiveBayes(nb.Bernoulli(), class_concentration=[3.0, 1.0]),
    "the data differ": nb.NaiveBayes(nb.Bernoulli()),
}


@pytest.mark.parametrize("told", PRIORS)
@pytest.mark.parametrize("recorded", [True, False])
def test_another_prior_and_other_data_are_told(coins, told, recorded):
    """They are named if the draws know them."""
    model, X, y = coins
    number = 36 if told == "the data differ" else 40
    draws = nb.fit(PRIORS[told], X[:number], y[:number]).draws(num_draws=2500, key=3)
    number = number if recorded else 40
    prior = PRIORS[told] if recorded else model
    comparison = nb.compare(nb.fit(model, X, y), nb.from_samples(prior, draws, X=X[:number], y=y[:number]))
    assert comparison.verdict.startswith("NO")
    assert (told in comparison.verdict) == recorded
    if number == 40:
        assert not comparison.agree
        assert "the mean of" in comparison.verdict
        assert comparison.table["z_mean"].abs().max() > comparison.critical_z


def test_models_that_order_their_columns_differently_are_compared_by_name(penguins):
    X, y = penguins
    one = nb.NaiveBayes({"body_mass_g": nb.Gaussian(), "bill_length_mm": nb.Gaussian()})
    exact = nb.fit(one, X, y)

    def compared(bill, rows=slice(None)):
        model = nb.NaiveBayes({"bill_length_mm": bill, "body_mass_g": nb.Gaussian()})
        draws = nb.fit(model, X[rows], y[rows]).draws(key=4)
        return nb.compare(exact, nb.from_samples(model, draws, X=X[rows], y=y[rows]))

    assert compared(nb.Gaussian()).agree
    assert "the priors of bill_length_mm differ" in compared(nb.Gaussian(loc=9.0)).verdict
    verdict = compared(nb.Gaussian(), slice(300)).verdict
    assert "the data differ" in verdict
    assert "priors" not in verdict  # the same defaults, which follow other data


def test_too_few_draws_and_stuck_or_far_chains_are_no_yes(coins):
    model, X, y = coins
    exact = nb.fit(model, X, y)

    def compared(draws):
        return nb.compare(exact, nb.from_samples(model, draws, X=X, y=y))

    assert re.match("UNDECIDED.*ESS", compared(exact.draws(num_draws=20, key=1)).verdict, re.DOTALL)
    apart = exact.draws(num_draws=1000, key=1)
    apart["x_prob"] = apart["x_prob"] * np.array([0.7, 1.0, 1.0, 1.0])[:, None, None, None]
    assert not compared(apart).agree
    assert not compared({name: np.repeat(value[:, :1], 1000, axis=1) for name, value in apart.items()}).agree
    far = compared(nb.fit(nb.NaiveBayes(nb.Bernoulli(1e6, 1.0)), X, y).draws(key=1))
    assert far.verdict.startswith("NO")
    assert "inf" not in far.verdict


@quiet
def test_a_second_fit_of_the_same_shape_does_not_compile(coins):
    model, X, y = coins
    nb.fit(model, X, y, FEW)
    before = nuts._advance.made()._cache_size()
    nb.fit(nb.NaiveBayes(nb.Bernoulli(2.0, 3.0)), 1 - X, y, FEW, key=1)
    assert nuts._advance.made()._cache_size() == before


def test_the_beta_density_in_float32():
    with jax.enable_x64(True):
        density = BetaOfLogs(jnp.asarray([2.0, 0.5]), jnp.asarray([3.0, 1.0]))
    values = jnp.asarray([0.2, 0.7])
    found = jax.jit(density.log_prob)(values)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, stats.beta.logpdf([0.2, 0.7], [2, 0.5], [3, 1]), rtol=1e-5)
    slope = jax.jit(jax.grad(lambda x: density.log_prob(x).sum()))(values)
    np.testing.assert_allclose(slope, [1 / 0.2 - 2 / 0.8, -0.5 / 0.7], rtol=1e-5)


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 4e-8), (np.float32, 1e-3)])
def test_the_derivative_of_the_logistic_function(dtype, atol):
    x = np.linspace(-90, 90, 2401)

    def log_derivative(x):
        return Logistic().log_abs_det_jacobian(x, Logistic()(x))

    with jax.enable_x64(dtype == np.float64):
        values, slopes = jax.jit(jax.vmap(jax.value_and_grad(log_derivative)))(jnp.asarray(x, dtype))
    assert values.dtype == dtype
    np.testing.assert_allclose(values, -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))), atol=atol, rtol=1e-6)
    np.testing.assert_allclose(slopes, -np.tanh(x / 2), atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "rtol"),
    [
        ("_vectorised", lambda: True, 1e-9),  # two programs agree to that if XLA optimises them, as in the slow suite
        ("LONG", 0.0, 0.0),
    ],
)
@quiet
def test_draws_are_the_same_however_they_are_made(coins, monkeypatch, name, value, rtol):
    """Of chains side by side or in threads, and of few or many steps in a call."""
    # Few steps, before rounding grows: trajectories that differ in the last digit part later on.
    settings = nb.NUTS(num_warmup=10, num_samples=20)
    usual = nb.fit(*coins, settings)
    monkeypatch.setattr(nuts, name, value)
    other = nb.fit(*coins, settings)
    for site, draws in usual.draws().items():
        np.testing.assert_allclose(other.draws()[site], draws, rtol=rtol)


@pytest.mark.parametrize(("classes", "number"), [("ab", 1), ("abc", 4)])
def test_each_chain_has_a_start_of_its_own_where_a_class_has_no_label(monkeypatch, classes, number):
    class EnoughError(Exception):
        pass

    def starts(number):
        raise EnoughError(number)

    monkeypatch.setattr(nuts, "chain_quantiles", starts)
    with pytest.raises(EnoughError, match=str(number)):
        nb.fit(nb.Bernoulli(), [[0], [1], [1]], ["a", "b", None], nb.NUTS(), classes=[*classes])


@quiet
@pytest.mark.slow
def test_the_first_steps_know_the_density_of_their_point(coins):
    """Without it they are all refused, and the step size goes to zero."""
    sampled = nb.fit(*coins, nb.NUTS(num_warmup=10, num_samples=20))
    assert sampled.sample_stats["step_size"].min() > 0.1


def test_bad_chains_are_called_bad(coins):
    now = r"num_warmup \(now 150\), num_samples \(now 50\), target_accept_prob \(now 0.6\), max_tree_depth \(now 10\)"
    with pytest.warns(nb.ConvergenceWarning, match=rf"NUTS: .*(R-hat|ESS).* {now}. nb.Exact\(\) needs no sampling"):
        nb.fit(*coins, FEW)


def test_sampled_posteriors_update_by_sampling_the_merged_statistics(coins):
    model, X, y = coins
    sampled = nb.fit(model, X[:20], y[:20], nb.NUTS()).update(X[20:], y[20:], key=7)
    assert nb.compare(nb.fit(model, X, y), sampled).agree
    assert nb.compare(nb.fit(model, X[:20], y[:20]), sampled.forget(X[20:], y[20:], key=8)).agree


@pytest.mark.slow
def test_known_class_probabilities_are_not_sampled(coins):
    _, X, y = coins
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.25, 0.75])
    sampled = nb.fit(model, X, y, nb.NUTS(), key=2)
    assert nb.compare(nb.fit(model, X, y), sampled).agree
    np.testing.assert_array_equal(sampled.draws()["class_prob"][0, 0], [0.25, 0.75])


@quiet
def test_interruption_leaves_nothing_broken(coins, monkeypatch):
    calls, advance = [], nuts._advance

    def interrupted(*args, **kwargs):
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return advance(*args, **kwargs)

    monkeypatch.setattr(nuts, "_advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        nb.fit(*coins, FEW)
    monkeypatch.setattr(nuts, "_advance", advance)
    assert not jax.config.jax_enable_x64
    assert nb.fit(*coins, FEW).num_draws == 50


@quiet
def test_progress_says_compiling_before_anything_is_compiled(coins, capsys, monkeypatch):
    nb.fit(*coins, FEW)
    assert "NUTS" not in capsys.readouterr().err
    begin, seen = nuts._start_state, []

    def noted(*args, **kwargs):
        seen.append(capsys.readouterr().err)
        return begin(*args, **kwargs)

    monkeypatch.setattr(nuts, "_start_state", noted)
    nb.fit(*coins, nb.NUTS(num_samples=50, progress=True))
    assert len(seen) == (1 if nuts._vectorised() else 4), "one for each chain, or for all side by side"
    assert "NUTS: compiling" in seen[0]
    last = capsys.readouterr().err.split("\r")[-1]
    assert "compiling" not in last
    assert "NUTS: 100%" in last
    assert "800/800" in last


@pytest.mark.slow
@pytest.mark.parametrize("first", ["arviz", "bayesnb", "arviz, numpyro.distributions"])
def test_arviz_may_be_imported_before_or_after(first):
    code = f"import {first}\nimport arviz\nimport bayesnb as nb\nfrom bayesnb import estimators\n"
    code += "nb.fit(nb.Bernoulli(), [[0], [1]], [0, 1])\nimport numpyro\nnumpyro.distributions.distribution.Unit"
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "JAX_PLATFORMS": "cpu"})


def test_import_is_light_and_leaves_jax_as_it_was():
    code = """
        import sys
        import jax
        before = dict(jax.config.values)
        import bayesnb as nb
        loaded = [name for name in ("sklearn", "arviz", "pandas", "matplotlib", "xarray") if name in sys.modules]
        assert not loaded, loaded
        nb.fit(nb.NaiveBayes(nb.Gaussian()), [[1.0], [2.0]], [0, 1]).predict_proba([[1.5]])
        nb.fit_batches(nb.Bernoulli(), [([[0], [1]], [0, 1])])
        heavy = ("sklearn", "arviz", "pandas", "matplotlib", "dask", "pyarrow.parquet")
        loaded = [name for name in heavy if name in sys.modules]
        assert not loaded, loaded
        assert dict(jax.config.values) == before
        import jax.numpy as jnp
        assert jnp.ones(2).dtype == "float32"
    """
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)], check=True, env=environment)


@pytest.mark.parametrize("size", [1, 2**16, 2**30])
def test_a_call_draws_few_steps_of_many_values(size):
    state = SimpleNamespace(z={"x": np.broadcast_to(0.0, size // 2), "y": np.broadcast_to(0.0, size - size // 2)})
    steps = nuts._most_steps(state)
    assert nuts.FIRST_STEPS <= steps <= nuts.MOST_STEPS
    assert steps == nuts.FIRST_STEPS or steps * size <= nuts.MOST_CELLS
    assert steps == nuts.MOST_STEPS or 2 * steps * size >= nuts.MOST_CELLS


def test_a_scale_that_is_known_is_not_learned_in_the_warmup():
    def settings(given, knows_scale):
        return given._settings(SimpleNamespace(knows_scale=knows_scale, program=None))[2:]

    assert settings(nb.NUTS(), True) == (150, 0.6, 10, False)
    assert settings(nb.NUTS(), False) == (500, 0.8, 10, True)
    assert settings(nb.NUTS(num_warmup=70, target_accept_prob=0.9), True) == (70, 0.9, 10, False)


def test_a_step_becomes_at_most_a_third_smaller():
    steps = np.geomspace(0.003, 2.5, 4000)
    good = np.array([with_good_paths(step) for step in steps])
    assert (good <= steps).all()
    assert (good[steps < 1.5] > 0.63 * steps[steps < 1.5]).all()
    assert [with_good_paths(step) for step in good] == pytest.approx(good, abs=0)
    # About a third of all step sizes have bad paths.
    assert 0.2 < (good < steps).mean() < 0.5
    assert (good[(steps > 0.38) & (steps < 0.5)] < 0.35).all()
    assert (good[(steps > 0.8) & (steps < 1.0)] < 0.75).all()
    kept = (steps > 0.51) & (steps < 0.73) | (steps > 0.24) & (steps < 0.35) | (steps > 1.03) & (steps < 1.5)
    assert (good[kept] == steps[kept]).all()


@quiet
def test_nuts_takes_such_steps_after_the_warmup_where_the_scale_is_known(coins, monkeypatch):
    usual = nb.fit(*coins, FEW, key=3)
    monkeypatch.setattr(nuts, "with_good_paths", lambda step: step / 2)
    halved = nb.fit(*coins, FEW, key=3)
    before, after = usual.sample_stats["step_size"], halved.sample_stats["step_size"]
    np.testing.assert_allclose(after, np.broadcast_to(after[:, :1], (4, 50)))
    assert [with_good_paths(2 * step) for step in after[:, 0]] == pytest.approx(before[:, 0])
