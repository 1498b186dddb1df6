"""The text of a model's repr."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import jax

from bayesnb.blocks.block import Block
from bayesnb.blocks.class_prior import CLASS_SITE
from bayesnb.families.base import Family
from bayesnb.families.hyperparameters import format_number
from bayesnb.model.read import EVERY_COLUMN
from bayesnb.printing import Code, Heading, Piece
from bayesnb.tables.columns import first_few

__all__ = ["Described", "parameter_notes", "printed_model", "printed_story"]

STORIES = 24
"""Largest number of features that a repr shows."""


class Described(Protocol):
    """What a description of a model and a bound model have in common."""

    @property
    def features(self) -> Mapping[Any, tuple[Family, Any]]:
        """Family and columns of each feature."""

    @property
    def class_concentration(self) -> Any:
        """Concentration of the Dirichlet prior on the class probabilities."""

    @property
    def class_probs(self) -> Any:
        """Class probabilities where they are known."""

    @property
    def feature_inclusion(self) -> Any:
        """Prior probability that a feature depends on the class, where the model averages over subsets."""


def printed_model(model: Described) -> list[Piece]:
    """The parts of a model's printed form."""
    return [Heading("NaiveBayes, features independent given the class:"), printed_story(model, STORIES)]


def printed_story(model: Described, most: int) -> Code:
    """The statements of a model: distributions of classes, of parameters and of at most so many features.

    Features share a line if they have the same lines, the same class of family and the same settings.
    """
    told: dict[Any, list[str]] = {}
    for name, (family, columns) in model.features.items():
        likelihood, priors = family.story()
        told.setdefault((jax.tree.structure(family), likelihood, *priors), []).append(_feature(name, columns))
    prior = _class_prior(model.class_concentration, model.class_probs)
    lines = [
        f"{CLASS_SITE} ~ {prior}",
        f"y ~ Categorical({CLASS_SITE})",
    ]
    for (_, likelihood, *priors), labels in list(told.items())[:most]:
        lines.append(f"{', '.join(labels)} ~ {likelihood}")
        lines += [f"    {line}" for line in priors]
    if len(told) > most:
        lines.append(f"… and {len(told) - most} more")
    inclusion = model.feature_inclusion
    if inclusion is not None:
        shown = inclusion if isinstance(inclusion, dict) else format_number(inclusion)
        lines.append(f"each feature depends on the class with probability {shown}, else classes share it")
    return Code([f"  {line}" for line in lines])


def parameter_notes(blocks: Iterable[Block]) -> list[str]:
    """Sentences about columns whose parameters are not those of the cells, such as those of the logarithm."""
    told: dict[str, list[str]] = {}
    for block in blocks:
        if note := block.family.parameter_note:
            told.setdefault(note, []).extend(map(str, block.labels))
    return [f"{first_few(columns)}: {note}." for note, columns in told.items()]


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
