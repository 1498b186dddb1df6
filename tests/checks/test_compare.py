"""The tests behind `nb.compare`: right draws, and defects that leave every parameter's own distribution right."""

from dataclasses import dataclass

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from cases import CASES, Exponential
from correlated import (
    autoregressive,
    classes_swapped,
    coins,
    coins_apart,
    correlated_draws,
    gaussians,
    means_of_other_draws,
    one_common_uniform,
    scored,
    two_alike,
)
from scipy import stats
from scipy.special import ndtr

import bayesnb as nb
from bayesnb.checks import same_draws
from bayesnb.checks.same_draws import Evidence, ess_and_z, legendre, ranks_among
from bayesnb.families.conjugate import independent_pits
from bayesnb.families.distributions import BetaOfLogs
from bayesnb.families.formulas import independent_pit, pit

Z = ["z_mean", "z_sd", "z_skew", "z_tails"]


def compared(data, seed, *, ess=4000, spoil=lambda name, u: u, change=lambda draws: draws, given=False, **options):
    rng = np.random.default_rng(seed)
    model, X, y = data(rng)
    exact = nb.fit(model, X, y)
    draws = change(correlated_draws(exact, rng, ess, spoil=spoil))
    return nb.compare(exact, nb.from_samples(model, draws, X=X, y=y), X if given else None, key=seed, **options)


@pytest.fixture
def few_exact_draws(monkeypatch):
    """A comparison of which the tests by ranks are not looked at needs few draws from the closed form."""
    monkeypatch.setattr(same_draws, "EXACT_DRAWS", 1000)
    monkeypatch.setattr(same_draws, "DRAWS_OF_PROBABILITIES", 1000)


@pytest.fixture(scope="module")
def right():
    """A comparison with right draws, of the class probabilities of rows as well."""
    return compared(gaussians, 0, given=True, error_rate=0.01)


# --------------------------------------------------------------------------------------------------
# Numbers that are uniform if draws are right
# --------------------------------------------------------------------------------------------------


def test_polynomials_are_orthogonal_with_variance_one():
    nodes, weights = np.polynomial.legendre.leggauss(20)
    values = np.stack([legendre((nodes + 1) / 2, degree) for degree in (1, 2, 3, 4)])
    np.testing.assert_allclose(values @ (weights / 2), 0, atol=1e-13)
    np.testing.assert_allclose((values * weights / 2) @ values.T, np.eye(4), atol=1e-13)


def test_ranks_are_uniform_among_equals_too():
    rng = np.random.default_rng(0)
    reference, values = rng.integers(0, 3, (5000, 1)), rng.integers(0, 3, (4, 500, 1))
    assert stats.kstest(ranks_among(reference, values, rng).ravel(), "uniform").pvalue > 0.01
    known = ranks_among(np.arange(9.0)[:, None], np.array([[[-1.0], [3.5], [20.0]]]), rng).ravel()
    assert (np.floor(known * 10) == [0, 4, 9]).all()
    between = ranks_among(np.arange(9.0)[:, None], np.full((1, 500, 1), 3.5), rng).ravel()
    assert stats.kstest(between, "uniform", (0.4, 0.1)).pvalue > 0.01


def test_no_more_draws_are_counted_than_there_are():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(4, 501, 1))
    antithetic = noise[:, 1:] - 0.9 * noise[:, :-1]
    ess, z = ess_and_z(antithetic)
    assert ess == 2000
    assert z == pytest.approx(antithetic.mean() * np.sqrt(2000))
    assert ess_and_z(antithetic, variance=1 / 500)[1] == pytest.approx(antithetic.mean() / np.sqrt(1 / 2000 + 1 / 500))


def test_probabilities_that_are_rounded_to_zero_and_one_are_uniform(float64, rng):
    for a, b in [(0.01, 0.01), (0.001, 3.0), (3.0, 0.001)]:
        assert stats.kstest(pit(BetaOfLogs(a, b), rng.beta(a, b, 4000), rng), "uniform").pvalue > 0.001


