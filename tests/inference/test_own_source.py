"""A source from outside the package: it counts rows that are no table, and makes the problem that `fit` takes."""

import ast
from pathlib import Path

import numpy as np
import pytest
from cases import FAMILIES

import bayesnb as nb

LISTED = [case for case in FAMILIES if case.can.closed and case.default.cell != "category"]
"""Families with a closed form whose cells are the numbers of the table."""

MODEL = nb.NaiveBayes(nb.Bernoulli(2.0, 3.0))
X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, np.nan], [0.0, 0.0], [1.0, np.nan]])
Y = ["a", "b", "a", "b", "b", "a"]


def counted(bound, cells, membership):
    return bound.count(tuple(cells[:, list(block.columns)] for block in bound.blocks), membership)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in LISTED])
def test_the_problem_of_a_source_is_that_of_its_table(case):
    table, y = case.table(holes=True)
    bound = case.model(case.default).bind(table, y)
    membership = (y[:, None] == bound.schema.classes) * 1.0
    # In two pieces, as a source that does not fit memory counts them.
    pieces = [counted(bound, table.to_numpy()[rows], membership[rows]) for rows in (slice(0, 9), slice(9, None))]
    mine, theirs = nb.fit(nb.results.Problem(bound, sum(pieces[1:], pieces[0]))), nb.fit(bound, table, y)
    np.testing.assert_allclose(mine.log_joint(table), theirs.log_joint(table), rtol=1e-12)
    assert mine.log_evidence == pytest.approx(theirs.log_evidence, rel=1e-12)


def test_columns_take_the_place_of_a_table():
    columns, classes = ["red", ("size", 2)], ["b", "a", "c"]
    bound = MODEL.bind(columns=columns, classes=classes)
    assert bound.used_columns == columns
    assert bound.schema.classes.tolist() == classes
    theirs = nb.fit(MODEL, X, Y, classes=classes, feature_names=columns)
    mine = nb.fit(nb.results.Problem(bound, counted(bound, X, (np.array(Y)[:, None] == classes) * 1.0)))
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"'kind' has no observed cell.*nb.Categorical\(categories="):
        nb.NaiveBayes(nb.Categorical()).bind(columns=["kind"], classes=classes)
    with pytest.raises(ValueError, match="feature_names has 1 names and X has 2 columns"):
        MODEL.bind(X, Y, columns=["red"])


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
@pytest.mark.parametrize("inference", [nb.MAP(), nb.EM(), nb.Gibbs(num_warmup=5, num_samples=20)])
def test_rows_without_a_label(inference):
    y = ["a", "b", None, None, "b", None]
    missing = np.array([label is None for label in y])
    theirs = nb.fit(MODEL, X, y, inference, key=1)
    bound = MODEL.bind(columns=range(2), classes=["a", "b"])
    labels = np.array([label for label in y if label])
    statistics = counted(bound, X[~missing], (labels[:, None] == ["a", "b"]) * 1.0)
    rows = nb.results.Unlabelled((X[missing],), np.ones(3))
    mine = nb.fit(nb.results.Problem(bound, statistics, unlabelled=rows), inference=inference, key=1)
    np.testing.assert_allclose(mine.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


def test_an_iteration_starts_at_the_guess():
    bound = nb.NaiveBayes(nb.Bernoulli()).bind(columns=["red"], classes=["a", "b"])
    nothing = bound.count((np.empty((0, 1)),), np.empty((0, 2)))
    for guess, label in ((0.9, "a"), (0.1, "b")):
        start = np.array([[guess, 1 - guess], [1 - guess, guess]])
        rows = nb.results.Unlabelled((np.array([[1.0], [0.0]]),), np.array([5.0, 5.0]), start)
        problem = nb.results.Problem(bound, nothing, unlabelled=rows)
        assert nb.fit(problem, inference=nb.EM()).predict([[1]]) == [label]


@pytest.mark.parametrize("data", [{"X": X}, {"y": Y}, {"sample_weight": np.ones(6)}, {"classes": ["a", "b"]}])
def test_a_problem_has_its_data(data):
    problem = nb.fit(MODEL, X, Y).problem
    with pytest.raises(TypeError, match="fit takes a model with its data, X=X and y=y, or a problem alone"):
        nb.fit(problem, **data)
    with pytest.raises(ValueError, match="no hyperparameter is learned"):
        nb.fit(problem, inference=nb.EmpiricalBayes())


@pytest.mark.parametrize(
    ("told", "call"),
    [
        ("cells has 2 parts", lambda bound: bound.count((X, X), np.ones((6, 2)))),
        (
            "statistics has 0 parts",
            lambda bound: nb.results.Problem(
                bound, nb.results.ModelStatistics(nb.families.ClassCounts(np.ones(2)), ())
            ),
        ),
        (
            "unlabelled has 0 parts",
            lambda bound: nb.results.Problem(
                bound, bound.count((X,), np.ones((6, 2))), unlabelled=nb.results.Unlabelled((), np.ones(6))
            ),
        ),
        ("columns is given in place of X.*classes=", lambda bound: MODEL.bind(columns=["u", "v"])),
    ],
)
def test_what_a_source_forgets_is_told(told, call):
    with pytest.raises(ValueError, match=told):
        call(MODEL.bind(columns=["u", "v"], classes=["a", "b"]))


FILES = "bayesnb.posterior.files"
"""It writes results; no public function does."""


def test_annotations_take_what_others_may():
    inner = set()
    for path in (Path(nb.__file__).parent / "crowd").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("bayesnb."):
                inner.add(node.module)
    assert {name for name in inner if not name.startswith(("bayesnb.core.", "bayesnb.crowd."))} == {FILES}
