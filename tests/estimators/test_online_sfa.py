"""The natural-gradient form, its whitening, forgetting, and the watch on learning."""

import numpy as np
import pytest
from scipy.signal import lfilter

from biosfa import SFA, BioSFA, DivergenceError, LocalSFA, OnlineSFA, Recorder, metrics
from biosfa.datasets import driven_logistic_map
from tests.conftest import ill_conditioned, slow_mixture


@pytest.mark.parametrize("reversible", [False, True])
def test_learns_ill_conditioned_input_that_the_local_rule_cannot(reversible):
    sources, X = ill_conditioned(100_000, 1e6)
    exact = SFA(3).fit(X)
    net = OnlineSFA(3, reversible=reversible, random_state=0).fit(X)
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
    net = OnlineSFA(1, random_state=0).partial_fit(X[:20_000])
    assert metrics.slowness_error(net.components_, X) < 1e-2
    net.partial_fit(X[20_000:])
    assert metrics.slowness_error(net.components_, X) < 5e-4


def test_weights_are_those_of_the_optimum(mixture):
    """Offline, M = 4 − Λ in the basis of the features, and V = WᵀM⁻¹ is white (the paper's appendix)."""
    X = mixture[1]
    recorder = Recorder(steps=[len(X) - 1])
    net = OnlineSFA(3, random_state=0).fit(X, recorder=recorder)
    M = recorder.M[-1]
    np.testing.assert_allclose(np.diag(M), 4 - SFA(3).fit(X).delta_values_, rtol=0.01)
    np.testing.assert_array_equal(M, np.diag(np.diag(M)))
    np.testing.assert_array_equal(recorder.W[-1], net.W_)
    V = np.linalg.solve(M, net.W_)
    assert metrics.constraint_error(V, X) < 0.01
    np.testing.assert_allclose(V, net.components_, rtol=1e-9, atol=1e-12)


def test_low_rank_whitening_tames_a_few_strong_directions():
    """Strong fast signals slow the local rule down."""
    _, slow = slow_mixture(50_000, n_noise=57, seed=11)
    rng = np.random.default_rng(12)
    X = slow + 30 * rng.standard_normal((50_000, 4)) @ np.linalg.qr(rng.standard_normal((60, 4)))[0].T
    least = metrics.slowest(metrics.moments(X), 3).sum()
    net = OnlineSFA(3, whitening_rank=8, random_state=0).fit(X)
    error = metrics.slowness_error(net.components_, X)
    assert error < 0.1 * least
    assert error < 0.5 * metrics.slowness_error(BioSFA(3, random_state=0).fit(X).components_, X)


@pytest.mark.parametrize(("n_noise", "rank"), [(7, "full"), (147, 16)])
def test_rank_deficient_input_works(n_noise, rank):
    _, X = slow_mixture(50_000, n_noise=n_noise, seed=3)
    redundant = n_noise // 7 * 3
    Z = np.hstack([X, X[:, :redundant] + X[:, redundant : 2 * redundant], np.full((len(X), 1), 7.0)])
    net = OnlineSFA(3, whitening_rank=rank, random_state=0).fit(Z)
    assert metrics.slowness(net.transform(Z)).sum() < 1.05 * SFA(3).fit(X).delta_values_.sum()
    assert metrics.constraint_error(np.eye(3), net.transform(Z)) < 0.05


def test_rank_deficient_input_works_in_float32():
    _, X = slow_mixture(20_000, seed=3)
    X = np.hstack([X, X[:, :3] + X[:, 3:6], X[:, :2]]).astype(np.float32)
    net = OnlineSFA(3, random_state=0).fit(X)
    assert metrics.slowness(net.transform(X)).sum() < 1.05 * SFA(3).fit(X[:, :10]).delta_values_.sum()


def test_spare_outputs_do_not_spoil_the_constraint_error():
    """Two sources in five columns leave nothing for the guards."""
    X = slow_mixture(20_000, times=(50.0, 20.0), n_noise=0, seed=4)[1] @ np.random.default_rng(0).normal(size=(2, 5))
    net = OnlineSFA(2, random_state=0).fit(X)
    assert net.constraint_error_ < 0.1
    assert net.watch().warning is None


@pytest.mark.parametrize("copies", [0, 1])
@pytest.mark.parametrize("constant", [0.0, 3.7, 1e3])
@pytest.mark.parametrize("n_columns", [1, 3, 5])
def test_chunks_do_not_matter_where_columns_are_constant(n_columns, constant, copies):
    """Rows of W beyond the rank of the input would be made of rounding errors, which depend on the chunks."""
    rng = np.random.default_rng(n_columns)
    noise = rng.standard_normal((3000, n_columns))
    X = filtered(noise, 1 - 1 / (20 * np.arange(1, n_columns + 1))) + rng.standard_normal((3000, n_columns))
    X = np.column_stack([X, *[X[:, 0]] * copies, np.full(len(X), constant)])
    whole = OnlineSFA(1, random_state=0).partial_fit(X)
    for size in (7, 211):
        model = OnlineSFA(1, random_state=0)
        for begin in range(0, len(X), size):
            model.partial_fit(X[begin : begin + size])
        np.testing.assert_allclose(model.transform(X), whole.transform(X), atol=1e-8)


