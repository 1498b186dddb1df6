"""Start of the command line: the command ``bayesnb``, or ``python -m bayesnb``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or name the extra that it needs."""
    try:
        from bayesnb.cli import app
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        sys.exit("the command line needs typer: pip install 'bayesnb[cli]'")
    app()


if __name__ == "__main__":
    main()
