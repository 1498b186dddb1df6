"""Do two posteriors record the same prior and the same data?"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from bayesnb.arrays import close
from bayesnb.blocks.class_prior import CLASS_SITE
from bayesnb.model.bound import BoundModel
from bayesnb.problem import Problem

__all__ = ["differences"]


def differences(mine: Problem, theirs: Problem) -> list[str]:
    """Differences of prior and data, in words; empty if there are no differences."""
    found = []
    priors = _other_priors(mine, theirs)
    if priors:
        found.append(f"the priors of {', '.join(priors[:4])}{', ...' if len(priors) > 4 else ''} differ")
    if not _same_data(mine, theirs):
        found.append("the data differ")
    return found


def _other_priors(mine: Problem, theirs: Problem) -> list[str]:
    # Defaults follow the data: other data give other numbers of the same prior.
    written = _by_column(mine.model, mine.model.families), _by_column(theirs.model, theirs.model.families)
    used = _by_column(mine.resolved, mine.resolved.families), _by_column(theirs.resolved, theirs.resolved.families)
    other = [
        name
        for name in used[0]
        if not close(used[0][name], used[1][name]) and not close(written[0][name], written[1][name])
    ]
    if not close(mine.resolved.class_prior, theirs.resolved.class_prior) and mine.model.class_probs != "empirical":
        other.insert(0, CLASS_SITE)
    return other


def _same_data(mine: Problem, theirs: Problem) -> bool:
    if theirs.unlabelled is not None or not mine.statistics.classes.same_rows(theirs.statistics.classes):
        return False
    one, other = (_by_column(problem.model, problem.statistics.blocks) for problem in (mine, theirs))
    return one.keys() == other.keys() and all(one[name].same_rows(other[name]) for name in one)


def _by_column(model: BoundModel, trees: Sequence[Any]) -> dict[str, Any]:
    """Families or statistics of blocks, by column or block, because models may order them differently."""
    found = {}
    for block, tree in zip(model.blocks, trees, strict=True):
        for j in block.members:
            name = block.name if j is None else str(block.labels[j])
            found[name] = tree if j is None else jax.tree.map(lambda leaf, j=j: np.asarray(leaf)[:, j], tree)
    return found
