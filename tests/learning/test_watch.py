"""What a network tells about its learning: it belongs to the weights that transform uses."""

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.base import clone

from biosfa import SFA, BioSFA, LocalSFA, OnlineSFA, Recorder, load, metrics
from tests.conftest import deviation


def white_columns(n, times, seed=0):
    """Independent columns of unit variance with these correlation times."""
    rng, rho = np.random.default_rng(seed), np.exp(-1 / np.asarray(times, float))
    columns = [lfilter([np.sqrt(1 - r**2)], [1, -r], rng.standard_normal(n + 5000))[5000:] for r in rho]
    return np.stack(columns, axis=1)


def test_the_watch_sees_learning(mixture):
    X = mixture[1][:50_000]
    recorder = Recorder(steps=[10, 1000, 49_999])
    net = OnlineSFA(3, random_state=0).fit(X, recorder=recorder)
    watch = net.watch()
    assert watch.warning is None
    assert (watch.n_samples, watch.n_updates) == (50_000, 49_999)
    np.testing.assert_array_equal(watch.delta_values, net.delta_values_)
    assert watch.constraint_error == net.constraint_error_ == recorder.constraint_error[-1]
    assert (np.diff(recorder.learning_rate) < 0).all()
    assert recorder.delta_values.shape == (3, 3)
    assert abs(watch.excess) < 0.05
    assert abs(watch.change) < 0.05


def test_the_watch_warns_before_the_network_diverges(mixture):
    X = mixture[1][:5000]
    peak = np.square(X - X.mean(axis=0)).sum(axis=1).max()
    strained = BioSFA(2, learning_rate=0.7 / peak, random_state=0).fit(X)
    assert "unstable beyond 2" in strained.watch().warning
    slow = BioSFA(2, learning_rate=1e-9, random_state=0).fit(10 * X)
    assert "far from white" in slow.watch().warning


