"""Mutual information, feature evidence, averages over feature subsets and models side by side."""

import gzip
import itertools
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.sparse
import scipy.stats
from cases import Exponential, with_holes
from matplotlib.figure import Figure
from scipy.special import logsumexp, softmax
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline

import bayesnb as nb
from bayesnb import estimators

WORDS = ["ape", "bee", "cat"]
FAMILIES = {
    "seen": nb.Bernoulli(0.7, 1.6),
    "hue": nb.Categorical([0.5, 1.0, 2.0]),
    "size": (nb.Gaussian(loc=1.0, kappa=0.3, concentration=1.5, rate=0.8), ["length", "width"]),
    "calls": nb.Poisson(1.2, 0.5),
    "words": (nb.Multinomial([0.4, 1.0, 1.7]), WORDS),
    "wait": Exponential(1.5, 0.6),
}
FEATURES = ["seen", "hue", "length", "width", "calls", "words", "wait"]


def mixed_table(rng, rows):
    y = rng.integers(0, 3, rows)
    table = pd.DataFrame(
        {
            "seen": with_holes(rng, rng.integers(0, 2, rows).astype(float)),
            "hue": rng.choice(["blue", "green", "red"], rows),
            "length": with_holes(rng, rng.normal(y, 1.0)),
            "width": rng.normal(1.0, 2.0, rows),
            "calls": with_holes(rng, rng.poisson(2.0 + y).astype(float)),
        }
    )
    table.loc[rng.uniform(size=rows) < 0.2, "hue"] = None
    for word in WORDS:
        table[word] = rng.poisson(2.0, rows)
    return table.assign(wait=with_holes(rng, rng.exponential(1.0, rows))), np.array(["x", "y", "z"])[y]


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(5)
    X, y = mixed_table(rng, 30)
    new, _ = mixed_table(rng, 12)
    return X, y, new


@pytest.fixture(scope="module")
def exact(mixed):
    X, y, _ = mixed
    return nb.fit(nb.NaiveBayes(FAMILIES, class_concentration=[1.0, 2.0, 0.5]), X, y)


PRIOR = np.array([0.5, 0.2, 0.9, 0.6, 0.35, 0.7, 0.01])
BY_NAME = dict(zip(FEATURES, PRIOR.tolist(), strict=True))
FORMS = {"array": PRIOR, "list": PRIOR.tolist(), "series": pd.Series(BY_NAME)[::-1], "mapping": BY_NAME}
"""Ways to give a probability of inclusion for each feature."""


@pytest.fixture(scope="module")
def averaged(exact):
    return exact.averaged(PRIOR)


@pytest.fixture(scope="module")
def each_feature(mixed):
    """For every feature on its own: log evidence and log predictive density of new rows, by class and shared."""
    X, y, new = mixed
    found = {}
    for name in FEATURES:
        columns = WORDS if name == "words" else [name]
        family = FAMILIES["size"][0] if name in ("length", "width") else FAMILIES[name]
        family = family[0] if isinstance(family, tuple) else family
        features = {name: (family, columns)}
        by_class = nb.fit(nb.NaiveBayes(features, class_probs=np.full(3, 1 / 3)), X[columns], y)
        shared = nb.fit(nb.NaiveBayes(features, class_probs=[1.0]), X[columns], ["all"] * len(y))
        found[name] = (
            by_class.log_evidence + len(y) * np.log(3),
            shared.log_evidence,
            by_class.log_joint(new[columns]) + np.log(3),
            shared.log_joint(new[columns]),
        )
    return found


def log_evidence_of_labels(y):
    concentration = np.array([1.0, 2.0, 0.5])
    counts = np.unique(y, return_counts=True)[1]
    return float(
        scipy.special.gammaln(concentration + counts).sum()
        - scipy.special.gammaln(concentration).sum()
        + scipy.special.gammaln(concentration.sum())
        - scipy.special.gammaln((concentration + counts).sum())
    ), np.log((concentration + counts) / (concentration + counts).sum())


