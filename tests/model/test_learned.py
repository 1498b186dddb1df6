"""Hyperparameters with a prior of their own: the evidence, priors of models with numbers, names and errors."""

import warnings

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from numpyro.infer.util import log_density
from scipy.stats import gamma, norm
from slow import names_fast

import bayesnb as nb

MODEL = nb.NaiveBayes({"colour": nb.Categorical(dist.Gamma(1.0, 1.0))}, class_concentration=dist.Gamma(3.0, 1.0))


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    y = rng.choice(["a", "b", "c"], size=40, p=[0.5, 0.4, 0.1])
    code = np.searchsorted(["a", "b", "c"], y)
    X = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue", "grey"])[(code + rng.integers(0, 2, 40)) % 4],
            "f1": (rng.uniform(size=40) < np.array([0.9, 0.2, 0.5])[code]).astype(float),
            "f2": (rng.uniform(size=40) < np.array([0.7, 0.6, 0.2])[code]).astype(float),
            "w1": rng.poisson(np.array([3, 1, 1])[code]),
            "w2": rng.poisson(np.array([1, 4, 1])[code]),
            "w3": rng.poisson(1, 40),
            "eggs": rng.poisson(np.array([1, 3, 5])[code]).astype(float),
        }
    )
    X.loc[3, "colour"] = None
    return X, y


@pytest.fixture(scope="module")
def sampled(table):
    """Many short chains, because the chains of a sweep move together."""
    with warnings.catch_warnings(action="ignore", category=nb.ConvergenceWarning):
        return nb.fit(MODEL, *table, nb.Gibbs(num_warmup=20, num_samples=100, num_chains=40), key=1)


@pytest.mark.slow
def test_empirical_bayes_is_a_closed_form_that_learns_again(table, tmp_path):
    X, y = table
    posterior = nb.fit(MODEL, X[:30], y[:30], nb.EmpiricalBayes())
    whole = nb.fit(MODEL, X, y, nb.EmpiricalBayes())
    found = whole.hyperparameters()
    again = posterior.update(X[30:], y[30:]).hyperparameters()

    def log_evidence(values):
        return nb.fit(MODEL.with_hyperparameters(values), X, y).log_evidence

    assert whole.log_evidence == pytest.approx(log_evidence(found))
    for name, value in found.items():
        assert again[name] == pytest.approx(value, rel=1e-5)
        assert max(log_evidence(found | {name: factor * value}) for factor in (0.99, 1.01)) < whole.log_evidence
    whole.save(tmp_path / "p.nc")
    loaded = nb.load(tmp_path / "p.nc")
    assert loaded.hyperparameters() == found
    np.testing.assert_array_equal(loaded.predict_proba(X), whole.predict_proba(X))
    assert loaded.update(X[:5], y[:5]).hyperparameters() != found


MODELS = {
    "one for all columns": nb.Bernoulli(dist.Gamma(1, 1), dist.Gamma(1, 1)),
    "one for each column": {"flags": (nb.Bernoulli(dist.Gamma(1, 1).expand([2])), ["f1", "f2"])},
    "one for each class": {"flags": (nb.Bernoulli(dist.Gamma(1, 1).expand([3, 1])), ["f1", "f2"])},
    "one for each class and column": {"flags": (nb.Bernoulli(dist.Gamma(1, 1).expand([3, 2])), ["f1", "f2"])},
    "columns of different families side by side": {
        "f1": nb.Bernoulli(dist.Gamma(1, 1)),
        "f2": nb.Bernoulli(2.0, dist.LogNormal(0, 1)),
        "colour": nb.Categorical(dist.HalfNormal(1.0)),
    },
    "shared by columns of two and four categories": {
        "both": (nb.Categorical(dist.Gamma(1, 1)), ["colour", "flag"]),
        "f2": nb.Bernoulli(),
    },
    "beside defaults on the data's scale": {
        "eggs": nb.Gaussian(kappa=dist.Gamma(1, 1)),
        "w1": nb.Gaussian(loc=0.0, kappa=dist.Gamma(1, 1)),
        "pair": (nb.Gaussian(loc=dist.Normal(0, 1).expand([2]), kappa=0.5), ["w2", "w3"]),
        "vector": (nb.MultivariateGaussian(), ["f1", "f2"]),
    },
    "words and classes": {"words": (nb.Multinomial(dist.Gamma(1, 1).expand([3])), ["w1", "w2", "w3"])},
}


