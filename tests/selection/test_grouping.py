"""Columns merged into joint blocks: evidences by fits, the search, and the models that remain."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bayesnb as nb
from bayesnb.selection.grouping import merge_while_rising
from bayesnb.selection.joint_blocks import Part

A, B = np.array([[2.0], [3.5]]), np.array([[0.7], [0.2]])
"""Hyperparameters of two classes."""


@pytest.fixture(scope="module")
def table():
    """Two pairs of columns that depend on each other within the classes, numbers and categories."""
    rng = np.random.default_rng(3)
    y = np.repeat(["no", "yes"], [50, 70])
    length, shade = rng.normal(size=120) + (y == "yes"), rng.random(120)
    frame = pd.DataFrame(
        {
            "length": length,
            "width": 2 * length + rng.normal(size=120),
            "depth": 10 - length + rng.normal(size=120),
            "weight": rng.normal(size=120),
            "hue": np.where(shade < 0.3, "red", np.where(shade < 0.6, "blue", "green")),
            "dark": (shade + 0.2 * rng.random(120) > 0.6).astype(float),
            "old": rng.integers(0, 2, 120).astype(bool),
        }
    )
    return frame, y


@pytest.fixture(scope="module")
def banknotes():
    """Two measurements whose correlation within the classes differs, and one that depends on no other."""
    rng = np.random.default_rng(0)
    y = np.repeat(["genuine", "forged"], 200)
    left, right = rng.normal(size=(2, 400))
    right = np.where(y == "genuine", 0.8, -0.8) * left + 0.6 * right
    other = rng.normal(size=400) + (y == "forged")
    return pd.DataFrame({"left": left, "right": right, "other": other}), y


def follow_merges(grouping, X, log_evidence, blocks=()):
    """Assert that every log Bayes factor is the difference of evidences before and after the merge."""
    single = set(X).difference(*blocks)
    parts = {" & ".join(map(str, part)): list(part) for part in [*blocks, *([column] for column in single)]}
    before = first = log_evidence(parts)
    for _, merge in grouping.table.iterrows():
        together = parts.pop(merge["first"]) + parts.pop(merge["second"])
        together = [column for column in X if column in together]
        parts[" & ".join(map(str, together))] = together
        after = log_evidence(parts)
        assert merge["log_bayes_factor"] == pytest.approx(after - before, abs=1e-8)
        assert merge["total"] == pytest.approx(after - first, abs=1e-8)
        before = after


def assert_gain(grouping, model, X, y):
    """The total is what a fit's evidence gains by the merges."""
    gain = nb.fit(grouping.model, X, y).log_evidence - nb.fit(model, X, y).log_evidence
    assert grouping.table["total"].iloc[-1] == pytest.approx(gain, abs=1e-8)


def test_a_merge_is_shown_with_its_threshold(table):
    frame, y = table
    grouping = nb.group_columns(nb.Gaussian(), frame[["length", "width", "depth", "weight"]], y)
    assert grouping.table["threshold"].tolist() == pytest.approx(np.log([6, 3]))
    assert (grouping.table["log_bayes_factor"] > grouping.table["threshold"]).all()
    shown = " ".join(repr(grouping).split())
    assert "factor threshold" in shown
    assert f"{grouping.table['log_bayes_factor'].iloc[0]:.1f}" in shown
    assert any("has to exceed log 1 = 0.0" in note for note in grouping.notes)


@pytest.fixture(scope="module")
def shapes():
    """Four columns that follow one number, each with a family of its own, and one that follows none."""
    rng = np.random.default_rng(4)
    y = np.repeat(["low", "high"], [90, 60])
    size = rng.normal(size=150) + (y == "low")
    X = pd.DataFrame(
        {
            "log": np.exp(0.2 * size + 0.02 * rng.normal(size=150)),
            "bins": size + 0.3 * rng.normal(size=150),
            "wait": np.exp(0.1 * size + 0.1 * rng.normal(size=150)),
            "plain": size + 0.3 * rng.normal(size=150),
            "few": np.clip(np.rint(2 * size), -9, 9),
            "alone": rng.exponential(size=150),
        }
    )
    return X, y


