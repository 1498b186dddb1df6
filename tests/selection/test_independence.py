"""Mutual information beside what chance alone makes of it: estimate, interval, p-value and inclusion."""

import itertools
from dataclasses import dataclass

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from cases import Exponential
from scipy.special import xlogy

import bayesnb as nb
from bayesnb.families.formulas import quantile
from bayesnb.families.mutual_information import chance_information, information_from_likelihood, tables_by_chance
from bayesnb.selection.information import information_in_data, noncentrality

OF_DATA = ["estimate", "lower", "upper", "p_value"]
HALVES = dist.Categorical(probs=np.array([0.5, 0.5]))


def information(table):
    """Mutual information of a table of counts, shape (classes, categories)."""
    joint = table / table.sum()
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return (xlogy(joint, joint) - xlogy(joint, np.where(joint > 0, apart, 1.0))).sum()


def counted(y, x, shape):
    return np.bincount(y * shape[1] + x, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


class TestChance:
    @pytest.mark.parametrize(
        ("y", "x"), [([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 2, 2]), ([0, 1, 1, 1, 1, 1, 1], [0] * 5 + [1] * 2)]
    )
    def test_average_over_all_permutations(self, y, x):
        y, x = np.array(y), np.array(x)
        shape = y.max() + 1, x.max() + 1
        expected = np.mean([information(counted(y[list(p)], x, shape)) for p in itertools.permutations(range(len(y)))])
        df, found = tables_by_chance(counted(y, x, shape)[:, None])
        assert found.item() == pytest.approx(expected, rel=1e-12)
        assert df.item() == (shape[0] - 1) * (shape[1] - 1)

    def test_columns_of_equal_margins_are_as_each_alone(self):
        rng = np.random.default_rng(0)
        table = rng.permuted(np.repeat([[[3.0, 1.0], [0.0, 2.0]]], 40, axis=0).reshape(40, 4), axis=1)
        table = np.moveaxis(table.reshape(40, 2, 2), 1, 0)
        table[:, ::7] += 0.5
        alone = np.concatenate([tables_by_chance(table[:, [k]]) for k in range(40)], axis=1)
        np.testing.assert_array_equal(tables_by_chance(table), alone)

    def test_unseen_and_broken(self):
        table = np.array([[3.0, 0, 1, 2], [1, 0, 2, 2], [0, 0, 0, 0], [1, 0, 4, 3]])
        df, found = tables_by_chance(table[:, None])
        seen = table[[0, 1, 3]][:, [0, 2, 3]]
        assert df.item() == 4
        assert found == tables_by_chance(seen[:, None])[1]
        df, found = tables_by_chance(0.5 * seen[:, None])
        assert found == pytest.approx(4 / seen.sum())
        assert tables_by_chance(10**6 * seen[:, None])[1] == 2 / (10**6 * seen.sum())
        assert [value.item() for value in tables_by_chance(table[:1, None])] == [0, 0]


@pytest.mark.parametrize("df", [1, 4, 36, 500])
@pytest.mark.parametrize("level", [0.055, 0.5, 0.945])
def test_noncentrality(df, level):
    x = df + np.array([3.0, 30.0, 300.0, 9e3, 3e6, 1e9])
    found = noncentrality(x, np.full(x.shape, float(df)), level)
    positive = found > 0
    np.testing.assert_array_equal(positive, scipy.stats.chi2.cdf(x, df) > level)
    np.testing.assert_allclose(scipy.stats.ncx2.cdf(x, df, found)[positive], level, atol=1e-7)
    assert noncentrality(np.array([0.1 * df]), np.array([float(df)]), 0.5) == 0


def test_there_is_nothing_to_find_in_shuffled_columns_of_every_family():
    """Sizes in 400 tables of a hundred rows: at most 38 p-values below .05, as 1 in 1e4 right tests would have."""
    rng = np.random.default_rng(3)
    y = np.arange(100) % 5
    for family, cells in (
        (nb.Bernoulli(), rng.integers(0, 2, (100, 400)).astype(float)),
        (nb.Gaussian(), rng.normal(size=(100, 400))),
        (nb.Poisson(), rng.poisson(3.0, (100, 400)).astype(float)),
    ):
        found = measured(family, cells, y)
        assert (found["p_value"] < 0.05).sum() <= 38, family
        assert abs(found["estimate"].mean()) < 0.01


@pytest.mark.parametrize("number", [[3] * 5, [5] * 5, [4, 40], [6, 6, 60]], ids=str)
def test_there_is_nothing_to_find_in_few_normal_cells_of_a_class(number):
    """Sizes in 400 tables, as above; before the rows were counted so, 74 of 400 for three cells in each class."""
    y = np.repeat(np.arange(len(number)), number)
    found = measured(nb.Gaussian(), np.random.default_rng(7).normal(size=(len(y), 400)), y)
    assert (found["p_value"] < 0.05).sum() <= 38
    assert (found["lower"] > 0).mean() < 0.1


def measured(family, cells, y, prob=0.89):
    model = nb.NaiveBayes(family).bind(cells, y)
    statistics = model.statistics(cells, y).blocks
    found = [information_in_data(block, one, prob) for block, one in zip(model.blocks, statistics, strict=True)]
    return {name: np.concatenate([one[name] for one in found]) for name in OF_DATA}


def test_coverage_of_a_weak_dependence():
    """Within four standard errors of 89 % in 1,000 tables, and the estimate without bias."""
    rng = np.random.default_rng(5)
    y = np.arange(1000) % 5
    prob = 0.3 + 0.1 * np.arange(-2, 3)
    truth = information(np.stack([prob, 1 - prob], axis=1))
    found = measured(nb.Bernoulli(), (rng.uniform(size=(1000, 1000)) < prob[y][:, None]).astype(float), y)
    inside = ((found["lower"] <= truth) & (truth <= found["upper"])).mean()
    assert abs(inside - 0.89) < 4 * np.sqrt(0.89 * 0.11 / 1000)
    assert abs(found["estimate"].mean() - truth) < 4 * found["estimate"].std() / np.sqrt(1000)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 3, 60)
    X = pd.DataFrame(
        {
            "hue": rng.choice(["blue", "green", "red"], 60),
            "seen": (rng.uniform(size=60) < 0.2 + 0.3 * y).astype(float),
            "length": rng.normal(y, 1.0),
            "calls": rng.poisson(2.0 + y).astype(float),
        }
    )
    return X, np.array(["x", "y", "z"])[y]


