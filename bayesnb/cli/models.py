"""Models on the command line: fitted to tables, and read from files."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from bayesnb.api import fit
from bayesnb.cli.console import framed, say
from bayesnb.cli.tables import as_written, choose_model, labelled_rows, read_csv, without_unnamed
from bayesnb.families.histogram import Histogram
from bayesnb.loading import load
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.exact import ExactPosterior

__all__ = ["ModelFile", "fit_exactly", "read_model"]

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file of bayesnb fit or Posterior.save.")]


def fit_exactly(
    table: str,
    target: str,
    drop: list[str] | None,
    categorical: list[str] | None,
    missing: list[str] | None,
    *,
    to_sample: bool = False,
) -> tuple[ExactPosterior, pd.DataFrame, pd.Series]:
    """Choose a model of the table in a file, show it, and fit it in closed form; also the features and the labels.

    If it is a model `to_sample`, columns whose family couples the classes, which NUTS does not take, are histograms.
    """
    rows_of_file = without_unnamed(read_csv(table, missing, [target]), [target, *(drop or []), *(categorical or [])])
    features, labels, unlabelled = labelled_rows(rows_of_file, target, drop)
    labels = as_written(labels)
    model = choose_model(features, labels, categorical)
    if to_sample:
        pairs = model.features.items()
        model = NaiveBayes({name: Histogram() if one.couples_classes else one for name, (one, _) in pairs})
    rows = len(features)
    framed(model, title=f"The model, chosen by {rows} row{'s' * (rows != 1)}")
    if unlabelled:
        left_out = "row has no {} and is" if unlabelled == 1 else "rows have no {} and are"
        say(f"{unlabelled} {left_out.format(labels.name)} left out.")
    cells = int(features.isna().to_numpy().sum())
    if cells:
        skipped = "cell is missing and is" if cells == 1 else "cells are missing and are"
        say(f"{cells} {skipped} skipped, which is exact if cells are missing at random.")
    posterior = fit(model, features, labels)
    assert isinstance(posterior, ExactPosterior)
    say(f"Closed form: log evidence {posterior.log_evidence:.4f}")
    return posterior, features, labels


def read_model(path: Path) -> Posterior:
    """The posterior in a file, whose table had names.

    Raises
    ------
    ValueError, FileNotFoundError
        If there is no such file, or it holds no posterior of a table with names.
    """
    posterior = getattr(found := load(path), "posterior_", found)
    if not isinstance(posterior, Posterior):
        raise ValueError(
            f"{str(path)!r} holds labels from annotators, which predict no rows of a table: load it in Python, "
            "nb.load(path)"
        )
    if not posterior.model.schema.named:
        raise ValueError(
            f"{str(path)!r} holds a model of columns without names, which no header of a CSV file can match: load it "
            "in Python, nb.load(path)"
        )
    return posterior
