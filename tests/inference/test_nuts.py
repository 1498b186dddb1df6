"""NUTS on statistics, and the comparison that judges it."""

import os
import subprocess
import sys
import textwrap
import warnings
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from cases import CASES
from scipy import stats
from slow import cases_fast

import bayesnb as nb
from bayesnb.families.distributions import Beta, Logistic
from bayesnb.inference import nuts


@pytest.fixture(scope="module")
def sampled_penguins(penguins):
    """One model of the penguins, in closed form and sampled."""
    X, y = penguins
    model = nb.NaiveBayes.from_frame(X)
    return nb.fit(model, X, y), nb.fit(model, X, y, nb.NUTS(), key=1)


@pytest.fixture(scope="module")
def comparison(penguins, sampled_penguins):
    return nb.compare(*sampled_penguins, penguins[0][::4])


# The penguins have numbers and categories. Flags have the shape of `coins`, so that they share a compiled sampler.
@pytest.mark.parametrize("case", cases_fast(CASES, {"bernoulli"}))
def test_every_family_agrees_with_its_closed_form(case):
    rng = np.random.default_rng(4)
    X, y = case.cells(rng, 30), rng.integers(0, 2, 30)
    model = nb.NaiveBayes(case.default)
    exact = nb.fit(model, X, y)
    sampled = nb.fit(model, X, y, nb.NUTS(), key=1)
    comparison = nb.compare(exact, sampled, X[:5])
    assert comparison.agree, comparison.verdict
    assert comparison.probabilities["z"].abs().max() < 5
    # As sharp as it is calm: draws of the prior shifted by a half are told apart.
    kept = {name: value for name, value in sampled.draws().items() if name != "class_prob"}
    other = nb.NaiveBayes(case.default, class_concentration=1.5)
    shifted = nb.fit(other, X, y).draws(num_draws=1000, key=5)["class_prob"]
    biased = nb.from_samples(
        model, {**kept, "class_prob": shifted**1.2 / (shifted**1.2).sum(-1, keepdims=True)}, X=X, y=y
    )
    assert not nb.compare(exact, biased).agree


def test_the_mixed_model_of_the_penguins_agrees(sampled_penguins, comparison):
    _, sampled = sampled_penguins
    assert comparison.agree, comparison.verdict
    assert comparison.verdict.startswith("YES")
    assert len(comparison.table) == 42
    assert {"exact_mean", "sampled_mean", "exact_sd", "sampled_sd", "z_mean", "z_sd"} <= set(comparison.table)
    assert "island_prob[Adelie, Biscoe]" in comparison.table.index
    np.testing.assert_allclose(comparison.table["exact_mean"], comparison.table["sampled_mean"], rtol=0.05, atol=0.01)
    assert comparison.probabilities.shape == (86 * 3, 8)
    assert "YES" in repr(comparison)
    assert "<table" in comparison._repr_html_()
    assert sampled.sample_stats["diverging"].shape == (4, 1000)
    assert not sampled.sample_stats["diverging"].any()


def test_the_picture_of_a_comparison(comparison):
    figure = comparison.plot(max_panels=6)
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert len(panels) == 6
    rows, columns = figure.axes[0].get_gridspec().get_geometry()
    assert (rows - 1) * columns < 6 <= rows * columns
    assert all(len(axis.lines) == 1 and len(axis.patches) == 40 for axis in panels)
    for axis in panels:
        heights, line = [patch.get_height() for patch in axis.patches], axis.lines[0].get_ydata()
        assert max(heights) == pytest.approx(max(line), rel=0.35)


def test_a_panel_names_the_difference_for_which_it_is_shown(comparison):
    off = comparison.table[["z_mean", "z_sd", "z_skew", "z_tails"]].abs()
    told = {}
    expected = off.max(axis=1).nlargest(8)
    for axis in comparison.plot(max_panels=8).axes:
        if axis.get_title():
            *label, difference = axis.get_title().split("\n")
            _, name, number = difference.split()
            told["".join(label).replace(" ", "")] = name, abs(float(number))
    assert list(told) == [label.replace(" ", "") for label in expected.index], "the largest first"
    for label, (name, number) in zip(expected.index, told.values(), strict=True):
        assert off.loc[label].idxmax() == f"z_{name}"
        assert number == pytest.approx(off.loc[label].max(), abs=0.06)


@pytest.mark.parametrize(
    ("prior", "what"),
    [
        (nb.NaiveBayes(nb.Bernoulli(1.5, 1.0)), "x"),
        (nb.NaiveBayes(nb.Bernoulli(), class_concentration=[3.0, 1.0]), "class_prob"),
    ],
    ids=["feature", "class"],
)
@pytest.mark.parametrize("recorded", [True, False])
def test_another_prior_is_told(coins, prior, what, recorded):
    model, X, y = coins
    exact = nb.fit(model, X, y)
    other = nb.fit(prior, X, y)
    draws = other.draws(num_draws=2500, key=3)
    comparison = nb.compare(exact, nb.from_samples(prior if recorded else model, draws, X=X, y=y))
    assert not comparison.agree
    assert comparison.verdict.startswith("NO")
    assert (f"the priors of {what} differ" in comparison.verdict) == recorded
    assert "the mean of" in comparison.verdict
    assert comparison.table["z_mean"].abs().max() > comparison.critical_z


