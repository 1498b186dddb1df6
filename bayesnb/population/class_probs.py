"""The class probabilities of rows without labels, from another population than those of the fit."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.core.arrays import row_pieces
from bayesnb.core.checking import first_few, proportion, warn, warns_once
from bayesnb.core.deferred import in_float64
from bayesnb.core.forest import ForestPanel, Points, forest, top_rows
from bayesnb.core.panels import percent
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, counted
from bayesnb.core.running import random_generator, results_in_order
from bayesnb.data.elsewhere import is_elsewhere, sample_elsewhere
from bayesnb.data.lazy_table import without_rows_in_errors
from bayesnb.data.read import Rows, as_rows, read_rows, split_labels
from bayesnb.model.prior import spread_class_prior
from bayesnb.population.mixture import ClassProbsDensity, mode_of
from bayesnb.population.moved_columns import Drift, drift_of_rows, refuse_few_rows
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.kinds import posterior_of, table_for
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# Draws of the class probabilities, given rows and a fit
# --------------------------------------------------------------------------------------------------

NUM_CHAINS, NUM_DRAWS = 4, 1000

LEAST_CONCENTRATION = 0.1
"""Below it the tail of a class without rows is longer than short chains reach, and draws are wrong."""

DRAWS_OF_FIT = 50
"""Draws of the fit's parameters and weights in each chain."""

ROWS_OF_FIT = 5000
"""Rows under each draw of the fit, at most."""

NUMBERS_OF_FIT = 5 * 10**6
"""Class probabilities of rows under draws of the fit in memory, at most; 40 MB."""


def _equally_probable(posterior: Posterior) -> Any:
    """The posterior for a population in which all classes are equally probable."""
    num_classes = len(posterior.classes)
    return posterior.with_class_probs(np.full(num_classes, 1.0 / num_classes))


def likelihood_ratios(posterior: Posterior, X: Any) -> np.ndarray:
    """Densities of rows given each class, up to a factor of each row, shape (rows, classes).

    They are the class probabilities of a population in which all classes are equally probable.
    """
    return _equally_probable(posterior).predict_proba(X)


def draw_class_probs(posterior: Posterior, X: Any, *, key: Any = 0) -> np.ndarray:
    """Draws of the class probabilities of the population that rows without labels are from, shape (draws, classes).

    The fit is taken as known, and the prior is uniform.
    """
    return _draw_given_ratios(likelihood_ratios(posterior, X), np.ones(len(posterior.classes)), key)


def _draw_given_ratios(ratios: np.ndarray, concentration: np.ndarray, key: Any) -> np.ndarray:
    return ClassProbsDensity.of(ratios, concentration).draw(NUM_CHAINS * NUM_DRAWS, random_generator(key))


