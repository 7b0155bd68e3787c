"""Surrogates keep what they should keep."""

import numpy as np
import pytest

from biosfa import metrics
from biosfa.kernels.surrogates import PhaseRandomised
from tests.conftest import slow_mixture


def test_columns_stay_as_slow_as_they_are_and_share_nothing():
    sources = slow_mixture(4001, times=(20.0, 5.0), n_noise=0, seed=1)[0]
    X = np.column_stack([sources[:, 0], sources[:, 0] + 0.1 * sources[:, 1], sources[:, 1]])
    lengths, rng = np.array([2500, 1501]), np.random.default_rng(0)
    surrogates = PhaseRandomised(X, lengths)
    made = [surrogates.draw(rng) for _ in range(40)]
    slowness = np.mean([metrics.slowness(each, lengths) for each in made], axis=0)
    np.testing.assert_allclose(slowness, metrics.slowness(X, lengths), rtol=0.05)
    assert np.corrcoef(X.T)[0, 1] > 0.99
    # within an episode: the means of episodes are kept. One of them has a spread of about 0.1, the mean of 40 of 0.02
    assert abs(np.mean([np.corrcoef(each[:2500].T)[0, 1] for each in made])) < 0.06


@pytest.mark.parametrize("shape", ["walk", "ramp"])
def test_the_end_of_an_episode_does_not_jump_to_its_beginning(shape):
    """A walk, or a ramp, ends far from where it began: read as a period, it would have one jump that outweighs all."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 1)).cumsum(axis=0) if shape == "walk" else np.linspace(0, 100, 5000)[:, None]
    surrogates = PhaseRandomised(X, np.array([5000]))
    changes = [np.square(np.diff(surrogates.draw(rng), axis=0)).mean() for _ in range(20)]
    assert np.mean(changes) == pytest.approx(np.square(np.diff(X, axis=0)).mean(), rel=0.1)
