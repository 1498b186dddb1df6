"""Labels from annotators: against published figures, sums over all labels, and simulation."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import entr, gammaln, logsumexp, softmax
from small_crowd import CRITICAL_Z, NAMES, SMALL, labellings, z_scores

import bayesnb as nb
from bayesnb.inference.em import label_log_joint, probabilities
from bayesnb.posterior.diagnostics import ess_of_mean
from bayesnb.posterior.under_draws import flatten


def table(rows):
    return pd.DataFrame(rows, columns=["item", "annotator", "label"])


def simulated(num_items, num_annotators, each, concentration, seed=0):
    """Annotations, the classes and the probabilities, all drawn from the prior."""
    rng = np.random.default_rng(seed)
    num_classes = len(concentration)
    class_prob = rng.dirichlet(np.ones(num_classes) * 5)
    prob = np.array([[rng.dirichlet(weights) for _ in range(num_annotators)] for weights in concentration])
    codes = rng.choice(num_classes, p=class_prob, size=num_items)
    rows = [
        (i, j, rng.choice(num_classes, p=prob[codes[i], j]))
        for i in range(num_items)
        for j in rng.choice(num_annotators, size=each, replace=False)
    ]
    return table(rows), codes, class_prob, prob


def enumerated(known=None, own=2.8, other=1.2, class_weight=1.0):
    """Probabilities of the items' classes and mean confusion matrices of SMALL, by a sum over all labellings."""
    alpha = np.array([[own, other], [other, own]])[:, None]
    found = []
    for codes, total in labellings(known):
        after = alpha + total
        density = (gammaln(after) - gammaln(alpha)).sum()
        density -= (gammaln(after.sum(axis=-1)) - gammaln(alpha.sum(axis=-1))).sum()
        density += gammaln(class_weight + np.bincount(codes, minlength=2)).sum()
        found.append((density, np.eye(2)[codes], after / after.sum(axis=-1, keepdims=True)))
    weight = softmax([density for density, _, _ in found])
    proba = np.tensordot(weight, [labelling for _, labelling, _ in found], 1)
    return proba, np.tensordot(weight, [mean for _, _, mean in found], 1)


def within_mcse(draws, expected):
    """Whether the means of draws, shape (chains, draws, ...), are near the expected ones."""
    return np.abs(z_scores(draws, expected)).max() < CRITICAL_Z


def labels_under_draws(crowd):
    problem, parameters = crowd.posterior.problem, crowd.posterior.parameters
    found = probabilities(label_log_joint(problem.resolved, problem.unlabelled, flatten(parameters)))[0]
    return found.reshape(*parameters.class_prob.shape[:2], -1)


@pytest.mark.slow
@pytest.mark.parametrize("known", [None, {"r": "y"}], ids=["unknown", "gold"])
def test_gibbs_agrees_with_a_sum_over_all_labels(known):
    crowd = nb.fit_annotations(SMALL, **NAMES, inference=nb.Gibbs(num_samples=2000), known=known, key=1)
    proba, confusion = enumerated(known)
    unknown = [0, 1, 3] if known else [0, 1, 2, 3]
    assert within_mcse(labels_under_draws(crowd), proba[unknown])
    assert within_mcse(crowd.posterior.parameters.blocks[0]["prob"], confusion)
    np.testing.assert_allclose(crowd.proba, proba, atol=0.03)
    np.testing.assert_allclose(crowd.confusion.to_numpy(), np.moveaxis(confusion, 0, 1), atol=0.02)
    if known:
        assert crowd.proba.loc["r"].tolist() == [0, 1]


@pytest.mark.slow
def test_nuts_agrees_with_a_sum_over_all_labels():
    crowd = nb.fit_annotations(SMALL, **NAMES, inference=nb.NUTS(), known={"r": "y"}, key=1)
    proba, confusion = enumerated({"r": "y"})
    assert within_mcse(labels_under_draws(crowd), proba[[0, 1, 3]])
    assert within_mcse(crowd.posterior.parameters.blocks[0]["prob"], confusion)


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
    draws = crowd.posterior.parameters.class_prob
    error = draws.std(axis=(0, 1)) / np.sqrt(ess_of_mean(draws))
    z = (crowd.class_probs.to_numpy() - [0.3756, 0.4073, 0.1432, 0.0738]) / np.hypot(error, 0.001)
    assert np.abs(z).max() < CRITICAL_Z


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
    names = crowd.posterior.mean()
    assert set(names) == {"class_prob", "annotation_prob"}


