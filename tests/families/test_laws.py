"""Laws that every family obeys, each written once, through public names.

The chain begins with SciPy's density of a cell given parameters. The evidence follows by the chain rule from
predictions, predictions by an average over draws of the parameters, and leave-one-out by refits.
"""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars
import pyarrow
import pytest
from cases import FAMILIES, POINTS, known
from numpyro.infer.util import log_density
from refitting import assert_same, cells_alone
from scipy.special import log_softmax, logsumexp
from slow import cases_fast

import bayesnb as nb
from bayesnb.core.arrays import dense

CLOSED = [case for case in FAMILIES if case.can.closed]
ESTIMATED = [case for case in FAMILIES if case.can.closed or case.can.likeliest]
"""Families that a closed form or a point estimate fits, from statistics that add up."""

NEAR = [case for case in FAMILIES if case.name != "joint categorical"]
"""Families that take parameters near others; which values a joint block has does not follow from parameters."""


def of(cases):
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases])


COMPILED = {
    "bernoulli",
    "categorical",
    "gaussian",
    "poisson",
    "multinomial",
    "hurdle",
    "histogram",
    "user's exponential",
}
"""Families whose formulas ``make test`` compiles."""

every_family = of(POINTS)
closed_form = of(CLOSED)
from_statistics = of(ESTIMATED)
fast_in_closed_form = pytest.mark.parametrize("case", cases_fast(ESTIMATED, {case.name for case in CLOSED}))


def fit(case, model, X, y, **options):
    """In closed form, or the mode."""
    return nb.fit(model, X, y, None if case.can.closed else nb.MAP(), **options)


def assert_same_fit(case, one, other, X, rtol=1e-9):
    np.testing.assert_allclose(one.log_joint(X), other.log_joint(X), rtol=rtol)
    if case.can.closed:
        assert one.log_evidence == pytest.approx(other.log_evidence, rel=rtol)


def nodes(case):
    """Rows to integrate over one column, the other is missing, or over both of a joint family; and their weights."""
    points, weight = case.nodes
    if case.can.joint:
        return pd.DataFrame(points, columns=["u", "v"]), weight
    return pd.DataFrame({"u": points, "v": np.full(len(points), np.nan)}), weight


def parameters(posterior, c, j):
    """Of class c and column j, or of all columns where j is a slice."""
    found = {}
    for site, value in posterior.mean().items():
        block, _, name = site.partition("_")
        if block == "x":
            found[name] = value[c, j]
        elif block == "uv"[j]:
            found[name] = value[c]
    return found


def of_block(case, posterior):
    """Of all classes and columns."""
    places = [slice(None)] if case.can.joint else [0, 1]
    each = [[parameters(posterior, c, j) for j in places] for c in (0, 1)]
    found = {name: np.array([[values[name] for values in row] for row in each]) for name in each[0][0]}
    return {name: value[:, 0] for name, value in found.items()} if case.can.joint else found


def density(case, posterior, X):
    """Log densities by SciPy, with the class probabilities, shape (rows, classes)."""
    x = X.to_numpy(float)
    log_density = np.zeros((len(x), 2))
    for c in (0, 1):
        if case.can.joint:
            log_density[:, c] = case.log_density(x, **parameters(posterior, c, slice(None)))
            continue
        for j in (0, 1):
            there = ~np.isnan(x[:, j])
            log_density[there, c] += case.log_density(x[there, j], **parameters(posterior, c, j))
    return log_density + np.log(posterior.class_probs())


@every_family
def test_the_density_given_parameters_is_scipys(case):
    X, _ = case.table(holes=True)
    posterior = known(case)
    np.testing.assert_allclose(posterior.log_joint(X), density(case, posterior, X), rtol=1e-9, atol=1e-12)
    assert_probabilities(posterior, X)


