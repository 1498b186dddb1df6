"""Fits of annotations in files, with names of every kind that tables hold."""

from datetime import UTC, date, datetime, time

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesnb as nb

COLUMNS = ["photo", "person", "animal"]
NAMES = dict(zip(["item", "annotator", "label"], COLUMNS, strict=True))
ROWS = [(i, j, (i + (j == 2 and i % 3 == 0)) % 2) for i in range(6) for j in range(3)] + [(0, 0, 0)]

DAYS = [date(2020, 1, 1 + i) for i in range(6)]
KINDS = {
    "text": (["p", "q", "", " s ", "t\n", "u"], ["Ann", "Bob", "Çem"], ["cat", "dog"]),
    "numbers": (list(range(6)), [7, -1, 3], [0, 1]),
    "real": ([0.5 * i for i in range(6)], [0.1, 0.2, 1e300], [0.0, 1.0]),
    "booleans": (list(range(6)), list("abc"), [False, True]),
    "dates": (DAYS, DAYS[:3], DAYS[:2]),
    "stamps": (list(pd.date_range("2020-01-01", periods=6, freq="h", tz="UTC")), list("abc"), ["x", "y"]),
    "times": ([time(i) for i in range(6)], [datetime(2020, 1, 1 + i, tzinfo=UTC) for i in range(3)], ["x", "y"]),
    "tuples": ([("p", i) for i in range(6)], [("Ann", 1), ("Bob", 2), "Cem"], ["x", "y"]),
    "mixed": (["p", 1, 2.5, True, DAYS[0], "q"], ["Ann", 1, DAYS[1]], ["x", 2]),
}


def table(items, annotators, labels):
    columns = zip(*[(items[i], annotators[j], labels[label]) for i, j, label in ROWS], strict=True)
    return pd.DataFrame({name: pd.Series(values) for name, values in zip(COLUMNS, columns, strict=True)})


def saved(crowd, tmp_path):
    crowd.save(tmp_path / "crowd.nc")
    return nb.load(tmp_path / "crowd.nc")


def same(one, other):
    """Whether two fits are the same, bit for bit."""
    pd.testing.assert_frame_equal(one.items, other.items, check_exact=True)
    pd.testing.assert_frame_equal(one.proba, other.proba, check_exact=True)
    pd.testing.assert_frame_equal(one.annotators, other.annotators, check_exact=True)
    pd.testing.assert_frame_equal(one.next_item(again=True), other.next_item(again=True), check_exact=True)
    xr.testing.assert_identical(one.confusion, other.confusion)
    assert one.log_evidence_bound == other.log_evidence_bound
    assert repr(one) == repr(other)
    assert one.posterior.inference == other.posterior.inference
    first, second = one.annotations, other.annotations
    assert first.annotators == second.annotators
    assert first.items.dtype == second.items.dtype
    for name in ("annotators", "labels", "items"):
        assert [*map(type, list(getattr(first, name)))] == [*map(type, list(getattr(second, name)))]
    np.testing.assert_array_equal(first.known, second.known)


FITS = {kind: (kind, nb.EM()) for kind in KINDS}
FITS |= {type(inference).__name__: ("text", inference) for inference in (nb.Gibbs(5, 20, 2), nb.Exact(), nb.MAP())}


@pytest.mark.filterwarnings("ignore:column 'animal' has text and other values", "ignore::bayesnb.ConvergenceWarning")
@pytest.mark.parametrize("name", FITS)
def test_a_fit_loads_as_it_was(name, tmp_path):
    kind, inference = FITS[name]
    items, annotators, labels = KINDS[kind]
    known = {items[i]: labels[i % 2] for i in (range(6) if name == "Exact" else [2])}
    crowd = nb.fit_annotations(table(items, annotators, labels), **NAMES, known=known, inference=inference)
    again = saved(crowd, tmp_path)
    same(crowd, again)
    assert type(again.posterior) is type(crowd.posterior)
    if name in ("Gibbs", "Exact"):
        np.testing.assert_array_equal(again.proba_interval(), crowd.proba_interval())


