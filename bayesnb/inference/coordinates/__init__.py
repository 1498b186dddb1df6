"""Coordinates of NUTS: unconstrained numbers for every parameter."""
