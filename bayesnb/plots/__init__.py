"""Figures of posteriors, one file each: functions that a user calls.

They take what they draw from the methods of posteriors. `bayesnb.pictures` draws the results of checks and comparisons.
"""
