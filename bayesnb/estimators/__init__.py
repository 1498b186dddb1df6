"""Naive Bayes as scikit-learn estimators, with scikit-learn's names, arguments and attributes.

Every estimator describes a `NaiveBayes` model and fits it. The fitted estimator holds the posterior in `posterior_`.
"""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "generic": ["NaiveBayesClassifier", "mutual_information_score"],
        "one_family": [
            "BernoulliNB",
            "CategoricalNB",
            "DirichletMultinomialNB",
            "GaussianNB",
            "MultinomialNB",
            "PoissonNB",
        ],
    },
)
