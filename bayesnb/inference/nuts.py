"""The No-U-Turn sampler on sufficient statistics."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro.infer.hmc import hmc
from numpyro.infer.util import constrain_fn, potential_energy, unconstrain_fn
from tqdm.auto import tqdm

from bayesnb.arrays import to_numpy, warn
from bayesnb.families.fast import as_key, random_generator, whole_number
from bayesnb.inference.base import ConvergenceWarning, Inference
from bayesnb.inference.targets import TEMPERATURE, target_of
from bayesnb.posterior.diagnostics import Diagnostics
from bayesnb.posterior.sampled import SampledPosterior
from bayesnb.problem import Problem

__all__ = ["NUTS", "ConvergenceWarning", "shows_progress", "tqdm"]

PILOT_DRAWS = 100
"""Further draws from the tempered posterior, whose spread tells the sampler the scale of each parameter."""

PROGRESS_STEPS = 50
"""Steps between two looks at the progress bar (and two chances to interrupt)."""


@dataclass(frozen=True)
class NUTS(Inference):
    """Draws from the posterior by the No-U-Turn sampler (Hoffman and Gelman 2014), NumPyro's, on the statistics.

    Where hyperparameters are learned, only they are sampled, against the closed-form evidence, and the parameters are
    drawn exactly given each draw of them: few dimensions, and none of the funnel that hyperparameters and parameters
    make together. Families without a closed form are sampled along.

    The density is that of the statistics, which equals that of the rows up to a constant: a step costs the same at a
    thousand rows and at a billion. Chains run side by side in one compiled function, in float64; another fit of the
    same shape does not compile again. They start at draws from a tempered posterior, overdispersed for R-hat to mean
    something.

    Rows without a label enter with the label summed out, and then a step costs in proportion to their number. All
    chains start near one optimum; where a class has no labelled row, near the best of ten random ones. Classes that
    nothing names, because they have no labelled row and the same prior, are named alike in all draws.

    Parameters
    ----------
    num_warmup : int, default 500
        Steps of adaptation in each chain, not kept.
    num_samples : int, default 1000
        Draws kept in each chain.
    num_chains : int, default 4
    target_accept_prob : float, default 0.8
        Raise it towards 1 against divergences.
    max_tree_depth : int, default 10
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal and in a notebook, and not where the environment
        variable CI is set.

    Warns
    -----
    ConvergenceWarning
        If there are divergences, a rank-normalised R-hat above 1.01, or a bulk or tail effective sample size below 100
        a chain (Vehtari et al. 2021).

    Raises
    ------
    ValueError
        If a setting is out of range.
    """

    num_warmup: int = 500
    num_samples: int = 1000
    num_chains: int = 4
    target_accept_prob: float = 0.8
    max_tree_depth: int = 10
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("num_warmup", "num_samples", "num_chains", "max_tree_depth"):
            whole_number(f"NUTS({name}=...)", getattr(self, name))
        if not 0 < self.target_accept_prob < 1:
            raise ValueError(f"NUTS(target_accept_prob={self.target_accept_prob!r}): give a number between 0 and 1")

    def check(self, problem: Problem) -> None:
        problem.require_every_feature("NUTS")
        if problem.model.hyperpriors:
            problem.require_labels(
                f"a model that learns {next(iter(problem.model.hyperpriors))!r}", "give a number, or leave them out"
            )

    def fit(self, problem: Problem, *, key: Any = 0) -> SampledPosterior:
        """Sample the problem's posterior; an interrupted run leaves nothing behind."""
        self.check(problem)
        target = target_of(problem)
        start_key, chain_key, draw_key = jax.random.split(as_key(key), 3)
        with jax.enable_x64(True):
            arguments = target.arguments
            starts = target.starts(random_generator(start_key), self.num_chains + PILOT_DRAWS)
            keys = jax.random.split(chain_key, self.num_chains)
            state = _begin(starts, keys, arguments, target.program, self._settings)
            kept = []
            total = self.num_warmup + self.num_samples
            with tqdm(
                total=total, desc="NUTS", unit="step", disable=not shows_progress(self.progress), leave=True
            ) as bar:
                for steps, keep in _schedule(self.num_warmup, self.num_samples):
                    state, draws = _advance(state, arguments, target.program, self._settings, steps)
                    jax.block_until_ready(state)
                    bar.update(steps)
                    if keep:
                        kept.append(to_numpy(draws))
        sites, stats = jax.tree.map(lambda *pieces: np.concatenate(pieces, axis=1), *kept)
        stats = _rename(stats, self.max_tree_depth)
        posterior = target.posterior(sites, stats, random_generator(draw_key), self)
        _warn(posterior.diagnostics, self, unlabelled=problem.unlabelled is not None)
        return posterior

    @property
    def _settings(self) -> tuple[int, float, int]:
        return self.num_warmup, self.target_accept_prob, self.max_tree_depth


