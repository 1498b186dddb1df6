"""Weights of features learned from tables: their likelihood beside leave-one-out, what they are, and bad input."""

import numpy as np
import pytest
import scipy.sparse
import trees
from refitting import rows_of
from scipy.optimize import minimize
from scipy.special import logsumexp

import bayesnb as nb
from bayesnb.model import feature_weights as likelihood
from bayesnb.posterior.left_out import all_features_left_out, features_left_out
from bayesnb.selection import weighing as module


def bernoulli_table(rng, rows, columns=10, copies=1):
    """Rows of a naive Bayes model, with columns repeated."""
    y = rng.integers(0, 2, rows)
    prob = rng.beta(1.0, 1.0, (2, columns))
    X = (rng.uniform(size=(rows, columns)) < prob[y]).astype(float)
    return np.repeat(X, copies, axis=1), y


FEATURES = trees.FEATURES | {"size": (nb.Gaussian(), ["height", "width"])}
"""Of trees, with a prior that follows the data."""


@pytest.fixture(scope="module")
def table():
    return trees.trees(np.random.default_rng(3), 50)


class TestLikelihood:
    """With weights of one and offsets of zero it is the score of leave-one-out."""

    @staticmethod
    def likelihood(posterior, X, y, weights=None, shared=False):
        read = all_features_left_out if shared else features_left_out
        return module._likelihood(read(posterior, rows_of(posterior, X, y, weights)), shared=shared)

    @pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
    @pytest.mark.parametrize(
        ("options", "weighted"),
        [
            ({}, False),
            ({}, True),
            ({"class_probs": "empirical"}, False),
            ({"class_probs": [0.2, 0.5, 0.3]}, True),
            ({"feature_inclusion": 0.3}, False),
        ],
        ids=["follows the data", "rows with weights", "empirical", "known classes", "averaged"],
    )
    def test_is_leave_one_out(self, table, options, weighted, shared):
        X, y = table
        weights = np.random.default_rng(4).uniform(0.1, 2.0, 50) if weighted else None
        posterior = nb.fit(nb.NaiveBayes(FEATURES, **options), X, y, sample_weight=weights)
        point = np.r_[np.ones(1 if shared else 5), np.zeros(3)]
        value, _ = self.likelihood(posterior, X, y, weights, shared).value_and_gradient(point)
        of_rows = nb.loo(posterior, X, y, sample_weight=weights).elpd_i.values
        assert value == pytest.approx(of_rows @ (np.ones(50) if weights is None else weights), abs=1e-9)

    def test_is_leave_one_out_of_joint_blocks_and_sparse_tables(self, rng):
        y = rng.integers(0, 2, 30)
        for family, X in (
            (nb.MultivariateGaussian(), rng.normal(size=(30, 3))),
            (nb.Multinomial(), scipy.sparse.csr_array(rng.poisson(0.7, (30, 12)))),
        ):
            posterior = nb.fit(nb.NaiveBayes(family), X, y)
            value, _ = self.likelihood(posterior, X, y).value_and_gradient(np.array([1.0, 0.0, 0.0]))
            assert value == pytest.approx(nb.loo(posterior, X, y).elpd, abs=1e-9)
            assert list(nb.weight_features(posterior, X, y).weights.index) == ["x"]


class TestCopies:
    @pytest.mark.parametrize("number", [2, 4, 8])
    def test_have_the_weight_and_the_predictions_of_one(self, number):
        rng = np.random.default_rng(8)
        one, y = bernoulli_table(rng, 2000, columns=1)
        alone = nb.weight_features(nb.fit(nb.Bernoulli(), one, y), one, y)
        X = np.repeat(one, number, axis=1)
        plain = nb.fit(nb.Bernoulli(), X, y)
        copied = nb.weight_features(plain, X, y)
        sd = float(alone.weights["sd"].iloc[0])
        assert sd < 0.1
        total = copied.feature_weights.weight_draws.sum(axis=-1)
        assert copied.feature_weights.weight.sum() == pytest.approx(1.0, abs=3 * sd)
        assert total.mean() == pytest.approx(float(alone.weights["mean"].iloc[0]), abs=0.6 * sd)
        both = np.array([[0.0], [1.0]])
        expected = alone.predict_proba(both)
        found = copied.predict_proba(np.repeat(both, number, axis=1))
        np.testing.assert_allclose(found, expected, atol=0.01)
        assert np.abs(plain.predict_proba(np.repeat(both, number, axis=1)) - expected).max() > 0.05

    def test_share_one_weight_of_their_inverse_number(self, rng):
        X, y = bernoulli_table(rng, 3000, columns=6, copies=4)
        found = nb.weight_features(nb.fit(nb.Bernoulli(), X, y), X, y, shared=True)
        assert (found.weights == found.weights.iloc[0]).all(axis=None)
        assert found.weights["mean"].iloc[0] == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