def assert_probabilities(posterior, X):
    """Of classes they leave out a term of the density that all classes share."""
    expected = log_softmax(posterior.log_joint(X), axis=1)
    np.testing.assert_allclose(posterior.predict_log_proba(X), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("case", cases_fast(POINTS, COMPILED))
def test_the_density_of_statistics_is_the_sum_over_rows(case, float64):
    """Of weighted rows that come in two tables, for several parameters at once, by NumPy and compiled."""
    X, y = case.table(holes=True)
    weight, posterior = np.random.default_rng(2).uniform(0.5, 2.0, 24), known(case)
    parts = [
        posterior.model.statistics(X[rows], y[rows], sample_weight=weight[rows]) for rows in (slice(15), slice(15, 24))
    ]
    ((family,), (counted,)) = posterior.model.families, (parts[0] + parts[1]).blocks
    draws = {name: np.stack([value] * 3) for name, value in of_block(case, posterior).items()}
    of_rows = density(case, posterior, X) - np.log(posterior.class_probs())
    expected = [weight[y == label] @ of_rows[y == label, c] for c, label in enumerate("ab")]
    base = np.sum(getattr(counted, "log_base", np.zeros((2, 1))), axis=-1)
    for log_likelihood in (family.log_likelihood, jax.jit(family.log_likelihood)):
        found = np.asarray(log_likelihood(draws, counted)).sum(axis=-1) + base
        np.testing.assert_allclose(found, [expected] * 3, rtol=1e-9)
    of_one = {name: value[0, :1] for name, value in draws.items()}
    pooled = family.log_likelihood(of_one, counted.pooled() * 0.25).sum() + 0.25 * base.sum()
    assert pooled == pytest.approx(0.25 * weight @ of_rows[:, 0], rel=1e-9)


@pytest.mark.parametrize("case", cases_fast(POINTS, COMPILED - {"histogram", "multinomial"}))
def test_the_kernels_of_the_host_equal_the_formulas_that_jax_runs(case, float64):
    """Given parameters, under draws of them and with the parameters integrated out, of rows in every form."""
    posterior, (X, y) = known(case), case.table(700)
    (family,), of_one = posterior.model.families, of_block(case, posterior)
    draws = {name: np.stack([value, value[::-1]]) for name, value in of_one.items()}
    after = nb.fit(case.model(case.default), X, y).families[0] if case.can.closed else None
    for x in case.forms(X.to_numpy(float)):
        cells = jnp.asarray(dense(x), dtype=float)
        expected = np.stack(
            [family.row_log_likelihood(one, cells) for one in (of_one, {k: v[1] for k, v in draws.items()})]
        )
        np.testing.assert_allclose(family.row_log_likelihood(draws, x), expected, rtol=1e-10, atol=1e-11)
        ratio = family.densities_of_rows(of_one, x, ratio=True)(slice(5, 690)) - expected[0, 5:690]
        np.testing.assert_allclose(ratio, ratio[:, :1] + 0 * ratio, atol=1e-9)
        if after is not None:
            np.testing.assert_allclose(after.row_log_predictive(x), after.row_log_predictive(cells), rtol=1e-10)


@every_family
def test_densities_integrate_to_one(case):
    posterior = known(case)
    X, weight = nodes(case)
    with np.errstate(over="ignore"):
        total = weight @ np.exp(posterior.log_joint(X))
    np.testing.assert_allclose(total, posterior.class_probs(), rtol=1e-5)


@closed_form
def test_predictive_densities_integrate_to_one(case):
    X, y = case.table()
    posterior = nb.fit(case.model(case.default), X, y)
    X, weight = nodes(case)
    total = weight @ np.exp(posterior.log_joint(X))
    np.testing.assert_allclose(total, posterior.class_probs(), rtol=2e-3)


@pytest.mark.slow
@of([case for case in FAMILIES if not case.can.joint])
def test_the_information_given_parameters_is_an_integral(case):
    posterior = known(case)
    X, weight = nodes(case)
    log_density = density(case, posterior, X) - np.log(posterior.class_probs())
    of_class = posterior.class_probs()
    with np.errstate(invalid="ignore"):
        ratio = log_density - logsumexp(log_density, axis=1, b=of_class, keepdims=True)
        expected = np.nansum(weight[:, None] * of_class * np.exp(log_density) * ratio)
    found = nb.mutual_information(posterior, num_draws=2)["at_posterior_mean"]["u"]
    assert found == pytest.approx(expected, rel=1e-4)


@of([case for case in POINTS if case.can.simulated])
def test_simulated_cells_follow_the_density(case):
    """Averages of bounded functions of the cells, against integrals."""
    posterior = known(case)
    rows, weight = nodes(case)
    size = {"total_count": 6} if case.default.cell == "count vector" else {}
    X, y = posterior.simulate(6000, key=3, **size)
    log_density = density(case, posterior, rows) - np.log(posterior.class_probs())
    columns = ["u", "v"] if case.can.joint else ["u"]
    for c, label in enumerate(posterior.classes):
        cells = pd.DataFrame(X, columns=["u", "v"])[columns][y == label].to_numpy(float)
        points, mass = rows[columns].to_numpy(), weight * np.exp(log_density[:, c])
        centre, spread = np.median(cells, axis=0), cells.std(axis=0) + 0.1
        for g in (np.tanh, np.sin, lambda z: np.sin(2.3 * z), lambda z: np.abs(z) < 0.5, lambda z: z == z.round()):
            of_cells, of_points = (g((z - centre) / spread).prod(axis=1) for z in (cells, points))
            expected, error = mass @ of_points, of_cells.std() / np.sqrt(len(cells))
            assert abs(of_cells.mean() - expected) < 4.5 * error + 1e-4


def fits(case, rows=24, holes=True, **options):
    """A table, and a fit for each of the priors: defaults that may follow the data, and numbers."""
    X, y = case.table(rows, holes)
    return X, y, [nb.fit(case.model(family, **options), X, y) for family in case.priors]


@pytest.mark.parametrize("case", cases_fast(CLOSED, COMPILED))
def test_the_evidence_is_the_product_of_predictions_one_row_after_the_other(case):
    X, y, posteriors = fits(case, 12)
    for whole in posteriors:
        part, total = nb.fit(whole.model, X, y, sample_weight=np.zeros(12)), 0.0
        for i in range(12):
            total += part.log_joint(X[i : i + 1])[0, list(part.classes).index(y[i])]
            part = part.update(X[i : i + 1], y[i : i + 1])
        assert total == pytest.approx(whole.log_evidence, rel=1e-10)
        assert_probabilities(whole, X)


@pytest.mark.parametrize("case", cases_fast(CLOSED, COMPILED))
@pytest.mark.filterwarnings("ignore:elpd_joint is NaN, because missing cells count as values")
@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True], ids=["", "weighted"])
def test_left_out_rows_equal_refits(case, weighted):
    """Whole rows and single features, also where the default prior follows the other rows."""
    X, y = case.table(10, holes=True)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 10) if weighted else None
    for family in case.priors:
        posterior = nb.fit(case.model(family), X, y, sample_weight=weight)
        alone = cells_alone if case.can.holes and not case.can.joint else lambda row: row
        assert_same(posterior, X, y, weight, alone=alone, atol=0.0, rtol=1e-8)


