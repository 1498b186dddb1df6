"""Feature distributions, those of one kin in a file; here is what authors of families need."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(
    __name__,
    submod_attrs={
        "family": ["Family", "JointFamily"],
        "conjugate": ["ConjugateFamily"],
        "exponential": ["ExponentialFamily"],
        "moments": ["Moments", "Scatter"],
        "statistics": ["Counts", "Levels", "Statistics"],
    },
)
