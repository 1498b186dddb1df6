"""Posterior predictive checks: quiet on data of the model, loud where it is wrong."""

import itertools
import re
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
from sklearn.datasets import load_iris

import bayesnb as nb
from bayesnb.checks import builtin as agreement
from bayesnb.checks import builtin as dependence
from bayesnb.checks import predictive as checking
from bayesnb.checks import statistics as replicates
from bayesnb.checks.builtin import _choose_features, _mean_correlation
from bayesnb.checks.predictive import Check, _p_value, check, check_of
from bayesnb.checks.statistics import Line, Rows, Statistic, encode
from bayesnb.core.printing import ROWS

NAMES = ["class_frequency", "mean", "variance", "shape", "zero_share", "burstiness", "dependence", "agreement"]


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
    return check(posterior, X, y, num_replicates=100)


def prior_p_values(mixed, tables):
    found = []
    for s in range(tables):
        X, y = mixed.simulate(60, key=s, total_count=np.full(60, 8))
        posterior = nb.fit(nb.NaiveBayes(dict(mixed.features), class_concentration=5.0), X, y, classes=["a", "b"])
        found.append(check(posterior, X, y, num_replicates=100, key=s).table["p_value"])
    return pd.concat(found, axis=1)


@pytest.mark.slow
def test_p_values_are_calibrated_on_data_of_the_model(mixed):
    p_values = prior_p_values(mixed, 60)
    extreme = (p_values < 0.02) | (p_values > 0.98)
    # A uniform p-value is extreme with probability 0.04; those of quantities that were fitted hardly ever.
    assert np.nanmean(extreme.where(p_values.notna()).to_numpy(float)) < 0.04
    for name in ["dependence", "agreement", "burstiness[words, a]", "zero_share[visits, a]"]:
        assert extreme.loc[name].sum() <= 9, name  # binomial(60, 0.04) exceeds 9 with probability 1e-4
        assert 0.3 < p_values.loc[name].mean() < 0.7, name
    # The fit does not pull the correlation of features along, so that its p-value is uniform.
    assert 0.2 < p_values.loc["dependence"].std() < 0.38
    assert p_values.loc["mean[height, a]"].std() < 0.1


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


def share_extreme(case, data_sets, replicates):
    """Share of the data sets in which each line is extreme, and in which its own p-value is below .02 or above .98."""
    extreme, far = [], []
    for seed in range(data_sets):
        model, X, y = case(seed)
        one = check(nb.fit(model, X, y), X, y, num_replicates=replicates, key=seed)
        extreme.append(pd.Series(one.table.index.isin(one.extreme), index=one.table.index, dtype=float))
        far.append((one.table["p_value"] - 0.5).abs() > 0.48)
    return pd.DataFrame(extreme).mean(), pd.DataFrame(far).mean()


@pytest.mark.parametrize("case", [short_and_long_documents, gaps_in_one_class])
def test_classes_keep_their_lengths_and_gaps(case):
    # A uniform p-value is extreme with probability 0.02: binomial(10, 0.02) exceeds 3 with probability 3e-5.
    assert (share_extreme(case, 10, 100)[0] <= 0.3).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", [short_and_long_documents, gaps_in_one_class])
def test_right_data_sets_are_seldom_rejected(case):
    share, far = share_extreme(case, 300, 200)
    # A uniform p-value is extreme with probability 0.02: binomial(300, 0.02) exceeds 14 with probability 1e-3.
    assert (share <= 14 / 300).all(), share
    assert share.mean() <= 0.03
    assert share.filter(regex="mean|variance|class_frequency").max() <= 0.01  # conservative
    # A uniform p-value is far with probability 0.04; binomial(300, 0.04) is below 4 with probability 2e-3.
    assert far.filter(like="dependence").mean() >= 4 / 300


@pytest.mark.parametrize("broken", ["ignores the class", "sorts the cells", "keeps one sign", "draws other labels"])
def test_wrong_replicates_are_noticed(simulated, checked, monkeypatch, broken):
    X, y, posterior = simulated
    right = checking.replicate

    def wrong(model, parameters, data, rng):
        rows = right(model, parameters, data, rng)
        if broken == "draws other labels":
            return Rows(rows.labels, rows.cells, np.array([80, 10]))
        order = rng.permutation(90)
        change = {
            "ignores the class": lambda x: x[order],
            "sorts the cells": lambda x: np.sort(x, axis=0),
            "keeps one sign": np.abs,
        }[broken]
        return Rows(rows.labels, tuple(change(x) for x in rows.cells), rows.class_counts)

    assert len(checked.extreme) <= 2
    monkeypatch.setattr(checking, "replicate", wrong)
    found = check(posterior, X, y, num_replicates=100)
    if broken == "draws other labels":
        assert found.extreme == ("class_frequency[a]", "class_frequency[b]")
    else:
        assert len(found.extreme) > 2


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
    of_class = {}
    for label in "ab":
        correlation = coded[y == label].corr().to_numpy()  # NaN for a column that the class leaves constant
        of_class[label] = np.nanmean(np.abs(correlation[np.triu_indices(11, 1)]))
        assert observed[f"dependence[{label}]"] == pytest.approx(of_class[label])
    overall = np.average([of_class["a"], of_class["b"]], weights=[(y == "a").sum(), (y == "b").sum()])
    assert observed["dependence"] == pytest.approx(overall)
    discrete = X[["v1", "v2", "v3", "colour"]].to_numpy()
    agreeing = (discrete[:, None] == discrete[None]).sum(axis=2) > 0.8 * 4
    assert observed["agreement"] == pytest.approx((agreeing & (y[:, None] == y)).sum() / len(y) - 1)
    assert "variance[v1, a]" not in observed