def test_a_draw_of_one_is_rounded_for_probabilities_only(rng):
    """Next to zero, draws that were rounded are spread over the probability below the smallest float."""
    found = pit(dist.Gamma(0.001, 1.0), np.array([1.0, *np.zeros(2000)]), rng)
    assert found[0] == pytest.approx(stats.gamma.cdf(1.0, 0.001), rel=1e-6)
    assert stats.kstest(found[1:] / stats.gamma.cdf(5e-324, 0.001), "uniform").pvalue > 0.001


@pytest.mark.parametrize(
    "distribution",
    [dist.Poisson(3.0), dist.MultivariateStudentT(5.0, scale_tril=np.eye(2)), dist.Delta(2.0)],
    ids=lambda distribution: type(distribution).__name__,
)
def test_draws_without_a_uniform_number_have_none(distribution, rng):
    draws = np.full((5, *distribution.event_shape), 2.0)
    np.testing.assert_array_equal(independent_pit(distribution, draws, rng), np.full(draws.shape, np.nan))


FITS = {case.name: lambda rng, case=case: (case.default, case.cells(rng, 30), rng.integers(0, 2, 30)) for case in CASES}
for concentration in (0.001, 0.3, 5.0):
    FITS[f"categories, {concentration}"] = lambda rng, a=concentration: (
        nb.Categorical(a, categories=list("abcd")),
        np.array([["a"], ["b"]]),
        [0, 1],
    )


@pytest.mark.parametrize("name", FITS)
def test_every_familys_numbers_are_uniform_and_independent(name):
    rng = np.random.default_rng(5)
    exact = nb.fit(*FITS[name](rng))
    parameters = exact.closed_form.draw(rng, (4000,))
    for family, values in zip(exact.families, parameters.blocks, strict=True):
        pits = independent_pits(family, values, rng).values()
        u = np.concatenate([found.reshape(4000, -1) for found in pits], axis=1)
        u = u[:, ~np.isnan(u[0])]
        assert u.shape[1] >= 4
        correlations = np.corrcoef(u.T) - np.eye(u.shape[1])
        assert min(stats.kstest(column, "uniform").pvalue for column in u.T) > 1e-4
        assert np.abs(correlations).max() < 4.8 / np.sqrt(4000)


def test_ranks_among_few_draws_have_the_spread_of_both():
    """A rank among 40 draws is as uncertain as these are: without their part the z would have a spread of 2.4."""
    rng = np.random.default_rng(2)
    tests = Evidence()
    tests.add_ranks("densities", np.arange(400), rng.normal(size=(4, 50, 400)), rng.normal(size=(40, 400)), rng)
    spreads = pd.concat(tests.frames).groupby("test")["z"].std()
    # The standard deviation of 400 numbers has a relative error of 3.5 %.
    np.testing.assert_allclose(spreads, 1.0, rtol=0, atol=0.14)


def test_numbers_that_do_not_vary_have_no_ranks(rng):
    # Of a single class the log probability is zero; another number may be constant up to rounding.
    reference = np.column_stack([np.zeros(50), 3.0 + 1e-13 * rng.normal(size=50), rng.normal(size=50)])
    tests = Evidence()
    names = np.array(["row 0", "row 1", "row 2"])
    varied = tests.add_ranks("densities", names, rng.normal(size=(2, 40, 3)), reference, rng)
    np.testing.assert_array_equal(varied, [False, False, True])
    assert pd.concat(tests.frames)["quantity"].tolist() == ["row 2"] * 2
    assert tests.number["densities"] == 2
    assert all(len(values) == 1 for values in tests.z_by_test("densities", ["z_rank", "z_rank_spread"]).values())


# --------------------------------------------------------------------------------------------------
# Verdicts: right draws, wrong ones, and too few
# --------------------------------------------------------------------------------------------------

