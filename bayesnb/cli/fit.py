"""``bayesnb fit``: a table in, a posterior in a file out."""

from pathlib import Path
from typing import Annotated

import typer

from bayesnb.cli.console import errors_in_a_line, say
from bayesnb.cli.models import fit_exactly
from bayesnb.cli.tables import CategoricalColumns, DroppedColumns, MissingText, TableFile, TargetColumn

__all__ = ["fit_command"]


def fit_command(
    table: TableFile,
    target: TargetColumn,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the posterior; it is overwritten.")] = Path(
        "model.nc"
    ),
    drop: DroppedColumns = None,
    categorical: CategoricalColumns = None,
    missing: MissingText = None,
) -> None:
    """Fit a model in closed form and write the posterior.

    The labels choose a family for each column. bayesnb predict, bayesnb check and nb.load read the posterior.

    The exit status is 0 for success, 2 if the table cannot be used.
    """
    with errors_in_a_line():
        posterior, _, _ = fit_exactly(table, target, drop, categorical, missing)
        posterior.save(out)
        say(f"wrote {out}")
