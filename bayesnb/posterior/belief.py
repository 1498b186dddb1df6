"""What is known of the parameters: their draws, means and summaries, and the density of rows without them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import repeat
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import softmax

from bayesnb.core.arrays import dense, log
from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import dist, in_float64, map_tree, pytree, to_numpy
from bayesnb.core.panels import PROB
from bayesnb.core.running import random_generator
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import formulas
from bayesnb.families.kernels import times
from bayesnb.model.blocks import ModelStatistics, feature_names, positions_of_features
from bayesnb.model.bound import BoundModel
from bayesnb.model.feature_weights import RATIOS, FeatureWeights, priors
from bayesnb.model.prior import CLASS_SITE, ModelParameters, Prior
from bayesnb.model.problem import has_closed_form, ways_to_posterior
from bayesnb.model.program import Site
from bayesnb.posterior.compile import FlatDensity, flat_density, has_narrow_blocks
from bayesnb.posterior.density import (
    Integrated,
    LabelDensity,
    MeanOverDraws,
    RowDensity,
    WeightedDensity,
    WithParameters,
)
from bayesnb.posterior.diagnostics import Diagnostics, diagnose
from bayesnb.posterior.under_draws import flatten, independent_draws

# --------------------------------------------------------------------------------------------------
# Weights of features and offsets of classes: values, and a model that has them
# --------------------------------------------------------------------------------------------------


@pytree
class WeightedParameters(ModelParameters):
    """Values of all parameters, with weights and offsets.

    Attributes
    ----------
    weight : array, shape (..., features)
        Features in the order of the table's columns.
    offset : array, shape (..., classes)
    spread : array of shape (...,), or None
        Spread of the weights around their level; None if all features share one weight.
    other : ModelParameters or None
        Independent values of the parameters without weights, for densities that are as uncertain as those of dependent
        features; see `WeightedModel`.
    """

    weight: Any = None
    offset: Any = None
    spread: Any = None
    other: ModelParameters | None = None

    def weights(self) -> dict[str, Any]:
        found = {"feature_weight": self.weight, "class_offset": self.offset, "weight_spread": self.spread}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, repr=False)
class WeightedModel(BoundModel):
    r"""A bound model with weights of features and offsets of classes.

    .. math:: p(y=c \mid x) \propto \pi_c \, e^{b_c} \prod_j p(x_j \mid c)^{w_j}

    Attributes
    ----------
    shared : bool
        Whether all features share one weight.
    """

    shared: bool = False

    @cached_property
    def positions(self) -> list[list[int]]:
        """For each block the positions of its features among the weights."""
        return positions_of_features(self.blocks)

    @property
    def weight_axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        return {
            "feature_weight": (("feature", tuple(feature_names(self.blocks))),),
            "class_offset": (("class", tuple(self.schema.classes.tolist())),),
            **({} if self.shared else {"weight_spread": ()}),
        }

    def joint_of_rows(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> Callable[[slice], np.ndarray]:
        """Log of the weighted product for each row and each class given parameters, shape (..., rows, classes)."""
        return lambda rows: self._weighted(parameters, tuple(x[rows] for x in chunk))

    def _weighted(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> np.ndarray:
        total = self.log_class_prob(parameters)[..., None, :]
        for i, x in enumerate(chunk):
            for j, _ in enumerate(self.positions[i]):
                if self.blocks[i].is_joint:
                    total = total + self._of_feature(parameters, i, j, x)
                    continue
                # Columns often have few distinct values; the density of each is computed once.
                values, places = np.unique(dense(x[:, j : j + 1]), return_inverse=True)
                total = total + self._of_feature(parameters, i, j, values[:, None]).take(places.ravel(), axis=-2)
        return total

    def log_class_prob(self, parameters: ModelParameters) -> np.ndarray:
        """Log class probabilities with the offsets, up to a number that all classes share, shape (..., classes)."""
        assert isinstance(parameters, WeightedParameters)
        return super().log_class_prob(parameters) + parameters.offset

    def _of_feature(self, parameters: ModelParameters, i: int, j: int, x: Any) -> np.ndarray:
        r"""The log density times its weight, with the variance of dependent features if there are other values.

        A weight of 1/m says that m features carry the same evidence. Then the errors of their log densities are equal
        too, and the variance of their sum is m times that of independent draws. A draw has this variance, and the same
        mean, if a multiple of its difference to another draw is added:

        .. math:: w \ell + \tfrac12 \bigl(\sqrt{w (2 - w)} - w\bigr) (\ell - \ell'), \qquad w \leq 1,

        has variance w times that of one log density l, in place of w squared.
        """
        assert isinstance(parameters, WeightedParameters)
        weight = np.asarray(parameters.weight)[..., self.positions[i][j], None, None]
        own = super()._of_feature(parameters, i, j, x)
        if parameters.other is None:
            return times(weight, own)
        other = super()._of_feature(parameters.other, i, j, x)
        with np.errstate(invalid="ignore"):
            difference = own - other
        difference[~np.isfinite(difference)] = 0.0
        below_one = np.minimum(weight, 1.0)
        return times(weight, own) + (np.sqrt(below_one * (2.0 - below_one)) - below_one) / 2.0 * difference

    def draw_prior(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> WeightedParameters:
        """Independent draws of all parameters from the prior; the weights' own prior is that of `weight_features`."""
        parameters = super().draw_prior(rng, sample_shape)
        num_features, num_draws = sum(map(len, self.positions)), int(np.prod(sample_shape))
        zero = {"num_again": self.num_again, "num_readings": self.schema.num_readings}
        given = priors(num_features, len(self.schema.classes), shared=self.shared, **zero)
        which = rng.integers(len(given), size=num_draws)
        draws = np.empty((num_draws, len(given[0].mean)))
        for k, prior in enumerate(given):
            draws[which == k] = prior.draw(int((which == k).sum()), rng)
        if readings := self.schema.num_readings:  # the ratio of their spread may be zero
            draws[rng.random(num_draws) < 1 / (1 + len(RATIOS)), num_features - readings : num_features] = 0.0
        weight, offset = np.split(draws, [given[0].num_weights], axis=1)
        return WeightedParameters(
            **vars(parameters),
            weight=np.broadcast_to(weight, (num_draws, num_features)).reshape(*sample_shape, num_features),
            offset=offset.reshape(*sample_shape, -1),
            spread=None if self.shared else np.array([prior.spread for prior in given])[which].reshape(sample_shape),
        )


# --------------------------------------------------------------------------------------------------
# What a function may need, and beliefs
# --------------------------------------------------------------------------------------------------

type Need = Literal[
    "data",
    "a sampler to run again",
    "a distribution of the parameters",
    "a closed form",
    "the closed form of one model",
    "draws of a sampler",
    "a flat form",
]
"""Properties of a posterior that a function may need."""


def offers(posterior: Any, need: Need) -> bool:
    """Whether a posterior has what a function needs, without weights of features."""
    found = {"data": posterior.problem is not None, "a sampler to run again": posterior.inference is not None}
    if need == "a flat form":
        return posterior.belief.flat is not None
    return found.get(need, need in posterior.belief.plain.offers)


def require(posterior: Any, need: Need, verb: str, instead: str = "") -> Any:
    """The posterior, if it meets a function's need.

    Parameters
    ----------
    posterior : Posterior
    need : Need
    verb : str
        Name of the function, for the error.
    instead : str, optional
        An alternative, for the error.

    Raises
    ------
    PosteriorError
    """
    if not offers(posterior, need):
        raise posterior.belief.plain.refusal(need, verb, instead)
    return posterior


class _PosteriorError(TypeError, ValueError):
    """A function does not take this kind of posterior."""


@dataclass(frozen=True)
class Belief(ABC):
    """What is known of all parameters, block by block: a point, a closed form or draws, alone or with weights.

    Attributes
    ----------
    model : BoundModel
        Names the parameters.
    """

    model: BoundModel

    told: ClassVar[str]
    """The kind of belief, for errors."""

    offers: ClassVar[tuple[Need, ...]]
    """The needs of functions that the kind meets."""

    library: ClassVar[str] = "bayesnb"
    """Name of the package that made the draws, for ArviZ."""

    @property
    def plain(self) -> "Belief":
        """The belief without weights of features."""
        return self

    @property
    def details(self) -> str:
        """What the printed form says beside the class of the posterior."""
        return ""

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

    @property
    @abstractmethod
    def density(self) -> RowDensity:
        """The density of encoded rows together with each class, the parameters integrated out."""

    @cached_property
    def flat(self) -> FlatDensity | None:
        """The same density in flat form, which is made once; None where it has none."""
        return flat_density(self.model, self.density)

    @cached_property
    def predicting(self) -> LabelDensity:
        """What predicts labels: the flat form where it is faster than the blocks, if there is one."""
        density = self.density
        return ((density.feature_by_feature or has_narrow_blocks(self.model)) and self.flat) or density

    @abstractmethod
    def class_probs(self) -> np.ndarray:
        """Predictive class probabilities before any feature is seen, shape (classes,)."""

    @abstractmethod
    def draw(self, num_chains: int | None, num_draws: int | None, key: Any, default: int = 1000) -> ModelParameters:
        """Draws of all parameters, leading axes (chain, draw).

        A closed form has `default` draws in each chain unless `num_draws` is given.
        """

    def sample_stats(self, num_chains: int | None, num_draws: int | None) -> dict[str, np.ndarray]:
        """The sampler's statistics of the draws that `draw` gives; empty if no sampler made them."""
        return {}

    def pieces(self, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
        """Yield draws without weights, as independent as possible, with one leading axis and some at a time."""
        return self.plain.pieces(number, rng)

    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        """Parameters of rows of the given classes, drawn independently for each row, shape (rows, columns, ...)."""
        return self.plain.draw_for_rows(codes, rng)

    @abstractmethod
    def mean(self) -> ModelParameters:
        """Mean of all parameters."""

    def draws_to_average(self) -> ModelParameters:
        """Draws with one leading axis over which a function of the parameters is averaged; without any, the mean."""
        return map_tree(lambda value: np.asarray(value)[None], self.mean())

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
class OnePoint(Belief):
    """A single value for every parameter."""

    values: ModelParameters

    told = "this is a point estimate"
    offers = ()

    @property
    def density(self) -> RowDensity:
        pairs = zip(self.model.families, self.values.blocks, strict=True)
        return RowDensity(log(self.class_probs()), [WithParameters(family, dict(values)) for family, values in pairs])

    def class_probs(self) -> np.ndarray:
        return np.asarray(self.values.class_prob)

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any, default: int = 1000) -> ModelParameters:
        raise self.refusal("a distribution of the parameters", "a draw", "mean() for the values")

    def pieces(self, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
        return repeat(self.draws_to_average(), number)

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
class ClosedForm(Belief):
    """A distribution of all parameters in closed form: the posterior, or the prior."""

    prior: Prior

    @property
    def _is_average(self) -> bool:
        """Whether it is an average over subsets of features."""
        return self.model.description.feature_inclusion is not None

    @property
    def told(self) -> str:  # type: ignore[override]
        """The kind of belief, for errors."""
        return "this is an average over subsets of features" if self._is_average else "this is a closed form"

    @property
    def offers(self) -> tuple[Need, ...]:  # type: ignore[override]
        """The needs of functions that the kind meets."""
        of_all: tuple[Need, ...] = ("a distribution of the parameters", "a closed form")
        return of_all if self._is_average else (*of_all, "the closed form of one model")

    @property
    def details(self) -> str:
        return f"averaged over the subsets of {len(feature_names(self.model.blocks))} features" * self._is_average

    @property
    def density(self) -> RowDensity:
        return RowDensity(log(self.class_probs()), [Integrated(family) for family in self.prior.families])

    def class_probs(self) -> np.ndarray:
        return np.asarray(self.prior.classes.mean())

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any, default: int = 1000) -> ModelParameters:
        shape = (
            whole_number("num_chains", 4 if num_chains is None else num_chains),
            whole_number("num_draws", default if num_draws is None else num_draws),
        )
        return self.prior.draw(random_generator(key), shape)

    def pieces(self, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
        return independent_draws(self.prior, number, rng)

    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        return Prior(self.prior.classes, tuple(family.take(codes) for family in self.prior.families)).draw(rng).blocks

    def mean(self) -> ModelParameters:
        blocks = tuple(to_numpy(family.mean()) for family in self.prior.families)
        return ModelParameters(self.class_probs(), blocks)

    @in_float64
    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        levels = {"lower": (1 - prob) / 2, "upper": (1 + prob) / 2}
        found = {CLASS_SITE: self._of_classes(levels)}
        # All columns of a block at once: SciPy takes longer to check a call than to compute thousands of numbers.
        of_block = cache(lambda site: _described(self._marginal(site), levels))
        for site in self.model.sites:
            values = of_block(replace(site, name="", column=None))
            found[site.name] = {
                name: value if site.column is None else value[:, site.column] for name, value in values.items()
            }
        return found

    @in_float64
    def moments(self, site: str) -> dict[str, Any]:
        return self._of_classes({}) if site == CLASS_SITE else _described(self._marginal(self.model.sites[site]), {})

    @in_float64
    def marginals(self) -> "dict[str, dist.Distribution]":
        """Distribution of every scalar parameter, by site; batch shape that of the site.

        Class probabilities that are known, and families that are not conjugate, are left out.
        """
        found = {} if (of_classes := self._class_marginal()) is None else {CLASS_SITE: of_classes}
        of_sites = (site for site in self.model.sites if isinstance(self.prior.families[site.block], ConjugateFamily))
        return found | {site.name: self._marginal(site) for site in of_sites}

    def _class_marginal(self) -> "dist.Distribution | None":
        """Distribution of each class probability; None if these are known."""
        classes = self.prior.classes
        return formulas.dirichlet_marginal(classes.concentration) if classes.probs is None else None

    def _of_classes(self, levels: dict[str, float]) -> dict[str, Any]:
        if (marginal := self._class_marginal()) is not None:
            return _described(marginal, levels)
        probs = self.prior.classes.probs
        return {"mean": probs, "sd": 0.0} | dict.fromkeys(levels, probs)

    def _marginal(self, site: Site) -> "dist.Distribution":
        """Distribution of every scalar parameter of a site, whose family is conjugate; batch shape that of the site."""
        family = self.prior.families[site.block]
        if site.column is not None:
            family = family.take((slice(None), site.column))
        return family.marginals()[site.parameter]


def _described(marginal: "dist.Distribution", levels: dict[str, float]) -> dict[str, Any]:
    """Mean, standard deviation and quantiles of a distribution."""
    shape = marginal.batch_shape
    quantiles = {name: formulas.quantile(marginal, np.full(shape, level)) for name, level in levels.items()}
    found = dict(zip(("mean", "sd"), formulas.mean_and_sd(marginal), strict=True)) | quantiles
    return {name: np.broadcast_to(value, shape) for name, value in found.items()}


# --------------------------------------------------------------------------------------------------
# Draws
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnValues(Belief):
    """Draws of a sampler.

    Attributes
    ----------
    values : ModelParameters
        Leading axes (chain, draw).
    stats : dict
        The sampler's statistics of each draw.
    statistics : ModelStatistics or None
        Of the data.
    own : bool
        Whether a sampler of the package drew them. If it reports no divergence, it has no trajectories.
    """

    values: ModelParameters
    stats: dict[str, np.ndarray]
    statistics: ModelStatistics | None
    own: bool

    told = "these are draws"
    offers = ("a distribution of the parameters", "draws of a sampler")
    library = "numpyro"

    @property
    def details(self) -> str:
        chains, draws = self.values.class_prob.shape[:2]
        return f"{chains} chains of {draws} draws ({self.diagnostics})"

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """R-hat, effective sample sizes and divergences of the draws."""
        known = () if self.model.description.class_probs is None else (CLASS_SITE,)
        stats = {"diverging": np.zeros(1), **self.stats} if self.own else self.stats
        by_name = {name: np.asarray(value, np.float64) for name, value in self.model.sites.by_name(self.values).items()}
        return diagnose(by_name, stats, known, self.model.sites.scalar_labels())

    @property
    def density(self) -> RowDensity:
        return MeanOverDraws.of(self.model, self.values)

    def class_probs(self) -> np.ndarray:
        return self.values.class_prob.mean(axis=(0, 1))

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any, default: int = 1000) -> ModelParameters:
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

    def pieces(self, number: int, rng: np.random.Generator) -> Iterator[ModelParameters]:
        flat = self.draws_to_average()
        places = np.linspace(0, len(flat.class_prob) - 1, number).round().astype(int)
        yield map_tree(lambda value: value[places], flat)

    def draw_for_rows(self, codes: np.ndarray, rng: np.random.Generator) -> tuple[dict[str, Any], ...]:
        chain, step = (rng.integers(size, size=len(codes)) for size in self.values.class_prob.shape[:2])
        return tuple({name: value[chain, step, codes] for name, value in block.items()} for block in self.values.blocks)

    def mean(self) -> ModelParameters:
        return map_tree(lambda value: value.mean(axis=(0, 1)), self.values)

    def draws_to_average(self) -> ModelParameters:
        return flatten(self.values)

    def moments(self, site: str) -> dict[str, Any]:
        values = np.asarray(self.model.sites.by_name(self.values)[site], dtype=np.float64)
        alone = values.shape[0] * values.shape[1] == 1  # a single draw has no standard deviation
        sd = np.full(values.shape[2:], np.nan) if alone else values.std(axis=(0, 1), ddof=1)
        return {"mean": values.mean(axis=(0, 1)), "sd": sd}

    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        diagnostics, position = self.diagnostics, 0
        for site, values in self.model.sites.by_name(self.values).items():
            lower, upper = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2], axis=(0, 1))
            size = int(np.prod(values.shape[2:]))
            of_site = slice(position, position + size)
            position += size
            found[site] = self.moments(site) | {"lower": lower, "upper": upper}
            found[site] |= {name: getattr(diagnostics, name)[of_site] for name in ("ess_bulk", "ess_tail", "r_hat")}
        return found


