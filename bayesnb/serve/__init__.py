"""Fitted models at work: predictions of a saved classifier with NumPy alone.

No module below this package and no module that it imports needs more than NumPy and Python's own library.
"""

from bayesnb.serve.served_model import ServedModel
from bayesnb.serve.served_model import load_served as load

__all__ = ["ServedModel", "load"]
