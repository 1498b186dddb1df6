"""Naive Bayes as scikit-learn estimators, with scikit-learn's names, arguments and attributes.

Every estimator describes a `NaiveBayes` model and fits it. The fitted estimator holds the posterior in `posterior_`.
"""

from bayesnb.core.exports import exports as _exports

__getattr__, __dir__, __all__ = _exports(
    __name__,
    {
        "estimators.generic": ["NaiveBayesClassifier", "mutual_information_score"],
        "estimators.one_family": [
            "BernoulliNB",
            "CategoricalNB",
            "DirichletMultinomialNB",
            "GaussianNB",
            "MultinomialNB",
            "PoissonNB",
        ],
    },
)
