"""Labels from annotators: against published figures, sums over all labels, and simulation."""

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import entr, gammaln, logsumexp, softmax
from small_crowd import ALL_KNOWN, CRITICAL_Z, NAMES, SMALL, labellings, log_dirichlet, simulated, table, z_scores

import bayesnb as nb

pytestmark = pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")

SHARP = np.full((2, 2), 1.0) + 3 * np.eye(2)


def enumerated(known=None, own=2.8, other=1.2, class_weight=1.0):
    """Probabilities of the items' classes and mean confusion matrices of SMALL, by a sum over all labellings."""
    alpha = np.broadcast_to(np.array([[own, other], [other, own]])[:, None], (2, 3, 2))
    found = []
    for codes, total in labellings(known):
        after = alpha + total
        density = log_dirichlet(after, alpha) + gammaln(class_weight + np.bincount(codes, minlength=2)).sum()
        found.append((density, np.eye(2)[codes], after / after.sum(axis=-1, keepdims=True)))
    weight = softmax([density for density, _, _ in found])
    proba = np.tensordot(weight, [labelling for _, labelling, _ in found], 1)
    return proba, np.tensordot(weight, [mean for _, _, mean in found], 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inference", "known"),
    [(nb.Gibbs(num_samples=2000), None), (nb.Gibbs(num_samples=2000), {"r": "y"}), (nb.NUTS(), {"r": "y"})],
    ids=["Gibbs", "Gibbs with a known label", "NUTS with a known label"],
)
def test_draws_agree_with_a_sum_over_all_labels(inference, known):
    crowd = nb.fit_annotations(SMALL, **NAMES, inference=inference, known=known, key=1)
    proba, confusion = enumerated(known)
    assert np.abs(z_scores(crowd.posterior.parameters.blocks[0]["prob"], confusion)).max() < CRITICAL_Z
    np.testing.assert_allclose(crowd.proba, proba, atol=0.03)
    np.testing.assert_allclose(crowd.confusion.to_numpy(), np.moveaxis(confusion, 0, 1), atol=0.02)


def test_accuracy_on_product_descriptions_is_the_published_one(data):
    """Twenty E steps and nineteen M steps of maximum likelihood; Zheng et al. 2017 publish .936620565244."""
    annotations = pd.read_csv(data / "annotations" / "product_annotations.csv.gz")
    truth = pd.read_csv(data / "annotations" / "product_truth.csv.gz").set_index("item")["truth"]
    with pytest.warns(nb.ConvergenceWarning):
        crowd = nb.fit_annotations(
            annotations, **NAMES, inference=nb.EM(max_iterations=19, accelerate=False), concentration=1.0
        )
    right = crowd.items["label"] == truth.loc[crowd.items.index]
    assert f"{right.mean():.12f}" == "0.936620565244"
    assert crowd.items["num_annotations"].sum() == 24_945
    assert len(crowd.annotators) == 176


@pytest.mark.parametrize(
    "inference", [nb.Gibbs(), pytest.param(nb.NUTS(), marks=pytest.mark.slow)], ids=["Gibbs", "NUTS"]
)
def test_class_frequencies_of_the_anesthesia_patients_are_those_of_stan(data, inference):
    """Means from Stan by the R package rater, .3756 .4073 .1432 .0738; their own errors are below .001."""
    annotations = pd.read_csv(data / "annotations" / "anesthesia.csv")
    concentration = np.full((4, 4), 8 * 0.4 / 3)
    np.fill_diagonal(concentration, 4.8)
    crowd = nb.fit_annotations(
        annotations, **NAMES, inference=inference, concentration=concentration, class_concentration=3.0
    )
    expected = np.array([0.3756, 0.4073, 0.1432, 0.0738])
    z = z_scores(crowd.posterior.parameters.class_prob, expected)
    difference = crowd.class_probs.to_numpy() - expected
    assert np.abs(difference / np.hypot(difference / z, 0.001)).max() < CRITICAL_Z


