"""Log densities of single cells, where small counts are looked up in a table."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from bayesnb.rows import row_pieces

__all__ = ["log_density_of_cells"]

LARGEST_TABLE = 512
"""Log densities of counts up to this are looked up, if the table has fewer densities than there are cells."""

FEW = 0.25
"""Share of larger counts up to which the others are looked up."""


def log_density_of_cells(log_density: Callable[..., Any], cells: Any, parameters: Any, *, are_counts: bool) -> Any:
    """Log density of every cell, shape (rows, columns).

    Parameters
    ----------
    log_density : callable
        Maps cells, and parameters that broadcast against them, to log densities.
    cells : array, shape (rows, columns)
        No missing cell. JAX arrays, and arrays of more axes, go to the formula as they are.
    parameters : array or family
        Of each column, shape (columns,); or a number.
    are_counts : bool
        Whether all cells are whole numbers from zero.
    """
    if isinstance(cells, jax.Array) or cells.ndim != 2:
        return log_density(cells, parameters)
    if are_counts:
        highest = min(cells.max(initial=0.0), LARGEST_TABLE, len(cells) // 2)
        rows, columns = np.nonzero(cells > highest)
        if len(rows) <= FEW * cells.size:
            counts = np.broadcast_to(np.arange(highest + 1)[:, None], (int(highest) + 1, cells.shape[1]))
            table = np.ascontiguousarray(log_density(counts, parameters))
            at = np.minimum(cells, highest) if len(rows) else cells
            found = table.ravel().take(at.astype(np.intp) * cells.shape[1] + np.arange(cells.shape[1]))
            if len(rows):
                own = jax.tree.map(lambda leaf: leaf if np.ndim(leaf) == 0 else leaf[columns], parameters)
                found[rows, columns] = log_density(cells[rows, columns], own)
            return found
    pieces = [np.asarray(log_density(cells[rows], parameters)) for rows in row_pieces(*cells.shape)]
    return np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
