"""How much information does a feature have about the class? Mutual information, compared with its size by chance."""

from typing import Any

import numpy as np
import pandas as pd

from bayesnb.arrays import in_float64
from bayesnb.decisions import nats_of
from bayesnb.frames import PrintedFrame
from bayesnb.model.inclusion import in_column_order
from bayesnb.pictures.text import percent
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import of_features
from bayesnb.selection.evidence import column_inclusion
from bayesnb.selection.independence import information_in_data
from bayesnb.selection.information_draws import information_at_mean, labels_of_information, mean_information
from bayesnb.validate import proportion

__all__ = ["information_estimate", "mutual_information"]


@of_features
@in_float64
def mutual_information(
    posterior: Posterior, unit: str = "nats", *, prob: float = 0.89, num_draws: int | None = None, key: Any = 0
) -> pd.DataFrame:
    r"""Mutual information of each feature and the class, with an interval and a test.

    .. math::
        I(X_j; Y) = \sum_c \sum_x p(x, c) \log \frac{p(x, c)}{p(x) \, p(c)}

    (Murphy 2012, Eq. 3.76), a sum over the values of a discrete feature and an integral over those of a Gaussian one.
    Rank features by ``estimate``, and use ``p_value`` to test whether a feature has any information. Do not use
    ``mean`` and ``at_posterior_mean`` for this: mutual information is never negative, so that noise and the prior make
    them too large. Five classes and ten categories of pure noise have a posterior mean of 0.19 nats at 100 rows.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    unit : {"nats", "bits"}, default "nats"
    prob : float, default 0.89
        Probability of the interval from ``lower`` to ``upper``, equal tails.
    num_draws : int, optional
        Draws in each chain for ``mean``: by default 50 in each of 4 from a closed form, and all draws of a sampled
        posterior.
    key : int or JAX key, default 0
        For the draws from a closed form.

    Returns
    -------
    pandas.DataFrame
        By feature, in the order of the table's columns; unit and `prob` are in ``attrs``. It prints all columns.

        ``estimate``
            Information at the maximum of the likelihood, minus its expectation without dependence between cell and
            class, and at least zero.
        ``lower``, ``upper``
            Confidence interval by the noncentral chi-squared distribution; ``lower`` is zero if chance explains all.
        ``p_value``
            Probability of at least as much information without dependence.
        ``inclusion_probability``
            Posterior probability that the feature depends on the class, at prior probability 1/2 (`feature_evidence`).
        ``at_posterior_mean``
            Information at the posterior means of the parameters, as in textbooks.
        ``mean``
            Posterior mean of the information, too large because of noise and prior.

        The first four depend on the labelled rows of the posterior, and not on the prior or the inference. They are NaN
        without data (`from_parameters`), for a family that does not define a maximum of its likelihood, and for a
        column in which no class has a maximum (no observed cell, or a Gaussian without spread). The interval is also
        NaN if there is nothing to compare: one class, or one value. ``inclusion_probability`` is NaN without data, with
        rows without a label, and if `feature_evidence` has none: no closed form, learned hyperparameters, priors that
        differ by class. ``mean`` is NaN for a point estimate. ``at_posterior_mean`` is NaN if a mean is infinite, such
        as that of a variance with very few data. All except ``inclusion_probability`` are NaN, with a warning, for a
        family whose information cannot be computed.

    Raises
    ------
    TypeError
        If the first argument is neither a posterior nor a fitted estimator.
    ValueError
        If the unit is unknown, or `prob` is not between 0 and 1.

    Warns
    -----
    UserWarning
        If a family cannot compute the information of a column: its likelihood has neither ``icdf`` nor ``cdf``, or
        gives counts of 4096 or more, and an integral over its support is not accurate. The family then has to define
        ``mutual_information``.

    See Also
    --------
    plot_mutual_information : Mutual information with intervals.
    mutual_information_score : The same, as a score function for scikit-learn.
    feature_evidence : The evidence that a feature depends on the class.

    Notes
    -----
    With I the information at the maximum of the likelihood, E its expectation without dependence, N the number of
    observed cells and df the number of parameters that dependence adds, the estimate is max(0, I - E), the p-value the
    probability that a chi-squared variable of df degrees of freedom exceeds x = df I / E, and the ends of the interval
    are the noncentralities, divided by 2 N, for which x has a tail probability of (1 - `prob`) / 2. For Bernoulli and
    categorical columns E is exact, a sum over hypergeometric cells; elsewhere it is df / (2 N), where df is the number
    of parameters of a cell times (classes - 1). Classes and categories that do not occur are ignored. So are
    classes in which the likelihood has no maximum, such as a Gaussian with equal cells. A cell of weight two counts as
    two cells; columns with weights that are not whole numbers use df / (2 N). The user guide has measured coverages and
    sizes.

    All this assumes that the family fits the shape of its column. If it does not, the numbers mislead: a Gaussian on a
    skewed column with many zeros gives 0.604 bits, bins of the same column 0.091. `nb.check` finds such columns.

    Each word of a `Multinomial` block has a row: the feature is whether a token is that word. ``estimate`` draws the
    token from all tokens, as McCallum and Nigam (1998, *A comparison of event models for naive Bayes text
    classification*, section 3) do, and N is the number of tokens; the two posterior columns draw a document's class
    first, so that classes are weighted by documents. Tokens of one document are independent in this model. In texts
    they come in bursts, which makes p-values too small. A `DirichletMultinomial` block divides N by the factor by which
    bursts raise the variance of a word's share.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> found = nb.mutual_information(posterior, unit="bits")
    >>> found.loc[["flipper_length_mm", "sex"], ["estimate", "lower", "upper", "p_value"]].round(2)
                       estimate  lower  upper  p_value
    feature
    flipper_length_mm      0.88   0.75   1.03     0.00
    sex                    0.00   0.00   0.00     0.98
    """
    proportion("prob", prob)
    nats = nats_of(unit)
    in_nats = _of_data(posterior, prob) | {
        "at_posterior_mean": information_at_mean(posterior),
        "mean": mean_information(posterior, num_draws, key),
    }
    p_value = in_nats.pop("p_value")
    columns = {
        name: np.array(in_column_order(posterior.model.blocks, values)) / nats for name, values in in_nats.items()
    }
    columns["p_value"] = np.array(in_column_order(posterior.model.blocks, p_value))
    columns["inclusion_probability"] = np.array(in_column_order(posterior.model.blocks, column_inclusion(posterior)))
    labels = in_column_order(posterior.model.blocks, [labels_of_information(block) for block in posterior.model.blocks])
    found = pd.DataFrame(columns, index=pd.Index(labels, name="feature", tupleize_cols=False))
    found.attrs |= {"unit": unit, "prob": prob}
    order = ["estimate", "lower", "upper", "p_value", "inclusion_probability", "at_posterior_mean", "mean"]
    heading = f"Mutual information with the class in {unit}, lower and upper: {percent(prob)} interval"
    return PrintedFrame(found[order], heading)


