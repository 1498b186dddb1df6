"""Could the model have made these data? Posterior predictive checks for naive Bayes.

A replicate is a data set like the observed one that the fitted model makes: one draw of all parameters, then as many
rows, which share it. A statistic of the observed data that lies outside its values on the replicates is a feature of
the data that the model does not have. The one that matters most here is the dependence of features within a class,
which naive Bayes denies.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from textwrap import wrap
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import scipy.sparse
from numpyro.distributions import constraints

from bayesnb.arrays import in_float64
from bayesnb.blocks import Block, ModelParameters
from bayesnb.families.base import Family
from bayesnb.families.dirichlet_multinomial import DirichletMultinomial
from bayesnb.families.fast import draw, random_generator, whole_number
from bayesnb.families.multinomial import Multinomial
from bayesnb.model import NaiveBayes
from bayesnb.posterior.base import Posterior, flatten
from bayesnb.posterior.point import PointPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.schema import as_table, encode_labels

__all__ = ["Check", "check"]

MAX_PAIRS = 300
"""Pairs of features whose correlation is looked at."""

MAX_FEATURES = 60
"""Features that these pairs are chosen from, so that one small product of matrices gives all correlations."""

MAX_ROWS = 150
"""Rows that are compared with all others."""

MAX_DISCRETE = 200
"""Discrete features in which rows are compared."""

SEEN = 5
"""Rows that must differ from a feature's smallest and largest value for its correlations to say something."""

EXTREME = 0.01
"""Tail probability at which a statistic is called extreme."""

SHOWN = 20
"""Statistics that a repr shows."""

DRAW_BYTES = 2**26
"""Memory for the parameters of many replicates at a time."""


@dataclass(frozen=True)
class Check:
    """What `check` found.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per statistic: ``observed``; ``replicated_mean`` and ``replicated_sd``; ``p_value``, the share of
        replicates whose value is at least the observed one, ties counted half; ``p_value_mcse``, its Monte Carlo
        standard error.
    replicated : pandas.DataFrame, shape (replicates, statistics)
        Values of the statistics on the replicates, NaN where a replicate does not define one.
    dropped : tuple of str
        Statistics that the observed data or every replicate leave undefined.
    """

    table: pd.DataFrame
    replicated: pd.DataFrame
    dropped: tuple[str, ...]

    @property
    def extreme(self) -> tuple[str, ...]:
        """Statistics whose p-value is below 0.01 or above 0.99."""
        tail = np.minimum(self.table["p_value"], 1 - self.table["p_value"])
        return tuple(self.table.index[tail < EXTREME])

    @property
    def by_extremity(self) -> pd.DataFrame:
        """The table, p-values farthest from one half first."""
        order = (self.table["p_value"] - 0.5).abs().sort_values(ascending=False, kind="stable").index
        return self.table.loc[order]

    def plot(self, **options: Any) -> Any:
        """Histograms of the replicated statistics and the observed values; see `bayesnb.plot_check`."""
        from bayesnb.plots.predictive import plot_check

        return plot_check(self, **options)

    def _story(self) -> str:
        extreme = self.extreme
        found = "none is" if not extreme else f"{len(extreme)} {'is' if len(extreme) == 1 else 'are'}"
        text = (
            f"{len(self.table)} statistic{'s' * (len(self.table) != 1)} on {len(self.replicated)} replicated data "
            f"sets: {found} extreme (p-value below {EXTREME} or above {1 - EXTREME})"
        )
        if self.dropped:
            text += f"; undefined and dropped: {_listed(self.dropped)}"
        return f"{text}."

    def __repr__(self) -> str:
        long = len(self.table) > SHOWN
        shown = (self.by_extremity.head(SHOWN) if long else self.table).rename(columns=_short_names)
        lines = ["\n".join(wrap(self._story(), 80)), shown.to_string(float_format=_formatted)]
        return "\n".join([*lines, f"and {len(self.table) - SHOWN} less extreme ones in .table"] if long else lines)

    def _repr_html_(self) -> str:
        long = len(self.table) > SHOWN
        shown = self.by_extremity.head(SHOWN) if long else self.table
        more = f"<p>and {len(self.table) - SHOWN} less extreme ones in <code>.table</code></p>" if long else ""
        return f"<p><b>{escape(self._story())}</b></p>{shown.to_html(float_format=_formatted)}{more}"


