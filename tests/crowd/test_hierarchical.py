"""Annotators who share concentrations that are learned: against sums over all labels, NUTS and simulation."""

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp, softmax
from small_crowd import CRITICAL_Z, NAMES, SMALL, labellings, z_scores

import bayesnb as nb
from bayesnb.posterior.diagnostics import ess_of_mean


def enumerated(known):
    """Means of class frequencies, concentrations and confusion matrices of SMALL.

    The sum runs over all labellings. Given one, each class has two concentrations of its own, and a grid for them.
    """
    line = np.linspace(-5, 5, 161)
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


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
@pytest.mark.parametrize(
    ("inference", "known"),
    [
        (nb.Gibbs(50, 250, 4), {}),
        pytest.param(nb.Gibbs(100, 1500, 2), {"r": "y"}, marks=pytest.mark.slow),
        pytest.param(nb.NUTS(), {}, marks=pytest.mark.slow),
    ],
    ids=["Gibbs", "Gibbs with a known label", "NUTS"],
)
def test_draws_agree_with_a_sum_over_all_labels_and_quadrature(inference, known):
    crowd = nb.fit_annotations(SMALL, **NAMES, inference=inference, hierarchical=True, known=known or None, key=1)
    draws = crowd.posterior.parameters
    values = draws.class_prob, draws.hyperparameters["annotation_concentration"], draws.blocks[0]["prob"]
    for found, expected in zip(values, enumerated(known), strict=True):
        assert np.abs(z_scores(found, expected)).max() < CRITICAL_Z


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_gibbs_and_nuts_agree_on_the_anesthesia_patients(data):
    annotations = pd.read_csv(data / "annotations" / "anesthesia.csv")
    found = [
        nb.fit_annotations(annotations, **NAMES, inference=inference, hierarchical=True, key=1).posterior.parameters
        for inference in (nb.Gibbs(200, 3000), nb.NUTS(num_samples=2000, target_accept_prob=0.95))
    ]
    for read in (
        lambda drawn: drawn.class_prob,
        lambda drawn: np.log(drawn.hyperparameters["annotation_concentration"]),
        lambda drawn: drawn.blocks[0]["prob"],
    ):
        means, errors = [], []
        for drawn in found:
            series = read(drawn).reshape(*drawn.class_prob.shape[:2], -1)
            means.append(series.mean(axis=(0, 1)))
            errors.append(series.std(axis=(0, 1)) / np.sqrt(ess_of_mean(series)))
        assert np.abs((means[0] - means[1]) / np.hypot(*errors)).max() < CRITICAL_Z


def simulated(seed, num_annotators=100, num_items=300, each=3):
    """Annotators with nine annotations each, drawn from the model."""
    rng = np.random.default_rng(seed)
    class_prob, concentration = np.array([0.6, 0.4]), [(16.0, 2.0), (3.0, 9.0)]
    prob = np.array([rng.dirichlet(weights, size=num_annotators) for weights in concentration])
    codes = rng.choice(2, p=class_prob, size=num_items)
    rows = [
        (i, j, rng.choice(2, p=prob[codes[i], j]))
        for i in range(num_items)
        for j in rng.choice(num_annotators, size=each, replace=False)
    ]
    return pd.DataFrame(rows, columns=list(NAMES)), np.einsum("c,cjc->j", class_prob, prob)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_few_annotations_each_are_enough_for_annotators_who_are_alike():
    error, covered, number = {False: [], True: []}, 0, 0
    for seed in range(4):
        annotations, true = simulated(seed)
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


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_a_hyperprior_in_place_of_a_number_is_learned():
    hyperprior = dist.Gamma(2.0, 0.5)
    crowd = nb.fit_annotations(
        SMALL, **NAMES, inference=nb.Gibbs(5, 20, 2), concentration=hyperprior, known={"p": "x", "q": "y"}
    )
    assert crowd.posterior.parameters.hyperparameters["annotation_concentration"].shape == (2, 20)
    np.testing.assert_allclose(crowd.new_annotator, 0.5)


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_a_fit_is_saved_and_says_what_a_new_annotator_gives(tmp_path):
    crowd = nb.fit_annotations(SMALL, **NAMES, inference=nb.Gibbs(5, 20, 2), hierarchical=True)
    crowd.save(tmp_path / "crowd.nc")
    loaded = nb.load(tmp_path / "crowd.nc")
    pd.testing.assert_frame_equal(loaded.items, crowd.items)
    pd.testing.assert_frame_equal(loaded.new_annotator, crowd.new_annotator)
    draws = crowd.posterior.parameters.hyperparameters["annotation_concentration"].reshape(-1, 2, 2)
    expected = [[np.mean([draw[c, k] / draw[c].sum() for draw in draws]) for k in range(2)] for c in range(2)]
    np.testing.assert_allclose(crowd.new_annotator, expected)
    assert crowd.new_annotator.index.tolist() == crowd.new_annotator.columns.tolist() == ["x", "y"]
    with pytest.raises(ValueError, match=r"log_evidence_bound needs a given concentration, and here it is learned"):
        _ = crowd.log_evidence_bound


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_items_that_are_all_known_leave_concentrations_to_learn():
    known = {"p": "x", "q": "y", "r": "y", "s": "y"}
    crowd = nb.fit_annotations(SMALL, **NAMES, hierarchical=True, known=known, inference=nb.Gibbs(50, 250, 4), key=4)
    assert crowd.items["label"].to_dict() == known
    concentration = crowd.posterior.parameters.hyperparameters["annotation_concentration"]
    assert np.abs(z_scores(concentration, enumerated(known)[1])).max() < CRITICAL_Z


def test_bad_choices_say_what_to_do():
    with pytest.raises(ValueError, match=r"nb\.EM\(\), and the concentration is learned.*use nb\.Gibbs\(\) or nb\.N"):
        nb.fit_annotations(SMALL, **NAMES, hierarchical=True, inference=nb.EM())
    with pytest.raises(ValueError, match=r"concentration has shape \(2, 3, 2\).*share.*\(2, 2\) \(classes, labels\)"):
        nb.fit_annotations(SMALL, **NAMES, hierarchical=True, concentration=np.ones((2, 3, 2)))
    with pytest.raises(ValueError, match=r"concentration holds -1\.0.*positive"):
        nb.fit_annotations(SMALL, **NAMES, hierarchical=True, concentration=-1.0)
    with pytest.raises(TypeError, match=r"concentration is LogNormal\(0, 1\).*leave out\s+hierarchical"):
        nb.fit_annotations(SMALL, **NAMES, hierarchical=True, concentration=dist.LogNormal(0, 1))
    with pytest.raises(ValueError, match=r"concentrations are given.*hierarchical=True"):
        _ = nb.fit_annotations(SMALL, **NAMES).new_annotator
