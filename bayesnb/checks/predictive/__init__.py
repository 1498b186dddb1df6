"""Posterior predictive checks: whether the model reproduces the data.

A replicate is a data set like the observed one, drawn from the fitted model: one draw of all parameters, then as many
rows from it. If a statistic of the observed data lies outside its values on the replicates, the model does not
reproduce it. The most important statistic is the dependence of features within a class, because naive Bayes assumes
independence.
"""

from bayesnb.checks.predictive.checking import check
from bayesnb.checks.predictive.result import Check

__all__ = ["Check", "check"]
