"""What every posterior answers."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import Exponential
from scipy import stats
from scipy.special import logsumexp

import bayesnb as nb


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 40)
    X = pd.DataFrame(
        {
            "bill": np.where(rng.uniform(size=40) < 0.3 + 0.4 * y, 1, 0),
            "party": np.where(y, rng.choice(["a", "b", "c"], 40), "a"),
            "age": rng.normal(50 + 5 * y, 6),
        }
    )
    X.loc[2, "age"] = np.nan
    model = nb.NaiveBayes({"bill": nb.Bernoulli(), "party": nb.Categorical(), "age": nb.Gaussian()})
    return model, X, y


@pytest.fixture(scope="module")
def posteriors(votes):
    model, X, y = votes
    exact = nb.fit(model, X, y)
    samples = exact.draws(num_chains=4, num_draws=500, key=2)
    return {
        "exact": exact,
        "sampled": nb.from_samples(model, samples, X=X, y=y),
        "point": nb.fit(nb.NaiveBayes(dict(model.features), class_concentration=2.0), X, y, nb.MAP()),
    }


@pytest.mark.parametrize("kind", ["exact", "sampled", "point"])
def test_every_posterior_predicts(posteriors, votes, kind):
    _, X, _ = votes
    posterior = posteriors[kind]
    proba = posterior.predict_proba(X)
    np.testing.assert_allclose(proba.sum(1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(proba, np.exp(posterior.predict_log_proba(X)), rtol=1e-12)
    joint = posterior.log_joint(X)
    np.testing.assert_allclose(
        joint - logsumexp(joint, axis=1, keepdims=True), posterior.predict_log_proba(X), atol=1e-12
    )
    assert (posterior.predict(X) == posterior.classes[proba.argmax(1)]).all()
    assert type(proba) is np.ndarray
    assert proba.dtype == np.float64
    assert posterior.predict_proba(X[::-1]).tolist() == proba[::-1].tolist()
    assert posterior.predict_proba(X.iloc[:0]).shape == (0, 2)


@pytest.mark.parametrize("kind", ["exact", "sampled", "point"])
def test_every_posterior_simulates(posteriors, votes, kind):
    posterior = posteriors[kind]
    n = 4000
    X, y = posterior.simulate(n, key=1)
    assert list(X.columns) == ["bill", "party", "age"]
    for c, label in enumerate(posterior.classes):
        expected = posterior.class_probs()[c]
        assert abs((y == label).mean() - expected) < 4.8 * np.sqrt(expected * (1 - expected) / n)
    # The joint frequency of class, bill and party, against the predictive density.
    for bill in (0, 1):
        for party in "abc":
            cell = pd.DataFrame({"bill": [bill], "party": [party], "age": [np.nan]})
            for c, label in enumerate(posterior.classes):
                expected = np.exp(posterior.log_joint(cell)[0, c])
                observed = ((X["bill"] == bill) & (X["party"] == party) & (y == label)).mean()
                assert abs(observed - expected) < 4.8 * np.sqrt(expected * (1 - expected) / n) + 1e-12
    again, _ = posterior.simulate(n, key=1)
    pd.testing.assert_frame_equal(X, again)


def test_the_predictive_averages_the_joint_and_the_draws_average_the_conditional(posteriors, votes):
    _, X, _ = votes
    exact, sampled = posteriors["exact"], posteriors["sampled"]
    np.testing.assert_allclose(sampled.predict_proba(X), exact.predict_proba(X), atol=0.02)
    draws = sampled.proba_draws(X)
    assert draws.shape == (4, 500, 40, 2)
    np.testing.assert_allclose(draws.sum(-1), 1.0)
    joint = sampled.log_joint_draws(X).reshape(2000, 40, 2)
    by_hand = logsumexp(joint, axis=0)
    by_hand = np.exp(by_hand - logsumexp(by_hand, axis=1, keepdims=True))
    np.testing.assert_allclose(sampled.predict_proba(X), by_hand, rtol=1e-10)
    assert np.abs(draws.mean((0, 1)) - sampled.predict_proba(X)).max() > 0.005


def test_a_dozen_rows_tell_the_two_predictives_apart():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (12, 6)), rng.integers(0, 2, 12)
    exact = nb.fit(nb.NaiveBayes(nb.Bernoulli()), X, y)
    draws = exact.draws(num_draws=5000)
    sampled = nb.from_samples(nb.NaiveBayes(nb.Bernoulli()), draws, X=X, y=y)
    new = rng.integers(0, 2, (50, 6))
    np.testing.assert_allclose(sampled.predict_proba(new), exact.predict_proba(new), atol=0.01)
    assert np.abs(sampled.proba_draws(new).mean((0, 1)) - exact.predict_proba(new)).max() > 0.02


def test_intervals_are_quantiles_of_the_posterior():
    """Of a row without any observed cell: the class probability itself, whose posterior is a Beta."""
    posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), [[1]] * 30, ["a"] * 9 + ["b"] * 21)
    interval = posterior.proba_interval([[np.nan]], prob=0.8, num_draws=20_000)
    np.testing.assert_allclose(interval[0, 0], stats.beta.ppf([0.1, 0.9], 10, 22), atol=0.004)


def test_intervals_cover_and_narrow(votes):
    model, X, y = votes
    exact = nb.fit(model, X, y)
    interval = exact.proba_interval(X, prob=0.9, key=1)
    assert interval.shape == (40, 2, 2)
    assert (interval[..., 0] <= interval[..., 1]).all()
    np.testing.assert_allclose(interval[:, 0, 0], 1 - interval[:, 1, 1], atol=1e-12)
    many = nb.fit(model, X, y, sample_weight=np.full(40, 100.0)).proba_interval(X, prob=0.9, key=1)
    assert np.median(many[..., 1] - many[..., 0]) < np.median(interval[..., 1] - interval[..., 0]) / 3
    narrow = exact.proba_interval(X, prob=0.5, key=1)
    assert (narrow[..., 1] - narrow[..., 0] <= interval[..., 1] - interval[..., 0] + 1e-12).all()


def test_forgetting_everything_leaves_the_prior(votes):
    model, X, y = votes
    prior = nb.fit(model, X, y).forget(X, y)
    assert prior.log_evidence == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(prior.predict_proba(X), 0.5)


def test_evidence_of_labels_and_cells_by_enumeration():
    """All tables of three rows, two binary columns and two classes: their evidences sum to one."""
    model = nb.NaiveBayes(nb.Bernoulli(0.7, 1.3), class_concentration=[0.5, 2.0])
    total = 0.0
    for code in range(2**9):
        bits = [(code >> k) & 1 for k in range(9)]
        X, y = np.array(bits[:6]).reshape(3, 2), np.array(bits[6:])
        total += np.exp(nb.fit(model, X, y, classes=[0, 1]).log_evidence)
    assert total == pytest.approx(1.0, abs=1e-12)


def test_evidence_by_enumeration_of_categories_and_counts():
    total = 0.0
    for first in range(3):
        for second in range(3):
            posterior = nb.fit(nb.NaiveBayes(nb.Categorical(0.4, categories=range(3))), [[first], [second]], ["c", "c"])
            total += np.exp(posterior.log_evidence)
    assert total == pytest.approx(1.0, abs=1e-12)
    documents = [[a, b, 3 - a - b] for a in range(4) for b in range(4 - a)]
    pairs = [
        nb.fit(nb.NaiveBayes(nb.Multinomial(0.4)), [one, two], ["c", "c"]) for one in documents for two in documents
    ]
    assert np.exp([posterior.log_evidence for posterior in pairs]).sum() == pytest.approx(1.0, abs=1e-12)


def test_given_parameters_and_points_refuse_what_they_cannot_do(posteriors, votes):
    _, X, y = votes
    known = nb.from_parameters(
        nb.Bernoulli(), classes=[0, 1], class_probs=[0.5, 0.5], parameters={"prob": [[0.2], [0.6]]}
    )
    for verb in ("update", "forget"):
        with pytest.raises(ValueError, match=rf"{verb} needs data.*nb\.fit"):
            getattr(known, verb)([[1]], [0])
    with pytest.raises(ValueError, match="log_evidence needs data"):
        _ = known.log_evidence
    for call in (lambda p: p.draws(), lambda p: p.proba_interval(X), lambda p: p.to_datatree()):
        with pytest.raises(ValueError, match=r"this is a point estimate: use nb\.Exact"):
            call(posteriors["point"])
    with pytest.raises(ValueError, match="from_samples"):
        posteriors["sampled"].update(X, y)
    with pytest.raises(ValueError, match="not 4 of 900"):
        posteriors["sampled"].draws(num_draws=900)


@pytest.mark.parametrize(
    "parameters",
    [
        {"prob": [[0.2, 0.5], [0.6, 0.1]]},
        {"x": [[0.2, 0.5], [0.6, 0.1]]},
        {"x_prob": [[0.2, 0.5], [0.6, 0.1]]},
        {"x": {"prob": [[0.2, 0.5], [0.6, 0.1]]}},
    ],
    ids=str,
)
def test_tables_by_any_of_their_names(parameters):
    known = nb.from_parameters(nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters=parameters)
    np.testing.assert_allclose(np.exp(known.log_joint([[1, 0]])), [[0.5 * 0.2 * 0.5, 0.5 * 0.6 * 0.9]])


def test_the_names_of_the_mean_are_those_of_given_parameters():
    X = pd.DataFrame({"bill": [1.0, 2.0, 4.0, 3.0], "shut": [0, 1, 1, 0], "kind": list("xyxz")})
    kinds = nb.Categorical(categories=("x", "y", "z"))
    model = nb.NaiveBayes({"bill": nb.Gaussian(), "shut": nb.Bernoulli(), "kind": kinds})
    fitted = nb.fit(model, X, list("uuvv"))
    known = nb.from_parameters(model, classes=["u", "v"], parameters=fitted.mean())
    np.testing.assert_array_equal(known.log_joint(X), fitted.plugin().log_joint(X))
    with pytest.raises(ValueError, match="parameters has 'more', which the model does not"):
        nb.from_parameters(model, classes=["u", "v"], parameters=fitted.mean() | {"more": 1.0})


def test_given_tables_have_no_labels_to_count():
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical")
    with pytest.raises(ValueError, match="class_probs='empirical' needs data: give the probability of each class"):
        nb.from_parameters(model, classes=["a", "b"], parameters={"prob": [[0.2], [0.6]]})
    known = nb.from_parameters(model, classes=["a", "b"], class_probs=[0.3, 0.7], parameters={"prob": [[0.2], [0.6]]})
    assert known.class_probs().tolist() == [0.3, 0.7]


def test_tables_of_columns_with_names_of_two_types():
    known = nb.from_parameters(
        nb.Bernoulli(), classes=["a"], class_probs=[1.0], parameters={"x": [[0.2, 0.9]]}, columns=["red", 7]
    )
    np.testing.assert_allclose(np.exp(known.log_joint(pd.DataFrame({7: [1], "red": [0]}))), [[0.8 * 0.9]])


def test_gaussian_tables_by_column():
    model = nb.NaiveBayes({"height": nb.Gaussian(), "sex": nb.Bernoulli()})
    known = nb.from_parameters(
        model,
        classes=["x", "y"],
        class_probs=[0.3, 0.7],
        parameters={"height": {"mean": [1.0, 2.0], "variance": [1.0, 4.0]}, "sex": [0.5, 0.1]},
    )
    from scipy.stats import norm

    expected = [0.3 * norm.pdf(1.5, 1, 1) * 0.5, 0.7 * norm.pdf(1.5, 2, 2) * 0.1]
    np.testing.assert_allclose(np.exp(known.log_joint(pd.DataFrame({"sex": [1], "height": [1.5]})))[0], expected)
    X, _ = known.simulate(5)
    assert list(X.columns) == ["height", "sex"]
    with pytest.raises(ValueError, match="'height_variance' are not all positive"):
        nb.from_parameters(
            model,
            classes=["x", "y"],
            class_probs=[0.3, 0.7],
            parameters={"height": {"mean": [1.0, 2.0], "variance": [1.0, -4.0]}, "sex": [0.5, 0.1]},
        )


@pytest.mark.parametrize("kind", ["exact", "sampled", "point"])
def test_saved_posteriors_predict_bit_for_bit_the_same(posteriors, votes, kind, tmp_path):
    import xarray as xr

    _, X, _ = votes
    posterior = posteriors[kind]
    path = tmp_path / "posterior.nc"
    posterior.save(path)
    loaded = nb.load(path)
    assert type(loaded) is type(posterior)
    assert loaded.log_joint(X).tobytes() == posterior.log_joint(X).tobytes()
    assert repr(loaded) == repr(posterior)
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        assert tree.attrs["bayesnb_format"] == 4


@pytest.mark.slow
def test_a_fresh_process_predicts_bit_for_bit_the_same(posteriors, votes, tmp_path):
    _, X, _ = votes
    posteriors["exact"].save(tmp_path / "posterior.nc")
    X.to_pickle(tmp_path / "X.pickle")
    code = "import sys, pandas as pd, bayesnb as nb; X = pd.read_pickle(sys.argv[2])\n"
    code += "print(nb.load(sys.argv[1]).predict_proba(X).tobytes().hex())"
    paths = [str(tmp_path / name) for name in ("posterior.nc", "X.pickle")]
    printed = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == posteriors["exact"].predict_proba(X).tobytes().hex()


def test_files_that_are_no_posteriors_are_refused(posteriors, tmp_path):
    import h5py
    import xarray as xr

    path = tmp_path / "posterior.nc"
    posteriors["exact"].save(path)
    with pytest.raises(FileNotFoundError, match="no file"):
        nb.load(tmp_path / "nothing.nc")
    text = tmp_path / "text.nc"
    text.write_text("hello")
    with pytest.raises(ValueError, match="cannot be read as netCDF"):
        nb.load(text)
    short = tmp_path / "short.nc"
    short.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(ValueError, match="cut short"):
        nb.load(short)
    other = tmp_path / "other.nc"
    for attributes in ({}, {"bayesnb_format": 4}, {"bayesnb": "{}"}):
        xr.Dataset({"a": ("x", [1.0])}, attrs=attributes).to_netcdf(other, engine="h5netcdf")
        with pytest.raises(ValueError, match="not a posterior"):
            nb.load(other)
    with h5py.File(path, "r+") as file:
        file.attrs["bayesnb_format"] = 99
    with pytest.raises(ValueError, match=r"format 99.*upgrade"):
        nb.load(path)
    posteriors["exact"].save(path)
    with h5py.File(path, "r+") as file:
        file["arrays/v0"][0] += 1
    with pytest.raises(ValueError, match="changed after it was saved"):
        nb.load(path)


def test_datatree_carries_arviz_groups(posteriors, votes):
    import arviz as az

    _, X, y = votes
    tree = posteriors["exact"].to_datatree(X, y, num_draws=250)
    of_data = {"log_likelihood", "observed_data", "constant_data", "posterior_predictive", "prior_predictive"}
    assert set(tree.children) == {"posterior", "prior", "log_prior"} | of_data
    assert tree.posterior["party_prob"].dims == ("chain", "draw", "class", "party_category")
    assert tree.posterior.coords["party_category"].values.tolist() == ["a", "b", "c"]
    assert tree.attrs["modeling_interface"] == "bayesnb"
    assert az.summary(tree, round_to="none")["ess_bulk"].min() > 700
    elpd = az.loo(tree, var_name="y")
    assert elpd.n_data_points == 40
    joint = posteriors["exact"].log_joint_draws(X, num_draws=250)
    np.testing.assert_allclose(tree.log_likelihood["joint"].values, joint[:, :, np.arange(40), y])


def test_what_a_posterior_shows_of_itself(posteriors):
    text = repr(posteriors["exact"])
    assert text.startswith("ExactPosterior: 40 rows, classes [0, 1]")
    assert "party ~ Categorical(prob)" in text
    posterior, _, prior = text.partition("Prior:")
    assert "~" not in posterior
    assert "±" not in prior
    assert repr(nb.fit(nb.Poisson(), [[3]], ["a"], classes=["a", "b"])).startswith("ExactPosterior: 1 row, classes")
    assert "4 chains of 500 draws (divergences unknown, R-hat up to 1.0" in repr(posteriors["sampled"])
    diagnostics = posteriors["sampled"].diagnostics
    worst = diagnostics.labels[int(np.nanargmax(diagnostics.r_hat))]
    least = diagnostics.labels[int(np.nanargmin(np.fmin(diagnostics.ess_bulk, diagnostics.ess_tail)))]
    assert f" for {worst}, ESS from " in str(diagnostics)
    assert str(diagnostics).endswith(f" for {least}")
    assert "party_prob[0, b]" in diagnostics.labels


def test_a_summary_of_every_parameter(posteriors, votes):
    exact, sampled, point = (posteriors[kind].summary() for kind in ("exact", "sampled", "point"))
    assert exact.index.tolist() == sampled.index.tolist() == point.index.tolist()
    draws = posteriors["exact"].draws(num_draws=20_000)
    by_draws = np.concatenate([draws[site].reshape(80_000, -1) for site in draws], axis=1)
    np.testing.assert_allclose(exact["mean"], by_draws.mean(0), rtol=0.02)
    np.testing.assert_allclose(exact["sd"], by_draws.std(0), rtol=0.03)
    np.testing.assert_allclose(exact["lower"], np.quantile(by_draws, 0.055, axis=0), rtol=0.05, atol=0.003)
    np.testing.assert_allclose(exact["upper"], np.quantile(by_draws, 0.945, axis=0), rtol=0.05)
    np.testing.assert_allclose(sampled["mean"], exact["mean"], rtol=0.2, atol=0.02)
    own = posteriors["sampled"].draws()
    own = np.concatenate([values.reshape(-1, values[0, 0].size) for values in own.values()], axis=1)
    np.testing.assert_allclose(sampled["mean"], own.mean(0), rtol=1e-12)
    np.testing.assert_allclose(sampled["sd"], own.std(0, ddof=1), rtol=1e-9)
    assert (sampled["r_hat"] < 1.02).all()
    assert point.loc["bill_prob[1]", "value"] == posteriors["point"].mean()["bill_prob"][1]
    model, X, y = votes
    known = nb.fit(nb.NaiveBayes(dict(model.features), class_probs=[0.25, 0.75]), X, y).summary()
    assert known.loc["class_prob[1]"].tolist() == [0.75, 0.0, 0.75, 0.75]
    with pytest.raises(ValueError, match="prob is 2"):
        posteriors["exact"].summary(prob=2)


def cell(text, label, position):
    """A cell of the table of parameters, by its row and the position of its class."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"{label} ")]
    return line.removeprefix(label).split()[position]


