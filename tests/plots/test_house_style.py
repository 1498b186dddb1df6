"""What all figures share: the caller's axes, size, style, classes and features.

A new plot needs an entry in `PLOTS`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import arviz_plots  # noqa: F401  # registers its styles
import matplotlib as mpl
import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from drawn import collisions, faint
from figures import forest, mails, merges, models, penguins, selection, uniformity
from matplotlib.figure import Figure

import bayesnb as nb


@dataclass(frozen=True)
class Plot:
    """A call with the keyword arguments of the house style, and what it draws by default.

    Attributes
    ----------
    call : callable
    panels : int
        Number of panels; a plot of one panel takes ``ax``, the others take ``axes``.
    classes, features : bool
        Whether the plot takes them.
    """

    call: Callable[..., Any]
    panels: int = 1
    classes: bool = False
    features: bool = False

    @property
    def argument(self) -> str:
        return "ax" if self.panels == 1 else "axes"


@cache
def many_classes() -> tuple[Any, Any, Any]:
    """Twelve classes with long names, a number and a column of 0 and 1."""
    rng = np.random.default_rng(0)
    at = rng.integers(0, 12, 120)
    X = pd.DataFrame({"height of the tree in metres": rng.normal(at / 2, 0.5), "old": rng.integers(0, 2, 120)})
    y = np.array([f"a class of number {i} with a long name" for i in at])
    return nb.fit(nb.NaiveBayes.from_frame(X), X, y), X, y


@cache
def many_values() -> tuple[Any, Any, Any]:
    """A column of many categories, a number with six digits, and one with zeros and a long name."""
    rng = np.random.default_rng(0)
    y = np.repeat(["stays", "leaves"], 60)
    X = pd.DataFrame(
        {
            "district": [f"district {i}" for i in np.arange(120) * 7 % 25],
            "income": np.exp(rng.normal(10 + (y == "stays"), 1)),
            "refunds in the last year": np.where(rng.random(120) < 0.5, 0, rng.gamma(2, 10, 120)),
        }
    )
    return nb.fit(nb.NaiveBayes.from_frame(X, y), X, y), X, y


@cache
def told() -> Any:
    return nb.telling_features(penguins()[0], 4, num_draws=5)


@cache
def crowd() -> Any:
    """Labels of three classes from three annotators, some with long names."""
    names = ["Ann, who has a long name", "Bob", "Cem"]
    seen = ["ash", "birch", "a class with a long name"]
    rows = [(f"photograph_{i}.jpeg", who, seen[(i + i * j // 3) % 3]) for i in range(5) for j, who in enumerate(names)]
    table = pd.DataFrame(rows, columns=["photo", "person", "seen"])
    return nb.fit_annotations(table, item="photo", annotator="person", label="seen")


def few_rows(posterior: Any, X: Any, y: Any, **options: Any) -> Any:
    return nb.plot_proba(posterior, X, y, max_rows=5, num_draws=20, **options)


@cache
def result(name: str) -> Any:
    """What a function returns for the penguins."""
    posterior, X, y = penguins()
    bill = X[["bill_length_mm"]]
    few = nb.fit(nb.NaiveBayes(nb.Gaussian()), bill, y)
    computed: dict[str, Callable[[], Any]] = {
        "weights": lambda: nb.weight_features(posterior, X, y),
        "information": lambda: nb.mutual_information(posterior, num_draws=5),
        "evidence": lambda: nb.feature_evidence(posterior),
        "sensitivity": lambda: nb.sensitivity(few),
        "calibration": lambda: nb.calibration(posterior, X, y, other=few),
        "check": lambda: nb.check(few, bill, y, num_replicates=20, statistics="mean"),
        "comparison": lambda: nb.compare(
            few, nb.from_samples(few.model, few.draws(num_draws=100, num_chains=2, key=1), X=bill, y=y)
        ),
        "families": lambda: nb.choose_families(bill, y),
        "class probabilities": lambda: nb.estimate_class_probs(few, bill[:9]),
        "drift": lambda: nb.drift(many_values()[0], many_values()[1][::2]),
    }
    return computed[name]()


PLOTS: dict[str, Plot] = {
    "weights": Plot(lambda **options: result("weights").weights.plot(**options), features=True),
    "mutual information": Plot(lambda **options: result("information").plot(**options), features=True),
    "feature evidence": Plot(lambda **options: result("evidence").plot(**options), panels=2, features=True),
    "sensitivity": Plot(lambda **options: result("sensitivity").plot(**options)),
    "log odds": Plot(
        lambda **options: nb.plot_log_odds(
            *penguins(), classes=("Gentoo", "Adelie"), max_rows=5, num_draws=20, **options
        )
    ),
    "reliability": Plot(lambda **options: result("calibration").plot(**options), panels=2),
    "check": Plot(lambda **options: result("check").plot(**options), panels=3),
    "comparison": Plot(lambda **options: result("comparison").plot(max_panels=2, **options), panels=2),
    "models": Plot(lambda **options: models([0.9, 0.1]).plot(**options), panels=2),
    "sbc": Plot(lambda **options: uniformity(2).plot(**options), panels=2),
    "class probabilities": Plot(lambda **options: result("class probabilities").plot(**options)),
    "families": Plot(lambda **options: result("families").plot(**options), panels=2, classes=True, features=True),
    "merges": Plot(lambda **options: merges().plot(**options)),
    "forest": Plot(lambda **options: forest().plot(**options)),
    "selection": Plot(lambda **options: selection().plot(**options)),
    "proba": Plot(lambda **options: few_rows(*penguins(), **options), classes=True),
    "proba of many classes": Plot(lambda **options: few_rows(*many_classes(), **options), classes=True),
    "evidence": Plot(lambda **options: nb.plot_evidence(mails()[0], mails()[1].head(1), num_draws=5, **options)),
    "effects": Plot(
        lambda **options: nb.plot_effects(penguins()[0], penguins()[1], max_panels=3, num_draws=5, **options), panels=3
    ),
    "effects of many values": Plot(
        lambda **options: nb.plot_effects(*many_values()[:2], num_draws=5, **options), panels=3
    ),
    "effect": Plot(lambda **options: nb.plot_effect(penguins()[0], "bill_depth_mm", num_draws=5, **options)),
    "effect of categories": Plot(lambda **options: nb.plot_effect(penguins()[0], "island", num_draws=5, **options)),
    "telling features": Plot(lambda **options: told().plot(**options), panels=3, classes=True),
    "prior and posterior": Plot(
        lambda **options: nb.plot_prior_posterior(
            penguins()[0], sites=["island_prob", "flipper_length_mm_variance"], **options
        ),
        panels=4,
        classes=True,
    ),
    "spikes": Plot(lambda **options: nb.plot_spikes(mails()[0], **options), panels=2, classes=True),
    "annotators": Plot(lambda **options: crowd().plot_annotators(**options)),
    "confusion": Plot(lambda **options: crowd().plot_confusion(**options), panels=3, classes=True),
    "items": Plot(lambda **options: crowd().plot_items(**options), classes=True),
    "densities": Plot(
        lambda **options: nb.plot_densities(*penguins(), **options), panels=6, classes=True, features=True
    ),
    "densities of many values": Plot(
        lambda **options: nb.plot_densities(*many_values(), **options), panels=3, classes=True, features=True
    ),
    "drift": Plot(lambda **options: result("drift").plot(**options), panels=3),
    "densities without data": Plot(
        lambda **options: nb.plot_densities(many_classes()[0], **options), panels=2, classes=True, features=True
    ),
}

every_plot = pytest.mark.parametrize("name", PLOTS)


@every_plot
def test_axes_of_the_caller_are_drawn_in_and_nothing_beside_them(name: str) -> None:
    plot = PLOTS[name]
    figure = Figure(figsize=(8, 3 * plot.panels))
    axes = figure.subplots(plot.panels + 1, 1)
    given = axes[0] if plot.argument == "ax" else axes[: plot.panels]
    assert plot.call(**{plot.argument: given}) is figure
    assert figure.axes == list(axes)
    assert all(axis.has_data() for axis in axes[:-1])
    assert not axes[-1].has_data()
    assert not figure.texts
    assert not figure.legends
    assert figure.get_size_inches().tolist() == [8, 3 * plot.panels]


@every_plot
def test_axes_that_do_not_fit_are_refused(name: str) -> None:
    plot = PLOTS[name]
    axes = Figure().subplots(1, plot.panels + 1)
    if plot.argument == "axes":
        number = f"axes has {plot.panels + 1} axes, and the figure has {plot.panels} panels: give {plot.panels}"
        with pytest.raises(ValueError, match=number):
            plot.call(axes=axes)
    else:
        with pytest.raises(TypeError, match="ax is or holds an ndarray: give one of matplotlib's Axes"):
            plot.call(ax=axes)
    with pytest.raises(TypeError, match=f"{plot.argument} is or holds a str: give "):
        plot.call(**{plot.argument: "left"})
    given = axes[0] if plot.argument == "ax" else axes[: plot.panels]
    with pytest.raises(ValueError, match=f"figsize is for a new figure, and {plot.argument} for the caller's"):
        plot.call(**{plot.argument: given}, figsize=(3, 3))


@every_plot
def test_sizes_that_are_no_sizes_are_refused(name: str) -> None:
    for size in (3.35, (3.35,), (0, 3), (math.inf, 3), (3, 0), (3, -1), ("a", "b")):
        with pytest.raises(ValueError, match=r"figsize is .*: give width and height in inches"):
            PLOTS[name].call(figsize=size)


@pytest.mark.slow
@every_plot
def test_no_text_is_clipped_and_nothing_vanishes_in_a_narrow_column_of_a_dark_page(name: str) -> None:
    with mpl.style.context("dark_background"):
        figure = PLOTS[name].call(figsize=(3.35, None))
        assert figure.get_figwidth() == 3.35
        assert collisions(figure) == []
        assert faint(figure) == []


@pytest.mark.slow
@every_plot
def test_no_text_is_clipped_in_another_style(name: str) -> None:
    with mpl.style.context("arviz-variat"):
        assert collisions(PLOTS[name].call()) == []


@pytest.mark.slow
@every_plot
def test_a_wide_figure_has_its_size(name: str) -> None:
    figure = PLOTS[name].call(figsize=(10, 6))
    assert figure.get_size_inches().tolist() == [10, 6]


@pytest.mark.slow
@every_plot
def test_letters_follow_the_size_of_the_style(name: str) -> None:
    sizes = []
    for points in (10, 15):
        with mpl.rc_context({"font.size": points}):
            figure = PLOTS[name].call()
            texts = [axis.title for axis in figure.axes] + [t for axis in figure.axes for t in axis.get_xticklabels()]
            texts += [text for found in figure.legends for text in found.get_texts()] + figure.texts
            sizes.append([text.get_fontsize() for text in texts][:4])
    np.testing.assert_allclose(sizes[1], 1.5 * np.array(sizes[0]))


@pytest.mark.parametrize("name", [name for name, plot in PLOTS.items() if plot.classes])
def test_an_unknown_class_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"classes is \['nobody'\]: name one or more of \["):
        PLOTS[name].call(classes=["nobody"])


@pytest.mark.parametrize("name", [name for name, plot in PLOTS.items() if plot.features])
def test_an_unknown_feature_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"features is \['nothing'\]: name one or more of \["):
        PLOTS[name].call(features=["nothing"])
