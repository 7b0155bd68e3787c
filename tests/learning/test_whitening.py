"""Whitening that is learned from a stream."""

import numpy as np
from scipy.linalg import subspace_angles

from biosfa.learning._whitening import FullWhitening, LowRankWhitening
from tests.conftest import ill_conditioned


def test_lost_directions_of_a_low_rank_whitening_come_back():
    rng = np.random.default_rng(0)
    whitening = LowRankWhitening(40, float, np.inf, 8, np.random.RandomState(0))
    for scale in (1.0, 0.0, 1.0):
        for _ in range(2):
            whitening.take(scale * rng.standard_normal((4000, 40)), np.empty((4000, 40)))
            whitening.refresh()
    assert np.linalg.matrix_rank(whitening.basis) == 8


def test_full_whitening_whitens():
    _, X = ill_conditioned(20_000, 1e5)
    whitening = FullWhitening(10, float, np.inf)
    for begin in range(0, len(X), 5000):
        whitening.take(X[begin : begin + 5000].copy(), np.empty((5000, 10)))
        whitening.refresh()
    Z = whitening.apply(X)
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(10), atol=1e-3)
    W = np.random.default_rng(1).standard_normal((3, 10))
    np.testing.assert_allclose(whitening.weights_of_input(W) @ X.T, W @ Z.T, rtol=1e-8)
    np.testing.assert_allclose(whitening.weights_of_white(whitening.weights_of_input(W)), W, atol=1e-2)


def test_low_rank_whitening_finds_the_strongest_directions():
    rng = np.random.default_rng(0)
    strong = np.linalg.qr(rng.standard_normal((60, 3)))[0]
    X = rng.standard_normal((40_000, 60)) + (rng.standard_normal((40_000, 3)) * [9.0, 6.0, 4.0]) @ strong.T
    whitening = LowRankWhitening(60, float, np.inf, 5, np.random.RandomState(0))
    for begin in range(0, len(X), 4000):
        whitening.take(X[begin : begin + 4000].copy(), np.empty((4000, 60)))
        whitening.refresh()
    correlation = np.corrcoef(X.T)
    leading = np.linalg.eigh(correlation)[1][:, -3:]
    assert subspace_angles(whitening.basis[:3].T, leading).max() < 0.1
    Z = whitening.apply(X)
    spectrum = np.linalg.eigvalsh(Z.T @ Z / len(Z))
    assert spectrum[-1] / spectrum[0] < 0.2 * np.linalg.cond(correlation)
    W = rng.standard_normal((3, 60))
    np.testing.assert_allclose(whitening.weights_of_input(W) @ X.T, W @ Z.T, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(whitening.weights_of_white(whitening.weights_of_input(W)), W, rtol=1e-8)
