"""Posterior predictive checks: quiet on data of the model, loud where it is wrong."""

import re
import sys

import dask.array as dask_array
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats

import bayesnb as nb
from bayesnb.estimators import BernoulliNB

csr = scipy.sparse.csr_array
NAMES = ["class_frequency", "mean", "variance", "shape", "zero_share", "burstiness", "dependence"]


@pytest.fixture(scope="module")
def mixed():
    """A bound model with a column of every family, its priors in numbers."""
    features = {
        "height": nb.Gaussian(loc=0.0, kappa=0.2, concentration=3.0, rate=2.0),
        "weight": nb.Gaussian(loc=0.0, kappa=0.2, concentration=3.0, rate=2.0),
        "visits": nb.Poisson(concentration=2.0, rate=1.0),
        "votes": (nb.Bernoulli(), ["v1", "v2", "v3"]),
        "colour": nb.Categorical(),
        "words": (nb.Multinomial(), ["w1", "w2", "w3", "w4"]),
    }
    frame = pd.DataFrame({name: [0, 1, 0, 1] for name in ["height", "weight", "visits", "v1", "v2", "v3"]})
    frame["colour"] = ["red", "blue", "green", "red"]
    frame[["w1", "w2", "w3", "w4"]] = 1
    return nb.NaiveBayes(features, class_concentration=5.0).bind(frame, ["a", "b", "a", "b"])


@pytest.fixture(scope="module")
def simulated(mixed):
    lengths = np.random.default_rng(3).integers(5, 15, 90)
    X, y = mixed.simulate(90, key=4, total_count=lengths)
    return X, y, nb.fit(mixed, X, y)


@pytest.fixture(scope="module")
def checked(simulated):
    """A check of data that the model simulated."""
    X, y, posterior = simulated
    return nb.check(posterior, X, y, num_replicates=100)


COINS = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "b"]), [[1], [0]], ["a", "b"]
"""A posterior and the rows of its fit."""


def told(values, labels=("gap",)):
    """A check whose statistic has these values, shape (1 + replicates, labels): the data's, and those of replicates."""
    rows = iter(np.reshape(values, (len(values), -1)))

    def gap(X, y):
        return dict(zip(labels, next(rows), strict=True)) if len(labels) > 1 else float(next(rows)[0])

    return nb.check(*COINS, statistics=gap, num_replicates=len(values) - 1)


def in_a_line(found):
    return " ".join(repr(found).split())


def short_and_long_documents(seed):
    """Two classes of forty documents, of 20 words and of 400."""
    rng = np.random.default_rng([seed, 31])
    words = [rng.multinomial(length, rng.dirichlet(np.ones(30)), 40) for length in (20, 400)]
    return nb.NaiveBayes(nb.Multinomial()), np.vstack(words), np.repeat(["short", "long"], 40)


def gaps_in_one_class(seed):
    """Independent measurements, 75 % of them missing in the second class."""
    rng = np.random.default_rng([seed, 32])
    y = np.repeat([0, 1], 60)
    X = rng.normal(y[:, None], 1.0, (120, 6))
    X[(rng.uniform(size=X.shape) < 0.75) & (y == 1)[:, None]] = np.nan
    return nb.NaiveBayes(nb.Gaussian()), X, y


def counts_of_eight_classes(seed):
    """Of these tables, 4 in 10 have a p-value below .01 or above .99."""
    rng = np.random.default_rng([seed, 3])
    y = rng.integers(0, 8, 400)
    return nb.Poisson(), rng.poisson(1 + 0.5 * y[:, None], (400, 6)), y


def frequencies(seed):
    """Distinct rows of six independent columns of zeros and ones, and how often each occurs; else all are rejected."""
    rng = np.random.default_rng([seed, 7])
    y = rng.integers(0, 2, 300)
    X = rng.uniform(size=(300, 6)) < np.where(y == 0, 0.2, 0.6)[:, None]
    distinct, times = np.unique(np.column_stack([y, X]), axis=0, return_counts=True)
    return nb.Bernoulli(), distinct[:, 1:], distinct[:, 0], times


