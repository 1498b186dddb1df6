"""What a fit of annotations gives: every number by a loop over items, annotators, labels and draws."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from scipy.special import digamma, entr, gammaln, logsumexp
from small_crowd import ALL_KNOWN, SMALL, labellings, log_dirichlet
from small_crowd import NAMES as OF_SMALL

import bayesnb as nb
from bayesnb.crowd.annotation_table import expected_information
from bayesnb.model.prior import ModelParameters
from bayesnb.posterior.kinds import PointPosterior

# The chains are short: the tests compare numbers of the same draws.
pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")

NAMES = {"item": "photo", "annotator": "person", "label": "animal"}
CLASSES = ["cat", "dog", "fox"]


def annotations(num_items=40, num_annotators=6, each=3, seed=0):
    """Annotations of people who are right with probability .7; the first one often says cat."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(num_items):
        truth = CLASSES[rng.choice(3, p=[0.5, 0.3, 0.2])]
        for j in rng.choice(num_annotators, size=each, replace=False):
            wrong = "cat" if j == 0 else CLASSES[rng.integers(3)]
            rows.append((f"p{i}", f"a{j}", truth if rng.random() < 0.7 else wrong))
    return pd.DataFrame(rows, columns=list(NAMES.values()))


ROWS = annotations()
KNOWN = {"p3": "fox", "p7": "dog", "new": "cat"}


@pytest.fixture(scope="module")
def drawn():
    return nb.fit_annotations(ROWS, **NAMES, known=KNOWN, inference=nb.Gibbs(20, 60, 2), key=3)


@pytest.fixture(scope="module")
def point():
    return nb.fit_annotations(ROWS, **NAMES, known=KNOWN)


def parameters_of(crowd):
    """Class probabilities (draws, classes) and those of the annotators (draws, classes, annotators, labels)."""
    found = crowd.posterior.parameters
    prob = found.blocks[0]["prob"]
    return found.class_prob.reshape(-1, 3), prob.reshape(-1, *prob.shape[-3:])


def proba_by_hand(crowd, rows=ROWS):
    """Probabilities of the items' classes under each draw, shape (draws, items, classes)."""
    class_prob, prob = parameters_of(crowd)
    people, photos = crowd.annotators_in_order, crowd.items.index.tolist()
    log_joint = np.tile(np.log(class_prob)[:, None], (1, len(photos), 1))
    for photo, person, label in rows.itertuples(index=False):
        log_joint[:, photos.index(photo)] += np.log(prob[:, :, people.index(person), CLASSES.index(label)])
    found = np.exp(log_joint - logsumexp(log_joint, axis=2, keepdims=True))
    for photo, label in KNOWN.items():
        found[:, photos.index(photo)] = np.eye(3)[CLASSES.index(label)]
    return found


@pytest.fixture(params=["drawn", "point"])
def crowd(request):
    return request.getfixturevalue(request.param)