def test_the_mode_with_few_rows_is_that_of_mixed_densities(shared):
    """One feature, nine rows: fits without each row, each density mixed with that of both classes, and a search."""
    x, y = np.array([1.0, 1, 1, 1, 0, 0, 0, 0, 1]), np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    found = nb.weight_features(nb.fit(nb.Bernoulli(), x[:, None], y), x[:, None], y, shared=shared).feature_weights
    probs = np.array([6, 5]) / 11
    share = 1 / (2 + 9 * (1 - probs @ probs))
    assert found.no_information == pytest.approx(share)
    rows = []
    for i in range(9):
        rest = np.arange(9) != i
        n, ones = np.bincount(y[rest]), np.bincount(y[rest], x[rest])
        prior, density = (n + 1) / 10, np.where(x[i] == 1, 1 + ones, 1 + n - ones) / (2 + n)
        rows.append((prior, density if shared else (1 - share) * density + share * (prior @ density)))

    def negative_log_density(at):
        weight, offset = at[0], at[1:]
        scores = [np.log(prior) + offset + weight * np.log(density) for prior, density in rows]
        of_labels = sum(score[c] - logsumexp(score) for score, c in zip(scores, y, strict=True))
        return -of_labels + (weight - 1) ** 2 / 2 + offset @ offset / 2

    mode = minimize(negative_log_density, np.ones(3), tol=1e-10).x
    np.testing.assert_allclose(np.r_[found.weight, found.offset], mode, atol=1e-5)


@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
def test_weights_of_rows_count_rows(rng, shared):
    """A row of weight two has twice the likelihood; a row of weight zero none."""
    X, y = bernoulli_table(rng, 80, columns=4)
    weights = np.where(np.arange(80) < 10, 0.0, 1.0)
    posterior = nb.fit(nb.Bernoulli(), X, y, sample_weight=weights)
    with_zeros = nb.weight_features(posterior, X, y, sample_weight=weights, shared=shared)
    without = nb.weight_features(nb.fit(nb.Bernoulli(), X[10:], y[10:]), X[10:], y[10:], shared=shared)
    np.testing.assert_allclose(with_zeros.feature_weights.weight, without.feature_weights.weight, atol=0.02)
    np.testing.assert_allclose(with_zeros.feature_weights.offset, without.feature_weights.offset, atol=0.02)


def test_all_draws_are_of_the_key(rng):
    X, y = bernoulli_table(rng, 60, columns=3)
    posterior = nb.fit(nb.Bernoulli(), X, y)
    one, same, other = (nb.weight_features(posterior, X, y, key=key).feature_weights for key in (1, 1, 2))
    assert one.weight_draws.shape == (4, 1000, 3)
    assert one.offset_draws.shape == (4, 1000, 2)
    assert one.spread_draws.shape == (4, 1000)
    np.testing.assert_array_equal(one.weight_draws, same.weight_draws)
    assert (one.weight_draws != other.weight_draws).any()
    np.testing.assert_allclose(one.weight, other.weight, atol=0.02)


