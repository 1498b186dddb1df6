"""Read a posterior, an estimator or a fit of annotations from a file."""

from collections.abc import Sequence
from typing import Any

from bayesnb import estimators
from bayesnb.core.checking import a_type
from bayesnb.families.family import Family
from bayesnb.posterior.files import read
from bayesnb.posterior.posterior import Posterior

RECORDS = {
    "core.label_scores": ["LabelScores"],
    "crowd.annotation_table": ["AnnotationTable"],
    "crowd.result": ["AnnotationFit"],
    "data.derived": ["DerivedColumn"],
    "data.schema": ["Schema"],
    "data.written_numbers": ["NumberForm"],
    "estimators.kept_rows": ["KeptRows"],
    "inference.em": ["EM", "MAP", "MLE"],
    "inference.exact": ["EmpiricalBayes", "Exact"],
    "inference.gibbs": ["Gibbs"],
    "inference.nuts": ["NUTS"],
    "model.blocks": ["ModelStatistics"],
    "model.bound": ["BoundModel"],
    "model.feature_weights": ["FeatureWeights", "NormalWeights"],
    "model.naive_bayes": ["NaiveBayes"],
    "model.prior": ["ModelParameters"],
    "model.problem": ["Problem", "Unlabelled"],
    "posterior.kinds": [
        "AveragedPosterior",
        "CollapsedPosterior",
        "ExactPosterior",
        "PointPosterior",
        "SampledPosterior",
    ],
    "posterior.weighted_posterior": ["WeightedPosterior"],
}
"""What a file may name, beside families, statistics and estimators, by module."""


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
        If the file is not one of `save`'s, is cut short, damaged or forged, was written by another version, or uses a
        family that is not known; or if the path names a device or a pipe.
    TypeError
        If the path is no path.

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
    made = read(path, RECORDS, families)
    if isinstance(made, Posterior):
        return made
    if isinstance(made, dict):
        name = made.pop("estimator", None)
        kind = getattr(estimators, name) if isinstance(name, str) and name in estimators.__all__ else None
        if isinstance(kind, type) and isinstance(made.get("posterior_"), Posterior):
            estimator = kind()
            estimator.__dict__.update(made)
            return estimator
    from bayesnb.crowd.result import AnnotationFit

    if isinstance(made, AnnotationFit):
        return made
    raise ValueError(f"{str(path)!r} holds {a_type(made)}, and no posterior, estimator or fit of annotations")