DEPENDENT = {
    "one common uniform": (coins, {"spoil": one_common_uniform}, "parameters are correlated"),
    "two alike": (coins, {"spoil": two_alike}, "x_prob[0, 0] and x_prob[0, 1]"),
    "means of other draws": (gaussians, {"change": means_of_other_draws}, "depends on another"),
}
WRONG = DEPENDENT | {
    "classes swapped": (coins_apart, {"change": classes_swapped}, "the mean of"),
    "wide": (gaussians, {"spoil": scored(lambda score: 1.3 * score)}, "the spread of 1 of"),
    "heavy tails": (gaussians, {"spoil": scored(lambda score: np.sinh(1.2 * score) / 1.9)}, "the tails of 1 of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_defects_are_found_and_named(name):
    data, how, words = WRONG[name]
    found = compared(data, 0, **how)
    assert found.verdict.startswith("NO"), found.verdict
    assert words in found.verdict
    assert name not in DEPENDENT or not found.parts.loc["parameters", "num_against"]
    table = found.table
    each = 2 * stats.norm.sf(table[Z].abs())
    np.testing.assert_allclose(table["p_value"], np.minimum(4 * each.min(axis=1), 1.0), rtol=1e-10)
    tests = found.tests[found.tests["against"]]
    for (_, test), group in tests.groupby(["part", "test"]):
        worst = group.loc[group["z"].abs().idxmax()]
        reasons = [each for each in found.reasons if f"{worst['quantity']} (z = {worst['z']:.1f})" in each]
        counted = "" if test in ("correlation", "spread given") else f"the {test} of {len(group)} of "
        assert any(counted in one for one in reasons)


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_defects_are_found_in_every_run(name):
    data, how, words = WRONG[name]
    verdicts = [compared(data, seed, ess=2000, **how).verdict for seed in range(20)]
    decided = [verdict for verdict in verdicts if not verdict.startswith("UNDECIDED")]
    assert len(decided) >= 15
    assert all(verdict.startswith("NO") and words in verdict for verdict in decided)


@pytest.mark.parametrize("seed", [1, 2])
def test_right_draws_agree(seed):
    found = compared((gaussians, coins)[seed % 2], seed, ess=2500, given=seed > 1)
    assert found.verdict.startswith("YES"), found.verdict


@pytest.mark.slow
@pytest.mark.parametrize("data", [gaussians, coins])
def test_right_correlated_draws_get_a_no_at_the_stated_rate(data):
    """Two hundred sets of 1,000 effective draws at error rate 0.05: more than 20 wrong has probability 0.001."""
    found = [compared(data, seed, ess=1000, error_rate=0.05, given=seed % 2) for seed in range(200)]
    assert sum(bool(one.tests["against"].any()) for one in found) <= 20
    assert sum(one.verdict.startswith("NO") for one in found) <= 20


@pytest.mark.parametrize("how", [{}, {"spoil": one_common_uniform}], ids=["right", "wrong"])
def test_too_few_effective_draws_tell_nothing(how):
    found = compared(coins, 0, ess=210, error_rate=0.05, **how)
    assert found.verdict.startswith("UNDECIDED"), found.verdict
    assert not found.agree


def test_every_tested_series_needs_effective_draws():
    """Two parameters, each of independent draws, whose difference moves slowly."""
    slow = ndtr(autoregressive(np.random.default_rng(8), (4, 1000), 0.995))

    def slowly_dependent(name, u):
        if name == "prob":
            u[:, :, 0, 1] = (u[:, :, 0, 0] + slow) % 1
        return u

    found = compared(coins, 0, spoil=slowly_dependent)
    assert not found.sampled.diagnostics.problems()
    assert found.parts.loc["parameters", "least_ess"] > 3000
    few = found.tests.loc[found.tests["ess"].idxmin()]
    reason = f"the {few['test']} of {few['quantity']} has {few['ess']:.0f} effective draws, and the tests need 400"
    assert found.verdict == f"UNDECIDED, the draws do not suffice: {reason}."


def test_four_draws_of_two_chains_are_compared():
    X, y = [[1], [0], [1]], ["a", "b", "b"]
    exact = nb.fit(nb.Bernoulli(), X, y)
    four = nb.from_samples(nb.Bernoulli(), exact.draws(num_chains=2, num_draws=4), X=X, y=y)
    assert nb.compare(exact, four).verdict.startswith("UNDECIDED")


def test_yes_says_what_it_could_have_missed(right):
    least = right.tests.query("part == 'parameters' and test == 'mean'")["ess"].min()
    assert right.verdict.startswith("YES")
    assert right.smallest_shift == pytest.approx((right.critical_z + 1.645) / np.sqrt(least))
    assert f"less than {right.smallest_shift:.2g} posterior standard deviations" in right.verdict
    assert str(right.parts["num_tests"].sum()) in right.verdict


def test_each_part_has_its_share_of_the_error_rate(right):
    # 18 parameters, four tests; seven densities; 17 free numbers; eight cells; twelve rows, two classes, two tests.
    assert right.parts["num_tests"].to_dict() == {
        "parameters": 4 * 18,
        "densities": 2 * 7,
        "dependence": 17 * 16 // 2 + 8,
        "probabilities": 2 * 24,
    }
    tests, parts = right.tests, right.parts
    np.testing.assert_allclose(tests["p_value"], 2 * stats.norm.sf(tests["z"].abs()), rtol=1e-9)
    np.testing.assert_allclose(2 * stats.norm.sf(parts["critical_z"]) * parts["num_tests"], 0.01 / 4)
    assert (tests["against"] == (tests["z"].abs() > tests["part"].map(parts["critical_z"]))).all()


def test_class_probabilities_are_tested_by_ranks(right):
    """The z of a predicted probability is shown and not tested."""
    wrong = compared(coins, 0, given=True, spoil=one_common_uniform)
    assert "class probabilities is off" in wrong.verdict
    assert wrong.parts.loc["probabilities", "num_against"]
    for found, data in ((right, gaussians), (wrong, coins)):
        X = data(np.random.default_rng(0))[1]
        table, tested = found.probabilities, found.probabilities[["z_rank", "z_rank_spread"]]
        np.testing.assert_allclose(table["z"], (table["sampled"] - table["exact"]) / table["mcse"], rtol=1e-6)
        np.testing.assert_allclose(table["exact"], found.exact.predict_proba(X).ravel())
        np.testing.assert_allclose(table["sampled"], found.sampled.predict_proba(X).ravel(), atol=1e-12)
        assert found.parts.loc["probabilities", "num_tests"] == tested.size
        assert found.parts.loc["probabilities", "largest_z"] == tested.abs().max(axis=None)


def test_the_mcse_of_a_predicted_probability_is_the_spread_over_sets_of_draws(few_exact_draws):
    model, X, y = coins(np.random.default_rng(0))
    exact = nb.fit(model, X, y)
    draws = exact.draws(num_draws=1500, key=0)
    found = nb.compare(exact, nb.from_samples(model, draws, X=X, y=y), X[:2]).probabilities
    parts = [{site: values[:, start : start + 25] for site, values in draws.items()} for start in range(0, 1500, 25)]
    spread = np.std([nb.from_samples(model, part, X=X, y=y).predict_proba(X[:2]) for part in parts], axis=0, ddof=1)
    # The standard deviation of sixty numbers has a relative error of 9 %.
    np.testing.assert_allclose(found["mcse"] * np.sqrt(60), spread.ravel(), rtol=0.36)


@pytest.mark.slow
@pytest.mark.parametrize("concentration", [0.1, 0.001])
def test_probabilities_carried_by_a_few_draws_are_no_reason_for_a_no(concentration):
    """A cell that its class has never shown, under a small concentration: one draw in thousands carries the mean."""
    X, y = np.array([[0, 1, 3]] * 4 + [[2, 1, 0]] * 4), [0] * 4 + [1] * 4
    model = nb.NaiveBayes(nb.Multinomial(concentration))
    exact = nb.fit(model, X, y)
    off = 0
    for key in range(10):
        sampled = nb.from_samples(model, exact.draws(num_draws=1000, key=key), X=X, y=y)
        found = nb.compare(exact, sampled, [[3, 0, 0], [1, 1, 1]])
        assert not found.verdict.startswith("NO"), found.verdict
        off += (found.probabilities["z"].abs() > 5).any()
    assert concentration > 0.01 or off > 0


@pytest.mark.parametrize("data", [coins, gaussians])
def test_exact_draws_follow_the_key_and_are_not_those_that_are_tested(data, few_exact_draws):
    model, X, y = data(np.random.default_rng(0))
    exact = nb.fit(model, X, y)
    # The draws that are tested have key 0, as many a user's.
    sampled = nb.from_samples(model, exact.draws(key=0), X=X, y=y)
    zero, one = (nb.compare(exact, sampled, X, key=key).tests.query("part == 'densities'")["z"] for key in (0, 1))
    assert zero.abs().min() > 1e-3
    assert 0 < (zero - one).abs().max() < 3.0


def test_a_class_prior_that_is_known_and_blocks_of_several_families():
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(size=(40, 2)), rng.integers(0, 3, (40, 2)), rng.poisson(3.0, 40)])
    y = rng.integers(0, 2, 40)
    model = nb.NaiveBayes(
        {"a": (nb.Gaussian(), [0, 1]), "b": (nb.Categorical(), [2]), 3: nb.Categorical(), 4: nb.Poisson()},
        class_probs=[0.5, 0.5],
    )
    exact = nb.fit(model, X, y)
    found = nb.compare(exact, nb.from_samples(model, correlated_draws(exact, rng, 4000), X=X, y=y), X)
    assert found.agree, found.verdict
    assert found.parts.loc["dependence", "num_tests"] == 18 * 17 // 2 + 4


