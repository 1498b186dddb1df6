"""Labels of items from annotators who may be wrong."""
