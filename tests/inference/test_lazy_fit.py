"""Fits of lazy tables give what a fit in memory gives."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest

import bayesnb as nb
from bayesnb.core.deferred import leaves
from cases import FAMILIES
from lazy_engines import ENGINES, SLOW_ENGINES, lazily

EVERY_ENGINE = [*ENGINES, *(pytest.param(engine, marks=pytest.mark.slow) for engine in SLOW_ENGINES)]
ROWS = 160


@dataclass(frozen=True)
class Counted(nb.results.Inference):
    """Gives the problem itself."""

    def check(self, problem):
        pass

    def fit(self, problem, *, key=0):
        return problem


def with_labels(case, holes):
    """A case's columns, half of their missing cells NaN where they are numbers and the others null; labels, weights."""
    X, y = case.table(ROWS, holes=holes)
    frame = pl.DataFrame({name: pl.Series(X[name].to_numpy(), nan_to_null=False) for name in X})
    if holes:
        frame = frame.with_columns(
            pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.all().fill_nan(None)).otherwise(pl.all())
        )
    weight = np.random.default_rng(1).integers(0, 4, ROWS) / 2
    return frame.with_columns(pl.Series("label", y), pl.Series("weight", weight))


def fitted(model, frame, weighted, engine=None, inference=None, **options):
    frame = frame if weighted else frame.drop("weight")
    if engine is not None:
        return nb.fit(
            model, lazily(frame, engine), "label", inference, sample_weight="weight" if weighted else None, **options
        )
    weight = frame["weight"].to_numpy() if weighted else None
    return nb.fit(model, frame.drop("weight", strict=False), "label", inference, sample_weight=weight, **options)


def require_equal(problem, expected, exact=False):
    """Counts exactly, other sums up to rounding."""
    mine, theirs = problem.model.schema, expected.model.schema
    assert (mine.columns, mine.categories, mine.edges) == (theirs.columns, theirs.categories, theirs.edges)
    assert (problem.growing, problem.weighted) == (expected.growing, expected.weighted)
    np.testing.assert_array_equal(problem.model.schema.classes, expected.model.schema.classes)
    assert problem.model.schema.classes.dtype == expected.model.schema.classes.dtype
    for found, wanted in zip(leaves(problem.statistics), leaves(expected.statistics), strict=True):
        wanted = np.asarray(wanted)
        if (wanted == np.rint(2 * wanted) / 2).all() and exact:
            np.testing.assert_array_equal(found, wanted)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max(initial=0.0))


@pytest.mark.parametrize("engine", EVERY_ENGINE)
@pytest.mark.parametrize("of", FAMILIES, ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore:.* rows lack a cell")
def test_equals_a_fit_in_memory(of, engine):
    model = of.model(of.default)
    for holes, weighted in [(False, False), (True, True), (True, False)]:
        frame = with_labels(of, holes)
        mine, expected = (fitted(model, frame, weighted, e, Counted()) for e in (engine, None))
        require_equal(mine, expected, exact=True)
        if of.can.closed:
            rows = frame.drop("label", "weight")
            found, wanted = (nb.fit(problem).predict_proba(rows) for problem in (mine, expected))
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
