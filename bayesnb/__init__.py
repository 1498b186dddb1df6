"""Naive Bayes as a generative model: one description, the whole posterior."""

import sys as _sys
import warnings as _warnings

import lazy_loader as _lazy

with _warnings.catch_warnings():
    # NumPyro imports tqdm. In a notebook without ipywidgets, tqdm falls back to text and warns. Users need not act on
    # the warning.
    _warnings.filterwarnings("ignore", message="IProgress not found")
    import numpyro as _numpyro

    # ArviZ puts NumPyro into sys.modules as a module that runs at its first use. A submodule imported before that use
    # would be loaded twice and left without its parts, so NumPyro runs here, before anything of this package imports
    # from it.
    _NUMPYRO_VERSION = _numpyro.__version__
    # If numpyro.distributions was imported after ArviZ and before this package, it lacks its submodules as attributes.
    for _name in [name for name in _sys.modules if name.startswith("numpyro.distributions.")]:
        if _name.count(".") == 2 and not hasattr(_numpyro.distributions, _name.rpartition(".")[2]):
            setattr(_numpyro.distributions, _name.rpartition(".")[2], _sys.modules[_name])

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submodules=["datasets", "estimators", "families", "results"],
    submod_attrs={
        "checks.calibration": ["calibration"],
        "checks.compare": ["compare"],
        "checks.kfold": ["kfold"],
        "checks.predictive": ["check"],
        "checks.sbc": ["sbc"],
        "checks.sensitivity": ["sensitivity"],
        "core.running": ["enable_compilation_cache"],
        "crowd.fit": ["fit_annotations"],
        "estimators.generic": ["NaiveBayesClassifier"],
        "estimators.load": ["load"],
        "families.binned": ["Histogram", "PolyaTree"],
        "families.categories": ["Bernoulli", "Categorical"],
        "families.dirichlet_multinomial": ["DirichletMultinomial"],
        "families.gaussian": ["Gaussian", "LogNormal"],
        "families.given": ["Given"],
        "families.hurdle": ["Hurdle"],
        "families.joint_categorical": ["JointCategorical"],
        "families.multivariate_gaussian": ["MultivariateGaussian"],
        "families.counts_and_waits": ["Binomial", "Exponential", "Geometric", "NegativeBinomial", "Poisson"],
        "families.trees": ["AllTrees"],
        "families.two_parameters": ["Beta", "Gamma", "VonMises"],
        "families.words": ["Multinomial"],
        "inference.batches": ["fit_batches", "fit_parquet"],
        "inference.em": ["EM", "MAP", "MLE"],
        "inference.exact": ["ConvergenceWarning", "EmpiricalBayes", "Exact"],
        "inference.fit": ["fit", "from_parameters", "from_samples"],
        "inference.gibbs": ["Gibbs"],
        "inference.nuts": ["NUTS"],
        "model.naive_bayes": ["NaiveBayes"],
        "plots.columns": ["plot_densities", "plot_spikes"],
        "plots.prior_posterior": ["plot_prior_posterior"],
        "plots.rows": ["plot_evidence", "plot_log_odds", "plot_proba"],
        "posterior.loo": ["loo", "loo_scores"],
        "selection.families": ["choose_families"],
        "selection.descriptions": ["propose_descriptions"],
        "selection.features": ["select_features"],
        "selection.grouping": ["group_columns"],
        "selection.information": ["feature_evidence", "mutual_information"],
        "selection.models": ["compare_models"],
        "selection.telling": ["telling_features"],
        "selection.trees": ["tree_columns"],
        "selection.weights": ["weight_features"],
    },
)
