"""Families written outside the package get every verb that those of the package get, with the same numbers."""

import dataclasses
import re
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
import pytest
import xarray as xr
from cases import FAMILIES, Case, Coins, Durations, Exponential, Symbols, Tokens
from numpyro.infer.util import log_density
from slow import cases_fast, names_fast

import bayesnb as nb
from bayesnb.estimators import NaiveBayesClassifier
from bayesnb.inference.fit import read_table

mpl.use("agg")

OPEN = [case for case in FAMILIES if not case.can.closed and not case.can.joint]
"""Families without a closed form."""

LABELS = np.array(["a", "b", "b", "a", "b", "a", "b", "b", "a", "b", "a", "b"])


@dataclass(frozen=True, eq=False)
class Pair:
    """A family from outside, that of the package with the same formulas, and a table."""

    outside: Any
    twin: Any
    X: pd.DataFrame

    @cached_property
    def posteriors(self) -> list[Any]:
        return [nb.fit(nb.NaiveBayes(family(1.5)), self.X, LABELS) for family in (self.outside, self.twin)]


def _coins() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    values = (rng.uniform(size=(12, 3)) < 0.4).astype(float)
    values[2, 1] = np.nan
    return pd.DataFrame(values, columns=["shut", "red", "old"])


def _symbols() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    colours = rng.choice(["red", "green", "blue"], 12).astype(object)
    colours[4] = None
    return pd.DataFrame(
        {"colour": colours, "size": rng.choice(["S", "M"], 12), "make": rng.choice(["x", "y", "z"], 12)}
    )


def _tokens() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(3).poisson([1.0, 4.0, 2.0, 0.3], (12, 4)), columns=["of", "a", "to", "v"])


PAIRS = {
    "coins": Pair(Coins, nb.Bernoulli, _coins()),
    "symbols": Pair(Symbols, nb.Categorical, _symbols()),
    "tokens": Pair(Tokens, nb.Multinomial, _tokens()),
}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Shifted(Exponential):
    """Waits beyond a known time, which is a constant."""

    shift: Any = field(default=0.0, metadata={"static": True})
    note: Any = field(default=None, metadata={"static": True})

    def terms(self, x: Any) -> Any:
        return (x - np.asarray(self.shift),)

    def update(self, statistics: Any) -> Any:
        after = super().update(statistics)
        return dataclasses.replace(self, concentration=after.concentration, rate=after.rate)

    def cell_log_predictive(self, x: Any) -> Any:
        return super().cell_log_predictive(x - np.asarray(self.shift))


def numbers_of(result: Any) -> list[Any]:
    """Everything that a result holds, as a list of arrays and texts."""
    if hasattr(result, "axes") and hasattr(result, "savefig"):
        drawn: list[Any] = []
        for axes in result.axes:
            drawn += [axes.get_title(), *(line.get_xydata() for line in axes.lines)]
            drawn += [path.vertices for collection in axes.collections for path in collection.get_paths()]
        return drawn
    if isinstance(result, xr.DataTree):
        return [values for node in result.subtree for _, values in sorted(node.data_vars.items())]
    if isinstance(result, pd.DataFrame):
        return [list(result.index), *(result[name].to_numpy() for name in result.columns)]
    if isinstance(result, dict):
        return [*result, *(np.asarray(value) for value in result.values())]
    if isinstance(result, tuple | list):
        return [number for part in result for number in numbers_of(part)]
    return [result]


def assert_same(one: Any, other: Any) -> None:
    mine, theirs = numbers_of(one), numbers_of(other)
    assert len(mine) == len(theirs) > 0
    for a, b in zip(mine, theirs, strict=True):
        values = np.asarray(b)
        if values.dtype.kind in "biuf":
            np.testing.assert_allclose(np.asarray(a, dtype=float), values.astype(float), rtol=2e-7, atol=1e-9)
        else:
            np.testing.assert_array_equal(np.asarray(a), values)


def reloaded(posterior: Any, tmp_path: Any) -> Any:
    posterior.save(tmp_path / "posterior.nc")
    return nb.load(tmp_path / "posterior.nc")


def unlabelled(posterior: Any, X: Any, inference: Any, **options: Any) -> Any:
    y = [None if i % 3 == 0 else label for i, label in enumerate(LABELS)]
    return nb.fit(posterior.model, X, y, inference, **options).predict_proba(X)


def draws_of(posterior: Any, X: Any) -> Any:
    samples = posterior.draws(num_draws=300, num_chains=2)
    return nb.from_samples(posterior.model, samples, X=X, y=LABELS)


