"""The data of a fit: their evidence, and posteriors given more or fewer data."""

from typing import Any, Protocol, Self

from bayesnb.families.conjugate import ConjugateFamily
from bayesnb.growth import count_more
from bayesnb.problem import Problem

__all__ = ["DataOfFit", "Fitting"]


class Fitting(Protocol):
    """The interface of the inference that a posterior keeps, to run it again on other statistics."""

    def fit(self, problem: Problem, *, key: Any) -> Any:
        """Condition the problem's model on its data.

        The class of the posterior depends on the model only, so that `update` and `forget` return the class they are
        called on.
        """


class DataOfFit:
    """The evidence of the data, and posteriors given more or fewer data.

    A subclass sets `problem` and `inference`. Where they are None, the methods raise errors.
    """

    problem: Problem | None
    inference: Fitting | None

    def require_data(self, verb: str) -> Problem:
        """The model and the statistics of its data.

        Parameters
        ----------
        verb : str
            What needs the data, for the error.

        Returns
        -------
        Problem

        Raises
        ------
        ValueError
            If the parameters were given without data.
        """
        if self.problem is None:
            raise ValueError(f"{verb} needs data: these parameters were given, not fitted; use nb.fit(model, X, y)")
        return self.problem

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
        problem = self.require_data("log_evidence")
        if not problem.conjugate:
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
        y : labels of shape (rows,) or str
        sample_weight : array, shape (rows,), optional
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
        problem, inference = self._require_fit("update")
        problem, counted = count_more(problem, X, y, sample_weight)
        learned = self.learned(X, y, sample_weight=sample_weight, key=key)
        return learned.weighing(inference.fit(problem.add(counted, decay=decay), key=key))

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
        problem, inference = self._require_fit("forget")
        problem, counted = count_more(problem, X, y, sample_weight)
        return self.weighing(inference.fit(problem.take_away(counted), key=key))

    def learned(self, X: Any, y: Any, *, sample_weight: Any = None, key: Any = 0) -> Any:
        """The posterior before more rows, with the weights of features after them; itself if it has none."""
        return self

    def weighing(self, posterior: Any) -> Any:
        """Another posterior of the same features with the weights of this one; itself if this one has none."""
        return posterior

    def _require_fit(self, verb: str) -> tuple[Problem, Fitting]:
        """The problem and the inference; an error if a new fit is impossible."""
        problem = self.require_data(verb)
        if self.inference is None:
            raise ValueError(
                f"{verb} would need the sampler that made these draws: run it again on the new data and give its "
                "draws to nb.from_samples, or use nb.fit(model, X, y)"
            )
        problem.require_labels(verb, "fit all the rows again, nb.fit(model, X, y, ...)")
        return problem, self.inference