class TestFeatureEvidence:
    @pytest.mark.parametrize("form", [None, *FORMS])
    def test_is_the_difference_of_two_fits(self, exact, each_feature, form):
        prior = 0.5 if form is None else PRIOR
        found = nb.feature_evidence(exact) if form is None else nb.feature_evidence(exact, FORMS[form])
        assert found.index.tolist() == FEATURES
        assert found.index.name == "feature"
        expected = [own - shared for own, shared, _, _ in each_feature.values()]
        np.testing.assert_allclose(found["log_bayes_factor"], expected, rtol=1e-11, atol=1e-11)
        odds = np.exp(expected) * prior / (1 - prior)
        np.testing.assert_allclose(found["inclusion_probability"], odds / (1 + odds), rtol=1e-11)

    def test_certain_priors_stay_certain_and_large_factors_finite(self, exact):
        found = nb.feature_evidence(exact, [0, 1, 0, 1, 0, 1, 0])
        assert found["inclusion_probability"].tolist() == [0, 1, 0, 1, 0, 1, 0]
        y = np.arange(4000) // 2000
        apart = nb.fit(nb.Gaussian(), y[:, None] + np.random.default_rng(0).normal(0, 0.1, (4000, 1)), y)
        assert nb.feature_evidence(apart)["log_bayes_factor"].item() > 800
        assert nb.feature_evidence(apart, 1e-300)["inclusion_probability"].item() == 1.0

    def test_of_any_inference_with_data(self, exact, mixed):
        X, y, _ = mixed
        sampled = nb.from_samples(exact.model, exact.draws(num_draws=3, num_chains=1), X=X, y=y)
        pd.testing.assert_frame_equal(nb.feature_evidence(exact), nb.feature_evidence(sampled))

    def test_one_class_says_nothing(self):
        found = nb.feature_evidence(nb.fit(nb.Gaussian(), [[1.0], [2.0]], ["a", "a"]), 0.3)
        np.testing.assert_allclose(found.to_numpy(), [[0.0, 0.3]], atol=1e-12)


class TestAveraged:
    def test_is_the_average_over_all_subsets(self, averaged, each_feature, mixed):
        """Dash and Cooper (2002) by enumeration: 128 models, each weighed by its prior probability and evidence."""
        _, y, new = mixed
        labels, log_class_probs = log_evidence_of_labels(y)
        log_weights, log_joints = [], []
        for subset in itertools.product([True, False], repeat=len(FEATURES)):
            log_weight, log_joint = labels, np.broadcast_to(log_class_probs, (len(new), 3))
            for name, included, prior in zip(FEATURES, subset, PRIOR, strict=True):
                own, shared, own_joint, shared_joint = each_feature[name]
                log_weight = log_weight + (np.log(prior) + own if included else np.log1p(-prior) + shared)
                log_joint = log_joint + (own_joint if included else shared_joint)
            log_weights.append(log_weight)
            log_joints.append(log_joint)
        log_weights = np.array(log_weights)
        expected = logsumexp(log_weights[:, None, None] + np.array(log_joints), axis=0) - logsumexp(log_weights)
        np.testing.assert_allclose(averaged.log_joint(new), expected, rtol=1e-12, atol=1e-12)
        proba = np.exp(expected - logsumexp(expected, axis=1, keepdims=True))
        np.testing.assert_allclose(averaged.predict_proba(new), proba, rtol=0, atol=1e-12)
        assert averaged.log_evidence == pytest.approx(logsumexp(log_weights), abs=1e-10)

    @pytest.mark.parametrize("form", FORMS)
    def test_option_of_the_model_is_the_same_also_from_a_file(self, averaged, mixed, form, tmp_path):
        X, y, new = mixed
        model = nb.NaiveBayes(FAMILIES, class_concentration=[1.0, 2.0, 0.5], feature_inclusion=FORMS[form])
        posterior = nb.fit(model, X, y)
        posterior.save(tmp_path / "averaged.nc")
        for found in (posterior, nb.load(tmp_path / "averaged.nc", families=[Exponential])):
            assert isinstance(found, nb.results.AveragedPosterior)
            np.testing.assert_array_equal(found.log_joint(new), averaged.log_joint(new))
            assert found.log_evidence == averaged.log_evidence
            pd.testing.assert_series_equal(
                found.inclusion_probability, nb.feature_evidence(posterior, PRIOR)["inclusion_probability"]
            )

    def test_both_hypotheses_have_a_posterior(self, exact, averaged, mixed):
        X, y, _ = mixed
        together = nb.fit(exact.model.description, X, np.full(len(y), "x"), classes=["x", "y", "z"])
        for own, shared, one, of_all in zip(
            averaged.families, averaged.shared, exact.families, together.families, strict=True
        ):
            for found, expected in ((own, one), (shared, of_all.take(slice(0, 1)))):
                assert type(found) is type(expected)
                for name, value in expected.hyperparameters().items():
                    np.testing.assert_allclose(found.hyperparameters()[name], value, rtol=1e-12)

    def test_certain_priors_are_naive_bayes_and_the_class_prior(self, exact, mixed):
        *_, new = mixed
        np.testing.assert_allclose(exact.averaged(1.0).log_joint(new), exact.log_joint(new), rtol=1e-12)
        assert exact.averaged(1.0).log_evidence == pytest.approx(exact.log_evidence, abs=1e-10)
        nothing = exact.averaged(0.0).predict_proba(new)
        np.testing.assert_allclose(nothing, np.broadcast_to(exact.mean()["class_prob"], nothing.shape), rtol=1e-12)

    def test_draws_give_what_the_closed_form_says(self, averaged, mixed):
        *_, new = mixed
        draws = averaged.draws(num_chains=1, num_draws=4000, key=3)
        shared = (draws["seen_prob"] == draws["seen_prob"][..., :1]).all(axis=-1).mean()
        expected = 1 - averaged.inclusion_probability["seen"]
        assert abs(shared - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000)
        joint = np.exp(averaged.log_joint_draws(new, num_chains=1, num_draws=4000, key=4)[0])
        error = joint.std(axis=0) / np.sqrt(4000)
        assert (np.abs(joint.mean(axis=0) - np.exp(averaged.log_joint(new))) < 5 * error).all()

    def test_classes_share_what_the_prior_leaves_out(self, averaged):
        prior = averaged.to_datatree(num_draws=20, num_chains=2)["prior"]["wait_rate"].to_numpy()
        assert (prior == prior[..., :1]).all(axis=-1).mean() > 0.8