SHAPES = {
    "log": nb.LogNormal(),
    "bins": nb.Histogram(),
    "wait": nb.Exponential(),
    "plain": nb.Gaussian(),
    "few": nb.Histogram(),
    "alone": nb.Exponential(),
}


def measurements(**numbers):
    """Four columns of one family."""
    return dict.fromkeys(["length", "width", "depth", "weight"], nb.Gaussian(**numbers))


def signs(hue, binary):
    return {"hue": hue, "dark": binary, "old": binary}


MERGES = {
    "measurements": (
        measurements(),
        lambda columns: nb.MultivariateGaussian(),
        ["length & width & depth", "weight"],
    ),
    "measurements, numbers given": (
        measurements(loc=1.0, kappa=0.4, concentration=1.5, rate=0.6),
        lambda columns: nb.MultivariateGaussian(1.0, 0.4, 2.0 + len(columns), 1.2 * np.eye(len(columns))),
        ["length & width & depth", "weight"],
    ),
    "measurements, numbers by class": (
        measurements(kappa=B, concentration=A, rate=np.array([[0.3], [0.5]])),
        lambda columns: nb.MultivariateGaussian(
            kappa=B, df=2 * A + len(columns) - 1, scale=np.array([[[0.6]], [[1.0]]]) * np.eye(len(columns))
        ),
        ["length & width & depth", "weight"],
    ),
    "measurements of several families": (
        SHAPES,
        lambda columns: nb.MultivariateGaussian(),
        ["log & bins & wait & plain", "few", "alone"],
    ),
    "categories": (
        signs(nb.Categorical(), nb.Bernoulli()),
        lambda columns: nb.JointCategorical(),
        ["hue & dark", "old"],
    ),
    "categories of equal weight": (
        signs(nb.Categorical(2 / 3), nb.Bernoulli(1.0, 1.0)),
        lambda columns: nb.JointCategorical(2 / (2 ** len(columns) * (1.5 if "hue" in columns else 1))),
        ["hue & dark", "old"],
    ),
}
"""Families of single columns, those of joint blocks by their columns, and the features that remain."""


@pytest.mark.parametrize("case", MERGES)
def test_each_log_bayes_factor_is_a_difference_of_evidences_of_fits(table, shapes, case):
    singles, joint, remaining = MERGES[case]
    X, y = shapes if singles is SHAPES else table
    X = X[list(singles)]

    def log_evidence(parts):
        features = {
            name: (joint(columns) if len(columns) > 1 else singles[columns[0]], columns)
            for name, columns in parts.items()
        }
        return nb.fit(nb.NaiveBayes(features), X, y).log_evidence

    model = nb.NaiveBayes(singles)
    grouping = nb.group_columns(model, X, y)
    follow_merges(grouping, X, log_evidence)
    assert_gain(grouping, model, X, y)
    assert list(grouping.model.features) == remaining
    assert list(grouping.blocks) == [name for name in remaining if name not in singles]
    for name in singles.keys() & grouping.model.features:
        assert grouping.model.features[name][0] == singles[name]


@pytest.mark.parametrize(
    ("plain", "blocks"),
    [
        (nb.Gaussian(loc=0.0), []),
        (nb.Gaussian(kappa=0.5, concentration=2.0), [("log", "bins", "wait", "plain")]),
    ],
)
def test_other_families_join_with_the_prior_of_the_gaussian_columns(shapes, plain, blocks):
    X, y = shapes
    grouping = nb.group_columns(nb.NaiveBayes(SHAPES | {"plain": plain}), X, y)
    assert list(grouping.blocks.values()) == blocks
    for family, _ in list(grouping.model.features.values())[: len(blocks)]:
        assert (family.kappa, family.df) == (0.5, 7.0)


