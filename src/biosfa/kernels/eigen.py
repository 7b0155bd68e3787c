"""The generalized eigenproblem of slow feature analysis, rank-deficient input included."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from biosfa.typing import Float64Array


class SlowDirections(NamedTuple):
    """Solution of min tr VᵀC_ẋẋV subject to VᵀC_xxV = I, in order of slowness."""

    directions: Float64Array  # (number found, m), unit variance each
    delta_values: Float64Array  # their slowness
    rank: int  # numerical rank of C_xx


def slow_directions(
    C_xx: Float64Array, C_dot: Float64Array, tolerance: float, n_components: int | None = None
) -> SlowDirections:
    """Solve C_ẋẋ v = δ C_xx v on the range of C_xx: the pseudo-inverse of the paper's appendix A.

    Columns are brought to unit variance first, so that units do not decide what counts as rank. Eigenvalues below
    ``tolerance`` times the largest do not count.
    """
    deviation = np.sqrt(np.diag(C_xx))
    varies = deviation > 0.0
    scale = np.where(varies, 1.0 / np.where(varies, deviation, 1.0), 0.0)
    variance, U = eigh(C_xx * np.outer(scale, scale))
    kept = variance > tolerance * max(float(variance[-1]), 0.0)
    rank = int(np.count_nonzero(kept))
    if rank == 0:
        return SlowDirections(np.empty((0, len(C_xx))), np.empty(0), 0)
    whitening = scale[:, None] * (U[:, kept] / np.sqrt(variance[kept]))
    n_found = rank if n_components is None else min(rank, n_components)
    delta_values, V = eigh(whitening.T @ C_dot @ whitening, subset_by_index=[0, n_found - 1])
    return SlowDirections(fixed_signs((whitening @ V).T), np.maximum(delta_values, 0.0), rank)


def fixed_signs(directions: Float64Array) -> Float64Array:
    """Directions turned such that the entry of largest magnitude of each is positive."""
    largest = directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)]
    return directions * np.where(largest < 0, -1.0, 1.0)[:, None]
