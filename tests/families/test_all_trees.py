"""The average over all trees: against every tree written out, and by frequencies of draws."""

import itertools
import re

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from pruefer import pruefer_trees
from scipy.special import gammaln, logsumexp

import bayesnb as nb

COLUMNS = ["a", "b", "c", "d"]
SIZES = [2, 3, 2, 1]
PAIRS = list(itertools.combinations(range(4), 2))


def table(rows=30, seed=0, holes=0.15):
    """Columns of 2, 3, 2 and 1 categories, b and c after a; of each class differently."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.4, "no", "yes")
    a = rng.integers(0, 2, rows)
    flip = (rng.random(rows) < 0.2) ^ (y == "no")
    X = pd.DataFrame({"a": a, "b": a + (rng.random(rows) < 0.3), "c": a ^ flip, "d": 0 * a}).astype(float)
    X[:3] = [[0, 2, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]]
    return X.mask(rng.random(X.shape) < holes).map(lambda cell: None if np.isnan(cell) else f"v{cell:.0f}"), y


def model(concentration=None, **options):
    listed = {name: [f"v{k}" for k in range(size)] for name, size in zip(COLUMNS, SIZES, strict=True)}
    return nb.NaiveBayes({"x": (nb.AllTrees(concentration, categories=listed), COLUMNS)}, **options)


def log_evidence_of_cells(codes, weight, sizes, strength):
    """A Dirichlet-multinomial of the combinations of some columns; each has one more value, for missing cells."""
    shape = [size + 1 for size in sizes]
    counts = np.zeros(shape)
    np.add.at(counts, tuple(codes.T), weight)
    share = strength / counts.size
    return gammaln(strength) - gammaln(strength + weight.sum()) + (gammaln(share + counts) - gammaln(share)).sum()


def written_out(X, y, strength, weight=None):
    """Log evidence of the cells given each of the 16 trees, and the trees."""
    codes = np.stack(
        [[int(v[1:]) if isinstance(v, str) else SIZES[j] for v in X[name]] for j, name in enumerate(COLUMNS)], 1
    )
    weight = np.ones(len(X)) if weight is None else weight
    alone, pairs = np.zeros(4), dict.fromkeys(PAIRS, 0.0)
    for label in ("no", "yes"):
        rows = y == label
        for columns in [*((j,) for j in range(4)), *PAIRS]:
            sizes = [SIZES[j] for j in columns]
            found = log_evidence_of_cells(codes[rows][:, columns], weight[rows], sizes, strength)
            if len(columns) == 1:
                alone[columns] += found
            else:
                pairs[columns] += found
    trees = sorted(pruefer_trees(4), key=sorted)
    return np.array([alone.sum() + sum(pairs[j, k] - alone[j] - alone[k] for j, k in t) for t in trees]), trees


@pytest.mark.parametrize("strength", [None, 0.3, 7.0, 1e-150])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_evidence_predictions_and_edges_are_those_of_every_tree(strength, weighted, float64):
    X, y = table()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    posterior = nb.fit(model(strength, class_probs=[0.5, 0.5]), X, y, sample_weight=weight)
    strength = 12 ** (2 / 3) if strength is None else strength
    of_trees, trees = written_out(X, y, strength, weight)
    before = len(X) if weight is None else weight.sum()
    whole = logsumexp(of_trees) - np.log(16)
    assert posterior.log_evidence == pytest.approx(whole + before * np.log(0.5), rel=1e-11)

    new, _ = table(6, seed=5)
    more = np.ones(len(X)) if weight is None else weight
    for i, label in itertools.product(range(6), ("no", "yes")):
        both = pd.concat([X, new[i : i + 1]])
        after, _ = written_out(both, np.append(y, label), strength, np.append(more, 1.0))
        expected = logsumexp(after) - logsumexp(of_trees) + np.log(0.5)
        assert posterior.log_joint(new[i : i + 1])[0, int(label == "yes")] == pytest.approx(expected, rel=1e-9)
    codes = new.map(lambda v: float(v[1:]) if isinstance(v, str) else np.nan).to_numpy(float)
    in_jax = posterior.log_joint_function()(jnp.asarray(codes))
    np.testing.assert_allclose(in_jax, posterior.log_joint(new), rtol=1e-9)

    probability = np.exp(of_trees - logsumexp(of_trees))
    for j, k in PAIRS:
        expected = sum(p for p, tree in zip(probability, trees, strict=True) if (j, k) in tree)
        assert posterior.families[0].edge_probs()[j, k] == pytest.approx(expected, abs=1e-11)


def test_rows_bring_categories():
    X, y = table(40)
    free = nb.NaiveBayes({"x": (nb.AllTrees(2.0), COLUMNS)})
    first = X["b"].isin(["v0", None]).to_numpy() & X["a"].isin(["v1"]).to_numpy()
    part = nb.fit(free, X[first], y[first], classes=["no", "yes"])
    whole, grown = (
        nb.fit(free, pd.concat([X[first], X[~first]]), [*y[first], *y[~first]]),
        part.update(X[~first], y[~first]),
    )
    np.testing.assert_allclose(grown.log_joint(X), whole.log_joint(X), rtol=1e-10)
    assert grown.log_evidence == pytest.approx(whole.log_evidence, rel=1e-10)


def test_draws_of_trees_and_of_rows_follow_the_posterior():
    X, y = table(8)
    posterior = nb.fit(model(6.0, class_probs=[0.5, 0.5]), X, y)
    draws = posterior.draws(num_chains=20, num_draws=150, key=3)
    parent = draws["x_parent"].reshape(-1, 2, 4).astype(int)
    np.testing.assert_array_equal(parent[:, 0], parent[:, 1])
    probs = posterior.families[0].edge_probs()
    for j, k in PAIRS:
        share = ((parent[:, 0, j] == k) | (parent[:, 0, k] == j)).mean()
        assert abs(share - probs[j, k]) < 4.5 * np.sqrt(probs[j, k] * (1 - probs[j, k]) / 3000) + 1e-9
    # The mean density of the draws is the predictive density.
    means = []
    for chain in range(20):
        part = {site: value[chain] for site, value in draws.items()}
        means.append(np.exp(nb.from_samples(posterior.model, part, X=X, y=y).log_joint(X[:8])))
    z = (np.mean(means, axis=0) - np.exp(posterior.log_joint(X[:8]))) / (np.std(means, axis=0, ddof=1) / np.sqrt(20))
    assert np.abs(z).max() < 6

    assert posterior.draws(num_chains=1, num_draws=1)["x_parent"].shape == (1, 1, 2, 4)
    one = {site: value[:1, :1] for site, value in draws.items()}
    of_rows = nb.from_samples(posterior.model, one, X=X, y=y).log_joint(X) - np.log(0.5)
    (counted,) = posterior.model.statistics(X, y).blocks
    given = {name: one[f"x_{name}"] for name in ("parent", "prob")}
    found = posterior.model.families[0].log_likelihood(given, counted)
    expected = [of_rows[y == label, c].sum() for c, label in enumerate(("no", "yes"))]
    np.testing.assert_allclose(found[0, 0, :, 0], expected, rtol=1e-9)

    rows, labels = posterior.simulate(4000, key=1)
    every = pd.DataFrame(itertools.product(*([f"v{k}" for k in range(n)] + [None] for n in SIZES)), columns=COLUMNS)
    expected = np.exp(posterior.log_joint(every))
    np.testing.assert_allclose(expected.sum(axis=0), 0.5, rtol=1e-10)
    key = [*map(tuple, every.astype(object).where(every.notna(), None).to_numpy())]
    for c, label in enumerate(("no", "yes")):
        some = rows[labels == label].astype(object)
        seen = pd.Series([*map(tuple, some.where(some.notna(), None).to_numpy())]).value_counts()
        counts = np.array([seen.get(one, 0) for one in key])
        assert counts.sum() == len(some)
        mean = len(some) * expected[:, c] * 2
        degrees = len(key) - 1
        assert ((counts - mean) ** 2 / mean).sum() < degrees + 6 * np.sqrt(2 * degrees)


@pytest.mark.slow
def test_many_columns_of_far_weights():
    """Two thousand copies of one coin: factors and weights that float64 does not hold."""
    rng = np.random.default_rng(0)
    coin = rng.integers(0, 2, 2000)
    X = np.column_stack([coin ^ (rng.random(2000) < 0.001) for _ in range(12)] + [rng.integers(0, 2, 2000)])
    posterior = nb.fit(nb.NaiveBayes({"x": (nb.AllTrees(), [*range(13)])}), X, rng.integers(0, 2, 2000))
    family = posterior.families[0]
    assert np.ptp(family.log_weights[0][np.triu_indices(13, 1)]) > 700
    assert family.edge_probs().sum() == pytest.approx(24)
    some = X[:40].astype(float)
    in_jax = posterior.log_joint_function()
    assert np.abs(np.asarray(in_jax(jnp.asarray(some))) / posterior.log_joint(X[:40]) - 1).max() < 1e-4


def sampler(X, y):
    return nb.fit(model(), X, y, nb.NUTS())


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (sampler, ValueError, r"is AllTrees, whose prior couples the classes .* use nb.Exact\(\)"),
        (lambda X, y: nb.fit(model(), X, y, nb.MAP()), ValueError, "AllTrees.* gives no mode"),
        (lambda X, y: nb.fit(model(), X, y).mean(), NotImplementedError, r"a mean of trees is no tree: take .*draws"),
        (lambda X, y: nb.fit(model(), X, y).summary(), NotImplementedError, r"edge_probs\(\)"),
        (
            lambda X, y: nb.loo(nb.fit(model(), X[:20], y[:20]), X[3:23], y[3:23]),
            ValueError,
            "never among the data",
        ),
        (lambda X, y: nb.AllTrees(num_bins=0), ValueError, "num_bins"),
        (lambda X, y: model(-1.0), ValueError, r"AllTrees\(concentration=-1.0\): -1.0 is not a positive"),
        (lambda X, y: model([1.0, 2.0]).bind(X, y), ValueError, r"shape \(2,\): give one number"),
    ],
)
def test_errors_say_what_is_not_there(call, kind, words):
    X, y = table()
    with pytest.raises(kind) as error:
        call(X, y)
    assert re.search(words, str(error.value), re.DOTALL), str(error.value)


def test_labels_that_are_missing():
    X, y = table(60, holes=0.0)
    unknown = np.where(np.arange(60) % 5 == 0, None, y)
    with pytest.warns(nb.ConvergenceWarning):
        posterior = nb.fit(model(), X, unknown, nb.Gibbs(num_warmup=20, num_samples=60, num_chains=2), key=0)
    assert np.isfinite(posterior.log_joint(X)).all()


@pytest.mark.slow
def test_a_learned_concentration_maximises_the_evidence():
    rng = np.random.default_rng(5)
    first, y = rng.integers(0, 3, 120), np.repeat(["a", "b"], 60)
    X = np.column_stack([first, np.where(rng.uniform(size=120) < 0.8, first, rng.integers(0, 3, 120)), first % 2])

    def fitted(concentration, *inference):
        return nb.fit(nb.NaiveBayes({"trees": (nb.AllTrees(concentration), [0, 1, 2])}), X, y, *inference)

    (best,) = fitted(dist.Gamma(2.0, 1.0), nb.EmpiricalBayes()).hyperparameters().values()
    numbers = float(best) * np.array([0.9, 1.0, 1.1])
    assert np.argmax([fitted(number).log_evidence for number in numbers]) == 1