@fast_in_closed_form
def test_weights_are_copies(case):
    X, y = case.table(holes=True)
    times = np.random.default_rng(2).integers(1, 4, 24)
    for family in case.priors:
        weighted = fit(case, case.model(family), X, y, sample_weight=times)
        copied = fit(case, case.model(family), X.loc[X.index.repeat(times)], np.repeat(y, times))
        assert_same_fit(case, copied, weighted, X)


@fast_in_closed_form
def test_order_and_container_do_not_matter(case):
    X, y = case.table(holes=True)
    order = np.random.default_rng(2).permutation(24)
    for family in case.priors:
        posterior = fit(case, case.model(family), X, y)
        for rows, labels in (
            (X.iloc[order], y[order]),
            (polars.DataFrame(X.to_dict("list")), [*y]),
            (pyarrow.Table.from_pandas(X), pd.Series(y)),
        ):
            assert_same_fit(case, fit(case, case.model(family), rows, labels), posterior, X)
        np.testing.assert_allclose(posterior.log_joint(X.iloc[order]), posterior.log_joint(X)[order], rtol=1e-12)
        single = X.to_numpy(np.float32)
        one, other = (
            fit(case, nb.NaiveBayes({0: (case.default, [0, 1])}), table, y) for table in (single, jnp.asarray(single))
        )
        assert_same_fit(case, other, one, single)


@fast_in_closed_form
def test_updates_batches_and_forgetting_equal_one_fit(case):
    X, y = case.table(holes=True)
    for family in case.priors:
        whole = fit(case, case.model(family), X, y)
        first = fit(case, whole.model, X[:10], y[:10])
        more = fit(case, whole.model, pd.concat([X, X[:4]]), [*y, *y[:4]])
        before = first.log_joint(X)
        assert_same_fit(case, first.update(X[10:], y[10:]), whole, X)
        np.testing.assert_array_equal(first.log_joint(X), before)
        assert_same_fit(case, more.forget(X[:4], y[:4]), whole, X)
        if case.can.closed:
            assert_same_fit(case, nb.fit_batches(whole.model, [(X[:7], y[:7]), (X[7:], y[7:])]), whole, X)
        with pytest.raises(ValueError, match="these rows were never among the data"):
            first.forget(X[10:], y[10:])


@from_statistics
def test_a_file_keeps_the_posterior(case, tmp_path):
    X, y = case.table(holes=True)
    for family in case.priors:
        posterior = fit(case, case.model(family), X, y)
        posterior.save(tmp_path / "model.nc")
        loaded = nb.load(tmp_path / "model.nc")
        assert repr(loaded.model) == repr(posterior.model)
        assert_same_fit(case, loaded, posterior, X, rtol=0)
        assert_same_fit(case, loaded.update(X, y), posterior.update(X, y), X, rtol=0)