FAMILIES = {"hue": nb.Categorical(), "seen": nb.Bernoulli(), "length": nb.Gaussian(), "calls": nb.Poisson()}


def assert_same_information(one, other, columns=OF_DATA):
    given, expected = (nb.mutual_information(posterior, num_draws=1)[columns] for posterior in (one, other))
    np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-12)


class TestByHand:
    def test_categories(self, table):
        X, y = table
        found = nb.mutual_information(nb.fit(nb.NaiveBayes(FAMILIES), X, y), "bits", num_draws=1)
        cells = pd.crosstab(y, X["hue"]).to_numpy(float)
        df, chance = (value.item() for value in tables_by_chance(cells[:, None]))
        statistic = df * information(cells) / chance
        row = found.loc["hue"]
        assert row["estimate"] == pytest.approx(max(information(cells) - chance, 0.0) / np.log(2), abs=1e-14)
        assert row["p_value"] == pytest.approx(scipy.stats.chi2.sf(statistic, 4), rel=1e-12)
        for end, level in (("lower", 0.945), ("upper", 0.055)):
            noncentral = 120 * row[end] * np.log(2)
            below = scipy.stats.ncx2.cdf(statistic, 4, max(noncentral, 1e-12))
            assert below == pytest.approx(level, abs=1e-9) or (noncentral == 0 and below < level)

    @pytest.mark.parametrize(("name", "parameters"), [("length", 2), ("calls", 1)])
    def test_numbers(self, table, name, parameters):
        X, y = table
        found = nb.mutual_information(nb.fit(nb.NaiveBayes(FAMILIES), X, y), num_draws=1).loc[name]
        share = np.unique(y, return_counts=True)[1] / 60
        groups = X[name].groupby(y)
        if name == "length":
            grid = np.linspace(-15, 20, 70_001)
            density = scipy.stats.norm.pdf(
                grid, groups.mean().to_numpy()[:, None], groups.std(ddof=0).to_numpy()[:, None]
            )
            density *= grid[1] - grid[0]
        else:
            density = scipy.stats.poisson.pmf(np.arange(60), groups.mean().to_numpy()[:, None])
        chance = 2 * parameters / 120
        if name == "length":
            # Half-way to the likelihood ratio, whose expectation is an integral over variances, chi-squared variables.
            def lost(n):
                return -n * scipy.stats.chi2(n - 1).expect(lambda variance: np.log(variance / n))

            chance = (chance + (sum(lost(n) for n in 60 * share) - lost(60)) / 120) / 2
        plug_in = information(share[:, None] * density)
        assert found["estimate"] == pytest.approx(plug_in - chance, abs=1e-8)
        statistic = 2 * parameters * plug_in / chance
        assert found["p_value"] == pytest.approx(scipy.stats.chi2.sf(statistic, 2 * parameters), rel=1e-5)

    def test_is_of_the_rows_alone(self, table, rng):
        """Whatever the prior and the inference, and weights are repeated rows."""
        X, y = table
        strong = {**FAMILIES, "hue": nb.Categorical(30.0), "seen": nb.Bernoulli(5.0, 9.0)}
        exact, weight = nb.fit(nb.NaiveBayes(FAMILIES), X, y), rng.integers(0, 4, 60)
        at = np.repeat(np.arange(60), weight)
        for given, expected in (
            (nb.fit(nb.NaiveBayes(strong), X, y), exact),
            (nb.fit(nb.NaiveBayes(FAMILIES), X, y, nb.MLE()), exact),
            (nb.from_samples(exact.model, exact.draws(num_draws=3, num_chains=1), X=X, y=y), exact),
            (nb.fit(exact.model, X, y, sample_weight=weight), nb.fit(exact.model, X.iloc[at], y[at])),
        ):
            assert_same_information(given, expected)

    def test_missing_cells_and_empty_classes_do_not_count(self, table, rng):
        X, y = table
        for name in FAMILIES:
            model = nb.NaiveBayes({name: FAMILIES[name]})
            gone = rng.uniform(size=60) < 0.3
            holes = X[[name]].where(~gone[:, None])
            without = nb.fit(model, X.loc[~gone, [name]], y[~gone])
            assert_same_information(nb.fit(model, holes, y, classes=["w", "x", "y", "z"]), without)

    def test_a_class_without_a_maximum_does_not_count(self, rng):
        X, y = rng.normal(size=(41, 1)), np.append(np.arange(40) % 2, 2)
        assert_same_information(nb.fit(nb.Gaussian(), X, y), nb.fit(nb.Gaussian(), X[:40], y[:40]))