@pytest.mark.parametrize("kind", ["exact", "averaged", "sampled"])
def test_a_posterior_shows_the_mean_and_sd_of_its_parameters_by_class(posteriors, kind):
    posterior = posteriors["exact"].averaged() if kind == "averaged" else posteriors[kind]
    summary, text = posterior.summary(), repr(posterior)
    for label, row in [
        ("class_prob", "class_prob[{}]"),
        ("bill_prob", "bill_prob[{}]"),
        ("party_prob[b]", "party_prob[{}, b]"),
    ]:
        for c in (0, 1):
            mean, sd = (float(number) for number in cell(text, label, c).split("±"))
            assert mean == pytest.approx(summary.loc[row.format(c), "mean"], abs=0.051 * sd)
            assert sd == pytest.approx(summary.loc[row.format(c), "sd"], rel=0.05)


def test_the_moments_of_a_site_are_those_of_the_summary(posteriors):
    for posterior in (posteriors["exact"], posteriors["exact"].averaged(), posteriors["sampled"], posteriors["point"]):
        for site, columns in posterior.distribution.summaries(0.5).items():
            for name, values in posterior.distribution.moments(site).items():
                np.testing.assert_allclose(values, np.asarray(columns[name]), rtol=1e-12)


def test_class_probabilities_that_are_known_have_no_spread(votes):
    model, X, y = votes
    for inclusion in (None, 0.5):
        known = nb.NaiveBayes(dict(model.features), class_probs=[0.25, 0.75], feature_inclusion=inclusion)
        assert cell(repr(nb.fit(known, X, y)), "class_prob", 0) == "0.25±0"


