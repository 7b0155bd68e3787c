"""A monitor that follows a process, and one that accepts a new operating point."""

import numpy as np
import pytest

from biosfa import SFA, GraphSFA, ShortCalibrationWarning
from biosfa.datasets import stirred_tank
from biosfa.io import open_stream
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.monitoring._normal import Normal


@pytest.fixture(scope="module")
def normal():
    return stirred_tank(12_000, random_state=0).samples


def watched(monitor, X):
    (chunk,) = open_stream(X, chunk_size=len(X))
    return monitor.watch_chunk(chunk)


def test_a_benign_drift_is_followed_and_a_fast_one_is_not(normal):
    X = stirred_tank(20_000, fouling=0.0035, random_state=1).samples
    jacket = X[:, 7]
    assert jacket[:1000].mean() - jacket[-1000:].mean() > 2 * normal[:, 7].std()
    still_one = SlowFeatureMonitor(n_delays=2).fit(normal)
    still = watched(still_one, X)
    assert (still.verdicts[-2000:] != "normal").mean() > 0.3
    following = SlowFeatureMonitor(n_delays=2, forget=2000).fit(normal)
    alarms = (watched(following, X).statistics[2:] > following.limits_).mean(axis=0)
    assert np.all(alarms < 0.025)
    faulty = X.copy()
    faulty[10_000:, 1] += 30 * normal[:, 1].std() * np.arange(10_000) / 20_000
    fast = SlowFeatureMonitor(n_delays=2, forget=2000).fit(normal)
    found = watched(fast, faulty)
    assert (found.verdicts[-2000:] != "normal").mean() > 0.9
    assert found.causes[-2000:].sum(axis=0).argmax() == 1
    assert following.follows_
    assert not still_one.follows_
    assert not fast.follows_
    assert fast.accept(since=18_500).follows_


def test_nothing_is_learned_from_rows_in_alarm(normal):
    monitor = SlowFeatureMonitor(n_delays=2, forget=2000).fit(normal)
    before = monitor.statistics(normal[:100])
    broken = stirred_tank(3000, fault="noise", random_state=1).samples
    assert (watched(monitor, broken + 5 * normal.std(axis=0)).verdicts != "normal").all()
    np.testing.assert_array_equal(monitor.statistics(normal[:100]), before)


def test_rows_one_by_one_teach_the_same_as_chunks(normal):
    X = stirred_tank(700, fouling=0.0035, random_state=1).samples
    one, other = (SlowFeatureMonitor(n_delays=2, forget=1000).fit(normal) for _ in range(2))
    found = [one.update(x).statistics for x in X]
    chunks = [other.watch_chunk(chunk).statistics for chunk in open_stream(X, chunk_size=33)]
    np.testing.assert_allclose(found, np.concatenate(chunks), rtol=1e-6)
    assert not np.allclose(found[-1], SlowFeatureMonitor(n_delays=2).fit(normal).statistics(X)[-1], rtol=1e-3)


def test_an_accepted_operating_point_is_normal_and_faults_are_still_found(normal):
    moved = stirred_tank(9000, fault="set_point", start=500, random_state=3).samples
    monitor = SlowFeatureMonitor(n_delays=2).fit(normal)
    assert (monitor.verdicts(moved)[1000:] != "normal").mean() > 0.95
    monitor.accept(moved[:3000], since=1000)
    alarms = (monitor.statistics(moved[3000:])[2:] > monitor.limits_).mean(axis=0)
    assert np.all(alarms < 0.025)
    noisy = moved[3000:4000] + 5 * np.eye(12)[5] * 0.1 * np.random.default_rng(0).standard_normal((1000, 1))
    assert (monitor.verdicts(noisy) == "abnormal").mean() > 0.5
    assert (monitor.verdicts(normal[:500]) != "normal").mean() > 0.9  # the old point is no longer normal


@pytest.mark.parametrize("given", [True, False])
def test_constant_columns_are_accepted_too(normal, given):
    """A set point of 320 that is logged as a column, one of 7 that stays, and one that is no longer constant."""
    moved = stirred_tank(4000, fault="set_point", start=0, random_state=3).samples
    jitter = np.random.default_rng(0).standard_normal(len(moved))
    monitor = SlowFeatureMonitor(n_delays=2).fit(
        np.column_stack([normal, np.tile([320.0, 7.0, 1.0], (len(normal), 1))])
    )
    X = np.column_stack([moved, np.tile([323.0, 7.0], (len(moved), 1)), jitter])
    for x in X[:2000]:
        monitor.update(x)
    monitor.accept(*([X[:2000]] if given else []), since=600)
    assert monitor.constant_columns_ == {12: 323.0, 13: 7.0}
    for verdicts in (monitor.verdicts(X[2000:]), np.array([monitor.update(x).verdict for x in X[2000:3000]])):
        assert (verdicts == "normal").mean() > 0.9
    back = X[2000:2010].copy()
    back[:, 12] = 320.0
    assert set(monitor.verdicts(back)) == {"abnormal"}
    assert monitor.update(back[0]).verdict == "abnormal"


