"""What `nb.compare` looks at: the tests of draws against a closed form, and the records of both posteriors."""
