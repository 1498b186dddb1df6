"""A fitted posterior in flat form: arrays from which the log densities of rows follow, with NumPy alone."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial
from io import BytesIO
from math import prod
from typing import Any, Self
from zlib import crc32

import numpy as np

from bayesnb.core.label_scores import LabelScores
from bayesnb.core.plain_formulas import log_correction, mixed, rising_in_numpy

# --------------------------------------------------------------------------------------------------
# How cells become codes and numbers
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """How the cells of a column become codes, or numbers, of which missing ones are NaN.

    Attributes
    ----------
    column : int
        Position among `Scorer.columns`.
    recipe : str, default "copy"
        What is made of the cells first, with `settings`, pairs of name and value.
    categories : tuple, optional
        The values whose positions are the codes.
    others : bool
        Whether the last category is that of all values that are none of the others.
    edges : tuple of float, optional
        Ascending numbers that divide codes: the code of a number is how many of them are not above it.
    lowest, highest : float
        A number is in the support if it is between these.
    whole : bool
        And, if so, a whole number.
    family, holds, hint : str
        For errors: who needs the number, what numbers it needs, and what to do about others.
    tolerant : bool
        Whether a number outside the support is a missing one, with a warning.
    """

    column: int
    recipe: str = "copy"
    settings: tuple[tuple[str, Any], ...] = ()
    categories: tuple[Any, ...] | None = None
    others: bool = False
    edges: tuple[float, ...] | None = None
    lowest: float = -np.inf
    highest: float = np.inf
    whole: bool = False
    family: str = field(default="", compare=False)
    holds: str = field(default="", compare=False)
    hint: str = field(default="", compare=False)
    tolerant: bool = False

    @property
    def num_codes(self) -> int:
        """Number of codes without that of a missing cell, which is the next one; zero for numbers."""
        return len(self.categories) if self.categories is not None else len(self.edges or ()) + (self.edges is not None)


def codes_in_bins(numbers: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """How many of some ascending edges are not above each number; one more than there are edges for a missing one."""
    return np.where(np.isnan(numbers), len(edges) + 1, np.searchsorted(edges, numbers, side="right"))


# --------------------------------------------------------------------------------------------------
# Features of one kind, all of them evaluated at once.
#
# Arrays have the axes (classes, features, rows): NumPy is fast along the last axis. A missing cell has the log density
# zero. Terms that all classes share are left out.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Features whose log density is looked up by their codes.

    Attributes
    ----------
    entries : array, shape (classes, entries)
        What each feature adds, feature after feature, with its weight.
    start : array of int, shape (features,)
        The entry of a feature whose codes are all zero.
    coding, stride : array of int, shape (features, codes)
        Which codes a feature has, and how many entries further a code is by one.
    """

    entries: np.ndarray
    start: np.ndarray
    coding: np.ndarray
    stride: np.ndarray

    def log_density(self, codes: np.ndarray) -> np.ndarray:
        """What the features add, from codes (codes, rows)."""
        places = self.start[:, None] + codes[self.coding[:, 0]] * self.stride[:, :1]
        for k in range(1, self.coding.shape[1]):  # a sum over an axis of one code takes five times as long
            places += codes[self.coding[:, k]] * self.stride[:, k : k + 1]
        return self.entries.take(places, axis=1)


class Features:
    """Features of one kind, each of one number; the last axis of every array is that of the features."""

    def take(self, features: Sequence[int], number: np.ndarray) -> Self:
        """Some of the features, of other numbers."""
        return type(self)(**{name: array[..., features] for name, array in vars(self).items()} | {"number": number})


def joined_features[F: Features](parts: Sequence[F]) -> F:
    """Features of one kind as one record."""
    return type(parts[0])(
        **{name: np.concatenate([vars(one)[name] for one in parts], axis=-1) for name in vars(parts[0])}
    )


