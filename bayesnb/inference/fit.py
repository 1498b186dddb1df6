"""The functions that make posteriors."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from bayesnb.core.checking import a_type, first_few, warn
from bayesnb.core.deferred import constraints, dist, in_float64, map_tree
from bayesnb.data.elsewhere import is_elsewhere
from bayesnb.data.labels import read_classes, warn_of_classes
from bayesnb.data.read import Rows
from bayesnb.data.schema import Schema
from bayesnb.families.family import Family, JointFamily, parameter_names
from bayesnb.inference.exact import Exact, Inference
from bayesnb.model.blocks import EVERY_COLUMN, categorical_columns
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import Model, NaiveBayes, as_model, read_for
from bayesnb.model.open_schema import bound_to
from bayesnb.model.prior import CLASS_SITE, ModelParameters
from bayesnb.model.problem import Problem, count_given_rows
from bayesnb.posterior.kinds import PointPosterior, SampledPosterior
from bayesnb.posterior.posterior import Posterior

# --------------------------------------------------------------------------------------------------
# The inference that a user gives, by name or with settings, or the default
# --------------------------------------------------------------------------------------------------

INFERENCES = {
    name.lower(): (f"bayesnb.inference.{module}", name)
    for module, names in {"exact": ["Exact"], "nuts": ["NUTS"], "gibbs": ["Gibbs"], "em": ["MAP", "MLE", "EM"]}.items()
    for name in names
}
"""The module and the class of each inference that has a name; the modules are imported at their use."""


def as_inference(inference: Any) -> Inference:
    """The inference that is given, `Exact()` by default.

    Parameters
    ----------
    inference : Inference, str or None

    Raises
    ------
    TypeError
        If it is neither an inference nor a name, or is a class of inferences rather than an instance.
    ValueError
        If it is a text that names none.

    See Also
    --------
    Inference : A way to condition a model.
    fit : Fit a table in memory.

    Examples
    --------
    >>> import bayesnb as nb
    >>> nb.results.as_inference("exact")
    Exact()
    """
    if inference is None:
        return Exact()
    if isinstance(inference, Inference):
        return inference
    if isinstance(inference, type) and issubclass(inference, Inference):
        raise TypeError(f"inference is the class {inference.__name__}: give an instance, nb.{inference.__name__}()")
    if not isinstance(inference, str) or inference not in INFERENCES:
        error = ValueError if isinstance(inference, str) else TypeError
        raise error(f"inference is {inference!r}: give one of {[*INFERENCES]}, or such as nb.NUTS(num_samples=500)")
    module, name = INFERENCES[inference]
    return getattr(import_module(module), name)()


# --------------------------------------------------------------------------------------------------
# A table in memory, read at once
# --------------------------------------------------------------------------------------------------


def read_table(
    model: Model, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, feature_names: Any = None
) -> Problem:
    """The problem of a table; rows without a label are kept as they are.

    Parameters
    ----------
    model : NaiveBayes or BoundModel
    X : table, shape (rows, columns)
    y : labels of shape (rows,), str or None
    sample_weight : array, shape (rows,), optional
    classes : sequence or int, optional
    feature_names : sequence, shape (columns,), optional
        As for `fit`.

    Raises
    ------
    ValueError, TypeError
        If the data do not fit the model, naming column, row and value; or if there are neither labels nor classes.
    """
    return problem_of(model, read_for(model, X, y, sample_weight, feature_names), classes)


def problem_of(model: Model, rows: Rows, classes: Any = None) -> Problem:
    """The problem of rows that `read_for` has read; parameters and errors as for `read_table`."""
    if rows.labels is None and classes is None and isinstance(model, NaiveBayes):
        raise ValueError(
            "y is None: give a label for each row; or, for a mixture, the number of its classes or their names, as "
            "in classes=3"
        )
    bound = bound_to(model, rows, classes)
    statistics, unlabelled = count_given_rows(bound, rows.of_classes(bound.schema.classes, may_miss=True))
    weighted = bool((rows.weights != 1.0).any())
    return Problem(bound, statistics, None, unlabelled, growing=isinstance(model, NaiveBayes), weighted=weighted)


# --------------------------------------------------------------------------------------------------
# Parameters that a user gives, read into the arrays of a model and checked
# --------------------------------------------------------------------------------------------------

OTHER_NAMES = {"reached_max_treedepth": "reached_max_tree_depth"}
"""PyMC's names of sampler statistics."""