class TestWords:
    def test_a_word_is_a_column_of_tokens(self, rng):
        X, y = rng.poisson([3.0, 1.0, 8.0], (30, 3)).astype(float), np.arange(30) % 3
        tokens = np.repeat(np.tile(np.arange(3), 30), X.ravel().astype(int))
        owner = np.repeat(np.repeat(y, 3), X.ravel().astype(int))
        each = (tokens[:, None] == np.arange(3)).astype(float)
        prior = nb.Bernoulli([0.5, 1.0, 2.0], [3.0, 2.5, 1.5])
        words, single = nb.fit(nb.Multinomial([0.5, 1.0, 2.0]), X, y), nb.fit(prior, each, owner)
        assert_same_information(words, single, [*OF_DATA, "inclusion_probability"])


class TestOtherFamilies:
    def test_counts_with_a_largest_one(self):
        trials = 5000

        class Plain(nb.Binomial):
            mutual_information = nb.families.ConjugateFamily.mutual_information

        # Some counts on both sides of 512, and of 512 below the largest.
        prob = np.array([535.0, 2500.0, trials - 500.0]) / trials
        found = Plain(trials).mutual_information(np.full((1, 3, 1), 1 / 3), {"prob": prob[None, :, None]})
        each = scipy.stats.binom.pmf(np.arange(trials + 1)[:, None], trials, prob)
        expected = scipy.special.rel_entr(each, each.mean(axis=1, keepdims=True)).sum() / 3
        np.testing.assert_allclose(found, [[expected]], rtol=1e-9)

    @pytest.mark.parametrize(
        ("likelihood", "pmf", "a", "b", "last"),
        [
            (
                lambda a, b: dist.GammaPoisson(a, b / 2000),
                lambda x, a, b: scipy.stats.nbinom.pmf(x, a, b / (b + 2000)),
                [1.0, 0.5, 0.05],
                [1.5, 0.6, 0.1],
                600_000,
            ),
            (
                lambda a, b: dist.BetaBinomial(a, b, total_count=9000),
                lambda x, a, b: scipy.stats.betabinom.pmf(x, 9000, a, b),
                [1.0, 0.5, 2.0],
                [3.0, 0.2, 0.1],
                9000,
            ),
        ],
        ids=["gamma poisson", "beta binomial"],
    )
    @pytest.mark.slow
    def test_counts_that_are_far_apart(self, likelihood, pmf, a, b, last):
        a, b, probs = np.array(a), np.array(b), np.array([0.5, 0.3, 0.2])
        found = information_from_likelihood(
            likelihood, probs[None, :, None], {"a": a[None, :, None], "b": b[None, :, None]}
        )
        each = pmf(np.arange(last + 1)[:, None], a, b)
        expected = (probs * scipy.special.rel_entr(each, (each @ probs)[:, None])).sum()
        np.testing.assert_allclose(found, [[expected]], rtol=1e-6)

    @pytest.mark.slow
    def test_counts_of_several_columns(self):
        rate = np.array([[1700.0, 3400.0, 0.5], [1650.0, 3300.0, 0.7]])[None]
        at = np.full((1, 2, 1), 0.5)
        alone = [nb.Poisson().mutual_information(at, {"rate": rate[:, :, [j]]})[0, 0] for j in range(3)]
        found = nb.Poisson().mutual_information(at, {"rate": rate})
        np.testing.assert_allclose(found, [alone], rtol=1e-9)

    @pytest.mark.parametrize(
        ("likelihood", "ends"),
        [
            # With cdf and without icdf: a density that is infinite at zero, one of large numbers, and a mixture.
            pytest.param(lambda a, b: dist.Weibull(a, 0.4 * b), (0, np.inf), marks=pytest.mark.slow),
            pytest.param(lambda a, b: dist.Weibull(1e9 * a, 2.0 * b), (0, 2e10), marks=pytest.mark.slow),
            pytest.param(
                lambda a, b: dist.MixtureGeneral(HALVES, [dist.Normal(a, 1.0), dist.Normal(0.0, b)]),
                (-40, 40),
                marks=pytest.mark.slow,
            ),
            # Angles, narrow ones that go on beyond pi among them.
            pytest.param(lambda a, b: dist.VonMises(a, b), (-np.pi, np.pi), marks=pytest.mark.slow),
            (lambda a, b: dist.VonMises(3.08 + 0.02 * a, 200 * b), (-np.pi, np.pi)),
        ],
        ids=["infinite at zero", "large", "mixture", "angles", "angles beside pi"],
    )
    @pytest.mark.slow
    def test_likelihoods_without_quantiles(self, likelihood, ends):
        a, b, probs = np.array([1.0, 1.02, 2.0]), np.array([1.0, 2.0, 1.5]), np.array([0.5, 0.3, 0.2])
        parameters = {"a": a[None, :, None], "b": b[None, :, None]}
        found = information_from_likelihood(likelihood, probs[None, :, None], parameters).item()
        with jax.enable_x64(True):
            log_density = jax.jit(likelihood(a, b).log_prob)
            middle = np.quantile(np.asarray(likelihood(a, b).sample(jax.random.key(0), (2000,))), np.linspace(0, 1, 60))

            def integrand(x):
                log_each = np.asarray(log_density(x))
                log_average = scipy.special.logsumexp(log_each, b=probs)
                return (probs * np.exp(log_each) * np.nan_to_num(log_each - log_average)).sum()

            parts = np.clip([ends[0], *middle, ends[1]], *ends)
            expected = sum(
                scipy.integrate.quad(integrand, *part, epsabs=1e-12)[0] for part in itertools.pairwise(parts)
            )
        assert found == pytest.approx(expected, abs=1e-7)
        assert 0.005 < found < 1.1

    def test_quantiles_of_any_magnitude(self):
        scale, level = np.array([1e-300, 1.0, 1e200]), np.array([1e-9, 0.5, 0.999])
        with jax.enable_x64(True):
            found = quantile(dist.Weibull(scale, 2.0), level)
        # Rounded to 1e-16, the level 1e-9 is known to 1e-7.
        np.testing.assert_allclose(found, scale * np.sqrt(-np.log1p(-level)), rtol=1e-7)

    @pytest.mark.parametrize(
        ("base", "expected"),
        [
            (dist.Gamma(1.5, 0.5), lambda level: scipy.stats.maxwell.ppf(level)),
            (dist.Beta(2.0, 3.0), lambda level: np.sqrt(scipy.stats.beta.ppf(level, 2.0, 3.0))),
        ],
        ids=["gamma", "beta"],
    )
    def test_quantiles_that_numpyro_takes_from_another_library(self, base, expected):
        level = np.array([0.01, 0.5, 0.9])
        likelihood = dist.TransformedDistribution(base, dist.transforms.PowerTransform(0.5))
        np.testing.assert_allclose(quantile(likelihood, level), expected(level), rtol=1e-9)

    @pytest.mark.parametrize(
        ("likelihood", "reason"),
        [
            (lambda rate: dist.HurdleGamma(0.3, 1.0, rate), "no icdf and no cdf: define"),
            (
                lambda rate: dist.DiscreteUniform(1, 9).expand(rate.shape),
                "whole numbers that do not begin at zero: define",
            ),
        ],
        ids=["no quantiles", "from one on"],
    )
    def test_unknown_information_is_nan(self, rng, likelihood, reason):
        @jax.tree_util.register_dataclass
        @dataclass(frozen=True)
        class Unknown(Exponential):
            def likelihood(self, rate):
                return likelihood(rate)

            def maximum_likelihood(self, statistics):
                return {"rate": statistics.n / statistics.total}

        X, y = rng.exponential(size=(20, 2)), np.arange(20) % 2
        posterior = nb.fit(nb.NaiveBayes({0: Unknown(), 1: nb.Gaussian()}), X, y)
        with pytest.warns(UserWarning, match=rf"^column 0: the mutual information of Unknown is NaN.*{reason}"):
            found = nb.mutual_information(posterior, num_draws=2)
        assert found.loc[0, [*OF_DATA, "at_posterior_mean", "mean"]].isna().all()
        assert found.loc[1].notna().all()
        assert found["inclusion_probability"].notna().all()
        found.loc[1] = np.nan
        with pytest.raises(ValueError, match=r"every feature \(0, 1\) is NaN.*define mutual_information"):
            found.plot()


