"""Kinds of posteriors, and the posterior that a function is given, alone or inside a fitted estimator."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar, Concatenate, Protocol, Self

import numpy as np

from bayesnb.core.checking import a_type
from bayesnb.core.deferred import dist, pd
from bayesnb.core.printing import Printed
from bayesnb.families.family import Family
from bayesnb.model.blocks import feature_names, in_column_order
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model, as_model
from bayesnb.model.prior import ModelParameters
from bayesnb.model.problem import Problem
from bayesnb.posterior.belief import ClosedForm, DrawnForms, DrawnValues, OnePoint, offers, require
from bayesnb.posterior.diagnostics import Diagnostics
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# A single value for every parameter
# --------------------------------------------------------------------------------------------------


class PointPosterior(Posterior):
    """All the posterior's mass at one point: a maximum likelihood or MAP estimate, or known parameters.

    Attributes
    ----------
    parameters : ModelParameters
        The values, no leading axes.

    See Also
    --------
    MAP : The mode of the posterior.
    MLE : Maximum likelihood.
    from_parameters : A posterior of known parameters.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.Bernoulli(2.0, 2.0), X, y, nb.MAP())
    >>> posterior.predict_proba([[1, 1]])
    array([[0.75, 0.25]])
    """

    belief: OnePoint

    def __init__(
        self,
        model: BoundModel,
        parameters: ModelParameters,
        problem: Problem | None = None,
        inference: Any = None,
    ) -> None:
        super().__init__(problem, OnePoint(model, parameters), inference)

    @property
    def parameters(self) -> ModelParameters:
        """The values, no leading axes."""
        return self.belief.values

    def _with_class_probs(self, class_probs: np.ndarray) -> "PointPosterior":
        model, problem = _model_and_problem_with(self, class_probs)
        return PointPosterior(model, self.parameters.with_class_probs(class_probs), problem, self.inference)


def _model_and_problem_with(posterior: Posterior, class_probs: np.ndarray) -> tuple[BoundModel, Problem | None]:
    """Model and problem of a posterior with known class probabilities."""
    problem = posterior.problem
    return posterior.model.with_class_probs(class_probs), problem and problem.with_class_probs(class_probs)


class _SpreadPosterior(Posterior):
    """A posterior under which the parameters are uncertain."""

    def plugin(self) -> PointPosterior:
        """The posterior mean as a point estimate, which ignores that the parameters are uncertain.

        For single-trial features (Bernoulli, categorical) it predicts the same; for count vectors and Gaussians it is
        overconfident where there are few data.

        Raises
        ------
        ValueError
            If a mean is infinite, such as that of a variance with very few data.
        """
        mean = self.belief.mean()
        for site, value in self.model.sites.by_name(mean).items():
            if not np.isfinite(value).all():
                raise ValueError(
                    f"the posterior mean of {site!r} is infinite, so that it cannot be plugged in: predict "
                    "with the posterior itself, or give a prior with a finite mean"
                )
        return PointPosterior(self.model, mean)


# --------------------------------------------------------------------------------------------------
# The closed form
# --------------------------------------------------------------------------------------------------


class _ClosedFormPosterior(_SpreadPosterior):
    """A posterior of updated families."""

    problem: Problem
    belief: ClosedForm

    def __init__(self, problem: Problem, inference: Any) -> None:
        super().__init__(problem, ClosedForm(problem.resolved, problem.posterior), inference)

    def _with_class_probs(self, class_probs: np.ndarray) -> Self:
        return type(self)(self.problem.with_class_probs(class_probs), self.inference)

    @property
    def closed_form(self) -> Any:
        """The posterior of all parameters, of the type of the prior."""
        return self.belief.prior

    @property
    def families(self) -> tuple[Any, ...]:
        """Posterior of each block of the model, the same types as the priors."""
        return self.closed_form.families


class ExactPosterior(_ClosedFormPosterior):
    """The posterior in closed form: every family with updated hyperparameters.

    Attributes
    ----------
    families : tuple of ConjugateFamily
        Posterior of each block of the model, the same types as the priors.
    closed_form : Prior
        The posterior of all parameters, of the type of the prior.

    See Also
    --------
    Exact : The closed form.
    SampledPosterior : The posterior as draws.
    AveragedPosterior : The posterior averaged over subsets of the features.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> posterior.mean()["x_prob"].tolist()
    [[0.75], [0.25]]
    >>> posterior.summary().round(2)
                   mean    sd  lower  upper
    parameter
    class_prob[a]  0.50  0.19   0.20   0.80
    class_prob[b]  0.50  0.19   0.20   0.80
    x_prob[a, 0]   0.75  0.19   0.38   0.98
    x_prob[b, 0]   0.25  0.19   0.02   0.62
    """

    def marginals(self) -> "dict[str, dist.Distribution]":
        """Distribution of every scalar parameter, by site; batch shape that of the site.

        Class probabilities that are known have none.
        """
        return self.belief.marginals()

    def averaged(self, prior_inclusion: Any = 0.5) -> Posterior:
        """The posterior averaged over all subsets of the features, each in or out.

        Parameters
        ----------
        prior_inclusion : float, array of shape (features,), or mapping from feature to float, default 0.5
            Prior probability that a feature depends on the class; with one minus it, all classes share its parameters.

        Returns
        -------
        AveragedPosterior
            What a fit of the same model with ``feature_inclusion=prior_inclusion`` gives.

        Raises
        ------
        TypeError, ValueError
            If a number is not a probability, the priors of a column differ by class, or the hyperparameters were
            learned.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X = [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1], [0, 0]]
        >>> posterior = nb.fit(nb.Bernoulli(), X, ["a", "a", "a", "b", "b", "b"])
        >>> posterior.averaged().inclusion_probability.round(2).to_dict()
        {0: 0.9, 1: 0.49}
        >>> posterior.predict_proba([[1, 0]]).round(2), posterior.averaged().predict_proba([[1, 0]]).round(2)
        (array([[0.86, 0.14]]), array([[0.8, 0.2]]))
        """
        if self.problem.learned_from is not None:
            raise ValueError(
                "the hyperparameters of this posterior were learned on the condition that every feature depends on "
                "the class: average a model with numbers, nb.NaiveBayes(..., feature_inclusion=...)"
            )
        model = self.problem.model.with_feature_inclusion(prior_inclusion)
        return self.inference.fit(replace(self.problem, model=model), key=0)


# --------------------------------------------------------------------------------------------------
# The closed form, averaged over all subsets of the features
# --------------------------------------------------------------------------------------------------


class AveragedPosterior(_ClosedFormPosterior):
    r"""The posterior in closed form, averaged over all subsets of the features.

    A feature either has a parameter for every class, or all classes share one. With D features there are :math:`2^D`
    such models, and the prior probabilities of inclusion :math:`p_d` are a distribution over them. One pass averages
    all of them, because the sum over subsets is a product over features (Dash and Cooper 2002, *Exact model averaging
    with naive Bayesian classifiers*, ICML, 91-98):

    .. math::
        p(y=c \mid x, D) \propto p(c \mid D) \prod_d \left[ w_d \, p(x_d \mid c, D) + (1 - w_d) \, p(x_d \mid D)
        \right], \qquad w_d = \frac{p_d B_d}{1 - p_d + p_d B_d},

    with :math:`B_d` the Bayes factor of `feature_evidence` and :math:`p(x_d \mid D)` the predictive of a parameter that
    all classes share. It has all methods of a posterior: draws share a feature's parameters among the classes with
    probability :math:`1 - w_d`.

    `ExactPosterior.averaged`, or a fit of ``nb.NaiveBayes(..., feature_inclusion=0.5)``, gives one.

    Attributes
    ----------
    families, shared : tuple of ConjugateFamily
        Posterior of each block, a parameter for every class, and one for all of them (class axis of length one).
    closed_form : Prior
        The posterior of all parameters, of the type of the prior.

    See Also
    --------
    ExactPosterior.averaged : How to get one from an exact posterior.
    feature_evidence : The evidence that a feature depends on the class.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.Bernoulli(), X, y).averaged(0.5)
    >>> posterior.predict_proba([[1, 1]]).round(3)
    array([[0.692, 0.308]])
    """

    @property
    def families(self) -> tuple[Any, ...]:
        return tuple(family.family for family in self.closed_form.families)

    @property
    def shared(self) -> tuple[Any, ...]:
        """Posterior of the parameters that all classes share, for each block."""
        return tuple(family.shared for family in self.closed_form.families)

    @property
    def inclusion_probability(self) -> Any:
        """Posterior probability that each feature depends on the class, a pandas series by feature."""
        values = in_column_order(self.model.blocks, [family.prob[0].tolist() for family in self.closed_form.families])
        names = pd.Index(feature_names(self.model.blocks), name="feature", tupleize_cols=False)
        return pd.Series(values, index=names, name="inclusion_probability", dtype=np.float64)


# --------------------------------------------------------------------------------------------------
# Draws from the posterior
# --------------------------------------------------------------------------------------------------


class SampledPosterior(_SpreadPosterior):
    """The posterior as draws, by NUTS or by any other sampler.

    Attributes
    ----------
    parameters : ModelParameters
        The draws, leading axes (chain, draw).
    sample_stats : dict
        The sampler's statistics, arrays of shape (chain, draw), in ArviZ's names. Draws of another sampler have those
        that came with them.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    from_samples : A posterior from draws of another sampler.
    compare : Whether samples agree with the closed form.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> draws = nb.fit(nb.Bernoulli(), X, y).draws(num_draws=500)
    >>> posterior = nb.from_samples(nb.Bernoulli(), draws, X=X, y=y)
    >>> posterior.num_draws
    500
    """

    belief: DrawnValues
    _kind: ClassVar[type[DrawnValues]] = DrawnValues

    def __init__(
        self,
        problem: Problem | None,
        model: BoundModel,
        parameters: ModelParameters,
        sample_stats: dict[str, np.ndarray],
        inference: Any,
    ) -> None:
        pairs = zip(model.families, parameters.blocks, strict=True)
        parameters = replace(parameters, blocks=tuple(dict(family.on_a_line(block)) for family, block in pairs))
        statistics = None if problem is None else problem.statistics
        belief = self._kind(model, parameters, sample_stats, statistics, own=inference is not None)
        super().__init__(problem, belief, inference)

    def _with_class_probs(self, class_probs: np.ndarray) -> "SampledPosterior":
        model, problem = _model_and_problem_with(self, class_probs)
        # Without a learned hyperparameter there are no closed forms to average.
        kind = type(self) if model.description.hyperpriors else SampledPosterior
        values = self.parameters.with_class_probs(class_probs)
        return kind(problem, model, values, self.sample_stats, self.inference)

    @property
    def parameters(self) -> ModelParameters:
        """The draws, leading axes (chain, draw)."""
        return self.belief.values

    @property
    def sample_stats(self) -> dict[str, np.ndarray]:
        return self.belief.stats

    @property
    def num_chains(self) -> int:
        """Number of chains."""
        return self.parameters.class_prob.shape[0]

    @property
    def num_draws(self) -> int:
        """Number of draws in each chain."""
        return self.parameters.class_prob.shape[1]

    @property
    def diagnostics(self) -> Diagnostics:
        """R-hat, effective sample sizes and divergences of the draws."""
        return self.belief.diagnostics


# --------------------------------------------------------------------------------------------------
# Draws of hyperparameters, and the closed form given each of them
# --------------------------------------------------------------------------------------------------


class CollapsedPosterior(SampledPosterior):
    """The posterior under learned hyperparameters: draws of these, and the closed form given each.

    Its draws of the parameters are exact given the draws of the hyperparameters. It predicts with the closed forms
    themselves, averaged over up to 400 evenly spaced draws of the hyperparameters (Rao-Blackwell), which has far less
    Monte Carlo error than an average over draws of all the parameters.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    SampledPosterior : The posterior as draws.
    EmpiricalBayes : Hyperparameters that maximise the evidence.

    Examples
    --------
    >>> import bayesnb as nb
    >>> import numpyro.distributions as dist
    >>> X, y = [[2], [0], [1], [7], [5], [9]], ["a", "a", "a", "b", "b", "b"]
    >>> model = nb.NaiveBayes(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0))
    >>> posterior = nb.fit(model, X, y, nb.NUTS(num_samples=500))
    >>> type(posterior).__name__
    'CollapsedPosterior'
    >>> posterior.predict([[8]])
    array(['b'], dtype='<U1')
    """

    _kind = DrawnForms


# --------------------------------------------------------------------------------------------------
# The posterior that a function is given
# --------------------------------------------------------------------------------------------------


ON_LABELS_ONLY = "Weights of features act on the labels only: the features given the class are those without weights."
"""Remark of results that describe the features."""


class Fitted(Protocol):
    """A fitted estimator of `bayesnb.estimators`, which holds its posterior."""

    posterior_: Any

    def checked_table(self, X: Any) -> Any:
        """A table as the estimator reads it, for its posterior."""


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


def table_for(given: Any, X: Any) -> Any:
    """A table as a fitted estimator reads it for its posterior; as it is for a posterior."""
    return X if isinstance(given, Posterior) else given.checked_table(X)


def posterior_of_features[**P, R](
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