def test_the_table_summarises_the_replicates(simulated):
    X, y, posterior = simulated
    found = check(posterior, X, y, num_replicates=50, key=7)
    assert isinstance(found, Check)
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
    jeffreys = scipy.stats.beta(50 * row.p_value + 0.5, 50 * (1 - row.p_value) + 0.5)
    assert row.p_value_mcse == pytest.approx(jeffreys.std())
    assert row.p_value_mcse == pytest.approx(np.sqrt(row.p_value * (1 - row.p_value) / 50), rel=0.05)
    pd.testing.assert_frame_equal(found.table, check(posterior, X, y, num_replicates=50, key=7).table)
    assert not found.replicated.equals(check(posterior, X, y, num_replicates=50, key=8).replicated)


@pytest.mark.parametrize(
    ("name", "rows"), [("vote.csv", 435), pytest.param("mushroom.csv.gz", 8124, marks=pytest.mark.slow)]
)
def test_dependence_is_found_in_real_tables(data, name, rows):
    table = pd.read_csv(data / "uci" / name, na_values="?")
    X, y = table.iloc[:, :-1], table.iloc[:, -1]
    assert len(X) == rows
    found = check(nb.fit(nb.NaiveBayes(nb.Categorical()), X, y), X, y, num_replicates=60).table
    assert found.loc["dependence", "p_value"] < 0.01
    assert found.loc["agreement", "p_value"] < 0.01
    assert found.filter(like="class_frequency", axis=0)["p_value"].between(0.05, 0.95).all()


def test_the_petals_of_iris_depend_on_each_other_within_a_species():
    X, y = load_iris(return_X_y=True, as_frame=True)
    table = check(nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y), X, y, key=0).table
    within = [X[y == c].corr().abs().to_numpy()[np.triu_indices(4, 1)].mean() for c in range(3)]
    assert table.loc["dependence", "observed"] == pytest.approx(np.mean(within))
    assert table.loc["dependence", "observed"] == pytest.approx(0.485, abs=5e-4)
    assert (table.filter(like="dependence", axis=0)["p_value"] == 0).all()
    # Setosa's petals vary little beside the whole column, whose scale the default prior has.
    assert table.loc["variance[petal length (cm), 0]", "p_value"] > 0.9
    # Of setosa's petals 29 of 50 are 2 mm wide.
    assert table.loc["shape[petal width (cm)]", "detail"].endswith(" in 0")
    assert table.loc["shape[petal width (cm)]", "p_value"] < 0.05
    others = table.drop(index=[label for label in table.index if label[:5] in ("depen", "shape") or ", 0]" in label])
    assert others["p_value"].between(0.05, 0.95).all()


def test_independent_features_are_not_flagged():
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, 300)
    X = (rng.uniform(size=(300, 12)) < 0.2 + 0.3 * y[:, None]).astype(int)
    found = check(nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y), X, y, num_replicates=200)
    assert found.extreme == ()
    X[:, 1:3] = np.where(rng.uniform(size=(300, 2)) < 0.7, X[:, :1], X[:, 1:3])
    found = check(nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y), X, y, num_replicates=200)
    assert {label.partition("[")[0] for label in found.extreme} == {"dependence"}


def test_bursty_words_are_found_sparse_or_not():
    rng = np.random.default_rng(12)
    y = np.repeat(["ham", "spam"], 40)
    prob = rng.dirichlet(np.full(30, 0.3), 80)
    X = rng.multinomial(25, prob)
    posterior = nb.fit(nb.NaiveBayes(nb.Multinomial()), X, y)
    dense = check(posterior, X, y, num_replicates=200)
    sparse = check(posterior, scipy.sparse.csr_array(X), y, num_replicates=200)
    for found in (dense, sparse):
        assert (found.table.filter(like="burstiness", axis=0)["p_value"] == 0).all()
        assert found.table.index.str.startswith("zero_share").sum() == 2
    np.testing.assert_allclose(dense.table["observed"], sparse.table["observed"], rtol=1e-10)
    error = dense.table["replicated_sd"] * np.sqrt(2 / 200)
    assert (abs(dense.table["replicated_mean"] - sparse.table["replicated_mean"]) < 5 * error).all()


