"""Start of the command line: the command ``bayesnb``, or ``python -m bayesnb``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or name the extra that it needs."""
    try:
        from bayesnb.cli import app
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in {"rich", "typer"}:
            raise
        sys.exit(f"the command line needs {library}: pip install 'bayesnb[cli]'")
    app()


if __name__ == "__main__":
    main()
