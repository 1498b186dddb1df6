"""Every public call evaluates a family from outside in float64 and leaves JAX's setting alone."""

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import bayesnb as nb

LABELS = np.array(["a", "b", "b"] * 6)
X = np.random.default_rng(4).exponential(np.where(LABELS == "a", 1.0, 3.0)[:, None], (18, 2)).round(3)


def _watched(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def called(*arguments: Any, **named: Any) -> Any:
        assert jax.config.jax_enable_x64, f"{method.__name__} runs in float32"
        cells = (one for one in arguments if isinstance(one, np.ndarray))
        assert all(one.dtype.kind != "b" for one in cells), f"{method.__name__} takes booleans"
        return method(*arguments, **named)

    return called


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Watched(nb.Exponential):
    """Waiting times whose formulas refuse to be evaluated in float32."""

    def __hash__(self):
        return id(self)


FORMULAS = [
    "prior",
    "likelihood",
    "terms",
    "natural",
    "update",
    "log_base",
    "log_normaliser",
    "cell_log_predictive",
    "statistics",
    "on_scale_of",
    "power_scaled",
    "maximum_likelihood",
    "maximum_a_posteriori",
]
for _name in FORMULAS:
    setattr(Watched, _name, _watched(getattr(Watched, _name)))

MODEL = nb.NaiveBayes(Watched(2.0, 3.0))


def exact() -> Any:
    return nb.fit(MODEL, X, LABELS)


def sampled() -> Any:
    return nb.from_samples(MODEL, exact().draws(num_draws=120, num_chains=4), X=X, y=LABELS)


def known() -> Any:
    values = {"rate": [[0.5, 1.0], [2.0, 3.0]]}
    return nb.from_parameters(MODEL, classes=["a", "b"], class_probs=[0.4, 0.6], parameters=values)


def loaded() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        exact().save(Path(folder) / "posterior.nc")
        return nb.load(Path(folder) / "posterior.nc", families=[Watched])


CALLS: dict[str, Callable[[], Any]] = {
    "fit": exact,
    "fit of booleans": lambda: nb.fit(MODEL, X > 1, LABELS),
    "log_joint": lambda: exact().log_joint(X),
    "log_evidence": lambda: exact().log_evidence,
    "update": lambda: exact().update(X, LABELS),
    "decay": lambda: exact().update(X, LABELS, decay=0.5),
    "forget": lambda: exact().update(X[:3], LABELS[:3]).forget(X[:3], LABELS[:3]),
    "simulate": lambda: exact().simulate(5),
    "simulate the prior": lambda: MODEL.bind(X, LABELS).simulate(5),
    "draw the prior": lambda: MODEL.bind(X, LABELS).draw_prior(np.random.default_rng(0), (3,)),
    "draws": lambda: exact().draws(num_draws=5, num_chains=1),
    "proba_interval": lambda: exact().proba_interval(X, num_draws=5, num_chains=1),
    "uncertainty": lambda: exact().uncertainty(X, num_draws=5, num_chains=1),
    "datatree": lambda: exact().to_datatree(X, LABELS, num_draws=5, num_chains=1),
    "loo": lambda: nb.loo(exact(), X, LABELS),
    "loo of averages": lambda: nb.loo(exact().averaged(), X, LABELS),
    "kfold": lambda: nb.kfold(MODEL, X, LABELS, k=2),
    "check": lambda: nb.check(exact(), X, LABELS, num_replicates=20),
    "compare": lambda: nb.compare(exact(), sampled()),
    "compare_models": lambda: nb.compare_models({"one": MODEL, "other": nb.Gaussian()}, X, LABELS),
    "calibration": lambda: nb.calibration(exact(), X, LABELS),
    "feature_evidence": lambda: nb.feature_evidence(exact()),
    "mutual_information": lambda: nb.mutual_information(exact(), num_draws=5),
    "select_features": lambda: nb.select_features(MODEL, X, LABELS),
    "weight_features": lambda: nb.weight_features(exact(), X, LABELS),
    "weight_features of draws": lambda: nb.weight_features(sampled(), X, LABELS).predict_proba(X),
    "densities": lambda: nb.plot_densities(exact(), X, LABELS),
    "from_samples": lambda: sampled().predict_proba(X),
    "draws in a datatree": lambda: sampled().to_datatree(X, LABELS),
    "from_parameters": lambda: known().predict_proba(X),
    "unlabelled": lambda: nb.fit(MODEL, X, np.array([None, *LABELS[1:]], dtype=object), nb.Gibbs(5, 5, num_chains=1)),
    "load": loaded,
    "sensitivity": lambda: nb.sensitivity(exact(), X),
    "groups": lambda: nb.group_columns(MODEL, X, LABELS),
    "summary": lambda: exact().summary(),
    "point": lambda: nb.fit(MODEL, X, LABELS, nb.MAP()).predict_proba(X),
    "point without a prior": lambda: nb.fit(MODEL, X, LABELS, nb.MLE()),
    "points without labels": lambda: nb.fit(MODEL, X, np.array([None, *LABELS[1:]], dtype=object), nb.MAP()),
    "averages updated": lambda: exact().averaged().update(X, LABELS).log_joint(X),
    "classes in any order": lambda: nb.fit(
        MODEL, X, np.full(18, None, dtype=object), nb.Gibbs(5, 5), classes=["a", "b"]
    ),
    "prior and posterior": lambda: nb.plot_prior_posterior(exact()),
    "sbc": lambda: nb.sbc(MODEL, num_simulations=20, num_rows=10, X=X, y=LABELS),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    assert not jax.config.jax_enable_x64
    with warnings.catch_warnings(action="ignore"):
        CALLS[name]()
    assert not jax.config.jax_enable_x64
