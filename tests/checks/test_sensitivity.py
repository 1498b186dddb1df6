"""Power-scaling in closed form, against densities, refits, quadrature and ArviZ."""

import arviz as az
import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from cases import OUTSIDE, OWN, membership
from scipy import integrate, stats
from slow import cases_fast

import bayesnb as nb
from bayesnb.families.distributions import BetaOfLogs
from bayesnb.families.draw import draw
from bayesnb.families.family import with_hyperparameters
from bayesnb.families.formulas import cdf, quantile

POWERS = (0.8, 1.25)

A = np.array([0.5, 1.0, 1.5, 2.0, 2.5, 40.0])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame(
        {
            "bill": (rng.uniform(size=60) < 0.2 + 0.5 * y).astype(int),
            "party": np.where(y, rng.choice(["a", "b", "c"], 60), rng.choice(["a", "b"], 60)),
            "age": rng.normal(50 + 5 * y, 6),
            "letters": rng.poisson(2 + 2 * y),
        }
    )
    model = nb.NaiveBayes(
        {
            "bill": nb.Bernoulli(3.0, 2.0),
            "party": nb.Categorical(1.5),
            "age": nb.Gaussian(45.0, 0.5, 3.0, 40.0),
            "letters": nb.Poisson(4.0, 1.2),
        },
        class_concentration=2.5,
    )
    return model, X, y


def prior_to_the(power):
    """The table's model with every prior raised to a power, by the formulas of the conjugate families."""
    return nb.NaiveBayes(
        {
            "bill": nb.Bernoulli(power * 2.0 + 1, power * 1.0 + 1),
            "party": nb.Categorical(power * 0.5 + 1),
            "age": nb.Gaussian(45.0, power * 0.5, power * 4.5 - 1.5, power * 40.0),
            "letters": nb.Poisson(power * 3.0 + 1, power * 1.2),
        },
        class_concentration=power * 1.5 + 1,
    )


@jax.jit
def log_prior(family, parameters):
    """Sum of the log densities of the sites that the family's prior declares."""
    total = 0.0

    def note(name, distribution):
        nonlocal total
        value = parameters[name]
        total = total + distribution.log_prob(value)
        return value

    family.prior(note)
    return total


@pytest.mark.parametrize("case", cases_fast([*OWN, *OUTSIDE], {case.name for case in OWN}))
@pytest.mark.parametrize("power", [0.7, 1.4])
def test_scaled_prior_times_likelihood_by_densities(case, power, rng, float64):
    """The log density of the scaled posterior is power * log prior + log likelihood, up to a constant."""
    statistics = case.family.statistics(case.cells(rng, 40), membership(rng, 40))
    scaled = with_hyperparameters(case.family, case.family.power_scaled(statistics, power))
    differences = []
    for _ in range(6):
        parameters = case.family.update(statistics).prior(lambda _, distribution: draw(distribution, rng))
        expected = power * np.asarray(log_prior(case.family, parameters))
        likelihood = np.asarray(case.family.log_likelihood(parameters, statistics)).reshape(np.shape(expected))
        differences.append(np.asarray(log_prior(scaled, parameters)) - expected - likelihood)
    np.testing.assert_allclose(differences - differences[0], 0.0, atol=1e-8)


def test_scaled_posteriors_equal_refits(table):
    model, X, y = table
    posterior = nb.fit(model, X, y)
    found = nb.sensitivity(posterior, X[:5])
    refits = {
        "prior": [nb.fit(prior_to_the(power), X, y) for power in POWERS],
        "likelihood": [nb.fit(model, X, y, sample_weight=np.full(60, power)) for power in POWERS],
    }
    span = np.log2(1.25) - np.log2(0.8)
    np.testing.assert_allclose(found.probabilities["probability"], posterior.predict_proba(X[:5]).ravel())
    assert found.probabilities.index[1] == (0, 1)
    for component, (lower, upper) in refits.items():
        change = (upper.predict_proba(X[:5]) - lower.predict_proba(X[:5])) / span
        np.testing.assert_allclose(found.probabilities[component], change.ravel(), atol=1e-12)
        assert np.abs(change).max() > 1e-3
        means = [np.concatenate([v.ravel() for v in refit.mean().values()]) for refit in (lower, upper)]
        expected = (means[1] - means[0]) / span / found.table["sd"]
        np.testing.assert_allclose(found.table[f"mean_change_{component}"], expected, atol=1e-9)
    names = [name for site, mean in posterior.mean().items() for name in [site] * mean.size]
    assert [label.split("[")[0] for label in found.table.index] == names
    np.testing.assert_allclose(found.table["mean"], np.concatenate([v.ravel() for v in posterior.mean().values()]))


