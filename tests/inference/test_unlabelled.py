"""Rows without a label: EM, Gibbs and NUTS against sums over all labels, optimisers and each other."""

import itertools
from functools import partial

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import CASES, Durations, Exponential, with_holes
from numpyro.infer.util import log_density
from scipy import optimize, stats
from scipy.special import logsumexp, softmax
from slow import names_fast
from small_crowd import CRITICAL_Z, z_scores

import bayesnb as nb
from bayesnb.core.arrays import dense
from bayesnb.data.read import as_table
from bayesnb.inference.em import first_responsibilities, label_log_joint
from bayesnb.inference.fit import read_table
from bayesnb.inference.gibbs import _draw_label_counts, exchangeable, relabel
from bayesnb.inference.nuts import Target
from bayesnb.model.prior import ModelParameters

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")


def mixed_table():
    """Four labelled rows and six others: numbers, flags, categories, holes, and a row that counts twice."""
    X = pd.DataFrame(
        {
            "size": [0.3, 1.1, 2.9, 3.4, 0.8, 2.2, np.nan, 3.1, 1.7, 0.2],
            "flag": [0, 1, 1, 1, 0, 1, 1, np.nan, 0, 0],
            "kind": ["x", "x", "y", "z", "x", "y", "z", "y", None, "x"],
        }
    )
    y = ["a", "a", "b", "b", None, None, None, None, None, None]
    weight = np.array([1.0, 1, 1, 1, 1, 2, 1, 1, 1, 1])
    model = nb.NaiveBayes(
        {
            "size": nb.Gaussian(loc=1.5, kappa=0.5, concentration=4.0, rate=3.0),
            "flag": nb.Bernoulli(2.0, 1.5),
            "kind": nb.Categorical(concentration=1.5),
        },
        class_concentration=2.0,
    )
    return model, X, y, weight


def counts_table():
    """Three classes, two of them with labels; word counts as a sparse matrix beside a rate."""
    X = np.array(
        [[2, 1, 0, 2], [0, 2, 1, 5], [2, 0, 1, 3], [1, 2, 0, 4], [0, 1, 2, 1], [1, 1, 1, 3], [1, 0, 2, 2]], dtype=float
    )
    model = nb.NaiveBayes(
        {"words": (nb.Multinomial(concentration=1.5), [0, 1, 2]), "rate": (nb.Poisson(2.0, 0.5), [3])},
        class_concentration=[1.5, 2.0, 2.5],
    )
    return model, sp.csr_array(X), ["u", "v", None, None, None, None, None], np.ones(len(X))


def waits_table():
    """A family from outside the package, and an unlabelled row more than labelled ones."""
    X = np.array([[0.2, 1.5], [0.4, 2.0], [3.0, 0.3], [2.0, 0.9], [0.3, np.nan], [1.1, 1.0], [np.nan, 0.2]])
    return nb.NaiveBayes(Exponential(3.0, 2.0)), X, ["a", None, "b", None, None, None, None], np.ones(7)


def equal_rows_table():
    """Eight unlabelled rows, of which three are distinct: they are three rows with a weight."""
    patterns = np.array([[1.0, 1, 0], [0, 1, 1], [np.nan, 0, 1], [1, 1, 0]])
    X = patterns[[0, 1, 0, 2, 3, 1, 0, 2, 1, 0]]
    return nb.NaiveBayes(nb.Bernoulli(2.0, 1.5)), X, ["a", "b", *[None] * 8], np.ones(10)


TABLES = {"mixed": mixed_table, "counts": counts_table, "waits": waits_table, "equal rows": equal_rows_table}
SHORT = nb.Gibbs(num_warmup=5, num_samples=20, num_chains=2)
LONG = nb.Gibbs(num_warmup=50, num_samples=200, num_chains=30)
"""Many chains, because the chains of a sweep move together."""
LONGER = nb.Gibbs(num_warmup=50, num_samples=750, num_chains=8)
CLASSES = {name: ["a", "b"] for name in TABLES} | {"counts": ["u", "v", "w"]}


