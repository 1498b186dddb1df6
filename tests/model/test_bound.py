"""The model of a table: bound twice, fitted to other data, and given to everything that takes a model."""

import copy
import dataclasses
import pickle
import warnings
from itertools import combinations

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
from sklearn.base import clone

import bayesnb as nb
from bayesnb.core.arrays import coordinate
from bayesnb.estimators import NaiveBayesClassifier
from bayesnb.inference.fit import read_table

FIRST = pd.DataFrame(
    {
        "colour": ["red", "blue", "green", "red", "blue", "red"],
        "size": [1.0, 2.5, 2.0, 4.0, 3.0, 5.5],
        "island": ["x", "y", "x", "x", "y", "y"],
        "mass": [0.5, 0.1, -0.3, 1.0, 2.0, 0.4],
        "eggs": [0, 2, 1, 3, 0, 6],
    }
)
LABELS = ["a", "b", "a", "b", "a", "b"]
SECOND = pd.DataFrame(
    {
        "colour": ["blue", "blue", "red", "red"],
        "size": [9.0, 7.5, 8.0, 6.0],
        "island": ["y", "y", "x", "y"],
        "mass": [1.5, 1.1, 0.3, 0.0],
        "eggs": [7, 5, 9, 8],
    }
)
MORE = ["b", "a", "b", "a"]


def described():
    """Defaults beside numbers, and categories of two sizes: numbers alone would be laid out in other blocks."""
    features = {
        "colour": nb.Categorical(2.0),
        "size": nb.Gaussian(),
        "island": nb.Categorical(),
        "mass": nb.Gaussian(0.0, 1.0, 2.0, 3.0),
        "eggs": nb.Poisson(),
    }
    return nb.NaiveBayes(features, class_concentration=[1.0, 2.0])


def with_numbers():
    """The description with the numbers that its defaults take from the first table."""
    size, eggs = FIRST["size"].to_numpy(), FIRST["eggs"].to_numpy()
    changes = {
        "colour": nb.Categorical(2.0, categories=["blue", "green", "red"]),
        "island": nb.Categorical(categories=["x", "y"]),
        "size": nb.Gaussian(size.mean(), 0.1, 1.0, 0.1 * size.var()),
        "eggs": nb.Poisson(1.0, 1 / eggs.mean()),
    }
    return dataclasses.replace(described(), features=described().features | changes)


@pytest.fixture(scope="module")
def fitted():
    return nb.fit(described(), FIRST, LABELS)


def in_memory(model, X, y):
    return nb.fit(model, X, y)


def in_batches(model, X, y):
    return nb.fit_batches(model, [(X[:1], y[:1]), (X[1:], y[1:])])


def assert_same(one, other, X=FIRST):
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)
    np.testing.assert_allclose(one.log_joint(X), other.log_joint(X), rtol=1e-12)


class TestDescription:
    def test_a_fit_leaves_the_description_as_it_was(self):
        model = described()
        before = pickle.dumps([getattr(model, field.name) for field in dataclasses.fields(model)])
        nb.fit(model, FIRST, LABELS).model.simulate(3)
        assert pickle.dumps([getattr(model, field.name) for field in dataclasses.fields(model)]) == before

    def test_replace_checks_what_it_is_given(self):
        model = nb.NaiveBayes(nb.Bernoulli())
        assert dataclasses.replace(model, class_probs=[0.3, 0.7]).features == model.features
        with pytest.raises(ValueError, match="class_probs sum to"):
            dataclasses.replace(model, class_probs=[0.3, 0.8])
        for concentration in (2.0, [1.0, 2.0]):
            with pytest.raises(ValueError, match="are both given"):
                dataclasses.replace(model, class_probs=[0.3, 0.7], class_concentration=concentration)

    @pytest.mark.parametrize("name", ["blocks", "class_prior", "families", "schema", "simulate", "sites", "statistics"])
    def test_what_needs_a_table_names_the_way_out(self, name):
        with pytest.raises(ValueError, match=r"does not know its columns.*bind it to a table with model\.bind\(X, y\)"):
            getattr(described(), name)

    def test_equality_and_copies(self):
        one = nb.NaiveBayes({"a": nb.Bernoulli()}, class_concentration=2.0)
        assert one == nb.NaiveBayes({"a": nb.Bernoulli()}, class_concentration=2.0)
        assert one != nb.NaiveBayes({"a": nb.Bernoulli(2.0)}, class_concentration=2.0)
        bound = one.bind(pd.DataFrame({"a": [0, 1]}), [0, 1])
        assert bound.description == one
        for again in (copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))):
            assert again(one) == one
            assert again(bound) == bound
            assert again(bound).schema.columns == ("a",)


