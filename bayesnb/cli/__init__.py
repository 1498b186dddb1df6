"""The command line: ``bayesnb fit``, ``predict``, ``check``, ``drift`` and ``compare``."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import pandas as pd
import typer

from bayesnb.checks.compare import LARGEST_FIRST, Comparison, compare, largest_differences
from bayesnb.checks.predictive import check
from bayesnb.cli.csv_tables import (
    choose_model,
    labels_as_written,
    read_csv,
    read_used_columns,
    rows_with_label,
    without_unnamed,
)
from bayesnb.cli.parquet_tables import (
    is_parquet,
    labelled_sample,
    opened_parquet,
    parquet_files,
    write_predictions,
)
from bayesnb.core.checking import listed, proportion
from bayesnb.core.printing import DataTable, Paragraph, as_text, counted, width
from bayesnb.core.sealed_files import replace_file
from bayesnb.data.read import as_table, read_rows
from bayesnb.estimators.load import load
from bayesnb.families.binned import Histogram
from bayesnb.families.conjugate import couples_classes
from bayesnb.inference.fit import fit
from bayesnb.inference.nuts import NUTS
from bayesnb.population.drift import drift
from bayesnb.posterior.kinds import ExactPosterior
from bayesnb.posterior.posterior import Posterior
from bayesnb.selection.descriptions import propose_descriptions
from bayesnb.selection.readings import dates_to_read
from bayesnb.selection.weighing import exact_or_given, weighted_or_plain

# --------------------------------------------------------------------------------------------------
# What the commands print: results on the standard output, warnings and errors on the standard error
# --------------------------------------------------------------------------------------------------


def _refuse_overwriting(out: Path | None, *inputs: str | Path) -> None:
    """Raise ValueError rather than write to a file that is read, also as the standard input."""
    for given in inputs:
        for path in parquet_files(given) if is_parquet(given) else [Path("/dev/stdin" if given == "-" else given)]:
            if out is not None and out.is_file() and path.exists() and out.samefile(path):
                lost = f"--out {str(out)!r} is the input {str(given)!r}, which would be lost"
                raise ValueError(f"{lost}: give another file")


def _write(out: Path, write: Callable[[Path], Any]) -> Any:
    """Give a file the content that a function writes to a path, whole or not at all; a device or a pipe at once."""
    if out.is_char_device() or out.is_fifo():
        return write(out)
    with TemporaryDirectory() as folder:
        write(made := Path(folder, out.name.strip(".") or "table"))
        return replace_file(out, [made.read_bytes()], "the result")


@contextmanager
def _errors_in_a_line() -> Iterator[None]:
    """Print the package's warnings and an error of the input, each in a line, and exit with status 2 after an error.

    Warnings of libraries are for programmers, and are not shown.
    """
    with warnings.catch_warnings(record=True, action="always") as caught:
        wrong = None
        try:
            yield
        except BrokenPipeError:  # the reader of the output has closed it
            raise
        except (ValueError, TypeError, OSError) as error:
            wrong = error
    messages = (str(warning.message) for warning in caught if issubclass(warning.category, UserWarning))
    for message in dict.fromkeys(messages):
        _message_line("Warning", message, typer.colors.YELLOW)
    if wrong is not None:
        _message_line("Error", wrong, typer.colors.RED)
        raise typer.Exit(2)


def _message_line(kind: str, message: Any, colour: str) -> None:
    typer.secho(f"{kind}: ", fg=colour, nl=False, err=True)
    typer.echo(" ".join(str(message).split()), err=True)


# --------------------------------------------------------------------------------------------------
# Arguments and options that several commands take
# --------------------------------------------------------------------------------------------------

TableOrParquet = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A CSV file with a header, - for the standard input, or: penguins; or Parquet files, 'data/*.parquet'",
    ),
]
TableFile = Annotated[
    str, typer.Argument(metavar="TABLE", help="A CSV file with a header, - for the standard input, or: penguins")
]
TargetColumn = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column that holds the class.")]
DroppedColumns = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Column to leave out; may be repeated.")
]
CategoricalColumns = Annotated[
    list[str] | None,
    typer.Option("--categorical", metavar="COLUMN", help="Column to read as categories; may be repeated."),
]
MissingText = Annotated[
    list[str] | None,
    typer.Option("--missing", metavar="TEXT", help="Text that marks a missing cell, such as '?'; may be repeated."),
]
Separator = Annotated[str, typer.Option("--sep", metavar="CHAR", help="What separates the cells, such as ';'.")]
DecimalSign = Annotated[str | None, typer.Option("--decimal", metavar="SIGN", help="Decimal sign, '.' or ','.")]


# --------------------------------------------------------------------------------------------------
# Models on the command line: fitted to tables, and read from files
# --------------------------------------------------------------------------------------------------

ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file of bayesnb fit or Posterior.save.")]


def _fit_exactly(
    table: str,
    target: str,
    drop: list[str] | None,
    categorical: list[str] | None,
    *,
    to_sample: bool = False,
    **how: Any,
) -> tuple[ExactPosterior, tuple[Any, Any], pd.DataFrame, pd.Series]:
    """Choose a model of the table in a file, show it, and fit it in closed form.

    If it is a model `to_sample`, columns whose family couples the classes, which NUTS does not take, are histograms.

    Returns
    -------
    tuple
        The posterior, the table and labels of its fit, and features and labels of rows in memory: of Parquet files some
        at random, and of other tables all.
    """
    drop, categorical, given = drop or [], categorical or [], None
    if is_parquet(table) and not to_sample:
        lazy, named = labelled_sample(opened_parquet(table, _of_csv(how)), target)
        features, labels = rows_with_label(named, target, drop)
        given = lazy, target
    else:
        named = without_unnamed(read_csv(table, text=[target], label=target, **how), [target, *drop, *categorical])
        features, labels = rows_with_label(named, target, drop)
        labels = labels_as_written(labels)
    dates = [] if to_sample else [name for name in dates_to_read(as_table(features)) if name not in categorical]
    model = choose_model(features, labels, categorical, how["decimal"], dates)
    if to_sample:
        other: Any = {name: Histogram() if couples_classes(one) else one for name, (one, _) in model.features.items()}
        model = replace(model, features=other)
    typer.echo(f"The model, chosen by {counted(len(features), 'row')}:\n{model}\n")
    if unlabelled := len(named) - len(labels):
        typer.echo(f"Rows without a {labels.name}, left out: {unlabelled}")
    if cells := int(features.isna().to_numpy().sum()):
        typer.echo(f"Missing cells, skipped, which is exact if cells are missing at random: {cells}")
    given = given or (features, labels)
    posterior: Any = fit(model, *given)
    typer.echo(f"Closed form: log evidence {posterior.log_evidence:.4f}")
    return posterior, given, features, labels


def _of_csv(how: dict[str, Any]) -> list[Any]:
    """The options for CSV files that are given."""
    return [how["missing"], how["sep"] != ",", how["decimal"]]


def read_model(path: Path) -> Posterior:
    """The posterior in a file, whose table had names.

    Raises
    ------
    ValueError, FileNotFoundError
        If there is no such file, or it holds no posterior of a table with names.
    """
    posterior = getattr(found := load(path), "posterior_", found)
    if not isinstance(posterior, Posterior):
        raise ValueError(
            f"{str(path)!r} holds labels from annotators, which predict no rows of a table: load it in Python, "
            "nb.load(path)"
        )
    if not posterior.model.schema.named:
        raise ValueError(
            f"{str(path)!r} holds a model of columns without names, which no header of a CSV file can match: load it "
            "in Python, nb.load(path)"
        )
    return posterior


def _model_and_rows(
    model: Path, table: str, target: str | None, out: Path | None, **how: Any
) -> tuple[Posterior, pd.DataFrame, pd.Series | None]:
    """A model with the features and labels of a table, where `out` is another file than both."""
    _refuse_overwriting(out, table, model)
    posterior = read_model(model)
    rows = read_used_columns(posterior.model, table, also=target, **how)
    return posterior, *((rows, None) if target is None else rows_with_label(rows, target))


def _show(result: Any, out: Path | None) -> None:
    """Print a result, and write its table into a file if one is given."""
    if out is not None:
        _write(out, result.table.to_csv)
    typer.echo(as_text(result.parts("more: --out FILE writes all" if out is None else f"more in {out}"), width()))


# --------------------------------------------------------------------------------------------------
# ``bayesnb compare``: do the closed form and NUTS agree on a table?
# --------------------------------------------------------------------------------------------------


def _compare_command(
    table: TableFile,
    target: TargetColumn,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", file_okay=False, help="For the plot, the table, the posteriors and the DataTrees."
        ),
    ] = Path("bayesnb-out"),
    drop: DroppedColumns = None,
    categorical: CategoricalColumns = None,
    missing: MissingText = None,
    sep: Separator = ",",
    decimal: DecimalSign = None,
    warmup: Annotated[int, typer.Option(metavar="N", min=1, help="Warm-up steps of each chain.")] = 500,
    samples: Annotated[int, typer.Option(metavar="N", min=4, help="Draws of each chain.")] = 1000,
    chains: Annotated[int, typer.Option(metavar="N", min=2, help="Number of chains.")] = 4,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the sampler.")] = 0,
) -> None:
    """Fit in closed form and with NUTS, and compare.

    Both fits are of the same model, and the command prints whether they agree. A column for which `bayesnb fit` takes a
    PolyaTree, which NUTS cannot sample, is a Histogram here.

    The exit status is 0 if they agree, 1 if they do not or the draws do not suffice, 2 if the table cannot be used.

    \b
    Examples:
      bayesnb compare train.csv --target species --out comparison
    """
    with _errors_in_a_line():
        _refuse_overwriting(out / "comparison.csv", table)
        how: Any = {"missing": missing, "sep": sep, "decimal": decimal}
        exact, _, features, labels = _fit_exactly(table, target, drop, categorical, to_sample=True, **how)
        out.mkdir(parents=True, exist_ok=True)  # before the sampler runs, so that a wrong path costs no time
        typer.echo(f"NUTS: {chains} chains, {warmup} warm-up steps, {samples} draws each")
        sampler = NUTS(num_warmup=warmup, num_samples=samples, num_chains=chains)
        sampled = fit(exact.problem.model, features, labels, sampler, key=seed)
        comparison = compare(exact, sampled, features)  # type: ignore[arg-type]
        differences = DataTable(largest_differences(comparison.table), rest="more in comparison.csv")
        typer.echo(as_text([Paragraph(LARGEST_FIRST), differences], width()))
        assert comparison.probabilities is not None
        difference = (comparison.probabilities["sampled"] - comparison.probabilities["exact"]).abs().max()
        typer.echo(f"Largest difference of a class probability on these rows: {difference:.2g}")
        verdict = as_text([Paragraph(comparison.verdict)], width())
        typer.secho(verdict, fg=typer.colors.GREEN if comparison.agree else typer.colors.RED)
        _write_all(comparison, features, labels, out)
    raise typer.Exit(0 if comparison.agree else 1)


def _write_all(comparison: Comparison, features: Any, labels: Any, out: Path) -> None:
    """Write the results into a folder, and say what each file is and what reads it."""
    _write(out / "comparison.png", partial(comparison.plot().savefig, dpi=120))
    typer.echo(f"wrote {out / 'comparison.png'}: draws and exact densities")
    _write(out / "comparison.csv", comparison.table.to_csv)
    typer.echo(f"wrote {out / 'comparison.csv'}: a row for each parameter")
    for name, posterior in (("exact", comparison.exact), ("nuts", comparison.sampled)):
        posterior.save(out / f"{name}.nc")
        typer.echo(f"wrote {out / f'{name}.nc'}: the posterior, for nb.load and bayesnb predict")
        tree = out / f"{name}-datatree.nc"
        _write(tree, partial(posterior.to_datatree(features, labels).to_netcdf, engine="h5netcdf"))
        typer.echo(f"wrote {tree}: its draws, for ArviZ (xarray.open_datatree)")


# --------------------------------------------------------------------------------------------------
# ``bayesnb fit``: a table in, a posterior in a file out
# --------------------------------------------------------------------------------------------------


def _fit_command(
    table: TableOrParquet,
    target: TargetColumn,
    out: Annotated[Path, typer.Option(metavar="FILE", help="File for the posterior; it is overwritten.")] = Path(
        "model.nc"
    ),
    drop: DroppedColumns = None,
    categorical: CategoricalColumns = None,
    missing: MissingText = None,
    sep: Separator = ",",
    decimal: DecimalSign = None,
) -> None:
    """Fit a model in closed form, learn a weight for each feature, and write the posterior.

    The labels choose a family for each column. No weights are learned from one class. More than 2,000 features share
    one weight. Of Parquet files, 10,000 rows at random choose the families and the weights. bayesnb predict, bayesnb
    check and nb.load read the posterior.

    The exit status is 0 for success, 2 if the table cannot be used.

    \b
    Examples:
      bayesnb fit train.csv --target species --out model.nc
      bayesnb fit train.csv --target species --drop id --categorical code --missing "?"
      bayesnb fit "data/*.parquet" --target species
    """
    with _errors_in_a_line():
        _refuse_overwriting(out, table)
        how: Any = {"missing": missing, "sep": sep, "decimal": decimal}
        exact, given, *some = _fit_exactly(table, target, drop, categorical, **how)
        rows = read_rows(*some)
        posterior: Any = weighted_or_plain(exact, rows)
        if posterior.feature_weights is not None and not posterior.feature_weights.shared:
            proposed = propose_descriptions(exact.problem.model, *some)
            posterior = weighted_or_plain(exact_or_given(proposed, *given), rows)
            typer.echo("A weight for each feature, learned from the same rows (naive Bayes has weights of one):")
            typer.echo(posterior.weights.to_string(float_format="%.2f"))
        posterior.save(out)
        typer.echo(f"wrote {out}")


# --------------------------------------------------------------------------------------------------
# ``bayesnb predict``: a posterior and a table in, classes and their probabilities out
# --------------------------------------------------------------------------------------------------


def _predict_command(
    model: ModelFile,
    table: TableOrParquet,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write, CSV or Parquet as TABLE; by default the standard output."),
    ] = None,
    missing: MissingText = None,
    sep: Separator = ",",
    decimal: DecimalSign = None,
    interval: Annotated[
        float | None,
        typer.Option(metavar="PROB", help="Add a credible interval of each probability, such as of 0.89."),
    ] = None,
    class_probs: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS=PROB", help="Probability of a class among these rows; once for each class."),
    ] = None,
) -> None:
    """Predict the class of each row of a table, as CSV; of Parquet files as Parquet, with the columns of the table.

    The columns are the most probable class and the probability of each class. With --interval, lower and upper ends
    follow. Columns of the table that the model does not use are ignored. With --class-probs, the classes have other
    probabilities than in the table of the fit.

    The exit status is 0 for success, 2 if the model or the table cannot be used.

    \b
    Examples:
      bayesnb predict model.nc new.csv --out predictions.csv
      bayesnb predict model.nc new.csv --interval 0.89
      bayesnb predict model.nc "new/*.parquet" --out scores.parquet
      bayesnb predict model.nc new.csv --class-probs sick=0.05 --class-probs well=0.95
    """
    with _errors_in_a_line():
        _refuse_overwriting(out, table, model)
        posterior = read_model(model)
        if class_probs:
            posterior = posterior.with_class_probs(_probs_by_label(class_probs, posterior.classes.tolist()))
        if is_parquet(table):
            if interval is not None or out is None or not is_parquet(out):
                raise ValueError(f"{table!r} is Parquet: give --out FILE.parquet, and no --interval")
            lazy = opened_parquet(table, _of_csv({"missing": missing, "sep": sep, "decimal": decimal}))
            write_predictions(posterior, lazy, out)
            return
        rows = read_used_columns(posterior.model, table, missing, sep=sep, decimal=decimal)
        proba = posterior.predict_proba(rows)
        found = pd.DataFrame(proba, columns=[f"proba_{label}" for label in posterior.classes])
        found.insert(0, "class", posterior.classes[proba.argmax(axis=1)])
        if interval is not None:
            ends = posterior.proba_interval(rows, prob=proportion("--interval", interval))
            for c, label in enumerate(posterior.classes):
                found[[f"lower_{label}", f"upper_{label}"]] = ends[:, c]
        write = partial(found.to_csv, index=False)
        write(sys.stdout) if out is None else _write(out, write)


def _probs_by_label(given: list[str], classes: list) -> dict[Any, float]:
    """The probabilities of the option --class-probs, by label."""
    labels, found = {str(label): label for label in classes}, {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            label, probability = labels[name], float(number)
        except (KeyError, ValueError):
            write = f"write CLASS=PROB, such as {classes[0]}=0.05, in an option for each class of {listed(labels)}"
            raise ValueError(f"--class-probs is {text!r}: {write}") from None
        if label in found:
            raise ValueError(f"--class-probs names the class {name!r} twice")
        found[label] = probability
    return found


# --------------------------------------------------------------------------------------------------
# ``bayesnb check``: does a fitted model draw tables like this one?
# --------------------------------------------------------------------------------------------------


def check_command(
    model: ModelFile,
    table: TableFile,
    target: TargetColumn,
    missing: MissingText = None,
    sep: Separator = ",",
    decimal: DecimalSign = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV file for the table of all statistics.")] = None,
    replicates: Annotated[int, typer.Option(metavar="N", min=2, help="Number of replicated data sets.")] = 500,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")] = 0,
) -> None:
    """Compare a table with tables drawn from a fitted model.

    The exit status is 0 if no statistic is extreme, 1 if one is, 2 if the model or the table cannot be used.

    \b
    Examples:
      bayesnb check model.nc train.csv --target species
      bayesnb check model.nc train.csv --target species --out statistics.csv
    """
    with _errors_in_a_line():
        given = _model_and_rows(model, table, target, out, missing=missing, sep=sep, decimal=decimal)
        result = check(*given, num_replicates=replicates, key=seed)
        _show(result, out)
        if result.note:
            typer.echo(result.note)
    raise typer.Exit(1 if result.extreme else 0)


# --------------------------------------------------------------------------------------------------
# ``bayesnb drift``: have the columns of new rows moved?
# --------------------------------------------------------------------------------------------------


def _drift_command(
    model: ModelFile,
    table: TableFile,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that holds the class, where it is known.")
    ] = None,
    missing: MissingText = None,
    sep: Separator = ",",
    decimal: DecimalSign = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="CSV file for the table of all columns.")] = None,
    smallest: Annotated[float, typer.Option(metavar="SIZE", help="Smallest change, in standard deviations.")] = 0.1,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the draws.")] = 0,
) -> None:
    """Say whether columns have moved since the fit, beyond what the classes explain.

    The exit status is 0 if no column has, 1 if one has, 2 if the model or the table cannot be used.

    \b
    Examples:
      bayesnb drift model.nc new.csv
      bayesnb drift model.nc new.csv --target species --out drift.csv
    """
    with _errors_in_a_line():
        given = _model_and_rows(model, table, target, out, missing=missing, sep=sep, decimal=decimal)
        result = drift(*given, smallest=smallest, key=seed)
        _show(result, out)
    raise typer.Exit(1 if result.drifted else 0)


# --------------------------------------------------------------------------------------------------
# The program ``bayesnb``: its commands and its version
# --------------------------------------------------------------------------------------------------

# Without rich, the help gives no types to options that are flags.
app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayesnb {version('bayesnb')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Naive Bayes as a generative model.

    The exit status is 0 for success; 1 if check finds an extreme statistic, drift a column that has moved, or compare
    no agreement; and 2 if an option, a file or a table cannot be used.

    \b
    Examples:
      bayesnb fit train.csv --target species --out model.nc
      bayesnb predict model.nc new.csv --out predictions.csv
      bayesnb check model.nc train.csv --target species
      bayesnb drift model.nc new.csv
      bayesnb compare train.csv --target species --out comparison
    """


for command in (_fit_command, _predict_command, check_command, _drift_command, _compare_command):
    app.command(command.__name__.lstrip("_").removesuffix("_command"))(command)
