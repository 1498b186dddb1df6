"""Closed forms without JAX, and what is the same before and after JAX is imported."""

import os
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest

import bayesnb as nb
from bayesnb.core.deferred import constraints, dist, leaves, map_tree, structure
from bayesnb.core.running import as_key, random_generator
from bayesnb.families.hyperparameters import KNOWN, NONNEGATIVE_INTEGER, support_of
from bayesnb.families.statistics import Counts
from bayesnb.families.two_parameters import Beta, VonMises


def run(code, *arguments):
    """Run code in a fresh process."""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments]
    subprocess.run(command, check=True, env=environment)


def test_closed_forms_import_neither_jax_nor_numpyro(tmp_path):
    """A user's own functions of trees know the classes nevertheless."""
    code = """
        import sys
        import numpy as np
        import bayesnb as nb
        from bayesnb.estimators import GaussianNB

        X, y = np.random.default_rng(0).normal(size=(60, 3)).round(2), np.arange(60) % 2
        family = nb.Gaussian(rate=2.0)
        posterior = nb.fit(family, X, y)
        for kind, fitted in enumerate([posterior, GaussianNB().fit(X, y), nb.NaiveBayesClassifier().fit(X, y)]):
            path = f"{sys.argv[1]}/{kind}.nc"
            fitted.save(path)
            again = nb.load(path)
            assert (again.predict_proba(X) == fitted.predict_proba(X)).all()
            assert (again.predict(X) == fitted.predict(X)).all()
        assert np.isfinite(posterior.predict_log_proba(X)).all() and np.isfinite(posterior.log_joint(X)).all()
        heavy = {"jax", "jaxlib", "numpyro", "matplotlib", "arviz", "arviz_base", "arviz_stats", "xarray"}
        assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()

        import jax

        assert jax.tree.map(lambda leaf: 2 * leaf, family).rate == 4.0
        assert len(jax.tree.leaves(posterior.problem.statistics)) == 4
        assert jax.jit(lambda given: given.rate)(family) == 2.0
    """
    run(code, str(tmp_path))


def test_a_load_imports_the_modules_that_the_file_names(tmp_path):
    """One family for each module with a closed form; a posterior's file needs no scikit-learn either."""
    counts = np.random.default_rng(0).poisson(3.0, (40, 9))
    kinds = nb.Categorical(), nb.PolyaTree(range(0, 16, 2)), nb.Poisson(), nb.Gaussian(rate=2.0), nb.Geometric()
    model = nb.NaiveBayes(
        {f"f{i}": (family, [i]) for i, family in enumerate(kinds)}
        | {"given": (nb.Given(), [5, 6]), "pair": (nb.JointCategorical(), [7, 8])}
    )
    nb.fit(model, counts, np.arange(40) % 2).save(tmp_path / "posterior.nc")
    code = """
        import sys
        import bayesnb as nb

        nb.load(sys.argv[1])
        others = {"jax", "numpyro", "scipy.stats", "sklearn", "tqdm", "xarray", "h5netcdf", "lazy_loader"}
        others |= {f"bayesnb.{name}" for name in ("crowd", "inference.nuts", "families.all_trees")}
        assert not others & sys.modules.keys(), others & sys.modules.keys()
    """
    run(code, str(tmp_path / "posterior.nc"))


def test_classes_are_trees_where_another_finder_finds_jax():
    code = """
        import sys
        from importlib.machinery import PathFinder

        import bayesnb as nb
        from bayesnb.core.deferred import jax

        family = nb.Gaussian(rate=2.0)
        sys.meta_path.insert(0, PathFinder)
        assert jax.tree.map(lambda leaf: 2 * leaf, family).rate == 4.0
    """
    run(code)


@pytest.mark.slow
def test_jax_is_imported_by_threads_each_with_its_precision():
    code = """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier

        from bayesnb.core.deferred import constraints, dist, float64, jnp, settings_of_thread

        start = Barrier(4)

        def dtypes(block):
            with block():
                start.wait()
                with float64():
                    inner = jnp.ones(2).dtype.name
                return inner, dist.Normal(jnp.zeros(2), 1.0).log_prob(0.0).dtype.name

        usual = settings_of_thread()
        with float64():
            precise = settings_of_thread()
        assert "jax" not in sys.modules
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(dtypes, [usual, precise, float64, usual]))
        assert [inner for inner, _ in found] == ["float64"] * 4
        assert [outer for _, outer in found] == ["float32", "float64", "float64", "float32"]
        assert jnp.ones(2).dtype == "float32"
    """
    run(code)


@pytest.mark.parametrize(
    "tree",
    [
        None,
        3.0,
        {"b": [np.zeros(2), None], "a": (1.0, {"c": 2.0})},
        nb.Gaussian(rate=2.0),
        nb.Hurdle(nb.Gaussian()),
        nb.NegativeBinomial(total_count=2.0),
        nb.Gaussian(rate=dist.Gamma(2.0, 3.0)),
        [Counts(np.ones(2), np.ones((2, 3)), np.zeros(2)), nb.Poisson()],
    ],
    ids=lambda tree: type(tree).__name__,
)
def test_functions_of_trees_are_those_of_jax(tree):
    for one, other in zip(leaves(tree), jax.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(one, other)
    changed = map_tree(lambda leaf: np.asarray(leaf) + 1, tree)
    assert jax.tree.structure(changed) == jax.tree.structure(tree)
    assert structure(changed) == structure(tree)
    hash(structure(tree))
    assert (structure(tree) is None) == jax.tree_util.all_leaves([tree])


def test_trees_of_different_structures():
    assert structure(nb.NegativeBinomial(2.0)) != structure(nb.NegativeBinomial(3.0))
    with pytest.raises(ValueError, match="different structures"):
        map_tree(np.add, {"a": 1.0}, {"b": 1.0})


PAIRS = [(each, each.constraint) for each in (*KNOWN, vars(Beta)["support"], vars(VonMises)["support"])]
PAIRS += [(support_of(each), each.support) for each in (nb.Binomial(2), nb.Hurdle(nb.LogNormal()))]


@pytest.mark.parametrize(("support", "constraint"), PAIRS, ids=lambda each: type(each).__name__)
def test_supports_are_numpyros_constraints(support, constraint):
    numbers = np.array([-np.inf, -4.0, -1.5, -0.0, 0.0, 0.25, 1.0, 2.0, 2.5, 1e300, np.inf, np.nan])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(support(numbers), constraint(numbers))
    assert support.some == constraint.feasible_like(np.ones(()))
    assert support.is_discrete == constraint.is_discrete


def test_a_family_that_states_another_support_than_its_parent_has_this_one():
    class Wider(nb.Binomial):
        support = constraints.nonnegative_integer

    assert support_of(Wider(2)) is NONNEGATIVE_INTEGER


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, -1])
def test_a_generator_has_the_data_of_jaxs_key(seed):
    expected = np.random.default_rng(np.asarray(jax.random.key_data(as_key(seed))).tolist())
    assert random_generator(seed).integers(2**60) == expected.integers(2**60)
