"""Networks with an input layer: what they reach, what they withstand, and what each part of the circuit is for."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from sklearn.base import clone

from biosfa import (
    SFA,
    BioSFA,
    ConditioningWarning,
    DivergenceError,
    LocalSFA,
    OnlineSFA,
    RankDeficiencyWarning,
    metrics,
)
from biosfa.datasets import driven_logistic_map
from biosfa.estimators._fitting import Episodes
from biosfa.hierarchy import HierarchicalSFA, Layer, Learner
from biosfa.io import Position
from biosfa.kernels import reference
from biosfa.kernels.exact import slow_directions
from biosfa.kernels.fast_local import outputs as output_layer
from biosfa.kernels.input_layer import lateral, receptors
from tests.conftest import deviation, ill_conditioned, slow_mixture
from tests.kernels.test_input_layer import noise

SETTLED = [
    LocalSFA(2, random_state=0),
    LocalSFA(2, input_layer=4, random_state=0),
    BioSFA(2, input_layer="lateral", random_state=0),
]


def excess(components, X):
    """Slowness of the span of the components above that of exact SFA, relative to it."""
    moments = metrics.moments(X)
    k = len(components)
    return float(metrics.slowness_error(components, moments) / metrics.slowest(moments, k).sum())


def test_learns_ill_conditioned_input_as_fast_as_the_natural_gradient():
    """The paper's rule hardly learns it."""
    X = ill_conditioned(100_000, 1e6, seed=3)[1]
    found = {kind: excess(kind(3, random_state=0).fit(X).components_, X) for kind in (LocalSFA, OnlineSFA, BioSFA)}
    assert found[LocalSFA] < 0.005
    assert found[OnlineSFA] < 0.005
    assert found[BioSFA] > 1.0


def test_bio_sfa_learns_ill_conditioned_input_behind_an_input_layer():
    """The figure asked of three slow sources in columns of condition number 1e6 is 0.1."""
    X = ill_conditioned(100_000, 1e6, seed=3)[1]
    assert excess(BioSFA(3, input_layer="lateral", random_state=0).fit(X).components_, X) < 0.01


def test_few_interneurons_are_enough_where_few_directions_are_strong():
    """Eight common sources in 60 columns with noise of their own."""
    rng = np.random.default_rng(0)
    white = slow_mixture(50_000, n_noise=5, seed=2)[1]
    X = 3.0 * white @ rng.standard_normal((white.shape[1], 60)) + rng.standard_normal((50_000, 60))
    assert np.linalg.cond(np.cov(X.T)) > 100
    for build in (LocalSFA, BioSFA):
        few, none = (build(3, input_layer=n, random_state=0).fit(X) for n in (8, 1))
        assert excess(few.components_, X) < 0.05, build
        assert excess(few.components_, X) < excess(none.components_, X), build


@pytest.mark.parametrize("kind", [LocalSFA, BioSFA])
def test_an_input_layer_that_does_not_exist_is_named(kind):
    X = np.random.default_rng(0).standard_normal((50, 4))
    with pytest.raises(ValueError, match=r"input_layer .*'lateral'.* or a whole number; got 'full'"):
        kind(2, input_layer="full").fit(X)
    with pytest.raises(ValueError, match="input_layer"):
        kind(2, input_layer=0).fit(X)


def test_finds_the_force_behind_a_chaotic_series():
    """The limits are those that ``make bench-convergence`` asks of every series."""
    errors = []
    for seed in range(5, 9):
        X = driven_logistic_map(100_000, random_state=seed).expanded()
        moments = metrics.moments(X)
        net = LocalSFA(1, random_state=0).partial_fit(X[:20_000])
        early = metrics.slowness_error(net.components_, moments)
        errors.append((early, metrics.slowness_error(net.partial_fit(X[20_000:]).components_, moments)))
    assert (np.median(errors, axis=0) < (0.004, 3e-4)).all()


