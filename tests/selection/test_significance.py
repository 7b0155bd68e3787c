"""Features against chance."""

import numpy as np
import pytest

from biosfa.selection import significance
from tests.selection.test_timescales import processes


def test_independent_channels_are_chance_and_have_memory():
    """``make bench-choosing`` has 200 runs: here, more than 5 of 30 runs at the 5% level have a probability of 0.3%."""
    rng = np.random.default_rng(0)
    found = [significance(processes([20] * 5, 2000, rng), n_surrogates=39, random_state=i) for i in range(30)]
    assert sum(each.n_real > 0 for each in found) <= 5
    assert all(each.n_slow == 5 for each in found)


def test_one_source_in_all_channels_is_the_only_real_feature():
    rng = np.random.default_rng(1)
    source = processes([30], 2000, rng)
    for seed in range(5):
        X = np.sqrt(0.5) * source * rng.choice([-1.0, 1.0], 10) + rng.standard_normal((2000, 10))
        found = significance(X, n_components=3, random_state=seed)
        assert (found.n_real, found.n_slow) == (1, 1)
        assert found.p_spectrum[0] == pytest.approx(0.01)  # the smallest that 99 surrogates can give


def test_white_noise_is_neither_real_nor_slow():
    X = np.random.default_rng(2).standard_normal((1000, 5))
    found = significance(X, random_state=0)
    assert (found.n_real, found.n_slow) == (0, 0)


def test_a_seed_gives_the_same_result_however_many_threads_there_are(monkeypatch):
    X = processes([10, 5, 1], 1000, np.random.default_rng(0))
    several = significance(X, n_surrogates=19, random_state=3)
    monkeypatch.setattr("joblib.cpu_count", lambda: 1)
    one = significance(X, n_surrogates=19, random_state=3)
    np.testing.assert_array_equal(several.chance_spectrum, one.chance_spectrum)
    np.testing.assert_array_equal(several.chance_shuffled, one.chance_shuffled)


def test_only_the_first_rows_are_tested():
    X = processes([10, 5], 3000, np.random.default_rng(0))
    assert significance(X, max_rows=500, n_surrogates=19, n_components=1, random_state=0).n_rows == 500


def test_too_few_surrogates_for_the_level_are_an_error():
    with pytest.raises(ValueError, match="use more surrogates"):
        significance(np.zeros((10, 2)), n_surrogates=10)


def test_a_single_column_is_chance():
    rng = np.random.default_rng(3)
    for T in (20, 200):
        assert significance(processes([T], 5000, rng), n_surrogates=39, random_state=0).n_real == 0


def test_walks_without_anything_in_common_are_chance():
    """More than 5 of 30 runs at the 5% level have a probability of 0.3%."""
    rng = np.random.default_rng(4)
    walks = (rng.standard_normal((2000, 5)).cumsum(axis=0) for _ in range(30))
    assert sum(significance(X, n_surrogates=39, random_state=0).n_real > 0 for X in walks) <= 5


def test_episodes_do_not_hide_a_source_that_columns_share():
    rng = np.random.default_rng(5)
    source = processes([100], 4000, rng)
    X = np.sqrt(0.5) * source * rng.choice([-1.0, 1.0], 10) + rng.standard_normal((4000, 10))
    for lengths in (None, [20] * 200):
        assert significance(X, lengths=lengths, n_surrogates=39, random_state=0).n_real == 1


def test_fewer_features_than_asked_for():
    X = processes([10, 5], 1000, np.random.default_rng(0))
    found = significance(np.column_stack([X, X.sum(axis=1)]), n_components=5, n_surrogates=19, random_state=0)
    assert len(found.delta_values) == 2
