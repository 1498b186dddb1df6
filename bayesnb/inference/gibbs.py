"""Gibbs sampling of labels and hyperparameters."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add, itemgetter
from typing import Any

import numpy as np
from scipy.special import softmax

from bayesnb.core.arrays import probabilities
from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import dist, in_float64, jax, jit, jnp, to_numpy
from bayesnb.core.running import added, progress_bar, random_generator, results_in_order
from bayesnb.families.conjugate import ConjugateFamily, couples_classes
from bayesnb.families.hyperparameters import given
from bayesnb.families.statistics import ClassCounts
from bayesnb.inference.em import chain_quantiles, first_responsibilities, label_log_joint
from bayesnb.inference.exact import Inference, drawn_points, require_closed_form, warn_of_draws
from bayesnb.model.blocks import ModelStatistics
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import ModelParameters, Prior
from bayesnb.model.problem import Problem, refuse_coupled
from bayesnb.posterior.kinds import CollapsedPosterior, SampledPosterior
from bayesnb.posterior.under_draws import draws_for_chunk, flatten

# --------------------------------------------------------------------------------------------------
# Draws of learned hyperparameters given statistics, the parameters integrated out
# --------------------------------------------------------------------------------------------------

WIDTH = 3.0
"""Width of the slice search in the unconstrained coordinate: for a positive number, a factor of twenty."""

NUM_FOR_SCALE = 200
"""Draws from the hyperpriors that tell on which scale a number moves."""


class ChainHyperparameters:
    """The learned hyperparameters of each chain.

    They move by slice sampling (Neal 2003, *Annals of Statistics* 31(3), 705-767). The density is that of the
    hyperpriors times the evidence of the statistics, in unconstrained coordinates, all hyperparameters of a chain in
    one line. A sweep moves one number after another, and then all numbers together, because the concentrations of a
    Dirichlet distribution vary together. Nothing needs tuning.

    Given the statistics, classes depend on each other only through hyperparameters that they share. Where they share
    none, the numbers of all classes move side by side.

    Parameters
    ----------
    model : BoundModel
        Its families are conjugate. It may learn no hyperparameter.
    num_chains : int
    rng : numpy.random.Generator
        For the hyperparameters at the start, draws from the hyperpriors.
    """

    def __init__(self, model: BoundModel, num_chains: int, rng: np.random.Generator) -> None:
        self._model = model
        self._hyperpriors = tuple(model.description.hyperpriors.values())
        drawn = drawn_points(model.learned, rng, num_chains).values() if self._hyperpriors else ()
        lines = [np.reshape(value, (num_chains, -1)) for value in drawn]
        self._line = np.concatenate([np.zeros((num_chains, 0)), *lines], axis=1)

    @cached_property
    def _scale(self) -> np.ndarray:
        """Unit of each number in which a slice has the width `WIDTH`; more than one for a mean in thousands, say."""
        drawn = drawn_points(self._model.learned, np.random.default_rng(0), NUM_FOR_SCALE).values()
        lines = np.concatenate([np.reshape(value, (NUM_FOR_SCALE, -1)) for value in drawn], axis=1)
        low, high = np.quantile(lines, [0.25, 0.75], axis=0)
        return np.maximum(high - low, 1.0)

    @property
    def values(self) -> dict[str, np.ndarray]:
        """The hyperparameters by name, leading axis the chain."""
        return self._at(self._line)[0]

    def prior(self) -> Prior:
        """The prior of all chains, leading axis the chain."""
        if not self._hyperpriors:
            return self._same_for_all
        return self._model.learned.given(self.values)

    @cached_property
    def _same_for_all(self) -> Prior:
        number = len(self._line)
        return jax.tree.map(lambda leaf: np.broadcast_to(leaf, (number, *np.shape(leaf))), self._model.prior)

    def with_numbers(self, problem: Problem) -> list[Problem]:
        """The problem with the hyperparameters of each chain in place of the hyperpriors."""
        if not self._hyperpriors:
            return [problem] * len(self._line)
        return [
            replace(problem, model=problem.model.with_hyperparameters(jax.tree.map(itemgetter(s), self.values)))
            for s in range(len(self._line))
        ]

    def move(self, statistics: ModelStatistics, rng: np.random.Generator) -> None:
        """Move all hyperparameters once, given statistics whose class axis holds the classes of all chains."""
        if not self._hyperpriors:
            return
        for moved in self._moves:
            self._line = self._slice(self._line, moved, statistics, rng)

    def _slice(
        self, line: np.ndarray, moved: np.ndarray, statistics: ModelStatistics, rng: np.random.Generator
    ) -> np.ndarray:
        """A draw from the density along some of the numbers, by one shift for each chain and each owner."""
        height = self._log_density(line, statistics)
        height = height - rng.exponential(size=height.shape)
        lower = -WIDTH * rng.uniform(size=height.shape)
        upper = lower + WIDTH
        shift, found = np.zeros(height.shape), np.zeros(height.shape, dtype=bool)
        while not found.all():
            shift = np.where(found, shift, rng.uniform(lower, upper))
            proposal = line + moved * self._scale * shift[:, self._owner]
            found |= self._log_density(proposal, statistics) >= height
            lower = np.where(shift < 0, shift, lower)
            upper = np.where(shift < 0, upper, shift)
        return proposal

    def _log_density(self, line: np.ndarray, statistics: ModelStatistics) -> np.ndarray:
        """Log density of the numbers of each owner, shape (chains, owners); -inf where it overflows."""
        values, of_numbers = self._at(line)
        prior = self._model.learned.given(values)
        # The families get one class axis with the classes of all chains, as the statistics have it.
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), prior.families)
        evidence = sum(
            np.asarray(family.log_evidence(counted)).sum(axis=-1)
            for family, counted in zip(flat, statistics.blocks, strict=True)
        )
        by_class = np.reshape(evidence, (len(line), -1))
        if self._owner.max() == 0:
            of_labels = prior.classes.log_evidence(ClassCounts(statistics.classes.n.reshape(by_class.shape)))
            by_class = (by_class.sum(axis=1) + of_labels)[:, None]
        total = of_numbers @ np.eye(self._owner.max() + 1)[self._owner] + by_class
        return np.where(np.isnan(total), -np.inf, total)

    def _at(self, line: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Hyperparameters by name, and the log density of each number of the line."""
        if not self._hyperpriors:
            return {}, line
        values, of_numbers = to_numpy(_constrained_line(self._hyperpriors, line))
        return dict(zip(self._model.description.hyperpriors, values, strict=True)), of_numbers

    @cached_property
    def _owner(self) -> np.ndarray:
        """Class that each number belongs to, shape (numbers,); all zero if classes share a number."""
        learned, size = self._model.learned, self._line.shape[1]
        of_classes = len(jax.tree.leaves(learned.numbers.classes))
        uses = np.zeros((len(self._model.schema.classes), size), dtype=bool)
        for places in learned.places[of_classes:]:
            for c, of_class in enumerate(places):
                uses[c, of_class[of_class >= 0]] = True
        shared = any((places >= 0).any() for places in learned.places[:of_classes]) or (uses.sum(axis=0) > 1).any()
        return np.zeros(size, dtype=np.int64) if shared else uses.argmax(axis=0)

    @cached_property
    def _moves(self) -> list[np.ndarray]:
        """Which numbers move at a time, each of shape (numbers,)."""
        rank = np.array([np.count_nonzero(self._owner[:k] == owner) for k, owner in enumerate(self._owner)])
        moves = [rank == r for r in range(rank.max() + 1)]
        return moves if len(moves) == 1 else [*moves, np.ones(len(rank), dtype=bool)]


