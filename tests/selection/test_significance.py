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


def ar(n, m, T, rng):
    return processes([T] * m, n, rng)


def in_pieces(X, how, rng):
    """Rows and lengths of a recording with gaps."""
    if how.startswith("every"):
        size = int(how.split()[1])
        X = X[: len(X) // size * size]
        return X, np.full(len(X) // size, size)
    kept = np.flatnonzero(np.arange(len(X)) % 7 < 5 if how == "weekends" else rng.random(len(X)) > 0.2)
    starts = np.flatnonzero(np.r_[True, np.diff(kept) > 1])
    return X[kept], np.diff(np.r_[starts, len(kept)])


GAPS = ["every 3", "every 10", "every 100", "weekends", "missing"]


@pytest.mark.parametrize("how", GAPS)
def test_one_column_is_chance_however_it_is_cut(how):
    rng = np.random.default_rng(0)
    for T in (5, 50):
        X, lengths = in_pieces(ar(2000, 1, T, rng), how, rng)
        found = significance(X, n_surrogates=19, lengths=lengths, random_state=0)
        assert found.p_spectrum.tolist() == [1.0]
        assert found.n_columns == 1


@pytest.mark.parametrize("how", GAPS)
def test_gaps_do_not_make_independent_columns_real(how):
    """``make bench-chance`` has 200 runs and many more cases: here, more than 5 of 30 have a probability of 0.3%."""
    rng = np.random.default_rng(1)
    pieces = [in_pieces(ar(1000, 5, 20, rng), how, rng) for _ in range(30)]
    found = [
        significance(X, n_components=1, n_surrogates=19, lengths=lengths, random_state=i)
        for i, (X, lengths) in enumerate(pieces)
    ]
    assert sum(each.n_real > 0 for each in found) <= 5


def test_recordings_with_levels_of_their_own_share_nothing():
    rng = np.random.default_rng(2)
    n_real = 0
    for i in range(30):
        X = np.concatenate([ar(100, 3, 5, rng) + 5 * rng.standard_normal(3) for _ in range(20)])
        n_real += significance(X, n_components=1, n_surrogates=19, lengths=[100] * 20, random_state=i).n_real
    assert n_real <= 5


def test_columns_that_are_constant_within_episodes_are_chance():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.repeat(rng.standard_normal(20), 50), ar(1000, 2, 5, rng)])
    assert significance(X, n_surrogates=19, lengths=[50] * 20, random_state=0).p_spectrum[0] == 1.0


@pytest.mark.parametrize("how", ["unbroken", "missing", "every 10"])
def test_two_shared_sources_are_both_found(how):
    rng, n_real = np.random.default_rng(4), []
    for seed in range(5):
        sources = np.column_stack([ar(2000, 1, 100, rng), ar(2000, 1, 10, rng)])
        X = sources @ rng.standard_normal((2, 8)) + rng.standard_normal((2000, 8))
        X, lengths = (X, None) if how == "unbroken" else in_pieces(X, how, rng)
        n_real.append(significance(X, n_components=3, n_surrogates=39, lengths=lengths, random_state=seed).n_real)
    assert min(n_real) == 2
    assert n_real.count(3) <= 2  # at the level of 5%, three of five have a probability of 0.1%


def test_sine_and_cosine_of_one_angle_are_both_found():
    """Cells that are tuned to an angle which drifts: two features of equal slowness."""
    rng = np.random.default_rng(5)
    for seed in range(3):
        angle = 0.15 * rng.standard_normal(5000).cumsum()
        preferred = rng.uniform(0, 2 * np.pi, 15)
        X = np.cos(angle[:, None] - preferred) + rng.standard_normal((5000, 15))
        found = significance(X, n_components=4, n_surrogates=39, random_state=seed)
        assert found.n_real >= 2
        assert found.delta_values[1] < 2.0 * found.delta_values[0] < found.delta_values[2]


def test_products_of_columns_whose_variance_wanders_are_chance():
    """Shifts keep the variance of each column, which random signs lose."""
    rng = np.random.default_rng(6)
    n_real = 0
    for i in range(20):
        volatility = np.exp(ar(1500, 3, 50, rng))
        X = volatility * rng.standard_normal((1500, 3))
        n_real += significance(X, n_components=1, expansion="quadratic", n_surrogates=19, random_state=i).n_real
    assert n_real <= 4  # more have a probability of 0.3%


def test_a_feature_is_compared_with_what_it_was_tested_against():
    rng = np.random.default_rng(7)
    source = ar(2000, 1, 30, rng)
    X = source * rng.choice([-1.0, 1.0], 6) + rng.standard_normal((2000, 6))
    found = significance(X, n_components=4, n_surrogates=39, random_state=0)
    assert np.isfinite(found.chance_by_feature).all(axis=1).tolist() == [True, True, False, False]
    np.testing.assert_array_equal(found.chance_spectrum, found.chance_by_feature[0])
    assert (found.p_spectrum[2:] == 1.0).all()
    for feature in (0, 1):
        as_slow = np.count_nonzero(found.chance_by_feature[feature] <= found.delta_values[feature])
        assert found.p_spectrum[feature] == pytest.approx((1 + as_slow) / 40)


@pytest.mark.parametrize(("begin", "step"), [(0.0, 1.0), (1.7e9, 1.0), (1.7e12, 1000.0)])
def test_a_counter_is_neither_real_nor_in_the_way(begin, step):
    rng = np.random.default_rng(8)
    X = ar(3000, 1, 30, rng) * rng.choice([-1.0, 1.0], 6) + rng.standard_normal((3000, 6))
    clock = begin + step * np.arange(3000.0)
    found = significance(np.column_stack([clock, X]), n_components=3, n_surrogates=39, random_state=0)
    assert found.real.tolist() == [False, True, False]
    assert found.given_away.tolist() == [True, False, False]
    assert (found.n_real, found.n_leading, found.n_columns) == (1, 2, 6)


def test_a_counter_does_not_make_walks_real():
    rng = np.random.default_rng(9)
    n_real = 0
    for i in range(30):
        X = np.column_stack([np.arange(400.0), rng.standard_normal((400, 5)).cumsum(axis=0)])
        n_real += significance(X, n_components=2, n_surrogates=19, random_state=i).n_real > 0
    assert n_real <= 5


def test_surrogates_may_vary_in_more_dimensions_than_there_are_pairs():
    rng = np.random.default_rng(10)
    X = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 40))
    assert significance(X, lengths=[4] * 10, n_surrogates=19, random_state=0).n_real == 0