@pytest.mark.slow
@of(FAMILIES)
def test_the_function_in_jax_gives_the_same(case, float64):
    X, y = case.table(holes=True)
    posteriors = [known(case)] if case in POINTS else []
    if case.can.closed:
        posteriors += [nb.fit(case.model(family), X, y) for family in case.priors]
    for posterior in posteriors:
        found = posterior.log_joint_function()(jnp.asarray(X.to_numpy(float)))
        np.testing.assert_allclose(found, posterior.log_joint(X), rtol=1e-9)


@of([case for case in CLOSED if case.can.holes and not case.can.joint])
def test_a_missing_cell_says_nothing(case):
    X, y, posteriors = fits(case)
    for family, whole in zip(case.priors, posteriors, strict=True):
        alone = {name: nb.fit(case.model(family), X[[name]], y) for name in X}
        log_joint = sum(one.log_joint(X[[name]]) for name, one in alone.items())
        np.testing.assert_allclose(log_joint - np.log(whole.class_probs()), whole.log_joint(X), rtol=1e-9)
        for name, one in alone.items():
            seen = X[name].notna()
            rest = nb.fit(one.model, X.loc[seen, [name]], y[seen], classes=["a", "b"])
            new = X[[name]].assign(**{name: X.loc[seen, name].iloc[0]})
            np.testing.assert_allclose(
                one.log_joint(new) - np.log(one.class_probs()),
                rest.log_joint(new) - np.log(rest.class_probs()),
                rtol=1e-9,
            )


@of([case for case in CLOSED if case.name != "polya tree"])  # its prior couples the classes
def test_evidence_of_features_and_averages_equal_two_fits(case):
    """With and without classes, each feature on its own."""
    X, y = case.table(holes=True)
    for family in case.priors:
        posterior = nb.fit(case.model(family, class_probs=[0.5, 0.5]), X, y)
        evidence, averaged = nb.feature_evidence(posterior, 0.3), posterior.averaged(0.3)
        shared = nb.fit(posterior.model, X, ["a"] * 24, classes=["a", "b"])
        total = np.log(0.5) * np.ones((24, 2))
        features = [["u", "v"]] if case.can.joint else [["u"], ["v"]]
        for columns, name in zip(features, evidence.index, strict=True):
            of_class, of_all = (of_columns(case, fit, X, columns) for fit in (posterior, shared))
            factor = evidence.loc[name, "log_bayes_factor"]
            log_in, log_out = (
                -np.logaddexp(0, -factor - np.log(0.3 / 0.7)),
                -np.logaddexp(0, factor + np.log(0.3 / 0.7)),
            )
            total += np.logaddexp(log_in + of_class, log_out + of_all[:, :1])
        np.testing.assert_allclose(averaged.log_joint(X), total, rtol=1e-9)
        assert evidence["log_bayes_factor"].sum() == pytest.approx(
            posterior.log_evidence - shared.log_evidence, rel=1e-9, abs=1e-9
        )


def of_columns(case, posterior, X, columns):
    """Log predictive densities of some columns."""
    if case.can.joint:
        return posterior.log_joint(X) - np.log(0.5)
    others = X.assign(**{name: np.nan for name in X if name not in columns})
    return posterior.log_joint(others) - np.log(0.5)


@of([case for case in CLOSED if case.can.scaled and case.can.cells == "measurement"])
def test_the_unit_changes_no_prediction(case):
    X, y, (posterior, *_) = fits(case)
    for unit in (1e-6, 1e6):
        other = nb.fit(case.model(case.default), X * unit, y)
        np.testing.assert_allclose(other.predict_proba(X * unit), posterior.predict_proba(X), rtol=1e-7)


@pytest.mark.slow
@of([case for case in NEAR if case.can.likeliest])
def test_the_maximum_of_the_likelihood_has_no_likelier_neighbour(case):
    X, y = case.table(40)
    best = nb.fit(case.model(case.default), X, y, nb.MLE())

    def log_likelihood(posterior):
        with np.errstate(divide="ignore"):
            return density(case, posterior, X)[np.arange(40), (y == "b").astype(int)].sum()

    rng, top = np.random.default_rng(1), log_likelihood(best)
    for _ in range(20):
        near = {site: near_by(site, value, rng) for site, value in best.mean().items()}
        probs = near.pop("class_prob")
        other = nb.from_parameters(best.model, classes=["a", "b"], class_probs=probs, parameters=near)
        assert log_likelihood(other) < top


