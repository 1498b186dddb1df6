"""Labels of items and quality of annotators, from a long table of annotations."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays import in_float64
from bayesnb.crowd.choices import require_inference, require_maximum
from bayesnb.crowd.prior import around, counted_concentration, first_guess, interior_concentration
from bayesnb.crowd.read import AnnotationTable, read_annotations
from bayesnb.crowd.result import AnnotationFit
from bayesnb.families.annotations import Annotations
from bayesnb.inference.base import Inference
from bayesnb.inference.choice import as_inference
from bayesnb.inference.expectation import EM
from bayesnb.inference.gibbs import Gibbs
from bayesnb.inference.point import MAP
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.problem import Problem

__all__ = ["fit_annotations"]


def fit_annotations(
    table: Any,
    *,
    item: Any,
    annotator: Any,
    label: Any,
    inference: Inference | None = None,
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
        One row for each annotation. Of a Dask data frame, one partition is in memory at a time, and the counts of all.
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
    plot_annotators : Accuracy of annotators.
    plot_confusion : Confusion matrices of annotators.
    plot_items : The items with the most uncertain labels.

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
    learned = hierarchical or isinstance(concentration, dist.Distribution)
    default = Gibbs() if learned else EM()
    inference = default if inference is None else as_inference(inference)
    columns = {"item": item, "annotator": annotator, "label": label}
    annotations = read_annotations(table, columns, classes, known)
    require_inference(inference, annotations, concentration, class_concentration, learned=learned)
    weights = concentration
    if concentration is None:
        interior = hierarchical or isinstance(inference, MAP)
        weights = interior_concentration(annotations) if interior else counted_concentration(annotations)
    if hierarchical:
        weights = around(weights, annotations)
    problem = _problem(annotations, weights, class_concentration)
    require_maximum(inference, problem, weights)
    inference.check(problem)
    return AnnotationFit(annotations, inference.fit(problem, key=key), item, annotator)


@in_float64
def _problem(annotations: AnnotationTable, concentration: Any, class_concentration: Any) -> Problem:
    family = Annotations(concentration, num_labels=len(annotations.labels))
    model = BoundModel.of(
        NaiveBayes({"annotation": (family, slice(None))}, class_concentration=class_concentration),
        annotations.schema,
    )
    known = np.flatnonzero(annotations.known >= 0)
    membership = np.eye(len(annotations.classes))[annotations.known[known]]
    statistics = model.count((annotations.counts[known],), membership)
    rows, _ = annotations.unknown
    if not len(rows):
        return Problem(model, statistics)
    return Problem(model, statistics, unlabelled=replace(rows, guess=first_guess(annotations, rows.blocks[0])))
