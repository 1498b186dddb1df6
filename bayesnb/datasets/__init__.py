"""Small tables for examples, tests and the command line."""

from importlib import resources
from pathlib import Path
from typing import Any

__all__ = ["penguins", "penguins_path"]


def penguins_path() -> Path:
    """Where the table of the Palmer penguins lies; needs the package palmerpenguins.

    Gorman, Williams and Fraser (2014), *PLoS ONE* 9(3) e90081; Horst, Hill and Gorman (2020), CC0.
    """
    try:
        return Path(str(resources.files("palmerpenguins") / "data" / "penguins.csv"))
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("the penguins come from palmerpenguins: pip install 'bayesnb[demo]'") from error


def penguins() -> tuple[Any, Any]:
    """Measurements of 344 penguins of three species, with missing cells.

    Returns
    -------
    tuple
        The table, a pandas frame with the columns island, bill_length_mm, bill_depth_mm, flipper_length_mm, body_mass_g
        and sex; and the species.
    """
    import pandas as pd

    table = pd.read_csv(penguins_path())
    return table.drop(columns=["species", "year"]), table["species"]