def test_columns_are_named_as_they_were(tmp_path):
    rows = table(*KINDS["text"]).set_axis(pd.Index([1, 5, "animal"], dtype=object), axis=1)
    again = saved(nb.fit_annotations(rows, item=1, annotator=5, label="animal"), tmp_path)
    assert again.item == again.items.index.name == 1
    assert again.annotator == again.annotators.index.name == 5


def test_names_of_many_items_are_arrays(tmp_path):
    names = [f"item {i} é\ud800" for i in range(20_000)]
    items = pd.Series(np.repeat(np.array(names, dtype=object), 2), dtype=object)
    rows = pd.DataFrame({"photo": items, "person": ["Ann", "Bob"] * 20_000, "animal": "cat"})
    crowd = nb.fit_annotations(rows, **NAMES, classes=["cat", "dog"])
    again = saved(crowd, tmp_path)
    assert again.annotations.items.tolist() == names
    with xr.open_datatree(tmp_path / "crowd.nc") as tree:
        assert len(tree.attrs["bayesnb"]) < 10_000
        texts = [array for array in tree["arrays"].data_vars.values() if array.dtype == np.uint8]
        assert 20 * len(names) < max(array.nbytes for array in texts) < 30 * len(names)


@pytest.mark.parametrize("number", [3, 300])
def test_counts_are_stored_in_as_few_bytes_as_they_need(number, tmp_path):
    rows = pd.concat([table(*KINDS["text"])] * number)
    crowd = nb.fit_annotations(rows, **NAMES)
    again = saved(crowd, tmp_path)
    np.testing.assert_array_equal(again.annotations.counts.toarray(), crowd.annotations.counts.toarray())
    assert again.annotations.counts.dtype == np.float64
    with xr.open_datatree(tmp_path / "crowd.nc") as tree:
        counts = [array for array in tree["arrays"].data_vars.values() if array.size == again.annotations.counts.nnz]
        assert min(array.dtype.itemsize for array in counts) == (1 if number == 3 else 2)


def test_the_posterior_alone_is_saved(tmp_path):
    items, _, labels = KINDS["text"]
    crowd = nb.fit_annotations(table(items, ["Ann", "Bob", "Cem"], labels), **NAMES)
    crowd.posterior.save(tmp_path / "posterior.nc")
    again = nb.load(tmp_path / "posterior.nc")
    assert again.model.schema.columns == crowd.posterior.model.schema.columns
    assert again.model.schema.columns[1] == ("Ann", "dog")
    np.testing.assert_array_equal(again.parameters.blocks[0]["prob"], crowd.posterior.parameters.blocks[0]["prob"])


@pytest.mark.filterwarnings("ignore:column 'animal' has text and other values")
@pytest.mark.parametrize("kind", ["text", "numbers", "mixed"])
def test_partitions_of_dask_are_one_table(kind, monkeypatch):
    """Types may differ between partitions, a partition may be empty, and other columns are not read."""
    monkeypatch.setitem(dask.config.config, "dataframe", {"convert-string": False})
    rows, read = table(*KINDS[kind]).assign(more=1.0), []
    edges = [0, 3, 7, 7, len(rows)]

    def part(number, columns=(*COLUMNS, "more")):
        read.append(list(columns))
        return rows[list(columns)][edges[number] : edges[number + 1]]

    frame = dd.from_map(part, range(4), meta=rows[:0])
    read.clear()
    known = {KINDS[kind][0][1]: KINDS[kind][2][0]}
    expected, found = (nb.fit_annotations(each, **NAMES, known=known) for each in (rows, frame))
    assert read == [COLUMNS] * 4
    same(found, expected)
    np.testing.assert_array_equal(found.annotations.counts.toarray(), expected.annotations.counts.toarray())
