"""Features and the class: mutual information, and the evidence for dependence."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtr, chdtrc, chndtrinc, expit, logit, ndtri

from bayesnb.core.checking import first_few, proportion, warn, warns_once, whole_number
from bayesnb.core.deferred import in_float64, map_tree
from bayesnb.core.forest import ForestPanel, Points, forest, top_rows
from bayesnb.core.frames import PrintedFrame
from bayesnb.core.panels import chosen, percent
from bayesnb.core.running import progress_if_long, random_generator
from bayesnb.families.categories import Bernoulli
from bayesnb.families.family import JointFamily, Parameters
from bayesnb.model.blocks import (
    Block,
    family_alone,
    feature_names,
    in_column_order,
    inclusions,
    labels_alone,
    read_inclusion,
    spread_inclusion,
)
from bayesnb.model.prior import ModelParameters
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.kinds import posterior_of_features
from bayesnb.posterior.posterior import Posterior
from bayesnb.posterior.predictions import nats_of
from bayesnb.posterior.under_draws import draws_in_pieces

# --------------------------------------------------------------------------------------------------
# Mutual information of a posterior's parameters: at their mean, and averaged over draws
# --------------------------------------------------------------------------------------------------

CHAINS, DRAWS = 4, 50
"""Default number of draws from a closed form."""


def _information_at_mean(posterior: Posterior) -> list[np.ndarray]:
    """Mutual information at the posterior mean, in nats, for each block an array of shape (columns,).

    NaN for all columns if a family has no mean.
    """
    try:
        with np.errstate(divide="ignore"):  # an infinite mean
            mean = posterior.belief.mean()
    except NotImplementedError:
        return [np.full(len(labels_alone(block)), np.nan) for block in posterior.model.blocks]
    return [found[0] for found in _under_draws(posterior, map_tree(lambda value: np.asarray(value)[None], mean))]


def _averaged(posterior: Posterior, num_draws: int | None, key: Any) -> list[np.ndarray]:
    """Mutual information averaged over draws, in nats, for each block an array of shape (columns,).

    NaN for a point estimate, which has no distribution.
    """
    if not offers(posterior, "a distribution of the parameters"):
        return [np.full(len(labels_alone(block)), np.nan) for block in posterior.model.blocks]
    if offers(posterior, "draws of a sampler"):
        drawn = posterior.belief.draw(None, num_draws, key)
        number, pieces = drawn.class_prob[..., 0].size, draws_in_pieces(drawn)
    else:
        number = CHAINS * whole_number("num_draws", DRAWS if num_draws is None else num_draws)
        pieces = posterior.belief.pieces(number, random_generator(key))
    sums, size = [], number * sum(len(block.columns) for block in posterior.model.blocks) * len(posterior.classes)
    with progress_if_long("mutual information", "draw", number, size) as count:
        for draws in pieces:
            sums.append([found.sum(axis=0) for found in _under_draws(posterior, draws)])
            count(len(draws.class_prob))
    return [np.sum(of_block, axis=0) / number for of_block in zip(*sums, strict=True)]


def _under_draws(posterior: Posterior, draws: ModelParameters) -> list[np.ndarray]:
    """Mutual information under draws with one leading axis, for each block an array of shape (draws, columns)."""
    class_prob = np.asarray(draws.class_prob)[..., None]
    found = []
    for block, parameters in zip(posterior.model.blocks, draws.blocks, strict=True):
        family = block.family
        of_columns = family.parameters_of_each_column(parameters) if isinstance(family, JointFamily) else parameters
        found.append(_of_block(block, class_prob, {name: np.asarray(value) for name, value in of_columns.items()}))
    return found


def _of_block(block: Block, class_prob: np.ndarray, parameters: Parameters) -> np.ndarray:
    """Mutual information of the columns of a block in nats, shape (draws, columns).

    It is NaN, with a warning, if the family cannot compute it. `class_prob` has shape (draws, classes, 1) or (draws,
    classes, columns), and the parameters (draws, classes, columns, ...).
    """
    shape = *class_prob.shape[:2], len(labels_alone(block)), -1
    known = np.logical_and.reduce([np.isfinite(value).reshape(shape).all(axis=(1, 3)) for value in parameters.values()])
    reason = "the integral of the likelihood is not accurate"
    try:
        found = (family_alone(block)[0] or Bernoulli()).mutual_information(class_prob, parameters)
    except NotImplementedError as error:
        reason = str(error) or "the family does not compute it"
        found = np.full(known.shape, np.nan)
    lost = (np.isnan(found) & known).any(axis=0)
    if lost.any():
        names = [label for label, without in zip(labels_alone(block), lost, strict=True) if without]
        shown = first_few(list(map(repr, names)), 3)
        warn(
            f"column {shown}: the mutual information of {block.family.family_name} is NaN, because {reason}: define "
            "mutual_information(class_prob, parameters) in the class, or give the likelihood icdf or cdf",
            UserWarning,
        )
    return found


# --------------------------------------------------------------------------------------------------
# Estimate and test of each column's mutual information with the class, given the data and not the prior
# --------------------------------------------------------------------------------------------------

LARGEST_STATISTIC = 1e7
"""Above this chi-squared statistic its root is taken as normal, with an error of 1e-8."""

OF_DATA = ("estimate", "lower", "upper", "p_value")


def information_in_data(block: Block, statistics: Any, prob: float) -> dict[str, np.ndarray]:
    """Estimate, interval and p-value of a block's columns, in nats.

    Parameters
    ----------
    block : Block
    statistics : Statistics, or None where there are no data
        Of the labelled rows.
    prob : float
        Probability of the interval.

    Returns
    -------
    dict of array, shape (columns,)
        Those of `OF_DATA`, as `mutual_information` says; NaN without data, or if the family defines no maximum of its
        likelihood.
    """
    own, counted = family_alone(block, statistics)
    family = own or Bernoulli()
    parameters = None if statistics is None else family.maximum_likelihood(counted)
    if parameters is None:
        return dict.fromkeys(OF_DATA, np.full(len(labels_alone(block)), np.nan))
    weight, parameters = _where_known(np.asarray(counted.n), parameters)
    total = weight.sum(axis=0)
    share = weight / np.where(total > 0, total, 1.0)
    plug_in = _of_block(block, share[None], {name: value[None] for name, value in parameters.items()})[0]
    df, expected = family.information_by_chance(weight, counted)
    # With one class or one value there is nothing to compare: no information, and no interval.
    known = (total > 0) & ~np.isnan(plug_in)
    compared = known & (df > 0)
    nothing = np.where(known, 0.0, np.nan)
    total, df, expected = (np.where(compared, values, 1.0) for values in (total, df, expected))
    statistic = df * np.maximum(plug_in, 0.0) / expected

    def end(level: float) -> np.ndarray:
        largest = np.log(max(np.shape(statistics.n)[0], 1))
        found = np.minimum(noncentrality(statistic, df, level) / (2 * total), largest)
        return np.where(compared, found, np.nan)

    return {
        "estimate": np.where(compared, np.maximum(plug_in - expected, 0.0), nothing),
        "lower": end((1 + prob) / 2),
        "upper": end((1 - prob) / 2),
        "p_value": np.where(compared, chdtrc(df, statistic), 1 + nothing),
    }


def _where_known(n: np.ndarray, parameters: dict[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Weights of the classes whose likelihood has a maximum, and parameters, finite in the other classes too."""
    values = {name: np.asarray(value) for name, value in parameters.items()}
    finite = [np.isfinite(value).reshape(*n.shape, -1).all(axis=-1) for value in values.values()]
    known = np.logical_and.reduce([n > 0, *finite])
    weight = np.where(known, n, 0.0)
    # A class without weight adds nothing, whatever its parameters.
    heaviest = weight.argmax(axis=0)
    filled = {}
    for name, value in values.items():
        own = value[heaviest, np.arange(n.shape[1])][None]
        filled[name] = np.where(known.reshape(*n.shape, *[1] * (value.ndim - 2)), value, own)
    return weight, filled


