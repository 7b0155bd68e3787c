"""The fast dynamics: they compute where the outputs of a circuit come to rest for given currents."""

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.kernels.local.lines import multiply
from biosfa.typing import FloatArray

# The fast dynamics stop when no neuron moves by more than this, relative to the largest, in units of the precision.
SETTLED = 16.0
MAX_STEPS = 100_000


@jit
def settle(M: FloatArray, a: FloatArray, y: FloatArray, nonnegative: bool) -> None:
    """Run dy/dγ = a − My from ``y`` to equilibrium by Euler steps of 1/‖M‖∞, below the limit 2/λ_max(M), in place.

    Where outputs may not be negative, every step ends at 0 at the lowest.
    """
    k = a.shape[0]
    norm = 0.0
    for i in range(k):
        norm = max(norm, np.abs(M[i]).sum())
    gamma = 1.0 / norm
    tolerance = SETTLED * np.finfo(y.dtype).eps
    drive = np.empty_like(a)
    for _ in range(MAX_STEPS):
        multiply(M, y, drive)
        moved = 0.0
        largest = 0.0
        for i in range(k):
            before = y[i]
            y[i] += gamma * (a[i] - drive[i])
            if nonnegative:
                y[i] = max(y[i], 0.0)
            moved = max(moved, abs(y[i] - before))
            largest = max(largest, abs(y[i]))
        if not moved > tolerance * largest:
            return


@jit
def settle_interneurons(L: FloatArray, a: FloatArray, y: FloatArray) -> None:
    """Run dy/dγ = a − Lz, dz/dγ = Lᵀy − z from ``y`` and its z to equilibrium, in place: y = (LLᵀ)⁻¹a.

    A mode of L with the singular value σ turns and decays by |1 + γλ|² = 1 − γ + γ²σ² a step, or decays for σ < ½:
    steps of 1/2(1 + ‖L‖²) are stable.
    """
    k = a.shape[0]
    gamma = 0.5 / (1.0 + np.square(L).sum())
    tolerance = SETTLED * np.finfo(y.dtype).eps
    z = np.zeros(k)
    drive = np.zeros(k)
    for i in range(k):
        for n in range(k):
            z[n] += L[i, n] * y[i]
    for _ in range(MAX_STEPS):
        drive[:] = -z
        moved = 0.0
        largest = 0.0
        for i in range(k):
            inhibition = 0.0
            for n in range(k):
                inhibition += L[i, n] * z[n]
                drive[n] += L[i, n] * y[i]
            change = gamma * (a[i] - inhibition)
            y[i] += change
            moved = max(moved, abs(change))
            largest = max(largest, abs(y[i]))
        for n in range(k):
            z[n] += gamma * drive[n]
            moved = max(moved, abs(gamma * drive[n]))
        if not moved > tolerance * largest:
            return


@jit
def descend(M: FloatArray, a: FloatArray, y: FloatArray) -> None:
    """Minimise ½yᵀMy − aᵀy over y ≥ 0 from ``y``, one neuron after the other, in place."""
    tolerance = SETTLED * np.finfo(y.dtype).eps
    for _ in range(MAX_STEPS):
        moved = 0.0
        largest = 0.0
        for i in range(len(a)):
            before = y[i]
            net = a[i] + M[i, i] * before
            for j in range(len(a)):
                net -= M[i, j] * y[j]
            y[i] = max(net / M[i, i], 0.0)
            moved = max(moved, abs(y[i] - before))
            largest = max(largest, y[i])
        if not moved > tolerance * largest:
            return


@jit
def respond_to_all(A: FloatArray, M: FloatArray) -> FloatArray:
    """The minima of ½yᵀMy − aᵀy over y ≥ 0, for the rows of A."""
    Y = np.zeros_like(A)
    for t in range(len(A)):
        descend(M, A[t], Y[t])
    return Y
