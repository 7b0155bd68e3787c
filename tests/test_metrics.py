"""The measures agree with their definitions."""

import numpy as np
import pytest

from biosfa import SFA, metrics
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def X():
    return slow_mixture(2000, seed=1)[1]


def test_slowness_is_that_of_its_definition(X):
    lengths = [500, 1, 1499]
    pairs = [np.diff(part, axis=0) for part in np.split(X, np.cumsum(lengths)[:-1])]
    expected = np.mean(np.concatenate(pairs) ** 2, axis=0) / X.var(axis=0)
    np.testing.assert_allclose(metrics.slowness(X, lengths), expected, rtol=1e-12)


def test_error_is_equation_19(X):
    """Ṽ = WᵀM⁻¹(M⁻¹WC_xxWᵀM⁻¹)^−½, written out, and independent of the basis of the features."""
    rng = np.random.default_rng(0)
    W, M = rng.standard_normal((2, 10)), np.array([[2.0, 0.5], [0.5, 1.0]])
    C_xx, X_dot = np.cov(X.T, bias=True), np.diff(X, axis=0)
    V = np.linalg.solve(M, W)
    variance, U = np.linalg.eigh(V @ C_xx @ V.T)
    V_tilde = V.T @ (U / np.sqrt(variance)) @ U.T
    expected = np.trace(V_tilde.T @ X_dot.T @ X_dot @ V_tilde) / len(X_dot) - SFA(2).fit(X).delta_values_.sum()
    assert metrics.slowness_error(V, X) == pytest.approx(expected)
    np.testing.assert_allclose(metrics.slowness_error([W, V], metrics.moments(X)), expected)


def test_constraint_error_of_white_and_of_halved_features(X):
    V = SFA(3).fit(X).components_
    assert metrics.constraint_error(V, X) < 1e-15
    assert metrics.constraint_error(V / np.sqrt(2), X) == pytest.approx(0.25)


def test_angle_between_signals(X):
    V = SFA(4).fit(X).components_
    turned = np.stack([np.cos(0.3) * V[0] + np.sin(0.3) * V[2], V[1]])
    assert metrics.subspace_angle(V[:2], turned, X) == pytest.approx(0.3, abs=1e-6)
    assert metrics.subspace_angle(V[:2], V[1::-1] * 5, X) < 1e-6


def test_slowest_is_what_exact_features_have(X):
    np.testing.assert_allclose(metrics.slowest(X, 3), metrics.slowness(SFA(3).fit(X).transform(X)), rtol=1e-9)
    with pytest.raises(ValueError, match="rank 10, which is less than n_components"):
        metrics.slowest(X, 11)
    with pytest.raises(ValueError, match="shape"):
        metrics.moments(X[0])
    with pytest.raises(ValueError, match="2 samples"):
        metrics.slowness(X[:1])


def test_dependent_components_have_no_error(X):
    e = np.eye(10)
    with pytest.raises(ValueError, match="only 1 independent"):
        metrics.slowness_error([e[0], e[0] + 1e-9 * e[1]], X)
    with pytest.raises(ValueError, match="give the expanded signal"):
        metrics.slowness_error(e[:, :3], X)


def test_moments_of_many_columns_are_those_of_numpy():
    """Wide signals are taken in larger blocks than narrow ones; here there are three."""
    X = np.random.default_rng(0).standard_normal((900, 700)).cumsum(axis=0) + 5.0
    found = metrics.moments(X, lengths=[400, 500])
    np.testing.assert_allclose(found.covariance, np.cov(X.T, bias=True), rtol=1e-9, atol=1e-9)
    steps = np.concatenate([np.diff(X[:400], axis=0), np.diff(X[400:], axis=0)])
    np.testing.assert_allclose(found.difference_covariance, steps.T @ steps / len(steps), rtol=1e-9, atol=1e-9)
