"""The guide's table says what each family can do, and what it cannot is an error."""

from pathlib import Path

import pytest
from cases import FAMILIES

import bayesnb as nb

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "families.md"
HEADS = {
    "closed": "`Exact`, `Gibbs`",
    "sampled": "`NUTS`",
    "mode": "`MAP`",
    "likeliest": "`MLE`",
    "power_scaled": "`sensitivity`",
    "simulated": "`simulate`",
    "holes": "missing cells in a fit",
    "scaled": "default prior follows the data",
    "sparse": "sparse arrays stay sparse",
}
INFERENCES = {"closed": nb.Exact(), "sampled": nb.NUTS(), "mode": nb.MAP(), "likeliest": nb.MLE()}
OWN = [case for case in FAMILIES if type(case.default).__module__.startswith("bayesnb.")]


def name_and_marks(case):
    of = " of unknown `total_count`" * (case.name == "learned negative binomial")
    marks = ["yes" * getattr(case.can, ability) for ability in HEADS]
    return f"`{case.default.family_name}`{of}", " | ".join(marks)


def test_the_guide_says_what_each_family_can_do():
    alike = {}
    for case in OWN:
        name, marks = name_and_marks(case)
        alike.setdefault(marks, {})[name] = None
    lines = [f"| {', '.join(names)} | {marks} |" for marks, names in alike.items()]
    heads = f"| family | {' | '.join(HEADS.values())} |"
    assert "\n".join([heads, "|---" * (len(HEADS) + 1) + "|", *lines, ""]) in GUIDE.read_text()


CANNOT = {
    f"{case.name}, {ability}": (case, inference)
    for case in FAMILIES
    for ability, inference in INFERENCES.items()
    if not getattr(case.can, ability)
}


@pytest.mark.parametrize("name", CANNOT)
def test_an_inference_refuses_a_family_that_cannot(name):
    case, inference = CANNOT[name]
    X, y = case.table()
    with pytest.raises(ValueError, match=case.default.family_name):
        nb.fit(case.model(case.default), X, y, inference)