def test_rows_of_update_can_be_accepted(normal):
    moved = stirred_tank(1800, fault="set_point", random_state=3).samples[200:]
    updated, given = (SlowFeatureMonitor(n_delays=2).fit(normal) for _ in range(2))
    for x in moved:
        updated.update(x)
    updated.accept(since=100)
    given.accept(moved, since=100)
    np.testing.assert_allclose(updated.statistics(moved), given.statistics(moved), rtol=1e-9)
    assert updated.update(moved[0]).row == len(moved)
    with pytest.raises(ValueError, match="no rows since row 5000"):
        updated.accept(since=5000)


def test_a_monitor_that_forgets_within_too_few_rows_is_refused(normal):
    for forget in (1, 50, 200):
        with pytest.raises(ValueError, match="is too short for 24 features"):
            SlowFeatureMonitor(n_delays=2, forget=forget).fit(normal)
    changed = SlowFeatureMonitor(n_delays=2).fit(normal).set_params(forget=50)
    with pytest.raises(ValueError, match="is too short for 24 features"):
        changed.update(normal[0])


def test_the_least_forget_has_few_false_alarms():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6)) @ rng.standard_normal((6, 6))
    with pytest.raises(ValueError, match="use at least 120"):
        SlowFeatureMonitor(forget=119).fit(X[:5000])
    monitor = SlowFeatureMonitor(forget=120).fit(X[:5000])
    assert np.all((watched(monitor, X[5000:]).statistics[1:] > monitor.limits_).mean(axis=0) < 0.03)


@pytest.mark.parametrize("memory", [2.0, 50.0, 1000.0])
def test_the_level_is_that_of_browns_smoothing(memory):
    """Behind a level that moves at a constant rate, double exponential smoothing has the level and the trend."""
    normal = Normal.of_training(np.ones(1), 1000, 0.5, np.full((1, 1), 1e9))  # no drift is too fast
    block = np.linspace(-0.5, 0.5, 50)[:, None]
    for t in range(200):
        normal = normal.following(0.01 * (t + block), np.full((50, 1), np.nan), memory)
    assert np.isfinite(normal.level)
    assert normal.level == pytest.approx(0.01 * 200, rel=0.05)  # in the middle of the next block


@pytest.mark.parametrize(
    "model",
    [
        SFA(lag=5),
        GraphSFA(graph="serial"),
    ],
)
def test_a_model_of_other_changes_cannot_follow(normal, model):
    model.fit(normal, *([np.arange(len(normal))] if isinstance(model, GraphSFA) else []))
    SlowFeatureMonitor(model=model).fit(normal)
    with pytest.raises(ValueError, match="forget needs a model of the change from one row to the next"):
        SlowFeatureMonitor(model=model, forget=2000).fit(normal)
    uneven = SFA().fit(normal, time=np.arange(len(normal)) * 2.0)
    with pytest.raises(ValueError, match="forget needs a model of the change from one row to the next"):
        SlowFeatureMonitor(model=uneven, forget=2000).fit(normal)


def test_forget_after_the_fit_does_not_absorb_a_fault(normal):
    faulty = stirred_tank(12_000, random_state=3).samples.copy()
    faulty[:, 1] += 30 * normal[:, 1].std() * np.arange(12_000) / 12_000
    monitor = SlowFeatureMonitor(n_delays=2).fit(normal).set_params(forget=2000)
    assert (watched(monitor, faulty).verdicts[-2000:] != "normal").mean() > 0.9


def test_few_accepted_rows_are_a_warning(normal):
    moved = stirred_tank(3000, fault="set_point", start=0, random_state=3).samples
    monitor = SlowFeatureMonitor(n_delays=2).fit(normal)
    needed = 10 * monitor.calibration_.correlation_time
    with pytest.warns(ShortCalibrationWarning, match="299 rows are too few to know a new operating point") as caught:
        monitor.accept(moved[:300])  # the first one has no delay
    assert caught[0].filename == __file__
    assert f"use at least about {int(np.ceil(needed)):,} rows" in str(caught[0].message)
    monitor.accept(moved, since=1000)


@pytest.mark.parametrize("given", [True, False])
def test_rows_before_the_first_cannot_be_accepted(normal, given):
    monitor = SlowFeatureMonitor().fit(normal)
    monitor.update(normal[0])
    with pytest.raises(ValueError, match="since must be the number of a row, from 0; got -5"):
        monitor.accept(*([normal] if given else []), since=-5)


def test_a_series_is_matched_by_name():
    pd = pytest.importorskip("pandas")
    plant = stirred_tank(12_000, random_state=0)
    frame = pd.DataFrame(plant.samples, columns=plant.columns)
    monitor = SlowFeatureMonitor().fit(frame)
    assert monitor.update(frame.iloc[0]).verdict == monitor.verdicts(frame[:1])[0]
    with pytest.raises(ValueError, match="in another order"):
        monitor.update(frame.iloc[1][::-1])
    with pytest.raises(ValueError, match=r"must have the names of the columns, feed_flow, .*; got x, "):
        monitor.update(frame.iloc[1].rename({"feed_flow": "x"}))
    assert monitor.update(frame.iloc[1].to_numpy()).row == 1  # the refused rows do not count
    assert monitor.update(list(frame.iloc[2])).row == 2


def test_one_row_cannot_be_accepted_with_delays(normal):
    monitor = SlowFeatureMonitor(n_delays=2).fit(normal)
    with pytest.raises(ValueError, match="1 row cannot be accepted: the features need 2 consecutive rows"):
        monitor.accept(stirred_tank(1, random_state=1).samples)
