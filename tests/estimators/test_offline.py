"""The offline algorithm reaches the optimum that the paper predicts, by descending its objective."""

import numpy as np
import pytest

from biosfa import SFA, DivergenceError, OfflineBioSFA, metrics
from biosfa.objectives import minmax_objective, offline_objective, similarity_objective
from tests.conftest import slow_mixture


@pytest.fixture(scope="module")
def X():
    return slow_mixture(20_000, seed=1)[1]


def test_reaches_the_predicted_weights_and_features(X):
    k = 3
    offline = OfflineBioSFA(k, random_state=0).fit(X)
    exact = SFA(k).fit(X)
    moments = metrics.moments(X)
    assert offline.converged_
    W, M = offline.W_, offline.M_
    V = np.linalg.solve(M, W)
    np.testing.assert_allclose(np.linalg.eigvalsh(M), np.sort(4 - exact.delta_values_), rtol=1e-6)
    np.testing.assert_allclose(V @ moments.covariance @ V.T, np.eye(k), atol=1e-6)
    np.testing.assert_allclose(W, M @ V, rtol=1e-12)
    C_bar = 4 * moments.covariance - moments.difference_covariance
    np.testing.assert_allclose(W, V @ C_bar @ np.linalg.pinv(moments.covariance), atol=1e-6 * np.abs(W).max())
    np.testing.assert_allclose(offline.delta_values_, exact.delta_values_, rtol=1e-6)
    assert metrics.subspace_angle(offline.components_, exact.components_, moments) < 1e-4
    np.testing.assert_allclose(np.abs(offline.transform(X)), np.abs(exact.transform(X)), atol=1e-3)


@pytest.mark.parametrize("ratio", [0.1, 0.9, 0.999])
def test_M_stays_positive_definite_below_tau(X, ratio):
    for steps in (1, 5, 50):
        offline = OfflineBioSFA(2, learning_rate=ratio * 0.05, tau=0.05, max_iter=steps, random_state=0).fit(X)
        assert np.linalg.eigvalsh(offline.M_).min() > 0
    with pytest.raises(ValueError, match="stay below tau"):
        OfflineBioSFA(2, learning_rate=0.05, tau=0.05).fit(X)


def test_steps_are_gradients_of_the_objective():
    """W descends and M ascends: the change of each is ∓η times the numerical gradient."""
    rng = np.random.default_rng(0)
    signal = slow_mixture(500, seed=2)[1][:, :4]
    moments = metrics.moments(signal)
    C_xx, C_bar = moments.covariance, 4 * moments.covariance - moments.difference_covariance
    W, M = rng.standard_normal((2, 4)), np.eye(2) + 0.1
    V = np.linalg.solve(M, W)
    h = 1e-6
    for i, j in np.ndindex(W.shape):
        nudge = h * (np.arange(W.size).reshape(W.shape) == i * 4 + j)
        slope = offline_objective(W + nudge, M, C_xx, C_bar) - offline_objective(W - nudge, M, C_xx, C_bar)
        assert -slope / (2 * h) == pytest.approx(2 * (V @ C_bar - W @ C_xx)[i, j], rel=1e-5)
    for i, j in np.ndindex(M.shape):
        nudge = h * (np.arange(M.size).reshape(M.shape) == i * 2 + j)
        slope = offline_objective(W, M + nudge, C_xx, C_bar) - offline_objective(W, M - nudge, C_xx, C_bar)
        assert slope / (2 * h) == pytest.approx((V @ C_bar @ V.T - M)[i, j], rel=1e-4)


def test_objectives_agree_at_their_optima():
    """Eq. (11) at its optimal W and M is Eq. (9) without the part that does not depend on Ȳ, for any Ȳ."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 50))
    X_bar, Y_bar = X[:, 1:] + X[:, :-1], rng.standard_normal((2, 49))
    T, C_xx = 49, X @ X.T / 50
    W, M = Y_bar @ X_bar.T @ np.linalg.inv(C_xx) / T, Y_bar @ Y_bar.T / T
    without = similarity_objective(0 * Y_bar, X_bar, C_xx)
    optimum = minmax_objective(W, M, Y_bar, X_bar, C_xx)
    assert optimum == pytest.approx(similarity_objective(Y_bar, X_bar, C_xx) - without)
    for _ in range(5):
        assert minmax_objective(W + 0.1 * rng.standard_normal(W.shape), M, Y_bar, X_bar, C_xx) > optimum
        nudge = 0.1 * rng.standard_normal(M.shape)
        assert minmax_objective(W, M + nudge + nudge.T, Y_bar, X_bar, C_xx) < optimum
    best = np.linalg.solve(M, W @ X_bar)
    C_bar = X_bar @ X_bar.T / T
    assert minmax_objective(W, M, best, X_bar, C_xx) == pytest.approx(offline_objective(W, M, C_xx, C_bar))


def test_slow_features_minimise_the_similarity_objective():
    X = slow_mixture(400, times=(20.0, 5.0), n_noise=2, seed=3)[1]
    sfa = SFA(2).fit(X)
    centred = X - X.mean(axis=0)
    X_bar = (centred[1:] + centred[:-1]).T
    C_xx = centred.T @ centred / len(X)

    def objective(V):
        return similarity_objective(V @ X_bar, X_bar, C_xx)

    best = objective(sfa.components_)
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1, 1.0):
        other = sfa.components_ + size * rng.standard_normal(sfa.components_.shape)
        assert objective(other) > best


def test_objective_is_recorded_and_falls_to_the_optimum(X):
    offline = OfflineBioSFA(2, random_state=0).fit(X)
    assert len(offline.objective_) == offline.n_iter_
    optimum = -0.5 * np.square(4 - SFA(2).fit(X).delta_values_).sum()
    assert offline.objective_[-1] == pytest.approx(optimum, rel=1e-6)


def test_bad_parameters_are_refused(X):
    for parameters, message in [
        ({"n_components": 11}, "n_features = 10"),
        ({"learning_rate": -1.0}, "positive"),
        ({"tau": -1.0}, "tau must be"),
        ({"max_iter": 0}, "max_iter"),
    ]:
        with pytest.raises(ValueError, match=message):
            OfflineBioSFA(2).set_params(**parameters).fit(X)
    with pytest.raises(DivergenceError, match="diverged"):
        OfflineBioSFA(2, learning_rate=30.0, tau=100.0, random_state=0).fit(X)


@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_auto_rates_follow_the_scale_of_the_input(X, scale):
    plain, scaled = (OfflineBioSFA(2, random_state=0).fit(factor * X) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled.delta_values_, plain.delta_values_, rtol=1e-6)
    np.testing.assert_allclose(scaled.W_ * scale, plain.W_, rtol=1e-6, atol=1e-9)
