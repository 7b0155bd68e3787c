"""Slow features of a quadratic expansion as quadratic forms, and what drives them most on a sphere."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from biosfa.kernels.expansion import quadratic_size
from biosfa.typing import Float64Array

# Share of ‖f‖ below which the linear term has no part along the leading eigenvectors: the hard case.
HARD_CASE = 1e-12


@dataclass(frozen=True)
class QuadraticForm:
    """g(x) = ½ xᵀHx + fᵀx + c.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.analysis import QuadraticForm
    >>> float(QuadraticForm(np.diag([2.0, 4.0]), np.zeros(2), 1.0)(np.array([1.0, 1.0])))
    4.0
    """

    H: Float64Array
    f: Float64Array
    c: float

    def __call__(self, x: Float64Array) -> Float64Array:
        """Values at the rows of x, or at one x."""
        values: Float64Array = 0.5 * np.einsum("...i,ij,...j->...", x, self.H, x) + x @ self.f + self.c
        return values

    def __neg__(self) -> "QuadraticForm":
        return QuadraticForm(-self.H, -self.f, -self.c)

    def of(self, matrix: Float64Array) -> "QuadraticForm":
        """The form of u where x = matrix u."""
        return QuadraticForm(matrix.T @ self.H @ matrix, matrix.T @ self.f, self.c)


class Stimulus(NamedTuple):
    """Where a form is greatest on a sphere."""

    x: Float64Array
    value: float
    multiplier: float  # λ of the constraint: Hx + f = λx


def quadratic_form(component: Float64Array, mean: Float64Array, n_features: int) -> QuadraticForm:
    """A row of ``components_`` of a quadratic expansion as a form of its input.

    Parameters
    ----------
    component : array of shape (n + n(n + 1)/2,)
        Weights of x_1, …, x_n and of x_i x_j, i ≤ j, as ``QuadraticExpansion`` orders them.
    mean : array of the same shape
        ``mean_`` of the model.
    n_features : int
        n.
    """
    if len(component) != quadratic_size(n_features):
        raise ValueError(f"a quadratic expansion of {n_features} features does not have {len(component)} monomials")
    H = np.zeros((n_features, n_features))
    rows, columns = np.triu_indices(n_features)
    H[rows, columns] = component[n_features:]
    return QuadraticForm(H + H.T, component[:n_features].copy(), -float(component @ mean))


def optimal_stimulus(form: QuadraticForm, radius: float) -> Stimulus:
    """The x of this length at which a form is greatest; give ``-form`` for where it is least.

    The maximum solves (λI − H)x = f with λ ≥ the largest eigenvalue μ of H; ‖x‖ = r is one equation for λ, with a
    solution in [μ + |α|/r, μ + ‖f‖/r], α the part of f along the leading eigenvectors. In the hard case α vanishes and
    λ = μ may leave x too short: then any step along a leading eigenvector does.
    """
    if not radius > 0:
        raise ValueError(f"radius must be positive; got {radius!r}")
    eigenvalues, Q = np.linalg.eigh(form.H)
    alpha = Q.T @ form.f
    norm = float(np.linalg.norm(form.f))
    top = float(eigenvalues[-1])
    leading = eigenvalues >= top - HARD_CASE * max(1.0, float(np.abs(eigenvalues).max()))
    along = float(np.linalg.norm(alpha[leading]))
    if along <= HARD_CASE * norm or norm == 0.0:
        x = np.zeros_like(alpha)
        x[~leading] = alpha[~leading] / (top - eigenvalues[~leading])
        rest = radius**2 - float(x @ x)
        if rest >= 0.0:
            x[-1] += np.sqrt(rest)
            return _stimulus(form, Q @ x, top)
        alpha = np.where(leading, 0.0, alpha)
        along = 0.0

    def excess(multiplier: float) -> float:
        # 1/‖x‖ is almost linear in λ, where ‖x‖ itself has a pole
        gaps = multiplier - eigenvalues
        length = np.linalg.norm(np.divide(alpha, gaps, out=np.zeros_like(alpha), where=alpha != 0.0))
        return float(1.0 / length - 1.0 / radius)

    low, high = top + along / radius, top + norm / radius * (1.0 + 1e-9)
    multiplier = low if excess(low) >= 0.0 else float(brentq(excess, low, high, xtol=1e-15 * abs(high) + 1e-300))
    gaps = multiplier - eigenvalues
    x = np.divide(alpha, gaps, out=np.zeros_like(alpha), where=alpha != 0.0)
    return _stimulus(form, Q @ (x * radius / np.linalg.norm(x)), multiplier)


def _stimulus(form: QuadraticForm, x: Float64Array, multiplier: float) -> Stimulus:
    return Stimulus(x, float(form(x)), multiplier)


def invariances(form: QuadraticForm, stimulus: Stimulus) -> tuple[Float64Array, Float64Array]:
    """Directions on the sphere in which a form changes least about its optimal stimulus.

    Returns
    -------
    directions : array of shape (n − 1, n)
        Of unit length, orthogonal to the stimulus; the least change first.
    curvature : array of shape (n − 1,)
        The second derivative along each, wᵀ(H − λI)w.
    """
    n = len(stimulus.x)
    tangent = np.linalg.qr(np.column_stack([stimulus.x, np.eye(n)]))[0][:, 1:n]
    curvature, vectors = np.linalg.eigh(tangent.T @ (form.H - stimulus.multiplier * np.eye(n)) @ tangent)
    order = np.argsort(np.abs(curvature))
    return (tangent @ vectors[:, order]).T, curvature[order]