class TestWithoutData:
    def test_given_parameters(self, table):
        found = nb.mutual_information(nb.fit(nb.NaiveBayes(FAMILIES), *table).plugin())
        assert found[[*OF_DATA, "inclusion_probability", "mean"]].isna().all(axis=None)
        assert found["at_posterior_mean"].notna().all()

    def test_without_evidence(self, table):
        X, y = table
        by_class = nb.fit(nb.NaiveBayes({"seen": nb.Bernoulli([[1.0], [2.0], [1.0]]), "calls": nb.Poisson()}), X, y)
        found = nb.mutual_information(by_class, num_draws=1)["inclusion_probability"]
        assert np.isnan(found["seen"])
        assert (
            found["calls"]
            == nb.feature_evidence(nb.fit(nb.NaiveBayes({"calls": nb.Poisson()}), X, y)).loc["calls"].iloc[1]
        )

    def test_rows_without_a_label(self, table):
        X, y = table
        labels = pd.Series(y).where(np.arange(60) < 40)
        posterior = nb.fit(nb.NaiveBayes({"seen": nb.Bernoulli()}), X, labels, nb.MAP())
        found = nb.mutual_information(posterior, num_draws=1)
        labelled = nb.mutual_information(nb.fit(nb.NaiveBayes({"seen": nb.Bernoulli()}), X[:40], y[:40]), num_draws=1)
        np.testing.assert_allclose(found[OF_DATA], labelled[OF_DATA])
        assert found["inclusion_probability"].isna().all()