def noncentrality(statistic: np.ndarray, df: np.ndarray, level: float) -> np.ndarray:
    """Noncentrality for which a chi-squared distribution has a given probability below a value; zero if none has.

    Parameters
    ----------
    statistic, df : array
    level : float

    Returns
    -------
    array
    """
    found = np.zeros(np.shape(statistic))
    some = chdtr(df, statistic) > level
    near = some & (statistic <= LARGEST_STATISTIC)
    found[near] = chndtrinc(statistic[near], df[near], level)
    far = some & ~near
    root = np.sqrt(statistic[far])
    found[far] = (root - ndtri(level) - (df[far] - 1) / (2 * root)) ** 2
    return found


# --------------------------------------------------------------------------------------------------
# The evidence that a feature depends on the class, in closed form
# --------------------------------------------------------------------------------------------------


class FeatureEvidence(PrintedFrame):
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
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            Right of zero, the dashed line of the first panel, the data favour a parameter for every class; left of it,
            one that all classes share. The second panel has the posterior probability of a parameter for every class.

        Raises
        ------
        TypeError, ValueError
            If a feature is unknown.

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
        shown, number = top_rows(table, "log_bayes_factor", sort, max_features=max_features)
        factors = ForestPanel(
            shown.index,
            [Points(shown["log_bayes_factor"])],
            x_label="log Bayes factor (nats): one parameter for all classes (left), one for each (right)",
            at=0.0,
        )
        probabilities = ForestPanel(
            shown.index,
            [Points(shown["inclusion_probability"])],
            x_label="probability that the feature depends on the class",
            limits=(-0.03, 1.03),
        )
        title = f"Evidence that a feature depends on the class: {number}"
        return forest([factors, probabilities], title=title, panels_across=panels_across, axes=axes, figsize=figsize)


