"""The description of a model: its program, its density, its simulations and its looks."""

from dataclasses import dataclass

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from cases import Exponential
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide
from numpyro.infer.util import log_density

import bayesnb as nb
from bayesnb.families.hyperparameters import format_number
from bayesnb.inference.sources import empty_problem
from bayesnb.model.blocks import Prior


@pytest.fixture(scope="module")
def mixed():
    """A table with a column of every kind, missing cells and names that invite confusion."""
    rng = np.random.default_rng(3)
    n = 60
    y = rng.choice(["yes", "no", "perhaps"], n)
    shift = (y == "yes").astype(float)
    X = pd.DataFrame(
        {
            "flag": rng.integers(0, 2, n).astype(float),
            "class": rng.choice(["first", "second", "third"], n),
            "y": rng.normal(size=n) + shift,
            "wait": rng.exponential(1 + shift),
            "calls": rng.poisson(2 + shift).astype(float),
            "w1": rng.poisson(2.0, n),
            "w2": rng.poisson(1.0, n),
            "w3": rng.poisson(3.0, n),
            "size a": rng.normal(100, 5, n),
            "size b": rng.normal(50, 5, n),
        }
    )
    for column in ("flag", "y", "wait", "calls", "size a"):
        X.loc[rng.uniform(size=n) < 0.15, column] = np.nan
    X.loc[rng.uniform(size=n) < 0.15, "class"] = None
    model = nb.NaiveBayes(
        {
            "flag": nb.Bernoulli(2.0, 1.0),
            "class": nb.Categorical(0.7),
            "y": nb.Gaussian(),
            "wait": Exponential(2.0, 1.0),
            "calls": nb.Poisson(),
            "words": (nb.Multinomial(0.5), ["w1", "w2", "w3"]),
            "sizes": (nb.Gaussian(), ["size a", "size b"]),
        },
        class_concentration=[1.0, 2.0, 3.0],
    )
    return model, X, y


def test_the_program_of_rows_and_of_statistics_have_one_density_up_to_a_constant(mixed):
    model, X, y = mixed
    posterior = nb.fit(model, X, y)
    resolved, problem = posterior.model, posterior.problem
    draws = posterior.distribution.draw(1, 6, 0)
    sites = resolved.sites.by_name(draws)
    differences = []
    args = (resolved.prior, problem.statistics)
    of_rows = jax.jit(lambda values: log_density(resolved.program, (X, y), {}, values)[0])
    of_statistics = jax.jit(lambda values: log_density(Prior.program, args, {}, values)[0])
    with jax.enable_x64(True):
        for k in range(6):
            by_rows = of_rows({name: v[0, k] for name, v in sites.items()})
            values = {"class_prob": draws.class_prob[0, k]}
            for i, block in enumerate(draws.blocks):
                values |= {f"{i}.{name}": value[0, k] for name, value in block.items()}
            by_statistics = of_statistics(values)
            differences.append(float(by_rows) - float(by_statistics))
    np.testing.assert_allclose(differences, differences[0], rtol=1e-9)


def test_names_of_sites_come_from_the_table(mixed):
    model, X, y = mixed
    posterior = nb.fit(model, X, y)
    shapes = {name: value.shape[2:] for name, value in posterior.draws(num_chains=2, num_draws=3).items()}
    assert shapes == {
        "class_prob": (3,),
        "flag_prob": (3,),
        "class__prob": (3, 3),
        "y_mean": (3,),
        "y_variance": (3,),
        "wait_rate": (3,),
        "calls_rate": (3,),
        "words_prob": (3, 3),
        "sizes_mean": (3, 2),
        "sizes_variance": (3, 2),
    }
    tree = posterior.to_datatree(num_chains=2, num_draws=3)
    assert tree.posterior["class__prob"].dims == ("chain", "draw", "class", "class_category")
    assert tree.posterior["sizes_mean"].coords["sizes_column"].values.tolist() == ["size a", "size b"]
    assert tree.posterior["words_prob"].coords["words_column"].values.tolist() == ["w1", "w2", "w3"]
    assert tree.posterior.coords["class"].values.tolist() == ["no", "perhaps", "yes"]


