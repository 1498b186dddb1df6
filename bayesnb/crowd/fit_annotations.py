"""The fit to annotations."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

import bayesnb as nb
from bayesnb.core.arrays import probabilities
from bayesnb.core.deferred import dist, is_distribution
from bayesnb.crowd.annotation_table import AnnotationTable, read_annotations
from bayesnb.crowd.result import AnnotationFit

# --------------------------------------------------------------------------------------------------
# The prior on the annotators' probabilities, and the labels at which iterations start
# --------------------------------------------------------------------------------------------------

NUM_ANNOTATIONS = 4.0
"""Number of annotations of each class and annotator that the default prior of draws counts as, whatever the number of
labels."""

OWN, OTHER = 5.0, 1.5
"""Prior weight of the class's own label, and of each other label, where the density needs a mode: a mode without zeros
needs weights above one. They are the medians of concentrations that are learned, too."""

SPREAD = 1.0
"""Standard deviation of the logarithm of a concentration that is learned."""

AGREEMENT = 0.7
"""Probability of the class's own label: the mean of the default prior of draws, and the start of iterations."""


def _label_weights(annotations: AnnotationTable, own: float, other: float) -> np.ndarray:
    """One number for the class's own label, another for each other label, shape (classes, labels)."""
    return np.where(np.arange(len(annotations.labels)) == annotations.own_label[:, None], own, other)


def _alike(annotations: AnnotationTable) -> np.ndarray:
    """Probability of each label in each class, shape (classes, labels): .7 for the own label, the others are equal."""
    return _label_weights(annotations, AGREEMENT, (1 - AGREEMENT) / (len(annotations.labels) - 1))


def _around(concentration: Any, annotations: AnnotationTable) -> "dist.Distribution":
    """The hyperprior of learned concentrations, shape (classes, labels): log-normal, with given medians.

    Raises
    ------
    TypeError
        If a distribution is given, which is a hyperprior itself.
    ValueError
        If the medians are not positive, or have an axis of annotators, who share the concentrations.
    """
    if is_distribution(concentration):
        raise TypeError(
            f"concentration is {nb.families.format_number(concentration)}, which is learned in any case: leave out "
            "hierarchical=True, or give numbers, the medians of the hyperprior"
        )
    shape = len(annotations.classes), len(annotations.labels)
    medians = np.asarray(concentration, dtype=np.float64)
    if medians.shape not in {(), shape}:
        raise ValueError(
            f"concentration has shape {medians.shape}, and with hierarchical=True all annotators share the "
            f"concentrations: give one number, or an array of shape {shape} (classes, labels)"
        )
    if not (np.isfinite(medians).all() and (medians > 0).all()):
        raise ValueError(f"concentration holds {medians.min()}: give positive numbers")
    return dist.LogNormal(np.broadcast_to(np.log(medians), shape), SPREAD)


# --------------------------------------------------------------------------------------------------
# Checks of the inference and the prior that a user chooses for annotations
# --------------------------------------------------------------------------------------------------


def _require_inference(
    inference: "nb.results.Inference", annotations: AnnotationTable, given: list[str], *, learned: bool
) -> None:
    """Raise ValueError for an inference that needs labels of all items, or ignores the prior that the user gives.

    `given` names the arguments that state the prior; `learned` says whether the concentrations are learned.
    """
    name = f"nb.{type(inference).__name__}()"
    if given and isinstance(inference, nb.MLE):
        raise ValueError(
            f"inference is nb.MLE(), which ignores the prior, and {' and '.join(given)} is given: use nb.EM(), or "
            f"leave out {' and '.join(given)}"
        )
    unknown = int((annotations.known < 0).sum())
    if unknown and isinstance(inference, nb.Exact | nb.EmpiricalBayes):
        raise ValueError(
            f"inference is {name}, which needs the label of every item in known, and known lacks {unknown:,} of "
            f"{len(annotations.items):,} items: use {'nb.EM(), ' * (not learned)}nb.Gibbs() or nb.NUTS()"
        )


