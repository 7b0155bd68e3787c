"""Locality, checked by a machine: what a synapse needs to know in order to change.

A synapse may use its own weight, what its presynaptic neuron owns and what its postsynaptic neuron owns, and products
of these. For rules that claim to be local every single change is computed from nothing else; for the others it is shown
that no combination of these explains the changes.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from biosfa import BioSFA, OnlineSFA
from biosfa.kernels import fast_local, input_layer
from biosfa.kernels.fast_local import outputs as output_layer
from biosfa.kernels.input_layer.receptors import LATERAL_SHARE
from biosfa.kernels.local import Mode, Rule, initial_state, settled
from biosfa.rivals import FoldiakTrace, IncrementalSFA, OnlineGEV
from tests.conftest import slow_mixture
from tests.kernels.test_input_layer import noise

ETA, TAU = 0.002, 0.5


@dataclass(frozen=True)
class Input:
    """All that an input neuron has to tell its synapses."""

    x: float
    x_bar: float


@dataclass(frozen=True)
class Output:
    """All that an output neuron has to tell its synapses."""

    a: float
    y: float
    y_bar: float


FEEDFORWARD = {
    "bio-sfa": lambda pre, post: 2 * (post.y_bar * pre.x_bar - post.a * pre.x),
    "reversible": lambda pre, post: 2 * (2 * post.y_bar - post.a) * pre.x,
}
FEEDFORWARD["nonnegative"] = FEEDFORWARD["interneuron"] = FEEDFORWARD["bio-sfa"]


def lateral(pre, post, weight):
    """Both ends of a lateral synapse are output neurons."""
    return (pre.y_bar * post.y_bar - weight) / TAU


def interneuronal(z, post, weight):
    """The same for the synapse from an interneuron to an output and for the one back."""
    return (post.y * z - weight) / (2 * TAU)


@pytest.fixture(scope="module")
def X():
    return slow_mixture(400, times=(30.0, 10.0), n_noise=3, seed=2)[1]


def activities(net, x, before, y_prev):
    respond = net.neural_output if isinstance(net, BioSFA) else net.transform
    a, y = net.W_ @ x, respond(x[None])[0]
    inputs = [Input(*values) for values in zip(x, x + before, strict=True)]
    return inputs, [Output(*values) for values in zip(a, y, y + y_prev, strict=True)], y


@pytest.mark.parametrize("rule", FEEDFORWARD)
def test_every_synapse_of_bio_sfa_needs_its_two_neurons_only(rule, X):
    net = BioSFA(2, rule=rule, learning_rate=ETA, tau=TAU, center=False, random_state=0).partial_fit(X[:1])
    before, y_prev = X[0], net.neural_output(X[:1])[0]
    for x in X[1:]:
        W, M = net.W_, net.M_
        L = net.L_ if rule == "interneuron" else None
        inputs, outputs, y_prev = activities(net, x, before, y_prev)
        net.learn_one(x)
        dW = [[ETA * FEEDFORWARD[rule](pre, post) for pre in inputs] for post in outputs]
        np.testing.assert_allclose(net.W_, W + dW, rtol=1e-10, atol=1e-13)
        if L is not None:
            z = L.T @ y_prev
            dL = [[ETA * interneuronal(z[n], post, L[i, n]) for n in range(2)] for i, post in enumerate(outputs)]
            np.testing.assert_allclose(net.L_, L + dL, rtol=1e-10, atol=1e-13)
        else:
            dM = [
                [ETA * lateral(pre, post, M[i, j]) for j, pre in enumerate(outputs)] for i, post in enumerate(outputs)
            ]
            np.testing.assert_allclose(net.M_, M + dM, rtol=1e-10, atol=1e-13)
        before = x


def test_the_reversible_rule_needs_no_memory_of_the_input():
    """Its synapses never ask for x̄."""
    pre = Input(x=0.3, x_bar=np.nan)
    assert np.isfinite(FEEDFORWARD["reversible"](pre, Output(0.1, 0.2, 0.3)))
    assert np.isnan(FEEDFORWARD["bio-sfa"](pre, Output(0.1, 0.2, 0.3)))


def test_every_synapse_of_the_trace_rule_needs_its_two_neurons_only(X):
    net = FoldiakTrace(2, learning_rate=ETA, random_state=0).partial_fit(X[:1])
    for x in X[1:]:
        W = net._state.W.copy()
        net.learn_one(x)
        dW = [
            [ETA * trace * (x_j - w) for x_j, w in zip(x, row, strict=True)]
            for trace, row in zip(net._state.trace, W, strict=True)
        ]
        np.testing.assert_allclose(net._state.W, W + dW, rtol=1e-10, atol=1e-13)


@dataclass(frozen=True)
class SettledInput:
    """All that an input neuron of LocalSFA has to tell its synapses."""

    x: float  # its settled activity
    x_dot: float  # change of that
    feedback: float  # f_j = Σ_i W_ij y_i, which reciprocal synapses bring: assumed
    guard_feedback: float  # the same from all outputs


@dataclass
class SlowOutput:
    """All that an output neuron of LocalSFA has, and what it keeps of its own activity."""

    is_guard: bool
    averages: np.ndarray
    y: float = 0.0
    s: float = 0.0  # of its slow weights
    y_dot: float = 0.0

    def respond(self, y, s, t):
        """Take the present activity into the averages; only the neuron's own activity is used."""
        y_before, s_before, self.y, self.s, self.y_dot = self.y, self.s, y, s, y - self.y
        memory = output_layer.RECENT / (t + output_layer.EARLY)
        for i, value in enumerate([(y**2 + y_before**2) / 2, (y - y_before) ** 2, y * s, s**2, (s - s_before) ** 2]):
            self.averages[i] += memory * (value - self.averages[i])
        ratio = self.averages[2] / self.averages[3]
        e, e_before = y - ratio * s, y_before - ratio * s_before
        for i, value in ((5, (e**2 + e_before**2) / 2), (6, (e - e_before) ** 2)):
            self.averages[i] += memory * (value - self.averages[i])

    def rates(self, t, m):
        """Return δ, η and θ."""
        delta, gap = output_layer.slowness_and_gap(self.averages)
        return delta, 1 / output_layer.inverse_rate(delta, gap, t, m), output_layer.HOMEOSTASIS * delta


