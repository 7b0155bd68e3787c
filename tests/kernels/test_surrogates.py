"""Surrogates keep what they should keep."""

import numpy as np
import pytest

from biosfa import metrics
from biosfa.kernels.surrogates import EpisodesShifted, RowsShifted, SignRandomised
from tests.conftest import slow_mixture


def test_columns_stay_as_slow_as_they_are_and_share_nothing():
    sources = slow_mixture(4001, times=(20.0, 5.0), n_noise=0, seed=1)[0]
    X = np.column_stack([sources[:, 0], sources[:, 0] + 0.1 * sources[:, 1], sources[:, 1]])
    lengths, rng = np.array([2500, 1501]), np.random.default_rng(0)
    surrogates = SignRandomised(X, lengths)
    made = [surrogates.draw(rng) for _ in range(40)]
    for each in made:
        np.testing.assert_allclose(metrics.slowness(each, lengths), metrics.slowness(X, lengths), rtol=0.01)
    assert np.corrcoef(X.T)[0, 1] > 0.99
    # one correlation has a spread of about 0.1, the mean of 40 of 0.02
    assert abs(np.mean([np.corrcoef(each.T)[0, 1] for each in made])) < 0.06


def test_means_of_short_episodes_are_not_shared_either():
    rng = np.random.default_rng(0)
    level = rng.standard_normal((500, 1, 1))
    X = (level + 0.1 * rng.standard_normal((500, 20, 3))).reshape(-1, 3)
    surrogates = SignRandomised(X, np.full(500, 20))
    assert np.corrcoef(X.T)[0, 1] > 0.9
    assert abs(np.mean([np.corrcoef(surrogates.draw(rng).T)[0, 1] for _ in range(20)])) < 0.05


@pytest.mark.parametrize("shape", ["walk", "ramp"])
def test_columns_that_drift_keep_their_differences_exactly(shape):
    """A walk, or a ramp, ends far from where it began: read as a period, it would have one jump that outweighs all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 1)).cumsum(axis=0) if shape == "walk" else np.linspace(0, 100, 5000)[:, None]
    surrogates = SignRandomised(X, np.array([5000]))
    for _ in range(5):
        made = surrogates.draw(rng)
        assert np.square(np.diff(made, axis=0)).sum() == pytest.approx(np.square(np.diff(X, axis=0)).sum(), rel=1e-9)
        assert made.var() == pytest.approx(X.var(), rel=1e-9)


def pieces_of(rng, kind):
    """Columns, and lengths of episodes: many short, few long, all sorts."""
    lengths = rng.integers(1, int(rng.choice([3, 30, 300])), int(rng.integers(1, 12)))
    X = rng.standard_normal((int(lengths.sum()), int(rng.integers(1, 4))))
    if kind == "walk":
        X = X.cumsum(axis=0)
    if kind == "levels":
        X = np.repeat(rng.standard_normal((len(lengths), X.shape[1])), lengths, axis=0) + 0.1 * X
    return X, lengths


@pytest.mark.parametrize("kind", ["noise", "walk", "levels"])
def test_variance_and_differences_within_episodes_are_kept_for_any_episodes(kind):
    rng = np.random.default_rng(0)
    for _ in range(100):
        X, lengths = pieces_of(rng, kind)
        made = SignRandomised(X, lengths).draw(rng)
        scale = np.square(X - X.mean(axis=0)).sum(axis=0)
        np.testing.assert_allclose(made.mean(axis=0), X.mean(axis=0), atol=1e-10 * np.sqrt(scale.max() + 1))
        np.testing.assert_allclose(len(X) * made.var(axis=0), scale, rtol=1e-10, atol=1e-20)
        np.testing.assert_allclose(within(made, lengths), within(X, lengths), rtol=1e-10, atol=1e-10 * scale.max())


def within(X, lengths):
    """Sum of squared differences within episodes."""
    steps = np.square(np.diff(X, axis=0))
    steps[np.cumsum(lengths)[:-1] - 1] = 0.0
    return steps.sum(axis=0)


def test_shifted_columns_keep_their_episodes_but_not_what_they_share():
    x = slow_mixture(3000, times=(20.0,), n_noise=0, seed=1)[0][:, 0]
    rng = np.random.default_rng(0)
    lengths = rng.permutation(np.repeat([3, 7, 20], 100))
    X = np.column_stack([x, x, x])
    shifted = EpisodesShifted(X, lengths)
    made = [shifted.draw(rng) for _ in range(40)]
    pieces = sorted(map(tuple, np.split(x, np.cumsum(lengths)[:-1])))
    for each in made:
        for column in each.T:
            assert sorted(map(tuple, np.split(column, np.cumsum(lengths)[:-1]))) == pieces
        np.testing.assert_allclose(within(each, lengths), within(X, lengths), rtol=1e-12)
    assert abs(np.mean([np.corrcoef(each.T)[0, 1] for each in made])) < 0.1


def test_rows_of_a_few_long_episodes_are_shifted_within_them():
    X = np.arange(20.0)[:, None] + np.zeros(2)
    made = EpisodesShifted(X, np.array([12, 8])).draw(np.random.default_rng(1))
    for column in made.T:
        assert sorted(column[:12]) == list(range(12))
        assert np.diff(column[:12]).tolist().count(1.0) >= 10  # all but the place where the circle closes


def test_shifted_rows_keep_their_values_but_not_what_they_share():
    x = slow_mixture(3000, times=(20.0,), n_noise=0, seed=1)[0][:, 0]
    X, rng = np.column_stack([x, x, x]), np.random.default_rng(0)
    shifted = RowsShifted(X, np.array([3000]))
    made = [shifted.draw(rng) for _ in range(40)]
    for each in made:
        np.testing.assert_array_equal(np.sort(each, axis=0), np.sort(X, axis=0))
    assert abs(np.mean([np.corrcoef(each.T)[0, 1] for each in made])) < 0.1