def _require_bounded_density(
    inference: "nb.results.Inference", problem: "nb.results.Problem", concentration: Any
) -> None:
    """Raise ValueError for a mode where the density of the annotators' probabilities is unbounded.

    The exponent of a probability is its concentration, plus the annotations of known items, minus one. If it is
    negative, some labels of the other items give the probability no annotation, and the density grows without bound as
    the probability goes to zero.
    """
    if not isinstance(inference, nb.MAP) or is_distribution(concentration):
        return
    (family,) = problem.posterior.families
    if (np.asarray(family.hyperparameters()["concentration"]) < 1).any():
        raise ValueError(
            f"concentration holds {np.min(concentration):g}, and nb.{type(inference).__name__}() needs 1 or more: "
            "below 1 the density has no maximum; use nb.Gibbs() or nb.NUTS(), or a concentration of 1 or more"
        )


# --------------------------------------------------------------------------------------------------
# Labels of items and quality of annotators, from a long table of annotations
# --------------------------------------------------------------------------------------------------


def fit_annotations(
    table: Any,
    *,
    item: Any,
    annotator: Any,
    label: Any,
    inference: "nb.results.Inference | None" = None,
    classes: Any = None,
    known: Any = None,
    concentration: Any = None,
    class_concentration: Any = 1.0,
    hierarchical: bool = False,
    key: Any = 0,
) -> AnnotationFit:
    r"""Labels of items from annotators who may be wrong: the model of Dawid and Skene (1979).

    It is naive Bayes whose class is not observed. An item has the class c with probability :math:`\pi_c`. Given c,
    annotator j gives label l with probability :math:`\theta_{cjl}`, independently of all other annotations:

    .. math::
        \pi \sim \mathrm{Dirichlet}(a), \qquad \theta_{cj} \sim \mathrm{Dirichlet}(\alpha_c), \qquad
        p(x_i \mid y_i = c) = \prod_{j, l} \theta_{cjl}^{x_{ijl}}

    An annotator who gives an item no label says nothing about it. If an annotator gives an item several labels, each of
    them counts.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or Dask data frame
        One row for each annotation. Of a Dask data frame, the three columns come into memory.
    item, annotator, label : str
        Names of the columns.
    inference : Inference, optional
        `EM()` by default, a point estimate; `Gibbs()` or `NUTS()` for draws, which give intervals. NUTS stores items by
        annotators by labels, and takes small tables. Where concentrations are learned, `Gibbs()` by default.
    classes : sequence, optional
        Classes that an item may have, by default the labels of the table, sorted. A class may be a label that no
        annotator gives, and an annotator may give a label that is no class, such as "unsure".
    known : mapping from item to label, pandas.Series or table, optional
        Labels of items that are known for certain. An item may have no annotation. A table has two columns, the one of
        the items and one of labels.
    concentration : float, array or numpyro.distributions.Distribution, optional
        Prior weight of each label: one number, (classes, labels) or (classes, annotators, labels). The labels are those
        of the table and the classes, sorted, and the annotators have the order of their first annotation. 1 is a flat
        prior, under which EM maximises the likelihood. A distribution, of one number or of shape (classes, labels), is
        a hyperprior, and the concentration is learned. By default the weights of a class are those of four annotations
        with 70 % right: 2.8 for the class's own label, and 1.2 shared equally by the others. A mode needs weights above
        1, so that with `EM()` and `MAP()` the default is 5 and 1.5 for each other label.
    class_concentration : float or array of shape (classes,), default 1.0
        Prior weight of each class.
    hierarchical : bool, default False
        Whether annotators share concentrations that are learned (partial pooling). The hyperprior of each is
        log-normal. Its median is the `concentration`, by default 5 for the class's own label and 1.5 for each other
        label, and the standard deviation of the logarithm is 1. It needs draws.
    key : int or JAX key, default 0
        Source of randomness.

    Returns
    -------
    AnnotationFit

    Raises
    ------
    TypeError
        If the table has no named columns, `known` is no mapping or table, or `concentration` is a distribution and
        `hierarchical` is true.
    ValueError
        If a column does not exist or is given twice; a cell is missing, naming its row; there are fewer than two
        classes; a known label is not among the classes; the inference needs every label, ignores a prior that is given,
        or gives no draws where concentrations are learned; or it needs a mode and a concentration is below 1.

    Warns
    -----
    ConvergenceWarning
        If the inference has not converged.
    UserWarning
        If `classes` is not given and some labels are probably errors: they are blank or differ only in case or spaces,
        text is among other values, or nearly every annotation has a label of its own.

    See Also
    --------
    AnnotationFit : What it returns.

    Notes
    -----
    An iteration starts from the labels that follow if every annotator is right with probability .7.

    With `hierarchical`, the annotators' probabilities in a class are draws from one Dirichlet distribution, whose
    concentration is a parameter (the hierarchical model of Paun et al. 2018, with a Dirichlet in place of a
    logistic-normal distribution). Annotators with few annotations then take more from the others, the more alike the
    annotators are. There is no `EM()` of this model: the joint density of concentrations and probabilities is highest
    at very large concentrations, where all annotators are equal, whatever the data.

    References
    ----------
    Dawid, A. P. and Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM algorithm.
    *Applied Statistics* 28(1), 20-28.

    Paun, S., Carpenter, B., Chamberlain, J., Hovy, D., Kruschwitz, U. and Poesio, M. (2018). Comparing Bayesian models
    of annotation. *Transactions of the Association for Computational Linguistics* 6, 571-585.

    Examples
    --------
    Three annotators, of whom the third often disagrees with the others.

    >>> import pandas as pd
    >>> import bayesnb as nb
    >>> votes = {"Ann": "yynnyynn", "Bob": "yynnyynn", "Cem": "nynynyny"}
    >>> rows = [(i, who, given) for who, labels in votes.items() for i, given in enumerate(labels)]
    >>> table = pd.DataFrame(rows, columns=["photo", "person", "cat"])
    >>> crowd = nb.fit_annotations(table, item="photo", annotator="person", label="cat")
    >>> "".join(crowd.items["label"])
    'yynnyynn'
    >>> crowd.annotators["accuracy"].round(2).to_dict()
    {'Ann': 0.94, 'Bob': 0.94, 'Cem': 0.71}
    """
    learned = hierarchical or is_distribution(concentration)
    default = nb.Gibbs() if learned else nb.EM()
    inference = default if inference is None else nb.results.as_inference(inference)
    columns = {"item": item, "annotator": annotator, "label": label}
    annotations = read_annotations(table, columns, classes, known)
    flat = isinstance(class_concentration, int | float) and class_concentration == 1
    stated = {"concentration": concentration is not None, "hierarchical": hierarchical, "class_concentration": not flat}
    given = [name for name, is_so in stated.items() if is_so]
    _require_inference(inference, annotations, given, learned=learned)
    weights = concentration
    if concentration is None:
        interior = hierarchical or isinstance(inference, nb.MAP)
        weights = _label_weights(annotations, OWN, OTHER) if interior else NUM_ANNOTATIONS * _alike(annotations)
    if hierarchical:
        weights = _around(weights, annotations)
    problem = _problem(annotations, weights, class_concentration)
    _require_bounded_density(inference, problem, weights)
    return AnnotationFit(annotations, nb.fit(problem, inference=inference, key=key), item, annotator)


def _problem(annotations: AnnotationTable, concentration: Any, class_concentration: Any) -> "nb.results.Problem":
    family = nb.families.Annotations(concentration, num_labels=len(annotations.labels))
    model = nb.NaiveBayes({"annotation": (family, slice(None))}, class_concentration=class_concentration)
    columns = list(itertools.product(annotations.annotators, annotations.labels))
    bound = model.bind(columns=columns, classes=annotations.classes)
    known = np.flatnonzero(annotations.known >= 0)
    membership = np.eye(len(annotations.classes))[annotations.known[known]]
    statistics = bound.count((annotations.counts[known],), membership)
    rows, _ = annotations.unknown
    # Iterations start from the labels that follow if all annotators are alike.
    of_columns = np.tile(np.log(_alike(annotations)), len(annotations.annotators))
    guess = probabilities(rows.blocks[0] @ of_columns.T)[0] if len(rows) else None
    return nb.results.Problem(bound, statistics, unlabelled=replace(rows, guess=guess) if len(rows) else None)
