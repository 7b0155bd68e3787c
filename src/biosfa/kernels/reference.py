"""Algorithms 1 and 2 of the paper and their variants, exactly as written: slow, and the reference of every fast kernel.

Nothing is updated that can be computed: M is solved again at every step, the mean is taken over all samples so far, the
moments are sums over stored currents. Listing and equation numbers are those of Lipshutz et al. (2020). Their
Algorithm 2 prints ``2η(ȳ − a)xᵀ``; its derivation, the network figure and the element-wise rule have
``2η(2ȳ − a)xᵀ``, and only that one gives white outputs.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from biosfa.kernels.fast_local import outputs as outputs_of
from biosfa.kernels.input_layer import interneurons, receptors
from biosfa.kernels.local import LEAST_INHIBITION, LOOK_BACK, WINDOWS
from biosfa.kernels.natural import network as natural
from biosfa.typing import BoolArray, Float64Array, FloatArray


@dataclass
class Result:
    """What the reference leaves behind."""

    W: Float64Array
    M: Float64Array
    L: Float64Array  # of the rule with interneurons, M = LLᵀ
    mean: Float64Array
    Y: Float64Array  # (n, P, k) outputs as they were computed
    current_power: float  # weighted mean of ‖a‖²


def equilibrium(M: Float64Array, a: Float64Array) -> FloatArray:
    """Where the neural dynamics of Eq. (16) come to rest: y = M⁻¹a."""
    return np.linalg.solve(M, a)


def nonnegative_equilibrium(M: Float64Array, a: Float64Array) -> FloatArray:
    """Where dynamics that may not become negative rest: the minimum of ½yᵀMy − aᵀy = ½‖Rᵀy − R⁻¹a‖² + …, RRᵀ = M."""
    R = np.linalg.cholesky(M)
    y: FloatArray = nnls(R.T, np.linalg.solve(R, a))[0]
    return y


def euler(
    M: Float64Array,
    a: Float64Array,
    y: Float64Array,
    gamma: float,
    *,
    nonnegative: bool = False,
    tolerance: float = 1e-14,
    max_steps: int = 1_000_000,
) -> Float64Array:
    """The ``repeat … until convergence`` of Algorithm 1: y ← y + γ(a − My), or the positive part of that."""
    for _ in range(max_steps):
        moved = y + gamma * (a - M @ y)
        if nonnegative:
            moved = np.maximum(moved, 0.0)
        change, y = moved - y, moved
        if np.abs(change).max() <= tolerance * max(np.abs(y).max(), np.finfo(float).tiny):
            return y
    raise RuntimeError(f"the neural dynamics did not settle within {max_steps} steps at gamma={gamma}")


def euler_interneurons(
    L: Float64Array,
    a: Float64Array,
    y: Float64Array,
    gamma: float,
    *,
    tolerance: float = 1e-14,
    max_steps: int = 1_000_000,
) -> Float64Array:
    """The same with interneurons: y ← y + γ(a − Lz), z ← z + γ(Lᵀy − z)."""
    z = L.T @ y
    for _ in range(max_steps):
        y_change, z_change = gamma * (a - L @ z), gamma * (L.T @ y - z)
        y, z = y + y_change, z + z_change
        moved = max(np.abs(y_change).max(), np.abs(z_change).max())
        if moved <= tolerance * max(np.abs(y).max(), np.finfo(float).tiny):
            return y
    raise RuntimeError(f"the neural dynamics did not settle within {max_steps} steps at gamma={gamma}")


def learn(
    X: Float64Array,
    W: Float64Array,
    M: Float64Array,
    eta: Float64Array,
    tau: Float64Array | float,
    *,
    starts: BoolArray | None = None,
    rule: str = "bio-sfa",
    normalized: bool = False,
    center: bool = True,
    window: float = np.inf,
    gamma: float | None = None,
) -> Result:
    """Run Algorithm 1, or a variant of it, over samples X of shape (n, m) or P parallel streams (n, P, m).

    Parameters
    ----------
    X : array
        The (expanded) signal.
    W, M : array
        Weights to begin with; not changed.
    eta, tau : array of n, or number for tau
        η_t and τ. The entry of an episode's first row is not used.
    starts : array of n bool, optional
        Rows that begin an episode; the first one always does.
    rule : {"bio-sfa", "reversible", "interneuron", "nonnegative"}
        Algorithm 1, Algorithm 2, or Algorithm 1 with M = LLᵀ, or with y ≥ 0.
    normalized, center : bool
        Each sample x counts 1/(1 + 2η Σ‖x‖²/√P) in ΔW; subtract the mean through t.
    window : float
        Samples that averages count: after so many, older ones are forgotten exponentially.
    gamma : float, optional
        Run the neural dynamics with this Euler step instead of solving for their rest.
    """
    X = X.reshape(len(X), -1, X.shape[-1])
    n, P, _ = X.shape
    tau = np.broadcast_to(tau, n)
    W, M = W.copy(), M.copy()
    L = np.linalg.cholesky(M).astype(np.float64)
    nonnegative = rule == "nonnegative"
    rest = nonnegative_equilibrium if nonnegative else equilibrium
    starts = np.zeros(n, bool) if starts is None else starts
    mean: Float64Array = np.zeros(X.shape[2])
    x_prev: FloatArray = np.zeros(X.shape[1:])
    y_prev: FloatArray = np.zeros((P, len(W)))
    outputs, currents, rho = [], [], []
    for t in range(n):
        if center and t < window:
            mean = X[: t + 1].mean(axis=(0, 1))
        elif center:
            mean = mean + (X[t].mean(axis=0) - mean) / window
        x = X[t] - mean
        first = bool(starts[t]) or t == 0
        a = x @ W.T
        currents.append(a[(t + 1) % P])
        rho.append(min(1.0, max(LOOK_BACK / min(t + 1, window), WINDOWS * eta[t] / tau[t])))
        if gamma is None:
            y = np.stack([rest(M, a[p]) for p in range(P)])
        elif rule == "interneuron":
            y = np.stack([euler_interneurons(L, a[p], y_prev[p], gamma) for p in range(P)])
        else:
            y = np.stack([euler(M, a[p], y_prev[p], gamma, nonnegative=nonnegative) for p in range(P)])
        if not first:
            # in the normalised step a sample counts 1/(1 + 2η‖x‖²), as x_t and as x_{t−1}
            gain = 1 / (1 + 2 * eta[t] * (x**2).sum() / np.sqrt(P)) if normalized else 1.0
            gain_prev = 1 / (1 + 2 * eta[t] * (x_prev**2).sum() / np.sqrt(P)) if normalized else 1.0
            x_bar, y_bar = gain * x + gain_prev * x_prev, y + y_prev
            W_change, M_change, L_change = np.zeros_like(W), np.zeros_like(M), np.zeros_like(L)
            for p in range(P):
                if rule == "reversible":
                    W_change += 2 * np.outer(2 * y_bar[p] - a[p], gain * x[p])
                else:
                    W_change += 2 * (np.outer(y_bar[p], x_bar[p]) - np.outer(a[p], gain * x[p]))
                M_change += np.outer(y_bar[p], y_bar[p]) - M
                L_change += np.outer(y[p], L.T @ y[p]) - L
            W += eta[t] * W_change / np.sqrt(P)
            if rule == "interneuron":
                L += eta[t] / (2 * tau[t]) * L_change / np.sqrt(P)
                M = L @ L.T
            else:
                M += eta[t] / tau[t] * M_change / np.sqrt(P)
            if nonnegative:
                np.fill_diagonal(M, np.maximum(np.diag(M), LEAST_INHIBITION))
        x_prev, y_prev = x, y
        outputs.append(y)
    return Result(
        W=W,
        M=M,
        L=L,
        mean=mean,
        Y=np.array(outputs),
        current_power=float(np.trace(_forgetful_mean(np.array(currents), np.array(rho), np.ones(n, bool)))),
    )


@dataclass
class NaturalResult:
    """What the natural form leaves behind, in the coordinates of the whitened input."""

    W: Float64Array
    W_mean: Float64Array
    M: Float64Array  # diagonal
    S: Float64Array  # weighted mean of vvᵀ, v = W_mean z
    D: Float64Array  # weighted mean of v̇v̇ᵀ


def learn_natural(
    Z: Float64Array,
    W: Float64Array,
    k: int,
    *,
    eta: Float64Array | None = None,
    starts: BoolArray,
    reversible: bool = False,
    normalized: bool = True,
    window: float = np.inf,
) -> NaturalResult:
    """The natural form of Algorithms 1 and 2 on white input of shape (n, P, m), see :mod:`biosfa.kernels.natural`.

    Parameters
    ----------
    Z : array
        Whitened samples; the P streams of a step are learned from one after the other.
    W : (K, m)
        Weights to begin with; not changed.
    k : int
        Outputs asked for; the others are guards.
    eta : array of n P, optional
        η for each sample; chosen by the gap if not given.
    starts, reversible, normalized, window
        As for :func:`learn`.
    """
    n, P, m = Z.shape
    size = natural.block_size(m)
    rows = Z.reshape(n * P, m)
    W, W_mean, M = W.copy(), W.copy(), np.full(len(W), 4.0)
    change, decay = np.zeros_like(W), 0.0
    outputs: list[Float64Array] = []
    currents, differences, rho, has_difference = [], [], [], []
    recent_power, recent_change = np.zeros(len(W)), np.zeros(len(W))
    count_then = 0.0
    for i, z in enumerate(rows):
        a = W @ z
        outputs.append(a / M)
        first = bool(starts[i // P])
        count = min(i + 1, window)
        v = W_mean @ z
        currents.append(v)
        differences.append(np.zeros_like(v) if i < P else W_mean @ (z - rows[i - P]))
        rho.append(min(1.0, natural.AVERAGED / count))
        has_difference.append(not first)
        memory = min(1.0, natural.RECENT / count)
        recent_power += memory * (v**2 - recent_power)
        if not first:
            recent_change += memory * (differences[-1] ** 2 - recent_change)
            rate = eta[i] if eta is not None else 1 / (m + 2 * size + decay * count_then)
            gain, gain_prev = (1 / (1 + 2 * rate * (x @ x)) if normalized else 1.0 for x in (z, rows[i - P]))
            y_bar = outputs[i] + outputs[i - P]
            if reversible:
                change += 2 * rate * gain * np.outer(2 * y_bar - a, z)
            else:
                change += 2 * rate * (gain * np.outer(y_bar - a, z) + gain_prev * np.outer(y_bar, rows[i - P]))
        seen = i + 1
        if seen % size and not (seen < size and seen & (seen - 1) == 0):
            continue
        limit = natural.LARGEST_CHANGE * np.linalg.norm(W)
        if np.linalg.norm(change) > limit:
            change *= limit / np.linalg.norm(change)
        W, change = W + change, np.zeros_like(W)
        with np.errstate(invalid="ignore", divide="ignore"):
            delta = np.where(recent_power > 0, recent_change / recent_power, 2.0)
        M = np.maximum(natural.M_MIN, 4 - delta)
        W = M[:, None] * _gram_schmidt(W)
        gap = np.sort(delta)[-1] - np.sort(delta)[k - 1]
        decay, count_then = float(np.clip(natural.GAP_SHARE * gap, natural.DECAY_MIN, natural.DECAY_MAX)), count
        W_mean = W_mean + min(1.0, natural.AVERAGED * min(seen, size) / count) * (W - W_mean)
    return NaturalResult(
        W=W + change,
        W_mean=W_mean,
        M=M,
        S=_forgetful_mean(np.array(currents), np.array(rho), np.ones(n * P, bool)),
        D=_forgetful_mean(np.array(differences), np.array(rho), np.array(has_difference)),
    )


@dataclass
class Settled:
    """What an input layer makes of its inputs."""

    L: Float64Array  # (m, m) lateral weights, or D + FFᵀ with interneurons
    U: Float64Array  # (n, m) inputs
    X: Float64Array  # (n, m) settled activities


def settle_laterally(U: Float64Array, *, window: float = np.inf) -> Settled:
    """The input layer with lateral synapses, see :mod:`biosfa.kernels.input_layer`; U are inputs of unit variance."""
    m = U.shape[1]
    U, X, L = U.copy(), np.zeros_like(U), np.eye(m)
    for i in range(len(U)):
        u = U[i] = _saturated(U[i], np.diag(L), first=i == 0)
        L += _lateral_rate(i, window, m) * (np.outer(u, u) - L)
        X[i] = np.linalg.solve(L, u)
    return Settled(L, U, X)


def settle_by_interneurons(U: Float64Array, F: Float64Array, *, window: float = np.inf) -> Settled:
    """The input layer with interneurons; F of shape (m, r) are the weights to begin with, not changed."""
    (n, m), r = U.shape, F.shape[1]
    U, X, F, variance = U.copy(), np.zeros_like(U), F.copy(), np.ones(m)
    leak = _leaks(F, variance)
    trace, waited, weight = np.zeros_like(F), 0, 0.0
    for i in range(n):
        rho = _lateral_rate(i, window, interneurons.COMPETITION * r)
        u = U[i] = _saturated(U[i], variance, first=i == 0)
        variance += rho * (u**2 - variance)
        X[i] = np.linalg.solve(np.diag(leak) + F @ F.T, u)
        trace += rho * np.outer(u, F.T @ X[i])
        waited, weight = waited + 1, weight + rho
        if waited == interneurons.CONSOLIDATION or weight >= interneurons.HEAVY:
            F += trace - weight * F
            leak = _leaks(F, variance)
            trace, waited, weight = np.zeros_like(F), 0, 0.0
    return Settled(np.diag(leak) + F @ F.T, U, X)


def _lateral_rate(i: int, window: float, directions: float) -> float:
    return receptors.LATERAL_SHARE / (min(i + 1, window) + receptors.LATERAL_SHARE * directions)


def _saturated(u: Float64Array, variance: Float64Array, *, first: bool) -> Float64Array:
    limit = receptors.SATURATION * np.sqrt(variance)
    return u if first else np.clip(u, -limit, limit)  # at first a neuron knows nothing of its input


def _leaks(F: Float64Array, variance: Float64Array) -> Float64Array:
    leaks: Float64Array = np.maximum(variance - (F**2).sum(axis=1), interneurons.LEAST_LEAK * variance)
    return leaks


@dataclass
class SettledResult:
    """What the paper's rule behind an input layer leaves behind."""

    W: Float64Array
    M: Float64Array
    Y: Float64Array  # (n, k) outputs


