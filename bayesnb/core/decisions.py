"""Decisions about rows: labels of least expected loss, and abstention. It imports NumPy alone."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bayesnb.core.checking import proportion


def decision_rule(
    classes: np.ndarray, *, loss: Any = None, confidence: float | None = None, abstain: Any = None
) -> Callable[[np.ndarray], np.ndarray]:
    """From class probabilities, shape (rows, classes), to labels, shape (rows,); arguments as for `Posterior.predict`.

    Raises
    ------
    TypeError, ValueError
        If the losses do not fit the classes, or the arguments do not go together.
    """
    if loss is not None and confidence is not None:
        raise ValueError(
            "loss and confidence are both given, and each is a rule of its own: give loss alone, a pandas frame with "
            "one more row that holds the loss of abstaining"
        )
    if confidence is None and abstain is not None:
        raise ValueError(
            f"abstain is {abstain!r} and there is no confidence below which to abstain: give confidence, or put the "
            "action into the index of loss"
        )
    if loss is not None:
        actions, losses = _read_loss(loss, classes)
        return lambda proba: actions[(proba @ losses.T).argmin(axis=1)]
    if confidence is not None:
        labels, least = _with_marker(classes, abstain), proportion("confidence", confidence, or_one=True)
        return lambda proba: labels[np.where(proba.max(axis=1) >= least, proba.argmax(axis=1), len(classes))]
    return lambda proba: classes[proba.argmax(axis=1)]


def _with_marker(classes: np.ndarray, abstain: Any) -> np.ndarray:
    """The classes and the marker, in the classes' type if the marker fits it, else as objects."""
    kind = classes.dtype.kind
    if kind != "O" and np.ndim(abstain) == 0 and np.asarray(abstain).dtype.kind == kind:
        return np.append(classes, abstain)
    return np.fromiter([*classes.astype(object), abstain], dtype=object, count=len(classes) + 1)


def _read_loss(loss: Any, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The actions, and the loss of each under each class, shape (actions, classes)."""
    labels, actions = classes.tolist(), classes
    frames: Any = getattr(sys.modules.get("pandas"), "DataFrame", ())
    if isinstance(loss, frames):
        _require_labels(loss, labels)
        actions, loss = array_of_labels(loss.index.tolist()), loss[labels]
    elif hasattr(loss, "columns"):
        raise TypeError(
            f"loss is a {type(loss).__module__.split('.')[0]} table, whose rows have no labels: give a pandas "
            "frame with the actions as index, or an array"
        )
    try:
        losses = np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"loss is {loss!r}: give an array or a pandas frame of numbers") from None
    if losses.shape != (len(actions), len(labels)):
        raise ValueError(
            f"loss has shape {losses.shape}, there are {len(labels)} classes: give an array of shape "
            f"({len(labels)}, {len(labels)}), a row for each label decided and a column for each that is true, "
            f"both in the order {labels}; a pandas frame may have other actions in its index"
        )
    for a, c in np.argwhere(~np.isfinite(losses)):
        raise ValueError(
            f"the loss of deciding {actions.tolist()[a]!r} where {labels[c]!r} is true is {losses[a, c]}: give finite "
            "numbers; a large one excludes the action"
        )
    return actions, losses


def _require_labels(loss: Any, labels: list[Any]) -> None:
    """Raise for a frame whose columns are not the labels, or whose index lacks an action or repeats one."""
    actions, truths = loss.index.tolist(), loss.columns.tolist()
    missing = [label for label in labels if label not in truths]
    strange = [truth for truth in truths if truth not in labels]
    if missing or strange:
        which = f"no column {missing[0]!r}" if missing else f"the column {strange[0]!r}, which is no class"
        raise ValueError(
            f"loss has {which}: its columns are the labels that may be true, which are {labels}; other actions than "
            "these go into the index"
        )
    for names, axis in ((truths, "columns"), (actions, "index")):
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"loss names {name!r} twice in its {axis}: give each label once")
    if not actions:
        raise ValueError("loss has no rows: give one for each action, with the action as its index")


def array_of_labels(labels: Sequence[Any]) -> np.ndarray:
    """Labels or actions in an array of their type, or of objects if they are tuples or have several types."""
    if len({*map(type, labels)}) == 1 and not isinstance(labels[0], tuple):
        return np.array(labels)
    return np.fromiter(labels, dtype=object, count=len(labels))
