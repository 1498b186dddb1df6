"""Result types, for isinstance checks and annotations; parts of inferences and sources.

Subclass `Inference` to write your own.
"""

# ``import X as X`` tells type checkers that others may import the name from here.
from bayesnb.checks.calibration import Calibration as Calibration
from bayesnb.checks.compare import Comparison as Comparison
from bayesnb.checks.predictive import Check as Check
from bayesnb.checks.sbc import SBC as SBC
from bayesnb.checks.sensitivity import Sensitivity as Sensitivity
from bayesnb.crowd.result import AnnotationFit as AnnotationFit
from bayesnb.data.labels import as_labels as as_labels
from bayesnb.data.read import as_table as as_table
from bayesnb.inference.exact import Inference as Inference
from bayesnb.inference.fit import as_inference as as_inference
from bayesnb.model.blocks import ModelStatistics as ModelStatistics
from bayesnb.model.bound import BoundModel as BoundModel
from bayesnb.model.problem import Problem as Problem
from bayesnb.model.problem import Unlabelled as Unlabelled
from bayesnb.population.class_probs import ClassProbsEstimate as ClassProbsEstimate
from bayesnb.population.moved_columns import Drift as Drift
from bayesnb.posterior.effects_frame import Effects as Effects
from bayesnb.posterior.explain import Explanation as Explanation
from bayesnb.posterior.kinds import AveragedPosterior as AveragedPosterior
from bayesnb.posterior.kinds import CollapsedPosterior as CollapsedPosterior
from bayesnb.posterior.kinds import ExactPosterior as ExactPosterior
from bayesnb.posterior.kinds import PointPosterior as PointPosterior
from bayesnb.posterior.kinds import SampledPosterior as SampledPosterior
from bayesnb.posterior.posterior import Posterior as Posterior
from bayesnb.posterior.weighted_posterior import WeightedPosterior as WeightedPosterior
from bayesnb.posterior.weighted_posterior import WeightsFrame as WeightsFrame
from bayesnb.selection.descriptions import ColumnForest as ColumnForest
from bayesnb.selection.families import FamilyChoice as FamilyChoice
from bayesnb.selection.features import FeatureSelection as FeatureSelection
from bayesnb.selection.grouping import ColumnGrouping as ColumnGrouping
from bayesnb.selection.information import FeatureEvidence as FeatureEvidence
from bayesnb.selection.information import MutualInformation as MutualInformation
from bayesnb.selection.models import ModelComparison as ModelComparison
from bayesnb.selection.telling import TellingFeatures as TellingFeatures

__all__ = [name for name in dir() if not name.startswith("_")]
