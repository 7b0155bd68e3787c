"""The outputs of the local and fast network against their literal form."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from biosfa.kernels import fast_local, reference
from tests.conftest import deviation


@given(data=st.data())
@settings(max_examples=40)
def test_kernel_equals_reference_for_any_chunks(data):
    draw = data.draw
    n, m, P = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 12, 60])), draw(st.integers(1, 3))
    k = min(draw(st.integers(1, 4)), m)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U = rng.standard_normal((n, P, m)).cumsum(axis=0) * 0.2 + rng.standard_normal((n, P, m))
    U = ((U - U.mean(axis=(0, 1))) / (U.std(axis=(0, 1)) + 1e-6)).reshape(n * P, m)
    starts = np.repeat(rng.random(n) < draw(st.sampled_from([0.0, 0.1])), P)
    starts[:P] = True
    window = draw(st.sampled_from([np.inf, 100.0]))
    cuts = [P * cut for cut in draw(st.lists(st.integers(0, n), max_size=3))]
    settled = reference.settle_laterally(U, window=window)
    state = fast_local.initial_state(k, m, P, float, np.random.RandomState(0))
    expected = reference.learn_fast_local(settled, state.W[:, :m], k, starts=starts, n_streams=P, window=window)
    for begin, end in pairwise([0, *sorted(cuts), len(U)]):
        rows = slice(begin, end)
        fast_local.learn(settled.U[rows], settled.X[rows], starts[rows], float(begin), window, k, state)
    for name in ("W", "W_slow"):
        assert deviation(getattr(state, name)[:, :m], getattr(expected, name)) <= 1e-9, name
    if not starts[-1]:  # the first sample of an episode makes no update
        np.testing.assert_allclose(fast_local.rates(state, m, len(U), window), expected.eta, rtol=1e-9)


@pytest.fixture(scope="module")
def fluctuations():
    """Weights of one output that has the slowest of five white directions, at a constant η, and the slowness δ."""
    times = np.array([50.0, 5.0, 2.0, 1.0, 0.5])
    rho, window, every = np.exp(-1 / times), 1e5, 500
    rng = np.random.default_rng(0)
    innovations = rng.standard_normal((1_600_000, len(rho))) * np.sqrt(1 - rho**2)
    U = np.stack([lfilter([1], [1, -r], each) for r, each in zip(rho, innovations.T, strict=True)], axis=1)
    state = fast_local.initial_state(1, len(rho), 1, float, np.random.RandomState(0))
    state = state._replace(**{name: getattr(state, name)[:1].copy() for name in ("W", "W_slow", "averages")})
    state = state._replace(y_prev=np.zeros((1, 1)), s_prev=np.zeros((1, 1)), S=np.zeros((1, 1)), D=np.zeros((1, 1)))
    state.W[0, :5] = state.W_slow[0, :5] = [1.0, 0.0, 0.0, 0.0, 0.0]
    weights = []
    for begin in range(0, len(U), every):
        rows = U[begin : begin + every]
        starts = np.arange(begin, begin + every) == 0
        fast_local.learn(rows, rows, starts, window + begin, window, 1, state)  # L is the identity: x̃ = u
        weights.append(state.W[0, :5].copy())
    eta = fast_local.rates(state, 5, window, window)[0]
    return np.array(weights[200:]), eta, 2 * (1 - rho)


def test_weights_fluctuate_into_other_directions_as_derived(fluctuations):
    """The variance of W_ij is about ηδ_iδ_j/(δ_j − δ_i).

    In slow directions j, y_i x̃_j is correlated in time: r from one sample to the next, and the sum of its correlations
    with ẏ_i x̃̇_j is δ_iδ_j/2(1 − r). Then the second part of the term counts, too.
    """
    weights, eta, delta = fluctuations
    own, others, variance = delta[0], delta[1:], weights[:, 1:].var(axis=0)
    first = eta * own * others / (others - own)
    np.testing.assert_allclose(variance[1:], first[1:], rtol=0.2)
    r = (1 - own / 2) * (1 - others / 2)
    second = eta * own**2 / (others - own) * ((1 + r) / (1 - r) - others / (1 - r))
    assert second[0] > 0.7 * first[0]
    np.testing.assert_allclose(variance, first + second, rtol=0.1)


def test_the_noise_of_slowness_is_relative_to_the_slowness(fluctuations):
    """It is about η Σ_j δ_j, which is 2mη if the other directions are white noise."""
    weights, eta, delta = fluctuations
    slowness = (weights**2 @ delta) / (weights**2).sum(axis=1)
    np.testing.assert_allclose((slowness / delta[0] - 1).mean(), eta * delta[1:].sum(), rtol=0.15)
