"""The model: what a user writes (`describe`), and what it becomes with the columns and classes of a table (`bound`)."""
