"""What fits of annotations refuse, and the words that say what to do instead."""

from decimal import Decimal

import dask.dataframe as dd
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars as pl
import pytest
from small_crowd import ALL_KNOWN, NAMES, SMALL, table

import bayesnb as nb
from bayesnb.cli import read_model

WIDE = SMALL.drop_duplicates(["item", "annotator"]).pivot(index="item", columns="annotator", values="label")
DAYS = SMALL.assign(item=pd.Timestamp("2024-01-03"))
ONE_LABEL = table([(i, who, "x") for i in range(5) for who in ("Ann", "Bob")])
DASK = dd.from_pandas(SMALL, npartitions=2)
TWICE = pd.Series(["x", "y"], index=["p", "p"])
LEARNED = {"hierarchical": True}


def without(column):
    """The table with a missing cell in row 3."""
    return SMALL.assign(**{column: SMALL[column].where(SMALL.index != 3, None)})


FITS = [
    (SMALL, {"annotator": "anotator"}, "annotator is 'anotator', which is not a column .* 'annotator'"),
    (DASK, {"item": "itm"}, "item is 'itm', which is not a column of the table"),
    (SMALL, {"annotator": "item"}, "item and annotator are both 'item': give each a column"),
    (SMALL, {"item": "label"}, "item and label are both 'label'"),
    (SMALL[:0], {}, "the table has no rows"),
    (SMALL.to_numpy(), {}, "no names: give a pandas, polars or pyarrow table"),
    (DASK.to_dask_array(lengths=True), {}, "the columns of the table have no names"),
    ("annotations.csv", {}, r"table is a .*: give a pandas, .* pandas.read_csv\(path\)"),
    (pl.DataFrame(SMALL).lazy(), {}, r"table is a lazy table, whose rows are needed in memory: table.collect\(\)"),
    (pd.concat([SMALL, SMALL["item"]], axis=1), {}, "column 'item' occurs twice in table"),
    (WIDE, {}, r"item is 'item', which is the index of the table: give table.reset_index\(\)"),
    (WIDE.reset_index(), {}, r"annotator is 'annotator', .* one row for each annotation, as table.melt\(...\) makes"),
    (ONE_LABEL, {}, r"column 'label' holds one label only, 'x': .* classes=\[...\]"),
    *((without(column), {}, f"'{column}' is missing in row 3: every annotation needs") for column in NAMES),
    (dd.from_pandas(without("item"), npartitions=2), {}, "column 'item' is missing in row 3"),
    (SMALL, {"known": {"p": "z"}}, r"the item 'p' the label 'z', .* \['x', 'y'\]: correct it, or name all"),
    (SMALL, {"known": {"p": None}}, "known has no label for the item 'p'"),
    (SMALL, {"known": TWICE}, "known names the item 'p' twice"),
    (SMALL, {"known": ["x"]}, "known is a list: give a mapping"),
    (SMALL, {"known": pd.DataFrame({"x": [1]})}, "known has the columns 'x': give two, 'item' and the one of"),
    (SMALL, {"known": {"P": "x", "Q": "y"}}, "no known item is in column 'item', .* as 'p', and known holds 'P'"),
    (DAYS, {"known": {"2024-01-03": "x"}}, r"Timestamp\('2024-01-03 00:00:00'\), .* type Timestamp"),
    (SMALL, {"classes": 2}, r"classes is 2: give the labels .* classes=\['x', 'y'\]"),
    (SMALL, {"classes": "xy"}, r"classes is 'xy': give the labels .* classes=\['x', 'y'\]"),
    (SMALL, {"classes": ["x", "y", "x"]}, "names a class twice"),
    (SMALL, {"classes": ["x"]}, "name two classes or more"),
    (SMALL, {"concentration": np.ones((3, 3))}, r"\(2, 3, 2\) \(classes, annotators, labels\)"),
    (SMALL, {"concentration": 0.5}, r"concentration holds 0.5, and nb.EM\(\) needs 1 or more: .* nb.Gibbs"),
    (SMALL, {"concentration": 0.5, "inference": nb.MAP()}, r"nb.MAP\(\) needs 1 or more"),
    (SMALL, {"class_concentration": 0.1, "classes": list("xyz")}, r"at least one, or nb.Gibbs\(\) or nb.NUTS\(\)"),
    (SMALL, {"inference": nb.Exact(), "known": {"p": "x"}}, r"nb.Exact\(\), .*lacks 3 of 4 items: use nb.EM"),
    (SMALL, {"inference": nb.EmpiricalBayes(), "known": {"p": "x"}}, r"nb.EmpiricalBayes\(\), .* lacks 3 of 4 items"),
    (SMALL, {"inference": nb.EmpiricalBayes(), **LEARNED}, r"lacks 4 of 4 items: use nb.Gibbs\(\) or nb.NUTS\(\)"),
    *(
        (SMALL, {"inference": nb.MLE(), name: value}, f"ignores the prior, and {name} is given")
        for name, value in {"concentration": 3.0, "hierarchical": True, "class_concentration": 2.0}.items()
    ),
    (SMALL, {"inference": "gibs"}, r"inference is 'gibs': give one of \['exact', 'nuts', 'gibbs'"),
    (SMALL, {"inference": nb.Gibbs}, r"inference is the class Gibbs: give an instance, nb.Gibbs\(\)"),
    (SMALL, {"inference": nb.EM(), **LEARNED}, r"'annotation_concentration' is learned.*use nb.Gibbs"),
    (SMALL, {"concentration": np.ones((2, 3, 2)), **LEARNED}, r"shape \(2, 3, 2\).*share.*\(2, 2\) \(classes"),
    (SMALL, {"concentration": -1.0, **LEARNED}, r"concentration holds -1\.0.*positive"),
    (SMALL, {"concentration": dist.LogNormal(0, 1), **LEARNED}, r"LogNormal\(0, 1\).*leave out\s+hierarchical"),
]


