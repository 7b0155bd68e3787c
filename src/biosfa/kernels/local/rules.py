"""The learning rules of Bio-SFA, and everything in which they differ.

A rule is one value of :class:`Rule`. It defines how often ȳ enters ΔW, how the outputs come to rest, how the lateral
weights learn, and which state that needs. The kernels for small networks, large ones and parallel streams call the
functions of this module; none of them refers to a rule by name.

Functions that run once per sample take arrays, not a :class:`State`: compiled code counts the references to each array
of a tuple that it passes on, which takes longer than a sample of a small network.
"""

import math
from enum import IntEnum

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.dynamics import descend, settle, settle_interneurons
from biosfa.kernels.local.lines import REFRESH_GROWTH, REFRESH_STEPS, blend, multiply, refresh, update_inverse
from biosfa.kernels.local.state import Mode, State
from biosfa.typing import FloatArray


class Rule(IntEnum):
    """A learning rule. Its circuit cannot change while a network learns."""

    BIO_SFA = 0  # Algorithm 1
    REVERSIBLE = 1  # Algorithm 2
    INTERNEURON = 2  # outputs inhibit one another by way of interneurons, M = LLᵀ
    NONNEGATIVE = 3  # y ≥ 0

    @classmethod
    def named(cls, name: str) -> "Rule":
        """The rule that users call by this name."""
        return cls[name.upper().replace("-", "_")]

    @property
    def has_interneurons(self) -> bool:
        """See :func:`has_interneurons`."""
        return has_interneurons(int(self))

    @property
    def is_nonnegative(self) -> bool:
        """See :func:`is_nonnegative`."""
        return is_nonnegative(int(self))

    @property
    def circuit(self) -> str:
        """Which weights there are, and which values outputs take."""
        if self.has_interneurons:
            return "interneuron"
        return "nonnegative" if self.is_nonnegative else "direct"


RULES = tuple(rule.name.lower().replace("_", "-") for rule in Rule)  # as users call them

# An output that cannot be negative and is silent inhibits itself less and less. It stops here, well below the M_ii of
# order 1 that active outputs have: else the first sample that wakes it would make it explode.
LEAST_INHIBITION = 0.05


@jit
def shares(rule: int) -> tuple[float, float]:
    """How often ȳ enters ΔW along x_t and along x_{t−1}.

    ΔW = 2η(ȳx̄ᵀ − axᵀ) = 2η[(ȳ − a)x_tᵀ + ȳx_{t−1}ᵀ], or 2η(2ȳ − a)x_tᵀ for reversible processes.
    """
    return (2.0, 0.0) if rule == Rule.REVERSIBLE else (1.0, 1.0)


@jit
def has_interneurons(rule: int) -> bool:
    """Whether the lateral weights are L, with M = LLᵀ."""
    return rule == Rule.INTERNEURON


@jit
def is_nonnegative(rule: int) -> bool:
    """Whether outputs cannot be negative; then M⁻¹ is of no use and not kept up."""
    return rule == Rule.NONNEGATIVE


@jit
def is_direct(rule: int) -> bool:
    """Whether the lateral weights are M, and y = M⁻¹a."""
    return not has_interneurons(rule) and not is_nonnegative(rule)


@jit
def come_to_rest(
    a: FloatArray, y_prev: FloatArray, mode: Mode, M: FloatArray, M_inv: FloatArray, L: FloatArray, y: FloatArray
) -> None:
    """Y ← where the fast dynamics come to rest that begin at the outputs before: M⁻¹a, or the best y ≥ 0."""
    if not needs_iterations(mode):
        multiply(M_inv, a, y)
        return
    y[:] = y_prev
    if not mode.euler:
        descend(M, a, y)
    elif has_interneurons(mode.rule):
        settle_interneurons(L, a, y)
    else:
        settle(M, a, y, is_nonnegative(mode.rule))


@jit
def needs_iterations(mode: Mode) -> bool:
    """Whether it takes iterations to find where the fast dynamics rest; else y = M⁻¹a."""
    return mode.euler or is_nonnegative(mode.rule)


