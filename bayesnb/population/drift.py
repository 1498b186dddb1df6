"""Whether the columns of new rows have moved beyond what their class probabilities explain."""

from contextlib import nullcontext
from typing import Any

from bayesnb.core.deferred import in_float64
from bayesnb.core.running import random_generator
from bayesnb.data.elsewhere import is_elsewhere, table_elsewhere
from bayesnb.data.lazy_table import without_rows_in_errors
from bayesnb.data.read import read_rows, split_labels
from bayesnb.population.class_probs import draw_class_probs
from bayesnb.population.moved_columns import Drift, drift_of_rows, refuse_few_rows
from bayesnb.posterior.belief import require
from bayesnb.posterior.kinds import posterior_of, table_for


@in_float64
def drift(posterior: Any, X_new: Any, y_new: Any = None, *, smallest: float = 0.1, key: Any = 0) -> Drift:
    r"""Whether columns of new rows have moved, beyond what their class probabilities explain.

    Old rows are not needed: the statistics of the fit suffice. Without labels, those of each class are weighted so that
    the old rows have the class probabilities of the new ones, and the result is averaged over the posterior of these.
    A change that only the classes make is therefore none. With labels, columns are compared class by class.

    Parameters
    ----------
    posterior : Posterior or fitted estimator
        With the statistics of its rows, and closed forms for the columns. Weights of features predict the classes, and
        change nothing else.
    X_new : table, shape (rows, columns)
        At least two rows, from the population to be compared. Of a lazy or Dask table all rows are
        counted; without labels 10,000 rows, drawn at random, say which class probabilities they have.
    y_new : labels of shape (rows,) or str, optional
        If they are known.
    smallest : float, default 0.1
        The smallest change that counts, in standard deviations; of shares of the cells, a fifth of it.
    key : int or JAX key, default 0
        For draws of class probabilities and parameters.

    Returns
    -------
    Drift
        ``drifted`` says whether any column has moved, ``table`` has a line for each and one for the classes, and
        ``plot()`` draws old beside new. A column that only readings describe, such as a date, has the line of the first
        of them.

    Raises
    ------
    TypeError, ValueError
        If the posterior has no statistics (`from_parameters`) or learned hyperparameters, there are fewer than two new
        rows, all their cells are missing, a label is missing or is no class of the fit, or no column has a closed form.

    Warns
    -----
    UserWarning
        If cells hold values that the fit does not know: they say nothing of the class, and count as unseen here.

    See Also
    --------
    check : Whether a model fits the rows of its fit.
    estimate_class_probs : The class probabilities of rows without labels.

    Notes
    -----
    For each column two hypotheses are compared: one distribution for old and new rows, or one each, both under the
    prior of the fit, without labels that of its most frequent class. With the class probabilities q of the new rows and
    :math:`f_c` those of the rows of the fit, an old row of class c has the weight :math:`w_c \propto q_c / f_c`, and
    the weights add up to the effective number of rows, :math:`(\sum_i w_i)^2 / \sum_i w_i^2`. The Bayes factor over
    draws of q is

    .. math:: B = \Bigl( E_q \bigl[ B(q)^{-1} \bigr] \Bigr)^{-1}, \qquad B(q) = \tfrac13 (V + S + V S),

    where V is the factor of the values, S that of whether cells hold a value of the fit, another one or none, and the
    three terms are that one of these moved, or both. Each of the D lines has the prior probability 1 / (2 D), so that
    with probability one half or more nothing has moved.

    The columns of a `MultivariateGaussian` are compared one by one. A count vector counts as a single token, because
    words come in bursts. Numbers in bins have the moments of their bins, with tails that bound a large shift. A column
    that another feature of the model describes once more has one line.

    A change of many columns that looks like one of the classes is taken for that: give labels to tell them apart.

    Examples
    --------
    New rows in which one species is missing, and heavier ones:

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> old, new = np.array_split(np.random.default_rng(0).permutation(len(X)), 2)
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X.iloc[old], y.iloc[old])
    >>> others = X.iloc[new][y.iloc[new] != "Adelie"]
    >>> nb.drift(posterior, others).drifted
    False
    >>> found = nb.drift(posterior, others.assign(body_mass_g=others["body_mass_g"] + 1000))
    >>> found.table.index[found.table["drifted"]].tolist()
    ['body_mass_g', 'class probabilities']
    """
    given = require(posterior_of(posterior), "data", "drift")
    rows: Any
    if elsewhere := is_elsewhere(X_new, y_new):
        rows = table_elsewhere(X_new, y_new)
    else:
        X, y = split_labels(X_new, y_new)
        rows = read_rows(table_for(posterior, X), y)
    with without_rows_in_errors() if elsewhere else nullcontext():  # a sample has other rows than its table
        refuse_few_rows(given, rows)
        class_probs = None
        if y_new is None:
            class_probs = draw_class_probs(given, (rows.sampled if elsewhere else rows).table, key=key)
        return drift_of_rows(given, rows, class_probs, smallest=smallest, rng=random_generator(key).spawn(1)[0])
