"""Rows of trees, and a posterior of every kind."""

import pytest


@pytest.fixture(scope="package")
def table():
    """A table, its labels, and rows that no posterior has seen."""
    import numpy as np
    from trees import trees

    rng = np.random.default_rng(6)
    X, y = trees(rng, 30)
    new, _ = trees(rng, 9)
    return X, y, new


@pytest.fixture(scope="package")
def posteriors(table):
    from trees import every_kind

    X, y, _ = table
    return every_kind(X, y)


@pytest.fixture
def exact(posteriors):
    return posteriors["exact"]


@pytest.fixture
def saved(tmp_path):
    """A good file, in a folder with nothing else."""
    from savers import posterior

    posterior().save(tmp_path / "posterior.nc")
    return tmp_path / "posterior.nc"