def _column_names(model: Model, parameters: Mapping[Any, Any]) -> list[Any]:
    """Names or positions of the columns, as far as the model and the parameters tell."""
    names: list[Any] = []
    for name, (family, chosen) in model.features.items():
        if name is EVERY_COLUMN:
            if family.by_column:
                return list(parameters)
            by_site = _by_site(parameters)
            shape = np.shape(by_site[_given_name(by_site, "x", family, parameter_names(family)[0], alone=True)])
            if len(shape) != 2:
                raise ValueError(f"the table has shape {shape}: give (classes, columns)")
            return list(range(shape[1]))
        if isinstance(chosen, slice):
            raise ValueError(
                f"block {name!r} takes a slice of columns: name all columns of the table with columns=[...]"
            )
        names += [name] if chosen is None else chosen
    return names


def _schema_with_categories(model: Model, schema: Schema, parameters: Mapping[Any, Any]) -> Schema:
    """The schema with the categories that the model lists, or as many as the given tables have."""
    categories = {}
    for position, family, listed in categorical_columns(model.features, schema):
        column = schema.columns[position]
        if isinstance(family, JointFamily) and listed is None:
            raise ValueError(
                f"column {column!r}: the categories of a joint block do not follow from the shape of its parameters: "
                f"give nb.{type(family).__name__}(categories=...)"
            )
        if not isinstance(family, JointFamily):
            size = np.shape(parameters[_given_name(parameters, column, family, parameter_names(family)[0])])[-1]
            if listed is not None and len(listed) != size:
                raise ValueError(f"column {column!r} has {len(listed)} categories and a table of {size}")
        categories[position] = tuple(range(size)) if listed is None else listed
    return replace(schema, categories=categories)


def _read_samples(samples: Any) -> tuple[Mapping[str, Any], dict[str, np.ndarray]]:
    """Draws by site, and the sampler's statistics by ArviZ's names, of what `bayesnb.from_samples` takes."""
    if "posterior" not in samples:
        return samples, {}
    draws = _of_every_draw(samples["posterior"])
    stats = _of_every_draw(samples["sample_stats"]) if "sample_stats" in samples else {}
    # `to_datatree` writes "|" for each "/" in a name.
    with_slashes = {name.replace("|", "/"): value for name, value in draws.items()}
    return with_slashes | draws, {
        OTHER_NAMES.get(name, name): value
        for name, value in stats.items()
        if value.ndim == 2 and value.dtype.kind in "biuf"
    }


def _of_every_draw(group: Any) -> dict[str, np.ndarray]:
    """The arrays of a group with the dimensions chain and draw, which come first."""
    return {
        str(name): np.asarray(value.transpose("chain", "draw", ...))
        for name, value in group.data_vars.items()
        if {"chain", "draw"} <= {*value.dims}
    }


def _by_site(parameters: Mapping[Any, Any]) -> dict[Any, Any]:
    """Values by the names given; those of a mapping of a block or column by site."""
    found: dict[Any, Any] = {}
    for name, value in parameters.items():
        found |= {f"{name}_{key}": part for key, part in value.items()} if isinstance(value, Mapping) else {name: value}
    return found


def _given_name(
    parameters: Mapping[Any, Any], owner: Any, family: Family, parameter: str, *, alone: bool = False
) -> Any:
    """The name under which a parameter is given: the site, the parameter or its column."""
    names = [f"{owner}_{parameter}", *[parameter] * alone, *[owner] * (len(parameter_names(family)) == 1)]
    for name in names:
        if name in parameters:
            return name
    raise ValueError(f"parameters has no {names[0]!r}: there are {list(parameters)}")