SCALED = {
    "plain": {},
    "frequencies": {"class_probs": "empirical"},
    "learned": {"class_concentration": dist.Gamma(1, 1)},
}


class TestNumbersOfBind:
    """`bind` shows the numbers of its table; a fit takes those of its own rows, as if nothing had been bound."""

    X = pd.DataFrame({"a": [1.5, 2.5, 7.0, 8.5, 3.0, 2.0], "n": [3, 1, 0, 2, 4, 4], "c": [*"xyxyxx"]})
    y = tuple("uuvvuv")

    def model(self, name="plain"):
        features = {"a": nb.Gaussian(), "n": nb.Poisson(), "c": nb.Categorical()}
        return nb.NaiveBayes(features, **SCALED[name])

    @pytest.mark.parametrize("name", SCALED)
    def test_are_those_of_a_fit(self, name):
        model = self.model(name)
        bound = model.bind(self.X, self.y)
        problem = read_table(model, self.X, self.y)
        frequencies = "class_prob ~ the frequencies of the data, known"
        shown = repr(bound).replace(frequencies, repr(problem.resolved).splitlines()[1].strip())
        assert (frequencies in repr(bound)) == (name == "frequencies")
        assert shown == repr(problem.resolved)
        assert "on the data's scale" not in repr(bound)
        for field in ("loc", "rate"):
            found, expected = (getattr(each.features["a"][0], field) for each in (bound, problem.resolved))
            np.testing.assert_array_equal(found, expected)
        if name != "frequencies":
            assert bound.simulate(3)[0].shape == (3, 3)
        assert bound.description == model
        assert bound == model.bind(self.X[::-1], self.y[::-1])
        assert repr(pickle.loads(pickle.dumps(bound))) == repr(bound)

    def test_do_not_need_labels(self):
        whole = repr(self.model().bind(self.X, self.y))
        assert repr(self.model().bind(self.X, classes=["u", "v"])) == whole
        assert repr(self.model().bind(self.X, ["u", "v", None, None, "u", "v"])) == whole

    @pytest.mark.parametrize("name", ["plain", "frequencies"])
    def test_are_not_those_of_a_fit_to_other_rows(self, name):
        model, X, y = self.model(name), self.X[:4], self.y[:4]
        bound = model.bind(self.X, self.y)
        fits = {
            "fit": nb.fit(bound, X, y),
            "again": nb.fit(bound.bind(self.X, self.y), X, y),
            "batches": nb.fit_batches(bound, [(X[:2], y[:2]), (X[2:], y[2:])]),
            "classifier": NaiveBayesClassifier(bound, feature_weights=None).fit(X, y).posterior_,
            "classes": nb.fit(bound.with_classes(["u", "v"]), X, y),
        }
        expected = nb.fit(model, X, y)
        for found in fits.values():
            assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-12)
            assert found.problem.prior_saw == expected.problem.prior_saw
        assert nb.loo(fits["fit"], X, y).elpd == nb.loo(expected, X, y).elpd

    def test_are_given_to_simulations(self):
        with pytest.raises(ValueError, match='"empirical" follows the data'):
            nb.sbc(self.model("frequencies").bind(self.X, self.y))
        bound, tables = self.model().bind(self.X, self.y), ((None, None), (self.X, self.y))
        found, expected = (nb.sbc(bound, num_simulations=20, num_rows=6, X=X, y=y) for X, y in tables)
        pd.testing.assert_frame_equal(found.table, expected.table)


class TestBindTwice:
    def test_the_second_table_counts(self):
        bound = described().bind(FIRST, LABELS)
        again, once = bound.bind(SECOND, MORE), described().bind(SECOND, MORE)
        assert again.schema.categories == once.schema.categories == {0: ("blue", "red"), 2: ("x", "y")}
        assert [tuple(block.columns) for block in again.blocks] == [tuple(block.columns) for block in once.blocks]
        assert_same(nb.fit(again, SECOND, MORE), nb.fit(once, SECOND, MORE), SECOND)
        assert bound.schema.categories[0] == ("blue", "green", "red")

    def test_numbers_stay_if_they_fit_the_second_table(self, fitted):
        grown = pd.concat([FIRST, SECOND], ignore_index=True)
        rebound = fitted.model.bind(grown, LABELS + MORE)
        assert_same(nb.fit(rebound, SECOND, MORE), nb.fit(with_numbers(), SECOND, MORE, classes=["a", "b"]))

    @pytest.mark.parametrize(
        ("X", "y", "words"),
        [
            (SECOND, MORE, r"concentration.*'colour' has 2 categories"),
            (FIRST, [*LABELS[:5], "c"], "shape"),
            (FIRST.drop(columns="island"), LABELS, "'island' is not in X"),
        ],
    )
    def test_numbers_for_other_categories_classes_or_columns_are_refused(self, fitted, X, y, words):
        with pytest.raises(ValueError, match=words):
            fitted.model.bind(X, y)