class TestItems:
    def test_probabilities_are_means_over_draws(self, crowd):
        np.testing.assert_allclose(crowd.proba, proba_by_hand(crowd).mean(axis=0), atol=1e-12)

    def test_intervals_are_quantiles_of_draws(self, drawn):
        expected = np.quantile(proba_by_hand(drawn), [0.25, 0.75], axis=0)
        np.testing.assert_allclose(drawn.proba_interval(prob=0.5), np.moveaxis(expected, 0, 2), atol=1e-12)
        best = drawn.proba.to_numpy().argmax(axis=1)
        expected = np.quantile(proba_by_hand(drawn), [0.055, 0.945], axis=0)[:, np.arange(len(best)), best]
        np.testing.assert_allclose(drawn.items[["lower", "upper"]], expected.T, atol=1e-12)
        assert drawn.items.loc["new", ["probability", "lower", "upper"]].tolist() == [1, 1, 1]

    @pytest.mark.parametrize("inference", [nb.EM(), nb.Gibbs(5, 20, 2)], ids=["EM", "Gibbs"])
    def test_items_with_the_same_annotations(self, inference):
        """They are one row of the fit, and each is an item of the result; one of them has a known class."""
        rows = pd.concat([ROWS.assign(photo=ROWS["photo"] + copy) for copy in ("", "a", "b")])
        crowd = nb.fit_annotations(rows, **NAMES, known=KNOWN, inference=inference, key=3)
        assert len(crowd.posterior.problem.unlabelled) <= 40
        assert len(crowd.items) == 121
        np.testing.assert_allclose(crowd.proba, proba_by_hand(crowd, rows).mean(axis=0), atol=1e-12)

    def test_pieces_and_threads_do_not_matter(self, drawn, monkeypatch):
        expected, pairs = drawn.items, drawn.next_item(10)
        monkeypatch.setattr("bayesnb.crowd.annotation_table.PIECE_CELLS", 2000)
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        again = type(drawn)(drawn.annotations, drawn.posterior, drawn.item, drawn.annotator)
        pd.testing.assert_frame_equal(again.items, expected, rtol=1e-12)
        pd.testing.assert_frame_equal(again.next_item(10), pairs, rtol=1e-9)

    def test_large_tables_use_some_of_the_draws(self, drawn, monkeypatch):
        monkeypatch.setattr("bayesnb.crowd.annotation_table.FEWEST_DRAWS", 7)
        monkeypatch.setattr("bayesnb.crowd.annotation_table.MOST_CELLS", 1)
        again = type(drawn)(drawn.annotations, drawn.posterior, drawn.item, drawn.annotator)
        some = np.linspace(0, 119, 7).round().astype(int)
        np.testing.assert_allclose(again.proba, proba_by_hand(drawn)[some].mean(axis=0), atol=1e-12)


class TestAnnotators:
    def test_bias_is_labels_given_less_classes(self, crowd):
        class_prob, prob = parameters_of(crowd)
        expected = np.zeros((6, 3))
        for j, label in itertools.product(range(6), range(3)):
            draws = [pi @ theta[:, j, label] - pi[label] for pi, theta in zip(class_prob, prob, strict=True)]
            expected[j, label] = np.mean(draws)
        np.testing.assert_allclose(crowd.label_bias, expected, atol=1e-12)
        np.testing.assert_allclose(crowd.label_bias.sum(axis=1), 0, atol=1e-12)
        assert crowd.label_bias.index.tolist() == crowd.annotators.index.tolist() == crowd.annotators_in_order
        np.testing.assert_allclose(crowd.annotators["bias"], np.abs(expected).sum(axis=1) / 2)
        assert crowd.label_bias["cat"].idxmax() == "a0"

    def test_a_label_that_is_no_class_is_all_bias(self):
        rows = pd.concat([ROWS, pd.DataFrame({"photo": ["p1"], "person": ["a1"], "animal": ["unsure"]})])
        crowd = nb.fit_annotations(rows, **NAMES, classes=CLASSES)
        given = crowd.confusion.sel(label="unsure").to_numpy() @ crowd.class_probs.to_numpy()
        np.testing.assert_allclose(crowd.label_bias["unsure"], given)

    def test_intervals_are_quantiles_of_draws(self, drawn):
        class_prob, prob = parameters_of(drawn)
        draws = zip(class_prob, prob, strict=True)
        accuracy = np.array([[pi @ np.diag(theta[:, j]) for j in range(6)] for pi, theta in draws])
        np.testing.assert_allclose(drawn.accuracy_interval(prob=0.5).T, np.quantile(accuracy, [0.25, 0.75], axis=0))
        np.testing.assert_allclose(drawn.annotators["accuracy"], accuracy.mean(axis=0))
        expected = np.quantile(accuracy, [0.055, 0.945], axis=0)
        np.testing.assert_allclose(drawn.annotators[["lower", "upper"]].T, expected)
        interval = drawn.confusion_interval(prob=0.5)
        assert interval["lower"].dims == drawn.confusion.dims
        for c, j, label in itertools.product(range(3), range(6), range(3)):
            at = {"annotator": drawn.annotators_in_order[j], "class": CLASSES[c], "label": CLASSES[label]}
            expected = np.quantile(prob[:, c, j, label], [0.25, 0.75])
            found = [float(interval[end].sel(at)) for end in ("lower", "upper")]
            np.testing.assert_allclose(found, expected)

    def test_a_point_estimate_has_no_intervals(self, point):
        for frame in (point.items, point.annotators):
            assert frame[["lower", "upper"]].isna().all(axis=None)

    def test_information_is_that_of_a_next_item_without_annotations(self, crowd):
        """The item has the class probabilities of each draw; a loop over draws, classes and labels."""
        class_prob, prob = parameters_of(crowd)
        for j, person in enumerate(crowd.annotators_in_order):
            joint = np.mean([pi[:, None] * theta[:, j] for pi, theta in zip(class_prob, prob, strict=True)], axis=0)
            expected = entr(joint.sum(axis=0)).sum() + entr(joint.sum(axis=1)).sum() - entr(joint).sum()
            assert crowd.annotators.loc[person, "information"] == pytest.approx(expected, abs=1e-12)


