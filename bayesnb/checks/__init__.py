"""Criticism: functions over posteriors."""