def test_many_features_classes_and_categories_are_counted_and_not_shown(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 50)), columns=[f"mass{j}" for j in range(50)])
    posterior = nb.fit(nb.NaiveBayes(dict.fromkeys(X, nb.Gaussian())), X, np.arange(80) % 40)
    text = repr(posterior)
    lines = text.splitlines()
    assert len(lines) < 60
    assert max(map(len, lines)) <= 80
    # The mean and the variance of a feature are side by side, and no feature is shown in part.
    shown = [line.split()[0] for line in lines if line.startswith("mass")]
    assert shown[:4] == ["mass0_mean", "mass0_variance", "mass1_mean", "mass1_variance"]
    assert len(shown) == 18
    assert "… and 41 more of 50 features in .summary()" in lines
    classes = next(line for line in lines if line.startswith("class ")).split()[1:]
    assert f"… and {40 - len(classes)} more of 40 classes" in lines
    monkeypatch.setenv("COLUMNS", "160")
    wider = next(line for line in repr(posterior).splitlines() if line.startswith("class ")).split()[1:]
    assert len(wider) > len(classes)
    vectors = repr(nb.fit(nb.Multinomial(), rng.poisson(3, (9, 300)), [0, 1, 2] * 3))
    assert "… and 292 more of x_prob" in vectors
    assert "x_prob[7]" in vectors
    assert "x_prob[8]" not in vectors


