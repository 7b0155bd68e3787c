"""Which pairs of a stream are kept, and that they are pairs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa import BioSFA, OnlineSFA, load
from biosfa.learning import Pairs
from biosfa.learning._pairs import Sampling

WINDOWS = (np.inf, 90.0, 30_000.0)


@pytest.mark.parametrize("size", [40, 512])
@pytest.mark.parametrize("window", WINDOWS)
def test_pairs_lie_in_the_last_third(size, window):
    sampling = Sampling(size, window)
    chosen = np.array([sampling.chosen(i) for i in range(20 * size)])
    assert (np.diff(chosen) > 0).all()
    for n in (1, 2, size, 5 * size, int(chosen[-1])):
        assert sampling.count(n) == np.count_nonzero(chosen <= n)
    third = min(chosen[-1], window) / 3
    in_third = np.count_nonzero(chosen > chosen[-1] - third)
    assert in_third == pytest.approx(min(size, third), rel=0.05)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("n_pairs", [10**7, 10**9, 10**12])
def test_long_streams_are_counted(window, n_pairs):
    """The number of intervals grows as the logarithm of the stream: later ones must not be asked for."""
    sampling = Sampling(2048, window)
    count = sampling.count(n_pairs)
    assert sampling.chosen(count - 1) <= n_pairs < sampling.chosen(count)


def test_pairs_do_not_follow_a_beat_of_the_input():
    """Of a stream with a period, all phases are kept alike, even where intervals are multiples of the period."""
    sampling = Sampling(500, 30_000)  # in the end 20 pairs per interval
    first = sampling.count(200_000)
    phase = np.array([sampling.chosen(i) for i in range(first, first + 4000)]) % 20
    assert np.bincount(phase, minlength=20).min() > 120  # 200 of each, ± 14


@given(
    cuts=st.lists(st.integers(0, 3000), max_size=8),
    ends=st.lists(st.integers(1, 2999), max_size=4),
    n_streams=st.integers(1, 3),
)
@settings(max_examples=40)
def test_kept_pairs_are_consecutive_and_chunks_change_nothing(cuts, ends, n_streams):
    rng = np.random.default_rng(0)
    time, noise = np.arange(3000.0), rng.standard_normal(3000)
    X = np.stack([np.stack([time, noise + p], axis=1) for p in range(n_streams)], axis=1)
    starts = np.zeros(3000, bool)
    starts[[0, *ends]] = True

    def taken(edges):
        pairs, n_updates = Pairs(1, 2, n_streams, np.float64, np.inf, 100), 0
        for begin, end in pairwise(edges):
            pairs.take(X[begin:end].__getitem__, starts[begin:end], n_updates)
            n_updates += int(np.count_nonzero(~starts[begin:end]))
        return pairs.recent(n_updates)

    whole, chunked = taken([0, 3000]), taken(sorted({0, *cuts, 3000}))
    np.testing.assert_array_equal(chunked, whole)
    before, after = np.split(whole, 2)
    assert (after[:, 0] - before[:, 0] == 1).all()
    assert not starts[after[:, 0].astype(int)].any()
    stream = np.round(after[:, 1] - noise[after[:, 0].astype(int)]).astype(int)
    np.testing.assert_allclose(before[:, 1], noise[before[:, 0].astype(int)] + stream)
    assert (np.bincount(stream, minlength=n_streams) > len(stream) / (2 * n_streams)).all()
    assert after[:, 0].min() >= 1900


@pytest.mark.parametrize("learner", [BioSFA(2), OnlineSFA(2), BioSFA(2, n_delays=2, expansion="quadratic")], ids=str)
def test_a_loaded_model_keeps_the_same_pairs(learner, tmp_path):
    X = np.random.default_rng(1).standard_normal((3000, 3)).cumsum(axis=0) * 0.1
    learner = learner.set_params(random_state=0)
    learner.partial_fit(X[:1500]).save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    for x in X[1500:1600]:
        loaded.learn_one(x)
    loaded.partial_fit(X[1600:])
    learner.partial_fit(X[1500:])
    ours, theirs = (np.asarray(net._gauge.pairs.recent(net.n_updates_)) for net in (loaded, learner))
    np.testing.assert_array_equal(ours, theirs)
    assert loaded.watch().change == pytest.approx(learner.watch().change, abs=1e-6)