@pytest.mark.parametrize("kind", ["duplicates", "sums", "constant"])
def test_dependent_and_constant_columns_do_no_harm(kind):
    X = slow_mixture(50_000, times=(200.0, 60.0), n_noise=6, seed=4)[1]
    extra = {
        "duplicates": X[:, :3],
        "sums": np.stack([X[:, :4].sum(axis=1), X[:, 3] - 2 * X[:, 5]], axis=1),
        "constant": np.tile([3.0, 0.0], (len(X), 1)),
    }[kind]
    X = np.hstack([X, extra])
    net = LocalSFA(2, random_state=0).fit(X)
    with pytest.warns(RankDeficiencyWarning):
        exact = SFA(2).fit(X)
    slowness, least = (metrics.subspace_slowness(each.components_, X) for each in (net, exact))
    assert slowness < 1.05 * least


@pytest.mark.parametrize("seed", range(3))
def test_a_direction_that_appears_late_does_not_make_the_outputs_grow(seed):
    """A smooth signal begins late, as when a neuron fires for the first time."""
    rng = np.random.default_rng(seed)
    n, begin = 4000, 1500
    smoothing = [60.0, 40.0, 5.0, 5.0, 5.0, 5.0]
    signals = np.stack([gaussian_filter1d(rng.standard_normal(n), width) for width in smoothing], axis=1)
    late = gaussian_filter1d(np.where(np.arange(n) < begin, 0.0, rng.standard_normal(n)), 5.0)
    X = (signals / signals.std(axis=0)) @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X = np.column_stack([X, X[:, 0] + late / late.std()])
    net = LocalSFA(2, random_state=0).fit(X)
    power = np.square((X - X.mean(axis=0)) @ net._network.slow_weights.T).mean()
    assert power < 3.0  # the outputs have unit power; without the limit it is above 1e7


def test_outliers_do_less_harm_than_to_exact_sfa():
    X = slow_mixture(50_000, seed=1)[1]
    spoiled = X.copy()
    spoiled[10_000, 0] = 1000.0
    net, exact = LocalSFA(3, random_state=0).fit(spoiled), SFA(3).fit(spoiled)
    assert excess(net.components_, X) < excess(exact.components_, X)


@pytest.mark.parametrize("learner", SETTLED, ids=str)
def test_silence_before_the_stream_does_not_count(learner):
    """Not its length, which is none of the numbers at which units are renewed, and not its value."""
    X = slow_mixture(20_000, times=(60.0, 20.0), seed=8)[1] + 20.0
    late = clone(learner).partial_fit(np.full((7000, X.shape[1]), 5.0)).partial_fit(X)
    direct = clone(learner).partial_fit(np.full((1, X.shape[1]), 5.0)).partial_fit(X)
    assert late.n_samples_seen_ == 27_000
    assert deviation(late.W_, direct.W_) < 1e-9


@pytest.mark.parametrize("width", [10, 60])  # sample by sample, and in blocks
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("place", [3, 100, 4500])
@pytest.mark.parametrize("learner", SETTLED, ids=str)
def test_one_huge_sample_leaves_finite_weights_or_is_refused(learner, width, dtype, place):
    """Whatever it is, and however the samples come."""
    X = np.random.default_rng(0).standard_normal((6000, width)).astype(dtype)
    direction = np.random.default_rng(1).standard_normal(width)
    for size in (1e6, 1e12, 1e14, 1e18, 9.97e36, 1e120, 1e139):
        if size > float(np.finfo(dtype).max):
            continue
        spoiled = X.copy()
        spoiled[place] = (size * direction).clip(-size, size).astype(dtype)
        ends = []
        for chunks in (1, 7):
            net = clone(learner)
            try:
                for chunk in np.array_split(spoiled, chunks):
                    net.partial_fit(chunk)
            except DivergenceError:
                pass
            ends.append(net.n_samples_seen_)
            assert np.isfinite(net.W_).all(), size
            assert all(np.isfinite(array).all() for array in net._network.arrays().values()), size
        assert ends in ([6000, 6000], [place, place])