class TestScore:
    TRUTH = pd.Series({"p0": "cat", "p1": "dog", "p2": "fox", "p3": "dog", "p5": "dog", "elsewhere": "cat"})

    @pytest.mark.parametrize("given", ["series", "mapping", "pandas", "polars"])
    def test_scores_by_a_loop(self, crowd, given):
        """p3 was known in the fit, and nobody labelled the item elsewhere."""
        frame = self.TRUTH.rename_axis("photo").reset_index(name="animal")
        kinds = {
            "series": self.TRUTH,
            "mapping": self.TRUTH.to_dict(),
            "pandas": frame,
            "polars": pl.from_pandas(frame),
        }
        found = crowd.score(kinds[given])
        by_item = [(crowd.proba.loc[item], self.TRUTH[item]) for item in ("p0", "p1", "p2", "p5")]
        expected = {
            "accuracy": [float(proba.idxmax() == label) for proba, label in by_item],
            "confidence": [proba.max() for proba, _ in by_item],
            "log_score": [np.log(proba[label]) for proba, label in by_item],
        }
        assert found.index.tolist() == list(expected)
        for name, values in expected.items():
            assert found.loc[name, "mean"] == pytest.approx(np.mean(values))
            assert found.loc[name, "se"] == pytest.approx(np.std(values, ddof=1) / 2)
        assert (found["num_items"] == 4).all()


def information_by_hand(crowd):
    """Mutual information of class and label by photo and person."""
    prob, proba = parameters_of(crowd)[1], proba_by_hand(crowd)
    photos, people = crowd.items.index, crowd.annotators_in_order
    found = {}
    for (i, photo), (j, person) in itertools.product(enumerate(photos), enumerate(people)):
        joint = np.mean([p[:, None] * theta[:, j] for p, theta in zip(proba[:, i], prob, strict=True)], axis=0)
        expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        found[photo, person] = sum(
            joint[at] * np.log(joint[at] / expected[at]) for at in np.ndindex(3, 3) if joint[at] > 0
        )
    return found


