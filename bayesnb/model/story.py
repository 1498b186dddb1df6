"""The text of a model's repr."""

from collections.abc import Mapping
from textwrap import fill
from typing import Any

import jax

from bayesnb.blocks.class_prior import CLASS_SITE
from bayesnb.families.base import Family
from bayesnb.families.hyperparameters import format_number
from bayesnb.model.read import EVERY_COLUMN

__all__ = ["story"]

STORIES = 24
"""Largest number of features that a repr shows."""


def story(
    features: Mapping[Any, tuple[Family, Any]], class_concentration: Any, class_probs: Any, feature_inclusion: Any
) -> str:
    """The lines of a model's repr; parameters as `NaiveBayes` keeps them.

    Features share a line if they have the same lines, the same class of family and the same settings.
    """
    told: dict[Any, list[str]] = {}
    for name, (family, columns) in features.items():
        likelihood, prior = family.story()
        told.setdefault((jax.tree.structure(family), likelihood, *prior), []).append(_feature(name, columns))
    lines = [f"{CLASS_SITE} ~ {_class_prior(class_concentration, class_probs)}", f"y ~ Categorical({CLASS_SITE})"]
    for (_, likelihood, *prior), labels in list(told.items())[:STORIES]:
        lines.append(f"{', '.join(labels)} ~ {likelihood}")
        lines += [f"    {line}" for line in prior]
    if len(told) > STORIES:
        lines.append(f"and {len(told) - STORIES} more")
    if feature_inclusion is not None:
        shown = feature_inclusion if isinstance(feature_inclusion, dict) else format_number(feature_inclusion)
        lines.append(f"each feature depends on the class with probability {shown}, else classes share it")
    wrapped = [fill(line, 96, initial_indent="  ", subsequent_indent="      ") for line in lines]
    return "\n".join(["NaiveBayes, features independent given the class:", *wrapped])


def _feature(name: Any, columns: Any) -> str:
    """Name and columns of a feature."""
    if name is EVERY_COLUMN:
        return "every column"
    if columns is None:
        return str(name)
    if isinstance(columns, slice):
        return f"{name}[{columns.start or 0}:{'' if columns.stop is None else columns.stop}]"
    shown = ", ".join(str(column) for column in columns[:4]) + (", ..." if len(columns) > 4 else "")
    return f"{name}[{shown}]"


def _class_prior(concentration: Any, probs: Any) -> str:
    if probs is None:
        return f"Dirichlet({format_number(concentration)})"
    if isinstance(probs, str):
        return "the frequencies of the data, known"
    if isinstance(probs, Mapping):
        return f"{dict(probs)}, known"
    return f"{format_number(probs)}, known"
