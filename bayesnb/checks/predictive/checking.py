"""The function `check`: compare data with replicates drawn from the fitted model."""

from typing import Any

import numpy as np

from bayesnb.checks.predictive.builtin import read_statistics, statistics_of
from bayesnb.checks.predictive.replicates import Rows, draws, encode, replicate
from bayesnb.checks.predictive.result import Check, check_of
from bayesnb.keys import random_generator
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.fitted import of_features
from bayesnb.progress import shows_progress, tqdm
from bayesnb.tables.label_column import split_labels
from bayesnb.validate import whole_number

__all__ = ["check"]

OTHER_ROWS = (
    "These are not the rows of the fit, which have a total weight of {fitted:.12g}: here it is {given}. If the rows of "
    "the fit had weights, give them here, too, as sample_weight; without them the replicates have another distribution."
)
"""What is printed below a check of other rows than those of the fit."""


@of_features
def check(
    posterior: Posterior,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    statistics: Any = None,
    num_replicates: int = 500,
    key: Any = 0,
    progress: bool | None = None,
) -> Check:
    """Compare data with replicates drawn from the fitted model.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        A sampled posterior gives evenly spaced draws. A point estimate gives the same parameters to every replicate,
        without their uncertainty.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
    sample_weight : array, shape (rows,), optional
        Frequencies, whole numbers: a row of weight w stands for w rows, in the data and in each replicate. A posterior
        keeps no weights of rows, so give those of the fit again.
    statistics : sequence of str or callable, optional
        Names of built-in statistics, by default all that the model's columns allow, and functions ``f(X, y)`` that
        return a number or a dict of numbers. For the observed data a function is given the table X itself. For
        replicates, and for data with `sample_weight`, it is given the model's columns: a pandas frame if the columns
        have names, else an array (CSR if X is sparse).
    num_replicates : int, default 500
    key : int or JAX key, default 0
    progress : bool, optional
        Whether to show a progress bar; by default as `NUTS` does.

    Returns
    -------
    Check

    Raises
    ------
    TypeError
        If the first argument is neither a posterior nor a fitted estimator, or a function returns no number.
    ValueError
        If X or y is missing or does not fit the model, a name is not that of a statistic, the model has no columns for
        a statistic, a weight is no whole number, or count vectors hold fractions, which cannot be drawn.

    See Also
    --------
    Check : The result.
    plot_check : Histograms of the statistics.
    calibration : Calibration of the predicted probabilities.

    Notes
    -----
    In a replicate each row keeps its label, its missing cells and its totals of count vectors; all other cells are
    drawn. A class thus keeps its own pattern of missing cells and lengths of documents. Only ``class_frequency`` uses
    labels that are drawn anew. Your own functions are given the observed labels.

    The p-value is P(T(replicate) >= T(observed) | data) (Rubin 1984, *Annals of Statistics* 12(4); Gelman, Meng and
    Stern 1996, *Statistica Sinica* 6, Eq. 5). It uses the data twice. For statistics that the model fits freely, such
    as a mean or the variance of a Gaussian column, it is conservative. For statistics that do not depend on location
    and scale (``dependence``, ``shape``) it is uniform.

    A statistic has many lines where there are many columns and classes, and some p-value is then small by chance. A
    line is therefore extreme by its adjusted p-value. Each value is measured from the median of its replicates, in
    distances from there to the 2.5 % quantile on its side. The adjusted p-value of a line is the share of replicates
    whose largest distance over all lines of the statistic is at least that of the line (single-step Westfall and Young
    1993). Under the model, some line of a statistic has an adjusted p-value below 0.02 with probability about 0.02,
    however many lines there are, and 1/(R + 1) with R < 49 replicates. The table of sizes and powers is in the guide.

    The order of the rows is not checked.

    The built-in statistics, a row for each label:

    - ``class_frequency[class]``: share of the rows.
    - ``mean[column, class]``, ``variance[column, class]``: of columns of numbers; of 0/1 columns the mean.
    - ``shape[column]``: of columns of measurements (numbers that are not whole by the family's support). It uses
      L-skewness, L-kurtosis (ratios of sample L-moments; Hosking 1990, *Journal of the Royal Statistical Society B* 52)
      and the share of the commonest value, in each class of four rows or more, as distances (of 1/n at least, for n
      rows) from the median of their replicates. ``observed`` is the largest over classes and the three; ``detail`` says
      which. ``p_value`` is the adjusted one. If a value of a column occurs twice, replicates are rounded to the
      smallest distance between its values, such as whole years. If a column has an extreme shape, its
      `mutual_information` under this model misleads: it is the information between the class and the family's density,
      not the column.
    - ``zero_share[column, class]``: share of zeros in a column of counts, or in all columns of a count vector.
    - ``burstiness[block, class]``: variance over mean of a word's count, averaged over the words that occur in the
      class. The length of documents is given, and is therefore not a statistic.
    - ``dependence`` and ``dependence[class]``: mean absolute correlation of pairs of features within a class, at most
      300 pairs chosen at random; a categorical column enters as whether the cell holds its most frequent category.
      Without the class, the average over classes weighted by their rows.
    - ``agreement``: how many other rows of its class agree with a row on more than 80 % of the 0/1 and categorical
      columns, averaged over at most 150 rows.

    In print the smallest adjusted p-values are first, and ``class_frequency``, ``mean`` and ``variance`` are last
    unless they are extreme. The variance of a family with one parameter, such as `Poisson`, follows from its mean, and
    is sorted with the others. The printed result names a next step for each extreme line; `Check.next_steps` gives them
    as a dict.

    Undefined values (a variance of one row, a class without rows) are left out: a p-value counts the replicates that
    define its statistic, and a statistic that the data or all replicates leave undefined is dropped and named in
    `Check.dropped`.

    Examples
    --------
    Two features that copy each other are not independent given the class.

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 50)
    >>> X = np.repeat(rng.integers(0, 2, (100, 1)), 2, axis=1)
    >>> found = nb.check(nb.fit(nb.Bernoulli(), X, y), X, y)
    >>> float(found.table.loc["dependence", "p_value"])
    0.0
    """
    if X is None or y is None:
        missing = [name for name, value in (("X", X), ("y", y)) if value is None]
        raise ValueError(
            f"a check needs the data, and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not given: a "
            "posterior keeps no rows, so give the table and the labels, nb.check(posterior, X, y)"
        )
    number = whole_number("num_replicates", num_replicates)
    asked = read_statistics(statistics)
    X, y = split_labels(X, y)
    data = encode(posterior.model, X, y, sample_weight)
    for_choices, for_draws = random_generator(key).spawn(2)
    found = statistics_of(asked, posterior.model, data, X, y, sample_weight is not None, for_choices)
    replicated = [np.empty((number, len(observed))) for _, observed in found]
    drawn = draws(posterior, number, for_draws)
    hidden = not shows_progress(progress)
    for s, parameters in enumerate(tqdm(drawn, total=number, desc="check", unit="replicate", disable=hidden)):
        rows = replicate(posterior.model, parameters, data, for_draws)
        for (statistic, _), values in zip(found, replicated, strict=True):
            values[s] = statistic.values(rows)
    lines = [
        line
        for (statistic, observed), values in zip(found, replicated, strict=True)
        for line in statistic.lines(observed, values)
    ]
    return check_of(lines, number, _on_other_rows(posterior, data))


def _on_other_rows(posterior: Posterior, data: Rows) -> str:
    """What is printed if the data have other numbers of rows than those of the fit, else nothing."""
    problem = posterior.problem
    if problem is None or np.allclose(problem.statistics.classes.n, data.labels.sizes):
        return ""
    fitted, given = float(np.sum(problem.statistics.classes.n)), len(data.labels.codes)
    return OTHER_ROWS.format(fitted=fitted, given=given)