class TestEstimators:
    @pytest.mark.parametrize(
        ("name", "options"),
        [
            *((name, {}) for name in ("BernoulliNB", "CategoricalNB", "GaussianNB", "PoissonNB")),
            ("NaiveBayesClassifier", {"feature_weights": None}),
        ],
    )
    def test_option_averages(self, name, options, rng):
        make = partial(getattr(estimators, name), **options)
        X, y = rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40)
        estimator = make(feature_inclusion=[0.5, 0.1, 0.9]).fit(X, y)
        plain = make().fit(X, y)
        expected = plain.posterior_.averaged([0.5, 0.1, 0.9]).predict_proba(X)
        np.testing.assert_allclose(estimator.predict_proba(X), expected, rtol=1e-12)
        assert np.abs(estimator.predict_proba(X) - plain.predict_proba(X)).max() > 1e-3
        for attribute in {"feature_log_prob_", "theta_", "var_", "rate_"} & {*vars(plain)}:
            np.testing.assert_array_equal(getattr(estimator, attribute), getattr(plain, attribute))
        in_parts = make(feature_inclusion=[0.5, 0.1, 0.9])
        in_parts.partial_fit(X[:20], y[:20], classes=[0, 1]).partial_fit(X[20:], y[20:])
        np.testing.assert_allclose(in_parts.predict_proba(X), expected, rtol=1e-9)
        with pytest.raises(ValueError, match='predictive="plugin" uses one model'):
            make(feature_inclusion=0.5, predictive="plugin").fit(X, y)

    def test_classifier_keeps_the_option_of_its_model(self, rng):
        X, y = rng.integers(0, 2, (40, 3)), rng.integers(0, 2, 40)
        model = nb.NaiveBayes(nb.Bernoulli(), feature_inclusion=0.2)
        assert estimators.NaiveBayesClassifier(model).fit(X, y).model_.description.feature_inclusion == 0.2
        other = estimators.NaiveBayesClassifier(model, feature_inclusion=0.7).fit(X, y)
        assert other.model_.description.feature_inclusion == 0.7


def contingency(class_prob, prob):
    """Mutual information of a table of joint probabilities, by its entropies."""
    joint = class_prob[:, None] * prob
    entropy = scipy.stats.entropy
    return entropy(joint.sum(axis=0)) + entropy(class_prob) - entropy(joint.ravel())


COLUMNS = ["estimate", "lower", "upper", "p_value", "inclusion_probability", "at_posterior_mean", "mean"]