@in_float64
def _check_support(model: BoundModel, parameters: ModelParameters) -> None:
    """Raise ValueError for values that cannot be parameters: probabilities without sum one, a negative variance."""
    if not np.all(constraints.simplex(parameters.class_prob)):
        raise ValueError(f"the values of {CLASS_SITE!r} are not probabilities that sum to one")
    names = {f"{site.block}.{site.parameter}": site.name for site in reversed([*model.sites])}
    values = {f"{i}.{name}": value for i, block in enumerate(parameters.blocks) for name, value in block.items()}

    def require(site: str, distribution: "dist.Distribution") -> Any:
        value = parameters.class_prob if site == CLASS_SITE else values[site]
        if not np.all(distribution.support(value)):
            shown = np.asarray(value).tolist() if np.size(value) <= 20 else "..."
            support = SUPPORTS.get(str(distribution.support).split("(")[0], f"in {distribution.support}")
            raise ValueError(f"the values of {names[site]!r} are not all {support}: {shown}")
        return value

    model.prior.walk(require)


# The supports of NumPyro's distributions, in words.
SUPPORTS = {
    "UnitInterval": "between 0 and 1",
    "Probability": "between 0 and 1",
    "Positive": "positive",
    "PositiveVector": "positive",
    "Simplex": "probabilities that sum to one",
    "PositiveDefinite": "symmetric positive definite matrices",
}


# --------------------------------------------------------------------------------------------------
# The functions that condition a model: read the data into a problem, give it to an inference, return a posterior
# --------------------------------------------------------------------------------------------------


def fit(
    model: Model | Family | Problem,
    X: Any = None,
    y: Any = None,
    inference: Inference | str | None = None,
    *,
    sample_weight: Any = None,
    classes: Any = None,
    feature_names: Any = None,
    key: Any = 0,
) -> Posterior:
    """Condition a model on a table.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family or Problem
        A family alone means ``NaiveBayes(family)``. A model that is bound to a table keeps its columns and
        categories, and its classes unless `classes` names others. A `Problem` has its data, and is given without X.
    X : table, shape (rows, columns)
        NumPy array, pandas, polars or pyarrow table, or SciPy sparse matrix. Missing cells (NaN, None, NA, masked) are
        skipped, which is exact if they are missing at random. Or a JAX array, counted on a GPU if it lies there. Or a
        lazy table, whose engine computes the sums: a DuckDB relation, Polars LazyFrame, PySpark data frame or Ibis
        table; then `y` and `sample_weight` are names of its columns, and every row has a label. Or a Dask array or data
        frame, read partition by partition; then `y` and `sample_weight` are Dask collections in the same partitions,
        and every row has a label.
    y : labels of shape (rows,), str or None
        Labels of any type. A text is the name of the label's column in X, a data frame or a lazy or Dask table; that
        column is then no feature. Rows whose label is missing (None, NaN, NA, masked) are used by `MAP()`, `MLE()`,
        `EM()`, `Gibbs()` and `NUTS()`; other inferences raise an error. None means that no row has a label: a mixture.
    inference : Inference or str, optional
        `Exact()` by default; or `NUTS()`, `Gibbs()`, `MAP()`, `MLE()`, `EM()`, or their names, such as ``"nuts"``.
    sample_weight : array, shape (rows,), optional
        Each row counts as that many rows; of a lazy or Dask table also the name of a column. The cells of a row of
        weight zero do not count: a category that occurs only in such rows is not added to the column. The row's label
        still names a class, as every label in `y` does, so that the columns of `predict_proba` do not depend on the
        weights.
    classes : sequence or int, optional
        All labels that may occur, also those without a row, in the order of the results; or their number, for the
        labels 0, 1, 2 and so on. By default the labels of `y`, sorted.
    feature_names : sequence, shape (columns,), optional
        Names for the columns of an array or a sparse matrix, such as ``vectorizer.get_feature_names_out()``. The model
        may name these columns; summaries, plots and errors show them, files hold them, and `update` keeps them. Later
        arrays need no names. Names of a table with names must be those that it has.
    key : int or JAX key, default 0
        Source of randomness, for inferences that have any.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError, TypeError
        If the data do not fit the model, naming column, row and value; if the inference cannot solve the problem,
        naming one that can; or if a problem is given with data.

    Warns
    -----
    UserWarning
        If `classes` is not given, and `y` has one class only, so that every prediction is that class, or looks like a
        measurement: more than two values with fractions, or more than 20 rows and more classes than half of them. If a
        feature has the name of `y`. If a cell of a bound model's column is not among its categories.

    See Also
    --------
    fit_batches : Fit a table that comes in batches.
    fit_parquet : Fit Parquet files.
    NaiveBayes : The description of a model.
    NaiveBayesClassifier : Columns of different kinds, any model.

    Examples
    --------
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> posterior.predict_proba([[1, 1]]).round(3)
    array([[0.717, 0.283]])

    The label's column by its name:

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"red": [1, 1, 0], "round": [0, 1, 1], "fruit": ["apple", "apple", "lime"]})
    >>> fitted = nb.fit(nb.Bernoulli(), frame, "fruit")
    >>> fitted.predict(frame).tolist()
    ['apple', 'apple', 'lime']

    Another inference of the same data:

    >>> nb.fit(fitted.problem, inference=nb.MLE()).predict(frame).tolist()
    ['apple', 'apple', 'lime']
    """
    inference = as_inference(inference)
    if isinstance(model, Problem):
        if any(given is not None for given in (X, y, sample_weight, classes, feature_names)):
            raise TypeError(DATA_TWICE.format("fit"))
        inference.check(model)
        return inference.fit(model, key=key)
    problem = read_for_inference(as_model(model), inference, X, y, sample_weight, classes, feature_names)
    _warn_of_leak(problem, y)
    return conditioned(problem, inference, classes, key)


