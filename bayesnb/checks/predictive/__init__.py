"""Could the model have made these data? Posterior predictive checks for naive Bayes.

A replicate is a data set like the observed one that the fitted model makes: one draw of all parameters, then as many
rows, which share it. A statistic of the observed data that lies outside its values on the replicates is a feature of
the data that the model does not have. The one that matters most here is the dependence of features within a class,
which naive Bayes denies.
"""

from bayesnb.checks.predictive.checking import check
from bayesnb.checks.predictive.result import Check

__all__ = ["Check", "check"]