def test_modes_and_spreads_belong_to_the_draws(rng):
    """The mode is averaged over the spreads, and draws of a large spread have weights that differ more."""
    X, y = bernoulli_table(rng, 200)
    found = nb.weight_features(nb.fit(nb.Bernoulli(), X, y), X, y)
    of_draws = found.feature_weights.weight_draws
    assert (np.abs(found.feature_weights.weight - of_draws.mean(axis=(0, 1))) < 0.3 * of_draws.std(axis=(0, 1))).all()
    spread, apart = found.feature_weights.spread_draws, of_draws.std(axis=-1)
    assert len(np.unique(spread)) > 2
    small, large = apart[spread == 0.05].mean(), apart[spread == np.unique(spread)[2]].mean()
    assert small < 0.08
    assert large > 1.7 * small
    shared = nb.weight_features(nb.fit(nb.Bernoulli(), X, y), X, y, shared=True)
    assert shared.feature_weights.shared
    assert shared.feature_weights.spread_draws is None


def test_labels_may_be_a_column_and_features_are_in_the_order_of_the_table(table):
    X, y = table
    posterior = nb.fit(nb.NaiveBayes(FEATURES), X.assign(kind=y), "kind")
    by_name = nb.weight_features(posterior, X.assign(kind=y), "kind")
    apart = nb.weight_features(posterior, X, y)
    np.testing.assert_array_equal(by_name.feature_weights.weight_draws, apart.feature_weights.weight_draws)
    assert list(apart.weights.index) == ["fallen", "height", "bark", "moss", "width"]
    assert by_name.unweighted is posterior


class TestHardTables:
    def test_fewer_rows_than_features(self, rng):
        X, y = rng.normal(size=(6, 30)), np.array([0, 1, 0, 1, 0, 1])
        found = nb.weight_features(nb.fit(nb.NaiveBayes(nb.Gaussian(0.0, 1.0, 2.0, 1.0)), X, y), X, y)
        assert np.isfinite(found.weights).all(axis=None)
        assert found.weights["sd"].between(0.05, 1.6).all()

    @pytest.mark.parametrize("shared", [False, True])
    def test_separable_rows(self, shared):
        X = np.column_stack([np.r_[np.zeros(50), np.full(50, 100.0)], np.r_[np.zeros(50), np.full(50, 90.0)]])
        X, y = X + np.random.default_rng(1).normal(size=X.shape), np.repeat(["a", "b"], 50)
        found = nb.weight_features(nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y), X, y, shared=shared)
        assert np.isfinite(found.weights).all(axis=None)
        assert found.weights["upper"].max() < 6
        assert (found.predict(X) == y).all()
        assert found.predict_proba(X).max(axis=1).min() > 0.99

    def test_a_feature_without_evidence_keeps_the_prior_of_its_level(self, rng):
        """A column of missing cells changes nothing, and its weight is one of the others."""
        X, y = bernoulli_table(rng, 300, columns=3)
        empty = np.column_stack([X, np.full(300, np.nan)])
        found = nb.weight_features(nb.fit(nb.Bernoulli(), empty, y), empty, y)
        plain = nb.weight_features(nb.fit(nb.Bernoulli(), X, y), X, y)
        np.testing.assert_allclose(found.feature_weights.weight[:3], plain.feature_weights.weight, atol=0.15)
        assert found.weights["sd"].iloc[3] > 1.5 * found.weights["sd"].iloc[:3].max()


def test_large_tables_use_a_subset_of_the_rows(rng, monkeypatch):
    X, y = bernoulli_table(rng, 4000, columns=5)
    posterior = nb.fit(nb.Bernoulli(), X, y)
    monkeypatch.setattr(likelihood, "MOST_NUMBERS", 2 * 5 * 4000)  # as many as all rows have
    whole = nb.weight_features(posterior, X, y)
    assert whole.feature_weights.num_rows == 4000
    monkeypatch.setattr(likelihood, "MOST_NUMBERS", 2 * 5 * 2000)
    with pytest.warns(UserWarning, match="learned from 2000 of 4000 rows, drawn at random"):
        some, other = (nb.weight_features(posterior, X, y, key=key) for key in (0, 1))
    assert some.feature_weights.num_rows == 2000
    difference = some.weights["mean"] - whole.weights["mean"]
    assert (np.abs(difference) < 3.5 * some.weights["sd"]).all()
    assert (some.weights["sd"] > 1.1 * whole.weights["sd"]).all()
    assert (other.feature_weights.weight != some.feature_weights.weight).any()


