"""The rivals that the paper names: literal forms, convergence, episodes, chunks, files."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import biosfa
from biosfa import SFA, BioSFA, InverseTime, metrics
from biosfa.kernels.rivals import amnesic_rate
from biosfa.recordings.inspection import as_text, inspect
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from tests.conftest import slow_mixture

RIVALS = {
    "incremental": IncrementalSFA(2, random_state=0),
    "incremental-few": IncrementalSFA(2, n_whitened=3, n_delays=2, random_state=0),
    "gev": OnlineGEV(1, learning_rate=InverseTime(100.0, 0.1), random_state=0),
    "trace": FoldiakTrace(2, random_state=0),
    "trace-sum": FoldiakTrace(3, trace="sum", learning_rate=InverseTime(100.0, 0.1), random_state=0),
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


def lines():
    """Földiák's stimuli: simple cells of 4 orientations at 8 × 8 places, and 8 lines of each orientation."""
    i, j = np.mgrid[:8, :8]
    frames = np.zeros((4, 8, 4, 8, 8))
    for orientation, place in enumerate((i, j, (i + j) % 8, (i - j) % 8)):
        for position in range(8):
            frames[orientation, position, orientation] = place == position
    return frames.reshape(4, 8, 256)


@pytest.mark.parametrize("seed", range(3))
def test_lines_that_sweep_make_units_that_know_orientation_and_not_position(seed):
    rng = np.random.default_rng(seed)
    frames = lines()
    sweeps = [frames[rng.integers(4)][:: rng.choice([-1, 1])] for _ in range(500)]

    def preferred(**settings):
        net = FoldiakTrace(4, random_state=seed, **settings).fit(np.concatenate(sweeps))
        return net.winner(frames.reshape(32, 256)).reshape(4, 8)

    with_trace = preferred()
    assert (with_trace == with_trace[:, :1]).all()
    assert sorted(with_trace[:, 0]) == [0, 1, 2, 3]
    without = preferred(trace_rate=1.0)  # which has no memory, and cannot know what belongs together
    assert not (without == without[:, :1]).all(axis=1).any()


def test_the_trace_rule_literally(X):
    for trace in ("decay", "sum"):
        net = FoldiakTrace(2, trace=trace, trace_rate=0.3, learning_rate=0.05, random_state=0)
        W = 0.1 * np.random.RandomState(0).random_sample((2, 5))
        y_bar, y_prev = np.zeros(2), np.zeros(2)
        for t, x in enumerate(X):
            y = np.eye(2)[np.argmax(W @ x)]
            y_bar = y + y_prev if trace == "sum" else 0.7 * y_bar + 0.3 * y
            if t > 0:  # the first sample of an episode makes no update, as for all of them
                W += 0.05 * y_bar[:, None] * (x - W)
            y_prev = y
        np.testing.assert_allclose(net.fit(X)._state.W, W, rtol=1e-9)


def test_one_linear_unit_of_the_trace_rule_becomes_bio_sfa(X):
    """Put x̄ for x, ax for the decay ȳw, and y = a/M for the competition: the steps are those of Bio-SFA."""
    eta = 0.01
    net = BioSFA(1, learning_rate=eta, tau=0.5, center=False, random_state=0).fit(X)
    w, M = np.random.RandomState(0).standard_normal(5) / np.sqrt(5), 1.0
    y_prev = w @ X[0] / M
    for before, x in pairwise(X):
        a = w @ x
        y = a / M
        y_bar, x_bar = y + y_prev, x + before
        w = w + 2 * eta * (y_bar * x_bar - a * x)
        M += eta / 0.5 * (y_bar**2 - M)
        y_prev = y
    np.testing.assert_allclose(net.W_[0], w, rtol=1e-7)


@pytest.mark.parametrize("name", RIVALS)
def test_one_sample_at_a_time_is_the_same(name, X):
    whole, single = clone(RIVALS[name]).partial_fit(X), clone(RIVALS[name])
    for x in X:
        single.learn_one(x)
    np.testing.assert_allclose(single.components_, whole.components_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", RIVALS)
def test_no_difference_is_taken_across_episodes(name, X):
    model = RIVALS[name]
    whole, cut = clone(model).fit(X), clone(model).fit(X, lengths=[120, 180])
    parts = clone(model).partial_fit(X[:120]).end_episode().partial_fit(X[120:])
    np.testing.assert_allclose(cut.components_, parts.components_, rtol=1e-9)
    assert cut.n_updates_ == whole.n_updates_ - model.n_delays


@pytest.mark.parametrize("name", RIVALS)
def test_a_saved_rival_resumes_exactly_where_it_was(name, X, tmp_path):
    half = clone(RIVALS[name]).partial_fit(X[:150])
    half.save(tmp_path / "model")
    loaded = biosfa.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.partial_fit(X[150:]).components_, half.partial_fit(X[150:]).components_)


@pytest.mark.parametrize("name", RIVALS)
def test_a_saved_rival_can_be_inspected(name, X, tmp_path):
    model = clone(RIVALS[name]).partial_fit(X[:150])
    model.save(tmp_path / "model")
    n_samples = 150 - (model.n_delays - 1)
    assert f"{n_samples} samples, {n_samples - 1} updates" in as_text(inspect(str(tmp_path / "model")))


@pytest.mark.parametrize("name", RIVALS)
def test_input_is_neither_changed_nor_kept(name, X):
    before = X.copy()
    sizes = {
        sum(array.nbytes for array in clone(RIVALS[name]).fit(samples)._state) for samples in (X, np.tile(X, (5, 1)))
    }
    np.testing.assert_array_equal(X, before)
    assert len(sizes) == 1


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
        (FoldiakTrace(trace="echo"), "trace must be one of"),
        (FoldiakTrace(trace_rate=0.0), "between 0 and 1"),
        (OnlineGEV(4), "exceeds the number of"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X)


@pytest.mark.parametrize("name", RIVALS)
@pytest.mark.parametrize("scale", [1e160, 1e300])
def test_samples_that_overflow_are_refused_and_change_nothing(name, scale, X):
    net = clone(RIVALS[name]).partial_fit(X)
    before = net.components_.copy(), net.n_samples_seen_
    with np.errstate(all="ignore"):
        for learn in (net.partial_fit, lambda rows: net.learn_one(rows[-1]), clone(net).partial_fit, clone(net).fit):
            with pytest.raises(ValueError, match="too large"):
                learn(scale * X)
    np.testing.assert_array_equal(net.components_, before[0])
    assert net.n_samples_seen_ == before[1]
