"""Categories that later rows bring, and rows of weight zero, which bring none."""

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb import estimators

COLOURS = ["red", "blue", "red", None, "green", "blue", "violet", "red"]
SIZES = ["S", "M", "S", "M", "L", "L", None, "XL"]
LENGTHS = [1.0, 2.5, 0.5, 3.0, np.nan, 2.0, 4.0, 1.5]
X = pd.DataFrame({"colour": COLOURS, "length": LENGTHS, "size": SIZES})
Y = ["a", "b", "a", "b", "a", "b", "a", "b"]
SCALE = nb.Gaussian(loc=0.0, kappa=1.0, concentration=2.0, rate=1.0)


def model(concentration=0.5, **options):
    colour = nb.Categorical(concentration, **options)
    return nb.NaiveBayes({"colour": colour, "length": SCALE, "size": nb.Categorical(2.0)})


def in_parts(described, *edges, inference=None, y=Y, **options):
    posterior = nb.fit(described, X[: edges[0]], y[: edges[0]], inference, **options)
    for start, stop in zip(edges, (*edges[1:], len(X)), strict=True):
        posterior = posterior.update(X[start:stop], y[start:stop])
    return posterior


def assert_same(one, other):
    """The same evidence and predictions, and the same parameters up to the order of the categories."""
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-12)
    np.testing.assert_allclose(one.log_joint(X), other.log_joint(X), rtol=1e-12)
    for position, categories in other.model.schema.categories.items():
        assert set(one.model.schema.categories[position]) == set(categories)
    mine, theirs = one.summary(), other.summary()
    pd.testing.assert_frame_equal(mine.sort_index(), theirs.sort_index(), rtol=1e-12)


GROWING = {
    "scalar": model(),
    "by class": model(np.array([[0.5], [1.5]])),
    "by column": nb.NaiveBayes({"looks": (nb.Categorical([0.5, 2.0]), ["colour", "size"]), "length": SCALE}),
    "averaged": nb.NaiveBayes({"colour": nb.Categorical(0.5), "size": nb.Categorical(2.0)}, feature_inclusion=0.3),
    "bound to all rows": model().bind(X, Y),
}


@pytest.mark.parametrize("described", GROWING.values(), ids=GROWING)
def test_a_fit_and_updates_are_the_fit_to_all_rows(described):
    at_once = nb.fit(described, X, Y)
    in_three = in_parts(described, 3, 6)
    if isinstance(at_once, nb.results.AveragedPosterior):
        np.testing.assert_allclose(in_three.log_joint(X), at_once.log_joint(X), rtol=1e-12)
        assert in_three.log_evidence == pytest.approx(at_once.log_evidence, rel=1e-12)
    else:
        assert_same(in_three, at_once)


def test_the_known_categories_keep_their_places():
    posterior = in_parts(model(), 3, 6)
    assert posterior.model.schema.categories[0] == ("blue", "red", "green", "violet")
    assert posterior.mean()["colour_prob"].shape == (2, 4)


def test_a_category_for_all_others_takes_the_new_ones():
    posterior = in_parts(model(other=True), 3, 6)
    assert posterior.model.schema.categories[0] == ("blue", "red", "<other>")
    np.testing.assert_allclose(posterior.mean()["colour_prob"][:, -1], [2.5 / 5.5, 0.5 / 4.5])
    declared = X[6:].assign(colour=pd.Categorical(COLOURS[6:], ["violet", "red", "white"]))
    assert posterior.update(declared, Y[6:]).model.schema.categories == posterior.model.schema.categories


def test_a_type_may_declare_more_than_the_rows_show():
    first = X[:4].assign(size=pd.Categorical(SIZES[:4], ["S", "M", "L"]))
    later = X[5:].assign(size=pd.Categorical(SIZES[5:], ["L", "XL", "XXL"]))
    posterior = nb.fit(model(), first, Y[:4]).update(later, Y[5:])
    assert posterior.model.schema.categories[2] == ("S", "M", "L", "XL", "XXL")