class TestNextItem:
    def test_information_by_a_loop(self, crowd):
        expected = information_by_hand(crowd)
        found = crowd.next_item(None, num_annotators=None, again=True)
        assert found.columns.tolist() == ["photo", "person", "information"]
        assert len(found) == len(expected) == 41 * 6
        by_hand = [expected[photo, person] for photo, person in found[["photo", "person"]].itertuples(index=False)]
        np.testing.assert_allclose(found["information"], by_hand, atol=1e-12)
        assert found["information"].is_monotonic_decreasing
        assert (found["information"] >= 0).all()
        assert found.loc[found["photo"].isin(list(KNOWN)), "information"].max() < 1e-12

    def test_pairs_that_are_annotated_are_left_out(self, crowd):
        given = set(ROWS[["photo", "person"]].itertuples(index=False, name=None))
        expected = {pair: number for pair, number in information_by_hand(crowd).items() if pair not in given}
        found = crowd.next_item(None, num_annotators=None)
        assert set(found[["photo", "person"]].itertuples(index=False, name=None)) == set(expected)
        one_each = crowd.next_item(5)
        assert one_each["photo"].is_unique
        best = {}
        for (photo, _), number in expected.items():
            best[photo] = max(number, best.get(photo, 0))
        np.testing.assert_allclose(one_each["information"], sorted(best.values(), reverse=True)[:5], atol=1e-12)

    def test_some_items_and_annotators(self, crowd):
        expected = information_by_hand(crowd)
        found = crowd.next_item(items=["p5", "p2"], annotators=["a4", "a1"], num_annotators=None, again=True)
        assert sorted(found["photo"] + found["person"]) == ["p2a1", "p2a4", "p5a1", "p5a4"]
        for photo, person, information in found.itertuples(index=False):
            assert information == pytest.approx(expected[photo, person], abs=1e-12)
        assert crowd.next_item(1, num_annotators=2, annotators=["a2", "a3"], again=True)["photo"].nunique() == 1
        alone = crowd.next_item(annotators="a1", items="p5", again=True)
        pd.testing.assert_frame_equal(alone, crowd.next_item(annotators=["a1"], items=["p5"], again=True))

    def test_annotators_with_room_for_some_items(self, crowd):
        pairs = crowd.next_item(None, num_annotators=None, again=True)
        everywhere = crowd.next_item(8, num_annotators=2, annotators=dict.fromkeys(pairs["person"], 41), again=True)
        pd.testing.assert_frame_equal(everywhere, crowd.next_item(8, num_annotators=2, again=True))
        room = {person: number for number, person in enumerate(sorted(pairs["person"].unique())[:4], 1)}
        found = crowd.next_item(None, annotators=room, again=True)
        assert found["person"].value_counts().to_dict() == room
        assert found["photo"].is_unique
        rest = pairs[pairs["person"].isin(list(room)) & ~pairs["photo"].isin(found["photo"])]
        assert rest["information"].max() <= found["information"].max()

    @pytest.mark.parametrize("number", [1, 2, 5])
    def test_items_that_cannot_be_among_the_best_are_left_out(self, point, monkeypatch, number):
        """Under random probabilities, the most uncertain items are often not those of which an annotator tells most."""
        monkeypatch.setattr("bayesnb.crowd.annotation_table.FIRST_ITEMS", 1)
        taken, found_early = [], []

        def noted(labels, items, annotators):
            taken.append(len(items))
            return expected_information(labels, items, annotators)

        monkeypatch.setattr("bayesnb.crowd.annotation_table.expected_information", noted)
        rng = np.random.default_rng(number)
        for _ in range(20):
            parameters = ModelParameters(rng.dirichlet(np.ones(3)), ({"prob": rng.dirichlet(np.full(3, 0.3), (3, 6))},))
            crowd = replace(point, posterior=PointPosterior(point.posterior.model, parameters))
            expected = crowd.next_item(None, num_annotators=2)
            best = expected["photo"].unique()[:number]
            expected = expected[expected["photo"].isin(best)].reset_index(drop=True)
            taken.clear()
            found = crowd.next_item(number, num_annotators=2)
            pd.testing.assert_frame_equal(found, expected, atol=1e-12)
            found_early.append(sum(taken) < 30)
        assert any(found_early)

    def test_nothing_is_left(self):
        rows = pd.DataFrame([(i, j, "xy"[i % 2]) for i in range(4) for j in "ab"], columns=list(NAMES.values()))
        crowd = nb.fit_annotations(rows, **NAMES)
        with pytest.warns(UserWarning, match="no pair is left: again=True takes pairs again"):
            assert crowd.next_item().empty
        assert len(crowd.next_item(again=True)) == 4