def reference_distance(base, other):
    """Cumulative Jensen-Shannon distance of two SciPy distributions, by adaptive quadrature over the parameter."""
    low, high = base.ppf([1 / 4001, 4000 / 4001])

    def integral(function):
        middle = base.ppf([0.01, 0.1, 0.5, 0.9, 0.99])
        return integrate.quad(function, low, high, points=middle, limit=500)[0]

    def one_side(p, q):
        def divergence(x):
            m = (p(x) + q(x)) / 2
            return p(x) * np.log2(p(x) / m) + q(x) * np.log2(q(x) / m)

        return np.sqrt(integral(divergence) / integral(lambda x: p(x) + q(x)))

    return max(one_side(base.cdf, other.cdf), one_side(base.sf, other.sf))


SCALED = {
    "bill_prob[1]": lambda X, y, a, b: stats.beta(
        2.0 * a + 1 + b * X["bill"][y == 1].sum(), a + 1 + b * (1 - X["bill"][y == 1]).sum()
    ),
    "letters_rate[1]": lambda X, y, a, b: stats.gamma(
        3 * a + 1 + b * X["letters"][y == 1].sum(), scale=1 / (1.2 * a + b * y.sum())
    ),
}


@pytest.mark.parametrize("label", SCALED)
def test_distances_and_spreads_by_adaptive_quadrature(table, label):
    model, X, y = table
    found = nb.sensitivity(nb.fit(model, X, y)).table.loc[label]
    base = SCALED[label](X, y, 1, 1)
    for component, powers in (("prior", [(power, 1) for power in POWERS]), ("likelihood", [(1, p) for p in POWERS])):
        scaled = [SCALED[label](X, y, *power) for power in powers]
        per_doubling = np.mean([reference_distance(base, other) / np.log2(1.25) for other in scaled])
        assert found[component] == pytest.approx(per_doubling, rel=2e-3), component
        spread = (scaled[1].std() - scaled[0].std()) / base.std() / (2 * np.log2(1.25))
        assert found[f"sd_change_{component}"] == pytest.approx(spread, rel=1e-6, abs=1e-9)


def test_beside_arviz(table):
    """ArviZ weights draws by their log prior and log likelihood."""
    model, X, y = table
    posterior = nb.fit(model, X, y)
    tree = posterior.to_datatree(X, y, num_chains=4, num_draws=1000, key=1)
    estimate = az.psense_summary(tree, likelihood_var_names="joint", round_to=8)
    exact = nb.sensitivity(posterior, prior=(0.99, 1.01), likelihood=(0.99, 1.01)).table
    assert sorted(estimate.index) == sorted(exact.index)
    # The weights come from all parameters at once, so that every estimate has the noise of them all; and a distance of
    # zero is estimated by something positive.
    for component in ("prior", "likelihood"):
        theirs, mine = estimate[component].astype(float), exact.loc[estimate.index, component]
        assert (theirs - mine).abs().max() < 0.04, component
        assert abs((theirs - mine).mean()) < 0.01, component
        assert np.corrcoef(theirs, mine)[0, 1] > 0.95, component


@pytest.mark.parametrize(
    ("family", "ones", "zeros", "diagnosis"),
    [
        (nb.Bernoulli(30.0, 2.0), 4, 36, "prior-data conflict"),
        (nb.Bernoulli(30.0, 30.0), 1, 1, "strong prior / weak likelihood"),
        (nb.Bernoulli(), 20, 20, "-"),
    ],
)
def test_diagnoses(family, ones, zeros, diagnosis):
    posterior = nb.fit(nb.NaiveBayes(family), [[1]] * ones + [[0]] * zeros, ["a"] * (ones + zeros))
    found = nb.sensitivity(posterior)
    row = found.table.iloc[0]
    assert row["diagnosis"] == diagnosis
    if diagnosis == "prior-data conflict":
        assert row["mean_change_prior"] > 0.3
        assert row["mean_change_likelihood"] < -0.3
    assert found.flat.tolist() == [diagnosis == "-"]
    if diagnosis == "-":  # A flat prior is the same to any power.
        assert row[["prior", "mean_change_prior"]].tolist() == [0, 0]
        assert row["likelihood"] > 0.05


