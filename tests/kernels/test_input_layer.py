"""The input layers against their literal forms, and what each input neuron does with its own input."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa.kernels import reference
from biosfa.kernels.input_layer import PRIVATE_NOISE, interneurons, lateral
from biosfa.kernels.input_layer.receptors import SATURATION, receive
from tests.conftest import deviation


def noise(n, m):
    """The private noise of n inputs: what m neurons make of zeros."""
    U = np.empty((n, m))
    receive(np.zeros((n, m)), 0, False, np.inf, np.zeros(m), np.ones(m), np.zeros(n), np.ones(m), U)
    return U


def settle(U, kernel, state, *, window=np.inf, relaxes=False, cuts=(), dtype=float):
    """Let a layer learn chunk by chunk from inputs that are centred and of unit variance; returns u and x̃."""
    inputs, activities = np.empty(U.shape, dtype), np.empty(U.shape, dtype)
    for begin, end in pairwise([0, *sorted(cuts), len(U)]):
        rows = slice(begin, end)
        scale = np.ones(U.shape[1])
        kernel.learn(U[rows], begin, False, window, scale, relaxes, state, inputs[rows], activities[rows])
    return inputs, activities


def correlated(n, m, rng):
    """Inputs of unit variance, as correlated as five common sources make them."""
    U = rng.standard_normal((n, 5)) @ rng.standard_normal((5, m)) + rng.standard_normal((n, m))
    return U / U.std(axis=0)


@given(data=st.data())
@settings(max_examples=40)
def test_lateral_synapses_equal_reference_for_any_chunks(data):
    draw = data.draw
    n, m = draw(st.integers(2, 300)), draw(st.sampled_from([1, 2, 5, 12, 60]))
    U = correlated(n, m, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
    window, cuts = draw(st.sampled_from([np.inf, 100.0])), draw(st.lists(st.integers(0, n), max_size=3))
    huge = draw(st.booleans())
    if huge:  # neurons saturate at this sample; L then has a condition number near 1e6, which costs digits
        U[n // 2] *= 1e5
    tolerance = 1e-6 if huge else 1e-9
    expected = reference.settle_laterally(U + noise(n, m), window=window)
    state = lateral.initial_state(m)
    inputs, activities = settle(U, lateral, state, window=window, cuts=cuts)
    assert deviation(inputs, expected.U) <= 1e-12
    assert deviation(activities, expected.X) <= tolerance
    assert deviation(state.L, expected.L) <= tolerance
    assert deviation(state.P @ state.L, np.eye(m)) <= 10 * tolerance


@given(data=st.data())
@settings(max_examples=40)
def test_interneurons_equal_reference_for_any_chunks(data):
    draw = data.draw
    n, m = draw(st.integers(2, 400)), draw(st.sampled_from([1, 2, 12, 60]))
    r = draw(st.sampled_from([1, 3, 8]))
    U = correlated(n, m, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
    window, cuts = draw(st.sampled_from([np.inf, 100.0])), draw(st.lists(st.integers(0, n), max_size=3))
    if draw(st.booleans()):
        U[n // 2] *= 1e5
    state = interneurons.initial_state(m, r, float, np.random.RandomState(0))
    expected = reference.settle_by_interneurons(U + noise(n, m), state.F, window=window)
    inputs, activities = settle(U, interneurons, state, window=window, cuts=cuts)
    assert deviation(inputs, expected.U) <= 1e-12
    assert deviation(activities, expected.X) <= 1e-9
    assert deviation(np.diag(state.leak) + state.F @ state.F.T, expected.L) <= 1e-9


def test_single_precision_of_interneurons_is_as_good_as_its_digits():
    U = correlated(3000, 60, np.random.default_rng(0))
    found = {}
    for dtype in (np.float32, np.float64):
        state = interneurons.initial_state(60, 8, dtype, np.random.RandomState(0))
        settle(U, interneurons, state, dtype=dtype)
        found[dtype] = state.F
    assert deviation(found[np.float32], found[np.float64]) < 1e-4


@pytest.mark.parametrize("m", [6, 60])  # sample by sample, and in blocks
@pytest.mark.parametrize("kernel", [lateral, interneurons])
def test_dynamics_that_come_to_rest_give_the_same(kernel, m):
    U = correlated(200, m, np.random.default_rng(0))
    found = []
    for relaxes in (True, False):
        rng = np.random.RandomState(0)
        state = lateral.initial_state(m) if kernel is lateral else interneurons.initial_state(m, 4, float, rng)
        found.append(settle(U, kernel, state, relaxes=relaxes)[1])
    assert deviation(*found) <= 1e-8


def test_interneurons_learn_a_diagonal_plus_what_columns_share():
    """If columns share r sources, the factor model is their covariance, at a fixed point of the rule."""
    rng = np.random.default_rng(1)
    shared = rng.standard_normal((3, 20))
    own = rng.uniform(0.3, 1.0, 20)
    scale = 1 / np.sqrt(np.square(shared).sum(axis=0) + own)
    covariance = (shared.T @ shared + np.diag(own)) * np.outer(scale, scale)
    U = (rng.standard_normal((100_000, 3)) @ shared + rng.standard_normal((100_000, 20)) * np.sqrt(own)) * scale
    state = interneurons.initial_state(20, 3, float, np.random.RandomState(0))
    settle(U, interneurons, state)
    L = np.diag(state.leak) + state.F @ state.F.T
    np.testing.assert_allclose(L, covariance, atol=0.04)  # 100,000 samples, of which a third counts
    np.testing.assert_allclose(np.cov(U.T) @ np.linalg.solve(L, state.F), state.F, atol=0.04)


def test_private_noise_is_white():
    many = noise(200_000, 3) / PRIVATE_NOISE
    atol = 5 / np.sqrt(len(many))
    np.testing.assert_allclose(many.mean(axis=0), 0.0, atol=atol)
    np.testing.assert_allclose(many.T @ many / len(many), np.eye(3), atol=atol)  # uncorrelated, of unit variance
    np.testing.assert_allclose(many[1:].T @ many[:-1] / len(many), 0.0, atol=atol)  # also with the sample before


def test_neurons_centre_their_input_by_the_mean_through_each_sample():
    X = np.random.default_rng(0).standard_normal((50, 4)) + 3.0
    U, mean = np.empty_like(X), np.zeros(4)
    for begin, end in pairwise([0, 1, 20, 50]):
        rows = slice(begin, end)
        receive(X[rows], begin, True, np.inf, mean, np.full(4, 2.0), np.zeros(end - begin), np.ones(4), U[rows])
    means = X.cumsum(axis=0) / np.arange(1, 51)[:, None]
    np.testing.assert_allclose(U, 2 * (X - means), atol=1e-5)  # the private noise is that large
    np.testing.assert_allclose(mean, means[-1], rtol=1e-12)


def test_a_saturated_neuron_moves_its_mean_by_no_more_than_its_input():
    X = np.zeros((2, 1))
    X[1] = 1e12
    U, mean = np.empty_like(X), np.zeros(1)
    receive(X, 99, True, np.inf, mean, np.ones(1), np.zeros(2), np.ones(1), U)
    np.testing.assert_allclose(U[1], SATURATION)
    np.testing.assert_allclose(mean, SATURATION / 100, rtol=0.02)  # a hundred and one samples