class Enumerated:
    """The posterior as a sum over all labels of the unlabelled rows, each term a closed form.

    A row that counts twice is two rows with a label each.
    """

    def __init__(self, model, X, y, weight, classes):
        rows = np.repeat(np.arange(len(y)), weight.astype(int))
        X, y = (X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]), [y[row] for row in rows]
        missing = [i for i, label in enumerate(y) if label is None]
        evidence, means, squares, labels = [], [], [], []
        for guess in itertools.product(classes, repeat=len(missing)):
            full = list(y)
            for i, label in zip(missing, guess, strict=True):
                full[i] = label
            exact = nb.fit(model, X, full, classes=classes)
            marginals = exact.marginals()
            evidence.append(exact.log_evidence)
            with jax.enable_x64(True):
                means.append({site: np.asarray(marginal.mean) for site, marginal in marginals.items()})
                squares.append({s: np.asarray(m.variance) + np.asarray(m.mean) ** 2 for s, m in marginals.items()})
            labels.append([[label == c for c in classes] for label in guess])
        self.weight = softmax(np.array(evidence))
        average = partial(np.tensordot, self.weight, axes=(0, 0))
        self.mean = {site: average(np.array([m[site] for m in means])) for site in means[0]}
        self.square = {site: average(np.array([m[site] for m in squares])) for site in means[0]}
        self.responsibilities = average(np.array(labels, dtype=float))
        self.rows = [rows[i] for i in missing]


