"""The distribution of all parameters, before and after the data, and as a function of learned hyperparameters."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from operator import itemgetter
from typing import Any

import numpy as np

from bayesnb.core.checking import is_jax, of_labels
from bayesnb.core.deferred import dist, float64, in_float64, jax, jnp, leaves, map_tree, numpyro, pytree, to_numpy
from bayesnb.core.logarithms import LogProbability, SampledParameters, log_of_prob
from bayesnb.data.schema import Schema
from bayesnb.families.categories import dirichlet_log_evidence
from bayesnb.families.conjugate import ConjugateFamily, couples_classes
from bayesnb.families.family import Family, Sample, formulas, parameter_names, with_hyperparameters
from bayesnb.families.feature_inclusion import FeatureInclusion
from bayesnb.families.hyperparameters import given
from bayesnb.families.kernels import times
from bayesnb.families.statistics import ClassCounts, Statistics
from bayesnb.model.blocks import Block, ModelStatistics, block_name, lay_out, places_of_columns

CLASS_SITE = "class_prob"
"""Name of the class probabilities in results."""


@pytree
class ClassPrior:
    """Dirichlet prior on the class probabilities, or known probabilities.

    Attributes
    ----------
    concentration : array, shape (classes,), or None where the probabilities are known
    probs : array, shape (classes,), or None where they are learned
    """

    concentration: Any
    probs: Any

    def prior(self, sample: Callable) -> Any:
        """Draw the class probabilities, or return the known ones."""
        if self.probs is not None:
            return self.probs
        return sample(CLASS_SITE, dist.Dirichlet(self.concentration))

    def update(self, counts: ClassCounts) -> "ClassPrior":
        """Posterior given the classes' weights."""
        return self if self.probs is not None else ClassPrior(self.concentration + counts.n, None)

    def mean(self) -> Any:
        """Mean of the class probabilities, shape (classes,)."""
        if self.probs is not None:
            return self.probs
        return self.concentration / self.concentration.sum(axis=-1, keepdims=True)

    def log_likelihood(self, prob: Any, counts: ClassCounts) -> Any:
        """Log probability of the labels, shape (...,); `prob` is an array or a `LogProbability`."""
        return times(counts.n, log_of_prob(prob)).sum(axis=-1)

    def log_evidence(self, counts: ClassCounts) -> Any:
        """Log probability of the labels, class probabilities integrated out."""
        if self.probs is not None:
            return self.log_likelihood(self.probs, counts)
        return dirichlet_log_evidence(self.concentration, counts.n)


def spread_class_prior(description: Any, classes: np.ndarray, counts: ClassCounts | None = None) -> ClassPrior:
    """The class prior as arrays with a number for each class, ones in the places of learned hyperparameters.

    Parameters
    ----------
    description : NaiveBayes
    classes : array, shape (classes,)
        Labels.
    counts : ClassCounts, optional
        Weights of the labels, which "empirical" needs. If they are all zero, the probabilities are equal.

    Raises
    ------
    ValueError
        If there is not one number, or one for each class; or "empirical" has no counts.
    """
    labels, probs = classes.tolist(), description.class_probs
    if probs is None:
        concentration = description.with_placeholders().class_concentration
        spread = np.asarray(concentration, dtype=np.float64)
        if spread.ndim and spread.shape != classes.shape:
            raise ValueError(
                f"class_concentration has shape {spread.shape}, there are {len(labels)} classes {labels}: give one "
                "number, or one per class"
            )
        return ClassPrior(np.broadcast_to(spread, classes.shape), None)
    if isinstance(probs, str):
        if counts is None:
            raise ValueError('class_probs="empirical" needs data: fit the model')
        weight = counts.n.sum()
        return ClassPrior(None, counts.n / weight if weight > 0 else np.full(len(labels), 1 / len(labels)))
    return ClassPrior(None, of_labels(probs, labels))


PIECE = 250
"""Number of draws whose prior densities are computed at a time."""