@pytest.mark.parametrize(
    "name", names_fast(MODELS, {"one for each class and column", "beside defaults on the data's scale"})
)
def test_the_prior_for_values_is_that_of_a_model_with_these_numbers(table, name):
    X, y = table
    X = X.assign(flag=np.where(X["f1"] == 1, "yes", "no"))
    if name == "one for all columns":
        X = X[["f1", "f2"]]
    model = nb.NaiveBayes(MODELS[name], class_concentration=dist.Gamma(1, 1).expand([3])).bind(X, y)
    statistics = model.statistics(X, y)
    resolved = model.resolve(statistics)
    values = resolved.learned.draw_hyperparameters(np.random.default_rng(0), (2,))
    prior = resolved.learned.given(values)
    drawn = resolved.draw_prior(np.random.default_rng(1), (2, 3))
    named = resolved.sites.by_name(drawn)
    for s in range(2):
        numbers = model.with_hyperparameters({key: value[s] for key, value in values.items()}).resolve(statistics)
        np.testing.assert_array_equal(prior.classes.concentration[s], numbers.class_prior.concentration)
        for family, block in zip(prior.families, numbers.blocks, strict=True):
            for field, value in block.family.hyperparameters().items():
                np.testing.assert_array_equal(getattr(family, field)[s], value)
    axes = resolved.sites.axes()
    labels = resolved.sites.scalar_labels()
    for site, value in named.items():
        assert value.shape == (2, 3, *(len(label) for _, label in axes[site]))
        assert len(labels[site]) == np.prod(value.shape[2:])


@pytest.mark.slow
def test_the_program_has_the_density_of_the_parts(table, sampled):
    X, y = table
    tree = sampled.to_datatree(X, y, num_chains=1, num_draws=2)
    parts = sum(tree["log_prior"].dataset[site] for site in tree["log_prior"].data_vars)
    parts = (parts + tree["log_likelihood"]["joint"].sum("row")).values[0]
    draws = sampled.draws(num_chains=1, num_draws=2)
    with jax.enable_x64(True):
        density = jax.jit(lambda values: log_density(sampled.model.program, (X, y), {}, values)[0])
        whole = [density({name: value[0, s] for name, value in draws.items()}) for s in range(2)]
    np.testing.assert_allclose(whole, parts, rtol=1e-10)


def test_groups_names_and_files(table, sampled, tmp_path):
    X, y = table
    tree = sampled.to_datatree(X, y)
    for group in ("posterior", "prior", "log_prior"):
        assert {"class_concentration", "colour_concentration"} <= set(tree[group].data_vars)
    prior = tree["prior"]["colour_concentration"].values
    assert abs(norm.ppf(gamma.cdf(prior, 1.0)).mean()) < 5 / np.sqrt(prior.size)
    assert "Dirichlet(Gamma(1, 1))" in repr(sampled)
    sampled.save(tmp_path / "p.nc")
    loaded = nb.load(tmp_path / "p.nc")
    assert isinstance(loaded, nb.results.CollapsedPosterior)
    np.testing.assert_array_equal(loaded.predict_proba(X), sampled.predict_proba(X))
    assert repr(loaded.model) == repr(sampled.model)


