"""The families that the evidence chooses, those that the labels' leave-one-out score chooses, and what is refused."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import expon, lognorm, norm

import bayesnb as nb
from bayesnb.model import choose

ROWS = 120


@pytest.fixture(scope="module")
def table():
    """Columns of every kind, some cells missing, and labels."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, ROWS)
    frame = pd.DataFrame(
        {
            "size": rng.normal(5 + y, 1.0),
            "price": np.exp(rng.normal(y, 1.0)),
            "gain": np.where(rng.random(ROWS) < 0.6, 0.0, rng.gamma(2.0, 1.5 + y)),
            "visits": rng.poisson(2 + 2 * y),
            "flag": rng.integers(0, 2, ROWS),
            "colour": np.array(["red", "blue", "green"])[(rng.integers(0, 2, ROWS) + y)],
        }
    )
    frame.loc[::9, ["size", "gain"]] = np.nan
    return frame, np.array(["no", "yes"])[y]


def label_evidence(weight_of_class):
    """Log probability of labels under a Dirichlet(1) prior on the class probabilities."""
    n = np.asarray(weight_of_class, dtype=float)
    return gammaln(n + 1).sum() + gammaln(len(n)) - gammaln(n.sum() + len(n))


def family_of(name, mean=1.0):
    """The family that the text of a table's row names, that of a column of counts given the column's mean."""
    text = re.sub(r"[A-Z]\w+", r"nb.\g<0>", name)
    family = eval(re.sub(r"(nb\.[A-Za-z]+)(?![A-Za-z(])", r"\1()", text))
    if not isinstance(family, nb.Geometric | nb.NegativeBinomial):
        return family
    r = getattr(family, "total_count", 1.0)
    return replace(family, concentration1=3 + r / mean, concentration0=1 + 2 * mean / r)


