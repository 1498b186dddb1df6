"""Draw the picture at the head of the README and of the site: three panels, for light and dark pages, wide and narrow.

Run it with the package and its plots installed: ``python docs/images/hero.py``. It writes hero-light.svg, hero-dark.svg
and, for phones, hero-light-narrow.svg and hero-dark-narrow.svg.
"""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

import bayesnb as nb

HERE = Path(__file__).parent
COLUMN, LABEL = "bill_length_mm", "bill length (mm)"
PAIR, ROWS_EACH, INTERVAL = ["Adelie", "Chinstrap"], 4, 0.9
THEMES = {
    "light": {
        "text": "#24292f",
        "quiet": "#57606a",
        "species": {"Adelie": "#d9480f", "Chinstrap": "#7a3fb5", "Gentoo": "#0b7285"},
    },
    "dark": {
        "text": "#e6edf3",
        "quiet": "#9ea7b3",
        "species": {"Adelie": "#ff922b", "Chinstrap": "#c69cf4", "Gentoo": "#3bc9db"},
    },
}
SHAPES = {"": ((10.4, 3.5), (1, 3)), "-narrow": ((3.9, 8.6), (3, 1))}


def few_rows() -> tuple[Any, Any]:
    """Random rows of each species of the pair."""
    X, y = nb.datasets.penguins()
    rng = np.random.default_rng(0)
    chosen = [rng.choice(np.flatnonzero(y == species), ROWS_EACH, replace=False) for species in PAIR]
    rows = np.concatenate(chosen)
    return X[[COLUMN]].iloc[rows], y.iloc[rows]


def draw_densities(axis: Any, X: Any, y: Any, colors: dict) -> None:
    """Predictive density of the column in each class over the histogram of its rows."""
    posterior = nb.fit(nb.NaiveBayes({COLUMN: nb.Gaussian()}), X, y)
    grid = np.linspace(31, 61, 400)
    # A row without any cell has the density one, times the probability of the class.
    joint = posterior.log_joint(pd.DataFrame({COLUMN: grid}))
    density = np.exp(joint - posterior.log_joint(pd.DataFrame({COLUMN: [np.nan]})))
    names = {"Adelie": (38.2, 0.162, "center"), "Gentoo": (46.5, 0.162, "center"), "Chinstrap": (51.7, 0.14, "left")}
    for number, species in enumerate(posterior.classes):
        color = colors[species]
        values = X[COLUMN][y == species].dropna()
        heights, edges = np.histogram(values, np.arange(31, 61.5, 1), density=True)
        axis.stairs(heights, edges, fill=True, color=color, alpha=0.28, linewidth=0)
        axis.plot(grid, density[:, number], color=color)
        x, height, align = names[species]
        axis.text(x, height, species, color=color, ha=align, weight="bold")
    axis.set(title="A density for each class", ylim=(0, 0.215), yticks=[], xlabel=LABEL)


def draw_probability(axis: Any, X: Any, y: Any, theme: dict) -> None:
    """Probability of a class with its interval, and scikit-learn's, after few rows."""
    grid = pd.DataFrame({COLUMN: np.linspace(31, 61, 400)})
    posterior = nb.fit(nb.NaiveBayes({COLUMN: nb.Gaussian()}), X, y)
    position = posterior.classes.tolist().index(PAIR[1])
    low, high = posterior.proba_interval(grid, prob=INTERVAL, key=0, num_draws=4000)[:, position].T
    color = theme["species"][PAIR[1]]
    axis.fill_between(grid[COLUMN], low, high, color=color, alpha=0.25, linewidth=0)
    axis.plot(grid[COLUMN], posterior.predict_proba(grid)[:, position], color=color)
    theirs = GaussianNB().fit(X, y).predict_proba(grid)[:, position]
    axis.plot(grid[COLUMN], theirs, color=theme["text"], linestyle=(0, (4, 2)), linewidth=1.4)
    for species in PAIR:
        values = X[COLUMN][y == species]
        at = np.full(len(values), float(species == PAIR[1]))
        axis.plot(values, at, "o", color=theme["species"][species], markersize=5, clip_on=False, zorder=3)
    axis.annotate(
        "scikit-learn",
        (45.1, 0.985),
        (61, 0.66),
        color=theme["text"],
        ha="right",
        va="center",
        arrowprops={"arrowstyle": "-", "color": theme["quiet"], "linewidth": 0.7},
    )
    axis.annotate(
        f"bayesnb and its\n{100 * INTERVAL:.0f} % interval",
        (44.9, 0.6),
        (61, 0.36),
        color=color,
        ha="right",
        va="center",
        weight="bold",
        arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7},
    )
    axis.set(title=f"p({PAIR[1]}) after {len(y)} rows", ylim=(-0.03, 1.03), yticks=[0, 0.5, 1], xlabel=LABEL)


