"""The methods of every posterior."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from bayesnb.core.checking import a_type, by_label, in_order_of_classes, warn, warns_once, whole_number
from bayesnb.core.deferred import pd
from bayesnb.core.printing import Code, DataTable, Heading, Paragraph, Piece, Printed, four_digits, plus_minus
from bayesnb.core.running import random_generator
from bayesnb.data.elsewhere import is_elsewhere, table_elsewhere
from bayesnb.data.read import labelled_rows
from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.model.blocks import ModelStatistics, parameter_notes
from bayesnb.model.bound import BoundModel
from bayesnb.model.prior import CLASS_SITE, spread_class_prior
from bayesnb.model.problem import Problem, count_more
from bayesnb.model.statistics_elsewhere import count_more_elsewhere
from bayesnb.posterior.belief import Belief, offers, require
from bayesnb.posterior.lazy_predictions import proba_in_memory
from bayesnb.posterior.predictions import Predictions

# --------------------------------------------------------------------------------------------------
# The table with which a posterior prints its parameters: a row for each, and a column for each class
# --------------------------------------------------------------------------------------------------

MOST_ROWS = 20
"""After this many rows the remaining features are only counted."""

MOST_OF_SITE = 8
"""Largest number of rows for one parameter, such as the probabilities of many categories."""

Axes = Sequence[tuple[str, Sequence[Any]]]


def parameters_by_class(model: BoundModel, moments: Callable[[str], Mapping[str, Any]]) -> list[Piece]:
    """The first features' parameters, and the number of the other features.

    Parameters
    ----------
    model : BoundModel
        Names the parameters.
    moments : callable
        Gives for the name of a site ``mean`` and ``sd``, or ``value``, arrays of the site's shape. Raises
        NotImplementedError where a family does not state them.
    """
    axes = model.sites.axes()
    features = _sites_by_feature(model)
    labels, rows = _cell_rows(CLASS_SITE, axes[CLASS_SITE], moments)
    shown = 0
    for sites in features:
        found = [_cell_rows(site, axes[site], moments) for site in sites]
        if shown and len(labels) + sum(len(names) for names, _ in found) > MOST_ROWS:
            break
        for names, cells in found:
            labels, rows = labels + names, rows + cells
        shown += 1
    classes = pd.Index([str(label) for _, names in axes[CLASS_SITE] for label in names], dtype=object)
    frame = pd.DataFrame(rows, index=pd.Index(labels, name="class", dtype=object), columns=classes)
    parts: list[Piece] = [DataTable(frame, more_columns="classes", rows=len(frame))]
    if shown < len(features):
        parts.append(Paragraph(f"… and {len(features) - shown} more of {len(features)} features in .summary()"))
    parts += map(Paragraph, parameter_notes(model.blocks))
    if learned := [*model.description.hyperpriors]:
        parts += [Paragraph("Hyperparameters, mean ± sd:"), Code(_hyper_lines(learned, axes, moments))]
    return parts


def _sites_by_feature(model: BoundModel) -> list[list[str]]:
    """The sites of each feature, in the order of the table's columns."""
    found: dict[int, list[str]] = {}
    for site in model.sites:
        columns = model.blocks[site.block].columns
        found.setdefault(columns[site.column or 0], []).append(site.name)
    return [found[column] for column in sorted(found)]