def test_lengths_missing_cells_and_shapes_are_kept(simulated):
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

    found = check(posterior, X, y, statistics=[look, *NAMES], num_replicates=10)
    assert (found.replicated["look[gone]"] == found.table.loc["look[gone]", "observed"]).all()
    np.testing.assert_allclose(found.replicated["look[length]"], found.table.loc["look[length]", "observed"])
    assert found.table.loc["look[gone]", "p_value"] == 0.5
    assert list(seen[1].columns) == list(X.columns)
    assert (seen[1].isna() == X.isna()).all(axis=None)
    assert set(seen[1]["colour"].dropna()) <= {"red", "blue", "green"}
    assert found.table.loc["mean[height, a]", "observed"] == pytest.approx(X["height"][y == "a"].mean())


def frequencies(seed):
    """Distinct rows of six independent columns of zeros and ones, their labels, and how often each occurs."""
    rng = np.random.default_rng([seed, 7])
    y = rng.integers(0, 2, 300)
    X = rng.uniform(size=(300, 6)) < np.where(y == 0, 0.2, 0.6)[:, None]
    distinct, times = np.unique(np.column_stack([y, X]), axis=0, return_counts=True)
    return distinct[:, 1:], distinct[:, 0], times


@pytest.mark.parametrize("table", [np.asarray, pd.DataFrame, scipy.sparse.csr_array], ids=["array", "frame", "sparse"])
def test_a_row_of_weight_w_is_checked_as_w_rows(table):
    X, y, times = frequencies(0)
    copies = np.repeat(np.arange(len(y)), times)
    weighted = nb.fit(nb.Bernoulli(), table(X), y, sample_weight=times)
    repeated = nb.fit(nb.Bernoulli(), table(X[copies]), y[copies])
    options = {"statistics": ["mean", "class_frequency", "dependence", "agreement"], "num_replicates": 50}
    found = check(weighted, table(X), y, sample_weight=times, **options)
    expected = check(repeated, table(X[copies]), y[copies], **options)
    pd.testing.assert_frame_equal(found.table, expected.table)
    assert "sample_weight" not in repr(found)
    assert "total weight of 300: here it is" in repr(check(weighted, table(X), y, num_replicates=2))


@pytest.mark.slow
def test_rows_with_frequencies_are_seldom_rejected():
    """Without the weights every one of these tables is rejected."""
    extreme = []
    for seed in range(40):
        X, y, times = frequencies(seed)
        posterior = nb.fit(nb.Bernoulli(), X, y, sample_weight=times)
        extreme.append(bool(check(posterior, X, y, sample_weight=times, num_replicates=200).extreme))
    assert sum(extreme) <= 5  # binomial(40, .03) exceeds 5 with probability 1e-3


def test_user_functions(simulated):
    X, y, posterior = simulated

    def share(table, labels):
        return (table["colour"] == "red").mean()

    found = check(posterior, X, y, statistics=[share, lambda X, y: 1, lambda X, y: 2, "mean"], num_replicates=30)
    assert list(found.table.index[:3]) == ["share", "<lambda>", "<lambda> (2)"]
    assert found.table.loc["share", "observed"] == pytest.approx((X["colour"] == "red").mean())
    assert 0.05 < found.table.loc["share", "p_value"] < 0.95
    assert check(posterior, X, y, statistics=share, num_replicates=5).table.index.tolist() == ["share"]
    assert check(posterior, X, y, statistics="variance", num_replicates=5).table.index[0] == "variance[height, a]"


def test_frequencies_are_copied_rows(simulated):
    """The same rows and the same draws give the same table."""
    X, y, _ = simulated
    times = np.random.default_rng(0).integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), times)

    def rows(X, y):
        return {"rows": len(y), "height": X["height"].mean()}

    posterior = nb.fit(nb.NaiveBayes({"height": nb.Gaussian(), "visits": nb.Poisson()}), X, y, sample_weight=times)
    found = nb.check(posterior, X, y, sample_weight=times, statistics=["mean", "dependence", rows], num_replicates=20)
    copied = nb.check(posterior, X.iloc[copies], y[copies], statistics=["mean", "dependence", rows], num_replicates=20)
    pd.testing.assert_frame_equal(found.table, copied.table)
    assert found.table.loc["rows[rows]", "observed"] == times.sum()
    with pytest.raises(ValueError, match=r"sample_weight of row 0 is 0\.5: a check draws w rows"):
        nb.check(posterior, X, y, sample_weight=np.full(len(y), 0.5))


