"""The command line: ``bayesnb compare``."""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from bayesnb.api import fit
from bayesnb.checks.compare import Comparison, compare
from bayesnb.checks.comparison.marginals import Z_COLUMNS
from bayesnb.datasets import penguins_path
from bayesnb.families.categorical import Categorical
from bayesnb.inference.nuts import NUTS
from bayesnb.model.naive_bayes import NaiveBayes

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Naive Bayes as a generative model.")


@app.callback()
def main() -> None:
    """Naive Bayes as a generative model."""


@app.command("compare")
def compare_command(
    data: Annotated[str, typer.Argument(metavar="DATA.csv", help="A CSV file with a header, or: penguins")],
    target: Annotated[str, typer.Option(help="Column that holds the class.")],
    out: Annotated[Path, typer.Option(help="Folder for the plot, the table and the DataTrees.")] = Path("bayesnb-out"),
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Column to read as categories; may be repeated.")
    ] = None,
    missing: Annotated[list[str] | None, typer.Option(help="Text that marks a missing cell, such as '?'.")] = None,
    warmup: Annotated[int, typer.Option(min=1, help="Warm-up steps of each chain.")] = 500,
    samples: Annotated[int, typer.Option(min=4, help="Draws of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(min=2, help="Number of chains.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the sampler.")] = 0,
) -> None:
    """Fit one naive Bayes model in closed form and with NUTS, and say whether they agree.

    The exit status is 0 if they agree, 1 if they do not or the draws do not suffice, 2 if the data cannot be used.
    """
    console = Console()
    try:
        table = _read(data, missing)
        features, labels, dropped = _split(table, target, drop or [])
        model = _guess(features, categorical or [])
        sampler = NUTS(num_warmup=warmup, num_samples=samples, num_chains=chains)
        console.print(Panel(repr(model), title=f"The model, guessed from {len(features)} rows of {data}", expand=False))
        if dropped:
            console.print(f"{dropped} rows have no {target} and are left out.")
        cells = int(features.isna().to_numpy().sum())
        if cells:
            console.print(f"{cells} cells are missing and are skipped, which is exact.")
        exact = fit(model, features, labels)
        console.print(f"[bold]Closed form:[/bold] log evidence {exact.log_evidence:.4f}")
        console.print(f"[bold]NUTS:[/bold] {chains} chains, {warmup} warm-up steps, {samples} draws each")
        sampled = fit(model, features, labels, sampler, key=seed)
        comparison = compare(exact, sampled, features)  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        console.print(f"[bold red]Error:[/bold red] {error}", highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None
    console.print(_as_table(comparison))
    assert comparison.probabilities is not None
    difference = (comparison.probabilities["sampled"] - comparison.probabilities["exact"]).abs().max()
    console.print(f"Largest difference of a class probability on these rows: {difference:.2g}")
    console.print(Panel(comparison.verdict, style="green" if comparison.agree else "red", expand=False))
    for path in _write(comparison, features, labels, out):
        console.print(f"wrote {path}", soft_wrap=True)
    raise typer.Exit(0 if comparison.agree else 1)


def _read(data: str, missing: list[str] | None) -> pd.DataFrame:
    path = penguins_path() if data == "penguins" else Path(data)
    if not path.is_file():
        raise ValueError(f"there is no file {data!r}")
    try:
        return pd.read_csv(path, na_values=missing or [])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{data!r} cannot be read as CSV: {error}") from None


def _split(table: pd.DataFrame, target: str, drop: list[str]) -> tuple[pd.DataFrame, pd.Series, int]:
    for column in (target, *drop):
        if column not in table.columns:
            raise ValueError(f"column {column!r} is not there: the columns are {list(table.columns)}")
    labelled = table[table[target].notna()]
    if labelled.empty:
        raise ValueError(f"no row has a {target!r}")
    return labelled.drop(columns=[target, *drop]), labelled[target], len(table) - len(labelled)


def _guess(features: pd.DataFrame, categorical: list[str]) -> NaiveBayes:
    for column in categorical:
        if column not in features.columns:
            raise ValueError(f"column {column!r} is not there: the columns are {list(features.columns)}")
    guessed = NaiveBayes.from_frame(features)
    chosen: dict[Any, Any] = {name: family for name, (family, _) in guessed.features.items()}
    return NaiveBayes(chosen | {column: Categorical() for column in categorical})


def _as_table(comparison: Comparison) -> Table:
    table = Table(
        title="Closed form against samples: posterior mean ± standard deviation",
        caption="z: standard errors by which location and spread of the draws are off",
        box=SIMPLE,
        pad_edge=False,
    )
    table.add_column("parameter", overflow="fold")
    for name in ("closed form", "samples", "z mean", "z sd"):
        table.add_column(name, justify="right", no_wrap=True)
    shown = None
    for label, row in comparison.table.iterrows():
        site, _, where = str(label).partition("[")
        if site != shown:
            table.add_row(f"[bold]{site}[/bold]")
            shown = site
        off = row[list(Z_COLUMNS)].abs().max() > comparison.critical_z
        table.add_row(
            f"  {where.removesuffix(']')}",
            f"{row['exact_mean']:.4g} ± {row['exact_sd']:.2g}",
            f"{row['sampled_mean']:.4g} ± {row['sampled_sd']:.2g}",
            f"{row['z_mean']:+.1f}",
            f"{row['z_sd']:+.1f}",
            style="red" if off else None,
        )
    return table


def _write(comparison: Comparison, features: Any, labels: Any, out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / name for name in ("comparison.png", "comparison.csv", "exact.nc", "nuts.nc")]
    comparison.plot().savefig(paths[0], dpi=120)
    comparison.table.to_csv(paths[1])
    for path, posterior in zip(paths[2:], (comparison.exact, comparison.sampled), strict=True):
        posterior.to_datatree(features, labels).to_netcdf(path, engine="h5netcdf")
    return paths
