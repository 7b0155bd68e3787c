"""Streams of samples: episodes, gaps, times and columns."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from biosfa import SFA, BioSFA, InputError, OnlineSFA, ShortEpisodeWarning
from biosfa.episodes import without_missing
from biosfa.io import open_stream
from tests.io.conftest import NAMES, good_rows, joined


@given(
    missing=st.lists(st.booleans(), min_size=40, max_size=40),
    lengths=st.sampled_from([None, [40], [15, 1, 24]]),
    cuts=st.lists(st.integers(1, 39), max_size=4),
)
def test_gaps_end_episodes_however_the_stream_is_cut(missing, lengths, cuts):
    X = np.random.default_rng(0).standard_normal((40, 2)).cumsum(axis=0)
    X[missing, 1] = np.nan
    starts = np.zeros(40, bool)
    starts[np.append(0, np.cumsum(lengths or [40])[:-1])] = True
    # by hand: pairs of consecutive rows that are both there and in one episode
    pairs = [t for t in range(1, 40) if not (starts[t] or missing[t] or missing[t - 1])]
    n_broken = int((~starts).sum()) - len(pairs)
    sfa = SFA(missing="break")
    for part in np.split(np.arange(40), sorted(set(cuts))):
        sfa.partial_fit(X[part], starts=starts[part])
    assert (sfa.n_skipped_, sfa.n_broken_pairs_) == (sum(missing), n_broken)
    if pairs:
        differences = X[pairs] - X[np.array(pairs) - 1]
        assert sfa._moments.n_pairs == len(pairs)
        np.testing.assert_allclose(sfa._moments.difference, differences.T @ differences, atol=1e-9)
    for chunk_size in (7, 100):
        stream = open_stream(X, chunk_size, episodes=lengths, missing="break")
        samples, begins = joined(stream)
        whole = without_missing(X, starts, np.array(missing), broken=False)
        np.testing.assert_array_equal(samples, whole.samples)
        np.testing.assert_array_equal(begins, whole.starts)
        *_, last = stream
        assert (last.position.n_skipped, last.position.n_broken) == (sum(missing), n_broken)


def test_missing_samples_have_no_features(X):
    gappy = X.copy()
    gappy[[5, 6, 1000]] = np.nan
    for n_delays in (1, 3):
        sfa = SFA(2, missing="break", n_delays=n_delays).fit(gappy)
        assert (sfa.n_skipped_, sfa.n_broken_pairs_) == (3, 5)
        Y = sfa.transform(gappy)
        without = [t for t in range(len(X)) if any(t - delay in (-2, -1, 5, 6, 1000) for delay in range(n_delays))]
        np.testing.assert_array_equal(np.isnan(Y).any(axis=1), np.isin(np.arange(len(X)), without))
        assert sfa.score(gappy) == pytest.approx(-sfa.delta_values_.mean(), rel=1e-2)
    with pytest.raises(ValueError, match=r"NaN at row 5, column 0.*missing=\"break\""):
        SFA(2).fit(gappy)
    gappy[7, 2] = np.inf
    with pytest.raises(ValueError, match="infinity at row 7, column 2"):
        SFA(2, missing="break").fit(gappy)


def test_one_missing_sample_at_a_time(X):
    gappy = X[:300].copy()
    gappy[[50, 51, 120]] = np.nan
    whole = BioSFA(2, missing="break", random_state=0).partial_fit(gappy)
    single = BioSFA(2, missing="break", random_state=0)
    for x in gappy:
        single.learn_one(x)
    np.testing.assert_allclose(single.W_, whole.W_, rtol=1e-9)
    assert (single.n_skipped_, single.n_broken_pairs_) == (whole.n_skipped_, whole.n_broken_pairs_) == (3, 5)


def test_jumps_in_time_are_gaps(tmp_path, X):
    frame = pd.DataFrame(X[:100], columns=NAMES)
    frame.insert(0, "t", pd.date_range("2026-01-01", periods=100, freq="10ms"))
    frame = frame.drop(index=[20, 21, 60])
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    for path in (tmp_path / "x.csv", tmp_path / "x.parquet"):
        for chunk_size in (None, 20):
            stream = open_stream(path, chunk_size, time="t", missing="break")
            assert stream.feature_names == NAMES
            *_, last = chunks = list(stream)
            np.testing.assert_array_equal(np.flatnonzero(joined(chunks)[1]), [0, 20, 58])
            assert (last.position.n_skipped, last.position.n_broken) == (0, 2)
        with pytest.raises(InputError, match=r"x\.(csv, line 22|parquet, row 20): time jumps by 0.03"):
            list(open_stream(path, time="t"))
        assert sum(chunk.starts.sum() for chunk in open_stream(path, time="t", max_step=1.0)) == 1


def test_what_is_a_usual_step_is_learned_once():
    time = np.append(np.arange(10), 9 + 5 * np.arange(1, 11))  # from the tenth row on everything is a jump
    stream = open_stream(np.column_stack([time, np.arange(20)]), 10, time=0, missing="break")
    np.testing.assert_array_equal(np.flatnonzero(joined(stream)[1]), [0, *range(10, 20)])


def test_episodes_from_lengths_columns_and_files(tmp_path, X):
    frame = pd.DataFrame(X[:60], columns=NAMES)
    frame["trial"] = ["a"] * 10 + ["b"] * 30 + ["a"] * 20
    frame.to_csv(tmp_path / "x.csv", index=False)
    for chunk_size in (None, 7, 10):

        def begins(source, chunk_size=chunk_size, **options):
            return np.flatnonzero(joined(open_stream(source, chunk_size, **options))[1]).tolist()

        assert begins(tmp_path / "x.csv", episodes="trial") == [0, 10, 40]
        assert begins(X[:60], episodes=[10, 30, 20]) == [0, 10, 40]
        assert begins(X[:60], episodes=25) == [0, 25, 50]
        assert begins([X[:20], X[20:60]]) == [0, 20]
        assert begins([X[:20], X[20:60]], joined=True) == [0]
        with pytest.raises(InputError, match="add up to 70 rows, but there are 60"):
            begins(X[:60], episodes=[70])
    many = tmp_path / "many"
    many.mkdir()
    for i in (10, 9, 1):
        np.save(many / f"part{i}.npy", X[i : i + 1])
    np.testing.assert_array_equal(joined(open_stream(many))[0], X[[1, 9, 10]])  # by number, not by letter


def test_columns_are_chosen_and_found_by_name(tmp_path, X):
    frame = pd.DataFrame(X[:60], columns=NAMES)
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame[NAMES[::-1]].to_csv(tmp_path / "b.csv", index=False)
    samples, _ = joined(open_stream([tmp_path / "a.csv", tmp_path / "b.csv"]))
    np.testing.assert_allclose(samples[60:], samples[:60])
    samples, _ = joined(open_stream(tmp_path / "a.csv", columns=["ch3", 0]))
    np.testing.assert_allclose(samples, X[:60, [3, 0]])
    frame[NAMES[:4]].to_csv(tmp_path / "c.csv", index=False)
    with pytest.raises(InputError, match=r"c\.csv has the columns ch0, ch1, ch2, ch3, but those of the first"):
        list(open_stream([tmp_path / "a.csv", tmp_path / "c.csv"]))
    with pytest.raises(InputError, match=r"no column 'heat'; it has ch0"):
        open_stream(tmp_path / "a.csv", columns=["heat"])


def test_short_episodes_are_counted_and_warned_about_once(X):
    with pytest.warns(ShortEpisodeWarning, match="2 of 4 episodes have fewer than 2 samples") as said:
        SFA(2).fit(X, lengths=[1, 1500, 1, 1498])
    assert len(said) == 1
    with pytest.warns(ShortEpisodeWarning, match="2 of 4 episodes have fewer than 4 samples"):
        BioSFA(2, n_delays=3, random_state=0).fit(open_stream(X, 100, episodes=[2, 1500, 3, 1495]))


def test_labels_that_are_missing_or_change_their_type(tmp_path):
    path = tmp_path / "x.csv"
    labels = ["7", "7", "7", "", "", "7", "8", "8"]
    path.write_text("x,trial\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    for chunk_size in (None, 1, 2, 3):
        starts = joined(open_stream(path, chunk_size, episodes="trial"))[1]
        np.testing.assert_array_equal(np.flatnonzero(starts), [0, 3, 5, 6])


def test_files_that_are_joined(tmp_path, X):
    np.save(tmp_path / "a.npy", X[:0])
    np.save(tmp_path / "b.npy", X[:250])
    np.save(tmp_path / "c.npy", X[250:500])
    for options, begins in (({}, [0]), ({"episodes": 100}, [0, 100, 200, 300, 400])):
        starts = joined(open_stream(tmp_path, 70, joined=True, **options))[1]
        np.testing.assert_array_equal(np.flatnonzero(starts), begins)


def test_rows_before_a_jump_in_time_are_given_and_durations_are_times(X):
    seconds = np.append(np.arange(60.0), np.arange(100.0, 140.0))
    frame = pd.DataFrame({"t": pd.to_timedelta(seconds, unit="s"), "v": X[:100, 0]})
    rows, error = good_rows(open_stream(frame, time="t"))
    assert len(rows) == 60
    assert "time jumps by 41 seconds, where steps up to 1.5 seconds are usual" in error


@pytest.mark.parametrize("learner", [SFA(2), BioSFA(2, random_state=0), OnlineSFA(2, random_state=0)], ids=str)
def test_a_chunk_of_a_stream_is_learned_with_its_episodes(learner, X):
    stream = open_stream(X, 700, episodes=500)
    whole, chunked = clone(learner).fit(stream), clone(learner)
    for chunk in stream:
        chunked.partial_fit(chunk)
    np.testing.assert_allclose(chunked.components_, whole.components_, rtol=1e-6, atol=1e-9)


def test_a_time_that_cannot_be_read_is_a_gap_at_its_own_line(tmp_path):
    path = tmp_path / "x.csv"
    times = [f"2026-11-16 12:{i // 60:02}:{i % 60:02}" for i in range(200)]
    times[150] = "ERR"
    path.write_text("".join(f"{time},{i},{-i}\n" for i, time in enumerate(times)))
    rows, error = good_rows(open_stream(path, time=0))
    assert len(rows) == 150
    assert "line 151: the time is missing" in error
    samples, starts = joined(open_stream(path, time=0, missing="break"))
    assert len(samples) == 200
    np.testing.assert_array_equal(np.flatnonzero(starts), [0, 150, 151])