class TestEvidence:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_of_each_candidate_is_that_of_a_model_of_the_column_alone(self, table, weighted):
        X, y = table
        weight = np.arange(ROWS) % 4 + 0.5 if weighted else np.ones(ROWS)
        found = nb.choose_families(X, y, sample_weight=weight if weighted else None).table
        of_labels = label_evidence([weight[y == label].sum() for label in ("no", "yes")])
        assert found.groupby("column", sort=False).size().tolist() == [4, 4, 6, 8, 1, 1]
        for row in found.itertuples():
            mean = np.average(X["visits"], weights=weight)
            model = nb.NaiveBayes({row.column: family_of(row.family, mean)})
            expected = nb.fit(model, X, y, sample_weight=weight).log_evidence - of_labels
            counted = ~X[row.column].isna().to_numpy()
            if row.column == "gain" and row.family.startswith("Hurdle"):
                resolution = np.diff(np.unique(X["gain"][counted])).min()
                expected -= weight[X["gain"] == 0].sum() * np.log(resolution)
            if row.family == "Exponential":
                # Only half of the numbers that are rounded to zero are positive.
                expected -= weight[X[row.column] == 0].sum() * np.log(2)
            # Densities are integrated over the resolution, which matters for whole numbers, and has a test of its own.
            density = any(name in row.family for name in ("Gaussian", "LogNormal", "Exponential"))
            if not (density and row.column == "visits"):
                assert row.log_evidence == pytest.approx(expected, rel=1e-3 if density else 1e-11), row
        best = found.groupby("column")["log_evidence"].transform("max")
        np.testing.assert_allclose(found["log_bayes_factor"], found["log_evidence"] - best)
        assert (found["chosen"] == (found["log_bayes_factor"] == 0)).all()

    def test_compares_alike_in_every_unit(self, table):
        X, y = table
        numbers = X[["size", "price", "gain"]]
        one, other = (nb.choose_families(numbers * unit, y).table for unit in (1.0, 1e-3))
        assert one["family"].tolist() == other["family"].tolist()
        np.testing.assert_allclose(one["log_bayes_factor"], other["log_bayes_factor"], atol=1e-6)

    @pytest.mark.parametrize(("kind", "rows"), [("normal", 25), ("normal", 60), ("rounded", 60), ("difference", 60)])
    def test_takes_few_normal_cells_for_normal(self, kind, rows):
        """The cells of the tree are taken from the column; differences of decimals have steps of rounding errors."""
        rng, y = np.random.default_rng(1), np.arange(rows) % 2
        X = 4 * rng.normal(size=(rows, 60)) + 8 * y[:, None]
        if kind != "normal":
            before = rng.normal(120, 10, X.shape).round(1)
            X = (before + X).round(1) - before if kind == "difference" else X.round(1)
        found = nb.choose_families(X, y).table
        assert (found["family"][found["chosen"]] == "Gaussian").mean() > 0.8

    @pytest.mark.parametrize(
        ("expected", "draw"),
        [
            ("NegativeBinomial(3)", lambda rng, y: rng.negative_binomial(3, 3 / (6 + 3 * y))),
            ("NegativeBinomial(0.3)", lambda rng, y: rng.negative_binomial(0.3, 0.3 / (2.3 + y))),
            ("Poisson", lambda rng, y: rng.poisson(20 + 5 * y)),
            ("Gaussian", lambda rng, y: np.rint(rng.normal(50, 10, len(y)))),
            ("Gaussian", lambda rng, y: np.rint(rng.normal(3.5 + y, 0.8))),
            ("Exponential", lambda rng, y: np.rint(rng.exponential(30, len(y)))),
            ("PolyaTree", lambda rng, y: np.where(rng.random(len(y)) < 0.1 + 0.1 * y, 1.0, 0.48)),
        ],
    )
    def test_compares_counts_with_densities_of_whole_numbers(self, expected, draw):
        """A density that is not integrated over a whole number's interval sums to more than one."""
        y = np.arange(1000) % 2
        X = np.column_stack([draw(np.random.default_rng(seed), y) for seed in range(8)]).astype(float)
        found = nb.choose_families(X, y).table
        assert (found["family"][found["chosen"]] == expected).sum() >= 7

    def test_integrates_a_density_over_the_numbers_that_are_rounded_to_a_cell(self):
        """Exponential waits in whole minutes, against the evidence by quadrature."""
        y = np.arange(80) % 2
        wait = np.rint(np.random.default_rng(4).exponential(8 + 4 * y))
        found = nb.choose_families(wait[:, None], y).table.set_index("family")["log_evidence"]["Exponential"]
        log_rate, expected = np.linspace(-6, 1, 20001), 0.0
        rate, mean = np.exp(log_rate), wait.mean()
        for cells in (wait[y == 0], wait[y == 1]):
            low, high = np.maximum(cells - 0.5, 0)[:, None], cells[:, None] + 0.5
            likelihood = np.log(np.exp(-rate * low) - np.exp(-rate * high)).sum(axis=0)
            expected += logsumexp(
                likelihood - rate * mean + np.log(mean) + log_rate + np.log(log_rate[1] - log_rate[0])
            )
        assert found == pytest.approx(expected, abs=0.05)

    def test_intervals_of_nearly_no_probability_gain_nothing(self, monkeypatch):
        """Classes in which the highest density of a step shows it are left out; the first column has both kinds."""
        rng, y = np.random.default_rng(0), np.arange(300) % 2
        X = pd.DataFrame({"narrow": np.where(y == 1, rng.normal(0, 1e-7, 300).round(9), rng.normal(0, 1e6, 300))})
        X["narrow"] += 1e-9
        X["positive"] = np.where(rng.random(300) < 0.2, 0.0, rng.exponential(1 + y))
        found = nb.choose_families(X, y).table
        assert {"Hurdle(LogNormal)", "Hurdle(Exponential)", "Hurdle(Gaussian)"} < set(found["family"])
        monkeypatch.setattr(choose, "LOG_PEAK", dict.fromkeys(choose.LOG_PEAK, lambda *_: np.inf))
        pd.testing.assert_frame_equal(found, nb.choose_families(X, y).table, check_exact=True)

    @pytest.mark.parametrize(
        ("family", "distribution"),
        [(nb.Gaussian, norm(3.0, 0.7)), (nb.LogNormal, lognorm(1.3, 0.0, 1.5)), (nb.Exponential, expon(0.0, 0.4))],
    )
    def test_the_highest_density_is_that_of_a_grid(self, family, distribution):
        highest = distribution.logpdf(np.linspace(0.0, 9.0, 90_001)).max()
        assert choose.LOG_PEAK[family](*distribution.args) == pytest.approx(highest, abs=1e-6)

    def test_keeps_whole_numbers_apart_from_measurements(self):
        y = np.arange(60) % 2
        X = pd.DataFrame({"few": np.arange(60) % 20, "many": np.arange(60) % 21, "below": np.arange(60) % 5 - 2})
        X["beyond"] = 2.0**55 + 16 * X["few"]
        found = nb.choose_families(X, y).table.groupby("column")["family"].agg(set)
        counts = {"Poisson", "Geometric", *(f"NegativeBinomial({r})" for r in ("0.3", "3", "10"))}
        every = {"Gaussian", "PolyaTree"}
        assert found["below"] == every | {"Hurdle(Gaussian)"}
        assert found["few"] == found["below"] | counts
        # No family of counts holds a number above 2**53.
        assert found["beyond"] == every
        inner = {"Gaussian", "LogNormal", "Exponential"}
        assert found["many"] == every | counts | {"Exponential"} | {f"Hurdle({name})" for name in inner}

    def test_compares_numbers_of_a_range_that_float64_does_not_count_in_steps(self):
        X = pd.DataFrame({"wide": np.exp(np.linspace(-460, 320, 60))})
        found = nb.choose_families(X, np.arange(60) % 2)
        assert found.table["family"].tolist()[0] == "LogNormal"
        bound = nb.fit(nb.NaiveBayes({"wide": nb.Histogram(num_bins=4)}), X, np.arange(60) % 2)
        width = np.diff(bound.families[0].edges)
        np.testing.assert_allclose(width, width[0], rtol=1e-12)
        assert len(width) == 4

    @pytest.mark.parametrize("weight", [np.arange(ROWS) % 4, np.full(ROWS, 2)], ids=["differ", "all two"])
    def test_takes_a_weight_for_as_many_rows(self, table, weight):
        X, y = table
        weighted = nb.choose_families(X, y, sample_weight=weight).table
        repeated = nb.choose_families(X.loc[np.repeat(np.arange(ROWS), weight)], np.repeat(y, weight)).table
        pd.testing.assert_frame_equal(weighted, repeated, rtol=1e-10)

    def test_one_zero_may_have_a_probability_of_its_own(self):
        X = pd.DataFrame({"one zero": np.append(np.linspace(0.1, 4, 29), 0.0), "none": np.linspace(0.1, 4, 30)})
        found = nb.choose_families(X, np.arange(30) % 2).table.groupby("column")["family"].agg(set)
        without = {"Gaussian", "LogNormal", "Exponential"}
        assert found["none"] == without | {"PolyaTree"}
        assert found["one zero"] == without - {"LogNormal"} | {"PolyaTree"} | {f"Hurdle({name})" for name in without}