def test_functions_get_arrays_and_sparse_tables():
    X, y = np.array([[1.0, 0], [0, np.nan], [1, 1], [0, 1]]), [0, 0, 1, 1]
    kinds = []

    def kind(table, labels):
        kinds.append(table)
        return table.shape[0]

    check(nb.fit(nb.NaiveBayes(nb.Categorical()), X, y), X, y, statistics=kind, num_replicates=2)
    assert all(isinstance(table, np.ndarray) and np.isnan(table[1, 1]) for table in kinds)
    counts = scipy.sparse.csr_array(np.array([[1, 0, 2], [0, 1, 0]]))
    check(nb.fit(nb.NaiveBayes(nb.Multinomial()), counts, [0, 1]), counts, [0, 1], statistics=kind, num_replicates=2)
    assert scipy.sparse.issparse(kinds[-1])
    assert kinds[-1].sum(axis=1).tolist() == [3, 1]


@pytest.fixture(scope="module")
def gaussian():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 80)
    X = rng.normal(y[:, None], 1.0, (80, 3))
    exact = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    return X, y, exact, check(exact, X, y, num_replicates=300).table


@pytest.mark.parametrize("kind", ["sampled", "point", "known"])
def test_every_posterior_is_checked(kind, gaussian):
    X, y, exact, theirs = gaussian
    model = nb.NaiveBayes(nb.Gaussian())
    if kind == "sampled":
        posterior = nb.from_samples(model, exact.draws(num_chains=2, num_draws=100), X=X, y=y)
    else:
        posterior = nb.fit(model, X, y, nb.MLE()) if kind == "point" else exact.plugin()
    mine = check(posterior, X, y, num_replicates=300).table
    assert abs(mine.loc["dependence", "p_value"] - theirs.loc["dependence", "p_value"]) < 0.15
    spread = mine.loc["mean[0, 1]", "replicated_sd"] / theirs.loc["mean[0, 1]", "replicated_sd"]
    # A point leaves out half of the variance of a replicated mean: the parameter's.
    assert (0.85 < spread < 1.15) if kind == "sampled" else (0.55 < spread < 0.85)


def test_undefined_statistics_are_dropped():
    X, y = [[1.0, 0], [1.0, 1], [1.0, 0]], ["a", "a", "b"]
    model = nb.NaiveBayes({0: nb.Gaussian(0.0, 1.0, 1.0, 1.0), 1: nb.Bernoulli()})
    found = check(nb.fit(model, X, y, classes=["a", "b", "c"]), X, y, num_replicates=40)
    assert "mean[0, c]" in found.dropped
    assert "variance[0, b]" in found.dropped
    assert "dependence" in found.dropped
    assert found.table.loc["variance[0, a]", "observed"] == 0.0
    assert found.table.loc["variance[0, a]", "p_value"] == 1.0
    assert found.table.loc["class_frequency[c]", "observed"] == 0.0
    assert np.isfinite(found.table.drop(columns="detail").to_numpy()).all()
    assert "undefined and dropped" in repr(found)


def test_one_class_only():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (30, 4))
    found = check(nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, ["x"] * 30), X, ["x"] * 30, num_replicates=50)
    assert found.table.loc["class_frequency[x]", "p_value"] == 0.5
    assert found.table.loc["dependence", "observed"] == found.table.loc["dependence[x]", "observed"]


def test_wrong_input_says_what_to_do(simulated):
    X, y, posterior = simulated
    for given in [(), (X,), (None, y)]:
        with pytest.raises(ValueError, match=r"needs the data.* (is|are) not given.*nb.check\(posterior, X, y\)"):
            check(posterior, *given)
    with pytest.raises(TypeError, match=r"posterior is a BoundModel: give what nb.fit"):
        check(posterior.model, X, y)
    with pytest.raises(ValueError, match=r"no statistic 'skew'.*'class_frequency', 'mean', 'variance'"):
        check(posterior, X, y, statistics=["skew"])
    with pytest.raises(ValueError, match="statistics is empty"):
        check(posterior, X, y, statistics=[])
    for wrong in (3, [3]):
        with pytest.raises(TypeError, match=r"statistics (is|holds) \[?3"):
            check(posterior, X, y, statistics=wrong)
    for number in (0, -1, 2.5):
        with pytest.raises(ValueError, match="num_replicates is"):
            check(posterior, X, y, num_replicates=number)
    with pytest.raises(ValueError, match=r"'z'.*not among the classes"):
        check(posterior, X, ["z"] * 90)
    with pytest.raises(ValueError, match="89 labels, X has 90 rows"):
        check(posterior, X, y[1:])
    with pytest.raises(ValueError, match="column 'visits' is missing"):
        check(posterior, X.drop(columns="visits"), y)
    with pytest.raises(ValueError, match="no rows"):
        check(posterior, X.iloc[:0], y[:0])


def test_wrong_functions_are_named(simulated):
    X, y, posterior = simulated

    def words(table, labels):
        return "many"

    def several(table, labels):
        return {"mean": np.zeros(3)}

    with pytest.raises(TypeError, match="'words' returned a str"):
        check(posterior, X, y, statistics=[words])
    with pytest.raises(TypeError, match="'several' returned an ndarray under 'mean'"):
        check(posterior, X, y, statistics=[several])