def test_a_family_without_marginals_prints_a_question_mark(monkeypatch):
    posterior = nb.fit(nb.Bernoulli(), [[0], [1]], ["a", "b"])

    def refuse(self):
        raise NotImplementedError

    monkeypatch.setattr(nb.Bernoulli, "marginals", refuse)
    assert cell(repr(posterior), "x_prob", 0) == "?"


def test_html_of_a_posterior_is_escaped():
    X = pd.DataFrame({"<b>mass": [0.1, 0.2, 0.4, 0.3]})
    posterior = nb.fit(nb.NaiveBayes({"<b>mass": nb.Gaussian()}), X, ["<i>a", "<i>a", "b", "b"])
    for shown in (posterior, posterior.model, nb.NaiveBayes({"<b>mass": nb.Gaussian()}), posterior.averaged()):
        html = shown._repr_html_()
        assert "<b>mass" not in html
        assert "&lt;b&gt;mass" in html
        assert "<i>" not in html


def test_a_notebook_shows_the_story_and_the_summary(posteriors):
    html = posteriors["exact"]._repr_html_()
    assert "<b>ExactPosterior: 40 rows" in html
    assert "party ~ Categorical(prob)" in html
    assert "<table" in html
    wide = nb.fit(nb.Bernoulli(), np.eye(4000, dtype=int)[:4], [0, 1, 0, 1])
    assert wide._repr_html_().count("<tr") == 12
    assert "… and 3992 more of x_prob" in wide._repr_html_()


