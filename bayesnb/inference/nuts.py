"""NUTS, for parameters and for weights of features."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from threading import Event, Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from bayesnb.core.arrays import dense
from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import (
    constraints,
    dist,
    float64,
    in_float64,
    jax,
    jit,
    jnp,
    numpyro,
    on_default_device,
    to_numpy,
)
from bayesnb.core.running import as_key, progress_bar, random_generator, results_in_order, split
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, JointFamily, Parameters, Sample, parameter_names
from bayesnb.families.hyperparameters import filled_cells
from bayesnb.inference.coordinates import Coordinate, Plain
from bayesnb.inference.em import chain_quantiles, first_responsibilities
from bayesnb.inference.exact import Inference, warn_of_draws
from bayesnb.inference.gibbs import grouping_remark, posterior_of_draws
from bayesnb.model.blocks import Block, ModelStatistics
from bayesnb.model.feature_weights import ConditionalLikelihood, NormalWeights
from bayesnb.model.laplace import Mixture
from bayesnb.model.prior import CLASS_SITE, LearnedPrior, ModelParameters, Prior, sample_in_program
from bayesnb.model.problem import Problem, has_closed_form, refuse_coupled
from bayesnb.posterior.diagnostics import Diagnostics, diagnose
from bayesnb.posterior.kinds import SampledPosterior

# --------------------------------------------------------------------------------------------------
# The densities that NUTS samples: of all parameters, or of the hyperparameters alone if parameters have a closed form.
#
# Missing labels are never sampled, but summed out. No parameter then has a closed form.
# --------------------------------------------------------------------------------------------------

TEMPERATURE = 0.1
"""Chains start at draws from the posterior given a tenth of the data's weight: near, and spread wider than the
target."""


def _on_device(leaf: Any) -> Any:
    """A JAX array, of float64 if it holds fractions; JAX's asarray compiles a program for each shape."""
    array = np.asarray(leaf)
    return jax.device_put(array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else array)


def _program_of_model(prior: Prior | LearnedPrior, statistics: ModelStatistics, *unlabelled: Any) -> None:
    r"""The density of parameters and learned hyperparameters given labelled and unlabelled rows.

    The factor of an unlabelled row is :math:`\log \sum_c \pi_c \prod_j p(x_{ij} \mid \theta_{cj})`. If hyperparameters
    are learned and every row has a label, parameters with a closed form are integrated out. `unlabelled` is empty, or
    what `_observed_cells` gives for each block, and weights of shape (rows,).
    """
    given = prior.sampled(sample_in_program) if isinstance(prior, LearnedPrior) else prior
    parameters = given.program(statistics, integrated=isinstance(prior, LearnedPrior) and not unlabelled)
    if unlabelled:
        rows, weights = unlabelled
        joint = jnp.log(parameters.class_prob)
        for family, values, (cells, observed) in zip(given.families, parameters.blocks, rows, strict=True):
            joint = joint + _row_log_density(family, values, cells, observed)
        numpyro.factor("unlabelled", weights @ jax.scipy.special.logsumexp(joint, axis=-1))


def _row_log_density(family: Family, values: Parameters, cells: Any, observed: Any) -> Any:
    """Log density of each row under each class, shape (rows, classes)."""
    if isinstance(family, JointFamily):
        return family.row_log_likelihood(values, jnp.asarray(cells))
    spread = {name: value[None] for name, value in values.items()}
    log_density = family.likelihood(**spread).log_prob(cells[:, None])
    return jnp.where(observed[:, None], log_density, 0.0).sum(axis=-1)