def share_extreme(case, data_sets, replicates):
    """Share of the data sets in which each line is extreme, and in which its own p-value is below .02 or above .98."""
    extreme, far = [], []
    for seed in range(data_sets):
        model, X, y, *weights = case(seed)
        posterior = nb.fit(model, X, y, sample_weight=weights[0] if weights else None)
        one = nb.check(
            posterior, X, y, sample_weight=weights[0] if weights else None, num_replicates=replicates, key=seed
        )
        extreme.append(pd.Series(one.table.index.isin(one.extreme), index=one.table.index, dtype=float))
        far.append((one.table["p_value"] - 0.5).abs() > 0.48)
    return pd.DataFrame(extreme), pd.DataFrame(far)


@pytest.mark.parametrize("case", [short_and_long_documents, gaps_in_one_class])
def test_classes_keep_their_lengths_and_gaps(case):
    # A uniform p-value is extreme with probability 0.02: binomial(5, 0.02) exceeds 2 with probability 8e-5.
    assert (share_extreme(case, 5, 100)[0].mean() <= 0.4).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", [short_and_long_documents, gaps_in_one_class])
def test_right_data_sets_are_seldom_rejected(case):
    share, far = (found.mean() for found in share_extreme(case, 300, 200))
    # A uniform p-value is extreme with probability 0.02: binomial(300, 0.02) exceeds 14 with probability 1e-3.
    assert (share <= 14 / 300).all(), share
    assert share.mean() <= 0.03
    assert share.filter(regex="mean|variance|class_frequency").max() <= 0.01  # conservative
    # A uniform p-value is far with probability 0.04; binomial(300, 0.04) is below 4 with probability 2e-3.
    assert far.filter(like="dependence").mean() >= 4 / 300


@pytest.mark.slow
@pytest.mark.parametrize("case", [counts_of_eight_classes, frequencies])
def test_many_classes_and_frequencies_cause_no_more_extreme_lines(case):
    assert share_extreme(case, 40, 150)[0].any(axis=1).sum() <= 6  # binomial(40, .04) exceeds 6 with probability 1e-3


