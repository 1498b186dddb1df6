"""Posteriors of the parameters: exact, sampled or at a point."""
