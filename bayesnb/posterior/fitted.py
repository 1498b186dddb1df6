"""The posterior that a function is given, alone or inside a fitted estimator."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Protocol

from bayesnb.core.checking import a_type
from bayesnb.core.printing import Printed
from bayesnb.families.family import Family
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model, as_model
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.posterior import Posterior

ON_LABELS_ONLY = "Weights of features act on the labels only: the features given the class are those without weights."
"""Remark of results that describe the features."""


class Fitted(Protocol):
    """A fitted estimator of `bayesnb.estimators`, which holds its posterior."""

    posterior_: Any


def posterior_of(given: Any, name: str = "posterior") -> Posterior:
    """The posterior itself, or that of a fitted estimator.

    Estimators are recognised by their attributes, so that scikit-learn need not be installed.

    Parameters
    ----------
    given : Posterior or fitted estimator
    name : str, default "posterior"
        Name of the argument, for errors.

    Raises
    ------
    TypeError
        If it is neither, or a pipeline or a search, because the table that these get is not the one that their
        estimator gets.
    ValueError
        If it is an estimator that is not fitted, or that predicts with ``predictive="plugin"`` and not with its
        posterior.
    """
    posterior = getattr(given, "posterior_", given)
    if isinstance(posterior, Posterior):
        if getattr(given, "predictive", None) == "plugin" and offers(posterior, "a distribution of the parameters"):
            raise ValueError(
                f'{name} is {a_type(given)} with predictive="plugin", which predicts with one value of the parameters '
                "and not with its posterior: give estimator.posterior_ if the posterior is meant"
            )
        return posterior
    if hasattr(given, "named_steps"):
        raise TypeError(
            f"{name} is {a_type(given)}: give its last step, pipeline[-1], and the table that this step gets, "
            "pipeline[:-1].transform(X)"
        )
    if hasattr(given, "best_estimator_"):
        raise TypeError(f"{name} is {a_type(given)}: give the estimator that it found, search.best_estimator_")
    # scikit-learn recognises fitted estimators by this rule.
    if hasattr(given, "fit") and not any(attribute.endswith("_") for attribute in vars(given)):
        raise ValueError(
            f"This {type(given).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )
    raise TypeError(
        f"{name} is {a_type(given)}: give what nb.fit(model, X, y) returns, or a fitted estimator of bayesnb.estimators"
    )


def of_features[**P, R](
    verb: Callable[Concatenate[Posterior, P], R],
) -> Callable[Concatenate[Posterior | Fitted, P], R]:
    """Give a function, in place of its first argument, the posterior of the features given the class.

    Weights of features, and features that describe columns once more, change nothing that such a function tells. A
    result that prints itself says so.
    """

    @wraps(verb)
    def wrapped(posterior: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        given = posterior_of(posterior)
        found = verb(given.generative, *args, **kwargs)
        if given.generative is not given and isinstance(found, Printed):
            object.__setattr__(found, "note", ON_LABELS_ONLY)
        return found

    return wrapped


def description_of(given: Any) -> Any:
    """The description of a model, or of the model of a posterior or fitted estimator; errors as for `model_of`."""
    model = model_of(given)
    return model.description if isinstance(model, BoundModel) else model


def model_of(given: Any) -> Model:
    """The model itself, or that of a posterior or of a fitted estimator.

    Raises
    ------
    TypeError, ValueError
        If it is none of these.
    """
    if isinstance(given, Model | Family) or not isinstance(getattr(given, "posterior_", given), Posterior):
        return as_model(given)
    return require(posterior_of(given, "model"), "data", "the model").generative.problem.model