@pytest.mark.parametrize("described", [model(categories=["red", "blue"]), model().bind(X[:3], Y[:3])])
def test_listed_and_bound_categories_stay(described):
    """As in a fit to all rows, a value that is not listed counts as a missing cell."""
    with pytest.warns(UserWarning, match="not seen in training"):
        posterior = in_parts(described, 3)
    with pytest.warns(UserWarning, match="not seen in training"):
        at_once = nb.fit(described, X, Y)
    np.testing.assert_allclose(posterior.mean()["colour_prob"], at_once.mean()["colour_prob"], rtol=1e-12)
    assert posterior.log_evidence == pytest.approx(at_once.log_evidence, rel=1e-12)


def test_new_categories_are_forgotten_exactly():
    posterior = in_parts(model(), 3)
    left = posterior.forget(X[3:], Y[3:])
    np.testing.assert_allclose(left.mean()["colour_prob"][:, 2:], 0.5 / np.array([[4.0], [3.0]]).repeat(2, axis=1))


def test_old_rows_fade_and_new_categories_come():
    first, later = nb.fit(model(), X[:3], Y[:3]), nb.fit(model(), X, Y, sample_weight=[0.8] * 3 + [1.0] * 5)
    assert_same(first.update(X[3:], Y[3:], decay=0.8), later)


def test_what_is_saved_and_what_batches_and_partitions_gave_still_grows(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(X[:4].assign(y=Y[:4]), npartitions=2)
    batches = [(X[:2], Y[:2]), (X[2:4], Y[2:4])]
    nb.fit(model(), X[:4], Y[:4]).save(tmp_path / "posterior.nc")
    estimator = estimators.NaiveBayesClassifier(model(), feature_weights=None)
    for posterior in (
        nb.load(tmp_path / "posterior.nc"),
        nb.fit_batches(model(), batches, classes=["a", "b"]),
        nb.fit_batches(model(), iter(batches), classes=["a", "b"]),
        nb.fit(model(), frame[["colour", "length", "size"]], frame["y"]),
        estimator.partial_fit(X[:2], Y[:2], classes=["a", "b"]).partial_fit(X[2:4], Y[2:4]).posterior_,
    ):
        assert_same(posterior.update(X[4:], Y[4:]), nb.fit(model(), X, Y))


def test_classes_leave_the_bound_categories():
    bound = model().bind(X, Y)
    posterior = nb.fit(bound, X[:3], Y[:3], classes=["c", "b", "a"])
    assert posterior.model.schema.categories == bound.schema.categories
    assert posterior.classes.tolist() == ["c", "b", "a"]
    declared = model(categories=["blue", "green", "red", "violet"])
    sizes = nb.NaiveBayes({**declared.features, "size": nb.Categorical(2.0, categories=["L", "M", "S", "XL"])})
    assert_same(posterior, nb.fit(sizes, X[:3], Y[:3], classes=["c", "b", "a"]))


class TestRowsOfWeightZero:
    WEIGHTS = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 1.0, 0.0, 1.0])  # green and violet weigh nothing

    def without(self, described=None):
        kept = self.WEIGHTS > 0
        labels = [label for label, keep in zip(Y, kept, strict=True) if keep]
        return nb.fit(described or model(), X[kept], labels, sample_weight=self.WEIGHTS[kept])

    @pytest.mark.parametrize("described", [model(), model(other=True)], ids=["plain", "other"])
    def test_are_as_if_they_were_not_there(self, described):
        posterior, without = nb.fit(described, X, Y, sample_weight=self.WEIGHTS), self.without(described)
        assert posterior.model.schema.categories == without.model.schema.categories
        assert posterior.log_evidence == pytest.approx(without.log_evidence, rel=1e-12)
        np.testing.assert_allclose(posterior.mean()["colour_prob"], without.mean()["colour_prob"], rtol=1e-12)

    def test_in_batches_partitions_files_and_updates(self, tmp_path):
        pytest.importorskip("pyarrow")
        dd = pytest.importorskip("dask.dataframe")
        parts = [slice(0, 5), slice(5, 8)]
        batches = [(X[part], Y[part], self.WEIGHTS[part]) for part in parts]
        table = X.assign(y=Y, w=self.WEIGHTS)
        table.to_parquet(tmp_path / "rows.parquet")
        frame = dd.from_pandas(table, npartitions=2)
        first, later = batches
        fits = [
            nb.fit_batches(model(), batches),
            nb.fit_batches(model(), iter(batches), classes=["a", "b"]),
            nb.fit_parquet(model(), tmp_path / "rows.parquet", "y", sample_weight="w"),
            nb.fit(model(), frame[["colour", "length", "size"]], frame["y"], sample_weight=frame["w"]),
            nb.fit(model(), *first[:2], sample_weight=first[2]).update(*later[:2], sample_weight=later[2]),
            estimators.NaiveBayesClassifier(model()).fit(X, Y, self.WEIGHTS).posterior_,
        ]
        for posterior in fits:
            assert {*posterior.model.schema.categories[0]} == {"blue", "red"}
            assert posterior.log_evidence == pytest.approx(self.without().log_evidence, rel=1e-12)

    @pytest.mark.parametrize("kind", [np.int64, np.float64, str, object])
    def test_whatever_the_type_of_the_cells(self, kind):
        cells = np.array([[0, 1], [1, 1], [0, 0], [2, 5]]).astype(kind)
        posterior = nb.fit(nb.Categorical(), cells, [0, 1, 0, 1], sample_weight=[1, 1, 1, 0])
        without = nb.fit(nb.Categorical(), cells[:3], [0, 1, 0])
        assert posterior.model.schema.categories == without.model.schema.categories
        np.testing.assert_allclose(posterior.log_joint(cells[:3]), without.log_joint(cells[:3]), rtol=1e-12)

    def test_their_labels_still_name_classes(self):
        posterior = nb.fit(nb.Bernoulli(), [[1], [0], [1]], ["a", "b", "c"], sample_weight=[1, 1, 0])
        named = nb.fit(nb.Bernoulli(), [[1], [0]], ["a", "b"], classes=["a", "b", "c"])
        np.testing.assert_allclose(posterior.predict_proba([[1]]), named.predict_proba([[1]]), rtol=1e-12)


