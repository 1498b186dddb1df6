"""Gibbs sampling of missing labels and parameters in turn."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import jax
import numpy as np

from bayesnb.arrays import in_float64
from bayesnb.blocks.parameters import ModelParameters, draw_parameters, log_prior_density
from bayesnb.blocks.statistics import ModelStatistics, updated
from bayesnb.families.conjugate import ConjugateFamily, given
from bayesnb.families.log_prob import log_prob
from bayesnb.inference.base import ConvergenceWarning, Inference
from bayesnb.inference.em import chain_quantiles, first_responsibilities, probabilities
from bayesnb.inference.hyperparameters import ChainHyperparameters
from bayesnb.inference.relabel import on_groupings, relabel
from bayesnb.keys import random_generator
from bayesnb.model.ways import refuse_coupled, ways_to_fit
from bayesnb.parallel import added, in_order
from bayesnb.posterior.collapsed import CollapsedPosterior
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.problem import Problem
from bayesnb.progress import shows_progress, tqdm
from bayesnb.statistics.counts import ClassCounts
from bayesnb.validate import whole_number
from bayesnb.warn import warn

__all__ = ["Gibbs"]


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
        Whether to show a progress bar; by default on a terminal and in a notebook, and not where the environment
        variable CI is set.

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
        problem.require_every_feature("Gibbs")
        for block in problem.model.blocks:
            if not isinstance(block.family, ConjugateFamily):
                raise ValueError(
                    f"column {block.labels[0]!r} is {block.family.family_name}, which has no closed-form posterior "
                    f"given the labels: use {ways_to_fit(problem.model)}"
                )
        if problem.model.hyperpriors:
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
        log_density = of_rows + _log_density(problem, parameters)
        parameters = relabel(problem, parameters, log_density)
        kind = CollapsedPosterior if problem.model.hyperpriors and problem.unlabelled is None else SampledPosterior
        posterior = kind(problem, problem.resolved, parameters, {"lp": log_density}, self)
        self._warn(posterior)
        return posterior

    def _sample(self, problem: Problem, rng: np.random.Generator) -> tuple[ModelParameters, np.ndarray]:
        """Draws, and the log density of the unlabelled rows at each, leading axes (chain, draw)."""
        if problem.unlabelled is None and not problem.model.hyperpriors:
            shape = (self.num_chains, self.num_samples)
            return draw_parameters(problem.posterior_classes, problem.posterior_families, rng, shape), np.zeros(shape)
        hyperparameters = ChainHyperparameters(problem.resolved, self.num_chains, rng)
        statistics, sweep = self._sweeps(problem, hyperparameters, rng)
        kept, of_rows = [], []
        total = self.num_warmup + self.num_samples
        with tqdm(total=total, desc="Gibbs", unit="sweep", disable=not shows_progress(self.progress)) as bar:
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
            labels = _draw_labels(responsibilities, rows.weights[here], stream)
            return model.count(cells, np.moveaxis(labels, 0, 1).reshape(labels.shape[1], -1))

        def begin(piece: tuple[slice, Any]) -> ModelStatistics:
            here, stream = piece
            return count(starts[:, here], rows.cells(here), here, stream)

        def sweep(parameters: ModelParameters) -> tuple[ModelStatistics, np.ndarray]:
            def of_piece(piece: tuple[slice, Any]) -> tuple[ModelStatistics, np.ndarray]:
                here, stream = piece
                cells = rows.cells(here)
                responsibilities, density = probabilities(model.log_joint(parameters, cells))
                return count(responsibilities, cells, here, stream), density @ rows.weights[here]

            counted, of_rows = reduce(added, in_order(of_piece, pieces))
            return known + counted, of_rows

        return known + reduce(add, in_order(begin, pieces)), sweep

    def _warn(self, posterior: SampledPosterior) -> None:
        problems = posterior.diagnostics.problems()
        if problems:
            assert posterior.problem is not None
            settings = f"The settings are num_warmup (now {self.num_warmup}), num_samples (now {self.num_samples})."
            settings += on_groupings(posterior.problem)
            warn(f"Gibbs: {'; '.join(problems)}. {settings}", ConvergenceWarning)


def _draw_labels(responsibilities: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Number of copies of each row, out of its weight, in each class, shape (chains, rows, classes)."""
    if (weights != 1).any():
        return rng.multinomial(weights.astype(np.int64), responsibilities).astype(np.float64)
    # A single label needs one uniform number, and takes half the time of NumPy's multinomial.
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
    class_prior, families = hyperparameters.priors()
    num_chains = len(jax.tree.leaves(class_prior)[0])
    classes = ClassCounts(statistics.classes.n.reshape(num_chains, -1))
    num_classes = classes.n.shape[1]
    # The families get one class axis with the classes of all chains, as the statistics have it.
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), families)
    class_prior, flat = updated(class_prior, flat, replace(statistics, classes=classes))
    in_chains = partial(jax.tree.map, lambda leaf: leaf.reshape(num_chains, num_classes, *leaf.shape[1:]))
    # A family that couples the classes of a chain does not couple those of two chains.
    families = tuple(
        given(family, in_chains(counted))
        if isinstance(family, ConjugateFamily) and family.couples_classes
        else in_chains(after)
        for family, after, counted in zip(families, flat, statistics.blocks, strict=True)
    )
    drawn = draw_parameters(class_prior, families, rng, hyperparameters=hyperparameters.values)
    return replace(drawn, class_prob=np.broadcast_to(drawn.class_prob, classes.n.shape))


def _log_density(problem: Problem, parameters: ModelParameters) -> np.ndarray:
    """Log density of hyperparameters, parameters and labelled rows, up to a constant, leading axes (chain, draw)."""
    model, values = problem.resolved, parameters.hyperparameters
    class_prior, families = model.learned.given(values) if values else (model.class_prior, model.families)
    total = model.log_density(parameters, problem.statistics)
    total = total + log_prior_density(class_prior, families, parameters)
    for name, value in values.items():
        density = log_prob(model.hyperpriors[name], value)
        total = total + density.reshape(*total.shape, -1).sum(axis=-1)
    return total