def test_a_statistic_without_its_columns_says_which_it_needs():
    X, y = [[0.1], [0.2], [0.4]], [0, 1, 1]
    posterior = nb.fit(nb.NaiveBayes(nb.Gaussian()), X, y)
    for name, needs in [("burstiness", "count vectors"), ("dependence", "two columns"), ("agreement", "two 0/1")]:
        with pytest.raises(ValueError, match=f"'{name}' needs {needs}"):
            check(posterior, X, y, statistics=[name])
    weights = [[0.5, 1.0], [1.0, 0.0]]
    posterior = nb.fit(nb.NaiveBayes(nb.Multinomial(fractional=True)), weights, [0, 1])
    with pytest.raises(ValueError, match="hold fractions"):
        check(posterior, weights, [0, 1])


def test_a_check_shows_itself(simulated, checked):
    X, y, posterior = simulated
    assert "replicated data sets" in repr(checked)
    assert "more in .table" in repr(checked)
    assert max(map(len, repr(checked).splitlines())) <= 80
    assert checked._repr_html_().count("<tr") == 22
    assert "&lt;lambda&gt;" in check(posterior, X, y, statistics=lambda X, y: 0, num_replicates=2)._repr_html_()


def test_statistics_that_are_fitted_are_printed_last_unless_they_are_extreme(simulated, checked):
    X, y, posterior = simulated
    found = checked
    of_poisson = {"variance[visits, a]", "variance[visits, b]"}
    fitted = {
        label for label in found.table.index if label.partition("[")[0] in ("class_frequency", "mean", "variance")
    } - of_poisson
    assert set(found.fitted) == fitted
    shown = [line.rsplit(maxsplit=4)[0] for part in found.parts("more")[1:2] for line in part.lines(200)[1:-1]]
    others = [label for label in found.by_extremity.index if label not in fitted]
    assert shown[: len(others)] == others
    assert "class_frequency, mean and variance are last" in " ".join(repr(found).split())
    far = check(posterior, X.assign(height=X["height"] + 100), y, num_replicates=100)
    first = repr(far).splitlines()[2:]
    extreme = [label for label in far.by_extremity.index if label in far.extreme]
    assert {"mean[height, a]", "mean[height, b]"} <= set(extreme)
    assert any(line.startswith("mean[height, a] ") for line in first[: len(extreme) + 2])
    alone = check(posterior, X, y, statistics=["dependence"], num_replicates=20)
    assert "are last" not in repr(alone)


def test_a_variance_that_the_family_does_not_fit_freely_is_not_last(rng):
    X = pd.DataFrame({"count": rng.poisson(3.0, 60), "size": rng.normal(size=60)})
    model = nb.NaiveBayes({"count": nb.Poisson(), "size": nb.Gaussian()})
    found = check(nb.fit(model, X, ["a", "b"] * 30), X, ["a", "b"] * 30, statistics=["variance"], num_replicates=20)
    assert found.fitted == ("variance[size, a]", "variance[size, b]")


def test_advice_proposes_no_family_that_the_column_has(rng):
    X, y = rng.exponential(size=(60, 4)), np.repeat(["a", "b"], 30)
    X[:, 3] = rng.poisson(3.0, 60)
    families = {0: nb.Histogram(), 1: nb.LogNormal(), 2: nb.Gaussian(), 3: nb.NegativeBinomial(3)}
    advice = check(nb.fit(nb.NaiveBayes(families), X, y), X, y, num_replicates=5).advice
    assert "try narrower bins" in advice["shape[0]"]
    assert "another family" not in advice["shape[0]"]
    assert "nb.Histogram()" in advice["shape[1]"]
    assert "LogNormal" not in advice["shape[1]"]
    assert "nb.LogNormal()" in advice["shape[2]"]
    assert "nb.Histogram()" not in advice["variance[0, a]"]
    assert "nb.Histogram()" in advice["variance[1, b]"]
    assert "NegativeBinomial" not in advice["zero_share[3, a]"]
    assert "nb.Hurdle()" in advice["zero_share[3, a]"]


def test_extreme_lines_name_a_next_step_that_exists(simulated):
    X, y, posterior = simulated
    found = check(posterior, X, y, statistics=[*NAMES, lambda X, y: 0], num_replicates=40)
    assert set(found.advice) == set(found.table.index)
    for step in found.advice.values():
        assert re.search("family|drop|join|look for|learn", step)
        assert all(hasattr(nb, name) for name in re.findall(r"nb\.(\w+)", step)), step
    assert found.next_steps == {label: found.advice[label] for label in found.extreme}
    copies = X.assign(weight=X["height"])
    found = check(nb.fit(posterior.model, copies, y), copies, y, num_replicates=100)
    assert "dependence" in found.extreme
    for shown in (repr(found), found._repr_html_()):
        assert "nb.group_columns(model, X, y), or drop those that repeat others" in " ".join(shown.split())
        assert "nb.weight_features and nb.select_features improve the class probabilities" in " ".join(shown.split())
    assert found.table.loc["dependence", "p_value"] == 0.0
    assert found.table.loc["dependence", "p_value_mcse"] == pytest.approx(0.5**0.5 / 100, rel=0.02)


