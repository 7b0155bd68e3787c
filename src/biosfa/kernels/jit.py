"""The Numba options that all compiled kernels use."""

from collections.abc import Callable
from typing import TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def jit(function: Function) -> Function:
    """Compile a kernel: cached on disk, free of the GIL, sums reordered for SIMD.

    NaN and Inf keep their meaning (no ``nnan``/``ninf``), because divergence is noticed by comparing with them.
    """
    return njit(  # type: ignore[return-value]
        cache=True,
        nogil=True,
        error_model="numpy",
        fastmath={"reassoc", "contract", "nsz"},
    )(function)
