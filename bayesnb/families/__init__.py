"""Feature distributions, those of one kin in a file; here is what authors of families need."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    "bayesnb",
    submod_attrs={
        "core.deferred": ["namespace"],
        "core.logarithms": ["log_beta", "log_rising"],
        "families.categories": ["TableFamily"],
        "families.conjugate": ["ConjugateFamily"],
        "families.exponential": ["ExponentialFamily"],
        "families.family": ["Family", "JointFamily"],
        "families.hyperparameters": ["format_number"],
        "families.moments": ["Moments", "Scatter"],
        "families.statistics": ["ClassCounts", "Counts", "Levels", "Statistics", "class_sums", "observed_weight"],
        "families.words": ["Annotations"],
    },
)