class TestFittedAgain:
    @pytest.mark.parametrize("source", [in_memory, in_batches])
    def test_to_other_data(self, fitted, source):
        """A new label is an error, a new category a missing cell."""
        expected = nb.fit(with_numbers(), SECOND, MORE, classes=["a", "b"])
        again = source(fitted.model, SECOND, MORE)
        assert_same(again, expected)
        assert repr(again.model) == repr(fitted.model)
        # Fitted once more, from a model whose numbers are all given.
        assert_same(source(again.model, SECOND, MORE), expected)
        with pytest.raises(ValueError, match="'z'"):
            source(fitted.model, SECOND, ["b", "a", "z", "a"])
        with pytest.warns(UserWarning, match=r"colour.*violet"):
            found = source(fitted.model, SECOND.assign(colour=["blue", "violet", "red", "red"]), MORE)
        missing = SECOND.assign(colour=["blue", None, "red", "red"])
        assert_same(found, nb.fit(with_numbers(), missing, MORE, classes=["a", "b"]))

    def test_to_a_point(self, fitted):
        X, y = pd.concat([FIRST, SECOND]), LABELS + MORE
        found, expected = (nb.fit(model, X, y, nb.MAP()).mean() for model in (fitted.model, with_numbers()))
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-12)

    def test_learned_hyperparameters(self):
        features = described().features | {"island": nb.Categorical(dist.Gamma(2.0, 1.0))}
        bound = nb.NaiveBayes(features, class_probs="empirical").bind(FIRST, [*"aaaabb"])
        resolved = bound.resolve(bound.statistics(FIRST, [*"aaaabb"]))
        np.testing.assert_allclose(resolved.learned.numbers.classes.probs, [2 / 3, 1 / 3])
        expected = nb.fit(nb.NaiveBayes(features | {"island": nb.Categorical(3.0)}), FIRST, LABELS)
        bound = nb.NaiveBayes(features).bind(FIRST, LABELS)
        resolved = bound.resolve(bound.statistics(FIRST, LABELS))
        for model in (resolved, bound):
            found = model.with_hyperparameters({"island_concentration": 3.0})
            assert_same(nb.fit(found, FIRST, LABELS), expected)
            # Its statistics are those of the blocks before.
            assert found.layout == model.layout == bound.layout


class TestClasses:
    def test_another_order_keeps_a_prior_that_is_the_same_for_all(self):
        bound = nb.NaiveBayes(nb.Bernoulli(2.0, 1.0)).bind([[0], [1]], ["a", "b"])
        one = nb.fit(bound, [[0], [1], [1]], ["a", "b", "b"], classes=["b", "a"])
        other = nb.fit(bound, [[0], [1], [1]], ["a", "b", "b"])
        np.testing.assert_allclose(one.predict_proba([[1]]), other.predict_proba([[1]])[:, ::-1], rtol=1e-12)

    @pytest.mark.parametrize(
        "model",
        [
            nb.NaiveBayes(nb.Bernoulli(), class_concentration=[1.0, 5.0]),
            nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.2, 0.8]),
            nb.NaiveBayes(nb.Bernoulli([[1.0], [5.0]])),
        ],
        ids=["concentration", "probs", "feature"],
    )
    def test_another_order_is_refused_where_the_prior_differs_by_class(self, model):
        bound = model.bind([[0], [1]], ["a", "b"])
        with pytest.raises(ValueError, match=r"prior differs by class.*\['a', 'b'\].*'a' another place"):
            nb.fit(bound, [[0], [1]], ["a", "b"], classes=["b", "a"])
        nb.fit(bound, [[0], [1]], ["a", "b"], classes=["a", "b"])
        with pytest.raises(ValueError, match="prior differs by class"):
            NaiveBayesClassifier(model.bind([[0], [1]], classes=["b", "a"])).fit([[0], [1]], ["a", "b"])

    def test_probabilities_by_label_follow_their_labels(self):
        bound = nb.NaiveBayes(nb.Bernoulli(), class_probs={"a": 0.2, "b": 0.8}).bind([[0], [1]], ["a", "b"])
        found = nb.fit(bound, [[0], [1]], ["a", "b"], classes=["b", "a"])
        np.testing.assert_allclose(found.model.class_prior.probs, [0.8, 0.2])