@posterior_of_features
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
    problem = require(posterior, "data", "feature_evidence").problem
    problem.require_numbers()
    problem.require_labels("feature_evidence", "leave them out")
    blocks = posterior.model.blocks
    prior = spread_inclusion("prior_inclusion", read_inclusion("prior_inclusion", prior_inclusion), blocks)
    pairs = list(zip(inclusions(blocks, prior), problem.statistics.blocks, strict=True))
    log_bayes_factors = [family.log_bayes_factor(counted)[0] for family, counted in pairs]
    posteriors = [expit(logit(p) + found) for p, found in zip(prior, log_bayes_factors, strict=True)]
    columns = {
        "log_bayes_factor": in_column_order(blocks, log_bayes_factors),
        "inclusion_probability": in_column_order(blocks, posteriors),
    }
    index = pd.Index(feature_names(blocks), name="feature", tupleize_cols=False)
    return FeatureEvidence(
        pd.DataFrame(columns, index, dtype=np.float64), "Evidence that each feature depends on the class:"
    )


def _column_inclusion(posterior: Posterior) -> list[np.ndarray]:
    """Inclusion probability of each block's columns at prior probability 1/2, shape (columns,); NaN if undefined."""
    problem, found = posterior.problem, []
    if problem is not None and (problem.unlabelled is not None or problem.model.description.hyperpriors):
        problem = None
    for i, block in enumerate(posterior.model.blocks):
        log_bayes_factor = np.full(len(labels_alone(block)), np.nan)
        family, counted = family_alone(block, None if problem is None else problem.statistics.blocks[i])
        if problem is not None and family is not None:
            half = np.full(len(log_bayes_factor), 0.5)
            try:
                inclusions([block], [half])
                (alone,) = inclusions([replace(block, family=family)], [half])
                log_bayes_factor = alone.log_bayes_factor(counted)[0]
            except ValueError:  # no closed form, or priors that differ by class
                pass
        found.append(expit(log_bayes_factor))
    return found


# --------------------------------------------------------------------------------------------------
# Information of a feature about the class, compared with its size by chance
# --------------------------------------------------------------------------------------------------

PROBABILITIES = ("p_value", "inclusion_probability")
"""Columns of the result without a unit."""


