"""Whitening of centred samples, u = x · scale and z = Bu, and the sums that the next B is made from."""

import numpy as np

from biosfa.kernels._jit import jit
from biosfa.typing import Float64Array, FloatArray


@jit
def whiten_full(X: FloatArray, scale: Float64Array, whitener: FloatArray) -> FloatArray:
    """Z = whitener u for each row of X."""
    z: FloatArray = np.dot(scaled(X, scale), whitener.T)
    return z


@jit
def add_scatter(X: FloatArray, keep: float, scatter: Float64Array) -> None:
    """Scatter ← keep · scatter + Σ weight xxᵀ, see :func:`weighted`."""
    scatter *= keep ** len(X)
    scatter += np.dot(weighted(X, keep).T, X)


@jit
def whiten_low_rank(
    X: FloatArray, scale: Float64Array, basis: FloatArray, gain: Float64Array, base: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Z = base · (u + basisᵀ (gain · p)) with p = basis u for each row of X; returns z, u and p."""
    u = scaled(X, scale)
    p = np.dot(u, basis.T)
    weighted = np.empty_like(p)
    for t in range(len(p)):
        for i in range(len(gain)):
            weighted[t, i] = gain[i] * p[t, i]
    z = np.dot(weighted, basis)
    factor = X.dtype.type(base)
    for t in range(len(z)):
        for j in range(z.shape[1]):
            z[t, j] = factor * (z[t, j] + u[t, j])
    return z, u, p


@jit
def add_sketch(
    X: FloatArray, u: FloatArray, p: FloatArray, keep: float, squares: Float64Array, product: Float64Array
) -> None:
    """Squares ← keep · squares + Σ weight x², see :func:`weighted`; product ← product + Σ p uᵀ."""
    squares *= keep ** len(X)
    later = weighted(X, keep)
    for t in range(len(X)):
        for j in range(X.shape[1]):
            squares[j] += later[t, j] * X[t, j]
    product += np.dot(p.T, u)


@jit
def scaled(X: FloatArray, scale: Float64Array) -> FloatArray:
    """Rows of X times the scale of each column."""
    u = np.empty_like(X)
    for t in range(len(X)):
        for j in range(X.shape[1]):
            u[t, j] = X[t, j] * scale[j]
    return u


@jit
def weighted(X: FloatArray, keep: float) -> FloatArray:
    """Rows of X as those after them leave them: the last as it is, each one before times ``keep`` once more."""
    if keep == 1.0:
        return X
    rows = np.empty_like(X)
    weight = 1.0
    for t in range(len(X) - 1, -1, -1):
        for j in range(X.shape[1]):
            rows[t, j] = weight * X[t, j]
        weight *= keep
    return rows