def test_single_samples_may_be_columns_of_a_matrix():
    X = np.asfortranarray(slow_mixture(600, seed=3)[1])
    net = LocalSFA(2, random_state=0).partial_fit(X[:500])
    for x in X[500:]:
        net.learn_one(x)
    assert deviation(net.W_, LocalSFA(2, random_state=0).partial_fit(X).W_) < 1e-9


def test_the_dynamics_may_change_while_it_learns():
    """The inverse, which only one of the two needs, is then computed again."""
    X = slow_mixture(3000, seed=3)[1]
    X[1500:] = X[1500:] @ np.random.default_rng(0).standard_normal((10, 10))
    net = LocalSFA(2, dynamics="relax", random_state=0).partial_fit(X)
    net.set_params(dynamics="equilibrium").partial_fit(X[:100])
    state = net._network.layer.state
    np.testing.assert_allclose(state.P @ state.L, np.eye(10), atol=1e-8)


@pytest.mark.parametrize("width", [4, 60])
def test_the_inverse_stays_exact_if_the_network_forgets(width):
    X = np.random.default_rng(0).standard_normal((20_000, width))
    net = LocalSFA(2, forget=20, random_state=0).partial_fit(X)
    state = net._network.layer.state
    np.testing.assert_allclose(state.P @ state.L, np.eye(width), atol=1e-6)


def test_attributes_belong_to_the_circuit():
    X = slow_mixture(100_000, seed=2)[1] * np.geomspace(1e-3, 1e3, 10)
    net = LocalSFA(2, random_state=0).fit(X)
    assert net.W_.shape == net.slow_weights_.shape == (6, 10)  # two outputs and four guards
    Y = (X - net.mean_) @ net.W_.T
    power = np.square(Y[-30_000:]).mean(axis=0)
    np.testing.assert_allclose(power[:2], 1.0, atol=0.15)
    scale = np.sqrt(np.diag(net.L_))  # the units come from the first samples alone
    np.testing.assert_allclose(net.L_ / np.outer(scale, scale), np.corrcoef(X.T), atol=0.05)
    np.testing.assert_allclose(net.transform(X).std(axis=0), 1.0, atol=0.1)


@pytest.mark.parametrize("input_layer", ["lateral", 3])
def test_fast_dynamics_give_the_same_network(input_layer):
    X = ill_conditioned(1000, 100.0)[1]
    solved, relaxed = (
        LocalSFA(2, dynamics=name, input_layer=input_layer, random_state=0).fit(X) for name in ("equilibrium", "relax")
    )
    assert deviation(relaxed.W_, solved.W_) < 1e-9


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_fast_dynamics_rest_where_the_direct_solution_is(condition):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    L = (axes * np.geomspace(1, 1 / condition, 10)) @ axes.T
    u, x = np.linalg.cholesky(L) @ rng.standard_normal(10), np.empty(10)
    assert lateral.come_to_rest(u, L, x)
    np.testing.assert_allclose(x, np.linalg.solve(L, u), rtol=0, atol=1e-9 * np.abs(x).max())


def test_fast_dynamics_that_do_not_come_to_rest_are_reported():
    """Only private noise varies along the difference of two columns that are the same."""
    X = slow_mixture(1000, n_noise=2, seed=3)[1]
    X = np.hstack([X, X[:, :1]])
    net = LocalSFA(2, forget=20, random_state=0).partial_fit(X).set_params(dynamics="relax")  # L is learned soon
    with pytest.warns(ConditioningWarning, match='do not come to rest.*dynamics="equilibrium"'):
        net.partial_fit(X[:5])
    with pytest.warns(ConditioningWarning, match="do not come to rest"):
        net.learn_one(X[5])


