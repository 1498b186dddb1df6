"""Data sets in encoded form: the observed one, and its replicates drawn from a posterior."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
import scipy.sparse

from bayesnb.arrays import in_float64
from bayesnb.blocks.block import Block
from bayesnb.blocks.parameters import ModelParameters
from bayesnb.densities_under_draws import flatten
from bayesnb.families.draw import draw
from bayesnb.model.bound import BoundModel
from bayesnb.posterior.base import Posterior
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.tables.labels import encode_labels
from bayesnb.tables.read import as_table
from bayesnb.tables.weights import check_weights

__all__ = ["Labels", "Rows", "draws", "encode", "replicate"]

DRAW_BYTES = 2**26
"""Memory for the parameters of many replicates at a time."""


@dataclass(frozen=True)
class Labels:
    """The observed labels, which all replicates share.

    Attributes
    ----------
    codes : array of int, shape (rows,)
        Position of each row's class.
    classes : list of str
        Names of the classes.
    """

    codes: np.ndarray
    classes: list[str]

    @cached_property
    def members(self) -> list[np.ndarray]:
        """Positions of the rows of each class."""
        order = np.argsort(self.codes, kind="stable")
        return np.split(order, np.searchsorted(self.codes[order], np.arange(1, len(self.classes))))

    @cached_property
    def membership(self) -> np.ndarray:
        """One where a row is of a class, else zero, shape (rows, classes)."""
        return np.eye(len(self.classes))[self.codes]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows of each class."""
        return np.bincount(self.codes, minlength=len(self.classes))


@dataclass(frozen=True)
class Rows:
    """A data set in encoded form.

    Attributes
    ----------
    labels : Labels
        The observed labels, in a replicate too.
    cells : tuple
        Cells of each block, shape (rows, columns), dense or CSR.
    class_counts : array of int, shape (classes,)
        Number of rows of each class; in a replicate, that of labels drawn anew.
    """

    labels: Labels
    cells: tuple[Any, ...]
    class_counts: np.ndarray


def encode(model: BoundModel, X: Any, y: Any, sample_weight: Any = None) -> Rows:
    """The observed data, in which a row of weight w occurs w times.

    Raises
    ------
    ValueError
        If X or y does not fit the model, a weight is no whole number, or count vectors hold fractions.
    """
    table = as_table(X)
    classes = model.schema.classes
    codes = encode_labels(y, table.num_rows, classes)
    cells = model.read(table).whole()
    if sample_weight is not None:
        copies = _copies(sample_weight, table.num_rows)
        codes, cells = codes[copies], tuple(x[copies] for x in cells)
    for block, x in zip(model.blocks, cells, strict=True):
        entries = np.asarray(x.data if scipy.sparse.issparse(x) else x)
        if block.has_totals and (entries != np.rint(entries)).any():
            raise ValueError(
                f"the count vectors of {block.name!r} hold fractions (weights such as tf-idf), which no "
                "distribution of counts draws: check the model of the counts themselves"
            )
    labels = Labels(codes, [str(label) for label in classes.tolist()])
    return Rows(labels, cells, labels.sizes)


def _copies(sample_weight: Any, num_rows: int) -> np.ndarray:
    """Positions of rows, each as often as its weight."""
    weights = check_weights(sample_weight, num_rows)
    broken = np.flatnonzero(weights != np.rint(weights))
    if len(broken):
        raise ValueError(
            f"sample_weight of row {broken[0]} is {weights[broken[0]]:g}: a check draws w rows for a row of weight w, "
            "and needs whole numbers; give frequencies, or leave sample_weight out to check each row once"
        )
    return np.repeat(np.arange(num_rows), weights.astype(np.int64))


def draws(posterior: Posterior, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
    """One set of parameters for each replicate, no leading axes."""
    if isinstance(posterior, PointPosterior):
        for _ in range(number):
            yield posterior.parameters
        return
    if isinstance(posterior, SampledPosterior):
        flat = flatten(posterior.parameters)
        for s in np.linspace(0, len(flat.class_prob) - 1, number).round().astype(int):
            yield _at(flat, s)
        return
    size = sum(8 * np.size(leaf) for leaf in jax.tree.leaves(posterior.model.families))
    step = max(1, DRAW_BYTES // max(size, 1))
    for start in range(0, number, step):
        flat = flatten(posterior.parameter_draws(1, min(step, number - start), int(rng.integers(2**31))))
        for s in range(len(flat.class_prob)):
            yield _at(flat, s)


def _at(flat: ModelParameters, s: int) -> ModelParameters:
    return jax.tree.map(lambda value: value[s], flat)


@in_float64
def replicate(model: BoundModel, parameters: ModelParameters, data: Rows, rng: np.random.Generator) -> Rows:
    """A data set of the model in which each row keeps its label, its missing cells and its totals of count vectors."""
    prob = np.asarray(parameters.class_prob, dtype=np.float64)
    class_counts = rng.multinomial(len(data.labels.codes), prob / prob.sum())
    cells = tuple(
        _draw_cells(block, values, x, data.labels, rng)
        for block, values, x in zip(model.blocks, parameters.blocks, data.cells, strict=True)
    )
    return Rows(data.labels, cells, class_counts)


def _draw_cells(block: Block, values: Mapping[str, Any], x: Any, labels: Labels, rng: np.random.Generator) -> Any:
    """New cells of a block, like the observed `x` in shape, missing cells and totals."""
    totals = np.asarray(x.sum(axis=1)).astype(np.int64) if block.has_totals else None
    if totals is not None and scipy.sparse.issparse(x):
        words = block.family.draw_sparse(values, labels.members, totals, rng)
        if words is not None:
            return words
    drawn = np.empty(x.shape)
    for c, at in enumerate(labels.members):
        if not len(at):
            continue
        number = _rounded_up(len(at))
        of_class = {name: np.asarray(value)[c] for name, value in values.items()}
        if totals is None:
            found = draw(block.family.likelihood(**of_class), rng, (number,))
        else:
            found = draw(block.family.likelihood(**of_class, total_count=np.resize(totals[at], number)), rng)
        drawn[at] = found[: len(at)]
    drawn[np.isnan(x.toarray() if scipy.sparse.issparse(x) else x)] = np.nan
    return drawn


def _rounded_up(number: int) -> int:
    """The number, or up to an eighth more. Draws in JAX are compiled for each shape, and this makes the shapes few."""
    step = 1 << max(number.bit_length() - 4, 0)
    return -(-number // step) * step
