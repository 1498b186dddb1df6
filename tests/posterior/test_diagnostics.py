"""R-hat and effective sample sizes beside ArviZ's, and what is said of draws: arrays, each with one thing wrong."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_stats.base import array_stats

import bayesnb as nb
from bayesnb.posterior.diagnostics import diagnose, e_bfmi, rhat_and_ess

RNG = np.random.default_rng(5)
DRAWS = RNG.normal(size=(4, 500, 2))
STATS = {
    "diverging": np.zeros((4, 500), dtype=bool),
    "reached_max_tree_depth": np.zeros((4, 500), dtype=bool),
    "energy": RNG.normal(size=(4, 500)),
}


def problems(draws=DRAWS, **stats):
    return diagnose({"x": draws}, {**STATS, **stats}).problems_by_kind()


def slow_energy():
    energy = STATS["energy"].copy()
    energy[2] = np.cumsum(energy[2]) * 0.3
    return energy


def marked(*places):
    marks = np.zeros((4, 500), dtype=bool)
    for place in places:
        marks[place] = True
    return marks


APART = np.arange(4)[:, None, None]
"""Added to draws, this sets the chains apart."""


def test_sound_draws_have_no_problem():
    assert problems() == {}
    from_elsewhere = diagnose({"x": DRAWS}, {})
    assert from_elsewhere.problems() == []
    assert np.isnan(from_elsewhere.e_bfmi).all()


@pytest.mark.parametrize(
    ("stats", "kind", "words", "remedy"),
    [
        ({"diverging": marked((0, 3), (2, 9))}, "divergences", "2 of 2000 draws diverged", "raise target_accept_prob"),
        ({"reached_max_tree_depth": marked((1, 7))}, "tree depth", "1 of 2000 draws", "raise max_tree_depth"),
        ({"energy": slow_energy()}, "E-BFMI", "in chain 2", "raise num_warmup"),
        ({"draws": DRAWS + APART}, "R-hat", ", and above 1.01 for x[0]: ", "raise num_samples"),
        ({"draws": DRAWS[:, :60]}, "tail ESS", "below 400", "raise num_samples"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_thing_wrong(stats, kind, words, remedy):
    """More draws are advised only where all trajectories are sound."""
    found = problems(**stats)
    assert list(found) == (["R-hat", "bulk ESS", "tail ESS"] if "draws" in stats else [kind])
    assert words in found[kind]
    assert all(remedy in told for told in found.values())
    assert ("num_samples" in found[kind]) == ("draws" in stats)
    if "draws" in stats:
        told = problems(**stats, diverging=marked((0, 0))[:, : stats["draws"].shape[1]])
        assert list(told) == ["divergences", *found]
        assert not any("num_samples" in one for one in told.values())
        assert "more draws alone do not help" in told[kind]


def test_the_least_effective_size_is_that_of_bulk_or_tails():
    found = replace(diagnose({"x": DRAWS}, STATS), ess_bulk=np.array([300.0, 400.0]), ess_tail=np.array([500.0, 200.0]))
    assert str(found).endswith("ESS from 200 for x[1]")


def test_every_chain_adds_to_the_draws_that_are_needed():
    found = diagnose({"x": DRAWS}, STATS)
    limit = found.ess_bulk.min() / 4
    assert "bulk ESS" not in found.problems_by_kind(min_ess_per_chain=0.99 * limit)
    assert "bulk ESS" in found.problems_by_kind(min_ess_per_chain=1.01 * limit)


def test_a_chain_that_does_not_move():
    still = DRAWS.copy()
    still[..., 1] = 0.5
    words = problems(still)["bulk ESS"]
    assert "x[1]" in words
    assert "more draws do not help" in words
    one, all_moving = diagnose({"x": still}, STATS), diagnose({"x": DRAWS}, STATS)
    for name, never_moves in (("r_hat", np.inf), ("ess_bulk", 0.0), ("ess_tail", 0.0)):
        np.testing.assert_array_equal(getattr(one, name), [getattr(all_moving, name)[0], never_moves])


def test_e_bfmi_equals_arviz():
    energy = np.stack([STATS["energy"][0], np.cumsum(STATS["energy"][1]), STATS["energy"][2] ** 2])
    np.testing.assert_allclose(e_bfmi(energy), array_stats.bfmi(energy), rtol=1e-12)
    assert np.isnan(e_bfmi(energy[:, :1])).all()
    np.testing.assert_allclose(e_bfmi(np.array([[1.0, 3.0], [0.0, 5.0]])), 2.0, rtol=1e-15)
    assert np.isnan(e_bfmi(np.ones((2, 9)))).all()


def test_the_limit_of_e_bfmi_is_three_tenths():
    rng = np.random.default_rng(2)
    for persistence, seen in ((0.7, False), (0.9, True)):  # of an autoregression, E-BFMI is 2 (1 - persistence)
        energy = np.zeros((1, 20_000))
        for t in range(1, energy.shape[1]):
            energy[:, t] = persistence * energy[:, t - 1] + rng.normal()
        found = diagnose({"x": rng.normal(size=(1, 20_000))}, {"energy": energy})
        np.testing.assert_allclose(found.e_bfmi, 2 * (1 - persistence), rtol=0.1)
        assert ("E-BFMI" in found.problems_by_kind()) == seen


@pytest.mark.slow
def test_nuts_reports_and_judges_its_trajectories(coins):
    sampled = nb.fit(*coins, nb.NUTS(num_samples=500))
    assert sampled.diagnostics.saturated == 0
    np.testing.assert_allclose(sampled.diagnostics.e_bfmi, array_stats.bfmi(sampled.sample_stats["energy"]))
    assert (sampled.diagnostics.e_bfmi > 0.5).all()
    with pytest.warns(nb.ConvergenceWarning, match=r"draws reached max_tree_depth.*max_tree_depth \(now 1\)"):
        cut = nb.fit(*coins, nb.NUTS(num_samples=500, max_tree_depth=1))
    assert cut.diagnostics.saturated == 2000
    for stats, most in ((sampled.sample_stats, 10), (cut.sample_stats, 1)):
        # A tree of depth d has between 2^(d - 1) and 2^d - 1 steps.
        steps, depth = stats["n_steps"], stats["tree_depth"]
        assert ((2 ** (depth - 1) <= steps) & (steps < 2**depth)).all()
        np.testing.assert_array_equal(stats["reached_max_tree_depth"], depth >= most)


def test_five_parameters_are_named_and_the_others_counted():
    apart = np.random.default_rng(1).normal(size=(4, 500, 8)) + APART * np.arange(8, 0, -1)
    worst = [f"x[{i}]" for i in np.argsort(-diagnose({"x": apart}, STATS).r_hat)]
    named = f" for {worst[0]}, and above 1.01 for {', '.join(worst[1:5])} and 3 more: the chains disagree"
    assert named in problems(apart)["R-hat"]
    assert "more: " not in problems(apart[..., :5])["bulk ESS"]
    assert "for x[0]: " in problems(apart[..., :1])["R-hat"]


@pytest.fixture(scope="module")
def sampled():
    X, y = pd.DataFrame({"km/h": [0.5, 1.5, 4.0, 3.0], "a|b": [1, 1, 0, 0]}), ["a", "a", "b", "b"]
    model = nb.NaiveBayes({"km/h": nb.Gaussian(), "a|b": nb.Bernoulli()})
    with warnings.catch_warnings(action="ignore", category=nb.ConvergenceWarning):
        return model, X, y, nb.fit(model, X, y, nb.NUTS(num_warmup=100, num_samples=200, num_chains=2))


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["tree", "groups", "renamed by PyMC", "axes of ArviZ in another order"])
def test_draws_from_elsewhere_keep_the_statistics_of_their_sampler(sampled, kind):
    model, X, y, posterior = sampled
    tree = posterior.to_datatree()
    stats = tree["sample_stats"].to_dataset()
    stats["diverging"][0, 3:5] = stats["reached_max_tree_depth"][1, 7] = True
    stats["warning"] = stats["diverging"].astype(object)
    samples = {"posterior": tree["posterior"].to_dataset(), "sample_stats": stats}
    if kind == "tree":
        samples = xr.DataTree.from_dict(samples)
    elif kind == "renamed by PyMC":
        samples["sample_stats"] = stats.rename({"reached_max_tree_depth": "reached_max_treedepth"})
    elif kind.startswith("axes"):
        samples = {name: group.transpose(..., "draw", "chain") for name, group in samples.items()}
    again = nb.from_samples(model, samples, X=X, y=y)
    for site, value in posterior.draws().items():
        np.testing.assert_array_equal(again.draws()[site], value)
    assert set(again.sample_stats) == set(posterior.sample_stats)
    assert (again.diagnostics.divergences, again.diagnostics.saturated) == (2, 1)
    np.testing.assert_allclose(again.diagnostics.e_bfmi, posterior.diagnostics.e_bfmi, rtol=1e-12)
    verdict = nb.compare(nb.fit(model, X, y), again).verdict
    assert verdict.startswith("UNDECIDED")
    assert "2 of 400 draws diverged" in verdict


def test_divergences_are_unknown_without_the_statistics_of_the_sampler(tmp_path):
    X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    exact = nb.fit(nb.Bernoulli(), X, y)
    draws, tree = exact.draws(num_draws=1000, key=1), exact.to_datatree()
    for samples in (draws, {"posterior": tree["posterior"]}, tree):
        posterior = nb.from_samples(nb.Bernoulli(), samples, X=X, y=y)
        assert posterior.diagnostics.divergences is None
        assert "divergences unknown" in repr(posterior)
    posterior.save(tmp_path / "draws.nc")
    assert nb.load(tmp_path / "draws.nc").diagnostics.divergences is None
    assert "Whether a chain diverged is unknown" in nb.compare(exact, posterior).verdict
    gibbs = nb.fit(nb.Bernoulli(), X, y, nb.Gibbs())
    assert gibbs.diagnostics.divergences == 0
    assert "unknown" not in nb.compare(exact, gibbs).verdict


def test_statistics_of_other_draws_are_refused(sampled):
    model, X, y, posterior = sampled
    tree = posterior.to_datatree()
    samples = {"posterior": tree["posterior"].isel(draw=slice(100)), "sample_stats": tree["sample_stats"]}
    with pytest.raises(ValueError, match=r"has shape \(2, 200\), and the draws \(2, 100\): select the same"):
        nb.from_samples(model, samples, X=X, y=y)


@pytest.mark.parametrize("shape", [(4, 1000, 40), (4, 997, 20), (2, 13, 60), (3, 8, 60), (2, 7, 60), (2, 4, 60)])
@pytest.mark.parametrize("dependence", [0.0, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.9, -0.6)), -0.95])
def test_equal_arviz(shape, dependence):
    rng = np.random.default_rng(3)
    draws = rng.standard_normal(shape)
    for step in range(1, shape[1]):
        draws[:, step] += dependence * draws[:, step - 1]
    draws[:, :, ::3] = draws[:, :, ::3].round(1)
    draws[:, :, 1::3] += 0.3 * np.arange(shape[0])[:, None, None]
    draws[:, 1:, 2::6] = np.where(rng.random(draws[:, 1:, 2::6].shape) < 0.3, draws[:, :-1, 2::6], draws[:, 1:, 2::6])
    draws = draws[:, :, np.ptp(draws, axis=(0, 1)) > 0]
    axes = {"chain_axis": 0, "draw_axis": 1}
    expected = (
        array_stats.rhat(draws, **axes),
        array_stats.ess(draws, **axes, method="bulk"),
        array_stats.ess(draws, **axes, method="tail", prob=(0.05, 0.95)),
    )
    for ours, theirs in zip(rhat_and_ess(draws), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("chains", [1, 2])
@pytest.mark.parametrize("steps", [3, 4, 200])
def test_r_hat_needs_two_chains_and_all_needs_four_draws(chains, steps):
    draws = np.random.default_rng(0).normal(size=(chains, steps, 2))
    found, enough = diagnose({"x": draws}, {}), steps >= 4
    for name, known in (("r_hat", enough and chains > 1), ("ess_bulk", enough), ("ess_tail", enough)):
        values = getattr(found, name)
        assert (np.isfinite(values) & (values > 0)).all() == known, name
    if steps == 200:
        expected = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
        np.testing.assert_allclose(found.ess_bulk, expected, rtol=1e-10)
    assert np.isnan(found.r_hat).all() == (chains == 1 and enough), "the chains of too few draws disagree"