WRONG = {
    "not of their classes": lambda X: X.sample(frac=1.0, random_state=0).set_axis(X.index),
    "sorted": lambda X: X.apply(lambda column: column.sort_values().to_numpy()),
    "of one sign": lambda X: X.assign(height=X["height"].abs(), weight=X["weight"].abs()),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_rows_that_are_not_of_the_model_are_noticed(simulated, checked, wrong):
    X, y, posterior = simulated
    assert len(checked.extreme) <= 2
    assert len(nb.check(posterior, WRONG[wrong](X), y, num_replicates=100).extreme) > 2


def test_labels_of_other_frequencies_are_noticed(simulated):
    X, y, posterior = simulated
    rows = np.r_[np.resize(np.flatnonzero(y == "a"), 80), np.flatnonzero(y == "b")[:10]]
    found = nb.check(posterior, X.iloc[rows], y[rows], statistics="class_frequency", num_replicates=100)
    assert found.extreme == ("class_frequency[a]", "class_frequency[b]")
    assert found.table["p_value"].tolist() == [0.0, 1.0]


def test_every_statistic_by_hand(simulated, checked):
    X, y, _ = simulated
    observed = checked.table["observed"]
    a = X[y == "a"]
    words = a[["w1", "w2", "w3", "w4"]].to_numpy()
    assert observed["class_frequency[a]"] == pytest.approx((y == "a").mean())
    assert observed["mean[height, a]"] == pytest.approx(a["height"].mean())
    assert observed["mean[v2, a]"] == pytest.approx(a["v2"].mean())
    assert observed["variance[weight, a]"] == pytest.approx(a["weight"].var())
    assert observed["zero_share[visits, a]"] == pytest.approx((a["visits"] == 0).mean())
    assert observed["zero_share[words, a]"] == pytest.approx((words == 0).mean())
    occurring = words[:, words.sum(axis=0) > 0]
    burstiness = (occurring.var(axis=0, ddof=1) / occurring.mean(axis=0)).mean()
    assert observed["burstiness[words, a]"] == pytest.approx(burstiness)
    coded = X.assign(colour=X["colour"] == X["colour"].mode()[0]).astype(float)
    of_class = [correlation(coded[y == label]) for label in "ab"]
    assert observed[["dependence[a]", "dependence[b]"]].tolist() == pytest.approx(of_class)
    assert observed["dependence"] == pytest.approx(np.average(of_class, weights=[(y == "a").sum(), (y == "b").sum()]))
    assert "variance[v1, a]" not in observed


def correlation(table):
    """Mean absolute correlation of the pairs of columns, each of the rows that have both."""
    found = pd.DataFrame(table).corr().to_numpy()  # NaN for a constant column
    return np.nanmean(np.abs(found[np.triu_indices(len(found), 1)]))


def test_dependence_where_cells_are_missing_is_the_correlation_of_the_pairs_that_are_seen(rng):
    y = np.repeat(["a", "b"], [40, 60])
    X = rng.normal(5.0, 2.0, (100, 3)) @ rng.normal(size=(3, 3)) + np.array([0.0, 30.0, -4.0])
    # Cells are missing where another column is large, so that the seen rows of a pair have means of their own.
    X[X[:, 1] > np.quantile(X[:, 1], 0.6), 0] = np.nan
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    found = nb.check(nb.fit(nb.Gaussian(), X, y), X, y, statistics="dependence", num_replicates=2).table["observed"]
    for label in "ab":
        assert found[f"dependence[{label}]"] == pytest.approx(correlation(X[y == label]), rel=1e-9)


@pytest.mark.parametrize("rare", [0.0, 1.0])
@pytest.mark.parametrize(("number", "columns"), [(4, [0, 2]), (5, [0, 1, 2])])
def test_correlations_are_those_of_columns_that_vary_enough(rare, number, columns):
    """A column in which only a few rows differ, by zeros or by ones, is left out where others are there."""
    X, y = np.full((60, 3), 1 - rare), np.arange(60) // 30
    X[30 - number : 30, 1] = rare
    X[::2, 0] = X[::3, 2] = rare
    found = nb.check(nb.fit(nb.Bernoulli(), X, y), X, y, statistics="dependence", num_replicates=2).table["observed"]
    assert found["dependence[0]"] == pytest.approx(correlation(X[:30, columns]))
    few = nb.check(nb.fit(nb.Bernoulli(), X[:, :2], y), X[:, :2], y, statistics="dependence", num_replicates=2)
    assert few.table["observed"]["dependence[0]"] == pytest.approx(correlation(X[:30, :2]))


def test_three_rows_have_a_correlation_and_two_or_those_without_spread_have_none():
    X, y = np.repeat([[-1.0], [0.5], [2.0], [3.0], [4.0], *[[1.0]] * 9], 2, axis=1), list("aaabb") + ["c"] * 9
    found = nb.check(nb.fit(nb.Gaussian(0.0, 1.0, 2.0, 1.0), X, y), X, y, statistics="dependence", num_replicates=2)
    assert found.table.observed["dependence[a]"] == pytest.approx(1.0, rel=1e-12)
    assert found.dropped == ("dependence[b]", "dependence[c]")


def test_the_table_summarises_the_replicates(simulated):
    X, y, posterior = simulated
    found = nb.check(posterior, X, y, num_replicates=50, key=7)
    assert isinstance(found, nb.results.Check)
    assert found.replicated.shape == (50, len(found.table))
    columns = ["observed", "replicated_mean", "replicated_sd", "p_value", "p_value_mcse", "p_adjusted", "detail"]
    assert list(found.table.columns) == columns
    row, values = found.table.loc["class_frequency[a]"], found.replicated["class_frequency[a]"]
    assert row.replicated_mean == pytest.approx(values.mean())
    assert row.replicated_sd == pytest.approx(values.std())
    assert row.p_value == pytest.approx((values > row.observed).mean() + (values == row.observed).mean() / 2)
    # Labels are drawn anew for it: beta-binomial, with the class prior's five rows each.
    n, share = 90, ((y == "a").sum() + 5) / 100
    assert values.std() == pytest.approx(np.sqrt(share * (1 - share) * (n + 100) / (n * 101)), rel=0.4)
    pd.testing.assert_frame_equal(found.table, nb.check(posterior, X, y, num_replicates=50, key=7).table)
    assert not found.replicated.equals(nb.check(posterior, X, y, num_replicates=50, key=8).replicated)


def test_the_spread_of_a_statistic_is_that_of_the_replicates_that_define_it():
    """The error of a p-value is the spread of Jeffreys' posterior."""
    values = ["replicated_mean", "replicated_sd", "p_value"]
    assert told([1.0, np.nan, 2.0, np.nan]).table.loc["gap", values].tolist() == [2.0, 0.0, 1.0]
    found = told([1.0, 1.0, np.inf, 2.0, 6.0]).table.loc["gap"]
    assert found[values].tolist() == [3.0, pytest.approx(np.sqrt((4 + 1 + 9) / 2)), pytest.approx(2.5 / 3)]
    assert found["p_value_mcse"] == pytest.approx(scipy.stats.beta(3.0, 1.0).std())


def test_adjusted_p_values_are_those_of_the_farthest_line_of_the_statistic(rng):
    """A loop over replicates, with a line that only some replicates define and one of equal numbers."""
    values = np.column_stack([rng.normal(size=41), rng.exponential(size=41), rng.normal(size=41), np.full(41, 0.3)])
    values[0, :2] = 3.0
    values[5:20, 2] = np.nan
    far = np.zeros(values.shape)
    for s, j in np.ndindex(values.shape):
        middle, of_line = np.nanmedian(values[:, j]), values[:, j]
        end = np.nanquantile(of_line, 0.975 if values[s, j] > middle else 0.025)
        far[s, j] = 0.0 if j == 3 else np.nan_to_num((values[s, j] - middle) / (end - middle))
    expected = [(far[1:].max(axis=1) >= far[0, j] * (1 - 1e-9)).mean() for j in range(4)]
    found = told(values, "abcd")
    assert found.table["p_adjusted"].tolist() == expected
    assert 0 < expected[1] < 1 == expected[3]
    assert found.by_extremity.index[0] == "gap[a]"
    assert found.extreme == tuple(found.table.index[np.array(expected) < 0.02])


def test_bursty_words_are_found_sparse_or_not():
    rng = np.random.default_rng(12)
    y = np.repeat(["ham", "spam"], 40)
    X = rng.multinomial(25, rng.dirichlet(np.full(30, 0.3), 80))
    posterior = nb.fit(nb.NaiveBayes(nb.Multinomial()), X, y)
    dense, sparse = (nb.check(posterior, form(X), y, num_replicates=100).table for form in (np.asarray, csr))
    for found in (dense, sparse):
        assert (found.filter(like="burstiness", axis=0)["p_value"] == 0).all()
        assert found.index.str.startswith("zero_share").sum() == 2
    np.testing.assert_allclose(dense["observed"], sparse["observed"], rtol=1e-10)
    error = dense["replicated_sd"] * np.sqrt(2 / 100)
    assert (abs(dense["replicated_mean"] - sparse["replicated_mean"]) < 5 * error).all()


def test_lengths_and_missing_cells_are_kept(simulated):
    X, y, posterior = simulated
    X = X.copy()
    X.loc[3:9, "height"] = np.nan
    X["colour"] = X["colour"].astype(object)
    X.loc[5:20, "colour"] = None
    X.loc[0:1, "v1"] = np.nan
    seen = []

    def look(table, labels):
        seen.append(table)
        assert len(table) == len(labels) == 90
        return {"length": table[["w1", "w2", "w3", "w4"]].sum(axis=1).std(), "gone": float(table.isna().sum().sum())}

    found = nb.check(posterior, X, y, statistics=[look, *NAMES], num_replicates=10)
    assert (found.replicated["look[gone]"] == found.table.loc["look[gone]", "observed"]).all()
    np.testing.assert_allclose(found.replicated["look[length]"], found.table.loc["look[length]", "observed"])
    assert found.table.loc["look[gone]", "p_value"] == 0.5
    assert list(seen[1].columns) == list(X.columns)
    assert (seen[1].isna() == X.isna()).all(axis=None)
    assert set(seen[1]["colour"].dropna()) <= {"red", "blue", "green"}
    assert found.table.loc["mean[height, a]", "observed"] == pytest.approx(X["height"][y == "a"].mean())


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, csr], ids=["array", "frame", "sparse"])
def test_a_row_of_weight_w_is_checked_as_w_rows(table):
    """The same rows and the same draws give the same table."""
    _, X, y, times = frequencies(0)
    times[3] = 0
    copies = np.repeat(np.arange(len(y)), times)
    weighted = nb.fit(nb.Bernoulli(), table(X), y, sample_weight=times)
    repeated = nb.fit(nb.Bernoulli(), table(X[copies]), y[copies])

    def rows(X, y):
        return {"rows": len(y), "ones": float(X.sum().sum())}

    statistics = ["mean", "class_frequency", "dependence", rows]
    found = nb.check(weighted, table(X), y, sample_weight=times, statistics=statistics, num_replicates=50)
    expected = nb.check(repeated, table(X[copies]), y[copies], statistics=statistics, num_replicates=50)
    pd.testing.assert_frame_equal(found.table, expected.table)
    assert found.table.loc["rows[rows]", "observed"] == times.sum()
    assert "sample_weight" not in repr(found)
    total = f"total weight of {times.sum()}: here it is"
    with pytest.warns(UserWarning, match=f"had weights, {times.sum()} in total, and these {len(y)} rows have none"):
        assert total in repr(nb.check(weighted, table(X), y, num_replicates=2))


