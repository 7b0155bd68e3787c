"""The output layer: outputs y = Wu that learn from the settled activities x̃ of the input layer.

    ΔW_ij = −2η_i g (ẏ_i x̃̇_j − δ_i y_i x̃_j) + 2η_i g′ θ_i (W_ij − y_i f_j)

A dot is the difference to the sample before. The first term is anti-Hebbian on the changes of the two neurons, and
Hebbian on the neurons themselves. On average it vanishes at slow features, whatever the input layer has learned. The
second is homeostasis: it keeps the outputs apart and of unit power. f = Wᵀy is feedback by reciprocal synapses.
g = 1/max(1 + 4η_i Σ_j u̇_j x̃̇_j, 8η_i |Σ_j u_j x̃̇_j|) and g′ = 1/(1 + 4η_iθ_i Σ_l y_l²) are divisive normalisations, by
sums over a layer. The first term of ΔW moves the output by −2η_i g ẏ_i Σ_j u_j x̃̇_j, at most a quarter of ẏ_i. Without
this limit, outputs would grow while L learns a direction that the input did not have before: x̃ then falls much faster
than u.

There are two populations of outputs: k outputs, and guards. The feedback to the k outputs comes from these alone. The
feedback to the guards comes from all. So the guards do not disturb the outputs, and find the slowest directions that
the outputs leave. The features are read out from both: directions that are nearly as slow as the last feature are then
not lost.

Each output neuron keeps averages of its own activity. With the output s of its slow weights, they give its slowness
δ = ⟨ẏ²⟩/⟨y²⟩ and, from e = y − (⟨ys⟩/⟨s²⟩)s, which is what its fluctuating weights add to its slow ones, the gap to the
directions into which the weights fluctuate: ⟨ė²⟩/⟨e²⟩ − ⟨ṡ²⟩/⟨s²⟩.
"""

from typing import TypeVar

import numpy as np

from biosfa.kernels.fast_local.state import OutputState
from biosfa.kernels.jit import jit
from biosfa.kernels.running import CURRENT, DIFFERENCE
from biosfa.typing import BoolArray, Float64Array, FloatArray

Array = TypeVar("Array", Float64Array, FloatArray)

# η = 1/(2m + bt): b = max(gap/10, 0.4 δ) within limits. Errors along a direction fall like t^(−2 gap/b) (b small), and
# the noise of W is proportional to η (b large).
FIRST_RATE = 2.0
GAP_SHARE, DELTA_SHARE = 0.1, 0.4
DECAY_MIN, DECAY_MAX = 1e-3, 0.12

# θ = 4δ: slow features are stable if θ grows faster than δ, see docs/inside/local-and-fast.md.
HOMEOSTASIS = 4.0
DIVISION = 4.0  # strength of both divisive normalisations
STEADINESS = 8.0  # what moves the output by itself counts so much in the first one: 2/8 of ẏ is the most

# Slowness is at most 4, that of an output which changes its sign with every sample. Below the least value, that of a
# feature which takes a million samples for a turn, an output would stop learning.
DELTA_MIN, DELTA_MAX = 1e-6, 4.0

# Averages of a neuron look back over a tenth of the stream; at first, they change as if 200 samples had come. Slow
# weights and the moments for the readout look back over a sixth.
RECENT, EARLY = 10.0, 200.0
SLOW = 6.0

TINY = 1e-300  # in place of a power of 0, by which nothing can be divided
LEAST_FLUCTUATION = 1e-12  # of the power of an output; fluctuations with less are rounding errors and say nothing