def test_the_plot_has_a_panel_for_each_statistic(simulated, checked):
    X, y, posterior = simulated
    found = checked
    figure = found.plot(max_panels=6, panels_across=3)
    titles = [axis.get_title() for axis in figure.axes if axis.get_title()]
    assert len(titles) == 6
    assert all("p " in title for title in titles)
    assert titles[0].split("\n")[0] == found.by_extremity.index[0]
    shown = f"the most extreme 6 of {len(found.table)} statistics"
    assert shown in " ".join(figure.get_suptitle().split())
    single = check(posterior, X, y, statistics="dependence", num_replicates=40).plot()
    shape = check(posterior, X, y, statistics="shape", num_replicates=40)
    titles = [axis.get_title().split("\n") for axis in shape.plot().axes]
    assert titles[0][:2] == ["shape[height]", shape.table.loc["shape[height]", "detail"]]
    figure.draw_without_rendering()
    single.draw_without_rendering()
    assert "dependence" in single.axes[0].get_title()
    undefined = check(posterior, X, y, statistics=lambda X, y: np.nan, num_replicates=2)
    with pytest.raises(ValueError, match="nothing to plot"):
        undefined.plot()


def test_less_dependence_than_expected_asks_for_another_step(simulated):
    X, y, posterior = simulated
    found = check(posterior, X, y, statistics=["dependence"], num_replicates=40)
    statistic = Statistic(["a"], lambda rows: rows, "drop columns", next_step_below="look at their family")
    replicated = found.replicated.to_numpy()[:, :1]
    above, below = (statistic.lines(np.array([value]), replicated) for value in (2.0, -2.0))
    assert (above[0].next_step, below[0].next_step) == ("drop columns", "look at their family")
    assert "with so few replicates chance alone" in repr(found)
    assert "probability 0.024" in " ".join(repr(found).split())


@pytest.mark.parametrize("rare", [0.0, 1.0])
def test_correlations_are_those_of_columns_that_vary_enough(rare):
    """A column in which only a few rows differ, by zeros or by ones, is left out where others are there."""
    X = np.full((60, 3), 1 - rare)
    X[:4, 1] = rare
    X[::2, 0] = X[::3, 2] = rare
    posterior = nb.fit(nb.Bernoulli(), X, np.arange(60) % 2)
    data = encode(posterior.model, X, np.arange(60) % 2)
    features = _choose_features(posterior.model, data, np.random.default_rng(0))
    assert sorted(feature.column for feature in features) == [0, 2]


def test_a_p_value_of_no_or_every_replicate_is_shown_as_a_limit():
    shown = [_p_value(value, 50) for value in (0.0, 0.01, 0.25, 1.0)]
    assert shown == ["p < 0.02", "p = 0.010", "p = 0.250", "p > 0.98"]


def test_a_statistic_that_one_replicate_defines_has_no_spread():
    line = Line("gap", 1.0, np.array([np.nan, 2.0, np.nan]), 0.5, 1.0, "look at the gap")
    table = check_of([line], 3).table
    assert table.loc["gap", ["replicated_mean", "replicated_sd"]].tolist() == [2.0, 0.0]


def test_the_spread_of_a_statistic_is_that_of_the_replicates_that_define_it():
    line = Line("gap", 1.0, np.array([1.0, np.nan, 2.0, 6.0]), 0.5, 1.0, "look at the gap")
    mean, sd = check_of([line], 4).table.loc["gap", ["replicated_mean", "replicated_sd"]]
    assert (mean, sd) == (3.0, pytest.approx(np.sqrt((4 + 1 + 9) / 2)))


def test_dependence_where_cells_are_missing_is_the_correlation_of_the_pairs_that_are_seen(rng):
    z = rng.normal(5.0, 2.0, (40, 3)) @ rng.normal(size=(3, 3)) + np.array([0.0, 30.0, -4.0])
    # Cells are missing where another column is large, so that the seen rows of a pair have means of their own.
    z[z[:, 1] > np.quantile(z[:, 1], 0.6), 0] = np.nan
    z[rng.uniform(size=z.shape) < 0.1] = np.nan
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    n, covariance, variances = dependence._moments(z.T, pairs)
    for k, (i, j) in enumerate(pairs):
        both = z[~np.isnan(z[:, [i, j]]).any(axis=1)][:, [i, j]]
        assert n[k] == len(both)
        expected = np.cov(both.T, ddof=0)
        np.testing.assert_allclose(covariance[k], expected[0, 1], rtol=1e-9)
        np.testing.assert_allclose(variances[:, k], np.diag(expected), rtol=1e-9)