def test_em_is_the_maximum_that_a_plain_loop_finds():
    annotations, _, _, _ = simulated(200, 12, 4, np.full((3, 3), 1.1) + 4 * np.eye(3))
    crowd = nb.fit_annotations(annotations, **NAMES, inference=nb.EM(tolerance=1e-10))
    item, annotator, label = (annotations[name].to_numpy() for name in ("item", "annotator", "label"))
    alpha = np.full((3, 3), 1.5) + 3.5 * np.eye(3)
    proba = np.zeros((200, 3))
    np.add.at(proba, (item, label), 1.0)
    proba /= proba.sum(axis=1, keepdims=True)
    order = crowd.annotations.annotators
    for _ in range(3000):
        total = np.zeros((12, 3, 3))
        np.add.at(total, (annotator, slice(None), label), proba[item])
        prob = alpha - 1 + total
        prob /= prob.sum(axis=-1, keepdims=True)
        class_prob = proba.mean(axis=0)
        joint = np.tile(np.log(class_prob), (200, 1))
        np.add.at(joint, item, np.log(prob[annotator, :, label]))
        proba = softmax(joint, axis=1)
    np.testing.assert_allclose(crowd.proba.loc[np.arange(200)], proba, atol=1e-4)
    np.testing.assert_allclose(crowd.confusion, prob[order], atol=1e-4)
    np.testing.assert_allclose(crowd.class_probs, class_prob, atol=1e-5)
    expected = np.einsum("c,jcc->j", class_prob, prob)[order]
    np.testing.assert_allclose(crowd.annotators["accuracy"], expected, atol=1e-4)
    assert crowd.annotators[["lower", "upper"]].isna().all(axis=None)


def test_the_result_names_items_annotators_and_labels():
    crowd = nb.fit_annotations(SMALL, **NAMES, known={"r": "y"})
    assert crowd.items.index.tolist() == ["p", "q", "r", "s"]
    assert crowd.items.index.name == "item"
    assert crowd.items["num_annotations"].tolist() == [3, 3, 2, 1]
    assert crowd.annotators["num_annotations"].to_dict() == {"Ann": 3, "Bob": 3, "Cem": 3}
    assert crowd.confusion.dims == ("annotator", "class", "label")
    assert crowd.confusion.sel(annotator="Bob").sum("label").to_numpy() == pytest.approx([1, 1])
    proba = crowd.proba.to_numpy()
    np.testing.assert_allclose(crowd.items["probability"], proba.max(axis=1))
    np.testing.assert_allclose(crowd.items["entropy"], entr(proba).sum(axis=1))
    assert crowd.items.loc["r", "label"] == "y"
    assert crowd.items.loc["r", ["probability", "entropy"]].tolist() == [1, 0]
    assert crowd.class_probs.index.tolist() == ["x", "y"]
    title, classes, *lines = format(crowd, "80").split("\n")
    assert title == "AnnotationFit by EM: 9 annotations of 4 items (1 known) by 3 annotators"
    assert classes == "Classes: 'x', 'y'"
    assert [line.split()[0] for line in lines] == ["annotator", "Cem", "Bob", "Ann"]  # the least accurate first
    assert "<table" in crowd._repr_html_()
    assert set(crowd.posterior.mean()) == {"class_prob", "annotation_prob"}


@pytest.mark.parametrize(
    "make", [pl.from_pandas, lambda frame: pa.table(frame.to_dict("list")), lambda frame: frame.astype("category")]
)
def test_every_kind_of_table_gives_the_same(make):
    expected = nb.fit_annotations(SMALL, **NAMES)
    pd.testing.assert_frame_equal(nb.fit_annotations(make(SMALL), **NAMES).items, expected.items, check_dtype=False)


def test_the_order_of_annotations_and_classes_does_not_matter():
    annotations, _, _, _ = simulated(60, 5, 3, np.array([[6.0, 1, 1], [1, 3, 1], [1, 1, 9]]))
    expected = nb.fit_annotations(annotations, **NAMES)
    for found in (
        nb.fit_annotations(annotations, **NAMES, classes=[2, 0, 1]),
        nb.fit_annotations(annotations.sample(frac=1, random_state=1), **NAMES),
    ):
        proba = found.proba.loc[expected.items.index, [0, 1, 2]]
        np.testing.assert_allclose(proba, expected.proba, atol=1e-5)
        accuracy = found.annotators["accuracy"].loc[expected.annotators.index]
        np.testing.assert_allclose(accuracy, expected.annotators["accuracy"], atol=1e-5)
        confusion = found.confusion.sel({"class": [0, 1, 2], "annotator": expected.confusion["annotator"]})
        np.testing.assert_allclose(confusion, expected.confusion, atol=1e-5)
        assert (proba.idxmax(axis=1) == expected.items["label"]).all()


