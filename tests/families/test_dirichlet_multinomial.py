"""The Dirichlet compound multinomial, every number by a second route."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.optimize
import scipy.sparse
from arviz_stats.base import array_stats
from cases import CLASSES, membership
from scipy import stats
from scipy.special import digamma, gammaln

import bayesnb as nb
from bayesnb.core.deferred import namespace
from bayesnb.estimators import DirichletMultinomialNB
from bayesnb.families import dirichlet_multinomial
from bayesnb.families.distributions import GammaVector
from bayesnb.families.draw import draw, draw_words
from bayesnb.families.statistics import LEVELS

COLUMNS = 4
SHAPE = (CLASSES, COLUMNS)


@pytest.fixture
def family(rng):
    return nb.DirichletMultinomial(rng.uniform(1.1, 3.0, SHAPE), rng.uniform(0.05, 0.5, SHAPE))


def bursty(rng, rows, concentration, longest=60):
    """Documents with word probabilities of their own."""
    prob = rng.dirichlet(np.asarray(concentration, dtype=float), rows)
    lengths = rng.integers(0, longest, rows)
    return np.array([rng.multinomial(n, p) for n, p in zip(lengths, prob, strict=True)]).astype(float)


def documents(rng, rows=30, longest=60):
    return bursty(rng, rows, [0.5, 1.0, 2.0, 0.3], longest)


def by_hand(x, membership):
    """The definition of the statistic, document by document: (class, column, level) to weight, and so for lengths."""
    found = {}
    both = np.column_stack([x, x.sum(axis=1)])
    for row, column in np.ndindex(both.shape):
        for c in range(membership.shape[1]):
            for level in range(int(both[row, column])):
                at = c, column, level
                found[at] = found.get(at, 0.0) + membership[row, c]
    return {at: weight for at, weight in found.items() if weight != 0}


def as_levels(statistics):
    """The same from `Levels`, whose larger counts are held whole."""
    width = statistics.total.shape[1] + 1
    found = {}

    def add(place, level, weight):
        at = int(place) // width, int(place) % width, int(level)
        found[at] = found.get(at, 0.0) + weight

    for place, level, weight in zip(*vars(statistics.levels).values(), strict=True):
        if weight:
            add(place, level, weight)
    for place, count, weight in zip(*vars(statistics.beyond).values(), strict=True):
        if weight:
            for level in range(LEVELS, int(count)):
                add(place, level, weight)
    return found


class TestDensity:
    def test_a_word_of_concentration_zero_is_impossible_and_its_absence_certain(self, float64):
        """The density is that of the class's other words, in a sparse array also where it holds zeros, and in JAX."""
        concentration = np.array([[0.0, 1.0, 2.0], [1.5, 0.0, 0.0], [0.5, 1.0, 2.0]])
        x = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
        expected = np.full((4, 3), -np.inf)
        for i, c in np.ndindex(4, 3):
            words = concentration[c] > 0
            if not x[i, ~words].any():
                urn = stats.dirichlet_multinomial(concentration[c, words], int(x[i].sum()))
                expected[i, c] = urn.logpmf(x[i, words].astype(int))
        of_rows = nb.DirichletMultinomial().row_log_likelihood
        explicit_zeros = scipy.sparse.csr_array((x.ravel(), np.tile(np.arange(3), 4), 3 * np.arange(5)), x.shape)
        forms = [x, scipy.sparse.csr_array(x), explicit_zeros]
        found = [of_rows({"concentration": concentration}, form) for form in forms]
        found.append(jax.jit(of_rows)({"concentration": concentration}, jnp.asarray(x)))
        np.testing.assert_allclose(found, [expected] * 4, rtol=1e-9, atol=1e-9)

    @pytest.mark.parametrize("urn", [False, True])
    def test_documents_are_drawn_word_by_word_or_at_once(self, urn, rng, monkeypatch):
        weights, length, number = np.array([0.8, 2.0, 1.2]), 5, 100_000
        monkeypatch.setattr("bayesnb.families.draw.LONG_DOCUMENT", 4)
        totals = np.where(np.arange(number) % 2 == 0, 4, length)  # every other one is word by word
        both = np.stack([np.ones(3), weights])
        words = (
            nb.DirichletMultinomial().likelihood(both) if urn else nb.Multinomial().likelihood(both / [[3.0], [4.0]])
        )
        drawn = draw_words(words, [np.arange(0), np.arange(number)], totals, rng)
        np.testing.assert_array_equal(drawn.sum(axis=1), totals)
        for total in (4, length):
            rows = drawn[totals == total].toarray()
            possible, count = np.unique(rows, axis=0, return_counts=True)
            if urn:
                prob = [stats.dirichlet_multinomial.pmf(row.astype(int), weights, total) for row in possible]
            else:
                prob = stats.multinomial.pmf(possible, total, weights / 4)
            assert sum(prob) == pytest.approx(1.0)
            assert stats.chisquare(count, np.array(prob) * len(rows)).pvalue > 1e-4