def at_point(family, parameters, class_probs):
    """Mutual information of a single column, or of each column of vectors, at given parameters, in nats."""
    features = {"x": family if family.cell != "count vector" else (family, WORDS)}
    posterior = nb.from_parameters(
        nb.NaiveBayes(features),
        classes=list(range(len(class_probs))),
        class_probs=class_probs,
        parameters={"x": parameters},
    )
    found = nb.mutual_information(posterior)["at_posterior_mean"]
    return found["x"] if len(found) == 1 else found.to_numpy()


def summed(class_probs, densities):
    """The definition, term by term; densities of shape (classes, values)."""
    joint = np.asarray(class_probs)[:, None] * densities
    apart = joint.sum(axis=0) * np.asarray(class_probs)[:, None]
    seen = joint > 1e-290
    return (joint[seen] * np.log(joint[seen] / apart[seen])).sum()


@pytest.fixture(scope="module")
def informed(mixed):
    X, y, _ = mixed
    model = nb.NaiveBayes({name: family for name, family in FAMILIES.items() if name != "wait"})
    return nb.fit(model, X, y)


class TestMutualInformation:
    def test_table_of_the_x_windows_posts(self, data):
        """Murphy (2012), Table 3.1."""
        stored = np.load(data / "xwindows" / "xwindows.npz")
        X = scipy.sparse.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=stored["shape"])
        with gzip.open(data / "xwindows" / "xwindows.vocab.txt.gz", "rt") as file:
            words = file.read().split()
        train = stored["split"] == 0
        frame = pd.DataFrame.sparse.from_spmatrix(X[train], columns=words)
        posterior = nb.fit(nb.NaiveBayes(nb.Bernoulli()), frame, stored["y"][train])
        found = nb.mutual_information(posterior, unit="bits", num_draws=50)
        assert found.index.tolist() == words
        assert found.loc["windows", "at_posterior_mean"].round(6) == 0.215028
        found = found.sort_values("at_posterior_mean", ascending=False)
        expected = {"windows": 0.215028, "microsoft": 0.095465, "dos": 0.092128, "motif": 0.078195, "window": 0.067340}
        assert found["at_posterior_mean"].round(6)[:5].to_dict() == expected
        nats = nb.mutual_information(posterior, num_draws=50)
        in_unit = ["estimate", "lower", "upper", "at_posterior_mean", "mean"]
        np.testing.assert_allclose(
            nats.loc["windows", in_unit] * np.log2(np.e), found.loc["windows", in_unit], rtol=1e-12
        )
        assert (nats.loc["windows"] == found.loc["windows"])[["p_value", "inclusion_probability"]].all()

    def test_columns_of_the_table(self, informed):
        found = nb.mutual_information(informed, num_draws=5)
        assert found.index.tolist() == ["seen", "hue", "length", "width", "calls", *WORDS]
        assert found.columns.tolist() == COLUMNS

    @pytest.mark.parametrize("family", [nb.Multinomial(), nb.DirichletMultinomial()], ids=["words", "bursty words"])
    def test_a_word_is_one_token_or_another(self, family):
        prob = np.array([[0.2, 0.3, 0.5], [0.4, 0.35, 0.25]])
        scale = [[1.0], [2.0]] if isinstance(family, nb.DirichletMultinomial) else 1.0
        of_token = np.stack([prob, 1 - prob])
        expected = [contingency(np.array([0.4, 0.6]), of_token[..., v].T) for v in range(3)]
        np.testing.assert_allclose(at_point(family, prob * scale, [0.4, 0.6]), expected, rtol=1e-12)

    @pytest.mark.parametrize(
        ("mean", "deviation"),
        [
            ([0, 1], [1, 1]),
            ([0, 0], [1, 0.01]),
            ([0, 5, -3], [1, 0.02, 30]),
            ([1e6, 1e6 + 3], [2, 2]),
            ([0, 0], [1, 1]),
        ],
    )
    def test_gaussians_by_adaptive_quadrature(self, mean, deviation):
        mean, deviation = np.array(mean, dtype=float), np.array(deviation, dtype=float)
        probs = np.array([0.3, 0.7] if len(mean) == 2 else [0.3, 0.6, 0.1])
        normal = scipy.stats.norm(mean, deviation)

        def integrand(x):
            return summed(probs, normal.pdf(x)[:, None])

        edges = np.unique(np.concatenate([mean + z * deviation for z in (-9, -4, -2, -1, 0, 1, 2, 4, 9)]))
        expected = sum(
            scipy.integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
            for a, b in itertools.pairwise(edges)
        )
        found = at_point(nb.Gaussian(), {"mean": mean, "variance": deviation**2}, probs)
        assert found == pytest.approx(expected, abs=2e-8)
        for shift, unit in ((1e4, 1.0), (0.0, 1e-9), (0.0, 1e9)):
            moved = {"mean": shift + unit * mean, "variance": (unit * deviation) ** 2}
            assert at_point(nb.Gaussian(), moved, probs) == pytest.approx(found, abs=1e-8)

    @pytest.mark.parametrize("rate", [[1.0, 5000.0], [3950.0, 4096.0, 4250.0], [2e5, 2.01e5]])
    def test_poisson_counts_by_summation(self, rate):
        rate = np.array(rate)
        probs = np.full(len(rate), 1 / len(rate))
        counts = np.arange(int(rate.max() + 12 * np.sqrt(rate.max()) + 60))
        expected = summed(probs, scipy.stats.poisson.pmf(counts, rate[:, None]))
        # Beyond a few thousand the log-gamma functions in the densities themselves lose digits.
        assert at_point(nb.Poisson(), rate, probs) == pytest.approx(expected, abs=1e-9)

    def test_class_that_never_counts(self):
        found = nb.mutual_information(nb.fit(nb.Poisson(), [[0], [0], [3], [1]], [0, 0, 1, 1], nb.MLE()))
        expected = summed([0.5, 0.5], scipy.stats.poisson.pmf(np.arange(60), [[0.0], [2.0]]))
        assert found["at_posterior_mean"].item() == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize(
        ("family", "parameters", "probs", "expected"),
        [
            (nb.Categorical(), np.eye(3), [0.2, 0.3, 0.5], scipy.stats.entropy([0.2, 0.3, 0.5])),
            (nb.Bernoulli(), [0.0, 1.0], [0.5, 0.5], np.log(2)),
            (nb.Bernoulli(), [0.3, 0.3], [0.5, 0.5], 0.0),
            (nb.Gaussian(), {"mean": [0.0, 1e6], "variance": [1.0, 1.0]}, [0.5, 0.5], np.log(2)),
        ],
    )
    def test_bounds(self, family, parameters, probs, expected):
        assert at_point(family, parameters, probs) == pytest.approx(expected, rel=1e-10, abs=1e-15)

    @pytest.mark.slow
    def test_draws_are_averaged_one_by_one(self, informed, mixed):
        X, y, _ = mixed
        draws = informed.draws(num_chains=2, num_draws=15, key=8)
        sampled = nb.from_samples(informed.model, draws, X=X, y=y)
        found = nb.mutual_information(sampled, "bits")["mean"]
        each = {site: values.reshape(30, *values.shape[2:]) for site, values in draws.items()}
        for family, site, names in (
            (nb.Bernoulli(), "seen_prob", "seen"),
            (nb.Multinomial(), "words_prob", WORDS),
            (nb.Poisson(), "calls_rate", "calls"),
        ):
            values = [at_point(family, *given) for given in zip(each[site], each["class_prob"], strict=True)]
            np.testing.assert_allclose(found[names], np.mean(values, axis=0) / np.log(2), rtol=1e-9)
        thinned = nb.mutual_information(sampled, num_draws=10)["mean"]
        assert not np.allclose(thinned, found * np.log(2))

    @pytest.mark.slow
    def test_draws_from_the_closed_form(self, informed, mixed):
        """All the posterior says, drawn here in another way: whole vectors, not column by column."""
        X, y, _ = mixed
        found = nb.mutual_information(informed, num_draws=1000, key=1)
        draws = informed.draws(num_chains=1, num_draws=4000, key=9)
        other = nb.mutual_information(nb.from_samples(informed.model, draws, X=X, y=y))
        # Of a mean as large as its own spread, near zero, the spread is no larger than twice the mean.
        assert (np.abs(found["mean"] - other["mean"]) < 5 * 2 * other["mean"] * np.sqrt(2 / 4000)).all()
        same = ["estimate", "lower", "upper", "p_value", "inclusion_probability"]
        pd.testing.assert_frame_equal(found[same], other[same])
        again = nb.mutual_information(informed, num_draws=1000, key=1)
        pd.testing.assert_frame_equal(found, again)
        assert found.attrs == {"unit": "nats", "prob": 0.89}

    def test_averaged_posterior_has_mass_at_zero(self):
        row, y = np.arange(60) // 2, np.arange(60) % 2
        X = np.column_stack([row < np.where(y == 0, 15, ones) for ones in (8, 14)])
        own = nb.fit(nb.Bernoulli(), X, y)
        posterior = own.averaged(0.5)
        found, included = (nb.mutual_information(given, num_draws=4000)["mean"] for given in (posterior, own))
        # Where the feature is left out, its information is zero.
        np.testing.assert_allclose(found, posterior.inclusion_probability * included, rtol=0.1)
        words = nb.fit(nb.NaiveBayes(nb.Multinomial(), feature_inclusion=0.0), X, y)
        np.testing.assert_allclose(nb.mutual_information(words, num_draws=10)["mean"], 0.0, atol=1e-15)

    def test_a_point_has_no_spread(self, mixed):
        X, y, _ = mixed
        found = nb.mutual_information(nb.fit(nb.Bernoulli(), X[["seen"]], y, nb.MLE()))
        assert found["mean"].isna().all()
        assert found.drop(columns="mean").notna().all(axis=None)

    def test_infinite_mean_gives_nan(self):
        X = pd.DataFrame({"x": [1.0, 2.0, 3.0, None]})
        posterior = nb.fit(nb.Gaussian(), X, ["a", "a", "a", "b"])
        found = nb.mutual_information(posterior, num_draws=50)
        assert np.isnan(found.loc["x", "at_posterior_mean"])
        assert 0 < found.loc["x", "mean"] < np.log(2)

    def test_one_word_and_one_class(self):
        zero = ["estimate", "at_posterior_mean", "mean"]
        for posterior in (
            nb.fit(nb.Multinomial(), [[3], [2]], ["a", "b"]),
            nb.fit(nb.Gaussian(), [[3.0], [2.0]], ["a", "a"]),
        ):
            found = nb.mutual_information(posterior, num_draws=20)
            np.testing.assert_allclose(found[zero], 0.0, atol=1e-12)
            assert found["p_value"].tolist() == [1.0]
            assert found[["lower", "upper"]].isna().all(axis=None)


