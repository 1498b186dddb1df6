"""Result types, for isinstance checks and annotations.

Users make none of them. Subclass `Inference` to write your own.
"""

from bayesnb.checks.calibration import Calibration
from bayesnb.checks.compare import Comparison
from bayesnb.checks.predictive import Check
from bayesnb.checks.sbc import SBC
from bayesnb.checks.sensitivity import Sensitivity
from bayesnb.crowd.result import AnnotationFit
from bayesnb.inference.exact import Inference
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.explain import Explanation
from bayesnb.posterior.kinds import (
    AveragedPosterior,
    CollapsedPosterior,
    ExactPosterior,
    PointPosterior,
    SampledPosterior,
)
from bayesnb.posterior.posterior import Posterior
from bayesnb.posterior.weighted_posterior import WeightedPosterior, WeightsFrame
from bayesnb.selection.families import FamilyChoice
from bayesnb.selection.features import FeatureSelection
from bayesnb.selection.grouping import ColumnGrouping
from bayesnb.selection.information import FeatureEvidence, MutualInformation
from bayesnb.selection.models import ModelComparison
from bayesnb.selection.telling import TellingFeatures
from bayesnb.selection.trees import ColumnForest

__all__ = [
    "SBC",
    "AnnotationFit",
    "AveragedPosterior",
    "BoundModel",
    "Calibration",
    "Check",
    "CollapsedPosterior",
    "ColumnForest",
    "ColumnGrouping",
    "Comparison",
    "ExactPosterior",
    "Explanation",
    "FamilyChoice",
    "FeatureEvidence",
    "FeatureSelection",
    "Inference",
    "ModelComparison",
    "MutualInformation",
    "PointPosterior",
    "Posterior",
    "SampledPosterior",
    "Sensitivity",
    "TellingFeatures",
    "WeightedPosterior",
    "WeightsFrame",
]