def in_pieces(X, y, times):
    return [(X[:40], y[:40], times[:40]), (X[40:], y[40:], times[40:])]


WITH_WEIGHTS = {
    "fit": lambda X, y, times: nb.fit(nb.Bernoulli(), X, y, sample_weight=times),
    "draws": lambda X, y, times: nb.from_samples(
        nb.Bernoulli(), nb.fit(nb.Bernoulli(), X, y).draws(num_draws=50), X=X, y=y, sample_weight=times
    ),
    "update": lambda X, y, times: nb.fit(nb.Bernoulli(), X, y).update(X, y, sample_weight=times),
    "decay": lambda X, y, times: nb.fit(nb.Bernoulli(), X, y).update(X, y, decay=0.5),
    "batches": lambda X, y, times: nb.fit_batches(nb.Bernoulli(), in_pieces(X, y, times)),
    "dask": lambda X, y, times: nb.fit(
        nb.Bernoulli(),
        *(dask_array.from_array(part, chunks=(30, 2)[: part.ndim]) for part in (X, y)),
        sample_weight=dask_array.from_array(times, chunks=30),
    ),
    "estimator": lambda X, y, times: BernoulliNB().fit(X, y, times),
    "batch": lambda X, y, times: BernoulliNB().partial_fit(X, y, [0, 1]).partial_fit(X, y, None, times),
}
TAKE_ROWS = {
    "check": lambda p, X, y, **weights: nb.check(p, X, y, num_replicates=2, **weights),
    "kfold": lambda p, X, y, **weights: nb.kfold(p, X, y, k=2, **weights),
    "weights": lambda p, X, y, **weights: nb.weight_features(p, X, y, **weights),
}


