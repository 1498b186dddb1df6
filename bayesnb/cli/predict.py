"""``bayesnb predict``: a posterior and a table in, classes and their probabilities out."""

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from bayesnb.cli.console import errors_in_a_line, refuse_overwriting
from bayesnb.cli.models import ModelFile, read_model
from bayesnb.cli.tables import MissingText, TableFile, read_for
from bayesnb.validate import proportion

__all__ = ["predict_command"]


def predict_command(
    model: ModelFile,
    table: TableFile,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV file to write, by default the standard output.")
    ] = None,
    missing: MissingText = None,
    digits: Annotated[
        int, typer.Option(metavar="N", min=1, max=17, help="Significant digits of probabilities; 17 are all.")
    ] = 6,
    interval: Annotated[
        float | None,
        typer.Option(metavar="PROB", help="Add a credible interval of each probability, such as of 0.89."),
    ] = None,
) -> None:
    """Predict the class of each row of a table, as CSV.

    The columns are the most probable class and the probability of each class. With --interval, lower and upper ends
    follow. Columns of the table that the model does not use are ignored.

    The exit status is 0 for success, 2 if the model or the table cannot be used.
    """
    with errors_in_a_line():
        refuse_overwriting(out, table, model)
        posterior = read_model(model)
        rows = read_for(posterior.model, table, missing)
        proba = posterior.predict_proba(rows)
        found = pd.DataFrame(proba, columns=[f"proba_{label}" for label in posterior.classes])
        found.insert(0, "class", posterior.classes[proba.argmax(axis=1)])
        if interval is not None:
            ends = posterior.proba_interval(rows, prob=proportion("--interval", interval))
            for c, label in enumerate(posterior.classes):
                found[f"lower_{label}"], found[f"upper_{label}"] = ends[:, c].T
        found.to_csv(sys.stdout if out is None else out, index=False, float_format=f"%.{digits}g")
