import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

import bayesnb as nb
from bayesnb.cli import app

QUICK = ["--warmup", "300", "--samples", "500"]


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, ["compare", *map(str, arguments)])


def every_fourth_penguin(folder):
    X, y = nb.datasets.penguins()
    path = folder / "penguins.csv"
    X.assign(species=y, year=2007)[::4].to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("data", "missing"),
    [(every_fourth_penguin, 3), pytest.param(lambda _: "penguins", 19, marks=pytest.mark.slow)],
    ids=["a file", "the whole table"],
)
def test_compare_shows_the_model_the_table_and_the_verdict(run, tmp_path, data, missing):
    out = tmp_path / "out"
    # With this warm-up the sampler is compiled as for the session's penguins.
    options = ["--target", "species", "--drop", "year", "--warmup", 150, "--out", out]
    result = run(data(tmp_path), *options)
    assert result.exit_code == 0, result.output
    assert f"{missing} cells are missing and are skipped" in result.output
    assert "YES, the samples agree" in result.output
    assert "bill_length_mm" in result.output
    assert {path.name for path in out.iterdir()} == {"comparison.png", "comparison.csv", "exact.nc", "nuts.nc"}
    assert (out / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(out / "comparison.csv")) == 42
    with xr.open_datatree(out / "nuts.nc", engine="h5netcdf") as tree:
        assert tree["posterior"]["island_prob"].dims == ("chain", "draw", "class", "island_category")
        assert "sample_stats" in tree.children


@pytest.mark.slow
def test_a_table_of_ones_own(run, tmp_path, rng):
    table = pd.DataFrame(
        {"colour": rng.choice(["red", "blue", "?"], 40), "code": rng.integers(0, 4, 40), "y": [0, 1] * 20}
    )
    table["y"] = table["y"].astype(object)
    table.loc[0, "y"] = np.nan
    table.to_csv(tmp_path / "table.csv", index=False)
    options = ["--target", "y", "--categorical", "code", "--missing", "?", "--out", tmp_path / "out", *QUICK]
    result = run(tmp_path / "table.csv", *options)
    assert result.exit_code == 0, result.output
    assert "1 rows have no y" in result.output
    assert "colour, code ~ Categorical(prob)" in result.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "--target", "y"], "there is no file 'nowhere.csv'"),
        (["penguins", "--target", "kind"], "column 'kind' is not there"),
        (["penguins", "--target", "species", "--drop", "wings"], "column 'wings' is not there"),
        (["penguins", "--target", "species", "--categorical", "wings"], "column 'wings' is not there"),
    ],
)
def test_bad_input_is_told_in_a_line(run, arguments, words):
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_a_file_that_is_no_table(run, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    result = run(tmp_path / "empty.csv", "--target", "y")
    assert result.exit_code == 2
    assert "cannot be read as CSV" in result.output
