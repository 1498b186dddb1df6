"""Posteriors as draws."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from bayesnb.core.arrays import in_float64, log, to_numpy
from bayesnb.model.blocks import CLASS_SITE, ModelParameters, Prior
from bayesnb.model.bound import BoundModel
from bayesnb.model.problem import Problem
from bayesnb.posterior.density import Integrated, MeanOfClosedForms, MeanOverDraws, RowDensity
from bayesnb.posterior.diagnostics import Diagnostics, diagnose
from bayesnb.posterior.draws import Fitting
from bayesnb.posterior.exact import SpreadPosterior
from bayesnb.posterior.parameters import DrawnValues

__all__ = ["CollapsedPosterior", "SampledPosterior"]

# --------------------------------------------------------------------------------------------------
# Draws from the posterior
# --------------------------------------------------------------------------------------------------


class SampledPosterior(SpreadPosterior):
    """The posterior as draws, by NUTS or by any other sampler.

    Attributes
    ----------
    parameters : ModelParameters
        The draws, leading axes (chain, draw).
    sample_stats : dict
        The sampler's statistics, arrays of shape (chain, draw), in ArviZ's names. Draws of another sampler have those
        that came with them.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    from_samples : A posterior from draws of another sampler.
    compare : Whether samples agree with the closed form.

    Examples
    --------
    >>> import bayesnb as nb
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    >>> draws = nb.fit(nb.Bernoulli(), X, y).draws(num_draws=500)
    >>> posterior = nb.from_samples(nb.Bernoulli(), draws, X=X, y=y)
    >>> posterior.num_draws
    500
    """

    def __init__(
        self,
        problem: Problem | None,
        model: BoundModel,
        parameters: ModelParameters,
        sample_stats: dict[str, np.ndarray],
        inference: Fitting | None,
    ) -> None:
        self.problem = problem
        self.model = model
        pairs = zip(model.families, parameters.blocks, strict=True)
        self.parameters = replace(parameters, blocks=tuple(dict(family.on_a_line(block)) for family, block in pairs))
        self._sample_stats = sample_stats
        self.inference = inference

    @property
    def sample_stats(self) -> dict[str, np.ndarray]:
        return self._sample_stats

    @property
    def num_chains(self) -> int:
        """Number of chains."""
        return self.parameters.class_prob.shape[0]

    @property
    def num_draws(self) -> int:
        """Number of draws in each chain."""
        return self.parameters.class_prob.shape[1]

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """R-hat, effective sample sizes and divergences of the draws."""
        known = () if self.model.class_probs is None else (CLASS_SITE,)
        # Samplers of the package that report no divergence have no trajectories.
        stats = self.sample_stats if self.inference is None else {"diverging": np.zeros(1), **self.sample_stats}
        return diagnose(self.draws(), stats, known, self.model.sites.scalar_labels())

    @property
    def density(self) -> MeanOverDraws:
        return MeanOverDraws.of(self.model, self.parameters)

    def class_probs(self) -> np.ndarray:
        return self.parameters.class_prob.mean(axis=(0, 1))

    @property
    def distribution(self) -> DrawnValues:
        return DrawnValues(self.model, self.parameters, lambda: self.diagnostics)

    _library = "numpyro"

    def _stats_of_draws(self, num_chains: int | None, num_draws: int | None) -> dict[str, np.ndarray]:
        kept = self.distribution.kept(num_draws)
        return {name: value[:num_chains, kept] for name, value in self.sample_stats.items()}

    def _details(self) -> str:
        return f"{self.num_chains} chains of {self.num_draws} draws ({self.diagnostics})"


# --------------------------------------------------------------------------------------------------
# Draws of hyperparameters, and the closed form given each of them
# --------------------------------------------------------------------------------------------------

MIXTURE = 400
"""Number of draws of the hyperparameters over which predictions average closed forms. More draws take longer and remove
little Monte Carlo error, because the closed form has removed most of it."""


class CollapsedPosterior(SampledPosterior):
    """The posterior under learned hyperparameters: draws of these, and the closed form given each.

    Its draws of the parameters are exact given the draws of the hyperparameters. It predicts with the closed forms
    themselves, averaged over up to 400 evenly spaced draws of the hyperparameters (Rao-Blackwell), which has far less
    Monte Carlo error than an average over draws of all the parameters.

    See Also
    --------
    NUTS : Draws by the no-U-turn sampler.
    SampledPosterior : The posterior as draws.
    EmpiricalBayes : Hyperparameters that maximise the evidence.

    Examples
    --------
    >>> import bayesnb as nb
    >>> import numpyro.distributions as dist
    >>> X, y = [[2], [0], [1], [7], [5], [9]], ["a", "a", "a", "b", "b", "b"]
    >>> model = nb.NaiveBayes(nb.Poisson(dist.Gamma(2.0, 1.0), 1.0))
    >>> posterior = nb.fit(model, X, y, nb.NUTS(num_samples=500))
    >>> type(posterior).__name__
    'CollapsedPosterior'
    >>> posterior.predict([[8]])
    array(['b'], dtype='<U1')
    """

    problem: Problem

    @cached_property
    def density(self) -> MeanOverDraws:
        """The density of encoded rows together with each class, the parameters integrated out."""
        of_draws = MeanOverDraws.of(self.model, self.parameters)
        forms = RowDensity(log(self._forms.classes.mean()), [Integrated(family) for family in self._forms.families])
        return MeanOfClosedForms(of_draws.log_class_prob, of_draws.blocks, forms)

    def class_probs(self) -> np.ndarray:
        return np.asarray(self._forms.classes.mean()).mean(axis=0)

    @cached_property
    @in_float64
    def _forms(self) -> Prior:
        """The closed form given each draw of the hyperparameters, axis of the draws first."""
        return to_numpy(self.model.learned.given(self._mixture()).update(self.problem.statistics))

    def _mixture(self) -> dict[str, np.ndarray]:
        """Evenly spaced draws of the hyperparameters, at most `MIXTURE` of them."""
        flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in self.parameters.hyperparameters.items()}
        number = len(next(iter(flat.values())))
        kept = np.linspace(0, number - 1, min(number, MIXTURE)).round().astype(int)
        return {name: value[kept] for name, value in flat.items()}