@jit
def _constrained_line(hyperpriors: tuple[Any, ...], line: Any) -> tuple[list[Any], Any]:
    """Hyperparameters from a line of unconstrained numbers, and the log density of each number under its hyperprior."""
    values, densities, start = [], [], 0
    for prior in hyperpriors:
        size = math.prod(prior.batch_shape)
        free = line[..., start : start + size].reshape(*line.shape[:-1], *prior.batch_shape)
        start += size
        transform = dist.biject_to(prior.support)
        value = transform(free)
        density = prior.log_prob(value) + transform.log_abs_det_jacobian(free, value)
        values.append(value)
        densities.append(density.reshape(*line.shape[:-1], size))
    return values, jnp.concatenate(densities, axis=-1)


# --------------------------------------------------------------------------------------------------
# Exchangeable classes, relabelled so that a label means the same in every draw
# --------------------------------------------------------------------------------------------------

MATCHED_ROWS = 500
"""Number of evenly spaced rows that determine the relabelling, and of draws that try references."""

MOST_STEPS = 100
"""Largest number of references."""

STARTS = 12
"""Number of draws that are first references, beside that of highest density."""


def exchangeable(problem: Problem) -> list[np.ndarray]:
    """Groups of two or more exchangeable classes: the posterior does not depend on their order.

    They have no labelled row, and the same prior. Classes that each have a learned hyperparameter of their own are not
    exchangeable, because the draws of the hyperparameters name the classes.
    """
    model = problem.resolved
    learned = model.learned.places if model.description.hyperpriors else ()
    alike: dict[bytes, list[int]] = {}
    for c in np.flatnonzero(problem.statistics.classes.n == 0).tolist():
        prior = jax.tree.map(lambda leaf, c=c: np.asarray(leaf)[c], (model.prior, learned))
        key = b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in jax.tree.leaves(prior))
        alike.setdefault(key, []).append(c)
    return [np.array(group) for group in alike.values() if len(group) > 1]


