import pytest


@pytest.fixture(scope="package")
def mixed():
    """Trees with the number of their rings, and sizes whose prior follows the data."""
    import numpy as np
    from trees import FEATURES, trees

    import bayesnb as nb

    rng = np.random.default_rng(3)
    X, y = trees(rng, 50)
    features = FEATURES | {"size": (nb.Gaussian(), ["height", "width"]), "rings": nb.Poisson()}
    return features, X.assign(rings=rng.poisson(7.0, 50) * 1.0), y
