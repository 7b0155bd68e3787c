"""Whether numbers are numbers."""

from biosfa.kernels.jit import jit
from biosfa.typing import FloatArray


@jit
def all_finite(values: FloatArray) -> bool:
    """Whether no value of a vector is NaN or infinite: x · 0 is 0 for all others."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i] * 0.0
    return total == 0.0