def grouping_remark(problem: Problem) -> str:
    """What a warning of draws adds where classes are exchangeable; empty where they are not."""
    if not exchangeable(problem):
        return ""
    return (
        ". The chains may hold different groupings, and the share of chains in one is then not its probability: fewer "
        "classes or some known labels help"
    )


@in_float64
def relabel(problem: Problem, parameters: ModelParameters, log_density: np.ndarray) -> ModelParameters:
    """Draws with exchangeable classes in an order that they share.

    The posterior does not depend on the order of such classes. Chains, and draws of one chain, may have them in any
    order, and averages over draws then have no meaning (Stephens 2000, *Journal of the Royal Statistical Society B*
    62(4), 795-809). Here each draw's classes take the order in which its probabilities of the rows' labels agree most
    with a reference. The first reference is the draw of highest density, the pivot (the equivalence classes
    representatives algorithm of Papastamoulis and Iliopoulos 2010, *Journal of Computational and Graphical Statistics*
    19(2), 313-331, with probabilities in place of labels). The next is the mean of the reordered draws, until no order
    changes, as in Stephens' algorithm. A single draw as the reference would be noise in every summary. Where groups
    overlap there are several such ends: some other draws are first references, too, and the draws agree most at the end
    taken.

    Parameters
    ----------
    problem : Problem
    parameters : ModelParameters
        Leading axes (chain, draw).
    log_density : array, shape (chain, draw)

    Returns
    -------
    ModelParameters
        The same draws, up to the names of classes.
    """
    if problem.unlabelled is None or not (groups := exchangeable(problem)):
        return parameters
    number = len(problem.unlabelled)
    rows = problem.unlabelled.take(np.linspace(0, number - 1, min(number, MATCHED_ROWS)).round().astype(int))
    flat = flatten(parameters)
    pivot = jax.tree.map(lambda value: value[np.argmax(log_density)], flat)
    reference = softmax(label_log_joint(problem.resolved, rows, pivot), axis=-1)
    pieces = draws_for_chunk(parameters, rows.blocks)
    drawn = np.concatenate([softmax(label_log_joint(problem.resolved, rows, piece), axis=-1) for piece in pieces])

    def settled(drawn: np.ndarray, reference: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """How much the draws agree with their mean at the end that a reference leads to; the mean; their order."""
        order = _orders(drawn, reference * rows.weights[:, None], groups)
        # Each step improves the agreement of the draws with their mean, so that no order recurs.
        for _ in range(MOST_STEPS):
            reference = np.take_along_axis(drawn, order[:, None], axis=2).mean(axis=0)
            before, order = order, _orders(drawn, reference * rows.weights[:, None], groups)
            if np.array_equal(order, before):
                break
        return float((reference**2 * rows.weights[:, None]).sum()), reference, order

    some = drawn[np.linspace(0, len(drawn) - 1, min(len(drawn), MATCHED_ROWS)).round().astype(int)]
    best_of_some = max((settled(some, start) for start in some[:: -(-len(some) // STARTS)]), key=itemgetter(0))[1]
    _, _, order = max((settled(drawn, start) for start in (reference, best_of_some)), key=itemgetter(0))
    order = order.reshape(*log_density.shape, -1)

    def reorder(value: np.ndarray) -> np.ndarray:
        return np.take_along_axis(value, order.reshape(*order.shape, *[1] * (value.ndim - 3)), axis=2)

    blocks = tuple({name: reorder(value) for name, value in block.items()} for block in parameters.blocks)
    return ModelParameters(reorder(parameters.class_prob), blocks, parameters.hyperparameters)


def _orders(responsibilities: np.ndarray, reference: np.ndarray, groups: list[np.ndarray]) -> np.ndarray:
    """For each draw, the class at each position, shape (draws, classes)."""
    from scipy.optimize import linear_sum_assignment

    agreement = np.einsum("src,rk->skc", responsibilities, reference)
    order = np.tile(np.arange(reference.shape[1]), (len(responsibilities), 1))
    for group in groups:
        for s, matrix in enumerate(agreement[:, group[:, None], group]):
            order[s, group] = group[linear_sum_assignment(matrix, maximize=True)[1]]
    return order


def posterior_of_draws(
    problem: Problem, parameters: ModelParameters, sample_stats: dict[str, np.ndarray], inference: Inference | None
) -> SampledPosterior:
    """The posterior behind draws, whose ``"lp"`` is the log density, with a label that means the same in all draws."""
    named = relabel(problem, parameters, sample_stats["lp"])
    closed = problem.model.description.hyperpriors and problem.unlabelled is None and problem.model.conjugate
    kind = CollapsedPosterior if closed else SampledPosterior
    return kind(problem, problem.resolved, named, sample_stats, inference)


# --------------------------------------------------------------------------------------------------
# Gibbs sampling of missing labels and parameters in turn
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gibbs(Inference):
    r"""Draws from the posterior where labels are missing: labels and parameters in turn, each exactly.

    One sweep draws every missing label given the parameters, and then all parameters from their closed form given all
    labels (Diebolt and Robert 1994, *Journal of the Royal Statistical Society B* 56(2), 363-375):

    .. math::
        p(y_i = c \mid x_i, \pi, \theta) \propto \pi_c \prod_j p(x_{ij} \mid \theta_{cj}), \qquad
        \pi, \theta \mid x, y \sim \text{the posterior of labelled rows.}

    If hyperparameters are learned, a sweep also moves them, from their density given all labels, the parameters
    integrated out, by slice sampling (Neal 2003, *Annals of Statistics* 31(3), 705-767).

    It needs conjugate families. All chains run together in NumPy, and sparse rows stay sparse.
    Each chain starts on its own near an optimum. The better the features separate the classes, the faster the chains
    mix. If every row has a label and no hyperparameter is learned, the draws are independent.

    Classes without a labelled row and with the same prior are exchangeable. They are reordered so that a label means
    the same in all draws: each draw's classes take the order in which its probabilities of the rows' labels agree most
    with those of the draw of highest density (Papastamoulis and Iliopoulos 2010, *Journal of Computational and
    Graphical Statistics* 19(2), 313-331, with probabilities in place of labels).

    Parameters
    ----------
    num_warmup : int, default 200
        Sweeps of each chain that are not kept.
    num_samples : int, default 1000
        Draws kept in each chain.
    num_chains : int, default 4
    progress : bool, optional
        Whether to show progress, by default unless the environment variable CI is set: a bar on a terminal, in a
        notebook or if True is given, else lines of text, the first after two seconds and then every ten.

    Warns
    -----
    ConvergenceWarning
        If a rank-normalised R-hat is above 1.01, or a bulk or tail effective sample size below 100 a chain.

    Raises
    ------
    ValueError
        If a setting is out of range.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    EmpiricalBayes : Hyperparameters that maximise the evidence.
    SampledPosterior : The posterior as draws.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X = [[1.0], [1.3], [7.1], [6.8], [7.4], [0.8]]
    >>> posterior = nb.fit(nb.Gaussian(), X, ["low", None, "high", None, None, None], nb.Gibbs(), key=0)
    >>> posterior.predict([[2.0], [6.0]]).tolist()
    ['low', 'high']
    """

    num_warmup: int = 200
    num_samples: int = 1000
    num_chains: int = 4
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("num_warmup", "num_samples", "num_chains"):
            whole_number(f"Gibbs({name}=...)", getattr(self, name))

    def check(self, problem: Problem) -> None:
        problem.model.require_every_feature("Gibbs")
        require_closed_form(problem.model, "posterior given the labels")
        if problem.model.description.hyperpriors:
            refuse_coupled(problem.model, "nb.NUTS()" if problem.unlabelled is None else "numbers as hyperparameters")
        if problem.unlabelled is not None:
            fractions = problem.unlabelled.weights[problem.unlabelled.weights % 1 != 0]
            if fractions.size:
                raise ValueError(
                    f"a row without a label has the weight {fractions[0]:g}: Gibbs draws a label for each copy of the "
                    "row, and needs a whole number; use nb.NUTS() or nb.MAP()"
                )

    @in_float64
    def fit(self, problem: Problem, *, key: Any = 0) -> SampledPosterior:
        """Sample the problem's posterior; an interrupted run keeps no state."""
        self.check(problem)
        rng = random_generator(key)
        parameters, of_rows = self._sample(problem, rng)
        stats = {"lp": of_rows + _log_density_of_state(problem, parameters)}
        posterior = posterior_of_draws(problem, parameters, stats, self)
        settings = {"num_warmup": self.num_warmup, "num_samples": self.num_samples}
        instead = ". nb.NUTS() moves learned hyperparameters together" if problem.model.description.hyperpriors else ""
        warn_of_draws("Gibbs", posterior.diagnostics, settings, grouping_remark(problem) + instead)
        return posterior

    def _sample(self, problem: Problem, rng: np.random.Generator) -> tuple[ModelParameters, np.ndarray]:
        """Draws, and the log density of the unlabelled rows at each, leading axes (chain, draw)."""
        if problem.unlabelled is None and not problem.model.description.hyperpriors:
            shape = (self.num_chains, self.num_samples)
            return problem.posterior.draw(rng, shape), np.zeros(shape)
        hyperparameters = ChainHyperparameters(problem.resolved, self.num_chains, rng)
        statistics, sweep = self._sweeps(problem, hyperparameters, rng)
        kept, of_rows = [], []
        total = self.num_warmup + self.num_samples
        with progress_bar("Gibbs", "sweep", self.progress, total=total) as bar:
            for number in range(total):
                hyperparameters.move(statistics, rng)
                parameters = _draw_given(hyperparameters, statistics, rng)
                statistics, of_sweep = sweep(parameters)
                if number >= self.num_warmup:
                    kept.append(parameters)
                    of_rows.append(of_sweep)
                bar.update()
        return jax.tree.map(lambda *draws: np.stack(draws, axis=1), *kept), np.stack(of_rows, axis=1)

    def _sweeps(
        self, problem: Problem, hyperparameters: ChainHyperparameters, rng: np.random.Generator
    ) -> tuple[ModelStatistics, Callable[[ModelParameters], tuple[ModelStatistics, np.ndarray]]]:
        """The statistics at the start, and a draw of the labels.

        The draw takes parameters and gives the statistics, and the log density of the unlabelled rows in each chain.
        The class axis of the statistics holds the classes of all chains, those of the first chain first.
        """
        rows, model = problem.unlabelled, problem.resolved
        known = ModelStatistics.joined([problem.statistics] * self.num_chains)
        if rows is None:
            return known, lambda parameters: (known, np.zeros(self.num_chains))
        chains = zip(hyperparameters.with_numbers(problem), chain_quantiles(self.num_chains), strict=True)
        starts = np.stack([first_responsibilities(chain, rng, quantile) for chain, quantile in chains])
        # Each piece of the rows has a stream of random numbers of its own, so that draws do not depend on the threads.
        pieces = list(zip(rows.slices, rng.spawn(len(rows.slices)), strict=True))

        def count(responsibilities: np.ndarray, cells: tuple[Any, ...], here: slice, stream: Any) -> ModelStatistics:
            labels = _draw_label_counts(responsibilities, rows.weights[here], stream)
            return model.count(cells, np.moveaxis(labels, 0, 1).reshape(labels.shape[1], -1))

        def sweep(parameters: ModelParameters) -> tuple[ModelStatistics, np.ndarray]:
            def of_piece(piece: tuple[slice, Any]) -> tuple[ModelStatistics, np.ndarray]:
                here, stream = piece
                cells = rows.cells(here)
                responsibilities, density = probabilities(model.log_joint(parameters, cells))
                return count(responsibilities, cells, here, stream), density @ rows.weights[here]

            counted, of_rows = reduce(added, results_in_order(of_piece, pieces))
            return known + counted, of_rows

        first = results_in_order(lambda piece: count(starts[:, piece[0]], rows.cells(piece[0]), *piece), pieces)
        return known + reduce(add, first), sweep


def _draw_label_counts(responsibilities: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Number of copies of each row, out of its weight, in each class, shape (chains, rows, classes)."""
    if (weights != 1).any():
        return rng.multinomial(weights.astype(np.int64), responsibilities).astype(np.float64)
    # A single label needs one uniform number, which takes half the time of NumPy's multinomial.
    uniform = rng.random(responsibilities.shape[:-1])
    labels = np.empty(responsibilities.shape)
    edge, passed = np.zeros(uniform.shape), np.zeros(uniform.shape, dtype=bool)
    for c in range(labels.shape[-1] - 1):
        edge = edge + responsibilities[..., c]
        below = uniform < edge
        labels[..., c] = below & ~passed
        passed = below
    labels[..., -1] = ~passed
    return labels


def _draw_given(
    hyperparameters: ChainHyperparameters, statistics: ModelStatistics, rng: np.random.Generator
) -> ModelParameters:
    """A draw of all parameters for each chain, given its hyperparameters and its statistics."""
    prior = hyperparameters.prior()
    num_chains = len(jax.tree.leaves(prior.classes)[0])
    classes = ClassCounts(statistics.classes.n.reshape(num_chains, -1))
    num_classes = classes.n.shape[1]
    # The families get one class axis with the classes of all chains, as the statistics have it.
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), prior.families)
    after = Prior(prior.classes, flat).update(replace(statistics, classes=classes))
    in_chains = partial(jax.tree.map, lambda leaf: leaf.reshape(num_chains, num_classes, *leaf.shape[1:]))
    # A family couples the classes of one chain, not those of two chains.
    families = tuple(
        given(family, in_chains(counted))
        if isinstance(family, ConjugateFamily) and couples_classes(family)
        else in_chains(updated)
        for family, updated, counted in zip(prior.families, after.families, statistics.blocks, strict=True)
    )
    drawn = Prior(after.classes, families).draw(rng)
    class_prob = np.broadcast_to(drawn.class_prob, classes.n.shape)
    return replace(drawn, class_prob=class_prob, hyperparameters=dict(hyperparameters.values))


def _log_density_of_state(problem: Problem, parameters: ModelParameters) -> np.ndarray:
    """Log density of hyperparameters, parameters and labelled rows, up to a constant, leading axes (chain, draw)."""
    from bayesnb.families.formulas import log_prob

    model, values = problem.resolved, parameters.hyperparameters
    prior = model.learned.given(values) if values else model.prior
    total = prior.log_likelihood(parameters, problem.statistics) + prior.log_density(parameters)
    for name, value in values.items():
        density = log_prob(model.description.hyperpriors[name], value)
        total = total + density.reshape(*total.shape, -1).sum(axis=-1)
    return total
