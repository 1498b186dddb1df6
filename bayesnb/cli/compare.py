"""``bayesnb compare``: do the closed form and NUTS agree on a table?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from bayesnb.api import fit
from bayesnb.checks.compare import LARGEST_FIRST, Comparison, compare, largest_differences
from bayesnb.cli.console import errors_in_a_line, framed, refuse_overwriting, say
from bayesnb.cli.models import fit_exactly
from bayesnb.cli.tables import CategoricalColumns, DroppedColumns, MissingText, TableFile, TargetColumn
from bayesnb.inference.nuts import NUTS
from bayesnb.printing import DataTable, Paragraph, as_text, width

__all__ = ["compare_command"]


def compare_command(
    table: TableFile,
    target: TargetColumn,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="For the plot, the table, the posteriors and the DataTrees.")
    ] = Path("bayesnb-out"),
    drop: DroppedColumns = None,
    categorical: CategoricalColumns = None,
    missing: MissingText = None,
    warmup: Annotated[int, typer.Option(metavar="N", min=1, help="Warm-up steps of each chain.")] = 500,
    samples: Annotated[int, typer.Option(metavar="N", min=4, help="Draws of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(metavar="N", min=2, help="Number of chains.")] = 4,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the sampler.")] = 0,
) -> None:
    """Fit in closed form and with NUTS, and compare.

    Both fits are of the same model, and the command prints whether they agree. A column for which `bayesnb fit` takes a
    PolyaTree, which NUTS cannot sample, is a Histogram here.

    The exit status is 0 if they agree, 1 if they do not or the draws do not suffice, 2 if the table cannot be used.
    """
    with errors_in_a_line():
        refuse_overwriting(out / "comparison.csv", table)
        _make_folder(out)
        exact, features, labels = fit_exactly(table, target, drop, categorical, missing, to_sample=True)
        say(f"NUTS: {chains} chains, {warmup} warm-up steps, {samples} draws each")
        sampler = NUTS(num_warmup=warmup, num_samples=samples, num_chains=chains)
        sampled = fit(exact.problem.model, features, labels, sampler, key=seed)
        comparison = compare(exact, sampled, features)  # type: ignore[arg-type]
        differences = DataTable(largest_differences(comparison.table), rest="more in comparison.csv")
        say(as_text([Paragraph(LARGEST_FIRST), differences], width()))
        assert comparison.probabilities is not None
        difference = _largest_difference(comparison.probabilities)
        say(f"Largest difference of a class probability on these rows: {difference:.2g}")
        framed(comparison.verdict, style="green" if comparison.agree else "red")
        _write(comparison, features, labels, out)
    raise typer.Exit(0 if comparison.agree else 1)


def _largest_difference(probabilities: Any) -> float:
    return float((probabilities["sampled"] - probabilities["exact"]).abs().max())


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
