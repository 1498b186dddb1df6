"""A fit of annotations in a file: the posterior, and the annotations with the names of items and annotators."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from bayesnb.crowd.read import AnnotationTable
from bayesnb.files.names import read_names, write_names
from bayesnb.files.netcdf import Arrays

__all__ = ["read_annotation_table", "write_annotation_table"]

NAMES = {"items": "item", "annotators": "annotator", "labels": "label", "classes": "class"}
"""What each array of names holds."""


def write_annotation_table(annotations: AnnotationTable, columns: tuple[Any, Any], arrays: Arrays) -> dict[str, Any]:
    """The annotations for a file; their arrays are added to `arrays`.

    The schema follows from the annotations, so that it is not in the file.

    Parameters
    ----------
    annotations : AnnotationTable
    columns : tuple
        Names of the columns of items and of annotators.
    arrays : dict

    Raises
    ------
    TypeError
        If a name is neither text, number, boolean, date nor time.
    """
    counts = annotations.counts
    data = counts.data.astype(np.min_scalar_type(int(counts.data.max(initial=0))))
    arrays["annotations"] = [data, counts.indices, counts.indptr, annotations.known]
    names = {field: write_names(_as_array(getattr(annotations, field)), what, arrays) for field, what in NAMES.items()}
    columns_of_names = write_names(_as_array(list(columns)), "column", arrays)
    return {"schema": None, "annotations": {**names, "columns": columns_of_names}}


def read_annotation_table(text: Mapping[str, Any], arrays: Arrays) -> tuple[AnnotationTable, tuple[Any, Any]]:
    """The annotations and the names of the columns that `write_annotation_table` wrote."""
    data, indices, indptr, known = arrays["annotations"]
    names = {field: read_names(text[field], arrays) for field in NAMES}
    shape = len(names["items"]), len(names["annotators"]) * len(names["labels"])
    counts = scipy.sparse.csr_array((data.astype(np.float64), indices, indptr), shape)
    lists = {field: names[field].tolist() for field in ("annotators", "labels")}
    item, annotator = read_names(text["columns"], arrays).tolist()
    return AnnotationTable(**{**names, **lists}, counts=counts, known=known), (item, annotator)


def _as_array(names: Any) -> np.ndarray:
    """Names as an array that keeps their types."""
    if isinstance(names, np.ndarray):
        return names
    return np.fromiter(names, dtype=object, count=len(names))
