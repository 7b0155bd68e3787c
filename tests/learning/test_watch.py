"""What a network tells about its learning."""

import numpy as np

from biosfa import BioSFA, OnlineSFA, Recorder


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


def test_the_watch_warns_before_the_network_diverges(mixture):
    X = mixture[1][:5000]
    peak = np.square(X - X.mean(axis=0)).sum(axis=1).max()
    calm, strained = (BioSFA(2, learning_rate=share / peak, random_state=0).fit(X) for share in (0.01, 0.7))
    assert calm.watch().warning is None or "white" in calm.watch().warning
    assert "unstable beyond 2" in strained.watch().warning
    slow = BioSFA(2, learning_rate=1e-9, random_state=0).fit(10 * X)
    assert "far from white" in slow.watch().warning
