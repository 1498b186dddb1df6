"""The arrays behind a model: blocks of columns, the class prior, statistics and parameters, and their densities."""
