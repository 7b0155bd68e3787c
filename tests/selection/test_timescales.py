"""Implied timescales, their intervals, and the sums that they come from."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter

from biosfa import RankDeficiencyWarning, ShortEpisodeWarning, ShortRecordingWarning
from biosfa.io import open_stream
from biosfa.selection import implied_timescales, vamp2_score
from biosfa.selection._blocks import blocks_of
from biosfa.selection._intervals import jackknife
from biosfa.selection._signal import Signal


def processes(times, n, rng):
    """Independent stationary AR(1) processes of unit variance, one per column."""
    columns = []
    for a in np.exp(-1.0 / np.asarray(times, dtype=np.float64)):
        noise = np.sqrt(1.0 - a**2) * rng.standard_normal(n)
        columns.append(lfilter([1.0], [1.0, -a], noise, zi=a * rng.standard_normal(1))[0])
    return np.column_stack(columns)


def mixed(times, n, seed):
    """Random mixtures of such processes."""
    rng = np.random.default_rng(seed)
    return processes(times, n, rng) @ rng.standard_normal((len(times), len(times)))


@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    lags=st.sets(st.integers(1, 9), min_size=1, max_size=3),
    chunk=st.integers(1, 70),
)
@settings(max_examples=60)
def test_the_sums_of_all_blocks_are_those_of_all_pairs(lengths, lags, chunk):
    n, lags = sum(lengths), sorted(lags)
    X = np.random.default_rng(n).standard_normal((n, 3)) + 100.0
    episode = np.repeat(np.arange(len(lengths)), lengths)
    pairs = {lag: np.flatnonzero(episode[lag:] == episode[:-lag]) for lag in lags}
    stream = open_stream(X, chunk_size=chunk, episodes=lengths)
    if min(len(first) for first in pairs.values()) == 0:
        with pytest.raises(ValueError, match=r"no two rows of an episode are .* rows apart"):
            blocks_of(Signal(stream), lags)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShortEpisodeWarning)
        blocks = blocks_of(Signal(stream), lags)
    assert sum(blocks.n_rows) == n
    for number, lag in enumerate(lags):
        first, second = X[pairs[lag]], X[pairs[lag] + lag]
        both = np.concatenate([first, second])
        total = blocks.total
        assert total.n_pairs[number] == len(first)
        np.testing.assert_allclose(total.covariance(number), np.cov(both.T, bias=True), atol=1e-9)
        np.testing.assert_allclose(
            total.difference_covariance(number), (second - first).T @ (second - first) / len(first), atol=1e-9
        )


@pytest.mark.parametrize("lag", [1, 7])
def test_timescales_and_the_score_are_those_of_deeptime(lag):
    covariance = pytest.importorskip("deeptime.covariance", reason="deeptime is not installed")
    decomposition = pytest.importorskip("deeptime.decomposition", reason="deeptime is not installed")
    X = mixed([50, 30, 20, 10], 20_000, seed=0)  # deeptime leaves out negative correlations
    moments = covariance.Covariance(
        lag, compute_c0t=True, remove_data_mean=True, reversible=True, bessels_correction=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deeptime's use of NumPy
        model = decomposition.TICA(epsilon=1e-12).fit(moments.fit(X, lagtime=lag)).fetch_model()
        theirs, score = model.singular_values, model.score(2)
    total = blocks_of(Signal(open_stream(X)), [lag]).total
    ours = implied_timescales(X, [lag], n_components=4)
    np.testing.assert_allclose(vamp2_score(X, lag), score - 1.0, rtol=1e-8)
    np.testing.assert_allclose(vamp2_score(X, lag), np.square(theirs).sum(), rtol=1e-8)
    assert total.n_pairs[0] == len(X) - lag
    np.testing.assert_allclose(ours.timescales[0], -lag / np.log(theirs), rtol=1e-8)
    np.testing.assert_allclose(ours.correlations[0], theirs, rtol=1e-8)


def test_the_jackknife_of_a_mean_has_the_interval_of_the_t_test():
    x = np.random.default_rng(0).standard_normal(30)
    without = (x.sum() - x) / 29
    found = jackknife(np.array([x.mean()]), without[:, None], np.ones(30), 0.9)
    lower, upper = stats.t.interval(0.9, 29, x.mean(), stats.sem(x))
    np.testing.assert_allclose([found.estimate[0], found.lower[0], found.upper[0]], [x.mean(), lower, upper])


def test_the_jackknife_takes_away_the_bias_of_a_variance():
    x = np.random.default_rng(1).standard_normal(30)
    without = np.array([np.delete(x, i).var() for i in range(30)])
    found = jackknife(np.array([x.var()]), without[:, None], np.ones(30), 0.9)
    np.testing.assert_allclose(found.estimate[0], x.var(ddof=1))


def test_intervals_cover_the_truth():
    """``make bench-choosing`` has 200 runs. Fewer than 30 of 40 intervals of 90% cover in .2% of all cases."""
    times, lags = np.array([80, 20, 5]), [1, 5]
    inside = []
    for seed in range(40):
        found = implied_timescales(mixed(times, 500 * 80, seed), lags, n_components=3)
        inside.append((found.lower < times) & (times < found.upper))
    assert np.min(np.sum(inside, axis=0)) >= 30
    assert np.mean(inside) < 0.97  # they are not too long, either


def test_a_short_recording_is_warned_about():
    with pytest.warns(ShortRecordingWarning, match="about .* rows would do"):
        implied_timescales(mixed([80, 20, 5], 100 * 80, seed=0), [1])


def test_default_lags_are_those_with_enough_pairs():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    assert implied_timescales(X).lags == (1, 2, 5, 10, 20, 50, 100)
    assert implied_timescales(np.tile(X, (7, 1))).lags[-2:] == (500, 1000)
    assert implied_timescales(X[:1050]).lags == (1, 2, 5, 10, 20, 50)
    assert implied_timescales(X, lengths=[15] * 200).lags == (1, 2, 5, 10)


def test_episodes_that_are_too_short_are_warned_about_with_their_number():
    X = mixed([2, 1], 3000, seed=0)
    with pytest.warns(ShortEpisodeWarning, match="2 of 3 episodes have fewer than 11 rows, which the lag 10 needs"):
        implied_timescales(X, [1, 10], lengths=[5, 5, 2990])


def test_a_lag_without_pairs_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="no two rows of an episode are 50 rows apart"):
        implied_timescales(mixed([2, 1], 400, seed=0), [1, 50], lengths=[40] * 10)


def test_a_constant_column_is_named():
    X = np.column_stack([mixed([2, 1], 2000, seed=0), np.ones(2000)])
    with pytest.warns(RankDeficiencyWarning, match="x2: constant"):
        found = implied_timescales(X, [1])
    assert found.timescales.shape == (1, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lags": []}, "lags must be a list of at least one lag"),
        ({"lags": 5}, "lags must be a list"),
        ({"lags": [0]}, "each of lags"),
        ({"confidence": 1.0}, "between 0 and 1"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        implied_timescales(np.zeros((10, 1)), **settings)


def test_files_arrays_and_lists_give_the_same(tmp_path):
    X = mixed([20, 1], 5000, seed=0)
    np.save(tmp_path / "x.npy", X)
    ours = implied_timescales(X, [1, 2])
    np.testing.assert_array_equal(implied_timescales(tmp_path / "x.npy", [1, 2]).timescales, ours.timescales)
    np.testing.assert_array_equal(implied_timescales(X.tolist(), [1, 2]).timescales, ours.timescales)


def test_the_score_needs_pairs_and_two_dimensions():
    with pytest.raises(ValueError, match="no two rows of an episode are 5 rows apart"):
        vamp2_score(np.zeros((5, 1)), 5)
    with pytest.raises(ValueError, match="shape"):
        vamp2_score(np.zeros(5))
