"""Figures of posteriors, one file each: functions that a user calls. Results draw themselves."""
