"""Result types, for isinstance checks and annotations; parts of inferences and sources.

Subclass `Inference` to write your own.
"""

from bayesnb.checks.calibration import Calibration
from bayesnb.checks.compare import Comparison
from bayesnb.checks.predictive import Check
from bayesnb.checks.sbc import SBC
from bayesnb.checks.sensitivity import Sensitivity
from bayesnb.crowd.result import AnnotationFit
from bayesnb.data.labels import as_labels
from bayesnb.data.read import as_table
from bayesnb.inference.exact import Inference
from bayesnb.inference.fit import as_inference
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.problem import Problem, Unlabelled
from bayesnb.population.class_probs import ClassProbsEstimate
from bayesnb.population.moved_columns import Drift
from bayesnb.posterior.effects_frame import Effects
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
from bayesnb.selection.descriptions import ColumnForest
from bayesnb.selection.families import FamilyChoice
from bayesnb.selection.features import FeatureSelection
from bayesnb.selection.grouping import ColumnGrouping
from bayesnb.selection.information import FeatureEvidence, MutualInformation
from bayesnb.selection.models import ModelComparison
from bayesnb.selection.telling import TellingFeatures

__all__ = [
    "SBC",
    "AnnotationFit",
    "AveragedPosterior",
    "BoundModel",
    "Calibration",
    "Check",
    "ClassProbsEstimate",
    "CollapsedPosterior",
    "ColumnForest",
    "ColumnGrouping",
    "Comparison",
    "Drift",
    "Effects",
    "ExactPosterior",
    "Explanation",
    "FamilyChoice",
    "FeatureEvidence",
    "FeatureSelection",
    "Inference",
    "ModelComparison",
    "ModelStatistics",
    "MutualInformation",
    "PointPosterior",
    "Posterior",
    "Problem",
    "SampledPosterior",
    "Sensitivity",
    "TellingFeatures",
    "Unlabelled",
    "WeightedPosterior",
    "WeightsFrame",
    "as_inference",
    "as_labels",
    "as_table",
]
