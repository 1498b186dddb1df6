"""Step sizes with which NUTS takes paths of a good length."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.hmc import hmc
from numpyro.infer.util import ParamInfo

import bayesnb as nb
from bayesnb.inference import nuts
from bayesnb.inference.nuts import with_good_paths


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


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_nuts_takes_such_steps_after_the_warmup_where_the_scale_is_known(coins, monkeypatch):
    model, X, y = coins
    usual = nb.fit(model, X, y, nb.NUTS(num_samples=40), key=3)
    monkeypatch.setattr(nuts, "with_good_paths", lambda step: step / 2)
    halved = nb.fit(model, X, y, nb.NUTS(num_samples=40), key=3)
    before, after = usual.sample_stats["step_size"], halved.sample_stats["step_size"]
    np.testing.assert_allclose(after, np.broadcast_to(after[:, :1], (4, 40)))
    assert [with_good_paths(2 * step) for step in after[:, 0]] == pytest.approx(before[:, 0])


@pytest.mark.slow
def test_paths_on_a_standard_normal_turn_in_time():
    """Mean number of steps of NumPyro's sampler with a given step size, in 500 dimensions."""

    def half_square(z):
        return 0.5 * jnp.sum(z**2)

    @jax.jit
    def mean_steps(step_size, key):
        start, key = jax.random.split(key)
        z = jax.random.normal(start, (500,))
        init, step = hmc(half_square, algo="NUTS")
        energy, gradient = jax.value_and_grad(half_square)(z)
        state = init(
            ParamInfo(z, energy, gradient),
            num_warmup=0,
            step_size=step_size,
            adapt_step_size=False,
            adapt_mass_matrix=False,
            inverse_mass_matrix=jnp.ones(500),
            rng_key=key,
        )

        def advance(state, _):
            state = step(state)
            return state, state.num_steps

        return jax.lax.scan(advance, state, length=200)[1].mean()

    with jax.enable_x64(True):
        bad = {step: float(mean_steps(step, jax.random.key(0))) for step in (0.42, 0.43, 0.88, 0.92)}
        good = {step: float(mean_steps(with_good_paths(step), jax.random.key(0))) for step in bad}
    assert min(bad.values()) > 20
    for step, steps in good.items():
        assert steps < (15.5 if step < 0.5 else 7.5), (step, steps, bad[step])