def _observed_cells(block: Block, x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Cells of rows, and which of them are observed; a joint family takes NaN for the missing ones itself."""
    cells = dense(x)
    if block.is_joint:
        return cells, ~np.isnan(cells)
    observed, cells = filled_cells(block.family, cells)
    return cells.astype(np.int64) if block.has_categories else cells, observed


class Target:
    """The posterior density of a problem as a NumPyro program, where to start, and how its draws become parameters.

    Attributes
    ----------
    problem : Problem
    program : callable
        One object for all problems, so that compiled code is used again.
    knows_scale : bool
        Whether the scale of every site is known, so that warm-up adapts only the step size.
    """

    program: Callable = staticmethod(_program_of_model)

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.model = problem.resolved
        self._prior = self.model.learned if self.model.description.hyperpriors else self.model.prior
        self._integrated = bool(self.model.description.hyperpriors) and problem.unlabelled is None
        self.knows_scale = has_closed_form(problem.model) and problem.unlabelled is None

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of the program."""
        found: tuple[Any, ...] = self._prior, self.problem.statistics
        if (rows := self.problem.unlabelled) is not None:
            cells = tuple(_observed_cells(block, x) for block, x in zip(self.model.blocks, rows.blocks, strict=True))
            found = (*found, cells, rows.weights)
        return jax.tree.map(_on_device, found)

    def begin(self, rng: np.random.Generator, number: int) -> Any:
        """The coordinates of the sites, the first points of the chains, and the scale.

        They are at the closed form given the statistics; the first start gives the scale.
        """
        from bayesnb.inference.move import Walks, begin

        labelled = self.problem.statistics
        starts = self._with_first_labels(rng, number)
        prior, posterior, of_labelled = (partial(self._walk, given) for given in (None, starts[0], labelled))
        walks = Walks(prior, posterior, of_labelled, [partial(self._walk, start * TEMPERATURE) for start in starts])
        pairs = [(i, family) for i, family in enumerate(self.model.families) if isinstance(family, ConjugateFamily)]
        closed = {f"{i}.{name}" for i, family in pairs for name in parameter_names(family)}
        return begin(walks, {CLASS_SITE, *closed}, rng, number)

    def _with_first_labels(self, rng: np.random.Generator, number: int) -> Sequence[ModelStatistics]:
        """Statistics of all rows near an optimum: for all chains, or for each."""
        labelled, rows = self.problem.statistics, self.problem.unlabelled
        if rows is None:
            return [labelled]
        # Every class with a labelled row leaves one start. Else each chain has its own.
        quantiles = chain_quantiles(number if (labelled.classes.n == 0).any() else 1)
        memberships = [first_responsibilities(self.problem, rng, quantile) for quantile in quantiles]
        return [labelled + rows.count(self.model, membership * rows.weights[:, None]) for membership in memberships]

    def _walk(self, statistics: ModelStatistics | None, sample: Sample) -> None:
        """Call ``sample(site, distribution)`` for every site, given statistics."""
        prior = self._prior.sampled(sample) if isinstance(self._prior, LearnedPrior) else self._prior
        if statistics is not None and not self._integrated:
            prior = prior.update(statistics)
        prior.walk(sample, integrated=self._integrated)

    @in_float64
    def parameters(self, sites: dict[str, np.ndarray], rng: np.random.Generator) -> ModelParameters:
        """The parameters behind draws by site, leading axes (chain, draw); those integrated out are drawn here."""
        values = {name: sites[name] for name in self.model.description.hyperpriors}
        if self._integrated:
            after = self.model.learned.given(values).update(self.problem.statistics)
            drawn = after.draw(rng)
            own = (
                {name: sites.get(f"{i}.{name}", draws) for name, draws in block.items()}
                for i, block in enumerate(drawn.blocks)
            )
            return replace(drawn, blocks=tuple(own), hyperparameters=values)
        known, leading = self.model.class_prior.probs, next(iter(sites.values())).shape[:2]
        class_prob = sites[CLASS_SITE] if known is None else np.broadcast_to(known, (*leading, len(known)))
        families = enumerate(self.model.families)
        blocks = ({name: sites[f"{i}.{name}"] for name in parameter_names(family)} for i, family in families)
        return ModelParameters(class_prob, tuple(blocks), values)


# --------------------------------------------------------------------------------------------------
# Step sizes with which NUTS takes paths of a good length, where the scale of every parameter is known
# --------------------------------------------------------------------------------------------------

LONGEST = 5.1
"""Length of the longest good path. From 5.3 on, many paths are doubled again."""


def with_good_paths(step_size: float) -> float:
    r"""The step size, or the next smaller one whose paths turn in time.

    NUTS doubles a path until it makes a U-turn, so that paths have :math:`2^m - 1` steps. On a standard normal, a path
    is a rotation by :math:`2 \arcsin(\varepsilon / 2)` a step, and turns from half a period, :math:`\pi`, on. If a path
    is just too short, the doubled one is nearly a whole period: it ends where it began, where no turn is seen either,
    and the sampler doubles it again. A draw then costs up to ten times as many gradients. A step that is up to
    a third smaller prevents it. Paths of 15 steps also give more effective draws a second than 7 steps that are just
    long enough, because a gradient is cheap beside the rest of a fit.

    No acceptance prevents it in all models: with 0.6 it happens at 20 to 50 and at 400 to 1,500 parameters, and with
    0.7 at others.

    Parameters
    ----------
    step_size : float
        In coordinates with a posterior variance near one.

    Returns
    -------
    float

    Examples
    --------
    Paths of 7 steps, and of 15 instead of 7, 15, 31 or 63:

    >>> with_good_paths(0.6), round(with_good_paths(0.45), 3)
    (0.6, 0.338)
    """
    angle = 2 * math.asin(min(step_size / 2, 1.0))
    steps = 3
    # A path of three steps turns a little earlier, in the few dimensions that have steps of this size.
    while steps * angle < (3.2 if steps == 3 else 3.6):
        steps = 2 * steps + 1
    return step_size if steps * angle <= 5.3 else 2 * math.sin(LONGEST / steps / 2)


# --------------------------------------------------------------------------------------------------
# The No-U-Turn sampler on sufficient statistics
# --------------------------------------------------------------------------------------------------

FIRST_STEPS = 25
"""Steps of the first call. A run can be interrupted, and shows its progress, only between calls."""

LONG = 0.1
"""After a longer call, in seconds, the number of steps no longer grows."""

MOST_STEPS, MOST_CELLS = 250, 2**22
"""Largest number of steps in a call, and of numbers that a chain returns from it."""


@dataclass(frozen=True)
class NUTS(Inference):
    """Draws from the posterior by NumPyro's No-U-Turn sampler (Hoffman and Gelman 2014), for any family.

    The sampler reads sufficient statistics. Their density equals that of the rows up to a constant, so that a step
    costs the same at a thousand rows and at a billion. It runs in float64. On a processor each chain has a thread; on a
    GPU all chains run side by side. Another fit of the same shape does not compile again.

    Chains start at draws from a tempered posterior, which is wider than the posterior, as R-hat requires. If every
    family has a closed form, draws from it give the scale of each parameter, and warm-up adapts only the step size. The
    sampled density and the acceptance do not use the closed form.

    If hyperparameters are learned, only they are sampled, from their posterior under the closed-form evidence. The
    parameters are drawn exactly given each draw. This has few dimensions, and avoids the funnel in the joint density of
    hyperparameters and parameters. The parameters of families without a closed form are sampled together with the
    hyperparameters.

    Rows without a label enter with the label summed out, and the time of a step grows with their number.
    Hyperparameters that are learned are then sampled together with the parameters. All chains
    start near one optimum; if a class has no labelled row, each near one of ten random ones. Classes without a labelled
    row and with the same prior are exchangeable; they are reordered so that a label means the same in all draws.

    Parameters
    ----------
    num_warmup : int, optional
        Steps of adaptation in each chain, not kept; by default 150 where the closed form gives the scale, else 500.
    num_samples : int, default 1000
        Draws kept in each chain.
    num_chains : int, default 4
    target_accept_prob : float, optional
        Raise it towards 1 against divergences. By default 0.6 where the closed form gives the scale, which is near the
        cheapest (Betancourt, Byrne and Girolami 2014, arXiv:1411.6669), else 0.8.
    max_tree_depth : int, default 10
        A trajectory has at most 2 to this power, less one, steps.
    progress : bool, optional
        Whether to show progress, by default unless the environment variable CI is set: a bar on a terminal, in a
        notebook or if True is given, else lines of text, the first after two seconds and then every ten.

    Warns
    -----
    ConvergenceWarning
        If there are divergences, trajectories that `max_tree_depth` cuts off, an E-BFMI below 0.3 in a chain
        (Betancourt 2016), a rank-normalised R-hat above 1.01, or a bulk or tail effective sample size below 100 a chain
        (Vehtari et al. 2021). The message says what to change.

    Raises
    ------
    ValueError
        If a setting is out of range.

    See Also
    --------
    Exact : The closed form.
    SampledPosterior : The posterior as draws.
    compare : Whether samples agree with the closed form.
    enable_compilation_cache : Keep compiled functions on disk.

    Notes
    -----
    The prior distribution of a parameter determines its unconstrained coordinate, for families outside the package as
    well. Probabilities with a Dirichlet or Beta prior are represented by logarithms, which do not underflow: by
    stick-breaking if all concentrations are at least one, and else as log-gamma variables in a coordinate with light
    tails. The coordinate of a Gaussian class mean is its distance from the posterior's centre in standard deviations.
    The closed form only tunes the coordinates; the density is that of prior and likelihood.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> posterior = nb.fit(nb.Bernoulli(), X, y, nb.NUTS(num_samples=500))
    >>> posterior.draws()["x_prob"].shape
    (4, 500, 2, 2)
    """

    num_warmup: int | None = None
    num_samples: int = 1000
    num_chains: int = 4
    target_accept_prob: float | None = None
    max_tree_depth: int = 10
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("num_warmup", "num_samples", "num_chains", "max_tree_depth"):
            if name != "num_warmup" or self.num_warmup is not None:
                whole_number(f"NUTS({name}=...)", getattr(self, name))
        if self.target_accept_prob is not None and not 0 < self.target_accept_prob < 1:
            raise ValueError(f"NUTS(target_accept_prob={self.target_accept_prob!r}): give a number between 0 and 1")

    def check(self, problem: Problem) -> None:
        problem.model.require_every_feature("NUTS")
        # With labels, NUTS samples only the hyperparameters that are learned.
        if problem.unlabelled is not None or not problem.model.description.hyperpriors:
            refuse_coupled(problem.model, "nb.Exact(), with missing labels nb.Gibbs()")

    def fit(self, problem: Problem, *, key: Any = 0) -> SampledPosterior:
        """Sample the problem's posterior; an interrupted run keeps no state."""
        self.check(problem)
        target = Target(problem)
        start_key, chain_key, draw_key = split(as_key(key), 3)
        sites, stats = self.sample(target, start_key, chain_key)
        posterior = posterior_of_draws(problem, target.parameters(sites, random_generator(draw_key)), stats, self)
        self.warn_of(posterior.diagnostics, target, _instead(problem) + grouping_remark(problem))
        return posterior

    def sample(
        self, target: "Target | _SampledWeights", start_key: Any, chain_key: Any
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Draws by site of the target's program, and the sampler's statistics, leading axes (chain, draw)."""
        bar = progress_bar("NUTS: compiling", "step", self.progress)
        with bar, float64(), on_default_device():
            settings = self._settings(target)
            arguments = target.arguments
            keys = split(chain_key, self.num_chains)
            beginning = target.begin(random_generator(start_key), self.num_chains)
            given = {"density": (arguments, beginning.coordinates), "settings": settings}
            start, points = partial(_start_state, variance=beginning.variance, **given), beginning.points
            if settings.vectorised:
                states = [start(points, jnp.stack(keys))]
            else:
                states = [start(jax.tree.map(itemgetter(c), points), key) for c, key in enumerate(keys)]
            sites, stats = self._run(partial(_advance, **given), states, settings, bar)
        depth = np.floor(np.log2(stats["n_steps"])).astype(int) + 1
        return sites, {**stats, "tree_depth": depth, "reached_max_tree_depth": depth >= self.max_tree_depth}

    def warn_of(self, diagnostics: Diagnostics, target: "Target | _SampledWeights", instead: str) -> None:
        """Warn if the draws have problems; `instead` ends the message."""
        used = self._settings(target)
        settings: dict[str, Any] = {"num_warmup": used.num_warmup, "num_samples": self.num_samples}
        settings |= {"target_accept_prob": used.target_accept_prob, "max_tree_depth": used.max_tree_depth}
        warn_of_draws("NUTS", diagnostics, settings, instead)

    def _run(self, advance: Callable, states: list[Any], settings: "_Settings", bar: Any) -> Any:
        """Parameters by site and the sampler's statistics, with axes chain and draw in front."""
        # Two threads that need the same function at once would both compile it. It is therefore compiled before they
        # start.
        advance(states[0], 0)
        num_warmup = settings.num_warmup
        total = num_warmup + self.num_samples
        # Steps are timed from here.
        bar.set_description("NUTS", refresh=False)
        bar.reset(total * len(states))
        stopped, one_at_a_time = Event(), Lock()

        def run(state: Any) -> Any:
            kept = []
            done, steps = 0, FIRST_STEPS
            while done < total and not stopped.is_set():
                if done == num_warmup and not settings.adapt_mass_matrix:
                    state = _with_shorter_paths(state)
                steps = min(steps, _most_steps(state), (num_warmup if done < num_warmup else total) - done)
                began = time.perf_counter()
                state, draws = advance(state, steps)
                draws = to_numpy(draws)  # which waits for the chain
                if done >= num_warmup:
                    kept.append(jax.tree.map(itemgetter((slice(None), slice(steps))), draws))
                took = time.perf_counter() - began
                done += steps
                with one_at_a_time:
                    bar.update(steps)
                steps = max(FIRST_STEPS, int(steps * LONG / max(took, 1e-9)))
            return jax.tree.map(lambda *pieces: np.concatenate(pieces, axis=1), *kept)

        chains = list(results_in_order(run, states, stop=stopped.set))
        return jax.tree.map(lambda *chains: np.concatenate(chains), *chains)

    def _settings(self, target: "Target | _SampledWeights") -> "_Settings":
        known = target.knows_scale
        return _Settings(
            program=target.program,
            vectorised=_vectorised(),
            num_warmup=self.num_warmup or (150 if known else 500),
            target_accept_prob=self.target_accept_prob or (0.6 if known else 0.8),
            max_tree_depth=self.max_tree_depth,
            adapt_mass_matrix=not known,
        )


class _Settings(NamedTuple):
    """What is compiled into the sampler: the program, whether chains run side by side, and NumPyro's settings."""

    program: Callable
    vectorised: bool
    num_warmup: int
    target_accept_prob: float
    max_tree_depth: int
    adapt_mass_matrix: bool


def _sampler(density: "_Density", settings: _Settings) -> Any:
    """NumPyro's NUTS for the program's density: its init and its step."""
    from numpyro.infer.hmc import hmc

    from bayesnb.inference.move import potential

    init, step = hmc(partial(potential, settings.program, *density), algo="NUTS")
    return partial(init, **dict(zip(settings._fields[2:], settings[2:], strict=True))), step


_Density = tuple[tuple[Any, ...], dict[str, Coordinate]]
"""Arguments of the program, and the coordinates of its sites."""


def _vectorised() -> bool:
    """Whether chains run side by side in one call: on a processor, a thread for each is two to three times as fast."""
    return next(iter(jnp.zeros(()).devices())).platform != "cpu"


@jit(static_argnames="settings")
def _start_state(
    points: dict[str, Any], keys: Any, variance: dict[str, Any], density: _Density, settings: _Settings
) -> Any:
    """State of one chain before its first step, or that of all chains with a leading axis."""
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.util import ParamInfo

    def one_chain(point: dict[str, Any], key: jax.Array) -> Any:
        init, _ = _sampler(density, settings)
        # The first call of `_advance` computes the energy and the gradient: here they would be compiled again.
        unknown = ParamInfo(point, jnp.zeros(()), jax.tree.map(jnp.zeros_like, point))
        state = init(unknown, rng_key=key, inverse_mass_matrix=ravel_pytree(variance)[0])
        # No step reads the previous energy. Without it, its momentum need not be compiled.
        return state._replace(energy=jnp.zeros(()))

    return jax.vmap(one_chain)(points, keys) if settings.vectorised else one_chain(points, keys)


def _with_shorter_paths(state: Any) -> Any:
    """The state after warm-up, its step size made smaller where paths would not turn in time."""
    adapted = state.adapt_state
    better = np.vectorize(with_good_paths, otypes=[float])(to_numpy(adapted.step_size))
    return state._replace(adapt_state=adapted._replace(step_size=jnp.asarray(better, adapted.step_size.dtype)))


def _most_steps(state: Any) -> int:
    """The most steps of a call."""
    return max(FIRST_STEPS, min(MOST_STEPS, MOST_CELLS // max(1, sum(leaf.size for leaf in jax.tree.leaves(state.z)))))


@jit(static_argnames="settings")
def _advance(state: Any, num_steps: int, density: _Density, settings: _Settings) -> Any:
    """Run one chain, or all in one state, for some steps.

    Returns the state, and arrays of parameters and statistics with space for the most steps, axes chain and draw in
    front.
    """
    from numpyro.infer.util import ParamInfo

    from bayesnb.inference.move import potential, run_at

    def with_gradient(state: Any) -> Any:
        energy, gradient = jax.value_and_grad(partial(potential, settings.program, *density))(state.z)
        return state._replace(potential_energy=energy, z_grad=gradient)

    def one_chain(state: Any) -> Any:
        init, step = _sampler(density, settings)
        # hmc's step works only once its init has run in the same trace; the result is not used and costs nothing.
        init(ParamInfo(state.z, state.potential_energy, state.z_grad), rng_key=state.rng_key)
        state = jax.lax.cond(state.i == 0, with_gradient, lambda state: state, state)

        def draw(state: Any) -> Any:
            stats = {
                "lp": -state.potential_energy,
                "energy": state.energy,
                "n_steps": state.num_steps,
                "acceptance_rate": state.accept_prob,
                "diverging": state.diverging,
                "step_size": state.adapt_state.step_size,
            }
            return run_at(settings.program, *density, state.z).stored, stats

        def one_step(i: Any, carried: Any) -> Any:
            state, draws = carried
            state = step(state)
            return state, jax.tree.map(lambda kept, value: kept.at[i].set(value), draws, draw(state))

        empty = jax.tree.map(
            lambda leaf: jnp.zeros((_most_steps(state), *leaf.shape), leaf.dtype), jax.eval_shape(draw, state)
        )
        return jax.lax.fori_loop(0, num_steps, one_step, (state, empty))

    if settings.vectorised:
        return jax.vmap(one_chain)(state)
    state, draws = one_chain(state)
    return state, jax.tree.map(lambda leaf: leaf[None], draws)


def _instead(problem: Problem) -> str:
    """Advice that needs no sampler settings, for the end of a warning."""
    if not has_closed_form(problem.model):
        return ""
    exact = problem.unlabelled is None
    return ". nb.Exact() needs no sampling" if exact else ". nb.Gibbs() has no steps to tune"


# --------------------------------------------------------------------------------------------------
# Draws of weights of features by NUTS
# --------------------------------------------------------------------------------------------------

SMALLEST = 1e-3
"""Smallest weight at which a chain starts."""


def sample_weights(
    likelihood: ConditionalLikelihood, around: Mixture, names: Sequence[str], settings: NUTS, key: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of weights and offsets, the spread summed out, and of the spread given them.

    Parameters
    ----------
    likelihood : ConditionalLikelihood
    around : Mixture
        Approximates the posterior; chains start at its draws.
    names : sequence of str
        Names of the weights and of the classes, for warnings.
    settings : NUTS
    key : int or JAX key

    Returns
    -------
    tuple of array
        Weights followed by offsets, shape (chain, draw, weights + classes), and positions of the spreads among the
        parts of the mixture, shape (chain, draw).
    """
    start_key, chain_key, spread_key = split(as_key(key), 3)
    rng, parts = random_generator(spread_key), np.array([part.prior.num_weights for part in around.parts])
    found = []
    for size in np.unique(parts).tolist():  # a part may lack the weights of readings
        of_size = Mixture([part for part in around.parts if part.prior.num_weights == size])
        target = _SampledWeights(likelihood.of_features(slice(size)), of_size)
        sites, stats = settings.sample(target, start_key, chain_key)
        draws = np.concatenate([sites["weight"], sites["offset"]], axis=-1)
        own = [*names[:size], *names[around.num_weights :]]
        diagnostics = diagnose({"weights": draws}, stats, names={"weights": own})
        settings.warn_of(diagnostics, target, ". inference=None needs no sampling")
        which = np.flatnonzero(parts == size)[_spreads([part.prior for part in of_size.parts], draws, rng)]
        found.append((around.padded(draws), which))
    if len(found) > 1:
        first = rng.random(which.shape) < around.probabilities[parts < around.num_weights].sum()
        return np.where(first[..., None], found[0][0], draws), np.where(first, found[0][1], which)
    return found[0]


def _spreads(priors: Sequence[NormalWeights], draws: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws of the spread given weights, as positions among the priors."""
    log_density = np.stack([prior.log_density(draws) for prior in priors], axis=-1)
    cumulative = np.cumsum(softmax(log_density, axis=-1), axis=-1)
    return np.minimum((cumulative < rng.uniform(size=(*draws.shape[:-1], 1))).sum(axis=-1), len(priors) - 1)


def _program(
    log_ratio: Any, log_prior: Any, of_label: Any, row_weights: Any, mean: Any, precisions: Any, log_normalisers: Any
) -> None:
    """The posterior density of weights and offsets, the spread summed out."""
    weight = numpyro.sample("weight", dist.ImproperUniform(constraints.positive, (), log_ratio.shape[-1:]))
    offset = numpyro.sample("offset", dist.ImproperUniform(constraints.real, (), log_prior.shape[-1:]))
    away = jnp.concatenate([weight, offset]) - mean
    # The precision of each spread: (spreads, entries, entries).
    given = -jnp.einsum("p,kpq,q->k", away, precisions, away) / 2 - log_normalisers
    numpyro.factor("prior", jax.scipy.special.logsumexp(given))
    scores = log_prior + offset
    scores = scores.at[:, 1:].add((log_ratio @ weight).T)
    log_likelihood = (scores * of_label).sum(axis=1) - jax.scipy.special.logsumexp(scores, axis=1)
    numpyro.factor("labels", (row_weights * log_likelihood).sum())


class _SampledWeights:
    """The density of weights and offsets, as `Target`."""

    program: Callable = staticmethod(_program)
    knows_scale = False

    def __init__(self, likelihood: ConditionalLikelihood, around: Mixture) -> None:
        self.likelihood = likelihood
        self.around = around

    @property
    def arguments(self) -> tuple[Any, ...]:
        given, priors = self.likelihood, [part.prior for part in self.around.parts]
        of_label = np.eye(given.num_classes)[given.codes]
        precisions = np.stack([prior.precision for prior in priors])
        log_normalisers = np.array([prior.log_normaliser for prior in priors])
        of_rows = given.log_ratio, given.log_prior.T, of_label, given.row_weights
        return tuple(map(_on_device, (*of_rows, priors[0].mean, precisions, log_normalisers)))

    def begin(self, rng: np.random.Generator, number: int) -> Any:
        from bayesnb.inference.move import Beginning

        size = self.likelihood.num_features
        draws, _ = self.around.draw(max(number, 200), rng)
        points = {"weight": np.log(np.maximum(draws[:, :size], SMALLEST)), "offset": draws[:, size:]}
        return Beginning(
            {"weight": Plain(), "offset": Plain()},
            {name: value[:number] for name, value in points.items()},
            {name: value.var(axis=0) for name, value in points.items()},
        )
