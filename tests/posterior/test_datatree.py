"""Every group that ArviZ looks for, and ArviZ's functions on them."""

import arviz as az
import jax
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from numpyro.infer.util import log_density
from slow import names_fast

import bayesnb as nb

mpl.use("Agg")


@pytest.fixture(scope="module")
def fits(table, coins):
    """In closed form and by NUTS, each with its rows."""
    model = nb.NaiveBayes({"height": nb.Gaussian(), "bark": nb.Categorical(), "leaves": nb.Poisson()})
    flags = coins[1:]
    return {
        "exact": (nb.fit(model, *table[:2]), *table[:2]),
        "sampled": (nb.fit(nb.Bernoulli(2.0, 2.0), *flags, nb.NUTS(), key=1), *flags),
    }


@pytest.fixture(scope="module")
def trees(fits):
    return {kind: posterior.to_datatree(X, y, predictions=X[:5]) for kind, (posterior, X, y) in fits.items()}


CLASS_PROB, JOINT = {"var_names": ["class_prob"]}, {"likelihood_var_names": "joint"}
EVERYWHERE = {
    **{name: {} for name in ("summary", "ess", "rhat", "mcse")},
    **{f"plot_{name}": CLASS_PROB for name in ("trace_dist", "rank", "forest", "dist", "prior_posterior")},
    "loo": {"var_name": "y"},
    "psense_summary": JOINT,
    "plot_psense_dist": CLASS_PROB | JOINT,
    "plot_ppc_dist": {"var_names": ["y"], "kind": "ecdf"},
    "plot_ppc_pava": {"data_type": "categorical"},
    "plot_ppc_rootogram": {"var_names": ["y"]},
    "plot_ppc_tstat": {"t_stat": "mean"},
}
"""Functions of ArviZ, and their options."""


FAST = {"summary", "loo", "psense_summary", "plot_ppc_dist"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["exact", "sampled"])
@pytest.mark.parametrize("name", names_fast(EVERYWHERE, FAST))
def test_arviz_runs_on_every_posterior(trees, kind, name):
    assert getattr(az, name)(trees[kind], **EVERYWHERE[name]) is not None
    mpl.pyplot.close("all")


@pytest.mark.filterwarnings("ignore")
def test_arviz_functions_of_samplers_and_of_several_models(trees, table):
    X, y, _ = table
    assert az.plot_energy(trees["sampled"]) is not None
    smaller = nb.fit(nb.NaiveBayes({"bark": nb.Categorical()}), X, y).to_datatree(X, y)
    compared = az.compare({"all": trees["exact"], "bark": smaller}, var_name="y")
    assert set(compared.index) == {"all", "bark"}
    assert az.plot_compare(compared) is not None
    mpl.pyplot.close("all")


def test_the_log_prior_is_the_density_of_the_program(trees, fits):
    program = fits["exact"][0].model.program
    row = {"y": np.zeros(1, int), "height": np.zeros(1), "bark": np.zeros(1, int), "leaves": np.zeros(1)}

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


def test_fewer_draws_keep_their_statistics(fits, trees):
    tree, full = fits["sampled"][0].to_datatree(num_draws=10, num_chains=2), trees["sampled"]
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


@pytest.mark.parametrize("kind", ["each", "shared", "draws"])
def test_the_likelihood_of_a_weighted_posterior_is_a_density(coins, kind):
    """By ArviZ from the tree, and exactly from refits; with weights the product of densities is no density."""
    X, y = coins[1:]
    X = np.repeat(X, 3, axis=1)
    plain = nb.fit(nb.Bernoulli(2.0, 2.0), X, y)
    expected = nb.loo_scores(plain, X, y)["elpd_joint"]
    if kind == "draws":
        plain = nb.from_samples(plain.model, plain.draws(num_draws=500), X=X, y=y)
    tree = nb.weight_features(plain, X, y, shared=kind == "shared").to_datatree(X, y, num_draws=500)
    assert az.loo(tree, var_name="joint").elpd == pytest.approx(expected, abs=0.5)
    assert [*tree.log_likelihood.data_vars] == ["joint"]
    assert "weights of features" in tree.attrs["inference"]
    assert "nb.loo" in tree.attrs["weights"]
    assert "weights" not in plain.to_datatree(X, y, num_draws=5).attrs


