"""Pictures for the cards of pages that no plot function pictures, a function for each."""

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from scipy import stats

import bayesnb as nb

BLUE, ORANGE, GREY = "#1f77b4", "#ff7f0e", "#b0b0b0"
SIZE = (4.0, 2.5)


def _axes(frame: bool = False):
    figure = Figure(SIZE, layout="constrained")
    axes = figure.subplots()
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(frame)
    return figure, axes


def missing() -> Figure:
    """Which cells of the penguins' table are missing."""
    X, _ = nb.datasets.penguins()
    figure, axes = _axes()
    cells = X.isna().iloc[:14].to_numpy()
    for row, column in np.ndindex(cells.shape):
        colour = "white" if cells[row, column] else BLUE
        axes.add_patch(Rectangle((column, -row), 0.9, 0.8, facecolor=colour, edgecolor=BLUE, alpha=0.7))
    axes.set(xlim=(-0.1, 6), ylim=(-13.2, 1))
    return figure


def unlabelled() -> Figure:
    """Two classes of points, of which few have a label."""
    rng = np.random.default_rng(1)
    centres = np.repeat([[0.0, 0.0], [3.0, 1.5]], 80, axis=0)
    points = centres + rng.normal(size=(160, 2))
    figure, axes = _axes()
    axes.scatter(*points.T, s=12, color=GREY)
    axes.scatter(*points[:4].T, s=40, color=BLUE, marker="o")
    axes.scatter(*points[-4:].T, s=40, color=ORANGE, marker="s")
    return figure


def chains() -> Figure:
    """Draws of one parameter, chain by chain."""
    X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], ["a", "a", "b", "b"]
    draws = nb.fit(nb.Bernoulli(), X, y).draws(num_draws=400)["x_prob"][0, :, 0, 0]
    figure = Figure(SIZE, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(2, 1), sharey=True)
    left.plot(draws, color=BLUE, linewidth=0.6)
    right.hist(draws, bins=20, orientation="horizontal", color=BLUE, alpha=0.5)
    for axes in (left, right):
        axes.set(xticks=[], yticks=[])
    return figure


def sampler() -> Figure:
    """A path of draws over the contours of a density."""
    figure, axes = _axes()
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 80), np.linspace(-2.5, 2.5, 80)), axis=-1)
    density = stats.multivariate_normal(cov=[[1.0, 0.6], [0.6, 1.0]])
    axes.contour(grid[..., 0], grid[..., 1], density.pdf(grid), levels=6, colors=GREY)
    axes.plot(*density.rvs(25, random_state=2).T, "o-", color=ORANGE, markersize=4, linewidth=0.8)
    return figure


def own_density() -> Figure:
    """A histogram of positive numbers and a Weibull density."""
    figure, axes = _axes()
    weibull = stats.weibull_min(1.8)
    axes.hist(weibull.rvs(400, random_state=0), bins=25, density=True, color=BLUE, alpha=0.35)
    x = np.linspace(0, 3, 200)
    axes.plot(x, weibull.pdf(x), color=BLUE)
    return figure


def gradients() -> Figure:
    """The gradient of the log odds of two classes, as JAX gives it."""
    X, y = nb.datasets.penguins()
    bill = X[["bill_length_mm", "bill_depth_mm"]]
    two = y.isin(["Adelie", "Gentoo"])
    log_joint = nb.fit(nb.Gaussian(), bill[two], y[two]).log_joint_function()
    x, z = np.meshgrid(np.linspace(34, 56, 12), np.linspace(13, 21, 8))
    points = jnp.stack([x.ravel(), z.ravel()], axis=-1)
    slope = jax.vmap(jax.grad(lambda row: log_joint(row)[1] - log_joint(row)[0]))(points)
    figure, axes = _axes()
    axes.scatter(*bill[y == "Adelie"].to_numpy().T, s=5, color=BLUE, alpha=0.4)
    axes.scatter(*bill[y == "Gentoo"].to_numpy().T, s=5, color=ORANGE, alpha=0.4)
    axes.quiver(x.ravel(), z.ravel(), *np.asarray(slope).T, color="#444444", width=0.004)
    return figure


def chip() -> Figure:
    """A processor."""
    figure, axes = _axes()
    for place in np.linspace(1.4, 4.6, 7):
        axes.plot([place, place], [0.4, 5.6], color=GREY, linewidth=3)
        axes.plot([0.4, 5.6], [place, place], color=GREY, linewidth=3)
    axes.add_patch(Rectangle((1, 1), 4, 4, facecolor=BLUE, edgecolor="white", zorder=2))
    axes.text(3, 3, "GPU", color="white", size=20, ha="center", va="center")
    axes.set(aspect="equal", xlim=(0, 6), ylim=(0, 6))
    return figure


def file() -> Figure:
    """A sheet with the name of a file."""
    figure, axes = _axes()
    axes.fill([1, 1, 4, 5, 5], [0, 6, 6, 5, 0], facecolor="white", edgecolor=BLUE, linewidth=2)
    axes.plot([4, 4, 5], [6, 5, 5], color=BLUE, linewidth=2)
    axes.text(3, 2.7, "posterior.nc", size=11, ha="center", family="monospace")
    axes.set(aspect="equal", xlim=(0, 6), ylim=(-0.2, 6.2))
    return figure


def terminal() -> Figure:
    """A command in a terminal."""
    figure, axes = _axes()
    axes.add_patch(Rectangle((0, 0), 10, 6, facecolor="#222832"))
    lines = ["$ bayesnb compare penguins \\", "    --target species --out demo", "YES, the samples agree"]
    for number, line in enumerate(lines):
        axes.text(0.5, 4.8 - 1.2 * number, line, color="white", size=9, family="monospace", va="center")
    axes.set(xlim=(0, 10), ylim=(0, 6))
    return figure


ALL = (missing, unlabelled, chains, sampler, own_density, gradients, chip, file, terminal)
