"""``bayesnb check``: does a fitted model draw tables like this one?"""

from typing import Annotated

import typer

from bayesnb.checks.predictive.checking import check
from bayesnb.cli.console import errors_in_a_line, say
from bayesnb.cli.models import ModelFile, read_model
from bayesnb.cli.tables import MissingText, TableFile, TargetColumn, labelled_rows, read_for

__all__ = ["check_command"]


def check_command(
    model: ModelFile,
    table: TableFile,
    target: TargetColumn,
    missing: MissingText = None,
    replicates: Annotated[int, typer.Option(min=2, help="Number of replicated data sets.")] = 500,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
) -> None:
    """Compare a table with tables drawn from the model.

    The exit status is 0 if no statistic is extreme, 1 if one is, 2 if the model or the table cannot be used.
    """
    with errors_in_a_line():
        posterior = read_model(model)
        rows = read_for(posterior.model, table, missing, also=target)
        features, labels, _ = labelled_rows(rows, target)
        result = check(posterior, features, labels, num_replicates=replicates, key=seed)
        say(result)
    raise typer.Exit(1 if result.extreme else 0)