def learned(posterior: Any) -> nb.NaiveBayes:
    """The model with its first hyperparameter, all of whose numbers are the same, to be learned."""
    family = type(posterior.model.families[0])
    return nb.NaiveBayes(family(*[dist.Gamma(2.0, 1.0), *[1.5] * (family in {Coins, nb.Bernoulli})]))


def trace_of_program(model: Any, X: Any, y: Any) -> Any:
    """The NumPyro program as JAX traces it, with no number computed."""
    program = model.bind(X, y).program
    return jax.eval_shape(lambda key: numpyro.handlers.seed(program, key)(X, y), jax.random.key(0))


def log_density_of_program(posterior: Any, X: Any) -> float:
    """The NumPyro program's density of the rows at the posterior mean."""
    with jax.enable_x64(True):
        sites = {name: jnp.asarray(value) for name, value in posterior.mean().items()}
        return float(jax.jit(lambda sites: log_density(posterior.model.program, (X, LABELS), {}, sites)[0])(sites))


VERBS = {
    "predict_proba": lambda p, X: p.predict_proba(X),
    "proba_draws": lambda p, X: p.proba_draws(X, num_draws=5, num_chains=2),
    "proba_interval": lambda p, X: p.proba_interval(X, num_draws=5, num_chains=2),
    "uncertainty": lambda p, X: p.uncertainty(X, num_draws=5, num_chains=2),
    "summary": lambda p, X: p.summary(),
    "explain": lambda p, X: p.explain(X[:1], words=True, num_draws=5),
    "log_evidence": lambda p, X: p.log_evidence,
    "feature_evidence": lambda p, X: nb.feature_evidence(p),
    "decay": lambda p, X: p.update(X[:4], LABELS[:4], decay=0.5).log_joint(X),
    "plugin": lambda p, X: p.plugin().log_joint(X),
    "posterior simulate": lambda p, X: p.simulate(6, total_count=5),
    "prior simulate": lambda p, X: p.model.simulate(6, total_count=5, return_parameters=True),
    "program": log_density_of_program,
    "datatree": lambda p, X: p.to_datatree(X, LABELS, num_draws=5, num_chains=2),
    "loo of draws": lambda p, X: nb.loo(draws_of(p, X), X, LABELS).elpd_i.to_numpy(),
    "loo_scores": lambda p, X: nb.loo_scores(p, X, LABELS).to_numpy(dtype=float),
    "kfold": lambda p, X: nb.kfold(p, X, LABELS, k=3).elpd_i.to_numpy(),
    "sensitivity": lambda p, X: (nb.sensitivity(p, X).table, nb.sensitivity(p, X).probabilities),
    "sbc": lambda p, X: nb.sbc(p.model, num_simulations=20, num_rows=10, total_count=5).pit,
    "check": lambda p, X: nb.check(p, X, LABELS, num_replicates=20).table,
    "calibration": lambda p, X: nb.calibration(p, X, LABELS).table,
    "compare": lambda p, X: nb.compare(p, draws_of(p, X), X).table,
    "compare_models": lambda p, X: nb.compare_models({"it": p, "flat": type(p.model.families[0])()}, X, LABELS).table,
    "MLE": lambda p, X: nb.fit(p.model, X, LABELS, nb.MLE()).mean(),
    "MAP": lambda p, X: nb.fit(p.model, X, LABELS, nb.MAP()).mean(),
    "unlabelled MAP": lambda p, X: unlabelled(p, X, nb.MAP()),
    "unlabelled Gibbs": lambda p, X: unlabelled(p, X, nb.Gibbs(num_warmup=5, num_samples=20), key=1),
    "classifier": lambda p, X: NaiveBayesClassifier(model=p.model).fit(X, LABELS).predict_proba(X),
    "plot_log_odds": lambda p, X: nb.plot_log_odds(p, X, LABELS, num_draws=20),
    "plot_check": lambda p, X: nb.check(p, X, LABELS, num_replicates=20).plot(),
}
"""What is asked of a posterior in closed form."""


