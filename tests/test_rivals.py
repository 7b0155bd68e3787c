"""Rivals that the paper names: convergence, episodes, chunks, files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import biosfa
from biosfa import SFA, IncrementalSFA, InverseTime, OnlineGEV, metrics
from biosfa.kernels.rivals import amnesic_rate
from tests.conftest import slow_mixture

RIVALS = {
    "incremental": IncrementalSFA(2, random_state=0),
    "incremental-few": IncrementalSFA(2, n_whitened=3, n_delays=2, random_state=0),
    "gev": OnlineGEV(1, learning_rate=InverseTime(100.0, 0.1), random_state=0),
    "gev-two": OnlineGEV(2, expansion="quadratic", random_state=0),
}


@pytest.fixture(scope="module")
def X():
    return slow_mixture(300, times=(30.0, 5.0), n_noise=3, seed=1)[1]


def degrees(model, X):
    return float(np.degrees(metrics.subspace_angle(model.components_, SFA(model.n_components).fit(X).components_, X)))


def test_incremental_sfa_finds_the_slow_subspace(mixture):
    net = IncrementalSFA(3, random_state=0).fit(mixture[1])
    assert degrees(net, mixture[1]) < 1.0  # its paper: within 5 degrees
    np.testing.assert_allclose(net.delta_values_, SFA(3).fit(mixture[1]).delta_values_, rtol=0.1)
    V = net._state.V
    variances = np.linalg.eigvalsh(np.cov(mixture[1].T))
    np.testing.assert_allclose(np.sort(np.linalg.norm(V, axis=1)), variances, rtol=0.05)


def test_one_online_generalized_eigenvector():
    X = slow_mixture(1_000_000)[1]
    net = OnlineGEV(1, random_state=0).fit(X)
    assert degrees(net, X) < 2.0
    assert net.delta_values_[0] == pytest.approx(SFA(1).fit(X).delta_values_[0], rel=0.1)


def test_several_of_them_one_after_the_other(mixture):
    net = OnlineGEV(3, random_state=0).fit(mixture[1])
    assert degrees(net, mixture[1]) < 1.0
    np.testing.assert_allclose(net.delta_values_, SFA(3).fit(mixture[1]).delta_values_, rtol=0.15)


def test_incremental_sfa_literally(X):
    """Kompella et al.: Algorithms 1 to 3, one line after the other."""
    eta, k, m = 0.02, 2, X.shape[1]
    W = np.linalg.qr(np.random.RandomState(0).standard_normal((m, k)))[0].T
    V, G, mean = np.zeros((m, m)), np.zeros(m), np.zeros(m)
    for t, x in enumerate(X):
        r = amnesic_rate(t + 1.0)
        mean = mean + r * (x - mean)
        u = x - mean
        for i in range(min(m, t + 1)):
            length = np.linalg.norm(V[i])
            if length:
                V[i] = (1 - r) * V[i] + r * (u @ V[i] / length) * u
            elif u @ u > 1e-20 * np.square(x - mean).sum():
                V[i] = u
            u = u - (u @ V[i]) * V[i] / max(V[i] @ V[i], 1e-300)
        lengths = np.linalg.norm(V, axis=1, keepdims=True)
        whitening = np.divide(V, lengths**1.5, out=np.zeros((m, m)), where=lengths > 0)
        if t > 0:
            z_dot = whitening @ (x - X[t - 1])
            r_G = z_dot @ G / np.linalg.norm(G) if G.any() else 1.0
            G = (1 - r) * G + r * r_G * z_dot
            step = eta / (1 + eta * z_dot @ z_dot)
            for i in range(k):
                pushed = sum((W[j] @ W[i] * W[j] for j in range(i)), np.zeros(m)) * np.linalg.norm(G)
                W[i] = (1 - step) * W[i] - step * ((z_dot @ W[i]) * z_dot + pushed)
                W[i] /= np.linalg.norm(W[i])
    net = IncrementalSFA(2, learning_rate=eta, random_state=0).fit(X)
    np.testing.assert_allclose(net._state.V, V, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(net._state.W, W, rtol=1e-7, atol=1e-9)


def test_what_online_gev_has_found_is_a_generalized_eigenvector(mixture):
    X = mixture[1]
    C_xx = np.cov(X.T)
    x_bar = X[1:] + X[:-1]
    C_bar = x_bar.T @ x_bar / len(x_bar)
    w = OnlineGEV(1, random_state=0).fit(X).components_[0]
    quotient = (w @ C_bar @ w) / (w @ C_xx @ w)
    residual = np.linalg.solve(C_xx, C_bar @ w) - quotient * w
    assert np.linalg.norm(residual) < 0.02 * quotient * np.linalg.norm(w)
    assert w @ C_xx @ w == pytest.approx(1.0, rel=0.15)


@pytest.mark.parametrize("name", RIVALS)
def test_generic(name, X, tmp_path):
    model = RIVALS[name]
    whole = clone(model).partial_fit(X)
    single = clone(model)
    for x in X:
        single.learn_one(x)
    np.testing.assert_allclose(single.components_, whole.components_, rtol=1e-7, atol=1e-9)
    # episodes: their boundary takes no difference, and two models of one each know no more
    cut = clone(model).fit(X, lengths=[120, 180])
    parts = clone(model).partial_fit(X[:120])
    parts.end_episode().partial_fit(X[120:])
    np.testing.assert_allclose(cut.components_, parts.components_, rtol=1e-9)
    assert cut.n_updates_ == whole.n_updates_ - model.n_delays
    # files
    path = tmp_path / "model"
    half = clone(model).partial_fit(X[:150])
    half.save(path)
    loaded = biosfa.load(path)
    np.testing.assert_array_equal(loaded.partial_fit(X[150:]).components_, half.partial_fit(X[150:]).components_)
    # input is not kept, and not changed
    before = X.copy()
    clone(model).fit(X)
    np.testing.assert_array_equal(X, before)
    size = sum(array.nbytes for array in whole._state)
    assert sum(array.nbytes for array in clone(model).fit(np.tile(X, (5, 1)))._state) == size


@given(cuts=st.lists(st.integers(1, 299), max_size=5), name=st.sampled_from(sorted(RIVALS)))
def test_chunks_change_nothing(cuts, name):
    X = slow_mixture(300, times=(30.0, 5.0), n_noise=3, seed=1)[1]
    whole, parts = clone(RIVALS[name]).partial_fit(X), clone(RIVALS[name])
    for part in np.split(X, sorted(set(cuts))):
        parts.partial_fit(part)
    np.testing.assert_allclose(parts.components_, whole.components_, rtol=1e-7, atol=1e-9)


def test_amnesic_average_is_a_mean_at_first():
    assert [amnesic_rate(float(n)) for n in (1, 2, 10)] == [1.0, 0.5, 0.1]
    assert amnesic_rate(1e6) == pytest.approx(4e-6)


def test_wrong_parameters_are_named():
    X = np.zeros((10, 3))
    for model, message in (
        (IncrementalSFA(2, n_whitened=1), "n_whitened=1 is less"),
        (OnlineGEV(4), "exceeds the number of"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="too large"):
        OnlineGEV(1, random_state=0).fit(np.full((10, 3), 1e300) * np.arange(10)[:, None])