def _cell_rows(site: str, axes: Axes, moments: Callable[[str], Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Labels and cells of a parameter, whose first axis is the class."""
    (_, classes), *others = axes
    number = int(np.prod([len(names) for _, names in others]))
    places = itertools.islice(itertools.product(*(names for _, names in others)), MOST_OF_SITE)
    labels = [f"{site}[{', '.join(map(str, place))}]" if place else site for place in places]
    try:
        values = _moments_as_text(moments(site), (len(classes), number))
    except NotImplementedError:
        # A user's family may lack the means of its parameters and still predict.
        return [site], [["?"] * len(classes)]
    if number > MOST_OF_SITE:
        labels.append(f"… and {number - MOST_OF_SITE} more of {site}")
        values.append([""] * len(classes))
    return labels, values


def _moments_as_text(moments: Mapping[str, Any], shape: tuple[int, int]) -> list[list[str]]:
    """Cells of the first values: a row for each, and a column for each class."""
    arrays = np.broadcast_arrays(*moments.values())
    first = [array.reshape(shape)[:, :MOST_OF_SITE].T for array in arrays]
    cell = plus_minus if len(first) == 2 else four_digits
    return [[cell(*cells) for cells in zip(*row, strict=True)] for row in zip(*first, strict=True)]


def _hyper_lines(
    names: Sequence[str], axes: Mapping[str, Axes], moments: Callable[[str], Mapping[str, Any]]
) -> list[str]:
    """A line for each of the first learned hyperparameters."""
    lines = []
    for name in names:
        labels, cells = _cell_rows(name, [("", ("",)), *axes[name]], moments)
        lines += [f"  {label} = {cell}" if cell else f"  {label}" for label, [cell] in zip(labels, cells, strict=True)]
    return lines


# --------------------------------------------------------------------------------------------------
# The methods of every posterior
# --------------------------------------------------------------------------------------------------

FEATURES_OF_PRIOR = 8
"""Largest number of features, or groups of equal ones, whose prior is printed below the parameters."""


@dataclass(eq=False, repr=False)
class Posterior(Printed, Predictions):
    """Distribution of a model's parameters given data: a problem, and what is believed of the parameters.

    Attributes
    ----------
    model : BoundModel
        The model with every default resolved to the numbers used.
    classes : array, shape (classes,)
        Labels, in the column order of `predict_proba`.
    problem : Problem or None
        Model and statistics of the data; None where the parameters were given without data.
    belief : Belief
        What is known of the parameters: a point, a closed form or draws, alone or with weights of features.
    inference : Inference or None
        The inference that made the posterior; None if its draws or parameters were given. It runs again on other
        statistics: the class of its posterior depends on the model only, so that `update` and `forget` return the class
        that they are called on.

    See Also
    --------
    fit : Fit a table in memory.
    ExactPosterior : The posterior in closed form.
    SampledPosterior : The posterior as draws.
    PointPosterior : A point estimate.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
    >>> posterior.predict(X[:2])
    array(['Adelie', 'Adelie'], dtype='<U9')
    >>> posterior.predict_proba(X[:1]).round(3)
    array([[1., 0., 0.]])
    """

    problem: Problem | None
    belief: Belief
    inference: Any

    feature_weights: Any = field(default=None, init=False)
    """The weights of features, if there are some."""

    @property
    def classes(self) -> np.ndarray:
        """Labels, in the column order of `predict_proba`."""
        return self.model.schema.classes

    @property
    def plain(self) -> Any:
        """The posterior without weights of features."""
        return self

    @property
    def generative(self) -> Any:
        """The distribution of a row: without weights, which act on the labels only, and with each column once."""
        return self

    def with_class_probs(self, class_probs: Any) -> Any:
        r"""The posterior for another population, in which the classes have known probabilities.

        The distribution of the features given the class stays as it is. Predictions, draws, intervals, `explain` and
        `simulate` have the new probabilities, and `update` keeps them. A second call replaces the first.

        Parameters
        ----------
        class_probs : mapping or pandas.Series from label to probability, or array of shape (classes,)
            A probability for each class; they sum to one. An array has the order of `classes`.

        Returns
        -------
        Posterior
            Of the same kind; this one is unchanged. A closed form is that of a fit with the same ``class_probs``. A
            `CollapsedPosterior` of no hyperparameter but `class_concentration` becomes a `SampledPosterior`.

        Raises
        ------
        TypeError, ValueError
            If a class has no probability, a label is no class, or the numbers are no probabilities that sum to one. If
            weights of features were learned, also if the fit gives a class the probability zero and it is to have more.

        See Also
        --------
        estimate_class_probs : The class probabilities of rows without labels.

        Notes
        -----
        Odds are multiplied by new / old (Saerens, Latinne and Decaestecker 2002, *Neural Computation* 14, 21-41):

        .. math:: p'(y=c \mid x) \propto p(y=c \mid x) \, \frac{p'(c)}{p(c)}

        With weights of features, old are the class probabilities without offsets, which stay.

        Examples
        --------
        Half of the rows of a study are ill, and one in twenty of those who come:

        >>> import bayesnb as nb
        >>> posterior = nb.fit(nb.Bernoulli(), [[1], [1], [0], [0]], ["ill", "ill", "well", "well"])
        >>> posterior.predict_proba([[1]])
        array([[0.75, 0.25]])
        >>> posterior.with_class_probs({"ill": 0.05, "well": 0.95}).predict_proba([[1]]).round(3)
        array([[0.136, 0.864]])
        """
        labels, class_probs = self.classes.tolist(), by_label(class_probs)
        if isinstance(class_probs, Mapping):
            class_probs = in_order_of_classes(class_probs, labels)
        given = self.model.description.with_class_probs(class_probs)
        if given.class_probs is None or given.follows_labels:
            raise ValueError(f"class_probs is {class_probs!r}: give a probability for each class, which are {labels}")
        return self._with_class_probs(np.array(spread_class_prior(given, self.classes).probs))

    def _with_class_probs(self, class_probs: np.ndarray) -> Any:
        """As `with_class_probs`, given an array of shape (classes,)."""
        raise NotImplementedError

    def explain(
        self,
        X_row: Any,
        class_: Any = None,
        against: Any = None,
        *,
        unit: str = "nats",
        prob: float = 0.89,
        words: bool = True,
        num_draws: int | None = None,
        key: Any = 0,
    ) -> Any:
        r"""The log odds of two classes in a row, or in each of many, and what each feature contributes to them.

        .. math::
            \log \frac{p(y=c \mid x, D)}{p(y=k \mid x, D)} = \log \frac{p(c \mid D)}{p(k \mid D)}
            + \sum_j \log \frac{p(x_j \mid c, D)}{p(x_j \mid k, D)}

        A term of the sum is the weight of evidence of the cell (Good 1950, *Probability and the Weighing of Evidence*,
        chapter 6). Turing's unit is the deciban, ten times the logarithm to base ten: ten decibans multiply the odds by
        ten.

        Parameters
        ----------
        X_row : table of shape (rows, columns), array or list of shape (columns,), pandas.Series or mapping
            One row, such as ``X.iloc[[0]]``, or many. A series or a mapping has the names of the columns as keys.
        class_, against : label, optional
            Positive numbers support the first class, negative ones the second. By default the most probable class of
            the row, and the most probable other one.
        unit : {"nats", "bits", "decibans"}, default "nats"
        prob : float, default 0.89
            Posterior probability of the intervals.
        words : bool, default True
            Whether each word of a count vector has a row of its own, rather than the whole vector one. Of many rows the
            whole vector has one.
        num_draws : int, optional
            Draws in each chain for the intervals; as for `proba_draws`.
        key : int or JAX key, default 0
            For the draws from a closed form.

        Returns
        -------
        pandas.DataFrame
            By feature. The first row, ``"before any cell"``, has the log odds of the class probabilities, offsets of a
            `WeightedPosterior` included. Then come the columns in the order of the table. A column that several
            features describe, alone or given others, has their sum. A block of several columns that is one observation
            has a row of its own. The two classes, unit and `prob` are in ``attrs``. The frame prints them, and prints
            rounding errors as 0. Its ``plot()`` draws it, as `plot_evidence` does.

            Of many rows, the index has row and feature: the names of a pandas index, else positions. The columns
            ``class`` and ``against`` have the two classes, which may differ by row.

            ``log_odds``
                What the feature contributes, exactly zero if its cell is missing. The column adds up to the difference
                of the two classes in `predict_log_proba`, to rounding.
            ``lower``, ``upper``
                Equal-tailed interval of the same log odds under single draws of the parameters, which reaches at least
                to ``log_odds``: that averages densities and not their logarithms, and in a class with few data may be
                beyond nearly all draws. NaN for a point estimate, whose parameters have no spread.

        Raises
        ------
        TypeError, ValueError
            If there is no row, a class is unknown, both classes are the same or there is only one, the
            unit is unknown, `prob` is not between 0 and 1, or the row is impossible under both classes.

        Notes
        -----
        With weights (`nb.weight_features`), a feature contributes its weight times its log odds. A last row,
        ``"features together"``, has what is lost because a row may say nothing about its label.

        Sampled posteriors average the joint density over draws. A feature's row has the average of its own density. A
        last row, ``"features together"``, has the rest of the log odds, which no single feature contributes: the
        features depend on each other through the uncertain parameters, and the draws are finite in number. It is zero
        under each single draw, and has no interval.

        The words of a count vector share parameters, and their log odds do not add up to those of the vector. With
        ``words=True``, each word that occurs has the log odds of a vector that holds this word alone, as often as it
        occurs here. What is left of the log odds of the vector is divided among the tokens, to each the same part, so
        that the sum stays exact. If every word occurs once, this gives a word of a `Multinomial` block
        :math:`\log \alpha_{cv} - \frac1n \log \frac{\Gamma(A_c + n)}{\Gamma(A_c)}` for the class c, less the same
        for k, with :math:`\alpha` the concentrations of the posterior, A their sum and n the number of tokens.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> posterior = nb.fit(nb.NaiveBayes.from_frame(X), X, y)
        >>> row = X.iloc[[0]]
        >>> found = posterior.explain(row, "Adelie", against="Chinstrap", unit="decibans")
        >>> found.round(1)
                           log_odds  lower  upper
        feature
        before any cell         3.5    2.4    4.5
        island                 13.9    9.3   27.0
        bill_length_mm         18.9   15.5   25.9
        bill_depth_mm          -0.4   -1.1    0.4
        flipper_length_mm       5.7    3.3    8.8
        body_mass_g            -0.8   -1.5   -0.0
        sex                     0.0   -0.9    1.0
        >>> log_proba = posterior.predict_log_proba(row)[0]
        >>> bool(abs(posterior.explain(row)["log_odds"].sum() - (log_proba[0] - log_proba[1])) < 1e-9)
        True
        """
        from bayesnb.posterior.explain import evidence_of_rows

        return evidence_of_rows(
            self, X_row, class_, against, unit=unit, prob=prob, words=words, num_draws=num_draws, key=key
        )

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, fitted: Any, by_class: bool = False, empty: bool = False
    ) -> np.ndarray:
        r"""A set of labels for each row that holds the true one with a given probability, on average over rows.

        A set holds every class with a probability of at least a threshold, a quantile of the probabilities of the
        labels of the fitted rows, each given the other rows exactly. No rows are held out. With other class
        probabilities than those of the rows, a fitted row of class c counts given / rows times.

        Parameters
        ----------
        X : table, shape (rows, columns)
        coverage : float, default 0.9
            Probability with which a set holds the true label.
        fitted : tuple of table and labels
            The rows that the posterior was fitted to, or some of them; a third element has their weights. Estimators
            need none: `NaiveBayesClassifier.predict_set`.
        by_class : bool, default False
            Whether the sets of the rows of each class hold that class with this probability; otherwise those of all
            rows together do.
        empty : bool, default False
            Whether sets may be empty, where no class is as probable as those of the fitted rows. If not, an empty set
            gets the most probable class.

        Returns
        -------
        array of bool, shape (rows, classes)
            Which classes are in the set, in the order of `classes`.

        Raises
        ------
        TypeError, ValueError
            As `loo_scores`, and if the coverage is not between 0 and 1.

        Warns
        -----
        UserWarning
            If classes are in every set because there are too few rows: .9 needs nine, with `by_class` nine of a class.

        Notes
        -----
        The threshold is the k-th smallest of n probabilities, :math:`k = \lfloor (1 - \text{coverage}) (n + 1)
        \rfloor` (Sadinle, Lei and Wasserman 2019, *JASA* 114, 223-234). This is the jackknife, with exact
        leave-one-out, and approximates full conformal prediction without its guarantee (Vovk, Gammerman and Shafer
        2005, *Algorithmic Learning in a Random World*; Barber, Candès, Ramdas and Tibshirani 2021, *Annals of
        Statistics* 49, 486-507). New rows must come from where the fitted ones came from.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> beaks = X[["bill_depth_mm"]]
        >>> posterior = nb.fit(nb.Gaussian(), beaks, y)
        >>> posterior.predict_set(beaks[:2], fitted=(beaks, y))
        array([[ True,  True, False],
               [ True, False, False]])
        """
        from bayesnb.posterior.prediction_sets import INSTEAD, scores_of_rows

        if not (isinstance(fitted, tuple) and len(fitted) in (2, 3)):
            raise TypeError(f"fitted is {a_type(fitted)}: give the rows of the fit, (X, y) or (X, y, sample_weight)")
        exact = require(self, "a closed form", "predict_set", INSTEAD)
        rows = labelled_rows(*fitted, classes=self.classes)
        warn_of_lost_weights(self, fitted[2:] or None, len(rows))
        scores = scores_of_rows(exact, rows, rows.weights)
        proba = proba_in_memory(self, X)
        return scores.sets(proba, self.classes, coverage, by_class=by_class, empty=empty)

    def simulate(
        self, num_rows: int = 100, *, like: Any = None, key: Any = 0, total_count: Any = None
    ) -> tuple[Any, np.ndarray]:
        """New rows and labels from the posterior predictive distribution.

        Each row has its own draw of the parameters, so that rows are independent draws of p(x, y | data). Cells of a
        `PolyaTree` or `Histogram` of a column on a lattice, such as grades, are values of it, within its range.

        Parameters
        ----------
        num_rows : int, default 100
        like : table, optional
            The data. Of each column of measurements in which a value occurs twice, new cells are then moved to the
            nearest number of its lattice (multiples of its smallest step, such as whole years) between its smallest and
            its largest value. Without it, a family such as `Gaussian` knows no lattice. With few rows its predictive
            distribution is a Student's t of few degrees of freedom, whose variance may be infinite.
        key : int or JAX key, default 0
        total_count : int or array of shape (rows,), optional
            Total of each count vector; by default the mean total of the data. For totals like those of the data, draw
            from them: ``total_count=rng.choice(X.sum(axis=1), num_rows)``.

        Returns
        -------
        tuple
            The table (a pandas frame where the columns have names, else an array) and the labels.
        """
        from bayesnb.posterior.new_rows import new_rows

        return new_rows(self, whole_number("num_rows", num_rows), like, random_generator(key), total_count)

    @warns_once
    def to_datatree(
        self,
        X: Any = None,
        y: Any = None,
        *,
        predictions: Any = None,
        predictive: Collection[str] = ("y",),
        num_chains: int | None = None,
        num_draws: int | None = None,
        key: Any = 0,
    ) -> Any:
        """The posterior as an ``xarray.DataTree`` in ArviZ's groups.

        Parameters
        ----------
        X : table, shape (rows, columns), optional
        y : labels of shape (rows,) or str, optional
            With both, the tree also has the groups that need data.
        predictions : table, shape (new rows, columns), optional
            Rows without labels, for the group of that name.
        predictive : {("y",), ("y", "columns")}, default ("y",)
            With ``"columns"``, each column of the model is in ``observed_data``, ``posterior_predictive`` and
            ``prior_predictive``, for ArviZ's predictive plots. Each draw is a table as large as the data: take few.
        num_chains, num_draws : int, optional
            As for `Posterior.draws`. Exact draws come in chains, like NUTS's, so that ArviZ treats both alike.
        key : int or JAX key, default 0

        Returns
        -------
        xarray.DataTree
            Always: ``posterior`` and ``prior``, with the dimensions chain, draw, class, ``<block>_column`` and
            ``<column>_category``, all labelled; ``log_prior``, the log prior density of each site at the posterior's
            draws. Of a sampled posterior: ``sample_stats``. With data: ``observed_data`` (``y`` as positions among the
            classes, whose labels are in its attributes), ``constant_data`` (the features that are numbers),
            ``log_likelihood`` with two variables, of which ``arviz.loo`` takes one (``var_name="y"``, log
            p(y | x, theta), to judge the classifier; ``var_name="joint"``, log p(x, y | theta), to judge the model of
            features and labels together), ``posterior_predictive`` and ``prior_predictive`` with labels ``y`` drawn
            given each row's features. With ``"columns"``: cells drawn given each row's label and totals of count
            vectors, without those that are missing in X; of categories codes. With `predictions`: drawn labels ``y``
            and class probabilities ``proba`` of the new rows. Of a posterior with weights of features
            ``log_likelihood`` has no ``y``, and its ``joint`` is without weights; the attribute ``weights`` says what
            else.

        Raises
        ------
        ValueError
            If the posterior is a point, which has no draws; if one of X and y comes without the other; or if
            `predictive` is another, or names columns and there are no data.
        """
        from bayesnb.posterior.datatree import tree_of_draws

        if isinstance(predictive, str) or not {"y"} <= {*predictive} <= {"y", "columns"}:
            raise ValueError(f'predictive is {predictive!r}: give ("y",) or ("y", "columns")')
        if X is None and "columns" in predictive:
            raise ValueError("predictive names columns, whose draws are compared with data: give X and y")

        if (X is None) != (y is None):
            raise ValueError("X and y come together: log p(y | x, theta) needs both")
        return tree_of_draws(self, X, y, predictions, predictive, num_chains, num_draws, key)

    def save(self, path: Any, *, scorer: bool | None = None) -> None:
        """Write the posterior to a netCDF file, which `bayesnb.load` and ``xarray.open_datatree`` read.

        The file holds the model as JSON text and its numbers as float64 arrays, so that the posterior that `load`
        returns predicts bit for bit the same. Rows without a label are in the file as they were given. The file is put
        in its place in one step when it is whole: no error and no other process that saves there leaves a part of a
        file. It ends with a checksum of all its bytes, which `load` compares.

        Parameters
        ----------
        path : path-like
            A file of this name is replaced.
        scorer : bool, optional
            Whether the file has the flat form too, with which `bayesnb.serve.load` predicts; by default if there is one
            of at most 16 MB.

        Raises
        ------
        ImportError
            Without h5py, the extra ``bayesnb[io]``.
        OSError
            If the folder does not exist (FileNotFoundError) or may not be written to (PermissionError), the disk is
            full, or the path names a folder or a device. What was at the path is unchanged.
        TypeError
            If a label or the name of a column is neither text, number, boolean, date, time nor a tuple of these, or the
            inference is a class of your own: save the posterior of its draws that `from_samples` gives.
        ValueError
            If a flat form is asked for and there is none, as of draws and counts of words.
        """
        from bayesnb.posterior.files import save, scorer_bytes

        save(path, self, scorer=scorer_bytes(self, scorer))

    @property
    def log_evidence(self) -> float:
        """Log density of the data, all parameters integrated out.

        Count vectors are described given their totals. Evidences compare models of the same data in the same form only.

        It depends on the model and its data only, so that every inference of the same problem gives the same number.
        For a maximum likelihood estimate, too, it is the evidence under the model's priors.

        Raises
        ------
        ValueError
            If there are no data, or a family has no closed form.
        """
        problem = require(self, "data", "log_evidence").generative.problem
        if not problem.model.conjugate:
            families = problem.model.families
            names = [family.family_name for family in families if not isinstance(family, ConjugateFamily)]
            raise ValueError(
                f"log_evidence is known in closed form for conjugate families only, not for {names}: "
                "nb.compare_models compares models by leave-one-out, too"
            )
        problem.require_numbers()
        return problem.log_evidence

    def update(self, X: Any, y: Any, *, sample_weight: Any = None, decay: float = 1.0, key: Any = 0) -> Self:
        """The posterior with more data, the same as a fit to all of them together.

        Closed forms and point estimates are exact in the statistics; a sampled posterior is sampled anew from the
        merged statistics with the same settings. Defaults that follow the data's scale follow all the data. Weights of
        features (`WeightedPosterior`) learn on: the rows are predicted before they are added, and no row is forgotten.

        A category that only the new rows show becomes the last of its column, with the prior and the counts that a fit
        to all rows would have had. If the model lists the categories, or was bound to a table before the fit, no
        category is added, and another value counts as a missing cell, with a warning, as in a fit to all rows. With
        ``Categorical(other=True)`` a new value counts as "other"; a fit to all rows would have given it a category of
        its own.

        Parameters
        ----------
        X : table, shape (rows, columns)
            In memory or elsewhere, as for `fit`.
        y : labels of shape (rows,) or str
        sample_weight : array, shape (rows,), optional
            Of a lazy table the name of its column.
        decay : float, default 1.0
            Factor for the weight of the data so far, above 0 and at most 1: their statistics are multiplied by it
            before the new ones are added, so that a row has the weight ``decay**age``, with its age in updates. The
            weight of the prior does not change. With batches of n rows, the total weight tends to n / (1 - decay).
        key : int or JAX key, default 0
            For posteriors that are sampled.

        Raises
        ------
        TypeError, ValueError
            If the data do not fit the model; if they contain a new category and the prior has one concentration for
            each known category, and therefore none for a new one; or if the decay is outside its range.

        Examples
        --------
        >>> import bayesnb as nb
        >>> posterior = nb.fit(nb.Categorical(), [["red"], ["blue"]], ["a", "b"])
        >>> posterior.update([["green"]], ["a"]).mean()["0_prob"].round(2)
        array([[0.2 , 0.4 , 0.4 ],
               [0.5 , 0.25, 0.25]])
        >>> together = nb.fit(nb.Categorical(), [["red"], ["blue"], ["green"]], ["a", "b", "a"])
        >>> together.mean()["0_prob"].round(2)
        array([[0.2 , 0.4 , 0.4 ],
               [0.5 , 0.25, 0.25]])
        """
        problem, counted = self._count("update", X, y, sample_weight)
        return self.inference.fit(problem.add(counted, decay=decay), key=key)

    def forget(self, X: Any, y: Any, *, sample_weight: Any = None, key: Any = 0) -> Self:
        """The posterior after rows are removed from its data, the same as a fit to the remaining rows.

        No class and no category is removed. Weights of features stay as they are.

        Parameters
        ----------
        X : table, shape (rows, columns)
        y : labels of shape (rows,) or str
        sample_weight : array, shape (rows,), optional
            The weight that the rows have now: their first weight, times `decay` for each later update.
        key : int or JAX key, default 0
            For posteriors that are sampled.

        Raises
        ------
        ValueError
            If these rows cannot have been among the data.
        """
        problem, counted = self._count("forget", X, y, sample_weight)
        return self.inference.fit(problem.take_away(counted), key=key)

    def _count(self, verb: str, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, ModelStatistics]:
        """As `count_more`; an error if a new fit is impossible."""
        problem = require(require(self, "data", verb), "a sampler to run again", verb).problem
        problem.require_labels(verb, "fit all the rows again, nb.fit(model, X, y, ...)")
        if is_elsewhere(X, y):
            return count_more_elsewhere(problem, table_elsewhere(X, y, sample_weight))
        return count_more(problem, X, y, sample_weight)

    def _parts(self) -> list[Piece]:
        parameters = parameters_by_class(self.model, self.belief.moments)
        if not offers(self, "a distribution of the parameters"):
            return [*self._title(), *parameters]
        _, prior = self.model.description.story(FEATURES_OF_PRIOR)
        return [*self._title(), Paragraph("Posterior, mean ± sd:"), *parameters, Paragraph("Prior:"), prior]

    def _title(self) -> list[Piece]:
        """What the posterior is, and how it was made."""
        rows, labels = "", self.classes.tolist()
        if self.problem is not None:
            weight, unlabelled = float(self.problem.statistics.classes.n.sum()), self.problem.unlabelled
            rows = f"{weight:g} row{'s' * (weight != 1)}, "
            rows += "" if unlabelled is None else f"{unlabelled.weights.sum():g} without a label, "
        shown = str(labels) if len(labels) <= 10 else f"{str(labels[:8])[:-1]}, ... ({len(labels)} in all)]"
        heading = Heading(f"{type(self).__name__}: {rows}classes {shown}")
        return [heading, Paragraph(self.belief.details)] if self.belief.details else [heading]


def warn_of_lost_weights(posterior: Posterior, sample_weight: Any, num_rows: int) -> None:
    """Warn if rows of the fit had weights and rows that are given again have none."""
    if sample_weight is None and posterior.problem is not None and posterior.problem.weighted:
        total = float(np.sum(posterior.problem.statistics.classes.n))
        warn(
            f"the rows of the fit had weights, {total:.12g} in total, and these {num_rows} rows have none: if they are "
            "those of the fit, give their weights again, sample_weight=...; if they are others, sample_weight="
            "numpy.ones(len(X)) says so",
            UserWarning,
        )