def test_repeated_annotations_count_twice():
    prior = np.array([[3.0, 2.0], [2.0, 3.0]])
    counts = [
        nb.fit_annotations(rows, **NAMES, concentration=prior).posterior.problem.unlabelled.blocks[0].toarray()
        for rows in (SMALL, pd.concat([SMALL, SMALL]))
    ]
    np.testing.assert_array_equal(counts[1], 2 * counts[0])
    assert counts[0].tolist() == [[1, 0, 1, 0, 0, 1], [0, 1, 0, 2, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]]


def test_a_label_that_is_no_class_and_a_class_that_nobody_gives():
    rows = table([*SMALL.itertuples(index=False), ("s", "Ann", "unsure")])
    crowd = nb.fit_annotations(rows, **NAMES, classes=["x", "y", "z"])
    assert crowd.confusion.coords["label"].to_numpy().tolist() == ["unsure", "x", "y", "z"]
    assert crowd.proba.columns.tolist() == ["x", "y", "z"]
    assert crowd.proba["z"].max() < 0.2


@pytest.mark.parametrize("frame", [False, True], ids=["series", "frame"])
def test_known_items_without_annotations_are_items(frame):
    known = pd.Series({"q": "y", "new": "x"})
    known = known.rename_axis("item").reset_index(name="label") if frame else known
    crowd = nb.fit_annotations(SMALL, **NAMES, known=known)
    assert crowd.items.index.tolist() == ["p", "q", "r", "s", "new"]
    assert crowd.items.loc["new", ["label", "probability", "num_annotations"]].tolist() == ["x", 1, 0]


@pytest.mark.parametrize("inference", [nb.EM(), nb.Exact(), nb.Gibbs(10, 2000, 1)], ids=["EM", "Exact", "Gibbs"])
def test_items_that_are_all_known_have_a_closed_form(inference):
    crowd = nb.fit_annotations(SMALL, **NAMES, known=ALL_KNOWN, inference=inference)
    assert crowd.items["label"].to_dict() == ALL_KNOWN
    if not isinstance(inference, nb.EM):
        np.testing.assert_allclose(crowd.confusion, np.moveaxis(enumerated(ALL_KNOWN)[1], 0, 1), atol=0.06)


@pytest.mark.parametrize(
    ("inference", "own", "other"),
    [(nb.Gibbs(3, 10, 1), 2.8, 0.6), (nb.Exact(), 2.8, 0.6), (nb.EM(), 5.0, 1.5), (nb.MAP(), 5.0, 1.5)],
    ids=["Gibbs", "Exact", "EM", "MAP"],
)
def test_default_weights_count_four_annotations_or_have_a_mode(inference, own, other):
    """Two classes and three labels, of which "z" is no class."""
    rows = pd.concat([SMALL, table([("s", "Ann", "z")])])
    given = np.array([[own, other, other], [other, own, other]])
    settings = {"classes": ["x", "y"], "inference": inference}
    if isinstance(inference, nb.Exact):
        settings["known"] = ALL_KNOWN
    crowd, same = (
        nb.fit_annotations(rows, **NAMES, **settings, **weights) for weights in ({}, {"concentration": given})
    )
    np.testing.assert_allclose(crowd.confusion, same.confusion, rtol=1e-12)
    assert crowd.log_evidence_bound == pytest.approx(same.log_evidence_bound)


