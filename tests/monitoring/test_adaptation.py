"""A monitor that follows a process, and one that accepts a new operating point."""

import numpy as np
import pytest

from biosfa.datasets import stirred_tank
from biosfa.io import open_stream
from biosfa.monitoring import SlowFeatureMonitor


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
    still = watched(SlowFeatureMonitor(n_delays=2).fit(normal), X)
    assert (still.verdicts[-2000:] != "normal").mean() > 0.3
    following = SlowFeatureMonitor(n_delays=2, forget=2000).fit(normal)
    alarms = (watched(following, X).statistics[2:] > following.limits_).mean(axis=0)
    assert np.all(alarms < 0.025)
    faulty = X.copy()
    faulty[10_000:, 1] += 30 * normal[:, 1].std() * np.arange(10_000) / 20_000
    found = watched(SlowFeatureMonitor(n_delays=2, forget=2000).fit(normal), faulty)
    assert (found.verdicts[-2000:] != "normal").mean() > 0.9
    assert found.causes[-2000:].sum(axis=0).argmax() == 1


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
