"""Default values of the public functions and classes are behaviour: one that changes is a decision, made here."""

import inspect
from collections.abc import Iterator
from typing import Any

import bayesnb as nb
from bayesnb import datasets, estimators

DEFAULTS: dict[str, dict[str, Any]] = {
    "AnnotationFit.accuracy_interval": {"prob": 0.89},
    "AnnotationFit.confusion_interval": {"prob": 0.89},
    "AnnotationFit.next_item": {"num_items": 20, "num_annotators": 1, "again": False},
    "AnnotationFit.proba_interval": {"prob": 0.89},
    "Bernoulli": {"concentration1": 1.0, "concentration0": 1.0},
    "BernoulliNB": {
        "alpha": 1.0,
        "force_alpha": True,
        "binarize": 0.0,
        "fit_prior": True,
        "inference": "exact",
        "predictive": "exact",
        "decay": 1.0,
    },
    "Beta": {"concentration1": 1.0, "concentration0": 1.0, "concentration": 1.5},
    "Binomial": {"concentration1": 1.0, "concentration0": 1.0},
    "BoundModel.draw_prior": {"sample_shape": ()},
    "BoundModel.simulate": {"key": 0, "return_parameters": False},
    "Categorical": {"concentration": 1.0, "other": False},
    "CategoricalNB": {
        "alpha": 1.0,
        "force_alpha": True,
        "fit_prior": True,
        "inference": "exact",
        "predictive": "exact",
        "decay": 1.0,
    },
    "Calibration": {"on_fit": False},
    "Check": {"fitted": (), "other_rows": ""},
    "DataOfFit.forget": {"key": 0},
    "DataOfFit.update": {"decay": 1.0, "key": 0},
    "DirichletMultinomial": {"concentration": 1.5, "rate": 0.1, "fractional": False},
    "DirichletMultinomial.likelihood": {"total_count": 1},
    "DirichletMultinomialNB": {"concentration": 1.5, "rate": 0.1, "fit_prior": True, "inference": "map", "decay": 1.0},
    "Draws.draws": {"key": 0},
    "Draws.log_joint_draws": {"key": 0},
    "Draws.proba_draws": {"key": 0},
    "Draws.proba_interval": {"prob": 0.89, "key": 0},
    "Draws.uncertainty": {"unit": "nats", "key": 0},
    "EM": {"max_iterations": 2000, "num_starts": 1, "accelerate": True, "tolerance": 1e-06},
    "EmpiricalBayes.fit": {"key": 0},
    "Estimates.summary": {"prob": 0.89},
    "Estimator.predict_interval": {"prob": 0.89},
    "Exact.fit": {"key": 0},
    "ExactPosterior.averaged": {"prior_inclusion": 0.5},
    "Exponential": {"concentration": 1.0},
    "Gamma": {"concentration": 1.5},
    "Gaussian": {"kappa": 0.1, "concentration": 1.0},
    "GaussianNB": {"var_smoothing": 1e-09, "inference": "exact", "predictive": "exact", "decay": 1.0},
    "Geometric": {"concentration1": 1.0, "concentration0": 1.0},
    "Gibbs": {"num_warmup": 200, "num_samples": 1000, "num_chains": 4},
    "Gibbs.fit": {"key": 0},
    "Hurdle": {"concentration1": 1.0, "concentration0": 1.0},
    "Inference.fit": {"key": 0},
    "JointCategorical": {"other": False, "sizes": (), "held": ()},
    "LogNormal": {"kappa": 0.1, "concentration": 1.0},
    "MAP": {"max_iterations": 2000},
    "MLE": {"max_iterations": 2000},
    "MutualInformation": {"notes": (), "zero": 0.0},
    "Multinomial": {"concentration": 1.0, "fractional": False},
    "Multinomial.likelihood": {"total_count": 1},
    "Multinomial.predictive": {"total_count": 1},
    "MultinomialNB": {
        "alpha": 1.0,
        "force_alpha": True,
        "fit_prior": True,
        "inference": "exact",
        "predictive": "exact",
        "decay": 1.0,
    },
    "MultivariateGaussian": {"kappa": 0.1},
    "NUTS": {"num_samples": 1000, "num_chains": 4, "max_tree_depth": 10},
    "NUTS.fit": {"key": 0},
    "NaiveBayes": {"class_concentration": 1.0, "outside_is_missing": ()},
    "NaiveBayes.from_frame": {"exclude": ()},
    "NaiveBayesClassifier": {"inference": "exact", "predictive": "exact", "feature_weights": "auto", "decay": 1.0},
    "DataOfFit.learned": {"key": 0},
    "Histogram": {"step": 0.0},
    "PolyaTree": {"split": 0.5, "together": True, "step": 0.0},
    "Params.get_params": {"deep": True},
    "Poisson": {"concentration": 1.0, "fractional": False},
    "PoissonNB": {"fit_prior": True, "inference": "exact", "predictive": "exact", "decay": 1.0},
    "Posterior.simulate": {"num_rows": 100, "key": 0},
    "Posterior.to_datatree": {"key": 0},
    "VonMises": {"concentration": 1.5},
    "WeightedPosterior.simulate": {"num_rows": 100, "key": 0},
    "WeightedPosterior.learned": {"key": 0},
    "_PointEstimate.fit": {"key": 0},
    "Posterior.explain": {"unit": "nats", "prob": 0.89, "words": True, "key": 0},
    "calibration": {"bins": 10, "prob": 0.89, "key": 0},
    "check": {"num_replicates": 500, "key": 0},
    "choose_families": {"exclude": (), "criterion": "evidence"},
    "compare": {"error_rate": 0.001, "key": 0},
    "feature_evidence": {"prior_inclusion": 0.5},
    "federalist": {"words": "function"},
    "fit": {"key": 0},
    "fit_annotations": {"class_concentration": 1.0, "hierarchical": False, "key": 0},
    "fit_batches": {"key": 0},
    "fit_parquet": {"key": 0},
    "group_columns": {"max_width": 30},
    "kfold": {"k": 10, "key": 0},
    "load": {"families": ()},
    "mutual_information": {"unit": "nats", "prob": 0.89, "key": 0},
    "mutual_information_score": {"unit": "nats"},
    "AnnotationFigures.plot_annotators": {"prob": 0.89, "sort": "accuracy", "max_annotators": 30},
    "ColumnGrouping.plot": {"max_merges": 30},
    "AnnotationFigures.plot_confusion": {"prob": 0.89, "sort": "annotations", "max_panels": 12},
    "plot_densities": {"sort": False, "bins": 25, "max_panels": 12, "key": 0},
    "plot_evidence": {
        "unit": "nats",
        "prob": 0.89,
        "words": True,
        "max_features": 15,
        "sort": True,
        "key": 0,
    },
    "FamilyChoice.plot": {"max_features": 12},
    "FeatureEvidence.plot": {"sort": True, "max_features": 30},
    "FeatureSelection.plot": {"max_steps": 60},
    "AnnotationFigures.plot_items": {"sort": True, "max_items": 20},
    "plot_log_odds": {"prob": 0.89, "sort": False, "max_rows": 60, "key": 0},
    "Explanation.plot": {"max_features": 15, "sort": True},
    "MutualInformation.plot": {"sort": True, "max_features": 20},
    "plot_prior_posterior": {"max_panels": 24},
    "plot_proba": {"prob": 0.89, "sort": False, "max_rows": 30, "key": 0},
    "Calibration.plot": {"kind": "classes", "scale": "auto"},
    "SBC.plot": {"max_panels": 12},
    "Sensitivity.plot": {"kind": "parameters", "sort": True, "max_parameters": 30},
    "plot_spikes": {"label": "telling", "num_labels": 5, "tolerance": 0.05, "max_panels": 10},
    "WeightsFrame.plot": {"sort": True, "max_features": 40},
    "sbc": {"num_simulations": 200, "num_rows": 50, "key": 0, "error_rate": 0.01},
    "sensitivity": {"prior": (0.8, 1.25), "likelihood": (0.8, 1.25)},
    "TellingFeatures": {"notes": (), "zero": 0.0},
    "TellingFeatures.plot": {"max_panels": 10},
    "telling_features": {"num": 10, "unit": "nats", "prob": 0.89, "key": 0},
    "weight_features": {"shared": False, "key": 0},
}
"""By function, class and method; ``None`` is left out, which means a rule that other tests are about."""


def test_defaults():
    assert {name: found for name, function in _public() if (found := _defaults(function))} == DEFAULTS


def _public() -> Iterator[tuple[str, Any]]:
    """Functions, classes and the public methods of classes, by name."""
    for module in (nb, nb.results, nb.families, datasets, estimators):
        things = {name: getattr(module, name) for name in module.__all__}
        for name, thing in things.items():
            if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Warning)):
                yield name, thing
            for base in thing.__mro__ if inspect.isclass(thing) else ():
                for method, function in vars(base).items() if base.__module__.startswith("bayesnb.") else ():
                    function = getattr(function, "__func__", function)
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{base.__name__}.{method}", function


def _defaults(function: Any) -> dict[str, Any]:
    found = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    return {name: value for name, value in found.items() if isinstance(value, int | float | str | tuple)}
