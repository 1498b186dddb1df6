"""Sources of data: each file reads one kind of source into a `Problem`."""