class TestScore:
    @pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
    def test_in_a_pipeline(self, rng, form):
        y = np.array(["no", "yes"])[rng.integers(0, 2, 200)]
        X = (rng.uniform(size=(200, 30)) < 0.3).astype(float)
        for column, share in ((4, 0.9), (11, 0.6)):
            X[:, column] = np.where(rng.uniform(size=200) < share, y == "yes", X[:, column])
        score = partial(nb.estimators.mutual_information_score, model=nb.Bernoulli(), unit="bits")
        pipe = make_pipeline(SelectKBest(score, k=2), estimators.BernoulliNB()).fit(form(X), y)
        assert pipe[0].get_support(indices=True).tolist() == [4, 11]
        expected = nb.mutual_information(nb.fit(nb.Bernoulli(), X, y), "bits", num_draws=1)["estimate"]
        np.testing.assert_allclose(pipe[0].scores_, expected, rtol=1e-12)

    def test_columns_outside_the_model(self, mixed):
        X, y, _ = mixed
        model = nb.NaiveBayes({"calls": nb.Poisson(), "seen": nb.Bernoulli()})
        scores = nb.estimators.mutual_information_score(X, y, model=model)
        assert np.flatnonzero(~np.isnan(scores)).tolist() == [0, 4]
        found = nb.mutual_information(nb.fit(model, X, y), num_draws=1)["estimate"]
        np.testing.assert_allclose(scores[[0, 4]], found[["seen", "calls"]])


