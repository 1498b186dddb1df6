"""Decisions about rows: labels of least expected loss, abstention, and the parts of a prediction's uncertainty."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy.special import entr

from bayesnb.tables.columns import near_matches
from bayesnb.tables.labels import as_labels

__all__ = ["NATS", "decision_rule", "entropy_split", "nats_of"]

Rule = Callable[[np.ndarray], np.ndarray]
"""Maps log class probabilities, shape (rows, classes), to decisions, shape (rows,)."""

NATS = {"nats": 1.0, "bits": float(np.log(2))}
"""Units of entropy, in nats."""


def nats_of(unit: Any, units: Mapping[str, float] = NATS) -> float:
    """The nats of a unit.

    Raises
    ------
    ValueError
        If the unit is not among the units.
    """
    if unit not in units:
        raise ValueError(f"unit is {unit!r}{near_matches(unit, units)}: give one of {list(units)}")
    return units[unit]


def decision_rule(
    classes: np.ndarray, *, loss: Any = None, confidence: float | None = None, abstain: Any = None
) -> Rule:
    """The decision rule for given arguments; `Posterior.predict` explains them.

    Parameters
    ----------
    classes : array, shape (classes,)
    loss : array of shape (classes, classes) or pandas.DataFrame, optional
    confidence : float, optional
    abstain : scalar, optional

    Returns
    -------
    callable
        From class probabilities, shape (rows, classes), to labels, shape (rows,).

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
        return _least_expected_loss(*_read_loss(loss, classes))
    if confidence is not None:
        return _most_probable_if_sure(classes, _read_confidence(confidence), abstain)
    return lambda proba: classes[proba.argmax(axis=1)]


def entropy_split(draws: Iterable[np.ndarray]) -> np.ndarray:
    r"""Entropy of a label whose class probabilities are uncertain, and the part that would be left if they were known.

    Parameters
    ----------
    draws : iterable of array, shape (draws, rows, classes)
        Class probabilities under draws of the parameters, in pieces, so that they need not be in memory together.

    Returns
    -------
    array, shape (rows, 2)
        :math:`H(\bar p)` and the mean of :math:`H(p)`, in nats, :math:`\bar p` being the mean over all draws. The
        first is never the smaller one, because entropy is concave.
    """
    number, proba, conditional = 0, np.zeros(()), np.zeros(())
    for piece in draws:
        number += len(piece)
        proba = proba + piece.sum(axis=0)
        conditional = conditional + entr(piece).sum(axis=(0, 2))
    total, conditional = entr(proba / number).sum(axis=-1), conditional / number
    return np.column_stack([np.maximum(total, conditional), conditional])


def _least_expected_loss(actions: np.ndarray, losses: np.ndarray) -> Rule:
    return lambda proba: actions[(proba @ losses.T).argmin(axis=1)]


def _most_probable_if_sure(classes: np.ndarray, confidence: float, abstain: Any) -> Rule:
    labels = _with_marker(classes, abstain)

    def decide(proba: np.ndarray) -> np.ndarray:
        sure = proba.max(axis=1) >= confidence
        return labels[np.where(sure, proba.argmax(axis=1), len(classes))]

    return decide


def _with_marker(classes: np.ndarray, abstain: Any) -> np.ndarray:
    """The classes and the marker, in the classes' type where the marker has it, else as objects."""
    kind = classes.dtype.kind
    if kind != "O" and np.ndim(abstain) == 0 and np.asarray(abstain).dtype.kind == kind:
        return np.append(classes, abstain)
    labels = np.empty(len(classes) + 1, dtype=object)
    labels[:-1] = classes.astype(object)
    labels[-1] = abstain
    return labels


def _read_confidence(confidence: Any) -> float:
    number = isinstance(confidence, int | float | np.integer | np.floating) and not isinstance(confidence, bool)
    if not (number and 0 < confidence <= 1):
        raise ValueError(f"confidence is {confidence!r}: give a probability, above 0 and at most 1")
    return float(confidence)


def _read_loss(loss: Any, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The actions, and the loss of each under each class, shape (actions, classes)."""
    import pandas as pd

    labels = classes.tolist()
    if not isinstance(loss, pd.DataFrame):
        if hasattr(loss, "columns"):
            raise TypeError(
                f"loss is a {type(loss).__module__.split('.')[0]} table, whose rows have no labels: give a pandas "
                "frame with the actions as index, or an array"
            )
        losses = _numbers(loss)
        if losses.shape != (len(labels), len(labels)):
            raise ValueError(
                f"loss has shape {losses.shape}, there are {len(labels)} classes: give an array of shape "
                f"({len(labels)}, {len(labels)}), a row for each label decided and a column for each that is true, "
                f"both in the order {labels}; a pandas frame may have other actions in its index"
            )
        _require_finite(losses, labels, labels)
        return classes, losses
    actions, truths = loss.index.tolist(), loss.columns.tolist()
    _require_each_class(truths, labels)
    _require_once(actions, "index")
    if not actions:
        raise ValueError("loss has no rows: give one for each action, with the action as its index")
    losses = _numbers(loss)[:, [truths.index(label) for label in labels]]
    _require_finite(losses, actions, labels)
    return as_labels(actions), losses


def _numbers(loss: Any) -> np.ndarray:
    try:
        return np.asarray(loss, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"loss is {loss!r}: give an array or a pandas frame of numbers") from None


def _require_each_class(truths: list[Any], labels: list[Any]) -> None:
    missing = [label for label in labels if label not in truths]
    strange = [truth for truth in truths if truth not in labels]
    if missing or strange:
        which = f"no column {missing[0]!r}" if missing else f"the column {strange[0]!r}, which is no class"
        raise ValueError(
            f"loss has {which}: its columns are the labels that may be true, which are {labels}; other actions than "
            "these go into the index"
        )
    _require_once(truths, "columns")


def _require_once(labels: list[Any], axis: str) -> None:
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ValueError(f"loss names {twice[0]!r} twice in its {axis}: give each label once")


def _require_finite(losses: np.ndarray, actions: list[Any], labels: list[Any]) -> None:
    wrong = ~np.isfinite(losses)
    if wrong.any():
        a, c = (int(index[0]) for index in np.nonzero(wrong))
        raise ValueError(
            f"the loss of deciding {actions[a]!r} where {labels[c]!r} is true is {losses[a, c]}: give finite "
            "numbers; a large one excludes the action"
        )
