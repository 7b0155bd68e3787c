"""The paper's rule behind an input layer against its literal form."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa.kernels import reference
from biosfa.kernels.local import RULES, Mode, Rule, initial_state, settled
from tests.conftest import deviation


@given(data=st.data())
@settings(max_examples=40)
def test_kernel_equals_reference_for_any_chunks(data):
    draw = data.draw
    n, m, P = draw(st.integers(2, 200)), draw(st.sampled_from([1, 2, 5, 12, 30])), draw(st.integers(1, 3))
    k, name, normalized = min(draw(st.integers(1, 4)), m), draw(st.sampled_from(RULES)), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    U = (rng.standard_normal((n, P, m)) @ rng.standard_normal((m, m)) / np.sqrt(m)).reshape(n * P, m)
    starts = np.repeat(rng.random(n) < draw(st.sampled_from([0.0, 0.1])), P)
    starts[:P] = True
    eta = draw(st.sampled_from([1e-4, 1e-3])) / (1 + 0.1 * np.arange(n * P))
    rate = eta / draw(st.sampled_from([0.05, 0.5]))
    cuts = [P * cut for cut in draw(st.lists(st.integers(0, n), max_size=3))]
    rule = Rule.named(name)
    mode = Mode(center=True, relative=False, normalized=normalized, rule=int(rule))
    inputs = reference.settle_laterally(U)
    state = initial_state(k, m, P, float, np.random.RandomState(0), interneurons=rule.has_interneurons)
    expected = reference.learn_settled(
        inputs, state.W[:, :m], eta, rate, starts=starts, rule=name, normalized=normalized, n_streams=P
    )
    power_prev = np.zeros(P)
    for begin, end in pairwise([0, *sorted(cuts), n * P]):
        rows = slice(begin, end)
        done = settled.learn(
            inputs.U[rows], inputs.X[rows], starts[rows], eta[rows], rate[rows], begin, mode, state, power_prev
        )
        assert done == end - begin
    M = state.L @ state.L.T if rule.has_interneurons else state.M
    for ours, theirs in ((state.W[:, :m], expected.W), (M, expected.M), (state.y_prev, expected.Y[-P:])):
        assert deviation(ours, theirs) <= 1e-9


def test_on_white_input_it_is_the_rule_of_the_paper():
    """With x̃ = x the literal form of Algorithm 1 gives the same weights."""
    X = np.random.default_rng(0).standard_normal((300, 6)).cumsum(axis=0) * 0.1
    W = np.random.default_rng(1).standard_normal((2, 6))
    starts, eta, tau = np.arange(300) == 0, np.full(300, 1e-3), 0.5
    ours = reference.learn_settled(reference.Settled(np.eye(6), X, X), W, eta, eta / tau, starts=starts)
    theirs = reference.learn(X, W, np.eye(2), eta, tau, starts=starts, normalized=True, center=False)
    np.testing.assert_allclose(ours.W, theirs.W, rtol=1e-12)
    np.testing.assert_allclose(ours.M, theirs.M, rtol=1e-12)


def test_its_fixed_points_are_those_of_the_paper_whatever_the_lateral_weights():
    """E ΔW = (the paper's) L⁻¹, which vanishes where the paper's does: where W̄ = M⁻¹W is exact SFA."""
    rng = np.random.default_rng(0)
    A, B, S = (rng.standard_normal((5, 5)) for _ in range(3))
    C, L = A @ A.T, S @ S.T + np.eye(5)  # covariances of x and of x̄ = x_t + x_{t−1}, and any lateral weights
    C_bar = 4 * C - 0.1 * B @ B.T
    values, vectors = np.linalg.eig(np.linalg.solve(C, C_bar))
    order = np.argsort(-values.real)[:2]
    F, Lambda = vectors.real[:, order].T, np.diag(values.real[order])
    F /= np.sqrt(((F @ C) * F).sum(axis=1))[:, None]
    M = Lambda  # at rest M = ⟨ȳȳᵀ⟩, with y = Fx
    W = M @ F
    np.testing.assert_allclose((F @ C_bar - W @ C) @ np.linalg.inv(L), 0.0, atol=1e-10)
    np.testing.assert_allclose(F @ C_bar @ F.T, M, atol=1e-10)
