"""One column of a block: its family, and values of its parameters."""

from typing import Any

from bayesnb.families.base import Family, Parameters

__all__ = ["of_column", "parameters_of_column"]


def of_column[F: Family](family: F, j: int) -> F:
    """The family of one column, its arrays of shape (classes, 1) or (classes, 1, categories)."""
    return family.take((slice(None), slice(j, j + 1)))


def parameters_of_column(parameters: Parameters, j: int, num_leading: int) -> dict[str, Any]:
    """Values of the parameters of one column, given the number of axes before that of the classes."""
    at = (slice(None),) * (num_leading + 1) + (slice(j, j + 1),)
    return {name: value[at] for name, value in parameters.items()}