DATA_TWICE = "{} takes a model with its data, X=X and y=y, or a problem alone, which has them"
"""The error of data beside a problem."""


def read_for_inference(
    model: Model,
    inference: Inference,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    classes: Any = None,
    feature_names: Any = None,
) -> Problem:
    """The problem of a table, in memory or elsewhere, if an inference can solve it; parameters as for `fit`."""
    if is_elsewhere(X, y):
        from bayesnb.inference.sources import read_elsewhere

        problem = read_elsewhere(model, X, y, sample_weight, classes, inference.check, feature_names)
    else:
        problem = read_table(model, X, y, sample_weight, classes, feature_names)
    inference.check(problem)
    return problem


def from_parameters(
    model: Model | Family,
    *,
    classes: Any,
    parameters: Mapping[Any, Any],
    class_probs: Any = None,
    columns: Any = None,
) -> PointPosterior:
    """A posterior at given parameters, such as the probability tables of a textbook.

    Parameters
    ----------
    model : NaiveBayes, BoundModel or Family
        Gives the family of each column; its priors are not used.
    classes : sequence
        Labels, in the order of the class axis of every table below.
    parameters : mapping
        Values by site (``"island_prob"``), as ``posterior.mean()`` gives them, by block or column where the family has
        one parameter (``"island"``), by parameter where the model is one family for all columns (``"prob"``), or
        mappings from parameter to value by block or column. Shapes: (classes, columns) for a block, (classes,) for a
        column, (classes, categories) for a column of categories.
    class_probs : array, shape (classes,), optional
        Needed unless the model has `class_probs` or `parameters` has ``"class_prob"``, before which it takes
        precedence.
    columns : sequence, optional
        Names of the table's columns; by default those that the model names, else positions.

    Returns
    -------
    PointPosterior

    Raises
    ------
    ValueError
        If a table is missing, has the wrong shape, or holds values that are no parameters (probabilities that do not
        sum to one, a negative variance).

    See Also
    --------
    from_samples : A posterior from draws of another sampler.
    PointPosterior : A point estimate.

    Examples
    --------
    Radio stations that the young and the old like (Barber 2012, Example 10.1).

    >>> import bayesnb as nb
    >>> likes = [[0.95, 0.05, 0.02, 0.20], [0.03, 0.82, 0.34, 0.92]]
    >>> posterior = nb.from_parameters(
    ...     nb.Bernoulli(), classes=["young", "old"], class_probs=[0.1, 0.9], parameters={"prob": likes}
    ... )
    >>> posterior.predict_proba([[1, 0, 1, 0]]).round(4)
    array([[0.9161, 0.0839]])
    """
    model = as_model(model)
    if not isinstance(parameters, Mapping):
        raise TypeError(f"parameters is {a_type(parameters)}: give a mapping from block, column or site to values")
    names = _column_names(model, parameters) if columns is None else list(columns)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"columns names {twice[0]!r} twice")
    parameters = _by_site(parameters)
    schema = Schema(tuple(names), any(isinstance(name, str) for name in names), read_classes(classes))
    description = model.description if isinstance(model, BoundModel) else model
    given = [class_probs, parameters.get(CLASS_SITE), description.class_probs]
    probs = next((probs for probs in given if probs is not None), None)
    description = replace(description, class_probs=probs, feature_inclusion=None)
    bound = BoundModel.of(description, _schema_with_categories(model, schema, parameters))
    if probs is None:
        raise ValueError("class_probs is missing: give the probability of each class")
    if isinstance(probs, str):
        raise ValueError(f"class_probs={probs!r} needs data: give the probability of each class")
    from bayesnb.inference.sources import empty_problem

    # There are no data, so that defaults that follow a scale use the scale one. These priors are not used.
    resolved = empty_problem(bound.with_every_value(), growing=False).resolved
    alone = len(model.features) == 1 and EVERY_COLUMN in model.features
    sites: dict[str, Any] = {CLASS_SITE: resolved.class_prior.probs}
    read = {CLASS_SITE}
    for site in resolved.sites:
        block = resolved.blocks[site.block]
        owner = block.name if site.column is None else block.labels[site.column]
        name = _given_name(parameters, owner, block.family, site.parameter, alone=alone)
        sites[site.name] = parameters[name]
        read.add(name)
    for name in parameters:
        if name not in read:
            raise ValueError(f"parameters has {name!r}, which the model does not: it has {[*sites]}")
    values = resolved.sites.parameters(sites)
    _check_support(resolved, values)
    return PointPosterior(resolved, values)


