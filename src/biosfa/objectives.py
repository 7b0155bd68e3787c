"""The objectives that Bio-SFA descends, written as the paper writes them, for checking and for teaching.

Columns of ``X_bar`` and ``Y_bar`` are x̄_t and ȳ_t. Equation numbers are those of Lipshutz et al. (2020).
"""

import numpy as np

from biosfa.typing import Float64Array

__all__ = ["minmax_objective", "offline_objective", "similarity_objective"]


def similarity_objective(Y_bar: Float64Array, X_bar: Float64Array, C_xx: Float64Array) -> float:
    """‖ȲᵀȲ − X̄ᵀC_xx⁺X̄‖²/2T² (Eq. 9): the mismatch of the similarities of outputs and of whitened inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.objectives import similarity_objective
    >>> X_bar = np.random.default_rng(0).standard_normal((3, 10))
    >>> abs(similarity_objective(X_bar, X_bar, np.eye(3)))
    0.0
    """
    mismatch = Y_bar.T @ Y_bar - X_bar.T @ np.linalg.pinv(C_xx, hermitian=True) @ X_bar
    return float(np.square(mismatch).sum() / (2 * X_bar.shape[1] ** 2))


def minmax_objective(
    W: Float64Array, M: Float64Array, Y_bar: Float64Array, X_bar: Float64Array, C_xx: Float64Array
) -> float:
    """L(W, M, Ȳ) (Eq. 11), to be minimised over W and Ȳ and maximised over M.

    At the optimal W and M it is the similarity objective, less a constant: the part of Eq. (9) without Ȳ.
    """
    T = X_bar.shape[1]
    fit = np.trace(Y_bar.T @ M @ Y_bar - 2 * Y_bar.T @ W @ X_bar) / T
    return float(fit - np.trace(M @ M / 2 - W @ C_xx @ W.T))


def offline_objective(W: Float64Array, M: Float64Array, C_xx: Float64Array, C_bar: Float64Array) -> float:
    """L at the optimal Ȳ, in terms of covariances: −tr(M⁻¹WC_x̄x̄Wᵀ) − tr(M²)/2 + tr(WC_xxWᵀ)."""
    return float(-np.trace(np.linalg.solve(M, W @ C_bar @ W.T)) - np.trace(M @ M) / 2 + np.trace(W @ C_xx @ W.T))
