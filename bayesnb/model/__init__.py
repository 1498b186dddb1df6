"""The user's description of a model (`describe`), and the model bound to a table's columns and classes (`bound`)."""
