"""The natural-gradient form, its whitening, forgetting, and the watch on learning."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from biosfa import SFA, BioSFA, DivergenceError, Recorder, metrics
from biosfa.datasets import driven_logistic_map
from biosfa.estimators._events import next_event
from biosfa.estimators._whitening import FullWhitening, LowRankWhitening
from biosfa.kernels import natural, reference
from biosfa.kernels.state import CURRENT, DIFFERENCE, Mode
from tests.conftest import slow_mixture


def ill_conditioned(n_samples, condition, seed=0):
    """Three slow sources among ten dimensions, and a mixture whose covariance has this condition number."""
    sources, X = slow_mixture(n_samples, seed=seed)
    deviations = np.geomspace(1, condition**-0.5, X.shape[1])
    mixing = np.linalg.qr(np.random.default_rng(seed + 1).standard_normal((X.shape[1],) * 2))[0]
    return sources, (X * deviations) @ mixing


@given(data=st.data())
@settings(max_examples=40)
def test_kernel_equals_reference_for_any_chunks(data):
    draw = data.draw
    n, m, P = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 12, 520])), draw(st.integers(1, 3))
    k = min(draw(st.integers(1, 4)), m)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Z = rng.standard_normal((n, P, m)).cumsum(axis=0) * 0.2 + rng.standard_normal((n, P, m))
    starts = rng.random(n) < draw(st.sampled_from([0.0, 0.1]))
    starts[0] = True
    options = {"reversible": draw(st.booleans()), "normalized": draw(st.booleans())}
    window = draw(st.sampled_from([np.inf, 100.0]))
    automatic = draw(st.booleans())
    eta = np.full(n * P, 1e-4)
    state = natural.initial_state(k, m, P, float, np.random.RandomState(0))
    expected = reference.learn_natural(
        Z, state.W, k, eta=None if automatic else eta, starts=starts, window=window, **options
    )
    cuts = [0, *sorted(P * cut for cut in draw(st.lists(st.integers(0, n), max_size=3))), n * P]
    mode = Mode(center=True, relative=automatic, euler=False, window=window, **options)
    for begin, end in pairwise(cuts):
        part = slice(begin, end)
        natural.learn(Z.reshape(-1, m)[part], np.repeat(starts, P)[part], eta[part], begin, k, mode, state)
    ours = {
        "W": state.W + state.change,
        "W_mean": state.W_mean,
        "M": state.M,
        "S": state.S / max(state.weights[CURRENT], 1e-300),
        "D": state.D / max(state.weights[DIFFERENCE], 1e-300),
    }
    for name, array in ours.items():
        theirs = getattr(expected, name)
        assert np.abs(array - theirs).max() <= 1e-8 * max(np.abs(theirs).max(), 1e-300), name


@pytest.mark.parametrize("rule", ["bio-sfa", "reversible"])
def test_learns_ill_conditioned_input_that_the_local_rule_cannot(rule):
    sources, X = ill_conditioned(100_000, 1e6)
    exact = SFA(3).fit(X)
    net = BioSFA(3, rule=rule, preconditioner="whiten", random_state=0).fit(X)
    assert metrics.slowness_error(net.components_, X) < 0.05 * exact.delta_values_.sum()
    np.testing.assert_allclose(net.delta_values_, exact.delta_values_, rtol=0.1)
    correlation = np.abs(np.corrcoef(net.transform(X).T, sources.T)[:3, 3:])
    assert (correlation.diagonal() > 0.98).all()
    assert net.constraint_error_ < 0.1
    local = BioSFA(3, random_state=0).fit(X)
    assert metrics.slowness_error(local.components_, X) > exact.delta_values_.sum()


def test_learns_the_chaotic_series_in_a_hundredth_of_the_samples():
    """The paper's rates need 4e7 samples for an error of 4e-3."""
    X = driven_logistic_map(100_000, random_state=1).expanded()
    net = BioSFA(1, preconditioner="whiten", random_state=0).partial_fit(X[:20_000])
    assert metrics.slowness_error(net.components_, X) < 1e-2
    net.partial_fit(X[20_000:])
    assert metrics.slowness_error(net.components_, X) < 5e-4


def test_weights_are_those_of_the_optimum(mixture):
    """Offline, M = 4 − Λ in the basis of the features, and V = WᵀM⁻¹ is white (the paper's appendix)."""
    X = mixture[1]
    net = BioSFA(3, preconditioner="whiten", random_state=0).fit(X)
    np.testing.assert_allclose(np.diag(net.M_), 4 - SFA(3).fit(X).delta_values_, rtol=0.01)
    V = np.linalg.solve(net.M_, net.W_)
    assert metrics.constraint_error(V, X) < 0.01
    np.testing.assert_allclose(net.neural_output(X[:50]), net.transform(X[:50]), atol=1e-9)


