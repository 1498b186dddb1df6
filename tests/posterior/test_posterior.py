"""Numbers of posteriors by hand, known parameters, simulated rows, and the printed form."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from trees import CLASSES

import bayesnb as nb


def test_the_names_of_the_mean_are_those_of_given_parameters():
    X = pd.DataFrame({"bill": [1.0, 2.0, 4.0, 3.0], "shut": [0, 1, 1, 0], "kind": list("xyxz")})
    kinds = nb.Categorical(categories=("x", "y", "z"))
    model = nb.NaiveBayes({"bill": nb.Gaussian(), "shut": nb.Bernoulli(), "kind": kinds})
    fitted = nb.fit(model, X, list("uuvv"))
    known = nb.from_parameters(model, classes=["u", "v"], parameters=fitted.mean())
    np.testing.assert_array_equal(known.log_joint(X), fitted.plugin().log_joint(X))
    with pytest.raises(ValueError, match="parameters has 'more', which the model does not"):
        nb.from_parameters(model, classes=["u", "v"], parameters=fitted.mean() | {"more": 1.0})


def test_many_features_and_classes_are_counted_and_not_shown():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 50)), columns=[f"mass{j}" for j in range(50)])
    posterior = nb.fit(nb.NaiveBayes(dict.fromkeys(X, nb.Gaussian())), X, np.arange(80) % 40)
    lines = repr(posterior).splitlines()
    # The mean and the variance of a feature are side by side, and no feature is shown in part.
    shown = [line.split()[0] for line in lines if line.startswith("mass")]
    assert shown[:4] == ["mass0_mean", "mass0_variance", "mass1_mean", "mass1_variance"]
    assert len(shown) == 18
    assert "… and 41 more of 50 features in .summary()" in lines
    classes = next(line for line in lines if line.startswith("class ")).split()[1:]
    assert f"… and {40 - len(classes)} more of 40 classes" in lines


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


def test_an_infinite_variance_of_two_cells_causes_no_warning():
    X, y = [[1.5], [2.5], [3.0], [4.0]], ["a", "a", "b", "b"]
    exact = nb.fit(nb.Gaussian(), X, y)
    assert np.isinf(exact.averaged().summary()["sd"].filter(like="variance")).all()
    nb.compare(exact, nb.from_samples(nb.Gaussian(), exact.draws(), X=X, y=y)).plot()


def test_a_feature_of_certain_inclusion_has_the_moments_of_one_model():
    """Also where a class of one row has a variance of infinite mean."""
    family, X, y = nb.Gaussian(0.0, 1.0, 0.2, 1.0), [[1.0], [2.0], [3.0], [3.5], [4.0]], list("abbbb")
    never, always = (nb.fit(nb.NaiveBayes(family, feature_inclusion=prob), X, y).summary()["sd"] for prob in (0.0, 1.0))
    np.testing.assert_allclose(always, nb.fit(family, X, y).summary()["sd"], rtol=1e-12)
    together = nb.fit(family, X, list("bbbbb"), classes=["a", "b"]).summary()["sd"]
    for site in ("x_mean", "x_variance"):
        np.testing.assert_allclose(never.filter(like=site), together[f"{site}[b, 0]"], rtol=1e-12)


def test_rows_that_no_class_can_have_get_the_class_probabilities_of_each_draw(monkeypatch):
    """With one warning for all pieces."""
    X, y = np.array([[0], [1], [1]] * 8), np.arange(24) % 2
    X[[6, 13]] = 2
    exact = nb.fit(nb.NaiveBayes(nb.Categorical(categories=(0, 1, 2))), X, y)
    draws = exact.draws(num_draws=30, num_chains=2, key=1)
    draws["0_prob"] = draws["0_prob"] * [1, 1, 0] / draws["0_prob"][..., :2].sum(axis=-1, keepdims=True)
    sampled = nb.from_samples(exact.model, draws, X=X, y=y)
    with pytest.warns(UserWarning, match="probability zero under every class"):
        expected = np.quantile(sampled.proba_draws(X), [0.1, 0.9], axis=(0, 1))
    for size in (2**26, 8 * 60 * 2 * 4):
        monkeypatch.setattr("bayesnb.posterior.under_draws.DRAW_BYTES", size)
        with pytest.warns(UserWarning, match=r"^2 row\(s\), the first of them row 6,") as caught:
            found = sampled.proba_interval(X, prob=0.8)
        assert len(caught) == 1
        np.testing.assert_allclose(found, np.moveaxis(expected, 0, -1), rtol=1e-12)


def test_cells_simulated_like_a_table_lie_on_its_lattice_and_in_its_range():
    """Few rows of a class give tails without a variance, which leave the range."""
    rng, y = np.random.default_rng(2), np.repeat([0, 1], [4, 20])
    X = pd.DataFrame(
        {
            "deck": rng.integers(1, 4, 24).astype(float),
            "price": rng.integers(2, 9, 24) / 10,
            "days": rng.integers(0, 6, 24),
            "size": rng.normal(size=24),
            "grade": 1 + rng.binomial(2, 0.3 + 0.4 * y),
            "share": rng.integers(1, 8, 24) / 10,
        }
    )
    X.loc[3, "price"] = np.nan
    families = [nb.Gaussian(), nb.Exponential(), nb.Poisson(), nb.Gaussian(), nb.PolyaTree(), nb.Histogram()]
    posterior = nb.fit(nb.NaiveBayes(dict(zip(X, families, strict=True))), X, y)
    drawn, _ = posterior.simulate(400, key=1)
    alike, _ = posterior.simulate(400, like=X, key=1)
    inside = drawn["deck"].between(1, 3)
    assert not inside.all()
    np.testing.assert_array_equal(alike["deck"][inside], drawn["deck"][inside].round())
    assert set(alike["deck"]) == set(drawn["grade"]) == {1.0, 2.0, 3.0}
    assert set(alike["price"]) <= {k / 10 for k in range(2, 9)}
    assert set(drawn["share"]) <= {k / 10 for k in range(1, 8)}  # a family of bins needs no table to be like
    pd.testing.assert_frame_equal(alike[["days", "size"]], drawn[["days", "size"]])


def test_forgetting_everything_leaves_the_prior(posteriors, table):
    X, y, _ = table
    prior = posteriors["exact"].forget(X, y)
    assert prior.log_evidence == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(prior.class_probs(), np.array([1, 2, 0.5]) / 3.5)
    np.testing.assert_allclose(prior.mean()["moss_prob"], 0.5)


TABLE = [[0.2, 0.5], [0.6, 0.1]]


@pytest.mark.parametrize("parameters", [{"prob": TABLE}, {"x": TABLE}, {"x_prob": TABLE}, {"x": {"prob": TABLE}}])
def test_tables_by_any_of_their_names(parameters):
    """Names of columns may be of two types."""
    known = nb.from_parameters(
        nb.Bernoulli(), classes=["a", "b"], class_probs=[0.3, 0.7], parameters=parameters, columns=["red", 7]
    )
    joint = np.exp(known.log_joint(pd.DataFrame({7: [0], "red": [1]})))
    np.testing.assert_allclose(joint, [[0.3 * 0.2 * 0.5, 0.7 * 0.6 * 0.9]])
    assert known.class_probs().tolist() == [0.3, 0.7]


def heights(variance, **options):
    return nb.from_parameters(
        nb.NaiveBayes({"height": nb.Gaussian(), "sex": nb.Bernoulli()}, **options),
        classes=["x", "y"],
        class_probs=None if options else [0.3, 0.7],
        parameters={"height": {"mean": [1.0, 2.0], "variance": variance}, "sex": [0.5, 0.1]},
    )


def test_gaussian_tables_by_column():
    known, pdf = heights([1.0, 4.0]), stats.norm.pdf
    expected = [0.3 * pdf(1.5, 1, 1) * 0.5, 0.7 * pdf(1.5, 2, 2) * 0.1]
    np.testing.assert_allclose(np.exp(known.log_joint(pd.DataFrame({"sex": [1], "height": [1.5]})))[0], expected)
    assert list(known.simulate(5)[0].columns) == ["height", "sex"]
    with pytest.raises(ValueError, match="'height_variance' are not all positive"):
        heights([1.0, -4.0])
    with pytest.raises(ValueError, match="class_probs='empirical' needs data: give the probability of each class"):
        heights([1.0, 4.0], class_probs="empirical")


def cell(text, label, position):
    """A cell of the table of parameters, by its row and the position of its class."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"{label} ")]
    return line.removeprefix(label).split()[position]