def from_samples(
    model: Model | Family | Problem,
    samples: Any,
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    classes: Any = None,
    feature_names: Any = None,
    inference: Inference | None = None,
) -> SampledPosterior:
    """A posterior from draws of any other sampler.

    Parameters
    ----------
    model : NaiveBayes, BoundModel, Family or Problem
        A problem is what an `Inference` of your own gets: the model with the statistics of its data.
    samples : mapping, xarray.DataTree or InferenceData
        Draws by site, as ``model.program`` names them: shape (chain, draw, ...), or (draw, ...) for one chain. Or
        groups of draws in ArviZ's names, such as `Posterior.to_datatree` and PyMC give: ``posterior`` with the draws
        and, if there is one, ``sample_stats`` with the sampler's statistics. Without ``diverging`` among these the
        divergences are unknown.
    X, y, sample_weight, classes, feature_names
        The data, as for `fit`; they determine the columns, the classes, and what the draws are conditioned on. Of a
        problem none, which has them.
    inference : Inference, optional
        What made the draws; `update` and `forget` of the posterior fit with it again.

    Returns
    -------
    SampledPosterior

    Raises
    ------
    TypeError, ValueError
        If a model is given without X, or a problem with it; or a site is missing, unknown to the model, has the wrong
        shape, or holds values that are not finite; or a statistic of the sampler has another shape than the draws.

    See Also
    --------
    from_parameters : A posterior of known parameters.
    SampledPosterior : The posterior as draws.
    compare : Whether samples agree with the closed form.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> X, y, rng = [[1], [1], [0], [0]], ["a", "a", "b", "b"], np.random.default_rng(0)
    >>> samples = {
    ...     "class_prob": rng.dirichlet([3.0, 3.0], size=4000),
    ...     "x_prob": rng.beta([[3.0], [1.0]], [[1.0], [3.0]], size=(4000, 2, 1)),
    ... }
    >>> posterior = nb.from_samples(nb.NaiveBayes(nb.Bernoulli()), samples, X=X, y=y)
    >>> posterior.predict_proba([[1]]).round(1)
    array([[0.8, 0.2]])
    """
    data = X, y, sample_weight, classes, feature_names
    if isinstance(model, Problem) != (X is None):
        raise TypeError(DATA_TWICE.format("from_samples"))
    problem = model if isinstance(model, Problem) else read_table(as_model(model), *data)
    problem.model.require_one_description("from_samples")
    resolved = problem.resolved
    draws, sample_stats = _read_samples(samples)
    parameters = resolved.sites.parameters(draws, resolved.class_prior.probs)
    known = resolved.sites.by_name(parameters)
    spelled = {name.replace("/", "|") for name in known}
    if unknown := [name for name in draws if str(name).replace("/", "|") not in spelled]:
        raise ValueError(
            f"samples has {first_few(list(map(repr, unknown)))}, which the model does not have, so that predictions "
            f"would ignore it: leave it out if they may, and give {[*known]} alone"
        )
    leading = parameters.class_prob.ndim - 1
    if leading not in (1, 2):
        raise ValueError(
            f"{CLASS_SITE!r} has shape {parameters.class_prob.shape}: give draws of shape (chain, draw, classes) or "
            "(draw, classes)"
        )
    for name, value in known.items():
        if not np.isfinite(value).all():
            raise ValueError(f"the draws of {name!r} are not all finite: leave these draws out, or sample again")
    if parameters.class_prob.size == 0:
        raise ValueError(f"{CLASS_SITE!r} has shape {parameters.class_prob.shape}: give at least one draw")
    _check_support(resolved, parameters)
    if leading == 1:
        parameters = map_tree(lambda value: value[None], parameters)
    for name, value in sample_stats.items():
        if value.shape != parameters.class_prob.shape[:2]:
            raise ValueError(
                f"{name!r} in sample_stats has shape {value.shape}, and the draws {parameters.class_prob.shape[:2]}: "
                "select the same chains and draws of both"
            )
    return SampledPosterior(problem, resolved, parameters, sample_stats, inference)


