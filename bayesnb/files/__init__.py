"""Posteriors in files: netCDF that holds JSON and numbers, and nothing that runs."""
