"""Tables of the command line: read from CSV files, split into features and labels, and described by a model."""

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.cli.parquet_tables import is_parquet
from bayesnb.core.checking import near_matches, warn
from bayesnb.datasets import penguins_path
from bayesnb.families.categories import Categorical
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import NaiveBayes

IN_OPTIONS = (
    "On the command line: --categorical NAME for families={'NAME': nb.Categorical()}, --drop NAME for "
    "exclude=['NAME'], --missing MARK for na_values"
)

UNNAMED = re.compile(r"Unnamed: \d+")
"""What pandas calls a column whose header is empty."""

NO_CELL = "#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN <NA> N/A NA NULL NaN None n/a nan null"
MISSING = ["", "#N/A N/A", *NO_CELL.split()]
"""Cells that pandas takes as missing. Classes may have these names, except the first."""


def read_csv(
    table: str,
    missing: list[str] | None,
    text: list[str] | None = None,
    label: str | None = None,
    classes: Any = None,
    *,
    sep: str = ",",
    decimal: str | None = None,
) -> pd.DataFrame:
    """The table in a file.

    Parameters
    ----------
    table : str
        Path of the file, ``"-"`` for the standard input, or ``"penguins"``.
    missing : list of str, optional
        Marks of missing cells, in addition to those of pandas.
    text : list of str, optional
        Columns to read as text, even if they look like numbers.
    label : str, optional
        The column of labels, which is also in `text`. A word such as NA may be a class there.
    classes : sequence, optional
        The classes, if they are known.
    sep, decimal : str, optional
        The separator of cells, and the decimal sign.

    Raises
    ------
    ValueError
        If the file does not exist or cannot be read as CSV, its header has a name twice, or its rows have more cells
        than the header and neither names nor commas at their ends.
    """
    path = penguins_path() if table == "penguins" else Path(table)
    if is_parquet(table):
        raise ValueError(f"{table!r} is Parquet, which fit and predict take: give this command a CSV file")
    if table != "-" and not path.is_file():
        raise ValueError(f"there is no file {table!r}")
    content, sep = sys.stdin.read() if table == "-" else "", sep.replace("\\t", "\t")
    if len(sep) != 1 or (decimal not in (None, ".", ",")):
        raise ValueError(f"--sep is {sep!r}, --decimal {decimal!r}: give one character, and '.' or ','")

    def read(**options: Any) -> pd.DataFrame:
        source: Any = StringIO(content) if table == "-" else path
        # In pieces, the default, a column may be numbers in one piece and text in the next.
        numbers = {"sep": sep, "decimal": decimal or "."}
        return pd.read_csv(source, low_memory=False, keep_default_na=False, **numbers, **options)

    try:
        header = read(header=None, nrows=1, dtype=str).iloc[0]
        first = read(nrows=1000, dtype=str)
        marks = {name: [*(MISSING[:1] if name == label else MISSING), *(missing or [])] for name in first.columns}
        used = range(first.shape[1]) if _end_in_commas(first) else None
        frame = read(na_values=marks, dtype=dict.fromkeys(text or [], str), usecols=used)
    except Exception as error:  # each kind of archive has errors of its own
        raise ValueError(f"{table!r} cannot be read as CSV: {error}") from None
    for name in header[header.duplicated() & (header != "")]:
        raise ValueError(f"{table!r} has the column {name!r} twice: give each column a name of its own")
    return frame.assign(**{label: _labels(frame[label], classes)}) if label in frame and label is not None else frame


def _end_in_commas(rows: pd.DataFrame) -> bool:
    """Whether the rows, whose cells are text, have more cells than the header because they end in commas.

    pandas takes the cells in front of the header's columns as names of rows, as R writes them: texts or whole numbers,
    all different.

    Raises
    ------
    ValueError
        If they can be neither; or either, where they are texts or 1, 2, 3 and so on before an empty last column.
    """
    if rows.empty or isinstance(names := rows.index, pd.RangeIndex):
        return False
    commas = not rows.iloc[:, -1].str.strip().any()
    unique = names.nlevels == 1 and names.is_unique
    numbers = np.asarray(pd.to_numeric(names, errors="coerce") if unique else [0.5])
    usual = np.isnan(numbers).any() or np.array_equal(numbers, np.arange(1, len(rows) + 1))
    if usual if commas else (numbers % 1 > 0).any():
        raise ValueError(
            "its rows have more cells than the header: give each column a name, cut commas at the ends, or say what "
            "separates the cells (--sep ';' --decimal ,)"
        )
    return commas


