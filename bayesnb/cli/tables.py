"""Tables on the command line: read from CSV files, split into features and labels, and described by a model."""

import re
import warnings
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from bayesnb.datasets import penguins_path
from bayesnb.families.categorical import Categorical
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.tables.columns import near_matches
from bayesnb.warn import warn

__all__ = [
    "CategoricalColumns",
    "DroppedColumns",
    "MissingText",
    "TableFile",
    "TargetColumn",
    "choose_model",
    "labelled_rows",
    "read_csv",
    "read_for",
]

TableFile = Annotated[str, typer.Argument(metavar="TABLE", help="A CSV file with a header, or: penguins")]
TargetColumn = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column that holds the class.")]
DroppedColumns = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Column to leave out; may be repeated.")
]
CategoricalColumns = Annotated[
    list[str] | None,
    typer.Option("--categorical", metavar="COLUMN", help="Column to read as categories; may be repeated."),
]
MissingText = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="Text that marks a missing cell, such as '?'; may be repeated."),
]

IN_OPTIONS = (
    "On the command line: --categorical NAME for families={'NAME': nb.Categorical()}, --drop NAME for "
    "exclude=['NAME'], --missing MARK for na_values"
)

DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")


def read_csv(table: str, missing: list[str] | None, text: list[str] | None = None) -> pd.DataFrame:
    """The table in a file.

    Parameters
    ----------
    table : str
        Path of the file, or ``"penguins"``.
    missing : list of str, optional
        Marks of missing cells, in addition to those of pandas.
    text : list of str, optional
        Columns to read as text, also where they look like numbers.

    Raises
    ------
    ValueError
        If the file does not exist or cannot be read as CSV.
    """
    path = penguins_path() if table == "penguins" else Path(table)
    if not path.is_file():
        raise ValueError(f"there is no file {table!r}")
    try:
        return pd.read_csv(path, na_values=missing or [], dtype=dict.fromkeys(text or [], str))
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, PermissionError) as error:
        raise ValueError(f"{table!r} cannot be read as CSV: {error}") from None


def labelled_rows(
    table: pd.DataFrame, target: str, drop: list[str] | None = None
) -> tuple[pd.DataFrame, pd.Series, int]:
    """Features and labels of the rows that have a label, and the number of rows that have none.

    Raises
    ------
    ValueError
        If a column does not exist, no row has a label, or no column is left.
    """
    left_out = [target, *(drop or [])]
    require_columns(table, left_out)
    labelled = table[table[target].notna()]
    if labelled.empty:
        raise ValueError(f"no row has a {target!r}: --target names the column that holds the class")
    features = labelled.drop(columns=left_out)
    if not features.columns.size:
        raise ValueError(f"the table has no column besides {left_out}: a model needs at least one feature")
    return features, labelled[target], len(table) - len(labelled)


def require_columns(table: pd.DataFrame, columns: list[str]) -> None:
    """Refuse a table that lacks a column.

    Raises
    ------
    ValueError
    """
    for column in columns:
        if column not in table.columns:
            names = list(table.columns)
            raise ValueError(
                f"column {column!r} is not there{near_matches(column, names)}: the columns are "
                f"{names}{_other_separator(names)}"
            )


def _other_separator(names: list[str]) -> str:
    """A hint for an error, if a header looks like one of a file whose columns no commas separate."""
    found = [mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]]
    return f"; they are separated by {found[0]!r}, write the file with commas" if found else ""


def choose_model(features: pd.DataFrame, labels: pd.Series, categorical: list[str] | None) -> NaiveBayes:
    """A model of a table by the evidence of its columns given the labels; those in `categorical` hold categories.

    Warns
    -----
    UserWarning
        If a column holds dates, which count as categories, or its family probably misleads. The warning gives the
        options of the command line too.
    """
    require_columns(features, categorical or [])
    for column in features.columns.difference(categorical or []):
        _warn_of_dates(features[column])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        families = {column: Categorical() for column in categorical or []}
        model = NaiveBayes.from_frame(features, labels, families=families)
    for warning in caught:
        warn(f"{warning.message}. {IN_OPTIONS}", warning.category)
    return model


def _warn_of_dates(column: pd.Series) -> None:
    values = column.dropna()
    if pd.api.types.is_numeric_dtype(values) or values.empty:
        return
    if all(DATE.fullmatch(str(value).strip()) for value in values):
        warn(
            f"column {column.name!r} holds dates, such as {str(values.iloc[0])!r}, and each date counts as a category: "
            f"leave the column out (--drop {column.name}), or put what matters (the year, the month, the number of "
            "days) into columns of numbers",
            UserWarning,
        )


def read_for(model: BoundModel, table: str, missing: list[str] | None, also: str | None = None) -> pd.DataFrame:
    """The columns of a file that a model uses, and one more if it is named; the others are left out.

    A column whose categories are text is read as text, also where it looks like numbers.

    Raises
    ------
    ValueError
        If the file cannot be read, or lacks a column.
    """
    schema = model.schema
    used = model.used_columns
    text = [
        schema.columns[position]
        for position, categories in schema.categories.items()
        if all(isinstance(category, str) for category in categories)
    ]
    if also is not None and all(isinstance(label, str) for label in schema.classes.tolist()):
        text.append(also)
    frame = read_csv(table, missing, text)
    lacking = [column for column in used if column not in frame.columns]
    if lacking:
        raise ValueError(f"column {lacking[0]!r} is missing in {table!r}: the model uses {used}")
    require_columns(frame, [] if also is None else [also])
    return frame[used if also is None or also in used else [*used, also]]