class TestLogEvidenceBound:
    ALPHA = np.broadcast_to(np.array([[4.0, 1.5], [1.2, 3.0]])[:, None], (2, 3, 2))
    A = np.array([2.0, 1.5])

    def fitted(self, known, **options):
        prior = {"concentration": self.ALPHA, "class_concentration": self.A}
        return nb.fit_annotations(SMALL, **OF_SMALL, known=known, **prior, **options)

    @pytest.mark.parametrize("known", [{}, {"q": "x"}, ALL_KNOWN], ids=len)
    def test_bound_by_expectations(self, known):
        """E_q log p(x, y, theta) - E_q log q(y, theta), term by term."""
        crowd = self.fitted(known)
        proba, counts = crowd.proba.loc[list("pqrs")].to_numpy(), np.zeros((4, 3, 2))
        for item, annotator, label in SMALL.itertuples(index=False):
            counts["pqrs".index(item), ["Ann", "Bob", "Cem"].index(annotator), "xy".index(label)] += 1
        of_classes, of_labels = self.A + proba.sum(axis=0), self.ALPHA + np.einsum("ic,ijl->cjl", proba, counts)

        def log_density(weights, at):
            """Expected log density of Dirichlet(weights) where the parameters have the distribution Dirichlet(at)."""
            expected = digamma(at) - digamma(at.sum(-1, keepdims=True))
            return (gammaln(weights.sum(-1)) - gammaln(weights).sum(-1) + ((weights - 1) * expected).sum(-1)).sum()

        log_pi = digamma(of_classes) - digamma(of_classes.sum())
        log_theta = digamma(of_labels) - digamma(of_labels.sum(-1, keepdims=True))
        expected = (proba @ log_pi).sum() + np.einsum("ic,ijl,cjl->", proba, counts, log_theta)
        expected += log_density(self.A, of_classes) + log_density(self.ALPHA, of_labels)
        expected -= log_density(of_classes, of_classes) + log_density(of_labels, of_labels) - entr(proba).sum()
        assert crowd.log_evidence_bound == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("known", [{}, {"q": "y"}, ALL_KNOWN], ids=len)
    def test_bound_is_below_the_sum_over_all_labellings_and_equal_if_every_class_is_known(self, known):
        exact = logsumexp(
            [
                log_dirichlet(self.A + np.bincount(codes, minlength=2), self.A)
                + log_dirichlet(self.ALPHA + totals, self.ALPHA)
                for codes, totals in labellings(known)
            ]
        )
        if known == ALL_KNOWN:
            crowd = self.fitted(known, inference=nb.Exact())
            for found in (
                crowd.log_evidence_bound,
                crowd.posterior.log_evidence,
                self.fitted(known).log_evidence_bound,
            ):
                assert found == pytest.approx(exact, abs=1e-9)
        else:
            for inference, largest in ((nb.EM(), 1.0), (nb.Gibbs(20, 100, 2), 1.5)):
                assert 0 < exact - self.fitted(known, inference=inference).log_evidence_bound < largest

    def test_intervals_of_a_closed_form(self):
        """Those of the Beta distributions of single labels, from 4,000 draws."""
        crowd = self.fitted(ALL_KNOWN, inference=nb.Exact())
        weight = np.moveaxis(crowd.posterior.problem.posterior.families[0].concentration, 0, 1)
        interval = crowd.confusion_interval(prob=0.8)
        for end, level in (("lower", 0.1), ("upper", 0.9)):
            expected = scipy.stats.beta.ppf(level, weight, weight.sum(axis=-1, keepdims=True) - weight)
            np.testing.assert_allclose(interval[end], expected, atol=0.03)


def test_columns_of_the_posterior_are_found_by_name(drawn):
    """A table with a column for each annotator and label."""
    posterior = drawn.posterior
    names = posterior.model.schema.columns
    table = pd.DataFrame(np.eye(len(names)), columns=pd.MultiIndex.from_tuples(names))
    expected = posterior.predict_proba(table.to_numpy())
    np.testing.assert_allclose(posterior.predict_proba(table.iloc[:, ::-1]), expected, rtol=1e-12)
