"""Combinations of the categories of several columns: their codes, those that are held, and sums over missing cells."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayesnb.arrays import namespace
from bayesnb.families.look_up import look_up_cells

__all__ = ["UNSEEN", "CombinationOfCategories", "Combinations"]

UNSEEN = "<unseen>"
"""Label of all combinations that are not held."""

ROWS = 256
"""Rows whose matches with the combinations are in memory at a time under JAX."""


@dataclass(frozen=True)
class Combinations:
    """The combinations of the categories of some columns, of which some have a probability of their own.

    The code of a combination has a digit for each column, the code of the column's category; the last column's changes
    first. The combinations that are held are entries 0, 1, ... of every vector of probabilities. All others together
    are its last entry, which they share evenly; there is no such entry if all combinations are held.

    Attributes
    ----------
    held : tuple of int
        Codes of the combinations that are held, sorted.
    sizes : tuple of int
        Number of categories of each column.
    """

    held: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many combinations there are."""
        return math.prod(self.sizes)

    @property
    def num_unseen(self) -> int:
        """How many combinations are not held."""
        return self.number - len(self.held)

    @cached_property
    def multiplicity(self) -> np.ndarray:
        """Number of combinations that share each entry, shape (entries,)."""
        ones = np.ones(len(self.held))
        return np.append(ones, float(self.num_unseen)) if self.num_unseen else ones

    @cached_property
    def _codes(self) -> np.ndarray:
        return np.array(self.held, dtype=np.int64)

    @cached_property
    def categories(self) -> np.ndarray:
        """The category of each column in the held combinations, shape (held, columns)."""
        return self.split(self._codes)

    def codes(self, x: Any) -> Any:
        """Code of each row's combination, shape (rows,); all cells are observed."""
        return _joined(x, self.sizes)

    def split(self, codes: Any) -> Any:
        """The category of each column, a last axis, in combinations of these codes."""
        xp, _ = namespace(codes)
        return xp.stack(xp.unravel_index(codes, self.sizes), axis=-1)

    def entries(self, codes: Any) -> Any:
        """The entry of each combination."""
        xp, _ = namespace(codes)
        if not self.held:
            return xp.zeros(np.shape(codes), dtype=int)
        held = xp.asarray(self._codes)
        at = xp.minimum(xp.searchsorted(held, codes), len(self.held) - 1)
        return xp.where(held[at] == codes, at, len(self.multiplicity) - 1)

    def unseen(self, number: Any) -> Any:
        """Code of the combination that is the `number`-th among those that are not held."""
        xp, _ = namespace(number)
        before = xp.asarray(self._codes - np.arange(len(self.held)))
        return number + xp.searchsorted(before, number, side="right")

    def rows(self, entries: Any, numbers: Any) -> Any:
        """Rows of codes, shape (..., columns), given their entries and which of the combinations not held they are."""
        xp, _ = namespace(entries)
        codes = xp.asarray(np.append(self._codes, 0))[entries]
        if self.num_unseen:
            codes = xp.where(entries == len(self.held), self.unseen(numbers), codes)
        return self.split(codes).astype(float)

    def labels(self, categories: Sequence[Sequence[Any]]) -> tuple[str, ...]:
        """The entries in words, given the categories of each column."""
        named = [tuple(of_column[k] for of_column, k in zip(categories, row, strict=True)) for row in self.categories]
        labels = [" & ".join(map(str, parts)) for parts in named]
        if len({*labels, UNSEEN}) <= len(labels):
            labels = [repr(parts) for parts in named]
        return (*labels, UNSEEN) if self.num_unseen else tuple(labels)

    def log_each(self, log_prob: Any) -> Any:
        """Log probability of one combination of each entry, given those of the entries (..., entries)."""
        return log_prob - np.log(self.multiplicity)

    def tabulated(self, log_prob: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log probabilities of what the rows show: sums over the combinations that agree with their observed cells.

        Parameters
        ----------
        log_prob : array, shape (..., entries)
        x : array, shape (rows, columns)
            Codes; missing ones NaN.

        Returns
        -------
        tuple of array of shape (..., results) and array of int of shape (rows,)
            A table, and the place of each row in it.
        """
        observed = ~np.isnan(x)
        if observed.all():
            patterns, pattern = np.ones((1, len(self.sizes)), dtype=bool), np.zeros(len(x), dtype=np.intp)
        else:
            patterns, pattern = np.unique(observed, axis=0, return_inverse=True)
            pattern = pattern.ravel()
        places = np.empty(len(x), dtype=np.intp)
        tables: list[np.ndarray] = []
        width = 0
        for k, columns in enumerate(patterns):
            of_pattern = pattern == k
            shown, table = self._sums(log_prob, columns)
            sizes = tuple(size for size, kept in zip(self.sizes, columns, strict=True) if kept)
            codes = _joined(x[of_pattern][:, columns], sizes).astype(np.int64)
            at = np.minimum(np.searchsorted(shown, codes), max(len(shown) - 1, 0))
            known = shown[at] == codes if len(shown) else np.zeros(len(codes), dtype=bool)
            places[of_pattern] = width + np.where(known, at, len(shown))
            tables.append(table)
            width += table.shape[-1]
        return np.concatenate(tables, axis=-1), places

    def _sums(self, log_prob: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of what the held combinations show in some columns, and log probabilities of it, (..., codes + 1).

        The last is that of everything else.

        Parameters
        ----------
        log_prob : array, shape (..., entries)
        columns : array of bool, shape (columns,)
        """
        sizes = np.array(self.sizes, dtype=np.int64)
        agreeing = math.prod(sizes[~columns].tolist())
        codes = _joined(self.categories[:, columns], tuple(sizes[columns].tolist()))
        order = np.argsort(codes, kind="stable")
        shown, starts, number = np.unique(codes[order], return_index=True, return_counts=True)
        log_unseen = (
            self.log_each(log_prob)[..., -1:] if self.num_unseen else np.full((*log_prob.shape[:-1], 1), -np.inf)
        )
        with np.errstate(divide="ignore"):
            table = np.log(np.append(agreeing - number, agreeing)) + log_unseen
        if len(shown):
            held = np.logaddexp.reduceat(log_prob[..., order], starts, axis=-1)
            table[..., :-1] = np.logaddexp(table[..., :-1], held)
        if not columns.any():
            table[:] = 0.0
        return shown, table

    def log_prob_in_jax(self, log_prob: Any, x: Any) -> Any:
        """As `tabulated`, looked up, for JAX to compile, shape (rows, ...).

        Parameters
        ----------
        log_prob : jax.Array, shape (..., entries)
        x : jax.Array, shape (rows, columns)
        """
        sizes = jnp.asarray(self.sizes, dtype=log_prob.dtype)

        def of_row(row: Any) -> Any:
            missing = jnp.isnan(row)
            agrees = (missing | (row == self.categories)).all(axis=-1)
            unseen = jnp.where(missing, sizes, 1.0).prod() - agrees.sum()
            number = jnp.append(agrees, unseen) if self.num_unseen else agrees
            number = number.astype(log_prob.dtype)
            terms = jnp.where(number > 0, self.log_each(log_prob) + jnp.log(jnp.maximum(number, 1.0)), -jnp.inf)
            return jnp.where(missing.all(), 0.0, jax.scipy.special.logsumexp(terms, axis=-1))

        return jax.lax.map(of_row, x, batch_size=ROWS)


def _joined(x: Any, sizes: tuple[int, ...]) -> Any:
    """Codes of rows of digits, the last of which changes first."""
    place = np.cumprod([1, *sizes[:0:-1]])[::-1][: len(sizes)]
    return x @ place.astype(x.dtype) if len(sizes) else namespace(x)[0].zeros(len(x), dtype=int)


class CombinationOfCategories(dist.Distribution):
    """Rows of categories whose combination is drawn by `prob`.

    Parameters
    ----------
    prob : array, shape (..., entries)
    combinations : Combinations
    observed : array of bool, shape (..., columns), optional
        Which cells of the rows the density is about; it sums over the others.
    """

    support = constraints.independent(constraints.nonnegative_integer, 1)
    pytree_data_fields = ("prob", "observed")
    pytree_aux_fields = ("combinations",)

    def __init__(
        self, prob: Any, combinations: Combinations, observed: Any = None, *, validate_args: bool | None = None
    ) -> None:
        self.prob, self.combinations, self.observed = prob, combinations, observed
        event_shape = (len(combinations.sizes),)
        super().__init__(batch_shape=np.shape(prob)[:-1], event_shape=event_shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        """Log probability of rows of codes."""
        value, log_prob = jnp.asarray(value), jnp.log(self.prob)
        if self.observed is None:
            entries = self.combinations.entries(self.combinations.codes(value.astype(int)))
            return look_up_cells(self.combinations.log_each(log_prob), entries)
        cells = jnp.where(self.observed, value, jnp.nan)
        batch = jnp.broadcast_shapes(cells.shape[:-1], log_prob.shape[:-1])
        rows = jnp.broadcast_to(cells, (*batch, *self.event_shape)).reshape(-1, *self.event_shape)
        of_rows = jnp.broadcast_to(log_prob, (*batch, log_prob.shape[-1])).reshape(len(rows), -1)
        found = jax.vmap(lambda row, own: self.combinations.log_prob_in_jax(own, row[None])[0])(rows, of_rows)
        return found.reshape(batch)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Independent rows, shape sample_shape + batch_shape + (columns,); combinations not held are drawn evenly."""
        own, key = jax.random.split(key)
        shape = (*sample_shape, *self.batch_shape)
        entry = jax.random.categorical(own, jnp.log(self.prob), shape=shape)
        return self.combinations.rows(entry, jax.random.randint(key, shape, 0, max(self.combinations.num_unseen, 1)))
