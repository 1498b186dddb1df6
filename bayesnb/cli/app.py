"""The program ``bayesnb``: its commands and its version."""

from importlib.metadata import version
from typing import Annotated

import typer

from bayesnb.cli.check import check_command
from bayesnb.cli.compare import compare_command
from bayesnb.cli.fit import fit_command
from bayesnb.cli.predict import predict_command

__all__ = ["app"]

EXAMPLES = {
    "fit": [
        "bayesnb fit train.csv --target species --out model.nc",
        'bayesnb fit train.csv --target species --drop id --categorical code --missing "?"',
    ],
    "predict": [
        "bayesnb predict model.nc new.csv --out predictions.csv",
        "bayesnb predict model.nc new.csv --interval 0.89",
    ],
    "check": [
        "bayesnb check model.nc train.csv --target species",
        "bayesnb check model.nc train.csv --target species --out statistics.csv",
    ],
    "compare": ["bayesnb compare train.csv --target species --out comparison"],
}
"""For each command some calls; the first ones follow each other."""

HELP = (
    "Naive Bayes as a generative model.\n\nThe exit status is 0 for success; 1 if check finds an extreme statistic, or "
    "compare does not find agreement; and 2 if an option, a file or a table cannot be used."
)


def _as_epilog(calls: list[str]) -> str:
    """Lines that the help shows as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {call}" for call in calls)])


# Without rich, the help gives no types to options that are flags.
app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayesnb {version('bayesnb')}")
        raise typer.Exit


@app.callback(help=HELP, epilog=_as_epilog([calls[0] for calls in EXAMPLES.values()]))
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command("fit", epilog=_as_epilog(EXAMPLES["fit"]))(fit_command)
app.command("predict", epilog=_as_epilog(EXAMPLES["predict"]))(predict_command)
app.command("check", epilog=_as_epilog(EXAMPLES["check"]))(check_command)
app.command("compare", epilog=_as_epilog(EXAMPLES["compare"]))(compare_command)