def _shifts_by_the_fit(
    posterior: Posterior, X: Any, ratios: np.ndarray, prior: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Logarithms of the class probabilities at the modes under draws of the fit, minus their means (draws, classes)."""
    equal, num_classes = _equally_probable(posterior), ratios.shape[1]
    if not len(ratios) or not offers(equal, "a distribution of the parameters"):
        return np.zeros((1, num_classes))
    num_draws = min(DRAWS_OF_FIT, equal.plain.num_draws) if offers(equal, "draws of a sampler") else DRAWS_OF_FIT
    most = min(ROWS_OF_FIT, max(NUMBERS_OF_FIT // (NUM_CHAINS * num_draws * num_classes), 1))
    rows = np.sort(rng.permutation(len(ratios))[:most])
    weights = np.full(len(rows), len(ratios) / len(rows))
    start = mode_of(ratios[rows], prior, weights)
    proba = equal.proba_draws(as_rows(X).take(rows), num_draws=num_draws, key=int(rng.integers(2**31)))
    under_draws = list(proba.reshape(-1, len(rows), num_classes))
    modes = list(results_in_order(lambda own: mode_of(own, prior, weights, start), under_draws))
    shifts = np.log(modes)
    return shifts - shifts.mean(axis=0)


# --------------------------------------------------------------------------------------------------
# The estimate, as users see it
# --------------------------------------------------------------------------------------------------

DRAWS_AVERAGED = 200
"""Predictions average over this many draws of the class probabilities."""


@dataclass(frozen=True, repr=False)
class ClassProbsEstimate(Printed):
    """The result of `estimate_class_probs`.

    Attributes
    ----------
    posterior : Posterior
        The posterior of the fit with the mean class probabilities of the new rows.
    table : pandas.DataFrame
        By class: ``fit``, the class probability of the fit; ``mean`` and ``sd`` of that of the new rows, and ``lower``
        and ``upper``, the ends of its interval.
    draws : array, shape (chain, draw, classes)
        Draws of the class probabilities of the new rows.
    prob : float
        Posterior probability of the intervals.
    drift : Drift or None
        Which columns of the new rows have moved beyond what their class probabilities explain; None where `nb.drift`
        cannot compare them, and raises an error that says why.

    See Also
    --------
    estimate_class_probs : The class probabilities of rows without labels.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> nb.estimate_class_probs(posterior, X[y != "Adelie"])
    Class probabilities of 192 rows, with 90 % intervals:
    class       fit  mean    sd  lower  upper
    Adelie    0.441 0.008 0.008  0.000  0.025
    Chinstrap 0.199 0.351 0.034  0.295  0.408
    Gentoo    0.360 0.641 0.034  0.584  0.696
    The rows look like rows of the fit in these proportions.
    """

    posterior: Any
    table: pd.DataFrame
    draws: np.ndarray
    prob: float
    drift: Drift | None
    _given: Any = field(compare=False)
    _num_rows: int = field(compare=False)

    @property
    def agrees(self) -> bool | None:
        """Whether the new rows look like rows of the fit in these proportions: no column has drifted.

        None where `drift` is.
        """
        return None if self.drift is None else not self.drift.drifted

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities of rows of the new population, averaged over its uncertain class probabilities.

        Parameters
        ----------
        X : table, shape (rows, columns)

        Returns
        -------
        array, shape (rows, classes)
            In the order of ``posterior.classes``.
        """
        ratios = likelihood_ratios(self.posterior, table_for(self._given, X))
        drawn = self.draws.reshape(-1, ratios.shape[1])
        drawn = drawn[np.linspace(0, len(drawn) - 1, DRAWS_AVERAGED).astype(int)]

        def average(rows: slice) -> None:
            ratios[rows] *= (1.0 / (ratios[rows] @ drawn.T)) @ drawn / len(drawn)

        list(results_in_order(average, list(row_pieces(len(ratios), DRAWS_AVERAGED))))
        return ratios

    def plot(self, *, sort: bool = False, max_classes: int = 40, ax: Any = None, figsize: Any = None) -> Any:
        """The class probabilities of the new rows with their intervals, beside those of the fit.

        Parameters
        ----------
        sort : bool, default False
            The most probable class first; otherwise in the order of the classes.
        max_classes : int, default 40
            The first ones in this order are drawn.
        ax, figsize
            The axes to draw in, or the size of a new figure: see `plot_proba`.

        Returns
        -------
        matplotlib.figure.Figure

        See Also
        --------
        estimate_class_probs : The class probabilities of rows without labels.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> figure = nb.estimate_class_probs(posterior, X[y != "Adelie"]).plot()
        """
        shown, classes = top_rows(self.table, "mean", sort, noun="class", max_classes=max_classes)
        points = [
            Points(shown["fit"], "of the fit", "D", "B2", filled=False),
            Points(shown["mean"], "of the new rows, mean"),
        ]
        ends = shown["lower"], shown["upper"], f"{percent(self.prob)} interval"
        names = [str(label) for label in shown.index]
        panel = ForestPanel(names, points, *ends, x_label="class probability", limits=(0.0, None))
        title = f"Class probabilities of {counted(self._num_rows, 'new row')}: {classes}"
        return forest([panel], title=title, ax=ax, figsize=figsize)

    def _parts(self) -> list[Piece]:
        rows = counted(self._num_rows, "row")
        heading = Heading(f"Class probabilities of {rows}, with {percent(self.prob)} intervals:")
        agree = [] if self.drift is None else [Paragraph(_verdict(self.drift))]
        return [heading, DataTable(self.table, number=".3f"), *agree]


def _verdict(found: Drift) -> str:
    """Whether the rows look like rows of the fit in other proportions, in words."""
    moved = found.table.index[:-1][found.table["drifted"].iloc[:-1]]
    if not len(moved):
        return "The rows look like rows of the fit in these proportions."
    return (
        f"The rows do not look like rows of the fit in any proportions: {first_few([repr(name) for name in moved])} "
        "moved, so that the probabilities may be wrong; .drift has more"
    )


@warns_once
@in_float64
def estimate_class_probs(
    posterior: Any, X_new: Any, y: Any = None, *, prob: float = 0.9, class_concentration: Any = 1.0, key: Any = 0
) -> ClassProbsEstimate:
    r"""The class probabilities of the population that rows without labels are from.

    The distribution of the features given the class is that of the fit; only the classes have other probabilities.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
    X_new : table, shape (rows, columns)
        Of a lazy or Dask table 10,000 rows, drawn at random.
    y : labels of shape (rows,) or str, optional
        Labels that are known, missing where they are not. The labelled rows are a random sample of all.
    prob : float, default 0.9
        Posterior probability of the intervals.
    class_concentration : float or array of shape (classes,), default 1.0
        Concentration of the Dirichlet prior on the class probabilities, at least 0.1.
    key : int or JAX key, default 0
        For the draws.

    Returns
    -------
    ClassProbsEstimate
        ``table`` with mean and interval of each class probability, ``draws``, and ``agrees``, whether the rows look
        like rows of the fit in these proportions. Its ``predict_proba(X)`` averages over the draws, and its
        ``posterior`` has the mean class probabilities.

    Raises
    ------
    TypeError, ValueError
        If there are no rows, they do not have the columns of the fit, a label is no class, or a number is out of range;
        or if weights were learned from rows in which a class has probability zero, whose odds are not known.

    Warns
    -----
    UserWarning
        If a column has moved beyond what the class probabilities explain (`drift`).

    See Also
    --------
    Posterior.with_class_probs : Predictions where the class probabilities are known.
    drift : Whether columns have moved beyond what the class probabilities explain.
    calibration : Whether class probabilities are right, by rows with labels.

    Notes
    -----
    The posterior of the class probabilities q of n rows is

    .. math:: p(q \mid x) \propto \prod_c q_c^{a_c - 1} \prod_i \sum_c q_c \frac{p(c \mid x_i)}{f_c},

    with the predictive probabilities of the fit and the class probabilities f that they have without any cell (without
    the offsets of a `WeightedPosterior`). The algorithm of Saerens, Latinne and Decaestecker (2002, *Neural
    Computation* 14, 21-41) finds its mode for a = 1.

    The fit is uncertain too. Under each of 200 draws of its parameters and weights, the mode of q is somewhere else;
    these shifts, around their mean, are added to the draws of the logarithms of q. They are found from 5,000 rows at
    most, drawn at random. The new rows do not change the fit (a cut posterior; Plummer 2015, *Statistics and Computing*
    25, 37-43): a few rows of the fit with labels say more of its parameters than many without.

    Rows with the same ratios count once; more than 500 distinct ones are put into groups of nearly equal rows, whose
    means and second derivatives are those of the rows. Compared with draws for every row, means and standard deviations
    change by less than a hundredth of the standard deviation.

    Examples
    --------
    Penguins of an island without one of the species:

    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> found = nb.estimate_class_probs(posterior, X[y != "Adelie"])
    >>> found.table[["fit", "mean", "lower", "upper"]].round(2)
                fit  mean  lower  upper
    class
    Adelie     0.44  0.01   0.00   0.02
    Chinstrap  0.20  0.35   0.30   0.41
    Gentoo     0.36  0.64   0.58   0.70
    >>> found.agrees
    True
    """
    given = posterior_of(posterior)
    proportion("prob", prob)
    if is_elsewhere(X_new, y):
        X_new, y, _ = sample_elsewhere(X_new, y, None, key)
        options = {"prob": prob, "class_concentration": class_concentration, "key": key}
        with without_rows_in_errors():  # a sample has other rows than its table
            return estimate_class_probs(posterior, X_new, y, **options)
    X, y = split_labels(X_new, y)
    rows = read_rows(table_for(posterior, X), y).of_classes(given.classes, may_miss=True)
    if not len(rows):
        raise ValueError("X_new has no rows: give at least one")
    missing = rows.codes < 0
    own = rows.table if missing.all() else rows.take(np.flatnonzero(missing)).alone().table
    prior = _concentration(given, class_concentration) + np.bincount(rows.codes[~missing], minlength=len(given.classes))
    ratios = likelihood_ratios(given, own)
    known = _draw_given_ratios(ratios, prior, key)
    moved = _drift_or_none(given, rows, known, key)
    draws = _with_the_fit(known, _shifts_by_the_fit(given, own, ratios, prior, random_generator(key).spawn(2)[1]))
    mean, sd = draws.mean(axis=0), draws.std(axis=0, ddof=1)
    lower, upper = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=0)
    columns = {"fit": given.plain.class_probs(), "mean": mean, "sd": sd, "lower": lower, "upper": upper}
    table = pd.DataFrame(columns, index=pd.Index(given.classes, name="class", tupleize_cols=False))
    if moved is not None and moved.drifted:
        warn(_verdict(moved), UserWarning)
    after = given.with_class_probs(mean / mean.sum())
    draws = draws.reshape(NUM_CHAINS, NUM_DRAWS, -1)
    return ClassProbsEstimate(after, table, draws, prob, moved, posterior, len(rows))


