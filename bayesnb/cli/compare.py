"""``bayesnb compare``: do the closed form and NUTS agree on a table?"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesnb.api import fit
from bayesnb.checks.compare import Comparison, compare
from bayesnb.checks.comparison.marginals import Z_COLUMNS
from bayesnb.cli.console import errors_in_a_line, framed, say
from bayesnb.cli.models import fit_exactly
from bayesnb.cli.tables import CategoricalColumns, DroppedColumns, MissingText, TableFile, TargetColumn
from bayesnb.inference.nuts import NUTS

__all__ = ["compare_command"]


def compare_command(
    table: TableFile,
    target: TargetColumn,
    out: Annotated[Path, typer.Option(help="Folder for the plot, the table, the posteriors and the DataTrees.")] = Path(
        "bayesnb-out"
    ),
    drop: DroppedColumns = None,
    categorical: CategoricalColumns = None,
    missing: MissingText = None,
    warmup: Annotated[int, typer.Option(min=1, help="Warm-up steps of each chain.")] = 500,
    samples: Annotated[int, typer.Option(min=4, help="Draws of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(min=2, help="Number of chains.")] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the sampler.")] = 0,
) -> None:
    """Fit one naive Bayes model in closed form and with NUTS, and print whether they agree.

    The exit status is 0 if they agree, 1 if they do not or the draws do not suffice, 2 if the table cannot be used.
    """
    with errors_in_a_line():
        _make_folder(out)
        exact, features, labels = fit_exactly(table, target, drop, categorical, missing)
        say(f"NUTS: {chains} chains, {warmup} warm-up steps, {samples} draws each")
        sampler = NUTS(num_warmup=warmup, num_samples=samples, num_chains=chains)
        sampled = fit(exact.problem.model, features, labels, sampler, key=seed)
        comparison = compare(exact, sampled, features)  # type: ignore[arg-type]
        Console().print(_as_table(comparison))
        assert comparison.probabilities is not None
        difference = _largest_difference(comparison.probabilities)
        say(f"Largest difference of a class probability on these rows: {difference:.2g}")
        framed(comparison.verdict, style="green" if comparison.agree else "red")
        _write(comparison, features, labels, out)
    raise typer.Exit(0 if comparison.agree else 1)


def _largest_difference(probabilities: Any) -> float:
    return float((probabilities["sampled"] - probabilities["exact"]).abs().max())


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
            table.add_row(Text(site, style="bold"))
            shown = site
        off = row[list(Z_COLUMNS)].abs().max() > comparison.critical_z
        table.add_row(
            Text(f"  {where.removesuffix(']')}"),
            f"{row['exact_mean']:.4g} ± {row['exact_sd']:.2g}",
            f"{row['sampled_mean']:.4g} ± {row['sampled_sd']:.2g}",
            f"{row['z_mean']:+.1f}",
            f"{row['z_sd']:+.1f}",
            style="red" if off else None,
        )
    return table


def _make_folder(out: Path) -> None:
    """Make the folder before the sampler runs, so that a path that cannot be one costs no time."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"{str(out)!r} cannot be the folder of the results ({error.strerror}): give another --out"
        ) from None


def _write(comparison: Comparison, features: Any, labels: Any, out: Path) -> None:
    """Write the results into a folder, and say what each file is and what reads it."""
    comparison.plot().savefig(out / "comparison.png", dpi=120)
    say(f"wrote {out / 'comparison.png'}: draws and exact densities")
    comparison.table.to_csv(out / "comparison.csv")
    say(f"wrote {out / 'comparison.csv'}: a row for each parameter")
    for name, posterior in (("exact", comparison.exact), ("nuts", comparison.sampled)):
        posterior.save(out / f"{name}.nc")
        say(f"wrote {out / f'{name}.nc'}: the posterior, for nb.load and bayesnb predict")
        tree = out / f"{name}-datatree.nc"
        posterior.to_datatree(features, labels).to_netcdf(tree, engine="h5netcdf")
        say(f"wrote {tree}: its draws, for ArviZ (xarray.open_datatree)")