@pytest.mark.parametrize(
    "make", [pl.from_pandas, lambda frame: pa.table(frame.to_dict("list")), lambda frame: frame.astype("category")]
)
def test_every_kind_of_table_gives_the_same(make):
    expected = nb.fit_annotations(SMALL, **NAMES)
    pd.testing.assert_frame_equal(nb.fit_annotations(make(SMALL), **NAMES).items, expected.items, check_dtype=False)


def test_the_order_of_the_annotations_does_not_matter():
    annotations, _, _, _ = simulated(60, 5, 3, np.full((2, 2), 1.0) + 3 * np.eye(2))
    shuffled = annotations.sample(frac=1, random_state=1)
    expected, found = (nb.fit_annotations(rows, **NAMES).proba for rows in (annotations, shuffled))
    np.testing.assert_allclose(found.loc[expected.index], expected, atol=1e-9)


def test_repeated_annotations_count_twice():
    prior = np.array([[3.0, 2.0], [2.0, 3.0]])
    counts = [
        nb.fit_annotations(rows, **NAMES, concentration=prior).posterior.problem.unlabelled.blocks[0].toarray()
        for rows in (SMALL, pd.concat([SMALL, SMALL]))
    ]
    np.testing.assert_array_equal(counts[1], 2 * counts[0])
    assert counts[0].tolist() == [[1, 0, 1, 0, 0, 1], [0, 1, 0, 2, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]]


def test_the_order_of_the_classes_does_not_matter():
    annotations, _, _, _ = simulated(60, 5, 3, np.array([[6.0, 1, 1], [1, 3, 1], [1, 1, 9]]))
    expected = nb.fit_annotations(annotations, **NAMES)
    found = nb.fit_annotations(annotations, **NAMES, classes=[2, 0, 1])
    np.testing.assert_allclose(found.proba[[0, 1, 2]], expected.proba, atol=1e-5)
    np.testing.assert_allclose(found.annotators["accuracy"], expected.annotators["accuracy"], atol=1e-5)
    np.testing.assert_allclose(found.confusion.sel({"class": [0, 1, 2]}), expected.confusion, atol=1e-5)
    assert (found.items["label"] == expected.items["label"]).all()


def test_a_label_that_is_no_class_and_a_class_that_nobody_gives():
    rows = table([*SMALL.itertuples(index=False), ("s", "Ann", "unsure")])
    crowd = nb.fit_annotations(rows, **NAMES, classes=["x", "y", "z"])
    assert crowd.confusion.coords["label"].to_numpy().tolist() == ["unsure", "x", "y", "z"]
    assert crowd.proba.columns.tolist() == ["x", "y", "z"]
    assert crowd.proba["z"].max() < 0.2


def test_one_annotator_alone_is_believed_as_far_as_the_prior_goes():
    rows = table([(i, "Ann", "x" if i < 6 else "y") for i in range(10)])
    crowd = nb.fit_annotations(rows, **NAMES)
    assert crowd.items["label"].tolist() == ["x"] * 6 + ["y"] * 4
    assert crowd.items["probability"].between(0.5, 0.999).all()


def test_an_annotator_who_always_says_the_same_does_not_count():
    good = [(i, who, "xy"[i % 2]) for i in range(40) for who in ("Ann", "Bob", "Cem")]
    rows = table([*good, *[(i, "Dan", "x") for i in range(40)]])
    crowd = nb.fit_annotations(rows, **NAMES)
    assert crowd.items["label"].tolist() == ["xy"[i % 2] for i in range(40)]
    assert crowd.confusion.sel(annotator="Dan", label="x").min() > 0.8
    assert crowd.annotators.loc["Dan", "accuracy"] < 0.65