def test_weights_count_as_rows(table):
    frame, y = table
    X, weights = frame[["length", "width", "hue", "dark"]], np.arange(120) % 3
    model = nb.NaiveBayes(
        {"length": nb.Gaussian(), "width": nb.Gaussian(), "hue": nb.Categorical(), "dark": nb.Bernoulli()}
    )
    repeated = np.repeat(np.arange(120), weights)
    weighted = nb.group_columns(model, X, y, sample_weight=weights)
    pd.testing.assert_frame_equal(weighted.table, nb.group_columns(model, X.iloc[repeated], y[repeated]).table)
    assert len(weighted.table) == 2


def test_rows_of_weight_zero_may_lack_cells(table):
    frame, y = table
    X = frame[["length", "width"]].copy()
    X.loc[0, "length"] = np.nan
    grouping = nb.group_columns(nb.Gaussian(), X, y, sample_weight=np.arange(120) > 0)
    assert list(grouping.blocks) == ["length & width"]


def test_a_column_that_depends_on_no_other_stays_alone(banknotes):
    X, y = banknotes
    grouping = nb.group_columns(nb.Gaussian(), X, y)
    assert grouping.blocks == {"left & right": ("left", "right")}
    assert grouping.model.features["other"] == (nb.Gaussian(), None)
    assert any(
        "No other merge exceeds its threshold: the best of 1, that of 'left & right' and 'other'" in note
        for note in grouping.notes
    )


def test_other_columns_keep_their_families_and_places(table):
    frame, y = table
    X = frame.assign(calls=np.arange(120) % 5, size=np.exp(frame["length"]), price=np.exp(frame["length"]))
    features = {
        "size": nb.LogNormal(),
        "lengths": (nb.Gaussian(rate=[1.0, 2.0, 3.0], loc=0.5), ["weight", "length", "width"]),
        "calls": nb.Poisson(1.0, 2.0),
        "price": nb.LogNormal(),
    }
    model = nb.NaiveBayes(features, class_concentration=2.0)
    grouping = nb.group_columns(model, X, y)
    found = grouping.model.features
    assert list(found) == ["size", "weight", "length & width", "calls", "price"]
    assert found["size"] == (nb.LogNormal(), None)
    assert found["calls"] == (nb.Poisson(1.0, 2.0), None)
    assert np.ravel(found["weight"][0].rate).tolist() == [1.0, 1.0]
    block, columns = found["length & width"]
    assert columns == ["length", "width"]
    assert block.loc == 0.5
    assert np.array(block.scale).tolist() == [[4.0, 0.0], [0.0, 6.0]]
    assert grouping.model.class_concentration == 2.0
    assert_gain(grouping, model, X, y)


def test_joint_blocks_of_the_model_grow(table):
    frame, y = table
    X = frame[["length", "width", "depth", "hue", "dark"]].assign(warm=frame["hue"] != "blue")
    scale = np.array([[2.0, 0.5], [0.5, 3.0]])
    numbers = nb.MultivariateGaussian(loc=[0.1, 0.2], kappa=0.3, df=4.0, scale=scale)
    features = {
        "size": (numbers, ["width", "length"]),
        "depth": nb.Gaussian(loc=0.3, kappa=0.3, concentration=1.5, rate=0.7),
        "colour": (nb.JointCategorical(), ["hue", "warm"]),
        "dark": nb.Bernoulli(),
    }
    model = nb.NaiveBayes(features)
    grouping = nb.group_columns(model, X, y)
    assert sorted(grouping.blocks) == ["hue & dark & warm", "length & width & depth"]
    block = grouping.model.features["length & width & depth"][0]
    assert block.loc.tolist() == [0.2, 0.1, 0.3]
    assert block.df == 5.0
    np.testing.assert_array_equal(block.scale, [[3.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 1.4]])
    assert_gain(grouping, model, X, y)


def test_degrees_of_freedom_of_one_class_may_be_the_default(table):
    """Three, the default of a block of two columns, for one class only: the merged block keeps those of the other."""
    frame, y = table
    classes = len(np.unique(y))
    df = np.full((classes, 1), 6.0)
    df[0] = 3.0
    features = {
        "size": (nb.MultivariateGaussian(loc=0.1, kappa=0.3, df=df, scale=1.4 * np.eye(2)), ["width", "length"]),
        "depth": nb.Gaussian(loc=0.1, kappa=0.3, concentration=(df - 1) / 2, rate=0.7),
    }
    grouping = nb.group_columns(nb.NaiveBayes(features), frame[["length", "width", "depth"]], y)
    block, _ = grouping.model.features["length & width & depth"]
    np.testing.assert_allclose(block.df, df + 1)


