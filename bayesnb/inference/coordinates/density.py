"""A program's log density as a function of the coordinates of its sites."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
from numpyro.primitives import Messenger

from bayesnb.inference.coordinates.base import Coordinate
from bayesnb.inference.coordinates.draws import unwrapped

__all__ = ["potential", "stored_values"]


class _At(Messenger):
    """Runs a NumPyro program at a point: sets every site, and adds up priors, changes of variables and factors."""

    def __init__(self, coordinates: Mapping[str, Coordinate], point: Mapping[str, Any]) -> None:
        super().__init__()
        self.coordinates, self.point = coordinates, point
        self.log_density: Any = 0.0
        self.stored: dict[str, Any] = {}

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] != "sample":
            return
        if msg["is_observed"]:
            self.log_density = self.log_density + msg["fn"].log_prob(msg["value"]).sum()
            return
        name = msg["name"]
        position = self.coordinates[name].at(self.point[name], unwrapped(msg["fn"]))
        self.log_density = self.log_density + position.log_density
        self.stored[name] = position.stored
        msg["value"] = position.value


def potential(
    program: Callable, arguments: tuple[Any, ...], coordinates: Mapping[str, Coordinate], point: Mapping[str, Any]
) -> Any:
    """Minus the log density of a point, the potential energy of a Hamiltonian sampler.

    Parameters
    ----------
    program : callable
        A NumPyro program without plates.
    arguments : tuple
        Arguments of the program.
    coordinates : mapping
        By site.
    point : mapping
        Unconstrained numbers by site.

    Returns
    -------
    array, scalar
    """
    return -_run(program, arguments, coordinates, point).log_density


def stored_values(
    program: Callable, arguments: tuple[Any, ...], coordinates: Mapping[str, Coordinate], point: Mapping[str, Any]
) -> dict[str, jax.Array]:
    """Values of all sites at a point, for the results; arguments as for `potential`."""
    return _run(program, arguments, coordinates, point).stored


def _run(
    program: Callable, arguments: tuple[Any, ...], coordinates: Mapping[str, Coordinate], point: Mapping[str, Any]
) -> _At:
    at = _At(coordinates, point)
    with at:
        program(*arguments)
    return at
