"""Classes of a table that something is chosen by."""

import numpy as np

__all__ = ["require_two_classes"]


def require_two_classes(classes: np.ndarray) -> None:
    """Refuse labels of one class.

    Raises
    ------
    ValueError
    """
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes.tolist()[0]!r}, so that there is nothing to predict: give rows of "
            "another class too"
        )
