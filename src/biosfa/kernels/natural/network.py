"""The natural-gradient form of Algorithms 1 and 2: ΔW times C_xx⁻¹, which is Bio-SFA on whitened input z = C_xx^−½ x.

    ΔW = 2η(ȳz̄ᵀ − azᵀ),  a = Wz,  y = M⁻¹a

White input allows more than a better conditioned step. The covariance of the currents is WWᵀ, so that W can be brought
to the form it has at the optimum, W = MV with orthonormal rows of V, without waiting for M to learn it: after every
block W is orthogonalised, row by row, and M = ⟨ȳȳᵀ⟩ = diag(4 − δ) comes from the running slowness δ of the outputs.
Then what a sample adds to W over two updates, 2η(ȳ_s + ȳ_{s+1} − a_s), nearly vanishes for slow outputs, and so does
the noise that fluctuations of a learned M put into W. Three things more:

- W is constant within a block of samples, so that a block is three matrix products.
- ``GUARDS`` more outputs than asked for take part. A subspace of k + g converges at the gap between δ_k and δ_{k+g+1}
  instead of δ_{k+1}, and the guards tell how large that gap is: rates fall as slowly as it demands.
- Features are read from the average of W over the last sixth of the stream, which has much less noise than W.

None of this is local; the state holds no C_ẋẋ or C_x̄x̄ all the same.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from biosfa.kernels.jit import jit
from biosfa.kernels.local import Mode, blend_rows, shares, shortening
from biosfa.kernels.running import CURRENT, DIFFERENCE
from biosfa.typing import BoolArray, Float64Array, FloatArray

BLOCK, LARGEST_BLOCK = 32, 128  # samples for which W is constant: so many at least, and at most
GUARDS = 4

# η = 1/(m + 2B + b n) for blocks of B samples: the sum of a block's steps stays stable, as ‖Σzzᵀ‖ ≈ m + B. Along a
# feature that is slower by gap, errors fall like n^(−gap/2b): b = gap/8 makes that n⁻⁴, between limits that keep the
# noise (b large) and the window of W against the features' correlation time (b small) at bay.
GAP_SHARE = 0.125
DECAY_MIN, DECAY_MAX = 1e-3, 3e-2

# A block may change W by so much of its own size: input that is not white after all, because it has changed since C_xx
# was estimated or is an outlier, must not ruin W before C_xx has noticed.
LARGEST_CHANGE = 0.5

# δ > 2 is faster than noise: M = 4 − δ would let such an output grow too fast, and only the slow ones matter.
M_MIN = 2.0

# The slowness that M and b follow looks back over a tenth of the stream, the average of W and its moments over a sixth:
# what was seen while C_xx was hardly known must be forgotten soon.
RECENT = 10.0
AVERAGED = 6.0

# What is added to the diagonal of WWᵀ, in units of its trace and the precision: rows that depend on others stay finite.
RIDGE = 16.0

# Square of what a row has beside the rows before it, relative to what is added: below, it is rounding. So it is for
# every row beyond the rank of the input. It must not grow, because it depends on how the stream is cut into chunks.
DEPENDENT = 4.0

# Share of the largest power of an output below which the power of another is rounding, and so is its slowness.
SILENT = 1e-12


class NaturalState(NamedTuple):
    """The network on whitened input: K = k + guards outputs, P parallel streams."""

    W: FloatArray  # (K, m)
    W_mean: FloatArray  # (K, m) running average of W
    change: FloatArray  # (K, m) ΔW of the open block
    M: Float64Array  # (K,) diagonal of M
    z_prev: FloatArray  # (P, m) last input of each stream
    y_prev: Float64Array  # (P, K) last output of each stream
    v_prev: Float64Array  # (P, K) currents of W_mean at the last input
    S: Float64Array  # (K, K) running ⟨vvᵀ⟩ of the currents of W_mean
    D: Float64Array  # (K, K) running ⟨v̇v̇ᵀ⟩
    weights: Float64Array  # (2,) total weights of S and D
    recent: Float64Array  # (2, K) ⟨v²⟩ and ⟨v̇²⟩, with a shorter memory
    inverse_rate: Float64Array  # (1,) 1/η of the open block, for "auto"


def initial_state(k: int, m: int, n_streams: int, dtype: DTypeLike, rng: np.random.RandomState) -> NaturalState:
    """W ~ N(0, 1/m), M = 4I, everything else at rest."""
    K = min(m, k + GUARDS)
    W = (rng.standard_normal((K, m)) / np.sqrt(m)).astype(dtype)
    return NaturalState(
        W=W,
        W_mean=W.copy(),
        change=np.zeros_like(W),
        M=np.full(K, 4.0),
        z_prev=np.zeros((n_streams, m), dtype),
        y_prev=np.zeros((n_streams, K)),
        v_prev=np.zeros((n_streams, K)),
        S=np.zeros((K, K)),
        D=np.zeros((K, K)),
        weights=np.zeros(2),
        recent=np.zeros((2, K)),
        inverse_rate=np.full(1, m + 2.0 * block_size(m)),
    )


@jit
def block_size(m: int) -> int:
    """Samples in a block: more where there are many columns, which makes better use of the BLAS and costs little."""
    size = BLOCK
    while size < LARGEST_BLOCK and 16 * size <= m:
        size *= 2
    return size


@jit
def block_end(n_seen: int, size: int) -> int:
    """Number of samples at which the block after ``n_seen`` ends: a power of two up to ``size``, then a multiple."""
    end = 1
    while end <= n_seen and end < size:
        end *= 2
    return end if end > n_seen else (n_seen // size + 1) * size


@jit
def learn(
    Z: FloatArray,
    starts: BoolArray,
    eta: FloatArray,
    n_seen: int,
    k: int,
    mode: Mode,
    state: NaturalState,
) -> None:
    """Learn from whitened samples, changing ``state`` in place.

    Parameters
    ----------
    Z : (n, m)
        Whitened samples, the P streams of a step one after the other.
    starts : (n,)
        Whether a row begins an episode.
    eta : (n,)
        η of each row; not used in relative mode, where it is chosen here.
    n_seen : int
        Rows seen before.
    k : int
        Outputs asked for; the others are guards.
    mode
        See :class:`biosfa.kernels.local.Mode`; its window counts rows. M is diagonal, its dynamics settle at once.
    state
        See :class:`NaturalState`.
    """
    P, m = state.z_prev.shape
    size = block_size(m)
    scratch = np.empty_like(state.W)
    done = 0
    while done < len(Z):
        end = min(len(Z), done + block_end(n_seen, size) - n_seen)
        samples = Z[done:end]
        _learn_rows(samples, starts[done:end], eta[done:end], n_seen, mode, state, scratch)
        for p in range(P):  # the last P rows, of which a short piece may not have all
            if p + len(samples) < P:
                state.z_prev[p] = state.z_prev[p + len(samples)]
            else:
                state.z_prev[p] = samples[p + len(samples) - P]
        n_seen += end - done
        done = end
        if n_seen == block_end(n_seen - 1, size):
            _close_block(n_seen, k, mode.window, state)


@jit
def _learn_rows(
    samples: FloatArray,
    starts: BoolArray,
    eta: FloatArray,
    n_seen: int,
    mode: Mode,
    state: NaturalState,
    scratch: FloatArray,
) -> None:
    """Add what samples of one block change to ``change`` and to the moments."""
    W, M, change = state.W, state.M, state.change
    P, K = state.y_prev.shape
    n = len(samples)
    share_x, share_x_prev = shares(mode.rule)
    A = np.dot(samples, W.T)
    currents = np.empty((P + n, K))
    currents[:P] = state.v_prev
    currents[P:] = np.dot(samples, state.W_mean.T)
    outputs = np.empty((P + n, K))
    outputs[:P] = state.y_prev
    power = np.empty(P + n)
    for p in range(P):
        power[p] = square(state.z_prev[p])
    for t in range(n):
        power[P + t] = square(samples[t])
    coefficients = np.zeros((P + n, K), W.dtype)
    differences = currents[P:] - currents[:n]
    rho, rho_difference = np.empty(n), np.empty(n)
    for t in range(n):
        count = min(float(n_seen + t + 1), mode.window)
        rho[t] = rho_difference[t] = min(1.0, AVERAGED / count)
        memory = min(1.0, RECENT / count)
        for i in range(K):
            outputs[P + t, i] = A[t, i] / M[i]
            state.recent[0, i] += memory * (currents[P + t, i] ** 2 - state.recent[0, i])
        if starts[t]:
            rho_difference[t] = 0.0
            continue
        rate = 1.0 / state.inverse_rate[0] if mode.relative else eta[t]
        step = 2.0 * rate * shortening(rate, power[P + t], mode.normalized)
        step_prev = 2.0 * rate * shortening(rate, power[t], mode.normalized) * share_x_prev
        for i in range(K):
            y_bar = outputs[P + t, i] + outputs[t, i]
            coefficients[P + t, i] += step * (share_x * y_bar - A[t, i])
            coefficients[t, i] += step_prev * y_bar
            state.recent[1, i] += memory * (differences[t, i] ** 2 - state.recent[1, i])
    # W changes along the P samples before these as well
    np.dot(coefficients[P:].T, samples, scratch)
    change += scratch
    for p in range(P):
        for i in range(K):
            for j in range(change.shape[1]):
                change[i, j] += coefficients[p, i] * state.z_prev[p, j]
    keep = blend_rows(state.S, currents[P:], rho)
    state.weights[CURRENT] = 1.0 - keep * (1.0 - state.weights[CURRENT])
    keep = blend_rows(state.D, differences, rho_difference)
    state.weights[DIFFERENCE] = 1.0 - keep * (1.0 - state.weights[DIFFERENCE])
    state.y_prev[:] = outputs[n:]
    state.v_prev[:] = currents[n:]


@jit
def square(row: FloatArray) -> Any:
    """‖row‖², in its precision."""
    total = row.dtype.type(0.0)
    for j in range(len(row)):
        total += row[j] * row[j]
    return total


@jit
def _close_block(n_seen: int, k: int, window: float, state: NaturalState) -> None:
    """Take the block's change into W, bring W to the form it has at the optimum, and go on with its average."""
    W, W_mean, M = state.W, state.W_mean, state.M
    K, m = W.shape
    size = block_size(m)
    change = state.change
    limit, size_of_change = LARGEST_CHANGE * np.linalg.norm(W), np.linalg.norm(change)
    if size_of_change > limit:
        change *= limit / size_of_change
    W += change
    change[:] = 0.0
    count = min(float(n_seen), window)
    delta = np.empty(K)
    loudest = state.recent[0].max()
    for i in range(K):
        power = state.recent[0, i]
        delta[i] = state.recent[1, i] / power if power > SILENT * loudest else 2.0
    for i in range(K):
        M[i] = max(M_MIN, 4.0 - delta[i])
    orthogonalise(W, M)
    slower = np.sort(delta)
    gap = slower[K - 1] - slower[k - 1]
    decay = min(max(GAP_SHARE * gap, DECAY_MIN), DECAY_MAX)
    state.inverse_rate[0] = m + 2.0 * size + decay * count
    gain = W.dtype.type(min(1.0, AVERAGED * min(n_seen, size) / count))
    W_mean += gain * (W - W_mean)
    state.v_prev[:] = np.dot(state.z_prev, W_mean.T)


