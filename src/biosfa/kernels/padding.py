"""The width of rows of weights: padded with zeros, so that SIMD loops have no remainder."""

SIMD_WIDTH = 8


def padded(m: int) -> int:
    """Return m, rounded up to a multiple of the SIMD width."""
    return -(-m // SIMD_WIDTH) * SIMD_WIDTH
