"""The objectives of Bio-SFA, written as in the paper, for tests and for teaching.

The columns of ``X_bar`` and ``Y_bar`` are x̄_t = x_t + x_{t−1} and ȳ_t = y_t + y_{t−1}. Equation numbers are those of
Lipshutz et al. (2020).
"""

import numpy as np

from biosfa.typing import Float64Array

__all__ = ["minmax_objective", "offline_objective", "similarity_objective"]


def similarity_objective(Y_bar: Float64Array, X_bar: Float64Array, C_xx: Float64Array) -> float:
    """Return ‖ȲᵀȲ − X̄ᵀC_xx⁺X̄‖²/2T² (Eq. 9), the mismatch between similarities of outputs and of whitened inputs.

    Parameters
    ----------
    Y_bar : array of shape (n_components, n_samples)
        Ȳ, sums of consecutive outputs.
    X_bar : array of shape (n_features, n_samples)
        X̄, sums of consecutive inputs.
    C_xx : array of shape (n_features, n_features)
        Covariance of the input.

    Returns
    -------
    float

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
    """Return L(W, M, Ȳ) (Eq. 11), which is minimised over W and Ȳ and maximised over M.

    At the optimal W and M it is the similarity objective (Eq. 9) minus its part that does not depend on Ȳ.

    Parameters
    ----------
    W : array of shape (n_components, n_features)
        Feedforward weights.
    M : array of shape (n_components, n_components)
        Lateral weights.
    Y_bar : array of shape (n_components, n_samples)
        Ȳ, sums of consecutive outputs.
    X_bar : array of shape (n_features, n_samples)
        X̄, sums of consecutive inputs.
    C_xx : array of shape (n_features, n_features)
        Covariance of the input.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.objectives import minmax_objective
    >>> X_bar = np.array([[1.0, -1.0]])
    >>> minmax_objective(np.eye(1), np.eye(1), X_bar, X_bar, np.eye(1))  # 1 − 2 − ½ + 1
    -0.5
    """
    T = X_bar.shape[1]
    fit = np.trace(Y_bar.T @ M @ Y_bar - 2 * Y_bar.T @ W @ X_bar) / T
    return float(fit - np.trace(M @ M / 2 - W @ C_xx @ W.T))


def offline_objective(W: Float64Array, M: Float64Array, C_xx: Float64Array, C_bar: Float64Array) -> float:
    """Return L at the optimal Ȳ, from covariances: −tr(M⁻¹WC_x̄x̄Wᵀ) − tr(M²)/2 + tr(WC_xxWᵀ).

    Parameters
    ----------
    W : array of shape (n_components, n_features)
        Feedforward weights.
    M : array of shape (n_components, n_components)
        Lateral weights.
    C_xx, C_bar : arrays of shape (n_features, n_features)
        C_xx and C_x̄x̄, the covariances of x_t and of x̄_t.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.objectives import offline_objective
    >>> offline_objective(np.eye(1), np.eye(1), np.eye(1), np.eye(1))  # −1 − ½ + 1
    -0.5
    """
    return float(-np.trace(np.linalg.solve(M, W @ C_bar @ W.T)) - np.trace(M @ M) / 2 + np.trace(W @ C_xx @ W.T))
