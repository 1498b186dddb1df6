"""The parts of `nb.compare`: tests of draws against a closed form, and of the recorded priors and data."""