def learn_settled(
    inputs: Settled,
    W: Float64Array,
    eta: Float64Array,
    rate: Float64Array,
    *,
    starts: BoolArray,
    rule: str = "bio-sfa",
    normalized: bool = True,
    n_streams: int = 1,
) -> SettledResult:
    """Algorithm 1, or a variant of it, behind an input layer, see :mod:`biosfa.kernels.local.settled`.

    Parameters
    ----------
    inputs : Settled
        What the input layer makes of n samples. The P streams of a step follow one another.
    W : (k, m)
        Weights to begin with; not changed. M = I.
    eta, rate : (n,)
        η and η/τ.
    starts : (n,)
        Rows that begin an episode.
    rule, normalized
        As for :func:`learn`.
    n_streams : int
        P.
    """
    k = len(W)
    W, M, L = W.copy(), np.eye(k), np.eye(k)
    Y = np.zeros((len(inputs.U), k))
    for i, (u, x) in enumerate(zip(inputs.U, inputs.X, strict=True)):
        a = W @ u
        Y[i] = nonnegative_equilibrium(M, a) if rule == "nonnegative" else equilibrium(M, a)
        if starts[i]:
            continue
        before = i - n_streams
        u_before, x_before, y_before = inputs.U[before], inputs.X[before], Y[before]
        gain, gain_before = (
            1 / (1 + 2 * eta[i] * (p @ q)) if normalized else 1.0 for p, q in ((u, x), (u_before, x_before))
        )
        y_bar = Y[i] + y_before
        if rule == "reversible":
            W += 2 * eta[i] * gain * np.outer(2 * y_bar - a, x)
        else:
            W += 2 * eta[i] * (gain * np.outer(y_bar - a, x) + gain_before * np.outer(y_bar, x_before))
        if rule == "interneuron":
            L += rate[i] / 2 * (np.outer(Y[i], L.T @ Y[i]) - L)
            M = L @ L.T
        else:
            M += rate[i] * (np.outer(y_bar, y_bar) - M)
        if rule == "nonnegative":
            np.fill_diagonal(M, np.maximum(np.diag(M), LEAST_INHIBITION))
    return SettledResult(W, M, Y)


