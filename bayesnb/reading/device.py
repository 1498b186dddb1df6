"""Chunks of a table on an accelerator: computed there, many at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any

import jax
import numpy as np

from bayesnb import device
from bayesnb.arrays import in_float64
from bayesnb.reading.counted import Counted, Unseen, add_unseen
from bayesnb.reading.densities import FORMS, Density, Form
from bayesnb.reading.host import HostChunks
from bayesnb.tables.categories import warn_unseen
from bayesnb.tables.device_array import DeviceTable

__all__ = ["DeviceChunks"]


@dataclass(frozen=True)
class DeviceChunks(HostChunks):
    """The rows of a table on an accelerator.

    Chunks that `bayesnb.device` cannot compute are copied to the host. So are rows with a cell that the model does not
    allow: the host raises the error, or finds the values that are not among the categories.
    """

    table: DeviceTable

    def densities(self, density: Density, form: Form) -> np.ndarray:
        families = density.device_densities()
        if families is None:
            return super().densities(density, form)
        result = np.empty((self.table.num_rows, len(self.schema.classes)))
        normalised = form != "log_joint"

        def prepare() -> Callable:
            where = self.table, self.schema, self.blocks, self.columns
            return device.log_joint_on_device(*where, density.class_probs(), families, normalised=normalised)

        num_cells = min(device.DEVICE_CELLS, device.DEVICE_DENSITIES // len(self.schema.classes))
        unseen: Unseen = {}
        for slices, found in self._batches(prepare, num_cells):
            if found is not None:
                result[slices[0].start : slices[-1].stop] = np.exp(found) if form == "proba" else found
                continue
            for rows in slices:
                cells, strange = self.encode(rows, compact=True)
                FORMS[form](density, cells, result[rows])
                unseen = add_unseen(unseen, strange)
        warn_unseen(unseen)
        return result

    def counted(self, codes: np.ndarray, weights: np.ndarray | None) -> Iterator[Counted]:
        def prepare() -> Callable:
            return device.count_on_device(self.table, self.schema, self.blocks, self.columns, codes, weights)

        for slices, found in self._batches(prepare, device.DEVICE_CELLS):
            if found is not None:
                yield Counted(found, {})
            else:
                yield from (self.count_slice(rows, codes, weights) for rows in slices)

    def _batches(self, prepare: Callable[[], Callable], num_cells: int) -> Iterator[tuple[Sequence[slice], Any]]:
        """Successive slices of rows, and the device's result for them; None if the host has to compute it.

        `prepare` returns a function of the rows wanted, the first row to read, and the number of rows to read. This
        number is the same in all calls, so that the function is compiled once. It returns None for rows with a cell
        that the model does not allow.
        """
        slices, num_rows = self.slices, self.table.num_rows
        step = max((rows.stop - rows.start for rows in slices), default=1)
        together = max(1, num_cells // (step * max(sum(map(len, self.columns)), 1)))
        size = min(together * step, num_rows)
        compute: Callable | None = None
        covered = True
        for batch in batched(slices, together):
            rows = slice(batch[0].start, batch[-1].stop)
            found = None
            if covered:
                try:
                    compute = compute or in_float64(prepare)()
                    found = in_float64(compute)(rows, min(rows.start, num_rows - size), size)
                except (NotImplementedError, jax.errors.JAXTypeError):
                    covered = False
            yield batch, found
