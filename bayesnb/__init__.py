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
        "api": ["fit", "fit_batches", "fit_parquet", "from_parameters", "from_samples"],
        "checks.calibration": ["Calibration", "calibration"],
        "checks.compare": ["Comparison", "compare"],
        "checks.kfold": ["kfold"],
        "checks.loo": ["loo", "loo_scores"],
        "checks.predictive": ["Check", "check"],
        "checks.sbc": ["SBC", "sbc"],
        "checks.sensitivity": ["Sensitivity", "sensitivity"],
        "crowd.fit": ["fit_annotations"],
        "crowd.result": ["AnnotationFit"],
        "compilation": ["enable_compilation_cache"],
        "estimators.generic": ["NaiveBayesClassifier"],
        "loading": ["load"],
        "families.base": ["Family"],
        "families.conjugate": ["ConjugateFamily"],
        "families.exponential": ["ExponentialFamily"],
        "families.gamma": ["Gamma"],
        "families.bernoulli": ["Bernoulli"],
        "families.binomial": ["Binomial"],
        "families.categorical": ["Categorical"],
        "families.dirichlet_multinomial": ["DirichletMultinomial"],
        "families.gaussian": ["Gaussian"],
        "families.geometric": ["Geometric"],
        "families.log_normal": ["LogNormal"],
        "families.histogram": ["Histogram"],
        "families.hurdle": ["Hurdle"],
        "families.joint_categorical": ["JointCategorical"],
        "families.multinomial": ["Multinomial"],
        "families.multivariate_gaussian": ["MultivariateGaussian"],
        "families.negative_binomial": ["NegativeBinomial"],
        "families.poisson": ["Poisson"],
        "families.polya_tree": ["PolyaTree"],
        "families.proportions": ["Beta"],
        "families.von_mises": ["VonMises"],
        "families.waiting_times": ["Exponential"],
        "inference.base": ["Inference"],
        "inference.empirical": ["EmpiricalBayes"],
        "inference.exact": ["Exact"],
        "inference.expectation": ["EM"],
        "inference.gibbs": ["Gibbs"],
        "inference.nuts": ["NUTS", "ConvergenceWarning"],
        "inference.point": ["MAP", "MLE"],
        "model.bound": ["BoundModel"],
        "model.naive_bayes": ["NaiveBayes"],
        "pictures.comparison": ["plot_comparison"],
        "plots.annotators": ["plot_annotators"],
        "plots.confusion": ["plot_confusion"],
        "plots.densities": ["plot_densities"],
        "plots.evidence": ["plot_evidence"],
        "plots.items": ["plot_items"],
        "plots.log_odds": ["plot_log_odds"],
        "pictures.families": ["plot_family_choice"],
        "pictures.feature_evidence": ["plot_feature_evidence"],
        "pictures.features": ["plot_feature_selection"],
        "pictures.grouping": ["plot_column_grouping"],
        "pictures.models": ["plot_model_comparison"],
        "plots.mutual_information": ["plot_mutual_information"],
        "pictures.predictive": ["plot_check"],
        "plots.prior_posterior": ["plot_prior_posterior"],
        "plots.proba": ["plot_proba"],
        "pictures.reliability": ["plot_reliability"],
        "pictures.sbc": ["plot_sbc"],
        "pictures.sensitivity": ["plot_sensitivity"],
        "pictures.weights": ["plot_weights"],
        "plots.spikes": ["plot_spikes"],
        "plots.telling": ["plot_telling_features"],
        "posterior.averaged": ["AveragedPosterior"],
        "posterior.base": ["Posterior"],
        "posterior.collapsed": ["CollapsedPosterior"],
        "posterior.exact": ["ExactPosterior"],
        "posterior.point": ["PointPosterior"],
        "posterior.sampled": ["SampledPosterior"],
        "posterior.weighted": ["WeightedPosterior"],
        "selection.evidence": ["feature_evidence"],
        "selection.features": ["FeatureSelection", "select_features"],
        "selection.grouping": ["ColumnGrouping", "group_columns"],
        "selection.models": ["ModelComparison", "compare_models"],
        "selection.families": ["FamilyChoice", "choose_families"],
        "selection.mutual_information": ["mutual_information"],
        "selection.score": ["mutual_information_score"],
        "selection.telling": ["telling_features"],
        "selection.weights": ["weight_features"],
        "statistics.base": ["Statistics"],
        "statistics.counts": ["Counts"],
        "statistics.levels": ["Levels"],
        "statistics.moments": ["Moments"],
        "statistics.scatter": ["Scatter"],
    },
)
