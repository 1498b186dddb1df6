"""Calibration of class probabilities, and its picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit
from scipy.stats import beta

from bayesnb.core.checking import a_type, one_of, proportion, warns_once, whole_number
from bayesnb.core.panels import SMALL, background, grid_of_panels, muted, percent, text_width
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted, plus_minus_of
from bayesnb.core.running import random_generator
from bayesnb.data.read import Rows, labelled_rows, split_labels
from bayesnb.data.tables import Table
from bayesnb.posterior.kinds import Fitted, posterior_of
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The figure of a calibration: observed frequencies over predicted probabilities
# --------------------------------------------------------------------------------------------------

LOOKS: dict[str, dict[str, Any]] = {
    "posterior": {"color": "C0", "marker": "o", "linestyle": "-"},
    "other": {"color": "C1", "marker": "s", "linestyle": "--"},
}

LABELS = {
    "classes": ("predicted probability of a class", "observed frequency"),
    "confidence": ("probability of the predicted class", "accuracy"),
}

NEAR_ONE = 0.05
"""A probability nearer to zero or one than this is hard to read on a linear axis."""

NARROWEST, WIDEST = 1e-2, 1e-4
"""Bounds for how near a logit axis comes to zero and one."""

SHARE = 0.75
"""Share of the figure's height given to the diagram."""

BINS = 20
"""Bars of the histogram."""


def _axis_ends(bins: pd.DataFrame, kind: str, scale: str) -> tuple[float, float]:
    """Limits of both axes; those of a logit axis are as near to zero and one as the data."""
    drawn = bins[["lower", "mean_predicted", "observed", "observed_lower", "observed_upper"]].to_numpy()
    low, margin = 0.0, 0.03
    if scale == "logit":
        distance, margin = np.minimum(drawn, 1 - drawn), 0.0
        low = np.clip(distance[distance > 0].min(initial=NARROWEST) / 2, WIDEST, NARROWEST) / 1.6
    high = 1 - low
    if kind == "confidence":
        low = max(low, 0.95 * drawn.min())
    return float(low - margin), float(high + margin)


