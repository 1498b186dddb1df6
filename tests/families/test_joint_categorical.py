"""Joint columns of categories beside one column of pasted labels, sums by brute force and formulas written out."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesnb as nb
from bayesnb.data.read import as_table
from bayesnb.families.distributions import CombinationOfCategories
from bayesnb.families.draw import draw
from bayesnb.families.formulas import log_prob
from bayesnb.families.joint_categorical import Combinations

CATEGORIES = {"a": list("xyz"), "b": list("pqrs")}
PAIRS = [" & ".join(pair) for pair in itertools.product(*CATEGORIES.values())]
EVERY_PAIR = pd.DataFrame(itertools.product(*CATEGORIES.values()), columns=["a", "b"])


def joint(concentration=0.7, **options):
    return nb.NaiveBayes({"ab": (nb.JointCategorical(concentration, **options), ["a", "b"])})


def dense(concentration=0.7):
    return nb.NaiveBayes({"ab": nb.Categorical(concentration, categories=PAIRS)})


def pasted(X):
    return pd.DataFrame({"ab": X["a"] + " & " + X["b"]})


def table(rng, rows=40):
    """Two columns that depend on each other in both classes, in which three pairs of twelve never occur."""
    y = rng.integers(0, 2, rows)
    first = rng.integers(0, 3, rows)
    second = (first + rng.integers(0, 2, rows) + y) % 4
    X = pd.DataFrame({"a": np.array(CATEGORIES["a"])[first], "b": np.array(CATEGORIES["b"])[second]})
    return X, y


class TestBesidePastedLabels:
    """The dense model of all pairs gives the same numbers."""

    def test_mutual_information_is_that_of_the_block(self, rng):
        X, y = table(rng)
        one, two = nb.fit(joint(), X, y), nb.fit(dense(), pasted(X), y)
        columns = ["estimate", "lower", "upper", "p_value", "inclusion_probability", "at_posterior_mean"]
        found = nb.mutual_information(one, num_draws=5)
        pd.testing.assert_frame_equal(found[columns], nb.mutual_information(two, num_draws=5)[columns], rtol=1e-9)
        assert found["mean"].between(0, np.log(2)).all()

    def test_sensitivity(self, rng):
        X, y = table(rng)
        one = nb.sensitivity(nb.fit(joint(1.3), X, y)).table
        two = nb.sensitivity(nb.fit(dense(1.3), pasted(X), y)).table
        shared = [name for name in one.index if name in two.index]
        assert len(shared) == 2 + 2 * pasted(X)["ab"].nunique()
        numbers = one.select_dtypes("number").columns
        np.testing.assert_allclose(one.loc[shared, numbers], two.loc[shared, numbers], rtol=1e-6, atol=1e-9)


def test_one_column_alone_is_categorical(rng):
    X, y = table(rng)
    for concentration in (None, 0.4):
        one = nb.fit(nb.NaiveBayes({"b": (nb.JointCategorical(concentration), ["b"])}), X, y)
        two = nb.fit(nb.NaiveBayes({"b": nb.Categorical(concentration or 1.0)}), X, y)
        assert one.log_evidence == pytest.approx(two.log_evidence, rel=1e-12)
        new = pd.DataFrame({"b": [*"pqrs", None]})
        np.testing.assert_allclose(one.log_joint(new), two.log_joint(new), rtol=1e-12)
        assert nb.loo(one, X, y).elpd == pytest.approx(nb.loo(two, X, y).elpd, rel=1e-12)


class TestMissingCells:
    """At a prediction they are summed out."""

    GAPS = ((None, "q"), ("x", None), (None, None), ("z", "p"), ("y", None), (None, "s"))

    @staticmethod
    def by_brute_force(posterior):
        """Sums of the joint density over all complete rows that agree."""
        full = np.exp(posterior.log_joint(EVERY_PAIR))
        agree = [
            np.logical_and.reduce(
                [EVERY_PAIR[name] == cell for name, cell in zip("ab", row, strict=True) if cell is not None]
                or [np.ones(12, dtype=bool)]
            )
            for row in TestMissingCells.GAPS
        ]
        return np.stack([full[np.asarray(rows)].sum(axis=0) for rows in agree])

    def test_predictions_are_sums_over_what_agrees(self, rng):
        X, y = table(rng)
        rows = pd.DataFrame(self.GAPS, columns=["a", "b"])
        for posterior in (nb.fit(joint(), X, y), nb.fit(joint(), X, y).plugin(), nb.fit(joint(), X, y, nb.MLE())):
            np.testing.assert_allclose(
                np.exp(posterior.log_joint(rows)), self.by_brute_force(posterior), rtol=1e-12, atol=1e-15
            )
        exact = nb.fit(joint(), X, y)
        np.testing.assert_allclose(exact.log_joint(rows)[2], np.log(exact.class_probs()), rtol=1e-14)

    def test_draws_and_the_function_in_jax_sum_in_the_same_way(self, rng):
        X, y = table(rng)
        posterior = nb.fit(joint(), X, y)
        rows = pd.DataFrame(self.GAPS, columns=["a", "b"])
        codes = np.array([[np.nan, 1], [0, np.nan], [np.nan, np.nan], [2, 0], [1, np.nan], [np.nan, 3]])
        with jax.enable_x64(True):
            for each in (posterior, posterior.plugin(), posterior.averaged(0.4)):
                found = each.log_joint_function()(jnp.asarray(codes))
                np.testing.assert_allclose(found, each.log_joint(rows), rtol=1e-12)
            strange = posterior.log_joint_function()(jnp.array([[3.0, 0.0], [0.0, 3.0], [0.5, 1.0]] * 2))
        assert np.isnan(strange).any(axis=1).tolist() == [True, False, True] * 2
        draws = posterior.belief.draw(1, 3, 0)
        model = posterior.model
        ((_, cells),) = model.read(as_table(rows)).encoded()
        together = model.log_joint(draws, cells)
        (family,) = model.families
        of_rows = family.densities_of_rows({"prob": draws.blocks[0]["prob"][0]}, cells[0])
        np.testing.assert_allclose(
            together[0],
            np.log(draws.class_prob[0])[:, None] + np.concatenate([of_rows(slice(0, 2)), of_rows(slice(2, 6))], 1),
        )

    def test_other_takes_values_that_are_not_listed(self, rng):
        X, y = table(rng)
        listed = {"a": list("xyz"), "b": list("pq")}
        posterior = nb.fit(joint(categories=listed, other=True), X, y)
        replaced = X.assign(b=X["b"].where(X["b"].isin(listed["b"]), "else"))
        expected = nb.fit(joint(categories={"a": [*"xyz", "never"], "b": [*"pq", "else"]}), replaced, y)
        new = pd.DataFrame({"a": ["x", "x"], "b": ["r", "p"]})
        np.testing.assert_allclose(
            posterior.log_joint(new), expected.log_joint(new.assign(b=["else", "p"])), rtol=1e-12
        )


class TestHeldCombinations:
    """Statistics and parameters are as large as the combinations that occur."""

    def test_sizes_follow_the_rows_and_not_the_product(self, rng):
        X = pd.DataFrame({"a": rng.permutation(900), "b": rng.permutation(900), "c": [0] * 900})
        model = nb.NaiveBayes({"abc": (nb.JointCategorical(), ["a", "b", "c"])})
        posterior = nb.fit(model, X, ["u", "v"] * 450)
        (counted,) = posterior.problem.statistics.blocks
        assert max(np.size(leaf) for leaf in jax.tree.leaves(counted)) == 1024
        assert posterior.mean()["abc_prob"].shape == (2, 901)
        assert posterior.mean()["abc_prob"][:, -1] == pytest.approx(np.full(2, 900 / 1350 * (1 - 900 / 810_000)))
        unseen = pd.DataFrame({"a": X["a"], "b": np.roll(X["b"], 1), "c": 0})
        np.testing.assert_allclose(np.exp(posterior.log_joint(unseen)), 0.5 / 900 / 1350, rtol=1e-12)

    def test_more_than_a_million_are_refused_with_their_number(self):
        X, y = pd.DataFrame({"a": np.arange(1001), "b": np.arange(1001) % 1000}), np.arange(1001) % 2
        model = nb.NaiveBayes({"ab": (nb.JointCategorical(), ["a", "b"])})
        told = r"columns \['a', 'b'\] has 1,001 x 1,000 = 1,001,000 combinations of categories, more than 1,000,000"
        with pytest.raises(ValueError, match=told):
            model.bind(X, y)
        most = nb.fit(model, X[:1000], y[:1000])
        assert most.predict_proba(X[:1]).shape == (1, 2)
        with pytest.raises(ValueError, match=told):
            most.update(X[1000:], y[1000:])

    def test_an_update_brings_combinations_and_categories(self, rng):
        X, y = table(rng)
        more = pd.DataFrame({"a": ["w", "x", "x"], "b": ["s", "s", "a"]})
        for concentration in (None, 0.7):
            first = nb.fit(joint(concentration), X, y)
            updated = first.update(more, [0, 1, 1])
            whole = nb.fit(joint(concentration), pd.concat([X, more]), [*y, 0, 1, 1])
            assert updated.log_evidence == pytest.approx(whole.log_evidence, rel=1e-12)
            new = pd.concat([EVERY_PAIR, more, pd.DataFrame({"a": ["w"], "b": [None]})])
            np.testing.assert_allclose(updated.log_joint(new), whole.log_joint(new), rtol=1e-12)
            # The categories stay when their rows are forgotten.
            left = nb.fit(joint(concentration, categories={"a": [*"xyzw"], "b": [*"apqrs"]}), X, y)
            found = updated.forget(more, [0, 1, 1])
            np.testing.assert_allclose(found.log_joint(EVERY_PAIR), left.log_joint(EVERY_PAIR), rtol=1e-12)

    def test_the_model_of_a_fit_is_fitted_to_other_rows(self, rng):
        X, y = table(rng)
        first = nb.fit(joint(categories=CATEGORIES), X[:3], y[:3], classes=[0, 1])
        again = nb.fit(first.model, X, y)
        np.testing.assert_allclose(
            again.log_joint(EVERY_PAIR), nb.fit(dense(), pasted(X), y).log_joint(pasted(EVERY_PAIR)), rtol=1e-12
        )

    @pytest.mark.usefixtures("float64")
    def test_combinations_that_are_not_held_share_their_probability_evenly(self, rng):
        """A family that holds some of the combinations is a model of its own, whatever the rows show."""
        family = nb.JointCategorical(np.array([[0.4], [1.5]]), sizes=(2, 3, 2), held=(1, 4, 5, 9))
        x = np.stack(np.unravel_index(rng.integers(0, 12, 30), (2, 3, 2)), axis=-1).astype(float)
        weight = np.eye(2)[rng.integers(0, 2, 30)] * rng.uniform(0.2, 2.0, (30, 1))
        counted = family.statistics(x, weight)
        posterior = family.update(counted)
        each = [posterior.log_evidence(family.statistics(row[None], np.ones((1, 2))))[:, 0] for row in x]
        np.testing.assert_allclose(posterior.row_log_predictive(x), each, rtol=1e-12)
        prob = rng.dirichlet(np.ones(5), 2)
        by_rows = (family.row_log_likelihood({"prob": prob}, x) * weight).sum(axis=0)
        np.testing.assert_allclose(family.log_likelihood({"prob": prob}, counted)[:, 0], by_rows, rtol=1e-12)
        every = np.stack(np.unravel_index(np.arange(12), (2, 3, 2)), axis=-1).astype(float)
        np.testing.assert_allclose(np.exp(family.row_log_likelihood({"prob": prob}, every)).sum(axis=0), 1.0)
        without = family.row_log_left_out(x, weight.argmax(axis=1), weight.max(axis=1), counted, refitted=False)
        for i in range(30):
            rest = family.update(family.statistics(np.delete(x, i, 0), np.delete(weight, i, 0)))
            assert without[i] == pytest.approx(rest.row_log_predictive(x[[i]])[0, weight[i].argmax()], rel=1e-11)
        prior = nb.JointCategorical(np.ones((2, 1)), sizes=(2, 3, 2), held=(1, 4))
        flat = prior.maximum_a_posteriori(prior.statistics(x, np.zeros((30, 2))))["prob"]
        np.testing.assert_allclose(flat, np.tile([1 / 12, 1 / 12, 10 / 12], (2, 1)))

    def test_results_name_them(self):
        X = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
        posterior = nb.fit(joint(), X, ["u", "v"])
        assert list(posterior.summary().index[2:]) == [
            f"ab_prob[{c}, {name}]" for c in "uv" for name in ("x & 1", "y & 2", "<unseen>")
        ]
        assert posterior.to_datatree(num_draws=2)["posterior"]["ab_prob"].dims[2:] == ("class", "ab_combination")
        assert "ab[a, b] ~ JointCategorical(prob)" in repr(posterior)
        unclear = Combinations((0, 3), (2, 2)).labels([["a", "a & b"], ["b & c", "c"]])
        assert unclear == ("('a', 'b & c')", "('a & b', 'c')", "<unseen>")
        assert Combinations(tuple(range(4)), (2, 2)).labels([[1, 2], [3, 4]]) == ("1 & 3", "1 & 4", "2 & 3", "2 & 4")


class TestConcentration:
    """One number for each combination; by default all weigh as much as a column."""

    @pytest.mark.parametrize(
        ("sizes", "each"),
        [((3, 4), 12**-0.5), ((20, 20), 0.05), ((20, 20, 1), 0.05), ((10, 10, 10), 0.01), ((7,), 1.0)],
    )
    def test_the_default_weighs_as_much_as_a_column(self, sizes, each):
        X = [[0] * len(sizes)] * 3
        listed = {j: range(size) for j, size in enumerate(sizes)}
        default, given = (
            nb.fit(nb.NaiveBayes({"all": (nb.JointCategorical(number, listed), [*listed])}), X, ["u", "u", "v"])
            for number in (None, each)
        )
        assert default.log_evidence == pytest.approx(given.log_evidence, rel=1e-12)

    def test_classes_may_differ(self, rng):
        X, y = table(rng)
        found = nb.fit(joint([[0.3], [2.0]]), X, y).log_joint(EVERY_PAIR)
        each = [nb.fit(joint(concentration), X, y).log_joint(EVERY_PAIR) for concentration in (0.3, 2.0)]
        np.testing.assert_allclose(found, np.column_stack([each[0][:, 0], each[1][:, 1]]), rtol=1e-12)

    @pytest.mark.parametrize("wrong", [[0.3, 2.0], np.ones((2, 12)), np.ones((3, 1))])
    def test_other_shapes_are_refused(self, rng, wrong):
        X, y = table(rng)
        with pytest.raises(ValueError, match=r"columns \['a', 'b'\] has shape .* one for each class, shape \(2, 1\)"):
            nb.fit(joint(wrong), X, y)

    def test_map_needs_one_of_at_least_one(self, rng):
        X, y = table(rng)
        with pytest.raises(
            ValueError, match=r"block 'ab' of the columns .* in class 0: the mode estimate of 'prob' does not exist"
        ):
            nb.fit(joint(0.9), X, y, nb.MAP())


def test_parameters_need_the_categories():
    with pytest.raises(ValueError, match=r"column 'a': the categories of a joint block .* nb.JointCategorical"):
        nb.from_parameters(joint(), classes=[0], class_probs=[1.0], parameters={"ab": {"prob": [[1.0]]}})


class TestDraws:
    """Tables that a posterior and a prior give."""

    def test_rows_follow_the_probabilities_and_share_the_rest_evenly(self):
        combinations = Combinations((1, 4, 5), (2, 4))
        prob = np.array([0.3, 0.2, 0.1, 0.4])
        distribution = CombinationOfCategories(np.broadcast_to(prob, (20_000, 4)), combinations)
        expected = np.full(8, 0.4 / 5)
        expected[[1, 4, 5]] = prob[:3]
        for rows in (
            np.asarray(jax.jit(distribution.sample)(jax.random.key(0))),
            draw(distribution, np.random.default_rng(1)),
        ):
            codes = combinations.codes(rows).astype(int)
            assert stats.chisquare(np.bincount(codes, minlength=8), 20_000 * expected).pvalue > 1e-4
        every = np.stack(np.unravel_index(np.arange(8), (2, 4)), axis=-1)
        found = np.exp(log_prob(CombinationOfCategories(prob, combinations), every))
        np.testing.assert_allclose(found, expected, rtol=1e-5)

    def test_the_only_combination_that_is_not_held_is_drawn(self):
        distribution = CombinationOfCategories(np.tile([0.0, 0.0, 0.0, 1.0], (50, 1)), Combinations((0, 1, 2), (2, 2)))
        assert draw(distribution, np.random.default_rng(2)).tolist() == [[1, 1]] * 50

    @pytest.mark.usefixtures("float64")
    def test_a_density_of_the_observed_cells_sums_over_the_others(self):
        """Several vectors of probabilities against several rows, each with its own missing cells."""
        combinations = Combinations((1, 4, 5), (2, 4))
        prob = np.array([[0.3, 0.2, 0.1, 0.4], [0.25, 0.25, 0.2, 0.3]])
        cube = np.repeat(prob[:, 3:] / 5, 8, axis=1)
        cube[:, [1, 4, 5]] = prob[:, :3]
        cube = cube.reshape(2, 2, 4)
        rows = np.array([[0, 1], [1, 3], [1, 0]])
        observed = np.array([[True, True], [False, True], [True, False]])
        distribution = CombinationOfCategories(prob[None], combinations, observed[:, None])
        found = log_prob(distribution, rows[:, None])
        expected = [cube[:, 0, 1], cube[:, :, 3].sum(axis=1), cube[:, 1].sum(axis=1)]
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-10)


def test_scores_of_columns_are_those_of_their_block(rng):
    X, y = table(rng)
    codes = np.column_stack([X["a"].map("xyz".index), X["b"].map("pqrs".index), rng.normal(size=40)])
    model = nb.NaiveBayes({"ab": (nb.JointCategorical(), [0, 1]), 2: nb.Gaussian()})
    information = nb.mutual_information(nb.fit(model, codes, y), num_draws=3)["estimate"]
    assert list(information.index) == ["ab", 2]
    scores = nb.estimators.mutual_information_score(codes, y, model=model)
    np.testing.assert_allclose(scores, information.loc[["ab", "ab", 2]])


class TestCounts:
    """Statistics of combinations."""

    def test_they_are_counts_by_class(self, rng):
        codes, weight = rng.integers(0, 50, 30), rng.uniform(size=(30, 2)) * (rng.uniform(size=(30, 2)) < 0.6)
        count = nb.JointCategorical(sizes=(50,)).statistics
        counted = count(codes[:, None], weight)
        found = np.zeros((2, 50))
        np.add.at(found, (counted.values.place, counted.values.number.astype(int)), counted.values.weight)
        np.testing.assert_allclose(found, np.stack([np.bincount(codes, own, minlength=50) for own in weight.T]))
        assert counted.combinations.tolist() == sorted(set(codes[weight.any(axis=1)]))
        both = count(codes[:, None], np.hstack([weight, 2 * weight]))
        assert both.same_rows(type(counted).joined([counted, counted * 2.0]))
        assert not both.same_rows(type(counted).joined([counted, counted]))
        assert (counted - counted).without_rounding(counted).combinations.size == 0

    def test_codes_move_with_the_categories(self):
        family = nb.JointCategorical(sizes=(3, 3))
        counted = nb.JointCategorical(sizes=(9,)).statistics(np.array([[0], [3], [5]]), np.eye(2)[[0, 1, 0]])
        moved = counted.recoded([np.array([2, 0]), np.array([0, 2, 1])], family.sizes)
        # (0, 0), (1, 0) and (1, 2) become (2, 0), (0, 0) and (0, 1).
        assert moved.combinations.tolist() == [0, 1, 6]
