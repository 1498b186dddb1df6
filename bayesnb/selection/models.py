"""Models compared, and their picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from bayesnb.core.checking import a_type, warns_once
from bayesnb.core.forest import ForestPanel, Points, forest, how_many
from bayesnb.core.printing import DataTable, Heading, Paragraph, Piece, Printed, plus_minus_of
from bayesnb.data.read import Rows, read_rows, split_labels
from bayesnb.families.family import Family
from bayesnb.families.hyperparameters import kind_of_density, support_of
from bayesnb.inference.exact import Exact
from bayesnb.inference.fit import fit
from bayesnb.model.naive_bayes import Model
from bayesnb.model.problem import Problem, has_closed_form
from bayesnb.posterior.belief import offers, require
from bayesnb.posterior.kinds import posterior_of
from bayesnb.posterior.loo import elpd_and_remarks, sum_with_error
from bayesnb.posterior.posterior import Posterior
from bayesnb.posterior.weighted_posterior import with_weights_of


@dataclass(frozen=True, repr=False)
class ModelComparison(Printed):
    """The result of `compare_models`.

    Attributes
    ----------
    table : pandas.DataFrame
        A row per model, the best first: ``log_evidence``; ``model_probability``, posterior; ``elpd``, the leave-one-out
        log score of the labels, with its standard error ``elpd_se``; ``elpd_difference``, the model's minus the
        highest one, with the standard error of paired rows ``elpd_difference_se``; ``prior_saw``, what the numbers of
        the prior were taken from: ``"labels"`` (``class_probs="empirical"``), ``"scale"`` (defaults that follow the
        data's scale), ``"maximised"`` (`EmpiricalBayes`), several of them, or nothing.
    prior : pandas.Series
        Prior probability of each model.
    loo : dict
        ArviZ's ELPDData of each model, for ``arviz.compare``.
    notes : tuple of str
        Reasons why a number is missing or needs care.

    See Also
    --------
    compare_models : Probabilities and scores of several models.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> size = X[["bill_length_mm", "body_mass_g"]]
    >>> found = nb.compare_models({"normal": nb.Gaussian(), "log-normal": nb.LogNormal()}, size, y)
    >>> found.table["model_probability"].round(3)
    model
    log-normal    0.974
    normal        0.026
    Name: model_probability, dtype: float64
    """

    table: pd.DataFrame
    prior: pd.Series
    loo: dict[Any, Any]
    notes: tuple[str, ...]

    def plot(
        self,
        *,
        panels_across: int | None = None,
        axes: Any = None,
        figsize: Any = None,
    ) -> Any:
        """Posterior probability of each model, and its leave-one-out score relative to the best one.

        Parameters
        ----------
        panels_across, axes, figsize
            Panels side by side, the axes to draw in, or the size of a new figure: see `plot_densities`.

        Returns
        -------
        matplotlib.figure.Figure
            The first panel has the posterior probability as a point and as a number, with the prior one as a stroke.
            The second one has the difference of elpd to the highest, with one standard error of the paired difference
            to either side. Without probabilities there is the second panel only. Unknown values are not drawn.

        See Also
        --------
        compare_models : Probabilities and scores of several models.

        Examples
        --------
        >>> import bayesnb as nb
        >>> X, y = nb.datasets.penguins()
        >>> models = {"Gaussian": nb.Gaussian(), "log-normal": nb.LogNormal()}
        >>> figure = nb.compare_models(models, X[["bill_length_mm", "body_mass_g"]], y).plot()
        """
        table = self.table
        names = [str(name) for name in table.index]
        probability, difference, se = (
            table[name] for name in ("model_probability", "elpd_difference", "elpd_difference_se")
        )
        number = how_many(len(table), len(table), "model", "")
        scores = ForestPanel(
            names,
            [Points(difference, filled=False)],
            difference - se,
            difference + se,
            "one standard error to either side",
            x_label="leave-one-out log score, difference to the highest",
            at=0.0,
        )
        if probability.isna().all():
            title, rows = f"Predictions of {number} (right is better); their probabilities are not comparable", [scores]
        else:
            numbers = ["" if pd.isna(value) else f": {value:.3f}" for value in probability]
            marks = [Points(self.prior[table.index], "prior", "|", "B1"), Points(probability, "posterior")]
            names = [f"{name}{number}" for name, number in zip(names, numbers, strict=True)]
            title = f"Probabilities and predictions of {number} (right is better)"
            rows = [ForestPanel(names, marks, x_label="probability of the model", limits=(-0.03, 1.03)), scores]
        return forest(rows, title=title, panels_across=panels_across, axes=axes, figsize=figsize)

    def _parts(self) -> list[Piece]:
        # Adding zero removes the sign of a negative zero.
        table = self.table.assign(**self.table.select_dtypes("number").drop(columns="model_probability").round(2) + 0.0)
        shown = pd.DataFrame(
            {
                "log_evidence": table["log_evidence"].map("{:.2f}".format),
                "probability": table["model_probability"].map("{:.3g}".format),
                "elpd": plus_minus_of(table["elpd"], table["elpd_se"]),
                "elpd_diff": plus_minus_of(table["elpd_difference"], table["elpd_difference_se"]),
                "prior_saw": table["prior_saw"],
            }
        )
        heading = Heading("Models, the best first; leave-one-out scores ± standard errors:")
        return [heading, DataTable(shown, rows=len(shown)), *map(Paragraph, self.notes)]


@warns_once
def compare_models(
    models: Mapping[Any, Any],
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    prior: Mapping[Any, float] | None = None,
) -> ModelComparison:
    r"""Evidence, posterior probability and leave-one-out score of models of the same data.

    The evidence :math:`p(D \mid M)`, all parameters integrated out, measures how well a model with its prior predicts
    features and labels without data; the posterior probability of a model is proportional to the evidence times the
    prior one (Murphy 2012, section 5.3). The leave-one-out score measures how well it predicts labels from features and
    all other rows (`loo`). The two may disagree.

    Parameters
    ----------
    models : mapping from name to posterior, fitted estimator or model
        Posteriors or estimators fitted to X and y, or models to fit: `NaiveBayes`, `BoundModel` or a family.
    X : table, shape (rows, columns)
    y : labels of shape (rows,) or str
    sample_weight : array, shape (rows,), optional
    prior : mapping from name to float, optional
        Prior probability of each model, by default equal.

    Returns
    -------
    ModelComparison
        Models whose families are all conjugate are compared in closed form, for every inference that made the
        posterior.

    Raises
    ------
    TypeError
        If an entry is neither a posterior, nor a fitted estimator, nor a model.
    ValueError
        If there are fewer than two models, a posterior was fitted to other data than X and y, or the prior is not a
        probability for each model.

    See Also
    --------
    ModelComparison : The result.
    loo : Leave-one-out cross-validation, for ArviZ.

    Notes
    -----
    Evidences are compared if they are densities of the same data, under priors that took the same numbers from the
    data. Otherwise ``model_probability`` is NaN, a note says why, and the models are ordered by ``elpd``:

    - Models that read different columns, or the same column as a measurement and as a category, have no common scale.
      Nor have models of which one counts missing cells as values (`AllTrees`, and `Given` those of the parent), or
      that divide a column into other bins.
      To find out whether a column is useful, keep it in both models, in one of them with ``feature_inclusion`` zero.
    - A prior whose numbers were taken from the data gives the data a higher density. Evidences of such models are
      compared only if ``prior_saw`` is the same, and never if it contains ``"maximised"``, since a maximum
      rises with every hyperparameter that is learned.
    - Class priors that differ change the evidence of the labels, whatever the features are.

    Leave-one-out takes frequencies and defaults from the other rows (`loo`), so that ``elpd`` compares all models
    except the maximised ones. Models without a closed form have no evidence here, and leave-one-out by importance
    sampling if they were sampled. `kfold` scores every model with every inference, so that such models can be compared
    with the others.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = nb.datasets.penguins()
    >>> size = X[["bill_length_mm", "body_mass_g"]]
    >>> found = nb.compare_models({
    ...     "both": nb.NaiveBayes(nb.Gaussian()),
    ...     "bill alone": nb.NaiveBayes(nb.Gaussian(), feature_inclusion=[1.0, 0.0]),
    ... }, size, y)
    >>> found.table["model_probability"].round(3).to_dict()
    {'both': 1.0, 'bill alone': 0.0}
    """
    if not isinstance(models, Mapping):
        raise TypeError(
            f"models is {a_type(models)}: give a mapping from names to posteriors or models, such as "
            'nb.compare_models({"one": posterior, "other": other}, X, y)'
        )
    if len(models) < 2:
        raise ValueError(f"there are {len(models)} models: give at least two to compare")
    prior_probs = _read_prior(prior, list(models))
    X, y = split_labels(X, y)
    rows = read_rows(X, y, sample_weight)
    posteriors = {name: _fitted(name, given, rows, y) for name, given in models.items()}
    (first, reference), *others = posteriors.items()
    for name, posterior in others:
        if set(posterior.classes.tolist()) != set(reference.classes.tolist()):
            raise ValueError(
                f"{first!r} has the classes {reference.classes.tolist()}, {name!r} {posterior.classes.tolist()}: "
                "models of the same labels have the same classes; see classes= of nb.fit"
            )
    notes: list[str] = []
    problems = {
        name: require(posterior, "data", "compare_models").problem.described_once
        for name, posterior in posteriors.items()
    }
    scores = {name: _model_score(name, posterior, rows, notes) for name, posterior in posteriors.items()}
    known = {name: score for name, score in scores.items() if score is not None}
    evidence = pd.Series(
        {name: _evidence(name, posterior, problems[name], notes) for name, posterior in posteriors.items()}
    )
    columns = {
        "log_evidence": evidence,
        "model_probability": _model_probabilities(problems, evidence, prior_probs, notes),
        "elpd": pd.Series({name: score.elpd for name, score in known.items()}, dtype=np.float64),
        "elpd_se": pd.Series({name: score.se for name, score in known.items()}, dtype=np.float64),
    }
    for name, posterior in posteriors.items():
        if name not in known or np.isnan(evidence[name]):
            made_by = "NUTS" if posterior.inference is None else type(posterior.inference).__name__
            call = f"nb.kfold(model, X, y, inference=nb.{made_by}())"
            notes.append(f"{name}: {call} scores its predictions of rows that it was not fitted to.")
    table = pd.DataFrame(columns, index=pd.Index(list(models), name="model")).join(_score_differences(known))
    table = table.assign(
        prior_saw=pd.Series({name: ", ".join(problem.prior_saw) for name, problem in problems.items()})
    )
    best_first = ["elpd", "log_evidence"] if table["model_probability"].isna().any() else ["log_evidence", "elpd"]
    return ModelComparison(
        table=table.sort_values(best_first, ascending=False, kind="stable"),
        prior=prior_probs,
        loo=known,
        notes=tuple(notes),
    )


def _read_prior(prior: Any, names: list[Any]) -> pd.Series:
    if prior is None:
        return pd.Series(1 / len(names), index=names)
    if not hasattr(prior, "items"):
        raise TypeError(f"prior is {prior!r}: give a mapping from the models' names to probabilities")
    given = dict(prior.items())
    if set(given) != set(names):
        raise ValueError(f"prior names {list(given)}, the models are {names}")
    probs = np.array([given[name] for name in names], dtype=np.float64)
    if not (probs >= 0).all() or not np.isclose(probs.sum(), 1.0, rtol=0, atol=1e-8):
        raise ValueError(f"prior is {given}: give probabilities that add up to one")
    return pd.Series(probs, index=names)


def _fitted(name: Any, given: Any, rows: Rows, y: Any) -> Posterior:
    """The posterior of the rows; one that was fitted to other data is an error."""
    if isinstance(given, Model | Family):
        return fit(given, rows.table, y, sample_weight=rows.weights)
    given = posterior_of(given, repr(name))
    if given.problem is None:
        raise ValueError(
            f"{name!r} was given its parameters or draws without data, so that its data are unknown: use "
            "nb.fit(model, X, y)"
        )
    try:
        counted = given.problem.model.count_labelled(rows.counting().of_classes(given.classes))
    except ValueError as error:
        raise ValueError(f"{name!r} was fitted to other data than X and y: {error}") from error
    if not counted.same_rows(given.problem.statistics):
        theirs, mine = (statistics.classes.n for statistics in (given.problem.statistics, counted))
        weights = f"rows by class {theirs.tolist()} there, {mine.tolist()} here"
        reason = weights if not np.allclose(theirs, mine) else "the statistics of its features differ"
        raise ValueError(f"{name!r} was fitted to other data than X and y ({reason}): fit all models to the same")
    return given


def _evidence(name: Any, posterior: Posterior, problem: Problem, notes: list[str]) -> float:
    if not has_closed_form(problem.model):
        reason = "which has a closed form for conjugate families with given priors only"
    elif posterior.feature_weights is not None:
        reason = "because that of the model without weights of features is not its own"
    elif _has_given_draws(posterior):
        reason = "because draws from elsewhere may have another prior than the model; nb.fit(model, X, y) has one"
    else:
        return problem.log_evidence
    notes.append(f"{name}: no evidence, {reason}.")
    return float("nan")


def _has_given_draws(posterior: Posterior) -> bool:
    """Whether the draws are those of no inference of the package, and perhaps of another prior than the model's."""
    return posterior.inference is None


def _model_score(name: Any, posterior: Posterior, rows: Rows, notes: list[str]) -> Any:
    problem = require(posterior, "data", "compare_models").problem
    if has_closed_form(problem.model) and not _has_given_draws(posterior):
        posterior = with_weights_of(posterior, Exact().fit(problem))
    if not offers(posterior, "a distribution of the parameters"):
        notes.append(f"{name}: no leave-one-out, because a point estimate leaves no posterior to take a row from.")
        return None
    score, remarks = elpd_and_remarks(posterior, rows.of_classes(posterior.classes))
    notes += [f"{name}: {remark}." for remark in remarks]
    return score


def _model_probabilities(
    problems: Mapping[Any, Problem], evidence: pd.Series, prior: pd.Series, notes: list[str]
) -> pd.Series:
    reason = _why_not_comparable(problems, evidence)
    if reason:
        notes.append(f"No model probabilities: {reason}.")
        return pd.Series(np.nan, index=evidence.index)
    with np.errstate(divide="ignore"):
        return pd.Series(softmax(evidence + np.log(prior)), index=evidence.index)


def _why_not_comparable(problems: Mapping[Any, Problem], evidence: pd.Series) -> str:
    """Why the models' evidences give no model probabilities, in words; empty if they do."""
    (first, reference), *others = problems.items()
    for name, problem in others:
        difference = _difference_of_form(reference, problem)
        if difference:
            return (
                f"{first} and {name} describe different data, {difference}, so that their evidences have no common "
                "scale"
            )
    if evidence.isna().any():
        return "they need every model's evidence"
    for name, problem in problems.items():
        if "maximised" in problem.prior_saw:
            return (
                f"nb.EmpiricalBayes chose hyperparameters of {name} so that its evidence is the highest, and a "
                "maximum is not the evidence of a prior. Give numbers"
            )
    for name, problem in others:
        if problem.prior_saw != reference.prior_saw:
            seen = (
                f"{' and '.join(SEEN[what] for what in each.prior_saw) or 'nothing'} for {whose}"
                for whose, each in ((first, reference), (name, problem))
            )
            return (
                f"the priors have seen different parts of the data ({'; '.join(seen)}), and a prior that "
                "takes numbers from the data has a higher evidence. Compare by elpd, or give numbers"
            )
        if _class_prior_values(problem) != _class_prior_values(reference):
            return (
                f"the class priors of {first} and {name} differ, so that the evidences of the labels differ. "
                "Compare by elpd, or give one class prior to all"
            )
    return ""


SEEN = {"labels": "the frequencies of the labels", "scale": "the scale of the columns"}
"""What a prior has seen of the data, in words."""


def _class_prior_values(problem: Problem) -> dict[Any, tuple[bool, float]]:
    """For each class whether its probability is known, and the probability or its concentration, to twelve digits."""
    prior = problem.resolved.class_prior
    known = prior.probs is not None
    numbers = np.asarray(prior.probs if known else prior.concentration)
    classes = problem.model.schema.classes.tolist()
    return {label: (known, float(f"{number:.12g}")) for label, number in zip(classes, numbers, strict=True)}


def _difference_of_form(one: Problem, other: Problem) -> str:
    """The difference between the data that two models describe, in words; empty if they describe the same data."""
    mine, theirs = _density_forms(one), _density_forms(other)
    schemas = [problem.model.schema for problem in (one, other)]
    sizes = [
        {schema.columns[position]: len(categories) for position, categories in schema.categories.items()}
        for schema in schemas
    ]
    in_bins = {schema.columns[position] for schema in schemas for position in schema.edges}
    for column in mine.keys() & theirs.keys() & in_bins:
        for form, own in zip((mine, theirs), sizes, strict=True):
            form[column] += f" of {own.get(column, 0)} values"
    for column in mine | theirs:
        if mine.get(column) != theirs.get(column):
            left, right = (form.get(column, "not in the model") for form in (mine, theirs))
            return f"column {column!r} ({left}, and {right})"
    return ""


def _density_forms(problem: Problem) -> dict[Any, str]:
    """The form in which a model describes each column, by name, in the order of the table."""
    found: dict[int, str] = {}
    for block, lacking in zip(problem.model.blocks, problem.left_out_rows, strict=True):
        kind = kind_of_density(support_of(block.family))
        if block.has_totals:
            kind = f"given the total of {len(block.columns)} counts"
        if lacking:
            kind += f" without {lacking:.6g} rows that lack a cell of block {block.name!r}"
        found |= dict.fromkeys(block.described, kind)
    for column, number in problem.missing_as_values.items():
        found[column] += f" with {number:.6g} missing cells as values"
    return {problem.model.schema.columns[position]: found[position] for position in sorted(found)}


def _score_differences(scores: Mapping[Any, Any]) -> pd.DataFrame:
    """Each model's score minus the highest, with the standard error of the sum of paired differences."""
    by_row = {name: np.asarray(score.elpd_i) for name, score in scores.items()}
    best = max(scores, key=lambda name: scores[name].elpd, default=None)
    with np.errstate(invalid="ignore"):  # a label of probability zero
        rows = {name: sum_with_error(elpd - by_row[best]) for name, elpd in by_row.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["elpd_difference", "elpd_difference_se"])
