"""Every group that ArviZ looks for, and ArviZ's functions on them."""

import arviz as az
import arviz_stats as azs
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from slow import names_fast

import bayesnb as nb

mpl.use("Agg")


@pytest.fixture(scope="module")
def flowers():
    rng = np.random.default_rng(2)
    y = np.repeat(["aster", "broom", "crocus"], 20)
    X = pd.DataFrame(
        {
            "height": rng.normal(np.repeat([10, 12, 14], 20), 2.0),
            "colour": np.where(rng.uniform(size=60) < 0.6, "red", "blue"),
            "petals": rng.poisson(np.repeat([3, 5, 6], 20)).astype(float),
        }
    )
    X.loc[4, "height"] = np.nan
    return X, y


@pytest.fixture(scope="module")
def flags(coins):
    return coins[1:]


@pytest.fixture(scope="module")
def posteriors(flowers, flags):
    model = nb.NaiveBayes({"height": nb.Gaussian(), "colour": nb.Categorical(), "petals": nb.Poisson()})
    return {"exact": nb.fit(model, *flowers), "sampled": nb.fit(nb.Bernoulli(2.0, 2.0), *flags, nb.NUTS(), key=1)}


@pytest.fixture(scope="module")
def trees(posteriors, flowers, flags):
    tables = {"exact": flowers, "sampled": flags}
    return {kind: posteriors[kind].to_datatree(X, y, predictions=X[:5]) for kind, (X, y) in tables.items()}


EVERYWHERE = {
    "summary": lambda tree: az.summary(tree),
    "ess": lambda tree: az.ess(tree),
    "rhat": lambda tree: az.rhat(tree),
    "mcse": lambda tree: az.mcse(tree),
    "loo of the label": lambda tree: az.loo(tree, var_name="y"),
    "psense_summary": lambda tree: azs.psense_summary(tree, likelihood_var_names="joint"),
    "plot_trace_dist": lambda tree: az.plot_trace_dist(tree, var_names=["class_prob"]),
    "plot_rank": lambda tree: az.plot_rank(tree, var_names=["class_prob"]),
    "plot_forest": lambda tree: az.plot_forest(tree, var_names=["class_prob"]),
    "plot_dist": lambda tree: az.plot_dist(tree, var_names=["class_prob"]),
    "plot_prior_posterior": lambda tree: az.plot_prior_posterior(tree, var_names=["class_prob"]),
    "plot_ppc_dist": lambda tree: az.plot_ppc_dist(tree, var_names=["y"], kind="ecdf"),
    "plot_ppc_pava": lambda tree: az.plot_ppc_pava(tree, data_type="categorical"),
    "plot_ppc_rootogram": lambda tree: az.plot_ppc_rootogram(tree, var_names=["y"]),
    "plot_ppc_tstat": lambda tree: az.plot_ppc_tstat(tree, t_stat="mean"),
    "plot_psense_dist": lambda tree: az.plot_psense_dist(tree, var_names=["class_prob"], likelihood_var_names="joint"),
}


FAST = {"summary", "loo of the label", "psense_summary", "plot_ppc_dist"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["exact", "sampled"])
@pytest.mark.parametrize("name", names_fast(EVERYWHERE, FAST))
def test_arviz_runs_on_every_posterior(trees, kind, name):
    assert EVERYWHERE[name](trees[kind]) is not None
    mpl.pyplot.close("all")


@pytest.mark.filterwarnings("ignore")
def test_arviz_functions_of_samplers_and_of_several_models(trees, posteriors, flowers):
    X, y = flowers
    assert az.plot_energy(trees["sampled"]) is not None
    smaller = nb.fit(nb.NaiveBayes({"height": nb.Gaussian()}), X, y).to_datatree(X, y)
    table = az.compare({"all": trees["exact"], "height": smaller}, var_name="y")
    assert table.index[0] == "all"
    assert az.plot_compare(table) is not None
    mpl.pyplot.close("all")


def test_the_log_prior_is_the_density_of_the_program(trees, posteriors):
    import jax
    from numpyro.infer.util import log_density

    program = posteriors["exact"].model.program
    row = {"y": np.zeros(1, int), "height": np.zeros(1), "colour": np.zeros(1, int), "petals": np.zeros(1)}

    @jax.jit
    def densities(values):
        total, trace = log_density(program, (), {}, values | row)
        return total, {name: trace[name]["fn"].log_prob(trace[name]["value"]).sum() for name in values}

    with jax.enable_x64(True):
        for place in ((1, 0), (1, 7), (3, 999)):
            values = {name: value[place].values for name, value in trees["exact"].posterior.data_vars.items()}
            total, expected = densities(values)
            assert set(expected) == set(values)
            for name, value in expected.items():
                assert float(trees["exact"].log_prior[name][place]) == pytest.approx(float(value), rel=1e-9)
            assert np.isfinite(float(total))


def test_fewer_draws_keep_their_statistics(posteriors):
    tree = posteriors["sampled"].to_datatree(num_draws=10, num_chains=2)
    full = posteriors["sampled"].to_datatree()
    kept = np.linspace(0, 999, 10).round().astype(int)
    np.testing.assert_array_equal(tree.sample_stats["lp"], full.sample_stats["lp"][:2, kept])
    np.testing.assert_array_equal(tree.posterior["x_prob"], full.posterior["x_prob"][:2, kept])


@pytest.mark.filterwarnings("ignore")
def test_names_that_xarray_keeps_for_itself():
    X = pd.DataFrame({"km/h": [1.0, 2.0, 4.0, 3.0], "w/o": ["p", "q", "p", "p"], "row": [3.0, 1.0, 2.0, 5.0]})
    model, y = nb.NaiveBayes.from_frame(X), ["a", "b", "a", "b"]
    posterior = nb.fit(model, X, y)
    tree = posterior.to_datatree(X, y, predictions=X, num_draws=10)
    assert {"km|h_mean", "w|o_prob", "row_mean"} <= set(tree.posterior.data_vars)
    assert tree.posterior["w|o_prob"].coords["w|o_category"].values.tolist() == ["p", "q"]
    np.testing.assert_array_equal(tree.constant_data["km|h"], X["km/h"])
    np.testing.assert_array_equal(tree.constant_data["row_"], X["row"])
    np.testing.assert_array_equal(tree.posterior["km|h_mean"], posterior.draws(num_draws=10)["km/h_mean"])
    assert set(tree.log_prior.data_vars) == set(tree.posterior.data_vars)
    sampled = nb.from_samples(model, posterior.draws(num_draws=200), X=X, y=y)
    assert np.isfinite(nb.loo(sampled, X, y).elpd)
    fixed = nb.NaiveBayes({"w/o": nb.Categorical()}).bind(X, y)
    assert "w|o_prob" in nb.sbc(fixed, num_simulations=20).to_datatree()["prior_sbc"]
    both = X.assign(**{"km|h": X["km/h"]})
    with pytest.raises(ValueError, match=r"km\|h"):
        nb.fit(nb.NaiveBayes.from_frame(both), both, y).to_datatree()
