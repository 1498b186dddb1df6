"""The file itself: JSON text and numbered arrays in netCDF, with a checksum."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

__all__ = ["Arrays", "read_file", "require_backend", "write_file"]

FORMAT = 2
"""Version of the file's layout; a reader refuses a newer one. Format 1 has sums of -log x! for Poisson columns."""

Arrays = dict[str, list[np.ndarray]]
"""Arrays by group, in their order."""


def write_file(path: Path, description: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a description, which JSON can hold, and arrays."""
    text = json.dumps(description, allow_nan=False)
    groups = {name: _as_dataset(values) for name, values in arrays.items()}
    tree = xr.DataTree.from_dict(groups)
    tree.attrs |= {"bayesnb_format": FORMAT, "bayesnb": text, "sha256": _digest(text, groups)}
    tree.to_netcdf(path, engine="h5netcdf")


def read_file(path: Path) -> tuple[dict[str, Any], Arrays]:
    """The description and the arrays that `write_file` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not one of `write_file`'s, is cut short or changed, or was written by a newer version.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        with xr.open_datatree(path, engine="h5netcdf") as opened:
            tree = opened.load()
    except Exception as error:
        raise ValueError(
            f"{str(path)!r} cannot be read as netCDF: it is cut short, or no file of Posterior.save"
        ) from error
    if tree.attrs.get("modeling_interface") == "bayesnb":
        raise ValueError(
            f"{str(path)!r} holds draws from to_datatree, not a posterior from save: read it with arviz.from_netcdf"
        )
    if "bayesnb_format" not in tree.attrs or "bayesnb" not in tree.attrs:
        raise ValueError(f"{str(path)!r} is netCDF, but not a posterior that Posterior.save wrote")
    if int(tree.attrs["bayesnb_format"]) > FORMAT:
        raise ValueError(
            f"{str(path)!r} has format {int(tree.attrs['bayesnb_format'])}, this version of bayesnb reads up to "
            f"{FORMAT}: "
            "upgrade bayesnb"
        )
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    text = tree.attrs["bayesnb"]
    if _digest(text, groups) != tree.attrs.get("sha256"):
        raise ValueError(f"{str(path)!r} was changed after it was saved: its checksum does not match")
    arrays = {name: [dataset[f"v{i}"].values for i in range(len(dataset))] for name, dataset in groups.items()}
    return json.loads(text), arrays


def _as_dataset(values: Sequence[np.ndarray]) -> xr.Dataset:
    variables = {}
    for i, value in enumerate(values):
        array = np.asarray(value)
        array = array.astype(np.int8) if array.dtype == bool else array
        variables[f"v{i}"] = ([f"v{i}_{axis}" for axis in range(array.ndim)], np.asarray(array, order="C"))
    return xr.Dataset(variables)


def _digest(text: str, groups: Mapping[str, xr.Dataset]) -> str:
    digest = hashlib.sha256(text.encode())
    for group in sorted(groups):
        for name in sorted(map(str, groups[group])):
            array = groups[group][name].values
            digest.update(f"{group}/{name}{array.shape}{array.dtype.str}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def require_backend(verb: str) -> None:
    """Raise an error if the libraries that write netCDF are not installed."""
    try:
        import h5netcdf
        import h5py  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{verb} needs h5netcdf and h5py: pip install 'bayesnb[io]'") from error
    del h5netcdf
