"""The description of a model: its program, its density, its simulations and its looks."""

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from cases import Exponential
from numpyro.infer import SVI, Predictive, Trace_ELBO, autoguide
from numpyro.infer.util import log_density

import bayesnb as nb
from bayesnb.families.hyperparameters import format_number
from bayesnb.model.prior import Prior


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
    draws = posterior.belief.draw(1, 6, 0)
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


@pytest.mark.slow
def test_svi_predictive_and_render_run_the_program(mixed):
    model, X, y = mixed
    program = nb.fit(model, X, y).model.program
    svi = SVI(program, autoguide.AutoNormal(program), numpyro.optim.Adam(0.05), Trace_ELBO())
    result = svi.run(jax.random.key(0), 50, X, y, progress_bar=False)
    assert np.isfinite(result.losses).all()
    assert result.losses[-1] < result.losses[0]
    prior = Predictive(program, num_samples=5)(jax.random.key(0), num_rows=4, total_count=10)
    assert prior["words"].shape == (5, 4, 3)
    assert (prior["words"].sum(-1) == 10).all()
    graph = numpyro.render_model(program, model_args=(X, y), render_distributions=True)
    assert "words ~ Multinomial" in graph.source


def test_a_program_runs_in_float64_and_then_in_float32():
    X, y = np.array([[2, 0, 1], [1, 3, 0], [0, 1, 1]]), ["a", "b", "b"]
    program = nb.fit(nb.Poisson(2.0, 1.0), X, y).model.program
    at = {"class_prob": np.array([0.4, 0.6]), "x_rate": np.full((2, 3), 0.7)}

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


def test_a_simulated_table_follows_the_parameters_that_come_with_it():
    """Shares of the labels, and of ones in each class; errors of four standard deviations."""
    bound = nb.NaiveBayes(nb.Bernoulli(2.0, 1.0), class_concentration=[3.0, 1.0]).bind([[0], [1]], ["p", "q"])
    X, y, drawn = bound.simulate(20_000, key=1, return_parameters=True)
    prob = drawn["class_prob"]
    assert np.abs(prob - 0.5).max() > 0.1
    for c, label in enumerate("pq"):
        assert (y == label).mean() == pytest.approx(prob[c], abs=2 / np.sqrt(20_000))
        assert X[y == label].mean() == pytest.approx(drawn["x_prob"][c, 0], abs=2 / np.sqrt((y == label).sum()))


@pytest.mark.slow
def test_what_cannot_be_simulated_is_refused():
    words = nb.NaiveBayes(nb.Multinomial()).bind([[1, 2], [3, 0]], ["a", "b"])
    assert words.simulate(2, total_count=[0, 5])[0].sum(axis=1).tolist() == [0, 5]
    for call, message in (
        (
            lambda: nb.NaiveBayes(nb.Gaussian()).bind(np.empty((0, 1)), classes=[0]).simulate(3),
            "follows the scale of the data",
        ),
        (lambda: words.simulate(3), "give total_count, the length of each document"),
        (lambda: words.simulate(2, total_count=[-1, 5]), "give a whole number"),
        (lambda: words.program(num_rows=3), "block 'x' holds count vectors: give total_count, their totals"),
        (
            lambda: numpyro.handlers.seed(nb.NaiveBayes(nb.Bernoulli()).program, 0)(),
            r"run the program with X and y.*bind\(X, y\)",
        ),
    ):
        with pytest.raises(ValueError, match=message), numpyro.handlers.seed(rng_seed=0):
            call()


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
    assert "more" not in repr(nb.NaiveBayes({k: nb.Bernoulli(k + 1) for k in range(24)}))
    features = {"a": nb.Bernoulli(), "b": nb.Bernoulli()}
    depends = "depends on the class with probability {}, else classes share it"
    for shown, part in (
        (nb.NaiveBayes({k: nb.Bernoulli(k + 1) for k in range(30)}), "and 6 more"),
        (nb.NaiveBayes(nb.Gaussian()), "on the data's scale"),
        (nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.25, 0.75]), "(0.25, 0.75), known"),
        (nb.NaiveBayes(features, feature_inclusion=0.3), depends.format(0.3)),
        (nb.NaiveBayes(features, feature_inclusion={"a": 0.5, "b": 1.0}), depends.format("{'a': 0.5, 'b': 1.0}")),
    ):
        assert part in " ".join(repr(shown).split())


def test_array_hyperparameters_reach_their_column_and_class(rng):
    X, y = rng.integers(0, 2, (30, 3)), rng.integers(0, 2, 30)
    per_column = np.array([0.5, 2.0, 5.0])
    per_class = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(per_column, per_class)), X, y)
    for c in range(2):
        rows = X[y == c]
        expected = (per_column + rows.sum(0)) / (per_column + per_class[c] + len(rows))
        np.testing.assert_allclose(posterior.mean()["x_prob"][c], expected)


def test_a_label_among_the_features_is_pointed_out():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", "?", "y"], "label": ["u", "v", "u"]})
    with pytest.warns(UserWarning, match=r"'b' holds '\?' in 1 cell"):
        model = nb.NaiveBayes.from_frame(frame)
    with pytest.warns(UserWarning, match="labels are named 'label', and so is a feature"):
        nb.fit(model, frame, frame["label"])
    assert list(nb.NaiveBayes.from_frame(frame, exclude="b").features) == ["a", "label"]


def test_count_vectors_of_one_column_each_stay_apart():
    X, y = np.array([[3, 1], [0, 4], [2, 2]]), ["a", "b", "a"]
    apart = nb.fit(nb.NaiveBayes({0: nb.Multinomial(), 1: nb.Multinomial()}), X, y)
    assert [list(block.columns) for block in apart.model.blocks] == [[0], [1]]
    together = nb.fit(nb.NaiveBayes({"both": (nb.Multinomial(), [0, 1])}), X, y)
    assert apart.log_evidence > together.log_evidence
    np.testing.assert_allclose(apart.predict_proba(X), np.tile([0.6, 0.4], (3, 1)))


def test_the_default_prior_of_counts_has_a_mean_of_one_where_theirs_is_zero():
    (used,) = nb.fit(nb.Poisson(concentration=2.0), [[0, 3], [0, 5], [np.nan, 4]], [0, 1, 1]).model.families
    np.testing.assert_allclose(used.concentration / used.rate, [[1.0, 4.0]] * 2, rtol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 0.01, 100.0])
def test_frequencies_of_labels_have_no_scale_and_are_equal_without_weight(scale):
    model = nb.NaiveBayes(nb.Gaussian(0.0, 1.0, 2.0, 1.0), class_probs="empirical")
    posterior = nb.fit(model, [[0.0], [1.0], [3.0]], [0, 0, 1], sample_weight=scale * np.array([1.0, 2.0, 5.0]))
    expected = [0.375, 0.625] if scale else [0.5, 0.5]
    np.testing.assert_allclose(posterior.class_probs(), expected, rtol=1e-12)
    np.testing.assert_allclose(posterior.plugin().parameters.class_prob, expected, rtol=1e-12)


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


def test_rows_that_leave_a_family_no_posterior_are_named_by_column_and_class():
    """A family that does not say which statistics are possible: a rate would be negative."""
    X, y = np.array([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0], [1.0, 4.0]]), ["a", "b", "a", "b"]
    posterior = nb.fit(Exponential(2.0, 1.0), X, y)
    with pytest.raises(ValueError, match="without them, column 1 in class 'b' would have statistics that no table has"):
        posterior.forget([[1.0, 1000.0]], ["b"])
