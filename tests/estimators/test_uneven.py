"""Samples at uneven times."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa import SFA, InputError, ShortEpisodeWarning, metrics
from biosfa.io import open_stream
from biosfa.kernels.exact import UNIT_STEPS
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
    assert timed.score(X[t], time=t) == pytest.approx(-timed.delta_values_.mean())
    np.testing.assert_array_equal(SFA().fit_transform(X[t], time=t), Y)


@pytest.mark.parametrize("step", [1.0, 0.25, 0.1, 7.3])
@pytest.mark.parametrize("options", [{}, {"expansion": "quadratic"}, {"pca": 2}], ids=str)
def test_an_even_grid_of_any_step_changes_nothing(step, options):
    X, lengths = np.random.default_rng(0).standard_normal((500, 3)).cumsum(axis=1), [200, 3, 297]
    timed = SFA(2, **options).fit(X, time=5.0 + step * np.arange(500), lengths=lengths)
    plain = SFA(2, **options).fit(X, lengths=lengths)
    assert deviation(timed.delta_values_, plain.delta_values_) < 1e-11
    assert deviation(timed.components_, plain.components_) < 1e-11


def literal(X, steps):
    """C_xx and C_ẋẋ of samples at uneven times, as the definition says; steps are NaN where an episode begins."""
    n, unit = len(X), np.median(steps[~np.isnan(steps)][:UNIT_STEPS])
    steps = steps / unit
    C_dot, length, weights = np.zeros((X.shape[1],) * 2), 0.0, np.empty(n)
    for t in range(n):
        beside = [step for step in steps[t : t + 2] if not np.isnan(step)]
        weights[t] = np.mean(beside) if beside else 1.0
        if not np.isnan(steps[t]):
            C_dot += np.outer(X[t] - X[t - 1], X[t] - X[t - 1]) / steps[t]
            length += steps[t]
    mean = weights @ X / weights.sum()
    return (X - mean).T @ np.diag(weights) @ (X - mean) / weights.sum(), C_dot / length, unit


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_moments_are_the_literal_sums_for_any_chunks(data):
    draw = data.draw
    rows = st.tuples(st.sampled_from([1, 1, 1, 2, 3, 5, 0.1, 0.3, 1e3]), st.booleans())
    drawn = draw(st.lists(rows, min_size=2, max_size=30))
    gaps = draw(st.sampled_from([0.0, 0.2, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    n = len(drawn)
    X, times = rng.standard_normal((n, 2)), np.cumsum([step for step, _ in drawn])
    starts = np.array([flag and rng.random() < gaps for _, flag in drawn])
    starts[0] = True
    steps = np.where(starts, np.nan, np.diff(times, prepend=np.nan))
    if starts.all():
        return
    C_xx, C_dot, unit = literal(X, steps)
    lengths = np.diff(np.append(np.flatnonzero(starts), n))
    frame = pd.DataFrame({"t": times, "a": X[:, 0], "b": X[:, 1]})
    stream = open_stream(
        frame, chunk_size=draw(st.integers(1, n)), time="t", max_step=np.inf, episodes=lengths.tolist()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few samples and short episodes
        models = [SFA(ridge=1e-3).fit(X, time=times, lengths=lengths), SFA(ridge=1e-3).fit(stream, time=True)]
    for sfa in models:
        assert sfa.time_unit_ == pytest.approx(unit)
        assert sfa.n_samples_seen_ == n
        np.testing.assert_allclose(sfa._moments.covariance, C_xx, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(sfa._moments.difference_covariance, C_dot, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("steps", "chunk_size"), [([1, 1, 3, 1], 4), ([1, 1, 1, 1, 1, 5, 1, 1], 7), ([1, 2, 1], 1)])
def test_a_weight_may_change_after_the_end_of_a_chunk(steps, chunk_size):
    """The step after a chunk is part of the weight of its last row."""
    times = np.cumsum([0, *steps])
    X = np.random.default_rng(0).standard_normal((len(times), 2))
    frame = pd.DataFrame({"t": times, "a": X[:, 0], "b": X[:, 1]})
    whole = SFA().fit(X, time=times)
    stream = SFA().fit(open_stream(frame, time="t", max_step=np.inf, chunk_size=chunk_size), time=True)
    assert stream._moments.weight == pytest.approx(whole._moments.weight)
    assert stream._moments.n_pairs == len(X) - 1
    assert deviation(stream.delta_values_, whole.delta_values_) < 1e-12


@pytest.mark.parametrize("pca", [None, 2])
def test_the_unit_of_time_does_not_depend_on_chunks(pca):
    """The first thousand steps are 1, all others 10."""
    times = np.cumsum(np.r_[0, np.ones(1000), np.full(5000, 10.0)])
    X = np.column_stack([np.sin(times / 300), np.cos(times / 77), np.sin(times / 31)])
    frame = pd.DataFrame({"t": times, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    whole = SFA(2, pca=pca).fit(X, time=times)
    assert whole.time_unit_ == 1.0
    for size in (1, 300, 6000):
        found = SFA(2, pca=pca).fit(open_stream(frame, time="t", max_step=np.inf, chunk_size=size), time=True)
        assert found.time_unit_ == 1.0
        assert deviation(found.delta_values_, whole.delta_values_) < 1e-9


def test_principal_components_have_the_weights_of_the_times():
    """A long step stands for many samples."""
    rng = np.random.default_rng(0)
    X, steps = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 3)), rng.integers(1, 5, 299)
    steps[:150] = 1
    sfa = SFA(2, pca=2).fit(X, time=np.append(0, np.cumsum(steps)))
    beside = 0.5 * (np.append(steps[:1], steps) + np.append(steps, steps[-1:]))
    C = np.cov(X.T, aweights=beside, bias=True)
    _, vectors = np.linalg.eigh(C)
    reduced = X @ vectors[:, 1:]
    wanted = SFA(2).fit(reduced, time=np.append(0, np.cumsum(steps)))
    assert deviation(sfa.delta_values_, wanted.delta_values_) < 1e-9


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
    t = np.append(t[: len(t) // 2], 60 * t[len(t) // 2 :])  # the second half has another unit
    n = len(X) // 2
    whole = SFA().fit(X, time=t, lengths=[n, len(X) - n])
    first = SFA().fit(X[:n], time=t[:n])
    second = SFA().fit(X[n:], time=t[n:])
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
        (lambda X, t: SFA().fit(X, time=np.where(t == t[7], np.nan, t)), "the time of row 7 is missing"),
        (lambda X, t: SFA().fit(X, time=np.where(t == t[7], np.inf, t)), "the time of row 7 is inf"),
        (lambda X, t: SFA().fit(X, time=pd.to_datetime(np.where(t == 1, np.nan, t))), "the time of row 0 is missing"),
        (lambda X, t: SFA().fit(X).score(X, time=t), "fitted without time"),
        (lambda X, t: metrics.slowness(X, lag=2, time=t), "time needs lag=1"),
        (lambda X, t: metrics.slowness(X, time=t[::-1]), "time must increase"),
        (lambda X, t: metrics.slowness(X, time=t[:5]), "one per row of X"),
        (lambda X, t: SFA().fit(X, time=t[:-1]), "one per row of X"),
        (lambda X, t: SFA(lag=2).fit(X, time=t), "time needs lag=1"),
        (lambda X, t: SFA(n_delays=2).fit(X, time=t), "time needs n_delays=1"),
        (lambda X, t: SFA().fit(X, time=t, sample_weight=t), "cannot be used together"),
        (lambda X, t: SFA().fit(X, time=True), "X is an array without any: give the times"),
        (lambda X, t: SFA().fit(open_stream(X), time=t), "use time=True"),
        (lambda X, t: SFA().fit(open_stream(X, time=0), time=True), "opened with time.* and with max_step"),
    ],
)
def test_times_that_make_no_sense_are_refused(fit, message):
    X, t = sampled(1000)
    t = t.astype(float)
    with pytest.raises(ValueError, match=message):
        fit(X, t)


def test_a_model_stays_as_it_was_after_times_that_make_no_sense():
    X, t = sampled(1000)
    sfa = SFA().fit(X)
    before = sfa.components_.copy()
    with pytest.raises(ValueError, match="time must increase"):
        sfa.fit(X, time=t[::-1])
    np.testing.assert_array_equal(sfa.components_, before)
    assert sfa.time_unit_ is None


ORIGIN = 1_760_000_000


@pytest.mark.parametrize(
    "times",
    [
        lambda t: pd.Timestamp(ORIGIN, unit="s") + pd.to_timedelta(10_000 * t),  # 10 µs apart
        lambda t: pd.to_timedelta(ORIGIN, unit="s") + pd.to_timedelta(10_000 * t),
        lambda t: ORIGIN * 10**9 + 10 * t,  # 10 ns apart, as whole numbers
        lambda t: (ORIGIN * 10**9 + 10 * t).astype(np.uint64),
    ],
    ids=["dates", "durations", "int64", "uint64"],
)
def test_no_digits_are_lost_far_from_the_first_time(times):
    X, t = sampled(9000)
    wanted, far = SFA().fit(X, time=t).delta_values_, times(t)
    frame = pd.DataFrame({"t": far, **dict(zip("abc", X.T, strict=True))})
    assert deviation(SFA().fit(X, time=far).delta_values_, wanted) < 1e-12
    for size in (100, 1):
        stream = open_stream(frame, time="t", max_step=np.inf, chunk_size=size)
        assert deviation(SFA().fit(stream, time=True).delta_values_, wanted) < 1e-12


def test_an_infinite_time_is_a_gap_in_a_stream():
    X, t = sampled(1000)
    frame = pd.DataFrame(X, columns=list("abc")).assign(t=np.where(t == t[7], np.inf, t))
    with pytest.raises(InputError, match="row 7: the time is infinite"):
        SFA().fit(open_stream(frame, time="t", max_step=np.inf), time=True)
    stream = open_stream(frame, time="t", max_step=np.inf, missing="break", chunk_size=8)
    with pytest.warns(ShortEpisodeWarning):
        found = SFA(missing="break").fit(stream, time=True)
    with pytest.warns(ShortEpisodeWarning):
        wanted = SFA().fit(X, time=t, lengths=[7, 1, len(X) - 8])
    assert deviation(found.delta_values_, wanted.delta_values_) < 1e-12


def test_dates_are_times_of_a_metric():
    X, t = sampled(9000)
    dates = pd.Timestamp("2026-01-01") + pd.to_timedelta(t, unit="s")
    np.testing.assert_allclose(metrics.slowness(X, time=dates), metrics.slowness(X, time=t), rtol=1e-12)


def test_float32_is_subtracted_in_double_precision():
    X = np.random.default_rng(0).standard_normal((3000, 4)).cumsum(axis=1).astype(np.float32)
    wanted = SFA().fit(X).delta_values_
    pairs = np.column_stack([np.arange(2999), np.arange(1, 3000)])
    for sfa in (
        SFA().fit(X, sample_weight=np.ones(3000)),
        SFA().fit(X, time=np.arange(3000)),
        SFA().fit_pairs(X, pairs),
    ):
        np.testing.assert_allclose(sfa.delta_values_, wanted, rtol=1e-13)