def extreme_lines(number, detail="", replicates=99):
    return [Line(f"gap[{k}]", 9.0, np.zeros(replicates), 0.0, 0.0, "look at the gaps", detail) for k in range(number)]


@pytest.mark.parametrize(("progress", "shown"), [(True, True), (None, False)])
def test_progress_is_shown_where_asked_for(progress, shown, capsys):
    posterior = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "b"])
    check(posterior, [[1], [0]], ["a", "b"], num_replicates=9, progress=progress)
    bar = capsys.readouterr().err
    assert ("check: 100%" in bar) is shown
    assert ("9/9" in bar) is shown


def test_progress_is_lines_with_an_estimate_where_there_is_no_terminal(monkeypatch, capsys):
    posterior = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "b"])
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)  # which other tests import
    monkeypatch.setattr("bayesnb.core.running.FIRST_LINE", 0.0)
    monkeypatch.setattr("bayesnb.core.running.NEXT_LINE", 0.0)
    for ci, shown in ((False, True), (True, False)):
        monkeypatch.setenv("CI", "1") if ci else monkeypatch.delenv("CI", raising=False)
        check(posterior, [[1], [0]], ["a", "b"], num_replicates=2000)
        lines = capsys.readouterr().err.splitlines()
        assert (
            any(
                re.fullmatch(r"check: [\d,]+ of 2,000 replicates, \d\d:\d\d so far, about \d\d:\d\d left", line)
                for line in lines
            )
            is shown
        )


def test_agreement_with_some_rows_estimates_that_with_all(monkeypatch):
    """A class of 30 equal rows, of which each stands for the others that are not compared."""
    X, y = np.ones((50, 3), dtype=int), np.repeat(["a", "b"], [30, 20])
    X[30:] = np.arange(20)[:, None] % 2
    posterior = nb.fit(nb.Categorical(), X, y)
    data = encode(posterior.model, X, y)
    of_all = agreement.agreement(posterior.model, data, np.random.default_rng(0)).values(data)
    np.testing.assert_allclose(of_all, (30 * 29 + 20 * 9) / 50)
    monkeypatch.setattr(agreement, "MAX_OTHERS", 20)
    monkeypatch.setattr(agreement, "MAX_ROWS", 20)
    few = [agreement.agreement(posterior.model, data, np.random.default_rng(key)).values(data)[0] for key in range(200)]
    assert np.mean(few) == pytest.approx(of_all[0], abs=4 * np.std(few) / np.sqrt(200))
    assert np.std(few) > 0


def test_replicates_do_not_depend_on_the_number_of_threads_or_on_a_users_function(simulated, monkeypatch):
    X, y, posterior = simulated
    found = []
    for threads, statistics in (("1", ["mean"]), ("2", ["mean"]), ("2", ["mean", lambda X, y: 0.0])):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(check(posterior, X, y, statistics=statistics, num_replicates=30).replicated.filter(like="mean"))
    pd.testing.assert_frame_equal(found[1], found[0])
    pd.testing.assert_frame_equal(found[2], found[0])


def test_few_replicates_are_told_and_forty_nine_are_enough():
    line = Line("gap", 1.0, np.zeros(48), 0.5, 1.0, "look at the gap")
    assert "so few replicates" in repr(check_of([line], 48)).replace("\n", " ")
    assert "so few" not in " ".join(repr(check_of(extreme_lines(1, replicates=49), 49)).split())


@pytest.mark.parametrize(("rows", "heavy"), [(1, True), (30, False)])
def test_lines_whose_replicates_have_heavy_tails_are_named(rows, heavy, rng):
    """Student's t of 1.2 degrees of freedom, after one row, has no mean of its sample variance."""
    X, y = rng.normal(size=(40 + rows, 1)), np.repeat(["a", "b"], [40, rows])
    posterior = nb.fit(nb.Gaussian(concentration=0.1), X, y)
    new = np.repeat(["a", "b"], 20)
    found = check(posterior, rng.normal(size=(40, 1)), new, statistics=["mean", "variance"], num_replicates=200)
    assert ("variance[0, b]: the replicates have heavy tails" in " ".join(repr(found).split())) is heavy


def test_the_advice_names_six_lines_and_where_their_values_come_from():
    text = " ".join(repr(check_of(extreme_lines(6, "high tails"), 99)).split())
    assert "gap[4] (high tails), gap[5] (high tails): look at the gaps." in text
    assert "in all" not in text
    text = " ".join(repr(check_of(extreme_lines(7), 99)).split())
    assert "gap[5], ... (7 in all): look at the gaps." in text
    assert "gap[6]," not in text


def test_the_number_of_lines_that_are_not_shown():
    for extra, words in ((0, None), (2, "and 2 more in .table")):
        found = check_of(extreme_lines(ROWS + extra), 99)
        for text in (repr(found), found._repr_html_()):
            assert ("more in" in text) is (words is not None)
            assert words is None or words in text


