"""Log densities of single cells, where small counts are looked up in a table."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from bayesnb.rows import row_pieces

__all__ = ["log_density_of_cells"]

LARGEST_TABLE = 512
"""Log densities of counts up to this are looked up, if the table has fewer densities than there are cells."""


def log_density_of_cells(log_density: Callable[[Any], Any], cells: Any, *, are_counts: bool) -> Any:
    """Log density of every cell, shape (rows, columns).

    Parameters
    ----------
    log_density : callable
        Maps cells (rows, columns) to their log densities.
    cells : array, shape (rows, columns)
        No missing cell. JAX arrays, and arrays of more axes, go to the formula as they are.
    are_counts : bool
        Whether all cells are whole numbers from zero.
    """
    if isinstance(cells, jax.Array) or cells.ndim != 2:
        return log_density(cells)
    if are_counts:
        highest = cells.max(initial=0.0)
        if highest <= min(LARGEST_TABLE, len(cells) / 2):
            counts = np.broadcast_to(np.arange(highest + 1)[:, None], (int(highest) + 1, cells.shape[1]))
            table = np.ascontiguousarray(log_density(counts))
            return table.ravel().take(cells.astype(np.intp) * cells.shape[1] + np.arange(cells.shape[1]))
    pieces = [np.asarray(log_density(cells[rows])) for rows in row_pieces(*cells.shape)]
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
