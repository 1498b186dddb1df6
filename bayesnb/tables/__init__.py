"""Tables of any kind as rows and named columns; their cells, labels and weights."""
