"""Algorithm 1 as one writes it in NumPy: the yardstick of speed."""

import numpy as np

from biosfa.typing import FloatArray


def numpy_loop(X: FloatArray, W: FloatArray, M_inv: FloatArray, eta: float, tau: float) -> None:
    """Learn from the rows of X, changing W and M⁻¹, which is carried by Sherman–Morrison as in the paper's appendix."""
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