def _warn_of_leak(problem: Problem, y: Any) -> None:
    """Warn if a feature has the name of the labels, because the model then predicts the labels from themselves."""
    name = getattr(y, "name", None)
    if isinstance(name, str) and any(name in block.labels for block in problem.model.blocks):
        warn(
            f"the labels are named {name!r}, and so is a feature of the model: leave that column out, with "
            f"from_frame(..., exclude=[{name!r}]) where the model was guessed",
            UserWarning,
        )


FEW_LABELS = 20
"""Up to this many rows, each may have a class of its own, as in scikit-learn."""


def warn_of_quantities(problem: Problem) -> None:
    """Warn if labels look like measurements, as scikit-learn does: with fractions, or most of them different."""
    n = problem.statistics.classes.n
    classes = problem.model.schema.classes[n > 0]
    fractions = classes.dtype.kind == "f" and len(classes) > 2 and bool((classes != np.rint(classes)).any())
    if fractions or (n.sum() > FEW_LABELS and 2 * len(classes) > n.sum()):
        what = "numbers with fractions" if fractions else "values"
        warn(
            f"y holds {len(classes)} {what} in {n.sum():.12g} rows, such as {classes.tolist()[0]!r}, and each is a "
            "class of its own: cut a measurement into a few intervals, such as pandas.cut(y, 4).astype(str); if these "
            "are the classes, name them, classes=[...]",
            UserWarning,
        )


def conditioned(problem: Problem, inference: Inference, classes: Any, key: Any) -> Posterior:
    """The posterior of a problem, with a warning of labels that are of one class or no classes, unless these are named.

    Raises
    ------
    ValueError
        If the model describes a column once more.
    """
    problem.model.require_one_description("fit")
    if classes is None:
        warn_of_classes(problem.model.schema.classes)
        warn_of_quantities(problem)
    return inference.fit(problem, key=key)
