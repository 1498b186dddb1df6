"""The command line: ``bayesnb fit``, ``predict``, ``check`` and ``compare``."""

from bayesnb.cli.commands import app

__all__ = ["app"]
