"""The inference that a user gives, or the default."""

from typing import Any

from bayesnb.inference.base import Inference
from bayesnb.inference.exact import Exact

__all__ = ["as_inference"]


def as_inference(inference: Any) -> Inference:
    """The inference that is given, `Exact()` by default.

    Raises
    ------
    TypeError
        If it is not an inference, or is a class of inferences rather than an instance.
    """
    if inference is None:
        return Exact()
    if isinstance(inference, type) and issubclass(inference, Inference):
        raise TypeError(f"inference is the class {inference.__name__}: give an instance, nb.{inference.__name__}()")
    if not isinstance(inference, Inference):
        raise TypeError(
            f"inference is {inference!r}: give nb.Exact(), nb.NUTS(), nb.Gibbs(), nb.MAP(), nb.MLE() or nb.EM()"
        )
    return inference