@jit
def learn_lateral(
    y: FloatArray,
    y_bar: FloatArray,
    rate: float,
    rule: int,
    M: FloatArray,
    M_inv: FloatArray,
    L: FloatArray,
    staleness: FloatArray,
    scratch: FloatArray,
) -> None:
    """Lateral weights after one sample: M ← M + (η/τ)(ȳȳᵀ − M), or ΔL = (η/2τ)(yzᵀ − L), and M⁻¹ with them."""
    if has_interneurons(rule):
        learn_interneurons(L, M_inv, y, 0.5 * rate, staleness, scratch)
        return
    blend(M, 1.0 - rate, rate, y_bar)
    if is_nonnegative(rule):
        keep_inhibition(M)
    else:
        update_inverse(M_inv, y_bar, 1.0 - rate, rate, staleness, scratch)
        refresh(M, M_inv, staleness)


@jit
def learn_lateral_together(
    Y: FloatArray, Y_bar: FloatArray, rate: float, rule: int, state: State, scratch: FloatArray
) -> None:
    """The same after one step of P parallel streams, whose changes are summed and divided by √P."""
    n_streams, k = Y.shape
    root = math.sqrt(n_streams)
    keep, gain = 1.0 - rate * root, rate / root
    if has_interneurons(rule):
        # ΔL = (η/2τ√P) Σ(yzᵀ − L)
        state.L[:] += 0.5 * gain * ((Y.T @ Y).astype(np.float64) @ state.L - n_streams * state.L)
        state.staleness[0] = 1.0
        refresh(state.L @ state.L.T, state.M_inv, state.staleness)
        return
    # M += (η/τ√P) Σ(ȳȳᵀ − M)
    state.M[:] = keep * state.M + gain * (Y_bar.T @ Y_bar)
    if is_nonnegative(rule):
        keep_inhibition(state.M)
        return
    if 2 * n_streams < k:
        for p in range(n_streams):
            update_inverse(state.M_inv, Y_bar[p], keep if p == 0 else 1.0, gain, state.staleness, scratch)
    else:  # an inverse costs less than P updates of it
        state.staleness[0] = 1.0
    refresh(state.M, state.M_inv, state.staleness)


@jit
def keep_inhibition(M: FloatArray) -> None:
    """Every output inhibits itself at least a little."""
    for i in range(len(M)):
        M[i, i] = max(M[i, i], LEAST_INHIBITION)


@jit
def learn_interneurons(
    L: FloatArray, M_inv: FloatArray, y: FloatArray, rho: float, staleness: FloatArray, q: FloatArray
) -> None:
    """L ← L + ρ(yzᵀ − L), ρ = η/2τ, with the interneurons' z = Lᵀy, and M⁻¹ with it; ``q`` is scratch.

    Half the rate of M is enough: M = LLᵀ changes with both its factors. L is multiplied by G = (1 − ρ)I + ρyyᵀ, so that
    M becomes GMG, and M⁻¹ becomes G⁻¹M⁻¹G⁻¹ with G⁻¹ = (I − c yyᵀ)/(1 − ρ), c = ρ/(1 − ρ + ρ‖y‖²).
    """
    k = y.shape[0]
    z = np.zeros(k)
    for i in range(k):
        for n in range(k):
            z[n] += L[i, n] * y[i]
    for i in range(k):
        for n in range(k):
            L[i, n] += rho * (y[i] * z[n] - L[i, n])
    multiply(M_inv, y, q)
    square, overlap = 0.0, 0.0
    for i in range(k):
        square += y[i] * y[i]
        overlap += y[i] * q[i]
    keep = 1.0 - rho
    c = rho / (keep + rho * square)
    for i in range(k):
        for j in range(k):
            change = c * (y[i] * q[j] + q[i] * y[j]) - c * c * overlap * y[i] * y[j]
            M_inv[i, j] = (M_inv[i, j] - change) / (keep * keep)
    staleness[0] += 1.0 / REFRESH_STEPS + 2.0 * (1.0 / keep - 1.0) / REFRESH_GROWTH
    if staleness[0] >= 1.0:
        refresh(L @ L.T, M_inv, staleness)