FLAG = dist.Gamma(1, 1)
WHOLE = nb.NaiveBayes({"bark": nb.Categorical(dist.Gamma(np.ones((2, 1)), 1.0))}, class_probs=[0.5, 0.5])
ALIKE = pd.DataFrame({"colour": np.tile(["blue", "green", "grey", "red"], 30), "bark": np.tile([0, 1, 2], 40)})
LEARNED = r"'class_concentration' is learned, Gamma\(3, 1\).*NUTS.*EmpiricalBayes"
EMPIRICAL, DIFFERENT = nb.EmpiricalBayes(), np.repeat(["a", "b", "c"], [80, 36, 4])
ERRORS = {
    "Normal.*not positive.*Gamma": lambda X, y: nb.Categorical(dist.Normal(0, 1)),
    "Uniform.*not positive": lambda X, y: nb.Bernoulli(dist.Uniform(-1.0, 1.0)),
    "vectors.*expand": lambda X, y: nb.Categorical(dist.Dirichlet(np.ones(3))),
    "whole numbers": lambda X, y: nb.Bernoulli(dist.Poisson(3.0)),
    "class_concentration.*positive": lambda X, y: nb.NaiveBayes(nb.Bernoulli(), class_concentration=dist.Normal(0, 1)),
    "both given": lambda X, y: nb.NaiveBayes(nb.Bernoulli(), class_concentration=FLAG, class_probs=[0.5, 0.5]),
    r"\(5,\)": lambda X, y: nb.fit(nb.Bernoulli(FLAG.expand([5])), X[["f1"]], y, nb.NUTS()),
    "'x'.*rate.*follows.*learned.*number": lambda X, y: nb.fit(nb.Poisson(FLAG), X[["eggs"]], y, nb.NUTS()),
    LEARNED: lambda X, y: nb.fit(MODEL, X, y, nb.Exact()),
    f"{LEARNED}.*": lambda X, y: nb.fit(MODEL, X, y, nb.MAP()),
    "no hyperparameter is learned": lambda X, y: nb.fit(nb.Bernoulli(), X[["f1"]], y, EMPIRICAL),
    # Colours that are equally frequent in each class: the evidence has no maximum.
    r"no maximum in 'colour_concentration'.*NUTS": lambda X, y: nb.fit(MODEL, ALIKE, DIFFERENT, EMPIRICAL),
    r"no maximum in 'bark_concentration\[[ab], bark\]'": lambda X, y: nb.fit(
        WHOLE, ALIKE, ["a"] * 60 + ["b"] * 60, EMPIRICAL
    ),
}


@pytest.mark.parametrize("words", names_fast(ERRORS, {words for words in ERRORS if "no maximum" not in words}))
def test_errors_name_the_hyperparameter_and_what_to_use(table, words):
    with pytest.raises(ValueError, match=f"(?s){words}"):
        ERRORS[words](*table)


def test_draws_have_no_evidence(sampled):
    with pytest.raises(ValueError, match="'class_concentration' is learned"):
        _ = sampled.log_evidence


@pytest.mark.parametrize(
    ("shape", "axes", "last"),
    [
        ((), [], "x_concentration"),
        ((1,), ["x_column"], "x_concentration[bark]"),
        ((3,), ["x_concentration_x_column"], "x_concentration[2]"),
        ((2, 1), ["class", "x_column"], "x_concentration[b, bark]"),
        ((2, 1, 3), ["class", "x_column", "x_concentration_category"], "x_concentration[b, bark, 2]"),
    ],
)
def test_axes_of_a_learned_hyperparameter(shape, axes, last):
    X = pd.DataFrame({"bark": ["rough", "smooth", "flaky", "rough"]})
    bound = nb.NaiveBayes(nb.Categorical(dist.Gamma(np.ones(shape), 1.0))).bind(X, ["a", "b", "a", "b"])
    found = bound.sites.axes()["x_concentration"]
    assert [name for name, _ in found] == axes
    assert tuple(len(labels) for _, labels in found) == shape
    assert bound.sites.scalar_labels()["x_concentration"][-1] == last
    assert np.shape(bound.sites.by_name(bound.draw_prior(np.random.default_rng(0)))["x_concentration"]) == shape


def test_a_hyperparameter_and_a_parameter_of_one_name_have_two_sites(table):
    poisson = nb.NaiveBayes({"eggs": nb.Poisson(2.0, dist.Gamma(1, 1))}).bind(*table)
    assert list(poisson.sites.axes()) == ["class_prob", "eggs_prior_rate", "eggs_rate"]
