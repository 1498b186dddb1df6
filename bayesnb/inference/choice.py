"""The inference that a user gives, by name or with settings, or the default."""

from collections.abc import Mapping
from typing import Any

from bayesnb.inference.base import Inference
from bayesnb.inference.exact import Exact
from bayesnb.inference.expectation import EM
from bayesnb.inference.gibbs import Gibbs
from bayesnb.inference.nuts import NUTS
from bayesnb.inference.point import MAP, MLE

__all__ = ["as_inference"]

INFERENCES: Mapping[str, Inference] = {
    "exact": Exact(),
    "nuts": NUTS(),
    "gibbs": Gibbs(),
    "map": MAP(),
    "mle": MLE(),
    "em": EM(),
}
"""The inferences that have a name."""


def as_inference(inference: Any) -> Inference:
    """The inference that is given, `Exact()` by default.

    Raises
    ------
    TypeError
        If it is neither an inference nor a name, or is a class of inferences rather than an instance.
    ValueError
        If it is a text that names none.
    """
    if inference is None:
        return INFERENCES["exact"]
    if isinstance(inference, Inference):
        return inference
    if isinstance(inference, type) and issubclass(inference, Inference):
        raise TypeError(f"inference is the class {inference.__name__}: give an instance, nb.{inference.__name__}()")
    if not isinstance(inference, str) or inference not in INFERENCES:
        error = ValueError if isinstance(inference, str) else TypeError
        raise error(f"inference is {inference!r}: give one of {[*INFERENCES]}, or such as nb.NUTS(num_samples=500)")
    return INFERENCES[inference]