@pytest.mark.parametrize("constant", [0.0, 0.1, -1234.567])
def test_forgetting_what_made_a_column_vary(constant):
    rng = np.random.default_rng(1)
    X, y = np.c_[rng.normal(size=30), np.full(30, constant)], np.repeat(["a", "b"], 15)
    X[:3, 1] += [0.7, 4.2, 5.6]
    left, refitted = nb.fit(nb.Gaussian(), X, y).forget(X[:3], y[:3]), nb.fit(nb.Gaussian(), X[3:], y[3:])
    assert left.log_evidence == pytest.approx(refitted.log_evidence, rel=1e-9)
    np.testing.assert_allclose(left.predict_proba(X[3:]), refitted.predict_proba(X[3:]), rtol=1e-9)


def test_a_class_without_rows_has_its_prior():
    X = np.random.default_rng(0).normal(size=(10, 1))
    posterior = nb.fit(nb.Gaussian(), X, ["a"] * 5 + ["b"] * 5, classes=["a", "b", "c"])
    summary = posterior.summary()
    assert np.isinf(summary.loc["x_variance[c, 0]", "mean"])
    assert np.isfinite(summary.loc["x_mean[c, 0]", ["mean", "lower", "upper"]]).all()
    assert np.isinf(posterior.mean()["x_variance"][2, 0])
    assert "inf" in posterior._repr_html_()


