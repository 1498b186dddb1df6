"""``bayesnb fit``: a table in, a posterior in a file out."""

from pathlib import Path
from typing import Annotated

import typer

from bayesnb.cli.console import errors_in_a_line, refuse_overwriting, say
from bayesnb.cli.models import fit_exactly
from bayesnb.cli.tables import CategoricalColumns, DroppedColumns, MissingText, TableFile, TargetColumn
from bayesnb.posterior.weighted import WeightedPosterior
from bayesnb.selection.weights import weighted_or_plain

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
    """Fit a model in closed form, learn a weight for each feature, and write the posterior.

    The labels choose a family for each column. No weights are learned from one class or for more than 2,000 features.
    bayesnb predict, bayesnb check and nb.load read the posterior.

    The exit status is 0 for success, 2 if the table cannot be used.
    """
    with errors_in_a_line():
        refuse_overwriting(out, table)
        posterior = weighted_or_plain(*fit_exactly(table, target, drop, categorical, missing))
        if isinstance(posterior, WeightedPosterior):
            say("A weight for each feature, learned from the same rows (naive Bayes has weights of one):")
            say(posterior.weights.to_string(float_format="%.2f"))
        posterior.save(out)
        say(f"wrote {out}")