@pytest.mark.parametrize(
    ("way", "verb"), [*((way, "check") for way in WITH_WEIGHTS), ("fit", "kfold"), ("fit", "weights")]
)
def test_rows_of_a_fit_with_weights_are_not_taken_without(way, verb, tmp_path):
    rng = np.random.default_rng(0)
    X, y, times = rng.integers(0, 2, (60, 2)), rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    fitted, take = WITH_WEIGHTS[way](X, y, times), TAKE_ROWS[verb]
    with pytest.warns(
        UserWarning, match=r"the rows of the fit had weights, .* give their weights again, sample_weight"
    ):
        take(fitted, X, y)
    take(fitted, X, y, sample_weight=np.ones(60))
    fitted.save(tmp_path / "fitted.nc")
    with pytest.warns(UserWarning, match="the rows of the fit had weights"):
        take(nb.load(tmp_path / "fitted.nc"), X, y)
    take(nb.fit(nb.Bernoulli(), X, y, sample_weight=np.ones(60)), X, y)


def test_user_functions(simulated):
    X, y, posterior = simulated

    def share(table, labels):
        return (table["colour"] == "red").mean()

    found = nb.check(posterior, X, y, statistics=[share, lambda X, y: 1, lambda X, y: 2, "mean"], num_replicates=30)
    assert list(found.table.index[:4]) == ["share", "<lambda>", "<lambda> (2)", "mean[height, a]"]
    assert found.table.loc["share", "observed"] == pytest.approx((X["colour"] == "red").mean())
    assert 0.05 < found.table.loc["share", "p_value"] < 0.95


def test_a_function_sees_the_columns_of_the_model_alone():
    """Of the data as of the replicates, whatever the table is."""
    rng, seen = np.random.default_rng(0), []
    X = pd.DataFrame({"note": list("ab") * 10, "size": rng.normal(size=20), "id": np.arange(20)})
    y = pd.Series(list("aabb") * 5)
    posterior = nb.fit(nb.NaiveBayes({"size": nb.Gaussian()}), X, y)
    nb.check(posterior, X, y, statistics=lambda *rows: seen.append(rows) or 0.0, num_replicates=2)
    assert [[*table.columns] for table, _ in seen] == [["size"]] * 3
    assert [type(labels) for _, labels in seen] == [np.ndarray] * 3
    np.testing.assert_array_equal(seen[0][0]["size"], X["size"])


