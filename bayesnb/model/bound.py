"""A model with the columns, classes and categories of a table, and how rows show them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from bayesnb.core.arrays import dense, log
from bayesnb.core.cells import warn_unseen
from bayesnb.core.checking import whole_number
from bayesnb.core.deferred import in_float64, leaves, map_tree, numpyro
from bayesnb.core.printing import Piece, Printed
from bayesnb.core.running import random_generator
from bayesnb.data.labels import read_classes, read_labels
from bayesnb.data.read import Rows, read_rows
from bayesnb.data.schema import Schema
from bayesnb.data.tables import Table
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.families.family import Family, JointFamily, column_family, parameters_of_column
from bayesnb.families.hyperparameters import keeps_others
from bayesnb.model.blocks import (
    Block,
    ModelStatistics,
    categorical_columns,
    features_of,
    inclusions,
    lay_out,
    spread_inclusion,
    summed,
)
from bayesnb.model.prior import (
    CLASS_SITE,
    ClassPrior,
    LearnedPrior,
    ModelParameters,
    Prior,
    hyperparameter_axes,
    learned_prior,
    resolve,
    sample_in_program,
    spread_class_prior,
)
from bayesnb.model.program import Sites, draw_cells, draw_codes, run_program, to_table
from bayesnb.model.reading import Cells, Chunks, count_rows


@dataclass(frozen=True, repr=False)
class BoundModel(Printed):
    """A model bound to the columns, classes and categories of a table.

    `NaiveBayes.bind` gives one, and `Posterior.model` is one, with numbers for all hyperparameters. A fit of it keeps
    the columns and categories of its table, and the classes unless the fit names others. Two bound models are equal if
    their descriptions are.

    Attributes
    ----------
    description : NaiveBayes
        Families and class prior.
    schema : Schema
        Columns, classes and categories.
    blocks : tuple of Block
        The columns in groups of one family and one array shape, in the order of all statistics and parameters. A
        hyperparameter that is learned is a one here; `learned` holds its place.
    numbers : NaiveBayes or None
        The description with numbers that `bind` took from its table; a fit takes those of its own rows.

    Raises
    ------
    ValueError
        If the class prior or the feature inclusion has the wrong number of entries.

    Notes
    -----
    A bound model is no `NaiveBayes`; its `description` is one, for other tables too. Functions such as `fit` take both.

    See Also
    --------
    NaiveBayes : The description of a model.
    NaiveBayes.bind : Give a model the columns and classes of a table.

    Examples
    --------
    >>> import bayesnb as nb
    >>> bound = nb.NaiveBayes(nb.Bernoulli()).bind([[0, 1], [1, 1], [1, 0]], ["a", "a", "b"])
    >>> bound.schema.classes.tolist()
    ['a', 'b']
    >>> X, y = bound.simulate(4)
    >>> X.shape, y.shape
    ((4, 2), (4,))
    """

    description: Any
    schema: Schema = field(compare=False)
    blocks: tuple[Block, ...] = field(compare=False)
    numbers: Any = field(default=None, compare=False, kw_only=True)

    why_no_params: ClassVar[str] = (
        ". The model is bound to a table and keeps its numbers: give its description, model.description"
    )
    """End of the error if a parameter of the model is set; see `bayesnb.core.checking`."""

    @classmethod
    def of(
        cls,
        description: Any,
        schema: Schema,
        layout: Sequence[Sequence[int]] | None = None,
        numbers: Any = None,
    ) -> Self:
        """A description with the columns, classes and categories of a schema.

        Parameters
        ----------
        description : NaiveBayes
        schema : Schema
        layout : list of columns' positions, optional
            Those of each block, where the order of statistics is given; see `lay_out`.
        numbers : NaiveBayes, optional

        Raises
        ------
        ValueError
            If a column of the model does not exist, or a hyperparameter has the wrong shape.
        """
        return cls(description, schema, lay_out(numbers or description, schema, layout), numbers=numbers)

    def __post_init__(self) -> None:
        if self.inclusion is not None:
            self.require_one_description("feature_inclusion")
        if not self.description.follows_labels:
            _ = self.class_prior

    @property
    def numeric_description(self) -> Any:
        """The description with the numbers of the blocks."""
        return self.numbers or self.description

    @property
    def features(self) -> dict[Any, tuple[Family, Any]]:
        """Family and columns of each feature."""
        return self.numeric_description.features

    @property
    def families(self) -> tuple[Family, ...]:
        """Family of each block."""
        return tuple(block.family for block in self.blocks)

    @property
    def conjugate(self) -> bool:
        """Whether every family has a closed form."""
        return all(isinstance(family, ConjugateFamily) for family in self.families)

    @property
    def used_columns(self) -> list[Any]:
        """Names of the columns that the model reads, block by block; positions if its table had no names."""
        return list(dict.fromkeys(name for block in self.blocks for name in self.schema.names(block.columns)))

    @property
    def layout(self) -> list[Sequence[int]]:
        """Positions of the columns of each block."""
        return [block.columns for block in self.blocks]

    @property
    def num_again(self) -> int:
        """Number of features of derived columns, which come after all others."""
        return sum(len(features_of(block)) for block in self.blocks if self.schema.derivation(block.columns[0]))

    @cached_property
    def class_prior(self) -> ClassPrior:
        """The prior on the class probabilities.

        Raises
        ------
        ValueError
            If the probabilities are those of labels ("empirical"), before these are counted.
        """
        return spread_class_prior(self.numeric_description, self.schema.classes)

    @property
    def prior(self) -> Prior:
        """The distribution of all parameters before the data."""
        return Prior(self.class_prior, self.prior_families)

    @property
    def prior_families(self) -> tuple[Any, ...]:
        """The families as the prior has them, where a feature may not depend on the class."""
        return self.families if self.inclusion is None else inclusions(self.blocks, self.inclusion)

    @cached_property
    def inclusion(self) -> tuple[np.ndarray, ...] | None:
        """Prior probability that each feature of each block depends on the class; None where all do."""
        if self.description.feature_inclusion is None:
            return None
        return spread_inclusion("feature_inclusion", self.description.feature_inclusion, self.blocks)

    @cached_property
    def learned(self) -> LearnedPrior:
        """The prior as a function of the hyperparameters that are learned; needs a model that has some."""
        return learned_prior(self.numeric_description, self.schema, self.blocks, self.class_prior)

    @cached_property
    def sites(self) -> Sites:
        """Names of all parameters in results."""
        hyperparameters = hyperparameter_axes(self.description, self.schema)
        return Sites(self.blocks, self.schema, hyperparameters, self.weight_axes)

    @property
    def weight_axes(self) -> dict[str, tuple[tuple[str, tuple], ...]]:
        """Name and labels of every axis of the weights of features, by site; a bound model has none."""
        return {}

    @cached_property
    def open_columns(self) -> tuple[int, ...]:
        """Positions of the columns to which later rows may add categories.

        The model does not list their categories, and has none for all other values.
        """
        columns = categorical_columns(self.features, self.schema)
        return tuple(
            position
            for position, family, listed in columns
            if listed is None and not keeps_others(family) and position not in self.schema.edges
        )

    def bind(self, X: Any, y: Any = None, *, classes: Any = None) -> "BoundModel":
        """The model of another table; as `NaiveBayes.bind`. Numbers for each class, column or category stay."""
        return self.description.bind(X, y, classes=classes)

    def with_classes(self, classes: Any) -> Self:
        """The model with other classes; its columns and categories stay.

        Parameters
        ----------
        classes : sequence or int, all labels in the order of the results, or their number

        Raises
        ------
        ValueError
            If a hyperparameter has another number of classes; or if the prior differs by class and a class changes its
            place, because numbers by class are in the order of the classes.
        """
        found = read_classes(classes)
        place = {label: position for position, label in enumerate(found.tolist())}
        labels = self.schema.classes.tolist()
        moved = [label for position, label in enumerate(labels) if place.get(label, position) != position]
        changed = self.of(self.description, replace(self.schema, classes=found), self.layout)
        if moved and self._differs_by_class():
            raise ValueError(
                f"the prior differs by class, in the order {labels} of the classes that the model is bound to, and "
                f"classes={found.tolist()} gives {moved[0]!r} another place: keep the order, or bind the description "
                "anew with numbers in the order wanted"
            )
        return changed

    def _differs_by_class(self) -> bool:
        by_label = self.description.follows_labels or isinstance(self.description.class_probs, Mapping)
        arrays = leaves((self.families, None if by_label else self.class_prior))
        return any((np.asarray(array) != np.asarray(array)[:1]).any() for array in arrays)

    def with_feature_inclusion(self, feature_inclusion: Any) -> Self:
        """The model with other prior probabilities that features depend on the class; see `NaiveBayes`."""
        return self.of(self.description.with_feature_inclusion(feature_inclusion), self.schema, self.layout)

    def with_class_probs(self, class_probs: Any) -> Self:
        """The model with known class probabilities; see `NaiveBayes`."""
        return self.of(self.description.with_class_probs(class_probs), self.schema, self.layout)

    def with_hyperparameters(self, values: Mapping[str, Any]) -> Self:
        """The model with numbers for the hyperparameters that are learned; see `NaiveBayes.with_hyperparameters`."""
        return self.of(self.description.with_hyperparameters(values), self.schema, self.layout)

    def with_every_value(self) -> Self:
        """The model with a parameter for every possible value; some families hold only the observed ones.

        Draws from the prior are made with it.
        """

        def every(block: Block) -> Block:
            family = block.family
            return replace(block, family=family.with_every_value()) if isinstance(family, JointFamily) else block

        return replace(self, blocks=tuple(map(every, self.blocks)))

    def resolve(self, statistics: ModelStatistics) -> Self:
        """The model with every default that follows the data set to the numbers used."""
        description, blocks = resolve(self.description, self.schema, self.blocks, statistics)
        return replace(self, description=description, blocks=blocks, numbers=None)

    def read(self, table: Table) -> Chunks:
        """The rows of a table as this model reads them, to count statistics or to compute densities.

        Raises
        ------
        ValueError
            If a column of the model is missing.
        """
        table = self.schema.arrange(table, self.layout, self.description.number_forms)
        return Chunks(self.schema, self.blocks, table, self.description.outside_is_missing)

    def statistics(self, X: Any, y: Any, *, sample_weight: Any = None) -> ModelStatistics:
        """Sufficient statistics of a table under the bound model.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels of shape (rows,) or str
        sample_weight : array, shape (rows,), optional

        Returns
        -------
        ModelStatistics
        """
        return self.count_labelled(read_rows(X, y, sample_weight).counting().of_classes(self.schema.classes))

    def count_labelled(self, rows: Rows) -> ModelStatistics:
        """Sufficient statistics of rows that all have a label."""
        counted = self.read(rows.table).count(rows.codes, rows.weights)
        warn_unseen(counted.unseen)
        return counted.statistics

    def require_blocks(self, what: str, parts: Sequence[Any]) -> None:
        """Raise ValueError for another number of parts than the model has blocks."""
        if len(parts) != len(self.blocks):
            names = [block.name for block in self.blocks]
            raise ValueError(f"{what} has {len(parts)} parts and the model the blocks {names}: give one for each")

    def count(self, cells: Cells, membership: np.ndarray) -> ModelStatistics:
        """Sufficient statistics of encoded rows, given the weight of each row in each class (rows, classes)."""
        self.require_blocks("cells", cells)
        return count_rows(self.blocks, cells, membership)

    @in_float64
    def log_joint(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> np.ndarray:
        """Log density of each row and each class given parameters, shape (..., rows, classes)."""
        return self.joint_of_rows(parameters, chunk)(slice(0, chunk[0].shape[0]))

    def joint_of_rows(self, parameters: ModelParameters, chunk: tuple[Any, ...]) -> Callable[[slice], np.ndarray]:
        """As `log_joint`, but a function of a subset of the rows; what they share is prepared once."""
        blocks = zip(self.families, parameters.blocks, chunk, strict=True)
        densities = [family.densities_of_rows(values, x) for family, values, x in blocks]
        prior = self.log_class_prob(parameters)[..., None, :]
        return lambda rows: np.add(prior, summed(of_rows(rows) for of_rows in densities), order="F")

    def log_class_prob(self, parameters: ModelParameters) -> np.ndarray:
        """Log class probabilities given parameters, up to a number that all classes share, shape (..., classes)."""
        return log(parameters.class_prob)

    @in_float64
    def feature_log_likelihood(self, parameters: ModelParameters, i: int, j: int, x: Any) -> np.ndarray:
        """Log density of one feature of each row under each class given parameters, shape (..., rows, classes).

        Parameters
        ----------
        parameters : ModelParameters
        i, j : int
            Positions of the block, and of the column in it; the second is zero for a joint block, which is one feature.
        x : array or CSR array, shape (rows, columns)
            Cells of the block.
        """
        return self._of_feature(parameters, i, j, x if self.blocks[i].is_joint else x[:, j : j + 1])

    def _of_feature(self, parameters: ModelParameters, i: int, j: int, x: Any) -> np.ndarray:
        """As `feature_log_likelihood`, given the cells of the feature alone."""
        family, values = self.blocks[i].family, parameters.blocks[i]
        if isinstance(family, JointFamily):
            return np.asarray(family.row_log_likelihood(values, x))
        values = parameters_of_column(values, j, np.ndim(parameters.class_prob) - 1)
        return np.asarray(column_family(family, j).row_log_likelihood(values, x))

    def draw_prior(self, rng: np.random.Generator, sample_shape: tuple[int, ...] = ()) -> ModelParameters:
        """Independent draws of all parameters from the prior, shape sample_shape + (classes, ...)."""
        if self.description.hyperpriors:
            return self.learned.draw(rng, sample_shape)
        return self.prior.draw(rng, sample_shape)

    def simulate(
        self, num_rows: int, *, key: Any = 0, total_count: Any = None, return_parameters: bool = False
    ) -> tuple[Any, ...]:
        """Simulate a table from the prior: parameters first, then rows that share them.

        Parameters
        ----------
        num_rows : int
        key : int or JAX key, default 0
        total_count : int or array of shape (rows,), optional
            Total of each count vector (the length of a document); needed if the model has any.
        return_parameters : bool, default False
            Whether to return the parameters too, by site name.

        Returns
        -------
        tuple
            The table (a pandas frame where columns have names, else an array), the labels, and, on request, parameters.

        Raises
        ------
        ValueError
            If a hyperparameter is left to the scale of data.
        """
        num_rows = whole_number("num_rows", num_rows)
        rng = random_generator(key)
        self.require_one_description("simulate")
        self.require_numbers()
        model = self.with_every_value()
        parameters = model.draw_prior(rng)
        codes, cells = model.draw_rows(parameters, num_rows, rng, total_count)
        X, y = to_table(model.schema, model.blocks, cells), model.schema.classes[codes]
        return (X, y, model.sites.by_name(parameters)) if return_parameters else (X, y)

    def prior_predictive(
        self, X: Any, y: Any, *, num_rows: int | None = None, num_draws: int = 500, key: Any = 0
    ) -> Any:
        """Tables from the prior predictive distribution, beside the observed one; see `NaiveBayes.prior_predictive`."""
        from bayesnb.model.trees import prior_predictive_tree

        self.require_one_description("prior_predictive")
        self.require_numbers()
        rows, rng = read_rows(X, y).of_classes(self.schema.classes, may_miss=True), random_generator(key)
        if num_rows is not None:
            num_rows = whole_number("num_rows", num_rows)
            if num_rows > len(rows):
                raise ValueError(f"num_rows is {num_rows}, and X has {len(rows)} rows: give at most as many")
            rows = rows.take(np.sort(rng.choice(len(rows), num_rows, replace=False)))
        return prior_predictive_tree(self.with_every_value(), rows, whole_number("num_draws", num_draws), rng)

    def draw_rows(self, parameters: ModelParameters, num_rows: int, rng: Any, total_count: Any) -> tuple[Any, Cells]:
        """Classes of rows as codes, and their cells, given parameters without leading axes."""
        codes = draw_codes(parameters.class_prob, num_rows, rng)
        rows = [{name: value[codes] for name, value in block.items()} for block in parameters.blocks]
        return codes, tuple(draw_cells(self.blocks, rows, num_rows, rng, total_count))

    def open_hyperparameter(self) -> tuple[Block, str] | None:
        """Block and name of a hyperparameter that follows the data's scale and has no number yet."""
        named = ((block, pair) for block in self.blocks for pair in block.family.hyperparameters().items())
        return next(((block, name) for block, (name, value) in named if value is None), None)

    def require_numbers(self) -> None:
        """Raise ValueError for a model with a hyperparameter that has no number yet."""
        if (found := self.open_hyperparameter()) is not None:
            block, name = found
            raise ValueError(
                f"{block.family.family_name}({name}=...) of {block.name!r} follows the scale of the data: give a "
                "number, or take the model of a fit (posterior.model)"
            )

    def require_every_feature(self, what: str) -> None:
        """Raise for a model that averages over subsets of its features.

        Raises
        ------
        ValueError
            If a feature may be left out.
        """
        if self.description.feature_inclusion is not None:
            raise ValueError(
                f"{what} has a parameter for every class and no subsets of features to average over: fit a model with "
                "feature_inclusion by nb.Exact(), or leave it out"
            )

    def require_one_description(self, what: str) -> None:
        """Raise ValueError for a model with features that describe columns once more."""
        for feature, positions in self.schema.positions_of(self.features if self.schema.derived else {}).items():
            if self.schema.derivation(positions[0]):
                raise ValueError(
                    f"{what} needs a distribution of the rows, and the feature {feature!r} has columns that another "
                    "feature has, which would count twice: describe each column once, as nb.NaiveBayes.from_frame(X) "
                    "does; predictions with weights of the features, nb.weight_features, need no such distribution"
                )

    def program(
        self,
        X: Any = None,
        y: Any = None,
        *,
        given: Mapping[str, Any] | None = None,
        num_rows: int | None = None,
        total_count: Any = None,
    ) -> None:
        """The row-level NumPyro program: the definition of the model.

        Runs under NumPyro's own ``MCMC``, ``SVI``, ``Predictive`` and ``numpyro.render_model``. Sites are named as in
        every result; the label's site is ``y`` and each observed block or column has its own name.

        Parameters
        ----------
        X : table, shape (rows, columns), optional
            Features; drawn if not given.
        y : labels of shape (rows,) or str, optional
            Drawn if not given. A label drawn beside given features comes from the class prior alone, as the class is
            drawn before the features: for class probabilities use `predict_proba`, which sums over all classes.
        given : mapping from site to array, optional
            Parameters that take these values and have no prior here, such as those that a program of your own has
            drawn before. They have the shapes of `Posterior.draws` without chain and draw; ``class_prob`` may also
            have a row for each row of X, shape (rows, classes).
        num_rows : int, default 1
            Rows to draw where neither X nor y is given.
        total_count : int or array, optional
            Totals of the count vectors to draw.

        Raises
        ------
        ValueError
            If the model averages over subsets of its features, a hyperparameter is left to the scale of data and X and
            y are not both given, or `given` names no site that the program draws.
        """
        self.require_every_feature("the program")
        self.require_one_description("the program")
        rows = None if X is None else read_rows(X, y)
        labels = None if y is None else read_labels(y, len(y)) if rows is None else rows.labels
        size = len(rows) if rows is not None else len(labels.values) if labels is not None else num_rows or 1
        codes = None if labels is None else labels.codes(self.schema.classes)
        model = self
        if rows is not None and labels is not None and self.open_hyperparameter() is not None:
            model = self.resolve(self.count_labelled(rows.of_classes(self.schema.classes)))
        model.require_numbers()
        model = model.with_every_value()
        cells = None if rows is None else [dense(x) for x in model.read(rows.table).whole()]
        values = dict(given or {})
        known = {CLASS_SITE} if model.class_prior.probs is not None else set()
        if strange := values.keys() - (model.sites.axes().keys() - known):
            drawn = [name for name in model.sites.axes() if name not in known]
            raise ValueError(
                f"given has {sorted(strange)[0]!r}, which the program does not draw: its sites are {drawn}"
            )
        # Arrays of its own for each run: JAX keeps a copy of each array it traced, in that run's precision.
        prior = map_tree(np.array, model.prior)
        with numpyro.handlers.block(hide=[*values]), numpyro.handlers.substitute(data=values):
            if model.description.hyperpriors:
                prior = model.learned.sampled(sample_in_program)
            run_program(model.sites, prior, size, codes=codes, cells=cells, total_count=total_count)

    def _parts(self) -> list[Piece]:
        return self.numeric_description.story()
