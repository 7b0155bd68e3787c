"""The Numba options that all compiled kernels use."""

from collections.abc import Callable
from typing import TypeVar

from numba import njit
from numba.core import event
from numba.core.dispatcher import Dispatcher

from biosfa.kernels.cache import STORE, KernelCache
from biosfa.kernels.linking import OwnCopiesCompiler
from biosfa.kernels.notice import Notice

Function = TypeVar("Function", bound=Callable[..., object])

event.register("numba:compile", Notice(STORE))


def jit(function: Function) -> Function:
    """Compile a kernel: cached on disk, free of the GIL, sums reordered for SIMD.

    NaN and Inf keep their meaning (no ``nnan``/``ninf``), because divergence is noticed by comparing with them.
    """
    options = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
    compiled = njit(pipeline_class=OwnCopiesCompiler, **options)(function)
    if isinstance(compiled, Dispatcher):  # with NUMBA_DISABLE_JIT it is the function itself
        compiled._cache = KernelCache(function, STORE)
    return compiled  # type: ignore[no-any-return]
