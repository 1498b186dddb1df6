"""Feature distributions, those of one kin in a file; here is what authors of families need."""

from bayesnb.core.exports import exports as _exports

FAMILIES = {
    "families.all_trees": ["AllTrees"],
    "families.binned": ["Histogram", "PolyaTree"],
    "families.categories": ["Bernoulli", "Categorical"],
    "families.counts_and_waits": ["Binomial", "Exponential", "Geometric", "NegativeBinomial", "Poisson"],
    "families.dirichlet_multinomial": ["DirichletMultinomial"],
    "families.gaussian": ["Gaussian", "LogNormal"],
    "families.given": ["Given"],
    "families.hurdle": ["Hurdle"],
    "families.joint_categorical": ["JointCategorical"],
    "families.multivariate_gaussian": ["MultivariateGaussian"],
    "families.two_parameters": ["Beta", "Gamma", "VonMises"],
    "families.words": ["Multinomial"],
}
"""What `bayesnb` itself exports, by module."""

__getattr__, __dir__, __all__ = _exports(
    __name__,
    {
        "core.deferred": ["namespace"],
        "core.logarithms": ["log_beta", "log_rising"],
        "families.categories": ["TableFamily"],
        "families.conjugate": ["ConjugateFamily"],
        "families.exponential": ["ExponentialFamily"],
        "families.family": ["Family", "JointFamily"],
        "families.host_sums": ["observed_weight"],
        "families.hyperparameters": ["format_number"],
        "families.moments": ["Moments", "Scatter"],
        "families.needs": [
            "Afterwards",
            "CellWeight",
            "CentredProducts",
            "CentredSquares",
            "Frequencies",
            "PairFrequencies",
            "RowWeight",
            "Sums",
            "ValueCounts",
        ],
        "families.statistics": ["ClassCounts", "Counts", "Levels", "Statistics", "class_sums"],
        "families.words": ["Annotations"],
        "serve.scorer": ["MultivariateT", "RisingFactorials", "StudentT"],
    },
)