@in_float64
def information_estimate(posterior: Posterior, unit: str = "nats") -> np.ndarray:
    """The column ``estimate`` of `mutual_information`, ``at_posterior_mean`` where that is NaN, shape (columns,)."""
    estimate = _of_columns(posterior, _of_data(posterior, 0.5)["estimate"])
    if np.isnan(estimate).any():
        at_mean = _of_columns(posterior, information_at_mean(posterior))
        estimate = np.where(np.isnan(estimate), at_mean, estimate)
    return estimate / nats_of(unit)


def _of_columns(posterior: Posterior, values: list[np.ndarray]) -> np.ndarray:
    """A value for each column of the table; the columns of a block that informs as one have the same."""
    blocks = posterior.model.blocks
    each = [np.broadcast_to(of_block, len(block.columns)) for block, of_block in zip(blocks, values, strict=True)]
    return np.array(in_column_order(blocks, each))


def _of_data(posterior: Posterior, prob: float) -> dict[str, list[np.ndarray]]:
    """Estimates from the data, for each block arrays of shape (columns,)."""
    blocks = posterior.model.blocks
    names = ("estimate", "lower", "upper", "p_value")
    if posterior.problem is None:
        return {name: [np.full(len(labels_of_information(block)), np.nan) for block in blocks] for name in names}
    counted = posterior.problem.statistics.blocks
    found = [information_in_data(block, of_block, prob) for block, of_block in zip(blocks, counted, strict=True)]
    return {name: [of_block[name] for of_block in found] for name in names}