OF_CELLS = ("predict_proba", "summary", "posterior simulate", "sensitivity", "check", "MAP", "classifier")
"""Verbs that do not treat cells as they treat count vectors, and that compile little."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("name", "verb"), [*(("tokens", verb) for verb in VERBS), *(("symbols", verb) for verb in OF_CELLS)]
)
def test_a_verb_gives_the_numbers_of_the_twin(name: str, verb: str) -> None:
    outside, twin = (VERBS[verb](posterior, PAIRS[name].X) for posterior in PAIRS[name].posteriors)
    assert_same(outside, twin)


@pytest.mark.filterwarnings("ignore::bayesnb.ConvergenceWarning")
def test_a_default_of_all_classes_together_is_that_of_each_class() -> None:
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Scaled(Exponential):
        rate: Any = None

        def on_scale_of(self, pooled: Any) -> Any:
            return dataclasses.replace(self, rate=pooled.total / pooled.n)

    X, y = np.random.default_rng(4).exponential([1.0, 5.0], (12, 2)), [None, *LABELS[1:-1], None]
    sampler = nb.Gibbs(num_warmup=5, num_samples=20)
    mine, theirs = (nb.fit(family, X, y, sampler, key=1) for family in (Scaled(), nb.Exponential()))
    assert_same(mine.predict_proba(X), theirs.predict_proba(X))


def test_a_file_names_a_class_that_is_not_there(tmp_path: Any) -> None:
    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Pennies(Coins):
        pass

    posterior = nb.fit(Pennies(), [[1.0]], ["a"])
    path = tmp_path / "posterior.nc"
    Pennies.__module__, Pennies.__qualname__ = "elsewhere", "Pennies"
    posterior.save(path)
    assert type(nb.load(path).model.families[0]) is Pennies
    Pennies.__module__ = "here"
    with pytest.raises(ValueError, match=r"elsewhere\.Pennies.*families=\[Pennies\]\), or import elsewhere first"):
        nb.load(path)
    assert type(nb.load(path, families=[Pennies]).model.families[0]) is Pennies


def test_an_outside_class_of_a_built_in_name_is_itself(tmp_path: Any) -> None:
    """The file names the module, so that the package's family does not take its place."""

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Bernoulli(Coins):
        pass

    for family in (Bernoulli(2.0, 1.0), nb.Bernoulli(2.0, 1.0)):
        posterior = nb.fit(family, [[1.0], [0.0]], ["a", "b"])
        posterior.save(tmp_path / "posterior.nc")
        for options in ({}, {"families": [Bernoulli]}):
            assert type(nb.load(tmp_path / "posterior.nc", **options).model.families[0]) is type(family)


