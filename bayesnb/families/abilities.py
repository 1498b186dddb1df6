"""What a family can do, which follows from what it defines."""

from dataclasses import dataclass

from bayesnb.families.conjugate import ConjugateFamily, couples_classes
from bayesnb.families.family import Family, JointFamily
from bayesnb.families.hyperparameters import kind_of_cell


@dataclass(frozen=True)
class Abilities:
    """What a family can do. It declares none of this: everything follows from its base classes and methods.

    Attributes
    ----------
    cells : str
        What a cell is, as `kind_of_cell` says it.
    joint : bool
        Whether the columns of a block are one observation.
    closed : bool
        Whether the posterior has a closed form, for `Exact` and `Gibbs`.
    sampled : bool
        Whether the parameters have a density, for `NUTS`.
    mode, likeliest : bool
        Whether the family defines the mode of the parameters, for `MAP`, and the maximum of the likelihood, for `MLE`.
    power_scaled : bool
        Whether the prior raised to a power is known, for `sensitivity`.
    scaled : bool
        Whether hyperparameters that are not given follow the columns.
    holes : bool
        Whether a fit takes rows in which some cells are missing.
    simulated : bool
        Whether the family describes rows as a whole, so that it draws some.
    sparse : bool
        Whether sparse arrays stay sparse.
    """

    cells: str
    joint: bool
    closed: bool
    sampled: bool
    mode: bool
    likeliest: bool
    power_scaled: bool
    scaled: bool
    holes: bool
    simulated: bool
    sparse: bool


def abilities(family: Family) -> Abilities:
    """What a family can do, by what it defines."""

    def defines(method: str) -> bool:
        return getattr(type(family), method, None) is not getattr(ConjugateFamily, method)

    cells = kind_of_cell(family)
    return Abilities(
        cells=cells,
        joint=isinstance(family, JointFamily),
        closed=isinstance(family, ConjugateFamily),
        sampled=not couples_classes(family),
        mode=defines("maximum_a_posteriori"),
        likeliest=defines("maximum_likelihood"),
        power_scaled=isinstance(family, ConjugateFamily) and (bool(family.flat_prior) or defines("power_scaled")),
        scaled=defines("on_scale_of"),
        holes=cells != "count vector" and not (isinstance(family, JointFamily) and family.whole_rows),
        simulated=not (isinstance(family, JointFamily) and family.num_given),
        sparse="sparse" in family.takes,
    )