def slow(*given):
    return pytest.param(*given, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("table", "inference"),
    [
        slow("mixed", LONG),
        ("equal rows", LONG),
        *(slow(table, LONGER) for table in TABLES),
        slow("mixed", nb.NUTS()),
        slow("counts", nb.NUTS()),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_draws_agree_with_the_sum_over_all_labels(table, inference):
    model, X, y, weight = TABLES[table]()
    exact = Enumerated(model, X, y, weight, CLASSES[table])
    sampled = nb.fit(model, X, y, inference, sample_weight=weight, classes=CLASSES[table], key=3)
    for site, values in sampled.draws().items():
        assert np.abs(z_scores(values, exact.mean[site])).max() < CRITICAL_Z, site
        assert np.abs(z_scores(values**2, exact.square[site])).max() < CRITICAL_Z, site
    rows = X.iloc[exact.rows] if isinstance(X, pd.DataFrame) else X[exact.rows]
    assert np.abs(z_scores(sampled.proba_draws(rows), exact.responsibilities)).max() < CRITICAL_Z
    assert set(sampled.sample_stats) >= {"lp"}


MIXED = mixed_table()


def log_posterior(values, y=MIXED[2]):
    """The log density of class_prob, mean, variance, flag and kind probabilities, written with SciPy alone."""
    _, X, _, weight = MIXED
    prob, mean, variance, flag, kind = values
    total = stats.dirichlet.logpdf(prob, [2.0, 2.0])
    total += stats.norm.logpdf(mean, 1.5, np.sqrt(variance / 0.5)).sum()
    total += stats.invgamma.logpdf(variance, 4.0, scale=3.0).sum()
    total += stats.beta.logpdf(flag, 2.0, 1.5).sum()
    total += sum(stats.dirichlet.logpdf(row, [1.5] * 3) for row in kind)
    for (size, f, k), label, w in zip(X.to_numpy(), y, weight, strict=False):
        joint = np.log(prob)
        if not np.isnan(size):
            joint = joint + stats.norm.logpdf(size, mean, np.sqrt(variance))
        if not np.isnan(f):
            joint = joint + stats.bernoulli.logpmf(int(f), flag)
        if isinstance(k, str):
            joint = joint + np.log(kind[:, "xyz".index(k)])
        total += w * (logsumexp(joint) if label is None else joint["ab".index(label)])
    return total


def as_values(parameters):
    names = ("class_prob", "size_mean", "size_variance", "flag_prob", "kind_prob")
    return tuple(parameters[name] for name in names)


def free(line):
    """Values from a line of free numbers."""

    def simplex(u):
        return softmax(np.concatenate([u, np.zeros((*u.shape[:-1], 1))], axis=-1), axis=-1)

    return (
        simplex(line[:1]),
        line[1:3],
        np.exp(line[3:5]),
        1 / (1 + np.exp(-line[5:7])),
        simplex(line[7:11].reshape(2, 2)),
    )


def line_of(values):
    prob, mean, variance, flag, kind = values
    parts = [np.log(prob[:-1] / prob[-1]), mean, np.log(variance), np.log(flag / (1 - flag))]
    return np.concatenate([*parts, np.log(kind[:, :-1] / kind[:, -1:]).ravel()])


def test_the_mode_by_em_is_that_of_an_optimiser():
    model, X, y, weight = MIXED
    found = nb.fit(model, X, y, nb.MAP(), sample_weight=weight)

    def negative(line):
        return -log_posterior(free(line))

    line = line_of(as_values(found.mean()))
    assert np.abs(optimize.approx_fprime(line, negative, 1e-6)).max() < 2e-5
    away = optimize.minimize(negative, line + 0.3 * np.sin(np.arange(line.size)), method="BFGS", options={"gtol": 1e-7})
    assert negative(line) <= away.fun + 1e-9
    np.testing.assert_allclose(line_of(free(away.x)), line, atol=1e-4)
    # Not the mode of the labelled rows alone.
    alone = nb.fit(model, X[:4], y[:4], nb.MAP(), sample_weight=weight[:4]).mean()
    assert np.abs(line_of(as_values(alone)) - line).max() > 0.1


def test_maximum_likelihood_by_em_ignores_the_prior():
    model, X, y, weight = MIXED
    estimate = nb.fit(model, X, y, nb.MLE(), sample_weight=weight).mean()

    def log_likelihood(values):
        return log_posterior(values) - log_posterior(values, [])

    # Estimates at 0 or 1 are left where they are.
    line = line_of([np.clip(value, 1e-9, None) for value in (as_values(estimate))])
    moving = np.flatnonzero(np.abs(line) < 15)
    assert len(moving) >= 6
    at = -log_likelihood(free(line))
    for i in moving:
        for step in (0.01, -0.01):
            moved = line.copy()
            moved[i] += step
            assert -log_likelihood(free(moved)) > at - 1e-7


def test_the_density_that_gibbs_reports():
    model, X, y, weight = MIXED
    posterior = nb.fit(model, X, y, SHORT, sample_weight=weight)
    draws = posterior.draws()
    for at in np.ndindex(2, 20):
        expected = log_posterior(as_values({site: value[at] for site, value in draws.items()}))
        assert posterior.sample_stats["lp"][at] == pytest.approx(expected, rel=1e-10)


DENSITIES = {case.name: (case.default, case.cells, case.can.holes) for case in CASES} | {
    "dirichlet multinomial": (nb.DirichletMultinomial(), lambda rng, n: rng.poisson(4.0, (n, 3)).astype(float), False)
}


@pytest.mark.parametrize("name", names_fast(DENSITIES, {"gaussian", "categorical"}))
def test_the_density_that_nuts_samples(name, rng, float64):
    family, cells, missing = DENSITIES[name]
    X = cells(rng, 12)
    X = with_holes(rng, X) if missing else X
    y = np.array(["a", "b", None] * 4, dtype=object)
    weight = rng.uniform(0.5, 2.0, 12)
    problem = read_table(nb.NaiveBayes(family), X, y, weight, None)
    target = Target(problem)
    parameters = problem.resolved.draw_prior(rng, ())
    sites = {"class_prob": parameters.class_prob} | {
        f"{i}.{name}": value for i, block in enumerate(parameters.blocks) for name, value in block.items()
    }
    compiled = jax.jit(lambda arguments, sites: log_density(target.program, arguments, {}, sites)[0])
    found = compiled(target.arguments, sites)
    model = problem.resolved
    expected = model.prior.log_density(parameters)
    expected = expected + model.prior.log_likelihood(parameters, problem.statistics)
    for _, chunk in model.read(as_table(X[y == None])).encoded():  # noqa: E711
        expected = expected + weight[y == None] @ logsumexp(model.log_joint(parameters, chunk), axis=-1)  # noqa: E711
    assert float(found) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_are_read_and_counted_in_pieces(form):
    rng = np.random.default_rng(13)
    X = (rng.uniform(size=(1500, 1200)) < (0.5 if form is np.asarray else 0.9)).astype(float)
    y = rng.choice(np.array(["a", "b", None], dtype=object), 1500)
    weight = rng.integers(0, 3, 1500).astype(float)
    model = nb.NaiveBayes(nb.Bernoulli())
    problem = read_table(model, form(X), y, weight, None)
    here, kept = np.array([label is not None for label in y]), problem.unlabelled
    alone = problem.model.statistics(form(X[here]), y[here], sample_weight=weight[here])
    jax.tree.map(np.testing.assert_allclose, problem.statistics, alone)
    without = ~here & (weight > 0)
    np.testing.assert_array_equal(dense(kept.blocks[0]), X[without])
    np.testing.assert_array_equal(kept.weights, weight[without])
    assert len(kept.slices) > 1
    membership = rng.uniform(size=(len(kept), 2))
    jax.tree.map(
        partial(np.testing.assert_allclose, rtol=1e-12),
        kept.count(problem.model, membership),
        problem.model.count(kept.blocks, membership),
    )
    parameters = problem.resolved.draw_prior(rng)
    np.testing.assert_allclose(
        label_log_joint(problem.resolved, kept, parameters), problem.resolved.log_joint(parameters, kept.blocks)
    )


def test_gibbs_agrees_where_all_labels_are_present():
    model, X, _, weight = mixed_table()
    y = list("aabbabbbaa")
    drawn = nb.fit(model, X, y, LONG, sample_weight=weight, key=5)
    assert drawn.problem.unlabelled is None
    assert nb.compare(nb.fit(model, X, y, sample_weight=weight), drawn).agree


def test_a_row_of_weight_two_is_two_rows_and_of_weight_nought_none():
    model, X, y, _ = mixed_table()
    weight = np.array([1.0, 1, 1, 1, 2, 1, 0, 1, 3, 1])
    rows = np.repeat(np.arange(10), weight.astype(int))
    for inference in (nb.MAP(), nb.EM(tolerance=1e-12)):
        one = nb.fit(model, X, y, inference, sample_weight=weight).mean()
        other = nb.fit(model, X.iloc[rows], [y[row] for row in rows], inference).mean()
        jax.tree.map(partial(np.testing.assert_allclose, atol=1e-6), one, other)


@pytest.mark.parametrize("inference", [nb.EM(), nb.MAP(), nb.MLE()], ids=["EM", "MAP", "MLE"])
def test_equal_rows_give_the_estimate_of_the_rows_one_by_one(inference, monkeypatch):
    model, X, y, _ = equal_rows_table()
    together = nb.fit(model, X, y, inference, key=1)
    monkeypatch.setattr("bayesnb.model.problem.MOST_DISTINCT", -1.0)
    one_by_one = nb.fit(model, X, y, inference, key=1)
    found, apart = together.problem.unlabelled, one_by_one.problem.unlabelled
    assert (len(found), found.weights.sum(), len(apart)) == (3, 8, 8)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-12), together.mean(), one_by_one.mean())


