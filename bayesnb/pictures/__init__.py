"""Pictures of results: each is drawn from tables of numbers, and imports no module that computes them."""
