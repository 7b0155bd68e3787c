"""The quadratic expansion: all monomials of degree one and two."""

import numpy as np

from biosfa.kernels.jit import jit
from biosfa.typing import FloatArray


def quadratic_size(d: int) -> int:
    """M = d + d(d + 1)/2."""
    return d + d * (d + 1) // 2


def quadratic(S: FloatArray) -> FloatArray:
    """Rows (s_1, …, s_d, s_1s_1, s_1s_2, …, s_ds_d): the order of ``PolynomialFeatures(2, include_bias=False)``."""
    expanded = np.empty((S.shape[0], quadratic_size(S.shape[1])), S.dtype)
    _fill_quadratic(np.ascontiguousarray(S), expanded)
    return expanded


@jit
def _fill_quadratic(S: FloatArray, expanded: FloatArray) -> None:
    n, d = S.shape
    for t in range(n):
        s, x = S[t], expanded[t]
        for i in range(d):
            x[i] = s[i]
        begin = d
        for i in range(d):
            tail, products = s[i:], x[begin : begin + d - i]
            for j in range(d - i):
                products[j] = s[i] * tail[j]
            begin += d - i