@pytest.mark.parametrize("learner", [BioSFA, OnlineSFA])
def test_health_is_that_of_the_weights_that_are_used(learner):
    """Running averages said .02 where the constraint error is 1.3, and gave features a variance of 3."""
    X = white_columns(100_000, (500, 200, 80, 10, 5, 3, 2, 1))
    net = learner(3, random_state=0).fit(X)
    recent = X[-len(X) // 3 :]
    features = net.transform(recent)
    # 33,000 samples have 66 correlation times of the slowest feature, and pairs are a sample of these
    np.testing.assert_allclose(np.cov(features.T, bias=True), np.eye(3), atol=0.15)
    np.testing.assert_allclose(net.delta_values_, metrics.slowness(features), rtol=0.15)
    assert (np.diff(net.delta_values_) > 0).all()
    if learner is BioSFA:
        V = np.linalg.solve(net.M_, net.W_)
        outputs = (recent - net.mean_) @ V.T
        true = np.square(outputs.T @ outputs / len(outputs) - np.eye(3)).sum() / 3
        assert true > 0.1
        assert net.constraint_error_ == pytest.approx(true, rel=0.3)


@pytest.mark.parametrize("learner", [BioSFA, OnlineSFA])
def test_slower_features_that_were_not_found_are_noticed(learner):
    """White outputs are not enough: the excess is that against exact SFA on all samples."""
    X = white_columns(30_000, (100, 80, 60, 10, 5, 3, 2, 1)) @ np.diag(np.geomspace(1, 1e-2, 8)[::-1])
    net = learner(2, random_state=0).partial_fit(X)
    true = metrics.slowness_error(net.components_, X) / SFA(2).fit(X).delta_values_.sum()
    watch = net.watch()
    assert watch.excess == pytest.approx(true, rel=0.2, abs=0.05)
    assert (watch.warning is not None) == (true > 0.2)
    assert (true > 0.2) == (learner is BioSFA)


def test_what_still_changes_is_noticed_where_columns_are_many():
    X = white_columns(4000, (300, *np.geomspace(20, 1, 599)))
    watch = OnlineSFA(1, random_state=0).partial_fit(X).watch()
    assert np.isnan(watch.excess)
    assert watch.change > 0.15
    assert "becoming slower" in watch.warning
    few = OnlineSFA(1, random_state=0).partial_fit(X[:1000]).watch()
    assert "too few" in few.warning


LEARNERS = [
    BioSFA(2, random_state=0),
    BioSFA(2, input_layer="lateral", random_state=0),
    BioSFA(2, rule="nonnegative", random_state=0),
    OnlineSFA(2, random_state=0),
    LocalSFA(2, random_state=0),
    LocalSFA(2, input_layer=2, random_state=0),
    LocalSFA(2, dynamics="relax", random_state=0),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("value", [0.0, 3.0, 0.1])
def test_a_constant_stream_has_no_slowness(learner, value):
    net = clone(learner).partial_fit(np.full((500, 4), value))
    watch = net.watch()
    assert np.isnan([*watch.delta_values, watch.excess, watch.change]).all()
    np.testing.assert_array_equal(net.transform(np.full((2, 4), value)), 0.0)
    if net.get_params().get("rule") != "nonnegative":  # its outputs may be silent
        assert "do not vary" in watch.warning
        with pytest.raises(ValueError, match="vary in only 0 dimensions"):
            clone(learner).fit(np.full((500, 4), value))


@pytest.mark.parametrize("learner", [each for each in LEARNERS if "nonnegative" not in str(each)], ids=str)
def test_silence_after_the_stream_is_reported_and_loses_no_feature(learner):
    X = white_columns(2000, (50, 20, 2, 1))
    net = clone(learner).partial_fit(X)
    before, W = net.transform(X), net._network.W
    net.partial_fit(np.repeat(X[-1:], 3000, axis=0))
    assert "do not vary" in net.watch().warning
    assert np.isnan(net.delta_values_).all()
    assert (net.transform(X).std(axis=0) > 0.05 * before.std(axis=0)).all()
    assert W.shape == net.components_.shape
    clone(learner).fit(np.concatenate([X, np.repeat(X[-1:], 3000, axis=0)]))  # without an error or a warning


@pytest.mark.parametrize("learner", [each for each in LEARNERS if "nonnegative" not in str(each)], ids=str)
def test_a_stream_of_too_few_dimensions_is_reported(learner):
    X = np.hstack([white_columns(2000, (50,)), np.full((2000, 3), 7.0)])
    watch = clone(learner).partial_fit(X).watch()
    assert np.isfinite(watch.delta_values).tolist() == [True, False]
    assert np.isnan([watch.excess, watch.change]).all()
    assert "only 1 dimension in recent samples, so 2 features cannot be measured" in watch.warning


def test_the_change_is_against_earlier_weights():
    X = white_columns(1024, (50, 5, 2, 1))
    net, weights = BioSFA(1, random_state=0), {}
    for begin in range(0, 1024, 64):
        net.partial_fit(X[begin : begin + 64])
        weights[begin + 64] = net.W_
    earlier = net._gauge.earlier_weights()
    ages = [n for n, W in weights.items() if deviation(earlier, W) < 1e-6]
    assert len(ages) == 1
    assert 1024 / 2 <= ages[0] <= 1024 * 3 / 4


@pytest.mark.parametrize("learner", [OnlineSFA, LocalSFA, BioSFA])
@pytest.mark.parametrize("n_epochs", [1, 50])
def test_a_short_recording_is_too_short_to_judge(learner, n_epochs):
    """202 rows are 201 pairs of rows, however often they are read."""
    X = white_columns(202, np.linspace(0.5, 4.0, 12))
    watch = learner(2, n_epochs=n_epochs, random_state=0).fit(X).watch()
    assert watch.n_pairs == 201
    assert np.isnan(watch.excess)
    assert "too few pairs" in watch.warning
    assert "201, and about 300 are needed for 12 columns" in watch.warning
    assert "converged, or" not in watch.warning


def test_pairs_of_other_passes_do_not_count_again(tmp_path):
    X = white_columns(202, (4.0, 2.0, 1.0))
    net = OnlineSFA(1, n_epochs=3, random_state=0).fit(X)
    net.save(tmp_path / "m")
    for model in (net, load(tmp_path / "m")):
        assert model.watch().n_pairs == 201
        assert model.partial_fit(X[:51]).watch().n_pairs == 251  # a stream goes on where fit has ended
    discrete = np.random.default_rng(0).integers(0, 2, (5000, 3)).astype(float)  # has only 64 different pairs of rows
    assert OnlineSFA(1, random_state=0).fit(discrete).watch().n_pairs > 1000


def test_a_network_close_to_exact_sfa_has_converged(monkeypatch):
    """Earlier weights that are worse do not make it one that still changes."""
    X = white_columns(5000, (50.0, 20.0, 3.0, 2.0, 1.0))
    net = OnlineSFA(2, random_state=0).fit(X)
    exact = SFA(2).fit(X).components_
    far = np.random.default_rng(0).standard_normal((2, 5))
    monkeypatch.setattr(type(net._network), "W", exact)
    monkeypatch.setattr(type(net._gauge), "earlier_weights", lambda gauge: far)
    watch = net.watch()
    assert watch.excess < 0.02
    assert watch.change > 0.15
    assert watch.warning is None
    monkeypatch.setattr(type(net._network), "W", far)
    net._gauge._read = None
    assert "has not converged" in net.watch().warning