@pytest.mark.slow
def test_numpyros_own_mcmc_runs_the_rows_and_agrees():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 2, 30), "b": rng.choice(["u", "v", "w"], 30), "c": rng.normal(size=30)})
    X.loc[3, "c"] = np.nan
    y = rng.choice(["p", "q"], 30)
    model = nb.NaiveBayes({"a": nb.Bernoulli(), "b": nb.Categorical(), "c": nb.Gaussian()})
    exact = nb.fit(model, X, y)
    with jax.enable_x64(True):
        mcmc = MCMC(
            NUTS(exact.model.program),
            num_warmup=500,
            num_samples=1000,
            num_chains=4,
            chain_method="vectorized",
            progress_bar=False,
        )
        mcmc.run(jax.random.key(1), X, y)
        samples = {name: np.asarray(value) for name, value in mcmc.get_samples(group_by_chain=True).items()}
    sampled = nb.from_samples(exact.model, samples, X=X, y=y)
    comparison = nb.compare(exact, sampled, X)
    assert comparison.agree, comparison.verdict
    np.testing.assert_allclose(sampled.predict_proba(X), exact.predict_proba(X), atol=0.02)


@pytest.mark.slow
def test_svi_predictive_and_render_run_the_program(mixed):
    model, X, y = mixed
    program = nb.fit(model, X, y).model.program
    guide = autoguide.AutoNormal(program)
    svi = SVI(program, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    result = svi.run(jax.random.key(0), 50, X, y, progress_bar=False)
    assert np.isfinite(result.losses).all()
    assert result.losses[-1] < result.losses[0]
    prior = Predictive(program, num_samples=5)(jax.random.key(0), num_rows=4, total_count=10)
    assert prior["class_prob"].shape == (5, 3)
    assert prior["words"].shape == (5, 4, 3)
    assert (prior["words"].sum(-1) == 10).all()
    graph = numpyro.render_model(program, model_args=(X, y), render_distributions=True)
    assert "words ~ Multinomial" in graph.source
    relations = numpyro.infer.inspect.get_model_relations(program, model_args=(X, y))
    assert {"y", "flag", "words", "sizes"} <= set(relations["observed"])


@pytest.mark.parametrize(
    ("family", "site", "value"),
    [
        pytest.param(nb.Multinomial(2.0), "x_prob", 1 / 3, marks=pytest.mark.slow),
        (nb.Poisson(2.0, 1.0), "x_rate", 0.7),
    ],
)
def test_a_program_runs_in_float64_and_then_in_float32(family, site, value):
    X, y = np.array([[2, 0, 1], [1, 3, 0], [0, 1, 1]]), ["a", "b", "b"]
    program = nb.fit(family, X, y).model.program
    at = {"class_prob": np.array([0.4, 0.6]), site: np.full((2, 3), value)}

    @jax.jit
    def density(at):
        return log_density(program, (X, y), {}, at)[0]

    with jax.enable_x64(True):
        double = density(at)
    single = density(at)
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    assert float(single) == pytest.approx(float(double), rel=1e-5)


def test_an_unbound_program_learns_its_table():
    X, y = np.array([[0, 1], [1, 1], [1, 0]]), np.array([0, 1, 1])
    program = numpyro.handlers.trace(numpyro.handlers.seed(nb.NaiveBayes(nb.Bernoulli()).program, 0))
    sites = {}
    jax.eval_shape(lambda: sites.update(program.get_trace(X, y)))  # traced, not compiled
    assert sites["x_prob"]["value"].shape == (2, 2)
    assert sites["x"]["is_observed"]
    with pytest.raises(ValueError, match=r"bind\(X, y\)"):
        program.get_trace()


def test_prior_simulation_gives_back_the_prior():
    """Frequencies of simulated tables against the prior's predictive."""
    X = pd.DataFrame({"a": [0, 1], "b": ["u", "v"]})
    model = nb.NaiveBayes({"a": nb.Bernoulli(2.0, 1.0), "b": nb.Categorical(0.5)}, class_concentration=[3.0, 1.0])
    bound = model.bind(X, ["p", "q"])
    tables = [bound.simulate(1, key=k) for k in range(500)]
    rows = pd.concat([table for table, _ in tables])
    labels = np.concatenate([label for _, label in tables])
    for observed, expected in (
        ((labels == "p").mean(), 3 / 4),
        (rows["a"].mean(), 2 / 3),
        ((rows["b"] == "u").mean(), 0.5),
    ):
        assert abs(observed - expected) < 4.8 * np.sqrt(expected * (1 - expected) / 500)
    table, label, parameters = bound.simulate(4, key=1, return_parameters=True)
    assert parameters["a_prob"].shape == (2,)
    assert set(label) <= {"p", "q"}
    assert list(table.columns) == ["a", "b"]
    with pytest.raises(ValueError, match="follows the scale of the data"):
        nb.NaiveBayes(nb.Gaussian()).bind([[1.0]], [0]).simulate(3)
    with pytest.raises(ValueError, match="total_count"):
        nb.NaiveBayes(nb.Multinomial()).bind([[1, 2]], [0]).simulate(3)


def test_repr_reads_like_the_generative_story():
    model = nb.NaiveBayes({"mass": nb.Gaussian(10.0, 1.0, 2.0, 3.0), "words": (nb.Multinomial(0.5), slice(1, None))})
    assert repr(model).splitlines() == [
        "NaiveBayes, features independent given the class:",
        "  class_prob ~ Dirichlet(1)",
        "  y ~ Categorical(class_prob)",
        "  mass ~ Normal(mean, variance)",
        "      mean ~ Normal(10, variance / 1)",
        "      variance ~ InverseGamma(2, 3)",
        "  words[1:] ~ Multinomial(total, prob)",
        "      prob ~ Dirichlet(0.5)",
    ]
    many = nb.NaiveBayes({f"column {k}": nb.Bernoulli() for k in range(30)})
    assert len(repr(many).splitlines()) < 12
    assert max(map(len, repr(many).splitlines())) <= 96
    assert "and 6 more" in repr(nb.NaiveBayes({k: nb.Bernoulli(k + 1) for k in range(30)}))
    assert "on the data's scale" in repr(nb.NaiveBayes(nb.Gaussian()))
    assert "[0.25, 0.75]" in repr(nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.25, 0.75])) or "(0.25, 0.75)" in repr(
        nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.25, 0.75])
    )