def shows_progress(asked: bool | None) -> bool:
    """Whether to show a progress bar: as asked, else on a terminal and in a notebook, and not where CI is set."""
    if asked is not None:
        return asked
    return "CI" not in os.environ and (sys.stderr.isatty() or "ipykernel" in sys.modules)


Settings = tuple[int, float, int]


def _sampler(program: Callable, arguments: tuple[Any, ...], settings: Settings) -> Any:
    """NumPyro's NUTS for the program's density: its init and its step."""
    num_warmup, target_accept_prob, max_tree_depth = settings
    init, step = hmc(partial(potential_energy, program, arguments, {}), algo="NUTS")
    return (
        partial(init, num_warmup=num_warmup, target_accept_prob=target_accept_prob, max_tree_depth=max_tree_depth),
        step,
    )


@partial(jax.jit, static_argnames=("program", "settings"))
def _begin(
    starts: dict[str, Any], keys: jax.Array, arguments: tuple[Any, ...], program: Callable, settings: Settings
) -> Any:
    """State of every chain before its first step."""
    points = jax.vmap(partial(unconstrain_fn, program, arguments, {}))(starts)
    # Closed-form moments set the scale at the start, so that warm-up need not find it; adaptation goes on from there.
    variance = TEMPERATURE * jax.vmap(lambda point: ravel_pytree(point)[0])(points).var(axis=0)

    def one_chain(point: dict[str, Any], key: jax.Array) -> Any:
        init, _ = _sampler(program, arguments, settings)
        return init(point, rng_key=key, inverse_mass_matrix=variance)

    return jax.vmap(one_chain)(jax.tree.map(lambda leaf: leaf[: len(keys)], points), keys)


@partial(jax.jit, static_argnames=("program", "settings", "num_steps"))
def _advance(state: Any, arguments: tuple[Any, ...], program: Callable, settings: Settings, num_steps: int) -> Any:
    """Run every chain for some steps; returns the state, the parameters and the sampler's statistics."""

    def one_chain(state: Any) -> Any:
        init, step = _sampler(program, arguments, settings)
        # hmc's step works only once its init has run in the same trace; the result is not used and costs nothing.
        init(state.z, rng_key=state.rng_key)

        def one_step(state: Any, _: None) -> Any:
            state = step(state)
            values = constrain_fn(program, arguments, {}, state.z)
            stats = {
                "lp": -state.potential_energy,
                "energy": state.energy,
                "n_steps": state.num_steps,
                "acceptance_rate": state.accept_prob,
                "diverging": state.diverging,
                "step_size": state.adapt_state.step_size,
            }
            return state, (values, stats)

        return jax.lax.scan(one_step, state, None, length=num_steps)

    return jax.vmap(one_chain)(state)


def _schedule(num_warmup: int, num_samples: int) -> list[tuple[int, bool]]:
    """Steps of each call to the compiled function, and whether its draws are kept."""
    calls = []
    for total, keep in ((num_warmup, False), (num_samples, True)):
        calls += [(PROGRESS_STEPS, keep)] * (total // PROGRESS_STEPS)
        if total % PROGRESS_STEPS:
            calls.append((total % PROGRESS_STEPS, keep))
    return calls


def _rename(stats: dict[str, np.ndarray], max_tree_depth: int) -> dict[str, np.ndarray]:
    """The sampler's statistics, with those that follow from them."""
    depth = np.floor(np.log2(stats["n_steps"])).astype(int) + 1
    return {**stats, "tree_depth": depth, "reached_max_tree_depth": depth >= max_tree_depth}


def _warn(diagnostics: Diagnostics, settings: NUTS, *, unlabelled: bool) -> None:
    problems = diagnostics.problems()
    if problems:
        remedy = f"raise num_samples (now {settings.num_samples}) or num_warmup (now {settings.num_warmup})"
        if diagnostics.divergences:
            remedy = f"raise target_accept_prob (now {settings.target_accept_prob}) towards 1"
        instead = "nb.Exact() needs no sampling where the model is conjugate"
        if unlabelled:
            instead = "nb.Gibbs() has no steps to tune where the model is conjugate"
        warn(f"NUTS: {'; '.join(problems)}; {remedy}. {instead}", ConvergenceWarning)
