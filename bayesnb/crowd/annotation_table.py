"""A long table of labels from annotators, labels of its items under draws, and the items to ask about next."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.special import entr

import bayesnb as nb
from bayesnb.core.arrays import log, probabilities
from bayesnb.core.checking import a_type, is_one_of, listed, near_matches, sort_categories, warn
from bayesnb.core.running import results_in_order

# --------------------------------------------------------------------------------------------------
# Labels that are probably errors, of which a user is warned
# --------------------------------------------------------------------------------------------------

MANY = 20
"""Up to this number of labels there is no warning."""

FEW_EACH = 2
"""There is a warning if more labels have fewer annotations each, on average."""


def _warn_of_labels(labels: list[Any], column: Any, num_annotations: int) -> None:
    """Warn of distinct labels that are probably errors: each of them becomes a class."""
    alike = defaultdict(list)
    for label in labels:
        alike[str(label).strip().casefold()].append(label)
    texts, others = ([label for label in labels if isinstance(label, str) == is_text] for is_text in (True, False))
    doubts = []
    if "" in alike:
        doubts.append(f"has the blank label {alike.pop('')[0]!r}")
    doubts += [f"has the labels {listed(same)}, which look alike" for same in alike.values() if len(same) > 1][:1]
    if texts and others:
        doubts.append(f"has text and other values, {texts[-1]!r} and {others[0]!r}")
    if len(labels) > MANY and num_annotations < FEW_EACH * len(labels):
        doubts.append(f"has {len(labels):,} labels in {num_annotations:,} annotations")
    if doubts:
        warn(
            f"column {column!r} {' and '.join(doubts)}, and each label is a class: correct the labels, or name all "
            "classes with classes=[...]",
            UserWarning,
        )


# --------------------------------------------------------------------------------------------------
# A long table of annotations as counts of labels by item and annotator
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnnotationTable:
    """Annotations by item.

    Attributes
    ----------
    items : array, shape (items,)
        In the order of their first annotation, then the items whose label is known and that have no annotation.
    annotators : list
        In the order of their first annotation.
    labels : list
        The labels of the table and the classes, sorted.
    classes : array, shape (classes,)
        Each is a label.
    counts : CSR array, shape (items, annotators * labels)
        How often each annotator gives each label to the item, all labels of the first annotator first.
    known : array of int, shape (items,)
        Position of each item's class where it is known, else -1.
    """

    items: np.ndarray
    annotators: list[Any]
    labels: list[Any]
    classes: np.ndarray
    counts: Any
    known: np.ndarray

    @property
    def own_label(self) -> np.ndarray:
        """Position of each class among the labels, shape (classes,)."""
        return np.array([self.labels.index(class_) for class_ in self.classes.tolist()])

    @cached_property
    def unknown(self) -> "tuple[nb.results.Unlabelled, np.ndarray]":
        """The items of unknown class, with equal annotations merged into one row, and the row of each item."""
        rows = np.flatnonzero(self.known < 0)
        counts = self.counts[rows] if len(rows) < len(self.known) else self.counts
        return nb.results.Unlabelled.of((counts,), np.ones(len(rows)))


def read_annotations(table: Any, columns: Mapping[str, Any], classes: Any, known: Any) -> AnnotationTable:
    """Read a long table, one line for each annotation.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or Dask data frame
        Of a Dask data frame, the three columns come into memory.
    columns : mapping
        Names of the columns by what they hold: ``"item"``, ``"annotator"`` and ``"label"``.
    classes : sequence or None
        By default the labels of the table.
    known : mapping from item to label, pandas.Series, table or None

    Raises
    ------
    TypeError, ValueError
        If the table cannot be read, naming column, row and way out, or a known label is not among the classes.
    """
    whole = _annotation_columns(table, columns)
    if not whole.num_rows:
        raise ValueError("the table has no rows: give at least one annotation")
    codes, found = {}, {}
    for role, name in columns.items():
        codes[role], found[role] = pd.factorize(whole.values(whole.names.index(name), slice(None)))
        missing = codes[role] < 0
        if missing.any():
            raise ValueError(
                f"column {name!r} is missing in row {int(np.argmax(missing))}: every annotation needs its {role}; "
                "leave out this row"
            )
    given = set(found["label"].tolist())
    named = _classes_of_labels(classes, sort_categories(given), columns["label"])
    if classes is None:
        _warn_of_labels(named.tolist(), columns["label"], len(codes["label"]))
    labels = sort_categories(given | set(named.tolist()))
    place = {label: position for position, label in enumerate(labels)}
    code_of_label = np.array([place[label] for label in found["label"].tolist()])[codes["label"]]
    items, annotators = found["item"], found["annotator"]
    width = len(annotators) * len(labels)
    column = codes["annotator"] * len(labels) + code_of_label
    known_codes, items = _read_known(known, named, items, columns["item"], given=classes is not None)
    counts = scipy.sparse.csr_array((np.ones(len(column)), (codes["item"], column)), shape=(len(items), width))
    counts.sum_duplicates()
    return AnnotationTable(items, annotators.tolist(), labels, named, counts, known_codes)


def _annotation_columns(table: Any, columns: Mapping[str, Any]) -> Any:
    """The table, or the columns of a Dask data frame in memory."""
    if table is None or isinstance(table, str | PathLike | Mapping):
        raise TypeError(
            f"table is {a_type(table)}: give a pandas, polars or pyarrow table or a Dask data frame, such as "
            "pandas.read_csv(path) of a file or pandas.DataFrame(columns) of a dict"
        )
    index = list(getattr(getattr(table, "index", None), "names", ()))
    if hasattr(table, "dask"):
        _require_annotation_columns(list(getattr(table, "columns", ())), columns, index)
        return nb.results.as_table(table[list(columns.values())].compute())
    whole = nb.results.as_table(table, "table")
    _require_annotation_columns(list(whole.names) if whole.named else [], columns, index)
    return whole


def _require_annotation_columns(names: list[Any], columns: Mapping[str, Any], index: list[Any]) -> None:
    """Raise for columns that are missing or have two roles; `index` names the levels of the table's index."""
    if not names:
        raise TypeError("the columns of the table have no names: give a pandas, polars or pyarrow table")
    for role, name in columns.items():
        if is_one_of(name, names):
            continue
        if is_one_of(name, index):
            raise ValueError(f"{role} is {name!r}, which is the index of the table: give table.reset_index()")
        raise ValueError(
            f"{role} is {name!r}, which is not a column of the table{near_matches(name, names)}: name the "
            f"column of the {role}s, one of {listed(names)}; a table with a column for each annotator needs one "
            "row for each annotation, as table.melt(...) makes them"
        )
    for (one, name), (other, same) in combinations(columns.items(), 2):
        if name == same:
            raise ValueError(f"{one} and {other} are both {name!r}: give each a column of its own")