def test_a_resolved_model_is_the_same_model_with_numbers(mixed):
    model, X, y = mixed
    posterior = nb.fit(model, X, y)
    again = nb.fit(posterior.model, X, y)
    np.testing.assert_allclose(again.predict_proba(X), posterior.predict_proba(X), rtol=1e-10)
    assert again.log_evidence == pytest.approx(posterior.log_evidence, rel=1e-12)
    assert "scale" not in repr(posterior.model)


def test_array_hyperparameters_reach_their_column_and_class(rng):
    X, y = rng.integers(0, 2, (30, 3)), rng.integers(0, 2, 30)
    per_column = np.array([0.5, 2.0, 5.0])
    per_class = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(per_column, per_class)), X, y)
    for c in range(2):
        rows = X[y == c]
        expected = (per_column + rows.sum(0)) / (per_column + per_class[c] + len(rows))
        np.testing.assert_allclose(posterior.mean()["x_prob"][c], expected)


def test_problem_of_conjugate_families_only():
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Stubborn(nb.families.Family):
        def prior(self, sample):
            return {"rate": sample("rate", dist.Gamma(np.ones(2)[:, None], 1.0))}

        def likelihood(self, rate):
            return dist.Poisson(rate)

        def statistics(self, x, membership):
            return nb.Poisson().statistics(x, membership)

        def log_likelihood(self, parameters, statistics):
            return statistics.total * jax.numpy.log(parameters["rate"]) - statistics.n * parameters["rate"]

    with pytest.raises(ValueError, match=r"Stubborn.*nb\.NUTS"):
        nb.fit(nb.NaiveBayes(Stubborn()), [[1.0], [2.0]], [0, 1])
    problem = empty_problem(nb.NaiveBayes(nb.Poisson()).bind([[1]], [0]), growing=False)
    assert problem.model.conjugate


def test_a_family_that_is_no_pytree_is_refused_at_once():
    class Unregistered(Exponential):
        pass

    with pytest.raises(TypeError, match=r"Unregistered.*register_dataclass"):
        nb.NaiveBayes(Unregistered())
    with pytest.raises(TypeError, match=r"Unregistered.*register_dataclass"):
        nb.NaiveBayes({"a": Unregistered()})


def test_likely_mistakes_are_pointed_out():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "?", "y"], "label": ["u", "v", "u"]})
    with pytest.warns(UserWarning, match=r"'b' holds '\?' in 1 cell"):
        model = nb.NaiveBayes.from_frame(frame)
    with pytest.warns(UserWarning, match="labels are named 'label', and so is a feature"):
        nb.fit(model, frame, frame["label"])
    assert list(nb.NaiveBayes.from_frame(frame, exclude="b").features) == ["a", "label"]


def test_sparse_frames_are_read_as_sparse():
    dense = pd.DataFrame(np.eye(4, dtype=int), columns=list("abcd"))
    sparse = dense.astype(pd.SparseDtype("int", 0))
    model, y = nb.NaiveBayes(nb.Multinomial()), [0, 0, 1, 1]
    posterior = nb.fit(model, sparse, y)
    np.testing.assert_allclose(posterior.predict_proba(sparse), nb.fit(model, dense, y).predict_proba(dense))
    assert posterior.model.schema.columns == ("a", "b", "c", "d")


