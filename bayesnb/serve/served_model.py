"""A saved classifier at work: rows as a service has them, read and checked as the estimator does, with NumPy alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from bayesnb.core.cells import (
    ACCURATE_COUNT,
    LARGEST_COUNT,
    LARGEST_NUMBER,
    OutsideSupport,
    is_missing,
    lacks_columns,
    refusal,
    require_hashable,
    to_numbers,
    unmask,
    warn_of_large_counts,
    warn_unseen,
)
from bayesnb.core.checking import a_type, as_path, known_probabilities, listed, of_labels, require_no_new_class
from bayesnb.core.decisions import array_of_labels, decision_rule
from bayesnb.core.label_scores import NO_SCORES
from bayesnb.core.plain_formulas import BEFORE, TOGETHER, two_classes, with_fallback
from bayesnb.core.recipes import RECIPES, read_dates
from bayesnb.core.sealed_files import sealed_image
from bayesnb.serve.scorer import MARKER, Reading, Scorer, codes_in_bins

Cells = Any
"""Cells of a column, a list or an array."""

PLAIN = {int, float, bool, NoneType}
"""Types of cells that NumPy reads as numbers as this package does."""


def load_served(path: Any) -> "ServedModel":
    """The model of a file that the `save` of an estimator or a posterior wrote; it needs NumPy alone.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    ServedModel
        Its probabilities are those of the estimator or posterior, up to rounding.

    Raises
    ------
    OSError
        As for `bayesnb.load`.
    ValueError
        If the file is not one of `save`'s, is damaged, or holds no model in flat form.
    TypeError
        If the path is no path.

    See Also
    --------
    load : The estimator or posterior itself, which learns on.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> with TemporaryDirectory() as folder:
    ...     nb.NaiveBayesClassifier().fit(X, y).save(Path(folder, "penguins.nc"))
    ...     model = nb.serve.load(Path(folder, "penguins.nc"))
    >>> row = dict.fromkeys(model.columns) | {"body_mass_g": 5400, "bill_depth_mm": 14.9}
    >>> model.predict(row).tolist()
    ['Gentoo']
    """
    image = sealed_image(as_path(path))
    # HDF5 keeps the bytes of a contiguous dataset as they are.
    start = image.rfind(MARKER[:-2])
    if start < 0:
        raise ValueError(
            f"{str(path)!r} holds no model in flat form, which serve needs: save it anew where bayesnb is whole, "
            "nb.load(path).save(new, scorer=True), which writes one of any size, and says why if there is none"
        )
    try:
        model = ServedModel(Scorer.from_bytes(memoryview(image)[start:]))
        model.predict_proba(dict.fromkeys(model.columns))
    except Exception as error:  # whatever a forged file leads to
        raise ValueError(f"{str(path)!r}: {error or type(error).__name__}; save the model anew") from error
    return model


class ServedModel:
    """A saved classifier that predicts with NumPy alone. Several threads may use it at the same time.

    Rows are a dict from column to cell, a list of dicts, a data frame, an array of shape (rows, columns), or a list of
    cells. None and NaN are missing cells. Cells are checked as those that an estimator predicts, with the same errors
    and warnings.

    Attributes
    ----------
    classes : array, shape (classes,)
        Labels, in the order of the probabilities.
    columns : tuple
        Names of the columns; positions if the fit had no names.

    See Also
    --------
    bayesnb.serve.load : Reads one from a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import bayesnb as nb
    >>> posterior = nb.fit(nb.Bernoulli(), [[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     posterior.save(Path(folder, "model.nc"))
    ...     model = nb.serve.load(Path(folder, "model.nc"))
    >>> model.predict_proba([[1, None], [0, 1]]).round(3)
    array([[0.771, 0.229],
           [0.297, 0.703]])
    """

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.columns = scorer.columns
        self.classes = array_of_labels(scorer.classes)
        numbers = scorer.number_readings
        readings = (*scorer.code_readings, *numbers)
        # Dates are read once for all that is derived of them, and follow the columns.
        self._dates = list(dict.fromkeys(date for one in readings if (date := _date_of(one))))
        place: Any = {date: len(self.columns) + k for k, date in enumerate(self._dates)}
        self._readers = [
            (place.get(_date_of(one), one.column), _reader(one, self.columns[one.column])) for one in readings
        ]
        self._lowest = np.array([[one.lowest] for one in numbers])
        self._whole = np.array([[one.whole] for one in numbers])
        accurate = [min(one.highest, ACCURATE_COUNT if one.whole else np.inf) for one in numbers]
        self._highest = np.array(accurate)[:, None]

    # ----------------------------------------------------------------------------------------------
    # Rows as codes and numbers
    # ----------------------------------------------------------------------------------------------

    def _columns_of(self, X: Any) -> tuple[list[Cells], int]:
        """The cells of each column, and the number of rows."""
        if isinstance(X, Mapping):
            X = [X]
        if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
            try:
                return [[row[name] for row in X] for name in self.columns], len(X)
            except KeyError:
                row = next(row for row in X if not row.keys() >= {*self.columns})
                raise self._lacking(row) from None
            except TypeError:
                other = next(row for row in X if not isinstance(row, Mapping))
                raise TypeError(f"X holds {a_type(other)} among dicts: give a dict for each row") from None
        if (names := getattr(X, "column_names", getattr(X, "columns", None))) is not None:  # of a data frame
            if not {*names} >= {*self.columns}:
                raise self._lacking(names)
            return [np.asarray(X[name]) for name in self.columns], len(X)
        if isinstance(X, list | tuple):
            one = not any(isinstance(cell, list | tuple | np.ndarray) for cell in X)
            X = np.array([X] if one else X, dtype=object) if X else np.empty((0, len(self.columns)))
        X = unmask(X)
        if not isinstance(X, np.ndarray) and hasattr(X, "__array__"):
            X = np.asarray(X)
        if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] != len(self.columns):
            shape = f"has shape {X.shape}" if isinstance(X, np.ndarray) else f"is {a_type(X)}"
            raise ValueError(
                f"X {shape}: give a dict from column to cell, a list of dicts, or an array with {len(self.columns)} "
                "columns, those of the fit"
            )
        return list(X.T), len(X)

    def _lacking(self, names: Iterable[Any]) -> ValueError:
        given = [*names]
        return lacks_columns([name for name in self.columns if name not in given], {*given}.difference(self.columns))

    def _read(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes and numbers of rows as a `Scorer` takes them."""
        columns, num_rows = self._columns_of(X)
        if self._scorer.forms:
            self._write_numbers(columns)
        columns += [read_dates(_object_cells(columns[at]), self.columns[at], form) for at, form in self._dates]
        unseen: dict[Any, dict[Any, int]] = {}
        read = [read_column(columns[at], unseen) for at, read_column in self._readers]
        num_codes, num_numbers = len(self._scorer.code_readings), len(self._lowest)
        codes = np.array(read[:num_codes], dtype=np.intp).reshape(num_codes, num_rows)
        numbers = np.array(read[num_codes:], dtype=np.float64).reshape(num_numbers, num_rows)
        if num_numbers:
            # A missing cell compares as false.
            wrong = (numbers < self._lowest) | (numbers > self._highest)
            wrong |= self._whole & (numbers != np.rint(numbers)) & (numbers == numbers)
            if wrong.any():
                self._check_numbers(numbers, wrong, unseen)
        if unseen:
            warn_unseen(unseen)
        return codes, numbers

    def _write_numbers(self, columns: list[Cells]) -> None:
        """Put numbers in place of the cells of columns whose numbers are written as text."""
        from bayesnb.core.number_form import NumberForm, warn_of_no_numbers  # takes long to import, and few need it

        strange = {}
        for column, decimal, unit, marks in self._scorer.forms:
            cells = columns[column].tolist() if isinstance(columns[column], np.ndarray) else columns[column]
            require_hashable(cells, name := self.columns[column])
            columns[column], others = NumberForm(decimal, unit, marks).read(cells)
            strange[name] = list(dict.fromkeys(others))
        warn_of_no_numbers(strange)

    def _check_numbers(self, numbers: np.ndarray, wrong: np.ndarray, unseen: dict[Any, dict[Any, int]]) -> None:
        """Make numbers outside the support missing where that is allowed; else raise an error, as `Chunks.encode`."""
        for k in np.flatnonzero(wrong.any(axis=1)):
            reading: Reading = self._scorer.number_readings[k]
            name = self.columns[reading.column]
            for row in np.flatnonzero(wrong[k]):
                value = float(numbers[k, row])
                if reading.lowest <= value <= reading.highest and not (reading.whole and value != round(value)):
                    warn_of_large_counts(name)
                elif reading.tolerant and abs(value) <= LARGEST_NUMBER:
                    cells = unseen.setdefault(OutsideSupport(name, reading.family, reading.holds), {value: 0})
                    cells[next(iter(cells))] += 1
                    numbers[k, row] = np.nan
                else:
                    whole = reading.whole and reading.highest == LARGEST_COUNT
                    where = f"column {name!r}, row {row}"
                    raise refusal(where, value, reading.family, reading.holds, reading.hint, whole=whole)

    # ----------------------------------------------------------------------------------------------
    # Predictions
    # ----------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, shape (rows, classes).

        Parameters
        ----------
        X : mapping, list of mappings, frame, or array of shape (rows, columns)
            Rows, as the class describes them.

        Raises
        ------
        TypeError, ValueError
            If a column is missing, or a cell is one that an estimator refuses.

        Warns
        -----
        UserWarning
            If cells count as missing: categories that the fit did not see, numbers that a chosen family does not hold.
        """
        scorer = self._scorer
        return with_fallback(scorer.proba(scorer.log_joint(*self._read(X))), 0.0, np.exp(scorer.log_prior))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log probability of each class, shape (rows, classes); the rest as for `predict_proba`."""
        scorer = self._scorer
        return with_fallback(scorer.log_proba(scorer.log_joint(*self._read(X))), -np.inf, scorer.log_prior)

    def predict(self, X: Any, *, loss: Any = None, confidence: float | None = None, abstain: Any = None) -> np.ndarray:
        """A decision about each row, by default its most probable label.

        Parameters
        ----------
        X
            As for `predict_proba`.
        loss, confidence, abstain
            As for `Posterior.predict`; decisions of least expected loss, and abstention.

        Returns
        -------
        array, shape (rows,)
        """
        decide = decision_rule(self.classes, loss=loss, confidence=confidence, abstain=abstain)
        return decide(self.predict_proba(X))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of the classes {listed(self.classes)}, columns {listed(self.columns)}>"

    def predict_set(self, X: Any, coverage: float = 0.9, *, by_class: bool = False, empty: bool = False) -> np.ndarray:
        """A set of labels for each row that holds the true one with a given probability, on average over rows.

        Parameters
        ----------
        X
            As for `predict_proba`.
        coverage, by_class, empty
            As for `Posterior.predict_set`.

        Returns
        -------
        array of bool, shape (rows, classes)

        Raises
        ------
        ValueError
            If the saved model has no leave-one-out probabilities of labels: posteriors, and estimators whose
            `predict_set` has none.
        """
        scores = self._scorer.label_scores
        if scores is None:
            raise ValueError(NO_SCORES)
        return scores.sets(self.predict_proba(X), self.classes, coverage, by_class=by_class, empty=empty)

    def with_class_probs(self, class_probs: Any) -> "ServedModel":
        """The model for another population, with its class probabilities.

        Parameters
        ----------
        class_probs : mapping or pandas.Series from label to probability, or array of shape (classes,)

        Returns
        -------
        ServedModel
            Without `predict_set`; this one is unchanged.

        Raises
        ------
        TypeError, ValueError
            As for `Posterior.with_class_probs`.
        """
        scorer, labels = self._scorer, self.classes.tolist()
        probs = of_labels(known_probabilities(class_probs), labels)
        if scorer.has_weights:
            require_no_new_class(np.exp(scorer.log_class_prob), probs, labels)
        return ServedModel(replace(scorer.with_class_probs(probs), label_scores=None))

    def explain(self, X_row: Any, class_: Any = None, against: Any = None) -> dict[str, Any]:
        """The log odds of two classes in a row, and what each column contributes to them, without intervals.

        Parameters
        ----------
        X_row : mapping, list of cells, or table of one row
        class_, against : label, optional
            By default the most probable classes.

        Returns
        -------
        dict
            ``"class"`` and ``"against"``, the two labels; ``"log_odds"``, a dict from the name of each part to natural
            log odds, which add up to those of the two classes.

        Raises
        ------
        ValueError
            If there is more than one row, or a label is no class.
        """
        scorer = self._scorer
        codes, numbers = self._read(X_row)
        if codes.shape[1] != 1:
            raise ValueError(f"X_row has {codes.shape[1]} rows: give exactly one")
        of_features = scorer.contributions(codes, numbers)[:, :, 0]
        log_joint = scorer.joined(of_features.sum(axis=1)[None])[0]
        labels = self.classes.tolist()
        one, other = two_classes(labels, log_joint, class_, against)
        prior = scorer.log_prior
        parts = np.bincount(scorer.subject, of_features[one] - of_features[other], len(scorer.subjects))
        found = {BEFORE: prior[one] - prior[other]} | dict(zip(scorer.subjects, parts, strict=True))
        if scorer.has_weights:
            found[TOGETHER] = log_joint[one] - log_joint[other] - sum(found.values())
        odds = {name: float(value) for name, value in found.items()}
        return {"class": labels[one], "against": labels[other], "log_odds": odds}


# --------------------------------------------------------------------------------------------------
# Cells of one column
# --------------------------------------------------------------------------------------------------


def _object_cells(cells: Cells) -> np.ndarray:
    return cells if isinstance(cells, np.ndarray) else np.fromiter(cells, dtype=object, count=len(cells))


def _as_numbers(cells: Cells, name: Any) -> np.ndarray:
    """Cells as float64, missing ones NaN; errors as for `to_numbers`."""
    if isinstance(cells, list) and {*map(type, cells)} <= PLAIN:
        try:
            return np.array(cells, dtype=np.float64)
        except OverflowError:  # a whole number above all of float64
            pass
    return to_numbers(_object_cells(cells), name, slice(0, None))


def _date_of(reading: Reading) -> tuple[int, str | None] | None:
    """The column and the form of the dates that a reading is made of; None if of none."""
    return (reading.column, dict(reading.settings).get("form")) if reading.recipe == "date" else None


def _reader(reading: Reading, name: Any) -> Callable[[Cells, dict[Any, dict[Any, int]]], Any]:
    """The function of the cells of a column that gives codes or numbers, and puts unseen values into a dict."""
    missing, recipe = reading.num_codes, RECIPES.get(reading.recipe)  # none of a copy

    def made_of(cells: Cells) -> Cells:
        return cells if recipe is None else recipe(_object_cells(cells), **dict(reading.settings))

    if reading.categories is None:
        edges = None if reading.edges is None else np.array(reading.edges)

        def numbers_of(cells: Cells, unseen: dict[Any, dict[Any, int]]) -> np.ndarray:
            numbers = _as_numbers(made_of(cells), name)
            return numbers if edges is None else codes_in_bins(numbers, edges)

        return numbers_of
    codes: dict[Any, int] = dict(zip(reading.categories, range(missing), strict=True)) | {None: missing}
    other = missing - 1 if reading.others else missing

    def codes_of(cells: Cells, unseen: dict[Any, dict[Any, int]]) -> list[int]:
        if isinstance(cells := made_of(cells), np.ndarray):
            cells = cells.tolist()
        try:
            found = [codes.get(cell, -1) for cell in cells]
        except TypeError:
            require_hashable(cells, name)
            raise
        if -1 in found:
            strange = [row for row, code in enumerate(found) if code < 0]
            for row in strange:
                found[row] = missing if is_missing(cells[row]) else other
            if not reading.others and (new := Counter(cells[row] for row in strange if not is_missing(cells[row]))):
                unseen[name] = new
        return found

    return codes_of