def traced(program, *args, **options):
    """Sites of a program by name; traced by JAX, which compiles nothing."""
    found = {}
    jax.eval_shape(lambda: found.update(numpyro.handlers.trace(program).get_trace(*args, **options)))
    return found


class TestEverythingTakesOne:
    def test_estimator(self, fitted):
        estimator = clone(NaiveBayesClassifier(fitted.model, feature_weights=None))
        found = pickle.loads(pickle.dumps(estimator)).fit(SECOND, MORE)
        expected = nb.fit(with_numbers(), SECOND, MORE, classes=["a", "b"])
        np.testing.assert_allclose(found.predict_proba(FIRST), expected.predict_proba(FIRST), rtol=1e-12)
        averaged = NaiveBayesClassifier(
            nb.NaiveBayes(nb.Bernoulli()).bind([[0, 1], [1, 0]], [0, 1]), feature_inclusion=0.5
        )
        assert averaged.fit([[0, 1], [1, 0]], [0, 1]).model_.description.feature_inclusion == 0.5

    def test_criticism(self, fitted):
        assert nb.sbc(fitted.model, num_simulations=20, num_rows=5, progress=False).model == fitted.model
        both = nb.compare_models({"bound": fitted.model, "numbers": with_numbers()}, SECOND, MORE)
        assert np.ptp(both.table["elpd"]) < 1e-12
        again = nb.fit(fitted.model, SECOND, MORE)
        expected = nb.fit(with_numbers(), SECOND, MORE)
        assert nb.kfold(again, SECOND, MORE, k=2).elpd == pytest.approx(nb.kfold(expected, SECOND, MORE, k=2).elpd)
        assert nb.estimators.mutual_information_score(SECOND, MORE, model=fitted.model).shape == (5,)

    def test_program(self, fitted):
        def sites(program, X, y):
            return traced(numpyro.handlers.seed(program, 0), X, y).keys() - {"row"}

        with warnings.catch_warnings(action="error"):
            found = sites(fitted.model.program, SECOND, MORE)
        assert found == sites(described().program, FIRST, LABELS) != set()


def test_a_program_draws_count_vectors_of_given_totals():
    model = nb.NaiveBayes(nb.Multinomial()).bind([[1, 2], [3, 0]], ["a", "b"])
    values = {"class_prob": np.full(2, 0.5), "x_prob": np.full((2, 2), 0.5), "y": np.zeros(3, int)}
    program = numpyro.handlers.substitute(model.program, values | {"x": np.array([[7, 0]] * 3)})
    assert traced(program, num_rows=3, total_count=7)["x"]["fn"].total_count == 7


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2], [1, 2]),
        ([0.5, 2.5], [0.5, 2.5]),
        ([0, True], ["0", "True"]),
        (["a", 1], ["a", "1"]),
        ([("a", 1), ("b", 2)], ["('a', 1)", "('b', 2)"]),
    ],
)
def test_labels_of_an_axis_are_numbers_or_text(labels, expected):
    found = coordinate(labels)
    assert found.tolist() == expected
    assert found.dtype == np.array(expected).dtype


FURTHER = {
    "a bins": (nb.Histogram(), "a"),
    "b bins": (nb.Histogram(), "b"),
    "pair": (nb.Gaussian(), ["a", "c"]),
    "a given k": (nb.Given(), ["a", "k"]),
    "a & b": (nb.MultivariateGaussian(), ["a", "b"]),
    "k again": (nb.Categorical(), "k"),
}


@pytest.mark.parametrize("kept", [*combinations(FURTHER, 2), (), (*FURTHER,)], ids=" ".join)
def test_a_problem_of_some_features_is_that_of_a_model_with_these(rng, kept):
    """Features of one block, and one that describes two columns one by one, among them."""
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=[*"abc"]).assign(k=rng.choice(["x", "y", "z"], 60))
    y = rng.choice(["left", "right"], 60)
    once = {**dict.fromkeys("abc", nb.Gaussian()), "k": nb.Categorical()}

    def problem(further):
        bound = nb.NaiveBayes({**once, **{name: FURTHER[name] for name in further}}).bind(X, y)
        return nb.results.Problem(bound, bound.statistics(X, y))

    names = [name if name != "pair" else "a (pair)" for name in kept]
    found, expected = problem(FURTHER).of_features([*once, *names]), problem(kept)
    assert found.model.schema.columns == expected.model.schema.columns
    of_found, of_expected = (nb.Exact().fit(each) for each in (found, expected))
    np.testing.assert_allclose(of_found.log_joint(X), of_expected.log_joint(X), rtol=1e-12)
    np.testing.assert_allclose(of_found.log_evidence, of_expected.log_evidence, rtol=1e-12)
