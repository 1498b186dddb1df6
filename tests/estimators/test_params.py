"""Parameters of models, families and inferences under scikit-learn's names."""

import re

import numpy as np
import numpyro.distributions as dist
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import bayesnb as nb
from bayesnb.estimators import GaussianNB, NaiveBayesClassifier, PoissonNB

MODEL = nb.NaiveBayes(
    {"island": nb.Categorical(), "bill": (nb.Gaussian(), ["bill_length_mm", "bill_depth_mm"])}, class_concentration=2.0
)


@pytest.fixture(scope="module")
def penguins():
    return nb.datasets.penguins()


def test_a_model_has_its_features_and_its_class_prior():
    found = NaiveBayesClassifier(MODEL).get_params()
    assert {name: value for name, value in found.items() if name.startswith("model__")} == {
        "model__island": nb.Categorical(),
        "model__island__concentration": 1.0,
        "model__island__categories": None,
        "model__island__other": False,
        "model__bill": nb.Gaussian(),
        "model__bill__loc": None,
        "model__bill__kappa": 0.1,
        "model__bill__concentration": 1.0,
        "model__bill__rate": None,
        "model__class_concentration": 2.0,
        "model__class_probs": None,
        "model__feature_inclusion": None,
    }
    assert not [name for name in NaiveBayesClassifier(MODEL).get_params(deep=False) if "__" in name]


def test_models_families_and_inferences_name_their_parameters_and_give_changed_copies():
    assert MODEL.get_params()["island__concentration"] == 1.0
    changed = MODEL.set_params(island__concentration=7.0, class_concentration=3.0)
    assert changed.get_params()["island__concentration"] == 7.0
    assert changed.class_concentration == 3.0
    assert changed.features["bill"] == MODEL.features["bill"]
    assert MODEL.get_params(deep=False) == {
        "island": nb.Categorical(),
        "bill": nb.Gaussian(),
        "class_concentration": 2.0,
        "class_probs": None,
        "feature_inclusion": None,
    }
    assert nb.Poisson(2.0).set_params(rate=5.0).get_params() == {"concentration": 2.0, "rate": 5.0, "fractional": False}
    assert nb.NUTS().set_params(num_samples=7) == nb.NUTS(num_samples=7)
    assert clone(MODEL) is MODEL
    assert "island" in NaiveBayesClassifier(MODEL)._repr_html_()
    for wrong, says in (
        (lambda: MODEL.set_params(isle__concentration=1), "'isle__concentration' for a NaiveBayes. Valid"),
        (lambda: nb.Poisson().set_params(shape=1), "'shape' for a Poisson. Valid parameters are: ['concentration', "),
        (lambda: MODEL.set_params(island__concentration=-1), "concentration"),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            wrong()
    with pytest.raises(TypeError, match="island is 3: give a family"):
        MODEL.set_params(island=3)


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
    expected = []
    for value in values:
        model = nb.NaiveBayes(
            {"island": nb.Categorical(value), "bill": (nb.Gaussian(), ["bill_length_mm", "bill_depth_mm"])},
            class_concentration=2.0,
        )
        scores = []
        for train, test in folds.split(X, y):
            fitted = nb.fit(model, X.iloc[train], y.iloc[train])
            codes = np.searchsorted(fitted.classes, y.iloc[test])
            scores.append(fitted.predict_log_proba(X.iloc[test])[np.arange(len(test)), codes].mean())
        expected.append(np.mean(scores))
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


def test_a_clone_keeps_what_was_set(penguins):
    X, y = penguins
    estimator = NaiveBayesClassifier(MODEL, feature_weights=None).set_params(model__island__concentration=9.0)
    copied = clone(estimator)
    assert copied.model == estimator.model
    copied.set_params(model__island__concentration=1.0)
    assert estimator.get_params()["model__island__concentration"] == 9.0
    np.testing.assert_array_equal(
        clone(estimator).fit(X, y).predict_proba(X), nb.fit(estimator.model, X, y).predict_proba(X)
    )


@pytest.mark.slow
def test_inferences_and_priors_have_parameters_too(penguins):
    estimator = GaussianNB(prior=nb.Gaussian(), inference=nb.NUTS()).set_params(
        prior__kappa=2.0, inference__num_samples=7, decay=0.5
    )
    assert (estimator.prior, estimator.inference, estimator.decay) == (
        nb.Gaussian(kappa=2.0),
        nb.NUTS(num_samples=7),
        0.5,
    )
    learned = NaiveBayesClassifier(MODEL, inference=nb.EmpiricalBayes()).set_params(
        model__island__concentration=dist.Gamma(2.0, 1.0)
    )
    assert list(learned.fit(*penguins).posterior_.problem.learned_from.hyperpriors) == ["island_concentration"]


@pytest.mark.parametrize(
    ("estimator", "change", "message"),
    [
        (
            NaiveBayesClassifier(MODEL),
            {"model__island__weight": 1},
            "Invalid parameter 'weight' for model__island, a Categorical. Valid parameters are: ['categories', "
            "'concentration', 'other'].",
        ),
        (
            NaiveBayesClassifier(MODEL),
            {"model__isle__concentration": 1},
            "Invalid parameter 'isle__concentration' for model, a NaiveBayes. Valid parameters are: ['bill', "
            "'class_concentration', 'class_probs', 'feature_inclusion', 'island'].",
        ),
        (NaiveBayesClassifier(MODEL), {"modell__island": 1}, "Invalid parameter 'modell__island' for a Naive"),
        (
            NaiveBayesClassifier(),
            {"model__island": 1},
            "for model, a NoneType. Valid parameters are: []: give a model, a family or an inference as 'model'",
        ),
        (
            NaiveBayesClassifier(nb.NaiveBayes(nb.Poisson()).bind([[1], [2]], [0, 1])),
            {"model__rate": 1},
            "The model is bound to a table and keeps its numbers: give its description, model.description",
        ),
        (PoissonNB(inference="nuts"), {"inference__num_samples": 1}, "for inference, a str. Valid parameters are: []"),
        (NaiveBayesClassifier(MODEL), {"model__island__concentration": -1}, "Categorical(concentration=-1)"),
        (NaiveBayesClassifier(MODEL), {"model__island__concentration": "much"}, "concentration"),
    ],
)
def test_a_wrong_name_or_number_is_refused(estimator, change, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        clone(estimator).set_params(**change)


def test_a_feature_takes_a_family():
    for wrong in (3, (nb.Categorical(), ["island"]), nb.Categorical):
        with pytest.raises(TypeError, match=r"model__island is .*: give a family such as nb\.Categorical\(\)"):
            NaiveBayesClassifier(MODEL).set_params(model__island=wrong)


def test_a_model_of_a_table_is_searched_by_its_description(penguins):
    X, y = penguins
    bound = MODEL.bind(X, y)
    found = NaiveBayesClassifier(bound.description).set_params(model__island__concentration=4.0)
    assert found.model == NaiveBayesClassifier(MODEL).set_params(model__island__concentration=4.0).model