# --------------------------------------------------------------------------------------------------
# Draws of hyperparameters, and the closed form given each of them
# --------------------------------------------------------------------------------------------------

MIXTURE = 400
"""Predictions average closed forms over this many draws of the hyperparameters. More draws remove little Monte Carlo
error, because the closed form has removed most of it."""


@dataclass(frozen=True)
class DrawnForms(DrawnValues):
    """Draws of all parameters, and the closed form given each draw of the hyperparameters, which predicts."""

    statistics: ModelStatistics

    @cached_property
    def density(self) -> RowDensity:
        forms = RowDensity(log(self._forms.classes.mean()), [Integrated(family) for family in self._forms.families])
        return replace(MeanOverDraws.of(self.model, self.values), forms=forms)

    def class_probs(self) -> np.ndarray:
        return np.asarray(self._forms.classes.mean()).mean(axis=0)

    @cached_property
    @in_float64
    def _forms(self) -> Prior:
        """The closed form given each of some evenly spaced draws of the hyperparameters, axis of the draws first."""
        flat = self.draws_to_average().hyperparameters
        number = len(next(iter(flat.values())))
        kept = np.linspace(0, number - 1, min(number, MIXTURE)).round().astype(int)
        given = self.model.learned.given({name: value[kept] for name, value in flat.items()})
        return to_numpy(given.update(self.statistics))