def test_models_that_order_their_columns_differently_are_compared_by_name(penguins):
    X, y = penguins
    one = nb.NaiveBayes({"body_mass_g": nb.Gaussian(), "bill_length_mm": nb.Gaussian()})
    other = nb.NaiveBayes({"bill_length_mm": nb.Gaussian(), "body_mass_g": nb.Gaussian()})
    draws = nb.from_samples(other, nb.fit(other, X, y).draws(key=4), X=X, y=y)
    assert nb.compare(nb.fit(one, X, y), draws).agree
    apart = nb.NaiveBayes({"bill_length_mm": nb.Gaussian(loc=9.0), "body_mass_g": nb.Gaussian()})
    comparison = nb.compare(nb.fit(one, X, y), nb.from_samples(apart, nb.fit(apart, X, y).draws(key=4), X=X, y=y))
    assert "the priors of bill_length_mm differ" in comparison.verdict
    fewer = nb.from_samples(other, nb.fit(other, X[:300], y[:300]).draws(key=4), X=X[:300], y=y[:300])
    verdict = nb.compare(nb.fit(one, X, y), fewer).verdict
    assert "the data differ" in verdict
    assert "priors" not in verdict  # the same defaults, which follow other data


def test_draws_far_from_anything_give_a_verdict_without_warnings(coins):
    model, X, y = coins
    far = nb.from_samples(model, nb.fit(nb.NaiveBayes(nb.Bernoulli(1e6, 1.0)), X, y).draws(key=1), X=X, y=y)
    comparison = nb.compare(nb.fit(model, X, y), far)
    assert comparison.verdict.startswith("NO")
    assert "inf" not in comparison.verdict


@pytest.mark.parametrize("recorded", [True, False])
def test_other_data_are_told(coins, recorded):
    model, X, y = coins
    exact = nb.fit(model, X, y)
    fewer = X[:36], y[:36]
    draws = nb.fit(model, *fewer).draws(num_draws=2500, key=3)
    X_told, y_told = fewer if recorded else (X, y)
    comparison = nb.compare(exact, nb.from_samples(model, draws, X=X_told, y=y_told))
    assert not comparison.agree
    assert ("the data differ" in comparison.verdict) == recorded


def test_too_few_draws_and_stuck_chains_are_no_yes(coins):
    model, X, y = coins
    exact = nb.fit(model, X, y)
    few = nb.from_samples(model, exact.draws(num_draws=20, key=1), X=X, y=y)
    comparison = nb.compare(exact, few)
    assert not comparison.agree
    assert comparison.verdict.startswith("UNDECIDED")
    assert "ESS" in comparison.verdict
    apart = exact.draws(num_draws=1000, key=1)
    apart["x_prob"] = apart["x_prob"] * np.array([0.7, 1.0, 1.0, 1.0])[:, None, None, None]
    assert not nb.compare(exact, nb.from_samples(model, apart, X=X, y=y)).agree
    constant = {name: np.broadcast_to(value[:, :1], value.shape).copy() for name, value in apart.items()}
    assert not nb.compare(exact, nb.from_samples(model, constant, X=X, y=y)).agree


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "most"), [(20, 5), (100, 12)])
def test_exact_draws_agree_at_the_stated_rate(coins, runs, most):
    """Independent draws of the posterior itself: verdicts at error rate 0.05, of a hundred at most a dozen wrong."""
    model, X, y = coins
    exact = nb.fit(model, X, y)
    wrong = sum(
        not nb.compare(
            exact, nb.from_samples(model, exact.draws(num_draws=500, key=k), X=X, y=y), error_rate=0.05, key=k
        ).agree
        for k in range(runs)
    )
    assert wrong <= most


def test_compare_refuses_what_cannot_be_compared(coins):
    model, X, y = coins
    exact = nb.fit(model, X, y)
    sampled = nb.from_samples(model, exact.draws(num_draws=50), X=X, y=y)
    with pytest.raises(TypeError, match="as exact, needs the closed form"):
        nb.compare(sampled, exact)
    with pytest.raises(TypeError, match="as sampled, needs"):
        nb.compare(exact, nb.fit(model, X, y, nb.MAP()))
    with pytest.raises(ValueError, match="one chain"):
        nb.compare(exact, nb.from_samples(model, exact.draws(num_chains=1), X=X, y=y))
    with pytest.raises(ValueError, match="classes differ"):
        nb.compare(nb.fit(model, X, y + 1), sampled)
    with pytest.raises(ValueError, match="parameters differ"):
        nb.compare(nb.fit(nb.NaiveBayes({0: nb.Bernoulli()}), X, y), sampled)