@pytest.fixture(scope="module")
def compared(penguins):
    X, y = penguins
    size = X[["bill_length_mm", "body_mass_g"]]
    both = nb.fit(nb.NaiveBayes(nb.Gaussian()), size, y)
    models = {
        "bill alone": nb.NaiveBayes(nb.Gaussian(), feature_inclusion=[1.0, 0.0]),
        "both": both,
        "either": both.averaged(0.5),
        "narrow": nb.NaiveBayes(nb.Gaussian(kappa=5.0, concentration=20.0)),
    }
    return size, y, models, nb.compare_models(models, size, y)


class TestCompareModels:
    def test_evidence_and_probability(self, compared):
        size, y, models, found = compared
        assert isinstance(found, nb.results.ModelComparison)
        posteriors = {k: m if isinstance(m, nb.results.Posterior) else nb.fit(m, size, y) for k, m in models.items()}
        evidence = np.array([posteriors[name].log_evidence for name in found.table.index])
        np.testing.assert_allclose(found.table["log_evidence"], evidence)
        np.testing.assert_allclose(found.table["model_probability"], softmax(evidence), atol=1e-12)
        assert (np.diff(evidence) <= 0).all()
        assert found.notes == ()

    def test_leave_one_out(self, compared):
        size, y, models, found = compared
        mine = nb.loo(nb.fit(models["narrow"], size, y), size, y)
        name = found.table["elpd"].idxmax()
        assert found.table.loc[name, ["elpd_difference", "elpd_difference_se"]].tolist() == [0.0, 0.0]
        paired = np.asarray(mine.elpd_i) - np.asarray(found.loo[name].elpd_i)
        expected = [mine.elpd, mine.se, paired.sum(), np.sqrt(len(paired)) * paired.std()]
        columns = ["elpd", "elpd_se", "elpd_difference", "elpd_difference_se"]
        np.testing.assert_allclose(found.table.loc["narrow", columns].astype(float), expected, rtol=1e-6)

    @pytest.mark.parametrize("either", [0.9, 0, 1])
    def test_prior_counts(self, compared, either):
        size, y, models, _ = compared
        two = {name: models[name] for name in ("both", "either")}
        found = nb.compare_models(two, size, y, prior={"either": either, "both": 1 - either})
        assert found.prior["either"] == either
        evidence = np.exp(found.table["log_evidence"] - found.table["log_evidence"].max())
        weight = evidence * [found.prior[name] for name in evidence.index]
        np.testing.assert_allclose(found.table["model_probability"], weight / weight.sum(), rtol=1e-9)

    def test_point_posteriors_are_compared_in_closed_form(self, compared):
        size, y, models, _ = compared
        exact = models["both"]
        point = nb.fit(exact.problem.model, size, y, nb.MLE())
        found = nb.compare_models({"exact": exact, "point": point}, size, y).table
        assert found.pop("prior_saw").tolist() == ["scale"] * 2
        np.testing.assert_allclose(found.to_numpy(), found.loc[["exact"] * 2].to_numpy())

    @pytest.mark.filterwarnings("ignore:Estimated shape parameter", "ignore:the prior of the draws follows")
    def test_given_draws_are_scored_themselves(self, compared):
        """They may come from another prior than the model's."""
        size, y, models, _ = compared
        exact = models["both"]
        given = nb.from_samples(exact.problem.model, exact.draws(num_draws=200, num_chains=2), X=size, y=y)
        found = nb.compare_models({"exact": exact, "given": given}, size, y)
        assert np.isnan(found.table["log_evidence"]["given"])
        assert found.table["model_probability"].isna().all()
        assert any("given: no evidence, because draws from elsewhere" in note for note in found.notes)
        assert found.table["elpd"]["given"] == pytest.approx(nb.loo(given, size, y).elpd, rel=1e-12)

    def test_columns_of_which_one_model_knows_nothing_are_named(self, compared):
        size, y, models, _ = compared
        last = nb.fit(nb.Gaussian(), size.iloc[:, 1:], y)
        found = nb.compare_models({"both": models["both"], "last": last}, size, y)
        assert f"column '{size.columns[0]}' (as a measurement, and not in the model)" in found.notes[-1]

    @pytest.mark.parametrize("where", ["nowhere", "child", "parent", "other"])
    @pytest.mark.parametrize("name", ["trees", "given", "joint"])
    def test_missing_cells_that_count_as_values_are_other_data(self, name, where, rng):
        """And so are rows that are left out. Of `Given`, only a missing parent is a value."""
        y = rng.integers(0, 2, 60)
        X = pd.DataFrame(rng.integers(0, 3, (60, 3)), columns=["child", "parent", "other"]).astype(object)
        if where != "nowhere":
            X.loc[:5, where] = None
        families = {"trees": nb.AllTrees(), "given": nb.Given(), "joint": nb.JointCategorical()}
        joined = nb.NaiveBayes({"two": (families[name], ["child", "parent"]), "other": nb.Categorical()})
        alone = nb.NaiveBayes({column: nb.Categorical() for column in X if name != "given" or column != "parent"})
        again = joined.set_params(two=type(families[name])(3.0))
        as_values = where == "parent" or (where == "child" and name != "given")
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of rows that are left out
            found = nb.compare_models({"joined": joined, "alone": alone}, X, y)
            same = nb.compare_models({"joined": joined, "again": again}, X, y)
            posterior = nb.fit(joined, X, y)
        assert found.table["model_probability"].isna().all() == as_values
        assert same.table["model_probability"].notna().all()
        if as_values:
            assert "describe different data, column" in found.notes[0]
            assert found.table["elpd"].is_monotonic_decreasing
        else:
            evidence = [nb.fit(model, X, y).log_evidence for model in (joined, alone)]
            expected = dict(zip(["joined", "alone"], softmax(evidence), strict=True))
            assert found.table["model_probability"].to_dict() == pytest.approx(expected, rel=1e-9)
        if as_values and name != "joint":
            with pytest.warns(UserWarning, match="elpd_joint is NaN, because missing cells count as values"):
                assert np.isnan(nb.loo_scores(posterior, X, y)["elpd_joint"])

    def test_other_bins_are_other_data(self, rng):
        X, y = rng.integers(0, 9, (60, 2)), rng.integers(0, 2, 60)
        models = {bins: nb.NaiveBayes({"two": (nb.AllTrees(2.0, num_bins=bins), [0, 1])}) for bins in (3, 4)}
        for other in (models[4], nb.Categorical()):
            (note,) = nb.compare_models({"three": models[3], "other": other}, X, y).notes
            assert re.search(r"column [01] \(.* of 3 values, and .* of [49] values", note)
        again = nb.NaiveBayes({"two": (nb.AllTrees(1.0, num_bins=3), [0, 1])})
        assert nb.compare_models({"three": models[3], "again": again}, X, y).notes == ()

    def test_without_a_closed_form(self):
        X, y = np.array([[3, 1, 0], [0, 2, 4], [5, 0, 1], [1, 1, 3]]), ["a", "b", "a", "b"]
        bursty = nb.fit(nb.DirichletMultinomial(), X, y, nb.MAP())
        found = nb.compare_models({"plain": nb.Multinomial(), "bursty": bursty}, X, y)
        assert np.isnan(found.table.loc["bursty", ["log_evidence", "elpd"]].astype(float)).all()
        assert found.table["model_probability"].isna().all()
        for reason in ("bursty: no evidence", "bursty: no leave-one-out"):
            assert any(reason in note for note in found.notes)
            assert reason in " ".join(repr(found).split())
        assert isinstance(found.plot(), Figure)

    @pytest.mark.parametrize(
        ("model", "difference"),
        [
            (nb.NaiveBayes({"a": nb.Bernoulli()}), "column 'b' .as a value, and not in the model"),
            (nb.NaiveBayes({"a": nb.Bernoulli(), "b": nb.Gaussian()}), "column 'b' .as a value, and as a measurement"),
            (nb.NaiveBayes(nb.Multinomial()), "column 'a' .as a value, and given the total of 2 counts"),
        ],
    )
    def test_evidences_of_different_data_have_no_common_scale(self, model, difference):
        X = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 1, 0, 0]})
        found = nb.compare_models({"first": nb.Bernoulli(), "second": model}, X, [0, 1, 1, 0])
        assert found.table["model_probability"].isna().all()
        assert found.table["elpd"].notna().all()
        (note,) = found.notes
        assert re.search(difference, note)

    def test_other_data_are_refused_whatever_their_unit_is(self):
        X, y = np.array([[1.0], [2.0], [3.0], [5.0]]), [0, 1, 0, 1]
        for unit in (1e-12, 1.0, 1e12):
            posterior = nb.fit(nb.Gaussian(), X * unit, y)
            nb.compare_models({"fitted": posterior, "new": nb.Gaussian()}, X * unit * (1 + 1e-12), y)
            with pytest.raises(ValueError, match="'fitted' was fitted to other data"):
                nb.compare_models({"fitted": posterior, "new": nb.Gaussian()}, X * unit * (1 + 1e-4), y)