def test_categories_that_are_listed_stay(table):
    frame, y = table
    listed = ["red", "blue", "green", "white"]
    features = {"colour": (nb.Categorical(categories={"hue": listed}), ["hue", "dark", "old"])}
    grouping = nb.group_columns(nb.NaiveBayes(features), frame, y)
    family, columns = grouping.model.features["hue & dark"]
    assert columns == ["hue", "dark"]
    assert dict(family.categories) == {"hue": tuple(listed)}
    assert grouping.model.features["old"] == (nb.Categorical(), None)
    nb.fit(grouping.model, frame, y)
    other = nb.group_columns(nb.NaiveBayes(nb.Categorical(other=True)), frame[["hue", "dark"]], y)
    assert other.model.features["hue & dark"][0].other


def test_zeros_and_ones_keep_both_values(table):
    frame, y = table
    X = frame[["hue", "dark"]]
    model = nb.group_columns(nb.NaiveBayes({"hue": nb.Categorical(), "dark": nb.Bernoulli()}), X, y).model
    posterior = nb.fit(model, X[frame["dark"] == 1], y[frame["dark"] == 1])
    assert np.isfinite(posterior.log_joint(X[frame["dark"] == 1].assign(dark=0.0))).all()


@pytest.mark.parametrize("kind", [bool, int, "boolean", "Int64"])
def test_zeros_and_ones_may_be_of_any_type(table, kind):
    frame, y = table
    X = frame[["dark"]].assign(warm=frame["hue"] != "green").astype(float).astype(kind)
    grouping = nb.group_columns(nb.Bernoulli(), X, y)
    assert len(grouping.table) == 1
    assert_gain(grouping, nb.Bernoulli(), X, y)


def test_a_bound_model_stays_bound_and_keeps_its_numbers(table):
    frame, y = table
    X = frame[["length", "width", "hue", "dark"]]
    model = nb.NaiveBayes(
        {"length": nb.Gaussian(), "width": nb.Gaussian(), "hue": nb.Categorical(), "dark": nb.Bernoulli()}
    )
    grouping = nb.group_columns(nb.fit(model, X, y).model, X, y)
    assert isinstance(grouping.model, nb.results.BoundModel)
    assert grouping.model.schema.classes.tolist() == ["no", "yes"]
    assert len(grouping.blocks) == 2
    assert_gain(grouping, model, X, y)
    half = nb.group_columns(model.bind(X, y), X[::2], y[::2])
    assert set(half.model.schema.categories[2]) == {"blue", "green", "red"}


def test_positions_name_the_columns_of_an_array(table):
    frame, y = table
    X = frame[["weight", "length", "width"]].to_numpy()
    grouping = nb.group_columns(nb.Gaussian(), X, y, columns=[1, 2])
    assert grouping.blocks == {"1 & 2": (1, 2)}
    assert nb.fit(grouping.model, X, y).predict(X).shape == (120,)


def test_the_label_may_be_a_column_of_the_table(table):
    frame, y = table
    X = frame[["length", "width"]]
    by_name = nb.group_columns(nb.Gaussian(), X.assign(label=y), "label")
    pd.testing.assert_frame_equal(by_name.table, nb.group_columns(nb.Gaussian(), X, y).table)


def test_names_that_features_have_already_are_told_apart(table):
    frame, y = table
    X = frame[["length", "width", "weight"]]
    features = {"length & width": (nb.Gaussian(), ["weight"]), "sizes": (nb.Gaussian(), ["length", "width"])}
    grouping = nb.group_columns(nb.NaiveBayes(features), X, y)
    assert list(grouping.model.features) == ["length & width", "length & width (columns)"]
    nb.fit(grouping.model, X, y)


