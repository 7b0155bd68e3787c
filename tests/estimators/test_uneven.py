"""Samples at uneven times."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa import SFA, metrics
from biosfa.io import open_stream
from tests.conftest import deviation


def smooth_sources(n):
    t = np.arange(n)
    return np.stack([np.sin(2 * np.pi * t / 1500), np.sin(2 * np.pi * t / 700 + 1), np.sin(2 * np.pi * t / 300 + 2)], 1)


def sampled(n):
    """Mixed sources in bursts, and the times of the samples."""
    t = bursts(n)
    return (smooth_sources(n) @ np.random.default_rng(0).standard_normal((3, 3)))[t], t


def bursts(n):
    """Times with steps of 1, then of 20."""
    times = np.cumsum(np.tile(np.r_[np.ones(20, int), np.full(3, 20)], n))
    return times[times < n]


def test_slowness_in_bursts_is_that_of_the_even_series():
    X = smooth_sources(60_000) @ np.random.default_rng(0).standard_normal((3, 3))
    t = bursts(len(X))
    even, timed, plain = SFA().fit(X), SFA().fit(X[t], time=t), SFA().fit(X[t])
    np.testing.assert_allclose(timed.delta_values_, even.delta_values_, rtol=0.05)
    assert (plain.delta_values_ > 3 * even.delta_values_).all()
    assert timed.time_unit_ == 1.0
    Y = timed.transform(X[t])
    np.testing.assert_allclose(metrics.slowness(Y, time=t), timed.delta_values_, rtol=1e-9)


@pytest.mark.parametrize("step", [1.0, 0.25, 0.1, 7.3])
@pytest.mark.parametrize("options", [{}, {"expansion": "quadratic"}, {"pca": 2}], ids=str)
def test_an_even_grid_of_any_step_changes_nothing(step, options):
    X, lengths = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=1), [200, 3, 297]
    timed = SFA(2, **options).fit(X, time=5.0 + step * np.arange(500), lengths=lengths)
    plain = SFA(2, **options).fit(X, lengths=lengths)
    assert deviation(timed.delta_values_, plain.delta_values_) < 1e-11
    assert deviation(timed.components_, plain.components_) < 1e-11


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_moments_are_the_literal_sums_for_any_chunks(data):
    draw = data.draw
    n = draw(st.integers(10, 40))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    X, times = rng.standard_normal((n, 2)), np.cumsum(rng.uniform(0.1, 5.0, n))
    starts = rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.4]))
    starts[0] = True
    lengths = np.diff(np.append(np.flatnonzero(starts), n))
    frame = pd.DataFrame({"t": times, "a": X[:, 0], "b": X[:, 1]})
    stream = open_stream(
        frame, chunk_size=draw(st.integers(1, n)), time="t", max_step=np.inf, episodes=lengths.tolist()
    )
    if not (lengths > 1).any():
        return
    inside = np.diff(times)[~starts[1:]]
    first = next(iter(stream)).position.step
    with pytest.warns() if (lengths < 2).any() else _no_warning():
        sfa = SFA().fit(X, time=times, lengths=lengths)
    assert sfa.time_unit_ == pytest.approx(np.median(inside))
    steps = np.where(starts, np.nan, np.diff(times, prepend=np.nan)) / sfa.time_unit_
    C_dot, length, weights = np.zeros((2, 2)), 0.0, np.empty(n)
    for t in range(n):
        beside = [steps[t]] if not starts[t] else []
        beside += [steps[t + 1]] if t + 1 < n and not starts[t + 1] else []
        weights[t] = np.mean(beside) if beside else 1.0
        if not starts[t]:
            C_dot += np.outer(X[t] - X[t - 1], X[t] - X[t - 1]) / steps[t]
            length += steps[t]
    mean = weights @ X / weights.sum()
    C_xx = (X - mean).T @ np.diag(weights) @ (X - mean) / weights.sum()
    np.testing.assert_allclose(sfa._moments.covariance, C_xx, rtol=1e-9)
    np.testing.assert_allclose(sfa._moments.difference_covariance, C_dot / length, rtol=1e-9)
    if first is None:  # a chunk of one row has no step
        return
    with pytest.warns() if (lengths < 2).any() else _no_warning():
        streamed = SFA().fit(stream, time=True)
    change = streamed.time_unit_ / sfa.time_unit_  # the unit comes from the first chunk
    if (lengths > 1).all():  # an episode of one row has the weight of one unit, whatever it is
        np.testing.assert_allclose(streamed._moments.covariance, C_xx, rtol=1e-9)
    np.testing.assert_allclose(streamed._moments.difference_covariance, C_dot / length * change**2, rtol=1e-9)


class _no_warning:  # noqa: N801
    def __enter__(self):
        return None

    def __exit__(self, *_):
        return False


def test_dates_and_durations_are_times():
    X, t = sampled(9000)
    wanted = SFA().fit(X, time=t).delta_values_
    dates = pd.Timestamp("2026-01-01") + pd.to_timedelta(t * 100, unit="ms")
    for time in (dates, np.asarray(dates), pd.to_timedelta(t, unit="min"), list(map(str, dates))):
        found = SFA().fit(X, time=time)
        assert deviation(found.delta_values_, wanted) < 1e-9
    assert SFA().fit(X, time=dates).time_unit_ == pytest.approx(0.1)


def test_missing_rows_end_an_episode():
    X, t = sampled(9000)
    spoiled = X.copy()
    spoiled[50, 0] = np.nan
    kept = np.arange(len(X)) != 50
    found = SFA(missing="break").fit(spoiled, time=t)
    wanted = SFA().fit(X[kept], time=t[kept], lengths=[50, len(X) - 51])
    assert deviation(found.delta_values_, wanted.delta_values_) < 1e-12


def test_models_are_merged_in_the_same_unit_of_time(tmp_path):
    X, t = sampled(12_000)
    n = len(X) // 2
    whole = SFA().fit(X, time=t, lengths=[n, len(X) - n])
    first = SFA().fit(X[:n], time=t[:n])
    second = SFA().fit(X[n:], time=t[n:])
    second._moments, second.time_unit_ = second._moments.in_time_unit(1 / 60), 60.0  # as if in units of a minute
    first.save(tmp_path / "model")
    merged = SFA.load(tmp_path / "model").merge(second)
    assert deviation(merged.delta_values_, whole.delta_values_) < 1e-10
    with pytest.raises(ValueError, match="one model was fitted with time"):
        merged.merge(SFA().fit(X))
    with pytest.raises(ValueError, match="cannot continue without"):
        merged.partial_fit(X)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda X, t: SFA().fit(X, time=t[::-1]), "time must increase .* row 1 has"),
        (lambda X, t: SFA().fit(X, time=np.where(t == t[7], t[6], t)), "row 7 has"),
        (lambda X, t: SFA().fit(X, time=np.where(t == t[7], np.nan, t)), "row 7 has no time"),
        (lambda X, t: SFA().fit(X, time=t[:-1]), "one per row of X"),
        (lambda X, t: SFA(lag=2).fit(X, time=t), "time needs lag=1"),
        (lambda X, t: SFA(n_delays=2).fit(X, time=t), "time needs n_delays=1"),
        (lambda X, t: SFA().fit(X, time=t, sample_weight=t), "cannot be used together"),
        (lambda X, t: SFA().fit(X, time=True), "X is an array: give the times"),
        (lambda X, t: SFA().fit(open_stream(X), time=t), "use time=True"),
        (lambda X, t: SFA().fit(open_stream(X, time=0), time=True), "opened with time.* and with max_step"),
    ],
)
def test_times_that_make_no_sense_are_refused(fit, message):
    X, t = sampled(1000)
    t = t.astype(float)
    with pytest.raises(ValueError, match=message):
        fit(X, t)
