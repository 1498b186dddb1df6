"""Files that are damaged, and what files hold."""

import datetime
import hashlib
import json
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from savers import ROWS, damaged, posterior

import bayesnb as nb
from bayesnb.estimators import load

INFINITY = float("inf")


@pytest.mark.parametrize("step", [80, pytest.param(1, marks=pytest.mark.slow)])
def test_every_damage_is_refused_and_no_load_hangs(step: int, saved: Path) -> None:
    found = damaged(saved.parent, step)
    windows = -(-saved.stat().st_size // 64)
    assert sum(found.values()) == 2 * -(-windows // step)
    # Inverted bytes always differ.
    assert found["refused"] >= found["unchanged"]


def test_a_file_that_is_cut_or_grows_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    # The seal is the last 81 bytes; without it nothing says that the rest is whole.
    for length in (0, 4, 40, 2000, len(whole) // 2, len(whole) - 82, len(whole) - 81, len(whole) - 80, len(whole) - 1):
        saved.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut short|changed after it was saved"):
            nb.load(saved)
    for more in (whole + b" ", whole + bytes(4096)):
        saved.write_bytes(more)
        with pytest.raises(ValueError, match="changed after it was saved"):
            nb.load(saved)
    saved.write_bytes(whole)
    assert nb.load(saved).log_joint(ROWS).tobytes() == posterior().log_joint(ROWS).tobytes()


def test_hdf5_never_sees_what_was_changed(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = bytearray(saved.read_bytes())
    place = whole.index(b'"Schema"')
    whole[place] ^= 1
    saved.write_bytes(whole)
    monkeypatch.setattr(h5py, "File", None)
    with pytest.raises(ValueError, match=r"posterior\.nc' was changed after it was saved.*fit and save again"):
        nb.load(saved)


def in_file(path: Path, change: Callable[[Any], None]) -> None:
    """h5py cuts the seal off when it writes."""
    with h5py.File(path, "r+") as file:
        change(file)


def sealed(path: Path, data: bytes | None = None) -> None:
    """Put the checksum after the content of a file, as somebody who forges it would."""
    data = path.read_bytes() if data is None else data
    path.write_bytes(data + b"\nbayesnb sha256 " + hashlib.sha256(data).hexdigest().encode() + b"\n")


def other_netcdf(path: Path, **attributes: Any) -> None:
    xr.Dataset({"a": ("x", [1.0])}, attrs=attributes).to_netcdf(path, engine="h5netcdf")


def other_sealed(path: Path, **attributes: Any) -> None:
    other_netcdf(path, **attributes)
    sealed(path)


def of_format(number):
    return lambda path: (in_file(path, lambda file: file.attrs.update(bayesnb_format=number)), sealed(path))


def forged(text: Any) -> Callable[[Path], None]:
    """A sealed file whose description is replaced."""
    text = text if isinstance(text, str) else json.dumps(text)
    return lambda path: (in_file(path, lambda file: file.attrs.update(bayesnb=text)), sealed(path))


def heap_without_end(path: Path) -> None:
    """A file without a checksum whose last entry in HDF5's heap is so long that HDF5 reads in a circle."""
    content = path.read_bytes()
    place = 40 if content[8:9] < b"\x02" else 28
    image = bytearray(content[: int.from_bytes(content[place : place + 8], "little")])
    at = image.find(b"GCOL") + 16
    while int.from_bytes(image[at : at + 2], "little"):
        at += 16 + -(-int.from_bytes(image[at + 8 : at + 16], "little") // 8) * 8
    image[at : at + 2], image[at + 8 : at + 16] = (7).to_bytes(2, "little"), (2**64 - 16).to_bytes(8, "little")
    path.write_bytes(image)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def zeros(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


NO_POSTERIORS = {
    "nothing": (lambda path: path.unlink(), FileNotFoundError, "there is no file"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), IsADirectoryError, "is a folder: give the path of a file"),
    "text": (lambda path: path.write_text("hello"), ValueError, "cannot be read as netCDF"),
    "other netCDF": (other_netcdf, ValueError, "it is not a posterior that save wrote"),
    "no description": (lambda path: other_sealed(path, bayesnb_format=4), ValueError, "not a posterior"),
    "no format": (lambda path: other_sealed(path, bayesnb="{}"), ValueError, "not a posterior"),
    "a format that is no number": (of_format("four"), ValueError, "not a posterior"),
    "draws": (lambda path: other_netcdf(path, modeling_interface="bayesnb"), ValueError, "draws from to_datatree, not"),
    "an older format": (of_format(3), ValueError, "has format 3, .* reads 4: fit and save again"),
    "a newer format": (of_format(99), ValueError, "has format 99, this version .* reads 4: upgrade bayesnb"),
    "no seal": (
        lambda path: in_file(path, lambda file: file["arrays/v0"].write_direct(file["arrays/v0"][...] + 1)),
        ValueError,
        "changed after it was saved: it has no checksum",
    ),
    "a heap without an end": (heap_without_end, ValueError, "it has no checksum"),
}
if os.name == "posix":
    NO_POSTERIORS |= {what.__name__: (what, ValueError, "is a device or a pipe") for what in (pipe, zeros)}
FORGED = {
    "None": None,
    "a number": 3,
    "a list": [],
    "no estimator": {"dict": []},
    "an estimator that is not fitted": {"dict": [["estimator", "GaussianNB"]]},
    "a function as estimator": {"dict": [["estimator", "mutual_information_score"], ["posterior_", None]]},
    "an estimator without a name": {"dict": [["estimator", []]]},
    "a family": {"record": ["Gaussian"]},
    "a kind that there is not": {"what": []},
    "two kinds": {"tuple": [], "range": []},
    "a record that comes later": {"again": 7},
    "an array that there is not": {"array": ["<f8", [1], 99]},
    "an argument that there is not": {"record": ["Gaussian", ["what", 1]]},
    "a shape that does not fit": {"array": ["<f8", [10**6], 0]},
    "no JSON": "{",
    "deep": "[" * 10**5,
    "deep, and closed": "[" * 2500 + "]" * 2500,
}
NO_POSTERIORS |= {
    name: (forged(text), ValueError, r"posterior\.nc' (is netCDF, but not a posterior|holds)")
    for name, text in FORGED.items()
}


@pytest.mark.parametrize("what", NO_POSTERIORS)
def test_what_is_no_posterior_is_refused(what: str, saved: Path) -> None:
    make, error, message = NO_POSTERIORS[what]
    make(saved)
    with pytest.raises(error, match=message):
        nb.load(saved)


def test_other_programs_read_the_file(saved: Path) -> None:
    with xr.open_datatree(saved) as tree:
        assert json.loads(tree.attrs["bayesnb"])["record"][0] == "ExactPosterior"
        assert any(np.array_equal(array, [2.0, 2.0]) for array in tree["arrays"].data_vars.values())


def test_files_that_h5netcdf_wrote_are_read(saved: Path) -> None:
    """As those of versions up to 0.2 are."""
    with h5py.File(saved) as file:
        attributes, arrays = dict(file.attrs), {name: file["arrays"][name][...] for name in file["arrays"]}
    with h5netcdf.File(saved, "w") as file:
        file.attrs.update(attributes)
        group = file.create_group("arrays")
        for name, array in arrays.items():
            if "_" not in name:
                axes = [f"{name}_{axis}" for axis in range(array.ndim)]
                group.dimensions.update(dict(zip(axes, array.shape, strict=True)))
                group.create_variable(name, axes, array.dtype, data=array)
    sealed(saved)
    assert nb.load(saved).log_joint(ROWS).tobytes() == posterior().log_joint(ROWS).tobytes()


def of_class(labels: Any) -> nb.results.Posterior:
    return nb.fit(nb.Gaussian(), [[0.0], [1.0], [2.0], [4.0]], labels)


def of_category(labels: Any) -> nb.results.Posterior:
    return nb.fit(nb.NaiveBayes({"x": nb.Categorical()}), pd.DataFrame({"x": labels}), ["a", "a", "b", "b"])


def objects(*values: Any) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


DAY, NEXT = datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)
DAYS = np.array([DAY, NEXT, DAY, NEXT], dtype="datetime64[ns]")

LABELS = {
    "infinite": [INFINITY, -INFINITY, 1.5, INFINITY],
    "zeros": [-0.0, 1.0, -0.0, 1.0],
    "float32": np.array([0.1, 0.2, 0.1, 0.2], np.float32),
    "int8": np.array([1, -2, 1, -2], np.int8),
    "large": np.array([2**63 + 1, 2, 1, 2], np.uint64),
    "booleans": [True, False, True, False],
    "mixed": np.array(["a", 1, 2.5, True], dtype=object),
    "NumPy's": [np.str_("a"), np.str_("b"), np.str_("a"), np.str_("b")],
    "text": ["", "ä", "a\0b", "Infinity"],
    "dates": objects(DAY, NEXT, DAY, NEXT),
    "stamps": list(pd.to_datetime(DAYS)),
    "dates of NumPy": DAYS,
    "dates of NumPy as objects": objects(*DAYS),
    "tuples": objects((1, "a"), (2, DAY), (1, "a"), (2, DAY)),
}


def loaded_from(made: nb.results.Posterior, path: Path) -> nb.results.Posterior:
    made.save(path)
    return nb.load(path)


def typed(labels: Any) -> list[Any]:
    return [(type(label), label) for label in labels]


@pytest.mark.filterwarnings("ignore:y holds . numbers with fractions")
@pytest.mark.parametrize("name", LABELS)
def test_labels_are_kept(name: str, tmp_path: Path) -> None:
    labels = LABELS[name]
    made = of_class(labels)
    loaded = loaded_from(made, tmp_path / "classes.nc")
    assert loaded.classes.dtype == made.classes.dtype
    assert typed(loaded.classes) == typed(made.classes)
    assert loaded.log_joint([[1.0]]).tobytes() == made.log_joint([[1.0]]).tobytes()
    made, X = of_category(labels), pd.DataFrame({"x": labels})
    loaded = loaded_from(made, tmp_path / "categories.nc")
    assert typed(loaded.model.schema.categories[0]) == typed(made.model.schema.categories[0])
    assert loaded.log_joint(X).tobytes() == made.log_joint(X).tobytes()
    assert loaded.update(X, ["b"] * 4).log_joint(X).tobytes() == made.update(X, ["b"] * 4).log_joint(X).tobytes()


COLUMNS = pd.MultiIndex.from_tuples([("bill", 1), ("bill", 2), ("wing", 1)])
NUMBERS = nb.NaiveBayes(
    {
        "kind": nb.Categorical(np.float32(0.5), categories=np.array([1, 2, 3])),
        "sizes": (nb.Gaussian(), np.array([1])),
    },
    class_probs={np.int64(7): 0.25, np.int64(8): 0.75},
)


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (nb.Gaussian(), pd.DataFrame(np.arange(12.0).reshape(4, 3) ** 1.5, columns=COLUMNS), list("abab")),
        (NUMBERS, pd.DataFrame({"kind": [1, 2, 1, 2], "size": [0.0, 1.0, 2.0, 4.0]}), [7, 8, 7, 8]),
    ],
    ids=["tuples as columns", "numbers of NumPy in a model"],
)
def test_models_are_kept(model: Any, X: Any, y: list[Any], tmp_path: Path) -> None:
    made = nb.fit(model, X, y)
    loaded = loaded_from(made, tmp_path / "posterior.nc")
    assert repr(loaded) == repr(made)
    assert loaded.model.schema.columns == made.model.schema.columns == tuple(X.columns)
    assert loaded.log_joint(X).tobytes() == made.log_joint(X).tobytes()


class Mine(nb.Exact):
    """An inference of one's own."""


HELD = "which a file cannot hold: give text, numbers, booleans, dates, times"
DECIMALS = [Decimal("0.1"), Decimal(1), Decimal("0.1"), Decimal(1)]
ODD = pd.DataFrame(ROWS, columns=[("bill", 1j), "b"])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: of_class(DECIMALS), rf"Schema.classes is .* of the type Decimal, {HELD}"),
        (lambda: of_category(DECIMALS), rf"Schema.categories\[0\] is .* of the type Decimal, {HELD}"),
        (lambda: of_class([b"a", b"b", b"a", b"b"]), "Schema.classes is .* of the type bytes"),
        (lambda: of_category([1j, 2j, 1j, 2j]), r"Schema.categories\[0\] is .* of the type complex"),
        (lambda: of_class(objects((1, DAY), (2, 1j), (1, DAY), (2, 1j))), "Schema.classes is .* of the type complex"),
        (lambda: nb.fit(nb.Gaussian(), ODD, list("abab")), "Schema.columns is 1j of the type complex, which a file"),
        (
            lambda: nb.fit(nb.Gaussian(), ROWS, list("abab"), Mine()),
            r"ExactPosterior.inference is .*Mine\(\) of the type",
        ),
    ],
)
def test_what_a_file_cannot_hold_is_refused_by_name(make: Any, told: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=told):
        make().save(tmp_path / "posterior.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_file_names_no_other_class(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even one of the package, unless `load` lists it."""
    records = {module: names for module, names in load.RECORDS.items() if "ExactPosterior" not in names}
    monkeypatch.setattr(load, "RECORDS", records)
    with pytest.raises(ValueError, match=r"names ExactPosterior, which is not one of bayesnb's"):
        nb.load(saved)


@pytest.mark.parametrize(("libver", "version"), [("earliest", 0), ("v108", 2), ("v110", 3)])
def test_a_seal_follows_the_length_that_any_superblock_states(tmp_path, libver, version):
    path = tmp_path / "any.nc"
    with h5py.File(path, "w", libver=(libver, "v110")) as file:
        file["x"] = np.arange(10.0)
    data = path.read_bytes()
    assert data[8] == version
    sealed(path, data)
    with pytest.raises(ValueError, match="is netCDF, but not a posterior"):
        nb.load(path)
    path.write_bytes(path.read_bytes().replace(data[-40:], data[-40:][::-1]))
    with pytest.raises(ValueError, match="was changed after it was saved"):
        nb.load(path)
