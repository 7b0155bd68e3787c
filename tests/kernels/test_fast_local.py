"""The kernel of the local and fast network against its literal form."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa.kernels import fast_local, reference
from tests.conftest import deviation


def advance(U, starts, k, state, *, window=np.inf, relaxes=False, cuts=()):
    """Learn chunk by chunk, without private noise, which the inputs get before."""
    n = len(U)
    for begin, end in pairwise([0, *sorted(cuts), n]):
        fast_local.learn(U[begin:end].copy(), starts[begin:end], window, k, relaxes, state)


@given(data=st.data())
@settings(max_examples=40)
def test_kernel_equals_reference_for_any_chunks(data):
    draw = data.draw
    n, m, P = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 12, 60])), draw(st.integers(1, 3))
    k = min(draw(st.integers(1, 4)), m)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U = rng.standard_normal((n, P, m)).cumsum(axis=0) * 0.2 + rng.standard_normal((n, P, m))
    U = (U / U.std(axis=(0, 1))).reshape(n * P, m)
    starts = np.repeat(rng.random(n) < draw(st.sampled_from([0.0, 0.1])), P)
    starts[:P] = True
    window = draw(st.sampled_from([np.inf, 100.0]))
    cuts = [P * cut for cut in draw(st.lists(st.integers(0, n), max_size=3))]
    state = fast_local.initial_state(k, m, P, float, np.random.RandomState(0))
    expected = reference.learn_fast_local(U, state.W, k, starts=starts, n_streams=P, window=window)
    advance(U, starts, k, state, window=window, cuts=cuts)
    for name in ("L", "W", "W_slow"):
        assert deviation(getattr(state, name), getattr(expected, name)) <= 1e-9, name
    if not starts[-1]:  # the first sample of an episode makes no update
        np.testing.assert_allclose(fast_local.rates(state, window), expected.eta, rtol=1e-9)
    identity = state.P @ state.L
    assert deviation(identity, np.eye(m)) <= 1e-8


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


def test_private_noise_depends_on_the_number_of_the_sample_alone():
    whole = np.zeros((50, 7))
    fast_local.add_private_noise(whole, 1000.0)
    parts = np.zeros((50, 7))
    fast_local.add_private_noise(parts[:20], 1000.0)
    fast_local.add_private_noise(parts[20:], 1020.0)
    np.testing.assert_array_equal(parts, whole)
    many = np.zeros((200_000, 3))
    fast_local.add_private_noise(many, 0.0)
    many /= fast_local.PRIVATE_NOISE
    noise = 5 / np.sqrt(len(many))
    np.testing.assert_allclose(many.mean(axis=0), 0.0, atol=noise)
    np.testing.assert_allclose(many.T @ many / len(many), np.eye(3), atol=noise)  # uncorrelated, of unit variance
    np.testing.assert_allclose(many[1:].T @ many[:-1] / len(many), 0.0, atol=noise)  # also with the sample before