def test_of_many_parameters_pairs_inside_a_class_are_tested(monkeypatch):
    monkeypatch.setattr(same_draws, "GROUP", 6)
    found = compared(coins, 0, spoil=two_alike)
    # Of the first class nine numbers, one of them its own probability, in groups of five and four; of the second eight.
    assert found.parts.loc["dependence", "num_tests"] == 10 + 3 * 6
    assert "x_prob[0, 0] and x_prob[0, 1]" in found.verdict


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Waiting(Exponential):
    """Waiting times whose rate has a prior of which NumPyro knows no distribution function."""

    def prior(self, sample):
        gamma = dist.Gamma(self.concentration, self.rate)
        return {"rate": sample("rate", dist.ExpandedDistribution(gamma, gamma.batch_shape))}


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "YES"), (1.1, "NO")])
def test_a_family_without_a_distribution_function_is_compared_with_exact_draws(factor, verdict, monkeypatch):
    monkeypatch.setattr(same_draws, "EXACT_DRAWS", 4000)  # JAX draws them, slowly
    rng = np.random.default_rng(9)
    X, y = rng.exponential(2.0, (30, 3)), rng.integers(0, 2, 30)
    model = nb.NaiveBayes(Waiting(), class_probs=[0.5, 0.5])
    exact, known = nb.fit(model, X, y), nb.fit(Exponential(), X, y)
    draws = known.draws(key=4)
    draws |= {"class_prob": np.full(draws["class_prob"].shape, 0.5), "x_rate": draws["x_rate"] * factor}
    found = nb.compare(exact, nb.from_samples(model, draws, X=X, y=y))
    assert found.verdict.startswith(verdict), found.verdict
    assert "dependence" not in found.parts.index, "no number is uniform"
    by_cdf = nb.compare(known, nb.from_samples(Exponential(), draws, X=X, y=y))
    # As many exact draws as draws: their error is added to that of the draws.
    by_ranks, by_cdf = found.table["z_mean"], by_cdf.table.loc[found.table.index, "z_mean"]
    np.testing.assert_allclose(np.sqrt(2) * by_ranks, by_cdf, rtol=0.05, atol=4.0)
    assert not np.allclose(by_ranks, by_cdf, rtol=0.05, atol=0.01)


