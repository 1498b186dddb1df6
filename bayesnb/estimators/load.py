"""Read a posterior, an estimator or a fit of annotations from a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesnb.crowd.read import read_annotation_table
from bayesnb.crowd.result import AnnotationFit
from bayesnb.data.schema import Schema
from bayesnb.families.base import Family
from bayesnb.inference.em import EM, MAP, MLE
from bayesnb.inference.empirical import EmpiricalBayes
from bayesnb.inference.exact import Exact, Inference
from bayesnb.inference.gibbs import Gibbs
from bayesnb.inference.nuts import NUTS
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import AveragedPosterior, ClosedFormPosterior, ExactPosterior, PointPosterior
from bayesnb.posterior.files import OWN, read_model, read_problem, read_value, read_weights
from bayesnb.posterior.netcdf import Arrays, read_file, read_schema, require_backend
from bayesnb.posterior.sampled import CollapsedPosterior, SampledPosterior
from bayesnb.posterior.weighted import WeightedPosterior

__all__ = ["load"]

INFERENCES: tuple[type[Inference], ...] = (EM, EmpiricalBayes, Exact, Gibbs, MAP, MLE, NUTS)
"""Inferences that a file may name."""


CLOSED_FORMS: dict[str, type[ClosedFormPosterior]] = {
    "AveragedPosterior": AveragedPosterior,
    "ExactPosterior": ExactPosterior,
}
"""Posteriors that their problems determine, by the names in files."""


def load(path: Any, *, families: Sequence[type[Family]] = ()) -> Any:
    """Read what `Posterior.save`, the `save` of an estimator, or `AnnotationFit.save` wrote.

    No code in the file runs: it holds names of classes, JSON and numbers, and no module is imported for it.

    Parameters
    ----------
    path : path-like
    families : sequence of Family subclasses, optional
        Families of your own that the model uses, unless their modules are imported already. Statistics of your own come
        with their families.

    Returns
    -------
    Posterior, estimator or AnnotationFit
        Its predictions equal those of the saved one bit for bit.

    Raises
    ------
    OSError
        If there is no such file (FileNotFoundError), it is a folder (IsADirectoryError), or it may not be read.
    ValueError
        If the file is not one of `save`'s, is cut short or damaged, was written by a newer version, or uses a family
        that is not known.

    See Also
    --------
    Posterior.save : Write a posterior to a file.
    AnnotationFit.save : Write a fit of annotations to a file.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> posterior = nb.fit(nb.Bernoulli(), X, y)
    >>> with TemporaryDirectory() as folder:
    ...     posterior.save(Path(folder, "posterior.nc"))
    ...     again = nb.load(Path(folder, "posterior.nc"))
    >>> bool((again.predict_proba(X) == posterior.predict_proba(X)).all())
    True
    """
    require_backend("load")
    description, arrays = read_file(Path(path))
    if "annotations" in description:
        annotations, columns = read_annotation_table(description["annotations"], arrays)
        return AnnotationFit(annotations, _read_posterior(description, arrays, annotations.schema, families), *columns)
    posterior = _read_posterior(description, arrays, read_schema(description["schema"]), families)
    if "estimator" not in description:
        return posterior
    return _read_estimator(description["estimator"], arrays, posterior, families)


def _read_estimator(
    text: Mapping[str, Any], arrays: Arrays, posterior: Posterior, families: Sequence[type[Family]]
) -> Any:
    import bayesnb.estimators as known

    problem, schema = posterior.problem, posterior.model.schema
    if text["problem"] is not None:
        own = {name.removeprefix(OWN): values for name, values in arrays.items() if name.startswith(OWN)}
        model = read_model(text["problem"]["model"], own, schema, families)
        problem = read_problem(text["problem"], own, model, schema, families)
    state = {name: read_value(value, arrays, families, _read_record) for name, value in text["state"].items()}
    if text["class"] not in known.__all__:
        raise ValueError(f"the file names the estimator {text['class']!r}, which bayesnb does not have")
    return getattr(known, text["class"])().restored(state, posterior, problem)


def _read_posterior(
    description: Mapping[str, Any], arrays: Arrays, schema: Schema, families: Sequence[type[Family]]
) -> Posterior:
    model = read_model(description["model"], arrays, schema, families)
    inference = _read_record(description["inference"])
    problem = read_problem(description, arrays, model, schema, families)
    model = model if problem is None else problem.resolved
    kind = description["posterior"]
    if kind == "WeightedPosterior":
        unweighted: Any = _read_posterior(
            {**description, "posterior": description["unweighted"]}, arrays, schema, families
        )
        return WeightedPosterior(unweighted, read_weights(description["feature_weights"], arrays))
    if kind in CLOSED_FORMS:
        assert problem is not None
        return CLOSED_FORMS[kind](problem, inference or Exact())
    parameters = model.sites.parameters(dict(zip(description["sites"], arrays["parameters"], strict=True)))
    if kind == "PointPosterior":
        return PointPosterior(model, parameters, problem, inference)
    stats = dict(zip(description["sample_stats"], arrays.get("sample_stats", []), strict=True))
    stats = {name: value.astype(bool) if value.dtype == np.int8 else value for name, value in stats.items()}
    sampled = CollapsedPosterior if kind == "CollapsedPosterior" else SampledPosterior
    return sampled(problem, model, parameters, stats, inference)


def _read_record(text: Mapping[str, Any] | None) -> Inference | None:
    if text is None:
        return None
    known: dict[str, Any] = {kind.__name__: kind for kind in INFERENCES}
    settings = dict(text)
    return known[settings.pop("name")](**settings)