# --------------------------------------------------------------------------------------------------
# Weights of features beside the parameters
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WithWeights(Belief):
    """A belief without weights of features, and weights that are independent of it.

    Attributes
    ----------
    unweighted : Belief
    weights : FeatureWeights
        The modes, which predict, and the draws.
    log_rows_prob : array, shape (classes,)
        Log class probabilities of the rows from which the weights were learned, without offsets.
    log_given : array of shape (classes,), or None
        Log class probabilities of another population, if they are given.
    """

    model: WeightedModel
    unweighted: Belief
    weights: FeatureWeights
    log_rows_prob: np.ndarray
    log_given: np.ndarray | None

    @property
    def plain(self) -> Belief:
        return self.unweighted

    @property
    def details(self) -> str:
        kind = "one weight for all features" if self.weights.shared else "a weight for each feature"
        if not self.weights.no_information:
            return kind
        nothing = "a row says nothing" if self.weights.shared else "a cell, and as often a whole row, says nothing"
        return f"{kind}; {nothing} about the label with probability {self.weights.no_information:.2g}"

    @cached_property
    def density(self) -> WeightedDensity:
        plain, positions = self.unweighted.density, self.model.positions
        return WeightedDensity(self.log_rows_prob, plain.blocks, plain, self.weights, positions, self.log_given)

    def class_probs(self) -> np.ndarray:
        of_fit = self.unweighted.class_probs()
        return softmax(log(of_fit) + self.weights.offset) if self.log_given is None else of_fit

    def draw(self, num_chains: int | None, num_draws: int | None, key: Any, default: int = 1000) -> ModelParameters:
        parameters = self.unweighted.draw(num_chains, num_draws, key, default)
        (rng,) = random_generator(key).spawn(1)
        chains, draws = parameters.class_prob.shape[:2]
        # For densities that are as uncertain as those of dependent features, the draw half a chain away.
        other = map_tree(lambda value: np.roll(value, draws // 2, axis=1), parameters)
        return WeightedParameters(**vars(parameters), **self.weights.take(chains, draws, rng), other=other)

    def mean(self) -> ModelParameters:
        means = {name: columns["mean"] for name, columns in self.weights.summary(PROB).items()}
        weight, offset, spread = (means.get(site) for site in ("feature_weight", "class_offset", "weight_spread"))
        return WeightedParameters(**vars(self.unweighted.mean()), weight=weight, offset=offset, spread=spread)

    def summaries(self, prob: float) -> dict[str, dict[str, Any]]:
        return self.unweighted.summaries(prob) | self.weights.summary(prob)