def test_where_there_is_nothing_to_scale():
    X = pd.DataFrame({"one": ["same"] * 6, "x": [1.0, 2.0, 4.0, 3.0, 5.0, 7.0]})
    model = nb.NaiveBayes({"one": nb.Categorical(), "x": nb.Gaussian()}, class_probs=[0.4, 0.6])
    found = nb.sensitivity(nb.fit(model, X, [0, 1] * 3), X)
    assert list(found.table.index) == ["x_mean[0]", "x_mean[1]", "x_variance[0]", "x_variance[1]"]
    assert np.isfinite(found.table[["prior", "likelihood"]].to_numpy()).all()
    np.testing.assert_allclose(found.probabilities.groupby("row")[["prior", "likelihood"]].sum(), 0.0, atol=1e-12)
    # Given one row, a variance has no variance of its own, but still a distribution.
    single = nb.sensitivity(nb.fit(model, X[:2], [0, 1])).table.loc["x_variance[0]"]
    assert np.isnan(single["mean_change_prior"])
    assert single["prior"] > 0.05
    words = nb.NaiveBayes({"words": (nb.Multinomial(2.0), ["u", "v"])})
    counts = pd.DataFrame({"u": [3, 1], "v": [0, 2]})
    assert "words_prob[b, v]" in nb.sensitivity(nb.fit(words, counts, ["a", "b"])).table.index


def test_the_scale_of_a_column_does_not_matter(table):
    model, X, y = table
    far = X.assign(age=X["age"] * 1e6)
    features = dict(model.features) | {"age": nb.Gaussian(45e6, 0.5, 3.0, 40e12)}
    columns = ["prior", "likelihood", "mean_change_prior", "sd_change_likelihood"]
    near = nb.sensitivity(nb.fit(model, X, y)).table[columns]
    other = nb.sensitivity(nb.fit(nb.NaiveBayes(features, class_concentration=2.5), far, y)).table[columns]
    np.testing.assert_allclose(other.loc[near.index], near, rtol=1e-6, atol=1e-9)


def test_powers_nearer_to_one_leave_a_posterior():
    sparse = nb.fit(nb.NaiveBayes({"spam": nb.Bernoulli(0.1, 0.1)}), pd.DataFrame({"spam": [0, 0]}), [0, 1])
    assert len(nb.sensitivity(sparse, prior=(0.95, 1.05)).table) == 4


def test_what_it_shows_of_flat_priors():
    X, y = [[0], [1]] * 9, [0, 1] * 9
    quiet = nb.sensitivity(nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y))
    shown = " ".join(repr(quiet).split())
    told = "Power-scaling of 4 parameters, noticeable from 0.05: nothing; 4 with a flat prior, not meas"
    assert shown.startswith(told)
    assert "A flat prior is the same at every power, so that power-scaling does not measure it" in shown
    assert [line.split()[-3] for line in repr(quiet).splitlines()[-4:]] == ["flat"] * 4
    peaked = nb.sensitivity(nb.fit(nb.NaiveBayes(nb.Bernoulli(2.0, 2.0), class_probs=[0.5, 0.5]), X, y))
    assert "flat" not in repr(peaked)
    assert peaked.probabilities is None


@pytest.mark.parametrize(
    ("distribution", "reference"),
    [
        (dist.InverseGamma(A, 3.0 * A), stats.invgamma(A, scale=3.0 * A)),
        (dist.StudentT(A, 2.0 * A, 3.0 * A), stats.t(A, 2.0 * A, 3.0 * A)),
        (dist.Normal(A, 2.0 * A), stats.norm(A, 2.0 * A)),
        (BetaOfLogs(A, 3.0 * A), stats.beta(A, 3.0 * A)),
        (dist.Gamma(A, 3.0 * A), stats.gamma(A, scale=1 / (3.0 * A))),
    ],
    ids=["InverseGamma", "StudentT", "Normal", "BetaOfLogs", "Gamma"],
)
def test_quantiles_are_those_of_scipy(distribution, reference, float64):
    levels = np.array([[0.1], [0.5], [0.9]])
    np.testing.assert_allclose(quantile(distribution, levels), reference.ppf(levels), rtol=1e-6)
    np.testing.assert_allclose(cdf(distribution, reference.ppf(levels)), levels + 0 * A, rtol=1e-6)


def test_a_conflict_says_how_much_it_is():
    """The size that is printed, by the cumulative distance of two normal distributions; and the change of rows."""
    x = np.linspace(*stats.norm.ppf([1 / 4001, 4000 / 4001]), 20001)
    before, after = stats.norm.cdf(x), stats.norm.cdf(x - 0.23)
    parts = [p * np.log2(2 * p / (before + after)) for p in (before, after)]
    assert np.sqrt(np.sum(parts) / np.sum(before + after)) == pytest.approx(0.05, abs=0.003)
    posterior = nb.fit(nb.Bernoulli(20.0, 2.0), [[0]] * 9 + [[1]], ["a", "b"] * 5)
    assert "nb.sensitivity(posterior, X)" in str(nb.sensitivity(posterior))
    found = nb.sensitivity(posterior, [[0], [1]])
    largest = found.probabilities["prior"].abs().max()
    assert f"No class probability of the rows changes by more than {largest:.2g}" in " ".join(str(found).split())
    assert "A conflict is not" not in str(nb.sensitivity(nb.fit(nb.Bernoulli(), [[0], [1]], ["a", "b"])))
