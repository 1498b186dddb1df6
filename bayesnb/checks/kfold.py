"""Cross-validation."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import count, repeat
from operator import add
from typing import Any

import numpy as np
from arviz_stats import ELPDDataLOOKFold

from bayesnb.core.arrays import log
from bayesnb.core.checking import warn, warn_of, whole_number
from bayesnb.core.plain_formulas import is_lost
from bayesnb.core.running import as_key, key_of_stream, progress_bar, random_generator, split
from bayesnb.data.labels import read_labels
from bayesnb.data.read import Rows, read_rows
from bayesnb.families.family import Family
from bayesnb.families.statistics import Membership
from bayesnb.inference.exact import ConvergenceWarning, Inference
from bayesnb.inference.fit import as_inference, problem_of, warn_of_quantities
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model, as_model
from bayesnb.model.reading import Cells, log_normalised
from bayesnb.posterior.belief import require
from bayesnb.posterior.kinds import AveragedPosterior, ExactPosterior, Fitted, posterior_of
from bayesnb.posterior.left_out import require_rows_of_fit
from bayesnb.posterior.loo import elpd_fields, remark_on_impossible_rows, remark_on_labels, remark_on_weights, row_array
from bayesnb.posterior.posterior import Posterior, warn_of_lost_weights
from bayesnb.posterior.weighted_posterior import with_weights_of

# --------------------------------------------------------------------------------------------------
# Warnings of many fits, gathered and issued once
# --------------------------------------------------------------------------------------------------


class _GatheredWarnings:
    """Warnings of fits to training parts. Convergence warnings differ only in numbers: one is shown."""

    def __init__(self) -> None:
        self.found: dict[tuple[type[Warning], str], tuple[str, list[str]]] = {}

    @contextmanager
    def warnings_of_fit(self, which: str) -> Iterator[None]:
        """Gather the warnings of a fit."""
        with warnings.catch_warnings(record=True, action="always", category=UserWarning) as caught:
            yield
        for one in caught:
            message = str(one.message)
            same = "" if issubclass(one.category, ConvergenceWarning) else message
            self.found.setdefault((one.category, same), (message, []))[1].append(which)

    def issue(self) -> None:
        """Issue each warning once, naming its fits."""
        for (category, same), (message, fits) in self.found.items():
            first = "" if same or len(fits) == 1 else "the first says: "
            warn(f"kfold, fit {', '.join(dict.fromkeys(fits))}: {first}{message}", category)


# --------------------------------------------------------------------------------------------------
# How well does a model predict folds of rows that it has not seen?
# --------------------------------------------------------------------------------------------------


def kfold(
    posterior: ExactPosterior | AveragedPosterior | Fitted | Model | Family,
    X: Any,
    y: Any,
    *,
    inference: Inference | None = None,
    k: int = 10,
    folds: Any = None,
    sample_weight: Any = None,
    key: Any = 0,
) -> ELPDDataLOOKFold:
    """K-fold cross-validation: each fold is predicted by a fit to the rows of the others.

    It scores any model with any inference, so that models without a closed form can be compared with others.

    Parameters
    ----------
    posterior : NaiveBayes, BoundModel, Family, ExactPosterior, AveragedPosterior or fitted estimator
        A model, which `inference` fits to the rows of X without each fold; or an exact posterior, whose own inference
        is run again.
    X : table, shape (rows, columns)
        For a model, all rows. For a posterior, the rows that it was fitted to, or some of them; the others stay in
        every training set.
    y : labels of shape (rows,) or str
        Every row needs one.
    inference : Inference, optional
        For a model only: `Exact()` by default, or `NUTS()`, `Gibbs()`, `MAP()`, `MLE()`, `EmpiricalBayes()`.
    k : int, default 10
        Number of folds, drawn at random with nearly equal shares of every class.
    folds : array, shape (rows,), optional
        Fold of each row, any labels; instead of `k`.
    sample_weight : array, shape (rows,), optional
        The weights of the fit. A row counts once in the score, whatever its weight.
    key : int or JAX key, default 0
        For the folds drawn, and for the inference of a model, which gets a separate key for each fold.

    Returns
    -------
    arviz_stats.ELPDDataLOOKFold
        ``elpd_i`` and ``p_kfold_i`` have the dimension ``row``.

    Raises
    ------
    TypeError, ValueError
        As `fit` for a model and as `loo` for a posterior; if the posterior is not exact, a label is missing, there are
        fewer than two folds, or more folds than rows; or if the inference has no result without a fold, which the error
        names.

    Warns
    -----
    UserWarning
        If the rows of a posterior's fit had weights, and none are given. If class probabilities are frequencies
        (``class_probs="empirical"``) and a fold has all rows of a class: without
        the fold, the label of these rows is impossible. If a point estimate makes a row impossible under every class:
        the row then gets the class probabilities.
    ConvergenceWarning
        If sampled fits have not converged: one warning, which names the folds.

    See Also
    --------
    loo : Leave-one-out cross-validation, for ArviZ.
    loo_scores : Exact leave-one-out scores of the labels.

    Notes
    -----
    The statistics of a fold are subtracted from those of all rows, and the inference runs on the rest: a model with k
    folds costs k + 1 runs, one of them on all rows for ``p``. Columns, classes and categories are those of all rows.
    Frequencies, defaults that follow the data's scale and hyperparameters that `EmpiricalBayes` learns are those of the
    training part. Numbers that were given are kept, and so are weights of features, with a warning. A progress bar
    shows the folds of a sampled inference; its setting `progress` controls this.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0], [0]], ["a", "a", "b", "b"])
    >>> found = nb.kfold(posterior, [[1], [1], [0], [0]], ["a", "a", "b", "b"], k=2)
    >>> found.elpd_i.round(3).values
    array([-0.405, -0.405, -0.405, -0.405])

    Bursts of words, which have no closed form:

    >>> X, author = nb.datasets.federalist()
    >>> known = author.isin(["Hamilton", "Jay", "Madison"])
    >>> X, author = X[known], author[known]
    >>> independent = nb.kfold(nb.Multinomial(), X, author)
    >>> bursty = nb.kfold(nb.DirichletMultinomial(), X, author, inference=nb.MAP())
    >>> round(independent.elpd, 1), round(bursty.elpd, 1)
    (-1.0, -5.8)
    """
    given = read_rows(X, y, sample_weight)
    whole_key, folds_key = split(as_key(key), 2)
    gathered = _GatheredWarnings()
    fitted: Posterior
    # A closed form draws nothing, and the search of EmpiricalBayes begins as it does by default.
    fold_keys: Iterator[Any] = repeat(0)
    if isinstance(posterior, Model | Family):
        fold_keys = (key_of_stream(folds_key, f) for f in count())
        with gathered.warnings_of_fit("to all rows"):
            fitted = _fit_training(as_model(posterior), given, as_inference(inference), whole_key)
    else:
        way = "nb.kfold(model, X, y, inference=nb.NUTS() or nb.MAP()), which fits anew"
        fitted = require(posterior_of(posterior), "a closed form", "kfold of a posterior", way)
        if inference is not None:
            raise ValueError(
                "inference is for a model, and a posterior has its own: leave it out, or give the model, "
                "nb.kfold(model, X, y, inference=...)"
            )
        warn_of_lost_weights(fitted, sample_weight, len(given))
    labelled = given.of_classes(fitted.classes)
    require_rows_of_fit(fitted, labelled)
    fold, names = _draw_folds(labelled.codes, k, key) if folds is None else _read_folds(folds, len(labelled))
    problem = require(fitted, "data", "kfold").problem
    chunks = problem.model.read(labelled.table)
    # The fit of a model has already warned about the table.
    cells = chunks.whole(warn=not isinstance(posterior, Model | Family))
    size = chunks.slices[0].stop

    def some_at_a_time(members: np.ndarray) -> Iterator[tuple[Rows, Cells]]:
        for start in range(0, len(members), size):
            some = labelled.take(members[start : start + size])
            yield some, tuple(x[some.place] for x in cells)

    in_sample, pointwise = np.empty((2, len(labelled)))
    impossible = np.zeros(len(labelled), dtype=bool)
    for some, of_some in some_at_a_time(labelled.place):
        in_sample[some.place], _ = _fold_score(fitted, some, of_some)
    quiet: Any = fitted.inference
    asked = getattr(quiet, "progress", False)
    if hasattr(quiet, "progress"):
        quiet = replace(quiet, progress=False)
    for f, name in enumerate(progress_bar("kfold", "fold", asked, items=names)):
        pieces = list(some_at_a_time(np.flatnonzero(fold == f)))
        training = problem.take_away(reduce(add, (_fold_statistics(problem.model, *piece) for piece in pieces)))
        with gathered.warnings_of_fit(f"without fold {name}"):
            try:
                rest = with_weights_of(fitted, quiet.fit(training, key=next(fold_keys)))
            except ValueError as error:
                raise ValueError(f"without fold {name}: {error}") from error
        for some, of_some in pieces:
            pointwise[some.place], impossible[some.place] = _fold_score(rest, some, of_some)
    gathered.issue()
    remarks = remark_on_labels(problem, pointwise) + remark_on_impossible_rows(impossible) + remark_on_weights(fitted)
    warn_of(remarks)
    return ELPDDataLOOKFold(
        **elpd_fields(pointwise, in_sample, remarks),
        good_k=None,  # type: ignore[arg-type]
        n_folds=len(names),
        p_kfold_i=row_array(in_sample - pointwise),
    )


def _fit_training(model: Model, rows: Rows, inference: Inference, key: Any) -> Posterior:
    """The fit to all rows, each of which has a label."""
    problem = problem_of(model, rows.counting())
    warn_of_quantities(problem)
    problem.require_labels("kfold", "leave them out")
    inference.check(problem)
    problem.model.require_one_description("kfold of a model")
    return inference.fit(problem, key=key)


def _fold_statistics(model: BoundModel, rows: Rows, cells: Cells) -> ModelStatistics:
    """Statistics of encoded rows."""
    return model.count(cells, Membership.of(rows.codes, rows.weights, len(rows.classes)))


def _fold_score(posterior: Posterior, rows: Rows, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Log probability of the labels of encoded rows, and which rows are impossible under every class.

    Impossible rows get the class probabilities, as in `Posterior.predict_proba`.
    """
    log_proba = log_normalised(posterior.belief.density.log_joint(cells))
    impossible = is_lost(log_proba, -np.inf)
    log_proba[impossible] = log(posterior.class_probs())
    return log_proba[np.arange(len(rows)), rows.codes], impossible


def _draw_folds(codes: np.ndarray, k: int, key: Any) -> tuple[np.ndarray, list[Any]]:
    """Fold of each row: rows are shuffled within their class and assigned to the folds in turn, class after class."""
    k = whole_number("k", k)
    if not 2 <= k <= len(codes):
        raise ValueError(f"k is {k}: give at least 2 folds and no more than there are rows, {len(codes)}")
    shuffled = random_generator(key).permutation(len(codes))
    dealt = shuffled[np.argsort(codes[shuffled], kind="stable")]
    fold = np.empty(len(codes), dtype=np.intp)
    fold[dealt] = np.arange(len(codes)) % k
    return fold, list(range(k))


def _read_folds(folds: Any, num_rows: int) -> tuple[np.ndarray, list[Any]]:
    """Folds as numbers, from labels of any kind, and the labels."""
    given = read_labels(folds, num_rows, "folds")
    names = given.classes()
    if len(names) < 2:
        raise ValueError(f"folds names {len(names)} fold: give at least two")
    return given.codes(names), names.tolist()