def test_wide_blocks_have_short_names_and_the_width_has_a_limit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(200, 7)), np.arange(200) % 2
    for width, name in ((4, "0 & 1 & 2 & 3"), (5, "0 & 1 & 2 & 2 more"), (7, "0 & 1 & 2 & 4 more")):
        assert list(nb.group_columns(nb.Gaussian(), X[:, :width], y).model.features) == [name]
    narrow = nb.group_columns(nb.Gaussian(), X, y, max_width=3)
    assert max(map(len, narrow.blocks.values())) == 3
    assert "Blocks of more than 3 columns were not tried, as max_width=3 says." in narrow.notes


def test_more_than_a_million_combinations_are_not_tried():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 1100, 3000)
    X, y = pd.DataFrame({"a": code, "b": code, "c": code % 2}).astype(str), np.arange(3000) % 2
    grouping = nb.group_columns(nb.Categorical(1.0), X, y)
    assert all("a" not in block or "b" not in block for block in grouping.blocks.values())
    assert "Blocks of more than a million combinations of categories were not tried." in grouping.notes


def test_many_combinations_are_counted_as_few_are(table, monkeypatch):
    frame, y = table
    X = frame[["hue", "dark", "old"]]
    model = nb.NaiveBayes({"hue": nb.Categorical(), "dark": nb.Bernoulli(), "old": nb.Bernoulli()})
    expected = nb.group_columns(model, X, y).table
    monkeypatch.setattr("bayesnb.selection.joint_blocks.TABLE_CELLS", 1)
    pd.testing.assert_frame_equal(nb.group_columns(model, X, y).table, expected)


@pytest.mark.parametrize("kind", ["numbers", "categories"])
@pytest.mark.filterwarnings("ignore:.*rows lack a cell of block:UserWarning")
def test_rows_that_lack_a_cell_are_predicted_by_the_others(table, kind):
    """A block counts whole rows, and the evidence of the others is their predictive density given these."""
    frame, y = table
    if kind == "numbers":
        X = frame[["length", "width", "depth", "weight"]] - [0, 0, 10, 0]
        single = nb.Gaussian(0.0, 1.0, 1.0, 1.0)
        joint = lambda width: nb.MultivariateGaussian(0.0, 1.0, width + 1.0, 2.0 * np.eye(width))  # noqa: E731
    else:
        X = frame[["hue", "dark", "old"]].astype(object).assign(hot=frame["hue"] == "red")
        single, joint = nb.Categorical(), lambda width: nb.JointCategorical()
    X.loc[[3, 70], X.columns[0]], X.loc[np.arange(120) % 5 == 0, X.columns[1]] = np.nan, np.nan

    def log_evidence(columns):
        family = joint(len(columns)) if len(columns) > 1 else single
        model = nb.NaiveBayes({"part": (family, columns)}, class_probs=[0.5, 0.5]).bind(X, y)
        whole = X[columns].notna().all(axis=1).to_numpy()
        fitted = nb.fit(model, X[whole], y[whole])
        own = fitted.log_joint(X)[np.arange(120), (y == "yes").astype(int)]
        return fitted.log_evidence + own[~whole].sum() - 120 * np.log(0.5)

    grouping = nb.group_columns(single, X, y)
    assert len(grouping.table) > 1
    follow_merges(grouping, X, lambda parts: sum(map(log_evidence, parts.values())))
    (block,) = (" & ".join(one) for one in grouping.blocks.values() if X.columns[1] in one)
    assert any(f"rows lack a cell of the block {block!r}" in note for note in grouping.notes)
    again = nb.group_columns(grouping.model, X, y)
    assert again.table.empty
    assert again.notes[-1].split("has log")[1:] == grouping.notes[-1].split("has log")[1:]
    assert np.isfinite(nb.fit(grouping.model, X, y).log_joint(X)).all()
    pairs = nb.group_columns(single, X, y, max_width=2)
    further = nb.group_columns(pairs.model, X, y)
    assert len(further.table)
    follow_merges(further, X, lambda parts: sum(map(log_evidence, parts.values())), pairs.blocks.values())


