"""Default values of the public functions and classes are behaviour: their docstrings say them, or a table here."""

import inspect
import re
from ast import literal_eval

import bayesnb as nb
from bayesnb import datasets, estimators

COMMON = {
    "ratio": False,
    "key": 0,
    "prob": 0.89,
    "coverage": 0.9,
    "by_class": False,
    "empty": False,
    "unit": "nats",
    "decay": 1.0,
    "inference": "exact",
    "predictive": "exact",
    "fit_prior": True,
    "force_alpha": True,
    "notes": (),
    "exclude": (),
}
"""Defaults that a docstring may leave to that of another function."""

OTHERS = {
    "AllTrees": {"sizes": (), "together": True},
    "BoundModel.draw_prior": {"sample_shape": ()},
    "BoundModel.prior_predictive": {"num_draws": 500},  # as NaiveBayes says
    "BoundModel.program": {"num_rows": None},  # that of X
    "Calibration": {"on_fit": False},
    "Check": {"fitted": (), "other_rows": ""},
    "DirichletMultinomial.likelihood": {"total_count": 1},
    "DirichletMultinomialNB": {"concentration": 1.5, "rate": 0.1},  # both in one line of the docstring
    "Histogram": {"step": 0.0, "from_zero": False},
    "JointCategorical": {"sizes": (), "held": ()},
    "Multinomial.likelihood": {"total_count": 1},
    "NaiveBayes.story": {"most": 24},
    "PolyaTree": {"together": True, "step": 0.0, "from_zero": False},
    "load": {"families": ()},
}
"""Defaults of no docstring, by function, class and method."""

DEFAULT = re.compile(r"^ *(\w+(?:, \w+)*) : .*?\bdefault (.+?)\s*$", re.MULTILINE)
"""Names of parameters and their default, in the line of a numpydoc section."""


def public():
    """Functions, classes and the methods of classes, by name."""
    found = {}
    for module in (nb, nb.results, nb.families, datasets, estimators):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Warning)):
                found[name] = thing
            for member, value in inspect.getmembers(thing, inspect.isfunction) if inspect.isclass(thing) else ():
                if not member.startswith("_") and value.__module__.startswith("bayesnb."):
                    found[value.__qualname__] = value
    return found


PUBLIC = public()


def documented(thing):
    lines = DEFAULT.findall(inspect.getdoc(thing) or "")
    return {parameter: value for names, value in lines for parameter in names.split(", ")}


def test_defaults_are_those_that_are_documented():
    """Of numbers, texts and tuples; ``None`` without a word means a rule that other tests are about."""
    for name, thing in PUBLIC.items():
        told, others = documented(thing), OTHERS.get(name, {})
        for parameter, given in inspect.signature(thing).parameters.items():
            if (name, parameter) == ("Hurdle", "family"):  # made for each object
                continue
            if parameter in others or parameter in told:
                expected = others[parameter] if parameter in others else literal_eval(told[parameter])
                assert given.default == expected, (name, parameter)
            elif isinstance(given.default, int | float | str | tuple):
                assert given.default == COMMON.get(parameter), (name, parameter)


def test_the_tables_name_what_there_is():
    parameters = {name: set(inspect.signature(thing).parameters) for name, thing in PUBLIC.items()}
    assert all(others.keys() <= parameters[name] for name, others in OTHERS.items())
    assert COMMON.keys() <= set.union(*parameters.values())
    assert sum(len(documented(thing)) for thing in PUBLIC.values()) > 180
