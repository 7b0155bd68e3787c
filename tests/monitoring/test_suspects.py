"""Stretches of the training data that are not like the others."""

import warnings

import numpy as np
import pandas as pd
import pytest

from biosfa import SFA, SuspiciousRowsWarning
from biosfa.datasets import stirred_tank
from biosfa.monitoring import SlowFeatureMonitor
from biosfa.monitoring._suspects import limits_of_windows, most_alike


def fitted(X, **parameters):
    """Return a monitor, and the warnings about suspicious rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        monitor = SlowFeatureMonitor(**parameters).fit(X)
    return monitor, [str(one.message) for one in caught if one.category is SuspiciousRowsWarning]


def autoregressive(seed, n=6000):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    for i in range(1, n):
        X[i] += np.exp(-1 / np.array([50, 20, 10, 5, 1])) * X[i - 1]
    return X @ rng.standard_normal((5, 5))


@pytest.mark.parametrize("seed", range(4))
def test_normal_operation_is_not_suspicious(seed):
    assert fitted(stirred_tank(12_000, random_state=100 + seed).samples, n_delays=2)[1] == []
    assert fitted(autoregressive(seed))[1] == []
    assert fitted(stirred_tank(12_000, random_state=200 + seed).samples - 300.0, expansion="quadratic")[1] == []


@pytest.mark.parametrize("fault", ["noise", "set_point", "stuck_valve", "drift"])
def test_a_fault_in_a_third_of_the_rows_is_found(fault):
    plant = stirred_tank(12_000, fault=fault, start=8000, random_state=3)
    _, (message,) = fitted(pd.DataFrame(plant.samples, columns=plant.columns), n_delays=2)
    first = int(message.split("rows ")[2].split(" ")[0].replace(",", ""))
    assert 8000 <= first < 9500
    if fault in ("noise", "drift"):
        assert "jacket_temperature" in message.split(";")[0]


@pytest.mark.parametrize("around", [True, False])
def test_a_noisy_stretch_is_named(around):
    plant = stirred_tank(12_000, random_state=0)
    X = plant.samples.copy()
    X[7000:7500, 7] += 5 * np.random.default_rng(0).standard_normal(500)
    model = SFA(n_delays=2).fit(stirred_tank(12_000, random_state=1).samples) if around else None
    _, (message,) = fitted(X, n_delays=2, model=model)
    assert "rows 7,000 to 7,499: x7" in message


def test_missing_values_and_few_rows_are_no_reason_to_stop():
    X = stirred_tank(12_000, random_state=0).samples.copy()
    X[2000:3500] = np.nan
    assert fitted(X, n_delays=2)[1] == []
    assert fitted(X[:150], n_delays=2)[1] == []


def test_the_blocks_that_are_most_alike_have_the_smallest_statistics():
    statistics = np.random.default_rng(0).exponential(size=(1000, 4))
    statistics[300:500] *= 3
    statistics[600:700] = np.nan
    assert set(most_alike(statistics, 100, 7)) == {0, 1, 2, 5, 7, 8, 9}


def test_limits_of_windows():
    statistics = np.random.default_rng(0).exponential(size=(1000, 4))
    expected = np.array([5.0, 5.0, 1.5, 1.5]) * np.log(10)  # 90% of exponential values are below ln 10
    np.testing.assert_allclose(limits_of_windows(statistics), expected, rtol=0.1)
