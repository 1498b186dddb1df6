"""What a fit of annotations gives."""

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

import jax
import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import entr

from bayesnb.arrays import in_float64
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.crowd.read import AnnotationTable
from bayesnb.densities_under_draws import flatten
from bayesnb.inference.em import label_log_joint, probabilities
from bayesnb.model.sites import coordinate
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.point import PointPosterior

__all__ = ["AnnotationFit"]

LEVEL = 0.89
"""Probability of the intervals, the default of all intervals of the package."""

FEWEST_DRAWS = 200
"""The probabilities of the labels are averages over so many draws at least, where there are as many."""

MOST_CELLS = 10**8
"""Draws times items times classes, above which some of the draws are left out."""

ROWS_SHOWN = 20


@dataclass(frozen=True, repr=False)
class AnnotationFit:
    """The result of `fit_annotations`: labels of items, and how good each annotator is.

    Attributes
    ----------
    annotations : AnnotationTable
        The annotations by item.
    posterior : Posterior
        The posterior of the class probabilities, ``class_prob``, and of the annotators' probabilities,
        ``annotation_prob`` (class, annotator, label).
    item, annotator : str
        Names of the columns of the table.
    """

    annotations: AnnotationTable = field(repr=False)
    posterior: Posterior
    item: Any
    annotator: Any

    @property
    def classes(self) -> np.ndarray:
        """The classes, in the order of all results."""
        return self.posterior.classes

    @cached_property
    def proba(self) -> pd.DataFrame:
        r"""Probability of each class of each item, given all annotations, a frame by item with a column for each class.

        Under draws it is the mean of :math:`p(y_i = c \mid x_i, \pi, \theta)` over the posterior of the parameters. It
        is one or zero if the label of the item is known.
        """
        known = self.annotations.known
        result = np.eye(len(self.classes))[known]
        result[known < 0] = self._unknown()
        columns = pd.Index(self.classes.tolist(), name="class", dtype=object, tupleize_cols=False)
        return pd.DataFrame(result, index=self._index(self.annotations.items, self.item), columns=columns)

    @cached_property
    def items(self) -> pd.DataFrame:
        """The items, a frame by item.

        ``label``, the most probable class; its ``probability``; ``entropy`` of the classes' probabilities, in nats; and
        ``num_annotations``. Items have the order of their first annotation.
        """
        proba = self.proba.to_numpy()
        best = proba.argmax(axis=1)
        return pd.DataFrame(
            {
                "label": self.classes[best],
                "probability": proba[np.arange(len(best)), best],
                "entropy": entr(proba).sum(axis=1),
                "num_annotations": self.annotations.counts.sum(axis=1).astype(np.int64),
            },
            index=self.proba.index,
        )

    @cached_property
    def annotators(self) -> pd.DataFrame:
        r"""The annotators, a frame by annotator.

        ``accuracy`` is the mean of :math:`\sum_c \pi_c \theta_{cjc}`, the probability that the annotator gives a new
        item the label of its class. ``lower`` and ``upper`` are its interval of probability .89. They are missing for a
        point estimate, which has no spread: fit with `Gibbs()` or `NUTS()`. ``num_annotations`` counts the annotator's
        annotations.
        """
        own = self.annotations.own_label
        prob = self._draws.blocks[0]["prob"]
        accuracy = np.zeros((len(prob), len(self.annotators_in_order)))
        for c, label in enumerate(own):
            accuracy += self._draws.class_prob[:, c, None] * prob[:, c, :, label]
        lower, upper = np.quantile(accuracy, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        if self._is_point:
            lower = upper = np.full(accuracy.shape[1], np.nan)
        number = np.bincount(
            self.annotations.counts.indices // len(self.annotations.labels),
            self.annotations.counts.data,
            minlength=accuracy.shape[1],
        ).astype(np.int64)
        return pd.DataFrame(
            {"accuracy": accuracy.mean(axis=0), "lower": lower, "upper": upper, "num_annotations": number},
            index=self._index(self.annotators_in_order, self.annotator),
        )

    @cached_property
    def confusion(self) -> xr.DataArray:
        """Mean probability of each label an annotator gives to items of each class, axes annotator, class and label."""
        prob = self._draws.blocks[0]["prob"].mean(axis=0)
        coords = {
            "annotator": coordinate(self.annotators_in_order),
            "class": coordinate(self.classes.tolist()),
            "label": coordinate(self.annotations.labels),
        }
        return xr.DataArray(np.moveaxis(prob, 0, 1), coords, dims=tuple(coords), name="confusion")

    @property
    def class_probs(self) -> pd.Series:
        """Mean probability of each class, by class."""
        index = pd.Index(self.classes.tolist(), name="class", dtype=object, tupleize_cols=False)
        return pd.Series(self._draws.class_prob.mean(axis=0), index=index, name="probability")

    @property
    def annotators_in_order(self) -> list[Any]:
        """The annotators, in the order of their first annotation."""
        return self.annotations.annotators

    @property
    def _is_point(self) -> bool:
        return isinstance(self.posterior, PointPosterior)

    @cached_property
    def _draws(self) -> ModelParameters:
        """Draws of the parameters, one leading axis; a point estimate is a single draw."""
        if isinstance(self.posterior, PointPosterior):
            return jax.tree.map(lambda value: np.asarray(value)[None], self.posterior.parameters)
        return flatten(self.posterior.parameter_draws(None, None, 0))

    @in_float64
    def _unknown(self) -> np.ndarray:
        """Probabilities of the classes of the items whose label is not known, shape (items, classes)."""
        rows, of_items = self.annotations.unknown
        if not len(rows):
            return np.empty((0, len(self.classes)))
        number = len(self._draws.class_prob)
        kept = min(number, max(FEWEST_DRAWS, MOST_CELLS // (len(rows) * len(self.classes))))
        total = np.zeros((len(rows), len(self.classes)))
        for s in np.linspace(0, number - 1, kept).round().astype(int):
            draw = jax.tree.map(lambda value, s=s: value[s], self._draws)
            total += probabilities(label_log_joint(self.posterior.model, rows, draw))[0]
        return (total / kept)[of_items]

    @staticmethod
    def _index(values: Any, name: Any) -> pd.Index:
        return pd.Index(values, name=name, tupleize_cols=False)

    def _title(self) -> str:
        known = int((self.annotations.known >= 0).sum())
        gold = f" ({known:,} known)" if known else ""
        return (
            f"{int(self.annotations.counts.sum()):,} annotations of {len(self.annotations.items):,} items{gold} by "
            f"{len(self.annotators_in_order):,} annotators; classes {self.classes.tolist()}, by "
            f"{type(self.posterior.inference).__name__}"
        )

    def __repr__(self) -> str:
        lines = self.annotators.to_string(max_rows=ROWS_SHOWN, float_format="{:.3f}".format).split("\n")
        return "\n".join([f"AnnotationFit: {self._title()}", *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        table = self.annotators.to_html(max_rows=ROWS_SHOWN, float_format="{:.3f}".format)
        return f"<p><b>AnnotationFit</b>: {escape(self._title())}</p>{table}"