def near_by(site, value, rng):
    noise = 1 + 1e-3 * rng.normal(size=np.shape(value))
    if site.endswith("covariance"):
        return value * (noise + noise.swapaxes(-1, -2)) / 2
    moved = np.asarray(value) * noise
    if site == "class_prob" or (site.endswith("_prob") and np.allclose(np.sum(value, axis=-1), 1.0)):
        return moved / moved.sum(axis=-1, keepdims=True)
    return np.clip(moved, 0.0, 1.0) if site.endswith("prob") else moved


@pytest.mark.slow
@of([case for case in NEAR if case.can.mode])
def test_the_mode_has_no_neighbour_of_higher_density(case, float64):
    """Of the density that NUTS and other samplers see."""
    X, y = case.table(40)
    best = nb.fit(case.model(case.priors[-1]), X, y, nb.MAP())
    height = jax.jit(lambda values: log_density(best.model.program, (X, y), {}, values)[0])
    rng, mode = np.random.default_rng(1), best.mean()
    top = height(mode)
    for _ in range(20):
        assert height({site: near_by(site, value, rng) for site, value in mode.items()}) <= top


@pytest.mark.slow
@closed_form
def test_predictions_are_averages_over_draws(case):
    """Draws follow the posterior: the average of their densities is the predictive density, in standard errors."""
    X, y, posteriors = fits(case, holes=False)
    for posterior in posteriors:
        draws, parts = posterior.draws(num_chains=20, num_draws=200, key=1), []
        for chain in range(20):
            part = {site: value[chain] for site, value in draws.items()}
            parts.append(np.exp(nb.from_samples(posterior.model, part, X=X, y=y).log_joint(X[:6])))
        error = np.std(parts, axis=0, ddof=1) / np.sqrt(20)
        z = (np.mean(parts, axis=0) - np.exp(posterior.log_joint(X[:6]))) / error
        assert np.abs(z).max() < 6  # of 12 numbers with 19 degrees of freedom


@of([case for case in FAMILIES if case.bad])
def test_cells_outside_the_support_are_named(case):
    cell, words = case.bad
    X, y = case.table()
    posterior = known(case)
    X.iloc[3, 1] = cell
    for call in (
        lambda: nb.fit(case.model(case.default), X, y, None if case.can.closed else nb.MAP()),
        lambda: posterior.predict(X),
    ):
        with pytest.raises(ValueError, match=re.escape(f"column 'v', row 3: {words}")):
            call()


@pytest.mark.slow
@of([case for case in CLOSED if case.can.sampled])
def test_nuts_agrees(case):
    X, y, posteriors = fits(case, 60)
    exact = posteriors[-1]
    sampled = nb.fit(exact.model, X, y, nb.NUTS(num_warmup=400, num_samples=500, num_chains=4), key=0)
    assert nb.compare(exact, sampled, None if case.can.simulated else X).agree


NOT_LEARNED = ("polya tree", "joint categorical", "all trees", "numpyro exponential")
"""No single most likely value here (the columns of the table are independent), or formulas that JAX cannot trace."""


@pytest.mark.slow
@of([case for case in CLOSED if case.name not in NOT_LEARNED])
def test_learned_hyperparameters_maximise_the_evidence(case):
    X, y = case.table(holes=True)
    family = case.priors[-1]
    name = family.positive[0]

    def with_number(value):
        return nb.fit(case.model(replace(family, **{name: value})), X, y).log_evidence

    learned = nb.fit(case.model(replace(family, **{name: dist.Gamma(2.0, 1.0)})), X, y, nb.EmpiricalBayes())
    (best,) = (float(value) for value in learned.hyperparameters().values())
    assert with_number(best) >= max(with_number(0.97 * best), with_number(1.03 * best))


@pytest.mark.slow
@of([case for case in CLOSED if case in POINTS and case.can.simulated])
def test_checks_and_figures(case):
    X, y, posteriors = fits(case, 60)
    size = {} if case.default.cell != "count vector" else {"total_count": 6}
    for posterior in posteriors:
        assert nb.check(posterior, X, y, num_replicates=40).table["p_value"].between(0.0, 1.0).all()
        calibrated = nb.sbc(posterior.model, num_simulations=60, num_rows=20, **size).table
        assert calibrated["p_value"].min() > 1e-4
        assert np.isfinite(nb.kfold(posterior, X, y, k=3).elpd)
        assert np.isfinite(nb.calibration(posterior, X, y).table.to_numpy(float)).any()
        assert {*posterior.to_datatree()["posterior"].data_vars} == {*posterior.mean()}
        assert nb.plot_prior_posterior(posterior, max_panels=4).axes
        assert case.default.cell == "count vector" or nb.plot_densities(posterior, X, y).axes
