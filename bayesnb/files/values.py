"""Parameters and fitted attributes of estimators as JSON and arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from bayesnb.families.base import Family
from bayesnb.files.model import read_description, read_family, write_description, write_family
from bayesnb.files.names import read_names, write_names
from bayesnb.files.netcdf import Arrays
from bayesnb.files.schema import read_schema, write_schema
from bayesnb.model.bound import BoundModel
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.params import Params

__all__ = ["read_value", "write_record", "write_value"]


def write_value(name: str, value: Any, arrays: Arrays) -> Any:
    """A parameter or an attribute for a file; its arrays are added to `arrays`.

    Raises
    ------
    TypeError
        If a file cannot hold it.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return {"array": write_names(np.asarray(value), name, arrays), "scalar": isinstance(value, np.generic)}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [write_value(name, each, arrays) for each in value]}
    if isinstance(value, Mapping):
        return {"items": [[write_value(name, each, arrays) for each in pair] for pair in value.items()]}
    if isinstance(value, Family):
        return {"family": write_family(value, arrays)}
    if isinstance(value, BoundModel):
        layout = [list(map(int, columns)) for columns in value.layout]
        schema = write_schema(value.schema)
        return {"model": write_description(value.description, arrays), "schema": schema, "blocks": layout}
    if isinstance(value, NaiveBayes):
        return {"model": write_description(value, arrays)}
    if isinstance(value, Params):
        return {"inference": write_record(value)}
    raise TypeError(
        f"{name}={value!r} is of the type {type(value).__name__}, which a file cannot hold: give numbers, text, lists "
        "or arrays of these, or a model, a family or an inference of bayesnb; or pickle the estimator"
    )


def read_value(text: Any, arrays: Arrays, families: Sequence[type[Family]], read_record: Callable[[Any], Any]) -> Any:
    """The value that `write_value` wrote; `read_record` makes an inference of its record."""
    if not isinstance(text, Mapping):
        return text
    kind, content = next(iter(text.items()))

    def read_all(values: Sequence[Any]) -> list[Any]:
        return [read_value(each, arrays, families, read_record) for each in values]

    if kind == "array":
        return read_names(content, arrays)[()] if text["scalar"] else read_names(content, arrays)
    if kind == "family":
        return read_family(content, arrays, families)
    if kind == "model":
        description = read_description(content, arrays, families)
        if "schema" not in text:
            return description
        return BoundModel.of(description, read_schema(text["schema"]), text["blocks"])
    readers: dict[str, Callable[[Any], Any]] = {
        "dtype": np.dtype,
        "list": read_all,
        "tuple": lambda values: tuple(read_all(values)),
        "items": lambda pairs: dict(map(read_all, pairs)),
        "inference": read_record,
    }
    return readers[kind](content)


def write_record(inference: Any) -> dict[str, Any] | None:
    """The class and the settings of an inference, which `loading` reads."""
    if inference is None:
        return None
    name = type(inference).__name__
    if not type(inference).__module__.startswith("bayesnb."):
        raise TypeError(
            f"the inference {name} is not one of bayesnb's, and load would not find it: make a posterior of its result "
            "with nb.from_samples or nb.from_parameters, and save that"
        )
    return {"name": name} | {field.name: getattr(inference, field.name) for field in fields(inference)}