def test_samples_need_no_class_probabilities_that_are_known():
    X, y = np.array([[0], [1], [1], [0]]), ["a", "b", "b", "b"]
    model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.3, 0.7])
    exact = nb.fit(model, X, y)
    draws = exact.draws(num_chains=2, num_draws=4000, key=1)
    of_features = {name: value for name, value in draws.items() if name != "class_prob"}
    sampled = nb.from_samples(model, of_features, X=X, y=y)
    np.testing.assert_array_equal(sampled.draws()["class_prob"], np.broadcast_to([0.3, 0.7], (2, 4000, 2)))
    np.testing.assert_allclose(sampled.predict_proba(X), exact.predict_proba(X), atol=0.02)


def test_a_users_family_is_evaluated_in_float64():
    """Waiting times: the predictive is Lomax, a (b + t)^-(a + 1) b^a, to the digits of float64."""
    waits = np.array([[0.123456789], [1.3], [2.7]])
    posterior = nb.fit(nb.NaiveBayes(Exponential(2.0, 3.0)), waits, ["a"] * 3)
    a, b = 2.0 + 3, 3.0 + waits.sum()
    expected = np.log(a) + a * np.log(b) - (a + 1) * np.log(b + waits)
    np.testing.assert_allclose(posterior.log_joint(waits), expected, rtol=1e-13)