@jit
def learn(
    U: FloatArray,
    X: FloatArray,
    starts: BoolArray,
    count: float,
    window: float,
    k: int,
    state: OutputState,
) -> None:
    """Learn from inputs U of shape (n, m) and settled activities X; ``count`` samples came before.

    The P streams of a step follow one another. Rows in ``starts`` begin an episode. W does not change there.
    """
    # loops over columns are written out: in functions of their own they would take twice as long
    W, W_slow, u_prev, x_prev, y_prev, s_prev, averages, S, D, weights = state
    n, m = U.shape
    n_streams, K = y_prev.shape
    width = W.shape[1]
    u, x, x_dot = _apart(width, W), _apart(width, W), _apart(width, W)
    u[m:], x[m:] = 0.0, 0.0
    feedback, guard_feedback = _apart(width, W), _apart(width, W)
    y, s, s_dot = _apart(K, averages), _apart(K, averages), _apart(K, averages)
    for row in range(n):
        # the last values of the P streams: the oldest belongs to this row
        p = int((count + row) % n_streams)
        u_before, x_before, y_before, s_before = u_prev[p], x_prev[p], y_prev[p], s_prev[p]
        for j in range(m):
            u[j], x[j] = U[row, j], X[row, j]
        seen = count + row + 1.0
        t = min(seen, window)
        change, power = 0.0, 0.0  # of the input layer, of the outputs
        push = 0.0  # Σux̃̇
        for j in range(width):
            x_dot[j] = x[j] - x_before[j]
            change += (u[j] - u_before[j]) * x_dot[j]
            push += u[j] * x_dot[j]
        change = max(change, 0.0)  # early on, L changes so much that the sum may be negative
        for i in range(K):
            total, slow_total = 0.0, 0.0
            for j in range(width):
                total += W[i, j] * u[j]
                slow_total += W_slow[i, j] * u[j]
            y[i], s[i] = total, slow_total
            power += y[i] * y[i]
        memory = min(1.0, SLOW / t)
        _blend(S, s, memory)
        weights[CURRENT] += memory * (1.0 - weights[CURRENT])
        consolidation = W.dtype.type(SLOW / (t + SLOW))
        if starts[row]:
            for i in range(K):
                for j in range(width):
                    W_slow[i, j] += consolidation * (W[i, j] - W_slow[i, j])
        else:
            for i in range(K):
                s_dot[i] = s[i] - s_before[i]
            _blend(D, s_dot, memory)
            weights[DIFFERENCE] += memory * (1.0 - weights[DIFFERENCE])
            for j in range(width):
                feedback[j] = 0.0
            for i in range(k):
                activity = W.dtype.type(y[i])
                for j in range(width):
                    feedback[j] += W[i, j] * activity
            for j in range(width):
                guard_feedback[j] = feedback[j]
            for i in range(k, K):
                activity = W.dtype.type(y[i])
                for j in range(width):
                    guard_feedback[j] += W[i, j] * activity
            recent = RECENT / (t + EARLY)
            for i in range(K):
                delta, gap = _measure(y[i], y_before[i], s[i], s_before[i], recent, averages[i])
                patience = inverse_rate(delta, gap, t, m)
                theta = HOMEOSTASIS * delta
                # 2ηg = 2/max(1/η + 4Σu̇x̃̇, 8|Σux̃̇|), and 2ηg′ in the same way
                rate = 2.0 / max(patience + DIVISION * change, STEADINESS * abs(push))
                anti, along = W.dtype.type(-rate * (y[i] - y_before[i])), W.dtype.type(rate * delta * y[i])
                home = W.dtype.type(2.0 * theta / (patience + DIVISION * theta * power))
                grow, back = home + W.dtype.type(1.0), W.dtype.type(home * y[i])
                f = feedback if i < k else guard_feedback
                for j in range(width):
                    changed = grow * W[i, j] + (anti * x_dot[j] + along * x[j] - back * f[j])
                    W[i, j] = changed
                    W_slow[i, j] += consolidation * (changed - W_slow[i, j])
        for j in range(width):
            u_before[j], x_before[j] = u[j], x[j]
        for i in range(K):
            y_before[i], s_before[i] = y[i], s[i]


@jit
def _apart(size: int, like: Array) -> Array:
    """Return an empty array that is not a neighbour of others in memory.

    Compiled loops check at run time whether arrays may overlap, and add in another order if they are that close. Then
    the last bits would depend on where arrays happen to lie.
    """
    return np.empty(size + 64, like.dtype)[32 : size + 32]


@jit
def _blend(moment: Float64Array, s: Float64Array, memory: float) -> None:
    """Take ssᵀ into its running mean."""
    keep = 1.0 - memory
    for i in range(len(s)):
        gain = memory * s[i]
        for j in range(len(s)):
            moment[i, j] = keep * moment[i, j] + gain * s[j]


@jit
def _measure(
    y: float, y_before: float, s: float, s_before: float, memory: float, averages: Float64Array
) -> tuple[float, float]:
    """Take one neuron's activity into its averages; returns its slowness, and the gap to the next direction."""
    averages[0] += memory * (0.5 * (y * y + y_before * y_before) - averages[0])
    averages[1] += memory * ((y - y_before) ** 2 - averages[1])
    averages[2] += memory * (y * s - averages[2])
    averages[3] += memory * (s * s - averages[3])
    averages[4] += memory * ((s - s_before) ** 2 - averages[4])
    ratio = averages[2] / (averages[3] + TINY)
    e, e_before = y - ratio * s, y_before - ratio * s_before
    averages[5] += memory * (0.5 * (e * e + e_before * e_before) - averages[5])
    averages[6] += memory * ((e - e_before) ** 2 - averages[6])
    return slowness_and_gap(averages)


@jit
def slowness_and_gap(averages: Float64Array) -> tuple[float, float]:
    """Return the slowness of a neuron, and the gap to the directions into which its weights fluctuate."""
    delta = min(max(averages[1] / (averages[0] + TINY), DELTA_MIN), DELTA_MAX)
    if averages[5] <= LEAST_FLUCTUATION * averages[0]:
        return delta, 0.0
    return delta, averages[6] / averages[5] - averages[4] / (averages[3] + TINY)


@jit
def inverse_rate(delta: float, gap: float, t: float, m: int) -> float:
    """Return 1/η of a neuron after t samples."""
    return FIRST_RATE * m + min(max(GAP_SHARE * gap, DELTA_SHARE * delta, DECAY_MIN), DECAY_MAX) * t


def rates(state: OutputState, m: int, seen: float, window: float) -> Float64Array:
    """Return the present η of each output neuron with m inputs, after ``seen`` samples."""
    t = min(seen, window)
    return np.array([1.0 / inverse_rate(*slowness_and_gap(averages), t, m) for averages in state.averages])