@pytest.mark.parametrize("weights", [[1.0, 1.0], [2.0, 2.0], [1.0, 5.0]])
def test_as_many_labels_as_the_weight_are_drawn(weights):
    responsibilities = np.array([[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]] * 2000)
    drawn = _draw_label_counts(responsibilities, np.array(weights), np.random.default_rng(0))
    np.testing.assert_array_equal(drawn.sum(axis=-1), np.broadcast_to(weights, (2000, 2)))
    np.testing.assert_array_equal(drawn[:, 1], np.broadcast_to([weights[1], 0, 0], (2000, 3)))
    expected, n = weights[0] * responsibilities[0, 0], 2000 * weights[0]
    error = weights[0] * np.sqrt(responsibilities[0, 0] * (1 - responsibilities[0, 0]) / n)
    assert np.abs((drawn[:, 0].mean(axis=0) - expected) / error).max() < CRITICAL_Z


def test_default_scales_and_categories_follow_all_rows():
    X = pd.DataFrame({"size": [1.0, 2.0, 7.0, 9.0], "eggs": [1, 2, 0, 9], "kind": ["x", "x", "y", "z"]})
    model = nb.NaiveBayes({"size": nb.Gaussian(), "eggs": nb.Poisson(), "kind": nb.Categorical()})
    part = nb.fit(model, X, ["a", "b", None, None], nb.MAP())
    whole = nb.fit(model, X, ["a", "b", "a", "b"])
    assert part.model.schema.categories == whole.model.schema.categories
    for mine, theirs in zip(part.model.families, whole.model.families, strict=True):
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12), mine, theirs)


