"""``bayesnb predict``: a posterior and a table in, classes and their probabilities out."""

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from bayesnb.cli.console import errors_in_a_line
from bayesnb.cli.models import ModelFile, read_model
from bayesnb.cli.tables import MissingText, TableFile, read_for

__all__ = ["predict_command"]


def predict_command(
    model: ModelFile,
    table: TableFile,
    out: Annotated[Path | None, typer.Option(help="CSV file to write, by default the standard output.")] = None,
    missing: MissingText = None,
) -> None:
    """Predict the class of each row of a table, as CSV: the most probable class, and the probability of each.

    Columns that the model does not use are ignored.

    The exit status is 0 for success, 2 if the model or the table cannot be used.
    """
    with errors_in_a_line():
        posterior = read_model(model)
        rows = read_for(posterior.model, table, missing)
        proba = posterior.predict_proba(rows)
        found = pd.DataFrame(proba, columns=[f"proba_{label}" for label in posterior.classes])
        found.insert(0, "class", posterior.classes[proba.argmax(axis=1)])
        found.to_csv(sys.stdout if out is None else out, index=False)