@dataclass
class FastLocalResult:
    """What the local and fast outputs leave behind."""

    W: Float64Array
    W_slow: Float64Array
    Y: Float64Array  # (n, K) outputs
    eta: Float64Array  # (K,) the last rates


def learn_fast_local(
    inputs: Settled, W: Float64Array, k: int, *, starts: BoolArray, n_streams: int = 1, window: float = np.inf
) -> FastLocalResult:
    """The local and fast outputs, see :mod:`biosfa.kernels.fast_local`.

    Parameters
    ----------
    inputs : Settled
        What the input layer makes of n samples. The P streams of a step follow one another.
    W : (K, m)
        Weights to begin with; not changed.
    k : int
        Outputs; the others are guards.
    starts : (n,)
        Rows that begin an episode.
    n_streams : int
        P.
    window : float
        Samples that averages count.
    """
    K, m = W.shape
    U, X, W, W_slow = inputs.U, inputs.X, W.copy(), W.copy()
    Y, Y_slow = np.zeros((len(U), K)), np.zeros((len(U), K))
    power, change, product, slow_power, slow_change, rest_power, rest_change = np.zeros((7, K))
    eta = np.zeros(K)
    for i, u in enumerate(U):
        t = min(i + 1, window)
        Y[i], Y_slow[i] = W @ u, W_slow @ u
        if not starts[i]:
            before = i - n_streams
            u_before, x_before, y_before, s_before = (
                (array[before] if before >= 0 else np.zeros_like(array[0])) for array in (U, X, Y, Y_slow)
            )
            u_dot, x_dot, y_dot, s_dot = u - u_before, X[i] - x_before, Y[i] - y_before, Y_slow[i] - s_before
            recent = outputs_of.RECENT / (t + outputs_of.EARLY)
            power += recent * ((Y[i] ** 2 + y_before**2) / 2 - power)
            change += recent * (y_dot**2 - change)
            product += recent * (Y[i] * Y_slow[i] - product)
            slow_power += recent * (Y_slow[i] ** 2 - slow_power)
            slow_change += recent * (s_dot**2 - slow_change)
            share = product / slow_power
            e, e_before = Y[i] - share * Y_slow[i], y_before - share * s_before
            rest_power += recent * ((e**2 + e_before**2) / 2 - rest_power)
            rest_change += recent * ((e - e_before) ** 2 - rest_change)
            delta = np.clip(change / power, outputs_of.DELTA_MIN, outputs_of.DELTA_MAX)
            fluctuates = rest_power > outputs_of.LEAST_FLUCTUATION * power
            gap = np.zeros(K)
            gap[fluctuates] = (rest_change / np.maximum(rest_power, 1e-300) - slow_change / slow_power)[fluctuates]
            decay = np.clip(
                np.maximum(outputs_of.GAP_SHARE * gap, outputs_of.DELTA_SHARE * delta),
                outputs_of.DECAY_MIN,
                outputs_of.DECAY_MAX,
            )
            eta, theta = 1 / (outputs_of.FIRST_RATE * m + decay * t), outputs_of.HOMEOSTASIS * delta
            divisor = 1 + outputs_of.DIVISION * eta * max(u_dot @ x_dot, 0.0)
            rate = 2 * eta / np.maximum(divisor, outputs_of.STEADINESS * eta * abs(u @ x_dot))
            home = 2 * eta * theta / (1 + outputs_of.DIVISION * eta * theta * (Y[i] @ Y[i]))
            f, f_guards = W[:k].T @ Y[i, :k], W.T @ Y[i]
            feedback = np.stack([f if j < k else f_guards for j in range(K)])
            slow = np.outer(delta * Y[i], X[i]) - np.outer(y_dot, x_dot)
            W += rate[:, None] * slow + home[:, None] * (W - Y[i][:, None] * feedback)
        W_slow += outputs_of.SLOW / (t + outputs_of.SLOW) * (W - W_slow)
    return FastLocalResult(W, W_slow, Y, eta)


def _gram_schmidt(rows: Float64Array) -> Float64Array:
    """Orthonormal rows, each from those up to it."""
    Q, R = np.linalg.qr(rows.T)
    return (Q * np.sign(np.diag(R))).T


def _forgetful_mean(rows: Float64Array, rho: Float64Array, counted: BoolArray) -> Float64Array:
    """Σ w_t row rowᵀ / Σ w_t with w_t = ρ_t Π_{s>t}(1 − ρ_s) over the counted rows."""
    rows, rho = rows[counted], rho[counted]
    later = np.append(np.cumprod((1 - rho)[::-1])[::-1][1:], 1.0)
    weight = rho * later
    total = weight.sum()
    moment: Float64Array = np.einsum("t,ti,tj->ij", weight, rows, rows) / (total if total > 0 else 1.0)
    return moment
