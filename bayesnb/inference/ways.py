"""Which inferences take a family, for the errors of those that do not."""

from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily

__all__ = ["gives_mode", "ways_to_fit"]


def ways_to_fit(family: Family) -> str:
    """The inferences that take a family, as an error message lists them."""
    ways = ["nb.NUTS() for draws"]
    if isinstance(family, ConjugateFamily):
        ways.insert(0, "nb.Exact() for the closed form")
    if gives_mode(type(family)):
        ways.append("nb.MAP() for a point estimate")
    return ", ".join(ways)


def gives_mode(family: type[Family]) -> bool:
    """Whether a family defines its mode, given statistics or, where it is conjugate, as a method of the posterior."""
    if not issubclass(family, ConjugateFamily):
        return family.maximum_a_posteriori is not Family.maximum_a_posteriori
    overridden = family.maximum_a_posteriori is not ConjugateFamily.maximum_a_posteriori
    return overridden or family.mode is not ConjugateFamily.mode
