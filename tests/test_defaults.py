"""Default values of the public functions and classes are behaviour: one that changes is a decision, made here."""

import inspect
from collections.abc import Iterator
from typing import Any

import bayesnb as nb
from bayesnb import datasets, estimators

COMMON = {
    "key": 0,
    "prob": 0.89,
    "unit": "nats",
    "decay": 1.0,
    "inference": "exact",
    "predictive": "exact",
    "fit_prior": True,
    "alpha": 1.0,
    "force_alpha": True,
    "concentration": 1.0,
    "concentration1": 1.0,
    "concentration0": 1.0,
    "class_concentration": 1.0,
    "kappa": 0.1,
    "fractional": False,
    "other": False,
    "prior_inclusion": 0.5,
    "sort": True,
    "words": True,
    "exclude": (),
    "notes": (),
}
"""Default values of parameters that most functions share."""

DEFAULTS: dict[str, dict[str, Any]] = {
    "AnnotationFigures.plot_annotators": {"sort": "accuracy", "max_annotators": 30},
    "AnnotationFigures.plot_confusion": {"sort": "annotations", "max_panels": 12},
    "AnnotationFigures.plot_items": {"max_items": 20},
    "AnnotationFit.next_item": {"num_items": 20, "num_annotators": 1, "again": False},
    "BernoulliNB": {"binarize": 0.0},
    "Beta": {"concentration": 1.5},
    "BoundModel.draw_prior": {"sample_shape": ()},
    "BoundModel.simulate": {"return_parameters": False},
    "Calibration": {"on_fit": False},
    "Calibration.plot": {"kind": "classes"},
    "Check": {"fitted": (), "other_rows": ""},
    "ColumnGrouping.plot": {"max_merges": 30},
    "DirichletMultinomial": {"concentration": 1.5, "rate": 0.1},
    "DirichletMultinomialNB": {"inference": "map", "concentration": 1.5, "rate": 0.1},
    "EM": {"max_iterations": 2000, "num_starts": 1, "accelerate": True, "tolerance": 1e-06},
    "Explanation.plot": {"max_features": 15},
    "FamilyChoice.plot": {"max_features": 12},
    "FeatureEvidence.plot": {"max_features": 30},
    "FeatureSelection.plot": {"max_steps": 60},
    "Gamma": {"concentration": 1.5},
    "GaussianNB": {"var_smoothing": 1e-09},
    "Gibbs": {"num_warmup": 200, "num_samples": 1000, "num_chains": 4},
    "Histogram": {"step": 0.0},
    "JointCategorical": {"sizes": (), "held": ()},
    "MAP": {"max_iterations": 2000},
    "MLE": {"max_iterations": 2000},
    "MutualInformation.plot": {"max_features": 20},
    "NUTS": {"num_samples": 1000, "num_chains": 4, "max_tree_depth": 10},
    "NaiveBayes": {"outside_is_missing": ()},
    "NaiveBayesClassifier": {"feature_weights": "auto"},
    "Params.get_params": {"deep": True},
    "PolyaTree": {"split": 0.5, "together": True, "step": 0.0},
    "Posterior.simulate": {"num_rows": 100},
    "SBC.plot": {"max_panels": 12},
    "Sensitivity.plot": {"kind": "parameters", "max_parameters": 30},
    "TellingFeatures.plot": {"max_panels": 10},
    "VonMises": {"concentration": 1.5},
    "WeightsFrame.plot": {"max_features": 40},
    "calibration": {"bins": 10},
    "check": {"num_replicates": 500},
    "choose_families": {"criterion": "evidence"},
    "compare": {"error_rate": 0.001},
    "federalist": {"words": "function"},
    "fit_annotations": {"hierarchical": False},
    "group_columns": {"max_width": 30},
    "kfold": {"k": 10},
    "load": {"families": ()},
    "plot_densities": {"sort": False, "bins": 25, "max_panels": 12},
    "plot_evidence": {"max_features": 15},
    "plot_log_odds": {"sort": False, "max_rows": 60},
    "plot_prior_posterior": {"max_panels": 24},
    "plot_proba": {"sort": False, "max_rows": 30},
    "plot_spikes": {"label": "telling", "num_labels": 5, "tolerance": 0.05, "max_panels": 10},
    "sbc": {"num_simulations": 200, "num_rows": 50, "error_rate": 0.01},
    "sensitivity": {"prior": (0.8, 1.25), "likelihood": (0.8, 1.25)},
    "telling_features": {"num": 10},
    "weight_features": {"shared": False},
}
"""By function, class and method the others; ``None`` is left out, which means a rule that other tests are about."""


def test_defaults():
    named = {name: _defaults(function) for name, function in _public()}
    others = {
        name: {parameter: value for parameter, value in found.items() if COMMON.get(parameter, ...) != value}
        for name, found in named.items()
    }
    assert {name: found for name, found in others.items() if found} == DEFAULTS
    assert COMMON.keys() <= {parameter for found in named.values() for parameter in found}


def _public() -> Iterator[tuple[str, Any]]:
    """Functions, classes and the public methods of classes, by name; of families the classes alone."""
    for module in (nb, nb.results, nb.families, datasets, estimators):
        things = {name: getattr(module, name) for name in module.__all__}
        for name, thing in things.items():
            if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Warning)):
                yield name, thing
            with_methods = inspect.isclass(thing) and not issubclass(thing, nb.families.Family)
            for base in thing.__mro__ if with_methods else ():
                for method, function in vars(base).items() if base.__module__.startswith("bayesnb.") else ():
                    function = getattr(function, "__func__", function)
                    if inspect.isfunction(function) and not method.startswith("_"):
                        yield f"{base.__name__}.{method}", function


def _defaults(function: Any) -> dict[str, Any]:
    found = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    return {name: value for name, value in found.items() if isinstance(value, int | float | str | tuple)}