class TestLabels:
    def test_scores_are_those_of_every_model_by_loo_scores(self, table):
        X, y = table
        X = X[["size", "gain", "flag"]]
        choice = nb.choose_families(X, y, exclude=["flag"], families={}, criterion="labels")
        given = nb.choose_families(X, y, families={"flag": nb.Bernoulli(2.0, 1.0)}, criterion="labels")
        names = choice.table.groupby("column", sort=False)["family"].agg(sorted)
        brute = {}
        for size, gain in product(names["size"], names["gain"]):
            model = nb.NaiveBayes({"size": family_of(size), "gain": family_of(gain)})
            brute[size, gain] = nb.loo_scores(nb.fit(model, X, y), X, y)["elpd_label"]
        chosen = choice.table[choice.table["chosen"]].set_index("column")["family"]
        reached = brute[chosen["size"], chosen["gain"]]
        for row in choice.table.itertuples():
            size, gain = (row.family if row.column == name else chosen[name] for name in ("size", "gain"))
            assert row.elpd_difference == pytest.approx(brute[size, gain] - reached, abs=1e-8), row
        # Nothing that changes one column is better.
        assert (choice.table["elpd_difference"] <= 1e-8).all()
        assert reached == pytest.approx(max(brute.values()), abs=1e-8)
        assert nb.fit(choice.model, X, y).model.used_columns == ["size", "gain"]
        assert list(given.model.features) == ["size", "gain", "flag"]

    def test_counts_a_given_family_and_weights(self, table):
        X, y = table
        X, weight = X[["size", "flag"]], np.arange(ROWS) % 2 + 0.5
        flag = nb.Bernoulli(3.0, 1.0)
        found = nb.choose_families(X, y, families={"flag": flag}, criterion="labels", sample_weight=weight).table
        scores = []
        for name in found["family"]:
            model = nb.NaiveBayes({"size": family_of(name), "flag": flag})
            fitted = nb.fit(model, X, y, sample_weight=weight)
            scores.append(nb.loo_scores(fitted, X, y, sample_weight=weight)["elpd_label"])
        np.testing.assert_allclose(found["elpd_difference"], np.array(scores) - max(scores), atol=1e-8)

    def test_goes_on_until_no_column_is_better_with_another_family(self):
        """Columns that repeat each other: the choice of the last ones changes what is best for the first one."""
        rng = np.random.default_rng(6)
        y = rng.integers(0, 2, 40)
        size = np.exp(rng.normal(y * 0.7, 1.0))
        X = pd.DataFrame({name: size * np.exp(rng.normal(0, 0.3, 40)) for name in "abc"})
        assert (nb.choose_families(X, y, criterion="labels").table["elpd_difference"] <= 1e-8).all()