class MutualInformation(PrintedFrame):
    """The result of `mutual_information`, with a row for each feature.

    What pandas makes of it, such as a sorted or a rounded frame, is an ordinary frame again.

    See Also
    --------
    mutual_information : Mutual information of each feature and the class.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> nb.mutual_information(posterior).index.tolist()
    [0, 1]
    """

    def plot(
        self,
        *,
        features: Sequence[Any] | None = None,
        sort: bool = True,
        max_features: int = 20,
        ax: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Mutual information of features and class (points), with intervals (bars).

        Parameters
        ----------
        features : sequence, optional
            Features to show, by default all.
        sort : bool, default True
            The most informative first; otherwise in the order of `features`, or of the table.
        max_features : int, default 20
            The first ones in this order are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            The point is the estimate, the bar its interval, and the small stroke the posterior mean, which the prior
            and noise shift, mostly up. Without data there is no estimate, and the point is the value at the parameters'
            posterior mean.

        Raises
        ------
        TypeError, ValueError
            If a feature is unknown, or the information of every feature is NaN.

        See Also
        --------
        mutual_information : Mutual information of each feature and the class.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = nb.mutual_information(posterior, unit="bits").plot()
        """
        frame = self if features is None else self.iloc[chosen("features", features, self.index)]
        point = "estimate" if frame["estimate"].notna().any() else "at_posterior_mean"
        if frame[[point, "mean"]].isna().all(axis=None):
            names = ", ".join(map(repr, frame.index[:3])) + (", ..." if len(frame) > 3 else "")
            raise ValueError(
                f"the mutual information of every feature ({names}) is NaN, so that there is nothing to draw: "
                "nb.mutual_information says when it is; a family can define mutual_information(class_prob, parameters)"
            )
        shown, number = top_rows(frame, point, sort, max_features=max_features)
        rows = ForestPanel(
            shown.index,
            [
                Points(shown["mean"], "posterior mean", "|", "B1"),
                Points(shown[point], "estimate" if point == "estimate" else "at the posterior mean", filled=False),
            ],
            shown["lower"],
            shown["upper"],
            f"{percent(self.attrs['prob'])} interval",
            x_label=f"mutual information with the class ({self.attrs['unit']})",
            limits=(-0.015 * shown[[point, "mean", "lower", "upper"]].max(axis=None), None),
        )
        return forest([rows], title=f"Mutual information of feature and class: {number}", ax=ax, figsize=figsize)


@posterior_of_features
@warns_once
@in_float64
def mutual_information(
    posterior: Posterior, unit: str = "nats", *, prob: float = 0.89, num_draws: int | None = None, key: Any = 0
) -> MutualInformation:
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
    MutualInformation
        A pandas frame by feature, in the order of the table's columns; unit and `prob` are in ``attrs``. It prints all
        columns, and its ``plot()`` draws it.

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
        gives angles, or counts of 4096 or more, of which an integral is not accurate. The family then has to define
        ``mutual_information``.

    See Also
    --------
    estimators.mutual_information_score : The same, as a score function for scikit-learn.
    feature_evidence : The evidence that a feature depends on the class.

    Notes
    -----
    With I the information at the maximum of the likelihood, E its expectation without dependence, N the number of
    observed cells and df the number of parameters that dependence adds, the estimate is max(0, I - E), the p-value the
    probability that a chi-squared variable of df degrees of freedom exceeds x = df I / E, and the ends of the interval
    are the noncentralities, divided by 2 N, for which x has a tail probability of (1 - `prob`) / 2. For Bernoulli and
    categorical columns E is exact, a sum over hypergeometric cells; elsewhere it is df / (2 N), where df is the number
    of parameters of a cell times (classes - 1), and for Gaussian ones the mean of this and of the expected log
    likelihood ratio over N, which keeps the size of the test from two rows in a class on. A `PolyaTree` has a parameter
    for each cell: in 100 rows the test finds .02 of the columns of which that of a `Gaussian` finds .86. Classes and
    categories that do not occur are ignored. So are classes in which the likelihood has no maximum, such as a Gaussian
    with equal cells. A cell of weight two counts as two cells; columns with weights that are not whole numbers use
    df / (2 N). The user guide has measured coverages and sizes.

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
    flipper_length_mm      0.88   0.74   1.02     0.00
    sex                    0.00   0.00   0.00     0.98
    """
    proportion("prob", prob)
    blocks, nats = posterior.model.blocks, nats_of(unit)
    values = _of_data(posterior, prob) | {
        "inclusion_probability": _column_inclusion(posterior),
        "at_posterior_mean": _information_at_mean(posterior),
        "mean": _averaged(posterior, num_draws, key),
    }
    columns = {
        name: np.array(in_column_order(blocks, of_blocks)) / (1.0 if name in PROBABILITIES else nats)
        for name, of_blocks in values.items()
    }
    labels = in_column_order(blocks, [labels_alone(block) for block in blocks])
    found = pd.DataFrame(columns, index=pd.Index(labels, name="feature", tupleize_cols=False))
    found.attrs |= {"unit": unit, "prob": prob}
    heading = f"Mutual information with the class in {unit}, lower and upper: {percent(prob)} interval"
    return MutualInformation(found, heading)


@in_float64
def information_estimate(posterior: Posterior, unit: str = "nats") -> np.ndarray:
    """The column ``estimate`` of `mutual_information`, ``at_posterior_mean`` where that is NaN, shape (columns,)."""
    estimate = _spread_to_columns(posterior, _of_data(posterior, 0.5)["estimate"])
    if np.isnan(estimate).any():
        at_mean = _spread_to_columns(posterior, _information_at_mean(posterior))
        estimate = np.where(np.isnan(estimate), at_mean, estimate)
    return estimate / nats_of(unit)


def _spread_to_columns(posterior: Posterior, values: list[np.ndarray]) -> np.ndarray:
    """A value for each column of the table; columns of a joint block share theirs."""
    blocks = posterior.model.blocks
    each = [np.broadcast_to(of_block, len(block.columns)) for block, of_block in zip(blocks, values, strict=True)]
    return np.array(in_column_order(blocks, each))


def _of_data(posterior: Posterior, prob: float) -> dict[str, list[np.ndarray]]:
    """Estimates from the data, for each block arrays of shape (columns,)."""
    blocks, problem = posterior.model.blocks, posterior.problem
    counted = [None] * len(blocks) if problem is None else problem.statistics.blocks
    found = [information_in_data(block, of_block, prob) for block, of_block in zip(blocks, counted, strict=True)]
    return {name: [of_block[name] for of_block in found] for name in OF_DATA}