# --------------------------------------------------------------------------------------------------
# Rows, priors and data that are compared
# --------------------------------------------------------------------------------------------------


def test_simulated_documents_are_as_long_as_those_of_the_data():
    X, y = np.array([[3, 4, 0], [1, 0, 2], [7, 4, 0]]), [0, 1, 1]
    for weights, length in (([1.0] * 3, 7), ([0.0] * 3, 1)):
        exact = nb.fit(nb.Multinomial(), X, y, sample_weight=weights)
        (documents,) = same_draws.simulated_rows(exact, jax.random.key(0)).chunk
        np.testing.assert_array_equal(documents.sum(axis=1), length)


def test_the_log_density_of_rows_is_that_of_scipy():
    """Densities by a second route: rows given, with the label that is most probable."""
    rng = np.random.default_rng(10)
    model, X, y = gaussians(rng)
    exact = nb.fit(model, X, y)
    parameters = exact.closed_form.draw(rng, (3, 2))
    rows = same_draws.rows_of(exact, X, exact.predict_proba(X))
    found = same_draws.log_densities(exact, parameters, rows)
    chosen = [0, 2, 4, 7, 9, 11]
    assert rows.names == tuple(f"row {row}" for row in chosen)
    codes = exact.predict_proba(X).argmax(axis=1)
    mean, variance = parameters.blocks[0]["mean"], parameters.blocks[0]["variance"]
    cells = stats.norm.logpdf(X[:, None], mean[:, :, None], np.sqrt(variance)[:, :, None]).sum(axis=-1)
    joint = cells + np.log(parameters.class_prob)[:, :, None]
    np.testing.assert_allclose(found[..., 0], joint[:, :, np.arange(12), y].sum(axis=-1), rtol=1e-10)
    np.testing.assert_allclose(found[..., 1:], joint[:, :, chosen, codes[chosen]], rtol=1e-10)


