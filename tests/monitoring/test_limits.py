"""Limits from values in normal operation, and what persistence rules do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter

from biosfa.monitoring._limits import common_rate, correlation_time, upper_limit
from biosfa.monitoring._verdicts import Persistence, compared_rules, mean_delay


@pytest.mark.parametrize("law", [stats.chi2(10), stats.t(5), stats.expon()])
def test_a_limit_beyond_the_values_is_that_of_the_law(law):
    limits = [upper_limit(law.rvs(500, random_state=seed), 0.001) for seed in range(200)]
    assert np.mean(law.sf(limits)) < 0.002  # a plain quantile of 500 values is exceeded by .002 and more
    assert 0.4 * law.isf(0.001) < np.median(limits) < 1.2 * law.isf(0.001)
    assert np.median(limits) == pytest.approx(law.isf(0.001), rel=0.15)


def test_a_limit_among_many_values_is_their_quantile():
    values = np.random.default_rng(0).standard_normal(5000)
    assert upper_limit(np.append(values, np.nan), 0.01) == np.quantile(values, 0.99)


def test_a_limit_of_values_that_do_not_vary_is_the_value():
    assert upper_limit(np.full(100, 2.0), 0.01) == 2.0


def test_the_common_rate_holds_for_all_statistics_together():
    values = np.random.default_rng(0).chisquare(4, size=(50_000, 4))
    rate = common_rate(values, 0.01)
    assert rate == pytest.approx(1 - 0.99**0.25, rel=0.05)  # independent statistics


def test_statistics_that_never_vary_do_not_count_in_the_common_rate():
    values = np.random.default_rng(0).chisquare(4, size=(50_000, 2))
    padded = np.column_stack([values[:, 0], np.zeros(50_000), values[:, 1], np.full(50_000, 3.0)])
    assert common_rate(padded, 0.01) == common_rate(values, 0.01)
    assert common_rate(np.zeros((100, 2)), 0.01) == 0.01


@pytest.mark.parametrize("time", [3.0, 20.0, 150.0])
def test_the_correlation_time_of_an_exponential_correlation(time):
    memory = np.exp(-1 / time)
    Y = lfilter([1.0], [1.0, -memory], np.random.default_rng(0).standard_normal(400_000))[:, None]
    assert correlation_time(Y, np.arange(len(Y)) == 0) == pytest.approx(time, rel=0.1)


def test_the_correlation_time_takes_no_pairs_across_episodes():
    rng = np.random.default_rng(0)
    episodes = np.repeat(rng.standard_normal(400), 50)[:, None] + 0.1 * rng.standard_normal((20_000, 1))
    starts = np.arange(20_000) % 50 == 0
    assert correlation_time(episodes, starts) > 40  # constant within an episode
    assert correlation_time(episodes, np.arange(20_000) == 0) < 40


@given(st.integers(1, 6), st.integers(0, 5), st.lists(st.booleans(), max_size=40), st.lists(st.integers(1, 7)))
def test_a_persistence_rule_counts_the_last_rows_whatever_the_chunks(k, more, flags, cuts):
    n = k + more
    out = np.array(flags, dtype=bool)[:, None]
    literal = [sum(flags[max(0, t - n + 1) : t + 1]) >= k for t in range(len(flags))]
    rule, found, begin = Persistence.begin((k, n), 1), [], 0
    for size in [*cuts, len(flags)]:
        found += rule.apply(out[begin : begin + size])[:, 0].tolist()
        begin += size
    assert found == literal


def exact_delay(k, n):
    """The mean number of tosses until k of the last n are heads, by first steps from each of the last n − 1 tosses."""
    states = 2 ** (n - 1)
    A, b = np.eye(states), np.ones(states)
    for state in range(states):
        for head in (0, 1):
            window = 2 * state + head
            if window.bit_count() < k:
                A[state, window % states] -= 0.5
    return np.linalg.solve(A, b)[0]


@pytest.mark.parametrize(("k", "n"), [(1, 4), (2, 3), (5, 10), (8, 9), (10, 10), (9, 10)])
def test_the_delay_of_a_rule_is_exact_or_close(k, n):
    assert mean_delay(k, n, np.random.default_rng(0)) == pytest.approx(exact_delay(k, n), rel=0.04)


def test_delays_of_long_rules():
    rng = np.random.default_rng(0)
    assert mean_delay(12, 12, rng) == 8190  # a run of 12 heads: 2¹³ − 2 tosses
    assert mean_delay(15, 15, rng) == 65_534
    assert mean_delay(20, 300, rng) == pytest.approx(40, rel=0.02)  # 20 heads
    assert mean_delay(599, 600, rng) == np.inf


def test_rules_are_those_of_the_rows_and_of_the_negative_binomial():
    rng = np.random.default_rng(0)
    out = rng.random((100_000, 1)) < 0.02
    rules = {(rule.k, rule.n): rule for rule in compared_rules(out, (2, 50), 1, rng)}
    assert rules[1, 1].false_alarms == pytest.approx(0.02, rel=0.1)
    assert rules[2, 2].false_alarms == pytest.approx(0.02**2, rel=0.5)
    assert rules[1, 1].delay_half == pytest.approx(2.0, rel=0.03)
    assert rules[2, 2].delay_half == pytest.approx(6.0, rel=0.03)  # two heads in a row
    assert rules[2, 50].delay_half == pytest.approx(4.0, rel=0.03)  # two heads
