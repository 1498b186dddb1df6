"""Feature distributions, one file each."""
