"""The command line: ``bayesnb fit``, ``predict``, ``check`` and ``compare``."""

from bayesnb.cli.app import app

__all__ = ["app"]
