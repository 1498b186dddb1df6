"""``bayesnb fit``: a table in, a posterior in a file out."""

from pathlib import Path
from typing import Annotated

import typer

from bayesnb.cli.console import errors_in_a_line, say
from bayesnb.cli.models import fit_exactly
from bayesnb.cli.tables import (
    CategoricalColumns,
    DroppedColumns,
    MissingText,
    TableFile,
    TargetColumn,
    labelled_rows,
    read_csv,
)

__all__ = ["fit_command"]


def fit_command(
    table: TableFile,
    target: TargetColumn,
    out: Annotated[Path, typer.Option(help="File for the posterior; it is overwritten.")] = Path("model.nc"),
    drop: DroppedColumns = None,
    categorical: CategoricalColumns = None,
    missing: MissingText = None,
) -> None:
    """Fit a naive Bayes model in closed form and write the posterior, for bayesnb predict and nb.load.

    The exit status is 2 if the table cannot be used.
    """
    with errors_in_a_line():
        features, labels, unlabelled = labelled_rows(read_csv(table, missing), target, drop)
        fit_exactly(features, labels, unlabelled, categorical).save(out)
        say(f"wrote {out}")