def test_a_class_of_one_row_whose_probability_is_its_frequency(rng):
    X, y = bernoulli_table(rng, 41, columns=3)
    y[40] = 2
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical"), X, y)
    with pytest.warns(UserWarning, match=r"^row 40 does not count in the weights.*leave class_probs out"):
        found = nb.weight_features(posterior, X, y)
    assert found.feature_weights.num_rows == 40
    assert np.isfinite(found.predict_proba(X)).all()


def test_draws_of_the_parameters_give_nearly_the_same_weights():
    """Importance sampling over draws of a closed form, beside the closed form."""
    rng = np.random.default_rng(9)
    X, y = bernoulli_table(rng, 150, columns=3)
    exact = nb.fit(nb.Bernoulli(), X, y)
    sampled = nb.from_samples(exact.model, exact.draws(num_draws=1000, key=1), X=X, y=y)
    found, expected = nb.weight_features(sampled, X, y), nb.weight_features(exact, X, y)
    sd = expected.weights["sd"]
    assert (np.abs(found.weights["mean"] - expected.weights["mean"]) < 0.2 * sd).all()
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=0.02)


@pytest.mark.slow
# The posterior of the weights of copies mixes narrow and wide spreads. Its E-BFMI is close to the limit of 0.3, and
# rounding decides on which side.
@pytest.mark.filterwarnings("ignore:NUTS. E-BFMI is 0.2:bayesnb.inference.exact.ConvergenceWarning")
@pytest.mark.parametrize("shared", [False, True], ids=["each", "shared"])
def test_nuts_and_the_approximation_agree(shared):
    rng = np.random.default_rng(4)
    X, y = bernoulli_table(rng, 400, columns=4, copies=2)
    posterior = nb.fit(nb.Bernoulli(), X, y)
    settings = nb.NUTS(num_warmup=2000, num_samples=2000, target_accept_prob=0.95)
    found = nb.weight_features(posterior, X, y, shared=shared, key=1)
    sampled = nb.weight_features(posterior, X, y, shared=shared, inference=settings, key=1)
    np.testing.assert_array_equal(sampled.feature_weights.weight, found.feature_weights.weight)
    sd = sampled.weights["sd"]
    assert (np.abs(found.weights["mean"] - sampled.weights["mean"]) < 0.3 * sd).all()
    np.testing.assert_allclose(found.weights["sd"], sd, rtol=0.2)
    if not shared:
        spreads = [
            [(weights.spread_draws == spread).mean() for spread in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)]
            for weights in (found.feature_weights, sampled.feature_weights)
        ]
        np.testing.assert_allclose(*spreads, atol=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1000, 10_000])
def test_intervals_cover_one_where_the_model_is_right(rows):
    """Ten Bernoulli columns: at least 85 % of the 89 % intervals hold one; more is allowed, the prior's mean is one."""
    inside = []
    for seed in range(60):
        X, y = bernoulli_table(np.random.default_rng([seed, rows]), rows)
        found = nb.weight_features(nb.fit(nb.Bernoulli(), X, y), X, y, key=seed).weights
        inside.append(((found["lower"] <= 1) & (found["upper"] >= 1)).mean())
    error = np.std(inside) / np.sqrt(60)
    assert np.mean(inside) >= 0.85
    assert error < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "most"), [(60, 0.018), (200, 0.007)])
def test_weights_cost_little_where_the_model_is_right(rows, most):
    """The score of the labels of new rows beside that of the right model with the right prior, nats a row."""
    change = []
    for seed in range(150):
        X, y = bernoulli_table(np.random.default_rng([seed, rows, 2]), rows + 1000)
        posterior = nb.fit(nb.Bernoulli(), X[:rows], y[:rows])
        weighted = nb.weight_features(posterior, X[:rows], y[:rows], key=seed)
        of_label = np.arange(1000), y[rows:]
        gained = weighted.predict_log_proba(X[rows:])[of_label] - posterior.predict_log_proba(X[rows:])[of_label]
        change.append(gained.mean())
    assert -most < np.mean(change) < 0.0