def test_columns_that_are_described_again_have_no_joint_density(table):
    X, _, _ = table
    y = X["height"].between(*X["height"].quantile([0.3, 0.7]))  # which no shift of a mean tells
    model = nb.NaiveBayes({"height": nb.Gaussian(), "again": (nb.Histogram(num_bins=5), ["height"])})
    tree = nb.weight_features(model, X, y).to_datatree(X, y, num_draws=5)
    assert "log_likelihood" not in tree
    assert {*tree.posterior_predictive.data_vars} == {"y"}
    assert "described more than once" in tree.attrs["weights"]


def test_predictive_columns_have_the_moments_of_the_fit_and_of_the_prior():
    """Given the label: the mean of a class over its rows is that of the Student t, negative binomial and Dirichlet."""
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], [4, 6])
    X = pd.DataFrame({"height": rng.normal(3, 2, 10), "leaves": rng.poisson(4, 10), "bark": rng.choice([*"pq"], 10)})
    X = X.astype({"leaves": float}).mask(rng.uniform(size=X.shape) < 0.2)
    features = {"height": nb.Gaussian(2.0, 0.5, 3.0, 4.0), "leaves": nb.Poisson(3.0, 1.0), "bark": nb.Categorical(2.0)}
    posterior = nb.fit(nb.NaiveBayes(features), X, y)
    tree = posterior.to_datatree(X, y, predictive=("y", "columns"), num_draws=500, key=2)
    observed = tree.observed_data
    np.testing.assert_array_equal(observed["leaves"], X["leaves"].dropna())
    np.testing.assert_array_equal(observed["bark"], (X["bark"].dropna() == "q").astype(int))
    for group, moments in {"posterior_predictive": posterior.mean(), "prior_predictive": None}.items():
        for name, site, before in (("height", "mean", 2.0), ("leaves", "rate", 3.0), ("bark", "prob", 0.5)):
            cells = tree[group][name]
            assert cells.dtype.kind == ("f" if name == "height" else "i")
            rows = cells.coords[cells.dims[-1]].values
            for c, label in enumerate("ab"):
                expected = before if moments is None else np.ravel(moments[f"{name}_{site}"][c])[-1]
                of_draws = cells.values[..., y[rows] == label].mean(axis=-1).ravel()
                error = of_draws.std() / np.sqrt(of_draws.size)
                assert abs(of_draws.mean() - expected) < 4.5 * error, (group, name, label)
    # The variance of a count given its class is mean + var of the rate; two rows of a draw share the rate.
    leaves = tree.prior_predictive["leaves"].values[..., :2].reshape(-1, 2)
    assert np.var(leaves[:, 0]) == pytest.approx(3.0 + 3.0, rel=0.15)
    assert np.cov(leaves.T)[0, 1] == pytest.approx(3.0, rel=0.2)
    with pytest.raises(ValueError, match="predictive is 'columns'"):
        posterior.to_datatree(X, y, predictive="columns")
    with pytest.raises(ValueError, match="give X and y"):
        posterior.to_datatree(predictive=("y", "columns"))


OF_COLUMNS = {
    "plot_ppc_dist": {"var_names": ["height", "leaves"]},
    "plot_ppc_rootogram": {"var_names": ["leaves", "bark"]},
    "plot_ppc_pit": {"var_names": ["height", "leaves"]},
}


@pytest.mark.filterwarnings("ignore")
def test_predictive_plots_of_columns(table):
    X, y, _ = table
    model = nb.NaiveBayes({"height": nb.Gaussian(), "bark": nb.Categorical(), "leaves": nb.Poisson()})
    posterior = nb.fit(model, X, y)
    tree = posterior.to_datatree(X, y, predictive=("y", "columns"), num_draws=10)
    for name, options in OF_COLUMNS.items():
        plots = getattr(az, name)(tree, **options)
        assert len(plots.viz["plot"].data_vars) == 2
    prior = posterior.model.prior_predictive(X, y, num_draws=10)
    assert az.plot_ppc_dist(prior, group="prior_predictive", kind="ecdf") is not None
    mpl.pyplot.close("all")


def test_predictive_columns_are_in_the_tree_once(table):
    X, y, _ = table
    model = nb.NaiveBayes({"height": nb.Gaussian(), "again": (nb.Histogram(num_bins=5), ["height"])})
    weighted = nb.weight_features(model, X, y)
    tree = weighted.to_datatree(X, y, predictive=("y", "columns"), num_draws=5)
    assert {*tree.prior_predictive.data_vars} == {"y", "height"}