def learn_inputs(X, row, kernel, layer):
    """Let an input layer learn one row; return its input and its settled activity."""
    U, settled = np.empty((1, X.shape[1])), np.empty((1, X.shape[1]))
    kernel.learn(X[row : row + 1], row, False, np.inf, np.ones(X.shape[1]), False, layer, U, settled)
    return U[0], settled[0]


def learn_row(X, row, starts, k, layer, state):
    u, x = learn_inputs(X, row, input_layer.lateral, layer)
    fast_local.learn(u[None], x[None], starts[row : row + 1], float(row), np.inf, k, state)
    return x


def test_every_synapse_of_local_sfa_needs_its_two_neurons_and_the_named_assumptions(X):
    """The assumptions are the feedback f, and sums over a layer for divisive normalisation."""
    X_scaled, k = (X - X.mean(axis=0)) / X.std(axis=0), 1
    U = X_scaled + noise(*X.shape)
    m, starts = U.shape[1], np.zeros(len(U), bool)
    starts[0] = True
    state = fast_local.initial_state(k, m, 1, float, np.random.RandomState(0))
    layer = input_layer.lateral.initial_state(m)
    x = learn_row(X_scaled, 0, starts, k, layer, state)
    outputs = [
        SlowOutput(i >= k, state.averages[i].copy(), state.y_prev[0, i], state.s_prev[0, i])
        for i in range(len(state.W))
    ]
    for row in range(1, len(U)):
        L, W, W_slow, x_before = layer.L.copy(), state.W[:, :m].copy(), state.W_slow[:, :m].copy(), x
        x = learn_row(X_scaled, row, starts, k, layer, state)
        t, u = row + 1, U[row]
        # lateral synapses of the input layer: both neurons own u; the settled activity x̃ is where Lx̃ = u
        rho = LATERAL_SHARE / (t + LATERAL_SHARE * m)
        dL = [[rho * (post * pre - L[i, j]) for j, pre in enumerate(u)] for i, post in enumerate(u)]
        np.testing.assert_allclose(layer.L, L + dL, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(layer.L @ x, u, rtol=1e-6, atol=1e-8)
        y = W @ u
        inputs = [SettledInput(*values) for values in zip(x, x - x_before, y[:k] @ W[:k], y @ W, strict=True)]
        # assumed: two sums over the input layer
        change, push = max(0.0, (u - U[row - 1]) @ (x - x_before)), abs(u @ (x - x_before))
        power = float(y @ y)  # assumed: one sum over the outputs
        dW = np.empty_like(W)
        for i, post in enumerate(outputs):
            post.respond(y[i], W_slow[i] @ u, t)
            delta, eta, theta = post.rates(t, m)
            g, g_home = (1 / (1 + output_layer.DIVISION * x) for x in (eta * change, eta * theta * power))
            g = min(g, 1 / (output_layer.STEADINESS * eta * push))
            for j, pre in enumerate(inputs):
                f = pre.guard_feedback if post.is_guard else pre.feedback
                slow = delta * post.y * pre.x - post.y_dot * pre.x_dot
                dW[i, j] = 2 * eta * (g * slow + theta * g_home * (W[i, j] - post.y * f))
        np.testing.assert_allclose(state.W[:, :m], W + dW, rtol=1e-8, atol=1e-11)
        slow = output_layer.SLOW / (t + output_layer.SLOW)  # the slow copy of a synapse follows that synapse
        np.testing.assert_allclose(
            state.W_slow[:, :m], W_slow + slow * (state.W[:, :m] - W_slow), rtol=1e-8, atol=1e-11
        )


def test_every_synapse_of_interneurons_among_the_inputs_needs_its_two_neurons_only(X):
    """Both neurons own the trace of their activities. The leak of a neuron needs its power and its own synapses."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = input_layer.interneurons
    layer = kernel.initial_state(X.shape[1], 2, float, np.random.RandomState(0))
    n_changes = 0
    for row in range(len(X)):
        F, leak, trace, power = layer.F.copy(), layer.leak.copy(), layer.trace.copy(), layer.variance.copy()
        waited = layer.traced[1]
        u, x = learn_inputs(X, row, kernel, layer)
        rho = LATERAL_SHARE / (row + 1 + LATERAL_SHARE * kernel.COMPETITION * 2)
        z = [sum(F[j, a] * x[j] for j in range(len(x))) for a in range(2)]  # what an interneuron receives
        np.testing.assert_allclose(u - leak * x - F @ z, 0.0, atol=1e-10)  # the activities are at rest
        power += rho * (u**2 - power)
        trace += [[rho * pre * post for post in z] for pre in u]
        if layer.traced[0] == 0.0:  # synapses change
            n_changes += 1
            F = [[F[j, a] + trace[j, a] - (waited + rho) * F[j, a] for a in range(2)] for j in range(len(u))]
            leak = [
                max(own - sum(w**2 for w in row), kernel.LEAST_LEAK * own) for own, row in zip(power, F, strict=True)
            ]
        np.testing.assert_allclose(layer.F, F, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(layer.leak, leak, rtol=1e-9, atol=1e-12)
    assert n_changes > 10


@pytest.mark.parametrize("rule", FEEDFORWARD)
def test_every_synapse_of_bio_sfa_behind_an_input_layer_needs_its_two_neurons_and_one_sum(rule, X):
    """The sum u·x̃ over the input layer divides all changes: it is assumed."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    k, m = 2, X.shape[1]
    mode = Mode(center=False, relative=False, normalized=True, rule=int(Rule.named(rule)))
    layer = input_layer.lateral.initial_state(m)
    state = initial_state(k, m, 1, float, np.random.RandomState(0), interneurons=rule == "interneuron")
    u, x = learn_inputs(X, 0, input_layer.lateral, layer)
    power_prev, eta, first = np.zeros(1), np.full(1, ETA), np.ones(1, bool)
    settled.learn(u[None], x[None], first, eta, eta / TAU, 0.0, mode, state, power_prev)
    for row in range(1, len(X)):
        W, M, L, y_prev, x_prev, gain_prev = (
            state.W[:, :m].copy(),
            state.M.copy(),
            state.L.copy(),
            state.y_prev[0].copy(),
            x,
            1 / (1 + 2 * ETA * power_prev[0]),
        )
        u, x = learn_inputs(X, row, input_layer.lateral, layer)
        settled.learn(u[None], x[None], ~first, eta, eta / TAU, float(row), mode, state, power_prev)
        gain = 1 / (1 + 2 * ETA * (u @ x))  # assumed
        y = state.y_prev[0]
        outputs = [Output(*values) for values in zip(W @ u, y, y + y_prev, strict=True)]
        # an input neuron tells its synapses its settled activity, and that plus the last one
        inputs = [Input(*values) for values in zip(gain * x, gain * x + gain_prev * x_prev, strict=True)]
        dW = [[ETA * FEEDFORWARD[rule](pre, post) for pre in inputs] for post in outputs]
        np.testing.assert_allclose(state.W[:, :m], W + dW, rtol=1e-9, atol=1e-12)
        if rule == "interneuron":
            z = L.T @ y
            dL = [[ETA * interneuronal(z[n], post, L[i, n]) for n in range(k)] for i, post in enumerate(outputs)]
            np.testing.assert_allclose(state.L, L + dL, rtol=1e-9, atol=1e-12)
        else:
            dM = [
                [ETA * lateral(pre, post, M[i, j]) for j, pre in enumerate(outputs)] for i, post in enumerate(outputs)
            ]
            np.testing.assert_allclose(state.M, M + dM, rtol=1e-9, atol=1e-12)


def unexplained(changes, own):
    """The share of the changes of a synapse that no linear combination of what it may know explains."""
    changes, own = np.array(changes), np.array(own)
    rest = changes - own @ np.linalg.lstsq(own, changes, rcond=None)[0]
    return float((rest**2).sum() / (changes**2).sum())


def knowledge(pre, post, weight):
    """Products of what a synapse may know."""
    outer = (1.0, post.a, post.y, post.y_bar)
    inner = (1.0, pre.x, pre.x_bar)
    return [p * q for p in outer for q in inner] + [weight * p * q for p in outer for q in outer]


@pytest.mark.parametrize("local", [True, False])
def test_what_the_natural_gradient_needs_no_synapse_knows(local, X):
    if local:
        net = BioSFA(2, learning_rate=ETA, center=False, random_state=0).partial_fit(X[:100])
        y_prev = np.linalg.solve(net.M_, net.W_ @ X[99])
    else:
        net = OnlineSFA(2, center=False, random_state=0).partial_fit(X[:100])
        y_prev = net.components_ @ X[99]
    before = X[99]
    changes, own = [], []
    for x in X[100:]:
        W = net.W_
        inputs, outputs, y_prev = activities(net, x, before, y_prev)
        net.learn_one(x)
        changes.append((net.W_ - W)[1, 2])
        own.append(knowledge(inputs[2], outputs[1], W[1, 2]))
        before = x
    share = unexplained(changes[1:], own[1:])  # the y before the first is that of weights which are gone
    assert share < 1e-12 if local else share > 0.3


def test_what_incremental_sfa_needs_no_synapse_knows(X):
    """The first principal component is Hebbian; the next learns from what the first has left, which is not its own."""
    net = IncrementalSFA(2, random_state=0).partial_fit(X[:250])
    changes, own = {0: [], 1: []}, {0: [], 1: []}
    for x in X[250:]:
        V = net._state.V.copy()
        net.learn_one(x)
        u, rate = x - net.mean_, 4.0 / net.n_samples_seen_
        for i in changes:
            response = u @ V[i] / np.linalg.norm(V[i])
            changes[i].append((net._state.V[i] - V[i])[2] / rate)
            own[i].append([response * u[2], response * V[i, 2], u[2], V[i, 2], response, 1.0])
    assert unexplained(changes[0], own[0]) < 1e-12
    assert unexplained(changes[1], own[1]) > 0.1


def test_the_first_unit_of_online_gev_is_local_and_the_next_is_not(X):
    """Up to factors common to a neuron, Δw_j is made of ȳx̄_j, yx_j and w_j; the next unit also needs C_xx w_1."""
    net = OnlineGEV(2, random_state=0).partial_fit(X[:100])
    before, shares = X[99], {0: [], 1: []}
    for x in X[100:]:
        W = net._state.W.copy()
        net.learn_one(x)
        u, u_prev = x - net.mean_, before - net.mean_
        for i, found in shares.items():
            y, y_bar = W[i] @ u, W[i] @ (u + u_prev)
            own = np.stack([y_bar * (u + u_prev), y * u, W[i]], axis=1)
            found.append(unexplained(net._state.W[i] - W[i], own))
        before = x
    assert max(shares[0]) < 1e-12
    assert np.median(shares[1]) > 1e-3
