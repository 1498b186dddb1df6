"""Parametrisations of which ``make test`` runs a few, and ``make test-slow`` all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from cases import Case

__all__ = ["cases_fast", "names_fast"]


def names_fast(names: Iterable[str], fast: Collection[str]) -> list[Any]:
    """All names; those that are not in `fast` are in the slow suite only."""
    return [pytest.param(name, marks=[] if name in fast else [pytest.mark.slow], id=name) for name in names]


def cases_fast(cases: Iterable[Case], fast: Collection[str]) -> list[Any]:
    """All cases; those whose names are not in `fast` are in the slow suite only."""
    return [pytest.param(case, marks=[] if case.name in fast else [pytest.mark.slow], id=case.name) for case in cases]