def check(
    posterior: Posterior,
    X: Any = None,
    y: Any = None,
    *,
    statistics: Any = None,
    num_replicates: int = 500,
    key: Any = 0,
) -> Check:
    """Compare data with replicates that the fitted model makes.

    Parameters
    ----------
    posterior : Posterior
        A sampled posterior lends its draws, evenly spaced; a point lends its one set of parameters to every replicate,
        which leaves their uncertainty out.
    X : table, shape (rows, columns)
    y : labels, shape (rows,)
    statistics : sequence of str or callable, optional
        Names of built-in statistics, by default all that the model's columns allow, and functions ``f(X, y)`` that
        return a number or a dict of numbers. A function is given the table as it came for the observed data; for
        replicates a pandas frame where the columns have names, else an array (CSR where X is sparse), of the model's
        columns.
    num_replicates : int, default 500
    key : int or JAX key, default 0

    Returns
    -------
    Check

    Raises
    ------
    TypeError
        If the first argument is no posterior, or a function returns no number.
    ValueError
        If X or y is not given, does not fit the model, a name is not that of a statistic or the model has no columns
        for it, or count vectors hold fractions, which are not drawn.

    Notes
    -----
    A replicate has the observed table's number of rows, its missing cells, and each row's total of a count vector;
    labels and all other cells are drawn. The p-value is P(T(replicate) >= T(observed) | data) (Rubin 1984, *Annals of
    Statistics* 12(4); Gelman, Meng and Stern 1996, *Statistica Sinica* 6, Eq. 5). It uses the data twice and is
    conservative: for what the model fits freely, such as a class mean, it stays near one half.

    The built-in statistics, a row for each label:

    - ``class_frequency[class]``: share of the rows.
    - ``mean[column, class]``, ``variance[column, class]``: of columns of numbers; of 0/1 columns the mean.
    - ``zero_share[column, class]``: share of zeros in a column of counts, or in all columns of a count vector.
    - ``burstiness[block, class]``: variance over mean of a word's count, averaged over the words that occur in the
      class. The length of documents is given, and therefore no statistic.
    - ``dependence`` and ``dependence[class]``: mean absolute correlation of pairs of features within a class, at most
      300 pairs chosen at random; a categorical column enters as whether the cell holds its most frequent category.
      Without the class, the average over classes weighted by their rows.
    - ``agreement``: how many other rows of its class agree with a row on more than 80 % of the 0/1 and categorical
      columns, averaged over at most 150 rows.

    Undefined values (a variance of one row, a class without rows) are left out: a p-value counts the replicates that
    define its statistic, and a statistic that the data or all replicates leave undefined is dropped and named in
    `Check.dropped`.

    Examples
    --------
    Two features that copy each other are not independent given the class.

    >>> import numpy as np
    >>> import bayesnb as nb
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 50)
    >>> x = rng.integers(0, 2, 100)
    >>> found = check(nb.fit(nb.NaiveBayes(nb.Bernoulli()), np.column_stack([x, x]), y), np.column_stack([x, x]), y)
    >>> float(found.table.loc["dependence", "p_value"])
    0.0
    """
    if not isinstance(posterior, Posterior):
        raise TypeError(f"posterior is a {type(posterior).__name__}: give what nb.fit(model, X, y) returns")
    if X is None or y is None:
        missing = " and ".join(name for name, value in (("X", X), ("y", y)) if value is None)
        raise ValueError(
            f"a check needs the data, and {missing} is not given: a posterior keeps no rows, so give the table and the "
            "labels, nb.check(posterior, X, y)"
        )
    number = whole_number("num_replicates", num_replicates)
    functions = _read_statistics(statistics)
    model = posterior.model
    data = _encode(model, X, y)
    for_choices, for_draws = random_generator(key).spawn(2)
    measures = _measures(functions, model, data, X, y, for_choices)
    observed: dict[str, float] = {}
    for measure in measures:
        for label, value in zip(measure.labels, measure.observed, strict=True):
            observed[label] = float(value)
    replicated = np.empty((number, len(observed)))
    for s, parameters in enumerate(_draws(posterior, number, for_draws)):
        replicate = _replicate(model, parameters, data, for_draws)
        replicated[s] = np.concatenate([measure.function(replicate) for measure in measures])
    values = dict(zip(observed, replicated.T, strict=True))
    kept = [label for label in observed if np.isfinite(observed[label]) and np.isfinite(values[label]).any()]
    rows = [_summary(observed[label], values[label]) for label in kept]
    table = pd.DataFrame(rows, index=pd.Index(kept, name="statistic"), columns=list(_COLUMNS))
    return Check(
        table=table,
        replicated=pd.DataFrame(
            {label: np.where(np.isfinite(values[label]), values[label], np.nan) for label in kept},
            index=pd.RangeIndex(number, name="replicate"),
        ),
        dropped=tuple(label for label in observed if label not in set(kept)),
    )