class TestResult:
    @pytest.mark.parametrize(
        ("criterion", "measure"), [("evidence", "log_bayes_factor"), ("labels", "elpd_difference")]
    )
    def test_shows_the_family_chosen_beside_the_next(self, table, criterion, measure):
        X, y = table
        choice = nb.choose_families(X, y, criterion=criterion)
        lines = repr(choice).splitlines()
        assert measure in lines[1]
        assert f"{measure}: " in lines[8]
        for line, (column, families) in zip(lines[2:8], choice.first_two.items(), strict=True):
            names = [families[0][0].name]
            if len(families) > 1:
                others = choice.table.query("column == @column and not chosen")
                names.append(others.loc[others[measure].idxmax(), "family"])
            assert line.split()[: len(names) + 1] == [column, *names]

    @pytest.mark.parametrize("name", [None, np.nan, 0, ("size", "cm")], ids=str)
    def test_takes_any_name_of_a_column(self, table, name):
        X, y = table
        named = X[["size"]]
        expected = nb.choose_families(named, y)
        named = named.set_axis(pd.Index([name], dtype=object, tupleize_cols=isinstance(name, tuple)), axis=1)
        found = nb.choose_families(named, y)
        assert list(found.first_two) == list(named.columns)
        assert found.first_two[name] == expected.first_two["size"]
        assert repr(found).splitlines()[2].split()[-1] == repr(expected).splitlines()[2].split()[-1]
        assert len(found.plot().axes) == 2

    def test_has_the_cells_that_count_for_each_class(self):
        X, y = pd.DataFrame({"flag": [0, 1] * 4, "size": [1.0, np.nan, 3, 4, 5, 6, 7, 8]}), list("aaaabbbb")
        choice = nb.choose_families(X, y, sample_weight=[1, 1, 2, 0, 1, 0.5, 0, 1])
        for axis in choice.plot(features=["size"]).axes:
            for bars, cells, weights in zip(axis.patches, ([1, 3], [5, 6, 8]), ([1, 2], [1, 0.5, 1]), strict=True):
                expected, edges = np.histogram(cells, np.unique(bars.get_xy()[:, 0]), weights=weights)
                heights = np.interp((edges[:-1] + edges[1:]) / 2, *bars.get_xy()[1 : 2 * len(edges) - 1].T)
                np.testing.assert_allclose(heights * np.diff(edges), expected / np.sum(weights), atol=1e-12)


class TestFromFrame:
    def test_takes_the_families_of_the_highest_evidence(self, table):
        X, y = table
        given = {"price": nb.Gaussian()}
        choice = nb.choose_families(X, y, exclude=["colour"], families=given)
        model = nb.NaiveBayes.from_frame(X.assign(y=y), "y", exclude=["colour"], families=given, class_probs=[0.5, 0.5])
        assert {name: family for name, (family, _) in model.features.items()} == {
            name: family for name, (family, _) in choice.model.features.items()
        }
        assert model.features["price"][0] == nb.Gaussian()
        assert model.class_probs.tolist() == [0.5, 0.5]

    def test_compares_two_families(self):
        """Whole numbers, some below zero."""
        y, third = np.arange(60) % 2, np.arange(60) // 2 % 3
        steps = np.resize(np.r_[np.arange(-9, 0), np.arange(1, 10)], 60)
        X = pd.DataFrame({"few zeros": third - 1, "zeros": np.where(third == 0, steps, 0)})
        found = nb.choose_families(X, y)
        assert found.table.groupby("column")["family"].agg(len).tolist() == [3, 3]
        assert [type(family) for family, _ in found.model.features.values()] == [nb.PolyaTree, nb.PolyaTree]
        assert nb.NaiveBayes.from_frame(X, y) == found.model

    def test_leaves_out_rows_without_a_label(self, table):
        X, y = table
        known = np.arange(ROWS) < 80
        labels = [label if row else None for label, row in zip(y, known, strict=True)]
        expected = nb.NaiveBayes.from_frame(X[known], y[known])
        assert nb.NaiveBayes.from_frame(X, labels) == expected

    def test_holds_the_cells_of_rows_without_a_label_or_weight(self, table):
        X, y = table
        X = X[["price"]].assign(price=lambda frame: frame["price"].where(frame.index > 0, -1.0))
        weight = np.where(np.arange(ROWS) > 0, 1.0, 0.0)
        model = nb.NaiveBayes.from_frame(X, y, sample_weight=weight)
        assert nb.fit(model, X, y, sample_weight=weight).predict(X).shape == (ROWS,)

    def test_gives_a_column_without_cells_the_family_of_its_type(self, table):
        X, y = table
        assert nb.NaiveBayes.from_frame(X.assign(size=np.nan), y).features["size"][0] == nb.Gaussian()
