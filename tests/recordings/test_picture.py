"""The picture of a recording."""

import itertools
from types import SimpleNamespace

import matplotlib.dates
import numpy as np
import pandas as pd
import pytest

from biosfa import SFA, metrics
from biosfa.io import open_stream
from biosfa.recordings import picture
from biosfa.recordings.picture import plot, slower
from tests.conftest import slow_mixture


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are drawn, in place of files."""
    figures = []

    def keep(figure, *_, **__):
        figure.draw_without_rendering()
        figures.append(figure)

    monkeypatch.setattr(picture, "write_figure", keep)
    monkeypatch.setattr(picture, "SURROGATES", 2)
    return figures


def curves(figure):
    """The axes of the features over time, from top to bottom."""
    return figure.subfigs[0].axes


def test_each_rank_is_judged_by_itself():
    by_chance = np.array([[0.1, 1.0, 2.0], [0.2, 1.1, 1.9]])
    assert slower(np.array([0.1, 0.5, 2.0]), by_chance).tolist() == [False, True, False]
    assert slower(np.array([2.0, 0.5, 0.1]), by_chance).tolist() == [False, True, False]  # whatever their order


@pytest.mark.filterwarnings("ignore::biosfa.GiveAwayWarning")
def test_a_clock_does_not_deny_the_features_behind_it(tmp_path):
    X = slow_mixture(10_000, seed=4)[1]
    X = np.column_stack([np.arange(10_000.0), X])
    found = plot(SFA(6).fit(X), open_stream(X), tmp_path / "picture.png")
    assert found.shared.tolist() == [False, True, True, True, False, False]


def test_independent_columns_seldom_share_a_feature_of_any_rank(tmp_path):
    shared = [
        plot(SFA(5).fit(X), open_stream(X), tmp_path / "picture.png").shared
        for X in (slow_mixture(4000, times=(5, 10, 20, 30, 40), n_noise=0, seed=seed)[0] for seed in range(6))
    ]
    assert np.sum(shared) <= 1


def test_dates_and_gaps_are_drawn_where_they_are(drawn, tmp_path):
    X = slow_mixture(1000, seed=4)[1]
    frame = pd.DataFrame(X)
    frame.insert(0, "when [UTC]", pd.date_range("2026-03-01", periods=1000, freq="min"))
    frame.iloc[500:, 0] += pd.Timedelta(hours=6)
    frame.iloc[200, 3] = np.nan
    model = SFA(2, n_delays=3, missing="break").fit(open_stream(frame, time="when [UTC]", missing="break"))
    plot(model, open_stream(frame, time="when [UTC]", missing="break"), tmp_path / "picture.png")
    (figure,) = drawn
    *_, last = curves(figure)
    assert last.get_xlabel() == "when [UTC]"
    assert isinstance(last.xaxis.get_major_formatter(), matplotlib.dates.ConciseDateFormatter)
    assert "Mar-01" in [label.get_text() for label in last.get_xticklabels()]
    (line,) = last.lines
    x, y = line.get_data()
    minutes = (np.asarray(x, "datetime64[ns]") - np.datetime64("2026-03-01", "ns")) / np.timedelta64(1, "m")
    shown = minutes[np.isfinite(y)]
    assert (shown[0], shown[-1]) == (2, 999 + 360)
    assert not np.isin([0, 1, 200, 201, 202, 500 + 360, 501 + 360], shown).any()
    assert np.isnan(y).sum() == 3  # before each part
    assert not np.isin(np.arange(500, 862), shown).any()


def test_rows_are_counted_where_there_is_no_time_or_it_repeats(drawn, tmp_path):
    X = slow_mixture(400, seed=4)[1]
    X[100] = np.nan
    halves = [pd.DataFrame(part).assign(t=np.arange(200.0)) for part in np.split(X, 2)]
    for stream in (
        open_stream(X, missing="break"),
        open_stream(halves, time="t", missing="break"),
    ):
        plot(SFA(2, missing="break").fit(X), stream, tmp_path / "picture.png")
        *_, last = curves(drawn.pop())
        x, y = last.lines[0].get_data()
        assert last.get_xlabel() == "row"
        assert x[np.isfinite(y)].tolist() == [i for i in range(400) if i != 100]


def test_the_legend_covers_nothing_and_the_title_counts_features(drawn, tmp_path):
    X = slow_mixture(2000, seed=4)[1]
    for k, title in ((8, "slow features, 6 of 8 drawn"), (2, "slow features")):
        plot(SFA(k).fit(X), open_stream(X), tmp_path / "picture.png")
        figure = drawn.pop()
        assert curves(figure)[0].get_title(loc="left") == title
        (legend,) = figure.legends
        covered = legend.get_window_extent()
        for axes in [*curves(figure), *figure.subfigs[1].axes]:
            assert not axes.get_legend()
            assert not covered.overlaps(axes.get_tightbbox())
        assert figure.bbox.containsx(covered.x0)
        assert figure.bbox.containsx(covered.x1)


@pytest.mark.parametrize(("step", "notes"), [(3.0, ["about 57 seconds"]), (0.01, [])])
def test_a_long_comparison_is_announced(step, notes, monkeypatch, capsys, tmp_path):
    """The clock is the number of calls, times so many seconds."""
    clock = itertools.count(0.0, step)
    monkeypatch.setattr(picture, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    steps = []
    monkeypatch.setattr(picture.Progress, "advance", lambda self, n: steps.append(n))
    X = slow_mixture(200, seed=4)[1]
    plot(SFA(2).fit(X), open_stream(X), tmp_path / "picture.png")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(notes)
    assert all(note in line and "40 random inputs" in line for note, line in zip(notes, said, strict=True))
    assert steps == [1] * 40


def test_the_slowness_drawn_is_that_of_the_features_in_their_episodes(drawn, tmp_path):
    X = slow_mixture(1000, seed=4)[1]
    model = SFA(2).fit(X, lengths=[300, 700])
    found = plot(model, open_stream(X, episodes=[300, 700]), tmp_path / "picture.png")
    np.testing.assert_allclose(found.delta_values, metrics.slowness(model.transform(X), [300, 700]), rtol=1e-9)