@pytest.mark.parametrize("kind", [LocalSFA, BioSFA])
def test_without_centring_the_mean_is_zero(kind):
    X = slow_mixture(500, seed=1)[1] + 3.0
    for begin in (X[:1], np.tile(X[:1], (5, 1))):  # a stream may begin with silence
        net = kind(2, input_layer="lateral", center=False, random_state=0).partial_fit(begin).partial_fit(X)
        np.testing.assert_array_equal(net.mean_, 0.0)


def test_without_centring_it_is_its_literal_form():
    X = slow_mixture(300, seed=1)[1] + 3.0
    net = LocalSFA(2, center=False, random_state=0).partial_fit(X[:1])  # silence: it has not varied yet
    units = net._network.layer.units
    units.scale[:], units.rows[:] = 1.0, units.enough  # the literal form does not choose units
    W = net._network.state.W[:, :10].copy()
    net.partial_fit(X[1:])
    inputs = reference.settle_laterally(X[1:] + noise(299, 10))
    expected = reference.learn_fast_local(inputs, W, 2, starts=np.arange(299) == 0)
    assert deviation(net.W_, expected.W) < 1e-9
    assert deviation(net.slow_weights_, expected.W_slow) < 1e-9


@pytest.mark.parametrize("offset", [0.0, 1.0, 100.0])
def test_without_centring_what_is_constant_is_the_slowest_feature(offset):
    """The yardstick is exact SFA with ⟨xxᵀ⟩ in place of the covariance."""
    X = slow_mixture(100_000, seed=2)[1]
    X += offset * X.std(axis=0) * np.random.default_rng(1).standard_normal(X.shape[1])
    second, change = X.T @ X / len(X), np.diff(X, axis=0).T @ np.diff(X, axis=0) / len(X)
    V = LocalSFA(3, center=False, random_state=0).fit(X).components_
    found = slow_directions(V @ second @ V.T, V @ change @ V.T).delta_values
    best = slow_directions(second, change, n_components=3).delta_values
    np.testing.assert_allclose(found, best, rtol=0.005)
    assert (best[0] < 0.01 * best[1]) == (offset == 100.0)


def raise_divergence_in(way, X):
    if way == "chunk":
        LocalSFA(2, random_state=0).partial_fit(X)
    elif way == "sample":
        net = LocalSFA(2, random_state=0).partial_fit(X[:-1])
        net.learn_one(X[-1])
    elif way == "interneurons":
        LocalSFA(2, input_layer=3, random_state=0).partial_fit(X)
    elif way == "streams":
        LocalSFA(2, random_state=0).partial_fit_streams(np.stack([X, X], axis=1))
    else:
        local = Learner(LocalSFA())
        layer = Layer((2, 2), n_components=2, n_reduced=2, linear=local, quadratic=local)
        HierarchicalSFA([layer], random_state=0).fit(X[:, :4].reshape(-1, 2, 2))


@pytest.mark.parametrize("way", ["chunk", "sample", "interneurons", "streams", "hierarchy"])
def test_no_advice_names_a_rate_that_it_does_not_have(way):
    X = slow_mixture(1000, seed=1)[1]
    X[-1] = 1e30 if way == "hierarchy" else 1e200  # the frames of a hierarchy are float32
    with pytest.raises(DivergenceError, match=r"at update \d+: its sample is too large.*Look for outliers") as caught:
        raise_divergence_in(way, X)
    assert "rate" not in str(caught.value)
    assert "step=" not in str(caught.value)


def test_the_command_does_not_name_that_rate_either(command, tmp_path):
    X = slow_mixture(200, seed=1)[1]
    X[-1] = 1e200
    np.save(tmp_path / "x.npy", X)
    out = tmp_path / "model.safetensors"
    failed = command("fit", tmp_path / "x.npy", "-k", 2, "--solver", "local", "--out", out, code=1)
    assert "Look for outliers" in failed.stderr
    assert "rate" not in failed.stderr


