"""Uncertainty of the labels of rows, and the part of it that more data could remove."""

from typing import Any

import numpy as np

from bayesnb.blocks.parameters import ModelParameters
from bayesnb.decisions import entropy_split, nats_of
from bayesnb.densities_under_draws import in_pieces
from bayesnb.model.bound import BoundModel
from bayesnb.reading.cells import Cells
from bayesnb.reading.normalise import normalise

__all__ = ["uncertainty_under"]


def uncertainty_under(model: BoundModel, X: Any, parameters: ModelParameters, unit: str) -> Any:
    """Total, aleatoric and epistemic uncertainty of each row's label; `Posterior.uncertainty` defines them.

    Parameters
    ----------
    model : BoundModel
    X : table, shape (rows, columns)
    parameters : ModelParameters
        Leading axes (chain, draw).
    unit : str
        As for `nats_of`.

    Returns
    -------
    pandas.DataFrame
    """
    import pandas as pd

    def put(cells: Cells, out: np.ndarray) -> None:
        out[...] = entropy_split(
            np.exp(normalise(model.log_joint(piece, cells), piece.class_prob[:, None, :]))
            for piece in in_pieces(parameters, cells)
        )

    total, aleatoric = model.read(X).fill(put, 2).T / nats_of(unit)
    parts = {"total": total, "aleatoric": aleatoric, "epistemic": total - aleatoric}
    return pd.DataFrame(parts, index=pd.RangeIndex(len(total), name="row"))
