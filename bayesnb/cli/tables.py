"""Tables on the command line: read from CSV files, split into features and labels, and described by a model."""

import re
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

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
    "as_written",
    "choose_model",
    "labelled_rows",
    "read_csv",
    "read_for",
    "without_unnamed",
]

TableFile = Annotated[
    str, typer.Argument(metavar="TABLE", help="A CSV file with a header, - for the standard input, or: penguins")
]
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

UNNAMED = re.compile(r"Unnamed: \d+")
"""What pandas calls a column whose header is empty."""

DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T].*)?")


def read_csv(table: str, missing: list[str] | None, text: list[str] | None = None) -> pd.DataFrame:
    """The table in a file.

    Parameters
    ----------
    table : str
        Path of the file, ``"-"`` for the standard input, or ``"penguins"``.
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
    if table != "-" and not path.is_file():
        raise ValueError(f"there is no file {table!r}")
    types = dict.fromkeys(text or [], str)
    try:
        # In pieces, the default, a column may be numbers in one piece and text in the next.
        source: Any = sys.stdin if table == "-" else path
        return pd.read_csv(source, na_values=missing or [], dtype=types, low_memory=False)
    except Exception as error:  # each kind of archive has errors of its own
        raise ValueError(f"{table!r} cannot be read as CSV: {error}") from None


def as_written(labels: pd.Series) -> pd.Series:
    """Labels that were read as text, as the numbers or booleans that they are; 01 and 1.50 are no such numbers."""
    numbers = pd.to_numeric(labels, errors="coerce")
    if (numbers.astype(str) == labels).all():
        return numbers
    return labels == "True" if labels.isin(["True", "False"]).all() else labels


def without_unnamed(table: pd.DataFrame, asked_for: Iterable[str]) -> pd.DataFrame:
    """The table without columns that have no name in the header, such as an index that pandas wrote.

    Warns
    -----
    UserWarning
        If there are any.
    """
    unnamed = [name for name in table.columns if UNNAMED.fullmatch(str(name)) and name not in asked_for]
    if unnamed:
        warn(
            f"column {unnamed[0]!r} has no name in the header, as a number of the rows has, and is left out: give it a "
            "name to make it a feature",
            UserWarning,
        )
    return table.drop(columns=unnamed)


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

    Categories and classes are read with the types of the fit, whatever the other cells of the column are.

    Raises
    ------
    ValueError
        If the file cannot be read, or lacks a column.
    """
    schema = model.schema
    used = model.used_columns
    values: dict[Any, Any] = {schema.columns[position]: known for position, known in schema.categories.items()}
    if also is not None:
        values[also] = schema.classes.tolist()
    frame = read_csv(table, missing, list(values))
    lacking = [column for column in used if column not in frame.columns]
    if lacking:
        raise ValueError(f"column {lacking[0]!r} is missing in {table!r}: the model uses {used}")
    require_columns(frame, [] if also is None else [also])
    frame = frame[used if also is None or also in used else [*used, also]]
    return frame.assign(**{name: _with_types(frame[name], values.get(name, ())) for name in frame.columns})


def _with_types(column: pd.Series, values: Iterable[Any]) -> pd.Series:
    """A column of text with these values in their own types; of the rest what is a number, unless the values are text.

    A cell that is neither stays text: it alone is an error, or a category that was not seen.
    """
    known: Mapping[str, Any] = {str(value): value for value in values}
    if pd.api.types.is_numeric_dtype(column) or (known and all(isinstance(value, str) for value in values)):
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    return column.map(known).where(column.isin(known), numbers.astype(object).where(numbers.notna(), column))