@pytest.mark.parametrize("cells", [[[0.0, 1.0], [1.0, np.nan]] * 3, [["u", "v"], ["v", None]] * 3])
def test_a_function_gets_a_table_of_the_kind_that_the_data_are(cells):
    """With the same cells missing."""
    cells, y, seen = np.array(cells, dtype=float if cells[0][0] == 0.0 else object), list("abcabc"), []
    nb.check(nb.fit(nb.Categorical(), cells, y), cells, y, statistics=lambda X, y: seen.append(X) or 0.0)
    assert {(type(table), table.dtype) for table in seen} == {(np.ndarray, cells.dtype)}
    assert all((pd.isna(table) == pd.isna(cells)).all() for table in seen)


def test_a_function_gets_a_sparse_table_with_the_rows_in_their_order():
    counts, y, seen = csr(np.array([[1, 0, 2], [0, 1, 0], [4, 0, 0]])), [1, 0, 1], []
    model = nb.NaiveBayes({"late": (nb.Multinomial(), [2, 0]), "one": (nb.Multinomial(), [1])})
    found = nb.check(nb.fit(model, counts, y), counts, y, statistics=lambda *rows: seen.append(rows) or 0.0)
    for table, labels in seen:
        assert scipy.sparse.issparse(table)
        assert table.sum(axis=1).tolist() == [3, 1, 4]
        assert table[:, [1]].toarray().ravel().tolist() == [0, 1, 0]
        assert list(labels) == y
    assert len(seen) == 1 + len(found.replicated)
    seen.clear()
    model = nb.NaiveBayes({"late": (nb.Multinomial(), [2, 0]), "one": (nb.Categorical(), [1])})
    nb.check(nb.fit(model, counts, y), counts, y, statistics=lambda X, y: seen.append(X) or 0.0, num_replicates=1)
    assert [type(table) for table in seen] == [np.ndarray, np.ndarray]