def test_low_rank_whitening_tames_a_few_strong_directions():
    """Strong fast signals slow the local rule down."""
    _, slow = slow_mixture(50_000, n_noise=57, seed=11)
    rng = np.random.default_rng(12)
    X = slow + 30 * rng.standard_normal((50_000, 4)) @ np.linalg.qr(rng.standard_normal((60, 4)))[0].T
    least = metrics.slowest(metrics.moments(X), 3).sum()
    net = BioSFA(3, preconditioner="whiten", whitening_rank=8, random_state=0).fit(X)
    error = metrics.slowness_error(net.components_, X)
    assert error < 0.1 * least
    assert error < 0.5 * metrics.slowness_error(BioSFA(3, random_state=0).fit(X).components_, X)


@pytest.mark.parametrize(("n_noise", "rank"), [(7, "full"), (147, 16)])
def test_rank_deficient_input_works(n_noise, rank):
    _, X = slow_mixture(50_000, n_noise=n_noise, seed=3)
    redundant = n_noise // 7 * 3
    Z = np.hstack([X, X[:, :redundant] + X[:, redundant : 2 * redundant], np.full((len(X), 1), 7.0)])
    net = BioSFA(3, preconditioner="whiten", whitening_rank=rank, random_state=0).fit(Z)
    assert metrics.slowness(net.transform(Z)).sum() < 1.05 * SFA(3).fit(X).delta_values_.sum()
    assert metrics.constraint_error(np.eye(3), net.transform(Z)) < 0.05


def test_rank_deficient_input_works_in_float32():
    _, X = slow_mixture(20_000, seed=3)
    X = np.hstack([X, X[:, :3] + X[:, 3:6], X[:, :2]]).astype(np.float32)
    net = BioSFA(3, preconditioner="whiten", random_state=0).fit(X)
    assert metrics.slowness(net.transform(X)).sum() < 1.05 * SFA(3).fit(X[:, :10]).delta_values_.sum()


def test_spare_outputs_do_not_spoil_the_constraint_error():
    """Two sources in five columns leave nothing for the guards."""
    X = slow_mixture(20_000, times=(50.0, 20.0), n_noise=0, seed=4)[1] @ np.random.default_rng(0).normal(size=(2, 5))
    net = BioSFA(2, preconditioner="whiten", random_state=0).fit(X)
    assert net.constraint_error_ < 0.1
    assert net.watch().warning is None


def test_silence_at_the_beginning_does_not_count():
    X = slow_mixture(5000, seed=8)[1]
    for parameters in ({"preconditioner": "whiten"}, {}):
        late, direct = (BioSFA(2, random_state=0, **parameters) for _ in range(2))
        late.partial_fit(np.zeros((5000, 10))).partial_fit(X)
        direct.partial_fit(np.zeros((1, 10))).partial_fit(X)
        assert metrics.slowness_error(late.components_, X) < 1.5 * metrics.slowness_error(direct.components_, X) + 0.05


def test_events_are_no_rarer_than_the_window_asks_for():
    def events(window):
        due = [0]
        while due[-1] < 100_000:
            due.append(next_event(due[-1], first=2, grid=128, growth=0.125, window=window))
        return np.array(due)

    assert np.diff(events(4096.0)).max() == 512
    assert np.diff(events(np.inf)).max() > 8000
    assert {next_event(n, first=2, grid=128, growth=0.125, window=4096.0) for n in range(50_000, 50_600)} <= {
        *events(4096.0)
    }


def test_a_rate_that_is_far_too_large_does_not_ruin_the_weights():
    X = slow_mixture(50_000, seed=1)[1]
    net = BioSFA(3, preconditioner="whiten", learning_rate=0.4, random_state=0).fit(X)
    assert metrics.slowness_error(net.components_, X) < 0.1 * metrics.slowest(metrics.moments(X), 3).sum()


@pytest.mark.parametrize("gain", [10.0, 1e6])
def test_forgetting_survives_a_change_of_gain(gain):
    X = slow_mixture(50_000, seed=1)[1]
    net = BioSFA(3, preconditioner="whiten", forget=10_000, random_state=0).partial_fit(np.concatenate([X / gain, X]))
    assert metrics.slowness_error(net.components_, X) < 0.05 * metrics.slowest(metrics.moments(X), 3).sum()


def test_an_outlier_does_less_harm_than_to_exact_sfa():
    X = slow_mixture(50_000, seed=1)[1]
    spoiled = X.copy()
    spoiled[10_000, 0] = 1000.0
    net = BioSFA(3, preconditioner="whiten", random_state=0).fit(spoiled)
    assert metrics.slowness_error(net.components_, X) < metrics.slowness_error(SFA(3).fit(spoiled).components_, X)