def test_the_data_that_are_not_given_are_named():
    posterior = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "b"])
    for X, y, words in (
        (None, ["a", "b"], "and X is"),
        ([[1], [0]], None, "and y is"),
        (None, None, "and X and y are"),
    ):
        with pytest.raises(ValueError, match=f"{words} not given"):
            check(posterior, X, y)


def test_replicates_take_evenly_spaced_draws(rng):
    X, y = [[1], [0], [1]], ["a", "b", "b"]
    draws = nb.fit(nb.Bernoulli(), X, y).draws(num_chains=2, num_draws=5)
    sampled = nb.from_samples(nb.Bernoulli(), draws, X=X, y=y)
    taken = [one.class_prob for one in replicates.draws(sampled, 4, rng)]
    np.testing.assert_array_equal(taken, draws["class_prob"].reshape(10, 2)[[0, 3, 6, 9]])


@pytest.mark.parametrize(
    ("cells", "kind"), [([[0.0, 1.0], [1.0, np.nan]] * 3, "f"), ([["u", "v"], ["v", None]] * 3, "O")]
)
def test_a_function_gets_an_array_of_the_kind_that_the_data_have(cells, kind):
    cells, seen = np.array(cells, dtype=None if kind == "f" else object), []

    def missing(X, y):
        seen.append(X)
        return float(pd.isna(X).sum())

    posterior = nb.fit(nb.Categorical(), cells, ["a", "b"] * 3)
    found = check(posterior, cells, ["a", "b"] * 3, statistics=missing, num_replicates=2)
    assert [table.dtype.kind for table in seen] == [kind] * 3
    np.testing.assert_array_equal(found.replicated["missing"], 3.0)
    assert all(pd.isna(table[:, 1]).tolist() == [False, True] * 3 for table in seen)


def test_of_many_discrete_columns_some_are_compared(monkeypatch):
    monkeypatch.setattr(agreement, "MAX_DISCRETE", 3)
    X, y = np.eye(5), [0, 0, 1, 1, 1]
    for columns, expected in ((3, [[0, 1, 2]]), (5, [sorted(few) for few in itertools.combinations(range(5), 3)])):
        model = nb.NaiveBayes(nb.Bernoulli()).bind(X[:, :columns], y)
        rng = np.random.default_rng(0)
        for _ in range(20):
            places = agreement._discrete_columns(model, rng)
            assert [column for _, column in places] in expected
    one, two = (nb.NaiveBayes(nb.Bernoulli()).bind(X[:, :columns], y) for columns in (1, 2))
    assert agreement.agreement(one, encode(one, X[:, :1], y), rng) is None
    assert agreement.agreement(two, encode(two, X[:, :2], y), rng).labels == ["agreement"]


def test_adjusted_p_values_are_those_of_the_farthest_line_of_the_statistic(rng):
    """A loop over replicates, with a line that only some replicates define and one of equal numbers."""
    values = np.column_stack([rng.normal(size=41), rng.exponential(size=41), rng.normal(size=41), np.full(41, 0.3)])
    values[0, :2] = 3.0
    values[5:20, 2] = np.nan
    statistic = Statistic(["a", "b", "c", "d"], lambda rows: None, "look")
    lines = statistic.lines(values[0], values[1:])
    far = np.zeros(values.shape)
    for s, j in np.ndindex(values.shape):
        middle, of_line = np.nanmedian(values[:, j]), values[:, j]
        end = np.nanquantile(of_line, 0.975 if values[s, j] > middle else 0.025)
        far[s, j] = 0.0 if j == 3 else np.nan_to_num((values[s, j] - middle) / (end - middle))
    expected = [(far[1:].max(axis=1) >= far[0, j] * (1 - 1e-9)).mean() for j in range(4)]
    assert [line.p_adjusted for line in lines] == expected
    assert 0 < expected[1] < 1 == expected[3]
    found = check_of(lines, 40)
    assert found.by_extremity.index[0] == "a"
    assert found.extreme == tuple(line.label for line in lines if line.p_adjusted < 0.02)


@pytest.mark.slow
def test_more_classes_cause_no_more_extreme_lines():
    """Of these tables, 4 in 10 have a p-value below .01 or above .99."""
    extreme = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 3])
        y = rng.integers(0, 8, 400)
        X = rng.poisson(1 + 0.5 * y[:, None], (400, 6))
        extreme += bool(check(nb.fit(nb.Poisson(), X, y), X, y, num_replicates=150, key=seed).extreme)
    assert extreme <= 6  # binomial(40, .04) exceeds 6 with probability 1e-3


@pytest.mark.parametrize(("rows", "expected"), [(2, np.nan), (3, 1.0)])
def test_three_rows_have_a_correlation(rows, expected):
    z = np.repeat(np.array([[-1.0], [0.5], [2.0]])[:rows], 2, axis=1)
    assert _mean_correlation(z.T, np.array([[0, 1]])) == pytest.approx(expected, rel=1e-12, nan_ok=True)