@dataclass(frozen=True)
class StudentT(Features):
    r"""Features whose log density is :math:`c + e \log(1 + q)`: Student-t and Lomax densities, perhaps beside a zero.

    Attributes
    ----------
    number : array of int, shape (features,)
        Which number each feature describes.
    is_log : array of int, shape (features,)
        Whether it describes the logarithm.
    is_linear : array of int, shape (features,)
        Whether q is the number over `scale` (Lomax). Else it is the square of the number less `loc`, times `scale`
        (Student-t).
    has_zero : array of int, shape (features,)
        Whether a zero has the log density `at_zero`.
    loc, scale, exponent, constant, at_zero : array, shape (classes, features)

    See Also
    --------
    Gaussian, LogNormal, Exponential, Hurdle : Their posteriors state one.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> posterior = nb.Exponential(concentration=np.array([[3.0], [5.0]]), rate=np.array([[2.0], [4.0]]))
    >>> posterior.scorer().log_density(np.array([[0.0, 1.0]])).round(3)
    array([[[ 0.405, -1.216]],
    <BLANKLINE>
           [[ 0.223, -1.116]]])
    """

    number: np.ndarray
    is_log: np.ndarray
    is_linear: np.ndarray
    has_zero: np.ndarray
    loc: np.ndarray
    scale: np.ndarray
    exponent: np.ndarray
    constant: np.ndarray
    at_zero: np.ndarray

    @classmethod
    def of(cls, loc: np.ndarray, scale: np.ndarray, exponent: np.ndarray, constant: np.ndarray) -> Self:
        """Student-t densities of the numbers 0, 1, ..., given arrays that broadcast to (classes, features)."""
        arrays = np.broadcast_arrays(loc, scale, exponent, constant)
        no = np.zeros(arrays[0].shape[-1], dtype=np.intp)
        of_numbers = dict(zip(("loc", "scale", "exponent", "constant"), arrays, strict=True))
        return cls(np.arange(len(no)), no, no, no, **of_numbers, at_zero=np.zeros(arrays[0].shape))

    def log_density(self, numbers: np.ndarray) -> np.ndarray:
        """Log densities from numbers (numbers, rows)."""
        x = numbers[self.number]
        missing, has_zero = np.isnan(x), self.has_zero[:, None] == 1
        zero = x == 0 if has_zero.any() else False
        if self.is_log.any():
            x = np.where(self.is_log[:, None] == 1, np.log(np.where(x > 0, x, 1.0)), x)
        away, scale = x - self.loc[..., None], self.scale[..., None]
        excess = np.square(away) * scale
        if self.is_linear.any():
            excess = np.where(self.is_linear[:, None] == 1, away / scale, excess)
        found = self.constant[..., None] + self.exponent[..., None] * np.log1p(excess)
        if has_zero.any():
            found = np.where(has_zero, np.where(zero, self.at_zero[..., None], found), found)
        return np.where(missing, 0.0, found)


@dataclass(frozen=True)
class RisingFactorials(Features):
    r"""Features of counts, whose log density is a difference of logarithms of rising factorials.

    It is :math:`c + r(a, x) - r(b, s + x)` with :math:`r(a, x) = \log\Gamma(a + x) - \log\Gamma(a)`, or
    :math:`c + r(a, x) - b x` where s is NaN.

    Attributes
    ----------
    number : array of int, shape (features,)
        Which number each feature describes.
    shift : array, shape (features,)
        s.
    up, down, constant : array, shape (classes, features)
        a, b and c.

    See Also
    --------
    Poisson, Geometric, NegativeBinomial : Their posteriors state one.

    Examples
    --------
    >>> import numpy as np
    >>> import bayesnb as nb
    >>> posterior = nb.Poisson(concentration=np.array([[2.0], [3.0]]), rate=np.ones((2, 1)))
    >>> posterior.scorer().log_density(np.array([[0.0, 2.0]])).round(3)
    array([[[-1.386, -0.981]],
    <BLANKLINE>
           [[-2.079, -0.981]]])
    """

    number: np.ndarray
    shift: np.ndarray
    up: np.ndarray
    down: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, shift: float, up: np.ndarray, down: np.ndarray, constant: np.ndarray) -> Self:
        """Features of the numbers 0, 1, ..., given arrays that broadcast to (classes, features)."""
        arrays = np.broadcast_arrays(up, down, constant)
        number = np.arange(arrays[0].shape[-1])
        return cls(number, np.full(len(number), shift), *arrays)

    def log_density(self, numbers: np.ndarray) -> np.ndarray:
        """Log densities from numbers (numbers, rows)."""
        x, shift, down = numbers[self.number], self.shift[:, None], self.down[..., None]
        # The order of operations of the families: large terms cancel, and another order would round them differently.
        rest = np.where(np.isnan(shift), x * down, rising_in_numpy(down, np.nan_to_num(shift) + x))
        found = self.constant[..., None] + rising_in_numpy(self.up[..., None], x) - rest
        return np.where(np.isnan(x), 0.0, found)


