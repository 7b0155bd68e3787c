"""Every fast kernel gives what the literal reference gives."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biosfa.kernels import reference
from biosfa.kernels.local import RULES, Mode, Rule, blocked, initial_state, sequential, streams

TOLERANCE = 1e-9


def deviation(ours, theirs):
    scale = np.abs(theirs).max()
    return np.abs(ours - theirs).max() / (scale if scale > 0 else 1.0)


@st.composite
def streams_of_samples(draw, n_streams):
    """A random stream with episodes, rates and weights to begin with."""
    n, m, k = draw(st.integers(2, 90)), draw(st.integers(1, 20)), draw(st.integers(1, 6))
    k = min(k, m)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    P = draw(n_streams)
    samples = rng.standard_normal((n, P, m)) * rng.uniform(0.1, 2, m) + draw(st.sampled_from([0.0, 3.0]))
    starts = rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.5]))
    starts[0] = True
    eta = draw(st.sampled_from([1e-4, 1e-3])) / (1 + 0.1 * np.arange(n)) / np.sqrt(P)
    tau = draw(st.sampled_from([0.002, 0.05, 0.5]))
    rule = draw(st.sampled_from(RULES))
    return {
        "rule": rule,
        "samples": samples,
        "starts": starts,
        "eta": eta,
        "tau": tau,
        "mode": Mode(
            center=draw(st.booleans()),
            relative=False,
            normalized=draw(st.booleans()),
            # η/τ near 1/2 leaves M nearly singular, and the dynamics would take for ever
            euler=tau > 0.002 and draw(st.booleans()),
            window=draw(st.sampled_from([np.inf, 7.0, 40.0])),
            rule=int(Rule.named(rule)),
        ),
        "cuts": sorted(draw(st.lists(st.integers(0, n), max_size=4))),
        "k": k,
    }


def run_reference(problem):
    samples, mode = problem["samples"], problem["mode"]
    start = initial_state(problem["k"], samples.shape[2], samples.shape[1], float, np.random.RandomState(0))
    return reference.learn(
        samples,
        start.W[:, : samples.shape[2]],
        start.M,
        problem["eta"],
        problem["tau"],
        starts=problem["starts"],
        rule=problem["rule"],
        normalized=mode.normalized,
        center=mode.center,
        window=mode.window,
    )


def run_kernel(kernel, problem, mode=None):
    """The kernel on the same stream, cut into chunks."""
    samples = problem["samples"]
    n, P, m = samples.shape
    interneurons = Rule.named(problem["rule"]).has_interneurons
    state = initial_state(problem["k"], m, P, float, np.random.RandomState(0), interneurons=interneurons)
    rows = samples[:, 0] if kernel is not streams else samples
    eta, rate = problem["eta"], problem["eta"] / problem["tau"]
    bounds = [0, *problem["cuts"], n]
    for begin, end in pairwise(bounds):
        part = slice(begin, end)
        done = kernel.learn(
            rows[part], problem["starts"][part], eta[part], rate[part], begin, mode or problem["mode"], state
        )
        assert done == end - begin
    return state


def assert_equal(state, result, m, rule="bio-sfa"):
    assert deviation(state.W[:, :m], result.W) < TOLERANCE
    assert not state.W[:, m:].any()
    if Rule.named(rule).has_interneurons:
        assert deviation(state.L, result.L) < TOLERANCE
    else:
        assert deviation(state.M, result.M) < TOLERANCE
    if rule != "nonnegative":  # which does without
        assert deviation(state.M_inv, np.linalg.inv(result.M)) < TOLERANCE
    assert deviation(state.y_prev, result.Y[-1]) < TOLERANCE
    assert deviation(state.mean[:m], result.mean) < TOLERANCE
    assert deviation(state.current_power[0], result.current_power * state.current_power[1]) < TOLERANCE


@given(streams_of_samples(st.just(1)))
@settings(max_examples=300)
def test_sequential_equals_reference_for_any_chunks(problem):
    state, result = run_kernel(sequential, problem), run_reference(problem)
    assert_equal(state, result, problem["samples"].shape[2], problem["rule"])


@given(streams_of_samples(st.just(1)))
@settings(max_examples=300)
def test_blocked_equals_reference_for_any_chunks(problem):
    state = run_kernel(blocked, problem, problem["mode"]._replace(euler=False))
    assert_equal(state, run_reference(problem), problem["samples"].shape[2], problem["rule"])


@given(streams_of_samples(st.integers(2, 7)))
@settings(max_examples=300)
def test_parallel_streams_equal_reference_for_any_chunks(problem):
    state, result = run_kernel(streams, problem), run_reference(problem)
    assert_equal(state, result, problem["samples"].shape[2], problem["rule"])


def test_general_kernel_equals_the_one_for_a_single_output():
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((300, 5))
    starts = rng.random(300) < 0.1
    eta = np.full(300, 1e-2)
    mode = Mode(center=True, relative=True, normalized=True, rule=int(Rule.BIO_SFA))
    states = [initial_state(1, 5, 1, float, np.random.RandomState(0)) for _ in range(2)]
    for kernel, state in zip((sequential._learn, sequential._learn_single), states, strict=True):
        assert kernel(samples, starts, eta, eta / 2, 0, mode, state) == 300
    for name, general, single in zip(states[0]._fields, *states, strict=True):
        if name not in ("staleness", "L"):
            assert deviation(single, general) < 1e-12, name


@pytest.mark.parametrize("kernel", [sequential, blocked])
def test_inverse_survives_rates_close_to_tau(kernel):
    """The errors of Sherman–Morrison grow like (1 − η/τ)^−t: at η/τ = 0.9 they would swamp M⁻¹ in 16 steps."""
    rng = np.random.default_rng(0)
    n, m, k = 400, 6, 3
    samples = rng.standard_normal((n, 1, m))
    problem = {
        "samples": samples,
        "starts": np.arange(n) == 0,
        "eta": np.full(n, 9e-3),
        "tau": 1e-2,
        "mode": Mode(center=False, relative=False, normalized=True, rule=int(Rule.BIO_SFA)),
        "cuts": [],
        "k": k,
    }
    # outputs of M⁻¹ with a window of one sample are wild; what must hold is that M⁻¹ is the inverse of M
    state = initial_state(k, m, 1, float, np.random.RandomState(0))
    rate = problem["eta"] / problem["tau"]
    done = kernel.learn(samples[:, 0], problem["starts"], problem["eta"], rate, 0, problem["mode"], state)
    assert done == n
    condition = np.linalg.cond(state.M)
    assert deviation(state.M_inv @ state.M, np.eye(k)) < 1e-9 * condition


@pytest.mark.parametrize("kernel", [sequential, blocked])
def test_float32_stays_as_close_to_float64_after_two_million_steps(kernel):
    """With M⁻¹ carried by Sherman–Morrison alone, as in the paper, float32 blows up on the way."""
    m, k, n, total = 8, 3, 50_000, 2_000_000
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((n, m)).astype(np.float32)
    eta = np.full(n, 1e-3)
    mode = Mode(center=True, relative=False, normalized=False, rule=int(Rule.BIO_SFA))
    states = {dtype: initial_state(k, m, 1, dtype, np.random.RandomState(0)) for dtype in (np.float32, np.float64)}
    distance = {}
    for seen in range(0, total, n):
        starts = np.arange(n) == (0 if seen == 0 else -1)
        for dtype, state in states.items():
            assert kernel.learn(samples.astype(dtype), starts, eta, eta / 1.0, seen, mode, state) == n
        single, double = (states[dtype] for dtype in (np.float32, np.float64))
        V = [np.linalg.solve(state.M, state.W.astype(float)) for state in (single, double)]
        distance[seen + n] = np.abs(V[0] - V[1]).max()
    early = max(error for step, error in distance.items() if step <= 100_000)
    late = max(error for step, error in distance.items() if step > total - 100_000)
    assert early < 1e-3
    assert late <= 3 * early


@pytest.mark.parametrize("kernel", [sequential, blocked])
@pytest.mark.parametrize("k", [1, 3])
def test_divergence_stops_before_the_sample_and_keeps_a_finite_state(kernel, k):
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((200, 4))
    samples[150:] *= 1e3  # 2η‖x‖² is far above 2 from here on
    starts = np.arange(200) == 0
    eta = np.full(200, 1e-2)
    mode = Mode(center=True, relative=False, normalized=False, rule=int(Rule.BIO_SFA))
    state = initial_state(k, 4, 1, float, np.random.RandomState(0))
    done = kernel.learn(samples, starts, eta, eta, 0, mode, state)
    assert 150 <= done < 200
    expected = initial_state(k, 4, 1, float, np.random.RandomState(0))
    assert kernel.learn(samples[:done], starts[:done], eta[:done], eta[:done], 0, mode, expected) == done
    for name in ("mean", "W", "M", "x_prev", "y_prev"):
        ours, theirs = getattr(state, name), getattr(expected, name)
        assert np.isfinite(ours).all()
        assert deviation(ours, theirs) < 1e-9, name


def test_reference_dynamics_settle_at_the_solution():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((4, 4))
    M, a = root @ root.T + np.eye(4), rng.standard_normal(4)
    settled = reference.euler(M, a, np.zeros(4), gamma=1.0 / np.linalg.norm(M, 2))
    np.testing.assert_allclose(settled, reference.equilibrium(M, a), rtol=1e-11)
    with pytest.raises(RuntimeError, match="did not settle"):
        reference.euler(M, a, np.zeros(4), gamma=1e-9, max_steps=10)


@pytest.mark.parametrize("rule", RULES)
def test_dynamics_of_the_kernel_are_those_of_the_listing(rule):
    """``repeat y ← y + γ(a − My) until convergence``, literally, against the compiled dynamics."""
    samples = np.random.default_rng(0).standard_normal((60, 5))
    starts, eta = np.arange(60) == 0, np.full(60, 1e-2)
    state = initial_state(3, 5, 1, float, np.random.RandomState(0), interneurons=Rule.named(rule).has_interneurons)
    result = reference.learn(samples, state.W[:, :5], state.M, eta, 0.5, rule=rule, gamma=0.05)
    mode = Mode(center=True, relative=False, normalized=False, euler=True, rule=int(Rule.named(rule)))
    assert sequential.learn(samples, starts, eta, eta / 0.5, 0, mode, state) == 60
    assert_equal(state, result, 5, rule)
