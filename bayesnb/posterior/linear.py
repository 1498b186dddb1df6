"""The linear rule for two classes of 0/1 features."""

import numpy as np

from bayesnb.model.bound import BoundModel
from bayesnb.reading.densities import Density

__all__ = ["linear_rule"]


def linear_rule(model: BoundModel, density: Density) -> tuple[np.ndarray, float]:
    """Weights and bias; `Posterior.decision_boundary` gives the formula and the errors."""
    classes = model.schema.classes
    if len(classes) != 2:
        raise ValueError(
            f"there are {len(classes)} classes {classes.tolist()}, and a linear rule needs two: fit two of them"
        )
    for block in model.blocks:
        if not block.is_binary:
            raise ValueError(
                f"column {block.labels[0]!r} is {block.family.family_name}: the rule is linear in 0/1 features only"
            )
    sizes = [len(block.columns) for block in model.blocks]
    at_zero = density.log_joint_of(tuple(np.zeros((1, size)) for size in sizes))
    bias = float(at_zero[0, 1] - at_zero[0, 0])
    weights: dict[int, float] = {}
    for i, block in enumerate(model.blocks):
        chunk = tuple(np.eye(size) if i == k else np.zeros((sizes[i], size)) for k, size in enumerate(sizes))
        joint = density.log_joint_of(chunk)
        weights |= dict(zip(block.columns, joint[:, 1] - joint[:, 0] - bias, strict=True))
    return np.array([weights[column] for column in sorted(weights)]), bias
