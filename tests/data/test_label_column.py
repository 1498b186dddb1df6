"""The label's column by its name: the same as the column and the table without it, in every verb that takes labels."""

import warnings

import numpy as np
import numpyro
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesnb as nb
from bayesnb.estimators import GaussianNB

FRAME = pd.DataFrame(
    {
        "mass": [1.0, 2.0, 4.0, 5.5, 3.0, 2.5, 4.5, 1.5],
        "kind": ["a", "b", "b", "a", "a", "b", "a", "b"],
        "eggs": [0, 3, 2, 1, 1, 0, 2, 2],
    }
)
X, Y = FRAME.drop(columns="kind"), FRAME["kind"]
MODEL = nb.NaiveBayes({"mass": nb.Gaussian(), "eggs": nb.Poisson()})


@pytest.fixture(scope="module")
def fitted():
    return nb.fit(MODEL, X, Y)


class TestFit:
    @pytest.mark.parametrize(
        "kind", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pd", "pl", "pa"]
    )
    @pytest.mark.parametrize("model", [MODEL, nb.Gaussian(), nb.NaiveBayes({"both": (nb.Gaussian(), slice(0, 2))})])
    def test_the_column_is_no_feature(self, kind, model):
        found = nb.fit(model, kind(FRAME), "kind")
        assert found.model.schema.columns == ("mass", "eggs")
        assert found.classes.tolist() == ["a", "b"]
        expected = nb.fit(model, X, Y).predict_proba(X)
        np.testing.assert_array_equal(found.predict_proba(X), expected)
        np.testing.assert_array_equal(found.predict_proba(kind(FRAME)), expected)

    def test_dask(self):
        dd = pytest.importorskip("dask.dataframe")
        found = nb.fit(MODEL, dd.from_pandas(FRAME, npartitions=3), "kind")
        np.testing.assert_allclose(found.predict_proba(X), nb.fit(MODEL, X, Y).predict_proba(X), rtol=1e-12)
        with pytest.raises(ValueError, match=r"'kinds', which is not a column of X \(did you mean 'kind'\?\)"):
            nb.fit(MODEL, dd.from_pandas(FRAME, npartitions=3), "kinds")

    def test_a_sparse_frame(self):
        sparse = pd.DataFrame(np.eye(4, 4) + np.eye(4, k=1), columns=list("abcd")).astype(pd.SparseDtype(float, 0.0))
        found = nb.fit(nb.Bernoulli(), sparse, "d")
        expected = nb.fit(nb.Bernoulli(), sparse[["a", "b", "c"]], sparse["d"].to_numpy())
        np.testing.assert_array_equal(found.predict_proba(sparse), expected.predict_proba(sparse))

    def test_missing_labels(self, fitted):
        holes = FRAME.assign(kind=FRAME["kind"].where(FRAME.index != 3, None))
        with pytest.raises(ValueError, match="row 3"):
            fitted.update(holes, "kind")

    def test_batches(self, fitted):
        found = nb.fit_batches(MODEL, [(FRAME[:3], "kind"), (FRAME[3:], "kind")])
        np.testing.assert_allclose(found.predict_proba(X), fitted.predict_proba(X), rtol=1e-12)
        with pytest.raises(ValueError, match="batch 1: y is 'sort', which is not a column of X"):
            nb.fit_batches(MODEL, [(FRAME[:3], "kind"), (FRAME[3:], "sort")])