@pytest.mark.parametrize("kind", ["exact", "averaged", "sampled"])
def test_a_posterior_shows_the_mean_and_sd_of_its_parameters_by_class(posteriors, kind):
    summary, text = posteriors[kind].summary(), repr(posteriors[kind])
    for label, row in (("class_prob", "class_prob[{}]"), ("moss_prob", "moss_prob[{}]")):
        for c, name in enumerate(CLASSES):
            mean, sd = (float(number) for number in cell(text, label, c).split("±"))
            assert mean == pytest.approx(summary.loc[row.format(name), "mean"], abs=0.051 * sd)
            assert sd == pytest.approx(summary.loc[row.format(name), "sd"], rel=0.05)


def test_what_a_posterior_shows_of_itself(posteriors, monkeypatch):
    text, html = repr(posteriors["exact"]), posteriors["exact"]._repr_html_()
    assert text.startswith("ExactPosterior: 30 rows, classes ['ash', 'fir', 'oak']")
    assert "<b>ExactPosterior: 30 rows" in html
    assert all("bark ~ Categorical(prob)" in shown for shown in (text, html))
    posterior, _, prior = text.partition("Prior:")
    assert ("~" in posterior, "±" in prior, "±" in repr(posteriors["known"])) == (False, False, False)
    assert repr(nb.fit(nb.Poisson(), [[3]], ["a"], classes=["a", "b"])).startswith("ExactPosterior: 1 row, classes")
    diagnostics = posteriors["sampled"].diagnostics
    worst = diagnostics.labels[int(np.nanargmax(diagnostics.r_hat))]
    assert str(diagnostics).startswith(
        f"divergences unknown, R-hat up to {diagnostics.r_hat.max():.3f} for {worst}, ESS"
    )
    assert f"2 chains of 100 draws ({str(diagnostics)[:30]}" in repr(posteriors["sampled"])
    known = nb.from_parameters(nb.Bernoulli(), classes=["a"], class_probs=[1.0], parameters={"prob": [[0.123456]]})
    assert cell(repr(known), "x_prob[0]", 0) == "0.1235"
    for inclusion in (None, 0.5):
        model = nb.NaiveBayes(nb.Bernoulli(), class_probs=[0.25, 0.75], feature_inclusion=inclusion)
        exact = nb.fit(model, [[0], [1]], ["a", "b"])
        assert cell(repr(exact), "class_prob", 0) == "0.25±0"
        assert exact.summary().loc["class_prob[b]"].tolist() == [0.75, 0.0, 0.75, 0.75]

    def refuse(self):
        raise NotImplementedError

    monkeypatch.setattr(nb.Bernoulli, "marginals", refuse)
    assert cell(repr(nb.fit(nb.Bernoulli(), [[0], [1]], ["a", "b"])), "x_prob", 0) == "?"


def test_html_of_a_posterior_is_short():
    wide = nb.fit(nb.Bernoulli(), np.eye(4000, dtype=int)[:4], [0, 1, 0, 1])._repr_html_()
    assert wide.count("<tr") == 12
    assert "… and 3992 more of x_prob" in wide


@pytest.mark.parametrize("inclusion", [None, 0.5])
def test_each_column_of_a_block_has_its_own_summary(rng, inclusion):
    """As that of a model of this column alone."""
    y = np.arange(30) % 2
    X = pd.DataFrame({"a": rng.integers(0, 3, 30), "b": rng.integers(0, 3, 30), "c": rng.normal(size=30)})
    X["d"] = rng.normal(size=30)
    model = nb.NaiveBayes(dict.fromkeys("ab", nb.Categorical()) | dict.fromkeys("cd", nb.Gaussian()))
    found = nb.fit(model.with_feature_inclusion(inclusion), X, y).summary()
    for column in "abcd":
        alone = nb.NaiveBayes({column: model.features[column]}).with_feature_inclusion(inclusion)
        expected = nb.fit(alone, X, y).summary()
        np.testing.assert_allclose(found.loc[expected.index].to_numpy(), expected.to_numpy(), rtol=1e-12)
