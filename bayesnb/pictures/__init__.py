"""Figures of results. Each file draws tables of numbers, and imports no module that computes them.

The results of checks and comparisons draw themselves with these figures. `bayesnb.plots` draws posteriors.
"""
