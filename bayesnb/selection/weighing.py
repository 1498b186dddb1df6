"""Weights of features, so that dependent columns do not count as if each were new evidence."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from bayesnb.core.checking import a_type, warn, warn_of
from bayesnb.core.deferred import in_float64
from bayesnb.core.running import random_generator
from bayesnb.data.elsewhere import is_elsewhere, sample_elsewhere
from bayesnb.data.labels import require_two_classes
from bayesnb.data.read import Rows, read_rows
from bayesnb.families.family import Family
from bayesnb.inference.exact import Exact
from bayesnb.inference.fit import read_for_inference, warn_of_quantities
from bayesnb.inference.nuts import NUTS, sample_weights
from bayesnb.model.blocks import feature_names
from bayesnb.model.feature_weights import (
    MOST_NUMBERS,
    ConditionalLikelihood,
    FeatureWeights,
    NormalWeights,
    mixed_features,
    priors,
    some_rows,
)
from bayesnb.model.laplace import approximate, approximate_with_readings, log_factors_of_again
from bayesnb.model.naive_bayes import Model, as_model
from bayesnb.model.problem import Problem
from bayesnb.model.reading import log_normalised
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.importance import importances
from bayesnb.posterior.kinds import Fitted, posterior_of
from bayesnb.posterior.left_out import (
    DensityError,
    FeaturesLeftOut,
    all_features_left_out,
    features_left_out,
    log_class_probs_without,
)
from bayesnb.posterior.posterior import Posterior, warn_of_lost_weights
from bayesnb.posterior.prediction_sets import label_scores
from bayesnb.posterior.weighted_posterior import WeightedPosterior, no_information

NUM_CHAINS, NUM_DRAWS = 4, 1000
"""Shape of the draws of the weights."""

MOST_FEATURES = 2000
"""Largest number of individual weights: the second derivatives of the likelihood have this number squared."""

INCLUSIONS = (0.5, 0.1, 0.01)
"""With more features, these prior probabilities that a feature depends on the class are tried."""

FEWEST_ROWS = 100
"""Least number of rows that choose among averages."""


def weight_features(
    posterior: Posterior | Fitted | Model | Family,
    X: Any,
    y: Any,
    *,
    shared: bool = False,
    inference: NUTS | None = None,
    sample_weight: Any = None,
    key: Any = 0,
) -> WeightedPosterior:
    r"""Learn a weight for each feature, so that dependent features do not make predictions overconfident.

    Naive Bayes adds up the evidence of its features as if they were independent given the class. If they are not,
    its probabilities are too close to 0 and 1, however many rows there are. Weights correct the predictions:

    .. math:: q(y=c \mid x, w, b) \propto p(c \mid D) \, e^{b_c} \prod_j p'(x_j \mid c, D)^{w_j}

    The likelihood of the weights w and of the offsets b takes each row's label, and the exact densities of the row's
    features given the **other** rows. Densities of rows that are among the data are too high for every feature. No rows
    are held out, and nothing is fitted again.

    Parameters
    ----------
    posterior : ExactPosterior, AveragedPosterior, SampledPosterior, fitted estimator, NaiveBayes, BoundModel or Family
        Draws are for families without a closed form. The densities given the other rows are then estimates, by
        importance sampling as in `loo`. A model is fitted in closed form; its features may describe a column more than
        once.
    X : table, shape (rows, columns)
        The rows that the posterior was fitted to, or some of them. Of a Dask array or data frame 10,000 rows, drawn at
        random while its partitions are read; then `y` and `sample_weight` are Dask collections in the same partitions.
        Of another table that is larger than memory, a few thousand rows drawn at random are enough (user guide).
    y : labels of shape (rows,) or str
    shared : bool, default False
        Whether all features share one weight, an exponent of the likelihood.
    inference : NUTS, optional
        Draws the weights by NUTS, in place of the approximation that the notes describe. Predictions are the same.
    sample_weight : array, shape (rows,), optional
        The weights of the fit; `ExactPosterior` only. A row of weight w counts w times in the likelihood, and is left
        out with its whole weight.
    key : int or JAX key, default 0
        For the draws, and for the rows that are used of a large table.

    Returns
    -------
    WeightedPosterior
        It predicts with the mode of the weights. ``weights`` is a frame with a row for each feature.

    Raises
    ------
    TypeError, ValueError
        As `loo`; if there is one class; or if more than 2,000 features would get a weight each.

    Warns
    -----
    UserWarning
        If the rows of the fit had weights, and none are given. If a table has more than 10 million densities (rows
        times classes times features) and each feature gets a weight: the weights are then learned from a random subset
        of the rows, each of which is left out of all the data. If the label of a row is impossible without the row, as
        `loo` says: the row does not count.

    See Also
    --------
    WeightedPosterior : A posterior with weights of features.
    propose_descriptions : Features that describe columns once more, for weights to choose among.
    select_features : Drop the features that do not help.
    group_columns : Merge columns that depend on each other.

    Notes
    -----
    The prior has a level and a spread of the weights, which are learned too:

    .. math::
        \tau &\sim \mathrm{Uniform}\{.05, .1, .2, .4, .8, 1.6\}, & \eta &\sim N(1, 1), \\
        w_j \mid \eta, \tau &\sim N(\eta, \tau^2), \quad w \geq 0, & b_c &\sim N(0, 1).

    Features that describe columns once more have the level zero. Readings of columns (`propose_descriptions`) have a
    spread of their own, too, because most tell nothing and a few tell more than any column:

    .. math::
        w_j \mid r, \tau \sim N(0, r^2 \tau^2), \quad r \sim \mathrm{Uniform}\{0, 1/4, 1/2, 1, 2\}.

    If r = 0 is most probable, readings leave the model: the result describes columns without them.

    Few rows cannot show that a cell, or a row, is impossible in a class. With a probability s a cell says nothing about
    the class, and with the same probability a row says nothing about its label:

    .. math::
        p'(x_j \mid c) &= (1 - s) \, p(x_j \mid c, D) + s \sum_k p(k \mid D) \, p(x_j \mid k, D), \\
        p(y=c \mid x) &= (1 - s) \, q(y=c \mid x) + s \, \pi_c, \quad \pi_c \propto p(c \mid D) \, e^{b_c}, \\
        s &= 1 / (2 + n (1 - \textstyle\sum_c p(c \mid D)^2)).

    This is the posterior mean of a share with a uniform prior after m rows, none of which belongs to the share
    (Laplace's rule of succession); of the n rows :math:`m = n (1 - \sum_c p_c^2)` would show it, because the others
    have the right label by chance. With ten rows of twelve tables the log score of new rows is .07 ± .04 nats above
    that of the class frequencies, without s .40 ± .14 below. With ``shared=True`` a row is one observation, and p' is
    p.

    With ``shared=True`` the weight is :math:`\eta`. The conditional log likelihood is concave, so that the mode given
    :math:`\tau` is unique. The posterior is approximated by a normal distribution at the mode of each :math:`\tau`
    (Laplace), restricted to :math:`w \geq 0` jointly, and mixed by the evidence of :math:`\tau`. Predictions use the
    modes, averaged over :math:`\tau`.

    On tables that the model fits, the weights cost little: in simulations with ten `Bernoulli` columns the log score of
    new labels falls by 0.012 nats a row at 60 rows, 0.005 at 200 and 0.0006 at 1,000, and the 89 % intervals of the
    weights hold one in 95 % of the cases at 1,000 rows and in 98 % at 10,000. With few rows the approximation is too
    low: its means by up to 0.3 standard deviations at 60 rows, by 0.05 at 1,000. ``inference=nb.NUTS()`` is not
    approximate.

    Class probabilities that are given in numbers are those of another population. Weights and offsets are then learned
    under the class frequencies of the rows, and the odds of the classes multiplied by given / rows (King and Zeng 2001,
    *Political Analysis* 9, 137-163).

    A column of count vectors, and every other block that is one observation, is one feature and has one weight. A
    missing cell adds nothing, whatever its weight is.

    Weights of features in the exponent are those of Zaidi, Cerquides, Carman and Webb (2013), *Alleviating naive Bayes
    attribute independence assumption by attribute weighting*, JMLR 14, 1947-1988, who learn them from the densities of
    the training rows.

    Examples
    --------
    Four copies of one column are one column's evidence:

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> y = np.repeat(["a", "b"], 200)
    >>> x = np.tile([1, 1, 1, 0], 100) == (y == "a")
    >>> X = np.column_stack([x, x, x, x])
    >>> posterior = nb.fit(nb.Bernoulli(), X, y)
    >>> weighted = nb.weight_features(posterior, X, y)
    >>> posterior.predict_proba(X[:1]).round(2), weighted.predict_proba(X[:1]).round(2)
    (array([[0.99, 0.01]]), array([[0.75, 0.25]]))
    """
    given = exact_or_given(posterior, X, y, sample_weight)
    if is_elsewhere(X, y):
        X, y, sample_weight = sample_elsewhere(X, y, sample_weight, key)
    rows = read_rows(X, y, sample_weight)
    warn_of_lost_weights(given, sample_weight, len(rows))
    return weigh_rows(given, rows, key, shared=shared, inference=inference)


def weigh_rows(
    posterior: Posterior, rows: Rows, key: Any, *, shared: bool = False, inference: NUTS | None = None
) -> WeightedPosterior:
    """As `weight_features`, of rows that are read."""
    found, remarks, _ = _learn(posterior, rows, key, shared, inference)
    warn_of(remarks)
    return found


def exact_or_given(given: Posterior | Fitted | Model | Family, X: Any, y: Any, sample_weight: Any = None) -> Posterior:
    """The posterior of what is given; of a model in closed form, whose features may describe columns once more."""
    if not isinstance(given, Model | Family):
        return posterior_of(given)
    exact = Exact()
    problem = read_for_inference(as_model(given), exact, X, y, sample_weight)
    warn_of_quantities(problem)
    return exact.fit(problem)


def weighted_or_plain(posterior: Posterior, rows: Rows, key: Any = 0) -> Posterior:
    """The posterior with a weight for each feature, or a shared one for many; itself where none can be learned.

    None can be learned from one class, from densities that are zero or infinite, or from weighted rows of an average
    over features. Draws get none, because the densities given the other rows would be estimates. Features that describe
    columns once more are left out where there are more than `MOST_FEATURES` of all, and those that are no readings also
    where the Bayes factor for their weight, alone beside the features that describe columns first, is below one.

    Warns
    -----
    UserWarning
        If there are more than `MOST_FEATURES`: what all share.
    """
    if posterior.plain is not posterior or not offers(posterior, "a closed form") or len(posterior.classes) < 2:
        return posterior
    found = posterior
    if _number_of_features(found) > MOST_FEATURES:
        found = _with_fewer_features(posterior, posterior.problem.without_readings)
    if _number_of_features(found) > MOST_FEATURES:
        found = _with_fewer_features(posterior, posterior.problem.described_once)
    try:
        if _number_of_features(found) <= MOST_FEATURES:
            return _learn(found, rows, key, choosing=True)[0]
        return _best_shared(found, rows, key)
    except DensityError:
        return posterior


def _number_of_features(posterior: Posterior) -> int:
    return len(feature_names(posterior.model.blocks))


def _best_shared(posterior: Any, rows: Rows, key: Any) -> WeightedPosterior:
    """The posterior, or an average over subsets of its features, whose shared weight has the highest evidence.

    The evidence is the density of the labels given the features of each row and the other rows, the weight integrated
    out. It compares four candidates, and therefore is hardly too high. Averages take a pass over all densities, and are
    left out where these are too many for `FEWEST_ROWS`. Of many rows a random subset chooses.
    """
    numbers, some = _number_of_features(posterior) * len(posterior.classes), rows
    candidates: list[tuple[float, Any]] = [(1.0, posterior)]
    few = numbers * FEWEST_ROWS <= MOST_NUMBERS
    if few and offers(posterior, "the closed form of one model") and (rows.weights == 1.0).all():
        chosen = some_rows(len(rows), min(4 * numbers, MOST_NUMBERS // FEWEST_ROWS), random_generator(key))
        some = rows.take(chosen).alone()
        # A prior that differs by class, or by category, has no average.
        with suppress(ValueError):
            candidates += [(inclusion, posterior.averaged(inclusion)) for inclusion in INCLUSIONS]
    learned = [(*_learn(each, some, key, shared=True), inclusion) for inclusion, each in candidates]
    found, _, _, inclusion = max(learned, key=itemgetter(2))
    if inclusion == 1.0 and len(some) < len(rows):
        found = _learn(posterior, rows, key, shared=True)[0]
    average = f" in an average over subsets of the features, feature_inclusion={inclusion:g}" if inclusion < 1.0 else ""
    warn(
        f"{_number_of_features(posterior)} features are more than the {MOST_FEATURES} that can have a weight each: all "
        f"share the weight {found.feature_weights.weight[0]:.2g}{average}, which explains the labels best. "
        "feature_weights and feature_inclusion of NaiveBayesClassifier take another; nb.Multinomial() takes words as "
        "one feature",
        UserWarning,
    )
    return found


@in_float64
def _learn(
    posterior: Posterior,
    rows: Rows,
    key: Any,
    shared: bool = False,
    inference: NUTS | None = None,
    choosing: bool = False,
) -> tuple[WeightedPosterior, list[str], float]:
    """As `weight_features`; returns the warnings instead of issuing them, and the log evidence of the labels.

    If `choosing`, a further description that is no reading stays only where its weight has evidence.
    """
    if inference is not None and not isinstance(inference, NUTS):
        raise TypeError(f"inference is {a_type(inference)}: give nb.NUTS(), or None for the approximation")
    unweighted: Any = _weighable(posterior.plain)
    names = feature_names(unweighted.model.blocks)
    labels = unweighted.classes.tolist()
    require_two_classes(unweighted.classes)
    if not shared and len(names) > MOST_FEATURES:
        raise ValueError(
            f"there are {len(names)} features, and weights of their own are for {MOST_FEATURES} at most: use "
            "shared=True; words of documents are one feature in a block of counts, such as nb.Multinomial()"
        )
    # No category that only rows of weight zero have is worth a warning.
    rows = rows.counting().of_classes(unweighted.classes)
    rng = random_generator(key)
    remarks = []
    if shared and not offers(unweighted, "draws of a sampler") and unweighted.belief.class_probs().all():
        left_out = all_features_left_out(unweighted, rows)
    else:
        chosen = some_rows(len(rows), len(labels) * len(names), rng)
        if len(chosen) < len(rows):
            remarks.append(
                f"the weights are learned from {len(chosen)} of {len(rows)} rows, drawn at random, because all have "
                "too many densities of features and classes; each is left out of all the data"
            )
        left_out = features_left_out(unweighted, rows, chosen)
    prior = require(unweighted, "data", "weight_features").problem.rows_class_prior
    left_out = replace(left_out, log_class_prob=log_class_probs_without(unweighted, left_out.rows, prior))
    share = no_information(unweighted)
    if not shared:
        left_out = replace(left_out, log_density=mixed_features(left_out.log_density, left_out.log_class_prob, share))
    left_out.require_finite("no weights can be learned")
    left_out, of_labels = left_out.rows_of_possible_labels("the weights")
    likelihood, problem = _likelihood(left_out, shared=shared), unweighted.problem
    num_again, num_readings = (0, 0) if shared else (problem.model.num_again, problem.model.schema.num_readings)
    if choosing and (further := num_again - num_readings):
        last = len(names) - num_readings
        # With a generator of its own, all draws are those of a model that has only what stays.
        factors = log_factors_of_again(likelihood.of_features(slice(last)), further, random_generator(key))
        kept = np.delete(np.arange(len(names)), last - further + np.flatnonzero(factors <= 0.0))
        problem, likelihood = _of_features(problem, likelihood, kept)
        num_again = problem.model.num_again
    if num_readings:
        found = approximate_with_readings(likelihood, num_again, num_readings, rng)
        if found.num_weights < likelihood.num_features:
            problem, likelihood = _of_features(problem, likelihood, range(found.num_weights))
            num_again, num_readings = problem.model.num_again, 0
    else:
        given = priors(likelihood.num_features, len(labels), shared=shared, num_again=num_again)
        found = approximate(likelihood, given, rng)
    unweighted = _with_fewer_features(unweighted, problem)
    names = feature_names(unweighted.model.blocks)
    if inference is None:
        draws, which = found.draw(NUM_CHAINS * NUM_DRAWS, rng)
        draws, which = draws.reshape(NUM_CHAINS, NUM_DRAWS, -1), which.reshape(NUM_CHAINS, NUM_DRAWS)
    else:
        weighed = ["all features"] if shared else [str(name) for name in names]
        draws, which = sample_weights(likelihood, found, [*weighed, *map(str, labels)], inference, key)
    # Further rows update one distribution under a fixed prior: that of the spread would take all rows at once.
    readings = num_again, num_readings, found.mean_spread_of_readings
    alone = NormalWeights.before_any_row(likelihood.num_features, len(labels), *readings)
    (one,) = approximate(likelihood, [alone], rng, start=found.mode).parts
    weights = FeatureWeights.of(
        found.mode,
        draws,
        len(names),
        spread_draws=None if shared else np.array([part.prior.spread for part in found.parts])[which],
        num_rows=len(likelihood.codes),
        gaussian=one.gaussian,
        no_information=share,
    )
    weighted = WeightedPosterior(unweighted, weights)
    if not shared:
        weighted.importances = importances(
            weighted, np.pad(likelihood.log_ratio, ((1, 0), (0, 0), (0, 0))), likelihood.row_weights
        )
    if not offers(unweighted, "draws of a sampler"):
        of_features = np.pad((likelihood.log_ratio @ found.mode[: found.num_weights]).T, ((0, 0), (1, 0)))
        log_proba = log_normalised(weighted.belief.density.joined(left_out.log_class_prob, of_features))
        of_label = log_proba[np.arange(len(log_proba)), left_out.rows.codes]
        weighted.label_scores = label_scores(weighted, of_label, left_out.rows, left_out.rows.weights)
    return weighted, remarks + of_labels, found.log_evidence


def _of_features(
    problem: Problem, likelihood: ConditionalLikelihood, kept: Iterable[int]
) -> tuple[Problem, ConditionalLikelihood]:
    """Problem and likelihood with the features at some positions."""
    names = feature_names(problem.model.blocks)
    fewer = problem.of_features([names[position] for position in kept])
    return fewer, likelihood.of_features([names.index(name) for name in feature_names(fewer.model.blocks)])


def _with_fewer_features(posterior: Any, problem: Any) -> Any:
    """The posterior of its problem with fewer features; itself if these are all."""
    return posterior if problem is posterior.problem else posterior.inference.fit(problem, key=0)


def _weighable(posterior: Any) -> Posterior:
    """The posterior, or an error if its features have no densities of their own given the other rows."""
    problem = require(
        require(posterior, "a distribution of the parameters", "weight_features"), "data", "weight_features"
    ).problem
    if not offers(posterior, "draws of a sampler"):
        return posterior
    problem.require_labels("weight_features", "fit the rows that have a label")
    if problem.model.description.hyperpriors:
        raise ValueError(
            f"weight_features needs features that are independent given the class, and draws of "
            f"{next(iter(problem.model.description.hyperpriors))!r} make them dependent: give it a number, or use "
            "nb.EmpiricalBayes()"
        )
    return posterior


def _likelihood(left_out: FeaturesLeftOut, *, shared: bool) -> ConditionalLikelihood:
    log_density = left_out.log_density.sum(axis=-1, keepdims=True) if shared else left_out.log_density
    rows = left_out.rows
    return ConditionalLikelihood.of(log_density, left_out.log_class_prob, rows.codes, rows.weights)
