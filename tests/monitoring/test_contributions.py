"""What input columns contribute to the statistics."""

import numpy as np
import pytest

from biosfa import SFA
from biosfa.datasets import stirred_tank
from biosfa.io import open_stream
from biosfa.monitoring import SlowFeatureMonitor


@pytest.fixture(scope="module")
def normal():
    return stirred_tank(12_000, random_state=0).samples


@pytest.mark.parametrize("parameters", [{}, {"n_delays": 3}, {"expansion": "quadratic"}])
def test_contributions_add_up_to_the_statistics(normal, parameters):
    mean, deviation = normal.mean(axis=0), normal.std(axis=0)
    monitor = SlowFeatureMonitor(**parameters).fit((normal - mean) / deviation)
    X = (stirred_tank(200, fault="noise", start=100, random_state=1).samples - mean) / deviation
    shares, statistics = monitor.contributions(X), monitor.statistics(X)
    assert shares.shape == (200, 4, 12)
    np.testing.assert_allclose(shares.sum(axis=2), statistics, rtol=1e-9)
    assert np.nanmin(shares) >= 0.0


@pytest.mark.parametrize("fault", ["bias", "drift", "noise"])
@pytest.mark.parametrize("sensor", ["feed_temperature", "jacket_temperature", "outlet_flow"])
def test_the_faulty_sensor_is_among_the_first_two_causes(normal, fault, sensor):
    monitor = SlowFeatureMonitor(n_delays=2).fit(normal)
    run = stirred_tank(1500, fault=fault, start=500, sensor=sensor, random_state=1)
    causes = monitor.causes(run.samples)
    sums = causes.sum(axis=1)
    assert np.all((np.abs(sums - 1) < 1e-9) | (sums == 0))
    strongest = np.argsort(-causes[500:].sum(axis=0))[:2]
    assert sensor in [run.columns[j] for j in strongest]


def test_a_fault_of_one_column_is_explained_by_it_alone(normal):
    """With one delay, the part of a column is the squared length of a projection: all of it, if only it has changed."""
    monitor = SlowFeatureMonitor(slow_share=1.0).fit(normal)
    x = normal.mean(axis=0) + 10 * normal[:, 4].std() * np.eye(12)[4]
    shares = monitor.contributions(np.stack([normal.mean(axis=0), x]))[1, 0]
    assert shares.argmax() == 4


def test_principal_components_are_traced_to_their_columns(normal):
    monitor = SlowFeatureMonitor(model=SFA(pca=8, n_delays=2).fit(normal)).fit(normal)
    X = stirred_tank(100, random_state=1).samples
    np.testing.assert_allclose(monitor.contributions(X).sum(axis=2)[1:], monitor.statistics(X)[1:], rtol=1e-9)
    assert monitor.contributions(X).shape == (100, 4, 12)
    quadratic = SlowFeatureMonitor(model=SFA(pca=3, expansion="quadratic").fit(normal)).fit(normal)
    with pytest.raises(ValueError, match="contributions are known"):
        quadratic.contributions(X)


def test_an_expansion_without_contributions_has_no_causes_but_verdicts(normal):
    """Only a constant column that moves is named."""
    X = np.column_stack([normal, np.full(len(normal), 7.0)])
    model = SFA(pca=3, expansion="quadratic").fit(X)
    monitor = SlowFeatureMonitor(model=model).fit(X)
    noisy = stirred_tank(200, fault="noise", start=100, random_state=1).samples
    rows = np.column_stack([noisy, np.full(200, 7.0)])
    rows[150, 12] = 8.0
    causes = monitor.causes(rows)
    assert causes.sum() == causes[150, 12] == 1.0
    watched = monitor.watch_chunk(next(iter(open_stream(rows, chunk_size=200))))
    assert watched.verdicts.tolist() == monitor.verdicts(rows).tolist()
    np.testing.assert_array_equal(watched.causes, causes)


def test_nothing_out_of_its_limit_has_no_cause(normal):
    monitor = SlowFeatureMonitor().fit(normal)
    typical = np.tile(normal.mean(axis=0), (5, 1))
    assert not monitor.causes(typical).any()


@pytest.mark.parametrize("seed", range(3))
def test_a_new_set_point_is_blamed_on_the_columns_that_have_moved(seed):
    normal = stirred_tank(12_000, random_state=seed).samples
    monitor = SlowFeatureMonitor(n_delays=2).fit(normal)
    plant = stirred_tank(1500, fault="set_point", start=500, random_state=100 + seed)
    causes = monitor.causes(plant.samples)
    np.testing.assert_allclose(causes.sum(axis=1)[causes.any(axis=1)], 1.0)
    strongest = [plant.columns[j] for j in np.argsort(-causes[500:].sum(axis=0))[:2]]
    distance = np.abs(plant.samples[600:].mean(axis=0) - normal.mean(axis=0)) / normal.std(axis=0)
    assert "temperature" in strongest
    assert all(distance[plant.columns.index(name)] > 2 for name in strongest)


def test_deviations_are_those_of_the_columns():
    normal = stirred_tank(12_000, random_state=0).samples
    monitor = SlowFeatureMonitor(n_delays=2).fit(normal)
    features = monitor._read(normal, None).features.now
    expected = (normal - normal.mean(axis=0)) / normal.std(axis=0)
    np.testing.assert_allclose(monitor._normal.deviations(features)[1:, :12], expected[1:], atol=0.01)