_COLUMNS = ("observed", "replicated_mean", "replicated_sd", "p_value", "p_value_mcse")


def _summary(observed: float, replicated: np.ndarray) -> tuple[float, ...]:
    defined = replicated[np.isfinite(replicated)]
    # The same number summed in another order is a tie.
    tied = np.isclose(defined, observed, rtol=1e-12, atol=0.0)
    p_value = float(((defined > observed) & ~tied).mean() + 0.5 * tied.mean())
    sd = float(defined.std(ddof=1)) if len(defined) > 1 else 0.0
    return observed, float(defined.mean()), sd, p_value, float(np.sqrt(p_value * (1 - p_value) / len(defined)))


@dataclass(frozen=True)
class _Rows:
    """A data set in encoded form: class codes (rows,), and cells of each block (rows, columns), dense or CSR."""

    codes: np.ndarray
    cells: tuple[Any, ...]

    def by_class(self, num_classes: int) -> list[np.ndarray]:
        """Positions of the rows of each class."""
        order = np.argsort(self.codes, kind="stable")
        return np.split(order, np.searchsorted(self.codes[order], np.arange(1, num_classes)))


@dataclass(frozen=True)
class _Measure:
    """A statistic made ready for one data set and its replicates: labels, observed values and how to compute them."""

    labels: list[str]
    observed: np.ndarray
    function: Callable[[_Rows], np.ndarray]


def _encode(model: NaiveBayes, X: Any, y: Any) -> _Rows:
    table = as_table(X)
    codes = encode_labels(y, table.num_rows, model.schema.classes)  # type: ignore[union-attr]
    chunks = [chunk for _, chunk in model.encode(table)]
    cells = tuple(
        scipy.sparse.csr_array(scipy.sparse.vstack(pieces)) if scipy.sparse.issparse(pieces[0]) else np.vstack(pieces)
        for pieces in zip(*chunks, strict=True)
    )
    for block, x in zip(model.blocks, cells, strict=True):
        entries = np.asarray(x.data if scipy.sparse.issparse(x) else x)
        if block.is_vector and (entries != np.rint(entries)).any():
            raise ValueError(
                f"the count vectors of {block.name!r} hold fractions (weights such as tf-idf), which no "
                "distribution of counts draws: check the model of the counts themselves"
            )
    return _Rows(codes, cells)


