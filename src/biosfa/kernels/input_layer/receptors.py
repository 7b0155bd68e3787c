"""What each input neuron does with its own input: it centres, scales, adds private noise, and saturates."""

import math

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.typing import Float64Array, FloatArray

# Standard deviation of the private noise of the input neurons, which have unit variance. Along a direction in which the
# input does not vary, nothing else would keep L positive definite and W small. The noise must be far below the least
# variance that carries a signal: 1e-6 disturbs no signal in a mixture of condition number 1e9.
PRIVATE_NOISE = 1e-6

# An input neuron saturates at so many standard deviations of its input, which it knows itself. Otherwise the rounding
# errors of one huge sample would make L⁻¹ indefinite.
SATURATION = 1000.0

# Lateral weights average over a third of the stream. At first they change as if three samples had come for each
# direction that they learn: fewer give no information about it.
LATERAL_SHARE = 3.0


@jit
def rate_of_lateral_weights(count: float, window: float, directions: float) -> float:
    """Return ρ for sample number ``count``; ``window`` is the number of samples that count."""
    return LATERAL_SHARE / (min(count, window) + LATERAL_SHARE * directions)


@jit
def receive(
    raw: FloatArray,
    n_seen: int,
    center: bool,
    window: float,
    mean: Float64Array,
    scale: Float64Array,
    rho: Float64Array,
    variance: Float64Array,
    U: FloatArray,
) -> None:
    """U ← inputs of a block: centred by the mean through each row, scaled, with private noise, and saturated.

    ``n_seen`` rows came before. Each neuron follows its own mean and its own ``variance``, which learns at the rates
    ρ. What is beyond saturation does not count in either.
    The noise is uniform: the first bits of a hash of the numbers of the row and of the neuron.
    """
    n, m = raw.shape
    unit = PRIVATE_NOISE * math.sqrt(12.0) / 2.0**32
    most = SATURATION * SATURATION
    for t in range(n):
        row = n_seen + t
        share = 1.0 / min(row + 1.0, window) if center else 0.0
        keep, first = 1.0 - share, row == 0
        for j in range(m):
            moved = raw[t, j] - mean[j]
            bits = (np.uint64(row) * np.uint64(0x9E3779B97F4A7C15)) ^ (np.uint64(j + 1) * np.uint64(0xC2B2AE3D27D4EB4F))
            bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
            bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
            u = scale[j] * keep * moved + unit * (float(bits >> np.uint64(32)) - 2.0**31)
            square = u * u
            if square > most * variance[j] and not first:
                part = math.sqrt(most * variance[j] / square)
                u, moved, square = part * u, part * moved, most * variance[j]
            mean[j] += share * moved
            variance[j] += rho[t] * (square - variance[j])
            U[t, j] = u
