"""How a bound model reads a table: chunk by chunk, to count statistics or to compute densities."""
