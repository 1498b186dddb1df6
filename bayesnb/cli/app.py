"""The program ``bayesnb``: its commands and its version."""

from importlib.metadata import version
from typing import Annotated

import typer

from bayesnb.cli.check import check_command
from bayesnb.cli.compare import compare_command
from bayesnb.cli.fit import fit_command
from bayesnb.cli.predict import predict_command

__all__ = ["app"]

HELP = (
    "Naive Bayes as a generative model.\n\nThe exit status is 0 for success; 1 if check finds an extreme statistic, or "
    "compare does not find agreement; and 2 if an option, a file or a table cannot be used."
)

app = typer.Typer(no_args_is_help=True, add_completion=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayesnb {version('bayesnb')}")
        raise typer.Exit


@app.callback(help=HELP)
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command("fit")(fit_command)
app.command("predict")(predict_command)
app.command("check")(check_command)
app.command("compare")(compare_command)