def test_divergence_behind_an_input_layer_names_a_rate_that_is_stable():
    X = slow_mixture(500, seed=1)[1]
    with pytest.raises(DivergenceError, match="use a smaller learning_rate") as caught:
        BioSFA(2, input_layer="lateral", learning_rate=1.0, tau=2.0, step="explicit", random_state=0).fit(X)
    assert caught.value.learning_rate == 1.0
    assert 0.01 < caught.value.largest_stable_rate < 1.0


@pytest.mark.parametrize("input_layer", ["lateral", 3])
@pytest.mark.parametrize(("k", "m"), [(1, 1), (4, 4), (3, 5)])
def test_there_may_be_as_many_features_as_columns(k, m, input_layer):
    rng = np.random.default_rng(0)
    times = np.geomspace(2.0, 100.0, m)
    rho = np.exp(-1 / times)
    X = rng.standard_normal((50_000, m))
    for t in range(1, len(X)):
        X[t] = rho * X[t - 1] + np.sqrt(1 - rho**2) * X[t]
    X = X @ rng.standard_normal((m, m))
    net = LocalSFA(k, input_layer=input_layer, random_state=0).fit(X)
    assert net.W_.shape == (min(m, k + 4), m)
    assert excess(net.components_, X) < 0.01
    np.testing.assert_allclose(metrics.slowness(net.transform(X)), SFA(k).fit(X).delta_values_, rtol=0.05)
    assert net.watch().warning is None


def exchange(state, i, j):
    """Let two outputs change places, with their slow weights and averages."""
    order = np.arange(len(state.S))
    order[[i, j]] = j, i
    state.W_slow[:] = state.W_slow[order]
    for moments in (state.S, state.D):
        moments[:] = moments[np.ix_(order, order)]


def test_a_guard_is_read_out_only_if_features_are_clearly_slower_with_it():
    X = slow_mixture(20_000, times=(60.0, 20.0), seed=8)[1]
    net = LocalSFA(2, random_state=0).fit(X)._network
    outputs, alone = net.state.W_slow[:2, :9] * net.layer.units.scale, net.W.copy()
    mixture = np.linalg.lstsq(outputs.T, alone.T, rcond=None)[0]
    np.testing.assert_allclose(mixture.T @ outputs, alone, rtol=0, atol=1e-12)
    exchange(net.state, 1, 4)  # a guard has the feature of an output
    assert excess(net.W, X) < 0.01
    assert excess(net.state.W_slow[:2, :9] * net.layer.units.scale, X) > 1.0


def test_averages_of_a_guard_that_belong_to_earlier_weights_do_not_count():
    X = slow_mixture(20_000, times=(60.0, 20.0), seed=8)[1]
    net = LocalSFA(2, random_state=0).fit(X)._network
    state, before = net.state, net.W.copy()
    state.D[4], state.D[:, 4] = 0.0, 0.0  # they say that the guard is very slow
    state.D[4, 4] = 1e-6 * state.S[4, 4]
    assert excess(net.W, X) > 1.0
    state.W_slow[4] *= 0.1  # but it fades
    np.testing.assert_array_equal(net.W, before)


def test_only_a_network_with_interneurons_is_advised_to_have_more():
    X = slow_mixture(5000, seed=1)[1]
    for input_layer in ("auto", "lateral", X.shape[1]):
        assert "interneuron" not in LocalSFA(2, input_layer=input_layer, random_state=0).partial_fit(X)._network.advice
    assert "more interneurons" in LocalSFA(2, input_layer=2, random_state=0).partial_fit(X)._network.advice