@dataclass(frozen=True)
class MultivariateT:
    """A feature of several numbers whose density is multivariate Student-t.

    Attributes
    ----------
    numbers : array of int, shape (columns,)
        Which numbers it describes.
    loc : array, shape (classes, columns)
    matrix : array, shape (classes, columns, columns)
        It measures squared distances from `loc`.
    df : array, shape (classes,)
        Degrees of freedom.

    See Also
    --------
    MultivariateGaussian : Its posterior states one.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.families import MultivariateT
    >>> feature = MultivariateT(np.arange(2), np.zeros((1, 2)), np.eye(2)[None], np.array([5.0]))
    >>> feature.log_density(np.array([[0.0, 1.0], [0.0, np.nan]])).round(3)
    array([[[-0.228, -2.243]]])
    """

    numbers: np.ndarray
    loc: np.ndarray
    matrix: np.ndarray
    df: np.ndarray

    @cached_property
    def _roots(self) -> dict[tuple[int, ...], tuple[np.ndarray, ...]]:
        """What `root` gives, by the columns that are observed: few sets of them occur."""
        return {}

    def root(self, columns: tuple[int, ...]) -> tuple[np.ndarray, ...]:
        """A matrix root (classes, k, k) that makes distances lengths; constant, exponent (classes, 1) and location."""
        if columns not in self._roots:
            k, at = len(columns), list(columns)
            part = self.matrix[:, at][:, :, at]
            size = np.sqrt(np.diagonal(part, axis1=1, axis2=2))
            factor = np.linalg.cholesky(part / size[:, :, None] / size[:, None, :])
            half_log_det = (np.log(np.diagonal(factor, axis1=1, axis2=2)) + np.log(size)).sum(axis=1)
            constant = rising_in_numpy(self.df / 2, np.array(k / 2)) - 0.5 * k * np.log(np.pi) - half_log_det
            root = np.linalg.inv(factor) / size[:, None, :]
            self._roots[columns] = root, constant[:, None], -0.5 * (self.df + k)[:, None], self.loc[:, at]
        return self._roots[columns]

    def log_density(self, numbers: np.ndarray) -> np.ndarray:
        """Log density (classes, 1, rows) from numbers (numbers, rows)."""
        x = numbers[self.numbers]
        there = ~np.isnan(x)
        found = np.zeros((len(self.loc), 1, x.shape[1]))
        kinds = there.T[:1]
        if not (kinds == there.T).all():
            kinds = np.unique(there.T, axis=0)  # imports numpy.ma, which takes 6 ms
        for kind in kinds[kinds.any(axis=1)]:
            rows = np.flatnonzero((kind == there.T).all(axis=1)) if len(kinds) > 1 else slice(None)
            found[:, 0, rows] = self.of_columns(tuple(np.flatnonzero(kind).tolist()), x[kind][:, rows])
        return found

    def of_columns(self, columns: tuple[int, ...], x: np.ndarray) -> np.ndarray:
        """Log density (classes, rows) of some of the columns (columns, rows), without a missing cell."""
        root, constant, exponent, loc = self.root(columns)
        lengths = root @ (x - loc[..., None])
        return constant + exponent * np.log1p(np.square(lengths).sum(axis=1))


