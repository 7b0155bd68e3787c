"""The kernel of the local and fast network against its literal form."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa.kernels import fast_local, reference
from biosfa.kernels.fast_local.input_layer import SATURATION, receive
from tests.conftest import deviation


def noise(n, m):
    """The private noise of n inputs: what m neurons make of zeros."""
    U = np.empty((n, m))
    receive(np.zeros((n, m)), 0, False, np.inf, np.zeros(m), np.ones(m), np.zeros(n), np.eye(m), U)
    return U


def advance(U, starts, k, state, *, window=np.inf, relaxes=False, cuts=()):
    """Learn chunk by chunk from inputs that are centred and of unit variance."""
    m = U.shape[1]
    for begin, end in pairwise([0, *sorted(cuts), len(U)]):
        chunk = slice(begin, end)
        fast_local.advance(U[chunk], starts[chunk], begin, False, window, np.zeros(m), np.ones(m), k, relaxes, state)


@given(data=st.data())
@settings(max_examples=40)
def test_kernel_equals_reference_for_any_chunks(data):
    draw = data.draw
    n, m, P = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 12, 60])), draw(st.integers(1, 3))
    k = min(draw(st.integers(1, 4)), m)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U = rng.standard_normal((n, P, m)).cumsum(axis=0) * 0.2 + rng.standard_normal((n, P, m))
    U = ((U - U.mean(axis=(0, 1))) / U.std(axis=(0, 1))).reshape(n * P, m)
    starts = np.repeat(rng.random(n) < draw(st.sampled_from([0.0, 0.1])), P)
    starts[:P] = True
    window = draw(st.sampled_from([np.inf, 100.0]))
    cuts = [P * cut for cut in draw(st.lists(st.integers(0, n), max_size=3))]
    state = fast_local.initial_state(k, m, P, float, np.random.RandomState(0))
    huge = draw(st.booleans())
    if huge:  # neurons saturate at this sample; L then has a condition number near 1e6, which costs digits
        U[n // 2] *= 1e5
    tolerance = 1e-6 if huge else 1e-9
    inputs = U + noise(*U.shape)
    expected = reference.learn_fast_local(inputs, state.W, k, starts=starts, n_streams=P, window=window)
    advance(U, starts, k, state, window=window, cuts=cuts)
    for name in ("L", "W", "W_slow"):
        assert deviation(getattr(state, name), getattr(expected, name)) <= tolerance, name
    if not starts[-1]:  # the first sample of an episode makes no update
        np.testing.assert_allclose(fast_local.rates(state, window), expected.eta, rtol=tolerance)
    identity = state.P @ state.L
    assert deviation(identity, np.eye(m)) <= 10 * tolerance


@pytest.mark.parametrize("m", [6, 60])  # sample by sample, and in blocks
def test_dynamics_that_come_to_rest_give_the_same(m):
    rng = np.random.default_rng(0)
    U = rng.standard_normal((200, m)).cumsum(axis=0) * 0.2 + rng.standard_normal((200, m))
    U /= U.std(axis=0)
    starts = np.zeros(200, bool)
    starts[0] = True
    relaxed, solved = (fast_local.initial_state(2, m, 1, float, np.random.RandomState(0)) for _ in range(2))
    advance(U, starts, 2, relaxed, relaxes=True)
    advance(U, starts, 2, solved)
    assert deviation(relaxed.W, solved.W) <= 1e-8
    assert deviation(relaxed.L, solved.L) <= 1e-12


def test_private_noise_is_white():
    many = noise(200_000, 3) / fast_local.PRIVATE_NOISE
    atol = 5 / np.sqrt(len(many))
    np.testing.assert_allclose(many.mean(axis=0), 0.0, atol=atol)
    np.testing.assert_allclose(many.T @ many / len(many), np.eye(3), atol=atol)  # uncorrelated, of unit variance
    np.testing.assert_allclose(many[1:].T @ many[:-1] / len(many), 0.0, atol=atol)  # also with the sample before


def test_neurons_centre_their_input_by_the_mean_through_each_sample():
    X = np.random.default_rng(0).standard_normal((50, 4)) + 3.0
    U, mean = np.empty_like(X), np.zeros(4)
    for begin, end in pairwise([0, 1, 20, 50]):
        rows = slice(begin, end)
        receive(X[rows], begin, True, np.inf, mean, np.full(4, 2.0), np.zeros(end - begin), np.eye(4), U[rows])
    means = X.cumsum(axis=0) / np.arange(1, 51)[:, None]
    np.testing.assert_allclose(U, 2 * (X - means), atol=1e-5)  # the private noise is that large
    np.testing.assert_allclose(mean, means[-1], rtol=1e-12)


def test_a_saturated_neuron_moves_its_mean_by_no_more_than_its_input():
    X = np.zeros((2, 1))
    X[1] = 1e12
    U, mean = np.empty_like(X), np.zeros(1)
    receive(X, 99, True, np.inf, mean, np.ones(1), np.zeros(2), np.eye(1), U)
    np.testing.assert_allclose(U[1], SATURATION)
    np.testing.assert_allclose(mean, SATURATION / 100, rtol=0.02)  # a hundred and one samples