def test_a_column_that_tells_the_classes_apart_without_spread_has_a_score():
    y = np.repeat([0, 1], 20)
    X = np.column_stack([y.astype(float), np.random.default_rng(4).normal(size=(40, 2))])
    scores = nb.estimators.mutual_information_score(X, y, model=nb.Gaussian())
    assert scores.argmax() == 0
    assert 0.3 < scores[0] <= np.log(2)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_degrees_of_freedom_have_no_scale(scale):
    """Classes with any weight count, and the expectation goes as one over the weight."""
    weight = scale * np.array([[1.0, 0.0, 3.0], [2.0, 5.0, 1.0], [0.0, 0.0, 2.0]])
    df, expected = chance_information(weight, 2)
    np.testing.assert_array_equal(df, [2, 0, 4])
    np.testing.assert_allclose(expected * scale, np.array([2, 0, 4]) / (2 * np.array([3.0, 5.0, 6.0])), rtol=1e-12)


@pytest.mark.parametrize("without", ["cells", "rows"])
@pytest.mark.parametrize("family", [nb.Exponential(), nb.Hurdle(nb.Exponential())])
def test_a_class_without_cells_has_the_limit_of_small_rates(family, without):
    """The mode of its rate is zero; a class that is told from the others without error adds its entropy."""
    X = pd.DataFrame({"wait": [0.5, 0.2, 1.0, 3.0, *[np.nan] * 2]})[: 6 if without == "cells" else 4]
    posterior = nb.fit(nb.NaiveBayes({"wait": family}), X, [*"uuvvww"][: len(X)], nb.MAP(), classes=[*"uvw"])
    assert posterior.mean()["wait_rate"][2] == 0.0
    found = nb.mutual_information(posterior)["at_posterior_mean"]["wait"]
    share = posterior.mean()["class_prob"][2]
    of_two = nb.fit(nb.NaiveBayes({"wait": family}), X[:4], [*"uuvv"], nb.MAP())
    rest = nb.mutual_information(of_two)["at_posterior_mean"]["wait"]
    if isinstance(family, nb.Exponential):
        entropy = -sum(p * np.log(p) for p in (share, 1 - share) if p > 0)
        assert found == pytest.approx(entropy + (1 - share) * rest, abs=2e-3)
    assert np.isfinite(found)
