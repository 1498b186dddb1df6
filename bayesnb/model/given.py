"""What users may give as a model: a description, the model of a table, or a family alone."""

from typing import Any

from bayesnb.families.base import Family
from bayesnb.model.bound import BoundModel, bind
from bayesnb.model.describe import NaiveBayes

__all__ = ["Model", "as_model", "of_table"]

Model = NaiveBayes | BoundModel
"""What is fitted: a description, or the model of a table."""


def of_table(model: Model, X: Any, y: Any = None, classes: Any = None) -> BoundModel:
    """The model that a fit to a table conditions: a description is bound to the table, and a bound model stays bound.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    X : table, shape (rows, columns)
    y : labels, shape (rows,), optional
    classes : sequence or int, optional
        Labels that may occur, also for a bound model.
    """
    if isinstance(model, NaiveBayes):
        return bind(model, X, y, classes)
    return model if classes is None else model.with_classes(classes)


def as_model(model: Any) -> Model:
    """The model asked for; a family alone means the model that has it in every column.

    Raises
    ------
    TypeError
        If it is neither a model nor a family.
    """
    if isinstance(model, Family):
        return NaiveBayes(model)
    if not isinstance(model, Model):
        raise TypeError(f"model is {model!r}: give nb.NaiveBayes(...) or a family such as nb.Bernoulli()")
    return model