@pytest.mark.parametrize("step", [42, 50])
def test_what_comes_before_an_overflow_in_parallel_streams_is_whole_steps(step):
    cube = slow_mixture(300, seed=9)[1].reshape(100, 3, 10).copy()
    cube[step, 2, 0] = 1e200
    net = BioSFA(2, preconditioner="whiten", random_state=0)
    with pytest.raises(DivergenceError):
        net.partial_fit_streams(cube)
    before = BioSFA(2, preconditioner="whiten", random_state=0).partial_fit_streams(cube[:step])
    assert net.n_samples_seen_ == step
    np.testing.assert_allclose(net.components_, before.components_, rtol=1e-9, atol=1e-12)


def test_lost_directions_of_a_low_rank_whitening_come_back():
    rng = np.random.default_rng(0)
    whitening = LowRankWhitening(40, float, np.inf, 8, np.random.RandomState(0))
    for scale in (1.0, 0.0, 1.0):
        for _ in range(2):
            whitening.take(scale * rng.standard_normal((4000, 40)), np.empty((4000, 40)))
            whitening.refresh()
    assert np.linalg.matrix_rank(whitening.basis) == 8


def test_tau_is_not_asked_for_with_a_preconditioner():
    X = slow_mixture(2000, seed=10)[1]
    BioSFA(2, preconditioner="whiten", learning_rate=0.01, tau=0.001, random_state=0).fit(X)


def test_too_many_outputs_for_the_rank_are_refused():
    X = np.random.default_rng(0).standard_normal((5000, 2)) @ np.ones((2, 4))
    with pytest.raises(ValueError, match="exceeds the rank"):
        BioSFA(2, preconditioner="whiten", random_state=0).fit(X)


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


@pytest.mark.parametrize("parameters", [{}, {"preconditioner": "whiten"}])
def test_forgetting_follows_a_mixture_that_switches(parameters):
    """Halfway, the slow sources move to other channels."""
    _, first = slow_mixture(100_000, times=(100.0, 40.0), n_noise=6, seed=5)
    _, second = slow_mixture(100_000, times=(100.0, 40.0), n_noise=6, seed=6)
    moments = metrics.moments(second)
    excess = {}
    for forget in (None, 20_000):
        net = BioSFA(2, forget=forget, random_state=0, **parameters).partial_fit(first).end_episode()
        errors = []
        for chunk in np.split(second, 10):
            errors.append(metrics.slowness_error(net.partial_fit(chunk).components_, moments))
        # rates that do not fall leave errors that come and go
        excess[forget] = np.median(errors[5:]) / metrics.slowest(moments, 2).sum()
    assert excess[20_000] < 0.1
    if parameters:  # the rates of the local rule stay large for long enough to follow all by themselves
        assert excess[20_000] < 0.2 * excess[None]


def test_parallel_streams_are_samples_of_one_distribution():
    _, X = slow_mixture(80_000, seed=7)
    cube = X.reshape(4, 20_000, 10).transpose(1, 0, 2)
    net = BioSFA(3, preconditioner="whiten", random_state=0)
    for part in np.array_split(cube, 7):
        net.partial_fit_streams(part)
    assert net.n_samples_seen_ == 20_000
    assert metrics.slowness_error(net.components_, X) < 0.1 * metrics.slowest(metrics.moments(X), 3).sum()


def test_the_watch_sees_learning(mixture):
    X = mixture[1][:50_000]
    recorder = Recorder(steps=[10, 1000, 49_999])
    net = BioSFA(3, preconditioner="whiten", random_state=0).fit(X, recorder=recorder)
    watch = net.watch()
    assert watch.warning is None
    assert (watch.n_samples, watch.n_updates) == (50_000, 49_999)
    np.testing.assert_array_equal(watch.delta_values, net.delta_values_)
    assert watch.constraint_error == net.constraint_error_ == recorder.constraint_error[-1]
    assert (np.diff(recorder.learning_rate) < 0).all()
    assert recorder.delta_values.shape == (3, 3)


def test_the_watch_warns_before_the_network_diverges(mixture):
    X = mixture[1][:5000]
    peak = np.square(X - X.mean(axis=0)).sum(axis=1).max()
    calm, strained = (BioSFA(2, learning_rate=share / peak, random_state=0).fit(X) for share in (0.01, 0.7))
    assert calm.watch().warning is None or "white" in calm.watch().warning
    assert "unstable beyond 2" in strained.watch().warning
    slow = BioSFA(2, learning_rate=1e-9, random_state=0).fit(10 * X)
    assert "far from white" in slow.watch().warning
