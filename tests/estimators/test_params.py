"""Parameters of models, families and inferences under scikit-learn's names."""

import re

import numpy as np
import numpyro.distributions as dist
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesnb as nb
from bayesnb.estimators import GaussianNB, NaiveBayesClassifier, PoissonNB

MODEL = nb.NaiveBayes(
    {"island": nb.Categorical(), "bill": (nb.Gaussian(), ["bill_length_mm", "bill_depth_mm"])}, class_concentration=2.0
)


OF_MODEL = {
    "island": nb.Categorical(),
    "bill": nb.Gaussian(),
    "class_concentration": 2.0,
    "class_probs": None,
    "feature_inclusion": None,
}
OF_FAMILIES = {
    "island__concentration": 1.0,
    "island__categories": None,
    "island__other": False,
    "bill__loc": None,
    "bill__kappa": 0.1,
    "bill__concentration": 1.0,
    "bill__rate": None,
}


def test_models_families_and_inferences_name_their_parameters_and_give_changed_copies():
    assert MODEL.get_params() == OF_MODEL | OF_FAMILIES
    assert MODEL.get_params(deep=False) == OF_MODEL
    changed = MODEL.set_params(island__concentration=7.0, class_concentration=3.0)
    assert changed.get_params() == MODEL.get_params() | {
        "island": nb.Categorical(7.0),
        "island__concentration": 7.0,
        "class_concentration": 3.0,
    }
    assert nb.Poisson(2.0).set_params(rate=5.0).get_params() == {"concentration": 2.0, "rate": 5.0, "fractional": False}
    assert nb.NUTS().set_params(num_samples=7) == nb.NUTS(num_samples=7)
    assert clone(MODEL) is MODEL


def test_an_estimator_has_the_parameters_of_its_model():
    estimator = NaiveBayesClassifier(MODEL)
    found = {name: value for name, value in estimator.get_params().items() if name.startswith("model__")}
    assert found == {f"model__{name}": value for name, value in MODEL.get_params().items()}
    assert not [name for name in estimator.get_params(deep=False) if "__" in name]
    assert "island" in estimator._repr_html_()


@pytest.mark.parametrize("model", [nb.Poisson(2.0, 3.0), nb.NaiveBayes(nb.Poisson(2.0, 3.0))], ids=["family", "model"])
def test_one_family_for_all_columns_has_its_fields(model):
    estimator = NaiveBayesClassifier(model, feature_weights=None)
    assert estimator.get_params()["model__rate"] == 3.0
    X, y = [[1, 2], [0, 4], [7, 1]], [0, 0, 1]
    changed = clone(estimator).set_params(model__rate=0.5).fit(X, y)
    np.testing.assert_array_equal(changed.predict_proba(X), nb.fit(nb.Poisson(2.0, 0.5), X, y).predict_proba(X))
    assert estimator.get_params()["model__rate"] == 3.0


def test_a_search_in_a_pipeline_scores_what_fits_by_hand_score(penguins):
    X, y = penguins
    values = [0.1, 1.0, 1000.0]
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    pipeline = make_pipeline(FunctionTransformer(), NaiveBayesClassifier(MODEL, feature_weights=None))
    grid = {"naivebayesclassifier__model__island__concentration": values}
    search = GridSearchCV(pipeline, grid, cv=folds, scoring="neg_log_loss").fit(X, y)
    by_hand = [clone(pipeline[-1]).set_params(model__island__concentration=value) for value in values]
    expected = [cross_val_score(each, X, y, cv=folds, scoring="neg_log_loss").mean() for each in by_hand]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected, rtol=1e-9)
    assert expected[0] > expected[2] + 0.05
    assert search.best_estimator_[-1].model.features["island"][0].concentration == values[np.argmax(expected)]
    assert MODEL.features["island"][0] == nb.Categorical()
    assert search.predict(X[:5]).tolist() == y[:5].tolist()


def test_the_columns_of_a_block_and_all_else_stay():
    changed = NaiveBayesClassifier(MODEL).set_params(
        model__bill=nb.Gaussian(kappa=3.0), model__bill__rate=2.0, model__class_concentration=5.0
    )
    assert changed.model == nb.NaiveBayes(
        {
            "island": nb.Categorical(),
            "bill": (nb.Gaussian(kappa=3.0, rate=2.0), ["bill_length_mm", "bill_depth_mm"]),
        },
        class_concentration=5.0,
    )


@pytest.mark.parametrize("step", [1, -1])
def test_a_new_model_comes_before_its_parameters_in_any_order(step):
    given = nb.NaiveBayes({"a": nb.Poisson()})
    changes = [("model", given), ("model__a__rate", 7.0)][::step]
    assert NaiveBayesClassifier(MODEL).set_params(**dict(changes)).model == nb.NaiveBayes({"a": nb.Poisson(rate=7.0)})
    assert given == nb.NaiveBayes({"a": nb.Poisson()})


def test_names_of_columns_may_be_numbers_and_contain_underscores():
    model = nb.NaiveBayes({0: nb.Poisson(), "a": nb.Poisson(), "a__b": nb.Poisson()})
    estimator = NaiveBayesClassifier(model).set_params(model__0__rate=2.0, model__a__rate=3.0, model__a__b__rate=4.0)
    assert [family.rate for family, _ in estimator.model.features.values()] == [2.0, 3.0, 4.0]


def test_inferences_and_priors_have_parameters_too():
    estimator = GaussianNB(prior=nb.Gaussian(), inference=nb.NUTS())
    changed = estimator.set_params(prior__kappa=2.0, inference__num_samples=7, decay=0.5)
    assert (changed.prior, changed.inference) == (nb.Gaussian(kappa=2.0), nb.NUTS(num_samples=7))
    assert changed.decay == 0.5
    learned = NaiveBayesClassifier(MODEL).set_params(model__island__concentration=dist.Gamma(2.0, 1.0))
    assert isinstance(learned.model.features["island"][0].concentration, dist.Gamma)


CLASSIFIER = NaiveBayesClassifier(MODEL)
BOUND = nb.NaiveBayes(nb.Poisson()).bind([[1], [2]], [0, 1])
NO_FAMILY = "give a family such as nb.Categorical()"
REFUSED = [
    (CLASSIFIER, "model__island__weight", 1, "'weight' for model__island, a Categorical. Valid parameters are: ['ca"),
    (CLASSIFIER, "modell__island", 1, "Invalid parameter 'modell__island' for a NaiveBayesClassifier"),
    (NaiveBayesClassifier(), "model__island", 1, "for model, a NoneType. Valid parameters are: []: give a model"),
    (NaiveBayesClassifier(BOUND), "model__rate", 1, "The model is bound to a table and keeps its numbers: give"),
    (PoissonNB(inference="nuts"), "inference__num_samples", 1, "for inference, a str. Valid parameters are: []"),
    (CLASSIFIER, "model__island__concentration", -1, "Categorical(concentration=-1)"),
    (CLASSIFIER, "model__island", 3, f"model__island is 3: {NO_FAMILY}"),
    (CLASSIFIER, "model__island", (nb.Categorical(), ["island"]), NO_FAMILY),
    (MODEL, "isle__concentration", 1, "'isle__concentration' for a NaiveBayes. Valid"),
    (nb.Poisson(), "shape", 1, "'shape' for a Poisson. Valid parameters are: ['concentration', "),
]


@pytest.mark.parametrize(("owner", "name", "value", "message"), REFUSED)
def test_a_wrong_name_or_value_is_refused(owner, name, value, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        clone(owner).set_params(**{name: value})