class TestLevels:
    @pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_array])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_they_are_what_the_definition_counts(self, form, weighted, rng):
        x, m = documents(rng, longest=80), membership(rng, 30, weighted)
        m[3] = 0.0
        m[4] = 0.7, 1.3
        assert x.max() > 2 * LEVELS
        found = nb.DirichletMultinomial().statistics(form(x), m)
        mine, theirs = as_levels(found), by_hand(x, m)
        assert mine.keys() == theirs.keys()
        np.testing.assert_allclose(list(mine.values()), [theirs[at] for at in mine], rtol=1e-12)
        np.testing.assert_allclose(found.n[:, 0], m.sum(axis=0))
        np.testing.assert_allclose(found.total, m.T @ x)
        coefficient = gammaln(x.sum(axis=1) + 1) - gammaln(x + 1).sum(axis=1)
        np.testing.assert_allclose(found.log_base[:, 0], m.T @ coefficient)

    def test_rounding_is_told_from_rows_that_were_never_there(self, rng, family):
        x, m = documents(rng), membership(rng, 30, weighted=True)
        whole = family.statistics(x, m)
        rest = (whole - family.statistics(x[:20], m[:20])).without_rounding(whole)
        assert np.all(family.possible(rest))
        assert not np.asarray(rest.levels.weight < 0).any()
        # The same totals, but not the same documents.
        other = x[:2].copy()
        other[0, 0], other[1, 0] = x[0, 0] + x[1, 0], 0.0
        assert x[:2, 0].min() > 0
        swapped = (whole - family.statistics(other, m[[0, 0]])).without_rounding(whole)
        assert not np.all(family.possible(swapped))

    def test_they_stay_small_at_fifty_thousand_words_and_counts_of_millions(self, rng):
        rows, columns = 200, 50_000
        x = scipy.sparse.random_array((rows, columns), density=2e-3, rng=rng, format="csr")
        x.data = rng.integers(1, 4, x.nnz).astype(float)
        x = x.tolil()
        x[0, 7], x[1, 7], x[2, 9] = 500.0, 350.0, 5e6
        x = x.tocsr()
        found = nb.DirichletMultinomial().statistics(x, np.eye(20)[np.arange(rows) % 20])
        assert len(found.levels.weight) < 2**17
        assert len(found.beyond.weight) < 2**9

    def test_sizes_are_powers_of_two_so_that_little_is_compiled_anew(self, rng):
        count = nb.DirichletMultinomial().statistics
        sizes = {len(count(documents(rng), membership(rng, 30, weighted=True)).levels.place) for _ in range(20)}
        assert all(size & (size - 1) == 0 for size in sizes)
        assert len(sizes) <= 2

    @pytest.mark.parametrize("share", [1.0, 0.37], ids=["counts", "fractions"])
    def test_their_log_likelihood_is_the_sum_over_rows(self, share, rng, float64):
        x, m = documents(rng, longest=150) * share, membership(rng, 30, weighted=True)
        one = nb.DirichletMultinomial(fractional=True)
        many = rng.uniform(0.05, 5.0, (3, 2, *SHAPE))
        counted = one.statistics(x, m)
        mine = one.log_likelihood({"concentration": many}, counted) + counted.log_base
        theirs = (one.row_log_likelihood({"concentration": many}, x) * m).sum(axis=-2)[..., None]
        assert mine.shape == (3, 2, CLASSES, 1)
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)
        compiled = jax.jit(one.log_likelihood)({"concentration": jnp.asarray(many)}, counted)
        np.testing.assert_allclose(compiled, one.log_likelihood({"concentration": many}, counted), rtol=1e-10)