class TestVerbs:
    """Each is called with the name, and with the column beside the table."""

    def test_update_and_forget(self, fitted):
        expected = nb.fit(MODEL, pd.concat([X, X]), [*Y, *Y])
        updated = fitted.update(FRAME, "kind")
        np.testing.assert_allclose(updated.predict_proba(X), expected.predict_proba(X), rtol=1e-12)
        np.testing.assert_allclose(updated.forget(FRAME, "kind").predict_proba(X), fitted.predict_proba(X), rtol=1e-9)

    def test_bind_statistics_and_samples(self, fitted):
        bound = MODEL.bind(FRAME, "kind")
        assert bound.schema.columns == ("mass", "eggs")
        assert bound.schema.classes.tolist() == ["a", "b"]
        assert bound.statistics(FRAME, "kind").classes.n.tolist() == [4, 4]
        draws = fitted.draws(num_chains=1, num_draws=3)
        given = nb.from_samples(MODEL, draws, X=FRAME, y="kind")
        np.testing.assert_array_equal(given.predict_proba(X), nb.from_samples(MODEL, draws, X=X, y=Y).predict_proba(X))

    def test_leave_one_out(self, fitted):
        assert nb.loo(fitted, FRAME, "kind").elpd == nb.loo(fitted, X, Y).elpd
        assert nb.loo_scores(fitted, FRAME, "kind").equals(nb.loo_scores(fitted, X, Y))
        folds = np.arange(len(X)) % 2
        assert nb.kfold(fitted, FRAME, "kind", folds=folds).elpd == nb.kfold(fitted, X, Y, folds=folds).elpd
        draws = nb.from_samples(MODEL, fitted.draws(num_chains=2, num_draws=50, key=0), X=X, y=Y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # eight rows give a large Pareto k
            assert nb.loo(draws, FRAME, "kind").elpd == nb.loo(draws, X, Y).elpd

    def test_check(self, fitted):
        def largest(table, labels):
            assert list(table.columns) == ["mass", "eggs"]
            return float(np.max(table["mass"][np.asarray(labels) == "a"]))

        found = nb.check(fitted, FRAME, "kind", statistics=[largest], num_replicates=5, key=0)
        expected = nb.check(fitted, X, Y, statistics=[largest], num_replicates=5, key=0)
        pd.testing.assert_frame_equal(found.table, expected.table)

    def test_calibration_and_models(self, fitted):
        found, expected = nb.calibration(fitted, FRAME, "kind"), nb.calibration(fitted, X, Y)
        pd.testing.assert_frame_equal(found.table, expected.table)
        models = {"counts": MODEL, "numbers": nb.NaiveBayes({"mass": nb.Gaussian()})}
        pd.testing.assert_frame_equal(
            nb.compare_models(models, FRAME, "kind").table, nb.compare_models(models, X, Y).table
        )
        score = nb.estimators.mutual_information_score(FRAME, "kind", model=MODEL)
        np.testing.assert_array_equal(score, nb.estimators.mutual_information_score(X, Y, model=MODEL))

    def test_simulation_based_calibration_and_programs(self):
        model, cells = nb.NaiveBayes({"eggs": nb.Poisson(1.0, 1.0)}), {"num_simulations": 20, "num_rows": 5}
        found = nb.sbc(model, X=FRAME, y="kind", progress=False, **cells)
        pd.testing.assert_frame_equal(found.pit, nb.sbc(model, X=X, y=Y, progress=False, **cells).pit)
        given = {"class_prob": np.array([0.5, 0.5]), "eggs_rate": np.array([1.0, 2.0])}
        for described in (model, model.bind(FRAME, "kind")):
            with numpyro.handlers.substitute(data=given), numpyro.handlers.trace() as trace:
                described.program(FRAME, "kind")
            assert trace["y"]["value"].tolist() == [0, 1, 1, 0, 0, 1, 0, 1]

    def test_plots(self, fitted):
        pytest.importorskip("matplotlib")
        for draw in (nb.plot_densities, nb.plot_log_odds, nb.plot_proba):
            figure = draw(fitted, FRAME, "kind")
            expected = draw(fitted, X, Y)
            assert len(figure.axes) == len(expected.axes)
            with pytest.raises(ValueError, match="'sort', which is not a column"):
                draw(fitted, FRAME, "sort")


class TestRefused:
    def test_a_text_is_the_name_of_a_column(self, fitted):
        """Also where the table has one row, for which a text could be its label."""
        for call in (
            lambda table, y: nb.fit(MODEL, table, y),
            lambda table, y: fitted.update(table, y),
            lambda table, y: nb.loo(fitted, table, y),
            lambda table, y: nb.check(fitted, table, y),
            lambda table, y: nb.calibration(fitted, table, y),
        ):
            listed = r"y is 'a', which is not a column of X.*'mass', 'eggs', or give a label"
            with pytest.raises(ValueError, match=listed):
                call(X[:1], "a")
            with pytest.raises(TypeError, match=r"y is the text 'a'.*the columns of X have no names: give a label for"):
                call(X[:1].to_numpy(), "a")
        with pytest.raises(TypeError, match="y is the text b'a': give a value for each row"):
            nb.fit(MODEL, X[:1], b"a")

    def test_a_feature_of_the_model_is_not_its_label(self):
        for features in ({"kind": nb.Categorical()}, {"all": (nb.Categorical(), ["mass", "kind"])}):
            model = nb.NaiveBayes(features)
            for call in (
                lambda model=model: nb.fit(model, FRAME, "kind"),
                lambda model=model: model.bind(FRAME, "kind"),
                lambda model=model: nb.fit_batches(model, [(FRAME, "kind")]),
            ):
                with pytest.raises(ValueError, match=r"column 'kind' holds the labels.*exclude=\['kind'\]"):
                    call()

    def test_other_kinds_of_tables(self):
        with pytest.raises(TypeError, match="lazy frame: collect it first"):
            nb.fit(MODEL, pl.from_pandas(FRAME).lazy(), "kind")
        with pytest.raises(ValueError, match="column 'mass' occurs twice"):
            nb.fit(MODEL, pd.concat([FRAME, X], axis=1), "kind")
        with pytest.raises(ValueError, match="X has no columns"):
            nb.fit(MODEL, FRAME[["kind"]], "kind")


class TestOneClass:
    """A warning that names the class; every prediction is that class."""

    X, Y = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]]), ["alone"] * 3

    def test_is_warned_of_by_every_fit(self, tmp_path):
        frame = pd.DataFrame(self.X, columns=["u", "v"]).assign(y=self.Y)
        frame.to_parquet(tmp_path / "one.parquet")
        for fit in (
            lambda: nb.fit(nb.Gaussian(), self.X, self.Y),
            lambda: nb.fit(nb.Gaussian(), frame, "y"),
            lambda: nb.fit_batches(nb.Gaussian(), [(self.X, self.Y), (self.X, self.Y)]),
            lambda: nb.fit_parquet(nb.Gaussian(), tmp_path / "one.parquet", "y"),
            lambda: GaussianNB().fit(self.X, self.Y),
        ):
            with pytest.warns(
                UserWarning, match=r"y has one class only, 'alone', so.*classes=\['alone', \.\.\.\]"
            ) as told:
                fitted = fit()
            assert len(told) == 1
            assert fitted.predict(self.X).tolist() == self.Y
            np.testing.assert_array_equal(fitted.predict_proba(self.X), np.ones((3, 1)))

    @pytest.mark.filterwarnings("error")
    def test_is_not_warned_of_where_classes_are_named(self):
        alone = nb.fit(nb.Gaussian(), self.X, self.Y, classes=["alone"])
        assert alone.predict(self.X).tolist() == self.Y
        alone.update(self.X, self.Y).forget(self.X, self.Y)
        both = nb.fit(nb.Gaussian(), self.X, self.Y, classes=["alone", "absent"])
        assert both.predict_proba(self.X).shape == (3, 2)
