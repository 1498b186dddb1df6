"""Log density of each row, and of each of its features, given the other rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from bayesnb.core.arrays import PIECE_CELLS, dense, log, row_pieces
from bayesnb.core.checking import first_few
from bayesnb.core.deferred import in_float64, jax, jit, jnp, leaves, map_tree
from bayesnb.core.device_arrays import result_on_device
from bayesnb.core.running import results_in_order
from bayesnb.data.read import Rows
from bayesnb.families.conjugate import cells_log_predictive, couples_classes
from bayesnb.families.device_sums import statistics_in_jax
from bayesnb.families.family import column_family, log_predictive_given
from bayesnb.families.feature_inclusion import FeatureInclusion, log_mixture
from bayesnb.families.statistics import ClassCounts, times_each
from bayesnb.model.blocks import Block, feature_names, features_of, positions_of_features
from bayesnb.model.prior import ClassPrior
from bayesnb.model.reading import Cells, Chunks, log_normalised
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.function_of_array import computed_in_pieces, log_joint_on_device
from bayesnb.posterior.under_draws import log_mean_without, pieces_of_rows

# --------------------------------------------------------------------------------------------------
# Densities of rows under their own class, given the other rows, where all rows have the same prior.
#
# Statistics subtract, so the posterior without a row is the closed form given the other rows. The result is its
# predictive density of the row's cells, for every conjugate family, weight and prior. A vector of counts has the
# evidence of the row as its density. A family may define a faster way in `row_log_left_out`.
# --------------------------------------------------------------------------------------------------

REMEDY = "give rows, labels and weights as they were given to fit or update"


def _refuse_rows(rows: Rows, impossible: np.ndarray, block: Block) -> None:
    """Raise a ValueError for rows that cannot have been among the data; the cells (rows, columns) mark them."""
    if impossible.any():
        row, j = (int(index[0]) for index in np.nonzero(impossible))
        column = block.name if block.is_joint else block.labels[j]
        raise ValueError(
            f"row {rows.place[row]} was never among the data: without it, column {column!r} in class "
            f"{rows.classes.tolist()[rows.codes[row]]!r} would have statistics that no table has; {REMEDY}"
        )


def _log_density_without(block: Block, counted: Any, x: Any, rows: Rows, *, refitted: bool) -> np.ndarray:
    """Log density of each row of a block given the other rows, by the family's faster way where it has one.

    Parameters
    ----------
    block : Block
        The prior. If it is refitted: as the user gave it, and defaults that follow the data have no numbers.
    counted : Statistics
        Of all rows.
    x : array or CSR array, shape (rows, columns)
    rows : Rows
    refitted : bool
        Whether the prior follows the other rows, or couples the classes.

    Returns
    -------
    array, shape (rows,), or (rows, classes) where refitted
        Log p(x_i | y_i, D without i), or log p(x_i | y=c, D without i).
    """
    family: Any = block.family
    known = family.row_log_left_out(x, rows.codes, rows.weights, counted, refitted=refitted)
    nothing = np.full((len(rows), len(rows.classes)) if refitted else len(rows), np.nan)
    found = nothing if known is None else np.array(known)
    if block.is_joint and not refitted:
        _refuse_rows(rows, np.isneginf(found)[:, None], block)
    slow = np.flatnonzero(~np.isfinite(found.reshape(len(rows), -1)).all(axis=1))
    for piece, of_cells in _cells_without_rows(block, counted, x[slow], rows.take(slow), refitted=refitted):
        of_classes = of_cells.sum(axis=-1)
        found[slow[piece]] = of_classes if refitted else of_classes[:, 0]
    return found


def _given_the_rest(block: Block, counted: Any, x: Any, rows: Rows) -> Iterator[tuple[slice, np.ndarray]]:
    """Log p(x_i | y_i, D without i) of a block's columns, some rows at a time.

    Yields
    ------
    tuple of slice and array
        The rows, and their cells' log densities, shape (rows, columns); (rows, 1) for a vector of counts.
    """
    if block.is_joint:
        yield slice(0, len(rows)), _log_density_without(block, counted, x, rows, refitted=False)[:, None]
        return
    for piece, of_cells in _cells_without_rows(block, counted, x, rows):
        yield piece, of_cells[:, 0]


# --------------------------------------------------------------------------------------------------
# Densities of rows under every class, given the other rows, where the prior follows the data.
#
# Hyperparameters that `on_scale_of` takes from the data are those of the other rows only, so that they differ from
# row to row, in every class. The statistics of the row are subtracted, and `on_scale_of` is called again. A family
# may define a faster way in `row_log_left_out`.
# --------------------------------------------------------------------------------------------------


def _cells_without_rows(
    block: Block, counted: Any, x: Any, rows: Rows, *, refitted: bool = False
) -> Iterator[tuple[slice, np.ndarray]]:
    """Log density of each cell given the other rows, some rows at a time; arguments as for `_log_density_without`.

    For each row there is a copy of the block without it: of every class if `refitted`, where the prior follows the
    other rows, and otherwise of the row's own class. The columns of all copies are laid out side by side: rows of D
    columns become one row of rows * D columns. A vector of counts stays one vector, and the copies are classes.

    Yields
    ------
    tuple of slice and array
        The rows, and their log densities, shape (rows, copied classes, columns); zero for a missing cell.

    Raises
    ------
    ValueError
        If a row cannot have been among the data.
    """
    every_class = np.arange(len(rows.classes))[:, None]
    largest = max(int(np.prod(np.shape(leaf)[1:])) for leaf in leaves((block.family, counted)))
    # Each row has its own hyperparameters.
    step = PIECE_CELLS // max(largest * (len(every_class) if refitted else 1), 1)
    if block.is_joint:
        # The other rows of a vector are a vector each: refitted, they have priors of their own.
        step = 1 if refitted else min(step, 64)
    for start in range(0, len(rows), max(step, 1)):
        piece = slice(start, start + max(step, 1))
        some, cells = rows.take(piece), dense(x[piece])
        copied = np.tile(every_class, len(some)) if refitted else some.codes[None]
        prior, before = map_tree(partial(_leaf_for_each_row, copied, block.is_joint), (block.family, counted))
        weights = np.where(copied == some.codes, some.weights, 0.0)
        if block.is_joint:
            membership, weights = np.tile(np.eye(len(some)), len(copied)), weights.ravel()
        else:
            cells, membership = cells.reshape(1, -1), np.ones((1, len(copied)))
            weights = np.repeat(weights, x.shape[1], axis=1)
        cell = prior.statistics(cells, membership)
        taken = cell if (weights == 1.0).all() else times_each(cell, weights)
        rest = (before - taken).without_rounding(before)
        impossible = ~np.asarray(prior.possible(rest)).reshape(len(copied), len(some), -1)
        _refuse_rows(some, impossible.any(axis=0), block)
        if refitted:
            prior = prior.on_scale_of(rest.pooled())
        if not block.is_joint:
            found = log_predictive_given(prior, rest, cells)
        elif couples_classes(prior):
            found = prior.update(rest).row_log_predictive(cells).T
        else:
            found = prior.update(rest).log_evidence(cell)
        yield piece, np.moveaxis(np.asarray(found).reshape(len(copied), len(some), -1), 0, 1)


def _leaf_for_each_row(copied: np.ndarray, joint: bool, leaf: Any) -> np.ndarray:
    """An array (classes, columns, ...) for each row, given the classes (copied classes, rows)."""
    # What all classes share has a class axis of length one.
    values = np.asarray(leaf)[copied if len(leaf) > 1 else np.zeros_like(copied[:1])]
    shape = (-1, *values.shape[2:]) if joint else (len(values), -1, *values.shape[3:])
    return values.reshape(shape)


# --------------------------------------------------------------------------------------------------
# Log densities of the blocks of rows, and of class probabilities, given the other rows
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FittedBlock:
    """A block of a closed form, with what its density needs when a row is left out.

    Attributes
    ----------
    prior : Block
        With numbers. If its prior follows the data: as the user gave it, without numbers.
    posterior : ConjugateFamily
    statistics : Statistics
        Of all rows.
    follows : bool
        Whether a row bears on the predictions of other classes than its own: the prior follows the data, or couples the
        classes.
    """

    prior: Block
    posterior: Any
    statistics: Any
    follows: bool

    def left_out(self, x: Any, rows: Rows, held: np.ndarray | None = None) -> np.ndarray:
        """Log density of each row under each class given the other rows, shape (rows, classes).

        `held` is that given all rows, where it is known.
        """
        lacking = np.isnan(x).any(axis=1) if self.prior.whole_rows else np.zeros(len(rows), bool)
        if self.follows and not lacking.any():
            return _log_density_without(self.prior, self.statistics, x, rows, refitted=True)
        if isinstance(self.prior.family, FeatureInclusion) and not lacking.any():
            of_rows = [cells.sum(axis=-1) for cells in self._under_both_hypotheses(x, rows)]
            return np.concatenate([np.empty((0, len(rows.classes))), *of_rows])
        without = np.array(self.posterior.row_log_predictive(x) if held is None else held)
        if not lacking.any():
            # Without the row, only its own class changes.
            own = _log_density_without(self.prior, self.statistics, x, rows, refitted=False)
            without[np.arange(len(rows)), rows.codes] = own
        elif not lacking.all():
            # The fit did not count the rows that lack a cell: without them it is the same.
            without[~lacking] = self.left_out(x[~lacking], rows.take(~lacking))
        return without

    def _under_both_hypotheses(self, x: Any, rows: Rows) -> Iterator[np.ndarray]:
        """As `cells_left_out`, of features that may not depend on the class, some rows at a time.

        Under either hypothesis, the evidence of the rest is the evidence of all data divided by the row's density given
        the rest. The Bayes factor without a row therefore takes one division.
        """
        prior: Any = self.prior.family
        after, nobody = self.posterior.family, replace(rows, codes=np.zeros_like(rows.codes))
        own_class = _given_the_rest(replace(self.prior, family=prior.family), self.statistics, x, rows)
        together = _given_the_rest(replace(self.prior, family=prior.shared), self.statistics.pooled(), x, nobody)
        for (piece, own), (_, of_all) in zip(own_class, together, strict=True):
            of_classes = (
                np.array(after.row_log_predictive(x[piece]))[..., None]
                if self.prior.is_joint
                else cells_log_predictive(after, dense(x[piece]).astype(np.float64))
            )
            of_classes[np.arange(len(own)), rows.codes[piece]] = own
            log_odds = self.posterior.log_odds - (own - of_all)
            yield log_mixture(log_odds[:, None], of_classes, of_all[:, None])

    def cells_left_out(self, x: Any, rows: Rows) -> np.ndarray | None:
        """As `left_out`, of each column (rows, classes, columns), all of them at once; None if that is not possible."""
        if self.prior.is_joint or self.follows:
            return None
        if isinstance(self.prior.family, FeatureInclusion):
            return np.concatenate([*self._under_both_hypotheses(x, rows)])
        without = np.array(cells_log_predictive(self.posterior, dense(x).astype(np.float64)))
        for piece, own in _given_the_rest(self.prior, self.statistics, x, rows):
            without[np.arange(len(rows))[piece], rows.codes[piece]] = own
        return without

    @cached_property
    def features(self) -> list[tuple[Any, Any]]:
        """The columns of the block and the block of each alone; a joint block is one feature."""
        if self.prior.is_joint:
            return [(slice(None), self)]

        def alone(j: int) -> Any:
            statistics = map_tree(lambda leaf: leaf[:, j : j + 1], self.statistics)
            return _FittedBlock(self.prior.column(j), column_family(self.posterior, j), statistics, self.follows)

        return [(slice(j, j + 1), alone(j)) for j in range(len(self.prior.columns))]


def _fitted_blocks(posterior: Any, rows: Rows) -> list[_FittedBlock]:
    """The blocks of a closed form, for leave-one-out."""
    problem = posterior.problem
    if problem.model.description.feature_inclusion is not None:
        refuse_weights(rows, "posteriors averaged over features")
    found = []
    for i, (after, counted) in enumerate(zip(posterior.closed_form.families, problem.statistics.blocks, strict=True)):
        model = problem.model if problem.follows[i] else posterior.model
        prior = replace(model.blocks[i], family=model.prior_families[i])
        follows = problem.follows[i] or couples_classes(model.families[i])
        found.append(_FittedBlock(prior, after, counted, follows))
    return found


def log_class_probs_without(posterior: Any, rows: Rows, prior: ClassPrior | None = None) -> np.ndarray:
    """Log p(y=c | D without i), shape (rows, classes), under the prior of the model or another one."""
    problem = require(posterior, "data", "leave-one-out").problem
    prior, n = prior or posterior.model.class_prior, problem.statistics.classes.n
    if prior.probs is not None and not problem.model.description.follows_labels:
        return np.broadcast_to(log(prior.probs), (len(rows), len(n)))
    # Rows of weight one share a table with a line for each class.
    unit = bool((rows.weights == 1.0).all())
    codes = np.arange(len(n)) if unit else rows.codes
    taken = np.eye(len(n))[codes] * (1.0 if unit else rows.weights[:, None])
    # A class without rows leaves nothing out.
    rest = np.maximum(ClassCounts(n - taken).without_rounding(ClassCounts(n)).n, 0.0)
    if prior.probs is None:
        rest = rest + prior.concentration
    rest[~rest.any(axis=1)] = 1.0  # without any other row, the classes are equally probable
    log_probs = log(rest) - log(rest.sum(axis=1, keepdims=True))
    return log_probs[rows.codes] if unit else log_probs


# --------------------------------------------------------------------------------------------------
# Log densities of single features given the other rows: of a closed form, and by importance sampling over draws
# --------------------------------------------------------------------------------------------------

type Found = Iterator[tuple[slice, int, int, np.ndarray]]
"""Some rows, the positions of a block and of one of its features, and log densities of shape (rows, classes)."""


def _of_features_without(posterior: Any, rows: Rows) -> Callable[[Cells, Rows], Found]:
    """A function from encoded rows to the log density of each feature given the other rows.

    Of draws it is estimated. A row changes the parameters of its own class alone. The density of its cell there is a
    mean over draws with weights in proportion to 1 / p(x_ij | theta), smoothed (Vehtari, Simpson, Gelman, Yao and Gabry
    2024, *Journal of Machine Learning Research* 25). Under the other classes it is the mean over all draws.
    """
    drawn = offers(posterior, "draws of a sampler")
    if drawn:
        refuse_weights(rows, "draws")
    blocks, density = [] if drawn else _fitted_blocks(posterior, rows), posterior.belief.density

    def of_closed_form(chunk: Cells, some: Rows) -> Found:
        for i, (block, x) in enumerate(zip(blocks, chunk, strict=True)):
            # A column costs as much for few rows as for many.
            cells = block.cells_left_out(x, some) if x.shape[1] > len(some) else None
            for j, (columns, feature) in enumerate(block.features if cells is None else [(None, None)] * x.shape[1]):
                own = feature.left_out(x[:, columns], some) if cells is None else cells[..., j]
                yield slice(None), i, j, own

    def of_draws(chunk: Cells, some: Rows) -> Found:
        for i, (block, x) in enumerate(zip(posterior.model.blocks, chunk, strict=True)):
            for j, _ in enumerate(features_of(block)):
                under_draws = density.feature_under_draws(i, j, x)
                for piece in pieces_of_rows(len(some)):
                    yield piece, i, j, log_mean_without(under_draws(piece), some.codes[piece])

    return of_draws if drawn else of_closed_form


# --------------------------------------------------------------------------------------------------
# Predictions of each row from the other rows, for posteriors in closed form
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftOut:
    """Predictions of each row from the others.

    Attributes
    ----------
    log_proba : array, shape (rows, classes)
        log p(y=c | x_i, D without i).
    of_label : array, shape (rows,)
        log p(y_i | x_i, D without i).
    joint : array, shape (rows,)
        log p(x_i, y_i | D without i).
    in_sample : array, shape (rows,)
        log p(y_i | x_i, D).
    """

    log_proba: np.ndarray
    of_label: np.ndarray
    joint: np.ndarray
    in_sample: np.ndarray


@in_float64
def leave_one_out(posterior: Any, rows: Rows) -> LeftOut:
    """Every row predicted from the others; weights of features are kept. Errors as for `require_rows_of_fit`."""
    require_rows_of_fit(posterior, rows)
    log_proba, (of_label, joint, in_sample) = np.empty((len(rows), len(rows.classes))), np.empty((3, len(rows)))
    densities = (_block_joint if posterior.feature_weights is None else _feature_joint)(posterior, rows)

    def put(where: slice, some: Rows, held: np.ndarray, log_joint: np.ndarray, weighted: np.ndarray) -> None:
        own = np.arange(len(some)), some.codes
        log_proba[where] = log_normalised(weighted)
        of_label[where], joint[where] = log_proba[where][own], log_joint[own]
        in_sample[where] = log_normalised(held)[own]

    def one_chunk(where: slice, chunk: Cells) -> None:
        some = rows.take(where)
        put(where, some, *densities(chunk, some))

    chunks = posterior.model.read(rows.table)
    if (found := _joint_on_device(posterior, rows, chunks)) is None:
        chunks.each(one_chunk)
    else:
        put(slice(None), rows, *found)
    return LeftOut(log_proba, of_label, joint, in_sample)


type JointDensities = Callable[[Cells, Rows], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Maps cells and rows to log p(x_i, y=c | D), log p(x_i, y=c | D without i) and the log of the product, also without i,
from which the label follows; arrays of shape (rows, classes)."""