@pytest.mark.parametrize("seed", range(5, 8))
def test_a_constant_column_does_not_hide_a_feature_of_a_short_stream(seed):
    """An output beyond the rank once had weights, and its moments remember them longer than its weights do."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, 3)) @ rng.standard_normal((3, 3))
    for random_state in range(4):
        whole = OnlineSFA(3, random_state=random_state).fit(np.column_stack([X, np.ones(600)]))
        assert np.isfinite(whole.delta_values_).all()


def filtered(noise, decay):
    """An AR(1) process per column."""
    return np.column_stack([lfilter([1.0], [1.0, -a], column) for a, column in zip(decay, noise.T, strict=True)])


def test_a_column_that_is_constant_at_first_is_learned_later():
    """Outputs that had no direction of the input left take up the new one."""
    X = slow_mixture(20_000, times=(20.0, 9.0, 4.0), n_noise=1)[1]
    X[:2000, 0] = X[2000, 0]
    model = OnlineSFA(2, random_state=0).fit(X)
    assert metrics.slowness_error(model.components_, X) < 0.05 * SFA(2).fit(X).delta_values_.sum()


def test_silence_at_the_beginning_does_not_count():
    X = slow_mixture(5000, seed=8)[1]
    for kind in (OnlineSFA, LocalSFA, BioSFA):
        late, direct = (kind(2, random_state=0) for _ in range(2))
        late.partial_fit(np.zeros((5000, 10))).partial_fit(X)
        direct.partial_fit(np.zeros((1, 10))).partial_fit(X)
        assert metrics.slowness_error(late.components_, X) < 1.5 * metrics.slowness_error(direct.components_, X) + 0.05


def test_a_rate_that_is_far_too_large_does_not_ruin_the_weights():
    X = slow_mixture(50_000, seed=1)[1]
    net = OnlineSFA(3, learning_rate=0.4, random_state=0).fit(X)
    assert metrics.slowness_error(net.components_, X) < 0.1 * metrics.slowest(metrics.moments(X), 3).sum()


@pytest.mark.parametrize(("kind", "gain"), [(OnlineSFA, 10.0), (OnlineSFA, 1e6), (LocalSFA, 10.0), (LocalSFA, 1e3)])
def test_forgetting_survives_a_change_of_gain(gain, kind):
    X = slow_mixture(50_000, seed=1)[1]
    net = kind(3, forget=10_000, random_state=0).partial_fit(np.concatenate([X / gain, X]))
    assert metrics.slowness_error(net.components_, X) < 0.05 * metrics.slowest(metrics.moments(X), 3).sum()


def test_an_outlier_does_less_harm_than_to_exact_sfa():
    X = slow_mixture(50_000, seed=1)[1]
    spoiled = X.copy()
    spoiled[10_000, 0] = 1000.0
    net = OnlineSFA(3, random_state=0).fit(spoiled)
    assert metrics.slowness_error(net.components_, X) < metrics.slowness_error(SFA(3).fit(spoiled).components_, X)


@pytest.mark.parametrize("kind", [OnlineSFA, LocalSFA])
@pytest.mark.parametrize("step", [42, 50])
def test_what_comes_before_an_overflow_in_parallel_streams_is_whole_steps(step, kind):
    cube = slow_mixture(300, seed=9)[1].reshape(100, 3, 10).copy()
    cube[step, 2, 0] = 1e200
    net = kind(2, random_state=0)
    with pytest.raises(DivergenceError):
        net.partial_fit_streams(cube)
    before = kind(2, random_state=0).partial_fit_streams(cube[:step])
    assert net.n_samples_seen_ == step
    np.testing.assert_allclose(net.components_, before.components_, rtol=1e-9, atol=1e-12)


def test_has_nothing_of_the_circuit():
    """M is not learned, and there are no dynamics: what BioSFA has of them is not there."""
    net = OnlineSFA(2, random_state=0).fit(slow_mixture(2000, seed=10)[1])
    assert not {"tau", "dynamics", "rule", "preconditioner"} & set(net.get_params())
    assert not any(hasattr(net, name) for name in ("M_", "L_", "neural_output"))
    with pytest.raises(ValueError, match="reversible must be one of True, False"):
        OnlineSFA(2, reversible="yes").fit(np.zeros((5, 3)))


def test_too_many_outputs_for_the_rank_are_refused():
    X = np.random.default_rng(0).standard_normal((5000, 2)) @ np.ones((2, 4))
    with pytest.raises(ValueError, match="exceeds the rank"):
        OnlineSFA(2, random_state=0).fit(X)


@pytest.mark.parametrize("kind", [BioSFA, LocalSFA, OnlineSFA])
def test_forgetting_follows_a_mixture_that_switches(kind):
    """Halfway, the slow sources move to other channels."""
    _, first = slow_mixture(100_000, times=(100.0, 40.0), n_noise=6, seed=5)
    _, second = slow_mixture(100_000, times=(100.0, 40.0), n_noise=6, seed=6)
    moments = metrics.moments(second)
    excess = {}
    for forget in (None, 20_000):
        net = kind(2, forget=forget, random_state=0).partial_fit(first).end_episode()
        errors = []
        for chunk in np.split(second, 10):
            errors.append(metrics.slowness_error(net.partial_fit(chunk).components_, moments))
        # rates that do not fall leave errors that come and go
        excess[forget] = np.median(errors[5:]) / metrics.slowest(moments, 2).sum()
    assert excess[20_000] < 0.1
    if kind is OnlineSFA:  # the rates of the local rule stay large for long enough to follow all by themselves
        assert excess[20_000] < 0.2 * excess[None]


def test_parallel_streams_are_samples_of_one_distribution():
    _, X = slow_mixture(80_000, seed=7)
    cube = X.reshape(4, 20_000, 10).transpose(1, 0, 2)
    net = OnlineSFA(3, random_state=0)
    for part in np.array_split(cube, 7):
        net.partial_fit_streams(part)
    assert net.n_samples_seen_ == 20_000
    assert metrics.slowness_error(net.components_, X) < 0.1 * metrics.slowest(metrics.moments(X), 3).sum()
