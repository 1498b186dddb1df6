"""Sufficient statistics, one kind per file."""
