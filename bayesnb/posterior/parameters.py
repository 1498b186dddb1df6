"""Knowledge of the parameters: draws, means, and the distribution of each."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from bayesnb.core.arrays import in_float64, to_numpy
from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import dist, map_tree
from bayesnb.core.running import random_generator
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.model.bound import BoundModel
from bayesnb.model.feature_weights import FeatureWeights
from bayesnb.model.prior import CLASS_SITE, ModelParameters, Prior
from bayesnb.model.problem import has_closed_form, ways_to_posterior
from bayesnb.model.program import Site
from bayesnb.model.weighted_model import WeightedModel, WeightedParameters
from bayesnb.posterior.diagnostics import Diagnostics

type Need = Literal[
    "data",
    "a sampler to run again",
    "a distribution of the parameters",
    "a closed form",
    "the closed form of one model",
    "draws of a sampler",
]
"""Properties of a posterior that a function may need."""


class _PosteriorError(TypeError, ValueError):
    """A function does not take this kind of posterior."""


@dataclass(frozen=True)
class ParameterDistribution(ABC):
    """Distribution of all parameters, block by block.

    Attributes
    ----------
    model : BoundModel
        Names the parameters.
    """

    model: BoundModel

    told: ClassVar[str]
    """The kind of posterior, for errors."""

    offers: ClassVar[tuple[Need, ...]]
    """The needs of functions that the kind meets."""

    library: ClassVar[str] = "bayesnb"
    """Name of the package that made the draws, for ArviZ."""

    def refusal(self, need: Need, verb: str, instead: str) -> _PosteriorError:
        """The error for a posterior that does not have what a function needs, by what is known of its parameters."""
        more = {"data": " without data", "a sampler to run again": " of a sampler that is not known"}.get(need, "")
        if need == "a distribution of the parameters":
            ways = ways_to_posterior(self.model)
        elif need == "draws of a sampler":
            ways = "nb.fit(model, X, y, nb.NUTS()) or nb.from_samples(...)"
        elif need == "a sampler to run again":
            ways = "nb.from_samples with its draws for all the data, or nb.fit(model, X, y)"
        else:
            ways = "nb.fit(model, X, y)" * (need == "data" or has_closed_form(self.model))
            ways += " without feature_inclusion" * (need == "the closed form of one model" and "average" in self.told)
        return _PosteriorError(
            f"{verb} needs {need}, and {self.told}{more}: use {', or '.join(filter(None, (ways, instead)))}"
        )

    @abstractmethod
    def draw(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws of all parameters, leading axes (chain, draw)."""

    def draw_few(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        """Draws for the methods that pass over the rows once for each draw; a closed form makes fewer by default."""
        return self.draw(num_chains, num_draws, key)

    def sample_stats(self, num_chains: int | None, num_draws: int | None) -> dict[str, np.ndarray]:
        """The sampler's statistics of the draws that `draw` gives; empty if no sampler made them."""
        return {}

    @abstractmethod
    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        """Parameters of rows of the given classes, drawn independently for each row, shape (rows, columns, ...)."""

    @abstractmethod
    def mean(self) -> ModelParameters:
        """Mean of all parameters."""

    @abstractmethod
    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        """Columns of `Posterior.summary` by site, arrays of the site's shape."""

    def moments(self, site: str) -> dict[str, Any]:
        """``mean`` and ``sd`` of the parameters of a site, or ``value`` of a point, arrays of the site's shape.

        The default takes them from `summaries`. A subclass may compute those of the site alone.

        Raises
        ------
        NotImplementedError
            If the family states no marginal distributions.
        """
        columns = self.summaries(0.5)[site]
        return {name: columns[name] for name in ("mean", "sd", "value") if name in columns}


# --------------------------------------------------------------------------------------------------
# A single value for every parameter
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnePoint(ParameterDistribution):
    """A single value for every parameter."""

    values: ModelParameters

    told = "this is a point estimate"
    offers = ()

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        raise self.refusal("a distribution of the parameters", "a draw", "mean() for the values")

    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        return tuple({name: value[codes] for name, value in block.items()} for block in self.values.blocks)

    def mean(self) -> ModelParameters:
        return self.values

    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        return {site: {"value": np.array(value)} for site, value in self.model.sites.by_name(self.values).items()}


# --------------------------------------------------------------------------------------------------
# A closed form
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClosedForm(ParameterDistribution):
    """Families with updated hyperparameters."""

    prior: Prior

    @property
    def told(self) -> str:  # type: ignore[override]
        """The kind of posterior, for errors."""
        averaged = self.model.description.feature_inclusion is not None
        return "this is an average over subsets of features" if averaged else "this is a closed form"

    @property
    def offers(self) -> tuple[Need, ...]:  # type: ignore[override]
        """The needs of functions that the kind meets."""
        of_all: tuple[Need, ...] = ("a distribution of the parameters", "a closed form")
        return (
            of_all
            if self.model.description.feature_inclusion is not None
            else (*of_all, "the closed form of one model")
        )

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        shape = (
            whole_number("num_chains", 4 if num_chains is None else num_chains),
            whole_number("num_draws", 1000 if num_draws is None else num_draws),
        )
        return self.prior.draw(random_generator(key), shape)

    def draw_few(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        return self.draw(num_chains, 250 if num_draws is None else num_draws, key)

    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        return self.prior.draw_for_rows(codes, rng)

    def mean(self) -> ModelParameters:
        blocks = tuple(to_numpy(family.mean()) for family in self.prior.families)
        return ModelParameters(np.asarray(self.prior.classes.mean()), blocks)

    @in_float64
    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        levels = {"lower": (1 - prob) / 2, "upper": (1 + prob) / 2}
        found = {CLASS_SITE: self._of_classes(levels)}
        # All columns of a block at once: SciPy takes longer to check a call than to compute thousands of numbers.
        of_block = cache(lambda site: self._of_site(site, levels))
        for site in self.model.sites:
            values = of_block(replace(site, name="", column=None))
            found[site.name] = {
                name: value if site.column is None else value[:, site.column] for name, value in values.items()
            }
        return found

    @in_float64
    def moments(self, site: str) -> dict[str, Any]:
        return self._of_classes({}) if site == CLASS_SITE else self._of_site(self.model.sites[site], {})

    def _of_classes(self, levels: dict[str, float]) -> dict[str, Any]:
        from bayesnb.families.formulas import dirichlet_marginal

        classes = self.prior.classes
        if classes.probs is None:
            return _described(dirichlet_marginal(classes.concentration), levels)
        return {"mean": classes.probs, "sd": 0.0} | dict.fromkeys(levels, classes.probs)

    def _of_site(self, site: Site, levels: dict[str, float]) -> dict[str, Any]:
        """Mean, standard deviation and quantiles of the parameters of a site."""
        return _described(_marginal_of_site(site, self.prior.families), levels)


def _described(marginal: "dist.Distribution", levels: dict[str, float]) -> dict[str, Any]:
    """Mean, standard deviation and quantiles of a distribution."""
    from bayesnb.families.formulas import mean_and_sd, quantile

    shape = marginal.batch_shape
    quantiles = {name: quantile(marginal, np.full(shape, level)) for name, level in levels.items()}
    found = dict(zip(("mean", "sd"), mean_and_sd(marginal), strict=True)) | quantiles
    return {name: np.broadcast_to(value, shape) for name, value in found.items()}


def marginals_by_site(model: BoundModel, prior: Prior) -> "dict[str, dist.Distribution]":
    """Distribution of every scalar parameter, by site; batch shape that of the site.

    Parameters
    ----------
    model : BoundModel
        Names the sites.
    prior : Prior
        Prior or posterior. Class probabilities that are known, and families that are not conjugate, are left out.
    """
    from bayesnb.families.formulas import dirichlet_marginal

    found: dict[str, dist.Distribution] = {}
    if prior.classes.probs is None:
        found[CLASS_SITE] = dirichlet_marginal(prior.classes.concentration)
    for site in model.sites:
        if isinstance(prior.families[site.block], ConjugateFamily):
            found[site.name] = _marginal_of_site(site, prior.families)
    return found


def _marginal_of_site(site: Site, families: Sequence[Any]) -> "dist.Distribution":
    """Distribution of every scalar parameter of a site, whose family is conjugate; batch shape that of the site."""
    family = families[site.block]
    if site.column is not None:
        family = family.take((slice(None), site.column))
    return family.marginals()[site.parameter]


# --------------------------------------------------------------------------------------------------
# Draws
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnValues(ParameterDistribution):
    """Draws of a sampler.

    Attributes
    ----------
    values : ModelParameters
        Leading axes (chain, draw).
    stats : dict
        The sampler's statistics of each draw.
    diagnosed : callable
        Gives the diagnostics of the draws, which take time.
    """

    values: ModelParameters
    stats: dict[str, np.ndarray]
    diagnosed: Callable[[], Diagnostics]

    told = "these are draws"
    offers = ("a distribution of the parameters", "draws of a sampler")
    library = "numpyro"

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        most_chains, most_draws = self.values.class_prob.shape[:2]
        chains = most_chains if num_chains is None else whole_number("num_chains", num_chains)
        draws = most_draws if num_draws is None else whole_number("num_draws", num_draws)
        if chains > most_chains or draws > most_draws:
            raise ValueError(
                f"there are {most_chains} chains of {most_draws} draws, not {chains} of {draws}: give no "
                "more, or sample more with nb.NUTS(num_chains=..., num_samples=...)"
            )
        return map_tree(lambda value: value[:chains, self._kept(draws)], self.values)

    def sample_stats(self, num_chains: int | None, num_draws: int | None) -> dict[str, np.ndarray]:
        return {name: value[:num_chains, self._kept(num_draws)] for name, value in self.stats.items()}

    def _kept(self, num_draws: int | None) -> np.ndarray:
        """Positions of evenly spaced draws, which represent the chain better than its first draws do."""
        most = self.values.class_prob.shape[1]
        return np.linspace(0, most - 1, most if num_draws is None else num_draws).round().astype(int)

    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        chain, step = (rng.integers(size, size=len(codes)) for size in self.values.class_prob.shape[:2])
        return tuple({name: value[chain, step, codes] for name, value in block.items()} for block in self.values.blocks)

    def mean(self) -> ModelParameters:
        return map_tree(lambda value: value.mean(axis=(0, 1)), self.values)

    def moments(self, site: str) -> dict[str, Any]:
        values = np.asarray(self.model.sites.by_name(self.values)[site], dtype=np.float64)
        alone = values.shape[0] * values.shape[1] == 1  # a single draw has no standard deviation
        sd = np.full(values.shape[2:], np.nan) if alone else values.std(axis=(0, 1), ddof=1)
        return {"mean": values.mean(axis=(0, 1)), "sd": sd}

    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        diagnostics, position = self.diagnosed(), 0
        for site, values in self.model.sites.by_name(self.values).items():
            lower, upper = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
            size = int(np.prod(values.shape[2:]))
            of_site = slice(position, position + size)
            position += size
            found[site] = self.moments(site) | {
                "lower": lower,
                "upper": upper,
                "ess_bulk": diagnostics.ess_bulk[of_site],
                "ess_tail": diagnostics.ess_tail[of_site],
                "r_hat": diagnostics.r_hat[of_site],
            }
        return found


# --------------------------------------------------------------------------------------------------
# Weights of features beside the parameters
# --------------------------------------------------------------------------------------------------

PROB = 0.89
"""Probability of the intervals of `WeightedPosterior.weights`."""


@dataclass(frozen=True)
class WithWeights(ParameterDistribution):
    """The distribution of the parameters without weights, and independent draws of the weights."""

    model: WeightedModel
    unweighted: ParameterDistribution
    weights: FeatureWeights

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        return self._with_weights(self.unweighted.draw(num_chains, num_draws, key), key)

    def draw_few(self, num_chains: int | None, num_draws: int | None, key: Any) -> ModelParameters:
        return self._with_weights(self.unweighted.draw_few(num_chains, num_draws, key), key)

    def _with_weights(self, parameters: ModelParameters, key: Any) -> WeightedParameters:
        """Draws of the parameters with independent draws of the weights, and the draw half a chain away."""
        (rng,) = random_generator(key).spawn(1)
        num_chains, num_draws = parameters.class_prob.shape[:2]
        other = map_tree(lambda value: np.roll(value, num_draws // 2, axis=1), parameters)
        return WeightedParameters.of(parameters, **self.weights.take(num_chains, num_draws, rng), other=other)

    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        return self.unweighted.draw_for_rows(codes, rng)

    def mean(self) -> ModelParameters:
        means = {name: columns["mean"] for name, columns in self.weights.summary(PROB).items()}
        of_weights = means["feature_weight"], means["class_offset"], means.get("weight_spread")
        return WeightedParameters.of(self.unweighted.mean(), *of_weights)

    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        return self.unweighted.summaries(prob) | self.weights.summary(prob)