def _ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Probabilities along a logit axis and their texts: 0.5, 0.9, 0.99 and so on, not more than fit."""
    decades = int(np.floor(-np.log10(1 - high)))
    distances = [10.0**-decade for decade in range(decades, 0, -1 if decades <= 3 else -2)]
    texts = [f"{distance:.{decades}f}".rstrip("0") for distance in distances]
    found = [*zip(distances, texts, strict=True), (0.5, "0.5")]
    found += [(1 - x, f"{1 - x:.{decades}f}".rstrip("0")) for x in reversed(distances)]
    inside = [(place, text) for place, text in found if low <= place <= high]
    return [place for place, _ in inside], [text for _, text in inside]


def _shade(axis: Any, low: float, high: float, kind: str) -> None:
    """The diagonal, the side of overconfidence in grey, and words on either side."""
    axis.plot([low, high], [low, high], color=muted(0.5), linewidth=1, zorder=1)
    over: dict[str, Any] = {"facecolor": muted(0.09), "edgecolor": "none", "zorder": 0}
    middle = low if kind == "confidence" else 0.5
    right = np.array([middle, high])
    axis.fill_between(right, np.full(2, low), right, **over)
    sides = [("overconfident", 0.98, 0.02), ("underconfident", 0.02, 0.98)]
    if kind == "classes":
        left = np.array([low, middle])
        axis.fill_between(left, left, np.full(2, high), **over)
        sides = [("overconfident", 0.98, 0.02), ("overconfident", 0.02, 0.98)]
        sides += [("underconfident", 0.48, 0.02), ("underconfident", 0.52, 0.98)]
    for text, x, y in sides:
        across, up = "right" if x in (0.98, 0.48) else "left", "bottom" if y < 0.5 else "top"
        axis.text(
            x, y, text, transform=axis.transAxes, ha=across, va=up, fontsize=SMALL, color=muted(0.6), style="italic"
        )


def _draw_bins(axis: Any, bins: pd.DataFrame, ends: tuple[float, float], look: Mapping[str, Any]) -> Any:
    """A point and an interval for each bin."""
    names = ["mean_predicted", "observed", "observed_lower", "observed_upper"]
    x, y, lower, upper = (bins[name].clip(*ends).to_numpy() for name in names)
    face = background() if look["marker"] == "s" else look["color"]
    style = {"markersize": 5, "linewidth": 1, "capsize": 2, "markerfacecolor": face, "clip_on": False}
    return axis.errorbar(x, y, yerr=[y - lower, upper - y], zorder=3, **style, **look)


# --------------------------------------------------------------------------------------------------
# Are the class probabilities calibrated?
#
# Of the rows that get a class with probability 0.8, eight in ten should have that class. Naive Bayes counts dependent
# features twice, so that its probabilities are too close to 0 and 1. The numbers here measure by how much.
# --------------------------------------------------------------------------------------------------

DIGITS = 12
"""Predictions closer than this are equal, because two sums of the same numbers may differ by rounding."""

BIN_COLUMNS = [
    *("model", "kind", "lower", "upper", "mean_predicted"),
    *("observed", "observed_lower", "observed_upper", "count"),
]

SIMULATIONS = 400
"""Number of sets of labels drawn from the predictions, to estimate the calibration error by chance."""


ON_FIT = (
    "These are the rows of the fit, on which the scores are too good: give rows that the posterior was not fitted to, "
    "or use nb.kfold or nb.loo_scores."
)
"""Printed for scores on the rows of the fit."""


@dataclass(frozen=True, repr=False)
class Calibration(Printed):
    """The result of `calibration`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per score: ``accuracy``; ``confidence``, the mean probability of the predicted class; ``log_score``, the
        mean log probability of the label; ``brier``, the mean of the squared errors summed over classes (0 to 2);
        ``reliability``, ``resolution`` and ``uncertainty``, with brier = reliability - resolution + uncertainty;
        ``calibration_error``, the mean absolute difference between confidence and accuracy over bins; and
        ``calibration_error_by_chance``, the one that calibrated predictions of these values would show. The columns
        ``posterior`` and ``posterior_se`` hold the score and its standard error; with another model also ``other``,
        ``other_se``, ``difference`` (posterior minus other) and ``difference_se``, which is that of paired rows.
    bins : pandas.DataFrame
        A row per model and bin: ``model``; ``kind``, "classes" (the probability of every class of every row) or
        "confidence" (that of the predicted class); ``lower`` and ``upper``, the smallest and largest prediction;
        ``mean_predicted``; ``observed`` frequency with its interval ``observed_lower``, ``observed_upper``; ``count``.
    predictions : dict
        The class probabilities of each model, shape (rows, classes).
    classes : array, shape (classes,)
    prob : float
        Probability of the intervals.
    names : dict
        What the plot calls each model: their types, or "posterior" and "other" where these do not tell them apart.
    on_fit : bool
        Whether the rows are those of the fit, on which the scores of the posterior are too good. The printed result
        then says so.

    See Also
    --------
    calibration : Calibration of the predicted probabilities.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> found = nb.calibration(posterior, X, y)
    >>> found.table["posterior"].round(3)
    score
    accuracy                       0.983
    confidence                     0.982
    log_score                     -0.057
    brier                          0.034
    reliability                    0.009
    resolution                     0.612
    uncertainty                    0.636
    calibration_error              0.003
    calibration_error_by_chance    0.008
    Name: posterior, dtype: float64
    """

    table: pd.DataFrame
    bins: pd.DataFrame
    predictions: dict[str, np.ndarray]
    classes: np.ndarray
    prob: float
    names: dict[str, str]
    on_fit: bool = False

    def plot(self, *, kind: str = "classes", axes: Any = None, figsize: Any = None) -> Any:
        """Reliability diagram with intervals, over a histogram of the predictions.

        Parameters
        ----------
        kind : {"classes", "confidence"}, default "classes"
            The probabilities of every class, or those of the predicted class.
        axes, figsize
            As for `plot_densities`, with two axes: for the diagram and for the histogram.

        Returns
        -------
        matplotlib.figure.Figure
            Points on the diagonal are calibrated. The shaded sides say "overconfident": there the predictions are
            nearer to zero or one than the frequencies. The axes are logit, which spreads probabilities near zero and
            one, if a model's mean predictions in at least half of its bins are nearer to zero or one than 0.05. What is
            beyond the ends of a logit axis, such as a frequency of one, is drawn at the end.

        Raises
        ------
        TypeError, ValueError
            If there is no such kind.

        See Also
        --------
        calibration : Calibration of the predicted probabilities.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X[::3], y[::3])
        >>> figure = nb.calibration(posterior, X[1::3], y[1::3]).plot(kind="confidence")
        """
        one_of("kind", kind, LABELS)
        bins = self.bins[self.bins["kind"] == kind]
        mean = bins["mean_predicted"]
        near = (np.minimum(mean, 1 - mean) < NEAR_ONE).groupby(bins["model"]).mean()
        scale = "logit" if near.max() >= 0.5 else "linear"
        low, high = _axis_ends(bins, kind, scale)
        ratios = [SHARE, 1 - SHARE]
        if axes is None and figsize is None:
            figsize = (5.0, 6.0)
        panels = grid_of_panels(2, axes=axes, figsize=figsize, across=1, height_ratios=ratios)
        diagram, histogram = panels.axes
        _shade(diagram, low, high, kind)
        if scale == "logit":
            edges = expit(np.linspace(logit(low), logit(high), BINS + 1))
        else:
            edges = np.linspace(max(low, 0.0), 1.0, BINS + 1)
        entries, errors = [], self.table.loc["calibration_error"]
        for model, predictions in self.predictions.items():
            look = LOOKS[model]
            points = _draw_bins(diagram, bins[bins["model"] == model], (low, high), look)
            entries.append((points, f"{self.names[model]}: calibration error {errors[model]:.3f}"))
            values = predictions.ravel() if kind == "classes" else predictions.max(axis=1)
            line = {"color": look["color"], "linestyle": look["linestyle"]}
            histogram.hist(np.clip(values, edges[0], edges[-1]), bins=edges, histtype="step", linewidth=1.5, **line)
        across, up = LABELS[kind]
        for axis in (diagram, histogram):
            axis.set_xscale(scale)
            axis.spines["left"].set_visible(True)
        diagram.set_yscale(scale)
        for side in (diagram.xaxis, diagram.yaxis, histogram.xaxis):
            if scale == "logit":
                side.set_ticks(*_ticks(low, high))
                side.set_ticks([], minor=True)
        diagram.set(xlim=(low, high), ylim=(low, high))
        histogram.set_xlim(low, high)
        beside = f"{up} ({percent(self.prob)} interval)"
        diagram.set_ylabel(beside, fontsize=SMALL)
        panels.set_height(max(2.4, text_width(beside, SMALL) / SHARE / 2))
        histogram.set_ylabel("predictions", fontsize=SMALL)
        histogram.set_xlabel(across, fontsize=SMALL)
        panels.legend(entries, inside=0)
        return panels.drawn()

    def _parts(self) -> list[Piece]:
        scores = [name for name in ("posterior", "other", "difference") if name in self.table]
        shown = pd.DataFrame({name: plus_minus_of(self.table[name], self.table[f"{name}_se"]) for name in scores})
        shown = shown.where(self.table[scores].notna(), "")
        warned = [Paragraph(ON_FIT)] if self.on_fit else []
        return [Heading(self._headline()), *warned, Paragraph("Scores ± standard errors:"), DataTable(shown)]

    def _headline(self) -> str:
        rows, classes = self.predictions["posterior"].shape
        score, error = self.table["posterior"], self.table["posterior_se"]
        return (
            f"Calibration on {counted(rows, 'row')}, {classes} classes: confidence {score['confidence']:.3f}, "
            f"accuracy {score['accuracy']:.3f}; calibration error {score['calibration_error']:.3f}, "
            f"{score['calibration_error_by_chance']:.3f} ± {error['calibration_error_by_chance']:.3f} by chance"
        )


@warns_once
def calibration(
    posterior: Posterior | Fitted,
    X: Any,
    y: Any,
    *,
    other: Any = None,
    bins: int = 10,
    prob: float = 0.89,
    key: Any = 0,
) -> Calibration:
    r"""Compare predicted class probabilities with labels, for one model or for two.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        Exact, sampled or point.
    X : table, shape (rows, columns)
        Rows that the posterior was not fitted to. On the rows of the fit its scores are too good, and the printed
        result says so if their sufficient statistics are those of the posterior's data. A part of these rows, or rows
        beside them, is not recognised, nor are rows that had weights in the fit. Each row counts once.
    y : labels of shape (rows,) or str
    other : Posterior, array of shape (rows, classes), or classifier, optional
        What to compare with: another posterior; class probabilities in the order of ``posterior.classes``; or an object
        with ``predict_proba`` and ``classes_``, as scikit-learn's.
    bins : int, default 10
        Number of bins. Equal predictions are in the same bin; otherwise bins have equal counts.
    prob : float, default 0.89
        Probability of the intervals of the observed frequencies.
    key : int or JAX key, default 0
        For ``calibration_error_by_chance``.

    Returns
    -------
    Calibration

    Raises
    ------
    TypeError
        If the first is neither a posterior nor a fitted estimator, or `other` cannot predict.
    ValueError
        If there are no rows, a label is not among the classes, or the other's classes or probabilities do not fit.

    See Also
    --------
    Calibration : The result.
    check : Posterior predictive checks.

    Notes
    -----
    Intervals are those of the Beta posterior under Jeffreys' prior, Beta(k + 1/2, n - k + 1/2), extended to 0 or 1 if
    no row or every row is in the class (Brown, Cai and DasGupta 2001, *Statistical Science* 16, 101-133). Each row
    enters the bins of kind "classes" once for each class, so that these bins depend on each other.

    The Brier score (Brier 1950) is divided into reliability, resolution and uncertainty (Murphy 1973, *Journal of
    Applied Meteorology* 12, 595-600) separately for each class, by isotonic regression of the labels on the
    predictions, which needs no choice of bins and gives parts that add up exactly (CORP; Dimitriadis, Gneiting and
    Jordan 2021, *PNAS* 118, e2016191118):

    .. math:: \mathrm{REL} = S(p) - S(r), \quad \mathrm{RES} = S(f) - S(r), \quad \mathrm{UNC} = S(f)

    with S the Brier score, r the isotonic fit and f the class frequencies. The fit also follows chance, so that
    calibrated predictions have a small positive reliability.

    Each score is a mean over rows, and its standard error is that of this mean. The errors of r and f do not enter to
    first order, because r and f minimise S. The bins and signs of the calibration error are taken as known. This makes
    its standard error too large if predictions are calibrated.

    If features depend on each other, naive Bayes is overconfident. `weight_features` corrects this. Give the posterior
    without weights as `other` to compare the probabilities before and after.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X[::3], y[::3])
    >>> found = nb.calibration(posterior, X[1::3], y[1::3])
    >>> found.table.loc[["accuracy", "confidence"], "posterior"].round(2).tolist()
    [0.95, 0.97]
    """
    names = _names_of_models(posterior, other)
    posterior = posterior_of(posterior)
    proportion("prob", prob)
    bins = whole_number("bins", bins)
    X, y = split_labels(X, y)
    given = labelled_rows(X, y, classes=posterior.classes)
    codes = given.codes
    log_probs = {"posterior": posterior.predict_log_proba(given.table)}
    predictions = {"posterior": np.minimum(np.exp(log_probs["posterior"]), 1.0)}
    if other is not None:
        predictions["other"], log_probs["other"] = _predictions_of(other, X, given.table, posterior.classes)
    rows = {model: _scores(predictions[model], log_probs[model], codes, bins) for model in predictions}
    rng = random_generator(key)
    chance = {model: _error_by_chance(values.max(axis=1), bins, rng) for model, values in predictions.items()}
    of_models = [_bins(model, values, codes, bins, prob) for model, values in predictions.items()]
    return Calibration(
        table=_score_table(rows, chance),
        bins=pd.concat(of_models, ignore_index=True),
        predictions=predictions,
        classes=posterior.classes,
        prob=prob,
        names=names,
        on_fit=_are_rows_of_fit(posterior, given),
    )


def _are_rows_of_fit(posterior: Posterior, rows: Rows) -> bool:
    """Whether the rows have the sufficient statistics of the posterior's data."""
    problem = posterior.problem
    if problem is None or not np.array_equal(
        np.bincount(rows.codes, minlength=len(posterior.classes)), np.ravel(problem.statistics.classes.n)
    ):
        return False
    return problem.model.read(rows.table).count(rows.codes).statistics.same_rows(problem.statistics)