@pytest.mark.parametrize(("rows", "options", "told"), FITS)
def test_fits(rows, options, told):
    with pytest.raises((TypeError, ValueError), match=told):
        nb.fit_annotations(rows, **{**NAMES, **options})


@pytest.fixture(scope="module")
def fits():
    """A point estimate and draws, where the item r is known."""
    known = {"known": {"r": "y"}}
    with pytest.warns(nb.ConvergenceWarning):
        drawn = nb.fit_annotations(SMALL, **NAMES, **known, inference=nb.Gibbs(5, 20, 2))
    return {"point": nb.fit_annotations(SMALL, **NAMES, **known), "drawn": drawn}


INTERVALS = ("accuracy_interval", "confusion_interval", "proba_interval")
METHODS = [
    *(("point", method, {}, r"EM gives a point estimate, .* fit with inference=nb.Gibbs\(\)") for method in INTERVALS),
    *(("drawn", method, {"prob": 89}, "prob is 89: give a number between 0 and 1") for method in INTERVALS),
    ("point", "score", {"truth": {"r": "y", "elsewhere": "x"}}, "none of the items of column 'item' whose label"),
    (
        "point",
        "score",
        {"truth": {"p": "x", "q": "cow"}},
        "the item 'q' the label 'cow', which is not among",
    ),
    ("point", "score", {"truth": {"p": None}}, "truth has no label for the item 'p': leave the item out"),
    ("point", "score", {"truth": ["x"]}, "truth is a list: give a mapping from item to label"),
    ("point", "score", {"truth": SMALL}, "truth has the columns .* give two, 'item' and the one of the labels"),
    ("point", "next_item", {"items": ["qq"]}, "items names 'qq', which is not in column 'item': name some of 'p', 'q'"),
    ("point", "next_item", {"annotators": "Annn"}, r"annotators names 'Annn', .* 'annotator' \(did you mean 'Ann'"),
    ("point", "next_item", {"annotators": {"Ann": 0}}, r"annotators\['Ann'\] is 0: give a whole number"),
    ("point", "next_item", {"items": []}, "items is empty: name one or more"),
    ("point", "next_item", {"num_items": 0}, "num_items is 0: give a whole number"),
    ("point", "next_item", {"num_annotators": 1.5}, "num_annotators is 1.5: give a whole number"),
]


@pytest.mark.parametrize(("kind", "method", "options", "told"), METHODS)
def test_methods(fits, kind, method, options, told):
    with pytest.raises((TypeError, ValueError), match=told):
        getattr(fits[kind], method)(**options)


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_what_needs_given_or_learned_concentrations(fits):
    with pytest.raises(ValueError, match=r"concentrations are given.*hierarchical=True"):
        _ = fits["point"].new_annotator
    learned = nb.fit_annotations(SMALL, **NAMES, **LEARNED, known=ALL_KNOWN, inference=nb.Gibbs(5, 20, 2))
    with pytest.raises(ValueError, match="log_evidence_bound needs a given concentration, and here it is learned"):
        _ = learned.log_evidence_bound


@pytest.mark.parametrize("name", [Decimal(1), b"p"], ids=["decimal", "bytes"])
def test_a_name_that_no_file_holds(name, tmp_path):
    crowd = nb.fit_annotations(SMALL.assign(annotator=["Ann", name, "Bob"] * 3), **NAMES)
    match = r"AnnotationTable.annotators is .* of the type (Decimal|bytes), .* text, numbers, booleans, dates, times"
    with pytest.raises(TypeError, match=match):
        crowd.save(tmp_path / "crowd.nc")
    assert not list(tmp_path.iterdir())


def test_the_command_line_reads_no_annotations(fits, tmp_path):
    fits["point"].save(tmp_path / "crowd.nc")
    with pytest.raises(ValueError, match="holds labels from annotators, which predict no rows"):
        read_model(tmp_path / "crowd.nc")
