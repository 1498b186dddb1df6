"""The evidence that a feature depends on the class, in closed form."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from bayesnb.arrays import in_float64
from bayesnb.blocks.statistics import ModelStatistics
from bayesnb.model.inclusion import (
    feature_names,
    in_column_order,
    log_evidences,
    log_inclusion,
    read_inclusion,
    shared_families,
    spread_inclusion,
)
from bayesnb.pictures.feature_evidence import plot_feature_evidence
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import of_features
from bayesnb.selection.information_draws import labels_of_information

__all__ = ["FeatureEvidence", "column_inclusion", "feature_evidence"]


class FeatureEvidence(pd.DataFrame):
    """The frame that `feature_evidence` returns, which draws itself.

    The rows are features, the columns ``log_bayes_factor`` and ``inclusion_probability``. What pandas makes of it, such
    as a sorted or a rounded frame, is an ordinary frame again.
    """

    def plot(self, **options: Any) -> Any:
        """Bayes factors and probabilities of the features; see `bayesnb.plot_feature_evidence`."""
        return plot_feature_evidence(self, **options)


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
    pandas.DataFrame
        ``log_bayes_factor`` and ``inclusion_probability`` by feature, in the order of the table's columns. A block
        that is one observation, such as count vectors, is one feature, under the block's name. Its ``plot()`` draws
        both (`plot_feature_evidence`).

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
                family = block.family.of_each_column()
                if family is None:
                    raise ValueError
                apart = replace(block, family=family)
                counted = block.family.statistics_of_each_column(problem.statistics.blocks[i])
                ((own, shared),) = log_evidences([apart], ModelStatistics(problem.statistics.classes, (counted,)))
                log_bayes_factor = own - shared
            except ValueError:
                pass
        found.append(expit(log_bayes_factor))
    return found
