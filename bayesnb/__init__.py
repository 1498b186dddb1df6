"""Naive Bayes as a generative model: one description, the whole posterior."""

import lazy_loader as _lazy

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submodules=["datasets", "estimators", "families"],
    submod_attrs={
        "checks.compare": ["Comparison", "compare"],
        "datatree": ["load"],
        "families.base": ["ConjugateFamily", "Family"],
        "families.bernoulli": ["Bernoulli"],
        "families.categorical": ["Categorical"],
        "families.gaussian": ["Gaussian"],
        "families.multinomial": ["Multinomial"],
        "families.poisson": ["Poisson"],
        "inference.base": ["Inference"],
        "inference.exact": ["Exact"],
        "inference.fit": ["fit", "from_parameters", "from_samples"],
        "inference.nuts": ["NUTS", "ConvergenceWarning"],
        "inference.point": ["MAP", "MLE"],
        "model": ["NaiveBayes"],
        "plots.comparison": ["plot_comparison"],
        "posterior.base": ["Posterior"],
        "posterior.exact": ["ExactPosterior"],
        "posterior.point": ["PointPosterior"],
        "posterior.sampled": ["SampledPosterior"],
        "stats": ["Counts", "Moments", "Statistics"],
    },
)
