"""A posterior with feature weights, and the picture of the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from bayesnb.core.arrays import log
from bayesnb.core.checking import require_no_new_class
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import ForestPanel, Points, forest, top_rows
from bayesnb.core.frames import PrintedFrame
from bayesnb.core.label_scores import LabelScores
from bayesnb.core.panels import PROB, chosen, percent
from bayesnb.core.printing import DataTable, Paragraph, Piece
from bayesnb.core.running import random_generator
from bayesnb.data.elsewhere import is_elsewhere, sample_elsewhere
from bayesnb.data.labels import warn_of_absent_classes
from bayesnb.data.read import labelled_rows
from bayesnb.model.blocks import feature_names
from bayesnb.model.feature_weights import (
    ConditionalLikelihood,
    FeatureWeights,
    mixed_features,
    share_without_information,
    some_rows,
)
from bayesnb.model.laplace import learn_on
from bayesnb.posterior.belief import WeightedModel, WithWeights, require
from bayesnb.posterior.kinds import ON_LABELS_ONLY
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The frame of weights of features, which draws itself
# --------------------------------------------------------------------------------------------------


class WeightsFrame(PrintedFrame):
    """The weights of a `WeightedPosterior`: ``mean``, ``sd``, ``lower`` and ``upper`` by feature.

    All columns are printed. What pandas makes of it, such as a sorted or a rounded frame, is an ordinary frame again.

    See Also
    --------
    weight_features : Weights for features that are not independent.
    WeightedPosterior : A posterior with weights of features.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> weighted = nb.weight_features(nb.fit(nb.NaiveBayes.from_frame(X), X, y), X, y)
    >>> weighted.weights.columns.tolist()
    ['mean', 'sd', 'lower', 'upper']
    """

    def __init__(self, columns: Mapping[str, Any], features: Sequence[Any], *, shared: bool) -> None:
        frame = pd.DataFrame(columns, index=pd.Index(features, name="feature", tupleize_cols=False))
        super().__init__(frame, f"Weights of features, lower and upper: {percent(PROB)} interval")
        self._beside = shared

    def plot(
        self,
        *,
        features: Sequence[Any] | None = None,
        sort: bool = True,
        max_features: int = 40,
        ax: Any = None,
        figsize: Any = None,
    ) -> Any:
        """A forest of the weights of features.

        Parameters
        ----------
        features : sequence, optional
            Features to show, by default all.
        sort : bool, default True
            The highest mean weight first; otherwise in the order of `features`, or of the table.
        max_features : int, default 40
            The first ones in this order are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure
            Each weight's posterior mean and its 89 % interval. At one, the dashed line, a feature counts as in naive
            Bayes; at zero it does not count. If all features share one weight, it is drawn once.

        Raises
        ------
        TypeError, ValueError
            If a feature is unknown, or features are named that all share one weight.

        See Also
        --------
        weight_features : Weights for features that are not independent.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> weighted = nb.weight_features(nb.fit(nb.NaiveBayes.from_frame(X), X, y), X, y)
        >>> figure = weighted.weights.plot(max_features=5)
        """
        table = self if features is None else self.iloc[chosen("features", features, self.index)]
        if self._beside:
            if features is not None:
                raise ValueError(f"features is {features!r}, and all features share one weight: leave it out")
            table = table.head(1).set_axis(["all features"])
        shown, number = top_rows(table, "mean", sort, max_features=max_features)
        rows = ForestPanel(
            shown.index,
            [Points(shown["mean"], "mean")],
            shown["lower"],
            shown["upper"],
            "89 % interval",
            x_label="weight",
            at=1.0,
            at_label="naive Bayes",
            limits=(0.0, None),
        )
        weights = "One weight of all features" if self._beside else f"Weights of {number}"
        return forest([rows], title=f"{weights} (0: no effect, 1: as in naive Bayes)", ax=ax, figsize=figsize)


# --------------------------------------------------------------------------------------------------
# A posterior with weights of features, which act when rows are predicted
# --------------------------------------------------------------------------------------------------


def no_information(posterior: Posterior, more: float = 0.0) -> float:
    """`share_without_information` of the rows of a posterior, and of `more` rows."""
    num_rows = 0.0 if posterior.problem is None else float(np.sum(posterior.problem.statistics.classes.n))
    return share_without_information(num_rows + more, _rows_class_probs(posterior))


def _rows_class_probs(posterior: Posterior) -> np.ndarray:
    """Class probabilities of the rows of a posterior, also where those of another population are given."""
    problem: Any = posterior.problem
    prior = problem and problem.rows_class_prior
    return prior.update(problem.statistics.classes).mean() if prior else posterior.belief.class_probs()


class WeightedPosterior(Posterior):
    r"""A posterior with a weight for each feature and an offset for each class.

    .. math:: p(y=c \mid x, w, b) = (1 - s) \, \frac{\pi_c \prod_j p'(x_j \mid c, D)^{w_j}}
        {\sum_k \pi_k \prod_j p'(x_j \mid k, D)^{w_j}} + s \, \pi_c, \qquad \pi_c \propto p(c \mid D) \, e^{b_c}

    With the small probability s a cell says nothing about the class, so that :math:`p'(x_j \mid c) = (1 - s) \,
    p(x_j \mid c) + s \sum_k p(k) \, p(x_j \mid k)`, and with the same probability a row says nothing about its label.

    `nb.weight_features` gives one. Predictions use the mode of the weights. Draws, intervals and the split of
    uncertainty have both the uncertainty of the parameters and that of the weights. A weight below one says that the
    feature shares its evidence with others, so that the errors of their densities add up: under a draw, its log density
    varies as those of dependent features do. Draws are of the probability without these cells.

    The weights change how the evidence of the features is added up, and nothing of the features given the class. What
    concerns these, such as `simulate`, `marginals`, `log_evidence` or `nb.check`, is that of the posterior without
    weights. `log_joint` is the logarithm of a product that is no density.

    Attributes
    ----------
    unweighted : ExactPosterior, AveragedPosterior or SampledPosterior
        The posterior without weights.
    feature_weights : FeatureWeights
        The modes and the draws.

    See Also
    --------
    weight_features : Weights for features that are not independent.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> weighted = nb.weight_features(posterior, X, y)
    >>> weighted.feature_weights.weight[:3].round(1)
    array([1.4, 1.1, 1. ])
    """

    belief: WithWeights
    feature_weights: FeatureWeights

    label_scores: LabelScores | None = None
    """Of the rows that the weights were learned from; other rows, and files, have none."""

    importances: np.ndarray | None = None
    """Mean absolute log odds of each column over the same rows, if each feature has a weight."""

    def __init__(self, unweighted: Posterior, feature_weights: FeatureWeights) -> None:
        self.unweighted = unweighted
        self.feature_weights = feature_weights
        problem, class_probs, model = unweighted.problem, unweighted.belief.class_probs(), unweighted.model
        belief = WithWeights(
            WeightedModel(model.description, model.schema, model.blocks, feature_weights.shared),
            unweighted.belief,
            feature_weights,
            log(_rows_class_probs(unweighted)),
            None if problem is None or problem.rows_class_prior is None else log(class_probs),
        )
        super().__init__(problem, belief, unweighted.inference)

    def _with_class_probs(self, class_probs: np.ndarray) -> "WeightedPosterior":
        require_no_new_class(_rows_class_probs(self.unweighted), class_probs, self.classes.tolist())
        return WeightedPosterior(self.unweighted.with_class_probs(class_probs), self.feature_weights)

    @property
    def plain(self) -> Any:
        return self.unweighted

    @cached_property
    def generative(self) -> Any:
        """The distribution of a row: without weights, which act on the labels only, and with each column once."""
        if not self.model.schema.derived:
            return self.unweighted
        once = require(self.unweighted, "data", "a distribution of the rows").problem.described_once
        return require(self.unweighted, "a sampler to run again", "a distribution of the rows").inference.fit(once)

    @property
    def weights(self) -> WeightsFrame:
        """The weight of each feature.

        Returns
        -------
        WeightsFrame
            A pandas frame that draws itself, with a row for each feature, in the order of the table's columns; a block
            that is one observation is one feature. ``mean``, ``sd``, and ``lower`` and ``upper``, which hold 89 % of
            the posterior probability. If all features share one weight, all rows are equal.
        """
        summary = self.feature_weights.summary(PROB)["feature_weight"]
        return WeightsFrame(summary, feature_names(self.model.blocks), shared=self.feature_weights.shared)

    def plot(self, **options: Any) -> Any:
        """Draw the weights with their intervals; `WeightsFrame.plot` has the options."""
        return self.weights.plot(**options)

    def decision_boundary(self) -> tuple[np.ndarray, float]:
        """As `ExactPosterior.decision_boundary`, if no row says nothing about its label.

        Raises
        ------
        ValueError
            Also if a row says nothing with some probability: the log odds are then not linear.
        """
        if self.feature_weights.no_information:
            raise ValueError(
                "decision_boundary needs log odds that are linear, and with probability "
                f"{self.feature_weights.no_information:.2g} a row says nothing about its label: take "
                "posterior.unweighted.decision_boundary()"
            )
        return super().decision_boundary()

    def proba_interval(self, X: Any, **options: Any) -> np.ndarray:
        """As `Posterior.proba_interval`. The interval reaches at least to the prediction.

        A prediction keeps away from zero and one by the small probability that a row says nothing about its label; the
        draws of the parameters are without it. Near zero or one nearly all draws are therefore beyond the prediction,
        which is then itself an end of the interval.
        """
        proba = self.predict_proba(X)
        lower, upper = np.moveaxis(super().proba_interval(X, **options), -1, 0)
        return np.stack([np.minimum(lower, proba), np.maximum(upper, proba)], axis=-1)

    def marginals(self) -> dict[str, Any]:
        """Distribution of every scalar parameter, as `ExactPosterior.marginals`; none of the weights, which have draws.

        Raises
        ------
        ValueError
            If the posterior without weights has no distributions in closed form.
        """
        return require(self.unweighted, "the closed form of one model", "marginals", "draws()").marginals()

    @in_float64
    def learned(self, X: Any, y: Any, *, sample_weight: Any = None, key: Any = 0) -> "WeightedPosterior":
        """The posterior before more rows, with the weights after them.

        The posterior predicts the rows, and their labels update the normal distribution of weights and offsets. Rows
        that are impossible under a class, or whose label is, do not count. Of many rows a random subset does.
        """
        if is_elsewhere(X, y):
            X, y, sample_weight = sample_elsewhere(X, y, sample_weight, key)
        given = labelled_rows(X, y, sample_weight, classes=self.classes)
        warn_of_absent_classes(self.classes, self.classes[given.codes[given.weights > 0]])
        positions, rng = self.belief.model.positions, random_generator(key)
        num_features = sum(map(len, positions))
        rows = some_rows(len(given), num_features * len(self.classes), rng)
        log_density = np.empty((len(rows), len(self.classes), num_features))
        for i, x in enumerate(self.model.read(given.table).whole(warn=False)):
            for j, position in enumerate(positions[i]):
                log_density[..., position] = self.unweighted.belief.density.feature(i, j, x[rows])
        log_class_prob = np.tile(self.belief.log_rows_prob, (len(rows), 1))
        log_density = mixed_features(log_density, log_class_prob, self.feature_weights.no_information_in_feature)
        possible = np.isfinite(log_density).all(axis=(1, 2)) & np.isfinite(log_class_prob[0, given.codes[rows]])
        if not possible.any():
            return self
        if self.feature_weights.shared:
            log_density = log_density.sum(axis=-1, keepdims=True)
        counted = given.take(rows[possible])
        likelihood = ConditionalLikelihood.of(
            log_density[possible], log_class_prob[possible], counted.codes, counted.weights
        )
        learned = learn_on(self.feature_weights, likelihood, rng)
        share = no_information(self.unweighted, float(given.weights.sum()))
        return WeightedPosterior(self.unweighted, replace(learned, no_information=share))

    def update(self, X: Any, y: Any, *, sample_weight: Any = None, decay: float = 1.0, key: Any = 0) -> Self:
        """As `Posterior.update`; the weights learn on from the rows, which they predict before these are added.

        Warns
        -----
        UserWarning
            Also if the rows have no label of some class: the weights then move as if it were rare.
        """
        updated = self.unweighted.update(X, y, sample_weight=sample_weight, decay=decay, key=key)
        return with_weights_of(self.learned(X, y, sample_weight=sample_weight, key=key), updated)

    def forget(self, X: Any, y: Any, *, sample_weight: Any = None, key: Any = 0) -> Self:
        """As `Posterior.forget`; the weights stay as they are."""
        return with_weights_of(self, self.unweighted.forget(X, y, sample_weight=sample_weight, key=key))

    def _parts(self) -> list[Piece]:
        return [
            *self._title(),
            DataTable(self.weights, number=".3f", rest="more in .weights"),
            Paragraph(ON_LABELS_ONLY),
        ]


def with_weights_of(given: Posterior, posterior: Any) -> Any:
    """Another posterior of the same features with the weights of the one given; itself if that has none."""
    return posterior if given.feature_weights is None else WeightedPosterior(posterior, given.feature_weights)