def test_every_posterior_is_checked():
    """A point leaves out half of the variance of a replicated mean: the parameter's."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 80)
    X, model = rng.normal(y[:, None], 1.0, (80, 3)), nb.NaiveBayes(nb.Gaussian())
    exact = nb.fit(model, X, y)
    theirs = nb.check(exact, X, y, num_replicates=300).table
    for kind, posterior in (
        ("sampled", nb.from_samples(model, exact.draws(num_chains=2, num_draws=100), X=X, y=y)),
        ("MLE", nb.fit(model, X, y, nb.MLE())),
        ("given", exact.plugin()),
    ):
        mine = nb.check(posterior, X, y, num_replicates=300).table
        assert abs(mine.loc["dependence", "p_value"] - theirs.loc["dependence", "p_value"]) < 0.15, kind
        spread = mine.loc["mean[0, 1]", "replicated_sd"] / theirs.loc["mean[0, 1]", "replicated_sd"]
        assert (0.85 < spread < 1.15) if kind == "sampled" else (0.55 < spread < 0.85), kind


def test_replicates_take_evenly_spaced_draws():
    X, y = [[1], [0], [1]], ["a", "b", "b"]
    draws = nb.fit(nb.Bernoulli(), X, y).draws(num_chains=2, num_draws=5)
    # Of the ten draws those that are taken have the class "a" only.
    taken = np.isin(np.arange(10), [0, 3, 6, 9])
    sure = np.where(taken[:, None], [1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]).reshape(2, 5, 2)
    sampled = nb.from_samples(nb.Bernoulli(), draws | {"class_prob": sure}, X=X, y=y)
    found = nb.check(sampled, X, y, statistics="class_frequency", num_replicates=4).replicated
    assert found["class_frequency[a]"].tolist() == [1.0] * 4


def test_replicates_do_not_depend_on_the_number_of_threads_or_on_a_users_function(simulated, monkeypatch):
    X, y, posterior = simulated
    found = []
    for threads, statistics in (("1", ["mean"]), ("2", ["mean"]), ("2", ["mean", lambda X, y: 0.0])):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(nb.check(posterior, X, y, statistics=statistics, num_replicates=30).replicated.filter(like="mean"))
    pd.testing.assert_frame_equal(found[1], found[0])
    pd.testing.assert_frame_equal(found[2], found[0])


def test_undefined_statistics_are_dropped():
    X, y = [[1.0, 0], [1.0, 1], [1.0, 0]], ["a", "a", "b"]
    model = nb.NaiveBayes({0: nb.Gaussian(0.0, 1.0, 1.0, 1.0), 1: nb.Bernoulli()})
    found = nb.check(nb.fit(model, X, y, classes=["a", "b", "c"]), X, y, num_replicates=40)
    assert {"mean[0, c]", "variance[0, b]", "dependence"} <= set(found.dropped)
    assert found.table.loc["variance[0, a]", "observed"] == 0.0
    assert found.table.loc["variance[0, a]", "p_value"] == 1.0
    assert found.table.loc["class_frequency[c]", "observed"] == 0.0
    assert np.isfinite(found.table.drop(columns="detail").to_numpy()).all()
    assert "undefined and dropped" in repr(found)
    with pytest.raises(ValueError, match="nothing to plot"):
        told([np.nan, 0.0, 1.0]).plot()


def test_statistics_that_are_fitted_are_printed_last_unless_they_are_extreme(simulated, checked):
    X, y, posterior = simulated
    of_poisson = {"variance[visits, a]", "variance[visits, b]"}
    names = checked.table.index.str.partition("[").get_level_values(0)
    fitted = set(checked.table.index[names.isin(["class_frequency", "mean", "variance"])]) - of_poisson
    assert set(checked.fitted) == fitted
    others = [label for label in checked.by_extremity.index if label not in fitted]
    shown = [line.rsplit(maxsplit=4)[0] for line in format(checked, "200").splitlines()]
    assert "\n".join(others) in "\n".join(shown)
    assert "class_frequency, mean and variance are last" in in_a_line(checked)
    far = nb.check(posterior, X.assign(height=X["height"] + 100), y, num_replicates=100)
    assert {"mean[height, a]", "mean[height, b]"} <= set(far.extreme)
    first = repr(far).splitlines()[2 : 4 + len(far.extreme)]
    assert any(line.startswith("mean[height, a] ") for line in first)
    assert "are last" not in repr(nb.check(posterior, X, y, statistics=["dependence"], num_replicates=20))


ADVICE = {
    "shape[0]": ("try narrower bins", "another family"),
    "shape[1]": ("nb.Histogram()", "LogNormal"),
    "shape[2]": ("nb.LogNormal()", "narrower"),
    "variance[0, a]": ("nb.Hurdle()", "nb.Histogram()"),
    "variance[1, b]": ("nb.Histogram()", "class_concentration"),
    "zero_share[3, a]": ("nb.Hurdle()", "NegativeBinomial"),
}
"""By line, what its advice proposes and what it does not, such as the family that the column has."""


def test_advice_proposes_no_family_that_the_column_has(rng):
    X, y = rng.exponential(size=(60, 4)), np.repeat(["a", "b"], 30)
    X[:, 3] = rng.poisson(3.0, 60)
    families = {0: nb.Histogram(), 1: nb.LogNormal(), 2: nb.Gaussian(), 3: nb.NegativeBinomial(3)}
    advice = nb.check(nb.fit(nb.NaiveBayes(families), X, y), X, y, num_replicates=5).advice
    for label, (proposed, other) in ADVICE.items():
        assert proposed in advice[label]
        assert other not in advice[label]


def test_extreme_lines_name_a_next_step_that_exists(simulated):
    X, y, posterior = simulated
    found = nb.check(posterior, X, y, statistics=[*NAMES, lambda X, y: 0], num_replicates=40)
    assert set(found.advice) == set(found.table.index)
    for step in found.advice.values():
        assert re.search("family|drop|join|look for|learn", step)
        assert all(hasattr(nb, name) for name in re.findall(r"nb\.(\w+)", step)), step
    assert found.next_steps == {label: found.advice[label] for label in found.extreme}
    copies = X.assign(weight=X["height"])
    found = nb.check(nb.fit(posterior.model, copies, y), copies, y, num_replicates=100)
    assert "dependence" in found.extreme
    assert found.table.loc["dependence", "p_value"] == 0.0
    for shown in (repr(found), found._repr_html_()):
        assert "nb.group_columns(model, X, y), or drop those that repeat others" in " ".join(shown.split())


def test_less_dependence_than_expected_asks_for_another_step(rng):
    """Rows of a Latin square are less correlated than independent ones."""
    square, copied = [[1, 1], [1, 0], [0, 1], [0, 0]] * 30, np.repeat(rng.integers(0, 2, (120, 1)), 2, axis=1)
    for X, less, step in (
        (square, True, "the columns depend on each other less than the model expects"),
        (copied, False, "merge columns that depend on each other"),
    ):
        found = nb.check(
            nb.fit(nb.Bernoulli(), X, ["a"] * 120), X, ["a"] * 120, statistics="dependence", num_replicates=40
        )
        assert (found.table.loc["dependence", "p_value"] > 0.9) == less
        assert found.advice["dependence"].startswith(step)


@pytest.mark.parametrize(("far", "heavy"), [(19.0, False), (24.0, True)])
def test_lines_whose_replicates_have_heavy_tails_are_named(far, heavy):
    """Two replicates far from the others make a standard deviation of 2.7 or 3.3 times the interquartile range."""
    found = told(np.r_[0.0, np.linspace(-1.0, 1.0, 101), far, -far])
    assert ("gap: the replicates have heavy tails" in in_a_line(found)) is heavy


def test_few_replicates_are_told_and_forty_nine_are_enough():
    few = in_a_line(told(np.r_[9.0, np.zeros(48)]))
    assert "with so few replicates chance alone" in few
    assert "with probability 0.077." in in_a_line(told(np.r_[9.0, np.zeros(12)]))
    assert "so few" not in in_a_line(told(np.r_[9.0, np.zeros(49)]))


@pytest.mark.parametrize("number", [1, 6, 7, 20, 22])
def test_the_advice_names_six_lines_and_the_table_twenty(number):
    found = told(np.vstack([np.full(number, 9.0), np.zeros((99, number))]), range(number))
    first = [f"gap[{k}]" if number > 1 else "gap" for k in range(min(number, 6))]
    more = f" and {number - 6} more" if number > 6 else ""
    assert f"{', '.join(first)}{more}: look for the columns or the family behind it" in in_a_line(found)
    for text in (repr(found), found._repr_html_()):
        assert ("more in" in text) is ("and 2 more in .table" in text) is (number > 20)


def test_a_p_value_of_no_or_every_replicate_is_shown_as_a_limit():
    """In the panel of each line, the most extreme first."""
    values = np.vstack([np.arange(4.0), np.repeat([[0.5, 0.5, 1.5, 4.0]], 50, axis=0)])
    values[1:13, 1] = 1.5
    found = told(values, "abcd")
    heads = {axis.get_title().split("\n")[0]: axis.get_title().split("\n")[-1] for axis in found.plot().axes}
    assert list(heads) == found.by_extremity.index.tolist()
    expected = {"a": "p > 0.98", "b": "p = 0.240", "c": "p < 0.02", "d": "p > 0.98"}
    assert heads == {f"gap[{name}]": text for name, text in expected.items()}


def test_progress_is_lines_with_an_estimate_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # which other tests import
    monkeypatch.setattr("bayesnb.core.running.FIRST_LINE", 0.0)
    for ci, between, shown in ((False, 0.0, True), (False, 60.0, False), (True, 0.0, False)):
        monkeypatch.setattr("bayesnb.core.running.NEXT_LINE", between)
        monkeypatch.setenv("CI", "1") if ci else monkeypatch.delenv("CI", raising=False)
        # tqdm looks at the clock each tenth of a second.
        nb.check(*COINS, num_replicates=4000)
        line = r"check: [\d,]+ of 4,000 replicates, \d\d:\d\d so far, about \d\d:\d\d left"
        lines = capsys.readouterr().err.splitlines()
        assert any(re.fullmatch(line, each) for each in lines) is shown


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda posterior, X, y: nb.mutual_information(posterior), ["mutual information", "drawing parameters"]),
        (lambda posterior, X, y: posterior.proba_interval(X), ["drawing parameters", "densities under draws"]),
        (lambda posterior, X, y: posterior.to_datatree(X, y), ["drawing parameters", "densities under draws"]),
    ],
)
def test_long_work_without_a_bar_of_its_own_tells_its_progress(call, told, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.delenv("CI", raising=False)
    for name in ("FIRST_LINE", "NEXT_LINE", "LATER"):
        monkeypatch.setattr(f"bayesnb.core.running.{name}", 0.0)
    X, y = [[2, 0, 1], [0, 3, 1], [1, 1, 4]], ["a", "b", "a"]
    call(nb.fit(nb.Multinomial(), X, y), X, y)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("bayesnb.core.running.LONG", 1)
    call(nb.fit(nb.Multinomial(), X, y), X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [*dict.fromkeys(line.split(":")[0] for line in lines)] == told
