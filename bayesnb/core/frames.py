"""Data frames that print all their columns below a title."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pandas as pd

from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed


class PrintedFrame(Printed, pd.DataFrame):
    """A pandas data frame with the printed form of the other results.

    All columns are printed, in four digits: those that do not fit a line continue below. What pandas derives from it,
    such as a sorted frame, is an ordinary frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its ``attrs`` stay.
    heading : str
        What the frame holds.
    notes : sequence of str, default ()
        Sentences below the table.
    """

    # pandas copies these when it pickles a frame; other attributes of a frame would be columns.
    _metadata: ClassVar[list[str]] = ["_heading", "_notes", "_beside", "note"]

    _beside: Any = None
    """What the plots of a subclass need beside its columns."""

    def __init__(self, frame: pd.DataFrame, heading: str, notes: Sequence[str] = ()) -> None:
        super().__init__(frame)
        self.attrs = dict(frame.attrs)
        self._heading, self._notes = heading, tuple(notes)

    def _parts(self) -> list[Piece]:
        most = pd.get_option("display.max_rows") or len(self)
        table = DataTable(self._shown(), rest="more rows", rows=most)
        return [Heading(self._heading), table, *map(Paragraph, self._notes)]

    def _shown(self) -> pd.DataFrame:
        """An ordinary frame, with empty cells for None, and one text for an index of several levels."""
        shown = pd.DataFrame(self)
        if isinstance(shown.index, pd.MultiIndex):
            shown = shown.set_axis([", ".join(map(str, key)) for key in shown.index])
        for name in shown.columns:
            if shown[name].dtype == object:
                shown[name] = shown[name].map(lambda value: "" if value is None else value)
        return shown