def log_posterior(family, counted, concentration, *, prior):
    xp, _ = namespace(concentration)
    total = family.log_likelihood({"concentration": concentration}, counted).sum(axis=(-2, -1))
    at_prior = (family.concentration - 1) * xp.log(concentration) - family.rate * concentration
    return total + prior * at_prior.sum(axis=(-2, -1))


with_gradient = jax.jit(jax.value_and_grad(log_posterior, argnums=2))
"""By JAX: another route than the fit's own."""


class TestPoints:
    @pytest.mark.parametrize("prior", [False, True], ids=["MLE", "MAP"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
    def test_the_gradient_is_zero(self, prior, weighted, scale, family, rng, float64):
        x = bursty(rng, 80, scale * np.array([0.5, 1.0, 2.0, 0.3]))
        counted = family.statistics(x, membership(rng, 80, weighted))
        fit = family.maximum_a_posteriori if prior else family.maximum_likelihood
        best = fit(counted)["concentration"]
        assert np.isfinite(best).all()
        _, gradient = with_gradient(family, counted, best, prior=prior)
        np.testing.assert_allclose(np.asarray(gradient) * best, 0.0, atol=1e-8)

    def test_words_that_a_class_does_not_show(self, rng):
        x = documents(rng, 60)
        x[:30, 1] = 0.0
        y = np.repeat(["a", "b"], 30)
        mle = nb.fit(nb.DirichletMultinomial(), x, y, nb.MLE())
        estimate = mle.mean()["x_concentration"]
        assert (estimate == 0).tolist() == [[False, True, False, False], [False] * 4]
        assert mle.predict_proba([[1, 1, 1, 0]])[0, 0] == 0.0
        mode = nb.fit(nb.DirichletMultinomial(1.2, 0.3), x, y, nb.MAP()).mean()["x_concentration"]
        total, lengths = mode[0].sum(), x[:30].sum(axis=1)
        unseen = 0.2 / (0.3 + (digamma(total + lengths) - digamma(total)).sum())
        np.testing.assert_allclose(mode[0, 1], unseen, rtol=1e-8)
        flat = nb.fit(nb.DirichletMultinomial(1.0, 1e-9), x, y, nb.MAP()).mean()["x_concentration"]
        np.testing.assert_allclose(flat, estimate, rtol=1e-5)

    @pytest.mark.parametrize(
        "rows",
        [
            [[5, 5, 5], [6, 6, 6], [4, 4, 4]],
            [[3, 1, 2]],
            [[4, 0, 0], [0, 3, 0], [0, 0, 9]],
            [[7, 0, 0], [3, 0, 0]],
            [[1, 0, 0], [0, 1, 0], [0, 0, 0]],
            [[0, 0, 0], [0, 0, 0]],
        ],
        ids=["even", "one document", "a word a document", "one word", "one token a document", "empty"],
    )
    def test_no_estimate_where_the_likelihood_has_no_maximum(self, rows, rng):
        x = np.vstack([documents(rng, 20)[:, :3], rows])
        y = ["fine"] * 20 + ["poor"] * len(rows)
        model = nb.NaiveBayes({"words": (nb.DirichletMultinomial(), [0, 1, 2])})
        with pytest.raises(
            ValueError,
            match=r"block 'words' of the columns .* in class 'poor'.*no burstier than a multinomial's.*nb\.NUTS\(\)",
        ):
            nb.fit(model, x, y, nb.MLE())
        mode = nb.fit(model, x, y, nb.MAP()).mean()["words_concentration"]
        assert (mode > 0).all()

    def test_the_estimate_exists_where_the_expansion_at_infinity_falls(self):
        """Levin and Reeds: along fixed proportions the first term of the expansion in 1 / A decides."""
        sums = []
        for excess in range(9):
            x = np.full((5, 2), 10.0)
            x[0] += [excess, -excess]
            x[1] -= [excess, -excess]
            counted = nb.DirichletMultinomial().statistics(x, np.ones((5, 1)))
            sums.append(nb.DirichletMultinomial().maximum_likelihood(counted)["concentration"].sum())
            falls = (x * (x - 1)).sum() / 0.5 > 5 * 20 * 19
            assert np.isfinite(sums[-1]) == falls, excess
        assert np.isnan(sums).tolist() == [True] * 4 + [False] * 5
        assert sums[4:] == sorted(sums[4:], reverse=True)
        # Along the proportions that are tried first it rises.
        x = np.array([[16.0, 24.0], [13.0, 28.0], [4.0, 4.0], [9.0, 5.0]])
        counted = nb.DirichletMultinomial().statistics(x, np.ones((4, 1)))
        assert np.isfinite(nb.DirichletMultinomial().maximum_likelihood(counted)["concentration"]).all()

    def test_an_unbounded_density_has_no_mode(self, rng):
        x = documents(rng, 20)
        x[:, 2] = 0.0
        with pytest.raises(ValueError, match=r"mode estimate of 'concentration' does not exist \(density unbounded"):
            nb.fit(nb.DirichletMultinomial(0.9, 1.0), x, ["a"] * 20, nb.MAP())
        x[0, 2] = 1.0
        assert (nb.fit(nb.DirichletMultinomial(0.9, 1.0), x, ["a"] * 20, nb.MAP()).mean()["x_concentration"] > 0).all()
        # A row of weight one half takes away a pole of power one half, and the density is level there.
        weight = np.where(np.arange(20) == 0, 0.5, 1.0)
        with pytest.raises(ValueError, match=r"mode estimate of 'concentration' does not exist"):
            nb.fit(nb.DirichletMultinomial(0.5, 1.0), x, ["a"] * 20, nb.MAP(), sample_weight=weight)

    def test_a_class_without_rows_has_the_mode_of_the_prior(self, rng):
        fitted = nb.fit(
            nb.NaiveBayes(nb.DirichletMultinomial(3.0, 0.5), class_concentration=2.0),
            documents(rng, 10),
            ["a"] * 10,
            nb.MAP(),
            classes=["a", "b"],
        )
        np.testing.assert_allclose(fitted.mean()["x_concentration"][1], 4.0, rtol=1e-12)

    def test_the_closed_form_is_refused_with_a_way_out(self, rng):
        with pytest.raises(ValueError, match=r"DirichletMultinomial, which has no closed-form posterior.*nb\.MAP\(\)"):
            nb.fit(nb.DirichletMultinomial(), documents(rng, 10), ["a"] * 10)
        with pytest.raises(ValueError, match=r"0\.5 is not a count.*as (nb\.)?DirichletMultinomial needs"):
            nb.fit(nb.DirichletMultinomial(), [[0.5, 1.0]], ["a"], nb.MAP())


class TestGammaVector:
    """The prior as one vector, whose sum is a coordinate of its own for the sampler."""

    @pytest.mark.parametrize("size", [1, 5])
    def test_its_density_is_that_of_gamma_variables_and_its_map_has_the_jacobian_it_says(self, size, rng, float64):
        a, b = rng.uniform(0.5, 3.0, (2, 3, size))
        vector = GammaVector(a, b)
        value = draw(vector, rng, (7,))
        assert value.shape == (7, 3, size)
        np.testing.assert_allclose(
            jax.jit(vector.log_prob)(value), stats.gamma.logpdf(value, a, scale=1 / b).sum(axis=-1)
        )
        assert vector.support(value).all()
        assert vector.support(vector.support.feasible_like(value)).all()
        assert not vector.support(-value).any()
        to_vector = dist.biject_to(vector.support)
        there, back = jax.jit(to_vector.__call__), jax.jit(to_vector.inv.__call__)
        point = rng.normal(size=value.shape)
        image = np.asarray(there(point))
        np.testing.assert_allclose(back(image), point, atol=1e-9)
        np.testing.assert_allclose(there(back(value)), value, rtol=1e-9)
        slopes = jax.jit(jax.vmap(jax.vmap(jax.jacobian(to_vector.__call__))))(point)
        by_autodiff = np.linalg.slogdet(slopes).logabsdet
        np.testing.assert_allclose(jax.jit(to_vector.log_abs_det_jacobian)(point, image), by_autodiff, rtol=1e-9)
        np.testing.assert_allclose(image.sum(axis=-1), np.exp(point[..., 0]), rtol=1e-9)

    @pytest.mark.parametrize("shape", [(2,), (3, 2)], ids=str)
    def test_it_checks_each_vector(self, shape):
        numbers = np.full(shape, 2.0)
        assert GammaVector(numbers, numbers, validate_args=True).event_shape == (2,)
        for name in ("concentration", "rate"):
            wrong = {"concentration": numbers, "rate": numbers, name: np.where(np.arange(2) == 1, -1.0, numbers)}
            with pytest.raises(ValueError, match=name):
                GammaVector(**wrong, validate_args=True)


@pytest.mark.slow
def test_many_words_mix_well_although_all_concentrations_move_together():
    X, y = nb.datasets.federalist()
    madison = (y == "Madison").to_numpy()
    sampled = nb.fit(nb.DirichletMultinomial(), X[madison], y[madison], nb.NUTS(num_samples=800), key=1)
    total = sampled.draws()["x_concentration"].sum(axis=-1)
    assert sampled.diagnostics.divergences == 0
    assert float(array_stats.ess(total[..., 0], method="bulk")) > 800
    assert np.nanmin(sampled.diagnostics.ess_bulk) > 400


class TestLife:
    def test_a_word_of_concentration_zero_is_never_drawn(self):
        """An estimate of maximum likelihood gives such words. The others are those of a model without the word."""
        x = np.random.default_rng(0).negative_binomial(1, 0.2, (40, 4))
        x[:20, 1] = 0
        y = np.repeat(["a", "b"], 20)
        fitted = nb.fit(nb.DirichletMultinomial(), x, y, nb.MLE())
        alpha = fitted.mean()["x_concentration"][0]
        assert alpha[1] == 0
        simulated, labels = fitted.simulate(20_000, key=1, total_count=12)
        mine = simulated[labels == "a"]
        assert (mine[:, 1] == 0).all()
        theirs = stats.dirichlet_multinomial(np.delete(alpha, 1), 12)
        error = np.sqrt(np.diag(theirs.cov()) / len(mine))
        assert np.abs((np.delete(mine.mean(axis=0), 1) - theirs.mean()) / error).max() < 5
        assert 0 <= nb.check(fitted, x, y).table["p_value"].min() <= 1

    def test_the_estimator_is_the_model(self, rng):
        x, y = documents(rng, 60), rng.choice(["a", "b"], 60)
        fitted = DirichletMultinomialNB(concentration=1.3, rate=0.2).fit(x, y)
        core = nb.fit(nb.NaiveBayes(nb.DirichletMultinomial(1.3, 0.2), class_probs="empirical"), x, y, nb.MAP())
        np.testing.assert_array_equal(fitted.predict_proba(x), core.predict_proba(x))
        np.testing.assert_array_equal(fitted.concentration_, core.mean()["x_concentration"])
        assert fitted.predict_joint_log_proba(x).shape == (60, 2)
        mle = DirichletMultinomialNB(inference="mle", class_prior=[0.5, 0.5]).fit(scipy.sparse.csr_array(x), y)
        estimate = nb.fit(nb.NaiveBayes(nb.DirichletMultinomial(), class_probs=[0.5, 0.5]), x, y, nb.MLE())
        np.testing.assert_allclose(mle.predict_proba(x), estimate.predict_proba(x), rtol=1e-9)
        with pytest.raises(ValueError, match="this is a point estimate"):
            fitted.predict_interval(x)


def test_steps_without_newton_reach_the_same_maximum(rng, monkeypatch):
    """Minka's fixed-point step alone climbs to the maximum that Newton's steps find."""
    statistics = nb.DirichletMultinomial().statistics(documents(rng), membership(rng, 30, weighted=True))
    by_newton = nb.DirichletMultinomial().maximum_likelihood(statistics)["concentration"]
    monkeypatch.setattr(dirichlet_multinomial, "_newton", lambda *args: None)
    by_fixed_point = nb.DirichletMultinomial().maximum_likelihood(statistics)["concentration"]
    np.testing.assert_allclose(by_fixed_point, by_newton, rtol=1e-8)


def test_newtons_step_is_the_gradient_over_the_hessian(float64):
    """Both are derivatives, by JAX, of the density of the logarithms of the concentrations."""
    x = np.array([[4.0, 1.0, 0.0], [0.0, 2.0, 7.0], [30.0, 3.0, 1.0], [2.0, 2.0, 2.0]])
    counted = nb.DirichletMultinomial().statistics(x, np.array([[1.0], [2.0], [1.0], [0.5]]))
    likelihood = dirichlet_multinomial._OneClass.of(counted, 0)
    a, b = np.array([1.5, 2.0, 1.0]), np.array([0.3, 0.0, 0.2])
    weights = np.array([1.0, 2.0, 1.0, 0.5])

    counts, sign = np.column_stack([x, x.sum(axis=1)]), np.array([1.0, 1.0, 1.0, -1.0])

    def density(logs):
        alpha = jnp.exp(logs)
        both = jnp.append(alpha, alpha.sum())
        rising = jax.scipy.special.gammaln(both + counts) - jax.scipy.special.gammaln(both)
        return weights @ rising @ sign + a @ logs - logs.sum() - b @ alpha

    # The density bends down in every direction here, so that Newton's method is used as it is.
    alpha = np.array([0.8, 0.9, 1.1])
    hessian, gradient = jax.jit(jax.jacfwd(lambda logs: [jax.grad(density)(logs)] * 2, has_aux=True))(np.log(alpha))
    assert (np.linalg.eigvalsh(hessian) < 0).all()
    slopes = likelihood.slopes(alpha)
    np.testing.assert_allclose(alpha * (slopes[:-1] - slopes[-1] - b) + a - 1, gradient, rtol=1e-10)
    step = dirichlet_multinomial._newton(likelihood, alpha, np.asarray(gradient), np.asarray(gradient) - (a - 1))
    np.testing.assert_allclose(step, -np.linalg.solve(hessian, gradient), rtol=1e-9)


def test_the_longest_document_of_a_class():
    x = np.array([[3.0, 2.0], [0.0, 1.0], [40.0, 2.0]])
    counted = nb.DirichletMultinomial().statistics(x, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    assert [dirichlet_multinomial._OneClass.of(counted, c).longest for c in (0, 1)] == [5.0, 42.0]


def test_effective_tokens_of_a_word_are_those_of_its_class(rng):
    x, member = rng.poisson(4.0, (30, 3)).astype(float), np.eye(2)[np.arange(30) % 2]
    family = nb.DirichletMultinomial()
    counted = family.statistics_of_each_column(family.statistics(x, member))
    np.testing.assert_allclose(counted.n, np.repeat(counted.total.sum(axis=1), 3).reshape(2, 3))
    np.testing.assert_allclose(counted.total / counted.n, (member.T @ x) / (member.T @ x).sum(axis=1, keepdims=True))
    assert not counted.log_base.any()


def pairs_of(counts):
    """Number of pairs of equal tokens of each word over all documents, and of all pairs of tokens in a document."""
    length = counts.sum(axis=1)
    return (counts * (counts - 1)).sum(axis=0), (length * (length - 1)).sum()


def test_bursts_divide_the_number_of_tokens():
    """Also where a word occurs more often in a document than levels are counted."""
    assert LEVELS < 20
    bursty = np.array([[20.0, 3.0, 1.0], [2.0, 30.0, 0.0], [5.0, 5.0, 5.0]])
    x = np.vstack([bursty, [[7.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    family, member = nb.DirichletMultinomial(), np.eye(3)[[0, 0, 0, 1, 1, 2, 2]]
    counted = family.statistics_of_each_column(family.statistics(x, member))
    equal, pairs = pairs_of(bursty)
    total = bursty.sum(axis=0)
    by_chance = ((total / total.sum()) ** 2).sum()
    rho = (equal.sum() / pairs - by_chance) / (1 - by_chance)
    effect = 1 + rho * pairs / total.sum()
    assert effect > 2
    # One word alone, or one token in each document, shows no bursts.
    np.testing.assert_allclose(counted.n[:, 0], [total.sum() / effect, 8.0, 2.0], rtol=1e-12)
    np.testing.assert_allclose(counted.total[0], total / effect, rtol=1e-12)