@pytest.mark.parametrize("inference", [nb.MAP(), nb.Gibbs(num_warmup=20, num_samples=30, num_chains=2)])
def test_sparse_rows_are_as_dense_ones(inference):
    rng = np.random.default_rng(3)
    X = rng.poisson(0.4, (30, 12)).astype(float)
    y = [None if i % 3 else "ab"[i % 2] for i in range(30)]
    for model, cells in ((nb.NaiveBayes(nb.Multinomial(1.5)), X), (nb.NaiveBayes(nb.Bernoulli(2.0, 2.0)), X > 0)):
        dense = nb.fit(model, cells * 1.0, y, inference, key=1)
        sparse = nb.fit(model, sp.csr_array(cells * 1.0), y, inference, key=1)
        assert sp.issparse(sparse.problem.unlabelled.blocks[0])
        for site, values in dense.mean().items():
            np.testing.assert_allclose(sparse.mean()[site], values, rtol=1e-9)


def groups(rng, number=120):
    """Three groups far apart, and which of them each row is of."""
    truth = rng.integers(0, 3, number)
    X = rng.normal(np.array([[0, 0], [8, 1], [3, 9]])[truth], 1.0)
    return X, truth


def agreement(labels, truth):
    table = np.zeros((3, 3))
    np.add.at(table, (labels, truth), 1)
    return table[optimize.linear_sum_assignment(-table)].sum() / len(truth)


@pytest.mark.parametrize(
    "inference",
    [
        nb.MAP(),
        nb.MLE(),
        slow(nb.Gibbs(num_warmup=50, num_samples=500)),
        slow(nb.NUTS(num_warmup=300)),
    ],
    ids=lambda inference: type(inference).__name__,
)
def test_a_mixture_recovers_groups(inference):
    X, truth = groups(np.random.default_rng(2))
    posterior = nb.fit(nb.Gaussian(), X, None, inference, classes=3, key=1)
    assert posterior.classes.tolist() == [0, 1, 2]
    assert agreement(posterior.predict(X), truth) == 1.0
    centres = posterior.mean()["x_mean"]
    order = np.argsort(centres[:, 0] + 0.01 * centres[:, 1])
    expected = np.array([X[truth == g].mean(axis=0) for g in (0, 2, 1)])
    np.testing.assert_allclose(centres[order], expected, atol=0.1)
    assert "0 rows, 120 without a label" in repr(posterior)


