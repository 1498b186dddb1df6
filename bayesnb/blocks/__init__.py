"""The arrays behind a bound model: blocks of columns, the class prior, and the statistics of them all."""
