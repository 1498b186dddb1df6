"""Simulation-based calibration: right inferences pass, wrong ones are caught."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
import pytest
from cases import CASES
from slow import cases_fast, names_fast

import bayesnb as nb
from bayesnb.model.bound import BoundModel
from bayesnb.model.problem import Problem
from bayesnb.posterior.kinds import ExactPosterior


@dataclass(frozen=True)
class Wrong(nb.results.Inference):
    """The closed form of another problem than the one given."""

    change: Any

    def check(self, problem):
        pass

    def fit(self, problem, *, key=0):
        return ExactPosterior(self.change(problem), self)


@dataclass(frozen=True)
class Drawn(nb.results.Inference):
    """Two chains of draws from the closed form, which may be changed, and what a sampler reports of a share of fits."""

    change: Any = lambda value: value
    share: float | None = None

    def check(self, problem):
        pass

    def fit(self, problem, *, key=0):
        drawn = nb.Exact().fit(problem).belief.draw(2, 200, key)
        changed = replace(drawn, blocks=jax.tree.map(self.change, drawn.blocks))
        number = changed.blocks[0]["prob"].shape[1]
        changed = replace(changed, class_prob=drawn.class_prob[:, :number])
        stats = {}
        if self.share is not None:
            failed = np.random.default_rng(np.asarray(jax.random.key_data(key))).uniform() < self.share
            stats = {"diverging": np.full((2, 200), failed), "energy": np.random.default_rng(0).normal(size=(2, 200))}
        return nb.results.SampledPosterior(problem, problem.resolved, changed, stats, self)


@dataclass(frozen=True)
class HalfTheRows(nb.NUTS):
    """A sampler whose data count half."""

    def fit(self, problem, *, key=0):
        return super().fit(Problem(problem.model, problem.statistics * 0.5), key=key)


@pytest.fixture(scope="module")
def coins():
    return nb.NaiveBayes(nb.Bernoulli(2.0, 1.0), class_concentration=2.0).bind([[0, 1], [1, 0]], ["a", "b"])


@pytest.fixture(scope="module")
def draws_too_low(coins):
    return nb.sbc(coins, WRONG["draws too low"], key=2)


@pytest.fixture(scope="module")
def mixed():
    features = {
        "size": (nb.Gaussian(0.0, 1.0, 3.0, 2.0), [0, 1]),
        "kind": (nb.Categorical(0.8, categories=("x", "y", "z")), [2]),
        "count": (nb.Poisson(2.0, 1.0), [3]),
    }
    table = np.array([[0.1, 1.0, "x", 3], [0.5, 2.0, "y", 1]], dtype=object)
    return nb.NaiveBayes(features).bind(table, ["a", "b"])


@pytest.mark.parametrize("case", cases_fast(CASES, {"gaussian"}))
def test_the_closed_form_of_every_family_is_calibrated(case):
    x = case.cells(np.random.default_rng(0), 20)
    bound = nb.NaiveBayes(case.family, class_concentration=[1.5, 2.5]).bind(x, np.arange(20) % 2)
    result = nb.sbc(bound, num_rows=20, total_count=15, key=1)
    assert result.uniform, result.verdict
    scalars = sum(values.size for values in bound.sites.by_name(bound.draw_prior(np.random.default_rng(0))).values())
    assert result.pit.shape == (200, scalars + 1)
    assert ((result.pit >= 0) & (result.pit <= 1)).all(axis=None)


@pytest.mark.slow
def test_nuts_is_calibrated_and_half_the_data_are_not(mixed):
    settings = {"num_warmup": 300, "num_samples": 500}
    result = nb.sbc(mixed, nb.NUTS(**settings), num_simulations=100, num_rows=30)
    assert result.uniform, result.verdict
    assert "size_variance[b, 1]" in result.table.index
    assert result.inference.num_chains == 1
    caught = nb.sbc(mixed, HalfTheRows(**settings), num_simulations=40, num_rows=30)
    assert not caught.uniform
    assert caught.table["sd_pit"].mean() < 0.26  # too wide a posterior


def with_model(model):
    return Wrong(lambda problem: Problem(BoundModel.of(model, problem.model.schema), problem.statistics))


def with_statistics(change):
    return Wrong(lambda problem: Problem(problem.model, change(problem.statistics)))


WRONG = {
    "prior": with_model(nb.NaiveBayes(nb.Bernoulli(8.0, 1.0), class_concentration=2.0)),
    "class prior": with_model(nb.NaiveBayes(nb.Bernoulli(2.0, 1.0), class_concentration=[12.0, 2.0])),
    "rows forgotten": with_statistics(lambda statistics: statistics * 0.3),
    "rows twice": with_statistics(lambda statistics: statistics * 2.0),
    "classes swapped": with_statistics(lambda statistics: jax.tree.map(lambda leaf: leaf[::-1], statistics)),
    "draws too low": Drawn(lambda value: value**1.3),
}


@pytest.mark.parametrize("name", names_fast(WRONG, {"prior", "draws too low"}))
def test_a_wrong_posterior_is_caught(coins, draws_too_low, name):
    result = draws_too_low if name == "draws too low" else nb.sbc(coins, WRONG[name], key=2)
    assert not result.uniform
    assert result.verdict.startswith("NO")
    assert result.table["p_value"].min() < result.error_rate / len(result.table)


def test_a_posterior_that_ignores_the_data_is_caught_by_the_log_likelihood_alone(coins):
    result = nb.sbc(coins, with_statistics(lambda statistics: statistics * 0.0), key=2)
    assert not result.uniform
    caught = result.table.index[result.table["p_value"] < result.error_rate / len(result.table)]
    assert caught.tolist() == ["log_likelihood"]
    assert "log_likelihood" in result.verdict


@pytest.mark.slow
def test_fits_with_problems_are_counted(coins):
    """A few leave the verdict as it is; many make no YES of uniform PIT values, and no less of a NO."""
    sound = nb.sbc(coins, Drawn(share=0.0), num_simulations=60, key=3)
    assert not sound.problems.any(axis=None)
    assert "problems" not in sound.verdict
    few = nb.sbc(coins, Drawn(share=0.04), num_simulations=60, key=3)
    number = int(few.problems["divergences"].sum())
    assert 1 <= number <= 6
    assert few.uniform
    assert few.verdict.startswith("YES")
    assert f"{number} of 60 fits have problems: divergences in {number}." in few.verdict
    np.testing.assert_array_equal(few.pit, sound.pit)
    many = nb.sbc(coins, Drawn(share=0.5), num_simulations=60, key=3)
    assert not many.uniform
    assert many.verdict.startswith("UNDECIDED")
    assert f"{many.problems['divergences'].sum()} of 60 fits" in many.verdict
    np.testing.assert_array_equal(many.table, sound.table)
    wrong = nb.sbc(coins, Drawn(lambda value: value**3, share=0.5), num_simulations=60, key=3)
    assert wrong.verdict.startswith("NO")
    assert "fits have problems" in wrong.verdict


def test_draws_that_are_too_few_or_apart_are_problems(coins):
    def apart(leaf):
        return leaf * np.array([1.0, 0.6]).reshape(2, *[1] * (leaf.ndim - 1))

    found = nb.sbc(coins, Drawn(apart), num_simulations=20)
    assert found.problems["R-hat"].all()
    few = nb.sbc(coins, Drawn(lambda leaf: leaf[:, :15]), num_simulations=20)
    assert few.problems["bulk ESS"].all()
    assert not few.uniform
    for result in (found, few):
        kinds = ", ".join(f"{kind} in {number}" for kind, number in result.problems.sum().items() if number)
        assert f"20 of 20 fits have problems: {kinds}." in result.verdict
    # Fifty effective draws suffice, those of all chains together.
    assert nb.sbc(coins, Drawn(lambda leaf: leaf[:, :45]), num_simulations=20).problems["bulk ESS"].mean() < 0.5
    assert not nb.sbc(coins, num_simulations=20).problems.any(axis=None)


@pytest.mark.parametrize("concentration", [0.003, pytest.param(0.05, marks=pytest.mark.slow)])
@pytest.mark.parametrize("inference", [nb.Exact(), Drawn()], ids=["exact", "drawn"])
def test_probabilities_that_round_to_zero_and_one_are_no_error(concentration, inference):
    """Among draws, a true value that is equal to some has any of their places."""
    bound = nb.NaiveBayes(nb.Bernoulli(concentration, concentration)).bind([[0, 1], [1, 0]], ["a", "b"])
    result = nb.sbc(bound, inference, num_simulations=200, key=7)
    assert (result.table["p_value"] > result.error_rate / len(result.table)).all(), result.verdict


@pytest.mark.parametrize(("number", "kept"), [(200, 100), (15, 30)])
def test_a_value_is_ranked_among_evenly_spaced_draws_of_all_chains(coins, number, kept):
    def in_two_chains(leaf):
        return (leaf * 0 + np.array([0.6, 0.7]).reshape(2, *[1] * (leaf.ndim - 1)))[:, :number]

    found = nb.sbc(coins, Drawn(in_two_chains), num_simulations=20).pit.filter(like="x_prob") * (kept + 1)
    assert set(np.floor(found.to_numpy()).ravel()) == {0, kept // 2, kept}


def test_what_is_known_is_not_judged():
    bound = nb.NaiveBayes({0: nb.Bernoulli(), 1: nb.Categorical(categories=("only",))}, class_probs=[0.3, 0.7])
    bound = bound.bind(np.array([[0, "only"], [1, "only"]], dtype=object), ["a", "b"])
    for inference in (nb.Exact(), Drawn()):
        result = nb.sbc(bound, inference, num_simulations=20)
        assert list(result.table.index) == ["0_prob[a]", "0_prob[b]", "log_likelihood"]
    assert set(result.to_datatree()["prior_sbc"].data_vars) == {"0_prob", "log_likelihood"}
    alone = nb.NaiveBayes(nb.Bernoulli()).bind([[0], [1]], ["a", "a"])
    result = nb.sbc(alone, num_simulations=20)
    assert list(result.table.index) == ["x_prob[a, 0]", "log_likelihood"]
    assert result.to_datatree()["prior_sbc"]["x_prob"].shape == (1, 20, 1, 1)


def test_a_table_sets_what_follows_its_scale():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(40.0, 5.0, 30), rng.poisson(4.0, (30, 2))])
    model = nb.NaiveBayes({"size": (nb.Gaussian(), [0]), "words": (nb.Multinomial(), [1, 2])}, class_probs="empirical")
    result = nb.sbc(model, X=X, y=np.arange(30) % 3, num_simulations=60)
    assert result.uniform, result.verdict
    np.testing.assert_allclose(result.model.blocks[0].family.loc, X[:, 0].mean())
    again = nb.sbc(model.bind(X, np.arange(30) % 3), X=X, y=np.arange(30) % 3, num_simulations=60)
    np.testing.assert_array_equal(again.pit, result.pit)
    family = nb.sbc(nb.Gaussian(), X=X, y=np.arange(30) % 3, num_simulations=20)
    assert len(family.table) == 3 + 18 + 1


def test_the_result_in_words_frames_and_groups(coins):
    result = nb.sbc(coins, num_simulations=50, key=4)
    assert list(result.table.index) == [
        *["class_prob[a]", "class_prob[b]", "x_prob[a, 0]", "x_prob[a, 1]", "x_prob[b, 0]", "x_prob[b, 1]"],
        "log_likelihood",
    ]
    assert list(result.table) == ["mean_pit", "sd_pit", "p_value"]
    assert list(result.pit) == list(result.table.index)
    np.testing.assert_allclose(result.table["mean_pit"], result.pit.to_numpy().mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(result.table["sd_pit"], result.pit.to_numpy().std(axis=0, ddof=1), rtol=1e-12)
    assert repr(result).startswith("YES")
    assert "<table" in result._repr_html_()
    group = result.to_datatree()["prior_sbc"]
    assert group["x_prob"].dims == ("chain", "draw", "class", "x_column")
    assert group["x_prob"].shape == (1, 50, 2, 2)
    np.testing.assert_array_equal(group["x_prob"].sel({"class": "b", "x_column": 0})[0], result.pit["x_prob[b, 0]"])
    np.testing.assert_array_equal(group["log_likelihood"][0], result.pit["log_likelihood"])
    np.testing.assert_array_equal(nb.sbc(coins, num_simulations=50, key=jax.random.key(4)).pit, result.pit)
    assert not jax.config.jax_enable_x64


def test_arviz_tests_and_plots_the_tree(coins):
    from arviz_plots import plot_ecdf_pit

    result = nb.sbc(coins, num_simulations=50)
    tree = result.to_datatree()
    drawn = plot_ecdf_pit(tree, group="prior_sbc", var_names=["x_prob", "log_likelihood"], backend="matplotlib")
    assert len(drawn.viz["plot"].data_vars) == 2
    p_values = tree["prior_sbc"].dataset.azstats.uniformity_test(dim=["chain", "draw"])[0]
    np.testing.assert_allclose(p_values["x_prob"].to_numpy().ravel(), result.table["p_value"].iloc[2:6])


def test_the_picture_shows_the_worst_first(draws_too_low):
    """The cumulative distribution less its expectation, and a band that it leaves with the stated probability."""
    result = draws_too_low
    panels = [axis for axis in result.plot(max_panels=5).axes if axis.get_title()]
    shown = [axis.get_title().split("\n")[0] for axis in panels]
    assert shown == list(result.table["p_value"].sort_values(kind="stable").index[:5])
    at, difference = panels[0].lines[-1].get_data()
    np.testing.assert_allclose(difference, (result.pit[shown[0]].to_numpy() <= at[:, None]).mean(axis=1) - at)
    (band,) = panels[0].collections
    assert not band.get_paths()[0].contains_points(panels[0].lines[-1].get_xydata()[1:-1]).all()


@pytest.mark.slow
def test_a_right_posterior_is_refused_as_seldom_as_stated(coins):
    """A hundred and fifty verdicts at error rate 0.05, of which at most sixteen may be NO."""
    wrong = sum(not nb.sbc(coins, num_simulations=100, key=k, error_rate=0.05).uniform for k in range(150))
    assert wrong <= 16


class OneChain(nb.NUTS):
    """The closed form, with the settings of a sampler."""

    def fit(self, problem, *, key=0):
        return nb.Exact().fit(problem)


def test_the_sampler_runs_one_chain_without_a_bar_of_its_own(coins):
    found = nb.sbc(coins, OneChain(num_samples=70, num_chains=4, progress=True), num_simulations=20).inference
    assert (found.num_samples, found.num_chains, found.progress) == (70, 1, False)