def test_an_infinite_variance_of_two_cells_causes_no_warning():
    X, y = [[1.5], [2.5], [3.0], [4.0]], ["a", "a", "b", "b"]
    exact = nb.fit(nb.Gaussian(), X, y)
    assert np.isinf(exact.averaged().summary()["sd"].filter(like="variance")).all()
    nb.compare(exact, nb.from_samples(nb.Gaussian(), exact.draws(), X=X, y=y)).plot()


def test_intervals_are_quantiles_of_the_draws_piece_by_piece(monkeypatch):
    """Rows that no class can have get the class probabilities of each draw, with one warning for all pieces."""
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 3, (50, 2)), rng.integers(0, 2, 50)
    exact = nb.fit(nb.NaiveBayes(nb.Categorical(categories=(0, 1, 2))), X, y)
    draws = exact.draws(num_draws=30, num_chains=2, key=1)
    for site in ("0_prob", "1_prob"):
        draws[site][..., 2] = 0.0
        draws[site] /= draws[site].sum(axis=-1, keepdims=True)
    sampled = nb.from_samples(exact.model, draws, X=X, y=y)
    rows = np.where(X == 2, 1, X)
    rows[[7, 30]] = 2
    with pytest.warns(UserWarning, match="probability zero under every class"):
        expected = np.quantile(sampled.proba_draws(rows), [0.1, 0.9], axis=(0, 1))
    for size in (2**26, 8 * 60 * 2 * 4):
        monkeypatch.setattr("bayesnb.posterior.under_draws.DRAW_BYTES", size)
        with pytest.warns(UserWarning, match=r"^2 row\(s\), the first of them row 7,") as caught:
            found = sampled.proba_interval(rows, prob=0.8)
        assert len(caught) == 1
        np.testing.assert_allclose(found, np.moveaxis(expected, 0, -1), rtol=1e-12)


def test_a_point_shows_its_values_in_four_digits():
    known = nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.5, 0.5], parameters={"prob": [[0.123456], [0.5]]}
    )
    assert [cell(repr(known), "x_prob[0]", c) for c in (0, 1)] == ["0.1235", "0.5"]
    assert "±" not in repr(known)


def test_cells_simulated_like_a_table_lie_on_its_lattice_and_in_its_range():
    """Few rows of a class give tails without a variance, which leave the range."""
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], [4, 20])
    X = pd.DataFrame(
        {
            "deck": rng.integers(1, 4, 24).astype(float),
            "price": rng.integers(2, 9, 24) / 10,
            "days": rng.integers(0, 6, 24),
            "size": rng.normal(size=24),
        }
    )
    X.loc[3, "price"] = np.nan
    families = {"deck": nb.Gaussian(), "price": nb.Exponential(), "days": nb.Poisson(), "size": nb.Gaussian()}
    posterior = nb.fit(nb.NaiveBayes(families), X, y)
    drawn, _ = posterior.simulate(400, key=1)
    alike, labels = posterior.simulate(400, like=X, key=1)
    assert not drawn["deck"].between(1, 3).all()
    assert set(alike["deck"]) == {1.0, 2.0, 3.0}
    assert set(alike["price"]) <= {k / 10 for k in range(2, 9)}
    inside = drawn["deck"].between(1, 3)
    np.testing.assert_array_equal(alike["deck"][inside], drawn["deck"][inside].round())
    pd.testing.assert_frame_equal(alike[["days", "size"]], drawn[["days", "size"]])
    assert len(labels) == 400


def test_columns_of_bins_on_a_lattice_are_simulated_on_it_and_inside_its_range(rng):
    y = rng.integers(0, 2, 60)
    frame = pd.DataFrame({"grade": 1 + rng.binomial(2, 0.3 + 0.4 * y), "share": rng.integers(1, 8, 60) / 10})
    model = {"grade": nb.PolyaTree(), "share": nb.Histogram()}
    drawn, _ = nb.fit(nb.NaiveBayes(model), frame, y).simulate(5000, key=1)
    assert set(drawn["grade"]) == {1.0, 2.0, 3.0}
    assert set(drawn["share"]) <= {share / 10 for share in range(1, 8)}