@pytree
class ModelParameters:
    """Values of all parameters; any leading axes.

    Attributes
    ----------
    class_prob : array, shape (..., classes)
    blocks : tuple of dict
        For each block its parameters, shape (..., classes, columns) or (..., classes, columns, categories).
    hyperparameters : dict
        Learned hyperparameters by name, shape (..., *shape of the hyperprior); empty where all are given.
    """

    class_prob: Any
    blocks: tuple[dict[str, Any], ...]
    hyperparameters: dict[str, Any] = field(default_factory=dict)

    def with_class_probs(self, class_probs: np.ndarray) -> "ModelParameters":
        """The same values with known class probabilities, whose concentration is then none of them."""
        others = {name: value for name, value in self.hyperparameters.items() if name != "class_concentration"}
        known = np.broadcast_to(class_probs, np.shape(self.class_prob)).copy()
        return replace(self, class_prob=known, hyperparameters=others)

    def weights(self) -> dict[str, Any]:
        """Weights of features and offsets of classes by the names that results use, in a model that has some."""
        return {}


def draw_from_prior(family: Family, sample: Sample) -> dict[str, Any]:
    """What the family's `prior` gives: its parameters by name.

    Raises
    ------
    TypeError
        If `prior` does not give a dict with the names that it draws, which are those of the likelihood's arguments.
    ValueError
        If a distribution gives several classes or columns one parameter.
    """
    names = sorted(parameter_names(family))

    def require(it_is_so: bool, what: str) -> None:
        if not it_is_so:
            raise TypeError(
                f"prior of {type(family).__name__} {what}: draw and return a dict of the likelihood's arguments, "
                f"{names}, "
                'as in return {"rate": sample("rate", distribution)}'
            )

    def checked(name: str, distribution: "dist.Distribution") -> Any:
        require(name in names, f"draws {name!r}")
        _require_prior_shape(family, name, distribution)
        return sample(name, distribution)

    values = family.prior(checked)
    require(isinstance(values, dict), f"returns an object of the class {type(values).__name__}")
    require(sorted(values) == names, f"returns {sorted(values)}")
    return values


def _require_prior_shape(family: Family, name: str, distribution: "dist.Distribution") -> None:
    """Raise ValueError if a prior gives several classes or columns one parameter.

    The hyperparameters are arrays of shape (classes, columns), and `distribution` is what the prior draws the parameter
    `name` from. If parameters were drawn before it, its shape begins with their draws.
    """
    fields = np.shape(leaves(family)[0])
    expected = fields[:-1] if family.cell == "category" else fields
    found, size = tuple(distribution.shape()), len(expected)
    if expected not in {found[start : start + size] for start in range(len(found))}:
        raise ValueError(
            f"the prior of {type(family).__name__} draws {name!r} from {type(distribution).__name__} of shape "
            f"{found}, where each class and column needs a parameter of its own, in the shape {expected} of the "
            "fields: give the distribution the shape of a field, .expand(jnp.shape(self.FIELD))"
        )


def off_boundary(value: Any) -> np.ndarray:
    """Draws of a parameter; values that underflowed or were rounded to one become the next number inside the support.

    Every density is finite there, without a logarithm of zero or a product of zero and infinity.
    """
    limits = np.finfo(np.float64)
    return np.where(np.abs(value) < limits.tiny, limits.tiny, np.where(value == 1, 1 - limits.epsneg, value))


