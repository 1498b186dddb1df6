"""Fitted models at work, with NumPy alone."""
