"""Tables, posteriors and results that figures are drawn of, and what a figure says, as data."""

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from drawn import result
from matplotlib.colors import to_hex
from matplotlib.legend import Legend

import bayesnb as nb

FEW = 12
"""Points of a long line that are kept, evenly spaced."""


def described(figure: Any) -> dict[str, Any]:
    """Everything that a figure shows, of lists, texts and numbers alone."""
    return {
        "size": _numbers(figure.get_size_inches()),
        "texts": [figure.get_suptitle(), figure.get_supxlabel(), figure.get_supylabel()],
        "legends": [_legend(legend) for legend in figure.legends],
        "panels": [_panel(axis) for axis in figure.axes],
    }


def _panel(axis: Any) -> dict[str, Any]:
    if not axis.axison:
        return {}
    found = {
        "texts": [axis.get_title(), axis.get_xlabel(), axis.get_ylabel()],
        "limits": [_numbers(axis.get_xlim()), _numbers(axis.get_ylim())],
        "ticks": [_ticks(axis.xaxis), _ticks(axis.yaxis)],
        "spines": [side for side, spine in axis.spines.items() if spine.get_visible()],
        "lines": [_line(line) for line in axis.lines],
        "collections": [_collection(found) for found in axis.collections],
        "patches": [_patch(patch) for patch in axis.patches],
        "notes": [
            [text.get_text(), _numbers(text.get_position()), text.get_ha(), text.get_va()] for text in axis.texts
        ],
        "legend": [_legend(axis.get_legend())] if axis.get_legend() else [],
    }
    return {name: value for name, value in found.items() if value}