def test_all_annotations_with_one_label_need_the_classes():
    rows = table([(i, who, "x") for i in range(5) for who in ("Ann", "Bob")])
    with pytest.raises(ValueError, match=r"column 'label' holds one label only, 'x': .* classes=\[...\]"):
        nb.fit_annotations(rows, **NAMES)
    crowd = nb.fit_annotations(rows, **NAMES, classes=["x", "y"])
    assert (crowd.items["label"] == "x").all()


@pytest.mark.parametrize("frame", [False, True], ids=["series", "frame"])
def test_known_items_without_annotations_are_items(frame):
    known = pd.Series({"q": "y", "new": "x"})
    known = known.rename_axis("item").reset_index(name="label") if frame else known
    crowd = nb.fit_annotations(SMALL, **NAMES, known=known)
    assert crowd.items.index.tolist() == ["p", "q", "r", "s", "new"]
    assert crowd.items.loc["new", ["label", "probability", "num_annotations"]].tolist() == ["x", 1, 0]


@pytest.mark.parametrize("inference", [nb.EM(), nb.Exact(), nb.Gibbs(10, 2000, 1)], ids=["EM", "Exact", "Gibbs"])
def test_items_that_are_all_known_have_a_closed_form(inference):
    codes = {"p": "x", "q": "y", "r": "y", "s": "y"}
    crowd = nb.fit_annotations(SMALL, **NAMES, known=codes, inference=inference)
    assert crowd.items["label"].to_dict() == codes
    if not isinstance(inference, nb.EM):
        np.testing.assert_allclose(crowd.confusion, np.moveaxis(enumerated(codes)[1], 0, 1), atol=0.06)


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
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
        settings["known"] = {"p": "x", "q": "y", "r": "y", "s": "y"}
    crowd, same = (
        nb.fit_annotations(rows, **NAMES, **settings, **weights) for weights in ({}, {"concentration": given})
    )
    np.testing.assert_allclose(crowd.confusion, same.confusion, rtol=1e-12)
    assert crowd.log_evidence_bound == pytest.approx(same.log_evidence_bound)


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_an_annotator_alone_is_believed_but_not_for_certain():
    """Without a second annotator nothing but the prior says how often the first is right."""
    rows = table([(i, "Ann", "xyxxy"[i % 5]) for i in range(30)])
    items = nb.fit_annotations(rows, **NAMES, inference=nb.Gibbs(200, 1000, 2), key=1).items
    assert (items["label"] == rows.set_index("item")["label"]).all()
    assert items["probability"].between(0.55, 0.9).all()