# --------------------------------------------------------------------------------------------------
# The flat form of a posterior
# --------------------------------------------------------------------------------------------------

PIECE = 2**17
"""Log densities in memory at a time: one mebibyte, which stays in a core's own cache."""


@dataclass(frozen=True)
class Scorer:
    r"""A fitted posterior in flat form.

    With features j of weight w and the small probability s that a cell or a row says nothing (`mixed`), it is

    .. math:: \log p(x, c) = \log \pi_c + m\Big(\sum_j w_j\, m(\log p(x_j \mid c))\Big) + \log g_c - \log p_c,
        \qquad \pi_c \propto p_c\, e^{b_c},

    up to a number that all classes share. It holds nothing else than text, numbers and arrays.

    Attributes
    ----------
    classes, columns : tuple
        Labels, and names of the columns that rows have.
    code_readings, number_readings : tuple of Reading
        How a row becomes codes and numbers, in the order in which the features count them.
    bins : tuple of (int, array of shape (edges,))
        Further codes, made of numbers (`codes_in_bins`): which number, and its edges.
    tables : Tables
        The features that are looked up.
    densities : tuple of StudentT, RisingFactorials or MultivariateT
        The other features.
    weight : array, shape (features,)
        Of the other features.
    subjects : tuple
        Names of what the features describe, in the order of an explanation.
    subject : array of int, shape (features,)
        Which of them each feature describes, in the order above; features of weight zero are left out.
    log_class_prob : array, shape (classes,)
        p of the rows.
    offset : float or array of shape (classes,)
        b.
    log_given : array of shape (classes,), or None
        g, class probabilities of another population. None if they are those of the rows.
    share, share_of_feature : float
        s of a row and of a cell.
    forms : tuple of (int, str, str, tuple of str)
        Columns whose numbers are written as text: position, decimal sign, unit, and texts that mark a missing cell.
    label_scores : LabelScores, optional
        Leave-one-out probabilities of labels, from which sets of labels follow.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesnb.serve.scorer import Reading, Scorer, Tables
    >>> log_density = np.log([[0.2, 0.8, 1.0], [0.9, 0.1, 1.0]])  # of a missing cell zero
    >>> start, coding, stride = np.zeros(1, int), np.zeros((1, 1), int), np.ones((1, 1), int)
    >>> scorer = Scorer(
    ...     classes=("ham", "spam"),
    ...     columns=("subject",),
    ...     code_readings=(Reading(0, categories=("free", "hello")),),
    ...     number_readings=(),
    ...     bins=(),
    ...     tables=Tables(log_density, start, coding, stride),
    ...     densities=(),
    ...     weight=np.empty(0),
    ...     subjects=("subject",),
    ...     subject=np.zeros(1, int),
    ...     log_class_prob=np.log([0.5, 0.5]),
    ... )
    >>> scorer.proba(scorer.log_joint(np.array([[0, 1, 2]]), np.empty((0, 3)))).round(3)
    array([[0.182, 0.818],
           [0.889, 0.111],
           [0.5  , 0.5  ]])
    """

    classes: tuple[Any, ...]
    columns: tuple[Any, ...]
    code_readings: tuple[Reading, ...]
    number_readings: tuple[Reading, ...]
    bins: tuple[tuple[int, np.ndarray], ...]
    tables: Tables
    densities: tuple[Any, ...]
    weight: np.ndarray
    subjects: tuple[Any, ...]
    subject: np.ndarray
    log_class_prob: np.ndarray
    offset: Any = 0.0
    log_given: np.ndarray | None = None
    share: float = 0.0
    share_of_feature: float = 0.0
    forms: tuple[tuple[int, str, str, tuple[str, ...]], ...] = ()
    label_scores: LabelScores | None = None

    def with_class_probs(self, probs: np.ndarray) -> Self:
        """The scorer for another population, with its class probabilities (classes,)."""
        with np.errstate(divide="ignore"):
            given = np.log(probs)
        return replace(self, log_given=given) if self.has_weights else replace(self, log_class_prob=given)

    @property
    def has_weights(self) -> bool:
        """Whether the class probabilities of the rows stay beside given ones."""
        return self.share > 0 or self.log_given is not None

    @cached_property
    def log_prior_of_rows(self) -> np.ndarray:
        joint = self.log_class_prob + self.offset
        return joint - joint.max() - np.log(np.exp(joint - joint.max()).sum())

    @property
    def log_prior(self) -> np.ndarray:
        """Log class probabilities before any cell is seen, shape (classes,)."""
        return self.log_prior_of_rows if self.log_given is None else self.log_given

    def contributions(self, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """What each feature adds to the log joint density, shape (classes, features, rows).

        Parameters
        ----------
        codes : array of int, shape (code readings, rows)
        numbers : array, shape (number readings, rows)
        """
        codes = np.concatenate([codes, *(codes_in_bins(numbers[k], edges)[None] for k, edges in self.bins)])
        of_tables = self.tables.log_density(codes)
        if not self.densities:
            return of_tables
        density = np.concatenate([kind.log_density(numbers) for kind in self.densities], axis=1)
        return np.concatenate([of_tables, self.of_densities(density)], axis=1)

    def of_densities(self, density: np.ndarray, **how: Any) -> np.ndarray:
        """What features add whose log densities are given, both (classes, features, rows); `how` is for `mixed`."""
        by_class = mixed(np.moveaxis(density, 0, -1), self.log_class_prob, self.share_of_feature, **how)
        return self.weight[:, None] * np.moveaxis(by_class, -1, 0)

    def log_joint(self, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Log joint density of rows and classes up to a number for each row, shape (rows, classes).

        Parameters and the rest as for `contributions`; the rows are taken some at a time.
        """
        num_rows, num_features = codes.shape[1], len(self.subject)
        found = np.empty((num_rows, len(self.classes)))
        step = max(1, PIECE // max(1, len(self.classes) * num_features))
        for start in range(0, num_rows, step):
            rows = slice(start, start + step)
            found[rows] = self.joined(self.contributions(codes[:, rows], numbers[:, rows]).sum(axis=1).T)
        return found

    def joined(self, of_features: np.ndarray, **how: Any) -> np.ndarray:
        """`log_joint` from the sum of what all features add, shape (rows, classes); `how` is for `mixed`."""
        joint = self.log_prior_of_rows + mixed(of_features, self.log_prior_of_rows, self.share, **how)
        return joint + log_correction(self.log_given, self.log_class_prob)

    @staticmethod
    def log_proba(log_joint: np.ndarray) -> np.ndarray:
        """Log class probabilities (rows, classes); -inf in every class of a row without density under any."""
        highest = log_joint.max(axis=1, keepdims=True)
        relative = log_joint - np.where(np.isneginf(highest), 0.0, highest)
        total = np.exp(relative).sum(axis=1, keepdims=True)
        return relative - np.log(np.where(total > 0, total, 1.0))

    def proba(self, log_joint: np.ndarray) -> np.ndarray:
        """Class probabilities (rows, classes); zero in every class of a row without density under any."""
        return np.exp(self.log_proba(log_joint))

    def to_bytes(self) -> bytes:
        """The scorer as bytes, which `from_bytes` reads.

        Raises
        ------
        TypeError
            If a label, a name or a category is neither text, a number, a boolean nor a tuple of these.
        """
        arrays: list[bytes] = []
        told = json.dumps(self, default=partial(_as_plain, arrays=arrays)).encode()
        numbers = b"".join(arrays)
        body = len(told).to_bytes(8, "little") + len(numbers).to_bytes(8, "little") + told + numbers
        return MARKER + crc32(body).to_bytes(4, "little") + body

    @classmethod
    def from_bytes(cls, raw: bytes | memoryview) -> Self:
        """The scorer that `to_bytes` wrote. Bytes after it are left alone.

        Raises
        ------
        ValueError
            If the bytes are no scorer, are damaged or cut, or are those of a later version.
        """
        try:
            return cls._read(memoryview(raw))
        except Exception as error:  # whatever forged bytes lead to
            raise ValueError(f"the bytes are no scorer of this version of bayesnb, or are damaged ({error})") from error

    @classmethod
    def _read(cls, raw: memoryview) -> Self:
        _insist(bytes(raw[: len(MARKER)]) == MARKER, "they do not begin as one")
        body = raw[len(MARKER) + 4 :]
        start = 16 + int.from_bytes(body[:8], "little")
        end = start + int.from_bytes(body[8:16], "little")
        _insist(len(body) >= end, "they end too early")
        _insist(crc32(body[:end]) == int.from_bytes(raw[len(MARKER) :][:4], "little"), "their sum is another")
        found = _from_plain(json.loads(bytes(body[16:start])), BytesIO(body[start:end]))
        _insist(isinstance(found, cls), "they hold something else")
        found.check()
        return found

    def check(self) -> None:
        """Raise an error if parts do not fit each other: rows of the lowest and of the highest codes need them."""
        _insist(all(0 <= share < 1 for share in (self.share, self.share_of_feature)), "of a share")
        columns = [reading.column for reading in (*self.code_readings, *self.number_readings)]
        _insist(all(0 <= column < len(self.columns) for column in columns), "of a reading")
        _insist(all(number >= 0 for number, _ in self.bins), "of bins")
        _insist(len(np.bincount(self.subject, minlength=len(self.subjects))) == len(self.subjects), "of a subject")
        number, highest = len(self.classes), [reading.num_codes for reading in self.code_readings]
        for codes, cell in ((0 * np.array(highest, int), 1.0), (np.array(highest, int), np.nan)):
            with np.errstate(all="ignore"):
                found = self.contributions(codes[:, None], np.full((len(self.number_readings), 1), cell))
                joint = self.joined(found.sum(axis=1).T)
            _insist(found.shape == (number, len(self.subject), 1) and joint.shape == (1, number), "of a feature")
        _insist(self.label_scores is None or len(self.label_scores.thresholds(0.5)) == number, "of label scores")


# --------------------------------------------------------------------------------------------------
# Records as text and arrays
# --------------------------------------------------------------------------------------------------

MARKER = b"\x93bayesnb scorer 2\x00"
"""How the bytes of a scorer begin, with the version of their form."""

RECORDS = {
    kind.__name__: kind for kind in (Scorer, Reading, Tables, StudentT, RisingFactorials, MultivariateT, LabelScores)
}


def _as_plain(value: Any, arrays: list[bytes]) -> dict[str, Any]:
    """A record, or an array without its numbers, which go into a list, as JSON writes them."""
    if isinstance(value, np.ndarray):
        kind = "<i8" if value.dtype.kind in "biu" else "<f8"
        arrays.append(value.astype(kind).tobytes())
        return {"array": [kind, value.shape]}
    if is_dataclass(value):
        return {"record": type(value).__name__} | {one.name: getattr(value, one.name) for one in fields(value)}
    raise TypeError(f"a scorer in a file holds text, numbers, booleans and tuples of these, not {value!r}")


def _from_plain(value: Any, numbers: BytesIO) -> Any:
    """What `_as_plain` wrote, the numbers of arrays in the order in which it wrote them."""
    if isinstance(value, list):
        return tuple(_from_plain(one, numbers) for one in value)
    if not isinstance(value, dict):
        return value
    if "record" in value:
        return RECORDS[value.pop("record")](**{name: _from_plain(one, numbers) for name, one in value.items()})
    kind, shape = value["array"]
    _insist(kind in ("<f8", "<i8") and min(shape, default=0) >= 0, "of an array")
    array = np.frombuffer(numbers.read(8 * prod(shape)), kind).reshape(shape)
    _insist(kind == "<f8" or array.min(initial=0) >= 0, "of a place")
    return array


def _insist(condition: bool, told: str) -> None:
    if not condition:
        raise ValueError(told)