@pytest.mark.parametrize("mismatch", [0.0, 0.3], ids=["L is the covariance", "L is not"])
def test_fixed_points_are_slow_features_of_unit_power(mismatch):
    """The mean change E ΔW C^½ = 2η[(δV − VΔ)Q + Θ(I − VVᵀ)V] vanishes there; beside it, only slower directions grow.

    Q = C^½L⁻¹C^½ is the identity if L has learned the covariance of its input.
    """
    eigenvalues = np.array([0.01, 0.05, 0.2, 1.0])
    noise = np.random.default_rng(0).standard_normal((4, 4))
    Q = np.eye(4) + mismatch * (noise + noise.T) / 2

    def change(V):
        k, power = len(V), np.square(V).sum(axis=1)
        delta = (np.square(V) * eigenvalues).sum(axis=1) / power
        theta = output_layer.HOMEOSTASIS * delta
        return (delta[:, None] * V - V * eigenvalues) @ Q + theta[:, None] * ((np.eye(k) - V @ V.T) @ V)

    V = np.eye(2, 4)
    np.testing.assert_allclose(change(V), 0.0, atol=1e-15)
    size = V.size
    jacobian = np.empty((size, size))
    for i in range(size):
        step = np.zeros(size)
        step[i] = 1e-6
        jacobian[:, i] = (change(V + step.reshape(V.shape)) - change(V - step.reshape(V.shape))).ravel() / 2e-6
    assert np.linalg.eigvals(jacobian).real.max() < 1e-9
    swapped = np.eye(4)[[0, 2]]  # the second output has the third feature
    towards = np.zeros((2, 4))
    towards[1, 1] = 1e-6
    growth = (change(swapped + towards) - change(swapped))[1, 1]
    np.testing.assert_allclose(growth, (0.2 - 0.05) * Q[1, 1] * 1e-6, rtol=1e-3)  # at δ_3 − δ_2