def draw_samples(axis: Any, exact: Any, sampled: Any, theme: dict) -> None:
    """Exact marginal density of the mean in each class over the histogram of its NUTS draws."""
    site = f"{COLUMN}_mean"
    draws = sampled.draws()[site]
    grid, width = np.linspace(31, 61, 600), 0.5
    densities = np.exp(exact.marginals()[site].log_prob(grid[:, None]))
    for number, species in enumerate(exact.classes):
        color = theme["species"][species]
        values = draws[..., number].ravel()
        counts, edges = np.histogram(values, np.arange(31, 61 + width, width))
        axis.bar(edges[:-1], counts / values.size / width, 0.8 * width, align="edge", color=color, alpha=0.4)
        axis.plot(grid, densities[:, number], color=color)
        density = densities[:, number]
        name = {"color": color, "ha": "center", "weight": "bold"}
        axis.text(grid[density.argmax()], density.max() + 0.03 * densities.max(), species, **name)
    axis.text(61, 0.95 * densities.max(), "bars: NUTS draws\nlines: closed form", color=theme["text"], ha="right")
    axis.set(title="NUTS and closed form agree", ylim=(0, 1.2 * densities.max()), yticks=[], xlabel="mean " + LABEL)


def draw(theme: dict, size: tuple[float, float], panels: tuple[int, int], posteriors: tuple, path: Path) -> None:
    """Draw the three panels and write them."""
    X, y = nb.datasets.penguins()
    style = {
        "font.family": "DejaVu Sans",
        "font.size": 9.5,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": theme["quiet"],
        "axes.labelcolor": theme["text"],
        "axes.titlecolor": theme["text"],
        "xtick.color": theme["quiet"],
        "ytick.color": theme["quiet"],
        "lines.linewidth": 2.0,
        "svg.hashsalt": "bayesnb",
    }
    with plt.rc_context(style):
        figure, axes = plt.subplots(*panels, figsize=size, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
        draw_densities(axes[0], X[[COLUMN]], y, theme["species"])
        draw_probability(axes[1], *few_rows(), theme)
        draw_samples(axes[2], *posteriors, theme)
        for axis in axes:
            axis.set(xlim=(31, 61), xticks=[35, 40, 45, 50, 55, 60])
        for axis in (axes[0], axes[2]):
            axis.spines["left"].set_visible(False)
        figure.savefig(path, transparent=True, metadata={"Date": None})
        plt.close(figure)


def main() -> None:
    """Fit the few rows in both ways, and draw every theme in every shape."""
    model = nb.NaiveBayes({COLUMN: nb.Gaussian()})
    sampler = nb.NUTS(num_samples=2500, target_accept_prob=0.9)
    posteriors = nb.fit(model, *few_rows()), nb.fit(model, *few_rows(), sampler, key=0)
    for name, theme in THEMES.items():
        for suffix, (size, panels) in SHAPES.items():
            draw(theme, size, panels, posteriors, HERE / f"hero-{name}{suffix}.svg")


if __name__ == "__main__":
    main()
