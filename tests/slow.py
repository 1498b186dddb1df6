"""Parametrisations of which ``make test`` runs a few, and ``make test-slow`` all."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pytest
from cases import Case


def names_fast(names: Iterable[str], fast: Collection[str]) -> list[Any]:
    """All names; those that are not in `fast` are in the slow suite only."""
    return _marked({name: name for name in names}, fast)


def cases_fast(cases: Iterable[Case], fast: Collection[str]) -> list[Any]:
    """All cases; those whose names are not in `fast` are in the slow suite only."""
    return _marked({case.name: case for case in cases}, fast)


def _marked(values: Mapping[str, Any], fast: Collection[str]) -> list[Any]:
    return [
        pytest.param(value, marks=[] if name in fast else [pytest.mark.slow], id=str(name))
        for name, value in values.items()
    ]