FAR = np.random.default_rng(8)
FAR_X, FAR_Y = 1e9 + FAR.normal(size=(20_000, 2)), FAR.integers(0, 2, 20_000)
CHANGES = {
    "two parts": FAR_X,
    "a cell": FAR_X + np.eye(20_000, 2, k=1 - 5),
    "the spread": 1e9 + (FAR_X - 1e9) * (1 + 1e-4),
    "the origin": FAR_X + 1e-4,
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_data_far_from_zero_are_told_and_the_same_in_two_parts_are_not(change):
    whole, X = nb.fit(nb.Gaussian(), FAR_X, FAR_Y), CHANGES[change]
    mine = nb.fit(nb.Gaussian(), X[:7000], FAR_Y[:7000]).update(X[7000:], FAR_Y[7000:])
    sampled = nb.from_samples(nb.Gaussian(), whole.draws(num_draws=500, key=1), X=FAR_X, y=FAR_Y)
    # Defaults follow the data, and are the same prior.
    recorded = [reason for reason in nb.compare(mine, sampled).reasons if reason.endswith("differ")]
    assert recorded == ["the data differ"] * (change != "two parts")


def test_the_class_prior_is_named_first_among_priors_that_differ():
    X, y = [[1], [0], [1]], ["a", "b", "b"]
    model = nb.NaiveBayes(nb.Bernoulli(2.0, 3.0), class_concentration=4.0)
    other = nb.from_samples(model, nb.fit(model, X, y).draws(num_draws=200), X=X, y=y)
    assert nb.compare(nb.fit(nb.Bernoulli(), X, y), other).reasons[0] == "the priors of class_prob, x differ"


def test_a_category_that_was_not_seen_is_told_once():
    X, y = pd.DataFrame({"colour": ["red", "blue"] * 10}), ["a"] * 9 + ["b"] * 11
    exact = nb.fit(nb.Categorical(), X, y)
    sampled = nb.from_samples(exact.model, exact.draws(num_draws=200, num_chains=2), X=X, y=y)
    with pytest.warns(UserWarning, match="green") as caught:
        nb.compare(exact, sampled, X=pd.DataFrame({"colour": ["red", "green", "blue"]}))
    assert len(caught) == 1