def test_known_labels_say_which_class_is_which():
    """Annotators who all say the opposite: the known items turn the labels around."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=200)
    rows = table([(i, j, int(codes[i] if rng.random() < 0.2 else 1 - codes[i])) for i in range(200) for j in range(5)])
    crowd = nb.fit_annotations(rows, **NAMES, known={i: int(codes[i]) for i in range(60)})
    assert (crowd.items["label"].to_numpy() == codes).mean() > 0.9
    assert (crowd.annotators["accuracy"] < 0.35).all()


def test_gibbs_does_not_depend_on_the_number_of_threads(monkeypatch):
    annotations, _, _, _ = simulated(3000, 10, 3, SHARP)
    monkeypatch.setattr("bayesnb.model.problem.PIECE_CELLS", 1)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        crowd = nb.fit_annotations(annotations, **NAMES, inference=nb.Gibbs(3, 10, 2), key=5)
        found.append(crowd.posterior.parameters.class_prob)
    np.testing.assert_array_equal(*found)


def test_maximum_likelihood_without_a_prior():
    known = {"p": "x", "q": "y", "r": "y", "s": "x"}
    crowd = nb.fit_annotations(SMALL, **NAMES, known=known, inference=nb.MLE(), class_concentration=1)
    assert crowd.confusion.sel({"annotator": "Cem", "class": "x", "label": "y"}) == 1


def test_a_concentration_below_one_has_a_mode_where_known_items_have_every_label():
    """Each annotator gives each label to a known item of each class, so that every exponent is positive."""
    rows = table([(i, who, "xy"[i % 2]) for i in range(4) for who in ("Ann", "Bob")] + [(4, "Ann", "x")])
    known = {0: "x", 1: "x", 2: "y", 3: "y"}
    crowd = nb.fit_annotations(rows, **NAMES, known=known, concentration=0.5)
    assert crowd.confusion.sel({"annotator": "Bob", "class": "x", "label": "y"}) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (["Hund", "Katze", "hund "], "has the labels 'Hund', 'hund ', which look alike"),
        (["", "Hund", "Katze"], "has the blank label ''"),
        (["Hund", 1, "Katze"], "has text and other values, 'Katze' and 1"),
        ([i / 7 for i in range(21)], "has 21 labels in 21 annotations"),
    ],
)
def test_labels_that_are_probably_errors(labels, match):
    rows = table([(f"p{i}", "Ann", label) for i, label in enumerate(labels)])
    with pytest.warns(UserWarning, match=rf"column 'label' {match}.*: correct the labels, or name all classes"):
        nb.fit_annotations(rows, **NAMES)
    nb.fit_annotations(rows, **NAMES, classes=labels)


def test_labels_that_give_no_warning():
    rows = table([(i, who, (i % 30) / 2) for i in range(30) for who in ("Ann", "Bob")])
    assert len(nb.fit_annotations(rows, **NAMES).classes) == 30
    one_label = rows.assign(label="x")
    assert (nb.fit_annotations(one_label, **NAMES, classes=["x", "y"]).items["label"] == "x").all()


def test_the_printed_form_counts_known_items_without_annotations():
    crowd = nb.fit_annotations(SMALL, **NAMES, known={"p": "x", "Q": "y"})
    assert "9 annotations of 5 items (2 known, 1 of them without annotation)" in format(crowd, "200")
    one = nb.fit_annotations(table([("p", "Ann", "x")]), **NAMES, classes=["x", "y"])
    assert format(one, "80").startswith("AnnotationFit by EM: 1 annotation of 1 item by 1 annotator\n")


def enumerated_with_concentrations(known):
    """Means of class frequencies, concentrations and confusion matrices of SMALL.

    The sum runs over all labellings. Given one, each class has two concentrations of its own, and a grid for them.
    """
    line = np.linspace(-5, 5, 81)
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    found = []
    for codes, totals in labellings(known):
        n = np.bincount(codes, minlength=2)
        size = gammaln(1 + n).sum()
        concentrations, confusion = [], []
        for c in range(2):
            alpha = np.exp(grid + np.log(np.where(np.arange(2) == c, 5.0, 1.5)))
            after = alpha + totals[c]
            density = -0.5 * (grid**2).sum(axis=(1, 2)) + (gammaln(after) - gammaln(alpha)).sum(axis=(1, 2))
            density -= (gammaln(after.sum(axis=2)) - gammaln(alpha.sum(axis=2))).sum(axis=1)
            size += logsumexp(density)
            weight = softmax(density)
            concentrations.append(np.tensordot(weight, alpha[:, 0], 1))
            confusion.append(np.tensordot(weight, after / after.sum(axis=2, keepdims=True), 1))
        found.append((size, (1 + n) / 6, np.array(concentrations), np.array(confusion)))
    weight = softmax([size for size, *_ in found])
    return [np.tensordot(weight, np.array([part[i] for part in found]), 1) for i in (1, 2, 3)]


@pytest.mark.parametrize(
    ("inference", "known"),
    [
        (nb.Gibbs(40, 80, 12), {}),
        pytest.param(nb.Gibbs(40, 80, 12), ALL_KNOWN, marks=pytest.mark.slow),
        pytest.param(nb.Gibbs(100, 1500, 2), {"r": "y"}, marks=pytest.mark.slow),
        pytest.param(nb.NUTS(), {}, marks=pytest.mark.slow),
    ],
    ids=["Gibbs", "Gibbs with all labels known", "Gibbs with a known label", "NUTS"],
)
def test_learned_concentrations_agree_with_a_sum_over_all_labels_and_quadrature(inference, known):
    crowd = nb.fit_annotations(SMALL, **NAMES, inference=inference, hierarchical=True, known=known or None, key=1)
    draws = crowd.posterior.parameters
    values = draws.class_prob, draws.hyperparameters["annotation_concentration"], draws.blocks[0]["prob"]
    for found, expected in zip(values, enumerated_with_concentrations(known), strict=True):
        assert np.abs(z_scores(found, expected)).max() < CRITICAL_Z
        # Chains that run away have large errors, and small z.
        np.testing.assert_allclose(found.mean(axis=(0, 1)), expected, rtol=0.2)


@pytest.mark.slow
def test_few_annotations_each_are_enough_for_annotators_who_are_alike():
    error, covered, number = {False: [], True: []}, 0, 0
    for seed in range(4):
        annotations, _, class_prob, prob = simulated(300, 100, 3, [(16.0, 2.0), (3.0, 9.0)], seed)
        true = np.einsum("c,cjc->j", class_prob, prob)
        for hierarchical in error:
            crowd = nb.fit_annotations(
                annotations, **NAMES, inference=nb.Gibbs(300, 500, 2), hierarchical=hierarchical, key=seed
            )
            found = crowd.annotators
            truth = true[found.index.to_numpy()]
            error[hierarchical].append(np.sqrt(((found["accuracy"] - truth) ** 2).mean()))
        covered += int(((found["lower"] < truth) & (truth < found["upper"])).sum())
        number += len(truth)
    assert np.mean(error[True]) < 0.9 * np.mean(error[False])
    assert abs(covered / number - 0.89) < CRITICAL_Z * np.sqrt(0.89 * 0.11 / number)


def test_a_fit_is_saved_and_says_what_a_new_annotator_gives(tmp_path):
    given = nb.fit_annotations(SMALL, **NAMES, inference=nb.Gibbs(5, 20, 2), concentration=dist.Gamma(2.0, 0.5))
    assert given.posterior.parameters.hyperparameters["annotation_concentration"].shape == (2, 20)
    np.testing.assert_allclose(given.new_annotator, 0.5)
    crowd = nb.fit_annotations(SMALL, **NAMES, inference=nb.Gibbs(5, 20, 2), hierarchical=True)
    crowd.save(tmp_path / "crowd.nc")
    loaded = nb.load(tmp_path / "crowd.nc")
    pd.testing.assert_frame_equal(loaded.items, crowd.items)
    pd.testing.assert_frame_equal(loaded.new_annotator, crowd.new_annotator)
    draws = crowd.posterior.parameters.hyperparameters["annotation_concentration"].reshape(-1, 2, 2)
    expected = [[np.mean([draw[c, k] / draw[c].sum() for draw in draws]) for k in range(2)] for c in range(2)]
    np.testing.assert_allclose(crowd.new_annotator, expected)
    assert crowd.new_annotator.index.tolist() == crowd.new_annotator.columns.tolist() == ["x", "y"]
