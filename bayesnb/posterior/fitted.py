"""The posterior that a function is given, alone or inside a fitted estimator."""

from typing import Any, Protocol

from bayesnb.posterior.base import Posterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.validate import a_type

__all__ = ["Fitted", "posterior_of"]


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
    if isinstance(given, Posterior):
        return given
    posterior = getattr(given, "posterior_", None)
    if isinstance(posterior, Posterior):
        if getattr(given, "predictive", None) == "plugin" and not isinstance(posterior, PointPosterior):
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
    # The rule by which scikit-learn recognises fitted estimators.
    if hasattr(given, "fit") and not any(attribute.endswith("_") for attribute in vars(given)):
        raise ValueError(
            f"This {type(given).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            "using this estimator."
        )
    raise TypeError(
        f"{name} is {a_type(given)}: give what nb.fit(model, X, y) returns, or a fitted estimator of bayesnb.estimators"
    )
