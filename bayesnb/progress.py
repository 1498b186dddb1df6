"""Progress bars, and whether to show them."""

import os
import sys

from tqdm.auto import tqdm

__all__ = ["shows_progress", "tqdm"]


def shows_progress(asked: bool | None) -> bool:
    """Whether to show a progress bar: as the user asks; by default on a terminal and in a notebook without CI set."""
    if asked is not None:
        return asked
    return "CI" not in os.environ and (sys.stderr.isatty() or "ipykernel" in sys.modules)
