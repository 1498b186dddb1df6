"""Posteriors in files: netCDF with JSON and numbers, and without code."""
