"""The joint density as a function of an array, computed some rows at a time."""

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import FAMILIES, known
from slow import names_fast
from trees import every_kind, trees

import bayesnb as nb
from bayesnb.posterior.function_of_array import PIECE_SIZES


def of_family(case):
    X, y = case.table()
    return (nb.fit(case.model(case.default), X, y) if case.can.closed else known(case)), X.to_numpy(float)


def of_kind(kind):
    X, y = trees(np.random.default_rng(5), 60)
    codes = X.assign(bark=X["bark"].map({"flaky": 0, "rough": 1, "smooth": 2})).to_numpy(float)
    return every_kind(X, y)[kind], codes


def of_many_draws():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    exact = nb.fit(nb.Gaussian(), X, y)
    return nb.from_samples(exact.model, exact.draws(num_draws=400), X=X, y=y), X


POSTERIORS = {
    **{case.name: lambda case=case: of_family(case) for case in FAMILIES},
    **{kind: lambda kind=kind: of_kind(kind) for kind in ("averaged", "weighted", "weighted averaged", "collapsed")},
    "400 draws": of_many_draws,
}


@pytest.mark.parametrize("name", names_fast(POSTERIORS, {"gaussian", "400 draws"}))
@pytest.mark.usefixtures("float64")
@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(name):
    posterior, X = POSTERIORS[name]()
    log_joint = jax.jit(posterior.log_joint_function())
    tables = (jax.ShapeDtypeStruct((rows, X.shape[1]), jnp.float32) for rows in (200_000, 2_000_000))
    few, many = (log_joint.lower(x).compile().memory_analysis().temp_size_in_bytes for x in tables)
    assert 0 < few <= many < 1.05 * few
    assert many < 1e8


def test_pieces_are_larger_where_a_program_is_not_for_a_cpu():
    log_joint = jax.jit(POSTERIORS["400 draws"]()[0].log_joint_function())
    x = jax.ShapeDtypeStruct((10_000, 2), jnp.float32)
    programs = {platform: log_joint.trace(x).lower(lowering_platforms=(platform,)) for platform in ("cpu", "cuda")}
    loops = {platform: program.as_text().count("stablehlo.while") for platform, program in programs.items()}
    assert loops["cpu"] == loops["cuda"] + 1  # both have the loop over draws


def test_the_product_of_slopes_and_direction_keeps_its_digits_on_a_gpu():
    """On a CPU no precision is lower than that of the type, so that the numbers do not tell."""
    log_joint = POSTERIORS["gaussian"]()[0].log_joint_function()
    program = jax.jit(jax.grad(lambda x: log_joint(x).sum())).lower(jnp.ones((5, 2))).as_text()
    products = [line for line in program.splitlines() if "dot_general" in line]
    assert products
    assert all("HIGHEST" in line for line in products), products


@pytest.mark.parametrize("name", names_fast(POSTERIORS, {"gaussian"}))
@pytest.mark.usefixtures("float64")
def test_each_row_has_its_density_and_slopes_whatever_its_piece(name):
    posterior, X = POSTERIORS[name]()
    log_joint = posterior.log_joint_function()

    @jax.jit
    def slopes(x):
        return jax.grad(lambda x: jax.nn.log_softmax(log_joint(x))[:, 0].sum())(x)

    draws = 64 if name in ("400 draws", "collapsed") else 1
    rows = int(2.5 * PIECE_SIZES[0] / (X.shape[1] * len(posterior.classes) * draws))
    many = jnp.asarray(np.resize(X, (rows, X.shape[1])))
    found, expected = np.asarray(log_joint(many)), np.asarray(log_joint(X))
    # The last digit of a matrix product depends on where its arrays begin in memory.
    np.testing.assert_allclose(found, np.resize(expected, found.shape), rtol=1e-14)
    np.testing.assert_allclose(slopes(many), np.resize(slopes(jnp.asarray(X)), many.shape), rtol=1e-12, atol=1e-12)


SHARDED = """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import AxisType, NamedSharding, PartitionSpec
    import bayesnb as nb
    from bayesnb.posterior.function_of_array import PIECE_SIZES

    def gradient(x):
        return jax.grad(lambda x: log_joint(x)[:, 0].sum())(x)

    rng = np.random.default_rng(0)
    posterior = nb.fit(nb.Gaussian(), rng.normal(size=(50, 2)), np.arange(50) % 2)
    log_joint = posterior.log_joint_function()
    x = jnp.asarray(rng.normal(size=(PIECE_SIZES[0], 2)), jnp.float32)
    expected = {function: np.asarray(jax.jit(function)(x)) for function in (log_joint, gradient)}
    for kind in (AxisType.Auto, AxisType.Explicit):
        over_rows = NamedSharding(jax.make_mesh((2,), ("devices",), axis_types=(kind,)), PartitionSpec("devices"))
        there = jax.device_put(x, over_rows)
        assert log_joint(there).sharding.is_equivalent_to(over_rows, 2)
        for function, values in expected.items():
            program = jax.jit(function).lower(there).compile()
            found = program(there)
            assert found.sharding.is_equivalent_to(over_rows, 2), found.sharding
            np.testing.assert_array_equal(found, values)
            for moved in ("all-gather", "all-to-all", "collective-permute"):
                assert moved not in program.as_text()
"""


@pytest.mark.slow
def test_rows_on_several_devices_stay_there():
    settings = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(SHARDED)]
    subprocess.run(command, check=True, env=os.environ | settings)