@dataclass(frozen=True)
class Sums(nb.families.Statistics):
    """Statistics from outside, which JAX does not know."""

    n: Any
    total: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class KnownSums(Sums):
    """The same, and JAX knows them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kept(KnownSums):
    """The total of each row, so that the shape follows the rows."""

    def __add__(self, other: Any) -> Any:
        return type(self)(self.n + other.n, np.concatenate([self.total, other.total], axis=-1))

    def __sub__(self, other: Any) -> Any:
        return type(self)(self.n - other.n, self.total[..., other.total.shape[-1] :])


def waits(kind: type[Sums]) -> Any:
    """The family `Exponential` with statistics of its own."""

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Waits(Exponential):
        def statistics(self, x: Any, membership: Any) -> Any:
            n, seen = membership.T @ ~np.isnan(x), np.nan_to_num(x)
            return kind(n, np.einsum("rc,rj->cjr", membership, seen) if kind is Kept else membership.T @ seen)

        def update(self, statistics: Any) -> Any:
            total = statistics.total.sum(axis=-1) if kind is Kept else statistics.total
            return type(self)(self.concentration + statistics.n, self.rate + total)

    return Waits


class TestStatisticsFromOutside:
    X = np.array([[0.5, 1.0], [2.0, np.nan], [0.25, 4.0], [1.0, 3.0], [5.0, 0.5]])
    y = ("a", "b", "a", "b", "b")

    def test_they_are_saved_updated_and_forgotten(self, tmp_path: Any) -> None:
        family = waits(KnownSums)
        posterior, expected = (nb.fit(one(2.0, 3.0), self.X, self.y) for one in (family, Exponential))
        assert_same(posterior.log_joint(self.X), expected.log_joint(self.X))
        posterior.save(tmp_path / "posterior.nc")
        for options in ({}, {"families": [family]}):
            loaded = nb.load(tmp_path / "posterior.nc", **options)
            (counted,) = loaded.problem.statistics.blocks
            assert type(counted) is KnownSums
            np.testing.assert_array_equal(counted.total, posterior.problem.statistics.blocks[0].total)
            np.testing.assert_array_equal(loaded.log_joint(self.X), posterior.log_joint(self.X))
            for verb in ("update", "forget"):
                later, theirs = (getattr(one, verb)(self.X[:2], self.y[:2]) for one in (loaded, expected))
                assert_same(later.log_joint(self.X), theirs.log_joint(self.X))


def test_zeros_and_ones_have_a_linear_rule_and_spikes() -> None:
    outside, twin = PAIRS["coins"].posteriors
    assert_same(outside.decision_boundary(), twin.decision_boundary())
    weights, bias = outside.decision_boundary()
    joint = outside.log_joint([[1, 0, 1]])[0]
    assert joint[1] - joint[0] == pytest.approx(weights @ [1, 0, 1] + bias)
    two_blocks = nb.fit(nb.NaiveBayes({0: nb.Bernoulli(), 1: Coins()}), [[1, 0], [1, 1], [0, 1]], ["a", "b", "b"])
    weights, bias = two_blocks.decision_boundary()
    rows = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    np.testing.assert_allclose(two_blocks.log_joint(rows) @ [-1, 1], rows @ weights + bias, rtol=1e-12)
    axis = nb.plot_densities(outside).axes[0]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["0", "1"]
    for line in axis.lines:
        assert line.get_ydata().sum() == pytest.approx(1.0, rel=1e-6)


def test_columns_of_vectors_by_default() -> None:
    """Without `of_each_column`, whole vectors are drawn, and columns have no evidence of their own."""

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Plain(Tokens):
        of_each_column = nb.families.JointFamily.of_each_column

    X = np.random.default_rng(4).poisson(np.where((LABELS == "a")[:, None], [6.0, 1.0, 3.0], [2.0, 4.0, 3.0]))
    for inclusion in (None, 0.4):
        known, plain = (
            nb.mutual_information(
                nb.fit(nb.NaiveBayes(family(1.5), feature_inclusion=inclusion), X, LABELS), num_draws=999
            )
            for family in (Tokens, Plain)
        )
        assert plain["inclusion_probability"].isna().all()
        shared = ["estimate", "lower", "upper", "p_value", "at_posterior_mean"]
        pd.testing.assert_frame_equal(known[shared], plain[shared])
        np.testing.assert_allclose(known["mean"], plain["mean"], rtol=0.04, atol=2e-4)


class TestCategories:
    """A categorical family from outside learns, lists and grows categories."""

    X = PAIRS["symbols"].X

    @pytest.mark.parametrize(
        "options",
        [
            {"categories": ["x", "y", "z", "w"]},
            {"categories": ("x", "y"), "other": True},
            {"categories": {"make": ["z", "y", "x"]}},
            {"other": True},
        ],
        ids=["listed", "listed, other", "by column", "other"],
    )
    @pytest.mark.filterwarnings("ignore::UserWarning")
    def test_settings(self, options: dict) -> None:
        new = pd.DataFrame({"make": ["x", "w", "never", None]})
        outside, twin = (
            nb.fit(nb.NaiveBayes({"make": family(0.7, **options)}), self.X[["make"]], LABELS)
            for family in (Symbols, nb.Categorical)
        )
        assert outside.model.schema.categories == twin.model.schema.categories
        assert_same(outside.log_joint(new), twin.log_joint(new))
        assert_same(outside.summary(), twin.summary())

    def test_later_rows_bring_categories(self) -> None:
        later = pd.DataFrame({"colour": ["pink", "red"], "size": ["L", "XL"], "make": ["x", "a"]})
        outside, twin = (p.update(later, ["a", "b"]) for p in PAIRS["symbols"].posteriors)
        assert outside.model.schema.categories == twin.model.schema.categories
        assert_same(outside.log_joint(later), twin.log_joint(later))
        at_once = nb.fit(nb.NaiveBayes(Symbols(1.5)), pd.concat([self.X, later]), [*LABELS, "a", "b"])
        assert_same(outside.log_joint(later), at_once.log_joint(later))
        assert_same(outside.log_evidence, at_once.log_evidence)

    def test_the_kind_of_a_feature_decides(self) -> None:
        assert_same(*(nb.plot_densities(posterior) for posterior in PAIRS["symbols"].posteriors))
        with pytest.raises(ValueError, match="no columns of 0 and 1 and no count vectors, only Symbols"):
            nb.plot_spikes(PAIRS["symbols"].posteriors[0])
        with pytest.raises(ValueError, match="column 'size' is Symbols"):
            PAIRS["symbols"].posteriors[0].decision_boundary()


class TestConstants:
    """A family with a constant, which is a static field."""

    X, y = np.array([[1.0, 4.0], [2.0, 2.0], [7.0, 3.0]]), ("a", "b", "b")

    @staticmethod
    def fit(shift: Any) -> Any:
        return nb.fit(nb.NaiveBayes(Shifted(shift=shift)), TestConstants.X, TestConstants.y)

    def test_a_repr_shows_them(self) -> None:
        families = {"u": Shifted(shift=2.0), "v": Shifted(), "w": Shifted(shift=0.5), "x": Shifted(shift=2.0)}
        assert repr(nb.NaiveBayes(families)).splitlines()[3:] == [
            "  u, x ~ Shifted(shift=2.0)",
            "      prior: concentration=1, rate=1",
            "  v ~ Shifted(shift=0.0)",
            "      prior: concentration=1, rate=1",
            "  w ~ Shifted(shift=0.5)",
            "      prior: concentration=1, rate=1",
        ]
        assert Shifted(shift=(1.0, 2.0), note="no").story()[0] == "Shifted(shift=(1.0, 2.0), note='no')"
        assert Symbols().story()[0] == "Symbols"
        assert Symbols(categories=["x", "y"], other=True).story()[0] == "Symbols(categories=('x', 'y'), other=True)"

    def test_classes_of_one_name_do_not_share_a_line(self) -> None:
        outside = dataclasses.make_dataclass("Poisson", [], bases=(nb.Poisson,), frozen=True)
        jax.tree_util.register_dataclass(outside)
        shown = repr(nb.NaiveBayes({"u": nb.Poisson(), "v": outside()}))
        assert "  u ~ Poisson(rate)" in shown
        assert "  v ~ Poisson(rate)" in shown

    @pytest.mark.parametrize("shift", [np.float32(0.5), np.int64(1), 0.25, (0.5, 0.25)], ids=repr)
    def test_saved(self, shift: Any, tmp_path: Any) -> None:
        posterior = self.fit(shift)
        loaded = reloaded(posterior, tmp_path)
        assert loaded.model.families[0].shift == shift
        np.testing.assert_array_equal(loaded.log_joint(self.X), posterior.log_joint(self.X))


# What a family must state, and how: each error names the family, the formula and the way out.

WAITS, OF_WAITS = np.array([[0.3], [2.0], [0.7], [4.0], [1.1]]), np.array(["a", "b", "a", "b", "b"])
FEW = nb.NUTS(num_warmup=5, num_samples=4, num_chains=1, progress=False)


def variant(name: str, base: Any = Exponential, **formulas: Any) -> Any:
    """A family of which some formulas are others, decorated as a user decorates it."""
    kind = dataclasses.make_dataclass(name, [], bases=(base,), namespace=formulas, frozen=True)
    return jax.tree_util.register_dataclass(kind)


def fitted(family: Any, inference: Any = None) -> Any:
    return nb.fit(family, WAITS, OF_WAITS, inference)


def named(prior: Any) -> Any:
    """A family whose prior is what a function of the sampler and of a distribution gives."""
    return variant("Named", prior=lambda self, sample: prior(sample, dist.Gamma(self.concentration, self.rate)))()


def flat(shape: Any) -> Any:
    """A family of two parameters; the prior of one has a shape and no hyperparameters."""

    def prior(self: Any, sample: Any) -> Any:
        speed = sample("speed", dist.Uniform(0.0, 3.0).expand(shape(self)))
        return {"shape": sample("shape", dist.Gamma(2.0, 1 / self.scale)), "speed": speed}

    return variant("Flat", Durations, prior=prior)()


def bent(update: Any) -> Any:
    """A family with a constant, whose update gives what a function of its hyperparameters gives."""
    formula = lambda self, counted: update(type(self), self.concentration + counted.n, self.rate + counted.total)  # noqa: E731
    return variant("Bent", Shifted, update=formula)(2.0, 2.0, shift=0.5)


def undecorated(decorate: Any) -> Any:
    members = {
        "tree_flatten": lambda self: ((self.concentration, self.rate), None),
        "tree_unflatten": classmethod(lambda cls, _, leaves: cls(*leaves)),
    }
    return decorate(type("Waits", (Exponential,), members))()


def estimated(value: float) -> Any:
    def estimate(self: Any, statistics: Any) -> Any:
        return {"rate": np.array([[1.0], [value]])}

    return variant("Estimated", maximum_likelihood=estimate, maximum_a_posteriori=estimate)(2.0, 3.0)


WAYS: dict[str, Any] = {
    "NUTS": lambda family: fitted(family, FEW),
    "draws": lambda family: nb.NaiveBayes(family).bind(WAITS, OF_WAITS).simulate(3),
    "program": lambda family: trace_of_program(nb.NaiveBayes(family), WAITS, OF_WAITS),
}
"""Where the prior is asked for draws."""

PRIORS = {
    r"prior of Named returns an object of the class.*\['rate'\]": named(lambda sample, gamma: sample("rate", gamma)),
    r"prior of Named draws 'speed'.*\['rate'\]": named(lambda sample, gamma: {"rate": sample("speed", gamma)}),
    r"prior of Named returns \['speed'\].*\['rate'\]": named(lambda sample, gamma: {"speed": sample("rate", gamma)}),
    **{
        rf"prior of Flat draws 'speed' from \w+ of shape {re.escape(str(shape))}.*\.expand\(jnp\.shape": flat(
            lambda _, shape=shape: shape
        )
        for shape in ((), (2,))
    },
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("words", PRIORS)
def test_a_prior_draws_each_parameter_by_its_name(words: str, way: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        WAYS[way](PRIORS[words])


def test_a_prior_of_the_shape_of_a_field_is_right() -> None:
    model = nb.NaiveBayes(flat(lambda family: jnp.shape(family.scale))).bind(np.repeat(WAITS, 2, axis=1), OF_WAITS)
    _, _, drawn = model.simulate(3, return_parameters=True)
    assert drawn["x_speed"].shape == (2, 2)
    assert len(np.unique(drawn["x_speed"])) == 4


ASKED = r"Waits is .*@jax\.tree_util\.register_dataclass and, below it, @dataclass"
LOSES = r"update of Bent gives shift=0\.0, and the family has shift=0\.5: return dataclasses\.replace\(self"
NO_TUPLE = r"natural of Bare does not give a tuple.*return \(parameter,\), log_partition"
MAKE = PAIRS["symbols"].X[["make"]]

REFUSED: list[tuple[str, Any]] = [
    (ASKED, lambda: nb.NaiveBayes(undecorated(lambda kind: kind))),
    (ASKED, lambda: nb.NaiveBayes(undecorated(dataclass(frozen=True)))),
    (ASKED, lambda: nb.NaiveBayes(undecorated(jax.tree_util.register_pytree_node_class))),
    (
        r"Waits\.statistics gives a Sums.*@jax\.tree_util\.register_dataclass above the class Sums",
        lambda: fitted(waits(Sums)()),
    ),
    (r"register_dataclass above the class Sums", lambda: fitted(waits(Sums)(), FEW)),
    (
        r"Kept has the shape \(2, 1, 5\) and, after a subtraction, \(2, 1, 3\): give arrays",
        lambda: fitted(waits(Kept)(2.0, 3.0)).forget(WAITS[:2], OF_WAITS[:2]),
    ),
    (r"terms of Bare gives one array: give a tuple", lambda: fitted(variant("Bare", terms=lambda self, x: x)())),
    (NO_TUPLE, lambda: fitted(flawed()).plugin().predict([[1.0]])),
    (NO_TUPLE, lambda: fitted(flawed(), FEW)),
    (r"define power_scaled\(statistics, power\) in the class", lambda: nb.sensitivity(fitted(Exponential(2.0, 3.0)))),
    (
        r"Exponential, which gives no mode: use nb\.Exact\(\) for the closed form, nb\.NUTS\(\).*; or define maximum_a",
        lambda: fitted(Exponential(2.0, 3.0), nb.MAP()),
    ),
    (
        r"power_scaled of Scaled gives an object of Exponential.*\['concentration', 'rate'\]",
        lambda: nb.sensitivity(fitted(scaled(Exponential(3.0, 4.0)))),
    ),
    (
        r"power_scaled of Scaled gives a mapping with \['shape'\].*\['concentration', 'rate'\]",
        lambda: nb.sensitivity(fitted(scaled({"shape": 3.0}))),
    ),
    *(
        (
            r"column 0 in class 'b': the .* estimate of 'rate' does not exist.*use nb\.Exact\(\)",
            lambda value=value, inference=inference: fitted(estimated(value), inference),
        )
        for value in (np.inf, np.nan)
        for inference in (nb.MLE(), nb.MAP())
    ),
    *(
        (words, lambda update=update, wrap=wrap, inference=inference: fitted(wrap(bent(update)), inference))
        for words, update in (
            (LOSES, lambda kind, a, b: kind(a, b)),
            ("update of Bent gives an object of the class Shifted: return data", lambda kind, a, b: Shifted(a, b, 0.5)),
        )
        for wrap in (lambda family: family, nb.Hurdle)
        for inference in (nb.Exact(), nb.Gibbs(num_warmup=1, num_samples=2))
    ),
    (
        r"Shifted\(shift=Gamma\(\.\.\.\)\): shift is a constant.*not learned.*a field that is not static",
        lambda: nb.NaiveBayes(Shifted(shift=dist.Gamma(1.0, 1.0))),
    ),
    (
        r"Shifted\(shift=array.*shift is a constant.*a tuple of them.*np\.asarray\(self\.shift\)",
        lambda: nb.NaiveBayes({"u": Shifted(shift=np.array([0.5, 0.25]))}),
    ),
    (r"Shifted\(shift=\[0\.5.*a tuple of them", lambda: nb.NaiveBayes(Shifted(shift=[0.5, 0.25]))),
    (r"Shifted\(shift=\(\[0\.5.*a tuple of them", lambda: nb.NaiveBayes(Shifted(shift=([0.5], [0.25])))),
    (r"Symbols\(categories=\.\.\.\) lists 'x' twice", lambda: nb.fit(Symbols(categories=["x", "x"]), MAKE, LABELS)),
    (
        r"Symbols\(categories=\.\.\.\) names the column 'kind'",
        lambda: nb.fit(Symbols(categories={"kind": ["x"]}), MAKE, LABELS),
    ),
    (
        r"Symbols\(concentration=\.\.\.\) has shape.*'make' has 3 categories",
        lambda: nb.fit(Symbols([1.0, 2.0]), MAKE, LABELS),
    ),
]


def flawed() -> Any:
    natural = lambda self, parameters: (-parameters["rate"], -jnp.log(parameters["rate"]))  # noqa: E731
    return variant("Bare", natural=natural)()


def scaled(result: Any) -> Any:
    return variant("Scaled", power_scaled=lambda self, statistics, power: result)(2.0, 3.0)


@pytest.mark.parametrize(("words", "call"), REFUSED)
def test_what_a_family_states_wrongly_is_told(words: str, call: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call()


@pytest.mark.parametrize("note", [np.sin, frozenset([b"a"])], ids=["function", "bytes"])
def test_what_no_file_holds_is_an_error_of_save(note: Any, tmp_path: Any) -> None:
    with pytest.raises(TypeError, match=r"Shifted.note is .*which a file cannot hold: give text, numbers"):
        fitted(Shifted(note=note)).save(tmp_path / "posterior.nc")
    assert not [*tmp_path.iterdir()]


SAYS = {
    "log_evidence": "log_evidence is known in closed form for conjugate families only, not for [{name!r}]",
    "feature_evidence": "column 0 is {name}, which has no closed-form evidence",
    "sensitivity": "sensitivity needs the closed form of one model, and these are draws",
    "loo_scores": "loo_scores needs a closed form, and these are draws",
    "kfold": "kfold of a posterior needs a closed form, and these are draws",
    "unlabelled Gibbs": "closed-form posterior given the labels: use nb.NUTS() for draws",
    "MAP": "column 0 is {name}, which gives no mode: use nb.NUTS() for draws; or define maximum_a_posteriori(",
    "MLE": "column 0 is {name}, which gives no maximum_likelihood: use nb.NUTS() for draws; or define maximum_",
}
"""Verbs that need a closed form, or a point estimate."""

GOES = (
    *("proba_draws", "uncertainty", "summary", "posterior simulate", "prior simulate", "program", "datatree"),
    *("calibration", "check", "plot_log_odds"),
)


class TestNoClosedForm:
    """A family without a closed form: one run of NUTS, and what does not go says so."""

    @pytest.fixture(scope="class", params=cases_fast(OPEN, ()))
    @classmethod
    def case(cls, request: pytest.FixtureRequest) -> Any:
        return request.param

    @pytest.fixture(scope="class")
    @classmethod
    def rows(cls, case: Case) -> np.ndarray:
        rows = case.draw(np.random.default_rng(5), LABELS == "a", 2)
        rows[3, 0] = np.nan
        return rows

    @pytest.fixture(scope="class")
    @classmethod
    def posterior(cls, case: Case, rows: np.ndarray) -> Any:
        inference = nb.NUTS(num_warmup=200, num_samples=150, num_chains=2, progress=False)
        with warnings.catch_warnings(action="ignore", category=nb.ConvergenceWarning):
            # What follows is about these draws, however few they are.
            return nb.fit(case.priors[-1], rows, LABELS, inference, key=2)

    @pytest.mark.parametrize("verb", GOES)
    def test_what_goes(self, posterior: Any, rows: np.ndarray, verb: str) -> None:
        for number in numbers_of(VERBS[verb](posterior, rows)):
            if np.asarray(number).dtype.kind == "f":
                assert np.isfinite(np.asarray(number)[~np.isnan(np.asarray(number))]).all()

    @pytest.mark.parametrize("verb", SAYS)
    def test_what_does_not_go_says_so(self, case: Case, posterior: Any, rows: np.ndarray, verb: str) -> None:
        if verb in ("MAP", "MLE") and case.can.likeliest:
            assert all(np.isfinite(value).all() for value in VERBS[verb](posterior, rows).values())
            return
        told = SAYS[verb].format(name=case.default.family_name)
        with pytest.raises((TypeError, ValueError), match=re.escape(told)):
            VERBS[verb](posterior, rows)

    def test_exact_says_so(self, case: Case, rows: np.ndarray) -> None:
        name = case.default.family_name
        advice = r"nb\.NUTS\(\) for draws" + (r", nb\.MAP\(\) for a point estimate" if case.can.likeliest else "")
        with pytest.raises(ValueError, match=f"{name}.*{advice}$"):
            nb.fit(case.default, rows, LABELS)
        with pytest.raises(ValueError, match=name):
            nb.fit(nb.NaiveBayes(case.default, feature_inclusion=0.5), rows, LABELS)


class TestAdvice:
    """Errors advise the closed form to a model whose families all have one, and to no other."""

    X = pd.DataFrame({"wait": [0.5, 2.0, 1.0, 3.0], "rest": [1.0, 0.2, 0.7, 5.0]})
    y = ("a", "b", "a", "b")

    MODELS: ClassVar[dict[str, Any]] = {
        "conjugate": nb.NaiveBayes(Exponential(2.0, 3.0)),
        "not conjugate": nb.NaiveBayes(Durations()),
        "both": nb.NaiveBayes({"wait": Exponential(2.0, 3.0), "rest": Durations()}),
        "learned": nb.NaiveBayes(Exponential(dist.Gamma(2.0, 1.0), 3.0)),
    }

    @classmethod
    def sampled(cls, model: Any, draws: int = 60, one: bool = False) -> Any:
        rng = np.random.default_rng(0)
        shapes = {
            name: tuple(len(labels) for _, labels in axes)
            for name, axes in model.bind(cls.X, cls.y).sites.axes().items()
        }
        samples = {name: rng.uniform(0.5, 2.0, (2, draws, *shape)) for name, shape in shapes.items()}
        samples["class_prob"] /= samples["class_prob"].sum(axis=-1, keepdims=True)
        if one:
            samples = {name: np.ones_like(value) * value[:1, :1] for name, value in samples.items()}
        return nb.from_samples(model, samples, X=cls.X, y=cls.y)

    ERRORS: ClassVar[dict[str, Any]] = {
        "loo_scores": lambda t, model: nb.loo_scores(t.sampled(model), t.X, t.y),
        "kfold": lambda t, model: nb.kfold(t.sampled(model), t.X, t.y),
        "sensitivity": lambda t, model: nb.sensitivity(t.sampled(model)),
        "few draws": lambda t, model: nb.loo(t.sampled(model, 2), t.X, t.y),
        "same draws": lambda t, model: nb.loo(t.sampled(model, one=True), t.X, t.y),
        "loo_scores of a point": lambda t, model: nb.loo_scores(t.sampled(model).plugin(), t.X, t.y),
        "sensitivity of a point": lambda t, model: nb.sensitivity(t.sampled(model).plugin()),
        "draws of a point": lambda t, model: t.sampled(model).plugin().draws(),
        "plot of a point": lambda t, model: nb.plot_prior_posterior(t.sampled(model).plugin()),
        "sbc of a point": lambda t, model: nb.sbc(model.bind(t.X, t.y), nb.MLE()),
        "MAP": lambda t, model: nb.fit(model, t.X, t.y, nb.MAP()),
    }

    @pytest.mark.parametrize("kind", MODELS)
    @pytest.mark.parametrize("what", ERRORS)
    def test_the_closed_form(self, what: str, kind: str) -> None:
        with pytest.raises((TypeError, ValueError)) as caught:
            self.ERRORS[what](self, self.MODELS[kind])
        advised = "nb.Exact()" in str(caught.value) or "nb.fit(model, X, y)" in str(caught.value)
        assert advised == (kind == "conjugate")

    def test_empirical_bayes(self) -> None:
        with pytest.raises(ValueError, match=r"or use nb\.Exact\(\) or nb\.NUTS\(\)$"):
            nb.fit(self.MODELS["conjugate"], self.X, self.y, nb.EmpiricalBayes())
        with pytest.raises(ValueError, match=r"or use nb\.NUTS\(\)$"):
            nb.fit(self.MODELS["both"], self.X, self.y, nb.EmpiricalBayes())

    @pytest.mark.parametrize("kind", names_fast(MODELS, {"not conjugate"}))
    def test_of_the_sampler(self, kind: str) -> None:
        # The shapes and the warm-up of `TestNoClosedForm`: they share a compiled sampler.
        inference = nb.NUTS(num_warmup=200, num_samples=5, num_chains=2, progress=False)
        with pytest.warns(nb.ConvergenceWarning) as caught:
            nb.fit(self.MODELS[kind], self.X, self.y, inference)
        assert ("nb.Exact() needs no sampling" in str(caught[0].message)) == (kind == "conjugate")

    def test_learned_hyperparameters(self) -> None:
        both = {"wait": Exponential(dist.Gamma(2.0, 1.0), 3.0), "rest": Durations()}
        for features, advised in ((both["wait"], True), (both, False)):
            problem = read_table(nb.NaiveBayes(features), self.X, self.y, None)
            with pytest.raises(ValueError, match="is learned") as caught:
                problem.require_numbers()
            assert ("nb.EmpiricalBayes()" in str(caught.value)) == advised