@jit
def orthogonalise(W: FloatArray, M: Float64Array) -> None:
    """Gram–Schmidt on the rows of W, from the first on, which get the lengths M: in place."""
    covariance = np.dot(W, W.T).astype(np.float64)
    floor = RIDGE * np.finfo(W.dtype).eps * np.trace(covariance)
    if not floor > 0.0:
        return
    for i in range(len(M)):
        covariance[i, i] += floor
    triangle = np.linalg.cholesky(covariance)
    for i in range(len(M)):
        if triangle[i, i] ** 2 <= floor * (1.0 + DEPENDENT):
            _orthogonalise_dependent(W, M, floor * DEPENDENT)
            return
    factor = np.linalg.inv(triangle)
    for i in range(len(M)):
        factor[i] *= M[i]
    W[:] = np.dot(factor.astype(W.dtype), W)


@jit
def _orthogonalise_dependent(W: FloatArray, M: Float64Array, rounding: float) -> None:
    """Do the same for rows that depend on others. Each becomes one that does not, the same for all chunks."""
    rows = W.astype(np.float64)
    for i in range(len(M)):
        row = rows[i]
        _leave_out(row, rows[:i])
        if np.dot(row, row) <= rounding:
            for j in range(len(row)):
                row[j] = np.cos((i + 1.0) * (j + 1.0))  # any numbers
            _leave_out(row, rows[:i])
        row /= np.sqrt(np.dot(row, row))
    for i in range(len(M)):
        W[i] = (M[i] * rows[i]).astype(W.dtype)


@jit
def _leave_out(row: Float64Array, others: Float64Array) -> None:
    """Subtract from a row what lies along other rows, which are orthonormal; twice, for the sake of rounding."""
    for _ in range(2):
        row -= np.dot(np.dot(others, row), others)