def _block_joint(posterior: Any, rows: Rows) -> JointDensities:
    """The densities of whole blocks, which take less time than those of single features."""
    blocks = _fitted_blocks(posterior, rows)

    def densities(chunk: Cells, some: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        held, without = np.zeros((2, len(some), len(some.classes)))
        for block, x in zip(blocks, chunk, strict=True):
            of_block = np.asarray(block.posterior.row_log_predictive(x))
            held += of_block
            without += block.left_out(x, some, of_block)
        without += log_class_probs_without(posterior, some)
        return held + log(posterior.class_probs()), without, without

    return densities


def _feature_joint(posterior: Any, rows: Rows) -> JointDensities:
    """The densities of single features, which have weights."""
    density, of_features = posterior.belief.density, _of_features_without(posterior.plain, rows)

    def densities(chunk: Cells, some: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_class_prob = log_class_probs_without(posterior, some, posterior.problem.rows_class_prior)
        without, weighted = np.array(log_class_probs_without(posterior, some)), np.zeros(log_class_prob.shape)
        for piece, i, j, found in of_features(chunk, some):
            without[piece] += found
            weighted[piece] += density.weighed(i, j, found, log_class_prob[piece])
        return density.log_joint(chunk), without, density.joined(log_class_prob, weighted)

    return densities


def _joint_on_device(posterior: Any, rows: Rows, chunks: Chunks) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """As `JointDensities`, of rows that lie on a device; None where the host has to compute them."""
    if chunks.device_rows is None or posterior.feature_weights is not None:
        return None
    there, blocks = chunks.device_rows, _fitted_blocks(posterior, rows)
    held, num_classes = log_joint_on_device(posterior.belief.density, chunks), len(rows.classes)
    priors, counted = ([getattr(each, name) for each in blocks] for name in ("prior", "statistics"))
    settings = tuple((each.follows, each.prior.whole_rows) for each in blocks)
    size = there.piece_size(num_classes * sum(len(each.columns) for each in priors))
    families = [each.family for each in priors]

    def without_each() -> Any:
        given = there.rows.array, there.rows.beside(rows.codes), there.rows.beside(rows.weights)
        return jax.device_get(_without_each(there.read, families, counted, *given, settings, size))

    found = result_on_device(without_each)
    if held is None or found is None or not found[1].all():
        return None  # the host tells which row was never among the data
    without = found[0] + log_class_probs_without(posterior, rows)
    return held, without, without


@jit(static_argnums=(6, 7))
def _without_each(
    read: Any,
    priors: Sequence[Any],
    counted: Sequence[Any],
    rows: Any,
    codes: Any,
    weights: Any,
    settings: Any,
    size: int,
) -> tuple[Any, Any]:
    """Log density of each row under each class given the other rows, and whether it can have been among the data."""

    def of_row(given: Sequence[Any]) -> tuple[Any, Any]:
        row, code, weight = given
        cells, _ = read(row.astype(jnp.float64)[None])
        density: Any = 0.0
        possible: Any = True
        for prior, before, x, (follows, whole) in zip(priors, counted, cells, settings, strict=True):
            own = jnp.where(jnp.isnan(x).any(), 0.0, weight) if whole else weight
            membership = jnp.where(code == jnp.arange(len(leaves(before)[0])), own, 0.0)[None]
            rest = (before - statistics_in_jax(prior, x, membership)).without_rounding(before)
            possible &= jnp.all(prior.possible(rest))
            after = (prior.on_scale_of(rest.pooled()) if follows else prior).update(rest)
            density += after.row_log_predictive(x)[0]
        return density, possible

    def of_piece(places: Any) -> Any:
        return jax.vmap(of_row)([array[places.ravel()] for array in (rows, codes, weights)])

    found: tuple[Any, Any] = computed_in_pieces(of_piece, size, jnp.arange(len(rows)))
    return found


class DensityError(ValueError):
    """The densities of rows given the other rows are not known, zero or infinite: nothing can be learned from them."""


def named_rows(rows: np.ndarray) -> str:
    """Rows by number, the first few of many."""
    return f"row{'s' * (len(rows) > 1)} {first_few(list(map(str, rows)))}"


def refuse_weights(rows: Rows, kind: str) -> None:
    """Raise ValueError for rows with weights other than one.

    Parameters
    ----------
    rows : Rows
    kind : str
        The posteriors that cannot leave such rows out, for the error.

    Raises
    ------
    ValueError
    """
    if (rows.weights != 1.0).any():
        raise DensityError(
            f"sample_weight is not for {kind}, which leave out rows of weight one: use kfold, or a closed form; "
            "if the weights w are frequencies, nb.loo(posterior, X, y) gives as elpd_i the score of one of the w equal "
            "rows"
        )


def require_rows_of_fit(posterior: Any, rows: Rows) -> None:
    """Raise ValueError if a class has more weight here than in the fitted data."""
    fitted = np.asarray(require(posterior, "data", "leave-one-out").problem.statistics.classes.n)
    given = np.bincount(rows.codes, rows.weights, minlength=len(fitted))
    excess = given > fitted * (1 + 1e-9)
    if excess.any():
        c = int(np.flatnonzero(excess)[0])
        raise ValueError(
            f"these rows were never all among the data: class {rows.classes.tolist()[c]!r} weighs {given[c]:g} in "
            f"y and {fitted[c]:g} in the fit; {REMEDY}"
        )


# --------------------------------------------------------------------------------------------------
# Log densities of each feature of rows given the other rows
# --------------------------------------------------------------------------------------------------

ROWS = 5000
"""Number of rows that are computed at a time if only some are kept."""


@dataclass(frozen=True)
class FeaturesLeftOut:
    """Log densities of the features of rows, each row given the others.

    The sum over features, plus the log class probabilities, is log p(x_i, y=c | D without i), as `leave_one_out` has
    it.

    Attributes
    ----------
    names : list
        The features, in the order of the table's columns; a joint block is one feature.
    log_density : array, shape (rows, classes, features)
        Zero for a missing cell.
    log_class_prob : array, shape (rows, classes)
        log p(y=c | D without i).
    rows : Rows
    """

    names: list[Any]
    log_density: np.ndarray
    log_class_prob: np.ndarray
    rows: Rows

    def take(self, which: np.ndarray) -> Self:
        """Some of the rows."""
        return type(self)(self.names, self.log_density[which], self.log_class_prob[which], self.rows.take(which))

    def require_finite(self, why: str) -> None:
        """Raise ValueError for densities that are not finite.

        Parameters
        ----------
        why : str
            What cannot be done with them, for the error.

        Raises
        ------
        ValueError
        """
        # The sum of a row is finite only if all its numbers are. An array of tests would be as large as the densities.
        infinite = np.flatnonzero(~np.isfinite(self.log_density.sum(axis=(1, 2))))
        if len(infinite):
            of_row = self.log_density[infinite[0]]
            c, j = np.argwhere(~np.isfinite(of_row))[0]
            raise DensityError(
                f"the density of row {self.rows.place[infinite[0]]} in feature {self.names[j]!r} and class "
                f"{self.rows.classes.tolist()[c]!r} is {of_row[c, j]} on the log scale, with which {why}: leave the "
                "row or the column out, or use a family whose density is positive there"
            )

    def rows_of_possible_labels(self, what: str) -> tuple[Self, list[str]]:
        """The rows whose label is possible without them, and a remark on the others.

        Parameters
        ----------
        what : str
            What the others do not count in, for the remark.

        Raises
        ------
        ValueError
            If there are no such rows.
        """
        possible = np.isfinite(self.log_class_prob[np.arange(len(self.rows)), self.rows.codes])
        if possible.all() and len(possible):
            return self, []
        if not possible.any():
            raise DensityError(
                "without a row its label has probability zero, for every row: leave class_probs out for a Dirichlet "
                "prior"
            )
        lost = self.rows.place[~possible]
        remark = (
            f"{named_rows(lost)} {'do' if len(lost) > 1 else 'does'} not count in {what}: without the row its label "
            "has probability zero, whatever the features; leave class_probs out for a Dirichlet prior"
        )
        return self.take(possible), [remark]


@in_float64
def features_left_out(posterior: Any, rows: Rows, places: np.ndarray | None = None) -> FeaturesLeftOut:
    """The log density of each feature of each row, given the other rows.

    Parameters
    ----------
    posterior : ExactPosterior, AveragedPosterior or SampledPosterior
        From draws the densities are estimated by importance sampling.
    rows : Rows
        Those of the fit.
    places : array of int, optional
        Positions of the rows to compute, in ascending order; all by default. Every row is left out of all the data.

    Raises
    ------
    TypeError, ValueError
        As `loo`.
    """
    require_rows_of_fit(posterior, rows)
    names = feature_names(posterior.model.blocks)
    places = np.arange(len(rows)) if places is None else places
    log_density = np.empty((len(places), len(rows.classes), len(names)))
    log_class_prob = np.empty(log_density.shape[:2])
    of_features = _of_features_without(posterior, rows)
    positions = positions_of_features(posterior.model.blocks)

    def compute(where: slice, chunk: Cells) -> None:
        some = rows.take(places[where])
        for piece, i, j, densities in of_features(chunk, some):
            log_density[where][piece, :, positions[i][j]] = densities
        log_class_prob[where] = log_class_probs_without(posterior, some)

    chunks = posterior.model.read(rows.table)
    if len(places) == len(rows):
        chunks.each(compute)
    else:
        # A column costs as much for few rows as for many: the rows of all chunks are computed together.
        cells = chunks.of_rows(places)
        pieces = list(row_pieces(len(places), PIECE_CELLS // ROWS))
        list(results_in_order(lambda where: compute(where, tuple(x[where] for x in cells)), pieces))
    return FeaturesLeftOut(names, log_density, log_class_prob, rows.take(places))


def all_features_left_out(posterior: Any, rows: Rows) -> FeaturesLeftOut:
    """As `features_left_out`, with all features as one: the sum of their log densities, up to a term of each row."""
    left_out = leave_one_out(posterior, rows)
    log_class_prob = log_class_probs_without(posterior, rows)
    # A class that is impossible for every row adds nothing to learn from.
    possible = ~np.isneginf(log_class_prob)
    log_density = np.subtract(left_out.log_proba, log_class_prob, out=np.zeros_like(log_class_prob), where=possible)
    return FeaturesLeftOut(["all features"], log_density[..., None], log_class_prob, rows)
