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
from biosfa.recordings.picture import in_words, plot
from biosfa.selection import chance, significance
from tests.conftest import slow_mixture

FEW_SURROGATES = {"n_surrogates": 2, "level": 0.5, "random_state": None, "report": None}


@pytest.fixture
def drawn(monkeypatch):
    """The figures that are drawn, in place of files."""
    figures = []

    def keep(figure, *_, **__):
        figure.draw_without_rendering()
        figures.append(figure)

    monkeypatch.setattr(picture, "write_figure", keep)
    monkeypatch.setattr(chance.Found.significance, "__kwdefaults__", FEW_SURROGATES)
    return figures


def curves(figure):
    """The axes of the features over time, from top to bottom."""
    return figure.subfigs[0].axes


def test_the_comparison_with_chance_is_that_of_the_function(tmp_path):
    X = slow_mixture(800, seed=4)[1]
    for lengths, settings in ((None, {}), ([100, 300, 400], {}), ([300, 500], {"n_delays": 3}), (None, {"pca": 6})):
        model = SFA(3, **settings).fit(X, lengths=lengths)
        drawn = plot(model, open_stream(X, episodes=lengths), tmp_path / "picture.png", seed=3)
        alone = significance(X, n_components=3, lengths=lengths, random_state=3, **settings)
        np.testing.assert_array_equal(drawn.significance.p_spectrum, alone.p_spectrum)
        np.testing.assert_array_equal(drawn.significance.p_shuffled, alone.p_shuffled)


def test_features_in_another_order_are_judged_by_their_slowness(tmp_path):
    X = slow_mixture(4000, seed=4)[1]
    model = SFA(4).fit(X)
    mixed = X @ np.linalg.inv(np.cov(X.T))  # another recording of the same columns, with another order of slowness
    drawn = plot(model, open_stream(mixed), tmp_path / "picture.png")
    assert (np.diff(drawn.significance.delta_values) >= 0).all()
    order = np.argsort(drawn.delta_values)
    np.testing.assert_allclose(drawn.delta_values[order], drawn.significance.delta_values, rtol=1e-9)
    np.testing.assert_array_equal(drawn.real[order], drawn.significance.real)


def test_one_column_can_share_nothing(tmp_path):
    x = slow_mixture(2000, times=(50.0,), n_noise=0, seed=0)[0]
    drawn = plot(SFA(1).fit(x), open_stream(x), tmp_path / "picture.png")
    assert not drawn.real.any()
    assert in_words(drawn) == [
        "Only one column varies. It can share no signal with others, so no feature is slower than chance.",
        "The feature is slower than features of rows in random order.",
    ]


@pytest.mark.filterwarnings("ignore::biosfa.GiveAwayWarning")
def test_a_clock_does_not_deny_the_features_behind_it(tmp_path):
    X = slow_mixture(10_000, seed=4)[1]
    X = np.column_stack([np.arange(10_000.0), X])
    found = plot(SFA(6).fit(X), open_stream(X), tmp_path / "picture.png")
    assert found.real.tolist() == [False, True, True, True, False, False]


def test_independent_columns_seldom_share_a_feature_of_any_rank(tmp_path):
    shared = [
        plot(SFA(5).fit(X), open_stream(X), tmp_path / "picture.png").real
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


@pytest.mark.parametrize(("step", "notes"), [(3.0, ["up to about 14.8 minutes"]), (0.01, [])])
def test_a_long_comparison_is_announced(step, notes, monkeypatch, capsys, tmp_path):
    """The clock is the number of calls, times so many seconds. There are 99 inputs, for each of three comparisons."""
    clock = itertools.count(0.0, step)
    monkeypatch.setattr(picture, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    shares = []
    monkeypatch.setattr(picture.Progress, "reach", lambda self, share, n: shares.append(share))
    X = slow_mixture(200, seed=4)[1]
    plot(SFA(2).fit(X), open_stream(X), tmp_path / "picture.png")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(notes)
    assert all(note in line and "random inputs" in line for note, line in zip(notes, said, strict=True))
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


def test_the_slowness_drawn_is_that_of_the_features_in_their_episodes(drawn, tmp_path):
    X = slow_mixture(1000, seed=4)[1]
    model = SFA(2).fit(X, lengths=[300, 700])
    found = plot(model, open_stream(X, episodes=[300, 700]), tmp_path / "picture.png")
    np.testing.assert_allclose(found.delta_values, metrics.slowness(model.transform(X), [300, 700]), rtol=1e-9)