def test_a_column_does_not_lose_most_of_its_rows_to_a_block(table):
    frame, y = table
    few = frame[["length"]].assign(width=frame["width"].where(np.arange(120) < 8))
    alone = nb.group_columns(nb.Gaussian(), few, y)
    assert not alone.blocks
    (note,) = alone.notes
    assert note.startswith("No merge exceeds its threshold: the best of 1, that of 'length' and 'width', has log Bayes")
    assert note.endswith("and has to exceed log 1 = 0.0.")
    kept = np.arange(120) % 10 < 8
    assert nb.group_columns(nb.Gaussian(), frame.loc[kept, ["length", "width"]], y[kept]).blocks


@pytest.mark.parametrize("model", [nb.Poisson(), nb.NaiveBayes({"length": nb.Gaussian(), "hue": nb.Categorical()})])
def test_a_model_without_columns_to_merge_is_returned_as_it_is(table, model):
    frame, y = table
    X = frame[["length", "hue"]] if isinstance(model, nb.NaiveBayes) else np.arange(240).reshape(120, 2)
    grouping = nb.group_columns(model, X, y)
    assert grouping.model == (nb.NaiveBayes(model) if isinstance(model, nb.Poisson) else model)
    assert grouping.table.empty
    assert "There are no two columns to merge" in " ".join(repr(grouping).split())


@pytest.mark.parametrize("given", [{"kappa": 0.2}, {"concentration": 2.0}, {"loc": 0.0}, {"rate": 1.0}], ids=str)
def test_columns_of_other_numbers_may_be_left_out(table, given):
    model = nb.NaiveBayes({"length": nb.Gaussian(**given), "width": nb.Gaussian(), "depth": nb.Gaussian()})
    assert len(nb.group_columns(model, *table, columns=["width", "depth"]).blocks) == 1


@dataclass(frozen=True)
class Gains:
    """Blocks whose evidence is that of their columns and gains of some pairs of these."""

    of_pair: dict

    def log_evidence(self, pairs):
        blocks = [combinations(sorted(one.columns + other.columns), 2) for one, other in pairs]
        return np.array([sum(self.of_pair.get(pair, 0.0) for pair in block) for block in blocks])


@pytest.mark.parametrize(
    ("gains", "max_width", "blocks", "best_left", "too_wide"),
    [
        ({(0, 1): 0.0}, 4, [], 0.0, False),
        ({(0, 1): 1e-9}, 4, [(0, 1)], None, False),
        ({(0, 1): 2.0, (0, 2): 3.0, (1, 2): -1.0}, 3, [(0, 1, 2)], None, False),
        ({(0, 1): 2.0, (0, 2): 3.0, (1, 2): -1.0}, 2, [(0, 2)], None, True),
        ({(0, 1): 2.0, (0, 2): 3.0, (1, 2): -2.0}, 3, [(0, 2)], 0.0, False),
        ({(0, 1): -2.0, (0, 2): -3.0, (1, 2): -np.inf}, 3, [], -2.0, False),
        ({(0, 1): 1.09, (0, 2): -1.0, (1, 2): -1.0}, 3, [], 1.09, False),
        ({(0, 1): 1.11, (0, 2): -1.0, (1, 2): -1.0}, 3, [(0, 1)], -2.0, False),
        ({(0, 1): 0.7, (0, 2): -1.0, (1, 2): -np.inf}, 3, [(0, 1)], None, False),
    ],
)
def test_parts_are_merged_while_the_factor_exceeds_the_log_of_the_number_of_pairs(
    gains, max_width, blocks, best_left, too_wide
):
    number = 2 if len(gains) == 1 else 3
    parts = [Part((j,), (f"x{j}",), nb.MultivariateGaussian, 0.0, nb.Gaussian()) for j in range(number)]
    found = merge_while_rising(parts, {nb.MultivariateGaussian: Gains(gains)}, max_width)
    assert [part.columns for part in found.blocks] == blocks
    assert found.too_wide is too_wide
    assert found.too_many is (-np.inf in gains.values())
    assert (found.best_left and found.best_left.log_bayes_factor) == best_left
