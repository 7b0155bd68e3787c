"""Fast checks for NaN, infinity and extreme values."""

from biosfa.kernels.jit import jit
from biosfa.typing import FloatArray


@jit
def all_finite(values: FloatArray) -> bool:
    """Whether no value of a vector is NaN or infinite: x · 0 is 0 for all others."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i] * 0.0
    return total == 0.0


@jit
def is_moderate(values: FloatArray, largest: float) -> bool:
    """Whether every value of a vector is 0, or between 1/largest and largest in size; not so for NaN."""
    least = 1.0 / largest
    for i in range(values.shape[0]):
        size = abs(values[i])
        if not (size == 0.0 or least < size < largest):
            return False
    return True