def test_count_vectors_of_one_column_each_stay_apart():
    X, y = np.array([[3, 1], [0, 4], [2, 2]]), ["a", "b", "a"]
    apart = nb.fit(nb.NaiveBayes({0: nb.Multinomial(), 1: nb.Multinomial()}), X, y)
    assert [block.columns for block in apart.model.blocks] == [(0,), (1,)]
    together = nb.fit(nb.NaiveBayes({"both": (nb.Multinomial(), [0, 1])}), X, y)
    assert apart.log_evidence > together.log_evidence
    np.testing.assert_allclose(apart.predict_proba(X), np.tile([0.6, 0.4], (3, 1)))


def test_simulated_documents_may_be_empty():
    X = np.array([[1, 2], [3, 0], [0, 1]])
    model = nb.NaiveBayes(nb.Multinomial()).bind(X, ["a", "b", "a"])
    documents, _ = model.simulate(2, total_count=[0, 5])
    assert documents.sum(axis=1).tolist() == [0, 5]
    with pytest.raises(ValueError, match="give a whole number"):
        model.simulate(2, total_count=[-1, 5])


def test_keys_are_zero_unless_given():
    model = nb.NaiveBayes(nb.Bernoulli()).bind([[0, 1], [1, 1]], ["a", "b"])
    posterior = nb.fit(model, [[0, 1], [1, 1]], ["a", "b"])
    for simulate in (model.simulate, posterior.simulate):
        (X, y), (X0, y0), (X1, _) = simulate(40), simulate(40, key=0), simulate(40, key=1)
        np.testing.assert_array_equal(X, X0)
        np.testing.assert_array_equal(y, y0)
        assert (X != X1).any()


@pytest.mark.parametrize("column", ["height", "visits"])
def test_default_priors_in_numbers(column):
    """Gaussian: loc the mean, kappa 0.1, concentration 1, rate 0.1 s^2. Poisson: shape 1, rate 1 over the mean."""
    X, y = np.array([[1.0], [2.0], [6.0], [7.0]]), ["a", "a", "b", "b"]
    family = {"height": nb.Gaussian(), "visits": nb.Poisson()}[column]
    (used,) = nb.fit(nb.NaiveBayes(family), X, y).model.families
    expected = {
        "height": {"loc": 4.0, "kappa": 0.1, "concentration": 1.0, "rate": 0.1 * 6.5},
        "visits": {"concentration": 1.0, "rate": 0.25},
    }
    for name, value in expected[column].items():
        np.testing.assert_allclose(getattr(used, name), [[value]] * 2, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_frequencies_of_labels_have_no_scale(scale):
    weights = scale * np.array([1.0, 2.0, 5.0])
    model = nb.NaiveBayes(nb.Gaussian(), class_probs="empirical")
    posterior = nb.fit(model, np.array([[0.0], [1.0], [3.0]]), [0, 0, 1], sample_weight=weights)
    np.testing.assert_allclose(posterior.plugin().parameters.class_prob, [0.375, 0.625], rtol=1e-12)


def test_frequencies_of_labels_without_weight_are_equal():
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
    posterior = nb.fit(model, [[0], [1], [1]], ["a", "b", "c"], sample_weight=[0, 0, 0])
    np.testing.assert_allclose(posterior.class_probs(), 1 / 3, rtol=1e-15)


def test_the_default_mean_of_counts_is_that_of_the_column_or_one_where_it_is_zero():
    family = nb.fit(nb.Poisson(concentration=2.0), [[0, 3], [0, 5], [np.nan, 4]], [0, 1, 1]).model.families[0]
    np.testing.assert_allclose(family.concentration / family.rate, [[1.0, 4.0]] * 2, rtol=1e-12)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "on the data's scale"),
        (2.0, "2"),
        (np.full((3, 4), 0.5), "0.5"),
        (np.array([[1.0, 2.5]]), "(1, 2.5)"),
        (np.tile([1.0, 2.5], (3, 1)), "(1, 2.5)"),
        (np.array([[1.0, 2.5], [1.0, 3.5]]), "<array of shape (2, 2)>"),
        (np.arange(6.0), "(0, 1, 2, 3, 4, 5)"),
        (np.arange(7.0), "<array of shape (7,)>"),
        (dist.Gamma(2.0, 1.0).expand([3]), "Gamma(2, 1), shape (3,)"),
    ],
)
def test_hyperparameters_are_shown_as_short_as_they_are(value, shown):
    assert format_number(value) == shown


def test_the_repr_says_how_likely_a_feature_depends_on_the_class():
    words = "depends on the class with probability {}, else classes share it"
    features = {"a": nb.Bernoulli(), "b": nb.Bernoulli()}
    for inclusion, shown in ((0.3, "0.3"), ({"a": 0.5, "b": 1.0}, "{'a': 0.5, 'b': 1.0}")):
        text = " ".join(repr(nb.NaiveBayes(features, feature_inclusion=inclusion)).split())
        assert words.format(shown) in text
