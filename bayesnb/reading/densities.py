"""Densities of encoded rows under a posterior, and the three forms in which `densities` returns them."""

from typing import Literal, Protocol

import numpy as np

from bayesnb.families.base import Family, Parameters
from bayesnb.reading.cells import Cells
from bayesnb.reading.normalise import log_normalised, normalise_into

__all__ = ["FORMS", "Density", "Form"]

Form = Literal["log_joint", "log_proba", "proba"]
"""Log joint densities, log class probabilities, or class probabilities."""


class Density(Protocol):
    """Densities of rows together with each class; every posterior is one."""

    def class_probs(self) -> np.ndarray:
        """Class probabilities before any feature is seen, shape (classes,)."""

    def log_joint_of(self, cells: Cells) -> np.ndarray:
        """Log density of encoded rows together with each class, shape (rows, classes)."""

    def log_ratio_of(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Two terms, shapes (classes,) and (rows, classes), whose sum is `log_joint_of` plus a number for each row."""

    def device_densities(self) -> list[tuple[Family, Parameters | None]] | None:
        """For each block its family and parameters for `bayesnb.device`; None where only the host can compute."""


def _put_log_joint(density: Density, cells: Cells, out: np.ndarray) -> None:
    out[...] = density.log_joint_of(cells)


def _put_log_proba(density: Density, cells: Cells, out: np.ndarray) -> None:
    out[...] = log_normalised(np.add(*density.log_ratio_of(cells)))


def _put_proba(density: Density, cells: Cells, out: np.ndarray) -> None:
    normalise_into(out, *density.log_ratio_of(cells))


FORMS = {"log_joint": _put_log_joint, "log_proba": _put_log_proba, "proba": _put_proba}
"""For each form a function that computes it for encoded rows and puts it into an array, shape (rows, classes)."""
