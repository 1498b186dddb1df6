"""Figures of evidence: bars and points are the numbers of the frames."""

import pickle

import numpy as np
import pytest
from figures import mails, penguins

import bayesnb as nb


def drawn_bars(axis):
    """Name, length and hatch of each bar, from the top."""
    names = [text.get_text() for text in axis.get_yticklabels()]
    return [
        (name, bar.get_width(), bar.get_hatch()) for name, bar in zip(names, axis.patches[-len(names) :], strict=True)
    ]


def test_bars_are_the_parts_and_their_sum():
    posterior, X, _ = penguins()
    row = X.iloc[[0]]
    figure = nb.plot_evidence(posterior, row, "Chinstrap", "Adelie", unit="bits", num_draws=30)
    (axis,) = figure.axes
    table = posterior.explain(row, "Chinstrap", "Adelie", unit="bits", num_draws=30)
    bars = drawn_bars(axis)
    features = table.iloc[1:].sort_values("log_odds", key=np.abs, ascending=False)
    expected = [table["log_odds"].iloc[0], *features["log_odds"], table["log_odds"].sum()]
    np.testing.assert_allclose([width for _, width, _ in bars], expected, rtol=1e-12)
    assert bars[0][0] == "before any cell"
    assert bars[-1][0] == "sum"
    assert {"island = Torgersen", "bill_length_mm = 39.1", "sex = male"} < {name for name, _, _ in bars}
    assert all((hatch == "////") == (width < 0) for _, width, hatch in bars)
    assert [len(bars) - 1.5] * 2 in [list(line.get_ydata()) for line in axis.lines], "a line above the sum"
    lines = np.array([line.get_xdata() for line in axis.lines[: len(bars)]])
    np.testing.assert_allclose(lines[1:-1], features[["lower", "upper"]], rtol=1e-12)
    draws = posterior.log_joint_draws(row, num_draws=30)[..., 0, :] / np.log(2)
    total = np.quantile(draws[..., 1] - draws[..., 0], [0.055, 0.945])
    np.testing.assert_allclose(lines[-1], total, rtol=1e-8)
    assert (axis.get_title(loc="left"), axis.get_title(loc="right")) == ("← for Adelie", "for Chinstrap →")
    assert axis.get_xlabel() == "log odds in bits; lines: 89 % intervals"


def test_small_features_are_drawn_together():
    posterior, X = mails()
    row = X.iloc[[0]]
    table = posterior.explain(row, words=True, num_draws=5)["log_odds"].iloc[1:]
    largest = table.sort_values(key=np.abs, ascending=False).head(4).index
    for sort in (True, False):
        bars = drawn_bars(nb.plot_evidence(posterior, row, max_features=4, sort=sort, num_draws=5).axes[0])
        order = largest if sort else table.index[table.index.isin(largest)]
        assert [name.partition(" = ")[0] for name, _, _ in bars[1:5]] == list(order)
        assert bars[5][0] == f"{len(table) - 4} others"
        assert bars[5][1] == pytest.approx(table.drop(largest).sum(), rel=1e-10)
        assert bars[6][1] == pytest.approx(bars[0][1] + table.sum(), rel=1e-10)
    # A single other one has its own name.
    bars = drawn_bars(nb.plot_evidence(posterior, row, max_features=len(table) - 1, num_draws=5).axes[0])
    assert len(bars) == len(table) + 2
    assert not any("others" in name for name, _, _ in bars)
    whole = drawn_bars(nb.plot_evidence(posterior, row, words=False, num_draws=5).axes[0])
    assert [name for name, _, _ in whole] == ["before any cell", "text = 60 in all", "sum"]


def test_a_point_has_no_intervals_and_infinite_bars_end_in_an_arrow_head():
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0], [2, 1], [2, 0]], ["a", "a", "b", "b", "c", "c"]
    point = nb.fit(nb.NaiveBayes(nb.Categorical()), X, y, nb.MLE())
    (axis,) = nb.plot_evidence(point, [0, 1], "a", "c").axes
    assert axis.get_xlabel() == "log odds in nats"
    assert np.isfinite([width for _, width, _ in drawn_bars(axis)]).all()
    heads = np.concatenate([np.asarray(found.get_offsets()) for found in axis.collections if len(found.get_offsets())])
    assert heads[:, 1].tolist() == [1.0, 3.0]
    low, high = axis.get_xlim()
    assert low < 0 < heads[:, 0].min()
    assert heads[:, 0].max() < high


def test_what_explain_returns_draws_the_same_picture():
    posterior, X, _ = penguins()
    of_row, shown = {"unit": "bits", "num_draws": 30}, {"max_features": 3, "sort": False}
    found = posterior.explain(X.iloc[[0]], "Chinstrap", "Adelie", **of_row)
    expected = nb.plot_evidence(posterior, X.iloc[[0]], "Chinstrap", "Adelie", **of_row, **shown)
    for explained in (found, pickle.loads(pickle.dumps(found))):
        figure = explained.plot(**shown)
        assert drawn_bars(figure.axes[0]) == drawn_bars(expected.axes[0])
        assert figure.get_suptitle() == expected.get_suptitle()


def test_a_large_number_is_written_out():
    posterior = nb.fit(
        nb.Gaussian(), [[66800.0], [71000.0], [3000.0], [4000.0]], list("aabb"), feature_names=["income"]
    )
    (axis,) = nb.plot_evidence(posterior, [[66800.0]]).axes
    assert "income = 66800" in [text.get_text() for text in axis.get_yticklabels()]