def test_a_second_fit_of_the_same_shape_does_not_compile(coins):
    model, X, y = coins
    settings = nb.NUTS(num_samples=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.ConvergenceWarning)
        nb.fit(model, X, y, settings)
        before = nuts._advance._cache_size()
        nb.fit(nb.NaiveBayes(nb.Bernoulli(2.0, 3.0)), 1 - X, y, settings, key=1)
    assert nuts._advance._cache_size() == before


def test_the_beta_density_in_float32():
    with jax.enable_x64(True):
        density = Beta(jax.numpy.asarray([2.0, 0.5]), jax.numpy.asarray([3.0, 1.0]))
    values = jax.numpy.asarray([0.2, 0.7])
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
        values, slopes = jax.jit(jax.vmap(jax.value_and_grad(log_derivative)))(jax.numpy.asarray(x, dtype))
    assert values.dtype == dtype
    np.testing.assert_allclose(values, -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))), atol=atol, rtol=1e-6)
    np.testing.assert_allclose(slopes, -np.tanh(x / 2), atol=atol)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "rtol"),
    [
        # Two programs agree to 1e-9 if XLA optimises them, as in the slow suite.
        pytest.param(
            *("_vectorised", lambda: True, 1e-9),
            id="chains side by side draw what chains in threads draw",
        ),
        pytest.param("LONG", 0.0, 0.0, id="draws do not depend on the steps of a call"),
    ],
)
def test_draws_are_the_same_however_they_are_made(coins, monkeypatch, name, value, rtol):
    model, X, y = coins
    # Few steps, before rounding grows: trajectories that differ in the last digit part later on.
    settings = nb.NUTS(num_warmup=10, num_samples=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.ConvergenceWarning)
        usual = nb.fit(model, X, y, settings)
        monkeypatch.setattr(nuts, name, value)
        other = nb.fit(model, X, y, settings)
    for site, draws in usual.draws().items():
        np.testing.assert_allclose(other.draws()[site], draws, rtol=rtol)


def test_bad_chains_are_called_bad(coins):
    model, X, y = coins
    with pytest.warns(nb.ConvergenceWarning, match=r"R-hat|ESS"):
        nb.fit(model, X, y, nb.NUTS(num_samples=50))


def test_sampled_posteriors_update_by_sampling_the_merged_statistics(coins):
    model, X, y = coins
    settings = nb.NUTS()
    sampled = nb.fit(model, X[:20], y[:20], settings).update(X[20:], y[20:], key=7)
    assert nb.compare(nb.fit(model, X, y), sampled).agree
    assert nb.compare(nb.fit(model, X[:20], y[:20]), sampled.forget(X[20:], y[20:], key=8)).agree


@pytest.mark.slow
def test_known_class_probabilities_are_not_sampled(coins):
    _, X, y = coins
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.25, 0.75])
    exact, sampled = nb.fit(model, X, y), nb.fit(model, X, y, nb.NUTS(), key=2)
    comparison = nb.compare(exact, sampled)
    assert comparison.agree, comparison.verdict
    assert len(comparison.table) == 6
    np.testing.assert_array_equal(sampled.draws()["class_prob"][0, 0], [0.25, 0.75])


def test_interruption_leaves_nothing_broken(coins, monkeypatch):
    model, X, y = coins
    settings = nb.NUTS(num_samples=100)
    calls = []
    advance = nuts._advance

    def interrupted(*args, **kwargs):
        calls.append(None)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return advance(*args, **kwargs)

    monkeypatch.setattr(nuts, "_advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        nb.fit(model, X, y, settings)
    monkeypatch.setattr(nuts, "_advance", advance)
    assert not jax.config.jax_enable_x64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.ConvergenceWarning)
        assert nb.fit(model, X, y, settings).num_draws == 100


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (None, False)])
def test_progress_is_shown_where_asked_for(coins, capsys, progress, shown):
    model, X, y = coins
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.ConvergenceWarning)
        nb.fit(model, X, y, nb.NUTS(num_samples=50, progress=progress))
    assert ("NUTS" in capsys.readouterr().err) == shown


def test_the_progress_bar_says_compiling_before_anything_is_compiled(coins, capsys, monkeypatch):
    model, X, y = coins
    begin, seen = nuts._begin, []

    def noted(*args, **kwargs):
        seen.append(capsys.readouterr().err)
        return begin(*args, **kwargs)

    monkeypatch.setattr(nuts, "_begin", noted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nb.ConvergenceWarning)
        nb.fit(model, X, y, nb.NUTS(num_samples=50, progress=True))
    assert len(seen) == 4, "one for each chain"
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
    known, unknown = (nb.NUTS()._settings(SimpleNamespace(knows_scale=knows, program=None)) for knows in (True, False))
    assert (known.num_warmup, known.target_accept_prob, known.adapt_mass_matrix) == (150, 0.6, False)
    assert (unknown.num_warmup, unknown.target_accept_prob, unknown.adapt_mass_matrix) == (500, 0.8, True)
    given = nb.NUTS(num_warmup=70, target_accept_prob=0.9)
    assert given._settings(SimpleNamespace(knows_scale=True, program=None))[2:4] == (70, 0.9)
