"""Which inferences take a model, for errors and warnings that advise another one."""

from bayesnb.families.base import Family
from bayesnb.families.conjugate import ConjugateFamily, couples_classes
from bayesnb.model.blocks import Block
from bayesnb.model.bound import BoundModel

__all__ = [
    "another_family",
    "gives_mode",
    "has_closed_form",
    "or_closed_form",
    "refuse_coupled",
    "ways_to_fit",
    "ways_to_posterior",
]


def has_closed_form(model: BoundModel) -> bool:
    """Whether `nb.Exact()` takes the model, given labels: every family is conjugate, and every hyperparameter given."""
    return model.conjugate and not model.hyperpriors


def or_closed_form(model: BoundModel) -> str:
    """The end of an advice: the closed form, for a model that has one."""
    return ", or use the closed form, nb.fit(model, X, y)" if has_closed_form(model) else ""


def ways_to_posterior(model: BoundModel) -> str:
    """The inferences that give a distribution of the parameters, not a point, as an error message lists them."""
    ways = ["nb.Exact()"] * has_closed_form(model) + ["nb.NUTS()"] * _has_density(model)
    return " or ".join(ways)


def ways_to_fit(model: BoundModel) -> str:
    """The inferences that take a model, as an error message lists them."""
    ways = ["nb.NUTS() for draws"] * _has_density(model)
    if has_closed_form(model):
        ways.insert(0, "nb.Exact() for the closed form")
    if all(gives_mode(type(family)) for family in model.families) and not model.hyperpriors:
        ways.append("nb.MAP() for a point estimate")
    return ", ".join(ways)


def refuse_coupled(model: BoundModel, remedy: str) -> None:
    """Refuse a family that couples the classes, whose parameters have no density.

    Raises
    ------
    ValueError
    """
    for block in model.blocks:
        if couples_classes(block.family):
            raise ValueError(
                f"column {block.labels[0]!r} is {block.family.family_name}, whose prior couples the classes and has no "
                f"density to sample from: use {remedy}, or {another_family(block, 'nb.Histogram()')}"
            )


def another_family(block: Block, example: str) -> str:
    """How to give a column another family, as an error message says it."""
    return (
        f"give the column another family, nb.NaiveBayes.from_frame(X, y, families={{{block.labels[0]!r}: {example}}})"
    )


def _has_density(model: BoundModel) -> bool:
    """Whether `nb.NUTS()` takes the model."""
    return not any(couples_classes(family) for family in model.families)


def gives_mode(family: type[Family]) -> bool:
    """Whether a family defines its mode, given statistics or, where it is conjugate, as a method of the posterior."""
    if not issubclass(family, ConjugateFamily):
        return family.maximum_a_posteriori is not Family.maximum_a_posteriori
    overridden = family.maximum_a_posteriori is not ConjugateFamily.maximum_a_posteriori
    return overridden or family.mode is not ConjugateFamily.mode