def test_the_mean_change_is_a_step_down_the_natural_gradient_of_slowness():
    """If L is the covariance, ⟨ẏx̃̇ᵀ − δyx̃ᵀ⟩ is half of ∂δ/∂w C⁻¹, times the power of the output."""
    X = ill_conditioned(500, 100.0)[1]
    U, U_dot = X[1:] - X.mean(axis=0), np.diff(X, axis=0)
    C, w = U.T @ U / len(U), np.random.default_rng(0).standard_normal(10)

    def slowness(w):
        return np.square(U_dot @ w).mean() / np.square(U @ w).mean()

    settled, settled_dot = np.linalg.solve(C, U.T).T, np.linalg.solve(C, U_dot.T).T
    change = ((U_dot @ w)[:, None] * settled_dot - slowness(w) * (U @ w)[:, None] * settled).mean(axis=0)
    gradient = np.array([slowness(w + step) - slowness(w - step) for step in 1e-6 * np.eye(10)]) / 2e-6
    expected = np.linalg.solve(C, gradient) * np.square(U @ w).mean() / 2
    np.testing.assert_allclose(change, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def mean_change(V, eigenvalues):
    """E ΔV/2η for outputs whose input layer has learned the covariance; V may be a stack of networks."""
    delta = (np.square(V) * eigenvalues).sum(axis=-1, keepdims=True) / np.square(V).sum(axis=-1, keepdims=True)
    theta = output_layer.HOMEOSTASIS * delta
    return delta * V - V * eigenvalues + theta * (V - V @ V.swapaxes(-1, -2) @ V)


def test_power_and_pairs_of_features_decay_as_derived():
    eigenvalues, V, step = np.array([0.02, 0.1, 1.0]), np.eye(2, 3), 1e-6
    theta = output_layer.HOMEOSTASIS * eigenvalues[:2]
    for i in range(2):
        longer = V.copy()
        longer[i] *= 1 + step
        np.testing.assert_allclose(mean_change(longer, eigenvalues)[i, i] / step, -2 * theta[i], rtol=1e-4)
    pair = np.empty((2, 2))  # of a, the part of feature 2 in row 1, and b, that of feature 1 in row 2
    for column, (i, j) in enumerate([(0, 1), (1, 0)]):
        mixed = V.copy()
        mixed[i, j] += step
        changed = mean_change(mixed, eigenvalues)
        pair[:, column] = changed[0, 1] / step, changed[1, 0] / step
    assert np.trace(pair) < 0
    np.testing.assert_allclose(np.linalg.det(pair), 3 * (eigenvalues[0] - eigenvalues[1]) ** 2, rtol=1e-4)


def test_the_mean_dynamics_end_at_the_slowest_features():
    """Conjectured for all beginnings: no other point of rest is stable."""
    eigenvalues = np.array([0.02, 0.06, 0.18, 0.6, 1.0, 2.0])
    V = np.random.default_rng(0).standard_normal((100, 3, 6)) / np.sqrt(6)
    for _ in range(20_000):
        V += 0.05 * mean_change(V, eigenvalues)
    order = np.abs(V[:, :, :3]).argmax(axis=2)
    np.testing.assert_array_equal(np.sort(order), np.tile(np.arange(3), (100, 1)))
    np.testing.assert_allclose(np.abs(V), np.eye(6)[order], atol=1e-3)


LESIONS = {
    "none": {},
    "no lateral synapses": {"LATERAL_SHARE": 0.0},
    "no homeostasis": {"HOMEOSTASIS": 0.0},
}


def test_lesions(monkeypatch):
    """What breaks without a part of the circuit."""
    _, X = ill_conditioned(6000, 1e4, seed=5)
    U = (X - X.mean(axis=0)) / X.std(axis=0)
    W = np.random.default_rng(0).standard_normal((6, 10)) / np.sqrt(10)
    starts = np.zeros(len(U), bool)
    starts[0] = True
    nets = {}
    for name, constants in LESIONS.items():
        with monkeypatch.context() as patch:
            for constant, value in constants.items():
                patch.setattr(receptors if constant == "LATERAL_SHARE" else output_layer, constant, value)
            nets[name] = reference.learn_fast_local(reference.settle_laterally(U), W, 2, starts=starts)
    found = {name: excess(net.W_slow[:2], U) for name, net in nets.items()}
    assert found["none"] < 0.5
    # without L, the network follows the plain gradient, which hardly learns along directions of little variance
    assert found["no lateral synapses"] > 10 * found["none"]
    # without homeostasis, all outputs find the same feature
    shared = {name: abs(np.corrcoef(nets[name].Y[-3000:, :2].T)[0, 1]) for name in ("none", "no homeostasis")}
    assert shared["none"] < 0.1
    assert shared["no homeostasis"] > 0.9
    # without slow weights, the features are read from weights that fluctuate
    assert excess(nets["none"].W[:2], U) > 1.2 * found["none"]


@pytest.mark.parametrize("likeness", [1e-3, 1e-6])
def test_outputs_that_are_nearly_copies_of_one_another_are_all_read_out(likeness):
    """The averages of the outputs cannot tell them apart; the present weights can."""
    X = slow_mixture(5000, times=(100.0, 30.0), n_noise=3, seed=2)[1]
    net = LocalSFA(2, random_state=0).partial_fit(X)
    state, m = net._network.state, X.shape[1]
    slow = SFA(2).fit(X).components_ / net._network.layer.units.scale
    rest = np.random.default_rng(0).standard_normal((len(state.W_slow) - 2, m))
    state.W_slow[:, :m] = slow[0] + likeness * np.concatenate([np.zeros((1, m)), slow[1:], rest])
    covariance = net._network.layer.covariance_along(state.W_slow[:, :m])
    state.S[:], state.D[:] = covariance, 0.05 * covariance
    state.weights[:] = 1.0
    net._gauge._read = None
    net._finish(Position(), Episodes(2), [])  # finds as many features as were asked for
    assert excess(net.components_, X) < 0.01
    np.testing.assert_allclose(net.delta_values_, SFA(2).fit(X).delta_values_, rtol=0.3)