def _classes_of_labels(classes: Any, labels: list[Any], column: Any) -> np.ndarray:
    """The classes, by default the labels of the table."""
    if isinstance(classes, str | int):
        raise TypeError(f"classes is {classes!r}: give the labels that an item may have, as in classes={labels!r}")
    # As a model reads the classes of any table.
    model = nb.NaiveBayes(nb.Bernoulli()).bind(columns=[column], classes=labels if classes is None else classes)
    named: np.ndarray = model.schema.classes
    if len(named) >= 2:
        return named
    if classes is not None:
        raise ValueError(f"classes is {named.tolist()}: name two classes or more")
    raise ValueError(
        f"column {column!r} holds one label only, {labels[0]!r}: name all classes that an item may have, as in "
        "classes=[...]"
    )


def _read_known(
    known: Any, classes: np.ndarray, items: np.ndarray, column: Any, *, given: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Position of each item's known class, else -1; and the items, with known ones that have no annotation."""
    if known is None:
        return np.full(len(items), -1), items
    way_out = "" if given else ", or name all classes with classes=[...]"
    named, known_codes = read_labels_of_items(known, "known", classes, column, way_out)
    at = pd.Index(items, dtype=object, tupleize_cols=False).get_indexer(named)
    more = np.flatnonzero(at < 0)
    if len(more) == len(named) > 0:
        item = items[:1].tolist()[0]
        raise ValueError(
            f"no known item is in column {column!r}, which holds items such as {item!r}, and known holds "
            f"{named[0]!r}: give the known items as the column writes them, of the type {type(item).__name__}"
        )
    at[more] = len(items) + np.arange(len(more))
    if len(more):
        items = nb.results.as_labels([*items.tolist(), *named[more]])
    codes = np.full(len(items), -1)
    codes[at] = known_codes
    return codes, items


def read_labels_of_items(
    given: Any, argument: str, classes: np.ndarray, column: Any, way_out: str = ""
) -> tuple[pd.Index, np.ndarray]:
    """Items, and the positions of their labels among the classes.

    Parameters
    ----------
    given : mapping from item to label, pandas.Series or table
        A table has two columns, one of them `column`.
    argument : str
        Name in errors.
    classes : array, shape (classes,)
    column : str
        Name of the column of the items.
    way_out : str, default ""
        Ends the error of a label that is no class.

    Raises
    ------
    TypeError, ValueError
        If it is something else, a label is missing or no class, or an item has two labels.
    """
    if isinstance(given, Mapping | pd.Series):
        pairs = list(given.items())
    elif hasattr(given, "columns"):
        table = nb.results.as_table(given, argument)
        if len(table.names) != 2 or column not in table.names:
            raise ValueError(
                f"{argument} has the columns {listed(table.names)}: give two, {column!r} and the one of the labels"
            )
        at = table.names.index(column)
        items, labels = (table.values(position, slice(None)).tolist() for position in (at, 1 - at))
        pairs = list(zip(items, labels, strict=True))
    else:
        raise TypeError(
            f"{argument} is {a_type(given)}: give a mapping from item to label, a pandas Series of labels with the "
            f"items as its index, or a table with the column {column!r} and one of labels"
        )
    place = {label: position for position, label in enumerate(classes.tolist())}
    for item, label in pairs:
        if pd.isna(label):
            raise ValueError(f"{argument} has no label for the item {item!r}: leave the item out")
        if label not in place:
            raise ValueError(
                f"{argument} gives the item {item!r} the label {label!r}, which is not among the classes "
                f"{classes.tolist()}: correct it{way_out}"
            )
    named = pd.Index([item for item, _ in pairs], dtype=object, tupleize_cols=False)
    if not named.is_unique:
        raise ValueError(f"{argument} names the item {named[named.duplicated()][0]!r} twice: give each item one label")
    return named, np.array([place[label] for _, label in pairs], dtype=int)


# --------------------------------------------------------------------------------------------------
# Probabilities of the classes of items under draws of the parameters
# --------------------------------------------------------------------------------------------------

FEWEST_DRAWS = 200
"""Averages use at least this many draws, if available."""

MOST_CELLS = 10**8
"""Beyond this product of draws, items and classes some draws are left out."""

PIECE_CELLS = 2**21
"""Numbers in a piece of items; 16 MiB of float64."""


@dataclass(frozen=True)
class LabelDraws:
    """Probabilities of the classes of items under draws of the parameters, some items at a time.

    Attributes
    ----------
    annotations : AnnotationTable
    class_prob : array, shape (draws, classes)
    prob : array, shape (draws, classes, annotators, labels)
    densities : callable
        Log densities of the annotations of some items under each draw, shape (draws, items, classes), given the items'
        positions.
    """

    annotations: AnnotationTable
    class_prob: np.ndarray
    prob: np.ndarray
    densities: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, annotations: AnnotationTable, draws: Any) -> Self:
        """Evenly spaced draws, as many as are needed."""
        number, num_classes = draws.class_prob.shape
        kept = min(number, max(FEWEST_DRAWS, MOST_CELLS // (len(annotations.items) * num_classes)))
        some = np.linspace(0, number - 1, kept).round().astype(int)
        prob = draws.blocks[0]["prob"][some]
        family = nb.families.Annotations(num_labels=len(annotations.labels))
        densities = family.densities_of_rows({"prob": prob}, annotations.counts)
        return cls(annotations, draws.class_prob[some], prob, densities)

    def of_items(self, items: np.ndarray) -> np.ndarray:
        """Probabilities of the classes of some items, shape (items, draws, classes); ones and zeros if known.

        Parameters
        ----------
        items : array of int
            Positions of the items.
        """
        known = self.annotations.known[items]
        proba = self._given(items)
        proba[known >= 0] = self._certain(known[known >= 0])
        return proba

    def pieces(self, number: int, cells: int = 0) -> list[slice]:
        """Positions of the items, in pieces.

        Parameters
        ----------
        number : int
        cells : int, default 0
            Numbers that are held for each item, if they are more than its probabilities.
        """
        step = max(1, PIECE_CELLS // max(self.class_prob.size, cells))
        return [slice(start, min(start + step, number)) for start in range(0, number, step)]

    def mean(self) -> np.ndarray:
        """Mean probabilities of the classes of all items, shape (items, classes)."""
        return self._of_all(lambda proba: proba.mean(axis=1))

    def quantiles(self, levels: list[float]) -> np.ndarray:
        """Quantiles of the probabilities of the classes of all items, shape (items, classes, levels)."""
        return self._of_all(lambda proba: _draw_quantiles(np.moveaxis(proba, 1, 2), levels))

    def most_probable(self, levels: list[float]) -> tuple[np.ndarray, np.ndarray]:
        """Mean probabilities, and quantiles of the probability of the class with the highest mean.

        Parameters
        ----------
        levels : list of float

        Returns
        -------
        tuple of array
            Shapes (items, classes) and (items, levels).
        """

        def summary(proba: np.ndarray) -> np.ndarray:
            mean = proba.mean(axis=1)
            best = mean.argmax(axis=1)[:, None, None]
            return np.column_stack([mean, _draw_quantiles(np.take_along_axis(proba, best, axis=2)[:, :, 0], levels)])

        found = self._of_all(summary)
        return found[:, : -len(levels)], found[:, -len(levels) :]

    def _of_all(self, summary: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A summary of the probabilities of all items; items with the same annotations have the same one."""
        known = self.annotations.known
        result = summary(self._certain(known))
        _, of_items = self.annotations.unknown
        if len(of_items):
            unknown = np.flatnonzero(known < 0)
            first = unknown[np.unique(of_items, return_index=True)[1]]
            found = results_in_order(lambda piece: summary(self._given(first[piece])), self.pieces(len(first)))
            result[unknown] = np.concatenate(list(found))[of_items]
        return result

    def _given(self, items: np.ndarray) -> np.ndarray:
        """Probabilities of the classes of some items given their annotations, shape (items, draws, classes)."""
        joint = np.moveaxis(self.densities(items), 0, 1)
        return probabilities(joint + log(self.class_prob))[0]

    def _certain(self, codes: np.ndarray) -> np.ndarray:
        """Probabilities of classes that are known, shape (items, 1, classes)."""
        return np.eye(self.class_prob.shape[1])[codes][:, None]


def _draw_quantiles(values: np.ndarray, levels: list[float]) -> np.ndarray:
    """Quantiles along the last axis, which the levels replace."""
    # NumPy sorts a contiguous axis several times faster than it finds two quantiles along another axis.
    ordered = np.sort(values, axis=-1)
    return np.moveaxis(np.quantile(ordered, levels, axis=-1, overwrite_input=True), 0, -1)


# --------------------------------------------------------------------------------------------------
# Expected information of one more annotation about the class of an item
# --------------------------------------------------------------------------------------------------

FIRST_ITEMS = 4096
"""Number of items in each step, unless more are wanted."""


def expected_information(labels: LabelDraws, items: np.ndarray, annotators: np.ndarray) -> np.ndarray:
    """Mutual information of each item's class and each annotator's next label in nats, shape (items, annotators).

    Items and annotators are given by their positions.
    """
    proba, prob = labels.of_items(items), labels.prob[:, :, annotators]
    num_draws, num_classes, num_annotators, num_labels = prob.shape
    joint_entropy: Any = 0.0
    of_label: Any = 0.0
    for c in range(num_classes):
        joint = proba[:, :, c] @ prob[:, c].reshape(num_draws, -1) / num_draws
        of_label = of_label + joint
        joint_entropy = joint_entropy + entr(joint)
    shape = len(proba), num_annotators, num_labels
    of_class = entr(proba.mean(axis=1)).sum(axis=1)[:, None]
    information = of_class + (entr(of_label) - joint_entropy).reshape(shape).sum(axis=2)
    return np.maximum(information, 0.0)


def most_informative(
    labels: LabelDraws,
    entropy: np.ndarray,
    items: np.ndarray,
    annotators: np.ndarray,
    *,
    num_items: int | None,
    num_annotators: int | None,
    again: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions of the items and annotators with the highest expected information, and the information, highest first.

    The information is at most the entropy of the item's class, which is given for all items. Items are taken in the
    order of their entropy, until no other item can be among the best. `items` and `annotators` are the positions to
    choose from. None means any number of items, or of annotators for each item. `again` allows an annotator to label an
    item again.
    """
    table = labels.annotations
    width = len(table.labels)
    first = max(0, len(annotators) - (num_annotators or len(annotators)))
    column = np.full(len(table.annotators), -1)
    column[annotators] = np.arange(len(annotators))

    def of_piece(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        information = expected_information(labels, rows, annotators)
        if not again:
            given = table.counts[rows].tocoo()
            at = column[given.coords[1] // width]
            information[given.coords[0][at >= 0], at[at >= 0]] = -np.inf
        best = np.argpartition(information, first, axis=1)[:, first:]
        return best, np.take_along_axis(information, best, axis=1)

    items = items[np.argsort(-entropy[items], kind="stable")]
    cells = len(table.classes) * len(annotators) * width
    wanted = len(items) if num_items is None else min(num_items, len(items))
    done = 0
    found: list[tuple[np.ndarray, np.ndarray]] = []
    while done < len(items):
        step = max(FIRST_ITEMS, wanted, done)
        batch = items[done : done + step]
        found += results_in_order(of_piece, [batch[piece] for piece in labels.pieces(len(batch), cells)])
        done += step
        highest = np.concatenate([information.max(axis=1) for _, information in found])
        if done < len(items) and np.partition(highest, -wanted)[-wanted] >= entropy[items[done]]:
            break
    best = np.argsort(-highest, kind="stable")[:wanted]
    chosen, information = (np.concatenate(part)[best] for part in zip(*found, strict=True))
    of_items, by, numbers = np.repeat(items[best], chosen.shape[1]), annotators[chosen].ravel(), information.ravel()
    pairs = np.flatnonzero(numbers >= 0)
    order = pairs[np.argsort(-numbers[pairs], kind="stable")]
    return of_items[order], by[order], numbers[order]