def _log_priors(prior: Any, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Log density of each parameter of a block or of the classes; none of parameters that classes may share."""
    found: dict[str, np.ndarray] = {}

    def note(name: str, distribution: "dist.Distribution") -> Any:
        found[name] = formulas.log_prob(distribution, off_boundary(values[name]))
        return values[name]

    if not couples_classes(prior):
        prior.prior(note)
    return found


@pytree
class Prior:
    """A distribution of all parameters: the prior, or the posterior given statistics, which has its type.

    Where hyperparameters are learned, its arrays have leading axes, an entry for each value of the hyperparameters.

    Attributes
    ----------
    classes : ClassPrior
    families : tuple of Family
        For each block.
    """

    classes: ClassPrior
    families: tuple[Any, ...]

    def update(self, statistics: ModelStatistics) -> "Prior":
        """The posterior given statistics; families without a closed form keep their prior."""
        after = tuple(
            given(family, counted) if isinstance(family, ConjugateFamily) else family
            for family, counted in zip(self.families, statistics.blocks, strict=True)
        )
        return Prior(self.classes.update(statistics.classes), after)

    def log_evidence(self, statistics: ModelStatistics) -> Any:
        """Log density of labels and cells, every parameter integrated out; needs conjugate families."""
        pairs = zip(self.families, statistics.blocks, strict=True)
        of_blocks = (family.log_evidence(counted).sum() for family, counted in pairs)
        return sum(of_blocks, start=self.classes.log_evidence(statistics.classes))

    @in_float64
    def log_likelihood(self, parameters: ModelParameters, statistics: ModelStatistics) -> Any:
        """Log likelihood given the statistics, without parameter-free terms, shape (...,)."""
        total = self.classes.log_likelihood(parameters.class_prob, statistics.classes)
        for family, values, counted in zip(self.families, parameters.blocks, statistics.blocks, strict=True):
            total = total + np.asarray(family.log_likelihood(values, counted)).sum(axis=(-1, -2))
        return total

    def log_density(self, parameters: ModelParameters) -> np.ndarray:
        """Log density of all parameters, the leading shape of the parameters."""
        total = np.zeros(parameters.class_prob.shape[:-1])
        for density in (density for part in self.log_densities(parameters) for density in part.values()):
            total = total + density.reshape(*total.shape, -1).sum(axis=-1)
        return total

    @in_float64
    def log_densities(self, parameters: ModelParameters) -> tuple[dict[str, np.ndarray], ...]:
        """Log density of each parameter, computed for `PIECE` draws at a time to bound the memory.

        Returns
        -------
        tuple of dict
            That of the class probabilities, none where they are known; then for each block those of its parameters,
            with the parameters' leading axes and the batch shape of the distribution.
        """
        leading = parameters.class_prob.shape[:-1]
        learned = np.ndim(leaves(self.classes)[0]) > 1

        def flat(leaf: Any) -> np.ndarray:
            return np.reshape(leaf, (math.prod(leading), *np.shape(leaf)[len(leading) :]))

        def of_part(prior: Any, values: Mapping[str, Any]) -> Any:
            prior, values = map_tree(flat, prior) if learned else prior, map_tree(flat, values)
            pieces = [itemgetter(slice(start, start + PIECE)) for start in range(0, math.prod(leading), PIECE)]
            found = [_log_priors(map_tree(at, prior) if learned else prior, map_tree(at, values)) for at in pieces]
            return map_tree(lambda *of: np.concatenate(of).reshape((*leading, *of[0].shape[1:])), *found)

        values = [{CLASS_SITE: parameters.class_prob}, *parameters.blocks]
        return tuple(map(of_part, (self.classes, *self.families), values))

    def draw(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> ModelParameters:
        """Independent draws of all parameters; they have the leading axes of the arrays, too."""
        from bayesnb.families.draw import draw

        if any(isinstance(family, FeatureInclusion) for family in self.families):
            parts = zip(*((family.family, family.shared) for family in self.families), strict=True)
            own, of_all = (Prior(self.classes, families).draw(rng, sample_shape) for families in parts)
            pairs = zip(self.families, own.blocks, of_all.blocks, strict=True)
            return replace(own, blocks=tuple(family.drawn(*pair, sample_shape, rng) for family, *pair in pairs))

        def spread(leaf: Any) -> np.ndarray:
            return np.broadcast_to(leaf, (*sample_shape, *np.shape(leaf)))

        def sample(name: str, distribution: "dist.Distribution") -> np.ndarray:
            return draw(distribution, rng)

        with float64():
            classes, families = map_tree(spread, (self.classes, self.families))
            class_prob = np.asarray(classes.prior(sample))
            blocks = tuple(to_numpy(draw_from_prior(family, sample)) for family in families)
        return ModelParameters(class_prob, blocks)

    def walk(self, sample: Sample, *, integrated: bool = False) -> None:
        """Call ``sample(site, distribution)`` for every site of `program`."""
        if not integrated:
            self.classes.prior(sample)
        for i, family in enumerate(self.families):
            if integrated and isinstance(family, ConjugateFamily):
                continue

            def of_block(name: str, distribution: "dist.Distribution", i: int = i) -> Any:
                return sample(f"{i}.{name}", distribution)

            draw_from_prior(family, of_block)

    def program(self, statistics: ModelStatistics, *, integrated: bool = False) -> ModelParameters:
        """The model's density given statistics, as a NumPyro program; `NaiveBayes.program` up to a constant.

        Sites are ``class_prob`` and ``<block>.<parameter>`` with the block's position, arrays of a whole block. Where
        `integrated`, all parameters that have a closed form are integrated out and have no site. A sampler may set a
        probability's site to a `LogProbability`, whose logarithms the families' log likelihood then uses. Returns the
        values of the sites.
        """
        class_prob = None
        blocks: list[dict[str, Any]] = []
        if integrated:
            numpyro.factor("classes", self.classes.log_evidence(statistics.classes))
        else:
            drawn = self.classes.prior(numpyro.sample)
            numpyro.factor("classes", self.classes.log_likelihood(drawn, statistics.classes))
            class_prob = jnp.asarray(drawn.prob if isinstance(drawn, LogProbability) else drawn)
        for i, (family, counted) in enumerate(zip(self.families, statistics.blocks, strict=True)):
            if integrated and isinstance(family, ConjugateFamily):
                numpyro.factor(f"{i}", family.log_evidence(counted).sum())
                blocks.append({})
                continue
            logs: dict[str, LogProbability] = {}

            def sample(name: str, distribution: "dist.Distribution", i: int = i, logs: dict[str, Any] = logs) -> Any:
                value = numpyro.sample(f"{i}.{name}", distribution.to_event(len(distribution.batch_shape)))
                if isinstance(value, LogProbability):
                    logs[name] = value
                    return value.prob
                return value

            values = draw_from_prior(family, sample)
            numpyro.factor(f"{i}", family.log_likelihood(SampledParameters(values, logs), counted).sum())
            blocks.append(values)
        return ModelParameters(class_prob, tuple(blocks))


# --------------------------------------------------------------------------------------------------
# Defaults that follow the data, set to the numbers used
# --------------------------------------------------------------------------------------------------


@in_float64
def resolve(
    description: Any, schema: Schema, blocks: Sequence[Block], statistics: ModelStatistics
) -> tuple[Any, tuple[Block, ...]]:
    """Description and blocks with the numbers that the defaults take from statistics.

    Parameters
    ----------
    description : NaiveBayes
    schema : Schema
    blocks : sequence of Block
        The description laid out over the schema.
    statistics : ModelStatistics
        Those of the blocks, in their order.

    Returns
    -------
    tuple of NaiveBayes and tuple of Block
        The blocks have the columns and the order that they had.

    Raises
    ------
    ValueError
        If a default depends on a hyperparameter that is learned, or the spread of a column is too small for a default.
    """
    resolved = _blocks_on_scale(blocks, statistics)
    prior = spread_class_prior(description, schema.classes, statistics.classes)
    concentration = 1.0 if prior.probs is not None else prior.concentration
    described = replace(
        description,
        features=_features_with_defaults(description, schema, resolved, statistics)
        if description.hyperpriors
        else _column_features(description, schema, resolved),
        class_concentration=description.class_concentration if description.learns_classes else concentration,
        class_probs=prior.probs,
    )
    return described, resolved


def _blocks_on_scale(blocks: Sequence[Block], statistics: ModelStatistics) -> tuple[Block, ...]:
    def for_each_class(leaf: Any) -> Any:
        # What follows from all classes together is repeated for each class.
        return np.repeat(leaf, len(statistics.classes.n), 0) if np.shape(leaf)[:1] == (1,) else leaf

    resolved = []
    for block, counted in zip(blocks, statistics.blocks, strict=True):
        pooled = counted.pooled()
        refuse_beyond_float64(block, pooled)
        family = block.family.on_scale_of(pooled)
        if family is not block.family:
            family = map_tree(for_each_class, family)
        resolved.append(replace(block, family=family))
    return tuple(resolved)


def refuse_beyond_float64(block: Block, counted: Statistics, classes: Sequence[Any] = ()) -> None:
    """Raise ValueError for columns whose statistics exceed float64, in one class or in all together."""
    found = block.family.beyond_float64(counted)
    if found is None or np.isnan(found[0]).all():
        return
    means, why = found
    c, j = (int(axis[0]) for axis in np.nonzero(~np.isnan(means)))
    where = f" in class {classes[c]!r}" if len(classes) else ""
    raise ValueError(f"column {block.labels[j]!r}{where}{why.format(mean=means[c, j])}, here and where you predict")


def _column_features(description: Any, schema: Schema, blocks: Sequence[Block]) -> dict[Any, tuple[Family, Any]]:
    """The features with numbers; each column with a site of its own becomes a feature."""
    features: dict[Any, tuple[Family, Any]] = {}
    places = places_of_columns(blocks)
    for name, (_, columns) in description.features.items():
        positions = schema.positions(name, columns)
        if not (block := places[positions[0]][0]).by_column:
            features[name] = (block.family, columns)
            continue
        for position in positions:
            block, j = places[position]
            index = (slice(None), j) if block.has_categories else (slice(None), [j])
            derived = schema.derivation(position)
            own = None if derived is None else [derived.of if derived.is_copy else derived]
            features[schema.columns[position]] = (block.family.take(index), own)
    return features


def _features_with_defaults(
    description: Any, schema: Schema, blocks: Sequence[Block], statistics: ModelStatistics
) -> dict[Any, tuple[Family, Any]]:
    """The features with numbers in the places of their defaults, and the hyperpriors as they were."""
    coded = description.with_hyperparameters(_placeholder_codes(description.hyperpriors))
    others = _blocks_on_scale(lay_out(coded, schema, [block.columns for block in blocks]), statistics)
    features: dict[Any, tuple[Family, Any]] = {}
    for name, (family, columns) in description.features.items():
        positions = schema.positions(name, columns)
        defaults = {}
        for key, value in family.hyperparameters().items():
            if value is None:
                defaults[key] = _numbers_of_columns(blocks, key, positions)
                if (defaults[key] != _numbers_of_columns(others, key, positions)).any():
                    raise ValueError(
                        f"{block_name(name)!r}: the default of {family.family_name}({key}=...) follows from a "
                        f"hyperparameter that is learned: give {key} a number, or a distribution of its own"
                    )
        features[name] = (with_hyperparameters(family, defaults), columns)
    return features


def _numbers_of_columns(blocks: Sequence[Block], key: str, positions: Sequence[int]) -> np.ndarray:
    """A hyperparameter of some columns, shape (classes, columns); of a joint family, the array of its block."""
    places = places_of_columns(blocks)
    if (block := places[positions[0]][0]).is_joint:
        return np.asarray(block.family.hyperparameters()[key])
    pairs = [places[position] for position in positions]
    return np.column_stack([np.asarray(block.family.hyperparameters()[key])[:, j] for block, j in pairs])


FIRST_CODE = 2.0
"""Smallest of the numbers that mark learned hyperparameters; above one, because one is the placeholder."""


def _placeholder_codes(hyperpriors: "Mapping[str, dist.Distribution]") -> dict[str, np.ndarray]:
    """A different number for each learned hyperparameter, in the order of `LearnedPrior.given`."""
    codes = {}
    start = FIRST_CODE
    for name, distribution in hyperpriors.items():
        size = int(np.prod(distribution.batch_shape))
        codes[name] = np.arange(start, start + size).reshape(distribution.batch_shape)
        start += size
    return codes


# --------------------------------------------------------------------------------------------------
# Hyperparameters that are learned: a distribution in the place of a number.
#
# `Family.spread` lays out numbers only. The blocks are therefore laid out twice, with ones and with different numbers
# in the places of the learned hyperparameters. The second layout shows the place of each hyperparameter. The arrays
# for any values of the hyperparameters are then a look-up, with NumPy or under JAX, for values with any leading axes.
# --------------------------------------------------------------------------------------------------


@pytree
class LearnedPrior:
    """The prior of a model with learned hyperparameters.

    Attributes
    ----------
    hyperpriors : dict
        Distribution of each hyperparameter by name.
    numbers : Prior
        With a placeholder wherever a hyperparameter is learned.
    places : tuple of array of int
        For each array of `numbers`, places among the learned numbers; -1 where a number is given.
    names : tuple of str
        The hyperparameters in the order of their numbers.
    """

    hyperpriors: "dict[str, dist.Distribution]"
    numbers: Prior
    places: tuple[Any, ...]
    names: tuple[str, ...] = field(metadata={"static": True})

    def given(self, values: Mapping[str, Any]) -> Prior:
        """The prior for values of the hyperparameters.

        Parameters
        ----------
        values : mapping
            By name, arrays of shape (..., *batch shape of the hyperprior).

        Returns
        -------
        Prior
            Arrays with the leading axes of the values.
        """
        xp = jnp if any(is_jax(value) for value in values.values()) else np
        first = self.names[0]
        depth = len(self.hyperpriors[first].batch_shape)
        leading = np.shape(values[first])[: np.ndim(values[first]) - depth]
        line = xp.concatenate([xp.reshape(xp.asarray(values[name]), (*leading, -1)) for name in self.names], axis=-1)

        def fill(number: Any, place: Any) -> Any:
            return xp.where(place < 0, number, line[..., xp.maximum(place, 0)])

        leaves, structure = jax.tree.flatten(self.numbers)
        return jax.tree.unflatten(structure, map(fill, leaves, self.places))

    def draw(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> ModelParameters:
        """Independent draws from the prior of hyperparameters and parameters."""
        values = self.draw_hyperparameters(rng, sample_shape)
        return replace(self.given(values).draw(rng), hyperparameters=values)

    def draw_hyperparameters(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> dict[str, Any]:
        """Independent draws of the hyperparameters alone, by name."""
        from bayesnb.families.draw import draw

        with float64():
            return {name: np.asarray(draw(self.hyperpriors[name], rng, sample_shape)) for name in self.names}

    def sampled(self, sample: Sample) -> Prior:
        """The prior for hyperparameters that ``sample(name, distribution)`` gives one by one."""
        return self.given({name: sample(name, self.hyperpriors[name]) for name in self.names})


def sample_in_program(name: str, distribution: "dist.Distribution") -> Any:
    """A NumPyro sample of a hyperparameter, for `LearnedPrior.sampled`."""
    return numpyro.sample(name, distribution.to_event(len(distribution.batch_shape)))


def learned_prior(description: Any, schema: Schema, blocks: Sequence[Block], class_prior: ClassPrior) -> LearnedPrior:
    """The prior of a bound model as a function of the hyperparameters that it learns.

    Parameters
    ----------
    description : NaiveBayes
    schema : Schema
    blocks : sequence of Block
    class_prior : ClassPrior
        With ones in the places of the learned hyperparameters, as in the blocks.
    """
    coded = description.with_hyperparameters(_placeholder_codes(description.hyperpriors))
    coded_blocks = lay_out(coded, schema, [block.columns for block in blocks])
    numbers = Prior(class_prior, tuple(block.family for block in blocks))
    codes = Prior(spread_class_prior(coded, schema.classes), tuple(block.family for block in coded_blocks))

    def place(number: Any, code: Any) -> np.ndarray:
        return np.where(np.equal(number, code), -1, np.asarray(code) - FIRST_CODE).astype(np.int64)

    places = tuple(map(place, leaves(numbers), leaves(codes)))
    return LearnedPrior(dict(description.hyperpriors), numbers, places, tuple(description.hyperpriors))


def hyperparameter_axes(description: Any, schema: Schema) -> dict[str, tuple[tuple[str, tuple], ...]]:
    """Name and labels of every axis of each learned hyperparameter: classes and columns where its shape has them.

    A third axis is that of the categories.
    """
    classes = ("class", tuple(schema.classes.tolist()))
    found = {}
    if description.learns_classes:
        found["class_concentration"] = (classes,) * len(description.class_concentration.batch_shape)
    for name, feature, field_name in description.learned_fields():
        family, columns = description.features[feature]
        labels = tuple(schema.columns[position] for position in schema.positions(feature, columns))
        shape = family.hyperparameters()[field_name].batch_shape
        every = (classes, (f"{block_name(feature)}_column", labels), ("category", ()))
        usual = every if len(shape) == len(every) else every[2 - len(shape) : 2]
        found[name] = tuple(
            axis if len(axis[1]) == size else (f"{name}_{axis[0]}", tuple(range(size)))
            for axis, size in zip(usual, shape, strict=True)
        )
    return found