def test_draws_are_named_as_the_labels_of_all_draws_are_on_average():
    """Groups that overlap: of all orders, the one whose probabilities of the labels agree most, found by trying all."""
    X = np.random.default_rng(3).normal(0.0, [[1.0, 3.0]], (25, 2))
    posterior = nb.fit(nb.Gaussian(), X, None, nb.MAP(), classes=3)
    rng = np.random.default_rng(6)
    sites = {"class_prob": rng.dirichlet([1.0, 1.0, 1.0], (1, 60)), "mean": rng.normal(size=(1, 60, 3, 2))}
    sites["variance"] = rng.gamma(3.0, 1.0, (1, 60, 3, 2))
    block = {name: sites[name] for name in ("mean", "variance")}
    cells = stats.norm.logpdf(X[:, None], sites["mean"][0][:, None], np.sqrt(sites["variance"][0][:, None]))
    proba = softmax(np.log(sites["class_prob"][0][:, None]) + cells.sum(axis=-1), axis=-1)
    # Of each draw (draws, rows, classes) its classes in each order.
    orders = np.array(list(itertools.permutations(range(3))))
    in_each = np.moveaxis(proba[:, :, orders], 2, 1)

    def end(reference):
        """The order of each draw where steps from a reference end, and how much the draws then agree."""
        for _ in range(50):
            best = (in_each * reference).sum(axis=(2, 3)).argmax(axis=1)
            reference = in_each[np.arange(60), best].mean(axis=0)
        return orders[best], (reference**2).sum()

    ends = sorted((end(reference) for reference in proba), key=lambda found: found[1])
    assert ends[0][1] < ends[-1][1] - 0.01
    # The draw of highest density is one that leads to the lowest agreement.
    pivot = next(s for s, reference in enumerate(proba) if end(reference)[1] == ends[0][1])
    log_density = -np.abs(np.arange(60.0) - pivot)[None]
    again = relabel(posterior.problem, ModelParameters(sites["class_prob"], (block,)), log_density)
    found = (sites["class_prob"][0][:, None, :] == again.class_prob[0][:, :, None]).argmax(axis=-1)
    expected = ends[-1][0]
    # The order of the classes is the same in all draws, up to one for all of them.
    assert any((found == expected[:, order]).all() for order in orders)
    for s, order in enumerate(found):
        np.testing.assert_array_equal(again.blocks[0]["mean"][0, s], sites["mean"][0, s, order])


@pytest.mark.parametrize(
    "inference",
    [nb.Gibbs(50, 100), slow(nb.NUTS(150, 100))],
    ids=lambda inference: type(inference).__name__,
)
def test_chains_start_at_each_of_two_groupings_and_the_warning_names_it(inference):
    """Four groups at the corners of a square, two classes: left and right, or above and below."""
    corners = np.array([[x, y] for x in (-3.0, 3.0) for y in (-3.0, 3.0)]).repeat(10, axis=0)
    noise = np.random.default_rng(0).normal(size=(5, 2))
    X = corners + np.tile(np.concatenate([noise, noise[:, ::-1]]) * [1.0, 1.03], (4, 1))
    model = nb.NaiveBayes(nb.Gaussian(loc=0.0))
    evidence = [nb.fit(model, X, corners[:, j] > 0).log_evidence for j in (0, 1)]
    assert softmax(evidence).min() > 0.1
    with pytest.warns(nb.ConvergenceWarning, match="R-hat is .* chains may hold different groupings"):
        posterior = nb.fit(model, X, None, inference, classes=2, key=0)
    assert np.nanmax(posterior.diagnostics.r_hat) > 1.5
    labels = posterior.proba_draws(X)[:, -1].argmax(axis=-1)
    assert {bool(of_chain[0] == of_chain[10]) for of_chain in labels} == {True, False}


def test_only_classes_that_nothing_names_are_exchangeable():
    X, truth = groups(np.random.default_rng(6), 30)
    some = [int(t) if i < 12 and t == 0 else None for i, t in enumerate(truth)]

    def groups_of(y, classes, family=None, cells=X, **options):
        model = nb.NaiveBayes(family or nb.Gaussian(), **options)
        problem = read_table(model, cells, y, None, classes)
        return [group.tolist() for group in exchangeable(problem)]

    assert groups_of(None, 3) == [[0, 1, 2]]
    assert groups_of(some, [0, 1, 2]) == [[1, 2]]
    assert groups_of(some, [0, 1]) == []
    assert groups_of(None, 3, class_probs=[0.2, 0.4, 0.4]) == [[1, 2]]
    assert groups_of(None, 3, class_concentration=[1.0, 2.0, 3.0]) == []
    assert groups_of(None, 3, nb.Gaussian(loc=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))) == [[0, 2]]
    counts = np.array([[2.0], [0.0], [3.0]])
    assert groups_of(None, 2, nb.Poisson(dist.Gamma(2.0, 1.0), 1.0), counts) == [[0, 1]]
    assert groups_of(None, 2, nb.Poisson(dist.Gamma(2.0, 1.0).expand([2, 1]), 1.0), counts) == []