def _names_of_models(posterior: Any, other: Any) -> dict[str, str]:
    """The types of two models, where these tell them apart."""
    if other is None:
        return {"posterior": "posterior"}
    mine, theirs = (type(model).__name__ for model in (posterior, other))
    if mine == theirs or not hasattr(other, "predict_proba"):
        return {"posterior": "posterior", "other": "other"}
    return {"posterior": mine, "other": theirs}


def _predictions_of(other: Any, X: Any, table: Table, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities of the other model and their logs, in the order of `classes`.

    A posterior reads the table; any other classifier gets X as the user gave it.
    """
    labels = classes.tolist()
    if isinstance(other, Posterior):
        log_probs = other.predict_log_proba(table)[:, _positions(other.classes, labels)]
        return np.minimum(np.exp(log_probs), 1.0), log_probs
    if hasattr(other, "predict_proba"):
        if not hasattr(other, "classes_"):
            raise TypeError(f"other, {a_type(other)}, has no classes_ that name its columns: fit it first")
        order = _positions(other.classes_, labels)
        probs = np.asarray(other.predict_proba(X), dtype=np.float64)[:, order]
    elif np.ndim(other) == 0:
        raise TypeError(
            f"other is {a_type(other)}: give a posterior, class probabilities of shape (rows, classes), or a fitted "
            "classifier with predict_proba"
        )
    else:
        probs = np.asarray(other, dtype=np.float64)
    if probs.shape != (table.num_rows, len(labels)):
        raise ValueError(
            f"the other probabilities have shape {probs.shape}: give a row for each of X, {table.num_rows}, and a "
            f"column for each class {labels}"
        )
    wrong = ~np.isfinite(probs).all(axis=1) | (probs < 0).any(axis=1) | (np.abs(probs.sum(axis=1) - 1) > 1e-6)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"the other probabilities of row {row} are {probs[row].tolist()}: they must add up to one")
    with np.errstate(divide="ignore"):
        return np.minimum(probs, 1.0), np.log(probs)


def _positions(theirs: Any, labels: list[Any]) -> list[int]:
    found = np.asarray(theirs).tolist()
    if sorted(map(str, found)) != sorted(map(str, labels)) or set(found) != set(labels):
        raise ValueError(f"the classes differ: the posterior has {labels}, the other {found}")
    return [found.index(label) for label in labels]


def _scores(probs: np.ndarray, log_probs: np.ndarray, codes: np.ndarray, bins: int) -> pd.DataFrame:
    """Terms of each score, a column each, by row. The score is their mean."""
    rows = np.arange(len(codes))
    truth = np.zeros(probs.shape)
    truth[rows, codes] = 1.0
    frequency = np.broadcast_to(truth.mean(axis=0), truth.shape)
    fitted = np.column_stack([_isotonic(probs[:, c], truth[:, c]) for c in range(probs.shape[1])])
    brier, at_frequency, recalibrated = (
        ((truth - forecast) ** 2).sum(axis=1) for forecast in (probs, frequency, fitted)
    )
    confidence, hit = probs.max(axis=1), _hit(probs, codes)
    member = _membership(confidence, bins)
    gap = hit - confidence
    sign = np.sign(np.bincount(member, gap))
    return pd.DataFrame(
        {
            "accuracy": hit,
            "confidence": confidence,
            "log_score": log_probs[rows, codes],
            "brier": brier,
            "reliability": brier - recalibrated,
            "resolution": at_frequency - recalibrated,
            "uncertainty": at_frequency,
            "calibration_error": sign[member] * gap,
        }
    )


def _isotonic(predicted: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Isotonic regression of outcomes on predictions, equal predictions getting equal values."""
    _, where, count = np.unique(predicted.round(DIGITS), return_inverse=True, return_counts=True)
    return isotonic_regression(np.bincount(where, outcome) / count, weights=count).x[where]


def _membership(predicted: np.ndarray, bins: int) -> np.ndarray:
    """Bin of each prediction, by quantiles; no bin is empty."""
    rounded = predicted.round(DIGITS)
    edges = np.quantile(rounded, np.linspace(0, 1, bins + 1)).round(DIGITS)
    return np.unique(np.searchsorted(edges[1:-1], rounded), return_inverse=True)[1]


def _error_by_chance(confidence: np.ndarray, bins: int, rng: np.random.Generator) -> np.ndarray:
    """Calibration errors of correct predictions, over sets of labels drawn from them."""
    member = _membership(confidence, bins)
    found = np.empty(SIMULATIONS)
    for i in range(SIMULATIONS):
        gap = (rng.uniform(size=confidence.size) < confidence) - confidence
        found[i] = np.abs(np.bincount(member, gap)).sum() / confidence.size
    return found


def _score_table(rows: Mapping[str, pd.DataFrame], chance: Mapping[str, np.ndarray]) -> pd.DataFrame:
    each = dict(rows)
    with np.errstate(invalid="ignore"):  # a label that was given probability zero
        if "other" in rows:
            each["difference"] = rows["posterior"] - rows["other"]
        found = {model: scores.mean(skipna=False) for model, scores in each.items()}
        found |= {f"{model}_se": scores.sem(skipna=False) for model, scores in each.items()}
    table = pd.DataFrame({name: found[name] for model in each for name in (model, f"{model}_se")})
    for model, errors in chance.items():
        table.loc["calibration_error_by_chance", [model, f"{model}_se"]] = errors.mean(), errors.std(ddof=1)
    return table.rename_axis("score")


def _bins(model: str, probs: np.ndarray, codes: np.ndarray, bins: int, prob: float) -> pd.DataFrame:
    truth = (codes[:, None] == np.arange(probs.shape[1])).astype(np.float64)
    frames = []
    pooled = {"classes": (probs.ravel(), truth.ravel()), "confidence": (probs.max(axis=1), _hit(probs, codes))}
    for kind, (predicted, outcome) in pooled.items():
        cells = pd.DataFrame({"predicted": predicted, "outcome": outcome, "bin": _membership(predicted, bins)})
        found = cells.groupby("bin").agg(
            lower=("predicted", "min"),
            upper=("predicted", "max"),
            mean_predicted=("predicted", "mean"),
            observed=("outcome", "mean"),
            ones=("outcome", "sum"),
            count=("outcome", "size"),
        )
        ones, zeros = found["ones"], found["count"] - found["ones"]
        lower, upper = beta(ones + 0.5, zeros + 0.5).interval(prob)
        # An interval reaches 0 or 1 if all outcomes are equal.
        ends = {"observed_lower": np.where(ones == 0, 0.0, lower), "observed_upper": np.where(zeros == 0, 1.0, upper)}
        frames.append(found.assign(model=model, kind=kind, **ends))
    return pd.concat(frames)[BIN_COLUMNS]


def _hit(probs: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return (probs.argmax(axis=1) == codes).astype(np.float64)