def test_known_labels_say_which_class_is_which():
    """Annotators who all say the opposite: the known items turn the labels around."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=200)
    rows = table([(i, j, int(codes[i] if rng.random() < 0.2 else 1 - codes[i])) for i in range(200) for j in range(5)])
    crowd = nb.fit_annotations(rows, **NAMES, known={i: int(codes[i]) for i in range(60)})
    assert (crowd.items["label"].to_numpy() == codes).mean() > 0.9
    assert (crowd.annotators["accuracy"] < 0.35).all()


def test_intervals_of_accuracies_and_confusion_matrices_cover_at_their_rate():
    weights = np.array([[5.0, 1.5], [1.5, 5.0]])
    annotations, _, class_prob, prob = simulated(200, 150, 40, weights, seed=4)
    crowd = nb.fit_annotations(
        annotations, **NAMES, inference=nb.Gibbs(200, 1000, 2), concentration=weights, class_concentration=5.0, key=2
    )
    true = np.einsum("c,cjc->j", class_prob, prob)
    found = crowd.annotators.loc[np.arange(150)]
    covered = ((found["lower"] < true) & (true < found["upper"])).mean()
    assert abs(covered - 0.89) < CRITICAL_Z * np.sqrt(0.89 * 0.11 / 150)
    assert (found["upper"] - found["lower"]).between(0.02, 0.6).all()
    interval = crowd.confusion_interval().sel(annotator=np.arange(150), label=0).transpose("class", "annotator")
    inside = (interval["lower"].to_numpy() < prob[..., 0]) & (prob[..., 0] < interval["upper"].to_numpy())
    assert abs(inside.mean() - 0.89) < CRITICAL_Z * np.sqrt(0.89 * 0.11 / 150)


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_gibbs_does_not_depend_on_the_number_of_threads(monkeypatch):
    annotations, _, _, _ = simulated(3000, 10, 3, np.full((2, 2), 1.0) + 3 * np.eye(2))
    monkeypatch.setattr("bayesnb.model.problem.PIECE_CELLS", 1)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        crowd = nb.fit_annotations(annotations, **NAMES, inference=nb.Gibbs(3, 10, 2), key=5)
        found.append(crowd.posterior.parameters.class_prob)
    np.testing.assert_array_equal(*found)


class TestBadInput:
    def refused(self, error, match, rows=SMALL, **options):
        with pytest.raises(error, match=match):
            nb.fit_annotations(rows, **{**NAMES, **options})

    def test_a_column_that_is_not_there(self):
        self.refused(ValueError, "annotator is 'anotator', which is not a column .* 'annotator'", annotator="anotator")

    @pytest.mark.parametrize("column", ["item", "annotator", "label"])
    def test_a_missing_cell(self, column):
        rows = SMALL.copy()
        rows.loc[3, column] = None
        self.refused(ValueError, rf"column '{column}' is missing in row 3: every annotation needs its {column}", rows)

    def test_no_rows(self):
        self.refused(ValueError, "the table has no rows", SMALL[:0])

    def test_no_names(self):
        self.refused(TypeError, "no names: give a pandas, polars or pyarrow table", SMALL.to_numpy())

    def test_an_unknown_class_among_known_labels(self):
        match = r"known gives the item 'p' the label 'z', .* classes \['x', 'y'\]: correct it, or name all classes"
        self.refused(ValueError, match, known={"p": "z"})

    def test_a_known_label_that_is_missing(self):
        self.refused(ValueError, "known has no label for the item 'p'", known={"p": None})

    def test_a_known_item_twice(self):
        self.refused(ValueError, "known names the item 'p' twice", known=pd.Series(["x", "y"], index=["p", "p"]))

    def test_known_labels_without_items(self):
        self.refused(TypeError, "known is a list: give a mapping", known=["x"])
        columns = "known has the columns 'x': give two, 'item' and the one of the labels"
        self.refused(ValueError, columns, known=pd.DataFrame({"x": [1]}))

    def test_known_items_that_are_written_otherwise(self):
        match = "no known item is in column 'item', which holds items such as 'p', and known holds 'P'"
        self.refused(ValueError, match, known={"P": "x", "Q": "y"})

    @pytest.mark.parametrize("classes", [2, "xy"])
    def test_classes_that_are_no_sequence(self, classes):
        self.refused(TypeError, r"classes is .*: give the labels .* classes=\['x', 'y'\]", classes=classes)

    def test_a_class_twice_and_a_class_alone(self):
        self.refused(ValueError, "names a class twice", classes=["x", "y", "x"])
        self.refused(ValueError, "name two classes or more", classes=["x"])

    def test_a_concentration_of_another_shape(self):
        self.refused(ValueError, r"\(2, 3, 2\) \(classes, annotators, labels\)", concentration=np.ones((3, 3)))

    def test_a_concentration_without_a_mode(self):
        match = r"concentration holds 0.5, and nb.EM\(\) needs 1 or more: .* use nb.Gibbs\(\) or nb.NUTS\(\)"
        self.refused(ValueError, match, concentration=0.5)
        self.refused(ValueError, r"nb.MAP\(\) needs 1 or more", concentration=0.5, inference=nb.MAP())
        match = r"at least one, or nb.Gibbs\(\) or nb.NUTS\(\)"
        self.refused(ValueError, match, class_concentration=0.1, classes=["x", "y", "z"])

    @pytest.mark.parametrize("inference", [nb.Exact(), nb.EmpiricalBayes()])
    def test_an_inference_that_needs_every_label(self, inference):
        name = type(inference).__name__
        match = rf"nb.{name}\(\), which needs the label of every item in known, and known lacks 3 of 4 items: use nb.EM"
        self.refused(ValueError, match, inference=inference, known={"p": "x"})
        match = r"known lacks 4 of 4 items: use nb.Gibbs\(\) or nb.NUTS\(\)"
        self.refused(ValueError, match, inference=nb.EmpiricalBayes(), hierarchical=True)

    def test_a_prior_that_the_inference_ignores(self):
        match = r"nb.MLE\(\), which ignores the prior, and {} is given: use nb.EM\(\)"
        self.refused(ValueError, match.format("concentration"), inference=nb.MLE(), concentration=3.0)
        self.refused(ValueError, match.format("class_concentration"), inference=nb.MLE(), class_concentration=2.0)

    def test_the_name_of_an_inference(self):
        self.refused(ValueError, r"inference is 'gibs': give one of \['exact', 'nuts', 'gibbs'", inference="gibs")
        self.refused(TypeError, r"inference is the class Gibbs: give an instance, nb.Gibbs\(\)", inference=nb.Gibbs)

    def test_one_column_for_two(self):
        self.refused(ValueError, "item and annotator are both 'item': give each a column", annotator="item")
        self.refused(ValueError, "item and label are both 'label'", item="label")

    @pytest.mark.parametrize("given", [SMALL.to_dict("list"), "annotations.csv", None])
    def test_no_table(self, given):
        self.refused(TypeError, r"table is a .*: give a pandas, .* pandas.read_csv\(path\)", given)

    def test_a_column_twice(self):
        self.refused(ValueError, "column 'item' occurs twice in table", pd.concat([SMALL, SMALL["item"]], axis=1))

    def test_a_wide_table(self):
        wide = SMALL.drop_duplicates(["item", "annotator"]).pivot(index="item", columns="annotator", values="label")
        self.refused(ValueError, r"item is 'item', which is the index of the table: give table.reset_index\(\)", wide)
        match = r"annotator is 'annotator', .* one row for each annotation, as table.melt\(...\) makes them"
        self.refused(ValueError, match, wide.reset_index())

    def test_known_items_of_another_type(self):
        rows = SMALL.assign(item=pd.Timestamp("2024-01-03"))
        match = r"Timestamp\('2024-01-03 00:00:00'\), and known holds '2024-01-03': .* of the type Timestamp"
        self.refused(ValueError, match, rows, known={"2024-01-03": "x"})


@pytest.mark.parametrize("hyperprior", [{}, {"class_concentration": 1}])
def test_maximum_likelihood_without_a_prior(hyperprior):
    known = {"p": "x", "q": "y", "r": "y", "s": "x"}
    crowd = nb.fit_annotations(SMALL, **NAMES, known=known, inference=nb.MLE(), **hyperprior)
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


def test_ratings_in_halves_give_no_warning():
    rows = table([(i, who, (i % 30) / 2) for i in range(30) for who in ("Ann", "Bob")])
    assert len(nb.fit_annotations(rows, **NAMES).classes) == 30


def test_the_printed_form_counts_known_items_without_annotations():
    crowd = nb.fit_annotations(SMALL, **NAMES, known={"p": "x", "Q": "y"})
    assert "9 annotations of 5 items (2 known, 1 of them without annotation)" in format(crowd, "200")
    one = nb.fit_annotations(table([("p", "Ann", "x")]), **NAMES, classes=["x", "y"])
    assert format(one, "80").startswith("AnnotationFit by EM: 1 annotation of 1 item by 1 annotator\n")


def test_probabilities_are_normalised_over_many_items():
    annotations, codes, _, _ = simulated(2000, 30, 5, np.full((3, 3), 1.0) + 5 * np.eye(3))
    crowd = nb.fit_annotations(annotations, **NAMES)
    np.testing.assert_allclose(crowd.proba.sum(axis=1), 1)
    assert (crowd.items["label"].loc[np.arange(2000)].to_numpy() == codes).mean() > 0.85
    assert np.isfinite(logsumexp(crowd.proba.to_numpy()))
