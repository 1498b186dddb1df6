"""``bayesnb check``: does a fitted model draw tables like this one?"""

from pathlib import Path
from typing import Annotated

import typer

from bayesnb.checks.predictive.checking import check
from bayesnb.cli.console import errors_in_a_line, refuse_overwriting, say
from bayesnb.cli.models import ModelFile, read_model
from bayesnb.cli.tables import MissingText, TableFile, TargetColumn, labelled_rows, read_for
from bayesnb.printing import as_text, width

__all__ = ["check_command"]


def check_command(
    model: ModelFile,
    table: TableFile,
    target: TargetColumn,
    missing: MissingText = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV file for the table of all statistics.")] = None,
    replicates: Annotated[int, typer.Option(metavar="N", min=2, help="Number of replicated data sets.")] = 500,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")] = 0,
) -> None:
    """Compare a table with tables drawn from a fitted model.

    The exit status is 0 if no statistic is extreme, 1 if one is, 2 if the model or the table cannot be used.
    """
    with errors_in_a_line():
        refuse_overwriting(out, table, model)
        posterior = read_model(model)
        rows = read_for(posterior.model, table, missing, also=target)
        features, labels, _ = labelled_rows(rows, target)
        result = check(posterior, features, labels, num_replicates=replicates, key=seed)
        if out is not None:
            result.table.to_csv(out)
        rest = "more: --out FILE writes all" if out is None else f"more in {out}"
        say(as_text(result.parts(rest), width()))
        if result.note:
            say(result.note)
    raise typer.Exit(1 if result.extreme else 0)
