"""Ways to condition a model on data."""