def _labels(labels: pd.Series, classes: Sequence[Any] | None) -> pd.Series:
    """Labels that were read as text, without words such as NA, unless they name a class.

    Where classes are not known, they name one if the other labels are text.

    Warns
    -----
    UserWarning
        If they then do.
    """
    words = labels.isin({*MISSING}.difference(map(str, classes or ())))
    others = labels[~words].dropna()
    if classes is None and words.any() and labels_as_written(others) is others:
        word = labels[words].iloc[0]
        warn(f"{word!r} is a class of {labels.name!r}; if it marks a missing label, add --missing {word}", UserWarning)
        return labels
    return labels.mask(words)


def labels_as_written(labels: pd.Series) -> pd.Series:
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


def rows_with_label(table: pd.DataFrame, target: str, drop: Sequence[str] = ()) -> tuple[pd.DataFrame, pd.Series]:
    """Features and labels of the rows that have a label.

    Raises
    ------
    ValueError
        If a column does not exist, no row has a label, or no column is left.
    """
    left_out = [target, *drop]
    _require_table_columns(table, left_out)
    labelled = table[table[target].notna()]
    if labelled.empty:
        raise ValueError(f"no row has a {target!r}: --target names the column that holds the class")
    features = labelled.drop(columns=left_out)
    if not features.columns.size:
        raise ValueError(f"the table has no column besides {left_out}: a model needs at least one feature")
    return features, labelled[target]


def _require_table_columns(table: pd.DataFrame, columns: list[str]) -> None:
    """Raise ValueError for a table that lacks a column."""
    for column in columns:
        if column not in table.columns:
            names = list(table.columns)
            marks = [mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]]
            hint = f"; they are separated by {marks[0]!r}, give --sep {marks[0]!r}" if marks else ""
            raise ValueError(
                f"column {column!r} is not there{near_matches(column, names)}: the columns are {names}{hint}"
            )


def choose_model(
    features: pd.DataFrame, labels: pd.Series, categorical: list[str], decimal: Any, exclude: list[str]
) -> NaiveBayes:
    """A model of a table by the evidence of its columns given the labels; those in `categorical` hold categories.

    Warns
    -----
    UserWarning
        If the family of a column probably misleads. The warning gives the options of the command line too.
    """
    _require_table_columns(features, categorical)
    with warnings.catch_warnings(record=True, action="always") as caught:
        families = {column: Categorical() for column in categorical}
        model = NaiveBayes.from_frame(features, labels, families=families, decimal=decimal, exclude=exclude)
    for warning in caught:
        warn(f"{warning.message}. {IN_OPTIONS}", warning.category)
    return model


def read_used_columns(
    model: BoundModel, table: str, missing: list[str] | None, also: Any = None, **how: Any
) -> pd.DataFrame:
    """The columns of a file that a model uses, and one more if it is named; the others are left out.

    Categories and classes are read with the types of the fit, whatever the other cells of the column are. `sep` and
    `decimal` are those of `read_csv`.

    Raises
    ------
    ValueError
        If the file cannot be read, or lacks a column.
    """
    schema = model.schema
    used = model.used_columns
    places = [position for position in schema.categories if position not in schema.edges]
    values: dict[Any, Any] = {name: schema.categories[p] for p, name in zip(places, schema.names(places), strict=True)}
    if also is not None:
        values[also] = schema.classes.tolist()
    # The model knows the written form of the numbers in these columns.
    decimal, forms = how.get("decimal"), model.description.number_forms
    texts = [*values, *(() if decimal else forms)]
    frame = read_csv(table, missing, texts, also, values.get(also), **how)
    if lacking := [column for column in used if column not in frame.columns]:
        raise ValueError(f"column {lacking[0]!r} is missing in {table!r}: the model uses {used}")
    _require_table_columns(frame, [] if also is None else [also])
    frame = frame[used if also is None or also in used else [*used, also]]
    typed = [name for name in frame.columns if name not in forms]
    return frame.assign(**{name: _with_types(frame[name], values.get(name, ()), decimal or ".") for name in typed})


def _with_types(column: pd.Series, values: Iterable[Any], decimal: str) -> pd.Series:
    """A column of text with known values in their own types; others become numbers, unless the values are text.

    A cell that is neither stays text, so that only this cell is an error or an unseen category.
    """
    known: dict[str, Any] = {str(value).replace(".", decimal): value for value in values}
    # pandas reads these as booleans where it chooses the type, as it did at the fit.
    known |= {form(text): v for text, v in known.items() if isinstance(v, bool) for form in (str.upper, str.lower)}
    if pd.api.types.is_numeric_dtype(column) or (known and all(isinstance(value, str) for value in values)):
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    return column.map(known).where(column.isin(known), numbers.astype(object).where(numbers.notna(), column))