def _concentration(posterior: Posterior, given: Any) -> np.ndarray:
    """The Dirichlet prior of a user, shape (classes,)."""
    prior = replace(posterior.model.description, class_concentration=given, class_probs=None)
    if prior.learns_classes:
        raise TypeError(f"class_concentration is {given!r}, a distribution: give a positive number, or one per class")
    found = spread_class_prior(prior, posterior.classes).concentration
    if (found < LEAST_CONCENTRATION).any():
        raise ValueError(
            f"class_concentration is {given!r}: give at least {LEAST_CONCENTRATION} for each class, since draws do not "
            "reach far enough under smaller ones"
        )
    return found


def _with_the_fit(draws: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Draws with the shifts of the fit added to their logarithms."""
    shifted = draws * np.exp(shifts[np.arange(len(draws)) % len(shifts)])
    return shifted / shifted.sum(axis=1, keepdims=True)


def _drift_or_none(posterior: Posterior, rows: Rows, draws: np.ndarray, key: Any) -> Drift | None:
    """As `drift` of the rows; None where it raises an error."""
    try:
        refuse_few_rows(require(posterior, "data", "drift"), rows)
        return drift_of_rows(posterior, rows, draws, rng=random_generator(key).spawn(1)[0])
    except (TypeError, ValueError):
        return None