def _draws(posterior: Posterior, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
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
    step = max(1, min(number, DRAW_BYTES // max(size, 1)))
    for start in range(0, number, step):
        flat = flatten(posterior._parameters(1, min(step, number - start), int(rng.integers(2**31))))
        for s in range(len(flat.class_prob)):
            yield _at(flat, s)


def _at(flat: ModelParameters, s: int) -> ModelParameters:
    blocks = tuple({name: value[s] for name, value in block.items()} for block in flat.blocks)
    return ModelParameters(flat.class_prob[s], blocks)


@in_float64
def _replicate(model: NaiveBayes, parameters: ModelParameters, data: _Rows, rng: np.random.Generator) -> _Rows:
    """A data set of the model, with the observed one's number of rows, missing cells and totals of count vectors."""
    size = len(data.codes)
    codes = draw(dist.CategoricalProbs(np.asarray(parameters.class_prob)), rng, (size,)).astype(np.intp)
    rows = _Rows(codes, ())
    members = rows.by_class(len(parameters.class_prob))
    cells: list[Any] = []
    for block, values, x in zip(model.blocks, parameters.blocks, data.cells, strict=True):
        totals = np.asarray(x.sum(axis=1)).astype(np.int64) if block.is_vector else None
        if totals is not None and scipy.sparse.issparse(x) and isinstance(block.family, Multinomial):
            cells.append(_draw_words(np.asarray(values["prob"]), members, totals, rng))
            continue
        if totals is not None and scipy.sparse.issparse(x) and isinstance(block.family, DirichletMultinomial):
            cells.append(_draw_words(np.asarray(values["concentration"]), members, totals, rng, urn=True))
            continue
        drawn = np.empty(x.shape)
        for c, at in enumerate(members):
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
        cells.append(drawn)
    return _Rows(codes, tuple(cells))


def _rounded_up(number: int) -> int:
    """At most an eighth more: a likelihood that only JAX can draw from then compiles for a handful of shapes."""
    step = 1 << max(number.bit_length() - 4, 0)
    return -(-number // step) * step


def _draw_words(
    weights: np.ndarray, members: list[np.ndarray], totals: np.ndarray, rng: np.random.Generator, *, urn: bool = False
) -> Any:
    """Counts word by word: short documents cost their words, not the vocabulary.

    Multinomial with the weights as probabilities; Dirichlet-multinomial with the weights as concentrations if drawn
    from Pólya's `urn`.
    """
    rows, words = [], []
    for edges, at in zip(np.cumsum(weights, axis=1), members, strict=True):
        rows.append(np.repeat(at, totals[at]))
        found = np.searchsorted(edges, rng.uniform(size=len(rows[-1])) * edges[-1], side="right")
        found = np.minimum(found, len(edges) - 1)
        words.append(found[_copied(totals[at], edges[-1], rng)] if urn else found)
    place = (np.concatenate(rows), np.concatenate(words))
    return scipy.sparse.coo_array((np.ones(len(place[0])), place), shape=(len(totals), weights.shape[1])).tocsr()


def _copied(lengths: np.ndarray, strength: float, rng: np.random.Generator) -> np.ndarray:
    """Which word of its document each word copies in Pólya's urn, itself if it is new: positions among all words.

    After k words the next is new with probability strength / (strength + k), else one of them, all alike probable.
    """
    itself = np.arange(lengths.sum())
    before = itself - np.repeat(np.cumsum(lengths) - lengths, lengths)
    pick = rng.uniform(size=len(itself)) * (strength + before)
    source = np.where(pick < before, itself - before + pick.astype(np.intp), itself)
    while (source != source[source]).any():
        source = source[source]
    return source


def _read_statistics(statistics: Any) -> list[Any]:
    """Names and functions, as a list; None stands for every built-in that fits the model."""
    if statistics is None:
        return [None]
    if isinstance(statistics, str) or callable(statistics):
        statistics = [statistics]
    try:
        found = list(statistics)
    except TypeError:
        raise TypeError(f"statistics is {statistics!r}: give a list of names and functions f(X, y)") from None
    if not found:
        raise ValueError(f"statistics is empty: give functions f(X, y), or names among {list(_BUILT_IN)}")
    for statistic in found:
        if isinstance(statistic, str):
            if statistic not in _BUILT_IN:
                raise ValueError(f"there is no statistic {statistic!r}: name one of {list(_BUILT_IN)}, or give f(X, y)")
        elif not callable(statistic):
            raise TypeError(f"statistics holds {statistic!r}: give names among {list(_BUILT_IN)}, or functions f(X, y)")
    return found


def _measures(
    statistics: Sequence[Any], model: NaiveBayes, data: _Rows, X: Any, y: Any, rng: np.random.Generator
) -> list[_Measure]:
    labels = [str(label) for label in model.schema.classes.tolist()]  # type: ignore[union-attr]
    found: list[_Measure] = []
    taken: set[str] = set()
    for statistic in statistics:
        if statistic is None or isinstance(statistic, str):
            for name in _BUILT_IN if statistic is None else [statistic]:
                built = _BUILT_IN[name][0](model, data, labels, rng)
                if built is not None:
                    found.append(_Measure(built[0], built[1](data), built[1]))
                elif statistic is not None:
                    raise ValueError(
                        f"the statistic {name!r} needs {_BUILT_IN[name][1]}, which the model does not have"
                    )
            taken.update(label for measure in found for label in measure.labels)
        else:
            measure = _of_user(statistic, model, X, y, taken)
            taken.update(measure.labels)
            found.append(measure)
    return found


def _of_user(function: Callable, model: NaiveBayes, X: Any, y: Any, taken: set[str]) -> _Measure:
    name = getattr(function, "__name__", type(function).__name__)
    seen = _as_numbers(function(X, y), name)
    title, copy = name, 1
    while any(_user_label(title, part) in taken for part in seen):
        copy += 1
        title = f"{name} ({copy})"
    sparse = scipy.sparse.issparse(X)

    def of_rows(rows: _Rows) -> np.ndarray:
        values = _as_numbers(function(_table(model, rows, sparse=sparse), model.schema.classes[rows.codes]), name)  # type: ignore[union-attr]
        return np.array([values.get(part, np.nan) for part in seen])

    return _Measure([_user_label(title, part) for part in seen], np.array(list(seen.values())), of_rows)


def _user_label(name: str, part: Any) -> str:
    return name if part is None else f"{name}[{part}]"


def _as_numbers(value: Any, name: str) -> dict[Any, float]:
    parts = dict(value) if isinstance(value, Mapping) else {None: value}
    for part, number in parts.items():
        if np.ndim(number) or np.asarray(number).dtype.kind not in "biuf":
            where = "" if part is None else f" under {part!r}"
            raise TypeError(
                f"the statistic {name!r} returned a {type(number).__name__}{where}: a function of statistics returns a "
                "number, or a dict of numbers"
            )
    return {part: float(number) for part, number in parts.items()}


def _table(model: NaiveBayes, rows: _Rows, *, sparse: bool) -> Any:
    """Encoded rows as the table that a user's function expects."""
    if sparse and not any(block.has_categories for block in model.blocks):
        positions = np.concatenate([block.columns for block in model.blocks])
        cells = scipy.sparse.hstack([scipy.sparse.csr_array(x) for x in rows.cells], format="csr")
        return scipy.sparse.csr_array(cells)[:, np.argsort(positions)]
    dense = [x.toarray() if scipy.sparse.issparse(x) else x for x in rows.cells]
    missing = [np.isnan(x) for x in dense]
    coded = [
        np.where(absent, 0.0, x) if block.has_categories else x
        for block, x, absent in zip(model.blocks, dense, missing, strict=True)
    ]
    table = model._to_table(coded)
    absent = {
        position: missing[i][:, j]
        for i, block in enumerate(model.blocks)
        for j, position in enumerate(block.columns)
        if block.has_categories and missing[i][:, j].any()
    }
    if not absent:
        return table
    used = sorted(position for block in model.blocks for position in block.columns)
    if isinstance(table, pd.DataFrame):
        for position, gone in absent.items():
            name = model.schema.columns[position]  # type: ignore[union-attr]
            table[name] = table[name].where(~gone)
        return table
    table = table.astype(np.float64 if table.dtype.kind in "biuf" else object)
    for position, gone in absent.items():
        table[gone, used.index(position)] = np.nan
    return table


_Built = tuple[list[str], Callable[[_Rows], np.ndarray]] | None


def _class_frequency(model: NaiveBayes, data: _Rows, labels: list[str], rng: np.random.Generator) -> _Built:
    def function(rows: _Rows) -> np.ndarray:
        return np.bincount(rows.codes, minlength=len(labels)) / len(rows.codes)

    return [f"class_frequency[{label}]" for label in labels], function


def _is_binary(family: Family) -> bool:
    return family.cell == "number" and family.support is constraints.boolean


def _is_count(family: Family) -> bool:
    return family.cell == "number" and family.support is constraints.nonnegative_integer


def _per_column(
    name: str,
    blocks: Sequence[tuple[int, Block]],
    labels: list[str],
    of_block: Callable[[Any, np.ndarray], np.ndarray],
) -> _Built:
    """A statistic of every column in every class; `of_block` gives (classes, columns) from cells and memberships."""
    if not blocks:
        return None

    def function(rows: _Rows) -> np.ndarray:
        membership = np.eye(len(labels))[rows.codes]
        return np.concatenate([of_block(rows.cells[i], membership).T.ravel() for i, _ in blocks])

    return [
        f"{name}[{column}, {label}]" for _, block in blocks for column in block.labels for label in labels
    ], function


def _ratio(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Quotient, NaN where nothing is counted."""
    return np.divide(total, n, out=np.full(np.shape(total), np.nan), where=n > 0)


def _class_means(x: Any, membership: np.ndarray) -> np.ndarray:
    if scipy.sparse.issparse(x):
        x = x.toarray()
    seen = ~np.isnan(x)
    return _ratio(membership.T @ np.where(seen, x, 0.0), membership.T @ seen)


def _class_variances(x: Any, membership: np.ndarray) -> np.ndarray:
    seen = ~np.isnan(x)
    centre = np.nan_to_num(_class_means(x, membership))
    squares = np.where(seen, x - centre[membership.argmax(axis=1)], 0.0) ** 2
    return _ratio(membership.T @ squares, membership.T @ seen - 1.0)


def _class_zeros(x: Any, membership: np.ndarray) -> np.ndarray:
    return _ratio(membership.T @ (x == 0), membership.T @ ~np.isnan(x))


def _mean(model: NaiveBayes, data: _Rows, labels: list[str], rng: np.random.Generator) -> _Built:
    blocks = [(i, block) for i, block in enumerate(model.blocks) if block.family.cell == "number"]
    return _per_column("mean", blocks, labels, _class_means)


def _variance(model: NaiveBayes, data: _Rows, labels: list[str], rng: np.random.Generator) -> _Built:
    blocks = [
        (i, block)
        for i, block in enumerate(model.blocks)
        if block.family.cell == "number" and not _is_binary(block.family)
    ]
    return _per_column("variance", blocks, labels, _class_variances)


def _zero_share(model: NaiveBayes, data: _Rows, labels: list[str], rng: np.random.Generator) -> _Built:
    columns = [(i, block) for i, block in enumerate(model.blocks) if _is_count(block.family)]
    vectors = [(i, block) for i, block in enumerate(model.blocks) if block.is_vector]
    of_columns = _per_column("zero_share", columns, labels, _class_zeros)
    if not vectors:
        return of_columns

    def of_vectors(rows: _Rows) -> np.ndarray:
        sizes = np.bincount(rows.codes, minlength=len(labels))
        found = []
        for i, block in vectors:
            x = scipy.sparse.csr_array(rows.cells[i])
            filled = np.bincount(rows.codes, weights=x.count_nonzero(axis=1), minlength=len(labels))
            found.append(1 - _ratio(filled, sizes * float(len(block.columns))))
        return np.concatenate(found)

    names = [f"zero_share[{block.name}, {label}]" for _, block in vectors for label in labels]
    if of_columns is None:
        return names, of_vectors
    first, of_first = of_columns
    return [*first, *names], lambda rows: np.concatenate([of_first(rows), of_vectors(rows)])


def _burstiness(model: NaiveBayes, data: _Rows, labels: list[str], rng: np.random.Generator) -> _Built:
    vectors = [(i, block) for i, block in enumerate(model.blocks) if block.is_vector]
    if not vectors:
        return None

    def function(rows: _Rows) -> np.ndarray:
        membership = np.eye(len(labels))[rows.codes]
        n = membership.sum(axis=0)[:, None]
        found = []
        for i, _ in vectors:
            x = rows.cells[i]
            squared = x.multiply(x) if scipy.sparse.issparse(x) else x**2
            mean = _ratio(x.T @ membership, n.T).T
            variance = _ratio((squared.T @ membership).T - n * np.nan_to_num(mean) ** 2, n - 1 + np.zeros_like(mean))
            occurs = (mean > 0) & np.isfinite(variance)
            index = _ratio(variance, np.where(occurs, mean, 0.0))
            found.append(_ratio(np.where(occurs, index, 0.0).sum(axis=1), occurs.sum(axis=1)))
        return np.concatenate(found)

    return [f"burstiness[{block.name}, {label}]" for _, block in vectors for label in labels], function


@dataclass(frozen=True)
class _Feature:
    """A column as a number: its place, the category that counts as one (None for numbers), and its scale."""

    block: int
    column: int
    category: float | None
    loc: float
    scale: float

    def of(self, rows: _Rows) -> np.ndarray:
        x = _column(rows.cells[self.block], self.column)
        if self.category is not None:
            x = np.where(np.isnan(x), np.nan, x == self.category)
        return (x - self.loc) / self.scale


def _column(x: Any, j: int) -> np.ndarray:
    return x[:, [j]].toarray().ravel() if scipy.sparse.issparse(x) else x[:, j]


def _dependence(model: NaiveBayes, data: _Rows, labels: list[str], rng: np.random.Generator) -> _Built:
    if sum(len(block.columns) for block in model.blocks) < 2:
        return None
    features = _choose_features(model, data, rng)
    pairs = np.array(list(combinations(range(len(features)), 2)), dtype=np.intp).reshape(-1, 2)
    if len(pairs) > MAX_PAIRS:
        pairs = pairs[np.sort(rng.choice(len(pairs), MAX_PAIRS, replace=False))]

    def function(rows: _Rows) -> np.ndarray:
        z = np.column_stack([feature.of(rows) for feature in features]) if features else np.empty((len(rows.codes), 0))
        members = rows.by_class(len(labels))
        of_class = np.array([_mean_correlation(z[at], pairs) for at in members])
        weight = np.where(np.isnan(of_class), 0.0, [len(at) for at in members])
        overall = (weight * np.nan_to_num(of_class)).sum() / weight.sum() if weight.any() else np.nan
        return np.array([overall, *of_class])

    return ["dependence", *[f"dependence[{label}]" for label in labels]], function


def _choose_features(model: NaiveBayes, data: _Rows, rng: np.random.Generator) -> list[_Feature]:
    """At most `MAX_FEATURES` columns at random, of those that vary in the observed data."""
    order = [(i, j) for i, block in enumerate(model.blocks) for j in range(len(block.columns))]
    varying: list[_Feature] = []
    seldom: list[_Feature] = []
    for at in rng.permutation(len(order)):
        i, j = order[at]
        x = _column(data.cells[i], j)
        x = x[~np.isnan(x)]
        if not x.size:
            continue
        category = None
        if model.blocks[i].has_categories:
            category = float(np.bincount(x.astype(np.intp)).argmax())
            x = (x == category).astype(np.float64)
        differing = min((x != x.min()).sum(), (x != x.max()).sum())
        if not differing:
            continue
        feature = _Feature(i, j, category, float(x.mean()), float(x.std()))
        (varying if differing >= SEEN else seldom).append(feature)
        if len(varying) == MAX_FEATURES:
            break
    return (varying if len(varying) > 1 else varying + seldom)[:MAX_FEATURES]


def _mean_correlation(z: np.ndarray, pairs: np.ndarray) -> float:
    """Mean absolute correlation of pairs of columns over the rows where both are observed; NaN if none is defined."""
    if len(z) < 3 or not len(pairs):
        return np.nan
    seen = ~np.isnan(z)
    filled = np.where(seen, z, 0.0)
    centred = np.where(seen, filled - filled.sum(axis=0) / np.maximum(seen.sum(axis=0), 1), 0.0)
    # One product of matrices holds all sums over the rows where both of a pair are observed.
    parts = np.hstack([centred, centred**2, seen])
    x, xx, one = np.split(parts.T @ parts, 3)
    width = z.shape[1]
    first, second = pairs.T
    n = np.maximum(one[first, 2 * width + second], 1.0)
    means = x[first, 2 * width + second] / n, x[second, 2 * width + first] / n
    variances = (
        xx[first, 2 * width + second] / n - means[0] ** 2,
        xx[second, 2 * width + first] / n - means[1] ** 2,
    )
    covariance = x[first, second] / n - means[0] * means[1]
    # On the scale of the whole column: less is rounding, not variation.
    defined = (n >= 3) & (variances[0] > 1e-12) & (variances[1] > 1e-12)
    if not defined.any():
        return np.nan
    return float(np.abs(covariance[defined] / np.sqrt(variances[0][defined] * variances[1][defined])).mean())


def _agreement(model: NaiveBayes, data: _Rows, labels: list[str], rng: np.random.Generator) -> _Built:
    places = [
        (i, j)
        for i, block in enumerate(model.blocks)
        if block.has_categories or _is_binary(block.family)
        for j in range(len(block.columns))
    ]
    if len(places) < 2:
        return None
    if len(places) > MAX_DISCRETE:
        places = [places[k] for k in np.sort(rng.choice(len(places), MAX_DISCRETE, replace=False))]
    categories = model.schema.categories  # type: ignore[union-attr]
    sizes = [len(categories.get(model.blocks[i].columns[j], (0, 1))) for i, j in places]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    size = len(data.codes)
    # 5 for each agreement, -4 for each column observed in both rows: positive if more than 80 % agree, and exact.
    weights = np.repeat(np.array([5, -4], dtype=np.float32), [offsets[-1], len(places)])
    sample = np.sort(rng.choice(size, min(size, MAX_ROWS), replace=False))

    def function(rows: _Rows) -> np.ndarray:
        x = np.column_stack([_column(rows.cells[i], j) for i, j in places])
        seen = ~np.isnan(x)
        hot = np.zeros((size, offsets[-1] + len(places)), dtype=np.float32)
        at = np.nonzero(seen)
        hot[at[0], offsets[at[1]] + x[at].astype(np.intp)] = 1.0
        hot[:, offsets[-1] :] = seen
        agreeing = 0
        for members in rows.by_class(len(labels)):
            mine = hot[np.intersect1d(sample, members, assume_unique=True)] * weights
            if not len(mine):
                continue
            for start in range(0, len(members), 2**14):
                agreeing += int(np.count_nonzero(mine @ hot[members[start : start + 2**14]].T > 0))
        # Each row with any observed cell agrees with itself.
        return np.array([(agreeing - seen[sample].any(axis=1).sum()) / len(sample)])

    return ["agreement"], function


_BUILT_IN: dict[str, tuple[Callable[[NaiveBayes, _Rows, list[str], np.random.Generator], _Built], str]] = {
    "class_frequency": (_class_frequency, "classes"),
    "mean": (_mean, "columns of numbers"),
    "variance": (_variance, "columns of numbers other than 0/1"),
    "zero_share": (_zero_share, "columns of counts or count vectors"),
    "burstiness": (_burstiness, "count vectors"),
    "dependence": (_dependence, "two columns"),
    "agreement": (_agreement, "two 0/1 or categorical columns"),
}


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels[:6]) + (f", ... ({len(labels)} in all)" if len(labels) > 6 else "")


def _short_names(column: str) -> str:
    return {"replicated_mean": "rep_mean", "replicated_sd": "rep_sd", "p_value_mcse": "mcse"}.get(column, column)


def _formatted(value: float) -> str:
    return f"{value:.4g}"