def grown(family, new):
    first, later = (pd.DataFrame({"kind": list(kinds)}) for kinds in ("xyxy", new))
    return nb.fit(family, first, ["a", "b", "b", "a"]).update(later, ["a"] * len(new))


ORDERED = nb.NaiveBayes(nb.Categorical(), class_concentration=[1.0, 2.0]).bind([["r"], ["g"]], ["a", "b"])
TWO = nb.Categorical([1.0, 2.0])
ERRORS = {
    "'red' twice": lambda: nb.fit(nb.Categorical(categories=["red", "red"]), [["red"]], ["a"]),
    "1 twice": lambda: nb.fit(nb.Categorical(categories=[1, 1.0]), [[1]], ["a"]),
    "a list, which cannot be a category": lambda: nb.fit(nb.Categorical(categories=[["red"]]), [["red"]], ["a"]),
    r"\(column 'kind': 'k', 'l', 'm', 'n', 'o'\).*categories=\[...\]\)": lambda: grown(TWO, "klmno"),
    r"new categories \(column 'kind': 'k', .* 'o' and 1 more\)": lambda: grown(TWO, "klmnop"),
    "class_concentration has shape": lambda: nb.fit(ORDERED, [["r"]], ["a"], classes=["a", "b", "c"]),
}


@pytest.mark.parametrize("words", ERRORS)
def test_errors_name_the_categories(words):
    with pytest.raises(TypeError if "cannot be" in words else ValueError, match=words):
        ERRORS[words]()
