"""Weights of features as JSON and arrays."""

from typing import Any

from bayesnb.files.netcdf import Arrays
from bayesnb.weights.feature_weights import FeatureWeights, Gaussian

__all__ = ["read_weights", "write_weights"]

ARRAYS = ("weight", "offset", "weight_draws", "offset_draws", "spread_draws", "mean", "precision")
"""Names of attributes of `FeatureWeights` and of its `Gaussian`."""


def write_weights(weights: FeatureWeights, arrays: Arrays) -> dict[str, Any]:
    """The weights for a file; their arrays are added to `arrays`."""
    values = vars(weights) | ({} if weights.gaussian is None else vars(weights.gaussian))
    present = [name for name in ARRAYS if values.get(name) is not None]
    arrays["feature_weights"] = [values[name] for name in present]
    return {"arrays": present, "num_rows": weights.num_rows, "no_information": weights.no_information}


def read_weights(text: Any, arrays: Arrays) -> FeatureWeights:
    """The weights that `write_weights` wrote."""
    values: dict[str, Any] = dict.fromkeys(ARRAYS)
    values |= zip(text["arrays"], arrays["feature_weights"], strict=True)
    mean, precision = values.pop("mean"), values.pop("precision")
    gaussian = None if mean is None else Gaussian(len(mean) - len(values["offset"]), mean, precision)
    # Files of version 0.2 have no such probability.
    no_information = text.get("no_information", 0.0)
    return FeatureWeights(**values, num_rows=text["num_rows"], gaussian=gaussian, no_information=no_information)
