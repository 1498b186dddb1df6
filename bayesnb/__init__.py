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
    submodules=["datasets", "estimators", "families"],
    submod_attrs={
        "checks.calibration": ["Calibration", "calibration", "plot_reliability"],
        "checks.compare": ["Comparison", "compare", "plot_comparison"],
        "checks.kfold": ["kfold"],
        "checks.predictive": ["Check", "check", "plot_check"],
        "checks.sbc": ["SBC", "plot_sbc", "sbc"],
        "checks.sensitivity": ["Sensitivity", "plot_sensitivity", "sensitivity"],
        "core.running": ["enable_compilation_cache"],
        "crowd.fit": ["fit_annotations"],
        "crowd.result": ["AnnotationFit"],
        "estimators.generic": ["NaiveBayesClassifier"],
        "estimators.load": ["load"],
        "families.base": ["Family"],
        "families.categories": ["Bernoulli", "Categorical"],
        "families.conjugate": ["ConjugateFamily"],
        "families.dirichlet_multinomial": ["DirichletMultinomial"],
        "families.exponential": ["ExponentialFamily"],
        "families.gaussian": ["Gaussian", "LogNormal"],
        "families.histogram": ["Histogram"],
        "families.hurdle": ["Hurdle"],
        "families.joint_categorical": ["JointCategorical"],
        "families.moments": ["Moments", "Scatter"],
        "families.multivariate_gaussian": ["MultivariateGaussian"],
        "families.polya_tree": ["PolyaTree"],
        "families.rates": ["Exponential", "Poisson"],
        "families.statistics": ["Counts", "Levels", "Statistics"],
        "families.successes": ["Binomial", "Geometric", "NegativeBinomial"],
        "families.two_parameters": ["Beta", "Gamma", "VonMises"],
        "families.words": ["Multinomial"],
        "inference.em": ["EM", "MAP", "MLE"],
        "inference.empirical": ["EmpiricalBayes"],
        "inference.exact": ["Exact", "Inference"],
        "inference.fit": ["fit", "fit_batches", "fit_parquet", "from_parameters", "from_samples"],
        "inference.gibbs": ["Gibbs"],
        "inference.nuts": ["ConvergenceWarning", "NUTS"],
        "model.bound": ["BoundModel"],
        "model.naive_bayes": ["NaiveBayes"],
        "plots.crowd": ["plot_annotators", "plot_confusion", "plot_items"],
        "plots.densities": ["plot_densities"],
        "plots.features": ["plot_evidence", "plot_mutual_information", "plot_spikes", "plot_telling_features"],
        "plots.prior_posterior": ["plot_prior_posterior"],
        "plots.rows": ["plot_log_odds", "plot_proba"],
        "posterior.base": ["Posterior"],
        "posterior.exact": ["AveragedPosterior", "ExactPosterior", "PointPosterior"],
        "posterior.loo": ["loo", "loo_scores"],
        "posterior.sampled": ["CollapsedPosterior", "SampledPosterior"],
        "posterior.weighted": ["WeightedPosterior", "plot_weights"],
        "selection.evidence": ["feature_evidence", "plot_feature_evidence"],
        "selection.families": ["FamilyChoice", "choose_families", "plot_family_choice"],
        "selection.features": ["FeatureSelection", "plot_feature_selection", "select_features"],
        "selection.grouping": ["ColumnGrouping", "group_columns", "plot_column_grouping"],
        "selection.information": ["mutual_information", "mutual_information_score"],
        "selection.models": ["ModelComparison", "compare_models", "plot_model_comparison"],
        "selection.telling": ["telling_features"],
        "selection.weights": ["weight_features"],
    },
)
