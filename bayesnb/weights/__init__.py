"""Weights of features, learned from leave-one-out densities."""