def test_a_family_without_an_estimate_leaves_the_first_labels_to_the_other_columns(rng):
    y = np.array(["a"] * 5 + ["b"] * 5 + [None] * 10, dtype=object)
    X = pd.DataFrame({"visits": rng.poisson(3.0, 20), "wait": rng.gamma(2.0, 1.0, 20)})

    def first(**of_waits):
        problem = read_table(nb.NaiveBayes({"visits": nb.Poisson(), **of_waits}), X, y, None)
        return first_responsibilities(problem, np.random.default_rng(0))

    np.testing.assert_allclose(first(wait=Durations()), first(), rtol=1e-12)
    assert np.ptp(first()[:, 0]) > 0.1
    assert np.abs(first(wait=nb.Gamma(4.0, 1.0, 1.5, 0.1)) - first()).max() > 0.1


def test_iterations_that_do_not_suffice_are_told():
    model, X, y, _ = mixed_table()
    for inference in (nb.MAP(max_iterations=2), nb.EM(max_iterations=2)):
        with pytest.warns(nb.ConvergenceWarning, match="EM: after 2 iterations .* raise max_iterations"):
            nb.fit(model, X, y, inference)
    with pytest.warns(nb.ConvergenceWarning, match=r"Gibbs: .*ESS.*num_samples \(now 20\)"):
        nb.fit(model, X, y, nb.Gibbs(num_warmup=1, num_samples=20, num_chains=2))
    few = nb.Gibbs(num_warmup=1, num_samples=8, num_chains=2)
    with pytest.warns(nb.ConvergenceWarning, match="The chains may hold different groupings"):
        nb.fit(nb.Bernoulli(), np.eye(6), [None] * 6, few, classes=["a", "b"])


@pytest.mark.parametrize("inference", [nb.MAP(), nb.EM(num_starts=2), SHORT], ids=["MAP", "EM", "Gibbs"])
@pytest.mark.parametrize("table", ["mixed", slow("counts")])
def test_files(table, inference, tmp_path):
    model, X, y, weight = TABLES[table]()
    posterior = nb.fit(model, X, y, inference, sample_weight=weight, classes=CLASSES[table])
    posterior.save(tmp_path / "p.nc")
    loaded = nb.load(tmp_path / "p.nc")
    np.testing.assert_array_equal(loaded.predict_proba(X), posterior.predict_proba(X))
    assert (repr(loaded), loaded.inference) == (repr(posterior), inference)
    jax.tree.map(np.testing.assert_array_equal, loaded.inference.fit(loaded.problem, key=0).mean(), posterior.mean())


def test_draws_are_those_of_another_sampler():
    model, X, y, weight = mixed_table()
    sampled = nb.fit(model, X, y, SHORT, sample_weight=weight)
    mine = nb.from_samples(model, sampled.draws(), X=X, y=y, sample_weight=weight)
    np.testing.assert_array_equal(mine.predict_proba(X), sampled.predict_proba(X))
    tree = sampled.to_datatree(X[:4], y[:4], predictions=X[4:])
    assert tree["sample_stats"]["lp"].shape == (2, 20)
    assert tree["predictions"]["proba"].shape == (2, 20, 6, 2)
    assert "the data differ" in nb.compare(nb.fit(model, X[:4], y[:4]), sampled).verdict


def test_simulated_documents_are_as_long_as_those_without_a_label():
    model, X, _, _ = counts_table()
    posterior = nb.fit(model, X, None, nb.MAP(), classes=3)
    table, labels = posterior.simulate(50, key=0)
    assert np.asarray(table)[:, :3].sum(axis=1).tolist() == [round(float(X[:, :3].sum() / 7))] * 50
    assert set(labels) <= {0, 1, 2}


def test_a_column_that_is_all_ones_in_a_class_has_an_estimate():
    """Sums of the probabilities of labels round, and a count of ones above the weight would leave no mode."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    flags = rng.poisson(np.array([[1, 4, 2, 0.5], [3, 1, 2, 0.5], [2, 2, 0.3, 3]])[truth]) > 0
    y = np.where(np.arange(60) < 24, truth, np.nan)
    fitted = nb.fit(nb.NaiveBayes(nb.Bernoulli(), class_probs="empirical"), flags, y, nb.MAP())
    assert fitted.mean()["x_prob"][0, 1] == 1.0
