"""Naive Bayes as a generative model: one description, the whole posterior."""

import sys as _sys
from typing import Any as _Any

from bayesnb.core.exports import exports as _exports
from bayesnb.families import FAMILIES as _FAMILIES

if "numpyro" in _sys.modules:  # perhaps put there by ArviZ
    from bayesnb.core.deferred import import_numpyro as _import_numpyro

    _import_numpyro()

__version__ = "0.2.0"

_found, __dir__, __all__ = _exports(
    __name__,
    {
        "checks.calibration": ["calibration"],
        "checks.compare": ["compare"],
        "checks.kfold": ["kfold"],
        "checks.predictive": ["check"],
        "checks.sbc": ["sbc"],
        "checks.sensitivity": ["sensitivity"],
        "core.running": ["enable_compilation_cache"],
        "crowd.fit_annotations": ["fit_annotations"],
        "estimators.generic": ["NaiveBayesClassifier"],
        "estimators.load": ["load"],
        **_FAMILIES,
        "inference.batches": ["fit_batches", "fit_parquet"],
        "inference.em": ["EM", "MAP", "MLE"],
        "inference.exact": ["ConvergenceWarning", "EmpiricalBayes", "Exact"],
        "inference.fit": ["fit", "from_parameters", "from_samples"],
        "inference.gibbs": ["Gibbs"],
        "inference.nuts": ["NUTS"],
        "model.naive_bayes": ["NaiveBayes"],
        "population.class_probs": ["estimate_class_probs"],
        "population.drift": ["drift"],
        "plots.columns": ["plot_densities", "plot_spikes"],
        "plots.effect_curves": ["plot_effect", "plot_effects"],
        "plots.prior_posterior": ["plot_prior_posterior"],
        "plots.rows": ["plot_evidence", "plot_log_odds", "plot_proba"],
        "posterior.effects": ["effects"],
        "posterior.loo": ["loo", "loo_scores"],
        "selection.families": ["choose_families"],
        "selection.features": ["select_features"],
        "selection.grouping": ["group_columns"],
        "selection.information": ["feature_evidence", "mutual_information"],
        "selection.models": ["compare_models"],
        "selection.telling": ["telling_features"],
        "selection.descriptions": ["propose_descriptions", "tree_columns"],
        "selection.weighing": ["weight_features"],
    },
    submodules=["datasets", "estimators", "families", "results", "serve"],
)


def __getattr__(name: str) -> _Any:
    from bayesnb.core.checking import naming_arguments

    globals()[name] = found = naming_arguments(_found(name))
    return found