def _ticks(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def _legend(legend: Legend) -> list[Any]:
    texts = [text.get_text() for text in legend.get_texts()]
    handles = [_line(handle) if hasattr(handle, "get_xdata") else [] for handle in legend.legend_handles]
    return [legend.get_title().get_text(), *map(list, zip(texts, handles, strict=True))]


def _line(line: Any) -> list[Any]:
    look = [to_hex(line.get_color()), str(line.get_linestyle()), str(line.get_marker())]
    return [*look, to_hex(line.get_markerfacecolor()), _long(line.get_xydata())]


def _collection(collection: Any) -> list[Any]:
    places = [_long(path.vertices) for path in collection.get_paths()]
    colours = [sorted({to_hex(c) for c in found()}) for found in (collection.get_facecolor, collection.get_edgecolor)]
    return [type(collection).__name__, colours, places[:3], _long(np.asarray(collection.get_offsets()))]


def _patch(patch: Any) -> list[Any]:
    look = [to_hex(patch.get_facecolor()), to_hex(patch.get_edgecolor()), str(patch.get_linestyle()), patch.get_hatch()]
    return [*look, _long(patch.get_patch_transform().transform_path(patch.get_path()).vertices)]


def _long(points: Any) -> list[Any]:
    points = np.asarray(points, dtype=float)
    chosen = np.unique(np.linspace(0, len(points) - 1, FEW).round().astype(int)) if len(points) else []
    return [len(points), [_numbers(points[i]) for i in chosen]]


def _numbers(values: Any) -> list[float]:
    return [float(f"{value:.5g}") for value in np.asarray(values, dtype=float)]


LABELS = np.array(["ash", "birch", "oak"])[np.arange(24) % 3]


@cache
def table() -> pd.DataFrame:
    at = np.arange(24)
    columns = {
        "height": 10 + 2 * (at % 3) + np.cos(at),
        "nests": ((7 * at) % 5 + at % 3).astype(float),
        "leaf": np.where(at % 4 < 1 + at % 2, "round", "lobed"),
        "old": (at % 5 < 1 + at % 3).astype(float),
    }
    found = pd.DataFrame(columns)
    found.loc[3, "height"] = np.nan
    return found


@cache
def exact() -> Any:
    families = {"height": nb.Gaussian(), "nests": nb.Poisson(), "leaf": nb.Categorical(), "old": nb.Bernoulli()}
    return nb.fit(nb.NaiveBayes(families), table(), LABELS)


@cache
def sampled() -> Any:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet([9.0, 8.0, 7.0], (2, 60))
    draws = {"class_prob": shares, "old_prob": rng.beta(3.0, 2.0, (2, 60, 3))}
    model = nb.NaiveBayes({"old": nb.Bernoulli()})
    return nb.from_samples(model, draws, X=table()[["old"]], y=LABELS)


@cache
def penguins() -> tuple[Any, Any, Any]:
    X, y = nb.datasets.penguins()
    return nb.fit(nb.NaiveBayes.from_frame(X), X, y), X, y


@cache
def mails() -> tuple[Any, pd.DataFrame]:
    """Counts of thirty words; a word and a class have long names."""
    rng = np.random.default_rng(1)
    y = np.array(["ham", "spam with a name of many words, which is long"])[np.arange(20) % 2]
    names = [f"word{i}" for i in range(29)] + ["a very long phrase of many words that is a column's name"]
    probs = rng.dirichlet(np.full(30, 0.4), 2)
    X = pd.DataFrame([rng.multinomial(60, probs[c]) for c in np.arange(20) % 2], columns=names)
    return nb.fit(nb.NaiveBayes({"text": (nb.Multinomial(), names)}), X, y), X


def models(probability: list[float]) -> Any:
    names = ["Gaussian", "a model with a long name that needs two lines"]
    columns = {"model_probability": probability, "elpd_difference": [0.0, -3.5], "elpd_difference_se": [0.0, 1.2]}
    prior = pd.Series([0.25, 0.75], index=names[::-1])
    return result(nb.results.ModelComparison, table=pd.DataFrame(columns, index=names), prior=prior)


def merges() -> Any:
    columns = {
        "first": ["a", "a + b", "x"],
        "second": ["b", "c", "y"],
        "family": ["MultivariateGaussian", "MultivariateGaussian", "JointCategorical"],
        "log_bayes_factor": [9.0, 4.5, 1.5],
        "total": [9.0, 13.5, 15.0],
    }
    return result(nb.results.ColumnGrouping, table=pd.DataFrame(columns), blocks=(("a", "b", "c"), ("x", "y")))


def forest() -> Any:
    """Two trees, one of them a chain of long names."""
    columns = {
        "child": ["age of the oldest child in the household", 2, "rent", "height_of_the_second_tree", "age"],
        "parent": ["job", "age of the oldest child in the household", "job", 2, "sex"],
        "probability": [1.0, 0.4321, 0.996, 0.05, 0.97],
    }
    return result(nb.results.ColumnForest, table=pd.DataFrame(columns), notes=())


def selection() -> Any:
    columns = {
        "action": ["", "drop", "drop"],
        "feature": ["", "height", "nests"],
        "difference": [0.0, 1.5, 2.5],
        "se": [0.0, 0.5, 0.25],
    }
    return result(nb.results.FeatureSelection, table=pd.DataFrame(columns), kept=("old",), dropped=("height", "nests"))


def crowd() -> Any:
    """Labels of trees by three people, of whom the first is often wrong."""
    rows = [
        (i, who, LABELS[i + (i % (2 + 3 * j) == 1)]) for i in range(12) for j, who in enumerate(("Cem", "Bob", "Ann"))
    ]
    rows += [(i, "Bob", LABELS[i]) for i in range(6)]
    table = pd.DataFrame(rows, columns=["tree", "person", "name"])
    return nb.fit_annotations(table, item="tree", annotator="person", label="name")


def uniformity(number: int) -> Any:
    at = np.arange(30)
    labels = [f"a parameter of a long name[of class {i}]" for i in range(number)]
    pit = pd.DataFrame({label: ((7 * at + i) % 30 / 30) ** (1 + i) for i, label in enumerate(labels)})
    frame = pd.DataFrame({"p_value": [0.7, 0.0, 0.03, 0.2, 1e-9][:number]}, index=labels)
    return result(nb.results.SBC, table=frame, pit=pit, error_rate=0.05, verdict="It is not calibrated, as some p say.")
