"""Evidence that a feature depends on the class, and its picture."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pandas as pd
from scipy.special import expit

from bayesnb.core.arrays import in_float64
from bayesnb.core.checking import first_few, warn, whole_number
from bayesnb.core.forest import Points, Rows, forest, how_many
from bayesnb.core.panels import chosen, yes_or_no
from bayesnb.core.running import random_generator
from bayesnb.families.base import Family, Parameters
from bayesnb.families.categories import Bernoulli
from bayesnb.families.joint import JointFamily
from bayesnb.model.blocks import Block, ModelParameters, ModelStatistics
from bayesnb.model.describe import (
    feature_names,
    in_column_order,
    log_evidences,
    log_inclusion,
    read_inclusion,
    shared_families,
    spread_inclusion,
)
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.kinds import PointPosterior, SampledPosterior
from bayesnb.posterior.under_draws import draws_in_pieces, independent_draws
from bayesnb.posterior.weighted import of_features

__all__ = [
    "FeatureEvidence",
    "column_inclusion",
    "family_of_each_column",
    "feature_evidence",
    "information",
    "information_at_mean",
    "labels_of_information",
    "mean_information",
    "statistics_of_each_column",
]

# --------------------------------------------------------------------------------------------------
# Mutual information of a posterior's parameters: at their mean, and averaged over draws
# --------------------------------------------------------------------------------------------------

CHAINS, DRAWS = 4, 50
"""Number of draws from a closed form, unless the user gives it."""


def labels_of_information(block: Block) -> tuple[Any, ...]:
    """Names of the rows of `mutual_information`: a block's columns, or the name of a joint block of categories."""
    return (block.name,) if block.is_joint and block.has_categories else block.labels


def information_at_mean(posterior: Posterior) -> list[np.ndarray]:
    """Mutual information at the posterior mean, in nats, for each block an array of shape (columns,)."""
    with np.errstate(divide="ignore"):  # an infinite mean
        mean = posterior.distribution.mean()
    return [found[0] for found in _under_draws(posterior, jax.tree.map(lambda value: np.asarray(value)[None], mean))]


def mean_information(posterior: Posterior, num_draws: int | None, key: Any) -> list[np.ndarray]:
    """Mutual information averaged over draws, in nats, for each block an array of shape (columns,).

    NaN for a point estimate, which has no distribution.
    """
    if isinstance(posterior, PointPosterior):
        return [np.full(len(labels_of_information(block)), np.nan) for block in posterior.model.blocks]
    sums = [
        (len(draws.class_prob), [found.sum(axis=0) for found in _under_draws(posterior, draws)])
        for draws in _some_at_a_time(posterior, num_draws, key)
    ]
    number = sum(size for size, _ in sums)
    return [np.sum(of_block, axis=0) / number for of_block in zip(*(found for _, found in sums), strict=True)]


def _under_draws(posterior: Posterior, draws: ModelParameters) -> list[np.ndarray]:
    """Mutual information under draws with one leading axis, for each block an array of shape (draws, columns)."""
    class_prob = np.asarray(draws.class_prob)[..., None]
    found = []
    for block, parameters in zip(posterior.model.blocks, draws.blocks, strict=True):
        family = block.family
        of_columns = family.parameters_of_each_column(parameters) if isinstance(family, JointFamily) else parameters
        found.append(information(block, class_prob, {name: np.asarray(value) for name, value in of_columns.items()}))
    return found


def _some_at_a_time(posterior: Posterior, num_draws: int | None, key: Any) -> Iterator[ModelParameters]:
    """Draws of all parameters with one leading axis, as many at a time as fit in memory."""
    if isinstance(posterior, SampledPosterior):
        return draws_in_pieces(posterior.distribution.draw(None, num_draws, key))
    number = CHAINS * whole_number("num_draws", DRAWS if num_draws is None else num_draws)
    return independent_draws(posterior, number, random_generator(key))


