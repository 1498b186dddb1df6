"""Some rows of a larger table, with their name in errors."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bayesnb.progress import shows_progress, tqdm
from bayesnb.tables.labels import Labels, read_labels
from bayesnb.tables.table import Table
from bayesnb.tables.weighted import weighted_table
from bayesnb.tables.weights import check_weights

__all__ = ["NO_ROWS", "Batch", "with_progress"]

NO_ROWS = "X has no rows: give at least one"


@dataclass(frozen=True)
class Batch:
    """Some rows of a table.

    Attributes
    ----------
    where : str
        What errors call these rows, such as "batch 3".
    X : table, shape (rows, columns)
    y : labels, shape (rows,)
    sample_weight : array, shape (rows,), or None
    """

    where: str
    X: Any
    y: Any
    sample_weight: Any = None

    @property
    def num_rows(self) -> int:
        """Number of rows of X."""
        return self.table.num_rows

    @cached_property
    def table(self) -> Table:
        """The rows as a table; rows of weight zero add no category."""
        return weighted_table(self.X, self.sample_weight)

    def has_rows(self) -> bool:
        """Whether there are rows.

        Raises
        ------
        ValueError
            If there are none, but labels.
        """
        if self.num_rows == 0 and self.y is not None and len(self.y) > 0:
            raise ValueError(f"y has {len(self.y)} labels, X has 0 rows: give one label for each row")
        return self.num_rows > 0

    @cached_property
    def labels(self) -> Labels:
        """The labels of the rows."""
        return read_labels(self.y, self.num_rows)

    @cached_property
    def weights(self) -> np.ndarray | None:
        """The weights of the rows."""
        return None if self.sample_weight is None else check_weights(self.sample_weight, self.num_rows)

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Put the name of these rows in front of the message of a TypeError or ValueError."""
        try:
            yield
        except (TypeError, ValueError) as error:
            # Subclasses (UnicodeDecodeError, say) are made from other arguments than a message.
            if type(error) not in (TypeError, ValueError):
                raise
            raise type(error)(f"{self.where}: {error}") from error


def with_progress(asked: bool | None, what: str, batches: Iterable[Batch], total: int | None) -> Iterator[Batch]:
    """The batches, with a progress bar that counts their rows.

    Parameters
    ----------
    asked : bool or None
        Whether to show the bar; see `shows_progress`.
    what : str
        Text before the bar.
    batches : iterable of Batch
    total : int or None
        Number of rows of all batches, None if unknown.
    """
    hidden = not shows_progress(asked)
    with tqdm(total=total, desc=what, unit="row", unit_scale=True, disable=hidden, leave=True) as bar:
        for batch in batches:
            yield batch
            bar.update(batch.num_rows)
