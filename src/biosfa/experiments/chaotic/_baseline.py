"""Algorithm 1 written directly in NumPy, to compare speeds with."""

import numpy as np

from biosfa.typing import FloatArray


def numpy_loop(X: FloatArray, W: FloatArray, M_inv: FloatArray, eta: float, tau: float) -> None:
    """Learn from the rows of X with Algorithm 1, and change W and M⁻¹ in place.

    M⁻¹ is updated by the Sherman–Morrison formula, as in the paper's appendix.

    Parameters
    ----------
    X : array of shape (n_samples, m)
        The expanded signal, centred.
    W : array of shape (k, m)
        Feedforward weights.
    M_inv : array of shape (k, k)
        Inverse of the lateral weights.
    eta, tau : float
        Learning rate, and ratio of the rates of W and M.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.experiments.chaotic import numpy_loop
    >>> W, M_inv = np.full((1, 3), 0.1), np.eye(1)
    >>> numpy_loop(np.random.default_rng(0).standard_normal((100, 3)), W, M_inv, eta=0.001, tau=0.5)
    >>> bool(np.all(W != 0.1))
    True
    """
    x_prev, y_prev = X[0], M_inv @ (W @ X[0])
    rate = eta / tau
    for x in X[1:]:
        a = W @ x
        y = M_inv @ a
        x_bar, y_bar = x + x_prev, y + y_prev
        W += 2 * eta * (np.outer(y_bar, x_bar) - np.outer(a, x))
        M_inv /= 1 - rate
        z = M_inv @ y_bar
        M_inv -= np.outer(z, z) * (rate / (1 + rate * (y_bar @ z)))
        x_prev, y_prev = x, y
