"""The parts of `nb.compare`: tests of draws against a closed form, and the recorded prior and data of both posteriors."""
