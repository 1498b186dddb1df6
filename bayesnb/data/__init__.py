"""What a table is: rows, columns, labels, schema."""