def information(block: Block, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Mutual information of the columns of a block, in nats; NaN, with a warning, if the family cannot compute it.

    Parameters
    ----------
    block : Block
    class_prob : array, shape (draws, classes, 1) or (draws, classes, columns)
    parameters : mapping
        Arrays of shape (draws, classes, columns, ...).

    Returns
    -------
    array, shape (draws, columns)
    """
    finite = [np.isfinite(value).reshape(*value.shape[:3], -1).all(axis=(1, 3)) for value in parameters.values()]
    known = np.logical_and.reduce(finite)
    reason = "the integral of the likelihood over its support is not accurate"
    try:
        found = family_of_each_column(block).mutual_information(class_prob, parameters)
    except NotImplementedError as error:
        reason = str(error) or "the family does not compute it"
        found = np.full(known.shape, np.nan)
    lost = (np.isnan(found) & known).any(axis=0)
    if lost.any():
        names = [label for label, without in zip(labels_of_information(block), lost, strict=True) if without]
        shown = first_few(list(map(repr, names)), 3)
        warn(
            f"column {shown}: the mutual information of {block.family.family_name} is NaN, because {reason}: define "
            "mutual_information(class_prob, parameters) in the class, or give the likelihood icdf or cdf",
            UserWarning,
        )
    return found


def family_of_each_column(block: Block) -> Family:
    """The family of a block's columns on their own; of whether a token is that word, in a count vector."""
    family = block.family
    return family.of_each_column() or Bernoulli() if isinstance(family, JointFamily) else family


def statistics_of_each_column(block: Block, statistics: Any) -> Any:
    """Statistics of a block's columns on their own."""
    family = block.family
    return family.statistics_of_each_column(statistics) if isinstance(family, JointFamily) else statistics


# --------------------------------------------------------------------------------------------------
# The evidence that a feature depends on the class, in closed form
# --------------------------------------------------------------------------------------------------


class FeatureEvidence(pd.DataFrame):
    """The result of `feature_evidence`: ``log_bayes_factor`` and ``inclusion_probability`` by feature.

    What pandas makes of it, such as a sorted or a rounded frame, is an ordinary frame again.

    See Also
    --------
    feature_evidence : The evidence that a feature depends on the class.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> nb.feature_evidence(posterior).columns.tolist()
    ['log_bayes_factor', 'inclusion_probability']
    """

    def plot(
        self,
        *,
        features: Sequence[Any] | None = None,
        sort: bool = True,
        max_features: int = 30,
        panels_across: int | None = None,
        axes: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Log Bayes factor of each feature, and the probability that it depends on the class.

        Parameters
        ----------
        features : sequence, optional
            Features to show, by default all.
        sort : bool, default True
            The highest log Bayes factor first; otherwise in the order of `features`, or of the table.
        max_features : int, default 30
            The first ones in this order are drawn.
        panels_across : int, optional
            Panels side by side; by default as many as fit the width.
        axes : sequence of matplotlib axes, optional
            Where to draw; by default in a new figure.
        figsize : (width, height), optional
            Inches of a new figure; a height of None follows from the rows.

        Returns
        -------
        matplotlib.figure.Figure
            Right of zero, the dashed line of the first panel, the data favour a parameter for every class; left of it,
            one that all classes share. The second panel has the posterior probability of a parameter for every class.

        Raises
        ------
        TypeError, ValueError
            If a feature is unknown, or `axes` and `figsize` do not fit.

        See Also
        --------
        feature_evidence : The evidence that a feature depends on the class.
        mutual_information : Mutual information of each feature and the class.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = nb.feature_evidence(posterior).plot()
        """
        table = self if features is None else self.iloc[chosen("features", features, self.index)]
        if yes_or_no("sort", sort):
            table = table.sort_values("log_bayes_factor", ascending=False, kind="stable")
        shown = table.head(whole_number("max_features", max_features))
        names = [str(name) for name in shown.index]
        factors = Rows(
            names,
            [Points(shown["log_bayes_factor"])],
            x_label="log Bayes factor (nats): one parameter for all classes (left), one for each (right)",
            at=0.0,
        )
        probabilities = Rows(
            names,
            [Points(shown["inclusion_probability"])],
            x_label="probability that the feature depends on the class",
            limits=(-0.03, 1.03),
        )
        number = how_many(len(shown), len(table), "feature", "top" if sort else "first")
        title = f"Evidence that a feature depends on the class: {number}"
        return forest([factors, probabilities], title=title, panels_across=panels_across, axes=axes, figsize=figsize)


@of_features
@in_float64
def feature_evidence(posterior: Posterior, prior_inclusion: Any = 0.5) -> FeatureEvidence:
    r"""Log Bayes factor of each feature: does it depend on the class?

    .. math::
        \log B_j = \sum_c \log p(x_{\cdot j} \text{ in class } c) - \log p(x_{\cdot j} \text{ of all classes together})

    Each term is an evidence under the feature's prior, the parameter integrated out: on the left a parameter for every
    class, on the right one that all classes share (Dash and Cooper 2002, *Exact model averaging with naive Bayesian
    classifiers*, ICML, 91-98). The posterior probability of the left one is :math:`p B_j / (1 - p + p B_j)`.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        Of any inference: the evidence depends only on the model and the statistics of its data.
    prior_inclusion : float, array of shape (features,), or mapping from feature to float, default 0.5
        Prior probability that a feature depends on the class.

    Returns
    -------
    FeatureEvidence
        A pandas frame: ``log_bayes_factor`` and ``inclusion_probability`` by feature, in the order of the table's
        columns. A block that is one observation, such as count vectors, is one feature, under the block's name. Its
        ``plot()`` draws both.

    Raises
    ------
    TypeError
        If the first argument is neither a posterior nor a fitted estimator, or a probability no number.
    ValueError
        If there are no data, a family is not conjugate, a hyperparameter is learned, the priors of a column differ by
        class (the shared parameter would have none), or a probability is not from 0 to 1.

    See Also
    --------
    mutual_information : Mutual information of each feature and the class.
    AveragedPosterior : The posterior averaged over subsets of the features.

    Notes
    -----
    A Bayes factor depends on the prior: the wider it is, the more the factor favours the shared parameter (Murphy 2012,
    section 5.3.4). Hyperparameters that follow the data's scale have the numbers of ``posterior.model`` in both
    hypotheses. So do those that `EmpiricalBayes` learned. It learned them with a parameter for every class, so that the
    factor then favours the feature too much.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1], [0, 0]]
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, ["a", "a", "a", "b", "b", "b"])
    >>> nb.feature_evidence(posterior).round(3)
             log_bayes_factor  inclusion_probability
    feature
    0                   2.169                  0.897
    1                  -0.028                  0.493
    """
    problem = posterior.require_data("feature_evidence")
    problem.require_numbers()
    problem.require_labels("feature_evidence", "leave them out")
    blocks = posterior.model.blocks
    prior = spread_inclusion("prior_inclusion", read_inclusion("prior_inclusion", prior_inclusion), blocks)
    log_bayes_factors = [own - shared for own, shared in log_evidences(blocks, problem.statistics)]
    posteriors = [np.exp(log_inclusion(p, found)[0]) for p, found in zip(prior, log_bayes_factors, strict=True)]
    return FeatureEvidence(
        {
            "log_bayes_factor": in_column_order(blocks, log_bayes_factors),
            "inclusion_probability": in_column_order(blocks, posteriors),
        },
        index=pd.Index(feature_names(blocks), name="feature", tupleize_cols=False),
        dtype=np.float64,
    )


def column_inclusion(posterior: Posterior) -> list[np.ndarray]:
    """Inclusion probability of every column at prior probability 1/2, each word of a vector on its own.

    Returns
    -------
    list of array, shape (columns,)
        For each block; NaN if there is no such probability.
    """
    found = []
    for i, block in enumerate(posterior.model.blocks):
        log_bayes_factor = np.full(len(labels_of_information(block)), np.nan)
        problem = posterior.problem
        if problem is not None and problem.unlabelled is None and not problem.model.hyperpriors:
            try:
                shared_families([block])
                family = block.family.of_each_column() if isinstance(block.family, JointFamily) else block.family
                if family is None:
                    raise ValueError
                apart = replace(block, family=family)
                counted = statistics_of_each_column(block, problem.statistics.blocks[i])
                ((own, shared),) = log_evidences([apart], ModelStatistics(problem.statistics.classes, (counted,)))
                log_bayes_factor = own - shared
            except ValueError:
                pass
        found.append(expit(log_bayes_factor))
    return found
