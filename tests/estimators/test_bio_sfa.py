"""Bio-SFA learns the slow features, online, in any chunks, and refuses bad input."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import PolynomialFeatures

from biosfa import SFA, Annealed, BioSFA, DivergenceError, InverseTime, metrics
from biosfa.kernels import reference
from tests.conftest import deviation, slow_mixture

RATE = InverseTime(a=300.0, b=0.05)


@pytest.mark.parametrize("rule", ["bio-sfa", "reversible"])
@pytest.mark.parametrize("settings", [{}, {"learning_rate": RATE, "tau": 8.0}], ids=["auto", "given"])
def test_learns_the_slow_sources_in_order(mixture, rule, settings):
    sources, X = mixture
    exact = SFA(3).fit(X)
    net = BioSFA(3, rule=rule, random_state=0, **settings).fit(X)
    Y = net.transform(X)
    correlation = np.abs(np.corrcoef(Y.T, sources.T)[:3, 3:])
    assert (correlation.diagonal() > 0.99).all()
    np.testing.assert_allclose(metrics.slowness(Y), exact.delta_values_, rtol=0.05)
    # measured on 2048 pairs, which tell it to √(2/2048) = 3%
    np.testing.assert_allclose(net.delta_values_, metrics.slowness(Y[-len(Y) // 3 :]), rtol=0.1)
    assert metrics.slowness_error(net.components_, X) < 0.01 * exact.delta_values_.sum()


@pytest.mark.parametrize("rule", ["bio-sfa", "reversible"])
def test_outputs_become_white(mixture, rule):
    """The reversible rule as printed in the paper gives VᵀCV = I/2, a constraint error of 1/4."""
    X = mixture[1]
    net = BioSFA(3, rule=rule, learning_rate=RATE, tau=8.0, random_state=0).fit(X)
    V = np.linalg.solve(net.M_, net.W_)
    assert metrics.constraint_error(V, X) < 0.01
    assert net.constraint_error_ < 0.01 + 4 * 4 / 2048  # sampling noise of 2048 pairs, of which (k + 1)/R is expected
    np.testing.assert_allclose(net.neural_output(X), (X - net.mean_) @ V.T, atol=1e-10)


@pytest.mark.parametrize("rule", ["bio-sfa", "reversible", "interneuron"])
@pytest.mark.parametrize(
    ("times", "k"), [((500.0, 50.0, 3.0), 3), ((200.0, 5.0, 1.5), 3), ((200.0, 20.0, 5.0), 6)], ids=str
)
def test_automatic_rates_are_stable_for_features_of_very_different_slowness(rule, times, k):
    """M must not be slower than τ < ½ + 1/D allows; the last asks for three features more than there are slow ones."""
    X = slow_mixture(600_000, times=times, seed=1)[1]
    net = BioSFA(k, rule=rule, random_state=0).fit(X)
    n_slow = len(times)
    error = metrics.slowness_error(net.components_[:n_slow], X)
    assert error < 0.01 * metrics.slowest(X, n_slow).sum()


def test_is_the_algorithm_of_the_paper():
    """The estimator on delayed, expanded, centred input does what the literal reference does on that input."""
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((120, 2))
    lengths = [70, 50]
    net = BioSFA(2, n_delays=2, expansion="quadratic", learning_rate=Annealed(1e-3, 50.0), tau=0.5, random_state=7)
    net.fit(raw, lengths=lengths)
    episodes = [np.hstack([part[1:], part[:-1]]) for part in np.split(raw, [70])]
    X = np.concatenate([PolynomialFeatures(2, include_bias=False).fit_transform(episode) for episode in episodes])
    starts = np.zeros(118, bool)
    starts[[0, 69]] = True
    t = np.cumsum(~starts)
    W = np.random.RandomState(7).standard_normal((2, 14)) / np.sqrt(14)
    result = reference.learn(X, W, np.eye(2), 1e-3 / (1 + t / 50.0), 0.5, starts=starts)
    assert deviation(net.W_, result.W) < 1e-10
    assert deviation(net.M_, result.M) < 1e-10
    assert net.n_samples_seen_ == 118
    assert net.n_updates_ == 116


def test_neural_dynamics_end_where_the_direct_solution_is():
    X = slow_mixture(500, seed=3)[1]
    direct = BioSFA(3, random_state=0).fit(X)
    euler = BioSFA(3, random_state=0, dynamics="euler").fit(X)
    assert deviation(euler.W_, direct.W_) < 1e-9
    assert deviation(euler.M_, direct.M_) < 1e-9


def test_silence_before_the_signal_teaches_nothing():
    X = slow_mixture(5000, seed=5)[1]
    late = BioSFA(2, random_state=0).partial_fit(np.full((1000, 10), 3.0))
    np.testing.assert_array_equal(late.M_, np.eye(2))
    late.end_episode().partial_fit(X)
    assert np.isfinite(late.delta_values_).all()


def test_parallel_streams_learn_what_one_stream_learns():
    X = slow_mixture(100_000, seed=6)[1]
    cube = np.stack(np.split(X, 10), axis=1)
    net = BioSFA(3, random_state=0)
    for part in np.array_split(cube, 7):
        net.partial_fit_streams(part)
    once = BioSFA(3, random_state=0).partial_fit_streams(cube)
    assert deviation(net.W_, once.W_) < 1e-9
    assert net.n_samples_seen_ == 10_000
    exact = SFA(3).fit(X, lengths=[10_000] * 10)
    relative = metrics.slowness_error(net.components_, X, [10_000] * 10) / exact.delta_values_.sum()
    assert relative < 0.1
    with pytest.raises(ValueError, match="10 parallel streams; got 9"):
        net.partial_fit_streams(cube[:, :9])
    with pytest.raises(ValueError, match="10 parallel streams; got 1"):
        net.partial_fit(X)


def test_epochs_are_episodes_and_time_goes_on():
    X = slow_mixture(300, seed=7)[1]
    rate = Annealed(1e-3, 100.0)
    epochs = BioSFA(2, n_epochs=3, learning_rate=rate, random_state=0).fit(X)
    listed = BioSFA(2, learning_rate=rate, random_state=0).fit(np.tile(X, (3, 1)), lengths=[300] * 3)
    assert deviation(epochs.W_, listed.W_) < 1e-12
    assert epochs.n_updates_ == 3 * 299


def test_reading_changes_nothing():
    X = slow_mixture(300, seed=9)[1]
    net = BioSFA(2, n_delays=2, random_state=0).partial_fit(X)
    before = pickle.dumps(vars(net))
    net.transform(X[:50])
    net.transform_one(X[:2])
    net.neural_output(X[:50])
    net.W_[:] = 0.0
    net.M_[:] = 0.0
    net.mean_[:] = 0.0
    assert net.score(X) < 0
    assert pickle.dumps(vars(net)) == before


def test_input_is_neither_changed_nor_kept():
    X = slow_mixture(100, seed=10)[1]
    original = X.copy()
    net, copied = BioSFA(2, random_state=0), BioSFA(2, random_state=0)
    net.partial_fit(X)
    np.testing.assert_array_equal(X, original)
    X[:] = np.inf
    net.partial_fit(original)
    copied.partial_fit(original).partial_fit(original)
    np.testing.assert_array_equal(net.W_, copied.W_)


def test_dtype_is_that_of_the_first_input_or_as_asked():
    X = slow_mixture(100, seed=11)[1]
    assert BioSFA(2).fit(X.astype(np.float32)).W_.dtype == np.float32
    assert BioSFA(2).fit(X).W_.dtype == np.float64
    assert BioSFA(2, dtype="float32").fit(X).W_.dtype == np.float32
    net = BioSFA(2).fit(X.astype(np.float32))
    assert net.M_.dtype == net.mean_.dtype == np.float64
    assert net.transform(X).dtype == np.float64


BAD_INPUT = {
    "NaN at row 3, column 2": lambda X: np.where(np.arange(len(X))[:, None] * 10 + np.arange(10) == 32, np.nan, X),
    "infinity at row 0, column 1": lambda X: np.where(np.arange(10) == 1, -np.inf, X),
    "X has 9 features": lambda X: X[:, :9],
    "[Ss]parse": lambda X: csr_array(X),
    "[Cc]omplex": lambda X: X + 1j,
    "convert": lambda X: np.full(X.shape, "a"),
    "1D array": lambda X: X[0],
    "0 sample": lambda X: X[:0],
}


@pytest.mark.parametrize("message", BAD_INPUT)
def test_bad_input_is_refused_and_changes_nothing(message):
    X = slow_mixture(100, seed=12)[1]
    bad = BAD_INPUT[message](X)
    for net in (BioSFA(2, random_state=0), SFA(2)):
        net.partial_fit(X)
        net.transform(X)  # exact SFA has published its solution then
        before = pickle.dumps(vars(net))
        for method in (net.partial_fit, net.transform, *([net.fit] if "features" not in message else [])):
            with pytest.raises((ValueError, TypeError), match=message):
                method(bad)
            assert pickle.dumps(vars(net)) == before


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 11}, "n_components=11 exceeds the number of .*features"),
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"learning_rate": -0.1}, "positive number"),
        ({"learning_rate": 0.5, "tau": 0.5}, "must stay below tau.*update 1"),
        ({"learning_rate": lambda t: 0.1 * t, "tau": 0.55}, "must stay below tau.*"),
        ({"learning_rate": lambda t: 0.1 - 0.01 * t}, "at update 11"),
        ({"learning_rate": "fast"}, "learning_rate must be"),
        ({"tau": 0.0}, "tau must be"),
        ({"rule": "hebb"}, "rule must be one of 'bio-sfa', 'reversible', 'interneuron', 'nonnegative'; got 'hebb'"),
        ({"step": "large"}, "step must be one of"),
        ({"dynamics": "slow"}, "dynamics must be one of"),
        ({"expansion": "cubic"}, "expansion must be one of None, 'quadratic'"),
        ({"n_delays": 0}, "n_delays must be"),
        ({"dtype": int}, "dtype must be"),
        ({"n_epochs": 0}, "n_epochs must be"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X = slow_mixture(100, seed=13)[1]
    net = BioSFA(random_state=0).set_params(**parameters)
    for method in (net.fit, net.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(X)
        assert not hasattr(net, "n_features_in_")


@pytest.mark.parametrize(
    ("lengths", "message"),
    [([50, 49], "add up to 99"), ([0, 100], "at least one row"), ([50.0, 50.0], "whole numbers"), ([], "at least one")],
)
def test_bad_lengths_are_refused(lengths, message):
    X = slow_mixture(100, seed=14)[1]
    for estimator in (BioSFA(2), SFA(2)):
        with pytest.raises(ValueError, match=message):
            estimator.fit(X, lengths=lengths)


def test_too_little_data_is_refused():
    X = slow_mixture(100, seed=15)[1]
    for estimator in (BioSFA(2), SFA(2)):
        with pytest.raises(ValueError, match="1 sample"):
            estimator.fit(X[:1])
    with pytest.raises(ValueError, match="exceeds the rank"):
        BioSFA(3, random_state=0).fit(np.column_stack([X[:, :2], X[:, :2] @ [1, 2]]))


def test_streams_need_rates_below_tau_over_the_root_of_their_number():
    cube = np.random.default_rng(0).standard_normal((50, 16, 4))
    with pytest.raises(ValueError, match=r"root of the number of streams, 16, must stay below tau"):
        BioSFA(2, learning_rate=0.2, tau=0.5).partial_fit_streams(cube)
    BioSFA(2, learning_rate=0.1, tau=0.5, step="normalized").partial_fit_streams(cube)
    cube[3, 2, 1] = np.nan
    with pytest.raises(ValueError, match="step 3, stream 2, column 1"):
        BioSFA(2).partial_fit_streams(cube)


def test_divergence_names_the_step_and_the_largest_stable_rate():
    X = slow_mixture(1000, seed=16)[1]
    limit = 1.0 / (np.square(X).sum(axis=1).max())
    net = BioSFA(2, learning_rate=0.3, tau=0.5, center=False, random_state=0)
    with pytest.raises(DivergenceError, match="smaller learning_rate") as caught:
        net.fit(X)
    assert caught.value.step == net.n_updates_ + 1
    assert caught.value.learning_rate == 0.3
    assert limit <= caught.value.largest_stable_rate < 0.3
    assert np.isfinite(net.W_).all()
    assert np.isfinite(net.transform(X)).all()
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), DivergenceError)
    BioSFA(2, learning_rate=0.3, tau=0.5, step="normalized", random_state=0).fit(X)


def test_copies_go_their_own_way():
    X = slow_mixture(200, seed=17)[1]
    net = BioSFA(2, random_state=0).partial_fit(X)
    twin = copy.deepcopy(net)
    twin.partial_fit(X)
    assert net.n_samples_seen_ == 200
    assert not np.array_equal(twin.W_, net.W_)


def test_a_quiet_beginning_does_not_spoil_the_scale():
    """Were the scale that of the first ten samples, the rest would be ten thousand times too large."""
    errors = []
    for seed in (18, 19, 20):
        X = slow_mixture(50_000, seed=seed)[1]
        quiet = X.copy()
        quiet[:10] *= 1e-4
        net = BioSFA(3, random_state=0).fit(quiet)
        errors.append(metrics.slowness_error(net.components_, X) / metrics.slowest(X, 3).sum())
        assert net.constraint_error_ < 2 * BioSFA(3, random_state=0).fit(X).constraint_error_
    assert np.median(errors) < 0.1


@pytest.mark.parametrize("k", [1, 2, 16])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_outlier_that_would_ruin_the_network_is_not_learned_from(k, dtype):
    X = slow_mixture(400, n_noise=300, seed=19)[1].astype(dtype)
    X[200] = np.finfo(dtype).max / 1e3
    net = BioSFA(k, learning_rate=1e-4, tau=0.5, random_state=0)
    with pytest.raises(DivergenceError):
        net.partial_fit(X)
    assert net.n_samples_seen_ == 200
    expected = BioSFA(k, learning_rate=1e-4, tau=0.5, random_state=0).partial_fit(X[:200])
    for name in ("W_", "M_", "mean_"):
        assert deviation(getattr(net, name), getattr(expected, name)) < (1e-3 if dtype == np.float32 else 1e-9)
    net.partial_fit(X[201:])
    assert np.isfinite(net.transform(X[201:])).all()


def test_after_divergence_delays_do_not_join_what_was_apart():
    X = slow_mixture(400, seed=20)[1]
    X[200] *= 1e9
    net = BioSFA(2, n_delays=3, learning_rate=1e-3, random_state=0)
    with pytest.raises(DivergenceError):
        net.partial_fit(X)
    seen = net.n_samples_seen_
    net.partial_fit(X[210:213])
    assert net.n_samples_seen_ == seen + 1


def test_one_stream_is_a_stream():
    X = slow_mixture(300, seed=21)[1]
    single = BioSFA(2, random_state=0).partial_fit_streams(X[:, None])
    np.testing.assert_array_equal(single.W_, BioSFA(2, random_state=0).partial_fit(X).W_)


def test_float32_input_in_a_float64_network_does_not_depend_on_chunks():
    X = (slow_mixture(400, seed=22)[1] + 1e4).astype(np.float32)
    whole = BioSFA(2, dtype="float64", random_state=0).partial_fit(X)
    chunked = BioSFA(2, dtype="float64", random_state=0)
    for part in np.array_split(X, 37):
        chunked.partial_fit(part)
    assert deviation(chunked.W_, whole.W_) < 1e-9
    np.testing.assert_allclose(chunked.delta_values_, whole.delta_values_, rtol=1e-8)


def test_rates_may_change_on_the_way_but_not_what_is_learned():
    X = slow_mixture(200, seed=23)[1]
    net = BioSFA(2, learning_rate=1e-3, random_state=0).partial_fit(X)
    twin = copy.deepcopy(net).set_params(learning_rate=1e-6)
    before = net.W_
    assert np.abs(twin.learn_one(X[0]).W_ - before).max() < np.abs(net.learn_one(X[0]).W_ - before).max() / 100
    for parameters in ({"n_components": 3}, {"n_delays": 2}, {"expansion": "quadratic"}, {"center": False}):
        changed = copy.deepcopy(net).set_params(**parameters)
        with pytest.raises(ValueError, match="call fit to start over"):
            changed.partial_fit(X)
        assert changed.fit(X).n_samples_seen_ > 0


@pytest.mark.parametrize("k", [1, 2, 16])
@pytest.mark.parametrize("parameters", [{}, {"learning_rate": 1e-3}], ids=["auto", "given"])
def test_silence_before_the_signal_does_not_depend_on_chunks(k, parameters):
    X = np.concatenate([np.zeros((40, 303)), slow_mixture(200, n_noise=300, seed=25)[1]])
    whole = BioSFA(k, random_state=0, **parameters).partial_fit(X)
    parts = BioSFA(k, random_state=0, **parameters).partial_fit(X[:40]).partial_fit(X[40:])
    assert deviation(parts.W_, whole.W_) < 1e-9
    assert deviation(parts.M_, whole.M_) < 1e-9


@pytest.mark.parametrize(("dtype", "value"), [(np.float64, 1e160), (np.float32, 1e20)])
@pytest.mark.parametrize("parameters", [{}, {"learning_rate": 1e-3}], ids=["auto", "given"])
def test_overflow_in_parallel_streams_is_divergence_too(dtype, value, parameters):
    cube = np.random.default_rng(0).standard_normal((100, 3, 6)).astype(dtype)
    cube[50, 1, 2] = value
    net = BioSFA(2, random_state=0, **parameters)
    with pytest.raises(DivergenceError):
        net.partial_fit_streams(cube)
    expected = BioSFA(2, random_state=0, **parameters).partial_fit_streams(cube[:50])
    np.testing.assert_array_equal(net.W_, expected.W_)
    np.testing.assert_array_equal(net.mean_, expected.mean_)
    net.partial_fit_streams(cube[51:])
    assert net.n_updates_ == 49 + 48


def test_rates_of_ones_own_and_auto_are_not_mixed(tmp_path):
    X = 10 * slow_mixture(200, seed=26)[1]
    net = BioSFA(2, random_state=0).partial_fit(X)
    net.save(tmp_path / "auto")
    with pytest.raises(ValueError, match="other units"):
        BioSFA.load(tmp_path / "auto", learning_rate=1e-5)
    net.set_params(learning_rate=1e-5)
    for learn in (net.partial_fit, lambda rows: net.learn_one(rows[0])):
        with pytest.raises(ValueError, match="other units"):
            learn(X)


@pytest.mark.parametrize("k", [1, 2, 16])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("parameters", [{}, {"learning_rate": 1e-4, "center": False}], ids=["auto", "given"])
def test_what_is_not_finite_is_found_late_in_a_chunk_and_nothing_was_learned(k, bad, parameters):
    X = slow_mixture(2000, n_noise=300, seed=27)[1]
    net = BioSFA(k, random_state=0, **parameters).partial_fit(X[:100])
    before = pickle.dumps(vars(net))
    wrong = X.copy()
    wrong[1500, 7] = bad
    with pytest.raises(ValueError, match="row 1500, column 7"):
        net.partial_fit(wrong)
    assert pickle.dumps(vars(net)) == before
    with pytest.raises(ValueError, match="row 0, column 7"):
        net.learn_one(wrong[1500])
