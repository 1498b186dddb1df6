"""The inference that a user gives, or the default."""

from typing import Any

from bayesnb.inference.base import Inference
from bayesnb.inference.exact import Exact

__all__ = ["as_inference"]

NAMES = ("Exact", "NUTS", "Gibbs", "MAP", "MLE", "EM", "EmpiricalBayes")
BY_TEXT = {name.casefold(): name for name in NAMES}
"""Names of inferences by the text that a user may give in place of an instance."""


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
    if isinstance(inference, str) and inference.casefold() in BY_TEXT:
        raise TypeError(f"inference is {inference!r}: give an instance, nb.{BY_TEXT[inference.casefold()]}()")
    if not isinstance(inference, Inference):
        raise TypeError(
            f"inference is {inference!r}: give {', '.join(f'nb.{name}()' for name in NAMES[:-1])} or nb.{NAMES[-1]}()"
        )
    return inference
